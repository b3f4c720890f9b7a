"""From a hypergraph to what DHNE trains on: counts of A by type, tuples by kind, and the rows of new nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import torch
from scipy import sparse

from netfold.hypergraph import Hypergraph
from netfold.models.dhne.batches import Source, Tuples
from netfold.models.dhne.held_out import HeldOut
from netfold.models.dhne.negatives import Negatives, Noise, TupleSet, possible_tuples
from netfold.models.dhne.network import DHNENetwork
from netfold.models.dhne.schema import Ints, Places
from netfold.sparse_rows import SparseRows

__all__ = ["Drawing", "counts_by_type", "rows_over_known", "source"]

POWER = 0.75
"""Of the degrees, where noise goes by degree: word2vec's."""


@dataclasses.dataclass(frozen=True)
class Drawing:
    """How tuples that are no hyperedges are drawn, and whether the encoder does without a step's hyperedges."""

    noise: str = "uniform"
    replaced: float = 1.1
    hold_out: bool = False


def counts_by_type(hypergraph: Hypergraph, places: Places) -> list[sparse.csr_array]:
    """Each type's rows of A = H Hᵀ - D_v, over the columns that they can have entries in."""
    a = hypergraph.adjacency()
    return [places.rows(a[members], t) for t, members in enumerate(places.members)]


def source(
    hypergraph: Hypergraph,
    places: Places,
    counts: Sequence[sparse.csr_array],
    network: DHNENetwork,
    drawing: Drawing,
    dtype: torch.dtype = torch.float32,
) -> Source:
    """What batches are made of, on the network's device."""
    coders = [network.autoencoder(t) for t in range(len(counts))]
    written = [coder.scaled(rows) for coder, rows in zip(coders, counts, strict=True)]
    seen = [coder.seen(rows) for coder, rows in zip(coders, written, strict=True)]
    rows = [SparseRows.from_scipy(x, dtype=dtype, device=network.device) for x in written]
    values = [torch.tensor(x.data, dtype=dtype, device=network.device) for x in seen]
    return Source(
        rows,
        [r.with_values(v) for r, v in zip(rows, values, strict=True)],
        _tuples(hypergraph, places, network.device, drawing),
        HeldOut(counts, coders, places, network.device, dtype) if drawing.hold_out else None,
    )


def _tuples(hypergraph: Hypergraph, places: Places, device: torch.device, drawing: Drawing) -> list[Tuples]:
    schema = places.schema
    weights = [torch.from_numpy(hypergraph.degrees[members] ** POWER).to(device) for members in places.members]
    drawn = [Noise(len(w), w if drawing.noise == "degree" else None) for w in weights]
    made = []
    for form, rows in zip(schema.forms, places.tuples(hypergraph), strict=True):
        known = TupleSet(torch.from_numpy(rows).to(device), [schema.counts[t] for t in form.types], form.alike)
        possible = possible_tuples(form, schema.counts)
        negatives = Negatives(form, known, [drawn[t] for t in form.types], drawing.replaced, possible)
        made.append(Tuples(form, known.rows, negatives))
    return made


def rows_over_known(hypergraph: Hypergraph, new: Ints, known: Ints, n: int) -> sparse.csr_array:
    """In how many hyperedges new nodes are together with known ones: m x n, from the hyperedges of new nodes alone.

    `new` are nodes of the hypergraph, `known` has the place of each of its nodes among the n known ones, or -1.
    """
    place = np.full(hypergraph.n_nodes, -1, np.int64)
    place[new] = np.arange(len(new))
    entries = [np.empty((2, 0), np.int64)]
    for kind in hypergraph.kinds:
        rows = kind.rows[(place[kind.rows] >= 0).any(axis=1)]
        for a, b in permutations(range(rows.shape[1]), 2):
            pairs = np.stack([place[rows[:, a]], known[rows[:, b]]])
            entries.append(pairs[:, (pairs >= 0).all(axis=0)])
    row, col = np.concatenate(entries, axis=1)
    made = sparse.coo_array((np.ones(len(row), np.float32), (row, col)), shape=(len(new), n)).tocsr()
    made.sort_indices()
    return made
