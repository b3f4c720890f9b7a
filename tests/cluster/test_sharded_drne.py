"""DRNE over several ranks: losses and gradients are those of one process, whatever the cut."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import netfold as nf
from netfold.io.parts import PartsFolder
from netfold.models.drne.batches import Sequences, batch_of, colors, dense_ranks, neighbors
from netfold.studies.plan import needed_rows, arcs_of_nodes, plan
from several import on_ranks, trained

OPTIONS: dict[str, Any] = {"dim": 4, "batch_size": 20, "device": "cpu", "seed": 2}
CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "plain": ("undirected", 8, {}),
    "a hub, of whose neighbors some are drawn": ("hub", 8, {"max_neighbors": 5, "init": "random"}),
    "directed": ("directed", 5, {"max_neighbors": 6}),
    "fewer parts than ranks": ("hub", 2, {"init": "common"}),
    "one step": ("undirected", 4, {"batch_size": 1000, "lambda_": 0.3}),
}


def a_graph(kind: str, n: int = 61) -> nf.Graph:
    """The last five have no links, but that of a hub to all; a node is linked with itself."""
    rng = np.random.default_rng(7)
    pairs = np.concatenate([rng.integers(0, n - 5, (2 * n, 2)), [[3, 3]]])
    if kind == "hub":
        pairs = np.concatenate([pairs, np.stack([np.zeros(n, int), np.arange(n)], 1)])
    return nf.Graph.from_edges(pairs, nodes=range(n), directed=kind == "directed")


def network_of(folder: Path, options: dict[str, Any]) -> Any:
    """A started sharded DRNE over a folder, in float64."""
    from netfold.cluster.exchange import RankGraph
    from netfold.cluster.ranks import start
    from netfold.models.drne.sharded import ShardedDRNE

    model = nf.DRNE(**options)
    graph = RankGraph(PartsFolder.open(folder, "graph"), start("cpu"))
    own = model._network({"n_nodes": graph.m}).double()
    more = {"most": model.max_neighbors, "batch_size": model.batch_size, "rounds": 1, "chosen": model._chosen}
    network = ShardedDRNE(own, graph, model._generator, **more)
    network.start(model.init)
    return network


def losses(folder: Path, options: dict[str, Any], epoch: int = 3) -> dict[str, Any]:
    """Of each step: its nodes here, terms, gradients, bytes sent; and the start, and colors."""
    network = network_of(folder, options)
    own, answers, steps = network.own, [], network.batches(epoch)
    for p in own.parameters():
        p.grad = torch.zeros_like(p)
    before = network.sent
    for step in steps:
        terms = network.loss(step)
        table = own.table.grad.clone().numpy()
        for p in own.theta:
            p.grad.zero_()
        again = network.loss(step)
        assert {k: float(x) for k, x in terms.items()} == {k: float(x) for k, x in again.items()}
        grads = {name: p.grad.numpy().copy() for name, p in own.named_parameters()} | {"table": table}
        places = [piece.rows for piece in step.batch.pieces]
        rows = step.batch.nodes[torch.cat([torch.zeros(0, dtype=torch.int64), *places])] - network._first
        answers.append(
            {
                "rows": (rows + network._graph.first).numpy(), "terms": {k: float(x) for k, x in terms.items()},
                "grads": grads, "sent": network.sent - before, "m": network._graph.m,
            }
        )  # fmt: skip
        own.table.grad.zero_()
        before = network.sent
    parameters = {name: x.detach().numpy().copy() for name, x in own.named_parameters()}
    return {"steps": answers, "parameters": parameters, "colors": own.colors.numpy(), "embed": network.embed()}


def whole(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """The table of all ranks, one below the other, and what is the same on all."""
    return answers[0] | {"table": np.concatenate([x["table"] for x in answers])}


def read_here(folder: Path, options: dict[str, Any], epoch: int) -> tuple[list[list[int]], Any]:
    """Who is read of each node's neighbors, in order, by loops; and the matrix of neighbors."""
    graph, model, opened = nf.Graph.load(folder), nf.DRNE(**options), PartsFolder.open(folder, "graph")
    matrix = neighbors(graph)
    color, degrees = colors(matrix), np.diff(matrix.indptr)
    lists = []
    for p, (a, b) in enumerate(pairwise(opened.starts.tolist())):
        own = [sorted(matrix.indices[matrix.indptr[v] : matrix.indptr[v + 1]].tolist(), key=lambda u: (color[u], u))
               for v in range(a, b)]  # fmt: skip
        many = sum(len(x) for x in own if len(x) > model.max_neighbors)
        drawn = torch.empty(many, dtype=torch.float64).exponential_(generator=model._generator(4, p, epoch)).tolist()
        for near in own:
            if len(near) > model.max_neighbors:
                keys = {u: drawn.pop(0) / degrees[u] for u in near}
                few = set(sorted(near, key=lambda u: keys[u])[: model.max_neighbors])
                near = [u for u in near if u in few]
            lists.append(near)
    return lists, matrix


