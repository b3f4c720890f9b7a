"""DepthLGP: deeply transformed high-order Laplacian Gaussian processes (Ma, Cui, Zhu, AAAI 2018)."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from netfold.embedder.embedder import listed
from netfold.embedder.options import option
from netfold.errors import InputError
from netfold.models.lgp.embedder import LGPEmbedder

if TYPE_CHECKING:
    import torch

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.learn.progress import Progress
    from netfold.learn.training import Block
    from netfold.models.depthlgp.network import Batch, DepthLGPNetwork

__all__ = ["DepthLGP"]

_MEASURED = 256
"""Subgraphs from whose errors is learned how sure an answer is."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DepthLGP(LGPEmbedder):
    """Vectors for nodes that come later, in the space of any embedding of the nodes that were there.

    Each node has a latent state h, whose dimensions follow Gaussian processes over the graph with the kernel

    K = [I + eta L(Â) + zeta L(ÂÂ)]⁻¹,  Â = diag(a) A' diag(a),  a in [0, 1] a weight of each node,

    and its vector is f = g(h), g(x) = x + g̃(x). A new node's h is the mean of the process given those of known nodes,
    z_* = -M_**⁻¹ M_*x z_x with M = K⁻¹; g, eta, zeta, a and h are learned by holding back known nodes. `fit` takes the
    graph and the embedding, which stays as it is; `transform` gives new nodes vectors, and in `std` how sure they are.

    >>> from netfold.data.embedding import Embedding
    >>> from netfold.data.graph import Graph
    >>> graph = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "f"), ("f", "d")])
    >>> places = Embedding(list("abcdef"), [[0, 1], [1, 0], [1, 1], [5, 5], [5, 6], [6, 5]])
    >>> model = DepthLGP(epochs=5).fit(graph, places, progress=False)
    >>> new = model.transform([("g", "a"), ("g", "b")])
    >>> model.embedding_.nearest(new["g"], k=1, metric="euclidean")[0][0] in "abc"
    True
    """

    extends: ClassVar[bool] = True

    dim: int = option(
        0, "numbers per node: 0 for as many as the given embedding has; any other number must be that", at_least=0
    )
    epochs: int = option(10, "in each of which `samples` subgraphs are drawn", at_least=0)
    prior: str = option(
        "mean",
        "what is expected of a node without links: the mean of the given vectors, or the chapter's zero",
        choices=("mean", "zero"),
    )
    seeds: int = option(
        4,
        "nodes of a subgraph that count as new: the first that a random walk meets; never more than an eighth of all",
        at_least=1,
    )
    samples: int = option(1024, "subgraphs an epoch", at_least=1)
    batch_size: int = option(32, "subgraphs a step", at_least=1)
    lr: float = option(0.003, "learning rate of Adam, for eta, zeta and g", above=0)
    node_lr: float = option(
        0.01,
        "learning rate of row-wise Adagrad, for h and a of each node; 0 keeps h at f, and a where it starts",
        at_least=0,
    )
    schedule: str = option(
        "cosine", "how the learning rates fall over the epochs", choices=("constant", "linear", "cosine")
    )

    # ---------------------------------------------------------------- what an Embedder asks

    def _take(self, graph: Graph, embedding: Any) -> None:
        from netfold.data.embedding import Embedding

        self._check_links(graph)
        found = getattr(embedding, "embedding_", embedding)
        if not isinstance(found, Embedding):
            given = "none was given" if found is None else f"a {type(found).__name__} was given"
            raise InputError(f"DepthLGP extends an embedding and {given}; call fit(graph, embedding)")
        if self.dim and self.dim != found.dim:
            raise InputError(f"the embedding has {found.dim} numbers a node and dim={self.dim}; leave dim at 0")
        at = found.nodes.find(graph.nodes)
        missing = [graph.nodes[i] for i in (at < 0).nonzero()[0]]
        if missing:
            raise InputError(f"{listed(missing)}: in the graph, but without a vector in the embedding; it needs all")
        self._given = Embedding(graph.nodes, found.vectors[at], fitted_to=found.fitted_to)

    def _facts(self, graph: Graph) -> dict[str, Any]:
        vectors = self._given.vectors
        return super()._facts(graph) | {
            "dim": self._given.dim,
            "vectors": hashlib.sha256(vectors.tobytes()).hexdigest(),
        }

    def _check_facts(self, facts: dict[str, Any]) -> None:
        super()._check_facts(facts)
        if facts.get("dim") != self.embedding_.dim:
            raise TypeError(f"its vectors have {self.embedding_.dim} numbers, not {facts.get('dim')!r}")

    def _network_for(self, facts: dict[str, Any]) -> DepthLGPNetwork:
        from netfold.models.depthlgp.network import DepthLGPNetwork

        size = facts["n_nodes"], facts["dim"], facts["entries"]
        return DepthLGPNetwork(*size, sharing=self.sharing, hidden=self.hidden)

    def _start(self, network: DepthLGPNetwork, graph: Graph, progress: Progress) -> None:
        self._start_kernel(network, graph)
        network.start(self._vectors(), self._generator(0), mean=self.prior == "mean")

    def _vectors(self) -> torch.Tensor:
        import torch

        return torch.tensor(self._given.vectors)

    def _batches(self, graph: Graph, network: DepthLGPNetwork) -> Callable[[int], Iterable[Batch]]:
        network.graph.keep(self._linked(graph))  # here, as a run that goes on is not started
        of = self._sampler(network, self.samples, self.batch_size)
        return lambda epoch: of(self._generator(1, epoch))

    def _sampler(self, network: DepthLGPNetwork, samples: int, batch_size: int) -> Any:
        from netfold.models.depthlgp.network import batches

        return batches(
            network.graph.matrix(),
            self._vectors(),
            samples=samples,
            seeds=max(1, min(self.seeds, len(network.latent) // 8)),
            caps=self._caps(),
            batch_size=batch_size,
            device=network.device,
        )

    def _blocks(self, network: DepthLGPNetwork) -> list[Block]:
        from netfold.learn.training import Block

        if not self.node_lr:
            return [Block(network.shared, "adam", self.lr)]
        return [Block([*network.shared, *network.tables], "adam_and_rows", self.lr, {"row_lr": self.node_lr})]

    def _stopping(self) -> dict[str, Any]:
        return {"schedule": self.schedule}

    def _embed(self, graph: Graph) -> Embedding:
        from netfold.models.depthlgp.network import DepthLGPNetwork

        network = self.network_
        assert isinstance(network, DepthLGPNetwork)
        for batch in self._sampler(network, _MEASURED, _MEASURED)(self._generator(2)):
            network.measure(batch, self._generator(3))
        return self._given
