"""A hypergraph of all kinds, DHNE networks with random parameters in float64, and what their batches hold."""

from __future__ import annotations

import math

import numpy as np
import torch

from netfold.data.hypergraph import Hypergraph
from netfold.models.dhne.batches import Drawing, batches, counts_by_type, source
from netfold.models.dhne.network import DHNENetwork
from netfold.models.dhne.tuples import Form, Schema

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


def epoch_of(network, made, *, batch_size=10**6, per_positive=2, seed=0, dropout=0.0):
    hidden = [network.similarity(i).width for i in range(len(network.schema.forms))]
    of = batches(made, batch_size, per_positive=per_positive, hidden=hidden, dropout=dropout)
    return list(of(torch.Generator().manual_seed(seed)))


def gradient(p):
    """Nobody asks for a type that is in no tuple: its parameters have none."""
    return torch.zeros_like(p) if p.grad is None else p.grad.clone()


def naive_scaled(hypergraph, scale):
    """Each type's rows of A over all nodes, scaled by the largest count of the column in rows of the type."""
    h = hypergraph.incidence().toarray().astype(np.float64)
    a = h @ h.T - np.diag(h.sum(axis=1))
    scaled = np.zeros_like(a)
    for i, j in np.argwhere(a > 0):
        most = max(a[k, j] for k in range(len(a)) if hypergraph.type_codes[k] == hypergraph.type_codes[i])
        scaled[i, j] = {"column": a[i, j] / most, "log": math.log1p(a[i, j]) / math.log1p(most), "binary": 1.0}[scale]
    return scaled


def tuples_of(network, batch, made):
    """The (form, nodes, truth) that a batch holds; nodes are found by what the encoder sees of each, unlike for all."""
    whole, some = [dense(rows) for rows in made.seen], [dense(rows.seen) for rows in batch.types]
    kept = [range(len(x)) if rows.named is None else rows.named for x, rows in zip(some, batch.types, strict=True)]
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


def sorted_alike(form: Form, nodes):
    nodes = list(nodes)
    for positions in form.alike:
        for at, node in zip(positions, sorted(nodes[i] for i in positions), strict=True):
            nodes[at] = node
    return nodes


def dense(rows) -> np.ndarray:
    made = np.zeros((len(rows), rows.width))
    for i in range(len(rows)):
        for at in range(int(rows.crow[i]), int(rows.crow[i + 1])):
            made[i, int(rows.col[at])] = float(rows.values[at])
    return made
