"""The demo: what a newcomer sees first works, twice, and says what is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import netfold as nf
from command import refuse
from netfold.show import demo


def test_the_demo_runs_twice_writes_its_files_and_training_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(demo, "EXAMPLES", demo.EXAMPLES[1:2])
        demo.run_demo(tmp_path / "demo")
    demo.run_demo(tmp_path / "demo")
    said = capsys.readouterr().out
    names = ["sdne", "drne", "dhne", "dvne", "depthlgp"]
    there = {p.name for p in (tmp_path / "demo").iterdir()}
    assert there == {f"{name}.netfold" for name in names} | {"pictures", "report.html"}
    pictures = {f"{name}.png" for name in (*names, "drne-2")}
    assert {p.name for p in (tmp_path / "demo/pictures").iterdir()} == pictures
    for name in names:
        assert type(nf.load(tmp_path / f"demo/{name}.netfold")) is nf.MODELS[name]
    near = nf.load(tmp_path / "demo/sdne.netfold").embedding_.nearest("Valjean", k=6)
    main_characters = {"Cosette", "Javert", "Marius", "Fantine", "Thenardier", "MmeThenardier", "Fauchelevent"}
    assert len(main_characters & {label for label, _ in near}) >= 2
    table = said[said.index("what is measured") :]
    figures = {name: re.search(rf"{name} .*?(\d\.\d+) +(\d\.\d+)$", table, re.M | re.I) for name in names}
    assert all(found and float(found[2]) > float(found[1]) for found in figures.values())
    assert "default-src" in (tmp_path / "demo/report.html").read_text()


def test_a_folder_that_cannot_be_is_one_sentence(here: Path) -> None:
    (here / "file").write_text("in the way")
    assert "file" in refuse("demo", here / "file")


def test_it_says_how_this_netfold_is_called(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "v/bin").mkdir(parents=True)
    monkeypatch.setattr("sys.executable", str(here / "v/bin/python"))
    monkeypatch.setenv("PATH", "")
    assert demo._program() == "netfold"  # nothing beside the interpreter, as with `python -m netfold`
    program = here / "v/bin/netfold"
    program.write_text("")
    program.chmod(0o755)
    assert demo._program() == "v/bin/netfold"
    monkeypatch.setenv("PATH", str(here / "v/bin"))
    assert demo._program() == "netfold"
