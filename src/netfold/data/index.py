"""`Index`: the nearest nodes of a large embedding in a fraction of the time, with the share of them that it misses."""

from __future__ import annotations

import copy
import dataclasses
import errno
import hashlib
import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import Floats32, Ints, check_choice, unique_values
from netfold.data.embedding import Embedding, _as_count, _is_array
from netfold.data.text import counted, is_typed, printable
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
_TOGETHER = 1 << 14
"""Rows whose lengths are computed together."""
_ROWS = "rows.safetensors"
_SEARCH = "faiss is not installed: pip install 'netfold[search]'"


@dataclass(eq=False)
class _Lists:
    """Inverted lists over some of the rows: all of them, or those of a type."""

    faiss: Any
    probes: int = 1
    """How many of them a search looks at."""
    recall: dict[str, float] = field(default_factory=dict)
    zeros: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Those of its rows that have no direction and are in no list."""
    path: Path | None = None
    """The file that they are mapped from."""

    def __str__(self) -> str:
        return f"{counted(self.faiss.nlist, 'list')}, {counted(self.probes, 'probe')}"


class Index:
    """Nearest nodes by inverted lists: only the lists (`probes` of them) whose centers are nearest are looked at.

    `Embedding.index` makes one. The nodes that faiss proposes are scored and ordered by the code of
    `Embedding.nearest`, so that each score is the exact one to the bit; what can be missed is a node. How often, was
    measured: `recall_`. Where nodes are called (type, name) each type has lists of its own, so that `of_type` misses no
    more than a search of all does. Rows of zeros, which have no direction, are outside the lists and are compared
    always, as are types of less than 1,000 nodes. Without faiss, with fewer than 1,000 nodes, and for more than half of
    them, the answer is exact.

    >>> index = Embedding(range(4), [[1, 0], [1, 1], [0, 2], [0, 0]]).index()
    >>> index.nearest(0, k=2)
    [(1, 0.7071067690849304), (2, 0.0)]
    >>> index
    Index(4 nodes, cosine, exact)
    """

    def __init__(self, embedding: Embedding, metric: str, lists: dict[str, _Lists] | None = None):
        """Use `Embedding.index` or `Index.load`; `lists` by type, under "" of all, and none to be exact."""
        self.embedding = embedding
        """The embedding that is searched, with what was added, and still with what was removed."""
        self.metric = metric
        """"cosine" or "euclidean"."""
        self.recall_: dict[str, float] = {}
        """The recall at 10 on 200 held rows, ties forgiven: `share`, and that of their `worst_tenth`."""
        self._lists = lists or {}
        self._others: Ints = np.empty(0, np.int64)  # rows of types that have no lists: compared always
        self._alive = np.ones(len(embedding), np.bool_)
        self._count = len(embedding)
        self._options: dict[int, tuple[Any, ...]] = {}

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        how = "; ".join(f"{printable(name)}: {lists}" if name else str(lists) for name, lists in self._lists.items())
        how = how or "exact"
        if self.recall_:
            share, worst = self.recall_["share"], self.recall_["worst_tenth"]
            held = int(self.recall_["held"])
            how += f": recall@{_AT} {share:.3f} on {counted(held, 'held row')}, worst tenth {worst:.3f}"
        return f"Index({counted(len(self), 'node')}, {self.metric}, {how})"

    @property
    def is_exact(self) -> bool:
        """Whether it has no lists, and misses nothing."""
        return not self._lists

    @property
    def probes(self) -> int:
        """Lists that a search of all nodes looks at."""
        return sum(lists.probes for lists in self._lists.values())

    @property
    def rows_compared(self) -> int:
        """About how many rows a search of all nodes compares with its query: centers, and those of the lists."""
        every = [x.faiss.nlist + x.probes * x.faiss.ntotal // x.faiss.nlist for x in self._lists.values()]
        return sum(every) if every else self._count

    @property
    def type_recalls(self) -> dict[str, dict[str, float]]:
        """As `recall_`, of each type that has lists of its own: of a search of it, from its own nodes and from all."""
        return {name: lists.recall for name, lists in self._lists.items() if name}

    # ---------------------------------------------------------------- search

    def nearest(self, query: Any, k: int = 10, *, of_type: str | None = None, probes: int | None = None) -> Any:
        """As `Embedding.nearest`: of a node, a list of nodes, or a vector (an array). More `probes` miss less."""
        k, whole = _as_count(k), self.embedding
        if not isinstance(query, list) and _is_array(query):
            return self._nearest(whole._as_query(query, self.metric)[None], k, [()], of_type, probes)[0]
        several = isinstance(query, list)
        own = whole._rows(query) if several else whole.nodes.positions([query])
        if self._count < len(self._alive) and not self._alive[own].all():
            raise InputError(f"the node {whole.nodes[int(own[~self._alive[own]][0])]!r} was removed from this index")
        queries = whole._coordinates_of(own) if self.metric == "euclidean" else whole.vectors[own]
        answers = self._nearest(queries, k, [(row,) for row in own.tolist()], of_type, probes)
        return answers if several else answers[0]

    def _nearest(
        self, queries: npt.NDArray[Any], k: int, own: list[tuple[int, ...]], of_type: str | None, probes: int | None
    ) -> list[list[tuple[Any, float]]]:
        some = (
            list(self._lists.values()) if of_type is None else [x for t, x in self._lists.items() if t == of_type != ""]
        )
        if not some or 2 * k > self._count:
            return self._exact(queries, k, own, of_type)
        probes = None if probes is None else _as_count(probes)
        unit = _unit(queries, self.metric)
        columns = [self._proposed(lists, unit, k, lists.probes if probes is None else probes) for lists in some]
        few = columns[0][:, k] < 0  # proposals end with -1 where there are less
        for other in columns[1:]:  # of types, of which one may have enough
            few &= other[:, k] < 0
        if self.metric == "cosine":  # what has no direction is as near to all
            few |= ~unit.any(axis=1)
        more = [lists.zeros[: k + 1] for lists in some if len(lists.zeros)]
        more += [self._others] if of_type is None and len(self._others) else []
        columns += [np.broadcast_to(x, (len(unit), len(x))) for x in more]
        rows = columns[0] if len(columns) == 1 else np.hstack(columns)
        answers = self.embedding._ranked(queries, k, self.metric, rows, own)
        for i in np.flatnonzero(few).tolist() if few.any() else []:  # the lists that were looked at hold too little
            answers[i] = self._exact(queries[i : i + 1], k, own[i : i + 1], of_type)[0]
        return answers

    def _exact(
        self, queries: npt.NDArray[Any], k: int, own: list[tuple[int, ...]], of_type: str | None
    ) -> list[list[tuple[Any, float]]]:
        rows = self.embedding._among(None, of_type)
        if self._count < len(self._alive):
            rows = np.flatnonzero(self._alive) if rows is None else rows[self._alive[rows]]
        return self.embedding._search(queries, k, self.metric, rows, own)

    def _proposed(self, lists: _Lists, unit: Floats32, k: int, probes: int) -> Ints:
        """Rows that faiss finds near each query, four times as many as are asked for: m x c, -1 where it has fewer."""
        probes = min(probes, lists.faiss.nlist)
        if probes not in self._options:
            self._options[probes] = self._search_options(probes)
        _, rows = lists.faiss.search(unit, 4 * (k + 1), params=self._options[probes][0])
        return np.asarray(rows, np.int64)

    def _search_options(self, probes: int) -> tuple[Any, ...]:
        """How faiss is to search, and what that points to, which has to be there as long."""
        import faiss

        options = faiss.SearchParametersIVF(nprobe=probes)
        if self._count == len(self._alive):
            return (options,)
        bits = np.packbits(self._alive, bitorder="little")
        chosen = faiss.IDSelectorBitmap(bits)
        options.sel = chosen
        return options, chosen, bits

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
        whole = Embedding(old.nodes.joined(new.nodes), np.vstack([old.vectors, new.vectors]), std)
        where = np.array([_type_of(x) if "" not in self._lists else "" for x in new.nodes])
        for name, lists in self._lists.items():
            rows = n + np.flatnonzero(where == name)
            outside = _is_zero(whole, self.metric, rows)
            _unmap(lists)
            lists.faiss.add_with_ids(_table(whole, self.metric, rows[~outside]), rows[~outside])
            lists.zeros = np.concatenate([lists.zeros, rows[outside]])
        if self._lists:
            self._others = np.concatenate([self._others, n + np.flatnonzero(~np.isin(where, list(self._lists)))])
        self.embedding = whole
        self._alive = np.concatenate([self._alive, np.ones(len(new), np.bool_)])
        self._count += len(new)
        self._options.clear()

    def grown(self, new: Embedding, gone: list[Any]) -> Index:
        """An index with further nodes, which are in no list and compared always, without others; this one stays."""
        other = copy.copy(self)
        other._lists = {name: dataclasses.replace(lists) for name, lists in self._lists.items()}
        other._alive, other._options, listed = self._alive.copy(), {}, other._lists
        if len(new):
            other._lists = {}
            other.add(new)
            other._lists = listed
            rows = np.arange(len(self.embedding), len(other.embedding))
            other._others = np.concatenate([self._others, rows])
        other.remove(gone)
        return other

    def remove(self, nodes: Any) -> None:
        """Leave nodes (a node, or a list) out of all answers. Where many are, a new index is quicker."""
        self._leave_out(self.embedding.nodes.positions(nodes if isinstance(nodes, list) else [nodes]))

    def _leave_out(self, rows: Ints) -> None:
        self._alive[rows] = False
        self._count = int(np.count_nonzero(self._alive))
        self._others = self._others[self._alive[self._others]]
        for lists in self._lists.values():
            lists.zeros = lists.zeros[self._alive[lists.zeros]]
        self._options.clear()

    # ---------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a folder; `Index.load` opens it beside the same embedding, after `add` that of `index.embedding`."""
        from netfold.io.files import staged_folder
        from netfold.io.tensors import write_manifest, write_tensors

        if not self._lists:
            why = f"below {_FEWEST:,} nodes none is needed" if len(self) < _FEWEST else "it was built without faiss"
            raise InputError(f"{self!r} searches all nodes and has nothing to save: {why}; search without an index")
        facts: dict[str, Any] = {"metric": self.metric, "recall": self.recall_, "of": self.embedding.fingerprint}
        with staged_folder(path, force=force) as folder:
            import faiss

            rows, facts["lists"] = {"removed": np.flatnonzero(~self._alive), "others": self._others}, []
            for i, (name, lists) in enumerate(self._lists.items()):
                _unmap(lists)
                file = folder / f"lists-{i}.faiss"
                _write_lists(faiss, lists.faiss, file)
                rows[f"zeros-{i}"] = lists.zeros
                more = {"probes": lists.probes, "recall": lists.recall, "head": _head(file)}
                facts["lists"].append({"type": name, "file": file.name, **more})
            write_tensors(folder / _ROWS, rows)
            write_manifest(folder, "index", facts, [folder / _ROWS, *sorted(folder.glob("*.faiss"))])

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
            import faiss  # noqa: F401
        except ImportError:
            warnings.warn(f"{_SEARCH}; {folder} is not used, and answers are exact", stacklevel=2)
            return Index(embedding, str(manifest.get("metric")))
        if not mapped:
            check_hashes(folder, manifest["files"])
        try:
            rows = {name: _rows_within(x, len(embedding)) for name, x in read_tensors(folder / _ROWS).items()}
            every = {}
            for i, facts in enumerate(manifest["lists"]):
                if facts["file"] not in {entry["name"] for entry in manifest["files"]}:
                    raise KeyError(f"the file {facts['file']!r}")
                lists = _opened(folder / facts["file"], facts["head"], mapped=mapped)
                every[str(facts["type"])] = _Lists(
                    lists, int(facts["probes"]), _numbers(facts["recall"]), rows[f"zeros-{i}"],
                    folder / facts["file"] if mapped else None,
                )  # fmt: skip
            check_choice(("cosine", "euclidean"), metric=manifest["metric"])
            index = Index(embedding, manifest["metric"], every)
            index.recall_, index._others = _numbers(manifest["recall"]), rows["others"]
            index._leave_out(rows["removed"])
        except (KeyError, TypeError, AttributeError) as e:
            raise InputError(f"{folder} is damaged: its parts do not fit together (no {e})") from None
        return index


