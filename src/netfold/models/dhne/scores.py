"""What a trained DHNE says: vectors of new nodes, how likely a tuple of nodes is, and what completes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.checks import Floats, Ints, unique_values
from netfold.data.embedding import Embedding
from netfold.data.hypergraph import Hypergraph
from netfold.data.nodes import Nodes
from netfold.data.scaling import Block
from netfold.data.text import with_article
from netfold.embedder.problem import check_placed
from netfold.errors import InputError
from netfold.learn import losses
from netfold.learn.solvers import descended
from netfold.learn.sparse_rows import PIECE, SparseRows
from netfold.models.dhne.counts import PairCounts
from netfold.models.dhne.network import DHNENetwork, TypeAttributes
from netfold.models.dhne.tuples import Form, Schema

__all__ = [
    "HiddenTuples",
    "NewNodes",
    "TupleScorer",
    "check_types",
    "half_hidden",
    "new_vectors",
    "rows_over_known",
    "tuples_of_new",
    "type_codes_of",
]


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


def new_vectors(
    hypergraph: Hypergraph, network: DHNENetwork, new: Ints, known: Ints, block: Block | None = None
) -> npt.NDArray[np.float32]:
    """The vectors of the nodes `new`, from their rows over known nodes; `known` has each node's place then, or -1.

    And from what else is known of them: `block` has the attributes of the hypergraph's nodes.
    """
    places, types = network.places(), type_codes_of(hypergraph, network.schema)[new]
    over_known = rows_over_known(hypergraph, new, known, len(places.type_codes))
    vectors, lost = np.empty((len(new), network.dim), np.float32), list[int]()
    for t in unique_values(types).tolist():
        at = np.flatnonzero(types == t)
        counts = places.rows(over_known[at], t)
        own = network.attributes_of(block, new[at], t)
        alone = np.diff(network.autoencoder(t).scaled(counts).indptr) == 0
        lost += new[at[alone if own is None else alone & ~own.known.any(1).numpy(force=True)]].tolist()
        vectors[at] = network.embed(counts, t, own)
    check_placed("DHNE", hypergraph.nodes, np.sort(lost), lack="in no hyperedge with a known node", by="hyperedges")
    return vectors


_STANDING = 4
"""Known nodes of each type that stand for all in the tuples that are none, where new nodes are refined."""
_TIE = 1.0
"""Weight of the squared way from where the encoder places a node, before its activation."""
_EDGE = 1e-4
"""How near an activation's bounds a vector is taken to be at most: there its inverse has no end."""


@dataclass(frozen=True, eq=False)
class _NewAt:
    """Tuples of one form with a new node at one position and known ones at all others."""

    form: int
    slot: int
    rows: Ints
    """k x N: places among the known nodes, -1 at the slot."""
    of: Ints
    """k: which new node."""


def tuples_of_new(hypergraph: Hypergraph, network: DHNENetwork, new: Ints, known: Ints) -> list[_NewAt]:
    """The hyperedges with one of the nodes `new` and else known ones, by form and position; `known` as above."""
    place, groups = np.full(hypergraph.n_nodes, -1, np.int64), []
    place[new] = np.arange(len(new))
    for kind in hypergraph.kinds:
        form, order = network.schema.place(kind, hypergraph.types)
        rows = kind.rows[:, order]
        is_new = place[rows] >= 0
        alone = (is_new.sum(axis=1) == 1) & ((known[rows] >= 0) | is_new).all(axis=1)
        rows, is_new = rows[alone], is_new[alone]
        for slot in np.flatnonzero(is_new.any(axis=0)).tolist():
            mine = rows[is_new[:, slot]]
            others = np.where(np.arange(rows.shape[1]) == slot, -1, known[mine])
            groups.append(_NewAt(form, slot, others, place[mine[:, slot]]))
    return groups


