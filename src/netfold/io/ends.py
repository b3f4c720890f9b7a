"""The ends of edges, collected piece by piece, and numbered: as integers where all nodes are, as texts otherwise."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from netfold.data.nodes import Nodes
from netfold.io.fields import MOST_DIGITS, Rows, digits, plain_digits, words_of
from netfold.io.source import is_integer

__all__ = []


Positions = npt.NDArray[np.signedinteger]
Weights = npt.NDArray[np.float64] | None

_BLOCK = 1 << 22
"""Edges in a block: enough for it to lie in large pages of memory, and to go straight back to the system."""


class Collected:
    """The ends of edges (two rows of a block) and their weights, in the order in which they were added."""

    def __init__(self) -> None:
        self._ends: list[Positions] = []
        self._weights: list[npt.NDArray[np.float64]] = []
        self._times: list[npt.NDArray[np.float64]] = []
        self._used = _BLOCK
        self.rows = self.zeros = 0
        """How many rows were counted, and those of weight 0."""

    def count(self, rows: int, weights: Weights) -> None:
        """Count rows, which may be fewer by the time they are added."""
        self.rows += rows
        self.zeros += 0 if weights is None else len(weights) - int(np.count_nonzero(weights))

    def add(self, u: Positions, v: Positions, weights: Weights, times: Weights = None) -> None:
        """Copy some edges to the end."""
        self._times += [] if times is None else [times]
        done = 0
        while done < len(u):
            if self._used == _BLOCK or self._ends[-1].dtype != u.dtype:
                self._close()
                self._ends.append(np.empty((2, _BLOCK), u.dtype))
                self._used = 0
                if weights is not None:
                    self._weights.append(np.empty(_BLOCK))
            stop = min(len(u), done + _BLOCK - self._used)
            here = slice(self._used, self._used + stop - done)
            self._ends[-1][0, here], self._ends[-1][1, here] = u[done:stop], v[done:stop]
            if weights is not None:
                self._weights[-1][here] = weights[done:stop]
            self._used, done = here.stop, stop

    def take(self) -> tuple[list[Positions], npt.NDArray[np.float64] | None]:
        """Columns u, v, u, v, ... and all weights; nothing is kept."""
        self._close()
        columns = [row for block in self._ends for row in block]
        weights = np.concatenate(self._weights) if self._weights else None
        self._ends, self._weights = [], []
        return columns, weights

    def take_times(self) -> npt.NDArray[np.float64] | None:
        """The times of all edges; nothing is kept."""
        times, self._times = self._times, []
        return np.concatenate(times) if times else None

    def _close(self) -> None:
        if self._ends and self._used < _BLOCK:
            self._ends[-1] = self._ends[-1][:, : self._used]
            self._weights[-1:] = [block[: self._used] for block in self._weights[-1:]]
            self._used = _BLOCK


_Codes = npt.NDArray[np.int32]
_Places = npt.NDArray[np.int64]

_LONG = 64
"""Nodes of more bytes than this are kept in a dictionary."""

_STEP = 1 << 16

_FIRST_BYTES = np.array([(1 << 8 * k) - 1 for k in range(9)], np.uint64)
"""Which bits of a word the first k bytes of a text are."""


class NotIntegersError(Exception):
    """A node turned up that is not an integer: the file is to be read again, with texts for nodes."""


class Ends(Protocol):
    """Takes edges as they are read, and numbers their nodes at last."""

    def add(self, rows: Rows) -> tuple[Positions, Positions]:
        """The two columns to keep for `finish`, in whatever numbering suits."""

    def finish(self, columns: list[Positions]) -> Nodes:
        """Turn every column, in place, into positions among the nodes given back."""


class IntegerEnds:
    """Integers, numbered in ascending order."""

    def __init__(self) -> None:
        self._low, self._high = 2**63 - 1, -(2**63)

    def add(self, rows: Rows) -> tuple[Positions, Positions]:
        """The integers themselves; a `NotIntegersError` where a node is none."""
        return self.add_values(_integers(rows).reshape(-1, 2))

    def add_values(self, values: _Places) -> tuple[Positions, Positions]:
        """The same of integers (rows x 2) that need no reading."""
        if values.size:
            low, high = int(values.min()), int(values.max())
            self._low, self._high = min(low, self._low), max(high, self._high)
            if low >= -(2**31) and high < 2**31:
                return values[:, 0].astype(np.int32), values[:, 1].astype(np.int32)
        return values[:, 0], values[:, 1]

    def finish(self, columns: list[Positions]) -> Nodes:
        """By a table of all integers in their range where that is not too large, by hashing otherwise."""
        total = sum(map(len, columns))
        span = self._high - self._low + 1
        return self._by_table(columns, span) if span <= max(2 * total, 1 << 20) else _by_hash(columns)

    def _by_table(self, columns: list[Positions], span: int) -> Nodes:
        present = np.zeros(span, bool)
        for column in columns:
            present[_shifted(column, self._low)] = True
        ids = np.flatnonzero(present)
        if len(ids) == span:
            rank = None
        else:
            rank = np.cumsum(present, dtype=np.int32)
            rank -= 1
        for i, column in enumerate(columns):
            shifted = _shifted(column, self._low)
            columns[i] = shifted.astype(np.int32, copy=False) if rank is None else rank[shifted]
        return Nodes("int", {"ints": ids + self._low})


def _shifted(column: Positions, low: int) -> Positions:
    return column if low == 0 else column.astype(np.int64) - low


def _by_hash(columns: list[Positions]) -> Nodes:
    table = Interner()
    for i, column in enumerate(columns):
        columns[i] = table.intern(column.astype(np.int64, copy=False).view(np.uint64).reshape(-1, 1))
    ids = table.keys()[:, 0].view(np.int64)
    order = np.argsort(ids)
    rank = np.empty(len(ids), np.int32)
    rank[order] = np.arange(len(ids), dtype=np.int32)
    for i, column in enumerate(columns):
        columns[i] = rank[column]
    return Nodes("int", {"ints": ids[order]})


def _integers(rows: Rows) -> _Places:
    """The nodes of rows as integers, source, target, source, ...; `NotIntegersError` where one is none."""
    starts, ends, words = rows.starts.ravel(), rows.ends.ravel(), words_of(rows.buffer)
    lengths = ends - starts
    if rows.digits and lengths.max(initial=0) <= MOST_DIGITS:
        values, good = plain_digits(words, starts, ends), None
    else:
        values, good = digits(words, starts, ends)
    plain = ~((rows.buffer[starts] == 48) & (lengths > 1))
    if lengths.max(initial=0) >= MOST_DIGITS:
        plain &= values < 2**63
    good = plain if good is None else good & plain
    signed = values.view(np.int64)
    if not good.all():
        whole = rows.buffer.tobytes()
        for i in np.flatnonzero(~good).tolist():
            text = whole[starts[i] : ends[i]]
            if not is_integer(text):
                raise NotIntegersError
            signed[i] = int(text)
    return signed


class TextEnds:
    """Texts, numbered as they first appear, the source of an edge before its target."""

    def __init__(self) -> None:
        self._table = Interner()
        self._long: dict[bytes, int] = {}

    def add(self, rows: Rows) -> tuple[Positions, Positions]:
        """Numbers in order of first appearance, which are positions already."""
        starts, ends = rows.starts.ravel(), rows.ends.ravel()
        words = _words(rows.buffer, starts, np.minimum(ends - starts, _LONG))
        long = np.flatnonzero(ends - starts > _LONG)
        if long.size:
            whole = rows.buffer.tobytes()
            texts = [whole[a:b] for a, b in zip(starts[long].tolist(), ends[long].tolist(), strict=True)]
            words[long] = 0
            # No text begins with a NUL byte, so a first word of 0 leaves the second one free for a number.
            words[long, 1] = [self._long.setdefault(text, len(self._long) + 1) for text in texts]
        codes = self._table.intern(words)
        return codes[0::2], codes[1::2]

    def finish(self, columns: list[Positions]) -> Nodes:
        """The texts; the columns stay as they are."""
        words, long = self._table.keys(), list(self._long)
        lengths, parts = [np.zeros(1, np.int64)], [b""]
        for start in range(0, len(self._table), _STEP):
            length, text = _spelt(words[start : start + _STEP].astype("<u8", copy=False), long)
            lengths.append(length)
            parts.append(text)
        offsets = np.cumsum(np.concatenate(lengths))
        return Nodes("text", {"offsets": offsets, "bytes": np.frombuffer(b"".join(parts), np.uint8)})


def _words(buffer: npt.NDArray[np.uint8], starts: _Places, lengths: _Places) -> npt.NDArray[np.uint64]:
    """The texts as machine words (texts x words), eight bytes each, zeros after their ends."""
    view = words_of(buffer)
    words = np.empty((len(starts), max(1, -(-int(lengths.max(initial=0)) // 8))), np.uint64)
    for k in range(words.shape[1]):
        words[:, k] = view[starts + 8 * k]
        words[:, k] &= _FIRST_BYTES[np.clip(lengths - 8 * k, 0, 8)]
    return words


def _spelt(block: npt.NDArray[np.uint64], long: list[bytes]) -> tuple[_Places, bytes]:
    """The lengths of texts kept as words (texts x words), and the texts one after another."""
    letters = block.view(np.uint8)
    used = letters != 0
    lengths = np.count_nonzero(used, axis=1)
    elsewhere = np.flatnonzero((block[:, 0] == 0) & (lengths > 0))
    if not elsewhere.size:
        return lengths, letters[used].tobytes()
    texts = [row.tobytes().rstrip(b"\0") for row in letters]
    for i in elsewhere.tolist():
        texts[i] = long[int(block[i, 1]) - 1]
        lengths[i] = len(texts[i])
    return lengths, b"".join(texts)


_Words = npt.NDArray[np.uint64]

_ROOM = 4
"""The table has at least this many slots for each key: most keys are then found at the first look."""

_SECRET = np.random.default_rng()  # from the system's own entropy; no result depends on it


def _odd(n: int) -> _Words:
    """Odd multipliers that nobody can foresee."""
    return _SECRET.integers(0, 1 << 64, n, dtype=np.uint64) | np.uint64(1)


_MIX = _odd(2)
_multipliers = _odd(64)
"""Each word of a key has its own; there are more of them when a key has more words."""


def _multipliers_of(width: int) -> _Words:
    global _multipliers
    if width > len(_multipliers):
        _multipliers = np.concatenate([_multipliers, _odd(width)])
    return _multipliers


class Interner:
    """Keys numbered 0, 1, 2, ... in order of first appearance, many at a time.

    An open-addressing hash table in numpy arrays. A key is a row of machine words, compared whole: what the hash does
    decides only how fast it goes. It is another one in each process, so that nobody can write a file whose keys all
    meet in one slot; the numbers are those of first appearance in any case.

    >>> table = Interner()
    >>> table.intern(np.array([[7], [3], [7], [9]], np.uint64)).tolist(), table.keys().tolist()
    ([0, 1, 0, 2], [[7], [3], [9]])
    """

    def __init__(self) -> None:
        self._n = 0
        self._bits = 10
        self._slots = np.full(1 << self._bits, -1, np.int32)
        self._keys = np.zeros((1, 1), np.uint64)

    def __len__(self) -> int:
        return self._n

    def keys(self) -> _Words:
        """The keys in order, one row each."""
        return self._keys[: self._n]

    def intern(self, words: _Words) -> _Codes:
        """The number of each key, a row of words; last words that are missing count as 0."""
        words = self._reserve(words)
        known, slot = self._n, self._home(words)
        codes = self._slots[slot]
        pending = np.flatnonzero(self._differ(codes, words))
        firsts: list[_Places] = []
        at: list[_Places] = []
        step = 0
        while pending.size:
            here, pending_words = slot[pending], words[pending]
            entries = self._slots[here]
            empty = np.flatnonzero(entries < 0)
            if empty.size:
                first, where = self._claim(pending[empty], here[empty], pending_words[empty])
                firsts.append(first)
                at.append(where)
                entries = self._slots[here]
            codes[pending] = entries
            left = np.flatnonzero(self._differ(entries, pending_words))
            step += 1  # steps of 1, 2, 3, ... come by every slot, and do not pile up as equal ones do
            pending = pending[left]
            slot[pending] = (here[left] + step) & (len(self._slots) - 1)
        if len(firsts) > 1:
            self._renumber(known, codes, np.concatenate(firsts), np.concatenate(at))
        return codes

    def _home(self, words: _Words) -> _Places:
        """The first slot to look at: a sum over words in which a 0 counts nothing, so that it may be left out."""
        h = np.zeros(len(words), np.uint64)
        multipliers = _multipliers_of(words.shape[1])
        for k in range(words.shape[1]):
            x = words[:, k] * multipliers[k]
            x ^= x >> np.uint64(32)
            x *= _MIX[0]
            h += x
        h ^= h >> np.uint64(32)
        h *= _MIX[1]
        h >>= np.uint64(64 - self._bits)
        return h.view(np.int64)

    def _differ(self, codes: _Codes, words: _Words) -> npt.NDArray[np.bool_]:
        """Where a slot is empty or holds another key."""
        differ = codes < 0
        keys = self._keys.take(codes, axis=0, mode="wrap")
        for k in range(words.shape[1]):
            differ |= keys[:, k] != words[:, k]
        return differ

    def _claim(self, rows: _Places, slots: _Places, words: _Words) -> tuple[_Places, _Places]:
        """Give each of these empty slots to the first row that wants it; those rows and their slots."""
        mark = -2 - np.arange(len(rows), dtype=np.int32)
        self._slots[slots[::-1]] = mark[::-1]  # the last one written stays
        won = np.flatnonzero(self._slots[slots] == mark)
        where, n = slots[won], self._n
        self._n = n + len(won)
        self._slots[where] = np.arange(n, self._n, dtype=np.int32)
        self._keys[n : self._n] = words[won]
        return rows[won], where

    def _renumber(self, known: int, codes: _Codes, firsts: _Places, slots: _Places) -> None:
        """Put the keys from `known` on into the order in which they first appear."""
        order = np.argsort(firsts)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(known, self._n, dtype=np.int32)
        self._slots[slots] = rank
        self._keys[known : self._n] = self._keys[known : self._n][order]
        new = np.flatnonzero(codes >= known)
        codes[new] = rank[codes[new] - known]

    def _reserve(self, words: _Words) -> _Words:
        """Room for that many more keys of that many words; the words, as many as the table has."""
        need, (room, width) = self._n + len(words), self._keys.shape
        if need > room or words.shape[1] > width:
            wider = np.zeros((max(need, 2 * room if need > room else room), max(words.shape[1], width)), np.uint64)
            wider[: self._n, :width] = self._keys[: self._n]
            self._keys = wider
        if _ROOM * need > len(self._slots):
            self._bits = int(_ROOM * need - 1).bit_length()
            self._rebuild()
        missing = self._keys.shape[1] - words.shape[1]
        return np.pad(words, ((0, 0), (0, missing))) if missing else words

    def _rebuild(self) -> None:
        self._slots = np.full(1 << self._bits, -1, np.int32)
        block = 1 << 16
        for start in range(0, self._n, block):
            codes = np.arange(start, min(start + block, self._n), dtype=np.int32)
            slot, step = self._home(self._keys[codes]), 0
            while codes.size:
                free = np.flatnonzero(self._slots[slot] < 0)
                self._slots[slot[free]] = codes[free]
                left = np.flatnonzero(self._slots[slot] != codes)
                step += 1
                codes, slot = codes[left], (slot[left] + step) & (len(self._slots) - 1)
