"""What a graph is like, and what a fit to it will cost here: short fits of two sizes, and the line through them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.attributes import Attributes
from netfold.data.checks import Ints
from netfold.data.edges import links, median_weight
from netfold.data.graph import Graph
from netfold.data.hypergraph import Hypergraph
from netfold.data.nodes import Nodes
from netfold.data.text import counted, printable
from netfold.embedder.embedder import Embedder
from netfold.embedder.problem import HEAVY
from netfold.studies.machine import Meter
from netfold.studies.plan import counted_memory

__all__ = ["Cost", "Facts", "LinkCounts", "estimated_cost", "facts_of", "stand_in"]


_NAMED = 5
"""Attributes that are named."""
_WEDGES = 2000
"""So many pairs of neighbors are looked at for the clustering."""


@dataclass(frozen=True)
class Facts:
    """What the rules of choice know of the data."""

    nodes: int
    edges: int
    hyperedges: bool = False
    types: tuple[str, ...] = ()
    """Of a hypergraph's nodes."""
    directed: bool = False
    weighted: bool = False
    isolated: int = 0
    self_loops: int = 0
    mean_degree: float = 0.0
    """Nodes linked in either direction, as all degrees here; in a hypergraph, hyperedges."""
    median_degree: float = 0.0
    largest_degree: int = 0
    clustering: float = 0.0
    """The share of pairs of a node's neighbors that are linked, over all such pairs (transitivity), by a sample."""
    two_steps: float = 0.0
    """How many paths of two steps there are, in either direction."""
    largest_weight: float = 1.0
    """Over the median weight."""
    time_column: str | None = None
    attributes: tuple[str, ...] = ()
    """The names of what is known about nodes beside their links."""

    @property
    def is_heavy(self) -> bool:
        """Whether a few weights drown all others."""
        return self.largest_weight >= HEAVY

    def __str__(self) -> str:
        kind = f"{len(self.types)} types" if self.hyperedges else "directed" if self.directed else "undirected"
        noun = "hyperedges" if self.hyperedges else "edges"
        parts = [counted(self.nodes, "node"), counted(self.edges, noun.removesuffix("s")), kind]
        parts += ["weighted"] if self.weighted else []
        parts += [f"degrees {self.median_degree:g} (median) to {self.largest_degree:,}"]
        parts += [] if self.hyperedges else [f"clustering {self.clustering:.2f}"]
        parts += [f"{self.isolated:,} isolated"] if self.isolated else []
        parts += [f"a time column ({self.time_column})"] if self.time_column else []
        parts += [f"attributes of nodes ({', '.join(map(printable, self.attributes[:_NAMED]))})"] * bool(
            self.attributes
        )
        return ", ".join(parts)


def facts_of(data: Graph | Hypergraph, time_column: str | None = None, seed: int = 0) -> Facts:
    """The facts about a graph or a hypergraph.

    >>> facts = facts_of(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]))
    >>> facts.mean_degree, facts.largest_degree, facts.two_steps
    (2.0, 3, 10.0)
    """
    if isinstance(data, Hypergraph):
        return Facts(
            data.n_nodes,
            data.n_edges,
            True,
            tuple(map(str, data.types)),
            time_column=time_column,
            attributes=() if data.attributes is None else data.attributes.names,
            **_spread(np.asarray(data.degrees)),
        )
    near, weights = links(data, directed=False, weights=False, loops="drop"), data.adjacency.data
    degrees = np.diff(near.indptr).astype(np.float64)
    spread = float(weights.max()) / median_weight(weights) if len(weights) else 1.0
    return Facts(
        data.n_nodes,
        data.n_edges,
        directed=data.directed,
        weighted=data.is_weighted,
        self_loops=data.n_self_loops,
        clustering=_clustering(near, seed),
        two_steps=float(np.sum(degrees * (degrees - 1))),
        largest_weight=spread,
        time_column=time_column,
        attributes=() if data.attributes is None else data.attributes.names,
        **_spread(degrees),
    )


def _spread(degrees: Any) -> dict[str, Any]:
    if not len(degrees):
        return {}
    return {
        "isolated": int((degrees == 0).sum()),
        "mean_degree": float(degrees.mean()),
        "median_degree": float(np.median(degrees)),
        "largest_degree": int(degrees.max()),
    }


def _clustering(links: Any, seed: int) -> float:
    """The share of random wedges (two links of one node) whose ends are linked; a node has d (d - 1) / 2 of them."""
    degrees = np.diff(links.indptr).astype(np.float64)
    chances = degrees * (degrees - 1)
    if not chances.sum():
        return 0.0
    rng = np.random.default_rng(seed)
    sums = np.cumsum(chances)
    middles = np.searchsorted(sums, rng.random(_WEDGES) * sums[-1], side="right")
    closed = [_closed(links, links.indices[slice(*links.indptr[i : i + 2])], rng) for i in middles]
    return float(np.mean(closed))


