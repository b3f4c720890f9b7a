"""How well vectors lie in the plane: what t-SNE loses on the way there, and whether classes stay together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.evaluate.baselines import baseline_embeddings
from netfold.evaluate.checks import check_at_least_one, check_choice, is_between
from netfold.evaluate.node_labels import NORMALIZE, Floats, Rows, normalized, read_classes
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.graph import Graph
from netfold.labels import Labels

__all__ = ["visualization", "visualization_points"]

_NEIGHBORS = 5
_ACCURACY = f"accuracy of {_NEIGHBORS} neighbors in the plane"


def visualization(
    model: Any,
    labels: Mapping[Any, Any] | None = None,
    *,
    graph: Any = None,
    perplexity: float = 30,
    normalize: str = "none",
    nodes: int = 10_000,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """The Kullback-Leibler divergence that t-SNE ends with, and whether neighbors in the plane have the same class.

    KL = Σ_ij p_ij log(p_ij / q_ij) of the similarities p among vectors and q among points: small where the plane shows
    what the vectors say, whatever that is. It depends on the number of nodes and the perplexity: only equals compare.
    With `labels` {node: class}, the accuracy is the part of nodes whose class most of the 5 nearest labelled points
    have (a tie goes to the class first in order). Above `nodes` nodes, that many random ones are mapped. With `graph`,
    spectral vectors of the same width are mapped as well.
    """
    embedding = embedding_of(model)
    shown = _shown(embedding, perplexity, normalize, nodes, seed)
    facts, points, codes = {}, np.empty(0, np.int64), np.empty(0, np.int64)
    if labels is not None:
        classes = read_classes(labels, embedding.nodes, one_each=True)
        found = shown.find(classes.nodes)
        points, codes, facts = found[found >= 0], classes.codes[found >= 0], classes.facts

    def measured(thing: Embedding) -> dict[str, float]:
        made, divergence = _mapped(thing, shown, perplexity, normalize, seed)
        return {"KL": divergence} | ({_ACCURACY: _neighbors_right(made[points], codes)} if len(points) > 1 else {})

    cheap = baseline_embeddings(Graph.of(graph), embedding.dim, seed) if baselines and graph is not None else {}
    protocol = {"map": "t-SNE begun with principal components", "perplexity": perplexity, "normalize": normalize}
    protocol |= {"nodes": len(shown)} | facts | {"seed": seed}
    rest = {name: measured(x) for name, x in cheap.items()}
    return Result("visualization", name_of(model), measured(embedding), protocol, rest, {}, ("KL",))


def visualization_points(
    model: Any, *, perplexity: float = 30, normalize: str = "none", nodes: int = 10_000, seed: int = 0
) -> Embedding:
    """The points in the plane that `visualization` measures with these options: an embedding of 2 dimensions."""
    embedding = embedding_of(model)
    shown = _shown(embedding, perplexity, normalize, nodes, seed)
    points, _ = _mapped(embedding, shown, perplexity, normalize, seed)
    return Embedding(shown, points.astype(np.float32))


def _mapped(embedding: Embedding, shown: Labels, perplexity: float, normalize: str, seed: int) -> tuple[Floats, float]:
    """Points, and the divergence."""
    from sklearn.manifold import TSNE

    x = normalized(embedding[shown].astype(np.float64), normalize)
    begin: Any = "pca" if x.shape[1] > 1 else "random"  # one column has one component
    if begin == "pca" and len(np.unique(x, axis=0)) < len(x):
        begin = _parted(x, seed)
    tsne = TSNE(perplexity=perplexity, init=begin, learning_rate="auto", random_state=seed)
    points = np.asarray(tsne.fit_transform(x), np.float64)
    return points, float(tsne.kl_divergence_)


def _parted(x: Floats, seed: int) -> npt.NDArray[np.float32]:
    """The start by PCA, and a little noise: from one place, equal vectors are driven apart from all others for ever."""
    from sklearn.decomposition import PCA

    start = PCA(n_components=2, random_state=seed).fit_transform(x)
    start *= 1e-4 / (start[:, 0].std() or 1)
    noise = np.random.default_rng(seed).normal(0, 1e-5, start.shape)
    made: npt.NDArray[np.float32] = (start + noise).astype(np.float32)
    return made


def _neighbors_right(points: Floats, codes: Rows) -> float:
    """The part of points whose class is the commonest among their nearest others."""
    from sklearn.neighbors import NearestNeighbors

    k = min(_NEIGHBORS, len(points) - 1)
    near = NearestNeighbors(n_neighbors=k).fit(points).kneighbors(return_distance=False)
    votes = np.zeros((len(points), int(codes.max()) + 1), np.int64)
    np.add.at(votes, (np.arange(len(points))[:, None], codes[near]), 1)
    return float((votes.argmax(axis=1) == codes).mean())


def _shown(embedding: Embedding, perplexity: Any, normalize: str, nodes: int, seed: int) -> Labels:
    """The nodes that are mapped: all, or so many random ones."""
    check_choice(NORMALIZE, normalize=normalize)
    check_at_least_one(nodes=nodes)
    n = min(len(embedding), nodes)
    if not is_between(perplexity, 0, n):
        raise InputError(f"perplexity={perplexity!r} is not a number above 0 and below the number of nodes, {n:,}")
    if n == len(embedding):
        return embedding.nodes
    return embedding.nodes.take(np.sort(np.random.default_rng(seed).choice(len(embedding), n, replace=False)))
