"""netfold folds a network into vectors: five deep models of network embedding behind one interface.

>>> import netfold as nf
>>> graph = nf.Graph.from_edges([("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan")])
>>> model = nf.SDNE(dim=2, epochs=5).fit(graph, progress=False)
>>> [label for label, _ in model.embedding_.nearest("ann", k=3)] != []
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import netfold.datasets as datasets
    import netfold.evaluate as evaluate
    import netfold.plot as plot
    from netfold.base import Embedder, load, option
    from netfold.embedding import Embedding
    from netfold.errors import InputError, TrainingError
    from netfold.graph import Graph
    from netfold.hypergraph import Hypergraph
    from netfold.io import read_edges, read_hyperedges
    from netfold.models import DHNE, DRNE, DVNE, LINE, MODELS, SDNE, Node2Vec

__all__ = [
    "DHNE", "DRNE", "DVNE", "LINE", "MODELS", "SDNE", "Embedder", "Embedding", "Graph", "Hypergraph", "InputError",
    "Node2Vec", "TrainingError", "datasets", "evaluate", "load", "option", "plot", "read_edges", "read_hyperedges",
]  # fmt: skip

_WHERE = {
    "DHNE": "netfold.models",
    "DRNE": "netfold.models",
    "DVNE": "netfold.models",
    "Embedder": "netfold.models",  # so that `load` knows every model
    "Embedding": "netfold.embedding",
    "Graph": "netfold.graph",
    "Hypergraph": "netfold.hypergraph",
    "InputError": "netfold.errors",
    "LINE": "netfold.models",
    "MODELS": "netfold.models",
    "Node2Vec": "netfold.models",
    "SDNE": "netfold.models",
    "TrainingError": "netfold.errors",
    "datasets": "netfold",
    "evaluate": "netfold",
    "load": "netfold.models",
    "option": "netfold.options",
    "plot": "netfold",
    "read_edges": "netfold.io",
    "read_hyperedges": "netfold.io",
}
"""Names are imported at their first use: `import netfold` costs nothing, and no dependency is loaded unasked."""


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"netfold has no {name!r}")
    if _WHERE[name] == "netfold":
        return importlib.import_module(f"netfold.{name}")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
