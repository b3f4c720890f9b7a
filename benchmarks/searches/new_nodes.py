"""Which way places new nodes best, by their classes: a tenth of the nodes held back, a classifier of known vectors.

    NETFOLD_DATA=../shared/data python benchmarks/searches/new_nodes.py MODEL GRAPH --draws 0,1,2,3,4 [--epochs N]

MODEL is sdne, sdne_classes (the settings that `netfold choose` recommends for classes), dvne, drne or depthlgp (over
node2vec's vectors). A line of json a draw is appended to new_nodes.jsonl: micro-F1 of every way, of LabelProp, of the
majority of a new node's neighbors' classes, and what the model chose. Draws 100 and up developed the rule (slack, share
of links held back, grid of weights); draws 0 to 4 chose nothing. DBLP is a part of 8,000 authors, grown breadth first
from a random one: five fits of all 64,221 take hours on one thread.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf
from netfold.evaluate import split_nodes
from netfold.evaluate.class_tasks import class_figures, linear_scorer
from netfold.evaluate.classes import classes_of_nodes
from netfold.evaluate.new_node_tasks import cheap_methods, extending

ROWS = Path(__file__).with_suffix(".jsonl")
CLASSES: dict[str, Any] = {
    "hidden": (),
    "alpha": 2.0,
    "beta": 3.0,
    "nu": 100.0,
    "row_damping": 0.4,
    "column_damping": 0.4,
}
CLASSES |= {"dropout": 0.2, "epochs": 400}


def part_of(graph: Any, size: int) -> Any:
    """So many nodes, breadth first from a random one."""
    start = int(np.random.default_rng(0).integers(graph.n_nodes))
    a, seen, queue = graph.adjacency, {start}, [start]
    for u in queue:
        for v in a.indices[a.indptr[u] : a.indptr[u + 1]].tolist():
            if v not in seen and len(seen) < size:
                seen.add(v)
                queue.append(v)
    return graph.subgraph(np.sort(list(seen)))


def data(name: str) -> tuple[Any, dict[Any, Any]]:
    """A graph, undirected, and its classes."""
    if name == "dblp":
        graph = part_of(nf.datasets.load("dblp_coauthor"), 8_000)
        known = set(graph.nodes)
        return graph, {x: c for x, c in nf.datasets.classes("dblp_coauthor").items() if x in known}
    options = {"directed": False} if name == "cora" else {}
    return nf.datasets.load(name, **options), dict(nf.datasets.classes(name))


def majority(split: Any, classes: Any) -> float:
    """micro-F1 of giving a new node the k commonest classes of its known neighbors, k being how many it has."""
    whole = split.whole
    own = classes_of_nodes(classes, whole.nodes)
    indicator = np.zeros((whole.n_nodes, own.indicator.shape[1]))
    indicator[whole.positions(own.nodes)] = own.indicator
    seen = indicator.copy()
    seen[split.new] = 0
    votes = (whole.adjacency @ seen)[split.new] + 1e-6 * seen.mean(axis=0)
    truth = indicator[split.new]
    place = np.argsort(np.argsort(-votes, axis=1), axis=1)
    predicted = place < truth.sum(axis=1)[:, None]
    return float((truth * predicted).sum() * 2 / (truth.sum() + predicted.sum()))


def measured(model_name: str, graph_name: str, draw: int, options: dict[str, Any]) -> dict[str, Any]:
    """One draw: every way's micro-F1."""
    graph, classes = data(graph_name)
    split = split_nodes(graph, 0.1, seed=draw)
    begun = time.process_time()
    if model_name == "depthlgp":
        base = nf.Node2Vec(dim=64, epochs=3, seed=draw).fit(split.known, progress=False)
        begun = time.process_time()
        model: Any = nf.DepthLGP(seed=draw, **options).fit(split.known, base.embedding_, progress=False)
        ways = {"default": None, "mean": "mean"}
    else:
        options = CLASSES | options if model_name == "sdne_classes" else options
        model = nf.MODELS[model_name.partition("_")[0]](seed=draw, **options).fit(split.known, progress=False)
        ways = {"default": None} | {how: how for how in model._ways()}
    row: dict[str, Any] = {"model": model_name, "graph": graph_name, "draw": draw, "options": options}
    row |= {"fit": round(time.process_time() - begun, 1), "chosen": model.placing_.how, "weight": model.placing_.weight}
    own = classes_of_nodes(classes, split.whole.nodes)
    is_new = np.isin(split.whole.positions(own.nodes), split.new)
    rows = np.flatnonzero(~is_new), np.flatnonzero(is_new)
    known = model.embedding_

    def by(how: str | None) -> Any:
        return extending(
            lambda s: model.transform(s.whole, how=how), known, model.reaches if how is None else "neighbor"
        )

    methods = {name: by(how) for name, how in ways.items()}
    methods["LabelProp"] = cheap_methods(known)["LabelProp"]
    for name, method in methods.items():
        vectors = method(split)[own.nodes].astype(np.float64)
        row[name] = class_figures(linear_scorer(vectors, "logistic", "centred", 3.0), own, rows, "top-k")["micro-F1"]
    return row | {"majority": majority(split, classes)}


def main() -> None:
    """Measure, print and append."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("graph")
    parser.add_argument("--draws", default="0,1,2,3,4")
    parser.add_argument("--epochs", type=int)
    asked = parser.parse_args()
    options = {} if asked.epochs is None else {"epochs": asked.epochs}
    for draw in map(int, asked.draws.split(",")):
        row = measured(asked.model, asked.graph, draw, options)
        row |= {x: round(y, 4) for x, y in row.items() if isinstance(y, float)}
        with ROWS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
