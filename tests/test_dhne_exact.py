"""DHNE's loss and gradients against the chapter's formulas written as plainly as can be, in float64; its theorem."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.optimize import linprog
from torch.utils._python_dispatch import TorchDispatchMode

from netfold import losses
from netfold.hypergraph import Hypergraph
from netfold.models.dhne import DHNE
from netfold.models.dhne.batches import _by_column, batches, tuple_rows
from netfold.models.dhne.negatives import Negatives, Noise, TupleSet, possible_tuples
from netfold.models.dhne.network import DHNENetwork
from netfold.models.dhne.schema import Form, Schema
from netfold.models.dhne.source import Drawing, counts_by_type, source
from netfold.training import Block, train

DIM = 3


def mixed(seed: int = 0) -> Hypergraph:
    """Triples of three types, pairs of two, pairs and triples within one, and (head, relation, tail), in one."""
    rng = np.random.default_rng(seed)
    names = ["user"] * 5 + ["film"] * 6 + ["tag"] * 4 + ["lone"]
    order = rng.permutation(len(names))  # so that types do not come one after the other
    of = {t: np.flatnonzero([names[i] == t for i in order]) for t in set(names)}

    def drawn(m, *types):
        found = [[int(rng.choice(of[t])) for t in types] for _ in range(4 * m)]
        return np.array([row for row in found if len(set(row)) == len(row)][:m])

    triples = drawn(12, "user", "film", "tag")
    kinds = [
        (("user", "film", "tag"), ("user", "film", "tag"), np.concatenate([triples, triples[:3]])),  # some twice
        (("tag", "film"), ("tag", "film"), drawn(5, "tag", "film")),
        (("user", "user_2"), ("user", "user"), drawn(5, "user", "user")),
        (("node", "node_2", "node_3"), ("film", "film", "film"), drawn(4, "film", "film", "film")),
        (("head", "relation", "tail"), ("film", "tag", "film"), drawn(6, "film", "tag", "film")),
    ]
    return Hypergraph.from_kinds(kinds, nodes=range(len(names)), node_types=[names[i] for i in order])


def prepared(hypergraph: Hypergraph, hold_out: bool = False, **changed):
    """A network with all parameters random, none at a value that would hide an error, and what it trains on."""
    options = {"dim": DIM, "hidden": None, "activation": "tanh", "scale": "column", "row_damping": 0.5, "alpha": 0.7}
    network = DHNENetwork(Schema.of(hypergraph), **options | {"nu": 0.3} | changed).double()
    network.type_codes.copy_(torch.tensor(hypergraph.type_codes))
    counts = counts_by_type(hypergraph, network.places())
    for t, rows in enumerate(counts):
        network.autoencoder(t).measure(rows)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in network.parameters():
            p.uniform_(-0.6, 0.6, generator=generator)
    made = source(hypergraph, network.places(), counts, network, Drawing(hold_out=hold_out), torch.float64)
    return network, made


def epoch_of(network, made, *, batch_size=10**6, per_positive=2, seed=0):
    hidden = [network.similarity(i).width for i in range(len(network.schema.forms))]
    return list(
        batches(made, batch_size, per_positive=per_positive, hidden=hidden)(torch.Generator().manual_seed(seed))
    )


def gradient(p):
    """Nobody asks for a type that is in no tuple: its parameters have none."""
    return torch.zeros_like(p) if p.grad is None else p.grad.clone()


def sigmoid(x):
    return 1 / (1 + torch.exp(-x))


# -------------------------------------------------------------------- the chapter, number by number


def naive_scaled(hypergraph, scale):
    """Each type's rows of A over all nodes, scaled by the largest count of the column in rows of the type."""
    h = hypergraph.incidence().toarray().astype(np.float64)
    a = h @ h.T - np.diag(h.sum(axis=1))
    scaled = np.zeros_like(a)
    for i, j in np.argwhere(a > 0):
        most = max(a[k, j] for k in range(len(a)) if hypergraph.type_codes[k] == hypergraph.type_codes[i])
        scaled[i, j] = {"column": a[i, j] / most, "log": math.log1p(a[i, j]) / math.log1p(most), "binary": 1.0}[scale]
    return scaled


