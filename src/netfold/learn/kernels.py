"""Kernels for CUDA, in Triton, which torch brings along where it is built for CUDA: sparse products, and DRNE's LSTM.

A product of sparse rows with a table is as fast as memory gives the table's rows. A layer-normalised LSTM over
sequences of different lengths is hundreds of short steps: in torch's own operations each of them is twenty launches,
and a launch takes longer than its work. Here a program walks some sequences from beginning to end, and holds their
states while it does. This module is imported where there is a GPU, and nowhere else.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from netfold.learn.draws import FIRST, SECOND, STEP

__all__ = [
    "WIDEST", "WIDTHS", "add_segments", "csr_product", "lstm_backward", "lstm_forward", "sampled_product",
    "some_product",
]  # fmt: skip

_COLUMNS = 256
"""Of a table, that a program reads at a time, at most."""
WIDTHS = (16, 32, 64)
"""How wide a state may be: the weights that a program holds are four times its square."""
WIDEST = 256
"""Of a table of which some rows are read: a program holds some of them, whole."""
_HELD = 2048
"""So many numbers of a table does a program hold at a time."""
_STEP, _FIRST, _SECOND = tl.constexpr(STEP), tl.constexpr(FIRST), tl.constexpr(SECOND)


def csr_product(crow: Tensor, col: Tensor, values: Tensor, dense: Tensor, out: Tensor | None = None) -> Tensor:
    """X D: (m x n) times (n x h), X by its rows; added to `out` where that is given. The same to the bit each time.

    A program walks the entries of one row, in order; all in float32, but D may be in bfloat16, and in rows that follow
    one another in memory.
    """
    rows, width = len(crow) - 1, dense.shape[1]
    to = values.new_empty(rows, width) if out is None else out
    block = min(_COLUMNS, max(32, triton.next_power_of_2(width)))
    grid = (rows, triton.cdiv(width, block))
    _csr_product[grid](crow, col, values, dense, to, width, ADD=out is not None, BLOCK=block, num_warps=1)
    return to


def sampled_product(crow: Tensor, col: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """left_i · right_j at every entry (i, j) of a pattern: nnz values in float32, of a `right` in bfloat16 too.

    A program holds one row of `left`, at most `WIDEST` wide, and walks the entries of that row.
    """
    width = left.shape[1]
    values = left.new_empty(len(col))
    block, each = _shape(width, len(col) // max(1, len(crow) - 1))
    if len(crow) > 1:
        _sampled_product[(len(crow) - 1,)](
            crow, col, left, right, values, WIDTH=width, BLOCK=block, EACH=each, num_warps=1
        )  # fmt: skip
    return values


def some_product(
    crow: Tensor, col: Tensor, values: Tensor, dense: Tensor, out: Tensor | None = None, *,
    only: Tensor | None = None, place: Tensor | None = None, entries: Tensor | None = None,
    key: int = 0, dropped: int = 0, scale: float = 1.0,
) -> Tensor:  # fmt: skip
    """As `csr_product`, several entries of a row at a time, of a table at most `WIDEST` wide; and of parts of it.

    `only`: which rows of X (b; else all, m). `place`: where each of the n rows of D is in `dense`, -1 where it is not
    and counts as 0. `entries`: which of `values` each entry has, where that is not its own. Of 2^24 entries `dropped`
    count as 0, drawn by `key` and by which of `values` they have; the others are multiplied by `scale`.
    """
    rows, width = len(crow) - 1 if only is None else len(only), dense.shape[1]
    to = dense.new_empty(rows, width) if out is None else out
    block, each = _shape(width, len(col) // max(1, len(crow) - 1))
    if rows:
        _some_product[(rows,)](
            crow, col, values, dense, to, only, place, entries, key, dropped, scale, SOME=only is not None,
            HEADS=False, PLACED=place is not None, PICKED=entries is not None, DROP=dropped > 0, ADD=out is not None,
            WIDTH=width, BLOCK=block, EACH=each, num_warps=1 if block * each <= _HELD // 2 else 2,
        )  # fmt: skip
    return to


def add_segments(
    columns: Tensor, ends: Tensor, rows: Tensor, entries: Tensor, values: Tensor, dense: Tensor, out: Tensor
) -> None:
    """out += Xᵀ D, X by entries in the order of their columns: of each its column, its row, and where its value is.

    `ends`: for each entry, where those of its column end. Only rows of `out` that have entries are read and written.
    """
    block, each = _shape(width := dense.shape[1], 4)
    if len(columns):
        _some_product[(len(columns),)](
            ends, rows, values, dense, out, columns, None, entries, 0, 0, 1.0, SOME=False, HEADS=True,
            PLACED=False, PICKED=True, DROP=False, ADD=True, WIDTH=width, BLOCK=block, EACH=each,
            num_warps=1,
        )  # fmt: skip


def _shape(width: int, usual: int) -> tuple[int, int]:
    """How many columns of a table a program holds, all of them, and how many rows, where so many entries are usual."""
    block = max(16, triton.next_power_of_2(width))
    return block, max(2, min(_HELD // block, triton.next_power_of_2(max(1, usual))))


def lstm_forward(
    projected: Tensor, recurrent: Tensor, gain: Tensor, entries: Tensor, starts: Tensor, lengths: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """h_T of sequences (s x k), and for the way back the gates f, i, o, C̃ (E x 4k), C and h (E x k each) of all steps.

    `projected`: X W + b of all inputs (m x 4k); `recurrent`: k x 4k; `gain`: k. `entries`: E, which input is read at
    each step of each sequence, step after step; `starts`: where the entries of each step start; `lengths`: s, none of
    them 0 and none longer than the one before.
    """
    count, width = len(lengths), len(gain)
    gates = projected.new_empty(len(entries), 4 * width)
    states, hidden, last = (projected.new_empty(m, width) for m in (len(entries), len(entries), count))
    rows, warps, programs = _tiles(count, width)
    _forward[(programs,)](
        projected, recurrent, gain, entries, starts, lengths, gates, states, hidden, last, count, eps,
        WIDTH=width, ROWS=rows, num_warps=warps,
    )  # fmt: skip
    return last, gates, states, hidden


def lstm_backward(
    grad: Tensor, recurrent: Tensor, gain: Tensor, starts: Tensor, lengths: Tensor, eps: float,
    gates: Tensor, states: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gradients of what came into the gates (E x 4k, in the place of `gates`) and of `gain` (k), from that of h_T.

    The other arguments are what `lstm_forward` was given, and gave.
    """
    count, width = len(lengths), len(gain)
    rows, warps, programs = _tiles(count, width)
    by_gain = grad.new_empty(programs, width)
    _backward[(programs,)](
        grad, recurrent, gain, starts, lengths, gates, states, by_gain, count, eps,
        WIDTH=width, ROWS=rows, num_warps=warps,
    )  # fmt: skip
    return gates, by_gain.sum(0)


