"""Which columns of a file of hyperedges are read, the role that each is, and the type of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from netfold.data.columns import tuple_columns
from netfold.errors import InputError
from netfold.io.source import is_number_text

__all__ = ["Columns", "Role"]


class Role(NamedTuple):
    """A column that is read: where it stands, what it is called, and the type of its nodes."""

    column: int
    name: str
    type: str


@dataclass(frozen=True)
class Columns:
    """What the caller says of the columns."""

    chosen: Mapping[str, str] | None
    """From the name of a column to what it is to be called, `role` or `role:type`; None reads every column."""
    unnamed: tuple[str | None, ...] | None
    """What the columns of files without a header are called; None where files have one."""

    @staticmethod
    def of(columns: Any, header: bool) -> Columns:
        """What `read_hyperedges` was given."""
        if not header:
            return Columns(None, _names_of_all(columns))
        if columns is None:
            return Columns(None, None)
        if isinstance(columns, Mapping):
            renamed = dict(columns)
        else:
            names = [columns] if isinstance(columns, str) else list(columns)
            renamed = {str(name).partition(":")[0]: name for name in names}
            if len(renamed) < len(names):
                raise InputError(f"columns={names!r} names a column twice; name each once")
        odd = [x for pair in renamed.items() for x in pair if not isinstance(x, str)]
        if odd:
            raise InputError(f"columns holds {odd[0]!r}; it is a list of names of columns, or a dict from name to role")
        return Columns(renamed, None)

    def roles(self, names: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> list[Role]:
        """The roles of a file whose header has these names; a ValueError says why there are none.

        Where none are chosen, they are what `tuple_columns` makes of the names and of some rows, or all columns.

        >>> Columns.of(["who:person", "what"], True).roles(["year", "what", "who"])
        [Role(column=2, name='who', type='person'), Role(column=1, name='what', type='what')]
        """
        if self.unnamed is not None:
            return self._by_place(len(names))
        if self.chosen is None:
            wanted = tuple_columns(names, rows, wanted=True) if rows else ()
            known = {name.partition(":")[0]: name for name in wanted}
            if not known:
                return _checked([_role(i, name) for i, name in enumerate(names)])
            plain = [name.partition(":")[0] for name in names]
            return _checked([_role(i, known[name]) for i, name in enumerate(plain) if name in known])
        places = {name.partition(":")[0]: (i, name) for i, name in reversed(list(enumerate(names)))}
        roles = []
        for name, called in self.chosen.items():
            if name in places:
                i, written = places[name]
                roles.append(_role(i, written if called == name else called))
        if len(roles) < min(2, len(self.chosen)):
            which = f"{roles[0].name!r} alone" if roles else "none"
            raise ValueError(f"there are the columns {', '.join(names)}, and {which} of {', '.join(self.chosen)}")
        return _checked(roles)

    def check_found(self, files: Sequence[Any]) -> None:
        """Refuse a name that no file has."""
        names = {name.partition(":")[0] for file in files for name in file.names}
        missing = next((name for name in self.chosen or () if name not in names), None)
        if missing is not None:
            listed = " and ".join(f"{file.path} ({', '.join(file.names)})" for file in files)
            raise InputError(f"there is no column {missing!r} in {listed}; choose among those")

    def _by_place(self, width: int) -> list[Role]:
        assert self.unnamed is not None
        if width != len(self.unnamed):
            counts = f"there are {width} columns, and columns= names {len(self.unnamed)}"
            raise ValueError(f"{counts}; name each, None to pass one over")
        return _checked([_role(i, name) for i, name in enumerate(self.unnamed) if name is not None])


def _names_of_all(columns: Any) -> tuple[str | None, ...]:
    if columns is None or isinstance(columns, (str, Mapping)):
        raise InputError("header=False needs columns=, a list of the names of all columns (None to pass one over)")
    names = tuple(columns)
    odd = next((x for x in names if x is not None and not isinstance(x, str)), None)
    if odd is not None:
        raise InputError(f"columns holds {odd!r}; it is a list of the names of all columns (None to pass one over)")
    return names


def _role(column: int, written: str) -> Role:
    """The role that `role` or `role:type` means."""
    name, colon, kind = (part.strip() for part in written.partition(":"))
    if not name or (colon and not kind):
        raise ValueError(
            f"column {column + 1} is called {written!r}; a column is called by its role, or role:type, as head:entity"
        )
    if is_number_text(name.encode()):
        raise ValueError(
            f"column {column + 1} is called {name!r}, which names no role; the first line should, as user,movie,tag"
            " (where there is none: header=False and columns=[...], or --no-header and --columns)"
        )
    return Role(column, name, kind or name)


def _checked(roles: list[Role]) -> list[Role]:
    names = [role.name for role in roles]
    if len(names) < 2:
        raise ValueError(
            f"there is one role alone, {''.join(names)!r}; a hyperedge has two or more, each in its column"
        )
    again = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if again is not None:
        raise ValueError(f"duplicate role {again!r}; give each its own name, as head:{again} and tail:{again}")
    return roles
