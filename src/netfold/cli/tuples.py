"""`netfold complete MODEL --ROLE NODE ...` and `netfold score MODEL TUPLES`: tuples, and the roles that they have."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.inputs import (
    Spelling,
    check_there,
    columns_flag,
    columns_of,
    hypergraph_of,
    named_as_known,
    plain_names,
    text_flags,
)
from netfold.cli.names import node_of_type, spelled
from netfold.cli.output import check_new_file, check_table, force_flag, json_flag, say, write_table
from netfold.data.text import counted, did_you_mean, printable, type_in_words, with_article
from netfold.errors import InputError
from netfold.models import DHNE

if TYPE_CHECKING:
    from netfold.data.hypergraph import Hypergraph
    from netfold.data.nodes import Nodes
    from netfold.models.dhne.tuples import Form

__all__ = ["complete", "node_types", "score"]


def tuple_model(path: str) -> DHNE:
    """A saved model that scores tuples."""
    from netfold.models import load

    check_there(path)
    model = load(path)
    if not isinstance(model, DHNE):
        raise InputError(f"{path} holds {type_in_words(model)}, which scores no tuples; netfold fit dhne makes one")
    return model


def forms_of(model: DHNE) -> tuple[Form, ...]:
    """The kinds of tuples that it learned."""
    from netfold.models.dhne.tuples import Schema

    return Schema.from_facts(model.graph_facts_).forms


def node_types(model: DHNE, later: Hypergraph | None = None) -> list[str]:
    """The type of each node of the model, then of each of a later hypergraph."""
    codes: Any = model.network_.type_codes
    own = [model.graph_facts_["types"][code] for code in codes.tolist()]
    return own if later is None else [*own, *later.node_types]


def position_types(model: DHNE, form: Form) -> list[str]:
    """The type of each position, by name."""
    return [model.graph_facts_["types"][t] for t in form.types]


def form_with(forms: Sequence[Form], roles: Iterable[str]) -> Form:
    """The kind that has these roles, in whatever order; a sentence says which there are."""
    wanted = list(roles)
    form_of_roles = next((form for form in forms if sorted(form.roles) == sorted(wanted)), None)
    if form_of_roles is not None:
        return form_of_roles
    known = " or ".join(f"({', '.join(form.roles)})" for form in forms)
    names = list(dict.fromkeys(role for form in forms for role in form.roles))
    odd = next((role for role in wanted if role not in names), None)
    if odd is not None:
        hint = did_you_mean(odd, names, f"the roles are {known}")
        raise InputError(f"no role is called {odd!r}; {hint}")
    missing = next(([r for r in form.roles if r not in wanted] for form in forms if {*wanted} < {*form.roles}), [])
    needed = f"; with {' and '.join(missing)} there is one" if missing else f"; those that were learned are {known}"
    raise InputError(f"no kind of tuples has the roles ({', '.join(wanted)}) alone{needed}")


def hypergraph_for(model: DHNE, paths: Sequence[str]) -> Hypergraph | None:
    """The hyperedges in files, with nodes spelled as the model's are; None where no file is given."""
    return named_as_known(hypergraph_of(paths), model.embedding_.nodes) if paths else None


