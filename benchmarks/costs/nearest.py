"""What `Embedding.nearest` costs beside a float32 product with argpartition: `python benchmarks/costs/nearest.py [N]`.

CPU seconds, the best of several, and their ratios, of one node and of a list of 64.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from netfold.data.embedding import Embedding

DIM, K, BATCH = 128, 10, 64


def seconds(call: Callable[[], object], times: int) -> float:
    took = []
    for _ in range(times):
        start = time.process_time()
        call()
        took.append(time.process_time() - start)
    return min(took)


def main(n: int = 100_000) -> None:
    vectors = np.random.default_rng(0).normal(size=(n, DIM)).astype(np.float32)
    embedding, nodes = Embedding(range(n), vectors), list(range(BATCH))
    one = seconds(lambda: np.argpartition(vectors @ vectors[5], K)[:K], 9)
    product = seconds(lambda: vectors[:BATCH] @ vectors.T, 4)
    many = seconds(lambda: np.argpartition(vectors[:BATCH] @ vectors.T, K, axis=1)[:, :K], 4)
    for metric in ("cosine", "dot", "euclidean"):
        embedding.nearest(5, K, metric=metric)  # the lengths of the vectors are kept
        ours = seconds(lambda m=metric: embedding.nearest(5, K, metric=m), 9)  # type: ignore[misc]
        batch = seconds(lambda m=metric: embedding.nearest(nodes, K, metric=m), 4)  # type: ignore[misc]
        print(
            f"{n:,} x {DIM} {metric:<9}  one: {1e3 * ours:.2f} ms, {ours / one:.2f} of product and argpartition;  "
            f"{BATCH}: {1e3 * batch:.1f} ms, {batch / many:.2f} of products and argpartitions, "
            f"{batch / product:.2f} of the product alone"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
