"""What models ask of nodes that come later: their rows over known nodes, and links to at least one of those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netfold.data.text import listed
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from scipy import sparse

    from netfold.data.nodes import Nodes

__all__ = ["check_placed", "over_known"]


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
