"""DHNE's similarity with counts: what it reads of a tuple, that a hyperedge does not see itself, and what is kept."""

from __future__ import annotations

import itertools
import math
from unittest import mock

import numpy as np
import pytest
import torch
from scipy import sparse

import netfold as nf
from dhne_models import FAST, ZOO, fit, papers, triples, zoo
from netfold.data.hypergraph import Hypergraph, co_occurrences
from netfold.learn.progress import Progress
from netfold.models.dhne import DHNE
from netfold.models.dhne.batches import Drawing, counts_by_type, source
from netfold.models.dhne.counts import COSINE_DIM, unit_vectors
from netfold.models.dhne.network import Similarity


def naive_columns(
    hypergraph: Hypergraph, nodes: list, groups: tuple[int, ...], vectors: np.ndarray, without: tuple = ()
) -> np.ndarray:
    """Logarithms of counts and cosines of one tuple, and products of two, by a loop over all hyperedges but one."""
    edges = [set(edge) for edge in hypergraph.edges if set(edge) != set(without)]
    pairs: dict[tuple[int, int], float] = {}
    cosines: dict[tuple[int, int], float] = {}
    for a, b in itertools.combinations(range(len(nodes)), 2):
        together = sum({nodes[a], nodes[b]} <= edge for edge in edges)
        key = tuple(sorted((groups[a], groups[b])))
        pairs[key] = pairs.get(key, 0.0) + math.log1p(together)
        u, v = (vectors[hypergraph.nodes.positions([nodes[i]])[0]] for i in (a, b))
        cosines[key] = cosines.get(key, 0.0) + sum(float(x) * float(y) for x, y in zip(u, v, strict=True))
    degrees = [0.0] * (max(groups) + 1)
    for a, node in enumerate(nodes):
        degrees[groups[a]] += math.log1p(sum(node in edge for edge in edges))
    first = [pairs[key] for key in sorted(pairs)] + degrees + [cosines[key] for key in sorted(cosines)]
    return np.array(first + [x * y for x, y in itertools.combinations_with_replacement(first, 2)])


@pytest.mark.parametrize("kind", ["triples", "papers", "facts"])
def test_columns_are_those_of_a_loop_over_hyperedges(kind):
    hypergraph = ZOO[kind]()
    network = fit(hypergraph, counts=True, epochs=0).network_
    vectors = network.pair_counts.vectors.numpy()
    for kind_of_tuples in hypergraph.kinds:
        form, order = network.schema.place(kind_of_tuples, hypergraph.types)
        rows = kind_of_tuples.rows[:, order][:10]
        columns = network.count_columns(form, torch.from_numpy(rows)).numpy()
        groups = network.schema.forms[form].groups
        for row, found in zip(rows, columns, strict=True):
            nodes = [hypergraph.nodes[int(i)] for i in row]
            assert np.allclose(found, naive_columns(hypergraph, nodes, groups, vectors), rtol=1e-5, atol=1e-5)


def test_unit_vectors_are_those_of_dense_eigenvectors():
    """Up to the turn that eigenvectors of one eigenvalue have: the cosines are the same."""
    together = triples().adjacency()
    a = together.toarray().astype(np.float64)
    degrees = a.sum(axis=1)
    roots = 1 / np.sqrt(degrees + 0.1 * degrees.mean())
    values, vectors = np.linalg.eigh(roots[:, None] * a * roots)
    top = np.argsort(-values)[:COSINE_DIM]
    wanted = roots[:, None] * vectors[:, top] * values[top] ** 2
    wanted[degrees == 0] = wanted[degrees > 0].mean(axis=0)
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    found = unit_vectors(together, torch.Generator().manual_seed(1)).double().numpy()
    assert np.allclose(found @ found.T, wanted @ wanted.T, atol=1e-4)


def test_a_node_in_no_hyperedge_is_an_average_one():
    together = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=np.float32))
    found = unit_vectors(together, torch.Generator().manual_seed(1))
    assert torch.allclose(found[2], torch.nn.functional.normalize(found[:2].mean(dim=0), dim=0))
    assert not unit_vectors(sparse.csr_array((3, 3), dtype=np.float32), torch.Generator()).any()


def begun(hypergraph: Hypergraph, **changed):
    model = DHNE(**FAST | {"counts": True, "epochs": 1, **changed})
    problem = model._problem(model._read(hypergraph), torch.device("cpu"), Progress.silent())
    return problem.network, problem.batches


