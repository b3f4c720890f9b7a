"""Tuples that are no hyperedges, for a score to be tested against: the choice of them moves an AUC by .1 and more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netfold.errors import InputError
from netfold.evaluate.tuples import Codes, Order, TupleSet
from netfold.hypergraph import Hypergraph

__all__ = ["SAMPLERS", "all_negatives", "sampled_negatives"]

SAMPLERS = {
    "replaced": "one position (90%) or two (10%) replaced within the type",
    "uniform": "every position uniform within its type",
    "all": "all tuples of the types",
}

_TWO = 0.1
"""The part of "replaced" negatives in which two positions change, as in the code of DHNE's authors."""
_ROUNDS = 100
_MOST = 5_000_000


def sampled_negatives(
    kind: str, positives: Codes, known: Hypergraph, truth: TupleSet, per_positive: int, seed: int
) -> Codes:
    """So many tuples for each positive, of the same types, that are not in `truth` and name no node twice.

    "replaced": one position, or two in a tenth of the cases, gets a random node of its type; "uniform": every position
    does. A tuple that will not do is drawn anew, whole; one that will not in 100 rounds is left out.
    """
    rng, types = np.random.default_rng(seed), _Types(known)
    models = np.repeat(positives, per_positive, axis=0)
    made, left = np.full_like(models, -1), np.arange(len(models))
    for _ in range(_ROUNDS):
        rows = models[left]
        drawn = np.where(_chosen(kind, rows, rng), types.draw(rows, rng), rows)
        good = _distinct(drawn) & ~truth.holds(drawn)
        made[left[good]], left = drawn[good], left[~good]
        if not len(left):
            break
    return np.delete(made, left, axis=0)


def all_negatives(positives: Codes, known: Hypergraph, truth: TupleSet) -> Codes:
    """Every tuple of the types that a positive has, in that order of types, that is not in `truth`; each once."""
    types = _Types(known)
    found = [tuple(kind) for kind in types.of(positives).tolist()]
    apart = {kind for kind, matters in zip(found, Order(known).matters(positives), strict=True) if matters}
    kinds = {kind if kind in apart else tuple(sorted(kind)): kind for kind in found}
    total = sum(types.product(kind) for kind in kinds.values())
    if total > _MOST:
        raise InputError(f"negatives='all' are {total:,} tuples here, above {_MOST:,}; use 'replaced' or 'uniform'")
    grids = [(types.grid(kind), kind) for kind in kinds.values()]
    made = np.concatenate([g[_distinct(g)] if kind in apart else _once(g, kind) for g, kind in grids])
    return made[~truth.holds(made)]


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
        made: Codes = self._nodes[self._starts[kinds] + rng.integers(0, self._counts[kinds])]
        return np.where(rows >= 0, made, -1)

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
