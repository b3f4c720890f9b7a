"""SDNE over several ranks, exactly: each owns the rows of its nodes in every table, and gets of others what it needs.

With X the rows of the adjacency matrix, Z = X W + b the first layer, Y the vectors and H the decoder's last layer, a
rank with m of n nodes holds its rows of W, of the output weights V and of all three. An epoch sends

    W and V (h and h + 1 numbers a row), Y (d), and the gradients of W and V

for each of the U rows of others that its edges name: 4 U (4h + d + 2) bytes in float32 (4h + 2d + 2 where the graph is
not symmetric), and sums VᵀV, Vᵀc, HᵀH and Σh (2 (h² + h) numbers), the layers between and the loss over all ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.cluster.exchange import RankGraph, RankRows, row_sums
from netfold.cluster.network import RankColumns, RankNetwork
from netfold.learn import losses
from netfold.learn.layers import pass_back, xavier_
from netfold.models.sdne.batches import Damping, in_units
from netfold.models.sdne.network import SDNENetwork, begin_at

__all__ = ["ShardedSDNE"]

_Draw = Callable[..., torch.Generator]
"""From a stream of numbers (what for, part, epoch) to a generator: `Embedder._generator`."""
_TABLES, _SUBSPACE, _COINS = 3, 4, 5


class ShardedSDNE(RankNetwork):
    """`SDNENetwork` whose tables are spread over ranks."""

    own: SDNENetwork

    def __init__(
        self,
        own: SDNENetwork,
        graph: RankGraph,
        draw: _Draw,
        *,
        dropout: float = 0.0,
        resident: bool = True,
        empty: Callable[..., Tensor] = torch.empty,
    ):
        """`empty` makes the arrays that are as long as the own rows, in memory as a rule."""
        super().__init__(own, graph, ("first.table", "last.table", "last.bias", "damping.columns"))
        self._draw, self._dropout = draw, dropout
        table = own.first.table
        self.rows = RankRows(graph, own.chunk_rows(), dtype=table.dtype, device=table.device, resident=resident)
        self.exchange = self.rows.exchange()
        self._empty = empty
        self._buffers_: dict[str, Tensor] = {}
        self._weigh()
        self._sums = self._link_sums()

    # ---------------------------------------------------------------- the rows that are read

    @property
    def facts(self) -> dict[str, float]:
        """What is to be known of the graph after it is gone, beside its size."""
        return {} if self.own.unit == 1 else {"unit": self.own.unit}

    @property
    def symmetric(self) -> bool:
        """Whether the rows are those of a symmetric matrix, so that products with its transpose are the same."""
        damping = self.own.damping
        return not self._graph.folder.directed and (damping is None or damping.q == damping.p)

    def _weigh(self) -> None:
        """Take the sums that dampings divide by, and let the rows be weighed, as `SDNENetwork.weighed` does."""
        network, graph = self.own, self._graph
        if network.damping is None:
            if network.unit != 1:
                self.rows.weighed(lambda rows, first: in_units(rows, network.unit))
            return
        damping = network.damping
        row_sums, column_sums = self._plain_sums()
        damping.columns.copy_(torch.from_numpy(_powers(column_sums, damping.p)))
        damping.unit.fill_(1.0)
        of_rows = _powers(row_sums, damping.q)
        whole = self.rows.at_columns(self.exchange, damping.columns.cpu())
        self.rows.weighed(lambda rows, first: _damped(rows, of_rows[first : first + rows.shape[0]], whole, damping))
        total = sum(float(self.rows.csr(c).data.sum(dtype=np.float64)) for c in range(len(self.rows.slices)))
        counts = torch.tensor(
            [total, float(sum(graph.folder.files[p]["arcs"] for p in graph.parts))], dtype=torch.float64
        )
        total, arcs = self._ranks.sum_(counts).tolist()
        damping.unit.fill_(arcs / total)
        self.rows.weighed(lambda rows, first: _damped(rows, of_rows[first : first + rows.shape[0]], whole, damping))

    def _plain_sums(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The sums of the own rows and of the own columns, as they are in the graph."""
        graph = self._graph
        of_rows = [row_sums(graph.rows(p)) for p in graph.parts]
        own = np.concatenate([np.zeros(0), *of_rows])
        if not graph.folder.directed:
            return own, own
        back = torch.zeros(graph.m, 1, dtype=torch.float64)
        giving = self.exchange.giving(back)
        for q in (*self.exchange.order, self._ranks.rank):
            low, high = graph.bounds[q], graph.bounds[q + 1]
            sums = np.zeros(int(high - low))
            for p in graph.parts:
                rows = graph.rows(p)
                here = (rows.indices >= low) & (rows.indices < high)
                sums += np.bincount(rows.indices[here] - low, rows.data[here], minlength=len(sums))
            if q == self._ranks.rank:
                back += torch.from_numpy(sums)[:, None]
            else:
                giving.send(q, torch.from_numpy(sums[self.rows.needs[q]])[:, None])
        giving.finish()
        return own, back[:, 0].numpy()

    def _link_sums(self) -> Tensor:
        """Row sums of X + Xᵀ, or of X where that is symmetric: m x 1."""
        table = self.own.first.table
        sums = [row_sums(self.rows.csr(c)) for c in range(len(self.rows.slices))]
        own = torch.from_numpy(np.concatenate([np.zeros(0), *sums])).to(table)[:, None]
        if self.symmetric or not self.own.alpha:
            return own
        back = torch.zeros_like(own)
        self.rows.add_transposed(self.exchange, torch.ones_like(own), back)
        return own + back

    # ---------------------------------------------------------------- where training begins

    @torch.no_grad()
    def start(self, init: str) -> None:
        """Xavier's start, each part's rows drawn by the part, and then the leading singular vectors ("svd")."""
        network, graph = self.own, self._graph
        squares = sum(
            float(np.square(self.rows.csr(c).data, dtype=np.float64).sum()) for c in range(len(self.rows.slices))
        )
        total = self._ranks.sum_(torch.tensor([squares], dtype=torch.float64))
        generator = self._draw(0)
        for weight in (*network.encoder.weights, *network.decoder.weights):
            xavier_(weight, generator)
        for p, own in graph.by_part():
            mine = self._draw(_TABLES, p)
            xavier_(network.first.table[own], mine, fan_in=float(total) / graph.n_nodes)
            xavier_(network.last.table[own], mine, fan_in=graph.n_nodes)
        if init == "svd":
            self._start_from_svd()

    def _start_from_svd(self) -> None:
        """As `start_from_svd`: x̂ = V Vᵀ x with V the leading right singular vectors, by subspace iteration."""
        network, ranks = self.own, self._ranks
        layers = [*network.encoder.weights, *network.decoder.weights]
        n = self._graph.n_nodes
        rank = min([network.first.table.shape[1], *(w.shape[1] for w in layers), n])
        v = self._singular_vectors(rank, min(rank + 10, n))
        reach = self.rows.matmul(self.exchange, v).abs().amax(1) if len(v) else v.new_zeros(0)
        largest = ranks.most(float(reach.max()) if len(reach) else 0.0)
        reach = reach[reach > 1e-6 * largest]
        count = int(ranks.sum_(torch.tensor([len(reach)], dtype=torch.float64)))
        begin_at(network, v, 0.5 / ranks.smallest(reach, max(1, int(0.9 * count))))

    def _singular_vectors(self, rank: int, wide: int) -> Tensor:
        """V: m x rank, the own rows; a column of a singular value of 0 is 0, as any vector would do there."""
        columns = RankColumns(self._graph, lambda part, _: self._draw(_SUBSPACE, part), self.own.first.table.detach())
        basis = columns.orthonormal(columns.random(wide))
        for _ in range(4):
            product = torch.zeros_like(basis)
            self.rows.add_transposed(self.exchange, self.rows.matmul(self.exchange, basis), product)
            basis = columns.orthonormal(product)
        product = self.rows.matmul(self.exchange, basis)
        squares, turn = torch.linalg.eigh(self._ranks.sum_((product.T @ product).double()))
        order = torch.argsort(squares, descending=True)[:rank]
        turn = turn[:, order] * (squares[order] > 1e-10 * squares.max())
        leading: Tensor = basis @ turn.to(basis)
        return leading

    # ---------------------------------------------------------------- the loss

    @torch.no_grad()
    def loss(self, epoch: int) -> dict[str, Tensor]:
        """The three terms of Eq. (5) over all ranks, and their gradients at the own rows, in full batch.

        What a layer has made is made once: gradients are taken by hand, from what layers gave.
        """
        network = self.own
        for weight in self.parameters():
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        activated = self._first_layer(epoch)
        y = self._vectors(activated)
        pulled = self._pulled(y)
        total = torch.zeros(3, dtype=torch.float64, device=y.device)
        if pulled is not None:
            total[1] = self._dots(y, pulled)
        with torch.enable_grad():
            whole = network.last.gram()
        gram = [self._ranks.sum_(x.detach().clone()) for x in whole]
        hidden, at_hidden = self._at_others(y, total)
        at_gram = self._backward(activated, y, hidden, pulled, at_hidden, gram, total)
        pass_back(whole, [self._ranks.sum_(x) for x in at_gram])
        self._first_layer_backward(activated, epoch)
        self._reduce_layers()
        total[2] = self._regularization()
        self._ranks.sum_(total)
        return {name: total[i] for i, name in enumerate(("second_order", "first_order", "regularization"))}

    def _buffer(self, name: str, width: int) -> Tensor:
        """An array with a row for each own node, the same one each epoch."""
        if name not in self._buffers_:
            like = self.own.first.table
            self._buffers_[name] = self._empty((self._graph.m, width), dtype=like.dtype, device=like.device)
        return self._buffers_[name]

    def _seen(self, epoch: int) -> Callable[[int, int], Any]:
        """The blocks as the encoder sees them in an epoch."""
        if not self._dropout:
            return self.rows.block
        return lambda c, q: self.rows.dropped(
            c, q, self._dropout, lambda part: self._draw(_COINS, part, epoch), epoch
        )  # fmt: skip

    def _first_layer(self, epoch: int | None) -> Tensor:
        """σ(X W + b): m x h. None: of all entries, whatever is dropped in training."""
        network, seen = self.own, self.rows.block if epoch is None else self._seen(epoch)
        z = self._buffer("z", network.first.table.shape[1])
        table, bias, me = network.first.table.detach(), network.first.bias.detach(), self._ranks.rank
        coming, alone = self.exchange.fetch(table, lent=True), self._ranks.size == 1
        for c, own in enumerate(self.rows.slices):
            block = seen(c, me)
            product = bias.expand_as(z[own]) if block is None else block.matmul(table).add_(bias)
            z[own] = network.activation(product) if alone else product
        if alone:
            return z
        for q, rows in coming:
            for c, own in enumerate(self.rows.slices):
                if (block := seen(c, q)) is not None:
                    z[own] += block.matmul(rows)
        for own in self.rows.slices:
            z[own] = network.activation(z[own])
        return z

    def _vectors(self, activated: Tensor) -> Tensor:
        """Y of σ(Z): m x d."""
        y = self._buffer("y", self.own.dim)
        for own in self.rows.slices:
            y[own] = self.own.encoder(activated[own])
        return y

    def _pulled(self, y: Tensor) -> Tensor | None:
        """alpha (L + Lᵀ) Y: m x d, half of the gradient of the first-order term; None where that is not asked for."""
        if not self.own.alpha:
            return None
        pulled = self._buffer("pulled", y.shape[1])
        torch.mul(self._sums, y, out=pulled)
        pulled -= self.rows.matmul(self.exchange, y)
        if self.symmetric:
            return pulled.mul_(2 * self.own.alpha)
        back = torch.zeros_like(y)
        self.rows.add_transposed(self.exchange, y, back)
        return pulled.sub_(back).mul_(self.own.alpha)

    def _dots(self, a: Tensor, b: Tensor) -> Tensor:
        """Σ a b, a chunk at a time, in float64."""
        return sum(((a[own] * b[own]).sum().double() for own in self.rows.slices), a.new_zeros((), dtype=torch.float64))

    def _at_others(self, y: Tensor, total: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """H, and the gradient there of what the columns of other ranks add to the second order: m x h.

        Of one rank neither: there H is made a chunk at a time.
        """
        if self._ranks.size == 1:
            return None, None
        table, bias = self.own.last.table, self.own.last.bias
        assert table.grad is not None and bias.grad is not None
        biases = dict(self.exchange.fetch(bias.detach()[:, None]))
        giving, at_biases = self.exchange.giving(table.grad), {}
        coming = self.exchange.fetch(table.detach(), lent=True)
        hidden = self._hidden(y)
        at_hidden = self._buffer("at_hidden", table.shape[1]).zero_()
        for q, theirs in coming:
            product, at_bias = giving.zeros(q), torch.zeros_like(biases[q])
            for c, own in enumerate(self.rows.slices):
                if (block := self.rows.block(c, q)) is not None:
                    errors = self._errors(block, hidden[own], theirs, biases[q][:, 0], total)
                    at_hidden[own] += errors.matmul(theirs)
                    errors.add_transposed_matmul(hidden[own], product)
                    at_bias[:, 0] += errors.column_sums()
            at_biases[q] = at_bias
            giving.send(q, product)
        giving.finish()
        giving = self.exchange.giving(bias.grad[:, None])
        for q in self.exchange.order:
            giving.send(q, at_biases[q])
        giving.finish()
        return hidden, at_hidden

    def _hidden(self, y: Tensor) -> Tensor:
        """H: m x h."""
        if not len(self.own.decoder.weights):
            return y
        hidden = self._buffer("hidden", self.own.last.table.shape[1])
        for own in self.rows.slices:
            hidden[own] = self.own.decoder(y[own])
        return hidden

    def _errors(self, block: Any, hidden: Tensor, table: Tensor, bias: Tensor, total: Tensor) -> Any:
        """The gradient of the second order at the outputs where a block has entries; what they add goes to `total`."""
        outputs = block.sampled(hidden, table) + bias[block.col]
        total[0] += losses.second_order_correction(outputs, block.values, self.own.beta).double()
        squared = self.own.beta**2
        return block.with_values(outputs.mul_(2 * squared - 2).sub_(block.values, alpha=2 * squared))

    def _backward(
        self,
        activated: Tensor,
        y: Tensor,
        hidden: Tensor | None,
        pulled: Tensor | None,
        at_hidden: Tensor | None,
        gram: list[Tensor],
        total: Tensor,
    ) -> list[Tensor]:
        """Walk the chunks back; the gradient at Z takes the place of σ(Z). Those at VᵀV, Vᵀc and cᵀc."""
        network, me, table, bias = self.own, self._ranks.rank, self.own.last.table, self.own.last.bias
        assert table.grad is not None and bias.grad is not None
        at_gram = [torch.zeros_like(x) for x in gram]
        for c, own in enumerate(self.rows.slices):
            decoded = network.decoder.steps(y[own], None if hidden is None else hidden[own])
            h = decoded[-1]
            at, sums = h @ gram[0], h.sum(0)
            energy = torch.dot(at.flatten(), h.flatten()) + 2 * torch.dot(sums, gram[1]) + len(h) * gram[2]
            total[0] += energy.double()
            at_gram[0].addmm_(h.t(), h)
            at_gram[1].add_(sums, alpha=2)
            at_gram[2] += len(h)
            at.add_(gram[1]).mul_(2)
            if (block := self.rows.block(c, me)) is not None:
                errors = self._errors(block, h, table, bias, total)
                at += errors.matmul(table)
                errors.add_transposed_matmul(h, table.grad)
                bias.grad += errors.column_sums()
            if at_hidden is not None:
                at += at_hidden[own]
            at = network.decoder.back(decoded, at)
            if pulled is not None:
                at = at.add_(pulled[own], alpha=2)  # the gradient of the first order
            at = network.encoder.back(network.encoder.steps(activated[own], y[own]), at)
            activated[own] = network.encoder.slope(at, activated[own])
        return at_gram

    def _first_layer_backward(self, at_z: Tensor, epoch: int) -> None:
        first = self.own.first
        assert first.table.grad is not None and first.bias.grad is not None
        self.rows.add_transposed(self.exchange, at_z, first.table.grad, block=self._seen(epoch))
        first.bias.grad += at_z.sum(0)

    def _layers(self) -> list[Tensor]:
        network = self.own
        return [network.first.bias, *network.encoder.parameters(), *network.decoder.parameters()]

    def _reduce_layers(self) -> None:
        """Sum the gradients of what every rank has, in one go."""
        self._ranks.sum_together_([x.grad for x in self._layers() if x.grad is not None])

    def _regularization(self) -> Tensor:
        """nu ½ Σ ‖W‖², the layers between counted by rank 0; its gradient, nu W, is added here."""
        network, nu = self.own, self.own.nu
        shared = [*network.encoder.weights, *network.decoder.weights]
        own = [network.first.table, network.last.table]
        for w in (*own, *shared):
            assert w.grad is not None
            w.grad.add_(w, alpha=nu)
        counted = [*own, *shared] if self._ranks.first else own
        squares = sum((_squares(w) for w in counted), torch.zeros((), dtype=torch.float64, device=own[0].device))
        return nu * 0.5 * squares

    @torch.no_grad()
    def embed(self) -> npt.NDArray[np.float32]:
        """The vectors of the own nodes: m x d."""
        vectors: npt.NDArray[np.float32] = self._vectors(self._first_layer(None)).float().numpy(force=True).copy()
        return vectors

    def formula(self) -> int:
        """Bytes that this rank sends in an epoch, counted by hand: see the top of this file."""
        network = self.own
        size, h, d = network.first.table.element_size(), network.first.table.shape[1], network.dim
        there, back = sum(map(len, self.exchange.wanted)), self.exchange.needed
        vectors = 0 if not network.alpha else d * there + (0 if self.symmetric else d * back)
        return size * ((2 * h + 1) * there + (2 * h + 1) * back + vectors)


_AT_ONCE = 1 << 20
"""Numbers that are squared at a time on the CPU: what stays in a cache."""


def _squares(w: Tensor) -> Tensor:
    """Σ w² in float64; on the CPU some rows at a time, on a GPU by one launch that is not waited for."""
    if w.is_cuda:
        length: Tensor = torch.linalg.vector_norm(w, dtype=torch.float64)
        return length.square()
    step = max(1, _AT_ONCE // max(1, w.shape[-1]))
    return sum((part.double().square().sum() for part in torch.split(w, step)), w.new_zeros((), dtype=torch.float64))


def _powers(sums: npt.NDArray[np.float64], p: float) -> npt.NDArray[np.float64]:
    powers: npt.NDArray[np.float64] = np.where(sums > 0, sums, 1.0) ** -p
    return powers


def _damped(
    rows: sparse.csr_array,
    of_rows: npt.NDArray[np.float64],
    of_columns: Callable[[npt.NDArray[Any]], npt.NDArray[np.float64]],
    damping: Damping,
) -> sparse.csr_array:
    """As `Damping.of`."""
    factor = np.repeat(of_rows, np.diff(rows.indptr)) * of_columns(rows.indices) * float(damping.unit)
    return sparse.csr_array(((rows.data * factor).astype(np.float32), rows.indices, rows.indptr), shape=rows.shape)
