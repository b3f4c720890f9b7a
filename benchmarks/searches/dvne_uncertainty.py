"""What DVNE's variance goes with: the degree, the place of a node, and whether its links can be predicted.

    NETFOLD_DATA=../shared/data python benchmarks/searches/dvne_uncertainty.py cora [facebook_ego] [--only REGEX]
    python benchmarks/searches/dvne_uncertainty.py --map docs/uncertainty.png

Models are fitted inside the training graph of the tables' split (seed 0): a fifth of its edges is held out (split
"plain", or "joined", which keeps its components), so no test edge of a table is looked at. Variance is the mean of a
node's ten largest. `AUC`: of all pairs, by W2. `rho`: Spearman's correlation of variance and degree over linked nodes;
`rho place`: that of |μ - mean μ| and degree. `certain`, `gap`: AUC of pairs in the half of the nodes with less
variance, and how much it is above that in the other half, with its standard error (`±`, pairs drawn anew 200 times);
`gap by degree`: the same with the degree for certainty. `above`: the share of linked nodes that have a larger variance
than those without links. `wide AUC`, `wide gap`: when the latter get the largest variance of any node (their ten widest
deviations, scaled).
"""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import netfold as nf
from netfold.data.edges import neighbor_counts
from netfold.evaluate.pairs import separation
from netfold.evaluate.scores import pair_scores
from netfold.evaluate.splits import EdgeSplit

TRIED: list[dict[str, Any]] = [
    {},
    {"epochs": 0},
    {"alpha": 0.0},
    {"alpha": 60.0},
    {"epochs": 10},
    {"energy": "w2_squared"},
    {"energy": "kl"},
    {"repulsion": 10.0},
    {"dropout": 0.5, "epochs": 100, "batch_size": 512},
    {"dropout": 0.5, "epochs": 100, "batch_size": 512, "energy": "w2_squared"},
]
COLUMNS = ("AUC", "rho", "rho place", "certain", "gap", "±", "gap by degree", "above", "wide AUC", "wide gap")
PICTURE: dict[str, Any] = {"dim": 8, "repulsion": 30.0, "epochs": 200}


def figures(split: EdgeSplit, **options: Any) -> dict[str, float]:
    found = nf.DVNE(**options, tolerance=0.0).fit(split.train, progress=False).embedding_
    degrees, variance = neighbor_counts(split.train), np.asarray(found.uncertainty(found.nodes))
    some, place = degrees > 0, np.linalg.norm(found.vectors - found.vectors.mean(axis=0), axis=1)
    rho = {"rho": correlation(variance[some], degrees[some]), "rho place": correlation(place[some], degrees[some])}
    own = nf.evaluate.calibration(found, split)
    by_degree = own.baselines["certainty by degree"]["certain - uncertain"]
    made = {"AUC": links(found, split), **rho, "certain": own.figures["AUC certain"]}
    made |= {"gap": own.figures["certain - uncertain"], "±": error_of_gap(found, split, variance)}
    made |= {"gap by degree": by_degree}
    if some.all():
        return made
    wide = widened(found, variance, ~some)
    gap = nf.evaluate.calibration(wide, split, baselines=False).figures["certain - uncertain"]
    above = float((variance[some] > variance[~some][0]).mean())
    return made | {"above": above, "wide AUC": links(wide, split), "wide gap": gap}


def correlation(x: Any, y: Any) -> float:
    return float(spearmanr(x, y).statistic)


def links(embedding: nf.Embedding, split: EdgeSplit) -> float:
    how: dict[str, Any] = {"score": "w2", "baselines": False, "k": [100], "nodes": 10}
    return nf.evaluate.link_prediction(embedding, split, **how).figures["AUC"]


def error_of_gap(embedding: nf.Embedding, split: EdgeSplit, variance: Any) -> float:
    """The bootstrap's standard error of the gap, over the pairs that `calibration` asks about."""
    wrong = nf.evaluate.sample_negatives(split.whole, len(split.test), seed=0).pairs
    scores, rng = pair_scores(embedding, split.train, "w2"), np.random.default_rng(0)
    sure = np.argsort(np.argsort(variance, kind="stable")) < len(variance) // 2
    halves = []
    for half in (sure, ~sure):
        among = [pairs[half[pairs].all(axis=1)] for pairs in (split.test, wrong)]
        halves.append([scores.at(*pairs.T.copy()).numpy() for pairs in among])
    drawn = [[separation(rng.choice(a, len(a)), rng.choice(b, len(b)))["AUC"] for a, b in halves] for _ in range(200)]
    return float(np.std([certain - other for certain, other in drawn]))


def widened(embedding: nf.Embedding, variance: Any, lonely: Any) -> nf.Embedding:
    """Nodes without links, whose Gaussians are all the same, with the largest variance of any other node."""
    assert embedding.std is not None
    std, rows = embedding.std.copy(), np.flatnonzero(lonely)
    widest = np.argsort(-std[rows[0]])[:10]
    std[np.ix_(rows, widest)] *= np.sqrt(variance[~lonely].max() / variance[rows[0]])
    return nf.Embedding(embedding.nodes, embedding.vectors, std)


def draw(path: Path) -> None:
    novel = nf.datasets.load("les_miserables")
    model = nf.DVNE(**PICTURE).fit(novel, progress=False)
    title = "Les Misérables by DVNE: means, and ellipses of 0.2 standard deviations"
    nf.plot.map(model, path, graph=novel, colors=nf.plot.by_degree(novel), names=24, uncertainty=0.2, title=title)
    print(nf.evaluate.uncertainty(model, novel))


def table(name: str, device: str, only: str) -> None:
    graph = nf.datasets.load(name, **({"directed": False} if name == "cora" else {}))
    print(f"\n{name}: {graph}\n| changed | split | {' | '.join(COLUMNS)} | s |\n|{' --- |' * (len(COLUMNS) + 3)}")
    for keep, called in (("none", "plain"), ("connected", "joined")):
        outer = nf.evaluate.split_edges(graph, 0.2, keep=keep, seed=0)
        inner = nf.evaluate.split_edges(outer.train, 0.2, keep=keep, seed=1)
        for change in TRIED:
            shown = ", ".join(f"{k}={v!r}" for k, v in change.items()) or "(nothing)"
            if re.search(only, shown):
                start = time.perf_counter()
                found = figures(inner, **change, device=device)
                cells = " | ".join(f"{found[x]:.3f}" if x in found else "" for x in COLUMNS)
                print(f"| `{shown}` | {called} | {cells} | {time.perf_counter() - start:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="")
    parser.add_argument("--map", type=Path)
    args = parser.parse_args()
    if args.map:
        draw(args.map)
    for name in args.data:
        table(name, args.device, args.only)


if __name__ == "__main__":
    main()
