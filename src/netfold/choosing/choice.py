"""`Choice`: which model and settings, why, what speaks against it, what it costs, and how to run it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from netfold.base import Embedder
from netfold.choosing.facts import Facts
from netfold.choosing.probe import Cost
from netfold.choosing.rules import TASKS, Rule
from netfold.comparison.contenders import model_named

if TYPE_CHECKING:
    from netfold.comparison import Comparison

__all__ = ["Choice"]

_UNEVEN = 100
"""Times the median, from which a weight drowns the others."""


@dataclass(frozen=True, repr=False)
class Choice:
    """A model for a task on some data, as `nf.choose` gives it; printed, five lines and how to go on."""

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
        options = [word for key, value in self.settings.items() for word in (_flag(key), _value(value))]
        options += ["--seed", str(self.seed)] if self.seed else []
        own = ["netfold", "fit", name, edges, *flags, "-o", f"{name}.netfold", *options]
        if not self.rule.over:
            return [shlex.join(own)]
        base = f"{self.rule.over}.netfold"
        before = ["netfold", "fit", self.rule.over, edges, *flags, "-o", base]
        return [shlex.join(before), shlex.join([*own, "--embedding", base])]

    def trial(
        self,
        data: Any,
        *,
        labels: Mapping[Any, Any] | None = None,
        nodes: int = 1000,
        progress: bool = True,
    ) -> Comparison:
        """Fit the choice and what else there is to a part of the data of at most so many nodes, and compare them."""
        from netfold.choosing.trial import trial

        return trial(self, data, labels, nodes, progress=progress)

    def lines(self) -> list[str]:
        """The five lines: the data, the model, why, what speaks against it, and the cost."""
        model = type(self.model).__name__ + f"({', '.join(f'{k}={v!r}' for k, v in self.settings.items())})"
        over = f" over the vectors of {self.rule.over}" if self.rule.over else ""
        cost = f"{self.cost}" if self.cost else "not probed"
        return [
            f"data: {self.facts}",
            f"for {TASKS[self.task]}: {model}{over}",
            f"why: {self.rule.why}{self._figures()}",
            f"but: {'; '.join([self.rule.but, *self._notes()])}",
            f"cost: {cost} on {self.machine}",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return {
            "task": self.task,
            "model": self.rule.model,
            "settings": self.settings,
            "over": self.rule.over or None,
            "facts": asdict(self.facts),
            "why": self.rule.why,
            "but": [self.rule.but, *self._notes()],
            "evidence": [str(x) for x in self.rule.evidence],
            "cost": asdict(self.cost) if self.cost else None,
            "machine": self.machine,
        }

    def __repr__(self) -> str:
        over = f", nf.{model_named(self.rule.over, seed=self.seed)!r}.fit(graph).embedding_" if self.rule.over else ""
        return "\n".join([*self.lines(), f"fit: nf.{self.model!r}.fit(graph{over})"])

    def _figures(self) -> str:
        told = [str(x) for x in self.rule.evidence if x.measured()]
        settings = "these settings" if self.rule.measured else "settings of their own"
        return f"; measured, with {settings}: {'; '.join(told)}" if told else "; not measured by us yet"

    def _notes(self) -> list[str]:
        """What in these data speaks against the choice, or must be known with it."""
        facts, name = self.facts, type(self.model).__name__
        notes = {
            f"edges have times ({facts.time_column}): judge by hiding the latest ones, not random ones": (
                facts.time_column and self.task in ("link", "new-nodes")
            ),
            f"isolated nodes ({facts.isolated:,}) get no place of their own": facts.isolated and not facts.hyperedges,
            f"{name} reads neither weights nor directions": name == "DRNE" and (facts.weighted or facts.directed),
            f"weights reach {facts.largest_weight:,.0f} times their median: take roots or logarithms first": (
                name == "SDNE" and facts.largest_weight >= _UNEVEN
            ),
        }
        return [words for words, holds in notes.items() if holds]


def _flag(name: str) -> str:
    return f"--{name.rstrip('_').replace('_', '-')}"


def _value(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
