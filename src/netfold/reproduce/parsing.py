"""Reading a table's file, strictly: an unknown key, a wrong type or a missing value names the file and the key."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from netfold.errors import InputError
from netfold.reproduce.new_nodes import WAYS
from netfold.reproduce.sections import Section
from netfold.reproduce.tables import Base, Data, Quick, Recorded, RecordedRow, Row, Table, Task

__all__ = ["parse", "read_table"]

_LARGEST = 1 << 20
"""Bytes: a file of more is no table."""


def read_table(path: Path) -> Table:
    """The table in a file."""
    try:
        size = path.stat().st_size
        text = path.read_text(encoding="utf-8") if size <= _LARGEST else None
    except OSError as e:
        raise InputError(f"{path} cannot be read: {e.strerror}; give the file of a table") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; save it as UTF-8") from None
    if text is None:
        raise InputError(f"{path} has {size:,} bytes, and the file of a table at most {_LARGEST:,}")
    return parse(path, text)


def parse(path: Path, text: str) -> Table:
    """The table that a file's text describes."""
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path} is not a TOML file: {e}") from None
    top = Section(path, "", values)
    table = Table(
        path=path,
        title=top.text("title"),
        paper=top.text("paper"),
        source=top.text("source"),
        data=Data(*_named(top.section("data"))),
        task=Task(*_named(top.section("task"))),
        figures=top.texts("figures"),
        published=top.cells("published"),
        rows=tuple(_row(section) for section in top.sections("rows")),
        smaller_is_better=top.texts("smaller_is_better", ()),
        status=top.text("status", ""),
        notes=top.text("notes", ""),
        bases=_bases(top.section("bases", {})),
        quick=_quick(top.section("quick", {})),
        recorded=_recorded(top.section("recorded")) if "recorded" in values else None,
    )
    top.end()
    _check(table)
    return table


def _named(given: Section) -> tuple[str, dict[str, Any]]:
    """A name, and arguments that what bears the name must know."""
    return given.text("name"), given.rest()


def _row(given: Section) -> Row:
    row = Row(
        name=given.text("name"),
        model=given.text("model"),
        config=given.mapping("config"),
        task=given.mapping("task"),
        published=given.text("published", ""),
        target=given.numbers("target"),
        guess=given.text("guess", ""),
        base=given.text("base", ""),
    )
    given.end()
    return row


def _bases(given: Section) -> dict[str, Base]:
    return {name: _base(given.section(name)) for name in given.names()}


def _base(given: Section) -> Base:
    base = Base(given.text("model"), given.mapping("config"))
    given.end()
    return base


def _quick(given: Section) -> Quick:
    quick = Quick(given.mapping("config"), given.mapping("task"))
    given.end()
    return quick


def _recorded(given: Section) -> Recorded:
    rows = given.section("rows")
    made = Recorded(
        date=given.text("date"),
        machine=given.text("machine"),
        version=given.text("version"),
        seeds=given.counts("seeds"),
        seconds=given.number("seconds"),
        rows={name: _recorded_row(rows.section(name)) for name in rows.names()},
    )
    given.end()
    try:
        datetime.date.fromisoformat(made.date)
    except ValueError:
        raise given.wrong(f"date is {made.date!r}; it is written as 2026-11-30") from None
    return made


def _recorded_row(given: Section) -> RecordedRow:
    row = RecordedRow(given.text("settings"), given.numbers("mean"), given.numbers("sd"), given.cells("baselines"))
    given.end()
    return row


# -------------------------------------------------------------------- what the parts must agree in


def _check(table: Table) -> None:
    for what, names in _named_figures(table).items():
        for name in names:
            _check_among(table, f"the figure {name!r} of {what}", name, table.figures, "figures")
    if len({row.name for row in table.rows}) < len(table.rows):
        raise InputError(f"{table.path}: two rows have the same name; each needs its own")
    if not table.rows and not table.status:
        raise InputError(f"{table.path}: there are no rows; add [[rows]], or say in status why it cannot be run")
    for row in table.rows:
        if row.published:
            _check_among(table, f"published = {row.published!r} of row {row.name!r}", row.published, table.published)
        if row.base:
            _check_among(table, f"base = {row.base!r} of row {row.name!r}", row.base, table.bases, "bases")
        if not row.base or row.model not in WAYS:
            _check_model(table, f"row {row.name!r}", row)
    for name, base in table.bases.items():
        _check_model(table, f"base {name!r}", base)


def _named_figures(table: Table) -> dict[str, Mapping[str, Any] | tuple[str, ...]]:
    named: dict[str, Mapping[str, Any] | tuple[str, ...]] = {f"published {k!r}": v for k, v in table.published.items()}
    named |= {f"the target of row {row.name!r}": row.target for row in table.rows}
    return named | {"smaller_is_better": table.smaller_is_better}


def _check_among(table: Table, what: str, name: str, known: Any, listed: str = "published") -> None:
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there is {', '.join(map(repr, known))}"
        raise InputError(f"{table.path}: {what} is not in {listed}; {hint}")


def _check_model(table: Table, what: str, given: Row | Base) -> None:
    """A model that there is takes the settings; one that there is not has a status that says so."""
    from netfold.models import MODELS
    from netfold.options import config_from_json

    cls = MODELS.get(given.model)
    if cls is None and not table.status:
        known = [*MODELS, *(WAYS if isinstance(given, Row) and given.base else ())]
        raise InputError(f"{table.path}: {what} has model = {given.model!r}, not one of {', '.join(known)}")
    if cls is None:
        return
    try:
        cls(**config_from_json(cls, {**given.config, **table.quick.config}))
        cls(**config_from_json(cls, given.config))
    except InputError as e:
        raise InputError(f"{table.path}: {what}: {e}") from None
