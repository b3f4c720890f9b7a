"""`read_edges`: a file with one edge per line, or per row, as a Graph."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from netfold.data.edges import adjacency
from netfold.data.graph import Graph, unchecked
from netfold.errors import InputError
from netfold.io.ends import Collected, Column, Ends, IntegerEnds, NotIntegersError, TextEnds, Weights
from netfold.io.fields import Layout, Rows, rows_of
from netfold.io.layout import layout_of
from netfold.io.lines import LineError
from netfold.io.source import chunks, file_kind, refusal

_PROBE = 48
_NEAR = 1 << 16
_OFTEN = 8


def read_edges(
    path: str | os.PathLike[str],
    *,
    directed: bool = False,
    weighted: bool | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Graph:
    """The graph in a file with one edge per line: two labels, and perhaps a weight.

    Text parted by commas, semicolons, tabs or blanks, plain or compressed (gzip, zstd), or parquet; what it is shows
    in its first bytes. Text is UTF-8. Blank lines and lines that begin with # or % are passed over; a field in double
    quotes may hold the delimiter (and a label that begins with # needs them).

    - `delimiter` is one character, " " for any run of blanks and tabs; None finds it out.
    - `header` says whether the first line names the columns. None guesses: it does where it names both ends (source
      and target, src and dst, from and to, u and v, ...), or where it holds text and all other lines numbers.
    - Named columns are found by those names in any order; failing that, the first two are the ends. A column called
      weight, w, value, count, frequency or the like is the weight, and others (a year, a kind) are passed over.
      Without names there are two columns, or three, and the third is the weight.
    - `weighted=True` insists on a weight: where no column is called one, the next after the ends is. `weighted=False`
      reads none.

    Labels are integers where all of them are written as such (7 or -7, not 007 or 7.0; within 64 bits), and nodes
    then come in ascending order. Otherwise all labels are strings, and nodes come as they first appear. In parquet
    the types of the columns decide. An edge listed twice, in an undirected graph in either direction, is one edge;
    where there are weights they are summed. An edge of weight 0 is none, but its nodes are there.

    Whatever is wrong with the file is said in one `InputError` that names the line.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "edges.csv")
    >>> _ = path.write_text("source,target,weight\\nValjean,Javert,17\\nValjean,Cosette,31\\n")
    >>> read_edges(path)
    Graph(3 nodes, 2 edges, undirected, weighted)
    """
    path = Path(path)
    _keep_freed_memory()
    kind = file_kind(path)
    if kind == "parquet":
        ends, found = _parquet(path, weighted)
    else:
        layout = layout_of(path, kind, delimiter, header, weighted)
        try:
            ends, found = _text(path, kind, layout, IntegerEnds() if layout.integers else TextEnds())
        except NotIntegersError:
            ends, found = _text(path, kind, layout, TextEnds())
    columns, weights = found.take()
    if not columns:
        raise refusal(path, "there are no edges; it should hold one edge per line, after the header if there is one")
    labels = ends.finish(columns)
    pairs = list(zip(columns[0::2], columns[1::2], strict=True))
    columns.clear()
    try:
        matrix = adjacency(pairs, weights, len(labels), directed=directed)
    except InputError as e:
        raise refusal(path, str(e)) from None
    return unchecked(matrix, labels, directed)


def _keep_freed_memory() -> None:
    """Let go of one large block that was never touched.

    glibc takes its size as a hint for how much freed memory to keep; otherwise the arrays of every piece of a file are
    handed back to the system and asked for again, which is a fifth of the time on large files. Others ignore it.
    """
    np.empty(12 << 20, np.uint8)


def _text(path: Path, kind: str, layout: Layout, ends: Ends) -> tuple[Ends, Collected]:
    found = Collected()
    for line, text in chunks(path, kind, layout.start):
        try:
            rows = rows_of(line, text, layout)
        except LineError as e:
            raise refusal(path, e.problem, e.line) from None
        edges = (*ends.add(rows), rows.weights)
        found.add(*(_merged(*edges) if _repeats(text) else edges))
    return ends, found


def _parquet(path: Path, weighted: bool | None) -> tuple[Ends, Collected]:
    from netfold.io.duckdb import open_table

    found = Collected()
    with open_table(path, weighted) as table:
        integers, texts = IntegerEnds(), TextEnds()
        for part, weights in table.pieces():
            u, v = texts.add(part) if isinstance(part, Rows) else integers.add_values(part)
            found.add(u, v, weights)
        return integers if table.integers else texts, found


def _repeats(text: bytes) -> bool:
    """Whether a piece of text says the same over and over, as what is packed to a thousandth of its size does."""
    at = len(text) // 2
    probe = text[at : at + _PROBE]
    return text.find(probe, at + 1, at + _NEAR) >= 0 and text.count(probe) >= _OFTEN


def _merged(u: Column, v: Column, weights: Weights) -> tuple[Column, Column, Weights]:
    """The same edges, each once and with its weights summed: a small file that unpacks to a huge one stays small."""
    order = np.lexsort((v, u))
    u, v = u[order], v[order]
    first = np.flatnonzero(np.append(len(u) > 0, (u[1:] != u[:-1]) | (v[1:] != v[:-1])))
    return u[first], v[first], None if weights is None else np.add.reduceat(weights[order], first)
