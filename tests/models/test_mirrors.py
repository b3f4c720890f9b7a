"""Mirror images fall together under DRNE, in a barbell and in two karate clubs; under SDNE they do not."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import netfold as nf

TWINS = {15: 14, 18: 14, 20: 14, 22: 14, 10: 4, 6: 5, 21: 17}
"""Members of the karate club that a symmetry of the club itself exchanges: 14 to 22 all know 32 and 33 alone."""
DIMS = [2, 16]
NAMES = ["barbell", "mirrored_karate"]

Floats = npt.NDArray[np.float64]


@functools.cache
def made(name: str) -> tuple[nf.Graph, dict[Any, Any], dict[Any, Any]]:
    """A graph, the mirror image of each node, and the role of each."""
    graph = nf.datasets.load(name)
    if name == "barbell":
        return graph, {i: 29 - i for i in graph.nodes}, {i: max(8, min(i, 29 - i)) for i in graph.nodes}
    images = {(side, i): ("b" if side == "a" else "a", i) for side, i in graph.nodes}
    return graph, images, {(side, i): TWINS.get(i, i) for side, i in graph.nodes}


@functools.cache
def fitted(name: str, dim: int, start: str = "degree") -> nf.Embedding:
    return nf.DRNE(dim=dim, epochs=20, init=start).fit(made(name)[0], progress=False).embedding_


@functools.cache
def by_sdne(name: str) -> nf.Embedding:
    return nf.SDNE(dim=16, epochs=60).fit(made(name)[0], progress=False).embedding_


def to_images(embedding: nf.Embedding, name: str) -> Floats:
    """The distance of each node from its mirror image."""
    _, images, _ = made(name)
    return np.linalg.norm(embedding.vectors - embedding[[images[x] for x in embedding.nodes]], axis=1).astype(float)


def between_roles(embedding: nf.Embedding, name: str) -> Floats:
    """The distance of each two nodes of different roles."""
    _, _, roles = made(name)
    pairs = [(u, v) for i, u in enumerate(embedding.nodes) for v in list(embedding.nodes)[:i] if roles[u] != roles[v]]
    return np.array([np.linalg.norm(embedding[u] - embedding[v]) for u, v in pairs])


def same_role_first(embedding: nf.Embedding, name: str, metric: str) -> float:
    """The share of nodes before all others of which `nearest` lists those of their role: all of them, and no other."""
    _, images, roles = made(name)
    right = []
    for node in embedding.nodes:
        peers = {other for other in embedding.nodes if roles[other] == roles[node] and other != node}
        assert images[node] in peers
        right.append({other for other, _ in embedding.nearest(node, len(peers), metric=metric)} == peers)
    return float(np.mean(right))


@pytest.mark.parametrize("name", NAMES)
def test_mirror_images_are_symmetries_and_have_the_same_role(name: str) -> None:
    """What the tests below take for granted."""
    graph, images, roles = made(name)
    order = graph.positions([images[x] for x in graph.nodes])
    assert (graph.adjacency != graph.adjacency[order][:, order]).nnz == 0
    assert all(roles[x] == roles[images[x]] and images[x] != x for x in graph.nodes)
    assert len(set(roles.values())) == {"barbell": 7, "mirrored_karate": 27}[name]


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", NAMES)
def test_mirror_images_have_the_same_vector_and_other_roles_are_far_away(name: str, dim: int) -> None:
    together, apart = to_images(fitted(name, dim), name), between_roles(fitted(name, dim), name)
    assert together.max() < 1e-5
    assert np.median(apart) > 100 * 1e-5
    if dim > 2:  # in the plane two of the roles may come close
        assert apart.min() > 100 * 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_nearest_says_who_plays_the_same_role(name: str) -> None:
    assert same_role_first(fitted(name, 16), name, "cosine") == 1
    assert same_role_first(fitted(name, 16), name, "euclidean") == 1
    assert same_role_first(by_sdne(name), name, "cosine") < 0.25


def test_the_mirror_image_is_named_first_where_nobody_else_plays_the_role() -> None:
    assert fitted("barbell", 16).nearest(9, 1)[0][0] == 20
    assert fitted("mirrored_karate", 16).nearest(("a", 33), 1)[0][0] == ("b", 33)


@pytest.mark.parametrize("name", NAMES)
def test_neighborhoods_are_no_roles(name: str) -> None:
    """SDNE's mirror images are as far apart as other nodes: it keeps who is near, and they are not."""
    together, apart = to_images(by_sdne(name), name), between_roles(by_sdne(name), name)
    assert np.median(together) > 0.5 * np.median(apart)


@pytest.mark.parametrize("name", NAMES)
def test_mirror_images_that_start_apart_are_apart_after_as_many_epochs(name: str) -> None:
    """So it is the start that keeps them together: the chapter's own, at random, does not."""
    assert np.median(to_images(fitted(name, 16, "random"), name)) > 100 * 1e-5
