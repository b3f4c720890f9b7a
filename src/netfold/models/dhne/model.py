"""DHNE: deep hyper-network embedding (Tu, Cui, Wang, Wang, Zhu, AAAI 2018; the chapter's third model)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from netfold.embedder.embedder import Embedder
from netfold.embedder.options import option
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from scipy import sparse

    from netfold.data.embedding import Embedding
    from netfold.data.hypergraph import Hypergraph
    from netfold.learn.progress import Progress
    from netfold.learn.training import Block
    from netfold.models.dhne.batches import Batch
    from netfold.models.dhne.network import DHNENetwork
    from netfold.models.dhne.scores import Scorer

__all__ = ["DHNE"]


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DHNE(Embedder):
    """Vectors that keep which nodes belong together in a tuple, where no pair of them need belong.

    Each type of node has an autoencoder over its rows of A = H Hᵀ - D_v, the counts of hyperedges that two nodes share
    (second order); each kind of tuple a similarity S = sigmoid(w · L + c), L = σ(Σ_a W_a X_a + b), that is to be 1 for
    hyperedges and 0 for tuples in which some node was replaced (first order):

    L = -Σ [R log S + (1 - R) log(1 - S)] + alpha Σ_t ‖sign(A_t) ⊙ (A_t - Â_t)‖².

    With `products`, S = sigmoid(w · L + v · q + c), where q = Σ_{a<b} (V_a X_a) ⊙ (V_b X_b): what two nodes have to do
    with each other need then not be put together from sums.

    The first sum is over hyperedges and what is drawn for each, the second over the non-zeros of A alone; an epoch has
    both in full, in O(hyperedges · negatives · hidden + steps · non-zeros · dim). With `hold_out`, the encoder sees A
    as it would be without the hyperedges that a step asks about: their own counts would give them away. Tuples may have
    any length; positions of one type share W_a unless their roles have names of their own, so that where order means
    nothing it changes nothing.

    >>> from netfold.data.hypergraph import Hypergraph
    >>> types = {"ann": "user", "bob": "user", "Alien": "film", "Heat": "film", "space": "tag", "crime": "tag"}
    >>> liked = [("ann", "Alien", "space"), ("bob", "Heat", "crime"), ("bob", "Alien", "space")]
    >>> model = DHNE(dim=4, lr=0.05, hold_out=False).fit(Hypergraph.from_tuples(liked, types), progress=False)
    >>> model.complete(("bob", "Heat", None), k=1)[0][0]
    'crime'
    """

    reads: ClassVar[str] = "hypergraph"

    dim: int = option(64, "numbers per node: the width of the embedding, the same for all types", at_least=1)
    epochs: int = option(60, "passes over all hyperedges, at the most", at_least=0)
    hidden: int | None = option(
        None, "width of L, a tuple's layer; None takes the sum of its nodes' widths", type=int, at_least=1
    )
    products: int = option(
        0,
        "how many sums of products of a tuple's nodes, two by two, the similarity takes beside L; 0 is the chapter's",
        at_least=0,
    )
    activation: str = option(
        "tanh", "σ of the encoder and of L; the chapter prints sigmoid", choices=("tanh", "sigmoid")
    )
    alpha: float = option(1.0, "weight of L_2, the reconstruction of rows of A", at_least=0)
    nu: float = option(0.0, "weight of L_reg, half the squared weights", at_least=0)
    negatives: int = option(5, "tuples drawn for each hyperedge that are none", at_least=0)
    noise: str = option(
        "uniform",
        "how the node that replaces another is drawn: all alike, or by degree^0.75",
        choices=("uniform", "degree"),
    )
    replaced: float = option(
        1.1,
        "positions that get another node, on average: 1.1 is one, and two in a tenth of the cases",
        at_least=1,
        below=1000,
    )
    scale: str = option(
        "log",
        "how counts become what a sigmoid can write: column divides by the largest of the column (in rows of one "
        "type), log does so with log(1 + count), binary takes 1 for all",
        choices=("column", "log", "binary"),
    )
    row_damping: float = option(
        0.5,
        "the encoder reads a row divided by its length to this power: 0 leaves it, 1 makes all rows alike",
        at_least=0,
        below=3,
    )
    hold_out: bool = option(
        True,
        "whether the encoder sees rows of A without the hyperedges of the step (a tenth of all at the most), as it "
        "will see those of hyperedges that are not known yet",
    )
    dropout: float = option(
        0.0,
        "share of a row's entries hidden from the encoder, drawn anew each step, which the decoder must write all the "
        "same",
        at_least=0,
        below=1,
    )
    optimizer: str = option("adam", "how to descend; the chapter uses sgd", choices=("adam", "sgd", "row_adagrad"))
    lr: float = option(0.01, "learning rate", above=0)
    schedule: str = option(
        "cosine", "how the learning rate falls over the epochs", choices=("constant", "linear", "cosine")
    )
    batch_size: int | None = option(
        None,
        "hyperedges a step; None takes a 128th of all or 64, whichever is more, and a 16th at the most",
        type=int,
        at_least=1,
    )

    def score(
        self, tuples: Iterable[Any], *, kind: Sequence[str] | None = None, later: Any = None
    ) -> npt.NDArray[np.float64]:
        """S of tuples of labels, between 0 and 1: how likely each is a hyperedge.

        Which kind a tuple is of is told by its types; where several kinds have those, `kind` says which, by its roles.
        Nodes come in the order of the roles where that has a meaning (head, tail), and in any where not. New nodes are
        those of `later`, a hypergraph as for `transform`.
        """
        return self._scorer(later).score(tuples, kind)

    def complete(
        self,
        given: Sequence[Any],
        k: int = 10,
        *,
        kind: Sequence[str] | None = None,
        exclude: Hypergraph | None = None,
        later: Any = None,
    ) -> list[tuple[Any, float]]:
        """The k nodes that best take the place of None in a tuple: (label, S of that tuple), the best first.

        All nodes of the type that belongs there are tried; those are left out that make a hyperedge of `exclude`
        (the hypergraph that was fitted, where only new tuples are asked for). `kind` and `later` as for `score`.
        """
        from netfold.data.checks import check_at_least_one

        check_at_least_one(k=k)
        return self._scorer(later).complete(given, k, kind, exclude)

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any) -> Hypergraph:  # type: ignore[override]
        from netfold.data.hypergraph import Hypergraph

        found = Hypergraph.from_tuples(graph) if isinstance(graph, (list, tuple)) else graph
        if not isinstance(found, Hypergraph):
            raise InputError(
                f"DHNE reads a Hypergraph, not a {type(graph).__name__}; make one with nf.read_hyperedges or "
                "Hypergraph.from_tuples"
            )
        if found.n_edges == 0:
            raise InputError("the hypergraph has no hyperedges; there is nothing to learn from")
        return found

    def _facts(self, graph: Hypergraph) -> dict[str, Any]:
        from netfold.models.dhne.schema import Schema

        return Schema.of(graph).facts()

    def _check_facts(self, facts: dict[str, Any]) -> None:
        from netfold.models.dhne.schema import Schema

        if sum(Schema.from_facts(facts).counts) != facts["n_nodes"]:
            raise TypeError(f"its {facts['n_nodes']} nodes are not those of its types")

    def _check_later(self, graph: Hypergraph) -> None:
        from netfold.models.dhne.scores import check_types

        check_types(graph, self._fitted_network(), self.embedding_.nodes)

    def _network_for(self, facts: dict[str, Any]) -> DHNENetwork:
        from netfold.models.dhne.network import DHNENetwork
        from netfold.models.dhne.schema import Schema

        return DHNENetwork(
            Schema.from_facts(facts),
            dim=self.dim,
            hidden=self.hidden,
            activation=self.activation,
            scale=self.scale,
            row_damping=self.row_damping,
            alpha=self.alpha,
            nu=self.nu,
            products=self.products,
        )

    def _start(self, network: DHNENetwork, graph: Hypergraph, progress: Progress) -> None:
        counts = self._counts(graph, network)
        encoders = [network.autoencoder(t) for t in range(len(counts))]
        network.start(self._generator(0), [e.typical_squares(c) for e, c in zip(encoders, counts, strict=True)])

    def _batches(self, graph: Hypergraph, network: DHNENetwork) -> Callable[[int], Iterable[Batch]]:
        from netfold.models.dhne.batches import batches
        from netfold.models.dhne.scores import Drawing, source

        counts = self._counts(graph, network)
        drawn = Drawing(self.noise, self.replaced, self.hold_out)
        of = batches(
            source(graph, network.places(), counts, network, drawn),
            self.batch_size,
            per_positive=self.negatives,
            hidden=[network.similarity(i).width for i in range(len(network.schema.forms))],
            dropout=self.dropout,
        )
        return lambda epoch: of(self._generator(1, epoch))

    def _counts(self, graph: Hypergraph, network: DHNENetwork) -> list[sparse.csr_array]:
        """A by type; the network takes its types and scale from it. Kept until `fit` ends: A is dear to make."""
        import torch

        from netfold.models.dhne.scores import counts_by_type

        network.type_codes.copy_(torch.tensor(graph.type_codes))
        if self.__dict__.get("_kept", (None,))[0] is not graph:
            self._kept = graph, counts_by_type(graph, network.places())
        for t, counts in enumerate(self._kept[1]):
            network.autoencoder(t).measure(counts)
        return self._kept[1]

    def _blocks(self, network: DHNENetwork) -> list[Block]:
        from netfold.learn.training import Block

        return [Block(list(network.parameters()), self.optimizer, self.lr)]

    def _stopping(self) -> dict[str, Any]:
        return {"schedule": self.schedule}

    def _embed(self, graph: Hypergraph) -> Embedding:
        import numpy as np

        from netfold.data.embedding import Embedding

        network = self._fitted_network()
        vectors = np.empty((graph.n_nodes, self.dim), np.float32)
        for t, counts in enumerate(self._counts(graph, network)):
            vectors[network.places().members[t]] = network.embed(counts, t)
        del self._kept
        return Embedding(graph.nodes, vectors)

    def _extend(self, graph: Hypergraph, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        from netfold.data.embedding import Embedding
        from netfold.models.dhne.scores import new_vectors

        return Embedding(graph.nodes.take(new), new_vectors(graph, self._fitted_network(), new, known))

    def _scorer(self, later: Any) -> Scorer:
        from netfold.models.dhne.scores import Scorer, type_codes_of

        self._check_fitted()
        network = self._fitted_network()
        if later is None:
            return Scorer(network, self.embedding_)
        hypergraph = self._read(later)
        new = self.transform(hypergraph)
        types = type_codes_of(hypergraph, network.schema)[hypergraph.nodes.positions(new.nodes)]
        return Scorer(network, self.embedding_, new, types)

    def _fitted_network(self) -> DHNENetwork:
        from netfold.models.dhne.network import DHNENetwork

        assert isinstance(self.network_, DHNENetwork)
        return self.network_
