"""Runs of a small SDNE that keep checkpoints: whole, stopped, gone on with and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from netfold.data.graph import Graph
from netfold.models import SDNE


def random_graph(seed: int = 0) -> Graph:
    """Six hubs and who is linked with one of them: so few have several links that no ways to place new nodes are tried,
    which would take longer than these few epochs."""
    hubs = np.random.default_rng(seed).integers(0, 6, 44).tolist()
    return Graph.from_edges([*((i, (i + 1) % 6) for i in range(6)), *((6 + i, hub) for i, hub in enumerate(hubs))])


GRAPH = random_graph()
SMALL: dict[str, Any] = {"dim": 4, "hidden": (8,), "epochs": 6, "tolerance": 0.0}


def fit(
    folder: Path | None = None, *, graph: Graph = GRAPH, every: float = 0, on_epoch: Any = None, **config: Any
) -> SDNE:
    model = SDNE(**SMALL | config)
    return model.fit(graph, progress=False, checkpoint=folder, checkpoint_every=every, on_epoch=on_epoch)


def interrupt_at(epoch: int) -> Any:
    def hook(record: dict[str, float]) -> None:
        if record["epoch"] == epoch:
            raise KeyboardInterrupt

    return hook


def stopped(folder: Path, epoch: int = 3, **config: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        fit(folder, on_epoch=interrupt_at(epoch), **config)


def without_seconds(history: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{k: v for k, v in record.items() if k != "seconds"} for record in history]


def lines(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def assert_same(one: SDNE, other: SDNE) -> None:
    assert one.embedding_.vectors.tobytes() == other.embedding_.vectors.tobytes()
    assert one.embedding_.nodes == other.embedding_.nodes
    assert without_seconds(one.history_) == without_seconds(other.history_)
    mine, theirs = one.network_.state_dict(), other.network_.state_dict()
    assert all(torch.equal(mine[k], theirs[k]) for k in mine)
