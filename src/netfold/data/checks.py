"""What the arguments of a generator must be, checked before any work."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import Any

from netfold.errors import InputError

__all__ = ["check_at_least_one", "check_choice", "check_count", "check_fractions", "check_share", "is_between"]


def check_choice(among: Collection[str], **given: Any) -> None:
    """Refuse a name that is not one of those known."""
    for option, name in given.items():
        if name not in among:
            raise InputError(f"{option}={name!r} is not one of {', '.join(among)}")


def check_fractions(train: Any) -> tuple[float, ...]:
    """Parts of the nodes, each between 0 and 1; one number stands for itself."""
    parts = tuple(train) if isinstance(train, Iterable) else (train,)
    if not parts or not all(is_between(x, 0, 1) for x in parts):
        raise InputError(f"train={train!r} is not made of parts between 0 and 1, such as (0.1, 0.5, 0.9)")
    return tuple(map(float, parts))


def check_at_least_one(**counts: Any) -> None:
    """Refuse what is no whole number of at least 1."""
    for option, count in counts.items():
        if not isinstance(count, numbers.Integral) or isinstance(count, bool) or int(count) < 1:
            raise InputError(f"{option}={count!r} is not a whole number of at least 1")


def is_between(x: Any, low: float, high: float) -> bool:
    """Whether it is a number, and strictly between two others."""
    return isinstance(x, numbers.Real) and low < float(x) < high


def check_count(name: str, value: object, *, least: int, most: float = math.inf) -> None:
    """Refuse what is not a whole number from `least` to `most`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= most:
        upper = "" if most == math.inf else f" and at most {int(most):,}"
        raise InputError(f"{name}={value!r} is not a whole number of at least {least:,}{upper}")


def check_share(name: str, value: object) -> None:
    """Refuse what is not a number from 0 to 1."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InputError(f"{name}={value!r} is not a number from 0 to 1")
