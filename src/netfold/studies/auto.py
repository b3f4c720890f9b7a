"""`auto`: race models on inner parts of the data within a budget, and give back the best, fitted to everything."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Mapping
from typing import Any

from netfold.embedder.embedder import Embedder
from netfold.embedder.options import options
from netfold.errors import InputError
from netfold.evaluate.task import task_named
from netfold.io.edges import graph_or_hypergraph
from netfold.models import MODELS
from netfold.studies.choose import neighborhood
from netfold.studies.choose.facts import facts_of, in_words, stand_in
from netfold.studies.choose.rules import Entrant, entrants
from netfold.studies.compare import fit_with_base, model_named
from netfold.studies.machine import Budget, BudgetClock, bytes_of
from netfold.studies.questions import SAMPLED, check_question, questions
from netfold.studies.race import WARM_UP, Candidate, LiveTable, Race, probe_cost, with_epochs

__all__ = ["auto", "raced"]

_SECONDS = 60.0
"""What trials are taken to last, where what is asked follows from it."""
_PROBED = 10_000
"""Nodes of a fit that says what the cheapest model would cost on a large graph."""
_SMALL = 5000
"""Nodes, up to which all of them are asked."""
_AMPLE = {True: 10, False: 60}
"""So many times what the cheapest costs all of those without epochs cost, about, where one fit serves all parts, and
with the last fits, where each part needs its own: a larger budget is ample, and all of the graph is asked."""
_PART, _LEAST, _MOST = 0.008, 2000, 40_000
"""The share of a budget that a fit of the cheapest model to the part that is asked may cost, where it is not; and the
nodes of that part, at least and at most."""
_SPLIT = 100_000
"""Edges for each second of a budget, above which that part is taken first and what is held out is held out of it alone:
a second splits about a million."""


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

    `graph` is what `fit` takes: a `Graph`, a `Hypergraph` for "tuples", what `Graph.of` reads, or the name of a file.
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
    best = raced(graph, task, classes=classes, budget=budget, memory=memory, seed=seed, progress=progress)
    for line in best.trials_.lines():
        LiveTable(progress)(line)
    return best


def raced(
    graph: Any, task: str, *, classes: Mapping[Any, Any] | None, budget: Any, memory: Any, seed: int, progress: bool
) -> Embedder:
    """What `auto` gives, without its last words, which whoever prints the result says."""
    clock, limit = BudgetClock(Budget.of(budget)), bytes_of(memory)
    known = task_named(task)
    data = graph_or_hypergraph(graph, known.reads[0])
    check_question(known, data, classes)
    facts = facts_of(data, seed=seed)
    some = _candidates(entrants(known.name, facts), data, seed)
    if not some:
        raise InputError(f"there is no model to race for {known.name} on {data!r}")
    say = LiveTable(progress)
    fit_with_base(with_epochs(some[0].model, 0), stand_in(data, WARM_UP, seed))
    large = data.n_edges > _SPLIT * clock.budget.amount
    asked_whole = known.name not in SAMPLED and not large
    size = data.n_nodes if asked_whole else _size(some, data, clock, _AMPLE[not known.split])
    if size < data.n_nodes:
        say(f"{clock.budget} are little for {data!r}: models are compared on a part of {size:,} nodes")
    part = neighborhood(data, size, seed) if large else data
    gc.freeze()  # what is there stays: each `Meter` collects garbage, and would look at all of it again
    try:
        inside = classes if part is data or classes is None else _inside(classes, part)
        asked = questions(part, known, inside, seed, clock.budget.amount if clock.timed else _SECONDS)
        race = Race(asked, some, clock, limit, seed, say, data, size)
        race.run()
        return race.finish()
    finally:
        gc.unfreeze()


def _size(some: list[Candidate], data: Any, clock: BudgetClock, ample: float) -> int:
    """The nodes that candidates are compared on: all, or fewer where to fit all of them would take the budget.

    Refuses a budget in which not even the cheapest can be fitted, before a large graph is taken apart.
    """
    n: int = data.n_nodes
    if not clock.timed or n <= _SMALL:
        return n
    cheapest = some[0]
    cheapest.cost = probe_cost(cheapest.model, stand_in(data, min(_PROBED, n // 2), 0), clock)
    needed = cheapest.cost.of(min(1, cheapest.model.epochs), n, data.n_edges)[0]
    if needed > clock.left():
        raise InputError(
            f"a budget of {clock.budget} is too little for {data!r}: the cheapest model, {cheapest.name}, is estimated "
            f"to take about {in_words(needed)}; give at least {math.ceil(2 * needed)}s"
        )
    if ample * needed <= clock.left():
        return n
    return min(n, max(int(n * _PART * clock.left() / needed), _LEAST), _MOST)


def _inside(classes: Mapping[Any, Any], part: Any) -> dict[Any, Any]:
    """Of the nodes of a part."""
    nodes = list(classes)
    return {node: classes[node] for node, at in zip(nodes, part.nodes.find(nodes), strict=True) if at >= 0}


def _candidates(some: Iterable[Entrant], data: Any, seed: int) -> list[Candidate]:
    made = []
    for place, x in enumerate(some):
        known = {o.name for o in options(MODELS[x.model])}
        if set(x.settings) <= known:
            model = model_named(x.model, **x.settings, seed=seed).resolved(data)
            made.append(Candidate(model, place, f"{x.model} {x.settings.get('matrix', '')}"))
    return made
