"""NodeGroups of nodes: k-means, and the number of groups by a silhouette that a loop gives too."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from command import refuse, succeed, told
from netfold.data import groups as module
from netfold.data.embedding import Embedding
from netfold.errors import InputError


def rays(count: int, each: int, seed: int = 0) -> tuple[Embedding, list[int]]:
    """Nodes along so many directions, at any length."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(8, 8)))[0][:count]
    code = np.repeat(np.arange(count), each)
    vectors = directions[code] * rng.uniform(0.5, 9, (len(code), 1)) + rng.normal(0, 0.02, (len(code), 8))
    return Embedding([f"n{i}" for i in range(len(code))], vectors), code.tolist()


def naive_silhouette(x: np.ndarray, codes: list[int]) -> float:
    """The mean over nodes of (b - a) / max(a, b), by loops; 0 for a group of one."""
    values = []
    for i in range(len(x)):
        by_group: dict[int, list[float]] = {}
        for j in range(len(x)):
            if j != i:
                by_group.setdefault(codes[j], []).append(float(np.linalg.norm(x[i] - x[j])))
        own = by_group.pop(codes[i], [])
        b = min(float(np.mean(v)) for v in by_group.values())
        values.append((b - float(np.mean(own))) / max(b, float(np.mean(own))) if own else 0.0)
    return float(np.mean(values))


@pytest.mark.parametrize("count", [2, 5, 7])
def test_the_number_of_groups_is_found(count: int) -> None:
    embedding, truth = rays(count, 12)
    groups = embedding.groups()
    assert groups.k == count and groups.sizes == [12] * count
    assert len({(a, b) for a, b in zip(groups.codes.tolist(), truth, strict=True)}) == count
    unit = embedding.vectors / np.linalg.norm(embedding.vectors, axis=1, keepdims=True)
    assert groups.silhouettes[count] == pytest.approx(naive_silhouette(unit, groups.codes.tolist()), abs=1e-5)
    assert max(groups.silhouettes, key=groups.silhouettes.__getitem__) == count
    assert f"k = {count} of 2 to 50" in groups.chosen or f"k = {count} of 2 to" in groups.chosen


def test_a_number_that_is_said_and_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    embedding, truth = rays(4, 30)
    monkeypatch.setattr(module, "_MANY", 40)
    groups = embedding.groups(4, seed=3)
    assert groups.k == 4 and not groups.silhouettes and repr(groups) == "NodeGroups(120 nodes in 4 groups)"
    assert len({(a, b) for a, b in zip(groups.codes.tolist(), truth, strict=True)}) == 4
    assert groups["n0"] == groups.to_dict()["n0"]
    for wrong in (0, 121, 2.5, "3"):
        with pytest.raises(InputError, match="is not a number of groups"):
            embedding.groups(wrong)  # type: ignore[arg-type]


def test_group_0_is_the_largest_and_equal_vectors_are_one_group() -> None:
    vectors = [[1, 0]] * 2 + [[0, 1]] * 5
    groups = Embedding(range(7), vectors).groups(6)
    assert groups.sizes == [5, 2] and groups[6] == 0
    alike = Embedding(range(3), [[1, 1]] * 3).groups()
    assert alike.k == 1 and alike.chosen == "" and repr(alike) == "NodeGroups(3 nodes in 1 group)"


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    embedding, _ = rays(3, 10)
    embedding.save("v.npz")
    said = succeed("groups", "v.npz", "-o", "groups.csv").stdout
    assert "30 nodes in 3 groups; k = 3 of 2 to 25 by the silhouette" in said
    with Path("groups.csv").open() as file:
        rows = list(csv.reader(file))
    expected = embedding.groups().to_dict()
    assert rows[0] == ["node", "group"] and {a: int(b) for a, b in rows[1:]} == expected
    assert told("groups", "v.npz", "-k", 2)["groups"] == 2
    assert "groups.csv exists" in refuse("groups", "v.npz", "-o", "groups.csv")
