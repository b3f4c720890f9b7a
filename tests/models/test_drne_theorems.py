"""The chapter's theorems on DRNE: centralities are fixed points of its recursion, and 0 is one if not regularised."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from drne_networks import CHAPTER, LINEAR, all_batches, connected_graph, gradients, sequences_of, summed
from netfold.learn.training import Block, train
from netfold.models.drne.batches import colors
from netfold.models.drne.network import Cell, DRNENetwork

# -------------------------------------------------------------------- centralities


def of_the_proof(k: int) -> DRNENetwork:
    """The second row as the proof sets it: h_2 = Σ_u F(u) C(u). All gates of the others: f = 0, i = o = 1."""
    network = DRNENetwork(1, k, lambda_=0.0, cell=LINEAR).double()
    f, i, o, candidate = range(0, 4 * k, k)
    with torch.no_grad():
        network.bias[i : i + k] = network.bias[o : o + k] = 1
        network.bias[f + 1], network.bias[i + 1] = 1, 0
        network.input[0, i + 1] = network.input[1, candidate + 1] = 1
    return network


def counting(network: DRNENetwork, most: int) -> None:
    """Lemma 1 made explicit: a unary counter, s_t = (1, .., 1, 0, ..) with t ones, from which 1 / t is linear."""
    k = network.dim
    candidate = 3 * k
    with torch.no_grad():
        network.bias[candidate] = network.bias[candidate + 2] = 1  # 1 / 1, and the first 1 of the counter
        for j in range(1, most):  # if j are counted before, this neighbor makes it j + 1
            network.recurrent[1 + j, candidate] = 1 / (j + 1) - 1 / j
            network.recurrent[1 + j, candidate + 2 + j] = 1


def on_graph(network: DRNENetwork, matrix: sparse.csr_array, x: np.ndarray) -> None:
    network.table = torch.nn.Parameter(torch.tensor(x))
    network.colors = torch.from_numpy(colors(matrix))


def residual(network: DRNENetwork, matrix: sparse.csr_array, x: np.ndarray) -> float:
    on_graph(network, matrix, x)
    made = network.aggregate(sequences_of(matrix), network.table.detach()).numpy()
    loss = summed(network, all_batches(matrix, network, piece=31))["recursive"]
    assert float(loss) == pytest.approx(float(np.square(made - x).sum()), abs=1e-18)
    assert float(network.table.grad.norm()) < 1e-7  # optimal: nothing moves it
    return float(np.abs(made - x).max())


@pytest.mark.parametrize("seed", range(6))
def test_eigenvector_centrality_is_a_fixed_point(seed):
    """F = 1 / λ everywhere, whose mean over the neighbors is the last one's: that is what f = 0 keeps."""
    matrix = connected_graph(seed)
    values, vectors = np.linalg.eigh(matrix.toarray().astype(np.float64))
    network = of_the_proof(2)
    with torch.no_grad():
        network.input[0, 3 * 2] = 1
    x = np.column_stack([np.full(matrix.shape[0], 1 / values[-1]), np.abs(vectors[:, -1])])
    assert residual(network, matrix, x) < 1e-9


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("centrality", ["degree", "pagerank"])
def test_degree_and_pagerank_are_fixed_points(seed, centrality):
    """X_v = [1 / d_v, C(v), the counter at d_v], and h_T of the neighbors' is that again."""
    matrix = connected_graph(seed)
    degrees = np.diff(matrix.indptr)
    most = int(degrees.max())
    c = degrees.astype(np.float64)
    if centrality == "pagerank":  # the stationary walk, by its own definition
        walk = matrix.toarray().astype(np.float64) / degrees
        values, vectors = np.linalg.eig(walk)
        c = np.abs(vectors[:, np.argmax(values.real)].real)
    network = of_the_proof(2 + most)
    counting(network, most)
    counter = (np.arange(1, most + 1) <= degrees[:, None]).astype(np.float64)
    assert residual(network, matrix, np.column_stack([1 / degrees, c, counter])) < 1e-9


def test_another_vector_is_no_fixed_point():
    matrix = connected_graph(1)
    network = of_the_proof(2)
    x = np.column_stack([np.full(matrix.shape[0], 0.2), np.random.default_rng(0).random(matrix.shape[0])])
    on_graph(network, matrix, x)
    vectors = network.table.detach()
    assert float((network.aggregate(sequences_of(matrix), vectors) - vectors).abs().max()) > 0.1


# -------------------------------------------------------------------- the trivial solution


def started(matrix: sparse.csr_array, lambda_: float, cell: Cell) -> DRNENetwork:
    network = DRNENetwork(matrix.shape[0], 4, lambda_=lambda_, cell=cell).double()
    network.colors.copy_(torch.from_numpy(colors(matrix)))
    network.start(torch.Generator().manual_seed(0), torch.from_numpy(np.diff(matrix.indptr)), "random")
    with torch.no_grad():
        network.table.mul_(0.2)  # a shorter way
    return network


@pytest.mark.parametrize("cell", [CHAPTER, Cell(normalized=False)], ids=["chapter", "plain"])
def test_all_vectors_zero_solve_the_recursion_and_only_the_regulariser_leaves_that(cell):
    """With b_C = 0, as at the start: X = 0 makes C = 0, and that h = 0."""
    matrix = connected_graph(1)
    for lambda_ in (0.0, 1.0):
        network = started(matrix, lambda_, cell)
        with torch.no_grad():
            network.table.zero_()
        assert float(summed(network, all_batches(matrix, network))["recursive"]) == 0
        moving = {name for name, grad in gradients(network).items() if grad.norm() > 1e-6}
        assert moving >= {"table", "bias"} if lambda_ else not moving


def test_without_the_regulariser_the_trivial_solution_is_reached_and_with_it_not():
    """By the cell without normalisation. C' has one size however small C is: with it, 0 does not draw what is near."""
    matrix = connected_graph(1)
    spreads = []
    for lambda_, normalized in ((0.0, False), (1.0, False), (0.0, True)):
        network = started(matrix, lambda_, Cell(normalized=normalized))
        blocks = [Block([network.table], "adam", 0.005), Block(network.theta, "adam", 0.005)]
        given = all_batches(matrix, network)
        train(network, lambda epoch, given=given: given, blocks, epochs=250, schedule="cosine")
        x = network.table.detach()
        spreads.append(float((x - x.mean(0)).norm(dim=1).mean()))
    assert spreads[0] < 0.01
    assert min(spreads[1:]) > 0.1
