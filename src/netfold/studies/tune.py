"""`tune`: search the options of one model with Optuna, on inner parts of the data, and fit the best to everything."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from netfold.data.checks import check_at_least_one, is_number, is_whole
from netfold.embedder.embedder import Embedder
from netfold.embedder.options import config_to_json, options
from netfold.embedder.pair_score import mean_score
from netfold.embedder.trials import Trial, Trials
from netfold.errors import InputError, TrainingError
from netfold.evaluate.task import task_named
from netfold.io.edges import graph_or_hypergraph
from netfold.studies.compare import fit_with_base, model_named
from netfold.studies.machine import Meter
from netfold.studies.questions import FOLDS, Measurement, Questions, figure_of, questions
from netfold.studies.race import SCORED

__all__ = ["tune"]

_PARTS = 3
"""Inner parts that each trial is measured on, where each needs a fit of its own; else all."""

Space = Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]


def tune(
    model: Embedder | str,
    graph: Any,
    task: str,
    space: Space,
    trials: int = 20,
    *,
    classes: Mapping[Any, Any] | None = None,
    path: str | os.PathLike[str] | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Embedder:
    """A copy of a model with the best options that were found, fitted to the graph; `trials_` is the table.

    `model` may be a name: "sdne" is SDNE() with its defaults.

    `space` says what is searched: {"lr": (1e-4, 1e-1, "log"), "dropout": (0.0, 0.5), "dim": [32, 64, 128]}: a range of
    numbers (whole where both ends are), perhaps on a logarithmic scale, or a list to choose from; or a function from an
    Optuna trial to options. `trials` counts all of them: with `path`, a file, a search that was stopped goes on where
    it was. Each is measured on inner parts of the graph, as those of `nf.auto` are; `trials_.value` is of data that
    chose nothing. Needs the extra tune (`pip install 'netfold[tune]'`).

    >>> from netfold.studies.datasets import stochastic_block_model
    >>> graph, blocks = stochastic_block_model((30, 30), 0.4, 0.02)
    >>> from netfold.models import Node2Vec
    >>> best = tune(Node2Vec(epochs=0), graph, "classify", {"dim": [2, 8]}, 3, classes=blocks, progress=False)
    >>> best.dim in (2, 8), len(best.trials_.rows)
    (True, 3)
    """
    optuna = _optuna()
    model = _model(model)
    check_at_least_one(trials=trials)
    _check_space(model, space)
    data = graph_or_hypergraph(graph, task_named(task).reads[0])
    asked = questions(data, task, classes, seed)
    known: dict[str, Any] = {"model": type(model).__name__, "config": config_to_json(model), "graph": data.fingerprint}
    known |= {"task": asked.task.name, "space": None if callable(space) else space, "seed": seed}
    name = hashlib.sha256(json.dumps(known, sort_keys=True, default=str).encode()).hexdigest()[:16]
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=max(5, trials // 4))
    study = optuna.create_study(
        study_name=name, storage=_storage(optuna, path), sampler=sampler, direction="maximize", load_if_exists=True
    )
    search = _Search(model, asked, space, optuna)
    ended = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    left = trials - len(study.get_trials(states=ended))
    if left > 0:
        study.optimize(search, n_trials=left, show_progress_bar=False, callbacks=[search.said] if progress else None)
    return search.finish(study, trials)


def _model(model: Any) -> Embedder:
    if isinstance(model, str):
        return model_named(model)
    if not isinstance(model, Embedder):
        raise InputError(f"{model!r} is no model to tune; give one, such as nf.SDNE(), or its name")
    return model


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError("nf.tune searches with Optuna, which is not installed; pip install 'netfold[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _storage(optuna: Any, path: Any) -> Any:
    """A log of plain json, so that what was tried outlives the process; in memory, where no file is named."""
    if path is None:
        return None
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(os.fspath(path)))


def _check_space(model: Embedder, space: Any) -> None:
    """Refuse what is no option of the model, or no range."""
    if callable(space):
        return
    known = {o.name: o for o in options(type(model))}
    if not isinstance(space, Mapping) or not space:
        raise InputError(f"space is {space!r}; give options to search, such as {{'dim': [32, 64, 128]}}")
    for name, values in space.items():
        if name not in known:
            raise InputError(f"{type(model).__name__} has no option {name!r}; it has {', '.join(known)}")
        for value in values if isinstance(values, list) else _ends(name, values):
            known[name].check(tuple(value) if isinstance(value, list) else value)


def _ends(name: str, values: Any) -> tuple[Any, Any]:
    """The two ends of a range."""
    good = isinstance(values, tuple) and (len(values) == 2 or (len(values) == 3 and values[2] == "log"))
    if not good or not all(is_number(x) for x in values[:2]) or not values[0] < values[1]:
        raise InputError(
            f"space[{name!r}] is {values!r}; give (least, most), (least, most, 'log') or a list of choices"
        )
    return values[0], values[1]


class _Search:
    """What Optuna calls, and what comes of it."""

    def __init__(self, model: Embedder, asked: Questions, space: Space, optuna: Any) -> None:
        self._model, self._asked, self._space, self._optuna = model, asked, space, optuna
        self._whole = asked.whole.n_nodes

    def __call__(self, trial: Any) -> float:
        """The mean figure on inner parts; options that cannot be fitted are pruned, and say why."""
        drawn = self._space(trial) if callable(self._space) else {x: self._drawn(trial, x) for x in self._space}
        trial.set_user_attr("options", json.loads(json.dumps(drawn, default=str)))
        parts: dict[str, Measurement] = {}
        fitted, start = None, time.process_time()
        try:
            model = type(self._model)(**self._model.get_params() | dict(drawn))
            with Meter() as meter:
                for fold in range(FOLDS if self._asked.fits_whole else _PARTS):
                    part = self._asked.inner(fold, self._whole)
                    if fitted is None or not self._asked.fits_whole:
                        fitted = fit_with_base(type(model)(**model.get_params()), part.graph)
                    parts[part.key] = part.measure(fitted, None)
        except (InputError, TrainingError) as e:
            trial.set_user_attr("why", " ".join(str(e).split()))
            raise self._optuna.TrialPruned from None
        figure, deviation = figure_of(parts)
        facts = {"deviation": deviation, "folds": len(parts), "cpu": time.process_time() - start, "bytes": meter.bytes}
        for name, value in (facts | {"score": mean_score([x.score for x in parts.values()])}).items():
            trial.set_user_attr(name, value if not isinstance(value, float) or math.isfinite(value) else None)
        return figure

    def _drawn(self, trial: Any, name: str) -> Any:
        values: Any = self._space[name]  # type: ignore[index]
        if isinstance(values, list):
            return values[trial.suggest_int(name, 0, len(values) - 1)]  # so that a choice may be anything
        log = len(values) == 3
        if is_whole(values[0]) and is_whole(values[1]):
            return trial.suggest_int(name, *values[:2], log=log)
        return trial.suggest_float(name, *values[:2], log=log)

    def said(self, study: Any, trial: Any) -> None:
        """A line for each trial, on standard error."""
        import sys

        row = self._row(trial)
        words = row.why if row.figure is None else f"{self._asked.figure} {row.figure:.4f}"
        print(f"tune: {row.candidate}: {words}", file=sys.stderr, flush=True)

    def _row(self, trial: Any) -> Trial:
        facts, sign = trial.user_attrs, -1 if self._asked.smaller else 1
        named = ", ".join(f"{name}={value!r}" for name, value in facts.get("options", {}).items())
        candidate = f"{type(self._model).__name__}({named})"
        if trial.value is None:
            return Trial(candidate, why=facts.get("why", "not finished"))
        own = {name: facts.get(name) for name in ("deviation", "cpu", "bytes")}
        folds, score = facts.get("folds", 0), facts.get("score", "")
        return Trial(candidate, None, self._whole, folds, sign * trial.value, score=score, **own)

    def finish(self, study: Any, trials: int) -> Embedder:
        """The best options, measured on what chose nothing, and fitted to everything."""
        rows = tuple(self._row(x) for x in study.trials)
        complete = [x for x in study.trials if x.value is not None]
        if not complete:
            why = rows[0].why if rows else "there were no trials"
            raise InputError(f"no trial of {len(rows)} could be measured: {rows[0].candidate if rows else ''}: {why}")
        best = max(complete, key=lambda x: x.value)
        drawn = {k: tuple(v) if isinstance(v, list) else v for k, v in best.user_attrs["options"].items()}
        model = type(self._model)(**self._model.get_params() | drawn)
        score, outer = best.user_attrs.get("score", ""), self._asked.outer(self._whole)
        value = None
        if not self._asked.fits_whole:
            value = outer.measure(fit_with_base(type(model)(**model.get_params()), outer.graph), score or None)
        fit_with_base(model, self._asked.whole)
        value = value or outer.measure(model, score or None)
        if score and self._asked.task.name in SCORED:
            model.pair_score_ = score
        sign, deviation = -1 if self._asked.smaller else 1, value.deviation
        model.trials_ = Trials(
            self._asked.task.name, self._asked.figure, f"{trials} trials", rows, self._row(best).candidate,
            f"the best of {len(complete)} on inner parts", sign * value.figure,
            deviation if math.isfinite(deviation) else None, self._asked.note, self._asked.smaller,
        )  # fmt: skip
        return model
