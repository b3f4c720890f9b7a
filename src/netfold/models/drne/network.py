"""DRNE's tensors: the layer-normalised LSTM over packed sequences, and the loss."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from netfold.data.scaling import Block
from netfold.embedder.attributes import joint_rows
from netfold.learn.layers import pass_back, rows_times, xavier_
from netfold.learn.sparse_rows import PIECE, SparseRows
from netfold.models.drne.batches import Batch, Packed, SequencePiece, Sequences, Ties, distinct, packed_pieces, tied

__all__ = ["EPS", "Cell", "DRNENetwork", "PartStart"]

EPS = 1e-6
"""Added to a state's variance before it divides: where all entries are equal the chapter's formula has 0 / 0."""


START = {"common": 0.1, "degree": 0.1, "random": 0.5}
"""Vectors begin between minus and plus this: a start that is to tell nodes apart must not be lost at once."""


_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input
_layer_norm_backward = torch.ops.aten.native_layer_norm_backward.default
"""Named once: looking up which of an operation's variants is meant takes longer than a short step's work."""

Outlet = tuple[Tensor, Tensor | None, Tensor | None]
"""tanh(C'), and what the normalisation divided by and took away."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """What a step's numbers go through; the chapter's proofs take activations to be linear, and no normalisation."""

    linear: bool = False
    normalized: bool = True

    def gates(self, gates: Tensor, candidate: Tensor) -> None:
        """f, i and o (a x 3k) and C̃ (a x k) of what comes in, in place."""
        if not self.linear:
            gates.sigmoid_()
            candidate.tanh_()

    def gates_backward(self, grads: tuple[Tensor, Tensor], gates: Tensor, candidate: Tensor) -> None:
        """From the gradients of what came out to those of what came in, in place."""
        if not self.linear:
            _sigmoid_backward(grads[0], gates, grad_input=grads[0])
            _tanh_backward(grads[1], candidate, grad_input=grads[1])

    def show(self, state: Tensor, gain: Tensor) -> Outlet:
        """tanh(C') with C' = g (C - μ) / Σ: what the output gate lets through, a x k."""
        if not self.normalized:
            return (state if self.linear else state.tanh()), None, None
        normed, mean, rstd = torch.native_layer_norm(state, (state.shape[1],), gain, None, EPS)
        return (normed if self.linear else normed.tanh_()), mean, rstd

    def show_backward(self, grad: Tensor, outlet: Outlet, state: Tensor, gain: Tensor) -> tuple[Tensor, Tensor | None]:
        """The gradients of C and of g, from that of tanh(C'), which is overwritten."""
        if not self.linear:
            _tanh_backward(grad, outlet[0], grad_input=grad)
        if not self.normalized:
            return grad, None
        by_state, by_gain, _ = _layer_norm_backward(
            grad, state, [state.shape[1]], outlet[1], outlet[2], gain, None, [True, True, False]
        )
        return by_state, by_gain


@dataclasses.dataclass(frozen=True)
class PartStart:
    """What a start must know where its nodes are a part of all."""

    logs: tuple[Tensor, Tensor]
    """The mean and the deviation of log(d + 1) over all nodes."""
    draw: Callable[[Callable[[int, torch.Generator], Tensor]], Tensor]
    """From what makes so many random rows to those of these nodes, each part's drawn by a generator of its own."""


class _Columns:
    """An array with the rows of all steps, E x 4k, as views: by step; and by step and gate."""

    def __init__(self, array: Tensor, alive: list[int]):
        k = array.shape[1] // 4
        self.all = torch.split(array, alive)
        self.gates = torch.split(array[:, : 3 * k], alive)
        self.f, self.i, self.o, self.candidate = (torch.split(x, alive) for x in array.chunk(4, dim=1))


class _Recurrence(torch.autograd.Function):
    """h_T of packed sequences, and its gradient by back-propagation through time.

    Kept for the way back are seven numbers per neighbor and dimension: the gates (4), C, tanh(C') and h. The gradient
    of the projected inputs goes into their `grad` in place: no second array of their size is made.
    """

    @staticmethod
    def forward(ctx: Any, projected: Tensor, recurrent: Tensor, gain: Tensor, packed: Packed, cell: Cell) -> Tensor:
        gates = projected.detach().index_select(0, packed.entries)  # E x 4k
        states, hidden = (gates.new_empty(len(gates), len(gain)) for _ in range(2))  # E x k: C and h
        z, c, h = _Columns(gates, packed.alive), torch.split(states, packed.alive), torch.split(hidden, packed.alive)
        outlets: list[Outlet] = []
        for t, count in enumerate(packed.alive):
            if t:
                z.all[t].addmm_(h[t - 1][:count], recurrent)
            cell.gates(z.gates[t], z.candidate[t])
            torch.mul(z.i[t], z.candidate[t], out=c[t])
            if t:
                c[t].addcmul_(z.f[t], c[t - 1][:count])
            outlets.append(cell.show(c[t], gain))
            torch.mul(z.o[t], outlets[t][0], out=h[t])
        ctx.save_for_backward(recurrent, gain)
        ctx.walk, ctx.projected = (packed, cell, gates, z, c, outlets, hidden), projected
        return hidden.index_select(0, packed.last)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (recurrent, gain), (packed, cell, gates, z, c, outlets, hidden) = ctx.saved_tensors, ctx.walk
        by_hidden, by_state, by_gain = grad.clone(), torch.zeros_like(grad), torch.zeros_like(gain)
        by_gates = torch.empty_like(gates)
        d = _Columns(by_gates, packed.alive)
        for t, count in reversed(list(enumerate(packed.alive))):
            mine = by_hidden[:count]  # of a sequence that ends here: what came from outside, untouched
            torch.mul(mine, outlets[t][0], out=d.o[t])
            through, more = cell.show_backward(mine * z.o[t], outlets[t], c[t], gain)
            by_gain += 0 if more is None else more
            through += by_state[:count]
            torch.mul(through, z.candidate[t], out=d.i[t])
            torch.mul(through, z.i[t], out=d.candidate[t])
            if t:
                torch.mul(through, c[t - 1][:count], out=d.f[t])
                torch.mul(through, z.f[t], out=by_state[:count])
            else:
                d.f[t].zero_()
            cell.gates_backward((d.gates[t], d.candidate[t]), z.gates[t], z.candidate[t])
            if t:
                torch.mm(d.all[t], recurrent.t(), out=mine)
        ctx.walk = None
        _grad(ctx.projected).index_add_(0, packed.entries, by_gates)
        by_recurrent = None
        if ctx.needs_input_grad[1]:
            by_recurrent = hidden.index_select(0, packed.before).t() @ by_gates[len(packed.last) :]
        return None, by_recurrent, by_gain if ctx.needs_input_grad[2] else None, None, None


class _FusedRecurrence(torch.autograd.Function):
    """The same on CUDA, by one launch there and one back; kept for the way back are the gates, C and h."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, recurrent: Tensor, gain: Tensor, packed: Packed) -> Tensor:
        from netfold.models.drne.kernels import lstm_forward

        walk = packed.starts, packed.lengths
        last, *states = lstm_forward(projected.detach(), recurrent, gain, packed.entries, *walk, EPS)
        ctx.save_for_backward(recurrent, gain)
        ctx.states, ctx.packed, ctx.projected = states, packed, projected
        return last

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        from netfold.models.drne.kernels import lstm_backward

        (recurrent, gain), (gates, states, hidden), packed = ctx.saved_tensors, ctx.states, ctx.packed
        walk = packed.starts, packed.lengths
        by_gates, by_gain = lstm_backward(grad.contiguous(), recurrent, gain, *walk, EPS, gates, states)
        ctx.states = None
        _grad(ctx.projected).index_add_(0, packed.entries, by_gates)
        by_recurrent = None
        if ctx.needs_input_grad[1]:
            by_recurrent = hidden.index_select(0, packed.before).t() @ by_gates[len(packed.last) :]
        return None, by_recurrent, by_gain if ctx.needs_input_grad[2] else None, None


def _is_fused(x: Tensor, cell: Cell, packed: Packed) -> bool:
    """Whether there is a kernel for sequences of such inputs, E x 4k."""
    if not (x.is_cuda and x.dtype == torch.float32 and cell == Cell() and len(packed.lengths)):
        return False
    if importlib.util.find_spec("triton") is None:
        return False
    from netfold.models.drne.kernels import WIDTHS

    return x.shape[1] // 4 in WIDTHS


def _grad(x: Tensor) -> Tensor:
    if x.grad is None:
        x.grad = torch.zeros_like(x)
    return x.grad


def _with_ties(rows: Tensor, ties: Ties) -> Tensor:
    """Rows of nodes, and after them the means of each group of ties."""
    if not len(ties.members):
        return rows
    means = functional.embedding_bag(ties.members, rows, ties.starts, mode="mean", include_last_offset=True)
    return torch.cat([rows, means])


class DRNENetwork(nn.Module):
    """The table X of vectors, the aggregator and the degree's MLP.

    The columns of `input`, `recurrent` and `bias` are those of f, i, o and C̃, one after another: W [h, X] + b of the
    chapter is X `input` + h `recurrent` + `bias`. With `attributes`, so many numbers γ a of a neighbor come in beside
    its vector: then it is [X, γ a] [`input`; `attribute_input`] + h `recurrent` + `bias`.
    """

    colors: Tensor
    degrees: Tensor
    passed: Tensor
    """What the known nodes' vectors were after each round but the last: a new node's later rounds read them."""

    said: Tensor
    """n: how many neighbors each known node has, as the MLP says; of a network whose vectors are as long as that."""

    attribute_inputs: Tensor | None
    """γ a `attribute_input` of the known nodes, n x 4k, as trained: a later graph need not say again what they are."""

    def __init__(
        self,
        n: int,
        dim: int,
        *,
        lambda_: float,
        rounds: int = 1,
        cell: Cell | None = None,
        attributes: int = 0,
        attribute_weight: float = 0.0,
        readout: bool = False,
    ):
        super().__init__()
        self.dim, self.lambda_, self.cell, self.attribute_weight = dim, lambda_, cell or Cell(), attribute_weight
        self.table = nn.Parameter(torch.zeros(n, dim))
        self.input = nn.Parameter(torch.zeros(dim, 4 * dim))
        self.recurrent = nn.Parameter(torch.zeros(dim, 4 * dim))
        self.bias = nn.Parameter(torch.zeros(4 * dim))
        self.gain = nn.Parameter(torch.ones(dim))
        self.degree_weight = nn.Parameter(torch.zeros(dim, 1))
        self.degree_bias = nn.Parameter(torch.zeros(1))
        self.register_buffer("colors", torch.zeros(n, dtype=torch.int64))
        self.register_buffer("degrees", torch.zeros(n, dtype=torch.int64))
        self.register_buffer("passed", torch.zeros(max(0, rounds - 1), n, dim))
        if readout:
            self.register_buffer("said", torch.zeros(n))
        self.attribute_input = nn.Parameter(torch.zeros(attributes, 4 * dim)) if attributes else None
        self.register_buffer("attribute_inputs", torch.zeros(n, 4 * dim) if attributes else None)

    @torch.no_grad()
    def start(self, generator: torch.Generator, degrees: Tensor, how: str, spread: PartStart | None = None) -> None:
        """A random start: one vector for all nodes ("common"), that and one times log(d + 1), of mean 0 and deviation 1
        ("degree"), or one for each ("random"); 0, what nothing aggregates to, without neighbors.

        Gates begin with Xavier's weights for [h, X] together and remember (b_f = 1); the MLP begins at the mean of what
        it is to say, where its ReLU is not silent. `spread`: where these nodes are a part of all.
        """
        logs = torch.log1p(degrees.float())
        mean, std = (logs.mean(), logs.std()) if spread is None else spread.logs
        if how == "random" and spread is not None:
            self.table.copy_(spread.draw(lambda count, own: self._random(own, count, START[how])))
        else:
            self.table.copy_(self._random(generator, len(self.table) if how == "random" else 1, START[how]))
        if how == "degree":
            size = (logs - mean) / std.clamp(min=EPS)
            self.table.add_(size[:, None] * self._random(generator, 1, START[how]).to(self.table.device))
        self.table[degrees == 0] = 0
        for gate in (*self.input.chunk(4, dim=1), *self.recurrent.chunk(4, dim=1)):
            xavier_(gate, generator, fan_in=2 * self.dim)
        xavier_(self.degree_weight, generator)
        self.bias[: self.dim] = 1
        self.degree_bias.fill_(mean)
        for gate in () if self.attribute_input is None else self.attribute_input.chunk(4, dim=1):
            xavier_(gate, generator, fan_in=2 * self.dim)  # rows of attributes are about as long as h may be, 1

    def _random(self, generator: torch.Generator, count: int, limit: float) -> Tensor:
        return torch.empty(count, self.dim).uniform_(-limit, limit, generator=generator)

    @property
    def theta(self) -> list[nn.Parameter]:
        """All parameters but X."""
        return [p for p in self.parameters() if p is not self.table]

    def attribute_rows(self, block: Block) -> SparseRows:
        """γ a of nodes with these attributes, where the network is."""
        none: Any = sparse.csr_array((block.n_nodes, 0), dtype=np.float32)
        scaled = dataclasses.replace(block, values=block.values * np.float32(self.attribute_weight))
        return joint_rows(none, scaled, self.table)

    @torch.no_grad()
    def remember(self, rows: SparseRows) -> None:
        """Keep what the known nodes' attributes add to the inputs of the gates; of a network that reads any."""
        assert self.attribute_input is not None
        assert self.attribute_inputs is not None
        self.attribute_inputs.copy_(rows.matmul(self.attribute_input))

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """`L_1` and lambda `L_reg`, summed over the batch's nodes.

        The inputs of the gates, X W + b, are computed once for all nodes that the batch reads. Walks the pieces and,
        where gradients are on, adds each piece's to `grad` before the next: the states of one piece are all that is
        ever alive.
        """
        near = self.table.detach()[batch.nodes].requires_grad_(self.table.requires_grad)
        terms = self.terms(batch, near)
        if near.grad is not None:
            _grad(self.table)[batch.nodes] += near.grad
        return terms

    def terms(self, batch: Batch, near: Tensor) -> dict[str, Tensor]:
        """The same for the vectors of the nodes that the batch reads, whose gradient goes into their `grad`."""
        own = None
        if batch.attributes is not None:
            assert self.attribute_input is not None
            own = rows_times(batch.attributes, self.attribute_input)
        projected = self._project(near, batch.ties, own)
        held = projected.detach().requires_grad_(projected.requires_grad)
        recursive, regular = near.new_zeros(()), near.new_zeros(())
        for piece in batch.pieces:
            error, missed = self._errors(piece, near.detach(), held)
            terms = error.square().sum(), self.lambda_ * missed.square().sum()
            recursive, regular = recursive + terms[0].detach(), regular + terms[1].detach()
            if terms[0].requires_grad:
                torch.autograd.backward(terms)
                if near.requires_grad:
                    _grad(near)[piece.rows] += 2 * error.detach()
        if projected.requires_grad:
            pass_back([projected], [_grad(held)])
        return {"recursive": recursive, "regularization": regular}

    def _errors(self, piece: SequencePiece, near: Tensor, projected: Tensor) -> tuple[Tensor, Tensor]:
        """X_v - Agg(N(v)), m x k, and log(d_v + 1) - MLP(Agg(N(v))), m."""
        aggregated = self._aggregated(projected, piece.packed, len(piece.rows))
        return near[piece.rows] - aggregated, piece.log_degrees - self._log_degrees(aggregated)

    def _log_degrees(self, aggregated: Tensor) -> Tensor:
        """MLP(Agg(N(v))), what it says of log(d_v + 1): m x k, made m."""
        said: Tensor = functional.relu(aggregated @ self.degree_weight + self.degree_bias)[:, 0]
        return said

    @torch.no_grad()
    def read_out(self, aggregated: Tensor) -> Tensor:
        """How many neighbors the MLP says that nodes have which aggregate to this: m x k, made m."""
        return torch.expm1(self._log_degrees(aggregated))

    def _project(self, vectors: Tensor, ties: Ties, own: Tensor | None) -> Tensor:
        """What nodes with these vectors add to the inputs of the gates, X W + b, and then what ties do: m x 4k.

        And what their attributes add (`own`), where they have any: of ties the mean, as of vectors.
        """
        projected = torch.addmm(self.bias, _with_ties(vectors, ties), self.input)
        return projected if own is None else projected + _with_ties(own, ties)

    def _aggregated(self, projected: Tensor, packed: Packed, count: int) -> Tensor:
        """h_T of each sequence, 0 where it is empty: count x k."""
        last: Tensor
        if _is_fused(projected, self.cell, packed):
            last = _FusedRecurrence.apply(projected, self.recurrent, self.gain, packed)  # type: ignore[no-untyped-call]
        else:
            last = _Recurrence.apply(projected, self.recurrent, self.gain, packed, self.cell)  # type: ignore[no-untyped-call]
        return functional.pad(last, (0, 0, 0, count - len(last)))

    @torch.no_grad()
    def gathered(self, batch: Batch, near: Tensor) -> tuple[Tensor, Tensor]:
        """Of a batch, the places of its nodes among those that it reads, and what they aggregate to: m, m x k."""
        projected = self._project(near, batch.ties, None)
        some = [self._aggregated(projected, x.packed, len(x.rows)) for x in batch.pieces]
        return torch.cat([x.rows for x in batch.pieces]), torch.cat(some)

    @torch.no_grad()
    def aggregate(self, sequences: Sequences, vectors: Tensor) -> Tensor:
        """What known nodes with these vectors aggregate to in these sequences: m x k, in O(neighbors k²)."""
        rows = torch.arange(len(sequences), device=self.device)
        return torch.cat([self._aggregate(sequences.take(part), vectors) for part in torch.split(rows, self.piece)])

    def _aggregate(self, sequences: Sequences, vectors: Tensor) -> Tensor:
        nodes, place = distinct(len(vectors), sequences.nodes)
        local, ties = tied(Sequences(sequences.starts, place[sequences.nodes]), self.colors[nodes])
        own = None if self.attribute_inputs is None else self.attribute_inputs[nodes]
        projected = self._project(vectors[nodes], ties, own)
        out = vectors.new_zeros(len(sequences), self.dim)
        for rows, packed in packed_pieces(local, self.piece):
            out[rows] = self._aggregated(projected, packed, len(rows))
        return out

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.table.device

    @property
    def piece(self) -> int:
        """How many neighbors are walked together: what keeps the states in bounds."""
        return max(1024, PIECE[self.device.type] // (4 * self.dim))
