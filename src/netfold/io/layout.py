"""What the columns of a file say before it is read: whether it holds hyperedges, and which column is a time."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from netfold.errors import InputError
from netfold.io.fields import _WEIGHT, Layout, Roles, named_roles, names_ends, unnamed_roles
from netfold.io.lines import data_lines, is_integer, is_number_text, is_unbounded, split_fields
from netfold.io.source import chunks, file_kind, refusal

__all__ = ["FileColumns", "file_columns"]


_SAMPLE = 200
"""How many lines are looked at."""

_DELIMITERS = (b"\t", b";", b",", b" ")
"""In this order: blanks may stand inside fields that tabs part, and decimal commas inside those that semicolons do."""


def layout_of(path: Path, kind: str, delimiter: str | None, header: bool | None, weighted: bool | None) -> Layout:
    """How to read the lines of a text file."""
    given = None if delimiter is None else checked_delimiter(delimiter)
    lines = sample(path, kind)
    if not lines:
        raise refusal(path, "there are no edges, only comments or blank lines; it should hold one edge per line")
    chosen = given or likely_delimiter(lines)
    first, rest = lines[0][0], [fields for _, line in lines[1:] if (fields := fields_of(line, chosen))]
    try:
        fields = split_fields(lines[0][1], chosen)
        named = _has_header(fields, rest) if header is None else header
        if named:
            roles = named_roles([field.decode() for field in fields], weighted)
        else:
            roles = unnamed_roles(len(fields), weighted)
    except ValueError as e:
        raise refusal(path, str(e), first) from None
    body = rest if named else [fields, *rest]
    return Layout(chosen, len(fields), roles, first + named, _all_integers(body, roles))


def checked_delimiter(delimiter: str) -> bytes:
    """What parts columns, as bytes, if it can."""
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter.isalnum() or delimiter in "\"'#%.+-_\r\n\0":
        raise InputError(
            f"delimiter={delimiter!r} cannot part columns; give one character such as ',', ';', '|', ' ' or a tab"
        )
    return delimiter.encode()


def sample(path: Path, kind: str) -> list[tuple[int, bytes]]:
    """The first lines that are neither blank nor comments, with their numbers."""
    lines: list[tuple[int, bytes]] = []
    for number, text in chunks(path, kind):
        for line in data_lines(number, text):
            lines.append(line)
            if len(lines) == _SAMPLE:
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


def _has_header(first: list[bytes], rest: list[list[bytes]]) -> bool:
    """Whether the first line names the columns: by known names, or by being text where the others hold numbers."""
    seen = {field for fields in rest for field in fields}
    if names_ends([field.decode() for field in first]) and not seen.intersection(first):
        return True
    alike = [fields for fields in rest if len(fields) == len(first)]
    if not alike or len(first) < 2:
        return False
    if not any(map(is_integer, first[:2])) and all(is_integer(x) for fields in alike for x in fields[:2]):
        return True
    return len(first) > 2 and not _is_float(first[2]) and all(is_number_text(fields[2]) for fields in alike)


def _is_float(field: bytes) -> bool:
    """Whether Python reads a number: nan and inf are no weights, but no names of columns either."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _all_integers(rows: list[list[bytes]], roles: Roles) -> bool:
    ends = (roles.source, roles.target)
    return all(is_integer(fields[i]) for fields in rows for i in ends if i < len(fields))


_TIMES = frozenset(("time", "timestamp", "date", "datetime", "year", "month", "day", "t", "ts", "created_at"))
_NUMBERS = _WEIGHT | {"rating", "score"}


@dataclass(frozen=True)
class FileColumns:
    """The first look at a file."""

    hyperedges: bool = False
    """Whether it has three roles or more: none of its columns are called ends, and a third one holds nodes."""
    time: str | None = None
    """The column that is called a time."""


def file_columns(path: str | os.PathLike[str], delimiter: str | None = None) -> FileColumns:
    """Look at the first lines of a text file; a json file holds hyperedges, and of parquet nothing is guessed.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tags.csv")
    >>> _ = path.write_text("user,movie,tag,year\\n1,7,slow,1999\\n2,7,fast,2001\\n")
    >>> file_columns(path)
    FileColumns(hyperedges=True, time='year')
    """
    if str(path).endswith((".json", ".json.gz")):
        return FileColumns(hyperedges=True)
    if Path(path).is_dir() or file_kind(Path(path)) == "parquet":
        return FileColumns()
    lines = sample(Path(path), file_kind(Path(path)))
    parted = checked_delimiter(delimiter) if delimiter else likely_delimiter(lines)
    rows = [fields for _, line in lines if (fields := fields_of(line, parted))]
    return _of_rows(rows) if rows else FileColumns()


def _of_rows(rows: list[list[bytes]]) -> FileColumns:
    names = [field.decode("utf-8", "replace").strip() for field in rows[0]]
    plain = [name.casefold().replace(" ", "_") for name in names]
    times = [name for name, x in zip(names[2:], plain[2:], strict=True) if x in _TIMES]
    nodes = [i for i, x in enumerate(plain) if x not in _TIMES | _NUMBERS and not _numbers(rows, i)]
    return FileColumns(not names_ends(names) and len(nodes) >= 3, times[0] if times else None)


def _numbers(rows: list[list[bytes]], column: int) -> bool:
    """Whether a column holds numbers throughout, its first line included: a weight that has no name, good or bad."""
    return all(
        is_number_text(x) or is_unbounded(x) for x in (fields[column] for fields in rows if column < len(fields))
    )
