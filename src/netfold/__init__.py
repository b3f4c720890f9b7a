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
    import netfold.evaluate as evaluate
    import netfold.show.plot as plot
    import netfold.show.report as report
    import netfold.studies.datasets as datasets
    from netfold.data.embedding import Embedding, align
    from netfold.data.graph import Graph
    from netfold.data.hypergraph import Hypergraph
    from netfold.embedder.embedder import Embedder, option
    from netfold.embedder.evolving import Evolving
    from netfold.embedder.store import load
    from netfold.errors import InputError, TrainingError
    from netfold.io.edges import read_edges
    from netfold.io.hyperedges import read_hyperedges
    from netfold.models import DHNE, DRNE, DVNE, LINE, MODELS, SDNE, DepthLGP, Node2Vec, Node2VecPlus
    from netfold.studies.choose import choose
    from netfold.studies.compare import compare

    __version__: str

__all__ = [
    "DHNE", "DRNE", "DVNE", "LINE", "MODELS", "SDNE", "DepthLGP", "Embedder", "Embedding", "Evolving", "Graph",
    "Hypergraph", "InputError", "Node2Vec", "Node2VecPlus", "TrainingError", "align", "choose", "compare", "datasets",
    "evaluate", "load", "option", "plot", "read_edges", "read_hyperedges", "report",
]  # fmt: skip

_WHERE = {
    "DHNE": "netfold.models",
    "DRNE": "netfold.models",
    "DVNE": "netfold.models",
    "DepthLGP": "netfold.models",
    "Embedder": "netfold.models",  # so that `load` knows every model
    "Embedding": "netfold.data.embedding",
    "Evolving": "netfold.embedder.evolving",
    "Graph": "netfold.data.graph",
    "Hypergraph": "netfold.data.hypergraph",
    "InputError": "netfold.errors",
    "LINE": "netfold.models",
    "MODELS": "netfold.models",
    "Node2Vec": "netfold.models",
    "Node2VecPlus": "netfold.models",
    "SDNE": "netfold.models",
    "TrainingError": "netfold.errors",
    "align": "netfold.data.embedding",
    "choose": "netfold.studies.choose",
    "compare": "netfold.studies.compare",
    "load": "netfold.models",
    "option": "netfold.embedder.options",
    "read_edges": "netfold.io.edges",
    "read_hyperedges": "netfold.io.hyperedges",
}
_MODULES = {
    "datasets": "netfold.studies.datasets",
    "evaluate": "netfold.evaluate",
    "plot": "netfold.show.plot",
    "report": "netfold.show.report",
}
"""Names are imported at their first use: `import netfold` costs nothing, and no dependency is loaded unasked."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("netfold._version").version()
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _WHERE:
        raise AttributeError(f"netfold has no {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
