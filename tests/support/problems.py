"""What a model makes of a graph, without a fit."""

from __future__ import annotations

from typing import Any

import torch

from netfold.embedder.embedder import Embedder
from netfold.embedder.problem import Problem
from netfold.learn.progress import Progress


def problem_of(model: Embedder, graph: Any, embedding: Any = None, *, resumed: bool = False) -> Problem:
    """The problem that `fit` would train, on the CPU and silently."""
    return model._problem(model._read(graph, embedding), torch.device("cpu"), Progress.silent(), resumed=resumed)
