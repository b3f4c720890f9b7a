"""Labels as plain text, for the formats that have nothing else."""

from __future__ import annotations

import re

from netfold.errors import InputError
from netfold.labels import Labels

WORD = re.compile(r"\S+")
LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")


def plain_labels(nodes: Labels, whole: re.Pattern[str], otherwise: str) -> list[str]:
    """The labels as text, where the format can hold it and `typed_labels` makes the same labels of it."""
    if nodes.kind == "json":
        odd = next(x for x in nodes if not isinstance(x, str))
        raise InputError(f"the label {odd!r} would become text among others in this format; use .parquet or .npz")
    texts = [str(x) for x in nodes]
    for text in texts:
        if not whole.fullmatch(text):
            raise InputError(f"the label {text!r} {otherwise}, which this format cannot hold; use .parquet or .npz")
    return texts


def typed_labels(texts: list[str]) -> Labels:
    """Integers where every label reads as one, as it does where they were written; strings otherwise."""
    if texts and all(map(_INTEGER.fullmatch, texts)):
        made = Labels.of(map(int, texts))
        if made.kind == "int":
            return made
    return Labels.of(texts)