def _tiles(count: int, width: int) -> tuple[int, int, int]:
    """How many sequences a program walks, by how many warps, and how many programs that makes."""
    rows, warps = {16: (16, 4), 32: (16, 4), 64: (16, 4)}[width]
    return rows, warps, -(-count // rows)


@triton.jit
def _csr_product(crow, col, values, dense, out, width, ADD: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    good = at < width
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for entry in range(tl.load(crow + row), tl.load(crow + row + 1)):
        start = tl.load(col + entry).to(tl.int64) * width
        total += tl.load(values + entry) * tl.load(dense + start + at, mask=good, other=0.0).to(tl.float32)
    to = out + row * width + at
    if ADD:
        total += tl.load(to, mask=good, other=0.0)
    tl.store(to, total, mask=good)


@triton.jit
def _sampled_product(
    crow, col, left, right, values, WIDTH: tl.constexpr, BLOCK: tl.constexpr, EACH: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    good = at < WIDTH
    own = tl.load(left + row * WIDTH + at, mask=good, other=0.0)
    end = tl.load(crow + row + 1)
    for first in range(tl.load(crow + row), end, EACH):
        here = first + tl.arange(0, EACH)
        inside = here < end
        c = tl.load(col + here, mask=inside, other=0).to(tl.int64)
        read = right + c[:, None] * WIDTH + at[None, :]
        tile = tl.load(read, mask=inside[:, None] & good[None, :], other=0.0).to(tl.float32)
        tl.store(values + here, tl.sum(tile * own[None, :], axis=1), mask=inside)


@triton.jit(do_not_specialize=["rows", "place", "key", "dropped"])
def _some_product(
    crow, col, values, dense, out, rows, place, entries, key, dropped, scale, SOME: tl.constexpr,
    HEADS: tl.constexpr, PLACED: tl.constexpr, PICKED: tl.constexpr, DROP: tl.constexpr, ADD: tl.constexpr,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, EACH: tl.constexpr,
):  # fmt: skip
    to = tl.program_id(0).to(tl.int64)
    row = to
    if SOME:
        row = tl.load(rows + to).to(tl.int64)
    start, end = tl.load(crow + row), tl.load(crow + row + (0 if HEADS else 1))
    if HEADS:  # the first entry of a column has all of them, the others none
        start = to.to(end.dtype)
        own = tl.load(rows + to).to(tl.int64)
        before = tl.load(rows + to - 1, mask=to > 0, other=-1).to(tl.int64)
        end = tl.where(own == before, start, end)
        to = own
    at = tl.arange(0, BLOCK)
    good = at < WIDTH
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(start, end, EACH):
        here = first + tl.arange(0, EACH)
        inside = here < end
        c = tl.load(col + here, mask=inside, other=0).to(tl.int64)
        if PLACED:
            c = tl.load(place + c, mask=inside, other=-1).to(tl.int64)
            inside = inside & (c >= 0)
        e = here
        if PICKED:
            e = tl.load(entries + here, mask=inside, other=0)
        if DROP:  # as `draws.scrambled`
            z = (e.to(tl.int64) + 1) * _STEP + key
            z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * _FIRST
            z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * _SECOND
            z = z ^ ((z >> 31) & 0x1FFFFFFFF)
            inside = inside & (((z >> 40) & 0xFFFFFF) >= dropped)
        v = tl.load(values + e, mask=inside, other=0.0)
        read = dense + c[:, None] * WIDTH + at[None, :]
        tile = tl.load(read, mask=inside[:, None] & good[None, :], other=0.0)
        total += tl.sum(tile * v[:, None], axis=0)
    total = total * scale
    good = good & ((end > start) | (not ADD))
    if ADD:
        total += tl.load(out + to * WIDTH + at, mask=good, other=0.0)
    tl.store(out + to * WIDTH + at, total, mask=good)


@triton.jit
def _forward(
    projected, recurrent, gain, entries, starts, lengths, gates, states, hidden, last, count, eps,
    WIDTH: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, WIDTH)
    length = tl.load(lengths + row, mask=row < count, other=0)
    weights = recurrent + tl.arange(0, WIDTH)[:, None] * (4 * WIDTH) + at[None, :]
    by_f, by_i, by_o = tl.load(weights), tl.load(weights + WIDTH), tl.load(weights + 2 * WIDTH)
    by_c = tl.load(weights + 3 * WIDTH)
    g = tl.load(gain + at)[None, :]
    h = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    c = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    for t in range(tl.load(lengths + tl.program_id(0) * ROWS)):  # the first is the longest
        live = length > t
        here = live[:, None] & (at[None, :] < WIDTH)
        place = tl.load(starts + t) + row
        entry = tl.load(entries + place, mask=live, other=0)
        read = projected + entry[:, None] * (4 * WIDTH) + at[None, :]
        f = tl.load(read, mask=here, other=0.0)
        i = tl.load(read + WIDTH, mask=here, other=0.0)
        o = tl.load(read + 2 * WIDTH, mask=here, other=0.0)
        n = tl.load(read + 3 * WIDTH, mask=here, other=0.0)
        f = tl.sigmoid(tl.dot(h, by_f, f, input_precision="ieee"))
        i = tl.sigmoid(tl.dot(h, by_i, i, input_precision="ieee"))
        o = tl.sigmoid(tl.dot(h, by_o, o, input_precision="ieee"))
        n = 2 * tl.sigmoid(2 * tl.dot(h, by_c, n, input_precision="ieee")) - 1
        state = f * c + i * n
        away = state - tl.sum(state, axis=1)[:, None] / WIDTH
        normed = away * tl.rsqrt(tl.sum(away * away, axis=1)[:, None] / WIDTH + eps) * g
        out = o * (2 * tl.sigmoid(2 * normed) - 1)
        kept = gates + place[:, None] * (4 * WIDTH) + at[None, :]
        tl.store(kept, f, mask=here)
        tl.store(kept + WIDTH, i, mask=here)
        tl.store(kept + 2 * WIDTH, o, mask=here)
        tl.store(kept + 3 * WIDTH, n, mask=here)
        tl.store(states + place[:, None] * WIDTH + at[None, :], state, mask=here)
        tl.store(hidden + place[:, None] * WIDTH + at[None, :], out, mask=here)
        c = tl.where(here, state, c)
        h = tl.where(here, out, h)
    tl.store(last + row[:, None] * WIDTH + at[None, :], h, mask=(row < count)[:, None])


@triton.jit
def _backward(
    grad, recurrent, gain, starts, lengths, gates, states, by_gain, count, eps,
    WIDTH: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, WIDTH)
    length = tl.load(lengths + row, mask=row < count, other=0)
    turned = recurrent + tl.arange(0, WIDTH)[None, :] * (4 * WIDTH) + at[:, None]  # Rᵀ of each gate
    by_f, by_i, by_o = tl.load(turned), tl.load(turned + WIDTH), tl.load(turned + 2 * WIDTH)
    by_c = tl.load(turned + 3 * WIDTH)
    g = tl.load(gain + at)[None, :]
    dh = tl.load(grad + row[:, None] * WIDTH + at[None, :], mask=(row < count)[:, None], other=0.0)
    dc = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    dg = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    steps = tl.load(lengths + tl.program_id(0) * ROWS)  # the first is the longest
    for back in range(steps):
        t = steps - 1 - back
        live = length > t
        here = live[:, None] & (at[None, :] < WIDTH)
        place = tl.load(starts + t) + row
        kept = gates + place[:, None] * (4 * WIDTH) + at[None, :]
        f = tl.load(kept, mask=here, other=0.0)
        i = tl.load(kept + WIDTH, mask=here, other=0.0)
        o = tl.load(kept + 2 * WIDTH, mask=here, other=0.0)
        n = tl.load(kept + 3 * WIDTH, mask=here, other=0.0)
        state = tl.load(states + place[:, None] * WIDTH + at[None, :], mask=here, other=0.0)
        earlier = tl.load(starts + tl.maximum(t - 1, 0)) + row
        before = tl.load(states + earlier[:, None] * WIDTH + at[None, :], mask=here & (t > 0), other=0.0)
        away = state - tl.sum(state, axis=1)[:, None] / WIDTH
        shrink = tl.rsqrt(tl.sum(away * away, axis=1)[:, None] / WIDTH + eps)
        unit = away * shrink
        shown = 2 * tl.sigmoid(2 * unit * g) - 1
        by_normed = tl.where(here, dh * o * (1 - shown * shown), 0.0)
        dg += by_normed * unit
        by_unit = by_normed * g
        inner = tl.sum(by_unit * unit, axis=1)[:, None] / WIDTH
        through = shrink * (by_unit - tl.sum(by_unit, axis=1)[:, None] / WIDTH - unit * inner) + dc
        d_o = tl.where(here, dh * shown * o * (1 - o), 0.0)
        d_f = tl.where(here, through * before * f * (1 - f), 0.0)
        d_i = tl.where(here, through * n * i * (1 - i), 0.0)
        d_n = tl.where(here, through * i * (1 - n * n), 0.0)
        tl.store(kept, d_f, mask=here)
        tl.store(kept + WIDTH, d_i, mask=here)
        tl.store(kept + 2 * WIDTH, d_o, mask=here)
        tl.store(kept + 3 * WIDTH, d_n, mask=here)
        dc = tl.where(here, through * f, dc)
        to = tl.dot(d_f, by_f, input_precision="ieee")
        to = tl.dot(d_i, by_i, to, input_precision="ieee")
        to = tl.dot(d_o, by_o, to, input_precision="ieee")
        to = tl.dot(d_n, by_c, to, input_precision="ieee")
        dh = tl.where(here, to, dh)
    tl.store(by_gain + tl.program_id(0) * WIDTH + at, tl.sum(dg, axis=0))
