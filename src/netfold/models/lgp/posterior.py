"""New nodes placed among known ones by a trained process: what arrives, what is kept ready of known nodes, and where.

All at once, exactly, or component by component from sampled neighborhoods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from netfold.data.checks import Ints
from netfold.learn.sparse_rows import SparseRows
from netfold.models.lgp.neighborhoods import Caps, read_around
from netfold.models.lgp.process import Process
from netfold.models.lgp.solve import System, posterior_variances, precision, solved

__all__ = [
    "Arrivals", "Known", "Placed", "arrivals", "arrivals_by", "grown", "placed_at_once", "placed_by_component",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Arrivals:
    """m new nodes among n known ones, k of which they have links with."""

    near: Ints
    """k: the known neighbors of new nodes, in order."""
    to_near: sparse.csr_array
    """m x k"""
    among: sparse.csr_array
    """m x m, symmetric, without self-loops."""
    added: sparse.csr_array
    """k x n: by how much the later graph has changed the weights of links among known nodes."""

    def __len__(self) -> int:
        return int(self.among.shape[0])

    def reached(self) -> npt.NDArray[np.bool_]:
        """Which new nodes a path leads to from a known one."""
        beside = np.diff(self.to_near.indptr) > 0
        if beside.all():
            return beside
        count, component = connected_components(self.among, directed=False)
        return np.bincount(component, beside, minlength=count)[component] > 0


def arrivals(later: sparse.csr_array, new: Ints, known: Ints, fitted: sparse.csr_array) -> Arrivals:
    """The rows `new` of a later graph, beside the graph that was `fitted`.

    `known` has each later row's position there, or -1. Both matrices are symmetric and without self-loops. A link among
    known nodes has the weight that the later graph gives it, where that has it; where not, the fitted one's.
    """
    return arrivals_by(later, new, known, lambda rows, near: _added(rows, known, near, fitted))


def arrivals_by(
    later: sparse.csr_array,
    new: Ints,
    known: Ints,
    added_to: Callable[[sparse.csr_array, Ints], sparse.csr_array],
) -> Arrivals:
    """The same, where `added_to` says what rows of the later graph add to the links of the known nodes `near`."""
    m, place = len(new), np.full(len(known), -1, np.int64)
    place[new] = np.arange(m)
    rows = later[new].tocoo()
    at, ends = (x.astype(np.int64) for x in rows.coords)
    inner = place[ends] >= 0
    among = sparse.coo_array((rows.data[inner], (at[inner], place[ends[inner]])), shape=(m, m)).tocsr()
    beside, column = np.unique(ends[~inner], return_inverse=True)
    order = np.argsort(known[beside])
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    to_near = sparse.coo_array((rows.data[~inner], (at[~inner], rank[column])), shape=(m, len(beside))).tocsr()
    beside = beside[order]
    return Arrivals(known[beside], _sorted(to_near), _sorted(among), added_to(later[beside], known[beside]))


def _added(rows: sparse.csr_array, known: Ints, near: Ints, fitted: sparse.csr_array) -> sparse.csr_array:
    """What rows of a later graph give to links among known nodes beyond what the fitted one does."""
    shape, ends = (len(near), fitted.shape[0]), known[rows.indices]
    among = ends >= 0
    if not among.any():
        return sparse.csr_array(shape, dtype=fitted.dtype)
    entries = rows.tocoo()
    at = entries.coords[0]
    place, weights = (at[among], ends[among]), entries.data[among]
    there = sparse.coo_array((np.ones_like(weights), place), shape=shape).tocsr()
    added = sparse.csr_array(sparse.coo_array((weights, place), shape=shape).tocsr() - fitted[near].multiply(there))
    added.eliminate_zeros()
    return added


def grown(fitted: sparse.csr_array, later: sparse.csr_array, new: Ints, known: Ints) -> sparse.csr_array:
    """The fitted graph with all that a later one adds: its known nodes first, then the new ones, in order."""
    n, place = fitted.shape[0], known.copy()
    place[new] = n + np.arange(len(new))
    entries, before = later.tocoo(), fitted.tocoo()
    one, two = (place[x] for x in entries.coords)
    size = n + len(new)
    keys, old = one * size + two, before.coords[0].astype(np.int64) * size + before.coords[1]
    stays = ~np.isin(old, keys)
    at = np.concatenate([before.coords[0][stays], one]), np.concatenate([before.coords[1][stays], two])
    matrix = sparse.coo_array((np.concatenate([before.data[stays], entries.data]), at), shape=(size, size))
    return _sorted(matrix.tocsr())


def _sorted(matrix: sparse.csr_array) -> sparse.csr_array:
    matrix.sort_indices()
    return matrix


@dataclass(frozen=True, eq=False)
class Known:
    """The sums of known nodes over their known neighbors: a new node's second order needs no more of those.

    With these, new nodes with e links are placed in O(e s) a step of the solver, however large the graph is and
    whatever the degrees of their neighbors are.
    """

    process: Process
    matrix: sparse.csr_array
    """A: n x n."""
    mass: Tensor
    """A a: n x 1 or n x s."""
    pull: Tensor
    """A (a ∘ h): n x s."""

    @staticmethod
    @torch.no_grad()
    def of(process: Process, matrix: sparse.csr_array) -> Known:
        """The sums over all known nodes, in O(edges s)."""
        rows = SparseRows.from_scipy(matrix, device=process.device, dtype=process.latent.dtype)
        return Known(process, matrix, *_summed(rows, *_read(process, slice(None))))

    @torch.no_grad()
    def system(self, new: Arrivals) -> System:
        """The equations of new nodes, exactly, all at once."""
        device, dtype = self.process.device, self.process.latent.dtype
        near = torch.from_numpy(new.near).to(device)
        weights, latent = self.read(near)
        outward = SparseRows.from_scipy(new.to_near, device=device, dtype=dtype)
        links = sparse.csr_array(sparse.hstack([new.among, new.to_near]))
        links.sort_indices()
        mass, pull = self._sums(near, new.added)
        return System(
            SparseRows.from_scipy(links, device=device, dtype=dtype),
            torch.cat([weights.new_ones(len(new), weights.shape[1]), weights]),
            torch.cat([outward.matmul(weights), mass]),
            torch.cat([outward.matmul(weights * latent), pull]),
            self.process.kernel.eta,
            self.process.kernel.zeta,
        )

    @torch.no_grad()
    def each_as_new(self) -> tuple[Tensor, Tensor]:
        """Every known node as if it were new and all others known: its latent state, n x s, and M_vv, n x 1 or n x s.

        With q_v = Σ_w A_vw² a_w², and as v's own weight is then 1,
        M_vv = 1 + eta (A a)_v + zeta (Σ_w A_vw a_w² (A a)_w - a_v q_v), and
        M_vv z_v = eta (A (a ∘ h))_v + zeta (Σ_w A_vw a_w² (A (a ∘ h))_w - a_v q_v h_v): a few products in all.
        """
        kernel, usual = self.process.kernel, self.process.latent.dtype
        rows = SparseRows.from_scipy(self.matrix, device=self.process.device, dtype=usual)
        dtype, mass, pull = precision(rows), self.mass, self.pull
        weights, latent, eta, zeta = (x.to(dtype) for x in (*_read(self.process, slice(None)), kernel.eta, kernel.zeta))
        if dtype != usual:
            rows = rows.with_values(rows.values.to(dtype))
            mass, pull = _summed(rows, weights, latent)
        squares = weights.square()
        own = weights * rows.with_values(rows.values.square()).matmul(squares)  # a_v q_v
        diagonal = 1 + eta * mass + zeta * (rows.matmul(squares * mass) - own)
        far = rows.matmul(squares * pull) - own * latent
        return ((eta * pull + zeta * far) / diagonal).to(usual), diagonal.to(usual)

    def read(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """a and h of some known nodes, the latter less the prior's mean."""
        return _read(self.process, nodes)

    def _sums(self, near: Tensor, added: sparse.csr_array) -> tuple[Tensor, Tensor]:
        """`mass` and `pull` of some nodes, with what a later graph adds to their links."""
        mass, pull = self.mass[near], self.pull[near]
        return self._with_added(mass, pull, added) if added.nnz else (mass, pull)

    def _with_added(self, mass: Tensor, pull: Tensor, added: sparse.csr_array) -> tuple[Tensor, Tensor]:
        ends, columns = np.unique(added.indices, return_inverse=True)
        few = sparse.csr_array((added.data, columns, added.indptr), shape=(len(mass), len(ends)))
        more = SparseRows.from_scipy(few, device=mass.device, dtype=pull.dtype)
        weights, latent = self.read(torch.from_numpy(ends.astype(np.int64)).to(mass.device))
        more_mass, more_pull = _summed(more, weights, latent)
        return mass + more_mass, pull + more_pull


