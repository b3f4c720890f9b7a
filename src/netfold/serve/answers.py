"""What a server is asked and answers, apart from HTTP: a model that is served, and a function for each question."""

from __future__ import annotations

import functools
import itertools
import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from netfold.data.embedding import Embedding
from netfold.data.index import Index
from netfold.data.nodes import Nodes
from netfold.data.text import type_in_words
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.graph import Graph

__all__ = ["QUESTIONS", "NearestQuery", "Served", "UnknownNodeError", "UpdateQuery", "as_arrow"]

_MOST = 1000
"""Nodes, pairs or tuples of a question, and neighbors of a node."""
_MOST_WALKED = 4_000_000_000
"""Multiplications for the walks of a question: some ten seconds."""
_PER_COMPARED, _PER_NEIGHBOR, _PER_NUMBER = 4e-10, 2e-6, 5e-8
"""Seconds, about: for a number that a search compares, a neighbor that it names, a number of a vector in JSON."""

Node = str | int | float | list[Any]
"""A node in JSON: 7 and "7" are two, and an array is a tuple."""
Count = Annotated[int, msgspec.Meta(ge=1, le=_MOST)]
Some = msgspec.Meta(min_length=1, max_length=_MOST)


class UnknownNodeError(InputError):
    """A node is asked about that the model does not have; its sentence, which looks for close names, takes a while."""

    def __init__(self, nodes: Nodes, node: Any):
        super().__init__()
        self.nodes, self.node = nodes, node

    def __str__(self) -> str:
        return self.nodes.unknown(self.node)


class NodesQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Nodes whose vectors are asked for."""

    nodes: Annotated[list[Node], Some]


class NearestQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Nodes, or vectors, whose neighbors are asked for; `exact` does without the index."""

    nodes: Annotated[list[Node], Some] | None = None
    vectors: Annotated[list[list[float]], Some] | None = None
    k: Count = 10
    metric: Literal["cosine", "euclidean", "dot"] | None = None
    type: str | None = None
    exact: bool = False


class ScoreQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Pairs of nodes or, of a model of hyperedges, tuples; `kind` has the roles of these, where several fit."""

    pairs: Annotated[list[tuple[Node, Node]], Some] | None = None
    tuples: Annotated[list[list[Node]], Some] | None = None
    kind: list[str] | None = None


class CompleteQuery(msgspec.Struct, forbid_unknown_fields=True):
    """A tuple with null at its open position; `kind` as for a score."""

    tuple: Annotated[list[Node | None], msgspec.Meta(min_length=2, max_length=100)]
    k: Count = 10
    kind: list[str] | None = None


class PlaceQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Links of new nodes to known ones and to one another, [node, node] or [node, node, weight]; or hyperedges."""

    edges: Annotated[list[list[Any]], msgspec.Meta(min_length=1, max_length=10_000)]


class UpdateQuery(msgspec.Struct, forbid_unknown_fields=True):
    """A day of a network: links that came or have another weight, as for a place, and nodes or [node, node] gone."""

    edges: Annotated[list[list[Any]], msgspec.Meta(max_length=10_000)] = []
    gone: Annotated[list[Node], msgspec.Meta(max_length=10_000)] = []


