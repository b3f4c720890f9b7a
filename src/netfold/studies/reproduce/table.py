"""`Table`: a published table as a value, how it is run here, what that gave, and what that means beside the paper."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netfold.evaluate.result import judged
from netfold.evaluate.task import RENAMED_ARGUMENTS, RENAMED_VALUES, task_named

__all__ = [
    "CHEAP_MODELS",
    "CHEAP_WAYS",
    "COST",
    "FLOOR",
    "GAP",
    "OWN",
    "RENAMED_ARGUMENTS",
    "RENAMED_VALUES",
    "TOP",
    "VOTE",
    "WAYS",
    "Asked",
    "Base",
    "Cells",
    "Data",
    "Quick",
    "Recorded",
    "RecordedRow",
    "Row",
    "SeedSpread",
    "SeedValues",
    "Table",
    "Verdict",
    "beside_auc",
    "number",
    "ranked_baselines",
    "summary",
    "verdict",
    "verdicts",
    "with_cheap_rows",
]


Cells = Mapping[str, Mapping[str, float]]
"""Figures by method: {method: {figure: number}}."""

SeedValues = Mapping[str, tuple[float, ...]]
"""SeedValues of a figure, one for each seed."""

COST = "fit CPU-s"
"""The figure that every row has beside those of its task: seconds of processor time that the fit took. Of a baseline,
what it took to make and to measure it."""

_DECLINE = "decline@"
"""Begins the name of a figure about noise: the part of AUC that is lost."""

GAP = " gap closed"
"""Ends the name of a figure about new nodes: how far a row has come from LocalAvg's figure to the rerun's."""

FLOOR, OWN, TOP = "LocalAvg", "transform", "rerun"
CHEAP_WAYS = (FLOOR, "LabelProp")
VOTE = "majority of neighbors"
"""The baseline of classes that reads no vectors."""
CHEAP_MODELS = ("degreefeatures", "graphwave", "spectral")
"""Models whose rows are what others have to beat: they are computed, not trained."""
WAYS = (*CHEAP_WAYS, "MRG", OWN, TOP)
"""What a row with a base may have in the place of a model: two cheap ways, a regression, the base's own, and the base
fitted anew."""


def new_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a task by the names and texts that they have now."""
    renamed = {RENAMED_ARGUMENTS.get(name, name): value for name, value in arguments.items()}
    return {name: _replaced(RENAMED_VALUES.get(name, {}), value) for name, value in renamed.items()}


def _first_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by the names and texts of before, so that a hash outlives their renaming."""
    old = {new: old for old, new in RENAMED_ARGUMENTS.items()}
    texts = {name: {new: old for old, new in known.items()} for name, known in RENAMED_VALUES.items()}
    now = new_arguments(arguments)
    return {old.get(name, name): _replaced(texts.get(name, {}), value) for name, value in now.items()}


def _told_apart(task: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """With how isolated nodes are scored, where links are predicted: "own", as it always was before, is not said."""
    if task_named(task).name != "link-prediction":
        return dict(arguments)
    rule = arguments.get("isolated", "average")
    rest = {name: x for name, x in arguments.items() if name != "isolated"}
    return rest if rule == "own" else rest | {"isolated": rule}


def _replaced(texts: Mapping[str, str], value: Any) -> Any:
    return texts.get(value, value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Data:
    """A data set of `nf.datasets` and its options; one that is drawn at random is drawn anew for each seed."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ", ".join(f"{k} {v}" for k, v in self.options.items())
        return self.name + (f" ({options})" if options else "")


@dataclass(frozen=True)
class Asked:
    """A task of `nf.evaluate`, and the arguments that fix its protocol."""

    name: str
    """As the file spells it, which the hash of a row's settings is of: link_prediction is link-prediction."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Base:
    """A model that gives the known nodes their vectors, which rows about new nodes start from."""

    model: str
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One of our rows: a model, how it is set and scored, and what it should reach."""

    name: str
    model: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the model's defaults."""
    task: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the table's protocol, such as the score of pairs."""
    published: str = ""
    """The method of the paper that it stands beside; none where empty."""
    target: Mapping[str, float] = field(default_factory=dict)
    guess: str = ""
    """What the paper does not say, and what was chosen."""
    base: str = ""
    """The base that new nodes are added to; `model` may then be one of the ways of `new_nodes`."""
    not_run: str = ""
    """Why it is left out of runs of the whole table, such as what it would cost; `--row` runs it all the same."""


