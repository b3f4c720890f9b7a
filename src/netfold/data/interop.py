"""Graphs and hypergraphs of other libraries, read and made, by what the objects look like: tables, networkx, ..."""

from __future__ import annotations

import importlib
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.columns import Chosen, Roles, edge_roles, times_of
from netfold.data.kinds import TYPE, default_roles
from netfold.data.nodes import Nodes
from netfold.data.reading import Reading
from netfold.data.text import as_typed, counted, type_in_words
from netfold.errors import InputError

if TYPE_CHECKING:
    import networkx
    import pandas

__all__ = ["LABEL", "Named", "as_node", "from_xgi", "named_edge", "own_name", "to_xgi", "type_of", "with_roles"]


_SAMPLE = 200
"""Rows of a table that are looked at before its columns have roles."""


_DEEPEST = 100
"""Lists within lists in a node."""

Edges = tuple[list[Any], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64] | None]
"""Nodes, the two ends of each edge as positions, weights."""


def kind_of(x: Any) -> str:
    """`networkx`, `igraph`, `pyg`, `scipy` or `edges`; otherwise the sentence that says why it is none of them."""
    origins = {base.__module__.split(".")[0] for base in type(x).__mro__}
    if "networkx" in origins:
        return "networkx"
    if "igraph" in origins:
        return "igraph"
    if type(x).__name__ == "HeteroData":
        return "HeteroData holds several types of nodes; give the edges of one type, as data['a', 'to', 'b'].edge_index"
    if getattr(x, "edge_index", None) is not None:
        return "pyg"
    if sparse.issparse(x) or (
        isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[0] == x.shape[1] and x.shape[0] > 3
    ):
        return "scipy"
    if isinstance(x, (str, Path)):
        return f"{str(x)!r} is the name of a file; read it first: nf.read_edges({str(x)!r})"
    if type(x).__name__ == "Hypergraph":
        return "this is a hypergraph, whose edges join any number of nodes; a Graph is needed here (DHNE embeds those)"
    if hasattr(x, "collect") and not hasattr(x, "__iter__"):
        return f"{type_in_words(x)} holds no rows yet; give x.collect()"
    if isinstance(x, Mapping):
        return "a dict cannot be read as a graph; give edges: pairs (source, target), or triples with a weight"
    if isinstance(x, np.ndarray) or hasattr(x, "__iter__"):
        return "edges"
    return (
        f"{type_in_words(x)} cannot be read as a graph; give a Graph, edges, a sparse matrix, networkx, igraph or PyG"
    )


class EdgeTable(NamedTuple):
    """The columns of edges that some object held."""

    sources: Any
    targets: Any
    weights: npt.NDArray[np.float64] | None = None
    times: npt.NDArray[np.float64] | None = None
    reading: Reading | None = None
    """What was read of a table; its counts are still to come."""


def edge_columns(edges: Any, weights: Any, chosen: Chosen | None = None, weighted: bool | None = None) -> EdgeTable:
    """The columns of pairs, of triples, of an array (a row per edge, or 2 x E), or of a table."""
    if is_table(edges):
        table = _of_frame(edges, chosen, weighted if weights is None else False)
    elif isinstance(edges, np.ndarray) or hasattr(edges, "detach"):
        table = _of_array(edges, chosen, weighted if weights is None else False)
    else:
        if chosen is not None and any(x is not None for x in chosen):
            raise InputError("source=, target=, weight=, time= and type= name columns of a table; these are edges")
        if hasattr(edges, "reset_index"):
            raise InputError("a Series has no columns; give a table: series.reset_index(name='weight')")
        parts = _transposed(edges)
        if len(parts) < 2:
            raise InputError("an edge needs two ends: give pairs (source, target) or triples (source, target, weight)")
        table = EdgeTable(parts[0], parts[1], _as_weights(parts[2]) if len(parts) > 2 and weights is None else None)
    if weights is not None:
        table = table._replace(weights=_as_weights(weights))
    if table.weights is not None and table.weights.shape != (len(table.sources),):
        raise InputError(f"{len(table.weights):,} weights do not fit {len(table.sources):,} edges")
    return table


def is_table(x: Any) -> bool:
    """Whether an object has named columns, as those of pandas and polars do."""
    return hasattr(x, "columns") and hasattr(x, "__getitem__")


