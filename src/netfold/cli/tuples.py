"""Models of tuples, and files of tuples whose order is kept and in which a line can be named."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netfold.cli.inputs import check_there, columns_of, hypergraph_of, named_as_known, plain_names
from netfold.data.text import did_you_mean, type_in_words
from netfold.errors import InputError
from netfold.models import DHNE

if TYPE_CHECKING:
    from netfold.data.hypergraph import Hypergraph
    from netfold.models.dhne.tuples import Form

__all__ = [
    "TupleFile",
    "form_with",
    "forms_of",
    "hypergraph_for",
    "node_types",
    "position_types",
    "tuple_model",
]


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
