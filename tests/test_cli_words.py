"""The command line speaks with one voice: the same mistake is told in the same words, and symbols stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import refuse, succeed

MISSING = [
    "info gone", "fit sdne gone -o m", "nearest gone a", "map gone -o m.png", "report gone -o r.html",
    "export gone -o v.npz", "transform gone edges.csv -o v.npz", "complete gone --user a --tag ?",
    "score gone edges.csv -o s.csv", "choose gone", "compare gone sdne", "fit sdne edges.csv -o m --config gone",
    "fit depthlgp edges.csv --embedding gone -o m", "evaluate hyperedges dhne gone",
    "evaluate link-prediction sdne gone",
    "compare edges.csv sdne --task classification --labels gone",
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
