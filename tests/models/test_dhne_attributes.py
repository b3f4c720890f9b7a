"""DHNE over rows [A_i | γ x_i]: the loss against loops in float64, and new nodes by tuples and by attributes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import netfold as nf
from attributed import dense_columns, sparse_columns, turned
from dhne_models import CHAPTERS
from dhne_networks import DIM, gradient, mixed
from netfold.data.attributes import Attributes, Column
from netfold.data.hypergraph import Hypergraph
from netfold.data.scaling import Scaling
from netfold.errors import InputError
from netfold.models import DHNE
from netfold.models.dhne.batches import Drawing, batches, counts_by_type, source
from netfold.models.dhne.network import DHNENetwork
from netfold.models.dhne.tuples import Schema

both = pytest.mark.parametrize("columns", [sparse_columns, dense_columns])


def prepared(whole: Hypergraph, attributes: Attributes, columns_of_types):
    """A network with all parameters random, its attributes, and what it trains on; in float64."""
    block = Scaling.fit(attributes).block(attributes)
    network = DHNENetwork(
        Schema.of(whole), dim=DIM, hidden=None, activation="tanh", scale="log", row_damping=0.5, alpha=0.7,
        attribute_columns=columns_of_types, attribute_widths=[b - a for a, b in block.slices], attribute_weight=1.4,
    ).double()  # fmt: skip
    network.type_codes.copy_(torch.tensor(whole.type_codes))
    places = network.places()
    counts = counts_by_type(whole, places)
    for t, rows in enumerate(counts):
        network.autoencoder(t).measure(rows)
    network.measure_attributes(block, places.members, [2.0] * len(counts))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in network.parameters():
            p.uniform_(-0.6, 0.6, generator=generator)
    made = source(whole, places, counts, network, Drawing(), torch.float64, block)
    return network, made, block


def naive_loss(network, batch, made, block) -> dict[str, torch.Tensor]:
    """The objective of a batch that names all nodes: vectors, tuples, rows of A and attributes, one by one."""
    values = block.values if isinstance(block.values, np.ndarray) else block.values.toarray()
    vectors, own = [], torch.zeros((), dtype=torch.float64)
    first, second = torch.zeros_like(own), torch.zeros_like(own)
    for t, members in enumerate(network.places().members):
        coder, columns, seen = network.autoencoder(t), network.attribute_columns[t], made.seen[t]
        written, of_type = made.written[t], []
        at = [j for c in columns for j in range(*block.slices[c])]
        for i, node in enumerate(members):
            total = coder.first.bias
            entries = range(int(seen.crow[i]), int(seen.crow[i + 1]))
            for e in entries:
                total = total + seen.values[e] * coder.first.table[seen.col[e]]
            factor = np.float32(1.4 * float(coder.attribute_unit)) if at else 0
            x = [float(np.float32(values[node, j]) * factor) for j in at]
            for k in range(len(at)):
                total = total + x[k] * coder.attribute_first[k]
            vector = torch.tanh(total)
            of_type.append(vector)
            for e in entries:
                logit = vector @ coder.last.table[written.col[e]] + coder.last.bias[written.col[e]]
                second = second + (written.values[e] - torch.sigmoid(logit)) ** 2
            for k, j in enumerate(at):
                (c,) = [c for c in columns if block.slices[c][0] <= j < block.slices[c][1]]
                if block.known[node, c]:
                    said = vector @ coder.attribute_last.table[k] + coder.attribute_last.bias[k]
                    own = own + (x[k] - said) ** 2
        vectors.append(torch.stack(of_type) if of_type else torch.zeros(0, DIM, dtype=torch.float64))
    for i, pieces in enumerate(batch.forms):
        form, similarity = network.schema.forms[i], network.similarity(i)
        whole = torch.cat([vectors[t] for t in form.group_types])
        starts = np.cumsum([0, *(len(vectors[t]) for t in form.group_types)])
        for piece in pieces:
            for row, truth in zip(piece.rows.col.view(-1, len(form.types)).tolist(), piece.truth, strict=True):
                assert all(starts[g] <= c < starts[g + 1] for c, g in zip(row, form.groups, strict=True))
                weights = [whole[c] @ similarity.weights[g] for c, g in zip(row, form.groups, strict=True)]
                logit = torch.tanh(sum(weights) + similarity.bias) @ similarity.last[:, 0] + similarity.last_bias[0]
                s = torch.sigmoid(logit)
                first = first - (truth * torch.log(s) + (1 - truth) * torch.log(1 - s))
    alpha = network.alpha
    return {"first_order": first, "second_order": alpha * second, "attributes": alpha * own}


@both
def test_loss_and_gradients_equal_loops(columns):
    whole = mixed()
    attributes = columns(whole.n_nodes)
    of_types = [[*range(len(attributes.columns))], [1], [], [0]][: len(whole.types)]
    networks = [prepared(whole, attributes, of_types) for _ in range(2)]
    network, made, block = networks[0]
    hidden = [network.similarity(i).width for i in range(len(network.schema.forms))]
    (batch,) = batches(made, 10**6, per_positive=2, hidden=hidden)(torch.Generator().manual_seed(0))
    assert [len(rows) for rows in batch.types] == [len(x) for x in network.places().members]
    found, wanted = network.loss(batch), naive_loss(networks[1][0], batch, made, block)
    sum(wanted.values()).backward()
    assert list(found) == ["first_order", "second_order", "attributes"]
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value.detach(), rtol=1e-9, atol=1e-12)
    for (name, a), b in zip(network.named_parameters(), networks[1][0].parameters(), strict=True):
        assert (gradient(a) - gradient(b)).norm() <= 1e-9 * max(1.0, float(gradient(b).norm())), name


@both
def test_columns_in_another_order_change_nothing_but_the_draw(columns):
    """With the weights of the columns moved as the columns are, loss and gradients are the same to the last digits."""
    whole = mixed()
    attributes = columns(whole.n_nodes)
    other, orders = turned(attributes)
    count, slices = len(attributes.columns), Scaling.fit(attributes).block(attributes).slices
    of_types = [[*range(count)], [1], [], [0]][: len(whole.types)]
    new_types = [sorted(count - 1 - c for c in own) for own in of_types]
    runs = []
    for known, own in ((attributes, of_types), (other, new_types)):
        network, made, _ = prepared(whole, known, own)
        hidden = [network.similarity(i).width for i in range(len(network.schema.forms))]
        (batch,) = batches(made, 10**6, per_positive=2, hidden=hidden)(torch.Generator().manual_seed(0))
        runs.append((network, batch))
    moves = []
    for own, new in zip(of_types, new_types, strict=True):
        before = [j for c in own for j in range(*slices[c])]
        moves.append([before.index(j) for c in new for j in orders[c]])
    assert moves[0] != sorted(moves[0])
    with torch.no_grad():
        for (name, a), b in zip(runs[0][0].named_parameters(), runs[1][0].parameters(), strict=True):
            b.copy_(a[at] if (at := moved_of(runs[0][0], name, moves)) else a)
    losses = [network.loss(batch) for network, batch in runs]
    for name, value in losses[0].items():
        torch.testing.assert_close(losses[1][name], value, rtol=1e-12, atol=1e-12)
    for (name, a), b in zip(runs[0][0].named_parameters(), runs[1][0].parameters(), strict=True):
        at = moved_of(runs[0][0], name, moves)
        wanted = gradient(a)[at] if at else gradient(a)
        assert (wanted - gradient(b)).norm() <= 1e-9 * max(1.0, float(wanted.norm())), name


def moved_of(network, name: str, moves) -> list[int]:
    """Where the rows of a parameter that has one a column of attributes stood; none of another."""
    for t, at in enumerate(moves):
        coder = network.autoencoder(t)
        if coder.attribute_first is None:
            continue
        parameters = dict(network.named_parameters())
        if any(parameters[name] is x for x in (coder.attribute_first, *coder.attribute_last.parameters())):
            return at
    return []


@both
def test_parts_of_an_epoch_add_up_to_the_whole(columns):
    whole = mixed()
    network, made, _ = prepared(whole, columns(whole.n_nodes), [[0], [0, 1], [1], []])
    hidden = [network.similarity(i).width for i in range(len(network.schema.forms))]
    sums = []
    for size in (10**6, 5):
        of = batches(made, size, per_positive=0, hidden=hidden)
        with torch.no_grad():
            sums.append(sum(float(network.loss(x)["attributes"]) for x in of(torch.Generator().manual_seed(0))))
    assert sums[0] > 1 and sums[0] == pytest.approx(sums[1], rel=1e-9)


def watched(seed: int = 0) -> Hypergraph:
    """Two circles of users who tag films of one of two sorts; the genres of films, some missing, say which."""
    rng = np.random.default_rng(seed)
    drawn = [[rng.integers(k) for k in (8, 10, 4)] for _ in range(180)]
    edges = sorted({tuple(f"{name}{i % 2}{k}" for name, k in zip("uft", x, strict=True)) for i, x in enumerate(drawn)})
    types = {node: {"u": "user", "f": "film", "t": "tag"}[node[0]] for edge in edges for node in edge}
    whole = Hypergraph.from_tuples(edges, types)
    genres = {node: {"genre": [f"g{node[1]}", f"g{node[1]}{int(node[2:]) % 3}"]} for node in types if node[0] == "f"}
    return whole.with_attributes({"film": genres})


def fit(whole, **changed) -> DHNE:
    return DHNE(**{**CHAPTERS, "dim": 8, "epochs": 4, "batch_size": 32} | changed).fit(whole, progress=False)


def test_a_weight_of_0_and_attributes_of_all_zeros_are_the_model_of_tuples_to_the_bit():
    whole = watched()
    plain = whole.with_attributes(None)
    zeros = plain.with_attributes(Attributes((Column("x", "number", np.full(whole.n_nodes, 3.0)),)))
    models = [fit(plain), fit(whole, attribute_weight=0), fit(zeros)]
    for other in models[1:]:
        assert np.array_equal(models[0].embedding_.vectors, other.embedding_.vectors)
        assert models[0].network_.state_dict().keys() == other.network_.state_dict().keys()


def test_only_the_types_that_have_attributes_read_them():
    model = fit(watched())
    reads = {
        name: bool(x) for name, x in zip(model.network_.schema.types, model.network_.attribute_columns, strict=True)
    }
    assert reads == {"user": False, "film": True, "tag": False}
    assert model.history_[-1]["attributes"] < model.history_[0]["attributes"]


@pytest.mark.parametrize("how", ["encode", "refine"])
def test_new_nodes_by_tuples_by_attributes_alone_and_by_both(how, tmp_path):
    whole = watched()
    model = fit(whole, epochs=40, lr=0.02)
    new = {"x": {"genre": ["g0", "g01"]}, "y": {"genre": ["g1", "g11"]}}
    types = {"u01": "user", "t01": "tag", "x": "film", "z": "film", "y": "film"}
    kinds = [(("user", "film", "tag"), ("user", "film", "tag"), np.array([[0, 2, 1], [0, 3, 1]]))]
    later = Hypergraph.from_kinds(kinds, nodes=list(types), node_types=list(types.values()))
    later = later.with_attributes({"film": new})
    placed = model.transform(later, how=how)
    assert set(placed.nodes) == {"x", "y", "z"}
    assert np.abs(placed["x"] - placed["z"]).max() > 1e-3  # the same tuples, other attributes
    scored = model.score([("u01", "f01", "t01")]), model.complete(("u11", None, "t11"), k=3, later=later)
    assert 0 < scored[0][0] < 1
    films = [node for node in model.embedding_.nodes if node[0] == "f"]
    distances = {film: float(np.linalg.norm(model.embedding_[film] - placed["y"])) for film in films}
    assert min(distances, key=distances.get)[1] == "1"  # by its genres alone
    model.save(tmp_path / "m.netfold")
    assert np.array_equal(nf.load(tmp_path / "m.netfold").transform(later, how=how).vectors, placed.vectors)
    with pytest.raises(InputError, match="fitted with attributes"):
        model.transform(later.with_attributes(None))


def test_a_new_node_of_which_nothing_is_known_is_refused():
    model = fit(watched())
    kinds = [(("user", "film", "tag"), ("user", "film", "tag"), np.array([[0, 2, 1]]))]
    later = Hypergraph.from_kinds(kinds, nodes=["u01", "t01", "x", "y"], node_types=["user", "tag", "film", "film"])
    later = later.with_attributes({"film": {"x": {"genre": ["g0"]}}})
    with pytest.raises(InputError, match="in no hyperedge with a known node"):
        model.transform(later)


def test_a_damaged_description_of_who_has_what_is_refused():
    model = fit(watched())
    facts = model.graph_facts_
    for columns in ([[0]], [[0], [7], []], "012", [[0], ["a"], []]):
        with pytest.raises(TypeError, match="have the attributes"):
            dataclasses.replace(model)._network(facts | {"attribute_columns": columns})