def naive_vectors(network, hypergraph, scaled):
    activation = {"tanh": torch.tanh, "sigmoid": sigmoid}
    columns = network.places().columns
    vectors = []
    for i in range(hypergraph.n_nodes):
        t = int(hypergraph.type_codes[i])
        coder = network.autoencoder(t)
        length = math.sqrt(sum(x * x for x in scaled[i]))
        total = coder.first.bias.clone()
        for at, j in enumerate(columns[t]):
            if scaled[i, j]:
                total = total + scaled[i, j] / length**coder.row_damping * coder.first.table[at]
        vectors.append(activation[network.activation_name](total))
    return vectors


def naive_similarity(network, form, vectors, nodes):
    """S of one tuple: L = σ(Σ_a W_a X_a + b), q = Σ_{a<b} V_a X_a ⊙ V_b X_b, S = sigmoid(w · L + v · q + c)."""
    head = network.similarity(form)
    activation = {"tanh": torch.tanh, "sigmoid": sigmoid}[network.activation_name]
    entries = []
    for k in range(len(head.bias)):
        total = head.bias[k]
        for position, node in enumerate(nodes):
            for d in range(network.dim):
                total = total + vectors[node][d] * head.weights[head.form.groups[position]][d, k]
        entries.append(activation(total))
    total = sum(entries[k] * head.last[k, 0] for k in range(len(head.bias))) + head.last_bias[0]
    for k in range(0 if head.mix is None else len(head.mix)):
        z = [
            sum(vectors[node][d] * head.factors[head.form.groups[position]][d, k] for d in range(network.dim))
            for position, node in enumerate(nodes)
        ]
        total = total + head.mix[k, 0] * sum(z[a] * z[b] for a, b in combinations(range(len(nodes)), 2))
    return sigmoid(total)


def naive_loss(network, hypergraph, scaled, tuples):
    """The objective of an epoch; `tuples` are (form, nodes, truth)."""
    vectors = naive_vectors(network, hypergraph, scaled)
    first, second = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    for form, nodes, truth in tuples:
        s = naive_similarity(network, form, vectors, nodes)
        first = first - (truth * torch.log(s) + (1 - truth) * torch.log(1 - s))
    columns = network.places().columns
    for i, j in np.argwhere(scaled > 0):
        t = int(hypergraph.type_codes[i])
        last, at = network.autoencoder(t).last, int(np.flatnonzero(columns[t] == j)[0])
        written = sigmoid(sum(vectors[i][d] * last.table[at, d] for d in range(network.dim)) + last.bias[at])
        second = second + network.alpha * (scaled[i, j] - written) ** 2
    weights = [p for p in network.parameters() if p.ndim == 2]
    return {"first_order": first, "second_order": second, "regularization": network.nu * losses.half_squares(weights)}


def tuples_of(network, batch, made):
    """The (form, nodes, truth) that a batch holds; nodes are found by what the encoder sees of each, unlike for all."""
    whole, some = [_dense(rows) for rows in made.seen], [_dense(rows.seen) for rows in batch.types]
    kept = [range(len(x)) if rows.kept is None else rows.kept for x, rows in zip(some, batch.types, strict=True)]
    members = network.places().members

    def node(t, i):
        (at,) = np.flatnonzero((whole[t] == some[t][int(kept[t][i])]).all(axis=1))
        return int(members[t][at])

    for form, pieces in enumerate(batch.forms):
        spec = network.schema.forms[form]
        starts = np.cumsum([0, *(len(batch.types[t]) for t in spec.group_types)])
        for piece in pieces:
            for row, truth in zip(piece.rows.col.view(-1, len(spec.types)).tolist(), piece.truth.tolist(), strict=True):
                yield (
                    form,
                    [node(t, c - starts[g]) for c, g, t in zip(row, spec.groups, spec.types, strict=True)],
                    truth,
                )


