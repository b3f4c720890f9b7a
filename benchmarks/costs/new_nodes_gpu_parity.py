"""Node2Vec, LINE, DepthLGP and Node2VecPlus on CUDA against the CPU: the largest difference of their numbers.

    python benchmarks/costs/new_nodes_gpu_parity.py

Les Misérables, eight characters held back; every `sharing` and both routines of DepthLGP, vectors and deviations.
Random numbers are drawn on the CPU, so that only sums differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import netfold as nf
from netfold.models.lgp import SHARING


def compare(cls: type, options: dict[str, Any], given: list[Any], numbers: Callable[[Any], Any]) -> None:
    """Print the largest difference between the devices, and the largest number."""
    models = (cls(**options, device=device).fit(*given, progress=False) for device in ("cpu", "cuda"))
    here, there = (numbers(model) for model in models)
    print(cls.__name__, options, f"{np.abs(here - there).max():.1e} of at most {np.abs(here).max():.2f}", flush=True)


def vectors(model: Any) -> Any:
    return model.embedding_.vectors


def main() -> None:
    graph: Any = nf.datasets.load("les_miserables")
    split = nf.evaluate.split_nodes(graph, 8, by="walk", seed=1)

    def placed(model: Any) -> Any:
        new = model.transform(split.whole)
        return np.concatenate([new.vectors, new.std])

    for bias in ({}, {"p": 0.5, "q": 2.0}):
        compare(nf.Node2Vec, {"dim": 16, "epochs": 5, **bias}, [graph], vectors)
    compare(nf.LINE, {"dim": 16, "epochs": 5}, [graph], vectors)
    base = nf.Node2Vec(dim=16, epochs=5, device="cpu").fit(split.known, progress=False)
    for sharing in SHARING:
        for routine in ("exact", "sampled"):
            options = {"epochs": 3, "sharing": sharing, "routine": routine}
            compare(nf.DepthLGP, options, [split.known, base.embedding_], placed)
    compare(nf.Node2VecPlus, {"dim": 16, "epochs": 2}, [split.known], placed)


if __name__ == "__main__":
    main()
