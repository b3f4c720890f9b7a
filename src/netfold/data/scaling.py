"""`Scaling` and `Block`: attributes of nodes as rows of numbers, in units that training rows gave."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.attributes import ATTRIBUTE_KINDS, Attributes, Column, text_arrays, texts_of
from netfold.data.checks import Bools, Ints, check_choice, unique_values
from netfold.data.text import counted, did_you_mean, listed, printable
from netfold.errors import InputError

__all__ = ["Block", "Scaling"]

_UNSEEN = ("error", "missing")


@dataclass(frozen=True)
class Block:
    """Attributes as rows of numbers: what a model reads beside a node's links."""

    values: Any
    """csr_array or, where all columns are numbers or vectors, array: float32 (n, m); 0 where a value is missing."""
    known: Bools
    """(n, columns), where a value is not missing."""
    slices: list[tuple[int, int]]
    """Of each column of the attributes its first column of `values` and the one after its last."""

    @property
    def n_nodes(self) -> int:
        """How many rows there are."""
        return int(self.values.shape[0])

    @property
    def width(self) -> int:
        """m, how many columns of numbers there are."""
        return int(self.values.shape[1])


@dataclass(frozen=True)
class _Scale:
    """How one column becomes numbers: (value - mean) * scale, each word or category times its own weight."""

    name: str
    kind: str
    width: int
    known: int
    """Training rows in which it is not missing; where there are none, nothing is known of it anywhere."""
    mean: float = 0.0
    scale: float = 0.0
    categories: tuple[str, ...] = ()
    weights: Any = None
    """Of words: idf, 0 for those that no training row has."""


