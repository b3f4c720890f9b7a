"""Files as the release before the house wrote them: what every later version must read.

`PYTHONPATH=OLD/src python tests/support/stored_files.py FOLDER` wrote tests/embedder/stored with commit 78c3cd0. It
uses `netfold` by the names of that commit, and says what the files hold; `tests/embedder/test_stored_files.py`
reads them. Options that have been renamed since are set to other values than their defaults.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf
from fixed_vectors import later, later_hypergraph

SMALL = {"dim": 4, "epochs": 3, "seed": 11, "device": "cpu"}
OPTIONS: dict[str, dict[str, Any]] = {
    "sdne": {**SMALL, "hidden": (6,), "pretrain": "none", "row_damping": 0.5, "dropout": 0.1, "batch_size": 5},
    "drne": {**SMALL, "start": "common", "rounds": 2, "lambda_": 0.5, "max_neighbors": 6},
    "dhne": {**SMALL, "negatives": 2, "noise": "degree", "products": 3, "hidden": 5, "hold_out": False},
    "dvne": {**SMALL, "hidden": 6, "energy": "w2_squared", "reach": 2, "repulsion": 2.0},
    "node2vec": {**SMALL, "negatives": 3, "pretrain": "none", "length": 6, "window": 2, "p": 0.5},
    "line": {**SMALL, "negatives": 3, "order": "second", "samples": 50},
    "depthlgp": {**SMALL, "seeds": 2, "samples": 8, "hidden": 5, "sharing": "weights", "prior": "zero"},
    "node2vecplus": {**SMALL, "negatives": 2, "pretrain": "none", "length": 6, "window": 2, "hidden": 5},
}
"""What each model was set to, by the names of then."""

EPOCHS, STOPPED = 8, 4
"""Of the run whose checkpoint is stored: how many it is to have, and after how many it was stopped."""


def graph() -> Any:
    """14 nodes with names, in a ring with chords, the edges weighted; one node is isolated."""
    edges = [(f"n{i}", f"n{(i + step) % 13}", (1 + (i * step) % 4) / 4) for i in range(13) for step in (1, 3)]
    return nf.Graph.from_edges(edges, nodes=[*(f"n{i}" for i in range(13)), "alone"])


def hypergraph() -> Any:
    """Triples of users, films and tags."""
    liked = [
        (f"user {u}", f"film {f}", f"tag {t}") for u in range(4) for f in range(4) for t in range(2) if (u + f) % 2
    ]
    nodes = list(dict.fromkeys(node for edge in liked for node in edge))
    return nf.Hypergraph(liked, nodes, [node.split()[0] for node in nodes])


def fitted_to(cls: Any) -> Any:
    """What a model is fitted to."""
    return hypergraph() if cls.reads == "hypergraph" else graph()


def new_nodes(cls: Any) -> Any:
    """A later graph, or hypergraph, with nodes that `fit` never saw; None for models that cannot place them."""
    if cls.__name__ in ("LINE", "Node2Vec"):
        return None
    return later_hypergraph(hypergraph()) if cls.reads == "hypergraph" else later(graph())


def embedding() -> Any:
    """Gaussians of the nodes of the graph."""
    rng = np.random.default_rng(2)
    vectors, std = rng.normal(size=(2, 14, 4)).astype(np.float32)
    return nf.Embedding(graph().nodes, vectors, np.abs(std))


def checkpointed(options: dict[str, Any], folder: Path, **how: Any) -> Any:
    """SDNE in a run that keeps its state in a folder; as `OPTIONS` has it, but for the epochs."""
    model = nf.SDNE(**{**options, "epochs": EPOCHS})
    return model.fit(graph(), checkpoint=folder, checkpoint_every=0.0, progress=False, **how)


def write(folder: Path) -> None:
    """Write all of them, and what they hold as plain arrays."""
    arrays: dict[str, np.ndarray] = {}
    for name, options in OPTIONS.items():
        cls = nf.MODELS[name]
        base = [nf.Embedding(graph().nodes, embedding().vectors)] if cls.extends else []
        model = cls(**options).fit(fitted_to(cls), *base, progress=False)
        model.save(folder / f"{name}.netfold")
        new = None if new_nodes(cls) is None else model.transform(new_nodes(cls))
        arrays |= {f"{name}/vectors": model.embedding_.vectors} | ({} if new is None else {f"{name}/new": new.vectors})
        arrays |= {} if model.embedding_.std is None else {f"{name}/std": model.embedding_.std}
        arrays |= {} if new is None or new.std is None else {f"{name}/new_std": new.std}
    checkpointed(OPTIONS["sdne"], folder / "sdne.state", on_epoch=lambda record: record["epoch"] >= STOPPED)
    whole = nf.SDNE(**{**OPTIONS["sdne"], "epochs": EPOCHS}).fit(graph(), progress=False)
    (folder / "history.json").write_text(json.dumps(whole.history_))
    arrays["checkpoint/vectors"] = whole.embedding_.vectors
    graph().save(folder / "graph")
    embedding().save(folder / "embedding.npz")
    embedding().save(folder / "embedding.parquet")
    np.savez_compressed(folder / "arrays.npz", **arrays)  # type: ignore[arg-type]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder to write them to")
    target = parser.parse_args().folder
    target.mkdir(parents=True)
    write(target)
