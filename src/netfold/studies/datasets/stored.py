"""The data sets that lie in files, as graphs and hypergraphs with the classes of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.nodes import Nodes, typed_nodes
from netfold.errors import InputError
from netfold.io.edges import read_edges
from netfold.studies.datasets.catalogue import Dataset, checked, table

__all__ = ["LOADERS", "documents", "graph", "hypergraph", "stored_classes"]

_HYPEREDGES, _NEGATIVES, _CLASSES = "hyperedges.csv.gz", "test_negatives.csv.gz", "labels.csv.gz"
_TABLES_OF_NODES = ("nodes.csv.gz", _CLASSES)


def graph(dataset: Dataset, *, directed: bool | None = None, until: float | None = None) -> Graph:
    """The graph of `edges.csv.gz`; `directed` as the data set is, unless said. Nodes without any edge are there too.

    `until`: of a data set whose edges have years, those of no later one and the nodes that they link.
    """
    directed = dataset.directed if directed is None else directed
    if until is not None:
        return _until(dataset, directed, until)
    read = read_edges(checked(dataset, "edges.csv.gz"), directed=directed, weighted=dataset.weighted)
    return read if read.n_nodes == dataset.nodes else _with_all_nodes(read, dataset)


def hypergraph(dataset: Dataset, *, part: str = "train") -> Hypergraph:
    """The tuples of one part (train, test or test_negatives) over the nodes of all, which are (role, id)."""
    whole = table(dataset.name, _HYPEREDGES)
    split = whole.pop("split")
    if part == "test_negatives" and dataset.has(_NEGATIVES):
        ids = table(dataset.name, _NEGATIVES)
    else:
        at = _rows_of(dataset, part, split)
        ids = {role: column[at] for role, column in whole.items()}
    roles, of_role = tuple(whole), {role: Nodes.of(np.unique(column)) for role, column in whole.items()}
    counts = [len(nodes) for nodes in of_role.values()]
    places = [of_role[role].positions(ids[role]) for role in roles]
    rows = np.stack(places, axis=1) + np.cumsum([0, *counts[:-1]])
    node_types = np.repeat(np.arange(len(roles)), counts)
    kinds = [(roles, roles, rows)]
    return Hypergraph.from_kinds(kinds, nodes=typed_nodes(of_role), node_types=node_types, types=roles)


def documents(dataset: Dataset, *, part: str = "train") -> Graph:
    """Documents linked by the cosine of their words: S = X Xᵀ without its diagonal, X the rows of tf-idf of length 1.

    The weight of a word in a document is its count times 1 + log((1 + n) / (1 + df)), df of the n documents having it.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    ids = _documents_of(dataset, part)
    counts = table(dataset.name, "doc_terms.csv.gz")
    row = Nodes.of(ids).find(counts["doc"])
    used = row >= 0
    x = sparse.csr_array((counts["count"][used].astype(float), (row[used], counts["term"][used])))
    x = sparse.csr_array(TfidfTransformer().fit_transform(x))
    x.sort_indices()  # so that s_ij and s_ji sum the same products in the same order
    s = (x @ x.T).tocoo()
    off = s.coords[0] != s.coords[1]
    s = sparse.coo_array((s.data[off], (s.coords[0][off], s.coords[1][off])), shape=s.shape)
    return Graph(s.tocsr(), Nodes.of(ids))


LOADERS: dict[str, Callable[..., Graph | Hypergraph]] = {
    "graph": graph,
    "hypergraph": hypergraph,
    "documents": documents,
}
"""What makes each kind of data set of its files; the keywords are the options of `load`."""


def stored_classes(dataset: Dataset, *, part: str = "train") -> dict[Any, tuple[Any, ...]] | None:
    """The classes of each node of `labels.csv.gz`; None where there is no such file.

    Of documents, those in one part. The nodes of a hypergraph are (role, id), the role being the column of nodes.
    """
    if not dataset.has(_CLASSES):
        return None
    role, of = dataset.file(_CLASSES).columns
    columns = table(dataset.name, _CLASSES)
    nodes: list[Any] = columns[role].tolist()
    if dataset.kind == "hypergraph":
        nodes = [(role, i) for i in nodes]
    classes: dict[Any, tuple[Any, ...]] = {}
    for node, label in zip(nodes, columns[of].tolist(), strict=True):
        classes[node] = (*classes.get(node, ()), label)
    return classes if dataset.kind != "documents" else {i: classes[i] for i in _documents_of(dataset, part).tolist()}


def _until(dataset: Dataset, directed: bool, until: float) -> Graph:
    """The edges up to a year, as a graph of the nodes that they link."""
    columns = dataset.file("edges").columns
    if "year" not in columns:
        raise InputError(f"until={until!r} is for edges with years, and {dataset.name!r} has {', '.join(columns)}")
    edges = table(dataset.name, "edges")
    at = np.flatnonzero(edges["year"] <= until)
    if not len(at):
        raise InputError(f"until={until!r} leaves no edge of {dataset.name!r}; its first is of {edges['year'].min()}")
    return Graph.from_edges(zip(edges["source"][at].tolist(), edges["target"][at].tolist()), directed=directed)


def _with_all_nodes(graph: Graph, dataset: Dataset) -> Graph:
    """The same graph with the nodes that only another table of the data set names."""
    tables = [table(dataset.name, name) for name in _TABLES_OF_NODES if dataset.has(name)]
    nodes = Nodes.of(np.unique(np.concatenate([np.array(list(graph.nodes)), *(t["node"] for t in tables)])))
    entries = graph.adjacency.tocoo()
    u, v = (nodes.positions(graph.nodes)[ends] for ends in entries.coords)
    wider = sparse.coo_array((entries.data, (u, v)), shape=(len(nodes), len(nodes)))
    return Graph(wider.tocsr(), nodes, directed=graph.directed)


def _documents_of(dataset: Dataset, part: str) -> npt.NDArray[np.int64]:
    docs = table(dataset.name, "docs.csv.gz")
    ids: npt.NDArray[np.int64] = docs["doc"] if part == "all" else docs["doc"][_rows_of(dataset, part, docs["split"])]
    return np.sort(ids)


def _rows_of(dataset: Dataset, part: str, split: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if part not in ("train", "test"):
        more = "all" if dataset.kind == "documents" else "test_negatives"
        raise InputError(f"part={part!r} of {dataset.name!r} is not one of train, test, {more}")
    return np.flatnonzero(split == part)
