"""Nodes as people type and read them: user:u1 is the node ("user", "u1")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from netfold.data.text import as_typed, did_you_mean, is_typed, printable
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.nodes import Nodes

__all__ = ["integer", "node_of_type", "node_typed", "spelled"]

_SUGGESTIONS, _AMONG = 3, 100_000
"""So many close nodes are named, looked for among so many."""


def spelled(node: Any) -> str:
    """A node as it is typed.

    >>> spelled(("user", 7)), spelled("Zoë"), spelled((1, 2))
    ('user:7', 'Zoë', '(1, 2)')
    """
    return printable(as_typed(node))


def node_typed(nodes: Nodes, text: str) -> Any:
    """The node that a person means who types `text`: user:u1, or u1 alone where one type has it."""
    if nodes.kind != "json":
        return nodes.parse(text)
    types = list(dict.fromkeys(node[0] for node in nodes if is_typed(node)))
    nodes_meant = [x for t in types if text.startswith(f"{t}:") for x in _of_type(nodes, t, text[len(t) + 1 :])]
    if not nodes_meant:
        plain = nodes.parse(text)
        nodes_meant = [plain] * (plain in nodes) + [x for t in types for x in _of_type(nodes, t, text)]
    if not nodes_meant:
        raise InputError(f"no node is called {text!r}{_near(text, nodes)}")
    if len(nodes_meant) > 1:
        raise InputError(f"{text!r} is the name of several nodes; say which: {' or '.join(map(spelled, nodes_meant))}")
    return nodes_meant[0]


def node_of_type(nodes: Sequence[Nodes], text: str, name: str) -> Any:
    """The same where the type is known; `nodes` are those to look among, known ones first."""
    rest = text.removeprefix(f"{name}:")
    for names in nodes:
        plain = [x for x in map(names.parse, dict.fromkeys((text, rest))) if x in names]
        nodes_meant = _of_type(names, name, text) + _of_type(names, name, rest) + plain
        if nodes_meant:
            return nodes_meant[0]
    every = list(chain.from_iterable(nodes))
    own = [node[1] for node in every if is_typed(node) and node[0] == name]
    raise InputError(f"no {name} is called {text!r}{_near(rest, own or every)}")


def integer(node: Any) -> Any:
    """A node as an integer, where it is written as one."""
    written = isinstance(node, str) and re.fullmatch("0|-?[1-9][0-9]{0,17}", node)
    return int(node) if written else node


def _of_type(nodes: Nodes, name: str, text: str) -> list[Any]:
    """The node (type, text), or (type, number), if there is one."""
    return [(name, x) for x in dict.fromkeys((text, integer(text))) if (name, x) in nodes][:1]


def _near(text: str, nodes: Iterable[Any]) -> str:
    """What else could have been meant, or what nodes look like."""
    among = list(islice(nodes, _AMONG))
    words = {str(x[1] if is_typed(x) else x).casefold(): spelled(x) for x in reversed(among)}
    words |= {spelled(x).casefold(): spelled(x) for x in reversed(among)}
    examples = f"nodes look like {spelled(among[0])}" if among else ""
    hint = did_you_mean(text.casefold(), words, examples, most=_SUGGESTIONS, written=words)
    return f"; {hint}" if hint else ""
