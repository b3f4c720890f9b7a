"""Which DVNE serves which table: configurations tried, measured on edges held out from the training part.

    NETFOLD_DATA=../shared/data python benchmarks/searches/dvne.py CONFIGS [--workers N] [--json FILE]

CONFIGS has a JSON object a line: the options of DVNE and `graph` (cora, facebook_ego, blogcatalog), `want` and `keep`.

- want = "links" (the default): 20% of the edges are held out (seed 100), and 20% of the others (seed 101); what is
  left then is fitted and the latter asked about. The splits of the tables have other seeds, and `keep` is theirs.
- want = "reconstruction": the whole graph is fitted, and its edges asked about.
- want = "classes": the whole graph is fitted, and classes are learned from the means by a linear SVM on random parts.

AUCs are against as many uniform pairs that are not linked in the whole graph. `rho` is the rank correlation of the mean
of a node's ten largest variances with its degree, over nodes with an edge. How they were used: docs/decisions/0012.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import netfold as nf
from netfold import evaluate
from netfold.data.graph import Graph

TRAIN = {"cora": (0.01, 0.1), "blogcatalog": (0.1, 0.9)}
"""The shares of nodes that are learned from."""


def loaded(name: str) -> Graph:
    return nf.datasets.load(name, **({"directed": False} if name == "cora" else {}))


def figures(model: nf.DVNE, want: str, name: str, whole: Graph, asked: Any) -> dict[str, float]:
    if want == "links":
        found = evaluate.link_prediction(model, asked, score="w2", baselines=False).figures
    elif want == "reconstruction":
        found = evaluate.reconstruction(model, whole, score="w2", per_positive=1, baselines=False).figures
    else:
        classes = nf.datasets.classes(name)
        found = evaluate.classification(
            model, classes, train=TRAIN[name], repeats=10, seed=77, classifier="svm", baselines=False
        ).figures
    return {k: round(float(v), 4) for k, v in found.items() if k.startswith(("AUC", "micro", "macro"))}


def falls(model: nf.DVNE, fitted: Graph) -> float:
    """How the variance goes with the degree: a rank correlation."""
    std = model.embedding_.std
    assert std is not None
    largest = -np.sort(-np.square(std), axis=1)[:, :10]
    degrees = np.diff(fitted.adjacency.indptr)
    return round(float(spearmanr(largest.mean(axis=1)[degrees > 0], degrees[degrees > 0])[0]), 3)


def tried(given: dict[str, Any]) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    options, start = dict(given), time.perf_counter()
    name, want, keep = options.pop("graph"), options.pop("want", "links"), options.pop("keep", "none")
    whole = fitted = loaded(name)
    asked = None
    if want == "links":
        outer = evaluate.split_edges(whole, 0.2, keep=keep, seed=100).train
        asked = evaluate.split_edges(outer, 0.2, keep=keep, seed=101)
        fitted = asked.train
    model = nf.DVNE(**options).fit(fitted, progress=False)
    made = {"given": given, "figures": figures(model, want, name, whole, asked), "rho": falls(model, fitted)}
    return made | {"seconds": round(time.perf_counter() - start, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    given = [json.loads(line) for line in args.configs.read_text().splitlines() if line.strip()]
    with multiprocessing.get_context("spawn").Pool(args.workers) as pool:
        for made in pool.imap_unordered(tried, given):
            line = json.dumps(made)
            print(line, flush=True)
            if args.json:
                with args.json.open("a") as file:
                    file.write(line + "\n")


if __name__ == "__main__":
    main()
