"""What a model reads of the attributes of nodes: rows of numbers, in a scaling that it keeps with its network."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from netfold.data.text import listed
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from scipy import sparse
    from torch import Tensor

    from netfold.data.graph import Graph
    from netfold.data.hypergraph import Hypergraph
    from netfold.data.scaling import Block, Scaling
    from netfold.embedder.embedder import Embedder
    from netfold.learn.layers import Tables
    from netfold.learn.sparse_rows import SparseRows

__all__ = [
    "AttributeRows", "attribute_rows", "joint_rows", "later_attribute_rows", "regress", "regressed", "ridge",
    "row_squares", "scaling_tables", "side_by_side", "taken", "width_of",
]  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class AttributeRows:
    """The attributes of a graph's nodes as rows of numbers, and how they became those."""

    scaling: Scaling
    block: Block

    @property
    def facts(self) -> dict[str, Any]:
        """What a network that keeps the scaling is made from, as json holds it."""
        return self.scaling.to_dict() | {"shapes": {k: list(v.shape) for k, v in self.scaling.arrays().items()}}

    def fill(self, network: Any) -> None:
        """Let a network keep the scaling in its `scaling`, see `scaling_tables`."""
        network.scaling.fill(**{_buffer(name): array.copy() for name, array in self.scaling.arrays().items()})


def attribute_rows(model: Embedder[Any], graph: Graph | Hypergraph) -> AttributeRows | None:
    """The attributes of a graph that is fitted, scaled by themselves; None where there are none that say anything.

    A model that reads links alone says that it does.
    """
    from netfold.data.scaling import Scaling

    if graph.attributes is None or getattr(model, "attribute_weight", 1.0) == 0:
        return None
    if not model._reads_attributes():
        name, columns = type(model).__name__, listed(list(graph.attributes.names))
        warnings.warn(
            f"{name} reads links alone, and not what is known about nodes ({columns}); SDNE, DVNE, DRNE, DepthLGP and "
            "Spectral(matrix='smoothed') read both, and nf.Joined sets models side by side",
            stacklevel=5,
        )
        return None
    scaling = Scaling.fit(graph.attributes)
    block = scaling.block(graph.attributes)
    some = block.values.nnz if scaling.is_sparse else block.values.any()
    return AttributeRows(scaling, block) if some else None  # columns of zeros say nothing


def later_attribute_rows(model: Embedder[Any], graph: Graph | Hypergraph) -> AttributeRows | None:
    """The attributes of a later graph in the scaling of a fitted model; None where that was fitted without any."""
    from netfold.data.scaling import Scaling

    facts = model.graph_facts_.get("attributes")
    if facts is None:
        return None
    tables: Tables = model.network_.scaling
    scaling = Scaling.from_dict(facts, {name: tables.array(_buffer(name)) for name in facts["shapes"]})
    if graph.attributes is None:
        raise InputError(
            f"this {type(model).__name__} was fitted with attributes ({listed(list(scaling.names))}) and the graph has "
            "none; give them, graph.with_attributes(...) or --attributes FILE, in which nodes of which nothing is "
            "known may be missing"
        )
    return AttributeRows(scaling, scaling.block(graph.attributes, nodes=graph.nodes))


def scaling_tables(facts: Any, dim: int) -> Tables:
    """A part of a network for the scaling that such facts describe; a TypeError where none can be.

    And for `regress`, of codes of `dim` numbers.
    """
    import torch

    from netfold.learn.layers import Tables

    types = {"offsets": torch.int64, "bytes": torch.uint8, "weights": torch.float64}
    shapes: dict[str, Any] = {
        "slope": ((width_of(facts)[0], dim), torch.float32),
        "center": ((dim,), torch.float32),
    }
    for name, shape in facts["shapes"].items():
        if len(shape) != 1 or type(shape[0]) is not int or not 0 <= shape[0] < 1 << 40:
            raise TypeError(f"its attributes have an array of the shape {shape!r}")
        shapes[_buffer(name)] = (tuple(shape), types[name.rpartition(".")[2]])
    return Tables(shapes)


def _buffer(name: str) -> str:
    return f"of_{name.replace('.', '_')}"


def width_of(facts: Any) -> tuple[int, bool]:
    """How many columns of numbers attributes of such facts are, and whether they are dense; a TypeError where none."""
    widths = [column[2] for column in facts["columns"]]
    if not widths or any(type(x) is not int or not 0 <= x < 1 << 31 for x in widths):
        raise TypeError(f"its attributes have {widths!r} columns")
    return sum(widths), not any(column[1] in ("category", "words") for column in facts["columns"])


_PENALTY = 1.0
"""Of squared slopes in `regress`, where the squares of a usual row sum to 1."""


