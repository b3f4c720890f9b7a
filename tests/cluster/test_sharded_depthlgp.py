"""DepthLGP over several ranks: losses and gradients are those of one process, whatever the cut."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import netfold as nf
from command import refuse, succeed
from netfold.data.nodes import Nodes
from netfold.io.parts import PartsFolder, write_vector_parts
from netfold.learn.draws import uniform_at
from netfold.models.depthlgp.network import Batch
from netfold.models.lgp.neighborhoods import MatrixRows, links_in, surroundings, unit_of
from netfold.studies.plan import plan
from several import on_ranks, refused

N, DIM = 61, 5
OPTIONS: dict[str, Any] = {"samples": 24, "batch_size": 8, "hidden": 7, "device": "cpu", "seed": 3, "starts": "given"}
CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "plain": ("undirected", 8, {}),
    "a hub, of whose links some are drawn": ("hub", 8, {"one_step": 5, "two_step": 2, "roots": 3}),
    "each node alone": ("hub", 7, {"roots": 1, "two_step": 3}),
    "starts are chosen": ("undirected", 8, {"starts": "chosen"}),
    "directed": ("directed", 5, {"two_step": 3, "sharing": "none"}),
    "fewer parts than ranks": ("hub", 2, {"sharing": "halves", "zeta": 0.5}),
}


def save(place: Path, kind: str, parts: int) -> None:
    """A graph with weights, whose last five nodes have no links but that of a hub to all, and vectors of its nodes."""
    rng = np.random.default_rng(7)
    pairs = np.concatenate([rng.integers(0, N - 5, (2 * N, 2)), [[3, 3]]])
    if kind == "hub":
        pairs = np.concatenate([pairs, np.stack([np.zeros(N, int), np.arange(N)], 1)])
    weights = 40 * rng.random(len(pairs)) + 0.1
    graph = nf.Graph.from_edges(pairs, weights, nodes=range(N), directed=kind == "directed")
    graph.save(place / "g.parts", parts=parts)
    vectors = rng.normal(size=(N, DIM)).astype(np.float32)
    write_vector_parts(place / "v.parts", graph.nodes, vectors, parts=parts)


def network_of(place: Path, options: dict[str, Any]) -> Any:
    """A started sharded DepthLGP over a folder, in float64."""
    from netfold.cluster.exchange import RankGraph
    from netfold.cluster.ranks import start
    from netfold.embedder.parts import _own_vectors
    from netfold.models.depthlgp.sharded import Sampling, ShardedDepthLGP

    model = nf.DepthLGP(**options)
    graph = RankGraph(PartsFolder.open(place / "g.parts", "graph"), start("cpu"))
    vectors = _own_vectors(graph, PartsFolder.open(place / "v.parts", "embedding"))
    own = model._network({"n_nodes": graph.m, "dim": DIM, "entries": 0}).double()
    prior = model.eta, model.zeta
    sampling = Sampling(model.samples, model.batch_size, model.roots, model._caps())
    network = ShardedDepthLGP(
        own, graph, vectors, model._generator, sampling, chosen=model.starts == "chosen", prior=prior
    )
    network.start(mean=True)
    return network


def losses(place: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Of each step: subgraphs, terms and gradients here; the start, and what is measured at last."""
    network = network_of(place, options)
    own, answers, asked = network.own, [], []
    batch_of = network._batch

    def noted(new: Any, group: Any, keys: Any) -> Any:
        asked.append({"new": new, "group": group, "keys": keys.numpy()})
        return batch_of(new, group, keys)

    network._batch = noted
    for batch in network.batches(2):
        own.zero_grad()
        before = network._ranks.sent
        terms = network.loss(batch)
        grads = {}
        for name, p in own.named_parameters():
            grads[name] = (p.grad.to_dense() if p.grad.is_sparse else p.grad).numpy().copy()
        here = {"known": batch.around.known.numpy(), "sent": network._ranks.sent - before, "m": network._graph.m}
        answers.append(asked[-1] | here | {"risk": float(terms["risk"]), "grads": grads})
    parameters = {name: x.detach().numpy().copy() for name, x in own.named_parameters()}
    start = {"mean": own.mean.numpy().copy(), "starts": own.kernel.starts.numpy().copy(), "unit": network.unit}
    network._batch = batch_of
    network.embed()
    measured = {name: x.detach().numpy().copy() for name, x in own.spread.named_buffers()}
    last = {name: x.detach().numpy().copy() for name, x in own.kernel.named_parameters()} | {"scale": own.scale}
    return {"steps": answers, "parameters": parameters, **start, "measured": measured, "last": last}


