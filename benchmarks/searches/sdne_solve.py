"""SDNE with its last layer solved: CPU seconds to an objective, and to MAP, against Adam alone.

    NETFOLD_DATA=../shared/data python benchmarks/searches/sdne_solve.py ca_grqc [--epochs 40] [--json FILE]

With all else held, each column of the last layer is a ridge regression (`learn/solvers.ridge_columns`). An epoch here
solves those and then takes a step of Adam on all other parameters, at rates from SDNE's own upwards. "to" is CPU
seconds until Adam's objective of `--adam` epochs is reached. Reconstruction is measured on the graph that was trained
on, so no split is touched. What was concluded: docs/decisions/0019-sdne-last-layer-solved.md.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

import netfold as nf
from netfold.embedder.options import config_from_json
from netfold.learn.progress import Progress
from netfold.learn.solvers import ridge_columns
from netfold.learn.training import SCHEDULES


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
                table, bias = ridge_columns(hidden, columns, network.beta, network.nu / 2)
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
            table, bias = ridge_columns(network.decoder(network._vectors(batch)), columns, network.beta, network.nu / 2)
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
