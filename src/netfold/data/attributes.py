"""`Attributes`: what is known about nodes beside their links: numbers, categories, words, vectors."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import Bools, Floats32, Ints, check_choice
from netfold.data.nodes import Nodes
from netfold.data.text import counted, did_you_mean, printable
from netfold.errors import InputError

__all__ = ["ATTRIBUTE_KINDS", "Attributes", "Column", "dense_rows", "numbered", "text_arrays", "texts_of"]

ATTRIBUTE_KINDS = ("number", "category", "words", "vector")
_DENSE = 1 << 27
"""Numbers that a sparse matrix is made dense for: half a GiB."""
_NAMED = 5
"""How many columns a repr names."""


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """One attribute of every node, of one kind; the arrays are read-only.

    | kind | values | missing where |
    | --- | --- | --- |
    | number | float32 (n,) | NaN |
    | category | int32 (n,), positions in `categories` | -1 |
    | words | csr_array float32 (n, v), values of at least 0 of the v words that `categories` names | `missing` |
    | vector | float32 (n, w) | the whole row is NaN |

    >>> Column("year", "number", [1999, float("nan")])
    Column(year: number, 1 of 2 known)
    """

    name: str
    kind: str
    values: Any
    categories: tuple[str, ...] = ()
    missing: Bools | None = None
    """Of words: the rows of which nothing is known, which is not the same as a row without words."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"an attribute is called {self.name!r}; its name is text of at least 1 character")
        check_choice(ATTRIBUTE_KINDS, kind=self.kind)
        categories = tuple(map(str, self.categories))
        twice = _twice(categories)
        if twice is not None:
            raise InputError(f"the attribute {printable(self.name)} has {twice!r} twice among its categories")
        object.__setattr__(self, "categories", categories)
        object.__setattr__(
            self, "values", {"words": self._words, "category": self._codes}.get(self.kind, self._reals)()
        )
        if self.kind == "words":
            missing = np.zeros(self.n_nodes, bool) if self.missing is None else np.array(self.missing, bool)
            if missing.shape != (self.n_nodes,):
                raise InputError(f"{printable(self.name)}: `missing` has the shape {missing.shape}; a row a node")
            if np.any(np.diff(self.values.indptr)[missing] > 0):
                raise InputError(f"{printable(self.name)}: a node has words and is said to be missing")
            object.__setattr__(self, "missing", _frozen(missing))
        elif self.missing is not None:
            raise InputError(f"{printable(self.name)}: only words say apart what is missing")

    def _reals(self) -> Floats32:
        """Numbers, or vectors; a vector is known or missing as a whole."""
        axes = 1 if self.kind == "number" else 2
        try:
            wide = np.asarray(self.values, np.float64)
        except (TypeError, ValueError):
            raise InputError(f"the attribute {printable(self.name)} does not hold numbers") from None
        if wide.ndim != axes or (axes == 2 and wide.shape[1] == 0):
            raise InputError(f"{printable(self.name)}: a {self.kind} has {axes} axes, not the shape {wide.shape}")
        if np.any(np.abs(wide) > np.finfo(np.float32).max):
            at = int(np.argmax(np.any(np.abs(wide.reshape(len(wide), -1)) > np.finfo(np.float32).max, axis=1)))
            raise InputError(f"{printable(self.name)}: row {at} is not finite; a missing value is NaN or left out")
        gaps = np.isnan(wide)
        if axes == 2 and np.any(gaps.any(axis=1) != gaps.all(axis=1)):
            at = int(np.argmax(gaps.any(axis=1) != gaps.all(axis=1)))
            raise InputError(
                f"{printable(self.name)}: row {at} is missing in part; a vector is known or missing as a whole"
            )
        return _frozen(wide.astype(np.float32))

    def _codes(self) -> npt.NDArray[np.int32]:
        codes = np.asarray(self.values)
        if codes.ndim != 1 or (codes.size and codes.dtype.kind not in "iu"):
            raise InputError(f"{printable(self.name)}: a category is one integer a node, -1 where it is missing")
        if codes.size and not (codes.min() >= -1 and codes.max() < len(self.categories)):
            raise InputError(f"{printable(self.name)}: a code is outside of -1 to {len(self.categories) - 1}")
        return _frozen(codes.astype(np.int32))

    def _words(self) -> sparse.csr_array:
        try:
            matrix = sparse.csr_array(self.values, dtype=np.float32, copy=True)
        except (TypeError, ValueError):
            raise InputError(f"{printable(self.name)}: words are a matrix with a row a node") from None
        matrix.sum_duplicates()
        if matrix.nnz and not (matrix.data.min() >= 0 and math.isfinite(matrix.data.max())):
            raise InputError(
                f"{printable(self.name)}: words have finite values of at least 0; below 0 is a vector (a dense array)"
            )
        matrix.eliminate_zeros()
        if matrix.shape[1] != len(self.categories):
            names = counted(len(self.categories), "name")
            raise InputError(f"{printable(self.name)}: {names} for {counted(matrix.shape[1], 'column')} of words")
        for array in (matrix.data, matrix.indices, matrix.indptr):
            array.flags.writeable = False
        return matrix

    @property
    def n_nodes(self) -> int:
        """How many rows there are."""
        return int(self.values.shape[0])

    @cached_property
    def known(self) -> Bools:
        """(n,), whether anything is known of each node."""
        if self.kind == "words":
            assert self.missing is not None
            return _frozen(~self.missing)
        if self.kind == "category":
            return _frozen(self.values >= 0)
        first = self.values if self.kind == "number" else self.values[:, 0]
        return _frozen(~np.isnan(first))

    @property
    def n_entries(self) -> int:
        """How many numbers are stored: of words those that are not 0."""
        width = self.values.shape[1] if self.kind == "vector" else 1
        return int(self.values.nnz) if self.kind == "words" else int(self.known.sum()) * width

    @property
    def width(self) -> int:
        """How many columns of numbers it becomes."""
        if self.kind == "number":
            return 1
        return int(self.values.shape[1]) if self.kind == "vector" else len(self.categories)

    def rows(self, indices: Ints) -> Column:
        """The same attribute of these rows; -1 is a node of which nothing is known."""
        gone, at = indices < 0, np.maximum(indices, 0)
        if self.n_nodes == 0 and len(indices):
            at, padded = np.zeros(len(indices), np.int64), self._padded()
            return padded.rows(at)
        if self.kind == "words":
            assert self.missing is not None
            matrix = self.values[at]
            if gone.any():
                matrix = sparse.csr_array(sparse.diags_array((~gone).astype(np.float32)) @ matrix)
            return replace(self, values=matrix, missing=self.missing[at] | gone)
        values = self.values[at].copy()
        values[gone] = -1 if self.kind == "category" else np.nan
        return replace(self, values=values)

    def as_seen_by(self, rows: Ints) -> Column:
        """The same, where what none of these rows has is missing."""
        if self.kind == "category":
            strange = self.known & ~np.isin(self.values, self.values[rows])
        elif self.kind == "words":
            seen = np.bincount(self.values[rows].indices, minlength=len(self.categories)) > 0
            strange = (np.diff(self.values.indptr) > 0) & (self.values @ seen.astype(np.float32) == 0)
        else:
            return self
        return self.rows(np.where(strange, -1, np.arange(self.n_nodes))) if strange.any() else self

    def _padded(self) -> Column:
        """One row of which nothing is known, in place of none."""
        if self.kind == "words":
            return replace(self, values=sparse.csr_array((1, len(self.categories))), missing=np.ones(1, bool))
        if self.kind == "category":
            return replace(self, values=np.full(1, -1))
        return replace(self, values=np.full((1, *self.values.shape[1:]), np.nan))

    def as_kind(self, kind: str) -> Column:
        """The same values as another kind, where that loses nothing: a table of few rows is not always recognised.

        >>> Column("group", "number", [3, 4.5]).as_kind("category").categories
        ('3', '4.5')
        """
        if kind == self.kind:
            return self
        if self.kind == "number" and kind in ("category", "words"):
            values, codes = np.unique(self.values[self.known], return_inverse=True)
            full = np.full(self.n_nodes, -1)
            full[self.known] = codes
            texts = tuple(str(int(x)) if float(x).is_integer() else f"{x:g}" for x in values)
            return Column(self.name, "category", full, texts).as_kind(kind)
        if self.kind == "category" and kind == "words":
            at = np.flatnonzero(self.known)
            ones = np.ones(len(at), np.float32), (at, self.values[at])
            matrix = sparse.csr_array(ones, shape=(self.n_nodes, len(self.categories)))
            return Column(self.name, "words", matrix, self.categories, ~self.known)
        if self.kind == "category" and kind == "number":
            try:
                numbers = np.array([*map(float, self.categories), np.nan])
            except ValueError:
                numbers = None
            if numbers is not None:
                return Column(self.name, "number", numbers[self.values])
        if self.kind == "number" and kind == "vector":
            return Column(self.name, "vector", self.values[:, None])
        if self.kind == "vector" and kind == "words" and not np.any(self.values < 0):
            matrix = sparse.csr_array(np.where(self.known[:, None], self.values, 0))
            return Column(self.name, "words", matrix, numbered(self.width), ~self.known)
        if self.kind == "words" and kind == "vector" and self.categories == numbered(self.width):
            dense = dense_rows(self.name, self.values)
            return Column(self.name, "vector", np.where(self.known[:, None], dense, np.nan))
        raise InputError(f"the attribute {printable(self.name)} is of the kind {self.kind}, and {kind} is needed")

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What to store beside name and kind."""
        stored: dict[str, npt.NDArray[Any]] = {}
        if self.kind == "words":
            assert self.missing is not None
            stored = {"data": self.values.data, "indices": self.values.indices.astype(np.int64)}
            stored |= {"indptr": self.values.indptr.astype(np.int64), "missing": self.missing}
        else:
            stored = {"values": self.values}
        return stored | text_arrays(self.categories) if self.kind in ("words", "category") else stored

    def __repr__(self) -> str:
        return f"Column({self._said}, {int(self.known.sum()):,} of {self.n_nodes:,} known)"

    @property
    def _said(self) -> str:
        how = {"category": f" of {len(self.categories):,}", "vector": f" of {self.width:,}"}.get(self.kind, "")
        what = f"{len(self.categories):,} words" if self.kind == "words" else f"{self.kind}{how}"
        return f"{printable(self.name)}: {what}"


@dataclass(frozen=True, eq=False, repr=False)
class Attributes:
    """What is known about nodes: columns with a name and a kind each, one row a node.

    >>> topic = Column("topic", "category", [0, -1], ("art",))
    >>> attributes = Attributes((Column("year", "number", [1999, 2004]), topic))
    >>> attributes
    Attributes(2 nodes; year: number, topic: category of 1; 1 value missing)
    >>> attributes.known.tolist()
    [[True, True], [True, False]]
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        columns = tuple(self.columns)
        object.__setattr__(self, "columns", columns)
        if not columns:
            raise InputError("attributes have at least one column; a graph without any has attributes=None")
        twice = _twice([column.name for column in columns])
        if twice is not None:
            raise InputError(f"two attributes are called {twice!r}; rename one")
        uneven = next((column for column in columns if column.n_nodes != columns[0].n_nodes), None)
        if uneven is not None:
            sizes = f"{uneven.n_nodes:,} rows and {printable(columns[0].name)} {columns[0].n_nodes:,}"
            raise InputError(f"the attribute {printable(uneven.name)} has {sizes}; each has a row for every node")

    @property
    def n_nodes(self) -> int:
        """How many rows there are."""
        return self.columns[0].n_nodes

    @property
    def n_entries(self) -> int:
        """How many numbers are stored."""
        return sum(column.n_entries for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def known(self) -> Bools:
        """(n, columns), where a node's value is not missing."""
        return _frozen(np.stack([column.known for column in self.columns], axis=1))

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        """The column of this name."""
        for column in self.columns:
            if column.name == name:
                return column
        hint = did_you_mean(str(name), self.names, f"there are {', '.join(map(printable, self.names))}")
        raise InputError(f"no attribute is called {name!r}; {hint}")

    def rows(self, indices: npt.ArrayLike) -> Attributes:
        """The attributes of these rows, in this order; -1 is a node of which nothing is known."""
        at = np.asarray(indices, np.int64)
        if at.ndim != 1 or (at.size and not (at.min() >= -1 and at.max() < self.n_nodes)):
            raise InputError(f"rows are a list of positions -1 to {self.n_nodes - 1:,}")
        return Attributes(tuple(column.rows(at) for column in self.columns))

    def as_seen_by(self, rows: Ints) -> Attributes:
        """The same, where what none of these rows has is missing: a category, or words of which none is theirs.

        >>> topic = Column("topic", "category", [0, 1, 0], ("art", "law"))
        >>> Attributes((topic,)).as_seen_by(np.array([0, 2])).known.ravel().tolist()
        [True, False, True]
        """
        columns = tuple(column.as_seen_by(rows) for column in self.columns)
        return self if all(x is y for x, y in zip(columns, self.columns, strict=True)) else Attributes(columns)

    def aligned(self, nodes: Nodes, to: Nodes) -> Attributes:
        """The attributes of `nodes` as rows of the nodes `to`; nothing is known of those that are not among `nodes`."""
        return self if nodes == to else self.rows(nodes.find(to))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of names, kinds and values: equal for equal attributes, wherever they came from."""
        digest = hashlib.sha256()
        for column in self.columns:
            facts = {name: [str(x.dtype), list(x.shape)] for name, x in column.arrays().items()}
            digest.update(json.dumps([column.name, column.kind, facts]).encode())
            for array in column.arrays().values():
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Attributes) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __deepcopy__(self, memo: Any) -> Attributes:
        """A value that never changes is its own copy."""
        return self

    def __str__(self) -> str:
        more = f" and {len(self.columns) - _NAMED:,} more" if len(self.columns) > _NAMED else ""
        gaps = int(np.count_nonzero(~self.known))
        missing = f"; {counted(gaps, 'value')} missing" if gaps else ""
        return ", ".join(column._said for column in self.columns[:_NAMED]) + more + missing

    def __repr__(self) -> str:
        return f"Attributes({counted(self.n_nodes, 'node')}; {self})"

    # ---------------------------------------------------------------- stored

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold: names and kinds; `arrays` has the rest."""
        return {"n_nodes": self.n_nodes, "columns": [[c.name, c.kind, list(c.values.shape)] for c in self.columns]}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every array by a name such as "0.values"."""
        return {f"{i}.{name}": x for i, column in enumerate(self.columns) for name, x in column.arrays().items()}

    @staticmethod
    def from_dict(facts: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> Attributes:
        """What `to_dict` and `arrays` gave; an `InputError` where they do not fit each other."""
        try:
            n = int(facts["n_nodes"])
            columns = [_stored_column(i, n, said, arrays) for i, said in enumerate(facts["columns"])]
        except (KeyError, TypeError, ValueError, IndexError) as e:
            if isinstance(e, InputError):
                raise
            raise InputError(f"the stored attributes are damaged: {type(e).__name__} {printable(e)}") from None
        return Attributes(tuple(columns))


def _stored_column(i: int, n: int, said: Sequence[Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Column:
    """One column of what is stored, after every check that keeps a hostile one from leading outside of memory."""
    name, kind, shape = said
    check_choice(ATTRIBUTE_KINDS, kind=kind)
    categories = texts_of(arrays, f"{i}.") if kind in ("category", "words") else ()
    if kind != "words":
        values = arrays[f"{i}.values"]
        if list(values.shape) != list(shape) or len(values) != n:
            raise InputError(f"the stored attributes are damaged: {printable(name)} has the shape {values.shape}")
        return Column(name, kind, values, categories)
    data, indices, indptr = (np.asarray(arrays[f"{i}.{part}"]) for part in ("data", "indices", "indptr"))
    fits = data.ndim == indices.ndim == 1 and data.shape == indices.shape and indptr.shape == (n + 1,)
    whole = fits and indices.dtype == np.int64 and indptr.dtype == np.int64 and data.dtype == np.float32
    if not whole or indptr[0] != 0 or indptr[-1] != len(data) or np.any(np.diff(indptr) < 0):
        raise InputError(f"the stored attributes are damaged: the rows of {printable(name)} do not fit its entries")
    if len(indices) and not (indices.min() >= 0 and indices.max() < len(categories)):
        raise InputError(f"the stored attributes are damaged: {printable(name)} has a word outside of its names")
    matrix = sparse.csr_array((data, indices, indptr), shape=(n, len(categories)))
    return Column(name, kind, matrix, categories, arrays[f"{i}.missing"])


# -------------------------------------------------------------------- text in arrays


def text_arrays(texts: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Texts as two arrays, to store."""
    parts = [text.encode() for text in texts]
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return {"offsets": offsets, "bytes": np.frombuffer(b"".join(parts), np.uint8)}


def texts_of(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> tuple[str, ...]:
    """The texts of arrays whose names begin with a prefix."""
    return tuple(Nodes("text", {"offsets": arrays[f"{prefix}offsets"], "bytes": arrays[f"{prefix}bytes"]}))


def dense_rows(name: str, matrix: Any) -> npt.NDArray[Any]:
    """A sparse matrix as an array, unless that would be a large one."""
    rows, width = matrix.shape
    if rows * width > _DENSE:
        raise InputError(
            f"{printable(name)} is sparse, and as a vector it would be {rows:,} x {width:,} numbers, above {_DENSE:,}; "
            "leave it as words (values of at least 0, read as they are stored), or give fewer columns, as its leading "
            "singular vectors are"
        )
    dense: npt.NDArray[Any] = matrix.toarray()
    return dense


def numbered(width: int) -> tuple[str, ...]:
    """What words are called that have numbers alone."""
    return tuple(map(str, range(width)))


def _twice(names: Sequence[str]) -> str | None:
    """The first name that is there twice."""
    if len(set(names)) == len(names):
        return None
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array
