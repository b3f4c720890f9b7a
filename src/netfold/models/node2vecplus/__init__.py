"""node2vec++: node2vec, or LINE, over vectors that a Laplacian Gaussian process predicts (Ma, Cui, Zhu, AAAI 2018)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from netfold.embedder.options import option
from netfold.embedder.problem import Problem
from netfold.embedder.training_options import skipgram
from netfold.errors import InputError
from netfold.models.lgp import LGPEmbedder, Linked

if TYPE_CHECKING:
    import torch
    from scipy import sparse

    from netfold.data.embedding import Embedding
    from netfold.learn.progress import Progress
    from netfold.models.node2vecplus.network import Node2VecPlusNetwork

__all__ = ["Node2VecPlus"]

_LINKS = 16
"""So many links count as a walk, where a batch is of links."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class Node2VecPlus(LGPEmbedder["Node2VecPlusNetwork"]):
    """node2vec whose vectors are predicted from a node's neighborhood, so that new nodes get vectors too.

    A node's vector is not its own but f_φ(v) = g(z_v): what DepthLGP would predict for v if it were new, from the
    latent states h of its neighbors and of theirs. These, g, eta, zeta and the weights of nodes are learned by the
    objective of node2vec,

    L = -Σ_(i,j) [log σ(f_φ(i) · c_j) + k E_v log σ(-f_φ(i) · c_v)],

    over pairs of nodes that random walks meet; or by LINE's, over links (`base="line"`). A new node's vector is made in
    the same way, and known ones stay as they are. Edges count in either direction.

    >>> from netfold.data.graph import Graph
    >>> ring = [(i, (i + d) % 12) for i in range(12) for d in (1, 2)]
    >>> model = Node2VecPlus(dim=4, length=10, window=2, epochs=5).fit(Graph.from_edges(ring), progress=False)
    >>> new = model.transform([("new", 3), ("new", 4), ("new", 5)])
    >>> model.embedding_.nearest(new["new"], k=1)[0][0] in (3, 4, 5)
    True
    """

    epochs: int = option(5, "passes over all nodes, each with new walks (or links)", at_least=0)
    one_step: int = option(32, "neighbors that are read of a node in training, at most; 0: all", at_least=0)
    two_step: int = option(4, "neighbors that are read of each of these, at most; 0: all", at_least=0)
    base: str = option(
        "node2vec",
        "whose objective it is: node2vec, or line (both orders, half of the dimensions each)",
        choices=("node2vec", "line"),
    )
    p: float = skipgram("p", help="return parameter of the walks, as in Node2Vec")
    q: float = skipgram("q", help="in-out parameter of the walks, as in Node2Vec")
    length: int = skipgram("length", help="nodes in a walk; one starts at each node in an epoch")
    window: int = skipgram("window", help="steps within which two nodes of a walk are a pair, as in Node2Vec")
    n_negatives: int = skipgram("n_negatives")
    init: str = skipgram(
        "init", help="the start of node2vec's h and contexts: spectral, as in Node2Vec, or none; LINE's is random"
    )
    lr: float = skipgram("lr", help="learning rate of row-wise Adagrad, for h, a and the contexts")
    shared_lr: float = option(0.003, "learning rate of Adam, for eta, zeta and g", above=0)
    schedule: str = skipgram("schedule", help="how the learning rates fall over the epochs")
    batch_size: int = skipgram(
        "batch_size", default=256, help="walks a step; of links, with base='line', 16 times as many"
    )

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> Linked:
        if self.base == "line" and self.dim % 2:
            raise InputError(f"dim={self.dim} does not halve; base='line' needs an even one")
        return super()._read(graph, embedding, later=later)

    def _problem(
        self, data: Linked, device: torch.device, progress: Progress, *, resumed: bool = False
    ) -> Problem[Node2VecPlusNetwork]:
        from netfold.learn.skipgram import PRIOR
        from netfold.learn.training import Block
        from netfold.models.node2vecplus.network import surrounded

        network, links = self._network(data.facts), data.links
        network.graph.keep(links)
        if not resumed:
            self._start(network, links)
        network.to(device)
        pairs = self._pairs(links, device)
        of = surrounded(pairs, links, self._caps(), device, contexts=self.base == "line")
        parameters, rows = [*network.shared, *network.tables], {"row_lr": self.lr, "prior": PRIOR}
        blocks = [Block(parameters, "adam_and_rows", self.shared_lr, rows)]
        return Problem(network, lambda epoch: of(self._generator(1, epoch)), blocks, self.schedule)

    def _start(self, network: Node2VecPlusNetwork, links: sparse.csr_array) -> None:
        """Give h, the contexts and the kernel their first values."""
        import numpy as np
        import torch
        from scipy import sparse

        from netfold.learn.starts import spectral_start

        generator, width = self._generator(0), self.dim**0.5 if self.base == "line" else self.dim
        vectors = (torch.rand(network.latent.shape, generator=generator) - 0.5) / width
        if self.base == "node2vec" and self.init == "spectral":
            matrix = sparse.csr_array(links.astype(np.float64))
            vectors, contexts = spectral_start(matrix, self.dim, self.window, self.n_negatives, generator)
            with torch.no_grad():
                network.contexts.copy_(contexts)
        self._start_kernel(network, links)
        network.start(vectors, generator, mean=False)

    def _pairs(self, links: sparse.csr_array, device: torch.device) -> Any:
        """What the base draws in an epoch, for a generator."""
        import torch

        from netfold.learn.skipgram import Noise, pair_batches, window_batches
        from netfold.learn.walks import Links

        walked, noise = Links.from_scipy(links, device), Noise.of(links, device)
        if self.base == "line":
            weights, size = torch.tensor(links.data, device=device), self.batch_size * _LINKS
            return pair_batches(
                walked, weights, noise, samples=links.nnz, n_negatives=self.n_negatives, batch_size=size
            )
        return window_batches(
            walked,
            noise,
            p=self.p,
            q=self.q,
            walks=1,
            length=self.length,
            window=self.window,
            n_negatives=self.n_negatives,
            batch_size=self.batch_size,
        )

    def _network(self, facts: dict[str, Any]) -> Node2VecPlusNetwork:
        from netfold.models.node2vecplus.network import Node2VecPlusNetwork

        size = facts["n_nodes"], self.dim, self._entries(facts)
        first = self.dim // 2 if self.base == "line" else 0
        network = Node2VecPlusNetwork(*size, first=first, sharing=self.sharing, hidden=self.hidden)
        return self._keep_attributes(network, facts)

    def _embed(self, data: Linked) -> Embedding:
        from netfold.data.embedding import Embedding

        process = self.network_
        predicted, diagonal = self._sums().each_as_new()
        process.spread.of_process(process.latent.detach(), predicted, diagonal)
        return Embedding(data.graph.nodes, process.vectors(predicted).numpy(force=True))
