"""DepthLGP: deeply transformed high-order Laplacian Gaussian processes (Ma, Cui, Zhu, AAAI 2018)."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from netfold.data.text import listed, type_in_words
from netfold.embedder.options import holds, option
from netfold.embedder.problem import Problem
from netfold.embedder.training_options import training
from netfold.errors import InputError
from netfold.models.lgp import LGPEmbedder, Linked

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    from netfold.cluster.exchange import RankGraph
    from netfold.cluster.room import Room
    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.learn.progress import Progress
    from netfold.learn.training import Block
    from netfold.models.depthlgp.network import Batch, DepthLGPNetwork
    from netfold.models.lgp.posterior import Placed

__all__ = ["DepthLGP"]

_MEASURED = 256
"""Subgraphs from whose errors is learned how sure an answer is."""
_USUAL_STEP, _LARGE_STEP = 32, 128
"""Subgraphs a step where nobody says: up to 100,000 nodes, and above."""
_FASTER = 5
"""Times the rate of h and a together, for a alone: by a tenth of that, node weights stayed where they start."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Embedded(Linked):
    """A graph, and an embedding that has a vector for each of its nodes, in the same order."""

    embedding: Embedding

    @cached_property
    def facts(self) -> dict[str, Any]:
        """With the width of the vectors, and a hash of them."""
        vectors = self.embedding.vectors
        return super().facts | {"dim": self.embedding.dim, "vectors": hashlib.sha256(vectors.tobytes()).hexdigest()}


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DepthLGP(LGPEmbedder["DepthLGPNetwork"]):
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
    roots: int = option(
        4,
        "nodes of a subgraph that count as new: the first that a random walk meets; never more than an eighth of all",
        at_least=1,
        was="seeds",
    )
    samples: int = option(1024, "subgraphs an epoch", at_least=1)
    batch_size: int | None = training(
        "batch_size", help="subgraphs a step, of all ranks together; None: 32, and 128 above 100,000 nodes"
    )
    lr: float = training("lr", default=0.003, help="learning rate of Adam, for eta, zeta and g")
    node_lr: float = option(
        0.01,
        "learning rate of row-wise Adagrad, for h and a of each node, or, where starts are chosen, five times it for a "
        "alone; 0 keeps h at f, and a where it starts",
        at_least=0,
    )
    schedule: str = training("schedule", help="how the learning rates fall over the epochs")
    starts: str = option(
        "chosen",
        "where eta, zeta and a start: chosen (of multiples of `eta` and `zeta` up to 100, near which LabelProp is, and "
        "of powers of the degree for a, those that place held-back nodes best; these three are then learned by where "
        "vectors point, kept where that places nodes better still, and vectors brought to the length of known ones) or "
        "given (as they are; h and g are learned too, by squared errors, and all is kept)",
        choices=("chosen", "given"),
    )

    embedding_: Embedding = dataclasses.field(
        init=False, metadata=holds("the vectors that `fit` was given, as they are")
    )

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> Linked:
        data = super()._read(graph, later=later)
        if later:
            return data
        own = self._checked_embedding(data.graph, embedding)
        return _Embedded(data.graph, data.unit, own, attributes=data.attributes)

    def _checked_embedding(self, graph: Graph, embedding: Any) -> Embedding:
        """The embedding that is to be extended, of the nodes of this graph, in order."""
        from netfold.data.embedding import Embedding

        whole = getattr(embedding, "embedding_", embedding)
        if not isinstance(whole, Embedding):
            was = "none was given" if whole is None else f"{type_in_words(whole)} was given"
            raise InputError(f"DepthLGP extends an embedding and {was}; call fit(graph, embedding)")
        if self.dim and self.dim != whole.dim:
            raise InputError(f"the embedding has {whole.dim} numbers a node and dim={self.dim}; leave dim at 0")
        at = whole.nodes.find(graph.nodes)
        missing = [graph.nodes[i] for i in (at < 0).nonzero()[0]]
        if missing:
            raise InputError(f"{listed(missing)}: in the graph, but without a vector in the embedding; it needs all")
        return Embedding(graph.nodes, whole.vectors[at], fitted_to=whole.fitted_to)

    def _bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        """Vectors, latent states and their state; of a step's subgraphs as measured, 18,000 a number of a vector."""
        width, step = self.dim or 128, self._step(nodes * ranks) // ranks
        return nodes * (16 * width + 64) + 24 * arcs + 18_000 * width * step

    def _problem(
        self, data: _Embedded, device: torch.device, progress: Progress, *, resumed: bool = False
    ) -> Problem[DepthLGPNetwork]:
        network = self._started(data, device, resumed=resumed)
        skipped = self._held_back(data) if self.starts == "chosen" else None
        of = self._sampler(network, data.embedding, self.samples, self._step(data.graph.n_nodes), skipped)
        return Problem(network, lambda epoch: of(self._generator(1, epoch)), [self._block(network)], self.schedule)

    def _step(self, nodes: int) -> int:
        """How many subgraphs are a step; of a large graph more: it is the number of steps that costs time there."""
        from netfold.learn.skipgram import is_large

        return self.batch_size or (_LARGE_STEP if is_large(nodes) else _USUAL_STEP)

    def _block(self, network: DepthLGPNetwork) -> Block:
        """What is learned. Where starts are chosen, h and g are not: they turn nodes away from their links."""
        from netfold.learn.training import Block

        shared, tables, rate = network.shared, network.tables, self.node_lr
        if self.starts == "chosen":
            kernel = network.kernel
            shared, tables, rate = [kernel.raw_eta, kernel.raw_zeta], [kernel.raw_weights], _FASTER * self.node_lr
            for x in (network.latent, *network.g.parameters()):
                x.requires_grad_(False)
        if not rate:
            return Block(shared, "adam", self.lr)
        return Block([*shared, *tables], "adam_and_rows", self.lr, {"row_lr": rate})

    def _started(self, data: _Embedded, device: torch.device, *, resumed: bool = False) -> DepthLGPNetwork:
        """The network before it is trained."""
        import numpy as np
        import torch

        network = self._network(data.facts)
        network.graph.keep(data.links)
        if not resumed:
            self._start_kernel(network, data.links)
            network.start(torch.tensor(data.embedding.vectors), self._generator(0), mean=self.prior == "mean")
        network.to(device)
        if not resumed and self.starts == "chosen":
            degrees = torch.from_numpy(np.asarray(data.links.sum(axis=1), np.float32).ravel()).to(device)
            network.choose_starts(self._alone(network, data), degrees)
        return network

    # ---------------------------------------------------------------- over several ranks

    def _unspread(self, *, directed: bool = False) -> str:
        return ""

    def _spread(
        self, graph: RankGraph, room: Room, progress: Progress, *, resumed: bool = False, vectors: Any = None
    ) -> Problem[Any]:
        from netfold.models.depthlgp.sharded import Sampling, ShardedDepthLGP

        if self.dim and self.dim != vectors.shape[1]:
            raise InputError(f"the embedding has {vectors.shape[1]} numbers a node and dim={self.dim}; leave dim at 0")
        own = self._network({"n_nodes": graph.m, "dim": vectors.shape[1], "entries": 0}).to(graph.ranks.device)
        roots = max(1, min(self.roots, graph.n_nodes // 8))
        sampling = Sampling(self.samples, self._step(graph.n_nodes), roots, self._caps())
        network = ShardedDepthLGP(
            own, graph, vectors, self._generator, sampling, chosen=self.starts == "chosen", prior=(self.eta, self.zeta)
        )
        if not resumed:
            network.start(mean=self.prior == "mean")
        block = self._block(own)
        for table in own.tables:
            table.requires_grad_(any(x is table for x in block.parameters))
        return Problem(network, network.batches, [block], self.schedule)

    def _sent_in_epoch(self, degrees: Any, ranks: int) -> float:
        """At most: links that are asked for, 28 bytes each, and h and a of known nodes, back where both are learned.

        A walk is at a node in proportion to its links; so many are read of each that it meets, and of those beside.
        """
        import numpy as np

        counts = np.asarray(degrees, np.float64)
        share = counts / max(1.0, counts.sum())
        near, beside = (float(share @ np.minimum(counts, cap or np.inf)) for cap in (self.one_step, self.two_step))
        known, links = near * (1 + beside), float(share @ counts) + near * beside
        ways = 1 if self.starts == "chosen" else 2
        each = 28 * links + known * (8 + 4 * ways * ((self.dim or 128) + 1))
        return self.samples * self.roots * each * (1 - 1 / ranks) / ranks

    def _placed(self, data: Linked, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Placed:
        """Of a model that is spread over ranks, new nodes are divided among them; each then has all answers."""
        graph, network = self._graph_parts, cast(Any, self.network_)
        if graph is None or graph.ranks.size == 1:
            return super()._placed(data, new, known)
        if self.routine != "exact":
            raise InputError("routine='sampled' places new nodes in one process; over ranks take routine='exact'")
        graph.ranks.agree("later graph", {"fingerprint": data.graph.fingerprint})
        self._check_weights(data)
        placed, reached = network.place(data.links, new, known, self._generator(8) if self.uncertainty else None)
        if graph.ranks.first:
            self._warn(data.graph, new[~reached])
        return placed  # type: ignore[no-any-return]

    def _held_back(self, data: _Embedded) -> npt.NDArray[np.int64]:
        """Known nodes that training never holds back: by these is seen where to start, and whether it helped."""
        import numpy as np

        linked = np.flatnonzero(np.diff(data.links.indptr))
        count = min(_MEASURED, max(1, len(linked) // 10))
        return np.sort(np.random.default_rng([self.seed, 22]).choice(linked, count, replace=False))

    def _alone(self, network: DepthLGPNetwork, data: _Embedded) -> Batch:
        """These nodes, each as if it alone were new."""
        import numpy as np
        import torch

        from netfold.models.depthlgp.network import Batch
        from netfold.models.lgp.neighborhoods import read_around

        nodes = self._held_back(data)
        around = read_around(
            data.links, nodes, np.arange(len(nodes)), self._caps(), self._generator(4), device=network.device
        )
        return Batch(around, torch.tensor(data.embedding.vectors)[around.new.cpu()].to(network.device))

    def _sampler(
        self, network: DepthLGPNetwork, embedding: Embedding, samples: int, batch_size: int, skipped: Any = None
    ) -> Callable[[torch.Generator], Iterator[Batch]]:
        """So many subgraphs of the graph that the network keeps, for a generator."""
        import torch

        from netfold.models.depthlgp.network import batches

        return batches(
            network.graph.matrix(),
            torch.tensor(embedding.vectors),
            samples=samples,
            roots=max(1, min(self.roots, len(network.latent) // 8)),
            caps=self._caps(),
            batch_size=batch_size,
            device=network.device,
            skipped=skipped,
        )

    def _network(self, facts: dict[str, Any]) -> DepthLGPNetwork:
        from netfold.embedder.placing import Placing
        from netfold.models.depthlgp.network import DepthLGPNetwork

        size = facts["n_nodes"], facts["dim"], self._entries(facts)
        network = DepthLGPNetwork(*size, sharing=self.sharing, hidden=self.hidden)
        network.directions = self.starts == "chosen"
        network.scale = Placing.from_facts(facts.get("placing")).scale
        return self._keep_attributes(network, facts)

    def _embed(self, data: _Embedded) -> Embedding:
        if self.starts == "chosen":
            self._keep_best(data)
        for batch in self._sampler(self.network_, data.embedding, _MEASURED, _MEASURED)(self._generator(2)):
            self.network_.measure(batch, self._generator(3))
        return data.embedding

    def _keep_best(self, data: _Embedded) -> None:
        """Go back to the start where what was learned places held-back nodes hardly better, and match lengths."""
        from netfold.embedder.placing import Placing
        from netfold.models.depthlgp.network import WORTH

        network, judges = self.network_, self._alone(self.network_, data)
        start = self._started(data, network.device) if self.history_ else network
        agreement = {"start": start.agreement(judges), "learned": network.agreement(judges)}
        if 1 - agreement["learned"] > WORTH * (1 - agreement["start"]):
            network.load_state_dict(start.state_dict())
        network.match_lengths(judges)
        placing = Placing(scale=network.scale, agreement=agreement)
        self.graph_facts_ = self.graph_facts_ | {"placing": dataclasses.asdict(placing)}
