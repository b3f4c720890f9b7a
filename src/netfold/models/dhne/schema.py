"""Which kinds of tuples there are, over nodes of which types: all that DHNE's network must know of a hypergraph."""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from netfold.data.arrays import Ints

if TYPE_CHECKING:
    from netfold.data.hypergraph import Hypergraph, Kind

__all__ = ["Form", "Places", "Schema"]


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
        found: dict[Any, Form] = {}
        for kind in sorted(hypergraph.kinds, key=lambda kind: (sorted(kind.roles), kind.roles)):
            positions = [(hypergraph.types.index(t), role) for t, role in zip(kind.types, kind.roles, strict=True)]
            types, roles = zip(*(positions if kind.ordered else sorted(positions)), strict=True)
            found.setdefault(_key(roles, types), Form(roles, types, kind.ordered))
        return Schema(tuple(hypergraph.types), tuple(counts), tuple(found.values()))

    def place(self, kind: Kind, types: Sequence[str]) -> tuple[int, list[int]]:
        """The form of a hypergraph's kind, and where each of its positions stands in that kind; -1 for one unknown."""
        known = [self.types.index(t) if t in self.types else -1 for t in kind.types]
        for i, form in enumerate(self.forms):
            if _key(form.roles, form.types) == _key(kind.roles, known):
                return i, [kind.roles.index(role) for role in form.roles]
        return -1, []

    def near(self, t: int) -> tuple[int, ...]:
        """The types that a node of this type can be in a tuple with: where its row of A can have entries."""
        found = set()
        for form in self.forms:
            others = list(form.types)
            if t in others:
                others.remove(t)
                found |= set(others)
        return tuple(sorted(found))

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


def _all_are(given: Any, kind: type) -> bool:
    return isinstance(given, list) and bool(given) and all(type(x) is kind for x in given)


def _form(given: Any, n_types: int) -> Form:
    roles, types, ordered = (given.get(k) for k in ("roles", "types", "ordered"))
    good = _all_are(roles, str) and _all_are(types, int) and len(roles) == len(types) > 1 and type(ordered) is bool
    if not good or not all(0 <= t < n_types for t in types):
        raise TypeError(f"a kind is described by {reprlib.repr(given)}")
    return Form(tuple(roles), tuple(types), ordered)


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
        made = sparse.csr_array(matrix[:, self.columns[t]])
        made.sort_indices()
        return made

    def tuples(self, hypergraph: Hypergraph) -> list[Ints]:
        """The tuples of each form, m x N, as places among the nodes of their type."""
        found: list[list[Ints]] = [[] for _ in self.schema.forms]
        for kind in hypergraph.kinds:
            form, order = self.schema.place(kind, hypergraph.types)
            found[form].append(self.local[kind.rows[:, order]])
        return [np.concatenate(rows) for rows in found]
