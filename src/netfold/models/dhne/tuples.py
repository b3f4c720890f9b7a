"""DHNE's tuples: which kinds there are, over nodes of which types; the set of those there are; and others, drawn.

A `Schema` is all that the network must know of a hypergraph.
"""

from __future__ import annotations

import dataclasses
import math
import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.checks import Ints
from netfold.learn.draws import uniform

if TYPE_CHECKING:
    from netfold.data.hypergraph import Hypergraph, Kind

__all__ = ["Form", "Places", "Schema", "TupleNegatives", "TupleSet", "TypeNoise", "each_once", "possible_tuples"]

_LARGEST = 1 << 62
_ROUNDS = 100
"""How often a tuple that will not do is drawn anew before it is given up."""


_FEW = 1 << 19
"""Numbers of a draw that come from the CPU: those of a step over a million hyperedges."""


@dataclasses.dataclass(frozen=True)
class Form:
    """A kind of tuple without its tuples: the roles of its positions, and which of them are alike.

    >>> Form(("user", "user_2", "film"), (0, 0, 1), ordered=False).groups
    (0, 0, 1)
    >>> Form(("head", "relation", "tail"), (0, 1, 0), ordered=True).groups
    (0, 1, 2)
    """

    roles: tuple[str, ...]
    types: tuple[int, ...]
    """The type of each position, a place in `Schema.types`."""
    ordered: bool
    """Whether two nodes of one type may not change places, as head and tail; `Kind.ordered`."""

    @property
    def groups(self) -> tuple[int, ...]:
        """Which weights W_a each position has.

        Positions of one type share theirs unless their roles have names of their own: Σ W_a X_a then is the same in
        whatever order a tuple names its nodes.
        """
        names: Sequence[Any] = self.roles if self.ordered else self.types
        return tuple(list(dict.fromkeys(names)).index(name) for name in names)

    @property
    def group_types(self) -> tuple[int, ...]:
        """The type of the positions of each group."""
        return tuple(self.types[self.groups.index(g)] for g in range(max(self.groups) + 1))

    @property
    def alike(self) -> list[list[int]]:
        """The positions that may change places, two or more together."""
        together = [[i for i, x in enumerate(self.groups) if x == g] for g in range(len(self.group_types))]
        return [positions for positions in together if len(positions) > 1]


@dataclasses.dataclass(frozen=True)
class Schema:
    """The types of a hypergraph with the number of nodes of each, and its kinds of tuples.

    Kinds that differ only in the order in which their roles are listed are one.
    """

    types: tuple[str, ...]
    counts: tuple[int, ...]
    forms: tuple[Form, ...]

    @staticmethod
    def of(hypergraph: Hypergraph) -> Schema:
        """That of a hypergraph; the order of its tuples, and that in them where it has no meaning, changes nothing."""
        counts = np.bincount(hypergraph.type_codes, minlength=len(hypergraph.types)).tolist()
        forms: dict[Any, Form] = {}
        for kind in sorted(hypergraph.kinds, key=lambda kind: (sorted(kind.roles), kind.roles)):
            positions = [(hypergraph.types.index(t), role) for t, role in zip(kind.types, kind.roles, strict=True)]
            types, roles = zip(*(positions if kind.ordered else sorted(positions)), strict=True)
            forms.setdefault(_key(roles, types), Form(roles, types, kind.ordered))
        return Schema(tuple(hypergraph.types), tuple(counts), tuple(forms.values()))

    def place(self, kind: Kind, types: Sequence[str]) -> tuple[int, list[int]]:
        """The form of a hypergraph's kind, and where each of its positions stands in that kind; -1 for one unknown."""
        known = [self.types.index(t) if t in self.types else -1 for t in kind.types]
        for i, form in enumerate(self.forms):
            if _key(form.roles, form.types) == _key(kind.roles, known):
                return i, [kind.roles.index(role) for role in form.roles]
        return -1, []

    def near(self, t: int) -> tuple[int, ...]:
        """The types that a node of this type can be in a tuple with: where its row of A can have entries."""
        near = set()
        for form in self.forms:
            others = list(form.types)
            if t in others:
                others.remove(t)
                near |= set(others)
        return tuple(sorted(near))

    def width(self, t: int) -> int:
        """How many columns of A a row of this type can have entries in."""
        return sum(self.counts[u] for u in self.near(t))

    def facts(self) -> dict[str, Any]:
        """As json holds it; `from_facts` takes it back."""
        kinds = [{"roles": list(f.roles), "types": list(f.types), "ordered": f.ordered} for f in self.forms]
        return {"types": list(self.types), "counts": list(self.counts), "kinds": kinds}

    @staticmethod
    def from_facts(facts: Mapping[str, Any]) -> Schema:
        """What `facts` gave; a TypeError where it cannot have."""
        parts: list[Any] = [facts.get(name) for name in ("types", "counts", "kinds")]
        types, counts, kinds = parts
        good = _all_are(types, str) and _all_are(counts, int) and len(types) == len(counts) == len(set(types))
        if not good or min(counts) < 0 or not isinstance(kinds, list) or not kinds:
            raise TypeError(f"its hypergraph is described by {reprlib.repr(facts)}")
        return Schema(tuple(types), tuple(counts), tuple(_form(k, len(types)) for k in kinds))


