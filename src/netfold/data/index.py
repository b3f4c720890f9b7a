"""`Index`: the nearest nodes of a large embedding in a fraction of the time, with the share of them that it misses."""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import Floats32, Ints, check_choice
from netfold.data.embedding import Embedding, _as_count, _is_array
from netfold.data.text import counted
from netfold.errors import InputError

__all__ = ["Index", "indexed"]

_FEWEST = 1000
"""Nodes below which an index has no lists, as a search of all of them is as quick."""
_HELD = 200
"""Rows on which the recall is measured; as many others choose the number of probes."""
_AT = 10
"""The recall is that of so many nearest."""
_PER_LIST = 64
"""Rows a list, at most, that the centers are computed from."""
_LISTS = "lists.faiss"
_SEARCH = "faiss is not installed: pip install 'netfold[search]'"


class Index:
    """Nearest nodes by inverted lists: only the lists (`probes` of them) whose centers are nearest are looked at.

    `Embedding.index` makes one. The nodes that faiss proposes are scored and ordered by the code of
    `Embedding.nearest`, so that each score is the exact one to the bit; what can be missed is a node. How often, was
    measured: `recall_`. Rows of zeros, which have no direction, are outside the lists and are compared always. Without
    faiss, with fewer than 1,000 nodes, for more than half of them and with `of_type`, the answer is exact.

    >>> index = Embedding(range(4), [[1, 0], [1, 1], [0, 2], [0, 0]]).index()
    >>> index.nearest(0, k=2)
    [(1, 0.7071067690849304), (2, 0.0)]
    >>> index
    Index(4 nodes, cosine, exact)
    """

    def __init__(self, embedding: Embedding, metric: str, lists: Any = None, probes: int = 1):
        """Use `Embedding.index` or `Index.load`; `lists` is an index of faiss over the rows, None to be exact."""
        self.embedding = embedding
        """The embedding that is searched, with what was added, and still with what was removed."""
        self.metric = metric
        """"cosine" or "euclidean"."""
        self.probes = probes
        """Lists that a search looks at."""
        self.recall_: dict[str, float] = {}
        """The recall at 10 on 200 held rows, ties forgiven: `share`, and that of their `worst_tenth`."""
        self._lists, self._mapped, self._path = lists, False, Path()
        self._alive = np.ones(len(embedding), np.bool_)
        self._zeros = np.flatnonzero(_is_zero(embedding, metric, 0))

    def __len__(self) -> int:
        return int(self._alive.sum())

    def __repr__(self) -> str:
        how = "exact"
        if self._lists is not None:
            how = f"{counted(self._lists.nlist, 'list')}, {counted(self.probes, 'probe')}"
        if self.recall_:
            share, worst = self.recall_["share"], self.recall_["worst_tenth"]
            held = int(self.recall_["held"])
            how += f": recall@{_AT} {share:.3f} on {counted(held, 'held row')}, worst tenth {worst:.3f}"
        return f"Index({counted(len(self), 'node')}, {self.metric}, {how})"

    @property
    def is_exact(self) -> bool:
        """Whether it has no lists, and misses nothing."""
        return self._lists is None

    # ---------------------------------------------------------------- search

    def nearest(self, query: Any, k: int = 10, *, of_type: str | None = None, probes: int | None = None) -> Any:
        """As `Embedding.nearest`: of a node, a list of nodes, or a vector (an array). More `probes` miss less."""
        k, whole = _as_count(k), self.embedding
        if not isinstance(query, list) and _is_array(query):
            return self._nearest(whole._as_query(query, self.metric)[None], k, [()], of_type, probes)[0]
        several = isinstance(query, list)
        if several:
            whole._check_nodes(query)
        own = whole.nodes.positions(query if several else [query])
        if not self._alive[own].all():
            raise InputError(f"the node {whole.nodes[int(own[~self._alive[own]][0])]!r} was removed from this index")
        queries = whole._coordinates_of(own) if self.metric == "euclidean" else whole.vectors[own]
        answers = self._nearest(queries, k, [(row,) for row in own.tolist()], of_type, probes)
        return answers if several else answers[0]

    def _nearest(
        self, queries: npt.NDArray[Any], k: int, own: list[tuple[int, ...]], of_type: str | None, probes: int | None
    ) -> list[list[tuple[Any, float]]]:
        if self._lists is None or of_type is not None or 2 * k > len(self):
            return self._exact(queries, k, own, of_type)
        rows = self._proposed(queries, k, self.probes if probes is None else _as_count(probes))
        few = (rows >= 0).sum(axis=1) < k + np.array([len(x) for x in own])
        if self.metric == "cosine":  # what has no direction is as near to all
            few |= ~queries.any(axis=1)
            zeros = np.broadcast_to(self._zeros[: k + 1], (len(rows), min(k + 1, len(self._zeros))))
            rows = np.hstack([rows, zeros])
        query, at = np.nonzero(rows >= 0)
        answers = self.embedding._ranked(queries, k, self.metric, (query, rows[query, at]), own)
        for i in np.flatnonzero(few).tolist():  # the lists that were looked at hold too little
            answers[i] = self._exact(queries[i : i + 1], k, own[i : i + 1], None)[0]
        return answers

    def _exact(
        self, queries: npt.NDArray[Any], k: int, own: list[tuple[int, ...]], of_type: str | None
    ) -> list[list[tuple[Any, float]]]:
        rows = self.embedding._among(None, of_type)
        if not self._alive.all():
            rows = np.flatnonzero(self._alive) if rows is None else rows[self._alive[rows]]
        return self.embedding._search(queries, k, self.metric, rows, own)

    def _proposed(self, queries: npt.NDArray[Any], k: int, probes: int) -> Ints:
        """Rows that faiss finds near each query, four times as many as are asked for: m x c, -1 where it has fewer."""
        import faiss

        options = faiss.SearchParametersIVF(nprobe=min(probes, self._lists.nlist))
        if not self._alive.all():
            bits = np.packbits(self._alive, bitorder="little")
            chosen = faiss.IDSelectorBitmap(bits)  # these two have names because faiss holds pointers to them
            options.sel = chosen
        _, rows = self._lists.search(_unit(queries, self.metric), 4 * (k + 1), params=options)
        return np.asarray(rows, np.int64)

    # ---------------------------------------------------------------- nodes come and go

    def add(self, new: Embedding) -> None:
        """Put further nodes in; the centers, and the recall that was measured, stay those of the nodes before."""
        old, n = self.embedding, len(self.embedding)
        if new.dim != old.dim or (new.std is None) != (old.std is None):
            raise InputError(f"{new!r} cannot be added to an index of {old!r}; it needs vectors of the same kind")
        again = np.flatnonzero(old.nodes.find(new.nodes) >= 0)
        if len(again):
            raise InputError(f"the node {new.nodes[int(again[0])]!r} is, or was, in this index; build it again instead")
        std = None if old.std is None or new.std is None else np.vstack([old.std, new.std])
        whole = Embedding([*old.nodes, *new.nodes], np.vstack([old.vectors, new.vectors]), std)  # type: ignore[arg-type]
        outside = _is_zero(whole, self.metric, n)
        if self._lists is not None:
            self._unmap()
            rows = np.arange(n, len(whole))[~outside]
            self._lists.add_with_ids(_table(whole, self.metric, rows), rows)
        self.embedding = whole
        self._zeros = np.concatenate([self._zeros, n + np.flatnonzero(outside)])
        self._alive = np.concatenate([self._alive, np.ones(len(new), np.bool_)])

    def remove(self, nodes: Any) -> None:
        """Leave nodes (a node, or a list) out of all answers. Where many are, a new index is quicker."""
        rows = self.embedding.nodes.positions(nodes if isinstance(nodes, list) else [nodes])
        self._alive[rows] = False
        self._zeros = self._zeros[self._alive[self._zeros]]

    def _unmap(self) -> None:
        """Lists that are looked at in their file are read into memory, where they can change."""
        if self._mapped:
            import faiss

            self._lists, self._mapped = faiss.read_index(str(self._path / _LISTS)), False

    # ---------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a folder; `Index.load` opens it beside the same embedding, after `add` that of `index.embedding`."""
        from netfold.io.files import staged_folder
        from netfold.io.tensors import write_manifest, write_tensors

        if self._lists is None:
            raise InputError(f"{self!r} has no lists, and there is nothing to save; build it with faiss, or do without")
        facts = {"metric": self.metric, "probes": self.probes, "recall": self.recall_, "of": self.embedding.fingerprint}
        with staged_folder(path, force=force) as folder:
            import faiss

            self._unmap()
            faiss.write_index(self._lists, str(folder / _LISTS))
            write_tensors(folder / "rows.safetensors", {"alive": self._alive.view(np.uint8)})
            facts["head"] = _head(folder / _LISTS)
            write_manifest(folder, "index", facts, [folder / _LISTS, folder / "rows.safetensors"])

    @staticmethod
    def load(path: str | os.PathLike[str], embedding: Embedding, *, mapped: bool = True) -> Index:
        """The index that `save` wrote, which is refused for any other embedding than its own.

        `mapped` lists are read from the file as they are looked at: a damaged head is refused, a damaged list costs
        recall and nothing else. Otherwise the whole file is read and compared with its hash. An index is a file of
        faiss: open those alone that you trust.
        """
        from netfold.io.tensors import check_hashes, read_manifest, read_tensors

        folder = Path(path)
        manifest = read_manifest(folder, "index", hashed=False)
        if manifest.get("of") != embedding.fingerprint:
            raise InputError(f"{folder} is the index of another embedding than {embedding!r}; build one for this")
        try:
            import faiss
        except ImportError:
            warnings.warn(f"{_SEARCH}; {folder} is not used, and answers are exact", stacklevel=2)
            return Index(embedding, str(manifest.get("metric")))
        if not mapped:
            check_hashes(folder, manifest["files"])
        alive = read_tensors(folder / "rows.safetensors").get("alive")
        if manifest.get("head") != _head(folder / _LISTS) or alive is None or alive.shape != (len(embedding),):
            raise InputError(f"{folder} is damaged: {_LISTS} does not begin as it was saved")
        flags = faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY if mapped else 0
        try:
            lists = faiss.read_index(str(folder / _LISTS), flags)
        except RuntimeError as e:
            raise InputError(f"{folder} is damaged: faiss cannot read it ({str(e)[-80:]})") from None
        index = Index(embedding, str(manifest["metric"]), lists, int(manifest["probes"]))
        index.recall_ = {str(name): float(x) for name, x in manifest["recall"].items()}
        index._mapped, index._path, index._alive = mapped, folder, alive.astype(np.bool_)
        index._zeros = index._zeros[index._alive[index._zeros]]
        return index


