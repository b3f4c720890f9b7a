"""Whether a sum of scores whose weights are learned finds links better than one score, or a sum of fixed weights.

    PYTHONPATH=src NETFOLD_DATA=/path/to/data python benchmarks/searches/score_sums.py --splits 0 1 2 3 4    # resumes
    PYTHONPATH=src python benchmarks/searches/score_sums.py --table

Parts of the data are those of paths.py: a fifth of the links is set aside first and never looked at, and a tenth of the
others is held out; AUC against as many non-links, isolated nodes scored as an average pair. What is learned is learned
from what is left, of which a tenth is held out in turn (`choose_pair_score`). `--made` takes graphs of
benchmarks/auto.py, of which all that a seed makes is another graph.
One JSON line a cell: the figure of `learned`, of each score alone, of FIXED; `links` is a sum that is learned without
vectors, and what it says of a pair is what vectors have to add to; `single` is the score that the same tenth
would choose of those that the model has itself.
Above, level, below: by two standard errors of the paired difference over the splits.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from paths import split_of, verdict

import netfold as nf
from netfold.embedder.pair_score import OF_LINKS
from netfold.evaluate import choose_pair_score, held_out
from netfold.evaluate.held_out import HeldOutPairs
from netfold.evaluate.negatives import sample_negatives
from netfold.evaluate.pairs import separation
from netfold.evaluate.scores import available_scores
from netfold.evaluate.splits import EdgeSplit, split_edges
from netfold.models import MODELS

RECORDS = Path(__file__).with_suffix(".jsonl")
DATA = ("europe_airports", "jazz", "usa_airports", "cora", "ca_grqc", "facebook_ego", "blogcatalog")
MADE = ("made_blocks", "made_plane", "made_items", "made_topics")
MODELS_ASKED: dict[str, dict[str, Any]] = {
    "spectral normalized": {"matrix": "normalized"},
    "spectral laplacian": {"matrix": "laplacian"},
    "dvne": {},
    "sdne": {},
}
_SHORT = "personalised PageRank + 0.5 paths of three + 0.5 resource allocation"
FIXED = (f"cosine + {_SHORT}", f"dot + {_SHORT}", f"paths + {_SHORT}")
MOST = 1e12
"""Multiplications that walks may take: all are followed."""


def figures(cls: type[nf.Embedder], options: dict[str, Any], split: EdgeSplit, seed: int) -> dict[str, Any]:
    """The AUC of each way to score the pairs, and what was chosen."""
    train = split.train

    def fit(graph: Any) -> Any:
        return cls(**options, seed=seed).fit(graph, progress=False)

    learned, fewest = str(choose_pair_score(fit, train, seed=seed)), held_out._FEWEST
    held_out._FEWEST = sys.maxsize  # no sums
    single = str(choose_pair_score(fit, train, seed=seed))
    held_out._FEWEST = fewest
    model = fit(train)
    alike = nf.Embedding(train.nodes, np.ones((train.n_nodes, 1), np.float32))  # vectors that say the same of all pairs
    links = str(choose_pair_score(lambda graph: alike, train, seed=seed))
    asked = HeldOutPairs(train, split.test, sample_negatives(split.whole, len(split.test), seed=seed).pairs, MOST)

    def auc(name: str) -> float:
        return round(separation(*asked.values(model, name))["AUC"], 5)

    names = [*available_scores(model), *OF_LINKS, *FIXED]
    found = {"chosen": learned, "chosen single": single, "learned": auc(learned), "single": auc(single)}
    found["links"] = round(separation(*asked.values(alike, links))["AUC"], 5)
    return found | {name: auc(name) for name in names}


def table(cells: list[dict[str, Any]]) -> str:
    """Markdown: the learned sum beside the score that is chosen, the best fixed sum, and the best without vectors."""
    by: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for x in cells:
        by[x["data"], x["model"]].append(x["figures"])
    head = [
        "data",
        "model",
        "splits",
        "learned",
        "single",
        "fixed sum, best",
        "no vectors, best",
        "no vectors, learned",
    ]
    head += ["learned - single", "learned - fixed", "learned - no vectors, learned"]
    lines = [head, ["---"] * len(head)]
    for (data, model), rows in by.items():
        mean = {
            name: sum(x[name] for x in rows) / len(rows) for name in (*FIXED, *OF_LINKS, "learned", "single", "links")
        }
        fixed, alone = (max(names, key=lambda name, mean=mean: mean[name]) for names in (FIXED, OF_LINKS))
        shown = [f"{mean['learned']:.4f}", f"{mean['single']:.4f}", f"{fixed.split()[0]} {mean[fixed]:.4f}"]
        shown += [f"{alone} {mean[alone]:.4f}", f"{mean['links']:.4f}"]
        gaps = [verdict([x["learned"] - x[name] for x in rows]) for name in ("single", fixed, "links")]
        lines.append([data, model, str(len(rows)), *shown, *gaps])
    return "\n".join(f"| {' | '.join(x)} |" for x in lines)


def made_split(name: str, seed: int) -> EdgeSplit:
    """An inner split of a graph that benchmarks/auto.py makes."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    whole = importlib.import_module("auto").loaded(name, seed)[0]
    return split_edges(split_edges(whole, 0.2, seed=1000).train, 0.1, seed=seed)


def main() -> None:
    """Run the cells that are not there yet, or print those that are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, nargs="?", default=RECORDS)
    parser.add_argument("--splits", type=int, nargs="*", default=range(5))
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--made", action="store_true")
    parser.add_argument("--models", nargs="*", default=list(MODELS_ASKED))
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    cells = [json.loads(x) for x in args.path.read_text().splitlines()] if args.path.exists() else []
    if args.table:
        print(table(cells))
        return
    done = {(x["data"], x["model"], x["split"]) for x in cells}
    for split in args.splits:
        for data in MADE if args.made else args.data:
            for name in args.models:
                if (data, name, split) in done:
                    continue
                start = time.process_time()
                parts = made_split(data, split) if args.made else split_of(data, 1.0, split)
                cell: dict[str, Any] = {"data": data, "model": name, "split": split}
                cell["figures"] = figures(MODELS[name.split()[0]], MODELS_ASKED[name], parts, split)
                cell["cpu"] = round(time.process_time() - start, 1)
                with args.path.open("a") as file:
                    file.write(json.dumps(cell) + "\n")
                print(data, name, split, f"{cell['cpu']:.1f} CPU-s", cell["figures"]["chosen"], flush=True)


if __name__ == "__main__":
    main()
