"""Which model for these data and this task: `nf.choose`, and the `Choice` that it makes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import is_whole, unique_values
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.text import enumerated, printable
from netfold.embedder.embedder import Embedder
from netfold.errors import InputError, renamed
from netfold.evaluate.task import task_named
from netfold.io.edges import graph_or_hypergraph
from netfold.studies.choose.facts import Cost, Facts, estimated_cost, facts_of
from netfold.studies.choose.rules import PURPOSES, RULES, Entrant, Rule, entrants, purpose_named, rule_for
from netfold.studies.compare import Comparison, compare, fit_with_base, model_named
from netfold.studies.machine import machine

__all__ = ["PURPOSES", "RULES", "Choice", "Cost", "Facts", "Rule", "choose", "neighborhood", "trial"]


_ENOUGH = 100
"""Links of which a tenth can say how pairs are best scored."""


@dataclass(frozen=True, repr=False)
class Choice:
    """A model for a task on some data, as `nf.choose` gives it; printed, six lines and how to go on."""

    task: str
    facts: Facts
    rule: Rule
    cost: Cost | None
    """What the fit will cost here; None where nothing was probed."""
    machine: str
    seed: int = 0

    @property
    def settings(self) -> Mapping[str, Any]:
        """The options that differ from the model's defaults."""
        return dict(self.rule.settings)

    @property
    def model(self) -> Embedder:
        """The model that was chosen, not fitted yet: `choice.model.fit(graph)`."""
        return model_named(self.rule.model, **self.settings, seed=self.seed)

    def commands(self, edges: str = "EDGES", flags: Sequence[str] = ()) -> list[str]:
        """What to type to fit it to a file of edges that is read with these flags."""
        name = self.rule.model
        options = [word for key, value in self.settings.items() for word in _words(key, value)]
        options += ["--seed", str(self.seed)] if self.seed else []
        if self.task == "link" and not self.facts.hyperedges and self.facts.edges >= _ENOUGH:
            options.append("--choose-score")
        return [shlex.join(["netfold", "fit", name, edges, *flags, "-o", f"{name}.netfold", *options])]

    @renamed(labels="classes")
    def trial(
        self,
        data: Any,
        *,
        classes: Mapping[Any, Any] | None = None,
        nodes: int = 1000,
        progress: bool = True,
    ) -> Comparison:
        """Fit the choice and what else there is to a part of the data of at most so many nodes, and compare them."""
        return trial(self, data, classes, nodes, progress=progress)

    def lines(self) -> list[str]:
        """The six lines: the data, the model, why, what speaks against it, the cost, and what `auto` would race."""
        model = type(self.model).__name__ + f"({', '.join(f'{k}={v!r}' for k, v in self.settings.items())})"
        cost = f"{self.cost}" if self.cost else "not probed"
        return [
            f"data: {self.facts}",
            f"for {PURPOSES[self.task]}: {model}",
            f"why: {self.rule.why}{self._figures()}",
            f"but: {'; '.join([self.rule.but, *self._notes()])}",
            f"cost: {cost} on {self.machine}",
            f"auto: netfold auto would race {enumerated(x.words for x in self.race)} on these data, and take the best",
        ]

    @property
    def race(self) -> list[Entrant]:
        """What `nf.auto` would race for the task on these data, the cheap first; nothing is fitted to say so."""
        named = "hyperedges" if self.facts.hyperedges and self.task == "link" else task_named(self.task).name
        return entrants(named, self.facts)

    def race_lines(self) -> list[str]:
        """What `nf.auto` would race, a line each: the model, and why it is among them."""
        return [f"{x.words}: {x.why}" for x in self.race]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return {
            "race": [{"model": x.model, "settings": dict(x.settings), "why": x.why} for x in self.race],
            "task": self.task,
            "model": self.rule.model,
            "settings": self.settings,
            "facts": asdict(self.facts),
            "why": self.rule.why,
            "but": [self.rule.but, *self._notes()],
            "evidence": [str(x) for x in self.rule.evidence],
            "cost": asdict(self.cost) if self.cost else None,
            "machine": self.machine,
        }

    def __repr__(self) -> str:
        return "\n".join([*self.lines(), f"fit: nf.{self.model!r}.fit(graph)"])

    def _figures(self) -> str:
        evidence = [str(x) for x in self.rule.evidence if x.measured()]
        settings = "these settings" if self.rule.measured else "settings of their own"
        if evidence:
            return f"; measured, with {settings}: {'; '.join(evidence)}"
        return "" if self.rule.measured else "; not measured by us yet"  # of one without a table, why has the figures

    def _notes(self) -> list[str]:
        """What in these data speaks against the choice, or must be known with it."""
        facts, name = self.facts, type(self.model).__name__
        scales = hasattr(self.model, "weight_scale") or name == "Joined"
        notes = {
            f"edges have times ({facts.time_column}): judge by holding out the latest ones, not random ones": (
                facts.time_column and self.task in ("link", "new-nodes")
            ),
            f"isolated nodes ({facts.isolated:,}) get no place of their own": facts.isolated and not facts.hyperedges,
            f"{name} reads no attributes of nodes ({', '.join(map(printable, facts.attributes[:3]))})": (
                facts.attributes and not self.model._reads_attributes()
            ),
            "it was measured without attributes, and reads them too: compare with attribute_weight=0": (
                facts.attributes and name in ("DRNE", "DHNE")
            ),
            f"{name} reads neither weights nor directions": name == "DRNE" and (facts.weighted or facts.directed),
            f"{name} reads no weights": name == "DegreeFeatures" and facts.weighted,
            f"weights reach {facts.largest_weight:,.0f} times their median, and are read as log(1 + w / median); "
            "weight_scale='plain' reads them as they are": facts.is_heavy and scales,
            f"weights reach {facts.largest_weight:,.0f} times their median: take roots or logarithms first": (
                facts.is_heavy and not scales and name not in ("DRNE", "DegreeFeatures", "DHNE")
            ),
        }
        return [words for words, holds in notes.items() if holds]


