"""A graph as `Graph.save` wrote it before there were `.parts`: arrays, mapped, and a json that describes them."""

from __future__ import annotations

import warnings
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.nodes import Nodes
from netfold.data.reading import Reading
from netfold.errors import InputError
from netfold.io.files import read_facts, recover
from netfold.io.parts import check_entries, symmetry_keys, symmetry_sum
from netfold.io.tensors import check_files

__all__ = ["read_graph_folder"]

_FORMAT = 1


def read_graph_folder(folder: Path) -> tuple[sparse.csr_array, Nodes, bool, dict[str, Any]]:
    """The matrix, the nodes, whether the graph is directed, and its `times` and `reading` where it has those.

    Nothing is believed that was not looked at; a folder of before there were hashes has every check but those.
    """
    if not folder.exists():
        recover(folder)
    facts = read_facts(folder / "graph.json", _FORMAT, "graph")
    kind, directed = facts.get("labels"), facts.get("directed")
    node_arrays = [f"label_{x}" for x in (["ints"] if kind == "int" else ["offsets", "bytes"])]
    parts = ["weights", "indices", "indptr", *node_arrays]
    try:
        arrays = {name: _mapped(folder, name) for name in parts}
        nodes = Nodes(str(kind), {name[6:]: arrays[name] for name in node_arrays})
        csr = _stored_csr(arrays["weights"], arrays["indices"], arrays["indptr"], len(nodes))
        if facts.get("n_nodes") != len(nodes) or not isinstance(directed, bool):
            raise InputError(f"graph.json does not describe its {len(nodes):,} nodes")
        times = _mapped(folder, "times") if facts.get("times") else None
        if times is not None and (times.dtype != np.float64 or times.shape != arrays["weights"].shape):
            raise InputError("times.npy does not fit indices.npy")
        if "files" in facts:
            parts += [] if times is None else ["times"]
            check_files(folder, facts["files"], [f"{name}.npy" for name in parts])
        check_entries(csr)
        if not directed and symmetry_sum(csr, 0, symmetry_keys()):
            raise InputError("graph.json says that the graph is undirected, and its matrix is not symmetric")
        nodes.check_distinct()
        reading = Reading.from_dict(facts["reading"]) if "reading" in facts else None
    except (OSError, ValueError, TypeError, OverflowError, TokenError, UserWarning) as e:
        said = str(e)
        raise InputError(said if said.startswith(f"{folder} is ") else f"{folder} is damaged: {e}") from None
    csr.has_sorted_indices = csr.has_canonical_format = True
    return csr, nodes, directed, {"times": times, "reading": reading}


def _mapped(folder: Path, name: str) -> npt.NDArray[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy mends a header that is not quite one, and only warns of it
        return np.lib.format.open_memmap(folder / f"{name}.npy", mode="r")  # unlike np.load, never a zip or a pickle


def _stored_csr(
    weights: npt.NDArray[Any], indices: npt.NDArray[Any], indptr: npt.NDArray[Any], n: int
) -> sparse.csr_array:
    """The mapped arrays as a matrix, after every check that keeps a hostile one from leading outside of memory."""
    if weights.dtype != np.float32 or indices.dtype not in (np.int32, np.int64) or indptr.dtype != np.int64:
        raise InputError(f"its arrays hold {weights.dtype}, {indices.dtype} and {indptr.dtype}, which no graph's do")
    if indptr.shape != (n + 1,) or indptr[0] != 0 or np.any(np.diff(indptr) < 0) or indptr[-1] != len(indices):
        raise InputError("indptr.npy does not fit indices.npy")
    if len(indices) and not (indices.min() >= 0 and indices.max() < n):
        raise InputError(f"indices.npy names a node outside of 0..{n - 1}")
    indptr = indptr.astype(indices.dtype)  # of one width, or scipy would copy every index
    return sparse.csr_array((weights, indices, indptr), shape=(n, n))
