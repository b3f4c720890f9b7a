"""How fast nodes should be held when a network settles, and whether placed ones should be placed again each day.

    NETFOLD_DATA=../shared/data python benchmarks/searches/settling.py [MODEL:GRAPH ...] [--draws 100-104]
    python benchmarks/searches/settling.py --table

Later edges are replayed in ten batches (`evaluate.replay`, trained and measured on days 4 and 8) for several mu, and by
the ways that stand beside it; a line of json a draw is appended to settling.jsonl. Nothing here is in the tables of
docs/new-nodes.md: cora has other seeds (100 and up), dblp is 2015's edges over those until 2014 among 8,000 authors,
planted are blocks with another mixing each draw, facebook has links alone.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from new_nodes import WITHOUT_CLASSES, cell, headed, lined, part_of, split_of, verdict

import netfold as nf
from netfold.evaluate import NodeSplit, replay

ROWS = Path(__file__).with_suffix(".jsonl")
CASES = [f"{model}:{graph}" for model in ("node2vec", "sdne") for graph in ("planted", "cora", "dblp", "facebook")]
MODELS: dict[str, dict[str, Any]] = {
    "node2vec": {"dim": 32, "length": 20, "window": 5, "epochs": 2},
    "sdne": {"dim": 32, "hidden": (), "epochs": 40},
    "line": {"dim": 32, "epochs": 5},
    "dvne": {"dim": 32, "epochs": 20},
}
MUS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def later_of(graph: str, draw: int) -> tuple[NodeSplit, dict[Any, Any] | None]:
    """What is known at first, all that comes, and classes where there are any."""
    if graph == "dblp":
        whole = part_of(nf.datasets.load("dblp_coauthor", until=2015), 8_000, draw)
        before = nf.datasets.load("dblp_coauthor", until=2014)
        known = before.subgraph(np.flatnonzero(whole.nodes.find(before.nodes) >= 0))
        known = known.subgraph(np.flatnonzero(np.diff(known.adjacency.indptr) > 0))
        split = NodeSplit(known, whole, np.flatnonzero(known.nodes.find(whole.nodes) < 0), {"until": 2014})
        present = set(whole.nodes)
        return split, {x: c for x, c in nf.datasets.classes("dblp_coauthor").items() if x in present}
    split, classes = split_of("sdne", graph, draw)
    return split, None if graph in WITHOUT_CLASSES else classes


def measured(model: str, graph: str, draw: int) -> dict[str, Any]:
    """The figures of every way, and of each mu."""
    split, classes = later_of(graph, draw)
    fitted = nf.MODELS[model](seed=draw, **MODELS[model]).fit(split.known, progress=False)
    of: dict[str, Any] = {"classes": classes, "days": 10, "every": 4, "seed": draw}
    whole = replay(fitted, split, mu=1.0, **of)
    figures = {"mu 1": whole.figures, **whole.baselines}
    for mu in MUS:
        if mu != 1:
            figures[f"mu {mu:g}"] = replay(fitted, split, mu=mu, baselines=False, **of).figures
    return {"came": len(split.new), "figures": figures}


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
            line = json.dumps(json.loads(json.dumps(row), parse_float=lambda x: round(float(x), 4)))
            with ROWS.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
            print(line, flush=True)


if __name__ == "__main__":
    main()
