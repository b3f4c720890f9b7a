"""SDNE over several ranks: losses and gradients are those of one process, whatever the cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import netfold as nf
from netfold.models.sdne.batches import batches
from several import on_ranks, one_loss

SPREAD = ("first.table", "last.table", "last.bias")
"""Parameters with a row for each node; all others are the same on every rank."""


def a_graph(kind: str, n: int = 61) -> nf.Graph:
    rng = np.random.default_rng(7)
    pairs = rng.integers(0, n - 5, (3 * n, 2))  # the last five have no links
    if kind == "hub":
        pairs = np.concatenate([pairs, np.stack([np.zeros(n, int), np.arange(n)], 1)])
    return nf.Graph.from_edges(pairs, rng.random(len(pairs)) + 0.1, nodes=range(n), directed=kind == "directed")


OPTIONS: dict[str, Any] = {"dim": 4, "hidden": (9,), "nu": 0.3, "alpha": 0.7, "beta": 3.0}
CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "plain": ("undirected", 8, {}),
    "hub, svd": ("hub", 8, {"init": "svd"}),
    "directed": ("directed", 5, {"init": "svd"}),
    "dampings": ("undirected", 7, {"row_damping": 0.5, "column_damping": 0.5}),
    "other dampings": ("undirected", 7, {"row_damping": 0.2, "column_damping": 0.6}),
    "directed dampings": ("directed", 7, {"row_damping": 0.4, "column_damping": 0.1}),
    "no first order": ("undirected", 8, {"alpha": 0.0}),
    "no hidden layer": ("hub", 8, {"hidden": ()}),
    "two hidden layers": ("undirected", 8, {"hidden": (11, 7), "activation": "sigmoid"}),
    "three hidden layers": ("undirected", 8, {"hidden": (11, 8, 7), "activation": "leaky_relu"}),
    "linear layers": ("directed", 8, {"activation": "linear"}),
    "fewer parts than ranks": ("undirected", 2, {}),
}


def whole(answers: list[dict[str, Any]], what: str) -> dict[str, np.ndarray[Any, Any]]:
    """Tables of all ranks one below the other."""
    first = answers[0][what]
    return {k: np.concatenate([a[what][k] for a in answers]) if k in SPREAD else v for k, v in first.items()}


def single(
    folder: Path, options: dict[str, Any], parameters: dict[str, Any]
) -> tuple[dict[str, float], dict[str, Any]]:
    """The same loss by the network of one process, in float64."""
    graph, model = nf.Graph.load(folder), nf.SDNE(**options)
    network = model._network({"n_nodes": graph.n_nodes}).double()
    if network.damping is not None:
        network.damping.measure(graph.adjacency)
    with torch.no_grad():
        for name, p in network.named_parameters():
            p.copy_(torch.from_numpy(parameters[name]))
    rows = network.weighed(graph.adjacency).astype(np.float64)  # whose links are summed in float64, too
    (batch,) = batches(rows, network, None, torch.float64)(torch.Generator())
    terms = {name: float(x) for name, x in network.loss(batch).items()}
    grads = {name: p.grad.numpy() for name, p in network.named_parameters() if p.grad is not None}
    return terms, grads


def compare(folder: Path, options: dict[str, Any], size: int, tolerance: float = 1e-12) -> list[dict[str, Any]]:
    answers = on_ranks(size, one_loss, folder, options) if size > 1 else [one_loss(folder, options)]
    terms, grads = single(folder, options, whole(answers, "parameters"))
    for answer in answers:
        assert answer["terms"] == answers[0]["terms"], "all ranks see the same loss"
        for name, value in terms.items():
            assert answer["terms"][name] == pytest.approx(value, rel=tolerance, abs=1e-300)
        assert answer["sent"] == answer["formula"]
    own = whole(answers, "grads")
    for name, grad in grads.items():
        np.testing.assert_allclose(own[name], grad, rtol=0, atol=tolerance * np.abs(grad).max(initial=1e-300))
    return answers


@pytest.mark.parametrize("case", CASES)
def test_one_rank_is_exact(case: str, tmp_path: Path) -> None:
    kind, parts, more = CASES[case]
    a_graph(kind).save(tmp_path / "g.parts", parts=parts)
    compare(tmp_path / "g.parts", {"init": "none", **OPTIONS, **more}, 1)


@pytest.mark.parametrize("case", ["hub, svd", "other dampings"])
def test_two_ranks_are_exact(case: str, tmp_path: Path) -> None:
    kind, parts, more = CASES[case]
    a_graph(kind).save(tmp_path / "g.parts", parts=parts)
    compare(tmp_path / "g.parts", {"init": "none", **OPTIONS, **more}, 2)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("case", CASES)
def test_several_ranks_are_exact(case: str, size: int, tmp_path: Path) -> None:
    """n = 61 is a multiple of none; of two parts, ranks 3 and 4 have nothing."""
    kind, parts, more = CASES[case]
    a_graph(kind).save(tmp_path / "g.parts", parts=parts)
    options = {"init": "none", **OPTIONS, **more}
    answers = compare(tmp_path / "g.parts", options, size)
    alone = one_loss(tmp_path / "g.parts", options)
    for name, value in whole(answers, "parameters").items():  # drawn by part, whoever owns it
        np.testing.assert_allclose(value, alone["parameters"][name], atol=1e-9)
    np.testing.assert_allclose(np.concatenate([x["embed"] for x in answers]), alone["embed"], atol=1e-5)
