"""A model's hyper-parameters as flags of the command line, and as a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from netfold.cli.inputs import check_there
from netfold.data.text import did_you_mean
from netfold.embedder.options import NONE, Option, as_text, options, renamed_option
from netfold.embedder.pair_score import weighted_scores
from netfold.errors import InputError
from netfold.evaluate.task import SCORES, TASKS, task_named

__all__ = ["ModelFlag", "OptionValue", "PairScore", "Size", "TaskName", "flags", "from_toml", "renamed_flag"]

_METAVAR = {int: "N", float: "X", bool: "true|false", str: "TEXT"}


class TaskName(click.Choice[str]):
    """The name of a task, or one of its other names, which becomes the name."""

    def __init__(self, known: Iterable[str] = tuple(TASKS)):
        super().__init__(list(known))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The one among those known that is meant."""
        try:
            task = task_named(value)
        except InputError as e:
            self.fail(str(e), param, ctx)
        name = next((x for x in (task.name, *task.aliases) if x in self.choices), value)
        return super().convert(name, param, ctx)


class ModelFlag(click.Option):
    """The flag of a hyper-parameter."""


def flags(cls: type) -> list[click.Option]:
    """A flag for each hyper-parameter of a model: `batch_size` is --batch-size, `lambda_` is --lambda.

    The flags of options that were renamed are there still, hidden, and say what they are called now.

    >>> from netfold.models import SDNE
    >>> [flag.opts[0] for flag in flags(SDNE) if flag.name.startswith("b")]
    ['--beta', '--batch-size']
    """
    names = {o.name for o in options(cls)}
    old = [_old_flag(_spelled(was), _spelled(o.name)) for o in options(cls) for was in o.was if was not in names]
    return [*(_flag(o, cls) for o in options(cls)), *old]


def _flag(o: Option, cls: type) -> click.Option:
    name, text = _spelled(o.name), _sentence(o.help)
    if o.type is bool and not o.none:
        spelled = f"{name}/--no-{name.removeprefix('--')}"
        return ModelFlag([spelled, o.name], default=o.default, help=text, show_default=True)
    before = [x for x in options(cls) if o.name in x.was]
    kind = OptionValue(o, before=before[0] if before else None)
    return ModelFlag([name, o.name], type=kind, default=as_text(o.default), help=text, show_default=True)


def _spelled(name: str) -> str:
    return f"--{name.rstrip('_').replace('_', '-')}"


def renamed_flag(old: str, new: str) -> Callable[[Any], Any]:
    """Answer a flag that a command had before with what it is called now: `@renamed_flag("--old", "--new")`."""

    def add(command: Any) -> Any:
        if isinstance(command, click.Command):
            command.params.append(_old_flag(old, new))
        else:  # a function that is yet to become a command, where click keeps parameters in reverse
            command.__click_params__ = [*getattr(command, "__click_params__", []), _old_flag(old, new)]
        return command

    return add


def _old_flag(old: str, new: str) -> click.Option:
    """A hidden flag, with a value or without, that is refused by its new name before anything else is looked at."""

    def refuse(ctx: click.Context, flag: click.Parameter, value: Any) -> None:
        if value is not None:
            raise click.UsageError(f"{flag.opts[0]} is now called {new}", ctx)

    name = f"old_{old.strip('-').replace('-', '_')}"
    return click.Option(
        [old, name],
        is_flag=False,
        flag_value="",
        is_eager=True,
        hidden=True,
        expose_value=False,
        callback=refuse,
        help=f"Now called {new}.",
    )


def _sentence(words: str) -> str:
    """A help text as a sentence; a symbol that it begins with (k, σ) stays as it is.

    >>> _sentence("weight of L_2"), _sentence("k: nodes drawn at random"), _sentence("σ of the encoder")
    ('Weight of L_2.', 'k: nodes drawn at random.', 'σ of the encoder.')
    """
    symbol = len(words.split(" ")[0].rstrip(":,")) == 1
    return (words if symbol else words[:1].upper() + words[1:]) + "."


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, as 8GB or 8GiB."""

    name = "size"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: D102
        return "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: D102
        from netfold.data.checks import byte_count

        try:
            return byte_count(value)
        except InputError as e:
            self.fail(str(e), param, ctx)


class PairScore(click.ParamType):  # type: ignore[type-arg]
    """A score of pairs, or a sum of scores."""

    name = "score"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The same, where it is one."""
        try:
            return value if value == "own" else (weighted_scores(value) and value)
        except InputError as e:
            self.fail(str(e), param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The single ones."""
        return f"[{'|'.join(SCORES)}|...]"


class OptionValue(click.ParamType):  # type: ignore[type-arg]
    """Text that becomes a value its hyper-parameter admits: 500,100 a tuple, none None."""

    def __init__(self, o: Option, *, before: Option | None = None):
        """`before` is another option that had the name of this one."""
        self._option, self._before = o, before
        self.name = o.name

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: D102
        o = self._option
        words = "|".join(o.choices) or _METAVAR.get(o.type, "N,N,...")
        return f"[{words}]" if o.choices else f"{words}|{NONE}" if o.none else words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: D102
        if not isinstance(value, str):
            return value
        try:
            converted = self._option.parse(value)
            self._option.check(converted)
        except ValueError:  # no number, or an InputError of the check
            if self._before is not None and _admits(self._before, value):
                self.fail(f"with {value!r} it is now called {_spelled(self._before.name)}", param, ctx)
            self.fail(f"{value!r} is not allowed; {self._option.accepted().replace('None', NONE)}", param, ctx)
        return converted


def from_toml(path: str, cls: type) -> dict[str, Any]:
    """The hyper-parameters in a file whose keys are their names; the first that is wrong is named with the file.

    Names that options had before are read too.
    """
    known = {o.name: o for o in options(cls)}
    read = {}
    for key, value in _toml(path).items():
        o = known.get(key.replace("-", "_")) or known.get(f"{key}_")
        o = _renamed(cls, key, value) or o
        if o is None:
            hint = did_you_mean(key, known, f"it has {', '.join(known)}")
            raise InputError(f"{path}: {cls.__name__} has no option {key!r}; {hint}")
        if o.name in read:
            raise InputError(f"{path}: {o.name} is set twice, once by {key!r}, which was or is its name")
        read[o.name] = _from_toml(o, value)
        try:
            o.check(read[o.name])
        except InputError as e:
            raise InputError(f"{path}: {e}") from None
    return read


def _toml(path: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as e:
        check_there(path)
        raise InputError(f"{path} cannot be read: {e.strerror}") from None
    except (ValueError, RecursionError) as e:  # its grammar, its encoding, its depth
        raise InputError(f"{path} is not a TOML file: {e}") from None


def _renamed(cls: type, key: str, value: Any) -> Option | None:
    names = (key.replace("-", "_"), f"{key}_")
    return next((o for name in names if (o := renamed_option(cls, name, value)) is not None), None)


def _admits(o: Option, text: str) -> bool:
    try:
        return o.fits(o.parse(text))
    except ValueError:
        return False


def _from_toml(o: Option, value: Any) -> Any:
    if o.none and value == NONE:  # TOML has no null
        return None
    return tuple(value) if isinstance(value, list) else value