def _of_frame(frame: Any, chosen: Chosen | None, weighted: bool | None) -> EdgeTable:
    """Edges in a table with named columns; names that count from 0 are none."""
    keys = list(frame.columns)
    names = None if keys == list(range(len(keys))) else [str(key) for key in keys]
    alike = len(set(keys)) < len(keys)  # a name is then that of several columns, and the place tells them apart
    columns = [frame.iloc[:, i] if alike else frame[key] for i, key in enumerate(keys)]
    rows = list(zip(*(map(_cell, np.asarray(column)[:_SAMPLE]) for column in columns), strict=True))
    index = getattr(frame, "index", ())
    if names is not None and len(keys) > 1 and list(index[: len(keys) + 1]) == keys:
        raise InputError(
            "the rows are called as the columns are: this is a matrix, not a list of edges; "
            "nf.Graph.from_scipy(frame.to_numpy(), nodes=list(frame)) reads it"
        )
    if len(keys) < 2 and getattr(index, "nlevels", 1) > 1:
        raise InputError("the ends of edges are in the index, not in columns; give frame.reset_index()")
    roles = _roles(names, rows, len(keys), chosen, weighted)
    parts = {i: np.asarray(columns[i]) for i in roles[:4] if i is not None}
    for i in roles[:2]:
        _check_whole(parts[i], keys[i])
    reading = Reading.of(names, roles, len(keys))
    weights = None if roles.weight is None else _as_weights(parts[roles.weight])
    times = None if roles.time is None else _as_times(parts[roles.time], keys[roles.time])
    return EdgeTable(parts[roles.source], parts[roles.target], weights, times, reading)


def _of_array(edges: Any, chosen: Chosen | None, weighted: bool | None) -> EdgeTable:
    """Edges in an array with a row for each, or in the 2 x E integers that PyG calls edge_index."""
    array = as_array(edges)
    if array.ndim != 2:
        raise InputError(f"an array of edges has one row per edge, not {array.ndim} axes")
    n, width = array.shape
    plain = chosen is None or all(x is None for x in chosen)
    if plain and n == 2 and array.dtype.kind in "iu" and (width > 3 or (hasattr(edges, "detach") and width != 2)):
        return EdgeTable(array[0], array[1])
    if plain and n == 2 and width == 3 and array.dtype.kind in "iu":
        raise InputError("an array of 2 x 3 integers is two weighted edges, or three (edge_index); give pairs")
    if plain and width > 4:
        shape = f"{n:,} x {width:,} of {array.dtype}"
        raise InputError(f"an array of edges has 2 to 4 columns, or 2 rows of integers (edge_index); this is {shape}")
    rows = [[_cell(x) for x in row] for row in array[:_SAMPLE]]
    roles = _roles(None, rows, width, chosen, weighted)
    ends = [array[:, i] for i in roles[:2]]
    if array.dtype.kind == "f" and all(np.all(np.abs(x) < 2**53) and not np.any(x % 1) for x in ends):
        ends = [x.astype(np.int64) for x in ends]  # one dtype for all columns made floats of them
    weights = None if roles.weight is None else _as_weights(array[:, roles.weight])
    times = None if roles.time is None else _as_times(array[:, roles.time], roles.time)
    return EdgeTable(ends[0], ends[1], weights, times, Reading.of(None, roles, width))


def _roles(
    names: list[str] | None, rows: Sequence[Any], width: int, chosen: Chosen | None, weighted: bool | None
) -> Roles:
    if width < 2:
        raise InputError("an edge needs two ends: give pairs (source, target) or triples (source, target, weight)")
    try:
        return edge_roles(names, rows, width, chosen, weighted)
    except ValueError as e:
        raise InputError(str(e)) from None


def _cell(x: Any) -> str:
    """A value as a file of text would hold it; empty where it is missing."""
    if is_missing(x):
        return ""
    if isinstance(x, np.datetime64):
        return str(x.astype("datetime64[s]"))
    return x.isoformat(" ") if hasattr(x, "isoformat") else str(x)


def is_missing(x: Any) -> bool:
    """None, NaN, NaT, and pandas' NA, which does not say whether it equals itself."""
    return x is None or type(x).__name__ == "NAType" or bool(x != x)


