"""Hyper-parameters, declared once: constructor, checks, repr, help, saved configuration, flags of the command line.

An option that was renamed says what it was called (`was`): old names are read from files, and answered with the new one
where somebody types them.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import reprlib
import textwrap
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from netfold.data.checks import is_number, is_whole
from netfold.data.text import did_you_mean
from netfold.errors import InputError, UnknownOptionError

__all__ = [
    "NONE",
    "Configured",
    "Option",
    "as_text",
    "config_from_json",
    "config_to_json",
    "first_names",
    "holds",
    "new_names",
    "option",
    "options",
    "parameters_table",
    "renamed_option",
]

NONE = "none"
"""What None is called where a value is text."""
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}

WIDTH = 100
"""Columns of the text that `help` shows of options and attributes."""


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
    was: tuple[str, ...] = ()
    """What it was called before, the oldest name first."""

    def fits(self, value: Any) -> bool:
        """Whether a value is one it admits."""
        return (value is None and self.none) or self._fits(value)

    def check(self, value: Any) -> None:
        """Raise an `InputError` that names the option, unless the value is one it admits."""
        if not self.fits(value):
            beyond = self.type is float and is_number(value) and value and not _LEAST <= abs(value) <= _LARGEST
            size = f", between {_LEAST:g} and {_LARGEST:g} in size" if beyond else ""
            raise InputError(f"{self.name}={reprlib.repr(value)} is not allowed; {self.accepted()}{size}")

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
        number = is_number(value) and (self.type is not int or is_whole(value))
        number = number and (self.type is int or value == 0 or _LEAST <= abs(value) <= _LARGEST)
        low = self.at_least is None or (number and value >= self.at_least)
        high = self.below is None or (number and value < self.below)
        return number and low and high and (self.above is None or value > self.above)

    def parse(self, text: str, separator: str = ",") -> Any:
        """The value that text stands for, not checked yet: 500,100 is a tuple, none None; a ValueError at no number."""
        if self.none and text.lower() == NONE:
            return None
        if self.type is bool:
            return _TRUTH.get(text.lower(), text)
        if self.choices or self.type is str:
            return text
        if self.type is int or self.type is float:
            return self.type(text)
        return tuple(int(part) for part in text.split(separator)) if text.strip() else ()

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
    was: str | Sequence[str] = (),
) -> Any:
    """A dataclass field that is a hyper-parameter.

    `help` says what it means, with the chapter's equation; `choices`, `at_least`, `above` and `below` what it may be.
    Its type is that of the default; one whose default is None says its `type`, and admits None. `was` is what it was
    called before: a name, or several, the oldest first.
    """
    kind, none = (type, True) if default is None else (default.__class__, False)
    facts = {"type": kind, "help": help, "choices": tuple(choices), "at_least": at_least, "above": above}
    facts |= {"below": below, "none": none, "was": (was,) if isinstance(was, str) else tuple(was)}
    return dataclasses.field(default=default, metadata=facts)


def as_text(value: Any, separator: str = ",") -> str:
    """A value of an option as the text that `Option.parse` reads.

    >>> as_text(None), as_text((500, 100)), as_text(0.5)
    ('none', '500,100', '0.5')
    """
    if value is None:
        return NONE
    return separator.join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def holds(help: str) -> dict[str, str]:
    """The metadata of a field that is no option: `fit` sets it, and `help` says what it then is.

    The field itself is written out, `dataclasses.field(init=False, ...)`: editors then know that it cannot be given.
    """
    return {"holds": help}


def options(cls: type) -> tuple[Option, ...]:
    """The hyper-parameters of a model, in the order in which they are declared."""
    return _declared(cls)


@functools.cache
def _declared(cls: type) -> tuple[Option, ...]:
    declared = [f for f in dataclasses.fields(cls) if "help" in f.metadata]
    return tuple(Option(name=f.name, default=f.default, **f.metadata) for f in declared)


class _Signature:
    """The signature of a class of options, by which `help`, Jupyter and Sphinx show its constructor."""

    def __get__(self, instance: Any, cls: type) -> inspect.Signature:
        if not dataclasses.is_dataclass(cls):
            raise AttributeError("only a dataclass has options")
        declared = {o.name: o for o in options(cls)}
        fields = [f for f in dataclasses.fields(cls) if f.init]
        return inspect.Signature([_parameter(f, declared.get(f.name)) for f in fields])


def _parameter(field: dataclasses.Field[Any], o: Option | None) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if field.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
    annotation: Any = field.type
    if o is not None:  # the class itself, which is shown without quotes
        annotation = o.type if o.type in (int, float, bool, str) else tuple[int, ...]
        annotation = annotation | None if o.none else annotation
    return inspect.Parameter(field.name, kind, default=default, annotation=annotation)


_LEAST, _LARGEST = 1e-30, 1e30
"""Numbers beyond these are 0 or infinite in float32 as soon as two are multiplied."""


class Configured:
    """What every class made of options can do: check, show and explain itself, and be copied by scikit-learn."""

    def __init_subclass__(cls) -> None:
        """Let the docstring go on with the options and attributes."""
        super().__init_subclass__()
        own = vars(cls).get("__doc__")
        cls.__doc__ = own if isinstance(own, _Docstring) else _Docstring(own)  # type: ignore[assignment]

    __signature__ = _Signature()

    def __new__(cls, *args: Any, **params: Any) -> typing.Self:  # noqa: D102
        # Refuses options by the names that they had before, or never had. No docstring: editors would show it for the
        # class's own.
        _check_names(cls, params)
        if dataclasses.is_dataclass(cls) and cls.__dataclass_params__.init:
            known = [f.name for f in dataclasses.fields(cls) if f.init]
            _check_known(cls, params, known, error=UnknownOptionError)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check every option."""
        for o in options(type(self)):
            o.check(getattr(self, o.name))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyper-parameters by name, as scikit-learn asks for them."""
        return {o.name: getattr(self, o.name) for o in options(type(self))}

    def set_params(self, **params: Any) -> typing.Self:
        """Set hyper-parameters; an unknown name or a value that is not allowed changes nothing."""
        known = {o.name: o for o in options(type(self))}
        _check_names(type(self), params)
        _check_known(type(self), params, known)
        for name, value in params.items():
            known[name].check(value)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [f"{o.name}={v!r}" for o in options(type(self)) if (v := getattr(self, o.name)) != o.default]
        return f"{type(self).__name__}({', '.join(changed)})"


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
    """Hyper-parameters read from json or toml, where tuples are lists; unknown names are refused, old ones are read."""
    known = {o.name: o for o in options(cls)}
    config = new_names(cls, config)
    _check_known(cls, config, known)
    return {name: tuple(v) if isinstance(v, list) else v for name, v in config.items()}


# -------------------------------------------------------------------- options that were renamed


def renamed_option(cls: type, name: str, value: Any) -> Option | None:
    """The option that was called `name` before; None where there is none, or where an option is now called so.

    Where one option took over the name of another, the value decides: one that only the other admits is meant for it.
    """
    declared = options(cls)
    now = next((o for o in declared if o.name == name), None)
    before = next((o for o in declared if name in o.was), None)
    if before is not None and now is not None and (now.fits(value) or not before.fits(value)):
        return None
    return before


def new_names(cls: type, config: Mapping[str, Any]) -> dict[str, Any]:
    """A stored configuration by the names that its options have now; names that no option ever had stay as they are.

    >>> @dataclasses.dataclass(kw_only=True)
    ... class Draws(Configured):
    ...     n_negatives: int = option(5, "how many", was="negatives")
    ...     negatives: str = option("uniform", "how they are drawn", choices=("uniform", "degree"), was="noise")
    >>> new_names(Draws, {"negatives": 3, "noise": "degree"})
    {'n_negatives': 3, 'negatives': 'degree'}
    >>> new_names(Draws, {"n_negatives": 3, "negatives": "degree"})
    {'n_negatives': 3, 'negatives': 'degree'}

    A name that one option took over from another is the other's where the value says so, or where the one is there by
    its own old name.
    """
    names = {o.name for o in options(cls)}
    old = {was: o.name for o in options(cls) for was in o.was}
    taken = {old[name] for name in config if name in old and name not in names}
    renamed: dict[str, Any] = {}
    for name, value in config.items():
        is_old = name in old and (name in taken or renamed_option(cls, name, value) is not None)
        new = old[name] if is_old else name
        if new in renamed:
            raise InputError(f"{new} is set twice, once by {name!r}, which was or is its name; leave one of them out")
        renamed[new] = value
    return renamed


def first_names(cls: type, config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration by the oldest names of its options: the same whenever, and by whichever names, it was written."""
    oldest = {o.name: o.was[0] for o in options(cls) if o.was}
    return {oldest.get(name, name): value for name, value in new_names(cls, config).items()}


