"""Reading line by line, exactly: what the fast way cannot read, and the sentence that says why nobody can."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import isfinite

import numpy as np

QUOTE = b'"'
COMMENT = b"#%"
BLANK = b" \t"

LARGEST_WEIGHT = float(np.finfo(np.float32).max)
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BLANKS = re.compile(rb"[ \t]+")
_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")


class LineError(Exception):
    """Why a line cannot be read; whoever knows the file and the line's number makes an `InputError` of it."""

    def __init__(self, line: int, problem: str):
        super().__init__(problem)
        self.line, self.problem = line, problem


def data_lines(line: int, text: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines that are neither blank nor a comment, numbered from `line`."""
    for i, row in enumerate(text.split(b"\n"), line):
        bare = row.strip(BLANK)
        if bare and bare[0] not in COMMENT:
            yield i, row


def split_fields(row: bytes, delimiter: bytes) -> list[bytes]:
    """The fields of one line, without the blanks and quotes around them; a ValueError for a quote left open.

    A quote matters only where a field begins with it; inside, two of them stand for one.
    """
    bare = row.strip(BLANK.replace(delimiter, b"") if delimiter == b"\t" else BLANK)
    if QUOTE in bare:
        return _split_quoted(bare, delimiter)
    if delimiter == b" ":
        return _BLANKS.split(bare)
    return [field.strip(BLANK) for field in bare.split(delimiter)]


def _split_quoted(row: bytes, delimiter: bytes) -> list[bytes]:
    pattern, fields, at, more = _field_pattern(delimiter), [], 0, True
    while more:
        match = pattern.match(row, at)
        if match is None:
            raise ValueError(
                "a quote is opened and not closed where the field ends; close it, or write two quotes for one"
            )
        quoted, plain, more, at = match[1], match[2], bool(match[3]), match.end()
        fields.append(plain.strip(BLANK) if quoted is None else quoted.replace(b'""', b'"'))
    return fields


@lru_cache
def _field_pattern(delimiter: bytes) -> re.Pattern[bytes]:
    """One field: its text if quoted, its text if not, and what ends it."""
    quoted = rb'"((?:[^"]|"")*+)"'
    if delimiter == b" ":
        return re.compile(rb"(?:" + quoted + rb'|((?!")[^ \t]+))([ \t]+|\Z)')
    blanks, end = b"[ ]*+" if delimiter == b"\t" else b"[ \t]*+", re.escape(delimiter)
    return re.compile(blanks + rb"(?:" + quoted + blanks + rb'|((?!")[^' + end + rb"]*+))(" + end + rb"|\Z)")


def is_integer(text: bytes) -> bool:
    """Whether a node is an integer as integers are written: 7 and -7, not 007, +7, 7.0 nor 1e3."""
    return _INTEGER.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


def is_number_text(text: bytes) -> bool:
    """Whether a weight's text is a number at all, good or bad."""
    return _NUMBER.fullmatch(text) is not None


def is_unbounded(text: bytes) -> bool:
    """Whether a weight's text is a number that is none: nan, inf."""
    return text.lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity")


def weight_of(text: bytes) -> float:
    """The weight that a text means; a ValueError says why it means none."""
    value = float(text) if is_number_text(text) else None
    if value is None and not is_unbounded(text):
        raise ValueError("is not a number; weights are finite numbers of at least 0, as 2, 0.5 or 1e-3")
    if value is None or not isfinite(value):
        raise ValueError("is not finite; weights are finite numbers of at least 0")
    if value < 0:
        raise ValueError("is negative; weights are finite numbers of at least 0")
    if value > LARGEST_WEIGHT:
        raise ValueError(f"is too large; weights are at most {LARGEST_WEIGHT:.3g}")
    return value
