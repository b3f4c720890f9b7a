"""The models that are compared: from names and instances to unfitted models, each with a name of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from netfold.base import Embedder
from netfold.errors import InputError
from netfold.models import MODELS

__all__ = ["BASE", "Contender", "contenders", "model_named", "natural_score"]


BASE = "node2vec"
"""Whose vectors a model that extends those of another is given."""


@dataclass(frozen=True)
class Contender:
    """An unfitted model, and what a table calls it."""

    name: str
    model: Embedder

    @property
    def width(self) -> int:
        """How many numbers its vectors will have; 0 stands for as many as those that it extends."""
        return self.model.dim or MODELS[BASE]().dim


def natural_score(model: Embedder) -> str:
    """How pairs of a fitted model are scored unless told: as the model means it.

    Gaussians by W2; of a model that has a decoder of pairs (SDNE) by that, which is the model's own word on who is
    linked; other vectors by their cosine.
    """
    if model.embedding_.std is not None:
        return "w2"
    return "decoder" if hasattr(model, "pair_decoder") else "cosine"


def contenders(models: Any, seed: int) -> list[Contender]:
    """Copies of the models given, by name (then with this seed) or as instances; their classes' names, where one each.

    >>> from netfold.models import SDNE
    >>> [x.name for x in contenders(["drne", SDNE(dim=8), SDNE(dim=16)], seed=0)]
    ['DRNE', 'SDNE(dim=8)', 'SDNE(dim=16)']
    """
    one = isinstance(models, (str, Embedder))
    if not one and not isinstance(models, Iterable):
        raise InputError(f"models is a {type(models).__name__}; give names ({', '.join(MODELS)}) or models")
    made = [_model(x, seed) for x in ([models] if one else models)]
    if not made:
        raise InputError(f"there is no model to compare; give one or more of {', '.join(MODELS)}")
    kinds = Counter(type(model).__name__ for model in made)
    names = [_called(m, several=kinds[type(m).__name__] > 1) for m in made]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice:
        raise InputError(f"{twice} is given twice with the same options; leave one out, or change an option")
    return [Contender(name, model) for name, model in zip(names, made, strict=True)]


def model_named(name: str, **options: Any) -> Embedder:
    """An unfitted model by its name on the command line."""
    cls = MODELS.get(name.lower())
    if cls is None:
        near = get_close_matches(name.lower(), MODELS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(MODELS)}"
        raise InputError(f"no model is called {name!r}; {hint}")
    return cls(**options)


def _called(model: Embedder, *, several: bool) -> str:
    over = f" over {MODELS[BASE].__name__}" if model.extends else ""
    return (repr(model) if several else type(model).__name__) + over


def _model(given: Any, seed: int) -> Embedder:
    if isinstance(given, str):
        return model_named(given, seed=seed)
    if not isinstance(given, Embedder):
        kind = getattr(given, "__name__", type(given).__name__)
        raise InputError(f"{kind} is neither the name of a model ({', '.join(MODELS)}) nor one with options, nf.SDNE()")
    return type(given)(**given.get_params())