def _none_of(group: _NewAt, network: DHNENetwork, standing: list[Ints]) -> _NewAt:
    """Tuples that are no hyperedges of their new node: another position gets each of the standing nodes of its type."""
    types, rows, of = network.schema.forms[group.form].types, [], []
    for position in (a for a in range(len(types)) if a != group.slot):
        some = standing[types[position]]
        others = np.repeat(group.rows, len(some), axis=0)
        others[:, position] = np.tile(some, len(group.rows))
        rows.append(others)
        of.append(np.repeat(group.of, len(some)))
    row, owner = np.concatenate(rows), np.concatenate(of)
    named = np.sort(row, axis=1)
    twice = (named[:, 1:] == named[:, :-1]).any(axis=1)
    is_one = _among(np.column_stack([owner, row]), np.column_stack([group.of, group.rows]))
    return _NewAt(group.form, group.slot, row[~(twice | is_one)], owner[~(twice | is_one)])


def _among(rows: Ints, some: Ints) -> npt.NDArray[np.bool_]:
    """Which rows are among some others."""
    both = np.unique(np.concatenate([rows, some]), axis=0, return_inverse=True)[1].ravel()
    return np.isin(both[: len(rows)], both[len(rows) :])


class NewNodes:
    """The part that new nodes have in the objective, all parameters and known vectors held fixed.

    Of each: Σ -log S over its tuples, plus `per_positive` for each of these of -log(1 - S) where another position has
    some other node; alpha L_2 of its row and of its attributes; and a tie to where the encoder places it.
    """

    def __init__(
        self,
        network: DHNENetwork,
        vectors: npt.NDArray[np.float32],
        groups: list[_NewAt],
        rows: sparse.csr_array,
        types: Ints,
        *,
        per_positive: int,
        seed: int,
        block: Block | None = None,
    ):
        """`vectors` are the known nodes' (n x dim), `rows` the counts of m new ones over them, `types` the latters'.

        `block` has the attributes of the new ones.
        """
        self._network, self._device = network, network.device
        known, places = torch.tensor(vectors).to(self._device), network.places()
        self._reach = float(network.autoencoder(0).inverse(known[: 1 << 14], _EDGE).std()) or 1.0
        rng = np.random.default_rng([seed, 21])
        standing = [rng.choice(x, min(_STANDING, len(x)), replace=False) for x in places.members]
        self._tuples = [self._asked(known, group, 1.0, 1.0) for group in groups]
        for group in groups:
            wrong, types_here = _none_of(group, network, standing), network.schema.forms[group.form].types
            drawn = sum(len(standing[t]) for i, t in enumerate(types_here) if i != group.slot)
            if len(wrong.of) and per_positive:
                self._tuples.append(self._asked(known, wrong, 0.0, per_positive / drawn))
        self._written: list[tuple[int, Tensor, SparseRows]] = []
        self._own: list[tuple[int, Tensor, TypeAttributes]] = []
        for t in unique_values(types).tolist():
            at = np.flatnonzero(types == t)
            written = network.autoencoder(t).scaled(places.rows(rows[at], t))
            index = torch.from_numpy(at).to(self._device)
            self._written.append((t, index, SparseRows.from_scipy(written, device=self._device)))
            own = network.attributes_of(block, at, t)
            self._own += [] if own is None else [(t, index, own)]

    def _asked(self, known: Tensor, group: _NewAt, truth: float, weight: float) -> tuple[Any, ...]:
        at = [
            known[torch.from_numpy(x).to(self._device)] if i != group.slot else None for i, x in enumerate(group.rows.T)
        ]
        return group.form, at, torch.from_numpy(group.of).to(self._device), truth, weight

    def objective(self, x: Tensor) -> Tensor:
        """Of these vectors (m x dim), summed over the nodes and without the tie."""
        total = x.new_zeros(())
        for form, at, of, truth, weight in self._tuples:
            logits = self._network.similarity(form).of([x[of] if y is None else y for y in at])
            total = total + weight * losses.tuple_cross_entropy(logits, torch.full_like(logits, truth))
        for t, at, written in self._written:
            if self._network.alpha and len(written.values):
                total = total + self._network.alpha * self._network.autoencoder(t).errors(written, x[at])
        for t, at, own in self._own if self._network.alpha else ():
            total = total + self._network.alpha * self._network.autoencoder(t).attribute_errors(own, x[at])
        return total

    def refined(self, start: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The vectors after some steps from where the encoder places the nodes: m x dim."""
        coder = self._network.autoencoder(0)
        begin = coder.inverse(torch.tensor(start).to(self._device), _EDGE)

        def slope(x: Tensor) -> Tensor:
            x = x.detach().requires_grad_(True)
            with torch.enable_grad():
                total = self.objective(coder.activation(x)) + _TIE * (x - begin).square().sum()
            return torch.autograd.grad(total, x)[0]

        moved = descended(slope, begin, self._reach)
        refined: npt.NDArray[np.float32] = coder.activation(moved).numpy(force=True)
        return refined


_JUDGES, _FEWEST, _TUPLES = 128, 16, 32
"""Known nodes that judge ways to place new ones (a quarter of all at most), how many there must be, and how many tuples
of each are looked at."""


@dataclass(frozen=True, eq=False)
class HiddenTuples:
    """Tuples that were hidden from the placing of known nodes, beside as many that are none."""

    groups: list[tuple[int, Ints, Ints]]
    """(form, tuples, others), both k x N: places among the known nodes."""

    @torch.no_grad()
    def told_apart(self, network: DHNENetwork, vectors: npt.NDArray[np.float32], new: Ints, placed: Any) -> float:
        """How often a tuple scores above the other beside it, the nodes `new` having the vectors `placed`."""
        there = vectors.copy()
        there[new] = placed
        x, above = torch.from_numpy(there).to(network.device), list[Tensor]()
        for form, *both in self.groups:
            index = [torch.from_numpy(rows.T.copy()).to(network.device) for rows in both]
            right, wrong = (network.similarity(form).of([x[i] for i in columns]) for columns in index)
            above.append((right > wrong).double() + 0.5 * (right == wrong).double())
        return float(torch.cat(above).mean())


def half_hidden(
    hypergraph: Hypergraph, network: DHNENetwork, rng: np.random.Generator
) -> tuple[Hypergraph, Ints, HiddenTuples] | None:
    """Half of the tuples of some nodes, which nodes, and the other half; None where few nodes have four tuples.

    Only tuples with one such node count, so that all others of it are known.
    """
    counts = sum((np.bincount(k.rows.ravel(), minlength=hypergraph.n_nodes) for k in hypergraph.kinds), np.int64(0))
    several = np.flatnonzero(counts >= 4)
    if len(several) < 4 * _FEWEST:
        return None
    is_new = np.zeros(hypergraph.n_nodes, bool)
    is_new[rng.choice(several, min(_JUDGES, len(several) // 4), replace=False)] = True
    seen, hidden, members = [], [], network.places().members
    for kind in hypergraph.kinds:
        rows = kind.rows[is_new[kind.rows].sum(axis=1) == 1]
        owner = rows[np.arange(len(rows)), is_new[rows].argmax(axis=1)]
        order = np.lexsort((rng.random(len(rows)), owner))
        rows, owner = rows[order], owner[order]
        turn = np.arange(len(rows)) - np.searchsorted(owner, owner)
        seen.append((kind, rows[(turn < _TUPLES) & (turn % 2 == 0)]))
        hidden.append((kind, rows[(turn < _TUPLES) & (turn % 2 == 1)]))
    in_both = [np.concatenate([rows[is_new[rows]] for _, rows in half]) for half in (seen, hidden)]
    new = np.intersect1d(in_both[0], in_both[1])
    if len(new) < _FEWEST:
        return None
    groups = []
    for kind, rows in hidden:
        form, positions = network.schema.place(kind, hypergraph.types)
        right = rows[np.isin(rows, new).any(axis=1)][:, positions]
        wrong, at = right.copy(), np.where(is_new[right], -1.0, rng.random(right.shape)).argmax(axis=1)
        for position, t in enumerate(network.schema.forms[form].types):
            wrong[at == position, position] = rng.choice(members[t], int((at == position).sum()))
        groups.append((form, right, wrong))
    kinds = [(kind.roles, kind.types, rows[np.isin(rows, new).any(axis=1)]) for kind, rows in seen]
    whole = Hypergraph.from_kinds(
        kinds, nodes=hypergraph.nodes, node_types=hypergraph.type_codes, types=hypergraph.types
    )  # fmt: skip
    return whole, new, HiddenTuples(groups)


class TupleScorer:
    """The similarities of a fitted network, for nodes that have vectors: the known ones, and perhaps new ones."""

    def __init__(
        self,
        network: DHNENetwork,
        known: Embedding,
        new: Embedding | None = None,
        new_types: Any = (),
        later: Hypergraph | None = None,
    ):
        """`later` has the hyperedges of new nodes, which counts of those are of."""
        self._network, self._parts = network, [known] if new is None else [known, new]
        self._codes = np.concatenate([network.type_codes.numpy(force=True), np.asarray(new_types, np.int64)])
        vectors = np.concatenate([part.vectors for part in self._parts])
        self._vectors = torch.from_numpy(vectors).to(network.device)
        self._counts = network.pair_counts
        if self._counts is not None and later is not None:
            self._counts = self._with_new_pairs(self._counts, later)

    def _with_new_pairs(self, known: PairCounts, later: Hypergraph) -> PairCounts:
        """The counts with those of new nodes, from the hyperedges of `later` that have any."""
        n, places = len(self._parts[0]), self._find(later.nodes)
        rows = [places[kind.rows] for kind in later.kinds]
        return known.with_new([x[(x >= n).any(axis=1)] for x in rows], len(self._vectors))

    # ---------------------------------------------------------------- for users

    def score(self, tuples: Iterable[Any], kind: Sequence[str] | None) -> Floats:
        """S of each tuple: m."""
        as_tuples = [_as_tuple(each) for each in tuples]
        sizes = np.fromiter(map(len, as_tuples), np.int64, len(as_tuples))
        members = self._positions([node for each in as_tuples for node in each])
        starts, scores = np.cumsum(sizes) - sizes, np.empty(len(as_tuples))
        for size in unique_values(sizes).tolist():
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
        return _sigmoid(
            [
                similarity.of([self._vectors[column] for column in block.T]) + self._by_counts(form, block)
                for block in blocks
            ]
        )

    def _by_counts(self, form: int, rows: Tensor) -> Tensor | float:
        """What counts add to the logits of tuples, m x N: m; 0 where the similarity does not read them."""
        own = self._network.similarity(form).counts
        if own is None:
            return 0.0
        by_counts: Tensor = own(self._network.count_columns(form, rows, counts=self._counts))
        return by_counts

    def _completed(self, form: int, row: Ints, slot: int, nodes: Ints) -> Floats:
        """S of the tuple with each of these nodes at the open position, the others multiplied by W once."""
        similarity = self._network.similarity(form)
        size = max(1, PIECE[self._vectors.device.type] // similarity.width)
        at = [self._vectors[i : i + 1] for i in row.tolist()]
        blocks = torch.split(torch.from_numpy(nodes).to(self._vectors.device), size)
        rows = torch.from_numpy(row).to(self._vectors.device)

        def filled(nodes: Tensor) -> Tensor:
            tuples = rows.repeat(len(nodes), 1)
            tuples[:, slot] = nodes
            return tuples

        return _sigmoid(
            [
                similarity.of([*at[:slot], self._vectors[b], *at[slot + 1 :]]) + self._by_counts(form, filled(b))
                for b in blocks
            ]
        )

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
