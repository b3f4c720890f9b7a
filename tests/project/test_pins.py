"""The pins of the development environment: every one but torch is installed by its hash."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PINS = runpy.run_path(str(ROOT / ".ci" / "pins.py"))


def requirements() -> dict[str, tuple[str, list[str]]]:
    text = (ROOT / "requirements-dev.txt").read_text().replace("\\\n", " ")
    found = {}
    for line in text.splitlines()[1:]:
        pin, *options = line.split()
        name, _, version = pin.partition("==")
        found[name] = version, options
    return found


def test_every_pin_but_torch_has_its_hashes() -> None:
    known = requirements()
    assert {name: version for name, (version, _) in known.items()} == PINS["pins"](
        (ROOT / "constraints.txt").read_text()
    ), "make pins writes requirements-dev.txt anew"
    assert len(known) > 80 and "torch" not in known
    for name, (_, options) in known.items():
        assert options and all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", x) for x in options), name


def required(extra: str) -> set[str]:
    """The names of what an extra asks for, those of the extras that it names and of the project among them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names: set[str] = set()
    for line in [*project["optional-dependencies"][extra], *project["dependencies"]]:
        name, more = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", line).groups()  # type: ignore[union-attr]
        if name == "netfold":
            names = names.union(*map(required, more.split(",")))
        else:
            names.add(re.sub("[-_.]+", "-", name).lower())
    return names


def test_all_that_dev_asks_for_is_pinned() -> None:
    """`make install` installs the project without what it asks for: that is there by its hash already."""
    pinned = {re.sub("[-_.]+", "-", name).lower() for name in requirements()}
    assert required("dev") - pinned == {"torch"}


def test_pins_below_the_line_are_left_out() -> None:
    assert PINS["pins"](f"# pins\na==1\ntorch==2\n{PINS['MORE']}\nmlflow==3\n") == {"a": "1"}


@pytest.mark.parametrize(
    ("file", "usual"),
    [
        ("numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", True),
        ("numpy-2.4.6-cp313-cp313-macosx_14_0_arm64.whl", True),
        ("numpy-2.4.6-cp313-cp313t-macosx_14_0_arm64.whl", False),
        ("numpy-2.4.6-cp310-cp310-win_amd64.whl", False),
        ("safetensors-0.8.0-cp310-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        ("igraph-1.0.0-cp39-abi3-manylinux_2_28_x86_64.whl", True),
        ("igraph-1.0.0-cp39-abi3-musllinux_1_2_x86_64.whl", False),
        ("click-8.5.1-py3-none-any.whl", True),
        ("click-8.5.1.tar.gz", True),
    ],
)
def test_which_files_are_hashed(file: str, usual: bool) -> None:
    assert (PINS["UNUSUAL"].search(file) is None) is usual


def test_make_installs_by_hash() -> None:
    recipe = (ROOT / "Makefile").read_text()
    assert "$(PIP) --require-hashes --requirement requirements-dev.txt" in recipe
    assert "$(PIP) --no-build-isolation --no-deps --editable ." in recipe
