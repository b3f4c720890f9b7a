"""Hyperedges that a command reads: files with a column for each role, or HIF json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.naming import is_typed
from netfold.cli.reading import integer
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.hypergraph import Hypergraph
    from netfold.labels import Labels

__all__ = [
    "HYPEREDGES",
    "Spelling",
    "column_flags",
    "columns_flag",
    "columns_of",
    "hypergraph_of",
    "labelled_as_known",
    "plain_labels",
]

HYPEREDGES = ("columns", "skip_loops", "delimiter", "header")
"""The names of the flags that say how a file of hyperedges is read: arguments of `read_hyperedges`."""


columns_flag: Callable[[Any], Any] = click.option(
    "--columns",
    metavar="NAME,...",
    help="Read these columns alone; userId=user renames one, tail=tail:entity gives its type.",
)


def column_flags(command: Any) -> Any:
    """The flags that only files of hyperedges have."""
    loops = "Leave out hyperedges that name a node twice."
    return columns_flag(click.option("--skip-loops", is_flag=True, default=None, help=loops)(command))


def hypergraph_of(paths: Sequence[str], **reading: Any) -> Hypergraph:
    """The hypergraph in files of hyperedges, or in one of HIF json; None stands for a flag not given."""
    given = {name: value for name, value in reading.items() if value is not None}
    if any(path.endswith((".json", ".json.gz")) for path in paths):
        return _from_hif(paths, given)
    from netfold.io import read_hyperedges

    if "columns" in given:
        given["columns"] = columns_of(given["columns"], header=given.get("header", True))
    return read_hyperedges(list(paths), **given)


def columns_of(text: str, *, header: bool = True) -> list[str | None] | dict[str, str]:
    """What --columns says, as `read_hyperedges` takes it.

    >>> columns_of("userId=user,tag"), columns_of("head:entity,-,tail:entity", header=False)
    ({'userId': 'user', 'tag': 'tag'}, ['head:entity', None, 'tail:entity'])
    """
    names = [part.strip() for part in text.split(",")]
    if not header:
        return [None if name == "-" else name for name in names]
    renamed = [name.partition("=") for name in names]
    return {(old if equals else old.partition(":")[0]): new if equals else old for old, equals, new in renamed}


def _from_hif(paths: Sequence[str], given: dict[str, Any]) -> Hypergraph:
    from netfold.io import read_hif

    if len(paths) > 1:
        raise InputError(f"{paths[0]} and {paths[1]} are several files, of which one is json; HIF json comes alone")
    if given:
        flag = next(iter(given)).replace("_", "-")
        raise InputError(f"{paths[0]} is HIF json, and --{flag} is for a file with columns; leave it out")
    return read_hif(paths[0])


class Spelling:
    """How a model spells its nodes: their labels, from types and from what a file has at a position.

    A file holds integers or text by what happens to be in it, and (type, label) where it has several types.
    """

    def __init__(self, known: Labels):
        self._known = known
        self._typed = known.kind == "json" and len(known) > 0 and all(map(is_typed, known))
        self._texts = {label[0] for label in known if isinstance(label[1], str)} if self._typed else set()
        self._types = {label[0] for label in known} if self._typed else set()

    def label(self, name: str, plain: Any) -> Any:
        """The label of the node of this type that is called so in a file."""
        if not self._typed:
            return next((x for x in (plain, str(plain), integer(plain)) if x in self._known), plain)
        if name in self._texts:
            return name, str(plain)
        return name, integer(plain) if name in self._types else plain


def plain_labels(hypergraph: Hypergraph) -> list[Any]:
    """What a file calls its nodes, without their types."""
    several = len(hypergraph.types) > 1
    return [x[1] if several and is_typed(x) else x for x in hypergraph.nodes]


def labelled_as_known(hypergraph: Hypergraph, known: Labels) -> Hypergraph:
    """The hypergraph with labels as a model's nodes have them."""
    from netfold.hypergraph import Hypergraph

    labels = list(map(Spelling(known).label, hypergraph.node_types, plain_labels(hypergraph)))
    return Hypergraph.from_kinds(
        hypergraph.kinds, nodes=labels, node_types=hypergraph.type_codes, types=hypergraph.types
    )
