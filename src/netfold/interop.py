"""Reading what other libraries call a graph, by what the objects look like, without importing those libraries."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.errors import InputError
from netfold.labels import Labels

if TYPE_CHECKING:
    import networkx

_MAX_FACTS = 1 << 24
"""No json beside our arrays is longer than this many bytes."""

Edges = tuple[list[Any], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64] | None]
"""Labels, the two ends of each edge as positions, weights."""


def kind_of(x: Any) -> str:
    """`networkx`, `igraph`, `pyg`, `scipy` or `edges`; otherwise the sentence that says why it is none of them."""
    origins = {base.__module__.split(".")[0] for base in type(x).__mro__}
    if "networkx" in origins:
        return "networkx"
    if "igraph" in origins:
        return "igraph"
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
    if isinstance(x, Mapping):
        return "a dict cannot be read as a graph; give edges: pairs (source, target), or triples with a weight"
    if isinstance(x, np.ndarray) or hasattr(x, "__iter__"):
        return "edges"
    return (
        f"a {type(x).__name__} cannot be read as a graph; give a Graph, edges, a sparse matrix, networkx, igraph or PyG"
    )


def columns(edges: Any, weights: Any) -> tuple[Any, Any, npt.NDArray[np.float64] | None]:
    """Sources, targets and weights of pairs, of triples, of an array, or of a table's first columns."""
    if hasattr(edges, "columns") and hasattr(edges, "__getitem__"):  # pandas, polars
        names = list(edges.columns)
        parts = [np.asarray(edges[name]) for name in names[:3]]
    elif isinstance(edges, np.ndarray):
        if edges.ndim != 2:
            raise InputError(f"an array of edges has one row per edge, not {edges.ndim} axes")
        parts = [edges[:, j] for j in range(min(edges.shape[1], 3))]
        if edges.dtype.kind == "f" and np.all(np.abs(edges[:, :2]) < 2**53) and not np.any(edges[:, :2] % 1):
            parts[:2] = [x.astype(np.int64) for x in parts[:2]]  # one dtype for all columns made floats of them
    else:
        parts = _transposed(edges)
    if len(parts) < 2:
        raise InputError("an edge needs two ends: give pairs (source, target) or triples (source, target, weight)")
    if weights is None:
        weights = parts[2] if len(parts) > 2 else None
    if weights is not None:
        weights = _as_weights(weights)
        if weights.shape != (len(parts[0]),):
            raise InputError(f"{len(weights):,} weights do not fit {len(parts[0]):,} edges")
    return parts[0], parts[1], weights


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
    given = graph.es[weight] if weight in graph.es.attributes() else [None] * len(ends)
    return nodes, ends[:, 0], ends[:, 1], _weights_or_ones(given, multiple=graph.has_multiple())


def _weights_or_ones(given: list[Any], *, multiple: bool) -> npt.NDArray[np.float64] | None:
    """None where no edge has a weight, unless parallel edges are to be counted."""
    if not multiple and all(w is None for w in given):
        return None
    return _as_weights([1.0 if w is None else w for w in given])


def from_pyg(data: Any) -> sparse.csr_array:
    """The adjacency matrix of PyTorch Geometric data."""
    ends = _as_array(data.edge_index)
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
    values = np.ones(n_edges) if weights is None else _as_weights(_as_array(weights))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(f"edge_attr has {values.shape[1]} columns; put the weight alone into edge_weight")
    if len(values) != n_edges:
        raise InputError(f"{len(values):,} weights do not fit {n_edges:,} edges")
    return values


def _as_array(tensor: Any) -> npt.NDArray[Any]:
    """An array of a tensor, wherever it is and whether or not it is being trained."""
    return np.asarray(tensor.detach().cpu() if hasattr(tensor, "detach") else tensor)


def to_networkx(matrix: sparse.csr_array, nodes: Labels, directed: bool) -> networkx.Graph[Any]:
    """A networkx graph with labels as nodes and weights as attributes."""
    import networkx as nx

    made: Any = nx.DiGraph() if directed else nx.Graph()
    labels = list(nodes)
    made.add_nodes_from(labels)
    coo = matrix.tocoo()
    rows, cols = coo.coords
    keep = np.ones(len(rows), bool) if directed else rows <= cols
    made.add_weighted_edges_from(
        (labels[i], labels[j], w)
        for i, j, w in zip(rows[keep].tolist(), cols[keep].tolist(), coo.data[keep].tolist(), strict=True)
    )
    return made


def read_facts(path: Path, version: int, kind: str) -> dict[str, Any]:
    """The json beside stored arrays, its size bounded and its version known."""
    try:
        status = path.lstat()
    except OSError:
        raise InputError(
            f"{path.parent} is not a folder that netfold wrote as a {kind}: {path.name} is missing"
        ) from None
    if not stat.S_ISREG(status.st_mode):  # a pipe or a device would never end
        raise InputError(f"{path.parent} is not safe to open: its {path.name} is not a plain file")
    if status.st_size > _MAX_FACTS:
        raise InputError(f"{path} is damaged: it is longer than {_MAX_FACTS:,} bytes")
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise InputError(f"{path} cannot be read: {e.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is damaged: it is not json") from None
    if not isinstance(facts, dict) or facts.get("kind") != kind:
        raise InputError(f"{path} does not describe a {kind}")
    if facts.get("format") != version:
        raise InputError(
            f"{path} has format {facts.get('format')!r}; this netfold reads format {version}: update netfold"
        )
    return facts
