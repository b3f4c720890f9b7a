"""`Process`: the whole as a network, which places nodes among known ones.

Its parts: the `Kernel` of the prior (eta, zeta, a), g (`Residual`) from latent states to vectors, `Spread`, which says
how sure a vector is, and the graph that it keeps for nodes that come later.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from netfold.errors import InputError
from netfold.learn.layers import take_rows, xavier_
from netfold.learn.sparse_rows import PIECE
from netfold.models.lgp.neighborhoods import Surroundings
from netfold.models.lgp.solve import System, solved, solved_in_blocks, summed_times, times

__all__ = ["Kernel", "Process", "Residual", "Spread", "StoredGraph"]

_SLOPE = 0.01
"""Of the leaky rectifier, where it leaks."""
_LEAST_SHARE = 0.1
"""Of the variance, at least so much depends on the links."""
_LARGEST_BLOCK = 16
"""New nodes of a group up to which a GPU solves for each group at once."""
_START = 3.0
"""Node weights start at σ(3) = 0.95: near the 1 of new nodes, where the sigmoid still moves."""


class Kernel(nn.Module):
    """eta >= 0, zeta >= 0 and node weights a in [0, 1], read from numbers without bounds that start at 0.

    eta_k = eta₀ exp(raw), zeta_k = zeta₀ exp(raw), a_v = σ(raw + 3): a step changes eta and zeta by a share, whatever
    the weights of the graph are, and what starts at 0 stays there. `starts` are eta₀ and zeta₀.
    """

    def __init__(self, n: int, dim: int, sharing: str):
        super().__init__()
        groups = {"all": 1, "halves": min(2, dim), "weights": dim, "none": dim}[sharing]
        self.dim = dim
        self.register_buffer("starts", torch.zeros(2))
        self.starts: Tensor
        self.raw_eta = nn.Parameter(torch.zeros(groups))
        self.raw_zeta = nn.Parameter(torch.zeros(groups))
        self.raw_weights = nn.Parameter(torch.zeros(n, dim if sharing == "none" else 1))

    def start(self, eta: float, zeta: float, weights: npt.NDArray[Any], degrees: npt.NDArray[Any]) -> None:
        """eta₀ = eta / w̄ and zeta₀ = zeta Σd / (w̄ Σd²), w̄ the mean weight of a link and d the sums of a node's.

        So a start means the same on every graph: whatever its weights, and as Σ_uv (ÂÂ)_uv = Σd², second order has
        zeta / eta times the weight of first order in all, where paths over hubs would otherwise outweigh the links.
        """
        self.start_by(eta, zeta, weights.mean(), degrees.sum(), np.square(degrees).sum())

    def start_by(self, eta: float, zeta: float, mean: Any, total: Any, squares: Any) -> None:
        """The same of the sums: w̄, Σd and Σd²."""
        self.starts.copy_(torch.tensor([eta / mean, zeta * total / (mean * squares)]))

    @property
    def eta(self) -> Tensor:
        """The strength of first-order proximity: 1 number, or one for each dimension."""
        return self.starts[0] * self._spread(self.raw_eta).exp()

    @property
    def zeta(self) -> Tensor:
        """The strength of second-order proximity: 1 number, or one for each dimension."""
        return self.starts[1] * self._spread(self.raw_zeta).exp()

    def widest(self) -> int:
        """How many different kernels there are: 1, or one for each dimension."""
        return 1 if len(self.raw_eta) == self.raw_weights.shape[1] == 1 else self.dim

    @staticmethod
    def weights(raw: Tensor) -> Tensor:
        """a of some rows of `raw_weights`."""
        return torch.sigmoid(raw + _START)

    @torch.no_grad()
    def weigh(self, degrees: Tensor, power: float, least: Tensor | None = None) -> None:
        """Let a_v = σ(3) min(1, (d_0 / d_v)^power), d (n) the sums of nodes' links, of which a tenth are up to d_0.

        A neighbor that everybody has says little of a node; a power of 0 is where a starts, the same for all. `least`
        is d_0, where these are not all nodes.
        """
        if least is None:
            linked = degrees[degrees > 0]
            least = linked.kthvalue(max(1, len(linked) // 10)).values
        share = (least / torch.maximum(degrees, least)) ** power
        self.raw_weights.copy_(torch.logit(torch.sigmoid(share.new_tensor(_START)) * share)[:, None] - _START)

    def _spread(self, raw: Tensor) -> Tensor:
        """From one number a group to one a dimension; the first half is the smaller where they differ."""
        if len(raw) in (1, self.dim):
            return raw
        half = self.dim // 2
        return torch.cat([raw[:1].expand(half), raw[1:].expand(self.dim - half)])


class Residual(nn.Module):
    """g(x) = x + W₂ᵀ φ(W₁ᵀ x + b₁) + b₂, φ the leaky rectifier; the identity where there are no hidden units.

    W₂ and b₂ start at 0, so that g starts as the identity.
    """

    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.hidden = hidden
        if hidden:
            self.inward = nn.Parameter(torch.zeros(dim, hidden))
            self.inward_bias = nn.Parameter(torch.zeros(hidden))
            self.outward = nn.Parameter(torch.zeros(hidden, dim))
            self.outward_bias = nn.Parameter(torch.zeros(dim))

    def start(self, generator: torch.Generator) -> None:
        """Give W₁ its first values; all others are 0."""
        if self.hidden:
            xavier_(self.inward, generator)

    def forward(self, x: Tensor) -> Tensor:
        """m x d to m x d."""
        if not self.hidden:
            return x
        inner = functional.leaky_relu(torch.addmm(self.inward_bias, x, self.inward), _SLOPE)
        return x + torch.addmm(self.outward_bias, inner, self.outward)

    @torch.no_grad()
    def spread(self, x: Tensor, variances: Tensor) -> Tensor:
        """The variances of g(x) where x has these, to first order: Σ_k J_jk² var_k with the Jacobian J at x: m x d.

        J is dense, d x d for each node; it is made for some nodes at a time.
        """
        if not self.hidden:
            return variances.expand_as(x)
        size = max(1, PIECE[x.device.type] // x.shape[1] ** 2)
        parts = zip(torch.split(x, size), torch.split(variances.expand_as(x), size), strict=True)
        return torch.cat([self._spread(*part) for part in parts])

    def _spread(self, x: Tensor, variances: Tensor) -> Tensor:
        inner = torch.addmm(self.inward_bias, x, self.inward)
        slopes = torch.where(inner > 0, 1.0, _SLOPE).to(x.dtype)  # m x h
        jacobian = (slopes[:, :, None] * self.outward).transpose(1, 2) @ self.inward.t()  # m x d x d
        jacobian.diagonal(dim1=1, dim2=2).add_(1)
        return torch.einsum("mjk,mk->mj", jacobian.square_(), variances)


class Spread(nn.Module):
    """From the posterior variance c of a latent state to the variances of a vector.

    var_j = share Σ_k J_jk² v_k c_k / c̄ + (1 - share) v_j with the Jacobian J of g: v are the mean squared errors of
    predicted vectors, c̄ what the c of these come to through J, on average, and `share` how much of the errors goes with
    it; the rest is the chapter's σ².
    """

    def __init__(self, dim: int):
        super().__init__()
        self.register_buffer("errors", torch.ones(dim))
        self.register_buffer("usual", torch.ones(()))
        self.register_buffer("share", torch.ones(()))
        self.errors: Tensor
        self.usual: Tensor
        self.share: Tensor

    @torch.no_grad()
    def measure(self, g: Residual, latent: Tensor, variances: Tensor, wrong: Tensor) -> None:
        """Take errors, m x d, of predictions for nodes with these posteriors as what is usual."""
        squares = wrong.double().square()
        self.errors.copy_(squares.mean(dim=0).clamp(min=torch.finfo(self.errors.dtype).tiny))
        expected = (g.spread(latent, variances * self.errors) / self.errors).double().mean(dim=1)
        measured = (squares / self.errors.double()).mean(dim=1)
        self.usual.copy_(expected.mean())
        self.share.copy_(_share(expected / expected.mean(), measured))

    @torch.no_grad()
    def of_process(self, latent: Tensor, predicted: Tensor, diagonal: Tensor) -> None:
        """Take the process at its word: h_v given all others has the variance A / M_vv, A being what fits best.

        `latent`, `predicted`: h of known nodes, and what each would be if it were new, n x d; `diagonal`: M_vv.
        """
        scale = ((latent - predicted).double().square() * diagonal.double()).mean(dim=0)
        self.errors.copy_(scale.clamp(min=torch.finfo(self.errors.dtype).tiny))
        self.usual.fill_(1)
        self.share.fill_(1)

    @torch.no_grad()
    def deviations(self, g: Residual, latent: Tensor, variances: Tensor) -> Tensor:
        """The standard deviations of vectors: m x d."""
        through = g.spread(latent, variances * self.errors) / self.usual
        total = self.share * through + (1 - self.share) * self.errors
        return total.sqrt().clamp(min=torch.finfo(total.dtype).tiny)


def _share(expected: Tensor, measured: Tensor) -> Tensor:
    """s of found ≈ s expected + (1 - s), both of mean 1, where large values weigh less, for they scatter more."""
    weights = 1 / (1 + expected).square()
    away = expected - 1
    slope = (weights * away * (measured - 1)).sum() / (weights * away.square()).sum().clamp(min=1e-12)
    return slope.clamp(_LEAST_SHARE, 1)


class StoredGraph(nn.Module):
    """A symmetric sparse matrix as buffers, so that it is saved and loaded with the rest."""

    def __init__(self, n: int, entries: int):
        super().__init__()
        self.register_buffer("starts", torch.zeros(n + 1, dtype=torch.int64))
        self.register_buffer("ends", torch.zeros(entries, dtype=torch.int64))
        self.register_buffer("weights", torch.zeros(entries))
        self.starts: Tensor
        self.ends: Tensor
        self.weights: Tensor

    def keep(self, matrix: sparse.csr_array) -> None:
        """Take over a matrix of this size."""
        for buffer, array in ((self.starts, matrix.indptr), (self.ends, matrix.indices), (self.weights, matrix.data)):
            buffer.copy_(torch.from_numpy(np.array(array)))

    def matrix(self) -> sparse.csr_array:
        """The matrix, its places checked: they may come from a file."""
        starts, ends, weights = (x.numpy(force=True) for x in (self.starts, self.ends, self.weights))
        n = len(starts) - 1
        try:
            matrix = sparse.csr_array((weights, ends, starts), shape=(n, n))
            matrix.check_format(full_check=True)
        except ValueError as e:
            raise InputError(f"the model is damaged: the graph in it is none ({e})") from None
        matrix.sort_indices()
        return matrix


class Process(nn.Module):
    """h of n known nodes, the kernel of its prior, and g; f(v) = mean + scale g(h(v) - mean).

    The prior of h has the mean `mean`, 0 in the chapter: `latent` is what h is beyond it. The graph, of so many
    entries, is kept for nodes that come later.
    """

    explained: Tensor | None
    """n x dim: what attributes say of h, of a process that knows any."""
    cold_errors: Tensor
    """dim: the mean squared errors of vectors that attributes alone gave to held-back nodes."""
    scale: float = 1.0
    """By what vectors are lengthened from the mean: a mean of neighbors is shorter than those are."""

    def __init__(self, n: int, dim: int, entries: int, *, sharing: str, hidden: int):
        super().__init__()
        self.register_buffer("explained", None)
        self.graph = StoredGraph(n, entries)
        self.spread = Spread(dim)
        self.latent = nn.Parameter(torch.zeros(n, dim))
        self.kernel = Kernel(n, dim, sharing)
        self.g = Residual(dim, hidden)
        self.register_buffer("mean", torch.zeros(dim))
        self.mean: Tensor

    def start(self, vectors: Tensor, generator: torch.Generator, *, mean: bool) -> None:
        """h as the given vectors, g as the identity; with `mean`, the prior's is that of the vectors."""
        self.start_around(vectors, vectors.double().mean(dim=0) if mean else self.mean, generator)

    def start_around(self, vectors: Tensor, mean: Tensor, generator: torch.Generator) -> None:
        """The same with a mean that is known."""
        with torch.no_grad():
            self.mean.copy_(mean)
            self.latent.copy_(vectors - self.mean)
        self.g.start(generator)

    def keep_attributes(self, scaling: nn.Module) -> None:
        """Make room for what attributes say of nodes."""
        n, dim = self.latent.shape
        self.explained = torch.zeros(n, dim)
        self.register_buffer("cold_errors", torch.ones(dim))
        self.scaling = scaling

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.latent.device

    @property
    def tables(self) -> list[nn.Parameter]:
        """What each node has of its own: h and a."""
        return [self.latent, self.kernel.raw_weights]

    @property
    def shared(self) -> list[nn.Parameter]:
        """What all nodes share: eta, zeta and g."""
        return [self.kernel.raw_eta, self.kernel.raw_zeta, *self.g.parameters()]

    def system(self, around: Surroundings, read: tuple[Tensor, Tensor] | None = None) -> System:
        """The equations of the nodes that count as new; `read`: h and raw weights of the known ones, if they are."""
        latent, raw = self._read(around) if read is None else read
        weights = self.kernel.weights(raw)
        ones = weights.new_ones(around.size, weights.shape[1])
        return System(
            around.links,
            torch.cat([ones, weights.index_select(0, around.beside)]),
            times(around.rows, weights),
            times(around.rows, weights * latent),
            self.kernel.eta,
            self.kernel.zeta,
        )

    def _read(self, around: Surroundings) -> tuple[Tensor, Tensor]:
        """h and raw weights of the known nodes."""
        return take_rows(self.latent, around.known), take_rows(self.kernel.raw_weights, around.known)

    def vectors(self, latent: Tensor) -> Tensor:
        """f of nodes with these latent states, less the mean as they are here: mean + scale g(latent)."""
        moved: Tensor = self.g(latent)
        return self.mean + (moved if self.scale == 1 else self.scale * moved)

    def forward(self, around: Surroundings, read: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """f of the nodes that count as new, by those around them: m x d."""
        if around.alone and self.kernel.raw_weights.shape[1] == 1:
            return self.vectors(self._each_alone(around, read))
        system = self.system(around, read)
        if not around.alone:
            in_blocks = system.pull.is_cuda and around.largest <= _LARGEST_BLOCK and self.kernel.widest() == 1
            latent = solved_in_blocks(system, around.place, around.largest) if in_blocks else solved(system)
            return self.vectors(latent)
        wide = system.precise()
        return self.vectors((wide.right() / wide.diagonal()).to(system.pull.dtype))

    def _each_alone(self, around: Surroundings, read: tuple[Tensor, Tensor] | None) -> Tensor:
        """The same of latent states, where M_** is diagonal: means of h over neighbors and over theirs, weighed.

        z_v = (eta Σ_u w_vu a_u h_u + zeta Σ_u w_vu a_u² Σ_t w_ut a_t h_t) / (1 + the same sums without h), t ≠ v: sums
        over paths, so that nothing is made for each node beside one, of which there are many times as many.
        """
        latent, raw = self._read(around) if read is None else read
        weights, m, eta, zeta = self.kernel.weights(raw), around.size, self.kernel.eta, self.kernel.zeta
        beside = around.links.values * weights.index_select(0, around.beside).square()[:, 0]
        both = torch.cat([weights * latent, weights], dim=1)
        sums = summed_times(around.rows, around.steps, 2 * m, torch.cat([beside.new_ones(m), beside]), both)
        pull, mass = sums[:, :-1], sums[:, -1:]
        return (eta * pull[:m] + zeta * pull[m:]) / (1 + eta * mass[:m] + zeta * mass[m:])