def compare(folder: Path, options: dict[str, Any], size: int) -> None:
    answers = on_ranks(size, losses, folder, options) if size > 1 else [losses(folder, options)]
    lists, matrix = read_here(folder, options, 3)
    color = colors(matrix)
    np.testing.assert_array_equal(np.concatenate([x["colors"] for x in answers]), color)
    drawn = Sequences(torch.tensor([0, *np.cumsum([len(x) for x in lists])]), torch.tensor(sum(lists, [])))
    logs = torch.log1p(torch.from_numpy(np.diff(matrix.indptr)).double())
    network = nf.DRNE(**options)._network({"n_nodes": len(lists)}).double()
    started = whole([x["parameters"] for x in answers])
    with torch.no_grad():
        for name, p in network.named_parameters():
            p.copy_(torch.from_numpy(started[name]))
    seen: list[int] = []
    starts = np.cumsum([0, *(x["steps"][0]["m"] for x in answers)])
    for steps in zip(*(x["steps"] for x in answers), strict=True):
        rows = np.sort(np.concatenate([x["rows"] for x in steps]))
        seen += rows.tolist()
        network.zero_grad()
        terms = network.loss(batch_of(drawn, torch.from_numpy(color), logs, torch.from_numpy(rows), 1000))
        for q, step in enumerate(steps):
            assert step["terms"] == steps[0]["terms"], "all ranks see the same loss"
            for name, value in terms.items():
                assert step["terms"][name] == pytest.approx(float(value), rel=1e-12)
            low, high = starts[q], starts[q + 1]  # the bytes, by hand
            named = [{u for v in x["rows"] for u in lists[v]} for x in steps]
            here = sum(not low <= u < high for u in named[q])
            wanted = sum(low <= u < high for r, x in enumerate(named) if r != q for u in x)
            assert step["sent"] == 8 * (4 * (2 * wanted + here) + here)
        grads = whole([x["grads"] for x in steps])
        for name, p in network.named_parameters():
            assert p.grad is not None
            atol = 1e-12 * float(p.grad.abs().max().clamp(min=1e-300))
            np.testing.assert_allclose(grads[name], p.grad.numpy(), rtol=0, atol=atol)
    assert sorted(seen) == list(range(len(lists))), "each node is in one step"


@pytest.mark.parametrize("case", CASES)
def test_one_rank_is_exact(case: str, tmp_path: Path) -> None:
    kind, parts, more = CASES[case]
    a_graph(kind).save(tmp_path / "g.parts", parts=parts)
    compare(tmp_path / "g.parts", OPTIONS | more, 1)


@pytest.mark.parametrize("case", ["a hub, of whose neighbors some are drawn", "directed"])
def test_two_ranks_are_exact(case: str, tmp_path: Path) -> None:
    kind, parts, more = CASES[case]
    a_graph(kind).save(tmp_path / "g.parts", parts=parts)
    compare(tmp_path / "g.parts", OPTIONS | more, 2)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("case", CASES)
def test_several_ranks_are_exact(case: str, size: int, tmp_path: Path) -> None:
    """n = 61 is a multiple of none; of two parts, ranks 3 and 4 have nothing."""
    kind, parts, more = CASES[case]
    a_graph(kind).save(tmp_path / "g.parts", parts=parts)
    compare(tmp_path / "g.parts", OPTIONS | more, size)
    answers, alone = on_ranks(size, losses, tmp_path / "g.parts", OPTIONS | more), losses(tmp_path / "g.parts", OPTIONS | more)
    for name, value in whole([x["parameters"] for x in answers]).items():  # drawn by part, whoever owns it
        np.testing.assert_allclose(value, alone["parameters"][name], atol=1e-12)
    np.testing.assert_allclose(np.concatenate([x["embed"] for x in answers]), alone["embed"], atol=1e-12)
