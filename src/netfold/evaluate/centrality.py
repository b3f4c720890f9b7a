"""Whether vectors know how central nodes are: a linear regression, asked about hidden nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from netfold.errors import InputError
from netfold.evaluate.baselines import degree_features
from netfold.evaluate.centralities import MEASURES, betweenness, closeness
from netfold.evaluate.checks import check_at_least_one, check_choice, is_between
from netfold.evaluate.node_labels import Floats, Rows, Split, mean_of, node_splits
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.graph import Graph

__all__ = ["centrality"]

_EXACT = 12_000
"""Up to so many nodes, shortest paths are counted from all of them."""
_SOURCES = 1_000
"""And above, from so many random ones."""
_BY_PATHS = {"closeness": closeness, "betweenness": betweenness}


def centrality(
    model: Any,
    graph: Any,
    *,
    hidden: float = 0.2,
    repeats: int = 10,
    measures: Iterable[str] = ("closeness", "betweenness", "eigenvector", "k-core", "pagerank", "degree"),
    sources: int | None = None,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """How well linear regression tells centralities from vectors: it learns from all nodes but a hidden part.

    `MSE/mean` is the mean squared error over the hidden nodes, divided by the mean of the centrality over all nodes, as
    DRNE's tables have it (there in hundredths). It is not free of scale, and so R² = 1 - MSE / variance stands beside
    it: 0 is what guessing the mean gives. Core numbers are divided by their maximum; `centralities` defines them all.
    Paths are counted from `sources` random nodes: by default from all where these are up to 12,000, else from 1,000.
    The baselines are five numbers about degrees, and the mean of the nodes that are not hidden.
    """
    asked, known = _check_measures(measures), Graph.of(graph)
    check_at_least_one(repeats=repeats, sources=1 if sources is None else sources)
    if not is_between(hidden, 0, 1):
        raise InputError(f"hidden={hidden!r} is not a part between 0 and 1, such as 0.2")
    if known.n_nodes < 3:
        raise InputError(f"the graph has {known.n_nodes} nodes; centralities are compared over 3 at least")
    vectors = embedding_of(model)[known.nodes].astype(np.float64)
    starts = _starts(known.n_nodes, sources, seed)
    truth = np.stack([_BY_PATHS[x](known, starts) if x in _BY_PATHS else MEASURES[x](known) for x in asked], axis=1)
    splits = list(node_splits(known.n_nodes, 1 - hidden, repeats, seed))

    def measured(x: Floats) -> tuple[dict[str, float], dict[str, float]]:
        return mean_of([_figures(asked, truth, _regression(x, truth, split), split[1]) for split in splits])

    figures, deviations = measured(vectors)
    rows = {}
    if baselines:
        rows["degree features"] = measured(degree_features(known).vectors.astype(np.float64))[0]
        rows["the mean"] = measured(np.zeros((known.n_nodes, 0)))[0]
    protocol = {"regression": "linear", "nodes": known.n_nodes, "hidden": hidden, "MSE divided by": "mean of all nodes"}
    if set(asked) & set(_BY_PATHS):
        protocol["shortest paths from"] = "all nodes" if starts is None else f"{len(starts):,} random nodes"
    protocol |= {"repeats": repeats, "±": "standard deviation over repeats", "seed": seed}
    smaller = [x for x in figures if x.endswith("MSE/mean")]
    return Result("centrality", name_of(model), figures, protocol, rows, deviations, smaller)


def _regression(x: Floats, truth: Floats, split: Split) -> Floats:
    """What least squares with an intercept makes of the hidden rows."""
    learned, hidden = split
    center, middle = x[learned].mean(axis=0), truth[learned].mean(axis=0)
    if not x.shape[1]:
        return np.tile(middle, (len(hidden), 1))
    scale = np.abs(x[learned] - center).max(axis=0)
    centered = (x - center) / np.where(scale > 0, scale, 1)  # columns of any size, for a solution of full accuracy
    weights = np.linalg.lstsq(centered[learned], truth[learned] - middle, rcond=None)[0]
    return np.asarray(centered[hidden] @ weights + middle)


def _figures(names: tuple[str, ...], truth: Floats, told: Floats, hidden: Rows) -> dict[str, float]:
    error, spread = ((truth[hidden] - told) ** 2).mean(axis=0), truth[hidden].var(axis=0)
    mean, made = truth.mean(axis=0), {}
    for i, name in enumerate(names):
        made[f"{name} MSE/mean"] = float(error[i] / mean[i]) if mean[i] > 0 else float("nan")
        made[f"{name} R²"] = float(1 - error[i] / spread[i]) if spread[i] > 0 else float("nan")
    return made


def _starts(n: int, sources: int | None, seed: int) -> Rows | None:
    """Random nodes to count paths from; None for all."""
    count = sources if sources is not None else n if n <= _EXACT else _SOURCES
    return None if count >= n else np.sort(np.random.default_rng(seed).choice(n, count, replace=False))


def _check_measures(measures: Iterable[str]) -> tuple[str, ...]:
    asked = (measures,) if isinstance(measures, str) else tuple(measures)
    for name in asked:
        check_choice(MEASURES, measures=name)
    if not asked:
        raise InputError(f"measures is empty; name some of {', '.join(MEASURES)}")
    return asked
