"""A process that kills itself in the middle of its work."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from typing import Any


def kill_at(n: int, calls: Iterable[str]) -> Callable[[Any], Any]:
    """Let this process kill itself at the n-th of these calls of `os`; the answer makes other functions count."""
    left = [n]

    def counted(call: Any) -> Any:
        def counting(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return counting

    for name in calls:
        setattr(os, name, counted(getattr(os, name)))
    return counted
