"""`Embedding`: a vector for every node, whatever made it."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import Floats32, Ints, check_choice, unique_values
from netfold.data.gaussians import widths
from netfold.data.nodes import Nodes
from netfold.data.text import as_typed, counted, html_box, html_table, is_typed, printable, type_in_words
from netfold.errors import InputError

if TYPE_CHECKING:
    import pandas

    from netfold.data.groups import NodeGroups
    from netfold.data.index import Index

__all__ = ["Alignment", "Embedding", "align"]

_METRICS = ("cosine", "euclidean", "dot")
_BLOCK = 1 << 17
"""Numbers of an embedding that a search looks at together in float64: 1 MiB, which stays in the cache."""
_TOGETHER = 256
"""Queries that are asked together, as one product."""


@dataclass(frozen=True, eq=False, repr=False)
class Embedding:
    """A point for every node or, with `std`, a Gaussian with the mean `vectors[i]` and the variances `std[i]²`.

    The arrays are read-only; an array that is float32 already is looked at where it lies, any other is copied.
    `embedding["a"]` is the vector of a node, `embedding.nearest("a")` are the nodes near it; `save` and
    `Embedding.load` know many formats. A fitted model has one as `embedding_`.

    >>> embedding = Embedding(["a", "b", "c"], [[1, 0], [1, 1], [0, 2]])
    >>> embedding
    Embedding(3 nodes, 2 dimensions)
    >>> embedding["b"].tolist(), "d" in embedding
    ([1.0, 1.0], False)
    >>> embedding.nearest("c", k=1, metric="euclidean")
    [('b', 1.4142135381698608)]
    """

    nodes: Nodes
    """The node of each row."""
    vectors: Floats32
    """n x dim."""
    std: Floats32 | None = None
    """n x dim, standard deviations above 0; None where nodes are points."""
    fitted_to: str | None = field(default=None, kw_only=True)
    """The fingerprint of the graph that the vectors were learned from; None where that is not known."""

    def __post_init__(self) -> None:
        nodes = Nodes.of(self.nodes)
        vectors = _as_matrix(self.vectors, "vectors", nodes)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "vectors", vectors)
        if self.std is not None:
            std = _as_matrix(self.std, "std", nodes)
            if std.shape != vectors.shape:
                raise InputError(
                    f"std has {counted(std.shape[1], 'column')}, vectors have {vectors.shape[1]}; they need as many"
                )
            if std.size and std.min() <= 0:
                raise InputError(f"the standard deviation of {nodes[int(std.min(axis=1).argmin())]!r} is not above 0")
            object.__setattr__(self, "std", std)
        if self.fitted_to is not None and not isinstance(self.fitted_to, str):
            raise InputError(f"fitted_to is {type_in_words(self.fitted_to)}; give the fingerprint of a graph")

    def __deepcopy__(self, memo: Any) -> Embedding:
        """A value that never changes is its own copy."""
        return self

    def __reduce__(self) -> Any:
        """What pickle keeps: the value without what was computed from it, checked when it comes back."""
        return _restored, (self.nodes, self.vectors, self.std, self.fitted_to)

    # ---------------------------------------------------------------- by node

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.vectors.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(nodes, dim): that of `vectors`, by which scikit-learn takes an embedding for a table."""
        return len(self), self.dim

    @property
    def coordinates(self) -> Floats32:
        """`vectors`, or [vectors, std] (n x 2 dim), where Euclidean distance is the Gaussians' 2-Wasserstein distance.

        W2(i, j)² = |μ_i - μ_j|² + |σ_i - σ_j|², because diagonal covariances commute.
        """
        return self.vectors if self.std is None else _read_only(np.hstack([self.vectors, self.std]))

    @cached_property
    def center(self) -> Floats32:
        """The mean of the vectors: d numbers."""
        mean: Floats32 = self.vectors.mean(axis=0)
        return mean

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self.nodes

    def __getitem__(self, node: Any) -> Floats32:
        """The vector of a node, or a matrix of the vectors of a list of nodes."""
        if _is_several(node):
            return np.take(self.vectors, self.nodes.positions(node), axis=0)
        row: Floats32 = self.vectors[self._row(node)]
        return row

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The vectors (n x dim), as numpy sees an embedding."""
        return np.array(self.vectors, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        spread = "" if self.std is None else ", Gaussian"
        return f"Embedding({counted(len(self), 'node')}, {counted(self.dim, 'dimension')}{spread})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the first nodes and the first numbers of each."""
        rows, columns = min(len(self), 5), min(self.dim, 6)
        more = ["..."] if columns < self.dim else []
        head = ["", *(str(j) for j in range(columns)), *more]
        vectors = [[f"{x:.3f}" for x in self.vectors[i, :columns].tolist()] for i in range(rows)]
        shown = [[as_typed(self.nodes[i]), *vectors[i], *more] for i in range(rows)]
        shown += [["..."] + [""] * (len(head) - 1)] if rows < len(self) else []
        return html_box(repr(self), html_table(head, shown))

    def take(self, nodes: Iterable[Any]) -> Embedding:
        """The embedding of these nodes, in this order."""
        rows = self.nodes.positions(nodes)
        std = None if self.std is None else self.std[rows]
        return Embedding(self.nodes.take(rows), self.vectors[rows], std, fitted_to=self.fitted_to)

    def uncertainty(self, node: Any, largest: int = 10) -> float | npt.NDArray[np.float64]:
        """The mean of the `largest` variances of a node, or an array of those of a list: for ranks, as it has no unit.

        >>> Embedding("ab", [[0, 0], [1, 1]], [[1, 2], [1, 1]]).uncertainty("a", largest=1)
        4.0
        """
        if self.std is None:
            kinds = "uncertainty is of Gaussians, which DVNE makes"
            raise InputError(f"{self} has no std; {kinds}: Embedding(nodes, vectors, std)")
        several = _is_several(node)
        mean_variances = widths(self.std[self.nodes.positions(node if several else [node])], largest)
        return mean_variances if several else float(mean_variances[0])

    # ---------------------------------------------------------------- neighbors

    def nearest(
        self, query: Any, k: int = 10, *, metric: str | None = None, among: Any = None, of_type: str | None = None
    ) -> Any:
        """The k nodes nearest to a node, itself left out, or to a vector: (node, score), the best first.

        Of a list of nodes it is a list of such lists, one for each, at the cost of one matrix product.

        `metric` is "cosine" or "dot" (a similarity of `vectors`, the largest first) or "euclidean" (a distance in
        `coordinates`, the smallest first: W2 where there is `std`). By default it is "euclidean" with `std`, "cosine"
        without. A vector is an array; a list is a list of nodes, a tuple is a node; a vector of zeros has the cosine 0
        to all. `among` are the nodes that may be answers; `of_type` leaves those that are called (type, name) by it.
        The search is exact, and of equal scores the earlier node comes first.

        >>> people = Embedding([("user", 1), ("user", 2), ("film", 1)], [[1, 0], [1, 1], [1, 0]])
        >>> people.nearest(("user", 1), of_type="user")
        [(('user', 2), 0.7071067690849304)]
        """
        metric = metric or ("cosine" if self.std is None else "euclidean")
        check_choice(_METRICS, metric=metric)
        k = _as_count(k)
        rows = self._among(among, of_type)
        if not isinstance(query, list) and _is_array(query):
            return self._search(self._as_query(query, metric)[None], k, metric, rows, [()])[0]
        several = isinstance(query, list)
        own = self._rows(query) if several else self.nodes.positions([query])
        queries = self._coordinates_of(own) if metric == "euclidean" else self.vectors[own]
        nearest = self._search(queries, k, metric, rows, [(row,) for row in own.tolist()])
        return nearest if several else nearest[0]

    def similarity(self, a: Any, b: Any) -> float | npt.NDArray[np.float64]:
        """The cosine of two nodes' vectors; with a list of nodes an array of those with each. 0 for one of zeros.

        >>> Embedding("abc", [[1, 0], [1, 1], [0, 2]]).similarity("a", ["b", "c"]).round(3).tolist()
        [0.707, 0.0]
        """
        if _is_several(a) and not _is_several(b):
            a, b = b, a
        left, right = (self.nodes.positions(x if _is_several(x) else [x]) for x in (a, b))
        if _is_several(a) and len(left) != len(right):
            raise InputError(f"{len(left):,} nodes do not pair with {len(right):,}; give one node, or as many")
        rows = self.vectors[left].astype(np.float64) * self.vectors[right]
        cosines: npt.NDArray[np.float64] = rows.sum(axis=1) / (self._norms[left] * self._norms[right])
        return cosines if _is_several(b) else float(cosines[0])

    def most_similar(
        self, positive: Any = (), negative: Any = (), k: int = 10, *, among: Any = None, of_type: str | None = None
    ) -> list[tuple[Any, float]]:
        """The k nodes nearest, by cosine, to the sum of some nodes' directions less that of others: (node, cosine).

        "What is to b as c is to a" is `most_similar([b, c], [a])`. Each is a node, a list of nodes, or an array (a
        vector); those that are given are not among the answers. `among` and `of_type` as for `nearest`.

        >>> towns = Embedding(["king", "queen", "man", "woman"], [[1, 1], [1, -1], [0.1, 1], [0.1, -1]])
        >>> towns.most_similar(["king", "woman"], "man", k=1)
        [('queen', 0.9605917930603027)]
        """
        k = _as_count(k)
        total, own = np.zeros(self.dim), []
        for sign, each in ((1, positive), (-1, negative)):
            for one in each if isinstance(each, list) else [each] if _is_array(each) or each != () else []:
                vector = self._as_query(one, "dot") if _is_array(one) else self.vectors[self._row(one)]
                own += [] if _is_array(one) else [self._row(one)]
                direction = vector.astype(np.float64)
                total += sign * direction / (np.linalg.norm(direction) or 1)
        if not own and not total.any():
            raise InputError("there is nothing to be similar to; give nodes as positive or negative")
        return self._search(total[None], k, "cosine", self._among(among, of_type), [tuple(own)])[0]

    def index(self, *, recall: float = 0.99, metric: str | None = None, lists: int | None = None) -> Index:
        """An index that answers as `nearest` does, quicker, and says how many of the k nearest it misses.

        It is for some 100,000 nodes and more, and needs faiss (the extra `search`); `nearest` stays exact. `Index` says
        more.
        """
        from netfold.data.index import indexed

        return indexed(self, recall=recall, metric=metric, lists=lists)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the nodes and of their vectors: what an index knows its embedding by."""
        import hashlib

        digest = hashlib.sha256(f"{self.nodes.kind} {self.shape}".encode())
        for array in (*self.nodes.arrays().values(), self.vectors, *([] if self.std is None else [self.std])):
            digest.update(f"{array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def _coordinates_of(self, rows: Ints) -> Floats32:
        """The `coordinates` of some rows."""
        return self.vectors[rows] if self.std is None else np.hstack([self.vectors[rows], self.std[rows]])

    def _among(self, nodes: Any, of_type: str | None) -> Ints | None:
        """The rows that may be answers, in order; None where all may."""
        if nodes is None and of_type is None:
            return None
        rows = None if nodes is None else unique_values(self.nodes.positions(list(nodes)))
        if of_type is None:
            return rows
        types = self._rows_of_types
        of_this = types.get(of_type, np.empty(0, np.int64))
        if rows is not None:
            of_this = np.intersect1d(rows, of_this, assume_unique=True)
        if not len(of_this):
            hint = f"there are {', '.join(map(printable, types))}" if types else "nodes with types are (type, name)"
            where = "no node" if nodes is None else "none of these nodes"
            raise InputError(f"of_type={of_type!r} is the type of {where}; {hint}")
        return of_this

    @cached_property
    def _rows_of_types(self) -> dict[str, Ints]:
        """The rows of the nodes that are called (type, name), in order, by their type."""
        rows: dict[str, list[int]] = {}
        for i, node in enumerate(self.nodes if self.nodes.kind == "json" else ()):
            if is_typed(node):
                rows.setdefault(node[0], []).append(i)
        return {name: np.array(x, np.int64) for name, x in rows.items()}

    def _search(
        self, queries: npt.NDArray[Any], k: int, metric: str, rows: Ints | None, own: list[tuple[int, ...]]
    ) -> list[list[tuple[Any, float]]]:
        """For each query the k best of `rows`, without its `own`."""
        vectors, std, norms = self.vectors, self.std if metric == "euclidean" else None, self._norms
        sizes, moderate = self._reaches if metric == "euclidean" else self._rough_norms
        if rows is not None:
            vectors, std, norms, sizes = vectors[rows], None if std is None else std[rows], norms[rows], sizes[rows]
        most, answers = k + max(map(len, own), default=0), []
        for start in range(0, len(queries), _TOGETHER):
            some = queries[start : start + _TOGETHER].astype(np.float64)
            search = _Search(vectors, std, norms, sizes if moderate else None, some, most, metric)
            for leave_out, (places, costs) in zip(own[start:], search.best(), strict=False):
                answers.append(self._named(places if rows is None else rows[places], costs, k, metric, leave_out))
        return answers

    def _ranked(
        self, queries: npt.NDArray[Any], k: int, metric: str, rows: Ints, own: list[tuple[int, ...]]
    ) -> list[list[tuple[Any, float]]]:
        """As `_search`, among the rows that an index proposes for each query: m x c, -1 for none."""
        most, std = k + max(map(len, own), default=0), self.std if metric == "euclidean" else None
        search = _Search(self.vectors, std, self._norms, None, queries.astype(np.float64), most, metric)
        proposed = rows >= 0
        pairs = np.nonzero(proposed)[0] if len(rows) > 1 else np.zeros(np.count_nonzero(proposed), np.int64)
        best = zip(own, search.ranked([(pairs, rows[proposed])]), strict=True)
        return [self._named(rows, costs, k, metric, leave_out) for leave_out, (rows, costs) in best]

    def _named(
        self, rows: Ints, costs: Floats32, k: int, metric: str, leave_out: tuple[int, ...]
    ) -> list[tuple[Any, float]]:
        """The first k of some rows as nodes, each with its score."""
        scores = (costs if metric == "euclidean" else 0 - costs).tolist()
        places = rows.tolist()
        if any(row in places for row in leave_out):
            pairs = [x for x in zip(places, scores, strict=True) if x[0] not in leave_out]
            places, scores = [i for i, _ in pairs], [score for _, score in pairs]
        return list(zip(self.nodes.at(places[:k]), scores[:k], strict=True))

    @cached_property
    def _norms(self) -> npt.NDArray[np.float64]:
        """The length of each vector, 1 for a vector of zeros."""
        lengths = _lengths(self.vectors)
        lengths[lengths == 0] = 1
        return lengths

    @cached_property
    def _rough_norms(self) -> tuple[Floats32, bool]:
        """`_norms` in float32, and whether products in float32 hold there."""
        return self._norms.astype(np.float32), _is_moderate(self._norms)

    @cached_property
    def _reaches(self) -> tuple[Floats32, bool]:
        """The length of each node's coordinates in float32, and whether products in float32 hold there."""
        lengths = _lengths(self.vectors)
        if self.std is not None:
            lengths = np.hypot(lengths, _lengths(self.std))
        return lengths.astype(np.float32), _is_moderate(lengths[lengths > 0])

    def _as_query(self, query: Any, metric: str) -> npt.NDArray[Any]:
        width = 2 * self.dim if metric == "euclidean" and self.std is not None else self.dim
        vector = _as_floats(query, "the query")
        if vector.shape != (width,):
            what = "the coordinates [mean, std] of a node" if width > self.dim else "a vector"
            raise InputError(f"the query has the shape {vector.shape}; give a node, or {what}: {width} numbers")
        if not np.isfinite(vector).all():
            raise InputError("the query holds a number that is not finite")
        return vector

    def _rows(self, query: list[Any]) -> Ints:
        """The rows of a list of nodes; one that holds numbers that are none may have been meant as a vector."""
        rows = self.nodes.find(query)
        unknown = [query[i] for i in np.flatnonzero(rows < 0)[:1]]
        if unknown and isinstance(unknown[0], (list, float, int)):
            raise InputError(f"a list is a list of nodes, and {unknown[0]!r} is none; give a vector as an array")
        self.nodes.positions(unknown)
        return rows

    def _row(self, node: Any) -> int:
        return int(self.nodes.positions([node])[0])

    def groups(self, k: int | None = None, *, seed: int = 0) -> NodeGroups:
        """The nodes in k groups of like directions, by k-means of vectors at length 1; group 0 is the largest.

        Where `k` is None, the number from 2 to 50 with the largest mean silhouette (on up to 2,000 nodes) is taken;
        the `silhouettes` of all that were tried are kept, and near 0 the groups are not apart.

        >>> Embedding("abcd", [[1, 0], [1, 0.1], [0, 1], [0.1, 1]]).groups(2).sizes
        [2, 2]
        """
        from netfold.data.groups import grouped

        return grouped(self, k, seed)

    # ---------------------------------------------------------------- made into, and files

    def to_pandas(self) -> pandas.DataFrame:
        """A table with the nodes as its index and the columns v0, v1, ... and, with `std`, s0, s1, ..."""
        import pandas as pd

        index = pd.Index(list(self.nodes), tupleize_cols=False, name="node")
        letters = "v" if self.std is None else "vs"
        names = [f"{letter}{j}" for letter in letters for j in range(self.dim)]
        return pd.DataFrame(self.coordinates, index=index, columns=names, copy=True)

    def to_keyed_vectors(self) -> Any:
        """gensim's `KeyedVectors` with the same vectors; nodes are strings there."""
        from netfold.data.interop import to_keyed_vectors

        return to_keyed_vectors(self.nodes, self.vectors)

    def save(self, path: str | os.PathLike[str], *, force: bool = False, columns: str = "wide") -> None:
        """Write a file of the format that its ending names: .parquet, .npz, .npy, .csv, .tsv, .txt, .w2v, .vec, .bin.

        Parquet and npz keep everything, `fitted_to` too. The others are for other programs: they hold nodes as plain
        text, so that integers are recognised when they are read and other nodes than strings and integers are refused,
        and, but for .csv and .tsv, the vectors without `std`. `netfold.io.vectors` describes each. With
        `columns="list"` parquet has one list column `vector`, as vector stores want it, in place of v0, v1, ...
        """
        from netfold.io import vectors

        stored = vectors.Stored(self.nodes, self.vectors, self.std, self.fitted_to)
        vectors.write_vectors(Path(path), stored, force=force, columns=columns)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Embedding:
        """Read a file that `save` wrote, or that another program wrote in one of its formats."""
        from netfold.io import vectors

        with vectors.damage_named(Path(path)):
            stored = vectors.read_vectors(Path(path))
            return Embedding(stored.nodes, stored.vectors, stored.std, fitted_to=stored.fitted_to)


