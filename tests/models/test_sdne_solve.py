"""SDNE with its last layer solved: the least that the objective can be for it, refusals, and what is saved."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import netfold as nf
from netfold.learn.progress import Progress

GRAPH = nf.datasets.chung_lu(80, 240, seed=1)
SMALL = {"dim": 8, "hidden": (16,), "device": "cpu"}


def test_no_last_layer_is_better_than_the_one_that_was_solved():
    model = nf.SDNE(**SMALL, decoder="solve", epochs=3).fit(GRAPH, progress=False)
    data = model._read(GRAPH)
    problem = nf.SDNE(**SMALL)._problem(data, torch.device("cpu"), Progress.silent())
    problem.network.load_state_dict(model.network_.state_dict())
    network = problem.network.double()
    (batch,) = problem.batches(0)
    for chunk in batch.chunks:
        for rows in (chunk.rows, chunk.seen, chunk.links):
            object.__setattr__(rows, "values", rows.values.double())
    network.zero_grad()
    sum(network.loss(batch).values())
    size = float(network.last.table.detach().norm())
    slope = torch.cat([network.last.table.grad, network.last.bias.grad[:, None]], dim=1)
    network.last.table.data.mul_(1.01)
    network.zero_grad()
    sum(network.loss(batch).values())
    off = torch.cat([network.last.table.grad, network.last.bias.grad[:, None]], dim=1)
    assert size > 0 and float(slope.norm()) < 1e-3 * float(off.norm())


def test_the_objective_falls_further_than_by_training_alone():
    trained, solved = (
        nf.SDNE(**SMALL, decoder=how, epochs=20).fit(GRAPH, progress=False) for how in ("trained", "solve")
    )
    assert solved.history_[-1]["objective"] < 0.8 * trained.history_[-1]["objective"]
    figures = [
        nf.evaluate.reconstruction(m, GRAPH, score="decoder", k=[1], baselines=False).figures["MAP"]
        for m in (trained, solved)
    ]
    assert figures[1] >= figures[0]


def test_a_solved_model_comes_back_from_a_file_and_from_a_checkpoint(tmp_path):
    model = nf.SDNE(**SMALL, decoder="solve", epochs=4, schedule="constant")
    whole = model.fit(GRAPH, progress=False)
    rows = np.arange(5)
    whole.save(tmp_path / "m")
    assert np.array_equal(nf.load(tmp_path / "m").reconstruct(GRAPH, rows), whole.reconstruct(GRAPH, rows))
    for epochs in (2, 4):
        part = nf.SDNE(**SMALL, decoder="solve", epochs=epochs, schedule="constant")
        part.fit(GRAPH, progress=False, checkpoint=tmp_path / "c")
    assert np.array_equal(part.embedding_.vectors, whole.embedding_.vectors)
    assert np.array_equal(part.reconstruct(GRAPH, rows), whole.reconstruct(GRAPH, rows))


@pytest.mark.parametrize("options", [{"output": "sigmoid"}, {"batch_size": 10}, {"overlap": 1.0}])
def test_what_cannot_be_solved_is_refused(options):
    with pytest.raises(nf.InputError, match="decoder='solve' is for links alone"):
        nf.SDNE(**SMALL, decoder="solve", **options).fit(GRAPH, progress=False)
