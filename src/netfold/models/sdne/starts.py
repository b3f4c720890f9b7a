"""Where SDNE's training begins: the chapter's deep belief network, or the truncated SVD."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from scipy import sparse

from netfold.models.sdne.network import SDNENetwork
from netfold.pretrain import deep_belief_network, truncated_svd, unit_scale
from netfold.sparse_rows import SparseRows, parts

__all__ = ["start_from_dbn", "start_from_svd"]


@torch.no_grad()
def start_from_dbn(
    network: SDNENetwork,
    matrix: sparse.csr_array,
    generator: torch.Generator,
    report: Callable[[int, int, float], None],
) -> None:
    """Unroll a deep belief network into the autoencoder: each RBM upwards in the encoder, downwards in the decoder."""
    sizes = parts(matrix.shape[0], max(512, math.ceil(matrix.shape[0] / 8)))
    rows = [SparseRows.from_scipy(matrix[part]) for part in sizes]
    unit = unit_scale(rows)
    widths = [network.first.table.shape[1], *(w.shape[1] for w in network.encoder.weights)]
    scaled = [p.with_values(p.values / unit) for p in rows]
    lowest, *others = deep_belief_network(scaled, widths, generator, report=report)
    network.first.table.copy_(lowest.weight / unit)
    network.first.bias.copy_(lowest.hidden)
    for i, rbm in enumerate(others):
        network.encoder.weights[i].copy_(rbm.weight)
        network.encoder.biases[i].copy_(rbm.hidden)
        network.decoder.weights[-1 - i].copy_(rbm.weight.T)
        network.decoder.biases[-1 - i].copy_(rbm.visible)
    if network.output == "linear":
        network.last.table.copy_(lowest.weight * unit)
        network.last.bias.copy_(lowest.visible * unit)
    else:  # a sigmoid of what the linear units wrote, around how often each is on
        on = torch.tensor(matrix.sum(axis=0) / matrix.shape[0]).clamp(1e-6, 1 - 1e-6)
        network.last.table.copy_(lowest.weight)
        network.last.bias.copy_(on.logit())


@torch.no_grad()
def start_from_svd(network: SDNENetwork, matrix: sparse.csr_array, generator: torch.Generator) -> None:
    """Let the network begin as the best linear autoencoder: x̂ = V Vᵀ x with V the leading right singular vectors.

    The vectors Vᵀx are scaled into the range where the activation is nearly linear and passed through every layer.
    """
    rows = SparseRows.from_scipy(matrix)
    layers = [*network.encoder.weights, *network.decoder.weights]
    rank = min([network.first.table.shape[1], *(w.shape[1] for w in layers), *matrix.shape])
    _, v = truncated_svd(rows, rank, generator)
    reach = rows.matmul(v).abs().amax(1)
    reach = reach[reach > 1e-6 * reach.max()]  # rows with edges
    scale = 0.5 / float(reach.kthvalue(max(1, int(0.9 * len(reach)))).values)
    network.first.table.mul_(0.1)
    network.last.table.mul_(0.1)
    network.first.table[:, :rank] = scale * v
    network.last.table[:, :rank] = v / scale
    for w in layers:
        w.mul_(0.1)
        w[:rank, :rank] = torch.eye(rank)
