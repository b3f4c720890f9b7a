"""`Nodes`: the names of nodes, in order, and the way back from a name to its position; also (type, name)."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import unique_values
from netfold.data.text import did_you_mean, type_in_words
from netfold.errors import InputError

__all__ = ["Nodes", "check_unicode", "typed_nodes"]


_SUGGESTIONS = 3
_SUGGEST_AMONG = 100_000
"""Close nodes are looked for among at most this many, so that an error message stays instant."""
_COMPARED = 300
"""So many of these, which share the most letters with what was asked for, are compared letter by letter."""
_LONGEST_GUESS = 200
"""Characters of a name that close ones are looked for."""
_DEEPEST = 100
"""Tuples within tuples."""


class Nodes(Sequence[Any]):
    """An immutable sequence of distinct nodes with a fast way back from node to position.

    >>> nodes = Nodes.of(["Valjean", "Javert", "Cosette"])
    >>> nodes[1], nodes.positions(["Cosette", "Valjean"]).tolist()
    ('Javert', [2, 0])
    """

    __slots__ = ("__dict__", "_bytes", "_ints", "_kind", "_offsets")

    def __init__(self, kind: str, arrays: Mapping[str, npt.NDArray[Any]]):
        """Use `Nodes.of`; this takes the arrays that `arrays` gives."""
        self._kind = kind
        self._ints = self._offsets = self._bytes = None
        if kind == "int":
            self._ints = _frozen(arrays["ints"], np.int64)
        elif kind in ("text", "json"):
            self._offsets = _frozen(arrays["offsets"], np.int64)
            self._bytes = _frozen(arrays["bytes"], np.uint8)
            _check_offsets(self._offsets, self._bytes)
        else:
            raise InputError(f"unknown kind of nodes {kind!r}; this version knows int, text and json")

    @staticmethod
    def of(nodes: Iterable[Any]) -> Nodes:
        """Nodes from any iterable; they must be distinct."""
        if isinstance(nodes, Nodes):
            return nodes
        if isinstance(nodes, range):
            nodes = np.arange(nodes.start, nodes.stop, nodes.step, dtype=np.int64)
        if isinstance(nodes, np.ndarray) and nodes.dtype.kind in "iu":
            distinct = Nodes("int", {"ints": _as_int64(nodes).copy()})
        else:
            distinct = _from_objects([_plain(x) for x in nodes])
        distinct.check_distinct(indexed=True)
        return distinct

    @property
    def kind(self) -> str:
        """`int`, `text` or `json` (anything else, or a mixture)."""
        return self._kind

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays to store; `Nodes(kind, arrays)` makes the same nodes of them."""
        if self._ints is not None:
            return {"ints": self._ints}
        assert self._offsets is not None and self._bytes is not None
        return {"offsets": self._offsets, "bytes": self._bytes}

    def __len__(self) -> int:
        if self._ints is not None:
            return len(self._ints)
        assert self._offsets is not None
        return len(self._offsets) - 1

    def __getitem__(self, i: Any) -> Any:
        """The node at a position, or a list of nodes for a slice."""
        if isinstance(i, slice):
            return self.at(range(*i.indices(len(self))))
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i = i % len(self)
        if self._ints is not None:
            return int(self._ints[i])
        assert self._offsets is not None and self._bytes is not None
        text = _decoded(self._bytes[self._offsets[i] : self._offsets[i + 1]].tobytes())
        return text if self._kind == "text" else _from_json(text)

    def at(self, rows: Any) -> list[Any]:
        """The nodes at some positions, each of 0 to n - 1."""
        if self._ints is not None:
            return list(self._ints[np.asarray(rows, np.int64)].tolist())
        assert self._offsets is not None and self._bytes is not None
        places = np.asarray(rows, np.int64)
        ends = zip(self._offsets[places].tolist(), self._offsets[places + 1].tolist(), strict=True)
        texts = [_decoded(self._bytes[a:b].tobytes()) for a, b in ends]
        return texts if self._kind == "text" else list(map(_from_json, texts))

    def joined(self, other: Nodes) -> Nodes:
        """These nodes and then others, all of them distinct."""
        if self._ints is None or other._ints is None:
            return Nodes.of([*self, *other])
        return Nodes.of(np.concatenate([self._ints, other._ints]))

    def __iter__(self) -> Iterator[Any]:
        if self._ints is not None:
            return iter(self._ints.tolist())
        assert self._offsets is not None and self._bytes is not None
        whole, ends = self._bytes.tobytes(), self._offsets.tolist()
        if whole.isascii():  # a letter is a byte, and all are decoded as one
            letters = whole.decode()
            texts = (letters[a:b] for a, b in pairwise(ends))
        else:
            texts = (_decoded(whole[a:b]) for a, b in pairwise(ends))
        return texts if self._kind == "text" else map(_from_json, texts)

    def __contains__(self, node: object) -> bool:
        return bool(self.find([node])[0] >= 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Nodes):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return self._kind == other._kind and all(np.array_equal(mine[k], theirs[k]) for k in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        head = ", ".join(repr(x) for x in self[:3])
        return f"Nodes({len(self):,}: {head}{', ...' if len(self) > 3 else ''})"

    def find(self, nodes: Iterable[Any]) -> npt.NDArray[np.int64]:
        """The position of each node, -1 where it is unknown."""
        if self._ints is not None:
            return self._find_ints(nodes)
        index = self._index
        return np.fromiter((index.get(x, -1) if _is_name(x) else -1 for x in map(_plain, nodes)), dtype=np.int64)

    def positions(self, nodes: Iterable[Any]) -> npt.NDArray[np.int64]:
        """The position of each node; an `InputError` that suggests close ones where one is unknown."""
        nodes = nodes if isinstance(nodes, (list, tuple, Nodes, np.ndarray)) else list(nodes)
        rows = self.find(nodes)
        if rows.size and rows.min() < 0:
            raise InputError(self.unknown(nodes[int(np.argmax(rows < 0))]))
        return rows

    def parse(self, text: str) -> Any:
        """The node that a person means who types `text`: integers are read as such where nodes are."""
        if self._kind == "text":
            return text
        try:
            number = int(text)
        except ValueError:
            return text
        return number if self._kind == "int" or text not in self else text

    def take(self, rows: npt.ArrayLike) -> Nodes:
        """The nodes at these positions, in this order; each position once."""
        rows = _as_rows(rows, len(self))
        if self._ints is not None:
            return Nodes("int", {"ints": self._ints[rows]})
        assert self._offsets is not None and self._bytes is not None
        starts, lengths = self._offsets[rows], np.diff(self._offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        into = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return Nodes(self._kind, {"offsets": offsets, "bytes": self._bytes[into]})

    @cached_property
    def _index(self) -> dict[Any, int]:
        return {node: i for i, node in enumerate(self)}

    @cached_property
    def _sorted(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
        """The integers in order, and where each stands; None where they are in order already."""
        assert self._ints is not None
        if np.all(self._ints[1:] > self._ints[:-1]):
            return self._ints, None
        order = np.argsort(self._ints, kind="stable")
        return self._ints[order], order

    def _find_ints(self, nodes: Iterable[Any]) -> npt.NDArray[np.int64]:
        if isinstance(nodes, Nodes) and nodes._ints is not None:
            wanted, whole = nodes._ints, None
        elif isinstance(nodes, np.ndarray) and nodes.dtype.kind in "iu":
            wanted, whole = _as_int64(nodes), None
        else:
            plain = [_plain(x) for x in nodes]
            whole = np.array([_is_int64(x) for x in plain], dtype=bool)
            wanted = np.array([x if ok else 0 for x, ok in zip(plain, whole, strict=True)], np.int64)
        values, order = self._sorted
        if len(wanted) == 1 and order is None and whole is not None and whole[0]:  # of one node, which is asked most
            i = int(values.searchsorted(wanted[0]))
            return np.array([i if i < len(values) and values[i] == wanted[0] else -1])
        if len(values) == 0:
            return np.full(len(wanted), -1, np.int64)
        at = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
        known = values[at] == wanted
        if whole is not None:
            known &= whole
        return np.where(known, at if order is None else order[at], -1)

    def check_distinct(self, *, indexed: bool = False) -> None:
        """Refuse a node that is there twice; `indexed` keeps what was built for it, for `find` to use."""
        if self._ints is not None:
            values, _ = self._sorted
            twice = np.flatnonzero(values[1:] == values[:-1])
            if twice.size:
                raise InputError(f"duplicate node {int(values[twice[0]])}; each node needs a name of its own")
        elif len(self._index if indexed else self._distinct()) < len(self):
            first = next(x for i, x in enumerate(self) if self._index[x] != i)
            raise InputError(f"duplicate node {first!r}; each node needs a name of its own")

    def _distinct(self) -> Collection[Any]:
        """The nodes, each once; text as its bytes, which cost half as much as an index of strings."""
        if self._kind == "json":
            return self._index
        assert self._offsets is not None and self._bytes is not None
        whole = self._bytes.tobytes()
        _decoded(whole)
        return {whole[a:b] for a, b in pairwise(self._offsets.tolist())}

    def unknown(self, node: Any) -> str:
        """The sentence that no node is called so, and what close ones are called; at 100,000 it takes some 30 ms."""
        word = str(_plain(node)).casefold()
        folded = {str(x).casefold(): str(x) for x in reversed(self.at(self._of_like_letters(word)))}
        examples = f"nodes look like {self[0]}" if len(self) else ""
        padded = [word.zfill(width) for width in range(len(word) + 1, _WIDEST)] if word.isdecimal() else []
        if self.kind != "int" and padded and len(at := np.flatnonzero(self.find(padded) >= 0)):
            folded = {word: padded[at[0]]}  # 7, where zeros at the front make it 007
        hint = did_you_mean(word, folded, examples, most=_SUGGESTIONS, written=folded)
        return f"no node is called {_plain(node)!r}" + (f"; {hint}" if hint else "")

    def _of_like_letters(self, word: str) -> npt.NDArray[np.int64]:
        """Rows of the nodes that share the most letters with a word, wherever they stand, the first of equal ones."""
        n = min(len(self), _SUGGEST_AMONG)
        if len(word) > _LONGEST_GUESS or n <= _COMPARED:
            return np.arange(0 if len(word) > _LONGEST_GUESS else n)
        own = self if self._ints is None else _from_objects([str(x) for x in self._ints[:n].tolist()])
        assert own._offsets is not None and own._bytes is not None
        offsets = own._offsets[: n + 1]
        letters, wanted = _LOWER[own._bytes[: offsets[-1]]], np.frombuffer(word.encode(errors="replace"), np.uint8)
        shared = np.zeros(n, np.int64)
        for letter, most in zip(*np.unique(wanted, return_counts=True), strict=True):
            upto = np.concatenate([[0], np.cumsum(letters == letter, dtype=np.int32)])
            shared += np.minimum(np.diff(upto[offsets]), most)
        likeness = 2 * shared / np.maximum(np.diff(offsets) + len(wanted), 1)
        return np.sort(np.argsort(-likeness, kind="stable")[:_COMPARED])


_WIDEST = 20
"""Digits up to which a number is looked for with zeros in front."""
_LOWER = np.arange(256, dtype=np.uint8)
"""Each byte, and those of A to Z as a to z."""
_LOWER[65:91] += 32


def _from_objects(nodes: list[Any]) -> Nodes:
    if nodes and all(map(_is_int64, nodes)):
        return Nodes("int", {"ints": np.array(nodes, dtype=np.int64)})
    kind = "text" if all(isinstance(x, str) for x in nodes) else "json"
    try:
        parts = [(x if kind == "text" else _to_json(x)).encode() for x in nodes]
    except UnicodeEncodeError as e:
        raise InputError(f"the node {e.object!r} is not valid unicode: {e.reason}") from None
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(p) for p in parts], out=offsets[1:])
    return Nodes(kind, {"offsets": offsets, "bytes": np.frombuffer(b"".join(parts), dtype=np.uint8)})


def check_unicode(what: str, names: Iterable[str]) -> None:
    """Refuse half of a character (a lone surrogate, which json can spell): no file could hold it later."""
    try:
        for name in names:
            name.encode()
    except UnicodeEncodeError as e:
        raise InputError(f"{e.object!r} among the {what} is not valid unicode: {e.reason}") from None


def _plain(node: Any, depth: int = 0) -> Any:
    """numpy's scalars as Python's own, tuples through and through."""
    if isinstance(node, np.generic):
        return node.item()
    if not isinstance(node, tuple):
        return node
    if depth == _DEEPEST:
        raise InputError(f"a node is a tuple within more than {_DEEPEST} others; nodes are not nested that deep")
    return tuple(_plain(x, depth + 1) for x in node)


def _is_int64(x: Any) -> bool:
    return type(x) is int and -(2**63) <= x < 2**63


def _is_name(x: Any) -> bool:
    if isinstance(x, float):
        return math.isfinite(x)  # NaN, a table's missing value, is not equal to itself
    return x is None or isinstance(x, (str, int)) or (isinstance(x, tuple) and all(map(_is_name, x)))


def _to_json(node: Any) -> str:
    if not _is_name(node):
        raise InputError(
            f"the node {node!r} is {type_in_words(node)}; nodes are strings, finite numbers, or tuples of those"
        )
    return json.dumps(node, ensure_ascii=False)


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise InputError("the stored nodes are damaged: they are not UTF-8") from None


def _from_json(text: str) -> Any:
    def untupled(x: Any) -> Any:
        return tuple(map(untupled, x)) if isinstance(x, list) else x

    try:
        node = untupled(json.loads(text))
    except (ValueError, RecursionError):
        raise InputError("the stored nodes are damaged: they are not json") from None
    if not _is_name(node):
        raise InputError(f"the stored nodes are damaged: {text[:80]!r} is not the name of a node")
    return node


def _as_rows(rows: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
    """Positions, not a mask, each within 0..n-1 and at most once: a graph has no node twice."""
    array = np.asarray(rows)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"rows are a list of positions 0 to {n - 1:,}; turn a mask into positions with np.flatnonzero")
    checked = array.astype(np.int64)
    if checked.size and not (checked.min() >= 0 and checked.max() < n):
        raise InputError(f"row {checked[(checked < 0) | (checked >= n)][0]} is not among the rows 0 to {n - 1:,}")
    if len(unique_values(checked)) < len(checked):
        raise InputError("a row is given twice; each node needs its own")
    return checked


def _as_int64(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if values.dtype == np.uint64 and values.size and values.max() >= 2**63:
        raise InputError(
            f"the node {int(values.max())} does not fit in 64 bits with a sign; use strings for such nodes"
        )
    return values.astype(np.int64, copy=False)


def _frozen(values: npt.NDArray[Any], dtype: Any) -> npt.NDArray[Any]:
    """A read-only view or copy: what the caller holds stays as writeable as it was."""
    if values.ndim != 1 or not np.can_cast(values.dtype, dtype):
        kinds = f"{values.ndim} axes of {values.dtype} where 1 of {np.dtype(dtype)} belongs"
        raise InputError(f"the nodes are not a list, or damaged where they are stored: {kinds}")
    view = np.asarray(values, dtype=dtype).view()
    view.flags.writeable = False
    return view


def _check_offsets(offsets: npt.NDArray[np.int64], text: npt.NDArray[np.uint8]) -> None:
    """Cheap where the arrays are ours, and the whole defence where they come from a file."""
    good = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(text)
    if not good or np.any(offsets[1:] < offsets[:-1]):
        raise InputError("the stored nodes are damaged: their offsets do not fit their text")


def typed_nodes(of_type: Mapping[str, Nodes]) -> Nodes:
    """The nodes (type, name) of all types, one type after the other, without a Python object for each.

    >>> list(typed_nodes({"user": Nodes.of([7, 9]), "tag": Nodes.of(["drama"])}))
    [('user', 7), ('user', 9), ('tag', 'drama')]
    """
    parts = [_as_json(name, nodes) for name, nodes in of_type.items()]
    texts = [text for part in parts for text in part]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    kind = "json" if texts else "text"  # as `Nodes.of` has it where there are none
    return Nodes(kind, {"offsets": offsets, "bytes": np.frombuffer(b"".join(texts), np.uint8)})


def _as_json(name: str, nodes: Nodes) -> list[bytes]:
    """Each pair as `Nodes` keeps it."""
    start = f"[{json.dumps(name, ensure_ascii=False)}, "
    if nodes.kind == "int":
        return [f"{start}{i}]".encode() for i in nodes]
    return [f"{start}{json.dumps(node, ensure_ascii=False)}]".encode() for node in nodes]
