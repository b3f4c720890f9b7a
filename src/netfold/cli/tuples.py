"""What `score` and `complete` share: a model of tuples, its kinds, and hyperedges in its own labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from netfold.cli.hyperedges import hypergraph_of, labelled_as_known
from netfold.cli.reading import check_there
from netfold.errors import InputError
from netfold.models import DHNE

if TYPE_CHECKING:
    from netfold.hypergraph import Hypergraph
    from netfold.models.dhne.schema import Form

__all__ = ["form_with", "forms_of", "hypergraph_for", "node_types", "tuple_model", "types_of"]


def tuple_model(path: str) -> DHNE:
    """A saved model that scores tuples."""
    from netfold.models import load

    check_there(path)
    found = load(path)
    if not isinstance(found, DHNE):
        raise InputError(f"{path} holds a {type(found).__name__}, which scores no tuples; netfold fit dhne makes one")
    return found


def forms_of(model: DHNE) -> tuple[Form, ...]:
    """The kinds of tuples that it learned."""
    from netfold.models.dhne.schema import Schema

    return Schema.from_facts(model.graph_facts_).forms


def node_types(model: DHNE, later: Hypergraph | None = None) -> list[str]:
    """The type of each node of the model, then of each of a later hypergraph."""
    codes: Any = model.network_.type_codes
    own = [model.graph_facts_["types"][code] for code in codes.tolist()]
    return own if later is None else [*own, *later.node_types]


def types_of(model: DHNE, form: Form) -> list[str]:
    """The type of each position, by name."""
    return [model.graph_facts_["types"][t] for t in form.types]


def form_with(forms: Sequence[Form], roles: Iterable[str]) -> Form:
    """The kind that has these roles, in whatever order; a sentence says which there are."""
    given = list(roles)
    found = next((form for form in forms if sorted(form.roles) == sorted(given)), None)
    if found is not None:
        return found
    known = " or ".join(f"({', '.join(form.roles)})" for form in forms)
    names = list(dict.fromkeys(role for form in forms for role in form.roles))
    odd = next((role for role in given if role not in names), None)
    if odd is not None:
        near = get_close_matches(odd, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the roles are {known}"
        raise InputError(f"no role is called {odd!r}; {hint}")
    missing = next(([r for r in form.roles if r not in given] for form in forms if {*given} < {*form.roles}), [])
    needed = f"; with {' and '.join(missing)} there is one" if missing else f"; those that were learned are {known}"
    raise InputError(f"no kind of tuples has the roles ({', '.join(given)}) alone{needed}")


def hypergraph_for(model: DHNE, paths: Sequence[str]) -> Hypergraph | None:
    """The hyperedges in files, in the model's labels; None where no file is given."""
    return labelled_as_known(hypergraph_of(paths), model.embedding_.nodes) if paths else None
