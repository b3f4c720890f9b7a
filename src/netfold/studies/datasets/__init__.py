"""Data sets by name: `load("karate")` is made here, `load("ca_grqc")` is read from a folder that the user has.

>>> from netfold import datasets
>>> datasets.load("karate")
Graph(34 nodes, 78 edges, undirected, weighted)
>>> datasets.classes("karate")[33]
(1,)
"""

from __future__ import annotations

import inspect
from typing import Any

from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.errors import InputError
from netfold.studies.datasets.built_in import (
    BUILT_IN,
    barbell,
    check_options,
    davis,
    karate,
    les_miserables,
    mirrored_karate,
)
from netfold.studies.datasets.catalogue import (
    LOADERS,
    Dataset,
    File,
    describe,
    located,
    names,
    stored_classes,
    table,
)
from netfold.studies.datasets.random_graphs import (
    chung_lu,
    kronecker,
    planted_roles,
    planted_triples,
    stochastic_block_model,
)

__all__ = [
    "Dataset",
    "File",
    "barbell",
    "chung_lu",
    "classes",
    "davis",
    "describe",
    "karate",
    "kronecker",
    "les_miserables",
    "load",
    "mirrored_karate",
    "names",
    "options",
    "planted_roles",
    "planted_triples",
    "present",
    "stochastic_block_model",
    "table",
]  # fmt: skip


def load(name: str, **options: Any) -> Graph | Hypergraph:
    """The graph, or the hypergraph, of this name.

    What is built in is made by the function of the same name (`sbm` by `stochastic_block_model`), whose arguments are
    the options. The others are read from `$NETFOLD_DATA/NAME`, or from `NAME` in the user's cache (`~/.cache/netfold`),
    after the size and the sha256 of each file were found right. Their options are `directed` for a graph (cora can be
    had undirected) and `until`, a year (what dblp_coauthor was before its new nodes came), `part` ("train", "test",
    "test_negatives") for a hypergraph, and `part` ("train", "test", "all") for documents. `attributes=True` reads what
    is known of nodes too: the words of cora's papers, the genres of dhne_movielens' films; `noise=8` gives the nodes of
    a graph 8 random numbers each in their place.

    >>> load("barbell", clique=4, path=1)
    Graph(9 nodes, 14 edges, undirected)
    """
    dataset = describe(name)
    if name in BUILT_IN:
        return BUILT_IN[name].graph(name, options)
    check_options(name, options, _options_of(LOADERS[dataset.kind]))
    return LOADERS[dataset.kind](dataset, **options)


def classes(name: str, **options: Any) -> dict[Any, tuple[Any, ...]]:
    """The classes of each node, as a tuple; the options are those of `load`.

    >>> classes("sbm", sizes=(2, 1))
    {0: (0,), 1: (0,), 2: (1,)}
    """
    dataset = describe(name)
    if name in BUILT_IN:
        of_node = BUILT_IN[name].classes_of_nodes(name, options)
        of_nodes = None if of_node is None else {node: (own,) for node, own in of_node.items()}
    else:
        check_options(name, options, _options_of(LOADERS[dataset.kind]))
        of_nodes = stored_classes(dataset, **({"part": options["part"]} if "part" in options else {}))
    if of_nodes is None:
        having = ", ".join(n for n in names() if describe(n).classes)
        raise InputError(f"the nodes of the data set {name!r} have no classes; those of {having} have")
    return of_nodes


def __getattr__(name: str) -> Any:
    if name == "labels":
        raise InputError("datasets.labels is now called datasets.classes")
    raise AttributeError(f"netfold.datasets has no {name!r}")


def options(name: str) -> dict[str, Any]:
    """The options of `load` for a data set, and their defaults.

    >>> options("barbell")
    {'clique': 10, 'path': 10}
    """
    dataset = describe(name)
    return BUILT_IN[name].options if name in BUILT_IN else _options_of(LOADERS[dataset.kind])


def present(name: str) -> str | None:
    """Where a data set would be loaded from: "built in", or the folder that has its files; None where nothing has."""
    dataset = describe(name)
    folder = None if name in BUILT_IN else located(dataset)
    return "built in" if name in BUILT_IN else str(folder) if folder else None


def _options_of(loader: Any) -> dict[str, Any]:
    return {p.name: p.default for p in inspect.signature(loader).parameters.values() if p.kind is p.KEYWORD_ONLY}
