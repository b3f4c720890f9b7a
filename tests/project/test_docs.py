"""The docs say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import netfold as nf
from netfold.embedder.options import parameters_table

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(nf.MODELS))
def test_the_table_of_options_is_that_of_the_code(name):
    assert parameters_table(nf.MODELS[name]) in (ROOT / "docs" / f"{name}.md").read_text()


def test_every_link_in_the_docs_leads_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_public_name_is_there():
    for name in nf.__all__:
        assert getattr(nf, name).__doc__, f"nf.{name} has no docstring"
