"""Real graphs by name, from a folder that the user has."""

from __future__ import annotations

import os
from pathlib import Path

from netfold.errors import InputError
from netfold.graph import Graph
from netfold.io import read_edges

__all__ = ["load"]


def load(name: str, *, directed: bool = False) -> Graph:
    """The graph `$NETFOLD_DATA/NAME/edges.csv.gz`, or the same in the user's cache (`~/.cache/netfold`)."""
    for folder in _folders():
        path = folder / name / "edges.csv.gz"
        if path.is_file():
            return read_edges(path, directed=directed)
    looked = " or ".join(str(f) for f in _folders())
    raise InputError(
        f"no data set {name!r} in {looked}; put NAME/edges.csv.gz there, or set NETFOLD_DATA to where it is"
    )


def _folders() -> list[Path]:
    given = os.environ.get("NETFOLD_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "netfold"
    return [*([Path(given)] if given else []), cache]
