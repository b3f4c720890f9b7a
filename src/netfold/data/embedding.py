"""`Embedding`: a vector for every node, whatever made it."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import Floats32, check_choice
from netfold.data.gaussians import widths
from netfold.data.nodes import Nodes
from netfold.errors import InputError

if TYPE_CHECKING:
    import pandas

__all__ = ["Alignment", "Embedding", "align"]

_METRICS = ("cosine", "euclidean", "dot")
_BLOCK = 1 << 17
"""Numbers of an embedding that a search looks at together: 1 MiB in float64, which stays in the cache."""


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
                raise InputError(f"std has {std.shape[1]} columns, vectors have {vectors.shape[1]}; they need as many")
            if std.size and std.min() <= 0:
                raise InputError(f"the standard deviation of {nodes[int(std.min(axis=1).argmin())]!r} is not above 0")
            object.__setattr__(self, "std", std)
        if self.fitted_to is not None and not isinstance(self.fitted_to, str):
            raise InputError(f"fitted_to is a {type(self.fitted_to).__name__}; give the fingerprint of a graph")

    # ---------------------------------------------------------------- by node

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.vectors.shape[1])

    @property
    def coordinates(self) -> Floats32:
        """`vectors`, or [vectors, std] (n x 2 dim), where Euclidean distance is the Gaussians' 2-Wasserstein distance.

        W2(i, j)² = |μ_i - μ_j|² + |σ_i - σ_j|², because diagonal covariances commute.
        """
        return self.vectors if self.std is None else _read_only(np.hstack([self.vectors, self.std]))

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
        return f"Embedding({len(self):,} nodes, {self.dim:,} dimensions{spread})"

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
            raise InputError(f"{self} has no std; uncertainty is of Gaussians: Embedding(nodes, vectors, std)")
        several = _is_several(node)
        mean_variances = widths(self.std[self.nodes.positions(node if several else [node])], largest)
        return mean_variances if several else float(mean_variances[0])

    # ---------------------------------------------------------------- neighbors

    def nearest(self, query: Any, k: int = 10, *, metric: str | None = None) -> Any:
        """The k nodes nearest to a node, itself left out, or to a vector: (node, score), the best first.

        Of a list of nodes it is a list of such lists, one for each.

        `metric` is "cosine" or "dot" (a similarity of `vectors`, the largest first) or "euclidean" (a distance in
        `coordinates`, the smallest first: W2 where there is `std`). By default it is "euclidean" with `std`, "cosine"
        without. A vector is an array; a list is a list of nodes, a tuple is a node; a vector of zeros has the cosine 0
        to all.
        The search is exact, and of equal scores the earlier node comes first.
        """
        metric = metric or ("cosine" if self.std is None else "euclidean")
        check_choice(_METRICS, metric=metric)
        k = _as_count(k)
        if isinstance(query, list):
            self._check_nodes(query)
            return [self.nearest(node, k, metric=metric) for node in query]
        if _is_array(query):
            return self._search(self._as_query(query, metric), k, metric)
        own = self._row(query)
        vector = self.vectors[own]
        if metric == "euclidean" and self.std is not None:
            vector = np.concatenate([vector, self.std[own]])
        nearest = self._search(vector, k + 1, metric, own)
        return nearest[:k]

    def _search(self, query: npt.NDArray[Any], k: int, metric: str, own: int = -1) -> list[tuple[Any, float]]:
        """The k best rows, `own` left out. A block's costs join the best so far: memory is bounded by block and k."""
        query = query.astype(np.float64)
        if metric == "cosine":
            query /= np.linalg.norm(query) or 1
        step = max(1, _BLOCK // self.dim)
        costs, rows = np.empty(0, np.float32), np.empty(0, np.int64)
        for start in range(0, len(self), step):
            block = slice(start, min(start + step, len(self)))
            costs = np.concatenate([costs, self._costs(query, block, metric)])
            rows = np.concatenate([rows, np.arange(block.start, block.stop)])
            best = _smallest(costs, k)
            costs, rows = costs[best], rows[best]
        scores = (costs if metric == "euclidean" else 0 - costs).tolist()
        return [(self.nodes[i], score) for i, score in zip(rows.tolist(), scores, strict=True) if i != own]

    def _costs(self, query: npt.NDArray[np.float64], block: slice, metric: str) -> Floats32:
        """What is to be small for each row of a block.

        It is computed in float64, as a product of float32 overflows and rounds differently from row to row; rounded
        afterwards, equal vectors have equal costs.
        """
        vectors = self.vectors[block]
        if metric == "euclidean":
            costs = _squares(vectors - query[: self.dim])
            if self.std is not None:
                costs += _squares(self.std[block] - query[self.dim :])
            np.sqrt(costs, out=costs)
        else:
            costs = -(vectors.astype(np.float64) @ query)
            if metric == "cosine":
                costs /= self._norms[block]
        with np.errstate(over="ignore"):
            return costs.astype(np.float32)

    @cached_property
    def _norms(self) -> npt.NDArray[np.float64]:
        """The length of each vector, 1 for a vector of zeros."""
        step = max(1, _BLOCK // self.dim)
        blocks = [_squares(self.vectors[a : a + step].astype(np.float64)) for a in range(0, len(self), step)]
        norms = np.sqrt(np.concatenate(blocks))
        norms[norms == 0] = 1
        return norms

    def _as_query(self, query: Any, metric: str) -> npt.NDArray[Any]:
        width = 2 * self.dim if metric == "euclidean" and self.std is not None else self.dim
        vector = _as_floats(query, "the query")
        if vector.shape != (width,):
            what = "the coordinates [mean, std] of a node" if width > self.dim else "a vector"
            raise InputError(f"the query has the shape {vector.shape}; give a node, or {what}: {width} numbers")
        if not np.isfinite(vector).all():
            raise InputError("the query holds a number that is not finite")
        return vector

    def _check_nodes(self, query: list[Any]) -> None:
        """Refuse a list that holds other things than nodes; one of numbers may have been meant as a vector."""
        unknown = [x for x in query if isinstance(x, list) or x not in self.nodes][:1]
        if unknown and isinstance(unknown[0], (list, float, int)):
            raise InputError(f"a list is a list of nodes, and {unknown[0]!r} is none; give a vector as an array")
        self.nodes.positions(unknown)

    def _row(self, node: Any) -> int:
        return int(self.nodes.positions([node])[0])

    # ---------------------------------------------------------------- made into, and files

    def to_pandas(self) -> pandas.DataFrame:
        """A table with the nodes as its index and the columns v0, v1, ... and, with `std`, s0, s1, ..."""
        import pandas as pd

        index = pd.Index(list(self.nodes), tupleize_cols=False, name="node")
        letters = "v" if self.std is None else "vs"
        names = [f"{letter}{j}" for letter in letters for j in range(self.dim)]
        return pd.DataFrame(self.coordinates, index=index, columns=names, copy=True)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a file of the format that its ending names: .parquet, .npz, .npy, .csv, .tsv, .txt, .w2v, .vec, .bin.

        Parquet and npz keep everything, `fitted_to` too. The others are for other programs: they hold nodes as plain
        text, so that integers are recognised when they are read and other nodes than strings and integers are refused,
        and, but for .csv and .tsv, the vectors without `std`. `netfold.io.vectors` describes each.
        """
        from netfold.io import vectors

        vectors.write_vectors(
            Path(path), vectors.Stored(self.nodes, self.vectors, self.std, self.fitted_to), force=force
        )

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Embedding:
        """Read a file that `save` wrote, or that another program wrote in one of its formats."""
        from netfold.io import vectors

        with vectors.damage_named(Path(path)):
            stored = vectors.read_vectors(Path(path))
            return Embedding(stored.nodes, stored.vectors, stored.std, fitted_to=stored.fitted_to)


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
        raise InputError(f"{name} has {len(floats):,} rows for {len(nodes):,} nodes; it needs one for each")
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


def _smallest(costs: Floats32, k: int) -> npt.NDArray[np.intp]:
    """Where the k smallest stand, in order; of equals the first, which `argpartition` alone would not say."""
    if k >= len(costs):
        return np.argsort(costs, kind="stable")
    limit = np.partition(costs, k - 1)[k - 1]
    among = np.flatnonzero(costs <= limit)
    return among[np.argsort(costs[among], kind="stable")[:k]]


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
