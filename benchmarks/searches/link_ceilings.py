"""What paths of two steps know of held-out links on ca-GrQc: precision@1,000 and @10,000 of exact scores of pairs.

    NETFOLD_DATA=../shared/data python benchmarks/searches/link_ceilings.py [--seeds 5]

D^-q S D^-2p S D^-q is what SDNE's `overlap` asks its decoder to write with row_damping q and column_damping p. "test"
are the splits of the table sdne-grqc-links; "validation" those of `searches/sdne.py links`, where test
edges are misses.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import sparse
from sdne import graph_of, halved

from netfold import datasets, evaluate
from netfold.data.edges import edge_pairs, links
from netfold.data.graph import Graph
from netfold.evaluate.heuristics import SharedNeighbors
from netfold.evaluate.ranking import rank

EXPONENTS = [(0.1, 0.25), (0.15, 0.25), (0.0, 0.35), (0.05, 0.35), (0.0, 0.5)]


class Damped(SharedNeighbors):
    """Σ over shared neighbors z of d_z^-2p, times (d_i d_j)^-q."""

    def __init__(self, graph: Graph, q: float, p: float):
        near = links(graph, directed=False, weights=False, loops="drop")
        degrees = np.maximum(np.diff(near.indptr), 1).astype(np.float64)
        ends = sparse.diags_array(degrees**-q)
        self._links, self._weighted = (
            sparse.csr_array(near @ ends),
            ends @ near @ sparse.diags_array(degrees ** (-2 * p)),
        )


def figures(train: Graph, held_out: np.ndarray, scores: SharedNeighbors) -> list[float]:
    wanted = links(Graph.from_codes(*held_out.T, None, nodes=train.nodes), directed=False, weights=False, loops="drop")
    found = rank(scores, wanted, np.arange(train.n_nodes), k=10_000, without=train.adjacency).figures([1000, 10_000])
    return [found["precision@1000"], found["precision@10000"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    whole = datasets.load("ca_grqc")
    assert isinstance(whole, Graph)
    splits = [evaluate.split_edges(whole, 0.15, seed=seed) for seed in seeds]
    inner = [halved(halved(edge_pairs(whole), 0.15, seed)[0], 0.15, 1000 + seed) for seed in seeds]
    cases = {
        "test": [(split.train, split.test) for split in splits],
        "validation": [(graph_of(kept, whole.n_nodes), held_out) for kept, held_out in inner],
    }
    print("| score | " + " | ".join(cases) + " |\n| --- | --- | --- |")
    scorers = {"Adamic-Adar": lambda g: evaluate.heuristics.pair_scorers(g)["Adamic-Adar"]}
    scorers |= {f"q {q:g}, p {p:g}": lambda g, q=q, p=p: Damped(g, q, p) for q, p in EXPONENTS}
    for name, scorer in scorers.items():
        means = [np.mean([figures(g, held_out, scorer(g)) for g, held_out in case], axis=0) for case in cases.values()]
        print(f"| {name} | " + " | ".join(" / ".join(f"{x:.4f}" for x in mean) for mean in means) + " |", flush=True)


if __name__ == "__main__":
    main()
