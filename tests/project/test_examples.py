"""The examples run as they stand, in a folder of their own, and say something."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@functools.cache
def run(path: Path) -> str:
    """What an example prints; it leaves nothing behind."""
    command, env = [sys.executable, "-W", "error", str(path)], {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=env)
        assert done.returncode == 0, done.stderr
        assert not os.listdir(folder)
    return done.stdout


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_runs(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 30
    assert run(path).strip()


def test_bob_gives_each_film_a_tag_of_its_genre() -> None:
    lines = run(next(path for path in EXAMPLES if path.stem == "dhne")).splitlines()
    first = {line.split(":")[0]: line.split("('")[1].split("'")[0] for line in lines if line.startswith("Bob")}
    assert first["Bob's next tag for Solaris"] in ("lonely", "stars", "robots")
    assert first["Bob's next tag for Amadeus"] in ("piano", "drums", "songs")