def _check_names(cls: type, params: Mapping[str, Any]) -> None:
    for name, value in params.items():
        if (o := renamed_option(cls, name, value)) is not None:
            raise InputError(f"{name} is now called {o.name}; {o.accepted()}")


_ELSEWHERE = {
    "dim": ("dimensions", "dimension", "d", "n_components", "vector_size", "embedding_dim", "size"),
    "seed": ("random_state", "rng"),
    "epochs": ("n_epochs", "max_iter", "iter", "iterations"),
    "lr": ("learning_rate", "rate"),
    "length": ("walk_length",),
    "walks": ("num_walks", "n_walks", "walk_number"),
    "window": ("window_size", "context_size"),
    "n_negatives": ("negative", "num_negative_samples"),
    "hidden": ("hidden_layers", "layers", "hidden_size"),
}
"""What options of ours are called in scikit-learn, gensim, karateclub and PyG."""


def _check_known(
    cls: type, params: Mapping[str, Any], known: Iterable[str], error: type[InputError] = InputError
) -> None:
    """Refuse a name that no option has, with the one that was meant where that can be told."""
    names = list(known)
    unknown = next((name for name in params if name not in names), None)
    if unknown is None:
        return
    here = [name for name, others in _ELSEWHERE.items() if unknown in others and name in names]
    hint = f"here it is called {here[0]}" if here else did_you_mean(str(unknown), names, f"it has {', '.join(names)}")
    raise error(f"{cls.__name__} has no option {reprlib.repr(unknown)}; {hint}")


