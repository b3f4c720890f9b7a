"""Whether vectors know the classes of nodes: a linear classifier, clusters, and neighbors in a t-SNE of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import Bools, Floats, Ints, check_at_least_one, check_choice, check_fractions, is_between
from netfold.data.edges import links
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.data.scaling import Scaling
from netfold.errors import InputError, renamed
from netfold.evaluate.baselines import class_embeddings, nearest_by_attributes
from netfold.evaluate.classes import (
    NodeClasses,
    Split,
    classes_of_nodes,
    node_splits,
    normalized,
    percent,
)
from netfold.evaluate.result import CpuSeconds, Result, embedding_of, name_of
from netfold.evaluate.task import CLASS_RULES, CLASSIFIERS, NORMALIZE

__all__ = [
    "MAJORITY",
    "PROPAGATION",
    "ClassScorer",
    "agreement",
    "class_f1",
    "class_figures",
    "classification",
    "cluster_codes",
    "clustering",
    "linear_scorer",
    "most_frequent",
    "neighbor_scorer",
    "predicted_classes",
    "propagation_scorer",
    "top_k_figures",
    "visualization",
    "visualization_points",
]


ClassScorer = Callable[[Bools, Ints, Ints], Floats]
"""From the classes of the learned rows, those rows, and the asked ones: asked x classes, above 0 for yes."""


@renamed(labels="classes")
def classification(
    model: Any,
    classes: Mapping[Any, Any],
    *,
    graph: Any = None,
    train: Iterable[float] | float = (0.1, 0.5, 0.9),
    classifier: str = "logistic",
    rule: str = "top-k",
    normalize: str = "centred",
    C: float = 3.0,
    repeats: int = 5,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """How well a linear classifier, one for each class against the rest, predicts classes from vectors.

    `classes` is {node: class} or {node: list of classes}; nodes without any are left out. For each part in `train` the
    others are split at random, `repeats` times, alike for every method.

    micro-F1 is 2 TP / (2 TP + FP + FN) with the counts of all classes together; macro-F1 the mean over all classes of
    the same with the counts of one, 0 where a class is neither there nor predicted; `accuracy`, where every node has
    one class, the part of nodes predicted right. A class that no learned node has is never predicted.

    `rule`: "top-k" gives a node its k best-scored classes, k being how many it has in truth (Tang and Liu 2009, and the
    papers since): a hint, where that is not always 1. "threshold" takes the classes scored above 0 (p > 1/2 for the
    logistic): no hint, and perhaps no class. `classifier`: "logistic" or "svm" (linear, squared hinge), with the
    penalty |w|² / 2C. `normalize`: vectors of length 1 ("rows"), the same around the mean of the learned ones
    ("centred"), coordinates of mean 0 and deviation 1 over the learned nodes ("columns"), or "none". How the defaults
    of `normalize` and `C` were chosen: docs/decisions/0008. The baselines are the most frequent classes and, with
    `graph`, the classes of most neighbors (`neighbor_scorer`) and vectors of the same width that cost about a second
    (`class_embeddings`); where it has attributes, label propagation (`propagation_scorer`) over links, and over links
    and the 10 nearest by attributes.

    >>> halves = Embedding(range(6), [[1, 0]] * 3 + [[0, 1]] * 3)
    >>> classification(halves, dict(enumerate("aaabbb")), train=0.9, repeats=1).figures["accuracy@90%"]
    1.0
    """
    check_choice(CLASSIFIERS, classifier=classifier)
    check_choice(CLASS_RULES, rule=rule)
    check_choice(NORMALIZE, normalize=normalize)
    check_at_least_one(repeats=repeats)
    if not is_between(C, 0, np.inf):
        raise InputError(f"C={C!r} is not a finite number above 0")
    parts, embedding = check_fractions(train), embedding_of(model)
    known, spent = classes_of_nodes(classes, embedding.nodes), CpuSeconds()
    cheap = class_embeddings(Graph.of(graph), embedding.dim, seed, spent) if baselines and graph is not None else {}

    def measured(scorer: ClassScorer) -> list[dict[str, float]]:
        return _rounds(scorer, known, parts, rule, repeats, seed)

    def of_vectors(thing: Embedding) -> ClassScorer:
        return linear_scorer(thing[known.nodes].astype(np.float64), classifier, normalize, C)

    rounds = {name_of(model): measured(of_vectors(embedding))}
    for name, x in cheap.items():
        with spent.of(name):
            rounds[name] = measured(of_vectors(x))
    if cheap:
        with spent.of(MAJORITY):
            rounds[MAJORITY] = measured(neighbor_scorer(Graph.of(graph), known.nodes))
        for name, near in _propagated_over(Graph.of(graph)).items():
            rounds[name] = measured(propagation_scorer(near, Graph.of(graph).positions(known.nodes)))
    if baselines:
        rounds["most frequent classes"] = measured(most_frequent)
    protocol = {"classifier": f"{classifier}, one class against the rest", "C": C, "normalize": normalize, "rule": rule}
    protocol |= {"macro-F1": "over all classes"} | known.facts
    protocol |= {"splits": "random nodes", "repeats": repeats, "±": "standard deviation over repeats", "seed": seed}
    if baselines and graph is None:
        protocol["baselines of the graph"] = "none, as no graph was given"
    return Result.of_rounds("classification", name_of(model), rounds, protocol, seconds=spent)


def class_f1(truth: Bools, predicted: Bools) -> dict[str, float]:
    """micro-F1 and macro-F1 of nodes x classes, as scikit-learn's `f1_score(..., zero_division=0)` over all classes."""
    right, both = (truth & predicted).sum(axis=0), truth.sum(axis=0) + predicted.sum(axis=0)  # TP, and 2 TP + FP + FN
    micro = 2 * right.sum() / max(both.sum(), 1)
    return {"micro-F1": float(micro), "macro-F1": float(np.mean(2 * right / np.maximum(both, 1)))}


