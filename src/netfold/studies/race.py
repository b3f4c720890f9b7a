"""The race of `auto`: candidates on inner parts of the data, successive halving over epochs, nodes and parts."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from netfold.data.text import printable
from netfold.embedder.embedder import Embedder
from netfold.embedder.pair_score import mean_score, short_score
from netfold.embedder.trials import Trial, Trials
from netfold.errors import InputError, TrainingError, is_out_of_memory
from netfold.models import MODELS
from netfold.studies.choose.facts import in_words, stand_in
from netfold.studies.compare import fit_with_base
from netfold.studies.machine import BudgetClock, Meter
from netfold.studies.plan import gib
from netfold.studies.questions import FOLDS, Measurement, Part, Questions, difference, figure_of

__all__ = [
    "SCORED",
    "WARM_UP",
    "Candidate",
    "FitCost",
    "LiveTable",
    "Race",
    "probe_cost",
    "with_epochs",
]

_EPOCHS = (1 / 9, 1 / 3, 1.0)
"""The share of its epochs that a candidate has on each level; those that do badly on one do not reach the next."""
_FOLDS = {True: (1, 3, FOLDS), False: (1, 2, FOLDS)}
"""On how many inner parts it is measured; fewer where each needs a fit of its own."""
_FIRST_PART, _LARGER = 10_000, 4
"""Nodes of the part of the graph that a trained one is fitted to on the first level, at most; how many times as many on
the next. On the last one it is fitted to everything."""
_RACE, _SHARES = {True: 0.85, False: 0.75}, (0.55, 0.85, 1.0)
"""The share of the budget that the race may have, less where each part needs a fit of its own: the rest is for the fits
that say the figure; and of that, the share that may be spent when a level ends."""
_CHEAP, _SETTLED, _MOST_CHEAP = 1 / 3, 6.0, 0.6
"""The share of the budget for those without epochs, once each of them was tried: a third, or so many seconds, in which
what costs a second is settled; but not more than the last, so that the fits that say the figure can be paid."""
_ALMOST = 2.0
"""A graph of so many times the nodes of a level is not made smaller for it."""
WARM_UP = 60
"""Nodes of a fit that is not counted, as the first one loads what the others find loaded."""
_PROBED, _SMALL = 2400, {True: 2000, False: 20_000}
"""Nodes of the small graph like this one that says what a fit will cost; nodes and edges, for each second of a budget,
up to which a first fit, trained or not, is short enough to be tried without asking."""
_UNSURE = 1.5
"""What has no epochs cannot be cut short: so many times its estimate must fit in what is left of its level."""
_LEAST_PROBED = 15
"""Nodes of such a graph, at least: an eighth of a quarter of thirty is none."""
_GROWTH, _GROWS_FROM, _MOST_GROWTH = 0.2, 10_000, 3.0
"""What a node costs grows with how many there are above so many, by this power of their number, until no cache holds
any of them: Spectral's forms took 0.9 to 1.5 times as much a node at 64,000 and 81,000 nodes (DBLP, Twitter) as at
10,000 of the same degrees, and 1.4 to 2.2 times at 300,000 (npm), but for one that converged later: 2.9."""
_SECOND, _SECONDS = 1.0, 5.0
"""CPU seconds below which nothing is costly; of what has no epochs, nothing below the second."""
_FEW = 10
"""Things asked, with fewer of which a perfect figure says little, and nobody knows how sure any figure is."""
_NOTHING = 1e-12
"""A standard error of as much says that all groups are alike, and not that the figure is sure: 17 of 17 are not all."""
_MARGIN, _LITTLE = 0.95, 0.02
"""Of what is left, how much may be planned with; the share of a budget that a trained one may spend on more parts."""
_OVER = 0.1
"""The share of a budget by which the last fits may go beyond it, so that the best need not be left for another."""
_FIRST = 0.05
"""The share of a budget that a first fit of unknown cost must be given, and that one to a small graph may take."""
SCORED = ("link-prediction", "reconstruction", "out-of-sample")
"""Tasks in which the score of pairs is chosen with the model."""


# -------------------------------------------------------------------- candidates


@dataclass(frozen=True)
class FitCost:
    """What a fit cost, of so many nodes and edges: before and after its epochs, one epoch, memory, and what one of
    hardly any nodes costs."""

    nodes: int
    edges: int
    rest: float
    epoch: float
    bytes: float
    fixed: float = 0.0

    def of(self, epochs: int, nodes: int, edges: float) -> tuple[float, float]:
        """The seconds and bytes of another fit: linear in epochs and, but for caches, in nodes of given degrees; where
        degrees are others, as in a part of a graph, half way (by the geometric mean) to linear in edges."""
        factor = (nodes / max(self.nodes, 1) * edges / max(self.edges, 1)) ** 0.5
        larger = max(nodes, _GROWS_FROM) / max(self.nodes, _GROWS_FROM)
        slower = min(max(larger, 1.0) ** _GROWTH, _MOST_GROWTH)
        return self.fixed + factor * (slower * (self.rest - self.fixed) + epochs * self.epoch), factor * self.bytes


@dataclass(eq=False)
class Trying:
    """A candidate with so many epochs, on parts of so many nodes."""

    candidate: Candidate
    epochs: int | None
    nodes: int
    parts: dict[str, Measurement] = field(default_factory=dict)
    cpu: float = 0.0
    bytes: int = 0
    asking: float = 0.0
    """What measuring it on a part cost."""
    fitted: Embedder | None = None
    """Where one fit serves all parts."""

    @property
    def score(self) -> str:
        """How its pairs are scored, as far as its parts say."""
        return mean_score([x.score for x in self.parts.values()])

    @property
    def model(self) -> Embedder:
        """The model with these epochs, not fitted."""
        return with_epochs(self.candidate.model, self.epochs)


@dataclass(eq=False)
class Candidate:
    """A model with its options, not fitted, and what came of trying it."""

    model: Embedder
    place: int
    """In the table, where the cheap come first."""
    kind: str
    runs: list[Trying] = field(default_factory=list)
    cost: FitCost | None = None
    why: str = ""

    @property
    def trained(self) -> bool:
        """Whether it has epochs."""
        return self.model.epochs > 0

    @property
    def name(self) -> str:
        """As Python has it, without the seed."""
        return repr(_plain(self.model))


def _plain(model: Embedder) -> Embedder:
    """Without the seed, which is the same for all."""
    return type(model)(**model.get_params() | {"seed": 0})


def with_epochs(model: Embedder, epochs: int | None) -> Embedder:
    """A copy with so many epochs; one that has no such option is computed, and a copy is all."""
    params = model.get_params()
    return type(model)(**params | ({"epochs": epochs} if epochs is not None and "epochs" in params else {}))


def probe_cost(model: Embedder, data: Any, clock: BudgetClock) -> FitCost:
    """What a fit of one epoch to small data costs, in the seconds that a clock counts."""
    copy, least = with_epochs(model, min(1, model.epochs)), 0.0
    with Meter() as meter, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not model.epochs and data.n_nodes > WARM_UP:
            tiny, start = stand_in(data, WARM_UP), clock.spent()
            fit_with_base(with_epochs(model, 0), tiny)
            least = clock.spent() - start
        start = clock.spent()
        fit_with_base(copy, data)
        spent = clock.spent() - start
    epochs = sum(record["seconds"] for record in copy.history_) if model.epochs else 0.0
    rest = max(0.0, spent - epochs)
    return FitCost(data.n_nodes, data.n_edges, rest, min(epochs, spent), meter.bytes, min(least, rest / 2))


@dataclass
class LiveTable:
    """The live table, on standard error."""

    wanted: bool

    def __call__(self, words: str) -> None:
        """A line of words."""
        if self.wanted and sys.stderr is not None:
            print(printable(words), file=sys.stderr, flush=True)

    def head(self, figure: str) -> None:
        """The names of the columns."""
        self(f"{'candidate':<58} {'epochs':>6} {figure:>17} {'CPU-s':>7} {'MiB':>6}")

    def row(self, row: Trial) -> None:
        """What came of a trial."""
        name = row.candidate if len(row.candidate) <= 58 else f"{row.candidate[:55]}..."
        if row.figure is None:
            return self(f"{name:<58} {row.why}")
        deviation = "" if row.deviation is None else f" ± {row.deviation:.4f}"
        epochs = "" if row.epochs is None else row.epochs
        figure = f"{row.figure:.4f}{deviation}"
        cost = f"{row.cpu:>7.1f} {(row.bytes or 0) / 2**20:>6.0f}"
        return self(f"{name:<58} {epochs:>6} {figure:>17} {cost} {short_score(row.score)}")


# -------------------------------------------------------------------- the race


class Race:
    """Candidates on their way: successive halving over epochs, nodes and parts, within a budget."""

    def __init__(
        self,
        asked: Questions,
        some: list[Candidate],
        clock: BudgetClock,
        memory: float,
        seed: int,
        say: LiveTable,
        data: Any = None,
        most: int = sys.maxsize,
    ) -> None:
        """`data` are what the winner is fitted to, where the questions are of a part of it; `most` nodes are those of
        a trial."""
        self._asked, self._candidates, self._clock, self._memory, self._say = asked, some, clock, memory, say
        self._data = asked.whole if data is None else data
        self._seed, self._whole, self._part_size = seed, self._data.n_nodes, min(most, asked.whole.n_nodes)
        self._parts: dict[tuple[int, int], Part] = {}
        self._rows: list[Trial] = []
        self._asking = 0.0
        """What measuring on a part costs, as last seen."""
        self._interrupted = False
        self._trained = False
        """Whether anything was, so that what training needs is loaded."""
        self._times_joined = 0
        self._only_cheap, self._begun = True, 0.0
        """Whether those without epochs are among themselves; the share of the budget that was spent before."""
        self._ended = ""
        """Why the race ended before it was over."""
        self._within_part = False
        """Whether the figure that is said is of a part of the data alone."""

    def run(self) -> None:
        """Race until there is one left, the budget is spent, or Ctrl-C."""
        self._say.head(self._asked.figure)
        try:
            self._race()
        except KeyboardInterrupt as e:
            if type(e) is not KeyboardInterrupt or not any(x.runs for x in self._candidates):
                raise  # SIGTERM, or nothing to give back
            self._interrupted, self._ended = True, "interrupted"

    def _race(self) -> None:
        """Those without epochs first, on all parts where that can be paid; then those that are trained."""
        cheap, trained = ([x for x in self._candidates if x.trained == which] for which in (False, True))
        never = self._heat(cheap)
        self._ask_leaders()
        if self._decided(trained):
            return self._drop_all(never + trained, 0, self._ended)
        self._only_cheap, self._begun = False, self._clock.spent() / self._clock.budget.amount
        self._drop_all(self._heat(never + trained), 0)
        return self._ask_leaders()

    def _heat(self, alive: list[Candidate]) -> list[Candidate]:
        """Some on their way through the levels; those whose turn never came."""
        never: list[Candidate] = []
        for level in range(len(_EPOCHS)):
            waiting, nodes = [], {which: self._nodes_on(level, which) for which in (False, True)}
            for candidate in alive:
                begun = any(x.runs for x in self._candidates)
                if begun and min(self._left_on(level), self._share() - self._unknown(candidate)) <= 0:
                    waiting.append(candidate)
                elif candidate.why == "":
                    self._try(candidate, level, nodes[candidate.trained])
            never = [x for x in waiting if not x.runs]  # their turn comes on the next level, if anything is left then
            self._drop_all([x for x in waiting if x.runs], level)
            alive = self._survivors(alive)
            if level == len(_EPOCHS) - 1 or self._decided(alive + never):
                break
            alive += self._joined(alive) + never
        return never

    def _ask_leaders(self) -> None:
        """Ask the best two on as many parts as any other was, where one fit serves all of them."""
        ranked = self._ranked(self._candidates)
        most = max((len(run.parts) for run in ranked), default=0)
        for run in ranked[:2] if self._clock.timed else ():
            if run.fitted is not None and len(run.parts) < most:
                self._measure(run.candidate, run.epochs, run.nodes, most, 0)

    def _left_on(self, level: int) -> float:
        """Of the budget, for a level; trials are not needed for the last fits."""
        most = _RACE[self._asked.fits_whole] if self._clock.timed else 1.0
        if self._only_cheap:  # each of them is tried, whatever is left for others then
            return self._clock.left(self._cheap_share if level else most)
        return self._clock.left(self._begun + (most - self._begun) * _SHARES[level])

    @property
    def _cheap_share(self) -> float:
        """Of the budget, for those without epochs."""
        return min(_MOST_CHEAP, max(_CHEAP, _SETTLED / self._clock.budget.amount)) if self._clock.timed else _MOST_CHEAP

    def _drop_all(self, some: Iterable[Candidate], level: int, why: str = "") -> None:
        for candidate in some:
            self._drop(candidate, level, why or "the budget was spent before its turn")

    def _drop(self, candidate: Candidate, level: int, why: str) -> None:
        """What was never measured has a row that says why."""
        if not candidate.runs:
            candidate.why = why
            self._note(Trial(candidate.name, why=why))
        elif level:
            self._ended = self._ended or "the budget was spent"

    def _try(self, candidate: Candidate, level: int, nodes: int) -> None:
        level = level if candidate.runs else 0  # who waited begins as all do
        try:
            wanted = _FOLDS[self._asked.fits_whole][level]
            folds, epochs = wanted, self._affordable(candidate, level, nodes, wanted)
            if isinstance(epochs, str) and wanted > 1:  # more epochs on one part are better than none
                folds, epochs = 1, self._affordable(candidate, level, nodes, 1)
            if isinstance(epochs, str):
                return self._drop(candidate, level, epochs)
            self._measure(candidate, epochs, nodes, folds, level)
        except (InputError, TrainingError, MemoryError, RuntimeError) as e:
            if not isinstance(e, (InputError, TrainingError)) and not is_out_of_memory(e):
                raise
            why = "there is not enough memory" if is_out_of_memory(e) else " ".join(str(e).split())
            self._drop(candidate, level, why)

    def _nodes_on(self, level: int, trained: bool) -> int:
        """Of the part of the graph that a level is of: everything in the end; as before, where fits of the leader and
        of another to more of it cannot be paid. What has no epochs is cheap enough to begin with all that is asked:
        which form is best, and in how many dimensions, a small part often says wrong."""
        most = self._asked.whole.n_nodes
        first = min(self._part_size, _FIRST_PART) if trained else self._part_size
        wanted = most if level == len(_EPOCHS) - 1 else round(first * _LARGER**level)
        wanted = most if most <= _ALMOST * wanted else wanted
        leader = self._leader()
        if leader is None or leader.nodes >= wanted or not self._clock.timed or leader.candidate.cost is None:
            return wanted
        two = 2 * (self._seconds(leader.candidate, leader.epochs, wanted) + self._asking)
        grows = two <= self._left_on(level) and two + self._leaders_fits() <= _MARGIN * self._clock.left()
        return wanted if grows else leader.nodes

    # ---------------------------------------------------------------- what can be paid

    def _affordable(self, candidate: Candidate, level: int, nodes: int, folds: int) -> int | str:
        """With how many epochs a candidate can be tried here; or why not."""
        full = candidate.model.epochs
        wanted = min(full, max(1, round(full * _EPOCHS[level])))
        before = max((run.epochs or 0 for run in candidate.runs), default=0)
        if candidate.trained and not self._trained:
            self._trained = True
            fit_with_base(with_epochs(candidate.model, 1), stand_in(self._data, WARM_UP, self._seed))
        small = _SMALL[candidate.trained] * self._clock.budget.amount
        small = 0.0 if candidate.model.extends else small  # the model below it is fitted before its first epoch
        large = self._clock.timed and self._whole + self._data.n_edges > small
        if candidate.cost is None and (large or math.isfinite(self._memory)):
            self._probe(candidate)
        if candidate.cost is None:
            return wanted
        held = candidate.cost.of(wanted, self._whole, self._data.n_edges)[1]
        if held > self._memory:
            return f"about {gib(held)} estimated, more than is allowed"
        if not self._clock.timed or self._pays(candidate, wanted, nodes, level, folds):
            return wanted
        if self._leader() is None and self._last_fits(self._seconds(candidate, 1), nodes) < self._clock.left():
            return 1  # some answer is better than none
        least = 1 if not candidate.runs else math.ceil(1.5 * before)
        while candidate.trained and wanted > least:
            wanted = max(least, wanted * 2 // 3)
            if self._pays(candidate, wanted, nodes, level, folds):
                return wanted
        trial, left = self._seconds(candidate, wanted, nodes), max(self._clock.left(), 0)
        last = self._last_fits(self._seconds(candidate, wanted), nodes)
        words = f"{in_words(trial)} a fit" if trial + last <= left else f"{in_words(last)} to be fitted to everything"
        return f"about {words} estimated, {in_words(left)} left"

    def _probe(self, candidate: Candidate) -> None:
        """Estimate what a fit costs by one to a small graph; and to a larger one, unless that one was costly itself."""
        size, start = min(_PROBED, self._whole // 4), self._clock.spent()  # to cost less than what it says the cost of
        limit = start + _FIRST * self._clock.budget.amount
        for nodes in (size // 8, size):
            if candidate.cost is not None and self._clock.timed and self._clock.spent() > limit:
                return
            nodes = max(nodes, _LEAST_PROBED)
            candidate.cost = probe_cost(candidate.model, stand_in(self._data, nodes, self._seed), self._clock)

    def _pays(self, candidate: Candidate, epochs: int, nodes: int, level: int, folds: int) -> bool:
        """Whether a trial, and then the last fits of whoever leads, are within the budget by the estimate."""
        fits = 1 if self._asked.fits_whole else folds
        trial = fits * self._seconds(candidate, epochs, nodes) + folds * self._asking
        trial *= 1.0 if candidate.trained or candidate.runs else _UNSURE
        last = max(self._last_fits(self._seconds(candidate, epochs), nodes), self._leaders_fits())
        return trial <= self._left_on(level) and trial + last <= _MARGIN * self._clock.left()

    def _seconds(self, candidate: Candidate, epochs: int | None, nodes: int | None = None) -> float:
        """What a fit is estimated to take: of everything, or of a part with as large a share of the edges as of the
        nodes; nothing where nobody knows."""
        nodes = self._whole if nodes is None else nodes
        edges = self._data.n_edges * min(1.0, nodes / max(self._whole, 1))
        return 0.0 if candidate.cost is None else candidate.cost.of(epochs or 0, nodes, edges)[0]

    def _last_fits(self, seconds: float, nodes: int) -> float:
        """Of the outer part and of everything; one where models are fitted to everything, none where one was."""
        if self._asked.fits_whole:
            apart = self._part_share if self._asked.whole is not self._data else 0.0
            return 0.0 if nodes >= self._whole else seconds * (1 + apart)
        return seconds * (1 + (self._part_share or 1.0))

    @property
    def _part_share(self) -> float:
        """Of the nodes, in the part that the questions are of; 0 where they are of everything."""
        return self._part_size / self._whole if self._part_size < self._whole else 0.0

    # ---------------------------------------------------------------- a trial

    def _measure(self, candidate: Candidate, epochs: int | None, nodes: int, folds: int, level: int) -> None:
        """On parts; a fit ends where its level ends, so that one whose cost nobody knew leaves others their turn."""
        same = [run for run in candidate.runs if run.nodes == nodes and run.epochs in (epochs, None)]
        run = same[-1] if same else Trying(candidate, epochs, nodes)
        measured, spent = 0, 0.0
        for fold in range(_FOLDS[self._asked.fits_whole][-1]):
            part, share = self._part(fold, nodes), self._share()
            if fold >= folds and not self._is_cheap(candidate, spent * (fold + 1) / max(fold, 1)):
                break
            if part.key in run.parts or (run.parts and share <= 0):
                continue
            begun = self._clock.spent()  # after the part was made, which all are asked of
            fitted = run.fitted or self._fit(run, part.graph, begun + min(share, self._left_on(level)))
            start = self._clock.spent()
            run.parts[part.key] = part.measure(fitted, None)
            self._asking = run.asking = self._clock.spent() - start if self._clock.timed else 0.0
            run.fitted = fitted if self._asked.fits_whole else None
            measured, spent = measured + 1, spent + self._clock.spent() - begun
        if not measured:
            return  # more epochs and more parts are what a level brings, and here it brings none
        self._clock.trials += 1
        if run not in candidate.runs:
            candidate.runs.append(run)
        self._note(self._row(run))

    def _is_cheap(self, candidate: Candidate, spent: float) -> bool:
        """Whether so little of the budget is gone that a candidate may as well be measured on all parts at once: of
        those without epochs, its part of what they have."""
        share = _LITTLE if candidate.trained else self._cheap_share / sum(not x.trained for x in self._candidates)
        return self._clock.timed and spent < share * self._clock.budget.amount

    def _share(self) -> float:
        """How long a fit may take: after it, the leader can still be fitted; and this one as often, should it win."""
        if not self._clock.timed:
            return math.inf
        left = _MARGIN * self._clock.left() - self._leaders_fits()
        return left if self._asked.fits_whole else (left - 2 * self._asking) / 3

    def _unknown(self, candidate: Candidate) -> float:
        """What a first fit must be given at least: a trained one what comes before its epochs, which cannot be cut
        short; one without, where it is of everything, as much as the costliest of those before it."""
        if not self._clock.timed or candidate.cost is not None:
            return 0.0
        if candidate.trained:
            return _FIRST * self._clock.budget.amount
        before = [x.cost.rest for x in self._candidates if x.runs and x.cost and not x.trained]
        return max(before, default=0.0) + self._asking if before and self._asked.fits_whole else 0.0

    def _leaders_fits(self) -> float:
        """What the last fits of whoever leads are estimated to cost."""
        leader = self._leader()
        return 0.0 if leader is None else self._finish_cost(leader)

    def _fit(self, run: Trying, graph: Any, limit: float) -> Embedder:
        """Fit a copy, until the limit; what it cost is kept, and how many epochs it came to where it was cut short."""
        candidate, cut = run.candidate, []

        def late(record: Mapping[str, float]) -> bool:
            if self._clock.timed and self._clock.spent() > limit:
                cut.append(record)
            return bool(cut)

        copy = run.model
        with Meter() as meter, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a candidate does not reach its figure says
            start = time.process_time()
            fit_with_base(copy, graph, on_epoch=late)
            cpu = time.process_time() - start
        epochs, unit = len(copy.history_) if candidate.trained else 0, meter.seconds
        unit = cpu if self._clock.budget.unit == "cpu" else unit
        inside = sum(x["seconds"] for x in copy.history_[:epochs]) * unit / max(meter.seconds, 1e-9)
        rest, epoch = max(0.0, unit - inside), inside / max(epochs, 1)
        candidate.cost = FitCost(graph.n_nodes, graph.n_edges, rest, epoch, meter.bytes)
        run.epochs = (epochs if cut else run.epochs) if candidate.trained else None
        run.cpu, run.bytes = cpu, meter.bytes
        return copy

    def _part(self, fold: int, nodes: int) -> Part:
        if (fold, nodes) not in self._parts:
            self._parts[fold, nodes] = self._asked.inner(fold, nodes)
        return self._parts[fold, nodes]

    def _row(self, run: Trying) -> Trial:
        figure, deviation = figure_of(run.parts)
        sign = -1 if self._asked.smaller else 1
        spread = deviation if math.isfinite(deviation) else None
        value = sign * figure if math.isfinite(figure) else None
        name, folds = run.candidate.name, len(run.parts)
        return Trial(name, run.epochs, run.nodes, folds, value, spread, run.cpu, run.bytes, run.score)

    def _note(self, row: Trial) -> None:
        self._rows = [
            x for x in self._rows if (x.candidate, x.epochs, x.nodes) != (row.candidate, row.epochs, row.nodes)
        ]
        self._rows.append(row)
        self._say.row(row)

    # ---------------------------------------------------------------- who goes on

    def _runs(self, some: Iterable[Candidate]) -> list[Trying]:
        """The runs of candidates on the largest part of the graph that any of them was tried on."""
        runs = [run for x in some for run in x.runs if run.parts]
        largest = max((run.nodes for run in runs), default=0)
        return [run for run in runs if run.nodes == largest]

    def _ranked(self, some: Iterable[Candidate]) -> list[Trying]:
        """Runs, the best first, by how far each is ahead of one that was measured on most parts, where both were."""
        runs = self._runs(some)
        most = max(runs, key=lambda run: len(run.parts), default=None)
        return [] if most is None else sorted(runs, key=lambda run: -difference(run.parts, most.parts)[0])

    def _leader(self) -> Trying | None:
        """The best of those that can still be fitted to everything."""
        return next(iter(self._payable(self._ranked(self._candidates))), None)

    def _survivors(self, alive: list[Candidate]) -> list[Candidate]:
        """The better half of those without epochs, and of those that are trained, the best first; two at least."""
        order = list(dict.fromkeys(run.candidate for run in self._ranked(alive)))
        cheap, trained = ([x for x in order if x.trained == which] for which in (False, True))
        kept = {*cheap[: math.ceil(len(cheap) / 2)], *trained[: math.ceil(len(trained) / 2)], *order[:2]}
        return [x for x in order if x in kept]

    def _decided(self, alive: list[Candidate]) -> bool:
        """Whether nothing that is left can win: all are out, one without epochs is left, or the best is perfect."""
        leader = self._leader()
        perfect = leader is not None and all(_is_perfect(x) for x in leader.parts.values())
        if perfect:
            self._ended = "nothing can be better than the best"
        return perfect or not alive or (len(alive) == 1 and not alive[0].trained)

    def _joined(self, alive: list[Candidate]) -> list[Candidate]:
        """The best two of different kinds, side by side, as one more candidate; once among those without epochs, and
        once more where one of these goes on and is trained."""
        runs = [run for run in self._ranked(self._candidates) if not run.model.extends and run.model.reads == "graph"]
        runs = [run for run in runs if "joined" not in run.candidate.kind]
        other = next((run for run in runs if run.candidate.kind != runs[0].candidate.kind), None)
        joined: Any = MODELS.get("joined")
        alike = other is None or not any(x in alive for x in (runs[0].candidate, other.candidate))
        if joined is None or other is None or alike or self._times_joined > (not self._only_cheap):
            return []
        self._times_joined += 1
        model = joined([runs[0].model, other.model])
        if repr(_plain(model)) in {x.name for x in self._candidates}:
            return []
        candidate = Candidate(model, len(self._candidates), f"joined {len(self._candidates)}")
        of = (self._whole, self._data.n_edges)
        costs = [run.candidate.cost.of(run.epochs or 0, *of) for run in (runs[0], other) if run.candidate.cost]
        candidate.cost = FitCost(*of, sum(x for x, _ in costs), 0.0, sum(x for _, x in costs))
        self._candidates.append(candidate)
        return [candidate]

    # ---------------------------------------------------------------- the end

    def finish(self) -> Embedder:
        """The winner, fitted to everything, and then measured on what chose nothing, as far as that can be paid: what
        a fit to everything takes is known by then."""
        run, reason = self._winner()
        model = run.fitted if run.fitted and run.nodes >= self._whole else None
        one_fit = self._asked.fits_whole and self._asked.whole is self._data
        if model is None:
            run, model = self._last(run, self._data, 1.0 if one_fit else 0.5)
        parts: list[Part] = []
        if one_fit:
            parts = self._asked.turns(self._asks(run)) or [self._asked.outer(self._whole)]
        elif self._asked.fits_whole or not self._interrupted:
            parts = self._outer_parts(run)
        values = self._outer(parts, run, model if one_fit else None)
        if self._asked.task.name in SCORED and run.score:
            model.pair_score_ = run.score
        model.trials_ = self._trials(run, reason, values)
        return model

    def _asks(self, run: Trying) -> float:
        """How many measurements like those on inner parts can be paid: of everything they cost as much more as it is
        larger than the part that was asked."""
        each = run.asking * self._whole / max(run.nodes, 1)
        return _MARGIN * self._clock.left() / each if self._clock.timed and each else math.inf

    def _outer_parts(self, run: Trying) -> list[Part]:
        """What chose nothing, in as many turns as fits can be paid, so that each lacks little of the data; at once,
        where one can be paid; within a part of the data where none, or else not at all."""
        if self._asked.whole is not self._data:
            self._within_part = True
            return [self._asked.outer(self._part_size)]
        fits = 1.0 if run.candidate.trained else math.inf
        if self._clock.timed:
            each = max(self._seconds(run.candidate, run.epochs) + run.asking, 1e-9)
            over = self._clock.left() + _OVER * self._clock.budget.amount
            fits = max(_MARGIN * self._clock.left() / each, float(over >= each))
        self._within_part = fits < 1 and bool(self._part_share)
        turns = self._asked.turns(fits) if fits >= 1 else []
        rest = [self._part_size] if self._within_part else [self._whole] if fits >= 1 else []
        return turns or [self._asked.outer(nodes) for nodes in rest]

    def _outer(self, parts: list[Part], run: Trying, model: Embedder | None) -> dict[str, Measurement]:
        """The figure on each, after a fit to the rest of the data or, where all are fitted, of the model that is; as
        long as there is time for one more like the last."""
        values: dict[str, Measurement] = {}
        took = 0.0
        for place, part in enumerate(parts):
            if self._clock.timed and values and took > self._clock.left():
                break
            start = self._clock.spent()
            fitted = model or (run.fitted if run.nodes >= self._part_size else None)
            share = self._part_share if self._within_part else 1 / (len(parts) - place)
            try:
                fitted = fitted or self._last(run, part.graph, share)[1]
                values[part.key] = part.measure(fitted, run.score or None)
            except InputError:  # too little is held out to say anything
                continue
            took = self._clock.spent() - start
        return values

    def _last(self, run: Trying, graph: Any, share: float) -> tuple[Trying, Embedder]:
        """A fit with the winner's epochs, which ends where the share of what is left ends; with those it came to."""
        limit = self._clock.spent() + share * max(self._clock.left(), 0.0)
        last = replace(run)
        return last, self._fit(last, graph, math.inf if self._interrupted else limit)

    def _winner(self) -> tuple[Trying, str]:
        """The best, or the cheapest that is level with it; and why, in words."""
        ranked = self._ranked(self._candidates)
        runs = self._payable(ranked)
        if not runs:
            raise InputError(self._nothing())
        best = _surest(runs)
        if ranked[0] not in runs:
            self._ended = "among those that can be fitted to everything in time"
        cheap = [run for run in runs if run is not best and self._is_cheaper(run, best)]
        behind = next((k for k, run in enumerate(cheap) if not _is_level(best, run)), len(cheap))
        level = [
            best,
            *cheap[:behind],
        ]  # one that is worse than one that is behind is not level, unsure as its gap may be
        least = min((self._cost(run), _is_joined(run)) for run in level)
        cheapest = _surest([run for run in level if (self._cost(run), _is_joined(run)) == least])
        ended = f" ({self._ended})" if self._ended else ""
        first = best if best.candidate is not cheapest.candidate else runs[0]
        gap, error = difference(first.parts, cheapest.parts)
        if cheapest.candidate is first.candidate or gap <= 0:
            count = len({run.candidate for run in runs})
            return cheapest, f"the best of {count} on inner parts{ended}"
        ahead, costs = f"ahead by {gap:.4f} ± {error:.4f}", f"costs {_times(first.cpu, cheapest.cpu)} as much"
        if gap > error:  # see `_surest`
            few = f"{self._called(first)} is {ahead} on {len(first.parts)} of them, which may be chance"
            return cheapest, f"the best on {len(cheapest.parts)} inner parts{ended}; {few}, and {costs}"
        return cheapest, f"level with {self._called(first)}, which is {ahead} and {costs}{ended}"

    def _payable(self, runs: list[Trying]) -> list[Trying]:
        """Those whose last fits are estimated to end in time, or nearly; the cheapest, where none is."""
        if not self._clock.timed or self._interrupted:
            return runs
        prices = {id(run): self._finish_cost(run) for run in runs}
        left = max(self._clock.left(), 0.0) + _OVER * self._clock.budget.amount
        some = [run for run in runs if prices[id(run)] <= left]
        return some if some or not runs else [min(runs, key=lambda run: prices[id(run)])]

    def _finish_cost(self, run: Trying) -> float:
        asking = 0.0 if self._asked.fits_whole or run.candidate.cost is None else self._asking
        return self._last_fits(self._seconds(run.candidate, run.epochs), run.nodes) + asking

    def _price(self, run: Trying) -> float:
        """What a run cost, in seconds; where trials count, in what does not depend on the machine: epochs."""
        return run.cpu if self._clock.timed else float(run.epochs or 0)

    def _cost(self, run: Trying) -> float:
        """The price, or nothing: of those without epochs that cost seconds, the better one is taken."""
        price = self._price(run)
        return 0.0 if not run.candidate.trained and price < _SECONDS else price

    def _is_cheaper(self, run: Trying, best: Trying) -> bool:
        """By so much that it matters: half of it or less, of a second at least; of some, where nothing is trained."""
        if _is_joined(best) and not _is_joined(run) and self._price(run) <= self._price(best):
            return True  # two side by side are twice as wide, whatever they cost
        least = _SECOND if best.candidate.trained else _SECONDS
        least = least if self._clock.timed else 0.0
        return self._price(best) > least and 2 * self._price(run) <= self._price(best)

    def _called(self, run: Trying) -> str:
        return repr(_plain(run.model))

    def _nothing(self) -> str:
        """Why there is no winner."""
        first = next((x.why for x in self._candidates if x.why), "no candidate could be measured")
        return f"nothing could be fitted within {self._clock.budget}: {self._candidates[0].name}: {first}"

    def _trials(self, run: Trying, reason: str, values: dict[str, Measurement]) -> Trials:
        sign = -1 if self._asked.smaller else 1
        measured, error = figure_of(values) if values else (math.nan, math.nan)
        figure = sign * measured if math.isfinite(measured) else None
        sure = not self._within_part and sum(len(x.without) for x in values.values()) >= _FEW  # as all of them are
        deviation = error if math.isfinite(error) and error > _NOTHING and sure else None
        spent = round(self._clock.spent(), 3)
        within = f", in {len(values)} turns" if len(values) > 1 else ""
        if self._within_part:
            within = f", within a part of {self._part_size:,} nodes"
        return Trials(
            self._asked.task.name, self._asked.figure, str(self._clock.budget), tuple(self._rows), self._called(run),
            reason, figure, deviation, self._asked.note + within, self._asked.smaller, spent,
        )  # fmt: skip


def _is_joined(run: Trying) -> bool:
    return "joined" in run.candidate.kind


def _surest(runs: list[Trying]) -> Trying:
    """The best of those that were measured on most parts; or one that was on fewer, if it is ahead by more than the
    standard error of that, and by two on a single part: of many that are looked at once, one is ahead by chance."""
    most = max(len(run.parts) for run in runs)
    best = next(run for run in runs if len(run.parts) == most)
    for run in runs:
        gap, error = difference(run.parts, best.parts)
        if run is best or (math.isfinite(error) and gap > (2 if len(run.parts) == 1 else 1) * error):
            return run
    return best


def _is_level(best: Trying, run: Trying) -> bool:
    """Whether the best is ahead by no more than the standard error of the difference."""
    gap, error = difference(best.parts, run.parts)
    return run is best or (math.isfinite(error) and gap <= error)


def _is_perfect(x: Measurement) -> bool:
    return x.figure >= 1 - 1e-9 and len(x.without) >= _FEW


def _times(costly: float, cheap: float) -> str:
    ratio = costly / max(cheap, 1e-3)
    return f"{ratio:.0f} times" if ratio >= 1.5 else "about"
