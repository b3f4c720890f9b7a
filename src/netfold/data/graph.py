"""`Graph`: nodes, and the sparse matrix of who is linked to whom."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data import interop
from netfold.data.attribute_tables import attribute_table, check_shared
from netfold.data.attributes import Attributes
from netfold.data.checks import check_choice
from netfold.data.columns import Chosen
from netfold.data.edges import adjacency, entry_times, in_float32
from netfold.data.nodes import Nodes
from netfold.data.reading import Reading, apart, missing_names, shared_nodes, twin_names
from netfold.data.text import as_typed, counted, html_box, html_facts, type_in_words
from netfold.errors import InputError

if TYPE_CHECKING:
    import networkx
    import pandas

__all__ = ["Graph"]

_DUPLICATES = ("sum", "one", "error")


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A weighted graph, directed or not, whose nodes keep their names.

    `adjacency[i, j]` is the weight s_ij of the edge from node i to node j, 0 where there is none; it is symmetric
    where the graph is undirected, a self-loop standing once on the diagonal. The arrays are read-only.

    Made by `Graph.from_edges`, by `Graph.of` (networkx, igraph, PyTorch Geometric, scipy, numpy), by `nf.read_edges`
    from a file, and by `Graph.load` from a folder that `save` wrote.

    >>> graph = Graph.from_edges([("a", "b"), ("b", "c")])
    >>> graph
    Graph(3 nodes, 2 edges, undirected)
    >>> graph.positions(["c", "a"]).tolist()
    [2, 0]
    """

    adjacency: sparse.csr_array
    """n x n, float32, sorted, without duplicates or stored zeros."""
    nodes: Nodes
    """The node of each row."""
    directed: bool = field(default=False, kw_only=True)
    times: npt.NDArray[np.float64] | None = field(default=None, kw_only=True)
    """When each edge was first there, a number for each stored entry of `adjacency`; None where nothing said so."""
    reading: Reading | None = field(default=None, kw_only=True)
    """Which columns of a table became what, and what was passed over; None where the graph is not from a table."""
    attributes: Attributes | None = field(default=None, kw_only=True)
    """What is known about each node beside its links, a row a node; None where nothing is."""

    def __post_init__(self) -> None:
        own = sparse.csr_array(self.adjacency)  # shares arrays that fit already
        _check_square(own.shape)
        _check_numbers(own.dtype)
        _check_weights(own.data)
        matrix = own
        if own.dtype != np.float32:
            matrix = sparse.csr_array((in_float32(own.data), own.indices, own.indptr), shape=own.shape)
        if not matrix.has_canonical_format or (matrix.data.size and matrix.data.min() == 0):
            matrix = matrix.copy()
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
            _check_weights(matrix.data)
        if not self.directed and not _is_symmetric(matrix):
            raise InputError("the adjacency matrix is not symmetric; say directed=True, or make it symmetric first")
        nodes = Nodes.of(self.nodes)
        if len(nodes) != matrix.shape[0]:
            raise InputError(f"{len(nodes):,} nodes do not fit an adjacency matrix of {matrix.shape[0]:,} rows")
        object.__setattr__(self, "adjacency", _read_only(matrix))
        object.__setattr__(self, "nodes", nodes)
        if self.times is not None:
            object.__setattr__(self, "times", _checked_times(self.times, own, matrix))
        _check_attributes(self.attributes, len(nodes))

    # ---------------------------------------------------------------- made from

    @staticmethod
    def from_edges(
        edges: Iterable[Any],
        weights: Iterable[float] | None = None,
        *,
        nodes: Iterable[Any] | None = None,
        directed: bool = False,
        duplicates: str | None = None,
        weighted: bool | None = None,
        source: Any = None,
        target: Any = None,
        weight: Any = None,
        time: Any = None,
        type: Any = None,
        bipartite: bool | None = None,
        attributes: Any = None,
    ) -> Graph:
        """A graph of pairs (u, v), of triples (u, v, weight), of an array, or of a table (pandas, polars).

        `source`, `target`, `weight`, `time`, `type` and `weighted` say which columns of a table or an array are what,
        as in `read_edges`: by name, or by position from 0 where there are no names. An array has a row for each edge,
        or is the 2 x E integers that PyTorch Geometric calls edge_index. With `bipartite=True` the two ends are two
        sides whose nodes are never the same, called after their columns (user:1 and item:1, or source:1 and target:1).

        `nodes` fixes the order of the nodes and admits isolated ones; otherwise they come in ascending
        order where all are integers, and as they first appear where not. An edge given twice (in an undirected
        graph: in either direction) follows `duplicates`: "sum" its weights (the default where weights are given),
        count it as "one" edge (the default where none are), or raise an "error".

        `attributes` are what is known about nodes, as in `with_attributes`.

        >>> Graph.from_edges([("a", "b", 2.0), ("b", "a", 0.5)]).adjacency[0, 1].item()
        2.5
        """
        table = interop.edge_columns(edges, weights, Chosen(source, target, weight, time, type), weighted)
        u, v = table.sources, table.targets
        shared = 0
        if nodes is None:
            names, u_codes, v_codes = _factorize(u, v)
            ends = _ends_of(table.reading)
            if bipartite:
                names, (u_codes,), (v_codes,) = apart(ends, names, [u_codes], [v_codes])
            elif bipartite is None and table.reading is not None:
                shared = shared_nodes(ends, names, [u_codes], [v_codes])
        else:
            if bipartite:
                raise InputError("nodes= says what the nodes are called, and bipartite=True calls them otherwise")
            names = Nodes.of(nodes)
            u_codes, v_codes = names.positions(u), names.positions(v)
        graph = Graph.from_codes(u_codes, v_codes, table.weights, nodes=names, directed=directed, duplicates=duplicates)
        if table.times is None and table.reading is None:
            return graph if attributes is None else graph.with_attributes(attributes)
        a, times = graph.adjacency, table.times
        times = None if times is None else entry_times(a, [(u_codes, v_codes)], times, directed=directed)
        weighty = table.weights is not None
        zeros = 0 if table.weights is None else int(np.count_nonzero(table.weights == 0))
        reading = table.reading and table.reading.counted(len(u_codes), graph.n_edges, summed=weighty, zeros=zeros)
        reading = reading and replace(reading, bipartite=bool(bipartite), shared=shared)
        reading = reading and replace(reading, missing=missing_names(names), twins=twin_names(names))
        if reading is not None and shared:
            warnings.warn(reading.sides_said, stacklevel=2)
        graph = unchecked(a, names, directed, times=times, reading=reading)
        return graph if attributes is None else graph.with_attributes(attributes)

    @staticmethod
    def from_codes(
        u: npt.NDArray[Any],
        v: npt.NDArray[Any],
        weights: npt.NDArray[Any] | None,
        *,
        nodes: Nodes,
        directed: bool = False,
        duplicates: str | None = None,
    ) -> Graph:
        """A graph of edges between positions 0..n-1 of `nodes`; the rest as in `from_edges`."""
        rule = duplicates or ("one" if weights is None else "sum")
        check_choice(_DUPLICATES, duplicates=rule)
        if weights is not None:
            _check_weights(weights, lambda i: f"edge {i} ({nodes[int(u[i])]!r}, {nodes[int(v[i])]!r})")
        return unchecked(_assemble(u, v, weights, directed, rule, nodes), nodes, directed)

    @staticmethod
    def from_scipy(matrix: Any, nodes: Iterable[Any] | None = None, *, directed: bool | None = None) -> Graph:
        """A graph of a square sparse matrix (or array of numbers); directed where it is not symmetric, unless said."""
        if isinstance(matrix, np.ndarray) and matrix.ndim != 2:
            raise InputError(f"an adjacency matrix has 2 axes, not {matrix.ndim}")
        csr = sparse.csr_array(matrix)
        _check_numbers(csr.dtype)
        _check_square(csr.shape)
        if directed is None:
            directed = not _is_symmetric(csr)
        return Graph(csr, Nodes.of(range(csr.shape[0]) if nodes is None else nodes), directed=directed)

    @staticmethod
    def from_networkx(graph: Any, *, weight: str = "weight", attributes: bool | Sequence[str] = False) -> Graph:
        """A graph of a networkx graph; parallel edges are summed, edges without the attribute weigh 1.

        `attributes` are those of nodes that are kept: names, or True for all. None are unless said: classes that a
        model is to predict are often among them.
        """
        nodes, u, v, w = interop.from_networkx(graph, weight)
        plain = Graph.from_codes(u, v, w, nodes=Nodes.of(nodes), directed=graph.is_directed())
        columns = None if isinstance(attributes, bool) else list(attributes)
        return plain.with_attributes(dict(graph.nodes(data=True)), columns=columns) if attributes else plain

    @staticmethod
    def from_pyg(data: Any, *, attributes: bool = False) -> Graph:
        """A graph of a PyTorch Geometric `Data`: `edge_index`, and `edge_weight` or a one-column `edge_attr`.

        With `attributes=True` its `x` is kept too: as words where it is nearly empty, else as vectors.
        """
        plain = Graph.from_scipy(interop.from_pyg(data))
        if not attributes:
            return plain
        if getattr(data, "x", None) is None:
            raise InputError("this Data has no x, which is what attributes=True reads")
        return plain.with_attributes(data.x)

    @staticmethod
    def from_igraph(graph: Any, *, weight: str = "weight") -> Graph:
        """A graph of an igraph graph; nodes are the attribute `name` where there is one."""
        nodes, u, v, w = interop.from_igraph(graph, weight)
        return Graph.from_codes(u, v, w, nodes=Nodes.of(nodes), directed=graph.is_directed())

    @staticmethod
    def of(x: Any, **columns: Any) -> Graph:
        """Whatever can be read as a graph: a Graph, networkx, igraph, PyG data, a matrix, edges, a table.

        `columns` are those arguments of `from_edges` that say which column of a table is what (`source`, `target`,
        `weight`, `time`, `type`, `bipartite`), and its others; `attributes` goes with every graph.

        >>> Graph.of([(1, 2), (2, 3)])
        Graph(3 nodes, 2 edges, undirected)
        """
        kind = "graph" if isinstance(x, Graph) else interop.kind_of(x)
        said = next((name for name, value in columns.items() if value is not None), None)
        if said is not None and kind in ("graph", "networkx", "igraph", "pyg", "scipy"):
            if said == "attributes":
                return Graph.of(x, **{**columns, "attributes": None}).with_attributes(columns["attributes"])
            raise InputError(f"{said}= is for a table or edges; {type_in_words(x)} is none")
        if isinstance(x, Graph):
            return x
        readers: dict[str, Callable[..., Graph]] = {
            "networkx": Graph.from_networkx,
            "igraph": Graph.from_igraph,
            "pyg": Graph.from_pyg,
            "scipy": Graph.from_scipy,
            "edges": Graph.from_edges,
        }
        if kind not in readers:
            raise InputError(kind)
        return readers[kind](x, **columns) if kind == "edges" else readers[kind](x)

    # ---------------------------------------------------------------- facts

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, isolated ones included."""
        return len(self.nodes)

    @cached_property
    def n_edges(self) -> int:
        """How many edges there are; in an undirected graph each counts once."""
        return self.adjacency.nnz if self.directed else (self.adjacency.nnz + self.n_self_loops) // 2

    @cached_property
    def n_self_loops(self) -> int:
        """How many edges lead from a node to itself."""
        return int(np.count_nonzero(self.adjacency.diagonal()))

    @cached_property
    def is_weighted(self) -> bool:
        """Whether any edge weighs other than 1."""
        return bool(np.any(self.adjacency.data != 1))

    @cached_property
    def sides(self) -> npt.NDArray[np.int8] | None:
        """Of a bipartite graph the side of each node, 0 or 1 (-1 where it has no links); None where it has no sides.

        Bipartite is a graph whose links, in either direction, all go between two sets of nodes (buyers and goods), and
        that has a cycle: every tree can be so divided. In each component the first node is on side 0; where all edges
        of a directed graph go from one side to the other, those that they start from are.

        >>> Graph.from_edges([("ann", "tea"), ("ann", "rice"), ("bob", "tea"), ("bob", "rice")]).sides.tolist()
        [0, 1, 1, 0]
        """
        from netfold.data.edges import links
        from netfold.data.paths import two_sides

        if self.n_self_loops:
            return None
        either = links(self, directed=False, weights=False, loops="drop") if self.directed else self.adjacency
        sides = two_sides(either)
        if sides is None or not self.directed:
            return sides
        starts, ends = np.diff(self.adjacency.indptr) > 0, np.zeros(self.n_nodes, bool)
        ends[self.adjacency.indices] = True
        one_way = np.where(starts, 0, np.where(ends, 1, -1)).astype(np.int8)
        return sides if (starts & ends).any() else one_way

    @cached_property
    def degrees(self) -> npt.NDArray[np.int64]:
        """The number of neighbors of each node (that it links to, where directed)."""
        return np.diff(self.adjacency.indptr).astype(np.int64)

    def __deepcopy__(self, memo: Any) -> Graph:
        """A value that never changes is its own copy: scikit-learn's `clone` asks for many."""
        return self

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        weighted = ", weighted" if self.is_weighted else ""
        over = self.reading.unused if self.reading is not None else ()
        passed_over = f"; passed over: {', '.join(over)}" if over else ""
        sizes = f"{counted(self.n_nodes, 'node')}, {counted(self.n_edges, 'edge')}"
        if self.reading is not None and self.reading.shared:
            passed_over += f"; in both columns: {self.reading.shared:,}"
        return f"Graph({sizes}, {kind}{weighted}{passed_over})"

    def _repr_html_(self) -> str:
        """What a notebook shows: nothing that takes longer than counting."""
        degrees = self.degrees
        rows: list[tuple[str, Any]] = [("nodes", f"{self.n_nodes:,}: {', '.join(map(as_typed, self.nodes[:4]))}, ...")]
        rows += [("edges", f"{self.n_edges:,}, {'directed' if self.directed else 'undirected'}")]
        if self.is_weighted:
            rows += [("weights", f"{self.adjacency.data.min():g} to {self.adjacency.data.max():g}")]
        if len(degrees):
            rows += [("degrees", f"{degrees.min():,} to {degrees.max():,}, {degrees.mean():,.1f} in the mean")]
        rows += [("attributes", self.attributes)] if self.attributes is not None else []
        rows += [("read as", self.reading)] if self.reading is not None else []
        return html_box("Graph", html_facts(rows))

    def positions(self, nodes: Iterable[Any]) -> npt.NDArray[np.int64]:
        """The row of each node."""
        return self.nodes.positions(nodes)

    def neighbors(self, node: Any) -> list[Any]:
        """The nodes that a node links to."""
        i = int(self.positions([node])[0])
        a = self.adjacency
        return [self.nodes[j] for j in a.indices[a.indptr[i] : a.indptr[i + 1]]]

    def transition(self) -> sparse.csr_array:
        """P = D⁻¹ S: the rows that are not empty sum to 1."""
        matrix = self.adjacency.copy()
        sums = matrix @ np.ones(self.n_nodes)  # in float64: a hub's sum, or the inverse of a tiny one, outgrows float32
        matrix.data[:] = matrix.data / np.repeat(sums, np.diff(matrix.indptr))
        return matrix

    def laplacian(self) -> sparse.csr_array:
        """L = D - S with D the diagonal matrix of row sums."""
        return sparse.csr_array(sparse.diags_array(self.adjacency.sum(axis=1)) - self.adjacency)

    def with_attributes(
        self, attributes: Any, *, columns: Sequence[str] | None = None, kinds: Mapping[str, str] | None = None
    ) -> Graph:
        """The same graph and what is known about its nodes.

        `attributes` is the name of a file (`netfold.io.attributes.read_attributes`), {node: {column: value}}, a table
        (pandas, polars; nodes in the column node or in the index), or an array or sparse matrix with a row for each
        node of the graph in order. Kinds of columns are recognised, or said by `kinds`: number, category, words (a set
        of them), vector; `columns` are those that are wanted. Nodes that the graph does not have become nodes without
        links, and of nodes that are not named nothing is known; a warning counts both. None takes attributes away.

        >>> graph = Graph.from_edges([("a", "b")])
        >>> graph.with_attributes({"a": {"age": 17}, "b": {"age": 71}}).attributes
        Attributes(2 nodes; age: number)
        """
        if attributes is None:
            return self if self.attributes is None else self._with(None)
        if isinstance(attributes, (str, os.PathLike)):
            from netfold.io.attributes import read_attributes

            table, where = read_attributes(attributes, self.nodes, columns=columns, kinds=kinds), f"{attributes}: "
        else:
            table, where = attribute_table(attributes, columns=columns, kinds=kinds), ""
        if table.nodes is None:
            return self._with(table.attributes)
        return self._joined_with(Nodes.of(table.nodes), table.attributes, where)

    def _with(self, attributes: Attributes | None) -> Graph:
        more: dict[str, Any] = {"times": self.times, "reading": self.reading, "attributes": attributes}
        return unchecked(self.adjacency, self.nodes, self.directed, **more)

    def _joined_with(self, named: Nodes, attributes: Attributes, where: str) -> Graph:
        """The graph with attributes of some of its nodes, and of others, which it gets without links."""
        new = np.flatnonzero(check_shared(named, self.nodes, where) < 0)
        told = int(np.count_nonzero(named.find(self.nodes) >= 0))
        parts = []
        if len(new) and self.n_nodes:
            parts.append(f"{counted(len(new), 'node is', 'nodes are')} in no edge, and kept as nodes without links")
        if told < self.n_nodes:
            parts.append(f"of {counted(self.n_nodes - told, 'node')} of {self.n_nodes:,} nothing is known")
        if parts:
            warnings.warn(f"attributes: {'; '.join(parts)}", stacklevel=3)
        nodes = self.nodes if not len(new) else Nodes.of([*self.nodes, *(named[int(i)] for i in new)])
        a, n = self.adjacency, len(nodes)
        ends = np.concatenate([a.indptr, np.full(n - self.n_nodes, a.indptr[-1], a.indptr.dtype)])
        matrix = sparse.csr_array((a.data, a.indices, ends), shape=(n, n))
        more: dict[str, Any] = {"times": self.times, "reading": self.reading}
        return unchecked(matrix, nodes, self.directed, **more, attributes=attributes.aligned(named, nodes))

    def subgraph(self, rows: npt.ArrayLike) -> Graph:
        """The graph among these rows, in this order; each row once."""
        nodes = self.nodes.take(rows)
        rows = np.asarray(rows, dtype=np.int64)
        chosen = self.adjacency[rows][:, rows]
        times = None if self.times is None else self._entries(self.times)[rows][:, rows]
        attributes = None if self.attributes is None else self.attributes.rows(rows)
        if times is None:
            return Graph(chosen, nodes, directed=self.directed, attributes=attributes)
        for matrix in (chosen, times):
            matrix.sort_indices()
        return Graph(chosen, nodes, directed=self.directed, times=times.data, attributes=attributes)

    def _entries(self, values: npt.NDArray[np.float64]) -> sparse.csr_array:
        """A matrix of one value for each edge, where the adjacency matrix has weights."""
        a = self.adjacency
        return sparse.csr_array((values, a.indices, a.indptr), shape=a.shape)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of nodes, edges, weights and attributes: equal for equal graphs, wherever they came from."""
        a, digest = self.adjacency, hashlib.sha256()
        digest.update(f"{self.n_nodes} {self.directed} {self.nodes.kind}".encode())
        for array in (a.indptr.astype(np.int64), a.indices.astype(np.int64), a.data, *self.nodes.arrays().values()):
            digest.update(np.ascontiguousarray(array).data)
        if self.attributes is not None:
            digest.update(self.attributes.fingerprint.encode())
        return digest.hexdigest()

    def with_logarithms(self, unit: float | None) -> Graph:
        """The same edges, each weighing log(1 + w / unit), for where a few weights drown all others; None: as it is.

        The fingerprint stays: it is the same graph, read otherwise. Times and what was read of a table are left out.

        >>> graph = Graph.from_edges([("a", "b", 2.0), ("b", "c", 5000.0)]).with_logarithms(2.0)
        >>> [round(float(graph.adjacency[1, i]), 3) for i in (0, 2)]
        [0.693, 7.824]
        """
        if unit is None:
            return self
        a = self.adjacency
        scaled = in_float32(np.log1p(a.data.astype(np.float64) / unit))
        matrix = sparse.csr_array((scaled, a.indices, a.indptr), shape=a.shape)
        other = Graph(matrix, self.nodes, directed=self.directed, attributes=self.attributes)
        other.__dict__["fingerprint"] = self.fingerprint
        return other

    def has_fingerprint(self, fingerprint: str | None) -> bool:
        """Whether a fingerprint is of this graph, or of this graph without its attributes."""
        return fingerprint is not None and fingerprint in (self.fingerprint, self.with_attributes(None).fingerprint)

    # ---------------------------------------------------------------- made into

    def to_scipy(self) -> sparse.csr_array:
        """A writeable copy of the adjacency matrix."""
        return self.adjacency.copy()

    def to_networkx(self) -> networkx.Graph[Any]:
        """A networkx graph (`DiGraph` where directed) with the attribute `weight`."""
        return interop.to_networkx(self.adjacency, self.nodes, self.directed)

    def to_igraph(self) -> Any:
        """An igraph graph with the attributes `name` (of nodes) and `weight` (of edges)."""
        return interop.to_igraph(self.adjacency, self.nodes, self.directed)

    def to_pyg(self) -> Any:
        """PyTorch Geometric `Data` with `edge_index` and `edge_weight`; node i is `nodes[i]`."""
        return interop.to_pyg(self.adjacency)

    def to_pandas(self) -> pandas.DataFrame:
        """A table with the columns source, target, weight, and time where the edges have times; each edge once."""
        return interop.to_pandas(self.adjacency, self.nodes, self.directed, self.times)

    def save(self, path: str | os.PathLike[str], *, parts: int = 1, force: bool = False) -> None:
        """Write a `.parts` folder, which `Graph.load` maps into memory.

        With several `parts` nodes are put into the order of a hash of their names: `fit` spreads such a folder over
        several processes, see docs/large-graphs.md.
        """
        from netfold.io.parts import write_graph_parts

        more: dict[str, Any] = {"times": self.times, "reading": self.reading, "attributes": self.attributes}
        write_graph_parts(path, self.adjacency, self.nodes, self.directed, parts=parts, force=force, **more)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Graph:
        """Open a folder that `Graph.save` or `netfold prepare` wrote.

        The arrays of a single part stay on disk, and are paged in as they are used; several are brought together.
        """
        from netfold.io import graph_folder
        from netfold.io.parts import is_parts, read_graph_parts

        old = (Path(path) / "graph.json").exists() and not is_parts(path)
        read = graph_folder.read_graph_folder if old else read_graph_parts
        matrix, nodes, directed, more = read(Path(path))
        return unchecked(matrix, nodes, directed, **more)


def unchecked(
    matrix: sparse.csr_array,
    nodes: Nodes,
    directed: bool,
    *,
    times: npt.NDArray[np.float64] | None = None,
    reading: Reading | None = None,
    attributes: Attributes | None = None,
) -> Graph:
    """A graph of a float32 matrix known to be sorted, free of duplicates and zeros, and symmetric where it must be."""
    graph = object.__new__(Graph)
    values = {"adjacency": _read_only(matrix), "nodes": nodes, "directed": directed, "times": times, "reading": reading}
    _check_attributes(attributes, len(nodes))
    for name, value in {**values, "attributes": attributes}.items():
        object.__setattr__(graph, name, value)
    return graph


def _checked_times(times: Any, before: sparse.csr_array, matrix: sparse.csr_array) -> npt.NDArray[np.float64]:
    """A read-only array with a time for each entry of a matrix that was in order already."""
    array = np.array(times, dtype=np.float64)
    if array.shape != (matrix.nnz,) or before.nnz != matrix.nnz or not np.array_equal(before.indices, matrix.indices):
        raise InputError(f"times has the shape {array.shape}; it needs one for each of {matrix.nnz:,} sorted entries")
    array.flags.writeable = False
    return array


def _check_attributes(attributes: Any, n: int) -> None:
    if attributes is None:
        return
    if not isinstance(attributes, Attributes):
        what = type_in_words(attributes)
        raise InputError(f"attributes is {what}; say graph.with_attributes(...), which reads tables and dicts")
    if attributes.n_nodes != n:
        raise InputError(f"attributes of {counted(attributes.n_nodes, 'node')} do not fit a graph of {n:,}")


def _ends_of(reading: Reading | None) -> list[str]:
    """What the columns of the ends are called."""
    roles = {} if reading is None else reading.roles
    return [
        role if roles.get(role, "").startswith("column ") else roles.get(role, role) for role in ("source", "target")
    ]


def _factorize(u: Any, v: Any) -> tuple[Nodes, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Nodes in order, and the position of each end of each edge."""
    if all(isinstance(x, np.ndarray) and x.dtype.kind in "iu" for x in (u, v)):
        values, codes = np.unique(np.concatenate([u, v]), return_inverse=True)
        return Nodes.of(values), codes[: len(u)], codes[len(u) :]
    index: dict[Any, int] = {}
    try:
        ends = chain.from_iterable(zip(u, v, strict=True))
        codes = np.fromiter((index.setdefault(x, len(index)) for x in ends), dtype=np.int64)
    except TypeError as e:
        raise InputError(f"a node cannot be a key: {e}") from None
    nodes = Nodes.of(index)
    if nodes.kind == "int":  # in order, as integers in an array come
        rank = np.argsort(np.argsort(np.fromiter(index, dtype=np.int64)))
        nodes, codes = Nodes.of(np.sort(np.fromiter(index, dtype=np.int64))), rank[codes]
    return nodes, codes[0::2], codes[1::2]


