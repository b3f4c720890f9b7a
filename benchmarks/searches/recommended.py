"""What `nf.choose` recommends for new nodes, and where no task is said: which model, on many graphs.

    NETFOLD_DATA=../shared/data PYTHONPATH=src python benchmarks/searches/recommended.py [--data jazz] [--task near]
    python benchmarks/searches/recommended.py --table

One JSON line a graph, task and model in recommended.jsonl; what is there is not run again. Graphs of more than 8,000
nodes are cut to a neighborhood of so many. Splits (seed 50) are others than those of benchmarks/auto.py.

* new-nodes: a tenth of the nodes come later. AUC of half of their links, micro-F1 of their classes where there are any.
* near: MAP of the neighbors of up to 1,000 nodes by the cosine; micro-F1 by half of the classes; AUC by the cosine of a
  tenth of the links, after a fit without them: vectors for nobody knows what should be good at all three.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf
from netfold.evaluate.class_tasks import class_figures, linear_scorer
from netfold.evaluate.classes import classes_of_nodes
from netfold.studies.choose import neighborhood

PATH = Path(__file__).with_suffix(".jsonl")
DATA = (
    "jazz", "cora", "ca_grqc", "usa_airports", "facebook_ego", "made_blocks", "made_plane", "blogcatalog",
    "dblp_coauthor",
)  # fmt: skip
MOST, SEED = 8000, 50
FORMS: dict[str, Callable[[], nf.Embedder]] = {
    "Spectral": nf.Spectral,
    "Spectral normalized": lambda: nf.Spectral(matrix="normalized"),
    "Spectral prone": lambda: nf.Spectral(matrix="prone"),
    "Spectral propagation": lambda: nf.Spectral(matrix="propagation"),
}
Fit = Callable[[Any], Any]


def methods(task: str) -> Iterator[tuple[str, Fit]]:
    """Name, and what fits it to a graph."""
    for name, form in FORMS.items():
        yield name, lambda graph, form=form: form().fit(graph, progress=False)
    for name in ("dvne", "sdne") if task == "new-nodes" else ("node2vec", "sdne"):
        yield nf.MODELS[name].__name__, lambda graph, name=name: nf.MODELS[name]().fit(graph, progress=False)
    for base in ("spectral", "node2vec") if task == "new-nodes" else ():
        yield f"DepthLGP over {nf.MODELS[base].__name__}", lambda graph, base=base: extended(graph, base)


def extended(graph: Any, base: str) -> Any:
    """DepthLGP over the vectors of another."""
    return nf.DepthLGP().fit(graph, nf.MODELS[base]().fit(graph, progress=False).embedding_, progress=False)


def cut(data: str) -> tuple[Any, dict[Any, Any] | None]:
    """A graph, and its classes where there are any."""
    sys.path.append(str(Path(__file__).parents[1]))
    from auto import loaded

    graph, classes = loaded(data, SEED)
    try:
        known = classes()
    except nf.InputError:
        known = None
    part = neighborhood(graph, MOST, SEED) if graph.n_nodes > MOST else graph
    if known is not None and part is not graph:
        known = {node: known[node] for node in part.nodes if node in known}
    return part, known


def of_new_nodes(graph: Any, classes: Any, fit: Fit) -> dict[str, float]:
    """Figures of nodes that come later."""
    split = nf.evaluate.split_nodes(graph, 0.1, seed=SEED)
    start = time.process_time()
    model = fit(split.known)
    seconds = time.process_time() - start
    figures = nf.evaluate.out_of_sample(model, split, classes=classes, seed=SEED, baselines=False).figures
    return {"cpu": seconds} | {name: figures[name] for name in ("AUC", "micro-F1") if name in figures}


def of_nearness(graph: Any, classes: Any, fit: Fit) -> dict[str, float]:
    """Figures of vectors for nobody knows what."""
    start = time.process_time()
    model = fit(graph)
    seconds, rows = time.process_time() - start, min(1000, graph.n_nodes)
    how: dict[str, Any] = {"score": "cosine", "baselines": False}
    found = {"MAP": nf.evaluate.reconstruction(model, graph, nodes=rows, k=(1,), **how).figures["MAP"]}
    if classes:
        known = classes_of_nodes(classes, graph.nodes)
        order = np.random.default_rng(SEED).permutation(len(known.nodes))
        scorer = linear_scorer(model.embedding_[known.nodes].astype(np.float64), "logistic", "centred", 3.0)
        half = (order[: len(order) // 2], order[len(order) // 2 :])
        found["micro-F1"] = class_figures(scorer, known, half, "top-k")["micro-F1"]
    split = nf.evaluate.split_edges(graph, 0.1, seed=SEED)
    found["AUC"] = nf.evaluate.link_prediction(fit(split.train), split, nodes=1, **how).figures["AUC"]
    return {"cpu": seconds} | found


TASKS = {"new-nodes": of_new_nodes, "near": of_nearness}


def table(lines: list[dict[str, Any]]) -> str:
    """Markdown: a table for each task, a line for each model."""
    parts = []
    for task in TASKS:
        some = [x for x in lines if x["task"] == task]
        data = [x for x in DATA if any(y["data"] == x for y in some)]
        rows = [[task, *data, "CPU-s of all"], ["---"] * (len(data) + 2)]
        for name in dict.fromkeys(x["method"] for x in some):
            own = {x["data"]: x["figures"] for x in some if x["method"] == name}
            cells = [" / ".join(f"{own[d][k]:.3f}" for k in own[d] if k != "cpu") if d in own else "" for d in data]
            rows.append(
                [name, *(cell.replace("0.", ".") for cell in cells), f"{sum(x['cpu'] for x in own.values()):.1f}"]
            )
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(parts)


def main() -> None:
    """What is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--task", nargs="*", default=list(TASKS))
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    lines = [json.loads(x) for x in PATH.read_text().splitlines()] if PATH.exists() else []
    if args.table:
        print(table(lines))
        return
    done = {(x["data"], x["task"], x["method"]) for x in lines}
    warnings.simplefilter("ignore")
    for data in args.data:
        graph, classes = cut(data)
        for task in args.task:
            for name, fit in methods(task):
                if (data, task, name) in done:
                    continue
                line = {"data": data, "task": task, "method": name, "figures": TASKS[task](graph, classes, fit)}
                with PATH.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(line, flush=True)


if __name__ == "__main__":
    main()