class TupleFile:
    """The nodes on each line of a file with a column for each role; `reading` are flags, None for one not given."""

    def __init__(self, path: str, reading: Mapping[str, Any]):
        from netfold.io.hyperedges import read_hyperedges

        self._path = path
        self._given = {name: value for name, value in reading.items() if value is not None}
        if "columns" in self._given:
            self._given["columns"] = columns_of(self._given["columns"], header=self._given.get("header", True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of types that look alike: the model knows which are which
            read = read_hyperedges(path, **self._given)
        (kind,), plain = read.kinds, plain_names(read)
        self.roles: tuple[str, ...] = kind.roles
        self.rows = [[plain[i] for i in row] for row in kind.rows.tolist()]
        """As they are written, integers where all of a type are."""

    def column(self, role: str) -> list[Any]:
        """The nodes at a role, line for line."""
        at = self.roles.index(role)
        return [row[at] for row in self.rows]

    def refusal_at(self, row: int, problem: str) -> InputError:
        """The error to raise about a tuple, with its line."""
        from netfold.io.hyperedges import opened_file
        from netfold.io.layout import Columns

        columns = Columns.of(self._given.get("columns"), self._given.get("header", True))
        return opened_file(self._path, columns, self._given.get("delimiter")).refusal_at(row, problem)


# -------------------------------------------------------------------- complete


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


# -------------------------------------------------------------------- score


@click.command(epilog="Example: netfold score films.netfold tuples.csv -o scores.csv")
@click.argument("model")
@click.argument("tuples")
@click.option("-o", "--out", metavar="FILE", help="Write tuples and scores here; ends in .csv, .tsv or .parquet.")
@click.option("--later", multiple=True, metavar="FILE", help="Hyperedges of nodes that the model never saw.")
@columns_flag
@text_flags
@force_flag
@json_flag
def score(
    model: str, tuples: str, out: str | None, later: Sequence[str], force: bool, as_json: bool, **reading: Any
) -> None:
    """Say of each tuple in a file how likely it is a hyperedge: a number between 0 and 1, in the order of the file.

    MODEL is a folder that `netfold fit dhne` wrote. TUPLES is a file with a tuple on each line, a column for each role
    and their names in line 1, in whatever order. `netfold info MODEL` lists the roles.
    """
    if out is not None:
        check_table(out)
        check_new_file(out, force=force)
    known = tuple_model(model)
    file = TupleFile(tuples, reading)
    form, new = form_with(forms_of(known), file.roles), hypergraph_for(known, later)
    columns = _columns(known, form, file)
    nodes = [known.embedding_.nodes, *([] if new is None else [new.nodes])]
    types = position_types(known, form)
    _check_known(nodes, columns, types, file)
    _check_types(dict(zip(chain(*nodes), node_types(known, new), strict=True)), columns, types, file)
    scores = known.score(zip(*columns, strict=True), kind=form.roles, later=new).tolist()
    facts = {"model": type(known).__name__, "roles": list(file.roles), "tuples": len(scores), "path": out}
    pairs = list(zip(file.rows, scores, strict=True))
    if out is not None:
        write_table(out, {role: file.column(role) for role in file.roles} | {"score": scores})
        say(facts, f"scores of {counted(len(scores), 'tuple')}\n{out}", as_json=as_json)
        return
    text = "\n".join(f"{s:8.4f}  {', '.join(map(printable, row))}" for row, s in pairs)
    say(facts | {"scores": [{"tuple": row, "score": s} for row, s in pairs]}, text, as_json=as_json)


def _columns(model: DHNE, form: Form, file: TupleFile) -> list[list[Any]]:
    """The nodes at each role of the form, as the model has them."""
    spelling, columns = Spelling(model.embedding_.nodes), []
    for role, name in zip(form.roles, position_types(model, form), strict=True):
        column = file.column(role)
        nodes = {plain: spelling.node(name, plain) for plain in dict.fromkeys(column)}
        columns.append([nodes[plain] for plain in column])
    return columns


def _check_known(nodes: list[Nodes], columns: list[list[Any]], types: Sequence[str], file: TupleFile) -> None:
    """Name the first line with a node that is not known, and what is near it."""
    import numpy as np

    unknown = np.stack([np.max([names.find(column) for names in nodes], axis=0) < 0 for column in columns])
    if unknown.any():
        row = int(unknown.any(axis=0).argmax())
        at = int(unknown[:, row].argmax())
        node = columns[at][row]
        try:
            node_of_type(nodes, str(node[1] if isinstance(node, tuple) else node), types[at])
        except InputError as e:
            raise file.refusal_at(row, str(e)) from None


def _check_types(types: Mapping[Any, str], columns: list[list[Any]], wanted: Sequence[str], file: TupleFile) -> None:
    """Where nodes do not tell their type, columns may have been exchanged."""
    for name, column in zip(wanted, columns, strict=True):
        row = next((i for i, node in enumerate(column) if types[node] != name), None)
        if row is not None:
            node = column[row]
            raise file.refusal_at(
                row, f"{spelled(node)} is {with_article(types[node])}, where {with_article(name)} belongs"
            )
