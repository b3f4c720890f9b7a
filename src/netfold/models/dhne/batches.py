"""DHNE's batches: hyperedges with tuples that are none, and the rows of A that they and the reconstruction need."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from netfold.data.checks import Ints
from netfold.data.hypergraph import Hypergraph, co_occurrences
from netfold.data.scaling import Block
from netfold.learn.draws import permutation
from netfold.learn.skipgram import is_large
from netfold.learn.sparse_rows import PIECE, SomeRows, SparseRows, dropped, generator_on
from netfold.models.dhne.counts import LeftOut, unit_vectors
from netfold.models.dhne.network import Autoencoder, DHNENetwork, TypeAttributes
from netfold.models.dhne.tuples import Form, Places, TupleNegatives, TupleSet, TypeNoise, possible_tuples

__all__ = [
    "Batch",
    "Drawing",
    "HeldOut",
    "Piece",
    "Source",
    "Tuples",
    "TypeRows",
    "batches",
    "co_occurrences_on",
    "counts_by_type",
    "source",
    "start_by_counts",
    "tuple_rows",
    "tuple_steps",
]

_STEPS, _LEAST, _FEWEST = 128, 64, 16
"""Without a batch size: so many steps an epoch, or fewer of so many hyperedges, but never fewer than so many."""
_DRAWN, _MANY_DRAWN = 1 << 18, 1 << 21
"""About how many tuples are drawn at a time, and of a large hypergraph: a GPU is waited for at each time."""
_MOST_HELD_OUT = 0.1
"""The share of all hyperedges that the encoder does without, at most."""
_FOLDS = 5
"""Of hyperedges: one, and what is drawn for it, is looked at by eigenvectors of the other folds."""
_MOST_LEARNED, _LEAST_RIDGE = 20_000, 0.1
"""Hyperedges that the start by counts learns from, and its least nu: counts may tell all tuples apart."""
_MOST_PAIRS = 1 << 29
"""How many pairs of nodes that share a hyperedge a GPU sorts at once."""
POWER = 0.75
"""Of the degrees, where noise goes by degree: word2vec's."""


@dataclasses.dataclass(frozen=True, eq=False)
class TypeRows:
    """Nodes of one type: those that the batch's tuples name, and those whose rows it is to write."""

    seen: SparseRows | SomeRows
    """Their rows as the encoder sees them, or those of all nodes of the type."""
    named: Tensor | None
    """b: where theirs are among all; None where there are no others."""
    written: SparseRows
    """m x columns: what the decoder is to write, of the second."""
    at: Tensor
    """m: where those are among the b."""
    own: TypeAttributes | None = None
    """What is known of the b beside their tuples, where the network reads it."""

    def __len__(self) -> int:
        """b: how many nodes there are."""
        return len(self.seen) if self.named is None else len(self.named)


@dataclasses.dataclass(frozen=True, eq=False)
class Piece:
    """Some tuples of one form, walked together."""

    rows: SparseRows
    """m x |P|: a 1 at each of a tuple's nodes, among the nodes of the form's groups, one group after another."""
    truth: Tensor
    """m: 1 for a hyperedge."""
    columns: Tensor | None = None
    """m x width: logarithms of counts, where the similarity reads them; a hyperedge is not among its own."""


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """A part of an epoch."""

    types: Sequence[TypeRows]
    """For each type."""
    forms: Sequence[Sequence[Piece]]
    """For each form."""
    share: float
    """This batch's part in what is counted once an epoch."""


