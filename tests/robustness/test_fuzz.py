"""A short part of `make fuzz` in every run, and whatever it has found before."""

from __future__ import annotations

import fuzz
import pytest


@pytest.mark.parametrize("seed", [0, 1000, 2000, 3000])
def test_files_spoiled_at_random_are_read_or_refused(seed: int) -> None:
    assert fuzz.campaign(seed, 250, 60) == []


@pytest.mark.parametrize("kept", sorted(fuzz.CRASHES.glob("*")), ids=lambda path: path.name)
def test_what_was_found_before(kept: fuzz.Path) -> None:
    assert fuzz.again(kept) is None