def _check_whole(column: npt.NDArray[Any], name: Any) -> None:
    """Refuse an end that is missing, with its row."""
    missing = np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), bool)
    if column.dtype.kind == "O":
        missing = np.array([is_missing(x) for x in column], bool)
    if np.any(missing):
        at = int(np.argmax(missing))
        raise InputError(
            f"row {at} has no node in the column {name!r}; drop such rows, as with dropna(subset=[{name!r}]) in pandas"
        )


def _as_times(column: npt.NDArray[Any], name: Any) -> npt.NDArray[np.float64]:
    """Times as numbers; dates are seconds since 1970."""
    if column.dtype.kind == "M":
        whole = column.astype("datetime64[us]")
        return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 1e6)
    if column.dtype.kind in "iuf":
        return column.astype(np.float64)
    try:
        return times_of([_cell(x) for x in column])
    except ValueError as e:
        bad = column[int(str(e))]
        raise InputError(f"row {e} of {name!r} holds {bad!r}; a time is a number or a date, as 2024-01-31") from None


def _transposed(edges: Iterable[Any]) -> list[Any]:
    rows = list(edges)
    for i, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) not in (2, 3) or len(row) != len(rows[0]):
            raise InputError(
                f"edge {i} is {row!r}; edges are pairs (source, target), or triples with a weight, all alike"
            )
    return [list(part) for part in zip(*rows, strict=True)] if rows else [[], []]


def _as_weights(weights: Any) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(weights if hasattr(weights, "__len__") else list(weights), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the third column does not hold numbers; weights are finite numbers of at least 0") from None


def from_networkx(graph: Any, weight: str) -> Edges:
    """Nodes and edges of a networkx graph."""
    nodes = list(graph.nodes)
    index = {node: i for i, node in enumerate(nodes)}
    triples = [(index[a], index[b], w) for a, b, w in graph.edges(data=weight)]
    u = np.array([t[0] for t in triples], dtype=np.int64)
    v = np.array([t[1] for t in triples], dtype=np.int64)
    return nodes, u, v, _weights_or_ones([t[2] for t in triples], multiple=graph.is_multigraph())


def from_igraph(graph: Any, weight: str) -> Edges:
    """Nodes and edges of an igraph graph."""
    nodes = graph.vs["name"] if "name" in graph.vs.attributes() else list(range(graph.vcount()))
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    weights = graph.es[weight] if weight in graph.es.attributes() else [None] * len(ends)
    return nodes, ends[:, 0], ends[:, 1], _weights_or_ones(weights, multiple=graph.has_multiple())


def _weights_or_ones(weights: list[Any], *, multiple: bool) -> npt.NDArray[np.float64] | None:
    """None where no edge has a weight, unless parallel edges are to be counted."""
    if not multiple and all(w is None for w in weights):
        return None
    return _as_weights([1.0 if w is None else w for w in weights])


def from_pyg(data: Any) -> sparse.csr_array:
    """The adjacency matrix of PyTorch Geometric data."""
    ends = as_array(data.edge_index)
    if ends.ndim != 2 or ends.shape[0] != 2 or ends.dtype.kind not in "iu":
        raise InputError(f"edge_index holds integers in 2 rows, not {ends.dtype} in the shape {ends.shape}")
    n = getattr(data, "num_nodes", None)
    n = int(ends.max(initial=-1)) + 1 if n is None else int(n)
    if ends.size and not (ends.min() >= 0 and ends.max() < n):
        raise InputError(f"edge_index names node {ends[(ends < 0) | (ends >= n)][0]}, but num_nodes is {n}")
    values = _pyg_weights(data, ends.shape[1])
    return sparse.coo_array((values, (ends[0], ends[1])), shape=(n, n)).tocsr()


def _pyg_weights(data: Any, n_edges: int) -> npt.NDArray[np.float64]:
    weights = getattr(data, "edge_weight", None)
    weights = getattr(data, "edge_attr", None) if weights is None else weights
    values = np.ones(n_edges) if weights is None else _as_weights(as_array(weights))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(f"edge_attr has {counted(values.shape[1], 'column')}; put the weight alone into edge_weight")
    if len(values) != n_edges:
        raise InputError(f"{len(values):,} weights do not fit {n_edges:,} edges")
    return values


def as_array(tensor: Any) -> npt.NDArray[Any]:
    """An array of a tensor, wherever it is and whether or not it is being trained."""
    return np.asarray(tensor.detach().cpu() if hasattr(tensor, "detach") else tensor)


def edges_once(matrix: sparse.csr_array, directed: bool) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Any, Any]:
    """The ends and weights of the edges, an undirected one once, and which of the stored entries they are."""
    coo = matrix.tocoo()
    rows, cols = coo.coords
    once = np.ones(len(rows), bool) if directed else rows <= cols
    return rows[once], cols[once], coo.data[once], once


