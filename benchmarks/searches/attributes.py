"""How SDNE's settings for graphs with attributes were chosen: classes, links and cold nodes of some graphs.

    NETFOLD_DATA=../shared/data python benchmarks/searches/attributes.py [--graphs cora films] [--share 0/4]
                      [--seeds 100] [--tasks classes links cold inner] [--device D] [--only REGEX] >> attributes.jsonl
    python benchmarks/searches/attributes.py --read attributes.jsonl

Cora's classes have no vote: its tables report them, and the choice is made by the other graphs and by inner parts
of Cora's links (20% of the edges that the table's split 0 leaves for training; its other splits' test edges are among
those). The others:

    films       MovieLens: a film and the 5 with the most like users; its tags are attributes, its genres classes
    newsgroups  a post and the 5 nearest by one half of the vocabulary; the other half are attributes; 3 classes
    strong      a planted graph of 8 blocks whose words say more than its links
    weak        the same whose words say less than its links
    numbers     the same links as `strong`, with 16 numbers a node in place of words
    shuffled    the posts again, each with the words of another: attributes that say nothing
    airports    of the USA, with 8 random numbers each: the same for roles (DRNE)

`--tasks inner` is for a choice on the edges of one graph: 20% of those that split `seed` leaves for training are held
out once more, and asked about by every score that the model has. `--tasks table` asks the table's own question, the
test edges of that split: for a setting that was chosen.

What was concluded is in docs/decisions/0018-attributes.md.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import re
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import netfold as nf
from netfold.evaluate.scores import available_scores
from netfold.studies.datasets.catalogue import located

GRAPHS = ("cora", "films", "newsgroups", "strong", "weak", "numbers", "shuffled")
MODELS = {"sdne": nf.SDNE, "dvne": nf.DVNE, "spectral": nf.Spectral, "drne": nf.DRNE}
TASKS = ("classes", "links", "cold", "inner", "table")
SETTINGS: list[dict[str, Any]] = [{}, {"attribute_weight": 0.0}] + [
    {"attribute_weight": w, "alpha": a, "dropout": d, "row_damping": p, "column_damping": p, "attribute_beta": b}
    for w, a, d, p, b in itertools.product((1.0, 2.0), (1.0, 10.0, 30.0), (0.0, 0.3), (0.0, 0.5), (1.0, 3.0))
]


@functools.cache
def graph_of(name: str) -> tuple[nf.Graph, dict[Any, Any]]:
    """One of the graphs, with its attributes, and the classes of its nodes."""
    if name == "cora":
        return nf.datasets.load("cora", directed=False, attributes=True), nf.datasets.classes("cora")
    if name == "films":
        return _films()
    if name in ("newsgroups", "shuffled"):
        graph, classes = _newsgroups()
        order = np.random.default_rng(1).permutation(graph.n_nodes)
        known = graph.attributes if name == "newsgroups" else graph.attributes.rows(order)
        return graph.with_attributes(known), classes
    if name == "airports":
        return nf.datasets.load("usa_airports", noise=8), nf.datasets.classes("usa_airports")
    return _planted(name)


def _folder(name: str) -> Path:
    folder = located(nf.datasets.describe(name))
    assert folder is not None, f"{name} is not in $NETFOLD_DATA"
    return folder


def _films() -> tuple[nf.Graph, dict[Any, Any]]:
    """Films by their users, with their tags; those that three users tagged at least."""
    rows = np.loadtxt(
        _folder("dhne_movielens") / "hyperedges.csv.gz", int, delimiter=",", skiprows=1, usecols=(0, 1, 2)
    )
    users = sparse.csr_array((np.ones(len(rows)), (rows[:, 1], rows[:, 0])))
    tags = sparse.csr_array((np.ones(len(rows)), (rows[:, 1], rows[:, 2])))
    some = np.flatnonzero(np.diff(sparse.csr_array(users > 0).indptr) >= 3)
    genres = {film: own for (_, film), own in nf.datasets.classes("dhne_movielens").items()}
    return _nearest_graph(users[some] > 0, tags[some], some, genres)


def _newsgroups() -> tuple[nf.Graph, dict[Any, Any]]:
    """Posts by one half of their words, with the other half."""
    folder = _folder("newsgroups3")
    rows = np.loadtxt(folder / "doc_terms.csv.gz", int, delimiter=",", skiprows=1)
    counts = sparse.csr_array((rows[:, 2].astype(float), (rows[:, 0], rows[:, 1])))
    half = np.random.default_rng(0).random(counts.shape[1]) < 0.5
    labels = np.loadtxt(folder / "labels.csv.gz", str, delimiter=",", skiprows=1)
    return _nearest_graph(
        counts[:, half] > 0, counts[:, ~half], np.arange(counts.shape[0]), {int(a): b for a, b in labels}
    )


def _nearest_graph(
    by: Any, known: sparse.csr_array, nodes: Any, classes: dict[Any, Any], k: int = 5
) -> tuple[nf.Graph, dict[Any, Any]]:
    """Each row linked to the k of the greatest cosine of idf-weighed rows; `known` are the words of the nodes."""
    by = sparse.csr_array(by, dtype=float)
    by = by @ sparse.diags_array(np.log(by.shape[0] / np.maximum(1, by.sum(axis=0))))
    by = sparse.csr_array(sparse.diags_array(1 / np.maximum(1e-9, np.sqrt((by**2).sum(axis=1)))) @ by)
    like = (by @ by.T).toarray()
    np.fill_diagonal(like, 0)
    near = np.argsort(-like, axis=1, kind="stable")[:, :k]
    pairs = {(min(i, j), max(i, j)) for i in range(len(near)) for j in near[i].tolist() if like[i, j] > 0}
    edges = [(int(nodes[i]), int(nodes[j])) for i, j in sorted(pairs)]
    graph = nf.Graph.from_edges(edges, nodes=[int(x) for x in nodes])
    return graph.with_attributes(sparse.csr_array(known)), {int(x): classes[int(x)] for x in nodes if int(x) in classes}


def _planted(name: str) -> tuple[nf.Graph, dict[Any, Any]]:
    """1,600 nodes in 8 blocks, 5 links a node; 400 words of which 20 belong to each block, or 16 numbers."""
    rng = np.random.default_rng(7)
    n, blocks, words = 1600, 8, 400
    block = rng.integers(blocks, size=n)
    inside = {"strong": 0.55, "weak": 0.8, "numbers": 0.55}[name]
    ends = []
    for i in range(n):
        for _ in range(rng.poisson(2.5)):
            same = np.flatnonzero(block == block[i]) if rng.random() < inside else np.arange(n)
            j = int(rng.choice(same))
            if j != i:
                ends.append((min(i, j), max(i, j)))
    classes = {i: int(block[i]) for i in range(n)}
    graph = nf.Graph.from_edges(sorted(set(ends)), nodes=range(n))
    if name == "numbers":
        centres = rng.normal(size=(blocks, 16))
        return graph.with_attributes((centres[block] + 1.5 * rng.normal(size=(n, 16))).astype(np.float32)), classes
    topical = {"strong": 0.35, "weak": 0.12}[name]
    rows, columns = [], []
    for i in range(n):
        for _ in range(1 + rng.poisson(14)):
            own = rng.random() < topical
            columns.append(int(block[i] * 20 + rng.integers(20)) if own else int(words * rng.random() ** 2))
            rows.append(i)
    x = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, words))
    return graph.with_attributes(x), classes


def measured(
    name: str, task: str, settings: dict[str, Any], seed: int, device: str, model: str = "sdne"
) -> dict[str, float]:
    """The figures of one model on one part of one graph."""
    graph, classes = graph_of(name)
    where = {} if model == "spectral" else {"device": device}

    def make() -> Any:
        return MODELS[model](**settings, seed=seed, **where)

    ev = nf.evaluate
    if task == "classes":
        return dict(
            ev.classification(
                make().fit(graph, progress=False), classes, train=[0.1, 0.5], repeats=2, seed=seed, baselines=False
            ).figures
        )
    if task == "links":
        whole = ev.split_edges(graph, 0.2, seed=0).train if name == "cora" else graph
        split = ev.split_edges(whole, 0.2, seed=seed)
        return dict(
            ev.link_prediction(
                make().fit(split.train, progress=False), split, nodes=30, baselines=False, seed=seed
            ).figures
        )
    if task in ("inner", "table"):
        split = ev.split_edges(graph, 0.2, seed=seed)
        split = ev.split_edges(split.train, 0.2, seed=100 + seed) if task == "inner" else split
        return _by_score(make().fit(split.train, progress=False), split, seed)
    split = ev.split_nodes(graph, 0.1, seed=seed)
    votes = None if name == "cora" else classes
    return dict(
        ev.cold_start(make().fit(split.known, progress=False), split, classes=votes, seed=seed, baselines=False).figures
    )


def _by_score(model: Any, split: Any, seed: int) -> dict[str, float]:
    """The AUC of held-out links, with the task's own score and with each that the model has."""
    figures, ev = {}, nf.evaluate
    for score in (None, *available_scores(model)):
        own = ev.link_prediction(model, split, score=score, nodes=1, baselines=False, seed=seed).figures
        figures |= {"AUC" if score is None else f"AUC, {score}": own["AUC"]}
    return figures


