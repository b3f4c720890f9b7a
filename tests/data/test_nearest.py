"""`Embedding.nearest` against loops in float64, whatever the metric, in blocks of any size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embeddings import make
from memory import peak_memory
from netfold.data import embedding as module
from netfold.data.embedding import Embedding
from netfold.errors import InputError

FLOATS = st.floats(-(2.0**20), 2.0**20, width=32)


def naive_score(metric: str, x: list[float], y: list[float]) -> float:
    dot = sum(a * b for a, b in zip(x, y, strict=True))
    if metric == "dot":
        return dot
    if metric == "euclidean":
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
    lengths = math.sqrt(sum(a * a for a in x)) * math.sqrt(sum(b * b for b in y))
    return dot / lengths if lengths else 0.0


def naive_nearest(
    rows: list[list[float]], query: list[float], k: int, metric: str, own: int = -1
) -> list[tuple[int, float]]:
    """The k best by a loop; scores are compared as float32, and Python's sort leaves equals in place."""
    sign = 1 if metric == "euclidean" else -1
    scored = [(i, float(np.float32(naive_score(metric, query, row)))) for i, row in enumerate(rows) if i != own]
    return sorted(scored, key=lambda pair: sign * pair[1])[:k]


def assert_same_neighbors(found: list[tuple[Any, float]], wanted: list[tuple[Any, float]], scale: float) -> None:
    """Equal but for the order of scores that rounding alone tells apart."""
    tolerance = 1e-6 * scale
    np.testing.assert_allclose([s for _, s in found], [s for _, s in wanted], rtol=1e-6, atol=tolerance)
    for (i, s), (j, t) in zip(found, wanted, strict=True):
        assert i == j or abs(s - t) <= tolerance + 1e-6 * abs(t)


MATRICES = st.integers(1, 4).flatmap(
    lambda dim: st.lists(
        st.lists(FLOATS | st.sampled_from([0.0, 1.0, -1.0]), min_size=dim, max_size=dim), min_size=1, max_size=12
    )
)


@settings(deadline=None, max_examples=150)
@given(MATRICES, st.integers(1, 15), st.sampled_from(["cosine", "euclidean", "dot"]), st.data())
def test_nearest_is_a_loop_over_all(rows: list[list[float]], k: int, metric: str, data: st.DataObject) -> None:
    emb = Embedding(range(len(rows)), rows)
    own = data.draw(st.integers(0, len(rows) - 1))
    scale = 1.0 if metric == "cosine" else max(abs(x) for row in rows for x in row) ** (2 if metric == "dot" else 1)
    assert_same_neighbors(emb.nearest(own, k, metric=metric), naive_nearest(rows, rows[own], k, metric, own), scale)
    assert_same_neighbors(
        emb.nearest(np.array(rows[own]), k, metric=metric), naive_nearest(rows, rows[own], k, metric), scale
    )


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("block", [1, 7, 64, 1 << 17])
@pytest.mark.parametrize("k", [1, 5, 999, 1000, 5000])
def test_blocks_do_not_show(metric: str, block: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    vectors = np.random.default_rng(1).integers(-2, 3, size=(1000, 4)).astype(float)  # full of ties
    emb = Embedding(range(1000), vectors)
    wanted = naive_nearest(vectors.tolist(), vectors[500].tolist(), k, metric, own=500)
    found = emb.nearest(500, k, metric=metric)
    assert len(found) == min(k, 999)
    assert [label for label, _ in found] == [label for label, _ in wanted]
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], rel=1e-6)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("dim", [1, 3, 17, 128])
def test_equal_vectors_come_in_order(metric: str, dim: int) -> None:
    row = np.random.default_rng(dim).normal(size=dim)
    emb = Embedding(range(333), np.tile(row, (333, 1)))
    found = emb.nearest(7, 20, metric=metric)
    assert [label for label, _ in found] == [i for i in range(21) if i != 7]
    assert len({score for _, score in found}) == 1


