"""LINE and Node2Vec over several ranks: one global batch, drawn and summed alike whatever the cut."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import netfold as nf
from netfold.cluster.exchange import RankGraph
from netfold.cluster.ranks import Ranks, start
from netfold.cluster.skipgram import (
    ALONE,
    MET,
    Portions,
    _groups_of,
    both_degrees,
    link_steps,
    rank_start,
    walk_steps,
)
from netfold.cluster.walks import RankLinks, RankNoise
from netfold.io.parts import PartsFolder
from netfold.learn.draws import _mixed, _shifted, uniform_at
from netfold.learn.skipgram import DRAWN, GROUP, PairBatch, Windows, distance_weights
from netfold.learn.starts import spectral_start
from several import on_ranks, trained

Arrays = dict[str, Any]


def a_graph(kind: str, n: int = 61) -> nf.Graph:
    rng = np.random.default_rng(7)
    pairs = rng.integers(0, n - 5, (3 * n, 2))  # the last five have no links
    if kind == "hub":
        pairs = np.concatenate([pairs, np.stack([np.zeros(n, int), np.arange(n)], 1)])
    weights = np.ones(len(pairs)) if kind == "hub" else rng.random(len(pairs)) + 0.1
    return nf.Graph.from_edges(pairs, weights, nodes=range(n), directed=kind == "directed")


MODELS: dict[str, dict[str, Any]] = {
    "line": {"model": "line", "dim": 6, "samples": 300, "batch_size": 100, "n_negatives": 3},
    "line, first order": {"model": "line", "dim": 4, "samples": 70, "batch_size": 70, "order": "first"},
    "line, second order": {"model": "line", "dim": 4, "samples": 130, "batch_size": 60, "order": "second"},
    "node2vec": {"model": "node2vec", "dim": 5, "length": 7, "window": 3, "batch_size": 20, "init": "none"},
    "p and q": {"model": "node2vec", "dim": 4, "length": 6, "window": 2, "batch_size": 30, "p": 0.2, "q": 3.0},
    "deepwalk, two walks": {"model": "node2vec", "dim": 5, "length": 30, "window": 2, "walks": 2, "batch_size": 90},
}


def problem_of(folder: Path, options: dict[str, Any]) -> Any:
    from netfold.cluster.room import Room
    from netfold.learn.progress import Progress

    model = nf.MODELS[options["model"]](**{k: x for k, x in options.items() if k != "model"}, device="cpu")
    graph = RankGraph(PartsFolder.open(folder, "graph"), start("cpu"))
    return model._spread(graph, Room(), Progress.silent())


def one_step(folder: Path, options: dict[str, Any], step: int = 1) -> Arrays:
    """A step in float64 on this rank: its part of the batch in nodes, the terms, parameters and gradients."""
    problem = problem_of(folder, options)
    network = problem.network.double()
    rng = np.random.default_rng(3)
    n = network._graph.n_nodes
    with torch.no_grad():  # large enough for every term to count, and the same whoever owns them
        for p in network.own.parameters():
            whole = torch.from_numpy(rng.standard_normal((n, p.shape[1])))
            p.copy_(whole[network._graph.first : network._graph.first + network._graph.m])
    steps = list(problem.batches(0))
    batches = [x.batch for x in steps]
    batch = batches[min(step, len(batches) - 1)]
    before = network._ranks.sent
    terms = {name: float(x) for name, x in network.loss(steps[min(step, len(batches) - 1)]).items()}
    grads = {}
    for name, p in network.own.named_parameters():
        grad = torch.zeros_like(p) if p.grad is None else p.grad.to_dense()
        grads[name] = grad.numpy().copy()
    return {
        "terms": terms, "grads": grads, "batch": in_nodes(batch), "sent": network._ranks.sent - before,
        "parameters": {name: p.detach().numpy().copy() for name, p in network.own.named_parameters()},
        "sizes": [len(in_nodes(b)["positives"]) for b in batches], "steps": problem.steps,
        "read": (batch.nodes.numpy(), batch.drawn_alone.numpy()), "bounds": network._graph.bounds,
        "widths": [sum(t.shape[1] for t, reach in network.tables() if reach >= least) for least in (MET, ALONE)],
    }  # fmt: skip


def in_nodes(batch: Any) -> Arrays:
    """A batch without places: (i, j, weight) of what is met, and of what is drawn against it."""
    names = batch.context_nodes.numpy()
    positives = []
    if isinstance(batch, PairBatch):
        positives = [(int(names[i]), int(names[j]), 1.0) for i, j in batch.pairs.T.tolist()]
    else:
        weights = distance_weights(batch.window).tolist()
        for walk in batch.walks.tolist():
            for s, i in enumerate(walk):
                for t, j in enumerate(walk):
                    if i >= 0 and j >= 0 and 0 < abs(s - t) <= batch.window:
                        positives.append((int(names[i]), int(names[j]), weights[abs(s - t)]))
    negatives = []
    against = batch.against
    for centers, weights, drawn in zip(against.centers, against.weights, against.drawn, strict=True):
        for i, w in zip(centers.tolist(), weights.tolist(), strict=True):
            negatives += [(int(names[i]), int(names[v]), w) for v in drawn.tolist() if w]
    return {"positives": positives, "negatives": negatives}


def naive(options: dict[str, Any], batch: Arrays, tables: Arrays) -> tuple[dict[str, float], Arrays]:
    """The terms and gradients of a batch, one pair at a time."""
    grads = {name: np.zeros_like(x) for name, x in tables.items()}
    terms: dict[str, float] = {}
    orders = {"first_": ("first", "first"), "second_": ("second", "contexts")}
    if options["model"] == "node2vec":
        orders = {"": ("vectors", "contexts")}
    for prefix, (left, right) in orders.items():
        if not tables[left].shape[1]:
            continue
        for name, sign in (("contexts", 1), ("negatives", -1)):
            total = 0.0
            for i, j, w in batch["positives" if sign > 0 else "negatives"]:
                z, c = tables[left][i], tables[right][j]
                score = sign * float(z @ c)
                total += w * (math.log1p(math.exp(-abs(score))) + max(0.0, -score))
                slope = -sign * w / (1 + math.exp(score))
                grads[left][i] += slope * c
                grads[right][j] += slope * z
            terms[prefix + name] = total
    return terms, grads


def together(answers: list[Arrays]) -> tuple[Arrays, Arrays, Arrays]:
    """Batch, parameters and gradients of all ranks."""
    batch = {k: [x for a in answers for x in a["batch"][k]] for k in ("positives", "negatives")}
    tables = [
        {name: np.concatenate([a[what][name] for a in answers]) for name in answers[0][what]}
        for what in ("parameters", "grads")
    ]
    return batch, tables[0], tables[1]


def compare(folder: Path, options: dict[str, Any], size: int) -> list[Arrays]:
    answers = on_ranks(size, one_step, folder, options) if size > 1 else [one_step(folder, options)]
    batch, tables, grads = together(answers)
    assert batch["positives"] and batch["negatives"]
    terms, expected = naive(options, batch, tables)
    for answer in answers:
        assert answer["terms"] == answers[0]["terms"], "all ranks see the same loss"
        assert answer["terms"] == pytest.approx(terms, rel=1e-12)
    for name, grad in expected.items():
        np.testing.assert_allclose(grads[name], grad, rtol=0, atol=1e-12 * np.abs(grad).max(initial=1e-300))
    return answers


def counted_by_hand(answers: list[Arrays], rank: int) -> int:
    """Bytes of float64 rows, their gradients and terms that a rank sends to others in a step."""
    size, bounds = len(answers), answers[0]["bounds"]
    total = 8 * len(answers[0]["terms"]) * (size - 1)
    for k, width in enumerate(answers[0]["widths"]):
        for q, answer in enumerate(answers):
            nodes = answer["read"][k]
            here = int(((nodes >= bounds[rank]) & (nodes < bounds[rank + 1])).sum())
            total += 8 * width * (len(nodes) - here if q == rank else here)  # gradients there, rows to who asked
    return total


CASES = [(model, kind) for model in MODELS for kind in ("undirected", "hub", "directed")]


@pytest.mark.parametrize(("model", "kind"), CASES)
def test_a_step_is_that_of_a_naive_loop(model: str, kind: str, tmp_path: Path) -> None:
    a_graph(kind).save(tmp_path / "g.parts", parts=7)
    (answer,) = compare(tmp_path / "g.parts", MODELS[model], 1)
    assert len(answer["sizes"]) == answer["steps"] and answer["sent"] == 0


@pytest.mark.parametrize(
    ("model", "kind"),
    [("line", "hub"), ("line, first order", "undirected"), ("node2vec", "directed"), ("p and q", "hub")],
)
def test_a_step_of_two_ranks_is_the_same(model: str, kind: str, tmp_path: Path) -> None:
    a_graph(kind).save(tmp_path / "g.parts", parts=7)
    alike(tmp_path / "g.parts", MODELS[model], 2)


def alike(folder: Path, options: dict[str, Any], size: int) -> None:
    """A step on so many ranks against a naive loop, and against the batch of one process; and the bytes sent."""
    answers = compare(folder, options, size)
    assert [a["sent"] for a in answers] == [counted_by_hand(answers, r) for r in range(size)]
    several, alone = together(answers), together([one_step(folder, options)])
    for k in ("positives", "negatives"):  # the very same ones, whoever drew them
        assert Counter(several[0][k]) == Counter(alone[0][k])
    for one, other in zip(several[1:], alone[1:], strict=True):
        for name, x in one.items():
            np.testing.assert_allclose(x, other[name], atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("parts", [7, 2])
@pytest.mark.parametrize(("model", "kind"), CASES)
def test_a_step_of_several_ranks_is_the_same(model: str, kind: str, parts: int, size: int, tmp_path: Path) -> None:
    """n = 61 is a multiple of none; of two parts, ranks 3 and 4 have nothing."""
    a_graph(kind).save(tmp_path / "g.parts", parts=parts)
    alike(tmp_path / "g.parts", MODELS[model], size)


@pytest.mark.parametrize("model", ["line", "deepwalk, two walks"])
def test_training_on_two_ranks_is_that_of_one(model: str, tmp_path: Path) -> None:
    """The spectral start of Node2Vec among it."""
    a_graph("hub").save(tmp_path / "g.parts", parts=5)
    options = {**MODELS[model], "epochs": 3, "device": "cpu"}
    alone, several = trained(tmp_path / "g.parts", options), on_ranks(2, trained, tmp_path / "g.parts", options)
    assert several[0]["objectives"] == several[1]["objectives"]
    np.testing.assert_allclose(several[0]["objectives"], alone["objectives"], rtol=1e-5)
    vectors = np.concatenate([x["vectors"] for x in several])
    np.testing.assert_allclose(vectors, alone["vectors"], atol=1e-3)


def largest_of_an_epoch(folder: Path, options: dict[str, Any]) -> tuple[int, int]:
    """The most numbers of a tensor that an epoch makes on this rank, and how many nodes it owns."""
    from allocations import Allocations

    problem = problem_of(folder, options)
    with Allocations() as seen:
        for batch in problem.batches(0):
            problem.network.loss(batch)
        problem.network.embed()
    return seen.numbers, problem.network._graph.m


@pytest.mark.parametrize("model", ["line", "node2vec"])
def test_no_rank_holds_a_whole_table(model: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    graph = nf.Graph.from_edges(rng.integers(0, 4000, (6000, 2)), nodes=range(4000))
    graph.save(tmp_path / "g.parts", parts=16)
    small = {"line": {"samples": 400, "batch_size": 200}, "node2vec": {"length": 4, "window": 2, "init": "none"}}[model]
    for numbers, m in on_ranks(2, largest_of_an_epoch, tmp_path / "g.parts", {"model": model, "dim": 64, **small}):
        assert m <= 2250 and m * 64 <= numbers < 4000 * 64


# -------------------------------------------------------------------- what is drawn


@pytest.mark.parametrize("model", ["line", "node2vec", "deepwalk, two walks"])
def test_every_center_has_as_many_negatives_as_its_pairs_ask_for(model: str, tmp_path: Path) -> None:
    """In groups of one part each, none of them empty, however many centers a part has in a step."""
    a_graph("hub").save(tmp_path / "g.parts", parts=7)
    options = MODELS[model]
    for batch, _ in problem_of(tmp_path / "g.parts", options).batches(0):
        drawn, pairs = in_nodes(batch), np.zeros(61)
        for i, _, w in drawn["positives"]:
            pairs[i] += w
        against = np.zeros(61)
        for i, _, w in drawn["negatives"]:
            against[i] += w
        np.testing.assert_allclose(against, pairs * options.get("n_negatives", 5), rtol=1e-5)
        assert (batch.against.weights > 0).any(dim=1).all() and batch.against.drawn.shape[1] == DRAWN


def test_groups_of_links_are_of_several_small_parts(tmp_path: Path) -> None:
    """In a group of one part of ten nodes, most of them would be there twice."""
    a_graph("undirected", 300).save(tmp_path / "g.parts", parts=30)
    options = {"model": "line", "dim": 4, "samples": 800, "batch_size": 400}
    starts = PartsFolder.open(tmp_path / "g.parts", "graph").starts
    for batch, _ in problem_of(tmp_path / "g.parts", options).batches(0):
        assert len(batch.against.centers) == pytest.approx(len(batch.pairs[0]) / GROUP, abs=1)
        for centers in batch.nodes[batch.against.centers].numpy():
            parts = np.searchsorted(starts, centers, side="right")
            assert len(set(parts)) > GROUP / 2


def test_groups_of_links_are_of_one_large_part(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    nf.Graph.from_edges(rng.integers(0, 20_000, (20_000, 2)), nodes=range(20_000)).save(tmp_path / "g.parts", parts=2)
    starts = PartsFolder.open(tmp_path / "g.parts", "graph").starts
    options = {"model": "line", "dim": 2, "samples": 4000, "batch_size": 2000}
    for batch, _ in problem_of(tmp_path / "g.parts", options).batches(0):
        full = batch.against.weights > 0
        parts = torch.from_numpy(np.searchsorted(starts, batch.nodes.numpy(), side="right"))[batch.against.centers]
        assert all(len(set(own[there].tolist())) == 1 for own, there in zip(parts, full, strict=True))


def test_groups_are_of_about_one_size_and_hardly_filled_up() -> None:
    counts = np.arange(3000)
    groups = _groups_of(counts)
    assert groups[0] == 0 and (groups[1:] >= 1).all()
    size = counts[1:] / groups[1:]
    assert size.max() < 1.5 * GROUP and size[2 * GROUP :].min() > 0.75 * GROUP
    filled = -(-counts[1:] // groups[1:]) * groups[1:] / counts[1:]
    assert filled[2 * GROUP :].max() <= 1.08


def test_numbers_at_places_are_those_of_the_sequence() -> None:
    sequence = _shifted(_mixed(1234, 0, 50, torch.device("cpu")), 11).double() * 2.0**-53
    places = torch.tensor([3, 49, 0, 3])
    torch.testing.assert_close(uniform_at(torch.full((4,), 1234), places), sequence[places], rtol=0, atol=0)


def test_portions_are_by_mass_and_steps_as_large_as_in_one_process() -> None:
    masses = np.array([1.0, 0, 5, 2, 2, 0])
    portions = Portions.by_mass(masses, 1003, 100)
    assert portions.counts.sum() == 1003 and portions.steps == 11
    np.testing.assert_allclose(portions.counts, 1003 * masses / 10, atol=1)
    whole = portions.of(range(6), range(11))
    np.testing.assert_array_equal(whole.sum(axis=0), portions.counts)
    np.testing.assert_allclose(whole.sum(axis=1), [100] * 10 + [3], atol=3)  # each part at most one more or less
    np.testing.assert_array_equal(portions.of(range(2, 4), range(3, 5)), whole[3:5, 2:4])
    assert [list(x) for x in portions.chunks(1 << 20)] == [[i] for i in range(11)]
    few = Portions(np.ones(256, np.int64), 4)  # one draw of each part: not all in the last step
    assert set(few.of(range(256), range(64)).sum(axis=1)) == {4}
    many = Portions(np.full(3, 1 << 40), 1 << 39)  # products of two such are no int64
    assert (np.abs(many.of(range(3), range(6)) - (1 << 39) / 3) <= 1).all()


def one_process(graph: nf.Graph, folder: Path, parts: int = 5) -> RankGraph:
    graph.save(folder / "g.parts", parts=parts)
    return RankGraph(PartsFolder.open(folder / "g.parts", "graph"), Ranks())


def generator(*stream: int) -> torch.Generator:
    return nf.LINE(seed=5)._generator(*stream)


def shares(counts: Counter[Any], names: Any) -> Any:
    total = sum(counts.values())
    return np.array([counts[x] / total for x in names])


@pytest.mark.parametrize("kind", ["undirected", "directed"])
def test_links_and_noise_are_drawn_in_proportion(kind: str, tmp_path: Path) -> None:
    graph = one_process(a_graph(kind, 20), tmp_path)
    own = nf.Graph.load(tmp_path / "g.parts")
    matrix = own.adjacency.toarray().astype(float)
    degrees = matrix.sum(0) + matrix.sum(1) if own.directed else matrix.sum(1)
    np.testing.assert_allclose(both_degrees(graph), degrees, rtol=1e-6)
    noise = RankNoise(graph, both_degrees(graph))
    _, of = link_steps(RankLinks(graph), noise, generator, samples=200_000, n_negatives=1, batch_size=50_000)
    links: Counter[Any] = Counter()
    drawn: Counter[Any] = Counter()
    for batch, _ in of(0):
        names = batch.context_nodes
        links.update(zip(*names[batch.pairs].tolist(), strict=True))
        drawn.update(names[batch.against.drawn].flatten().tolist())
    arcs = list(zip(*np.nonzero(matrix), strict=True))
    np.testing.assert_allclose(shares(links, arcs), matrix[matrix > 0] / matrix.sum(), atol=2e-3)
    assert set(links) <= set(arcs)
    np.testing.assert_allclose(shares(drawn, range(20)), degrees**0.75 / (degrees**0.75).sum(), atol=2e-3)


@pytest.mark.parametrize("kind", ["undirected", "hub", "directed"])
def test_walks_follow_links_in_proportion(kind: str, tmp_path: Path) -> None:
    graph = one_process(a_graph(kind, 15), tmp_path, parts=4)
    matrix = nf.Graph.load(tmp_path / "g.parts").adjacency.toarray().astype(float)
    facts: Any = {"walks": 500, "length": 20, "window": 2, "n_negatives": 1, "batch_size": 1000}
    _, of = walk_steps(RankLinks(graph), RankNoise(graph, both_degrees(graph)), generator, **facts)
    steps = np.zeros_like(matrix)
    starts: Counter[int] = Counter()
    for batch, _ in of(0):
        assert isinstance(batch, Windows)
        walks = torch.where(batch.walks >= 0, batch.nodes[batch.walks.clamp(min=0)], -1).numpy()
        starts.update(walks[:, 0].tolist())
        left, right = walks[:, :-1].ravel(), walks[:, 1:].ravel()
        np.add.at(steps, (left[right >= 0], right[right >= 0]), 1)
        ended = left[(right < 0) & (left >= 0)]
        assert not matrix[ended].any(), "a walk ends where no link leaves"
    assert starts == dict.fromkeys(np.flatnonzero(matrix.sum(1)), 500)
    seen = steps.sum(1) > 2000
    expected = matrix[seen] / matrix[seen].sum(1, keepdims=True)
    np.testing.assert_allclose(steps[seen] / steps[seen].sum(1, keepdims=True), expected, atol=0.03)
    assert not steps[matrix == 0].any() and seen.any()


def second_order(matrix: Any, t: int, v: int, p: float, q: float) -> Any:
    """Grover and Leskovec's Eq. 2, one node at a time."""
    weights = np.zeros(len(matrix))
    for x in range(len(matrix)):
        alpha = 1 / p if x == t else 1.0 if matrix[t, x] else 1 / q
        weights[x] = matrix[v, x] * alpha
    return weights / weights.sum()


