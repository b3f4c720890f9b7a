"""`jobs`: rows and seeds in several processes give what one gives, and none of them outlives the run."""

from __future__ import annotations

import dataclasses
import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from netfold.cli import main
from netfold.errors import InputError, TrainingError
from netfold.studies import reproduce
from netfold.studies.reproduce import Run, parallel, run
from netfold.studies.reproduce.measuring import Measured
from netfold.studies.reproduce.table import COST, RecordedRow
from published_tables import DECODER, TEXT, without_cost
from three_rows import three


def test_what_took_longest_is_begun_first(tiny: reproduce.Table) -> None:
    kept = {name: RecordedRow("", {COST: cost}) for name, cost in {"vectors": 3.0, "alone": 9.0}.items()}
    last = reproduce.Recorded("2026-11-30", "a box", "0.1", (0,), 1.0, kept)
    units = parallel._units(dataclasses.replace(three(tiny), recorded=last), Run(seeds=(4, 2)))
    assert [(unit.names, unit.seed) for unit in units] == [
        ("alone", 4), ("alone", 2), (f"vectors, {DECODER}", 4), (f"vectors, {DECODER}", 2),
    ]  # fmt: skip


# -------------------------------------------------------------------- the same figures


def rows_without_cost(found: reproduce.Recorded) -> list[tuple[str, RecordedRow]]:
    kept = []
    for name, row in found.rows.items():
        own = without_cost({"mean": row.mean, "sd": row.sd})
        kept.append((name, dataclasses.replace(row, **own, baselines=without_cost(row.baselines))))
    return kept


def test_two_processes_give_what_one_gives_bit_for_bit_and_fit_nothing_twice(tiny: reproduce.Table) -> None:
    """The tests have one thread, and so have the processes."""
    table, alone, apart = three(tiny), [], []
    threads = {name: os.environ.get(name) for name in parallel._THREADS}
    one = run(table, Run(seeds=(5, 3), device="cpu", say=alone.append))
    two = run(table, Run(seeds=(5, 3), device="cpu", say=apart.append, jobs=2))
    assert rows_without_cost(two) == rows_without_cost(one) and [name for name, _ in rows_without_cost(two)] == [
        "vectors", "alone", DECODER,
    ]  # fmt: skip
    assert two.seeds == (5, 3) and two.rows["alone"].baselines == two.rows["vectors"].baselines != {}
    assert all(0 < row.mean[COST] < 5 for row in two.rows.values())
    assert all(0 < cells[COST] < 5 for row in two.rows.values() for cells in row.baselines.values())
    told = [sorted(line for line in lines if line.endswith(" is fitted")) for lines in (alone, apart)]
    assert told[0] == told[1] and len(told[0]) == 4
    ends = [line for line in apart if " done, " in line]
    assert [line.rpartition("done, ")[2] for line in ends] == [f"{i} of 4" for i in (1, 2, 3, 4)]
    assert two.machine == f"{one.machine}; 2 jobs" and "jobs" not in one.machine
    assert threads == {name: os.environ.get(name) for name in parallel._THREADS}
    assert not multiprocessing.active_children()


