"""How pairs are best scored by spectral vectors, and where which form of them is: inner splits alone.

    PYTHONPATH=src NETFOLD_DATA=/path/to/data python benchmarks/searches/paths.py --splits 5    # resumes: a line a cell
    PYTHONPATH=src python benchmarks/searches/paths.py --table

A fifth of the links is set aside first and never looked at: it is what other benchmarks test on. Of the rest a share is
kept (all, a half, a quarter: the same graph with fewer links a node), and a tenth of what is kept is held out; AUC
against as many non-links, isolated nodes scored as an average pair. One JSON line a cell: the figure of each score;
`paths` is what netfold has, and `paths1` to `paths7` are the same of so many steps.
Above, level, below: by two standard errors of the paired difference over the splits.
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
from netfold.data.edges import edge_pairs, links, without_pairs
from netfold.data.graph import Graph
from netfold.evaluate.negatives import sample_negatives
from netfold.evaluate.pairs import VectorScores, finite, isolated_as_average, separation
from netfold.evaluate.scores import pair_scores
from netfold.evaluate.splits import EdgeSplit, split_edges

RECORDS = Path(__file__).with_suffix(".jsonl")
DATA = (
    "europe_airports", "jazz", "usa_airports", "cora", "ca_grqc", "facebook_ego", "blogcatalog", "dblp_coauthor",
)  # fmt: skip
KEPT = (1.0, 0.5, 0.25)
FORMS: dict[str, dict[str, Any]] = {
    "laplacian": {"matrix": "laplacian"},
    "normalized": {"matrix": "normalized"},
    "laplacian, regularization=1": {"matrix": "laplacian", "regularization": 1.0},
    "prone": {"matrix": "prone"},
    "propagation": {"matrix": "propagation"},
    "adjacency": {"matrix": "adjacency"},
}
BOTH = ("laplacian", "normalized")
"""What is asked of graphs with fewer links."""
PLAIN = ("dot", "cosine", "distance")
STEPS = (1, 3, 5, 7)
SCORES = (*PLAIN, "paths", *(f"paths{k}" for k in STEPS))


def split_of(data: str, kept: float, split: int) -> EdgeSplit:
    """An inner split of the links that are not set aside."""
    train = split_edges(nf.datasets.load(data), 0.2, seed=1000).train
    if kept < 1:
        pairs = edge_pairs(train)
        dropped = np.random.default_rng([1000, split]).permutation(len(pairs))[round(kept * len(pairs)) :]
        train = without_pairs(train, pairs[dropped])
    return split_edges(train, 0.1, seed=split)


def of_steps(vectors: Any, graph: Graph, steps: int) -> VectorScores:
    """`score="paths"` of a number of steps, in plain lines: Q (QᵀNQ)^steps Qᵀ."""
    a = links(graph, directed=False, weights=True, loops="drop")
    degrees = np.asarray(a.sum(axis=1)).ravel()
    roots = np.where(degrees > 0, 1 / np.sqrt(degrees + 0.1 * degrees.mean()), 0.0)
    left, sizes, _ = np.linalg.svd(np.asarray(vectors, np.float64) * (degrees > 0)[:, None], full_matrices=False)
    basis = left[:, sizes > 1e-6 * sizes[0]]
    small = basis.T @ (roots[:, None] * (a @ (roots[:, None] * basis)))
    return VectorScores(basis @ np.linalg.matrix_power((small + small.T) / 2, steps), basis)


def figures(model: nf.Embedder, split: EdgeSplit, seed: int) -> dict[str, float]:
    """The AUC of each score."""
    model.fit(split.train, progress=False)
    wrong = sample_negatives(split.whole, len(split.test), seed=seed).pairs
    vectors = model.embedding_[split.train.nodes]
    scores: dict[str, Any] = {name: pair_scores(model, split.train, name) for name in (*PLAIN, "paths")}
    scores |= {f"paths{k}": of_steps(vectors, split.train, k) for k in STEPS}
    out = {}
    for name, score in scores.items():
        placed = isolated_as_average(score, split.train)
        right, other = (finite(placed.at(*pairs.T.copy())) for pairs in (split.test, wrong))
        out[name] = separation(right, other)["AUC"]
    return out


def verdict(gaps: Any) -> str:
    """The mean of paired differences, its standard error, and a word."""
    gaps = np.asarray(gaps)
    if len(gaps) < 2:
        return f"{gaps.mean():+.4f} (one split)" if len(gaps) else ""
    error = float(gaps.std(ddof=1) / math.sqrt(len(gaps)))
    word = "above" if gaps.mean() > 2 * error else "below" if gaps.mean() < -2 * error else "level"
    return f"{gaps.mean():+.4f} ± {error:.4f} {word}"


def table(cells: list[dict[str, Any]]) -> str:
    """Markdown: each score; the best of scores, with paths and without; and the two forms beside each other."""
    by: dict[tuple[str, float, str], dict[int, dict[str, Any]]] = defaultdict(dict)
    for x in cells:
        by[x["data"], x["kept"], x["form"]][x["split"]] = x
    lines = [f"| data, kept | links a node | form | splits | {' | '.join(SCORES)} | paths - best other |"]
    lines += ["| --- " * (len(SCORES) + 5) + "|"]
    for (data, kept, form), rows in by.items():
        some = list(rows.values())
        means = [f"{np.mean([x['figures'][name] for x in some]):.4f}" for name in SCORES]
        gaps = [x["figures"]["paths"] - max(x["figures"][name] for name in PLAIN) for x in some]
        degree = np.mean([x["degree"] for x in some])
        lines.append(
            f"| {data}, {kept:g} | {degree:.1f} | {form} | {len(some)} | {' | '.join(means)} | {verdict(gaps)} |"
        )
    lines += ["", "| data, kept | links a node | laplacian | normalized | normalized - laplacian |", "| --- " * 5 + "|"]
    pairs = sorted(
        (np.mean([x["degree"] for x in rows.values()]), data, kept)
        for (data, kept, form), rows in by.items()
        if form == BOTH[0] and (data, kept, BOTH[1]) in by
    )
    for degree, data, kept in pairs:
        one, other = (by[data, kept, form] for form in BOTH)
        best = {form: {i: max(x["figures"][s] for s in (*PLAIN, "paths")) for i, x in rows.items()}
                for form, rows in zip(BOTH, (one, other), strict=True)}  # fmt: skip
        gaps = [best[BOTH[1]][i] - best[BOTH[0]][i] for i in one if i in other]
        means = [f"{np.mean(list(best[form].values())):.4f}" for form in BOTH]
        lines.append(f"| {data}, {kept:g} | {degree:.1f} | {' | '.join(means)} | {verdict(gaps)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the cells that are not there yet, or print those that are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, nargs="?", default=RECORDS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--kept", nargs="*", type=float, default=KEPT)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    cells = [json.loads(x) for x in args.path.read_text().splitlines()] if args.path.exists() else []
    if args.table:
        print(table(cells))
        return
    done = {(x["data"], x["kept"], x["form"], x["split"]) for x in cells}
    for data in args.data:
        for kept in args.kept:
            for split in range(args.splits):
                for form in FORMS if kept == 1 else BOTH:
                    if (data, kept, form, split) in done:
                        continue
                    start, parts = time.process_time(), split_of(data, kept, split)
                    cell: dict[str, Any] = {"data": data, "kept": kept, "form": form, "split": split}
                    cell["degree"] = 2 * len(edge_pairs(parts.train)) / parts.train.n_nodes
                    cell["figures"] = figures(nf.Spectral(**FORMS[form], seed=split), parts, split)
                    cell["cpu"] = time.process_time() - start
                    with args.path.open("a") as file:
                        file.write(json.dumps(cell) + "\n")
                    print(json.dumps(cell), flush=True)


if __name__ == "__main__":
    main()
