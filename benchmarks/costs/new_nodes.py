"""A graph grew: what each way to place the new nodes costs and is worth, and how ten days of growth add up.

    NETFOLD_DATA=../shared/data python benchmarks/costs/new_nodes.py ways [--data dblp_coauthor] [--seed 0] [--device D]
    NETFOLD_DATA=../shared/data python benchmarks/costs/new_nodes.py drift [--days 10] [--reruns 1,5,10]

`ways`: the base is fitted to the known nodes; then LocalAvg, LabelProp, DepthLGP, node2vec++ and a new fit of the
base give the new ones vectors. A line of JSON for each: processor and wall seconds to make ready, those to answer for
all new nodes, and the figures of `evaluate.out_of_sample`. `drift`: the new nodes come in batches, in random order,
and DepthLGP takes in each without training (`nf.Evolving`), so that the later stand on the earlier. Beside it, all
that came so far placed at once, and a new fit: the classes of all that came so far, and which part of their ten
nearest known nodes each way shares with the new fit (two new fits with different seeds share that much of the ten:
"another seed"). The table of each model's own `transform` is `netfold reproduce depthlgp-transformers`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from meter import cpu_seconds

import netfold as nf
from netfold.evaluate import NodeSplit, label_propagation, local_average, out_of_sample, split_nodes

YEAR = 2015
NEAREST, ASKED = 10, 1000
"""How many nearest known nodes are compared, and of how many new nodes."""


class Timed:
    """What a call gave, and the processor and wall seconds that it took."""

    def __init__(self, call: Callable[[], Any]):
        cpu, wall = cpu_seconds(), time.perf_counter()
        self.value = call()
        self.cpu, self.wall = cpu_seconds() - cpu, time.perf_counter() - wall


def split_of(data: str, seed: int, *, inner: bool) -> NodeSplit:
    """DBLP's own new nodes, or (`inner`) as many of those that were there; of other data sets, 256 along a walk."""
    whole = nf.datasets.load(data)
    if data != "dblp_coauthor":
        return split_nodes(whole, 256, by="walk", seed=seed)
    if inner:
        return split_nodes(nf.datasets.load(data, until=YEAR), 4944, by="walk", seed=seed)
    known = nf.datasets.load(data, until=YEAR)
    return NodeSplit(known, whole, np.flatnonzero(known.nodes.find(whole.nodes) < 0), {"until": YEAR})


def say(**facts: Any) -> None:
    shown = {name: round(x, 4) if isinstance(x, float) else x for name, x in facts.items()}
    print(json.dumps(shown), flush=True)


# -------------------------------------------------------------------- ways


def ways(split: NodeSplit, classes: dict[Any, Any], given: dict[str, Any], base_options: dict[str, Any]) -> None:
    """Each way: made ready, asked once about all new nodes, and then measured."""
    seed = given["seed"]
    based = Timed(lambda: nf.Node2Vec(**base_options, **given).fit(split.known, progress=False))
    base = based.value.embedding_
    say(way="node2vec, known nodes", ready_cpu=based.cpu, ready_wall=based.wall)

    def measured(model: Any, **more: Any) -> dict[str, float]:
        return out_of_sample(model, split, classes=classes, seed=seed, baselines=False, **more).figures

    for name, extend in (("LocalAvg", local_average), ("LabelProp", label_propagation)):
        answer = Timed(lambda extend=extend: extend(split, base))  # type: ignore[misc]
        say(way=name, ready_cpu=0.0, answer_cpu=answer.cpu, answer_wall=answer.wall, **measured(name, base=base))
    models: dict[str, Callable[[], Any]] = {
        "DepthLGP": lambda: nf.DepthLGP(**given).fit(split.known, base, progress=False),
        "node2vec++": lambda: nf.Node2VecPlus(**given).fit(split.known, progress=False),
    }
    for name, fit in models.items():
        fitted = Timed(fit)
        answer = Timed(lambda model=fitted.value: model.transform(split.whole))  # type: ignore[misc]
        say(
            way=name,
            ready_cpu=fitted.cpu,
            ready_wall=fitted.wall,
            answer_cpu=answer.cpu,
            answer_wall=answer.wall,
            **measured(fitted.value),
        )
    anew = Timed(lambda: nf.Node2Vec(**base_options, **given).fit(split.whole, progress=False))

    def rerun(graph: nf.Graph) -> Any:
        if graph is split.whole:
            return anew.value
        return nf.Node2Vec(**base_options, **given).fit(graph, progress=False)

    figures = measured("rerun", base=base, rerun=rerun)
    say(way="rerun", ready_cpu=0.0, answer_cpu=anew.cpu, answer_wall=anew.wall, **figures)


# -------------------------------------------------------------------- drift


