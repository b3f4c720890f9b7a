"""Time and quality of netfold beside what pip installs: the same graphs, the same evaluation, one run.

    NETFOLD_DATA=/path/to/data python benchmarks/peers/compare.py --python /tmp/peers/bin/python
    python benchmarks/peers/compare.py --graphs block --only 'netfold|scikit-network'  # no data, one other library

Peers live in environments of their own, as they pin what netfold does not (`--python`, more than once where two cannot
share one):

    python -m venv /tmp/peers
    /tmp/peers/bin/pip install torch scikit-network pecanpy nodevectors pycleora torch_geometric Python-EasyGraph
    /tmp/peers/bin/pip install --no-deps karateclub pygsp python-louvain six    # its pins do not build on Python 3.11
    python -m venv /tmp/gem && /tmp/gem/bin/pip install nxt_gem                 # tensorflow, and another numpy

Every method is fitted in a process of its own, with one thread, its own defaults, 128 dimensions and seed 0; what it
lacks or fails on is its row. "CPU s" and "wall s" are those of the fit alone, without imports; "peak MiB" is the whole
process, its libraries included. A training that would take more than `--limit` CPU seconds is stopped after a few
epochs: its row says what all would take, and no quality. The vectors are then evaluated here, alike for all.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from netfold import datasets, evaluate
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.evaluate.result import facts_in_words
from netfold.studies.machine import machine

DIM, SEED = 128, 0
CHILD = Path(__file__).with_name("fit.py")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
QUIET = {"PYTHONHASHSEED": "0", "TF_CPP_MIN_LOG_LEVEL": "3"}
FOR_CLASSES = {
    "alpha": 2, "beta": 3, "nu": 100, "row_damping": 0.4, "column_damping": 0.4, "dropout": 0.2, "epochs": 400,
}  # fmt: skip

# ---------------------------------------------------------------- the graphs, and how vectors of them are judged

Judgement = tuple[dict[str, str], dict[str, Any]]
"""Figures as they are printed, and the protocol behind them."""


@dataclass(frozen=True)
class Task:
    """A graph, what is known of it, and the figures of an embedding."""

    title: str
    graph: Graph
    judge: Callable[[Embedding], Judgement]


def blocks(size: int, p_in: float, p_out: float) -> Task:
    """Ten equal blocks, average degree 20, half of the edges inside."""
    graph, truth = datasets.stochastic_block_model((size,) * 10, p_in, p_out, seed=SEED)
    title = f"Block model, {graph!r}, 10 blocks, half of the edges inside"
    return Task(title, graph, lambda x: classified(x, truth, (0.5,), repeats=5, figures=("accuracy",)))


def blogcatalog() -> Task:
    """The bloggers' 39 groups."""
    graph, truth = Graph.of(datasets.load("blogcatalog")), datasets.classes("blogcatalog")
    return Task(f"BlogCatalog, {graph!r}", graph, lambda x: classified(x, truth, (0.1, 0.9), repeats=2))


def cora() -> Task:
    """Papers and their seven subjects, citations taken in either direction."""
    graph, truth = Graph.of(datasets.load("cora", directed=False)), datasets.classes("cora")
    return Task(f"Cora, {graph!r}", graph, lambda x: classified(x, truth, (0.1, 0.9), repeats=5))


def grqc() -> Task:
    """Co-authors in general relativity."""
    graph = Graph.of(datasets.load("ca_grqc"))
    return Task(f"ca-GrQc, {graph!r}", graph, lambda x: reconstructed(x, graph))


TASKS: dict[str, Callable[[], Task]] = {
    "small": lambda: blocks(100, 0.1, 1 / 90),
    "block": lambda: blocks(1000, 0.01, 1 / 900),
    "blog": blogcatalog,
    "cora": cora,
    "grqc": grqc,
}


def classified(
    embedding: Embedding,
    truth: Mapping[Any, Any],
    train: tuple[float, ...],
    repeats: int,
    figures: tuple[str, ...] = ("micro-F1", "macro-F1"),
) -> Judgement:
    """By `nf.evaluate.classification` with its defaults, which the protocol names."""
    found = evaluate.classification(embedding, truth, train=train, repeats=repeats, baselines=False)
    wanted = [x for x in found.figures if x.startswith(figures)]
    return {x: f"{found.figures[x]:.3f} ± {found.deviations[x]:.3f}" for x in wanted}, dict(found.protocol)


