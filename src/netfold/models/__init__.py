"""The models: each its own package, none importing another."""

from __future__ import annotations

from netfold.data.text import did_you_mean
from netfold.embedder.embedder import Embedder
from netfold.embedder.store import load
from netfold.errors import InputError
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
    "Node2Vec", "Node2VecPlus", "Spectral", "load", "name_of_model",
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

_ALSO_CALLED = {"deepwalk": "node2vec", "node2vec+": "node2vecplus", "node2vec++": "node2vecplus"}
"""What people type for a model. DeepWalk is node2vec with p = q = 1, which are its defaults."""


def name_of_model(text: str) -> str:
    """The name in `MODELS` of the model that a person means.

    >>> name_of_model("SDNE"), name_of_model("DeepWalk")
    ('sdne', 'node2vec')
    >>> name_of_model("snde")
    Traceback (most recent call last):
    ...
    netfold.errors.InputError: no model is called 'snde' (did you mean sdne?); the models are sdne, drne, ...
    """
    name = text.lower().replace("-", "").replace("_", "")
    name = _ALSO_CALLED.get(name, name)
    if name not in MODELS:
        hint = did_you_mean(name, [*MODELS, *_ALSO_CALLED])
        near = f" ({hint})" if hint else ""
        raise InputError(f"no model is called {text!r}{near}; the models are {', '.join(MODELS)}")
    return name
