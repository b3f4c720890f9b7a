"""Rows and seeds of a table in several processes, which end with this one, or with the first that fails."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from typing import Any

from netfold.errors import InputError, TrainingError, is_out_of_memory
from netfold.studies.machine import cores
from netfold.studies.reproduce.measuring import Measured, Run, measured, rows_together
from netfold.studies.reproduce.table import COST, Row, Table

__all__ = ["measured_in_processes"]

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""What libraries read once, when they are loaded."""
_ERRORS: dict[str, type[Exception]] = {"refused": InputError, "failed": TrainingError, "bug": RuntimeError}


@dataclass(frozen=True)
class _Unit:
    """What one process does at a time: rows that share a fit, for one seed."""

    seed: int
    rows: tuple[Row, ...]

    @property
    def names(self) -> str:
        return ", ".join(row.name for row in self.rows)


def measured_in_processes(table: Table, how: Run) -> dict[tuple[int, str], Measured]:
    """Every row for every seed, by seed and the row's name, measured by `how.jobs` processes at a time.

    Each has its share of the cores, and no more threads than this one. After `how.limit` seconds there is only what
    was measured until then.
    """
    units = _units(table, how)
    with _workers(min(how.jobs, len(units)), table, how) as workers:
        return _gathered(table, how, units, workers)


def _units(table: Table, how: Run) -> list[_Unit]:
    """All that is to be done: what took longest when it was last recorded first, or seed by seed if time is limited."""

    def cost(rows: tuple[Row, ...]) -> float:
        last = table.recorded.rows if table.recorded else {}
        return sum(last[row.name].mean.get(COST, 0.0) for row in rows if row.name in last)

    ordered = sorted(rows_together(table, quick=how.quick), key=cost, reverse=True)
    units = [_Unit(seed, rows) for rows in ordered for seed in how.seeds]
    return units if how.limit is None else sorted(units, key=lambda unit: how.seeds.index(unit.seed))


# -------------------------------------------------------------------- this process

_Pipe = connection.Connection
_Workers = dict[_Pipe, Any]
"""The processes, by the pipe to each."""
_Doing = dict[_Pipe, _Unit | None]
"""What each is at; none as long as it starts."""


@contextmanager
def _workers(count: int, table: Table, how: Run) -> Iterator[_Workers]:
    """So many processes that wait for units; none is left afterwards, whatever happens."""
    import torch

    spawn, processes = multiprocessing.get_context("spawn"), {}
    threads = min(max(1, cores() // how.jobs), torch.get_num_threads())
    asked = {"quick": how.quick, "device": how.device, "baselines": how.baselines}
    try:
        with _environment(threads), _deaf_to_interrupts():
            for _ in range(count):
                ours, theirs = spawn.Pipe()
                process = spawn.Process(target=_work, args=(theirs, table, asked, threads), daemon=True)
                process.start()
                theirs.close()  # so that its end is heard of
                processes[ours] = process
        yield processes
    finally:
        for process in processes.values():
            process.kill()
        for process in processes.values():
            process.join()


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    """What processes that start now find as their number of threads."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that start now do not hear Ctrl-C, which a terminal sends to all: this one does, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would lift the mask if it were started under it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _gathered(table: Table, how: Run, units: list[_Unit], workers: _Workers) -> dict[tuple[int, str], Measured]:
    """Give each process that is free the next unit, until all are done or the time is over."""
    rows: dict[tuple[int, str], Measured] = {}
    doing: _Doing = dict.fromkeys(workers)
    left, done = deque(units), 0
    for pipe, kind, content in _messages(table, how, workers, doing):
        if kind == "said":
            how.say(content)
            continue
        if (unit := doing.pop(pipe)) is not None:
            rows |= {(unit.seed, name): x for name, x in content.items()}
            done += 1
            how.say(f"{table.name}, seed {unit.seed}: {unit.names} done, {done} of {len(units)}")
        if left:
            doing[pipe] = left.popleft()
            with suppress(BrokenPipeError):  # it ended just now, as the next look at it will tell
                pipe.send(doing[pipe])
    return rows


def _messages(table: Table, how: Run, workers: _Workers, doing: _Doing) -> Iterator[tuple[_Pipe, str, Any]]:
    """What processes tell, as long as any is at work and there is time."""
    end = math.inf if how.limit is None else time.monotonic() + how.limit
    while doing:
        ready = connection.wait(list(doing), None if how.limit is None else max(0.0, end - time.monotonic()))
        if not ready:
            how.say(f"{table.name}: the time is over")
            return
        for pipe in (pipe for pipe in list(doing) if pipe in ready):
            yield pipe, *_received(pipe, workers[pipe], table, doing[pipe])


def _received(pipe: _Pipe, process: Any, table: Table, unit: _Unit | None) -> tuple[str, Any]:
    """What a process has to tell; where it failed, or ended, the error."""
    try:
        kind, content = pipe.recv()
    except (EOFError, OSError):
        process.join()
        raise _ended(process.exitcode, table, unit) from None
    if kind in _ERRORS:
        error = _ERRORS[kind](f"{table.name}, row {content['row']!r}, seed {content['seed']}: {content['sentence']}")
        error.add_note(content["traceback"])
        raise error
    return kind, content


def _ended(code: int, table: Table, unit: _Unit | None) -> Exception:
    if unit is None:
        guard = 'a script that asks for jobs has its work under `if __name__ == "__main__":`'
        return InputError(f"the processes for {table.name} could not start (exit code {code}); {guard}")
    where = f"{table.name}, {unit.names}, seed {unit.seed}"
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return TrainingError(f"{where}: the process ended with {how}; fewer jobs at a time need less memory")


# -------------------------------------------------------------------- a process


def _work(pipe: Any, table: Table, asked: dict[str, Any], threads: int) -> None:
    """Measure the units that come, until this process is ended."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(threads)
    how = Run(**asked, say=lambda line: pipe.send(("said", line)))
    pipe.send(("ready", None))
    while True:
        pipe.send(_outcome(table, how, pipe.recv()))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _outcome(table: Table, how: Run, unit: _Unit) -> tuple[str, Any]:
    rows: dict[str, Measured] = {}
    try:
        rows.update(measured(table, unit.rows, how, unit.seed))  # what came before an error stays
    except Exception as e:
        kind, sentence = _failure(e)
        content = {"row": unit.rows[len(rows)].name, "seed": unit.seed, "sentence": " ".join(sentence.split())}
        return kind, content | {"traceback": traceback.format_exc()}
    return "done", rows


def _failure(e: Exception) -> tuple[str, str]:
    """Whether something given cannot be used, the work failed, or there is a bug; and what to say of it."""
    if isinstance(e, (InputError, OSError)):
        return "refused", str(e)
    if isinstance(e, TrainingError):
        return "failed", str(e)
    if is_out_of_memory(e):
        return "failed", "there was not enough memory; fewer jobs at a time need less"
    return "bug", f"{type(e).__name__}: {e}"
