"""`Stored`: what every format writes and reads, and what the formats have in common."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

from netfold.labels import Labels


class Stored(NamedTuple):
    """What a file holds."""

    nodes: Labels
    vectors: npt.NDArray[Any]
    std: npt.NDArray[Any] | None


def columns(dim: int, with_std: bool) -> list[str]:
    """The names of the columns of numbers in a table."""
    return [f"{letter}{j}" for letter in ("vs" if with_std else "v") for j in range(dim)]


def verified(labels: Labels) -> Labels:
    """Labels from a file once more from what they say: readable, distinct, and each of a kind that labels have."""
    return Labels.of(labels.arrays()["ints"] if labels.kind == "int" else list(labels))
