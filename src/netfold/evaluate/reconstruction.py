"""How well an embedding gives back the graph that it was learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netfold.errors import InputError
from netfold.evaluate.baselines import baseline_embeddings, pair_scorers
from netfold.evaluate.edges import edge_pairs
from netfold.evaluate.negatives import Negatives, sample_negatives
from netfold.evaluate.pairs import PairScores, finite, of_vectors, pair_scores
from netfold.evaluate.ranking import Ranking, check_counts, rank, sampled_rows
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.evaluate.separation import separation
from netfold.graph import Graph

__all__ = ["reconstruction"]


def reconstruction(
    model: Any,
    graph: Any,
    *,
    score: str = "cosine",
    k: Sequence[int] = (100, 1000, 10_000),
    per_positive: int = 0,
    negatives: str = "uniform",
    seed: int = 0,
    nodes: int = 20_000,
    baselines: bool = True,
) -> Result:
    """How well an embedding gives back the graph that it was learned from.

    MAP: for each node with neighbors, all others are ranked by score, and AP = Σ_j precision@j Δ(j) / |neighbors|;
    the mean over nodes. precision@k: one global ranking of ordered pairs. A node is never paired with itself. With
    `per_positive`, also AUC and AP: the edges against so many times as many pairs that are none, drawn by the rule
    `negatives` (`sample_negatives`; "all" takes every one).

    `score`: `dot`, `cosine`, `distance`, `w2` or `decoder`, see `pair_scores`. Blocks of rows at a time; above `nodes`
    nodes, MAP is over that many random ones, with half of its 95% confidence interval in `deviations`. Equal scores
    share their places. The baselines are scores of pairs (but not the shortest path, which is the edge itself), and
    spectral vectors of the same width, scored alike (w2 by distance, the decoder by their product).

    >>> from netfold.embedding import Embedding
    >>> graph = Graph.from_edges([("a", "b"), ("c", "d")])
    >>> reconstruction(Embedding("abcd", [[1, 0], [1, 0], [0, 1], [0, 1]]), graph, k=[4], baselines=False).figures
    {'MAP': 1.0, 'precision@4': 1.0}
    """
    known = Graph.of(graph)
    if known.n_edges == known.n_self_loops:
        raise InputError("the graph has no edges between two nodes; there is nothing to give back")
    check_counts(k=k, nodes=nodes)
    rows, drawn = sampled_rows(known.adjacency, nodes, seed), _negatives(known, negatives, per_positive, seed)

    def ranked(scores: PairScores) -> Ranking:
        return rank(scores, known.adjacency, rows, k=max(k))

    def told(scores: PairScores) -> dict[str, float]:
        if drawn is None:
            return {}
        right, wrong = (finite(scores.at(*pairs.T)) for pairs in (edge_pairs(known), drawn.pairs))
        return separation(right, wrong)

    scores = pair_scores(model, known, score)
    own = ranked(scores)
    cheap = _baselines(known, embedding_of(model).dim, of_vectors(score), seed) if baselines else {}
    others = {name: ranked(x).figures(k) | told(x) for name, x in cheap.items()}
    protocol: dict[str, Any] = {
        "score": score,
        "ranked": "all ordered pairs but the diagonal",
        "ties": "share their places",
    }
    protocol |= {} if drawn is None else dict(drawn.protocol)
    protocol |= {"nodes": len(rows)} | ({"seed": seed} if cheap or own.sampled else {})
    if own.sampled:
        protocol["±"] = "half of the 95% confidence interval over sampled nodes"
    if cheap and of_vectors(score) != score:
        protocol["spectral vectors scored by"] = of_vectors(score)
    return Result("reconstruction", name_of(model), own.figures(k) | told(scores), protocol, others, own.interval)


def _negatives(graph: Graph, kind: str, per_positive: int, seed: int) -> Negatives | None:
    if per_positive == 0:
        return None
    check_counts(per_positive=per_positive)
    count = None if kind == "all" else per_positive * len(edge_pairs(graph))
    return sample_negatives(graph, count, kind=kind, seed=seed)


def _baselines(graph: Graph, dim: int, score: str, seed: int) -> dict[str, PairScores]:
    scorers = {name: x for name, x in pair_scorers(graph).items() if name != "shortest path"}
    vectors = baseline_embeddings(graph, dim, seed)
    return scorers | {name: pair_scores(x, graph, score) for name, x in vectors.items()}
