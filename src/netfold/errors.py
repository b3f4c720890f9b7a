"""The two things that can go wrong in a way a user can mend."""

from __future__ import annotations

__all__ = ["InputError", "TrainingError"]


class InputError(ValueError):
    """Something given to netfold cannot be used.

    The message is one sentence that names the file, line, label or option, and what would be accepted.
    The command line prints it without a traceback and exits with code 2.
    """


class TrainingError(RuntimeError):
    """Training could not go on, for instance because a loss term is no longer finite."""
