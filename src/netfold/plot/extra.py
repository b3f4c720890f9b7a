"""The libraries that only pictures need, which the extra `viz` installs."""

from __future__ import annotations

import importlib
from typing import Any

from netfold.errors import InputError


def imported(name: str) -> Any:
    """A module of that extra; where it is missing, the error says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{name.split('.')[0]} is missing; install it with: pip install 'netfold[viz]'") from None