def _restored(nodes: Nodes, vectors: Floats32, std: Floats32 | None, fitted_to: str | None) -> Embedding:
    return Embedding(nodes, vectors, std, fitted_to=fitted_to)


def _as_floats(values: Any, name: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} is not an array: its rows differ in length") from None
    if array.dtype.kind not in "buif":
        raise InputError(f"{name} holds real numbers, not {array.dtype}")
    return array


def _as_matrix(values: Any, name: str, nodes: Nodes) -> Floats32:
    """A read-only float32 matrix with a row for each node; the given array stays as it is."""
    floats = _as_floats(values, name)
    if floats.ndim != 2 or floats.shape[1] == 0:
        raise InputError(f"{name} has the shape {floats.shape}; a matrix with a row for each node is needed")
    if len(floats) != len(nodes):
        raise InputError(
            f"{name} has {counted(len(floats), 'row')} for {counted(len(nodes), 'node')}; it needs one for each"
        )
    with np.errstate(over="ignore"):
        matrix = np.ascontiguousarray(floats, dtype=np.float32)
    if matrix.size and not (np.isfinite(matrix.min()) and np.isfinite(matrix.max())):
        row = int(np.argmin(np.isfinite(matrix).all(axis=1)))
        raise InputError(f"{name} of {nodes[row]!r} holds a number that is not finite in float32")
    return _read_only(matrix)


