"""`.parts`: a graph or an embedding in K parts on disk, mapped into memory; also the hash that orders names.

A folder with `parts.json` and one safetensors file a part, which holds consecutive nodes: their names and their rows.

| kind | tensors of a part |
| --- | --- |
| graph | `indptr` (int64), `indices` (positions among all nodes), `weights` (float32), `times` where there are any |
| embedding | `vectors` (float32), `std` where nodes are Gaussians |
| both | `names.ints`, or `names.offsets` and `names.bytes`, as `Nodes.arrays` has them |

What is known about the nodes of a graph, where anything is, is in `attributes.safetensors` (`Attributes.arrays`), a row
for each node of all parts in order.

`parts.json` says what is there (nodes, arcs, hash of each file) and is written last.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.attributes import Attributes
from netfold.data.nodes import Nodes
from netfold.data.reading import Reading
from netfold.errors import InputError
from netfold.io.files import read_facts, recover, staged_folder
from netfold.io.tensors import check_files, file_facts, read_tensors, tensor_places, write_tensors

__all__ = [
    "MANIFEST", "PartsFolder", "check_entries", "check_parts", "hash_order", "is_parts", "joined_names", "name_hashes",
    "part_name", "part_starts", "read_graph_parts", "read_vector_parts", "symmetry_keys", "symmetry_sum",
    "write_graph_parts", "write_part", "write_parts_manifest", "write_vector_parts",
]  # fmt: skip

MANIFEST = "parts.json"
MOST_PARTS = 4096
_FORMAT = 1
_ATTRIBUTES = "attributes.safetensors"
_BLOCK = 1 << 18
"""Entries that are looked at together: a few MiB, which a processor's cache holds."""


def is_parts(path: str | os.PathLike[str], kind: str | None = None) -> bool:
    """Whether there is a folder of parts at a path, whatever it is called; with `kind`, of a graph or an embedding."""
    manifest = Path(path) / MANIFEST
    if kind is None or not manifest.exists():
        return manifest.exists()
    try:
        read_facts(manifest, _FORMAT, kind)
    except InputError:
        return False
    return True


# -------------------------------------------------------------------- which part a name is in


def name_hashes(nodes: Nodes) -> npt.NDArray[np.uint64]:
    """The hash by which nodes are ordered: the first 8 bytes, the highest first, of the MD5 of a name in UTF-8.

    An integer is hashed as its decimal digits, other names that are not text as the json that `Nodes` keeps: a name's
    hash does not depend on what other names there are. This is fixed for good: folders are looked up by it, and a
    name that is in part 7 of 256 is there in ten years too.

    >>> [hex(x) for x in name_hashes(Nodes.of(["alice"])).tolist()]
    ['0x6384e2b2184bcbf5']
    """
    if nodes.kind == "int":
        texts: Iterator[bytes] = (b"%d" % i for i in nodes)
    else:
        arrays = nodes.arrays()
        whole, ends = arrays["bytes"].tobytes(), arrays["offsets"].tolist()
        texts = (whole[a:b] for a, b in pairwise(ends))
        if nodes.kind == "json":
            texts = (json.loads(text).encode() if text.startswith(b'"') else text for text in texts)
    md5 = hashlib.md5
    digests = b"".join(md5(text, usedforsecurity=False).digest()[:8] for text in texts)
    return np.frombuffer(digests, ">u8").astype(np.uint64)


def part_starts(n: int, parts: int) -> npt.NDArray[np.int64]:
    """Where each of K parts begins, and n at last: parts of nearly the same number of nodes.

    >>> part_starts(7, 3).tolist()
    [0, 2, 4, 7]
    """
    return np.arange(parts + 1, dtype=np.int64) * n // parts


# -------------------------------------------------------------------- reading


