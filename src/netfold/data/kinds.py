"""`Kind`: hyperedges that have the same roles, as rows of positions; and the types of a hypergraph's nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import Ints, unique_values
from netfold.data.nodes import Nodes, check_unicode
from netfold.data.text import counted, type_in_words
from netfold.errors import InputError

__all__ = [
    "TYPE",
    "Kind",
    "Types",
    "check_rows",
    "default_roles",
    "first_repeated",
    "joined",
    "kinds_of_named",
    "kinds_of_tuples",
    "types_by_roles",
    "types_of",
]


_BLOCK = 1 << 18
"""Rows that are sorted at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Kind:
    """Hyperedges of one kind: the same roles, and at each a node of the same type.

    >>> kind = Kind(("head", "relation", "tail"), ("entity", "relation", "entity"), [[0, 2, 1], [1, 2, 0]])
    >>> kind, len(kind), kind.ordered
    (Kind(head:entity, relation, tail:entity; 2 edges), 2, True)
    """

    roles: tuple[str, ...]
    """The name of each position, each once: ("user", "movie", "tag")."""
    types: tuple[str, ...]
    """The type of the nodes at each position."""
    rows: Ints
    """m x N, read-only: the nodes of each hyperedge as positions in `Hypergraph.nodes`."""

    def __post_init__(self) -> None:
        roles, types = _names("roles", self.roles), _names("types", self.types)
        words = ", ".join(roles)
        if len(roles) < 2:
            raise InputError(f"the kind ({words}) joins fewer than two nodes; a kind has two roles or more")
        if len(set(roles)) < len(roles):
            again = next(r for i, r in enumerate(roles) if r in roles[:i])
            raise InputError(f"the kind ({words}) has the role {again!r} twice; give each position a name of its own")
        if len(types) != len(roles):
            said = counted(len(types), "type does", "types do")
            raise InputError(f"{said} not fit the {len(roles)} roles ({words}); each role needs one")
        rows = _as_rows(self.rows, len(roles), words)
        for name, value in (("roles", roles), ("types", types), ("rows", rows)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        words = ", ".join(r if r == t else f"{r}:{t}" for r, t in zip(self.roles, self.types, strict=True))
        return f"Kind({words}; {len(self):,} {'edge' if len(self) == 1 else 'edges'})"

    @cached_property
    def ordered(self) -> bool:
        """Whether it matters which of two nodes of one type comes first.

        It does where their roles have names of their own, as head and tail, and does not where the roles only number
        the type, as user and user_2.
        """
        return len(set(self.types)) < len(self.types) and self.roles != default_roles(self.types)


def default_roles(types: Sequence[str]) -> tuple[str, ...]:
    """The roles of positions that have no name: their types, numbered from the second of a type on.

    >>> default_roles(["user", "user", "film"])
    ('user', 'user_2', 'film')
    """
    names, roles = tuple(types), []
    for i, name in enumerate(names):
        number = names[: i + 1].count(name)
        role = name if number == 1 else f"{name}_{number}"
        while number > 1 and role in names:  # a type that is itself called user_2
            role += "_"
        roles.append(role)
    return tuple(roles)


def first_repeated(kind: Kind) -> int | None:
    """The first row that names a node twice; None where there is none. Only nodes of one type can be the same."""
    if len(set(kind.types)) == len(kind.types):
        return None
    for start in range(0, len(kind), _BLOCK):
        ordered = np.sort(kind.rows[start : start + _BLOCK], axis=1)
        twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if twice.size:
            return start + int(twice[0])
    return None


def kinds_of_tuples(
    members: Ints, sizes: Ints, types: tuple[str, ...], type_codes: Ints
) -> tuple[list[Kind], npt.NDArray[np.int64]]:
    """The kinds of tuples that name no roles, and the kind of each tuple.

    `members` are the positions of the nodes of all tuples, one tuple after the other. Tuples are of one kind where
    they have the same types, in whatever order; nodes then come in the order of types of the first of them.
    """
    starts = np.cumsum(sizes) - sizes
    parts: list[tuple[int, Kind, Ints]] = []
    for size in unique_values(sizes).tolist():
        edges = np.flatnonzero(sizes == size)
        rows = members[starts[edges][:, None] + np.arange(size)]
        parts += [(int(edges[at[0]]), kind, edges[at]) for at, kind in _by_types(rows, types, type_codes)]
    parts.sort(key=lambda each: each[0])
    sequence = np.empty(len(sizes), np.int64)
    for k, (_, _, edges) in enumerate(parts):
        sequence[edges] = k
    return [kind for _, kind, _ in parts], sequence


def kinds_of_named(
    edges: Sequence[Mapping[str, Any]], members: Sequence[int], node_types: Sequence[str]
) -> tuple[list[Kind], Ints]:
    """The kinds of edges that are dicts from role to node, and the kind of each edge.

    `members` are the positions of their nodes, edge after edge. The first edge of a kind decides the order of roles.
    """
    by_key: dict[frozenset[tuple[str, str]], tuple[int, dict[str, str], list[list[int]]]] = {}
    sequence, start = np.empty(len(edges), np.int64), 0
    for e, edge in enumerate(edges):
        place = dict(zip(edge, members[start : start + len(edge)], strict=True))
        start += len(edge)
        types = {role: node_types[i] for role, i in place.items()}
        kind, roles, rows = by_key.setdefault(frozenset(types.items()), (len(by_key), types, []))
        rows.append([place[role] for role in roles])
        sequence[e] = kind
    kinds = [Kind(tuple(roles), tuple(roles.values()), np.array(rows, np.int64)) for _, roles, rows in by_key.values()]
    return kinds, sequence


def joined(kinds: Iterable[Kind]) -> tuple[Kind, ...]:
    """Kinds of the same roles and types, in whatever order, as one; those without hyperedges are left out."""
    by_key: dict[frozenset[tuple[str, str]], list[Kind]] = {}
    for kind in kinds:
        if len(kind):
            by_key.setdefault(frozenset(zip(kind.roles, kind.types, strict=True)), []).append(kind)
    return tuple(parts[0] if len(parts) == 1 else _stacked(parts) for parts in by_key.values())


def _stacked(kinds: Sequence[Kind]) -> Kind:
    """One kind of several, its roles in the order of the first."""
    roles, types = kinds[0].roles, kinds[0].types
    return Kind(roles, types, np.concatenate([kind.rows[:, [kind.roles.index(r) for r in roles]] for kind in kinds]))


def _by_types(rows: Ints, types: tuple[str, ...], type_codes: Ints) -> list[tuple[Ints, Kind]]:
    """The kinds among tuples of one size: which tuples, and their rows."""
    codes = type_codes[rows]
    order = np.argsort(codes, axis=1, kind="stable")
    by_type = np.take_along_axis(codes, order, axis=1)
    _, group = np.unique(by_type, axis=0, return_inverse=True)
    parts = []
    for g in range(int(group.max(initial=-1)) + 1):
        at = np.flatnonzero(group.ravel() == g)
        back = np.argsort(order[at[0]])  # from the order of types to that of the first tuple
        sorted_rows = np.take_along_axis(rows[at], order[at], axis=1)
        names = tuple(types[c] for c in codes[at[0]])
        parts.append((at, Kind(default_roles(names), names, sorted_rows[:, back])))
    return parts


def _names(what: str, names: Any) -> tuple[str, ...]:
    several = (names,) if isinstance(names, str) else tuple(names)
    odd = next((name for name in several if not isinstance(name, str) or not name), None)
    if odd is not None:
        raise InputError(f"{odd!r} stands among the {what} of a kind; they are strings that are not empty")
    check_unicode(what, several)
    return several


def _as_rows(rows: Any, width: int, words: str) -> Ints:
    """Whatever holds m x width integers, as a read-only view or copy."""
    array = np.asarray(rows)
    if array.size == 0 and array.ndim < 2:
        array = np.empty((0, width), np.int64)
    if array.ndim != 2 or array.shape[1] != width or array.dtype.kind not in "iu":
        raise InputError(
            f"the rows of the kind ({words}) are {array.dtype} in the shape {array.shape}; "
            f"give the positions of nodes, integers in {width} columns"
        )
    view = array.astype(np.int64, copy=False).view()
    view.flags.writeable = False
    return view


TYPE = "node"
"""The type of every node where none is given."""

Types = tuple[tuple[str, ...], Ints]
"""The types, in order of first appearance, and the type of each node as a position among them."""


def types_of(node_types: Iterable[str] | npt.NDArray[np.integer], n: int, types: Sequence[str] | None = None) -> Types:
    """The types of n nodes: a string for each, or with `types` a position in them; none at all is `TYPE` for all.

    >>> types_of(["user", "film", "user"], 3)
    (('user', 'film'), array([0, 1, 0]))
    """
    if types is not None:
        names, codes = tuple(types), np.asarray(node_types)
        if codes.ndim != 1 or (codes.size and codes.dtype.kind not in "iu"):
            raise InputError(
                f"node_types holds {codes.dtype} beside types; give one position among types for each node"
            )
        codes = codes.astype(np.int64)
    else:
        names, codes = _numbered(tuple(node_types) or (TYPE,) * n)
    if len(codes) != n:
        said = counted(len(codes), "type does", "types do")
        raise InputError(f"{said} not fit {counted(n, 'node')}; each node needs one")
    odd = next((t for t in names if not isinstance(t, str)), None)
    if odd is not None:
        raise InputError(f"the type {odd!r} is {type_in_words(odd)}; the type of a node is a string")
    check_unicode("types", names)
    if codes.size and not (codes.min() >= 0 and codes.max() < len(names)):
        bad = codes[(codes < 0) | (codes >= len(names))][0]
        raise InputError(f"a node has the type number {bad}, where types are numbered from 0 to {len(names) - 1}")
    return _by_appearance(names, codes)


def types_by_roles(kinds: Sequence[Kind], nodes: Nodes) -> Types:
    """The types of nodes as their roles have them; a node without an edge has the one type that there is."""
    _check_positions(kinds, len(nodes))
    names = tuple(dict.fromkeys(name for kind in kinds for name in kind.types)) or (TYPE,)
    codes = np.full(len(nodes), -1 if len(names) > 1 else 0, np.int64)
    for kind in kinds:
        for name, column in zip(kind.types, kind.rows.T, strict=True):
            codes[column] = names.index(name)
    if codes.size and codes.min() < 0:
        lone = nodes[int(np.argmin(codes))]
        raise InputError(f"the node {lone!r} is in no edge, so that its type is not known; give node_types")
    return _by_appearance(names, codes)


def check_rows(kinds: Sequence[Kind], nodes: Nodes, types: tuple[str, ...], codes: Ints) -> None:
    """Refuse rows that name no node, or one of a type that does not belong there."""
    _check_positions(kinds, len(nodes))
    for kind in kinds:
        for role, name, column in zip(kind.roles, kind.types, kind.rows.T, strict=True):
            wrong = np.flatnonzero(codes[column] != (types.index(name) if name in types else -1))
            if wrong.size:
                node = int(column[wrong[0]])
                what = f"the node {nodes[node]!r} of the type {types[codes[node]]!r} stands as {role!r}"
                raise InputError(f"{what} in row {wrong[0]} of {kind}; nodes of the type {name!r} can stand there")


def _check_positions(kinds: Sequence[Kind], n: int) -> None:
    for kind in kinds:
        if kind.rows.min() < 0 or kind.rows.max() >= n:
            bad = kind.rows[(kind.rows < 0) | (kind.rows >= n)][0]
            raise InputError(f"{kind} names node {bad}; the {n:,} nodes are numbered from 0")


def _numbered(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Ints]:
    index: dict[Any, int] = {}
    try:
        codes = np.fromiter((index.setdefault(t, len(index)) for t in values), np.int64, len(values))
    except TypeError as e:
        raise InputError(f"a type cannot be a key: {e}; the type of a node is a string") from None
    return tuple(index), codes


def _by_appearance(names: tuple[str, ...], codes: Ints) -> Types:
    """The same with only the types that a node has, in the order of the nodes, and each name once."""
    first = {name: i for i, name in reversed(list(enumerate(names)))}
    same = np.array([first[name] for name in names], np.int64)
    codes = same[codes] if len(first) < len(names) else codes
    used, at = np.unique(codes, return_index=True)
    order = used[np.argsort(at)]
    if np.array_equal(order, np.arange(len(names))):
        return names, codes
    rank = np.full(len(names), -1, np.int64)
    rank[order] = np.arange(len(order))
    return tuple(names[i] for i in order.tolist()), rank[codes]
