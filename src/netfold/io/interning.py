"""`Interner`: numbers for keys as they first appear, for many keys at a time.

An open-addressing hash table in numpy arrays. A key is a row of machine words, compared whole: what the hash does
decides only how fast it goes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_Words = npt.NDArray[np.uint64]
_Codes = npt.NDArray[np.int32]
_Places = npt.NDArray[np.int64]

_ROOM = 3
"""The table has at least this many slots for each key: most keys are then found at the first look."""

_MIX = np.array([0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93], np.uint64)
_ODD = np.uint64(0x9E3779B97F4A7C15) * np.arange(1, 64, 2, dtype=np.uint64)
"""Odd multipliers with well spread bits; each word of a key has its own."""


class Interner:
    """Keys numbered 0, 1, 2, ... in order of first appearance.

    >>> table = Interner()
    >>> table.intern([np.array([7, 3, 7, 9], np.uint64)]).tolist(), table.keys()[0].tolist()
    ([0, 1, 0, 2], [7, 3, 9])
    """

    def __init__(self) -> None:
        self._n = 0
        self._bits = 10
        self._slots = np.full(1 << self._bits, -1, np.int32)
        self._keys = [np.zeros(0, np.uint64)]

    def __len__(self) -> int:
        return self._n

    def keys(self) -> list[_Words]:
        """The keys in order, one array for each word of a key."""
        return [column[: self._n] for column in self._keys]

    def intern(self, words: Sequence[_Words]) -> _Codes:
        """The number of each key words[0][i], words[1][i], ...; missing last words count as 0."""
        self._reserve(len(words[0]), len(words))
        known, slot = self._n, self._home(words)
        codes = self._slots[slot]
        pending = np.flatnonzero(self._differ(codes, words))
        firsts: list[_Places] = []
        at: list[_Places] = []
        while pending.size:
            here = slot[pending]
            empty = self._slots[here] < 0
            if empty.any():
                first, where = self._claim(pending[empty], here[empty], words)
                firsts.append(first)
                at.append(where)
            found = self._slots[here]
            differ = self._differ(found, [column[pending] for column in words])
            codes[pending] = found
            pending = pending[differ]
            slot[pending] = (slot[pending] + 1) & (len(self._slots) - 1)
        if len(firsts) > 1:
            self._renumber(known, codes, np.concatenate(firsts), np.concatenate(at))
        return codes

    def _home(self, words: Sequence[_Words]) -> _Places:
        """The first slot to look at: a sum over words in which a 0 counts nothing, so that it may be left out."""
        h = np.zeros(len(words[0]), np.uint64)
        for k, column in enumerate(words):
            x = column * _ODD[k % len(_ODD)]
            x ^= x >> np.uint64(32)
            x *= _MIX[0]
            h += x
        h ^= h >> np.uint64(32)
        h *= _MIX[1]
        h >>= np.uint64(64 - self._bits)
        return h.view(np.int64)

    def _differ(self, codes: _Codes, words: Sequence[_Words]) -> npt.NDArray[np.bool_]:
        """Where a slot is empty or holds another key."""
        differ = codes < 0
        for k, column in enumerate(self._keys):
            differ |= column[codes] != (words[k] if k < len(words) else 0)
        return differ

    def _claim(self, rows: _Places, slots: _Places, words: Sequence[_Words]) -> tuple[_Places, _Places]:
        """Give each of these empty slots to the first row that wants it; those rows and their slots."""
        mark = np.arange(len(rows), dtype=np.int32)
        np.subtract(-2, mark, out=mark)
        self._slots[slots[::-1]] = mark[::-1]  # the last one written stays
        won = self._slots[slots] == mark
        first, where, n = rows[won], slots[won], self._n
        self._n = n + len(first)
        self._slots[where] = np.arange(n, self._n, dtype=np.int32)
        for column, given in zip(self._keys, words, strict=False):
            column[n : self._n] = given[first]
        return first, where

    def _renumber(self, known: int, codes: _Codes, firsts: _Places, slots: _Places) -> None:
        """Put the keys from `known` on into the order in which they first appear."""
        order = np.argsort(firsts)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(known, self._n, dtype=np.int32)
        self._slots[slots] = rank
        for column in self._keys:
            column[known : self._n] = column[known : self._n][order]
        new = codes >= known
        codes[new] = rank[codes[new] - known]

    def _reserve(self, more: int, width: int) -> None:
        """Room for `more` keys of `width` words."""
        need = self._n + more
        room = len(self._keys[0])
        if need > room:
            room = max(need, 2 * room)
            self._keys = [_lengthened(column, self._n, room) for column in self._keys]
        self._keys += [np.zeros(room, np.uint64) for _ in range(width - len(self._keys))]
        if _ROOM * need > len(self._slots):
            self._bits = int(_ROOM * need - 1).bit_length()
            self._rebuild()

    def _rebuild(self) -> None:
        self._slots = np.full(1 << self._bits, -1, np.int32)
        step = 1 << 16
        for start in range(0, self._n, step):
            codes = np.arange(start, min(start + step, self._n), dtype=np.int32)
            slot = self._home([column[codes] for column in self._keys])
            while codes.size:
                free = self._slots[slot] < 0
                self._slots[slot[free]] = codes[free]
                left = self._slots[slot] != codes
                codes, slot = codes[left], (slot[left] + 1) & (len(self._slots) - 1)


def _lengthened(column: _Words, used: int, room: int) -> _Words:
    longer = np.zeros(room, np.uint64)
    longer[:used] = column[:used]
    return longer
