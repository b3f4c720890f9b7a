"""Which score of pairs a row of a table of links would take, by inner splits: its own training part, split again.

    PYTHONPATH=src NETFOLD_DATA=/path/to/data python benchmarks/searches/link_scores.py dvne-cora-links DVNE

For each seed the row's model is fitted to what the table's split leaves for training, less what the same protocol holds
out of that (drawn by 100 + the seed), and asked by every score that there is: its own ones, what links say without any
vectors (WALKS, and each of its terms), and each of its own together with WALKS. No test edge of the table is looked
at. A line of JSON for each seed: figure by score. `--table` prints the means over the seeds of each row.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from netfold.embedder.options import config_from_json
from netfold.embedder.pair_score import OF_LINKS
from netfold.evaluate.case import Case, case
from netfold.evaluate.scores import available_scores
from netfold.models import MODELS
from netfold.studies import datasets
from netfold.studies.machine import machine
from netfold.studies.reproduce import Table, folder_of_tables, table_named

RECORDS = Path(__file__).with_suffix(".jsonl")
WALKS = "personalised PageRank + 0.5 paths of three + 0.5 resource allocation"


def questions(table: Table, row: str, seed: int, scores: tuple[str, ...]) -> dict[str, Case]:
    """The inner split, asked by each score."""
    arguments = {**table.task.arguments, **next(x for x in table.rows if x.name == row).task}
    graph = datasets.load(table.data.name, **table.data.options)
    outer = case(table.task.name, graph, dict, arguments, seed)
    return {x: case(table.task.name, outer.graph, dict, arguments | {"score": x}, 100 + seed) for x in scores}


def figures(table: Table, row: str, seed: int) -> dict[str, dict[str, float]]:
    """Each figure of the table that the task gives, by score."""
    asked = next(x for x in table.rows if x.name == row)
    first = next(iter(questions(table, row, seed, ("cosine",)).values())).graph
    cls = MODELS[asked.model]
    model = cls(**config_from_json(cls, {**asked.config, "seed": seed, "device": "cpu"})).fit(first, progress=False)
    own = available_scores(model)
    scores = (*own, *OF_LINKS, WALKS, *(f"{x} + {WALKS}" for x in own))
    by_score = questions(table, row, seed, scores)
    found = {}
    for name in scores:
        result = by_score[name].evaluate(model, baselines=False).figures
        found[name] = {x: round(float(result[x]), 5) for x in table.figures if x in result}
    return found


def table_of(cells: list[dict[str, Any]]) -> str:
    """Means over seeds, the scores in the order of the first figure."""
    lines = []
    for of in dict.fromkeys((x["table"], x["row"]) for x in cells):
        alike = [x["figures"] for x in cells if (x["table"], x["row"]) == of]
        mean = {
            score: {name: float(np.mean([x[score][name] for x in alike])) for name in alike[0][score]}
            for score in alike[0]
        }
        lines.append(f"{of[0]}, {of[1]}: {len(alike)} splits")
        for score in sorted(mean, key=lambda x: -next(iter(mean[x].values()))):
            lines.append(f"  {score}: " + ", ".join(f"{name} {value:.4f}" for name, value in mean[score].items()))
    return "\n".join(lines)


def main() -> None:
    """Measure the scores of one row, or print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", help="the table")
    parser.add_argument("row", nargs="?")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--json", type=Path, default=RECORDS)
    parser.add_argument("--tables", metavar="FOLDER")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        print(table_of([json.loads(x) for x in args.json.read_text().splitlines()]))
        return
    table = table_named(folder_of_tables(args.tables), args.name)
    for seed in args.seeds:
        start = time.process_time()
        record: dict[str, Any] = {"table": args.name, "row": args.row, "seed": seed}
        record["figures"] = figures(table, args.row, seed)
        record |= {"cpu": round(time.process_time() - start, 1), "machine": machine()}
        print(json.dumps(record), flush=True)
        with args.json.open("a") as out:
            out.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