def _key(roles: Sequence[str], types: Sequence[int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(zip(roles, types, strict=True)))


def _all_are(value: Any, kind: type) -> bool:
    return isinstance(value, list) and bool(value) and all(type(x) is kind for x in value)


def _form(value: Any, n_types: int) -> Form:
    roles, types, ordered = (value.get(k) for k in ("roles", "types", "ordered"))
    good = _all_are(roles, str) and _all_are(types, int) and len(roles) == len(types) > 1 and type(ordered) is bool
    if not good or not all(0 <= t < n_types for t in types):
        raise TypeError(f"a kind is described by {reprlib.repr(value)}")
    return Form(tuple(roles), tuple(types), ordered)


def each_once(hypergraph: Hypergraph) -> Hypergraph:
    """With all nodes, and each hyperedge once, in whatever order its copies name nodes that may change places.

    >>> from netfold.data.hypergraph import Hypergraph
    >>> each_once(Hypergraph.from_tuples([("a", "b"), ("b", "a"), ("a", "c")]))
    Hypergraph(3 nodes, 2 edges)
    """
    schema, kinds = Schema.of(hypergraph), []
    for kind in hypergraph.kinds:
        form, order = schema.place(kind, hypergraph.types)
        rows = kind.rows[:, order]
        for positions in schema.forms[form].alike:
            rows[:, positions] = np.sort(rows[:, positions], axis=1)
        first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
        kinds.append((kind.roles, kind.types, kind.rows[first]))
    same: Any = {"node_types": hypergraph.type_codes, "types": hypergraph.types, "attributes": hypergraph.attributes}
    return type(hypergraph).from_kinds(kinds, nodes=hypergraph.nodes, **same)


class Places:
    """Where nodes stand: each has a place among those of its type, and each type's rows of A their own columns."""

    def __init__(self, type_codes: Ints, schema: Schema):
        self.type_codes, self.schema = type_codes, schema
        self.members = [np.flatnonzero(type_codes == t) for t in range(len(schema.types))]
        """The nodes of each type."""
        self.local = np.zeros(len(type_codes), np.int64)
        """The place of each node among those of its type."""
        for members in self.members:
            self.local[members] = np.arange(len(members))
        self.columns = [np.flatnonzero(np.isin(type_codes, schema.near(t))) for t in range(len(schema.types))]
        """The nodes that are the columns of each type's rows."""

    def rows(self, matrix: sparse.csr_array, t: int) -> sparse.csr_array:
        """Rows over all nodes (m x n), as rows of type t over its columns."""
        rows = sparse.csr_array(matrix[:, self.columns[t]])
        rows.sort_indices()
        return rows

    def tuples(self, hypergraph: Hypergraph) -> list[Ints]:
        """The tuples of each form, m x N, as places among the nodes of their type."""
        tuples: list[list[Ints]] = [[] for _ in self.schema.forms]
        for kind in hypergraph.kinds:
            form, order = self.schema.place(kind, hypergraph.types)
            tuples[form].append(self.local[kind.rows[:, order]])
        return [np.concatenate(rows) for rows in tuples]


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
        keys, held = rows[:, 0], torch.ones(len(rows), dtype=torch.bool, device=rows.device)
        for column, size in list(enumerate(self._sizes))[1:]:
            if column in self._ranks:
                keys, here = _looked_up(self._ranks[column], keys)
                held &= here
            keys = keys * size + rows[:, column]
        return held & _looked_up(self._keys, keys)[1]


def _looked_up(values: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Where keys stand in sorted values, and whether they do."""
    at = torch.searchsorted(values, keys.contiguous()).clamp_(max=len(values) - 1)
    return at, values[at] == keys


class TypeNoise:
    """A distribution over the nodes of a type: all alike, or with probability proportional to given weights."""

    def __init__(self, count: int, weights: Tensor | None = None):
        self._count, self._cumulative = count, None
        if weights is not None and float(weights.sum()) > 0:
            self._cumulative = weights.double().cumsum(0) / weights.double().sum()

    def at(self, uniform: Tensor) -> Tensor:
        """The nodes that numbers between 0 and 1 stand for."""
        if self._cumulative is None:
            nodes = (uniform * self._count).long()
        else:
            nodes = torch.searchsorted(self._cumulative, uniform, right=True)
        return nodes.clamp_(max=self._count - 1)


class TupleNegatives:
    """Draws for each hyperedge tuples in which some positions, chosen at random, get another node.

    `replaced` is how many positions, on average: 1.1 is one, and two in a tenth of the cases. None of what is drawn is
    a hyperedge, or names a node twice. What will not do is drawn anew, positions too, up to 100 times; a tuple for
    which nothing was found by then is left out: where every tuple is a hyperedge, there are no others.
    """

    def __init__(self, form: Form, known: TupleSet, noise: Sequence[TypeNoise], replaced: float, possible: int):
        self._known, self._noise, self._replaced = known, noise, replaced
        self._same = [(a, b) for a, b in combinations(range(len(form.types)), 2) if form.types[a] == form.types[b]]
        self._rounds = 0 if len(known) >= possible else _ROUNDS

    def draw(self, positives: Tensor, per_positive: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """So many tuples for each hyperedge, at most per_positive · m x N, and for which each was drawn, in order."""
        models = positives.repeat_interleave(per_positive, dim=0)
        negatives, left = torch.empty_like(models), torch.arange(len(models), device=models.device)
        good = torch.zeros(len(models), dtype=torch.bool, device=models.device)
        for _ in range(self._rounds):
            drawn = self._changed(models[left], generator)
            fine = self._will_do(drawn)
            negatives[left[fine]] = drawn[fine]
            good[left[fine]] = True
            left = left[~fine]
            if not len(left):
                break
        return negatives[good], good.nonzero()[:, 0] // max(1, per_positive)

    def _changed(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Every device draws the same."""
        m, n = rows.shape
        drawn = uniform((m, 2 * n + 1), generator, rows.device, few=_FEW)
        keys, draws, more = drawn[:, :n], drawn[:, n:-1], drawn[:, -1]
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