def growing(split: NodeSplit, days: int, seed: int) -> Iterator[NodeSplit]:
    """The split as it is on each day, when the new nodes come in batches in random order."""
    order = np.random.default_rng(seed).permutation(split.new)
    old = np.delete(np.arange(split.whole.n_nodes), split.new)
    for batch in range(1, days + 1):
        come = order[: round(batch * len(order) / days)]
        rows = np.sort(np.concatenate([old, come]))
        yield NodeSplit(split.known, split.whole.subgraph(rows), np.searchsorted(rows, np.sort(come)), split.protocol)


def neighborhoods(vectors: nf.Embedding, new: list[Any], known: Any) -> np.ndarray[Any, Any]:
    """The nearest known nodes of each new one, by the cosine: positions among the known."""
    near, base = (vectors[nodes].astype(np.float32) for nodes in (new, known))
    near, base = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (near, base))
    return np.argpartition(-(near @ base.T), NEAREST, axis=1)[:, :NEAREST]


def shared(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """Which part of their ten nearest two spaces agree about."""
    return float(np.mean([len({*x} & {*y}) / NEAREST for x, y in zip(a.tolist(), b.tolist(), strict=True)]))


def drift(
    split: NodeSplit,
    classes: dict[Any, Any],
    given: dict[str, Any],
    base_options: dict[str, Any],
    days: int,
    reruns: set[int],
) -> None:
    """Ten days of growth: taken in day by day, placed at once, and fitted anew."""
    seed = given["seed"]
    base = nf.Node2Vec(**base_options, **given).fit(split.known, progress=False).embedding_
    start = nf.DepthLGP(**given).fit(split.known, base, progress=False)
    daily = nf.Evolving(start)
    for day, today in enumerate(growing(split, days, seed), 1):
        come = [today.whole.nodes[i] for i in today.new]
        taken = Timed(lambda now=today.whole: daily.update(now))  # type: ignore[misc]
        placed = {"day by day": daily.embedding_.take(come), "at once": start.transform(today.whole)}
        facts: dict[str, Any] = {"day": day, "new so far": len(come), "day's cpu": taken.cpu}
        facts |= {f"{way}: micro-F1": _f1(x, today, base, classes) for way, x in placed.items()}
        if day in reruns:
            facts |= _beside_rerun(placed, today, base, classes, given, base_options)
        say(**facts)


def _f1(vectors: Any, today: NodeSplit, base: nf.Embedding, classes: dict[Any, Any], **more: Any) -> float:
    here = {node: x for node, x in classes.items() if node in today.whole.nodes}
    found = out_of_sample(vectors, today, base=base, classes=here, links=False, baselines=False, **more)
    return found.figures["micro-F1"]


def _beside_rerun(
    placed: dict[str, nf.Embedding],
    today: NodeSplit,
    base: nf.Embedding,
    classes: dict[Any, Any],
    given: dict[str, Any],
    base_options: dict[str, Any],
) -> dict[str, float]:
    """The new fit's F1, and how much of its neighborhoods each way has; so has a second new fit."""
    fits = [given, given | {"seed": given["seed"] + 1000}]
    anew, other = (nf.Node2Vec(**base_options, **x).fit(today.whole, progress=False).embedding_ for x in fits)
    come = [today.whole.nodes[i] for i in today.new]
    asked = [come[i] for i in np.random.default_rng(0).permutation(len(come))[:ASKED]]
    known = list(today.known.nodes)
    truth = neighborhoods(anew, asked, known)
    facts = {"rerun: micro-F1": _f1("rerun", today, base, classes, rerun=anew)}
    facts |= {"another seed: shared": shared(neighborhoods(other, asked, known), truth)}
    for way, vectors in placed.items():
        whole = nf.Embedding([*known, *asked], np.concatenate([base[known], vectors[asked]]))
        facts[f"{way}: shared"] = shared(neighborhoods(whole, asked, known), truth)
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("ways", "drift"))
    parser.add_argument("--data", default="dblp_coauthor")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--reruns", default="1,5,10", help="the days on which the base is fitted anew (twice)")
    parser.add_argument("--base", default='{"held_out": 0.0}', help='options of node2vec in JSON, as {"epochs": 3}')
    parser.add_argument("--inner", action="store_true", help="hold back nodes of the known graph: to choose settings")
    asked = parser.parse_args()
    split = split_of(asked.data, asked.seed, inner=asked.inner)
    classes = {node: x for node, x in nf.datasets.classes(asked.data).items() if node in split.whole.nodes}
    given, base = {"seed": asked.seed, "device": asked.device}, json.loads(asked.base)
    say(data=asked.data, **split.figures)
    if asked.what == "ways":
        ways(split, classes, given, base)
    else:
        drift(split, classes, given, base, asked.days, {int(day) for day in asked.reruns.split(",") if day})


if __name__ == "__main__":
    main()
