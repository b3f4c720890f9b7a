"""`Exchange`: rows of tables that are spread over ranks, brought to who needs them, and gradients brought back.

Every rank owns consecutive rows of each table, and needs some rows of others: those that its edges name. They travel
in size - 1 rounds, one peer's rows alive at a time and the next on their way. This file alone sends to single ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from netfold.cluster.ranks import Ranks
from netfold.learn.sparse_rows import add_rows

__all__ = ["Exchange", "Giving"]

_FETCH, _GIVE = 1, 2


class Exchange:
    """Who needs which rows of whom; `fetch` brings them here, and `giving` is its adjoint."""

    def __init__(self, ranks: Ranks, needs: Sequence[Tensor]):
        """`needs[q]` are the rows of rank q's block that this rank needs, ascending; none of its own."""
        self._ranks = ranks
        self.needs = [x.to(ranks.device, torch.int64) for x in needs]
        self.sent = 0
        """Bytes that this rank has sent to others since it was made, what it told them of its needs left out."""
        self.wanted = self._told()

    @property
    def order(self) -> list[int]:
        """The other ranks, in the order in which their rows come."""
        ranks = self._ranks
        return [(ranks.rank - s) % ranks.size for s in range(1, ranks.size)]

    @property
    def needed(self) -> int:
        """U: how many rows of others this rank needs."""
        return sum(map(len, self.needs))

    def _told(self) -> list[Tensor]:
        """Which of the own rows each rank wants: told once."""
        ranks = self._ranks
        counts = ranks.gather([len(x) for x in self.needs])
        wanted = [torch.empty(0, dtype=torch.int64, device=ranks.device) for _ in range(ranks.size)]
        for q in self.order:
            to = (2 * ranks.rank - q) % ranks.size
            wanted[to] = torch.empty(counts[to][ranks.rank], dtype=torch.int64, device=ranks.device)
            self._wait(self._both(q, self.needs[q], to, wanted[to], _FETCH))
        self.sent = 0
        return wanted

    def fetch(self, table: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Each other rank and the rows of its table that are needed here: |needs[q]| x width."""
        return self._rounds(table, [self._ask(q, table) for q in self.order[:1]])  # on their way at once

    def _rounds(self, table: Tensor, coming: list[tuple[Any, Tensor]]) -> Iterator[tuple[int, Tensor]]:
        order = self.order
        for i, q in enumerate(order):
            work, rows = coming.pop()
            self._wait(work)
            coming += [self._ask(other, table) for other in order[i + 1 : i + 2]]
            yield q, rows

    def _ask(self, q: int, table: Tensor) -> tuple[Any, Tensor]:
        """Have the rows of q come, and send those that the rank as far on the other side wants."""
        to = (2 * self._ranks.rank - q) % self._ranks.size
        own = table.index_select(0, self.wanted[to])
        rows = table.new_empty(len(self.needs[q]), *table.shape[1:])
        return (self._both(to, own, q, rows, _FETCH), own), rows

    def giving(self, out: Tensor) -> Giving:
        """Rows for others, and theirs for this rank, which are added to `out`."""
        return Giving(self, out)

    def _both(self, to: int, own: Tensor, source: int, rows: Tensor, tag: int) -> list[Any]:
        """Send to one rank and receive from another at once; nothing where there is nothing."""
        operations = []
        if len(own):
            operations.append(dist.P2POp(dist.isend, own, to, tag=tag))
            self.sent += own.numel() * own.element_size()
        if len(rows):
            operations.append(dist.P2POp(dist.irecv, rows, source, tag=tag))
        try:
            return [(w, to, source) for w in dist.batch_isend_irecv(operations)] if operations else []
        except RuntimeError as e:
            raise self._ranks.lost("an exchange", e, source) from e

    def _wait(self, work: Any) -> None:
        pending = work[0] if isinstance(work, tuple) else work
        for each, _, source in pending:
            try:
                each.wait()
            except RuntimeError as e:
                raise self._ranks.lost("an exchange", e, source) from e


class Giving:
    """One return of rows, the adjoint of a fetch: `send` for each rank in the order of the exchange, then `finish`."""

    def __init__(self, exchange: Exchange, out: Tensor):
        self._exchange, self._out = exchange, out
        self._last: tuple[Any, Tensor, int, Tensor] | None = None

    def send(self, q: int, rows: Tensor) -> None:
        """Give rank q what belongs to its rows: |needs[q]| x width."""
        exchange = self._exchange
        source = (2 * exchange._ranks.rank - q) % exchange._ranks.size
        back = self._out.new_empty(len(exchange.wanted[source]), *self._out.shape[1:])
        rows = rows.contiguous()
        work = exchange._both(q, rows, source, back, _GIVE)
        self.finish()
        self._last = work, rows, source, back

    def finish(self) -> None:
        """Add what the last round brought."""
        if self._last is None:
            return
        work, _, source, back = self._last
        self._exchange._wait(work)
        if len(back):
            add_rows(self._out, self._exchange.wanted[source], back)
        self._last = None