def _rounds(
    scorer: ClassScorer, classes: NodeClasses, parts: Iterable[float], rule: str, repeats: int, seed: int
) -> list[dict[str, float]]:
    """The figures of each repeat."""
    rounds: list[dict[str, float]] = [{} for _ in range(repeats)]
    for part in parts:
        splits = node_splits(len(classes.nodes), part, repeats, seed)
        for figures, split in zip(rounds, splits, strict=True):
            measured = class_figures(scorer, classes, split, rule)
            figures |= {f"{x}@{percent(part)}": value for x, value in measured.items()}
    return rounds


def class_figures(scorer: ClassScorer, classes: NodeClasses, split: Split, rule: str) -> dict[str, float]:
    """micro-F1, macro-F1 and, where every node has one class, the accuracy of one split."""
    truth, predicted = classes.indicator[split[1]], predicted_classes(scorer, classes, split, rule)
    exact = {"accuracy": float((truth == predicted).all(axis=1).mean())} if classes.one_each else {}
    return class_f1(truth, predicted) | exact


def top_k_figures(scores: Floats, truth: Bools) -> dict[str, float]:
    """micro-F1 and macro-F1 where each row has its k best classes, k being how many it has: both asked x classes."""
    return class_f1(truth, _top_k(scores, truth.sum(axis=1)))


def predicted_classes(scorer: ClassScorer, classes: NodeClasses, split: Split, rule: str = "top-k") -> Bools:
    """What the asked nodes of a split are taken for: asked x classes."""
    learned, tested = split
    scores = scorer(classes.indicator[learned], learned, tested)
    yes: Bools = scores > 0 if rule == "threshold" else _top_k(scores, classes.indicator[tested].sum(axis=1))
    return yes


def _top_k(scores: Floats, k: npt.NDArray[np.int64]) -> Bools:
    """The k[i] best of row i, ties in the order of classes; never a class that could not be learned."""
    place = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    predicted: Bools = (place < k[:, None]) & (scores > -np.inf)
    return predicted