@pytest.mark.parametrize(("p", "q"), [(0.1, 4.0), (5.0, 0.25), (1.0, 3.0), (1000.0, 1.0)])
@pytest.mark.parametrize("kind", ["undirected", "hub", "directed"])
def test_steps_of_second_order_are_in_proportion(kind: str, p: float, q: float, tmp_path: Path) -> None:
    graph = one_process(a_graph(kind, 12), tmp_path, parts=3)
    matrix = nf.Graph.load(tmp_path / "g.parts").adjacency.toarray().astype(float)
    nodes = torch.from_numpy(np.tile(np.flatnonzero(matrix.sum(1)), 4000))
    walks = RankLinks(graph).walks(nodes, torch.full_like(nodes, 77), torch.arange(len(nodes)), 5, p=p, q=q).numpy()
    counts = np.zeros((12, 12, 12))
    for i in range(3):
        t, v, x = walks[:, i], walks[:, i + 1], walks[:, i + 2]
        np.add.at(counts, (t[x >= 0], v[x >= 0], x[x >= 0]), 1)
        assert not matrix[v[(x < 0) & (v >= 0)]].any(), "a walk ends where no link leaves"
    checked = 0
    for t, v in np.argwhere(counts.sum(2) > 1000):
        share = counts[t, v] / counts[t, v].sum()
        expected = second_order(matrix, int(t), int(v), p, q)
        error = np.sqrt(expected * (1 - expected) / counts[t, v].sum())
        assert (np.abs(share - expected) <= 5 * error + 1e-12).all()
        checked += 1
    assert checked >= 3


