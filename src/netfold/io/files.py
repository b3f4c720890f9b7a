"""Writing so that a reader sees the old file or the new one, never half of one."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netfold.errors import InputError

__all__ = ["check_writable", "sha256", "staged_file", "staged_folder"]


def check_writable(path: Path, *, force: bool = False) -> None:
    """Refuse early what could not be written later: before hours of training, not after."""
    if os.path.lexists(path) and not force:
        raise InputError(f"{path} exists; give another name, or force (--force) to replace it")
    if path.is_dir() and not path.is_symlink() and not _is_ours(path):
        raise InputError(f"{path} is a folder that netfold did not write, and is not replaced; give another name")
    parent = path.absolute().parent
    if not parent.is_dir():
        raise InputError(f"{parent} is not a folder; make it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{parent} cannot be written to; choose another folder")


def _is_ours(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("manifest.json", "graph.json")) or not any(folder.iterdir())


@contextmanager
def staged_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name beside `path`; on success it is flushed to disk and takes the name."""
    path = Path(path)
    if os.path.isdir(path):  # unlike Path.is_dir, False for a name that no disk can hold
        raise InputError(f"{path} is a folder; give the name of a file")
    with _staging(path) as stage:
        part = stage / path.name
        yield part
        _fsync(part)
        os.replace(part, path)
        _fsync(path.absolute().parent)


@contextmanager
def staged_folder(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[Path]:
    """A temporary folder beside `path`; on success it is flushed to disk and takes the name."""
    path = Path(path)
    check_writable(path, force=force)
    with _staging(path) as stage:
        part, old = stage / "new", stage / "old"
        part.mkdir()
        yield part
        for file in part.rglob("*"):
            _fsync(file)
        _fsync(part)
        replaced = os.path.lexists(path)
        if replaced:
            os.rename(path, old)
        try:
            os.rename(part, path)
        except BaseException:
            if replaced:  # what stood there is worth more than the error
                os.rename(old, path)
            raise
        _fsync(path.absolute().parent)


def sha256(path: Path) -> str:
    """The hash of a file's content, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _staging(path: Path) -> Iterator[Path]:
    """A private folder beside `path`, gone afterwards; the disk's own errors in one sentence."""
    stage = None
    try:
        stage = Path(tempfile.mkdtemp(prefix=f".{path.name[:40]}.", dir=path.absolute().parent))
        yield stage
    except OSError as e:
        raise InputError(f"{path} cannot be written: {e.strerror or e}") from e
    finally:
        if stage is not None:
            shutil.rmtree(stage, ignore_errors=True)


def _fsync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
