"""EasyGraph's SDNE: dense rows in batches of 100, 100 epochs, as `train` has by default."""

from __future__ import annotations

import inspect
import os
from typing import Any

import easygraph
import torch
from easygraph.functions.graph_embedding import SDNE
from job import Job


def sdne(job: Job) -> Any:
    """Layers of 256 and d: twice the last, as its documentation has for 64."""
    graph = easygraph.Graph()
    graph.add_nodes(list(range(job.n_nodes)))
    graph.add_edges(list(job.edges()))

    def trained(epochs: int) -> Any:
        torch.manual_seed(job.seed)
        model = SDNE(graph, job.n_nodes, nhid0=2 * job.dim, nhid1=job.dim)
        return model.train(model, epochs=epochs, output=os.devnull)

    epochs = inspect.signature(SDNE.train).parameters["epochs"].default
    return trained(epochs) if job.clock.allows(trained, epochs) else None
