"""DVNE's `shared` and other options under noise: the decline of AUC on Cora, on splits that the table does not use.

NETFOLD_DATA=../shared/data python benchmarks/searches/dvne_noise.py --out dvne.jsonl --seeds 100 101 --shared 0 1 3
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import netfold as nf
from netfold.studies import datasets
from netfold.studies.reproduce import folder_of_tables, table_named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[100])
    parser.add_argument("--fractions", type=float, nargs="+", default=[0.25])
    parser.add_argument("--options", nargs="+", default=["{}"], help="JSON: what differs from the table's row")
    parser.add_argument("--seconds", type=float, default=400)
    asked = parser.parse_args()
    end, table = time.time() + asked.seconds, table_named(folder_of_tables(), "dvne-cora-noise")
    graph = datasets.load(table.data.name, **table.data.options)
    for seed in asked.seeds:
        for text in asked.options:
            if time.time() > end:
                return
            options: dict[str, Any] = dict(table.rows[0].config) | json.loads(text)
            start = time.process_time()
            found = nf.evaluate.noise_robustness(
                lambda train, o=options, s=seed: nf.DVNE(**o, seed=s).fit(train, progress=False),
                graph, fractions=asked.fractions, seed=seed, baselines=False,
            )  # fmt: skip
            record = {"table": table.name, "options": options, "measured on": "other splits", "seed": seed}
            record |= {"figures": {k: round(float(x), 5) for k, x in found.figures.items()}}
            with asked.out.open("a") as lines:
                lines.write(json.dumps(record | {"cpu": round(time.process_time() - start, 1)}) + "\n")


if __name__ == "__main__":
    main()
