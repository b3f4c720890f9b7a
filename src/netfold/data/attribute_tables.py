"""Attributes of nodes from what people have: wide and long tables, dicts, frames, arrays; the kinds of columns."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from netfold.data.attributes import ATTRIBUTE_KINDS, Attributes, Column, dense_rows, numbered
from netfold.data.checks import Bools, Ints, check_choice
from netfold.data.interop import as_array, is_missing, is_table
from netfold.data.nodes import Nodes
from netfold.data.text import counted, did_you_mean, printable, type_in_words
from netfold.errors import InputError

__all__ = [
    "FEATURE_COLUMNS",
    "NODE_COLUMNS",
    "AttributeTable",
    "LongTable",
    "attribute_table",
    "check_shared",
    "wide_table",
]

NODE_COLUMNS = frozenset(("node", "nodes", "node_id", "nodeid", "id", "vertex"))
"""What a column of nodes is called."""
FEATURE_COLUMNS = frozenset(("feature", "features", "word", "words", "term", "token", "tag", "attribute"))
"""What the second column of a long table is called."""
_FEATURES = 1 << 24
"""Features of a long table, at most: names of them alone are gigabytes."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")
_CODE = re.compile(r"0[0-9]+")
"""A number that begins with 0 is a code, as 01067 of Dresden: without the 0 it is another."""
_INFINITE = frozenset(("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"))
"""Numbers in name, which `_numbers` refuses; in small letters."""
_GAPS = frozenset(("", "na", "n/a", "nan", "null", "none"))
"""What stands for a missing number, in small letters; of categories and words only the empty text is missing."""
_SEPARATORS = ("|", ";")
"""What separates several words in a cell."""
_SENTENCE = 3
"""Words in a cell, in the mean, that make it a sentence where most cells differ."""
_MANY = 20
"""Rows from which a column that differs in nearly each is a name, not a category."""
_ODD = 0.1
"""Fewer texts than this among numbers are slips of the pen, not categories."""
_NUMBERED = re.compile(r"(.*?)[ _.-]?([0-9]+)")
_VECTOR = 8
"""So many columns of numbers that are numbered one after another (emb_0, emb_1, ...) are an array: vectors or words."""
_SPARSE = 0.1
"""An array of numbers of at least 0 with at most this share above 0 holds words."""


class AttributeTable(NamedTuple):
    """Attributes, and the nodes whose rows they are; None where rows are those of the graph, in order."""

    nodes: list[Any] | None
    attributes: Attributes


def attribute_table(
    x: Any, *, columns: Sequence[str] | None = None, kinds: Mapping[str, str] | None = None
) -> AttributeTable:
    """Whatever can be read as attributes: {node: {column: value}}, a table (pandas, polars), an array, a sparse matrix.

    >>> attribute_table({"ann": {"age": 17, "likes": ["tea", "art"]}, "bob": {"age": None, "likes": []}})
    AttributeTable(nodes=['ann', 'bob'], attributes=Attributes(2 nodes; age: number, likes: 2 words; 1 value missing))
    """
    if isinstance(x, Attributes):
        return AttributeTable(None, x)
    if isinstance(x, Mapping):
        return _of_dict(x, columns, kinds)
    if is_table(x):
        return _of_frame(x, columns, kinds)
    if sparse.issparse(x):
        return AttributeTable(None, Attributes((_matrix("x", x, (kinds or {}).get("x")),)))
    if isinstance(x, np.ndarray) or hasattr(x, "detach"):
        return AttributeTable(None, Attributes((_array("x", as_array(x), (kinds or {}).get("x")),)))
    raise InputError(
        f"{type_in_words(x)} cannot be read as attributes; give a file, {{node: {{column: value}}}}, a table, an array "
        "or a sparse matrix with a row for each node"
    )


def check_shared(named: Nodes, nodes: Nodes, where: str = "") -> Ints:
    """Where each node that has attributes is among the nodes of a graph, -1 where it is not; some is."""
    at = nodes.find(named)
    if len(nodes) and len(named) and at.max() < 0:
        raise InputError(
            f"{where}no node that has attributes is in the graph: they look like {named[0]!r}, and the graph's nodes "
            f"like {nodes[0]!r}; give a table of this graph's nodes"
        )
    return at


