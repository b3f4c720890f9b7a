"""Reading the files of tables: where they are, what their keys must be, and what their parts must agree in."""

from __future__ import annotations

import dataclasses
import datetime
import reprlib
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from netfold.data.checks import is_number
from netfold.data.text import did_you_mean
from netfold.errors import InputError
from netfold.studies.reproduce.table import (
    OWN,
    WAYS,
    Asked,
    Base,
    Cells,
    Data,
    Quick,
    Recorded,
    RecordedRow,
    Row,
    Table,
    new_arguments,
)

__all__ = [
    "Section",
    "folder_of_tables",
    "is_installed",
    "page_of",
    "parse",
    "read_run",
    "read_table",
    "read_tables",
    "table_named",
]


class Section:
    """A part of the file, whose keys are taken one by one; those that are left are unknown."""

    def __init__(self, path: Path, where: str, values: Any):
        self._path, self._where = path, where
        if not isinstance(values, dict):
            raise self.wrong(f"it is {reprlib.repr(values)}; it should be a table of keys")
        self._left = dict(values)
        self._known: list[str] = []

    def wrong(self, problem: str) -> InputError:
        """The error that names the file and the part."""
        return InputError(f"{self._path}: " + (f"[{self._where}]: " if self._where else "") + problem)

    def names(self) -> list[str]:
        """The keys that are left."""
        return list(self._left)

    def rest(self) -> dict[str, Any]:
        """All that is left: arguments of a function, which knows its own."""
        left, self._left = self._left, {}
        return left

    def end(self) -> None:
        """Refuse the keys that are left."""
        for key in self._left:
            hint = did_you_mean(key, self._known, f"it has {', '.join(self._known)}", quoted=True)
            raise self.wrong(f"there is no key {key!r}; {hint}")

    def text(self, key: str, default: str | None = None) -> str:
        """A text."""
        return str(self._take(key, default, "text", lambda x: isinstance(x, str)))

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """A list of texts."""
        good = self._take(key, default, "a list of texts", lambda x: _all(x, str))
        return tuple(good)

    def counts(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers, one at least."""
        good = self._take(key, None, "a list of whole numbers", lambda x: _all(x, int) and bool(x))
        return tuple(good)

    def number(self, key: str) -> float:
        """A finite number."""
        return float(self._take(key, None, "a finite number", is_number))

    def mapping(self, key: str) -> dict[str, Any]:
        """Keys with values of any kind."""
        return dict(self._take(key, {}, "a table of keys", lambda x: isinstance(x, dict)))

    def numbers(self, key: str) -> dict[str, float]:
        """Keys with finite numbers."""
        values = self.mapping(key)
        for name, value in values.items():
            if not is_number(value):
                raise self.wrong(f"{key}: {name!r} is {reprlib.repr(value)}; it should be a finite number")
        return {name: float(value) for name, value in values.items()}

    def lists(self, key: str) -> dict[str, tuple[float, ...]]:
        """Keys with lists of finite numbers."""
        values = self.mapping(key)
        for name, value in values.items():
            if not isinstance(value, list) or not all(map(is_number, value)):
                raise self.wrong(f"{key}: {name!r} is {reprlib.repr(value)}; it should be a list of finite numbers")
        return {name: tuple(map(float, value)) for name, value in values.items()}

    def cells(self, key: str) -> Cells:
        """Figures by method."""
        inner = self.section(key, {})
        return {name: inner.numbers(name) for name in inner.names()}

    def section(self, key: str, default: Any = None) -> Section:
        """A part of this part."""
        where = f"{self._where}.{key}" if self._where else key
        return Section(self._path, where, self._take(key, default, "a table of keys", lambda x: isinstance(x, dict)))

    def sections(self, key: str) -> list[Section]:
        """A list of parts."""
        listed = self._take(key, (), "a list of tables", lambda x: isinstance(x, (list, tuple)))
        return [Section(self._path, f"{key}, number {i}", x) for i, x in enumerate(listed, 1)]

    def _take(self, key: str, default: Any, wanted: str, good: Callable[[Any], bool]) -> Any:
        self._known.append(key)
        if key not in self._left and default is None:
            raise self.wrong(f"the key {key!r} is missing; it should be {wanted}")
        value = self._left.pop(key, default)
        if not good(value):
            raise self.wrong(f"{key} is {reprlib.repr(value)}; it should be {wanted}")
        return value


def _all(value: Any, kind: type) -> bool:
    listed = isinstance(value, (list, tuple))
    return listed and all(isinstance(x, kind) and not isinstance(x, bool) for x in value)


_LARGEST = 1 << 20
"""Bytes: a file of more is no table."""


def read_table(path: Path) -> Table:
    """The table in a file."""
    return parse(path, _text_of(path))


def _text_of(path: Path) -> str:
    try:
        size = path.stat().st_size
        text = path.read_text(encoding="utf-8") if size <= _LARGEST else None
    except OSError as e:
        raise InputError(f"{path} cannot be read: {e.strerror}; give the file of a table") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; save it as UTF-8") from None
    if text is None:
        raise InputError(f"{path} has {size:,} bytes, and the file of a table at most {_LARGEST:,}")
    return text


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path} is not a TOML file: {e}") from None


def parse(path: Path, text: str) -> Table:
    """The table that a file's text describes."""
    values = _toml(path, text)
    top = Section(path, "", values)
    bases = top.section("bases", {})
    table = Table(
        path=path,
        title=top.text("title"),
        paper=top.text("paper"),
        source=top.text("source"),
        data=Data(*_named(top.section("data"))),
        task=Asked(*_named(top.section("task"))),
        figures=top.texts("figures"),
        published=top.cells("published"),
        rows=tuple(_row(section) for section in top.sections("rows")),
        smaller_is_better=top.texts("smaller_is_better", ()),
        status=top.text("status", ""),
        notes=top.text("notes", ""),
        bases={name: _base(bases.section(name)) for name in bases.names()},
        quick=_quick(top.section("quick", {})),
        recorded=_recorded(top.section("recorded")) if "recorded" in values else None,
    )
    top.end()
    try:
        table = _with_new_names(table)
    except InputError as e:
        raise InputError(f"{path}: {e}") from None
    _check(table)
    return table


def _with_new_names(table: Table) -> Table:
    """The table with its options and arguments by the names that they have now."""
    quick = table.quick.config
    for row in table.rows:
        quick = _new_names(row.model, quick)
    return dataclasses.replace(
        table,
        task=Asked(table.task.name, new_arguments(table.task.arguments)),
        rows=tuple(
            dataclasses.replace(row, config=_new_names(row.model, row.config), task=new_arguments(row.task))
            for row in table.rows
        ),
        bases={name: Base(base.model, _new_names(base.model, base.config)) for name, base in table.bases.items()},
        quick=Quick(quick, new_arguments(table.quick.task)),
    )


def _new_names(model: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    from netfold.embedder.options import new_names
    from netfold.models import MODELS

    return new_names(MODELS[model], config) if model in MODELS else config


def read_run(path: Path) -> tuple[str, Recorded]:
    """The table's name and the run in a file that `write_run` wrote."""
    top = Section(path, "", _toml(path, _text_of(path)))
    name, run = top.text("table"), _recorded(top.section("recorded"))
    top.end()
    return name, run


def _named(section: Section) -> tuple[str, dict[str, Any]]:
    """A name, and arguments that what bears the name must know."""
    return section.text("name"), section.rest()


def _row(section: Section) -> Row:
    row = Row(
        name=section.text("name"),
        model=section.text("model"),
        config=section.mapping("config"),
        task=section.mapping("task"),
        published=section.text("published", ""),
        target=section.numbers("target"),
        guess=section.text("guess", ""),
        base=section.text("base", ""),
        not_run=section.text("not_run", ""),
    )
    section.end()
    return row


def _base(section: Section) -> Base:
    base = Base(section.text("model"), section.mapping("config"))
    section.end()
    return base


def _quick(section: Section) -> Quick:
    quick = Quick(section.mapping("config"), section.mapping("task"))
    section.end()
    return quick


def _recorded(section: Section) -> Recorded:
    rows = section.section("rows")
    run = Recorded(
        date=section.text("date"),
        machine=section.text("machine"),
        version=section.text("version"),
        seeds=section.counts("seeds"),
        seconds=section.number("seconds"),
        rows={name: _recorded_row(rows.section(name)) for name in rows.names()},
    )
    section.end()
    try:
        datetime.date.fromisoformat(run.date)
    except ValueError:
        raise section.wrong(f"date is {run.date!r}; it is written as 2026-11-30") from None
    return run


def _recorded_row(section: Section) -> RecordedRow:
    mean, sd = section.numbers("mean"), section.numbers("sd")
    beside = section.section("baseline_seeds", {})
    row = RecordedRow(
        section.text("settings"),
        mean,
        sd,
        section.cells("baselines"),
        section.lists("seeds"),
        {name: beside.lists(name) for name in beside.names()},
        section.text("run", ""),
        section.numbers("training"),
    )
    section.end()
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
    if table.rows and all(row.not_run for row in table.rows) and not table.status:
        raise InputError(f"{table.path}: every row says not_run; say in status why the table cannot be run")
    for row in table.rows:
        if row.published:
            _check_among(table, f"published = {row.published!r} of row {row.name!r}", row.published, table.published)
        if row.base:
            _check_among(table, f"base = {row.base!r} of row {row.name!r}", row.base, table.bases, "bases")
        if not row.base or row.model not in WAYS:
            _check_model(table, f"row {row.name!r}", row)
        elif row.config:
            _check_way(table, row)
    for name, base in table.bases.items():
        _check_model(table, f"base {name!r}", base)
    _check_quick(table)


def _check_quick(table: Table) -> None:
    """An option of `--quick` is one of some model's; others have nothing to do with it."""
    from netfold.models import MODELS

    named = [row.model for row in table.rows] + [base.model for base in table.bases.values()]
    models = [model for model in named if model in MODELS]
    known = {name for model in models for name in table.quick_config(model)}
    for name in table.quick.config if models else ():
        if name not in known:
            raise InputError(f"{table.path}: [quick]: no model of this table has the option {name!r}; leave it out")


def _check_way(table: Table, row: Row) -> None:
    """A way that is no model has no settings, but for how a base's own `transform` places new nodes."""
    from netfold.embedder.placing import HOW

    if row.model != OWN or set(row.config) != {"how"} or row.config["how"] not in HOW:
        one = f"how, one of {', '.join(HOW)}, for model = {OWN!r}"
        raise InputError(f"{table.path}: row {row.name!r} has config = {dict(row.config)!r}; what it may say is {one}")


def _named_figures(table: Table) -> dict[str, Mapping[str, Any] | tuple[str, ...]]:
    named: dict[str, Mapping[str, Any] | tuple[str, ...]] = {f"published {k!r}": v for k, v in table.published.items()}
    named |= {f"the target of row {row.name!r}": row.target for row in table.rows}
    return named | {"smaller_is_better": table.smaller_is_better}


def _check_among(table: Table, what: str, name: str, known: Any, listed: str = "published") -> None:
    if name not in known:
        hint = did_you_mean(name, known, f"known: {', '.join(map(repr, known))}", quoted=True)
        raise InputError(f"{table.path}: {what} is not in {listed}; {hint}")


def _check_model(table: Table, what: str, of: Row | Base) -> None:
    """A model that there is takes the settings; one that there is not has a status that says so."""
    from netfold.embedder.options import config_from_json
    from netfold.models import MODELS

    cls = MODELS.get(of.model)
    if cls is None and not table.status:
        known = [*MODELS, *(WAYS if isinstance(of, Row) and of.base else ())]
        raise InputError(f"{table.path}: {what} has model = {of.model!r}, not one of {', '.join(known)}")
    if cls is None:
        return
    try:
        cls(**config_from_json(cls, {**of.config, **table.quick_config(of.model)}))
        cls(**config_from_json(cls, of.config))
    except InputError as e:
        raise InputError(f"{table.path}: {what}: {e}") from None


_INSTALLED = Path(__file__).parent / "tables"
_CHECKOUT = Path(__file__).parents[4] / "benchmarks" / "tables"


def folder_of_tables(path: str | None = None) -> Path:
    """The folder given, or else that of the checkout, or else that of the installed package."""
    if path is not None:
        if not Path(path).is_dir():
            raise InputError(f"{path} is not a folder; give one that holds the files of tables (*.toml)")
        return Path(path)
    folders = [folder for folder in (_CHECKOUT, _INSTALLED) if folder.is_dir()]
    if not folders:
        raise InputError(f"there are no tables in {_INSTALLED}; give their folder (--tables FOLDER)")
    return folders[0]


def page_of(folder: Path) -> Path:
    """The page that shows the tables of a folder: docs/results.md of the checkout, and results.md beside others."""
    if folder.resolve() == _CHECKOUT.resolve():
        return _CHECKOUT.parents[1] / "docs" / "results.md"
    return folder / "results.md"


def is_installed(folder: Path) -> bool:
    """Whether the folder belongs to the installed package, where nothing is written."""
    return folder.resolve() == _INSTALLED.resolve()


def read_tables(folder: Path) -> list[Table]:
    """Every table of a folder, by name."""
    paths = sorted(folder.glob("*.toml"), key=lambda path: path.stem)
    if not paths:
        raise InputError(f"{folder} holds no tables; the file of a table ends in .toml")
    return [read_table(path) for path in paths]


def table_named(folder: Path, name: str) -> Table:
    """The table of this name, which is that of its file."""
    known = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    if name not in known:
        hint = did_you_mean(name, known, "netfold reproduce --list shows them", most=3)
        raise InputError(f"there is no table {name!r} in {folder}; {hint}")
    return read_table(known[name])
