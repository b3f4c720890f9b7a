"""Laplacian processes where edges weigh much or little: against dense matrices in float64, whatever the unit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

import netfold as nf
from lgp_processes import DIM, precision, random_graph, random_process
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.models.depthlgp import DepthLGP
from netfold.models.lgp.neighborhoods import Caps, read_around
from netfold.models.lgp.posterior import Known
from netfold.models.node2vecplus import Node2VecPlus

WHOLE = {"one_step": 0, "two_step": 0}


@pytest.fixture(scope="module")
def blocks() -> Graph:
    """60 nodes in 3 blocks."""
    return nf.datasets.stochastic_block_model((20,) * 3, p_in=0.3, p_out=0.02, seed=1)[0]


def fitted(graph: Graph, **changed) -> DepthLGP:
    options = {"epochs": 2, "samples": 32, "hidden": 0} | WHOLE | changed
    places = Embedding(graph.nodes, np.random.default_rng(5).normal(size=(graph.n_nodes, 4)))
    return DepthLGP(**options).fit(graph, places, progress=False)


def in_unit(graph: Graph, unit: float) -> Graph:
    return Graph(graph.adjacency * np.float32(unit), graph.nodes, directed=graph.directed)


def dense_system(model, matrix: np.ndarray, n: int) -> np.ndarray:
    """M of a graph whose first n nodes are known, in float64."""
    kernel = model.network_.kernel
    a = np.ones(len(matrix))
    a[:n] = kernel.weights(kernel.raw_weights.double()).numpy(force=True)[:n, 0]
    near = a[:, None] * matrix * a
    far = near @ near
    for links in (near, far):
        np.fill_diagonal(links, 0)
    eta, zeta = (float(x.double().detach()) for x in (kernel.eta, kernel.zeta))
    laplacians = [np.diag(x.sum(axis=1)) - x for x in (near, far)]
    return np.eye(len(matrix)) + eta * laplacians[0] + zeta * laplacians[1]


def grown(graph: Graph, edges: list) -> tuple[np.ndarray, list]:
    """The dense matrix of a graph with new nodes, and those."""
    new = list(dict.fromkeys(u for u, *_ in edges))
    matrix = np.zeros((graph.n_nodes + len(new),) * 2)
    matrix[: graph.n_nodes, : graph.n_nodes] = graph.adjacency.toarray()
    names = [*graph.nodes, *new]
    for u, v, w in edges:
        i, j = names.index(u), names.index(v)
        matrix[i, j] = matrix[j, i] = w
    return matrix, new


@pytest.mark.parametrize("routine", ["exact", "sampled"])
@pytest.mark.parametrize("weight", [1e-9, 1.0, 1e3, 1e5, 1e8, 1e11])
def test_a_new_node_on_heavy_edges_is_placed_as_by_dense_matrices(blocks, weight, routine):
    """Of float32, where a way there and back weighs 1e16, nothing would be left of the links that count."""
    model = fitted(blocks, routine=routine)
    edges = [("x", 0, weight), ("x", 1, weight), ("y", "x", 1.0), ("y", 25, 3.0)]
    matrix, names = grown(blocks, edges)
    m = dense_system(model, matrix, 60)
    latent = model.network_.latent.double().numpy(force=True)
    due = model.network_.mean.numpy() - model.network_.scale * np.linalg.solve(m[60:, 60:], m[60:, :60] @ latent)
    new = model.transform(edges)
    np.testing.assert_allclose(new[names], due, rtol=0, atol=1e-4)
    spread, variances = model.network_.spread, np.diag(np.linalg.inv(m[60:, 60:]))
    share, errors = float(spread.share), spread.errors.numpy()
    std = np.sqrt((share * variances[:, None] / float(spread.usual) + (1 - share)) * errors)
    np.testing.assert_allclose(new.take(names).std, std, rtol=1e-4)


@pytest.mark.parametrize("weight", [1.0, 1e4, 1e7, 1e10])
def test_known_nodes_on_heavy_edges_are_placed_as_new_as_by_dense_matrices(weight):
    """In float32: by a few products over all of them, and as training reads each of them."""
    matrix, all_, process = random_graph(), np.arange(24), random_process(24)
    matrix[0, 1] = matrix[1, 0] = weight
    due, raw = np.empty((24, DIM)), process.kernel.raw_weights.detach().clone()
    for v in all_:  # as the last one
        order = np.append(all_[all_ != v], v)
        process.kernel.raw_weights.data = raw[order[:-1]]
        m = precision(matrix[np.ix_(order, order)], process, 0, 1).detach().numpy()
        due[v] = -(m[23, :23] @ process.latent.numpy(force=True)[order[:-1]]) / m[23, 23]
    process.kernel.raw_weights.data = raw
    csr = sparse.csr_array(matrix.astype(np.float32))
    found = Known.of(process.float(), csr).each_as_new()[0]
    np.testing.assert_allclose(found, due, rtol=1e-4, atol=1e-5)
    alone = process(read_around(csr, all_, all_, Caps(), torch.Generator()))
    np.testing.assert_allclose(alone.detach(), due, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weight", [1.0, 1e6])
def test_gradients_pass_through_the_wider_solve(blocks, weight):
    """In float32 and in float64 from the beginning, for nodes with links of this weight among lighter ones."""
    matrix = sparse.csr_array(grown(blocks, [(0, 1, weight), (40, 41, weight)])[0][:60, :60])
    groups, network, found = (
        (np.array([0, 2, 3, 40]), np.array([0, 0, 0, 1])),
        fitted(blocks, epochs=0, starts="given").network_,
        [],
    )
    for dtype in (torch.float32, torch.float64):
        network.to(dtype).zero_grad()
        network(read_around(matrix, *groups, Caps(), torch.Generator(), dtype=dtype)).square().sum().backward()
        found.append([network.latent.grad.to_dense(), network.kernel.raw_zeta.grad, network.kernel.raw_eta.grad])
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one.double(), two, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("unit", [1e-37, 1e-20, 1e20, 1e36])
def test_the_unit_of_weights_may_be_any(blocks, unit, directed):
    arcs = Graph(blocks.adjacency, blocks.nodes, directed=directed)
    edges = [("x", 0), ("x", 1), ("y", "x")]
    here, there = fitted(arcs), fitted(in_unit(arcs, unit))
    one, two = (
        model.transform(Graph.from_edges([(u, v, w) for u, v in edges], directed=directed))
        for model, w in ((here, 1.0), (there, unit))
    )
    np.testing.assert_allclose(one.vectors, two.vectors, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(one.std, two.std, rtol=1e-3)
    plus = Node2VecPlus(dim=4, epochs=1, length=10, window=2).fit(in_unit(arcs, unit), progress=False)
    assert np.isfinite(plus.embedding_.vectors).all()


@pytest.mark.parametrize("directed", [False, True])
def test_weights_that_have_nothing_in_common_are_borne(directed):
    heavy = [("a", "b", 3e38), ("b", "c", 3e38), ("a", "c", 3e38), ("c", "d", 1e-38), ("d", "e", 1e-38), ("e", "c", 1)]
    graph = Graph.from_edges(heavy, directed=directed)
    new = Graph.from_edges([("x", "a", 3e38), ("x", "d", 1e-38), ("y", "x", 1e38)], directed=directed)
    plus = Node2VecPlus(dim=4, epochs=2, length=10, window=2).fit(graph, progress=False)
    for model in (fitted(graph), fitted(graph, routine="sampled"), plus):
        assert np.isfinite(model.transform(new).vectors).all() and np.isfinite(model.embedding_.vectors).all()
        assert np.abs(model.transform(new)["x"] - model.embedding_["d"]).max() > 1e-3


def test_days_go_by_in_the_unit_of_the_first(blocks, tmp_path: Path):
    day, next_day = [("x", 0, 1e20), ("x", 1, 1e20)], [("y", "x", 1e20), ("y", 2, 3e20)]
    model = fitted(in_unit(blocks, 1e20))
    model.save(tmp_path / "m")
    heavy, light, saved = nf.Evolving(model), nf.Evolving(fitted(blocks)), nf.Evolving.open(tmp_path / "m")
    for stream, unit in ((heavy, 1.0), (light, 1e20), (saved, 1.0)):
        stream.update([(u, v, w / unit) for u, v, w in day])
    again = nf.Evolving.open(tmp_path / "m").update(next_day).placed
    assert again.vectors.tobytes() == heavy.update(next_day).placed.vectors.tobytes()
    due = light.update([(u, v, w / 1e20) for u, v, w in next_day]).placed
    np.testing.assert_allclose(again.vectors, due.vectors, rtol=1e-3, atol=1e-4)


def test_an_edge_beyond_all_measure_is_refused(blocks):
    model = fitted(blocks)
    for use in (model.transform, nf.Evolving(model).update):
        with pytest.raises(nf.InputError, match=r"an edge weighs 1e\+30; beside the fitted graph's, one may weigh"):
            use([("x", 0, 1e30)])
    assert len(model.embedding_) == 60


def test_a_model_from_before_there_was_a_unit_is_read(blocks, tmp_path: Path):
    model = fitted(blocks)
    assert model.graph_facts_["unit"] == 1
    model.save(tmp_path / "m")
    manifest = tmp_path / "m" / "manifest.json"
    facts = json.loads(manifest.read_text())
    del facts["graph"]["unit"]
    manifest.write_text(json.dumps(facts))
    assert np.array_equal(nf.load(tmp_path / "m").transform([("x", 0)]).vectors, model.transform([("x", 0)]).vectors)
    for wrong in (0.0, -1.0, "1", float("nan")):
        facts["graph"]["unit"] = wrong
        manifest.write_text(json.dumps(facts))
        with pytest.raises(nf.InputError, match="damaged"):
            nf.load(tmp_path / "m")
