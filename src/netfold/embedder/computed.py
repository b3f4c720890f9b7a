"""`Computed`: what a model is that is solved for and not trained, so that it has no epochs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from netfold.embedder.embedder import Embedder
from netfold.embedder.problem import Input, N, Problem

if TYPE_CHECKING:
    import torch

    from netfold.learn.progress import Progress

__all__ = ["Computed"]


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class Computed(Embedder[N], abstract=True):
    """A model whose network is computed at once: `_compute` fills it. Of the five places it has all but `_problem`.

    A checkpoint holds what was computed, whole: a run that was killed before that begins again.
    """

    epochs: int = dataclasses.field(default=0, init=False)  # no option: there is nothing to be passed over

    def _problem(
        self, data: Input[Any], device: torch.device, progress: Progress, *, resumed: bool = False
    ) -> Problem[N]:
        network = self._network(data.facts).to(device)
        history = [] if resumed else self._compute(network, data, progress)
        return Problem(network, lambda epoch: (), [], history=history)

    def _compute(self, network: N, data: Any, progress: Progress) -> list[dict[str, float]]:
        """Fill the network, which is on its device, and give a record of each round: `epoch`, terms, `objective`."""
        raise NotImplementedError
