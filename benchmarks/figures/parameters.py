"""What the main options of each model do: a figure for its page, from runs on small data that is built in.

    OMP_NUM_THREADS=1 python benchmarks/figures/parameters.py docs sdne     # runs, and draws docs/sdne-parameters.png
    python benchmarks/figures/parameters.py docs --draw sdne                # draws what was recorded; no name: all

The figures measured are recorded in parameters.json beside this script.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import netfold as nf
from netfold.show.plot.projection import imported

RECORDS = Path(__file__).with_suffix(".json")
SEEDS = (0, 1, 2)
LOOKS = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"))  # colours of Okabe and Ito: told apart by everybody
INCHES, DPI, INK = (10.5, 3.3), 100, "#222222"

Figures = dict[str, float]


class Study(NamedTuple):
    """The options of a model that are varied, one at a time, and what is measured of each fit."""

    measure: Callable[[dict[str, Any], int], Figures]
    panels: dict[str, tuple[Any, ...]]
    what: str


def blocks(name: str, score: str, fixed: dict[str, Any]) -> Callable[[dict[str, Any], int], Figures]:
    """Five blocks of 60 nodes, 15% of the edges held out:
    giving back what was seen, finding the rest, predicting blocks."""

    def measure(options: dict[str, Any], seed: int) -> Figures:
        graph, of = nf.datasets.stochastic_block_model((60,) * 5, p_in=0.12, p_out=0.02, seed=seed)
        split = nf.evaluate.split_edges(graph, held_out=0.15, keep="connected", seed=seed)
        model = nf.MODELS[name](**fixed | options, seed=seed).fit(split.train, progress=False)
        back = nf.evaluate.reconstruction(model, split.train, score=score, k=[100], baselines=False)
        found = nf.evaluate.link_prediction(model, split, score=score, k=[100], baselines=False, seed=seed)
        told = nf.evaluate.classification(model, of, train=0.2, repeats=3, baselines=False, seed=seed)
        return {
            "graph given back, MAP": back.figures["MAP"],
            "held-out links, AUC": found.figures["AUC"],
            "blocks, accuracy": next(iter(told.figures.values())),
        }

    return measure


def planted(fixed: dict[str, Any], name: str = "drne") -> Callable[[dict[str, Any], int], Figures]:
    """Shapes on a ring with 10% of random edges: telling roles, roles as clusters, and degrees."""

    def measure(options: dict[str, Any], seed: int) -> Figures:
        graph, role = nf.datasets.planted_roles(copies=5, noise=0.1, seed=seed)
        model = nf.MODELS[name](**fixed | options, seed=seed).fit(graph, progress=False)
        told = nf.evaluate.roles(model, role, train=0.5, repeats=5, baselines=False, seed=seed)
        degree = nf.evaluate.centrality(model, graph, measures=["degree"], repeats=5, baselines=False, seed=seed)
        groups = nf.evaluate.clustering(model, role, repeats=3, baselines=False, seed=seed)
        return {
            "roles, accuracy": next(iter(told.figures.values())),
            "roles as clusters, NMI": groups.figures["NMI"],
            "degree, R²": max(0.0, float(np.nan_to_num(degree.figures["degree R²"]))),  # 0: no better than the mean
        }

    return measure


def agreeing(fixed: dict[str, Any]) -> Callable[[dict[str, Any], int], Figures]:
    """600 triples of 30 users, 30 items and 30 tags in three groups, all of one group but for 15% by chance."""

    def measure(options: dict[str, Any], seed: int) -> Figures:
        rng = np.random.default_rng(seed)
        group = np.where(rng.random((600, 1)) < 0.15, rng.integers(0, 3, (600, 3)), rng.integers(0, 3, (600, 1)))
        rows = group + 3 * rng.integers(0, 10, (600, 3)) + (0, 30, 60)
        types = ("user", "item", "tag")
        whole = nf.Hypergraph.from_kinds(
            [(types, types, rows)], nodes=range(90), node_types=np.repeat((0, 1, 2), 30), types=types
        )
        split = nf.evaluate.split_hyperedges(whole, 0.2, seed=seed)
        model = nf.DHNE(**fixed | options, seed=seed).fit(split.train, progress=False)
        known = nf.evaluate.hyperedges(model, split.train, known=split.train, duplicates="keep", seed=seed)
        found = nf.evaluate.held_out_hyperedges(model, split, seed=seed)
        pairs = found.baselines["pair co-occurrence"]["AUC"]
        return {
            "known triples, AUC": known.figures["AUC"],
            "held-out triples, AUC": found.figures["AUC"],
            "held-out triples by counts of pairs": pairs,
        }

    return measure


def arriving(fixed: dict[str, Any]) -> Callable[[dict[str, Any], int], Figures]:
    """Five blocks of 60 nodes, 15% of the nodes new, and known ones with vectors of Node2Vec."""

    def measure(options: dict[str, Any], seed: int) -> Figures:
        graph, of = nf.datasets.stochastic_block_model((60,) * 5, p_in=0.12, p_out=0.02, seed=seed)
        split = nf.evaluate.split_nodes(graph, 0.15, seed=seed)
        base = nf.Node2Vec(dim=16, length=40, epochs=3, seed=seed).fit(split.known, progress=False).embedding_
        model = nf.DepthLGP(**fixed | options, seed=seed).fit(split.known, base, progress=False)
        return _placed(nf.evaluate.out_of_sample(model, split, base=base, classes=of, seed=seed))

    return measure


def growing(fixed: dict[str, Any]) -> Callable[[dict[str, Any], int], Figures]:
    """The same for node2vec++, whose vectors are its own; LocalAvg is over those."""

    def measure(options: dict[str, Any], seed: int) -> Figures:
        graph, of = nf.datasets.stochastic_block_model((60,) * 5, p_in=0.12, p_out=0.02, seed=seed)
        split = nf.evaluate.split_nodes(graph, 0.15, seed=seed)
        model = nf.Node2VecPlus(**fixed | options, seed=seed).fit(split.known, progress=False)
        return _placed(nf.evaluate.out_of_sample(model, split, classes=of, seed=seed))

    return measure


def _placed(found: nf.evaluate.Result) -> Figures:
    return {
        "blocks of new nodes, accuracy": found.figures["accuracy"],
        "links of new nodes, AUC": found.figures["AUC"],
        "the same by LocalAvg": found.baselines["LocalAvg"]["AUC"],
    }


STUDIES = {
    "sdne": Study(
        blocks("sdne", "dot", {"dim": 32, "hidden": (64,), "epochs": 100}),
        {"alpha": (0.01, 0.1, 1, 10, 100), "beta": (1, 3, 10, 30, 100), "dim": (2, 4, 8, 16, 32, 64)},
        "dim=32, hidden=(64,), epochs=100",
    ),
    "drne": Study(
        planted({"epochs": 40}),
        {
            "rounds": (0, 1, 2, 3, 5),
            "lambda_": (0.01, 0.1, 1, 10),
            "max_neighbors": (1, 2, 3, 4, 300),
            "dim": (4, 8, 16, 32, 64),
        },
        "epochs=40",
    ),
    "dhne": Study(
        agreeing(
            {
                "dim": 16,
                "epochs": 20,
                "hidden": 0,
                "products": 0,
                "nu": 0.0,
                "replaced": 1.1,
                "scale": "log",
                "dropout": 0.0,
                "lr": 0.01,
            }
        ),
        {"alpha": (0, 0.1, 1, 10, 100), "n_negatives": (1, 2, 5, 10), "dim": (2, 4, 8, 16, 32)},
        "dim=16, epochs=20",
    ),
    "dvne": Study(
        blocks("dvne", "w2", {"dim": 16, "hidden": 64, "epochs": 25}),
        {"alpha": (0, 0.6, 6, 60), "repulsion": (1, 3, 10, 30, 100), "dim": (2, 4, 8, 16, 32)},
        "dim=16, hidden=64, epochs=25",
    ),
    "depthlgp": Study(
        arriving({"epochs": 3}),
        {"epochs": (0, 1, 3, 10), "zeta": (0, 0.01, 0.1, 1, 10), "hidden": (0, 16, 64, 256)},
        "epochs=3",
    ),
    "node2vecplus": Study(
        growing({"dim": 16, "length": 40}),
        {"epochs": (1, 2, 5, 10, 20), "zeta": (0, 0.01, 0.1, 1, 10), "hidden": (0, 16, 64, 256)},
        "dim=16, length=40",
    ),
    "node2vec": Study(
        blocks("node2vec", "cosine", {"dim": 32, "length": 40, "epochs": 5}),
        {"window": (1, 2, 5, 10, 20), "q": (0.1, 0.3, 1, 3, 10), "dim": (2, 4, 8, 16, 32, 64)},
        "dim=32, length=40, epochs=5",
    ),
    "line": Study(
        blocks("line", "cosine", {"dim": 32, "init": "none"}),
        {"order": ("first", "second", "both"), "epochs": (5, 10, 20, 40, 80), "dim": (2, 4, 8, 16, 32, 64)},
        "dim=32",
    ),
    "spectral": Study(
        blocks("spectral", "cosine", {"dim": 32, "power": 1.0}),
        {
            "matrix": ("adjacency", "ppmi", "normalized", "laplacian", "prone"),
            "power": (0, 0.5, 1, 2, 4),
            "regularization": (0, 0.1, 0.3, 1, 3),
        },
        "dim=32, power=1",
    ),
    "degreefeatures": Study(planted({}, "degreefeatures"), {"dim": (2, 5, 9, 16, 32, 64)}, "the defaults"),
    "graphwave": Study(
        planted({}, "graphwave"), {"scale": (0.5, 1, 2, 5, 10), "dim": (4, 8, 16, 32, 64, 128)}, "the defaults"
    ),
    "joined": Study(
        blocks("joined", "cosine", {"dim": 32}),
        {"of": ("spectral", "degreefeatures", "spectral,degreefeatures"), "dim": (4, 8, 16, 32, 64)},
        "dim=32",
    ),
}


def run(name: str) -> dict[str, Any]:
    """For each option and value, what was measured: a list over seeds for each figure."""
    start, study = time.process_time(), STUDIES[name]
    panels = {
        option: {str(v): _over_seeds(study, option, v) for v in values} for option, values in study.panels.items()
    }
    return {"fixed": study.what, "seeds": SEEDS, "cpu seconds": round(time.process_time() - start), "panels": panels}


def _over_seeds(study: Study, option: str, value: Any) -> dict[str, list[float]]:
    runs = [study.measure({option: value}, seed) for seed in SEEDS]
    return {figure: [round(float(r[figure]), 4) for r in runs] for figure in runs[0]}


def draw(name: str, record: dict[str, Any], path: Path) -> None:
    """A panel for each option; a line for each figure, a dot for each run."""
    figure = imported("matplotlib.figure").Figure(figsize=INCHES, dpi=DPI, layout="constrained")
    panels = figure.subplots(1, len(record["panels"]), sharey=True, squeeze=False)[0]
    for axes, (option, values) in zip(panels, record["panels"].items(), strict=True):
        _panel(axes, option, values, getattr(nf.MODELS[name](), option))
    lines, words = panels[0].get_legend_handles_labels()
    figure.legend(lines, words, loc="outside upper center", ncols=len(words), frameon=False, labelcolor=INK)
    figure.savefig(path)


def _panel(axes: Any, option: str, values: dict[str, dict[str, list[float]]], default: Any) -> None:
    ticks = list(values)
    joined = "none" if isinstance(default, str) else "-"  # between words there is nothing
    for (color, mark), name in zip(LOOKS, values[ticks[0]], strict=True):
        runs = np.array([values[tick][name] for tick in ticks])
        axes.plot(ticks, runs.mean(1), color=color, marker=mark, markersize=6, linestyle=joined, label=name)
        for column in runs.T:
            axes.plot(ticks, column, ".", color=color, alpha=0.5, markersize=4)
    axes.margins(x=0.15 if isinstance(default, str) else 0.05)
    usual = f"{default:g}" if isinstance(default, float) else str(default)
    if usual in ticks:
        axes.axvline(ticks.index(usual), color="#bbbbbb", zorder=0)
    if isinstance(default, str):
        axes.tick_params(axis="x", labelrotation=15)
    axes.set_xlabel(option, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#eeeeee")


def main(folder: str, *asked: str) -> None:
    known = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    for name in [a for a in asked if a != "--draw"] or STUDIES:
        if "--draw" not in asked:
            known[name] = run(name)
            RECORDS.write_text(json.dumps(known, indent=1) + "\n")
        draw(name, known[name], Path(folder) / f"{name}-parameters.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
