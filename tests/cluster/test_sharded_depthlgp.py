"""DepthLGP over several ranks: losses and gradients are those of one process, whatever the cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import netfold as nf
from netfold.io.parts import PartsFolder, write_vector_parts
from netfold.learn.draws import uniform_at
from netfold.models.depthlgp.network import Batch
from netfold.models.lgp.neighborhoods import MatrixRows, links_in, surroundings, unit_of
from several import on_ranks

N, DIM = 61, 5
OPTIONS: dict[str, Any] = {"samples": 24, "batch_size": 8, "hidden": 7, "device": "cpu", "seed": 3, "starts": "given"}
CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "plain": ("undirected", 8, {}),
    "a hub, of whose links some are drawn": ("hub", 8, {"one_step": 5, "two_step": 2, "roots": 3}),
    "each node alone": ("hub", 7, {"roots": 1, "two_step": 3}),
    "starts are chosen": ("undirected", 8, {"starts": "chosen"}),
    "directed": ("directed", 5, {"two_step": 3, "sharing": "none"}),
    "fewer parts than ranks": ("hub", 2, {"sharing": "halves", "zeta": 0.5}),
}


def save(place: Path, kind: str, parts: int) -> None:
    """A graph with weights, whose last five nodes have no links but that of a hub to all, and vectors of its nodes."""
    rng = np.random.default_rng(7)
    pairs = np.concatenate([rng.integers(0, N - 5, (2 * N, 2)), [[3, 3]]])
    if kind == "hub":
        pairs = np.concatenate([pairs, np.stack([np.zeros(N, int), np.arange(N)], 1)])
    weights = 40 * rng.random(len(pairs)) + 0.1
    graph = nf.Graph.from_edges(pairs, weights, nodes=range(N), directed=kind == "directed")
    graph.save(place / "g.parts", parts=parts)
    vectors = rng.normal(size=(N, DIM)).astype(np.float32)
    write_vector_parts(place / "v.parts", graph.nodes, vectors, parts=parts)


def network_of(place: Path, options: dict[str, Any]) -> Any:
    """A started sharded DepthLGP over a folder, in float64."""
    from netfold.cluster.exchange import RankGraph
    from netfold.cluster.ranks import start
    from netfold.embedder.parts import _own_vectors
    from netfold.models.depthlgp.sharded import Sampling, ShardedDepthLGP

    model = nf.DepthLGP(**options)
    graph = RankGraph(PartsFolder.open(place / "g.parts", "graph"), start("cpu"))
    vectors = _own_vectors(graph, PartsFolder.open(place / "v.parts", "embedding"))
    own = model._network({"n_nodes": graph.m, "dim": DIM, "entries": 0}).double()
    prior = model.eta, model.zeta
    sampling = Sampling(model.samples, model.batch_size, model.roots, model._caps())
    network = ShardedDepthLGP(
        own, graph, vectors, model._generator, sampling, chosen=model.starts == "chosen", prior=prior
    )
    network.start(mean=True)
    return network


def losses(place: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Of each step: subgraphs, terms and gradients here; the start, and what is measured at last."""
    network = network_of(place, options)
    own, answers, asked = network.own, [], []
    batch_of = network._batch

    def noted(new: Any, group: Any, keys: Any) -> Any:
        asked.append({"new": new, "group": group, "keys": keys.numpy()})
        return batch_of(new, group, keys)

    network._batch = noted
    for batch in network.batches(2):
        own.zero_grad()
        terms = network.loss(batch)
        grads = {}
        for name, p in own.named_parameters():
            grads[name] = (p.grad.to_dense() if p.grad.is_sparse else p.grad).numpy().copy()
        answers.append(asked[-1] | {"risk": float(terms["risk"]), "grads": grads})
    parameters = {name: x.detach().numpy().copy() for name, x in own.named_parameters()}
    start = {"mean": own.mean.numpy().copy(), "starts": own.kernel.starts.numpy().copy(), "unit": network.unit}
    network._batch = batch_of
    network.embed()
    measured = {name: x.detach().numpy().copy() for name, x in own.spread.named_buffers()}
    last = {name: x.detach().numpy().copy() for name, x in own.kernel.named_parameters()} | {"scale": own.scale}
    return {"steps": answers, "parameters": parameters, **start, "measured": measured, "last": last}


SPREAD = ("latent", "kernel.raw_weights", "raw_weights")


