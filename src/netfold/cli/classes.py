"""Files of classes that a command reads: a node and one of its classes on each line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netfold.cli.naming import spelled
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.labels import Labels

__all__ = ["LABELS_HELP", "classes_of"]

LABELS_HELP = "A node and one of its classes on each line, as 7,red; a node with a type as user:7,red."


def classes_of(path: str, nodes: Labels) -> dict[Any, tuple[Any, ...]]:
    """The classes of each node; nodes with types are spelled in the file as people type them, user:u1."""
    from netfold.io import read_labels

    if nodes.kind != "json":
        return read_labels(path, nodes)
    named = {spelled(label): label for label in nodes}
    found = {str(node): classes for node, classes in read_labels(path).items()}
    unknown = next((node for node in found if node not in named), None)
    if unknown is not None:
        raise InputError(f"{path}: no node is called {unknown}; nodes are called as {next(iter(named))}")
    return {named[node]: classes for node, classes in found.items()}
