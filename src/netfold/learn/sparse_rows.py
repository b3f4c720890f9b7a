"""`SparseRows`: rows of a sparse matrix as tensors, with products from both sides in time linear in the non-zeros.

And what is done with such rows: walked in chunks, and read without a random share of their entries.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from netfold.learn.draws import kept, share_of_24_bits

__all__ = [
    "PIECE", "WIDENED", "DenseBeside", "SomeRows", "SparseRows", "add_rows", "cached_parts", "dropped", "generator_on",
    "in_chunks", "parts", "product_in_chunks",
]  # fmt: skip

PIECE = {"cpu": 1 << 21, "cuda": 1 << 30}
"""How many numbers one temporary array may hold, by device.

On the CPU 8 MiB: what the C library hands out again at once; larger ones it fetches from the system page by page,
every time, and they fall out of the cache besides.
"""
WIDENED = {"cpu": PIECE["cpu"], "cuda": 1 << 25}
"""How many numbers of a table in 16 bits are made such of 32 at a time."""
_IN_CACHE = 1 << 19
"""Numbers of a long block that are worked on at a time on the CPU, so that a second pass finds them in the cache."""
_COLUMNS = 32
"""So many columns of a table in 16 bits at a time, where products read it by columns."""


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of a sparse matrix (m x n, nnz entries), and the same entries by column: for products from both sides."""

    crow: Tensor
    """m + 1: where each row starts."""
    col: Tensor
    """nnz: the column of each entry."""
    values: Tensor
    """nnz"""
    width: int
    """n"""
    by_column: tuple[Tensor, Tensor, Tensor]
    """Per touched column: where it starts; per entry: its row, and which entry of `values` it is."""
    touched: Tensor | None
    """The columns that have entries; None where that is (nearly) all of them, and `by_column` lists all."""

    @staticmethod
    def from_scipy(matrix: sparse.csr_array, *, dtype: torch.dtype = torch.float32, device: Any = "cpu") -> SparseRows:
        """Rows of a sorted CSR matrix."""
        m, n = matrix.shape
        if torch.device(device).type == "cuda" or 2 * matrix.nnz < n:  # sorted: the same, and a few cost no look at all
            crow, col = _tensor(matrix.indptr, np.int32, device), _tensor(matrix.indices, np.int32, device)
            owner = torch.arange(m, device=device).repeat_interleave(crow.diff())
            values = torch.tensor(matrix.data, dtype=dtype, device=device)
            return SparseRows(crow, col, values, n, *_by_column(col, owner, n))
        crow, col = (_tensor(x, np.int32, device) for x in (matrix.indptr, matrix.indices))
        values = torch.tensor(matrix.data, dtype=dtype, device=device)
        return SparseRows(crow, col, values, n, *_counted_by_column(crow, col, n))

    def __len__(self) -> int:
        return len(self.crow) - 1

    @property
    def entries(self) -> SparseRows:
        """The rows as their entries alone say them."""
        return self

    def with_values(self, values: Tensor) -> SparseRows:
        """The same pattern with other values."""
        return replace(self, values=values)

    def take(self, rows: Tensor, count: int | None = None) -> SparseRows:
        """These rows, in this order, made where the rows are; in O(nnz log nnz) of what is taken.

        `count`: how many entries they have, where that is known: a GPU then goes on without being waited for.
        """
        if count is None and not rows.is_cuda:  # in a third of the time of what follows
            return self._counted(*self._picked(rows))
        lengths = self.crow.diff().index_select(0, rows)
        crow = functional.pad(lengths.cumsum(0), (1, 0))
        owner = torch.arange(len(rows), device=rows.device).repeat_interleave(lengths, output_size=count)
        shift = self.crow.index_select(0, rows).long() - crow[:-1]
        entries = shift.index_select(0, owner) + torch.arange(len(owner), device=rows.device)
        col, values, crow = self.col.index_select(0, entries), self.values.index_select(0, entries), crow.int()
        if count is not None:
            return Segments.of(crow, col, values, self.width, owner)
        return SparseRows(crow, col, values, self.width, *_by_column(col, owner, self.width))

    def take_dropped(self, rows: Tensor, share: float, generator: torch.Generator) -> SparseRows:
        """As `dropped(self.take(rows), share, generator)`; on the CPU, entries that are dropped are not there."""
        if rows.is_cuda:
            return dropped(self.take(rows), share, generator)
        crow, col, values = self._picked(rows)
        coins = torch.empty(len(col), dtype=torch.bool).bernoulli_(1 - share, generator=generator)
        left = np.flatnonzero(coins.numpy())
        factor = float(torch.ones((), dtype=self.values.dtype).div_(1 - share))
        return self._counted(np.searchsorted(left, crow).astype(np.int32), col.take(left), values.take(left) * factor)

    def _picked(self, rows: Tensor) -> tuple[Any, Any, Any]:
        """Where these rows start among their entries, the columns of those and their values; on the CPU."""
        shape = len(self), self.width
        whole = sparse.csr_array((self.values.numpy(), self.col.numpy(), self.crow.numpy()), shape=shape)
        picked = whole[rows.numpy()]
        return picked.indptr.astype(np.int32, copy=False), picked.indices.astype(np.int32, copy=False), picked.data

    def _counted(self, crow: Any, col: Any, values: Any) -> SparseRows:
        """Rows of as many columns, of numpy arrays."""
        at, columns = torch.from_numpy(crow), torch.from_numpy(col)
        by_column = _counted_by_column(at, columns, self.width)
        return SparseRows(at, columns, torch.from_numpy(values), self.width, *by_column)

    def matmul(self, dense: Tensor) -> Tensor:
        """X D: (m x n) times (n x h), in O(nnz h); of a table in 16 bits summed in those of the rows."""
        if dense.dtype != torch.bfloat16:
            return _csr_matmul(self.crow, self.col, self.values, dense)
        if _reads_16_bits(dense, self.values):
            from netfold.learn.kernels import csr_product

            return csr_product(self.crow, self.col, self.values, dense)
        products = [_csr_matmul(self.crow, col, self.values, part) for col, part in self._widened(dense)]
        return torch.cat(products, dim=1)

    def matmul_parts(self, dense: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """X D some rows at a time, each while it is in the cache: (rows, product), to the bit that of `matmul`."""
        ranges = list(cached_parts(self, dense.shape[1]))
        if len(ranges) == 1 or dense.dtype == torch.bfloat16:
            yield slice(0, len(self)), self.matmul(dense)
            return
        at = self.crow[[part.start for part in ranges] + [len(self)]].tolist()
        for part, first, last in zip(ranges, at[:-1], at[1:], strict=True):
            crow = self.crow[part.start : part.stop + 1] - first
            yield part, _csr_matmul(crow, self.col[first:last], self.values[first:last], dense)

    def add_transposed_matmul(self, dense: Tensor, out: Tensor) -> None:
        """out += Xᵀ D with D m x h and out n x h, at the touched columns only."""
        starts, rows, entries = self.by_column
        values = self.values.index_select(0, entries)  # a fifth of the time of values[entries]
        for a, b, first, last in self._column_blocks(dense):
            block = starts[a : b + 1] - first, rows[first:last], values[first:last]
            if self.touched is None:
                _add_csr_matmul(*block, dense, out[a:b])
            else:
                add_rows(out, self.touched[a:b], _csr_matmul(*block, dense))

    def transposed_matmul(self, dense: Tensor) -> Tensor:
        """Xᵀ D with D m x h: n x h."""
        out = dense.new_zeros(self.width, dense.shape[1])
        self.add_transposed_matmul(dense.contiguous(), out)
        return out

    def _column_blocks(self, dense: Tensor) -> Iterator[tuple[int, int, int, int]]:
        """Ranges of touched columns and of their entries, such that a block's product is no large new allocation."""
        starts = self.by_column[0]
        size = max(1, (PIECE["cuda"] if dense.is_cuda else _IN_CACHE) // dense.shape[1])
        bounds = [*range(0, len(starts) - 1, size), len(starts) - 1]
        if len(bounds) == 2:  # as a rule: no need to ask a GPU where its entries are
            yield 0, bounds[1], 0, len(self.values)
        elif len(bounds) > 2:
            at = starts[bounds].tolist()
            yield from zip(bounds[:-1], bounds[1:], at[:-1], at[1:], strict=True)

    def sampled(self, left: Tensor, right: Tensor) -> Tensor:
        """left_i · right_j at every entry (i, j): nnz values, in O(nnz h); of 16 bits summed in those of the rows."""
        if right.dtype == torch.bfloat16 and _reads_16_bits(right, left):
            from netfold.learn.kernels import sampled_product

            return sampled_product(self.crow, self.col, left.contiguous(), right)
        if right.dtype == torch.bfloat16:
            sums, first = torch.zeros_like(self.values), 0
            for col, part in self._widened(right):
                rows = replace(self, col=col, width=len(part))
                sums += rows.sampled(left[:, first : first + part.shape[1]], part)
                first += part.shape[1]
            return sums
        crow, col = (self.crow, self.col) if left.is_cuda else (self.crow.long(), self.col.long())
        empty = _csr(crow, col, torch.zeros_like(self.values), (len(self), self.width))
        values: Tensor = torch.sparse.sampled_addmm(empty, left.contiguous(), right.t(), beta=0.0).values()
        return values

    def _widened(self, table: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """The column of each entry, and a table in 16 bits (n x h) in those of the rows, some of its columns at a time.

        Where few columns of X have entries, all columns of just those rows of the table, among which entries are.
        """
        if self.touched is None or not len(self.touched):
            for part in torch.split(table, _COLUMNS, dim=1):
                yield self.col, part.to(self.values.dtype)
        else:
            col = torch.searchsorted(self.touched, self.col.long()).to(self.col.dtype)
            yield col, table.index_select(0, self.touched).to(self.values.dtype)

    def row_sums(self) -> Tensor:
        """Σ_j x_ij: m values."""
        return self.matmul(self.values.new_ones(self.width, 1))[:, 0]

    def column_sums(self) -> Tensor:
        """Σ_i x_ij: n values."""
        out = self.values.new_zeros(self.width, 1)
        self.add_transposed_matmul(self.values.new_ones(len(self), 1), out)
        return out[:, 0]


@dataclass(frozen=True, eq=False)
class Segments(SparseRows):
    """Sparse rows that are made without asking how many columns have entries: `touched` names each once an entry.

    `by_column` has, per entry in the order of the columns, where those of its column end, its row, and which entry of
    `values` it is.
    """

    @staticmethod
    def of(crow: Tensor, col: Tensor, values: Tensor, width: int, owner: Tensor) -> Segments:
        """From rows and the row of each entry."""
        in_column, order = col.sort(stable=True)
        ends = torch.searchsorted(in_column, in_column, right=True)
        by_column = ends.int(), owner.index_select(0, order).int(), order.int()
        return Segments(crow, col, values, width, by_column, in_column)

    def add_transposed_matmul(self, dense: Tensor, out: Tensor) -> None:
        """out += Xᵀ D with D m x h and out n x h, at the touched columns only."""
        ends, rows, entries = self.by_column
        assert self.touched is not None
        if _reads_some(dense, self.values) and out.is_contiguous():
            from netfold.learn.kernels import add_segments

            add_segments(self.touched, ends, rows, entries, self.values, dense, out)
        else:
            each = dense.index_select(0, rows) * self.values.index_select(0, entries)[:, None]
            out.index_add_(0, self.touched, each)


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Some rows of a sparse matrix, read where they are: what is read of the others is their place alone."""

    whole: SparseRows
    """All rows, m x n."""
    only: Tensor
    """b: which of them."""
    place: Tensor
    """m: where each of all is among the b, or -1."""
    share: float = 0.0
    """Of the entries, dropped at random ..."""
    key: int = 0
    """... by this, and by their places among all."""

    def __len__(self) -> int:
        return len(self.only)

    @property
    def values(self) -> Tensor:
        """Those of all rows: nnz."""
        return self.whole.values

    def matmul(self, dense: Tensor) -> Tensor:
        """X D: (b x n) times (n x h)."""
        if not _reads_some(dense, self.values):
            return self._kept().matmul(dense).index_select(0, self.only)
        from netfold.learn.kernels import some_product

        whole = self.whole
        return some_product(whole.crow, whole.col, whole.values, dense, only=self.only, **self._dropped())

    def add_transposed_matmul(self, dense: Tensor, out: Tensor) -> None:
        """out += Xᵀ D with D b x h and out n x h."""
        whole, dense = self.whole, dense.contiguous()
        if whole.touched is not None or not (_reads_some(dense, self.values) and out.is_contiguous()):
            all_rows = dense.new_zeros(len(whole), dense.shape[1]).index_copy_(0, self.only, dense)
            self._kept().add_transposed_matmul(all_rows, out)
            return
        from netfold.learn.kernels import some_product

        starts, rows, entries = whole.by_column
        some_product(starts, rows, whole.values, dense, out, place=self.place, entries=entries, **self._dropped())

    def dropped(self, share: float, generator: torch.Generator) -> SomeRows:
        """As `dropped`; a key alone is drawn, on the CPU."""
        return replace(self, share=share, key=int(torch.randint(1 << 62, (), generator=generator)))

    def _kept(self) -> SparseRows:
        """All rows, without what is dropped."""
        if not self.share:
            return self.whole
        coins = kept(self.key, len(self.values), self.share, self.values.device)
        return self.whole.with_values(torch.where(coins, self.values / (1 - self.share), 0))

    def _dropped(self) -> dict[str, Any]:
        return {"key": self.key, "dropped": share_of_24_bits(self.share), "scale": 1 / (1 - self.share)}


@dataclass(frozen=True, eq=False)
class DenseBeside(SparseRows):
    """Sparse rows whose last columns are dense: numbers that (nearly) all nodes have, multiplied by plain products."""

    dense: Tensor
    """m x a: the last a of the `width` columns, of which `col` has none."""

    @staticmethod
    def beside(rows: SparseRows, dense: Tensor) -> DenseBeside:
        """Rows (of which `width` counts the dense columns already) with these beside them."""
        return DenseBeside(rows.crow, rows.col, rows.values, rows.width, rows.by_column, rows.touched, dense)

    @property
    def entries(self) -> SparseRows:
        """The sparse columns alone; the width stays."""
        return SparseRows(self.crow, self.col, self.values, self.width, self.by_column, self.touched)

    def take(self, rows: Tensor, count: int | None = None) -> SparseRows:
        """These rows, in this order."""
        return DenseBeside.beside(super().take(rows), self.dense[rows])

    def matmul(self, dense: Tensor) -> Tensor:
        """X D: (m x n) times (n x h), in O((nnz + m a) h)."""
        return super().matmul(dense).addmm_(self.dense, dense[self.width - self.dense.shape[1] :])

    def matmul_parts(self, dense: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """X D some rows at a time."""
        own = dense[self.width - self.dense.shape[1] :]
        for part, product in self.entries.matmul_parts(dense):
            yield part, product.addmm_(self.dense[part], own)

    def add_transposed_matmul(self, dense: Tensor, out: Tensor) -> None:
        """out += Xᵀ D with D m x h and out n x h."""
        super().add_transposed_matmul(dense, out)
        out[self.width - self.dense.shape[1] :].addmm_(self.dense.t(), dense)


def _by_column(col: Tensor, owner: Tensor, width: int) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor | None]:
    """`by_column` and `touched` of entries in these columns and rows."""
    in_column, order = col.sort(stable=True)
    touched, counts = in_column.unique_consecutive(return_counts=True)  # type: ignore[no-untyped-call]
    some = 2 * len(touched) < width
    if not some:
        counts = torch.bincount(col, minlength=width)
    starts = functional.pad(counts.cumsum(0), (1, 0))
    return (starts.int(), owner.index_select(0, order).int(), order.int()), touched.long() if some else None


def _counted_by_column(crow: Tensor, col: Tensor, width: int) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor | None]:
    """The same on the CPU, by counting: a fifth of the time of a sort."""
    places = np.arange(len(col), dtype=np.int32)
    order = sparse.csr_array((places, col.numpy(), crow.numpy()), shape=(len(crow) - 1, width)).tocsc()
    starts, touched = order.indptr, np.flatnonzero(np.diff(order.indptr))
    some = 2 * len(touched) < width
    if some:
        starts = starts[np.append(touched, width)]
    by_column = (
        _tensor(starts, np.int32, "cpu"),
        _tensor(order.indices, np.int32, "cpu"),
        torch.from_numpy(order.data),
    )
    return by_column, torch.from_numpy(touched) if some else None


def _tensor(array: Any, dtype: Any, device: Any) -> Tensor:
    return torch.tensor(array.astype(dtype, copy=False), device=device)


def _csr(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    with warnings.catch_warnings():  # torch calls its CSR tensors beta at their first use
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(crow, col, values, shape)


def _csr_matmul(crow: Tensor, col: Tensor, values: Tensor, dense: Tensor) -> Tensor:
    if _has_kernel(crow, values, dense):
        from netfold.learn.kernels import csr_product

        return csr_product(crow, col, values, dense)
    if dense.is_cuda and not torch.are_deterministic_algorithms_enabled():
        return _csr(crow, col, values, (len(crow) - 1, len(dense))) @ dense
    # a weighted embedding bag: on the CPU half the time of MKL's sparse product; on the GPU slower than cuSPARSE, but
    # the same to the bit from run to run
    return functional.embedding_bag(
        col, dense, crow, mode="sum", per_sample_weights=values, include_last_offset=True
    )  # fmt: skip


_WORTH = 1 << 28
"""Multiplications of a product from which on a kernel of our own is worth being compiled: a quarter less time."""


def _has_kernel(crow: Tensor, values: Tensor, dense: Tensor) -> bool:
    """Whether a GPU multiplies so much that our kernel is called in place of cuSPARSE."""
    if not dense.is_cuda or len(values) * dense.shape[1] < _WORTH or len(crow) < 2:
        return False
    plain = dense.dtype == values.dtype == torch.float32 and dense.is_contiguous()
    return plain and _has_triton()


def _reads_some(dense: Tensor, values: Tensor) -> bool:
    """Whether a GPU has a kernel that reads some rows of this table."""
    return dense.dtype == torch.float32 and _is_held(dense, values)


def _reads_16_bits(dense: Tensor, values: Tensor) -> bool:
    """Whether a GPU has a kernel that widens the rows of this table, in 16 bits, as it reads them."""
    return dense.dtype == torch.bfloat16 and _is_held(dense, values)


def _is_held(dense: Tensor, values: Tensor) -> bool:
    """Whether a kernel's program can hold rows of this table, and sum in 32 bits."""
    if not (dense.is_cuda and values.dtype == torch.float32 and dense.is_contiguous() and _has_triton()):
        return False
    from netfold.learn.kernels import WIDEST

    return dense.shape[1] <= WIDEST


@functools.cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


def _add_csr_matmul(crow: Tensor, col: Tensor, values: Tensor, dense: Tensor, out: Tensor) -> None:
    """out += X D; on a GPU in place, without an array for the product."""
    alike = out.dtype == dense.dtype and out.is_contiguous()
    if alike and _has_kernel(crow, values, dense):
        from netfold.learn.kernels import csr_product

        csr_product(crow, col, values, dense, out)
    elif alike and dense.is_cuda and not torch.are_deterministic_algorithms_enabled():
        torch.addmm(out, _csr(crow, col, values, (len(crow) - 1, len(dense))), dense, out=out)
    else:
        out += _csr_matmul(crow, col, values, dense)


def add_rows(out: Tensor, at: Tensor, rows: Tensor) -> None:
    """out[at] += rows, for distinct rows."""
    if out.is_cuda:
        out.index_add_(0, at, rows)
    else:  # index_add_ on the CPU takes time for every row of `out`, touched or not
        shape = tuple(out.shape)
        out += torch.sparse_coo_tensor(at[None], rows, shape, is_coalesced=True, check_invariants=False)


def in_chunks(matrix: sparse.csr_array, size: int, like: Tensor) -> Iterator[SparseRows]:
    """All rows of a matrix, at most `size` at a time, of a tensor's type and where it is."""
    for part in parts(matrix.shape[0], size):
        yield SparseRows.from_scipy(matrix[part], dtype=like.dtype, device=like.device)


def product_in_chunks(matrix: sparse.csr_array, size: int, dense: Tensor, *, device: Any = "cpu") -> Tensor:
    """X D with D n x h, of at most `size` rows of X at a time, on another device: m x h.

    As `in_chunks` and `matmul`, to the bit, without what the other side would need: entries by column.
    """
    out = torch.empty(matrix.shape[0], dense.shape[1], dtype=dense.dtype, device=device)
    for part in parts(matrix.shape[0], size):
        start, end = matrix.indptr[part.start], matrix.indptr[part.stop]
        crow = _tensor(matrix.indptr[part.start : part.stop + 1] - start, np.int32, dense.device)
        col = _tensor(matrix.indices[start:end], np.int32, dense.device)
        values = torch.tensor(matrix.data[start:end], dtype=dense.dtype, device=dense.device)
        out[part] = _csr_matmul(crow, col, values, dense)
    return out


def parts(n: int, size: int) -> Iterator[slice]:
    """Ranges of nearly the same length, at most `size`, that cover 0..n-1."""
    count = math.ceil(n / size)
    for i in range(count):
        yield slice(n * i // count, n * (i + 1) // count)


def cached_parts(x: Tensor | SparseRows, width: int) -> Iterator[slice]:
    """Ranges of the rows of a block of so many columns: on the CPU such as the cache holds, on a GPU all at once."""
    device = x.device if isinstance(x, Tensor) else x.values.device
    return parts(len(x), max(1, _IN_CACHE // width) if device.type == "cpu" else max(1, len(x)))


def dropped(
    rows: SparseRows,
    share: float,
    generator: torch.Generator,
    *,
    sum_to_one: bool = False,
    columns: int | None = None,
    ends: Sequence[int] = (),
) -> SparseRows:
    """The rows without a random share of their entries, drawn where the rows are, up to each of the `ends` in turn.

    What is left is scaled up, so that a row's expectation stays; or, for rows of probabilities (`sum_to_one`), so that
    what is left of each row sums to 1 again, in its first `columns` where those alone are probabilities.
    """
    coins, first = torch.empty_like(rows.values), 0
    others = torch.empty_like(rows.dense) if isinstance(rows, DenseBeside) else None
    for last in ends or [len(rows)]:
        of_part = slice(None) if not ends else slice(*rows.crow[[first, last]].tolist())
        coins[of_part].bernoulli_(1 - share, generator=generator)
        if others is not None:
            others[first:last].bernoulli_(1 - share, generator=generator)
        first = last
    if isinstance(rows, DenseBeside) and others is not None:
        rows = replace(rows, dense=rows.dense * others.div_(1 - share))
    if not sum_to_one:
        return rows.with_values(rows.values * coins.div_(1 - share))
    left = rows.values * coins
    own = left if columns is None else torch.where(rows.col < columns, left, 0)
    sums = rows.entries.with_values(own).row_sums()
    sums[sums == 0] = 1  # nothing is left: an empty row
    sums = sums.repeat_interleave(rows.crow.diff())
    return rows.with_values(left / (sums if columns is None else torch.where(rows.col < columns, sums, 1 - share)))


def generator_on(device: torch.device, generator: torch.Generator) -> torch.Generator:
    """A generator for a device, seeded by a draw from another: for numbers too many to be brought from the CPU."""
    return torch.Generator(device).manual_seed(int(torch.randint(1 << 62, (), generator=generator)))
