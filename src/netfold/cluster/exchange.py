"""What a rank owns of a graph in parts, and what it exchanges: rows of tables brought to who needs them, and back.

Every rank owns consecutive rows of each table, and needs some rows of others: those that its edges name. They travel
in size - 1 rounds, one peer's rows alive at a time and the next on their way; gradients go back the same way. This file
alone sends to single ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from scipy import sparse
from torch import Tensor

from netfold.cluster.ranks import Ranks
from netfold.data.nodes import Nodes
from netfold.errors import InputError
from netfold.io.parts import PartsFolder, joined_names, symmetry_keys, symmetry_sum
from netfold.learn.sparse_rows import SparseRows, add_rows

__all__ = ["Exchange", "Giving", "LinkedGraph", "RankGraph", "RankRows", "named_rows", "row_sums", "swapped"]

_FETCH, _GIVE = 1, 2


def swapped(ranks: Ranks, numbers: Sequence[Tensor]) -> list[Tensor]:
    """Give each rank the integers that are for it (`numbers[q]`), and get what each has for this one, by rank."""
    gives = [len(x) for x in numbers]
    takes = [counts[ranks.rank] for counts in ranks.gather(gives)]
    whole = torch.cat([x.to(ranks.device, torch.int64) for x in numbers])
    return list(torch.split(ranks.swap(whole, gives, takes), takes))


class Exchange:
    """Who needs which rows of whom; `fetch` brings them here, and `giving` is its adjoint."""

    def __init__(self, ranks: Ranks, needs: Sequence[Tensor]):
        """`needs[q]` are the rows of rank q's block that this rank needs, ascending; none of its own."""
        self._ranks = ranks
        self.needs = [x.to(ranks.device, torch.int64) for x in needs]
        self.sent = 0
        """Bytes that this rank has sent to others since it was made, what it told them of its needs left out."""
        self._space: dict[tuple[str, torch.dtype], Tensor] = {}
        self.wanted = swapped(ranks, self.needs)
        """Which of the own rows each rank wants: told once."""

    @property
    def order(self) -> list[int]:
        """The other ranks, in the order in which their rows come."""
        ranks = self._ranks
        return [(ranks.rank - s) % ranks.size for s in range(1, ranks.size)]

    @property
    def needed(self) -> int:
        """U: how many rows of others this rank needs."""
        return sum(map(len, self.needs))

    def fetch(self, table: Tensor, *, lent: bool = False) -> Iterator[tuple[int, Tensor]]:
        """Each other rank and the rows of its table that are needed here: |needs[q]| x width.

        Rows that are `lent` are good until the next ones are asked for, and of one such fetch at a time: the memory is
        used again, as new memory of this size has the system clear it page by page.
        """
        return self._rounds(table, [self._ask(q, table, 0, lent) for q in self.order[:1]], lent)  # on their way at once

    def _rounds(self, table: Tensor, coming: list[tuple[Any, Tensor]], lent: bool) -> Iterator[tuple[int, Tensor]]:
        order = self.order
        for i, q in enumerate(order):
            work, rows = coming.pop()
            self._wait(work)
            coming += [self._ask(other, table, i + 1, lent) for other in order[i + 1 : i + 2]]
            yield q, rows

    def _ask(self, q: int, table: Tensor, turn: int, lent: bool) -> tuple[Any, Tensor]:
        """Have the rows of q come, and send those that the rank as far on the other side wants."""
        to = (2 * self._ranks.rank - q) % self._ranks.size
        if lent:
            own = self.space("wanted", len(self.wanted[to]), table)
            torch.index_select(table, 0, self.wanted[to], out=own)
            rows = self.space(f"rows {turn % 2}", len(self.needs[q]), table)
        else:
            own = table.index_select(0, self.wanted[to])
            rows = table.new_empty(len(self.needs[q]), *table.shape[1:])
        return (self._both(to, own, q, rows, _FETCH), own), rows

    def space(self, name: str, count: int, like: Tensor) -> Tensor:
        """So many rows as wide as those of a table, of anything: always the same memory for a name."""
        width = int(np.prod(like.shape[1:]))
        key, size = (name, like.dtype), count * width
        if key not in self._space or self._space[key].numel() < size:
            self._space.pop(key, None)
            self._space[key] = like.new_empty(size)
        return self._space[key][:size].view(count, *like.shape[1:])

    def giving(self, out: Tensor) -> Giving:
        """Rows for others, and theirs for this rank, which are added to `out`."""
        return Giving(self, out)

    def _both(self, to: int, own: Tensor, source: int, rows: Tensor, tag: int) -> list[Any]:
        """Send to one rank and receive from another at once; nothing where there is nothing."""
        operations = []
        if len(own):
            operations.append(dist.P2POp(dist.isend, own, to, tag=tag))
            self.sent += own.numel() * own.element_size()
            self._ranks.sent += own.numel() * own.element_size()
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
        self._turn = 0

    def zeros(self, q: int) -> Tensor:
        """Where to put what is for rank q, before it is sent: |needs[q]| x width, good until the one after the next."""
        self._turn = 1 - self._turn
        return self._exchange.space(f"given {self._turn}", len(self._exchange.needs[q]), self._out).zero_()

    def send(self, q: int, rows: Tensor) -> None:
        """Give rank q what belongs to its rows: |needs[q]| x width."""
        exchange = self._exchange
        source = (2 * exchange._ranks.rank - q) % exchange._ranks.size
        self.finish()
        back = exchange.space("back", len(exchange.wanted[source]), self._out)
        rows = rows.contiguous()
        work = exchange._both(q, rows, source, back, _GIVE)
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


