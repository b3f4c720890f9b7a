"""Is a fit at least as good as the start that it trained from? On inner splits, for SDNE, DVNE and Node2Vec.

    PYTHONPATH=src python benchmarks/searches/starts.py benchmarks/searches/starts.jsonl --splits 5
    PYTHONPATH=src python benchmarks/searches/starts.py benchmarks/searches/starts.jsonl --table

A fifth of the links (half of the classes) is set aside first and never looked at: it is what other benchmarks test on.
Of the rest, the inner splits hold out a tenth of the links (AUC by the better of the scores that a model can have, of
held-out links; non-links are drawn anew) or a fifth of the classes (micro-F1). Three ways of each model: `start`
(epochs=0; DVNE's is random, its encoder has no spectral start), `trained` (held_out=0: the default of SDNE and DVNE)
and `held_out` (held_out=0.1, which may keep the start: what Node2Vec does by default up to 100,000 nodes). One JSON
line a cell; cells that are there are not run again. Above, level, below: by two standard errors of the paired
difference over the splits.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf
from netfold.evaluate.class_tasks import class_figures, linear_scorer
from netfold.evaluate.classes import classes_of_nodes
from netfold.evaluate.scores import available_scores

DATA = ("europe_airports", "jazz", "usa_airports", "cora", "ca_grqc", "facebook_ego", "blogcatalog", "dblp_coauthor")
CLASSES = ("cora", "blogcatalog", "dblp_coauthor")
MODELS = {"node2vec": nf.Node2Vec, "sdne": nf.SDNE, "dvne": nf.DVNE}
WAYS: dict[str, dict[str, Any]] = {"start": {"epochs": 0}, "trained": {"held_out": 0.0}, "held_out": {"held_out": 0.1}}


def links_figure(data: str, split: int, model: Any) -> float:
    """AUC on an inner split of the links."""
    outer = nf.evaluate.split_edges(nf.datasets.load(data), 0.2, seed=1000)
    inner = nf.evaluate.split_edges(outer.train, 0.1, seed=split)
    model.fit(inner.train, progress=False)
    how: dict[str, Any] = {"nodes": 1, "baselines": False, "seed": split}
    scores = [x for x in available_scores(model) if x != "own"]
    return max(nf.evaluate.link_prediction(model, inner, score=x, **how).figures["AUC"] for x in scores)


def classes_figure(data: str, split: int, model: Any) -> float:
    """micro-F1 on an inner split of the classes that are not set aside."""
    graph = nf.datasets.load(data)
    known = classes_of_nodes(nf.datasets.classes(data), graph.nodes)
    rest = np.random.default_rng(1000).permutation(len(known.nodes))[: len(known.nodes) // 2]
    order = np.random.default_rng(split).permutation(rest)
    model.fit(graph, progress=False)
    vectors = model.embedding_[known.nodes].astype(np.float64)
    scorer = linear_scorer(vectors, "logistic", "centred", 3.0)
    halves = (order[len(order) // 5 :], order[: len(order) // 5])
    return class_figures(scorer, known, halves, "top-k")["micro-F1"]


FIGURES = {"links": links_figure, "classes": classes_figure}


def table(cells: list[dict[str, Any]]) -> str:
    """Markdown: a line for each data set, task and model."""
    by: dict[tuple[str, str, str], dict[str, dict[int, dict[str, Any]]]] = defaultdict(lambda: defaultdict(dict))
    for x in cells:
        by[x["data"], x["task"], x["model"]][x["way"]][x["split"]] = x
    lines = ["| data, task | model | splits | start | trained | held_out=0.1 | trained - start | held_out - start |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for (data, task, model), ways in by.items():
        gaps = [_verdict(_gaps(ways[x], ways["start"])) for x in ("trained", "held_out")]
        if not any(gaps):
            continue
        figures = [[cell["figure"] for cell in ways[x].values()] for x in ("start", "trained", "held_out")]
        means = [f"{np.mean(x):.4f}" if x else "" for x in figures]
        splits = " / ".join(str(len(x)) for x in figures)
        lines.append(f"| {data}, {task} | {model} | {splits} | {' | '.join([*means, *gaps])} |")
    return "\n".join(lines)


def _gaps(one: dict[int, dict[str, Any]], other: dict[int, dict[str, Any]]) -> Any:
    return np.array([one[i]["figure"] - other[i]["figure"] for i in sorted(set(one) & set(other))])


def _verdict(gaps: Any) -> str:
    if not len(gaps):
        return ""
    if len(gaps) < 2:
        return f"{gaps.mean():+.4f} (one split)"
    error = float(gaps.std(ddof=1) / math.sqrt(len(gaps)))
    word = "above" if gaps.mean() > 2 * error else "below" if gaps.mean() < -2 * error else "level"
    return f"{gaps.mean():+.4f} ± {error:.4f} {word}"


def main() -> None:
    """Run the cells that are not there yet, or print those that are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--tasks", nargs="*", default=list(FIGURES))
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    cells = [json.loads(x) for x in args.path.read_text().splitlines()] if args.path.exists() else []
    if args.table:
        print(table(cells))
        return
    done = {(x["data"], x["task"], x["model"], x["way"], x["split"]) for x in cells}
    for data in args.data:
        for split in range(args.splits):
            for task in ("links", "classes") if data in CLASSES else ("links",):
                for name in args.models:
                    for way, options in WAYS.items():
                        if (data, task, name, way, split) in done or way not in args.ways or task not in args.tasks:
                            continue
                        start = time.process_time()
                        model = MODELS[name](**options, seed=split)
                        cell = {"data": data, "task": task, "model": name, "way": way, "split": split}
                        cell |= {"figure": FIGURES[task](data, split, model), "cpu": time.process_time() - start}
                        cell["epochs"] = len(model.history_)
                        with args.path.open("a") as file:
                            file.write(json.dumps(cell) + "\n")
                        print(json.dumps(cell), flush=True)


if __name__ == "__main__":
    main()
