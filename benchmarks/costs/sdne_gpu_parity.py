"""The same code on CPU and GPU: losses after ten steps from the same seed, and bits of two runs on each.

python benchmarks/costs/sdne_gpu_parity.py     # on a machine with CUDA
"""

from __future__ import annotations

import numpy as np
import torch
from sdne import heavy_tailed

from netfold.models import SDNE


def main() -> None:
    """Once as it comes, and once with torch's deterministic algorithms."""
    for exact in (False, True):
        torch.use_deterministic_algorithms(exact)
        print(f"torch.use_deterministic_algorithms({exact})")
        compare()


def compare() -> None:
    graph = heavy_tailed(5_000, 25_000)
    for changed in (
        {},
        {"output": "sigmoid"},
        {"hidden": ()},
        {"batch_size": 1000},
        {"optimizer": "row_adagrad", "lr": 0.1},
    ):
        fitted = {}
        for device in ("cpu", "cuda", "cuda again"):
            model = SDNE(dim=64, epochs=10, device=device.split()[0], tolerance=0.0, **changed)  # type: ignore[arg-type]
            fitted[device] = model.fit(graph, progress=False)
        cpu, cuda = (fitted[d].history_[-1]["objective"] for d in ("cpu", "cuda"))
        far = abs(cuda / cpu - 1)
        same = np.array_equal(fitted["cuda"].embedding_.vectors, fitted["cuda again"].embedding_.vectors)
        apart = np.abs(fitted["cuda"].embedding_.vectors - fitted["cpu"].embedding_.vectors).max()
        verdict = "within 1e-4" if far < 1e-4 else "NOT within 1e-4"
        print(
            f"{changed or 'defaults'}: objective cpu {cpu:.6g}, cuda {cuda:.6g}, relative difference {far:.1e} "
            f"({verdict}); vectors at most {apart:.1e} apart; two cuda runs equal bit for bit: {same}",
            flush=True,
        )


if __name__ == "__main__":
    main()
