"""Which SDNE serves which table: configurations tried, measured on validation splits only. See docs/decisions/0007.

    NETFOLD_DATA=../shared/data python benchmarks/searches/sdne.py TASK [--only REGEX] [--seeds N] [--json FILE]

TASK is one of `reconstruction` (ca-GrQc, the graph that is trained on), `links` (ca-GrQc: 15% of the edges are held out
as the test set and never looked at; of the rest 15% are held out again, and those are ranked), `classes` (BlogCatalog:
classes of a fixed random half of the nodes; the other half is never looked at), `blocks` (a block model of another
seed)
and `newsgroups` (the map's own divergence, which no label enters).
Figures are computed here, by torch, so that hundreds of configurations fit into minutes of a GPU.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.graph import Graph
from netfold.models.sdne import SDNE

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
Config = dict[str, Any]


def data(name: str, file: str) -> np.ndarray:
    import gzip
    import os

    with gzip.open(Path(os.environ["NETFOLD_DATA"]) / name / file, "rt") as lines:
        next(lines)
        return np.array([[int(x) for x in line.split(",")[:2]] for line in lines])


def graph_of(edges: np.ndarray, n: int) -> Graph:
    u, v = edges.T
    matrix = sparse.coo_array((np.ones(len(u)), (u, v)), shape=(n, n)).tocsr()
    both = sparse.csr_array(matrix + matrix.T)
    both.data[:] = 1
    return Graph(both, range(n))


def halved(edges: np.ndarray, held_out: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    edges = edges[edges[:, 0] != edges[:, 1]]
    order = np.random.default_rng(seed).permutation(len(edges))
    count = round(held_out * len(edges))
    return edges[order[count:]], edges[order[:count]]


def fit(graph: Graph, config: Config, seed: int) -> tuple[SDNE, Graph]:
    """A model, and the graph that it was given: S itself, or rows of longer walks."""
    options = {k: v for k, v in config.items() if not k.startswith("_")}
    if "_walk" in config:
        graph = Graph(walked(graph.adjacency, config["_walk"], config.get("_b", 1.0)), graph.nodes)
    return SDNE(**{"seed": seed} | options).fit(graph, progress=False), graph


def walked(matrix: sparse.csr_array, window: int, b: float) -> sparse.csr_array:
    """log⁺ of vol(G) / (b T) Σ_r P^r D⁻¹, dense: to see what the rows of longer walks would give."""
    a = torch.tensor(matrix.toarray(), device=DEVICE).double()
    d = a.sum(1).clamp(min=1e-9)
    step, total = a / d[:, None], torch.zeros_like(a)
    power = torch.eye(len(a), device=DEVICE, dtype=torch.float64)
    for _ in range(window):
        power = power @ step
        total += power
    found = (total * (d.sum() / b / window) / d).clamp(min=1).log()
    found = (found + found.T) / 2
    return sparse.csr_array(found.cpu().numpy().astype(np.float32))


def scores_of(model: SDNE, graph: Graph) -> Iterator[tuple[str, Tensor]]:
    y = torch.tensor(model.embedding_.vectors, device=DEVICE).double()
    yield "dot", (y @ y.T).float()
    unit = torch.nn.functional.normalize(y)
    yield "cosine", (unit @ unit.T).float()
    middle = torch.nn.functional.normalize(y - y.mean(0))
    yield "centred", (middle @ middle.T).float()
    yield "distance", -torch.cdist(y, y).float()
    rows = np.array_split(np.arange(graph.n_nodes), 8)
    decoded = torch.cat([torch.from_numpy(model.reconstruct(graph, r)).to(DEVICE) for r in rows])
    yield "decoder", decoded.clone()
    yield "decoder+", decoded + decoded.T


def mean_average_precision(scores: Tensor, wanted: Tensor) -> float:
    some = wanted.any(1)
    hit = wanted[some].gather(1, scores[some].argsort(1, descending=True))
    place = torch.arange(1, hit.shape[1] + 1, device=hit.device)
    return float((((hit.cumsum(1) / place) * hit).sum(1) / hit.sum(1)).mean())


def dense(graph_or_edges: Any, n: int) -> Tensor:
    u, v = graph_or_edges.T
    out = torch.zeros(n, n, dtype=torch.bool, device=DEVICE)
    out[u, v] = out[v, u] = True
    return out


# ---------------------------------------------------------------- the tasks


def reconstruction(config: Config, seed: int) -> dict[str, float]:
    edges = data("ca_grqc", "edges.csv.gz")
    graph = graph_of(edges, 5242)
    (model, graph), linked = fit(graph, config, seed), dense(edges[edges[:, 0] != edges[:, 1]], 5242)
    figures = {}
    for name, scores in scores_of(model, graph):
        scores.fill_diagonal_(-torch.inf)
        figures[name] = mean_average_precision(scores, linked)
    return figures


def links(config: Config, seed: int) -> dict[str, float]:
    edges = data("ca_grqc", "edges.csv.gz")
    train, _ = halved(edges, 0.15, seed)
    fitted, held_out = halved(train, 0.15, 1000 + seed)
    graph = graph_of(fitted, 5242)
    model, graph = fit(graph, config, seed)
    seen, wanted, figures = dense(fitted, 5242), dense(held_out, 5242), {}
    for name, scores in scores_of(model, graph):
        scores.fill_diagonal_(-torch.inf)
        scores[seen] = -torch.inf
        hits = wanted.flatten()[scores.flatten().topk(10_000).indices]
        figures |= {f"{name}@1k": float(hits[:1000].double().mean()), f"{name}@10k": float(hits.double().mean())}
    return figures


def classes(config: Config, seed: int) -> dict[str, float]:
    """Micro and macro F1, top-k with k known, training on 1031 nodes (10% of all) or on 90% of the half looked at."""
    rows, own = data("blogcatalog", "labels.csv.gz").T
    truth = torch.zeros(10_312, 39, device=DEVICE)
    truth[rows, own] = 1
    mine = np.random.default_rng(12345).permutation(10_312)[:5156]
    graph = graph_of(data("blogcatalog", "edges.csv.gz"), 10_312)
    model, _ = fit(graph, config, seed)
    y = torch.tensor(model.embedding_.vectors, device=DEVICE).double()
    return class_figures(y[mine], truth[mine].double())


def class_figures(y: Tensor, truth: Tensor) -> dict[str, float]:
    figures: dict[str, list[float]] = {}
    shapes = {"unit": torch.nn.functional.normalize(y) * 128**0.5}
    shapes["centred"] = torch.nn.functional.normalize(y - y.mean(0)) * 128**0.5
    for (shape, x), repeat in itertools.product(shapes.items(), range(4)):
        order = torch.from_numpy(np.random.default_rng(repeat).permutation(len(x)))
        for title, count in (("10", 1031), ("90", len(x) * 9 // 10)):
            train, test = order[:count], order[count:]
            for cost in (0.01, 0.03, 0.1):
                found = one_vs_rest(x[train], truth[train], cost)(x[test])
                for kind, value in f1(found, truth[test]).items():
                    figures.setdefault(f"{shape} C{cost:g} {kind}@{title}", []).append(value)
    return {name: float(np.mean(values)) for name, values in figures.items()}


def one_vs_rest(x: Tensor, truth: Tensor, cost: float) -> Callable[[Tensor], Tensor]:
    """Logistic regressions, all classes at once, by Newton's method: ½‖w‖² + cost Σ log(1 + exp(-t f))."""
    x1 = torch.cat([x, x.new_ones(len(x), 1)], 1)
    w = x.new_zeros(truth.shape[1], x1.shape[1])
    ridge = torch.ones_like(w[0])
    ridge[-1] = 1e-6
    for _ in range(12):
        p = torch.sigmoid(x1 @ w.T)
        gradient = cost * (p - truth).T @ x1 + w * ridge
        curvature = torch.einsum("nc,ni,nj->cij", cost * p * (1 - p), x1, x1) + torch.diag(ridge)
        w = w - torch.linalg.solve(curvature, gradient)
    return lambda new: new @ w[:, :-1].T + w[:, -1]


