"""What `nf.auto` gives for its budget, beside each model's default, what `nf.choose` recommends, and other libraries.

    PYTHONPATH=src python benchmarks/auto.py benchmarks/auto.jsonl --budget 10 60 --seeds 3
    PYTHONPATH=src python benchmarks/auto.py benchmarks/auto.jsonl --data cora ca_grqc --only auto choose
    PYTHONPATH=src python benchmarks/auto.py benchmarks/auto.jsonl --made --budget 10 60 --seeds 5
    PYTHONPATH=src python benchmarks/auto.py benchmarks/auto.jsonl --table

`--made` takes graphs that are made here, another with each seed: blocks of uneven degrees, topics that nodes have
several of, points of a plane, users and items, roles around a ring, planted triples.

One JSON line a cell (data, task, seed, method), in a process of its own, which is ended after `--limit` CPU seconds;
cells that are there are not run again; with `-` as the file, lines are printed. Seeds but the first are for fewer than
20,000 nodes. Lines say by which RULES `auto` raced and pairs were scored: those of older rules stay in the file, and no
table shows them. Every method gets the same training part, and is measured on the same test part, which nothing here
is chosen by:

* link: 20% of the edges are held out; AUC. netfold's models score pairs as they choose on training links; vectors of
  other libraries get the better of product and cosine on the test part itself, which favours them.
* classify, roles, cluster: the classes of half of the nodes are given; micro-F1, accuracy, NMI of the others.
* new-nodes: 10% of the nodes come later; AUC of half of their links. tuples: 20% of the hyperedges are held out; AUC.
* near: MAP of the neighbors of nodes, of which nothing can be held out.

For `auto` there is also what it said of itself, `printed` ± `deviation`; optimism is (printed - test) / deviation. What
the test part has is unknown to `auto`, which in links and tuples draws some of it as what is none: `asked` is the
figure of the test part asked likewise (other test links count as none), and is what the printed figure is of.
Figures are of one machine; CPU seconds count every thread. Peers are those of benchmarks/peers that can be imported
(benchmarks/peers/compare.py says how they are installed).
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf
from netfold.data.edges import links, with_pairs
from netfold.evaluate.class_tasks import agreement, class_figures, cluster_codes, linear_scorer
from netfold.evaluate.classes import classes_of_nodes, normalized
from netfold.evaluate.heuristics import pair_scorers
from netfold.evaluate.hyperedge_tasks import HyperedgeSplit, cheap_scorers
from netfold.evaluate.pairs import cost_of, finite, isolated_as_average, separation
from netfold.evaluate.role_tasks import predicted_roles
from netfold.evaluate.scores import pair_scores
from netfold.evaluate.tuples import coded, coded_edges, coded_like, decoded
from netfold.studies.compare import fit_choosing_score, fit_with_base
from netfold.studies.machine import Meter, machine

CELLS = (
    ("europe_airports", "roles"), ("usa_airports", "roles"), ("jazz", "link"), ("cora", "link"), ("cora", "classify"),
    ("ca_grqc", "link"), ("dhne_gps", "tuples"), ("usa_airports", "link"), ("europe_airports", "link"),
    ("cora", "cluster"), ("ca_grqc", "new-nodes"), ("cora", "new-nodes"), ("facebook_ego", "link"),
    ("blogcatalog", "classify"), ("dhne_movielens", "tuples"), ("newsgroups3", "cluster"), ("blogcatalog", "link"),
    ("dhne_drug", "tuples"), ("dblp_coauthor", "classify"), ("ca_grqc", "near"), ("dblp_coauthor", "link"),
    ("ego_twitter", "link"), ("npm_dependencies", "link"),
)  # fmt: skip
MADE = (
    ("made_roles", "roles"), ("made_blocks", "link"), ("made_blocks", "classify"), ("made_plane", "link"),
    ("made_items", "link"), ("made_triples", "tuples"), ("made_blocks", "cluster"), ("made_plane", "new-nodes"),
    ("made_topics", "classify"), ("made_topics", "link"),
)  # fmt: skip
RULES = 7
"""Of `auto` and `choose`: one more with each change of what is raced or recommended, and of how pairs of links are
scored (from 4 on by paths, from 5 on by paths of five steps too, from 6 on with walks, from 7 on by sums with learned
weights): lines of our other models before are of other scores."""
LARGE = ("dblp_coauthor", "ego_twitter", "npm_dependencies")
"""Above 20,000 nodes: one seed."""
PLACES = (
    "spectral", "spectral matrix=normalized", "spectral matrix=adjacency", "spectral matrix=ppmi",
    "spectral matrix=propagation", "spectral matrix=prone", "node2vec", "line", "dvne", "sdne",
)  # fmt: skip
SINGLE = {
    "link": PLACES,
    "classify": PLACES,
    "cluster": PLACES,
    "near": PLACES,
    "roles": ("degreefeatures", "graphwave", "spectral matrix=adjacency", "drne", "sdne"),
    "new-nodes": ("spectral", "spectral matrix=adjacency", "spectral matrix=prone", "sdne", "dvne", "depthlgp"),
    "tuples": ("spectral", "spectral matrix=ppmi", "spectral matrix=propagation", "dhne"),
}
MOST_PRODUCTS = 10**11
"""Multiplications of walks from every node, above which `asked` is not measured: minutes."""
CHEAP = ("spectral", "degreefeatures", "graphwave")
COUNTS = "pair counts and degrees"
"""The cheap method for tuples that is no model: a baseline of `nf.evaluate.hyperedges`."""
HEURISTICS = ("personalised PageRank", "paths of three", "resource allocation")
"""Those for links, which `nf.evaluate.link_prediction` has; their cost is that of the scores of the test part."""
PEERS = {
    "scikit-network Spectral": "scikit_network:spectral",
    "scikit-network SVD": "scikit_network:svd",
    "nodevectors ProNE": "nodevectors_prone:prone",
    "Cleora": "cleora:cleora",
    "PecanPy node2vec": "pecanpy_node2vec:node2vec",
    "torch_geometric GAE": "torch_geometric_models:gae",
}


# -------------------------------------------------------------------- data that are made


def made_blocks(seed: int) -> tuple[Any, dict[Any, Any]]:
    """2,000 nodes in 16 blocks of uneven sizes and degrees, 7 links each, 7 of 10 within; one class in ten is wrong."""
    rng, n = np.random.default_rng([seed, 1]), 2000
    block = rng.choice(16, n, p=(share := rng.dirichlet(np.full(16, 4.0))))
    weight = rng.pareto(1.8, n) + 0.3
    u = rng.choice(n, 7 * n, p=weight / weight.sum())
    v = rng.choice(n, 7 * n, p=weight / weight.sum())
    for b in range(len(share)):
        own = np.flatnonzero(block == b)
        mine = np.flatnonzero((block[u] == b) & (rng.random(len(u)) < 0.7))
        v[mine] = rng.choice(own, len(mine), p=weight[own] / weight[own].sum())
    graph = nf.Graph.from_edges(_pairs(u, v), nodes=range(n))
    wrong = rng.random(n) < 0.1
    return graph, dict(enumerate(np.where(wrong, rng.integers(0, 16, n), block).tolist()))


def made_topics(seed: int) -> tuple[Any, dict[Any, Any]]:
    """3,000 nodes of uneven degrees, 30 links each, and 25 topics, of which each has one to four; two links of five are
    between nodes of a topic, and one node in five does not say its topics, but others."""
    rng, n, k = np.random.default_rng([seed, 5]), 3000, 25
    share, weight = rng.dirichlet(np.full(k, 2.0)), rng.pareto(1.6, n) + 0.3
    has = np.zeros((n, k), bool)
    for node, count in enumerate(rng.choice(4, n, p=(0.55, 0.25, 0.13, 0.07)) + 1):
        has[node, rng.choice(k, count, replace=False, p=share)] = True
    u, v = (rng.choice(n, 30 * n, p=weight / weight.sum()) for _ in range(2))
    topic = np.array([rng.choice(row) for row in np.split(np.nonzero(has)[1], np.cumsum(has.sum(axis=1))[:-1])])
    within = rng.random(len(u)) < 0.4
    for t in range(k):
        own, mine = np.flatnonzero(has[:, t]), np.flatnonzero((topic[u] == t) & within)
        v[mine] = rng.choice(own, len(mine), p=weight[own] / weight[own].sum())
    said = np.where((rng.random(n) < 0.2)[:, None], has[rng.permutation(n)], has)
    return nf.Graph.from_edges(_pairs(u, v), nodes=range(n)), {i: np.flatnonzero(said[i]).tolist() for i in range(n)}


def made_plane(seed: int) -> tuple[Any, None]:
    """1,500 points of a square, each linked with others with a probability that falls with their distance."""
    rng, n = np.random.default_rng([seed, 2]), 1500
    points = rng.random((n, 2))
    far = np.linalg.norm(points[:, None] - points[None], axis=2)
    u, v = np.nonzero(np.triu(rng.random((n, n)) < 0.8 * np.exp(-far / 0.035), 1))
    return nf.Graph.from_edges(_pairs(u, v), nodes=range(n)), None


def made_items(seed: int) -> tuple[Any, None]:
    """600 users and 300 items with tastes in 6 dimensions; who likes what by their product."""
    rng = np.random.default_rng([seed, 3])
    users, items = rng.normal(size=(600, 6)), rng.normal(size=(300, 6))
    u, v = np.nonzero(rng.random((600, 300)) < 1 / (1 + np.exp(4.5 - 1.2 * users @ items.T)))
    return nf.Graph.from_edges(_pairs(u, 600 + v), nodes=range(900)), None


def made_roles(seed: int) -> tuple[Any, dict[Any, Any]]:
    """Shapes around a ring, and a fifth more links between any; a class is a place in a shape, one in ten is wrong."""
    rng = np.random.default_rng([seed, 4])
    shapes = rng.permutation(["house", "star", "fan", "clique"]).tolist()
    graph, roles = nf.datasets.planted_roles(20, int(rng.integers(2, 5)), shapes, noise=0.2, seed=seed)
    names = sorted(set(roles.values()))
    return graph, {x: names[int(rng.integers(len(names)))] if rng.random() < 0.1 else roles[x] for x in roles}


def made_triples(seed: int) -> tuple[Any, None]:
    """Users, items and tags of groups that go together."""
    return nf.datasets.planted_triples(seed=seed), None


def _pairs(u: Any, v: Any) -> Any:
    """Links between two different ones, each once."""
    both = np.unique(np.sort(np.stack([u, v], axis=1), axis=1), axis=0)
    return both[both[:, 0] != both[:, 1]]


def loaded(data: str, seed: int) -> tuple[Any, Callable[[], Any]]:
    """A data set, and what gives its classes."""
    if not data.startswith("made_"):
        return nf.datasets.load(data), lambda: nf.datasets.classes(data)
    graph, classes = globals()[data](seed)
    return graph, lambda: classes


# -------------------------------------------------------------------- a question, and its test part


class Question:
    """The training part of a data set for a task, and what measures a model of it on the test part."""

    def __init__(self, data: str, task: str, seed: int):
        self.task, self.seed = task, seed
        whole, classes = loaded(data, seed)
        self.classes: dict[Any, Any] | None = None
        if task in ("classify", "roles", "cluster"):
            known = classes_of_nodes(classes(), whole.nodes, one_each=task != "classify")
            order = np.random.default_rng(seed + 1000).permutation(len(known.nodes))
            self._known, self._learned, self._tested = known, order[: len(order) // 2], order[len(order) // 2 :]
            names = np.array(known.names, dtype=object)
            self.classes = {known.nodes[i]: list(names[known.indicator[i]]) for i in self._learned}
            self.train = whole
        elif task == "link":
            self._split: Any = nf.evaluate.split_edges(whole, 0.2, seed=seed + 1000)
            self.train = self._split.train
        elif task == "new-nodes":
            self._split = nf.evaluate.split_nodes(whole, 0.1, seed=seed + 1000)
            self.train = self._split.known
        elif task == "near":
            self.train = whole
        else:
            self._split = nf.evaluate.split_hyperedges(whole, 0.2, seed=seed + 1000)
            self.train = self._split.train

    def figure(self, model: Any, *, peer: bool = False) -> float:
        """On the test part."""
        if isinstance(model, Heuristic):
            scores = isolated_as_average(model.scores, self.train)
            wrong = nf.evaluate.sample_negatives(self._split.whole, len(self._split.test), seed=self.seed).pairs
            return separation(*(finite(scores.at(*x.T.copy())) for x in (self._split.test, wrong)))["AUC"]
        if self.task == "link":
            scores = ("dot", "cosine") if peer else (None,)
            how: dict[str, Any] = {"nodes": 1, "baselines": False, "seed": self.seed}
            return max(nf.evaluate.link_prediction(model, self._split, score=x, **how).figures["AUC"] for x in scores)
        if self.task == "near":
            rows = min(1000, self.train.n_nodes)
            how = {"nodes": rows, "k": (1,), "baselines": False, "seed": self.seed}
            chosen = getattr(model, "pair_score_", None)
            scores = ("dot", "cosine") if peer else (chosen,)
            return max(nf.evaluate.reconstruction(model, self.train, score=x, **how).figures["MAP"] for x in scores)
        if self.task == "new-nodes":
            return nf.evaluate.out_of_sample(model, self._split, seed=self.seed, baselines=False).figures["AUC"]
        if self.task == "tuples":
            found = nf.evaluate.held_out_hyperedges(model, self._split, seed=self.seed, baselines=False)
            return found.figures["AUC"]
        embedding = getattr(model, "embedding_", model)
        vectors = embedding[self._known.nodes].astype(np.float64)
        split = (self._learned, self._tested)
        if self.task == "classify":
            scorer = linear_scorer(vectors, "logistic", "centred", 3.0)
            return class_figures(scorer, self._known, split, "top-k")["micro-F1"]
        codes = self._known.codes
        if self.task == "roles":
            return float((predicted_roles(vectors, codes, split) == codes[self._tested]).mean())
        clusters = cluster_codes(normalized(vectors[self._tested], "rows"), len(self._known.names), 0)
        return agreement(codes[self._tested], clusters)["NMI"]

    def asked(self, model: Any) -> float | None:
        """The same of links and tuples in tenths, beside each of which the other nine count as none."""
        if self.task not in ("link", "tuples"):
            return None
        order = np.random.default_rng(self.seed).permutation
        figures = []
        if self.task == "link":
            plain = pair_scores(model, self.train, model.pair_score_)
            if cost_of(plain) * self.train.n_nodes > MOST_PRODUCTS:
                return None
            scores = isolated_as_average(plain, self.train)
            for k, share in enumerate(np.array_split(order(self._split.test), 10)):
                whole = with_pairs(self.train, share)
                wrong = nf.evaluate.sample_negatives(whole, 10 * len(share), seed=self.seed + k).pairs
                right, other = (finite(scores.at(*pairs.T.copy())) for pairs in (share, wrong))
                figures.append(separation(right, other)["AUC"])
            return float(np.mean(figures))
        test = order(coded_like(self.train, self._split.test))
        for k, share in enumerate(np.array_split(test, 10)):
            split = HyperedgeSplit(self.train, decoded(share, self.train.nodes), {})
            figures.append(
                nf.evaluate.held_out_hyperedges(model, split, seed=self.seed + k, baselines=False).figures["AUC"]
            )
        return float(np.mean(figures))


# -------------------------------------------------------------------- methods


def raced(question: Question, budget: str) -> tuple[Any, dict[str, Any]]:
    """`auto`, and what it says of itself."""
    best = nf.auto(
        question.train, question.task, classes=question.classes, budget=budget, seed=question.seed, progress=False
    )
    trials = best.trials_
    said = {"printed": trials.value, "deviation": trials.deviation, "chosen": trials.chosen, "reason": trials.reason}
    return best, said | {"spent": trials.spent, "trials": len(trials.rows), "rules": RULES}


def single(question: Question, model: Any) -> tuple[Any, dict[str, Any]]:
    """One model, its score of pairs chosen on training links where links are asked about."""
    fit = fit_choosing_score if question.task == "link" else fit_with_base
    return fit(model, question.train), {}


class PairCounts:
    """The baseline of pair counts and degrees, as a model that scores tuples."""

    def __init__(self, known: Any, seed: int):
        self._nodes, self._scores = known.nodes, cheap_scorers(known, seed=seed)[COUNTS]
        self._scores(coded_edges(known)[:1])  # it learns when it is first asked

    def score(self, tuples: Any) -> Any:
        """The log-odds of each."""
        return self._scores(coded(tuples, self._nodes))


class Heuristic:
    """A score of pairs that no model has."""

    def __init__(self, known: Any, name: str):
        self.scores = pair_scorers(known, bipartite=known.sides is not None)[name]


def peer(question: Question, adapter: str) -> tuple[Any, dict[str, Any]]:
    """Another library, of the links in either direction."""
    from job import Clock, Job

    module, _, name = adapter.partition(":")
    method = getattr(importlib.import_module(module), name)
    matrix = links(question.train, directed=False, weights=True, loops="drop").tocsr().astype(np.float64)
    from scipy import sparse

    vectors = method(Job(sparse.csr_matrix(matrix), 128, question.seed, Clock(600.0)))
    vectors = np.nan_to_num(np.asarray(vectors, np.float32))
    return nf.Embedding(question.train.nodes, vectors), {}


def methods(task: str, seed: int, budgets: list[str]) -> Iterator[tuple[str, Callable[[Question], Any]]]:
    """Name and method, what is cheap first."""
    for text in SINGLE[task]:
        name, _, rest = text.partition(" ")
        options = dict(x.split("=") for x in rest.split())
        if name in nf.MODELS and name in CHEAP:
            yield text, lambda q, name=name, options=options: single(q, nf.MODELS[name](**options, seed=seed))
    if task == "tuples":
        yield COUNTS, lambda q: (PairCounts(q.train, seed), {})
    for name in HEURISTICS if task == "link" else ():
        yield name, lambda q, name=name: (Heuristic(q.train, name), {})
    for budget in budgets:
        yield f"auto {budget}cpu", lambda q, budget=budget: raced(q, f"{budget}cpu")
    if task in ("link", "classify", "cluster", "near"):
        for name, adapter in PEERS.items():
            yield name, lambda q, adapter=adapter: peer(q, adapter)
    for name in SINGLE[task]:
        if name in nf.MODELS and name not in CHEAP:
            yield name, lambda q, name=name: single(q, nf.MODELS[name](seed=seed))
    if task in ("link", "classify", "roles", "tuples", "new-nodes", "near"):
        asked = "link" if task == "tuples" else task
        yield "choose", lambda q: single(q, nf.choose(q.train, asked, probe=False, seed=seed).model)


def run(data: str, task: str, seed: int, name: str, method: Callable[[Question], Any]) -> dict[str, Any]:
    """One cell."""
    cell: dict[str, Any] = {"data": data, "task": task, "seed": seed, "method": name, "rules": RULES}
    try:
        question = Question(data, task, seed)
        start = time.process_time()
        with Meter() as meter:
            model, said = method(question)
            figure = question.figure(model) if name in HEURISTICS else None
        cell |= said | {"cpu": time.process_time() - start, "wall": meter.seconds, "mib": meter.bytes / 2**20}
        cell["test"] = question.figure(model, peer=name in PEERS) if figure is None else figure
        if name.startswith("auto") and (asked := question.asked(model)) is not None:
            cell["asked"] = asked
    except ImportError as e:
        cell["missing"] = str(e)
    except Exception as e:
        cell["failed"] = f"{type(e).__name__}: {e}"
    return cell


def run_apart(limit: float, *what: Any) -> dict[str, Any]:
    """One cell in a process of its own, which the system ends where it needs more CPU than the limit."""
    here, there = multiprocessing.Pipe(duplex=False)

    def child() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))
        os.chdir(tempfile.mkdtemp(prefix="netfold-auto-"))  # where peers leave their files
        there.send(run(*what))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    there.close()
    try:
        cell: dict[str, Any] = here.recv()
    except EOFError:
        data, task, seed, name, _ = what
        cell = {"data": data, "task": task, "seed": seed, "method": name, "stopped": f"no end in {limit:g} CPU-s"}
    process.join()
    return cell


# -------------------------------------------------------------------- the table


Cells = dict[str, dict[int, dict[str, Any]]]
"""Of a data set and task: method, seed, cell."""


def table(cells: list[dict[str, Any]], *, every: bool = False) -> str:
    """Markdown: a line for each data set and task; then ranks, and what `auto` said of itself. `every`: all methods."""
    by: dict[tuple[str, str], Cells] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        if "test" in cell and _is_current(cell):
            by[cell["data"], cell["task"]][cell["method"]][cell["seed"]] = cell
    budgets = sorted({name for rows in by.values() for name in rows if name.startswith("auto")}, key=_amount)
    lines = [_line(data, task, rows, budgets) for (data, task), rows in sorted(by.items())]
    head = ["data, task", "seeds", *budgets, "cheap ones, the best", "defaults of ours, the best", "choose"]
    head += [f"{x} - best cheap" for x in budgets]
    head += ["other libraries, the best", *(f"{x} - best other" for x in budgets)]
    parts = ["\n".join(f"| {' | '.join(x)} |" for x in (head, ["---"] * len(head), *lines))]
    parts += [_ranks(by, budgets), *(_optimism(by, budget) for budget in budgets)]
    parts += [_every(by)] if every else []
    return "\n\n".join(x for x in parts if x)


def _is_current(cell: dict[str, Any]) -> bool:
    if cell["task"] != "link" and not cell["method"].startswith(("auto", "choose")):
        return True
    return cell["method"] in (*PEERS, *HEURISTICS) or cell.get("rules", 1) == RULES


def _amount(name: str) -> float:
    return float(name.removeprefix("auto ").removesuffix("cpu"))


def _mean(some: dict[int, dict[str, Any]], name: str = "test") -> float:
    return float(np.mean([x[name] for x in some.values()]))


def _best(rows: Cells, wanted: Callable[[str], bool]) -> str | None:
    return max((x for x in rows if wanted(x)), key=lambda x: _mean(rows[x]), default=None)


def _is_ours(name: str) -> bool:
    return name.split()[0] in nf.MODELS


def _line(data: str, task: str, rows: Cells, budgets: list[str]) -> list[str]:
    def said(name: str | None, *, called: bool = True) -> str:
        if name is None or name not in rows:
            return ""
        words = f" {name}" if called else ""
        return f"{_mean(rows[name]):.4f}{words}, {_mean(rows[name], 'cpu'):.1f} CPU-s"

    other = _best(rows, lambda x: x in PEERS)
    seeds = sorted({seed for budget in budgets for seed in rows.get(budget, {})})
    cheap = _best(rows, lambda x: x in (COUNTS, *HEURISTICS) or (_is_ours(x) and x.split()[0] in CHEAP))
    trained = _best(rows, lambda x: _is_ours(x) and x.split()[0] not in CHEAP)
    cells = [f"{data}, {task}", str(len(seeds)), *(said(x, called=False) for x in budgets), said(cheap), said(trained)]
    cells += [said("choose", called=False)]
    cells += [_verdict(rows.get(budget, {}), rows[cheap]) if cheap else "" for budget in budgets]
    cells += [said(other)]
    return [*cells, *(_verdict(rows.get(budget, {}), rows[other]) if other else "" for budget in budgets)]


def _verdict(one: dict[int, dict[str, Any]], other: dict[int, dict[str, Any]]) -> str:
    """Above, level or below by two standard errors of the paired difference; of one seed the difference alone."""
    gaps = np.array([one[seed]["test"] - other[seed]["test"] for seed in one if seed in other])
    if not len(gaps):
        return ""
    if len(gaps) == 1:
        return f"{gaps[0]:+.4f}"
    error = float(gaps.std(ddof=1) / math.sqrt(len(gaps)))
    word = "above" if gaps.mean() > 2 * error else "below" if gaps.mean() < -2 * error else "level"
    return f"{gaps.mean():+.4f} ± {error:.4f} {word}"


def _ranks(by: dict[tuple[str, str], Cells], budgets: list[str]) -> str:
    """Mean ranks of each method, and of `auto` where that method ran; `auto` among all but other budgets.

    A rank is among what ran with the same seed, of those seeds with which most methods ran; ranks of seeds are averaged
    first, then those of data and tasks.
    """
    places: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for key, rows in by.items():
        seeds = Counter(seed for name, some in rows.items() if not name.startswith("auto") for seed in some)
        full = [seed for seed, count in seeds.items() if count == max(seeds.values())]
        for name, some in rows.items():
            rivals = [x for other, x in rows.items() if other != name and not other.startswith("auto")]
            ranks = [1 + sum(x[k]["test"] > some[k]["test"] for x in rivals if k in x) for k in full if k in some]
            if ranks:
                places[name][key] = float(np.mean(ranks))
    head = ["method", "mean rank", "over", *(f"{x}, there" for x in budgets)]
    lines = [head, ["---"] * len(head)]
    for name, some_places in sorted(places.items(), key=lambda x: float(np.mean(list(x[1].values())))):
        there = [[places[x][key] for key in some_places if key in places[x]] for x in budgets]
        beside = [f"{np.mean(x):.2f}" if x else "" for x in there]
        lines.append([name, f"{np.mean(list(some_places.values())):.2f}", str(len(some_places)), *beside])
    return "\n".join(f"| {' | '.join(x)} |" for x in lines)


def _optimism(by: dict[tuple[str, str], Cells], budget: str) -> str:
    """(printed - test) / deviation, over all runs of a budget; and with the test part asked as `auto` asks."""
    every = [x for rows in by.values() for x in rows.get(budget, {}).values()]
    runs = [x for x in every if x.get("deviation")]
    if not runs:
        return ""
    silent = f"; {len(every) - len(runs)} more said no deviation" if len(every) > len(runs) else ""
    gaps = np.array([(x["printed"] - x["test"]) / x["deviation"] for x in runs])
    asked = np.array([(x["printed"] - x.get("asked", x["test"])) / x["deviation"] for x in runs])
    spent = max(x["cpu"] for x in every)
    return (
        f"{budget}: optimism (printed - test) / deviation: {_spread(gaps)}, over {len(runs)} runs; with the test part "
        f"asked as auto asks: {_spread(asked)}; at most {spent:.1f} CPU-s{silent}"
    )


def _spread(values: Any) -> str:
    error = float(values.std() / math.sqrt(len(values)))
    return f"mean {values.mean():+.2f} ± {error:.2f}, from {values.min():+.2f} to {values.max():+.2f}"


def _every(by: dict[tuple[str, str], Cells]) -> str:
    lines = []
    for (data, task), rows in sorted(by.items()):
        for name in sorted(rows, key=lambda x: -_mean(rows[x])):
            cost, held = _mean(rows[name], "cpu"), _mean(rows[name], "mib")
            chosen = next(iter(rows[name].values())).get("chosen", "")
            lines.append(
                f"{data:<16} {task:<9} {name:<28} {_mean(rows[name]):.4f} {cost:7.1f} CPU-s {held:6.0f} MiB {chosen}"
            )
    return "\n".join(lines)


def warm_up() -> None:
    """Load what every method would load, so that no cell pays for it; its processes begin as copies of this one."""
    graph, blocks = nf.datasets.stochastic_block_model((20, 20), 0.4, 0.05, seed=0)
    fit_choosing_score(nf.SDNE(dim=4, epochs=1), graph)
    nf.evaluate.classification(nf.Spectral(dim=4).fit(graph, progress=False), blocks, repeats=1)


def main() -> None:
    """Run the cells that are not there yet, or print those that are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--budget", nargs="*", default=["10"], help="CPU seconds of auto, several")
    parser.add_argument("--data", nargs="*", help="data sets; all where not said")
    parser.add_argument("--task", nargs="*")
    parser.add_argument("--cell", nargs="*", help="DATA:TASK, in this order")
    parser.add_argument("--made", action="store_true", help="data that are made, and not those that are shared")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--seed", type=int, nargs="*", help="these alone")
    parser.add_argument("--only", nargs="*", help="methods whose names begin so")
    parser.add_argument("--skip", nargs="*", default=[], help="methods whose names begin so")
    parser.add_argument("--limit", type=float, default=300, help="CPU seconds of a cell")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--every", action="store_true", help="with --table: a line for each method too")
    args = parser.parse_args()
    sys.path.append(str(Path(__file__).parent / "peers"))
    cells = [json.loads(x) for x in args.path.read_text().splitlines()] if args.path.exists() else []
    if args.table:
        print(table([x for x in cells if not x["data"].startswith("made_")], every=args.every))
        print(
            "\nData that are made:\n\n" + table([x for x in cells if x["data"].startswith("made_")], every=args.every)
        )
        return
    warm_up()
    done = {(x["data"], x["task"], x["seed"], x["method"]) for x in cells if _is_current(x)}
    for seed in args.seed if args.seed is not None else range(args.seeds):
        every = MADE if args.made else CELLS
        for data, task in [tuple(x.split(":")) for x in args.cell] if args.cell else every:
            if (args.data and data not in args.data) or (args.task and task not in args.task):
                continue
            if seed and data in LARGE:
                continue
            for name, method in methods(task, seed, args.budget):
                wanted = not args.only or name.startswith(tuple(args.only))
                if not wanted or name.startswith(tuple(args.skip)) or (data, task, seed, name) in done:
                    continue
                cell = run_apart(args.limit, data, task, seed, name, method) | {"machine": machine()}
                if str(args.path) == "-":
                    print(json.dumps(cell), flush=True)
                    continue
                with args.path.open("a") as file:
                    file.write(json.dumps(cell) + "\n")
                print(
                    data,
                    task,
                    seed,
                    name,
                    {k: cell.get(k) for k in ("test", "printed", "cpu", "failed", "missing", "stopped")},
                )


if __name__ == "__main__":
    main()