def indexed(embedding: Embedding, *, recall: float, metric: str | None, lists: int | None) -> Index:
    """An index of an embedding whose probes reach a recall on held rows; see `Embedding.index`."""
    metric = metric or ("cosine" if embedding.std is None else "euclidean")
    if metric == "dot":
        raise InputError("metric='dot' has no index: a long vector is near to all; use cosine or euclidean, or nearest")
    check_choice(("cosine", "euclidean"), metric=metric)
    if not 0 < recall <= 1:
        raise InputError(f"recall={recall} is not a share; give a number above 0 and up to 1")
    rows = np.flatnonzero(~_is_zero(embedding, metric, 0))
    if lists is None and len(rows) < _FEWEST:
        return Index(embedding, metric)
    try:
        import faiss
    except ImportError:
        warnings.warn(f"{_SEARCH}; without it the answers of this index are exact, and no quicker", stacklevel=3)
        return Index(embedding, metric)
    n_lists = _as_count(lists) if lists is not None else int(2 * len(rows) ** 0.5)
    if n_lists > len(rows):
        raise InputError(f"lists={n_lists} are more than there are rows with a direction: {len(rows):,}")
    table = _table(embedding, metric, rows)
    quantizer = faiss.IndexFlatL2(table.shape[1])
    inverted = faiss.IndexIVFFlat(quantizer, table.shape[1], n_lists)
    inverted.cp.niter, inverted.cp.min_points_per_centroid, inverted.cp.max_points_per_centroid = 8, 1, _PER_LIST
    inverted.train(table)
    inverted.add_with_ids(table, rows)
    index = Index(embedding, metric, inverted)
    _choose_probes(index, rows, recall)
    return index


