"""Tables for the tests of `netfold.studies.reproduce`: a tiny one, and those that come with netfold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from netfold.studies import reproduce
from netfold.studies.reproduce import Recorded, RecordedRow, read_table, read_tables
from netfold.studies.reproduce.table import COST

ROOT = Path(__file__).parents[2]
TABLES = read_tables(ROOT / "benchmarks" / "tables")

TEXT = """
title = "Two blocks, reconstruction"
paper = "SDNE"
source = "Table 9"
figures = ["MAP", "precision@20", "fit CPU-s"]
notes = "tiny"

[data]
name = "sbm"
sizes = [12, 12]
p_in = 0.5
p_out = 0.05

[task]
name = "reconstruction"
k = [20]

[published]
SDNE = { MAP = 0.5, "precision@20" = 1 }
LINE = { MAP = 0.4 }

[[rows]]
name = "vectors"
model = "sdne"
config = { dim = 4, hidden = [6], epochs = 4 }
task = { score = "dot" }
published = "SDNE"
target = { MAP = 0.01 }
guess = "nearly all"

[[rows]]
name = 'the "decoder", as it is'
model = "sdne"
config = { dim = 4, hidden = [6], epochs = 4 }
task = { score = "decoder" }

[quick]
config = { epochs = 1 }
task = { k = [10] }
"""
DECODER = 'the "decoder", as it is'
RECORDED = """
[recorded]
date = "2026-11-30"
machine = "a box"
version = "0.1.0"
seeds = [0, 1]
seconds = 3.5

[recorded.rows.vectors]
settings = "ab"
mean = { MAP = 0.5 }
"""


def recorded(**rows: RecordedRow) -> Recorded:
    return Recorded("2026-11-30", "a box, 2 cores", "0.1.0", (0, 1), 3.5, rows)


def written(folder: Path) -> reproduce.Table:
    """The tiny table, in a file of `folder`."""
    path = folder / "tiny.toml"
    path.write_text(TEXT, encoding="utf-8")
    return read_table(path)


def without_cost(cells: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Figures by method, but for what each cost: that differs from run to run."""
    return {name: {figure: x for figure, x in row.items() if figure != COST} for name, row in cells.items()}
