"""`netfold choose`: the command that it prints runs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import netfold as nf
from command import netfold, succeed, told
from netfold.studies.choose import PURPOSES
from zoo import karate


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    edges = karate().to_networkx().edges
    Path("edges.csv").write_text("source;target;year\n" + "".join(f"{a};{b};{1990 + a}\n" for a, b in edges))
    Path("words.csv").write_text("node,word\n" + "".join(f"{i},w{i % 3}\n" for i in range(34)))
    Path("triples.csv").write_text("user,film,tag\n" + "".join(f"u{i % 7},f{i % 5},t{i % 3}\n" for i in range(60)))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("task", [None, *(name for name in PURPOSES if name != "near")])
def test_the_command_that_is_printed_runs(task: str | None) -> None:
    args = ["choose", "edges.csv", "--no-probe", "--directed", "--delimiter", ";", *(["--task", task] if task else [])]
    args += ["--attributes", "words.csv"] if task == "cold" else []
    result = netfold(*args)
    assert result.exit_code == 0, result.output
    commands = [line for line in result.stdout.splitlines() if line.startswith("netfold ")]
    assert commands and result.stdout.splitlines()[-1] == commands[-1]
    for command in commands:
        computed = shlex.split(command)[2] in ("spectral", "degreefeatures", "joined")  # without epochs
        trained = " fit " in command and not computed
        short = ["--epochs", "1", "--quiet"] if trained else []
        ran = netfold(*shlex.split(command)[1:], *short)
        assert ran.exit_code == 0, f"{command}: {ran.output}"
    assert Path(f"{shlex.split(commands[-1])[2]}.netfold", "manifest.json").exists()


@pytest.mark.usefixtures("files")
def test_what_auto_would_race_is_listed_with_why() -> None:
    shown = succeed("choose", "edges.csv", "--no-probe", "--task", "link").stdout
    facts = told("choose", "edges.csv", "--no-probe", "--task", "link")
    assert len(facts["race"]) > 5 and shown.count("auto: netfold auto would race these") == 1
    for entrant in facts["race"]:
        assert f"): {entrant['why']}" in shown


@pytest.mark.usefixtures("files")
def test_hyperedges_are_recognised_and_their_command_runs() -> None:
    facts = json.loads(netfold("choose", "triples.csv", "--task", "link", "--no-probe", "--json").stdout)
    assert facts["model"] == "dhne" and facts["facts"]["hyperedges"]
    ran = netfold(*shlex.split(facts["commands"][0])[1:], "--epochs", "1", "--quiet")
    assert ran.exit_code == 0, ran.output


@pytest.mark.usefixtures("files")
def test_probing_and_trying() -> None:
    result = netfold("choose", "edges.csv", "--task", "uncertainty", "--try", "--sample", 20)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[4].startswith("cost: about ") and "a time column (year)" in lines[0]
    assert any(line.startswith("DVNE ") for line in lines) and any("(cheap)" in line for line in lines)
    assert lines[-1].startswith("netfold fit dvne edges.csv")
    assert "choose: short fits" in result.stderr


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere.csv"], "no such file"),
        (["edges.csv", "--task", "links"], "no task 'links'; did you mean 'link'"),
        (["edges.csv", "--sample", "50"], "--sample is for --try"),
        (["edges.csv", "--classes", "l.csv"], "--classes is for --try"),
        (["triples.csv", "--task", "roles"], "clique_expansion"),
        (["edges.csv", "--try", "--task", "classify", "--no-probe"], "--classes FILE"),
    ],
)
def test_what_the_command_refuses(args: list[str], words: str) -> None:
    result = netfold("choose", *args, "--quiet")
    assert result.exit_code == 2 and result.stdout == ""
    assert words in result.stderr and len(result.stderr.strip().splitlines()) == 1


@pytest.mark.usefixtures("files")
def test_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(nf.Node2Vec, "fit", interrupted)
    result = netfold("choose", "edges.csv", "-q")
    assert result.exit_code == 130 and result.stdout == "" and result.stderr.strip() == "netfold: interrupted"
