"""Numbers out of text, many at once: eight digits are one machine word, and three multiplications add them up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
