"""`LGPEmbedder`: the high-order Laplacian Gaussian process of DepthLGP and Node2VecPlus; its options and new nodes.

Latent states h follow a Gaussian process whose kernel is [I + eta L(Â) + zeta L(ÂÂ)]⁻¹; a network g makes vectors of
them. `solve` has the equations of new nodes and their solution; `neighborhoods` reads what is around nodes in a large
graph; `process` is the whole as a network, and `posterior` places new nodes by it once it is trained.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from netfold.data.text import listed
from netfold.embedder.embedder import Embedder
from netfold.embedder.options import option
from netfold.embedder.problem import Input
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch
    from scipy import sparse
    from typing_extensions import TypeVar

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.data.scaling import Block
    from netfold.models.lgp.neighborhoods import Caps
    from netfold.models.lgp.posterior import Known, Placed
    from netfold.models.lgp.process import Process

    P = TypeVar("P", bound=Process, default=Process)
else:
    from typing import TypeVar

    P = TypeVar("P")

__all__ = ["SHARING", "LGPEmbedder", "Linked"]

_HEAVIEST = 1e12
"""What a new node's link may weigh, a link of the fitted graph weighing about 1: its square is a float32 still."""

SHARING = ("all", "halves", "weights", "none")
"""What dimensions share: all of eta, zeta and a; a, and eta and zeta within each half; a alone; or nothing."""