def test_extreme_vectors_are_told_apart() -> None:
    huge = Embedding("abcd", [[1e30, 0], [1e30, 1e29], [1e30, 1e30], [-1e30, 0]])
    tiny = Embedding("abcd", huge.vectors.astype(float) / 1e70 * 1e5)  # 1e-35
    for emb in (huge, tiny):
        for metric in ("cosine", "euclidean"):
            assert [x for x, _ in emb.nearest("a", metric=metric)] == ["b", "c", "d"]
        assert emb.nearest("a", 1, metric="cosine")[0][1] == pytest.approx(1 / math.hypot(1, 0.1))
    close = Embedding("abc", [[1e4, 1], [1e4, 1.001], [1e4, 1.002]])  # |x|² - 2xy + |y|² in float32 would say 0
    assert close.nearest("a", metric="euclidean") == [
        ("b", pytest.approx(1e-3, rel=1e-3)),
        ("c", pytest.approx(2e-3, rel=1e-3)),
    ]


def test_a_vector_of_zeros_has_no_direction() -> None:
    emb = Embedding("abc", [[0, 0], [1, 0], [-1, 0]])
    assert emb.nearest("a") == [("b", 0.0), ("c", 0.0)]
    assert emb.nearest("b") == [("a", 0.0), ("c", -1.0)]
    assert math.copysign(1, emb.nearest("a")[0][1]) == 1


def naive_wasserstein(m: Any, s: Any, n: Any, t: Any) -> float:
    """W2² = |m - n|² + tr(A + B - 2 (A^½ B A^½)^½) with A = diag(s²), B = diag(t²), by the general formula."""
    a, b = np.diag(np.square(s)), np.diag(np.square(t))
    root = np.diag(np.sqrt(np.diag(a)))
    middle = np.linalg.eigvalsh(root @ b @ root)
    return math.sqrt(np.sum((m - n) ** 2) + np.trace(a + b) - 2 * np.sum(np.sqrt(np.maximum(middle, 0))))


def test_euclidean_in_coordinates_is_the_wasserstein_distance() -> None:
    emb = make(range(12), 5, std=True)
    assert emb.std is not None
    assert emb.coordinates.shape == (12, 10)
    m, s = emb.vectors.astype(float), emb.std.astype(float)
    for i in range(12):
        found = dict(emb.nearest(i, 11))
        assert found == dict(emb.nearest(i, 11, metric="euclidean"))
        assert list(found.values()) == sorted(found.values())
        for j, distance in found.items():
            wanted = pytest.approx(naive_wasserstein(m[i], s[i], m[j], s[j]), rel=1e-6)
            assert distance == wanted
            assert np.linalg.norm(emb.coordinates[i].astype(float) - emb.coordinates[j]) == wanted
    assert emb.nearest(emb.coordinates[3], 1) == [(3, 0.0)]


def test_the_other_metrics_see_means_only() -> None:
    emb, points = make(range(9), 4, std=True), make(range(9), 4)
    for metric in ("cosine", "dot"):
        assert emb.nearest(2, metric=metric) == points.nearest(2, metric=metric)
        assert emb.nearest(emb.vectors[2], metric=metric) == points.nearest(points.vectors[2], metric=metric)
    assert points.nearest(2) == points.nearest(2, metric="cosine")
    assert points.coordinates is points.vectors


