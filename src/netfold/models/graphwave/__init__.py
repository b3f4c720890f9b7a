"""GraphWave: how heat spreads from a node; for roles (Donnat, Zitnik, Hallac, Leskovec, KDD 2018)."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any

from netfold.embedder.computed import Computed
from netfold.embedder.options import option
from netfold.embedder.problem import Input, check_placed, over_known
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from scipy import sparse

    from netfold.data.embedding import Embedding
    from netfold.learn.progress import Progress
    from netfold.models.graphwave.network import HeatNetwork

__all__ = ["GraphWave"]


@dataclasses.dataclass(frozen=True, eq=False)
class _Linked(Input):
    """A graph, and its links."""

    @cached_property
    def links(self) -> sparse.csr_array:
        """In either direction, with weights and self-loops: n x n."""
        from netfold.data.edges import links

        return links(self.graph, directed=False, weights=True, loops="keep")

    @cached_property
    def facts(self) -> dict[str, Any]:
        """With how many entries its matrix has, which the network holds."""
        return super().facts | {"entries": int(self.links.nnz)}


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class GraphWave(Computed["HeatNetwork"]):
    """Vectors of what role a node plays: how evenly heat that starts there is spread after a while.

    Row i of exp(-s L), L = I - D^-½ A D^-½, is the heat of i at all nodes; which nodes these are is forgotten by taking
    the values' characteristic function, (1/n) Σ_m exp(i t ψ_im), its real and imaginary part at points t up to n/3 (the
    mean of ψ is about 1/n), for two times s. Nodes in like surroundings get like vectors wherever they are. What has
    not left i yet, the same for every node, is left out. Directions are not read. Costs O(nodes · edges): for graphs of
    up to some ten thousand nodes.

    >>> from netfold.data.graph import Graph
    >>> star = [("hub", leaf) for leaf in "abcde"] + [("e", "f"), ("f", "g")]
    >>> model = GraphWave(dim=8).fit(Graph.from_edges(star), progress=False)
    >>> bool(abs(model.embedding_["a"] - model.embedding_["b"]).max() < 1e-6)
    True
    """

    dim: int = option(
        64,
        "numbers per node: real and imaginary part at dim / 4 points t for each of two times; a multiple of 4",
        at_least=4,
    )
    scale: float = option(2.0, "s: how long heat spreads; the other time is half of it", above=0, below=50)

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> _Linked:
        if self.dim % 4:
            raise InputError(f"dim={self.dim} is not a multiple of 4, which real and imaginary parts of two times need")
        return _Linked(super()._read(graph, embedding, later=later).graph)

    def _network(self, facts: dict[str, Any]) -> HeatNetwork:
        from netfold.models.graphwave.network import HeatNetwork

        return HeatNetwork(facts["n_nodes"], facts["entries"], self.dim, self.scale)

    def _compute(self, network: HeatNetwork, data: _Linked, progress: Progress) -> list[dict[str, float]]:
        network.remember(data.links)
        return []

    def _embed(self, data: _Linked) -> Embedding:
        from netfold.data.embedding import Embedding

        return Embedding(data.graph.nodes, self.network_.embed(data.links))

    def _extend(self, data: _Linked, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        import numpy as np

        from netfold.data.embedding import Embedding

        rows = over_known(data.links[new], known, len(self.embedding_))
        check_placed("GraphWave", data.graph.nodes, new[np.diff(rows.indptr) == 0])
        return Embedding(data.graph.nodes.take(new), self.network_.embed(rows))
