"""DepthLGP's tensors: the process over known nodes, and the risk of its answers."""

from __future__ import annotations

import torch
from torch import Tensor

from netfold import losses
from netfold.lgp.process import Process
from netfold.lgp.solve import solved
from netfold.lgp.spread import posterior_variances
from netfold.models.depthlgp.batches import Batch

__all__ = ["DepthLGPNetwork"]


class DepthLGPNetwork(Process):
    """The process, trained by holding back known nodes."""

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The empirical risk over a batch: the mean over its nodes of ‖f(v) - f̃(v)‖²."""
        return {"risk": losses.empirical_risk(self(batch.around), batch.vectors) / max(1, len(batch.vectors))}

    @torch.no_grad()
    def measure(self, batch: Batch, generator: torch.Generator) -> None:
        """Learn from the errors in a batch how sure an answer is."""
        if not len(batch.vectors):
            return
        system = self.system(batch.around)
        latent = solved(system)
        wrong = batch.vectors - self.vectors(latent)
        self.spread.measure(self.g, latent, posterior_variances(system, generator), wrong)