def _of_dict(x: Mapping[Any, Any], columns: Sequence[str] | None, kinds: Mapping[str, str] | None) -> AttributeTable:
    nodes = list(x)
    odd = next((node for node in nodes if not isinstance(x[node], Mapping)), None)
    if odd is not None:
        what = type_in_words(x[odd])
        raise InputError(f"the attributes of {odd!r} are {what}; give a dict for each node, as {{'year': 1999}}")
    names = list(dict.fromkeys(str(name) for node in nodes for name in x[node]))
    cells = {name: [None] * len(nodes) for name in names}
    for i, node in enumerate(nodes):
        for name, value in x[node].items():
            cells[str(name)][i] = value
    return wide_table(nodes, cells, columns, kinds)


def _of_frame(frame: Any, columns: Sequence[str] | None, kinds: Mapping[str, str] | None) -> AttributeTable:
    """A table whose nodes are a column called node or id, or else its index."""
    keys = list(frame.columns)
    at = next((key for key in keys if str(key).casefold() in NODE_COLUMNS), None)
    if at is None and not hasattr(frame, "index"):
        raise InputError(f"no column is called node; there are {', '.join(map(str, keys))}: rename that of the nodes")
    nodes = list(np.asarray(frame.index if at is None else frame[at]).tolist())
    rest = [key for key in keys if key != at]
    if len(set(nodes)) < len(nodes) and at is not None and len(rest) in (1, 2) and not columns and not kinds:
        table = LongTable(str(rest[0]))
        for row in zip(nodes, *(np.asarray(frame[key]).tolist() for key in rest), strict=True):
            table.add(*row)
        return table.finish()
    return wide_table(nodes, {str(key): list(np.asarray(frame[key])) for key in rest}, columns, kinds)


