"""SDNE over rows [s_i | γ x_i]: the loss against dense loops in float64, and what attributes of nodes change."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import netfold as nf
from allocations import Allocations
from attributed import attributed, cold, dense_columns, linked_groups, sparse_columns, turned
from netfold.data.attributes import Attributes, Column
from netfold.data.graph import Graph
from netfold.data.scaling import Scaling
from netfold.errors import InputError
from netfold.models import SDNE
from netfold.models.sdne.batches import batches
from netfold.models.sdne.network import Neighbors, SDNENetwork

N = 23


def links(seed: int = 0, *, directed: bool = False) -> Graph:
    rng = np.random.default_rng(seed)
    dense = (rng.random((N, N)) < 0.2) * rng.uniform(0.2, 1.0, (N, N))
    dense = dense if directed else np.triu(dense, 1) + np.triu(dense, 1).T
    dense[[0, -1]] = dense[:, [0, -1]] = 0
    return Graph.from_scipy(dense, directed=directed)


def make_network(widths, block, *, output="linear") -> SDNENetwork:
    dense = isinstance(block.values, np.ndarray)
    network = SDNENetwork(
        N, widths, "tanh", output, alpha=0.3, beta=5.0, nu=0.7,
        attributes=block.width, dense=dense, attribute_weight=0.8, attribute_beta=3.0,
    ).double()  # fmt: skip
    generator = torch.Generator().manual_seed(1)
    network.start(generator, 4.0)
    with torch.no_grad():
        for name, p in network.named_parameters():
            if "bias" in name:
                p.uniform_(-0.5, 0.5, generator=generator)
    return network


def naive_terms(network, s, block):
    """Eqs. (1) to (5) over rows [s | γ x], entry by entry; what is missing is not counted."""
    gamma = np.float32(network.attribute_weight * float(network.attribute_unit))
    x = block.values if isinstance(block.values, np.ndarray) else block.values.toarray()
    x = (x * gamma).astype(np.float64)  # as float32 has it
    rows = torch.tensor(np.hstack([s, x]))
    y = network.activation(rows @ network.first.table + network.first.bias)
    for w, b in zip(network.encoder.weights, network.encoder.biases, strict=True):
        y = network.activation(y @ w + b)
    hidden = y
    for w, b in zip(network.decoder.weights, network.decoder.biases, strict=True):
        hidden = network.activation(hidden @ w + b)
    found = hidden @ network.last.table.T + network.last.bias
    second = first = own = torch.zeros((), dtype=torch.float64)
    for i in range(N):
        for j in range(N):
            second = second + ((found[i, j] - rows[i, j]) * (network.beta if s[i, j] != 0 else 1.0)) ** 2
            first = first + s[i, j] * ((y[i] - y[j]) ** 2).sum()
        for column, (a, b) in enumerate(block.slices):
            for j in range(a, b) if block.known[i, column] else ():
                beta = network.attribute_beta if x[i, j] != 0 else 1.0
                own = own + ((found[i, N + j] - rows[i, N + j]) * beta) ** 2
    weights = [network.first.table, *network.encoder.weights, *network.decoder.weights, network.last.table]
    reg = 0.5 * sum((w**2).sum() for w in weights)
    terms = {"second_order": second, "attributes": own}
    return terms | {"first_order": network.alpha * first, "regularization": network.nu * reg}


@pytest.mark.parametrize("columns", [sparse_columns, dense_columns])
@pytest.mark.parametrize("widths", [(4,), (7, 4)])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("batch_size", [None, 5])
def test_loss_and_gradients_equal_dense_loops(columns, widths, directed, batch_size, monkeypatch):
    monkeypatch.setattr(SDNENetwork, "chunk_rows", lambda self: 4)
    graph, attributes = links(directed=directed), columns(N)
    block = Scaling.fit(attributes).block(attributes)
    assert not block.known.all(axis=0).any()  # every column is missing somewhere
    network = make_network(widths, block)
    matrix = graph.adjacency.astype(np.float64)
    network.measure(matrix, block)
    expected = naive_terms(network, matrix.toarray(), block)
    sum(expected.values()).backward()
    wanted = {name: p.grad.clone() for name, p in network.named_parameters()}
    network.zero_grad()
    sums: dict[str, torch.Tensor] = {}
    of = batches(matrix, network, batch_size, torch.float64, block=network.scaled(block))
    for batch in of(torch.Generator().manual_seed(3)):
        for name, value in network.loss(batch).items():
            sums[name] = sums.get(name, 0) + value
    assert sums.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(sums[name], value.detach(), rtol=1e-9, atol=1e-12)
    for name, p in network.named_parameters():
        assert (p.grad - wanted[name]).norm() <= 1e-9 * wanted[name].norm(), name


@pytest.mark.parametrize("columns", [sparse_columns, dense_columns])
def test_refining_goes_down_the_gradient_of_the_same_objective(columns):
    """Half the gradient of a row's objective, all else held fixed, against autograd over the dense row."""
    graph, attributes = links(), columns(N)
    block = Scaling.fit(attributes).block(attributes)
    network = make_network((7, 4), block).float()
    network.measure(graph.adjacency, block)
    asked = []
    y0 = np.random.default_rng(0).normal(size=(N, 4)).astype(np.float32)

    def slope(y, terms):
        asked.append(SDNENetwork._slope(network, y, terms))
        return asked[-1]

    network._slope = slope
    network.refine(graph.adjacency, Neighbors.of(graph.adjacency, y0), y0, 0.0, block)
    y = torch.tensor(y0, requires_grad=True)
    found = network.last.rows(network.decoder(y))
    x = network.scaled(block).values
    x = x if isinstance(x, np.ndarray) else x.toarray()
    rows = torch.tensor(np.hstack([graph.adjacency.toarray(), x]))
    b = torch.where(rows != 0, 1.0, 0.0)
    b = torch.where(torch.arange(rows.shape[1]) < N, 1 + 4 * b, 1 + 2 * b)
    for column, (start, stop) in enumerate(block.slices):
        b[np.flatnonzero(~block.known[:, column]), N + start : N + stop] = 0
    ((found - rows) * b).square().sum().backward()
    torch.testing.assert_close(asked[0], y.grad / 2, rtol=1e-3, atol=1e-3)


