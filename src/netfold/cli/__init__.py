"""The command line: `netfold fit`, `transform`, `nearest`, `complete`, `info`, `map`, `evaluate`, `reproduce`, ...

Nothing here imports numpy or torch before a command runs, so that `--help` is instant.
"""

from __future__ import annotations

from netfold.cli.program import main

__all__ = ["main"]
