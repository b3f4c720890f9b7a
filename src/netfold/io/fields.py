"""Pieces of text cut into fields and numbers: with numpy where the text is regular, line by line where it is not.

Both ways give the same `Rows`; the slow one also finds the line that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netfold.data.columns import Roles, times_of
from netfold.io.source import (
    BLANK,
    COMMENT,
    LARGEST_WEIGHT,
    QUOTE,
    LineError,
    data_lines,
    excerpt,
    split_fields,
    weight_of,
)

__all__ = []


PAD = 80
"""Bytes that stand before and after a text, so that ten words can be read from any place in it, either way."""

MOST_DIGITS = 19
"""Integers of up to this many digits fit 64 bits without a sign."""

_EXACT_DIGITS = 15
"""Integers of up to this many digits, and ten to that power, are exact as float64: one division rounds once."""

_Words = npt.NDArray[np.uint64]
_Places = npt.NDArray[np.int64]
_U = np.uint64
_TENS = 10.0 ** np.arange(_EXACT_DIGITS + 1)


def words_of(buffer: npt.NDArray[np.uint8]) -> _Words:
    """The eight bytes from each place on as one little-endian word; a view."""
    return np.ndarray((len(buffer) - 7,), "<u8", buffer, 0, (1,))


def digits(words: _Words, starts: _Places, ends: _Places) -> tuple[_Words, npt.NDArray[np.bool_]]:
    """The value of each run of digits text[start:end], and where it is one: not empty, digits only, at most 19."""
    lengths = ends - starts
    good = (lengths > 0) & (lengths <= MOST_DIGITS)
    longest = int(lengths[good].max(initial=0))
    values = np.zeros(len(ends), np.uint64)
    for k in range(0, longest, 8):
        eight, valid = _eight_digits(words, ends - k, lengths - k)
        good &= valid
        values += eight if k == 0 else eight * _U(10**k)
    return values, good


def plain_digits(words: _Words, starts: _Places, ends: _Places) -> _Words:
    """The same of runs that are known to be digits, at most 19 of them."""
    lengths = ends - starts
    values = _sum_of_eight(_last_bytes(words, ends, lengths))
    for k in range(8, int(lengths.max(initial=0)), 8):
        values += _sum_of_eight(_last_bytes(words, ends - k, lengths - k)) * _U(10**k)
    return values


def decimals(
    buffer: npt.NDArray[np.uint8], words: _Words, starts: _Places, ends: _Places
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """The value of each text[start:end] as `12` or `12.5`, rounded correctly, and where it is such a short number."""
    points = np.append(np.flatnonzero(buffer == ord(".")), len(buffer))
    point = points[np.searchsorted(points, starts)]
    point = np.minimum(point, ends)
    fraction = np.maximum(ends - point - 1, 0)
    whole, good = digits(words, starts, point)
    values = whole.astype(np.float64)
    good &= point - starts + fraction <= _EXACT_DIGITS
    some = np.flatnonzero(fraction)
    if some.size:
        after, fine = digits(words, point[some] + 1, ends[some])
        good[some] &= fine
        scale = _TENS[np.minimum(fraction[some], _EXACT_DIGITS)]
        values[some] = (values[some] * scale + after.astype(np.float64)) / scale
    good &= (fraction > 0) | (point == ends)
    return values, good


def _last_bytes(words: _Words, ends: _Places, lengths: _Places) -> _Words:
    """The last up to eight bytes before each end, digits as 0..9, the bytes before them as 0."""
    shift = 8 - np.minimum(lengths, 8)
    shift <<= 3
    drop = shift.view(np.uint64)  # a shift by 64 bits and more leaves 0
    x = words[ends - 8]
    x ^= _U(0x3030303030303030)
    x >>= drop
    x <<= drop
    return x


def _eight_digits(words: _Words, ends: _Places, lengths: _Places) -> tuple[_Words, npt.NDArray[np.bool_]]:
    x = _last_bytes(words, ends, lengths)
    beyond = ((x + _U(0x7676767676767676)) | x) & _U(0x8080808080808080)  # the top bit of each byte above 9
    return _sum_of_eight(x), beyond == 0


def _sum_of_eight(x: _Words) -> _Words:
    """d0·10⁷ + ... + d7 of the bytes d0 (lowest) to d7, by pairs, then pairs of pairs, then both halves at once."""
    x = x * _U(10) + (x >> _U(8))
    high = x & _U(0x000000FF000000FF)
    high *= _U(0x000F424000000064)
    x >>= _U(16)
    x &= _U(0x000000FF000000FF)
    x *= _U(0x0000271000000001)
    x += high
    x >>= _U(32)
    return x


_MARGIN = bytes(PAD)
_COMMENTS = re.compile(rb"^(?:[#%][^\n]*)?\n", re.MULTILINE)


@dataclass(frozen=True)
class Layout:
    """How the lines of a file are to be read."""

    delimiter: bytes
    """One byte; a blank stands for any run of blanks and tabs."""
    width: int
    roles: Roles
    start: int
    """The line where the edges begin, after a header."""
    integers: bool
    """Whether the nodes look like integers."""
    names: tuple[str, ...] | None = None
    """What the columns are called; None where no line says so."""
    undecided: bool = False
    """Whether line 1 was taken for a header although nothing tells."""


@dataclass(frozen=True)
class Rows:
    """The ends of edges as places in a text, and their weights."""

    buffer: npt.NDArray[np.uint8]
    """The text, with `PAD` bytes before and after it."""
    starts: npt.NDArray[np.int64]  # rows x 2
    ends: npt.NDArray[np.int64]  # rows x 2
    weights: npt.NDArray[np.float64] | None
    digits: bool
    """Whether both ends of every edge are known to be digits only."""
    times: npt.NDArray[np.float64] | None = None


def rows_of(line: int, text: bytes, layout: Layout) -> Rows:
    """The edges in a piece of a file that begins with line `line`; a `LineError` names the line that is wrong."""
    rows = fast_rows(text, layout)
    return slow_rows(line, text, layout) if rows is None else rows


def separated_lines(line: int, text: bytes, layout: Layout) -> Iterator[tuple[int, list[bytes]]]:
    """The fields of each line with its number; a `LineError` for one that has other columns than the first."""
    for number, row in data_lines(line, text):
        try:
            parts = split_fields(row, layout.delimiter)
        except ValueError as e:
            raise LineError(number, str(e)) from None
        if len(parts) != layout.width:
            raise LineError(number, ragged(len(parts), layout))
        yield number, parts


def slow_rows(line: int, text: bytes, layout: Layout) -> Rows:
    """Line by line, in plain Python."""
    source, target, weight, time, _ = layout.roles
    fields: list[bytes] = []
    weights: list[float] = []
    times: list[float] = []
    for number, parts in separated_lines(line, text, layout):
        if not parts[source] or not parts[target]:
            raise LineError(number, "a node is empty; an edge needs two: fill it in, or delete the line")
        fields += parts[source], parts[target]
        if weight is not None:
            weights.append(_weight(number, parts[weight]))
        if time is not None:
            times.append(_time(number, parts[time]))
    return joined_rows(
        fields,
        np.array(weights) if weight is not None else None,
        np.array(times) if time is not None else None,
    )


def joined_rows(
    fields: list[bytes], weights: npt.NDArray[np.float64] | None, times: npt.NDArray[np.float64] | None = None
) -> Rows:
    """Rows of nodes that are apart already: source, target, source, target, ..."""
    bounds = np.zeros(len(fields) + 1, np.int64)
    np.cumsum([len(field) for field in fields], out=bounds[1:])
    bounds += PAD
    buffer = np.frombuffer(b"".join([_MARGIN, *fields, _MARGIN]), np.uint8)
    return Rows(buffer, bounds[:-1].reshape(-1, 2), bounds[1:].reshape(-1, 2), weights, False, times)


def ragged(count: int, layout: Layout) -> str:
    """What is wrong with a line of so many columns."""
    there = "there is 1 column" if count == 1 else f"there are {count} columns"
    name = {b"\t": "tab", b" ": "blank"}.get(layout.delimiter, layout.delimiter.decode())
    return f"{there} where the first line has {layout.width} (delimiter: {name}); give every line as many"


def _weight(line: int, text: bytes) -> float:
    try:
        return weight_of(text)
    except ValueError as e:
        otherwise = "weighted=False, or --unweighted, reads the edges without it"
        raise LineError(line, f"the weight {excerpt(text)} {e} ({otherwise})") from None


def _time(line: int, text: bytes) -> float:
    try:
        return float(times_of([text.decode()])[0])
    except ValueError:
        raise LineError(line, f"the time {excerpt(text)} is neither a number nor a date, as 2024-01-31") from None


# -------------------------------------------------------------------- with numpy


def fast_rows(text: bytes, layout: Layout) -> Rows | None:
    """All lines at once, or None where one of them is out of the ordinary."""
    return cut_tidied(text, layout.delimiter, lambda regular: _cut(regular, layout))


def cut_tidied(text: bytes, delimiter: bytes, cut: Callable[[bytes], Rows | None]) -> Rows | None:
    """What `cut` makes of the text, or of the text without what need not be there; None where it cannot."""
    plain = not any(mark in text for mark in _untidy(delimiter))
    rows = cut(text) if plain else None
    if rows is None:
        tidy = _tidied(text, delimiter)
        rows = None if tidy is None or (plain and tidy == text) else cut(tidy)
    return rows


def _untidy(delimiter: bytes) -> bytes:
    """The bytes that may have to be taken away; single ones, which are looked for at the speed of memory."""
    return COMMENT + (b"\t" if delimiter == b" " else BLANK.replace(delimiter, b""))


def _cut(text: bytes, layout: Layout) -> Rows | None:
    buffer = np.frombuffer(b"".join([_MARGIN, text, _MARGIN]), np.uint8)
    body = buffer[PAD:-PAD]
    newlines = body == 10
    n = int(np.count_nonzero(newlines))
    fields = digit_grid(buffer, body, n, layout) if layout.integers else None
    only_digits = fields is not None
    fields = fields or field_grid(buffer, body, newlines, n, layout)
    if fields is None:
        return None
    starts, ends = fields
    if layout.delimiter == b" " and np.any(starts >= ends):
        return None  # a run of blanks, which separates fields but once
    source, target, weight, time, _ = layout.roles
    if (source, target, layout.width) != (0, 1, 2):
        fields = starts[:, (source, target)], ends[:, (source, target)]
    if np.any(fields[0] >= fields[1]):
        return None
    weights = None
    if weight is not None:
        weights = _weights(buffer, starts[:, weight], ends[:, weight])
        if weights is None:
            return None
    times = None
    if time is not None:
        times = _times(buffer, starts[:, time], ends[:, time])
        if times is None:
            return None
    return Rows(buffer, *fields, weights, only_digits, times)


def _tidied(text: bytes, delimiter: bytes) -> bytes | None:
    """The text without comments, blank lines and blanks that mean nothing; None where quotes make that unsafe."""
    if delimiter == b"\t" and (text.startswith(b"\t") or b"\n\t" in text):
        return None  # a tab that begins a line separates an empty field from the next, but not from a comment
    text = _without_comments(text)
    quoted, blank = QUOTE in text, delimiter == b" "
    blanks = [bytes([b]) for b in BLANK if bytes([b]) != delimiter and b in text] if not blank else []
    if quoted and (blank or any(b + c in text or c + b in text for b in blanks for c in (delimiter, b"\n"))):
        return None
    if blank:
        text = text.replace(b"\t", b" ")
        text = _replaced(text, b"  ", b" ")
        blanks = [b" "]
    before = len(text)
    for b in blanks:
        for c in (b"\n",) if blank else (delimiter, b"\n"):
            text = _replaced(_replaced(text, b + c, c), c + b, c)
    if len(blanks) > 1 and len(text) < before:
        return None  # blanks and tabs may stand in turns: taking one away uncovers the other
    text = text.lstrip(BLANK if delimiter != b"\t" else b" ")
    return _without_comments(text)


def _without_comments(text: bytes) -> bytes:
    if text[:1] in (b"#", b"%", b"\n") or any(mark in text for mark in (b"\n#", b"\n%", b"\n\n")):
        return _COMMENTS.sub(b"", text)
    return text


def _replaced(text: bytes, old: bytes, new: bytes) -> bytes:
    while old in text:
        text = text.replace(old, new)
    return text


_Grid = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def digit_grid(buffer: npt.NDArray[np.uint8], body: npt.NDArray[np.uint8], n: int, layout: Layout) -> _Grid | None:
    """Starts and ends of fields (n x width) where there is nothing but digits, delimiters and newlines."""
    cuts = np.flatnonzero((body - np.uint8(48)) > 9)
    if len(cuts) != n * layout.width:
        return None
    cuts += PAD
    grid = cuts.reshape(n, layout.width)
    marks = buffer[grid]
    if not (np.all(marks[:, -1] == 10) and np.all(marks[:, :-1] == layout.delimiter[0])):
        return None
    return _starts(grid), grid


def field_grid(
    buffer: npt.NDArray[np.uint8], body: npt.NDArray[np.uint8], newlines: npt.NDArray[np.bool_], n: int, layout: Layout
) -> _Grid | None:
    """Starts and ends of fields (n x width), without the quotes around them."""
    marks = newlines | (body == layout.delimiter[0])
    quotes = body == QUOTE[0]
    n_quotes = int(np.count_nonzero(quotes))
    if n_quotes:
        marks &= np.bitwise_xor.accumulate(quotes.view(np.uint8)) == 0  # outside quotes
    cuts = np.flatnonzero(marks)
    if len(cuts) != n * layout.width:
        return None
    cuts += PAD
    grid = cuts.reshape(n, layout.width)
    if not np.all(buffer[grid[:, -1]] == 10):
        return None
    starts = _starts(grid)
    if not n_quotes:
        return starts, grid
    opened = buffer[starts] == QUOTE[0]
    ends = grid - opened
    starts = starts + opened
    whole = (
        np.all(buffer[ends[opened]] == QUOTE[0]) and np.all(starts <= ends) and n_quotes == 2 * np.count_nonzero(opened)
    )
    return (starts, ends) if whole else None


def _starts(grid: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    starts = np.empty(grid.size, np.int64)
    starts[:1] = PAD
    np.add(grid.ravel()[:-1], 1, out=starts[1:])
    return starts.reshape(grid.shape)


def _weights(
    buffer: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64] | None:
    """The weights in these places, or None where one of them cannot be used."""
    weights, good = decimals(buffer, words_of(buffer), starts, ends)
    rest = np.flatnonzero(~good)
    if rest.size:
        whole = buffer.tobytes()
        texts = [whole[a:b] for a, b in zip(starts[rest].tolist(), ends[rest].tolist(), strict=True)]
        if b"".join(texts).translate(None, b"0123456789.eE+-"):  # float() would also take nan, inf and 1_000
            return None
        try:
            weights[rest] = list(map(float, texts))
        except ValueError:
            return None
    fine = not weights.size or (weights.min() >= 0 and weights.max() <= LARGEST_WEIGHT)
    return weights if fine else None


def _times(
    buffer: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64] | None:
    """The times in these places, or None where one of them cannot be used."""
    times, good = decimals(buffer, words_of(buffer), starts, ends)
    rest = np.flatnonzero(~good)
    if rest.size:
        whole = buffer.tobytes()
        texts = [whole[a:b].decode() for a, b in zip(starts[rest].tolist(), ends[rest].tolist(), strict=True)]
        try:
            times[rest] = times_of(texts)
        except ValueError:
            return None
    return times
