"""netfold folds a network into vectors: five deep models of network embedding behind one interface.

>>> import netfold as nf
>>> graph = nf.Graph.from_edges([("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan")])
>>> model = nf.SDNE(dim=2, epochs=5).fit(graph, progress=False)
>>> [label for label, _ in model.embedding_.nearest("ann", k=3)] != []
True
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import netfold.embedder.callbacks as callbacks
    import netfold.evaluate as evaluate
    import netfold.show.plot as plot
    import netfold.show.report as report
    import netfold.studies.datasets as datasets
    from netfold.data.embedding import Embedding, align
    from netfold.data.graph import Graph
    from netfold.data.hypergraph import Hypergraph
    from netfold.data.index import Index
    from netfold.embedder.embedder import Embedder, option
    from netfold.embedder.evolving import Evolving
    from netfold.embedder.scikit import NodeVectors
    from netfold.embedder.store import load
    from netfold.errors import InputError, TrainingError
    from netfold.io.edges import read_edges
    from netfold.io.hyperedges import read_hyperedges
    from netfold.io.prepare import prepare
    from netfold.learn.progress import profile
    from netfold.models import (
        DHNE,
        DRNE,
        DVNE,
        LINE,
        MODELS,
        SDNE,
        DegreeFeatures,
        DepthLGP,
        GraphWave,
        Joined,
        Node2Vec,
        Node2VecPlus,
        Spectral,
    )  # fmt: skip
    from netfold.serve import Client
    from netfold.studies.auto import auto
    from netfold.studies.choose import choose
    from netfold.studies.compare import compare
    from netfold.studies.tune import tune

    __version__: str

__all__ = [
    "DHNE", "DRNE", "DVNE", "LINE", "MODELS", "SDNE", "Client", "DegreeFeatures", "DepthLGP", "Embedder", "Embedding",
    "Evolving", "Graph", "GraphWave", "Hypergraph", "Index", "InputError", "Joined", "Node2Vec", "Node2VecPlus",
    "NodeVectors", "Spectral", "TrainingError", "align", "auto", "callbacks", "choose", "compare", "datasets",
    "evaluate", "load", "option", "plot", "prepare", "profile", "read_edges", "read_hyperedges", "report", "tune",
]  # fmt: skip

_WHERE = {
    "Client": "netfold.serve",
    "DHNE": "netfold.models",
    "DRNE": "netfold.models",
    "DVNE": "netfold.models",
    "DegreeFeatures": "netfold.models",
    "DepthLGP": "netfold.models",
    "Embedder": "netfold.models",  # so that `load` knows every model
    "Embedding": "netfold.data.embedding",
    "Evolving": "netfold.embedder.evolving",
    "Graph": "netfold.data.graph",
    "GraphWave": "netfold.models",
    "Hypergraph": "netfold.data.hypergraph",
    "Index": "netfold.data.index",
    "InputError": "netfold.errors",
    "Joined": "netfold.models",
    "LINE": "netfold.models",
    "MODELS": "netfold.models",
    "Node2Vec": "netfold.models",
    "Node2VecPlus": "netfold.models",
    "NodeVectors": "netfold.embedder.scikit",
    "SDNE": "netfold.models",
    "Spectral": "netfold.models",
    "TrainingError": "netfold.errors",
    "align": "netfold.data.embedding",
    "auto": "netfold.studies.auto",
    "choose": "netfold.studies.choose",
    "compare": "netfold.studies.compare",
    "load": "netfold.models",
    "option": "netfold.embedder.options",
    "prepare": "netfold.io.prepare",
    "profile": "netfold.learn.progress",
    "read_edges": "netfold.io.edges",
    "read_hyperedges": "netfold.io.hyperedges",
    "tune": "netfold.studies.tune",
}
_MODULES = {
    "callbacks": "netfold.embedder.callbacks",
    "datasets": "netfold.studies.datasets",
    "evaluate": "netfold.evaluate",
    "plot": "netfold.show.plot",
    "report": "netfold.show.report",
}
"""Names are imported at their first use: `import netfold` costs nothing, and no dependency is loaded unasked."""


if "torch" not in sys.modules:
    # Threads that wait for one another sleep instead of spinning, unless the environment says otherwise. Where other
    # programs want the same cores, spinning keeps a thread that has work off its core: three epochs of DRNE on 198
    # nodes took more than 60 s on two busy cores, and 4 s so. OpenMP reads it when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("netfold._version").version()
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _WHERE:
        raise AttributeError(f"netfold has no {name!r}{_meant(name)}")
    if name == "Evolving":
        importlib.import_module("netfold.models")  # so that `open` knows every model
    return getattr(importlib.import_module(_WHERE[name]), name)


def _meant(name: str) -> str:
    """A hint for one who types `nf.sdne` or `nf.DeepWalk`."""
    if name.startswith("_"):
        return ""
    if name.lower() == "deepwalk":
        return "; DeepWalk is Node2Vec with p = q = 1, which are its defaults"
    from netfold.data.text import did_you_mean

    names = {x.lower(): x for x in __all__}
    hint = did_you_mean(name.lower(), names, written=names)
    return f"; {hint}" if hint else ""


def __dir__() -> list[str]:
    return __all__
