"""Pairs a CPU second of skip-gram: netfold's Node2Vec, its walks included, beside gensim's word2vec on walks as many.

    python benchmarks/costs/pairs.py --nodes 5000 [--rounds 2]

One thread each, one process, in turn; an epoch of a walk of 80 nodes from each node of a Chung-Lu graph, 128 numbers a
node, windows of 10, 5 negatives. A pair is one in expectation: gensim draws a window for each center, netfold weighs
all pairs by the chance that they are in one. Needs gensim, which lists of words are made for before the clock starts.
"""

from __future__ import annotations

import argparse
import time

import torch

import netfold as nf
from netfold.learn.skipgram import center_weights
from netfold.learn.walks import Links, random_walks

LENGTH, WINDOW = 80, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    from gensim.models import Word2Vec

    torch.set_num_threads(1)
    graph = nf.datasets.chung_lu(nodes=asked.nodes, edges=5 * asked.nodes, exponent=2.5)
    links = Links.from_scipy(graph.adjacency)
    walks = random_walks(links, links.degrees.nonzero()[:, 0], LENGTH, torch.Generator().manual_seed(0))
    pairs = float(center_weights(walks, WINDOW).sum())
    words = [[str(node) for node in walk if node >= 0] for walk in walks.tolist()]
    for _ in range(asked.rounds):
        marks = [0.0, 0.0]
        model = nf.Node2Vec(epochs=2, length=LENGTH, window=WINDOW, held_out=0.0, device="cpu")
        model.fit(graph, progress=False, on_epoch=lambda r, m=marks: m.append(time.process_time()))
        ours = marks[3] - marks[2]
        peer = Word2Vec(vector_size=128, window=WINDOW, negative=5, sg=1, workers=1, min_count=0, sample=0, seed=1)
        peer.build_vocab(words)
        start = time.process_time()
        peer.train(words, total_examples=len(words), epochs=1)
        theirs = time.process_time() - start
        print(f"{pairs / 1e6:.1f}M pairs; netfold {ours:.2f} CPU-s, {pairs / ours / 1e6:.2f}M a CPU-s; "
              f"gensim {theirs:.2f} CPU-s, {pairs / theirs / 1e6:.2f}M a CPU-s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
