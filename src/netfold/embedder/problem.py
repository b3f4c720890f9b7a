"""`Input` and `Problem`, each made once a fit: what a model reads, and what it makes of that to be trained."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic

from netfold.data.text import listed
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch
    from scipy import sparse
    from typing_extensions import TypeVar  # whose variables have defaults; only what checks types reads them

    from netfold.data.graph import Graph
    from netfold.data.nodes import Nodes
    from netfold.data.scaling import Block
    from netfold.embedder.attributes import AttributeRows
    from netfold.learn import training

    G = TypeVar("G", default=Graph)
    N = TypeVar("N", bound=torch.nn.Module, default=Any)
else:
    from typing import TypeVar

    G, N = TypeVar("G"), TypeVar("N", bound="torch.nn.Module")

__all__ = ["HEAVY", "SCALED_APART", "G", "Input", "N", "Problem", "check_placed", "over_known", "weight_unit_of"]


HEAVY = 100
"""Times the median of all, from which on a weight drowns the others."""
SCALED_APART = "weight_scale='log' asks for the median of all weights; take logarithms before the graph is cut"
"""Why it is not spread."""


def weight_unit_of(facts: Mapping[str, Any]) -> float | None:
    """`Input.weight_unit`, of facts that may come from a file: a TypeError where no graph can have it."""
    unit: Any = facts.get("weight_unit")
    if unit is not None and not (type(unit) is float and 0 < unit < math.inf):
        raise TypeError(f"its weights were divided by {unit!r}")
    return None if unit is None else float(unit)


@dataclasses.dataclass(frozen=True, eq=False)
class Input(Generic[G]):
    """What a model reads: a graph it can embed, fitted or later.

    A model that derives something from the graph for several of its places (rows, links) has it here as a cached
    property of a class of its own: it is then made once a fit, and gone after it.
    """

    graph: G
    attributes: AttributeRows | None = dataclasses.field(default=None, kw_only=True)
    """What is known of the nodes beside their links, where the model reads it."""
    weight_unit: float | None = dataclasses.field(default=None, kw_only=True)
    """u, where the graph's weights are log(1 + w / u) of those that were given."""

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What must be known of the graph after it is gone, as json holds it: what the network is made from."""
        graph: Any = self.graph
        facts = {"fingerprint": graph.fingerprint, "n_nodes": graph.n_nodes, "directed": graph.directed}
        facts |= {} if self.weight_unit is None else {"weight_unit": self.weight_unit}
        return facts if self.attributes is None else facts | {"attributes": self.attributes.facts}

    @property
    def block(self) -> Block | None:
        """The attributes as rows of numbers; None where the model reads none."""
        return None if self.attributes is None else self.attributes.block

    def block_of(self, rows: npt.NDArray[np.int64]) -> Block | None:
        """The same of some rows."""
        from netfold.embedder.attributes import taken

        return None if self.attributes is None else taken(self.attributes.block, rows)

    def has_attributes(self, rows: npt.NDArray[np.int64]) -> Any:
        """Whether anything is known of these rows' nodes beside their links: m booleans."""
        import numpy as np

        return np.zeros(len(rows), bool) if self.block is None else self.block.known[rows].any(axis=1)


@dataclasses.dataclass(frozen=True, eq=False)
class Problem(Generic[N]):
    """What a model makes of a graph: a network to be trained, on what, and how."""

    network: N
    """Started, and on the device where it is trained. A run that goes on gets its parameters from the checkpoint."""
    batches: Callable[[int], Iterable[Any]]
    """From an epoch to its batches: a function of the epoch and the seed alone, the same whenever it is asked."""
    blocks: list[training.Block]
    """Which parameters are stepped together, and how."""
    schedule: str = "constant"
    """How the learning rates fall over the epochs."""
    tolerance: float = 0.0
    """Training has converged when the objective improves by less than this share; 0: never."""
    patience: int = 10
    """Of how many epochs the improvement is asked."""
    steps: int = 1
    """How many batches an epoch has, of a model that can be settled."""
    history: list[dict[str, float]] = dataclasses.field(default_factory=list)
    """Records of what was computed while the problem was made: the rounds of a solver, where nothing is trained."""


def over_known(rows: Any, known: npt.NDArray[np.int64], n: int) -> sparse.csr_array:
    """Rows over a later graph's nodes as rows over the n known ones: m x n, sorted.

    `rows` is a sparse matrix; `known` has the place of each of its columns among the known nodes, or -1.
    """
    from scipy import sparse

    entries = rows.tocoo()
    at = known[entries.coords[1]]
    both = entries.data[at >= 0], (entries.coords[0][at >= 0], at[at >= 0])
    picked = sparse.coo_array(both, shape=(rows.shape[0], n)).tocsr()
    picked.sort_indices()
    return picked


def check_placed(
    model: str,
    nodes: Nodes,
    isolated: npt.NDArray[np.int64],
    *,
    lack: str = "no links to any known node",
    by: str = "links",
) -> None:
    """Refuse new nodes that a model cannot place: `isolated` are their rows among `nodes`."""
    if len(isolated):
        names = listed([nodes[i] for i in isolated])
        raise InputError(f"{names}: {lack}, and {model} can place a new node only by such {by}")
