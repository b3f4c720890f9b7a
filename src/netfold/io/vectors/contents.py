"""`Stored`: what a file of vectors holds; and nodes as plain text, for the formats that have nothing else."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy.typing as npt

from netfold.data.nodes import Nodes
from netfold.errors import InputError

__all__ = []


class Stored(NamedTuple):
    """What a file holds."""

    nodes: Nodes
    vectors: npt.NDArray[Any]
    std: npt.NDArray[Any] | None
    fitted_to: str | None = None
    """The fingerprint of a graph."""


def column_names(dim: int, with_std: bool) -> list[str]:
    """The names of the columns of numbers in a table."""
    return [f"{letter}{j}" for letter in ("vs" if with_std else "v") for j in range(dim)]


def verified(nodes: Nodes) -> Nodes:
    """Nodes from a file once more from what they say: readable, distinct, and each of a kind that nodes have."""
    if nodes.kind == "text":  # as they lie: to be distinct each is read
        nodes.check_distinct(indexed=True)
        return nodes
    return Nodes.of(nodes.arrays()["ints"] if nodes.kind == "int" else list(nodes))


def fingerprint(text: str) -> str | None:
    """What a file says that its vectors were fitted to, if that is a fingerprint."""
    return text if re.fullmatch("[0-9a-f]{64}", text) else None


WORD = re.compile(r"\S+")
ONE_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")


def nodes_as_text(nodes: Nodes, whole: re.Pattern[str], otherwise: str) -> list[str]:
    """The nodes as text, where the format can hold it and `nodes_from_text` makes the same nodes of it."""
    if nodes.kind == "json":
        odd = [x for x in nodes if not isinstance(x, str)]
        if odd:  # of some that were picked out of a mixture, all may be strings
            raise InputError(f"the node {odd[0]!r} would become text among others in this format; use .parquet or .npz")
    texts = [str(x) for x in nodes]
    for text in texts:
        if not whole.fullmatch(text):
            raise InputError(f"the node {text!r} {otherwise}, which this format cannot hold; use .parquet or .npz")
    return texts


def nodes_from_text(texts: list[str]) -> Nodes:
    """Integers where every node reads as one, as it does where they were written; strings otherwise."""
    if texts and all(map(_INTEGER.fullmatch, texts)):
        integers = Nodes.of(map(int, texts))
        if integers.kind == "int":
            return integers
    return Nodes.of(texts)
