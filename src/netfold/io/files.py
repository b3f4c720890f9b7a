"""Writing so that a reader sees the old file or the new one, never half of one; locks that end with their process."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from netfold.errors import InputError, disk_error

try:
    import fcntl
except ImportError:  # Windows: nothing is locked there
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "check_free", "check_room", "check_writable", "locked_file", "read_facts", "recover", "remove_ours", "sha256",
    "staged_file", "staged_folder", "try_lock",
]  # fmt: skip


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
        with contextlib.suppress(OSError):  # a full disk; who holds it is a help to others, and no more
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


_MOST_FACTS = 1 << 24
"""No manifest of ours is longer than this many bytes."""
_ARRAYS_OF_A_GRAPH = tuple(
    f"{x}.npy" for x in ("indptr", "indices", "weights", "label_ints", "label_offsets", "label_bytes")
)
"""What lies beside a graph.json that lists no files."""
_FILES_OF_A_MODEL = ("manifest.json", "tensors.safetensors", "metrics.jsonl")
_STAGE = "netfold-"
"""Marks the folders in which something is being written."""
_IDLE = 3600.0
"""Seconds after which nobody writes any more into a stage of an early version, which are without that mark and lock."""
_LONG = 100
"""Bytes of a name above which a stage has a shorter one."""
_NOT_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
"""What a system or a file system answers that cannot exchange two names."""


def check_writable(path: Path, *, force: bool = False) -> None:
    """Refuse early what could not be written later: before hours of training, not after."""
    recover(path)
    if os.path.lexists(path) and not force:
        raise InputError(f"{path} exists; give another name, or force (--force) to replace it")
    if os.path.isdir(path) and not path.is_symlink():
        _check_ours(path)
    parent = path.absolute().parent
    if not parent.is_dir():
        raise InputError(f"{parent} is not a folder; make it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{parent} cannot be written to; choose another folder")
    try:
        Path(tempfile.mkdtemp(prefix=_prefix(path), dir=parent)).rmdir()  # a disk that is full, or to read only
        with contextlib.suppress(FileNotFoundError):
            path.lstat()  # a name that no disk can hold
    except OSError as e:
        raise InputError(f"{path} cannot be written: {disk_error(e)}") from None


def check_room(path: Path, size: int) -> None:
    """Refuse a place whose disk has no room for so many bytes more."""
    try:
        free = shutil.disk_usage(path.absolute().parent).free
    except OSError:  # not every file system says
        return
    if free < size:
        needed = f"about {size / 2**20:,.1f} MiB are needed and {free / 2**20:,.1f} MiB are free"
        raise InputError(f"there is no room for {path}: {needed}; make room, or choose another disk")


def _check_ours(folder: Path) -> None:
    """Refuse a folder of which netfold did not write everything, and one that holds the state of a training."""
    kind, names = _described(folder)
    entries = list(os.scandir(folder))
    if entries and not kind:
        raise InputError(f"{folder} is a folder that netfold did not write, and is not replaced; give another name")
    if kind == "checkpoint":
        raise InputError(f"{folder} is the checkpoint of a training, and is not replaced; give another name")
    if kind == "model" and any(entry.name == "versions" for entry in entries):
        raise InputError(f"{folder} has versions, which would be lost, and is not replaced; give another name")
    for entry in entries:
        if entry.name not in names or not entry.is_file(follow_symlinks=False):
            what = f"{entry.name!r}, which netfold did not write"
            raise InputError(f"{folder} holds {what}, and is not replaced; move that, or give another name")


def remove_ours(folder: Path) -> list[str]:
    """Remove the files of a folder that its manifest lists, the manifest last, and the folder if nothing is left in it.

    What is left, by name: netfold did not write it. Links are not followed, and no name leads out of the folder.
    """
    _, names = _described(folder)
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name == "manifest.json")
    left = []
    for entry in entries:
        if entry.name in names and entry.is_file(follow_symlinks=False):
            Path(entry.path).unlink()
        else:
            left.append(entry.name)
    if not left:
        folder.rmdir()
    return sorted(left)


def _described(folder: Path) -> tuple[str, set[str]]:
    """What netfold wrote into a folder (a model, a graph, an embedding, a checkpoint, or ""), and its files by name.

    >>> _described(Path("no such folder"))
    ('', set())
    """
    written = {
        "manifest.json": ("model", "checkpoint", "version", "index"),
        "graph.json": ("graph",),
        "parts.json": ("graph", "embedding"),
    }
    for name, kinds in written.items():
        facts = _facts(folder / name)
        if type(facts.get("format")) is int and facts.get("kind") in kinds:
            files = facts.get("files", [])
            listed = {str(e.get("name")) for e in files if isinstance(e, dict)} if isinstance(files, list) else set()
            return facts["kind"], {name, *listed, *(() if listed or name != "graph.json" else _ARRAYS_OF_A_GRAPH)}
    return "", set()


def _facts(path: Path) -> dict[str, Any]:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_FACTS:
            return {}
        facts = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


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
    """A temporary folder beside `path`; on success it is flushed to disk and takes the name.

    With `force` a folder of that name is exchanged for the new one, so that the name is never without one. Where the
    system cannot do that in one step there is a moment between two; `recover` ends what a process began that was killed
    in it. Without, one that another process has written meanwhile stays, and this one is refused.
    """
    path = Path(path)
    check_writable(path, force=force)
    with _staging(path) as stage:
        part = stage / "new"
        part.mkdir()
        yield part
        for file in part.rglob("*"):
            _fsync(file)
        _fsync(part)
        if force and os.path.lexists(path):
            _replace_folder(stage, path)
        else:
            _name_folder(part, path)
        _fsync(path.absolute().parent)


def _name_folder(part: Path, path: Path) -> None:
    """Give it a name that was free; a rename refuses a folder that has something in it, or a file, in one step."""
    try:
        os.rename(part, path)
    except OSError:
        if os.path.lexists(path):
            raise InputError(f"{path} was written by another process meanwhile, and stays; do it again") from None
        raise


def _replace_folder(stage: Path, path: Path) -> None:
    """Give the name to `stage / new`; what had it is in the stage then, and goes with it."""
    part, old = stage / "new", stage / "old"
    if _exchange(part, path):
        return
    os.rename(path, old)
    try:
        os.rename(part, path)
    except BaseException:
        os.rename(old, path)  # what stood there is worth more than the error
        raise


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux, or a C library without it
        return False
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if renameat2(here, os.fsencode(one), here, os.fsencode(other), swap) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_HERE:
        return False
    raise OSError(number, os.strerror(number), str(other))


def recover(path: Path) -> None:
    """End what a killed save began: a folder that was about to take the name `path` takes it, and leftovers go."""
    for stage in _left_stages(path):
        if os.path.lexists(stage / "old") and not os.path.lexists(path):
            try:
                os.rename(stage / "new" if (stage / "new").exists() else stage / "old", path)
            except OSError:
                continue
            warnings.warn(f"{path} is back: a save of it had been killed while it was replaced", stacklevel=2)
        else:
            warnings.warn(f"{stage} was removed: a save that was killed had left it", stacklevel=2)
        shutil.rmtree(stage, ignore_errors=True)


def _left_stages(path: Path) -> Iterator[Path]:
    """The stages beside a name whose process has ended, each locked while it is looked at."""
    pattern = re.compile(re.escape(_prefix(path)) + "[a-z0-9_]{8}")
    early = re.compile(re.escape(f".{path.name}.") + "[a-z0-9_]{8}")
    try:
        names = [e.name for e in os.scandir(path.absolute().parent) if e.name.startswith(".")]
    except OSError:
        return
    beside = [x for x in names if pattern.fullmatch(x) or (early.fullmatch(x) and _is_early_stage(path, x))]
    for name in beside:
        try:
            fd = os.open(path.absolute().parent / name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except (OSError, AttributeError):
            continue
        try:
            if try_lock(fd):
                yield path.absolute().parent / name
        finally:
            os.close(fd)


def _is_early_stage(path: Path, name: str) -> bool:
    """Whether `.NAME.XXXXXXXX` is a stage as they were before they had a mark: private, idle, and all of it ours."""
    stage = path.absolute().parent / name
    try:
        facts = stage.lstat()
        private = stat.S_ISDIR(facts.st_mode) and stat.S_IMODE(facts.st_mode) == 0o700
        if not private or time.time() - facts.st_mtime < _IDLE:
            return False
        entries = {e.name: e for e in os.scandir(stage)}
        if set(entries) == {path.name}:
            return entries[path.name].is_file(follow_symlinks=False)
        return bool(entries) and entries.keys() <= {"new", "old"} and all(_holds_ours(stage / x) for x in entries)
    except OSError:
        return False


def _holds_ours(folder: Path) -> bool:
    """Whether a folder holds nothing but files that a model or a graph has."""
    names = {*_described(folder)[1], *_FILES_OF_A_MODEL, *_ARRAYS_OF_A_GRAPH, "graph.json"}
    whole = stat.S_ISDIR(folder.lstat().st_mode)
    return whole and all(e.name in names and e.is_file(follow_symlinks=False) for e in list(os.scandir(folder)))


def sha256(path: Path) -> str:
    """The hash of a file's content, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _staging(path: Path) -> Iterator[Path]:
    """A private folder beside `path`, gone afterwards; the disk's own errors in one sentence."""
    stage, fd = None, -1
    try:
        recover(path)
        stage, fd = _locked_stage(path)
        yield stage
    except OSError as e:
        reason = disk_error(e) if e.strerror else f"the disk took only a part of it ({e})"  # numpy's words when full
        raise InputError(f"{path} cannot be written: {reason}") from e
    finally:
        if stage is not None and not _holds_the_only_copy(stage, path):
            shutil.rmtree(stage, ignore_errors=True)
        if fd >= 0:
            os.close(fd)


