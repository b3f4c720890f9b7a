"""Which model for these data and this task: `nf.choose`."""

from __future__ import annotations

from typing import Any

from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.errors import InputError
from netfold.studies.choose.choice import Choice
from netfold.studies.choose.facts import Facts, facts_of
from netfold.studies.choose.probe import Cost, estimated_cost
from netfold.studies.choose.rules import PURPOSES, RULES, Rule, purpose_named, rule_for
from netfold.studies.compare.running import fit_with_base
from netfold.studies.machine import machine

__all__ = ["PURPOSES", "RULES", "Choice", "Cost", "Facts", "Rule", "choose"]


def choose(
    graph: Any, task: str | None = None, *, time_column: str | None = None, probe: bool = True, seed: int = 0
) -> Choice:
    """Look at a graph (or a hypergraph) and say which model to fit, with which settings, why, and what it will cost.

    `task` is what the vectors are for: "link" (links that are missing or not there yet), "classify", "roles",
    "new-nodes", "uncertainty", or None for who is near whom; the longer names of `nf.evaluate.TASKS` do too. The rules
    are the table `RULES`, each with the figures of ours that speak for it and what speaks against it. With `probe`, the
    model is fitted for a few epochs to small graphs like this one, within about ten seconds, and the cost of the whole
    fit is estimated from that. `time_column` says that edges come with times, under this name.

    >>> from netfold.studies.datasets import stochastic_block_model
    >>> graph, _ = stochastic_block_model((30, 30), 0.4, 0.02)
    >>> choice = choose(graph, "roles", probe=False)
    >>> choice.model
    DRNE(dim=36, lambda_=0.1, rounds=2, vectors='all')
    >>> print(choice.lines()[0])
    data: 60 nodes, 384 edges, undirected, degrees 13 (median) to 18, clustering 0.37
    """
    wanted, data = purpose_named(task), _read(graph)
    facts = facts_of(data, time_column, seed)
    rule = rule_for(wanted, facts)
    chosen = Choice(wanted, facts, rule, None, machine("auto"), seed)
    if not probe:
        return chosen
    return Choice(wanted, facts, rule, _probed(chosen, data), chosen.machine, seed)


def _read(graph: Any) -> Any:
    data = graph if isinstance(graph, Hypergraph) else Graph.of(graph)
    if data.n_edges == 0:
        raise InputError("the graph has no edges; there is nothing to choose a model for")
    return data


def _probed(choice: Choice, data: Any) -> Cost:
    return estimated_cost(fit_with_base, choice.model, data, seed=choice.seed)