def wide_table(
    nodes: list[Any],
    cells: Mapping[str, Sequence[Any]],
    columns: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> AttributeTable:
    """Attributes of a row for each node and a column for each attribute, which may be called name:kind.

    `columns` are those that are wanted, `kinds` says what is not to be recognised; the rest is, by all of its cells.
    """
    _check_once(nodes)
    said = {name: _said_kind(name) for name in cells}
    known = {plain: name for name, (plain, _) in said.items()}
    for name in [*(columns or ()), *(kinds or ())]:
        if name not in known:
            hint = did_you_mean(name, known, f"there are {', '.join(map(printable, known))}")
            raise InputError(f"no attribute is called {name!r}; {hint}")
    chosen = list(known) if columns is None else list(columns)
    if not chosen:
        raise InputError("there are nodes and nothing about them; attributes need at least one column beside the node")
    asked = {plain: (kinds or {}).get(plain) or said[known[plain]][1] for plain in chosen}
    found = [_column(plain, cells[known[plain]], asked[plain], nodes) for plain in chosen]
    return AttributeTable(nodes, Attributes(tuple(_grouped(found, {x for x, kind in asked.items() if kind}))))


def _said_kind(name: str) -> tuple[str, str | None]:
    """The name and the kind in year:number."""
    plain, colon, kind = name.rpartition(":")
    return (plain, kind) if colon and plain and kind in ATTRIBUTE_KINDS else (name, None)


def _check_once(nodes: Sequence[Any]) -> None:
    seen: set[Any] = set()
    for i, node in enumerate(nodes):
        if _is_gap(node):
            before = f", after {nodes[i - 1]!r}," if i else ""
            raise InputError(f"row {i + 1:,}{before} names no node; leave it out, or say whose it is")
        if node in seen:
            raise InputError(
                f"the node {node!r} has two rows; a wide table has one row a node, a long one the columns node, "
                "feature and perhaps value"
            )
        seen.add(node)


class LongTable:
    """Attributes of a row for each (node, feature[, value]), collected as they come; features become words."""

    def __init__(self, name: str):
        self._name, self._nodes, self._features = name, dict[Any, int](), dict[str, int]()
        self._at, self._of, self._values = array("q"), array("q"), array("d")

    def add(self, node: Any, feature: Any, value: Any = 1.0) -> None:
        """One row; an empty feature says that the node is known and has none."""
        if _is_gap(node):
            raise InputError(f"the feature {feature!r} has no node; leave it out, or say whose it is")
        row = self._nodes.setdefault(node, len(self._nodes))
        if is_missing(feature) or feature == "":
            return
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not 0 <= number < float("inf"):
            raise InputError(
                f"the node {node!r} has {value!r} as value of {feature!r}; in a table of node, feature and value the "
                "value is a number of at least 0, and years or groups have columns of their own in a wide table"
            )
        self._at.append(row)
        self._of.append(self._features.setdefault(str(feature), len(self._features)))
        self._values.append(number)
        if len(self._features) > _FEATURES:
            raise InputError(
                f"there are more than {_FEATURES:,} features; leave out those that a single node has, which say "
                "nothing of others"
            )

    def finish(self) -> AttributeTable:
        """All rows; those that name a feature of a node twice are summed."""
        if not self._features:
            raise InputError("there are no features; a line holds a node and one of its features, as 7,red")
        places = (np.frombuffer(self._at, np.int64), np.frombuffer(self._of, np.int64))
        shape = (len(self._nodes), len(self._features))
        matrix = sparse.csr_array((np.frombuffer(self._values, np.float64), places), shape=shape)
        column = Column(self._name, "words", matrix, tuple(self._features))
        return AttributeTable(list(self._nodes), Attributes((column,)))


# -------------------------------------------------------------------- columns


def _column(name: str, cells: Sequence[Any], kind: str | None, nodes: Sequence[Any]) -> Column:
    """A column of cells, None, NaN or the empty text where a value is missing."""
    plain = [None if _is_gap(cell) else cell for cell in cells]
    if kind is not None:
        check_choice(ATTRIBUTE_KINDS, kind=kind)
    return _MAKERS[kind or _kind_of(name, plain, nodes)](name, plain, nodes)


def _is_gap(cell: Any) -> bool:
    if isinstance(cell, str):
        return not cell.strip()
    return False if isinstance(cell, Sequence | Mapping | np.ndarray | set | frozenset) else is_missing(cell)


def _kind_of(name: str, cells: Sequence[Any], nodes: Sequence[Any]) -> str:
    """The kind of a column, by every cell of it."""
    there = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, bool | np.bool_) for cell in there) and there:
        return "category"
    if all(isinstance(cell, Real) and not isinstance(cell, bool | np.bool_) for cell in there):
        return "number"
    if all(isinstance(cell, str) for cell in there):
        return _kind_of_texts(name, cells, nodes)
    if all(isinstance(cell, Sequence | np.ndarray | set | frozenset | Mapping) for cell in there) and not any(
        isinstance(cell, str) for cell in there
    ):
        return "vector" if any(map(_is_vector, there)) else "words"
    first, other = there[0], next((cell for cell in there if type(cell) is not type(there[0])), None)
    if other is None:
        what, node = type_in_words(first), nodes[cells.index(first)]
        raise InputError(
            f"the attribute {printable(name)} is {what} for {node!r}; a value is a number, a text, True or False, "
            "a list of texts, {word: count} or a list of numbers"
        )
    at = nodes[next(i for i, cell in enumerate(cells) if cell is other)]
    raise InputError(
        f"the attribute {printable(name)} is {type_in_words(first)} here and {type_in_words(other)} there (the node "
        f"{at!r}); give one sort of values, or say which it is: kinds={{{name!r}: 'category'}}, or {name}:category as "
        "the name of the column"
    )


def _is_vector(cell: Any) -> bool:
    """Numbers in an array, or any of them with a fraction; a list of integers is one of the names of words."""
    if isinstance(cell, np.ndarray):
        return cell.dtype.kind in "fiu"
    return isinstance(cell, Sequence) and any(isinstance(x, float | np.floating) for x in cell)