# -------------------------------------------------------------------- what `help` shows


class _Docstring:
    """The `__doc__` of a class of options: its own text, then its options, then what `fit` leaves behind.

    It is put together when it is read: fields are not known yet when a class is made, and importing stays instant.
    """

    def __init__(self, text: str | None):
        self._text = inspect.cleandoc(text) if text else ""

    def __get__(self, instance: Any, cls: type) -> str:
        parts = [self._text]
        if dataclasses.is_dataclass(cls):
            fields = [f for f in dataclasses.fields(cls) if "holds" in f.metadata]
            parts += [_section("Parameters", [(_heading(o), o.help) for o in options(cls)])] if options(cls) else []
            parts += [_section("Attributes", [(_typed(cls, f), f.metadata["holds"]) for f in fields])] if fields else []
        return "\n\n".join(part for part in parts if part) + "\n"

    def __set__(self, instance: Any, value: Any) -> None:  # with it, doctest does not take this for a method
        raise AttributeError("__doc__ of an instance cannot be set")


def _section(title: str, entries: list[tuple[str, str]]) -> str:
    """Entries as numpydoc lays them out."""
    lines = [title, "-" * len(title)]
    for heading, words in entries:
        lines += textwrap.wrap(heading, WIDTH, subsequent_indent="    ")
        lines += textwrap.wrap(words, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)


def _heading(o: Option) -> str:
    """An option's name, what it may be, and its default.

    >>> _heading(Option("dim", int, 128, "numbers per node", at_least=1))
    'dim : int, at least 1, default 128'
    >>> _heading(Option("rate", float, None, "of what", above=0, below=1, none=True))
    'rate : float, above 0 and below 1, or None, default None'
    """
    if o.choices:
        kind = "{" + ", ".join(map(repr, o.choices)) + "}"
    else:
        each = o.type not in (int, float, bool, str)
        kind = "tuple of int" if each else o.type.__name__
        bounds = [("at least", o.at_least), ("above", o.above), ("below", o.below)]
        words = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
        kind += f", {'each ' * each}{words}" if words else ""
    return f"{o.name} : {kind}{', or None' * o.none}, default {o.default!r}"


def _typed(cls: type, field: dataclasses.Field[Any]) -> str:
    """An attribute's name and type; where that is a variable of the class, what the class says it is."""
    kind = field.type if isinstance(field.type, str) else field.type.__name__
    return f"{field.name} : {_type_arguments(cls).get(kind, kind)}"


def _type_arguments(cls: type) -> dict[str, str]:
    """What the type variables of a class's generic bases stand for in it, by their names; their bound where not said.

    >>> V = typing.TypeVar("V", bound="Number")
    >>> class Box(typing.Generic[V]): pass
    >>> class Ints(Box["Int"]): pass
    >>> _type_arguments(Ints), _type_arguments(Box)
    ({'V': 'Int'}, {'V': 'Number'})
    """
    known: dict[str, str] = {}
    for base in (x for c in cls.__mro__ for x in vars(c).get("__orig_bases__", ())):
        arguments = typing.get_args(base)
        variables = getattr(typing.get_origin(base), "__parameters__", arguments)  # of Generic[V] itself: V
        for variable, argument in zip(variables, arguments, strict=True):
            known.setdefault(variable.__name__, _type_name(argument, known))
    return known


def _type_name(argument: Any, known: Mapping[str, str]) -> str:
    if isinstance(argument, typing.TypeVar):
        return known.get(argument.__name__) or _type_name(argument.__bound__ or argument.__name__, known)
    return str(getattr(argument, "__forward_arg__", None) or getattr(argument, "__name__", argument))
