"""The flags of `netfold evaluate`: for each task, what its function takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

__all__ = ["HYPEREDGE_FLAGS", "TASKS", "Asked", "Numbers", "protocol_of"]

_PREFIX = "protocol_"
"""Before the name of an argument, so that it is not taken for an option of the model."""

SCORES = ("dot", "cosine", "distance", "w2", "decoder")
NEGATIVES = ("uniform", "degree", "all")
SAMPLERS = ("replaced", "uniform", "all")
AGGREGATES = ("mean", "min")
KEEP = ("none", "connected")
BY = ("random", "time")
CLASSIFIERS = ("logistic", "svm")
RULES = ("top-k", "threshold")
NORMALIZE = ("none", "rows", "centred", "columns")
MEASURES = ("closeness", "betweenness", "eigenvector", "k-core", "pagerank", "degree")
"""What the functions of `nf.evaluate` admit: written here because importing them is not instant."""


class Numbers(click.ParamType):  # type: ignore[type-arg]
    """Numbers parted by commas, each within bounds."""

    name = "numbers"

    def __init__(self, kind: type, low: float, high: float = float("inf")):
        self._kind, self._low, self._high = kind, low, high

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: D102
        return "N,N,..." if self._kind is int else "X,X,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: D102
        if not isinstance(value, str):
            return value
        try:
            made = tuple(self._kind(part) for part in value.split(","))
            if not all(self._low <= x <= self._high for x in made):
                raise ValueError
        except ValueError:
            kind = "whole numbers" if self._kind is int else "numbers"
            bound = f"of at least {self._low:g}" + (f" and at most {self._high:g}" if self._high < float("inf") else "")
            self.fail(f"{value!r} is not a list of {kind} {bound}, parted by commas", param, ctx)
        return made


class _Words(click.ParamType):  # type: ignore[type-arg]
    """Words parted by commas, each one of those known."""

    name = "words"

    def __init__(self, known: tuple[str, ...]):
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        words = tuple(value.split(",")) if isinstance(value, str) else value
        wrong = [word for word in words if word not in self._known]
        if wrong:
            self.fail(f"{wrong[0]!r} is not one of {', '.join(self._known)}", param, ctx)
        return words


@dataclass(frozen=True)
class Asked:
    """A task of the command line: what it says of itself, and its flags."""

    function: str
    """Its name in `nf.evaluate`."""
    help: str
    flags: tuple[Callable[[Any], Any], ...]
    labels: bool = False
    """Whether it needs the classes of nodes."""
    splits: bool = False
    """Whether it hides edges, and fits to the rest."""


def protocol_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the task that were given."""
    cut = len(_PREFIX)
    return {name[cut:]: x for name, x in given.items() if name.startswith(_PREFIX) and x is not None}


def _flag(name: str, argument: str, help: str, **more: Any) -> Callable[[Any], Any]:
    return click.option(f"--{name}", f"{_PREFIX}{argument}", help=help, **more)


def _choice(name: str, known: tuple[str, ...], help: str) -> Callable[[Any], Any]:
    return _flag(name, name, help, type=click.Choice(known))


_SCORE = _choice("score", SCORES, "How a pair of nodes is scored.  [default: cosine]")
_K = _flag("k", "k", "Precision among so many best pairs.  [default: 100,1000,10000]", type=Numbers(int, 1))
_NODES = _flag(
    "nodes", "nodes", "Rank from so many random nodes in larger graphs.  [default: 20000]", type=click.IntRange(1)
)
_TRAIN = _flag("train", "train", "Shares of nodes to learn from, as 0.1,0.9.", type=Numbers(float, 0.001, 0.999))
_REPEATS = _flag("repeats", "repeats", "How many random splits are averaged.", type=click.IntRange(1))
_NORMALIZE = _choice(
    "normalize",
    NORMALIZE,
    "Vectors of length 1 (around 0 or around their mean), or coordinates of mean 0 and deviation 1.",
)
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)

