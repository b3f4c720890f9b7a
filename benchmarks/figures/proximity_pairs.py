"""How many pairs of nodes are linked, and how many have a neighbor in common (the SDNE paper's first figure).

    python benchmarks/figures/proximity_pairs.py ca_grqc cora

prints a line of the table in docs/sdne.md for each data set. The pairs are counted row by row of A², which is not kept.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import sparse

import netfold as nf
from netfold.data.edges import links

ROWS = 512


def pairs(graph: nf.Graph) -> tuple[int, int, int]:
    """Unordered pairs that are linked, that have a common neighbor, and both."""
    near = links(graph, directed=False, weights=False, loops="drop")
    near = sparse.csr_array((np.ones(near.nnz, np.int32), near.indices, near.indptr), shape=near.shape)
    linked, shared, both = near.nnz, 0, 0
    for start in range(0, near.shape[0], ROWS):
        block = near[start : start + ROWS]
        two = sparse.csr_array(block @ near)
        own = np.arange(start, start + block.shape[0])
        shared += two.nnz - int((two[np.arange(block.shape[0]), own] > 0).sum())
        both += two.multiply(block).nnz
    return linked // 2, shared // 2, both // 2


def main() -> None:
    """Print the lines."""
    for name in sys.argv[1:]:
        graph = nf.datasets.load(name)
        linked, shared, both = pairs(graph)
        cells = [name, *(f"{x:,}" for x in (graph.n_nodes, linked, shared, both)), f"{shared / linked:,.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
