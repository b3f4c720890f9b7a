"""How well an embedding gives back the graph that it was learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netfold.errors import InputError
from netfold.evaluate.baselines import baseline_embeddings, pair_scorers
from netfold.evaluate.pairs import PairScores, of_vectors, pair_scores
from netfold.evaluate.ranking import Ranking, check_counts, rank, sampled_rows
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.graph import Graph

__all__ = ["reconstruction"]


def reconstruction(
    model: Any,
    graph: Any,
    *,
    score: str = "cosine",
    k: Sequence[int] = (100, 1000, 10_000),
    seed: int = 0,
    nodes: int = 20_000,
    baselines: bool = True,
) -> Result:
    """How well an embedding gives back the graph that it was learned from.

    MAP: for each node with neighbors, all others are ranked by score, and AP = Σ_j precision@j Δ(j) / |neighbors|;
    the mean over nodes. precision@k: one global ranking of ordered pairs. A node is never paired with itself.

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
    rows = sampled_rows(known.adjacency, nodes, seed)

    def ranked(scores: PairScores) -> Ranking:
        return rank(scores, known.adjacency, rows, k=max(k))

    own = ranked(pair_scores(model, known, score))
    cheap = _baselines(known, embedding_of(model).dim, of_vectors(score), seed) if baselines else {}
    others = {name: ranked(scores).figures(k) for name, scores in cheap.items()}
    protocol: dict[str, Any] = {
        "score": score,
        "ranked": "all ordered pairs but the diagonal",
        "ties": "share their places",
    }
    protocol |= {"nodes": len(rows)} | ({"seed": seed} if cheap or own.sampled else {})
    if own.sampled:
        protocol["±"] = "half of the 95% confidence interval over sampled nodes"
    if cheap and of_vectors(score) != score:
        protocol["spectral vectors scored by"] = of_vectors(score)
    return Result("reconstruction", name_of(model), own.figures(k), protocol, others, own.interval)


def _baselines(graph: Graph, dim: int, score: str, seed: int) -> dict[str, PairScores]:
    scorers = {name: x for name, x in pair_scorers(graph).items() if name != "shortest path"}
    vectors = baseline_embeddings(graph, dim, seed)
    return scorers | {name: pair_scores(x, graph, score) for name, x in vectors.items()}
