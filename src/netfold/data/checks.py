"""What arrays hold, for annotations, and which values; what arguments must be: whole numbers within bounds, shares."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from netfold.errors import InputError

__all__ = [
    "Bools",
    "Floats",
    "Floats32",
    "Ints",
    "Ints32",
    "byte_count",
    "check_at_least_one",
    "check_choice",
    "check_count",
    "check_counts",
    "check_fractions",
    "check_share",
    "is_between",
    "is_number",
    "is_whole",
    "unique_values",
]


if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Ints32 = npt.NDArray[np.int32]
    Floats = npt.NDArray[np.float64]
    Floats32 = npt.NDArray[np.float32]
    Bools = npt.NDArray[np.bool_]
else:  # options are checked here too, and the help of a command loads no numpy
    Ints = Ints32 = Floats = Floats32 = Bools = Any


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def unique_values(values: Any) -> Any:
    """The distinct values of an array, in order, by a sort: `np.unique` hashes integers, in ten times as long.

    >>> import numpy as np
    >>> unique_values(np.array([[3, 1], [1, 2]])).tolist()
    [1, 2, 3]
    """
    import numpy as np

    ordered = np.sort(values, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def byte_count(text: str | float) -> int:
    """A size in bytes: 8GB are 8,000,000,000 and 8GiB are 8,589,934,592; a plain number is bytes.

    >>> byte_count("8GB"), byte_count("1.5 GiB"), byte_count(1024)
    (8000000000, 1610612736, 1024)
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", str(text))
    if match is None or match[2].upper() not in _UNITS:
        raise InputError(f"{text!r} is not a size in bytes; write 8GB (8,000,000,000) or 8GiB (8,589,934,592)")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def is_whole(x: Any) -> bool:
    """Whether it is a whole number, as numpy's scalars are, too; True and False are none.

    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)


def is_number(x: Any) -> bool:
    """Whether it is a finite number that a float can hold; True and False are none.

    >>> is_number(0.5), is_number(10**400), is_number(math.nan), is_number(True)
    (True, False, False, False)
    """
    if not isinstance(x, numbers.Real) or isinstance(x, bool):
        return False
    try:
        return math.isfinite(x)
    except OverflowError:  # a whole number that no float can hold
        return False


def is_between(x: Any, low: float, high: float) -> bool:
    """Whether it is a number, and strictly between two others."""
    return is_number(x) and low < float(x) < high


def check_choice(among: Collection[str], **values: Any) -> None:
    """Refuse a name that is not one of those known."""
    for option, name in values.items():
        if name not in among:
            raise InputError(f"{option}={name!r} is not one of {', '.join(among)}")


def check_count(name: str, value: Any, *, least: int, most: float = math.inf) -> None:
    """Refuse what is not a whole number from `least` to `most`."""
    if not is_whole(value) or not least <= int(value) <= most:
        upper = "" if most == math.inf else f" and at most {int(most):,}"
        raise InputError(f"{name}={value!r} is not a whole number of at least {least:,}{upper}")


def check_at_least_one(**counts: Any) -> None:
    """Refuse what is not a whole number of at least 1."""
    for option, count in counts.items():
        check_count(option, count, least=1)


def check_counts(**counts: Any) -> None:
    """Refuse what is neither a whole number of at least 1 nor some of them."""
    for option, count in counts.items():
        each = list(count) if isinstance(count, Iterable) else [count]
        if not each or not all(is_whole(x) and x > 0 for x in each):
            raise InputError(f"{option}={count!r} does not fit: give whole numbers of at least 1")


def check_share(name: str, value: Any) -> None:
    """Refuse what is not a number from 0 to 1."""
    if not is_number(value) or not 0 <= float(value) <= 1:
        raise InputError(f"{name}={value!r} is not a number from 0 to 1")


def check_fractions(train: Any) -> tuple[float, ...]:
    """Parts of the nodes, each between 0 and 1; one number stands for itself."""
    parts = tuple(train) if isinstance(train, Iterable) else (train,)
    if not parts or not all(is_between(x, 0, 1) for x in parts):
        raise InputError(f"train={train!r} is not made of parts between 0 and 1, such as (0.1, 0.5, 0.9)")
    return tuple(map(float, parts))
