"""The models: each its own package, none importing another."""

from __future__ import annotations

from netfold.embedder.embedder import Embedder
from netfold.embedder.store import load
from netfold.models.depthlgp.model import DepthLGP
from netfold.models.dhne.model import DHNE
from netfold.models.drne.model import DRNE
from netfold.models.dvne.model import DVNE
from netfold.models.line.model import LINE
from netfold.models.node2vec.model import Node2Vec
from netfold.models.node2vecplus.model import Node2VecPlus
from netfold.models.sdne.model import SDNE

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