# -------------------------------------------------------------------- the rows of a rank


class RankGraph:
    """Whole, consecutive parts of a graph: those of a rank. Nothing of the others is read."""

    def __init__(self, folder: PartsFolder, ranks: Ranks):
        self.folder, self.ranks = folder, ranks
        cuts = np.arange(ranks.size + 1) * len(folder) // ranks.size
        self.parts = range(int(cuts[ranks.rank]), int(cuts[ranks.rank + 1]))
        self.bounds: npt.NDArray[np.int64] = folder.starts[cuts]
        """The position of each rank's first node, and n at last."""
        self._rows: dict[int, sparse.csr_array] = {}

    @property
    def n_nodes(self) -> int:
        """Of all ranks."""
        return self.folder.n_nodes

    @property
    def first(self) -> int:
        """The position of this rank's first node."""
        return int(self.bounds[self.ranks.rank])

    @property
    def m(self) -> int:
        """How many nodes this rank owns."""
        return int(self.bounds[self.ranks.rank + 1]) - self.first

    def by_part(self) -> list[tuple[int, slice]]:
        """Each own part, and which of the own rows it has."""
        starts = self.folder.starts - self.first
        return [(p, slice(int(starts[p]), int(starts[p + 1]))) for p in self.parts]

    def check(self) -> None:
        """Read the own parts once: hashes, entries, and, over all ranks, that an undirected graph is symmetric."""
        keys = np.array(self.ranks.first_says(symmetry_keys().tolist()), np.uint64)
        total = self.ranks.together(lambda: self._checked(keys))
        if not self.folder.directed and sum(self.ranks.gather(total)) % (1 << 64):
            raise InputError(f"{self.folder.folder} is damaged: it is called undirected, and is not symmetric")

    def _checked(self, keys: npt.NDArray[np.uint64]) -> int:
        total = 0
        for p in self.parts:
            self.folder.check(p)
            rows = self.rows(p)
            total += 0 if self.folder.directed else symmetry_sum(rows, int(self.folder.starts[p]), keys)
        return total % (1 << 64)

    def rows(self, p: int) -> sparse.csr_array:
        """The rows of part p, mapped: nodes of the part x n; looked at when they are first asked for."""
        if p not in self._rows:
            self._rows[p] = self.folder.rows(p)
        return self._rows[p]

    def names(self) -> Nodes:
        """The names of the own nodes."""
        own = [self.folder.names(p) for p in self.parts if self.folder.files[p]["nodes"]]
        return joined_names(own) if own else Nodes(self.folder.facts["names"], _NO_NAMES)

    def pieces(self, most: int) -> Iterator[list[tuple[int, int, int]]]:
        """The own rows in chunks of at most `most`: each some (part, first row, end) that follow one another.

        Small parts are taken together, and a part that is larger is cut; what is drawn at random is drawn by part.
        """
        chunk: list[tuple[int, int, int]] = []
        size = 0
        for p in self.parts:
            nodes, start = self.folder.files[p]["nodes"], 0
            while start < nodes:
                end = min(nodes, start + most - size)
                chunk.append((p, start, end))
                size, start = size + end - start, end
                if size == most:
                    yield chunk
                    chunk, size = [], 0
        if chunk:
            yield chunk