def _closed(links: Any, neighbors: Any, rng: np.random.Generator) -> bool:
    first = int(rng.integers(len(neighbors)))
    second = (first + 1 + int(rng.integers(len(neighbors) - 1))) % len(neighbors)
    row = links.indices[slice(*links.indptr[neighbors[first] : neighbors[first] + 2])]
    at = int(np.searchsorted(row, neighbors[second]))
    return at < len(row) and bool(row[at] == neighbors[second])


@dataclass(frozen=True)
class LinkCounts:
    """How many links nodes have: all that a stand-in needs of a graph, which may be too large to be read."""

    leaving: npt.NDArray[Any]
    """n"""
    entering: npt.NDArray[Any]
    """n"""
    directed: bool = False
    weights: npt.NDArray[Any] | None = None
    """Some weights as they are, where edges have them."""
    attributes: Attributes | None = None
    """Those of the nodes."""

    @property
    def n_nodes(self) -> int:
        """n"""
        return len(self.leaving)

    @property
    def arcs(self) -> int:
        """An edge of an undirected graph is two."""
        return int(self.leaving.sum())

    @staticmethod
    def of(graph: Graph) -> LinkCounts:
        """Those of a graph."""
        leaving = graph.degrees
        entering = np.bincount(graph.adjacency.indices, minlength=graph.n_nodes) if graph.directed else leaving
        weights = graph.adjacency.data if graph.is_weighted else None
        return LinkCounts(leaving, entering, graph.directed, weights, graph.attributes)


def stand_in(data: Graph | Hypergraph | LinkCounts, nodes: int, seed: int = 0) -> Any:
    """A random graph of so many nodes with degrees and weights as these data have; the data, where no larger.

    What a fit costs goes with how many links a node has, which a part of the graph would not keep: of the neighbors of
    its nodes, most would be outside.

    >>> ring = Graph.from_edges([(i, (i + k) % 1000) for i in range(1000) for k in (1, 2, 3)])
    >>> small = stand_in(ring, 200)
    >>> small.n_nodes, bool(5.5 < small.degrees.mean() <= 6.1)
    (200, True)
    """
    rng = np.random.default_rng(seed)
    if isinstance(data, LinkCounts):
        return _graph(data, min(nodes, data.n_nodes), rng)
    if nodes >= data.n_nodes:
        return data
    return _hypergraph(data, nodes, rng) if isinstance(data, Hypergraph) else _graph(LinkCounts.of(data), nodes, rng)


def _graph(graph: LinkCounts, nodes: int, rng: np.random.Generator) -> Graph:
    """Each of some nodes sends half of its links (all that leave it, where directed) to nodes drawn by degree."""
    leaving, entering = graph.leaving, graph.entering
    picked = _spread_over(leaving, nodes)
    sent = leaving[picked] if graph.directed else (leaving[picked] + rng.integers(0, 2, nodes)) // 2
    u = np.repeat(np.arange(nodes), np.minimum(sent, nodes - 1))
    v = _drawn(entering[picked], len(u), rng)
    u, v = (
        np.append(x[u != v], nodes - k) for x, k in ((u, 1), (v, 2))
    )  # the largest two are linked: one edge at least
    weights = None if graph.weights is None else rng.choice(graph.weights, len(u))
    small = Graph.from_codes(u, v, weights, nodes=Nodes.of(range(nodes)), directed=graph.directed)
    return small if graph.attributes is None else small.with_attributes(graph.attributes.rows(picked))


def _hypergraph(data: Hypergraph, nodes: int, rng: np.random.Generator) -> Hypergraph:
    """As large a share of the hyperedges as of the nodes, each position a node of its type drawn by degree."""
    share, degrees = nodes / data.n_nodes, np.asarray(data.degrees)
    codes = np.asarray(data.type_codes)
    mine = {t: np.flatnonzero(codes == t) for t in range(len(data.types))}
    picked = {t: rows[_spread_over(degrees[rows], max(2, round(share * len(rows))))] for t, rows in mine.items()}
    chosen = np.sort(np.concatenate(list(picked.values())))
    kinds = []
    for kind in data.kinds:
        count = max(2, round(share * len(kind)))
        columns = [_of_type(picked[data.types.index(t)], degrees, count, rng) for t in kind.types]
        rows = np.searchsorted(chosen, np.stack(columns, axis=1))
        whole = np.array([len(set(row)) == len(row) for row in rows.tolist()])
        kinds.append((kind.roles, kind.types, rows[whole]))
    own: Any = {"types": data.types, "attributes": data.attributes and data.attributes.rows(chosen)}
    return Hypergraph.from_kinds(kinds, nodes=range(len(chosen)), node_types=codes[chosen], **own)


def _of_type(rows: Ints, degrees: npt.NDArray[Any], count: int, rng: np.random.Generator) -> Ints:
    return rows[_drawn(degrees[rows], count, rng)]


def _spread_over(degrees: npt.NDArray[Any], count: int) -> Ints:
    """Nodes at even places of the order by degree: few of them, and the largest degrees in proportion."""
    places = ((np.arange(min(count, len(degrees))) + 0.5) * len(degrees) / min(count, len(degrees))).astype(np.int64)
    order: Ints = np.argsort(degrees, kind="stable")
    return order[places]


