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
from netfold.studies.plan import arcs_of_nodes, needed_rows, plan
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
    before = network._ranks.sent
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
                "grads": grads, "sent": network._ranks.sent - before, "m": network._graph.m,
            }
        )  # fmt: skip
        own.table.grad.zero_()
        before = network._ranks.sent
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
    drawn = Sequences(
        torch.tensor([0, *np.cumsum([len(x) for x in lists])]), torch.tensor([u for x in lists for u in x])
    )
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
    answers = on_ranks(size, losses, tmp_path / "g.parts", OPTIONS | more)
    alone = losses(tmp_path / "g.parts", OPTIONS | more)
    for name, value in whole([x["parameters"] for x in answers]).items():  # drawn by part, whoever owns it
        np.testing.assert_allclose(value, alone["parameters"][name], atol=1e-12)
    np.testing.assert_allclose(np.concatenate([x["embed"] for x in answers]), alone["embed"], atol=1e-12)


def ranked(seeds: list[int]) -> list[Any]:
    """Pairs of this rank, and their ranks among those of all, for each of several draws."""
    from netfold.cluster.ranks import start
    from netfold.models.drne.sharded import ranks_of_pairs

    ranks, answers = start("cpu"), []
    for seed in seeds:
        rng = np.random.default_rng([seed, ranks.rank])
        count = int(rng.integers(0, 40)) * (ranks.rank != seed % 3)  # of one rank nothing
        first = rng.integers(0, 1 + seed, count, dtype=np.uint64) << np.uint64(60)
        second = rng.integers(0, 7, count, dtype=np.uint64) * np.uint64(0x2AAAAAAAAAAAAAAB)
        answers.append((first, second, ranks_of_pairs(ranks, first, second)))
    return answers


@pytest.mark.parametrize(
    "size", [1, 2, pytest.param(3, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
)
def test_pairs_are_ranked_among_those_of_all(size: int) -> None:
    seeds = list(range(12))
    answers = on_ranks(size, ranked, seeds) if size > 1 else [ranked(seeds)]
    for several in zip(*answers, strict=True):
        first, second, ranks = (np.concatenate([x[i] for x in several]) for i in range(3))
        distinct = sorted(set(zip(first.tolist(), second.tolist(), strict=True)))
        by_hand = [distinct.index(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)]
        assert ranks.tolist() == by_hand == dense_ranks(first, second).tolist()


# -------------------------------------------------------------------- fit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    nf.datasets.chung_lu(300, 1200, seed=1).save(tmp_path / "g.parts", parts=7)
    return tmp_path / "g.parts"


FIT: dict[str, Any] = {"model": "drne", "dim": 6, "epochs": 4, "device": "cpu", "rounds": 2, "vectors": "all"}


def test_vectors_do_not_depend_on_the_ranks(folder: Path) -> None:
    """Nodes of many neighbors among them; the first epoch of `fit(graph)` ends about where it ends here."""
    options = FIT | {"max_neighbors": 12}
    one, several = trained(folder, options), on_ranks(3, trained, folder, options)
    assert [x for answer in several for x in answer["nodes"]] == one["nodes"]
    np.testing.assert_allclose(several[0]["objectives"], one["objectives"], rtol=1e-5)
    np.testing.assert_allclose(np.concatenate([x["vectors"] for x in several]), one["vectors"], atol=1e-4)


def test_where_no_steps_are_drawn_it_is_fit(folder: Path) -> None:
    """In one step an epoch, and no node with too many neighbors: nothing is left to chance but the start, the same."""
    options = {"dim": 6, "epochs": 5, "device": "cpu", "batch_size": 300, "seed": 4}
    graph = nf.Graph.load(folder)
    assert graph.degrees.max() < 300
    alone = nf.DRNE(**options).fit(graph, progress=False)
    here = nf.DRNE(**options).fit(folder, progress=False)
    np.testing.assert_allclose(here.embedding_.vectors, alone.embedding_.vectors, atol=1e-5)
    objectives = [[x["objective"] for x in model.history_] for model in (here, alone)]
    np.testing.assert_allclose(objectives[0], objectives[1], rtol=1e-5)


def test_a_model_of_one_process_is_one_as_any_other(folder: Path, tmp_path: Path) -> None:
    model = nf.DRNE(**{k: x for k, x in FIT.items() if k != "model"}).fit(folder, progress=False)
    model.save(tmp_path / "m.netfold")
    loaded = nf.load(tmp_path / "m.netfold")
    np.testing.assert_array_equal(loaded.embedding_.vectors, model.embedding_.vectors)
    known = list(model.embedding_.nodes)
    new = nf.Graph.from_edges([("new", known[1]), ("new", known[2])])
    assert np.isfinite(model.transform(new).vectors).all()
    np.testing.assert_array_equal(loaded.transform(new).vectors, model.transform(new).vectors)


def largest(folder: Path, options: dict[str, Any]) -> tuple[int, int, int]:
    """The most numbers of a tensor that this rank makes from the first look at the graph on; its nodes and names."""
    from allocations import Allocations

    with Allocations() as seen:
        network = network_of(folder, options)
        for step in network.batches(0):
            network.loss(step)
            network.loss(step)
        network.embed()
    return seen.numbers, network._graph.m, len(network._graph.names())


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_no_rank_holds_a_whole_table_or_all_names(size: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    nf.Graph.from_edges(rng.integers(0, 4000, (6000, 2)), nodes=range(4000)).save(tmp_path / "g.parts", parts=16)
    for numbers, m, names in on_ranks(size, largest, tmp_path / "g.parts", {"dim": 16, "batch_size": 100}):
        assert m <= 4000 / size + 250 and names == m
        assert numbers <= m * 16 < 4000 * 16  # X is the largest


# -------------------------------------------------------------------- plan


def sent(folder: Path, options: dict[str, Any]) -> int:
    network = network_of(folder, options)
    before = network._ranks.sent
    for step in network.batches(0):
        network.loss(step)
        network.loss(step)
    return int(network._ranks.sent - before)


def test_the_bytes_of_an_epoch_are_as_many_as_planned(tmp_path: Path) -> None:
    """Here in float64; what is drawn of many neighbors sends less, so that it is not drawn here."""
    place = tmp_path / "g.parts"
    nf.datasets.chung_lu(3000, 9000, seed=1).save(place, parts=8)
    opened, model = PartsFolder.open(place, "graph"), nf.DRNE(dim=4)
    needed = needed_rows(arcs_of_nodes(opened), 2, 16)
    assert plan(opened, model, ranks=2).sent == round(needed * (12 * 4 + 8))
    counted = np.mean(on_ranks(2, sent, place, {"dim": 4, "max_neighbors": 3000}))
    assert counted == pytest.approx(needed * (24 * 4 + 8), rel=0.03)
