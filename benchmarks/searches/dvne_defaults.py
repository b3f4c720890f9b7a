"""What DVNE's options do: one change at a time, AUC of links by W2, and how the variance goes with the degree.

    NETFOLD_DATA=../shared/data python benchmarks/searches/dvne_defaults.py cora [facebook] [--device D] [--only REGEX]

Links are predicted inside the training graph of the tables' split (seed 0): a fifth of its edges is held out, so no
test edge of a table is looked at. `LP` is over all pairs, `LP known` over those whose ends both keep an edge, `R` gives
back the whole graph (its edges against as many other pairs), `rho` is Spearman's correlation of variance and degree in
the latter.
"""

from __future__ import annotations

import argparse
import re
import time
from typing import Any

from netfold import datasets, evaluate
from netfold.data.edges import edge_pairs
from netfold.data.graph import Graph
from netfold.evaluate.pairs import separation
from netfold.evaluate.scores import pair_scores
from netfold.models.dvne import DVNE

TRIED: list[dict[str, Any]] = [
    {},
    {"alpha": 0.0},
    {"alpha": 6.0},
    {"alpha": 60.0},
    {"energy": "w2_squared"},
    {"energy": "kl"},
    {"repulsion": 10.0},
    {"repulsion": 30.0, "epochs": 100},
    {"dropout": 0.2},
    {"dropout": 0.5},
    {"dropout": 0.5, "epochs": 100},
    {"dropout": 0.5, "epochs": 100, "energy": "w2_squared"},
    {"lr": 0.001},
    {"lr": 0.005},
    {"schedule": "constant"},
    {"batch_size": 128, "lr": 0.001},
    {"batch_size": 512},
    {"epochs": 20},
    {"dim": 16},
    {"hidden": 128},
]


def figures(graph: Graph, **options: Any) -> dict[str, float]:
    outer = evaluate.split_edges(graph, 0.2, seed=0)
    inner = evaluate.split_edges(outer.train, 0.2, seed=1)
    model = DVNE(**options, tolerance=0.0).fit(inner.train, progress=False)
    links = evaluate.link_prediction(model, inner, score="w2", baselines=False, k=[100], nodes=10).figures
    model.fit(graph, progress=False)
    found = {"LP": links["AUC"], "LP known": links["AUC known ends"], "R": reconstructed(model, graph)}
    return found | {"rho": evaluate.uncertainty(model, graph).figures["Spearman"]}


def reconstructed(model: DVNE, graph: Graph) -> float:
    pairs, scores = edge_pairs(graph), pair_scores(model, graph, "w2")
    wrong = evaluate.sample_negatives(graph, len(pairs), seed=0).pairs
    right, others = (scores.at(*x.T).double().numpy() for x in (pairs, wrong))
    return separation(right, others)["AUC"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    for name in args.data:
        graph = datasets.load(name, **({"directed": False} if name == "cora" else {}))
        assert isinstance(graph, Graph)
        print(f"\n{name}: {graph}\n| changed | LP | LP known | R | rho | s |\n| --- | --- | --- | --- | --- | --- |")
        for change in TRIED:
            shown = ", ".join(f"{k}={v!r}" for k, v in change.items()) or "(nothing)"
            if re.search(args.only, shown):
                start = time.perf_counter()
                found = figures(graph, **change, device=args.device)
                cells = " | ".join(f"{x:.4f}" for x in found.values())
                print(f"| `{shown}` | {cells} | {time.perf_counter() - start:.0f} |", flush=True)


if __name__ == "__main__":
    main()
