"""A graph on disk: a folder of arrays that are mapped into memory, and a json that says what they are."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.nodes import Nodes
from netfold.data.reading import Reading
from netfold.errors import InputError
from netfold.io.files import read_facts, recover, staged_folder
from netfold.io.tensors import check_files, file_facts

__all__ = ["read_graph_folder", "write_graph_folder"]

_FORMAT = 1
_BLOCK = 1 << 18
"""Entries that are looked at together: a few MiB, which a processor's cache holds."""


def write_graph_folder(
    path: str | os.PathLike[str],
    matrix: sparse.csr_array,
    nodes: Nodes,
    directed: bool,
    *,
    force: bool,
    times: npt.NDArray[np.float64] | None = None,
    reading: Reading | None = None,
) -> None:
    """Write the folder; `times`, where there are any, in an array of their own."""
    arrays: dict[str, npt.NDArray[Any]] = {f"label_{k}": v for k, v in nodes.arrays().items()}
    arrays |= {"indptr": matrix.indptr.astype(np.int64), "indices": matrix.indices, "weights": matrix.data}
    arrays |= {} if times is None else {"times": times}
    with staged_folder(path, force=force) as folder:
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        facts = {
            "format": _FORMAT,
            "kind": "graph",
            "directed": directed,
            "labels": nodes.kind,
            "n_nodes": len(nodes),
            "files": [file_facts(folder / f"{name}.npy") for name in arrays],
        }
        facts |= {} if times is None else {"times": True}
        facts |= {} if reading is None else {"reading": reading.to_dict()}
        (folder / "graph.json").write_text(json.dumps(facts, indent=1))


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
        _check_entries(csr, directed)
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


# -------------------------------------------------------------------- what the entries must be


def _check_entries(csr: sparse.csr_array, directed: bool) -> None:
    """Refuse entries that no graph has: a weight that is not finite and above 0, rows out of order, half of an edge."""
    above = below = 0
    keys = np.random.default_rng().integers(0, 1 << 63, 3, dtype=np.uint64) | np.uint64(1)  # nobody can have known
    for rows, columns, weights in _blocks(csr):
        if not (weights.min() > 0 and weights.max() < np.inf):
            raise InputError("weights.npy holds a weight that is not a finite number above 0")
        same = rows[1:] == rows[:-1]
        if np.any(columns[1:][same] <= columns[:-1][same]):
            raise InputError("indices.npy holds a row whose columns are not in order, each once")
        if not directed:
            upper, lower = columns > rows, columns < rows
            above += _mixed(rows[upper], columns[upper], weights[upper], keys)
            below += _mixed(columns[lower], rows[lower], weights[lower], keys)
    if (above - below) % (1 << 64):
        raise InputError("graph.json says that the graph is undirected, and its matrix is not symmetric")


def _blocks(csr: sparse.csr_array) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]]:
    """Rows, columns and weights of whole rows at a time: what is mapped stays on the disk but for these."""
    ends = csr.indptr
    start = 0
    while start < csr.shape[0]:
        stop = max(start + 1, int(np.searchsorted(ends, int(ends[start]) + _BLOCK, side="right")) - 1)
        part = slice(int(ends[start]), int(ends[stop]))
        if part.stop > part.start:
            rows = np.repeat(np.arange(start, stop, dtype=csr.indices.dtype), np.diff(ends[start : stop + 1]))
            yield rows, csr.indices[part], csr.data[part]
        start = stop


def _mixed(
    rows: npt.NDArray[Any], columns: npt.NDArray[Any], weights: npt.NDArray[Any], keys: npt.NDArray[np.uint64]
) -> int:
    """A sum over entries in which each counts as a number that only (row, column, weight) and the keys decide.

    Entries are distinct, so that equal sums above and below the diagonal mean equal sets of them, but for one chance
    in about 2**60: in no more memory than a block, where the transposed matrix would take as much as the graph.
    """
    x = rows.astype(np.uint64)
    x <<= np.uint64(32)
    x ^= columns.astype(np.uint64)
    x *= keys[0]
    x ^= x >> np.uint64(29)
    x ^= np.ascontiguousarray(weights).view(np.uint32)
    x *= keys[1]
    x ^= x >> np.uint64(32)
    x *= keys[2]
    x ^= x >> np.uint64(31)
    return int(np.add.reduce(x, dtype=np.uint64))
