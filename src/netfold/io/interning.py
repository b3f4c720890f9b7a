"""`Interner`: numbers for keys as they first appear, for many keys at a time.

An open-addressing hash table in numpy arrays. A key is a row of machine words, compared whole: what the hash does
decides only how fast it goes. It is another one in each process, so that nobody can write a file whose keys all meet
in one slot; the numbers are those of first appearance in any case.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_Words = npt.NDArray[np.uint64]
_Codes = npt.NDArray[np.int32]
_Places = npt.NDArray[np.int64]

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
    """Keys numbered 0, 1, 2, ... in order of first appearance.

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
