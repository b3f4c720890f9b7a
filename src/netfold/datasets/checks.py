"""What the arguments of a generator must be, checked before any work."""

from __future__ import annotations

import math
from numbers import Integral, Real

from netfold.errors import InputError

__all__ = ["check_count", "check_share"]


def check_count(name: str, value: object, *, least: int, most: float = math.inf) -> None:
    """Refuse what is not a whole number from `least` to `most`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= most:
        upper = "" if most == math.inf else f" and at most {int(most):,}"
        raise InputError(f"{name}={value!r} is not a whole number of at least {least:,}{upper}")


def check_share(name: str, value: object) -> None:
    """Refuse what is not a number from 0 to 1."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InputError(f"{name}={value!r} is not a number from 0 to 1")
