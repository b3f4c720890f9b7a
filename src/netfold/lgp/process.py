"""`Process`: latent states, kernel and g as one network, which places nodes among known ones."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from netfold.lgp.kernel import Kernel
from netfold.lgp.products import times
from netfold.lgp.residual import Residual
from netfold.lgp.solve import solved
from netfold.lgp.spread import Spread
from netfold.lgp.stored import StoredGraph
from netfold.lgp.surroundings import Surroundings
from netfold.lgp.system import System
from netfold.table_rows import take_rows

__all__ = ["Process"]

_TOP = 17.0
"""The raw weight of a node whose a is 1 in float32."""


class Process(nn.Module):
    """h of n known nodes, the kernel of its prior, and g; f(v) = mean + g(h(v) - mean).

    The prior of h has the mean `mean`, 0 in the chapter: `latent` is what h is beyond it. The graph, of so many
    entries, is kept for nodes that come later.
    """

    def __init__(self, n: int, dim: int, entries: int, *, sharing: str, hidden: int):
        super().__init__()
        self.graph = StoredGraph(n, entries)
        self.spread = Spread(dim)
        self.latent = nn.Parameter(torch.zeros(n, dim))
        self.kernel = Kernel(n, dim, sharing)
        self.g = Residual(dim, hidden)
        self.register_buffer("mean", torch.zeros(dim))
        self.mean: Tensor

    def start(self, vectors: Tensor, generator: torch.Generator, *, mean: bool) -> None:
        """h as the given vectors, g as the identity; with `mean`, the prior's is that of the vectors."""
        with torch.no_grad():
            if mean:
                self.mean.copy_(vectors.double().mean(dim=0))
            self.latent.copy_(vectors - self.mean)
        self.g.start(generator)

    @torch.no_grad()
    def take_over(self, other: Process, latent: Tensor) -> None:
        """All that another process has learned, and after its nodes new ones with these latent states and a = 1.

        Other tables, of which a subclass may have some, are 0 for new nodes.
        """
        tables = {"latent": latent, "kernel.raw_weights": self.kernel.raw_weights.new_full((len(latent), 1), _TOP)}
        state = self.state_dict()  # the tensors themselves
        for name, value in other.state_dict().items():
            if name in tables:
                value = torch.cat([value, tables[name].expand(-1, value.shape[1])])
            if not name.startswith("graph."):
                state[name][: len(value)].copy_(value) if value.ndim else state[name].copy_(value)

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

    def system(self, around: Surroundings) -> System:
        """The equations of the nodes that count as new."""
        latent = take_rows(self.latent, around.known)
        weights = self.kernel.weights(take_rows(self.kernel.raw_weights, around.known))
        ones = weights.new_ones(around.size, weights.shape[1])
        return System(
            around.links,
            torch.cat([ones, weights.index_select(0, around.beside)]),
            times(around.rows, weights),
            times(around.rows, weights * latent),
            self.kernel.eta,
            self.kernel.zeta,
        )

    def vectors(self, latent: Tensor) -> Tensor:
        """f of nodes with these latent states, less the mean as they are here: mean + g(latent)."""
        made: Tensor = self.g(latent)
        return self.mean + made

    def forward(self, around: Surroundings) -> Tensor:
        """f of the nodes that count as new, by those around them: m x d."""
        system = self.system(around)
        if not around.alone:
            return self.vectors(solved(system))
        wide = system.precise()
        return self.vectors((wide.right() / wide.diagonal()).to(system.pull.dtype))