def test_no_dense_array_of_nodes_times_attributes_is_made():
    n, words = 400, 3000
    graph = linked_groups(n)
    rng = np.random.default_rng(0)
    from scipy import sparse

    matrix = sparse.random_array((n, words), density=0.002, rng=rng).tocsr()
    column = Column("words", "words", matrix, tuple(map(str, range(words))), np.arange(n) % 5 == 6)
    with Allocations() as seen:
        model = SDNE(dim=4, hidden=(8,), epochs=2).fit(attributed(graph, Attributes((column,))), progress=False)
        model.transform(cold(attributed(graph, Attributes((column,))), [1], ["z"]))
    assert seen.numbers < n * words / 10


def test_a_weight_of_0_and_a_graph_without_attributes_are_the_same_model_to_the_bit():
    graph = linked_groups()
    without = SDNE(dim=4, hidden=(8,), epochs=5).fit(attributed(graph, None), progress=False)
    zero = SDNE(dim=4, hidden=(8,), epochs=5, attribute_weight=0).fit(graph, progress=False)
    assert np.array_equal(without.embedding_.vectors, zero.embedding_.vectors)
    assert "attributes" not in zero.history_[-1]
    assert "attributes" in SDNE(dim=4, hidden=(8,), epochs=2).fit(graph, progress=False).history_[-1]


def test_attributes_of_all_zeros_change_nothing():
    graph = attributed(linked_groups(), None)
    zeros = Attributes((Column("x", "number", np.full(graph.n_nodes, 3.0)),))  # a constant is scaled to 0
    a, b = (SDNE(dim=4, hidden=(8,), epochs=5).fit(g, progress=False) for g in (graph, attributed(graph, zeros)))
    assert np.array_equal(a.embedding_.vectors, b.embedding_.vectors)


def test_a_column_of_zeros_beside_others_stays_at_0():
    graph = linked_groups()
    assert graph.attributes is not None
    more = Attributes((*graph.attributes.columns, Column("x", "number", np.full(graph.n_nodes, 3.0))))
    model = SDNE(dim=4, hidden=(8,), epochs=5).fit(attributed(graph, more), progress=False)
    for table in (model.network_.first.table, model.network_.last.table):
        assert not table[-1].any()
        assert table[:-1].any(dim=1).all()


@pytest.mark.parametrize("columns", [sparse_columns, dense_columns])
def test_columns_in_another_order_change_nothing_but_the_draw(columns):
    """With the weights of the columns moved as the columns are, loss and gradients are the same to the last digits."""
    attributes, matrix = columns(N), links().adjacency.astype(np.float64)
    other, orders = turned(attributes)
    at = [*range(N), *(N + i for order in orders for i in order)]
    assert at != sorted(at)
    terms, networks = [], []
    for known in (attributes, other):
        block = Scaling.fit(known).block(known)
        network = make_network((7, 4), block)
        network.measure(matrix, block)
        if networks:
            with torch.no_grad():
                for name in ("first.table", "last.table", "last.bias"):
                    network.get_parameter(name).copy_(networks[0].get_parameter(name)[at])
        (batch,) = batches(matrix, network, None, torch.float64, block=network.scaled(block))(torch.Generator())
        terms.append(network.loss(batch))
        networks.append(network)
    for name, value in terms[0].items():
        torch.testing.assert_close(terms[1][name], value, rtol=1e-12, atol=1e-12)
    for name, p in networks[0].named_parameters():
        wanted = p.grad[at] if name in ("first.table", "last.table", "last.bias") else p.grad
        torch.testing.assert_close(networks[1].get_parameter(name).grad, wanted, rtol=1e-9, atol=1e-12)


