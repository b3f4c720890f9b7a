"""The demo: what a newcomer sees first works, twice, and says what is true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import netfold as nf
from netfold import demo


def test_the_demo_runs_twice_writes_its_files_and_training_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        demo.run(tmp_path / "demo")
    said = capsys.readouterr().out
    assert sorted(p.name for p in (tmp_path / "demo").iterdir()) == ["embedding.parquet", "map.png", "sdne.netfold"]
    model, embedding = nf.load(tmp_path / "demo/sdne.netfold"), nf.Embedding.load(tmp_path / "demo/embedding.parquet")
    assert (embedding.vectors == model.embedding_.vectors).all() and len(embedding) == 77
    main_characters = {"Cosette", "Javert", "Marius", "Fantine", "Thenardier", "MmeThenardier", "Fauchelevent"}
    assert len(main_characters & {label for label, _ in embedding.nearest("Valjean", k=6)}) >= 2
    figures = [(float(a), float(b)) for a, b in re.findall(r"MAP +(0\.\d+) +(0\.\d+)", said)]
    assert len(figures) == 6 and all(after > before for before, after in figures)
    assert all(str(tmp_path / "demo" / name) in said for name in ("map.png", "embedding.parquet", "sdne.netfold"))


def test_a_folder_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    source = str(Path(nf.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", "-m", "netfold.demo", str(tmp_path / "file")]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1 and "file" in result.stderr
