"""DVNE over rows [p_i | γ x_i]: the loss against dense loops in float64, and new nodes by their attributes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

import netfold as nf
from attributed import attributed, cold, dense_columns, linked_groups, sparse_columns, turned
from dvne_networks import L, N, S, random_graph, triplets_of
from netfold.data.attributes import Attributes, Column
from netfold.data.graph import Graph
from netfold.data.scaling import Scaling
from netfold.embedder.attributes import joint_rows
from netfold.errors import InputError
from netfold.models import DVNE
from netfold.models.dvne.batches import batches, steps
from netfold.models.dvne.network import DVNENetwork


def naive_loss(network, batch):
    """L_1, and alpha M / n times L_2 of links (sigmoid outputs) and of attributes (linear), entry by entry."""
    rows = list(batch.seen.matmul(torch.eye(batch.seen.width).double()))
    codes = []
    for row in rows:
        y = torch.relu(row @ network.first.table + network.first.bias)
        out = y @ network.code.weights[0] + network.code.biases[0]
        codes.append(torch.cat([out[:L], torch.nn.functional.elu(out[L:]) + 1]))
    first = second = own = torch.zeros((), dtype=torch.float64)
    for i, j, k in batch.triplets.T.tolist():
        near, far = ((codes[i] - codes[x]).square().sum().sqrt() for x in (j, k))
        first = first + near**2 + network.repulsion * torch.exp(-far)
    at = 0
    for chunk in batch.chunks:
        for noise in chunk.noise:
            z = codes[at][:L] + codes[at][L:] * noise
            hidden = torch.relu(z @ network.decoder.weights[0] + network.decoder.biases[0])
            out = hidden @ network.last.table.T + network.last.bias
            for j, (x, o) in enumerate(zip(rows[at], out, strict=True)):
                if j < N:
                    second = second + (x * (x - torch.sigmoid(o))) ** 2
                else:
                    own = own + (x * (x - o)) ** 2
            at += 1
    times = network.alpha * batch.times
    return {"first_order": first, "second_order": times * second, "attributes": times * own}


def prepared(graph: Graph, attributes: Attributes):
    """A network with all parameters random, and one batch of a whole epoch; in float64."""
    block = Scaling.fit(attributes).block(attributes)
    network = DVNENetwork(N, S, L, alpha=0.7, repulsion=1.3, attributes=block.width, attribute_weight=1.4).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in network.parameters():
            p.uniform_(-0.8, 0.8, generator=generator)
    network.chunk_rows = lambda: 4
    matrix = steps(graph.adjacency, graph.adjacency.T if graph.directed else None)
    network.measure(matrix, block)
    rows = joint_rows(matrix, network.scaled(block), network.first.table)
    of = batches(rows, triplets_of(graph), graph.n_edges, network, graph.n_edges)
    (batch,) = of(torch.Generator().manual_seed(0))
    return network, batch


@pytest.mark.parametrize("columns", [sparse_columns, dense_columns])
@pytest.mark.parametrize("directed", [False, True])
def test_loss_and_gradients_equal_dense_loops(columns, directed):
    graph, attributes = random_graph(directed=directed), columns(N)
    networks = [prepared(graph, attributes) for _ in range(2)]
    batch = networks[0][1]
    found, wanted = networks[0][0].loss(batch), naive_loss(networks[1][0], batch)
    sum(wanted.values()).backward()
    assert list(found) == ["first_order", "second_order", "attributes"]
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value.detach(), rtol=1e-9, atol=1e-12)
    for (name, a), b in zip(networks[0][0].named_parameters(), networks[1][0].parameters(), strict=True):
        assert (a.grad - b.grad).norm() <= 1e-9 * b.grad.norm(), name


@pytest.mark.parametrize("columns", [sparse_columns, dense_columns])
def test_columns_in_another_order_change_nothing_but_the_draw(columns):
    """With the weights of the columns moved as the columns are, loss and gradients are the same to the last digits."""
    graph, attributes = random_graph(), columns(N)
    other, orders = turned(attributes)
    at = [*range(N), *(N + i for order in orders for i in order)]
    assert at != sorted(at)
    (network, batch), (second, same) = prepared(graph, attributes), prepared(graph, other)
    with torch.no_grad():
        for name in ("first.table", "last.table", "last.bias"):
            second.get_parameter(name).copy_(network.get_parameter(name)[at])
    losses = network.loss(batch), second.loss(same)
    for name, value in losses[0].items():
        torch.testing.assert_close(losses[1][name], value, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(second.first.table.grad, network.first.table.grad[at], rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(second.code.weights[0].grad, network.code.weights[0].grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("columns", [sparse_columns, dense_columns])
def test_dropped_links_sum_to_1_and_attributes_keep_their_expectation(columns):
    graph, attributes = linked_groups(), columns(60)
    model = DVNE(dim=4, hidden=8, epochs=2, dropout=0.5).fit(attributed(graph, attributes), progress=False)
    data = model._read(attributed(graph, attributes))
    block = model.network_.scaled(data.block)
    rows = joint_rows(data.steps, block, model.network_.first.table)
    from netfold.learn.sparse_rows import dropped

    draws = [
        dropped(rows, 0.5, torch.Generator().manual_seed(i), sum_to_one=True, columns=60).matmul(torch.eye(rows.width))
        for i in range(400)
    ]
    sums = torch.stack(draws)[:, :, :60].sum(2)
    assert bool((((sums - 1).abs() < 1e-5) | (sums == 0)).all())
    whole = rows.matmul(torch.eye(rows.width))[:, 60:]
    mean = torch.stack(draws)[:, :, 60:].mean(0)
    assert float((mean - whole).norm() / whole.norm()) < 0.1


def test_a_weight_of_0_and_attributes_of_all_zeros_are_the_model_of_links_to_the_bit():
    graph = linked_groups()
    plain = attributed(graph, None)
    zeros = Attributes((Column("x", "number", np.full(graph.n_nodes, 3.0)),))
    options = {"dim": 4, "hidden": 8, "epochs": 3}
    models = [
        DVNE(**options).fit(plain, progress=False),
        DVNE(**options, attribute_weight=0).fit(graph, progress=False),
        DVNE(**options).fit(attributed(plain, zeros), progress=False),
    ]
    for other in models[1:]:
        assert np.array_equal(models[0].embedding_.coordinates, other.embedding_.coordinates)


def test_new_nodes_by_links_alone_by_attributes_alone_and_by_both(tmp_path):
    graph = linked_groups()
    model = DVNE(dim=4, hidden=16, epochs=60, lr=0.01).fit(graph, progress=False)
    n = graph.n_nodes
    edges = Graph.from_edges([(n, 0), (n, 2), (n, 4), (n + 1, 0), (n + 1, 2)], nodes=[*range(n + 3)])
    rows = [*range(n), -1, 0, 1]
    later = Graph(edges.adjacency, edges.nodes, directed=False, attributes=graph.attributes.rows(rows))
    new = model.transform(later)
    assert new.std is not None
    assert (new.std > 0).all()
    groups = [[x % 2 for x, _ in model.embedding_.nearest(at, k=5)] for at in new.coordinates]
    assert groups == [[0] * 5, [0] * 5, [1] * 5]
    model.save(tmp_path / "m.netfold")
    assert np.array_equal(nf.load(tmp_path / "m.netfold").transform(later).coordinates, new.coordinates)
    with pytest.raises(InputError, match="fitted with attributes"):
        model.transform(Graph.from_edges([(0, "z")]))
    with pytest.raises(InputError, match="no links to any known node"):
        model.transform(cold(graph, [-1], ["nothing"]))


def test_refining_knows_attributes():
    graph = linked_groups()
    for attributes in (graph.attributes, dense_columns(60)):
        model = DVNE(dim=4, hidden=8, epochs=3).fit(attributed(graph, attributes), progress=False)
        n = graph.n_nodes
        edges = Graph.from_edges([(n, 0), (n + 1, 0)], nodes=[*range(n + 2)])
        rows = [*range(n), 0, 1]
        later = Graph(edges.adjacency, edges.nodes, directed=False, attributes=attributes.rows(rows))
        new = model.transform(later, how="refine")
        assert np.abs(new[n] - new[n + 1]).max() > 1e-4  # the same links, other attributes


def test_a_node_without_links_is_the_least_certain_only_where_nothing_is_known_of_it():
    graph = linked_groups()
    n, links = graph.n_nodes, graph.adjacency
    wider = sparse.csr_array(
        (links.data, links.indices, np.append(links.indptr, [links.nnz] * 2)), shape=(n + 2, n + 2)
    )
    whole = Graph(wider, range(n + 2), directed=False, attributes=graph.attributes.rows([*range(n), 0, -1]))
    options = {"dim": 4, "hidden": 8, "epochs": 3}
    model, plain = (DVNE(**options, widen=x).fit(whole, progress=False).embedding_ for x in (True, False))
    assert np.array_equal(model.std[: n + 1], plain.std[: n + 1])  # the one with words too: its row is its own
    widest = np.sort(model.std**2, axis=1)[:, -10:].mean(axis=1)
    assert widest[n + 1] == pytest.approx(max(widest[: n + 1]), rel=1e-5)
