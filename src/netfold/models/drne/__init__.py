"""DRNE: deep recursive network embedding (Tu, Cui, Wang, Yu, Zhu, KDD 2018; the chapter's second model)."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from netfold.embedder.embedder import Embedder
from netfold.embedder.options import option
from netfold.embedder.problem import Input, Problem, check_placed, over_known
from netfold.embedder.training_options import training
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch
    from scipy import sparse
    from torch import Tensor

    from netfold.cluster.exchange import RankGraph
    from netfold.cluster.room import Room
    from netfold.data.embedding import Embedding
    from netfold.learn.progress import Progress
    from netfold.models.drne.batches import Sequences
    from netfold.models.drne.network import DRNENetwork

__all__ = ["DRNE"]

_SAID = 4
"""Columns of degrees that are read out."""


class _Neighbors(Input):
    """A graph, and its links as DRNE reads them."""

    @cached_property
    def linked(self) -> sparse.csr_array:
        """Who is a neighbor of whom: n x n."""
        from netfold.models.drne.batches import neighbors

        return neighbors(self.graph)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DRNE(Embedder["DRNENetwork"]):
    """Vectors that keep what role a node plays, wherever in the network it plays it (regular equivalence).

    A node's vector is to be what a layer-normalised LSTM makes of its neighbors' vectors, read in the order of their
    degrees, the highest last; and a node's degree is to be readable from what it makes:

    L = Σ_v ‖X_v - Agg(N(v))‖² + lambda Σ_v (log(d_v + 1) - MLP(Agg(N(v))))².

    Neighbors are the nodes linked in either direction, and a degree is their number: weights are not read. Neighbors of
    one degree are ordered by the degrees around them, and where those are the same too, each comes in as the mean of
    them all: so nodes that an automorphism exchanges, started equal, stay equal (where none has so many neighbors that
    they are drawn). A node without neighbors gets 0. Each step moves X with the aggregator fixed, and then the
    aggregator with X fixed. An epoch costs O(neighbors · dim²), in pieces of bounded memory.

    Where the graph has attributes, the LSTM reads those of each neighbor beside its vector, [X_u, γ a_u], in
    O(entries · dim) more: a role is then also whom of what sort a node is linked with. A node's own are read by its
    neighbors alone, and a missing value adds nothing.

    >>> from netfold.data.graph import Graph
    >>> graph = Graph.from_edges([("hub", leaf) for leaf in "abcd"] + [("center", leaf) for leaf in "wxyz"])
    >>> model = DRNE(dim=4, epochs=50).fit(graph, progress=False)
    >>> model.embedding_.nearest("hub", k=1)[0][0]
    'center'
    """

    counted: ClassVar[bool] = True
    regresses_isolated: ClassVar[bool] = True

    dim: int = option(16, "numbers per node: the width of the embedding, k; 16 is the paper's", at_least=1)
    epochs: int = option(100, "passes over all nodes, at most", at_least=0)
    lambda_: float = option(1.0, "weight of L_reg, the error in the degree", at_least=0)
    max_neighbors: int = option(
        300,
        "where a node has more neighbors, so many (the chapter's S) are drawn anew each epoch, without repetition, "
        "with probability proportional to their degrees",
        at_least=1,
    )
    init: str = option(
        "degree",
        "what X is before training: a random vector, the same for all nodes, plus another times the logarithm of the "
        "degree; the first alone, so that only the network's structure tells nodes apart (common); or a random one for "
        "each node (the chapter's)",
        choices=("degree", "common", "random"),
        was="start",
    )
    rounds: int = option(
        1,
        "how often X is aggregated to give the vectors, each round reading what the last one made: 0 gives X itself "
        "(the chapter's); if L_1 were 0 all would be the same",
        at_least=0,
    )
    vectors: str = option(
        "last",
        "what a node is given: the last round's vector; X and those of all rounds side by side, each of them "
        "dim / (rounds + 1) wide; or the same, 4 narrower in all, and what L_reg's MLP says of degrees (readout: the "
        "node's, its logarithm, the mean and the sum of its neighbors')",
        choices=("last", "all", "readout"),
    )
    length: str = option(
        "learned",
        "of the vectors: as learned, or readout (for products of vectors: as long as the number of neighbors is that a "
        "node's neighbors have in the mean, which is about centrality over degree, by what L_reg's MLP says of each; "
        "and turned most of the way to what it reads, so that products are of lengths first)",
        choices=("learned", "readout"),
    )
    attribute_weight: float = option(
        1.0,
        "γ: of the attributes of neighbors beside their vectors, where the graph has any; scaled attributes of a node "
        "have a mean square length of 1; at 0 they are not read",
        at_least=0,
        below=1e10,
    )
    lr: float = training("lr", default=0.0025, help="learning rate of Adam")
    schedule: str = training("schedule")
    batch_size: int | None = training("batch_size", help="nodes a step; None takes a sixteenth of all, and at least 64")
    tolerance: float = training("tolerance")
    patience: int = training("patience")

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> _Neighbors:
        read = super()._read(graph, embedding, later=later)
        return _Neighbors(read.graph, attributes=read.attributes)

    def _reads_attributes(self) -> bool:
        return True

    def _bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        """X with its gradient and Adam's state, 16 a width; the rest, of colors, sequences and states, as measured."""
        return nodes * (26 * self.dim + 1040) + 69 * arcs

    def _problem(
        self, data: _Neighbors, device: torch.device, progress: Progress, *, resumed: bool = False
    ) -> Problem[DRNENetwork]:
        import numpy as np
        import torch

        from netfold.learn.training import Block
        from netfold.models.drne.batches import Sequences, batches, colors

        network, degrees, color = self._network(data.facts), np.diff(data.linked.indptr), colors(data.linked, device)
        network.degrees.copy_(torch.from_numpy(degrees))  # what new nodes will need of the order of neighbors
        network.colors.copy_(torch.from_numpy(color))
        if not resumed:
            network.start(self._generator(0), torch.from_numpy(degrees), self.init)
        if data.attributes is not None:
            data.attributes.fill(network)
        network.to(device)
        of = batches(
            Sequences.of(data.linked, color, device),
            network.colors.clone(),
            most=self.max_neighbors,
            batch_size=self.batch_size,
            piece=network.piece,
            attributes=None if data.block is None else network.attribute_rows(data.block),
        )
        return Problem(
            network,
            lambda epoch: of(self._generator(1, epoch)),
            [Block([network.table], "adam", self.lr), Block(network.theta, "adam", self.lr)],
            self.schedule,
            self.tolerance,
            self.patience,
        )

    # ---------------------------------------------------------------- over several ranks

    def _unspread(self, *, directed: bool = False) -> str:
        named = f"length={self.length!r}" if self.length == "readout" else f"vectors={self.vectors!r}"
        return f"{named} reads what neighbors on other ranks say" if self._reads_out else ""

    @property
    def _reads_out(self) -> bool:
        """Whether vectors need what L_reg's MLP says."""
        return "readout" in (self.length, self.vectors)

    def _spread(self, graph: RankGraph, room: Room, progress: Progress, *, resumed: bool = False) -> Problem[Any]:
        from netfold.learn.training import Block
        from netfold.models.drne.sharded import ShardedDRNE

        own = self._network({"n_nodes": graph.m}).to(graph.ranks.device)
        network = ShardedDRNE(
            own,
            graph,
            self._generator,
            most=self.max_neighbors,
            batch_size=self.batch_size,
            rounds=self.rounds,
            chosen=self._chosen,
        )
        if not resumed:
            network.start(self.init)
        blocks = [Block([own.table], "adam", self.lr), Block(own.theta, "adam", self.lr)]
        return Problem(network, network.batches, blocks, self.schedule, self.tolerance, self.patience)

    def _width(self) -> int:
        """Numbers of a node in X."""
        return (self.dim - self._beside()) // self._parts()

    def _parts(self) -> int:
        """How many vectors of that width a node is given."""
        return 1 if self.vectors == "last" else self.rounds + 1

    def _beside(self) -> int:
        """Numbers of a node beside those."""
        return _SAID if self.vectors == "readout" else 0

    def _steps(self, nodes: int) -> int:
        from netfold.models.drne.batches import steps_of

        return steps_of(nodes, self.batch_size)

    def _part_bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        """As measured, at 16 and at 64 numbers a node."""
        return nodes * (38 * self._width() + 325) + 40 * arcs

    def _state_bytes(self, nodes: int) -> int:
        return nodes * (12 * self._width() + 16)

    def _sent(self, *, directed: bool) -> int:
        """A vector twice, its gradient, and the number of the row."""
        return 12 * self._width() + 8

    def _network(self, facts: dict[str, Any]) -> DRNENetwork:
        from netfold.embedder.attributes import scaling_tables, width_of
        from netfold.models.drne.network import DRNENetwork

        parts, beside = self._parts(), self._beside()
        if self.dim <= beside or (self.dim - beside) % parts:
            wanted = f"{beside} more than a multiple" if beside else "a multiple"
            raise InputError(
                f"dim={self.dim} cannot be parted among X and {self.rounds} round(s); with vectors={self.vectors!r} "
                f"and rounds={self.rounds} take {wanted} of {parts}"
            )
        more: dict[str, Any] = {"lambda_": self.lambda_, "rounds": self.rounds, "readout": self._reads_out}
        if "attributes" not in facts:
            return DRNENetwork(facts["n_nodes"], self._width(), **more)
        more |= {"attributes": width_of(facts["attributes"])[0], "attribute_weight": self.attribute_weight}
        network = DRNENetwork(facts["n_nodes"], self._width(), **more)
        network.scaling = scaling_tables(facts["attributes"], self.dim)
        return network

    def _embed(self, data: _Neighbors) -> Embedding:
        from netfold.data.embedding import Embedding

        if data.block is not None:
            self.network_.remember(self.network_.attribute_rows(data.block))
        drawn = self._drawn(data.linked)
        rounds = [self.network_.table.detach()]
        for _ in range(self.rounds):
            rounds.append(self.network_.aggregate(drawn, rounds[-1]))
        for passed, vectors in zip(self.network_.passed, rounds[1:], strict=False):
            passed.copy_(vectors)
        if self._reads_out:
            self.network_.said.copy_(self.network_.read_out(self.network_.aggregate(drawn, rounds[0])))
        chosen = self._as_long(self._chosen(rounds), data.linked)
        if self.vectors == "readout":
            chosen = self._with_said(chosen, self.network_.said, data.linked)
        return Embedding(data.graph.nodes, chosen)

    def _with_said(
        self, vectors: npt.NDArray[np.float32], own: Tensor, near: sparse.csr_array
    ) -> npt.NDArray[np.float32]:
        """The vectors of nodes of whom this is said (m), with these known neighbors (m x n), and columns of it."""
        import numpy as np

        from netfold.models.drne.batches import said_columns

        known = self.network_.said.numpy(force=True)
        columns = said_columns(own.numpy(force=True), near, known, float(self.network_.degrees.max()))
        return np.concatenate([vectors, columns], axis=1)

    def _as_long(self, vectors: npt.NDArray[np.float32], near: sparse.csr_array) -> npt.NDArray[np.float32]:
        """The vectors of nodes with these known neighbors (m x n) at the length that they are to have: m x d."""
        if self.length != "readout":
            return vectors
        import numpy as np

        from netfold.models.drne.batches import lengthened

        network = self.network_
        toward = np.tile(network.degree_weight.numpy(force=True)[:, 0], vectors.shape[1] // network.dim)
        return lengthened(vectors, near, network.said.numpy(force=True), toward)

    def _has_links(self, data: Input[Any]) -> npt.NDArray[np.bool_]:
        import numpy as np

        assert isinstance(data, _Neighbors)
        return np.asarray(np.diff(data.linked.indptr) > 0)

    def _extend(self, data: _Neighbors, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        import numpy as np

        from netfold.data.embedding import Embedding

        rows = over_known(data.linked[new], known, len(self.embedding_))
        check_placed("DRNE", data.graph.nodes, new[np.diff(rows.indptr) == 0])
        network, drawn = self.network_, self._drawn(rows)
        rounds = [network.aggregate(drawn, vectors) for vectors in (network.table.detach(), *network.passed)]
        vectors = self._as_long(self._chosen([rounds[0], *rounds]), rows)
        if self.vectors == "readout":
            vectors = self._with_said(vectors, network.read_out(rounds[0]), rows)
        return Embedding(data.graph.nodes.take(new), vectors)

    def _chosen(self, rounds: list[Tensor]) -> npt.NDArray[np.float32]:
        """What nodes with these vectors are given: X (of a new node what its neighbors make), then each round's."""
        import torch

        chosen = rounds[self.rounds] if self.vectors == "last" else torch.cat(rounds, dim=1)
        return chosen.numpy(force=True)

    def _drawn(self, rows: sparse.csr_array) -> Sequences:
        """The known neighbors that are read of these rows over known nodes, in order.

        One key per known node, so that a node's draw is the same whichever others are asked for with it.
        """
        from netfold.models.drne.batches import Sequences, exponential

        network = self.network_
        sequences = Sequences.of(rows, network.colors.numpy(force=True), network.device)
        keys = exponential(len(network.degrees), self._generator(2)).to(network.device) / network.degrees
        return sequences.sampled(self.max_neighbors, lambda nodes: keys[nodes])
