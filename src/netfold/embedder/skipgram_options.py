"""The options that Node2Vec, LINE and Node2VecPlus have in common: each is declared here, once."""

from __future__ import annotations

import dataclasses
from typing import Any

from netfold.embedder.options import option

__all__ = ["SkipGramOptions", "declared"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SkipGramOptions:
    """How walks go, what is a pair, and how vectors are trained to tell pairs from nodes drawn at random.

    A model takes of these what it has, by `declared`, each where it stands in the model's own list: a base class would
    put all of them before p and q, or whatever else a model is known by.
    """

    p: float = option(1.0, "return parameter: the larger, the less a walk turns back at once", above=0)
    q: float = option(1.0, "in-out parameter: the larger, the closer a walk stays to where it came from", above=0)
    length: int = option(80, "nodes in a walk", at_least=2)
    window: int = option(
        10,
        "steps within which two nodes of a walk are a pair, weighted by (window - steps + 1) / window: what word2vec's "
        "random windows come to in expectation",
        at_least=1,
    )
    negatives: int = option(5, "k: nodes drawn at random against each pair, in expectation", at_least=1)
    pretrain: str = option(
        "spectral",
        "the start: spectral (eigenvectors of the normalised adjacency, near which training ends) or none (word2vec's "
        "small random vectors, for which lr = 0.3 and several times the epochs are needed)",
        choices=("spectral", "none"),
    )
    lr: float = option(
        0.1, "learning rate of row-wise Adagrad; a row that has seen little yet moves at a quarter of it", above=0
    )
    schedule: str = option(
        "linear", "how the learning rate falls over the epochs", choices=("constant", "linear", "cosine")
    )
    batch_size: int = option(64, "walks a step", at_least=1)
    tolerance: float = option(
        0.0,
        "training has converged when the objective improves by less than this share; 0: never before the last epoch",
        at_least=0,
    )
    patience: int = option(10, "of how many epochs the improvement is asked", at_least=1)


_FIELDS = {field.name: field for field in dataclasses.fields(SkipGramOptions)}


def declared(name: str, *, default: Any = None, help: str | None = None) -> Any:
    """A dataclass field that is an option of `SkipGramOptions`, with another default or in other words where given.

    >>> from netfold.embedder.options import Configured, options
    >>> @dataclasses.dataclass(kw_only=True)
    ... class Links(Configured):
    ...     lr: float = declared("lr", default=0.3)
    ...     batch_size: int = declared("batch_size", default=4096, help="links a step")
    >>> [(o.default, o.help[:13]) for o in options(Links)]
    [(0.3, 'learning rate'), (4096, 'links a step')]
    """
    field = _FIELDS[name]
    said = {} if help is None else {"help": help}
    return dataclasses.field(default=field.default if default is None else default, metadata={**field.metadata, **said})
