"""The idea of a model in one picture, for its page.

OMP_NUM_THREADS=1 python benchmarks/figures/idea_pictures.py docs sdne          # draws docs/sdne-idea.png; no name: all
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

PICTURES = ("sdne", "dhne", "dvne", "depthlgp", "node2vecplus")
"""Each a module of `ideas`, with a function of its name."""


def main(folder: str, *asked: str) -> None:
    """Draw the pictures asked for."""
    for name in asked or PICTURES:
        getattr(import_module(f"ideas.{name}"), name)().save(Path(folder) / f"{name}-idea.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
