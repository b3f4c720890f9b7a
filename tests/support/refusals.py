"""What a call says when it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from netfold.errors import InputError


def refused(call: Callable[..., Any], *args: Any, **options: Any) -> str:
    """The one sentence of the InputError that a call must raise."""
    with pytest.raises(InputError) as caught:
        call(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message
