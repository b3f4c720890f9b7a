"""The two files of word2vec, text and binary, which most programs that know vectors can read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from netfold.data.text import counted
from netfold.errors import InputError
from netfold.io.files import staged_file
from netfold.io.vectors.contents import WORD, Stored, nodes_as_text, nodes_from_text

_MAX_HEADER = 64


def write_text(path: Path, stored: Stored, *, force: bool) -> None:
    """A line for each node."""
    nodes = nodes_as_text(stored.nodes, WORD, "is empty or has white space")
    n, dim = stored.vectors.shape
    numbers = " %.9g" * dim + "\n"  # nine digits tell any two float32 apart
    with staged_file(path) as part, part.open("wb") as file:
        file.write(f"{n} {dim}\n".encode())
        rows = zip(nodes, stored.vectors, strict=True)
        file.writelines((node + numbers % tuple(row.tolist())).encode() for node, row in rows)


def read_text(path: Path) -> Stored:
    """Word2vec text, whoever wrote it."""
    nodes: list[str] = []
    with path.open("rb") as file:
        n, dim = _header(file.readline(_MAX_HEADER), path, least=lambda dim: 2 * dim + 1)
        rows = _numbers_of_lines(file, nodes, n)
        vectors = np.loadtxt(rows, np.float32, comments=None, ndmin=2) if n else np.array([*rows]).reshape(0, dim)
    if vectors.shape != (n, dim):
        there = " of ".join(map(str, vectors.shape))
        raise InputError(f"it declares {counted(n, 'row')} of {counted(dim, 'number')}, and holds {there}")
    return Stored(nodes_from_text(nodes), vectors, None)


def _numbers_of_lines(file: IO[bytes], nodes: list[str], n: int) -> Iterator[str]:
    """What follows the node in each line, which is put among `nodes`."""
    for i, line in enumerate(file, start=2):
        node, _, numbers = line.decode().rstrip().partition(" ")
        if not numbers:
            raise InputError(f"line {i} is not a node and its numbers")
        if len(nodes) == n:
            raise InputError(f"it declares {counted(n, 'row')}, and line {i} is one more")
        nodes.append(node)
        yield numbers


def write_binary(path: Path, stored: Stored, *, force: bool) -> None:
    """A row for each node, ended by a line feed as word2vec itself does."""
    nodes = nodes_as_text(stored.nodes, WORD, "is empty or has white space")
    n, dim = stored.vectors.shape
    with staged_file(path) as part, part.open("wb") as file:
        file.write(f"{n} {dim}\n".encode())
        rows = zip(nodes, stored.vectors.astype("<f4", copy=False), strict=True)
        file.writelines(b"%b %b\n" % (node.encode(), row.tobytes()) for node, row in rows)


def read_binary(path: Path) -> Stored:
    """Word2vec binary, whoever wrote it."""
    content = path.read_bytes()
    at = content.find(b"\n", 0, _MAX_HEADER) + 1
    n, dim = _header(content[:at], path, least=lambda dim: 4 * dim + 2)
    nodes, vectors = [], np.empty((n, dim), np.float32)
    for i in range(n):
        space = content.find(b" ", at)
        if space < 0 or space + 1 + 4 * dim > len(content):
            raise InputError(f"it ends in row {i} of {n:,}")
        nodes.append(content[at:space].lstrip(b"\n").decode())  # some programs end a row with a line feed, some do not
        vectors[i] = np.frombuffer(content, "<f4", dim, space + 1)
        at = space + 1 + 4 * dim
    if content[at:] not in (b"", b"\n"):
        raise InputError(f"it goes on after the {counted(n, 'row')} that it declares")
    return Stored(nodes_from_text(nodes), vectors, None)


def _header(line: bytes, path: Path, *, least: Callable[[int], int]) -> tuple[int, int]:
    """The declared numbers of rows and columns, where the file is long enough for them: `least` bytes a row."""
    match = re.fullmatch(rb"\s*(\d{1,15})\s+(\d{1,15})\s*\n", line)
    if match is None:
        raise InputError('it does not begin with the line "n dim" of a word2vec file')
    n, dim = int(match[1]), int(match[2])
    if dim == 0 or n * least(dim) > path.stat().st_size:
        raise InputError(f"it declares {counted(n, 'row')} of {counted(dim, 'number')}, for which it is too short")
    return n, dim
