"""How good an embedding is: plain functions over values, each with its figures, cheap baselines and its protocol.

`TASKS` lists what can be asked. Names are imported at their first use, so that the list costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from netfold.errors import InputError
from netfold.evaluate.task import TASKS, Task

if TYPE_CHECKING:
    from netfold.evaluate.class_tasks import classification, clustering, visualization, visualization_points
    from netfold.evaluate.cold_start_tasks import cold_start
    from netfold.evaluate.evolving_tasks import replay
    from netfold.evaluate.hyperedge_tasks import HyperedgeSplit, held_out_hyperedges, hyperedges, split_hyperedges
    from netfold.evaluate.link_tasks import choose_pair_score, link_prediction, noise_robustness, reconstruction
    from netfold.evaluate.negatives import Negatives, sample_negatives
    from netfold.evaluate.new_node_tasks import (
        HeldOutLinks,
        hold_out_half,
        label_propagation,
        local_average,
        manifold_regression,
        out_of_sample,
    )
    from netfold.evaluate.ranking import average_precision
    from netfold.evaluate.result import Result
    from netfold.evaluate.role_tasks import centrality, regular_equivalence, roles, vs_similarity
    from netfold.evaluate.splits import EdgeSplit, NodeSplit, split_edges, split_nodes
    from netfold.evaluate.suggestions import suggest
    from netfold.evaluate.uncertainty_tasks import calibration, calibration_error, uncertainty

__all__ = [
    "TASKS", "EdgeSplit", "HeldOutLinks", "HyperedgeSplit", "Negatives", "NodeSplit", "Result", "Task",
    "average_precision", "calibration", "calibration_error", "centrality", "choose_pair_score", "classification",
    "clustering", "cold_start", "held_out_hyperedges", "hold_out_half", "hyperedges", "label_propagation",
    "link_prediction", "local_average", "manifold_regression", "noise_robustness", "out_of_sample", "reconstruction",
    "regular_equivalence", "replay", "roles",
    "sample_negatives", "split_edges", "split_hyperedges", "split_nodes", "suggest", "uncertainty", "visualization",
    "visualization_points",
    "vs_similarity",
]  # fmt: skip

_MODULES = {
    "class_tasks": ("classification", "clustering", "visualization", "visualization_points"),
    "cold_start_tasks": ("cold_start",),
    "evolving_tasks": ("replay",),
    "hyperedge_tasks": ("HyperedgeSplit", "held_out_hyperedges", "hyperedges", "split_hyperedges"),
    "link_tasks": ("choose_pair_score", "link_prediction", "noise_robustness", "reconstruction"),
    "negatives": ("Negatives", "sample_negatives"),
    "new_node_tasks": (
        "HeldOutLinks",
        "hold_out_half",
        "label_propagation",
        "local_average",
        "manifold_regression",
        "out_of_sample",
    ),
    "ranking": ("average_precision",),
    "result": ("Result",),
    "role_tasks": ("centrality", "regular_equivalence", "roles", "vs_similarity"),
    "splits": ("EdgeSplit", "NodeSplit", "split_edges", "split_nodes"),
    "suggestions": ("suggest",),
    "uncertainty_tasks": ("calibration", "calibration_error", "uncertainty"),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}


_RENAMED = {
    "HiddenLinks": "HeldOutLinks", "hidden_hyperedges": "held_out_hyperedges", "hide_half": "hold_out_half",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        raise InputError(f"evaluate.{name} is now called evaluate.{_RENAMED[name]}")
    if name not in _WHERE:
        raise AttributeError(f"netfold.evaluate has no {name!r}")
    return getattr(importlib.import_module(f"netfold.evaluate.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