def _opened(path: Path, head: str, *, mapped: bool) -> Any:
    """Lists from a file that begins as it was saved."""
    import faiss

    if head != _head(path):
        raise InputError(f"{path.parent} is damaged: {path.name} does not begin as it was saved")
    try:
        lists = faiss.read_index(str(path), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY if mapped else 0)
    except RuntimeError as e:
        raise InputError(f"{path.parent} is damaged: faiss cannot read it ({str(e)[-80:]})") from None
    if mapped:  # faiss would start 32 threads for each search, to read ahead: a millisecond that the pages do not need
        faiss.downcast_InvertedLists(lists.invlists).prefetch_nthread = 0
    return lists


def _rows_within(rows: Any, n: int) -> Ints:
    if rows.ndim != 1 or rows.dtype != np.int64 or (rows.size and not 0 <= rows.min() <= rows.max() < n):
        raise TypeError("rows of its embedding")
    return np.asarray(rows)


def _numbers(facts: Any) -> dict[str, float]:
    return {str(name): float(x) for name, x in facts.items()}


def _write_lists(faiss: Any, lists: Any, file: Path) -> None:
    """faiss writes its file; a full disk is then what it is elsewhere."""
    try:
        faiss.write_index(lists, str(file))
    except RuntimeError as e:
        full = next((x for x in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) if os.strerror(x) in str(e)), None)
        if full is None:
            raise
        raise OSError(full, os.strerror(full)) from None