@dataclass(frozen=True, eq=False)
class PartsFolder:
    """An open folder of parts: what `parts.json` says, and each part's arrays, mapped when they are asked for."""

    folder: Path
    kind: str
    """`graph` or `embedding`."""
    facts: Mapping[str, Any]
    files: Sequence[Mapping[str, Any]]
    """An entry for each part: `name`, `size`, `sha256`, `nodes`, `arcs`, and `first`, the hash of its first node."""

    @staticmethod
    def open(path: str | os.PathLike[str], kind: str) -> PartsFolder:
        """The folder, if its manifest is whole and its files have the sizes that it says; nothing else is read yet."""
        folder = Path(path)
        if not folder.exists():
            recover(folder)
        facts = read_facts(folder / MANIFEST, _FORMAT, kind)
        files = facts.get("files")
        if not isinstance(files, list) or not 1 <= len(files) <= MOST_PARTS:
            raise InputError(f"{folder} is damaged: {MANIFEST} does not list 1 to {MOST_PARTS:,} parts")
        for i, entry in enumerate(files):
            _check_entry(folder, i, entry)
        parts = PartsFolder(folder, kind, facts, files)
        if facts.get("n_nodes") != parts.n_nodes or facts.get("names") not in ("int", "text", "json"):
            raise InputError(f"{folder} is damaged: {MANIFEST} does not describe its {parts.n_nodes:,} nodes")
        if kind == "graph" and not isinstance(facts.get("directed"), bool):
            raise InputError(f"{folder} is damaged: {MANIFEST} does not say whether the graph is directed")
        if kind == "embedding" and not (type(facts.get("dim")) is int and facts["dim"] > 0):
            raise InputError(f"{folder} is damaged: {MANIFEST} does not say how long a vector is")
        return parts

    def __len__(self) -> int:
        return len(self.files)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """The position of each part's first node, and n at last."""
        return np.cumsum([0, *(entry["nodes"] for entry in self.files)], dtype=np.int64)

    @property
    def n_nodes(self) -> int:
        """Of all parts."""
        return int(self.starts[-1])

    @property
    def n_arcs(self) -> int:
        """Stored entries of the adjacency matrix; 0 of an embedding."""
        return int(sum(entry["arcs"] for entry in self.files))

    @property
    def directed(self) -> bool:
        """Whether the graph is."""
        return bool(self.facts.get("directed"))

    @property
    def hashed(self) -> bool:
        """Whether nodes are in the order of `name_hashes`, so that a name's part is known."""
        return self.facts.get("order") == "hash"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that the parts hold."""
        said: list[Any] = [self.kind, self.n_nodes, self.directed, self.facts["names"]]
        said.append([x["sha256"] for x in self.files])
        said += [self.facts["attributes"]["file"]["sha256"]] if "attributes" in self.facts else []
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    def check(self, i: int) -> None:
        """Refuse part i if its bytes are not those that were written."""
        check_files(self.folder, [dict(self.files[i])])

    def arrays(self, i: int) -> dict[str, npt.NDArray[Any]]:
        """The arrays of part i, mapped, of the kinds and shapes that they must have; names as `names.*`."""
        path, entry = self.folder / self.files[i]["name"], self.files[i]
        places = tensor_places(path)
        wanted = _WANTED[self.kind] | _NAMES[self.facts["names"]]
        wanted |= {name: kinds for name, kinds in _OPTIONAL.items() if self.facts.get(name)}
        if set(places) != set(wanted):
            raise InputError(f"{self.folder} is damaged: {path.name} holds {', '.join(sorted(places)) or 'nothing'}")
        arrays = {}
        for name, (dtype, shape, start, end) in places.items():
            if dtype.name not in wanted[name]:
                raise InputError(f"{self.folder} is damaged: {name} of {path.name} holds {dtype}, not {wanted[name]}")
            # each mapped by itself: scipy copies what is a view of a much larger array
            arrays[name] = np.memmap(path, dtype, "r", start, shape) if end > start else np.zeros(shape, dtype)
        self._check_shapes(path.name, arrays, entry)
        return arrays

    def _check_shapes(self, file: str, arrays: Mapping[str, npt.NDArray[Any]], entry: Mapping[str, Any]) -> None:
        m, arcs, dim = entry["nodes"], entry["arcs"], self.facts.get("dim")
        shapes: dict[str, tuple[Any, ...]] = {
            "indptr": (m + 1,),
            "indices": (arcs,),
            "weights": (arcs,),
            "times": (arcs,),
        }
        shapes |= {"vectors": (m, dim), "std": (m, dim), "names.ints": (m,), "names.offsets": (m + 1,)}
        for name, array in arrays.items():
            if name in shapes and array.shape != shapes[name]:
                raise InputError(f"{self.folder} is damaged: {name} of {file} has the shape {array.shape}")

    def attributes(self) -> Attributes | None:
        """What is known about the nodes of all parts, in order; None where nothing is."""
        said = self.facts.get("attributes")
        if said is None:
            return None
        try:
            if said["file"]["name"] != _ATTRIBUTES:
                raise InputError(f"{MANIFEST} names another file of attributes")
            check_files(self.folder, [said["file"]])
            known = Attributes.from_dict(said["columns"], read_tensors(self.folder / _ATTRIBUTES))
        except (KeyError, TypeError) as e:
            raise InputError(f"{self.folder} is damaged: its attributes are not described ({e})") from None
        except InputError as e:
            text = str(e)
            raise InputError(text if text.startswith(f"{self.folder}") else f"{self.folder} is damaged: {e}") from None
        if known.n_nodes != self.n_nodes:
            raise InputError(f"{self.folder} is damaged: it has attributes of {known.n_nodes:,} nodes")
        return known

    def names(self, i: int) -> Nodes:
        """The nodes of part i."""
        return self._names(self.arrays(i))

    def _names(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Nodes:
        own = {name[6:]: array for name, array in arrays.items() if name.startswith("names.")}
        return Nodes(self.facts["names"], own)

    def rows(self, i: int) -> sparse.csr_array:
        """The rows of part i of a graph: m x n, every entry looked at but for whether the other half is there."""
        arrays = self.arrays(i)
        csr = _stored_rows(arrays, self.n_nodes, f"{self.folder} is damaged: {self.files[i]['name']}")
        try:
            check_entries(csr, int(self.starts[i]))
        except InputError as e:
            raise InputError(f"{self.folder} is damaged: {e} ({self.files[i]['name']})") from None
        csr.has_sorted_indices = csr.has_canonical_format = True
        return csr

    def find(self, node: Any) -> tuple[int, int]:
        """The part and the row in it of a node: by the hash where nodes are ordered so, else part by part."""
        among = range(len(self))
        if self.hashed:
            try:
                own = Nodes.of([node])
            except InputError:
                own = Nodes.of([])
            among = range(0)
            if len(own):
                firsts = np.array([int(entry["first"] or "0", 16) for entry in self.files], np.uint64)
                filled = np.flatnonzero([entry["nodes"] > 0 for entry in self.files])
                wanted = name_hashes(own)[0]
                last = int(np.searchsorted(firsts[filled], wanted, side="right")) - 1
                first = int(np.searchsorted(firsts[filled], wanted, side="left")) - 1
                among = range(int(filled[max(first, 0)]), int(filled[max(last, 0)]) + 1)
        for i in among:
            row = int(self.names(i).find([node])[0])
            if row >= 0:
                return i, row
        raise InputError(f"no node of {self.folder} is called {node!r}")


_Kinds = dict[str, tuple[str, ...]]
"""From an array's name to the kinds of numbers that it may hold."""
_TEXT: _Kinds = {"names.offsets": ("int64",), "names.bytes": ("uint8",)}
_NAMES: dict[str, _Kinds] = {"int": {"names.ints": ("int64",)}, "text": _TEXT, "json": _TEXT}
_WANTED: dict[str, _Kinds] = {
    "graph": {"indptr": ("int64",), "indices": ("int32", "int64"), "weights": ("float32",)},
    "embedding": {"vectors": ("float32",)},
}
_OPTIONAL: _Kinds = {"times": ("float64",), "std": ("float32",)}