def f1(scores: Tensor, truth: Tensor) -> dict[str, float]:
    places = scores.argsort(1, descending=True).argsort(1)
    found = (places < truth.sum(1, keepdim=True)).double()
    hit, made, real = (found * truth).sum(0), found.sum(0), truth.sum(0)
    each = 2 * hit / (made + real).clamp(min=1)
    return {"micro": float(2 * hit.sum() / (made.sum() + real.sum())), "macro": float(each.mean())}


def blocks(config: Config, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(100 + seed)
    n, block = 10_000, np.arange(10_000) % 10
    edges = []
    for i in range(n):
        p = np.where(block[i + 1 :] == block[i], 0.01, 1 / 900)
        j = i + 1 + np.flatnonzero(rng.random(n - i - 1) < p)
        edges.append(np.stack([np.full(len(j), i), j], 1))
    start = time.process_time()
    model, _ = fit(graph_of(np.concatenate(edges), n), config, seed)
    seconds = time.process_time() - start
    y, truth = torch.tensor(model.embedding_.vectors, device=DEVICE).double(), torch.tensor(block, device=DEVICE)
    figures = {"cpu": seconds}
    order = torch.from_numpy(np.random.default_rng(seed).permutation(n))
    train, test = order[: n // 2], order[n // 2 :]
    one_hot = torch.nn.functional.one_hot(truth, 10).double()
    for shape, x in {"raw": y / y.std(), "unit": torch.nn.functional.normalize(y) * y.shape[1] ** 0.5}.items():
        for cost in (0.003, 0.03, 1.0):
            found = one_vs_rest(x[train], one_hot[train], cost)(x[test]).argmax(1)
            figures[f"{shape} C{cost:g}"] = float((found == truth[test]).double().mean())
    return figures


def newsgroups(config: Config, seed: int) -> dict[str, float]:
    """The divergence of a t-SNE map, and how many of a document's five nearest in the plane are of its group."""
    import netfold as nf

    model, _ = fit(nf.datasets.load("newsgroups3"), config, seed)
    found = nf.evaluate.visualization(model, nf.datasets.classes("newsgroups3"), seed=seed, baselines=False)
    return dict(found.figures)


TASKS: dict[str, Callable[[Config, int], dict[str, float]]] = {
    "reconstruction": reconstruction, "links": links, "classes": classes, "blocks": blocks,
    "newsgroups": newsgroups,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--configs", help="a file: one JSON object of options a line")
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no configuration after so many")
    parser.add_argument("--json", help="append a line a configuration to this file")
    args = parser.parse_args()
    begun = time.perf_counter()
    for line in Path(args.configs).read_text().splitlines():
        if not line.strip() or not re.search(args.only, line):
            continue
        if time.perf_counter() - begun > args.seconds:
            print("out of time before", line)
            break
        config = {k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(line).items()}
        start = time.perf_counter()
        try:
            each = [TASKS[args.task](config, seed) for seed in range(args.seeds)]
        except Exception as e:
            print(f"{line}: {type(e).__name__} {e}", flush=True)
            continue
        figures = {name: round(float(np.mean([f[name] for f in each])), 4) for name in each[0]}
        print(f"{line}  {time.perf_counter() - start:.1f}s  {show(figures)}", flush=True)
        if args.json:
            with Path(args.json).open("a") as out:
                out.write(
                    json.dumps({"task": args.task, "config": config, "seeds": args.seeds, "figures": figures}) + "\n"
                )


def show(figures: dict[str, float]) -> str:
    return " ".join(f"{name} {value:.3f}" for name, value in figures.items())


if __name__ == "__main__":
    main()