def _flag(name: str) -> str:
    return f"--{name.rstrip('_').replace('_', '-')}"


def _words(name: str, value: Any) -> tuple[str, ...]:
    """An option as it is typed; one that is on or off has no value.

    >>> _words("hidden", (64, 32)), _words("counts", True), _words("counts", False)
    (('--hidden', '64,32'), ('--counts',), ('--no-counts',))
    """
    if isinstance(value, bool):
        return (_flag(name) if value else f"--no-{_flag(name)[2:]}",)
    return _flag(name), ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


# -------------------------------------------------------------------- trying it


def trial(
    choice: Choice, data: Any, classes: Mapping[Any, Any] | None, nodes: int, *, progress: bool = True
) -> Comparison:
    """Compare the choice with the others of its rule and the cheap baselines, on at most so many nodes."""
    if not is_whole(nodes) or nodes < 10:
        raise InputError(f"nodes={nodes!r} is no part to try models on; give a whole number of at least 10")
    whole = graph_or_hypergraph(data)
    part = neighborhood(whole, nodes, choice.seed)
    some = None if classes is None else {node: classes[node] for node in part.nodes if node in classes}
    others = [model_named(name, seed=choice.seed) for name in choice.rule.others]
    tasks = _tasks(choice.task, whole, classes)
    return compare([choice.model, *others], part, tasks, classes=some, seed=choice.seed, progress=progress)