def whole(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Tables of all ranks one below the other, and what is the same on all."""
    return {k: np.concatenate([x[k] for x in answers]) if k in SPREAD else v for k, v in answers[0].items()}


class Keyed(MatrixRows):
    """Links of a matrix, and the numbers of a subgraph's key, a node and a slot."""

    keys: Any

    def drawn(self, group: Any, node: Any, slot: Any, step: int) -> Any:
        key, places = torch.from_numpy(self.keys[group]), torch.from_numpy(((node * 2 + step - 1) << 24) + slot)
        return uniform_at(key, places).numpy()


def compare(place: Path, options: dict[str, Any], size: int) -> list[dict[str, Any]]:
    answers = on_ranks(size, losses, place, options) if size > 1 else [losses(place, options)]
    graph, vectors = nf.Graph.load(place / "g.parts"), nf.Embedding.load(place / "v.parts")
    model = nf.DepthLGP(**options)
    matrix = links_in(graph, unit_of(graph.adjacency))
    network = model._network({"n_nodes": N, "dim": DIM, "entries": 0}).double()
    true = torch.tensor(vectors.vectors).double()
    assert answers[0]["unit"] == unit_of(graph.adjacency) > 1
    if model.starts == "given":  # else multiples of these
        model._start_kernel(network, matrix)
        np.testing.assert_allclose(answers[0]["starts"], network.kernel.starts.numpy(), rtol=1e-6)
    network.kernel.starts.copy_(torch.from_numpy(answers[0]["starts"]))
    np.testing.assert_allclose(answers[0]["mean"], true.mean(0).numpy(), rtol=1e-12)
    network.mean.copy_(true.mean(0))
    with torch.no_grad():
        for name, value in whole([x["parameters"] for x in answers]).items():
            network.get_parameter(name).copy_(torch.from_numpy(value))
    np.testing.assert_allclose(network.latent.detach(), true - true.mean(0), atol=1e-15)
    seen = 0
    for steps in zip(*(x["steps"] for x in answers), strict=True):
        counts = np.cumsum([0, *(len(x["keys"]) for x in steps)])
        new, keys = (np.concatenate([x[name] for x in steps]) for name in ("new", "keys"))
        group = np.concatenate([x["group"] + before for x, before in zip(steps, counts, strict=False)])
        rows = Keyed(matrix, torch.Generator())
        object.__setattr__(rows, "keys", keys)
        around = surroundings(rows, new, group, model._caps(), dtype=torch.float64)
        network.zero_grad()
        risk = network.loss(Batch(around, true[around.new]))["risk"]
        risk.backward()
        assert all(x["risk"] == pytest.approx(float(risk.detach()), rel=1e-12) for x in steps)
        grads = whole([x["grads"] for x in steps])
        for name, p in network.named_parameters():
            grad = p.grad.to_dense() if p.grad.is_sparse else p.grad
            np.testing.assert_allclose(
                grads[name], grad.numpy(), rtol=0, atol=1e-12 * float(grad.abs().max().clamp(min=1e-9))
            )  # fmt: skip
        seen += len(keys)
    assert seen > 20, "of 24 subgraphs at most a few have nothing to place"
    return answers


@pytest.mark.parametrize("case", CASES)
def test_one_rank_is_exact(case: str, tmp_path: Path) -> None:
    kind, parts, more = CASES[case]
    save(tmp_path, kind, parts)
    compare(tmp_path, OPTIONS | more, 1)


@pytest.mark.parametrize("case", ["a hub, of whose links some are drawn"])
def test_two_ranks_are_exact(case: str, tmp_path: Path) -> None:
    kind, parts, more = CASES[case]
    save(tmp_path, kind, parts)
    compare(tmp_path, OPTIONS | more, 2)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("case", CASES)
def test_several_ranks_are_exact(case: str, size: int, tmp_path: Path) -> None:
    """n = 61 is a multiple of none; of two parts, ranks 3 and 4 have nothing."""
    kind, parts, more = CASES[case]
    save(tmp_path, kind, parts)
    answers, alone = compare(tmp_path, OPTIONS | more, size), losses(tmp_path, OPTIONS | more)
    for name, value in whole([x["last"] for x in answers]).items():
        np.testing.assert_allclose(value, alone["last"][name], rtol=1e-9, atol=1e-12)
    for name, value in answers[0]["measured"].items():
        np.testing.assert_allclose(value, alone["measured"][name], rtol=1e-9)
    mine = [sorted(tuple(x["keys"]) for x in answer["steps"]) for answer in answers]
    assert len({str(x) for x in mine}) == size, "each rank has subgraphs of its own"
