"""DVNE: deep variational network embedding in Wasserstein space (Zhu, Cui, Wang, Zhu, KDD 2018)."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from netfold.embedder.embedder import Embedder
from netfold.embedder.options import holds, option
from netfold.embedder.problem import Input, Problem, check_placed, over_known
from netfold.embedder.training_options import training
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch
    from scipy import sparse

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.data.nodes import Nodes
    from netfold.data.scaling import Block
    from netfold.embedder.placing import KnownLinks, Placing
    from netfold.embedder.settling import NodeCodes
    from netfold.learn.progress import Progress
    from netfold.models.dvne.network import DVNENetwork

__all__ = ["DVNE"]


class _Rows(Input):
    """A graph, and its rows as DVNE reads them."""

    @cached_property
    def steps(self) -> sparse.csr_array:
        """P: n x n."""
        from netfold.models.dvne.batches import steps

        return steps(self.graph.adjacency, self.graph.adjacency.T if self.graph.directed else None)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DVNE(Embedder["DVNENetwork"]):
    """A Gaussian for every node: where it is, and how far that is left open.

    An autoencoder reads each node's row of the transition matrix P = D⁻¹S, and its code is N(μ, σ²). Linked nodes are
    drawn together and others driven apart in the 2-Wasserstein distance E, which is a metric (first order), and a
    sample Z of a node's Gaussian is to give back its row (second order):

    L = Σ E_ij² + exp(-E_ik) over triplets (i linked with j, not with k) + alpha ‖X ∘ (X - G(Z))‖², Z = μ + σ ε.

    An epoch draws M triplets uniformly from all, M the number of links, and writes each node once, with the weight
    M / n. `embedding_.std` has σ, and `embedding_.coordinates` [μ, σ], where Euclidean distance is W2. In a directed
    graph, nodes are linked where an arc goes either way, as W2 has no direction; a row holds the arcs that leave a
    node, or those that enter if none leaves. Weights are in P, not in the triplets. An epoch costs
    O(M (degree · hidden + hidden · dim)), in pieces of bounded memory.

    Where the graph has attributes, a row goes on with them, [p_i | γ x_i]: the same objective with more columns, whose
    outputs are linear, as attributes may be of any sign.

    >>> from netfold.data.graph import Graph
    >>> two = [(a, b) for c in ("abcd", "wxyz") for a in c for b in c if a < b]
    >>> model = DVNE(dim=4, hidden=16, epochs=100, lr=0.01).fit(Graph.from_edges([*two, ("d", "w")]), progress=False)
    >>> model.embedding_
    Embedding(8 nodes, 4 dimensions, Gaussian)
    >>> model.distance("a", "b") < model.distance("a", "z")
    True
    """

    counted: ClassVar[bool] = True

    dim: int = option(64, "width of the mean, and again of the deviation: half of the chapter's L", at_least=1)
    epochs: int = option(50, "how often as many triplets are drawn as there are links, at most", at_least=0)
    hidden: int = option(512, "width S of the one hidden layer of the encoder, and of the decoder", at_least=1)
    alpha: float = option(0.6, "weight of L_2, the error of the rows that are given back", at_least=0)
    energy: str = option(
        "w2",
        "how far two Gaussians are, E in L_1: the 2-Wasserstein distance (the chapter's), its square (keeps neighbors "
        "apart from their neighbors more sharply) or the Kullback-Leibler divergence of j from i (for comparison)",
        choices=("w2", "w2_squared", "kl"),
    )
    repulsion: float = option(
        1.0,
        "weight of exp(-E_ik) against E_ij² in L_1; 1 is the chapter's; 10 to 30 give the graph back more sharply, and "
        "find fewer links that are not there yet",
        above=0,
    )
    dropout: float = option(
        0.0,
        "share of a row's entries dropped before encoding, drawn anew each time, the others brought to a sum of 1; for "
        "links that are not there yet",
        at_least=0,
        below=1,
    )
    reach: int = option(
        1,
        "how many steps of a walk away a triplet's near node j may be, 1 to so many alike; 1 is the chapter's, 3 to 10 "
        "help to find links that are not there yet",
        at_least=1,
    )
    restart: float = option(
        0.0,
        "where above 0, a walk that `reach` allows ends after each step with this probability, as personalised "
        "PageRank's does, so that j is mostly near; 0: 1 to `reach` steps alike",
        at_least=0,
        below=1,
    )
    shared: float = option(
        0.0,
        "where above 0, a triplet's near node j is drawn from i's neighbors by 1 + shared times the number of nodes "
        "that both are linked with, as a link that is a mistake has none; 0: all neighbors alike (the chapter's)",
        at_least=0,
    )
    attribute_weight: float = option(
        1.0,
        "γ: of the graph's attributes beside its links, where it has any; at 1 the two have the same part in a row "
        "(the same mean square length), at 0 attributes are not read",
        at_least=0,
        below=1e10,
    )
    widen: bool = option(
        True,
        "whether nodes without links or attributes, which all have the Gaussian of an empty row, get the largest "
        "uncertainty of any other node; the chapter leaves them as they are",
    )
    std: str = option(
        "learned",
        "the deviations of `embedding_`: learned (the chapter's σ, which is not how sure a place is) or evidence "
        "(σ scaled to the order of nodes by how many links they have and how much these agree on a place)",
        choices=("learned", "evidence"),
    )
    optimizer: str = option("adam", "how to descend; the paper uses rmsprop", choices=("adam", "rmsprop"))
    lr: float = training("lr", default=0.002)
    schedule: str = training("schedule")
    batch_size: int | None = training(
        "batch_size",
        help="triplets a step; None takes a sixteenth of an epoch's, and at least 64; above 100,000 nodes an eighth, "
        "and twice the learning rate",
    )
    tolerance: float = training("tolerance")
    patience: int = training("patience")
    held_out: float = training("held_out")

    embedding_: Embedding = dataclasses.field(
        init=False, metadata=holds("a Gaussian for each known node: its mean in `vectors`, its deviation σ in `std`")
    )

    def distance(self, a: Any, b: Any) -> float | npt.NDArray[np.float64]:
        """W2 of the Gaussians of known nodes: two nodes, a node and a list of them, or two lists of one length.

        It is W2 whatever `energy` is. For Gaussians with other covariances see `netfold.data.gaussians.w2`.
        """
        import numpy as np

        self._check_fitted()
        left, right = self._coordinates(a), self._coordinates(b)
        if left.ndim == right.ndim == 2 and len(left) != len(right):
            raise InputError(
                f"{len(left)} nodes cannot be paired with {len(right)}; give two lists of one length, or one node"
            )
        distances = np.linalg.norm(left - right, axis=-1)
        return distances if distances.ndim else float(distances)

    def mean_variance(self, graph: Any, *, draws: int = 16) -> npt.NDArray[np.float64]:
        """The variance of each node's mean under missing links (sensitivity), for a graph's nodes: n.

        How far it would be elsewhere if half of its links were not known: the mean over `draws` times of |μ - μ'|²,
        μ' being that of the node's row with each entry dropped or not by a coin. The graph is the one that was fitted,
        or a later one, of which links with known nodes are read. It is large where links are few, and where they
        disagree about the place; infinite where there are none. What σ learns is something else: see docs/dvne.md.

        >>> from netfold.data.graph import Graph
        >>> graph = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")], nodes="abcdz")
        >>> variances = DVNE(dim=2, hidden=8, epochs=20).fit(graph, progress=False).mean_variance(graph)
        >>> graph.nodes[variances.argmax()], float(variances.max())
        ('z', inf)
        """
        import numpy as np

        from netfold.models.dvne.batches import steps

        self._check_fitted()
        if draws < 1:
            raise InputError(f"draws={draws!r} is no number of times; give 1 or more")
        later = self._read(graph, later=True).graph
        known, n = self.embedding_.nodes.find(later.nodes), len(self.embedding_)
        into = over_known(later.adjacency.T, known, n) if later.directed else None
        rows = steps(over_known(later.adjacency, known, n), into)
        block = self._read_attributes(later).block
        variances = self.network_.mean_variance(rows, draws, self._generator(2), block)
        return np.where(np.diff(rows.indptr) > 0, variances, np.inf)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say what a method that had another name before is called now."""
            if name == "doubt":
                raise AttributeError("doubt is now called mean_variance", name=name, obj=self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def _coordinates(self, nodes: Any) -> npt.NDArray[np.float64]:
        """[μ, σ] of a node, or of each of a list: (m x) 2 dim."""
        import numpy as np

        from netfold.data.nodes import Nodes

        several = isinstance(nodes, list | Nodes) or (isinstance(nodes, np.ndarray) and nodes.ndim > 0)
        emb = self.embedding_
        rows = emb.nodes.positions(nodes if several else [nodes])
        assert emb.std is not None
        coordinates = np.hstack([emb.vectors[rows], emb.std[rows]]).astype(np.float64)
        return coordinates if several else coordinates[0]

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> _Rows:
        read = super()._read(graph, embedding, later=later)
        return _Rows(read.graph, attributes=read.attributes)

    def _reads_attributes(self) -> bool:
        return True

    def _unspread(self, *, directed: bool = False) -> str:
        return "its many steps an epoch would send each row as often: 27 to 35 TB at a billion nodes, by arithmetic"

    def _bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        """Two tables with gradients and Adam's state, 32 a width; of rows, triplets and steps as measured."""
        return nodes * (45 * self.hidden + 64) + 208 * arcs

    def _problem(
        self, data: _Rows, device: torch.device, progress: Progress, *, resumed: bool = False
    ) -> Problem[DVNENetwork]:
        from netfold.data.edges import links
        from netfold.embedder.attributes import joint_rows
        from netfold.learn.starts import large_on
        from netfold.learn.training import Block
        from netfold.models.dvne.batches import DVNE_STEPS, Triplets, batches, step_count

        graph = data.graph
        with large_on(device, graph.n_nodes):
            network = self._network(data.facts)
        if not resumed:
            network.start(self._generator(0))
        block = None
        if data.attributes is not None:
            data.attributes.fill(network)
            network.measure(data.steps, data.attributes.block)
            block = network.scaled(data.attributes.block)
        network.to(device)
        near = links(graph, directed=False, weights=False, loops="all")
        triplets = Triplets.of(near, device, self.shared)
        count = (near.nnz - graph.n_nodes) // 2
        self._check(graph, count, len(triplets))
        rows = joint_rows(data.steps, block, network.first.table)
        of = batches(
            rows, triplets, count, network, self.batch_size, dropout=self.dropout, walk=(self.reach, self.restart)
        )
        lr = self.lr * (1.0 if self.batch_size else DVNE_STEPS.rate(graph.n_nodes))
        return Problem(
            network,
            lambda epoch: of(self._generator(1, epoch)),
            [Block(list(network.parameters()), self.optimizer, lr)],
            self.schedule,
            self.tolerance,
            self.patience,
            step_count(count if len(triplets) else graph.n_nodes, self.batch_size, graph.n_nodes),
        )

    def _check(self, graph: Graph, links: int, triplets: int) -> None:
        if not links:
            raise InputError(f"all {graph.n_edges:,} edges are self-loops; at least one must link two nodes")
        if not triplets and not self.alpha:
            raise InputError(
                "every node with a link is linked with all others, so that no triplet has a far node; with alpha "
                "above 0 the rows can still be learned"
            )

    def _network(self, facts: dict[str, Any]) -> DVNENetwork:
        from netfold.embedder.attributes import scaling_tables, width_of
        from netfold.models.dvne.network import DVNENetwork

        size, how = (facts["n_nodes"], self.hidden, self.dim), {"repulsion": self.repulsion, "energy": self.energy}
        how |= {"evidence": self.std == "evidence"}
        if "attributes" not in facts:
            return DVNENetwork(*size, alpha=self.alpha, **how)  # type: ignore[arg-type]
        how |= {"attributes": width_of(facts["attributes"])[0], "attribute_weight": self.attribute_weight}
        network = DVNENetwork(*size, alpha=self.alpha, **how)  # type: ignore[arg-type]
        network.scaling = scaling_tables(facts["attributes"], 2 * self.dim)
        return network

    def _embed(self, data: _Rows) -> Embedding:
        import numpy as np

        from netfold.models.dvne.batches import widened

        gaussians = self._gaussians(data.graph.nodes, data.steps, data.block)
        if self.std == "evidence":
            gaussians = self._measured(gaussians, data.graph)
        if not self.widen:
            return gaussians
        return widened(gaussians, data.graph, data.has_attributes(np.arange(data.graph.n_nodes)))

    def _measured(self, learned: Embedding, graph: Graph) -> Embedding:
        """The Gaussians of the graph that was fitted by evidence, and what new nodes will need to know of it."""
        import torch

        from netfold.data.edges import links
        from netfold.models.dvne.batches import by_evidence

        near = links(graph, directed=False, weights=False, loops="drop")
        gaussians, facts = by_evidence(learned, near, self._generator(4))
        self.network_.evidence.copy_(torch.from_numpy(facts))
        return gaussians

    def _by_evidence(self, learned: Embedding, near: sparse.csr_array) -> Embedding:
        """New nodes' Gaussians with the deviations that follow from their links with known nodes (m x n)."""
        if self.std != "evidence":
            return learned
        from netfold.models.dvne.batches import in_order, place_variance

        *moments, typical = self.network_.evidence.tolist()
        variance, _ = place_variance(near, learned.vectors, self.embedding_.vectors, typical)
        return in_order(learned, variance, moments)

    def _place(
        self, later: Input[Any], rows: npt.NDArray[np.int64], known: npt.NDArray[np.int64], way: Placing
    ) -> Embedding:
        from netfold.embedder.placing import KnownLinks

        graph, n = later.graph, len(self.embedding_)
        near = KnownLinks.of(graph.adjacency, rows, known, n, directed=graph.directed).either
        return self._by_evidence(super()._place(later, rows, known, way), near)

    def _extend(self, data: _Rows, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        import numpy as np
        from scipy import sparse

        from netfold.models.dvne.batches import steps

        graph, n = data.graph, len(self.embedding_)
        out = over_known(graph.adjacency[new], known, n)
        into = over_known(graph.adjacency[:, new].T, known, n) if graph.directed else None
        links = np.diff(out.indptr) + (0 if into is None else np.diff(into.indptr))
        check_placed("DVNE", graph.nodes, new[(links == 0) & ~data.has_attributes(new)])
        learned = self._gaussians(graph.nodes.take(new), steps(out, into), data.block_of(new))
        return self._by_evidence(learned, out if into is None else sparse.csr_array(out + into))

    def _codes(self, network: DVNENetwork, data: _Rows) -> NodeCodes:
        from netfold.embedder.attributes import joint_rows

        block = None if data.block is None else network.scaled(data.block)
        rows = joint_rows(data.steps, block, network.first.table)
        return lambda nodes: network.encode(rows.take(nodes))

    def _encode(self, links: KnownLinks) -> npt.NDArray[np.float32]:
        from netfold.models.dvne.batches import steps

        return self.network_.embed(steps(links.out, links.into), links.block)

    def _refine(
        self,
        links: KnownLinks,
        start: npt.NDArray[np.float32],
        weight: float,
        placed: npt.NDArray[np.float32] | None = None,
    ) -> npt.NDArray[np.float32]:
        from netfold.models.dvne.batches import steps

        rows, near = steps(links.out, links.into), links.either
        beside = None if placed is None or links.among is None else (links.among, placed)
        return self.network_.refine(rows, near, self.embedding_, start, weight, self._generator(3), links.block, beside)

    def _weights(self) -> tuple[float, ...]:
        return (1.0,)

    def _gaussians(self, nodes: Nodes, rows: sparse.csr_array, block: Block | None) -> Embedding:
        from netfold.data.embedding import Embedding

        codes = self.network_.embed(rows, block)
        return Embedding(nodes, codes[:, : self.dim], codes[:, self.dim :])