def reconstructed(embedding: Embedding, graph: Graph) -> Judgement:
    """By `nf.evaluate.reconstruction` of the vectors alone, with whichever score is better for them."""
    scores = ("dot", "cosine")
    each = {x: evaluate.reconstruction(embedding, graph, score=x, k=(1000,), baselines=False) for x in scores}
    best = max(each, key=lambda x: each[x].figures["MAP"])
    protocol = dict(each[best].protocol) | {"score": "dot or cosine, the better one of each method"}
    return {"MAP": f"{each[best].figures['MAP']:.3f}", "by": best}, protocol


# ---------------------------------------------------------------- the methods


@dataclass(frozen=True)
class Method:
    """A row: the function of `benchmarks/peers` that fits it, the packages whose versions matter, and the graphs."""

    name: str
    adapter: str
    packages: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    graphs: tuple[str, ...] = ("block", "blog", "cora", "grqc")


DENSE = ("small", "block")
"""Where implementations of dense rows run: they end on the small one; on the others they are stopped, alike."""
METHODS = (
    Method("netfold SDNE", "netfold_sdne:sdne", ("netfold", "torch"), graphs=tuple(TASKS)),
    Method(
        "netfold SDNE, no hidden layer, 50 epochs",
        "netfold_sdne:sdne",
        ("netfold", "torch"),
        {"hidden": [], "epochs": 50},
        graphs=DENSE,
    ),
    Method(
        "netfold SDNE, for classes",
        "netfold_sdne:sdne",
        ("netfold", "torch"),
        {"hidden": [], **FOR_CLASSES},
        graphs=("blog",),
    ),
    *(
        Method(
            f"netfold Spectral, {form}",
            "netfold_spectral:spectral",
            ("netfold", "torch"),
            {"matrix": form},
        )
        for form in ("adjacency", "ppmi", "normalized", "laplacian", "propagation", "prone")
    ),
    Method("scikit-network Spectral", "scikit_network:spectral", ("scikit-network",)),
    Method("scikit-network SVD", "scikit_network:svd", ("scikit-network",)),
    Method("nodevectors ProNE", "nodevectors_prone:prone", ("nodevectors",), graphs=tuple(TASKS)),
    Method("Cleora", "cleora:cleora", ("pycleora",)),
    Method("PecanPy node2vec", "pecanpy_node2vec:node2vec", ("pecanpy", "gensim")),
    Method("karateclub DeepWalk", "karateclub_deepwalk:deepwalk", ("karateclub", "gensim"), graphs=("block",)),
    Method("torch_geometric Node2Vec", "torch_geometric_models:node2vec", ("torch_geometric", "torch")),
    Method("torch_geometric GAE", "torch_geometric_models:gae", ("torch_geometric", "torch")),
    Method("dense SDNE, as CogDL's", "dense_sdne:sdne", ("torch",), graphs=DENSE),
    Method("EasyGraph SDNE", "easygraph_sdne:sdne", ("Python-EasyGraph", "torch"), graphs=DENSE),
    Method("GEM SDNE", "gem_sdne:sdne", ("nxt_gem", "tensorflow"), graphs=("small",)),
)

# ---------------------------------------------------------------- fitting one

Report = dict[str, Any]
"""What `peers/fit.py` says: `missing`, or `failed`, or the cost; here also `figures` and `protocol`."""


def fitted(method: Method, task: Task, graph: Path, pythons: list[str], limit: float) -> Report:
    """The report of the first interpreter that has the library; and the figures, where there are vectors."""
    report: Report = {}
    for python in pythons:
        with tempfile.TemporaryDirectory(prefix="netfold-peer-") as folder:
            report = run_child(method, Path(folder), graph, python, limit)
            vectors = Path(folder) / "vectors.npy"
            if vectors.exists():
                report |= judged(task, np.load(vectors))
        if "missing" not in report:
            break
    return report


def run_child(method: Method, folder: Path, graph: Path, python: str, limit: float) -> Report:
    """Fit in a process of its own, which the system ends where it needs more CPU than the limit."""
    job: dict[str, Any] = {"adapter": method.adapter, "packages": method.packages, "options": dict(method.options)}
    job |= {"graph": str(graph), "dim": DIM, "seed": SEED, "limit": limit}
    (folder / "job.json").write_text(json.dumps(job))
    try:
        done = subprocess.run(
            [python, str(CHILD), str(folder)],
            env=os.environ | ONE_THREAD | QUIET,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=5 * limit,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no end within {5 * limit:,.0f} s of wall time"}
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"foretold": f"over {limit:,.0f}"} if done.returncode == -signal.SIGXCPU else {"failed": "killed"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}
    found: Report = json.loads((folder / "report.json").read_text())
    return found


