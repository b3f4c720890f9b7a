"""Every model has a page, and every page says the same things of its model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import netfold as nf

DOCS = Path(__file__).parents[2] / "docs"
SAYS = {
    "the idea in one picture": r"!\[[^]]+\]\(\w+-idea\.png\)|^```text$",
    "the equations in our names": r"^## The (equations|objective)",
    "what its options do, with a figure": r"!\[[^]]+\]\(\w+-parameters\.png\)",
    "its options": r"^## Options$",
    "when to take it, and when not": r"^## (When, and when not|DRNE or SDNE)$",
    "when it wins in our tables": r"\*\*When it wins\*\*",
    "what differs from the released code": r"[Rr]eleased code|from public code",
}


@pytest.mark.parametrize("what", SAYS)
@pytest.mark.parametrize("name", sorted(nf.MODELS))
def test_a_page_says(name: str, what: str) -> None:
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert re.search(SAYS[what], page, re.MULTILINE), f"docs/{name}.md does not say {what}"


@pytest.mark.parametrize("picture", sorted(p.name for p in DOCS.glob("*.png")))
def test_every_picture_is_on_a_page(picture: str) -> None:
    pages = [*DOCS.glob("*.md"), DOCS.parent / "README.md"]
    assert any(f"{picture})" in p.read_text(encoding="utf-8") for p in pages), f"{picture} is shown nowhere"