@dataclass(frozen=True)
class Quick:
    """What `--quick` changes in every row: options of the model and arguments of the task."""

    config: Mapping[str, Any] = field(default_factory=dict)
    task: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedRow:
    """What one of our rows gave: mean and standard deviation over seeds, and the means of the cheap baselines."""

    settings: str
    """`Table.settings` of the row when it was run."""
    mean: Mapping[str, float]
    sd: Mapping[str, float] = field(default_factory=dict)
    """None for a single seed."""
    baselines: Cells = field(default_factory=dict)
    seeds: SeedValues = field(default_factory=dict)
    """Each figure's values, seed by seed; empty for rows of before they were kept."""
    baseline_seeds: Mapping[str, SeedValues] = field(default_factory=dict)
    """Those of each baseline, on the same seeds."""
    run: str = ""
    """When and where it was run, where that is not what the table says of all rows."""
    training: Mapping[str, float] = field(default_factory=dict)
    """Epochs and the objective of the last one, means over seeds; empty for rows of before they were kept."""


@dataclass(frozen=True)
class Recorded:
    """A run of a table: when, where, with what, and each row's figures."""

    date: str
    machine: str
    version: str
    seeds: tuple[int, ...]
    seconds: float
    rows: Mapping[str, RecordedRow]


@dataclass(frozen=True)
class Table:
    """A published table: the paper's figures, how ours are made, and what was recorded."""

    path: Path
    title: str
    paper: str
    source: str
    """Which table or figure, and how its numbers were read."""
    data: Data
    task: Asked
    figures: tuple[str, ...]
    """The columns, named as `nf.evaluate` names them."""
    published: Cells = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    smaller_is_better: tuple[str, ...] = ()
    status: str = ""
    """Why it cannot be run; empty where it can."""
    notes: str = ""
    bases: Mapping[str, Base] = field(default_factory=dict)
    quick: Quick = field(default_factory=Quick)
    recorded: Recorded | None = None

    @property
    def name(self) -> str:
        """Its name on the command line: that of the file."""
        return self.path.stem

    def smaller(self, figure: str) -> bool:
        """Whether less of a figure is better."""
        return figure == COST or figure in self.smaller_is_better

    def quick_config(self, model: str) -> dict[str, Any]:
        """What `--quick` changes in the options of a model: those that it has."""
        from netfold.embedder.options import options
        from netfold.models import MODELS

        known = {option.name for option in options(MODELS[model])}
        return {name: value for name, value in self.quick.config.items() if name in known}

    def settings(self, row: Row) -> str:
        """A short hash of all that moves the row's figures: a figure recorded under another one is out of date."""
        data = [self.data.name, dict(self.data.options)]
        task = [self.task.name, _first_arguments(_told_apart(self.task.name, {**self.task.arguments, **row.task}))]
        of = [row.model, _first_names(row)]
        if row.base:
            of += [self.bases[row.base].model, _first_names(self.bases[row.base])]
        text = json.dumps([data, task, *of], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def usual(self) -> Table:
        """The table without the rows that say why they are not run."""
        return dataclasses.replace(self, rows=tuple(row for row in self.rows if not row.not_run))

    def seeds_of(self, measured: RecordedRow, figure: str) -> int:
        """Of how many seeds a recorded figure is: one has no deviation; where values were not kept, the table's."""
        if figure not in measured.sd:
            return 1
        return len(measured.seeds.get(figure, ())) or (len(self.recorded.seeds) if self.recorded else 1)

    def recorded_for(self, row: Row) -> RecordedRow | None:
        """What was recorded for a row as it is set now."""
        recorded = self.recorded.rows.get(row.name) if self.recorded else None
        return recorded if recorded and recorded.settings == self.settings(row) else None


_DHNE_BEFORE: dict[str, Any] = {
    "epochs": 60, "hidden": 0, "products": 0, "nu": 0.0, "replaced": 1.1, "scale": "log", "dropout": 0.0, "lr": 0.01,
}  # fmt: skip
"""DHNE's defaults when its first rows were recorded; they now depend on the number of hyperedges."""


def _first_names(of: Row | Base) -> dict[str, Any]:
    """A configuration by the oldest names of its options, so that a hash outlives their renaming."""
    from netfold.embedder.options import first_names
    from netfold.models import MODELS

    config = dict(of.config)
    if of.model == OWN and config.setdefault("how", "chosen") == "encode":
        del config["how"]  # the only way there was, when it was not said
    if of.model == "joined" and "of" in config:
        config["of"] = str(config["of"]).replace("line:init=none", "line")  # as below
    if of.model not in MODELS:
        return config
    if of.model == "depthlgp" and config.setdefault("starts", "chosen") == "given":
        del config["starts"]  # as it always was before, when it was not said
    if of.model == "node2vec" and config.setdefault("held_out", "default") == 0:
        del config["held_out"]  # no links were held out before, when it was not said
    if of.model == "line" and config.setdefault("init", "default") == "none":
        del config["init"]  # the start was random before, when it was not said
    if of.model == "dhne":
        for name, former in _DHNE_BEFORE.items():
            if config.setdefault(name, "default") == former:
                del config[name]  # likewise
    return first_names(MODELS[of.model], config)


@dataclass(frozen=True)
class Verdict:
    """How far one figure is past the target and past the paper (below 0: short of it), and how it stands.

    Standings are "above", "level" or "below" by two standard errors over the seeds; of one seed, by the number alone.
    """

    target: float | None = None
    published: float | None = None
    to_target: str = ""
    to_paper: str = ""
    rival: str = ""
    """The best baseline."""
    to_rival: str = ""
    smaller: bool = False

    @property
    def winner(self) -> str | None:
        """The baseline that wins, if one does."""
        return self.rival if self.to_rival == "below" else None

    def __str__(self) -> str:
        parts = [self._target(), self._published(), self._baseline()]
        otherwise = "no baseline wins" if self.rival else "nothing to compare with"
        return "; ".join(part for part in parts if part) or otherwise

    def _target(self) -> str:
        if self.target is None:
            return ""
        if self.target >= 0:
            return "reaches the target"
        return "level with the target" if self.to_target == "level" else f"misses the target by {number(-self.target)}"

    def _published(self) -> str:
        if self.published is None:
            return ""
        if self.published == 0:
            return "equal to the paper"
        if self.to_paper == "level":
            return "level with the paper"
        better, worse = ("better than", "worse than") if self.smaller else ("above", "below")
        return f"{better} the paper" if self.published > 0 else f"{worse} the paper by {number(-self.published)}"

    def _baseline(self) -> str:
        said = {"below": f"a baseline wins: {self.rival}", "level": f"a baseline is level: {self.rival}"}
        return said.get(self.to_rival, "")


@dataclass(frozen=True)
class SeedSpread:
    """What is known of how ours and the baselines differ from seed to seed."""

    error: float = 0.0
    """The standard error of our mean; 0 where there is one seed."""
    ours: tuple[float, ...] = ()
    """Our values, seed by seed; empty where they were not kept."""
    baselines: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def of_difference(self, baseline: str) -> float:
        """The standard error of our mean minus a baseline's: paired by seeds where both were kept, else of both apart.

        >>> SeedSpread(0.1, (0.5, 0.7), {"spectral": (0.4, 0.6)}).of_difference("spectral") < 1e-9
        True
        """
        theirs = self.baselines.get(baseline, ())
        if len(theirs) == len(self.ours) > 1:
            differences = [a - b for a, b in zip(self.ours, theirs, strict=True)]
            return statistics.stdev(differences) / math.sqrt(len(differences))
        own = statistics.stdev(theirs) / math.sqrt(len(theirs)) if len(theirs) > 1 else 0.0
        return math.hypot(self.error, own)


def verdict(
    ours: float,
    *,
    published: float | None = None,
    target: float | None = None,
    baselines: Mapping[str, float] | None = None,
    smaller: bool = False,
    spread: SeedSpread | None = None,
) -> Verdict:
    """The verdict on one figure, by what is known of its spread over seeds; equal to a baseline is no loss.

    >>> print(verdict(0.88, published=0.836, target=0.88, baselines={"spectral": 0.9}))
    reaches the target; above the paper; a baseline wins: spectral
    >>> print(verdict(0.88, published=0.836, baselines={"spectral": 0.9}, spread=SeedSpread(0.015)))
    above the paper; a baseline is level: spectral
    >>> print(verdict(0.7, published=0.68, target=0.65, smaller=True))
    misses the target by 0.0500; worse than the paper by 0.0200
    """
    sign, known = -1 if smaller else 1, spread or SeedSpread()

    def past(other: float | None) -> float | None:
        return None if other is None else round(sign * (ours - other), 9)

    to_paper, to_target = (
        "" if other is None else judged(sign * (ours - other), known.error) for other in (published, target)
    )
    cheap = baselines or {}
    rival = max(cheap, key=lambda name: sign * cheap[name]) if cheap else ""
    to_rival = judged(sign * (ours - cheap[rival]), known.of_difference(rival)) if rival else ""
    if to_rival == "level" and ours == cheap[rival] and not known.error:
        to_rival = ""  # the same number, of which more is not known
    return Verdict(past(target), past(published), to_target, to_paper, rival, to_rival, smaller)


def ranked_baselines(measured: RecordedRow, figure: str, *, smaller: bool = False) -> list[tuple[str, float]]:
    """The baselines that have a figure, with their numbers, the best first; none are ranked by what they cost."""
    rivals = measured.baselines if figure != COST else {}
    values = {name: cells[figure] for name, cells in rivals.items() if figure in cells}
    return sorted(values.items(), key=lambda item: item[1], reverse=not smaller)


def verdicts(table: Table, row: Row, measured: RecordedRow, seeds: int | None = None) -> dict[str, Verdict]:
    """The verdict on each figure that a row gave, over so many seeds (those that the table says, where not given).

    Of declines only those baselines are rivals that know as much without noise: what knows little loses little.
    """
    published = table.published.get(row.published, {})
    count = seeds or (len(table.recorded.seeds) if table.recorded else 1)
    return {
        figure: verdict(
            measured.mean[figure],
            published=published.get(figure),
            target=row.target.get(figure),
            baselines={
                beside_auc(measured, name, figure): x
                for name, x in ranked_baselines(measured, figure)
                if _knows_as_much(measured, name, figure)
            },
            smaller=table.smaller(figure),
            spread=_spread(measured, figure, count),
        )
        for figure in table.figures
        if figure in measured.mean
    }


def with_cheap_rows(table: Table, row: Row, rows: Mapping[str, RecordedRow]) -> RecordedRow:
    """What was recorded of a row, by the names of all rows, with those rows as baselines that are cheap: ways of the
    same base to place new nodes, and models that are computed and not trained. Those themselves stay as they are, but
    that a way is no baseline of its own.

    The vote of neighbors, which stands on no base, is that of another base's rows of as many seeds where it was not
    measured with this one's.
    """
    ours = _with_the_vote(table, row, rows)
    if row.model in (*CHEAP_MODELS, *WAYS):
        others = {name: cells for name, cells in ours.baselines.items() if name != row.model}
        return dataclasses.replace(ours, baselines=others)
    known = [x for x in table.rows if x.name in rows]
    cheap = {x.model: rows[x.name] for x in known if row.base and x.base == row.base and x.model in CHEAP_WAYS}
    cheap |= {x.name: rows[x.name] for x in known if x.model in CHEAP_MODELS and _asked_alike(row, x)}
    return dataclasses.replace(
        ours,
        baselines={**ours.baselines, **{name: x.mean for name, x in cheap.items()}},
        baseline_seeds={**ours.baseline_seeds, **{name: x.seeds for name, x in cheap.items()}},
    )


def _with_the_vote(table: Table, row: Row, rows: Mapping[str, RecordedRow]) -> RecordedRow:
    ours, figure = rows[row.name], table.figures[0]
    if not row.base or VOTE in ours.baselines:
        return ours
    seeds = table.seeds_of(ours, figure)
    asked = (rows[x.name] for x in table.rows if x.name in rows and x.base and x.task == row.task)
    voted = next((x for x in asked if VOTE in x.baselines and table.seeds_of(x, figure) == seeds), None)
    if voted is None:
        return ours
    values = {name: x for name, x in voted.baseline_seeds.items() if name == VOTE}
    return dataclasses.replace(
        ours,
        baselines={**ours.baselines, VOTE: voted.baselines[VOTE]},
        baseline_seeds={**ours.baseline_seeds, **values},
    )


def _asked_alike(one: Row, other: Row) -> bool:
    """Whether two rows of a table have the same protocol, but for how pairs are scored."""
    tasks = [{name: x for name, x in row.task.items() if name != "score"} for row in (one, other)]
    return one.base == other.base and tasks[0] == tasks[1]


def _spread(measured: RecordedRow, figure: str, count: int) -> SeedSpread:
    own = measured.seeds.get(figure, ())
    error = measured.sd.get(figure, 0.0) / math.sqrt(len(own) or count)
    known = {name: x[figure] for name, x in measured.baseline_seeds.items() if figure in x}
    return SeedSpread(error, own, {beside_auc(measured, name, figure): x for name, x in known.items()})


def _knows_as_much(measured: RecordedRow, baseline: str, figure: str) -> bool:
    own, theirs = measured.mean.get("AUC"), measured.baselines[baseline].get("AUC")
    return not figure.startswith(_DECLINE) or own is None or theirs is None or theirs >= own


def beside_auc(measured: RecordedRow, baseline: str, figure: str) -> str:
    """A baseline's name with its AUC, where the figure is a decline of that: what knows little loses little."""
    auc = measured.baselines.get(baseline, {}).get("AUC")
    return f"{baseline}, at AUC {number(auc)}" if figure.startswith(_DECLINE) and auc is not None else baseline


def summary(all_of_them: Iterable[Verdict]) -> str:
    """Many verdicts in a few words.

    >>> summary([verdict(0.9, target=0.8), verdict(0.7, target=0.8, baselines={"spectral": 0.75})])
    '1 of 2 targets reached; a baseline wins 1 of 2 figures'
    """
    listed = list(all_of_them)
    targets = [x.target >= 0 or x.to_target == "level" for x in listed if x.target is not None]
    papers = [x.published >= 0 or x.to_paper == "level" for x in listed if x.published is not None]
    lost, level = ([x for x in listed if x.to_rival == how] for how in ("below", "level"))
    parts = [f"{sum(targets)} of {len(targets)} targets reached"] if targets else []
    parts += [f"at least the paper in {sum(papers)} of {len(papers)} figures"] if papers else []
    parts += [f"a baseline wins {len(lost)} of {len(listed)} figures"] if lost else []
    parts += [f"a baseline is level in {len(level)}"] if level else []
    parts += ["no baseline wins"] if any(x.rival for x in listed) and not (lost or level) else []
    return "; ".join(parts) or "nothing to compare with"


def number(x: float) -> str:
    """A figure as tables show it: four digits after the point, more where it is small.

    >>> number(0.8364), number(12.3), number(0.00191)
    ('0.8364', '12.30', '0.00191')
    """
    if x == 0 or abs(x) >= 10:
        return f"{x:,.2f}" if abs(x) >= 10 else "0"
    return f"{x:.4f}" if abs(x) >= 0.01 else f"{x:.3g}"