@dataclasses.dataclass(frozen=True, eq=False)
class Tuples:
    """The hyperedges of one form, m x N as places among the nodes of their types, and how others are drawn."""

    form: Form
    rows: Tensor
    negatives: TupleNegatives
    columns: Callable[[Tensor, Tensor], Tensor] | None = None
    """What counts say of tuples (m x N), each without the hyperedge at this place (m) of `rows` where those are held
    out: m x width."""


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """What batches are made of, where they are used."""

    written: Sequence[SparseRows]
    """For each type, all rows of A, scaled: what the decoder is to write."""
    seen: Sequence[SparseRows]
    """The same as the encoder sees them."""
    tuples: Sequence[Tuples]
    """For each form."""
    held_out: HeldOut | None = None
    """How the encoder sees rows without a step's hyperedges; None where it sees them with all."""
    own: Sequence[TypeAttributes | None] = ()
    """For each type, the attributes of its nodes; none where there are none."""
    in_place: bool = False
    """Whether rows are read where they are, and steps are made ready several at a time: on a GPU, which else is waited
    for in every step, of a large hypergraph."""

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.written[0].values.device

    @property
    def dtype(self) -> torch.dtype:
        """The kind of numbers in its rows."""
        return self.written[0].values.dtype


@dataclasses.dataclass(frozen=True)
class Drawing:
    """How tuples that are no hyperedges are drawn, and whether the encoder does without a step's hyperedges."""

    negatives: str = "uniform"
    replaced: float = 1.1
    hold_out: bool = False


def counts_by_type(
    hypergraph: Hypergraph, places: Places, device: torch.device | str = "cpu"
) -> list[sparse.csr_array]:
    """Each type's rows of A = H Hᵀ - D_v, over the columns that they can have entries in; a GPU can count them."""
    tuples, n = [kind.rows for kind in hypergraph.kinds], hypergraph.n_nodes
    pairs = sum(len(rows) * rows.shape[1] * (rows.shape[1] - 1) for rows in tuples)
    counted_there = torch.device(device).type == "cuda" and is_large(n) and pairs <= _MOST_PAIRS
    a = co_occurrences_on(tuples, n, device) if counted_there else hypergraph.adjacency()
    return [places.rows(a[members], t) for t, members in enumerate(places.members)]


def co_occurrences_on(rows: Sequence[Ints], n: int, device: torch.device | str) -> sparse.csr_array:
    """As `co_occurrences` (n x n), all pairs sorted and counted at once, where a GPU has room for them."""
    parts = [torch.tensor(tuples, dtype=torch.int64, device=device) for tuples in rows]
    keys = torch.cat([t[:, a] * n + t[:, b] for t in parts for a, b in permutations(range(t.shape[1]), 2)])
    keys, counts = keys.sort().values.unique_consecutive(return_counts=True)  # type: ignore[no-untyped-call]
    wide = len(keys) >= 2**31
    indptr = torch.searchsorted(keys, torch.arange(n + 1, device=device) * n)
    kinds = ((counts, np.float32), (keys % n, np.int32), (indptr, np.int64 if wide else np.int32))
    data, indices, starts = (x.cpu().numpy().astype(kind) for x, kind in kinds)
    matrix = sparse.csr_array((data, indices, starts), shape=(n, n))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def source(
    hypergraph: Hypergraph,
    places: Places,
    counts: Sequence[sparse.csr_array],
    network: DHNENetwork,
    drawing: Drawing,
    dtype: torch.dtype = torch.float32,
    block: Block | None = None,
    scaled: Sequence[tuple[sparse.csr_array, sparse.csr_array]] | None = None,
    generator: torch.Generator | None = None,
) -> Source:
    """What batches are made of, on the network's device; `scaled` are the rows `both` ways, where they are known.

    `generator` draws the folds of hyperedges, where similarities read counts.
    """
    coders = [network.autoencoder(t) for t in range(len(counts))]
    scaled = scaled or [coder.both(of_type) for coder, of_type in zip(coders, counts, strict=True)]
    written, seen = ([pair[i] for pair in scaled] for i in range(2))
    rows = [SparseRows.from_scipy(x, dtype=dtype, device=network.device) for x in written]
    values = [torch.tensor(x.data, dtype=dtype, device=network.device) for x in seen]
    tuples = _tuples(hypergraph, places, network, drawing, generator or torch.Generator())
    known = [each.rows for each in tuples]
    return Source(
        rows,
        [r.with_values(v) for r, v in zip(rows, values, strict=True)],
        tuples,
        HeldOut(counts, scaled, coders, places, known, network.device, dtype) if drawing.hold_out else None,
        [network.attributes_of(block, members, t) for t, members in enumerate(places.members)],
        in_place=network.device.type == "cuda" and is_large(hypergraph.n_nodes),
    )