def judged(task: Task, vectors: np.ndarray[Any, Any]) -> Report:
    """The figures of vectors, in the order of the graph's nodes; or what is wrong with them."""
    if vectors.shape != (task.graph.n_nodes, DIM) or not np.isfinite(vectors).all():
        return {"failed": f"its vectors are {vectors.shape} or not finite"}
    figures, protocol = task.judge(Embedding(task.graph.nodes, vectors))
    return {"figures": figures, "protocol": facts_in_words(protocol)}


# ---------------------------------------------------------------- the tables


def rows_of(methods: list[Method], task: Task, pythons: list[str], limit: float) -> Iterator[tuple[Method, Report]]:
    """Each method with its report, told on stderr as it comes."""
    with tempfile.TemporaryDirectory(prefix="netfold-peers-") as folder:
        graph = Path(folder) / "graph.npz"
        sparse.save_npz(graph, sparse.csr_matrix(task.graph.adjacency))
        for method in methods:
            report = fitted(method, task, graph, pythons, limit)
            print(f"  {method.name}: {in_short(report)}", file=sys.stderr, flush=True)
            yield method, report


def in_short(report: Report) -> str:
    """One line of progress."""
    figures = ", ".join(f"{name} {value}" for name, value in report.get("figures", {}).items())
    return why_not(report) or f"{report['cpu']:.1f} CPU s, {figures}"


def why_not(report: Report) -> str:
    """Why a row has no figures, or nothing."""
    if "missing" in report:
        return f"not installed ({report['missing']})"
    if "failed" in report:
        return f"does not run: {' '.join(report['failed'].split())[:160]}"
    return "not trained to the end" if report["foretold"] else ""


def table(rows: list[tuple[Method, Report]]) -> str:
    """Markdown: the best in the first figure on top, those without any below."""
    names = next((list(report["figures"]) for _, report in rows if "figures" in report), ["figures"])
    order = sorted(rows, key=lambda row: next(iter(row[1].get("figures", {}).values()), ""), reverse=True)
    lines = [["method", "version", "CPU s", "wall s", "peak MiB", *names]]
    lines.append(["---"] * len(lines[0]))
    lines += [cells(method, report, names) for method, report in order]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(method: Method, report: Report, names: list[str]) -> list[str]:
    """One row; where there are no figures, the reason stands in the first of their columns."""
    versions = ", ".join(f"{name} {version}" for name, version in report.get("versions", {}).items())
    cost = [f"{report[x]:,.{digits}f}" if x in report else "" for x, digits in (("cpu", 1), ("wall", 1), ("peak", 0))]
    if report.get("foretold"):
        cost[:2] = [report["foretold"], ""]
    figures = report.get("figures") or dict.fromkeys(names, "") | {names[0]: why_not(report)}
    return [method.name, versions, *cost, *figures.values()]


def main() -> None:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression of the methods' names")
    parser.add_argument("--graphs", default=",".join(TASKS), help=f"of {', '.join(TASKS)}; separated by commas")
    parser.add_argument("--python", action="append", default=[], help="an interpreter that has peers; more than once")
    parser.add_argument("--limit", type=float, default=300, help="CPU seconds that a fit may take")
    asked = parser.parse_args()
    wanted = asked.graphs.split(",")
    if unknown := set(wanted) - set(TASKS):
        parser.error(f"--graphs has {', '.join(sorted(unknown))}; there are {', '.join(TASKS)}")
    print(f"{time.strftime('%Y-%m-%d')}, {machine()}, one thread, Python {sys.version.split()[0]}\n")
    for name in wanted:
        methods = [x for x in METHODS if name in x.graphs and re.search(asked.only, x.name)]
        try:
            compare(TASKS[name](), methods, [sys.executable, *asked.python], asked.limit)
        except InputError as error:  # data that is not here
            print(f"{name}: {error}\n", flush=True)


def compare(task: Task, methods: list[Method], pythons: list[str], limit: float) -> None:
    """Fit and judge all, and print their table."""
    print(task.title, file=sys.stderr, flush=True)
    rows = list(rows_of(methods, task, pythons, limit))
    protocol = next((f"Protocol: {report['protocol']}\n" for _, report in rows if "protocol" in report), "")
    print(f"{task.title}\n\n{table(rows)}\n\n{protocol}", flush=True)


if __name__ == "__main__":
    main()
