"""An index answers as the exact search does on what it finds, says how much it misses, and is that of its embedding."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from command import refuse, succeed, told
from netfold.data import index as index_module
from netfold.data.embedding import Embedding
from netfold.data.index import Index
from netfold.errors import InputError

faiss = pytest.importorskip("faiss")


def clusters(n: int = 3000, dim: int = 16, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(30, dim))
    return (centers[rng.integers(0, 30, n)] + 0.5 * rng.normal(size=(n, dim))).astype(np.float32)


def copies(n: int = 3000) -> Any:
    x = clusters(n)
    x[: n // 10] = x[0]
    return x


def zeros(n: int = 3000) -> Any:
    x = clusters(n)
    x[::20] = 0
    return x


def star(n: int = 3000) -> Any:
    """All leaves equal, as structural vectors have them."""
    x = np.ones((n, 4), np.float32)
    x[:10] = np.random.default_rng(1).normal(size=(10, 4))
    return x


def far(n: int = 3000) -> Any:
    x = clusters(n)
    x[n // 2 :] += 100
    x[-1] = 1e4
    return x


def recall(index: Index, embedding: Embedding, nodes: list[Any], k: int = 10) -> float:
    """By a naive loop, ties forgiven."""
    shares, sign = [], 1 if index.metric == "euclidean" else -1
    for node in nodes:
        limit = sign * embedding.nearest(node, k, metric=index.metric)[-1][1]
        shares.append(sum(sign * score <= limit for _, score in index.nearest(node, k)) / k)
    return float(np.mean(shares))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("make", [clusters, copies, zeros, star, far])
def test_recall_is_what_it_says_on_plain_and_on_nasty_vectors(make: Any, metric: str) -> None:
    embedding = Embedding(range(3000), make())
    index = embedding.index(metric=metric)
    nodes = np.random.default_rng(5).choice(3000, 100, replace=False).tolist()
    assert recall(index, embedding, nodes) >= 0.95
    assert index.recall_["share"] >= 0.95 and index.recall_["worst_tenth"] <= index.recall_["share"]
    assert f"recall@10 {index.recall_['share']:.3f} on 200 held rows, worst tenth" in repr(index)


def test_scores_and_order_are_those_of_the_exact_search_to_the_bit() -> None:
    embedding = Embedding(range(3000), copies())
    index = embedding.index(recall=0.6)
    for node in range(250, 400):
        every, near = dict(embedding.nearest(node, 2999)), index.nearest(node, 7)
        assert [every[x] for x, _ in near] == [score for _, score in near]
        order = {x: i for i, x in enumerate(every)}
        assert [order[x] for x, _ in near] == sorted(order[x] for x, _ in near)
        assert len(near) == 7 and node not in dict(near)
    several = index.nearest([5, 300], 3)
    assert several == [index.nearest(5, 3), index.nearest(300, 3)]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_rows_by_blocks_are_those_of_all_at_once(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    embedding = Embedding(range(50), rng.normal(size=(50, 7)), rng.uniform(0.1, 1, size=(50, 7)))
    rows = rng.permutation(50)[:40]
    monkeypatch.setattr(index_module, "_TOGETHER", 7)
    wanted = embedding.vectors[rows] if metric == "cosine" else embedding.coordinates[rows]
    assert np.array_equal(index_module._table(embedding, metric, rows), index_module._unit(wanted, metric))


def test_all_lists_looked_at_are_the_exact_answer() -> None:
    embedding = Embedding(range(3000), clusters())
    index = embedding.index()
    nodes = list(range(0, 3000, 50))
    assert index.nearest(nodes, probes=10**6) == embedding.nearest(nodes)


def test_more_recall_takes_more_probes() -> None:
    least, most = (Embedding(range(3000), clusters()).index(recall=x) for x in (0.5, 1.0))
    assert least.probes < most.probes
    lists = least._lists[""].faiss.nlist
    assert lists < least.rows_compared < most.rows_compared <= 3000 + lists
    assert Embedding(range(4), np.eye(4)).index().rows_compared == 4


def test_every_node_finds_itself_by_its_own_vector() -> None:
    x = clusters()
    index = Embedding(range(3000), x).index()
    assert all(index.nearest(x[i], 1)[0][0] == i for i in range(0, 3000, 37))


def test_gaussians_are_searched_by_w2() -> None:
    x = clusters(2000)
    embedding = Embedding(range(2000), x, np.abs(clusters(2000, seed=3)) + 0.1)
    index = embedding.index(recall=1)
    assert index.metric == "euclidean"
    assert recall(index, embedding, list(range(0, 2000, 40))) >= 0.95


def test_zeros_are_outside_and_still_answers() -> None:
    """Where few others have a cosine of 0 or more, rows of zeros are among the nearest, exactly as without index."""
    x = -np.abs(clusters(2000))
    x[0] = np.abs(x[0])
    x[5:9] = 0
    embedding = Embedding(range(2000), x)
    index = embedding.index()
    assert [node for node, _ in index.nearest(0, 4)] == [5, 6, 7, 8]
    assert index.nearest(5, 4) == embedding.nearest(5, 4)  # itself without a direction


def test_small_embeddings_and_many_neighbors_are_searched_exactly() -> None:
    for n in (1, 2, 50):
        embedding = Embedding(range(n), clusters(n))
        assert embedding.index().nearest(0, n + 5) == embedding.nearest(0, n + 5)
        assert "exact" in repr(embedding.index())
    embedding = Embedding(range(1200), clusters(1200))
    assert embedding.index().nearest(0, 5000) == embedding.nearest(0, 5000)
    equal = Embedding(range(1200), np.ones((1200, 3)))
    assert [score for _, score in equal.index().nearest(7, 5)] == [1.0] * 5


TYPED = [("film" if i % 3 == 0 else "tag" if i % 100 == 1 else "user", i) for i in range(6000)]
"""2,000 films, 3,940 users, and 60 tags, which are too few for lists."""


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_each_type_has_lists_of_its_own(metric: str, tmp_path: Path) -> None:
    x = clusters(6000)
    x[::50] = 0
    embedding = Embedding(TYPED, x)
    index = embedding.index(metric=metric)
    assert set(index.type_recalls) == {"film", "user"} and index.recall_["share"] >= 0.95
    assert "film: " in repr(index) and all(facts["share"] >= 0.95 for facts in index.type_recalls.values())
    some = [TYPED[i] for i in np.random.default_rng(5).choice(6000, 60, replace=False).tolist()]
    sign = 1 if metric == "euclidean" else -1
    for of_type in (None, "film", "user", "tag"):
        shares = []
        for node in some:
            truth = embedding.nearest(node, metric=metric, of_type=of_type)
            near = index.nearest(node, of_type=of_type)
            assert len(near) == 10 and all(of_type in (None, found[0]) for found, _ in near) and node not in dict(near)
            scores = dict(embedding.nearest(node, 6000, metric=metric, of_type=of_type))
            assert [scores[found] for found, _ in near] == [score for _, score in near]
            shares.append(sum(sign * score <= sign * truth[-1][1] for _, score in near) / 10)
        assert np.mean(shares) >= (1 if of_type == "tag" else 0.95), of_type
    assert index.nearest(some, of_type="film") == [index.nearest(node, of_type="film") for node in some]
    assert index.nearest(some[0], 9000, of_type="film") == embedding.nearest(
        some[0], 9000, metric=metric, of_type="film"
    )
    with pytest.raises(InputError, match="is the type of no node"):
        index.nearest(some[0], of_type="town")
    index.remove([("film", 3), ("tag", 1)])
    index.add(Embedding([("film", "new"), ("tag", "new"), ("town", "new")], x[[3, 1, 4]]))
    index.save(tmp_path / "i")
    for again in (index, Index.load(tmp_path / "i", index.embedding)):
        assert ("film", "new") in dict(again.nearest(x[3], 3, of_type="film"))
        assert ("tag", "new") in dict(again.nearest(x[1], 3)) and ("town", "new") in dict(again.nearest(x[4], 3))
        gone = {("film", 3), ("tag", 1)}
        assert not any(gone & set(dict(near)) for near in again.nearest([n for n in some if n not in gone], 50))
        assert again.type_recalls == index.type_recalls and repr(again) == repr(index)


def test_nodes_come_and_go(tmp_path: Path) -> None:
    x = clusters(4000)
    embedding = Embedding(range(2000), x[:2000])
    index, rng, gone = embedding.index(), np.random.default_rng(0), set[int]()
    for start in range(2000, 3000, 100):
        index.add(Embedding(range(start, start + 100), x[start : start + 100]))
        some = [i for i in rng.choice(start + 100, 100, replace=False).tolist() if i not in gone]
        index.remove(some)
        gone |= set(some)
    left = [i for i in range(3000) if i not in gone]
    exact = Embedding(left, x[left])
    assert len(index) == len(left)
    assert not gone & {x for near in index.nearest(left[:300]) for x, _ in near}
    assert recall(index, exact, left[::20]) >= 0.9
    with pytest.raises(InputError, match="was removed"):
        index.nearest(next(iter(gone)))
    with pytest.raises(InputError, match="is, or was, in this index"):
        index.add(Embedding([1], x[:1]))
    with pytest.raises(InputError, match="cannot be added"):
        index.add(Embedding([9999], [[1.0, 2.0]]))
    index.save(tmp_path / "i")
    for mapped in (True, False):
        again = nf.Index.load(tmp_path / "i", index.embedding, mapped=mapped)
        if mapped:  # faiss would start 32 threads for each search
            assert faiss.downcast_InvertedLists(again._lists[""].faiss.invlists).prefetch_nthread == 0
        assert again.nearest(left[:50]) == index.nearest(left[:50])
    again.add(Embedding(["new"], x[3000:3001]))
    assert len(again) == len(left) + 1


def test_an_index_is_opened_for_its_own_embedding_alone(tmp_path: Path) -> None:
    embedding = Embedding(range(2000), clusters(2000))
    index = embedding.index()
    index.save(tmp_path / "i")
    opened = Index.load(tmp_path / "i", embedding)
    assert opened.nearest(list(range(100))) == index.nearest(list(range(100))) and repr(opened) == repr(index)
    opened.add(Embedding([2000], clusters(1)))  # a mapped one is read before it changes
    assert len(opened) == 2001
    moved = embedding.vectors.copy()
    moved[1999, 3] += 1e-3
    for other in (Embedding(range(2000), moved), Embedding(range(1, 2001), embedding.vectors)):
        with pytest.raises(InputError, match="index of another embedding"):
            Index.load(tmp_path / "i", other)


def test_a_damaged_index_is_refused(tmp_path: Path) -> None:
    embedding = Embedding(range(2000), clusters(2000))
    embedding.index().save(tmp_path / "i")
    lists = tmp_path / "i" / "lists-0.faiss"
    whole = lists.read_bytes()
    for bad in (whole[:-10], b"", whole[:100] + b"\xff" * 8 + whole[108:]):
        lists.write_bytes(bad)
        with pytest.raises(InputError, match="damaged"):
            Index.load(tmp_path / "i", embedding)
    lists.write_bytes(whole)
    manifest = json.loads((tmp_path / "i" / "manifest.json").read_text())
    (tmp_path / "i" / "manifest.json").write_text(json.dumps(manifest | {"kind": "model"}))
    with pytest.raises(InputError):
        Index.load(tmp_path / "i", embedding)


def test_what_cannot_be_indexed_is_refused() -> None:
    embedding = Embedding(range(2000), clusters(2000))
    for options, sentence in (
        ({"metric": "dot"}, "no index"),
        ({"recall": 0.0}, "not a share"),
        ({"lists": 9999}, "more than there are rows"),
        ({"metric": "l1"}, "metric"),
    ):
        with pytest.raises(InputError, match=sentence):
            embedding.index(**options)


def test_without_faiss_one_sentence_says_so_and_the_answer_is_exact(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    embedding = Embedding(range(2000), clusters(2000))
    embedding.index().save(tmp_path / "i")
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.warns(UserWarning, match=r"netfold\[search\]"):
        index = embedding.index()
    with pytest.warns(UserWarning, match=r"netfold\[search\]"):
        opened = Index.load(tmp_path / "i", embedding)
    assert index.nearest(3) == opened.nearest(3) == embedding.nearest(3)


@pytest.mark.usefixtures("here")
def test_the_commands(tmp_path: Path) -> None:
    path, out = tmp_path / "x.npz", tmp_path / "x.index"
    embedding = Embedding([f"n{i}" for i in range(1500)], clusters(1500))
    embedding.save(path)
    facts = told("index", path, "-o", out)
    assert facts["recall"]["share"] >= 0.95 and facts["nodes"] == 1500
    near = told("nearest", path, "n7", "-k", 3, "--index", out)
    assert [x["node"] for x in near["nearest"]] == [node for node, _ in embedding.nearest("n7", 3)]
    succeed("index", path, "-o", out, "--force")
    (tmp_path / "nodes.txt").write_text("n1\nn2\n")
    told("nearest", path, "--file", tmp_path / "nodes.txt", "-o", tmp_path / "near.parquet", "-k", 2, "--index", out)
    told("nearest", path, "--file", tmp_path / "nodes.txt", "-o", tmp_path / "near.csv", "-k", 2)
    rows = (tmp_path / "near.csv").read_text().splitlines()
    assert rows[0] == "node,nearest,score" and len(rows) == 5
    pandas = pytest.importorskip("pandas")
    table = pandas.read_parquet(tmp_path / "near.parquet")
    assert list(table["node"]) == ["n1", "n1", "n2", "n2"]
    assert list(table["score"]) == [s for near in embedding.nearest(["n1", "n2"], 2) for _, s in near]
    assert "--file" in refuse("nearest", path)
    (tmp_path / "unknown.txt").write_text("n1\n\nn3\nnobody\nno one\n")
    said = refuse("nearest", path, "--file", tmp_path / "unknown.txt", "-o", tmp_path / "none.csv")
    assert "unknown.txt, line 4: no node is called 'nobody'" in said
    assert "(2 lines name no node of the model)" in said
    assert "belong together" in refuse("nearest", path, "n1", "--file", tmp_path / "nodes.txt")
    assert "metric" in refuse("nearest", path, "n1", "--index", out, "--metric", "euclidean")


def test_an_index_of_few_nodes_says_that_none_is_needed(tmp_path: Path) -> None:
    index = Embedding("abc", np.eye(3, dtype=np.float32)).index()
    with pytest.raises(InputError, match="below 1,000 nodes none is needed; search without an index"):
        index.save(tmp_path / "i.index")
    assert not list(tmp_path.iterdir())
