"""A default run says what it skipped, and fails where a skip is not on the list."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import skips

ROOT = Path(__file__).parents[2]


def run(folder: Path, text: str, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text(text, encoding="utf-8")
    env = os.environ | {"PYTHONPATH": str(ROOT / "tests" / "support")}
    command = [sys.executable, "-m", "pytest", "-p", "skips", "-p", "no:cacheprovider", "-q", *flags, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=folder, timeout=60)


EXPECTED = """
import pytest
def test_b(): pytest.skip("NETFOLD_DATA is not set")
@pytest.mark.skipif(True, reason="NETFOLD_DATA is not set")
def test_c(): pass
def test_d(): pass
"""


def test_what_is_on_the_list_is_counted() -> None:
    reasons = Counter({"NETFOLD_DATA is not set": 2, "could not import 'optuna': No module": 1})
    assert not skips.unexpected(reasons)


@pytest.mark.parametrize("flags", [(), ("-n", "1")], ids=["one process", "a worker of it"])
def test_a_run_says_how_many_and_why(tmp_path: Path, flags: tuple[str, ...]) -> None:
    done = run(tmp_path, EXPECTED, *flags)
    assert done.returncode == 0, done.stdout
    assert "skipped 2; the list is in" in done.stdout
    assert re.search(r"^ +2  NETFOLD_DATA is not set$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("flags", [(), ("-n", "1")], ids=["one process", "a worker of it"])
def test_a_skip_that_is_not_on_the_list_fails_the_run(tmp_path: Path, flags: tuple[str, ...]) -> None:
    done = run(tmp_path, 'import pytest\ndef test_a(): pytest.skip("I did not feel like it")\n', *flags)
    assert done.returncode == 1
    assert "I did not feel like it  <- NOT ON THE LIST" in done.stdout


def test_a_package_of_dev_that_is_missing_is_no_reason_to_skip() -> None:
    """What the default tests need is in `[dev]`: an importorskip of it that skips fails the run."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = [re.split(r"[<>=\[]", x)[0] for x in [*extras["dev"], *extras["docs"], *extras["viz"], *extras["formats"]]]
    modules = [x.replace("-", "_") for x in named if x != "netfold"]
    assert {"pandas", "pytest", "networkx", "matplotlib"} <= set(modules)
    for name in modules:
        assert skips.unexpected(Counter({f"could not import '{name}': No module named '{name}'": 1})), name


def test_every_extra_is_in_the_table_of_the_page() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert [x for x in extras if f"| `{x}` |" not in page] == []
    for name in ("viz", "formats", "track", "tune", "notebook", "search", "serve", "postgres", "dev", "dev-all"):
        assert name in extras


def test_every_dependency_has_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    users = ("viz", "formats", "notebook", "track", "tune", "search", "serve", "postgres")
    listed = [*project["dependencies"], *(x for name in users for x in project["optional-dependencies"][name])]
    assert [x for x in listed if not re.search(r"<\d", x)] == []