def _check_entry(folder: Path, i: int, entry: Any) -> None:
    """Refuse an entry of the manifest that is not that of part i, and a file of another size than it says."""
    whole = isinstance(entry, dict) and all(
        type(entry.get(x)) is int and 0 <= entry[x] < 1 << 62 for x in ("nodes", "arcs", "size")
    )
    if not whole or entry.get("name") != part_name(i) or not isinstance(entry.get("first"), str):
        raise InputError(f"{folder} is damaged: {MANIFEST} does not describe part {i}")
    path = folder / entry["name"]
    if path.is_symlink() or not path.is_file() or path.stat().st_size != entry["size"]:
        raise InputError(f"{folder} is damaged: {path.name} is missing, or is not the file that was written")


def part_name(i: int) -> str:
    """The file of part i."""
    return f"part-{i:05d}.safetensors"


def _stored_rows(arrays: Mapping[str, npt.NDArray[Any]], n: int, damaged: str) -> sparse.csr_array:
    """The mapped arrays as rows, after every check that keeps hostile ones from leading outside of memory."""
    indptr, indices = arrays["indptr"], arrays["indices"]
    if indptr[0] != 0 or np.any(np.diff(indptr) < 0) or indptr[-1] != len(indices):
        raise InputError(f"{damaged} has an indptr that does not fit its indices")
    if len(indices) and not (indices.min() >= 0 and indices.max() < n):
        raise InputError(f"{damaged} names a node outside of 0..{n - 1}")
    indptr = indptr.astype(indices.dtype)  # of one width, or scipy would copy every index
    return sparse.csr_array((arrays["weights"], indices, indptr), shape=(len(indptr) - 1, n))


