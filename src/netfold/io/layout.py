"""What a file says before it is read: its delimiter, its header, and which of its columns is what."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from netfold.data.columns import ONE_COLUMN, Chosen, Roles, edge_roles, header_verdict, occurs_again, tuple_columns
from netfold.errors import InputError
from netfold.io.fields import Layout
from netfold.io.formats import format_of
from netfold.io.source import (
    check_no_note,
    chunks,
    data_lines,
    file_kind,
    is_integer,
    is_number_text,
    refusal,
    split_fields,
)

__all__ = ["Columns", "FileColumns", "Role", "file_columns"]


_SAMPLE = 200
"""How many lines are looked at ..."""
_LOOK_AGAIN = 10_000
"""... and where they do not tell whether line 1 is a header."""

_DELIMITERS = (b"\t", b";", b",", b" ")
"""In this order: fields that tabs separate may hold blanks, and those that semicolons do may hold decimal commas."""
_SEPARATORS = "|:^~"
"""What separates the columns of some tables, and is never guessed."""


@dataclass(frozen=True)
class TextTable:
    """The first lines of a text file, cut into fields, after it was decided whether line 1 names the columns."""

    delimiter: bytes
    line: int
    """The number of the first line that is neither blank nor a comment."""
    width: int
    names: tuple[str, ...] | None
    """What the columns are called; None where no line says so."""
    rows: list[list[str]]
    """What follows the header."""
    undecided: bool = False
    """Whether line 1 was taken for a header only because none of its cells occurs again."""


def table_of(
    path: Path, kind: str, delimiter: str | None = None, header: bool | None = None, names: Sequence[str] = ()
) -> TextTable | None:
    """Look at the first lines of a text file; None where there are none. `names` are columns that it should have."""
    said = None if delimiter is None else checked_delimiter(delimiter)
    lines = sample(path, kind)
    if not lines:
        return None
    chosen = said or likely_delimiter(lines)
    try:
        first = [field.decode() for field in split_fields(lines[0][1], chosen)]
    except ValueError as e:
        raise refusal(path, str(e), lines[0][0]) from None
    rows = _cells(lines[1:], chosen)
    verdict = (True if names else header_verdict(first, rows)) if header is None else header
    named = verdict
    if verdict is None:
        named = not occurs_again(first, _cells(sample(path, kind, _LOOK_AGAIN)[1:], chosen))
    names_here = tuple(first) if named else None
    undecided = verdict is None and bool(named)
    return TextTable(chosen, lines[0][0], len(first), names_here, rows if named else [first, *rows], undecided)


def _cells(lines: list[tuple[int, bytes]], delimiter: bytes) -> list[list[str]]:
    return [[cell.decode() for cell in cells] for _, line in lines if (cells := fields_of(line, delimiter))]


def layout_of(
    path: Path,
    kind: str,
    delimiter: str | None,
    header: bool | None,
    weighted: bool | None,
    chosen: Chosen | None = None,
) -> Layout:
    """How to read the lines of a text file."""
    chosen = chosen or Chosen()
    table = table_of(path, kind, delimiter, header, chosen.names)
    if table is None:
        raise refusal(path, "there are no edges, only comments or blank lines; it should hold one edge per line")
    if table.width < 2:
        cell = table.names[0] if table.names else table.rows[0][0]
        mark = next((mark for mark in _SEPARATORS if mark in cell), None)
        which = "what else does" if mark is None else f"that {mark!r} does"
        how = f"delimiter={mark or '|'!r}, --delimiter '{mark or '|'}'"
        usual = "that tabs, commas, semicolons or blanks separate"
        raise refusal(path, f"{ONE_COLUMN} {usual}; say {which} ({how})", table.line)
    try:
        roles = edge_roles(table.names, table.rows, table.width, chosen, weighted)
    except ValueError as e:
        raise refusal(path, str(e), table.line) from None
    start = table.line + (table.names is not None)
    integers = _all_integers(table.rows, roles)
    return Layout(table.delimiter, table.width, roles, start, integers, table.names, table.undecided)


def checked_delimiter(delimiter: str) -> bytes:
    """What separates columns, as bytes, if it can."""
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter.isalnum() or delimiter in "\"'#%.+-_\r\n\0":
        raise InputError(
            f"delimiter={delimiter!r} cannot separate columns; give one character such as ',', ';', '|', ' ' or a tab"
        )
    return delimiter.encode()


def sample(path: Path, kind: str, count: int = _SAMPLE) -> list[tuple[int, bytes]]:
    """The first `count` lines that are neither blank nor comments, with their numbers."""
    lines: list[tuple[int, bytes]] = []
    for number, text in chunks(path, kind):
        for line in data_lines(number, text):
            if not lines:
                check_no_note(path, *line)
            lines.append(line)
            if len(lines) == count:
                return lines
    return lines


def fields_of(line: bytes, delimiter: bytes) -> list[bytes]:
    """The fields of a line, none where a quote is left open: the reader will say so."""
    try:
        return split_fields(line, delimiter)
    except ValueError:
        return []


def likely_delimiter(lines: list[tuple[int, bytes]]) -> bytes:
    """The first delimiter that gives every line as many columns, or else the one that does for most lines."""

    def agreement(delimiter: bytes) -> int:
        widths = Counter(len(fields_of(line, delimiter)) for _, line in lines)
        return max((n for width, n in widths.items() if width > 1), default=0)

    return max(_DELIMITERS, key=agreement)


def _all_integers(rows: list[list[str]], roles: Roles) -> bool:
    ends = (roles.source, roles.target)
    return all(is_integer(fields[i].encode()) for fields in rows for i in ends if i < len(fields))


@dataclass(frozen=True)
class FileColumns:
    """The first look at a file."""

    hyperedges: bool = False
    """Whether it has three roles or more (see `tuple_columns`)."""
    time: str | None = None
    """The column that holds times."""
    roles: tuple[str, ...] = field(default=(), compare=False)
    """The roles of its hyperedges, as `read_hyperedges` takes them."""


def file_columns(path: str | os.PathLike[str], delimiter: str | None = None, header: bool | None = None) -> FileColumns:
    """Look at the first lines of a file of text, or rows of parquet; a json file holds hyperedges.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tags.csv")
    >>> _ = path.write_text("user,movie,tag,year\\n1,7,slow,1999\\n2,7,fast,2001\\n")
    >>> file_columns(path)
    FileColumns(hyperedges=True, time='year', roles=('user', 'movie', 'tag'))
    """
    path = Path(path)
    if path.is_dir():
        return FileColumns()
    if str(path).endswith((".json", ".json.gz")):
        return FileColumns(hyperedges=not path.exists() or format_of(path) != "node-link JSON")
    kind = file_kind(path)
    if format_of(path) is not None:
        return FileColumns()
    if kind == "parquet":
        from netfold.io.duckdb import parquet_sample

        names, rows = parquet_sample(path)
        return _of_columns(names, rows)
    table = table_of(path, kind, delimiter, header)
    return FileColumns() if table is None or table.names is None else _of_columns(table.names, table.rows)


def _of_columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> FileColumns:
    roles = tuple_columns(names, rows)
    try:
        time = edge_roles(names, rows, len(names)).time
    except ValueError:
        time = None
    return FileColumns(bool(roles), None if time is None else names[time], roles)


class Role(NamedTuple):
    """A column that is read: where it stands, what it is called, and the type of its nodes."""

    column: int
    name: str
    type: str


@dataclass(frozen=True)
class Columns:
    """What the caller says of the columns."""

    chosen: Mapping[str, str] | None
    """From the name of a column to what it is to be called, `role` or `role:type`; None reads every column."""
    unnamed: tuple[str | None, ...] | None
    """What the columns of files without a header are called; None where files have one."""

    @staticmethod
    def of(columns: Any, header: bool) -> Columns:
        """What `read_hyperedges` was given."""
        if not header:
            return Columns(None, _names_of_all(columns))
        if columns is None:
            return Columns(None, None)
        if isinstance(columns, Mapping):
            renamed = dict(columns)
        else:
            names = [columns] if isinstance(columns, str) else list(columns)
            renamed = {str(name).partition(":")[0]: name for name in names}
            if len(renamed) < len(names):
                raise InputError(f"columns={names!r} names a column twice; name each once")
        odd = [x for pair in renamed.items() for x in pair if not isinstance(x, str)]
        if odd:
            raise InputError(f"columns holds {odd[0]!r}; it is a list of names of columns, or a dict from name to role")
        return Columns(renamed, None)

    def roles(self, names: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> list[Role]:
        """The roles of a file whose header has these names; a ValueError says why there are none.

        Where none are chosen, they are what `tuple_columns` makes of the names and of some rows, or all columns.

        >>> Columns.of(["who:person", "what"], True).roles(["year", "what", "who"])
        [Role(column=2, name='who', type='person'), Role(column=1, name='what', type='what')]
        """
        if self.unnamed is not None:
            return self._by_place(len(names))
        if self.chosen is None:
            wanted = tuple_columns(names, rows, wanted=True) if rows else ()
            known = {name.partition(":")[0]: name for name in wanted}
            if not known:
                return _checked([_role(i, name) for i, name in enumerate(names)])
            plain = [name.partition(":")[0] for name in names]
            return _checked([_role(i, known[name]) for i, name in enumerate(plain) if name in known])
        places = {name.partition(":")[0]: (i, name) for i, name in reversed(list(enumerate(names)))}
        roles = []
        for name, called in self.chosen.items():
            if name in places:
                i, written = places[name]
                roles.append(_role(i, written if called == name else called))
        if len(roles) < min(2, len(self.chosen)):
            which = f"{roles[0].name!r} alone" if roles else "none"
            raise ValueError(f"there are the columns {', '.join(names)}, and {which} of {', '.join(self.chosen)}")
        return _checked(roles)

    def check_found(self, files: Sequence[Any]) -> None:
        """Refuse a name that no file has."""
        names = {name.partition(":")[0] for file in files for name in file.names}
        missing = next((name for name in self.chosen or () if name not in names), None)
        if missing is not None:
            listed = " and ".join(f"{file.path} ({', '.join(file.names)})" for file in files)
            raise InputError(f"there is no column {missing!r} in {listed}; choose among those")

    def _by_place(self, width: int) -> list[Role]:
        assert self.unnamed is not None
        if width != len(self.unnamed):
            counts = f"there are {width} columns, and columns= names {len(self.unnamed)}"
            raise ValueError(f"{counts}; name each, None to pass one over")
        return _checked([_role(i, name) for i, name in enumerate(self.unnamed) if name is not None])


def _names_of_all(columns: Any) -> tuple[str | None, ...]:
    if columns is None or isinstance(columns, (str, Mapping)):
        raise InputError("header=False needs columns=, a list of the names of all columns (None to pass one over)")
    names = tuple(columns)
    odd = next((x for x in names if x is not None and not isinstance(x, str)), None)
    if odd is not None:
        raise InputError(f"columns holds {odd!r}; it is a list of the names of all columns (None to pass one over)")
    return names


def _role(column: int, written: str) -> Role:
    """The role that `role` or `role:type` means."""
    name, colon, kind = (part.strip() for part in written.partition(":"))
    if not name or (colon and not kind):
        raise ValueError(
            f"column {column + 1} is called {written!r}; a column is called by its role, or role:type, as head:entity"
        )
    if is_number_text(name.encode()):
        raise ValueError(
            f"column {column + 1} is called {name!r}, which names no role; the first line should, as user,movie,tag"
            " (where there is none: header=False and columns=[...], or --no-header and --columns)"
        )
    return Role(column, name, kind or name)


def _checked(roles: list[Role]) -> list[Role]:
    names = [role.name for role in roles]
    if len(names) < 2:
        raise ValueError(
            f"there is one role alone, {''.join(names)!r}; a hyperedge has two or more, each in its column"
        )
    again = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if again is not None:
        raise ValueError(f"duplicate role {again!r}; give each its own name, as head:{again} and tail:{again}")
    return roles
