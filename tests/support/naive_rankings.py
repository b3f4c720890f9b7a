"""Rankings by loops, and models of which every pair has a score that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.embedding import Embedding
from netfold.data.graph import Graph

Matrix = npt.NDArray[np.float64]
Scores = list[float] | Matrix


def random_graph(n: int, seed: int, *, directed: bool = False, loops: bool = False) -> Graph:
    rng = np.random.default_rng(seed)
    dense = rng.random((n, n)) < 0.2
    dense = dense if directed else np.triu(dense) | np.triu(dense).T
    np.fill_diagonal(dense, (np.arange(n) % 3 == 0) & loops)
    dense[0, 1] = dense[1, 0] = True
    return Graph.from_scipy(dense.astype(float), [f"n{i}" for i in range(n)], directed=directed)


class Model:
    """Whatever has an embedding and a decoder."""

    def __init__(self, embedding: Embedding, scores: Matrix):
        self.embedding_, self.scores = embedding, scores.astype(np.float32)

    def pair_decoder(self, graph: Graph) -> Any:
        made = self.scores if graph.directed else (self.scores + self.scores.T) / 2
        return made.__getitem__


def ties(scores: list[float], hits: list[bool]) -> list[tuple[int, int]]:
    """Pairs and hits of each score, the best first."""
    return [
        (sum(x == value for x in scores), sum(hit for x, hit in zip(scores, hits, strict=True) if x == value))
        for value in sorted(set(scores), reverse=True)
    ]


def naive_average_precision(scores: list[float], hits: list[bool]) -> float:
    """Walk down the places; at each, the chance of a hit times the precision to be expected if there is one."""
    total, place, found = 0.0, 0, 0
    for many, right in ties(scores, hits):
        for p in range(many):
            before = found + p * (right - 1) / max(many - 1, 1)
            total += right / many * (before + 1) / (place + p + 1)
        place, found = place + many, found + right
    return total / sum(hits)


def precision_at(k: int, scores: list[float], hits: list[bool]) -> float:
    """The share of hits among the k best; a tie at the end gives the share of its hits."""
    found, left = 0.0, k
    for many, right in ties(scores, hits):
        found += right * min(left, many) / many
        left -= min(left, many)
    return found / k


def naive_scores(vectors: Matrix, score: str) -> Matrix:
    n = len(vectors)
    scores = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a, b = vectors[i], vectors[j]
            if score == "dot":
                scores[i, j] = a @ b
            elif score == "cosine":
                scores[i, j] = a @ b / np.sqrt(a @ a) / np.sqrt(b @ b)
            else:
                scores[i, j] = -np.sqrt((a - b) @ (a - b))
    return scores.astype(np.float32).astype(float)  # so that (i, j) and (j, i) tie


def naive_map(scores: Matrix, links: Matrix, rows: Any = None) -> float:
    found = []
    for i in range(len(scores)) if rows is None else rows:
        others = [j for j in range(len(scores)) if j != i]
        hits = [bool(links[i, j]) for j in others]
        if any(hits):
            found.append(naive_average_precision([scores[i, j] for j in others], hits))
    return sum(found) / len(found)


def naive_precision(scores: Matrix, links: Matrix, k: int) -> float:
    """One ranking of all ordered pairs of two different nodes."""
    n = len(scores)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    return precision_at(k, [scores[p] for p in pairs], [bool(links[p]) for p in pairs])


def naive_area(positive: Scores, negative: Scores) -> float:
    """How often a positive scores above a negative; a tie is half."""
    wins = [1.0 if p > q else 0.5 if p == q else 0.0 for p in positive for q in negative]
    return sum(wins) / len(wins)


def naive_step_precision(positive: Scores, negative: Scores) -> float:
    """scikit-learn's AP: Σ over score levels of (recall gained there) x (precision down to there)."""
    found = 0.0
    for level in sorted({*positive, *negative}, reverse=True):
        here, above = sum(p == level for p in positive), sum(p >= level for p in positive)
        found += here / len(positive) * above / (above + sum(q >= level for q in negative))
    return found
