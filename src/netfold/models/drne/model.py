"""DRNE: deep recursive network embedding (Tu, Cui, Wang, Yu, Zhu, KDD 2018; the chapter's second model)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from netfold.embedder.embedder import Embedder, listed
from netfold.embedder.options import option
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from scipy import sparse
    from torch import Tensor

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.learn.progress import Progress
    from netfold.learn.training import Block
    from netfold.models.drne.batches import Batch
    from netfold.models.drne.network import DRNENetwork
    from netfold.models.drne.sequences import Sequences

__all__ = ["DRNE"]


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DRNE(Embedder):
    """Vectors that keep what role a node plays, wherever in the network it plays it (regular equivalence).

    A node's vector is to be what a layer-normalised LSTM makes of its neighbors' vectors, read in the order of their
    degrees, the highest last; and a node's degree is to be readable from what it makes:

    L = Σ_v ‖X_v - Agg(N(v))‖² + lambda Σ_v (log(d_v + 1) - MLP(Agg(N(v))))².

    Neighbors are the nodes linked in either direction, and a degree is their number: weights are not read. Neighbors of
    one degree are ordered by the degrees around them, and where those are the same too, each comes in as the mean of
    them all: so nodes that an automorphism exchanges, started equal, stay equal (where none has so many neighbors that
    they are drawn). A node without neighbors gets 0. Each step moves X with the aggregator fixed, and then the
    aggregator with X fixed. An epoch costs O(neighbors · dim²), in pieces of bounded memory.

    >>> from netfold.data.graph import Graph
    >>> graph = Graph.from_edges([("hub", leaf) for leaf in "abcd"] + [("center", leaf) for leaf in "wxyz"])
    >>> model = DRNE(dim=4, epochs=50).fit(graph, progress=False)
    >>> model.embedding_.nearest("hub", k=1)[0][0]
    'center'
    """

    dim: int = option(16, "numbers per node: the width of the embedding, k; 16 is the paper's", at_least=1)
    epochs: int = option(100, "passes over all nodes, at the most", at_least=0)
    lambda_: float = option(1.0, "weight of L_reg, the error in the degree", at_least=0)
    max_neighbors: int = option(
        300,
        "where a node has more neighbors, so many (the chapter's S) are drawn anew each epoch, without repetition, "
        "with probability proportional to their degrees",
        at_least=1,
    )
    start: str = option(
        "degree",
        "what X is before training: a random vector, the same for all nodes, plus another times the logarithm of the "
        "degree; the first alone, so that only the network's structure tells nodes apart (common); or a random one for "
        "each node (the chapter's)",
        choices=("degree", "common", "random"),
    )
    rounds: int = option(
        1,
        "how often X is aggregated to give the vectors, each round reading what the last one made: 0 gives X itself "
        "(the chapter's); if L_1 were 0 all would be the same",
        at_least=0,
    )
    vectors: str = option(
        "last",
        "what a node is given: the last round's vector, or X and those of all rounds side by side, each of them "
        "dim / (rounds + 1) wide",
        choices=("last", "all"),
    )
    lr: float = option(0.0025, "learning rate of Adam", above=0)
    schedule: str = option(
        "cosine", "how the learning rate falls over the epochs", choices=("constant", "linear", "cosine")
    )
    batch_size: int | None = option(
        None, "nodes a step; None takes a sixteenth of all, and at least 64", type=int, at_least=1
    )
    tolerance: float = option(
        1e-4, "training has converged when the objective improves by less than this share", at_least=0
    )
    patience: int = option(20, "of how many epochs the improvement is asked", at_least=1)

    # ---------------------------------------------------------------- what an Embedder asks

    def _network(self, n_nodes: int) -> DRNENetwork:
        from netfold.models.drne.network import DRNENetwork

        parts = self.rounds + 1 if self.vectors == "all" else 1
        if self.dim % parts:
            raise InputError(
                f"dim={self.dim} cannot be parted among X and {self.rounds} round(s); with vectors='all' and "
                f"rounds={self.rounds} take a multiple of {parts}"
            )
        return DRNENetwork(n_nodes, self.dim // parts, lambda_=self.lambda_, rounds=self.rounds)

    def _start(self, network: DRNENetwork, graph: Graph, progress: Progress) -> None:
        import numpy as np
        import torch

        from netfold.models.drne.sequences import neighbors

        degrees = np.diff(neighbors(graph).indptr)
        network.start(self._generator(0), torch.from_numpy(degrees), self.start)

    def _batches(self, graph: Graph, network: DRNENetwork) -> Callable[[int], Iterable[Batch]]:
        from netfold.models.drne.batches import batches

        sequences = self._sequences(network, graph)
        of = batches(
            sequences,
            network.colors.clone(),
            most=self.max_neighbors,
            batch_size=self.batch_size,
            piece=network.piece,
        )
        return lambda epoch: of(self._generator(1, epoch))

    def _sequences(self, network: DRNENetwork, graph: Graph) -> Sequences:
        """The graph's neighborhoods in order; the network keeps what new nodes will need of that order."""
        import torch

        from netfold.models.drne.sequences import Sequences, colors, neighbors

        matrix = neighbors(graph)
        color = colors(matrix)
        sequences = Sequences.of(matrix, color, network.device)
        network.colors.copy_(torch.from_numpy(color))
        network.degrees.copy_(sequences.lengths)
        return sequences

    def _blocks(self, network: DRNENetwork) -> list[Block]:
        from netfold.learn.training import Block

        return [Block([network.table], "adam", self.lr), Block(network.theta, "adam", self.lr)]

    def _stopping(self) -> dict[str, Any]:
        return {"schedule": self.schedule, "tolerance": self.tolerance, "patience": self.patience}

    def _embed(self, graph: Graph) -> Embedding:
        from netfold.data.embedding import Embedding
        from netfold.models.drne.sequences import neighbors

        network = self._fitted_network()
        drawn = self._drawn(neighbors(graph))
        made = [network.table.detach()]
        for _ in range(self.rounds):
            made.append(network.aggregate(drawn, made[-1]))
        for kept, vectors in zip(network.passed, made[1:], strict=False):
            kept.copy_(vectors)
        return Embedding(graph.nodes, self._given(made))

    def _extend(self, graph: Graph, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        import numpy as np

        from netfold.data.embedding import Embedding

        over_known = self._over_known(graph, new, known)
        lost = np.flatnonzero(np.diff(over_known.indptr) == 0)
        if len(lost):
            names = listed([graph.nodes[i] for i in new[lost]])
            raise InputError(f"{names}: no links to any known node, and DRNE can place a new node only by such links")
        network = self._fitted_network()
        drawn = self._drawn(over_known)
        made = [network.aggregate(drawn, vectors) for vectors in (network.table.detach(), *network.passed)]
        return Embedding(graph.nodes.take(new), self._given([made[0], *made]))

    def _given(self, made: list[Tensor]) -> npt.NDArray[np.float32]:
        """What nodes with these vectors are given: X (of a new node what its neighbors make), then each round's."""
        import torch

        chosen = torch.cat(made, dim=1) if self.vectors == "all" else made[self.rounds]
        return chosen.numpy(force=True)

    def _drawn(self, over_known: sparse.csr_array) -> Sequences:
        """The known neighbors that are read of these rows, in order.

        One key per known node, so that a node's draw is the same whichever others are asked for with it.
        """
        from netfold.models.drne.batches import exponential
        from netfold.models.drne.sequences import Sequences

        network = self._fitted_network()
        sequences = Sequences.of(over_known, network.colors.numpy(force=True), network.device)
        keys = exponential(len(network.degrees), self._generator(2)).to(network.device) / network.degrees
        return sequences.sampled(self.max_neighbors, lambda nodes: keys[nodes])

    def _over_known(self, graph: Graph, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> sparse.csr_array:
        """Which known nodes these rows of a later graph are linked with: m x n."""
        from scipy import sparse

        from netfold.models.drne.sequences import neighbors

        picked = neighbors(graph)[new].tocoo()
        at = known[picked.coords[1]]
        entries = picked.data[at >= 0], (picked.coords[0][at >= 0], at[at >= 0])
        return sparse.coo_array(entries, shape=(len(new), len(self.embedding_))).tocsr()

    def _fitted_network(self) -> DRNENetwork:
        from netfold.models.drne.network import DRNENetwork

        assert isinstance(self.network_, DRNENetwork)
        return self.network_
