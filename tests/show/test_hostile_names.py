"""Names that someone chose to do harm, on a report's page and in pictures: no control, no turned line, no markup."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest

import netfold as nf
from netfold.data.embedding import Embedding
from netfold.show import plot
from netfold.show.plot.kinds import caption
from netfold.show.report import Sheet
from report_pages import facts_of, rng, unpacked, written

NAMES = ("\x1b]0;owned\x07", "x\u202egnp.exe", "\u2066hidden\u2069", "<script>alert(1)</script>", "a\nb\rc\u2028d")
HARMFUL = "\x1b\x07\r\u2028\u202e\u2066\u2069"


def texts(value: Any) -> list[str]:
    """Every text in what json holds, names of fields included."""
    if isinstance(value, dict):
        return [x for pair in value.items() for part in pair for x in texts(part)]
    if isinstance(value, list):
        return [x for part in value for x in texts(part)]
    return [value] if isinstance(value, str) else []


def harmless(text: str) -> bool:
    return not any(c in text for c in HARMFUL)


def hostile_graph() -> nf.Graph:
    return nf.Graph.from_edges([(a, b) for a in NAMES for b in NAMES if a < b])


def test_a_report_of_hostile_names(tmp_path: Path) -> None:
    embedding = Embedding(NAMES, rng().normal(size=(len(NAMES), 3)))
    classes = {node: NAMES[(i + 1) % 3] for i, node in enumerate(NAMES)}
    sheets = [Sheet(NAMES[i], embedding, hostile_graph(), {NAMES[2 - i]: classes}) for i in (0, 1)]
    page = written(tmp_path, *sheets, title="".join(NAMES), method="pca")
    assert harmless(page) and "<script>alert" not in page
    facts = facts_of(page)
    assert [x for x in texts(facts) if not harmless(x) or "\n" in x] == []
    for sheet in facts["sheets"]:
        lines = unpacked(page, sheet["names"]).split("\n")
        assert len(lines) == len(NAMES) and all(map(harmless, lines))
        assert lines[3] == NAMES[3], "a name of plain characters stays as it is, and is never markup"
    assert json.dumps("<script>alert(1)").strip('"') not in page and "\\u202egnp" in html.unescape(page)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_of_hostile_names(ending: str, tmp_path: Path) -> None:
    embedding = Embedding(NAMES, rng().normal(size=(len(NAMES), 3)))
    path = tmp_path / f"map.{ending}"
    figure = plot.map(embedding, path, colors=dict(zip(NAMES, NAMES, strict=True)), names=5, title="".join(NAMES))
    axes = figure.axes[0]
    words = [*axes.texts, *axes.get_legend().get_texts(), axes.title, axes._left_title]
    assert len(words) > 5 and all(harmless(text.get_text()) for text in words)
    if ending == "svg":
        assert harmless(path.read_text(encoding="utf-8")) and "<script" not in path.read_text(encoding="utf-8")


def test_captions_of_hostile_names() -> None:
    assert all(harmless(caption(name)) and "\n" not in caption(name) for name in NAMES)
    assert caption(NAMES[1]) == "x\\u202egnp.exe"
