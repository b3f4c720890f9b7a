"""The names of scores of pairs, and sums of them."""

from __future__ import annotations

import pytest

from netfold.embedder.pair_score import OF_LINKS, OF_MODELS, is_pair_score, mean_score, sum_in_words, weighted_scores
from netfold.errors import InputError


def test_a_sum_that_is_written_is_read_again() -> None:
    terms = [(0.5, "cosine"), (1234.5, "paths of three"), (0.001, "w2"), (7.0, "personalised PageRank")]
    words = sum_in_words(terms)
    assert words == "1234.5 paths of three + 7 personalised PageRank + 0.5 cosine + 0.001 w2"
    assert sorted(weighted_scores(words)) == sorted(terms)
    for name in OF_MODELS + OF_LINKS:
        assert weighted_scores(name) == ((1.0, name),)
    assert sum_in_words([(1e-9, "dot"), (float("nan"), "w2")]) == "", "what counts nothing is left out"


@pytest.mark.parametrize(
    "wrong",
    [
        "", "euclid", "own", "cosine walks", "+", "cosine +", "-1 cosine", "0 cosine", "nan cosine", "1e9 cosine",
        "cosine + cosine", "2 cosine + 3 cosine", "cosine; dot", "1" * 50 + " cosine", " + ".join(["dot"] * 100),
        "cosine+walks", "0.0 paths", "None",
    ],
)  # fmt: skip
def test_what_is_no_score_is_refused_in_a_sentence(wrong: str) -> None:
    assert not is_pair_score(wrong)
    with pytest.raises(InputError, match=r"is not a score of pairs; there are dot, cosine|has a score twice"):
        weighted_scores(wrong)


@pytest.mark.parametrize("wrong", [None, 3, ["cosine"], {"cosine": 1}])
def test_what_is_no_text_is_none(wrong: object) -> None:
    assert not is_pair_score(wrong)


def test_the_mean_of_sums_has_the_mean_share_of_each() -> None:
    words = mean_score(["2 cosine + 2 paths", "", "0.3 cosine + 0.9 dot", "paths"])
    found = {name: weight for weight, name in weighted_scores(words)}
    assert found == {"cosine": 0.25, "paths": 0.5, "dot": 0.25}
    assert mean_score([]) == mean_score(["", ""]) == ""
    assert mean_score(["dot", "cosine", "cosine"]) == "cosine"
    assert mean_score(["own"]) == "own", "scores of other tasks are no sums, and kept as they are"