def _kind_of_texts(name: str, cells: Sequence[str | None], nodes: Sequence[Any]) -> str:
    texts = [x for x in cells if x is not None]
    odd = [i for i, x in enumerate(cells) if x is not None and not _is_number(x.strip())]
    if odd and all(_DECIMAL_COMMA.fullmatch(str(cells[i]).strip()) for i in odd):
        raise InputError(
            f"the attribute {printable(name)} has decimal commas ({_short(str(cells[odd[0]]))} for {nodes[odd[0]]!r}); "
            f"numbers have a point, as 0.5; or call the column {name}:category"
        )
    codes = any(_CODE.fullmatch(x.strip()) for x in texts)
    if not odd and not codes:
        return "number"
    if not codes and len(odd) < _ODD * len(texts):
        node, cell = nodes[odd[0]], str(cells[odd[0]])
        raise InputError(
            f"the attribute {printable(name)} is a number for {len(texts) - len(odd):,} of {len(texts):,} nodes, and "
            f"{_short(cell)} for {node!r}; leave it empty where it is missing, or call the column {name}:category"
        )
    if any(mark in text for text in texts for mark in _SEPARATORS):
        return "words"
    distinct = len(set(texts))
    sentence = distinct > len(texts) / 2 and sum(len(x.split()) for x in texts) >= _SENTENCE * len(texts)
    named = len(texts) >= _MANY and distinct > 0.9 * len(texts)
    if not sentence and not named:
        return "category"
    what = "free text" if sentence else f"another text for {distinct:,} of {len(texts):,} nodes"
    raise InputError(
        f"the attribute {printable(name)} holds {what} ({_short(texts[0])}), which is neither number nor category; "
        f"turn it into a vector with a text model, call the column {name}:words to take its words as they are, or "
        "leave it out (columns=[...], --attributes FILE:COLUMN,COLUMN)"
    )


def _is_number(text: str) -> bool:
    """Whether a cell of text is a number, or says that there is none."""
    plain = text.casefold()
    return _NUMBER.fullmatch(text) is not None or plain in _GAPS or plain in _INFINITE


def _short(text: str) -> str:
    return repr(text[:40] + ("..." if len(text) > 40 else ""))


def _numbers(name: str, cells: Sequence[Any], nodes: Sequence[Any]) -> Column:
    values = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if cell is None or (isinstance(cell, str) and cell.strip().casefold() in _GAPS):
            continue
        try:
            values[i] = float(cell)
        except (TypeError, ValueError):
            raise InputError(f"the node {nodes[i]!r} has {cell!r} as {printable(name)}, which is no number") from None
        if not np.isfinite(values[i]):
            raise InputError(f"the node {nodes[i]!r} has {cell!r} as {printable(name)}; leave out what is not known")
    return Column(name, "number", values)


def _codes(name: str, cells: Sequence[Any], nodes: Sequence[Any]) -> Column:
    index: dict[str, int] = {}
    codes = [-1 if x is None else index.setdefault(_as_text(x), len(index)) for x in cells]
    order = sorted(index)
    return Column(name, "category", _ranks(index, order)[np.array(codes, np.int64)], tuple(order))


def _ranks(index: Mapping[str, int], order: Sequence[str]) -> Any:
    """Where each of the texts that were numbered as they came is in order, and -1 for -1."""
    place = {x: i for i, x in enumerate(order)}
    return np.array([*(place[x] for x in index), -1])


def _as_text(x: Any) -> str:
    """3.0 of a column of floats is the category 3."""
    if isinstance(x, float | np.floating) and float(x).is_integer():
        return str(int(x))
    return x.strip() if isinstance(x, str) else str(x)


def _word_sets(name: str, cells: Sequence[Any], nodes: Sequence[Any]) -> Column:
    texts = [cell for cell in cells if isinstance(cell, str)]
    mark = next((x for x in (*_SEPARATORS, ",") if any(x in text for text in texts)), None)
    index: dict[str, int] = {}
    rows, at, values = array("q"), array("q"), array("d")
    for i, cell in enumerate(cells):
        for word, value in _words_of(name, cell, mark, nodes[i]):
            rows.append(i)
            at.append(index.setdefault(word, len(index)))
            values.append(value)
    order = sorted(index)
    rank = _ranks(index, order)
    places = (np.frombuffer(rows, np.int64), rank[np.frombuffer(at, np.int64)] if len(at) else np.empty(0, np.int64))
    matrix = sparse.csr_array((np.frombuffer(values, np.float64), places), shape=(len(cells), len(order)))
    missing: Bools = np.array([cell is None for cell in cells], bool)
    return Column(name, "words", matrix, tuple(order), missing)


