"""Data sets in files: what is known of each, where its files are, whether they are the right ones, and reading them."""

from __future__ import annotations

import csv
import gzip
import io
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import unique_values
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.nodes import Nodes, typed_nodes
from netfold.data.text import did_you_mean, enumerated
from netfold.errors import InputError
from netfold.io.edges import read_edges
from netfold.io.files import sha256

__all__ = [
    "LOADERS",
    "Dataset",
    "File",
    "checked",
    "describe",
    "documents",
    "folders",
    "graph",
    "hypergraph",
    "known",
    "located",
    "names",
    "read_catalogue",
    "stored_classes",
    "table",
]


@dataclass(frozen=True, kw_only=True)
class File:
    """A table in a file: text with a header, packed with gzip."""

    name: str
    bytes: int
    """The size of the file as it is, packed."""
    columns: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What a data set is, who published it, under which terms, and the files that hold it.

    >>> describe("ca_grqc").edges
    14496
    """

    name: str
    title: str
    kind: str
    """`graph`, `hypergraph`, or `documents` (which are made into a graph)."""
    directed: bool = False
    weighted: bool = False
    nodes: int
    edges: int | None = None
    """Self-loops included; None where chance decides. Of what is made to order, `nodes` and `edges` are the default."""
    classes: int | None = None
    """How many different classes nodes have; None where there are none."""
    origin: str
    """Authors, publication, year."""
    licence: str
    sources: tuple[str, ...] = ()
    """Where it can be had."""
    notes: str = ""
    files: tuple[File, ...] = ()

    def file(self, name: str) -> File:
        """The file of this name, which may be short of its ending: `edges` is `edges.csv.gz`."""
        file = next((f for f in self.files if name in (f.name, f.name.removesuffix(".csv.gz"))), None)
        if file is None:
            has = f"it has {enumerated(f.name for f in self.files)}" if self.files else "it is made without files"
            raise InputError(f"the data set {self.name!r} has no file {name!r}; {has}")
        return file

    def has(self, name: str) -> bool:
        """Whether a file of this name belongs to it."""
        return any(f.name == name for f in self.files)


@cache
def known() -> Mapping[str, Dataset]:
    """Every data set by its name: those that need no file first."""
    return read_catalogue(Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8"))


def read_catalogue(text: str) -> dict[str, Dataset]:
    """The data sets that a text in TOML describes."""
    return {name: _dataset(name, facts) for name, facts in tomllib.loads(text).items()}


def names() -> list[str]:
    """The names that `load` accepts.

    >>> "karate" in names()
    True
    """
    return list(known())


def describe(name: str) -> Dataset:
    """The facts about a data set."""
    dataset = known().get(name) if isinstance(name, str) else None
    if dataset is None:
        hint = did_you_mean(str(name).casefold().replace("-", "_"), names(), most=2, cutoff=0.5)
        there_are = f"{hint} There are" if hint else "there are"
        raise InputError(f"no data set is called {name!r}; {there_are} {enumerated(names())}")
    return dataset


def _dataset(name: str, facts: dict[str, Any]) -> Dataset:
    files = tuple(
        File(name=file, columns=tuple(columns.split(",")), **rest)
        for file, rest in facts.pop("files", {}).items()
        for columns in [rest.pop("columns")]
    )
    return Dataset(name=name, sources=tuple(facts.pop("sources", ())), files=files, **facts)


Values = npt.NDArray[Any]


def folders() -> list[Path]:
    """Where data sets are looked for: `$NETFOLD_DATA`, then the user's cache (`~/.cache/netfold`)."""
    own = os.environ.get("NETFOLD_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "netfold"
    return [*([Path(own).expanduser()] if own else []), cache]


def located(dataset: Dataset) -> Path | None:
    """The first folder that has all files of a data set in their right sizes; None where none has."""
    for folder in (f / dataset.name for f in folders()):
        paths = [(folder / file.name, file.bytes) for file in dataset.files]
        if paths and all(path.is_file() and path.stat().st_size == size for path, size in paths):
            return folder
    return None


def checked(dataset: Dataset, name: str) -> Path:
    """Where a file of a data set is, its size and its sha256 found to be those that the catalogue has."""
    file = dataset.file(name)
    path = next((p for f in folders() if (p := f / dataset.name / file.name).is_file()), None)
    if path is None:
        raise InputError(_absent(dataset, file))
    try:
        if (size := path.stat().st_size) != file.bytes:
            raise InputError(_wrong(path, f"{file.bytes:,} bytes", f"{size:,}"))
        if (digest := sha256(path)) != file.sha256:
            raise InputError(_wrong(path, f"the sha256 {file.sha256}", digest))
    except OSError as e:
        raise InputError(f"{path} cannot be read: {e.strerror}; check its permissions") from None
    return path


def table(name: str, file: str) -> dict[str, Values]:
    """The columns of a file of a data set: integers where all entries are, objects (strings) where not.

    `file` is one of `describe(name).files`; its ending `.csv.gz` may be left out.

        year = nf.datasets.table("dblp_coauthor", "edges")["year"]
    """
    text = gzip.decompress(checked(describe(name), file).read_bytes()).decode()  # known bytes: no more than is expected
    header, _, rows = text.partition("\n")
    columns = header.split(",")
    try:
        values = np.loadtxt(io.StringIO(rows), np.int64, delimiter=",", ndmin=2, comments=None)
    except ValueError:
        fields = list(csv.reader(io.StringIO(rows)))
        return {column: _values([row[i] for row in fields]) for i, column in enumerate(columns)}
    return {column: values[:, i].copy() for i, column in enumerate(columns)}


def _values(texts: list[str]) -> Values:
    try:
        return np.array([int(x) for x in texts], np.int64)
    except ValueError:
        return np.array(texts, object)


def _wrong(path: Path, expected: str, actual: str) -> str:
    return (
        f"{path} is not the file it should be: it should have {expected}, and has {actual}; "
        f"put the right file there, or read a file of your own with nf.read_edges"
    )


def _absent(dataset: Dataset, file: File) -> str:
    return (
        f"the data set {dataset.name!r} is not here: {dataset.title} ({dataset.origin}; terms: {dataset.licence}), "
        f"published at {enumerated(dataset.sources)}; put its {file.name} (columns {','.join(file.columns)}) into "
        f"{' or '.join(str(f / dataset.name) for f in folders())}, or set NETFOLD_DATA to the folder that holds "
        f"{dataset.name}/{file.name}, or read a file of your own with nf.read_edges"
    )


# -------------------------------------------------------------------- as graphs, hypergraphs and classes

_HYPEREDGES, _NEGATIVES, _CLASSES = "hyperedges.csv.gz", "test_negatives.csv.gz", "labels.csv.gz"
_FEATURES = "features.csv.gz"
_TABLES_OF_NODES = ("nodes.csv.gz", _CLASSES)


def graph(
    dataset: Dataset,
    *,
    directed: bool | None = None,
    until: float | None = None,
    attributes: bool = False,
    noise: int = 0,
) -> Graph:
    """The graph of `edges.csv.gz`; `directed` as the data set is, unless said. Nodes without any edge are there too.

    `until`: of a data set whose edges have years, those of no later one and the nodes that they link. `attributes`:
    with what `features.csv.gz` says of nodes (cora's papers have words). `noise`: with so many normal numbers in their
    place, drawn once for all, which say nothing: for what models must not be harmed by.
    """
    if noise and attributes:
        raise InputError(f"noise={noise!r} stands in the place of attributes=True; leave one out")
    directed = dataset.directed if directed is None else directed
    if attributes:
        _check_attributes(dataset, _FEATURES)
    if until is not None:
        if attributes:
            raise InputError(f"until={until!r} and attributes=True are not to be had together; leave one out")
        return _until(dataset, directed, until)
    read = read_edges(checked(dataset, "edges.csv.gz"), directed=directed, weighted=dataset.weighted)
    read = read if read.n_nodes == dataset.nodes else _with_all_nodes(read, dataset)
    if noise:
        return read.with_attributes(np.random.default_rng(1).normal(size=(read.n_nodes, noise)))
    return read.with_attributes(checked(dataset, _FEATURES)) if attributes else read


def _check_attributes(dataset: Dataset, file: str) -> None:
    if not dataset.has(file):
        files = {"graph": _FEATURES, "hypergraph": _CLASSES}
        having = ", ".join(x.name for x in known().values() if x.has(files.get(x.kind, "")))
        raise InputError(f"nothing is known of the nodes of {dataset.name!r}; attributes=True is for {having}")


def hypergraph(dataset: Dataset, *, part: str = "train", attributes: bool = False) -> Hypergraph:
    """The tuples of one part (train, test or test_negatives) over the nodes of all, which are (role, id).

    `attributes`: with the classes of nodes as words (films' genres): for links, where they are not what is asked.
    """
    if attributes:
        _check_attributes(dataset, _CLASSES)
    whole = table(dataset.name, _HYPEREDGES)
    split = whole.pop("split")
    if part == "test_negatives" and dataset.has(_NEGATIVES):
        ids = table(dataset.name, _NEGATIVES)
    else:
        at = _rows_of(dataset, part, split)
        ids = {role: column[at] for role, column in whole.items()}
    roles, of_role = tuple(whole), {role: Nodes.of(unique_values(column)) for role, column in whole.items()}
    counts = [len(nodes) for nodes in of_role.values()]
    places = [of_role[role].positions(ids[role]) for role in roles]
    rows = np.stack(places, axis=1) + np.cumsum([0, *counts[:-1]])
    node_types = np.repeat(np.arange(len(roles)), counts)
    kinds = [(roles, roles, rows)]
    whole_graph = Hypergraph.from_kinds(kinds, nodes=typed_nodes(of_role), node_types=node_types, types=roles)
    if not attributes:
        return whole_graph
    role, of = dataset.file(_CLASSES).columns
    own = {node[1]: {of: list(map(str, several))} for node, several in (stored_classes(dataset) or {}).items()}
    return whole_graph.with_attributes({role: {i: own[i] for i in own if i in of_role[role]}})


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
    for node, own in zip(nodes, columns[of].tolist(), strict=True):
        classes[node] = (*classes.get(node, ()), own)
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
    nodes = Nodes.of(unique_values(np.concatenate([np.array(list(graph.nodes)), *(t["node"] for t in tables)])))
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
