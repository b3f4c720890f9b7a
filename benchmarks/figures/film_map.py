"""The picture of DHNE's page: the users, films and tags of examples/dhne.py, and their triples.

python benchmarks/figures/film_map.py docs/films.png
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import torch

import netfold as nf

EXAMPLE = Path(__file__).parents[2] / "examples" / "dhne.py"


def main() -> None:
    made = runpy.run_path(str(EXAMPLE))
    title = "Who gives which film which tag, folded by DHNE: a grey dot is a triple"
    nf.plot.map(made["model"], Path(sys.argv[1]), hypergraph=made["liked"], names=len(made["types"]), title=title)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
