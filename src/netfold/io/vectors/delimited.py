"""Tables as text, .csv and .tsv: what spreadsheets and most programs write."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from netfold.errors import InputError
from netfold.io.files import staged_file
from netfold.io.vectors.contents import ONE_LINE, Stored, column_names, nodes_as_text, nodes_from_text

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def write_delimited(path: Path, stored: Stored, *, force: bool) -> None:
    """A line of names, then a line for each node: its name, its vector and, where there is one, its `std`."""
    nodes, (_, vectors, std, _) = nodes_as_text(stored.nodes, ONE_LINE, "is empty or has a line break"), stored
    numbers = vectors if std is None else np.hstack([vectors, std])
    with staged_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=_DELIMITERS[path.suffix.lower()], lineterminator="\n")
        writer.writerow(["node", *column_names(vectors.shape[1], std is not None)])
        rows = zip(nodes, numbers.tolist(), strict=True)
        writer.writerows([node, *(f"{x:.9g}" for x in row)] for node, row in rows)


def read_delimited(path: Path) -> Stored:
    """The first column is the node and all others are numbers, whoever wrote it; the line of names may be missing.

    Where the names are those of `write_delimited`, the second half may be standard deviations.
    """
    nodes: list[str] = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = _rows(csv.reader(file, delimiter=_DELIMITERS[path.suffix.lower()], strict=True))
        line, first = next(rows, (0, []))
        names = first[1:] if not _are_numbers(first[1:]) else []
        if not names and first:
            rows = _chained((line, first), rows)
        vectors = [_numbers(row, line, nodes) for line, row in rows]
    if not vectors:
        raise InputError("it holds no line of a node and its numbers")
    odd = next((i for i, x in enumerate(vectors) if len(x) != len(vectors[0])), None)
    if odd is not None:
        raise InputError(f"{nodes[odd]!r} has {len(vectors[odd])} numbers, and {nodes[0]!r} {len(vectors[0])}")
    numbers, half = np.stack(vectors), len(vectors[0]) // 2
    with_std = bool(names) and names == column_names(half, True)
    return Stored(
        nodes_from_text(nodes), numbers[:, :half] if with_std else numbers, numbers[:, half:] if with_std else None
    )


def _rows(reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """The lines that hold something, numbered."""
    try:
        for i, row in enumerate(reader, start=1):
            if row:
                yield i, row
    except csv.Error as e:
        raise InputError(str(e)) from None


def _chained(first: tuple[int, list[str]], rest: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    yield first
    yield from rest


def _are_numbers(cells: list[str]) -> bool:
    try:
        np.array(cells, dtype=np.float32)
    except ValueError:
        return False
    return True


def _numbers(row: list[str], line: int, nodes: list[str]) -> npt.NDArray[np.float32]:
    if len(row) < 2 or not _are_numbers(row[1:]):
        raise InputError(f"line {line} is not a node and its numbers; to edges a model is fitted first (netfold fit)")
    nodes.append(row[0])
    return np.array(row[1:], dtype=np.float32)