def _unmap(lists: _Lists) -> None:
    """Lists that are looked at in their file are read into memory, where they can change."""
    if lists.path is not None:
        import faiss

        lists.faiss, lists.path = faiss.read_index(str(lists.path)), None


def _type_of(node: Any) -> str:
    return str(node[0]) if is_typed(node) else ""


def indexed(embedding: Embedding, *, recall: float, metric: str | None, lists: int | None) -> Index:
    """An index of an embedding whose probes reach a recall on held rows; see `Embedding.index`."""
    metric = metric or ("cosine" if embedding.std is None else "euclidean")
    if metric == "dot":
        raise InputError("metric='dot' has no index: a long vector is near to all; use cosine or euclidean, or nearest")
    check_choice(("cosine", "euclidean"), metric=metric)
    if not 0 < recall <= 1:
        raise InputError(f"recall={recall} is not a share; give a number above 0 and up to 1")
    every = np.arange(len(embedding))
    zero = _is_zero(embedding, metric, every)
    fewest = _FEWEST if lists is None else 1
    if np.count_nonzero(~zero) < fewest:
        return Index(embedding, metric)
    try:
        import faiss  # noqa: F401
    except ImportError:
        warnings.warn(f"{_SEARCH}; without it the answers of this index are exact, and no quicker", stacklevel=3)
        return Index(embedding, metric)
    index = Index(embedding, metric)
    for name, rows in _by_type(embedding).items():
        directed = rows[~zero[rows]]
        if len(directed) < fewest:
            index._others = np.concatenate([index._others, rows])
            continue
        n_lists = _as_count(lists) if lists is not None else int(2 * len(directed) ** 0.5)
        if n_lists > len(directed):
            raise InputError(f"lists={n_lists} are more than there are rows with a direction: {len(directed):,}")
        index._lists[name] = _Lists(
            _trained(_table(embedding, metric, directed), directed, n_lists), zeros=rows[zero[rows]]
        )
    for name in index._lists:
        _choose_probes(index, name, np.flatnonzero(~zero), recall)
    if "" in index._lists:
        index.recall_ = index._lists[""].recall
    elif index._lists:
        held = np.random.default_rng(1).permutation(np.flatnonzero(~zero))[:_HELD]
        index.recall_ = _as_facts(_recalls(index, held, None))
    return index