def start_by_counts(source: Source, network: DHNENetwork, per_positive: int, generator: torch.Generator) -> None:
    """Begin with logistic regression on counts, where similarities read them: the least L_1 + nu L_reg with w = v = 0.

    Of a kind with more hyperedges than 20,000 so many of them are asked about, drawn at random, and nu is smaller
    in the same measure.
    """
    for i, tuples in enumerate(source.tuples):
        if tuples.columns is not None and len(tuples.rows):
            chosen = permutation(len(tuples.rows), generator, source.device, large=False)[:_MOST_LEARNED]
            question = _with_negatives(tuples, [chosen], per_positive, generator, source.dtype)[0]
            assert question.columns is not None
            share = len(chosen) / len(tuples.rows)
            ridge = max(network.nu, _LEAST_RIDGE) * share
            network.similarity(i).start_by_counts(question.columns, question.truth, ridge)


def tuple_steps(tuples: int, batch_size: int | None) -> int:
    """How many steps an epoch over so many hyperedges has."""
    if batch_size:
        return math.ceil(tuples / batch_size)
    return min(_STEPS, max(_FEWEST, tuples // _LEAST), tuples)


def _tuples(
    hypergraph: Hypergraph, places: Places, network: DHNENetwork, drawing: Drawing, generator: torch.Generator
) -> list[Tuples]:
    schema, device = places.schema, network.device
    weights = [torch.from_numpy(hypergraph.degrees[members] ** POWER).to(device) for members in places.members]
    drawn = [TypeNoise(len(w), w if drawing.negatives == "degree" else None) for w in weights]
    of_forms = []
    members = [torch.from_numpy(x).to(device) for x in places.members]
    for form, rows in zip(schema.forms, places.tuples(hypergraph), strict=True):
        known = TupleSet(torch.from_numpy(rows).to(device), [schema.counts[t] for t in form.types], form.alike)
        possible = possible_tuples(form, schema.counts)
        negatives = TupleNegatives(form, known, [drawn[t] for t in form.types], drawing.replaced, possible)
        of_forms.append(Tuples(form, known.rows, negatives))
    if network.pair_counts is None:
        return of_forms
    left_out = _left_out(of_forms, network, members, generator) if drawing.hold_out else None

    def columns(i: int) -> Callable[[Tensor, Tensor], Tensor]:
        def of(some: Tensor, of_which: Tensor) -> Tensor:
            everywhere = _everywhere(some, of_forms[i].form, members)
            return network.count_columns(i, everywhere, None if left_out is None else left_out(i, of_which))

        return of

    return [dataclasses.replace(tuples, columns=columns(i)) for i, tuples in enumerate(of_forms)]


def _left_out(
    of_forms: Sequence[Tuples], network: DHNENetwork, members: Sequence[Tensor], generator: torch.Generator
) -> Callable[[int, Tensor], LeftOut]:
    """What is left out for some hyperedges of the i-th form: they themselves and, of eigenvectors, their folds."""
    rows, times, folds = [], [], []
    for tuples in of_forms:
        rows.append(_everywhere(tuples.rows, tuples.form, members))
        code, often = torch.unique(rows[-1], dim=0, return_inverse=True, return_counts=True)[1:]
        times.append(often[code].float())
        drawn = torch.randint(_FOLDS, often.shape, generator=generator).to(code.device)
        folds.append(drawn[code])  # copies go together
    others = [[x[fold != k].numpy(force=True) for x, fold in zip(rows, folds, strict=True)] for k in range(_FOLDS)]
    n, device = len(network.type_codes), network.device
    vectors = torch.stack([unit_vectors(co_occurrences(x, n), generator) for x in others]).to(device)
    return lambda i, at: LeftOut(rows[i][at], times[i][at], vectors, folds[i][at])


def _everywhere(rows: Tensor, form: Form, members: Sequence[Tensor]) -> Tensor:
    """Tuples (m x N) of places among the nodes of their types, as places among all nodes."""
    return torch.stack([members[t][rows[:, a]] for a, t in enumerate(form.types)], dim=1)


class HeldOut:
    """For all types, the rows that the encoder sees, less what some hyperedges put there.

    A hyperedge adds 1 to A at each two of its nodes. Which entry of which type's rows that is, is found once, by a
    search among the entries; the counts there are scaled anew. A row is divided by the length that it has in full.
    """

    def __init__(
        self,
        counts: Sequence[sparse.csr_array],
        scaled: Sequence[tuple[sparse.csr_array, sparse.csr_array]],
        coders: Sequence[Autoencoder],
        places: Places,
        tuples: Sequence[Tensor],
        device: torch.device,
        dtype: torch.dtype,
    ):
        """`tuples`: all hyperedges of each form, m x N."""
        self._rows = [_Entries(*of_type, device, dtype) for of_type in zip(counts, scaled, coders, strict=True)]
        place_of = {}
        for t, columns in enumerate(places.columns):
            place = np.full(len(places.type_codes), -1, np.int64)
            place[columns] = np.arange(len(columns))
            for u in places.schema.near(t):
                place_of[t, u] = torch.from_numpy(place[places.members[u]]).to(device)
        self._at: list[list[tuple[int, Tensor]]] = []
        """Of each form and each two positions in turn: of which type's rows, and which entry, of each hyperedge."""
        for form, rows in zip(places.schema.forms, tuples, strict=True):
            pairs = [(a, b, form.types[a], form.types[b]) for a, b in permutations(range(len(form.types)), 2)]
            self._at.append([(t, self._rows[t].find(rows[:, a], place_of[t, u][rows[:, b]])) for a, b, t, u in pairs])

    def values(self, hyperedges: Sequence[Tensor]) -> list[Tensor]:
        """What the encoder sees, nnz for each type, without these of all hyperedges of each form."""
        entries: list[list[Tensor]] = [[] for _ in self._rows]
        for pairs, some in zip(self._at, hyperedges, strict=True):
            for t, at in pairs:
                entries[t].append(at.index_select(0, some))
        return [rows.less(torch.cat(at)) if at else rows.seen for rows, at in zip(self._rows, entries, strict=True)]


class _Entries:
    """The entries of one type's rows: where they are, their counts, and how those are scaled."""

    def __init__(
        self,
        counts: sparse.csr_array,
        both: tuple[sparse.csr_array, sparse.csr_array],
        coder: Autoencoder,
        device: torch.device,
        dtype: torch.dtype,
    ):
        row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        self._width, self._coder = counts.shape[1], coder
        self._keys = torch.from_numpy(row * counts.shape[1] + counts.indices).to(device)
        self._counts = torch.tensor(counts.data, dtype=dtype, device=device)
        self._largest = coder.largest[torch.from_numpy(counts.indices.astype(np.int64)).to(device)].to(dtype)
        scaled, seen = both
        self.seen = torch.tensor(seen.data, dtype=dtype, device=device)
        """What the encoder sees of all of them."""
        self._factors = self.seen / torch.tensor(scaled.data, dtype=dtype, device=device)

    def find(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The entries at these rows and columns, which are there."""
        keys = rows * self._width + columns
        return torch.searchsorted(self._keys, keys, out_int32=len(self._keys) < 2**31)

    def less(self, entries: Tensor) -> Tensor:
        """What the encoder sees when each of these entries, one named twice twice, counts 1 less: nnz."""
        seen, ones = self.seen.clone(), torch.ones(len(entries), dtype=self._counts.dtype, device=entries.device)
        left = self._counts.clone().index_add_(0, entries, ones, alpha=-1).index_select(0, entries)
        largest, factors = self._largest.index_select(0, entries), self._factors.index_select(0, entries)
        seen[entries] = self._coder.scale(left, largest) * factors
        return seen


def batches(
    source: Source, batch_size: int | None, *, per_positive: int, hidden: Sequence[int], dropout: float = 0.0
) -> Callable[[torch.Generator], Iterator[Batch]]:
    """The batches of an epoch for a generator: every hyperedge once, and every node's row written once.

    The chapter's objective is a sum over hyperedges (and what is drawn for them) plus one over nodes. A step takes
    `batch_size` random hyperedges, of all kinds in proportion, and as large a share of random nodes: so the terms of an
    epoch add up to L_1 and L_2, each as it is printed. The nodes that a step needs are encoded once, however many
    tuples name them; where those have half of all non-zeros, all rows are read, which saves picking them out.

    `hidden` are the widths of the forms' tuple layers. With `dropout`, that share of the entries of the rows, drawn
    anew at each step, is dropped before encoding and the others are scaled up.
    """
    total = sum(len(tuples.rows) for tuples in source.tuples)
    large = is_large(sum(len(rows) for rows in source.written))
    steps = tuple_steps(total, batch_size)

    def of(generator: torch.Generator) -> Iterator[Batch]:
        order = [_shuffled(len(tuples.rows), steps, generator, source.device, large) for tuples in source.tuples]
        parts = [_shuffled(len(rows), steps, generator, source.device, large) for rows in source.written]
        entries = (
            [_entry_counts(*each) for each in zip(source.written, parts, strict=True)] if source.in_place else None
        )
        for some in _runs(steps, total * (1 + per_positive), large):
            questions = [
                _with_negatives(tuples, mine[some], per_positive, generator, source.dtype)
                for tuples, mine in zip(source.tuples, order, strict=True)
            ]
            run = [list(step) for step in zip(*questions, strict=True)]
            named = _named_in(source, run, [part[some] for part in parts]) if source.in_place else None
            for at, (now, step) in enumerate(zip(run, range(steps)[some], strict=True)):
                counts = None if entries is None else [of_type[step] for of_type in entries]
                own = None if named is None else [of_type[at] for of_type in named]
                drawn = generator if source.in_place else generator_on(source.device, generator) if dropout else None
                drop = None if not dropout or drawn is None else (dropout, drawn)
                yield _batch(source, now, [part[step] for part in parts], hidden, 1 / steps, own, counts, drop)

    return of


def _shuffled(n: int, steps: int, generator: torch.Generator, device: torch.device, large: bool) -> tuple[Tensor, ...]:
    """0..n-1 in random order, in so many parts of nearly the same length."""
    order = permutation(n, generator, device, large=large)
    return torch.tensor_split(order, [n * i // steps for i in range(1, steps)])


def _runs(steps: int, tuples: int, large: bool) -> Iterator[slice]:
    """Ranges of steps for which tuples are drawn together: drawing few takes as long as drawing many."""
    size = max(1, (_MANY_DRAWN if large else _DRAWN) * steps // tuples)
    return (slice(start, min(start + size, steps)) for start in range(0, steps, size))


def _with_negatives(
    tuples: Tuples, mine: Sequence[Tensor], per_positive: int, generator: torch.Generator, dtype: torch.dtype
) -> list[_Question]:
    """For each of some steps, its hyperedges and then tuples that are none, and which is which; and their columns."""
    chosen = torch.cat(list(mine))
    positives = tuples.rows.index_select(0, chosen)
    others, owner = tuples.negatives.draw(positives, per_positive, generator)
    ends = torch.tensor([len(part) for part in mine]).cumsum(0)
    cuts = torch.searchsorted(owner, ends.to(owner.device)).cpu()
    parts = list(zip(torch.tensor_split(positives, ends[:-1]), torch.tensor_split(others, cuts[:-1]), strict=True))
    columns: Sequence[Tensor | None] = [None] * len(parts)
    if tuples.columns is not None:
        of_both = (
            torch.tensor_split(tuples.columns(positives, chosen), ends[:-1]),
            torch.tensor_split(tuples.columns(others, chosen[owner]), cuts[:-1]),
        )
        columns = [torch.cat(both) for both in zip(*of_both, strict=True)]
    return [
        _Question(torch.cat([first, rest]), _truth(first, rest, dtype), own, which)
        for (first, rest), own, which in zip(parts, columns, mine, strict=True)
    ]


class _Question(NamedTuple):
    """Tuples, which of them are hyperedges, and their columns of counts; hyperedges come first, and which they are."""

    rows: Tensor
    truth: Tensor
    columns: Tensor | None
    positives: Tensor


def _truth(positives: Tensor, others: Tensor, dtype: torch.dtype) -> Tensor:
    truth = torch.zeros(len(positives) + len(others), dtype=dtype, device=positives.device)
    truth[: len(positives)] = 1
    return truth


def _batch(
    source: Source,
    questions: Sequence[_Question],
    parts: Sequence[Tensor],
    hidden: Sequence[int],
    share: float,
    named: Sequence[_Named] | None = None,
    entries: Sequence[int] | None = None,
    drop: tuple[float, torch.Generator] | None = None,
) -> Batch:
    """`named`: of each type the nodes that the step needs, `entries`: how many its part has, where they are known;
    `drop`: the share of entries that the encoder does without, and what draws them."""
    types, places = [], []
    for t, (part, seen) in enumerate(zip(parts, _seen(source, questions), strict=True)):
        nodes, place = _distinct(_nodes_of(source, questions, part, t), len(seen)) if named is None else named[t]
        own = source.own[t] if source.own else None
        few = named is None and _are_few(nodes, seen)
        types.append(
            TypeRows(
                _read(SomeRows(seen, nodes, place) if named is not None else seen, nodes if few else None, drop),
                None if few or named is not None else nodes,
                source.written[t].take(part, None if entries is None else entries[t]),
                place.index_select(0, part),
                None if own is None else own.take(nodes),
            )
        )
        places.append(place)
    forms, counts = [], [len(rows) for rows in types]
    for tuples, (rows, truth, columns, _), width in zip(source.tuples, questions, hidden, strict=True):
        local = [places[t].index_select(0, rows[:, i]) for i, t in enumerate(tuples.form.types)]
        forms.append(_pieces(tuples.form, local, (truth, columns), counts, width))
    return Batch(types, forms, share)


def _read(
    seen: SparseRows | SomeRows, nodes: Tensor | None, drop: tuple[float, torch.Generator] | None
) -> SparseRows | SomeRows:
    """The rows of these nodes or, without any, all, less what is dropped."""
    if isinstance(seen, SomeRows):
        return seen.dropped(*drop) if drop else seen
    if nodes is None:
        return dropped(seen, *drop) if drop else seen
    return seen.take_dropped(nodes, *drop) if drop else seen.take(nodes)


def _seen(source: Source, questions: Sequence[_Question]) -> Sequence[SparseRows]:
    """All rows as the encoder sees them in a step."""
    if source.held_out is None:
        return source.seen
    most = [math.ceil(_MOST_HELD_OUT * len(tuples.rows)) for tuples in source.tuples]
    values = source.held_out.values([q.positives[:m] for q, m in zip(questions, most, strict=True)])
    return [rows.with_values(v) for rows, v in zip(source.seen, values, strict=True)]


def _nodes_of(source: Source, questions: Sequence[_Question], part: Tensor, t: int) -> list[Tensor]:
    """The nodes of one type whose rows a step writes, and those that its tuples name."""
    forms = zip(source.tuples, questions, strict=True)
    return [part, *(q.rows[:, i] for tuples, q in forms for i in _positions(tuples.form, t))]


_Named = tuple[Tensor, Tensor]
"""Distinct nodes of one type, in order, and where each of all is among them (-1 where it is not)."""


def _named_in(
    source: Source, run: Sequence[Sequence[_Question]], parts: Sequence[Sequence[Tensor]]
) -> list[list[_Named]]:
    """By type and step: as `_distinct`, of several steps at once, so that a GPU is asked twice and not in each."""
    named = []
    for t, rows in enumerate(source.written):
        marks = torch.zeros(len(run), len(rows), dtype=torch.bool, device=source.device)
        for mine, questions, part in zip(marks, run, parts[t], strict=True):
            for nodes in _nodes_of(source, questions, part, t):
                mine.index_fill_(0, nodes, True)
        counts: list[int] = marks.sum(1).tolist()
        places = torch.where(marks, marks.cumsum(1, dtype=torch.int32).sub_(1), -1)
        named.append(list(zip(torch.split(marks.nonzero()[:, 1].contiguous(), counts), places, strict=True)))
    return named


def _entry_counts(rows: SparseRows, parts: Sequence[Tensor]) -> list[int]:
    """How many entries the rows of each part have."""
    ends = torch.tensor([len(part) for part in parts]).cumsum(0).to(rows.crow.device)
    lengths = rows.crow.diff().index_select(0, torch.cat(list(parts)))
    sums = functional.pad(lengths.cumsum(0), (1, 0)).index_select(0, ends).tolist()
    return [b - a for a, b in pairwise([0, *sums])]


def _positions(form: Form, t: int) -> list[int]:
    return [i for i, u in enumerate(form.types) if u == t]


def _distinct(named: Sequence[Tensor], n: int) -> tuple[Tensor, Tensor]:
    """The distinct nodes among these, in order, and where each of all n is among them (-1 where it is not)."""
    marks = torch.zeros(n, dtype=torch.bool, device=named[0].device)
    for nodes in named:
        marks[nodes] = True
    return marks.nonzero()[:, 0], torch.where(marks, marks.cumsum(0) - 1, -1)


def _are_few(nodes: Tensor, rows: SparseRows) -> bool:
    """Whether picking out the rows of these nodes takes less time than reading all."""
    return 2 * int(rows.crow.diff().index_select(0, nodes).sum()) < len(rows.values)


def _pieces(
    form: Form, places: Sequence[Tensor], known: tuple[Tensor, Tensor | None], counts: Sequence[int], hidden: int
) -> list[Piece]:
    """The tuples in pieces whose tuple layers are no larger than what is large anyway: the projected nodes.

    `places`: for each position where the nodes there are, m.
    """
    truth, beside = known
    starts = [0]
    for t in form.group_types:
        starts.append(starts[-1] + counts[t])
    columns = torch.stack([place + starts[g] for place, g in zip(places, form.groups, strict=True)], dim=1)
    size = max(starts[-1], PIECE[columns.device.type] // hidden)
    parts = torch.split(columns, size)
    own: Sequence[Tensor | None] = [None] * len(parts) if beside is None else torch.split(beside, size)
    return [
        Piece(tuple_rows(part, starts[-1], truth.dtype), which, counted)
        for part, which, counted in zip(parts, torch.split(truth, size), own, strict=True)
    ]


def tuple_rows(columns: Tensor, width: int, dtype: torch.dtype = torch.float32) -> SparseRows:
    """Rows with a 1 at each of these columns, m x N: times a table, they sum N of its rows."""
    m, n = columns.shape
    col = columns.flatten().int()
    crow = torch.arange(0, m * n + 1, n, device=col.device, dtype=torch.int32)
    ones = torch.ones(m * n, dtype=dtype, device=col.device)
    if col.is_cuda:
        return SparseRows(crow, col, ones, width, _by_column(col, width, n), None)
    whole = sparse.csr_array((ones.numpy(), col.numpy(), crow.numpy()), shape=(m, width))
    return SparseRows.from_scipy(whole, dtype=dtype)  # in a fifth of the time of a sort


def _by_column(col: Tensor, width: int, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Where each column's entries start; their rows, of n entries each; which entries they are."""
    in_column, order = col.sort(stable=True)
    starts = torch.searchsorted(in_column, torch.arange(width + 1, dtype=col.dtype, device=col.device))
    return starts.int(), (order // n).int(), order.int()
