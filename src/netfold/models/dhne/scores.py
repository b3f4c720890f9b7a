"""What a trained DHNE says: vectors of new nodes, how likely a tuple of nodes is, and what completes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.checks import Floats, Ints
from netfold.data.embedding import Embedding
from netfold.data.hypergraph import Hypergraph
from netfold.data.nodes import Nodes
from netfold.data.text import with_article
from netfold.embedder.problem import check_placed
from netfold.errors import InputError
from netfold.learn.sparse_rows import PIECE
from netfold.models.dhne.network import DHNENetwork
from netfold.models.dhne.tuples import Form, Schema

__all__ = ["TupleScorer", "check_types", "new_vectors", "rows_over_known", "type_codes_of"]


def rows_over_known(hypergraph: Hypergraph, new: Ints, known: Ints, n: int) -> sparse.csr_array:
    """In how many hyperedges new nodes are together with known ones: m x n, from the hyperedges of new nodes alone.

    `new` are nodes of the hypergraph, `known` has the place of each of its nodes among the n known ones, or -1.
    """
    place = np.full(hypergraph.n_nodes, -1, np.int64)
    place[new] = np.arange(len(new))
    entries = [np.empty((2, 0), np.int64)]
    for kind in hypergraph.kinds:
        rows = kind.rows[(place[kind.rows] >= 0).any(axis=1)]
        for a, b in permutations(range(rows.shape[1]), 2):
            pairs = np.stack([place[rows[:, a]], known[rows[:, b]]])
            entries.append(pairs[:, (pairs >= 0).all(axis=0)])
    row, col = np.concatenate(entries, axis=1)
    together = sparse.coo_array((np.ones(len(row), np.float32), (row, col)), shape=(len(new), n)).tocsr()
    together.sort_indices()
    return together


def type_codes_of(hypergraph: Hypergraph, schema: Schema) -> Ints:
    """The types of a later hypergraph's nodes, as they were numbered when it was fitted."""
    codes: Ints = np.array([schema.types.index(name) for name in hypergraph.types])[hypergraph.type_codes]
    return codes


def check_types(hypergraph: Hypergraph, network: DHNENetwork, nodes: Nodes) -> None:
    """Refuse a type that was not learned, and a known node (`nodes`) that is of another type now."""
    types = network.schema.types
    odd = next((name for name in hypergraph.types if name not in types), None)
    if odd is not None:
        raise InputError(f"nodes of the type {odd!r} were not learned; the types are {', '.join(types)}")
    at = nodes.find(hypergraph.nodes)
    then, now = network.places().type_codes[at], type_codes_of(hypergraph, network.schema)
    changed = np.flatnonzero((at >= 0) & (then != now))
    if changed.size:
        i = int(changed[0])
        raise InputError(
            f"{hypergraph.nodes[i]!r} is {with_article(types[now[i]])} here "
            f"and was {with_article(types[then[i]])} when it was fitted"
        )


def new_vectors(hypergraph: Hypergraph, network: DHNENetwork, new: Ints, known: Ints) -> npt.NDArray[np.float32]:
    """The vectors of the nodes `new`, from their rows over known nodes; `known` has each node's place then, or -1."""
    places, types = network.places(), type_codes_of(hypergraph, network.schema)[new]
    over_known = rows_over_known(hypergraph, new, known, len(places.type_codes))
    vectors, lost = np.empty((len(new), network.dim), np.float32), list[int]()
    for t in np.unique(types).tolist():
        at = np.flatnonzero(types == t)
        counts = places.rows(over_known[at], t)
        lost += new[at[np.diff(network.autoencoder(t).scaled(counts).indptr) == 0]].tolist()
        vectors[at] = network.embed(counts, t)
    check_placed("DHNE", hypergraph.nodes, np.sort(lost), lack="in no hyperedge with a known node", by="hyperedges")
    return vectors


