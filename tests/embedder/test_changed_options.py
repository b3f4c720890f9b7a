"""Options that are set after a fit, of which another network would be made: refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

import netfold as nf

RING = [(i, (i + 1) % 9) for i in range(9)]


def test_a_model_of_another_size_is_not_saved(tmp_path: Path) -> None:
    model = nf.SDNE(dim=4, hidden=(6,), epochs=1).fit(RING, progress=False)
    model.set_params(hidden=(8,))
    with pytest.raises(nf.InputError, match=r"fitted with other options than SDNE\(.*; set them back, or fit again"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    model.set_params(hidden=(6,), epochs=50)  # of which no network is made
    model.save(tmp_path / "m")
    assert nf.load(tmp_path / "m").embedding_.dim == 4
