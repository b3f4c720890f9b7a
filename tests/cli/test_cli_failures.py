"""The command line when it fails, is interrupted or loses its terminal: no traceback, and work is kept."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from command import QUICK, environ, netfold, refuse, run

pytestmark = pytest.mark.usefixtures("edges_csv")


# -------------------------------------------------------------------- failures that are not the input's


def test_training_that_fails_exits_with_1() -> None:
    said = refuse("fit", "sdne", "edges.csv", "-o", "m", *QUICK, "--optimizer", "sgd", "--lr", "1e30", code=1)
    assert "epoch" in said


def broken(*_: object, **__: object) -> None:
    raise ZeroDivisionError("who would have thought")


def test_the_unexpected_asks_for_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.cli.nearest.model_of", broken)
    said = refuse("nearest", "m", "Ann", code=1)
    assert "ZeroDivisionError" in said and "report" in said
    monkeypatch.setenv("NETFOLD_TRACEBACK", "1")
    result = netfold("nearest", "m", "Ann")
    assert result.exit_code == 1 and "Traceback" in result.stderr and "in broken" in result.stderr


def test_too_little_memory_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(nf.SDNE, "fit", full)
    assert "memory" in refuse("fit", "sdne", "edges.csv", "-o", "m", code=1)


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_without_a_checkpoint_says_how_to_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nf.SDNE, "fit", interrupted)
    said = refuse("fit", "sdne", "edges.csv", "-o", "my model/", code=1)
    assert "netfold fit sdne edges.csv -o 'my model/' --checkpoint 'my model.state'" in said
    assert "before" in refuse("fit", "sdne", "edges.csv", "-o", "m", "--checkpoint", "state", code=1)


def test_an_interrupt_elsewhere_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.cli.nearest.model_of", interrupted)
    result = netfold("nearest", "m", "Ann")
    assert result.exit_code == 1 and result.stderr.strip() == "netfold: interrupted"


INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
from netfold.cli import main
main()
"""


def test_ctrl_c_leaves_a_checkpoint_from_which_the_same_command_goes_on() -> None:
    line = "fit sdne edges.csv -o model --dim 3 --hidden 5 --epochs 500 --tolerance 0 --json --checkpoint"
    args = [*line.split(), "the state"]
    command = [sys.executable, "-W", "error", "-c", INTERRUPTIBLE, *args]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environ(), "text": True}
    with subprocess.Popen(command, **pipes) as first:
        assert first.stderr is not None
        assert first.stderr.readline().startswith("read edges.csv: ")
        assert "epoch 1/500" in first.stderr.readline()
        first.send_signal(signal.SIGINT)
        out, err = first.communicate(timeout=60)
    assert first.returncode == 1 and out == ""
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert "the state" in last and shlex.join(["netfold", *args]) in last
    assert not Path("model").exists()

    second = subprocess.run(command, timeout=60, **pipes)
    assert second.returncode == 0, second.stderr
    assert "going on after epoch" in second.stderr
    assert json.loads(second.stdout)["epochs"] == len(nf.load("model").history_) == 500


# -------------------------------------------------------------------- as a process of its own


def test_in_a_process_a_refusal_is_one_line_and_exit_code_2() -> None:
    result = run("fit", "sdne", "nowhere.csv", "-o", "m")
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.count(b"\n") == 1 and b"nowhere.csv" in result.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_labels_are_printed_as_the_terminal_can(encoding: str) -> None:
    nf.Embedding(["Zoë", "日本"], [[1, 0], [1, 1]]).save("e.npz")
    text = run("nearest", "e.npz", "Zoë", PYTHONIOENCODING=encoding)
    assert text.returncode == 0 and text.stderr == b""
    assert (rb"\u65e5\u672c" if encoding == "latin-1" else "日本".encode()) in text.stdout  # click mends ascii
    facts = run("nearest", "e.npz", "Zoë", "--json", PYTHONIOENCODING=encoding)
    assert json.loads(facts.stdout)["nearest"][0]["label"] == "日本"


def test_a_closed_pipe_is_no_error_message() -> None:
    nf.Embedding(range(5000), np.random.default_rng(0).normal(size=(5000, 2))).save("e.npz")
    command = [sys.executable, "-m", "netfold", "nearest", "e.npz", "7", "-k", "4999"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ()) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert said == b""
