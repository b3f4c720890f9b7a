"""The numbers of every model on fixed small graphs: what must not move when code is moved.

`python tests/support/fixed_vectors.py FILE` writes them, on one thread; with `--compare FILE` they are compared with
those of a file instead, to the bit. It reads `netfold` alone, by names that old commits have as well, so that one
script serves both sides: `PYTHONPATH=OTHER/src python tests/support/fixed_vectors.py FILE`. The test that stays,
tests/models/test_fixed_vectors.py, compares them at rtol 1e-4 with tests/models/fixed_vectors.npz of commit 78c3cd0.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

import netfold as nf

RENAMED = {"pretrain": "init", "start": "init", "negatives": "n_negatives", "noise": "negatives", "seeds": "roots"}
"""Options that older commits know by the first name."""

_CHAPTERS = {"hidden": 0, "products": 0, "nu": 0.0, "replaced": 1.1, "scale": "log", "dropout": 0.0, "lr": 0.01}
"""DHNE as the chapter has it, which was its default."""

MODELS: dict[str, list[dict[str, Any]]] = {
    "sdne": [
        {"dim": 6, "hidden": (12,), "epochs": 12},
        {"dim": 6, "hidden": (12, 9), "epochs": 6, "row_damping": 0.5, "column_damping": 0.4, "overlap": 0.3},
        {"dim": 6, "hidden": (12,), "epochs": 6, "dropout": 0.3, "batch_size": 10, "pretrain": "none"},
        {"dim": 4, "hidden": (8,), "epochs": 6, "activation": "sigmoid", "pretrain": "dbn", "optimizer": "sgd"},
        {"dim": 6, "hidden": (), "epochs": 6, "optimizer": "row_adagrad", "activation": "linear"},
    ],
    "drne": [
        {"dim": 6, "epochs": 10},
        {"dim": 6, "epochs": 6, "start": "random", "rounds": 0, "max_neighbors": 5, "batch_size": 10},
        {"dim": 6, "epochs": 6, "start": "common", "rounds": 2, "vectors": "all"},
    ],
    "dhne": [
        _CHAPTERS | {"dim": 6, "epochs": 8, "batch_size": 16},
        _CHAPTERS
        | {"dim": 6, "epochs": 4, "products": 3, "noise": "degree", "hold_out": False, "scale": "column", "nu": 1e-3},
        _CHAPTERS
        | {"dim": 6, "epochs": 4, "hidden": 7, "dropout": 0.2, "replaced": 1.5, "negatives": 2, "scale": "binary"},
    ],
    "dvne": [
        {"dim": 6, "hidden": 12, "epochs": 10},
        {"dim": 6, "hidden": 12, "epochs": 5, "energy": "kl", "repulsion": 2.0, "dropout": 0.2, "reach": 2},
        {"dim": 6, "hidden": 12, "epochs": 5, "energy": "w2_squared", "batch_size": 20},
    ],
    "node2vec": [
        {"dim": 6, "length": 12, "window": 3, "epochs": 5},
        {"dim": 6, "length": 12, "window": 3, "epochs": 5, "p": 0.5, "q": 2.0, "pretrain": "none", "lr": 0.3},
    ],
    "line": [
        {"dim": 6, "epochs": 4, "init": "none"},
        {"dim": 6, "epochs": 3, "order": "first", "samples": 300, "negatives": 3, "init": "none"},
    ],
    "depthlgp": [
        {"epochs": 4, "samples": 24, "hidden": 8},
        {"epochs": 3, "samples": 24, "hidden": 8, "sharing": "weights", "routine": "sampled", "seeds": 2},
        {"epochs": 3, "samples": 24, "hidden": 8, "sharing": "none", "prior": "zero", "one_step": 4, "two_step": 2},
    ],
    "node2vecplus": [
        {"dim": 6, "length": 12, "window": 3, "epochs": 3, "hidden": 8},
        {"dim": 6, "epochs": 3, "hidden": 8, "base": "line", "sharing": "halves", "pretrain": "none", "lr": 0.3},
    ],
}
"""Options of each model; between them they go through every part of it."""


def graphs() -> dict[str, Any]:
    """A weighted graph with an isolated node, and a directed one; nodes are strings and integers."""
    rng = np.random.default_rng(7)
    block = np.arange(40) // 10
    i, j = np.nonzero(np.triu(rng.random((40, 40)) < np.where(block[:, None] == block, 0.5, 0.05), 1))
    weights = rng.integers(1, 5, len(i)).astype(np.float32) / 4
    named = [(f"node {a}", f"node {b}") for a, b in zip(i, j, strict=True)]
    arcs = rng.integers(0, 30, (140, 2))
    return {
        "weighted": nf.Graph.from_edges(named, weights=weights, nodes=[*(f"node {a}" for a in range(40)), "alone"]),
        "directed": nf.Graph.from_edges(arcs, nodes=range(30), directed=True),
    }


def later(graph: Any) -> Any:
    """A later graph: two new nodes with links to known ones, and one that is linked with both new ones too."""
    known = [graph.nodes[k] for k in range(9)]
    links = [("new a", known[0]), ("new a", known[1]), ("new b", known[4]), (known[5], "new b"), ("new b", known[6])]
    links += [("new c", known[7]), (known[8], "new c"), ("new c", "new a"), ("new b", "new c")]
    return nf.Graph.from_edges(links, directed=graph.directed)


def hypergraphs() -> dict[str, Any]:
    """Typed triples, and tuples of one type and several lengths."""
    every = [(u, f, t) for u in range(9) for f in range(9) for t in range(6) if u % 3 == f % 3 == t % 3][::2]
    liked = [(f"user {u}", f"film {f}", f"tag {t}") for u, f, t in every]
    nodes = list(dict.fromkeys(node for edge in liked for node in edge))
    rng = np.random.default_rng(1)
    groups = [rng.permutation(5)[:size] + 5 * (i % 4) for i, size in enumerate([2] * 15 + [3] * 15 + [4] * 10)]
    return {
        "typed": nf.Hypergraph(liked, nodes, [node.split()[0] for node in nodes]),
        "plain": nf.Hypergraph([group.tolist() for group in groups], range(20)),
    }


def later_hypergraph(hypergraph: Any) -> Any:
    """Some tuples again, with a new node in the place of the first."""
    first = hypergraph.edges[0][0]
    edges = [edge for edge in hypergraph.edges if first in edge]
    edges = [tuple("new" if node == first else node for node in edge) for edge in edges]
    nodes = list(dict.fromkeys(node for edge in edges for node in edge))
    kind = dict(zip(hypergraph.nodes, hypergraph.node_types, strict=True))
    return nf.Hypergraph(edges, nodes, [kind[first] if node == "new" else kind[node] for node in nodes])


def options(cls: type, given: dict[str, Any]) -> dict[str, Any]:
    """The options by the names that this commit knows them by."""
    known = {field.name for field in dataclasses.fields(cls)}
    renamed = "n_negatives" in known or "init" in known or "roots" in known
    return {RENAMED.get(name, name) if renamed else name: value for name, value in given.items()}


def vectors(*models: str) -> dict[str, np.ndarray]:
    """Every number of these models, or of all, by "model/options/graph/what"."""
    made: dict[str, np.ndarray] = {}
    for name, settings in ((name, MODELS[name]) for name in models or MODELS):
        cls = nf.MODELS[name]
        for number, setting in enumerate(settings):
            of = hypergraphs() if cls.reads == "hypergraph" else graphs()
            for kind, graph in of.items():
                where = f"{name}/{number}/{kind}"
                made |= {f"{where}/{what}": x for what, x in _numbers(cls, options(cls, setting), graph).items()}
    return made


def _numbers(cls: Any, setting: dict[str, Any], graph: Any) -> dict[str, np.ndarray]:
    base = [_base(graph)] if cls.extends else []
    if "starts" in {field.name for field in dataclasses.fields(cls)}:
        setting = setting | {"starts": "given"}  # as it was before they were chosen
    model = cls(device="cpu", seed=3, **setting).fit(graph, *base, progress=False)
    found = {"vectors": model.embedding_.vectors, "objective": np.array([r["objective"] for r in model.history_])}
    if model.embedding_.std is not None:
        found["std"] = model.embedding_.std
    if cls.__name__ not in ("LINE", "Node2Vec"):
        encoded = {"how": "encode"} if hasattr(cls, "placing_") else {}  # what a network makes, whatever is the default
        new = model.transform(later_hypergraph(graph) if cls.reads == "hypergraph" else later(graph), **encoded)
        found["new"] = new.vectors
        if new.std is not None:
            found["new_std"] = new.std
    if hasattr(model, "mean_variance"):
        found["mean_variance"] = model.mean_variance(graph)
    if hasattr(model, "score"):
        found["scores"] = np.asarray(model.score([graph.edges[k] for k in range(8)]))
    return found


def _base(graph: Any) -> Any:
    return nf.Embedding(graph.nodes, np.random.default_rng(2).normal(size=(graph.n_nodes, 5)).astype(np.float32))


def main() -> None:
    """Write, or compare."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("file", nargs="?", metavar="FILE", help="the .npz to write")
    what.add_argument("--compare", metavar="FILE", help="the .npz to compare with, to the bit; nothing is written")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    made = vectors()
    if asked.compare is None:
        np.savez_compressed(asked.file, **made)  # type: ignore[arg-type]
        print(f"{len(made)} arrays of {sum(x.size for x in made.values()):,} numbers, {nf.__file__}")
        return
    stored = np.load(asked.compare)
    moved = [name for name in stored.files if name not in made or not np.array_equal(stored[name], made[name])]
    print(f"{len(stored.files) - len(moved)} of {len(stored.files)} arrays equal to the bit, {nf.__file__}", *moved)
    raise SystemExit(bool(moved or set(made) - set(stored.files)))


if __name__ == "__main__":
    main()
