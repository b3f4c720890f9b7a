"""GraphWave: how heat spreads from a node; for roles (Donnat, Zitnik, Hallac, Leskovec, KDD 2018)."""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

from netfold.embedder.embedder import Computed
from netfold.embedder.options import option
from netfold.embedder.problem import Input, check_placed, over_known
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch
    from scipy import sparse

    from netfold.data.embedding import Embedding
    from netfold.learn.layers import Tables
    from netfold.learn.progress import Progress
    from netfold.learn.sparse_rows import SparseRows

__all__ = ["GraphWave"]

_NUMBERS = 1 << 22
"""Of heat that is alive at a time."""
_LEFT, _STEPS = 1e-7, 400
"""Heat that further steps would bring is less than this; and steps, at most."""


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
class GraphWave(Computed["Tables"]):
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

    def _network(self, facts: dict[str, Any]) -> Tables:
        import torch

        from netfold.learn.layers import Tables

        n, entries = facts["n_nodes"], facts["entries"]
        shapes: dict[str, Any] = {"crow": ((n + 1,), torch.int32), "col": ((entries,), torch.int32)}
        return Tables(shapes | {"values": ((entries,), torch.float32), "sums": ((n,), torch.float64)})

    def _compute(self, network: Tables, data: _Linked, progress: Progress) -> list[dict[str, float]]:
        import numpy as np

        links, sums = data.links, np.asarray(data.links.sum(axis=1), np.float64)
        network.fill(crow=links.indptr, col=links.indices, values=_normalized(links, sums).data, sums=sums)
        return []

    def _embed(self, data: _Linked) -> Embedding:
        from netfold.data.embedding import Embedding

        return Embedding(data.graph.nodes, self._heat(data.links))

    def _extend(self, data: _Linked, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        import numpy as np

        from netfold.data.embedding import Embedding

        rows = over_known(data.links[new], known, len(self.embedding_))
        check_placed("GraphWave", data.graph.nodes, new[np.diff(rows.indptr) == 0])
        return Embedding(data.graph.nodes.take(new), self._heat(rows))

    def _heat(self, rows: sparse.csr_array) -> npt.NDArray[np.float32]:
        """The vectors of nodes with these links to known ones (m x n): m x dim."""
        import torch
        from scipy import sparse

        from netfold.learn.sparse_rows import SparseRows, parts

        known, n = self.network_, rows.shape[1]
        matrix = sparse.csr_array((known.array("values"), known.array("col"), known.array("crow")), shape=(n, n))
        try:
            matrix.check_format(full_check=True)  # it may come from a file
        except ValueError as e:
            raise InputError(f"the graph that this GraphWave holds is damaged: {e}") from None
        walk = SparseRows.from_scipy(matrix, device=known.get_buffer("values").device)
        normalized = _normalized(rows, known.array("sums"))
        chunks = [self._heat_from(normalized[part], walk) for part in parts(rows.shape[0], max(1, _NUMBERS // n))]
        return torch.cat(chunks).numpy(force=True)

    def _heat_from(self, rows: sparse.csr_array, walk: SparseRows) -> torch.Tensor:
        """Σ_{k ≥ 1} e^-s s^k / k! N^k, a column for each of the rows, by its characteristic function: m x dim."""
        import numpy as np
        import torch

        step = torch.from_numpy(rows.toarray().T.astype(np.float32)).contiguous().to(walk.values.device)
        times = (self.scale / 2, self.scale)
        heat = [torch.zeros_like(step) for _ in times]
        for k in range(1, _terms(self.scale) + 1):
            for time, total in zip(times, heat, strict=True):
                total.add_(step, alpha=_poisson(k, time))
            step = walk.matmul(step)
        points = [(i + 1) * rows.shape[1] / 3 / (self.dim // 4) for i in range(self.dim // 4)]
        waves = (total * point for total in heat for point in points)
        return torch.stack([part for wave in waves for part in (wave.cos().mean(0), wave.sin().mean(0))], dim=1)


def _normalized(rows: sparse.csr_array, sums: npt.NDArray[np.float64]) -> sparse.csr_array:
    """Rows of N from rows of links: a_ij / √(d_i d_j), the d_j being `sums`."""
    import numpy as np
    from scipy import sparse

    own = np.repeat(rows.sum(axis=1), np.diff(rows.indptr))
    values = rows.data / np.sqrt(own * sums[rows.indices])
    return sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)


def _poisson(k: int, time: float) -> float:
    return math.exp(k * math.log(time) - time - math.lgamma(k + 1))


def _terms(time: float) -> int:
    """Steps after which next to no heat is still to come."""
    k, rest = 0, 1.0
    while rest > _LEFT and k < _STEPS:
        rest -= _poisson(k, time)
        k += 1
    return k
