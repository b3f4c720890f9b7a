"""LINE: large-scale information network embedding (Tang, Qu, Wang, Zhang, Yan, Mei, WWW 2015)."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

from netfold.embedder.embedder import Embedder
from netfold.embedder.options import option
from netfold.embedder.problem import SCALED_APART, Input, Problem, weight_unit_of
from netfold.embedder.training_options import skipgram, weight_scale
from netfold.errors import InputError

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
    from netfold.models.line.network import LINENetwork

__all__ = ["LINE"]

_LEAST = 10_000
"""Unless said otherwise, so many links are drawn an epoch where there are fewer: small graphs need as many steps."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class LINE(Embedder["LINENetwork"]):
    """Vectors that tell who is linked with whom (first order), and whose links lead to the same nodes (second).

    Links (i, j) are drawn in proportion to their weights; linked nodes are separated from nodes drawn at random:

    L_1 = -Σ_(i,j) [log σ(u_i · u_j) + k E_v log σ(-u_i · u_v)],
    L_2 = -Σ_(i,j) [log σ(z_i · c_j) + k E_v log σ(-z_i · c_v)],  v drawn in proportion to degree^¾.

    The orders are trained apart, half of the dimensions each, and set side by side, each of length 1. The first order
    knows no direction: an arc counts as a link. In the second a node is known by the arcs that leave it; one that none
    leaves keeps to where it began. Nodes without links get 0. New nodes have no place in this model: DepthLGP gives
    them one.

    >>> from netfold.data.graph import Graph
    >>> two = [(a, b) for group in ("abcd", "wxyz") for a in group for b in group if a < b] + [("d", "w")]
    >>> model = LINE(dim=8).fit(Graph.from_edges(two), progress=False)
    >>> sorted(node for node, _ in model.embedding_.nearest("a", k=2))
    ['b', 'c']
    """

    counted: ClassVar[bool] = True

    epochs: int = option(20, "in each of which `samples` links are drawn", at_least=0)
    order: str = option(
        "both",
        "of proximity: first, second, or both, each with half of the dimensions",
        choices=("first", "second", "both"),
    )
    weight_scale: str | None = weight_scale()
    samples: int | None = option(
        None,
        "links drawn an epoch, with probability in proportion to weight; None: as many as there are, at least 10,000",
        type=int,
        at_least=1,
    )
    init: str | None = option(
        None,
        "the start: spectral (eigenvectors of the normalised adjacency; None, too), or none (small random vectors, the "
        "paper's, from which 20 epochs are not enough)",
        type=str,
        choices=("spectral", "none"),
    )
    n_negatives: int = skipgram("n_negatives", help="k: nodes drawn at random against each link, in expectation")
    lr: float = skipgram("lr", default=0.3)
    schedule: str = skipgram("schedule")
    batch_size: int | None = skipgram(
        "batch_size",
        help="links a step, of all ranks together; None: 4,096, and where nodes are above 100,000 half as many",
    )
    tolerance: float = skipgram("tolerance")
    patience: int = skipgram("patience")

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> Input:
        self._check_halves()
        return super()._read(graph, embedding, later=later)

    def _check_halves(self) -> None:
        if self.order == "both" and self.dim % 2:
            raise InputError(f"dim={self.dim} does not halve; order='both' needs an even one, or take order='second'")

    def _bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        """Two tables and the vectors, 12 a width; of links and of a step's rows as measured, up to 100,000 nodes, or
        before that, where they are more, five blocks of the start's solver."""
        from netfold.learn.skipgram import batch_by_size

        step = (self.batch_size or batch_by_size(4096, nodes * ranks, 2)) // ranks
        width = self.dim // 2 if self.order == "both" else self.dim
        start = 0 if self.init == "none" else 20 * (width + 11) * nodes
        return nodes * (12 * self.dim + 64) + 34 * arcs + max(73 * self.dim * step, start)

    def _sent_in_epoch(self, degrees: Any, ranks: int) -> float:
        from netfold.cluster.skipgram import expected_traffic
        from netfold.learn.skipgram import batch_by_size

        step = self.batch_size or batch_by_size(4096, len(degrees), 2)
        steps = math.ceil((self.samples or max(_LEAST, int(degrees.sum()))) / step)
        return expected_traffic(degrees, step / ranks, steps, ranks, 8 * self.dim, 8 * self.dim)

    def _unspread(self, *, directed: bool = False) -> str:
        return SCALED_APART if self.weight_scale == "log" else ""

    def _spread(self, graph: RankGraph, room: Room, progress: Progress, *, resumed: bool = False) -> Problem[Any]:
        from netfold.cluster.skipgram import both_degrees, link_steps, rank_start
        from netfold.cluster.walks import RankLinks, RankNoise
        from netfold.learn.skipgram import PRIOR, batch_by_size
        from netfold.learn.training import Block
        from netfold.models.line.network import ShardedLINE

        self._check_halves()
        own = self._network({"n_nodes": graph.m}).to(graph.ranks.device)
        network, degrees = ShardedLINE(own, graph), both_degrees(graph)
        if not resumed and self.init == "none":
            network.start(self._generator, degrees > 0)
        elif not resumed:
            wide = 1 + max(own.first.shape[1], own.second.shape[1])
            own.start_from(
                *rank_start(graph, degrees, self._generator, dim=wide, window=1, n_negatives=self.n_negatives)
            )
        steps, of = link_steps(
            RankLinks(graph),
            RankNoise(graph, degrees),
            self._generator,
            samples=self.samples or max(_LEAST, graph.folder.n_arcs),
            n_negatives=self.n_negatives,
            batch_size=self.batch_size or batch_by_size(4096, graph.n_nodes, 2),
        )
        block = Block(own.tables, "row_adagrad", self.lr, {"prior": PRIOR})
        return Problem(network, of, [block], self.schedule, self.tolerance, self.patience, steps)

    def _problem(
        self, data: Input, device: torch.device, progress: Progress, *, resumed: bool = False
    ) -> Problem[LINENetwork]:
        import torch

        from netfold.learn.skipgram import PRIOR, Noise, batch_by_size, pair_batches
        from netfold.learn.starts import large_on
        from netfold.learn.training import Block
        from netfold.learn.walks import Links

        matrix = data.graph.adjacency
        with large_on(device, data.graph.n_nodes):
            network = self._network(data.facts)
        if not resumed:
            self._start(network, data.graph)
        network.to(device)
        samples = self.samples or max(_LEAST, matrix.nnz)
        batch_size = self.batch_size or batch_by_size(4096, data.graph.n_nodes, 2)
        of = pair_batches(
            Links.from_scipy(matrix, device),
            torch.tensor(matrix.data, device=device),
            Noise.of(matrix, device),
            samples=samples,
            n_negatives=self.n_negatives,
            batch_size=batch_size,
        )
        return Problem(
            network,
            lambda epoch: of(self._generator(1, epoch)),
            [Block(network.tables, "row_adagrad", self.lr, {"prior": PRIOR})],
            self.schedule,
            self.tolerance,
            self.patience,
            math.ceil(samples / batch_size),
        )

    def _start(self, network: LINENetwork, graph: Graph) -> None:
        """Give the tables their first values."""
        import torch

        from netfold.data.edges import linked_nodes, links
        from netfold.learn.starts import spectral_start

        if self.init == "none":
            network.start(self._generator(0), torch.from_numpy(linked_nodes(graph)).to(network.device))
            return
        matrix = links(graph, directed=False, weights=True, loops="keep")
        wide = 1 + max(network.first.shape[1], network.second.shape[1])
        vectors, contexts = spectral_start(matrix, wide, 1, self.n_negatives, self._generator(0), network.device)
        network.start_from(vectors, contexts)

    def _codes(self, network: LINENetwork, data: Input) -> NodeCodes:
        return network.codes

    def _begin(
        self,
        network: LINENetwork,
        known: npt.NDArray[np.int64],
        placed: npt.NDArray[np.float32],
        there: npt.NDArray[np.bool_],
    ) -> None:
        import torch

        from netfold.learn.skipgram import begin_rows

        generator, width = self._generator(8), network.first.shape[1]
        old = torch.from_numpy(known >= 0).to(network.device)
        for table, part in ((network.first, placed[:, :width]), (network.second, placed[:, width:])):
            if table.shape[1]:
                usual = float(table.detach()[old].norm(dim=1).median())  # vectors are of length 1, the table's are not
                begin_rows(table, known < 0, part * usual, there, generator)

    def _network(self, facts: dict[str, Any]) -> LINENetwork:
        from netfold.models.line.network import LINENetwork

        weight_unit_of(facts)
        widths = {"first": (self.dim, 0), "second": (0, self.dim), "both": (self.dim // 2, self.dim // 2)}
        return LINENetwork(facts["n_nodes"], *widths[self.order])

    def _embed(self, data: Input) -> Embedding:
        from netfold.data.embedding import Embedding

        return Embedding(data.graph.nodes, self.network_.embed().numpy(force=True))
