"""`auto`: race models on inner parts of the data within a budget, and give back the best, fitted to everything."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Mapping
from typing import Any

from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.embedder.embedder import Embedder
from netfold.embedder.options import options
from netfold.errors import InputError
from netfold.evaluate.task import task_named
from netfold.models import MODELS
from netfold.studies.choose.facts import facts_of, in_words, stand_in
from netfold.studies.choose.rules import Entrant, entrants
from netfold.studies.compare import fit_with_base, model_named
from netfold.studies.machine import Budget, BudgetClock, bytes_of
from netfold.studies.questions import check_question, questions
from netfold.studies.race import SIZES, Candidate, LiveTable, Race, probe_cost, with_epochs

__all__ = ["auto"]

_WARM_UP, _PROBED = 60, 2400
"""Nodes of a fit that is not counted, as the first one loads what the others find loaded; and of one that says what
the cheapest model would cost on a large graph."""


def auto(
    graph: Any,
    task: str = "link",
    *,
    classes: Mapping[Any, Any] | None = None,
    budget: Any = "60s",
    memory: Any = None,
    seed: int = 0,
    progress: bool = True,
) -> Embedder:
    """The best model for a task on these data that a budget allows, fitted to all of them; `trials_` is the table.

    `task` is one of `nf.evaluate.TASKS` ("link", "classify", "cluster", "near", "new-nodes", "roles", "tuples", ...),
    `classes` are {node: class} where it needs them. `budget`: seconds on the clock from here to the fitted model
    ("60s", "5m"), CPU seconds ("60cpu"), or "20 trials", which gives the same model for the same seed. `memory`
    ("4GiB") leaves out what is estimated to need more.

    Candidates are those of `netfold.studies.choose.rules.SPACE` and what `nf.choose` recommends, the cheap first. They
    are compared on inner parts of the data; the better go on with more epochs, more nodes and more parts. One that is
    level with the best, within the standard error of their difference, and cheaper, is taken. The figure that is said
    in the end is of data that chose nothing. Ctrl-C ends the race, and the best so far is fitted.

    >>> from netfold.studies.datasets import stochastic_block_model
    >>> graph, blocks = stochastic_block_model((30, 30), 0.4, 0.02)
    >>> best = auto(graph, "classify", classes=blocks, budget="3 trials", progress=False)
    >>> best.trials_.figure, best.trials_.value > 0.9, len(best.embedding_)
    ('micro-F1', True, 60)
    """
    clock, limit = BudgetClock(Budget.of(budget)), bytes_of(memory)
    data = graph if isinstance(graph, Hypergraph) else Graph.of(graph)
    known = task_named(task)
    check_question(known, data, classes)
    facts = facts_of(data, seed=seed)
    some = _candidates(entrants(known.name, facts), seed)
    if not some:
        raise InputError(f"there is no model to race for {known.name} on {data!r}")
    say = LiveTable(progress)
    fit_with_base(with_epochs(some[0].model, 0), stand_in(data, _WARM_UP, seed))
    _check_possible(some[0], data, clock, known.name)
    gc.freeze()  # what is there stays: each `Meter` collects garbage, and would look at all of it again
    try:
        race = Race(questions(data, known, classes, seed), some, clock, limit, seed, say)
        race.run()
        return race.finish()
    finally:
        gc.unfreeze()


def _check_possible(cheapest: Candidate, data: Any, clock: BudgetClock, task: str) -> None:
    """Refuse a budget in which not even the cheapest can be fitted, before the graph is taken apart."""
    if not clock.timed or data.n_nodes <= SIZES[0]:
        return
    cost = probe_cost(cheapest.model, stand_in(data, _PROBED, 0))
    cheapest.cost = cost
    needed = cost.of(0, data.n_nodes)[0] * (1 if task_named(task).split == "" else 2)
    if needed > clock.left():
        name, words = cheapest.name, in_words(needed)
        raise InputError(
            f"a budget of {clock.budget} is too little for {data!r}: the cheapest model, {name}, is estimated to take "
            f"about {words}; give at least {math.ceil(2 * needed)}s"
        )


def _candidates(some: Iterable[Entrant], seed: int) -> list[Candidate]:
    made = []
    for place, x in enumerate(some):
        known = {o.name for o in options(MODELS[x.model])}
        if set(x.settings) <= known:
            model = model_named(x.model, **x.settings, seed=seed)
            made.append(Candidate(model, place, f"{x.model} {x.settings.get('matrix', '')}"))
    return made
