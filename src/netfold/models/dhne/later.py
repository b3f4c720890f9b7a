"""Nodes that DHNE never saw: what a later hypergraph says of them, and their vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from netfold.base import listed
from netfold.errors import InputError
from netfold.hypergraph import Hypergraph
from netfold.labels import Labels
from netfold.models.dhne.network import DHNENetwork
from netfold.models.dhne.schema import Ints, Schema
from netfold.models.dhne.source import rows_over_known

__all__ = ["check_types", "new_vectors", "type_codes_of"]


def type_codes_of(hypergraph: Hypergraph, schema: Schema) -> Ints:
    """The types of a later hypergraph's nodes, as they were numbered when it was fitted."""
    made: Ints = np.array([schema.types.index(name) for name in hypergraph.types])[hypergraph.type_codes]
    return made


def check_types(hypergraph: Hypergraph, network: DHNENetwork, nodes: Labels) -> None:
    """Refuse a type that was not learned, and a known node (`nodes`) that is of another type now."""
    types = network.schema.types
    odd = next((name for name in hypergraph.types if name not in types), None)
    if odd is not None:
        raise InputError(f"nodes of the type {odd!r} were not learned; the types are {', '.join(types)}")
    at = nodes.find(hypergraph.nodes)
    then, now = network.places().type_codes[at], type_codes_of(hypergraph, network.schema)
    changed = np.flatnonzero((at >= 0) & (then != now))
    if changed.size:
        i = int(changed[0])
        raise InputError(
            f"{hypergraph.nodes[i]!r} is a {types[now[i]]} here and was a {types[then[i]]} when it was fitted"
        )


def new_vectors(hypergraph: Hypergraph, network: DHNENetwork, new: Ints, known: Ints) -> npt.NDArray[np.float32]:
    """The vectors of the nodes `new`, from their rows over known nodes; `known` has each node's place then, or -1."""
    places, types = network.places(), type_codes_of(hypergraph, network.schema)[new]
    over_known = rows_over_known(hypergraph, new, known, len(places.type_codes))
    vectors, lost = np.empty((len(new), network.dim), np.float32), []
    for t in np.unique(types).tolist():
        at = np.flatnonzero(types == t)
        counts = places.rows(over_known[at], t)
        lost += new[at[np.diff(network.autoencoder(t).scaled(counts).indptr) == 0]].tolist()
        vectors[at] = network.embed(counts, t)
    if lost:
        names = listed([hypergraph.nodes[i] for i in sorted(lost)])
        raise InputError(
            f"{names}: in no hyperedge with a known node, and DHNE can place a new node only by such hyperedges"
        )
    return vectors
