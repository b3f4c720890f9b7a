"""What the columns of a table of edges are, decided once for text, parquet, frames and arrays.

`header_verdict` says whether line 1 names the columns, `edge_roles` which column is what, `tuple_columns` whether a
table holds tuples rather than edges. They see names and some rows as texts, so that every format is read alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["ROLES", "Chosen", "Roles", "edge_roles", "header_verdict", "measure_columns", "names_ends", "times_of",
           "tuple_columns"]  # fmt: skip

_ENDS = (
    ("source", "target"),
    ("source_id", "target_id"),
    ("source_node", "target_node"),
    ("src", "dst"),
    ("src", "dest"),
    ("source", "destination"),
    ("from", "to"),
    ("from_id", "to_id"),
    ("from_node", "to_node"),
    ("start", "end"),
    ("head", "tail"),
    ("subject", "object"),
    ("u", "v"),
    ("s", "t"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("origin", "destination"),
    ("origin", "dest"),
    ("sender", "receiver"),
    ("sender", "recipient"),
)
_SOURCE, _TARGET = (frozenset(names) for names in zip(*_ENDS, strict=True))
_SIDES = {
    "source": ("target", "destination", "dest"), "src": ("dst", "dest"), "from": ("to",), "start": ("end",),
    "head": ("tail",), "origin": ("destination", "dest"), "orig": ("dest",), "sender": ("receiver", "recipient"),
    "a": ("b",), "1": ("2",), "first": ("second",), "left": ("right",),
}  # fmt: skip
"""Words in which the names of two columns of ends may differ: from_airport and to_airport, author1 and author2."""
_COUNTED = {"a": "c", "1": "3", "first": "third", "left": "middle"}
"""Those that nodes are called by as well, so that they make no header; where there is a third, a row is a tuple."""
_NO_NODES = frozenset(
    ("lat", "lon", "lng", "long", "latitude", "longitude", "x", "y", "z", "age", "position", "pos", "index", "at", "on",
     "type", "kind", "label")
)  # fmt: skip
"""What two columns may have for their ends that is no node: start_lat and end_lat."""
_WORD = re.compile(r"[^\W\d_]+|[0-9]+")
_WEIGHT = frozenset(
    ("weight", "weights", "edge_weight", "w", "value", "val", "count", "counts", "freq", "frequency", "strength")
)
_TIME = frozenset(
    ("time", "timestamp", "date", "datetime", "year", "month", "day", "t", "ts", "when", "epoch", "unixtime",
     "unix_time")
)  # fmt: skip
_TIME_ENDING = ("_at", "_on", "_time", "_timestamp", "_ts", "_date", "_datetime", "_year", "_day")
_RELATION = frozenset(("relation", "relationship", "predicate", "rel", "relation_type"))
_TYPE = _RELATION | {"type", "kind", "edge_type", "label", "interaction"}
_MEASURE = frozenset(
    ("amount", "price", "cost", "total", "sum", "quantity", "qty", "rating", "score", "stars", "clicks", "views",
     "duration", "distance", "sign", "votes", "size", "share", "probability", "confidence")
)  # fmt: skip
_INDEX = frozenset(("", "index", "row", "rowid", "row_id", "id", "edge_id", "unnamed:_0"))
"""Names of columns that number the rows."""

ROLES = ("source", "target", "weight", "time", "type")
"""What a column can be, in the order in which a reading names them."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_INTEGER = re.compile(r"-?[0-9]+")
_DATE = re.compile(
    r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_PLAIN_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?")
_FLAG_OR_DAY = re.compile(r"true|false|[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{4}|[0-9]{2})(?: .*)?", re.IGNORECASE)
"""What is no node: true or false, and a day written as 31.01.2024 or 1/31/24, which is no time either: which is the
month is not certain."""
_EPOCH = (5e8, 2.5e9)
"""Seconds since 1970 of the years 1985 to 2049; as many thousands, millions or billions are its parts."""
_VECTOR = re.compile(r"[vs][0-9]+", re.ASCII)
_YEAR, _FEW_YEARS = re.compile(r"(19|20)[0-9]{2}", re.ASCII), 5
_WIDE = 10
"""So many columns, all numbers but the first, are a row of a matrix or of attributes."""
_LOG = 100
"""So many rows tell a log, in which times rise, from a list of weights."""
_DIGITS = re.compile(r"[0-9]+")
_MARKS = "@:/|#"
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_Rows = Sequence[Sequence[str]]
"""Some rows of a table, as texts; an empty one is a value that is missing."""


class Roles(NamedTuple):
    """Positions of the columns that matter; None where there is none."""

    source: int
    target: int
    weight: int | None = None
    time: int | None = None
    type: int | None = None


class Chosen(NamedTuple):
    """What the caller says of the columns: the name of each, or its position from 0; None to find it out.

    `time=False` says that no times are to be kept: a column of them is still no weight and no end.
    """

    source: str | int | None = None
    target: str | int | None = None
    weight: str | int | None = None
    time: str | int | bool | None = None
    type: str | int | None = None

    @property
    def names(self) -> list[str]:
        """The columns that are chosen by name."""
        return [x for x in self if isinstance(x, str)]


# -------------------------------------------------------------------- is line 1 a header?


def header_verdict(first: Sequence[str], rows: _Rows) -> bool | None:
    """Whether the first line names the columns; None where nothing tells.

    No cell of a header occurs again in its column, and its kind differs from the column's: words over numbers, or
    names over ids that have a digit, a prefix or a mark in common.

    >>> header_verdict(["customer_id", "product_id"], [["C1", "P1"], ["C2", "P1"]])
    True
    >>> header_verdict(["C7", "P4"], [["C1", "P1"], ["C2", "P1"]])
    False
    >>> header_verdict(["ann", "bob"], [["cid", "dan"]]) is None
    True
    """
    alike = [row for row in rows if len(row) == len(first)]
    if names_ends(first):
        cells = {cell for row in rows for cell in row}
        return not cells.intersection(cell for cell in first if cell)
    if any(_NUMBER.fullmatch(cell) for cell in first) or not alike or not any(first):
        return False
    columns = [[cell for cell in column if cell] for column in zip(*alike, strict=True)]
    pairs = [(cell, column) for cell, column in zip(first, columns, strict=True) if cell and column]
    if any(cell in column or _is_alike(cell, column) for cell, column in pairs):
        return False
    return True if any(_differs(cell, column) for cell, column in pairs) else None


def occurs_again(first: Sequence[str], rows: Iterable[Sequence[str]]) -> bool:
    """Whether a cell of the first line occurs anywhere below."""
    cells = {cell for cell in first if cell}
    return any(not cells.isdisjoint(row) for row in rows)


def _differs(name: str, column: Sequence[str]) -> bool:
    """Whether a cell is of another kind than all below it."""
    if _are_numbers(column) or all(_DATE.fullmatch(cell) for cell in column):
        return True
    if not _DIGITS.search(name) and all(_DIGITS.search(cell) for cell in column):
        return True
    if any(mark not in name and all(mark in cell for cell in column) for mark in _MARKS):
        return True
    shapes = {_shape(cell) for cell in column}
    return len(shapes) == 1 and len(set(column)) > 1 and "0" in next(iter(shapes)) and _shape(name) not in shapes


def _is_alike(name: str, column: Sequence[str]) -> bool:
    """Whether a cell is an id like all below it: C7 over C1 and C2."""
    shapes = {_shape(cell) for cell in column}
    return "0" in _shape(name) and shapes == {_shape(name)}


def _shape(cell: str) -> str:
    return _DIGITS.sub("0", cell)


# -------------------------------------------------------------------- which column is what?


def names_ends(names: Sequence[str]) -> bool:
    """Whether names say which column is the source and which the target."""
    return _named_ends([_plain(name) for name in names], counted=False) is not None


def _named_ends(plain: Sequence[str], *, counted: bool = True) -> tuple[int, int] | None:
    """Where the columns stand that are called source and target, or as two ends of one kind: from_city and to_city.

    `counted`: author1 and author2 are such too.
    """
    source, target = (next((i for i, name in enumerate(plain) if name in some), None) for some in (_SOURCE, _TARGET))
    if source is not None and target is not None:
        return source, target
    words = [_WORD.findall(name) if ":" not in name else [] for name in plain]  # head:person is a role of a tuple
    sides = [side for side in _SIDES if counted or side not in _COUNTED]
    return next((ends for i in range(len(words)) if (ends := _two_ends(i, words, sides)) is not None), None)


def _two_ends(i: int, words: list[list[str]], sides: Sequence[str]) -> tuple[int, int] | None:
    """A column and another one, whose name is the same but for the word that says which end it is."""
    name = words[i]
    for at, side in enumerate(name):
        before, after = name[:at], name[at + 1 :]
        no_node = not before + after or {*before, *after} & (_NO_NODES | _TIME | _WEIGHT | _MEASURE)
        if side not in sides or no_node or [*before, _COUNTED.get(side, ""), *after] in words:
            continue
        others = [[*before, word, *after] for word in _SIDES[side]]
        other = next((j for j, word in enumerate(words) if word in others), None)
        if other is not None:
            return i, other
    return None


def edge_roles(
    names: Sequence[str] | None, rows: _Rows, width: int, chosen: Chosen | None = None, weighted: bool | None = None
) -> Roles:
    """The role of each column; a ValueError says what is missing.

    What is chosen is taken. Otherwise the ends are the columns called so (source and target, from and to, ...) or as
    two ends of one kind (from_airport and to_airport; author1 and author2 where both name one of the same), or the
    first two that are no time, weight, type or number of the row; a weight is a column called weight, w, value, count,
    frequency, strength, or the third of three columns without names; a time is a column called one (time, date, year,
    created_at, ...) that holds numbers or dates, or one that holds dates or seconds since 1970 (without names also
    years from 1900 on, and whole numbers that rise from row to row), and is never a weight.
    Four columns without names are KONECT's: source, target, weight, time.

    >>> edge_roles(["user_id", "item", "amount", "timestamp"], [["u1", "i7", "9.5", "1610000000"]], 4)
    Roles(source=0, target=1, weight=None, time=3, type=None)
    """
    table, chosen = _Table(names, rows, width), chosen or Chosen()
    if chosen.source is None and chosen.target is None and _is_matrix(names, rows, width):
        raise ValueError(MATRIX)
    if chosen.source is None and chosen.target is None and names is not None and are_vectors(names):
        raise ValueError(VECTORS)
    if chosen.time is False:
        return edge_roles(names, rows, width, chosen._replace(time=None), weighted)._replace(time=None)
    places = table.places(chosen)
    if width < 2:
        raise ValueError(ONE_COLUMN)
    if weighted is False and "weight" in places:
        raise ValueError("weight= names a column, and weighted=False (--unweighted) passes it over; leave one out")
    roles = table.unnamed_roles(places, weighted) if names is None else table.named_roles(places, weighted)
    if "source" not in places and "target" not in places:
        table.check_guessed(roles)
    if names is None:
        return roles
    for role, place in zip(ROLES, roles, strict=True):
        if place is not None and role not in places:
            table.check_alone(role, place)
    return roles


class _Table:
    """The columns of a table: their names, and some of their values."""

    def __init__(self, names: Sequence[str] | None, rows: _Rows, width: int):
        self.names, self.width = names, width
        self.plain = [_plain(name) for name in names] if names is not None else [""] * width
        self._columns = [[row[i] for row in rows if len(row) == width and row[i]] for i in range(width)]

    def places(self, chosen: Chosen) -> dict[str, int]:
        """Where the chosen columns stand."""
        places: dict[str, int] = {}
        for role, column in zip(ROLES, chosen, strict=True):
            if column is None:
                continue
            if isinstance(column, bool):
                raise ValueError(f"{role}={column} names no column; give its name, or its position from 0")
            place = self._place(role, column)
            other = next((name for name, taken in places.items() if taken == place), None)
            if other is not None:
                raise ValueError(f"{other} and {role} are the same column, {column!r}; a column has one role")
            places[role] = place
        return places

    def _place(self, role: str, column: str | int) -> int:
        if isinstance(column, str):
            if self.names is None:
                raise ValueError(
                    f"{role} is to be the column {column!r}, and no line names the columns; give its place "
                    f"(--{role} 1 is the first, in Python {role}=0), or say header=True (--header)"
                )
            exact = [i for i, name in enumerate(self.names) if name == column]
            places = exact or [i for i, name in enumerate(self.plain) if name == _plain(column)]
            if not places:
                raise ValueError(f"there is no column {column!r} for {role}; there are {', '.join(self.names)}")
            self.check_alone(role, places[0])
            return places[0]
        if not 0 <= column < self.width:
            raise ValueError(f"there is no column {column + 1} for {role}; there are {self.width}")
        return column

    def check_alone(self, role: str, place: int) -> None:
        """Refuse to guess which of several columns of one name is meant."""
        alike = [i for i, name in enumerate(self.names or ()) if name and name == (self.names or ())[place]]
        if len(alike) > 1:
            where = " and ".join(str(i + 1) for i in alike)
            raise ValueError(
                f"columns {where} are both called {(self.names or ())[place]!r}; say which is the {role} by its place "
                f"(--{role} {alike[0] + 1}, in Python {role}={alike[0]}), or rename one"
            )

    def check_guessed(self, roles: Roles) -> None:
        """Refuse ends that nobody chose where one is a measure, or where a row is a node and what is known of it."""
        ends = [self._columns[i] for i in (roles.source, roles.target)]
        measured = [i for i, column in zip(roles[:2], ends, strict=True) if column and _are_numbers(column)]
        cell = next((cell for i in measured for cell in self._columns[i] if not _is_whole(cell)), None)
        if len(measured) == 1 and cell is not None:  # beside names: of two columns of numbers either may name nodes
            i = measured[0]
            called = f"column {i + 1}" if self.names is None else f"the column {self.names[i]!r}"
            raise ValueError(f"{called} holds numbers as {cell}, which name no nodes; {_SAY_ENDS}")
        others = [column for i, column in enumerate(self._columns) if i != roles.source]
        each = len(set(ends[0])) == len(ends[0]) > 1 and not _are_numbers(ends[0])
        if self.names is not None and self.width >= _WIDE and each and all(map(_are_numbers, others)):
            raise ValueError(f"each row has a name of its own and {self.width - 1} numbers; {_SAY_ENDS}")

    def named_roles(self, places: dict[str, int], weighted: bool | None) -> Roles:
        source, target = self._ends(places)
        left = [i for i in range(self.width) if i not in (source, target, *places.values())]
        weight = places.get("weight")
        if weight is None and weighted is not False:
            weight = next((i for i in left if self.plain[i] in _WEIGHT), None)
        if weight is None and weighted:
            weight = next((i for i in left if not self._is_time(i) and _are_numbers(self._columns[i])), None)
            if weight is None:
                raise ValueError(_NO_WEIGHT)
        left = [i for i in left if i != weight]
        time = places.get("time", next((i for i in left if self._is_time(i)), None))
        left = [i for i in left if i != time]
        return Roles(
            source, target, weight, time, places.get("type", next((i for i in left if self.plain[i] in _TYPE), None))
        )

    def _ends(self, places: dict[str, int]) -> tuple[int, int]:
        """The columns of the ends: as chosen, or called so, or the first that may be."""
        free = [i for i in range(self.width) if i not in places.values()]
        ends = [places.get("source"), places.get("target")]
        called = self._named_ends(free)
        if ends == [None, None] and called is not None:
            ends = list(called)
        elif ends != [None, None]:
            alone = [next((i for i in free if self.plain[i] in names), None) for names in (_SOURCE, _TARGET)]
            ends = [end if end is not None else name for end, name in zip(ends, alone, strict=True)]
        likely = self._likely([i for i in free if i not in ends], ends.count(None))
        if len(likely) < ends.count(None):
            raise ValueError("there is no column left for an end; an edge needs two, in two columns")
        source, target = (end if end is not None else likely.pop(0) for end in ends)
        return source, target

    def _named_ends(self, free: Iterable[int]) -> tuple[int, int] | None:
        """Of some columns, those called as ends; author1 and author2 where both name one of the same: address1 and
        address2 do not."""
        some = set(free)
        plain = [name if i in some else "" for i, name in enumerate(self.plain)]
        ends = _named_ends(plain, counted=False)
        if ends is not None:
            return ends
        ends = _named_ends(plain)
        return None if ends is None or set(self._columns[ends[0]]).isdisjoint(self._columns[ends[1]]) else ends

    def _likely(self, free: list[int], count: int) -> list[int]:
        """Columns that may be ends: without measures and times, types and numbers of rows, where enough are left."""
        nodes = [i for i in free if self.plain[i] not in _WEIGHT | _MEASURE and not self._is_time(i)]
        strict = [i for i in nodes if self.plain[i] not in _TYPE | _INDEX]
        return next((columns for columns in (strict, nodes) if len(columns) >= count), free)

    def unnamed_roles(self, places: dict[str, int], weighted: bool | None) -> Roles:
        free = [i for i in range(self.width) if i not in places.values()]
        ends = [places.get("source"), places.get("target")]
        chosen = None not in ends
        ends = [i if i is not None else free.pop(0) if free else None for i in ends]
        source, target = ends
        if source is None or target is None:
            raise ValueError("there is no column left for an end; an edge needs two, in two columns")
        weight, time = places.get("weight"), places.get("time")
        if time is None and not chosen:
            time = next((i for i in free if any(f(self._columns[i]) for f in (_are_times, _are_years, _rise))), None)
        left = [i for i in free if i != time]
        usual = not chosen and len(left) == 1 and (self.width == 3 or time is not None)
        if weight is None and weighted is not False and (usual or (weighted and left)):
            weight = left.pop(0)
            if weighted is None and not self._has_number(weight):
                raise ValueError(_TEXTS.format(column=weight + 1, cell=self._columns[weight][0]))
        if weighted and weight is None:
            raise ValueError(_NO_WEIGHT)
        if left and not chosen and not (weighted is False and self.width < 5):
            raise ValueError(
                f"there are {self.width} columns and no header; name them in a first line (source,target,weight), say "
                "which are the ends (source=0, target=1, or --source 1 --target 2), or keep two or three (a matrix "
                "with a column for each node is no list of edges: nf.Graph.from_scipy reads one)"
            )
        return Roles(source, target, weight, time, places.get("type"))

    def _has_number(self, i: int) -> bool:
        return not self._columns[i] or any(_NUMBER.fullmatch(cell) for cell in self._columns[i])

    def _is_time(self, i: int) -> bool:
        column, name = self._columns[i], self.plain[i]
        called = name in _TIME or name.endswith(_TIME_ENDING)
        return (called and (not column or _are_numbers(column) or _are_dates(column))) or _are_times(column)

    def tuple_columns(self, wanted: bool) -> tuple[str, ...]:
        """See `tuple_columns`."""
        assert self.names is not None
        relation = next((i for i, name in enumerate(self.plain) if name in _RELATION), None)
        ends = self._named_ends(range(self.width))
        if ends is not None and (not wanted or self.plain[ends[0]] in _SOURCE):
            if relation is None:
                return ()
            source, target = self._ends({"type": relation})
            names = [self.names[i] for i in (source, relation, target)]
            return f"{names[0]}:entity", names[1], f"{names[2]}:entity"
        nodes = [i for i in range(self.width) if self._is_role(i)]
        two = [set(self._columns[i]) for i in nodes if self.plain[i] not in _TYPE]
        if not wanted and len(two) == 2 and not two[0].isdisjoint(two[1]):
            return ()  # edges among nodes of one kind, and of what type each is
        return tuple(self.names[i] for i in nodes) if len(nodes) >= 3 else ()

    def _is_role(self, i: int) -> bool:
        """Whether a column holds nodes: neither times, nor measures, nor the numbers of the rows."""
        name, column = self.plain[i].partition(":")[0], self._columns[i]
        if ":" in self.plain[i]:
            return True
        if not column or name in _WEIGHT | _MEASURE | _INDEX or self._is_time(i) or _are_comma_decimals(column):
            return False
        if all(_FLAG_OR_DAY.fullmatch(cell) for cell in column):
            return False
        if not _are_numbers(column):
            return True
        ids = all(_INTEGER.fullmatch(cell) for cell in column)
        return ids and all(_are_numbers(self._columns[j]) for j in (0, 1))  # numbers beside names are measures

    def is_measure(self, i: int) -> bool:
        """Whether a column holds times, decimals, or numbers and is called as weights and measures are."""
        column = self._columns[i]
        if not _are_numbers(column):
            return bool(column) and (self._is_time(i) or _are_comma_decimals(column))
        called = self.plain[i] in _WEIGHT | _MEASURE
        return called or self._is_time(i) or not all(_INTEGER.fullmatch(cell) for cell in column)


ONE_COLUMN = "there is only one column; an edge needs two ends, in two columns"
MATRIX = (
    "this is a matrix with a row and a column for each node, not a list of edges; in Python, frame = "
    "pandas.read_csv(..., index_col=0) and nf.Graph.from_scipy(frame.to_numpy(), nodes=list(frame)) read such"
)
VECTORS = (
    "the columns node, v0, ... are vectors as netfold writes them, not edges; netfold nearest, map and groups read "
    "such a file, in Python nf.Embedding.load (source= and target=, --source and --target, read it as edges)"
)
_SAY_ENDS = (
    "say which columns are the ends (source= and target=, --source and --target); what is known about nodes is read "
    "beside edges (attributes=, --attributes FILE), and a matrix of two sides becomes edges by pandas.melt"
)
_NO_WEIGHT = (
    "there is no column of weights; add a third column, or leave weighted=True (--weighted) out "
    "(a time is no weight unless it is named: weight=, --weight)"
)
_TEXTS = (
    "column {column} holds text ({cell!r}), which is no weight; leave it out (weighted=False, --unweighted), say what "
    "the columns are (--source 1 --target 3), or read tuples (read_hyperedges, netfold fit dhne)"
)


def tuple_columns(names: Sequence[str], rows: _Rows, *, wanted: bool = False) -> tuple[str, ...]:
    """The roles of a table of tuples, as `read_hyperedges` takes them; none where it holds edges.

    Two ends of one kind (from_airport and to_airport; a and b where both name one of the same, beside a type) are an
    edge, unless tuples are `wanted`.

    Columns that hold nodes are roles, where they are three or more; times, measures (amount, rating, decimals) and
    numbers of rows are not, nor are decimals with a comma (71,5), days written as 31.01.2024, true and false. Two ends
    and a relation are tuples whose ends are of one type.

    >>> tuple_columns(["user", "movie", "tag", "year"], [["1", "7", "slow", "1999"]])
    ('user', 'movie', 'tag')
    >>> tuple_columns(["head", "relation", "tail", "split"], [["paris", "in", "france", "train"]])
    ('head:entity', 'relation', 'tail:entity')
    >>> tuple_columns(["user_id", "item", "amount", "timestamp"], [["u1", "i7", "9.5", "1610000000"]])
    ()
    >>> tuple_columns(["from_airport", "to_airport", "carrier"], [["ZRH", "JFK", "LX"]])
    ()
    """
    return _Table(names, rows, len(names)).tuple_columns(wanted) if len(names) >= 3 else ()


def measure_columns(names: Sequence[str], rows: _Rows) -> tuple[str, ...]:
    """The columns of times, weights and measures, of which every value would be a node where they are read as roles.

    >>> measure_columns(["source", "target", "weight"], [["ann", "bob", "2"], ["bob", "cid", "3"]])
    ('weight',)
    >>> measure_columns(["user", "film", "year"], [["ann", "Heat", "1995"]])
    ('year',)
    """
    table = _Table(names, rows, len(names))
    return tuple(name for i, name in enumerate(names) if table.is_measure(i))


def _plain(name: str) -> str:
    """Lower case, words joined by underscores: fromAirport is from_airport."""
    return _CAMEL.sub("_", name.strip()).casefold().replace(" ", "_").replace("-", "_")


def _is_whole(cell: str) -> bool:
    """Whether a number has no fraction; True of what is no number, INF and nan among it."""
    try:
        value = float(cell)
    except ValueError:
        return True
    return not math.isfinite(value) or value.is_integer()


def are_vectors(names: Sequence[str]) -> bool:
    """Whether columns are called as those of an embedding that was exported.

    >>> are_vectors(["node", "v0", "v1", "s0", "s1"]), are_vectors(["node", "vector"]), are_vectors(["node", "class"])
    (True, True, False)
    """
    first, *others = names
    return first == "node" and (others[:1] == ["vector"] or (all(map(_VECTOR.fullmatch, others)) and "v0" in others))


def _is_matrix(names: Sequence[str] | None, rows: _Rows, width: int) -> bool:
    """Whether a table is an adjacency matrix: its rows are called as its columns are, or it is square and symmetric.

    >>> _is_matrix(["", "ann", "bob"], [["ann", "0", "1"], ["bob", "1", "0"]], 3)
    True
    >>> _is_matrix(None, [["0", "1", "0"], ["1", "0", "1"], ["0", "1", "0"]], 3)
    True
    """
    if width < 3 or any(len(row) != width for row in rows):
        return False
    if names is not None:
        called = [row[0] for row in rows]
        whole = len(rows) >= min(width - 1, _LOG) and called == list(names[1:])[: len(rows)]
        return whole and all(_are_numbers(row[1:]) for row in rows)
    square = len(rows) == width and all(_are_numbers(row) for row in rows)
    return (
        square
        and all(float(rows[i][j]) == float(rows[j][i]) for i in range(width) for j in range(i + 1))
        and all(float(rows[i][i]) == 0 for i in range(width))
    )


# -------------------------------------------------------------------- kinds of values


def _are_numbers(cells: Sequence[str]) -> bool:
    return bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)


