"""What a command prints and writes: text or JSON, new files and folders alone, the exit code and one sentence."""

from __future__ import annotations

import csv
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from netfold.data.text import printable
from netfold.errors import InputError, TrainingError, disk_error, is_out_of_memory
from netfold.io.files import check_writable, staged_file

__all__ = [
    "EXIT_CODES",
    "Interrupted",
    "check_new_file",
    "check_new_folder",
    "check_table",
    "exit_code",
    "force_flag",
    "json_flag",
    "model_out_flag",
    "one_line",
    "quiet_flag",
    "say",
    "seed_flag",
    "sigterm_like_ctrl_c",
    "write_table",
]


json_flag: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on standard output, and nothing else there."
)


def say(facts: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    """Print the facts as JSON where they were asked for, and the text where not; neither can command the terminal."""
    click.echo(_json(facts) if as_json else "\n".join(map(printable, text.split("\n"))))


def _json(facts: Mapping[str, Any]) -> str:
    text = json.dumps(facts, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # the stream's own escapes would not be JSON's
        return json.dumps(facts)
    return text if printable(text) == text else json.dumps(facts)


force_flag: Callable[[Any], Any] = click.option("--force", is_flag=True, help="Replace what already has that name.")


seed_flag: Callable[[Any], Any] = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is random."
)
quiet_flag: Callable[[Any], Any] = click.option(
    "--quiet", "-q", is_flag=True, help="Show no progress; the result is printed all the same."
)
model_out_flag: Callable[[Any], Any] = click.option(
    "-o", "--out", required=True, metavar="FOLDER", help="The folder to write the model to."
)


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


_DELIMITED = {".csv": ",", ".tsv": "\t"}
_TABLES = (*_DELIMITED, ".parquet")


def check_table(path: str) -> None:
    """Refuse a name whose ending is that of no table."""
    if Path(path).suffix.lower() not in _TABLES:
        raise InputError(f"{path} names no format of a table; end it with one of {', '.join(_TABLES)}")


def write_table(path: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write a table as its ending says, whole or not at all."""
    ending = Path(path).suffix.lower()
    if ending == ".parquet":
        from netfold.io.vectors.parquet import write_columns

        write_columns(Path(path), columns)
        return
    with staged_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=_DELIMITED[ending], lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


FAILED, REFUSED, DRIFTED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143
EXIT_CODES = {
    0: "all went well",
    FAILED: "training failed, memory ran out, or there is a bug in netfold",
    REFUSED: "something given, or the place to write to, cannot be used",
    DRIFTED: "an update's drift is more than what two seeds differ by",
    INTERRUPTED: "Ctrl-C",
    TERMINATED: "SIGTERM, as schedulers send it",
}
"""What each exit code means; there are no others."""

_LONGEST = 1000
"""Characters of a message: what a file says may be longer than a screen."""


class Interrupted(Exception):  # noqa: N818
    """Ctrl-C or SIGTERM; the message says how to go on."""

    silent = False
    """Whether another process says it."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, which is treated as Ctrl-C is."""


@contextmanager
def sigterm_like_ctrl_c() -> Iterator[None]:
    """Within, SIGTERM raises `Terminated`, so that what is half written is removed; not where it is caught already."""
    try:
        before = signal.getsignal(signal.SIGTERM)
        caught = before is not signal.SIG_DFL
        if not caught:
            signal.signal(signal.SIGTERM, _terminated)
    except ValueError:  # another thread than the first
        caught = True
    try:
        yield
    finally:
        if not caught:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminated(number: int, frame: object) -> None:
    raise Terminated


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
        if not getattr(e, "silent", False):
            click.echo(f"netfold: {one_line(sentence)}", err=True)
        return code
    return ended if isinstance(ended, int) else 0  # click gives the code of --help and --version back


def one_line(sentence: str) -> str:
    """A message as one line that no name in it can break, turn around or lengthen beyond measure."""
    line = printable(" ".join(sentence.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"


def _verdict(e: Exception) -> tuple[int, str]:
    if isinstance(e, TrainingError):
        return FAILED, str(e)
    if isinstance(e, (Interrupted, click.Abort)):
        terminated = isinstance(e.__cause__, Terminated)
        return TERMINATED if terminated else INTERRUPTED, str(e) or ("terminated" if terminated else "interrupted")
    if isinstance(e, InputError):
        return REFUSED, str(e)
    if isinstance(e, click.UsageError):
        return REFUSED, _usage(e)
    if isinstance(e, click.ClickException):
        return REFUSED, e.format_message()
    if isinstance(e, OSError):  # a full disk, a folder that went away
        return REFUSED, f"{e.filename}: {disk_error(e)}" if e.filename else disk_error(e)
    if is_out_of_memory(e):
        return FAILED, "there is not enough memory for this graph with these options; try fewer dimensions"
    report = "a bug in netfold: please report it; NETFOLD_TRACEBACK=1 shows where"
    return FAILED, f"unexpected {type(e).__name__}: {e} ({report})"


def _usage(e: click.UsageError) -> str:
    if isinstance(e, click.NoSuchOption) and e.possibilities and e.ctx is not None:  # old names are not suggested
        hidden = {x for p in e.ctx.command.params if getattr(p, "hidden", False) for x in p.opts}
        e.possibilities[:] = [x for x in e.possibilities if x not in hidden]
    said = e.format_message().rstrip(".")
    said = said[:1].lower() + said[1:].replace(". Did you mean ", "; did you mean ").replace(". (Did you", " (did you")
    if e.ctx is None:
        return said
    return f"{said}{' See' if said.endswith('?') else '; see'} {e.ctx.command_path} --help"
