"""What a model makes of a graph: started or resumed, made once, and nothing of it hidden on the model."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from scipy import sparse
from test_contract import given, make, usual

import netfold as nf
import zoo
from netfold.data.nodes import Nodes
from netfold.embedder.problem import check_placed, over_known
from problems import problem_of

PLACES = {"_read", "_problem", "_network", "_embed", "_extend"}
models = pytest.mark.parametrize("name", sorted(nf.MODELS))


def fresh(name: str):
    """A quick model, the graph it reads, and the vectors that it extends."""
    graph = usual(name)
    return make(name), graph, given(name, graph)


@models
def test_a_problem_is_started_and_a_resumed_one_is_not(name):
    model, graph, more = fresh(name)
    started, resumed = (problem_of(model, graph, **more, resumed=x).network for x in (False, True))
    tensors = [list(x.state_dict().values()) for x in (started, resumed)]
    assert any(not torch.equal(a, b) for a, b in zip(*tensors, strict=True))
    empty = model._network(model._read(graph, **more).facts)
    assert all(torch.equal(a, b) for a, b in zip(resumed.parameters(), empty.parameters(), strict=True))


@models
def test_blocks_hold_the_network_s_own_parameters_and_batches_are_those_of_the_epoch(name):
    model, graph, more = fresh(name)
    problem = problem_of(model, graph, **more)
    own = {id(p) for p in problem.network.parameters()}
    assert {id(p) for block in problem.blocks for p in block.parameters} <= own
    once, again = ([list(problem.network.loss(batch).values()) for batch in problem.batches(1)] for _ in range(2))
    assert once == again


def test_a_run_that_goes_on_is_not_started_again(tmp_path, monkeypatch):
    model, keep = nf.SDNE(dim=2, hidden=(4,), epochs=4), {"checkpoint": tmp_path / "c", "progress": False}
    whole = nf.SDNE(dim=2, hidden=(4,), epochs=4).fit(zoo.karate(), progress=False).embedding_.vectors
    model.fit(zoo.karate(), **keep, on_epoch=lambda record: record["epoch"] == 2)
    monkeypatch.setattr("netfold.models.sdne.network.start_network", None)
    assert model.fit(zoo.karate(), **keep).embedding_.vectors.tobytes() == whole.tobytes()


@models
def test_a_fitted_model_has_its_options_and_what_is_documented(name):
    model, graph, more = fresh(name)
    model.fit(graph, **more, progress=False)
    assert all(key.endswith("_") for key in vars(model).keys() - model.get_params().keys())


def test_a_model_has_five_places():
    source = inspect.getsource(nf.Embedder)
    section = source[source.index("- for models") : source.index("def _generator")]
    assert {line.split("(")[0].split()[-1] for line in section.splitlines() if "    def " in line} == PLACES


# -------------------------------------------------------------------- new nodes


def test_rows_over_known_nodes():
    rows = sparse.csr_array([[1.0, 2.0, 0.0, 4.0], [0.0, 0.0, 3.0, 0.0]])
    found = over_known(rows, np.array([2, -1, -1, 0]), 3)
    assert found.toarray().tolist() == [[4, 0, 1], [0, 0, 0]] and found.has_sorted_indices


def test_a_node_that_cannot_be_placed_is_named_with_the_model():
    nodes = Nodes.of(["a", "b", "c"])
    check_placed("GF", nodes, np.array([], np.int64))
    with pytest.raises(
        nf.InputError, match="'b': no links to any known node, and GF can place a new node only by such"
    ):
        check_placed("GF", nodes, np.array([1]))
