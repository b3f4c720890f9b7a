"""The two things that can go wrong in a way a user can mend, the want of memory, and arguments that were renamed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["InputError", "TrainingError", "UnknownOptionError", "is_out_of_memory", "renamed"]

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
