"""The notebooks run as they stand, and show what comes out: their cells alone by default, in a kernel when slow."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from test_docs_site import alike

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SMALLER = {"large-graph": {"200_000": "2_000"}}
"""What is replaced in a default run, so that it takes seconds; figures are then others, and are not compared."""


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def stored(cell: dict[str, Any]) -> tuple[str, str]:
    """What a cell printed, and what its last expression was."""
    printed = [x["text"] for x in cell["outputs"] if x.get("name") == "stdout"]
    values = [x["data"]["text/plain"] for x in cell["outputs"] if x["output_type"] == "execute_result"]
    return "".join("".join(x) for x in printed), "".join("".join(x) for x in values)


def run_cell(source: str, names: dict[str, Any]) -> tuple[str, str]:
    """The same, of running it here: in tests only, and of our own files only."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307
    return printed.getvalue(), "" if value is None else repr(value)


def test_there_is_one_for_each_kind_of_user() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["attributes", "large-graph", "reproducing", "sales-table"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_comes_out(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for i, cell in enumerate(cells(path)):
        source = "".join(cell["source"])
        for old, new in SMALLER.get(path.stem, {}).items():
            source = source.replace(old, new)
        came = run_cell(source, names)
        if path.stem in SMALLER or "times" in cell["metadata"].get("tags", []):
            continue
        for want, got in zip(stored(cell), came, strict=True):
            assert alike(want, got), f"cell {i} of {path.name} shows\n{want}\nand gives\n{got}\n(make notebooks)"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_run_to_its_end(path: Path) -> None:
    for cell in cells(path):
        assert cell["execution_count"], "a cell that was not run"
        assert all(x["output_type"] != "error" for x in cell["outputs"])
        assert not re.search(r"^[%!]", "".join(cell["source"]), re.MULTILINE), "plain Python alone"


def test_training_is_one_output_however_many_epochs_there_are() -> None:
    (cell,) = [c for c in cells(FOLDER / "sales-table.ipynb") if "epochs=60).fit" in "".join(c["source"])]
    bars = [x for x in cell["outputs"] if x["output_type"] == "display_data"]
    assert len(bars) == 1 and "epoch 60/60" in "".join(bars[0]["data"]["text/plain"])
    assert "<progress" in "".join(bars[0]["data"]["text/html"])
    assert not [x for x in cell["outputs"] if x["output_type"] == "stream"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")  # of the kernel's own libraries
def test_a_notebook_runs_in_a_kernel(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.delitem(sys.modules, "execute", raising=False)
    from execute import execute

    after = [cell for cell in execute(path).cells if cell["cell_type"] == "code"]
    for before, now in zip(cells(path), after, strict=True):
        if "times" not in before["metadata"].get("tags", []):
            assert all(alike(a, b) for a, b in zip(stored(before), stored(now), strict=True))