SPREAD = ("latent", "kernel.raw_weights", "raw_weights")


def whole(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Tables of all ranks one below the other, and what is the same on all."""
    return {k: np.concatenate([x[k] for x in answers]) if k in SPREAD else v for k, v in answers[0].items()}


class Keyed(MatrixRows):
    """Links of a matrix, and the numbers of a subgraph's key, a node and a slot."""

    keys: Any

    def drawn(self, group: Any, node: Any, slot: Any, step: int) -> Any:
        key, places = torch.from_numpy(self.keys[group]), torch.from_numpy(((node * 2 + step - 1) << 24) + slot)
        return uniform_at(key, places).numpy()


def compare(place: Path, options: dict[str, Any], size: int) -> list[dict[str, Any]]:
    answers = on_ranks(size, losses, place, options) if size > 1 else [losses(place, options)]
    graph, vectors = nf.Graph.load(place / "g.parts"), nf.Embedding.load(place / "v.parts")
    model = nf.DepthLGP(**options)
    matrix = links_in(graph, unit_of(graph.adjacency))
    network = model._network({"n_nodes": N, "dim": DIM, "entries": 0}).double()
    true = torch.tensor(vectors.vectors).double()
    assert answers[0]["unit"] == unit_of(graph.adjacency) > 1
    if model.starts == "given":  # else multiples of these
        model._start_kernel(network, matrix)
        np.testing.assert_allclose(answers[0]["starts"], network.kernel.starts.numpy(), rtol=1e-6)
    network.kernel.starts.copy_(torch.from_numpy(answers[0]["starts"]))
    np.testing.assert_allclose(answers[0]["mean"], true.mean(0).numpy(), rtol=1e-12)
    network.mean.copy_(true.mean(0))
    with torch.no_grad():
        for name, value in whole([x["parameters"] for x in answers]).items():
            network.get_parameter(name).copy_(torch.from_numpy(value))
    np.testing.assert_allclose(network.latent.detach(), true - true.mean(0), atol=1e-15)
    seen, tolerance = 0, 1e-12 if model.roots == 1 else 1e-10  # conjugate gradients leave other remainders
    for steps in zip(*(x["steps"] for x in answers), strict=True):
        counts = np.cumsum([0, *(len(x["keys"]) for x in steps)])
        new, keys = (np.concatenate([x[name] for x in steps]) for name in ("new", "keys"))
        group = np.concatenate([x["group"] + before for x, before in zip(steps, counts, strict=False)])
        rows = Keyed(matrix, torch.Generator())
        object.__setattr__(rows, "keys", keys)
        around = surroundings(rows, new, group, model._caps(), dtype=torch.float64)
        network.zero_grad()
        risk = network.loss(Batch(around, true[around.new]))["risk"]
        risk.backward()
        assert all(x["risk"] == pytest.approx(float(risk.detach()), rel=1e-12) for x in steps)
        grads = whole([x["grads"] for x in steps])
        for name, p in network.named_parameters():
            grad = p.grad.to_dense() if p.grad.is_sparse else p.grad
            largest = float(grad.abs().max().clamp(min=1e-9))
            np.testing.assert_allclose(grads[name], grad.numpy(), rtol=0, atol=tolerance * largest)
        seen += len(keys)
        check_bytes(steps, DIM + network.kernel.raw_weights.shape[1])
    assert seen > 20, "of 24 subgraphs at most a few have nothing to place"
    return answers


def check_bytes(steps: Any, width: int) -> None:
    """Rows of h and a to who asks for them, and their gradients to whom they belong, by hand."""
    starts = np.cumsum([0, *(x["m"] for x in steps)])
    for q, step in enumerate(steps):
        mine = [np.count_nonzero((x["known"] >= starts[q]) & (x["known"] < starts[q + 1])) for x in steps]
        there, back = sum(mine) - mine[q], len(step["known"]) - mine[q]
        assert step["sent"] == 8 * width * (there + back)


@pytest.mark.parametrize("case", CASES)
def test_one_rank_is_exact(case: str, tmp_path: Path) -> None:
    kind, parts, more = CASES[case]
    save(tmp_path, kind, parts)
    compare(tmp_path, OPTIONS | more, 1)


@pytest.mark.parametrize("case", ["a hub, of whose links some are drawn"])
def test_two_ranks_are_exact(case: str, tmp_path: Path) -> None:
    kind, parts, more = CASES[case]
    save(tmp_path, kind, parts)
    compare(tmp_path, OPTIONS | more, 2)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("case", CASES)
def test_several_ranks_are_exact(case: str, size: int, tmp_path: Path) -> None:
    """n = 61 is a multiple of none; of two parts, ranks 3 and 4 have nothing."""
    kind, parts, more = CASES[case]
    save(tmp_path, kind, parts)
    answers, alone = compare(tmp_path, OPTIONS | more, size), losses(tmp_path, OPTIONS | more)
    for name, value in whole([x["last"] for x in answers]).items():
        np.testing.assert_allclose(value, alone["last"][name], rtol=1e-9, atol=1e-12)
    for name, value in answers[0]["measured"].items():
        np.testing.assert_allclose(value, alone["measured"][name], rtol=1e-9)
    mine = [sorted(tuple(x["keys"]) for x in answer["steps"]) for answer in answers]
    assert len({str(x) for x in mine}) == size, "each rank has subgraphs of its own"


# -------------------------------------------------------------------- fit, and what comes later


def fitted(place: Path, options: dict[str, Any], checkpoint: Path | None = None, stop: int = 0) -> nf.DepthLGP:
    every: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_every": 0.0} if checkpoint else {}
    model = nf.DepthLGP(**options)
    model.fit(
        place / "g.parts", place / "v.parts", progress=False, on_epoch=lambda record: record["epoch"] == stop, **every
    )
    return model


def later() -> nf.Graph:
    """New nodes in three components, of which two share a known neighbor and one has none; and links of known ones."""
    edges = [("a", 1, 9.0), ("a", 2, 30.0), ("b", "a", 20.0), ("c", 2, 15.0), ("d", 40, 8.0), ("e", "d", 7.0)]
    return nf.Graph.from_edges([*edges, ("f", "g", 3.0), (1, 2, 50.0), (2, 7, 33.0), (40, 41, 11.0)])


def placed(place: Path, options: dict[str, Any], checkpoint: Path | None = None, stop: int = 0) -> dict[str, Any]:
    """Objectives of a fit, the own vectors, and where new nodes are."""
    model = fitted(place, options, checkpoint, stop)
    new = model.transform(later())
    return {
        "objectives": [x["objective"] for x in model.history_], "own": model.embedding_.vectors,
        "nodes": list(new.nodes), "vectors": new.vectors, "std": new.std, "agreement": model.placing_.agreement,
    }  # fmt: skip


FIT: dict[str, Any] = {"samples": 48, "batch_size": 16, "epochs": 4, "hidden": 6, "device": "cpu", "seed": 3}


@pytest.mark.filterwarnings("ignore:.*no path to any known node")
@pytest.mark.parametrize(
    ("size", "more"),
    [
        (3, {"starts": "given"}),
        pytest.param(2, {}, marks=pytest.mark.slow),
        pytest.param(4, {"starts": "given", "sharing": "none", "zeta": 2.0}, marks=pytest.mark.slow),
    ],
)
def test_new_nodes_are_where_one_process_puts_them(size: int, more: dict[str, Any], tmp_path: Path) -> None:
    save(tmp_path, "hub", 7)
    alone, several = placed(tmp_path, FIT | more), on_ranks(size, placed, tmp_path, FIT | more)
    np.testing.assert_array_equal(alone["own"], nf.Embedding.load(tmp_path / "v.parts").vectors)  # as they were given
    np.testing.assert_array_equal(np.concatenate([x["own"] for x in several]), alone["own"])
    for answer in several:
        np.testing.assert_allclose(answer["objectives"], alone["objectives"], rtol=1e-5)
        assert answer["nodes"] == alone["nodes"] == list("abcdefg")
        np.testing.assert_allclose(answer["vectors"], alone["vectors"], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(answer["std"], alone["std"], rtol=1e-3)
    assert np.ptp(alone["vectors"], axis=0).min() > 0.01


def test_what_is_learned_places_as_well_as_in_memory(tmp_path: Path) -> None:
    """Other random numbers, the same process: held-back nodes of a graph with groups agree about as well."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 5, 300)
    pairs = rng.integers(0, 300, (6000, 2))
    graph = nf.Graph.from_edges(pairs[(groups[pairs[:, 0]] == groups[pairs[:, 1]]) | (rng.random(6000) < 0.05)])
    graph.save(tmp_path / "g.parts", parts=5)
    vectors = (rng.normal(size=(5, 6))[groups] + 0.3 * rng.normal(size=(300, 6)))[[int(x) for x in graph.nodes]]
    write_vector_parts(tmp_path / "v.parts", graph.nodes, vectors.astype(np.float32), parts=5)
    here = fitted(tmp_path, {"epochs": 3, "samples": 128, "device": "cpu"})
    whole, known = nf.Graph.load(tmp_path / "g.parts"), nf.Embedding.load(tmp_path / "v.parts")
    memory = nf.DepthLGP(epochs=3, samples=128, device="cpu").fit(whole, known, progress=False)
    assert here.placing_.agreement["start"] == pytest.approx(memory.placing_.agreement["start"], abs=0.03)
    new = nf.Graph.from_edges([("x", graph.nodes[0]), ("x", graph.nodes[1])])
    np.testing.assert_allclose(here.transform(new).vectors, memory.transform(new).vectors, atol=0.3)


@pytest.mark.filterwarnings("ignore:.*no path to any known node")
@pytest.mark.parametrize(
    ("before", "after"),
    [(1, 1), (2, 1), *(pytest.param(*x, marks=pytest.mark.slow) for x in ((2, 2), (3, 4), (4, 2), (1, 3)))],
)
def test_it_goes_on(before: int, after: int, tmp_path: Path) -> None:
    """Two epochs on so many ranks, the rest on others, against never stopped; one process can then save it."""
    save(tmp_path, "undirected", 6)
    options, checkpoint = FIT | {"starts": "given"}, tmp_path / "ck"

    def run(size: int, *more: Any) -> dict[str, Any]:
        return (on_ranks(size, placed, tmp_path, options, *more) if size > 1 else [placed(tmp_path, options, *more)])[0]

    whole_run, first = run(before), run(before, checkpoint, 2)
    assert first["objectives"] == whole_run["objectives"][:2]
    second = run(after, checkpoint)
    if before == after:  # the same bits
        assert second["objectives"] == whole_run["objectives"]
        np.testing.assert_array_equal(second["vectors"], whole_run["vectors"])
    np.testing.assert_allclose(second["objectives"], whole_run["objectives"], rtol=1e-6)
    np.testing.assert_allclose(second["vectors"], whole_run["vectors"], atol=1e-4)
    model = fitted(tmp_path, options, checkpoint)
    assert len(model.history_) == 4
    model.save(tmp_path / "m.netfold")
    np.testing.assert_array_equal(
        nf.load(tmp_path / "m.netfold").transform(later()).vectors, model.transform(later()).vectors
    )  # fmt: skip


def several_say(place: Path) -> list[str]:
    """What is said against what several ranks cannot do."""
    model = fitted(place, FIT | {"epochs": 1})
    sampled = fitted(place, FIT | {"epochs": 1, "routine": "sampled"})
    other = nf.SDNE(dim=3, epochs=1, device="cpu").fit(place / "g.parts", progress=False)
    return [
        refused(model.save, place / "m.parts"),
        refused(sampled.transform, later()),
        refused(other.transform, later()),
        refused(nf.DepthLGP().fit, place / "g.parts", place / "other.parts"),
        refused(nf.DepthLGP().fit, place / "g.parts", place / "fewer.parts"),
        refused(nf.DepthLGP().fit, place / "g.parts", place / "v.csv"),
        refused(nf.DepthLGP(dim=4).fit, place / "g.parts", place / "v.parts"),
    ]


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path: Path) -> None:
    save(tmp_path, "undirected", 4)
    known = nf.Embedding.load(tmp_path / "v.parts")
    write_vector_parts(tmp_path / "fewer.parts", known.nodes, known.vectors, parts=3)
    write_vector_parts(tmp_path / "other.parts", Nodes.of([str(x) for x in known.nodes]), known.vectors, parts=4)
    for said in on_ranks(2, several_say, tmp_path):
        assert "is in the checkpoint, from which one process goes on" in said[0]
        assert "routine='exact'" in said[1]
        assert "this SDNE was fitted by 2 ranks" in said[2]
        assert "has other nodes than that of" in said[3]
        assert "61 nodes in 3 parts, and" in said[4] and "in 4; they need the same" in said[4]
        assert "cannot be spread over 2 ranks: the embedding that it extends is not a folder of parts" in said[5]
        assert "has 5 numbers a node and dim=4" in said[6]


def sent_in_epoch(place: Path, options: dict[str, Any]) -> int:
    network = network_of(place, options)
    network.own.float()
    network._vectors = network._vectors.float()
    before = network._ranks.sent
    for batch in network.batches(0):
        network.loss(batch)
    return int(network._ranks.sent - before)


def test_an_epoch_sends_at_most_what_is_planned(tmp_path: Path) -> None:
    """Of few subgraphs a step, in which hardly a node is read twice, not far from it."""
    graph = nf.datasets.chung_lu(2000, 6000, seed=1)
    graph.save(tmp_path / "g.parts", parts=8)
    vectors = np.random.default_rng(0).normal(size=(2000, DIM)).astype(np.float32)
    write_vector_parts(tmp_path / "v.parts", graph.nodes, vectors, parts=8)
    options = OPTIONS | {"samples": 64, "batch_size": 4, "roots": 2, "dim": DIM}
    counted = np.mean(on_ranks(2, sent_in_epoch, tmp_path, options))
    planned = plan(PartsFolder.open(tmp_path / "g.parts", "graph"), nf.DepthLGP(**options), ranks=2).sent
    assert 0.3 * planned < counted <= planned


FLAGS = ["--epochs", "2", "--samples", "16", "--quiet", "--device", "cpu"]


@pytest.mark.usefixtures("here")
def test_the_command_line_reads_both_folders(tmp_path: Path) -> None:
    save(tmp_path, "undirected", 4)
    command = ["fit", "depthlgp", str(tmp_path / "g.parts"), "--embedding", str(tmp_path / "v.parts"), *FLAGS]
    said = succeed(*command, "-o", str(tmp_path / "m.netfold")).stdout
    assert "DepthLGP of 61 nodes" in said and len(nf.load(tmp_path / "m.netfold").embedding_) == N
    assert "let it end in .netfold" in refuse(*command, "-o", str(tmp_path / "m.parts"))


@pytest.mark.slow
def test_the_command_line_under_torchrun(tmp_path: Path) -> None:
    """What two ranks have learned is in the checkpoint, from which one process writes the model."""
    save(tmp_path, "undirected", 4)
    command = [
        "netfold",
        "fit",
        "depthlgp",
        str(tmp_path / "g.parts"),
        "--embedding",
        str(tmp_path / "v.parts"),
        *FLAGS,
    ]
    command += ["-o", str(tmp_path / "m.netfold")]
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", *arguments], env=environment, capture_output=True, text=True)

    refused_by = run(*torchrun, *command)
    assert refused_by.returncode and refused_by.stderr.count("add --checkpoint FOLDER") == 1
    command += ["--checkpoint", str(tmp_path / "ck")]
    done = run(*torchrun, *command)
    assert done.returncode == 0 and done.stdout.count("DepthLGP of 61 nodes") == 1, done.stderr
    assert not (tmp_path / "m.netfold").exists()
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert len(nf.load(tmp_path / "m.netfold").history_) == 2


def largest(place: Path) -> tuple[int, int]:
    """The most numbers of a tensor that this rank makes, and how many nodes it owns.

    Without hidden units: the slopes of g at a thousand nodes are more than these tables, whatever the graph.
    """
    from allocations import Allocations

    with Allocations() as seen:
        model = nf.DepthLGP(epochs=1, samples=16, batch_size=4, two_step=4, hidden=0, device="cpu")
        model.fit(place / "g.parts", place / "v.parts", progress=False)
        model.transform(later())
    return seen.numbers, model._graph_parts.m


@pytest.mark.filterwarnings("ignore:.*no path to any known node")
def test_no_rank_holds_a_whole_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    graph = nf.Graph.from_edges(rng.integers(0, 4000, (6000, 2)), nodes=range(4000))
    graph.save(tmp_path / "g.parts", parts=16)
    vectors = rng.normal(size=(4000, 16)).astype(np.float32)
    write_vector_parts(tmp_path / "v.parts", graph.nodes, vectors, parts=16)
    for numbers, m in on_ranks(2, largest, tmp_path):
        assert m == 2000 and numbers <= 1.25 * m * 16 < 4000 * 16
