"""What the defaults of Spectral, DegreeFeatures and GraphWave were chosen by: inner splits alone.

    NETFOLD_DATA=/path/to/data python benchmarks/searches/spectral.py          # all; resumes: a line a cell
    python benchmarks/searches/spectral.py --only 'cora' --table               # what was recorded, as Markdown

Classes and roles: half of the nodes that have classes were drawn once (`inner`), and classifiers learn and are judged
on splits of that half; the other half is never looked at. Links: a fifth of the edges is put away, a fifth of the rest
is held out, and AUC is that of the second fifth (product and cosine; isolated nodes have their mean place).

`any classes` asks which form is a safe choice where nobody knows whether nodes link to their own class: five splits
of the half of the nodes that other benchmarks do not test on (two of BlogCatalog and DBLP), of which a fifth is
learned from and the rest asked (`low`), or the other way round (`high`); micro-F1, a list over the splits. Planted
graphs of 400 nodes are beside the shared ones: four blocks that link to their own, to all others, each to the next
(directed), and as core and rim. Vectors are brought to length 1 around their mean and, `columns`, each column to
deviation 1. `--table` shows how far each is from `Spectral()`.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf
from netfold.evaluate.class_tasks import class_figures, linear_scorer
from netfold.evaluate.classes import classes_of_nodes
from netfold.evaluate.splits import split_edges

RECORDS = Path(__file__).with_suffix(".jsonl")
FORMS = ("adjacency", "log", "ppmi", "normalized", "laplacian", "propagation", "prone")
CLASSES = ("cora", "blogcatalog", "dblp_coauthor")
LINKS = ("cora", "ca_grqc", "facebook_ego", "blogcatalog")
ROLES = ("europe_airports", "usa_airports")
SCORES = ("dot", "cosine")
MADE = ("own", "others", "next", "core")
WIDE = ("blogcatalog", "dblp_coauthor")
NODES = 4000
"""With classes, at most, so that classifiers do not cost more than the vectors."""


def models(kind: str) -> Iterator[nf.Embedder]:
    """The settings that are compared."""
    if kind == "any classes":
        smooth, both = nf.Spectral(), nf.Spectral(matrix="normalized")
        yield from (smooth, both, nf.Spectral(matrix="adjacency"), nf.DegreeFeatures(), nf.Joined([smooth, both]))
        yield from (nf.Spectral(dim=32, matrix=form) for form in ("laplacian", "normalized"))
        for first, second in ((64, 64), (96, 32), (128, 32)):
            yield nf.Joined([nf.Spectral(dim=first), nf.Spectral(dim=second, matrix="normalized")])
        yield nf.Joined([smooth, nf.DegreeFeatures()])
        return
    if kind == "roles":
        yield from (nf.DegreeFeatures(dim=dim) for dim in (5, 9, 16, 32, 64))
        yield from (nf.GraphWave(dim=dim, scale=scale) for dim in (32, 64, 128) for scale in (0.5, 1.0, 2.0, 5.0))
        return
    yield from (nf.Spectral(matrix=form, power=1.0) for form in FORMS)
    for form in ("normalized", "laplacian"):
        yield from (nf.Spectral(matrix=form, power=1.0, regularization=share) for share in (0.0, 1.0))
        yield from (nf.Spectral(matrix=form, power=power) for power in (0.0, 0.5, 2.0))
    yield from (nf.Spectral(matrix="propagation", power=1.0, steps=steps) for steps in (4, 8, 32))
    yield from (nf.Spectral(matrix="propagation", power=1.0, regularization=share) for share in (0.0, 0.5))
    yield from (nf.Spectral(power=1.0, tolerance=tolerance) for tolerance in (0.1, 0.001))


def in_words(model: nf.Embedder) -> str:
    """A model with all that is varied here, whatever the defaults are."""
    if isinstance(model, nf.Joined):
        return f"Joined of={model.of}"
    varied = ("matrix", "power", "regularization", "steps", "tolerance", "dim", "scale")
    values = {name: value for name, value in model.get_params().items() if name in varied}
    return f"{type(model).__name__} " + " ".join(f"{name}={value}" for name, value in values.items())


def inner(name: str, most: int = NODES) -> dict[Any, Any]:
    """Half of the nodes with classes, or fewer: drawn once."""
    classes = nf.datasets.classes(name)
    nodes = list(classes)
    rows = np.random.default_rng(7).permutation(len(nodes))[: min(most, len(nodes) // 2)]
    return {nodes[i]: classes[nodes[i]] for i in rows}


def planted(kind: str, seed: int) -> tuple[nf.Graph, dict[Any, str]]:
    """A graph of four blocks, and the block of each node."""
    rng, blocks, k = np.random.default_rng(seed), np.repeat(np.arange(4), 100), 4
    shares = {
        "own": 0.04 + 0.12 * np.eye(k),
        "others": 0.12 - 0.11 * np.eye(k),
        "next": 0.02 + 0.13 * np.roll(np.eye(k), 1, axis=1),
        "core": np.outer([0.5, 0.3, 0.2, 0.1], [0.5, 0.3, 0.2, 0.1]),
    }[kind]
    linked = rng.random((400, 400)) < shares[blocks][:, blocks]
    np.fill_diagonal(linked, val=False)
    linked = linked if kind == "next" else np.triu(linked)
    graph = nf.Graph.from_edges(np.argwhere(linked), directed=kind == "next")
    return graph, {node: str(blocks[node]) for node in graph.nodes}


def by_splits(name: str, model: nf.Embedder) -> dict[str, Any]:
    """Micro-F1 of classes on each split, with a fifth and with four fifths to learn from; and the CPU of the fits."""
    figures: dict[str, Any] = {"low": [], "high": [], "low, columns": [], "high, columns": []}
    spent = 0.0
    for split in range(2 if name in WIDE else 5):
        graph, classes = planted(name, split) if name in MADE else (nf.datasets.load(name), nf.datasets.classes(name))
        known = classes_of_nodes(classes, nf.Graph.of(graph).nodes)
        rest = np.random.default_rng(1000).permutation(len(known.nodes))[: len(known.nodes) // 2]
        order = np.random.default_rng(split).permutation(rest)
        start = time.process_time()
        copy = type(model)(**model.get_params() | {"seed": split}).fit(graph, progress=False)
        spent += time.process_time() - start
        vectors = copy.embedding_[known.nodes].astype(np.float64)
        fifth, others = order[: len(order) // 5], order[len(order) // 5 :]
        for how, name_of in (("centred", ""), ("columns", ", columns")):
            scorer = linear_scorer(vectors, "logistic", how, 3.0)
            for share, halves in (("low", (fifth, others)), ("high", (others, fifth))):
                figures[share + name_of].append(class_figures(scorer, known, halves, "top-k")["micro-F1"])
    return figures | {"CPU s": spent / len(figures["low"])}


def measured(kind: str, name: str, model: nf.Embedder) -> dict[str, Any]:
    """The figures of one setting on one data set, and the CPU seconds of its fit."""
    if kind == "any classes":
        return by_splits(name, model)
    graph = nf.Graph.of(nf.datasets.load(name, **({"directed": False} if name == "cora" else {})))
    if kind == "links":
        outer = split_edges(graph, 0.2, seed=11)
        split = split_edges(outer.train, 0.2, seed=12)
        cost = fitted(model, split.train)
        by = {x: nf.evaluate.link_prediction(model, split, score=x, nodes=50, baselines=False) for x in SCORES}
        return {f"AUC {x}": result.figures["AUC"] for x, result in by.items()} | cost
    cost, classes = fitted(model, graph), inner(name)
    if kind == "roles":
        result = nf.evaluate.roles(model, classes, train=(0.5,), repeats=20, baselines=False)
    else:
        result = nf.evaluate.classification(model, classes, train=(0.1, 0.5), repeats=3, baselines=False)
    return dict(result.figures) | cost


def fitted(model: nf.Embedder, graph: nf.Graph) -> dict[str, float]:
    """Fit, and say what it cost."""
    start = time.process_time()
    model.fit(graph, progress=False)
    return {"CPU s": time.process_time() - start, "rounds": float(len(model.history_))}


def cells() -> Iterator[tuple[str, str, nf.Embedder]]:
    """All that is measured, the cheap data sets first."""
    anyhow = (*MADE, *ROLES, *CLASSES)
    for kind, names in (("roles", ROLES), ("any classes", anyhow), ("classes", CLASSES), ("links", LINKS)):
        for name in names:
            yield from ((kind, name, model) for model in models(kind))


def recorded() -> list[dict[str, Any]]:
    """What there is already."""
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5)


def main() -> None:
    """Measure what is not recorded yet, or show what is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a pattern of KIND DATA MODEL")
    parser.add_argument("--table", action="store_true", help="print what is recorded")
    args = parser.parse_args()
    rows = [x for x in recorded() if re.search(args.only, f"{x['kind']} {x['data']} {x['model']}")]
    if args.table:
        base = in_words(nf.Spectral())
        first = {x["data"]: x["figures"] for x in recorded() if x["kind"] == "any classes" and x["model"] == base}
        for x in rows:
            if x["kind"] == "any classes":
                words = []
                for k, own in x["figures"].items():
                    if k != "CPU s":
                        gap = np.subtract(own, first[x["data"]][k.removesuffix(", columns")])
                        words.append(f"{k} {np.mean(own):.4f} ({gap.mean():+.4f} ± {_error(gap):.4f})")
                print(f"{x['data']:16}{x['model']:70}", *words)
                continue
            print(f"{x['kind']:8}{x['data']:16}{x['model']:60}", {k: round(v, 4) for k, v in x["figures"].items()})
        return
    done = {(x["kind"], x["data"], x["model"]) for x in recorded()}
    for kind, name, model in cells():
        key = (kind, name, in_words(model))
        if key in done or not re.search(args.only, " ".join(key)):
            continue
        done.add(key)
        line = {"kind": kind, "data": name, "model": key[2], "figures": measured(kind, name, model)}
        with RECORDS.open("a") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