class LinkedGraph(RankGraph):
    """The same parts, links counting in either direction, by the rule of `netfold.data.edges.links`; in a unit."""

    def __init__(self, graph: RankGraph, *, loops: bool, unit: float = 1.0):
        """With `loops`, a node may be linked with itself. What is too light to be a float32 in the unit is left out."""
        super().__init__(graph.folder, graph.ranks)
        if loops and unit == 1 and not graph.folder.directed:
            self._rows = {p: graph.rows(p) for p in graph.parts}
            return
        at, to, weights = _arcs(graph)
        if graph.folder.directed:
            back = _turned(graph, at, to, weights)
            at, to, weights = (np.concatenate([x, y]) for x, y in zip((at, to, weights), back, strict=True))
        stays = slice(None) if loops else at != to
        rows, values = at[stays] - graph.first, weights[stays] * (1 / unit)
        own = sparse.coo_array((values, (rows, to[stays])), shape=(graph.m, graph.n_nodes)).tocsr()
        own.sum_duplicates()
        whole = sparse.csr_array(own.astype(np.float32))
        whole.eliminate_zeros()
        self._rows = {p: whole[rows] for p, rows in graph.by_part()}

    def matrix(self) -> sparse.csr_array:
        """The rows of all own nodes: m x n."""
        own = [self.rows(p) for p in self.parts]
        empty = sparse.csr_array((0, self.n_nodes), dtype=np.float32)
        return sparse.csr_array(sparse.vstack([empty, *own], format="csr"))


def _arcs(graph: RankGraph) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The arcs that leave own nodes: from, to, weights."""
    parts = [(slice(own.start, own.stop), graph.rows(p)) for p, own in graph.by_part()]
    at = [np.repeat(np.arange(own.start, own.stop) + graph.first, np.diff(x.indptr)) for own, x in parts]
    none = np.zeros(0, np.int64)
    return (
        np.concatenate([none, *at]),
        np.concatenate([none, *(np.asarray(x.indices, np.int64) for _, x in parts)]),
        np.concatenate([np.zeros(0), *(np.asarray(x.data, np.float64) for _, x in parts)]),
    )


def _turned(
    graph: RankGraph, at: npt.NDArray[np.int64], to: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The arcs that lead to own nodes, of those that leave the nodes of all ranks, turned round."""
    owner = np.searchsorted(graph.bounds, to, side="right") - 1
    columns = np.stack([to, at, weights.view(np.int64)])
    coming = swapped(graph.ranks, [torch.from_numpy(columns[:, owner == q].ravel()) for q in range(graph.ranks.size)])
    turned = np.concatenate([x.numpy(force=True).reshape(3, -1) for x in coming], axis=1)
    return turned[0], turned[1], turned[2].view(np.float64)


def named_rows(graph: RankGraph, columns: Iterable[npt.NDArray[Any]]) -> list[npt.NDArray[np.int64]]:
    """For each rank, the rows of its block that some columns name, ascending; none of the own."""
    touched = [np.zeros(int(b - a), bool) for a, b in pairwise(graph.bounds)]
    for indices in columns:
        for start in range(0, len(indices), 1 << 22):
            some = np.asarray(indices[start : start + (1 << 22)])
            for q in range(graph.ranks.size):
                low, high = graph.bounds[q], graph.bounds[q + 1]
                if q != graph.ranks.rank:
                    touched[q][some[(some >= low) & (some < high)] - low] = True
    return [np.flatnonzero(x) for x in touched]


_NO_NAMES: dict[str, npt.NDArray[Any]] = {
    "ints": np.zeros(0, np.int64), "offsets": np.zeros(1, np.int64), "bytes": np.zeros(0, np.uint8)
}  # fmt: skip
Weigh = Callable[[sparse.csr_array, int], sparse.csr_array]
"""From rows, and the position of the first among the own ones, to the rows that are read."""