def test_in_training_a_tuple_does_not_see_the_hyperedge_that_it_was_made_of():
    """Columns of a hyperedge and of what is drawn for it are those of the hypergraph without it, all its copies too;
    the nodes' vectors are by hyperedges that are not of its fold."""
    once = triples()
    types = dict(zip(once.nodes, once.node_types, strict=True))
    hypergraph = Hypergraph.from_tuples([*once.edges, *once.edges[:4], once.edges[0]], types)
    network, _ = begun(hypergraph)
    places, groups = network.places(), network.schema.forms[0].groups
    made_of = source(hypergraph, places, counts_by_type(hypergraph, places), network, Drawing(hold_out=True))
    tuples = made_of.tuples[0]
    generator = torch.Generator().manual_seed(3)
    others, owner = tuples.negatives.draw(tuples.rows, 2, generator)
    left_out = []
    network.count_columns = lambda form, rows, without=None: left_out.append((rows, without)) or rows
    tuples.columns(torch.cat([tuples.rows, others]), torch.cat([torch.arange(len(tuples.rows)), owner]))
    del network.count_columns
    (rows, without), names = left_out[0], list(hypergraph.nodes)
    columns = network.count_columns(0, rows, without).numpy()
    assert (without.times > 2).any()
    for i, row in enumerate(rows.tolist()):
        edge = tuple(names[j] for j in without.rows[i].tolist())
        vectors = without.vectors[without.fold[i]].numpy()
        wanted = naive_columns(hypergraph, [names[j] for j in row], groups, vectors, edge)
        assert np.allclose(columns[i], wanted, rtol=1e-5, atol=1e-5)
    all_rows = torch.from_numpy(np.stack([places.members[t][tuples.rows[:, a]] for a, t in enumerate((0, 1, 2))], 1))
    mine = left_out_of(all_rows, tuples, network)
    for k, vectors in enumerate(without.vectors):
        again = unit_vectors(co_occurrences([mine.rows[mine.fold != k].numpy()], hypergraph.n_nodes), generator)
        assert torch.allclose(again @ again.T, vectors @ vectors.T, atol=1e-4)


def test_with_hold_out_off_counts_are_of_all_hyperedges():
    hypergraph = triples()
    network, batches = begun(hypergraph, hold_out=False, batch_size=len(hypergraph.edges))
    pieces = next(iter(batches(0))).forms[0]
    columns = torch.cat([piece.columns[piece.truth > 0] for piece in pieces])
    _, order = network.schema.place(hypergraph.kinds[0], hypergraph.types)
    wanted = network.count_columns(0, torch.from_numpy(hypergraph.kinds[0].rows[:, order]))
    assert torch.allclose(columns.sum(dim=0), wanted.sum(dim=0), rtol=1e-4)


def left_out_of(rows, tuples, network):
    """What `Tuples.columns` leaves out of each hyperedge."""
    seen = []
    network.count_columns = lambda form, rows, without=None: seen.append(without) or rows
    tuples.columns(tuples.rows, torch.arange(len(tuples.rows)))
    del network.count_columns
    assert torch.equal(seen[0].rows, rows)
    return seen[0]


@pytest.mark.parametrize("nu", [0.3, 5.0])
def test_it_begins_where_logistic_regression_ends(nu):
    """The gradient of L_1 + nu L_reg by u and c is 0, in float64 by a loop, and what vectors add is 0."""
    hypergraph = triples()
    network, _ = begun(hypergraph, nu=nu, products=8)
    similarity = network.similarity(0)
    seen = []
    with mock.patch.object(Similarity, "start_by_counts", lambda self, *given: seen.append(given)):
        begun(hypergraph, nu=nu, products=8)
    columns, truth, ridge = seen[0]
    assert ridge == pytest.approx(nu)
    scaled = ((columns - similarity.counts.mean) / similarity.counts.deviation).double().numpy()
    u, c = similarity.counts.weight[:, 0].double().detach().numpy(), similarity.last_bias.item()
    slope, constant = nu * u, 0.0
    for row, right in zip(scaled, truth.tolist(), strict=True):
        error = 1 / (1 + math.exp(-(float(row @ u) + c))) - right
        slope, constant = slope + error * row, constant + error
    assert np.abs(slope).max() < 1e-2 and abs(constant) < 1e-2 < np.abs(nu * u).max()
    assert not similarity.last.any() and not similarity.mix.any()


def test_without_epochs_its_score_is_the_regression_and_training_goes_on_from_there():
    hypergraph = triples()
    model = fit(hypergraph, counts=True, epochs=0)
    network, similarity = model.network_, model.network_.similarity(0)
    _, order = network.schema.place(hypergraph.kinds[0], hypergraph.types)
    rows = torch.from_numpy(hypergraph.kinds[0].rows[:, order])
    logits = similarity.counts(network.count_columns(0, rows)) + similarity.last_bias
    assert np.allclose(model.score(hypergraph.edges), torch.sigmoid(logits).detach().numpy(), atol=1e-6)
    assert model.history_ == [] and model.complete((*hypergraph.edges[0][:2], None), k=2)
    trained = fit(hypergraph, counts=True, epochs=3)
    assert not np.allclose(trained.score(hypergraph.edges), model.score(hypergraph.edges))


