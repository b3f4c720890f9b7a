"""How well nodes are placed that come with attributes and without a single link: their classes, and links to come."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from netfold.data.checks import Bools, Floats, Ints
from netfold.data.edges import Pairs, edge_pairs, links, neighbor_counts, without_pairs
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate.baselines import nearest_by_attributes
from netfold.evaluate.class_tasks import (
    PROPAGATION,
    ClassScorer,
    class_figures,
    linear_scorer,
    most_frequent,
    propagation_scorer,
)
from netfold.evaluate.new_node_tasks import (
    all_vectors,
    asked_classes,
    attribute_methods,
    check_new_node_options,
    known_vectors,
    new_node_negatives,
    placeable,
    scaled_by_known,
)
from netfold.evaluate.pairs import separation
from netfold.evaluate.result import Result, name_of
from netfold.evaluate.scores import chosen_score, pair_scores
from netfold.evaluate.splits import NodeSplit

__all__ = ["cold_start", "without_links_of_new"]

_NEAREST = 10
"""Known nodes whose classes and links a new one is given, the most similar in attributes."""
NEAREST = f"{_NEAREST} nearest by X"

_PairScorer = Callable[[Pairs], Floats]


def cold_start(
    model: Any,
    split: NodeSplit,
    *,
    classes: Mapping[Any, Any] | None = None,
    links: bool = True,
    score: str | None = None,
    per_positive: int = 1,
    normalize: str = "centred",
    C: float = 3.0,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """Classes and links of new nodes of which nothing but attributes is known.

    `model` was fitted to `split.known` with its attributes and has `transform(graph)`, or is the new nodes' vectors
    together with those of the known ones. It gets the graph in which the new nodes have attributes and no links at all;
    those of which nothing is known get the mean of the known vectors.

    With `classes`: one-vs-rest logistic regression learns from all known nodes and gives each new one its k best
    classes, k being how many it has: micro- and macro-F1 (see `classification`, also for `normalize` and `C`). With
    `links`: every edge between a new node and a known one is to be scored ("cosine", "dot" or "distance") above
    `per_positive` pairs of the same new node with a random known one that it has no edge with: AUC and average
    precision; `AUC degree-matched` is against nodes of about the degree of the true end, so that popularity tells
    nothing.

    The baselines know attributes too: X alone (the SVD of the known nodes' rows, onto which new ones are projected),
    P²X (the same of rows that were averaged over neighbors twice; a node without links keeps its own), the classes and
    links of the 10 known nodes that are most similar in attributes, label propagation over the links of known nodes
    and over these (`propagation_scorer`; over links alone it reaches no new node), and without attributes the most
    frequent classes, and how popular a node is.
    """
    if split.whole.attributes is None:
        raise InputError(
            "cold_start asks about nodes by their attributes, and the graph has none; read them with it (attributes=, "
            "--attributes FILE), or ask out_of_sample, about nodes with links"
        )
    score = chosen_score("cold-start", model, score)
    check_new_node_options(score, normalize, C, per_positive)
    of_classes = None if classes is None else asked_classes(split, classes)
    of_links = _Links(split, per_positive, seed) if links else None
    if of_classes is None and of_links is None:
        raise InputError("there is nothing to measure; give classes=, or links=True")

    def figures(by_class: ClassScorer | None, by_pair: _PairScorer | None) -> dict[str, float]:
        measured: dict[str, float] = {}
        if of_classes is not None and by_class is not None:
            known, learned, tested = of_classes
            measured |= class_figures(by_class, known, (learned, tested), "top-k")
        return measured | (of_links.figures(by_pair) if of_links is not None and by_pair is not None else {})

    def of_vectors(vectors: Embedding) -> dict[str, float]:
        by_class = None
        if of_classes is not None:
            by_class = linear_scorer(vectors[of_classes[0].nodes].astype(np.float64), "logistic", normalize, C)
        scores = pair_scores(vectors, split.whole, score)
        return figures(by_class, lambda pairs: scores.at(*pairs.T.copy()).numpy())

    own = of_vectors(_vectors(model, split))
    rows: dict[str, dict[str, float]] = {}
    if baselines:
        dim = model.dim if isinstance(model, Embedding) else model.embedding_.dim
        rows |= {name: of_vectors(method(_cold(split))) for name, method in attribute_methods(dim, seed).items()}
        near = nearest_by_attributes(scaled_by_known(split), split.new, _NEAREST, without=split.new)
        at = None if of_classes is None else split.whole.positions(of_classes[0].nodes)
        rows[NEAREST] = figures(None if at is None else _votes(split, near, at), _shared_links(split, near))
        if at is not None:
            spread = propagation_scorer(_beside(split, near), at)
            rows[f"{PROPAGATION}, and X"] = figures(spread, None)
        if of_classes is not None:
            rows["most frequent classes"] = figures(most_frequent, None)
        if of_links is not None:
            rows["popularity"] = figures(None, _popularity(split))
    protocol = {f"split {name}" if name == "seed" else name: value for name, value in split.protocol.items()}
    protocol |= {"new nodes": len(split.new), "links of new nodes that the model sees": "none"}
    if of_classes is not None:
        protocol |= {"classifier": "one-vs-rest logistic", "C": C, "normalize": normalize, "rule": "top-k"}
        protocol |= {"learned from": f"{len(of_classes[1]):,} known nodes", "asked about": f"{len(of_classes[2]):,}"}
    if of_links is not None:
        protocol |= {"positives": len(of_links.right), "negatives": len(of_links.wrong), "score": score}
    unknown = int(np.count_nonzero(~split.whole.attributes.known[split.new].any(axis=1)))
    protocol |= {"new nodes of which nothing is known": unknown, "seed": seed}
    return Result("cold start", name_of(model), own, protocol, rows)


def without_links_of_new(split: NodeSplit) -> Graph:
    """The whole graph without any edge of a new node.

    >>> from netfold.evaluate.splits import split_nodes
    >>> without_links_of_new(split_nodes([(1, 2), (2, 3), (3, 4), (4, 1)], 1)).n_edges
    2
    """
    edges = edge_pairs(split.whole)
    return without_pairs(split.whole, edges[np.isin(edges, split.new).any(axis=1)])


def _cold(split: NodeSplit) -> NodeSplit:
    return NodeSplit(split.known, without_links_of_new(split), split.new, split.protocol)


def _vectors(model: Any, split: NodeSplit) -> Embedding:
    """The vectors of all nodes; of new ones those that the model has of their attributes."""
    if isinstance(model, Embedding):
        return model.take(split.whole.nodes)
    if not hasattr(model, "transform"):
        raise InputError("cold_start needs a fitted model with transform, or the vectors of all nodes")
    known = known_vectors(model, None, split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that these nodes have no links, which is what is asked about
        new = model.transform(placeable(_cold(split), "path", attributed=True).whole)
    return all_vectors(split, known, new)


class _Links:
    """The edges of new nodes with known ones, and pairs that are none."""

    def __init__(self, split: NodeSplit, per_positive: int, seed: int):
        self.right = _with_known(split, edge_pairs(split.whole))
        if not len(self.right):
            raise InputError("the new nodes have no edges with known ones; ask about their classes (links=False)")
        self.wrong = _with_known(split, new_node_negatives(split, self.right, per_positive, seed))
        self.alike = _with_known(split, new_node_negatives(split, self.right, per_positive, seed, matched=True))
        if not len(self.wrong):
            raise InputError("the new nodes have edges with all known ones; there is no pair to compare them with")

    def figures(self, scorer: _PairScorer) -> dict[str, float]:
        """AUC and average precision."""
        right = scorer(self.right)
        measured = separation(right, scorer(self.wrong))
        if len(self.alike):
            measured["AUC degree-matched"] = separation(right, scorer(self.alike))["AUC"]
        return measured


def _with_known(split: NodeSplit, pairs: Pairs) -> Pairs:
    """Those pairs of which one end is known."""
    between: Pairs = pairs[np.isin(pairs, split.new).sum(axis=1) == 1]
    return between


# -------------------------------------------------------------------- baselines


def _beside(split: NodeSplit, near: sparse.csr_array) -> sparse.csr_array:
    """The links of known nodes, and of each new one those to the nearest by attributes, in either direction: n x n."""
    n = split.whole.n_nodes
    own = links(without_links_of_new(split), directed=False, weights=True, loops="drop").astype(np.float64)
    at = sparse.csr_array((np.ones(len(split.new)), (split.new, np.arange(len(split.new)))), shape=(n, len(split.new)))
    more = sparse.csr_array(at @ near)
    return sparse.csr_array(own + more + more.T)


def _votes(split: NodeSplit, near: sparse.csr_array, at: Ints) -> ClassScorer:
    """Classes by those of the nearest, each weighing its cosine; of a node without such, how frequent classes are.

    `at` are the nodes with classes, as positions in the whole graph, of which learned and tested rows are positions.
    """
    row = np.full(split.whole.n_nodes, -1)
    row[split.new] = np.arange(len(split.new))

    def scores(truth: Bools, learned: Ints, tested: Ints) -> Floats:
        votes = sparse.csr_array(near[row[at[tested]]][:, at[learned]])
        total, often = np.asarray(votes.sum(axis=1))[:, None], truth.mean(axis=0)
        share = np.where(total > 0, (votes @ truth.astype(np.float64)) / np.where(total > 0, total, 1), often)
        return np.where(often > 0, share + 1e-9 * often - 0.5, -np.inf)

    return scores


def _shared_links(split: NodeSplit, near: sparse.csr_array) -> _PairScorer:
    """How much the nearest of a new node are linked to a known one, or are that one."""
    step = links(split.whole, directed=False, weights=False, loops="drop").astype(np.float64)
    reach = sparse.csr_array(near @ step + near)
    row = np.full(split.whole.n_nodes, -1)
    row[split.new] = np.arange(len(split.new))

    def scores(pairs: Pairs) -> Floats:
        new, other = _ends(split, pairs)
        return np.asarray(reach[row[new], other]).ravel()

    return scores


def _popularity(split: NodeSplit) -> _PairScorer:
    """The degree of the known end, in the known graph."""
    degrees = neighbor_counts(without_links_of_new(split)).astype(np.float64)
    return lambda pairs: degrees[_ends(split, pairs)[1]]


def _ends(split: NodeSplit, pairs: Pairs) -> tuple[Ints, Ints]:
    """The new and the known end of each pair."""
    first = np.isin(pairs[:, 0], split.new)
    return np.where(first, pairs[:, 0], pairs[:, 1]), np.where(first, pairs[:, 1], pairs[:, 0])
