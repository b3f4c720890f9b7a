"""New nodes placed among known ones: all at once, exactly, or component by component from sampled neighborhoods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from netfold.lgp.arrivals import Arrivals
from netfold.lgp.known import Known
from netfold.lgp.process import Process
from netfold.lgp.solve import solved
from netfold.lgp.spread import posterior_variances
from netfold.lgp.surroundings import Caps, read_around
from netfold.lgp.system import System
from netfold.sparse_rows import SparseRows

__all__ = ["Placed", "placed_at_once", "placed_by_component"]

_TOGETHER = 4096
"""New nodes whose components are solved as one system, unless one component has more."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Placed:
    """Latent states of m new nodes, less the prior's mean; a node that no path leads to has the prior's, 0."""

    latent: Tensor
    """m x s"""
    variances: Tensor | None
    """m x 1 or m x s, where they were asked for."""


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


def _pieces(new: Arrivals) -> Iterator[tuple[Rows, Rows]]:
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
