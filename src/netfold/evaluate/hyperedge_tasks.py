"""Hyperedges held out, and whether a score tells them from other tuples of the same types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import Floats, check_at_least_one, check_choice, is_between
from netfold.data.hypergraph import Hypergraph
from netfold.data.text import type_in_words
from netfold.errors import InputError, renamed
from netfold.evaluate.negatives import SAMPLER_WORDS, all_negatives, negatives_drawn_for, sampled_negatives
from netfold.evaluate.pairs import separation
from netfold.evaluate.result import CpuSeconds, Result, embedding_of, facts_in_words, name_of
from netfold.evaluate.task import AGGREGATES, SAMPLERS
from netfold.evaluate.tuples import Codes, Order, TupleIndex, coded_edges, coded_like, decoded, stacked

__all__ = [
    "HyperedgeSplit",
    "cheap_scorers",
    "cosine_scores",
    "counts_regression",
    "held_out_hyperedges",
    "hyperedges",
    "own_scorer",
    "split_hyperedges",
    "tuple_counts",
    "tuples_asked",
    "without_hyperedges",
]


@dataclass(frozen=True, eq=False, repr=False)
class HyperedgeSplit:
    """A hypergraph to learn from, and hyperedges among its nodes to be asked about."""

    train: Hypergraph
    """All nodes, and the hyperedges that are left."""
    test: Any
    """A `Hypergraph` of the others, or tuples of nodes."""
    protocol: Mapping[str, Any]
    """How those were chosen."""

    @cached_property
    def figures(self) -> dict[str, int]:
        """How many hyperedges are asked about, how many of those are not known too, and how many nodes lost theirs."""
        rows, known = coded_like(self.train, self.test), coded_edges(self.train)
        seen = TupleIndex(known, self.train.n_nodes, Order(self.train)).holds(rows)
        alone = np.setdiff1d(rows[rows >= 0], known)
        return {"test hyperedges": len(rows), "unseen": int((~seen).sum()), "nodes left in none": len(alone)}

    def __repr__(self) -> str:
        facts, protocol = facts_in_words(self.figures), facts_in_words(self.protocol)
        return f"HyperedgeSplit: {self.train} to learn from\n{facts}\nprotocol: {protocol}"


@renamed(hidden="held_out")
def split_hyperedges(hypergraph: Hypergraph, held_out: float = 0.2, *, seed: int = 0) -> HyperedgeSplit:
    """Hold out a random share of the hyperedges; all nodes stay.

    A hyperedge that is there twice can be held out once and known once: it is then no question, and
    `held_out_hyperedges` gives the figures of those that were never seen apart.

    >>> split_hyperedges(Hypergraph.from_tuples([(i, i + 1, i + 2) for i in range(10)]), 0.3)
    HyperedgeSplit: Hypergraph(12 nodes, 7 edges) to learn from
    test hyperedges 3; unseen 3; nodes left in none 1
    protocol: held out 0.3; seed 0
    """
    if not is_between(held_out, 0, 1):
        raise InputError(f"held_out={held_out!r} is no share of the hyperedges; give a number between 0 and 1")
    m, count = hypergraph.n_edges, round(held_out * hypergraph.n_edges)
    if not 0 < count < m:
        what = f"held_out={held_out:g} holds out {count:,} of {m:,} hyperedges"
        raise InputError(f"{what}; hold out some, and leave some")
    chosen = np.random.default_rng(seed).choice(m, count, replace=False)
    return without_hyperedges(hypergraph, chosen, {"held out": float(held_out), "seed": seed})


def without_hyperedges(hypergraph: Hypergraph, held: Codes, protocol: dict[str, Any]) -> HyperedgeSplit:
    """Hold out the hyperedges of these numbers; all nodes stay."""
    chosen = np.zeros(hypergraph.n_edges, bool)
    chosen[held] = True
    return HyperedgeSplit(_with_edges(hypergraph, ~chosen), _with_edges(hypergraph, chosen), protocol)


def _with_edges(whole: Hypergraph, chosen: npt.NDArray[np.bool_]) -> Hypergraph:
    """The same nodes, and some of the hyperedges."""
    numbered = zip(whole.kinds, whole.edge_numbers(), strict=True)
    kinds = [(kind.roles, kind.types, kind.rows[chosen[numbers]]) for kind, numbers in numbered]
    same: Any = {"node_types": whole.type_codes, "types": whole.types, "attributes": whole.attributes}
    return Hypergraph.from_kinds(kinds, nodes=whole.nodes, **same)


def held_out_hyperedges(
    model: Any,
    split: HyperedgeSplit,
    *,
    negatives: Any = "replaced",
    per_positive: int = 5,
    aggregate: str | None = None,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """AUC and average precision of held-out hyperedges that were never seen, as `hyperedges` has them.

    Where some of the held-out ones are known too, "AUC with seen" and "AP with seen" are of all of them, each as often
    as it was held out. `model` was fitted to `split.train`.
    """
    if not split.figures["unseen"]:
        count = split.figures["test hyperedges"]
        raise InputError(f"each of the {count:,} test hyperedges is known too, so that there is nothing to be found")
    options: dict[str, Any] = {"negatives": negatives, "per_positive": per_positive, "aggregate": aggregate}
    options |= {"known": split.train, "seed": seed, "baselines": baselines}
    unseen = hyperedges(model, split.test, **options)
    figures, cheap = dict(unseen.figures), {name: dict(row) for name, row in unseen.baselines.items()}
    if split.figures["unseen"] < split.figures["test hyperedges"]:
        every = hyperedges(model, split.test, duplicates="keep", **options)
        figures |= _with_seen(every.figures)
        cheap = {name: row | _with_seen(every.baselines[name]) for name, row in cheap.items()}
    protocol = {**split.protocol, **unseen.protocol}
    return Result("hyperedges", unseen.name, figures, protocol, cheap, seconds=unseen.seconds)


def _with_seen(figures: Mapping[str, float]) -> dict[str, float]:
    return {f"{name} with seen": x for name, x in figures.items()}


TupleScores = Callable[[Codes], Floats]
"""From the rows of m tuples to m scores."""

_BLOCK = 1 << 15
"""Tuples whose vectors are looked at together."""


def own_scorer(model: Any, known: Hypergraph, aggregate: str | None) -> TupleScores:
    """The model's own scores of tuples of `known`'s nodes or, with `aggregate` or where it has none, of its vectors."""
    if aggregate is None and hasattr(model, "score"):
        return lambda rows: _checked(model.score(decoded(rows, known.nodes)), len(rows), model)
    embedding = embedding_of(model)
    embedding.nodes.positions(known.nodes)
    return lambda rows: cosine_scores(rows, embedding[known.nodes], aggregate or "mean")


def cosine_scores(rows: Codes, vectors: npt.ArrayLike, aggregate: str = "mean") -> Floats:
    """The mean or the least cosine over the pairs of each tuple; a vector of zeros has the cosine 0 to all.

    >>> cosine_scores(np.array([[0, 1, 2]]), [[1, 0], [2, 0], [0, 1]], "min").tolist()
    [0.0]
    """
    doubles = np.asarray(vectors, np.float64)
    length = np.linalg.norm(doubles, axis=1, keepdims=True)
    unit = doubles / np.where(length > 0, length, 1)
    least, total, count = np.full(len(rows), np.inf), np.zeros(len(rows)), np.zeros(len(rows))
    for at, u, v in _pairs(rows):
        cosine = np.concatenate([np.empty(0), *(_products(unit, u[i], v[i]) for i in _parts(len(u)))])
        least[at] = np.minimum(least[at], cosine)
        total[at] += cosine
        count[at] += 1
    return least if aggregate == "min" else total / count


def cheap_scorers(
    known: Hypergraph, *, negatives: str = "replaced", seed: int = 0, unseen: bool = True
) -> dict[str, TupleScores]:
    """Σ log(1 + count) over the pairs of a tuple, in how many hyperedges two nodes are together; Σ log(1 + degree)
    over its nodes, in how many hyperedges each is; and `counts_regression` of both."""
    together = _entries(known.adjacency())
    degrees = np.log1p(known.degrees.astype(np.float64))

    def cooccurrence(rows: Codes) -> Floats:
        total = np.zeros(len(rows))
        for at, u, v in _pairs(rows):
            total[at] += np.log1p(together(u, v))
        return total

    def sizes(rows: Codes) -> Floats:
        total: Floats = np.where(rows >= 0, degrees[rows], 0).sum(axis=1)
        return total

    learned = counts_regression(known, negatives, seed, unseen=unseen)
    return {"pair co-occurrence": cooccurrence, "log degrees": sizes, "pair counts and degrees": learned}


_MOST_LEARNED = 20_000
"""Hyperedges that the regression learns from."""
_FEWEST_LEARNED = 50
"""Tuples of a pattern of types, below which it is learned together with the others."""
_PER_POSITIVE = 5
_MOST_MULTIPLIED = 10
"""Columns, as those of a tuple of four, up to which products of two of them are columns too."""


def counts_regression(known: Hypergraph, negatives: str, seed: int, *, unseen: bool = True) -> TupleScores:
    """Logistic regression on log(1 + count) of each pair, log(1 + degree) of each node (`tuple_counts`), and products.

    It learns from the known hyperedges against five tuples for each that are none, drawn as those asked about are.
    Where hyperedges that are `unseen` will be asked about, one is left out of its own counts and of those of what was
    drawn for it: to count it for the latter alone would teach that pairs which meet are a bad sign. Each pattern of
    types has its own; those of few tuples share one of the least count, the mean count and the mean degree.
    """

    @cache  # learned when a tuple is to be scored
    def fitted() -> tuple[dict[tuple[int, ...], Any], Any]:
        right, times = _distinct(coded_edges(known))
        chosen = np.random.default_rng(seed).permutation(len(right))[:_MOST_LEARNED]
        right, times = right[chosen], times[chosen]
        truth = TupleIndex(coded_edges(known), known.n_nodes, Order(known))
        wrong, owner = negatives_drawn_for(negatives, right, known, truth, _PER_POSITIVE, seed)
        rows, labels = np.concatenate([right, wrong]), np.repeat([True, False], [len(right), len(wrong)])
        made_of = np.concatenate([np.arange(len(right)), owner])
        columns, patterns = tuple_counts(known, rows, (right[made_of], times[made_of]) if unseen else None)
        own = {
            pattern: _logistic(columns[at], labels[at])
            for pattern, at in _by_pattern(patterns)
            if min(labels[at].sum(), (~labels[at]).sum()) >= _FEWEST_LEARNED
        }
        some = min(labels.sum(), (~labels).sum()) > 0
        return own, _logistic(_few_numbers(columns, patterns), labels) if some else None

    def scores(rows: Codes) -> Floats:
        own, shared = fitted()
        columns, patterns = tuple_counts(known, rows)
        values = np.zeros(len(rows))
        for pattern, at in _by_pattern(patterns):
            if pattern in own:
                values[at] = own[pattern](columns[at])
            elif shared is not None:
                values[at] = shared(_few_numbers(columns[at], patterns[at]))
        return values

    return scores


def tuple_counts(known: Hypergraph, rows: Codes, without: tuple[Codes, Codes] | None = None) -> tuple[Floats, Codes]:
    """log(1 + count) of each two nodes of tuples and log(1 + degree) of each, and the tuples' types: m x f, m x w.

    The nodes of a tuple stand in the order of their types and then of their degrees, the largest first. `without`: of
    each tuple a hyperedge (m x w) that is not counted, and how often it is there (m). Where a tuple is shorter, 0
    (types: -1).
    """
    width, degrees = rows.shape[1], known.degrees
    types = np.where(rows >= 0, known.type_codes[rows], len(known.types))
    order = np.lexsort((-degrees[rows], types), axis=1)
    rows, types = np.take_along_axis(rows, order, axis=1), np.take_along_axis(types, order, axis=1)
    less = np.zeros(rows.shape)
    if without is not None:
        less += (rows[:, :, None] == without[0][:, None, :]).any(axis=2) * without[1][:, None]
    together = _entries(known.adjacency())
    pairs = list(combinations(range(width), 2))
    columns = np.zeros((len(rows), len(pairs) + width))
    for c, (a, b) in enumerate(pairs):
        at = np.flatnonzero(rows[:, b] >= 0)  # b is the later one
        left = together(rows[at, a], rows[at, b]) - np.minimum(less[at, a], less[at, b])
        columns[at, c] = np.log1p(np.maximum(left, 0))
    columns[:, len(pairs) :] = np.where(rows >= 0, np.log1p(np.maximum(degrees[rows] - less, 0)), 0)
    return columns, np.where(rows >= 0, types, -1)


def _distinct(rows: Codes) -> tuple[Codes, Codes]:
    """Each tuple once, whatever the order of its nodes, and how often it is there."""
    _, first, times = np.unique(np.sort(rows, axis=1), axis=0, return_index=True, return_counts=True)
    return rows[first], times


def _by_pattern(patterns: Codes) -> Iterator[tuple[tuple[int, ...], Codes]]:
    """Each pattern of types, and the rows that have it."""
    different, codes = np.unique(patterns, axis=0, return_inverse=True)
    for i, pattern in enumerate(different.tolist()):
        yield tuple(pattern), np.flatnonzero(codes.ravel() == i)


def _few_numbers(columns: Floats, patterns: Codes) -> Floats:
    """The least and the mean count of the pairs of a tuple, and the mean of its degrees."""
    width = patterns.shape[1]
    sizes = (patterns >= 0).sum(axis=1)
    pairs, degrees = np.split(columns, [columns.shape[1] - width], axis=1)
    there = np.stack([patterns[:, b] >= 0 for _, b in combinations(range(width), 2)], axis=1)
    least = np.where(there, pairs, np.inf).min(axis=1)
    return np.stack([least, pairs.sum(axis=1) / there.sum(axis=1), degrees.sum(axis=1) / sizes], axis=1)


def _logistic(x: Floats, y: npt.NDArray[np.bool_]) -> Callable[[Floats], Floats]:
    """The log-odds that logistic regression gives to others: of columns of deviation 1 and, of up to 10, products."""
    import torch

    from netfold.learn.solvers import logistic_regression

    def wide(columns: Floats) -> Floats:
        some = columns.shape[1] if columns.shape[1] <= _MOST_MULTIPLIED else 0
        i, j = np.triu_indices(some)
        return np.hstack([columns, columns[:, i] * columns[:, j]])

    first = _standardized(x)
    second = _standardized(wide(first(x)))
    columns = torch.from_numpy(second(wide(first(x))))
    weights, bias = logistic_regression(columns, torch.from_numpy(y), ridge=1.0)
    return lambda others: np.asarray(second(wide(first(others))) @ weights.numpy() + float(bias), np.float64)


def _standardized(x: Floats) -> Callable[[Floats], Floats]:
    """What brings these columns to mean 0 and deviation 1, those that do not vary to 0."""
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    return lambda others: (others - mean) / np.where(deviation > 0, deviation, 1)


def _entries(matrix: sparse.csr_array) -> Callable[[Codes, Codes], Floats]:
    """The entries of a matrix at some pairs of row and column, 0 where there is none."""
    entries, n = matrix.tocoo(), matrix.shape[1]
    keys = entries.coords[0].astype(np.int64) * n + entries.coords[1]
    order = np.argsort(keys)
    sorted_keys, values = np.append(keys[order], -1), np.append(entries.data[order], 0).astype(np.float64)

    def at(rows: Codes, columns: Codes) -> Floats:
        place = np.searchsorted(sorted_keys[:-1], rows * n + columns)
        return np.where(sorted_keys[place] == rows * n + columns, values[place], 0)

    return at


def _pairs(rows: Codes) -> Iterator[tuple[npt.NDArray[np.int64], Codes, Codes]]:
    """For each two columns: the tuples that are so long, and their nodes there."""
    for a, b in combinations(range(rows.shape[1]), 2):
        at = np.flatnonzero(rows[:, b] >= 0)  # b is the later one
        yield at, rows[at, a], rows[at, b]


def _parts(m: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, m, _BLOCK))


def _products(unit: Floats, u: Codes, v: Codes) -> Floats:
    products: Floats = np.einsum("ij,ij->i", unit[u], unit[v])
    return products


def _checked(scores: Any, m: int, model: Any) -> Floats:
    values = np.asarray(scores, np.float64)
    if values.shape != (m,) or not np.isfinite(values).all():
        what = f"{type(model).__name__}.score gave an array of shape {values.shape}"
        raise InputError(f"{what} for {m:,} tuples; one finite number for each is needed")
    return values


_DUPLICATES = ("drop", "keep")


def hyperedges(
    model: Any,
    test: Any,
    *,
    known: Hypergraph,
    negatives: Any = "replaced",
    per_positive: int = 5,
    duplicates: str = "drop",
    aggregate: str | None = None,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """AUC and average precision (AP) of the scores of hyperedges, `test`, against tuples that are none.

    `model` has `score(tuples)`, a number for each tuple of nodes, or vectors: then a tuple's score is the `aggregate`,
    "mean" or "min", of the cosines of its pairs (as it is for a model that has both, where `aggregate` is given).
    `known` is the hypergraph that it was learned from, with every node of `test` and their types; `test` a `Hypergraph`
    or tuples of nodes. Tuples of the same nodes are one hyperedge, in whatever order they name them, unless nodes of
    one type have roles of their own in `known`: (head, relation, tail) is not (tail, relation, head).

    `negatives`: "replaced", one position (two in a tenth of the cases) gets a random node of its type, `per_positive`
    for each hyperedge; "uniform", every position does; "all", every other tuple of the same types; or tuples, of which
    those that are hyperedges are left out. None is a hyperedge of `known` or `test`.

    `duplicates`: "drop" the hyperedges of `test` that are in `known`, and all but one of equal ones; or "keep" them, as
    for the reconstruction of `known` (`test=known`). The protocol counts both.

    The baselines are Σ log(1 + count) over the pairs of a tuple, in how many hyperedges of `known` they are together,
    Σ log(1 + degree) over its nodes, and logistic regression of these counts (`counts_regression`).

    >>> from netfold.data.embedding import Embedding
    >>> known = Hypergraph.from_tuples([("ann", "film"), ("bob", "book")])
    >>> vectors = Embedding(["ann", "film", "bob", "book"], [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> hyperedges(vectors, known, known=known, duplicates="keep", baselines=False).figures
    {'AUC': 1.0, 'AP': 1.0}
    """
    _check(known, negatives, duplicates, aggregate)
    check_at_least_one(per_positive=per_positive)
    score = own_scorer(model, known, aggregate)
    test_rows, known_rows, order = coded_like(known, test), coded_edges(known), Order(known)
    seen = TupleIndex(known_rows, known.n_nodes, order).holds(test_rows)
    first = TupleIndex(test_rows, known.n_nodes, order).first
    positives = test_rows if duplicates == "keep" else test_rows[first & ~seen]
    if not len(positives):
        raise InputError(f"none of {len(test_rows):,} test hyperedges is new; duplicates='keep' takes known ones")
    truth = TupleIndex(stacked(known_rows, test_rows), known.n_nodes, order)
    wrong, chosen = _negatives(negatives, positives, known, truth, per_positive, seed)
    drawn = negatives if isinstance(negatives, str) and negatives != "all" else "replaced"
    unseen = duplicates == "drop"
    cheap = cheap_scorers(known, negatives=drawn, seed=seed, unseen=unseen) if baselines else {}
    protocol = {"positives": len(positives), "negatives": chosen, "count of negatives": len(wrong)}
    protocol |= {f"in the training data ({duplicates})": int(seen.sum())}
    protocol |= {f"repeated in the test data ({duplicates})": int((~first & ~seen).sum())}
    spent, others = CpuSeconds(), dict[str, dict[str, float]]()
    for name, scorer in cheap.items():
        with spent.of(name):
            others[name] = separation(scorer(positives), scorer(wrong))
    return Result(
        "hyperedges",
        name_of(model),
        separation(score(positives), score(wrong)),
        protocol | _how(model, aggregate) | {"seed": seed},
        others,
        seconds=spent,
    )


def tuples_asked(split: HyperedgeSplit, *, per_positive: int = 5, seed: int = 0) -> tuple[Codes, Codes]:
    """The held-out hyperedges that were never seen, each once, and tuples that are none, as `hyperedges` draws them."""
    known = split.train
    test_rows, known_rows, order = coded_like(known, split.test), coded_edges(known), Order(known)
    seen = TupleIndex(known_rows, known.n_nodes, order).holds(test_rows)
    positives = test_rows[TupleIndex(test_rows, known.n_nodes, order).first & ~seen]
    if not len(positives):
        raise InputError(f"each of the {len(test_rows):,} held-out hyperedges is known too; there is nothing to find")
    truth = TupleIndex(stacked(known_rows, test_rows), known.n_nodes, order)
    return positives, _negatives("replaced", positives, known, truth, per_positive, seed)[0]


def _negatives(
    negatives: Any, positives: Codes, known: Hypergraph, truth: TupleIndex, per_positive: int, seed: int
) -> tuple[Codes, str]:
    """Tuples that are no hyperedges, and how the protocol calls them."""
    if isinstance(negatives, str) and negatives == "all":
        rows, words = all_negatives(positives, known, truth), SAMPLER_WORDS[negatives]
    elif isinstance(negatives, str):
        rows = sampled_negatives(negatives, positives, known, truth, per_positive, seed)
        words = f"{negatives}: {SAMPLER_WORDS[negatives]}, {per_positive} per positive"
    else:
        listed = coded_like(known, negatives)
        false = truth.holds(listed)
        rows, words = listed[~false], f"as given, {false.sum():,} of {len(listed):,} left out as they are hyperedges"
    if not len(rows):
        raise InputError("no tuple was found that is not a hyperedge; give others as negatives")
    return rows, words


def _how(model: Any, aggregate: str | None) -> dict[str, str]:
    own = aggregate is None and hasattr(model, "score")
    return {"score": "the model's own" if own else f"{aggregate or 'mean'} of the cosines of pairs"}


def _check(known: Any, negatives: Any, duplicates: Any, aggregate: Any) -> None:
    if not isinstance(known, Hypergraph):
        raise InputError(f"known is {type_in_words(known)}; give a Hypergraph, such as Hypergraph.from_tuples makes")
    if isinstance(negatives, str) and negatives not in SAMPLERS:
        raise InputError(f"negatives={negatives!r} is not one of {', '.join(SAMPLERS)}, nor a list of tuples")
    check_choice(_DUPLICATES, duplicates=duplicates)
    if aggregate is not None:
        check_choice(AGGREGATES, aggregate=aggregate)
