"""DHNE's batches: hyperedges with tuples that are none, and the rows of A that they and the reconstruction need."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from netfold.learn.sparse_rows import PIECE, SparseRows
from netfold.models.dhne.autoencoder import HeldOut
from netfold.models.dhne.schema import Form

__all__ = ["Batch", "Negatives", "Noise", "Piece", "Rows", "Source", "TupleSet", "Tuples", "batches", "tuple_rows"]


_LARGEST = 1 << 62
_ROUNDS = 100
"""How often a tuple that will not do is drawn anew before it is given up."""


class TupleSet:
    """The tuples of one form, to be asked for many at once; nothing is hashed, so that no answer is wrong.

    A tuple is one number, its places read as digits, in a sorted array. Where the digits would overflow, those so far
    are replaced by their rank among those that occur.
    """

    def __init__(self, rows: Tensor, sizes: Sequence[int], alike: Sequence[Sequence[int]]):
        self._sizes, self._alike = sizes, alike
        self._ranks: dict[int, Tensor] = {}
        rows = self.ordered(rows)
        keys, most = rows[:, 0], sizes[0]
        for column, size in list(enumerate(sizes))[1:]:
            if most > _LARGEST // max(1, size):
                self._ranks[column], keys = torch.unique(keys, return_inverse=True)
                most = len(self._ranks[column])
            keys, most = keys * size + rows[:, column], most * size
        self.rows = rows[torch.argsort(keys, stable=True)]
        """The tuples, in an order that is theirs and not that of the file they came in."""
        self._keys = torch.unique(keys)

    def __len__(self) -> int:
        return len(self._keys)

    def ordered(self, rows: Tensor) -> Tensor:
        """Tuples with the nodes that may change places in order: m x N."""
        rows = rows.clone()
        for positions in self._alike:
            rows[:, positions] = rows[:, positions].sort(dim=1).values
        return rows

    def holds(self, rows: Tensor) -> Tensor:
        """Whether each tuple, m x N, is among them."""
        rows = self.ordered(rows)
        keys, found = rows[:, 0], torch.ones(len(rows), dtype=torch.bool, device=rows.device)
        for column, size in list(enumerate(self._sizes))[1:]:
            if column in self._ranks:
                keys, here = _looked_up(self._ranks[column], keys)
                found &= here
            keys = keys * size + rows[:, column]
        return found & _looked_up(self._keys, keys)[1]


def _looked_up(values: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Where keys stand in sorted values, and whether they do."""
    at = torch.searchsorted(values, keys.contiguous()).clamp_(max=len(values) - 1)
    return at, values[at] == keys


class Noise:
    """A distribution over the nodes of a type: all alike, or with probability proportional to given weights."""

    def __init__(self, count: int, weights: Tensor | None = None):
        self._count, self._cumulative = count, None
        if weights is not None and float(weights.sum()) > 0:
            self._cumulative = weights.double().cumsum(0) / weights.double().sum()

    def at(self, uniform: Tensor) -> Tensor:
        """The nodes that numbers between 0 and 1 stand for."""
        if self._cumulative is None:
            found = (uniform * self._count).long()
        else:
            found = torch.searchsorted(self._cumulative, uniform, right=True)
        return found.clamp_(max=self._count - 1)