def _choose_probes(index: Index, rows: Ints, recall: float) -> None:
    """The fewest probes of 1, 2, 4, ... that reach a recall on some rows; it is measured on as many others."""
    some = np.random.default_rng(0).permutation(rows)[: 2 * _HELD]
    choosing, held = some[::2], some[1::2] if len(some) > 1 else some
    truth = _kth_scores(index, choosing)
    while _recalls(index, choosing, truth).mean() < recall and index.probes < index._lists.nlist:
        index.probes = min(2 * index.probes, index._lists.nlist)
    recalls = np.sort(_recalls(index, held, _kth_scores(index, held)))
    worst = recalls[: max(1, len(recalls) // 10)]
    index.recall_ = {"at": _AT, "share": float(recalls.mean()), "worst_tenth": float(worst.mean()), "held": len(held)}


def _kth_scores(index: Index, rows: Ints) -> list[float]:
    """What the tenth nearest of each row scores, exactly."""
    nodes = [index.embedding.nodes[i] for i in rows.tolist()]
    return [near[-1][1] if near else 0.0 for near in index.embedding.nearest(nodes, _AT, metric=index.metric)]


def _recalls(index: Index, rows: Ints, kth: list[float]) -> npt.NDArray[np.float64]:
    """The share of ten answers that are as near as the tenth is in truth: equal vectors may stand for one another."""
    nodes, sign = [index.embedding.nodes[i] for i in rows.tolist()], 1 if index.metric == "euclidean" else -1
    most = max(1, min(_AT, len(index) - 1))
    answers = zip(index.nearest(nodes, _AT), kth, strict=True)
    return np.array([sum(sign * score <= sign * limit for _, score in near) / most for near, limit in answers])


def _is_zero(embedding: Embedding, metric: str, start: int) -> npt.NDArray[np.bool_]:
    """Of each row from `start` on whether it has no direction, where that is what is compared."""
    rows = embedding.vectors[start:]
    zero: npt.NDArray[np.bool_] = np.zeros(len(rows), np.bool_)
    if metric == "cosine":
        np.logical_not(rows.any(axis=1), out=zero)
    return zero


def _table(embedding: Embedding, metric: str, rows: Ints) -> Floats32:
    """What faiss keeps of some rows: directions, where Euclidean distance ranks as the cosine, or coordinates."""
    return _unit(embedding._coordinates_of(rows) if metric == "euclidean" else embedding.vectors[rows], metric)


def _unit(vectors: npt.NDArray[Any], metric: str) -> Floats32:
    rows = np.asarray(vectors, np.float64)
    if metric == "cosine":
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(lengths > 0, lengths, 1)
    return np.ascontiguousarray(rows, np.float32)


def _head(path: Path) -> str:
    """The hash of the first 4 MiB of a file, where faiss describes what follows."""
    with path.open("rb") as file:
        return hashlib.sha256(file.read(1 << 22)).hexdigest()