def linear_scorer(vectors: Floats, classifier: str, normalize: str, C: float) -> ClassScorer:
    """What scores classes by a linear classifier of vectors, one for each class that some learned rows have."""

    def scores(truth: Bools, learned: Ints, tested: Ints) -> Floats:
        x = normalized(vectors, normalize, learned)
        columns = np.tile(np.where(truth.all(axis=0), np.inf, -np.inf), (len(tested), 1))
        for c in np.flatnonzero(truth.any(axis=0) & ~truth.all(axis=0)):
            columns[:, c] = _fitted(classifier, C, x[learned], truth[:, c]).decision_function(x[tested])
        return columns

    return scores


def _fitted(classifier: str, C: float, x: Floats, y: Bools) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    if classifier == "svm":
        return LinearSVC(C=C, dual=False, max_iter=1_000).fit(x, y)
    # on BlogCatalog at 90% a quarter of liblinear's time; a looser tolerance moves F1 by .002, this one by nothing
    return LogisticRegression(C=C, tol=1e-6, max_iter=1_000).fit(x, y)


MAJORITY = "majority of neighbors"


def neighbor_scorer(graph: Graph, nodes: Iterable[Any]) -> ClassScorer:
    """What scores the classes of some nodes by those of their neighbors among the learned ones: the share that has
    each, edges counting by weight and in either direction; of a node without such, how frequent classes are."""
    at = graph.positions(nodes)
    near = sparse.csr_array(links(graph, directed=False, weights=True, loops="drop")[at][:, at])

    def scores(truth: Bools, learned: Ints, tested: Ints) -> Floats:
        votes = sparse.csr_array(near[tested][:, learned])
        total, often = np.asarray(votes.sum(axis=1))[:, None], truth.mean(axis=0)
        share = np.where(total > 0, (votes @ truth.astype(np.float64)) / np.where(total > 0, total, 1), often)
        ordered: Floats = share + _FREQUENT_FIRST * often - 0.5
        return np.where(often > 0, ordered, -np.inf)

    return scores


PROPAGATION = "label propagation"
_STAY, _PRECISION = 0.9, 1e-8
_NEAREST, _MOST_NODES = 10, 20_000
"""Nodes most similar in attributes that each is linked with, and up to how many nodes all are compared."""


def _propagated_over(graph: Graph) -> dict[str, sparse.csr_array]:
    """What classes spread over, of a graph with attributes: its links; and those with the nearest by attributes, which
    have the same sum of weights. The second is left out of a graph of more than 20,000 nodes."""
    if graph.attributes is None:
        return {}
    own = links(graph, directed=False, weights=True, loops="drop").astype(np.float64)
    if graph.n_nodes > _MOST_NODES:
        return {PROPAGATION: own}
    x = Scaling.fit(graph.attributes).block(graph.attributes).values
    near = nearest_by_attributes(x, np.arange(graph.n_nodes), _NEAREST)
    both = sparse.csr_array(near + near.T)
    total = float(both.sum())
    alike = both * (float(own.sum()) / total if total > 0 else 1.0)
    return {PROPAGATION: own, f"{PROPAGATION}, and X": sparse.csr_array(own + alike)}


def propagation_scorer(weights: sparse.csr_array, at: Ints) -> ClassScorer:
    """What scores classes by where they end when they spread over links for ever: F = (I - a S)⁻¹ Y, a = 0.9.

    S is D^-½ W D^-½ of symmetric weights (n x n), Y has the classes of the learned nodes in their rows (Zhou et al.
    2004). `at` are the positions in it of the nodes that rows are of. Solved by conjugate gradients, class by class; of
    a node that nothing reaches, how frequent classes are.
    """
    from scipy.sparse.linalg import cg

    n, sums = weights.shape[0], np.asarray(weights.sum(axis=1)).ravel()
    scale = sparse.diags_array(np.where(sums > 0, 1 / np.sqrt(np.where(sums > 0, sums, 1)), 0))
    system = sparse.csr_array(sparse.eye_array(n) - _STAY * (scale @ weights @ scale))

    def scores(truth: Bools, learned: Ints, tested: Ints) -> Floats:
        spread = np.zeros((len(tested), truth.shape[1]))
        for c in range(truth.shape[1]):
            own = np.zeros(n)
            own[at[learned]] = truth[:, c]
            spread[:, c] = cg(system, own, rtol=_PRECISION)[0][at[tested]].clip(0)
        total, often = spread.sum(axis=1, keepdims=True), truth.mean(axis=0)
        share = np.where(total > 0, spread / np.where(total > 0, total, 1), often)
        ordered: Floats = share + _FREQUENT_FIRST * often - 0.5
        return np.where(often > 0, ordered, -np.inf)

    return scores


