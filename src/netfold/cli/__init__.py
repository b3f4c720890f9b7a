"""The command line: `netfold fit`, `transform`, `nearest`, `complete`, `info`, `map`, `evaluate`, `reproduce`, ...

Nothing here imports numpy or torch before a command runs, so that `--help` is instant.
"""

from __future__ import annotations

import sys

try:
    from netfold.cli.program import main
except KeyboardInterrupt:  # a fifth of a second, in which nothing has begun
    sys.stderr.write("netfold: interrupted\n")
    raise SystemExit(130) from None

__all__ = ["main"]
