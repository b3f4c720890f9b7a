"""What a score of pairs is called: one name, or a sum of several with what each counts."""

from __future__ import annotations

import math
import re
import reprlib
from collections import Counter
from collections.abc import Iterable, Sequence

from netfold.errors import InputError

__all__ = ["OF_LINKS", "OF_MODELS", "is_pair_score", "mean_score", "short_score", "sum_in_words", "weighted_scores"]

OF_MODELS = ("dot", "cosine", "distance", "paths", "w2", "decoder")
"""What vectors, or a model's own decoder, say of a pair."""
OF_LINKS = ("resource allocation", "preferential attachment", "paths of three", "personalised PageRank")
"""What the links say of a pair without any vectors, the quickest first."""
_TERM = re.compile(r"(?:(\d{1,9}(?:\.\d{1,9})?) +)?([A-Za-z0-9 ]{1,40})")


def weighted_scores(score: str) -> tuple[tuple[float, str], ...]:
    """The scores that are added, with what each counts; an `InputError` where one is not known.

    >>> weighted_scores("0.5 cosine + resource allocation")
    ((0.5, 'cosine'), (1.0, 'resource allocation'))
    """
    terms = score.split("+", 2 * len(OF_MODELS + OF_LINKS))
    some = tuple(_term(term.strip(), score) for term in terms)
    if len({name for _, name in some}) < len(some):
        raise InputError(f"score={reprlib.repr(score)} has a score twice; give each once, with what it counts")
    return some


def _term(words: str, score: str) -> tuple[float, str]:
    match, known = _TERM.fullmatch(words), OF_MODELS + OF_LINKS
    if match is None or match[2] not in known or float(match[1] or 1) <= 0:
        raise InputError(
            f"score={reprlib.repr(score)} is not a score of pairs; there are {', '.join(known)}, and sums of these, "
            "as 'cosine + 0.5 paths of three'"
        )
    return float(match[1] or 1), match[2]


def is_pair_score(score: object) -> bool:
    """Whether this is a score, or a sum of scores."""
    try:
        return isinstance(score, str) and bool(weighted_scores(score))
    except InputError:
        return False


def sum_in_words(terms: Iterable[tuple[float, str]]) -> str:
    """A sum as it is written, what counts most first; what a term counts has three digits.

    >>> sum_in_words([(1 / 3, "cosine"), (2.0, "paths")])
    '2 paths + 0.333 cosine'
    """
    some = [(round(weight, 3), name) for weight, name in terms]
    known = [x for x in some if math.isfinite(x[0]) and x[0] > 0]
    return " + ".join(f"{weight:g} {name}" for weight, name in sorted(known, key=lambda x: -x[0]))


def mean_score(chosen: Sequence[str]) -> str:
    """Of scores that several parts of the data chose: the one that most did, or of sums the mean, of shares that add up
    to 1. Nothing, where nothing was chosen.

    >>> mean_score(["cosine", "dot", "cosine"])
    'cosine'
    >>> mean_score(["3 cosine + 1 dot", "dot"])
    '0.625 dot + 0.375 cosine'
    """
    some = [x for x in chosen if x]
    if not any("+" in x for x in some):
        return Counter(some).most_common(1)[0][0] if some else ""
    shares: Counter[str] = Counter()
    for terms in map(weighted_scores, some):
        total = sum(weight for weight, _ in terms)
        shares.update({name: weight / total / len(some) for weight, name in terms})
    return sum_in_words((weight, name) for name, weight in shares.items())


_SHOWN = 2
"""Terms of a sum that a table has room for."""


def short_score(score: str) -> str:
    """A score for a narrow column.

    >>> short_score("2.148 resource allocation + 0.391 cosine + 0.26 distance")
    '2.148 resource allocation + 0.391 cosine + ...'
    """
    terms = score.split(" + ")
    return score if len(terms) <= _SHOWN else " + ".join([*terms[:_SHOWN], "..."])