@pytest.mark.parametrize(
    "scale, activation, products",
    [(s, a, 0) for s in ("column", "log", "binary") for a in ("tanh", "sigmoid")] + [("log", "tanh", 3)],
)
def test_loss_and_gradients_are_those_of_the_chapter(scale, activation, products):
    """And, where there are products, of the chapter's similarity with them."""
    hypergraph = mixed()
    network, made = prepared(hypergraph, scale=scale, activation=activation, products=products)
    network.activation_name = activation
    (batch,) = epoch_of(network, made)
    tuples = list(tuples_of(network, batch, made))
    assert sum(truth for *_, truth in tuples) == hypergraph.n_edges and len(tuples) > 2 * hypergraph.n_edges
    found = network.loss(batch)
    expected = naive_loss(network, hypergraph, naive_scaled(hypergraph, scale), tuples)
    for name in expected:
        assert float(found[name]) == pytest.approx(expected[name].item(), rel=1e-6), name  # counts are float32
    ours = [gradient(p) for p in network.parameters()]
    for p in network.parameters():
        p.grad = None
    sum(expected.values()).backward()
    for (name, p), grad in zip(network.named_parameters(), ours, strict=True):
        torch.testing.assert_close(grad, gradient(p), rtol=1e-6, atol=1e-6, msg=name)


def test_gradients_are_those_of_small_differences():
    """Every parameter, moved a little: what autograd and our own ways back say is what the loss does."""
    network, made = prepared(mixed(3))
    (batch,) = epoch_of(network, made)
    network.loss(batch)
    rng, step = np.random.default_rng(0), 1e-6
    for name, p in network.named_parameters():
        flat, grad = p.detach().view(-1), gradient(p).view(-1)
        for i in rng.choice(len(flat), min(3, len(flat)), replace=False).tolist():
            ends = []
            for sign in (1, -1):
                flat[i] += sign * step
                with torch.no_grad():
                    ends.append(float(sum(network.loss(batch).values())))
                flat[i] -= sign * step
            assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(float(grad[i]), rel=1e-4, abs=1e-6), name


def test_the_losses_are_the_printed_sums():
    rng = np.random.default_rng(0)
    logits, truth = torch.tensor(rng.normal(size=7) * 3), torch.tensor([1.0, 0, 1, 0, 0, 1, 0], dtype=torch.float64)
    s = [1 / (1 + math.exp(-x)) for x in logits.tolist()]
    by_hand = -sum(math.log(x) if r else math.log(1 - x) for x, r in zip(s, truth.tolist(), strict=True))
    assert float(losses.tuple_cross_entropy(logits, truth)) == pytest.approx(by_hand)
    extreme = losses.tuple_cross_entropy(torch.tensor([1000.0, -1000.0]), torch.tensor([0.0, 1.0]))
    assert float(extreme) == 2000
    assert float(losses.nonzero_squares(torch.tensor([0.5, 1.0]), torch.tensor([1.0, 0.25]))) == 0.25 + 0.5625


# -------------------------------------------------------------------- batches


@pytest.mark.parametrize("batch_size", [1, 4, 9, 1000, None])
def test_an_epoch_has_every_hyperedge_and_every_row_once(batch_size):
    hypergraph = mixed()
    network, made = prepared(hypergraph)
    given = Counter()
    for form, rows in enumerate(network.places().tuples(hypergraph)):
        members = [network.places().members[t] for t in network.schema.forms[form].types]
        for row in rows.tolist():
            given[
                form, tuple(_sorted_alike(network.schema.forms[form], [int(m[i]) for m, i in zip(members, row)]))
            ] += 1
    found, written, shares = Counter(), 0.0, 0.0
    for batch in epoch_of(network, made, batch_size=batch_size):
        shares += batch.share
        for rows in batch.types:
            written += float(rows.written.values.sum())
        found.update(_positives(network, batch, made))
    assert found == given and shares == pytest.approx(1)
    assert written == pytest.approx(sum(float(rows.values.sum()) for rows in made.written))


def _sorted_alike(form: Form, nodes):
    nodes = list(nodes)
    for positions in form.alike:
        for at, node in zip(positions, sorted(nodes[i] for i in positions), strict=True):
            nodes[at] = node
    return nodes


def _positives(network, batch, made):
    """The hyperedges of a batch."""
    for form, nodes, truth in tuples_of(network, batch, made):
        if truth:
            yield form, tuple(_sorted_alike(network.schema.forms[form], nodes))


