"""The data sets that need no file: which function makes each, with which options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from netfold.datasets import planted, random_graphs, small
from netfold.errors import InputError
from netfold.graph import Graph
from netfold.hypergraph import Hypergraph

__all__ = ["BUILT_IN", "BuiltIn"]


class BuiltIn(NamedTuple):
    """A function that makes a graph, or a graph and the classes of its nodes."""

    make: Callable[..., Any]
    classes: Callable[..., dict[Any, Any]] | None = None
    """What makes the classes, with the same options, where `make` gives the graph alone."""

    @property
    def options(self) -> dict[str, Any]:
        """The options, and their defaults."""
        return {p.name: p.default for p in inspect.signature(self.make).parameters.values()}

    def graph(self, name: str, options: dict[str, Any]) -> Graph | Hypergraph:
        """The graph alone."""
        check_options(name, options, self.options)
        made = self.make(**options)
        found: Graph | Hypergraph = made[0] if isinstance(made, tuple) else made
        return found

    def labels(self, name: str, options: dict[str, Any]) -> dict[Any, Any] | None:
        """The class of each node; None where there are none."""
        check_options(name, options, self.options)
        if self.classes is not None:
            return self.classes(**options)
        made = self.make(**options)
        return made[1] if isinstance(made, tuple) else None


BUILT_IN = {
    "karate": BuiltIn(small.karate, small.karate_classes),
    "les_miserables": BuiltIn(small.les_miserables),
    "davis": BuiltIn(small.davis, small.davis_classes),
    "barbell": BuiltIn(small.barbell, small.barbell_classes),
    "mirrored_karate": BuiltIn(small.mirrored_karate, small.mirrored_karate_classes),
    "sbm": BuiltIn(random_graphs.stochastic_block_model),
    "planted_roles": BuiltIn(planted.planted_roles),
    "planted_triples": BuiltIn(planted.planted_triples, planted.planted_triples_classes),
    "chung_lu": BuiltIn(random_graphs.chung_lu),
    "kronecker": BuiltIn(random_graphs.kronecker),
}


def check_options(name: str, given: dict[str, Any], known: dict[str, Any]) -> None:
    """Refuse an option that a data set does not have."""
    odd = next((option for option in given if option not in known), None)
    if odd is not None:
        has = f"its options are {', '.join(known)}" if known else "it has no options"
        raise InputError(f"the data set {name!r} has no option {odd!r}; {has}")
