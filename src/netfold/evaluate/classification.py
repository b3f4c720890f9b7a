"""Whether vectors know the classes of nodes: a linear classifier learns from some nodes and is asked about the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.evaluate.baselines import baseline_embeddings
from netfold.evaluate.checks import check_at_least_one, check_choice, check_fractions, is_between
from netfold.evaluate.node_labels import (
    NORMALIZE,
    Bools,
    Floats,
    NodeClasses,
    Rows,
    Split,
    mean_of,
    node_splits,
    normalized,
    percent,
    read_classes,
)
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.graph import Graph

__all__ = ["CLASSIFIERS", "NORMALIZE", "RULES", "class_f1", "class_figures", "classification", "linear_scorer"]

CLASSIFIERS = ("logistic", "svm")
RULES = ("top-k", "threshold")

Scorer = Callable[[Bools, Rows, Rows], Floats]
"""From the classes of the learned rows, those rows, and the asked ones: asked x classes, above 0 for yes."""
Measured = tuple[dict[str, float], dict[str, float]]
"""Figures, and their standard deviations."""


def classification(
    model: Any,
    labels: Mapping[Any, Any],
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
    """How well a linear classifier, one for each class against the rest, tells classes from vectors.

    `labels` is {node: class} or {node: list of classes}; nodes without any are left out. For each part in `train` the
    labelled nodes are split at random, `repeats` times, alike for every method.

    micro-F1 is 2 TP / (2 TP + FP + FN) with the counts of all classes together; macro-F1 the mean over all classes of
    the same with the counts of one, 0 where a class is neither there nor told; `accuracy`, where every node has one
    class, the part of nodes told right. A class that no learned node has is never told.

    `rule`: "top-k" gives a node its k best-scored classes, k being how many it has in truth (Tang and Liu 2009, and the
    papers since): a hint, where that is not always 1. "threshold" takes the classes scored above 0 (p > 1/2 for the
    logistic): no hint, and perhaps no class. `classifier`: "logistic" or "svm" (linear, squared hinge), with the
    penalty |w|² / 2C. `normalize`: vectors of length 1 ("rows"), the same around the mean of the learned ones
    ("centred"), coordinates of mean 0 and deviation 1 over the learned nodes ("columns"), or "none". How the defaults
    of `normalize` and `C` were chosen: docs/decisions/0008. The baselines are the most frequent classes and, with
    `graph`, spectral vectors of the same width.

    >>> halves = Embedding(range(6), [[1, 0]] * 3 + [[0, 1]] * 3)
    >>> classification(halves, dict(enumerate("aaabbb")), train=0.9, repeats=1).figures["accuracy@90%"]
    1.0
    """
    check_choice(CLASSIFIERS, classifier=classifier)
    check_choice(RULES, rule=rule)
    check_choice(NORMALIZE, normalize=normalize)
    check_at_least_one(repeats=repeats)
    if not is_between(C, 0, np.inf):
        raise InputError(f"C={C!r} is not a finite number above 0")
    parts, embedding = check_fractions(train), embedding_of(model)
    classes = read_classes(labels, embedding.nodes)
    cheap = baseline_embeddings(Graph.of(graph), embedding.dim, seed) if baselines and graph is not None else {}

    def measured(scorer: Scorer) -> Measured:
        return _measured(scorer, classes, parts, rule, repeats, seed)

    def of_vectors(thing: Embedding) -> Scorer:
        return linear_scorer(thing[classes.nodes].astype(np.float64), classifier, normalize, C)

    figures, deviations = measured(of_vectors(embedding))
    rows = {name: measured(of_vectors(x))[0] for name, x in cheap.items()}
    if baselines:
        rows["most frequent classes"] = measured(_most_frequent)[0]
    protocol = {"classifier": f"{classifier}, one class against the rest", "C": C, "normalize": normalize, "rule": rule}
    protocol |= {"macro-F1": "over all classes"} | classes.facts
    protocol |= {"splits": "random nodes", "repeats": repeats, "±": "standard deviation over repeats", "seed": seed}
    if baselines and graph is None:
        protocol["spectral baselines"] = "none, as no graph was given"
    return Result("classification", name_of(model), figures, protocol, rows, deviations)


def class_f1(truth: Bools, told: Bools) -> dict[str, float]:
    """micro-F1 and macro-F1 of nodes x classes, as scikit-learn's `f1_score(..., zero_division=0)` over all classes."""
    right, both = (truth & told).sum(axis=0), truth.sum(axis=0) + told.sum(axis=0)  # TP, and 2 TP + FP + FN
    micro = 2 * right.sum() / max(both.sum(), 1)
    return {"micro-F1": float(micro), "macro-F1": float(np.mean(2 * right / np.maximum(both, 1)))}


def _measured(
    scorer: Scorer, classes: NodeClasses, parts: Iterable[float], rule: str, repeats: int, seed: int
) -> Measured:
    means: dict[str, float] = {}
    spread: dict[str, float] = {}
    for part in parts:
        splits = node_splits(len(classes.nodes), part, repeats, seed)
        mean, deviation = mean_of([class_figures(scorer, classes, split, rule) for split in splits])
        means |= {f"{x}@{percent(part)}": value for x, value in mean.items()}
        spread |= {f"{x}@{percent(part)}": value for x, value in deviation.items()}
    return means, spread


def class_figures(scorer: Scorer, classes: NodeClasses, split: Split, rule: str) -> dict[str, float]:
    """micro-F1, macro-F1 and, where every node has one class, the accuracy of one split."""
    learned, asked = split
    truth = classes.indicator[asked]
    scores = scorer(classes.indicator[learned], learned, asked)
    told = scores > 0 if rule == "threshold" else _top_k(scores, truth.sum(axis=1))
    exact = {"accuracy": float((truth == told).all(axis=1).mean())} if classes.one_each else {}
    return class_f1(truth, told) | exact


def _top_k(scores: Floats, k: npt.NDArray[np.int64]) -> Bools:
    """The k[i] best of row i, ties in the order of classes; never a class that could not be learned."""
    place = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    told: Bools = (place < k[:, None]) & (scores > -np.inf)
    return told


def linear_scorer(vectors: Floats, classifier: str, normalize: str, C: float) -> Scorer:
    """What scores classes by a linear classifier of vectors, one for each class that some learned rows have."""

    def scores(truth: Bools, learned: Rows, asked: Rows) -> Floats:
        x = normalized(vectors, normalize, learned)
        made = np.tile(np.where(truth.all(axis=0), np.inf, -np.inf), (len(asked), 1))
        for c in np.flatnonzero(truth.any(axis=0) & ~truth.all(axis=0)):
            made[:, c] = _fitted(classifier, C, x[learned], truth[:, c]).decision_function(x[asked])
        return made

    return scores


def _fitted(classifier: str, C: float, x: Floats, y: Bools) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    if classifier == "svm":
        return LinearSVC(C=C, dual=False, max_iter=1_000).fit(x, y)
    # on BlogCatalog at 90% a quarter of liblinear's time; a looser tolerance moves F1 by .002, this one by nothing
    return LogisticRegression(C=C, tol=1e-6, max_iter=1_000).fit(x, y)


def _most_frequent(truth: Bools, learned: Rows, asked: Rows) -> Floats:
    often = truth.mean(axis=0)
    return np.tile(np.where(often > 0, often - 0.5, -np.inf), (len(asked), 1))