class TupleScorer:
    """The similarities of a fitted network, for nodes that have vectors: the known ones, and perhaps new ones."""

    def __init__(self, network: DHNENetwork, known: Embedding, new: Embedding | None = None, new_types: Any = ()):
        self._network, self._parts = network, [known] if new is None else [known, new]
        self._codes = np.concatenate([network.type_codes.numpy(force=True), np.asarray(new_types, np.int64)])
        vectors = np.concatenate([part.vectors for part in self._parts])
        self._vectors = torch.from_numpy(vectors).to(network.device)

    # ---------------------------------------------------------------- for users

    def score(self, tuples: Iterable[Any], kind: Sequence[str] | None) -> Floats:
        """S of each tuple: m."""
        as_tuples = [_as_tuple(each) for each in tuples]
        sizes = np.fromiter(map(len, as_tuples), np.int64, len(as_tuples))
        members = self._positions([node for each in as_tuples for node in each])
        starts, scores = np.cumsum(sizes) - sizes, np.empty(len(as_tuples))
        for size in np.unique(sizes).tolist():
            at = np.flatnonzero(sizes == size)
            rows = members[starts[at][:, None] + np.arange(size)]
            named = [as_tuples[i] for i in at.tolist()]
            _check_distinct(rows, named)
            scores[at] = self._score_rows(rows, kind, named)
        return scores

    @torch.no_grad()
    def complete(
        self, partial: Any, k: int, kind: Sequence[str] | None, exclude: Hypergraph | None
    ) -> list[tuple[Any, float]]:
        """The k best nodes for the one position that is None, and the S of the tuple with each."""
        partial = _as_tuple(partial)
        if sum(x is None for x in partial) != 1:
            raise InputError(f"{partial!r} has {sum(x is None for x in partial)} open positions; one of them is None")
        rest = self._positions([x for x in partial if x is not None])
        row = np.insert(rest, partial.index(None), -1)
        form, order = self._form(self._types(row), kind, partial)
        row = row[order]
        slot = int(np.flatnonzero(row < 0)[0])
        nodes = np.flatnonzero(self._codes == self._schema.forms[form].types[slot])
        nodes = nodes[~np.isin(nodes, rest)]
        if exclude is not None:
            nodes = nodes[~np.isin(nodes, self._completions(form, row, exclude))]
        scores = self._completed(form, row, slot, nodes)
        best = np.argsort(-scores, kind="stable")[:k]
        return [(self._node(i), s) for i, s in zip(nodes[best].tolist(), scores[best].tolist(), strict=True)]

    # ---------------------------------------------------------------- which kind

    @property
    def _schema(self) -> Schema:
        return self._network.schema

    def _positions(self, nodes: list[Any]) -> Ints:
        """Where the nodes' vectors are; new nodes come after the known ones."""
        positions = self._find(nodes)
        if positions.size and positions.min() < 0:
            self._parts[0].nodes.positions([nodes[int(np.argmin(positions))]])  # which says what is near it
        return positions

    def _find(self, nodes: Iterable[Any]) -> Ints:
        """The same, -1 where there is none."""
        positions = self._parts[0].nodes.find(nodes)
        for new in self._parts[1:]:
            among = new.nodes.find(nodes)
            positions = np.where((positions < 0) & (among >= 0), among + len(self._parts[0]), positions)
        return positions

    def _node(self, i: int) -> Any:
        n = len(self._parts[0])
        return self._parts[0].nodes[i] if i < n else self._parts[1].nodes[i - n]

    def _types(self, row: Ints) -> tuple[int, ...]:
        return tuple(np.where(row < 0, -1, self._codes[row]).tolist())

    def _form(self, types: tuple[int, ...], kind: Sequence[str] | None, named: Any) -> tuple[int, list[int]]:
        """The one form that a tuple of these types can be of (-1: any type), and its positions in that form's order."""
        orders = [_order(form, types) if _is_kind(form, kind) else None for form in self._schema.forms]
        fitting = [(i, order) for i, order in enumerate(orders) if order is not None]
        if len(fitting) == 1:
            return fitting[0]
        forms = [self._schema.forms[i] for i, _ in fitting] or self._schema.forms
        names = " or ".join(f"({', '.join(form.roles)})" for form in forms)
        if kind is not None and not any(_is_kind(form, kind) for form in self._schema.forms):
            raise InputError(f"kind={kind!r} is not one that was learned; those are {names}")
        if fitting:
            raise InputError(f"the tuple {named!r} can be of the kind {names}; say which with kind=")
        nodes = ", ".join("anything" if t < 0 else self._schema.types[t] for t in types)
        raise InputError(f"the tuple {named!r} joins ({nodes}), and no such kind was learned; those are {names}")

    # ---------------------------------------------------------------- how likely

    @torch.no_grad()
    def _score_rows(self, rows: Ints, kind: Sequence[str] | None, named: list[Any]) -> Floats:
        scores, codes = np.empty(len(rows)), self._codes[rows]
        group = np.zeros(len(rows), np.int64)
        for column in codes.T:
            group = np.unique(group * len(self._schema.types) + column, return_inverse=True)[1]
        for g in range(int(group.max(initial=-1)) + 1):
            at = np.flatnonzero(group == g)
            form, order = self._form(tuple(codes[at[0]].tolist()), kind, named[at[0]])
            scores[at] = self._in_blocks(form, torch.from_numpy(rows[at][:, order]))
        return scores

    def _in_blocks(self, form: int, rows: Tensor) -> Floats:
        similarity = self._network.similarity(form)
        size = max(1, PIECE[self._vectors.device.type] // similarity.width)
        blocks = [part.to(self._vectors.device) for part in torch.split(rows, size)]
        return _sigmoid([similarity.of([self._vectors[column] for column in block.T]) for block in blocks])

    def _completed(self, form: int, row: Ints, slot: int, nodes: Ints) -> Floats:
        """S of the tuple with each of these nodes at the open position, the others multiplied by W once."""
        similarity = self._network.similarity(form)
        size = max(1, PIECE[self._vectors.device.type] // similarity.width)
        at = [self._vectors[i : i + 1] for i in row.tolist()]
        blocks = torch.split(torch.from_numpy(nodes).to(self._vectors.device), size)
        return _sigmoid([similarity.of([*at[:slot], self._vectors[b], *at[slot + 1 :]]) for b in blocks])

    def _completions(self, form: int, row: Ints, exclude: Hypergraph) -> Ints:
        """The nodes with which this tuple is a hyperedge of a hypergraph."""
        own, completions = self._find(exclude.nodes), [np.empty(0, np.int64)]
        own[own < 0] = -2  # unlike the open position
        for kind in exclude.kinds:
            same, order = self._schema.place(kind, exclude.types)
            if same != form:
                continue
            rows = own[kind.rows[:, order]]
            here = np.isin(rows, row) if not self._schema.forms[form].ordered else rows == row
            but_one = here.sum(axis=1) == len(row) - 1
            completions.append(rows[but_one][~here[but_one]])
        return np.concatenate(completions)


def _order(form: Form, types: tuple[int, ...]) -> list[int] | None:
    """Which position of a tuple of these types stands at each of a form's; None where they do not fit.

    A type of -1 fits any. Where the order has a meaning it is that of the form's roles; where not, nodes go by type.
    """
    if len(types) != len(form.types):
        return None
    if form.ordered:
        fits = all(a in (-1, b) for a, b in zip(types, form.types, strict=True))
        return list(range(len(types))) if fits else None
    left, order = list(range(len(types))), []
    for t in form.types:
        at = next((i for i in left if types[i] == t), None)
        at = next((i for i in left if types[i] < 0), None) if at is None else at
        if at is None:
            return None
        left.remove(at)
        order.append(at)
    return order


def _is_kind(form: Form, kind: Sequence[str] | None) -> bool:
    return kind is None or sorted(kind) == sorted(form.roles)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not hasattr(value, "__iter__") or len(members := tuple(value)) < 2:
        raise InputError(f"{value!r} is not a tuple of at least 2 nodes")
    return members


def _check_distinct(rows: Ints, named: list[Any]) -> None:
    ordered = np.sort(rows, axis=1)
    twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if twice.size:
        raise InputError(f"the tuple {named[twice[0]]!r} names a node twice; name each once")


def _sigmoid(logits: list[Tensor]) -> Floats:
    """In float64, where many more logits have different sigmoids."""
    scores: Floats = torch.cat([x.double().sigmoid().cpu() for x in logits]).numpy() if logits else np.empty(0)
    return scores
