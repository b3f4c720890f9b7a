"""How fast nodes should be held when a network settles, and from where.

    NETFOLD_DATA=../shared/data python benchmarks/searches/settling.py [MODEL:GRAPH ...] [--draws 100-104]
    python benchmarks/searches/settling.py --table

A tenth of the nodes comes in ten batches (`evaluate.replay`, trained and measured on days 4 and 8): settled with
several mu, what came since the fit placed again or (`as it is`) left where it was settled before, and the ways that
stand beside it. A line of json a draw is appended to settling.jsonl. Graphs are as new_nodes.py draws them from 100 on,
which are in no table of docs/new-nodes.md: planted blocks (another mixing each draw), cora, 8,000 authors of dblp,
facebook (links alone).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from new_nodes import append_row, cell, headed, lined, split_of, verdict

import netfold as nf
from netfold.embedder.evolving import Evolving
from netfold.evaluate import replay

ROWS = Path(__file__).with_suffix(".jsonl")
CASES = [f"{model}:{graph}" for model in ("node2vec", "sdne") for graph in ("planted", "cora", "dblp", "facebook")]
MODELS: dict[str, dict[str, Any]] = {
    "node2vec": {"dim": 32, "length": 20, "window": 5, "epochs": 2},
    "sdne": {"dim": 32, "hidden": (), "epochs": 40},
    "line": {"dim": 32, "epochs": 5},
    "dvne": {"dim": 32, "epochs": 20},
}
MUS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def measured(model: str, graph: str, draw: int) -> dict[str, Any]:
    """The figures of every way, and of each mu."""
    split, classes = split_of("sdne", graph, draw)
    fitted = nf.MODELS[model](seed=draw, **MODELS[model]).fit(split.known, progress=False)
    of: dict[str, Any] = {"classes": classes or None, "days": 10, "every": 4, "seed": draw}
    whole = replay(fitted, split, mu=1.0, **of)
    figures = {"mu 1": whole.figures, **whole.baselines}
    for mu in MUS:
        if mu != 1:
            figures[f"mu {mu:g}"] = replay(fitted, split, mu=mu, baselines=False, **of).figures
    figures["mu 1, as it is"] = left_as_it_is(fitted, split, of)
    return {"came": len(split.new), "figures": figures}


def left_as_it_is(fitted: Any, split: Any, of: dict[str, Any]) -> dict[str, float]:
    """Settled with mu = 1 where only what came since the last settling is placed again before."""
    settle = Evolving.settle

    def from_there(stream: Evolving, graph: Any, *, again: bool = False, **how: Any) -> Any:
        stream.update(again=again)
        return settle(stream, graph, **how)

    Evolving.settle = from_there  # type: ignore[assignment, method-assign]
    try:
        return replay(fitted, split, mu=1.0, **of).figures
    finally:
        Evolving.settle = settle  # type: ignore[method-assign]


def table() -> None:
    """Each way's means, and mu = 1 against it."""
    cases: dict[str, list[dict[str, Any]]] = {}
    for line in ROWS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cases.setdefault(f"{row['model']}, {row['graph']}", []).append(row["figures"])
    headed("replayed", "draws", "way", "micro-F1", "AUC", "CPU-s", "mu 1 against it: micro-F1", "AUC")
    for case, rows in cases.items():
        for way in rows[0]:
            found = [[row[way].get(x) for row in rows] for x in ("micro-F1", "AUC", "CPU-s")]
            own = [[row["mu 1"].get(x) for row in rows] for x in ("micro-F1", "AUC")]
            lined(case, len(rows), way, *map(cell, found), *(verdict(*x) for x in zip(own, found, strict=False)))


def main() -> None:
    """Measure, print and append."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=CASES, help="MODEL:GRAPH")
    parser.add_argument("--draws", default="100-104", help="first-last")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if arguments.table:
        table()
        return
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.exists() else []
    done = {tuple(json.loads(line)[x] for x in ("model", "graph", "draw")) for line in lines}
    first, _, last = arguments.draws.partition("-")
    for draw in range(int(first), int(last or first) + 1):
        for case in arguments.cases:
            model, _, graph = case.partition(":")
            if (model, graph, draw) in done:
                continue
            row = {"model": model, "graph": graph, "draw": draw, **measured(model, graph, draw)}
            append_row(ROWS, row)


if __name__ == "__main__":
    main()