def _read_only(array: Floats32) -> Floats32:
    view = array.view()
    view.flags.writeable = False
    return view


def _is_several(node: Any) -> bool:
    return isinstance(node, (list, Nodes)) or _is_array(node)


def _is_array(x: Any) -> bool:
    """numpy's arrays, and tensors and series, which can be seen as such; not numpy's scalars, which are nodes."""
    return hasattr(x, "__array__") and getattr(x, "ndim", 1) > 0


def _as_count(k: Any) -> int:
    try:
        count = operator.index(k)
    except TypeError:
        raise InputError(f"k={k!r} is not a whole number") from None
    if count < 1:
        raise InputError(f"k={count} asks for no neighbor; k is at least 1")
    return count


def _squares(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The squared length of each row."""
    squares: npt.NDArray[np.float64] = np.einsum("ij,ij->i", rows, rows)
    return squares


def _lengths(vectors: Floats32) -> npt.NDArray[np.float64]:
    """The length of each row."""
    step = max(1, _BLOCK // vectors.shape[1])
    blocks = [_squares(vectors[a : a + step].astype(np.float64)) for a in range(0, len(vectors), step)]
    lengths: npt.NDArray[np.float64] = np.sqrt(np.concatenate([np.empty(0), *blocks]))
    return lengths


class _Search:
    """The k rows of least cost for each of some queries, exactly, from products in float32.

    What is to be small is -x·q ("dot"), -x·q / |x||q| ("cosine") or |x - q| ("euclidean"). It is computed in float64
    and rounded to float32, so that equal vectors have equal costs, but only for rows that a product in float32 leaves
    in question. That is off by (d + 8) u at most, as a share of |x||q| or of (|x| + |q|)² (u = 2⁻²⁴; Higham, Accuracy
    and Stability, §3.1, and Cauchy-Schwarz); twice that, and some, is allowed for. Where numbers are so large or small
    that float32 would overflow or underflow, every row is in question.
    """

    def __init__(
        self,
        vectors: Floats32,
        std: Floats32 | None,
        norms: npt.NDArray[np.float64],
        sizes: Floats32 | None,
        queries: npt.NDArray[np.float64],
        k: int,
        metric: str,
    ):
        """`queries` is m x d, or m x 2d with `std`; `norms` are the lengths of `vectors`, 1 for zeros.

        `sizes` are the lengths that rough products need, of `norms` or of [vectors, std]; None where those do not hold.
        """
        self._vectors, self._std, self._k, self._metric = vectors, std, k, metric
        lengths = np.sqrt(np.square(queries).sum(axis=1))
        if metric == "cosine":
            queries = queries / np.where(lengths > 0, lengths, 1)[:, None]
            lengths = (lengths > 0).astype(np.float64)
        self._queries, self._lengths, self._norms = queries, lengths, norms
        moderate = sizes is not None and vectors.shape[1] < 1 << 16 and _is_moderate(lengths[lengths > 0])
        self._sizes = sizes if moderate else None
        self._error = 2.0**-23 * (queries.shape[1] + 16)
        none = np.empty(0, np.int64)
        self._best: tuple[Ints, Ints, Floats32] = none, none, np.empty(0, np.float32)  # query, row, cost, in order
        self._limits = np.full(len(queries), np.inf)  # the cost of the k-th best so far

    def best(self) -> list[tuple[Ints, Floats32]]:
        """The rows and costs for each query, in order; of equal costs the earlier row comes first."""
        m, width = self._queries.shape
        step = max(1, 16 * _BLOCK // max(width, m))
        waiting: list[tuple[Ints, Ints]] = []
        for start in range(0, len(self._vectors), step):
            waiting.append(self._in_question(slice(start, min(start + step, len(self._vectors)))))
            if start == 0 or sum(len(query) for query, _ in waiting) >= m * self._k:
                self._settle(waiting)
                waiting = []
        return self.ranked(waiting)

    def ranked(self, pairs: list[tuple[Ints, Ints]]) -> list[tuple[Ints, Floats32]]:
        """As `best`, of the rows in these pairs of queries and rows, beside those that were settled before."""
        m = len(self._queries)
        if m == 1 and not len(self._best[0]) and len(pairs) == 1:  # as below, without what several need
            ((query, row),) = pairs
            cost = self._costs(query, row)
            order = np.lexsort((row, cost))[: self._k]
            return [(row[order], cost[order])]
        self._settle(pairs)
        query, row, cost = self._best
        ends = np.searchsorted(query, np.arange(m + 1))
        return [(row[a:b], cost[a:b]) for a, b in itertools.pairwise(ends.tolist())]

    def _in_question(self, block: slice) -> tuple[Ints, Ints]:
        """Pairs of a query and a row of the block that may be among the k best."""
        if self._sizes is None:
            every = np.indices((len(self._queries), block.stop - block.start))
            return every[0].ravel(), every[1].ravel() + block.start
        costs, errors = self._products(block, self._sizes[block])
        limits = self._limits**2 * (1 + 2.0**-20) if self._metric == "euclidean" else self._limits
        if costs.shape[1] >= self._k and np.isinf(limits).any():  # the k-th of these bounds the k-th of all
            limits = np.minimum(limits, _bound(costs, self._k) + errors)
        with np.errstate(over="ignore"):
            at = np.flatnonzero(costs <= _rounded_up(limits + errors)[:, None])
        query, row = np.divmod(at, costs.shape[1])
        return query, row + block.start

    def _products(self, block: slice, sizes: Floats32) -> tuple[Floats32, npt.NDArray[np.float64]]:
        """Costs of a block in float32 (m x rows; of "euclidean" the squares), and how far off each query's may be."""
        d, queries = self._vectors.shape[1], self._queries.astype(np.float32)
        products = _times(queries[:, :d], self._vectors[block])
        if self._std is not None:
            products += _times(queries[:, d:], self._std[block])
        largest = float(sizes.max(initial=0))
        if self._metric == "euclidean":
            products *= -2
            products += np.square(sizes)
            products += np.square(self._lengths)[:, None].astype(np.float32)
            return products, self._error * (self._lengths + largest) ** 2
        if self._metric == "cosine":
            products /= -sizes
            return products, self._error * self._lengths
        return np.negative(products, out=products), self._error * self._lengths * largest

    def _settle(self, waiting: list[tuple[Ints, Ints]]) -> None:
        """Compute what the rows in question cost, and leave the k best for each query, and with them new limits."""
        step = max(1, _BLOCK // self._queries.shape[1])
        pieces = [self._best]
        for query, row in waiting:
            some = [slice(a, a + step) for a in range(0, len(query), step)]
            pieces += [(query[s], row[s], self._costs(query[s], row[s])) for s in some]
        query, row, cost = (np.concatenate(column) for column in zip(*pieces, strict=True))
        order = np.lexsort((row, cost, query))
        query = query[order]
        first = np.arange(len(order)) - np.searchsorted(query, query) < self._k  # of each query
        self._best = query[first], row[order[first]], cost[order[first]]
        full = np.flatnonzero(np.bincount(self._best[0], minlength=len(self._queries)) == self._k)
        if len(full):
            self._limits[full] = self._best[2][np.searchsorted(self._best[0], full, side="right") - 1]

    def _costs(self, query: Ints, row: Ints) -> Floats32:
        """What pairs of a query and a row cost."""
        d, one = self._vectors.shape[1], len(self._queries) == 1
        queries = self._queries if one else self._queries[query]
        if self._metric == "euclidean":
            costs = _squares(self._vectors[row] - queries[:, :d])
            if self._std is not None:
                costs += _squares(self._std[row] - queries[:, d:])
            np.sqrt(costs, out=costs)
        else:
            sums, queries = ("ij,j->i", queries[0]) if one else ("ij,ij->i", queries)
            costs = -np.einsum(sums, self._vectors[row].astype(np.float64), queries)
            if self._metric == "cosine":
                costs /= self._norms[row]
        with np.errstate(over="ignore"):
            return costs.astype(np.float32)


def _bound(costs: Floats32, k: int) -> Floats32:
    """A number for each row that at least k of its entries do not exceed, near the k-th: m x n, made m.

    It is the k-th of the least entries of some groups: k entries, one of each group, do not exceed it.
    """
    m, n = costs.shape
    groups = max(512, 16 * k)
    if n >= 2 * groups:
        costs = costs[:, : n - n % groups].reshape(m, -1, groups).min(axis=1)
    kth: Floats32 = np.partition(costs, k - 1, axis=1)[:, k - 1]
    return kth


def _times(queries: Floats32, table: Floats32) -> Floats32:
    """Q Xᵀ; of a single query as a product with a vector, which reads X once."""
    return (table @ queries[0])[None] if len(queries) == 1 else queries @ table.T


def _is_moderate(sizes: npt.NDArray[np.float64]) -> bool:
    """Whether the squares of lengths, and products of them, are far from the ends of float32."""
    return bool(sizes.min(initial=1) > 1e-12 and sizes.max(initial=1) < 1e12)


def _rounded_up(x: npt.NDArray[np.float64]) -> Floats32:
    return np.nextafter(x.astype(np.float32), np.float32(np.inf))


@dataclass(frozen=True, eq=False)
class Alignment:
    """A rotation that brings new vectors to old ones, and what is left between them."""

    rotation: npt.NDArray[np.float64]
    """d x d, orthogonal: a rotation, or a reflection."""
    shift: npt.NDArray[np.float64]
    """d: what is added after it."""
    residual: float
    """How far common nodes are apart after it, at the median, as a share of the old vectors' median length."""
    common: int
    """Nodes that both have."""

    def of(self, embedding: Embedding) -> Embedding:
        """An embedding of the new space, in the old one; deviations stay as they are only where axes do."""
        vectors = (embedding.vectors @ self.rotation + self.shift).astype(np.float32)
        std = embedding.std
        if std is not None:  # the diagonal of Rᵀ diag(σ²) R
            std = np.sqrt(std.astype(np.float64) ** 2 @ self.rotation**2).astype(np.float32)
        return Embedding(embedding.nodes, vectors, std, fitted_to=embedding.fitted_to)

    def back(self, embedding: Embedding) -> Embedding:
        """An embedding of the old space, in the new one."""
        turned = Alignment(self.rotation.T, -self.shift @ self.rotation.T, self.residual, self.common)
        return turned.of(embedding)


def align(new: Any, old: Any) -> Alignment:
    """The rotation that brings the vectors of one fit nearest to those of another: orthogonal Procrustes.

    R = argmin Σ ‖(x_i - x̄) R - (y_i - ȳ)‖² over the nodes that both have, at least as many as there are dimensions. A
    refit has axes of its own: what was built on the old vectors reads `align(new, old).of(new)`.

    >>> old = Embedding("abc", [[1, 0], [0, 1], [-1, -1]])
    >>> turned = Embedding("abc", [[0, 1], [-1, 0], [1, -1]])
    >>> found = align(turned, old)
    >>> found.of(turned)["a"].round(6).tolist(), round(found.residual, 6)
    ([1.0, -0.0], 0.0)
    """
    ours, theirs = (x if isinstance(x, Embedding) else x.embedding_ for x in (new, old))
    if ours.dim != theirs.dim:
        raise InputError(f"vectors of {ours.dim} and of {theirs.dim} numbers cannot be aligned; they need as many")
    at = theirs.nodes.find(ours.nodes)
    both = np.flatnonzero(at >= 0)
    if len(both) < ours.dim:
        raise InputError(f"{len(both):,} nodes are in both, and a rotation of {ours.dim} dimensions needs as many")
    x, y = ours.vectors[both].astype(np.float64), theirs.vectors[at[both]].astype(np.float64)
    centers = x.mean(axis=0), y.mean(axis=0)
    left, _, right = np.linalg.svd((x - centers[0]).T @ (y - centers[1]))
    rotation = left @ right
    shift = centers[1] - centers[0] @ rotation
    apart = np.linalg.norm(x @ rotation + shift - y, axis=1)
    length = float(np.median(np.linalg.norm(y - centers[1], axis=1))) or 1.0
    return Alignment(rotation, shift, float(np.median(apart)) / length, len(both))
