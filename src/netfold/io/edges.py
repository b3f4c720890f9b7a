"""`read_edges`: a file with one edge per line, or per row, as a Graph; and what the name of a file stands for."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from netfold.data.columns import ROLES, Chosen, Roles
from netfold.data.edges import adjacency, entry_times
from netfold.data.graph import Graph, unchecked
from netfold.data.hypergraph import Hypergraph
from netfold.data.reading import Reading, apart, missing_names, shared_nodes, twin_names
from netfold.data.text import printable, type_in_words, with_article
from netfold.errors import InputError
from netfold.io.ends import Collected, Ends, IntegerEnds, NotIntegersError, Positions, TextEnds, Weights
from netfold.io.fields import Layout, Rows, rows_of
from netfold.io.formats import format_of, read_format, says_directed
from netfold.io.layout import layout_of
from netfold.io.source import LineError, chunks, file_kind, refusal

_log = logging.getLogger(__name__)

_PROBE = 48
_NEAR = 1 << 16
_OFTEN = 8


_Name = str | os.PathLike[str]


def read_edges(
    path: _Name | Sequence[_Name],
    *,
    directed: bool = False,
    weighted: bool | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    time: str | int | bool | None = None,
    type: str | int | None = None,
    bipartite: bool | None = None,
    attributes: Any = None,
) -> Graph:
    """The graph in a file with one edge per line: two nodes, and perhaps a weight, a time and more.

    Text separated by commas, semicolons, tabs or blanks, plain or compressed (gzip, zstd), or parquet; what it is shows
    in its first bytes. Text is UTF-8. Blank lines and lines that begin with # or % are passed over; a field in double
    quotes may hold the delimiter (and a node that begins with # needs them). A list of files, or a pattern such as
    "edges-*.csv", is read as one. GraphML, GML, GEXF, Pajek, Matrix Market, METIS, node-link JSON and networkx's edge
    lists and adjacency lists are recognised and read too (`netfold.io.formats`).

    - `delimiter` is one character, " " for any run of blanks and tabs; None detects it.
    - `header` says whether the first line names the columns. None decides: it does where none of its cells occurs again
      in its column and they differ in kind (words over numbers, names over ids); where nothing tells, it does if none
      of its cells occurs again anywhere, and a warning says so.
    - `source`, `target`, `weight`, `time` and `type` name the columns, or give their positions from 0 where no line
      names them. What is not said is detected (see `netfold.data.columns.edge_roles`): ends by their names, or the
      first two columns that may be; a weight by its name (weight, w, value, count, ...), or as the third of three
      columns without names; a time by its name and values. A time is never a weight unless `weight` says so.
      `time=False` keeps no times, which is quicker: the column is passed over.
    - `bipartite=True`: the two columns are two sides, as users and items that are both numbered from 1: a node of one
      is never one of the other, and each is called after its column (user:1, item:1; source:1 and target:1 where no
      line names the columns). False: they are not, say nothing. None: where it looks so (names of two kinds over
      integers from 1 on), `graph.reading` and a warning say how many nodes are in both columns; files of KONECT that
      say `bip` are read as two sides (and a warning says where one says `asym` and `directed` was not asked for).
    - `weighted=True` insists on a weight: where no column is called one, the next column of numbers is.
      `weighted=False` reads none.
    - `attributes` are what is known about nodes: another file ("papers.csv", or "papers.csv:year,topic" for some of its
      columns), or what else `Graph.with_attributes` takes.

    Nodes are integers where all of them are written as such (7 or -7, not 007 or 7.0; within 64 bits), and then
    come in ascending order. Otherwise all are strings, and come as they first appear. In parquet the types of the
    columns decide. An edge listed twice, in an undirected graph in either direction, is one edge; where there are
    weights they are summed, of times the earliest is kept (`graph.times`). Edges of weight 0 are dropped, but their
    nodes are there. `graph.reading` says what was read and what was passed over.

    Whatever is wrong with the file is said in one `InputError` that names the line.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "sales.csv")
    >>> _ = path.write_text("user_id,item,amount,day\\nu1,i7,9.5,2024-01-31\\nu1,i8,2,2024-02-01\\n")
    >>> graph = read_edges(path)
    >>> graph
    Graph(3 nodes, 2 edges, undirected; passed over: amount)
    >>> print(graph.reading)
    user_id - item, time day; 2 rows, 2 edges; passed over: amount; line 1 is a header
    >>> read_edges(path, weight="amount").is_weighted
    True
    """
    paths = files_named(path)
    chosen = Chosen(source, target, weight, time, type)
    formats = [format_of(each) for each in paths]
    if bipartite is None and "KONECT" in formats:
        bipartite = True
    formats = [None if name == "KONECT" else name for name in formats]
    if any(formats):
        if bipartite:
            raise refusal(paths[0], "bipartite=True (--bipartite) is for a table of edges; leave it out")
        graph = _other_format(paths, formats, chosen, directed, weighted)
        _log.info("read %s", printable(f"{paths[0]}: {graph!r}"))
        return graph if attributes is None else graph.with_attributes(attributes)
    _keep_freed_memory()
    files = table_files(paths, chosen, weighted, delimiter, header)
    try:
        ends, collected = _collected(files, IntegerEnds() if all(file.integers for file in files) else TextEnds())
    except NotIntegersError:
        ends, collected = _collected(files, TextEnds())
    graph = _graph(files, ends, collected, directed, bipartite)
    _log.info("read %s", printable(f"{', '.join(map(str, paths))}: {graph.reading}"))
    if graph.reading is not None and graph.reading.shared:
        warnings.warn(f"{paths[0]}: {graph.reading.sides_said}", stacklevel=2)
    if graph.reading is not None and graph.reading.direction_lost:
        warnings.warn(f"{paths[0]}: {graph.reading.direction_said}", stacklevel=2)
    if any(file.undecided for file in files):
        warnings.warn(_undecided_header(files), stacklevel=2)
    return graph if attributes is None else graph.with_attributes(attributes)


def read_if_named(data: Any, kind: str = "graph", *, directed: bool = False) -> Any:
    """A file, or a folder that `Graph.save` wrote, as the "graph" or "hypergraph" that it holds; all else as it is."""
    if not isinstance(data, (str, os.PathLike)):
        return data
    if kind == "hypergraph":
        from netfold.io.hif import read_hif
        from netfold.io.hyperedges import read_hyperedges

        return read_hif(data) if str(data).endswith((".json", ".json.gz")) else read_hyperedges(data)
    from netfold.io.parts import is_parts

    is_folder = is_parts(data) or (Path(data) / "graph.json").exists()
    return Graph.load(data) if is_folder else read_edges(data, directed=directed)


def graph_or_hypergraph(data: Any, kind: str = "graph") -> Graph | Hypergraph:
    """Whatever can be read as a graph, a `Hypergraph` as it is; of the name of a file, what `kind` says it holds."""
    known = read_if_named(data, kind)
    return known if isinstance(known, Hypergraph) else Graph.of(known)


def table_files(
    paths: Sequence[Path], chosen: Chosen, weighted: bool | None, delimiter: str | None, header: bool | None
) -> list[TableFile]:
    """Tables of edges after a first look at each: its columns, and whether its nodes may be integers."""
    files: list[TableFile] = []
    for each in paths:
        if (kind := file_kind(each)) == "parquet":
            files.append(EdgeParquet(each, weighted, chosen))
        else:
            files.append(EdgeText(each, kind, layout_of(each, kind, delimiter, header, weighted, chosen)))
    _check_alike(files)
    return files


def files_named(path: _Name | Sequence[_Name]) -> list[Path]:
    """The files that a name, a pattern or a list of either means."""
    if not isinstance(path, (str, os.PathLike)):
        if not isinstance(path, Sequence):
            kind = type_in_words(path)
            raise InputError(f"{kind} is not the name of a file; nf.Graph.of reads tables, arrays and graphs")
        paths = [file for each in path for file in files_named(each)]
        if not paths:
            raise InputError("no file is given; read_edges takes the name of a file, or a list of names")
        return paths
    text = os.fspath(path)
    if "://" in text:
        raise InputError(f"{text} is not a file on this machine; fetch it first, and give the file's name")
    if any(mark in text for mark in "*?[") and "\0" not in text and not Path(text).exists():
        matches = sorted(glob(text))  # noqa: PTH207  (patterns are not of a folder)
        if not matches:
            raise InputError(f"{text}: no file matches the pattern; check the name and the folder")
        return [Path(match) for match in matches]
    return [Path(path)]


def _other_format(
    paths: list[Path], formats: list[str | None], chosen: Chosen, directed: bool, weighted: bool | None
) -> Graph:
    """The graph in a file of another program, which says itself what it holds."""
    at, name = next((i, name) for i, name in enumerate(formats) if name is not None)
    path = paths[at]
    said = next(
        (role for role in ("source", "target", "time", "type") if getattr(chosen, role) not in (None, False)), None
    )
    if len(paths) > 1:
        raise refusal(
            path, f"this is {with_article(name)} file, one of {len(paths)} files; only tables are read together"
        )
    if said is not None:
        raise refusal(
            path, f"this is {with_article(name)} file, which says what its edges are; leave {said}= (--{said}) out"
        )
    graph = read_format(path, name, weight=None if chosen.weight is None else str(chosen.weight), weighted=weighted)
    if directed and not graph.directed:
        if name not in ("networkx edge list", "adjacency list"):
            raise refusal(path, f"this {name} file holds an undirected graph; leave directed=True (--directed) out")
        raise refusal(
            path, f"{with_article(name)} is read as undirected; read it with networkx, and give the graph to Graph.of"
        )
    return graph


@dataclass(frozen=True)
class EdgeText:
    """A file of text whose layout is known."""

    path: Path
    kind: str
    layout: Layout

    @property
    def integers(self) -> bool:
        """Whether its nodes may be integers, by its first rows."""
        return self.layout.integers

    @property
    def undecided(self) -> bool:
        """Whether nothing told if line 1 is a header."""
        return self.layout.undecided

    @property
    def roles(self) -> Roles:
        """What its columns are."""
        return self.layout.roles

    @property
    def names(self) -> tuple[str, ...] | None:
        """What they are called."""
        return self.layout.names

    @property
    def width(self) -> int:
        """How many there are."""
        return self.layout.width

    def pieces(self) -> Iterator[tuple[bytes, Rows]]:
        """Pieces of its text, and the edges in each."""
        for line, text in chunks(self.path, self.kind, self.layout.start):
            try:
                yield text, rows_of(line, text, self.layout)
            except LineError as e:
                raise refusal(self.path, e.problem, e.line) from None

    def add_to(self, collected: Collected, ends: Ends) -> None:
        """Read all of it."""
        for text, rows in self.pieces():
            edges = (*ends.add(rows), rows.weights, rows.times)
            collected.count(len(rows.starts), rows.weights)
            collected.add(*(_merged(*edges) if _repeats(text) else edges))


class EdgeParquet:
    """A parquet file after a look at its columns."""

    undecided = False

    def __init__(self, path: Path, weighted: bool | None, chosen: Chosen):
        from netfold.io.duckdb import open_table

        self.path, self.options = path, (weighted, chosen)
        with open_table(path, *self.options) as table:
            self.integers, self.roles, self.names = table.integers, table.roles, tuple(table.names)
        self.width = len(self.names)

    def add_to(self, collected: Collected, ends: Ends) -> None:
        """Read all of it."""
        from netfold.io.duckdb import open_table

        with open_table(self.path, *self.options) as table:
            for part, weights, times in table.pieces(integers=isinstance(ends, IntegerEnds)):
                if isinstance(part, Rows):
                    u, v = ends.add(part)
                else:
                    assert isinstance(ends, IntegerEnds)
                    u, v = ends.add_values(part)
                collected.count(len(u), weights)
                collected.add(u, v, weights, times)


TableFile = EdgeText | EdgeParquet


def _check_alike(files: Sequence[TableFile]) -> None:
    """Several files are one table: each has a weight, and a time, or none has."""
    for file in files[1:]:
        for role in ("weight", "time"):
            has = [getattr(each.roles, role) is not None for each in (files[0], file)]
            if has[0] != has[1]:
                one, other = (files[0].path, file.path) if has[0] else (file.path, files[0].path)
                raise InputError(f"{one} has a column of {role} and {other} has none; give files with the same columns")


def _undecided_header(files: Sequence[TableFile]) -> str:
    file = next(file for file in files if file.undecided)
    cells = ",".join(file.names or ())
    return f"{file.path}: line 1 ({cells[:60]}) was taken for a header; header=False (--no-header) reads it as an edge"


def _collected(files: Sequence[TableFile], ends: Ends) -> tuple[Ends, Collected]:
    collected = Collected()
    for file in files:
        file.add_to(collected, ends)
    return ends, collected


def _graph(
    files: Sequence[TableFile], ends: Ends, collected: Collected, directed: bool, bipartite: bool | None = None
) -> Graph:
    columns, weights = collected.take()
    times, first = collected.take_times(), files[0]
    if not columns:
        problem = "there are no edges; it should hold one edge per line, after the header if there is one"
        raise refusal(first.path, problem)
    nodes, shared = ends.finish(columns), 0
    called = [first.names[i] if first.names else role for role, i in zip(ROLES, first.roles[:2], strict=False)]
    if bipartite:
        nodes, columns[0::2], columns[1::2] = apart(called, nodes, columns[0::2], columns[1::2])
    elif bipartite is None and first.names is not None:
        shared = shared_nodes(called, nodes, columns[0::2], columns[1::2])
    pairs = list(zip(columns[0::2], columns[1::2], strict=True))
    timed = [] if times is None else pairs[:]
    columns.clear()
    try:
        matrix = adjacency(pairs, weights, len(nodes), directed=directed)
    except InputError as e:
        raise refusal(first.path, str(e)) from None
    summed = weights is not None
    del weights
    times = None if times is None else entry_times(matrix, timed, times, directed=directed)
    n_loops = 0 if directed else int(np.count_nonzero(matrix.diagonal()))
    edges = matrix.nnz if directed else (matrix.nnz + n_loops) // 2
    header = first.names is not None if isinstance(first, EdgeText) else None
    facts: dict[str, Any] = {"header": header, "undecided": first.undecided, "files": len(files)}
    facts |= {"bipartite": bool(bipartite), "shared": shared, "missing": missing_names(nodes)}
    facts["twins"] = twin_names(nodes)
    facts["direction_lost"] = not directed and any(says_directed(file.path) for file in files)
    reading = Reading.of(first.names, first.roles, first.width, **facts)
    reading = reading.counted(collected.rows, edges, summed=summed, zeros=collected.zeros)
    return unchecked(matrix, nodes, directed, times=times, reading=reading)


def _keep_freed_memory() -> None:
    """Let go of one large block that was never touched.

    glibc takes its size as a hint for how much freed memory to keep; otherwise the arrays of every piece of a file are
    handed back to the system and asked for again, which is a fifth of the time on large files. Others ignore it.
    """
    np.empty(12 << 20, np.uint8)


def _repeats(text: bytes) -> bool:
    """Whether a piece of text says the same over and over, as what is packed to a thousandth of its size does."""
    at = len(text) // 2
    probe = text[at : at + _PROBE]
    return text.find(probe, at + 1, at + _NEAR) >= 0 and text.count(probe) >= _OFTEN


def _merged(
    u: Positions, v: Positions, weights: Weights, times: Weights
) -> tuple[Positions, Positions, Weights, Weights]:
    """The same edges, each once, its weights summed and its first time: a small file that unpacks to a huge one."""
    order = np.lexsort((v, u))
    u, v = u[order], v[order]
    first = np.flatnonzero(np.append(len(u) > 0, (u[1:] != u[:-1]) | (v[1:] != v[:-1])))
    weights = None if weights is None else np.add.reduceat(weights[order], first)
    return u[first], v[first], weights, None if times is None else np.fmin.reduceat(times[order], first)
