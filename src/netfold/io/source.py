"""What a file is, its text in pieces of whole lines, however it is compressed, and its lines read one by one."""

from __future__ import annotations

import gzip
import re
import stat
import zlib
from collections.abc import Iterator
from functools import lru_cache
from math import isfinite
from pathlib import Path

import numpy as np

from netfold.errors import InputError

BLOCK = 1 << 20
"""Bytes read at once: enough to be worth the calls, few enough for the arrays made of them to stay in the cache."""

_MOST, _TIMES = 1 << 30, 200
"""A compressed file holds no more than so many bytes, or so many times its own: what does is made to fill memory."""

MAX_LINE = 1 << 20
"""No line is longer than this many bytes: what is, is not a list of edges."""

AS_UTF8 = "save the file as UTF-8 (of Windows or Excel: iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv)"

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PAR1": "parquet"}
_SUFFIX = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd", ".parquet": "parquet", ".pq": "parquet"}
_AS_CSV = "save the sheet as csv (in Excel: CSV UTF-8), or nf.Graph.of(pandas.read_excel(...)) reads it"
_FOREIGN = {
    b"BZh": "compressed with bzip2; unpack it, or compress it with gzip or zstd",
    b"\xfd7zXZ\x00": "compressed with xz; unpack it, or compress it with gzip or zstd",
    b"PK\x03\x04": "a zip archive; unpack it, and give the table in it",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": f"an old Excel workbook; {_AS_CSV}",
    b"%PDF-": "a PDF; give the table in it as csv, tsv or parquet",
    b"\x93NUMPY": "a file of a numpy array; nf.Graph.of reads an array, nf.Embedding.load vectors and their nodes",
    b"\xff\xfe": "not UTF-8 but UTF-16; save it as UTF-8",
    b"\xfe\xff": "not UTF-8 but UTF-16; save it as UTF-8",
}
_ZIPPED = {
    b"xl/": f"an Excel workbook; {_AS_CSV}",
    b"opendocument": f"an OpenDocument sheet; {_AS_CSV}",
    b".npy": "an archive of numpy arrays; nf.Graph.of(scipy.sparse.load_npz(...)) reads a sparse matrix, and "
    "nf.Embedding.load vectors that were exported",
}
"""What a zip archive is whose first block holds such a name."""
_BOM = b"\xef\xbb\xbf"


def refusal(path: Path, problem: str, line: int | None = None) -> InputError:
    """The error to raise: which file, which line, what is wrong and what would be accepted."""
    return InputError(f"{path}: {problem}" if line is None else f"{path}, line {line}: {problem}")


def excerpt(text: bytes) -> str:
    """A piece of a file as a message shows it: quoted, and short whatever stands there."""
    start = text[:60].decode("utf-8", "replace")
    return repr(start if len(text) <= 40 else start[:37] + "...")


