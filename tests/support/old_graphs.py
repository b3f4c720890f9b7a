"""A graph's folder as it was before there were `.parts`: such folders are read for good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from netfold.data.graph import Graph
from netfold.io.files import staged_folder
from netfold.io.tensors import file_facts


def save_old(graph: Graph, path: Path, *, force: bool = False) -> None:
    """What `Graph.save` did, line by line."""
    matrix, nodes, times = graph.adjacency, graph.nodes, graph.times
    arrays: dict[str, Any] = {f"label_{k}": v for k, v in nodes.arrays().items()}
    arrays |= {"indptr": matrix.indptr.astype(np.int64), "indices": matrix.indices, "weights": matrix.data}
    arrays |= {} if times is None else {"times": times}
    with staged_folder(path, force=force) as folder:
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        facts = {"format": 1, "kind": "graph", "directed": graph.directed, "labels": nodes.kind, "n_nodes": len(nodes)}
        facts |= {"files": [file_facts(folder / f"{name}.npy") for name in arrays]}
        facts |= {} if times is None else {"times": True}
        facts |= {} if graph.reading is None else {"reading": graph.reading.to_dict()}
        (folder / "graph.json").write_text(json.dumps(facts, indent=1))
