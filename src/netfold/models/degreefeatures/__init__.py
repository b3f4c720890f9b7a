"""DegreeFeatures: numbers about degrees, of a node and again of those around it; for roles, in a moment."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from netfold.embedder.embedder import Computed
from netfold.embedder.options import option
from netfold.embedder.problem import Input, check_placed, over_known

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from scipy import sparse

    from netfold.data.embedding import Embedding
    from netfold.learn.layers import Tables
    from netfold.learn.progress import Progress

__all__ = ["DegreeFeatures", "degree_columns"]


@dataclasses.dataclass(frozen=True, eq=False)
class _Linked(Input):
    """A graph, and who is linked with whom."""

    @cached_property
    def links(self) -> sparse.csr_array:
        """In either direction, without weights and self-loops: n x n of ones."""
        from netfold.data.edges import links

        return links(self.graph, directed=False, weights=False, loops="drop")

    def neighbors(self, kinds: int) -> list[sparse.csr_array]:
        """Those, and where kinds are three, the links that leave a node, and those that reach it."""
        from scipy import sparse

        from netfold.data.edges import links

        if kinds == 1:
            return [self.links]
        out = links(self.graph, directed=True, weights=False, loops="drop")
        back = sparse.csr_array(out.T)
        back.sort_indices()
        return [self.links, out, back]

    @cached_property
    def facts(self) -> dict[str, Any]:
        """With how many kinds of neighbors there are, where not one: files of before have one of all graphs."""
        return super().facts | ({"kinds": 3} if self.graph.directed else {})


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class DegreeFeatures(Computed["Tables"]):
    """Vectors of what role a node plays: its degree, and recursively what degrees there are around it.

    The first columns are the degree, log(1 + degree), and the mean, largest and sum of the neighbors' degrees. Then the
    mean and the largest over the neighbors of logarithms of these, of what that gives, and so on, until there are `dim`
    columns (recursive features, ReFeX: Henderson et al., KDD 2011). Each is brought to mean 0 and deviation 1. Nodes
    in like surroundings get like vectors wherever they are in the graph. Of a directed graph a third of the columns is
    that of neighbors in either direction, a third that of whom a node links to, and a third that of who links to it.
    Weights and self-loops are not read. A new node's columns come from its links and those of its neighbors that are
    stored.

    >>> from netfold.data.graph import Graph
    >>> star = [("hub", leaf) for leaf in "abcde"] + [("e", "f"), ("f", "g")]
    >>> model = DegreeFeatures(dim=5).fit(Graph.from_edges(star), progress=False)
    >>> model.embedding_["a"].tolist() == model.embedding_["b"].tolist()
    True
    """

    features: ClassVar[bool] = True

    dim: int = option(
        32,
        "columns: the first five are those of the degree and of the neighbors' degrees, others recursive; in a "
        "directed graph a third each of neighbors either way, of those a node links to, and of those that link to it",
        at_least=1,
    )

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> _Linked:
        return _Linked(super()._read(graph, embedding, later=later).graph)

    def _network(self, facts: dict[str, Any]) -> Tables:
        import torch

        from netfold.learn.layers import Tables

        row = (self.dim,), torch.float64
        return Tables({"columns": ((facts["n_nodes"], self.dim), torch.float64), "mean": row, "deviation": row})

    def _compute(self, network: Tables, data: _Linked, progress: Progress) -> list[dict[str, float]]:
        import numpy as np

        widths = self._widths(data.facts)
        near = data.neighbors(len(widths))
        columns = np.hstack([degree_columns(x, dim) for x, dim in zip(near, widths, strict=True)])
        mean, deviation = columns.mean(axis=0), columns.std(axis=0)
        alike = deviation <= 1e-9 * mean  # but for rounding
        network.fill(columns=columns, mean=mean, deviation=np.where(alike, 1, deviation))
        return []

    def _embed(self, data: _Linked) -> Embedding:
        from netfold.data.embedding import Embedding

        return Embedding(data.graph.nodes, self._standardized(self.network_.array("columns")))

    def _extend(self, data: _Linked, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        import numpy as np

        from netfold.data.embedding import Embedding

        widths = self._widths(self.graph_facts_)
        rows = [over_known(x[new], known, len(self.embedding_)) for x in data.neighbors(len(widths))]
        check_placed("DegreeFeatures", data.graph.nodes, new[np.diff(rows[0].indptr) == 0])
        stored = np.split(self.network_.array("columns"), np.cumsum(widths)[:-1], axis=1)
        columns = [degree_columns(x, dim, of=own) for x, dim, own in zip(rows, widths, stored, strict=True)]
        return Embedding(data.graph.nodes.take(new), self._standardized(np.hstack(columns)))

    def _widths(self, facts: dict[str, Any]) -> list[int]:
        """How many columns are of each kind of neighbors."""
        kinds = facts.get("kinds", 1)
        each = self.dim // kinds
        return [self.dim - (kinds - 1) * each, *[each] * (kinds - 1)]

    def _standardized(self, columns: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
        import numpy as np

        standardized = (columns - self.network_.array("mean")) / self.network_.array("deviation")
        return np.asarray(standardized, np.float32)


def degree_columns(
    links: sparse.csr_array, dim: int, of: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.float64]:
    """The first `dim` recursive features of nodes with these links (m x n of ones): m x dim.

    `of` are those of the nodes that are linked to (n x dim), where these are others; else they are the same nodes.

    >>> from scipy import sparse
    >>> path = sparse.csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
    >>> degree_columns(path, 5)[1].round(2).tolist()
    [2.0, 1.1, 1.0, 1.0, 2.0]
    """
    import numpy as np

    degrees = np.asarray(links.sum(axis=1), np.float64)
    columns = np.zeros((links.shape[0], max(dim, 5)))
    columns[:, 0], columns[:, 1] = degrees, np.log1p(degrees)
    around = columns if of is None else np.pad(of, ((0, 0), (0, columns.shape[1] - of.shape[1])))
    total = links @ around[:, 0]
    columns[:, 2], columns[:, 4] = total / np.maximum(degrees, 1), total
    columns[:, 3] = _largest(links, around[:, 0])
    for at in range(5, dim):
        source, kind = divmod(at - 5, 2)  # each column from the second on, by its mean and by its largest
        logs = np.log1p(around[:, source + 1]) if 0 < source < 4 else around[:, source + 1]
        columns[:, at] = _largest(links, logs) if kind else links @ logs / np.maximum(degrees, 1)
    return columns[:, :dim]


def _largest(links: sparse.csr_array, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of each node's neighbors, the largest value; 0 where there are none. No value is negative."""
    import numpy as np

    out = np.zeros(links.shape[0])
    np.maximum.at(out, np.repeat(np.arange(links.shape[0]), np.diff(links.indptr)), values[links.indices])
    return out
