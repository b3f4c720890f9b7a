"""A short part of `make fuzz` in every run, and whatever it has found before."""

from __future__ import annotations

import fuzz
import pytest


@pytest.mark.parametrize("seed", [0, 1000, 2000, 3000])
def test_files_spoiled_at_random_are_read_or_refused(seed: int) -> None:
    assert fuzz.campaign(seed, 250, 60) == []


def test_what_was_found_before() -> None:
    """Not one test a file: the folder is empty, or missing, until something is found."""
    wrong = {path.name: fuzz.again(path) for path in sorted(fuzz.CRASHES.glob("*"))}
    assert not any(wrong.values()), wrong
