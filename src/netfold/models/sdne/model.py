"""SDNE: structural deep network embedding (Wang, Cui, Zhu, KDD 2016; the chapter's first model)."""

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

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.learn.progress import Progress
    from netfold.learn.training import Block
    from netfold.models.sdne.batches import Rows
    from netfold.models.sdne.network import SDNENetwork

__all__ = ["SDNE"]


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SDNE(Embedder):
    """Vectors that keep who is near whom, to the first and to the second order.

    A deep autoencoder reads each node's row of the adjacency matrix and writes it again (second order: nodes with like
    neighborhoods get like vectors), while linked nodes are drawn together (first order):

    L_mix = ‖(X̂ - X) ⊙ B‖² + alpha Σ_ij s_ij ‖y_i - y_j‖² + nu L_reg, Eq. (5).

    Training costs O(edges · width + nodes · width²) an epoch, exactly, in chunks of bounded memory.

    >>> from netfold.data.graph import Graph
    >>> graph = Graph.from_edges([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])
    >>> model = SDNE(dim=2, hidden=(8,), epochs=20).fit(graph, progress=False)
    >>> model.embedding_
    Embedding(4 nodes, 2 dimensions)
    >>> new = model.transform(Graph.from_edges([("e", "a"), ("e", "b")]))  # wired as c is, but for d
    >>> "e" in new
    True
    """

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
    alpha: float = option(1.0, "weight of the first-order term, Eq. (5)", at_least=0)
    beta: float = option(10.0, "weight of a non-zero against a zero in the reconstruction: B of Eq. (3)", at_least=1)
    nu: float = option(1e-4, "weight of L_reg, half the squared weights", at_least=0)
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
        "share of a row's entries hidden from the encoder, drawn anew each epoch, which the decoder must write all the "
        "same; makes vectors smoother, and training last for all its epochs",
        at_least=0,
        below=1,
    )
    pretrain: str = option(
        "svd",
        "the start: svd (where a linear autoencoder would end), dbn (the chapter's deep belief network, for sigmoid "
        "activations) or none (random)",
        choices=("svd", "dbn", "none"),
    )
    optimizer: str = option("adam", "how to descend; the chapter uses sgd", choices=("adam", "sgd", "row_adagrad"))
    lr: float = option(0.003, "learning rate", above=0)
    schedule: str = option(
        "cosine", "how the learning rate falls over the epochs", choices=("constant", "linear", "cosine")
    )
    batch_size: int | None = option(None, "nodes a step; None takes all at once", type=int, at_least=1)
    tolerance: float = option(
        1e-4, "training has converged when the objective improves by less than this share", at_least=0
    )
    patience: int = option(20, "of how many epochs the improvement is asked", at_least=1)

    def reconstruct(self, graph: Any, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """What the decoder makes of these rows of a graph: x̂ over the known nodes, in the order of `embedding_.nodes`.

        x̂ is in the weights that the model reads, see the dampings. For a bounded number of rows at a time: the answer
        is len(rows) x n.
        """
        from netfold.data.graph import Graph

        self._check_fitted()
        return self._fitted_network().reconstruct(self._over_known(Graph.of(graph), rows))

    def pair_decoder(self, graph: Any) -> Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float32]]:
        """From some nodes to what the decoder makes of their pairs with all: len(rows) x n.

        That is x̂_ij where the graph is directed, and the mean of x̂_ij and x̂_ji where it is not. The graph has the known
        nodes, in the order of `embedding_.nodes`; they are encoded once, and n x width numbers kept.
        """
        from netfold.data.graph import Graph

        self._check_fitted()
        given = Graph.of(graph)
        if given.nodes != self.embedding_.nodes:
            raise InputError("the graph has other nodes than the model, or in another order; give the known nodes")
        return self._fitted_network().pair_decoder(given.adjacency, both_ways=not given.directed)

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any) -> Graph:
        found = super()._read(graph)
        heaviest = float(found.adjacency.data.max())
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
        if self.pretrain == "dbn" and self.activation != "sigmoid":
            raise InputError(f"pretrain='dbn' starts sigmoid units, not {self.activation}; set activation='sigmoid'")
        return found

    def _facts(self, graph: Graph) -> dict[str, Any]:
        from netfold.models.sdne.weighing import extreme_unit

        unit = extreme_unit(graph.adjacency)
        return super()._facts(graph) | ({} if unit == 1 else {"unit": unit})

    def _check_facts(self, facts: dict[str, Any]) -> None:
        super()._check_facts(facts)
        unit = facts.get("unit", 1.0)
        if type(unit) is not float or not 0 < unit < 2.0**200:
            raise TypeError(f"its weights were multiplied by {unit!r}")

    def _network_for(self, facts: dict[str, Any]) -> SDNENetwork:
        made = self._network(facts["n_nodes"])
        made.unit = facts.get("unit", 1.0)
        return made

    def _network(self, n_nodes: int) -> SDNENetwork:
        from netfold.models.sdne.network import SDNENetwork

        return SDNENetwork(
            n_nodes,
            (*self.hidden, self.dim),
            self.activation,
            self.output,
            alpha=self.alpha,
            beta=self.beta,
            nu=self.nu,
            damping=(self.row_damping, self.column_damping),
        )

    def _start(self, network: SDNENetwork, graph: Graph, progress: Progress) -> None:
        from netfold.models.sdne import network as starts

        rows = self._rows(graph, network)
        typical = float(rows.multiply(rows).sum()) / graph.n_nodes  # Σ_j x_ij² of a usual row
        network.start(self._generator(0), typical)
        if self.pretrain == "dbn":
            report = progress.note("RBM of layer {}, epoch {}: squared error a node {:.4g}")
            starts.start_from_dbn(network, rows, self._generator(1), report)
        elif self.pretrain == "svd":
            starts.start_from_svd(network, rows, self._generator(1))

    def _batches(self, graph: Graph, network: SDNENetwork) -> Callable[[int], Iterable[Rows]]:
        from netfold.models.sdne.batches import batches
        from netfold.models.sdne.weighing import overlap

        rows = self._rows(graph, network)
        targets = rows + self.overlap * overlap(rows) if self.overlap else None
        of = batches(rows, network, self.batch_size, targets=targets, dropout=self.dropout)
        return lambda epoch: of(self._generator(2, epoch))

    def _rows(self, graph: Graph, network: SDNENetwork) -> sparse.csr_array:
        if network.damping is not None:
            network.damping.measure(graph.adjacency)
        return network.weighed(graph.adjacency)

    def _blocks(self, network: SDNENetwork) -> list[Block]:
        from netfold.learn.training import Block

        return [Block(list(network.parameters()), self.optimizer, self.lr)]

    def _stopping(self) -> dict[str, Any]:
        tolerance = 0.0 if self.dropout else self.tolerance  # what is dropped moves the objective up and down
        return {"schedule": self.schedule, "tolerance": tolerance, "patience": self.patience}

    def _embed(self, graph: Graph) -> Embedding:
        from netfold.data.embedding import Embedding

        return Embedding(graph.nodes, self._encode(graph.adjacency))

    def _extend(self, graph: Graph, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        import numpy as np

        from netfold.data.embedding import Embedding

        over_known = self._over_known(graph, new)
        lost = np.flatnonzero(np.diff(over_known.indptr) == 0)
        if len(lost):
            names = listed([graph.nodes[i] for i in new[lost]])
            links = "link to" if graph.directed else "links to"
            raise InputError(f"{names}: no {links} any known node, and SDNE can place a new node only by such links")
        return Embedding(graph.nodes.take(new), self._encode(over_known))

    def _over_known(self, graph: Graph, rows: npt.NDArray[np.int64]) -> sparse.csr_array:
        """Rows of a graph's adjacency matrix with one column per known node: m x n."""
        from scipy import sparse

        known = self.embedding_.nodes
        if graph.nodes == known:
            return graph.adjacency[rows]
        picked = graph.adjacency[rows].tocoo()
        at = known.find(graph.nodes)[picked.coords[1]]
        entries = picked.data[at >= 0], (picked.coords[0][at >= 0], at[at >= 0])
        made = sparse.coo_array(entries, shape=(len(rows), len(known))).tocsr()
        made.sort_indices()
        return made

    def _encode(self, matrix: Any) -> npt.NDArray[np.float32]:
        return self._fitted_network().embed(matrix)

    def _fitted_network(self) -> SDNENetwork:
        from netfold.models.sdne.network import SDNENetwork

        assert isinstance(self.network_, SDNENetwork)
        return self.network_