def to_networkx(matrix: sparse.csr_array, nodes: Nodes, directed: bool) -> networkx.Graph[Any]:
    """A networkx graph with weights as attributes."""
    import networkx as nx

    graph: Any = nx.DiGraph() if directed else nx.Graph()
    names = list(nodes)
    graph.add_nodes_from(names)
    rows, cols, weights, _ = edges_once(matrix, directed)
    graph.add_weighted_edges_from(
        (names[i], names[j], w) for i, j, w in zip(rows.tolist(), cols.tolist(), weights.tolist(), strict=True)
    )
    return graph


def to_igraph(matrix: sparse.csr_array, nodes: Nodes, directed: bool) -> Any:
    """An igraph graph with the attributes `name` and `weight`."""
    rows, cols, weights, _ = edges_once(matrix, directed)
    graph = _library("igraph", "to_igraph").Graph(n=len(nodes), directed=directed)
    graph.add_edges(zip(rows.tolist(), cols.tolist(), strict=True))
    graph.vs["name"] = list(nodes)
    graph.es["weight"] = weights.tolist()
    return graph


def to_pyg(matrix: sparse.csr_array) -> Any:
    """PyTorch Geometric data: both directions of an undirected edge, weights, and nodes by their positions."""
    data, torch = _library("torch_geometric.data", "to_pyg"), _library("torch", "to_pyg")
    coo = matrix.tocoo()
    ends = torch.tensor(np.stack(coo.coords).astype(np.int64))
    return data.Data(edge_index=ends, edge_weight=torch.tensor(coo.data), num_nodes=matrix.shape[0])


def to_keyed_vectors(nodes: Nodes, vectors: npt.NDArray[np.float32]) -> Any:
    """gensim's `KeyedVectors`, whose keys are strings."""
    names = [as_typed(node) for node in nodes]
    if len(set(names)) < len(names):
        again = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"two nodes are called {again!r} as text, and gensim's keys are texts; rename one")
    made = _library("gensim.models", "to_keyed_vectors").KeyedVectors(vectors.shape[1])
    made.add_vectors(names, np.array(vectors))
    return made


def to_pandas(
    matrix: sparse.csr_array, nodes: Nodes, directed: bool, times: npt.NDArray[np.float64] | None
) -> pandas.DataFrame:
    """A table with the columns source, target and weight, and time where there are times."""
    rows, cols, weights, once = edges_once(matrix, directed)
    names = np.fromiter(iter(nodes), dtype=np.int64 if nodes.kind == "int" else object, count=len(nodes))
    columns: dict[str, Any] = {"source": names[rows], "target": names[cols], "weight": weights}
    columns |= {} if times is None else {"time": times[once]}
    table: pandas.DataFrame = _library("pandas", "to_pandas").DataFrame(columns)
    return table


