"""Tuples that are no hyperedges, drawn in bulk: some positions of a hyperedge get another node of their type."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

from netfold.models.dhne.schema import Form

__all__ = ["Negatives", "Noise", "TupleSet"]

_LARGEST = 1 << 62
_ROUNDS = 100
"""How often a tuple that will not do is drawn anew before it is given up."""


class TupleSet:
    """The tuples of one form, to be asked for many at once; nothing is hashed, so that no answer is wrong.

    A tuple is one number, its places read as digits, in a sorted array. Where the digits would overflow, those so far
    are replaced by their rank among those that occur.
    """

    def __init__(self, rows: Tensor, sizes: Sequence[int], alike: Sequence[Sequence[int]]):
        self._sizes, self._alike = sizes, alike
        self._ranks: dict[int, Tensor] = {}
        rows = self.ordered(rows)
        keys, most = rows[:, 0], sizes[0]
        for column, size in list(enumerate(sizes))[1:]:
            if most > _LARGEST // max(1, size):
                self._ranks[column], keys = torch.unique(keys, return_inverse=True)
                most = len(self._ranks[column])
            keys, most = keys * size + rows[:, column], most * size
        self.rows = rows[torch.argsort(keys, stable=True)]
        """The tuples, in an order that is theirs and not that of the file they came in."""
        self._keys = torch.unique(keys)

    def __len__(self) -> int:
        return len(self._keys)

    def ordered(self, rows: Tensor) -> Tensor:
        """Tuples with the nodes that may change places in order: m x N."""
        rows = rows.clone()
        for positions in self._alike:
            rows[:, positions] = rows[:, positions].sort(dim=1).values
        return rows

    def holds(self, rows: Tensor) -> Tensor:
        """Whether each tuple, m x N, is among them."""
        rows = self.ordered(rows)
        keys, found = rows[:, 0], torch.ones(len(rows), dtype=torch.bool, device=rows.device)
        for column, size in list(enumerate(self._sizes))[1:]:
            if column in self._ranks:
                keys, here = _looked_up(self._ranks[column], keys)
                found &= here
            keys = keys * size + rows[:, column]
        return found & _looked_up(self._keys, keys)[1]


def _looked_up(values: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Where keys stand in sorted values, and whether they do."""
    at = torch.searchsorted(values, keys.contiguous()).clamp_(max=len(values) - 1)
    return at, values[at] == keys


class Noise:
    """A distribution over the nodes of a type: all alike, or with probability proportional to given weights."""

    def __init__(self, count: int, weights: Tensor | None = None):
        self._count, self._cumulative = count, None
        if weights is not None and float(weights.sum()) > 0:
            self._cumulative = weights.double().cumsum(0) / weights.double().sum()

    def at(self, uniform: Tensor) -> Tensor:
        """The nodes that numbers between 0 and 1 stand for."""
        if self._cumulative is None:
            found = (uniform * self._count).long()
        else:
            found = torch.searchsorted(self._cumulative, uniform, right=True)
        return found.clamp_(max=self._count - 1)


class Negatives:
    """Draws for each hyperedge tuples in which some positions, chosen at random, get another node.

    `replaced` is how many positions, on average: 1.1 is one, and two in a tenth of the cases. None of what is drawn is
    a hyperedge, or names a node twice. What will not do is drawn anew, positions too, up to 100 times; a tuple for
    which nothing was found by then is left out: where every tuple is a hyperedge, there are no others.
    """

    def __init__(self, form: Form, known: TupleSet, noise: Sequence[Noise], replaced: float, possible: int):
        self._known, self._noise, self._replaced = known, noise, replaced
        self._same = [(a, b) for a, b in combinations(range(len(form.types)), 2) if form.types[a] == form.types[b]]
        self._rounds = 0 if len(known) >= possible else _ROUNDS

    def draw(self, positives: Tensor, per_positive: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """So many tuples for each hyperedge, at most per_positive · m x N, and for which each was drawn, in order."""
        models = positives.repeat_interleave(per_positive, dim=0)
        made, left = torch.empty_like(models), torch.arange(len(models), device=models.device)
        good = torch.zeros(len(models), dtype=torch.bool, device=models.device)
        for _ in range(self._rounds):
            drawn = self._changed(models[left], generator)
            fine = self._will_do(drawn)
            made[left[fine]] = drawn[fine]
            good[left[fine]] = True
            left = left[~fine]
            if not len(left):
                break
        return made[good], good.nonzero()[:, 0] // max(1, per_positive)

    def _changed(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Random numbers come from the CPU, so that every device draws the same."""
        m, n = rows.shape
        uniform = torch.rand(m, 2 * n + 1, generator=generator, dtype=torch.float64).to(rows.device)
        keys, draws, more = uniform[:, :n], uniform[:, n:-1], uniform[:, -1]
        count = int(self._replaced) + (more < self._replaced % 1).long()
        chosen = (keys[:, None, :] < keys[:, :, None]).sum(dim=2) < count[:, None]  # the `count` smallest keys
        nodes = torch.stack([noise.at(draws[:, i].contiguous()) for i, noise in enumerate(self._noise)], dim=1)
        return torch.where(chosen, nodes, rows)

    def _will_do(self, rows: Tensor) -> Tensor:
        good = ~self._known.holds(rows)
        for a, b in self._same:
            good &= rows[:, a] != rows[:, b]
        return good


def possible_tuples(form: Form, counts: Sequence[int]) -> int:
    """How many tuples of distinct nodes there are of a form.

    >>> possible_tuples(Form(("node", "node_2"), (0, 0), ordered=False), [4])
    6
    """
    choose = math.perm if form.ordered else math.comb
    return math.prod(choose(counts[t], k) for t, k in Counter(form.types).items())
