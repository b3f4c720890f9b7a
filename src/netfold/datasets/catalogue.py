"""`Dataset`: the facts about a data set, and the catalogue of those that netfold knows by name."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from netfold.errors import InputError

__all__ = ["Dataset", "File", "describe", "known", "listed", "names", "read_catalogue"]


@dataclass(frozen=True, kw_only=True)
class File:
    """A table in a file: text with a header, packed with gzip."""

    name: str
    bytes: int
    """The size of the file as it is, packed."""
    columns: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What a data set is, who published it, under which terms, and the files that hold it.

    >>> describe("ca_grqc").edges
    14496
    """

    name: str
    title: str
    kind: str
    """`graph`, `hypergraph`, or `documents` (which are made into a graph)."""
    directed: bool = False
    weighted: bool = False
    nodes: int
    edges: int | None = None
    """Self-loops included; None where chance decides. Of what is made to order, `nodes` and `edges` are the default."""
    classes: int | None = None
    """How many classes `labels` tells apart; None where there are no labels."""
    origin: str
    """Authors, publication, year."""
    licence: str
    sources: tuple[str, ...] = ()
    """Where it can be had."""
    notes: str = ""
    files: tuple[File, ...] = ()

    def file(self, name: str) -> File:
        """The file of this name, which may be short of its ending: `edges` is `edges.csv.gz`."""
        found = next((f for f in self.files if name in (f.name, f.name.removesuffix(".csv.gz"))), None)
        if found is None:
            has = f"it has {listed(f.name for f in self.files)}" if self.files else "it is made without files"
            raise InputError(f"the data set {self.name!r} has no file {name!r}; {has}")
        return found

    def has(self, name: str) -> bool:
        """Whether a file of this name belongs to it."""
        return any(f.name == name for f in self.files)


@cache
def known() -> Mapping[str, Dataset]:
    """Every data set by its name: those that need no file first."""
    return read_catalogue(Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8"))


def read_catalogue(text: str) -> dict[str, Dataset]:
    """The data sets that a text in TOML describes."""
    return {name: _dataset(name, facts) for name, facts in tomllib.loads(text).items()}


def names() -> list[str]:
    """The names that `load` accepts.

    >>> "karate" in names()
    True
    """
    return list(known())


def describe(name: str) -> Dataset:
    """The facts about a data set."""
    found = known().get(name) if isinstance(name, str) else None
    if found is None:
        near = get_close_matches(str(name).casefold().replace("-", "_"), names(), n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? There are" if near else "there are"
        raise InputError(f"no data set is called {name!r}; {hint} {listed(names())}")
    return found


def listed(words: Iterable[str]) -> str:
    """Words as a sentence lists them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *rest, last = words
    return f"{', '.join(rest)} and {last}" if rest else last


def _dataset(name: str, facts: dict[str, Any]) -> Dataset:
    files = tuple(
        File(name=file, columns=tuple(columns.split(",")), **rest)
        for file, rest in facts.pop("files", {}).items()
        for columns in [rest.pop("columns")]
    )
    return Dataset(name=name, sources=tuple(facts.pop("sources", ())), files=files, **facts)
