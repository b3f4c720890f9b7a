"""On a GPU: what is drawn there, what has a way of its own there, and every model, against the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

import netfold as nf
from lgp_processes import random_graph, random_process
from netfold.learn import skipgram
from netfold.learn.draws import normal, numbers_below, permutation, uniform
from netfold.learn.losses import half_squares
from netfold.learn.sparse_rows import SomeRows, SparseRows
from netfold.learn.starts import deep_belief_network
from netfold.models.lgp.neighborhoods import Caps, read_around
from netfold.studies.datasets.random_graphs import chung_lu

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")]

DEVICES = ("cpu", "cuda")


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def test_what_is_drawn_is_the_same():
    for draw in (
        lambda d: uniform((300, 7), seeded(), d, few=0),
        lambda d: permutation(100_000, seeded(), d, large=True),
        lambda d: numbers_below(10**13, 100_000, seeded(), d, large=True),
    ):
        one, two = (draw(d).cpu() for d in DEVICES)
        assert torch.equal(one, two)
    one, two = (normal((300, 7), seeded(), d, few=0).cpu() for d in DEVICES)
    torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("density", [0.02, 0.5])
def test_products_are_added_in_place(density):
    """Columns without entries, for which a list of those that have some is kept, and hardly any."""
    rng = np.random.default_rng(0)
    matrix = sparse.csr_array(sparse.random_array((20, 90), density=density, rng=rng, dtype=np.float32))
    dense, start = rng.normal(size=(20, 8)).astype(np.float32), rng.normal(size=(90, 8)).astype(np.float32)
    out = torch.from_numpy(start.copy()).cuda()
    SparseRows.from_scipy(matrix, device="cuda").add_transposed_matmul(torch.from_numpy(dense).cuda(), out)
    np.testing.assert_allclose(out.cpu(), start + matrix.T @ dense, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("width", [1, 33, 64, 300])
def test_the_kernel_of_a_product_is_the_product(width):
    from netfold.learn.kernels import csr_product

    rng = np.random.default_rng(0)
    matrix = sparse.csr_array(sparse.random_array((200, 90), density=0.1, rng=rng, dtype=np.float32))
    matrix.data -= 0.5
    dense, start = rng.normal(size=(90, width)).astype(np.float32), rng.normal(size=(200, width)).astype(np.float32)
    rows, table, out = SparseRows.from_scipy(matrix, device="cuda"), *(torch.tensor(x).cuda() for x in (dense, start))
    want = matrix.astype(np.float64) @ dense.astype(np.float64)
    parts = rows.crow, rows.col, rows.values
    np.testing.assert_allclose(csr_product(*parts, table).cpu(), want, rtol=1e-4, atol=1e-5)
    assert torch.equal(csr_product(*parts, table), csr_product(*parts, table))
    csr_product(*parts, table, out)
    np.testing.assert_allclose(out.cpu(), start + want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [1, 33, 64, 200])
def test_a_table_of_16_bits_is_widened_as_it_is_read(width):
    """By the kernels, against the same numbers in 32 bits on the CPU; also where few columns have entries."""
    rng = np.random.default_rng(0)
    for density in (0.1, 0.001):
        matrix = sparse.csr_array(sparse.random_array((200, 300), density=density, rng=rng, dtype=np.float32))
        left, table = (torch.from_numpy(rng.normal(size=(n, width)).astype(np.float32)) for n in (200, 300))
        narrow = table.to(torch.bfloat16)
        plain, rows = (SparseRows.from_scipy(matrix, device=d) for d in DEVICES)
        want = plain.matmul(narrow.float()), plain.sampled(left, narrow.float())
        found = rows.matmul(narrow.cuda()), rows.sampled(left.cuda(), narrow.cuda())
        for one, two in zip(want, found, strict=True):
            torch.testing.assert_close(two.cpu(), one, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("width", [1, 33, 64, 200])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_kernel_of_some_rows_is_the_plain_way(width, share):
    """In place and dropped, both ways; and by segments, where the columns are not counted."""
    rng = np.random.default_rng(0)
    matrix = sparse.csr_array(sparse.random_array((200, 90), density=0.1, rng=rng, dtype=np.float32))
    only = torch.from_numpy(np.sort(rng.choice(200, 70, replace=False)))
    place = torch.full((200,), -1, dtype=torch.int32)
    place[only] = torch.arange(70, dtype=torch.int32)
    left, right, start = (torch.from_numpy(rng.normal(size=(n, width)).astype(np.float32)) for n in (90, 70, 90))
    ways = []
    for device in DEVICES:
        rows = SparseRows.from_scipy(matrix, device=device)
        some = SomeRows(rows, only.to(device), place.to(device), share, 12345678901234567)
        outs = [start.to(device) for _ in range(2)]
        if device == "cpu":
            outs = [x.clone() for x in outs]
        some.add_transposed_matmul(right.to(device), outs[0])
        rows.take(only.to(device), int(rows.crow.diff()[only].sum())).add_transposed_matmul(right.to(device), outs[1])
        ways.append([x.cpu() for x in (some.matmul(left.to(device)), *outs)])
    for one, two in zip(*ways, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


def test_squares_of_weights_are_summed_as_on_the_cpu():
    weights = [torch.randn(shape, generator=seeded()) for shape in ((3000, 64), (5, 1))]
    one, two = (half_squares([w.to(d) for w in weights]).cpu() for d in DEVICES)
    torch.testing.assert_close(one, two, rtol=1e-5, atol=0)


def test_a_deep_belief_network_is_learned_as_on_the_cpu():
    """Units are drawn on the CPU; a chance that rounds otherwise may flip one of them, which moves little."""
    rows = sparse.csr_array(sparse.random_array((200, 90), density=0.1, rng=np.random.default_rng(0), dtype=np.float32))
    stacks = [
        deep_belief_network([SparseRows.from_scipy(rows, device=d)], (32, 8), seeded(), epochs=5) for d in DEVICES
    ]
    for one, two in zip(*stacks):
        assert two.weight.is_cuda
        torch.testing.assert_close(two.weight.cpu(), one.weight, rtol=0, atol=1e-3)


def test_groups_of_new_nodes_are_placed_as_on_the_cpu():
    matrix, ways = sparse.csr_array(random_graph(30)), []
    new, group = np.array([0, 3, 9, 4, 0, 7, 11, 12]), np.array([0, 0, 0, 2, 5, 5, 6, 6])
    for device in DEVICES:
        process = random_process(30, "all", hidden=5).to(device)
        around = read_around(matrix, new, group, Caps(), torch.Generator(), dtype=torch.float64, device=device)
        placed = process(around)
        placed.square().sum().backward()
        grads = [p.grad.to_dense() for p in process.parameters() if p.grad is not None]
        ways.append([x.detach().cpu() for x in (placed, *grads)])
    assert len(ways[0]) >= 5
    for one, two in zip(*ways, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-8, atol=1e-10)


def fitted(name: str, device: str) -> Any:
    few: dict[str, Any] = {"epochs": 4, "device": device}
    if name == "dhne":
        rng = np.random.default_rng(0)
        triples = {(f"u{a}", f"i{b}", f"t{c}") for a, b, c in rng.integers(30, size=(400, 3)).tolist()}
        types = {node: node[0] for triple in triples for node in triple}
        graph: Any = nf.Hypergraph.from_tuples(sorted(triples), types)
        return nf.DHNE(dim=8, dropout=0.0, **few).fit(graph, progress=False)
    graph = chung_lu(400, 1600)
    if name == "depthlgp":
        vectors = np.random.default_rng(0).normal(size=(400, 8)).astype(np.float32)
        own = nf.Embedding(graph.nodes, vectors)
        return nf.DepthLGP(samples=64, starts="given", **few).fit(graph, own, progress=False)
    few |= {"held_out": 0.0} if name == "node2vec" else {}  # else the start may win, and nothing descends
    return nf.MODELS[name](dim=16, **few).fit(graph, progress=False)


@pytest.mark.parametrize("tables", ["float32", "bfloat16"])
def test_sixteen_bits_descend_as_on_the_cpu(tables):
    graph = chung_lu(400, 1600)
    settings: dict[str, Any] = {"dim": 16, "epochs": 8, "optimizer": "adam16", "tables": tables}
    fits = [nf.SDNE(device=device, **settings).fit(graph, progress=False) for device in DEVICES]
    one, two = ([x["objective"] for x in fit.history_] for fit in fits)
    np.testing.assert_allclose(one, two, rtol=2e-3)
    assert one[-1] < one[0]


@pytest.mark.parametrize("name", ["sdne", "drne", "dhne", "dvne", "line", "node2vec", "depthlgp"])
@pytest.mark.parametrize("stays", [100_000, 10])
def test_a_model_descends_as_on_the_cpu(name, stays):
    """As small graphs do, and by the rules of large ones; but for DHNE's dropout, whose coins are each device's own."""
    usual, skipgram._STAYS = skipgram._STAYS, stays
    try:
        one, two = ([x["objective"] for x in fitted(name, d).history_] for d in DEVICES)
    finally:
        skipgram._STAYS = usual
    np.testing.assert_allclose(one, two, rtol=2e-3)
    assert one[-1] != one[0]
