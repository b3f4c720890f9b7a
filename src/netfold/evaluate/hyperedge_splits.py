"""Some of a hypergraph's hyperedges hidden, to be told from tuples that are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.errors import InputError
from netfold.evaluate.checks import is_between
from netfold.evaluate.hyperedges import hyperedges
from netfold.evaluate.result import Result, facts_in_words
from netfold.evaluate.tuples import Order, TupleSet, coded_edges, coded_like
from netfold.hypergraph import Hypergraph

__all__ = ["HyperedgeSplit", "hidden_hyperedges", "split_hyperedges"]


@dataclass(frozen=True, eq=False, repr=False)
class HyperedgeSplit:
    """A hypergraph to learn from, and hyperedges among its nodes to be asked about."""

    train: Hypergraph
    """All nodes, and the hyperedges that are left."""
    test: Any
    """A `Hypergraph` of the others, or tuples of labels."""
    protocol: Mapping[str, Any]
    """How those were chosen."""

    @cached_property
    def figures(self) -> dict[str, int]:
        """How many hyperedges are asked about, how many of those are not known too, and how many nodes lost theirs."""
        rows, known = coded_like(self.train, self.test), coded_edges(self.train)
        seen = TupleSet(known, self.train.n_nodes, Order(self.train)).holds(rows)
        alone = np.setdiff1d(rows[rows >= 0], known)
        return {"test hyperedges": len(rows), "unseen": int((~seen).sum()), "nodes left in none": len(alone)}

    def __repr__(self) -> str:
        facts, protocol = facts_in_words(self.figures), facts_in_words(self.protocol)
        return f"HyperedgeSplit: {self.train} to learn from\n{facts}\nprotocol: {protocol}"


def split_hyperedges(hypergraph: Hypergraph, hidden: float = 0.2, *, seed: int = 0) -> HyperedgeSplit:
    """Hide a random share of the hyperedges; all nodes are kept.

    A hyperedge that is there twice can be hidden once and known once: it is then no question, and `hidden_hyperedges`
    gives the figures of those that were never seen apart.

    >>> split_hyperedges(Hypergraph.from_tuples([(i, i + 1, i + 2) for i in range(10)]), 0.3)
    HyperedgeSplit: Hypergraph(12 nodes, 7 edges) to learn from
    test hyperedges 3; unseen 3; nodes left in none 1
    protocol: hidden 0.3; seed 0
    """
    if not is_between(hidden, 0, 1):
        raise InputError(f"hidden={hidden!r} is no share of the hyperedges; give a number between 0 and 1")
    m, count = hypergraph.n_edges, round(hidden * hypergraph.n_edges)
    if not 0 < count < m:
        raise InputError(f"hidden={hidden:g} hides {count:,} of {m:,} hyperedges; hide some, and leave some")
    chosen = np.zeros(m, bool)
    chosen[np.random.default_rng(seed).choice(m, count, replace=False)] = True
    train, test = _with_edges(hypergraph, ~chosen), _with_edges(hypergraph, chosen)
    return HyperedgeSplit(train, test, {"hidden": float(hidden), "seed": seed})


def _with_edges(whole: Hypergraph, chosen: npt.NDArray[np.bool_]) -> Hypergraph:
    """The same nodes, and some of the hyperedges."""
    numbered = zip(whole.kinds, whole.edge_numbers(), strict=True)
    kinds = [(kind.roles, kind.types, kind.rows[chosen[numbers]]) for kind, numbers in numbered]
    return Hypergraph.from_kinds(kinds, nodes=whole.nodes, node_types=whole.type_codes, types=whole.types)


def hidden_hyperedges(
    model: Any,
    split: HyperedgeSplit,
    *,
    negatives: Any = "replaced",
    per_positive: int = 5,
    aggregate: str | None = None,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """AUC and average precision of hidden hyperedges that were never seen, as `hyperedges` has them.

    Where some of the hidden ones are known too, "AUC with seen" and "AP with seen" are of all of them, each as often as
    it was hidden. `model` was fitted to `split.train`.
    """
    if not split.figures["unseen"]:
        count = split.figures["test hyperedges"]
        raise InputError(f"each of the {count:,} test hyperedges is known too, so that there is nothing to be found")
    asked: dict[str, Any] = {"negatives": negatives, "per_positive": per_positive, "aggregate": aggregate}
    asked |= {"known": split.train, "seed": seed, "baselines": baselines}
    unseen = hyperedges(model, split.test, **asked)
    figures, cheap = dict(unseen.figures), {name: dict(row) for name, row in unseen.baselines.items()}
    if split.figures["unseen"] < split.figures["test hyperedges"]:
        every = hyperedges(model, split.test, duplicates="keep", **asked)
        figures |= _with_seen(every.figures)
        cheap = {name: row | _with_seen(every.baselines[name]) for name, row in cheap.items()}
    return Result("hyperedges", unseen.name, figures, {**split.protocol, **unseen.protocol}, cheap)


def _with_seen(figures: Mapping[str, float]) -> dict[str, float]:
    return {f"{name} with seen": x for name, x in figures.items()}
