"""node2vec (Grover, Leskovec, KDD 2016), of which DeepWalk (Perozzi, Al-Rfou, Skiena, KDD 2014) is p = q = 1."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

from netfold.embedder.embedder import Embedder
from netfold.embedder.options import option
from netfold.embedder.problem import SCALED_APART, Input, Problem, weight_unit_of
from netfold.embedder.training_options import skipgram, weight_scale

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    from netfold.cluster.exchange import RankGraph
    from netfold.cluster.room import Room
    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.embedder.settling import NodeCodes
    from netfold.learn.progress import Progress
    from netfold.models.node2vec.network import Node2VecNetwork

__all__ = ["Node2Vec"]

_MOST_ROUNDS = 64
"""How often a step of a walk over ranks is proposed, in expectation, at most: as many times as q or 1/q."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class Node2Vec(Embedder["Node2VecNetwork"]):
    """Vectors that tell which nodes a random walk meets near one another; DeepWalk is p = q = 1.

    Walks start from every node; a node's vector z is to tell the nodes within a window of it, by their context vectors
    c, from nodes drawn at random (skip-gram with k negative samples):

    L = -Σ_(i,j) [log σ(z_i · c_j) + k E_v log σ(-z_i · c_v)],  v drawn in proportion to degree^¾.

    From v, having come from t, a walk goes to x in proportion to s_vx alpha(t, x): 1/p for x = t, 1 for x that t links
    to, 1/q for others; exactly. It follows arcs where they are directed, and ends where there are none. Nodes without
    links get 0. New nodes have no place in this model: DepthLGP gives them one.

    >>> from netfold.data.graph import Graph
    >>> ring = [(i, (i + 1) % 12) for i in range(12)]
    >>> model = Node2Vec(dim=4, length=20, window=2, epochs=20).fit(Graph.from_edges(ring), progress=False)
    >>> sorted(node for node, _ in model.embedding_.nearest(0, k=2))
    [1, 11]
    """

    free_vectors: ClassVar[bool] = True

    epochs: int = option(10, "passes over all nodes, each with new walks", at_least=0)
    weight_scale: str | None = weight_scale()
    p: float = skipgram("p")
    q: float = skipgram("q")
    walks: int = option(
        1, "walks from each node in an epoch; the papers' number of walks is this times epochs", at_least=1
    )
    length: int = skipgram("length")
    window: int = skipgram("window")
    n_negatives: int = skipgram("n_negatives")
    init: str = skipgram("init")
    lr: float | None = skipgram(
        "lr",
        default=None,
        help="learning rate of row-wise Adagrad; a row that has seen little yet moves at a quarter of it; None: 0.1, "
        "and 0.03 above 100,000 nodes, where a step meets half of them and more would undo a good start",
    )
    schedule: str = skipgram("schedule")
    batch_size: int | None = skipgram(
        "batch_size",
        help="walks a step, of all ranks together; None: 64, and where nodes are above 100,000 as many as meet half "
        "of them",
    )
    tolerance: float = skipgram("tolerance")
    patience: int = skipgram("patience")
    held_out: float | None = skipgram(
        "held_out",
        default=None,
        help="share of the links that a first run is trained without, to see after how many epochs (none is the start) "
        "it tells them best from pairs that are not linked; the model is then trained on everything for as many. None: "
        "a tenth where init is spectral, links are 1,000 or more and nodes at most 100,000, else 0. 0: no such run, "
        "which halves the cost at most",
    )

    # ---------------------------------------------------------------- what an Embedder asks

    def _unspread(self, *, directed: bool = False) -> str:
        if not 1 / _MOST_ROUNDS <= self.q <= _MOST_ROUNDS:
            return f"with q={self.q:g} most steps of a walk would be refused, and each asks other ranks again"
        if self.weight_scale == "log":
            return SCALED_APART
        return "held_out asks for pairs of nodes that different ranks have" if self.held_out else ""

    def _bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        """Two tables and the vectors, 12 a width; five blocks of the start's solver; links and a step as measured."""
        from netfold.learn.skipgram import batch_by_size

        step = (self.batch_size or batch_by_size(64, nodes * ranks, 2 * self.length)) * self.length // ranks
        start = 0 if self.init == "none" else 20 * (self.dim + 10)
        return nodes * (12 * self.dim + 64 + start) + 34 * arcs + 42 * self.dim * step

    def _sent_in_epoch(self, degrees: Any, ranks: int) -> float:
        from netfold.cluster.skipgram import expected_traffic
        from netfold.learn.skipgram import batch_by_size

        walks = self.walks * int((degrees > 0).sum())
        steps = math.ceil(walks / (self.batch_size or batch_by_size(64, len(degrees), 2 * self.length)))
        nodes = walks * self.length / steps / ranks
        walked = 24 * (1 - 1 / ranks) * walks * (self.length - 1) / ranks
        return walked + expected_traffic(degrees, nodes, steps, ranks, 16 * self.dim, 8 * self.dim)

    def _spread(self, graph: RankGraph, room: Room, progress: Progress, *, resumed: bool = False) -> Problem[Any]:
        from netfold.cluster.skipgram import both_degrees, rank_start, walk_steps
        from netfold.cluster.walks import RankLinks, RankNoise
        from netfold.learn.skipgram import PRIOR, batch_by_size, is_large
        from netfold.learn.training import Block
        from netfold.models.node2vec.network import ShardedNode2Vec

        own = self._network({"n_nodes": graph.m}).to(graph.ranks.device)
        network, degrees = ShardedNode2Vec(own, graph), both_degrees(graph)
        if not resumed and self.init == "none":
            network.start(self._generator, degrees > 0)
        elif not resumed:
            facts = {"dim": self.dim, "window": self.window, "n_negatives": self.n_negatives}
            own.start_from(*rank_start(graph, degrees, self._generator, **facts))
        steps, of = walk_steps(
            RankLinks(graph),
            RankNoise(graph, degrees),
            self._generator,
            walks=self.walks,
            length=self.length,
            window=self.window,
            n_negatives=self.n_negatives,
            batch_size=self.batch_size or batch_by_size(64, graph.n_nodes, 2 * self.length),
            p=self.p,
            q=self.q,
        )
        lr = self.lr or (0.03 if is_large(graph.n_nodes) else 0.1)
        block = Block([own.vectors, own.contexts], "row_adagrad", lr, {"prior": PRIOR})
        return Problem(network, of, [block], self.schedule, self.tolerance, self.patience, steps)

    def _held_out(self, data: Input) -> float:
        """By itself where the spectral start may be better than what training makes of it, and links enough to tell."""
        from netfold.embedder.stopping import ENOUGH_LINKS
        from netfold.learn.skipgram import is_large

        if self.held_out is not None or self.init != "spectral" or is_large(data.graph.n_nodes):
            return self.held_out or 0.0
        return 0.1 if data.graph.n_edges >= ENOUGH_LINKS else 0.0

    def _problem(
        self, data: Input, device: torch.device, progress: Progress, *, resumed: bool = False
    ) -> Problem[Node2VecNetwork]:
        import numpy as np

        from netfold.learn.skipgram import PRIOR, Noise, batch_by_size, is_large, window_batches
        from netfold.learn.starts import large_on
        from netfold.learn.training import Block
        from netfold.learn.walks import Links

        matrix = data.graph.adjacency
        batch_size = self.batch_size or batch_by_size(64, data.graph.n_nodes, 2 * self.length)
        with large_on(device, data.graph.n_nodes):
            network = self._network(data.facts)
        if not resumed:
            self._start(network, data.graph)
        network.to(device)
        of = window_batches(
            Links.from_scipy(matrix, device),
            Noise.of(matrix, device),
            p=self.p,
            q=self.q,
            walks=self.walks,
            length=self.length,
            window=self.window,
            n_negatives=self.n_negatives,
            batch_size=batch_size,
        )
        lr = self.lr or (0.03 if is_large(data.graph.n_nodes) else 0.1)
        walks = self.walks * int(np.count_nonzero(np.diff(matrix.indptr)))
        return Problem(
            network,
            lambda epoch: of(self._generator(1, epoch)),
            [Block([network.vectors, network.contexts], "row_adagrad", lr, {"prior": PRIOR})],
            self.schedule,
            self.tolerance,
            self.patience,
            math.ceil(walks / batch_size),
        )

    def _start(self, network: Node2VecNetwork, graph: Graph) -> None:
        """Give vectors and contexts their first values, from links in either direction."""
        import numpy as np
        import torch

        from netfold.data.edges import links
        from netfold.learn.starts import spectral_start

        matrix = links(graph, directed=False, weights=True, loops="keep")
        if self.init == "none":
            network.start(self._generator(0), torch.from_numpy(np.diff(matrix.indptr) > 0).to(network.device))
            return
        vectors, contexts = spectral_start(
            matrix, self.dim, self.window, self.n_negatives, self._generator(0), network.device
        )
        network.start_from(vectors, contexts)

    def _codes(self, network: Node2VecNetwork, data: Input) -> NodeCodes:
        from netfold.learn.layers import take_rows

        return lambda nodes: take_rows(network.vectors, nodes)

    def _begin(
        self,
        network: Node2VecNetwork,
        known: npt.NDArray[np.int64],
        placed: npt.NDArray[np.float32],
        there: npt.NDArray[np.bool_],
    ) -> None:
        from netfold.learn.skipgram import begin_rows

        begin_rows(network.vectors, known < 0, placed, there, self._generator(8))

    def _network(self, facts: dict[str, Any]) -> Node2VecNetwork:
        from netfold.models.node2vec.network import Node2VecNetwork

        weight_unit_of(facts)
        return Node2VecNetwork(facts["n_nodes"], self.dim)

    def _embed(self, data: Input) -> Embedding:
        from netfold.data.embedding import Embedding

        return Embedding(data.graph.nodes, self.network_.vectors.numpy(force=True))
