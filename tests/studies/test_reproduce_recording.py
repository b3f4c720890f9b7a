"""What was found is written into the table's file, nothing else is touched, and the page shows it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from netfold.errors import InputError
from netfold.studies import reproduce
from netfold.studies.reproduce import RecordedRow, read_table, record, with_recorded
from netfold.studies.reproduce.parsing import parse
from netfold.studies.reproduce.table import COST
from published_tables import DECODER, RECORDED, TEXT, recorded


def test_recording_changes_nothing_else(tiny: reproduce.Table) -> None:
    first = recorded(vectors=RecordedRow("ab", {"MAP": 0.5}, {"MAP": 0.1}, {"normalised SVD": {"MAP": 0.25}}))
    second = recorded(vectors=RecordedRow("cd", {"MAP": 1.0}), **{DECODER: RecordedRow("ef", {"MAP": 0.1})})
    assert record(tiny, first).recorded == first
    text = tiny.path.read_text(encoding="utf-8")
    assert text.startswith(TEXT.rstrip())
    record(tiny, second)
    assert read_table(tiny.path) == dataclasses.replace(tiny, recorded=second)
    record(tiny, first)
    assert tiny.path.read_text(encoding="utf-8") == text
    assert [p.name for p in tiny.path.parent.iterdir()] == ["tiny.toml"]


@pytest.mark.parametrize(
    "name", ['a "quote"', "back\\slash", "dot.ted", "é ü 日本", "tab\there", "", "line\nbreak", "\x7f\x00"]
)
def test_any_name_can_be_recorded(name: str) -> None:
    row = RecordedRow(name, {"MAP": 1e-9, name: 12345678.9}, {}, {name: {name: -0.0}})
    found = dataclasses.replace(recorded(), machine=name, rows={name: row})
    made = with_recorded(Path("x.toml"), TEXT, found)
    assert parse(Path("x.toml"), made).recorded == found


def test_a_file_where_recorded_is_not_last_is_left_alone(tiny: reproduce.Table) -> None:
    """What stands after it would be lost."""
    text = TEXT.replace("[quick]", RECORDED + "\n[quick]")
    tiny.path.write_text(text)
    with pytest.raises(InputError, match="last part"):
        record(tiny, recorded(vectors=RecordedRow("ab", {"MAP": 0.5})))
    assert tiny.path.read_text() == text


def test_an_interruption_leaves_the_file_as_it_was(tiny: reproduce.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        record(tiny, recorded(vectors=RecordedRow("ab", {"MAP": 0.5})))
    assert tiny.path.read_text() == TEXT and len(list(tiny.path.parent.iterdir())) == 1


def test_a_figure_recorded_under_other_settings_is_not_shown(tiny: reproduce.Table) -> None:
    rows = {r.name: RecordedRow(tiny.settings(r), {"MAP": 0.5}) for r in tiny.rows}
    now = dataclasses.replace(tiny, recorded=recorded(**rows))
    assert reproduce.last_verdict(now).startswith("1 of 1 targets reached")
    for changed in (
        {"rows": (dataclasses.replace(now.rows[0], config={"dim": 5}), now.rows[1])},
        {"rows": (dataclasses.replace(now.rows[0], task={"score": "cosine"}), now.rows[1])},
        {"task": dataclasses.replace(now.task, arguments={"k": [10]})},
        {"data": dataclasses.replace(now.data, options={})},
    ):
        later = dataclasses.replace(now, **changed)  # type: ignore[arg-type]
        assert later.recorded_for(later.rows[0]) is None
        assert reproduce.last_verdict(later) == "set otherwise since it was run"
    renamed = dataclasses.replace(now, title="x", notes="y", published={"SDNE": {}})
    assert renamed.recorded_for(renamed.rows[0]) is not None


def test_the_page_shows_everything(tiny: reproduce.Table) -> None:
    row = RecordedRow(tiny.settings(tiny.rows[0]), {"MAP": 0.3, COST: 1.5}, {"MAP": 0.01}, {"spectral": {"MAP": 0.4}})
    run_ = dataclasses.replace(tiny, recorded=recorded(vectors=row))
    absent = dataclasses.replace(tiny, path=Path("absent.toml"), status="no edge files", rows=(), paper="Zebra 2020")
    text = reproduce.page([absent, run_])
    assert text == reproduce.page([run_, absent])
    line = (
        "| vectors | MAP | 0.5000 | **0.3000** ± 0.0100 | 0.4000 (spectral) | ≥ 0.0100 "
        "| reaches the target; below the paper by 0.2000; a baseline wins: spectral |"
    )
    assert line in text.splitlines()
    assert "| vectors | precision@20 | 1.0000 | - |  |  | not measured |" in text
    assert "**Not run here: no edge files.**" in text and "| LINE | 0.4 |  |" in text
    assert text.index("## SDNE") < text.index("## Zebra 2020")
    assert "Guessed, as the paper is silent: nearly all." in text
    assert "Run on 2026-11-30 with netfold 0.1.0 and seeds 0, 1: 4 s on a box, 2 cores." in text