@dataclass(frozen=True)
class Scaling:
    """How attributes become rows of numbers, fitted on training rows and kept in a model.

    Numbers get mean 0 and variance 1 (a constant is 0), a category is one-hot, words are weighed by
    idf_j = log((1 + n) / (1 + n_j)) + 1 and a row of them brought to length 1, vectors keep their directions. Each
    column is then scaled so that its rows, where known, have the mean squared length 1 / (number of columns) over the
    training rows: a column counts as a column, however wide it is.

    >>> from netfold.data.attributes import Attributes, Column
    >>> attributes = Attributes((Column("year", "number", [1999, 2001, float("nan")]),))
    >>> scaling = Scaling.fit(attributes)
    >>> scaling.block(attributes).values.tolist()
    [[-1.0], [1.0], [0.0]]
    """

    columns: tuple[_Scale, ...]

    @staticmethod
    def fit(attributes: Attributes, rows: npt.ArrayLike | None = None) -> Scaling:
        """The scaling of these rows (all of them unless said); no other row is looked at."""
        train = attributes if rows is None else attributes.rows(rows)
        share = 1 / len(train.columns)
        return Scaling(tuple(_fitted(column, share) for column in train.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in the order of a block's columns."""
        return tuple(scale.name for scale in self.columns)

    @property
    def width(self) -> int:
        """m, how many columns a block has."""
        return sum(scale.width for scale in self.columns)

    @property
    def is_sparse(self) -> bool:
        """Whether a block is a sparse matrix."""
        return any(scale.kind in ("category", "words") for scale in self.columns)

    def block(self, attributes: Attributes, *, unseen: str = "error", nodes: Sequence[Any] | None = None) -> Block:
        """Attributes as rows of numbers, by the names of their columns, in whatever order those are.

        A category that no training row had is refused, or with `unseen="missing"` taken for missing; words that none
        had are passed over, and a row with no other words is missing. A column that is not there is missing in every
        row, one that the scaling does not know is refused. `nodes` are the names that an error message says.
        """
        check_choice(_UNSEEN, unseen=unseen)
        self._check_names(attributes)
        parts, known = [], np.zeros((attributes.n_nodes, len(self.columns)), bool)
        for i, scale in enumerate(self.columns):
            if scale.name in attributes.names:
                values, known[:, i] = _scaled(attributes[scale.name].as_kind(scale.kind), scale, unseen, nodes)
            elif scale.kind in ("category", "words"):
                values = sparse.csr_array((attributes.n_nodes, scale.width), dtype=np.float32)
            else:
                values = np.zeros((attributes.n_nodes, scale.width), np.float32)
            parts.append(values)
        ends = np.cumsum([scale.width for scale in self.columns]).tolist()
        slices = list(zip([0, *ends[:-1]], ends, strict=True))
        whole = np.hstack(parts) if not self.is_sparse else _side_by_side(parts)
        return Block(whole, known, slices)

    def _check_names(self, attributes: Attributes) -> None:
        other = [name for name in attributes.names if name not in self.names]
        if other:
            hint = did_you_mean(other[0], self.names, f"it knows {', '.join(map(printable, self.names))}")
            raise InputError(f"the attribute {other[0]!r} was not there when the model was fitted; {hint}")

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold; `arrays` has words, categories and weights."""
        return {"columns": [[s.name, s.kind, s.width, s.known, s.mean, s.scale] for s in self.columns]}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every array by a name such as "0.weights"."""
        stored: dict[str, npt.NDArray[Any]] = {}
        for i, scale in enumerate(self.columns):
            if scale.kind in ("category", "words"):
                stored |= {f"{i}.{name}": x for name, x in text_arrays(scale.categories).items()}
            if scale.kind == "words":
                stored[f"{i}.weights"] = scale.weights
        return stored

    @staticmethod
    def from_dict(facts: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> Scaling:
        """What `to_dict` and `arrays` gave; an `InputError` where they do not fit each other."""
        try:
            return Scaling(tuple(_stored_scale(i, said, arrays) for i, said in enumerate(facts["columns"])))
        except (KeyError, TypeError, ValueError) as e:
            if isinstance(e, InputError):
                raise
            raise InputError(
                f"the stored scaling of attributes is damaged: {type(e).__name__} {printable(e)}"
            ) from None


def _stored_scale(i: int, said: Sequence[Any], arrays: Mapping[str, npt.NDArray[Any]]) -> _Scale:
    name, kind, width, known, mean, scale = said
    check_choice(ATTRIBUTE_KINDS, kind=kind)
    categories = texts_of(arrays, f"{i}.") if kind in ("category", "words") else ()
    weights = np.asarray(arrays[f"{i}.weights"], np.float64) if kind == "words" else None
    fits = (
        len(categories) == width if kind in ("category", "words") else width >= 1 and (kind == "vector" or width == 1)
    )
    finite = math.isfinite(mean) and math.isfinite(scale) and (weights is None or bool(np.isfinite(weights).all()))
    if not fits or not finite or (weights is not None and weights.shape != (width,)):
        raise InputError(f"the stored scaling of the attribute {printable(name)} is damaged")
    return _Scale(str(name), kind, int(width), int(known), float(mean), float(scale), categories, weights)


def _fitted(column: Column, share: float) -> _Scale:
    """The scale of a column, whose rows are all training rows."""
    known = int(column.known.sum())
    scale = _Scale(column.name, column.kind, column.width, known)
    if column.kind == "category":
        present = unique_values(column.values[column.known])
        names = tuple(column.categories[i] for i in present.tolist())
        return replace(scale, width=len(names), categories=names, scale=math.sqrt(share))
    if column.kind == "words":
        having = np.bincount(column.values.indices, minlength=column.width)
        idf = np.where(having > 0, np.log((1 + known) / (1 + having)) + 1, 0.0)
        some = int(np.count_nonzero(np.diff(column.values.indptr)))  # rows of length 1; known rows without words have 0
        size = math.sqrt(share * known / some) if some else 0.0
        return replace(scale, categories=column.categories, weights=idf, scale=size)
    values = column.values[column.known].astype(np.float64)
    if column.kind == "number":
        spread = 0.0 if known == 0 or values.max() == values.min() else float(values.std())
        mean = float(values.mean()) if known else 0.0
        return replace(scale, mean=mean, scale=math.sqrt(share) / spread if spread > 0 else 0.0)
    length = float(np.sqrt((values**2).sum(axis=1).mean())) if known else 0.0
    return replace(scale, scale=math.sqrt(share) / length if length > 0 else 0.0)


def _scaled(column: Column, scale: _Scale, unseen: str, nodes: Sequence[Any] | None) -> tuple[Any, Bools]:
    """A column as numbers, and where it is known."""
    known = column.known.copy() if scale.known else np.zeros(column.n_nodes, bool)
    if scale.kind == "category":
        codes = _seen_codes(column, scale, unseen, nodes)
        known &= codes >= 0
        at = np.flatnonzero(known)
        ones = np.full(len(at), scale.scale, np.float32), (at, codes[at])
        return sparse.csr_array(ones, shape=(column.n_nodes, scale.width)), known
    if scale.kind == "words":
        weighted = _seen_words(column, scale, unseen)
        had, has = np.diff(column.values.indptr) > 0, np.diff(weighted.indptr) > 0
        return weighted, known & (has | ~had)
    values = column.values.astype(np.float64)
    if scale.kind == "vector" and values.shape[1] != scale.width:
        name = printable(scale.name)
        raise InputError(f"vectors of {name} have {values.shape[1]:,} numbers, and the model's have {scale.width:,}")
    values = (values - scale.mean) * scale.scale
    values[~known] = 0
    return values.reshape(column.n_nodes, -1).astype(np.float32), known


def _seen_codes(column: Column, scale: _Scale, unseen: str, nodes: Sequence[Any] | None) -> Ints:
    """The categories as positions among those of the training rows."""
    place = {name: i for i, name in enumerate(scale.categories)}
    moved = np.array([place.get(name, -1) for name in column.categories] + [-1], np.int64)
    codes: Ints = moved[column.values]
    strange = (codes < 0) & column.known
    if unseen == "error" and scale.known and strange.any():
        at = int(np.argmax(strange))
        name = column.categories[column.values[at]]
        where = f"the node {nodes[at]!r}" if nodes is not None else f"row {at}"
        seen = listed(scale.categories)
        raise InputError(
            f"{where} has {name!r} as {printable(column.name)}, which no node had when the model was fitted ({seen}); "
            "leave it empty where that is what is known"
        )
    return codes


def _seen_words(column: Column, scale: _Scale, unseen: str) -> sparse.csr_array:
    """Words weighed by idf, rows of the same length, over the words of the scaling."""
    matrix, names = column.values, column.categories
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    data, at = matrix.data.astype(np.float64), matrix.indices
    if names != scale.categories:
        place = {name: i for i, name in enumerate(scale.categories)}
        moved = np.array([place.get(name, -1) for name in names], np.int64)
        there = moved[at] >= 0
        new = unique_values(at[~there])
        if unseen == "error" and len(new):
            said = f"{counted(len(new), 'word')} of {printable(column.name)} ({listed([names[i] for i in new[:6]])})"
            verbs = ("was", "is") if len(new) == 1 else ("were", "are")
            warnings.warn(
                f"{said} {verbs[0]} not there when the model was fitted, and {verbs[1]} passed over", stacklevel=4
            )
        data, rows, at = data[there], rows[there], moved[at[there]]
    data = data * scale.weights[at]
    some = data > 0
    data, rows, at = data[some], rows[some], at[some]
    lengths = np.sqrt(np.bincount(rows, data**2, minlength=column.n_nodes))
    values = (data / lengths[rows] * scale.scale).astype(np.float32)
    weighted = sparse.csr_array((values, (rows, at)), shape=(column.n_nodes, scale.width))
    weighted.sort_indices()
    return weighted


def _side_by_side(parts: Sequence[Any]) -> sparse.csr_array:
    whole = sparse.csr_array(sparse.hstack([sparse.csr_array(part) for part in parts], format="csr", dtype=np.float32))
    whole.sort_indices()
    return whole