def test_without_epochs_vectors_are_eigenvectors_and_a_new_node_is_the_mean_of_those_it_meets():
    """Not what encoders that nobody trained make of rows: who asks for the nearest gets those that meet."""
    rng, groups = np.random.default_rng(0), 3
    edges = [
        (f"u{g}{rng.integers(8)}", f"i{g}{rng.integers(8)}", f"t{g}{rng.integers(8)}")
        for g in range(groups)
        for _ in range(60)
    ]

    def typed(tuples: list) -> Hypergraph:
        types = {x: kind for row in tuples for x, kind in zip(row, ("user", "item", "tag"), strict=True)}
        return Hypergraph(tuples, list(types), list(types.values()))

    known = typed(edges)
    model = fit(known, counts=True, epochs=0, dim=8)
    for node in known.nodes:
        near = [other for other, _ in model.embedding_.nearest(node, k=5)]
        assert {name[1] for name in near} == {node[1]}
    met = [("new", "i03", "t05"), ("new", "i03", "t01")]
    wanted = np.mean([model.embedding_[x] for pair in met for x in pair[1:]], axis=0)
    later = typed([*edges, *met])
    for how in ("encode", "refine"):
        np.testing.assert_allclose(model.transform(later, how=how)["new"], wanted, atol=1e-6)
    with pytest.raises(nf.InputError, match="in no hyperedge with a known node"):
        model.transform(typed([*edges, ("a", "b", "c")]))


def test_a_file_of_before_cosines_has_none():
    model = DHNE(**FAST | {"counts": True})
    facts = model._read(triples()).facts
    width = {key: model._network(facts | {"cosines": key}).similarity(0).counts.weight.shape[0] for key in (True, None)}
    assert width == {True: 9 + 45, None: 6 + 21}
    before = model._network(facts | {"cosines": None})
    assert before.pair_counts.vectors.shape[1] == 0 and "pair_counts.vectors" not in before.state_dict()


@zoo
def test_saved_and_loaded_it_scores_the_same(kind, tmp_path):
    hypergraph = ZOO[kind]()
    model = fit(hypergraph, counts=True)
    model.save(tmp_path / "m.netfold")
    again = nf.load(tmp_path / "m.netfold")
    assert np.array_equal(again.score(hypergraph.edges), model.score(hypergraph.edges))
    assert not np.allclose(model.score(hypergraph.edges), fit(hypergraph).score(hypergraph.edges))


def test_the_order_of_alike_nodes_changes_nothing_and_completions_are_scores():
    hypergraph = papers()
    model = fit(hypergraph, counts=True)
    edges = [tuple(edge) for edge in hypergraph.edges if len(edge) == 3][:5]
    assert np.allclose(model.score(edges), model.score([edge[::-1] for edge in edges]), rtol=1e-6)
    for node, score in model.complete((edges[0][0], edges[0][1], None), k=4):
        assert score == pytest.approx(model.score([(edges[0][0], edges[0][1], node)])[0], rel=1e-5)


def test_new_nodes_are_counted_in_their_own_hyperedges():
    known = triples()
    model = fit(known, counts=True, epochs=20)
    more = [("new", 0, ("tag", 1)), ("new", 1, ("tag", 1)), ("user 1", 0, ("tag", 1))]
    types = {node: known.types[t] for node, t in zip(known.nodes, known.type_codes, strict=True)} | {"new": "user"}
    later = Hypergraph.from_tuples(more, types)
    scorer = model._scorer(later)
    joint = Hypergraph.from_tuples([*known.edges, *more[:2]], types)
    at = [scorer._find([a])[0] for a in ("new", 0, ("tag", 1), 1)]
    for a, b in itertools.combinations(range(4), 2):
        names = ["new", 0, ("tag", 1), 1]
        pair = {names[a], names[b]}
        edges = joint.edges if "new" in pair else known.edges
        together = scorer._counts.of(torch.tensor([at[a]]), torch.tensor([at[b]]))
        assert float(together) == sum(pair <= set(edge) for edge in edges)
    known_vectors = model.network_.pair_counts.vectors
    mean = sum(known_vectors[scorer._find([x])[0]] * k for x, k in [(0, 1), (1, 1), (("tag", 1), 2)])
    assert torch.allclose(scorer._counts.vectors[at[0]], mean / mean.norm(), atol=1e-6)
    assert 0 < model.score([more[0]], later=later)[0] < 1


def test_it_stops_where_the_objective_stands_still():
    model = fit(triples(), epochs=200, lr=1e-7, tolerance=0.5, patience=3)
    assert len(model.history_) == 4
    assert len(fit(triples(), epochs=30).history_) == 30
