"""The examples run as they stand, in a folder of their own, and say something."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import runpy
import tempfile
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@functools.cache
def run(path: Path) -> str:
    """What an example prints; it leaves nothing behind."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
            runpy.run_path(str(path), run_name="__main__")
        assert not os.listdir(folder)
    return printed.getvalue()


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