_FREQUENT_FIRST = 1e-9
"""Of classes with the same share of neighbors, the more frequent one is taken."""


def most_frequent(truth: Bools, learned: Ints, tested: Ints) -> Floats:
    """What scores classes by how frequent they are among the learned rows."""
    often = truth.mean(axis=0)
    return np.tile(np.where(often > 0, often - 0.5, -np.inf), (len(tested), 1))


@renamed(labels="classes")
def clustering(
    model: Any,
    classes: Mapping[Any, Any],
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
    vectors of the same width that cost about a second (`class_embeddings`).

    >>> from netfold.data.embedding import Embedding
    >>> halves = Embedding(range(4), [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> clustering(halves, {0: "a", 1: "a", 2: "b", 3: "b"}, baselines=False).figures
    {'NMI': 1.0, 'ARI': 1.0}
    """
    check_choice(NORMALIZE, normalize=normalize)
    check_at_least_one(repeats=repeats, clusters=1 if clusters is None else clusters)
    embedding = embedding_of(model)
    known = classes_of_nodes(classes, embedding.nodes, one_each=True)
    k, spent = min(clusters or len(known.names), len(known.nodes)), CpuSeconds()
    cheap = class_embeddings(Graph.of(graph), embedding.dim, seed, spent) if baselines and graph is not None else {}

    def measured(thing: Any) -> list[dict[str, float]]:
        x = normalized(thing[known.nodes].astype(np.float64), normalize)
        starts = np.random.default_rng(seed).integers(1 << 31, size=repeats).tolist()
        return [agreement(known.codes, cluster_codes(x, k, start)) for start in starts]

    rounds = {name_of(model): measured(embedding)}
    for name, x in cheap.items():
        with spent.of(name):
            rounds[name] = measured(x)
    if baselines:
        rng = np.random.default_rng(seed)
        rounds["shuffled classes"] = [agreement(known.codes, rng.permutation(known.codes)) for _ in range(repeats)]
    protocol = {"clusters": k, "by": "k-means, best of 10 starts", "normalize": normalize} | known.facts
    protocol |= {"repeats": repeats, "±": "standard deviation over repeats", "seed": seed}
    return Result.of_rounds("clustering", name_of(model), rounds, protocol, seconds=spent)


def cluster_codes(vectors: Floats, k: int, seed: int) -> Ints:
    """The cluster of each row; never more clusters than there are different rows."""
    from sklearn.cluster import KMeans

    different = len(np.unique(vectors, axis=0))
    return np.asarray(KMeans(min(k, different), n_init=10, random_state=seed).fit_predict(vectors), np.int64)


def agreement(truth: Ints, clusters: Ints) -> dict[str, float]:
    """NMI and ARI of clusters and classes."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    figures = {"NMI": normalized_mutual_info_score(truth, clusters), "ARI": adjusted_rand_score(truth, clusters)}
    return {name: float(value) for name, value in figures.items()}


_NEIGHBORS = 5
_ACCURACY = f"accuracy of {_NEIGHBORS} neighbors in the plane"


@renamed(labels="classes")
def visualization(
    model: Any,
    classes: Mapping[Any, Any] | None = None,
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
    With `classes` {node: class}, the accuracy is the part of nodes whose class most of the 5 nearest points with a
    class have (a tie goes to the class first in order). Above `nodes` nodes, that many random ones are mapped. With
    `graph`, spectral vectors of the same width are mapped as well.
    """
    embedding = embedding_of(model)
    nodes_shown = _nodes_shown(embedding, perplexity, normalize, nodes, seed)
    facts, points, codes = {}, np.empty(0, np.int64), np.empty(0, np.int64)
    if classes is not None:
        known = classes_of_nodes(classes, embedding.nodes, one_each=True)
        rows = nodes_shown.find(known.nodes)
        points, codes, facts = rows[rows >= 0], known.codes[rows >= 0], known.facts

    def measured(thing: Embedding) -> dict[str, float]:
        at, divergence = _mapped(thing, nodes_shown, perplexity, normalize, seed)
        return {"KL": divergence} | ({_ACCURACY: _neighbors_right(at[points], codes)} if len(points) > 1 else {})

    spent, rest = CpuSeconds(), dict[str, dict[str, float]]()
    cheap = class_embeddings(Graph.of(graph), embedding.dim, seed, spent) if baselines and graph is not None else {}
    for name, x in cheap.items():
        with spent.of(name):
            rest[name] = measured(x)
    protocol = {"map": "t-SNE begun with principal components", "perplexity": perplexity, "normalize": normalize}
    protocol |= {"nodes": len(nodes_shown)} | facts | {"seed": seed}
    return Result("visualization", name_of(model), measured(embedding), protocol, rest, {}, ("KL",), seconds=spent)


def visualization_points(
    model: Any, *, perplexity: float = 30, normalize: str = "none", nodes: int = 10_000, seed: int = 0
) -> Embedding:
    """The points in the plane that `visualization` measures with these options: an embedding of 2 dimensions."""
    embedding = embedding_of(model)
    nodes_shown = _nodes_shown(embedding, perplexity, normalize, nodes, seed)
    points, _ = _mapped(embedding, nodes_shown, perplexity, normalize, seed)
    return Embedding(nodes_shown, points.astype(np.float32))


def _mapped(
    embedding: Embedding, nodes_shown: Nodes, perplexity: float, normalize: str, seed: int
) -> tuple[Floats, float]:
    """Points, and the divergence."""
    from sklearn.manifold import TSNE

    x = normalized(embedding[nodes_shown].astype(np.float64), normalize)
    begin: Any = "pca" if x.shape[1] > 1 else "random"  # one column has one component
    if begin == "pca" and len(np.unique(x, axis=0)) < len(x):
        begin = _jittered_start(x, seed)
    tsne = TSNE(perplexity=perplexity, init=begin, learning_rate="auto", random_state=seed)
    points = np.asarray(tsne.fit_transform(x), np.float64)
    return points, float(tsne.kl_divergence_)


def _jittered_start(x: Floats, seed: int) -> npt.NDArray[np.float32]:
    """The start by PCA, and a little noise: from one place, equal vectors are driven apart from all others for ever."""
    from sklearn.decomposition import PCA

    start = PCA(n_components=2, random_state=seed).fit_transform(x)
    start *= 1e-4 / (start[:, 0].std() or 1)
    noise = np.random.default_rng(seed).normal(0, 1e-5, start.shape)
    jittered: npt.NDArray[np.float32] = (start + noise).astype(np.float32)
    return jittered


def _neighbors_right(points: Floats, codes: Ints) -> float:
    """The part of points whose class is the commonest among their nearest others."""
    from sklearn.neighbors import NearestNeighbors

    k = min(_NEIGHBORS, len(points) - 1)
    near = NearestNeighbors(n_neighbors=k).fit(points).kneighbors(return_distance=False)
    votes = np.zeros((len(points), int(codes.max()) + 1), np.int64)
    np.add.at(votes, (np.arange(len(points))[:, None], codes[near]), 1)
    return float((votes.argmax(axis=1) == codes).mean())


def _nodes_shown(embedding: Embedding, perplexity: Any, normalize: str, nodes: int, seed: int) -> Nodes:
    """The nodes that are mapped: all, or so many random ones."""
    check_choice(NORMALIZE, normalize=normalize)
    check_at_least_one(nodes=nodes)
    n = min(len(embedding), nodes)
    if not is_between(perplexity, 0, n):
        raise InputError(f"perplexity={perplexity!r} is not a number above 0 and below the number of nodes, {n:,}")
    if n == len(embedding):
        return embedding.nodes
    return embedding.nodes.take(np.sort(np.random.default_rng(seed).choice(len(embedding), n, replace=False)))