def file_kind(path: Path, holds: str = "one edge per line") -> str:
    """`text`, `gzip`, `zstd` or `parquet`, by its first bytes; the name only tells what was meant.

    `holds` says what an empty one should hold.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise refusal(path, "this is a folder; give the file in it")
        if not stat.S_ISREG(status.st_mode):
            raise refusal(path, "this is not a regular file, and it is read more than once; write it to a file first")
        with path.open("rb") as file:
            head = file.read(16)
    except InputError:
        raise
    except FileNotFoundError:
        raise refusal(path, "there is no such file; check the name and the folder") from None
    except (OSError, ValueError) as e:
        raise refusal(path, f"the file cannot be opened ({_reason(e)}); check its name and permissions") from None
    if not head:
        raise refusal(path, f"the file is empty; it should hold {holds}")
    by_magic = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "text")
    meant = _SUFFIX.get(path.suffix.lower(), by_magic)
    if meant != by_magic:
        raise refusal(path, f"the name promises {meant} data, but the content is not; fetch it again, or rename it")
    return by_magic


def chunks(path: Path, kind: str, start: int = 1) -> Iterator[tuple[int, bytes]]:
    """Pieces of whole lines from line `start` on, each with the number of its first line.

    Every line ends in a newline, whatever ended it in the file; the text is valid UTF-8 without NUL bytes.
    """
    line, carry = 1, b""
    for block in _unix_newlines(_without_bom(path, unpacked(path, kind))):
        first = block.find(b"\n")
        if len(carry) + (first if first >= 0 else len(block)) > MAX_LINE:
            raise refusal(path, f"the line is longer than {MAX_LINE:,} bytes; one edge stands on each line", line)
        if first < 0:
            carry += block
            continue
        cut = block.rfind(b"\n") + 1
        text, carry = carry + block[:cut], block[cut:]
        yield from _from_line(path, text, line, start)
        line += count_lines(text)
    if carry:
        yield from _from_line(path, carry + b"\n", line, start)


def count_lines(text: bytes) -> int:
    """How many newlines there are; for short lines many times faster than `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == 10))


def _from_line(path: Path, text: bytes, line: int, start: int) -> Iterator[tuple[int, bytes]]:
    _check_text(path, text, line)
    if line < start:
        skipped = min(start - line, count_lines(text))
        text, line = text.split(b"\n", skipped)[-1], line + skipped
    if text:
        yield line, text


def _check_text(path: Path, text: bytes, line: int) -> None:
    nul = text.find(b"\0")
    if nul >= 0:
        at = line + text.count(b"\n", 0, nul)
        raise refusal(path, "there is a NUL byte: this is not a text file; give csv, tsv or parquet", at)
    if text.isascii():
        return
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as e:
        at = line + text.count(b"\n", 0, e.start)
        raise refusal(path, f"the byte 0x{text[e.start]:02x} is not valid UTF-8; {AS_UTF8}", at) from None


def _without_bom(path: Path, blocks: Iterator[bytes]) -> Iterator[bytes]:
    head = next(blocks, b"")
    for magic, problem in _FOREIGN.items():
        if head.startswith(magic):
            inside = (
                next((what for name, what in _ZIPPED.items() if name in head), None) if magic[:2] == b"PK" else None
            )
            raise refusal(path, f"this is {inside or problem}")
    yield head.removeprefix(_BOM)
    yield from blocks


def _unix_newlines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    held = b""  # a carriage return at the end of a block may be half a line end
    for block in blocks:
        if held or b"\r" in block:
            block = held + block
            held = b"\r" if block.endswith(b"\r") else b""
            block = block[: len(block) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if block:
            yield block
    if held:
        yield b"\n"


def unpacked(path: Path, kind: str) -> Iterator[bytes]:
    """The bytes of a file in pieces, however they are compressed, if they are no more than a file of its size holds."""
    most, total = max(_MOST, _TIMES * path.stat().st_size), 0
    for block in _blocks(path, kind):
        total += len(block)
        if total > most:
            raise refusal(path, f"it holds more than {most:,} bytes, {_TIMES} times its own; unpack it and look at it")
        yield block


def _blocks(path: Path, kind: str) -> Iterator[bytes]:
    if kind == "zstd":
        from netfold.io.duckdb import zstd_blocks

        yield from zstd_blocks(path)
        return
    try:
        with gzip.open(path) if kind == "gzip" else path.open("rb", buffering=0) as file:
            while block := file.read(BLOCK):
                yield block
    except (EOFError, gzip.BadGzipFile, zlib.error) as e:
        raise refusal(path, f"the gzip data are damaged or cut short ({_reason(e)}); fetch the file again") from None
    except OSError as e:
        raise refusal(path, f"the file cannot be read ({_reason(e)}); check the disk and its permissions") from None


def _reason(e: Exception) -> str:
    text = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
    return text.strip().rstrip(".").split("\n")[0].lower()


QUOTE = b'"'
COMMENT = b"#%"
BLANK = b" \t"

LARGEST_WEIGHT = float(np.finfo(np.float32).max)
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(rb"[+-]?[0-9]+,[0-9]+")
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


_NOTE = re.compile(rb'\s*"?sep=.?"?\s*', re.IGNORECASE)
"""What a spreadsheet program writes above a table, for itself."""


def check_no_note(path: Path, line: int, row: bytes) -> None:
    """Refuse the first line of a file where it is no row."""
    if _NOTE.fullmatch(row):
        raise refusal(path, f"{excerpt(row.strip())} is a note for a spreadsheet program, not a row; delete it", line)


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
                "a quote is opened and not closed where the field ends (no field has several lines); close it, or "
                "write two quotes for one"
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
    if value is None and _DECIMAL_COMMA.fullmatch(text):
        raise ValueError("has a decimal comma; weights have a point, as 0.5")
    if value is None and not is_unbounded(text):
        raise ValueError("is not a number; weights are finite numbers of at least 0, as 2, 0.5 or 1e-3")
    if value is None or not isfinite(value):
        raise ValueError("is not finite; weights are finite numbers of at least 0")
    if value < 0:
        raise ValueError("is negative; weights are finite numbers of at least 0")
    if value > LARGEST_WEIGHT:
        raise ValueError(f"is too large; weights are at most {LARGEST_WEIGHT:.3g}")
    return value
