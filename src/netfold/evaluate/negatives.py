"""Pairs that are no edges and tuples that are no hyperedges, to test scores against; the choice moves an AUC by .1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import check_choice, is_whole, unique_values
from netfold.data.edges import Pairs, edge_pairs, keys_of, pairs_of
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.text import counted
from netfold.errors import InputError
from netfold.evaluate.result import facts_in_words
from netfold.evaluate.task import NEGATIVES
from netfold.evaluate.tuples import Codes, Order, TupleIndex

__all__ = [
    "SAMPLER_WORDS",
    "Negatives",
    "all_negatives",
    "negatives_drawn_for",
    "sample_negatives",
    "sampled_negatives",
    "sides_in_words",
]


_ALL = 50_000_000
"""The most pairs that kind="all" makes."""
_FEW = 1_000_000
"""Up to so many pairs of nodes, the non-edges are listed and drawn from."""
_BLOCK = 1 << 24
"""Pairs that are looked at together."""
_TRIES = 200

Keys = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Negatives:
    """Pairs of nodes without an edge, each once."""

    pairs: Pairs
    """m x 2 positions; of an undirected graph, the lower first."""
    kind: str
    """The rule that they were drawn by."""
    protocol: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Negatives({counted(len(self.pairs), 'pair')})\nprotocol: {facts_in_words(self.protocol)}"


def sample_negatives(
    graph: Any, count: int | None = None, *, kind: str = "uniform", exclude: Any = None, seed: int = 0
) -> Negatives:
    """Pairs of two different nodes without an edge (and not among the pairs `exclude`, m x 2 positions), each once.

    `kind`: `uniform`, every such pair as likely as another; `degree`, ends drawn in proportion to their degrees (out-
    and in-degree where directed), as the ends of edges are; `all`, every one of them, without a `count`. Pairs are
    unordered in an undirected graph, ordered in a directed one; of a bipartite graph (`Graph.sides`) they are between
    the sides, as its edges are.

    >>> sample_negatives([("a", "b"), ("b", "c"), ("c", "d")], kind="all").pairs.tolist()
    [[0, 2], [0, 3], [1, 3]]
    """
    known = Graph.of(graph)
    check_choice(NEGATIVES, kind=kind)
    space = _Space(known, exclude)
    between = {} if known.sides is None else {"bipartite": sides_in_words(known)}
    protocol: dict[str, Any] = {"negatives": kind, **between, "seed": seed}
    if kind == "all":
        if count is not None:
            raise InputError(f"kind='all' takes every pair that is no edge; leave out count={count!r}")
        if space.left > _ALL:
            raise InputError(f"{space.left:,} pairs are no edges, above {_ALL:,}; draw some with kind='uniform'")
        return Negatives(pairs_of(space.listed(), space.n), kind, {"negatives": kind, **between})
    _check_count(count, space.left)
    assert count is not None
    rng = np.random.default_rng(seed)
    drawn = _uniform(space, count, rng) if kind == "uniform" else _by_degree(space, known, count, rng)
    return Negatives(pairs_of(drawn, space.n), kind, protocol)


def sides_in_words(graph: Graph) -> str:
    """What a protocol says of a bipartite graph.

    >>> sides_in_words(Graph.from_edges([("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 2)]))
    'pairs between the sides alone (3 and 2 nodes)'
    """
    assert graph.sides is not None
    left, right = ((graph.sides == side).sum() for side in (0, 1))
    return f"pairs between the sides alone ({left:,} and {right:,} nodes)"


class _Space:
    """The pairs of two different nodes, less those that are taken and, of a bipartite graph, those of one side."""

    def __init__(self, graph: Graph, exclude: Any):
        self.n, self.directed, self.sides = graph.n_nodes, graph.directed, graph.sides
        pairs = (
            edge_pairs(graph) if exclude is None else np.concatenate([edge_pairs(graph), _as_pairs(exclude, self.n)])
        )
        if self.sides is not None:
            pairs = pairs[_across(self.sides, *pairs.T)]
        self.taken = unique_values(keys_of(pairs, self.n, directed=self.directed))
        self.size = self._size()
        self.left = self.size - len(self.taken)

    def _size(self) -> int:
        if self.sides is None:
            return self.n * (self.n - 1) // (1 if self.directed else 2)
        left, right = (int((self.sides == side).sum()) for side in (0, 1))
        return left * right * (2 if self.directed else 1)

    def ends(self, count: int, rng: np.random.Generator) -> tuple[Keys, Keys]:
        """Two random nodes, so many times: of a bipartite graph one from each side, in either order."""
        if self.sides is None:
            u, v = rng.integers(self.n, size=(2, count))
            return u, v
        left, right = (rng.choice(np.flatnonzero(self.sides == side), count) for side in (0, 1))
        turned = rng.random(count) < 0.5
        return np.where(turned, right, left), np.where(turned, left, right)

    def listed(self) -> Keys:
        """The keys of all pairs that are left, in order, from blocks of rows."""
        n, parts = self.n, [np.empty(0, np.int64)]
        step = max(1, _BLOCK // max(n, 1))
        for start in range(0, n, step):
            rows = np.arange(start, min(start + step, n))
            free = np.ones((len(rows), n), dtype=bool) if self.directed else np.arange(n) > rows[:, None]
            free[rows - start, rows] = False
            if self.sides is not None:
                free &= _across(self.sides, rows[:, None], np.arange(n))
            ends = np.searchsorted(self.taken, [start * n, (rows[-1] + 1) * n])
            free.ravel()[self.taken[slice(*ends)] - start * n] = False
            parts.append(np.flatnonzero(free) + start * n)
        return np.concatenate(parts)

    def fresh(self, u: Keys, v: Keys, drawn: Keys) -> Keys:
        """The keys drawn before and those of the new pairs that are left, each once, in the order of drawing."""
        pairs = np.stack([u, v], axis=1)[u != v if self.sides is None else _across(self.sides, u, v)]
        keys = keys_of(pairs, self.n, directed=self.directed)
        at = np.searchsorted(self.taken, keys)
        free = np.ones(len(keys), dtype=bool)
        free[at < len(self.taken)] = self.taken[at[at < len(self.taken)]] != keys[at < len(self.taken)]
        every = np.concatenate([drawn, keys[free]])
        return every[np.sort(np.unique(every, return_index=True)[1])]


def _across(sides: npt.NDArray[np.int8], u: Any, v: Any) -> npt.NDArray[np.bool_]:
    """Whether two nodes are on different sides."""
    across: npt.NDArray[np.bool_] = sides[u] + sides[v] == 1  # -1 is no side
    return across


def _uniform(space: _Space, count: int, rng: np.random.Generator) -> Keys:
    if space.size <= _FEW or 2 * max(count, len(space.taken)) > space.left:
        return rng.choice(space.listed(), count, replace=False)
    drawn = np.empty(0, np.int64)
    while len(drawn) < count:
        drawn = space.fresh(*space.ends(count + 1000, rng), drawn)
    return drawn[:count]


def _by_degree(space: _Space, graph: Graph, count: int, rng: np.random.Generator) -> Keys:
    ends = edge_pairs(graph) if graph.directed else np.concatenate([edge_pairs(graph), edge_pairs(graph)[:, ::-1]])
    if space.size <= _FEW:
        return _weighted(space, ends, count, rng)
    drawn = np.empty(0, np.int64)
    for _ in range(_TRIES):
        u, v = (side[rng.integers(len(side), size=count + 1000)] for side in ends.T)  # an edge's end is one by degree
        drawn = space.fresh(u, v, drawn)
        if len(drawn) >= count:
            return drawn[:count]
    raise InputError(f"only {len(drawn):,} non-edges came of drawing ends by degree, not {count:,}; use kind='uniform'")


def _weighted(space: _Space, ends: Pairs, count: int, rng: np.random.Generator) -> Keys:
    """Pairs drawn one after the other in proportion to the product of degrees: the first of exponential waits."""
    keys = space.listed()
    out_degrees, in_degrees = (np.bincount(side, minlength=space.n) for side in ends.T)
    u, v = pairs_of(keys, space.n).T
    weights = (out_degrees[u] * in_degrees[v]).astype(np.float64)
    keys, weights = keys[weights > 0], weights[weights > 0]
    if count > len(keys):
        raise InputError(f"{len(keys):,} non-edges have ends with a degree above 0, and {count:,} were asked for")
    drawn: Keys = keys[np.argsort(rng.exponential(size=len(keys)) / weights, kind="stable")[:count]]
    return drawn


def _check_count(count: Any, left: int) -> None:
    wanted = int(count) if is_whole(count) else 0
    if wanted < 1:
        raise InputError(f"count={count!r} is no number of pairs; give a whole number of at least 1")
    if wanted > left:
        there = "every pair is an edge" if left == 0 else f"there are {left:,}; ask for at most so many"
        raise InputError(f"count={wanted:,}: so many pairs that are no edges are asked for, and {there}")


def _as_pairs(exclude: Any, n: int) -> Pairs:
    pairs = np.asarray(exclude)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InputError(f"exclude has the shape {pairs.shape} of {pairs.dtype}; it is m x 2 positions of nodes")
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < n):
        raise InputError(f"exclude holds positions outside of 0 to {n - 1:,}")
    between: Pairs = pairs[pairs[:, 0] != pairs[:, 1]].astype(np.int64)
    return between


SAMPLER_WORDS = {
    "replaced": "one position (90%) or two (10%) replaced within the type",
    "uniform": "every position uniform within its type",
    "all": "all tuples of the types",
}

_TWO = 0.1
"""The part of "replaced" negatives in which two positions change, as in the code of DHNE's authors."""
_ROUNDS = 100
_MOST = 5_000_000


def sampled_negatives(
    kind: str, positives: Codes, known: Hypergraph, truth: TupleIndex, per_positive: int, seed: int
) -> Codes:
    """So many tuples for each positive, of the same types, that are not in `truth` and name no node twice.

    "replaced": one position, or two in a tenth of the cases, gets a random node of its type; "uniform": every position
    does. A tuple that will not do is drawn anew, whole; one that will not in 100 rounds is left out.
    """
    return negatives_drawn_for(kind, positives, known, truth, per_positive, seed)[0]


def negatives_drawn_for(
    kind: str, positives: Codes, known: Hypergraph, truth: TupleIndex, per_positive: int, seed: int
) -> tuple[Codes, npt.NDArray[np.int64]]:
    """As `sampled_negatives`, and for which of the positives each was drawn."""
    rng, types = np.random.default_rng(seed), _Types(known)
    models = np.repeat(positives, per_positive, axis=0)
    negatives, left = np.full_like(models, -1), np.arange(len(models))
    for _ in range(_ROUNDS):
        rows = models[left]
        drawn = np.where(_chosen(kind, rows, rng), types.draw(rows, rng), rows)
        good = _distinct(drawn) & ~truth.holds(drawn)
        negatives[left[good]], left = drawn[good], left[~good]
        if not len(left):
            break
    return np.delete(negatives, left, axis=0), np.delete(np.arange(len(models)) // per_positive, left)


def all_negatives(positives: Codes, known: Hypergraph, truth: TupleIndex) -> Codes:
    """Every tuple of the types that a positive has, in that order of types, that is not in `truth`; each once."""
    types = _Types(known)
    types_of_rows = [tuple(kind) for kind in types.of(positives).tolist()]
    apart = {kind for kind, matters in zip(types_of_rows, Order(known).matters(positives), strict=True) if matters}
    kinds = {kind if kind in apart else tuple(sorted(kind)): kind for kind in types_of_rows}
    total = sum(types.product(kind) for kind in kinds.values())
    if total > _MOST:
        raise InputError(f"negatives='all' are {total:,} tuples here, above {_MOST:,}; use 'replaced' or 'uniform'")
    grids = [(types.grid(kind), kind) for kind in kinds.values()]
    tuples = np.concatenate([g[_distinct(g)] if kind in apart else _once(g, kind) for g, kind in grids])
    return tuples[~truth.holds(tuples)]


class _Types:
    """The nodes of each type, one type after the other."""

    def __init__(self, known: Hypergraph):
        names = np.array(known.node_types)
        _, self._codes, self._counts = np.unique(names, return_inverse=True, return_counts=True)
        self._nodes = np.argsort(self._codes, kind="stable")
        self._starts = np.cumsum(self._counts) - self._counts

    def of(self, rows: Codes) -> Codes:
        """The type of each position, -1 where there is none."""
        return np.where(rows >= 0, self._codes[rows], -1)

    def draw(self, rows: Codes, rng: np.random.Generator) -> Codes:
        """A random node of the type that stands at each position."""
        kinds = self._codes[rows]
        nodes: Codes = self._nodes[self._starts[kinds] + rng.integers(0, self._counts[kinds])]
        return np.where(rows >= 0, nodes, -1)

    def product(self, kind: tuple[int, ...]) -> int:
        """How many tuples of these types there are."""
        return int(np.prod([float(self._counts[t]) for t in kind if t >= 0]))

    def grid(self, kind: tuple[int, ...]) -> Codes:
        """All of them."""
        choices = [self._nodes[self._starts[t] : self._starts[t] + self._counts[t]] if t >= 0 else [-1] for t in kind]
        return np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(kind))


def _chosen(kind: str, rows: Codes, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Which positions get another node."""
    if kind == "uniform":
        return rows >= 0
    order = np.where(rows >= 0, rng.random(rows.shape), np.inf).argsort(axis=1).argsort(axis=1)
    count = np.where(rng.random(len(rows)) < _TWO, 2, 1)
    chosen: npt.NDArray[np.bool_] = (order < count[:, None]) & (rows >= 0)
    return chosen


def _once(grid: Codes, kind: tuple[int, ...]) -> Codes:
    """Tuples that are the same but for the order of nodes of one type, once."""
    rising = np.ones(len(grid), bool)
    for j, t in enumerate(kind):
        before = [i for i in range(j) if kind[i] == t and t >= 0]
        if before:
            rising &= grid[:, before[-1]] < grid[:, j]
    return grid[rising]


def _distinct(rows: Codes) -> npt.NDArray[np.bool_]:
    ordered = np.sort(rows, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    distinct: npt.NDArray[np.bool_] = ~twice.any(axis=1)
    return distinct
