"""`python -m netfold`: the command line where the script `netfold` is not installed."""

from __future__ import annotations

from netfold.cli.program import main

main()
