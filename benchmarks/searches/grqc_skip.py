"""Whether a decoder's word on a pair adds to resource allocation on ca-GrQc: precision@1,000 and @10,000.

    NETFOLD_DATA=../shared/data python benchmarks/searches/grqc_skip.py --out sdne.jsonl --seeds 0 [--seconds 400]

Fifteen percent of what the table's own split leaves for training are held out. Scores are the exact products of two
steps D^-q S D^-2p S D^-q (q 0, p .5 is resource allocation), what SDNE's decoder writes, and their sum with a weight w,
each over its deviation among its 10,000 largest: what a skip of the row's two-step products in the last layer gives.
Equal scores are in the order of nodes, where the table shares their places.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import netfold as nf
from netfold.data.edges import links
from netfold.evaluate.splits import EdgeSplit, split_edges
from netfold.studies import datasets

FITS: dict[str, dict[str, Any]] = {
    "beta 1, 100": {"alpha": 0.2, "beta": 1.0, "dim": 100},
    "links, no overlap": {
        "dim": 512, "hidden": (), "row_damping": 0.1, "column_damping": 0.25, "dropout": 0.2, "nu": 100.0,
        "epochs": 300,
    },
    "beta 2, 128": {"dim": 128, "hidden": (), "beta": 2.0, "dropout": 0.2, "epochs": 200},
    "links": {
        "dim": 512, "hidden": (), "row_damping": 0.1, "column_damping": 0.25, "overlap": 1.0, "dropout": 0.2,
        "nu": 100.0, "epochs": 300,
    },
    "ra as target": {
        "dim": 512, "hidden": (), "row_damping": 0.0, "column_damping": 0.5, "overlap": 1.0, "dropout": 0.2,
        "nu": 100.0, "epochs": 300,
    },
}  # fmt: skip
WEIGHTS = (0.03, 0.1, 0.2, 0.3, 0.5, 1.0)


def two_steps(graph: nf.Graph, q: float, p: float) -> np.ndarray:
    near = links(graph, directed=False, weights=False, loops="drop")
    degrees = np.maximum(np.diff(near.indptr), 1).astype(np.float64)
    ends, middle = sparse.diags_array(degrees**-q), sparse.diags_array(degrees ** (-2 * p))
    return np.asarray((ends @ near @ middle @ near @ ends).toarray(), np.float32)


def precision(scores: np.ndarray, split: EdgeSplit) -> list[float]:
    known, wanted = (
        links(x, directed=False, weights=False, loops="drop").toarray() > 0 for x in (split.train, split.whole)
    )
    flat = np.where(known | np.eye(len(known), dtype=bool), -np.inf, scores).ravel()
    best = np.argpartition(-flat, 10_000)[:10_000]
    best = best[np.argsort(-flat[best], kind="stable")]
    right = wanted.ravel()[best]
    return [round(float(right[:k].mean()), 4) for k in (1000, 10_000)]


def unit(scores: np.ndarray) -> np.ndarray:
    """Over the deviation of the 10,000 largest from 0."""
    flat = scores.ravel()
    return np.asarray(scores / np.sqrt(np.mean(np.partition(flat, -10_000)[-10_000:].astype(np.float64) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--epochs", type=int)
    asked = parser.parse_args()
    end, whole = time.time() + asked.seconds, datasets.load("ca_grqc")

    def say(seed: int, what: str, **figures: Any) -> None:
        with asked.out.open("a") as lines:
            lines.write(
                json.dumps({"table": "sdne-grqc-links", "measured on": "inner", "seed": seed, "score": what} | figures)
                + "\n"
            )

    for seed in asked.seeds:
        split = split_edges(split_edges(whole, 0.15, seed=seed).train, 0.15, seed=100 + seed)
        for q, p in ((0.0, 0.5), (0.1, 0.5), (0.1, 0.25), (0.0, 0.35)):
            say(seed, f"two steps q {q:g} p {p:g}", precision=precision(two_steps(split.train, q, p), split))
        ra, together = unit(two_steps(split.train, 0.0, 0.5)), []
        for name, options in FITS.items():
            if time.time() > end:
                return
            options = options | ({} if asked.epochs is None else {"epochs": asked.epochs})
            for fit in range(2 if name == "beta 1, 100" else 1):
                start = time.process_time()
                model = nf.SDNE(**options, seed=seed + 10 * fit).fit(split.train, progress=False)
                rows = model.pair_decoder(split.train)(np.arange(split.train.n_nodes))
                cpu = round(time.process_time() - start, 1)
                together.append(unit(rows))
            own = sum(together[-(fit + 1) :]) / (fit + 1)
            say(seed, name, options=options, fits=fit + 1, cpu=cpu, precision=precision(own, split))
            for w in WEIGHTS:
                say(seed, f"resource allocation + {w:g} {name}", precision=precision(ra + w * own, split))
        say(seed, "mean of all", precision=precision(sum(together), split))
        say(
            seed,
            "resource allocation + .1 of all",
            precision=precision(ra + 0.1 * sum(together) / len(together), split),
        )


if __name__ == "__main__":
    main()