HEADLINES = {
    "classes": ("micro-F1@10%", "micro-F1@50%"),
    "links": ("AUC",),
    "cold": ("micro-F1", "AUC"),
    "inner": ("AUC",),
}


BASE = 'sdne {"attribute_beta": 1.0}'
"""What the others are compared with; settings name what is not a default of the options beside `attribute_beta`."""


def read(path: Path) -> None:
    """Each setting by what it gains over `BASE` in the mean over graphs and figures that both have, and its means."""
    cells: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row["task"] == "table" or (row["graph"] == "cora" and row["task"] == "classes"):
            continue
        for figure in (x for x in HEADLINES[row["task"]] if x in row["figures"]):
            own = cells[f"{row['model']} {json.dumps(row['settings'])}"]
            own[f"{row['task']} {row['graph']} {figure}"].append(row["figures"][figure])
    columns = sorted({c for x in cells.values() for c in x})
    base = {c: float(np.mean(x)) for c, x in cells[BASE].items()}
    table = []
    for settings, x in cells.items():
        gains = [float(np.mean(x[c])) - base[c] for c in columns if c in x and c in base]
        if gains:
            table.append((np.mean(gains), np.min(gains), len(gains), settings, x))
    print("gain over the first defaults (mean, least), cells, settings; then", ", ".join(columns))
    for mean, least, count, settings, x in sorted(table, key=lambda row: -row[0]):
        means = " ".join(f"{np.mean(x[c]):.3f}" if c in x else "-" for c in columns)
        print(f"{mean:+.4f} {least:+.4f} {count:3d} {settings} {means}")
    inner = {k: x["inner cora AUC"] for k, x in cells.items() if "inner cora AUC" in x}
    for settings, x in sorted(inner.items(), key=lambda row: -np.mean(row[1])):
        print(f"inner links of cora: {np.mean(x):.4f} ({len(x)} splits) {settings}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=GRAPHS, choices=(*GRAPHS, "airports"))
    parser.add_argument("--tasks", nargs="+", default=("classes", "links"), choices=TASKS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[100])
    parser.add_argument("--share", default="0/1", help="i/k: the i-th of k parts of the settings")
    parser.add_argument("--settings", default="", help="json lines of settings in place of the whole list")
    parser.add_argument("--model", default="sdne", choices=tuple(MODELS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="", help="a regular expression on the settings")
    parser.add_argument("--read", type=Path)
    args = parser.parse_args()
    if args.read:
        return read(args.read)
    warnings.simplefilter("ignore")
    settings = [json.loads(x) for x in args.settings.split(";")] if args.settings else SETTINGS
    order = settings[:1] + [settings[i + 1] for i in np.random.default_rng(0).permutation(len(settings) - 1)]
    i, k = map(int, args.share.split("/"))
    for own in order[i::k]:
        if not re.search(args.only, json.dumps(own)):
            continue
        for seed, name, task in itertools.product(args.seeds, args.graphs, args.tasks):
            if own.get("attribute_weight") == 0 and task == "cold":
                continue
            start = time.perf_counter()
            figures = measured(name, task, own, seed, args.device, args.model)
            row = {"graph": name, "task": task, "seed": seed, "model": args.model, "settings": own}
            row |= {
                "figures": {x: round(y, 5) for x, y in figures.items()},
                "seconds": round(time.perf_counter() - start, 1),
            }
            print(json.dumps(row), flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