@dataclasses.dataclass(frozen=True, eq=False)
class Linked(Input):
    """A graph, and its links as the process reads them."""

    unit: float
    """What weight counts as 1: that of the fitted graph's links, about."""

    @cached_property
    def links(self) -> sparse.csr_array:
        """The weights of links in either direction, in this unit, without self-loops: n x n."""
        from netfold.models.lgp.neighborhoods import links_in

        return links_in(self.graph, self.unit)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """With the number of links' entries, which the network keeps, and their unit."""
        return super().facts | {"entries": int(self.links.nnz), "unit": self.unit}


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class LGPEmbedder(Embedder[P], abstract=True):
    """The options of the process, and new nodes: `transform` places them."""

    reaches: ClassVar[str] = "path"

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
        128, "neighbors that are read of a new node in training, at most; 0: all there are", at_least=0
    )
    two_step: int = option(16, "neighbors that are read of each of these, at most; 0: all there are", at_least=0)
    routine: str = option(
        "exact",
        "of transform: exact (all new nodes at once, over all neighbors) or sampled (each connected component of new "
        "nodes for itself, over as many neighbors as training reads)",
        choices=("exact", "sampled"),
    )
    uncertainty: bool = option(True, "whether transform tells the standard deviations of its vectors")
    attribute_weight: float = option(
        0.1,
        "γ: of the graph's attributes X, where it has any, in the kernel K + γ X Xᵀ, by which a new node without links "
        "has a place too; at 0 they are not read",
        at_least=0,
        below=1e10,
    )

    known_: Known | None = dataclasses.field(init=False, default=None)
    """The sums of known nodes over their neighbors: made by the first `transform`, or by `prepare`."""

    # ---------------------------------------------------------------- for users

    def prepare(self) -> Self:
        """Make ready what `transform` would make at its first call: the sums of known nodes over their neighbors.

        In O(edges · dim), and as many numbers kept as the known vectors have; after that a transform costs what its
        new nodes' edges do.
        """
        self._check_fitted()
        self._sums()
        return self

    def partial_fit(self, graph: Any) -> Self:
        """Answered with the new name: `nf.Evolving(model).update(edges)`."""
        raise InputError("partial_fit is now nf.Evolving(model).update(edges), which keeps deviations and versions too")

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> Linked:
        """What is fitted has links; a later graph is of any size: a new node may come alone."""
        from netfold.data.graph import Graph
        from netfold.embedder.attributes import later_attribute_rows
        from netfold.models.lgp.neighborhoods import unit_of

        if later:
            whole = Graph.of(graph)
            if whole.n_edges:
                self._check_direction(whole)
            unit = self.graph_facts_.get("unit", 1.0)  # 1: models kept weights as they are, once
            return Linked(whole, unit, attributes=later_attribute_rows(self, whole))
        read = super()._read(graph, embedding)
        whole = read.graph
        if whole.n_edges == whole.n_self_loops:
            raise InputError("the graph has no edges but self-loops; there is nothing to learn from")
        return Linked(whole, unit_of(whole.adjacency), attributes=read.attributes)

    def _reads_attributes(self) -> bool:
        return True

    def _without_links(self, later: Input[Any], rows: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Any:
        """None: the process itself places them, among those that have links."""
        import numpy as np

        return np.zeros(len(rows), bool)

    def _extend(self, data: Linked, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        return self._embedding(data.graph, new, self._placed(data, new, known))

    # ---------------------------------------------------------------- attributes

    def _keep_attributes(self, network: P, facts: dict[str, Any]) -> P:
        """A network with room for attributes, where the facts have any."""
        from netfold.embedder.attributes import scaling_tables

        if "attributes" in facts:
            network.keep_attributes(scaling_tables(facts["attributes"], network.latent.shape[1]))
        return network

    def _regress(self, data: Input[Any]) -> None:
        """Learn what attributes say of latent states, and how far vectors are that they alone give to known nodes.

        h = u + X w, u of the graph's kernel and w of N(0, γ): together K + γ X Xᵀ, of which only products with X and Xᵀ
        are ever made. w is (XᵀX + 1/γ)⁻¹Xᵀh, with independent errors of variance 1: those of K alone weigh how far
        neighbors differ, of which attributes know least (on Cora nodes without links are then placed worse, .70 for
        .77). A fifth of the nodes is held back once, by whose errors is known how sure such a place is.
        """
        import numpy as np
        import torch

        from netfold.embedder.attributes import ridge

        process, block, penalty = self.network_, data.block, 1 / self.attribute_weight
        assert data.attributes is not None
        assert block is not None
        assert process.explained is not None
        data.attributes.fill(process)
        known, latent = np.flatnonzero(block.known.any(axis=1)), process.latent.detach()
        order = np.random.default_rng([self.seed, 24]).permutation(known)
        held, others = np.split(order, [max(1, len(order) // 5)])
        if len(others):
            said = _said(block, ridge(block, latent, np.sort(others), penalty), held)
            truth = torch.from_numpy(self.embedding_.vectors[held])
            wrong = truth - process.vectors(torch.from_numpy(said).to(latent)).detach().cpu()
            process.cold_errors.copy_(wrong.double().square().mean(0).clamp(min=1e-30))
        slope = ridge(block, latent, known, penalty)
        process.scaling.fill(slope=slope)  # type: ignore[operator]
        process.explained.copy_(torch.from_numpy(_said(block, slope, slice(None))))
        self.known_ = None  # whose sums are without them

    def _with_attributes(
        self, data: Linked, new: npt.NDArray[np.int64], placed: Placed, lost: npt.NDArray[np.bool_]
    ) -> Placed:
        """Latent states with what attributes say of them; `lost` are the nodes that no path leads to."""
        import torch

        block = data.block_of(new)
        if block is None:
            return placed
        said = _said(block, self.network_.scaling.get_buffer("slope"), slice(None))
        latent = placed.latent + torch.from_numpy(said).to(placed.latent)
        return dataclasses.replace(placed, latent=latent, by_attributes=lost & data.has_attributes(new))

    # ---------------------------------------------------------------- for the two models

    def _entries(self, facts: dict[str, Any]) -> int:
        """How many entries the links have; a TypeError where a file says what no links can have."""
        entries, unit = facts.get("entries"), facts.get("unit", 1.0)
        if not isinstance(entries, int) or entries < 0:
            raise TypeError(f"its graph has {entries!r} entries")
        if not isinstance(unit, float) or not 0 < unit < math.inf:
            raise TypeError(f"its links weigh {unit!r}")
        return entries

    def _start_kernel(self, process: Process, links: sparse.csr_array) -> None:
        import numpy as np

        matrix = links.astype(np.float64)
        process.kernel.start(self.eta, self.zeta, matrix.data, np.asarray(matrix.sum(axis=1)).ravel())

    def _caps(self) -> Caps:
        from netfold.models.lgp.neighborhoods import Caps

        return Caps(self.one_step or None, self.two_step or None)

    # ---------------------------------------------------------------- new nodes

    def _sums(self) -> Known:
        """The known graph and its sums, made once for each fitted network."""
        from netfold.models.lgp.posterior import Known

        if self.known_ is None or self.known_.process is not self.network_:
            self.known_ = Known.of(self.network_, self.network_.graph.matrix())
        return self.known_

    def _placed(self, data: Linked, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Placed:
        from netfold.models.lgp import posterior

        sums = self._sums()
        self._check_weights(data)
        arrivals = posterior.arrivals(data.links, new, known, sums.matrix)
        self._warn(data.graph, new[~arrivals.reached() & ~data.has_attributes(new)])
        generator = self._generator(8)
        if self.routine == "exact":
            placed = posterior.placed_at_once(sums, arrivals, generator if self.uncertainty else None)
        else:
            whole = posterior.grown(sums.matrix, data.links, new, known)
            placed = posterior.placed_by_component(
                sums.process, whole, arrivals, self._caps(), generator, variances=self.uncertainty
            )
        return self._with_attributes(data, new, placed, ~arrivals.reached())

    def _check_weights(self, data: Linked) -> None:
        """Refuse a later graph with links that are too heavy beside the fitted one's."""
        if data.links.nnz and data.links.data.max() > _HEAVIEST:
            heaviest, most = data.graph.adjacency.data.max(), _HEAVIEST * data.unit
            raise InputError(f"an edge weighs {heaviest:g}; beside the fitted graph's, one may weigh {most:.2g}")

    def _warn(self, graph: Graph, lost: npt.NDArray[np.int64]) -> None:
        if len(lost):
            names = listed([graph.nodes[i] for i in lost])
            warnings.warn(
                f"{names}: no path to any known node; what is given is what is expected of a node without links",
                stacklevel=5,
            )

    def _embedding(self, graph: Graph, new: npt.NDArray[np.int64], placed: Placed) -> Embedding:
        from netfold.data.embedding import Embedding

        process: Any = getattr(self.network_, "own", self.network_)  # where it is spread over ranks, what all have
        vectors = process.vectors(placed.latent).numpy(force=True)
        std = None
        if placed.variances is not None:
            std = process.spread.deviations(process.g, placed.latent, placed.variances).numpy(force=True)
            if placed.by_attributes is not None:
                std[placed.by_attributes] = process.cold_errors.sqrt().numpy(force=True)
        return Embedding(graph.nodes.take(new), vectors, std)


def _said(block: Block, slope: torch.Tensor, rows: Any) -> npt.NDArray[np.float32]:
    """X w of some rows."""
    said: npt.NDArray[np.float32] = block.values[rows] @ slope.numpy(force=True)
    return said