class RankRows:
    """The own rows in chunks, each cut by who owns its columns; those of another rank are numbered as they come."""

    def __init__(self, graph: RankGraph, most: int, *, dtype: torch.dtype, device: torch.device, resident: bool = True):
        """`most` rows are walked together. Where they are not `resident`, a chunk is made anew when it is asked for."""
        self.graph, self._dtype, self._device = graph, dtype, device
        self._resident = resident
        self._blocks: dict[tuple[int, int], SparseRows | None] = {}
        self._picks: dict[tuple[int, int], npt.NDArray[np.int64] | None] = {}
        self._weigh: Weigh = lambda rows, first: rows
        self._chunks = list(graph.pieces(max(1, most)))
        self._coins: tuple[tuple[int, int], npt.NDArray[Any]] | None = None
        ends = np.cumsum([0, *(sum(b - a for _, a, b in chunk) for chunk in self._chunks)])
        self.slices = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        """Which own rows each chunk has."""

    @cached_property
    def needs(self) -> list[npt.NDArray[np.int64]]:
        """For each rank, the rows of its block that the own rows name; none of the own."""
        return named_rows(self.graph, (self.graph.rows(p).indices for p in self.graph.parts))

    def exchange(self) -> Exchange:
        """What brings the rows of others that these name."""
        return Exchange(self.graph.ranks, [torch.from_numpy(x) for x in self.needs])

    def weighed(self, weigh: Weigh) -> None:
        """From now on read the rows as `weigh` makes them, which keeps their pattern."""
        self._weigh = weigh
        self._blocks.clear()

    def csr(self, c: int) -> sparse.csr_array:
        """Chunk c, as it is weighed: rows x n."""
        blocks = []
        for p, a, b in self._chunks[c]:
            rows = self.graph.rows(p)
            first, last = int(rows.indptr[a]), int(rows.indptr[b])
            own = (rows.data[first:last], rows.indices[first:last], rows.indptr[a : b + 1] - rows.indptr[a])
            blocks.append(sparse.csr_array(own, shape=(b - a, rows.shape[1])))
        whole = blocks[0] if len(blocks) == 1 else sparse.csr_array(sparse.vstack(blocks, format="csr"))
        return self._weigh(whole, self.slices[c].start)

    def block(self, c: int, q: int) -> SparseRows | None:
        """Chunk c at the columns of rank q: rows x |needs[q]|, or x m where q is this rank; None where it is empty."""
        if (c, q) not in self._blocks:
            made = self._cut(c)
            if not self._resident:
                self._blocks.clear()
            self._blocks.update(made)
        return self._blocks[c, q]

    def at_columns(self, exchange: Exchange, own: Tensor) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
        """From columns, as the graph numbers them, to a number of each, of which the own ones (m) are known."""
        graph, me = self.graph, self.graph.ranks.rank
        values = {q: rows[:, 0].numpy(force=True) for q, rows in exchange.fetch(own[:, None])}
        values[me] = own.numpy(force=True)

        def of(columns: npt.NDArray[Any]) -> npt.NDArray[Any]:
            out = np.empty(len(columns), values[me].dtype)
            for q, numbers in values.items():
                low, high = graph.bounds[q], graph.bounds[q + 1]
                here = (columns >= low) & (columns < high)
                at = columns[here] - low
                out[here] = numbers[at if q == me else np.searchsorted(self.needs[q], at)]
            return out

        return of

    def _cut(self, c: int) -> dict[tuple[int, int], SparseRows | None]:
        rows, graph = self.csr(c), self.graph
        made: dict[tuple[int, int], SparseRows | None] = {}
        for q in range(graph.ranks.size):
            low, high = int(graph.bounds[q]), int(graph.bounds[q + 1])
            picked, width = self._picked(rows, q), high - low
            ends = rows.indptr
            if picked is not None:
                counts = np.concatenate([[0], np.cumsum((rows.indices >= low) & (rows.indices < high))])
                ends = counts[rows.indptr]
            columns: npt.NDArray[Any] = (rows.indices if picked is None else rows.indices[picked]) - low
            if q != graph.ranks.rank:
                columns, width = np.searchsorted(self.needs[q], columns), len(self.needs[q])
            data = rows.data if picked is None else rows.data[picked]
            own = sparse.csr_array(
                (data, columns.astype(np.int32), ends.astype(np.int32)), shape=(rows.shape[0], width)
            )
            made[c, q] = SparseRows.from_scipy(own, dtype=self._dtype, device=self._device) if len(data) else None
        return made

    def _picked(self, rows: sparse.csr_array, q: int) -> npt.NDArray[np.int64] | None:
        """Which entries of a chunk have their columns at rank q; None: all, as they have in one process."""
        if self.graph.ranks.size == 1:
            return None
        low, high = self.graph.bounds[q], self.graph.bounds[q + 1]
        return np.flatnonzero((rows.indices >= low) & (rows.indices < high))

    def dropped(self, c: int, q: int, share: float, draw: Callable[[int], torch.Generator], epoch: int) -> Any:
        """Block (c, q) without a random share of its entries, the others scaled up; drawn by part, whoever owns it."""
        block = self.block(c, q)
        if block is None or not share:
            return block
        coins = np.concatenate([self._drawn(p, a, b, share, draw, epoch) for p, a, b in self._chunks[c]])
        if (c, q) not in self._picks:
            self._picks = {**(self._picks if self._resident else {}), (c, q): self._picked(self.csr(c), q)}
        picked = self._picks[c, q]
        own = torch.from_numpy(coins if picked is None else coins[picked]).to(self._device)
        return block.with_values(block.values * own.to(self._dtype) / (1 - share))

    def _drawn(
        self, p: int, a: int, b: int, share: float, draw: Callable[[int], torch.Generator], epoch: int
    ) -> npt.NDArray[Any]:
        """Whether each entry of rows a to b - 1 of part p stays: all of the part's coins are thrown, some are read."""
        if self._coins is None or self._coins[0] != (p, epoch):
            entries = self.graph.folder.files[p]["arcs"]
            thrown = torch.empty(entries).bernoulli_(1 - share, generator=draw(p)).to(torch.uint8).numpy()
            self._coins = (p, epoch), thrown
        indptr = self.graph.folder.arrays(p)["indptr"]
        return self._coins[1][int(indptr[a]) : int(indptr[b])]

    def matmul(self, exchange: Exchange, table: Tensor, *, block: Callable[[int, int], Any] | None = None) -> Tensor:
        """X T for a table T that is spread over ranks as the rows are: m x width, the rows of others fetched."""
        block = block or self.block
        out = table.new_zeros(self.graph.m, table.shape[1])
        me = self.graph.ranks.rank
        for q, rows in self._sources(exchange, table, me):
            for c, own in enumerate(self.slices):
                if (part := block(c, q)) is not None:
                    out[own] += part.matmul(rows)
        return out

    def _sources(self, exchange: Exchange, table: Tensor, me: int) -> Iterator[tuple[int, Tensor]]:
        coming = exchange.fetch(table, lent=True)
        yield me, table
        yield from coming

    def add_transposed(
        self, exchange: Exchange, rows: Tensor, out: Tensor, *, block: Callable[[int, int], Any] | None = None
    ) -> None:
        """out += Xᵀ D for D of the own rows (m x width): what falls to rows of others is given to them."""
        block = block or self.block
        giving = exchange.giving(out)
        for q in exchange.order:
            product = giving.zeros(q)
            self._add_to(product, rows, q, block)
            giving.send(q, product)
        self._add_to(out, rows, self.graph.ranks.rank, block)
        giving.finish()

    def _add_to(self, out: Tensor, rows: Tensor, q: int, block: Callable[[int, int], Any]) -> None:
        for c, own in enumerate(self.slices):
            if (part := block(c, q)) is not None:
                part.add_transposed_matmul(rows[own].contiguous(), out)


def row_sums(rows: sparse.csr_array) -> npt.NDArray[np.float64]:
    """The sum of each row, added one by one in float64; scipy's own adds float32 as such."""
    index = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return np.bincount(index, weights=rows.data, minlength=rows.shape[0]).astype(np.float64)
