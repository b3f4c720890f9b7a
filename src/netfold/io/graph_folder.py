"""A graph on disk: a folder of arrays that are mapped into memory, and a json that says what they are."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.interop import read_facts
from netfold.data.nodes import Nodes
from netfold.errors import InputError
from netfold.io.files import staged_folder

__all__ = ["read_graph_folder", "write_graph_folder"]

_FORMAT = 1


def write_graph_folder(
    path: str | os.PathLike[str], matrix: sparse.csr_array, labels: Nodes, directed: bool, *, force: bool
) -> None:
    """Write the folder."""
    arrays: dict[str, npt.NDArray[Any]] = {f"label_{k}": v for k, v in labels.arrays().items()}
    arrays |= {"indptr": matrix.indptr.astype(np.int64), "indices": matrix.indices, "weights": matrix.data}
    with staged_folder(path, force=force) as folder:
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        facts = {
            "format": _FORMAT,
            "kind": "graph",
            "directed": directed,
            "labels": labels.kind,
            "n_nodes": len(labels),
        }
        (folder / "graph.json").write_text(json.dumps(facts, indent=1))


def read_graph_folder(folder: Path) -> tuple[sparse.csr_array, Nodes, bool]:
    """The matrix, the labels, and whether the graph is directed."""
    facts = read_facts(folder / "graph.json", _FORMAT, "graph")
    kind, directed = facts.get("labels"), facts.get("directed")
    label_arrays = ["ints"] if kind == "int" else ["offsets", "bytes"]
    try:
        labels = Nodes(str(kind), {x: _mapped(folder, f"label_{x}") for x in label_arrays})
        weights, indices, indptr = (_mapped(folder, x) for x in ("weights", "indices", "indptr"))
        csr = _stored_csr(weights, indices, indptr, len(labels))
        if facts.get("n_nodes") != len(labels) or not isinstance(directed, bool):
            raise InputError(f"graph.json does not describe its {len(labels):,} labels")
    except (OSError, ValueError, TypeError, OverflowError, TokenError, UserWarning) as e:
        raise InputError(f"{folder} is damaged: {e}") from None
    csr.has_sorted_indices = csr.has_canonical_format = True
    return csr, labels, directed


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
    if indptr.shape != (n + 1,) or np.any(np.diff(indptr) < 0) or indptr[-1] != len(indices):
        raise InputError("indptr.npy does not fit indices.npy")
    if len(indices) and not (indices.min() >= 0 and indices.max() < n):
        raise InputError(f"indices.npy names a node outside of 0..{n - 1}")
    indptr = indptr.astype(indices.dtype)  # of one width, or scipy would copy every index
    return sparse.csr_array((weights, indices, indptr), shape=(n, n))
