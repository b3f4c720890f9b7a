"""Who likes which movie, in which words: files of hyperedges, and a model of them by the command line."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import netfold as nf
from command import succeed

USERS, FILMS, TAGS = ["ann", "bob", "cid", "7"], [1, 2, 3, 7], ["space", "crime", "slow", "?"]
LIKED = [(u, f, t) for (i, u), (j, f), (k, t) in product(*map(enumerate, (USERS, FILMS, TAGS))) if (i + j + k) % 3]
QUICK = ["--dim", "4", "--epochs", "6", "--batch-size", "16", "--quiet"]


def lines(head: str, rows: Iterable[Iterable[object]]) -> str:
    return "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"


def fit_in(folder: Path) -> None:
    """Write the triples, and who is whose friend: two kinds in two files; and fit a model of both."""
    (folder / "triples.csv").write_text(lines("user,movie,tag", LIKED))
    (folder / "friends.tsv").write_text("user\tfriend:user\nann\tbob\nbob\tcid\ncid\tann\n7\tann\n")
    result = succeed("fit", "dhne", folder / "triples.csv", folder / "friends.tsv", "-o", folder / "model", *QUICK)
    assert f"DHNE of 12 nodes and {len(LIKED) + 4} hyperedges in 4 dimensions: 6 epochs" in result.stdout


def model(folder: Path) -> nf.DHNE:
    found = nf.load(folder / "model")
    assert isinstance(found, nf.DHNE)
    return found
