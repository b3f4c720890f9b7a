"""The types of a hypergraph's nodes, as names and numbers, and whether its edges keep to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.errors import InputError
from netfold.hyperedge_kinds import Kind
from netfold.labels import Labels

__all__ = ["TYPE", "Types", "check_rows", "types_by_roles", "types_of"]

TYPE = "node"
"""The type of every node where none is given."""

Ints = npt.NDArray[np.int64]
Types = tuple[tuple[str, ...], Ints]
"""The types, in order of first appearance, and the type of each node as a position among them."""


def types_of(given: Iterable[str] | npt.NDArray[np.integer], n: int, types: Sequence[str] | None = None) -> Types:
    """The types of n nodes: a string for each, or with `types` a position in them; none at all is `TYPE` for all.

    >>> types_of(["user", "film", "user"], 3)
    (('user', 'film'), array([0, 1, 0]))
    """
    if types is not None:
        names, codes = tuple(types), np.asarray(given)
        if codes.ndim != 1 or (codes.size and codes.dtype.kind not in "iu"):
            raise InputError(
                f"node_types holds {codes.dtype} beside types; give one position among types for each node"
            )
        codes = codes.astype(np.int64)
    else:
        names, codes = _numbered(tuple(given) or (TYPE,) * n)
    if len(codes) != n:
        raise InputError(f"{len(codes):,} types do not fit {n:,} nodes; each node needs one")
    odd = next((t for t in names if not isinstance(t, str)), None)
    if odd is not None:
        raise InputError(f"the type {odd!r} is a {type(odd).__name__}; the type of a node is a string")
    if codes.size and not (codes.min() >= 0 and codes.max() < len(names)):
        bad = codes[(codes < 0) | (codes >= len(names))][0]
        raise InputError(f"a node has the type number {bad}, where types are numbered from 0 to {len(names) - 1}")
    return _by_appearance(names, codes)


def types_by_roles(kinds: Sequence[Kind], nodes: Labels) -> Types:
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


def check_rows(kinds: Sequence[Kind], nodes: Labels, types: tuple[str, ...], codes: Ints) -> None:
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


def _numbered(given: tuple[Any, ...]) -> tuple[tuple[Any, ...], Ints]:
    index: dict[Any, int] = {}
    try:
        codes = np.fromiter((index.setdefault(t, len(index)) for t in given), np.int64, len(given))
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
