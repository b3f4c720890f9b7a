"""DHNE: deep hyper-network embedding (Tu, Cui, Wang, Wang, Zhu, AAAI 2018; the chapter's third model)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from netfold.data.text import type_in_words
from netfold.embedder.embedder import Embedder, device_named
from netfold.embedder.options import option
from netfold.embedder.problem import Input, Problem
from netfold.embedder.training_options import training
from netfold.errors import InputError, renamed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch
    from scipy import sparse

    from netfold.data.embedding import Embedding
    from netfold.data.hypergraph import Hypergraph
    from netfold.data.scaling import Block
    from netfold.embedder.placing import Placing
    from netfold.learn.progress import Progress
    from netfold.models.dhne.network import DHNENetwork
    from netfold.models.dhne.scores import TupleScorer
    from netfold.models.dhne.tuples import Places, Schema

__all__ = ["DHNE"]

_FEW = 10_000
"""Hyperedges, between the sets that settings were chosen on: GPS has 1,436, MovieLens 46,412."""
_BY_SIZE: dict[str, tuple[Any, Any]] = {
    "epochs": (120, 20), "hidden": (16, 64), "nu": (0.3, 10.0), "scale": ("binary", "log"), "lr": (0.003, 0.01),
}  # fmt: skip
"""Options that are None: what they are with fewer hyperedges than that, and with as many or more."""
_CLEARLY = 0.01
"""By how much more of the hidden tuples the encoder must tell from others to be taken: these are of known nodes, whose
rows it was trained on, so that they flatter it."""


def _check_columns(columns: Any, types: int, width: int) -> None:
    """A TypeError where these cannot be the attributes of each type."""
    whole = isinstance(columns, list) and len(columns) == types and all(isinstance(x, list) for x in columns)
    if not whole or any(type(c) is not int or not 0 <= c < width for x in columns for c in x):
        raise TypeError(f"its types have the attributes {columns!r}")


def _pairs_of(facts: dict[str, Any]) -> int:
    """How many pairs of nodes have counts; a TypeError where it cannot be so many."""
    pairs, n = facts.get("pairs"), facts["n_nodes"]
    if type(pairs) is not int or not 0 <= pairs <= n * (n - 1) // 2:
        raise TypeError(f"{pairs!r} pairs of its {n} nodes have counts")
    return pairs


def _among_all(hypergraph: Hypergraph, places: Places) -> list[npt.NDArray[np.int64]]:
    """The hyperedges of each form, m x N, as places among all nodes."""
    import numpy as np

    tuples, forms = places.tuples(hypergraph), places.schema.forms
    columns = [[places.members[t][rows[:, a]] for a, t in enumerate(form.types)] for rows, form in zip(tuples, forms)]
    return [np.stack(each, axis=1) for each in columns]


@dataclasses.dataclass(frozen=True, eq=False)
class _Counted(Input["Hypergraph"]):
    """A hypergraph, its schema, and its counts as DHNE reads them."""

    pairs: bool = dataclasses.field(default=False, kw_only=True)
    """Whether the similarity reads how many hyperedges two nodes share."""
    device: str = dataclasses.field(default="cpu", kw_only=True)
    """Where they may be counted."""

    @cached_property
    def schema(self) -> Schema:
        """Which kinds of tuples it has, over nodes of which types."""
        from netfold.models.dhne.tuples import Schema

        return Schema.of(self.graph)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The hypergraph's fingerprint, its size and its schema; and which attributes each type has, where any are.

        Where counts are read, how many pairs of nodes have any.
        """
        sizes = {"n_nodes": self.graph.n_nodes, "n_hyperedges": self.graph.n_edges}
        facts = {"fingerprint": self.graph.fingerprint, **sizes, **self.schema.facts()}
        if self.pairs:
            facts |= {"pairs": sum(counts.nnz for counts in self.counts) // 2, "cosines": True}
        if self.attributes is None:
            return facts
        block, members = self.attributes.block, self.places.members
        wide = [c for c, (a, b) in enumerate(block.slices) if b > a]
        columns = [[c for c in wide if bool(block.known[of_type, c].any())] for of_type in members]
        return facts | {"attributes": self.attributes.facts, "attribute_columns": columns}

    @cached_property
    def places(self) -> Places:
        """Where its nodes stand."""
        import numpy as np

        from netfold.models.dhne.tuples import Places

        return Places(np.asarray(self.graph.type_codes, np.int64), self.schema)

    @cached_property
    def counts(self) -> list[sparse.csr_array]:
        """A by type: expensive to make."""
        from netfold.models.dhne.batches import counts_by_type

        return counts_by_type(self.graph, self.places, device_named(self.device))


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DHNE(Embedder["DHNENetwork"]):
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

    Where nodes have attributes, the encoder of each type reads those that the type has beside the row, [A_i | γ x_i],
    and what is known of them is to be given back too: alpha ‖M ⊙ (γ x - x̂)‖² more, M being 0 where a value is missing.

    >>> from netfold.data.hypergraph import Hypergraph
    >>> types = {"ann": "user", "bob": "user", "Alien": "film", "Heat": "film", "space": "tag", "crime": "tag"}
    >>> liked = [("ann", "Alien", "space"), ("bob", "Heat", "crime"), ("bob", "Alien", "space")]
    >>> model = DHNE(dim=8, dropout=0.0, hold_out=False).fit(Hypergraph.from_tuples(liked, types), progress=False)
    >>> model.complete(("bob", "Heat", None), k=1)[0][0]
    'crime'
    """

    reads: ClassVar[str] = "hypergraph"

    dim: int = option(64, "numbers per node: the width of the embedding, the same for all types", at_least=1)
    epochs: int | None = option(  # type: ignore[assignment]
        None,
        "passes over all hyperedges, at most; None takes 120 with fewer than 10,000 hyperedges and 20 with more",
        type=int,
        at_least=0,
    )
    hidden: int | None = option(
        None,
        "width of L, a tuple's layer; 0 takes the sum of its nodes' widths, None 16 with fewer than 10,000 hyperedges "
        "and 64 with more",
        type=int,
        at_least=0,
    )
    products: int = option(
        64,
        "how many sums of products of a tuple's nodes, two by two, the similarity takes beside L; 0 is the chapter's",
        at_least=0,
    )
    counts: bool = option(
        False,
        "whether the similarity reads beside vectors in how many hyperedges the nodes of a tuple are, two by two and "
        "each, and how near they are by eigenvectors; it begins where logistic regression on these ends, and with "
        "epochs=0 stays there, its vectors being those eigenvectors; not the chapter's",
    )
    activation: str = option(
        "tanh", "σ of the encoder and of L; the chapter prints sigmoid", choices=("tanh", "sigmoid")
    )
    alpha: float = option(1.0, "weight of L_2, the reconstruction of rows of A", at_least=0)
    nu: float | None = option(
        None,
        "weight of L_reg, half the squared weights; None takes 0.3 with fewer than 10,000 hyperedges and 10 with more",
        type=float,
        at_least=0,
    )
    n_negatives: int = option(5, "tuples drawn for each hyperedge that are none", at_least=0, was="negatives")
    negatives: str = option(
        "uniform",
        "how the node that replaces another is drawn: all alike, or by degree^0.75",
        choices=("uniform", "degree"),
        was="noise",
    )
    replaced: float = option(
        1.5,
        "positions that get another node, on average: 1.1 is one, and two in a tenth of the cases",
        at_least=1,
        below=1000,
    )
    scale: str | None = option(
        None,
        "how counts become what a sigmoid can write: column divides by the largest of the column (in rows of one "
        "type), log does so with log(1 + count), binary takes 1 for all; None is binary with fewer than 10,000 "
        "hyperedges and log with more",
        type=str,
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
        "whether the encoder sees rows of A without the hyperedges of the step (a tenth of all at most), as it "
        "will see those of hyperedges that are not known yet; counts likewise",
    )
    repeated: str = option(
        "each",
        "how a hyperedge counts that is there several times: as often (the chapter's sums), or once, so that hold_out "
        "hides it with all of its copies, as where hyperedges that are not known yet are to be found",
        choices=("each", "once"),
    )
    dropout: float = option(
        0.3,
        "share of a row's entries dropped before encoding, drawn anew each step, which the decoder must write all the "
        "same",
        at_least=0,
        below=1,
    )
    attribute_weight: float = option(
        1.0,
        "γ: of the attributes of nodes beside their rows of A, where there are any; at 1 the two have the same part in "
        "what an encoder reads (the same mean square length), at 0 attributes are not read",
        at_least=0,
        below=1e10,
    )
    optimizer: str = option("adam", "how to descend; the chapter uses sgd", choices=("adam", "sgd", "row_adagrad"))
    lr: float | None = training(
        "lr", default=None, help="learning rate; None takes 0.003 with fewer than 10,000 hyperedges and 0.01 with more"
    )
    schedule: str = training("schedule")
    batch_size: int | None = training(
        "batch_size",
        help="hyperedges a step; None takes a 128th of all or 64, whichever is more, and a 16th at most",
    )
    tolerance: float = training(
        "tolerance",
        default=0.0,
        help="training has converged when the objective improves by less than this share; 0: it never has",
    )
    patience: int = training("patience")

    def score(
        self, tuples: Iterable[Any], *, kind: Sequence[str] | None = None, later: Any = None
    ) -> npt.NDArray[np.float64]:
        """S of tuples of nodes, between 0 and 1: how likely each is a hyperedge.

        A tuple's types say of which kind it is; where several kinds have those, `kind` says which, by its roles.
        Nodes come in the order of the roles where that has a meaning (head, tail), and in any where not. New nodes are
        those of `later`, a hypergraph as for `transform`.
        """
        return self._scorer(later).score(tuples, kind)

    @renamed(given="partial")
    def complete(
        self,
        partial: Sequence[Any],
        k: int = 10,
        *,
        kind: Sequence[str] | None = None,
        exclude: Hypergraph | None = None,
        later: Any = None,
    ) -> list[tuple[Any, float]]:
        """The k nodes that best take the place of None in a `partial` tuple: (node, S of the tuple), the best first.

        All nodes of the type that belongs there are tried; those are left out that make a hyperedge of `exclude`
        (the hypergraph that was fitted, where only new tuples are asked for). `kind` and `later` as for `score`.
        """
        from netfold.data.checks import check_at_least_one

        check_at_least_one(k=k)
        return self._scorer(later).complete(partial, k, kind, exclude)

    def resolved(self, graph: Any) -> DHNE:
        """With what stands in the place of None for a hypergraph of so many hyperedges."""
        return DHNE(**self.get_params() | self._sized(self._read(graph)))

    def _sized(self, data: Any) -> dict[str, Any]:
        return self._by_size(data.graph.n_edges)

    def _by_size(self, hyperedges: int) -> dict[str, Any]:
        """What options are that depend on the number of hyperedges, those that were set as they are."""
        own = {name: getattr(self, name) for name in _BY_SIZE}
        return {name: _BY_SIZE[name][hyperedges >= _FEW] if own[name] is None else own[name] for name in own}

    # ---------------------------------------------------------------- what an Embedder asks

    def _epochs(self, data: Input[Any]) -> int:
        epochs: int = self._sized(data)["epochs"]
        return epochs

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> _Counted:
        from netfold.data.hypergraph import Hypergraph
        from netfold.embedder.attributes import attribute_rows, later_attribute_rows
        from netfold.models.dhne.scores import check_types
        from netfold.models.dhne.tuples import each_once

        whole = Hypergraph.from_tuples(graph) if isinstance(graph, (list, tuple)) else graph
        if not isinstance(whole, Hypergraph):
            raise InputError(
                f"DHNE reads a Hypergraph, not {type_in_words(graph)}; make one with nf.read_hyperedges or "
                "Hypergraph.from_tuples"
            )
        own: Any = later_attribute_rows(self, whole) if later else attribute_rows(self, whole)
        if whole.n_edges == 0 and not (later and own):
            raise InputError("the hypergraph has no hyperedges; there is nothing to learn from")
        if embedding is not None:
            raise InputError("DHNE learns vectors of its own; embedding= is for DepthLGP")
        if later:
            check_types(whole, self.network_, self.embedding_.nodes)
        if self.repeated == "once":
            whole = each_once(whole)
        return _Counted(whole, attributes=own, pairs=self.counts, device=self.device)

    def _reads_attributes(self) -> bool:
        return True

    def _unspread(self, *, directed: bool = False) -> str:
        return "up to 128 steps an epoch would send each row as often: over 75 TB at a billion nodes, by arithmetic"

    def _bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        return nodes * (32 * self.dim * 3 + 64) + 24 * arcs

    def _problem(
        self, data: _Counted, device: torch.device, progress: Progress, *, resumed: bool = False
    ) -> Problem[DHNENetwork]:
        import torch

        from netfold.learn.starts import large_on
        from netfold.learn.training import Block
        from netfold.models.dhne.batches import Drawing, batches, source, start_by_counts, tuple_steps

        with large_on(device, data.graph.n_nodes):
            network = self._network(data.facts)
        network.type_codes.copy_(torch.tensor(data.graph.type_codes))
        coders = [network.autoencoder(t) for t in range(len(data.counts))]
        for coder, counts in zip(coders, data.counts, strict=True):
            coder.measure(counts)
        scaled = [coder.both(counts) for coder, counts in zip(coders, data.counts, strict=True)]
        typical = [coder.typical_squares(seen) for coder, (_, seen) in zip(coders, scaled, strict=True)]
        if not resumed:
            network.start(self._generator(0), typical)
        network.measure_counts(_among_all(data.graph, data.places), self._generator(2))
        if data.attributes is not None:
            data.attributes.fill(network)
            network.measure_attributes(data.attributes.block, data.places.members, typical)
        network.to(device)
        made_of = source(
            data.graph,
            data.places,
            data.counts,
            network,
            Drawing(self.negatives, self.replaced, self.hold_out),
            block=data.block,
            scaled=scaled,
            generator=self._generator(3),
        )
        if not resumed:
            start_by_counts(made_of, network, self.n_negatives, self._generator(4))
        of = batches(
            made_of,
            self.batch_size,
            per_positive=self.n_negatives,
            hidden=[network.similarity(i).width for i in range(len(network.schema.forms))],
            dropout=self.dropout,
        )
        lr = self._sized(data)["lr"]
        network.decays = self.optimizer == "adam" and network.nu > 0
        decay = (
            {"weight_decay": network.nu / tuple_steps(data.graph.n_edges, self.batch_size)} if network.decays else {}
        )
        blocks = [Block(list(network.parameters()), self.optimizer, lr, decay)]
        return Problem(
            network,
            lambda epoch: of(self._generator(1, epoch)),
            blocks,
            self.schedule,
            self.tolerance,
            self.patience,
        )

    def _network(self, facts: dict[str, Any]) -> DHNENetwork:
        from netfold.embedder.attributes import scaling_tables
        from netfold.models.dhne.network import DHNENetwork
        from netfold.models.dhne.tuples import Schema

        schema = Schema.from_facts(facts)
        if sum(schema.counts) != facts["n_nodes"]:
            raise TypeError(f"its {facts['n_nodes']} nodes are not those of its types")
        more: dict[str, Any] = {}
        if "attributes" in facts:
            widths = [column[2] for column in facts["attributes"]["columns"]]
            _check_columns(facts["attribute_columns"], len(schema.types), len(widths))
            more = {"attribute_columns": facts["attribute_columns"], "attribute_widths": widths}
            more |= {"attribute_weight": self.attribute_weight}
        sized = self._by_size(facts.get("n_hyperedges", 0))
        if "n_hyperedges" not in facts:  # a file of before options were by size, in which None meant the sum
            sized["hidden"] = self.hidden
        network = DHNENetwork(
            schema,
            dim=self.dim,
            hidden=sized["hidden"],
            activation=self.activation,
            scale=sized["scale"],
            row_damping=self.row_damping,
            alpha=self.alpha,
            nu=sized["nu"],
            products=self.products,
            pairs=_pairs_of(facts) if self.counts else None,
            cosines=facts.get("cosines") is True,
            **more,
        )
        if "attributes" in facts:
            network.scaling = scaling_tables(facts["attributes"], 0)  # the encoders place nodes without a tuple
        return network

    def _embed(self, data: _Counted) -> Embedding:
        import numpy as np

        from netfold.data.embedding import Embedding

        if self._is_regression:
            from netfold.models.dhne.counts import unit_vectors

            near = unit_vectors(data.graph.adjacency(), self._generator(5), self.dim)
            return Embedding(data.graph.nodes, near.numpy())
        vectors = np.empty((data.graph.n_nodes, self.dim), np.float32)
        for t, counts in enumerate(data.counts):
            members = data.places.members[t]
            vectors[members] = self.network_.embed(counts, t, self.network_.attributes_of(data.block, members, t))
        return Embedding(data.graph.nodes, vectors)

    @property
    def _is_regression(self) -> bool:
        """Whether nothing is trained: the encoders are as they were drawn, and vectors are eigenvectors (`counts`)."""
        return self.counts and self.epochs == 0

    def _extend(self, data: _Counted, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        import numpy as np

        from netfold.data.embedding import Embedding
        from netfold.embedder.placing import mean_of_neighbors
        from netfold.embedder.problem import check_placed
        from netfold.models.dhne.scores import new_vectors, rows_over_known

        if self._is_regression:
            rows = rows_over_known(data.graph, new, known, len(self.embedding_))
            met = np.diff(rows.indptr) > 0
            lack = "in no hyperedge with a known node"
            check_placed("DHNE", data.graph.nodes, new[~met], lack=lack, by="hyperedges")
            return Embedding(data.graph.nodes.take(new), mean_of_neighbors(rows, self.embedding_))
        return Embedding(data.graph.nodes.take(new), new_vectors(data.graph, self.network_, new, known, data.block))

    # ---------------------------------------------------------------- new nodes

    def _ways(self) -> tuple[str, ...]:
        return ("encode", "refine")

    def _place(
        self, data: Input[Any], rows: npt.NDArray[np.int64], known: npt.NDArray[np.int64], way: Placing
    ) -> Embedding:
        """By the objective: the only way beside the encoder."""
        from netfold.data.embedding import Embedding
        from netfold.models.dhne.scores import new_vectors

        if self._is_regression:
            return self._extend(cast("_Counted", data), rows, known)
        graph = data.graph
        start = new_vectors(graph, self.network_, rows, known, data.block)
        return Embedding(graph.nodes.take(rows), self._refined(graph, rows, known, start, data.block_of(rows)))

    def _regress(self, data: Input[Any]) -> None:
        """Nothing: the encoders place a node by its attributes alone, too."""

    def _without_links(self, later: Input[Any], rows: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Any:
        """None: see `_regress`."""
        import numpy as np

        return np.zeros(len(rows), bool)

    def _refined(
        self,
        graph: Hypergraph,
        new: npt.NDArray[np.int64],
        known: npt.NDArray[np.int64],
        start: Any,
        block: Block | None,
    ) -> npt.NDArray[np.float32]:
        """The vectors of the nodes `new`, whose attributes `block` has, by the objective."""
        from netfold.models.dhne.scores import NewNodes, rows_over_known, tuples_of_new, type_codes_of

        counts = rows_over_known(graph, new, known, len(self.embedding_))
        types = type_codes_of(graph, self.network_.schema)[new]
        groups = tuples_of_new(graph, self.network_, new, known)
        more: dict[str, Any] = {"per_positive": self.n_negatives, "seed": self.seed, "block": block}
        return NewNodes(self.network_, self.embedding_.vectors, groups, counts, types, **more).refined(start)

    def _choose_placing(self, data: Input[Any]) -> None:
        """Refine new nodes unless the encoder tells hidden tuples of known ones from others clearly better."""
        from netfold.embedder.placing import Placing

        agreement = self._judged(data)
        refine = bool(agreement) and agreement["refine"] > agreement["encode"] - _CLEARLY
        placing = Placing("refine" if refine else "encode", agreement=agreement)
        self.graph_facts_ = self.graph_facts_ | {"placing": dataclasses.asdict(placing)}

    def _judged(self, data: Input[Any]) -> dict[str, float]:
        """By each way, how often hidden tuples of some known nodes, placed by the others, score above tuples that are
        none; nothing where nodes with enough tuples are few, or vectors were not trained."""
        import numpy as np

        from netfold.models.dhne.scores import half_hidden, new_vectors

        graph = data.graph
        judges = half_hidden(graph, self.network_, np.random.default_rng([self.seed, 20])) if self.history_ else None
        if judges is None:
            return {}
        seen, new, asked = judges
        known = np.arange(graph.n_nodes)
        known[new] = -1
        encoded = new_vectors(seen, self.network_, new, known, data.block)
        ways = {"encode": encoded, "refine": self._refined(seen, new, known, encoded, data.block_of(new))}
        return {way: asked.told_apart(self.network_, self.embedding_.vectors, new, x) for way, x in ways.items()}

    def _scorer(self, later: Any) -> TupleScorer:
        from netfold.models.dhne.scores import TupleScorer, type_codes_of

        self._check_fitted()
        if later is None:
            return TupleScorer(self.network_, self.embedding_)
        hypergraph = self._read(later, later=True).graph
        new = self.transform(hypergraph)
        types = type_codes_of(hypergraph, self.network_.schema)[hypergraph.nodes.positions(new.nodes)]
        return TupleScorer(self.network_, self.embedding_, new, types, hypergraph)