def _dense(rows) -> np.ndarray:
    made = np.zeros((len(rows), rows.width))
    for i in range(len(rows)):
        for at in range(int(rows.crow[i]), int(rows.crow[i + 1])):
            made[i, int(rows.col[at])] = float(rows.values[at])
    return made


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
    found = made.held_out.values([torch.from_numpy(rows) for rows in places.tuples(gone)])
    for t, counts in enumerate(counts_by_type(others, places)):
        coder, full = network.autoencoder(t), naive_scaled(hypergraph, scale)[places.members[t]]
        length = np.linalg.norm(full, axis=1, keepdims=True)
        expected = coder.scaled(counts).toarray() / np.where(length > 0, length, 1) ** coder.row_damping
        np.testing.assert_allclose(_dense(made.seen[t].with_values(found[t])), expected, rtol=1e-5, atol=1e-7)


def test_a_batch_is_encoded_without_its_own_hyperedges():
    hypergraph = mixed()
    network, made = prepared(hypergraph, hold_out=True)
    (batch,) = epoch_of(network, made)  # a tenth of all, at the most
    sizes = [(math.ceil(0.1 * len(tuples.rows)), len(tuples.form.types)) for tuples in made.tuples]
    less = [(b.values - a.seen.values) for a, b in zip(batch.types, made.seen, strict=True)]
    assert 0 < sum(int((x > 0).sum()) for x in less) <= sum(m * n * (n - 1) for m, n in sizes)
    assert all((x >= 0).all() for x in less)


# -------------------------------------------------------------------- tuples that are no hyperedges

PLAIN = Form(("user", "film", "tag"), (0, 1, 2), ordered=False)
LOOSE = Form(("node", "node_2", "node_3"), (0, 0, 0), ordered=False)
STRICT = Form(("head", "relation", "tail"), (0, 1, 0), ordered=True)


@pytest.mark.parametrize("large", [False, True])
def test_a_set_of_tuples_knows_its_own_and_no_other(large, monkeypatch):
    if large:
        monkeypatch.setattr("netfold.models.dhne.negatives._LARGEST", 30)  # digits overflow at once
    rng = np.random.default_rng(0)
    for form, sizes in ((PLAIN, (4, 5, 3)), (LOOSE, (5, 5, 5)), (STRICT, (4, 3, 4))):
        every = np.array(list(itertools.product(*map(range, sizes))))
        mine = every[rng.choice(len(every), 20)]
        known = TupleSet(torch.from_numpy(mine), sizes, form.alike)
        kept = {tuple(_sorted_alike(form, row)) for row in mine.tolist()}
        expected = [tuple(_sorted_alike(form, row)) in kept for row in every.tolist()]
        assert known.holds(torch.from_numpy(every)).tolist() == expected and len(known) == len(kept)
        assert sorted(map(tuple, known.rows.tolist())) == sorted(tuple(_sorted_alike(form, r)) for r in mine.tolist())


def test_tuples_too_long_for_one_number_are_told_apart():
    rng = np.random.default_rng(0)
    rows = torch.from_numpy(rng.integers(0, 2**31, (50, 6)))
    known = TupleSet(rows, [2**31] * 6, [])
    other = rows.clone()
    other[:, 0] ^= 1
    assert known.holds(rows).all() and not known.holds(other).any()


def drawn(form, rows, sizes, *, per_positive=5, replaced=1.1, weights=None, seed=0):
    known = TupleSet(torch.as_tensor(rows), [sizes[t] for t in form.types], form.alike)
    noise = [Noise(sizes[t], weights) for t in form.types]
    negatives = Negatives(form, known, noise, replaced, possible_tuples(form, sizes))
    return known, negatives.draw(known.rows, per_positive, torch.Generator().manual_seed(seed))[0]


