"""How SDNE's defaults were chosen: one option changed at a time, MAP of reconstruction by pair score, and the cost.

    NETFOLD_DATA=../shared/data python benchmarks/searches/sdne_defaults.py ca_grqc [--device D] [--only REGEX]

Reconstruction is measured on the graph that was trained on (that is what it means), so no split is touched here.
What was concluded is in docs/decisions/0003-sdne-defaults.md.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from typing import Any

import netfold as nf

BASE: dict[str, Any] = {"hidden": (256,), "alpha": 0.2, "init": "none", "lr": 0.003, "tolerance": 0.0}
"""Where the search began."""

TRIED: list[dict[str, Any]] = [
    {},
    {"hidden": ()},
    {"hidden": (500,)},
    {"hidden": (1000,)},
    {"hidden": (500, 250)},
    {"dim": 100, "hidden": ()},
    {"activation": "leaky_relu"},
    {"activation": "sigmoid"},
    {"activation": "linear"},
    {"output": "sigmoid"},
    {"output": "sigmoid", "hidden": ()},
    {"activation": "sigmoid", "output": "sigmoid"},
    {"activation": "sigmoid", "output": "sigmoid", "init": "dbn"},
    {"alpha": 0.0},
    {"alpha": 0.02},
    {"alpha": 1.0},
    {"alpha": 5.0},
    {"beta": 3.0},
    {"beta": 30.0},
    {"lr": 0.001},
    {"lr": 0.01},
    {"lr": 0.03},
    {"hidden": (), "lr": 0.01},
    {"hidden": (), "lr": 0.03},
    {"schedule": "constant"},
    {"epochs": 50},
    {"epochs": 500},
    {"hidden": (), "lr": 0.01, "epochs": 500},
    {"init": "svd"},
    {"init": "svd", "hidden": ()},
    {"optimizer": "row_adagrad", "lr": 0.03},
    {"optimizer": "row_adagrad", "lr": 0.1},
    {"optimizer": "row_adagrad", "lr": 0.3},
    {"optimizer": "row_adagrad", "lr": 0.1, "hidden": ()},
    {"batch_size": 512, "epochs": 50},
    {"batch_size": 2048, "epochs": 50},
    {"batch_size": 512, "epochs": 50, "hidden": ()},
    {"batch_size": 512, "epochs": 50, "hidden": (), "alpha": 1.0},
    {"init": "svd", "lr": 0.01},
    {"init": "svd", "alpha": 1.0},
    {"init": "svd", "alpha": 0.02},
    {"init": "svd", "hidden": (), "lr": 0.01},
    {"init": "svd", "hidden": (), "alpha": 1.0},
    {"init": "svd", "activation": "linear"},
    {"init": "svd", "schedule": "constant"},
    {"init": "svd", "epochs": 100},
    {"init": "svd", "epochs": 500},
    {"init": "svd", "batch_size": 2048, "epochs": 50},
    {"nu": 0.0},
    {"nu": 1e-2},
    {"nu": 1.0},
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="", help="a regular expression on the changed options")
    args = parser.parse_args()
    for name in args.data:
        graph = nf.datasets.load(name)
        print(f"\n{name}: {graph}\n\n| changed | epochs | wall s | CPU-s | dot | distance | cosine | decoder |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
        for changed in TRIED:
            shown = ", ".join(f"{k}={v!r}" for k, v in changed.items()) or "(nothing)"
            if not re.search(args.only, shown):
                continue
            start, before = time.perf_counter(), os.times()
            model = nf.SDNE(**BASE | {"device": args.device} | changed).fit(graph, progress=False)
            wall, after = time.perf_counter() - start, os.times()
            cpu = after.user + after.system - before.user - before.system
            figures = [
                nf.evaluate.reconstruction(model, graph, score=s, k=[1], baselines=False).figures["MAP"]
                for s in ("dot", "distance", "cosine", "decoder")
            ]
            row = " | ".join(f"{x:.3f}" for x in figures)
            print(f"| {shown} | {len(model.history_)} | {wall:.1f} | {cpu:.1f} | {row} |", flush=True)


if __name__ == "__main__":
    main()
