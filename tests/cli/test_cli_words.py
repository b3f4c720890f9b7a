"""The command line speaks with one voice: the same mistake is told in the same words, and symbols stay as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command import refuse, succeed

MISSING = [
    "info gone", "fit sdne gone -o m", "nearest gone a", "map gone -o m.png", "report gone -o r.html",
    "export gone -o v.npz", "transform gone edges.csv -o v.npz", "complete gone --user a --tag ?",
    "score gone edges.csv -o s.csv", "choose gone", "compare gone sdne", "fit sdne edges.csv -o m --config gone",
    "fit depthlgp edges.csv --embedding gone -o m", "evaluate hyperedges dhne gone",
    "evaluate link-prediction sdne gone",
    "compare edges.csv sdne --task classification --classes gone",
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("a,b\nb,c\n")


@pytest.mark.parametrize("command", MISSING)
def test_a_path_that_is_not_there_is_told_as_one(command: str) -> None:
    assert refuse(*command.split()).startswith("netfold: gone: there is no such file")


@pytest.mark.parametrize(("model", "words"), [("node2vec", "k: nodes drawn"), ("dhne", "σ of the encoder")])
def test_a_symbol_at_the_beginning_of_a_help_text_stays_as_it_is(model: str, words: str) -> None:
    assert words in " ".join(succeed("fit", model, "--help").stdout.split())


@pytest.mark.parametrize(("given", "found"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")])
def test_threads_sleep_while_they_wait_unless_told_otherwise(given: dict[str, str], found: str) -> None:
    code = "import os\nfrom netfold.cli import main\n"
    code += "try:\n main(['--version'])\nfinally:\n print(os.environ['OMP_WAIT_POLICY'])"
    clean = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean | given, timeout=60)
    assert done.stdout.split()[-1] == found and done.stdout.startswith("netfold ")
