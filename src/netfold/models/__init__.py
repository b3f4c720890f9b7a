"""The models: each its own package, none importing another."""

from __future__ import annotations

from netfold.embedder.embedder import Embedder
from netfold.embedder.store import load
from netfold.models.degreefeatures import DegreeFeatures
from netfold.models.depthlgp import DepthLGP
from netfold.models.dhne import DHNE
from netfold.models.drne import DRNE
from netfold.models.dvne import DVNE
from netfold.models.graphwave import GraphWave
from netfold.models.joined import Joined
from netfold.models.line import LINE
from netfold.models.node2vec import Node2Vec
from netfold.models.node2vecplus import Node2VecPlus
from netfold.models.sdne import SDNE
from netfold.models.spectral import Spectral

__all__ = [
    "DHNE", "DRNE", "DVNE", "LINE", "MODELS", "SDNE", "DegreeFeatures", "DepthLGP", "Embedder", "GraphWave", "Joined",
    "Node2Vec", "Node2VecPlus", "Spectral", "load",
]  # fmt: skip

MODELS: dict[str, type[Embedder]] = {
    "sdne": SDNE,
    "drne": DRNE,
    "dhne": DHNE,
    "dvne": DVNE,
    "node2vec": Node2Vec,
    "line": LINE,
    "depthlgp": DepthLGP,
    "node2vecplus": Node2VecPlus,
    "spectral": Spectral,
    "degreefeatures": DegreeFeatures,
    "graphwave": GraphWave,
    "joined": Joined,
}
"""Every model by its name on the command line; the contract tests run over all of them."""
