"""How LINE's default start was chosen: inner splits alone, as in `spectral.py`.

NETFOLD_DATA=/path/to/data python benchmarks/searches/line.py              # all; resumes: a line a cell
python benchmarks/searches/line.py --table                                 # what was recorded, as Markdown
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from spectral import measured

import netfold as nf

RECORDS = Path(__file__).with_suffix(".jsonl")
DATA = (
    ("roles", "usa_airports"), ("classes", "cora"), ("links", "cora"), ("links", "ca_grqc"), ("links", "facebook_ego"),
    ("classes", "blogcatalog"), ("links", "blogcatalog"),
)  # fmt: skip
SETTINGS: tuple[dict[str, Any], ...] = ({"init": "none"}, {"init": "spectral"}, {"init": "spectral", "lr": 0.1})
SEEDS = {"blogcatalog": 2}
"""Of others three; of these the two starts alone."""


def recorded() -> list[dict[str, Any]]:
    """What there is already."""
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def main() -> None:
    """Measure what is not recorded yet, or show the means of what is, and the standard error of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a pattern of KIND DATA")
    parser.add_argument("--table", action="store_true", help="print what is recorded")
    args = parser.parse_args()
    done = {json.dumps([x[k] for k in ("kind", "data", "settings", "seed")]): x["figures"] for x in recorded()}
    for kind, name in DATA:
        for settings in SETTINGS[:2] if name in SEEDS else SETTINGS:
            if not re.search(args.only, f"{kind} {name}"):
                continue
            figures: dict[str, list[float]] = {}
            for seed in range(SEEDS.get(name, 3)):
                key = json.dumps([kind, name, settings, seed])
                if key not in done and not args.table:
                    done[key] = measured(kind, name, nf.LINE(**settings, seed=seed))
                    line = {"kind": kind, "data": name, "settings": settings, "seed": seed, "figures": done[key]}
                    with RECORDS.open("a") as file:
                        file.write(json.dumps(line) + "\n")
                for figure, value in done.get(key, {}).items():
                    figures.setdefault(figure, []).append(value)
            cells = [
                f"{k} {np.mean(x):.4f} ± {np.std(x, ddof=1) / len(x) ** 0.5:.4f}"
                for k, x in figures.items()
                if len(x) > 1
            ]
            print(f"| {kind} | {name} | {settings} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