@pytest.mark.parametrize("directed", [False, True])
def test_the_start_is_that_of_one_process(directed: bool, tmp_path: Path) -> None:
    """Of communities, whose eigenvectors are far from all others: contexts, to which no noise is added."""
    planted, _ = nf.datasets.stochastic_block_model((40,) * 4, 0.5, 0.02, seed=1)
    edges = np.argwhere(np.triu(planted.adjacency.toarray()))
    graph = nf.Graph.from_edges(edges, nodes=range(163), directed=directed)  # three have no links
    own = one_process(graph, tmp_path)
    stored = nf.Graph.load(tmp_path / "g.parts")
    both = stored.adjacency + stored.adjacency.T if directed else stored.adjacency
    _, expected = spectral_start(both.tocsr(), 4, 3, 5, torch.Generator().manual_seed(1))
    vectors, contexts = rank_start(own, both_degrees(own), generator, dim=4, window=3, n_negatives=5)
    np.testing.assert_allclose(contexts @ contexts.T, expected @ expected.T, atol=2e-3)
    linked = np.asarray(both.sum(axis=1)).ravel() > 0
    assert not vectors[~linked].any() and not contexts[~linked].any()
    assert 0 < float((vectors - contexts)[linked][:, 1:].abs().max()) <= 0.5 / 4 + 1e-6
