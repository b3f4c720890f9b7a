"""Models among scikit-learn's: what its tools ask of them, and `NodeVectors`, by which nodes become columns."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone

from netfold.embedder.options import config_to_json
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    from netfold.data.embedding import Embedding
    from netfold.embedder.embedder import Embedder

__all__ = ["NodeVectors", "as_output", "transformer_tags"]

_MOST = 8
"""So many fitted models are kept for the next that asks for the same."""

_FITTED: OrderedDict[str, Embedder] = OrderedDict()
_TRAINING = threading.Lock()


def transformer_tags() -> Any:
    """What scikit-learn is to know of a model: it is fitted to a graph, not to a table, and asks for no target."""
    from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

    return Tags(
        estimator_type=None,
        target_tags=TargetTags(required=False),
        transformer_tags=TransformerTags(preserves_dtype=[]),
        input_tags=InputTags(two_d_array=False, one_d_array=True, string=True),
        no_validation=True,
    )


def as_output(model: Embedder, embedding: Embedding) -> Any:
    """Vectors as `set_output`, or else scikit-learn's own setting, says: an array, or a table."""
    kind = getattr(model, "_sklearn_output_config", {}).get("transform") or sklearn.get_config()["transform_output"]
    names = model.get_feature_names_out()
    if kind == "pandas":
        table = embedding.to_pandas().iloc[:, : embedding.dim]
        return table.set_axis(names, axis=1)
    if kind == "polars":
        import polars

        return polars.DataFrame(embedding.vectors, schema=names.tolist(), orient="row")
    return np.array(embedding.vectors)


class NodeVectors(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer from names of nodes to vectors: X is an array of nodes, as of a table's rows.

    `fit` trains `model` on the whole of `graph`, whatever nodes X holds, and once for each setting of its options: the
    folds of a cross-validation share it. It sees the links of all nodes and no classes, so that classes of held-out
    nodes stay unseen. `transform` looks nodes up; one that `graph` does not have is placed by its links in `later`.
    Options of the model are set as `model__dim`. `embedding` is for models that extend one.

    >>> import netfold as nf
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> graph, sides = nf.datasets.karate(), nf.datasets.classes("karate")
    >>> nodes, y = list(sides), [side for side, in sides.values()]
    >>> steps = make_pipeline(NodeVectors(nf.SDNE(dim=8, epochs=50), graph), LogisticRegression())
    >>> bool(cross_val_score(steps, nodes, y).mean() > 0.8)
    True
    """

    def __init__(self, model: Embedder, graph: Any, *, later: Any = None, embedding: Any = None):
        self.model = model
        self.graph = graph
        self.later = later
        self.embedding = embedding

    def fit(self, X: Any, y: Any = None) -> NodeVectors:
        """Train the model on the graph, unless that was done before with the same options; X and y are not read."""
        if not hasattr(self.model, "_opened"):
            raise InputError(f"model is a {type(self.model).__name__}; give one of netfold's, such as nf.SDNE(dim=16)")
        graph = self.model._opened(self.graph)
        self.model_ = _fitted(self.model, graph, self.embedding)
        self.placed_: Embedding | None = None
        self.n_features_out_ = self.model_.embedding_.dim
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """The vectors of nodes, a row each: n x dim."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        names = _names(X)
        known = self.model_.embedding_
        vectors = np.empty((len(names), known.dim), np.float32)
        new = [i for i, name in enumerate(names) if name not in known]
        old = [i for i, name in enumerate(names) if name in known]
        vectors[old] = known[[names[i] for i in old]]
        if new:
            vectors[new] = self._later([names[i] for i in new])
        return vectors

    def _later(self, names: list[Any]) -> npt.NDArray[np.float32]:
        """The vectors of nodes that the graph does not have."""
        if self.later is None:
            self.model_.embedding_.nodes.positions(names)  # which says who is missing
        if self.placed_ is None:
            self.placed_ = self.model_.transform(self.later)
        vectors: npt.NDArray[np.float32] = self.placed_[names]
        return vectors

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """The names of the columns: sdne0, sdne1, ..."""
        return self.model_.get_feature_names_out()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        return transformer_tags()


def _fitted(model: Embedder, graph: Any, embedding: Any) -> Embedder:
    """The model, fitted to the graph: one that was before, where options and data are the same."""
    data = model._read(graph, embedding)
    what = [type(model).__qualname__, config_to_json(model), data.facts, _digest(embedding)]
    key = json.dumps(what, sort_keys=True)
    with _TRAINING:
        if key not in _FITTED:
            _FITTED[key] = clone(model).fit(graph, embedding, progress=False)
        _FITTED.move_to_end(key)
        while len(_FITTED) > _MOST:
            _FITTED.popitem(last=False)
        return _FITTED[key]


def _digest(embedding: Embedding | None) -> str | None:
    """What tells the vectors that a model extends from others."""
    if embedding is None:
        return None
    parts = [embedding.coordinates, *embedding.nodes.arrays().values()]
    return hashlib.sha256(b"".join(hashlib.sha256(part.tobytes()).digest() for part in parts)).hexdigest()


def _names(X: Any) -> list[Any]:
    """The nodes of a list, a series, an array of one dimension, or a table or array of one column."""
    if isinstance(X, (list, tuple)):
        plain = [x[0] if isinstance(x, list) and len(x) == 1 else x for x in X]
        return [x.item() if isinstance(x, np.generic) else x for x in plain]
    array = np.asarray(X)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"X has the shape {array.shape}; it is a list or a column of nodes' names")
    names: list[Any] = array.tolist()
    return names
