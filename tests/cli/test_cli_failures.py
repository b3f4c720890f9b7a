"""The command line when it fails, is interrupted or loses its terminal: no traceback, and work is kept."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from command import QUICK, environ, netfold, refuse, run
from netfold.cli import output
from netfold.errors import InputError

pytestmark = pytest.mark.usefixtures("edges_csv")


# -------------------------------------------------------------------- failures that are not the input's


def test_training_that_fails_exits_with_1() -> None:
    said = refuse("fit", "sdne", "edges.csv", "-o", "m", *QUICK, "--optimizer", "sgd", "--lr", "1e30", code=1)
    assert "epoch" in said


def broken(*_: object, **__: object) -> None:
    raise ZeroDivisionError("who would have thought")


def test_the_unexpected_asks_for_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.cli.nearest.embedding_at", broken)
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
    said = refuse("fit", "sdne", "edges.csv", "-o", "my model/", code=130)
    assert "netfold fit sdne edges.csv -o 'my model/' --checkpoint 'my model.state'" in said
    assert "before" in refuse("fit", "sdne", "edges.csv", "-o", "m", "--checkpoint", "state", code=130)


def test_an_interrupt_elsewhere_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.cli.nearest.embedding_at", interrupted)
    result = netfold("nearest", "m", "Ann")
    assert result.exit_code == 130 and result.stderr.strip() == "netfold: interrupted"


INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
from netfold.cli import main
main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_checkpoint_from_which_the_same_command_goes_on(number: int, code: int) -> None:
    line = "fit sdne edges.csv -o model --dim 3 --hidden 5 --epochs 500 --tolerance 0 --json --checkpoint"
    args = [*line.split(), "the state"]
    command = [sys.executable, "-W", "error", "-c", INTERRUPTIBLE, *args]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environ(), "text": True}
    with subprocess.Popen(command, **pipes) as first:
        assert first.stderr is not None
        assert first.stderr.readline().startswith("read edges.csv: ")
        assert "epoch 1/500" in first.stderr.readline()
        first.send_signal(number)
        out, err = first.communicate(timeout=60)
    assert first.returncode == code and out == ""
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert "the state" in last and shlex.join(["netfold", *args]) in last
    assert not Path("model").exists()

    second = netfold(*args)
    assert second.exit_code == 0, second.stderr
    assert "going on after epoch" in second.stderr
    assert json.loads(second.stdout)["epochs"] == len(nf.load("model").history_) == 500


def test_sigterm_without_a_checkpoint_leaves_nothing_half_written() -> None:
    args = ["fit", "sdne", "edges.csv", "-o", "model", "--epochs", "100000", "--tolerance", "0"]
    command = [sys.executable, "-W", "error", "-m", "netfold", *args]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environ(), text=True) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "nothing was kept" in said.splitlines()[-1] and "Traceback" not in said
    assert os.listdir() == ["edges.csv"]


# -------------------------------------------------------------------- what a file says is not believed by the terminal


def test_names_of_a_hostile_file_cannot_command_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\u202etxt.exe"
    Path(f"{evil}.csv").write_text("a,b,\x1b[2J\n")
    said = run("fit", "sdne", f"{evil}.csv", "-o", "m").stderr
    assert b"\x1b" not in said and b"\x07" not in said and "\u202e".encode() not in said
    assert rb"\x1b]0;owned\x07\u202etxt.exe.csv" in said


def test_names_that_are_printed_cannot_command_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\u202e\x9b2J"
    nf.Graph.from_edges([(evil, "b"), ("b", "c")]).save("g")
    nf.Embedding([evil, "b"], [[1, 0], [1, 1]]).save("e.npz")
    for line in ("info g", "info g --json", "nearest e.npz b", "nearest e.npz b --json"):
        result = run(*line.split())
        assert result.returncode == 0
        assert not set("\x1b\x07\u202e\x9b") & set(result.stdout.decode())
    assert json.loads(run("info", "g", "--json").stdout)["names"][0] == evil


def test_a_manifest_that_someone_wrote_cannot_command_the_terminal() -> None:
    nf.SDNE(dim=2, hidden=(), epochs=1).fit([(1, 2), (2, 3)], checkpoint="state", progress=False)
    facts = json.loads(Path("state", "manifest.json").read_text())
    facts["run"]["config"]["\x1b]0;owned\x07"] = 1
    Path("state", "manifest.json").write_text(json.dumps(facts))
    assert b"\x1b" not in run("info", "state").stdout
    facts["history"] = [3]
    Path("state", "manifest.json").write_text(json.dumps(facts))
    assert "epoch 1 has no record of numbers" in refuse("info", "state")


def test_a_disk_without_room_for_the_model_is_refused_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(".")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=50))
    monkeypatch.setattr(nf.SDNE, "fit", broken)
    assert "there is no room for m: about" in refuse("fit", "sdne", "edges.csv", "-o", "m")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1 << 20))
    assert "there is no room for m: about" in refuse("fit", "sdne", "edges.csv", "-o", "m", "--hidden", "100000")


def test_a_folder_that_is_not_ours_is_refused_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nf.SDNE, "fit", broken)
    Path("webext", "src").mkdir(parents=True)
    Path("webext", "manifest.json").write_text('{"manifest_version": 3, "name": "mine"}')
    Path("webext", "src", "main.js").write_text("years")
    said = refuse("fit", "sdne", "edges.csv", "-o", "webext", "--force")
    assert "webext is a folder that netfold did not write, and is not replaced" in said
    assert Path("webext", "src", "main.js").read_text() == "years"


def test_a_message_is_never_longer_than_a_screen() -> None:
    Path("long.csv").write_text("a,b,1\nc,d," + "x" * 500_000 + "\n")
    said = refuse("fit", "sdne", "long.csv", "-o", "m")
    assert "long.csv" in said and len(said) < 1100
    with pytest.raises(InputError) as e:
        raise InputError("x" * 5000)
    assert len(output.one_line(str(e.value))) < 1100


def test_standard_output_that_is_closed() -> None:
    command = f"exec {sys.executable} -m netfold info e.npz --json >&-"
    nf.Embedding([1, 2], [[1, 0], [1, 1]]).save("e.npz")
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, env=environ(), timeout=60)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"netfold: standard output is closed" in done.stderr


def test_a_warning_is_one_line() -> None:
    code = "import os; from netfold.io.files import staged_file\nwith staged_file('e.csv'): os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code], check=False, env=environ()).returncode == 9
    nf.Embedding([1, 2], [[1, 0], [1, 1]]).save("e.npz")
    command = [sys.executable, "-m", "netfold", "export", "e.npz", "-o", "e.csv"]
    done = subprocess.run(command, capture_output=True, env=environ(), timeout=60, text=True)
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("netfold: ") and "a save that was killed had left it" in done.stderr


# -------------------------------------------------------------------- exit codes


def test_the_exit_codes_are_those_of_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", page, re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == output.EXIT_CODES
    assert list(output.EXIT_CODES) == [0, 1, 2, 3, 130, 143]


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
    assert json.loads(facts.stdout)["nearest"][0]["node"] == "日本"


def test_a_closed_pipe_is_no_error_message() -> None:
    nf.Embedding(range(5000), np.random.default_rng(0).normal(size=(5000, 2))).save("e.npz")
    command = [sys.executable, "-m", "netfold", "nearest", "e.npz", "7", "-k", "4999"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ()) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert said == b""


def test_ctrl_c_before_anything_has_begun_is_one_line() -> None:
    early = (
        "import sys\n"
        "class Early:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'netfold.cli.program': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Early())\n"
        "from netfold.cli import main\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", early], capture_output=True, text=True, env=environment, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "netfold: interrupted\n")
