"""Writing what a run gave back into its table's file: only that part changes, and only as a whole."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path

from netfold.errors import InputError
from netfold.io.files import staged_file
from netfold.studies.reproduce.parsing import parse
from netfold.studies.reproduce.table import Recorded, RecordedRow, Table

__all__ = ["record", "recorded_text", "with_recorded"]

_START = re.compile(r"^\[recorded\][^\n]*$", re.MULTILINE)
_BARE = re.compile("[A-Za-z0-9_-]+")


def record(table: Table, run: Recorded) -> Table:
    """Put a run in the place of the one recorded before; the table as it now is."""
    text = with_recorded(table.path, table.path.read_text(encoding="utf-8"), run)
    with staged_file(table.path) as part:
        part.write_text(text, encoding="utf-8")
    return parse(table.path, text)


def with_recorded(path: Path, text: str, run: Recorded) -> str:
    """The file's text with its last part, `[recorded]`, replaced; all before it stays as it is, byte for byte.

    Refused where that would change anything else: the file is then not laid out as it should be.
    """
    found = _START.search(text)
    kept = text[: found.start()] if found else text
    made = f"{kept.rstrip()}\n\n{recorded_text(run, path.stem)}"
    old = parse(path, text)
    try:
        if parse(path, made) == dataclasses.replace(old, recorded=run):
            return made
    except InputError:
        pass
    raise InputError(f"{path}: [recorded] cannot be replaced alone; make it the last part of the file")


def recorded_text(run: Recorded, name: str) -> str:
    """A run as TOML.

    >>> rows = {"SDNE": RecordedRow("ab", {"MAP": 1.0})}
    >>> print(recorded_text(Recorded("2026-11-30", "a box", "0.1", (0,), 2.5, rows), "x"))
    [recorded] # by: netfold reproduce x --record
    date = "2026-11-30"
    machine = "a box"
    version = "0.1"
    seeds = [0]
    seconds = 2.5
    <BLANKLINE>
    [recorded.rows.SDNE]
    settings = "ab"
    mean = { MAP = 1.0 }
    <BLANKLINE>
    """
    head = [f"[recorded] # by: netfold reproduce {name} --record"]
    head += [f"{key} = {_text(getattr(run, key))}" for key in ("date", "machine", "version")]
    head += [f"seeds = {list(run.seeds)}", f"seconds = {run.seconds!r}", ""]
    rows = [line for name, row in run.rows.items() for line in _row(name, row)]
    return "\n".join(head + rows)


def _row(name: str, row: RecordedRow) -> list[str]:
    where = f"recorded.rows.{_key(name)}"
    lines = [f"[{where}]", f"settings = {_text(row.settings)}", f"mean = {_cells(row.mean)}"]
    lines += [f"sd = {_cells(row.sd)}"] if row.sd else []
    if row.baselines:
        lines += ["", f"[{where}.baselines]"]
        lines += [f"{_key(baseline)} = {_cells(cells)}" for baseline, cells in row.baselines.items()]
    return [*lines, ""]


def _cells(cells: Mapping[str, float]) -> str:
    return "{ " + ", ".join(f"{_key(figure)} = {float(x)!r}" for figure, x in cells.items()) + " }" if cells else "{}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    """A basic string of TOML, whose escapes are JSON's but for the one character that JSON leaves alone."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
