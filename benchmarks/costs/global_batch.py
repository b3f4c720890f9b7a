"""LINE and Node2Vec over parts against the same in memory, and with larger global batches: is it as good?

python benchmarks/costs/global_batch.py --graph cora --model line node2vec --times 1 8 64 --seeds 0 1 2 3 4
python benchmarks/costs/global_batch.py --graph planted --model line node2vec --times 1 8 64 --seeds 0 1 2 3 4

Defaults of the models; a tenth of the edges is held out, drawn by the seed, which is the model's too. `memory` is
`fit(graph)`, `parts` is `fit("g.parts")` in one process (on several ranks the batches are the same ones), x 8 and x 64
with so many times the links or walks a step. AUC of the held-out edges, micro-F1 of classes at 50% with five draws, and
CPU seconds. planted: ten blocks of a thousand nodes, degree 20, half of it inside.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import netfold as nf
from netfold.evaluate import classification, link_prediction, split_edges


def data(name: str) -> tuple[Any, dict[Any, Any]]:
    """A graph and the classes of its nodes."""
    if name == "planted":
        return nf.datasets.stochastic_block_model()
    options = {"directed": False} if name == "cora" else {}
    return nf.datasets.load(name, **options), nf.datasets.classes(name, **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="cora", help="planted, or a data set")
    parser.add_argument("--model", nargs="+", default=["line", "node2vec"])
    parser.add_argument("--times", type=int, nargs="+", default=[1])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--parts", type=int, default=16)
    options = parser.parse_args()
    graph, classes = data(options.graph)
    print(options.graph, graph, flush=True)
    usual = {"line": 4096, "node2vec": 64}
    for seed in options.seeds:
        split = split_edges(graph, 0.1, seed=seed)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "g.parts")
            split.train.save(folder, parts=options.parts)
            for name in options.model:
                for how, times in [("memory", 1), *(("parts", times) for times in options.times)]:
                    more: dict[str, Any] = {} if times == 1 else {"batch_size": times * usual[name]}
                    more |= {"held_out": 0.0} if name == "node2vec" else {}  # as over parts
                    model = nf.MODELS[name](seed=seed, device="cpu", **more)
                    began = time.process_time()
                    model.fit(split.train if how == "memory" else folder, progress=False)
                    cpu = time.process_time() - began
                    at = {node: i for i, node in enumerate(model.embedding_)}  # classes are drawn by order: one for all
                    order = list(split.train.nodes)
                    vectors = nf.Embedding(order, model.embedding_.vectors[[at[node] for node in order]])
                    auc = link_prediction(vectors, split, baselines=False, k=[100]).figures["AUC"]
                    f1 = classification(vectors, classes, train=0.5, baselines=False).figures["micro-F1@50%"]
                    print(
                        f"{name} {how} x {times} seed {seed}: AUC {auc:.4f} micro-F1 {f1:.4f} {cpu:.1f} CPU-s",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
