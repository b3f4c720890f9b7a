"""torch_geometric's GAE and GraphSAGE on Cora with its words, in the splits of the tables attributes-cora-*.

    NETFOLD_DATA=../shared/data python benchmarks/peers/attributes.py [--seeds 5] [--models gae sage] [--tasks ...]

Both have two layers, 256 and 128 wide, words of length 1 (rows summing to 1, as torch_geometric's NormalizeFeatures has
them), Adam at 0.01 and 200 epochs of whole graphs; as many negatives as edges are drawn each epoch. GAE: graph
convolutions (Kipf and Welling 2016). GraphSAGE: means of neighbors, and the unsupervised loss of its paper over the
links (Hamilton et al. 2017). Cold nodes are encoded by their words, without a link. Nothing was chosen on these splits.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch.nn import functional
from torch_geometric.nn import GAE, GCNConv, SAGEConv
from torch_geometric.utils import negative_sampling

import netfold as nf
from netfold.evaluate.cold_start_tasks import without_links_of_new

WIDTHS, EPOCHS, LR = (256, 128), 200, 0.01
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class _Encoder(torch.nn.Module):
    def __init__(self, convolution: Any, width: int):
        super().__init__()
        self.first, self.second = convolution(width, WIDTHS[0]), convolution(WIDTHS[0], WIDTHS[1])

    def forward(self, x: torch.Tensor, links: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x, links).relu(), links)


def fitted(kind: str, graph: nf.Graph, seed: int) -> GAE:
    """A model of a graph with words, trained to tell its links from random pairs."""
    torch.manual_seed(seed)
    x, links = words(graph), ends(graph)
    model = GAE(_Encoder({"gae": GCNConv, "sage": SAGEConv}[kind], x.shape[1])).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        z = model.encode(x, links)
        wrong = negative_sampling(links, len(x), links.shape[1])
        scores = [(z[pairs[0]] * z[pairs[1]]).sum(1) for pairs in (links, wrong)]
        targets = [torch.ones_like(scores[0]), torch.zeros_like(scores[1])]
        functional.binary_cross_entropy_with_logits(torch.cat(scores), torch.cat(targets)).backward()
        optimizer.step()
    return model


def words(graph: nf.Graph) -> torch.Tensor:
    """Rows that sum to 1: n x words."""
    x = sparse.csr_array(graph.attributes.columns[0].values, dtype=np.float32).toarray()
    return torch.from_numpy(x / np.maximum(1, x.sum(axis=1, keepdims=True))).to(DEVICE)


def ends(graph: nf.Graph) -> torch.Tensor:
    """Both directions of each link: 2 x arcs."""
    return torch.from_numpy(np.stack(graph.adjacency.nonzero()).astype(np.int64)).to(DEVICE)


@torch.no_grad()
def vectors(model: GAE, graph: nf.Graph) -> nf.Embedding:
    """What the encoder makes of all nodes of a graph."""
    return nf.Embedding(graph.nodes, model.encode(words(graph), ends(graph)).numpy(force=True))


def measured(kind: str, task: str, seed: int) -> dict[str, float]:
    """The figures of one model, in the split that the tables have for this seed."""
    graph, classes = nf.datasets.load("cora", directed=False, attributes=True), nf.datasets.classes("cora")
    ev = nf.evaluate
    if task == "labels":
        own = vectors(fitted(kind, graph, seed), graph)
        return dict(ev.classification(own, classes, train=[0.1, 0.5], repeats=1, seed=seed, baselines=False).figures)
    if task == "links":
        split = ev.split_edges(graph, 0.2, seed=seed)
        own = vectors(fitted(kind, split.train, seed), split.train)
        best = {}
        for score in ("dot", "cosine"):
            result = ev.link_prediction(own, split, score=score, nodes=30, baselines=False, seed=seed)
            best |= {f"{name}, {score}": x for name, x in result.figures.items() if name.startswith("AUC")}
        return best
    split = ev.split_nodes(graph, 0.1, seed=seed)
    own = vectors(fitted(kind, split.known, seed), without_links_of_new(split))
    best = {}
    for score in ("dot", "cosine"):
        result = ev.cold_start(own, split, classes=classes, score=score, seed=seed, baselines=False)
        best |= {name if "F1" in name else f"{name}, {score}": x for name, x in result.figures.items()}
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--models", nargs="+", default=("gae", "sage"), choices=("gae", "sage"))
    parser.add_argument("--tasks", nargs="+", default=("labels", "links", "cold"), choices=("labels", "links", "cold"))
    args = parser.parse_args()
    for kind in args.models:
        for task in args.tasks:
            rows, start = [], time.process_time()
            for seed in range(args.seeds):
                rows.append(measured(kind, task, seed))
                print(json.dumps({"model": kind, "task": task, "seed": seed, "figures": rows[-1]}), flush=True)
            cost = (time.process_time() - start) / args.seeds
            said = [f"{x} {np.mean([r[x] for r in rows]):.3f} ± {np.std([r[x] for r in rows]):.3f}" for x in rows[0]]
            print(f"# {kind}, {task}: {'; '.join(said)}; {cost:.0f} CPU-s a seed", flush=True)


if __name__ == "__main__":
    main()
