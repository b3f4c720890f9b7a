"""Whether a score tells hyperedges from other tuples of the same types."""

from __future__ import annotations

from typing import Any

from netfold.errors import InputError
from netfold.evaluate.checks import check_at_least_one, check_choice
from netfold.evaluate.hyperedge_negatives import SAMPLERS, all_negatives, sampled_negatives
from netfold.evaluate.result import Result, name_of
from netfold.evaluate.separation import separation
from netfold.evaluate.tuple_scores import AGGREGATES, cheap_scorers, own_scorer
from netfold.evaluate.tuples import Codes, Order, TupleSet, coded_edges, coded_like, stacked
from netfold.hypergraph import Hypergraph

__all__ = ["hyperedges"]

_DUPLICATES = ("drop", "keep")


def hyperedges(
    model: Any,
    test: Any,
    *,
    known: Hypergraph,
    negatives: Any = "replaced",
    per_positive: int = 5,
    duplicates: str = "drop",
    aggregate: str | None = None,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """AUC and average precision (AP) of the scores of hyperedges, `test`, against tuples that are none.

    `model` has `score(tuples)`, a number for each tuple of labels, or vectors: then a tuple's score is the `aggregate`,
    "mean" or "min", of the cosines of its pairs (as it is for a model that has both, where `aggregate` is given).
    `known` is the hypergraph that it was learned from, with every node of `test` and their types; `test` a `Hypergraph`
    or tuples of labels. Tuples of the same nodes are one hyperedge, in whatever order they name them, unless nodes of
    one type have roles of their own in `known`: (head, relation, tail) is not (tail, relation, head).

    `negatives`: "replaced", one position (two in a tenth of the cases) gets a random node of its type, `per_positive`
    for each hyperedge; "uniform", every position does; "all", every other tuple of the same types; or tuples, of which
    those that are hyperedges are left out. None is a hyperedge of `known` or `test`.

    `duplicates`: "drop" the hyperedges of `test` that are in `known`, and all but one of equal ones; or "keep" them, as
    for the reconstruction of `known` (`test=known`). The protocol counts both.

    The baselines are Σ log(1 + count) over the pairs of a tuple, in how many hyperedges of `known` they are together,
    and Σ log(1 + degree) over its nodes.

    >>> from netfold.embedding import Embedding
    >>> known = Hypergraph.from_tuples([("ann", "film"), ("bob", "book")])
    >>> vectors = Embedding(["ann", "film", "bob", "book"], [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> hyperedges(vectors, known, known=known, duplicates="keep", baselines=False).figures
    {'AUC': 1.0, 'AP': 1.0}
    """
    _check(known, negatives, duplicates, aggregate)
    check_at_least_one(per_positive=per_positive)
    score = own_scorer(model, known, aggregate)
    test_rows, known_rows, order = coded_like(known, test), coded_edges(known), Order(known)
    seen = TupleSet(known_rows, known.n_nodes, order).holds(test_rows)
    first = TupleSet(test_rows, known.n_nodes, order).first
    positives = test_rows if duplicates == "keep" else test_rows[first & ~seen]
    if not len(positives):
        raise InputError(f"none of {len(test_rows):,} test hyperedges is new; duplicates='keep' takes known ones")
    truth = TupleSet(stacked(known_rows, test_rows), known.n_nodes, order)
    wrong, chosen = _negatives(negatives, positives, known, truth, per_positive, seed)
    cheap = cheap_scorers(known) if baselines else {}
    protocol = {"positives": len(positives), "negatives": chosen, "count of negatives": len(wrong)}
    protocol |= {f"in the training data ({duplicates})": int(seen.sum())}
    protocol |= {f"repeated in the test data ({duplicates})": int((~first & ~seen).sum())}
    return Result(
        "hyperedges",
        name_of(model),
        separation(score(positives), score(wrong)),
        protocol | _how(model, aggregate) | {"seed": seed},
        {name: separation(scorer(positives), scorer(wrong)) for name, scorer in cheap.items()},
    )


def _negatives(
    given: Any, positives: Codes, known: Hypergraph, truth: TupleSet, per_positive: int, seed: int
) -> tuple[Codes, str]:
    """Tuples that are no hyperedges, and how the protocol calls them."""
    if isinstance(given, str) and given == "all":
        made, words = all_negatives(positives, known, truth), SAMPLERS[given]
    elif isinstance(given, str):
        made = sampled_negatives(given, positives, known, truth, per_positive, seed)
        words = f"{given}: {SAMPLERS[given]}, {per_positive} per positive"
    else:
        listed = coded_like(known, given)
        false = truth.holds(listed)
        made, words = listed[~false], f"as given, {false.sum():,} of {len(listed):,} left out as they are hyperedges"
    if not len(made):
        raise InputError("no tuple was found that is not a hyperedge; give others as negatives")
    return made, words


def _how(model: Any, aggregate: str | None) -> dict[str, str]:
    own = aggregate is None and hasattr(model, "score")
    return {"score": "the model's own" if own else f"{aggregate or 'mean'} of the cosines of pairs"}


def _check(known: Any, negatives: Any, duplicates: Any, aggregate: Any) -> None:
    if not isinstance(known, Hypergraph):
        raise InputError(f"known is a {type(known).__name__}; give a Hypergraph, such as Hypergraph.from_tuples makes")
    if isinstance(negatives, str) and negatives not in SAMPLERS:
        raise InputError(f"negatives={negatives!r} is not one of {', '.join(SAMPLERS)}, nor a list of tuples")
    check_choice(_DUPLICATES, duplicates=duplicates)
    if aggregate is not None:
        check_choice(AGGREGATES, aggregate=aggregate)
