"""DHNE's batches: every hyperedge and row once, fast paths against slow ones, what is held out, and their size."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
import torch

from allocations import Allocations
from dhne_networks import dense, epoch_of, gradient, mixed, naive_scaled, prepared, sorted_alike, tuples_of
from netfold.data.hypergraph import Hypergraph, co_occurrences
from netfold.learn import skipgram
from netfold.learn.sparse_rows import dropped
from netfold.learn.training import train
from netfold.models.dhne import DHNE
from netfold.models.dhne.batches import _by_column, co_occurrences_on, counts_by_type, tuple_rows
from problems import problem_of


@pytest.mark.parametrize("batch_size", [1, 4, 9, 1000, None])
def test_an_epoch_has_every_hyperedge_and_every_row_once(batch_size):
    hypergraph = mixed()
    network, made = prepared(hypergraph)
    given = Counter()
    for form, rows in enumerate(network.places().tuples(hypergraph)):
        members = [network.places().members[t] for t in network.schema.forms[form].types]
        for row in rows.tolist():
            given[form, tuple(sorted_alike(network.schema.forms[form], [int(m[i]) for m, i in zip(members, row)]))] += 1
    found, written, shares = Counter(), 0.0, 0.0
    for batch in epoch_of(network, made, batch_size=batch_size):
        shares += batch.share
        for rows in batch.types:
            written += float(rows.written.values.sum())
        found.update(_positives(network, batch, made))
    assert found == given and shares == pytest.approx(1)
    assert written == pytest.approx(sum(float(rows.values.sum()) for rows in made.written))


def _positives(network, batch, made):
    """The hyperedges of a batch."""
    for form, nodes, truth in tuples_of(network, batch, made):
        if truth:
            yield form, tuple(sorted_alike(network.schema.forms[form], nodes))


def test_picked_out_rows_give_the_same_loss_as_all_rows(monkeypatch):
    """The fast path against the slow one: the same batches, with and without picking out the rows they need."""
    from netfold.models.dhne import batches as module

    network, made = prepared(mixed())
    picked = epoch_of(network, made, batch_size=3)
    assert any(len(r.seen) < len(w) for b in picked for r, w in zip(b.types, made.written, strict=True))
    monkeypatch.setattr(module, "_are_few", lambda nodes, rows: False)
    whole = epoch_of(network, made, batch_size=3)
    assert all(len(r.seen) == len(w) for b in whole for r, w in zip(b.types, made.written, strict=True))
    assert any(len(r) < len(r.seen) for b in whole for r in b.types)
    for few, all_of_them in zip(picked, whole, strict=True):
        network.zero_grad(set_to_none=True)
        one = network.loss(few)
        first = [gradient(p) for p in network.parameters()]
        network.zero_grad(set_to_none=True)
        two = network.loss(all_of_them)
        assert {k: float(v) for k, v in one.items()} == pytest.approx({k: float(v) for k, v in two.items()})
        for a, p in zip(first, network.parameters(), strict=True):
            torch.testing.assert_close(a, gradient(p))


@pytest.mark.parametrize("hold_out", [False, True])
def test_rows_read_in_place_give_the_same_loss_as_picked_out(hold_out):
    """What a GPU does of a large hypergraph, by the plain ways: several steps made ready at once."""
    network, made = prepared(mixed(), hold_out=hold_out)
    picked, in_place = (
        epoch_of(network, dataclasses.replace(made, in_place=way), batch_size=3) for way in (False, True)
    )
    assert len(picked) == len(in_place) > 2
    for one, other in zip(picked, in_place, strict=True):
        losses, grads = [], []
        for batch in (one, other):
            network.zero_grad(set_to_none=True)
            losses.append({k: float(v) for k, v in network.loss(batch).items()})
            grads.append([gradient(p) for p in network.parameters()])
        assert losses[0] == pytest.approx(losses[1])
        for a, b in zip(*grads, strict=True):
            torch.testing.assert_close(a, b)


def test_what_is_dropped_in_place_is_drawn_by_a_key():
    network, made = prepared(mixed())
    first, again = (epoch_of(network, dataclasses.replace(made, in_place=True), dropout=0.4) for _ in range(2))
    keys = [[rows.seen.key for rows in batch.types] for batch in first]
    assert keys == [[rows.seen.key for rows in batch.types] for batch in again]
    assert len({key for step in keys for key in step}) == sum(map(len, keys))
    assert {rows.seen.share for batch in first for rows in batch.types} == {0.4}


def test_entries_that_are_dropped_are_not_read_and_are_drawn_as_if_they_were():
    _, made = prepared(mixed())
    rows, some = made.seen[0], torch.tensor([3, 0, 1])
    one, other = (torch.Generator().manual_seed(5) for _ in range(2))
    found, expected = rows.take_dropped(some, 0.4, one), dropped(rows.take(some), 0.4, other)
    assert 0 < len(found.values) == int((expected.values != 0).sum()) < len(expected.values)
    torch.testing.assert_close(dense_of(found), dense_of(expected), rtol=0, atol=0)
    assert torch.equal(torch.rand(3, generator=one), torch.rand(3, generator=other))


def dense_of(rows):
    eye = torch.eye(rows.width, dtype=rows.values.dtype)
    back = torch.zeros(rows.width, len(rows), dtype=rows.values.dtype)
    rows.add_transposed_matmul(torch.eye(len(rows), dtype=rows.values.dtype), back)
    assert torch.equal(rows.matmul(eye), back.T)
    return back.T


def test_weights_decay_in_the_optimizers_pass_as_if_the_loss_had_added_it():
    """To the bit: what Adam adds in its pass over the weights is the gradient of L_reg."""
    ways = []
    for decays in (True, False):
        problem = problem_of(DHNE(dim=4, nu=0.5, hidden=8, seed=1), mixed())
        assert problem.network.decays and problem.blocks[0].settings["weight_decay"] > 0
        problem.network.decays = decays
        blocks = [b if decays else dataclasses.replace(b, settings={}) for b in problem.blocks]
        history = train(problem.network, problem.batches, blocks, epochs=3)
        ways.append(([r["objective"] for r in history], [p.detach() for p in problem.network.parameters()]))
    assert ways[0][0] == ways[1][0]
    assert all(torch.equal(a, b) for a, b in zip(ways[0][1], ways[1][1], strict=True))


def test_pieces_give_the_same_loss_as_one(monkeypatch):
    from netfold.models.dhne import batches as module

    network, made = prepared(mixed())
    (one,) = epoch_of(network, made, per_positive=40)
    monkeypatch.setattr(module, "PIECE", {"cpu": 1})
    (many,) = epoch_of(network, made, per_positive=40)
    assert all(len(a) == 1 < len(b) for a, b in zip(one.forms, many.forms, strict=True))
    a, first = network.loss(one), [gradient(p) for p in network.parameters()]
    network.zero_grad(set_to_none=True)
    b = network.loss(many)
    assert {k: float(v) for k, v in a.items()} == pytest.approx({k: float(v) for k, v in b.items()})
    for whole, p in zip(first, network.parameters(), strict=True):
        torch.testing.assert_close(whole, gradient(p))


def test_tuple_rows_sum_rows_of_a_table():
    rng = np.random.default_rng(0)
    columns, table = torch.tensor(rng.integers(0, 9, (20, 3))), torch.tensor(rng.normal(size=(9, 4)))
    rows = tuple_rows(columns, 9, torch.float64)
    torch.testing.assert_close(rows.matmul(table), table[columns].sum(dim=1))
    grad, out = torch.tensor(rng.normal(size=(20, 4))), torch.zeros(9, 4, dtype=torch.float64)
    rows.add_transposed_matmul(grad, out)
    expected = torch.zeros(9, 4, dtype=torch.float64).index_add_(0, columns.flatten(), grad.repeat_interleave(3, 0))
    torch.testing.assert_close(out, expected)
    assert all(map(torch.equal, rows.by_column, _by_column(rows.col, 9, 3)))  # as a GPU finds them
    assert len(tuple_rows(columns[:0], 9)) == 0


@pytest.mark.parametrize("scale", ["column", "log", "binary"])
def test_held_out_the_encoder_sees_the_rows_of_the_other_hyperedges(scale):
    """Against A of a hypergraph without them, scaled and divided as the full rows are."""
    hypergraph = mixed()
    network, made = prepared(hypergraph, scale=scale, hold_out=True)
    rng, places = np.random.default_rng(0), network.places()
    kept, left = [], []
    for kind in hypergraph.kinds:
        out = rng.random(len(kind)) < 0.4
        kept.append((kind.roles, kind.types, kind.rows[~out]))
        left.append((kind.roles, kind.types, kind.rows[out]))
    parts = {"nodes": hypergraph.nodes, "node_types": hypergraph.node_types}
    others, gone = Hypergraph.from_kinds(kept, **parts), Hypergraph.from_kinds(left, **parts)
    chosen = []
    for tuples, rows in zip(made.tuples, places.tuples(gone), strict=True):
        left_of = {}
        for i, row in enumerate(tuples.rows.tolist()):
            left_of.setdefault(tuple(sorted_alike(tuples.form, row)), []).append(i)
        chosen.append(torch.tensor([left_of[tuple(sorted_alike(tuples.form, row))].pop() for row in rows.tolist()]))
    found = made.held_out.values([x.long() for x in chosen])
    for t, counts in enumerate(counts_by_type(others, places)):
        coder, full = network.autoencoder(t), naive_scaled(hypergraph, scale)[places.members[t]]
        length = np.linalg.norm(full, axis=1, keepdims=True)
        expected = coder.scaled(counts).toarray() / np.where(length > 0, length, 1) ** coder.row_damping
        np.testing.assert_allclose(dense(made.seen[t].with_values(found[t])), expected, rtol=1e-5, atol=1e-7)


def test_a_batch_is_encoded_without_its_own_hyperedges():
    hypergraph = mixed()
    network, made = prepared(hypergraph, hold_out=True)
    (batch,) = epoch_of(network, made)  # a tenth of all, at most
    sizes = [(math.ceil(0.1 * len(tuples.rows)), len(tuples.form.types)) for tuples in made.tuples]
    less = [(b.values - a.seen.values) for a, b in zip(batch.types, made.seen, strict=True)]
    assert 0 < sum(int((x > 0).sum()) for x in less) <= sum(m * n * (n - 1) for m, n in sizes)
    assert all((x >= 0).all() for x in less)


def test_no_block_of_nodes_by_nodes_or_by_edges_is_made():
    n, m, dim = 2_000, 4_000, 4
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(0, n, m), rng.integers(n, 2 * n, m), rng.integers(2 * n, 3 * n, m)], axis=1)
    hypergraph = Hypergraph.from_kinds(
        [(tuple("abc"), tuple("abc"), rows)], nodes=range(3 * n), node_types=["a"] * n + ["b"] * n + ["c"] * n
    )
    with Allocations() as seen:
        model = DHNE(dim=dim, hidden=8, products=0, epochs=1).fit(hypergraph, progress=False)
        model.complete((0, n, None))
        model.score(rows[:100].tolist())
    # the largest there may be: L of a piece of tuples, 7 random numbers a tuple, a table, all of A's non-zeros
    assert seen.numbers <= max(5 * 3 * n * 8, 7 * 6 * m, 2 * n * dim, 6 * m) < n * n / 10 < n * m / 10


def test_pairs_sorted_all_at_once_are_counted_as_row_by_row():
    rng = np.random.default_rng(0)
    for kinds in ([(30, 3)], [(20, 2), (15, 4)], [(0, 3), (5, 2)]):
        rows = [np.argsort(rng.random((m, 12)), axis=1)[:, :size] for m, size in kinds]
        one, other = co_occurrences_on(rows, 12, "cpu"), co_occurrences(rows, 12)
        for name in ("data", "indices", "indptr"):
            mine, theirs = getattr(one, name), getattr(other, name)
            assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs)


def test_of_a_large_hypergraph_an_epoch_has_every_hyperedge_once_too(monkeypatch):
    """By an order that is drawn where it is trained."""
    monkeypatch.setattr(skipgram, "_STAYS", 10)
    rng = np.random.default_rng(0)
    triples = {(f"u{a}", f"i{b}", f"t{c}") for a, b, c in rng.integers(20, size=(900, 3)).tolist()}
    graph = Hypergraph.from_tuples(sorted(triples), {node: node[0] for triple in triples for node in triple})
    problem = problem_of(DHNE(dim=4), graph)
    epochs = [list(problem.batches(i)) for i in (0, 0, 1)]
    for epoch in epochs:
        assert sum(float(piece.truth.sum()) for batch in epoch for piece in batch.forms[0]) == len(triples)
        assert sum(len(batch.types[0].at) for batch in epoch) == 20
    firsts = [epoch[0].types[0].at.tolist() for epoch in epochs]
    assert firsts[0] == firsts[1]
