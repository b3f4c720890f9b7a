"""`LGPEmbedder`: what the models have in common that place new nodes by a Laplacian Gaussian process."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import TYPE_CHECKING, Any, Self

from netfold.embedder.embedder import Embedder, listed
from netfold.embedder.options import option
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from scipy import sparse

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.models.lgp.neighborhoods import Caps
    from netfold.models.lgp.posterior import Known, Placed
    from netfold.models.lgp.process import Process

__all__ = ["SHARING", "LGPEmbedder"]

_HEAVIEST = 1e12
"""What a new node's link may weigh, a link of the fitted graph weighing about 1: its square is a float32 still."""

SHARING = ("all", "halves", "weights", "none")
"""What dimensions share: all of eta, zeta and a; a, and eta and zeta within each half; a alone; or nothing."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class LGPEmbedder(Embedder, abstract=True):
    """The options of the process, and new nodes: `transform` places them, `partial_fit` keeps them."""

    hidden: int = option(64, "units of the hidden layer of g; 0 makes g the identity", at_least=0)
    sharing: str = option(
        "all",
        "what the dimensions share: all (eta, zeta and a), halves (a; and eta and zeta within each half, as LINE has "
        "it), weights (a alone) or none",
        choices=SHARING,
    )
    eta: float = option(
        1.0,
        "where eta, the strength of first-order proximity, starts, links of mean weight being 1; 0 leaves it out",
        at_least=0,
    )
    zeta: float = option(
        1.0,
        "where zeta, that of second-order proximity, starts; as large as eta, all paths of two steps weigh as much as "
        "all links; 0 leaves it out",
        at_least=0,
    )
    one_step: int = option(
        128, "neighbors that are read of a new node in training, at the most; 0: all there are", at_least=0
    )
    two_step: int = option(16, "neighbors that are read of each of these, at the most; 0: all there are", at_least=0)
    routine: str = option(
        "exact",
        "of transform: exact (all new nodes at once, over all neighbors) or sampled (each connected component of new "
        "nodes for itself, over as many neighbors as training reads)",
        choices=("exact", "sampled"),
    )
    uncertainty: bool = option(True, "whether transform tells the standard deviations of its vectors")

    # ---------------------------------------------------------------- for users

    def prepare(self) -> Self:
        """Make ready what `transform` would make at its first call: the sums of known nodes over their neighbors.

        In O(edges · dim), and as many numbers kept as the known vectors have; after that a transform costs what its
        new nodes' edges do.
        """
        self._check_fitted()
        self._known()
        return self

    def partial_fit(self, graph: Any) -> Self:
        """Take the new nodes of a later graph in among the known ones, and its edges, without any training.

        Their vectors are those of `transform`, and the nodes that come next stand on them as on all others.
        """
        import numpy as np

        self._check_fitted()
        later = self._read(graph)
        self._check_later(later)
        known = self.embedding_.nodes.find(later.nodes)
        self._grow(later, np.flatnonzero(known < 0), known)
        return self

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any) -> Graph:
        """A graph of any size: a new node may come alone. What is fitted has more to it, which `_take` looks for."""
        from netfold.data.graph import Graph

        return Graph.of(graph)

    def _take(self, graph: Graph, embedding: Any) -> None:
        self._check_links(graph)
        super()._take(graph, embedding)

    def _check_links(self, graph: Graph) -> None:
        """Refuse a graph that there is nothing to learn from."""
        found = super()._read(graph)
        if found.n_edges == found.n_self_loops:
            raise InputError("the graph has no edges but self-loops; there is nothing to learn from")

    def _facts(self, graph: Graph) -> dict[str, Any]:
        from netfold.models.lgp.neighborhoods import unit_of

        return super()._facts(graph) | {"entries": int(self._linked(graph).nnz), "unit": unit_of(graph.adjacency)}

    def _check_facts(self, facts: dict[str, Any]) -> None:
        super()._check_facts(facts)
        if not isinstance(facts.get("entries"), int) or facts["entries"] < 0:
            raise TypeError(f"its graph has {facts.get('entries')!r} entries")
        unit = facts.get("unit", 1.0)  # models had none when their weights were kept as they are
        if not isinstance(unit, float) or not 0 < unit < math.inf:
            raise TypeError(f"its links weigh {unit!r}")

    def _extend(self, graph: Graph, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        return self._embedding(graph, new, self._placed(graph, new, known))

    # ---------------------------------------------------------------- new nodes

    def _linked(self, graph: Graph) -> sparse.csr_array:
        """Its links, in either direction and without self-loops, in the unit of its own weights."""
        from netfold.models.lgp.neighborhoods import linked, unit_of

        return linked(graph.adjacency, directed=graph.directed, unit=unit_of(graph.adjacency))

    def _linked_later(self, graph: Graph) -> sparse.csr_array:
        """The links of a later graph, in the unit of the fitted one's weights."""
        from netfold.models.lgp.neighborhoods import linked

        unit = self.graph_facts_.get("unit", 1.0)
        found = linked(graph.adjacency, directed=graph.directed, unit=unit)
        if found.nnz and found.data.max() > _HEAVIEST:
            given, most = graph.adjacency.data.max(), _HEAVIEST * unit
            raise InputError(f"an edge weighs {given:g}; beside the fitted graph's, one may weigh {most:.2g}")
        return found

    def _start_kernel(self, process: Process, graph: Graph) -> None:
        import numpy as np

        matrix = self._linked(graph).astype(np.float64)
        process.kernel.start(self.eta, self.zeta, matrix.data, np.asarray(matrix.sum(axis=1)).ravel())

    def _caps(self) -> Caps:
        from netfold.models.lgp.neighborhoods import Caps

        return Caps(self.one_step or None, self.two_step or None)

    def _known(self) -> Known:
        """The known graph and its sums, made once for each fitted network."""
        from netfold.models.lgp.posterior import Known

        prepared: Known | None = getattr(self, "_prepared", None)
        if prepared is None or prepared.process is not self.network_:
            process = self._process()
            prepared = self._prepared = Known.of(process, process.graph.matrix())
        return prepared

    def _placed(self, graph: Graph, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Placed:
        from netfold.models.lgp import posterior as placing
        from netfold.models.lgp.posterior import arrivals, grown

        prepared, later = self._known(), self._linked_later(graph)
        found = arrivals(later, new, known, prepared.matrix)
        self._warn(graph, new[~found.reached()])
        generator = self._generator(8)
        if self.routine == "exact":
            return placing.placed_at_once(prepared, found, generator if self.uncertainty else None)
        whole = grown(prepared.matrix, later, new, known)
        return placing.placed_by_component(
            prepared.process, whole, found, self._caps(), generator, variances=self.uncertainty
        )

    def _warn(self, graph: Graph, lost: npt.NDArray[np.int64]) -> None:
        if len(lost):
            names = listed([graph.nodes[i] for i in lost])
            warnings.warn(
                f"{names}: no path to any known node; what is given is what is expected of a node without links",
                stacklevel=5,
            )

    def _embedding(self, graph: Graph, new: npt.NDArray[np.int64], placed: Placed) -> Embedding:
        from netfold.data.embedding import Embedding

        process = self._process()
        vectors = process.vectors(placed.latent).numpy(force=True)
        std = None
        if placed.variances is not None:
            std = process.spread.deviations(process.g, placed.latent, placed.variances).numpy(force=True)
        return Embedding(graph.nodes.take(new), vectors, std)

    def _grow(self, graph: Graph, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> None:
        """Take new nodes in: their latent states, vectors and links."""
        import numpy as np

        from netfold.data.embedding import Embedding
        from netfold.data.graph import unchecked
        from netfold.data.nodes import Labels
        from netfold.models.lgp.posterior import grown
        from netfold.models.lgp.process import Process

        self._check_unchanged()
        placed = self._placed(graph, new, known)
        came = self._embedding(graph, new, placed)
        matrix = grown(self._known().matrix, self._linked_later(graph), new, known)
        before = self.embedding_
        nodes = Labels.of([*before.nodes, *came.nodes])
        facts = self.graph_facts_ | {"n_nodes": len(nodes), "entries": int(matrix.nnz)}
        facts["fingerprint"] = unchecked(matrix, nodes, False).fingerprint
        network = self._network_for(facts)
        assert isinstance(network, Process)
        network.to(self._process().device).take_over(self._process(), placed.latent)
        network.graph.keep(matrix)
        self.network_, self.graph_facts_ = network, facts
        vectors = np.concatenate([before.vectors, came.vectors])
        self.embedding_ = Embedding(nodes, vectors, fitted_to=before.fitted_to)

    def _process(self) -> Process:
        from netfold.models.lgp.process import Process

        assert isinstance(self.network_, Process)
        return self.network_