def read_graph_parts(path: Path) -> tuple[sparse.csr_array, Nodes, bool, dict[str, Any]]:
    """The whole graph: matrix, nodes, whether directed, and times, reading, attributes. One part stays on the disk."""
    parts = PartsFolder.open(path, "graph")
    for i in range(len(parts)):
        parts.check(i)
    matrix = parts.rows(0) if len(parts) == 1 else _stacked_rows([parts.rows(i) for i in range(len(parts))])
    try:
        if not parts.directed and symmetry_sum(matrix, 0, symmetry_keys()):
            raise InputError(f"{MANIFEST} says that the graph is undirected, and its matrix is not symmetric")
        nodes = joined_names([parts.names(i) for i in range(len(parts))])
        nodes.check_distinct()
        reading = Reading.from_dict(parts.facts["reading"]) if "reading" in parts.facts else None
    except ValueError as e:
        raise InputError(f"{path} is damaged: {e}") from None
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    timed = [parts.arrays(i)["times"] for i in range(len(parts))] if parts.facts.get("times") else []
    times = (timed[0] if len(timed) == 1 else np.concatenate(timed)) if timed else None
    return matrix, nodes, parts.directed, {"times": times, "reading": reading, "attributes": parts.attributes()}


def read_vector_parts(path: Path) -> tuple[Nodes, npt.NDArray[np.float32], npt.NDArray[np.float32] | None, str | None]:
    """The whole embedding: nodes, vectors, std, and its graph's fingerprint. One part stays on the disk, mapped."""
    parts = PartsFolder.open(path, "embedding")
    for i in range(len(parts)):
        parts.check(i)
    blocks = [parts.arrays(i) for i in range(len(parts))]
    nodes = joined_names([parts.names(i) for i in range(len(parts))])
    nodes.check_distinct()
    joined = {x: np.concatenate([b[x] for b in blocks]) if len(blocks) > 1 else blocks[0][x] for x in blocks[0]}
    fitted_to = parts.facts.get("fitted_to")
    return nodes, joined["vectors"], joined.get("std"), fitted_to if isinstance(fitted_to, str) else None


def _stacked_rows(blocks: list[sparse.csr_array]) -> sparse.csr_array:
    """Rows one below the other; scipy's vstack would be right too, and take twice the memory."""
    starts = np.cumsum([0, *(block.nnz for block in blocks)])
    indptr = np.concatenate([block.indptr[:-1].astype(np.int64) + s for block, s in zip(blocks, starts, strict=False)])
    indices = np.concatenate([block.indices for block in blocks])
    indptr = np.append(indptr, starts[-1]).astype(indices.dtype if starts[-1] < 2**31 else np.int64)
    data = np.concatenate([block.data for block in blocks])
    return sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, blocks[0].shape[1]))