def _by_type(embedding: Embedding) -> dict[str, Ints]:
    """The rows of each type, where all nodes are called (type, name); else all, under ""."""
    everything: dict[str, Ints] = {"": np.arange(len(embedding))}
    if embedding.nodes.kind != "json":
        return everything
    types = [_type_of(x) for x in embedding.nodes]
    numbers = {name: i for i, name in enumerate(sorted(set(types)))}
    if "" in numbers:
        return everything
    codes = np.array([numbers[x] for x in types])
    return {name: np.flatnonzero(codes == i) for name, i in numbers.items()}


def _trained(table: Floats32, rows: Ints, n_lists: int) -> Any:
    """Inverted lists of faiss over a table of rows."""
    import faiss

    quantizer = faiss.IndexFlatL2(table.shape[1])
    inverted = faiss.IndexIVFFlat(quantizer, table.shape[1], n_lists)
    inverted.cp.niter, inverted.cp.min_points_per_centroid, inverted.cp.max_points_per_centroid = 8, 1, _PER_LIST
    inverted.train(table)
    inverted.add_with_ids(table, rows)
    return inverted


def _choose_probes(index: Index, name: str, every: Ints, recall: float) -> None:
    """The fewest probes of 1, 2, 4, ... that reach a recall on some rows; it is measured on as many others.

    Of a type one half of these rows are its own, the other are any, as people ask for films near to users.
    """
    rng, lists, of_type = np.random.default_rng(0), index._lists[name], name or None
    some = rng.permutation(every)[: 2 * _HELD]
    if of_type is not None:
        own = index.embedding._among(None, of_type)
        own = np.intersect1d(every, [] if own is None else own)
        some = rng.permutation(unique_values(np.concatenate([rng.permutation(own)[:_HELD], some[:_HELD]])))
    choosing, held = some[::2], some[1::2] if len(some) > 1 else some
    truth = _kth_scores(index, choosing, of_type)
    while _recalls(index, choosing, of_type, truth).mean() < recall and lists.probes < lists.faiss.nlist:
        lists.probes = min(2 * lists.probes, lists.faiss.nlist)
    lists.recall = _as_facts(_recalls(index, held, of_type))


