"""Whether vectors and random walks score pairs better together, and which walks: inner splits alone.

    PYTHONPATH=src NETFOLD_DATA=/path/to/data python benchmarks/searches/walks.py --splits 0 1 2 3 4    # resumes
    PYTHONPATH=src python benchmarks/searches/walks.py --table

Parts of the data are those of paths.py: a fifth of the links is set aside first and never looked at, and a tenth of the
others is held out; AUC against as many non-links, isolated nodes scored as an average pair. One JSON line a cell, with
the figure of each score of the vectors, of it with each of several WALKS (`cosine+walks`, as netfold has it), and of
these alone.
Above, level, below: by two standard errors of the paired difference over the splits.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from paths import split_of, verdict

import netfold as nf
from netfold.evaluate.heuristics import walks
from netfold.evaluate.negatives import sample_negatives
from netfold.evaluate.pairs import Remembered, Surprises, finite, isolated_as_average, separation
from netfold.evaluate.scores import available_scores, pair_scores
from netfold.evaluate.splits import EdgeSplit
from netfold.models import MODELS

RECORDS = Path(__file__).with_suffix(".jsonl")
DATA = ("europe_airports", "jazz", "usa_airports", "cora", "ca_grqc", "facebook_ego")
MODELS_ASKED: dict[str, dict[str, Any]] = {
    "spectral laplacian": {"matrix": "laplacian"},
    "spectral normalized": {"matrix": "normalized"},
    "spectral propagation": {"matrix": "propagation"},
    "node2vec": {},
    "dvne": {},
    "sdne": {},
}
WALKS = {
    "walks": (1, 0.5, 0.5), "pagerank": (1, 0, 0), "pagerank, three": (1, 1, 0), "pagerank, shared": (1, 0, 1),
    "all": (1, 1, 1), "short": (0, 1, 1), "three": (0, 1, 0),
}  # fmt: skip
"""What personalised PageRank, paths of three and resource allocation count."""


def figures(model: nf.Embedder, split: EdgeSplit, seed: int) -> dict[str, float]:
    """The AUC of each score, and of walks alone."""
    train = split.train
    model.fit(train, progress=False)
    wrong = sample_negatives(split.whole, len(split.test), seed=seed).pairs
    single = [Remembered(x) for _, x in walks(train)]
    along = {name: [(w, x) for w, x in zip(weights, single, strict=True) if w] for name, weights in WALKS.items()}
    scores: dict[str, Any] = {name: Surprises(some, train) for name, some in along.items()}
    for name in available_scores(model):
        scores[name] = own = Remembered(pair_scores(model, train, name))
        scores |= {f"{name}+{kind}": Surprises([(1.0, own), *some], train) for kind, some in along.items()}
    out = {}
    for name, score in scores.items():
        placed = isolated_as_average(score, train)
        out[name] = separation(*(finite(placed.at(*pairs.T.copy())) for pairs in (split.test, wrong)))["AUC"]
    return out


def table(cells: list[dict[str, Any]]) -> str:
    """Markdown: the best of a model's own scores beside the same with walks, and walks alone."""
    by: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for x in cells:
        by[x["data"], x["model"]].append(x["figures"])
    head = ["data", "model", "splits", "own score", *(f"+ {x}" for x in WALKS), *(f"{x} alone" for x in WALKS)]
    head += ["+ walks - own score", "+ walks - the best without vectors"]
    lines = [head, ["---"] * len(head)]
    for (data, model), rows in by.items():
        own = [x for x in rows[0] if "+" not in x and x not in WALKS]
        mean = lambda name, rows=rows: sum(x[name] for x in rows) / len(rows)  # noqa: E731
        alone = max(own, key=mean)
        best = {kind: max((f"{x}+{kind}" for x in own), key=mean) for kind in WALKS}
        shown = [f"{alone} {mean(alone):.4f}", *(f"{x.split('+')[0]} {mean(x):.4f}" for x in best.values())]
        shown += [f"{mean(x):.4f}" for x in WALKS]
        with_walks = [max(x["cosine+walks"], x["paths+walks"]) for x in rows]
        rivals = ([x[alone] for x in rows], [max(x[name] for name in WALKS) for x in rows])
        gaps = [verdict([a - b for a, b in zip(with_walks, other, strict=True)]) for other in rivals]
        lines.append([data, model, str(len(rows)), *shown, *gaps])
    return "\n".join(f"| {' | '.join(x)} |" for x in lines)


def main() -> None:
    """Run the cells that are not there yet, or print those that are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, nargs="?", default=RECORDS)
    parser.add_argument("--splits", type=int, nargs="*", default=range(5))
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--models", nargs="*", default=list(MODELS_ASKED))
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    cells = [json.loads(x) for x in args.path.read_text().splitlines()] if args.path.exists() else []
    if args.table:
        print(table(cells))
        return
    done = {(x["data"], x["model"], x["split"]) for x in cells}
    for data in args.data:
        for split in args.splits:
            for name in args.models:
                if (data, name, split) in done:
                    continue
                start, parts = time.process_time(), split_of(data, 1.0, split)
                made = MODELS[name.split()[0]](**MODELS_ASKED[name], seed=split)
                cell: dict[str, Any] = {"data": data, "model": name, "split": split}
                cell["figures"] = figures(made, parts, split)
                cell["cpu"] = time.process_time() - start
                with args.path.open("a") as file:
                    file.write(json.dumps(cell) + "\n")
                print(data, name, split, f"{cell['cpu']:.1f} CPU-s", flush=True)


if __name__ == "__main__":
    main()