def joined_names(blocks: Sequence[Nodes]) -> Nodes:
    """The nodes of several parts, one after another; they are not looked at for duplicates."""
    if len(blocks) == 1:
        return blocks[0]
    kind, arrays = blocks[0].kind, [block.arrays() for block in blocks]
    if kind == "int":
        return Nodes("int", {"ints": np.concatenate([x["ints"] for x in arrays])})
    ends = np.cumsum([0, *(x["offsets"][-1] for x in arrays)])
    offsets = [x["offsets"][1:] + end for x, end in zip(arrays, ends, strict=False)]
    whole = np.concatenate([x["bytes"] for x in arrays])
    return Nodes(kind, {"offsets": np.concatenate([np.zeros(1, np.int64), *offsets]), "bytes": whole})


# -------------------------------------------------------------------- what the entries must be


def check_entries(rows: sparse.csr_array, first: int = 0) -> None:
    """Refuse entries that no graph has: a weight that is not finite and above 0, rows out of order."""
    for at, columns, weights in _blocks(rows, first):
        if not (weights.min() > 0 and weights.max() < np.inf):
            raise InputError("a weight is not a finite number above 0")
        same = at[1:] == at[:-1]
        if np.any(columns[1:][same] <= columns[:-1][same]):
            raise InputError("the columns of a row are not in order, each once")


def symmetry_keys() -> npt.NDArray[np.uint64]:
    """Numbers that nobody can have known when a file was written."""
    return np.random.default_rng().integers(0, 1 << 63, 3, dtype=np.uint64) | np.uint64(1)


def symmetry_sum(rows: sparse.csr_array, first: int, keys: npt.NDArray[np.uint64]) -> int:
    """A number of some rows, the first of which is row `first`.

    Over all rows they sum to 0 modulo 2^64 where the matrix is symmetric, and else to another number, but for one
    chance in about 2^60.
    """
    total = 0
    for at, columns, weights in _blocks(rows, first):
        upper, lower = columns > at, columns < at
        total += _mixed(at[upper], columns[upper], weights[upper], keys)
        total -= _mixed(columns[lower], at[lower], weights[lower], keys)
    return total % (1 << 64)


def _blocks(csr: sparse.csr_array, first: int) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]]:
    """Rows, columns and weights of whole rows at a time: what is mapped stays on the disk but for these."""
    ends, start = csr.indptr, 0
    while start < csr.shape[0]:
        stop = max(start + 1, int(np.searchsorted(ends, int(ends[start]) + _BLOCK, side="right")) - 1)
        part = slice(int(ends[start]), int(ends[stop]))
        if part.stop > part.start:
            numbers = np.arange(first + start, first + stop, dtype=csr.indices.dtype)
            yield np.repeat(numbers, np.diff(ends[start : stop + 1])), csr.indices[part], csr.data[part]
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


# -------------------------------------------------------------------- writing


def write_part(folder: Path, i: int, nodes: Nodes, arrays: Mapping[str, Any], *, hashed: bool) -> dict[str, Any]:
    """Write part i of whatever is being written into a folder; the entry that `parts.json` is to have of it."""
    names = {f"names.{name}": array for name, array in nodes.arrays().items()}
    write_tensors(folder / part_name(i), {**arrays, **names})
    first = f"{int(name_hashes(nodes.take([0]))[0]):016x}" if hashed and len(nodes) else ""
    arcs = len(arrays["indices"]) if "indices" in arrays else 0
    return file_facts(folder / part_name(i)) | {"nodes": len(nodes), "arcs": arcs, "first": first}


def write_parts_manifest(
    folder: Path, kind: str, files: Sequence[Mapping[str, Any]], names: str, *, hashed: bool, **facts: Any
) -> None:
    """Write `parts.json`, last: with it the folder is whole."""
    n = sum(entry["nodes"] for entry in files)
    whole = {"format": _FORMAT, "kind": kind, "n_nodes": n, "names": names, "order": "hash" if hashed else "given"}
    (folder / MANIFEST).write_text(json.dumps({**whole, **facts, "files": list(files)}, indent=1), encoding="utf-8")