def _tasks(task: str, data: Any, classes: Any) -> dict[str, dict[str, Any]]:
    """What models are compared in, each with its arguments; neighbors by the score that a model is meant for, and links
    by the one that is chosen with it."""
    if isinstance(data, Hypergraph) and not (task == "classify" and classes is not None):
        return {"hyperedges": {}}
    if task == "roles" and classes is None:
        return {"centrality": {}, "regular-equivalence": {}}
    if task == "classify" and classes is None:
        raise InputError("to try models on classes, the classes of nodes are needed; give classes= (--classes FILE)")
    if task == "uncertainty":
        return {"calibration": {}, "link-prediction": {"score": "own"}}
    return {task_named(task).name: {"score": "own"} if task == "near" else {}}


def neighborhood(data: Graph | Hypergraph, nodes: int, seed: int = 0) -> Any:
    """The part of the data among at most so many nodes: those nearest to random ones, step by step.

    >>> neighborhood(Graph.from_edges([(i, i + 1) for i in range(100)]), 10)
    Graph(10 nodes, 9 edges, undirected)
    """
    if nodes >= data.n_nodes:
        return data
    if isinstance(data, Hypergraph):
        from netfold.data.hypergraph import clique_expansion

        return _within(data, _reached(clique_expansion(data), nodes, seed))
    return data.subgraph(_reached(data, nodes, seed))


def _reached(graph: Graph, nodes: int, seed: int) -> npt.NDArray[np.int64]:
    """Breadth first from random nodes that have a link, each start exhausted before the next."""
    from netfold.data.edges import links

    matrix, rng = links(graph, directed=False, weights=False, loops="drop"), np.random.default_rng(seed)
    seen, rows = np.zeros(graph.n_nodes, dtype=bool), np.zeros(0, np.int64)
    for start in rng.permutation(np.flatnonzero(np.diff(matrix.indptr))):
        front = np.array([start]) if not seen[start] else np.zeros(0, np.int64)
        while len(front) and len(rows) < nodes:
            front = front[: nodes - len(rows)]
            seen[front] = True
            rows = np.concatenate([rows, front])
            near = unique_values(matrix[front].indices)
            front = rng.permutation(near[~seen[near]])
        if len(rows) >= nodes:
            break
    return np.sort(rows)


def _within(data: Hypergraph, rows: npt.NDArray[np.int64]) -> Hypergraph:
    """The hyperedges whose nodes are all among these rows."""
    kinds = []
    for kind in data.kinds:
        inside = np.isin(kind.rows, rows).all(axis=1)
        kinds.append((kind.roles, kind.types, np.searchsorted(rows, kind.rows[inside])))
    codes = np.asarray(data.type_codes)[rows]
    known = None if data.attributes is None else data.attributes.rows(rows)
    nodes = data.nodes.take(rows)
    return Hypergraph.from_kinds(kinds, nodes=nodes, node_types=codes, types=data.types, attributes=known)


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
    DegreeFeatures()
    >>> print(choice.lines()[0])
    data: 60 nodes, 384 edges, undirected, degrees 13 (median) to 18, clustering 0.37
    """
    wanted, data = purpose_named(task), _read(graph, task)
    facts = facts_of(data, time_column, seed)
    rule = rule_for(wanted, facts)
    chosen = Choice(wanted, facts, rule, None, machine("auto"), seed)
    if not probe:
        return chosen
    return Choice(wanted, facts, rule, _probed(chosen, data), chosen.machine, seed)


def _read(graph: Any, task: str | None) -> Graph | Hypergraph:
    """Where tuples are asked about, of hyperedges; everything else can be chosen for of either."""
    of_tuples = task is not None and task_named(task).reads == ("hypergraph",)
    data = graph_or_hypergraph(graph, "hypergraph" if of_tuples else "graph")
    if of_tuples and isinstance(data, Graph):
        raise InputError(f"{task} is asked of a hypergraph, and this is a graph; for its edges there is the task link")
    if data.n_edges == 0:
        raise InputError("the graph has no edges; there is nothing to choose a model for")
    return data


def _probed(choice: Choice, data: Any) -> Cost:
    return estimated_cost(fit_with_base, choice.model, data, seed=choice.seed)