def _drawn(degrees: npt.NDArray[Any], count: int, rng: np.random.Generator) -> Ints:
    sums = np.cumsum(np.maximum(degrees, 1e-9))
    rows: Ints = np.searchsorted(sums, rng.random(count) * sums[-1], side="right").astype(np.int64)
    return rows


_BUDGET = 9.0
"""Seconds for all probes."""
_EPOCHS = 3
"""Of a probe; one, where there is no time for so many."""
_FIRST, _GROWTH = 600, 4
"""Nodes of the first probe, and how much larger the next one is."""
_WARM_UP = 60
"""Nodes of a fit that is not counted: the first one loads what the others find loaded."""


@dataclass(frozen=True)
class Cost:
    """What a fit will cost, estimated from short ones."""

    seconds: float
    """On the clock, for all epochs: at most, as a model may converge earlier."""
    bytes: int
    """The peak of memory that the fit adds."""
    probed: tuple[int, ...]
    """The nodes of each probe."""
    nodes: int
    epoch: float = 0.0
    """Seconds of one epoch among them."""

    def __str__(self) -> str:
        on = "all" if self.probed[-1] >= self.nodes else f"{self.probed[-1]:,}"
        held = f"{self.bytes / 2**20:,.0f} MiB"
        return f"about {in_words(self.seconds)} and {held} (estimated from short fits, the last to {on} nodes)"


def in_words(seconds: float) -> str:
    """A time that a person can plan with.

    >>> in_words(0.4), in_words(75), in_words(9000)
    ('1 s', '75 s', '2.5 hours')
    """
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def estimated_cost(
    fit: Callable[[Embedder, Any], object], model: Embedder, data: Any, *, budget: float = _BUDGET, seed: int = 0
) -> Cost:
    """The cost of `fit(model, data)`, by fits of a few epochs to stand-ins that grow while the budget lasts.

    Where the data themselves fit into the budget, the last probe is of them, and only epochs are extrapolated;
    otherwise the line through the last two sizes is followed: costs are linear in nodes of given degrees. Memory is
    then counted (`netfold.studies.plan.counted_memory`), as `netfold plan` counts it, where the model's is.
    """
    end, model = time.perf_counter() + budget, model if isinstance(data, LinkCounts) else model.resolved(data)
    _probe(fit, model, stand_in(data, _WARM_UP, seed), epochs=1)
    probes = [_probe(fit, model, stand_in(data, _FIRST, seed))]
    while probes[-1].nodes < data.n_nodes:
        size, left = min(_GROWTH * probes[-1].nodes, data.n_nodes), end - time.perf_counter()
        epochs = next((x for x in (_EPOCHS, 1) if _cost(probes, x, size).seconds <= left), None)
        if epochs is None:
            break
        probes.append(_probe(fit, model, stand_in(data, size, seed), epochs))
    if len(probes) == 1 and probes[0].nodes < data.n_nodes:  # no time for a larger one: the line needs a second point
        probes.insert(0, _probe(fit, model, stand_in(data, _FIRST // _GROWTH, seed)))
    cost = _cost(probes, model.epochs, data.n_nodes)
    counted = None if probes[-1].nodes >= data.n_nodes else counted_memory(model, data.n_nodes, _arcs(data))
    return cost if counted is None else replace(cost, bytes=counted)


def _arcs(data: Graph | Hypergraph | LinkCounts) -> int:
    if isinstance(data, LinkCounts):
        return data.arcs
    return int(data.n_edges if isinstance(data, Hypergraph) else data.adjacency.nnz)


@dataclass(frozen=True)
class _Probe:
    nodes: int
    epoch: float
    """Seconds of one epoch."""
    rest: float
    """Seconds of all that comes before and after the epochs."""
    bytes: float


def _probe(fit: Callable[[Embedder, Any], object], model: Embedder, data: Any, epochs: int = _EPOCHS) -> _Probe:
    params = model.get_params()
    trained = "epochs" in params  # else it is computed at once: its rounds are not those of a longer run
    copy = type(model)(**params | ({"epochs": min(epochs, model.epochs)} if trained else {}))
    with Meter() as meter:
        fit(copy, data)
    spent = sorted(record["seconds"] for record in copy.history_ if trained)
    epoch = spent[(len(spent) - 1) // 2] if spent else 0.0
    return _Probe(data.n_nodes, epoch, max(0.0, meter.seconds - sum(spent)), meter.bytes)


def _cost(probes: list[_Probe], epochs: int, nodes: int) -> Cost:
    one, two = (probes[0], probes[-1]) if len(probes) < 3 else (probes[-2], probes[-1])
    epoch, rest, held = (_line(one, two, name, nodes) for name in ("epoch", "rest", "bytes"))
    return Cost(epochs * epoch + rest, round(held), tuple(x.nodes for x in probes), nodes, epoch)


def _line(one: _Probe, two: _Probe, name: str, nodes: int) -> float:
    """The value at `nodes` on the line through two probes; through 0, where they are one, or the line falls."""
    low, high = float(getattr(one, name)), float(getattr(two, name))
    if one.nodes == two.nodes or high <= low:
        return high * nodes / two.nodes
    return high + (high - low) / (two.nodes - one.nodes) * (nodes - two.nodes)
