"""`netfold score MODEL TUPLES`: how likely each tuple of a file is a hyperedge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.inputs import Spelling, columns_flag, text_flags
from netfold.cli.names import node_of_type, spelled
from netfold.cli.output import check_new_file, check_table, force_flag, json_flag, say, write_table
from netfold.cli.tuples import (
    TupleFile,
    form_with,
    forms_of,
    hypergraph_for,
    node_types,
    position_types,
    tuple_model,
)
from netfold.data.text import counted, printable, with_article
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.nodes import Nodes
    from netfold.models import DHNE
    from netfold.models.dhne.tuples import Form

__all__ = ["score"]


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
