"""The two things that can go wrong in a way a user can mend, and the want of memory."""

from __future__ import annotations

__all__ = ["InputError", "TrainingError", "is_out_of_memory"]


class InputError(ValueError):
    """Something given to netfold cannot be used.

    The message is one sentence that names the file, line, label or option, and what would be accepted.
    The command line prints it without a traceback and exits with code 2.
    """


class TrainingError(RuntimeError):
    """Training could not go on, for instance because a loss term is no longer finite."""


def is_out_of_memory(e: BaseException) -> bool:
    """Whether there was too little memory: Python's, numpy's and torch's ways of saying so, on the CPU and the GPU."""
    return isinstance(e, MemoryError) or "OutOfMemory" in type(e).__name__ or "can't allocate memory" in str(e)
