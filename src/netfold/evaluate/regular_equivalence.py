"""Whether vectors are alike where nodes play the same part: their ranking of pairs against a similarity of vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from netfold.errors import InputError
from netfold.evaluate.baselines import baseline_embeddings, pair_scorers
from netfold.evaluate.centralities import largest_eigenpair
from netfold.evaluate.checks import check_at_least_one, check_choice, is_between
from netfold.evaluate.edges import linked
from netfold.evaluate.node_labels import Floats, Rows
from netfold.evaluate.pairs import PairScores, of_vectors, pair_scores
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.graph import Graph

__all__ = ["SIMILARITIES", "regular_equivalence", "vs_similarity"]

SIMILARITIES = ("vs",)
_SOURCES = 512
"""Of a graph with too many pairs, so many nodes are compared with others: each costs a linear system."""
_TOLERANCE, _ROUNDS = 1e-10, 1_000
"""Of conjugate gradients: some 60 rounds do where alpha is .97."""
_BLOCK_NUMBERS = 1 << 21


def regular_equivalence(
    model: Any,
    graph: Any,
    *,
    similarity: str = "vs",
    alpha: float = 0.97,
    score: str = "dot",
    pairs: int = 1_000_000,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """Kendall's τ (τ-b) between the scores of pairs of nodes and their similarity as vertices.

    The similarity is VS (see `vs_similarity`), the score one that `pair_scores` knows: DRNE's paper takes the product.
    All pairs of two nodes that have links are ranked; where there are more than `pairs`, that many random ones with one
    end among 512 random nodes. The baselines are spectral vectors of the same width and the heuristics of pairs.
    """
    check_choice(SIMILARITIES, similarity=similarity)
    check_at_least_one(pairs=pairs)
    if not is_between(alpha, 0, 1):
        raise InputError(f"alpha={alpha!r} is not a number between 0 and 1, such as 0.97")
    known = Graph.of(graph)
    links = linked(known)
    some = np.flatnonzero(np.diff(links.indptr))
    if len(some) < 3:
        raise InputError("the graph has fewer than 3 nodes with links; there is nothing to rank")
    scored = {name_of(model): pair_scores(model, known, score)}
    u, v = _pairs(some, pairs, seed)
    truth = _Similarity(links, alpha).at(u, v)
    if baselines:
        scored |= _cheap(known, embedding_of(model).dim, score, seed)
    found = {name: {"Kendall τ": _kendall(x, u, v, truth)} for name, x in scored.items()}
    every = len(u) == len(some) * (len(some) - 1) // 2
    protocol = {"similarity": similarity, "alpha": alpha, "score": score, "pairs": len(u)}
    protocol |= {"chosen": "all" if every else f"random, one end among {len(np.unique(u))} random nodes"}
    if len(some) < known.n_nodes:
        protocol["nodes left out without links"] = known.n_nodes - len(some)
    own = found.pop(name_of(model))
    return Result("regular equivalence", name_of(model), own, protocol | {"seed": seed}, found)


def vs_similarity(graph: Any, columns: Rows, alpha: float = 0.97) -> Floats:
    """Some columns of S = D⁻¹ (1 - α A / λ₁)⁻¹ D⁻¹ (Leicht, Holme and Newman 2006): n x m, 0 for nodes without links.

    A is 1 where two nodes are linked in either direction, D has its row sums, λ₁ is its largest eigenvalue; the paper's
    factor 2 m λ₁ is left out, as it changes no ranking. Nodes are alike where there are more walks between them than
    their degrees make one expect.
    """
    return _Similarity(linked(Graph.of(graph)), alpha).columns(np.asarray(columns, np.int64))


class _Similarity:
    """VS similarity, a linear system for each column."""

    def __init__(self, links: sparse.csr_array, alpha: float):
        degrees = links.sum(axis=1)
        self._inverse = np.where(degrees > 0, 1 / np.where(degrees > 0, degrees, 1), 0)  # of D
        self._step = links * (alpha / max(largest_eigenpair(links)[0], 1)) if links.nnz else links

    def columns(self, columns: Rows) -> Floats:
        unit = np.zeros((len(self._inverse), len(columns)))
        unit[columns, np.arange(len(columns))] = self._inverse[columns]
        return np.asarray(self._inverse[:, None] * _solved(self._step, unit))

    def at(self, u: Rows, v: Rows) -> Floats:
        """Of m pairs: the columns of u in blocks."""
        made, order, starts = np.empty(len(u)), np.argsort(u, kind="stable"), np.unique(u)
        size = max(1, _BLOCK_NUMBERS // len(self._inverse))
        for i in range(0, len(starts), size):
            part = starts[i : i + size]
            mine = order[slice(*np.searchsorted(u[order], [part[0], part[-1] + 1]))]
            made[mine] = self.columns(part)[v[mine], np.searchsorted(part, u[mine])]
        return made


def _solved(step: sparse.csr_array, right: Floats) -> Floats:
    """X of (1 - step) X = right by conjugate gradients, every column for itself: the eigenvalues lie in (0, 2)."""
    x, rest = np.zeros_like(right), right.copy()
    toward, size = rest.copy(), (rest**2).sum(axis=0)
    enough = _TOLERANCE**2 * size
    for _ in range(_ROUNDS):
        if not (size > enough).any():
            break
        moved = toward - step @ toward
        length = _ratio(size, (toward * moved).sum(axis=0))
        x += length * toward
        rest -= length * moved
        before, size = size, (rest**2).sum(axis=0)
        toward = rest + _ratio(size, before) * toward
    return x


def _ratio(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _kendall(scores: PairScores, u: Rows, v: Rows, truth: Floats) -> float:
    """τ-b of float32 numbers: similarities that differ by what rounding leaves are ties."""
    from scipy.stats import kendalltau

    return float(kendalltau(scores.at(u, v).numpy(), truth.astype(np.float32)).statistic)


def _cheap(graph: Graph, dim: int, score: str, seed: int) -> dict[str, PairScores]:
    vectors = baseline_embeddings(graph, dim, seed)
    return {name: pair_scores(x, graph, of_vectors(score)) for name, x in vectors.items()} | pair_scorers(graph)


def _pairs(nodes: Rows, most: int, seed: int) -> tuple[Rows, Rows]:
    """All pairs of some nodes or, of more than `most`, so many random ones with one end among a few random nodes."""
    n, rng = len(nodes), np.random.default_rng(seed)
    order, starts = rng.permutation(nodes), n if n * (n - 1) // 2 <= most else min(n, _SOURCES)
    partners = n - 1 - np.arange(starts)  # the first is paired with all that come later, and so on
    ends = np.cumsum(partners)
    total = int(ends[-1])
    chosen = np.arange(total) if total <= most else rng.choice(total, most, replace=False)
    start = np.searchsorted(ends, chosen, side="right")
    return order[start], order[start + 1 + chosen - (ends - partners)[start]]