class Negatives:
    """Draws for each hyperedge tuples in which some positions, chosen at random, get another node.

    `replaced` is how many positions, on average: 1.1 is one, and two in a tenth of the cases. None of what is drawn is
    a hyperedge, or names a node twice. What will not do is drawn anew, positions too, up to 100 times; a tuple for
    which nothing was found by then is left out: where every tuple is a hyperedge, there are no others.
    """

    def __init__(self, form: Form, known: TupleSet, noise: Sequence[Noise], replaced: float, possible: int):
        self._known, self._noise, self._replaced = known, noise, replaced
        self._same = [(a, b) for a, b in combinations(range(len(form.types)), 2) if form.types[a] == form.types[b]]
        self._rounds = 0 if len(known) >= possible else _ROUNDS

    def draw(self, positives: Tensor, per_positive: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """So many tuples for each hyperedge, at most per_positive · m x N, and for which each was drawn, in order."""
        models = positives.repeat_interleave(per_positive, dim=0)
        made, left = torch.empty_like(models), torch.arange(len(models), device=models.device)
        good = torch.zeros(len(models), dtype=torch.bool, device=models.device)
        for _ in range(self._rounds):
            drawn = self._changed(models[left], generator)
            fine = self._will_do(drawn)
            made[left[fine]] = drawn[fine]
            good[left[fine]] = True
            left = left[~fine]
            if not len(left):
                break
        return made[good], good.nonzero()[:, 0] // max(1, per_positive)

    def _changed(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Random numbers come from the CPU, so that every device draws the same."""
        m, n = rows.shape
        uniform = torch.rand(m, 2 * n + 1, generator=generator, dtype=torch.float64).to(rows.device)
        keys, draws, more = uniform[:, :n], uniform[:, n:-1], uniform[:, -1]
        count = int(self._replaced) + (more < self._replaced % 1).long()
        chosen = (keys[:, None, :] < keys[:, :, None]).sum(dim=2) < count[:, None]  # the `count` smallest keys
        nodes = torch.stack([noise.at(draws[:, i].contiguous()) for i, noise in enumerate(self._noise)], dim=1)
        return torch.where(chosen, nodes, rows)

    def _will_do(self, rows: Tensor) -> Tensor:
        good = ~self._known.holds(rows)
        for a, b in self._same:
            good &= rows[:, a] != rows[:, b]
        return good


def possible_tuples(form: Form, counts: Sequence[int]) -> int:
    """How many tuples of distinct nodes there are of a form.

    >>> possible_tuples(Form(("node", "node_2"), (0, 0), ordered=False), [4])
    6
    """
    choose = math.perm if form.ordered else math.comb
    return math.prod(choose(counts[t], k) for t, k in Counter(form.types).items())


_STEPS, _LEAST, _FEWEST = 128, 64, 16
"""Without a batch size: so many steps an epoch, or fewer of so many hyperedges, but never fewer than so many."""
_DRAWN = 1 << 18
"""About how many tuples are drawn at a time."""
_MOST_HELD_OUT = 0.1
"""The share of all hyperedges that the encoder does without, at the most."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Nodes of one type: those that the batch's tuples name, and those whose rows it is to write."""

    seen: SparseRows
    """Their rows as the encoder sees them, or those of all nodes of the type."""
    kept: Tensor | None
    """b: where theirs are among all; None where there are no others."""
    written: SparseRows
    """m x columns: what the decoder is to write, of the second."""
    at: Tensor
    """m: where those are among the b."""

    def __len__(self) -> int:
        """b: how many nodes there are."""
        return len(self.seen) if self.kept is None else len(self.kept)


@dataclasses.dataclass(frozen=True, eq=False)
class Piece:
    """Some tuples of one form, walked together."""

    rows: SparseRows
    """m x |P|: a 1 at each of a tuple's nodes, among the nodes of the form's groups, one group after another."""
    truth: Tensor
    """m: 1 for a hyperedge."""


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """A part of an epoch."""

    types: Sequence[Rows]
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
    negatives: Negatives


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

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.written[0].values.device

    @property
    def dtype(self) -> torch.dtype:
        """The kind of numbers in its rows."""
        return self.written[0].values.dtype


def batches(
    source: Source, batch_size: int | None, *, per_positive: int, hidden: Sequence[int], dropout: float = 0.0
) -> Callable[[torch.Generator], Iterator[Batch]]:
    """The batches of an epoch for a generator: every hyperedge once, and every node's row written once.

    The chapter's objective is a sum over hyperedges (and what is drawn for them) plus one over nodes. A step takes
    `batch_size` random hyperedges, of all kinds in proportion, and as large a share of random nodes: so the terms of an
    epoch add up to L_1 and L_2, each as it is printed. The nodes that a step needs are encoded once, however many
    tuples name them; where those have half of all non-zeros, all rows are read, which saves picking them out.

    `hidden` are the widths of the forms' tuple layers. With `dropout`, that share of the entries of the rows, drawn
    anew at each step, is hidden from the encoder and the others are scaled up.
    """
    total = sum(len(tuples.rows) for tuples in source.tuples)
    steps = math.ceil(total / batch_size) if batch_size else min(_STEPS, max(_FEWEST, total // _LEAST), total)

    def of(generator: torch.Generator) -> Iterator[Batch]:
        order = [_shuffled(len(tuples.rows), steps, generator, source.device) for tuples in source.tuples]
        parts = [_shuffled(len(rows), steps, generator, source.device) for rows in source.written]
        for some in _runs(steps, total * (1 + per_positive)):
            asked = [
                _with_negatives(tuples, mine[some], per_positive, generator, source.dtype)
                for tuples, mine in zip(source.tuples, order, strict=True)
            ]
            for at, step in enumerate(range(steps)[some]):
                now = [of_form[at] for of_form in asked]
                made = _batch(source, now, [part[step] for part in parts], hidden, 1 / steps)
                yield _dropped(made, dropout, generator) if dropout else made

    return of


def _shuffled(n: int, steps: int, generator: torch.Generator, device: torch.device) -> tuple[Tensor, ...]:
    """0..n-1 in random order, in so many parts of nearly the same length."""
    order = torch.randperm(n, generator=generator).to(device)
    return torch.tensor_split(order, [n * i // steps for i in range(1, steps)])


def _runs(steps: int, tuples: int) -> Iterator[slice]:
    """Ranges of steps for which tuples are drawn together: drawing few takes as long as drawing many."""
    size = max(1, _DRAWN * steps // tuples)
    return (slice(start, min(start + size, steps)) for start in range(0, steps, size))


def _with_negatives(
    tuples: Tuples, mine: Sequence[Tensor], per_positive: int, generator: torch.Generator, dtype: torch.dtype
) -> list[tuple[Tensor, Tensor]]:
    """For each of some steps, its hyperedges and then tuples that are none, and which is which."""
    positives = tuples.rows[torch.cat(list(mine))]
    others, owner = tuples.negatives.draw(positives, per_positive, generator)
    ends = torch.tensor([len(part) for part in mine]).cumsum(0)
    cuts = torch.searchsorted(owner, ends.to(owner.device)).cpu()
    parts = zip(torch.tensor_split(positives, ends[:-1]), torch.tensor_split(others, cuts[:-1]), strict=True)
    return [(torch.cat([first, rest]), _truth(first, rest, dtype)) for first, rest in parts]


def _truth(positives: Tensor, others: Tensor, dtype: torch.dtype) -> Tensor:
    truth = torch.zeros(len(positives) + len(others), dtype=dtype, device=positives.device)
    truth[: len(positives)] = 1
    return truth


def _batch(
    source: Source, asked: Sequence[tuple[Tensor, Tensor]], parts: Sequence[Tensor], hidden: Sequence[int], share: float
) -> Batch:
    types, places = [], []
    for t, (part, seen) in enumerate(zip(parts, _seen(source, asked), strict=True)):
        named = [rows[:, i] for tuples, (rows, _) in zip(source.tuples, asked) for i in _positions(tuples.form, t)]
        nodes, place = _distinct([part, *named], len(seen))
        few = _are_few(nodes, seen)
        types.append(
            Rows(seen.take(nodes) if few else seen, None if few else nodes, source.written[t].take(part), place[part])
        )
        places.append(place)
    forms, counts = [], [len(rows) for rows in types]
    for tuples, (rows, truth), width in zip(source.tuples, asked, hidden, strict=True):
        local = [places[t][rows[:, i]] for i, t in enumerate(tuples.form.types)]
        forms.append(_pieces(tuples.form, torch.stack(local, dim=1), truth, counts, width))
    return Batch(types, forms, share)


def _seen(source: Source, asked: Sequence[tuple[Tensor, Tensor]]) -> Sequence[SparseRows]:
    """All rows as the encoder sees them in a step."""
    if source.held_out is None:
        return source.seen
    most = [math.ceil(_MOST_HELD_OUT * len(tuples.rows)) for tuples in source.tuples]
    held_out = [rows[:m][truth[:m] > 0] for (rows, truth), m in zip(asked, most, strict=True)]
    values = source.held_out.values(held_out)
    return [rows.with_values(v) for rows, v in zip(source.seen, values, strict=True)]


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
    return 2 * int(rows.crow.diff()[nodes].sum()) < len(rows.values)


def _pieces(form: Form, places: Tensor, truth: Tensor, counts: Sequence[int], hidden: int) -> list[Piece]:
    """The tuples in pieces whose tuple layers are no larger than what is large anyway: the projected nodes."""
    starts = [0]
    for t in form.group_types:
        starts.append(starts[-1] + counts[t])
    columns = places + torch.tensor([starts[g] for g in form.groups], device=places.device)
    size = max(starts[-1], PIECE[places.device.type] // hidden)
    return [
        Piece(tuple_rows(part, starts[-1], truth.dtype), which)
        for part, which in zip(torch.split(columns, size), torch.split(truth, size), strict=True)
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
    order = col.argsort(stable=True)
    starts = functional.pad(torch.bincount(col, minlength=width).cumsum(0), (1, 0))
    return starts.int(), (order // n).int(), order.int()


def _dropped(batch: Batch, share: float, generator: torch.Generator) -> Batch:
    device = batch.types[0].seen.values.device
    own = torch.Generator(device).manual_seed(int(torch.randint(1 << 62, (), generator=generator)))

    def seen(rows: SparseRows) -> SparseRows:
        kept = torch.empty_like(rows.values).bernoulli_(1 - share, generator=own)
        return rows.with_values(rows.values * kept.div_(1 - share))

    return dataclasses.replace(batch, types=[dataclasses.replace(r, seen=seen(r.seen)) for r in batch.types])
