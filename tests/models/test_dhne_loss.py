"""DHNE's loss, gradients and steps against the chapter's formulas written as plainly as can be, in float64."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch

from dhne_networks import epoch_of, gradient, mixed, naive_scaled, prepared, tuples_of
from netfold.learn import losses
from netfold.learn.training import Block, train
from netfold.models.dhne.batches import batches


def sigmoid(x):
    return 1 / (1 + torch.exp(-x))


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
    squares = sum(x * x for p in network.parameters() if p.ndim == 2 for row in p for x in row)
    return {"first_order": first, "second_order": second, "regularization": network.nu * squares / 2}


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


@pytest.mark.parametrize("products", [0, 3])
def test_what_is_passed_back_by_hand_is_what_autograd_passes_back(products):
    """In float64, against `Similarity.of`, tuple by tuple, and against `Autoencoder.errors`; some tuples in pieces."""
    hypergraph = mixed()
    network, made = prepared(hypergraph, products=products)
    (batch,) = epoch_of(network, made)
    found = {k: float(v) for k, v in network.loss(batch).items()}
    ours = [gradient(p) for p in network.parameters()]
    for p in network.parameters():
        p.grad = None
    vectors = [network.autoencoder(t).encode(rows.seen, rows.named) for t, rows in enumerate(batch.types)]
    first = second = torch.zeros((), dtype=torch.float64)
    for i, pieces in enumerate(batch.forms):
        form = network.similarity(i).form
        every = torch.cat([vectors[t] for t in form.group_types])
        for piece in pieces:
            at = piece.rows.col.long().view(-1, len(form.types))
            logits = network.similarity(i).of([every[x] for x in at.T])
            first = first + losses.tuple_cross_entropy(logits, piece.truth)
    for t, rows in enumerate(batch.types):
        second = second + network.alpha * network.autoencoder(t).errors(rows.written, vectors[t][rows.at])
    (first + second).backward()
    assert found["first_order"] == pytest.approx(first.item(), rel=1e-12)
    assert found["second_order"] == pytest.approx(second.item(), rel=1e-12)
    for (name, p), grad in zip(network.named_parameters(), ours, strict=True):
        wanted = gradient(p) + (network.nu * p.detach() if p.ndim == 2 else 0)
        assert float((grad - wanted).norm()) <= 1e-9 * float(wanted.norm()), name


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
