"""DepthLGP over several ranks: each owns the links, latent states and weights of its nodes; subgraphs are divided.

A step has as many subgraphs as in one process. Of rank r are those whose numbers leave r when divided by the number of
ranks; it asks the owners of nodes for where walks go on, for the links around the nodes that count as new, and for h
and a of the known ones (4 (d + 1) bytes each, and as many back where both are learned). What all nodes share (eta, zeta
and g) is on every rank, and its gradient summed. Random numbers are of the seed, the epoch and the subgraph: where the
links of a node are thinned out, of that node and its slots, too. So results do not depend on the number of ranks but by
rounding.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch.nn import functional

from netfold.cluster.exchange import LinkedGraph, RankGraph, RankRows, row_sums
from netfold.cluster.network import RankNetwork
from netfold.cluster.walks import Lookup, RankLinks, part_masses
from netfold.data.checks import Floats, Ints
from netfold.embedder.placing import Placing, length_ratio
from netfold.errors import InputError
from netfold.learn.draws import uniform_at
from netfold.models.depthlgp.network import WORTH, DepthLGPNetwork
from netfold.models.lgp.neighborhoods import Caps, Surroundings, first_met, surroundings, unit_near, walk_length
from netfold.models.lgp.posterior import Arrivals, Known, Placed, arrivals_by
from netfold.models.lgp.process import StoredGraph
from netfold.models.lgp.solve import posterior_variances, solved

__all__ = ["Sampling", "ShardedDepthLGP", "SpreadRows"]

_Draw = Callable[..., torch.Generator]
"""From a stream of numbers (what for, epoch) to a generator: `Embedder._generator`."""
_EPOCH, _JUDGES, _ALONE, _MEASURE, _SIGNS = 11, 12, 13, 14, 15
_STARTS = 0x5DEECE66D
"""Turns the key of a subgraph into that of where it starts, and added once more into that of the links it reads."""
_SLOTS = 24
"""Bits of a slot among the links of a node that are read."""
_MEASURED = 256
"""Nodes held back, and subgraphs from whose errors is learned how sure an answer is."""
_CHUNK = 1 << 14
"""Rows of links that are multiplied at a time."""
_TOGETHER = 16
"""Subgraphs that are measured together, whatever the number of ranks: for their variances are exact then."""


@dataclasses.dataclass(frozen=True)
class Sampling:
    """What is drawn in an epoch: see the options of `DepthLGP`."""

    samples: int
    batch_size: int
    roots: int
    caps: Caps


@dataclasses.dataclass(frozen=True, eq=False)
class RankBatch:
    """The nodes of this rank's subgraphs that count as new, and what is read around them."""

    around: Surroundings
    vectors: Tensor
    """Their true vectors: m x d."""
    known: Lookup
    """Who has the known nodes."""
    total: int
    """How many nodes count as new on all ranks."""


class SpreadRows:
    """Links that are spread over ranks, for subgraphs with a key each. All ranks ask together."""

    def __init__(self, links: RankLinks, weights: Tensor, keys: Tensor):
        self._links, self._graph, self._weights, self._keys = links, links.graph, weights, keys
        self.n = links.graph.n_nodes

    def counts(self, nodes: Ints) -> Ints:
        """How many links each of some nodes has."""
        lookup = self._lookup(nodes)
        counts: Ints = lookup.back(self._links.degrees[lookup.here]).numpy()
        return counts

    def entries(self, nodes: Ints, places: Ints) -> tuple[Ints, Floats]:
        """Of each node the link at a place: the node that it leads to, and its weight."""
        lookup = self._lookup(nodes)
        at = self._links.starts[lookup.here] + lookup.there(torch.from_numpy(places))
        return lookup.back(self._links.ends[at]).numpy(), lookup.back(self._weights[at]).numpy()

    def drawn(self, group: Ints, node: Ints, slot: Ints, step: int) -> Floats:
        """The number of a subgraph, a node and a slot, whoever asks."""
        places = torch.from_numpy(((node * 2 + step - 1) << _SLOTS) + slot)
        drawn: Floats = uniform_at(self._keys[torch.from_numpy(group)], places).numpy()
        return drawn

    def _lookup(self, nodes: Ints) -> Lookup:
        return Lookup(self._graph, torch.from_numpy(nodes))


