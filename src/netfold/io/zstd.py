"""Whether a zstd file is whole: duckdb unpacks one that was cut short without a word.

The frames are walked from block to block by the sizes they state (RFC 8878, section 3.1); nothing is unpacked here.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

_FRAME = 0xFD2FB528
_SKIPPABLE = 0x184D2A50  # and the fifteen numbers after it
_RLE, _RESERVED = 1, 3


class CutShortError(Exception):
    """The file ends inside a frame, or what follows a frame is not another one."""


def check_whole(path: Path) -> None:
    """Raise `CutShortError` unless the file is a row of complete frames."""
    size = path.stat().st_size
    with path.open("rb") as file:
        while file.tell() < size:
            magic = _number(file, 4)
            if magic == _FRAME:
                _pass_frame(file)
            elif magic & ~0xF == _SKIPPABLE:
                file.seek(_number(file, 4), 1)
            else:
                raise CutShortError("what follows a frame is not another one")
        if file.tell() > size:
            raise CutShortError("the last frame is not complete")


def _pass_frame(file: BinaryIO) -> None:
    flags = _number(file, 1)
    single, checksum = flags >> 5 & 1, flags >> 2 & 1
    window, dictionary = 1 - single, (0, 1, 2, 4)[flags & 3]
    file.seek(window + dictionary + (single, 2, 4, 8)[flags >> 6], 1)
    last = 0
    while not last:
        block = _number(file, 3)
        last, kind = block & 1, block >> 1 & 3
        if kind == _RESERVED:
            raise CutShortError("a block is of no known kind")
        file.seek(1 if kind == _RLE else block >> 3, 1)
    file.seek(4 * checksum, 1)


def _number(file: BinaryIO, size: int) -> int:
    found = file.read(size)
    if len(found) < size:
        raise CutShortError("the last frame is not complete")
    return int.from_bytes(found, "little")
