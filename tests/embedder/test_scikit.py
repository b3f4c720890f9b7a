"""Models among scikit-learn's: pipelines, searches, cross-validation, tables, and scikit-learn's own checks."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn import set_config
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from test_contract import fit, given, make, models, usual

import netfold as nf
import zoo
from netfold.embedder import scikit
from refusals import refused

GRAPH = nf.datasets.karate()
NODES = list(GRAPH.nodes)
SIDES = np.array([nf.datasets.classes("karate")[node][0] for node in NODES])


def quick(**changed: Any) -> nf.SDNE:
    return nf.SDNE(**{"dim": 4, "hidden": (8,), "epochs": 5} | changed)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The options of each model that is trained, in an empty cache."""
    seen: list[dict[str, Any]] = []
    plain = nf.SDNE.fit

    def counted(self: nf.SDNE, *args: Any, **options: Any) -> nf.SDNE:
        seen.append(self.get_params())
        return plain(self, *args, **options)

    monkeypatch.setattr(nf.SDNE, "fit", counted)
    monkeypatch.setattr(scikit, "_FITTED", type(scikit._FITTED)())
    return seen


# -------------------------------------------------------------------- fit_transform


@models
def test_fit_transform_is_the_known_nodes_in_order(name: str) -> None:
    graph = usual(name)
    array = make(name).fit_transform(graph, **given(name, graph), progress=False)
    wanted = fit(name, graph).embedding_
    assert type(array) is np.ndarray and array.flags.writeable and list(wanted.nodes) == list(graph.nodes)
    assert np.array_equal(array, wanted.vectors)


def test_a_model_is_a_step_of_a_pipeline() -> None:
    steps = make_pipeline(quick(), PCA(2))
    places = steps.fit_transform(GRAPH)
    assert np.allclose(places, PCA(2).fit_transform(quick().fit(GRAPH, progress=False).embedding_.vectors))
    later = nf.Graph.from_edges([("new", 0), ("new", 1), (0, 1)])
    assert steps.transform(later).shape == (1, 2), "of the one that is new"
    classified = make_pipeline(quick(), LogisticRegression()).fit(GRAPH, SIDES)
    assert classified.score is not None and classified[-1].classes_.shape == (2,)


def test_tables() -> None:
    pd = pytest.importorskip("pandas")
    model = quick().set_output(transform="pandas")
    table = model.fit_transform(GRAPH, progress=False)
    assert list(table.columns) == ["sdne0", "sdne1", "sdne2", "sdne3"] and list(table.index) == NODES
    assert np.array_equal(table.to_numpy(), model.embedding_.vectors)
    assert type(clone(model).fit_transform(GRAPH, progress=False)) is pd.DataFrame
    assert type(model.set_output(transform="default").fit_transform(GRAPH, progress=False)) is np.ndarray
    gaussians = nf.DVNE(dim=3, hidden=4, epochs=1).set_output(transform="pandas")
    assert gaussians.fit_transform(GRAPH, progress=False).shape == (34, 3)
    assert "transform='xml' is not one of default, pandas, polars" in refused(model.set_output, transform="xml")
    set_config(transform_output="pandas")
    try:
        assert type(quick().fit_transform(GRAPH, progress=False)) is pd.DataFrame
        assert list(nf.NodeVectors(quick(), GRAPH).fit_transform(NODES).columns)[:1] == ["sdne0"]
    finally:
        set_config(transform_output="default")


@models
def test_tags_say_that_a_graph_is_read(name: str) -> None:
    tags = get_tags(nf.MODELS[name]())
    assert not tags.input_tags.two_d_array and tags.transformer_tags is not None and not tags.target_tags.required


# -------------------------------------------------------------------- NodeVectors


def test_nodes_become_their_vectors() -> None:
    wanted = quick().fit(GRAPH, progress=False).embedding_
    vectors = nf.NodeVectors(quick(), GRAPH).fit(NODES)
    some = [5, 0, 33, 5]
    pd = pytest.importorskip("pandas")
    for X in (some, np.array(some), np.array(some)[:, None], pd.Series(some), pd.DataFrame({"node": some})):
        assert np.array_equal(vectors.transform(X), wanted[some])
    assert np.array_equal(vectors.transform(np.array(some, dtype=object)), wanted[some])
    assert vectors.transform([]).shape == (0, 4)
    assert "X has the shape (2, 2)" in refused(vectors.transform, np.zeros((2, 2)))
    assert "no node is called 99" in refused(vectors.transform, [0, 99])
    assert "model is a str; give one of netfold's" in refused(nf.NodeVectors("sdne", GRAPH).fit, NODES)


def test_names_that_are_text_or_tuples() -> None:
    people = nf.NodeVectors(quick(), nf.datasets.les_miserables())
    names = np.array(["Valjean", "Javert"])  # numpy's own strings
    assert np.array_equal(people.fit(names).transform(names), people.model_.embedding_[["Valjean", "Javert"]])
    typed = nf.Graph.from_edges([(("user", 1), ("film", 1)), (("user", 2), ("film", 1))])
    vectors = nf.NodeVectors(quick(), typed).fit_transform([("user", 2)])
    assert vectors.shape == (1, 4)


def test_new_nodes_are_placed_by_their_links() -> None:
    later = nf.Graph.from_edges([("new", 0), ("new", 1), ("other", 33), (0, 1)])
    vectors = nf.NodeVectors(quick(), GRAPH, later=later).fit(NODES)
    placed = quick().fit(GRAPH, progress=False)
    assert np.array_equal(vectors.transform(["other", "new"]), placed.transform(later)[["other", "new"]])
    mixed = vectors.transform([3, "new", 0])
    assert np.array_equal(mixed[[0, 2]], placed.embedding_[[3, 0]])
    assert "no node is called 'who'" in refused(vectors.transform, [0, "who"])


