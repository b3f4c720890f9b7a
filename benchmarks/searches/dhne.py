"""Which DHNE serves which table: configurations tried, measured on hyperedges held out from the training part.

    NETFOLD_DATA=../shared/data python benchmarks/searches/dhne.py DATA CONFIGS [--seeds N] [--json FILE]

CONFIGS has a JSON object of options a line. DATA is gps, movielens or drug, of which the published test part is never
read, planted (`datasets.planted_triples`), or a file of tuples: 15% of the training hyperedges are held out, and those
whose nodes are all left elsewhere are asked about (`--kept 0.1` fits a tenth of the others alone). `one` is the AUC
against tuples with one position replaced (two in a tenth of the cases), `two` that with two replaced, as most of the
published negatives have; `leaking` is `one` where hyperedges that are known as well are asked about too. `pairs` are
the same of the counts of pairs, `regression` of logistic regression on pair counts and degrees (as tables have it),
`train` the AUC (`one`) of what was fitted. How they were used: docs/decisions/0011. Lines without a machine are over
the defaults of before 2026-11-16, which those with one name; from 2026-11-18 on (`regression` stands there) counts=True
begins where logistic regression on counts, degrees and cosines ends.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from netfold import datasets, evaluate
from netfold.data.hypergraph import Hypergraph
from netfold.evaluate.hyperedge_tasks import cheap_scorers
from netfold.evaluate.tuples import coded, coded_edges, decoded
from netfold.io.hyperedges import read_hyperedges
from netfold.models.dhne import DHNE
from netfold.studies.machine import machine

Config = dict[str, Any]


def some_of(whole: Hypergraph, at: np.ndarray) -> Hypergraph:
    """Some hyperedges, and all nodes."""
    (kind,) = whole.kinds
    kinds = [(kind.roles, kind.types, kind.rows[at])]
    return Hypergraph.from_kinds(kinds, nodes=whole.nodes, node_types=whole.type_codes, types=whole.types)


def training_part(name: str) -> Hypergraph:
    if name == "planted":
        return datasets.planted_triples()
    whole = (
        read_hyperedges(name, skip_loops=True) if Path(name).exists() else datasets.load(f"dhne_{name}", part="train")
    )
    assert isinstance(whole, Hypergraph)
    return whole


def split(name: str, seed: int, kept: float = 1.0) -> tuple[Hypergraph, Hypergraph]:
    """What is fitted, and what is asked about."""
    whole = training_part(name)
    order = np.random.default_rng(seed).permutation(whole.n_edges)
    held_out, left = np.split(order, [round(0.15 * whole.n_edges)])
    known = some_of(whole, np.sort(left[: round(kept * len(left))]))
    rows = whole.kinds[0].rows[held_out]
    return known, some_of(whole, np.sort(held_out[(known.degrees[rows] > 0).all(axis=1)]))


class Cheap:
    """A cheap score of tuples as a model."""

    def __init__(self, known: Hypergraph, name: str, seed: int):
        self._nodes, self._of = known.nodes, cheap_scorers(known, seed=seed)[name]

    def score(self, tuples: list[tuple[Any, ...]]) -> np.ndarray:
        return self._of(coded(tuples, self._nodes))


def two_replaced(asked: Hypergraph, seed: int) -> list[tuple[Any, ...]]:
    """Each hyperedge with two positions drawn anew within their types, twice over."""
    rng, rows = np.random.default_rng(seed), np.repeat(coded_edges(asked), 2, axis=0)
    stays, types = rng.integers(0, rows.shape[1], len(rows)), asked.type_codes[rows]
    counts, by_type = np.bincount(asked.type_codes), np.argsort(asked.type_codes, kind="stable")
    drawn = by_type[(np.cumsum(counts) - counts)[types] + rng.integers(0, counts[types])]
    good = np.array([len(set(row)) == len(row) for row in drawn.tolist()])
    rows, stays, drawn = rows[good], stays[good], drawn[good]
    return decoded(np.where(np.arange(rows.shape[1]) == stays[:, None], rows, drawn), asked.nodes)


def figures(model: Any, known: Hypergraph, asked: Hypergraph, seed: int) -> dict[str, float]:
    given: dict[str, Any] = {"known": known, "seed": seed, "baselines": False}
    found = {"one": evaluate.hyperedges(model, asked, **given)}
    found["two"] = evaluate.hyperedges(model, asked, negatives=two_replaced(asked, seed), **given)
    if len(np.unique(coded_edges(known), axis=0)) < known.n_edges:
        found["leaking"] = evaluate.hyperedges(model, asked, duplicates="keep", **given)
    return {name: result.figures["AUC"] for name, result in found.items()}


def tried(name: str, config: Config, seed: int, kept: float = 1.0) -> dict[str, float]:
    known, asked = split(name, seed, kept)
    start = time.process_time()
    model = DHNE(**config, seed=seed, device="cpu").fit(known, progress=False)
    found = {"cpu": time.process_time() - start} | figures(model, known, asked, seed)
    found |= {f"pairs {k}": x for k, x in figures(Cheap(known, "pair co-occurrence", seed), known, asked, seed).items()}
    start, learned = time.process_time(), Cheap(known, "pair counts and degrees", seed)
    found |= {f"regression {k}": x for k, x in figures(learned, known, asked, seed).items()}
    found["regression cpu"] = time.process_time() - start
    fitted = evaluate.hyperedges(model, known, known=known, duplicates="keep", baselines=False, per_positive=1)
    return found | {"train": fitted.figures["AUC"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("configs")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--kept", type=float, default=1.0)
    parser.add_argument("--json", help="append a line a configuration to this file")
    args = parser.parse_args()
    for line in filter(str.strip, Path(args.configs).read_text().splitlines()):
        each = [tried(args.data, json.loads(line), seed, args.kept) for seed in range(args.seeds)]
        mean = {k: round(float(np.mean([x[k] for x in each])), 4) for k in each[0]}
        named = {"data": Path(args.data).stem} | ({"kept": args.kept} if args.kept < 1 else {})
        record = named | {"options": json.loads(line), "seeds": args.seeds, "figures": mean}
        record["machine"] = machine()
        print(json.dumps(record), flush=True)
        if args.json:
            with Path(args.json).open("a") as out:
                out.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
