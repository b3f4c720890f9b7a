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
    import netfold.report as report
    from netfold.base import Embedder, option
    from netfold.choosing import choose
    from netfold.comparison import compare
    from netfold.embedding import Embedding
    from netfold.errors import InputError, TrainingError
    from netfold.graph import Graph
    from netfold.hypergraph import Hypergraph
    from netfold.io import read_edges, read_hyperedges
    from netfold.loading import load
    from netfold.models import DHNE, DRNE, DVNE, LINE, MODELS, SDNE, DepthLGP, Node2Vec, Node2VecPlus

__all__ = [
    "DHNE", "DRNE", "DVNE", "LINE", "MODELS", "SDNE", "DepthLGP", "Embedder", "Embedding", "Graph", "Hypergraph",
    "InputError", "Node2Vec", "Node2VecPlus", "TrainingError", "choose", "compare", "datasets", "evaluate", "load",
    "option", "plot", "read_edges", "read_hyperedges", "report",
]  # fmt: skip

_WHERE = {
    "DHNE": "netfold.models",
    "DRNE": "netfold.models",
    "DVNE": "netfold.models",
    "DepthLGP": "netfold.models",
    "Embedder": "netfold.models",  # so that `load` knows every model
    "Embedding": "netfold.embedding",
    "Graph": "netfold.graph",
    "Hypergraph": "netfold.hypergraph",
    "InputError": "netfold.errors",
    "LINE": "netfold.models",
    "MODELS": "netfold.models",
    "Node2Vec": "netfold.models",
    "Node2VecPlus": "netfold.models",
    "SDNE": "netfold.models",
    "TrainingError": "netfold.errors",
    "choose": "netfold.choosing",
    "compare": "netfold.comparison",  # not netfold.compare: a module of that name would take the place of the function
    "datasets": "netfold",
    "evaluate": "netfold",
    "load": "netfold.models",
    "option": "netfold.options",
    "plot": "netfold",
    "read_edges": "netfold.io",
    "read_hyperedges": "netfold.io",
    "report": "netfold",
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
