"""What candidates are asked: parts of the data to fit and to be measured on, and one more that chooses nothing.

`questions` makes of a task and data inner parts, on which candidates are compared, and an outer one, which is looked at
once, by the one that was chosen. Both are made of the data that were given: nobody's test data are read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from netfold.data.checks import Floats, Ints
from netfold.data.edges import edge_pairs, without_pairs
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.text import counted
from netfold.errors import InputError
from netfold.evaluate.case import case, case_of_split
from netfold.evaluate.class_tasks import agreement, class_f1, cluster_codes, linear_scorer, predicted_classes
from netfold.evaluate.classes import NodeClasses, Split, classes_of_nodes, normalized
from netfold.evaluate.held_out import HeldOutPairs
from netfold.evaluate.hyperedge_tasks import (
    HyperedgeSplit,
    own_scorer,
    split_hyperedges,
    tuples_asked,
    without_hyperedges,
)
from netfold.evaluate.negatives import sample_negatives
from netfold.evaluate.new_node_tasks import extending, hold_out_half, known_vectors, new_node_negatives
from netfold.evaluate.pairs import finite
from netfold.evaluate.ranking import rank
from netfold.evaluate.result import embedding_of
from netfold.evaluate.role_tasks import predicted_roles
from netfold.evaluate.scores import available_scores, pair_scores
from netfold.evaluate.splits import EdgeSplit, NodeSplit, split_edges, split_nodes
from netfold.evaluate.task import SCORES_OF_VECTORS, Task, task_named
from netfold.studies.choose import neighborhood

__all__ = [
    "FOLDS",
    "GROUPS",
    "SAMPLED",
    "Measurement",
    "Part",
    "Questions",
    "check_question",
    "difference",
    "figure_of",
    "graph_order",
    "in_groups",
    "questions",
]

GROUPS, _FEWER, _MANY = 40, 10, 5000
"""Into so many groups what is asked is divided, or into fewer where much is asked and a figure costs as much each time;
its deviation is by leaving out each of them (the jackknife)."""
FOLDS = 5
"""Inner parts, at most."""
_CLASS_WORK = 60_000
"""Nodes times classes that a classifier learns from in an inner part, at most; ten times as many in the outer one."""
_MOST_PAIRS, _PAIRS = 20_000, 100
"""Held-out edges that are asked about, at most; in an inner part, so many for each second that there is: where there is
little, walks from all of them could not be followed."""
_WALKED = 250_000_000
"""Multiplications, of each second that there is, that walks of a kind may take in a part: about a twentieth of it."""
_SHARE = 10
"""Things that are asked together, at least, where what is held out is held out in turns."""
_SHARES, _LEAST_SHARES = 10, 3
"""Shares of what chooses nothing, and so many of them, at least, that are asked about. Where fewer fits can be paid,
what they are asked is less: a fit that lacks all of it says a lower figure than the one that is given back has."""
_RANKED = 1000
"""Nodes from which others are ranked, in a part."""


# -------------------------------------------------------------------- a figure, and how sure it is


@dataclass(frozen=True, eq=False)
class Measurement:
    """A figure, what it is without each group of what was asked, and how pairs were scored, where there are pairs.

    >>> Measurement(0.5, np.array([0.25, 0.75])).deviation
    0.25
    """

    figure: float
    without: Floats = field(default_factory=lambda: np.empty(0))
    score: str = ""

    @property
    def deviation(self) -> float:
        """The standard error of the figure, by the jackknife; not a number where there are no groups."""
        return float(np.sqrt(_jackknife(self.without)))


def _jackknife(without: Floats) -> float:
    """The variance (k - 1) / k Σ (x_j - mean)² of a figure, x_j being the figure without the group j of k."""
    k = len(without)
    return float((k - 1) / k * np.square(without - without.mean()).sum()) if k > 1 else float("nan")


def in_groups(figure: Callable[[Ints], float], place: Ints, score: str = "") -> Measurement:
    """A figure of things that were asked, and the same without each group of them.

    `place` says where in the graph each is (`graph_order`). Groups are neighbors there: what one community makes easy
    or hard is not independent, and as single things it would look surer than it is.
    """
    every, k = np.arange(len(place)), min(GROUPS if len(place) <= _MANY else _FEWER, len(place))
    group = _groups(place, k)
    without = [figure(every[group != j]) for j in range(k)] if k > 1 else []
    return Measurement(figure(every), np.asarray(without, np.float64), score)


def _groups(place: Ints, k: int) -> Ints:
    """The group 0..k-1 of each thing, by its place: of nearly the same size."""
    group = np.empty(len(place), np.int64)
    group[np.argsort(place, kind="stable")] = np.arange(len(place)) * k // max(len(place), 1)
    return group


def graph_order(adjacency: Any) -> Ints:
    """The place of each node in an order in which neighbors are near each other (reverse Cuthill and McKee): n."""
    matrix = sparse.csr_array(adjacency)
    small = sparse.csr_matrix((np.ones(matrix.nnz, np.int8), matrix.indices, matrix.indptr), shape=matrix.shape)
    place = np.empty(matrix.shape[0], np.int64)
    place[csgraph.reverse_cuthill_mckee(small, symmetric_mode=False)] = np.arange(len(place))
    return place


def difference(one: Mapping[str, Measurement], other: Mapping[str, Measurement]) -> tuple[float, float]:
    """By how much one is ahead of the other on the parts that both were measured on, and the standard error of that.

    The error is infinite where there is no way to tell it: no part in common, or one without groups.
    """
    shared = [key for key in one if key in other]
    if not shared:
        return float("nan"), float("inf")
    gaps = np.array([one[key].figure - other[key].figure for key in shared])
    paired = [one[k].without - other[k].without for k in shared if _pairs(one[k], other[k])]
    if len(paired) == len(shared):
        return float(gaps.mean()), _error_of_mean(paired)
    return float(gaps.mean()), float(gaps.std(ddof=1) / len(gaps) ** 0.5) if len(gaps) > 1 else float("inf")


def _pairs(one: Measurement, other: Measurement) -> bool:
    return len(one.without) == len(other.without) > 1


def _error_of_mean(without: Sequence[Floats]) -> float:
    """The standard error of the mean over parts, from what each has without each of its groups.

    Where all have as many groups, the j-th of each are of about the same places in the graph, and what they have in
    common is in the jackknife of the mean; else parts count as independent.
    """
    if len({len(x) for x in without}) == 1:
        return float(np.sqrt(_jackknife(np.mean(without, axis=0))))
    return float(np.sqrt(np.sum([_jackknife(x) for x in without])) / len(without))


def figure_of(parts: Mapping[str, Measurement]) -> tuple[float, float]:
    """The mean figure over parts, and its standard error: within the parts, or between them where those have none."""
    figures = np.array([x.figure for x in parts.values()])
    if all(len(x.without) > 1 for x in parts.values()):
        return float(figures.mean()), _error_of_mean([x.without for x in parts.values()])
    spread = float(figures.std(ddof=1) / len(figures) ** 0.5) if len(figures) > 1 else float("nan")
    return float(figures.mean()), spread


# -------------------------------------------------------------------- parts


@dataclass(frozen=True, eq=False)
class Part:
    """What a model is fitted to, and what then measures it: (model, score or None) -> Measurement."""

    key: str
    graph: Any
    measure: Callable[[Any, str | None], Measurement]


@dataclass(frozen=True, eq=False)
class Questions:
    """The inner parts and the outer one of a task on some data."""

    task: Task
    figure: str
    """The one that is compared."""
    whole: Graph | Hypergraph
    inner: Callable[[int, int], Part]
    """From a fold and a number of nodes, of which a part of the data is made where there are more."""
    outer: Callable[[int], Part]
    """The part that chooses nothing, likewise."""
    fits_whole: bool
    """Whether models are fitted to all of the graph, so that the one chosen need not be fitted again."""
    note: str
    """What the outer part is, in words."""
    smaller: bool = False
    """Whether less is better; figures are then negative inside, so that more is."""
    turns: Callable[[float], list[Part]] = lambda paid: []
    """The outer part, or some of it, in shares, each held out alone, so that a model of the rest has nearly all of the
    data; none where it makes no difference or there is too little. From how many fits can be paid; where one fit serves
    all, how many measurements on an inner part."""


def questions(
    graph: Graph | Hypergraph,
    task: str | Task,
    classes: Mapping[Any, Any] | None = None,
    seed: int = 0,
    seconds: float = 60.0,
) -> Questions:
    """What candidates are asked in a task; an `InputError` where the data cannot answer it.

    `seconds` are what they are asked within: links are scored with walks too where that takes little of it.

    >>> ring = Graph.from_edges([(i, (i + k) % 30) for i in range(30) for k in (1, 2)])
    >>> asked = questions(ring, "link")
    >>> asked.inner(0, 30).graph, asked.outer(30).graph
    (Graph(30 nodes, 49 edges, undirected), Graph(30 nodes, 54 edges, undirected))
    """
    known = task if isinstance(task, Task) else task_named(task)
    check_question(known, graph, classes)
    if known.name == "link-prediction" and isinstance(graph, Graph):
        return _of_links(known, graph, seed, seconds)
    other = _of_splits if known.split == "edges" and not known.refits else _of_draws
    make: Callable[[Task, Any, Any, int], Questions] = _MAKERS.get(known.name, other)
    return make(known, graph, classes, seed)


def check_question(task: Task, graph: Any, classes: Any) -> None:
    """Refuse data that a task cannot be asked of, before anything is made of them."""
    kind = "hypergraph" if isinstance(graph, Hypergraph) else "graph"
    if kind not in task.reads:
        other = "; for its hyperedges there is the task tuples" if kind == "hypergraph" else ""
        raise InputError(f"{task.name} is asked of a {' or a '.join(task.reads)}, and this is a {kind}{other}")
    if task.needs_classes and classes is None:
        raise InputError(f"{task.name} needs the classes of nodes; give classes={{node: class}} (--classes FILE)")
    if task.needs_attributes and graph.attributes is None:
        raise InputError(f"{task.name} needs attributes of nodes; give them (attributes=, --attributes FILE)")
    if graph.n_edges == 0:
        raise InputError(f"the {kind} has no edges; there is nothing to learn from")


def _sample(graph: Any, nodes: int, seed: int) -> Any:
    return graph if nodes >= graph.n_nodes else neighborhood(graph, nodes, seed)


def _order(data: Graph | Hypergraph) -> Ints:
    """The place of each node among its neighbors, n: of a hypergraph those that it shares hyperedges with."""
    return graph_order(data.adjacency() if isinstance(data, Hypergraph) else data.adjacency)


def _share(count: int, noun: str, most: float = _MOST_PAIRS) -> float:
    """How much is held out: a twentieth, but 500 where that is at most a tenth, and never more than can be asked."""
    if count < 5:
        are = "is" if count == 1 else "are"
        raise InputError(
            f"there {are} {counted(count, noun)}; to hold some out and learn from the others, at least 5 are needed"
        )
    wanted = min(max(0.05 * count, min(500, 0.1 * count)), most)
    return max(wanted, 2.0) / count


def _shares(held: Any, count: float) -> list[Any]:
    """What is held out, in at most `count` parts; none where there is not enough for two shares.

    Random shares, a tenth each or `_SHARE` things at least; one in each part, and fewer parts with more, where so few
    parts are asked for that they would have less than three.
    """
    shares = min(_SHARES, len(held) // _SHARE)
    if shares < 2 or count < 1:
        return []
    count = int(min(count, shares))
    order = np.random.default_rng(len(held)).permutation(len(held))
    used = max(count, _LEAST_SHARES) if count < shares else shares
    some = [order[k::shares] for k in range(min(used, shares))]
    parts = min(count, len(some))
    return [held[np.sort(np.concatenate(some[k::parts]))] for k in range(parts)]


# -------------------------------------------------------------------- links


def _of_links(task: Task, graph: Graph, seed: int, seconds: float) -> Questions:
    m = len(edge_pairs(graph))
    outer_split = split_edges(graph, _share(m, "edge"), seed=seed)
    unlinked = graph.n_nodes * (graph.n_nodes - 1) // (1 if graph.directed else 2) - m
    if unlinked < len(outer_split.test):
        words = "nearly every pair of nodes is linked, and held-out edges are told from as many pairs that are not"
        raise InputError(f"{words}: of those there are {max(unlinked, 0)}, for {len(outer_split.test)} edges")
    places, most = cache(lambda: _order(graph)), min(_MOST_PAIRS, max(500.0, _PAIRS * seconds))
    measured = partial(_links_measure, products=_WALKED * seconds)

    def inner(fold: int, nodes: int) -> Part:
        train = _sample(outer_split.train, nodes, seed)
        split = split_edges(train, _share(len(edge_pairs(train)), "edge", most), seed=seed + 1 + fold)
        return Part(f"{train.n_nodes}/{fold}", split.train, measured(split, seed + 1 + fold))

    def outer(nodes: int) -> Part:
        if nodes >= graph.n_nodes:
            return Part("outer", outer_split.train, measured(outer_split, seed))
        train = _sample(outer_split.train, nodes, seed)
        at = train.nodes.find(graph.nodes)[outer_split.test]
        split = EdgeSplit(train, at[(at >= 0).all(axis=1)], graph.subgraph(graph.positions(train.nodes)), {})
        return Part("outer", split.train, measured(split, seed))

    def turns(count: float) -> list[Part]:
        splits = [EdgeSplit(without_pairs(graph, x), x, graph, {}) for x in _shares(outer_split.test, count)]
        return [Part(f"turn {k}", x.train, measured(x, seed + k, places())) for k, x in enumerate(splits)]

    held = f"{len(outer_split.test):,} edges that no candidate was chosen by, after a fit to the others"
    return Questions(task, "AUC", graph, inner, outer, False, held, turns=turns)


def _links_measure(
    split: EdgeSplit, seed: int, places: Ints | None = None, *, products: float
) -> Callable[[Any, str | None], Measurement]:
    """AUC of held-out edges against as many non-edges; without a score, of the best that the model can have.

    `places` of the nodes of the whole graph (`graph_order`), where they are known; `products` as `HeldOutPairs` has it.
    """
    wrong = sample_negatives(split.whole, len(split.test), seed=seed).pairs if len(split.test) else split.test
    place: Ints = (_order(split.whole) if places is None else places)[split.test].min(axis=1)
    held = cache(lambda: HeldOutPairs(split.train, split.test, wrong, products))

    def measure(model: Any, score: str | None) -> Measurement:
        if len(split.test) < 2:
            raise InputError("too few held-out edges are within the part of the graph that is looked at")
        name, values = (score, held().values(model, score)) if score else held().best(model)
        return _auc_measured(*values, place, name)

    return measure


def _auc_measured(
    right: Floats, wrong: Floats, place: Ints, score: str = "", wrong_place: Ints | None = None
) -> Measurement:
    """AUC, and without each group of the right ones, by their place, with its share of the wrong ones; or with those of
    the same places, where wrong ones have some.

    All groups at the cost of one figure: of the pairs in order, those of a group's right ones and those of its wrong
    ones are taken off, and put back once where both are its own.
    """
    k = min(GROUPS, len(right), len(wrong))
    of_right, of_wrong = _groups(place, max(k, 1)), np.arange(len(wrong)) * k // max(len(wrong), 1)
    if wrong_place is not None and k > 1:
        own = np.searchsorted([place[of_right == j].max() for j in range(k - 1)], wrong_place)
        of_wrong = own if np.bincount(own).max() < len(wrong) else of_wrong  # some are left without each group
    wins, losses = _below(wrong, right), len(right) - _below(right, wrong)
    whole, without = wins.sum(), np.empty(k if k > 1 else 0)
    for j in range(len(without)):
        own, other = of_right == j, of_wrong == j
        both = _below(wrong[other], right[own]).sum()
        left = (len(right) - own.sum()) * (len(wrong) - other.sum())
        without[j] = (whole - wins[own].sum() - losses[other].sum() + both) / left
    return Measurement(float(whole / (len(right) * len(wrong))) if len(wrong) else 0.5, without, score)


def _below(some: Floats, limits: Floats) -> Floats:
    """How many of some are below each limit, equal ones by half."""
    ordered = np.sort(some)
    below, at_most = (np.searchsorted(ordered, limits, side=side) for side in ("left", "right"))
    return np.asarray(below + at_most, np.float64) / 2


# -------------------------------------------------------------------- classes


def _of_classes(task: Task, graph: Any, classes: Any, seed: int) -> Questions:
    known = classes_of_nodes(classes, graph.nodes, one_each=task.name != "classification")
    n = len(known.nodes)
    if n < 5:
        raise InputError(f"{n} nodes have a class; to hold some out and learn from the others, at least 5 are needed")
    order, ask = np.random.default_rng(seed).permutation(n), _ASK_CLASSES[task.name]
    held, rest = order[: max(1, n // 5)], order[max(1, n // 5) :]
    most, place = max(50, _CLASS_WORK // len(known.names)), _order(graph)[known.nodes_at(graph.nodes)]

    def part(key: str, nodes: int, learned: Ints, tested: Ints, cap: int) -> Part:
        some = _sample(graph, nodes, seed)
        inside = np.ones(n, bool) if some is graph else some.nodes.find(known.nodes) >= 0
        learned, tested = (rows[inside[rows]][:cap] for rows in (learned, tested))
        return Part(f"{some.n_nodes}/{key}", some, lambda model, _: ask(model, known, (learned, tested), place[tested]))

    def inner(fold: int, nodes: int) -> Part:
        folds = min(FOLDS, max(len(rest) // 2, 1))  # of few, each part has two at least
        fifth = np.arange(len(rest)) % folds == fold % folds
        tested = rest[~fifth] if task.name == "clustering" else rest[fifth]  # which learns nothing from the others
        return part(str(fold % folds), nodes, rest[~fifth], tested, most)

    def outer(nodes: int) -> Part:
        return part("outer", nodes, rest, held, 10 * most)

    def turns(paid: float) -> list[Part]:
        if task.name == "clustering":
            return []
        more = min(n, 10 * most) / min(len(rest) * (FOLDS - 1) / FOLDS, most)  # as an inner part costs
        shares = _shares(held, max(1, paid / more))
        others = [np.concatenate([rest, np.setdiff1d(held, x)]) for x in shares]
        cap = int(min(10.0, max(1.0, paid)) * most)
        return [
            part(f"turn {k}", graph.n_nodes, learned, x, cap)
            for k, (learned, x) in enumerate(zip(others, shares, strict=True))
        ]

    figure = {"classification": "micro-F1", "roles": "accuracy", "clustering": "NMI"}[task.name]
    words = f"{len(held):,} nodes whose classes chose nothing"
    return Questions(task, figure, graph, inner, outer, True, words, turns=turns)


def _ask_classes(model: Any, known: NodeClasses, split: Split, place: Ints) -> Measurement:
    _check_some(*split)
    normalize = "columns" if getattr(model, "features", False) else "centred"
    scorer = linear_scorer(_vectors(model, known), "logistic", normalize, 3.0)  # else the defaults of `classification`
    truth, predicted = known.indicator[split[1]], predicted_classes(scorer, known, split)
    return in_groups(lambda rows: class_f1(truth[rows], predicted[rows])["micro-F1"], place)


def _ask_roles(model: Any, known: NodeClasses, split: Split, place: Ints) -> Measurement:
    _check_some(*split)
    right = predicted_roles(_vectors(model, known), known.codes, split) == known.codes[split[1]]
    return in_groups(lambda rows: float(right[rows].mean()), place)


def _ask_clusters(model: Any, known: NodeClasses, split: Split, place: Ints) -> Measurement:
    """Clusters of the nodes that are asked about: nothing is learned from the classes of others.

    The fewer nodes, the more NMI clusters have by chance: the jackknife's k x - (k - 1) mean(x_j) is that of many.
    """
    tested = split[1]
    _check_some(tested, tested)
    codes = known.codes[tested]
    clusters = cluster_codes(normalized(_vectors(model, known)[tested], "rows"), min(len(known.names), len(tested)), 0)
    plain = in_groups(lambda rows: agreement(codes[rows], clusters[rows])["NMI"], place)
    k = len(plain.without)
    many = k * plain.figure - (k - 1) * float(plain.without.mean()) if k > 1 else plain.figure
    return Measurement(many if k >= _FEWER else plain.figure, plain.without)


def _vectors(model: Any, known: NodeClasses) -> Floats:
    """The vectors of the nodes with a class: zeros for those that a part of the graph does not have."""
    embedding = embedding_of(model)
    at = embedding.nodes.find(known.nodes)
    vectors = embedding.vectors[np.maximum(at, 0)].astype(np.float64)
    vectors[at < 0] = 0
    return vectors


def _check_some(learned: Ints, tested: Ints, what: str = "nodes with a class") -> None:
    if len(learned) < 2 or len(tested) < 2:
        raise InputError(f"too few {what} are within the part that is held out, or outside of it: 2 are needed of each")


_ASK_CLASSES = {"classification": _ask_classes, "roles": _ask_roles, "clustering": _ask_clusters}


# -------------------------------------------------------------------- new nodes


def _of_new_nodes(task: Task, graph: Any, classes: Any, seed: int) -> Questions:
    if isinstance(graph, Hypergraph):
        raise InputError(f"{task.name} is asked of a graph, and this is a hypergraph; there is the task tuples")
    if graph.n_nodes < 10:
        raise InputError(f"the graph has {graph.n_nodes} nodes; to hold some back as new ones, at least 10 are needed")
    known = None if classes is None else classes_of_nodes(classes, graph.nodes)
    whole_split = split_nodes(graph, 0.1, seed=seed)

    def part(key: str, base: Graph, split: NodeSplit, draw: int) -> Part:
        ask = _new_links(split, draw) if known is None else _new_classes(split, known)
        ask = _cold(task, split, classes, draw) if task.needs_attributes else ask
        return Part(f"{base.n_nodes}/{key}", split.known, ask)

    def inner(fold: int, nodes: int) -> Part:
        base = _sample(whole_split.known, nodes, seed)
        return part(str(fold), base, split_nodes(base, 0.1, seed=seed + 1 + fold), seed + 1 + fold)

    def outer(nodes: int) -> Part:
        if nodes >= graph.n_nodes:
            return part("outer", graph, whole_split, seed)
        some = _sample(graph, nodes, seed)
        new = some.nodes.find(graph.nodes.take(whole_split.new))
        new = np.sort(new[new >= 0])
        kept = np.delete(np.arange(some.n_nodes), new)
        return part("outer", some, NodeSplit(some.subgraph(kept), some, new, {}), seed)

    def turns(count: float) -> list[Part]:
        shares = _shares(whole_split.new, count)
        others = [np.setdiff1d(np.arange(graph.n_nodes), x) for x in shares]
        splits = [NodeSplit(graph.subgraph(x), graph, new, {}) for x, new in zip(others, shares, strict=True)]
        return [part(f"turn {k}", graph, x, seed + k) for k, x in enumerate(splits)]

    held = f"{len(whole_split.new):,} nodes that no candidate was chosen by, as new ones after a fit to the others"
    return Questions(task, "AUC" if known is None else "micro-F1", graph, inner, outer, False, held, turns=turns)


def _new_classes(split: NodeSplit, known: NodeClasses) -> Callable[[Any, str | None], Measurement]:
    is_new = np.isin(known.nodes_at(split.whole.nodes), split.new)
    inside = known.nodes_at(split.whole.nodes) >= 0
    learned, tested = np.flatnonzero(~is_new & inside), np.flatnonzero(is_new & inside)
    place = _order(split.whole)[known.nodes_at(split.whole.nodes)[tested]]

    def measure(model: Any, score: str | None) -> Measurement:
        _check_some(learned, tested)
        base = known_vectors(model, None, split)
        return _ask_classes(extending(model, base, model.reaches)(split), known, (learned, tested), place)

    return measure


def _cold(task: Task, split: NodeSplit, classes: Any, seed: int) -> Callable[[Any, str | None], Measurement]:
    """New nodes by their attributes alone: classes where there are any, else links."""
    inside = None if classes is None else {x: classes[x] for x in classes if x in split.whole.nodes}
    arguments: Any = {"classes": inside, "links": inside is None, "seed": seed, "baselines": False}
    return lambda model, _: _headline(task, task.measure(model, split, **arguments))


def _new_links(split: NodeSplit, seed: int) -> Callable[[Any, str | None], Measurement]:
    held = hold_out_half(split, seed=seed)
    wrong = new_node_negatives(split, held.pairs, 1, seed)
    order = _order(split.whole)
    place, of_wrong = (order[np.where(np.isin(x[:, 0], split.new), x[:, 0], x[:, 1])] for x in (held.pairs, wrong))

    def measure(model: Any, score: str | None) -> Measurement:
        placed = extending(model, known_vectors(model, None, split), model.reaches)(held.split)
        names = [score] if score else SCORES_OF_VECTORS

        def scored(name: str) -> Measurement:
            scores = pair_scores(placed, split.whole, name)
            values = [finite(scores.at(*pairs.T.copy())).astype(np.float64) for pairs in (held.pairs, wrong)]
            return _auc_measured(values[0], values[1], place, name, of_wrong)  # pairs of one new node go together

        return max(map(scored, names), key=lambda x: x.figure)

    return measure


# -------------------------------------------------------------------- tuples, and who is near whom


def _of_tuples(task: Task, graph: Hypergraph, classes: Any, seed: int) -> Questions:
    m, share = graph.n_edges, _share(graph.n_edges, "hyperedge")
    held = np.sort(np.random.default_rng(seed).choice(m, round(share * m), replace=False))

    def part(key: str, split: HyperedgeSplit, draw: int) -> Part:
        place = _order(split.train)

        def measure(model: Any, score: str | None) -> Measurement:
            right, wrong = tuples_asked(split, seed=draw)
            scores = own_scorer(model, split.train, None)
            first = np.where(right >= 0, place[right], len(place)).min(axis=1)
            return _auc_measured(scores(right), scores(wrong), first)

        return Part(key, split.train, measure)

    def inner(fold: int, nodes: int) -> Part:
        train = _sample(without_hyperedges(graph, held, {}).train, nodes, seed)
        split = split_hyperedges(train, _share(train.n_edges, "hyperedge"), seed=seed + 1 + fold)
        return part(f"{train.n_nodes}/{fold}", split, seed + 1 + fold)

    def turns(count: float) -> list[Part]:
        splits = [without_hyperedges(graph, x, {}) for x in _shares(held, count)]
        return [part(f"turn {k}", x, seed + k) for k, x in enumerate(splits)]

    words = f"{len(held):,} hyperedges that no candidate was chosen by, after a fit to the others"
    outer = lambda nodes: part("outer", without_hyperedges(graph, held, {}), seed)  # noqa: E731
    return Questions(task, "AUC", graph, inner, outer, False, words, turns=turns)


def _of_rows(task: Task, graph: Graph, classes: Any, seed: int) -> Questions:
    """Reconstruction: the neighbors of some nodes are looked for to choose, and those of others after that."""
    linked = np.random.default_rng(seed).permutation(np.flatnonzero(np.diff(graph.adjacency.indptr)))
    if len(linked) < 4:
        raise InputError(f"{len(linked)} nodes have links; to choose by some and look at others, at least 4 are needed")
    held, rest = linked[: max(2, len(linked) // 5)][:_RANKED], linked[max(2, len(linked) // 5) :]

    def part(key: str, nodes: int, rows: Ints) -> Part:
        some = _sample(graph, nodes, seed)
        at = some.nodes.find(graph.nodes.take(rows))
        at = at[at >= 0]
        at = at[(np.diff(some.adjacency.indptr) > (some.adjacency.diagonal() != 0))[at]]  # a loop is no neighbor

        def measure(model: Any, score: str | None) -> Measurement:
            _check_some(at, at, "nodes with neighbors")
            names = [score] if score else available_scores(model)
            return max((_ranked(model, some, at, name) for name in names), key=lambda x: x.figure)

        return Part(f"{some.n_nodes}/{key}", some, measure)

    def inner(fold: int, nodes: int) -> Part:
        return part(str(fold), nodes, rest[np.arange(len(rest)) % FOLDS == fold][:_RANKED])

    held_words = f"the neighbors of {len(held):,} nodes that no candidate was chosen by"
    return Questions(task, "MAP", graph, inner, lambda nodes: part("outer", nodes, held), True, held_words)


def _ranked(model: Any, graph: Graph, rows: Ints, score: str) -> Measurement:
    precisions = rank(pair_scores(model, graph, score), graph.adjacency, np.sort(rows), k=1).precisions
    return in_groups(lambda some: float(precisions[some].mean()), _order(graph)[np.sort(rows)], score)


# -------------------------------------------------------------------- every other task, as `evaluate` measures it


def _of_splits(task: Task, graph: Graph, classes: Any, seed: int) -> Questions:
    whole_split = split_edges(graph, _share(len(edge_pairs(graph)), "edge"), seed=seed)

    def part(key: str, split: EdgeSplit, draw: int) -> Part:
        one = case_of_split(task.name, split, lambda: classes or {}, {}, draw)
        return Part(key, one.graph, lambda model, _: _headline(task, one.evaluate(model, baselines=False)))

    def inner(fold: int, nodes: int) -> Part:
        train = _sample(whole_split.train, nodes, seed)
        split = split_edges(train, _share(len(edge_pairs(train)), "edge"), seed=seed + 1 + fold)
        return part(f"{train.n_nodes}/{fold}", split, seed + 1 + fold)

    held = f"{len(whole_split.test):,} edges that no candidate was chosen by, after a fit to the others"
    outer = lambda nodes: part("outer", whole_split, seed)  # noqa: E731
    return Questions(task, task.headline[0], graph, inner, outer, False, held, task.headline[0] in task.smaller)


def _of_draws(task: Task, graph: Any, classes: Any, seed: int) -> Questions:
    """Where nothing can be held out: what is drawn at random is drawn anew."""

    def part(key: str, nodes: int, draw: int) -> Part:
        some = _sample(graph, nodes, seed)
        inside = None if classes is None else {x: classes[x] for x in classes if some.nodes.find([x])[0] >= 0}
        one = case(task.name, some, lambda: inside or {}, {}, draw)
        return Part(
            f"{some.n_nodes}/{key}", one.graph, lambda model, _: _headline(task, one.evaluate(model, baselines=False))
        )

    held = "other random draws than those that chose it, of the same graph: nothing of it can be held out in this task"
    outer = lambda nodes: part("outer", nodes, seed)  # noqa: E731
    inner = lambda fold, nodes: part(str(fold), nodes, seed + 1 + fold)  # noqa: E731
    smaller = task.headline[0] in task.smaller
    return Questions(task, task.headline[0], graph, inner, outer, not task.refits, held, smaller)


def _headline(task: Task, result: Any) -> Measurement:
    name = task.headline_in(result.figures)[0]
    value = result.figures[name]
    return Measurement(-value if name in task.smaller else value, score=str(result.protocol.get("score", "")))


_MAKERS: dict[str, Callable[[Task, Any, Any, int], Questions]] = {
    "reconstruction": _of_rows,
    "classification": _of_classes,
    "clustering": _of_classes,
    "roles": _of_classes,
    "out-of-sample": _of_new_nodes,
    "cold-start": _of_new_nodes,
    "hyperedges": _of_tuples,
}
SAMPLED = ("link-prediction", "reconstruction", "classification", "clustering", "roles", "out-of-sample")
"""Tasks whose outer part can be of a part of the graph: a large one need not be made small before it is split."""
