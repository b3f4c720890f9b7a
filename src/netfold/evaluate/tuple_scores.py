"""Scores of tuples of nodes, higher where a hyperedge is likelier: a model's own, of vectors, and two cheap ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.errors import InputError
from netfold.evaluate.result import embedding_of
from netfold.evaluate.tuples import Codes, decoded
from netfold.hypergraph import Hypergraph

__all__ = ["AGGREGATES", "cheap_scorers", "cosine_scores", "own_scorer"]

AGGREGATES = ("mean", "min")

Floats = npt.NDArray[np.float64]
TupleScores = Callable[[Codes], Floats]
"""From the rows of m tuples to m scores."""

_BLOCK = 1 << 15
"""Tuples whose vectors are looked at together."""


def own_scorer(model: Any, known: Hypergraph, aggregate: str | None) -> TupleScores:
    """The model's own scores of tuples of `known`'s nodes or, with `aggregate` or where it has none, of its vectors."""
    if aggregate is None and hasattr(model, "score"):
        return lambda rows: _checked(model.score(decoded(rows, known.nodes)), len(rows), model)
    embedding = embedding_of(model)
    embedding.nodes.positions(known.nodes)
    return lambda rows: cosine_scores(rows, embedding[known.nodes], aggregate or "mean")


def cosine_scores(rows: Codes, vectors: npt.ArrayLike, aggregate: str = "mean") -> Floats:
    """The mean or the least cosine over the pairs of each tuple; a vector of zeros has the cosine 0 to all.

    >>> cosine_scores(np.array([[0, 1, 2]]), [[1, 0], [2, 0], [0, 1]], "min").tolist()
    [0.0]
    """
    given = np.asarray(vectors, np.float64)
    length = np.linalg.norm(given, axis=1, keepdims=True)
    unit = given / np.where(length > 0, length, 1)
    least, total, count = np.full(len(rows), np.inf), np.zeros(len(rows)), np.zeros(len(rows))
    for at, u, v in _pairs(rows):
        cosine = np.concatenate([np.empty(0), *(_products(unit, u[i], v[i]) for i in _parts(len(u)))])
        least[at] = np.minimum(least[at], cosine)
        total[at] += cosine
        count[at] += 1
    return least if aggregate == "min" else total / count


def cheap_scorers(known: Hypergraph) -> dict[str, TupleScores]:
    """Σ log(1 + count) over the pairs of a tuple, in how many hyperedges two nodes are together; and Σ log(1 + degree)
    over its nodes, in how many hyperedges each is."""
    together = _entries(known.adjacency())
    degrees = np.log1p(known.incidence().sum(axis=1, dtype=np.float64))

    def cooccurrence(rows: Codes) -> Floats:
        total = np.zeros(len(rows))
        for at, u, v in _pairs(rows):
            total[at] += np.log1p(together(u, v))
        return total

    def sizes(rows: Codes) -> Floats:
        total: Floats = np.where(rows >= 0, degrees[rows], 0).sum(axis=1)
        return total

    return {"pair co-occurrence": cooccurrence, "log degrees": sizes}


def _entries(matrix: sparse.csr_array) -> Callable[[Codes, Codes], Floats]:
    """The entries of a matrix at some pairs of row and column, 0 where there is none."""
    entries, n = matrix.tocoo(), matrix.shape[1]
    keys = entries.coords[0].astype(np.int64) * n + entries.coords[1]
    order = np.argsort(keys)
    sorted_keys, values = np.append(keys[order], -1), np.append(entries.data[order], 0).astype(np.float64)

    def at(rows: Codes, columns: Codes) -> Floats:
        place = np.searchsorted(sorted_keys[:-1], rows * n + columns)
        return np.where(sorted_keys[place] == rows * n + columns, values[place], 0)

    return at


def _pairs(rows: Codes) -> Iterator[tuple[npt.NDArray[np.int64], Codes, Codes]]:
    """For each two columns: the tuples that are so long, and their nodes there."""
    for a, b in combinations(range(rows.shape[1]), 2):
        at = np.flatnonzero(rows[:, b] >= 0)  # b is the later one
        yield at, rows[at, a], rows[at, b]


def _parts(m: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, m, _BLOCK))


def _products(unit: Floats, u: Codes, v: Codes) -> Floats:
    made: Floats = np.einsum("ij,ij->i", unit[u], unit[v])
    return made


def _checked(scores: Any, m: int, model: Any) -> Floats:
    found = np.asarray(scores, np.float64)
    if found.shape != (m,) or not np.isfinite(found).all():
        what = f"{type(model).__name__}.score gave an array of shape {found.shape}"
        raise InputError(f"{what} for {m:,} tuples; one finite number for each is needed")
    return found
