"""What the columns of a file say before it is read: whether it holds hyperedges, and which column is a time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from netfold.io.columns import _WEIGHT, names_ends
from netfold.io.lines import is_number, is_unbounded
from netfold.io.sniffing import checked_delimiter, fields_of, likely_delimiter, sample
from netfold.io.source import kind_of

__all__ = ["FileColumns", "file_columns"]

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
    if Path(path).is_dir() or kind_of(Path(path)) == "parquet":
        return FileColumns()
    lines = sample(Path(path), kind_of(Path(path)))
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
    return all(is_number(x) or is_unbounded(x) for x in (fields[column] for fields in rows if column < len(fields)))