def regress(tables: Tables, block: Block, codes: npt.NDArray[np.float32]) -> None:
    """Learn where a node without links belongs: C that makes Σ_i ‖c_i - c - x_i C‖² + ‖C‖² least, c the mean code.

    Over the nodes of which anything is known; `codes` are vectors, and deviations beside them: n x d. In O(entries · d)
    a step of conjugate gradients. The regression draws codes to their mean; so it is scaled until the placed nodes are
    as far from that as known ones are, at the median.
    """
    import numpy as np
    import torch

    rows = np.flatnonzero(block.known.any(axis=1))
    center = codes[rows].mean(axis=0, dtype=np.float64)
    away = torch.from_numpy((codes - center).astype(np.float32)).to(tables.get_buffer("slope").device)
    slope = ridge(block, away, rows, _PENALTY)
    said = block.values[rows] @ slope.numpy(force=True)
    lengths = [float(np.median(np.linalg.norm(x, axis=1))) for x in (said, codes[rows] - center)]
    scale = min(4.0, max(0.25, lengths[1] / lengths[0])) if lengths[0] > 0 else 1.0
    tables.fill(slope=slope * scale, center=torch.from_numpy(center))


def ridge(block: Block, codes: Tensor, rows: npt.NDArray[np.int64], penalty: float) -> Tensor:
    """C of the least Σ_i ‖c_i - x_i C‖² + penalty ‖C‖² over some rows; x_i of m columns and c_i of d: m x d."""
    import torch

    from netfold.learn.solvers import conjugate_gradients

    forth, back, squares = _products(taken(block, rows), codes)

    def product(c: Tensor) -> Tensor:
        return back(forth(c)) + penalty * c

    right = back(codes[torch.from_numpy(rows).to(codes.device)])
    return conjugate_gradients(product, right, (squares + penalty)[:, None], steps=_ROUNDS)[0]


def _products(block: Block, like: Tensor) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor], Tensor]:
    """w ↦ X w, x ↦ Xᵀ x and the sums of squares of the columns of X, of another's type and where it is."""
    import numpy as np
    import torch

    from netfold.learn.sparse_rows import SparseRows

    if isinstance(block.values, np.ndarray):
        x = torch.tensor(block.values, dtype=like.dtype, device=like.device)
        return x.matmul, x.t().matmul, x.square().sum(0)
    rows = SparseRows.from_scipy(block.values, dtype=like.dtype, device=like.device)
    squares = rows.with_values(rows.values.square()).column_sums()
    return lambda w: rows.matmul(w.contiguous()), rows.transposed_matmul, squares


_ROUNDS = 30
"""Of conjugate gradients, at most: what is left after them is noise of single words."""


def regressed(tables: Tables, block: Block) -> npt.NDArray[np.float32]:
    """The codes that `regress` gives nodes with these attributes: m x d."""
    import numpy as np

    codes: npt.NDArray[np.float32] = (block.values @ tables.array("slope") + tables.array("center")).astype(np.float32)
    return codes


def taken(block: Block, rows: npt.NDArray[np.int64] | slice) -> Block:
    """The attributes of these rows."""
    return dataclasses.replace(block, values=block.values[rows], known=block.known[rows])


def side_by_side(rows: sparse.csr_array, block: Block) -> sparse.csr_array:
    """[s_i | x_i], where x_i is sparse; room for x_i, where it is dense: m x (n + a)."""
    import numpy as np
    from scipy import sparse

    m, n = rows.shape
    if isinstance(block.values, np.ndarray):
        return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(m, n + block.width))
    whole = sparse.csr_array(sparse.hstack([rows, block.values], format="csr"))
    whole.sort_indices()
    return whole


def joint_rows(rows: sparse.csr_array, block: Block | None, like: Tensor) -> SparseRows:
    """[s_i | x_i] as tensors of another's type and where it is; s_i alone where there is no block."""
    import numpy as np
    import torch

    from netfold.learn.sparse_rows import DenseBeside, SparseRows

    if block is None:
        return SparseRows.from_scipy(rows, dtype=like.dtype, device=like.device)
    joint = SparseRows.from_scipy(side_by_side(rows, block), dtype=like.dtype, device=like.device)
    if not isinstance(block.values, np.ndarray):
        return joint
    return DenseBeside.beside(joint, torch.tensor(block.values, dtype=like.dtype, device=like.device))


def row_squares(values: Any) -> float:
    """The mean over rows of the sum of a row's squares."""
    import numpy as np

    data = values if isinstance(values, np.ndarray) else values.data
    return float(np.square(data, dtype=np.float64).sum() / values.shape[0])
