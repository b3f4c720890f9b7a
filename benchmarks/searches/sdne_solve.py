"""SDNE with its last layer solved: CPU seconds to an objective, and to MAP, against Adam alone.

    NETFOLD_DATA=../shared/data python benchmarks/searches/sdne_solve.py ca_grqc [--epochs 40] [--json FILE]

With all else held, column j of x̂ = H̃ W̃ᵀ is a ridge regression: (G + (β² - 1) H̃_jᵀ H̃_j) w̃_j = β² H̃_jᵀ x_j, where H̃_j are
the rows of its non-zeros, and G = H̃ᵀH̃ + ½ nu I (but for the bias) is shared by all. By Woodbury's identity, with
P = H̃ G⁻¹ and S_j = P_j H̃_jᵀ (d x d, d the non-zeros of j): w̃_j = β² P_jᵀ (I + (β² - 1) S_j)⁻¹ x_j. So a solve costs
O(n h² + Σ_j (d_j² h + d_j³)). An epoch here solves that and then takes a step of Adam on all other parameters, at rates
from SDNE's own upwards. "to" is CPU seconds until Adam's objective of `--adam` epochs is reached. Reconstruction is
measured on the graph that was trained on, so no split is touched. What was concluded: docs/decisions.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import netfold as nf
from netfold.embedder.options import config_from_json
from netfold.learn.progress import Progress
from netfold.learn.training import SCHEDULES


def solved(hidden: Tensor, rows: Any, beta: float, nu: float) -> tuple[Tensor, Tensor]:
    """The last layer's table (n x h) and bias (n) that the objective is least for; rows: the matrix by column, CSC."""
    wide = torch.cat([hidden, hidden.new_ones(len(hidden), 1)], dim=1).double()
    ridge = torch.full((wide.shape[1],), nu / 2, dtype=torch.float64)
    ridge[-1] = 0
    gram = wide.t() @ wide + torch.diag(ridge + 1e-9 * wide.square().sum() / wide.shape[1])
    through = torch.cholesky_solve(wide.t(), torch.linalg.cholesky(gram)).t().float()  # P
    wide, out = wide.float(), hidden.new_zeros(rows.shape[1], wide.shape[1])
    degrees = np.diff(rows.indptr)
    for d in np.unique(degrees[degrees > 0]):
        columns = np.flatnonzero(degrees == d)
        entries = rows.indptr[columns][:, None] + np.arange(d)
        at = torch.from_numpy(rows.indices[entries].astype(np.int64))
        x = torch.from_numpy(rows.data[entries].astype(np.float32))
        for some in torch.split(torch.arange(len(columns)), max(1, (1 << 22) // (int(d) * wide.shape[1]))):
            p, h = through[at[some]], wide[at[some]]
            system = torch.bmm(p, h.transpose(1, 2)).mul_(beta**2 - 1)
            system.diagonal(dim1=1, dim2=2).add_(1)
            right = torch.linalg.solve(system, x[some][:, :, None])
            out[torch.from_numpy(columns)[some]] = beta**2 * torch.bmm(p.transpose(1, 2), right)[:, :, 0]
    return out[:, :-1], out[:, -1]


def check() -> float:
    """How far the solution is from the dense one in float64, relatively."""
    from scipy import sparse

    rng, n, h, beta, nu = np.random.default_rng(0), 60, 7, 10.0, 1e-2
    matrix = sparse.csc_array(sparse.random_array((n, n), density=0.1, rng=rng))
    hidden = torch.from_numpy(rng.normal(size=(n, h)).astype(np.float32))
    table, bias = solved(hidden, matrix, beta, nu)
    wide = np.hstack([hidden.numpy().astype(np.float64), np.ones((n, 1))])
    ridge, x, worst = np.diag([nu / 2] * h + [0.0]), matrix.toarray(), 0.0
    for j in range(n):
        weights = np.where(x[:, j] != 0, beta**2, 1.0)
        exact = np.linalg.solve(wide.T @ (weights[:, None] * wide) + ridge, wide.T @ (weights * x[:, j]))
        ours = np.append(table[j].numpy(), bias[j])
        worst = max(worst, float(np.linalg.norm(ours - exact) / max(np.linalg.norm(exact), 1e-12)))
    return worst


def run(graph: Any, options: dict[str, Any], epochs: int, *, solve: bool, lr: float, goal: float | None) -> dict:
    """Train, and say what it cost."""
    model = nf.SDNE(**options, epochs=epochs, lr=lr, device="cpu")
    start = time.process_time()
    data = model._read(graph)
    problem = model._problem(data, torch.device("cpu"), Progress.silent())
    network, to, objectives = problem.network, None, []
    rows = network.weighed(data.graph.adjacency)
    columns = rows.tocsc()
    columns.sort_indices()
    last = {id(network.last.table), id(network.last.bias)} if solve else set()
    optimizer = torch.optim.Adam([p for p in network.parameters() if id(p) not in last], lr=lr, fused=True)
    for epoch in range(epochs):
        (batch,) = problem.batches(epoch)
        if solve:
            with torch.no_grad():
                hidden = network.decoder(network._vectors(batch))
                table, bias = solved(hidden, columns, network.beta, network.nu)
                network.last.table.copy_(table)
                network.last.bias.copy_(bias)
                network.last.table.grad = network.last.bias.grad = None
        optimizer.zero_grad(set_to_none=False)
        for group in optimizer.param_groups:
            group["lr"] = lr * SCHEDULES["cosine"](epoch / epochs)
        terms = network.loss(batch)
        objective = sum(terms.values())
        objectives.append(float(objective))
        if to is None and goal is not None and objectives[-1] <= goal:
            to = [epoch + 1, time.process_time() - start]
        if objective.requires_grad:
            objective.backward()
        optimizer.step()
    if solve:  # for the encoder as it is now
        with torch.no_grad():
            table, bias = solved(network.decoder(network._vectors(batch)), columns, network.beta, network.nu)
            network.last.table.copy_(table)
            network.last.bias.copy_(bias)
    cpu = time.process_time() - start
    model.network_, model.history_, model.graph_facts_ = network, [], data.facts
    model.embedding_ = model._embed(data)
    scores = ("dot", "cosine", "decoder")
    figures = {
        s: nf.evaluate.reconstruction(model, graph, score=s, k=[1], baselines=False).figures["MAP"] for s in scores
    }
    return {"solve": solve, "epochs": epochs, "lr": lr, "cpu": cpu, "objective": objectives[-1], "to": to,
            "least": min(objectives), "map": figures}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default="ca_grqc")
    parser.add_argument("--adam", type=int, default=200)
    parser.add_argument("--epochs", default="5,20,60")
    parser.add_argument("--rates", default="0.003,0.01,0.03")
    parser.add_argument("--options", default='{"tolerance": 0}')
    parser.add_argument("--json", help="a file to append a line to for every run")
    asked = parser.parse_args()
    print(f"from the dense solution: {check():.1e}", flush=True)
    graph = nf.Graph.of(nf.datasets.load(asked.data))
    options, goal = config_from_json(nf.SDNE, json.loads(asked.options)), None
    runs = [(asked.adam, False, 0.003)]
    runs += [(int(e), True, float(lr)) for e in asked.epochs.split(",") for lr in asked.rates.split(",")]
    for epochs, solve, lr in runs:
        record = {"data": asked.data, "options": options} | run(graph, options, epochs, solve=solve, lr=lr, goal=goal)
        goal = record["objective"] if goal is None else goal
        print(json.dumps(record), flush=True)
        if asked.json:
            with Path(asked.json).open("a") as file:
                file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
