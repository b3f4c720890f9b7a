"""The rows that SDNE reads and writes: weighed, with the overlap of neighborhoods, with entries dropped."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.models import SDNE
from netfold.models.sdne import batches as sdne_batches
from netfold.models.sdne.batches import Damping, batches, overlap
from netfold.models.sdne.network import SDNENetwork

N = 17


def random_matrix(*, directed: bool, seed: int = 0) -> sparse.csr_array:
    """Weights between 0.2 and 2; node 0 has no edges."""
    rng = np.random.default_rng(seed)
    dense = (rng.random((N, N)) < 0.3) * rng.uniform(0.2, 2.0, (N, N))
    np.fill_diagonal(dense, 0)
    dense[0] = dense[:, 0] = 0
    dense = dense if directed else np.triu(dense) + np.triu(dense).T
    return sparse.csr_array(dense.astype(np.float32))


def make_network(**options: object) -> SDNENetwork:
    given = {"alpha": 0.3, "beta": 3.0, "nu": 0.1} | options
    network = SDNENetwork(N, (6, 3), "tanh", "linear", **given).double()  # type: ignore[arg-type]
    network.start(torch.Generator().manual_seed(0), 4.0)
    return network


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("q", "p"), [(0.5, 0.5), (0.0, 0.25), (0.4, 0.1)])
def test_damping_is_the_formula(directed: bool, q: float, p: float) -> None:
    matrix = random_matrix(directed=directed)
    damping = Damping(N, q, p)
    damping.measure(matrix)
    found, s = damping.of(matrix).toarray(), matrix.toarray().astype(float)
    wanted = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if s[i, j]:
                wanted[i, j] = s[i, j] * s[i].sum() ** -q * s[:, j].sum() ** -p
    wanted /= wanted[wanted > 0].mean()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_equal_dampings_keep_an_undirected_graph_symmetric_to_the_bit() -> None:
    damping = Damping(N, 0.37, 0.37)
    matrix = random_matrix(directed=False)
    damping.measure(matrix)
    found = damping.of(matrix)
    assert (found != found.T).nnz == 0


def test_without_damping_the_rows_are_the_graphs_own() -> None:
    matrix = random_matrix(directed=False)
    assert make_network().weighed(matrix) is matrix


def test_overlap_is_the_product_of_neighborhoods() -> None:
    matrix = random_matrix(directed=True)
    x, wanted = matrix.toarray().astype(float), np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            wanted[i, j] = sum(x[i, z] * x[j, z] for z in range(N)) if i != j else 0
    wanted /= wanted[wanted > 0].mean()
    np.testing.assert_allclose(overlap(matrix).toarray(), wanted, rtol=1e-5)


def test_overlap_of_a_graph_without_paths_of_two_steps_is_empty() -> None:
    assert overlap(sparse.csr_array(np.array([[0, 1], [1, 0]], np.float32))).nnz == 0


def test_overlap_refuses_hubs_with_too_many_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdne_batches, "MOST_PATHS", 50)
    star = Graph.from_edges([("hub", f"leaf {i}") for i in range(8)])  # 8 * 8 + 8 * 1 paths
    with pytest.raises(InputError, match="72 paths of two steps, and at most 50 .* use overlap=0"):
        SDNE(dim=2, epochs=1, overlap=1.0).fit(star, progress=False)


@pytest.mark.parametrize("batch_size", [None, 5])
def test_the_decoder_writes_the_targets_and_the_encoder_reads_the_rows(
    batch_size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SDNENetwork, "chunk_rows", lambda self: 4)
    matrix, network = random_matrix(directed=False), make_network()
    targets = sparse.csr_array(matrix + 0.5 * overlap(matrix))
    sums: dict[str, float] = {}
    for batch in batches(matrix, network, batch_size, torch.float64, targets=targets)(torch.Generator()):
        for name, value in network.loss(batch).items():
            sums[name] = sums.get(name, 0.0) + float(value)
    s, t = matrix.toarray(), targets.toarray()
    y = network.encoder(network.activation(torch.tensor(s).double() @ network.first.table + network.first.bias))
    found = (network.decoder(y) @ network.last.table.T + network.last.bias).detach().numpy()
    y = y.detach().numpy()
    second = sum(((found[i, j] - t[i, j]) * (3 if t[i, j] else 1)) ** 2 for i in range(N) for j in range(N))
    first = sum(s[i, j] * ((y[i] - y[j]) ** 2).sum() for i in range(N) for j in range(N))
    assert sums["second_order"] == pytest.approx(second, rel=1e-6)
    assert sums["first_order"] == pytest.approx(0.3 * first, rel=1e-6)


def test_dropout_hides_a_share_and_keeps_the_expectation() -> None:
    matrix, network = random_matrix(directed=False), make_network()
    of = batches(matrix, network, None, torch.float64, dropout=0.25)
    seen, times = np.zeros(matrix.nnz), 2000
    hidden = 0.0
    for epoch in range(times):
        (batch,) = of(torch.Generator().manual_seed(epoch))
        (chunk,) = batch.chunks
        values = chunk.seen.values.numpy()
        assert np.array_equal(chunk.rows.values.numpy(), matrix.data)  # what is written stays whole
        seen += values
        hidden += float((values == 0).mean())
    np.testing.assert_allclose(seen / times, matrix.data, rtol=0.08)
    assert hidden / times == pytest.approx(0.25, abs=0.01)


def test_dropout_is_a_function_of_the_seed_and_trains_for_all_epochs() -> None:
    graph = Graph.from_scipy(random_matrix(directed=False))
    options = {"dim": 3, "hidden": (), "epochs": 60, "patience": 1, "tolerance": 0.5}
    a, b = (SDNE(**options, dropout=0.3, seed=1).fit(graph, progress=False) for _ in range(2))
    assert len(a.history_) == 60
    assert np.array_equal(a.embedding_.vectors, b.embedding_.vectors)
    other = SDNE(**options, dropout=0.3, seed=2).fit(graph, progress=False)
    assert not np.allclose(a.embedding_.vectors, other.embedding_.vectors)
    assert len(SDNE(**options).fit(graph, progress=False).history_) < 60


@pytest.mark.parametrize("options", [{"row_damping": 0.5, "column_damping": 0.5}, {"column_damping": 0.25}])
def test_a_new_node_wired_as_a_known_one_gets_its_vector(options: dict[str, float], tmp_path: object) -> None:
    import netfold as nf

    edges = [("a", "b", 2.0), ("a", "c", 1.0), ("b", "c", 0.5), ("c", "d", 1.0), ("d", "e", 3.0)]
    model = SDNE(dim=2, hidden=(5,), epochs=20, **options).fit(Graph.from_edges(edges), progress=False)
    model.save(f"{tmp_path}/model")
    for fitted in (model, nf.load(f"{tmp_path}/model")):
        new = fitted.transform(Graph.from_edges([("twin", "b", 2.0), ("twin", "c", 1.0)]))
        np.testing.assert_allclose(new["twin"], model.embedding_["a"], rtol=1e-5, atol=1e-6)


def test_damping_survives_a_checkpoint(tmp_path: object) -> None:
    graph = Graph.from_scipy(random_matrix(directed=False))
    options = {"dim": 3, "hidden": (), "epochs": 12, "row_damping": 0.4, "column_damping": 0.2, "dropout": 0.2}
    whole = SDNE(**options).fit(graph, progress=False)
    stopping = {"checkpoint": f"{tmp_path}/state", "checkpoint_every": 0.0}
    SDNE(**options).fit(graph, progress=False, on_epoch=lambda record: record["epoch"] >= 5, **stopping)
    again = SDNE(**options).fit(graph, progress=False, **stopping)
    assert np.array_equal(again.embedding_.vectors, whole.embedding_.vectors)


@pytest.mark.parametrize("option", ["row_damping", "column_damping", "overlap"])
def test_a_sigmoid_cannot_write_what_is_weighed(option: str) -> None:
    with pytest.raises(InputError, match="damping or overlap makes larger ones; use output='linear'"):
        SDNE(output="sigmoid", **{option: 0.5}).fit(Graph.from_edges([("a", "b"), ("b", "c")]), progress=False)


def test_dropout_is_a_share() -> None:
    with pytest.raises(InputError, match="dropout=1.0 is not allowed; it is a number of at least 0 and below 1"):
        SDNE(dropout=1.0)


@pytest.mark.parametrize("directed", [False, True])
def test_pairs_are_decoded_from_rows_that_are_encoded_once(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_scipy(random_matrix(directed=directed), directed=directed)
    model = SDNE(dim=3, hidden=(5,), epochs=5, row_damping=0.3).fit(graph, progress=False)
    written = model.reconstruct(graph, np.arange(N))
    encoded = []
    encode = SDNENetwork.encode
    monkeypatch.setattr(SDNENetwork, "encode", lambda self, rows: encoded.append(len(rows)) or encode(self, rows))
    decoded = model.pair_decoder(graph)
    wanted = written if directed else (written + written.T) / 2
    for rows in (np.array([3, 0, 5]), np.arange(N)):
        np.testing.assert_allclose(decoded(rows), wanted[rows], rtol=1e-5, atol=1e-6)
    assert sum(encoded) == N
    assert directed or not np.allclose(written, written.T)
    with pytest.raises(InputError, match="other nodes than the model, or in another order"):
        model.pair_decoder(graph.subgraph(np.arange(N)[::-1]))