@dataclass(eq=False)
class Served:
    """One version of a model that is served. It never changes: a newer one takes its place whole."""

    name: str
    path: Path
    embedding: Embedding
    model: Any = None
    """The fitted model; None where its vectors alone are served."""
    index: Index | None = None
    graph: Graph | None = None
    """The graph that a score of pairs reads, where it was given."""
    version: int = 1
    loaded_at: float = field(default_factory=time.time)
    _busy: threading.Lock = field(default_factory=threading.Lock)  # torch's number of threads is one for all
    _scores: dict[str, Any] = field(default_factory=dict)
    """Scores of pairs that the graph was read for, once."""

    @staticmethod
    def load(
        name: str,
        path: str | os.PathLike[str],
        *,
        vectors_only: bool = False,
        index: str | None = None,
        graph: Graph | None = None,
        version: int = 1,
    ) -> Served:
        """Load a model, or vectors alone (without torch), and the index at a path, or "auto" to build one; try it."""
        model, embedding = _loaded(Path(path), vectors_only=vectors_only)
        searched = None
        if index is not None:
            searched = embedding.index() if index == "auto" else Index.load(index, embedding)
        served = Served(name, Path(path), embedding, model, searched, graph, version)
        if len(embedding):
            (embedding if searched is None else searched).nearest(embedding.nodes[0], 1)
        return served

    def facts(self) -> dict[str, Any]:
        """What is served, for the list of models."""
        own, index = self.embedding, self.index
        return {
            "name": self.name,
            "model": "Embedding" if self.model is None else type(getattr(self.model, "model", self.model)).__name__,
            "version": self.version,
            "fingerprint": own.fingerprint,
            "nodes": len(own),
            "dim": own.dim,
            "gaussian": own.std is not None,
            "metric": self.metric,
            "index": None if index is None else {"probes": index.probes, "recall": index.recall_},
            "loaded_at": self.loaded_at,
        }

    @property
    def metric(self) -> str:
        """How near is measured, unless a question says otherwise: that of the index, or of `Embedding.nearest`."""
        if self.index is not None:
            return self.index.metric
        return "cosine" if self.embedding.std is None else "euclidean"

    # ---------------------------------------------------------------- questions

    def estimated_seconds(self, query: Any) -> float:
        """About how long a question takes: no end where a model computes the answer, or all names are looked at."""
        own = self.embedding
        if isinstance(query, NodesQuery):
            return len(query.nodes) * own.dim * _PER_NUMBER * (1 if own.std is None else 2)
        if isinstance(query, ScoreQuery) and query.pairs is not None and not _reads_graph(self._pair_score):
            return len(query.pairs) * own.dim * _PER_NUMBER
        if not isinstance(query, NearestQuery) or query.type is not None:
            return math.inf
        index = self._index_for(query)
        rows = len(own) if index is None else index.rows_compared
        each = rows * own.dim * _PER_COMPARED + query.k * _PER_NEIGHBOR
        return len(query.nodes or query.vectors or ()) * each

    def vectors(self, query: NodesQuery) -> dict[str, Any]:
        """The vector of each node and, of Gaussians, its standard deviations."""
        own, nodes = self.embedding, self._known(query.nodes)
        rows = own.nodes.positions(nodes)
        answer: dict[str, Any] = {"nodes": nodes, "vectors": own.vectors[rows]}
        return answer if own.std is None else answer | {"std": own.std[rows]}

    def node(self, text: str) -> dict[str, Any]:
        """One node, as it is typed in a URL: a number where nodes are numbers."""
        own = self.embedding
        node = own.nodes.parse(text)
        row = int(own.nodes.positions(self._known([node]))[0])
        answer: dict[str, Any] = {"node": node, "vector": own.vectors[row]}
        return answer if own.std is None else answer | {"std": own.std[row]}

    def nearest(self, query: NearestQuery) -> dict[str, Any]:
        """The k nodes nearest to each node or vector, the best first: those of `Embedding.nearest`, or of the index."""
        if (query.nodes is None) == (query.vectors is None):
            raise InputError("ask for the nearest of nodes or of vectors: one of the two")
        metric, index = query.metric or self.metric, self._index_for(query)
        search: Callable[..., Any] = self.embedding.nearest
        more: dict[str, Any] = {"of_type": query.type}
        if index is not None:
            search = index.nearest
        else:
            more["metric"] = metric
        if query.nodes is not None:
            answers = search(self._known(query.nodes), query.k, **more)
        else:
            answers = [search(np.array(x, np.float64), query.k, **more) for x in query.vectors or []]
        results = [[{"node": node, "score": score} for node, score in near] for near in answers]
        return {"metric": metric, "exact": index is None or index.is_exact, "results": results}

    def nearest_together(self, queries: list[NearestQuery]) -> list[Any]:
        """Answers to questions that differ in their nodes alone, as one search; of one that fails its exception."""
        try:
            nodes = [x for query in queries for x in query.nodes or []]
            said = self.nearest(msgspec.structs.replace(queries[0], nodes=nodes))
            answers, results = [], iter(said["results"])
            for query in queries:
                answers.append(said | {"results": list(itertools.islice(results, len(query.nodes or [])))})
            return answers
        except Exception:
            return [_or_exception(self.nearest, query) for query in queries]

    def score(self, query: ScoreQuery) -> dict[str, Any]:
        """How likely pairs are links, by the model's own score, or tuples hyperedges; the answer says by which."""
        if (query.pairs is None) == (query.tuples is None):
            raise InputError("ask for the score of pairs or of tuples: one of the two")
        if query.tuples is not None:
            model = self._with("score", "tuples")
            tuples = [tuple(self._known(x)) for x in query.tuples]
            with self._busy:
                return {"score": "tuples", "scores": model.score(tuples, kind=query.kind).tolist()}
        pairs = [self._known(list(pair)) for pair in query.pairs or []]
        name, scores = self._pair_scores(*map(list, zip(*pairs, strict=True)))
        return {"score": name, "scores": scores.tolist()}

    def complete(self, query: CompleteQuery) -> dict[str, Any]:
        """The k nodes that best take the open place of a tuple."""
        model = self._with("complete", "tuples")
        partial = [None if x is None else self._known([x])[0] for x in query.tuple]
        with self._busy:
            best = model.complete(partial, query.k, kind=query.kind)
        return {"results": [{"node": node, "score": score} for node, score in best]}

    def place(self, query: PlaceQuery) -> dict[str, Any]:
        """Vectors of nodes that the model never saw, by their links; nothing is kept of them."""
        model = self._with("transform", "links of new nodes")
        with self._busy:
            placed = model.transform(self._later(model, query.edges))
        answer: dict[str, Any] = {"nodes": list(placed.nodes), "vectors": placed.vectors}
        return answer if placed.std is None else answer | {"std": placed.std}

    def updated(self, query: UpdateQuery) -> tuple[Served, dict[str, Any]]:
        """The version after a day's changes, which is written beside the model, and what they did; this one stays."""
        from netfold.embedder.evolving import Evolving
        from netfold.embedder.versions import split_version

        if not query.edges and not query.gone:
            raise InputError("there is nothing to take in; give edges, or nodes that are gone")
        if split_version(self.path)[1] is not None:
            raise InputError(f"{self.name} is served as it was at one version; serve the model, which can be updated")
        model = self._with("transform", "links of new nodes")
        with self._busy:
            stream = model if isinstance(model, Evolving) else Evolving(model, path=self.path)
            later = self._later(model, query.edges) if query.edges else None
            day = stream.update(later, [_as_node(x) for x in query.gone])
            whole = stream.embedding_
        index = self.index
        if index is not None:
            if not any(x in index.embedding for x in day.placed):
                index = index.grown(day.placed, [x for x in day.gone if x in index.embedding])
            if len(index) != len(whole):  # a node that was gone is back
                index = whole.index(metric=index.metric)
        after = Served(self.name, self.path, whole, stream, index, self.graph, self.version + 1)
        facts = {"of_model": day.version, "placed": list(day.placed), "unreached": day.unreached}
        return after, facts | {"gone": day.gone, "drift": day.drift, "alarm": day.alarm}

    # ---------------------------------------------------------------- parts of answers

    def _index_for(self, query: NearestQuery) -> Index | None:
        """The index, where it answers a question about nearest nodes."""
        measures = self.index is not None and self.index.metric == (query.metric or self.metric)
        return self.index if measures and not query.exact else None

    def _known(self, nodes: list[Any]) -> list[Any]:
        """Nodes as the library has them, all of them known."""
        named = [_as_node(x) for x in nodes]
        at = self.embedding.nodes.find(named)
        if len(at) and at.min() < 0:
            raise UnknownNodeError(self.embedding.nodes, named[int(np.argmax(at < 0))])
        return named

    def _with(self, method: str, what: str) -> Any:
        """The model, if it has such a method."""
        if self.model is None:
            raise InputError(f"{self.name} is served as vectors alone, which say nothing of {what}; serve the model")
        if not hasattr(self.model, method):
            raise InputError(f"{self.name} is {type_in_words(self.model)}, which says nothing of {what}")
        return self.model

    @property
    def _pair_score(self) -> str:
        """What pairs are scored by."""
        name = getattr(self.model, "pair_score_", None)
        if name in (None, "decoder") and self.graph is not None and hasattr(self.model, "pair_decoder"):
            return self._own_score
        if name is not None:
            return str(name)
        return "w2" if self.embedding.std is not None else "cosine"

    @property
    def without_graph(self) -> str:
        """What is missing where pairs are scored by a graph that was not given; empty where nothing is."""
        name = self._pair_score
        if self.graph is not None or self.model is None or not _reads_graph(name):
            return ""
        return f"pairs of {self.name} are scored by {name}, which reads the graph; serve with --edges FILE"

    @functools.cached_property
    def _own_score(self) -> str:
        """The decoder, unless nodes came since the fit, of which it knows nothing."""
        from netfold.evaluate.scores import own_score

        return own_score(self.model)

    def _pair_scores(self, left: list[Any], right: list[Any]) -> tuple[str, Any]:
        own, name = self.embedding, self._pair_score
        if _reads_graph(name):
            return name, self._of_graph(name, left, right)
        if name == "cosine":
            return name, own.similarity(left, right)
        u, v = own.nodes.positions(left), own.nodes.positions(right)
        table = own._coordinates_of if name == "w2" else own.vectors.__getitem__
        x, y = table(u).astype(np.float64), table(v).astype(np.float64)
        return name, (x * y).sum(axis=1) if name == "dot" else -np.sqrt(np.square(x - y).sum(axis=1))

    def _of_graph(self, name: str, left: list[Any], right: list[Any]) -> Any:
        """A score of pairs that the graph is read for."""
        from netfold.evaluate.pairs import cost_of
        from netfold.evaluate.scores import pair_scores

        if self.graph is None:
            raise InputError(self.without_graph)
        with self._busy:
            if name not in self._scores:
                graph = self._network(self.graph)
                self._scores[name] = pair_scores(self.model, graph, name), graph.nodes
            scores, nodes = self._scores[name]
            most = max(1, _MOST_WALKED // max(1, cost_of(scores)))
            if len(set(left)) > most:
                raise InputError(
                    f"pairs of {self.name} are scored by {name}, which takes a while for each first node of "
                    f"a pair; ask about pairs of at most {most} first nodes at a time"
                )
            return scores.at(nodes.positions(left), nodes.positions(right))

    def _network(self, graph: Graph) -> Graph:
        """A graph with what came and went since the fit, without nodes that have no vector yet."""
        from netfold.embedder.evolving import Evolving

        if isinstance(self.model, Evolving):
            graph = self.model.network(graph)
        placed = self.embedding.nodes.find(graph.nodes) >= 0
        return graph if placed.all() else graph.subgraph(np.flatnonzero(placed))

    def _later(self, model: Any, edges: list[list[Any]]) -> Any:
        if model.reads == "hypergraph":
            return [tuple(map(_as_node, edge)) for edge in edges]
        from netfold.data.graph import Graph

        rows: list[Any] = []
        for edge in edges:
            if len(edge) not in (2, 3) or (len(edge) == 3 and type(edge[2]) not in (int, float)):
                raise InputError(f"a link is [node, node] or [node, node, weight]; link {len(rows) + 1} is neither")
            rows.append((_as_node(edge[0]), _as_node(edge[1]), *edge[2:]))
        if any(len(row) == 3 for row in rows):  # a link without a weight weighs 1
            rows = [(*row, 1.0)[:3] for row in rows]
        directed = bool(getattr(model, "graph_facts_", {}).get("directed", False))
        return Graph.from_edges(rows, directed=directed)


QUESTIONS: dict[str, tuple[Any, Callable[[Served, Any], dict[str, Any]]]] = {
    "nodes": (NodesQuery, Served.vectors),
    "nearest": (NearestQuery, Served.nearest),
    "score": (ScoreQuery, Served.score),
    "complete": (CompleteQuery, Served.complete),
    "place": (PlaceQuery, Served.place),
}
"""What can be asked of a model by POST: the question, and what answers it."""


def _reads_graph(score: str) -> bool:
    """Whether a score of pairs is made of vectors and of the graph."""
    from netfold.embedder.pair_score import OF_LINKS, weighted_scores

    terms = weighted_scores(score)
    return len(terms) > 1 or terms[0][1] in ("decoder", "paths", *OF_LINKS)


def _or_exception(answer: Callable[[Any], Any], query: Any) -> Any:
    try:
        return answer(query)
    except Exception as e:
        return e


def as_arrow(facts: dict[str, Any]) -> bytes:
    """Nodes and their vectors as a stream of Arrow: columns `node`, `vector` and `std`, the rest as its metadata."""
    import pyarrow

    nodes, kinds = facts["nodes"], {type(x) for x in facts["nodes"]}
    plain = kinds in ({str}, {int}, set())
    columns = {"node": pyarrow.array(nodes if plain else [msgspec.json.encode(x).decode() for x in nodes])}
    for name, column in (("vectors", "vector"), ("std", "std")):
        if name in facts:
            values = pyarrow.array(np.ascontiguousarray(facts[name], np.float32).ravel())
            columns[column] = pyarrow.FixedSizeListArray.from_arrays(values, facts[name].shape[1])
    said = {"model": facts["model"], "version": str(facts["version"]), "nodes": "plain" if plain else "json"}
    table = pyarrow.table(columns).replace_schema_metadata(said)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _loaded(path: Path, *, vectors_only: bool) -> tuple[Any, Embedding]:
    """The model, None where there are vectors alone, and its embedding."""
    if path.is_file() or (path / "parts.json").exists():
        return None, Embedding.load(path)
    from netfold.embedder.versions import split_version
    from netfold.models import load

    folder, version = split_version(path)
    evolves = version is not None or (Path(folder) / "versions").is_dir()
    if vectors_only and not evolves:
        return None, load(path, only="embedding")
    if evolves:
        from netfold.embedder.evolving import Evolving

        model: Any = Evolving.open(path)
    else:
        model = load(path)
    return None if vectors_only else model, model.embedding_


def _as_node(x: Any) -> Any:
    """A node of JSON as the library has it."""
    if isinstance(x, list):
        return tuple(map(_as_node, x))
    if type(x) not in (str, int, float):
        raise InputError("a node is a string, a number, or an array of those")
    return x