def test_a_model_that_extends_vectors() -> None:
    base = quick().fit(GRAPH, progress=False).embedding_
    later = nf.Graph.from_edges([("new", 0), ("new", 1), (0, 1)])
    options = {"epochs": 2, "samples": 8, "hidden": 4}
    vectors = nf.NodeVectors(nf.DepthLGP(**options), GRAPH, later=later, embedding=base).fit(NODES)
    wanted = nf.DepthLGP(**options).fit(GRAPH, base, progress=False)
    assert np.array_equal(vectors.transform(["new"]), wanted.transform(later).vectors)
    other = nf.NodeVectors(nf.DepthLGP(**options), GRAPH, later=later, embedding=zoo.vectors(GRAPH)).fit(NODES)
    assert other.model_ is not vectors.model_, "other vectors, another model"


def test_a_setting_is_trained_once(fits: list[dict[str, Any]]) -> None:
    nf.NodeVectors(quick(), GRAPH).fit(NODES)
    again = nf.NodeVectors(quick(), nf.Graph.of(GRAPH.to_networkx())).fit(NODES[:3])
    assert len(fits) == 1, "an equal graph is the same graph"
    nf.NodeVectors(quick(seed=1), GRAPH).fit(NODES)
    nf.NodeVectors(quick(), nf.Graph.from_edges([(0, 1), (1, 2)])).fit([0])
    assert len(fits) == 3
    assert np.array_equal(again.transform(NODES), quick().fit(GRAPH, progress=False).embedding_.vectors)
    for seed in range(2, 2 + scikit._MOST):
        nf.NodeVectors(quick(seed=seed, epochs=0), GRAPH).fit(NODES)
    assert len(scikit._FITTED) == scikit._MOST
    before = len(fits)
    nf.NodeVectors(quick(), GRAPH).fit(NODES)
    assert len(fits) == before + 1, "the oldest are forgotten"


def test_cross_validation_trains_once(fits: list[dict[str, Any]]) -> None:
    steps = make_pipeline(nf.NodeVectors(quick(epochs=30), GRAPH), StandardScaler(), LogisticRegression())
    scores = cross_val_score(steps, NODES, SIDES, cv=5)
    assert len(fits) == 1
    vectors = quick(epochs=30).fit(GRAPH, progress=False).embedding_.vectors
    by_hand = cross_val_score(make_pipeline(StandardScaler(), LogisticRegression()), vectors, SIDES, cv=5)
    assert scores == pytest.approx(by_hand)


def test_a_grid_search_trains_once_for_each_setting(fits: list[dict[str, Any]]) -> None:
    steps = make_pipeline(nf.NodeVectors(quick(), GRAPH), LogisticRegression())
    grid = {"nodevectors__model__dim": [2, 4], "logisticregression__C": [0.1, 1.0, 10.0]}
    search = GridSearchCV(steps, grid, cv=3).fit(NODES, SIDES)
    assert sorted(options["dim"] for options in fits) == [2, 4], "six settings, three folds, two models"
    assert search.predict(NODES).shape == (34,)
    assert search.best_estimator_[0].model.dim == search.best_params_["nodevectors__model__dim"]


def test_clones_share_the_graph_and_leave_the_model_as_it_is() -> None:
    vectors = nf.NodeVectors(quick(), GRAPH)
    copied = clone(vectors)
    assert copied.graph is GRAPH and copied.model is not vectors.model
    copied.set_params(model__dim=9)
    assert (vectors.model.dim, copied.model.dim) == (4, 9)
    vectors.fit(NODES)
    assert not hasattr(vectors.model, "embedding_")


def test_a_fitted_transformer_pickles() -> None:
    vectors = nf.NodeVectors(quick(), GRAPH).fit(NODES)
    again = pickle.loads(pickle.dumps(vectors))  # noqa: S301
    assert np.array_equal(again.transform(NODES), vectors.transform(NODES))


# -------------------------------------------------------------------- scikit-learn's own checks


class OfRows(nf.NodeVectors):  # type: ignore[misc]
    """One that takes the tables of numbers of scikit-learn's checks: each row stands for a node."""

    def transform(self, X: Any) -> Any:
        rows = np.abs(np.asarray(X, dtype=np.float64)).sum(axis=1)
        return super().transform((1000 * rows).astype(np.int64) % GRAPH.n_nodes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False
        return tags


CANNOT_HOLD = {
    "check_estimator_sparse_tag": "X is names, of which there is no sparse matrix to refuse; fit does not read X",
    "check_transformer_general": "X with another number of columns must be refused there; a node has no columns",
}
"""Checks of scikit-learn that cannot hold where X is names of nodes, and why."""


def test_scikit_learns_own_checks() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(OfRows(quick(epochs=1), GRAPH), on_fail=None)
    failed = {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "failed"}
    assert set(failed) == set(CANNOT_HOLD), failed
    assert len({r["check_name"] for r in results if r["status"] == "passed"}) >= 28


OF_MODELS = (
    "check_estimator_cloneable", "check_estimator_tags_renamed", "check_valid_tag_types", "check_estimator_repr",
    "check_no_attributes_set_in_init", "check_get_params_invariance", "check_set_params", "check_mixin_order",
    "check_parameters_default_constructible",
)  # fmt: skip
"""Those that fit nothing. The others fit a table of numbers, of which a model could only make other edges."""


@models
@pytest.mark.parametrize("check", OF_MODELS)
def test_scikit_learns_checks_of_models(name: str, check: str) -> None:
    from sklearn.utils import estimator_checks

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(estimator_checks, check)(nf.MODELS[name].__name__, nf.MODELS[name]())