def _assemble(
    u: npt.NDArray[Any], v: npt.NDArray[Any], w: npt.NDArray[Any] | None, directed: bool, rule: str, nodes: Nodes
) -> sparse.csr_array:
    """The adjacency matrix of edges between positions."""
    if rule == "one" and w is not None:
        some = np.asarray(w) > 0
        u, v, w = u[some], v[some], None
    if rule == "sum" and w is None:
        w = np.ones(len(u))
    if rule == "error":
        _check_once(u, v, directed, nodes)
    return adjacency([(u, v)], w, len(nodes), directed=directed)


def _check_once(u: npt.NDArray[Any], v: npt.NDArray[Any], directed: bool, nodes: Nodes) -> None:
    low, high = (u, v) if directed else (np.minimum(u, v), np.maximum(u, v))
    order = np.lexsort((high, low))
    same = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    if same.any():
        at = order[np.argmax(same)]
        edge = f"{nodes[u[at]]!r} - {nodes[v[at]]!r}"
        raise InputError(f"the edge {edge} is given twice; remove one, or sum them (duplicates='sum')")


def _check_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"an adjacency matrix is square, not {' x '.join(map(str, shape))}")


def _check_numbers(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "buif":
        raise InputError(f"an adjacency matrix holds real numbers, not {dtype}")


def _check_weights(weights: npt.NDArray[Any], called: Callable[[int], str] = lambda _: "an edge") -> None:
    """Refuse the first weight that is none; `called` says of which edge it is."""
    most = np.finfo(np.float32).max
    if weights.size and not (weights.min() >= 0 and weights.max() <= most):
        i = int(np.argmin((weights >= 0) & (weights <= most)))
        raise InputError(
            f"{called(i)} weighs {weights[i]}; weights are finite numbers of at least 0 (and at most {most:.1e})"
        )


def _is_symmetric(matrix: sparse.csr_array) -> bool:
    difference = matrix - matrix.T
    return difference.nnz == 0 or not np.any(difference.data)


def _read_only(matrix: sparse.csr_array) -> sparse.csr_array:
    views = [x.view() for x in (matrix.data, matrix.indices, matrix.indptr)]
    for view in views:
        view.flags.writeable = False
    shared = sparse.csr_array(tuple(views), shape=matrix.shape, copy=False)
    shared.has_sorted_indices = shared.has_canonical_format = True
    return shared
