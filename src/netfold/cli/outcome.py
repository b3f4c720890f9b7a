"""How a run ends: the exit code, and one sentence where something went wrong."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

import click

from netfold.errors import InputError, TrainingError

__all__ = ["FAILED", "REFUSED", "Interrupted", "exit_code"]

FAILED = 1
"""Training failed or was interrupted, or netfold has a bug."""
REFUSED = 2
"""Something given, or the place to write to, cannot be used."""


class Interrupted(Exception):  # noqa: N818
    """Ctrl-C; the message says how to go on."""


def exit_code(run: Callable[[], object]) -> int:
    """Run a command, and say in one sentence on standard error what stopped it.

    >>> exit_code(lambda: None)
    0
    """
    try:
        ended = run()
    except click.exceptions.NoArgsIsHelpError as e:
        e.show()
        return REFUSED
    except Exception as e:
        if os.environ.get("NETFOLD_TRACEBACK"):
            traceback.print_exception(e)
        code, sentence = _verdict(e)
        click.echo(f"netfold: {' '.join(sentence.split())}", err=True)
        return code
    return ended if isinstance(ended, int) else 0  # click gives the code of --help and --version back


def _verdict(e: Exception) -> tuple[int, str]:
    if isinstance(e, (TrainingError, Interrupted)):
        return FAILED, str(e)
    if isinstance(e, InputError):
        return REFUSED, str(e)
    if isinstance(e, click.UsageError):
        return REFUSED, _usage(e)
    if isinstance(e, click.ClickException):
        return REFUSED, e.format_message()
    if isinstance(e, click.Abort):
        return FAILED, "interrupted"
    if isinstance(e, OSError):  # a full disk, a folder that went away
        return REFUSED, f"{e.filename}: {e.strerror}" if e.filename else e.strerror or str(e)
    if _is_out_of_memory(e):
        return FAILED, "there is not enough memory for this graph with these options; try fewer dimensions"
    report = "a bug in netfold: please report it; NETFOLD_TRACEBACK=1 shows where"
    return FAILED, f"unexpected {type(e).__name__}: {e} ({report})"


def _usage(e: click.UsageError) -> str:
    said = e.format_message().rstrip(".")
    said = said[:1].lower() + said[1:]
    return f"{said}; see {e.ctx.command_path} --help" if e.ctx is not None else said


def _is_out_of_memory(e: Exception) -> bool:
    return isinstance(e, MemoryError) or "OutOfMemory" in type(e).__name__ or "can't allocate memory" in str(e)
