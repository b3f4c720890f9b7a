"""Edges as they are read, kept in a few large arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.signedinteger]
Weights = npt.NDArray[np.float64] | None

_BLOCK = 1 << 22
"""Edges in a block: enough for it to lie in large pages of memory, and to go straight back to the system."""


class Collected:
    """The ends of edges (two rows of a block) and their weights, in the order in which they were added."""

    def __init__(self) -> None:
        self._ends: list[Column] = []
        self._weights: list[npt.NDArray[np.float64]] = []
        self._used = _BLOCK

    def add(self, u: Column, v: Column, weights: Weights) -> None:
        """Copy some edges to the end."""
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

    def take(self) -> tuple[list[Column], npt.NDArray[np.float64] | None]:
        """Columns u, v, u, v, ... and all weights; nothing is kept."""
        self._close()
        columns = [row for block in self._ends for row in block]
        weights = np.concatenate(self._weights) if self._weights else None
        self._ends, self._weights = [], []
        return columns, weights

    def _close(self) -> None:
        if self._ends and self._used < _BLOCK:
            self._ends[-1] = self._ends[-1][:, : self._used]
            self._weights[-1:] = [block[: self._used] for block in self._weights[-1:]]
            self._used = _BLOCK