def _summed(rows: SparseRows, weights: Tensor, latent: Tensor) -> tuple[Tensor, Tensor]:
    """A a and A (a ∘ h)."""
    return rows.matmul(weights), rows.matmul(weights * latent)


def _read(process: Process, nodes: Tensor | slice) -> tuple[Tensor, Tensor]:
    """a and h of some nodes, the latter less the prior's mean, and less what attributes say of it."""
    latent = process.latent.detach()[nodes]
    if process.explained is not None:
        latent = latent - process.explained[nodes]
    return process.kernel.weights(process.kernel.raw_weights.detach()[nodes]), latent


_TOGETHER = 4096
"""New nodes whose components are solved as one system, unless one component has more."""


@dataclass(frozen=True, eq=False)
class Placed:
    """Latent states of m new nodes, less the prior's mean; a node that no path leads to has the prior's, 0."""

    latent: Tensor
    """m x s"""
    variances: Tensor | None
    """m x 1 or m x s, where they were asked for."""
    by_attributes: npt.NDArray[np.bool_] | None = None
    """m: whether a node has its place by attributes alone, as no path leads to it; None where none has."""


@torch.no_grad()
def placed_at_once(known: Known, new: Arrivals, generator: torch.Generator | None) -> Placed:
    """By the chapter's prediction routine over all new nodes; with a generator, also how sure it is."""
    system = known.system(new)
    return Placed(solved(system), None if generator is None else posterior_variances(system, generator))