def _as_facts(recalls: npt.NDArray[np.float64]) -> dict[str, float]:
    worst = np.sort(recalls)[: max(1, len(recalls) // 10)]
    return {"at": _AT, "share": float(recalls.mean()), "worst_tenth": float(worst.mean()), "held": len(recalls)}


def _kth_scores(index: Index, rows: Ints, of_type: str | None) -> list[tuple[float, int]]:
    """What the tenth nearest of each row scores, exactly, or the last where there are fewer; and how many there are."""
    nodes = index.embedding.nodes.at(rows)
    answers = index.embedding.nearest(nodes, _AT, metric=index.metric, of_type=of_type)
    return [(near[-1][1] if near else 0.0, max(1, len(near))) for near in answers]


def _recalls(
    index: Index, rows: Ints, of_type: str | None, truth: list[tuple[float, int]] | None = None
) -> npt.NDArray[np.float64]:
    """The share of ten answers that are as near as the tenth is in truth: equal vectors may stand for one another."""
    truth = _kth_scores(index, rows, of_type) if truth is None else truth
    sign = 1 if index.metric == "euclidean" else -1
    answers = zip(index.nearest(index.embedding.nodes.at(rows), _AT, of_type=of_type), truth, strict=True)
    return np.array([sum(sign * score <= sign * limit for _, score in near) / n for near, (limit, n) in answers])


def _is_zero(embedding: Embedding, metric: str, rows: Ints) -> npt.NDArray[np.bool_]:
    """Of some rows whether each has no direction, where that is what is compared."""
    zero: npt.NDArray[np.bool_] = np.zeros(len(rows), np.bool_)
    if metric == "cosine":
        whole = len(rows) == len(embedding)
        np.logical_not((embedding.vectors if whole else embedding.vectors[rows]).any(axis=1), out=zero)
    return zero


def _table(embedding: Embedding, metric: str, rows: Ints) -> Floats32:
    """What faiss keeps of some rows: directions, where Euclidean distance ranks as the cosine, or coordinates."""
    wide = metric == "euclidean" and embedding.std is not None
    table = np.empty((len(rows), (2 if wide else 1) * embedding.dim), np.float32)
    for start in range(0, len(rows), _TOGETHER):  # in float64 for a while, and all of them would be three tables more
        some = rows[start : start + _TOGETHER]
        block = embedding._coordinates_of(some) if metric == "euclidean" else embedding.vectors[some]
        table[start : start + _TOGETHER] = _unit(block, metric)
    return table


def _unit(vectors: npt.NDArray[Any], metric: str) -> Floats32:
    rows = np.asarray(vectors, np.float64)
    if metric == "cosine":
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        rows = rows / np.where(lengths > 0, lengths, 1)
    return np.ascontiguousarray(rows, np.float32)


def _head(path: Path) -> str:
    """The hash of the first 4 MiB of a file, where faiss describes what follows."""
    with path.open("rb") as file:
        return hashlib.sha256(file.read(1 << 22)).hexdigest()