@pytest.mark.parametrize(("form", "sizes"), [(PLAIN, (4, 5, 3)), (LOOSE, (6,)), (STRICT, (5, 3))])
@pytest.mark.parametrize("replaced", [1.0, 1.1, 2.5, 9.0])
def test_no_negative_is_a_hyperedge_or_names_a_node_twice(form, sizes, replaced):
    rng = np.random.default_rng(0)
    all_of_them = itertools.product(*(range(sizes[t]) for t in form.types))
    every = [r for r in all_of_them if _distinct(form, r) and list(r) == _sorted_alike(form, r)]
    rows = np.array(every)[rng.choice(len(every), len(every) // 2, replace=False)]  # half of all there are
    known, made = drawn(form, rows, sizes, replaced=replaced)
    kept = {tuple(_sorted_alike(form, row)) for row in rows.tolist()}
    assert 0 < len(made) <= 5 * len(rows)
    for row in made.tolist():
        assert tuple(_sorted_alike(form, row)) not in kept and _distinct(form, row)
        assert all(0 <= x < sizes[t] for x, t in zip(row, form.types, strict=True))
    if replaced == 1.0:  # one place from a hyperedge
        assert all(
            any(sum(a != b for a, b in zip(row, k, strict=True)) == 1 for k in known.rows.tolist())
            for row in made.tolist()
        )


def _distinct(form, row) -> bool:
    return len(set(zip(form.types, row, strict=True))) == len(row)


def test_which_position_and_which_node_is_drawn():
    """One hyperedge among many tuples: positions evenly, replacing nodes uniformly, two positions in a tenth."""
    sizes, per = (8, 8, 8), 40_000
    _, made = drawn(PLAIN, [[3, 4, 5]], sizes, per_positive=per)
    changed = (made != torch.tensor([3, 4, 5])).numpy()
    one = changed.sum(axis=1) == 1
    assert stats.chisquare(changed[one].sum(axis=0)).pvalue > 1e-3
    nodes = made.numpy()[one & changed[:, 1], 1]
    assert stats.chisquare(np.bincount(nodes, minlength=8)[[0, 1, 2, 3, 5, 6, 7]]).pvalue > 1e-3
    # two chosen in .1, and both differ in .875²; what was drawn again as it was, 1/8 of a position, is drawn anew
    both = 0.1 * (7 / 8) ** 2 / (0.1 * (1 - 1 / 64) + 0.9 * 7 / 8)
    assert (changed.sum(axis=1) == 2).mean() == pytest.approx(both, abs=5 * math.sqrt(both / per))


def test_noise_goes_by_weight():
    weights = torch.tensor([0.0, 1, 2, 0, 5])
    found = Noise(5, weights).at(torch.rand(50_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    counts = np.bincount(found.numpy(), minlength=5)
    assert counts[0] == counts[3] == 0
    assert stats.chisquare(counts[[1, 2, 4]], 50_000 * np.array([1, 2, 5]) / 8).pvalue > 1e-3
    ends = torch.tensor([0.0, 1 - 1e-16], dtype=torch.float64)
    assert Noise(5, weights).at(ends).tolist() == [1, 4] and Noise(5).at(ends).tolist() == [0, 4]
    assert Noise(3, torch.zeros(3)).at(ends).tolist() == [0, 2]  # no node has a degree: all alike


def test_where_every_tuple_is_a_hyperedge_there_are_no_negatives():
    every = np.array(list(itertools.product(range(2), range(3), range(2))))
    assert len(drawn(PLAIN, every, (2, 3, 2))[1]) == 0
    pairs = np.array(list(itertools.combinations(range(4), 2)))
    form = Form(("node", "node_2"), (0, 0), ordered=False)
    assert possible_tuples(form, [4]) == 6 and len(drawn(form, pairs, (4,))[1]) == 0
    assert possible_tuples(STRICT, [4, 3]) == 4 * 3 * 3


def test_only_one_tuple_is_no_hyperedge_and_it_is_found():
    every = np.array(list(itertools.product(range(2), range(3), range(2))))
    _, made = drawn(PLAIN, every[1:], (2, 3, 2), replaced=3.0)
    assert len(made) > 0 and (made == 0).all()


# -------------------------------------------------------------------- the theorem


def clusters(per: int = 3) -> tuple[list[tuple[str, ...]], dict[str, str], list[tuple[str, ...]]]:
    """The chapter's example: 3 types of nodes in 2 clusters each; a hyperedge is 3 nodes of the same cluster."""
    nodes = {t: [f"{t}{c}{i}" for c in (0, 1) for i in range(per)] for t in "abc"}
    every = list(itertools.product(*nodes.values()))
    edges = [e for e in every if len({label[1] for label in e}) == 1]
    return edges, {label: label[0] for of in nodes.values() for label in of}, [e for e in every if e not in set(edges)]


def test_no_linear_function_of_a_tuple_separates_the_example():
    """Whatever vectors: W_a X_a is one number f_a(v) a node, and Σ f_a > l on hyperedges, < s <= l elsewhere fails.

    The chapter's proof prints Y_1^0 in its last line for Y_0^1. The linear program asks for f and a margin l - s of 1,
    to which any margin above 0 can be scaled. The proof by ranks: with signs, its four tuples' indicators sum to 0.
    """
    edges, types, others = clusters(per=1)
    names = sorted(types)

    def row(e):
        return [float(name in e) for name in names]

    above, below = [[*(-x for x in row(e)), 1.0] for e in edges], [[*row(e), -1.0] for e in others]
    program = linprog(
        np.zeros(len(names) + 1),
        A_ub=np.array(above + below),
        b_ub=np.array([-0.5] * len(above) + [-0.5] * len(below)),
        bounds=(None, None),
    )
    assert program.status == 2  # infeasible
    proof = [("a00", "b00", "c00"), ("a10", "b00", "c00"), ("a10", "b10", "c10"), ("a00", "b10", "c10")]
    signs = [1, -1, 1, -1]
    assert [e in edges for e in proof] == [True, False, True, False]
    assert not np.dot(signs, [row(e) for e in proof]).any()
    # and with products of two nodes' numbers allowed, the same program has a solution: the test can fail
    pairs = [[*row(e), *np.outer(row(e), row(e)).ravel()] for e in [*edges, *others]]
    sign = np.array([-1.0] * len(edges) + [1.0] * len(others))
    wider = sign[:, None] * np.array([[*p, -1.0] for p in pairs])
    assert (
        linprog(np.zeros(wider.shape[1]), A_ub=wider, b_ub=np.full(len(wider), -0.5), bounds=(None, None)).status == 0
    )


@pytest.mark.parametrize(("activation", "epochs"), [("tanh", 60), ("sigmoid", 300)])
def test_trained_it_separates_the_example(activation, epochs):
    edges, types, others = clusters()
    options = {"dim": 4, "epochs": epochs, "lr": 0.1, "activation": activation, "replaced": 2.0, "batch_size": 64}
    model = DHNE(**options, scale="column", hold_out=False).fit(Hypergraph.from_tuples(edges, types), progress=False)
    assert model.score(edges).min() > 0.8 > 0.2 > model.score(others).max()


# -------------------------------------------------------------------- memory


class Largest(TorchDispatchMode):
    """The most numbers that any tensor made under it holds."""

    def __init__(self):
        super().__init__()
        self.most = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for x in made if isinstance(made, (tuple, list)) else [made]:
            if isinstance(x, torch.Tensor):
                self.most = max(self.most, x.numel() if x.layout == torch.strided else 0)
        return made


def test_no_block_of_nodes_by_nodes_or_by_edges_is_made():
    n, m, dim = 2_000, 4_000, 4
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(0, n, m), rng.integers(n, 2 * n, m), rng.integers(2 * n, 3 * n, m)], axis=1)
    hypergraph = Hypergraph.from_kinds(
        [(tuple("abc"), tuple("abc"), rows)], nodes=range(3 * n), node_types=["a"] * n + ["b"] * n + ["c"] * n
    )
    with Largest() as seen:
        model = DHNE(dim=dim, hidden=8, epochs=1).fit(hypergraph, progress=False)
        model.complete((0, n, None))
        model.score(rows[:100].tolist())
    # the largest there may be: L of a piece of tuples, 7 random numbers a tuple, a table, all of A's non-zeros
    assert seen.most <= max(5 * 3 * n * 8, 7 * 6 * m, 2 * n * dim, 6 * m) < n * n / 10 < n * m / 10


def test_stepping_by_hand_is_what_train_does():
    """The one loop, with our batches: two epochs of SGD by hand end at the same numbers."""
    hypergraph = mixed()
    (network, made), (by_hand, again) = prepared(hypergraph), prepared(hypergraph)
    hidden = [network.similarity(i).width for i in range(len(network.schema.forms))]

    def of(source):
        draw = batches(source, 7, per_positive=2, hidden=hidden)
        return lambda epoch: draw(torch.Generator().manual_seed(epoch))

    history = train(network, of(made), [Block(list(network.parameters()), "sgd", 0.01)], epochs=2)
    for epoch in range(2):
        for batch in of(again)(epoch):
            by_hand.zero_grad(set_to_none=True)
            by_hand.loss(batch)
            with torch.no_grad():
                for p in by_hand.parameters():
                    p -= 0.01 * gradient(p)
    for p, q in zip(network.parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(p, q)
    assert history[1]["objective"] < history[0]["objective"]
