"""What can go wrong in a way a user can mend: two exceptions, the want of memory or of disk, and renamed arguments."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["InputError", "TrainingError", "UnknownOptionError", "disk_error", "is_out_of_memory", "renamed"]

Called = TypeVar("Called", bound=Callable[..., Any])


class InputError(ValueError):
    """Something given to netfold cannot be used.

    The message is one sentence that names the file, line, label or option, and what would be accepted.
    The command line prints it without a traceback and exits with code 2.
    """

    silent = False
    """Whether another process says it: of several ranks that refuse the same, the first."""


class UnknownOptionError(InputError, TypeError):
    """A model is given an option that it does not have; Python makes a TypeError of an argument that is not known."""


class TrainingError(RuntimeError):
    """Training could not go on, for instance because a loss term is no longer finite."""


def is_out_of_memory(e: BaseException) -> bool:
    """Whether there was too little memory: Python's, numpy's and torch's ways of saying so, on the CPU and the GPU."""
    return isinstance(e, MemoryError) or "OutOfMemory" in type(e).__name__ or "can't allocate memory" in str(e)


_REMEDIES = {
    errno.ENOSPC: "make room, or choose another disk",
    errno.EDQUOT: "make room, or choose another disk",
    errno.EACCES: "choose a place that you may use, or ask who owns it",
    errno.EPERM: "choose a place that you may use, or ask who owns it",
    errno.EROFS: "choose another disk",
}


def disk_error(e: OSError) -> str:
    """What the system says of a file or a disk, and what to do about it where that is plain.

    >>> disk_error(OSError(errno.ENOSPC, "No space left on device"))
    'No space left on device; make room, or choose another disk'
    """
    remedy = _REMEDIES.get(e.errno or 0)
    said = e.strerror or str(e)
    return said if remedy is None else f"{said}; {remedy}"


def renamed(**names: str) -> Callable[[Called], Called]:
    """Answer an argument of a function, or of a class, by its old name with the new one: `renamed(OLD="NEW")`.

    >>> @renamed(labels="classes")
    ... def count(*, classes):
    ...     return len(classes)
    >>> count(classes="ab")
    2
    >>> count(labels="ab")
    Traceback (most recent call last):
    ...
    netfold.errors.InputError: count: labels is now called classes
    """

    def decorate(called: Called) -> Called:
        of_class = isinstance(called, type)
        function: Any = called.__init__ if of_class else called

        @functools.wraps(function)
        def answer(*args: Any, **given: Any) -> Any:
            for old, new in names.items():
                if old in given:
                    raise InputError(f"{called.__name__}: {old} is now called {new}")
            return function(*args, **given)

        if of_class:
            setattr(called, "__init__", answer)  # noqa: B010
            return called
        return answer  # type: ignore[return-value]

    return decorate
