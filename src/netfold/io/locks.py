"""Locks that the system lets go of when their process ends, however it ends."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netfold.errors import InputError

try:
    import fcntl
except ImportError:  # Windows: nothing is locked there
    fcntl = None  # type: ignore[assignment]

__all__ = ["check_free", "locked_file", "try_lock"]


def try_lock(fd: int) -> bool | None:
    """Lock an open file or folder, or do not wait for it: False where another has it, None where nothing can be locked.

    The lock is that of the open file, and ends with it: a process that is killed leaves none.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system that has no locks
        return None
    return True


@contextmanager
def locked_file(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, which says who holds it; refuse where another process does.

    The file is removed afterwards; one that a killed process left locks nothing. Where no file can be written (a folder
    that is read-only) there is no lock, and nothing that it would protect.
    """
    fd = _locked(path)
    if fd is None:
        yield
        return
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(fd)


def check_free(path: Path) -> None:
    """Refuse where another process holds the lock file `path`."""
    if path.exists():
        with locked_file(path):
            pass


def _locked(path: Path) -> int | None:
    """The open lock file; None where there can be none."""
    while True:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError:
            return None
        answer = try_lock(fd)
        if answer is False:
            owner = os.pread(fd, 300, 0).decode(errors="replace") or "another process"
            os.close(fd)
            raise InputError(f"{path.parent} is in use by {owner}; wait until that has ended, or give another folder")
        if answer is None or _is_still(fd, path):
            return fd
        os.close(fd)  # its owner ended, and removed it, after it was opened here


def _is_still(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False
