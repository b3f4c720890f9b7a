"""Hyper-parameters, declared once: constructor, checks, repr, saved configuration, command-line flags, docs table."""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
import reprlib
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from netfold.errors import InputError

__all__ = ["Configured", "Option", "config_from_json", "config_to_json", "option", "options", "parameters_table"]


@dataclasses.dataclass(frozen=True)
class Option:
    """One hyper-parameter as declared: its name, type, default, meaning, and what it may be."""

    name: str
    type: Any
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    at_least: float | None = None
    above: float | None = None
    below: float | None = None
    none: bool = False
    """Whether None is admitted."""

    def check(self, value: Any) -> None:
        """Raise an `InputError` that names the option, unless the value is one it admits."""
        if value is None and self.none:
            return
        if not self._fits(value):
            raise InputError(f"{self.name}={reprlib.repr(value)} is not allowed; {self.accepted()}")

    def accepted(self) -> str:
        """What may be given, in words."""
        if self.choices:
            return f"it is one of {', '.join(self.choices)}" + (" or None" if self.none else "")
        words = {int: "a whole number", float: "a number", bool: "True or False", str: "text"}.get(
            self.type, "whole numbers"
        )
        bound = f" of at least {self.at_least:g}" if self.at_least is not None else ""
        bound = f" above {self.above:g}" if self.above is not None else bound
        bound += f" and below {self.below:g}" if self.below is not None else ""
        return f"it is {words}{bound}" + (" or None" if self.none else "")

    def _fits(self, value: Any) -> bool:
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if self.type is bool or self.type is str:
            return isinstance(value, self.type)
        if self.type is int or self.type is float:
            return self._number(value)
        return isinstance(value, (tuple, list)) and all(
            Option._number(dataclasses.replace(self, type=int), x) for x in value
        )

    def _number(self, value: Any) -> bool:
        kind: type = numbers.Integral if self.type is int else numbers.Real  # which numpy's scalars are, too
        number = isinstance(value, kind) and not isinstance(value, bool) and _is_finite(value)
        number = number and (self.type is int or value == 0 or _LEAST <= abs(value) <= _LARGEST)
        low = self.at_least is None or (number and value >= self.at_least)
        high = self.below is None or (number and value < self.below)
        return number and low and high and (self.above is None or value > self.above)

    def plain(self, value: Any) -> Any:
        """The value as json knows it: numpy's scalars as Python's own."""
        if self.type is int or self.type is float:
            return value if value is None else self.type(value)
        return [int(x) for x in value] if isinstance(value, (tuple, list)) else value


def option(
    default: Any,
    help: str,
    *,
    type: Any = None,
    choices: Sequence[str] = (),
    at_least: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Any:
    """A dataclass field that is a hyper-parameter.

    `help` says what it means, with the chapter's equation; `choices`, `at_least`, `above` and `below` what it may be.
    Its type is that of the default; one whose default is None says its `type`, and admits None.
    """
    kind, none = (type, True) if default is None else (default.__class__, False)
    facts = {"type": kind, "help": help, "choices": tuple(choices), "at_least": at_least, "above": above}
    facts |= {"below": below, "none": none}
    return dataclasses.field(default=default, metadata=facts)


def options(cls: type) -> tuple[Option, ...]:
    """The hyper-parameters of a model, in the order in which they are declared."""
    return _declared(cls)


@functools.cache
def _declared(cls: type) -> tuple[Option, ...]:
    declared = [f for f in dataclasses.fields(cls) if "help" in f.metadata]
    return tuple(Option(name=f.name, default=f.default, **f.metadata) for f in declared)


_LEAST, _LARGEST = 1e-30, 1e30
"""Numbers beyond these are 0 or infinite in float32 as soon as two are multiplied."""


class Configured:
    """What every class made of options can do: check itself, show itself, and be copied by scikit-learn."""

    def __post_init__(self) -> None:
        for o in options(type(self)):
            o.check(getattr(self, o.name))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyper-parameters by name, as scikit-learn asks for them."""
        return {o.name: getattr(self, o.name) for o in options(type(self))}

    def set_params(self, **params: Any) -> typing.Self:
        """Set hyper-parameters; an unknown name or a value that is not allowed changes nothing."""
        known = {o.name: o for o in options(type(self))}
        for name, value in params.items():
            if name not in known:
                raise InputError(f"{type(self).__name__} has no option {name!r}; it has {', '.join(known)}")
            known[name].check(value)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [f"{o.name}={v!r}" for o in options(type(self)) if (v := getattr(self, o.name)) != o.default]
        return f"{type(self).__name__}({', '.join(changed)})"


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def parameters_table(cls: type) -> str:
    """The docs' table of a model's options, as Markdown."""
    rows = ["| option | default | meaning |", "| --- | --- | --- |"]
    rows += [f"| `{o.name}` | `{o.default!r}` | {_sentence(o)} |" for o in options(cls)]
    return "\n".join(rows)


def _sentence(o: Option) -> str:
    return o.help + (f" ({' · '.join(o.choices)})" if o.choices else "")


def config_to_json(configured: Configured) -> dict[str, Any]:
    """The hyper-parameters as json holds them; `config_from_json` takes them back."""
    return {o.name: o.plain(getattr(configured, o.name)) for o in options(type(configured))}


def config_from_json(cls: type, config: Mapping[str, Any]) -> dict[str, Any]:
    """Hyper-parameters read from json or toml, where tuples are lists; unknown names are refused."""
    known = {o.name: o for o in options(cls)}
    unknown = [name for name in config if name not in known]
    if unknown:
        raise InputError(f"{cls.__name__} has no option {reprlib.repr(unknown[0])}; it has {', '.join(known)}")
    return {name: tuple(v) if isinstance(v, list) else v for name, v in config.items()}
