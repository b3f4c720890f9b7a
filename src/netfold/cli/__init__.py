"""The command line: `netfold fit`, `transform`, `nearest`, `export`, `info`, `map`, `evaluate`, `reproduce` and others.

Nothing here imports numpy or torch before a command runs, so that `--help` is instant.
"""

from __future__ import annotations

from netfold.cli.program import main

__all__ = ["main"]
