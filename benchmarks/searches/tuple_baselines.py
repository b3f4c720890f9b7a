"""What counting pairs knows of held-out hyperedges, by how negatives are drawn: the figures that DHNE has to beat.

NETFOLD_DATA=../shared/data python benchmarks/searches/tuple_baselines.py [--seeds 3]
"""

from __future__ import annotations

import argparse

import numpy as np

from netfold import datasets, evaluate
from netfold.data.hypergraph import Hypergraph
from netfold.evaluate.hyperedge_tasks import cheap_scorers
from netfold.evaluate.tuples import coded


class PairCounts:
    """Pair co-occurrence as a model of its own."""

    def __init__(self, known: Hypergraph):
        self._nodes, self._of = known.nodes, cheap_scorers(known)["pair co-occurrence"]

    def score(self, tuples: list[tuple[object, ...]]) -> np.ndarray:
        return self._of(coded(tuples, self._nodes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    print("| data | duplicates | fixed negatives | replaced, 5 per positive |\n| --- | --- | --- | --- |")
    for name in ("dhne_gps", "dhne_movielens", "dhne_drug"):
        known, test, fixed = (datasets.load(name, part=part) for part in ("train", "test", "test_negatives"))
        assert isinstance(known, Hypergraph)
        for duplicates in ("drop", "keep"):
            given = {"known": known, "duplicates": duplicates, "baselines": False}
            model = PairCounts(known)
            one = evaluate.hyperedges(model, test, negatives=fixed.edges, **given).figures["AUC"]
            drawn = [evaluate.hyperedges(model, test, seed=seed, **given).figures["AUC"] for seed in seeds]
            print(f"| {name} | {duplicates} | {one:.4f} | {np.mean(drawn):.4f} ± {np.std(drawn):.4f} |", flush=True)


if __name__ == "__main__":
    main()
