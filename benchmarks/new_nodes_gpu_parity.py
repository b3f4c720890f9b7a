"""Node2Vec, LINE, DepthLGP and Node2VecPlus on CUDA against the CPU: the largest difference of their numbers.

    python benchmarks/new_nodes_gpu_parity.py

Les Misérables, eight characters held back; every `sharing` and both routines of DepthLGP, vectors and deviations.
Random numbers are drawn on the CPU, so that only sums differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import netfold as nf
from netfold.lgp.embedder import SHARING


def difference(fit: Callable[[str], Any], numbers: Callable[[Any], Any]) -> str:
    """The largest, and the largest number."""
    here, there = (numbers(fit(device)) for device in ("cpu", "cuda"))
    return f"{np.abs(here - there).max():.1e} of at most {np.abs(here).max():.2f}"


def vectors(model: Any) -> Any:
    return model.embedding_.vectors


def main() -> None:
    graph: Any = nf.datasets.load("les_miserables")
    split = nf.evaluate.split_nodes(graph, 8, by="walk", seed=1)

    def placed(model: Any) -> Any:
        new = model.transform(split.whole)
        return np.concatenate([new.vectors, new.std])

    for options in ({}, {"p": 0.5, "q": 2.0}):
        fit = lambda device: nf.Node2Vec(dim=16, epochs=5, device=device, **options).fit(graph, progress=False)  # noqa: B023, E731
        print("Node2Vec", options, difference(fit, vectors), flush=True)
    print("LINE", difference(lambda x: nf.LINE(dim=16, epochs=5, device=x).fit(graph, progress=False), vectors))
    base = nf.Node2Vec(dim=16, epochs=5, device="cpu").fit(split.known, progress=False).embedding_
    for sharing in SHARING:
        for routine in ("exact", "sampled"):
            options = {"epochs": 3, "sharing": sharing, "routine": routine}
            fit = lambda device: nf.DepthLGP(device=device, **options).fit(split.known, base, progress=False)  # noqa: B023, E731
            print("DepthLGP", sharing, routine, difference(fit, placed), flush=True)
    print("Node2VecPlus", difference(lambda x: nf.Node2VecPlus(dim=16, epochs=2, device=x).fit(split.known), placed))


if __name__ == "__main__":
    main()