def _words_of(name: str, cell: Any, mark: str | None, node: Any) -> Iterable[tuple[str, float]]:
    """The words of a cell, each with its value."""
    if cell is None:
        return []
    if isinstance(cell, Mapping):
        try:
            return [(_as_text(word), float(value)) for word, value in cell.items()]
        except (TypeError, ValueError):
            raise InputError(f"the words of {node!r} in {printable(name)} have values that are no numbers") from None
    parts = cell.split(mark) if isinstance(cell, str) else cell if isinstance(cell, Iterable) else [cell]
    return [(word, 1.0) for word in map(_as_text, parts) if word]


def _vectors(name: str, cells: Sequence[Any], nodes: Sequence[Any]) -> Column:
    rows = []
    for i, cell in enumerate(cells):
        try:
            values = re.split(r"[\s,;|]+", cell.strip("[] ")) if isinstance(cell, str) else cell
            rows.append(None if cell is None else np.asarray(values, np.float64).ravel())
        except (TypeError, ValueError):
            raise InputError(f"the node {nodes[i]!r} has {cell!r} as {printable(name)}, which is no vector") from None
    widths = [len(row) for row in rows if row is not None]
    width = widths[0] if widths else 1
    for i, row in enumerate(rows):
        if row is not None and len(row) != width:
            sizes = f"{counted(len(row), 'number')}, and others {width:,}"
            raise InputError(f"the node {nodes[i]!r} has {sizes} in {printable(name)}; vectors are of one length")
    gap = np.full(width, np.nan)
    return Column(name, "vector", np.stack([gap if row is None else row for row in rows]))


_MAKERS: dict[str, Callable[[str, Sequence[Any], Sequence[Any]], Column]] = {
    "number": _numbers,
    "category": _codes,
    "words": _word_sets,
    "vector": _vectors,
}


def _grouped(columns: list[Column], said: set[str]) -> list[Column]:
    """Numbers that are numbered one after another, emb_0 to emb_127, as the array they are, unless a kind was said."""
    grouped: list[Column] = []
    run: list[Column] = []
    for column in [*columns, None]:
        if run and not _follows(run[-1], column, said):
            grouped += [_as_array(run)] if len(run) >= _VECTOR else run
            run = []
        if column is not None:
            run.append(column)
    return grouped


def _follows(before: Column, column: Column | None, said: set[str]) -> bool:
    if column is None or {before.kind, column.kind} != {"number"} or {before.name, column.name} & said:
        return False
    one, other = _NUMBERED.fullmatch(before.name), _NUMBERED.fullmatch(column.name)
    follows = one is not None and other is not None and one[1] == other[1] and int(other[2]) == int(one[2]) + 1
    return follows and bool(np.array_equal(before.known, column.known))


def _as_array(run: Sequence[Column]) -> Column:
    match = _NUMBERED.fullmatch(run[0].name)
    return _array((match and match[1]) or "vector", np.stack([x.values for x in run], axis=1), None)


# -------------------------------------------------------------------- arrays


def _array(name: str, values: Any, kind: str | None) -> Column:
    """An array with a row for each node: numbers, vectors, or words where it is nearly empty."""
    if values.dtype.kind not in "buif" or values.ndim not in (1, 2):
        raise InputError(f"attributes are numbers in 1 or 2 axes, not {values.dtype} in the shape {values.shape}")
    if values.ndim == 1:
        return Column(name, "number", values)
    if kind == "words" or (kind is None and _is_nearly_empty(values)):
        return _matrix(name, sparse.csr_array(values), "words")
    return Column(name, "vector", values)


def _is_nearly_empty(values: Any) -> bool:
    """Whether numbers are of at least 0 and few of them above, as counts of words are."""
    if not values.size or np.isnan(values).any() or values.min() < 0:
        return False
    return bool(np.count_nonzero(values) <= _SPARSE * values.size)


def _matrix(name: str, matrix: Any, kind: str | None) -> Column:
    """A sparse matrix with a row for each node, whose columns are numbered words."""
    if kind == "vector":
        return Column(name, "vector", dense_rows(name, matrix))
    return Column(name, "words", matrix, numbered(matrix.shape[1]))
