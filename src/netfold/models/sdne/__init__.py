"""SDNE: structural deep network embedding (Wang, Cui, Zhu, KDD 2016; the chapter's first model)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from netfold.embedder.embedder import Embedder
from netfold.embedder.options import option
from netfold.embedder.problem import SCALED_APART, Input, Problem, check_placed, over_known, weight_unit_of
from netfold.embedder.training_options import training, weight_scale
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    from netfold.cluster.exchange import RankGraph
    from netfold.cluster.room import Room
    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.embedder.placing import KnownLinks
    from netfold.embedder.settling import NodeCodes
    from netfold.learn.progress import Progress
    from netfold.models.sdne.network import SDNENetwork

__all__ = ["SDNE"]

_BY_SIZE = {"alpha": (1.0, 0.0), "lr": (0.003, 0.0003), "tolerance": (1e-4, 0.0)}
"""Options that are None: what they are, and what of a very large graph.

What so many vectors as there are dimensions can gain in the second order does not grow with the graph (the sum of as
many squared singular values), while the first order does, with the links: from some size on it would shorten vectors
and nothing else. Nor does the objective fall by a share that tells anything: vectors are the better for a rate that
falls to 0. Planted blocks of 10 million nodes: docs/benchmarks.md.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class _Weighted(Input):
    """A graph, and what its weights are multiplied by where they are extreme."""

    @cached_property
    def facts(self) -> dict[str, Any]:
        """With that number, where it is not 1."""
        from netfold.models.sdne.batches import extreme_unit

        unit = extreme_unit(self.graph.adjacency.data)
        return super().facts | ({} if unit == 1 else {"unit": unit})


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SDNE(Embedder["SDNENetwork"]):
    """Vectors that keep who is near whom, to the first and to the second order.

    A deep autoencoder reads each node's row of the adjacency matrix and writes it again (second order: nodes with like
    neighborhoods get like vectors), while linked nodes are drawn together (first order):

    L_mix = ‖(X̂ - X) ⊙ B‖² + alpha Σ_ij s_ij ‖y_i - y_j‖² + nu L_reg, Eq. (5).

    Training costs O(edges · width + nodes · width²) an epoch, exactly, in chunks of bounded memory.

    Where the graph has attributes, a row goes on with them: [s_i | γ x_i], which is the same objective with more
    columns. They have a β of their own, and a term of their own in `history_`; what is missing is neither a value nor a
    0, and has no part in it. The first order is that of links alone.

    >>> from netfold.data.graph import Graph
    >>> graph = Graph.from_edges([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])
    >>> model = SDNE(dim=2, hidden=(8,), epochs=20).fit(graph, progress=False)
    >>> model.embedding_
    Embedding(4 nodes, 2 dimensions)
    >>> new = model.transform(Graph.from_edges([("e", "a"), ("e", "b")]))  # wired as c is, but for d
    >>> "e" in new
    True
    """

    counted: ClassVar[bool] = True
    maps: ClassVar[bool] = True
    encodes_out_links: ClassVar[bool] = True

    hidden: tuple[int, ...] = option(
        (256,), "widths of the encoder's layers before the embedding; the decoder mirrors them", at_least=1
    )
    activation: str = option(
        "tanh",
        "after each layer; the chapter's sigmoid saturates without pre-training",
        choices=("tanh", "sigmoid", "leaky_relu", "linear"),
    )
    output: str = option(
        "linear",
        "of the last layer: linear (exact in linear time at any size) or the chapter's sigmoid (exact in dense blocks "
        "up to 20,000 nodes, above that zeros are estimated from a random block of columns)",
        choices=("linear", "sigmoid"),
    )
    alpha: float | None = option(
        None,
        "weight of the first-order term, Eq. (5); None takes 1, and 0 above 5 million nodes",
        type=float,
        at_least=0,
    )
    beta: float = option(10.0, "weight of a non-zero against a zero in the reconstruction: B of Eq. (3)", at_least=1)
    nu: float = option(1e-4, "weight of L_reg, half the squared weights", at_least=0)
    attribute_weight: float = option(
        1.0,
        "γ: of the graph's attributes beside its links, where it has any; at 1 the two have the same part in a row "
        "(the same mean square length), at 0 attributes are not read",
        at_least=0,
        below=1e10,
    )
    attribute_beta: float = option(
        3.0, "weight of an attribute that is not 0 against one that is, in the reconstruction", at_least=1
    )
    weight_scale: str | None = weight_scale()
    row_damping: float = option(
        0.0,
        "how far the links of a hub are weighed down where it is the row: q of the rows of D^-q S D^-p, which are then "
        "brought to a mean weight of 1",
        at_least=0,
        below=3,
    )
    column_damping: float = option(
        0.0,
        "the same where it is the column: p; 0 and 0 leave the weights as they are, 0.5 and 0.5 are the symmetric "
        "normalisation",
        at_least=0,
        below=3,
    )
    overlap: float = option(
        0.0,
        "how much of the overlap of neighborhoods (the products X Xᵀ of the rows, at a mean of 1) the decoder must "
        "write beside the row itself; for links that are not there yet; costs as much as there are paths of two steps",
        at_least=0,
    )
    dropout: float = option(
        0.0,
        "share of a row's entries dropped before encoding, drawn anew each epoch, which the decoder must write all the "
        "same; makes vectors smoother, and training last for all its epochs",
        at_least=0,
        below=1,
    )
    skip: float = option(
        0.0,
        "how much of what two steps lead to (resource allocation, Σ 1/d_k over shared neighbors) is added to what the "
        "decoder says of a pair, each over its mean at known links; for links that are not there yet; costs as much as "
        "there are paths of two steps, when pairs are scored",
        at_least=0,
    )
    init: str = option(
        "svd",
        "the start: svd (where a linear autoencoder would end), dbn (the chapter's deep belief network, for sigmoid "
        "activations) or none (random)",
        choices=("svd", "dbn", "none"),
        was="pretrain",
    )
    decoder: str = option(
        "trained",
        "how its last layer comes about: trained, or solve (the best for all else as it is, by ridge regressions, "
        "before each step and at the end): for what the decoder is asked, in 20 epochs; vectors alone get worse",
        choices=("trained", "solve"),
    )
    optimizer: str = option(
        "adam",
        "how to descend: adam, adam16 (the same, its moments kept in 16 bits, for graphs that hardly fit), sgd (the "
        "chapter's), or row_adagrad (with one number of state a row; needs many more epochs)",
        choices=("adam", "adam16", "sgd", "row_adagrad"),
    )
    tables: str = option(
        "float32",
        "how numbers of the first and of the last layer are kept while they are trained: bfloat16 takes half the "
        "memory, sums and gradients are of float32 all the same; needs optimizer='adam16'",
        choices=("float32", "bfloat16"),
    )
    lr: float | None = training(
        "lr", default=None, help="learning rate; None takes 0.003, and 0.0003 above 5 million nodes"
    )
    schedule: str = training("schedule")
    batch_size: int | None = training("batch_size")
    tolerance: float | None = training(
        "tolerance",
        default=None,
        help="training has converged when the objective improves by less than this share; None takes 0.0001, and above "
        "5 million nodes 0: never before the last epoch",
    )
    patience: int = training("patience")
    held_out: float = training("held_out")

    def reconstruct(self, graph: Any, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """What the decoder makes of these rows of a graph: x̂ over the known nodes, in the order of `embedding_.nodes`.

        x̂ is in the weights that the model reads, see the dampings. For a bounded number of rows at a time: the answer
        is len(rows) x n.
        """
        from netfold.data.graph import Graph

        self._check_fitted()
        whole, nodes = self._as_read(Graph.of(graph)), self.embedding_.nodes
        picked = whole.adjacency[rows]
        if whole.nodes != nodes:
            picked = over_known(picked, nodes.find(whole.nodes), len(nodes))
        return self.network_.reconstruct(picked, self._read_attributes(whole).block_of(rows))

    def pair_decoder(self, graph: Any) -> Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float32]]:
        """From some nodes to what the decoder makes of their pairs with all: len(rows) x n.

        That is x̂_ij where the graph is directed, and the mean of x̂_ij and x̂_ji where it is not. The graph has the known
        nodes, in the order of `embedding_.nodes`; they are encoded once, and n x width numbers kept.
        """
        from netfold.data.graph import Graph

        self._check_fitted()
        whole = self._as_read(Graph.of(graph))
        if whole.nodes != self.embedding_.nodes:
            raise InputError("the graph has other nodes than the model, or in another order; give the known nodes")
        block = self._read_attributes(whole).block
        decoded = self.network_.pair_decoder(whole.adjacency, block, both_ways=not whole.directed)
        if not self.skip:
            return decoded
        from netfold.models.sdne.batches import with_two_steps

        return with_two_steps(decoded, whole, self.skip)

    def _as_read(self, graph: Graph) -> Graph:
        """A graph with its weights as those of the fitted one were read."""
        return graph.with_logarithms(self.graph_facts_.get("weight_unit"))

    def _weight_unit(self, graph: Graph, *, later: bool) -> float | None:
        can_write = self.output == "linear" or self.weight_scale == "log"  # a sigmoid writes weights up to 1
        return super()._weight_unit(graph, later=later) if later or can_write else None

    def resolved(self, graph: Any) -> SDNE:
        """With what stands in the place of None for a graph of so many nodes."""
        return SDNE(**self.get_params() | self._sized(self._read(graph)))

    def _sized(self, data: Any) -> dict[str, Any]:
        return self._by_size(data.graph.n_nodes)

    def _by_size(self, nodes: int) -> dict[str, float]:
        """What options are that depend on the number of nodes, those that were set as they are."""
        from netfold.learn.starts import is_very_large

        own = {name: getattr(self, name) for name in _BY_SIZE}
        return {name: _BY_SIZE[name][is_very_large(nodes)] if own[name] is None else own[name] for name in own}

    # ---------------------------------------------------------------- what an Embedder asks

    def _reads_attributes(self) -> bool:
        return True

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> Input:
        read = super()._read(graph, embedding, later=later)
        data = _Weighted(read.graph, attributes=read.attributes, weight_unit=read.weight_unit)
        if data.attributes is not None:
            self._check_attributes(data)
        heaviest = float(data.graph.adjacency.data.max(initial=0))
        if self.output == "sigmoid" and heaviest > 1:
            raise InputError(
                f"output='sigmoid' can write weights up to 1 and this graph has {heaviest:g}; "
                "use output='linear', or divide the weights"
            )
        if self.output == "sigmoid" and (self.row_damping or self.column_damping or self.overlap):
            raise InputError(
                "output='sigmoid' can write weights up to 1, and damping or overlap makes larger ones; "
                "use output='linear'"
            )
        if self.decoder == "solve" and (
            self.output != "linear" or self.batch_size or self.overlap or data.attributes is not None
        ):
            raise InputError(
                "decoder='solve' is for links alone (attribute_weight=0), output='linear', batch_size=None and "
                "overlap=0; use those, or decoder='trained'"
            )
        if self.tables == "bfloat16" and (
            self.optimizer != "adam16"
            or self.output != "linear"
            or self.decoder != "trained"
            or data.attributes is not None
        ):
            raise InputError(
                "tables='bfloat16' is for optimizer='adam16', output='linear', decoder='trained' and links alone "
                "(attribute_weight=0); use those, or tables='float32'"
            )
        if self.init == "dbn" and self.activation != "sigmoid":
            raise InputError(f"init='dbn' starts sigmoid units, not {self.activation}; set activation='sigmoid'")
        return data

    def _check_attributes(self, data: Input) -> None:
        assert data.attributes is not None
        if self.output == "sigmoid":
            raise InputError(
                "output='sigmoid' writes numbers from 0 to 1, which scaled attributes are not; use output='linear', or "
                "attribute_weight=0 to read links alone"
            )
        if self.init == "dbn" and not data.attributes.scaling.is_sparse:
            raise InputError("init='dbn' reads sparse rows, and these attributes are dense; use init='svd'")

    def _problem(
        self, data: Input, device: torch.device, progress: Progress, *, resumed: bool = False
    ) -> Problem[SDNENetwork]:
        import torch

        from netfold.learn.starts import large_on
        from netfold.learn.training import Block
        from netfold.models.sdne.batches import batches, overlap
        from netfold.models.sdne.network import start_network

        with large_on(device, data.graph.n_nodes):
            network = self._network(data.facts)
        if network.damping is not None:
            network.damping.measure(data.graph.adjacency)
        rows, block = network.weighed(data.graph.adjacency), None
        if data.attributes is not None:
            data.attributes.fill(network)
            network.measure(rows, data.attributes.block)
            block = network.scaled(data.attributes.block)
        if not resumed:
            report = progress.note("RBM of layer {}, epoch {}: squared error a node {:.4g}")
            start_network(network, rows, self.init, (self._generator(0), self._generator(1)), report, block, device)
        network.to(device)
        if self.tables == "bfloat16":
            network.keep_tables(torch.bfloat16)
        targets = rows + self.overlap * overlap(rows) if self.overlap else None
        if self.decoder == "solve":
            network.written = rows.tocsc()
            network.written.sort_indices()
        of = batches(rows, network, self.batch_size, targets=targets, dropout=self.dropout, block=block)
        sized = self._sized(data)
        return Problem(
            network,
            lambda epoch: of(self._generator(2, epoch)),
            [Block(network.trained, self.optimizer, sized["lr"])],
            self.schedule,
            0.0 if self.dropout else sized["tolerance"],  # what is dropped moves the objective up and down
            self.patience,
            math.ceil(data.graph.n_nodes / (self.batch_size or data.graph.n_nodes)),
        )

    def _unspread(self, *, directed: bool = False) -> str:
        if self.output != "linear":
            return "output='sigmoid' reads all columns of a row"
        if self.weight_scale == "log":
            return SCALED_APART
        if self.overlap:
            return "overlap needs the neighbors of neighbors, which other ranks have"
        if self.batch_size is not None:
            return "only whole epochs (batch_size=None) are the same whatever the number of ranks"
        if self.init == "dbn":
            return "init='dbn' trains its layers row by row"
        if self.decoder == "solve":
            return "decoder='solve' needs all rows of a column"
        if self.tables != "float32":
            return "tables='bfloat16' rounds by the place of a row, which depends on the number of ranks"
        if self.held_out:
            return "held_out asks for pairs of nodes that different ranks have"
        return ""

    def _bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        """Tables, gradients, the optimizer's state; Z, Y, what pulls, and, of several ranks, H and its gradient; arcs.

        24 bytes an arc: columns, rows and values, by row and by column.
        """
        h = self.hidden[0] if self.hidden else self.dim
        copies = {"adam": 4, "adam16": 3, "sgd": 2, "row_adagrad": 2}[self.optimizer] - 0.5 * (self.tables != "float32")
        several = 2 * h if ranks > 1 else 0
        return int(nodes * (4 * (2 * h + 1) * copies + 4 * (h + 3 * self.dim + several) + 32) + 24 * arcs)

    def _state_bytes(self, nodes: int) -> int:
        h = self.hidden[0] if self.hidden else self.dim
        by_name = {"adam": 3 * (2 * h + 1), "adam16": 4 * h + 3, "sgd": 2 * h + 1, "row_adagrad": 2 * h + 4}
        return 4 * nodes * by_name[self.optimizer]

    def _sent(self, *, directed: bool) -> int:
        h = self.hidden[0] if self.hidden else self.dim
        symmetric = not directed and self.row_damping == self.column_damping
        vectors = (self.dim if symmetric else 2 * self.dim) if self.alpha != 0 else 0
        return 4 * (4 * h + vectors + 2)

    def _smaller(self) -> list[dict[str, Any]]:
        """What was measured to be as good (docs/large-graphs.md): row_adagrad is not among it."""
        moments: dict[str, Any] = {"optimizer": "adam16"} if self.optimizer == "adam" else {}
        narrow: dict[str, Any] = {"hidden": ()} if self.hidden and self.hidden[0] > self.dim else {}
        half: dict[str, Any] = {"hidden": (), "dim": max(1, self.dim // 2)}
        changes = [moments, narrow, narrow | moments if narrow and moments else {}, half | moments]
        return [change for change in changes if change]

    def _spread(self, graph: RankGraph, room: Room, progress: Progress, *, resumed: bool = False) -> Problem[Any]:
        import numpy as np
        import torch

        from netfold.learn.training import Block
        from netfold.models.sdne.batches import extreme_unit
        from netfold.models.sdne.sharded import ShardedSDNE

        ranks = graph.ranks
        largest = ranks.most(max([0.0, *(float(graph.rows(p).data.max(initial=0)) for p in graph.parts)]))
        facts: dict[str, Any] = {"n_nodes": graph.m, "n_all": graph.n_nodes}
        sized = self._by_size(graph.n_nodes)
        unit = extreme_unit(np.array([largest], np.float32))
        facts |= {} if unit == 1 else {"unit": unit}
        with torch.device("meta"):
            own = self._network(facts)
        room.materialise(own, ranks.device)
        network = ShardedSDNE(
            own, graph, self._generator, dropout=self.dropout, resident=room.resident, empty=room.empty
        )  # fmt: skip
        if not resumed:
            network.start(self.init)
        return Problem(
            network,
            lambda epoch: [epoch],
            [Block(list(network.parameters()), self.optimizer, sized["lr"], empty=room.state)],
            self.schedule,
            0.0 if self.dropout else sized["tolerance"],
            self.patience,
        )

    def _network(self, facts: dict[str, Any]) -> SDNENetwork:
        from netfold.embedder.attributes import scaling_tables, width_of
        from netfold.models.sdne.network import SDNENetwork

        weight_unit_of(facts)
        unit = facts.get("unit", 1.0)
        if type(unit) is not float or not 0 < unit < 2.0**200:
            raise TypeError(f"its weights were multiplied by {unit!r}")
        more: dict[str, Any] = {}
        if "attributes" in facts:
            width, dense = width_of(facts["attributes"])
            more = {"attributes": width, "dense": dense}
            more |= {"attribute_weight": self.attribute_weight, "attribute_beta": self.attribute_beta}
        network = SDNENetwork(
            facts["n_nodes"],
            (*self.hidden, self.dim),
            self.activation,
            self.output,
            alpha=self._by_size(facts.get("n_all", facts["n_nodes"]))["alpha"],
            beta=self.beta,
            nu=self.nu,
            damping=(self.row_damping, self.column_damping),
            **more,
        )
        network.unit = unit
        if more:
            network.scaling = scaling_tables(facts["attributes"], self.dim)
        return network

    def _embed(self, data: Input) -> Embedding:
        import torch

        from netfold.data.embedding import Embedding

        if self.tables == "bfloat16":
            self.network_.keep_tables(torch.float32)
        vectors = self.network_.embed(data.graph.adjacency, data.block)
        if self.network_.written is not None:  # for the encoder as it is now
            self.network_.solve(torch.from_numpy(vectors).to(self.network_.device))
            self.network_.written = None
        return Embedding(data.graph.nodes, vectors)

    def _extend(self, data: Input, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        import numpy as np

        from netfold.data.embedding import Embedding

        graph = data.graph
        rows = over_known(graph.adjacency[new], known, len(self.embedding_))
        lack = f"no {'link' if graph.directed else 'links'} to any known node"
        check_placed("SDNE", graph.nodes, new[(np.diff(rows.indptr) == 0) & ~data.has_attributes(new)], lack=lack)
        return Embedding(graph.nodes.take(new), self.network_.embed(rows, data.block_of(new)))

    def _codes(self, network: SDNENetwork, data: Input) -> NodeCodes:
        from netfold.embedder.attributes import joint_rows

        block = None if data.block is None else network.scaled(data.block)
        rows = joint_rows(network.weighed(data.graph.adjacency), block, network.first.bias)
        return lambda nodes: network.encode(rows.take(nodes))

    def _encode(self, links: KnownLinks) -> npt.NDArray[np.float32]:
        return self.network_.embed(links.out, links.block)

    def _refine(
        self,
        links: KnownLinks,
        start: npt.NDArray[np.float32],
        weight: float,
        placed: npt.NDArray[np.float32] | None = None,
    ) -> npt.NDArray[np.float32]:
        from netfold.models.sdne.network import Neighbors

        if self.output == "sigmoid":
            raise InputError("how='refine' needs output='linear', whose zeros have a sum; give how='encode' or 'mean'")
        network = self.network_
        near = network.weighed(links.out)
        near = near + (near if links.into is None else network.weighed(links.into))  # M + Mᵀ, as in training
        neighbors = Neighbors.of(near, self.embedding_.vectors)
        if placed is not None and links.among is not None:
            neighbors = neighbors.with_placed(links.among, placed, links.either)
        pulls = weight * (self.alpha or 1.0)
        return network.refine(network.weighed(links.out), neighbors, start, pulls, links.block)

    def _weights(self) -> tuple[float, ...]:
        return () if self.output == "sigmoid" else (1.0, 3.0, 10.0, 30.0)