def test_columns_in_another_order_give_the_same_vectors_up_to_the_draw():
    graph = linked_groups()
    (words,) = graph.attributes.columns
    turn = np.random.default_rng(0).permutation(20)
    other = Column("words", "words", words.values[:, turn], tuple(words.categories[i] for i in turn))
    models = [
        SDNE(dim=2, hidden=(), epochs=0).fit(attributed(graph, Attributes((x,))), progress=False)
        for x in (words, other)
    ]
    a, b = (m.embedding_.vectors - m.embedding_.vectors.mean(0) for m in models)
    gram = np.abs(np.corrcoef((a @ a.T).ravel(), (b @ b.T).ravel())[0, 1])
    assert gram > 0.99


def test_a_saved_model_keeps_its_scaling(tmp_path):
    graph = attributed(linked_groups(), sparse_columns(60))
    model = SDNE(dim=4, hidden=(8,), epochs=5).fit(graph, progress=False)
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold")
    later = cold(graph, [3, 7], ["x", "y"])
    assert np.array_equal(model.transform(later).vectors, again.transform(later).vectors)
    assert np.array_equal(model.transform(later, how="encode").vectors, again.transform(later, how="encode").vectors)


def test_a_graph_without_attributes_is_refused_where_there_were_some():
    model = SDNE(dim=4, hidden=(8,), epochs=2).fit(linked_groups(), progress=False)
    with pytest.raises(InputError, match=r"fitted with attributes \('words'\) and the graph has none; give them"):
        model.transform(Graph.from_edges([(0, "z")]))


def test_new_nodes_by_links_alone_by_attributes_alone_and_by_both():
    graph = linked_groups()
    model = SDNE(dim=4, hidden=(8,), epochs=20).fit(graph, progress=False)
    n = graph.n_nodes
    edges = Graph.from_edges([(n, 0), (n, 2), (n + 1, 0), (n + 1, 2)], nodes=[*range(n + 3)])
    rows = [*range(n), -1, 0, 1]  # nothing is known of the first, and the last has no links
    later = Graph(edges.adjacency, edges.nodes, directed=False, attributes=graph.attributes.rows(rows))
    new = model.transform(later)
    assert list(new.nodes) == [n, n + 1, n + 2]
    groups = [[x % 2 for x, _ in model.embedding_.nearest(new[v], k=5)] for v in (n, n + 1, n + 2)]
    assert groups == [[0] * 5, [0] * 5, [1] * 5]
    alone = model.transform(cold(graph, [1], [n + 2]))
    assert np.allclose(alone[n + 2], new[n + 2], atol=1e-6)
    with pytest.raises(InputError, match="no links to any known node"):
        model.transform(cold(graph, [-1], ["nothing"]))


def test_missing_attributes_are_not_zeros():
    """Two nodes alike but for what is missing of one: the loss does not see the gap, and sees a 0."""
    graph = linked_groups()
    (words,) = graph.attributes.columns
    rows = np.ones(graph.n_nodes, bool)
    rows[3] = False
    matrix = words.values.multiply(rows[:, None]).tocsr()
    gap = Column("words", "words", matrix, words.categories, ~rows)
    zero = dataclasses.replace(gap, missing=None)
    models = [
        SDNE(dim=4, hidden=(8,), epochs=3).fit(attributed(graph, Attributes((x,))), progress=False) for x in (gap, zero)
    ]
    assert models[0].history_[0]["attributes"] != models[1].history_[0]["attributes"]


def test_sigmoid_outputs_cannot_write_attributes():
    with pytest.raises(InputError, match="output='linear', or attribute_weight=0"):
        SDNE(output="sigmoid").fit(linked_groups(), progress=False)


def test_pairs_are_decoded_over_nodes_alone():
    graph = linked_groups()
    model = SDNE(dim=4, hidden=(8,), epochs=3).fit(graph, progress=False)
    assert model.pair_decoder(graph)(np.array([0, 1])).shape == (2, graph.n_nodes)
    assert model.reconstruct(graph, np.array([0, 1])).shape == (2, graph.n_nodes)