class ShardedDepthLGP(RankNetwork):
    """`DepthLGPNetwork` whose tables are spread over ranks."""

    own: DepthLGPNetwork
    _graph: LinkedGraph

    def __init__(
        self,
        own: DepthLGPNetwork,
        graph: RankGraph,
        vectors: npt.NDArray[np.float32],
        draw: _Draw,
        sampling: Sampling,
        *,
        chosen: bool,
        prior: tuple[float, float] = (1.0, 1.0),
    ):
        """`vectors`: those of the own nodes, m x d. `chosen`: whether starts are, as the option says.

        `prior`: eta and zeta as they are given.
        """
        unit = _unit(graph)
        super().__init__(own, LinkedGraph(graph, loops=False, unit=unit), ("latent", "kernel.raw_weights"))
        self.unit = unit
        own.graph = None  # type: ignore[assignment]  # the links of one process, at last
        self._draw, self._sampling, self._chosen, self._prior = draw, sampling, chosen, prior
        self._links = RankLinks(self._graph, torch.device("cpu"))  # subgraphs are made there, as in one process
        self._links.prepare()
        parts = [self._graph.rows(p) for p in graph.parts]
        weights = np.concatenate([np.zeros(0, np.float32), *(x.data for x in parts)])
        self._weights = torch.from_numpy(weights)
        self._entries = sum(graph.ranks.gather(len(weights)))
        self._vectors = torch.from_numpy(vectors).to(own.latent)
        self._degrees = np.concatenate([np.zeros(0), *(row_sums(x) for x in parts)])
        linked = self._links.degrees > 0
        self._linked = linked.nonzero()[:, 0]
        counts = part_masses(self._graph, [linked[x].double().numpy() for _, x in graph.by_part()])
        self._ends = torch.from_numpy(np.cumsum(counts).astype(np.int64))
        """Up to each part, how many nodes have links."""
        if not int(self._ends[-1]):
            raise InputError("the graph has no edges but self-loops; there is nothing to learn from")
        self._judges = self._held_back() if chosen else np.zeros(0, np.int64)
        self._placing: Placing | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """What is to be known of the graph after it is gone, beside its size."""
        facts: dict[str, Any] = {"unit": self.unit, "dim": self.own.latent.shape[1], "entries": self._entries}
        return facts if self._placing is None else facts | {"placing": dataclasses.asdict(self._placing)}

    # ---------------------------------------------------------------- nodes

    def _nth_linked(self, numbers: Tensor) -> Tensor:
        """The positions of nodes by their numbers among all that have links."""
        part = torch.searchsorted(self._ends, numbers, right=True)
        lookup = Lookup(self._graph, torch.from_numpy(self._graph.folder.starts)[part])
        before = int(self._ends[self._graph.parts.start - 1]) if self._graph.parts.start else 0
        return lookup.back(self._linked[lookup.there(numbers) - before] + self._graph.first)

    def _held_back(self) -> Ints:
        """Nodes that training never holds back, the same on every rank: see `DepthLGP._held_back`."""
        total = int(self._ends[-1])
        count = min(_MEASURED, max(1, total // 10))
        numbers = random.Random(self._draw(_JUDGES).initial_seed()).sample(range(total), count)
        nodes: Ints = self._nth_linked(torch.tensor(sorted(numbers))).numpy()
        return nodes

    def _mine(self, count: int) -> Tensor:
        """Which of so many things are this rank's."""
        return torch.arange(self._ranks.rank, count, self._ranks.size)

    # ---------------------------------------------------------------- batches

    def batches(self, epoch: int) -> Iterator[RankBatch]:
        """The steps of an epoch, as many on every rank."""
        of = self._sampling
        generator = self._draw(_EPOCH, epoch)
        yield from self._subgraphs(of.samples, of.batch_size, generator, self._judges)

    def _subgraphs(
        self, samples: int, batch_size: int, generator: torch.Generator, skipped: Ints
    ) -> Iterator[RankBatch]:
        """So many subgraphs in steps: each around the first nodes along a random walk, those that are skipped apart."""
        keys, of = torch.randint(1 << 62, (samples,), generator=generator), self._sampling
        mine = self._mine(samples)
        own = keys[mine]
        share = uniform_at(own + _STARTS, torch.zeros_like(own))
        starts = self._nth_linked((share * int(self._ends[-1])).long())
        walks = self._links.walks(starts, own, torch.zeros_like(own), walk_length(of.roots))
        nodes, walk = first_met(walks.numpy().copy(), self._graph.n_nodes, of.roots)
        number = mine.numpy()[walk]
        wanted = ~np.isin(nodes, skipped)
        for start in range(0, samples, batch_size):
            some = wanted & (number >= start) & (number < start + batch_size)
            groups, group = np.unique(walk[some], return_inverse=True)
            yield self._batch(nodes[some], group.astype(np.int64), own[torch.from_numpy(groups)] + 2 * _STARTS)

    def _batch(self, new: Ints, group: Ints, keys: Tensor) -> RankBatch:
        rows, latent = SpreadRows(self._links, self._weights, keys), self.own.latent
        around = surroundings(rows, new, group, self._sampling.caps, device=latent.device, dtype=latent.dtype)
        lookup = Lookup(self._graph, around.new)
        total = self._ranks.sum_(torch.tensor([float(around.size)], dtype=torch.float64))
        return RankBatch(around, lookup.back(self._vectors[lookup.here]), Lookup(self._graph, around.known), int(total))

    def _read(self, batch: RankBatch) -> tuple[Tensor, Tensor]:
        """h and raw weights of the known nodes of a batch."""
        tables, here = (self.own.latent, self.own.kernel.raw_weights), batch.known.here
        latent, raw = (batch.known.back(x.detach().index_select(0, here)) for x in tables)
        return latent, raw

    # ---------------------------------------------------------------- where training begins

    @torch.no_grad()
    def start(self, *, mean: bool) -> None:
        """h as the given vectors, and eta, zeta and a as they are given or, where that is asked for, chosen."""
        self._start_kernel()
        whole = self._ranks.sum_(self._vectors.double().sum(0)) / self._graph.n_nodes
        self.own.start_around(self._vectors, whole if mean else torch.zeros_like(whole), self._draw(0))
        if self._chosen:
            self._choose(self._alone())

    def _start_kernel(self) -> None:
        """As `LGPEmbedder._start_kernel`; a is the same for all."""
        degrees = self._degrees
        sums = [float(self._weights.double().sum()), float(len(self._weights)), degrees.sum(), np.square(degrees).sum()]
        weight, count, total, squares = self._ranks.sum_(torch.tensor(sums, dtype=torch.float64)).tolist()
        kernel = self.own.kernel
        kernel.start_by(*self._prior, weight / count, total, squares)
        for raw in (kernel.raw_eta, kernel.raw_zeta, kernel.raw_weights):
            raw.zero_()

    def _alone(self) -> RankBatch:
        """The nodes that are held back, each as if it alone were new."""
        mine = self._mine(len(self._judges))
        keys = torch.randint(1 << 62, (len(self._judges),), generator=self._draw(_ALONE))
        return self._batch(self._judges[mine.numpy()], np.arange(len(mine)), keys[mine])

    def _choose(self, judges: RankBatch) -> None:
        """As `DepthLGPNetwork.choose_starts`."""
        degrees = torch.from_numpy(self._degrees.astype(np.float32)).to(self.own.latent)
        least = self._ranks.smallest(degrees[degrees > 0].cpu(), max(1, int(self._ends[-1]) // 10))

        def weigh(power: float) -> None:
            self.own.kernel.weigh(degrees, power, degrees.new_tensor(least))

        self.own.choose_by(lambda: self._agreement(judges), weigh)

    @torch.no_grad()
    def _agreement(self, batch: RankBatch) -> float:
        """As `DepthLGPNetwork.agreement`, over the nodes of all ranks."""
        own, read = self.own, self._read(batch)
        total = torch.zeros(1, dtype=torch.float64)
        if batch.around.size:
            placed, away = own(batch.around, read) - own.mean, batch.vectors - own.mean
            total += functional.cosine_similarity(placed, away).double().sum().cpu()
        return float(self._ranks.sum_(total)) / max(1, batch.total)

    # ---------------------------------------------------------------- the loss

    def loss(self, batch: RankBatch) -> dict[str, Tensor]:
        """The empirical risk of a step over all ranks, and its gradients at the own rows and at what all share."""
        own = self.own
        shared = [p for p in own.shared if p.requires_grad]
        for p in shared:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        read = self._read(batch)
        for rows, table in zip(read, own.tables, strict=True):
            rows.requires_grad_(table.requires_grad)
        total = torch.zeros(1, dtype=torch.float64, device=own.device)
        if batch.around.size:
            risk = own.risk(own(batch.around, read), batch.vectors) / batch.total
            risk.backward()  # type: ignore[no-untyped-call]
            total += risk.detach().double()
        for rows, table in zip(read, own.tables, strict=True):
            if table.requires_grad:
                table.grad = _at_owner(batch.known, torch.zeros_like(rows) if rows.grad is None else rows.grad, table)
        self._ranks.sum_together_([p.grad for p in shared if p.grad is not None])
        return {"risk": self._ranks.sum_(total)[0]}

    # ---------------------------------------------------------------- at last

    @torch.no_grad()
    def embed(self) -> npt.NDArray[np.float32]:
        """The vectors of the own nodes, as they were given; by held-back nodes is learned what `transform` needs."""
        if self._chosen:
            self._keep_best()
        self._measure()
        if self._ranks.size == 1:
            matrix = self._graph.matrix()
            self.own.graph = StoredGraph(matrix.shape[0], matrix.nnz).to(self.own.device)
            self.own.graph.keep(matrix)
        given: npt.NDArray[np.float32] = self._vectors.float().numpy(force=True)
        return given

    def _keep_best(self) -> None:
        """Go back to the start where what was learned places held-back nodes hardly better, and match lengths."""
        own, judges = self.own, self._alone()
        learned = {name: x.clone() for name, x in own.kernel.state_dict().items()}
        agreement = {"learned": self._agreement(judges)}
        self._start_kernel()
        self._choose(judges)
        agreement["start"] = self._agreement(judges)
        if 1 - agreement["learned"] <= WORTH * (1 - agreement["start"]):
            own.kernel.load_state_dict(learned)
        own.scale = 1.0
        if judges.total:
            lengths = [torch.zeros(0), torch.zeros(0)]
            read = self._read(judges)
            if judges.around.size:
                lengths = [(x - own.mean).norm(dim=1) for x in (own(judges.around, read), judges.vectors)]
            both = [np.concatenate(self._ranks.gather(x.double().tolist()))[:, None] for x in lengths]
            own.scale = length_ratio(both[0], both[1])
        self._placing = Placing(scale=own.scale, agreement=agreement)

    def _measure(self) -> None:
        """Learn from the errors in some subgraphs how sure an answer is."""
        parts: list[list[Tensor]] = []
        for batch in self._subgraphs(_MEASURED, _TOGETHER, self._draw(_MEASURE), np.zeros(0, np.int64)):
            read = self._read(batch)
            if batch.around.size:
                system = self.own.system(batch.around, read)
                latent = solved(system)
                variances = posterior_variances(system, self._draw(_SIGNS))
                parts.append([latent, variances, batch.vectors - self.own.vectors(latent)])
        dim, wide = self.own.latent.shape[1], self.own.kernel.widest()
        empty = [self.own.latent.new_zeros(0, width) for width in (dim, wide, dim)]
        whole = [self._stacked(torch.cat([x[i] for x in [empty, *parts]])) for i in range(3)]
        if len(whole[0]):
            self.own.spread.measure(self.own.g, whole[0], whole[1], whole[2])

    # ---------------------------------------------------------------- new nodes

    @cached_property
    def _known(self) -> SpreadKnown:
        """The sums of known nodes over their neighbors."""
        latent = self.own.latent.detach()
        rows = RankRows(self._graph, _CHUNK, dtype=latent.dtype, device=latent.device)
        exchange, weights = rows.exchange(), self.own.kernel.weights(self.own.kernel.raw_weights.detach())
        sums = rows.matmul(exchange, weights), rows.matmul(exchange, weights * latent)
        return SpreadKnown(self.own, self._graph.matrix(), *sums, self._graph)

    @torch.no_grad()
    def place(
        self, later: sparse.csr_array, new: Ints, known: Ints, generator: torch.Generator | None
    ) -> tuple[Placed, npt.NDArray[np.bool_]]:
        """The rows `new` of a later graph, which every rank has, and which of them a path leads to.

        Nodes that have to do with one another are placed by one rank: those that are linked and, unless zeta is 0,
        those that have a known neighbor in common.
        """
        ready = self._known
        arriving = arrivals_by(later, new, known, lambda rows, near: rows)
        mine = self._divided(arriving)
        columns = np.flatnonzero(np.bincount(arriving.to_near[mine].indices, minlength=len(arriving.near)))
        some = Arrivals(
            arriving.near[columns],
            sparse.csr_array(arriving.to_near[mine][:, columns]),
            sparse.csr_array(arriving.among[mine][:, mine]),
            self._added(sparse.csr_array(arriving.added[columns]), known, arriving.near[columns]),
        )
        system, places = ready.system(some), torch.from_numpy(mine)
        latent = self.own.latent.new_zeros(len(new), self.own.latent.shape[1])
        variances = latent.new_zeros(len(new), self.own.kernel.widest())
        if len(mine):
            latent[places] = solved(system)
            if generator is not None:
                variances[places] = posterior_variances(system, generator, (places, len(new)))
        self._ranks.sum_together_([latent, variances])
        return Placed(latent, None if generator is None else variances), arriving.reached()

    def _divided(self, new: Arrivals) -> Ints:
        """The new nodes that this rank places, in order: whole components."""
        links = new.among
        if bool((self.own.kernel.zeta > 0).any()):
            both: Any = [[new.among, new.to_near], [new.to_near.T, None]]
            links = sparse.csr_array(sparse.block_array(both))
        _, component = connected_components(links, directed=False)
        _, group, sizes = np.unique(component[: len(new)], return_inverse=True, return_counts=True)
        owner = (np.cumsum(sizes) - sizes) * self._ranks.size // max(1, len(new))
        return np.flatnonzero(owner[group] == self._ranks.rank)

    def _added(self, rows: sparse.csr_array, known: Ints, near: Ints) -> sparse.csr_array:
        """What rows of a later graph give to links among known nodes beyond what the fitted one does: k x n."""
        entries = rows.tocoo()
        ends = known[entries.coords[1]]
        among = ends >= 0
        at, to = entries.coords[0][among], ends[among]
        lookup = Lookup(self._graph, torch.from_numpy(near[at]))
        place = self._links.find(lookup.here, lookup.there(torch.from_numpy(to)))
        fitted = torch.zeros(len(place))
        fitted[place >= 0] = self._weights[place[place >= 0]]
        values = entries.data[among] - lookup.back(fitted).numpy()
        added = sparse.coo_array((values, (at, to)), shape=(len(near), self._graph.n_nodes)).tocsr()
        added.eliminate_zeros()
        return sparse.csr_array(added)

    def _stacked(self, rows: Tensor) -> Tensor:
        """Some rows of each rank, one below the other; for few."""
        counts = self._ranks.gather(len(rows))
        padded = rows.new_zeros(max(counts), rows.shape[1])
        padded[: len(rows)] = rows
        return torch.cat([x[:count] for x, count in zip(self._ranks.stack(padded), counts, strict=True)])


@dataclasses.dataclass(frozen=True, eq=False)
class SpreadKnown(Known):
    """What is kept ready of known nodes, where those are spread over ranks; all ranks ask together."""

    graph: RankGraph

    def read(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """a and h of some known nodes."""
        lookup = Lookup(self.graph, nodes)
        raw = self.process.kernel.raw_weights.detach()[lookup.here]
        return self.process.kernel.weights(lookup.back(raw)), lookup.back(self.process.latent.detach()[lookup.here])

    def _sums(self, near: Tensor, added: sparse.csr_array) -> tuple[Tensor, Tensor]:
        lookup = Lookup(self.graph, near)
        mass, pull = lookup.back(self.mass[lookup.here]), lookup.back(self.pull[lookup.here])
        return self._with_added(mass, pull, added)


def _unit(graph: RankGraph) -> float:
    """As `netfold.models.lgp.neighborhoods.unit_of`, of the parts of all ranks."""
    sums = [float(graph.rows(p).data.sum(dtype=np.float64)) for p in graph.parts]
    counts = [float(graph.rows(p).nnz) for p in graph.parts]
    total, count = graph.ranks.sum_(torch.tensor([sum(sums), sum(counts)], dtype=torch.float64)).tolist()
    return unit_near(total / count)


def _at_owner(lookup: Lookup, grad: Tensor, table: Tensor) -> Tensor:
    """The gradient of rows that were brought, as a sparse one of the table's own rows, where all ranks' add up."""
    nodes, at = torch.unique(lookup.here, return_inverse=True)
    coming = lookup.there(grad)
    sums = coming.new_zeros(len(nodes), table.shape[1]).index_add_(0, at, coming)
    return torch.sparse_coo_tensor(nodes[None], sums, table.shape, is_coalesced=True)
