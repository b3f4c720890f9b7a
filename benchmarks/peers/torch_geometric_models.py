"""torch_geometric's models of a graph without features, with the settings of its own examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from job import Job
from torch_geometric.nn import GAE, GCNConv, Node2Vec

_NODE2VEC_EPOCHS, _GAE_EPOCHS = 100, 400


def node2vec(job: Job) -> Any:
    """Walks of 20, context 10, 10 walks a node, 1 negative, SparseAdam, 100 epochs of batches of 128."""
    torch.manual_seed(job.seed)
    model = Node2Vec(_links(job), job.dim, walk_length=20, context_size=10, walks_per_node=10, sparse=True)
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)
    batches = model.loader(batch_size=128, shuffle=True)
    for _ in job.clock.epochs(_NODE2VEC_EPOCHS):
        for positive, negative in batches:
            optimizer.zero_grad()
            model.loss(positive, negative).backward()
            optimizer.step()
    return None if job.clock.foretold else model().detach().numpy()


class _Encoder(torch.nn.Module):
    """Two graph convolutions, the node's number being its only feature: the first weights are a table."""

    def __init__(self, n_nodes: int, dim: int):
        super().__init__()
        self.features = _identity(n_nodes)
        self.first, self.second = GCNConv(n_nodes, 2 * dim), GCNConv(2 * dim, dim)

    def forward(self, links: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(self.features, links).relu(), links)


def gae(job: Job) -> Any:
    """A graph autoencoder: 2d then d wide, Adam, 400 epochs; as many negatives as edges, drawn each epoch."""
    torch.manual_seed(job.seed)
    links, model = _links(job), GAE(_Encoder(job.n_nodes, job.dim))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in job.clock.epochs(_GAE_EPOCHS):
        optimizer.zero_grad()
        model.recon_loss(model.encode(links), links).backward()
        optimizer.step()
    return None if job.clock.foretold else model.encode(links).detach().numpy()


def _links(job: Job) -> torch.Tensor:
    return torch.from_numpy(np.stack(job.adjacency.nonzero()).astype(np.int64))


def _identity(n: int) -> torch.Tensor:
    return torch.sparse_coo_tensor(torch.arange(n).repeat(2, 1), torch.ones(n), (n, n), is_coalesced=True)