def _library(name: str, function: str) -> Any:
    """A library that is not among our own."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise InputError(f"{function} needs {package}, which is missing; install it (pip install {package})") from None


LABEL = "netfold_label"
"""The attribute of a node whose id there is not its name, as HIF and json make it."""

Named = tuple[list[Any], dict[Any, str], list[dict[str, Any]]]
"""The nodes in order, the type of each, and each edge as a dict from role to node."""


def from_xgi(graph: Any, node_type: str, *, skip_small: bool) -> Named:
    """The parts of an xgi hypergraph, directed or not, or simplicial complex; read through its views alone."""
    if not hasattr(getattr(graph, "edges", None), "members"):
        raise InputError(f"{type_in_words(graph)} is not a hypergraph of xgi; give an xgi.Hypergraph")
    place = {node: i for i, node in enumerate(graph.nodes)}
    nodes = {node: own_name(node, graph.nodes[node]) for node in place}
    types = {nodes[node]: type_of(node, graph.nodes[node], node_type) for node in place}
    if len(types) < len(place):
        raise InputError(f"several nodes have the same {LABEL}; it is what netfold calls a node, and each has its own")
    edges = []
    for edge in graph.edges:
        members = [(nodes[node], role) for node, role in _members(graph.edges, edge, place)]
        if len(members) > 1 or not skip_small:
            edges.append(named_edge(edge, members, types))
    return list(types), types, edges


def to_xgi(nodes: Sequence[Any], node_types: Sequence[str], edges: Iterable[Mapping[str, Any]]) -> Any:
    """An `xgi.Hypergraph`, whose edges are sets: the attribute `roles` keeps who is what."""
    try:
        hypergraph = importlib.import_module("xgi").Hypergraph()
    except ImportError:
        raise InputError("to_xgi needs xgi, which is missing; install it (pip install xgi)") from None
    for node, name in zip(nodes, node_types, strict=True):
        hypergraph.add_node(node, type=name)
    for edge in edges:
        hypergraph.add_edge(list(edge.values()), roles=dict(edge))
    return hypergraph


def type_of(node: Any, attributes: Mapping[str, Any], name: str) -> str:
    """The type of a node that has attributes, "node" where it has none of that name."""
    value = attributes.get(name, TYPE)
    if not isinstance(value, str) or not value:
        raise InputError(f"the attribute {name!r} of the node {node!r} is {value!r}; the type of a node is a string")
    return value


def named_edge(edge: Any, members: Sequence[tuple[Any, Any]], types: Mapping[Any, str]) -> dict[str, Any]:
    """An edge as a dict from role to node, of pairs (node, role); where no role is given, they are the types."""
    if len(members) < 2:
        raise InputError(f"the edge {edge!r} joins fewer than two nodes; skip_small=True leaves such edges out")
    roles = [role for _, role in members]
    if all(role is None for role in roles):
        roles = list(default_roles([types[node] for node, _ in members]))
    odd = next((i for i, role in enumerate(roles) if not isinstance(role, str) or not role), None)
    if odd is not None:
        who = f"the role of the node {members[odd][0]!r} in the edge {edge!r} is {roles[odd]!r}"
        raise InputError(f"{who}; give all nodes of an edge a role, or none")
    named = dict(zip(roles, (node for node, _ in members), strict=True))
    if len(named) < len(members):
        again = next(role for i, role in enumerate(roles) if role in roles[:i])
        raise InputError(f"the edge {edge!r} has the role {again!r} twice; a role is given once in an edge")
    return named


def _members(edges: Any, edge: Any, place: Mapping[Any, int]) -> list[tuple[Any, Any]]:
    """Pairs (node, role) of an edge of xgi; sets in the order of the nodes, so that each run has the same."""
    if hasattr(edges, "dimembers"):
        tail, head = (sorted(part, key=place.__getitem__) for part in edges.dimembers(edge))
        return list(zip([*tail, *head], default_roles(["tail"] * len(tail) + ["head"] * len(head)), strict=True))
    return with_roles(sorted(edges.members(edge), key=place.__getitem__), edges[edge].get("roles"))


def with_roles(members: Sequence[Any], roles: Any) -> list[tuple[Any, Any]]:
    """Pairs (node, role) of an edge whose attribute is `roles`; it is ours where it names each of the nodes once."""
    by_role = {role: as_node(node) for role, node in roles.items()} if isinstance(roles, Mapping) else {}
    if len(by_role) == len(members) and all(node in by_role.values() for node in members):
        return [(node, role) for role, node in by_role.items()]
    return [(node, None) for node in members]


def own_name(node: Any, attributes: Mapping[str, Any]) -> Any:
    """A node: what it is called, or what its attribute says that it was called."""
    return as_node(attributes.get(LABEL, node))


def as_node(x: Any, depth: int = 0) -> Any:
    """A node that json may have held: its lists are tuples.

    >>> as_node(["user", [7, "x"]])
    ('user', (7, 'x'))
    """
    if isinstance(x, dict):
        raise InputError(f"the node {reprlib.repr(x)} is an object; nodes are strings, numbers, or lists of those")
    if not isinstance(x, (list, tuple)):
        return x
    if depth == _DEEPEST:
        raise InputError(f"a node is a list within more than {_DEEPEST} others; nodes are not nested that deep")
    return tuple(as_node(y, depth + 1) for y in x)