TASKS = {
    "link-prediction": Asked(
        "link_prediction",
        "How well hidden edges are found: AUC, average precision, precision@k, MAP, hits@k and MRR.\n\n"
        "A model given by name is fitted to the edges that are left. A saved one must not have seen the test edges: "
        "EDGES are then those it was fitted to, and --test names a file of others.",
        (
            _flag("hide", "hidden", "The share of edges to hide.  [default: 0.2]", type=_SHARE),
            _choice("by", BY, "Hide random edges, or the latest by their time column.  [default: random]"),
            _choice("keep", KEEP, "connected: no hidden edge may cross components.  [default: none]"),
            _SCORE,
            _choice("negatives", NEGATIVES, "How pairs that are no edges are drawn.  [default: uniform]"),
            _flag("per-positive", "per_positive", "So many for each test edge.  [default: 1]", type=click.IntRange(1)),
            _K,
            _flag("hits", "hits", "Hits among so many best.  [default: 10,50]", type=Numbers(int, 1)),
            _NODES,
        ),
        splits=True,
    ),
    "reconstruction": Asked(
        "reconstruction",
        "How well the vectors give back the graph that they were learned from: MAP and precision@k.",
        (
            _SCORE,
            _flag("per-positive", "per_positive", "AUC too, against so many for each edge.", type=click.IntRange(1)),
            _choice("negatives", NEGATIVES, "How pairs that are no edges are drawn.  [default: uniform]"),
            _K,
            _NODES,
        ),
    ),
    "classification": Asked(
        "classification",
        "How well a linear classifier tells the classes of nodes from their vectors: micro-F1 and macro-F1.",
        (
            _TRAIN,
            _choice("classifier", CLASSIFIERS, "One for each class against the rest.  [default: logistic]"),
            _choice("rule", RULES, "top-k: how many classes a node has is known.  [default: top-k]"),
            _NORMALIZE,
            _flag("penalty", "C", "The larger, the weaker (C).", type=click.FloatRange(min=0, min_open=True)),
            _REPEATS,
        ),
        labels=True,
    ),
    "clustering": Asked(
        "clustering",
        "How well clusters of the vectors agree with classes: normalised mutual information and adjusted Rand index.",
        (
            _flag("clusters", "clusters", "How many.  [default: as there are classes]", type=click.IntRange(2)),
            _NORMALIZE,
            _REPEATS,
        ),
        labels=True,
    ),
    "roles": Asked(
        "roles",
        "How well logistic regression tells the roles of nodes from their vectors: accuracy.",
        (_TRAIN, _NORMALIZE, _REPEATS),
        labels=True,
    ),
    "centrality": Asked(
        "centrality",
        "How well linear regression tells centralities from vectors: squared error over the mean, and R².",
        (
            _flag("hide", "hidden", "The share of nodes to be asked about.  [default: 0.2]", type=_SHARE),
            _flag("sources", "sources", "Count paths from so many random nodes.", type=click.IntRange(1)),
            _flag("measures", "measures", f"Of {', '.join(MEASURES)}.  [default: all]", type=_Words(MEASURES)),
            _REPEATS,
        ),
    ),
    "regular-equivalence": Asked(
        "regular_equivalence",
        "How well products of vectors rank pairs of nodes as their regular equivalence does: Kendall's tau.",
        (
            _choice("score", SCORES, "How a pair of nodes is scored.  [default: dot]"),
            _flag("pairs", "pairs", "Compare so many random pairs in larger graphs.", type=click.IntRange(2)),
        ),
    ),
}  # fmt: skip
"""The tasks by their names on the command line."""

HYPEREDGE_FLAGS = (
    _flag("hide", "hidden", "The share of hyperedges to hide.  [default: 0.2]", type=_SHARE),
    _flag(
        "negatives",
        "negatives",
        "How tuples that are no hyperedges are drawn, parted by commas: replaced changes one position of a hyperedge, "
        "or two in a tenth of the cases; uniform all of them; all takes every tuple.",
        type=_Words(SAMPLERS),
        default="replaced,uniform",
        show_default=True,
    ),
    _flag("per-positive", "per_positive", "So many for each hyperedge.  [default: 5]", type=click.IntRange(1)),
    _choice("aggregate", AGGREGATES, "Score a tuple by the cosines of its pairs.  [default: the model's own score]"),
)  # fmt: skip
"""Those of `netfold evaluate hyperedges`."""
