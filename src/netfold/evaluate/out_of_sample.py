"""How good the vectors of nodes are that a model meets after it was fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.evaluate.checks import check_at_least_one, check_choice, is_between
from netfold.evaluate.classification import class_figures, linear_scorer
from netfold.evaluate.extensions import reached
from netfold.evaluate.hidden_links import hide_half, new_node_negatives
from netfold.evaluate.new_vectors import LINKED, Method, cheap_methods, extending, known_vectors, refitting
from netfold.evaluate.node_labels import NORMALIZE, read_classes
from netfold.evaluate.node_splits import NodeSplit
from netfold.evaluate.pairs import SCORES_OF_VECTORS, pair_scores
from netfold.evaluate.result import Result, name_of
from netfold.evaluate.separation import separation

__all__ = ["out_of_sample"]

_LINKED_WORDS = {"path": "those with a path to known ones", "neighbor": "those with a known neighbor"}

Task = tuple[Callable[[Method], dict[str, float]], dict[str, Any]]
"""What gives a method's figures, and the choices that they depend on."""


def out_of_sample(
    model: Any,
    split: NodeSplit,
    *,
    base: Any = None,
    labels: Mapping[Any, Any] | None = None,
    links: bool = True,
    rerun: Any = None,
    linked: str = "path",
    score: str = "cosine",
    per_positive: int = 1,
    normalize: str = "centred",
    C: float = 3.0,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """Classes and links of new nodes, by vectors that they got without a new fit.

    `model` was fitted to `split.known` and has `transform(graph)`; or is a function from a `NodeSplit` to the vectors
    of its new nodes, with `base` the vectors of the known ones; or is the new nodes' vectors themselves; or is the name
    of a way that needs no model, "LocalAvg" or "LabelProp" from `base`, or "rerun" with `rerun=` below. `linked` says
    which new nodes it is asked about: those with a "path" to known ones, or with a known "neighbor"; those that get no
    vector get the mean of the known ones. `rerun` is the costly way, beside which the others stand: a function from a
    graph to a model fitted to it (or the vectors that one gave to the whole graph).

    With `labels`: one-vs-rest logistic regression learns from all known nodes and gives each new one its k best
    classes, k being how many it has: micro- and macro-F1 (see `classification`, also for `normalize` and `C`). With
    `links`: half of the new nodes' edges are hidden before they get their vectors (`hide_half`), and `score` tells
    these edges from `per_positive` pairs of the same new node with a random node that it has no edge with: AUC and
    average precision. Vectors that are given have seen all edges, so that they have no figures of links.

    The baselines are LocalAvg and LabelProp (`local_average`, `label_propagation`) from the same base.
    """
    check_choice(SCORES_OF_VECTORS, score=score)
    check_choice(LINKED, linked=linked)
    check_choice(NORMALIZE, normalize=normalize)
    if not is_between(C, 0, np.inf):
        raise InputError(f"C={C!r} is not a finite number above 0")
    check_at_least_one(per_positive=per_positive)
    known = known_vectors(model, base, split)
    tasks = {} if labels is None else {"classes": _classes_task(split, labels, normalize, C)}
    if links and not isinstance(model, Embedding):
        tasks["links"] = _links_task(split, score, per_positive, seed)
    if not tasks:
        raise InputError("there is nothing to measure; give labels=, or a model (not vectors) and links=True")

    def figures(method: Method, thing: Any = None) -> dict[str, float]:
        able = [task for name, (task, _) in tasks.items() if name == "classes" or not isinstance(thing, Embedding)]
        return {x: value for task in able for x, value in task(method).items()}

    cheap, way = cheap_methods(known), model if isinstance(model, str) else None
    anew = {} if rerun is None else {"rerun": refitting(rerun)}
    if way is not None:
        check_choice(tuple(cheap | anew), model=way)
        own = figures((cheap | anew)[way], rerun if way in anew else None)
    else:
        own = figures(extending(model, known, linked), model)
    rows = {x: own if x == way else figures(method) for x, method in cheap.items()} if baselines else {}
    rows |= {x: figures(method, rerun) for x, method in anew.items() if x != way}
    protocol = {f"split {x}" if x == "seed" else x: value for x, value in split.protocol.items()}
    protocol |= {"new nodes": len(split.new), "model asked about": _LINKED_WORDS[linked]}
    for _, facts in tasks.values():
        protocol |= facts
    return Result("out of sample", _name(model), own, protocol, rows)


def _classes_task(split: NodeSplit, labels: Mapping[Any, Any], normalize: str, C: float) -> Task:
    """Classes of new nodes from those of known ones, and the choices that it depends on."""
    classes = read_classes(labels, split.whole.nodes)
    is_new = np.isin(split.whole.positions(classes.nodes), split.new)
    learned, asked = np.flatnonzero(~is_new), np.flatnonzero(is_new)
    if not len(learned) or not len(asked):
        raise InputError(
            f"labels name {len(learned):,} known and {len(asked):,} new nodes with a class; both are needed"
        )

    def task(method: Method) -> dict[str, float]:
        vectors = method(split)[classes.nodes].astype(np.float64)
        return class_figures(linear_scorer(vectors, "logistic", normalize, C), classes, (learned, asked), "top-k")

    facts = {"classifier": "one-vs-rest logistic", "C": C, "normalize": normalize, "rule": "top-k"}
    facts |= {"learned from": f"{len(learned):,} known nodes", "asked about": f"{len(asked):,} new ones"}
    return task, facts | {"without a path to known ones": int((~reached(split)).sum())}


def _links_task(split: NodeSplit, score: str, per_positive: int, seed: int) -> Task:
    """Hidden edges of new nodes against pairs that are none, and the choices that it depends on."""
    hidden = hide_half(split, seed=seed)
    wrong = new_node_negatives(split, hidden.pairs, per_positive, seed)
    if not len(wrong):
        raise InputError("the new nodes have edges with all others; there is no pair to tell their edges from")

    def task(method: Method) -> dict[str, float]:
        scores = pair_scores(method(hidden.split), split.whole, score)
        return separation(*(scores.at(*pairs.T.copy()).numpy() for pairs in (hidden.pairs, wrong)))

    facts: dict[str, Any] = {"links": "half of the new nodes' edges hidden", "positives": len(hidden.pairs)}
    facts |= {"negatives": f"{len(wrong):,}, the same new node with a random one that it has no edge with"}
    lost = int((~reached(hidden.split)).sum())
    return task, facts | {"without a path where these are hidden": lost, "score": score, "seed": seed}


def _name(model: Any) -> str:
    if isinstance(model, str):
        return model
    if isinstance(model, Embedding) or hasattr(model, "embedding_"):
        return name_of(model)
    return str(getattr(model, "__name__", type(model).__name__)).replace("<lambda>", "function")
