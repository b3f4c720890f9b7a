"""Whether vectors fall into the groups that are known: k-means, and how it agrees with the classes of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from netfold.evaluate.baselines import baseline_embeddings
from netfold.evaluate.checks import check_at_least_one, check_choice
from netfold.evaluate.node_labels import NORMALIZE, Floats, Rows, mean_of, normalized, read_classes
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.graph import Graph

__all__ = ["clustering"]


def clustering(
    model: Any,
    labels: Mapping[Any, Any],
    *,
    graph: Any = None,
    clusters: int | None = None,
    normalize: str = "rows",
    repeats: int = 5,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """How well k-means clusters of the vectors agree with the classes {node: class}, one class a node.

    NMI is the mutual information of clusters and classes over the mean of their entropies; ARI the part of pairs on
    which they agree, corrected for chance (Hubert and Arabie). There are as many clusters as classes, unless said; each
    repeat takes the best of 10 starts. The baselines are the classes shuffled, which is chance, and with `graph`
    spectral vectors of the same width.

    >>> from netfold.embedding import Embedding
    >>> halves = Embedding(range(4), [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> clustering(halves, {0: "a", 1: "a", 2: "b", 3: "b"}, baselines=False).figures
    {'NMI': 1.0, 'ARI': 1.0}
    """
    check_choice(NORMALIZE, normalize=normalize)
    check_at_least_one(repeats=repeats, clusters=1 if clusters is None else clusters)
    embedding = embedding_of(model)
    classes = read_classes(labels, embedding.nodes, one_each=True)
    k = min(clusters or len(classes.names), len(classes.nodes))
    cheap = baseline_embeddings(Graph.of(graph), embedding.dim, seed) if baselines and graph is not None else {}

    def measured(thing: Any) -> tuple[dict[str, float], dict[str, float]]:
        x = normalized(thing[classes.nodes].astype(np.float64), normalize)
        starts = np.random.default_rng(seed).integers(1 << 31, size=repeats).tolist()
        return mean_of([_agreement(classes.codes, _clusters(x, k, start)) for start in starts])

    figures, deviations = measured(embedding)
    rows = {name: measured(x)[0] for name, x in cheap.items()}
    if baselines:
        rng = np.random.default_rng(seed)
        shuffled = [_agreement(classes.codes, rng.permutation(classes.codes)) for _ in range(repeats)]
        rows["shuffled classes"] = mean_of(shuffled)[0]
    protocol = {"clusters": k, "by": "k-means, best of 10 starts", "normalize": normalize} | classes.facts
    protocol |= {"repeats": repeats, "±": "standard deviation over repeats", "seed": seed}
    return Result("clustering", name_of(model), figures, protocol, rows, deviations)


def _clusters(vectors: Floats, k: int, seed: int) -> Rows:
    """The cluster of each row; never more clusters than there are different rows."""
    from sklearn.cluster import KMeans

    different = len(np.unique(vectors, axis=0))
    return np.asarray(KMeans(min(k, different), n_init=10, random_state=seed).fit_predict(vectors), np.int64)


def _agreement(truth: Rows, told: Rows) -> dict[str, float]:
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    figures = {"NMI": normalized_mutual_info_score(truth, told), "ARI": adjusted_rand_score(truth, told)}
    return {name: float(value) for name, value in figures.items()}
