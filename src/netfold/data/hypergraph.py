"""`Hypergraph`: typed nodes, and edges that join two nodes or more; and the graphs that come of expanding it."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data import interop as hypergraph_interop
from netfold.data.attribute_tables import attribute_table, check_shared
from netfold.data.attributes import Attributes, Column
from netfold.data.checks import Ints
from netfold.data.graph import Graph, unchecked
from netfold.data.kinds import (
    Kind,
    check_rows,
    first_repeated,
    joined,
    kinds_of_named,
    kinds_of_tuples,
    types_by_roles,
    types_of,
)
from netfold.data.nodes import Nodes
from netfold.data.reading import HyperedgeReading
from netfold.data.text import counted, did_you_mean, html_box, html_facts, is_typed, listed, type_in_words
from netfold.errors import InputError

__all__ = ["Hypergraph", "Kind", "clique_expansion", "co_occurrences", "incidence", "star_expansion"]


_PAIRS = 1 << 21
"""Pairs of nodes that are looked at together."""


def incidence(rows: Sequence[Ints], numbers: Sequence[Ints], n: int) -> sparse.csr_array:
    """H (n x m): H[i, e] = 1 where node i is in edge e; `numbers` are the edges that the rows of each kind are.

    >>> incidence([np.array([[0, 1], [1, 2]])], [np.array([0, 1])], 3).toarray().tolist()
    [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    members = np.concatenate([np.empty(0, np.int32), *(r.ravel().astype(np.int32) for r in rows)])
    edges = [np.repeat(e.astype(np.int32), r.shape[1]) for r, e in zip(rows, numbers, strict=True)]
    columns = np.concatenate([np.empty(0, np.int32), *edges])
    del edges
    shape = (n, sum(map(len, rows)))
    return sparse.coo_array((np.ones(len(members), np.float32), (members, columns)), shape=shape).tocsr()


def co_occurrences(rows: Sequence[Ints], n: int) -> sparse.csr_array:
    """A = H Hᵀ - D_v (n x n): in how many edges two nodes are together, with an empty diagonal.

    Row i of H Hᵀ counts the nodes of the edges of i, i itself in each; so those lists, i left out, are sorted and
    counted, for some nodes at a time. An edge of N nodes costs N(N - 1).

    >>> co_occurrences([np.array([[0, 1, 2]]), np.array([[2, 1]])], 3).toarray().tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 2.0], [1.0, 2.0, 0.0]]
    """
    most = sum(len(r) * r.shape[1] * (r.shape[1] - 1) for r in rows)
    indices, counts = np.empty(most, np.int32), np.empty(most, np.float32)  # what stays unused takes no memory
    indptr: npt.NDArray[np.signedinteger] = np.zeros(n + 1, np.int32 if most < 2**31 else np.int64)
    used = 0
    for first, part in _parts(rows, n):
        here = slice(used, used + part.nnz)
        indices[here], counts[here] = part.indices, part.data
        np.add(part.indptr[1:], used, out=indptr[first + 1 : first + 1 + part.shape[0]], casting="same_kind")
        used = here.stop
    indices.resize(used, refcheck=False)
    counts.resize(used, refcheck=False)
    matrix = sparse.csr_array((counts, indices, indptr), shape=(n, n))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def _parts(rows: Sequence[Ints], n: int) -> Iterator[tuple[int, sparse.csr_array]]:
    """Rows of A from the first to the last, some at a time, each part with its first row."""
    members = np.concatenate([np.empty(0, np.int32), *(r.ravel().astype(np.int32) for r in rows)])
    sizes = np.repeat(np.array([r.shape[1] for r in rows], np.int32), [len(r) for r in rows])
    starts = np.cumsum(sizes, dtype=np.int64) - sizes
    edges, bounds = _edges_of_nodes(members, sizes, n)
    for first, last in _blocks(edges, bounds, sizes):
        mine = edges[bounds[first] : bounds[last]]
        degrees = np.diff(bounds[first : last + 1])
        together = _members_of(mine, members, starts, sizes)
        others = together[together != np.repeat(np.repeat(np.arange(first, last), degrees), sizes[mine])]
        ends = np.cumsum(np.append(0, sizes[mine] - 1))[bounds[first : last + 1] - bounds[first]]
        part = sparse.csr_array((np.ones(len(others), np.float32), others, ends), shape=(last - first, n))
        part.sum_duplicates()
        yield first, part


def _edges_of_nodes(
    members: npt.NDArray[np.int32], sizes: npt.NDArray[np.int32], n: int
) -> tuple[npt.NDArray[np.int32], Ints]:
    """The edges of each node, node after node, and where those of each begin."""
    columns = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    listed = sparse.coo_array((np.ones(len(members), np.bool_), (members, columns)), shape=(n, len(sizes)))
    listed.has_canonical_format = True  # no edge names a node twice; this keeps tocsr() from looking
    matrix = listed.tocsr()
    return matrix.indices, matrix.indptr.astype(np.int64)


def _blocks(edges: npt.NDArray[np.int32], bounds: Ints, sizes: npt.NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Runs of nodes whose edges hold about `_PAIRS` nodes together, or one node where its own hold more."""
    pairs = np.cumsum(np.append(0, sizes[edges]))[bounds]
    first, n = 0, len(bounds) - 1
    while first < n:
        last = int(np.searchsorted(pairs, pairs[first] + _PAIRS, side="right")) - 1
        last = min(max(last, first + 1), n)
        yield first, last
        first = last


def _members_of(
    edges: npt.NDArray[np.int32], members: npt.NDArray[np.int32], starts: Ints, sizes: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """The nodes of these edges, one edge after the other."""
    lengths = sizes[edges]
    before = np.cumsum(lengths, dtype=np.int64) - lengths
    at = np.arange(int(lengths.sum())) + np.repeat(starts[edges] - before, lengths)
    joined_nodes: npt.NDArray[np.int32] = members[at]
    return joined_nodes


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Hypergraph:
    """Edges that are tuples of any length N >= 2 of distinct nodes, in kinds by the roles that their nodes play.

    An edge given twice counts twice. Made of plain tuples, edges are of one kind where they join the same types of
    nodes; in what order they name them has no meaning then. Other roles come with `from_kinds` and `read_hyperedges`.

    Made by `Hypergraph.from_tuples`, by `from_named` (dicts from role to node), by `from_kinds` (arrays), by
    `from_xgi`, and by `nf.read_hyperedges` from a file.

    >>> hypergraph = Hypergraph.from_tuples([("ann", "film", "drama"), ("bob", "film")])
    >>> hypergraph
    Hypergraph(4 nodes, 2 edges)
    >>> hypergraph.kinds
    (Kind(node, node_2:node, node_3:node; 1 edge), Kind(node, node_2:node; 1 edge))
    >>> hypergraph.adjacency()[hypergraph.nodes.positions(["film"])].toarray().tolist()
    [[1.0, 0.0, 1.0, 1.0]]
    """

    kinds: tuple[Kind, ...]
    """The edges, as rows of positions; kinds in order of first appearance, each with one edge or more."""
    nodes: Nodes
    """Each node once; a node may be in no edge."""
    types: tuple[str, ...]
    """The types of nodes, in order of first appearance; "node" alone where none is given."""
    type_codes: Ints
    """The type of each node, as a position in `types`."""
    _sequence: Ints | None
    """The kind of each edge; None where edges come kind after kind."""
    reading: HyperedgeReading | None = None
    """Which columns of files became what; None where it is not from files of columns."""
    attributes: Attributes | None = None
    """What is known about each node beside its edges, a row a node; columns are missing for nodes of other types."""

    def __init__(self, edges: Iterable[Iterable[Any]], nodes: Iterable[Any], node_types: Iterable[str] = ()) -> None:
        tuples = list(map(_as_edge, edges))
        names = Nodes.of(nodes)
        types, codes = types_of(node_types, len(names))
        members = names.positions([node for edge in tuples for node in edge])
        sizes = np.fromiter(map(len, tuples), np.int64, len(tuples))
        _freeze(self, *kinds_of_tuples(members, sizes, types, codes), names, types, codes)

    @staticmethod
    def from_tuples(tuples: Iterable[Iterable[Any]], node_types: Mapping[Any, str] | None = None) -> Hypergraph:
        """A hypergraph of tuples of nodes; `node_types` gives the type of each node.

        Nodes come in ascending order where all are integers, and as they first appear where not.
        """
        edges = tuple(map(_as_edge, tuples))
        nodes = _first_seen(node for edge in edges for node in edge)
        if nodes.kind == "int":
            nodes = Nodes.of(np.sort(nodes.arrays()["ints"]))
        if node_types is None:
            return Hypergraph(edges, nodes)
        return Hypergraph(edges, nodes, _looked_up(node_types, nodes))

    @staticmethod
    def from_kinds(
        kinds: Iterable[Kind | tuple[Sequence[str], Sequence[str], npt.ArrayLike]],
        *,
        nodes: Iterable[Any],
        node_types: Iterable[str] | npt.NDArray[np.integer] | None = None,
        types: Sequence[str] | None = None,
        attributes: Attributes | None = None,
    ) -> Hypergraph:
        """A hypergraph of arrays: kinds, or (roles, types, rows) of each, whose rows are positions among `nodes`.

        `node_types` is the type of each node, as a string or, with `types`, as a position in them; None takes it from
        the roles that a node plays. Edges come kind after kind; kinds of the same roles and types are one.

        >>> roles = ("head", "relation", "tail")
        >>> rows = np.array([[0, 2, 1], [1, 2, 0]])
        >>> made = Hypergraph.from_kinds([(roles, ("entity", "relation", "entity"), rows)], nodes=["a", "b", "r"])
        >>> made, made.node_types
        (Hypergraph(3 nodes, 2 edges, 2 types), ('entity', 'entity', 'relation'))
        """
        distinct = joined(map(_as_kind, kinds))
        names = Nodes.of(nodes)
        typing = types_by_roles(distinct, names) if node_types is None else types_of(node_types, len(names), types)
        check_rows(distinct, names, *typing)
        made = _freeze(object.__new__(Hypergraph), distinct, None, names, *typing)
        return made if attributes is None else made.with_attributes(attributes)

    @staticmethod
    def from_named(
        edges: Iterable[Mapping[str, Any]],
        *,
        nodes: Iterable[Any] | None = None,
        node_types: Mapping[Any, str] | None = None,
    ) -> Hypergraph:
        """A hypergraph of edges that are dicts from role to node; `node_types` gives the type of each node, and without
        it all are of one.

        Edges of the same roles and types are of one kind. `nodes` fixes the order of the nodes and admits those in no
        edge; otherwise they come as they first appear.

        >>> Hypergraph.from_named([{"head": "a", "tail": "b"}, {"tail": "a", "head": "c"}]).edges
        (('a', 'b'), ('c', 'a'))
        """
        dicts = list(map(_as_named, edges))
        names = _first_seen(x for edge in dicts for x in edge.values()) if nodes is None else Nodes.of(nodes)
        types, codes = types_of(_looked_up(node_types, names) if node_types is not None else (), len(names))
        members = names.positions([node for edge in dicts for node in edge.values()])
        kinds, sequence = kinds_of_named(dicts, members.tolist(), [types[c] for c in codes.tolist()])
        return _freeze(object.__new__(Hypergraph), kinds, sequence, names, types, codes)

    @staticmethod
    def from_xgi(graph: Any, *, node_type: str = "type", skip_small: bool = False) -> Hypergraph:
        """A hypergraph of an xgi hypergraph; the attribute `node_type` of a node is its type, where it has one.

        Roles are the edge attribute `roles` that `to_xgi` writes. A directed edge has the roles tail and head. Edges
        of fewer than two nodes are refused or, with `skip_small`, left out. Weights and other attributes are not kept.
        """
        nodes, types, edges = hypergraph_interop.from_xgi(graph, node_type, skip_small=skip_small)
        return Hypergraph.from_named(edges, nodes=nodes, node_types=types)

    def with_attributes(self, attributes: Any) -> Hypergraph:
        """The same hypergraph and what is known about its nodes.

        Where there are several types, {type: table} has a table for each, in which nodes have the names that they have
        within their type; its columns are called type.column, and are missing for nodes of other types. Otherwise a
        table of all nodes. A table is what `Graph.with_attributes` takes. Nodes that the hypergraph does not have are
        passed over, and a warning counts them.

        >>> tuples = Hypergraph.from_named([{"user": ("user", 1), "film": ("film", 7)}],
        ...                                node_types={("user", 1): "user", ("film", 7): "film"})
        >>> tuples.with_attributes({"film": {7: {"year": 1999}}}).attributes
        Attributes(2 nodes; film.year: number; 1 value missing)
        """
        if attributes is None and self.attributes is None:
            return self
        known = _known_of(self, attributes)
        if known is not None and known.n_nodes != self.n_nodes:
            raise InputError(f"attributes of {counted(known.n_nodes, 'node')} do not fit {self.n_nodes:,} nodes")
        other = copy.copy(self)
        other.__dict__.pop("fingerprint", None)
        object.__setattr__(other, "attributes", known)
        return other

    # ---------------------------------------------------------------- facts

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, those in no edge included."""
        return len(self.nodes)

    @cached_property
    def n_edges(self) -> int:
        """How many edges there are."""
        return sum(map(len, self.kinds))

    @cached_property
    def node_types(self) -> tuple[str, ...]:
        """The type of each node."""
        return tuple(map(self.types.__getitem__, self.type_codes.tolist()))

    @cached_property
    def degrees(self) -> Ints:
        """The number of edges of each node, the diagonal of D_v."""
        counts = np.zeros(self.n_nodes, np.int64)
        for kind in self.kinds:
            counts += np.bincount(kind.rows.ravel(), minlength=self.n_nodes)
        return counts

    @cached_property
    def edges(self) -> tuple[tuple[Any, ...], ...]:
        """The nodes that each edge joins, made at the first use: for millions of edges use the rows of `kinds`."""
        of_kind = [iter(self.tuples(kind)) for kind in self.kinds]
        if self._sequence is None:
            return tuple(edge for kind in of_kind for edge in kind)
        return tuple(next(of_kind[k]) for k in self._sequence.tolist())

    def tuples(self, kind: Kind) -> list[tuple[Any, ...]]:
        """The edges of a kind as tuples of nodes."""
        names = list(self.nodes)
        return [tuple(map(names.__getitem__, row)) for row in kind.rows.tolist()]

    def edge_numbers(self) -> list[Ints]:
        """For each kind, which of all edges its rows are: the columns of `incidence`, the places in `edges`."""
        if self._sequence is not None:
            return [np.flatnonzero(self._sequence == k) for k in range(len(self.kinds))]
        ends = np.cumsum([0, *map(len, self.kinds)])
        return [np.arange(a, b) for a, b in pairwise(ends.tolist())]

    def __deepcopy__(self, memo: Any) -> Hypergraph:
        """A value that never changes is its own copy: scikit-learn's `clone` asks for many."""
        return self

    def __repr__(self) -> str:
        several = f", {len(self.types)} types" if len(self.types) > 1 else ""
        over = self.reading.passed_over if self.reading is not None else ()
        passed_over = f"; passed over: {', '.join(over)}" if over else ""
        sizes = f"{counted(self.n_nodes, 'node')}, {counted(self.n_edges, 'edge')}"
        return f"Hypergraph({sizes}{several}{passed_over})"

    def _repr_html_(self) -> str:
        """What a notebook shows: types, and kinds of hyperedges."""
        counts = np.bincount(self.type_codes, minlength=len(self.types)).tolist()
        rows: list[tuple[str, Any]] = [("nodes", f"{self.n_nodes:,}"), ("hyperedges", f"{self.n_edges:,}")]
        rows += [("types", ", ".join(f"{name} {n:,}" for name, n in zip(self.types, counts, strict=True)))]
        rows += [("kind", f"{', '.join(kind.roles)}: {len(kind):,}") for kind in self.kinds]
        rows += [("read as", self.reading)] if self.reading is not None else []
        rows += [("attributes", self.attributes)] if self.attributes is not None else []
        return html_box("Hypergraph", html_facts(rows))

    def incidence(self) -> sparse.csr_array:
        """H (n x m): H[i, e] = 1 where node i is in edge e."""
        return incidence([kind.rows for kind in self.kinds], self.edge_numbers(), self.n_nodes)

    def adjacency(self) -> sparse.csr_array:
        """A = H Hᵀ - D_v (n x n): in how many edges two nodes are together; D_v, the number of edges of each node, is
        the diagonal of H Hᵀ, so that of A is empty."""
        return co_occurrences([kind.rows for kind in self.kinds], self.n_nodes)

    def to_xgi(self) -> Any:
        """An `xgi.Hypergraph`: nodes with the attribute `type`, edges with `roles`, a dict from role to node."""
        return hypergraph_interop.to_xgi(self.nodes, self.node_types, self.named_edges())

    def named_edges(self) -> Iterator[dict[str, Any]]:
        """Each edge as a dict from role to node."""
        rows = [iter(kind.rows.tolist()) for kind in self.kinds]
        names = list(self.nodes)
        every = chain.from_iterable(repeat(k, len(kind)) for k, kind in enumerate(self.kinds))
        for k in every if self._sequence is None else self._sequence.tolist():
            yield {role: names[i] for role, i in zip(self.kinds[k].roles, next(rows[k]), strict=True)}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of nodes, types, kinds and edges: equal where all are and come in the same order."""
        digest = hashlib.sha256()
        facts = [self.n_nodes, self.nodes.kind, self.types, [[k.roles, k.types, len(k)] for k in self.kinds]]
        digest.update(json.dumps(facts).encode())
        arrays = [*self.nodes.arrays().values(), self.type_codes, *(kind.rows for kind in self.kinds)]
        for array in arrays if self._sequence is None else [*arrays, self._sequence]:
            digest.update(np.ascontiguousarray(array).data)
        if self.attributes is not None:
            digest.update(self.attributes.fingerprint.encode())
        return digest.hexdigest()

    def has_fingerprint(self, fingerprint: str | None) -> bool:
        """Whether a fingerprint is of this hypergraph, or of this hypergraph without its attributes."""
        return fingerprint is not None and fingerprint in (self.fingerprint, self.with_attributes(None).fingerprint)


def _freeze(
    empty: Hypergraph,
    kinds: Sequence[Kind],
    sequence: Ints | None,
    nodes: Nodes,
    types: tuple[str, ...],
    codes: Ints,
) -> Hypergraph:
    """The one place where a hypergraph gets its parts."""
    for kind in kinds:
        at = first_repeated(kind)
        if at is not None:
            edge = tuple(nodes[i] for i in kind.rows[at].tolist())
            raise InputError(f"the edge {edge!r} names a node twice; name each once, or leave such edges out")
    if sequence is not None and np.all(sequence[1:] >= sequence[:-1]):
        sequence = None
    parts = {"kinds": tuple(kinds), "nodes": nodes, "types": types, "type_codes": codes, "_sequence": sequence}
    for name, value in parts.items():
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        object.__setattr__(empty, name, value)
    return empty


def _known_of(hypergraph: Hypergraph, attributes: Any) -> Attributes | None:
    """Attributes as rows of all nodes."""
    if attributes is None or isinstance(attributes, Attributes):
        return attributes
    types = hypergraph.types
    if not isinstance(attributes, Mapping) or len(types) < 2 or not set(attributes) <= set(types):
        if len(types) > 1 and isinstance(attributes, (str, os.PathLike)):
            raise InputError(f"say which type the attributes in {attributes} are of: {{{types[0]!r}: {attributes!r}}}")
        if len(types) > 1 and isinstance(attributes, Mapping) and not any(x in hypergraph.nodes for x in attributes):
            odd = next((x for x in attributes if x not in types), None)
            hint = did_you_mean(str(odd), types, f"there are {listed(types)}")
            raise InputError(f"{odd!r} is neither a type nor a node; {hint}")
        return _aligned_table(hypergraph, attributes, hypergraph.nodes, "")
    columns: list[Column] = []
    for name, table in attributes.items():
        own = np.flatnonzero(hypergraph.type_codes == types.index(name))
        nodes = [hypergraph.nodes[int(i)] for i in own]
        plain = Nodes.of([x[1] if is_typed(x) else x for x in nodes])
        rows = np.full(hypergraph.n_nodes, -1)
        rows[own] = np.arange(len(own))
        known = _aligned_table(hypergraph, table, plain, f" of {name}").rows(rows)
        columns += [replace(column, name=f"{name}.{column.name}") for column in known.columns]
    return Attributes(tuple(columns))


def _aligned_table(hypergraph: Hypergraph, table: Any, nodes: Nodes, of: str) -> Attributes:
    """A table as rows of some nodes; those that are not among them are counted."""
    where = ""
    if isinstance(table, (str, os.PathLike)):
        from netfold.io.attributes import read_attributes

        (named, known), where = read_attributes(table, nodes), f"{table}: "
    else:
        named, known = attribute_table(table)
    if named is None:
        if known.n_nodes != len(nodes):
            raise InputError(f"attributes{of} of {counted(known.n_nodes, 'node')} do not fit {len(nodes):,} nodes")
        return known
    names = Nodes.of(named)
    strange = int(np.count_nonzero(check_shared(names, nodes, where) < 0))
    if strange:
        warnings.warn(
            f"attributes{of}: {counted(strange, 'node is', 'nodes are')} in no edge, and passed over", stacklevel=4
        )
    return known.aligned(names, nodes)


def _as_named(edge: Any) -> Mapping[str, Any]:
    if not isinstance(edge, Mapping) or len(edge) < 2:
        raise InputError(f"the edge {edge!r} is not a dict of at least 2 roles; give {{role: node, ...}}")
    return edge


def _first_seen(nodes: Iterable[Any]) -> Nodes:
    """The nodes, each once, as they first appear."""
    try:
        return Nodes.of(dict.fromkeys(nodes))
    except TypeError as e:
        raise InputError(f"a node cannot be a key: {e}") from None


def _looked_up(node_types: Mapping[Any, str], nodes: Nodes) -> tuple[str, ...]:
    untyped = next((node for node in nodes if node not in node_types), None)
    if untyped is not None:
        raise InputError(f"node_types does not say which type {untyped!r} is")
    return tuple(node_types[node] for node in nodes)


def _as_kind(kind: Any) -> Kind:
    if isinstance(kind, Kind):
        return kind
    if not isinstance(kind, (tuple, list)) or len(kind) != 3:
        raise InputError(f"{type_in_words(kind)} stands among the kinds; give a Kind, or (roles, types, rows)")
    return Kind(*kind)


def _as_edge(edge: Any) -> tuple[Any, ...]:
    if isinstance(edge, str) or not hasattr(edge, "__iter__") or len(members := tuple(edge)) < 2:
        raise InputError(f"the edge {edge!r} joins fewer than two nodes; an edge is a tuple of at least 2 nodes")
    return members


def clique_expansion(hypergraph: Hypergraph) -> Graph:
    """The graph in which all nodes of an edge are linked to one another, each link weighing in how many edges two are.

    Its adjacency matrix is A = H Hᵀ - D_v; which pairs were in one edge cannot be read off it.

    >>> clique_expansion(Hypergraph.from_tuples([("ann", "film", "drama"), ("bob", "film")]))
    Graph(4 nodes, 4 edges, undirected)
    """
    return unchecked(hypergraph.adjacency(), hypergraph.nodes, False, attributes=hypergraph.attributes)


def star_expansion(hypergraph: Hypergraph, name: str = "edge") -> Graph:
    """The bipartite graph of nodes and edges: a node is linked to every edge that it is in.

    Its adjacency matrix is [[0, H], [Hᵀ, 0]]. The i-th edge is called (`name`, i), after the nodes; a `name` with
    which a node is called so already is refused.

    >>> star_expansion(Hypergraph.from_tuples([("ann", "film", "drama"), ("bob", "film")])).neighbors(("edge", 1))
    ['film', 'bob']
    """
    edges = [(name, i) for i in range(hypergraph.n_edges)]
    taken = np.flatnonzero(hypergraph.nodes.find(edges) >= 0)
    if taken.size:
        raise InputError(f"a node is called {edges[taken[0]]!r}, as an edge would be; call edges by another name=")
    h = hypergraph.incidence()
    whole = sparse.csr_array(sparse.block_array([[None, h], [h.T, None]], format="csr", dtype=np.float32))
    return Graph(whole, Nodes.of([*hypergraph.nodes, *edges]))