def _are_comma_decimals(cells: Sequence[str]) -> bool:
    """Numbers as half of the world writes them: 71,5. Whole ones may stand among them."""
    return any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells) and all(
        _DECIMAL_COMMA.fullmatch(cell) or _NUMBER.fullmatch(cell) for cell in cells
    )


def _are_dates(cells: Sequence[str]) -> bool:
    return bool(cells) and all(_DATE.fullmatch(cell) for cell in cells)


def _are_times(cells: Sequence[str]) -> bool:
    """Dates, or seconds since 1970, or parts of seconds."""
    if _are_dates(cells):
        return True
    if not _are_numbers(cells):
        return False
    values = [abs(float(cell)) for cell in cells]
    return any(_EPOCH[0] * part <= min(values) and max(values) <= _EPOCH[1] * part for part in (1, 1e3, 1e6, 1e9))


def _are_years(cells: Sequence[str]) -> bool:
    """Whether some cells, not all alike, are years of the last century or of this one."""
    return len(cells) >= _FEW_YEARS and len(set(cells)) > 1 and all(map(_YEAR.fullmatch, cells))


def _rise(cells: Sequence[str]) -> bool:
    """Whether many integers never fall and seldom repeat, as the times of a log do that begins at 0."""
    if len(cells) < _LOG or not all(_INTEGER.fullmatch(cell) for cell in cells):
        return False
    values = [int(cell) for cell in cells]
    return (
        values == sorted(values) and len(set(values)) > len(values) // 2 and values[-1] - values[0] > 10 * len(values)
    )


def times_of(cells: Sequence[Any]) -> npt.NDArray[np.float64]:
    """Times as numbers: numbers stay as they are, dates are seconds since 1970 (UTC), empty cells NaN.

    A ValueError holds the position of the first that is neither.

    >>> times_of(["1999", ""]).tolist(), times_of(["1970-01-02", "1970-01-01T01:00:00+01:00"]).tolist()
    ([1999.0, nan], [86400.0, 0.0])
    """
    if len(cells) and _PLAIN_DATE.fullmatch(cells[0]) and len(set(map(len, cells))) == 1:
        try:
            return np.array(cells, "datetime64[us]").astype(np.int64) / 1e6
        except ValueError:
            pass  # one of them is none: below says which
    times = np.empty(len(cells))
    for i, cell in enumerate(cells):
        try:
            times[i] = _time(cell)
        except ValueError:
            raise ValueError(i) from None
    return times


def _time(cell: str) -> float:
    if not cell:
        return float("nan")
    if _DATE.fullmatch(cell):
        moment = datetime.fromisoformat(cell.replace("/", "-"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not _NUMBER.fullmatch(cell):
        raise ValueError
    return float(cell)
