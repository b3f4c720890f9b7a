"""Whether vectors know the roles of nodes: logistic regression over all roles at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from netfold.evaluate.baselines import degree_features
from netfold.evaluate.checks import check_at_least_one, check_choice, check_fractions
from netfold.evaluate.node_labels import (
    NORMALIZE,
    Floats,
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

__all__ = ["roles"]


def roles(
    model: Any,
    roles: Mapping[Any, Any],
    *,
    graph: Any = None,
    train: Iterable[float] | float = (0.1, 0.8),
    normalize: str = "columns",
    repeats: int = 20,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """The part of nodes whose role {node: role} multinomial logistic regression tells from their vectors.

    For each part in `train` the nodes are split at random, `repeats` times, alike for every method. `normalize`:
    coordinates of mean 0 and deviation 1 over the learned nodes ("columns"), vectors of length 1 ("rows", which takes
    away a length that may well stand for a role), or "none". The baselines are the most frequent role and, with
    `graph`, five numbers about degrees: on the air traffic networks these come to about DRNE's published accuracy.

    >>> from netfold.embedding import Embedding
    >>> star = Embedding(range(20), [[9.0]] * 10 + [[1.0]] * 10)
    >>> roles(star, {i: "hub" if i < 10 else "leaf" for i in range(20)}, train=0.8).figures
    {'accuracy@80%': 1.0}
    """
    check_choice(NORMALIZE, normalize=normalize)
    check_at_least_one(repeats=repeats)
    parts, embedding = check_fractions(train), embedding_of(model)
    known = read_classes(roles, embedding.nodes, one_each=True)
    splits = {part: list(node_splits(len(known.nodes), part, repeats, seed)) for part in parts}

    def measured(vectors: Floats) -> tuple[dict[str, float], dict[str, float]]:
        found = [
            {f"accuracy@{percent(p)}": _accuracy(vectors, known.codes, splits[p][i], normalize) for p in parts}
            for i in range(repeats)
        ]
        return mean_of(found)

    figures, deviations = measured(embedding[known.nodes].astype(np.float64))
    rows = {}
    if baselines and graph is not None:
        rows["degree features"] = measured(degree_features(Graph.of(graph))[known.nodes].astype(np.float64))[0]
    if baselines:
        rows["most frequent role"] = measured(np.zeros((len(known.nodes), 1)))[0]
    protocol = {"classifier": "multinomial logistic regression", "C": 1.0, "normalize": normalize} | known.facts
    protocol |= {"splits": "random nodes", "repeats": repeats, "±": "standard deviation over repeats", "seed": seed}
    if baselines and graph is None:
        protocol["degree features"] = "none, as no graph was given"
    return Result("roles", name_of(model), figures, protocol, rows, deviations)


def _accuracy(vectors: Floats, codes: Rows, split: Split, normalize: str) -> float:
    """Of the asked rows; where all learned rows have one role, that is the answer."""
    from sklearn.linear_model import LogisticRegression

    learned, asked = split
    if len(np.unique(codes[learned])) == 1:
        return float((codes[asked] == codes[learned[0]]).mean())
    x = normalized(vectors, normalize, learned)
    fitted = LogisticRegression(tol=1e-6, max_iter=1_000).fit(x[learned], codes[learned])
    return float((fitted.predict(x[asked]) == codes[asked]).mean())