def _holds_the_only_copy(stage: Path, path: Path) -> bool:
    """Whether what had the name is in the stage, and could not be put back: the next load or save does that."""
    return os.path.lexists(stage / "old") and not os.path.lexists(path)


def _locked_stage(path: Path) -> tuple[Path, int]:
    """A new stage that no other process takes for one that was left."""
    while True:
        stage = Path(tempfile.mkdtemp(prefix=_prefix(path), dir=path.absolute().parent))
        try:
            fd = os.open(stage, os.O_RDONLY)
        except OSError:  # swept before it was locked, or a system that opens no folders
            if stage.exists():
                return stage, -1
            continue
        if try_lock(fd) is not False and stage.exists():
            return stage, fd
        os.close(fd)


def _prefix(path: Path) -> str:
    """How the stages of a name begin, and those of no other name."""
    name = path.name
    if len(os.fsencode(name)) > _LONG:
        name = f"{name[:20]}.{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"
    return f".{name}.{_STAGE}"


def _fsync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


_MAX_FACTS = 1 << 24
"""No json beside our arrays is longer than this many bytes."""


def read_facts(path: Path, version: int, kind: str) -> dict[str, Any]:
    """The json beside stored arrays, its size bounded and its version known."""
    try:
        status = path.lstat()
    except OSError:
        if not path.parent.exists():
            raise InputError(f"there is no folder {path.parent}, from which a {kind} is to be read") from None
        raise InputError(
            f"{path.parent} is not a folder that netfold wrote as a {kind}: {path.name} is missing"
        ) from None
    if not stat.S_ISREG(status.st_mode):  # a pipe or a device would never end
        raise InputError(f"{path.parent} is not safe to open: its {path.name} is not a plain file")
    if status.st_size > _MAX_FACTS:
        raise InputError(f"{path} is damaged: it is longer than {_MAX_FACTS:,} bytes")
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise InputError(f"{path} cannot be read: {e.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is damaged: it is not json") from None
    if not isinstance(facts, dict) or facts.get("kind") != kind:
        raise InputError(f"{path} does not describe a {kind}")
    if facts.get("format") != version:
        raise InputError(
            f"{path} has format {facts.get('format')!r}; this netfold reads format {version}: update netfold"
        )
    return facts
