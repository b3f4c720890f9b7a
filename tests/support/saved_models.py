"""A small SDNE, what it is when it was saved, and how to spoil that."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from netfold.data.graph import Graph
from netfold.embedder.embedder import Embedder
from netfold.embedder.store import load
from netfold.io import tensors as store
from netfold.models import SDNE
from refusals import refused

GRAPH = Graph.from_edges([("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan"), ("dan", "ünn 🎈")])
LATER = Graph.from_edges([("eve", "ann"), ("eve", "dan"), ("fay", "bob")])


@functools.cache
def model() -> SDNE:
    return SDNE(dim=3, hidden=(5, 4), epochs=4, batch_size=2, seed=7).fit(GRAPH, progress=False)


def assert_same(one: Embedder, other: Embedder) -> None:
    assert type(one) is type(other)
    assert one.get_params() == other.get_params()
    assert one.history_ == other.history_
    assert one.graph_facts_ == other.graph_facts_
    assert one.embedding_.nodes == other.embedding_.nodes
    assert one.embedding_.vectors.tobytes() == other.embedding_.vectors.tobytes()
    mine, theirs = one.network_.state_dict(), other.network_.state_dict()
    assert list(mine) == list(theirs)
    assert all(torch.equal(mine[k], theirs[k]) and mine[k].dtype == theirs[k].dtype for k in mine)


def refusal(folder: Path) -> str:
    said = refused(load, folder)
    assert len(said) < 600
    assert str(folder) in said or "is not allowed" in said or "has no option" in said
    return said


def reseal(folder: Path, change: Callable[[dict[str, Any]], Any] = lambda m: None) -> None:
    """Change the manifest, and make it vouch for the files as they now are."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for entry in manifest["files"]:
        entry.update(store.file_facts(folder / entry["name"]))
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
