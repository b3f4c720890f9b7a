"""What a table asks about hyperedges: which are known, which are asked about, and against which other tuples."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.errors import InputError
from netfold.hypergraph import Hypergraph

__all__ = ["asked_of", "known_of"]

Rows = npt.NDArray[np.int64]


def known_of(whole: Hypergraph, kept: Any, seed: int) -> Hypergraph:
    """A random share of the hyperedges, and all nodes.

    >>> known_of(Hypergraph.from_tuples([("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")]), 0.5, seed=0)
    Hypergraph(4 nodes, 2 edges)
    """
    if not isinstance(kept, Real) or isinstance(kept, bool) or not 0 < float(kept) <= 1:
        raise InputError(f"kept={kept!r} is not a share of the hyperedges, above 0 and at most 1")
    count = max(1, round(float(kept) * whole.n_edges))
    if count == whole.n_edges:
        return whole
    chosen = np.sort(np.random.default_rng(seed).permutation(whole.n_edges)[:count])
    kinds = [
        (kind.roles, kind.types, kind.rows[np.isin(numbers, chosen)])
        for kind, numbers in zip(whole.kinds, whole.edge_numbers(), strict=True)
    ]
    return Hypergraph.from_kinds(kinds, nodes=whole.nodes, node_types=whole.type_codes, types=whole.types)


def asked_of(
    whole: Hypergraph, known: Hypergraph, parts: Callable[[str], Any], given: dict[str, Any], seed: int
) -> tuple[Any, dict[str, Any]]:
    """The hyperedges asked about, and the arguments of `evaluate.hyperedges` beside `known` and the seed.

    `test`: "test", that part of the data, or "known", what was fitted. `negatives`: as `evaluate.hyperedges` has them,
    or "fixed", the part "test_negatives". Where not all of the training hyperedges are known, the question stays that
    of all: what is not known among them is neither asked about nor a negative.
    """
    arguments, test = dict(given), given.get("test", "test")
    arguments.pop("test", None)
    if test not in ("test", "known"):
        raise InputError(f"test={test!r} is not one of test, known")
    if arguments.get("negatives") == "fixed":
        arguments["negatives"] = parts("test_negatives")
    if test == "known":
        return known, {"duplicates": "keep"} | arguments
    asked = parts("test")
    return (asked, arguments) if known is whole else _as_of_all(whole, asked, arguments, seed)


def _as_of_all(
    whole: Hypergraph, asked: Hypergraph, arguments: dict[str, Any], seed: int
) -> tuple[Any, dict[str, Any]]:
    """The positives and negatives that there would be if all were known."""
    from netfold.evaluate.hyperedge_negatives import SAMPLERS, sampled_negatives
    from netfold.evaluate.tuples import Order, TupleSet, coded_edges, decoded, stacked

    rows, of_all = coded_edges(asked), coded_edges(whole)
    order = Order(whole)
    test = TupleSet(rows, whole.n_nodes, order)
    positives = rows[test.first & ~TupleSet(of_all, whole.n_nodes, order).holds(rows)]
    truth = TupleSet(stacked(of_all, rows), whole.n_nodes, order)
    how, count = arguments.pop("negatives", "replaced"), arguments.pop("per_positive", 5)
    if how not in SAMPLERS or how == "all":
        raise InputError(f"negatives={how!r} where a share is kept; it can be replaced or uniform")
    wrong = sampled_negatives(how, positives, whole, truth, count, seed)
    return decoded(positives, whole.nodes), arguments | {"negatives": decoded(wrong, whole.nodes)}
