"""`netfold complete MODEL --user u1 --movie m7 --tag ?`: what belongs in the open position of a tuple."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.names import node_of_type, spelled
from netfold.cli.output import json_flag, say
from netfold.cli.tuples import form_with, forms_of, hypergraph_for, node_types, position_types, tuple_model
from netfold.data.text import with_article
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.hypergraph import Hypergraph
    from netfold.models import DHNE
    from netfold.models.dhne.tuples import Form

__all__ = ["complete"]

_OPEN = "?"
_HINT = "mark the open position with a question mark, in quotes as shells read it otherwise: --tag '?'"


@click.command(
    epilog="Example: netfold complete films.netfold --user u1 --movie m7 --tag '?'",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="MODEL --ROLE NODE ... --ROLE '?'")
@click.option("-k", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@click.option(
    "--exclude", multiple=True, metavar="FILE", help="Leave out what makes a hyperedge of this file; can be repeated."
)
@click.option("--later", multiple=True, metavar="FILE", help="Hyperedges of nodes that the model never saw.")
@json_flag
def complete(words: Sequence[str], k: int, exclude: Sequence[str], later: Sequence[str], as_json: bool) -> None:
    """List the nodes that best complete a tuple, the best first, each with the score of that tuple.

    MODEL is a folder that `netfold fit dhne` wrote. Each role of a kind of tuples that it learned is an option here:
    its value is a node, or '?' at the one position that is open (`tag:?` for a node that is called so).
    Of a role that has the name of an option below, write role=NODE. `netfold info MODEL` lists the roles.
    """
    path, by_role = _parsed(words)
    model = tuple_model(path)
    form = form_with(forms_of(model), by_role)
    open_ = _open_role(by_role)
    known, new = hypergraph_for(model, exclude), hypergraph_for(model, later)
    _check_excluded(form, known, exclude)
    members = _asked(model, form, by_role, new)
    completions = model.complete([members[role] for role in form.roles], k, kind=form.roles, exclude=known, later=new)
    rows = [{"node": node, "score": score} for node, score in completions]
    text = "\n".join(f"{score:8.4f}  {spelled(node)}" for node, score in completions)
    facts = {"kind": list(form.roles), "given": {r: x for r, x in members.items() if r != open_}, "open": open_}
    say(facts | {"completions": rows}, text, as_json=as_json)


def _parsed(words: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The model, and what is said of each role: `--user u1`, `--user=u1` and `user=u1` are the same."""
    paths, pairs, left = list[str](), list[tuple[str, str]](), list(words)
    while left:
        word = left.pop(0)
        role, equals, node = word.removeprefix("--").partition("=")
        if equals:
            pairs.append((role, node))
        elif not word.startswith("--"):
            paths.append(word)
        elif left:
            pairs.append((role, left.pop(0)))
        else:
            raise InputError(f"--{role} has no node; give one, or '?' if this is the open position")
    if len(paths) != 1:
        what = "no model is given" if not paths else f"{paths[1]!r} stands alone after the model {paths[0]}"
        raise InputError(f"{what}; give one model, and each node after its role, as --user u1")
    by_role = dict(pairs)
    if len(by_role) < len(pairs):
        again = next(role for i, (role, _) in enumerate(pairs) if role in dict(pairs[:i]))
        raise InputError(f"--{again} is given twice; a node stands at each position once")
    return paths[0], by_role


def _open_role(by_role: dict[str, str]) -> str:
    roles = [role for role, text in by_role.items() if text == _OPEN]
    if len(roles) != 1:
        what = f"{' and '.join(f'--{r}' for r in roles)} are both open" if roles else "no position is open"
        raise InputError(f"{what}; {'leave one open alone' if roles else _HINT}")
    return roles[0]


def _check_excluded(form: Form, known: Hypergraph | None, files: Sequence[str]) -> None:
    """A file without such tuples excludes nothing, which is not what was meant."""
    if known is not None and not any(sorted(kind.roles) == sorted(form.roles) for kind in known.kinds):
        listed = " and ".join(f"({', '.join(kind.roles)})" for kind in known.kinds)
        raise InputError(f"{files[0]} has hyperedges of {listed}, and those asked about have ({', '.join(form.roles)})")


def _asked(model: DHNE, form: Form, by_role: dict[str, str], later: Hypergraph | None) -> dict[str, Any]:
    """The node at each role, None at the open one."""
    nodes = [model.embedding_.nodes, *([] if later is None else [later.nodes])]
    pairs = list(zip(form.roles, position_types(model, form), strict=True))
    members = {r: None if by_role[r] == _OPEN else node_of_type(nodes, by_role[r], name) for r, name in pairs}
    types = dict(zip(chain(*nodes), node_types(model, later), strict=True))
    for role, name in pairs:
        if types.get(members[role], name) != name:
            there = with_article(types[members[role]])
            raise InputError(f"--{role} is {with_article(name)}, and {spelled(members[role])} is {there}")
    return members
