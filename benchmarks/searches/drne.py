"""DRNE's options on small graphs: what each kind of vectors reaches; the records are in benchmarks/searches/drne.jsonl.

    python benchmarks/searches/drne.py europe_airports '{"dim": 64, "init": "degree", "lambda_": 0.1}' [--splits 100]

One fit gives all rounds: X, h1 (one round), h2, ...; Xh, Xh2, Xh3 are X and 1, 2, 3 rounds side by side, h12 the first
two rounds. Figures: accuracy of roles, on the airports; 100 x MSE/mean of four centralities; Kendall's τ to VS
similarity over the pairs of 100 random nodes with all others, by product, distance, cosine, and product and cosine of
centred vectors. With --splits, of roles alone, on ten splits of that seed with a tenth and eight tenths known; beside
GraphWave's vectors (W), and those side by side with rounds (h5W), as `Joined` has them: so were roles chosen that the
tables measure on the splits of seeds 0 to 4.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from scipy.stats import kendalltau

import netfold as nf
from netfold import evaluate
from netfold.evaluate.role_tasks import vs_similarity
from netfold.models.drne.batches import neighbors

ROUNDS, CENTRALITIES = 8, ("closeness", "betweenness", "eigenvector", "k-core")


def variants(model: nf.DRNE, graph: nf.Graph) -> dict[str, np.ndarray]:
    """The vectors after each round, and some side by side."""
    network, drawn = model.network_, model._drawn(neighbors(graph))
    made = [network.table.detach()]
    for _ in range(ROUNDS):
        made.append(network.aggregate(drawn, made[-1]))
    x = [vectors.numpy(force=True) for vectors in made]
    single = {"X": x[0]} | {f"h{r}": x[r] for r in (1, 2, 3, 5, 8)}
    joined = {"Xh": x[:2], "Xh2": x[:3], "Xh3": x[:4], "h12": x[1:3]}
    return single | {name: np.concatenate(parts, axis=1) for name, parts in joined.items()}


def taus(graph: nf.Graph, x: np.ndarray, some: np.ndarray) -> dict[str, float]:
    def unit(y: np.ndarray) -> np.ndarray:
        return y / np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1e-12)

    x, degrees = x.astype(float), np.diff(graph.adjacency.indptr)
    centred = x - x.mean(axis=0)
    pairs = (np.arange(len(x))[:, None] != some) & (degrees > 0)[:, None] & (degrees[some] > 0)
    truth = vs_similarity(graph, some)[pairs].astype(np.float32)
    scores = {"dot": x @ x[some].T, "dist": -((x[:, None] - x[None, some]) ** 2).sum(-1)}
    scores |= {"cos": unit(x) @ unit(x)[some].T, "cdot": centred @ centred[some].T}
    scores |= {"ccos": unit(centred) @ unit(centred)[some].T}
    return {f"tau_{name}": round(float(kendalltau(s[pairs], truth).statistic), 3) for name, s in scores.items()}


def figures(name: str, graph: nf.Graph, vectors: np.ndarray, some: np.ndarray) -> dict[str, float]:
    embedding, found = nf.Embedding(graph.nodes, vectors), dict[str, float]()
    if name.endswith("_airports"):
        found |= evaluate.roles(embedding, nf.datasets.classes(name), baselines=False).figures
    result = evaluate.centrality(embedding, graph, measures=CENTRALITIES, baselines=False)
    found |= {k: 100 * v for k, v in result.figures.items() if k.endswith("MSE/mean")}
    return {k: round(v, 4) for k, v in found.items()} | taus(graph, vectors, some)


def role_figures(name: str, graph: nf.Graph, made: dict[str, np.ndarray], splits: int) -> dict[str, dict[str, float]]:
    waves = nf.GraphWave().fit(graph, progress=False).embedding_.vectors
    made = made | {"W": waves} | {f"{r}W": np.concatenate([made[r], waves], axis=1) for r in ("h2", "h5")}
    return {k: roles(name, nf.Embedding(graph.nodes, v), splits) for k, v in made.items()}


def roles(name: str, embedding: nf.Embedding, splits: int) -> dict[str, float]:
    classes = nf.datasets.classes(name)
    result = evaluate.roles(embedding, classes, train=(0.1, 0.8), repeats=10, seed=splits, baselines=False)
    return {k: round(v, 4) for k, v in result.figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("options", type=json.loads)
    parser.add_argument("--splits", type=int, metavar="SEED")
    args = parser.parse_args()
    graph, start = nf.datasets.load(args.graph), time.process_time()
    model = nf.DRNE(**args.options).fit(graph, progress=False)
    record: dict[str, Any] = {
        "graph": args.graph,
        "options": args.options,
        "cpu": round(time.process_time() - start, 1),
    }
    if args.splits is not None:
        record |= {"measured on": f"splits of seed {args.splits}"}
        print(json.dumps(record | role_figures(args.graph, graph, variants(model, graph), args.splits)), flush=True)
        return
    some = np.sort(np.random.default_rng(5).permutation(graph.n_nodes)[:100])
    print(json.dumps(record | {k: figures(args.graph, graph, v, some) for k, v in variants(model, graph).items()}))


if __name__ == "__main__":
    main()
