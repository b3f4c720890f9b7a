"""DRNE whose aggregator reads [X_u, γ a_u]: loss and gradients against loops in float64, and new nodes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import netfold as nf
from attributed import attributed, cold, dense_columns, linked_groups, sparse_columns
from drne_networks import K, N, gradients, neighbors, random_matrix, sequences_of, summed
from netfold.data.attributes import Attributes, Column
from netfold.data.graph import Graph
from netfold.data.scaling import Scaling
from netfold.errors import InputError
from netfold.models import DRNE
from netfold.models.drne.batches import batches, colors
from netfold.models.drne.network import EPS, DRNENetwork

both = pytest.mark.parametrize("columns", [sparse_columns, dense_columns])
WEIGHT = 1.4


def network_of(matrix, width: int) -> DRNENetwork:
    network = DRNENetwork(N, K, lambda_=0.7, attributes=width, attribute_weight=WEIGHT).double()
    network.colors.copy_(torch.from_numpy(colors(matrix)))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in network.parameters():
            p.uniform_(-0.6, 0.6, generator=generator)
        network.degree_bias.fill_(0.5)
    return network


def dense_rows(block) -> torch.Tensor:
    values = block.values if isinstance(block.values, np.ndarray) else block.values.toarray()
    return torch.from_numpy((values * np.float32(WEIGHT)).astype(np.float64))


def naive_aggregate(network: DRNENetwork, rows: torch.Tensor, sequence: list[int]) -> torch.Tensor:
    """h_T of neighbors that come in one after another as [X_u, γ a_u], those of one color as their mean."""
    weights = torch.cat([network.input, network.attribute_input, network.recurrent])
    h = c = torch.zeros(K, dtype=torch.float64)
    for u in sequence:
        alike = [w for w in sequence if network.colors[w] == network.colors[u]]
        read = sum(torch.cat([network.table[w], rows[w]]) for w in alike) / len(alike)
        f, i, o, candidate = (torch.cat([read, h]) @ weights + network.bias).split(K)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(candidate)
        normed = network.gain * (c - c.mean()) / torch.sqrt(((c - c.mean()) ** 2).mean() + EPS)
        h = torch.sigmoid(o) * torch.tanh(normed)
    return h


def naive_terms(network, rows, matrix) -> dict[str, torch.Tensor]:
    sequences = sequences_of(matrix)
    recursive = regular = torch.zeros((), dtype=torch.float64)
    for v in range(N):
        near = neighbors(sequences, v)
        aggregated = naive_aggregate(network, rows, near)
        recursive = recursive + ((network.table[v] - aggregated) ** 2).sum()
        said = torch.relu(aggregated @ network.degree_weight[:, 0] + network.degree_bias)
        regular = regular + ((math.log(len(near) + 1) - said) ** 2).sum()
    return {"recursive": recursive, "regularization": network.lambda_ * regular}


@both
@pytest.mark.parametrize(("batch_size", "piece"), [(None, 10**6), (5, 12)])
def test_loss_and_gradients_equal_loops(columns, batch_size, piece):
    matrix, attributes = random_matrix(), columns(N)
    block = Scaling.fit(attributes).block(attributes)
    network, slow = (network_of(matrix, block.width) for _ in range(2))
    expected = naive_terms(slow, dense_rows(block), matrix)
    sum(expected.values()).backward()
    of = batches(
        sequences_of(matrix), network.colors, most=10**6, batch_size=batch_size, piece=piece, dtype=torch.float64,
        attributes=network.attribute_rows(block),
    )  # fmt: skip
    sums = summed(network, list(of(torch.Generator().manual_seed(0))))
    for name, value in expected.items():
        torch.testing.assert_close(sums[name], value.detach(), rtol=1e-9, atol=1e-12)
    wanted = gradients(slow)
    assert float(wanted["attribute_input"].norm()) > 0.1
    for name, grad in gradients(network).items():
        assert (grad - wanted[name]).norm() <= 1e-9 * wanted[name].norm(), name


@both
def test_what_is_aggregated_with_attributes_equals_a_loop(columns):
    matrix, attributes = random_matrix(), columns(N)
    block = Scaling.fit(attributes).block(attributes)
    network = network_of(matrix, block.width)
    network.remember(network.attribute_rows(block))
    sequences = sequences_of(matrix)
    aggregated = network.aggregate(sequences, network.table.detach())
    for v in range(N):
        wanted = naive_aggregate(network, dense_rows(block), neighbors(sequences, v)).detach()
        torch.testing.assert_close(aggregated[v], wanted, rtol=1e-9, atol=1e-12)


def test_a_weight_of_0_and_attributes_of_all_zeros_are_the_model_of_links_to_the_bit():
    graph = linked_groups()
    plain = attributed(graph, None)
    zeros = Attributes((Column("x", "number", np.full(graph.n_nodes, 3.0)),))
    models = [
        DRNE(dim=4, epochs=3).fit(plain, progress=False),
        DRNE(dim=4, epochs=3, attribute_weight=0).fit(graph, progress=False),
        DRNE(dim=4, epochs=3).fit(attributed(plain, zeros), progress=False),
    ]
    for other in models[1:]:
        assert np.array_equal(models[0].embedding_.vectors, other.embedding_.vectors)
        assert models[0].network_.state_dict().keys() == other.network_.state_dict().keys()


def test_columns_in_another_order_change_nothing_but_the_draw():
    """With the weights of the columns moved as the columns are, the loss is the same to the last digits."""
    matrix, attributes = random_matrix(), dense_columns(N)
    turned = Attributes(attributes.columns[::-1])
    values = []
    for known, order in ((attributes, None), (turned, [7, *range(7)])):
        block = Scaling.fit(known).block(known)
        network = network_of(matrix, block.width)
        if order is not None:
            with torch.no_grad():
                network.attribute_input.copy_(network.attribute_input[order].clone())
        of = batches(
            sequences_of(matrix), network.colors, most=10**6, batch_size=None, piece=10**6, dtype=torch.float64,
            attributes=network.attribute_rows(block),
        )  # fmt: skip
        values.append(float(sum(summed(network, list(of(torch.Generator().manual_seed(0)))).values())))
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_stars_alike_but_for_the_sort_of_their_leaves_are_told_apart_by_attributes_alone():
    leaves = [(hub, f"{hub}{i}") for hub in "abcd" for i in range(4)]
    sorts = {leaf: {"sort": "red" if hub in "ab" else "blue"} for hub, leaf in leaves} | {hub: {} for hub in "abcd"}
    graph = Graph.from_edges(leaves)
    plain = DRNE(dim=4, epochs=40).fit(graph, progress=False).embedding_
    assert np.allclose(plain["a"], plain["c"], atol=1e-5)
    known = DRNE(dim=4, epochs=40).fit(graph.with_attributes(sorts), progress=False).embedding_
    assert np.allclose(known["a"], known["b"], atol=1e-5)
    assert np.abs(known["a"] - known["c"]).max() > 0.01


@pytest.mark.parametrize("options", [{}, {"rounds": 2, "vectors": "all", "dim": 6}])
def test_new_nodes_by_links_and_by_attributes_alone(options, tmp_path):
    graph = linked_groups()
    model = DRNE(**{"dim": 4, "epochs": 5, **options}).fit(graph, progress=False)
    n = graph.n_nodes
    links = [(n, int(u)) for u in graph.adjacency[[7]].indices]
    edges = Graph.from_edges(links, nodes=range(n + 1))
    later, unnamed = (attributed(edges, graph.attributes.rows(rows)) for rows in ([*range(n), 7], [-1] * n + [7]))
    new = model.transform(later, how="encode")
    assert np.allclose(new[n][-2:], model.embedding_[7][-2:], atol=1e-5)  # the links of 7: what 7 aggregates to
    assert np.array_equal(model.transform(unnamed, how="encode").vectors, new.vectors)  # known nodes are as they were
    both_ways = cold(graph, [0, 1], ["x", "z"])
    placed = model.transform(both_ways)
    assert np.isfinite(placed.vectors).all()
    assert np.abs(placed["x"] - placed["z"]).max() > 1e-3
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold")
    assert np.array_equal(again.transform(later, how="encode").vectors, new.vectors)
    assert np.array_equal(again.transform(both_ways).vectors, placed.vectors)
    with pytest.raises(InputError, match="fitted with attributes"):
        model.transform(Graph.from_edges([(0, "z")]))
    with pytest.raises(InputError, match="no links to any known node"):
        model.transform(cold(graph, [-1], ["nothing"]))


def test_isolated_nodes_do_not_draw_those_without_links_to_0():
    graph = linked_groups()
    rows = [*range(60), *([0, 1] * 30)]
    wider = Graph.from_edges(
        [(i, j) for i, j in zip(*graph.adjacency.nonzero(), strict=True) if i < j], nodes=[*range(120)]
    )
    isolated = Graph(wider.adjacency, wider.nodes, directed=False, attributes=graph.attributes.rows(rows))
    model = DRNE(dim=4, epochs=3).fit(isolated, progress=False)
    alone = cold(graph, [0, 1], ["x", "y"])
    placed = model.transform(alone).vectors
    assert np.allclose(model.embedding_.vectors[60:62], placed, atol=1e-6)  # as those that come later
    center = model.network_.scaling.array("center")
    assert np.allclose(center, model.embedding_.vectors[:60].mean(axis=0), atol=1e-5)


def test_a_fit_goes_on_from_a_checkpoint_to_the_same_bits(tmp_path):
    graph = linked_groups()
    options = {"dim": 4, "schedule": "constant", "tolerance": 0.0}
    whole = DRNE(**options, epochs=6).fit(graph, progress=False)
    DRNE(**options, epochs=3).fit(graph, progress=False, checkpoint=tmp_path / "c")
    again = DRNE(**options, epochs=6).fit(graph, progress=False, checkpoint=tmp_path / "c")
    assert np.array_equal(whole.embedding_.vectors, again.embedding_.vectors)
