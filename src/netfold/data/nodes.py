"""Labels (type, label): user 1 and movie 1 are different nodes."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.text import did_you_mean
from netfold.errors import InputError

__all__ = ["Nodes", "check_unicode", "typed_nodes"]


_SUGGESTIONS = 3
_SUGGEST_AMONG = 100_000
"""Close labels are looked for among at most this many, so that an error message stays instant."""
_DEEPEST = 100
"""Tuples within tuples."""


class Nodes(Sequence[Any]):
    """An immutable sequence of distinct labels with a fast way back from label to position.

    >>> labels = Nodes.of(["Valjean", "Javert", "Cosette"])
    >>> labels[1], labels.positions(["Cosette", "Valjean"]).tolist()
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
            raise InputError(f"unknown kind of labels {kind!r}; this version knows int, text and json")

    @staticmethod
    def of(labels: Iterable[Any]) -> Nodes:
        """Labels from any iterable; they must be distinct."""
        if isinstance(labels, Nodes):
            return labels
        if isinstance(labels, range):
            labels = np.arange(labels.start, labels.stop, labels.step, dtype=np.int64)
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
            made = Nodes("int", {"ints": _as_int64(labels).copy()})
        else:
            made = _from_objects([_plain(x) for x in labels])
        made.check_distinct(indexed=True)
        return made

    @property
    def kind(self) -> str:
        """`int`, `text` or `json` (anything else, or a mixture)."""
        return self._kind

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays to store; `Nodes(kind, arrays)` makes the same labels of them."""
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
        """The label at a position, or a list of labels for a slice."""
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i = i % len(self)
        if self._ints is not None:
            return int(self._ints[i])
        assert self._offsets is not None and self._bytes is not None
        text = _decoded(self._bytes[self._offsets[i] : self._offsets[i + 1]].tobytes())
        return text if self._kind == "text" else _from_json(text)

    def __iter__(self) -> Iterator[Any]:
        if self._ints is not None:
            return iter(self._ints.tolist())
        assert self._offsets is not None and self._bytes is not None
        whole, ends = self._bytes.tobytes(), self._offsets.tolist()
        texts = (_decoded(whole[a:b]) for a, b in pairwise(ends))
        return texts if self._kind == "text" else map(_from_json, texts)

    def __contains__(self, label: object) -> bool:
        return bool(self.find([label])[0] >= 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Nodes):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return self._kind == other._kind and all(np.array_equal(mine[k], theirs[k]) for k in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        head = ", ".join(repr(x) for x in self[:3])
        return f"Nodes({len(self):,}: {head}{', ...' if len(self) > 3 else ''})"

    def find(self, labels: Iterable[Any]) -> npt.NDArray[np.int64]:
        """The position of each label, -1 where it is unknown."""
        if self._ints is not None:
            return self._find_ints(labels)
        index = self._index
        return np.fromiter((index.get(x, -1) if _is_label(x) else -1 for x in map(_plain, labels)), dtype=np.int64)

    def positions(self, labels: Iterable[Any]) -> npt.NDArray[np.int64]:
        """The position of each label; an `InputError` that suggests close ones where one is unknown."""
        labels = labels if isinstance(labels, (list, tuple, Nodes, np.ndarray)) else list(labels)
        found = self.find(labels)
        if found.size and found.min() < 0:
            raise InputError(self._unknown(labels[int(np.argmax(found < 0))]))
        return found

    def parse(self, text: str) -> Any:
        """The label that a person means who types `text`: integers are read as such where labels are."""
        if self._kind == "text":
            return text
        try:
            number = int(text)
        except ValueError:
            return text
        return number if self._kind == "int" or text not in self else text

    def take(self, rows: npt.ArrayLike) -> Nodes:
        """The labels at these positions, in this order; each position once."""
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
        return {label: i for i, label in enumerate(self)}

    @cached_property
    def _sorted(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
        """The integers in order, and where each stands; None where they are in order already."""
        assert self._ints is not None
        if np.all(self._ints[1:] > self._ints[:-1]):
            return self._ints, None
        order = np.argsort(self._ints, kind="stable")
        return self._ints[order], order

    def _find_ints(self, labels: Iterable[Any]) -> npt.NDArray[np.int64]:
        if isinstance(labels, Nodes) and labels._ints is not None:
            wanted, whole = labels._ints, None
        elif isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
            wanted, whole = _as_int64(labels), None
        else:
            plain = [_plain(x) for x in labels]
            whole = np.array([_is_int64(x) for x in plain], dtype=bool)
            wanted = np.array([x if ok else 0 for x, ok in zip(plain, whole, strict=True)], np.int64)
        values, order = self._sorted
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
                raise InputError(
                    f"the label {int(values[twice[0]])} stands twice among the nodes; each node needs its own"
                )
        elif len(self._index if indexed else self._distinct()) < len(self):
            first = next(x for i, x in enumerate(self) if self._index[x] != i)
            raise InputError(f"the label {first!r} stands twice among the nodes; each node needs its own")

    def _distinct(self) -> Collection[Any]:
        """The labels, each once; text as its bytes, which cost half as much as an index of strings."""
        if self._kind == "json":
            return self._index
        assert self._offsets is not None and self._bytes is not None
        whole = self._bytes.tobytes()
        _decoded(whole)
        return {whole[a:b] for a, b in pairwise(self._offsets.tolist())}

    def _unknown(self, label: Any) -> str:
        among = [str(x) for x in self[:_SUGGEST_AMONG]]
        folded = {x.casefold(): x for x in reversed(among)}
        examples = f"labels look like {among[0]}" if among else ""
        hint = did_you_mean(str(_plain(label)).casefold(), folded, examples, most=_SUGGESTIONS, written=folded)
        return f"no node is labelled {_plain(label)!r}" + (f"; {hint}" if hint else "")


def _from_objects(labels: list[Any]) -> Nodes:
    if labels and all(map(_is_int64, labels)):
        return Nodes("int", {"ints": np.array(labels, dtype=np.int64)})
    kind = "text" if all(isinstance(x, str) for x in labels) else "json"
    try:
        parts = [(x if kind == "text" else _to_json(x)).encode() for x in labels]
    except UnicodeEncodeError as e:
        raise InputError(f"the label {e.object!r} is not valid unicode: {e.reason}") from None
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


def _plain(label: Any, depth: int = 0) -> Any:
    """numpy's scalars as Python's own, tuples through and through."""
    if isinstance(label, np.generic):
        return label.item()
    if not isinstance(label, tuple):
        return label
    if depth == _DEEPEST:
        raise InputError(f"a label is a tuple within more than {_DEEPEST} others; labels are not nested that deep")
    return tuple(_plain(x, depth + 1) for x in label)


def _is_int64(x: Any) -> bool:
    return type(x) is int and -(2**63) <= x < 2**63


def _is_label(x: Any) -> bool:
    if isinstance(x, float):
        return math.isfinite(x)  # NaN, a table's missing value, is not equal to itself
    return x is None or isinstance(x, (str, int)) or (isinstance(x, tuple) and all(map(_is_label, x)))


def _to_json(label: Any) -> str:
    if not _is_label(label):
        raise InputError(
            f"the label {label!r} is a {type(label).__name__}; labels are strings, finite numbers, or tuples of those"
        )
    return json.dumps(label, ensure_ascii=False)


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise InputError("the stored labels are damaged: they are not UTF-8") from None


def _from_json(text: str) -> Any:
    def untupled(x: Any) -> Any:
        return tuple(map(untupled, x)) if isinstance(x, list) else x

    try:
        label = untupled(json.loads(text))
    except (ValueError, RecursionError):
        raise InputError("the stored labels are damaged: they are not json") from None
    if not _is_label(label):
        raise InputError(f"the stored labels are damaged: {text[:80]!r} is no label")
    return label


def _as_rows(rows: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
    """Positions, not a mask, each within 0..n-1 and at most once: a node cannot stand twice in a graph."""
    given = np.asarray(rows)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise InputError(f"rows are a list of positions 0 to {n - 1:,}; turn a mask into positions with np.flatnonzero")
    checked = given.astype(np.int64)
    if checked.size and not (checked.min() >= 0 and checked.max() < n):
        raise InputError(f"row {checked[(checked < 0) | (checked >= n)][0]} is not among the rows 0 to {n - 1:,}")
    if len(np.unique(checked)) < len(checked):
        raise InputError("a row is given twice; each node needs its own")
    return checked


def _as_int64(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if values.dtype == np.uint64 and values.size and values.max() >= 2**63:
        raise InputError(
            f"the label {int(values.max())} does not fit in 64 bits with a sign; use strings for such labels"
        )
    return values.astype(np.int64, copy=False)


def _frozen(values: npt.NDArray[Any], dtype: Any) -> npt.NDArray[Any]:
    """A read-only view or copy: what the caller holds stays as writeable as it was."""
    if values.ndim != 1 or not np.can_cast(values.dtype, dtype):
        kinds = f"{values.ndim} axes of {values.dtype} where 1 of {np.dtype(dtype)} belongs"
        raise InputError(f"the labels are no list, or damaged where they are stored: {kinds}")
    view = np.asarray(values, dtype=dtype).view()
    view.flags.writeable = False
    return view


def _check_offsets(offsets: npt.NDArray[np.int64], text: npt.NDArray[np.uint8]) -> None:
    """Cheap where the arrays are ours, and the whole defence where they come from a file."""
    good = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(text)
    if not good or np.any(offsets[1:] < offsets[:-1]):
        raise InputError("the stored labels are damaged: their offsets do not fit their text")


def typed_nodes(of_type: Mapping[str, Nodes]) -> Nodes:
    """The labels (type, label) of all types, one type after the other, without a Python object for each.

    >>> list(typed_nodes({"user": Nodes.of([7, 9]), "tag": Nodes.of(["drama"])}))
    [('user', 7), ('user', 9), ('tag', 'drama')]
    """
    parts = [_as_json(name, labels) for name, labels in of_type.items()]
    texts = [text for part in parts for text in part]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    kind = "json" if texts else "text"  # as `Nodes.of` has it where there are none
    return Nodes(kind, {"offsets": offsets, "bytes": np.frombuffer(b"".join(texts), np.uint8)})


def _as_json(name: str, labels: Nodes) -> list[bytes]:
    """Each pair as `Nodes` keeps it."""
    start = f"[{json.dumps(name, ensure_ascii=False)}, "
    if labels.kind == "int":
        return [f"{start}{i}]".encode() for i in labels]
    return [f"{start}{json.dumps(label, ensure_ascii=False)}]".encode() for label in labels]