def write_graph_parts(
    path: str | os.PathLike[str],
    matrix: sparse.csr_array,
    nodes: Nodes,
    directed: bool,
    *,
    parts: int = 1,
    force: bool = False,
    times: npt.NDArray[np.float64] | None = None,
    reading: Reading | None = None,
    attributes: Attributes | None = None,
) -> None:
    """A graph from arrays: one part in the order of its nodes, or several in the order of their hashes."""
    check_parts(parts)
    hashed = parts > 1
    if hashed:
        order = hash_order(nodes)
        place = np.empty(len(order), matrix.indices.dtype)
        place[order] = np.arange(len(order))
        nodes = nodes.take(order)
        csr = sparse.csr_array((matrix.data, place[matrix.indices], matrix.indptr), shape=matrix.shape)[order]
        csr.sort_indices()
        if times is not None:
            own = sparse.csr_array((times, place[matrix.indices], matrix.indptr), shape=matrix.shape)[order]
            own.sort_indices()
            times = own.data
        matrix = csr
        attributes = None if attributes is None else attributes.rows(order)
    facts: dict[str, Any] = {"directed": directed} | ({} if times is None else {"times": True})
    facts |= {} if reading is None else {"reading": reading.to_dict()}
    starts = part_starts(len(nodes), parts)
    with staged_folder(path, force=force) as folder:
        files = []
        for i, (a, b) in enumerate(pairwise(starts.tolist())):
            first, last = int(matrix.indptr[a]), int(matrix.indptr[b])
            indptr = matrix.indptr[a : b + 1].astype(np.int64) - first
            arrays = {"indptr": indptr, "indices": matrix.indices[first:last], "weights": matrix.data[first:last]}
            arrays |= {} if times is None else {"times": times[first:last]}
            own_nodes = nodes if parts == 1 else nodes.take(np.arange(a, b))
            files.append(write_part(folder, i, own_nodes, arrays, hashed=hashed))
        if attributes is not None:
            write_tensors(folder / _ATTRIBUTES, attributes.arrays())
            facts["attributes"] = {"columns": attributes.to_dict(), "file": file_facts(folder / _ATTRIBUTES)}
        write_parts_manifest(folder, "graph", files, nodes.kind, hashed=hashed, **facts)


def write_vector_parts(
    path: str | os.PathLike[str],
    nodes: Nodes,
    vectors: npt.NDArray[np.float32],
    std: npt.NDArray[np.float32] | None = None,
    *,
    parts: int = 1,
    force: bool = False,
    fitted_to: str | None = None,
) -> None:
    """An embedding from arrays: one part in the order of its nodes, or several in the order of their hashes."""
    check_parts(parts)
    order = hash_order(nodes) if parts > 1 else np.arange(len(nodes))
    starts = part_starts(len(nodes), parts)
    facts = {"dim": int(vectors.shape[1]), "fitted_to": fitted_to} | ({} if std is None else {"std": True})
    with staged_folder(path, force=force) as folder:
        files = []
        for i, (a, b) in enumerate(pairwise(starts.tolist())):
            rows = order[a:b]
            arrays = {"vectors": vectors[rows]} | ({} if std is None else {"std": std[rows]})
            files.append(write_part(folder, i, nodes.take(rows), arrays, hashed=parts > 1))
        write_parts_manifest(folder, "embedding", files, nodes.kind, hashed=parts > 1, **facts)


def hash_order(nodes: Nodes) -> npt.NDArray[np.int64]:
    """Positions in the order of the hashes of names, and of names where two hashes are the same."""
    hashes = name_hashes(nodes)
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    if same.size:  # 1 and "1", or once in 2^64: by the name
        texts = {int(i): repr(nodes[int(i)]) for i in order[np.concatenate([same, same + 1])]}
        order = np.array(sorted(order.tolist(), key=lambda i: (int(hashes[i]), texts.get(i, ""))), np.int64)
    return order.astype(np.int64)


def check_parts(parts: int) -> None:
    """Refuse a number of parts that no folder has."""
    if type(parts) is not int or not 1 <= parts <= MOST_PARTS:
        raise InputError(f"parts={parts!r} is not a whole number from 1 to {MOST_PARTS:,}")
