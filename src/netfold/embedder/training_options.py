"""Options that several models have, each declared here, once: how weights are read, how a model is trained, and how
skip-gram goes.

A model takes of these what it has, by `training` or `skipgram`, each where it stands in the model's own list: a base
class would put all of them before what the model is known by.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from netfold.embedder.options import option

__all__ = ["SkipGramOptions", "TrainingOptions", "skipgram", "training", "weight_scale"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """How a network descends, in what steps, and when it has arrived."""

    lr: float = option(0.01, "learning rate", above=0)
    schedule: str = option(
        "cosine", "how the learning rate falls over the epochs", choices=("constant", "linear", "cosine")
    )
    batch_size: int | None = option(None, "nodes a step; None takes all at once", type=int, at_least=1)
    tolerance: float = option(
        1e-4, "training has converged when the objective improves by less than this share", at_least=0
    )
    patience: int = option(20, "of how many epochs the improvement is asked", at_least=1)
    held_out: float = option(
        0.0,
        "share of the links that a first run is trained without, to see after how many epochs (none is the start) it "
        "tells them best from pairs that are not linked; the model is then trained on everything for as many. 0: no "
        "such run, `tolerance` says when to stop. Up to twice the cost; works with dropout",
        at_least=0,
        below=1,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SkipGramOptions(TrainingOptions):
    """How walks go, what is a pair, and how vectors are trained to tell pairs from nodes drawn at random."""

    p: float = option(1.0, "return parameter: the larger, the less a walk turns back at once", above=0)
    q: float = option(1.0, "in-out parameter: the larger, the closer a walk stays to where it came from", above=0)
    length: int = option(80, "nodes in a walk", at_least=2)
    window: int = option(
        10,
        "steps within which two nodes of a walk are a pair, weighted by (window - steps + 1) / window: what word2vec's "
        "random windows come to in expectation",
        at_least=1,
    )
    n_negatives: int = option(
        5, "k: nodes drawn at random against each pair, in expectation", at_least=1, was="negatives"
    )
    init: str = option(
        "spectral",
        "the start: spectral (eigenvectors of the normalised adjacency, near which training ends) or none (word2vec's "
        "small random vectors, for which lr = 0.3 and several times the epochs are needed)",
        choices=("spectral", "none"),
        was="pretrain",
    )
    lr: float = option(
        0.1, "learning rate of row-wise Adagrad; a row that has seen little yet moves at a quarter of it", above=0
    )
    schedule: str = option(
        "linear", "how the learning rate falls over the epochs", choices=("constant", "linear", "cosine")
    )
    batch_size: int | None = option(
        None,
        "walks a step; None: 64, and where nodes are above 100,000 as many as meet half of them",
        type=int,
        at_least=1,
    )
    tolerance: float = option(
        0.0,
        "training has converged when the objective improves by less than this share; 0: never before the last epoch",
        at_least=0,
    )
    patience: int = option(10, "of how many epochs the improvement is asked", at_least=1)


_AS_DECLARED: Any = object()


def weight_scale() -> Any:
    """The option of models that read a few very large weights by their logarithms."""
    return option(
        None,
        "how weights of edges are read: plain (as they are) or log (log(1 + w / u), u their median); None takes log "
        "where the largest is 100 times the median or more, as counts often are, and would drown all others",
        choices=("plain", "log"),
        type=str,
    )


def training(name: str, *, default: Any = _AS_DECLARED, help: str | None = None) -> Any:
    """A dataclass field that is an option of `TrainingOptions`, with another default or in other words where given.

    >>> from netfold.embedder.options import Configured, options
    >>> @dataclasses.dataclass(kw_only=True)
    ... class Autoencoder(Configured):
    ...     lr: float = training("lr", default=0.3)
    ...     batch_size: int = training("batch_size", default=64, help="rows a step")
    >>> [(o.default, o.help, o.none) for o in options(Autoencoder)]
    [(0.3, 'learning rate', False), (64, 'rows a step', False)]
    """
    return _declared(TrainingOptions, name, default, help)


def skipgram(name: str, *, default: Any = _AS_DECLARED, help: str | None = None) -> Any:
    """The same of `SkipGramOptions`."""
    return _declared(SkipGramOptions, name, default, help)


def _declared(cls: type, name: str, default: Any, help: str | None) -> Any:
    field = {each.name: each for each in dataclasses.fields(cls)}[name]
    default = field.default if default is _AS_DECLARED else default
    words = field.metadata["help"] if help is None else help
    return dataclasses.field(default=default, metadata={**field.metadata, "help": words, "none": default is None})
