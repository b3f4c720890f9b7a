"""How well vectors serve while their network changes: edges that came later are replayed in batches, in many ways."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from netfold.data.checks import check_at_least_one, check_choice, is_between, unique_values
from netfold.data.edges import Pairs, edge_pairs, keys_of
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.embedder.embedder import Embedder
from netfold.embedder.evolving import Evolving
from netfold.errors import InputError
from netfold.evaluate.class_tasks import MAJORITY, linear_scorer, neighbor_scorer, top_k_figures
from netfold.evaluate.classes import NodeClasses, classes_of_nodes
from netfold.evaluate.new_node_tasks import label_propagation, reached
from netfold.evaluate.pairs import separation
from netfold.evaluate.result import Result, name_of
from netfold.evaluate.scores import chosen_score, pair_scores
from netfold.evaluate.splits import NodeSplit
from netfold.evaluate.task import NORMALIZE, SCORES_OF_VECTORS

__all__ = ["REPLAY_WAYS", "replay"]

REPLAY_WAYS = ("settle", "place", "place again", "LabelProp", "warm refit", "refit", "refit, aligned")
"""In which the vectors of a network that grows are kept up; the first is the one that is asked about."""

_CPU, _ROUNDS = "CPU-s", 100


@dataclass(frozen=True, eq=False)
class _Batch:
    """Edges that come together, and the graph that there is then."""

    edges: Graph
    """The edges of the batch alone."""
    now: Graph
    """All that has come so far."""
    ahead: Pairs
    """m x 2: positions, in the whole graph, of the links of the next batch whose ends are both there."""


@dataclass(eq=False)
class _Way:
    """What a way to keep vectors up cost, and its vectors on the days that are measured."""

    seconds: float = 0.0
    vectors: list[Embedding] = field(default_factory=list)


def replay(
    model: Any,
    split: NodeSplit,
    *,
    classes: Mapping[Any, Any] | None = None,
    days: int = 10,
    every: int = 1,
    mu: float = 1.0,
    score: str | None = None,
    normalize: str = "centred",
    C: float = 3.0,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """Replay the edges that came after a fit, in `days` batches in random order, with the nodes that they bring.

    `model` was fitted to `split.known`; what `split.whole` has more comes now. Each batch is taken in by
    `Evolving.update`; on every `every`-th day (but the last, after which nothing comes) the vectors are settled
    (`Evolving.settle`, with `mu`, what came since the fit placed again) and measured. The classifier is the old one: it
    learned from the vectors of the fit and is never trained again. micro- and macro-F1 are of the new nodes that are
    there, by that classifier; AUC is of the next batch's links among nodes that are there (where it has such), scored
    above one random partner each. Both are means over the days that are measured, and CPU-s the processor time of all
    updates and trainings.

    Beside it: placing alone; placing where on each day that is measured all that came since the fit is placed again, by
    all links that it has by then; LabelProp from the vectors of the fit; a warm refit (mu = 0); new fits, as they are
    and turned into the old space (`nf.align`); and, of classes, those of most of a new node's old neighbors. Of a model
    that cannot be settled, placing is what is asked about.

    >>> import netfold as nf
    >>> split = nf.evaluate.split_nodes(nf.datasets.karate(), 5)
    >>> model = nf.LINE(dim=4, epochs=2).fit(split.known, progress=False)
    >>> sorted(replay(model, split, days=2, baselines=False).figures)
    ['AUC', 'CPU-s']
    """
    check_at_least_one(every=every)
    if days < 2:
        raise InputError(f"days={days!r} leaves no next batch to be asked about; give 2 or more")
    if not hasattr(model, "transform") or not hasattr(model, "embedding_"):
        raise InputError("replay takes in nodes day by day, which a fitted model does; give one")
    score = chosen_score("replay", model, score)
    check_choice(SCORES_OF_VECTORS, score=score)
    check_choice(NORMALIZE, normalize=normalize)
    if not is_between(C, 0, np.inf):
        raise InputError(f"C={C!r} is not a finite number above 0")
    batches = _batches(split, days, seed)
    possible = _possible(model)
    ways, asked = _replayed(model, split.known, batches, every, mu, possible if baselines else possible[:1])
    figures: dict[str, dict[str, float]] = {name: {} for name in ways}
    if classes is not None:
        of_nodes = classes_of_nodes(classes, split.whole.nodes)
        figures |= _f1(ways, asked, model.embedding_.take(split.known.nodes), of_nodes, normalize, C)
    pairs = [_pairs(split, day, [way.vectors[i] for way in ways.values()], seed) for i, day in enumerate(asked)]
    for name, way in ways.items():
        some = [(x, each) for x, each in zip(way.vectors, pairs, strict=True) if len(each[0]) and len(each[1])]
        aucs = [_auc(x, split.whole, score, *each) for x, each in some]
        figures[name] |= ({"AUC": float(np.mean(aucs))} if aucs else {}) | {_CPU: way.seconds}
    protocol: dict[str, Any] = {"way": next(iter(ways)), "days": days, "trained and measured every": every, "mu": mu}
    protocol["score"] = score
    protocol |= {"edges that came": sum(x.edges.n_edges for x in batches), "seed": seed}
    protocol |= {} if classes is None else {"classifier": "one-vs-rest logistic, of the fit's vectors", "C": C}
    own, *others = ways
    rows = {name: figures[name] for name in others}
    if classes is not None and baselines:
        rows[MAJORITY] = _by_neighbors(split.known, asked, of_nodes)
    return Result("replay", name_of(model), figures[own], protocol, rows, smaller_is_better=(_CPU,))


def _batches(split: NodeSplit, days: int, seed: int) -> list[_Batch]:
    """What came after the fit, in so many batches."""
    whole, n = split.whole, split.whole.n_nodes
    pairs, old = edge_pairs(whole), whole.positions(split.known.nodes)
    before = keys_of(old[edge_pairs(split.known)], n, directed=whole.directed)
    later = pairs[~np.isin(keys_of(pairs, n, directed=whole.directed), before)]
    if len(later) < days:
        raise InputError(f"{len(later):,} edges came after the fit, which are no {days} batches; give fewer days")
    later = later[np.random.default_rng([seed, 22]).permutation(len(later))]
    there = np.zeros(n, bool)
    there[old] = True
    cut = np.linspace(0, len(later), days + 1).astype(int)
    batches = []
    for day in range(days):
        some = later[cut[day] : cut[day + 1]]
        there[some.ravel()] = True
        ahead = later[cut[day + 1] : cut[day + 2]] if day + 2 <= days else later[:0]
        now = _with_edges(split, later[: cut[day + 1]])
        batches.append(_Batch(_alone(whole, some), now, ahead[there[ahead].all(axis=1)]))
    return batches


def _alone(whole: Graph, pairs: Pairs) -> Graph:
    """Some edges of a graph, and their ends."""
    nodes = whole.nodes
    weights = whole.adjacency[pairs[:, 0], pairs[:, 1]]
    edges = [(nodes[a], nodes[b]) for a, b in pairs.tolist()]
    return Graph.from_edges(edges, np.asarray(weights).ravel(), directed=whole.directed)


def _with_edges(split: NodeSplit, pairs: Pairs) -> Graph:
    """The known graph and some more edges of the whole one: all nodes that these have."""
    whole, base = split.whole, split.known.adjacency.tocoo()
    old = whole.positions(split.known.nodes)
    weights = np.asarray(whole.adjacency[pairs[:, 0], pairs[:, 1]]).ravel()
    row, column = [old[base.coords[0]], pairs[:, 0]], [old[base.coords[1]], pairs[:, 1]]
    data = [base.data, weights]
    if not whole.directed:
        loops = pairs[:, 0] == pairs[:, 1]
        row, column, data = [*row, pairs[~loops, 1]], [*column, pairs[~loops, 0]], [*data, weights[~loops]]
    ends = tuple(np.concatenate(x) for x in (row, column))
    matrix = sparse.csr_array((np.concatenate(data), ends), shape=whole.adjacency.shape)
    there = unique_values(np.concatenate([old, pairs.ravel()]))
    kept = sparse.csr_array(matrix[there][:, there])
    kept.sort_indices()
    return Graph(kept, whole.nodes.take(there), directed=whole.directed)


def _possible(model: Any) -> tuple[str, ...]:
    """The ways that there are for a model."""
    none = set() if type(model)._codes is not Embedder._codes else {"settle", "warm refit"}
    none |= {"refit", "refit, aligned"} if model.extends else set()
    return tuple(way for way in REPLAY_WAYS if way not in none)


def _replayed(
    model: Any, known: Graph, batches: list[_Batch], every: int, mu: float, names: tuple[str, ...]
) -> tuple[dict[str, _Way], list[_Batch]]:
    """Let every way take in all batches up to the last that is measured; and those that are measured."""
    days = [day for day in range(1, len(batches)) if day % every == 0]
    if not days:
        raise InputError(f"every={every!r} leaves no day to be measured before the last of {len(batches)}; give less")
    trainings: dict[str, Callable[[Evolving, Graph], Any]] = {
        "settle": lambda stream, now: stream.settle(now, mu=mu, again=True),
        "place": lambda stream, now: None,
        "place again": lambda stream, now: stream.update(again=True),
        "warm refit": lambda stream, now: stream.settle(now, mu=0.0),
        "refit": lambda stream, now: stream.refit(now, align=False),
        "refit, aligned": lambda stream, now: stream.refit(now),
    }
    measured = [batches[day - 1] for day in days]
    placing, begun = Evolving(model), time.process_time()
    for batch in batches[: days[0]]:  # up to the first training all ways are placing
        placing.update(batch.edges)
    shared = time.process_time() - begun
    ways: dict[str, _Way] = {}
    for name in names:
        if name == "LabelProp":
            ways[name] = _propagated(model, known, measured)
            continue
        stream, ways[name] = placing.branch(), _Way(shared)
        for day, batch in enumerate(batches[: days[-1]], 1):
            begun = time.process_time()
            if day > days[0]:
                stream.update(batch.edges)
            if day in days:
                trainings[name](stream, batch.now)
                ways[name].vectors.append(stream.embedding_)
            ways[name].seconds += time.process_time() - begun
    return ways, measured


def _propagated(model: Any, known: Graph, days: list[_Batch]) -> _Way:
    """LabelProp from the vectors of the fit, on each day for all that has come."""
    begun, own, vectors = time.process_time(), model.embedding_.take(known.nodes), []
    for day in days:
        new = np.flatnonzero(known.nodes.find(day.now.nodes) < 0)
        placed = label_propagation(NodeSplit(known, day.now, new, {}), model) if len(new) else own.take([])
        both = np.concatenate([own.vectors, placed.vectors])
        vectors.append(Embedding(Nodes.of([*own.nodes, *placed.nodes]), both))
    return _Way(time.process_time() - begun, vectors)


def _f1(
    ways: Mapping[str, _Way], days: list[_Batch], fitted: Embedding, classes: NodeClasses, normalize: str, C: float
) -> dict[str, dict[str, float]]:
    """F1 of new nodes by the classifier of the fit's vectors, the mean over days; it learns once for all ways.

    A node that no path leads to from an old one has no vector after placing: it is at the mean of the fit's.
    """
    known = np.array([node in fitted for node in classes.nodes])
    learned = [node for node, is_known in zip(classes.nodes, known, strict=True) if is_known]
    place = {node: i for i, node in enumerate(classes.nodes)}
    come = [[x for x in day.now.nodes if x in place and not known[place[x]]] for day in days]
    if not learned or not any(come):
        raise InputError("classes name no old node, or none that comes; both are needed: leave them out, or give both")
    rows, truth = [fitted[learned].astype(np.float64)], [classes.indicator[known]]
    for way in ways.values():
        for vectors, new in zip(way.vectors, come, strict=True):
            at = vectors.nodes.find(new)
            rows.append(np.where((at >= 0)[:, None], vectors.vectors[at], fitted.center).astype(np.float64))
            truth.append(classes.indicator[[place[x] for x in new]])
    cuts = np.cumsum([len(x) for x in rows])
    scorer = linear_scorer(np.concatenate(rows), "logistic", normalize, C)
    scores = scorer(truth[0], np.arange(cuts[0]), np.arange(cuts[0], cuts[-1]))
    parts = list(zip(np.split(scores, cuts[1:-1] - cuts[0]), truth[1:], strict=True))
    figures = {}
    for i, name in enumerate(ways):
        own = parts[i * len(days) : (i + 1) * len(days)]
        of_days = [top_k_figures(*part) for part in own if len(part[0])]
        figures[name] = {x: float(np.mean([day[x] for day in of_days])) for x in of_days[0]}
    return figures


def _by_neighbors(known: Graph, days: list[_Batch], classes: NodeClasses) -> dict[str, float]:
    """F1 of new nodes by the classes of most of their old neighbors, which needs no vectors: the mean over days."""
    begun, of_days = time.process_time(), []
    is_old = known.nodes.find(classes.nodes) >= 0
    for day in days:
        there = np.flatnonzero(day.now.nodes.find(classes.nodes) >= 0)
        learned, tested = np.flatnonzero(is_old[there]), np.flatnonzero(~is_old[there])
        truth = classes.indicator[there]
        scores = neighbor_scorer(day.now, [classes.nodes[i] for i in there.tolist()])(truth[learned], learned, tested)
        of_days += [top_k_figures(scores, truth[tested])] if len(tested) else []
    return {x: float(np.mean([day[x] for day in of_days])) for x in of_days[0]} | {_CPU: time.process_time() - begun}


def _pairs(split: NodeSplit, day: _Batch, ways: list[Embedding], seed: int) -> tuple[Pairs, Pairs]:
    """Links of the next batch between nodes that a path leads to from an old one by that day, and of each the first end
    with a random such node that it has no link with: m x 2 positions in the whole graph. All these have vectors in
    every way, so that it does not matter which ways are asked about."""
    whole, now = split.whole, day.now
    rng, n, directed = np.random.default_rng([seed, 23]), whole.n_nodes, whole.directed
    new = np.flatnonzero(split.known.nodes.find(now.nodes) < 0)
    lost = new[~reached(NodeSplit(split.known, now, new, {}))]
    has = np.all([x.nodes.find(whole.nodes) >= 0 for x in ways], axis=0)
    has[whole.positions([now.nodes[i] for i in lost.tolist()])] = False
    right, there = day.ahead[has[day.ahead].all(axis=1)], np.flatnonzero(has)
    taken, wrong, left = keys_of(edge_pairs(whole), n, directed=directed), right.copy(), np.arange(len(right))
    for _ in range(_ROUNDS):
        wrong[left, 1] = rng.choice(there, len(left))
        drawn = wrong[left]
        left = left[(drawn[:, 0] == drawn[:, 1]) | np.isin(keys_of(drawn, n, directed=directed), taken)]
        if not len(left):
            break
    return right, np.delete(wrong, left, axis=0)


def _auc(vectors: Embedding, whole: Graph, score: str, right: Pairs, wrong: Pairs) -> float:
    """How often a pair of the first is scored above one of the second."""
    at, n = vectors.nodes.find(whole.nodes), len(vectors)
    empty = sparse.csr_array(sparse.coo_array(([], ([], [])), shape=(n, n), dtype=np.float32))
    bare = Graph(empty, vectors.nodes, directed=whole.directed)
    scores = pair_scores(vectors, bare, score)  # which do not read links
    return separation(*(scores.at(*at[pairs].T.copy()).numpy() for pairs in (right, wrong)))["AUC"]