def test_a_process_has_its_share_of_the_cores(tiny: reproduce.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    given, started = [], []

    class Process:
        def __init__(self, target: Any, args: tuple[Any, ...], daemon: bool):
            given.append(args[-1])

        def start(self) -> None:
            started.append(os.environ["OMP_NUM_THREADS"])

        kill = join = lambda self: None

    monkeypatch.setattr(parallel, "cores", lambda: 16)
    monkeypatch.setattr(multiprocessing.get_context("spawn"), "Process", Process, raising=False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    for jobs in (3, 1, 40):
        with parallel._workers(1, tiny, Run(jobs=jobs)) as made:
            assert len(made) == 1
    assert given == [5, 8, 1] and started == ["5", "8", "1"]


# -------------------------------------------------------------------- a limit of time


def test_seeds_are_run_one_after_the_other_where_time_is_limited(tiny: reproduce.Table) -> None:
    units = parallel._units(three(tiny), Run(seeds=(4, 2), limit=9))
    assert [unit.seed for unit in units] == [4, 4, 2, 2]


def test_what_is_done_in_time_counts(tiny: reproduce.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that answers for the first seed, and is then silent."""
    said: list[str] = []
    how = Run(seeds=(4, 2), limit=0.1, say=said.append)
    figures = {"MAP": 0.25, "precision@20": 0.5, COST: 2.0}
    ours, theirs = multiprocessing.Pipe()
    theirs.send(("ready", None))
    theirs.send(("done", {row.name: Measured(figures, {}) for row in tiny.rows}))
    found = parallel._gathered(tiny, how, parallel._units(tiny, how), {ours: None})
    assert said == [f"tiny, seed 4: vectors, {DECODER} done, 1 of 2", "tiny: the time is over"]
    assert [theirs.recv().seed for _ in range(2)] == [4, 2]
    monkeypatch.setattr(reproduce, "measured_in_processes", lambda table, how: found)
    assert run(tiny, how).seeds == (4,) and run(tiny, how).rows["vectors"].mean == figures
    found.pop((4, DECODER))
    with pytest.raises(TrainingError, match="no seed of tiny was done after 0.1 s; give more time, or more jobs"):
        run(tiny, how)


def test_a_limit_ends_the_process(tiny: reproduce.Table) -> None:
    endless = dataclasses.replace(tiny, rows=three(tiny, epochs=10**7).rows[1:2])
    begun = time.monotonic()
    with pytest.raises(TrainingError, match="no seed of tiny was done after 0.5 s"):
        run(endless, Run(seeds=(0,), limit=0.5))
    assert time.monotonic() - begun < 20 and not multiprocessing.active_children()


@pytest.mark.parametrize("limit", [0, -1.0, float("nan")])
def test_a_limit_that_is_no_time_is_refused(limit: float) -> None:
    with pytest.raises(InputError, match="limit=.* is not a time; give seconds above 0"):
        Run(limit=limit)


# -------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("jobs", [0, -2, 1.5, True, "2"])
def test_a_number_of_processes_that_is_none_is_refused(jobs: Any) -> None:
    with pytest.raises(InputError, match=r"jobs=.* is not a number of processes; give 1 or more"):
        Run(jobs=jobs)


def test_a_run_without_seeds_is_refused() -> None:
    with pytest.raises(InputError, match="no seed is given"):
        Run(seeds=())


@pytest.mark.parametrize("flag", ["--jobs", "--limit"])
def test_the_command_refuses_no_process_and_no_time(flag: str, tiny: reproduce.Table) -> None:
    result = CliRunner().invoke(main, ["reproduce", "tiny", "--tables", str(tiny.path.parent), flag, "0"])
    assert result.exit_code == 2 and flag in result.stderr and result.stdout == ""


def test_a_row_that_fails_is_named_with_its_seed(tiny: reproduce.Table) -> None:
    bad = dataclasses.replace(tiny.rows[1], task={"score": "nonsense"})
    table = dataclasses.replace(tiny, rows=(tiny.rows[0], bad))
    with pytest.raises(InputError) as e:
        run(table, Run(seeds=(7,), device="cpu", jobs=2))
    assert str(e.value).startswith(f"tiny, row {DECODER!r}, seed 7: ") and "nonsense" in str(e.value)
    assert "\n" not in str(e.value) and "in measured" in e.value.__notes__[0]
    assert not multiprocessing.active_children()


def test_a_process_that_is_killed_ends_the_run(tiny: reproduce.Table) -> None:
    def kill(line: str) -> None:
        if line.endswith("is fitted"):
            os.kill(multiprocessing.active_children()[0].pid or 0, signal.SIGKILL)

    with pytest.raises(TrainingError, match="tiny, alone, seed 2: the process ended with signal 9; fewer jobs"):
        run(dataclasses.replace(tiny, rows=three(tiny, epochs=10**7).rows[1:2]), Run(seeds=(2,), jobs=2, say=kill))
    assert not multiprocessing.active_children()


class OutOfMemoryError(RuntimeError):
    """As torch has it."""


@pytest.mark.parametrize(
    "raised, kind, said",
    [
        (InputError("no\n such label"), InputError, "no such label"),
        (OSError(errno.ENOSPC, "No space left", "x.csv"), InputError, "x.csv"),
        (TrainingError("not finite"), TrainingError, "not finite"),
        (OutOfMemoryError("CUDA"), TrainingError, "fewer jobs at a time"),
        (MemoryError(), TrainingError, "not enough memory"),
        (KeyError("x"), RuntimeError, "KeyError: 'x'"),
    ],
)
def test_an_error_is_of_the_kind_that_it_was(
    raised: Exception, kind: type, said: str, tiny: reproduce.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*args: Any) -> Iterator[Any]:
        yield "vectors", Measured({}, {})
        raise raised

    monkeypatch.setattr(parallel, "measured", failing)
    ours, theirs = multiprocessing.Pipe()
    theirs.send(parallel._outcome(tiny, Run(), parallel._Unit(1, tiny.rows)))
    with pytest.raises(kind) as e:
        parallel._received(ours, None, tiny, None)
    assert type(e.value) is kind and said in str(e.value) and f"row {DECODER!r}, seed 1" in str(e.value)
    assert "\n" not in str(e.value)


# -------------------------------------------------------------------- programs of their own


def environment() -> dict[str, str]:
    """Where this process finds netfold, another does; in one thread."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}


def is_empty(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("how", ["Ctrl-C", pytest.param("killed", marks=pytest.mark.slow)])
def test_no_process_outlives_the_run(how: str, tiny: reproduce.Table) -> None:
    """Ctrl-C goes to all processes of a terminal; SIGKILL only to the first, which then cannot end the others."""
    text = TEXT.replace("epochs = 4", "epochs = 10000000, tolerance = 0.0")  # which would end it before
    tiny.path.write_text(text)
    command = [sys.executable, "-m", "netfold", "reproduce", "tiny", "--tables", str(tiny.path.parent), "--record"]
    command += ["--seeds", "1", "--jobs", "2", "--device", "cpu"]
    with subprocess.Popen(
        command, env=environment(), start_new_session=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stderr is not None and program.stdout is not None
        assert any(line.endswith("is fitted\n") for line in program.stderr)
        if how == "Ctrl-C":
            os.killpg(program.pid, signal.SIGINT)
        else:
            program.kill()
        begun = time.monotonic()
        rest = program.stderr.read()  # until the last process that could write has ended
        assert time.monotonic() - begun < 20
        assert program.wait() == (130 if how == "Ctrl-C" else -signal.SIGKILL) and program.stdout.read() == ""
    assert rest.strip() == ("netfold: interrupted" if how == "Ctrl-C" else "")
    for _ in range(100):
        if is_empty(program.pid):
            break
        time.sleep(0.05)
    assert is_empty(program.pid)
    assert tiny.path.read_text() == text and [p.name for p in tiny.path.parent.iterdir()] == ["tiny.toml"]


@pytest.mark.slow
def test_a_script_without_the_guard_is_told_of_it(tiny: reproduce.Table) -> None:
    script = tiny.path.parent / "script.py"
    script.write_text(
        "from pathlib import Path\nfrom netfold.studies.reproduce import Run, read_table, run\n"
        f"run(read_table(Path({str(tiny.path)!r})), Run(seeds=(0,), jobs=2))\n"
    )
    done = subprocess.run([sys.executable, str(script)], env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert (
        'could not start (exit code 1); a script that asks for jobs has its work under `if __name__ == "__main__":`'
        in (done.stderr.splitlines()[-1])
    )
