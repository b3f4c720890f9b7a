"""By what the nodes of DVNE should be ordered from certain to uncertain, and what a σ in that order does to W2's AUC.

    NETFOLD_DATA=../shared/data python benchmarks/searches/dvne_certainty.py cora --out dvne.jsonl --inner --seeds 0 1

Settings are those of the tables dvne-*-certain. `--inner` holds out a fifth of what the table's own split leaves for
training. For each order of nodes: AUC of pairs among its certain half, minus that among the other half ("gap"), and the
AUC of W2 where the learned deviations are scaled to widths in that order: those learned ("AUC") or, of "evidence 1", as
`DVNE(std="evidence")` has them with a part of the spread of their logarithms ("AUC by spread").

Orders: the learned variance; `mean_variance`; the number of links; "evidence κ": the variance of a mean that d links
are evidence of, v_i / d_i, v_i = (κ v + Σ_j |μ_j - μ_i|²) / (κ + d_i) over the neighbors j, v that of all links; and
"missing κ": the same with d_i `mean_variance` in the place of the squares.

    python benchmarks/searches/dvne_certainty.py cora --out build/certain --rows --seeds 0 1 2 3 4

runs the rows of dvne-*-certain, and those of dvne-*-links that are set alike, for these seeds: a fit serves all rows of
a split, as `std` is applied after training. A file for each table
and seed, for `netfold reproduce --merge`; printed too.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf
from netfold.data.edges import links
from netfold.data.gaussians import widths
from netfold.evaluate.case import case
from netfold.evaluate.negatives import sample_negatives
from netfold.evaluate.scores import pair_scores
from netfold.evaluate.splits import EdgeSplit, split_edges
from netfold.evaluate.uncertainty_tasks import _Pairs
from netfold.models.dvne.batches import in_order as scaled
from netfold.models.dvne.batches import scaled_to, steps, widened
from netfold.studies import datasets
from netfold.studies.machine import machine
from netfold.studies.reproduce import Recorded, RecordedRow, Row, Table, folder_of_tables, table_named, write_run

KAPPAS = (0.0, 1.0, 3.0, 10.0, 30.0)


def orders(model: nf.DVNE, train: nf.Graph) -> dict[str, np.ndarray]:
    """The variance of each node by each rule."""
    near = links(train, directed=False, weights=False, loops="drop")
    degrees, means = np.diff(near.indptr), model.embedding_.vectors.astype(np.float64)
    row = np.repeat(np.arange(len(degrees)), degrees)
    squares = np.bincount(row, ((means[near.indices] - means[row]) ** 2).sum(1), minlength=len(degrees))
    moved = np.where(degrees > 0, model.mean_variance(train), 0.0) * degrees
    found = {"learned": model.embedding_.uncertainty(train.nodes), "degree": -degrees.astype(np.float64)}
    found["mean_variance"] = np.where(degrees > 0, moved / np.maximum(degrees, 1), np.inf)
    for kappa in KAPPAS:
        for name, sums in (("evidence", squares), ("missing", moved * degrees)):
            each = (kappa * sums.sum() / degrees.sum() + sums) / np.maximum(kappa + degrees, 1)
            found[f"{name} {kappa:g}"] = np.where(degrees > 0, each / np.maximum(degrees, 1), np.inf)
    return found


def in_order(emb: nf.Embedding, variance: np.ndarray) -> nf.Embedding:
    """The deviations scaled so that the widths are those learned, in the order of `variance`."""
    assert emb.std is not None
    now, wanted = widths(emb.std, 10), np.empty(len(emb))
    wanted[np.argsort(variance, kind="stable")] = np.sort(now)
    return nf.Embedding(emb.nodes, emb.vectors, emb.std * np.sqrt(wanted / now)[:, None].astype(np.float32))


def figures(model: nf.DVNE, split: EdgeSplit, seed: int) -> dict[str, Any]:
    wrong = sample_negatives(split.whole, len(split.test), seed=seed)
    pairs = _Pairs(split.test, wrong.pairs, seed)

    def auc(emb: nf.Embedding, score: str) -> tuple[np.ndarray, float]:
        scores = pairs.scored(pair_scores(emb, split.train, score))
        return scores, round(pairs._auc(scores, np.ones(len(scores), bool)), 5)

    sure, own = auc(model.embedding_, "w2")
    found: dict[str, Any] = {"AUC": own, "AUC of means": auc(model.embedding_, "distance")[1]}
    rows = steps(split.train.adjacency)
    plain = model._gaussians(split.train.nodes, rows, None)
    for name, variance in orders(model, split.train).items():
        gap = pairs.by_certainty(sure, -variance)
        mended = in_order(model.embedding_, variance)
        again, whole = auc(mended, "w2")
        spreads = {}
        for part in (1.0, 0.3, 0.1, 0.03) if name == "evidence 1" else ():
            moments = scaled_to(variance, plain) * [1, 1, 1, part]
            mended = widened(scaled(plain, variance, moments), split.train, np.zeros(len(plain), bool))
            spreads[f"{part:g}"] = auc(mended, "w2")[1]
        found[name] = {
            "gap": round(gap["certain - uncertain"], 5), "certain": round(gap["AUC certain"], 5), "AUC": whole,
            "gap then": round(pairs.by_certainty(again, -variance)["certain - uncertain"], 5),
        } | ({"AUC by spread": spreads} if spreads else {})  # fmt: skip
    return found


def learned(model: nf.DVNE, train: nf.Graph) -> nf.DVNE:
    """The model with the deviations that `std="learned"` would have given it."""
    other, into = copy.copy(model), train.adjacency.T if train.directed else None
    plain = model._gaussians(train.nodes, steps(train.adjacency, into), None)
    other.std, other.embedding_ = "learned", widened(plain, train, np.zeros(len(plain), bool))
    return other


def of_one_fit(table: Table, config: Mapping[str, Any], keep: str) -> list[Row]:
    """The rows that a model of this configuration, `std` apart, fitted to this split, has figures for."""
    alike = [row for row in table.rows if {k: x for k, x in row.config.items() if k != "std"} == config]
    return [row for row in alike if row.model == "dvne" and row.task.get("keep", "none") == keep]


def record_rows(data: str, seeds: list[int], keeps: list[str], out: Path, device: str) -> None:
    """Run the rows of the two tables, seed by seed and split by split."""
    tables = [table_named(folder_of_tables(), f"dvne-{data}-{of}") for of in ("certain", "links")]
    config = dict(tables[0].rows[0].config)
    whole = datasets.load(tables[0].data.name, **tables[0].data.options)
    out.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for keep in keeps:
            fitted, start = None, time.perf_counter()
            for table in tables:
                found = {}
                for row in of_one_fit(table, config, keep):
                    arguments = {**table.task.arguments, **row.task}
                    asked = case(table.task.name, whole, dict, arguments, seed)
                    if fitted is None:
                        own = nf.DVNE(**config, std="evidence", seed=seed, device=device)
                        fitted = own.fit(asked.graph, progress=False)
                    model = fitted if row.config.get("std") == "evidence" else learned(fitted, asked.graph)
                    result = asked.evaluate(model, baselines=table is tables[0])
                    found[row.name] = recorded_row(table, row, result, fitted)
                if found:
                    spent, today = round(time.perf_counter() - start, 1), time.strftime("%Y-%m-%d")
                    run = Recorded(today, machine(device), nf.__version__, (seed,), spent, found)
                    path = out / f"{table.name}.{keep}.{seed}.toml"
                    write_run(table, run, path)
                    print(path.read_text(), flush=True)


def recorded_row(table: Table, row: Row, result: Any, model: nf.DVNE) -> RecordedRow:
    """One seed's figures of a row."""

    def rounded(x: Mapping[str, float]) -> dict[str, float]:
        return {name: float(f"{x[name]:.6g}") for name in table.figures if name in x}

    last = model.history_[-1]["objective"]
    training = {"epochs": float(len(model.history_)), "objective": float(f"{last:.6g}")}
    cheap = {name: rounded(x) for name, x in result.baselines.items() if rounded(x)}
    return RecordedRow(table.settings(row), rounded(result.figures), baselines=cheap, training=training)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=("cora", "facebook", "blogcatalog"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--inner", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--keep", nargs="+", default=["none", "connected"])
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--rows", action="store_true", help="run the tables' rows; --out is then a folder")
    parser.add_argument("--device", default="auto")
    asked = parser.parse_args()
    if asked.rows:
        record_rows(asked.data, asked.seeds, asked.keep, asked.out, asked.device)
        return
    table = table_named(folder_of_tables(), f"dvne-{asked.data}-certain")
    options = dict(table.rows[0].config) | ({} if asked.epochs is None else {"epochs": asked.epochs})
    whole = datasets.load(table.data.name, **table.data.options)
    for seed in asked.seeds:
        for keep in asked.keep:
            split = split_edges(whole, 0.2, keep=keep, seed=seed)
            split = split_edges(split.train, 0.2, keep=keep, seed=100 + seed) if asked.inner else split
            model = nf.DVNE(**options, seed=seed).fit(split.train, progress=False)
            record = {"table": table.name, "options": options, "keep": keep, "inner": asked.inner, "seed": seed}
            with asked.out.open("a") as lines:
                lines.write(json.dumps(record | {"figures": figures(model, split, seed)}) + "\n")


if __name__ == "__main__":
    main()