@torch.no_grad()
def placed_by_component(
    process: Process, whole: sparse.csr_array, new: Arrivals, caps: Caps, generator: torch.Generator, *, variances: bool
) -> Placed:
    """By the chapter's efficient variant: each connected component of new nodes apart, with sampled known ones.

    `whole` is the later graph, known nodes first. This is what `placed_at_once` gives where nothing is left out and no
    two components have a known neighbor in common, which by zeta would draw them together.
    """
    n, m, lost = len(process.latent), len(new), np.flatnonzero(~new.reached())
    latent = process.latent.new_zeros(m, process.latent.shape[1])
    spread = process.latent.new_ones(m, process.kernel.widest())
    if variances and len(lost):
        spread[torch.from_numpy(lost).to(process.device)] = posterior_variances(
            _among_themselves(process, sparse.csr_array(new.among[lost][:, lost])), generator
        )
    for some, component in _pieces(new):
        around = read_around(
            whole, n + some, component, caps, generator, n_known=n, device=process.device, dtype=latent.dtype
        )
        system = process.system(around)
        latent[around.new - n] = solved(system)
        if variances:
            spread[around.new - n] = posterior_variances(system, generator)
    return Placed(latent, spread if variances else None)


def _among_themselves(process: Process, among: sparse.csr_array) -> System:
    """The equations of new nodes without a path to known ones."""
    m, latent = among.shape[0], process.latent
    one = latent.new_ones(m, process.kernel.raw_weights.shape[1])
    links = SparseRows.from_scipy(among, device=process.device, dtype=latent.dtype)
    nothing = latent.new_zeros(m, latent.shape[1])
    return System(links, one, torch.zeros_like(one), nothing, process.kernel.eta, process.kernel.zeta)


def _pieces(new: Arrivals) -> Iterator[tuple[Ints, Ints]]:
    """New nodes that a path leads to, whole components at a time, and the component of each."""
    _, component = connected_components(new.among, directed=False)
    some = np.flatnonzero(new.reached())
    some = some[np.argsort(component[some], kind="stable")]
    group = component[some].astype(np.int64)
    sizes = np.unique(group, return_counts=True)[1]
    piece = np.repeat(sizes.cumsum() // _TOGETHER, sizes)
    for part in np.split(np.arange(len(some)), np.flatnonzero(np.diff(piece)) + 1):
        if len(part):
            yield some[part], group[part]
