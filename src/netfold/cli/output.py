"""What a command prints and writes: text or JSON, new files and folders alone, the exit code and one sentence."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from netfold.errors import InputError, TrainingError, is_out_of_memory
from netfold.io.files import check_writable

__all__ = [
    "FAILED",
    "REFUSED",
    "Interrupted",
    "check_new_file",
    "check_new_folder",
    "exit_code",
    "force_flag",
    "json_flag",
    "say",
]


json_flag: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on standard output, and nothing else there."
)


def say(facts: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    """Print the facts as JSON where they were asked for, and the text where not."""
    click.echo(_json(facts) if as_json else text)


def _json(facts: Mapping[str, Any]) -> str:
    text = json.dumps(facts, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # the stream's own escapes would not be JSON's
        return json.dumps(facts)
    return text


force_flag: Callable[[Any], Any] = click.option("--force", is_flag=True, help="Replace what already has that name.")


def check_new_file(path: str, *, force: bool) -> None:
    """Refuse a name that no file can be written under."""
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder; give the name of a file")
    check_writable(Path(path), force=force)


def check_new_folder(path: str, *, force: bool) -> None:
    """Refuse a name that no folder can be written under; even by force, a model does not replace a file."""
    check_writable(Path(path), force=force)
    if Path(path).is_file():
        raise InputError(f"{path} is a file, and a model is a folder; give another name")


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
    if is_out_of_memory(e):
        return FAILED, "there is not enough memory for this graph with these options; try fewer dimensions"
    report = "a bug in netfold: please report it; NETFOLD_TRACEBACK=1 shows where"
    return FAILED, f"unexpected {type(e).__name__}: {e} ({report})"


def _usage(e: click.UsageError) -> str:
    said = e.format_message().rstrip(".")
    said = said[:1].lower() + said[1:]
    return f"{said}; see {e.ctx.command_path} --help" if e.ctx is not None else said