@pytest.mark.parametrize(
    ("query", "options", "why"),
    [
        ("a", {"k": 0}, "k=0 asks for no neighbor"),
        ("a", {"k": -3}, "k is at least 1"),
        ("a", {"k": 2.5}, "k=2.5 is not a whole number"),
        ("a", {"k": "5"}, "k='5' is not a whole number"),
        ("a", {"metric": "manhattan"}, "metric='manhattan' is not one of cosine, euclidean, dot"),
        (np.array([1.0, 2.0]), {}, r"the query has the shape \(2,\); give a node, or a vector: 3 numbers"),
        (np.ones((1, 3)), {}, "shape"),
        (np.array([1.0, math.nan, 0.0]), {}, "not finite"),
        (np.array(["a", "b", "c"]), {}, "real numbers"),
        ([1.0, 2.0], {}, "a list is a list of nodes, and 1.0 is none; give a vector as an array"),
        (("a", 1), {}, "no node is called"),
    ],
)
def test_questions_refused(query: Any, options: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        make("abc").nearest(query, **options)


def test_a_query_needs_the_coordinates_of_gaussians() -> None:
    with pytest.raises(InputError, match=r"the coordinates \[mean, std\] of a node: 6 numbers"):
        make("abc", std=True).nearest(np.array([1.0, 2.0, 3.0]))


def test_numbers_of_all_kinds_ask() -> None:
    emb = make([10, 20, 30])
    assert emb.nearest(np.int32(20), np.int64(2)) == emb.nearest(20, 2)
    assert emb.nearest(emb.vectors[1].astype(np.float16), 1)[0][0] == 20
    assert emb.nearest(np.array([1, 0, 0]), 3) == emb.nearest(np.array([1.0, 0, 0]), 3)


def test_a_list_is_a_list_of_nodes_and_vectors_are_arrays() -> None:
    emb = make([0, 1, 2])  # in three dimensions: [0, 1, 2] could be a vector
    assert emb.nearest([0, 1, 2], 2) == [emb.nearest(node, 2) for node in (0, 1, 2)]
    assert emb.nearest([]) == []
    for query in ([0.5, 1.0, 2.0], [0, 7], [[1.0, 2.0, 3.0]]):
        with pytest.raises(InputError, match="a list is a list of nodes.*give a vector as an array"):
            emb.nearest(query)
    with pytest.raises(InputError, match="'d'"):
        make("abc").nearest(["a", "d"])


def test_numpy_sees_the_vectors() -> None:
    emb = make("abc")
    assert np.array_equal(np.asarray(emb), emb.vectors)
    assert np.asarray(emb, dtype=np.float64).dtype == np.float64
    assert np.array(emb).flags.writeable and emb.vectors.tolist() == np.array(emb).tolist()


def test_nobody_to_find() -> None:
    assert make("a").nearest("a") == []
    assert Embedding([], np.empty((0, 3))).nearest(np.array([1.0, 2.0, 3.0])) == []


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_a_search_takes_little_memory(metric: str) -> None:
    emb = Embedding(range(200_000), np.ones((200_000, 64), np.float32))  # 49 MiB, and all of them tie
    emb.nearest(0, metric="cosine")  # the lengths of the vectors are kept
    with peak_memory() as peak:
        emb.nearest(5, 10, metric=metric)
    assert 1 << 10 < peak[0] < 8 << 20


# -------------------------------------------------------------------- products in float32, against float64 for all


def slow(emb: Embedding, query: Any, k: int, metric: str) -> Any:
    """What a search says that computes every cost in float64."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_is_moderate", lambda sizes: False)
        return Embedding(emb.nodes, emb.vectors, emb.std).nearest(query, k, metric=metric)


CLOUDS = {
    "normal": lambda draw, n, d: draw.normal(size=(n, d)),
    "far from the origin": lambda draw, n, d: draw.normal(size=(n, d)) + 100,
    "near one another": lambda draw, n, d: 1 + 1e-6 * draw.normal(size=(n, d)),
    "full of ties": lambda draw, n, d: draw.integers(-1, 2, size=(n, d)),
    "of all lengths": lambda draw, n, d: draw.normal(size=(n, d)) * 10 ** draw.uniform(-8, 8, size=(n, 1)),
    "huge": lambda draw, n, d: draw.normal(size=(n, d)) * 1e30,
    "tiny": lambda draw, n, d: draw.normal(size=(n, d)) * 1e-35,
    "zeros among them": lambda draw, n, d: draw.normal(size=(n, d)) * (draw.random((n, 1)) < 0.5),
}


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize(("n", "d", "k"), [(3000, 5, 10), (1500, 96, 25), (60, 3, 60)])
@pytest.mark.parametrize("std", [False, True])
def test_the_fast_search_is_the_slow_one(metric: str, cloud: str, n: int, d: int, k: int, std: bool, draw: Any) -> None:
    with np.errstate(all="ignore"):
        spread = np.abs(CLOUDS[cloud](draw, n, d).astype(np.float32)) + np.float32(1e-3) if std else None
        emb = Embedding(range(n), CLOUDS[cloud](draw, n, d).astype(np.float32), spread)
    for node in (0, n // 2):
        assert emb.nearest(node, k, metric=metric) == slow(emb, node, k, metric)
    nodes = draw.integers(0, n, size=20).tolist()
    together = emb.nearest(nodes, k, metric=metric)
    assert together == [emb.nearest(node, k, metric=metric) for node in nodes] == slow(emb, nodes, k, metric)


@settings(deadline=None, max_examples=60)
@given(MATRICES, st.integers(1, 15), st.sampled_from(["cosine", "euclidean", "dot"]), st.integers(1, 40))
def test_no_block_or_batch_shows(rows: list[list[float]], k: int, metric: str, block: int) -> None:
    emb, every = Embedding(range(len(rows)), rows), list(range(len(rows)))
    wanted = [slow(emb, node, k, metric) for node in every]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        patch.setattr(module, "_TOGETHER", 3)
        assert emb.nearest(every, k, metric=metric) == wanted


def test_rough_products_settle_most_rows(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the fast path is taken: of 20,000 rows some hundreds are looked at in float64."""
    looked_at = []
    costs = module._Search._costs
    monkeypatch.setattr(
        module._Search, "_costs", lambda self, q, row: looked_at.append(len(row)) or costs(self, q, row)
    )
    emb = Embedding(range(20_000), draw.normal(size=(20_000, 32)))
    for metric in ("cosine", "euclidean", "dot"):
        looked_at.clear()
        emb.nearest(3, 10, metric=metric)
        assert 11 <= sum(looked_at) < 500


def test_a_bound_on_the_kth(draw: Any) -> None:
    costs = draw.normal(size=(5, 3000)).astype(np.float32)
    for k in (1, 10, 200, 3000):
        bound = module._bound(costs, k)
        assert ((costs <= bound[:, None]).sum(axis=1) >= k).all()
        assert (np.sort(costs, axis=1)[:, min(k + k // 4 + 3, 2999)] >= bound).all()


# -------------------------------------------------------------------- filters, similarity, plus and minus


def test_answers_among_some_nodes(draw: Any) -> None:
    emb = Embedding([f"n{i}" for i in range(300)], draw.normal(size=(300, 6)))
    some = [f"n{i}" for i in draw.choice(300, size=80, replace=False)]
    for metric in ("cosine", "euclidean", "dot"):
        every = emb.nearest("n7", 300, metric=metric)
        assert emb.nearest("n7", 5, metric=metric, among=some) == [x for x in every if x[0] in some][:5]
        assert emb.nearest("n7", 5, metric=metric, among=set(some)) == [x for x in every if x[0] in some][:5]
    batch = emb.nearest(["n1", "n2"], 4, among=some)
    assert batch == [emb.nearest(node, 4, among=some) for node in ("n1", "n2")]
    assert emb.nearest("n7", among=["n7"]) == [] and emb.nearest("n7", among=[]) == []
    with pytest.raises(InputError, match="no node is called 'who'"):
        emb.nearest("n7", among=["who"])


def test_answers_of_a_type(draw: Any) -> None:
    nodes = [(kind, i) for i in range(40) for kind in ("user", "film")]
    emb = Embedding(nodes, draw.normal(size=(80, 4)))
    every = emb.nearest(("user", 3), 80)
    assert emb.nearest(("user", 3), 6, of_type="film") == [x for x in every if x[0][0] == "film"][:6]
    some = nodes[:20]
    wanted = [x for x in every if x[0][0] == "film" and x[0] in some][:3]
    assert emb.nearest(("user", 3), 3, of_type="film", among=some) == wanted
    with pytest.raises(InputError, match="of_type='tag' is the type of no node; there are user, film"):
        emb.nearest(("user", 3), of_type="tag")
    with pytest.raises(InputError, match=r"nodes with types are \(type, name\)"):
        make("abc").nearest("a", of_type="tag")


def test_similarity_is_the_cosine(draw: Any) -> None:
    vectors = draw.normal(size=(6, 5))
    vectors[4] = 0
    emb = Embedding("abcdef", vectors)
    rows = emb.vectors.astype(float).tolist()
    for i, a in enumerate("abcdef"):
        wanted = [naive_score("cosine", rows[i], row) for row in rows]
        assert [emb.similarity(a, b) for b in "abcdef"] == pytest.approx(wanted, abs=1e-12)
        assert np.asarray(emb.similarity(a, list("abcdef"))).tolist() == pytest.approx(wanted, abs=1e-12)
        assert np.array_equal(emb.similarity(list("abcdef"), a), emb.similarity(a, list("abcdef")))
    pairs = emb.similarity(["a", "b"], ["c", "d"])
    assert np.asarray(pairs).tolist() == [emb.similarity("a", "c"), emb.similarity("b", "d")]
    assert dict(emb.nearest("a", 5))["c"] == pytest.approx(emb.similarity("a", "c"), abs=1e-6)
    with pytest.raises(InputError, match="2 nodes do not pair with 3"):
        emb.similarity(["a", "b"], ["c", "d", "e"])
    with pytest.raises(InputError, match="no node is called 'z'"):
        emb.similarity("a", "z")


def test_most_similar_adds_and_subtracts_directions(draw: Any) -> None:
    emb = Embedding("abcdefgh", draw.normal(size=(8, 3)) * draw.uniform(0.1, 9, size=(8, 1)))
    unit = {x: emb[x].astype(float) / np.linalg.norm(emb[x].astype(float)) for x in "abcdefgh"}

    def naive(plus: str, minus: str) -> list[tuple[str, float]]:
        total = sum((unit[x] for x in plus), np.zeros(3)) - sum((unit[x] for x in minus), np.zeros(3))
        cosines = {x: float(unit[x] @ total / np.linalg.norm(total)) for x in "abcdefgh" if x not in plus + minus}
        return sorted(cosines.items(), key=lambda pair: -pair[1])

    for plus, minus in (("ab", "c"), ("a", ""), ("abc", "de"), ("", "b")):
        answer = emb.most_similar(list(plus), list(minus), k=3)
        assert_same_neighbors(answer, naive(plus, minus)[:3], 1.0)
    assert emb.most_similar("a", "b", k=2) == emb.most_similar(["a"], ["b"], k=2)
    assert emb.most_similar("a") == emb.nearest("a", metric="cosine")
    assert emb.most_similar(emb["a"] * 3, k=1)[0][0] == "a", "a vector leaves nobody out"
    assert emb.most_similar("a", k=8, among=["b", "c", "a"]) == [
        x for x in emb.most_similar("a", k=8) if x[0] in ("b", "c")
    ]
    typed = Embedding([("user", 1), ("film", 1), ("film", 2)], np.eye(3))
    assert [x for x, _ in typed.most_similar(("user", 1), of_type="film")] == [("film", 1), ("film", 2)]
    with pytest.raises(InputError, match="nothing to be similar to"):
        emb.most_similar()
    with pytest.raises(InputError, match="no node is called 'z'"):
        emb.most_similar(["z"])


def test_a_pickled_embedding_is_checked_and_read_only() -> None:
    import pickle

    emb = make("abc", std=True)
    emb.nearest("a")
    again = pickle.loads(pickle.dumps(emb))  # noqa: S301
    assert again.nodes == emb.nodes and not again.vectors.flags.writeable and not again.std.flags.writeable
    assert set(vars(again)) == {"nodes", "vectors", "std", "fitted_to"}
    assert again.nearest("a") == emb.nearest("a")
