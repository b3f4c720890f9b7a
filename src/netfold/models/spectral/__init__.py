"""Spectral: eigenvectors of a matrix of the graph, or a smoothing of vectors along its links; seconds, no training."""

from __future__ import annotations

import dataclasses
import time
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from netfold.embedder.embedder import Computed
from netfold.embedder.options import option
from netfold.embedder.problem import SCALED_APART, Input, check_placed, over_known, weight_unit_of
from netfold.embedder.training_options import weight_scale
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from scipy import sparse

    from netfold.cluster.exchange import RankGraph
    from netfold.cluster.room import Room
    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.data.scaling import Block
    from netfold.embedder.problem import Problem
    from netfold.learn.progress import Progress
    from netfold.models.spectral.network import AttributeBasis, Settings, SpectralNetwork, StepBlocks

__all__ = ["Spectral"]

_OF_LINKS = ("adjacency", "log", "ppmi", "normalized", "laplacian", "propagation", "prone", "grarep")
_OF_ATTRIBUTES = ("attributes", "smoothed")
"""Matrices that need attributes of nodes; the others read links alone."""
_WITH_DIRECTIONS = ("adjacency", "log", "normalized")
"""Matrices that tell i → j from j → i: of a directed graph they have left and right vectors."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Linked(Input):
    """A graph, and its links as a matrix reads them."""

    two_sided: bool

    @cached_property
    def links(self) -> sparse.csr_array:
        """i → j where directions are told apart, else in either direction: n x n, float64."""
        from netfold.data.edges import links

        return links(self.graph, directed=self.two_sided, weights=True, loops="keep")

    @cached_property
    def sides(self) -> list[sparse.csr_array]:
        """The rows of nodes: by the links that leave them and, where told apart, by those that reach them."""
        from scipy import sparse

        if not self.two_sided:
            return [self.links]
        back = sparse.csr_array(self.links.T)
        back.sort_indices()
        return [self.links, back]


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class Spectral(Computed["SpectralNetwork | AttributeBasis | StepBlocks"]):
    """Vectors that cost seconds: the leading eigenvectors of a matrix M of the graph, each times |λ|^power.

    The matrix is the adjacency A, its logarithm, positive pointwise mutual information, the normalised adjacency
    N = D^-½ A D^-½, or the random walk D⁻¹A of the Laplacian I - D⁻¹A; degrees D are regularised. Eigenvalues of both
    signs count. Two forms take no eigenvectors of N: "propagation" averages random vectors over links again and
    again (as Cleora does), "prone" smooths an SVD by a Gaussian filter of the Laplacian (as ProNE does). "grarep" has a
    block of columns for each number of steps up to `window`: of the SVD of how much likelier than by chance a walk ends
    there (as GraRep does).

    A node's vector is its row of M times a small table, m_i U Λ⁻¹ |Λ|^power, which is that of the eigenvectors where
    they are exact; a new node's row gives it its vector likewise (Nyström). In the two forms a known node is part of
    its own average; a new one, which has no vector yet, gets that of its neighbors alone. Where the matrix knows
    directions, directed graphs have left and right vectors, half of the dimensions each. Nodes without links get the
    mean vector.

    Two forms are of what is known about nodes: "smoothed" averages attributes over a node and its neighbors, `powers`
    times, and "attributes" sets them beside the links; a node's vector is its row U Σ^power of the SVD of that.

    >>> from netfold.data.graph import Graph
    >>> two = [(a, b) for group in ("abcd", "wxyz") for a in group for b in group if a < b] + [("d", "w")]
    >>> model = Spectral(dim=2).fit(Graph.from_edges(two), progress=False)
    >>> sorted(node for node, _ in model.embedding_.nearest("a", k=2))
    ['b', 'c']
    >>> new = model.transform(Graph.from_edges([("e", "a"), ("e", "b")]))
    >>> model.embedding_.nearest(new["e"], k=1)[0][0] in "abcd"
    True
    """

    counted: ClassVar[bool] = True
    regresses_isolated: ClassVar[bool] = True

    matrix: str = option(
        "laplacian",
        "adjacency (A), log (log(1 + A)), ppmi (how much likelier a link is than by chance: the logarithm, "
        "where above 0), normalized (D^-½ A D^-½), laplacian (the smoothest vectors of I - D⁻¹A, whose "
        "coordinates are the random walk's), propagation (averages over neighbors, `steps` times), prone, grarep (a "
        "block for each number of steps up to `window`), or, of a graph with attributes X, attributes (D^-½ A D^-½ "
        "with γ X beside it) or smoothed (PᵏX, averages of it)",
        choices=(*_OF_LINKS, *_OF_ATTRIBUTES),
    )
    weight_scale: str | None = weight_scale()
    power: float = option(
        2.0,
        "of the size of λ in the length of its eigenvector: 0 leaves all alike, 1 and more smooth along links",
        at_least=0,
    )
    regularization: float = option(
        0.1,
        "added to every degree, as a share of the mean degree: keeps eigenvectors from settling on a few nodes at the "
        "rim of a sparse graph; for normalized, laplacian and propagation, where it is the weight of a node itself",
        at_least=0,
    )
    steps: int = option(16, "averages over a node and its neighbors, for propagation: fewer for nearness", at_least=1)
    powers: int = option(2, "k: averages of attributes over neighbors, for smoothed", at_least=0, below=33)
    attribute_weight: float = option(
        0.5, "γ, for attributes: their part in a row (mean square length), that of links being 1", above=0, below=1e10
    )
    window: int = option(
        1,
        "steps of a random walk within which two nodes are seen together, for ppmi: NetMF's T, and for grarep; above 1 "
        "entries are as many as nodes that likely walks reach, and new nodes get the mean of their neighbors",
        at_least=1,
    )
    tolerance: float = option(
        0.01,
        "eigenvectors have converged when the length of M u - λ u is below this share of the least λ, for each",
        above=0,
    )
    rounds: int = option(100, "of the solver, at most; it warns where they were not enough", at_least=1)

    # ---------------------------------------------------------------- what an Embedder asks

    def _reads_attributes(self) -> bool:
        return self.matrix in _OF_ATTRIBUTES

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> _Linked:
        read = super()._read(graph, embedding, later=later)
        if self._reads_attributes() and read.attributes is None:
            raise InputError(
                f"matrix={self.matrix!r} is of attributes, and the graph has none that say anything; give them, "
                "graph.with_attributes(...) or --attributes FILE, or take matrix='laplacian'"
            )
        sides = self._two_sided(read.graph.directed)
        return _Linked(read.graph, sides, attributes=read.attributes, weight_unit=read.weight_unit)

    def _weight_unit(self, graph: Graph, *, later: bool) -> float | None:
        if self.matrix == "log" and self.weight_scale == "log":
            raise InputError("matrix='log' takes logarithms of weights itself; take matrix='adjacency' for other units")
        return None if self.matrix == "log" else super()._weight_unit(graph, later=later)

    def _walks(self) -> bool:
        """Whether it follows walks further than the links of a node."""
        return self.matrix == "grarep" or (self.matrix == "ppmi" and self.window > 1)

    def _two_sided(self, directed: bool) -> bool:
        return directed and self.matrix in _WITH_DIRECTIONS

    def _network(self, facts: dict[str, Any]) -> SpectralNetwork | AttributeBasis | StepBlocks:
        from netfold.models.spectral.network import AttributeBasis, SpectralNetwork, StepBlocks

        weight_unit_of(facts)
        if self.matrix == "grarep":
            return StepBlocks(facts["n_nodes"], self.dim)
        if self._reads_attributes():
            from netfold.embedder.attributes import scaling_tables, width_of

            width_of(facts["attributes"])
            widths = [column[2] for column in facts["attributes"]["columns"]]
            table = AttributeBasis(
                facts["n_nodes"],
                self.dim,
                widths,
                steps=self.powers if self.matrix == "smoothed" else None,
                power=self.power,
                added=self.regularization,
            )
            table.scaling = scaling_tables(facts["attributes"], self.dim)
            return table
        return SpectralNetwork(
            facts["n_nodes"],
            self.dim,
            self.matrix,
            power=self.power,
            regularization=self.regularization,
            two_sided=self._two_sided(facts["directed"]),
            window=self.window if self.matrix == "ppmi" else 1,
        )

    def _compute(
        self, network: SpectralNetwork | AttributeBasis | StepBlocks, data: _Linked, progress: Progress
    ) -> list[dict[str, float]]:
        from netfold.models.spectral.network import AttributeBasis, StepBlocks

        records, settings = self._settings(progress)
        if isinstance(network, StepBlocks):
            network.solve(data.links, self.window, settings)
            return records
        if isinstance(network, AttributeBasis):
            assert data.attributes is not None
            data.attributes.fill(network)
            solved = network.solve(data.links, data.attributes.block, self.attribute_weight, settings)
        else:
            solved = network.solve(data.sides, settings)
        self._check_solved(solved, records)
        return records

    def _settings(self, progress: Progress) -> tuple[list[dict[str, float]], Settings]:
        """How to solve, and the records that are made of its rounds meanwhile."""
        from netfold.models.spectral.network import Settings

        records: list[dict[str, float]] = []
        show, clock = progress.note("round {}: residual {:.3g}"), time.perf_counter()

        def report(number: int, residual: float) -> None:
            seconds = time.perf_counter() - clock - sum(record["seconds"] for record in records)
            records.append({"epoch": number, "residual": residual, "objective": residual, "seconds": seconds})
            show(number, residual)

        return records, Settings(self._generator(0), self.tolerance, self.rounds, self.steps, report)

    def _check_solved(self, solved: bool, records: list[dict[str, float]]) -> None:
        if not solved:
            residual = records[-1]["residual"]
            warnings.warn(
                f"the eigenvectors have not converged in rounds={self.rounds}: a residual is {residual:.2g}, above "
                f"tolerance={self.tolerance:g}; allow more rounds, or take fewer dimensions",
                stacklevel=5,
            )

    # ---------------------------------------------------------------- over several ranks

    def _unspread(self, *, directed: bool = False) -> str:
        if directed:
            return "of a directed graph it reads links in both directions, and a part has those that leave its nodes"
        if self._reads_attributes():
            return "attributes are read with the whole graph"
        if self.weight_scale == "log":
            return SCALED_APART
        if self._walks():
            return "window above 1 needs the neighbors of neighbors, which other ranks have"
        return "the SVD of ProNE's matrix is not spread" if self.matrix == "prone" else ""

    def _spread(
        self, graph: RankGraph, room: Room, progress: Progress, *, resumed: bool = False
    ) -> Problem[SpectralNetwork]:
        from netfold.embedder.problem import Problem
        from netfold.models.spectral.sharded import ShardedSpectral

        own: Any = self._network({"n_nodes": graph.m, "directed": False}).to(graph.ranks.device)
        network: Any = ShardedSpectral(own, graph, self.matrix, self.regularization)
        records: list[dict[str, float]] = []
        if not resumed:
            records, settings = self._settings(progress)
            self._check_solved(network.solve(settings, lambda *of: self._generator(1, *of)), records)
        return Problem(network, lambda epoch: (), [], history=records)

    def _block(self) -> int:
        """Columns that the solver has at once, of both ends of the spectrum: what is asked for and a third more."""
        ends = 1 if self.matrix == "laplacian" else 2
        return self.dim if self.matrix == "propagation" else self.dim + ends * max(16, self.dim // 3)

    def _bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        """The table, the vectors, of the solver what has converged and three copies of its block; rows of the matrix.

        48 bytes an arc: the entries in float64, and their columns and rows, by row and by column, as they are made; and
        the pieces that products are worked on in.
        """
        return nodes * (12 * self.dim + 32 + 12 * self._block()) + 48 * arcs + (1 << 22)

    def _state_bytes(self, nodes: int) -> int:
        return nodes * (4 * self.dim + 8)

    def _sent(self, *, directed: bool) -> int:
        """Of a round at most: 26 products with the block (propagation: all of its steps)."""
        return 4 * self._block() * (self.steps if self.matrix == "propagation" else 26)

    def _in_flight(self, *, directed: bool) -> float:
        """Of a product: rows that go, those that come, and the next peer's."""
        return 12.0 * self._block()

    def _embed(self, data: _Linked) -> Embedding:
        from netfold.data.embedding import Embedding

        return Embedding(data.graph.nodes, self._vectors(data.sides, data.block, known=True))

    def _vectors(
        self, sides: list[sparse.csr_array], block: Block | None, *, known: bool = False
    ) -> npt.NDArray[np.float32]:
        from netfold.models.spectral.network import AttributeBasis, StepBlocks

        if isinstance(self.network_, StepBlocks):
            stored: npt.NDArray[np.float32] = self.network_.array("vectors")
            return stored
        if not isinstance(self.network_, AttributeBasis):
            return self.network_.embed(sides, known=known)
        assert block is not None
        return self.network_.embed(sides[0], block, known=known)

    def _extend(self, data: _Linked, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        import numpy as np

        from netfold.data.embedding import Embedding

        sides = [over_known(rows[new], known, len(self.embedding_)) for rows in data.sides]
        isolated = np.all([np.diff(rows.indptr) == 0 for rows in sides], axis=0)
        check_placed("Spectral", data.graph.nodes, new[isolated & ~data.has_attributes(new)])
        if self._walks():  # whose rows say more than the links of a node do
            from netfold.embedder.placing import mean_of_neighbors

            return Embedding(data.graph.nodes.take(new), mean_of_neighbors(sides[0], self.embedding_))
        return Embedding(data.graph.nodes.take(new), self._vectors(sides, data.block_of(new)))
