"""The models: each its own package, none importing another."""

from __future__ import annotations

from netfold.embedder.embedder import Embedder
from netfold.embedder.store import load
from netfold.models.depthlgp import DepthLGP
from netfold.models.dhne import DHNE
from netfold.models.drne import DRNE
from netfold.models.dvne import DVNE
from netfold.models.line import LINE
from netfold.models.node2vec import Node2Vec
from netfold.models.node2vecplus import Node2VecPlus
from netfold.models.sdne import SDNE

__all__ = ["DHNE", "DRNE", "DVNE", "LINE", "MODELS", "SDNE", "DepthLGP", "Embedder", "Node2Vec", "Node2VecPlus", "load"]

MODELS: dict[str, type[Embedder]] = {
    "sdne": SDNE,
    "drne": DRNE,
    "dhne": DHNE,
    "dvne": DVNE,
    "node2vec": Node2Vec,
    "line": LINE,
    "depthlgp": DepthLGP,
    "node2vecplus": Node2VecPlus,
}
"""Every model by its name on the command line; the contract tests run over all of them."""
