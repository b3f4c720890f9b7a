"""What every model that reads attributes keeps to: no dense n x m, and how a graph without them is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import netfold as nf
from allocations import Allocations
from attributed import attributed, cold, linked_groups
from netfold.data.attributes import Attributes, Column
from netfold.errors import InputError

MODELS = {
    "SDNE": lambda: nf.SDNE(dim=4, hidden=(8,), epochs=2),
    "DVNE": lambda: nf.DVNE(dim=4, hidden=8, epochs=1),
    "DRNE": lambda: nf.DRNE(dim=4, epochs=1),
    "Node2VecPlus": lambda: nf.Node2VecPlus(dim=4, epochs=1, length=5, window=2),
    "Spectral, smoothed": lambda: nf.Spectral(dim=4, matrix="smoothed"),
    "Spectral, attributes": lambda: nf.Spectral(dim=4, matrix="attributes"),
}
every = pytest.mark.parametrize("name", MODELS)


@every
def test_no_dense_array_of_nodes_times_attributes_is_made(name: str) -> None:
    n, words = 300, 6000
    matrix = sparse.random_array((n, words), density=0.001, rng=np.random.default_rng(0)).tocsr()
    missing = np.arange(n) % 5 == 6
    graph = attributed(
        linked_groups(n), Attributes((Column("words", "words", matrix, tuple(map(str, range(words))), missing),))
    )
    with Allocations() as seen:
        model = MODELS[name]().fit(graph, progress=False)
        model.transform(cold(graph, [1], ["z"]))
    assert seen.numbers < n * words / 5


@every
def test_a_later_graph_without_attributes_is_refused_in_one_sentence(name: str) -> None:
    model = MODELS[name]().fit(linked_groups(), progress=False)
    with pytest.raises(InputError) as refused:
        model.transform(nf.Graph.from_edges([(0, "z"), ("z", 1)]))
    said = str(refused.value)
    assert "fitted with attributes ('words') and the graph has none; give them" in said
    assert "graph.with_attributes(...) or --attributes FILE" in said and "\n" not in said


SAY_NOTHING = {
    "zeros": lambda n: Column("x", "words", sparse.csr_array((n, 3)), ("a", "b", "c")),
    "a constant": lambda n: Column("x", "number", np.full(n, 7.0)),
    "missing": lambda n: Column("x", "vector", np.full((n, 4), np.nan)),
}


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("Spectral")])
def test_attributes_that_say_nothing_and_a_weight_of_0_change_no_bit(name: str) -> None:
    known = linked_groups()
    plain = attributed(known, None)
    expected = MODELS[name]().fit(plain, progress=False)
    same = [MODELS[name]().set_params(attribute_weight=0.0).fit(known, progress=False)]
    for column in SAY_NOTHING.values():
        same.append(MODELS[name]().fit(attributed(plain, Attributes((column(known.n_nodes),))), progress=False))
    later = nf.Graph.from_edges([(0, "z"), ("z", 2)])
    for model in same:
        assert np.array_equal(model.embedding_.vectors, expected.embedding_.vectors)
        assert np.array_equal(model.transform(later).vectors, expected.transform(later).vectors)


def test_a_hypergraph_without_attributes_is_refused_in_the_same_words() -> None:
    def whole(pairs: list[tuple[str, str]]) -> nf.Hypergraph:
        types = {node: {"u": "user", "f": "film"}[node[0]] for pair in pairs for node in pair}
        return nf.Hypergraph.from_named([{"user": u, "film": f} for u, f in pairs], node_types=types)

    known = whole(sorted({(f"u{i % 5}", f"f{i % 7}") for i in range(30)}))
    genres = {f"f{i}": {"genre": ["drama" if i % 2 else "crime"]} for i in range(7)}
    model = nf.DHNE(dim=4, epochs=1).fit(known.with_attributes({"film": genres}), progress=False)
    with pytest.raises(InputError, match=r"fitted with attributes \('film.genre'\) and the graph has none; give them"):
        model.transform(whole([("u0", "f new"), ("u1", "f new")]))


PLACED = {name: make for name, make in MODELS.items() if name.startswith(("Spectral", "DRNE"))} | {
    "Joined": lambda: nf.Joined([nf.Spectral(dim=4, matrix="smoothed"), nf.Spectral(dim=3, matrix="attributes")])
}


@pytest.mark.parametrize("name", PLACED)
def test_a_node_without_links_has_one_place_whether_it_was_there_or_comes_later(name: str) -> None:
    graph = linked_groups()
    n = graph.n_nodes
    indptr = np.append(graph.adjacency.indptr, [graph.adjacency.nnz] * 2)
    wider = sparse.csr_array((graph.adjacency.data, graph.adjacency.indices, indptr), shape=(n + 2, n + 2))
    known = graph.attributes.rows([*range(n), 0, -1])  # one has words, of the other nothing is known
    model = PLACED[name]().fit(nf.Graph(wider, range(n + 2), directed=False, attributes=known), progress=False)
    later = model.transform(cold(graph, [0], ["z"]))
    assert np.allclose(model.embedding_[n], later["z"], rtol=1e-5, atol=1e-6)
    assert np.abs(model.embedding_[n] - model.embedding_[n + 1]).max() > 1e-3
