"""README's blocks, run as they stand on small files: a user's first five minutes."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest

from command import succeed

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]  # type: ignore[index]
SHELL = re.findall(r"^netfold .*", README.split("## In five lines")[1].split("## Why another one")[0], re.MULTILINE)
QUICK = {
    "choose": ["--no-probe"],
    "compare": ["--epochs", "2"],
    "auto": ["--budget", "2 trials"],
    "fit dhne": ["--epochs", "20"],
}
"""What is added to a verb, or to a verb and a model, so that it takes no longer than the others."""
PEOPLE = ["alice", "bob", "cid", "dan", "eva", "fay", "gus", "hal", "ivy", "jon"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two circles of friends, who came later, and who gave which movie which tag."""
    monkeypatch.chdir(tmp_path)
    circles = [(a, b) for c in (PEOPLE[:5], PEOPLE[5:]) for i, a in enumerate(c) for b in c[i + 1 :]]
    Path("edges.csv").write_text("\n".join(f"{a},{b}" for a, b in [*circles, ("eva", "fay")]))
    Path("tomorrow.csv").write_text("zoe,alice\nzoe,bob\n")
    tags = [
        (u, m, t) for i, u in enumerate(["ann", "ben", "cat"]) for m in range(5, 9) for t in ("slow", "odd")[i % 2 :]
    ]
    Path("sales.csv").write_text("user_id,item,amount,day\nu1,i7,9.5,2024-01-31\nu2,i7,2,2024-02-01\n")
    Path("tags.csv").write_text("user,movie,tag\n" + "\n".join(f"{u},{m},{t}" for u, m, t in tags))
    return tmp_path


def test_the_five_lines_of_python(folder: Path) -> None:
    assert 'budget="60s"' in PYTHON
    Path("five.py").write_text(PYTHON.replace('"60s"', '"2 trials"'), encoding="utf-8")
    names: dict[str, Any] = runpy.run_path("five.py")
    assert {x for x, _ in names["model"].embedding_.nearest("alice", k=4)} == set(PEOPLE[1:5])
    assert list(names["new"].nodes) == ["zoe"] and names["nf"].load("sdne.netfold").dim == 128


def test_the_commands(folder: Path) -> None:
    said: dict[str, str] = {}
    for line in SHELL:
        words = shlex.split(line, comments=True)[1:]
        if words[0] == "reproduce":  # its data is not here; tests/test_reproduce_command.py
            continue
        said[" ".join(words[:2])] = succeed(*words, *QUICK.get(words[0], QUICK.get(" ".join(words[:2]), []))).stdout
    assert len(said) == len(SHELL) - 1
    assert {line.split()[-1] for line in said["nearest sdne.netfold"].splitlines()} >= set(PEOPLE[1:5])
    assert "tag:" in said["complete tags.netfold"] and "Adamic-Adar" in said["compare edges.csv"]
    for made in ("new.parquet", "vectors.parquet", "map.png", "report.html"):
        assert Path(made).stat().st_size > 0


def numbers(text: str) -> list[tuple[float, int]]:
    """Each number of a text with its decimals; 5M is five million."""
    found = re.findall(r"(?<![\w.-])(\d[\d,]*(?:\.\d+)?)(M?)(?![\w-])", text)
    return [(float(x.replace(",", "")) * 10 ** (6 * bool(m)), len(x.partition(".")[2])) for x, m in found]


def measured(*headings: str) -> list[float]:
    """The numbers in some sections of the page of what was measured."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    sections = [text for text in page.split("\n## ") if text.startswith(headings)]
    assert len(sections) >= len(headings)
    return [x for text in sections for x, _ in numbers(text)]


def test_every_figure_of_what_it_costs_was_measured() -> None:
    rows = re.findall(r"^\| (.*?) \| (.*?) \| (.*)\|$", README.split("## What it costs")[1], re.MULTILINE)[2:]
    assert len(rows) == 7
    for what, ours, beside in rows:
        known = measured("Reading") if what.startswith("reading") else measured("SDNE against", "SDNE on a GPU")
        for x, decimals in numbers(f"{ours} {beside}"):
            assert any(abs(y - x) <= 0.5001 * 10**-decimals for y in known), f"{x:g}: {what}"
