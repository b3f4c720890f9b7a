"""Spectral's tensors: what a matrix makes of a node's links, and the table that turns such a row into a vector."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from netfold.data.scaling import Block
from netfold.errors import InputError
from netfold.learn.layers import Tables
from netfold.learn.solvers import ColumnBlocks, Eigenpairs, leading_eigenpairs, normals, signs, truncated_svd
from netfold.learn.sparse_rows import SparseRows, cached_parts, parts, product_in_chunks

__all__ = [
    "AttributeBasis", "LinkSums", "Settings", "SpectralNetwork", "StepBlocks", "centered", "own_share",
    "step_information", "walk_information", "whitening",
]  # fmt: skip

_CHUNK = 1 << 16
"""Rows that are placed at a time."""
_EXACT = 1000
"""Nodes up to which all is float64, as the solver is then exact."""
_ORDER, _MU, _THETA = 10, 0.2, 0.5
"""Of ProNE's filter: terms of the Chebyshev expansion, where the Gaussian is centred on the spectrum, and its width."""
_SVD_ROUNDS = 5
"""Of the SVD before it."""
_BLOCK, _MOST_ENTRIES = 1 << 24, 200_000_000
"""Of the matrix of what walks see together: entries that rows made at a time may have, and all of them."""
_NEGATIVES = 0.75
"""The power of a node's part in links by which ProNE's log matrix weighs it as a negative."""


@dataclass(frozen=True)
class Settings:
    """How to solve: random numbers, when eigenvectors have converged, averages of propagation, and who is told."""

    generator: torch.Generator
    tolerance: float
    rounds: int
    steps: int
    report: Callable[[int, float], object]
    columns: ColumnBlocks | None = None
    """Where the rows are spread over processes: what has the columns."""


@dataclass(frozen=True)
class LinkSums:
    """What the weights of each known node's links sum to, as rows of the matrix ask for it."""

    at: Callable[[npt.NDArray[Any]], npt.NDArray[np.float64]]
    """Of the nodes of these columns."""
    total: float
    """Of all nodes."""
    mean: float
    """Of all nodes, of the links that leave them."""


class SpectralNetwork(Tables):
    """A table B (n x d) with the vectors m B of rows m of a matrix M, and what is needed to make such a row.

    `sums0` and, where directions count, `sums1` are the weights of links that leave and that reach each node; `unit`
    is the largest weight; `mean` is the vector of a node without links. Where directions count, the first half of the
    columns is for links that leave a node, the second for those that reach it.
    """

    basis: Tensor
    mean: Tensor
    unit: Tensor
    turn: Tensor
    shift: Tensor

    def __init__(
        self, n: int, dim: int, matrix: str, *, power: float, regularization: float, two_sided: bool, window: int = 1
    ):
        shapes: dict[str, Any] = {"basis": ((n, dim), torch.float32), "mean": ((dim,), torch.float32)}
        shapes |= {"unit": ((1,), torch.float64)}
        shapes |= {f"sums{side}": ((n,), torch.float64) for side in range(1 + two_sided)}
        if matrix == "propagation":
            shapes |= {"turn": ((dim, dim), torch.float32), "shift": ((dim,), torch.float32)}
        super().__init__(shapes)
        self._matrix, self._power, self._regularization, self._two_sided = matrix, power, regularization, two_sided
        self.window = window
        self._made: dict[int, tuple[sparse.csr_array, sparse.csr_array]] = {}
        """While a graph is fitted: of each side its links, and the rows of M that were made of them."""
        half = (dim + 1) // 2
        self._columns = [slice(0, half), slice(half, dim)] if two_sided else [slice(0, dim)]

    # ---------------------------------------------------------------- rows of the matrix

    def weighed(self, rows: sparse.csr_array, side: int = 0, sums: LinkSums | None = None) -> sparse.csr_array:
        """Rows of M from rows of links (m x n): those that leave nodes (side 0), or that reach them (side 1).

        `sums` of the known nodes, where not all of those are here.
        """
        if sums is not None:
            return self._rows_of(rows, sums)
        if side not in self._made or self._made[side][0] is not rows:
            self._made[side] = rows, self._rows_of(rows, self._known_sums(side))
        return self._made[side][1]

    def _rows_of(self, rows: sparse.csr_array, sums: LinkSums) -> sparse.csr_array:
        if self._matrix == "adjacency":
            return sparse.csr_array(rows / float(self.unit))
        if self.window > 1:
            return walk_information(rows, self.window)
        own = np.repeat(rows.sum(axis=1), np.diff(rows.indptr))
        added = self._regularization * sums.mean
        if self._matrix == "log":
            values = np.log1p(rows.data) / np.log1p(float(self.unit))
        elif self._matrix == "ppmi":
            values = np.log(np.maximum(rows.data / own * (sums.total / sums.at(rows.indices)), 1))
        elif self._matrix == "normalized":
            values = rows.data / np.sqrt((own + added) * (sums.at(rows.indices) + added))
        else:
            values = rows.data / (own + (added if self._matrix == "laplacian" else 0))
        return sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)

    def _known_sums(self, side: int) -> LinkSums:
        """Where all known nodes are here: of links in the other direction than those of a row, where told apart."""
        leaving = self.array("sums0")
        known = self.array(f"sums{1 - side}") if self._two_sided and self._matrix == "normalized" else leaving
        return LinkSums(lambda columns: known[columns], known.sum(), float(leaving.mean()))

    @property
    def _added(self) -> float:
        """What regularises a degree."""
        return self._regularization * float(self.array("sums0").mean())

    # ---------------------------------------------------------------- vectors

    def embed(self, sides: Sequence[sparse.csr_array], *, known: bool) -> npt.NDArray[np.float32]:
        """The vectors of nodes with these rows of links, m x n for each side: m x d.

        `known`: the nodes are the n known ones, all of them.
        """
        vectors = self._placed(sides, known=known)
        for rows, columns in zip(sides, self._columns, strict=True):
            none = torch.from_numpy(np.diff(rows.indptr) == 0).to(vectors.device)
            vectors[none, columns] = self.mean[columns]
        self._made.clear()
        placed: npt.NDArray[np.float32] = vectors.numpy(force=True)
        return placed

    def _placed(self, sides: Sequence[sparse.csr_array], *, known: bool) -> Tensor:
        """The same with zeros where there are no links, where the table is."""
        blocks = [self._through(rows, side, known=known) for side, rows in enumerate(sides)]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks, dim=1)

    def _through(self, rows: sparse.csr_array, side: int, *, known: bool) -> Tensor:
        basis = self.basis[:, self._columns[side]].contiguous()
        vectors = product_in_chunks(self.weighed(rows, side), _CHUNK, basis, device=basis.device)
        if known and self._matrix in ("propagation", "prone"):  # a new node has no vector of its own yet
            loop = self._added if self._matrix == "propagation" else rows.data.mean()
            vectors.lerp_(basis, own_share(self.get_buffer("sums0"), loop))
        if self._matrix == "propagation":
            return centered(vectors, self.shift) @ self.turn
        return functional.normalize(vectors, dim=1) if self._matrix == "prone" else vectors

    def solve(self, sides: Sequence[sparse.csr_array], settings: Settings) -> bool:
        """Compute all of it from the links of a graph; whether the solver has converged."""
        self.fill(unit=[max(rows.data.max() for rows in sides)])
        self.fill(**{f"sums{side}": rows.sum(axis=1) for side, rows in enumerate(sides)})
        dtype = torch.float64 if len(self.basis) <= _EXACT else torch.float32
        form = self._symmetric_form(sides[0]) if len(sides) == 1 else self.weighed(sides[0])
        rows = SparseRows.from_scipy(form, dtype=dtype, device=self.basis.device)
        if self._matrix == "propagation":
            self._propagate(rows, settings)
            solved = True
        elif self._matrix == "prone":
            self._prone(rows, sides[0], settings)
            solved = True
        elif self._two_sided:
            solved = self._left_and_right(rows, settings)
        else:
            solved = self.eigenvectors(rows, rows.values, settings, self._added)
        self._finish(sides)
        return solved

    def _symmetric_form(self, rows: sparse.csr_array) -> sparse.csr_array:
        """M, or the symmetric matrix that has its eigenvalues: that of the random walk."""
        if self._matrix != "laplacian":
            return self.weighed(rows)
        roots = np.sqrt(rows.sum(axis=1) + self._added)
        roots = np.where(roots > 0, roots, 1)
        walk = self.weighed(rows)
        values = np.repeat(roots, np.diff(walk.indptr)) * walk.data * (1 / roots)[walk.indices]
        return sparse.csr_array((values, walk.indices, walk.indptr), shape=walk.shape)

    def _finish(self, sides: Sequence[sparse.csr_array]) -> None:
        """Bring vectors to a mean square length of 1, and find the mean vector, of nodes that have links."""
        vectors = self._placed(sides, known=True)
        for rows, columns in zip(sides, self._columns, strict=True):
            linked, own = torch.from_numpy(np.diff(rows.indptr) > 0).to(vectors.device), vectors[:, columns]
            total = own.new_zeros(own.shape[1], dtype=torch.float64)
            squares = total.new_zeros(())
            for part in cached_parts(own, own.shape[1]):
                some = own[part][linked[part]].double()
                total += some.sum(0)
                squares += some.square().sum()
            count = max(1, int(linked.sum()))
            size = float(squares / count) ** 0.5 * len(sides) ** 0.5
            scale = 1 / size if size > 0 and self._matrix != "prone" else 1.0  # whose vectors are of length 1
            self.mean[columns] = (total / count * scale).to(self.mean)
            table = self.turn if self._matrix == "propagation" else self.basis[:, columns]
            table *= scale

    # ---------------------------------------------------------------- the tables of each form

    def eigenvectors(
        self, matrix: Callable[[Tensor], Tensor] | SparseRows, like: Tensor, settings: Settings, added: float
    ) -> bool:
        """U Λ⁻¹ |Λ|^power: M of it are the eigenvectors times |Λ|^power. Whether they have converged."""
        upper = self._matrix == "laplacian"
        pairs = self._pairs(matrix, self.basis.shape[1], like, settings, upper=upper)
        vectors = pairs.vectors
        if upper:  # of D^-½ A D^-½: those of D⁻¹ A are D^-½ u
            roots = np.sqrt(self.array("sums0") + added)
            vectors = vectors / torch.from_numpy(np.where(roots > 0, roots, 1)).to(vectors)[:, None]
        factors = _factors(pairs.values.clamp(min=0) if upper else pairs.values, self._power)
        self._write(vectors * factors.to(vectors), 0)
        return pairs.converged

    def _left_and_right(self, rows: SparseRows, settings: Settings) -> bool:
        """Of M = U S Vᵀ: V S^(power - 1) for links that leave a node, U S^(power - 1) for those that reach it."""
        wide = self._columns[0].stop
        pairs = self._pairs(lambda x: rows.transposed_matmul(rows.matmul(x)), wide, rows.values, settings, upper=True)
        values = pairs.values.clamp(min=0).sqrt()
        left = rows.matmul(pairs.vectors) * _factors(values, 0.0).to(pairs.vectors)
        factors = _factors(values, self._power).to(left)
        self._write(pairs.vectors * factors, 0)
        self._write(left * factors, 1)
        return pairs.converged

    def _pairs(
        self,
        matrix: Callable[[Tensor], Tensor] | SparseRows,
        rank: int,
        values: Tensor,
        settings: Settings,
        *,
        upper: bool = False,
    ) -> Eigenpairs:
        columns = settings.columns
        return leading_eigenpairs(
            matrix,
            len(self.basis) if columns is None else columns.n,
            rank,
            settings.generator,
            tolerance=settings.tolerance,
            rounds=settings.rounds,
            upper=upper,
            like=values,
            columns=columns,
            report=settings.report,
        )

    def _write(self, table: Tensor, side: int) -> None:
        """A table of these columns; where there are fewer than there is room for, zeros stay."""
        columns = self._columns[side]
        wide = min(table.shape[1], columns.stop - columns.start)
        self.basis[:, columns.start : columns.start + wide] = table[:, :wide].to(self.basis)

    def _propagate(self, walk: SparseRows, settings: Settings) -> None:
        """All but the last of so many averages of random vectors, each around its mean and at length 1.

        An average is over a node's neighbors and, with the weight that regularises degrees, the node itself. The mean
        is that of the averages of all nodes that have links: without it they would end at one vector for all, and by
        degree it would be that of a few hubs. What they end at is whitened, so that all directions tell alike.
        """
        n, dim = self.basis.shape
        x = normals((n, dim), settings.generator, self.basis)
        walk = walk.with_values(walk.values.float())
        degrees = self.get_buffer("sums0")
        own, linked = own_share(degrees, self._added), degrees > 0
        each = torch.where(linked, 1 / (degrees + self._added), 0.0)[:, None] / linked.sum()
        weights = degrees * walk.matmul(each.float())[:, 0] + self._added * each[:, 0]  # of nodes in that mean: A = Aᵀ
        weights = weights.float()
        for _ in range(settings.steps):
            self.basis.copy_(x)
            self.shift.copy_(weights @ x)
            for part, average in walk.matmul_parts(self.basis):
                x[part] = centered(average.lerp_(self.basis[part], own[part]), self.shift)
        x = x[linked]
        self.turn.copy_(whitening(_gram(x) / len(x)))

    def _prone(self, walk: SparseRows, links: sparse.csr_array, settings: Settings) -> None:
        """An SVD of ProNE's log matrix, smoothed by its filter; and rotated, as after the average over neighbors.

        The SVD is that of ProNE's code, of five rounds and a product: with more, classes that few are known of get
        better on Cora, and the links of every graph are given back worse.
        """
        rows = SparseRows.from_scipy(_log_matrix(links), dtype=walk.values.dtype, device=walk.values.device)
        rank = min(self.basis.shape)
        values, right = truncated_svd(rows, rank, settings.generator, rounds=_SVD_ROUNDS)
        vectors = rows.matmul(right)  # U S of the matrix U S Vᵀ
        lengths = signs(vectors) * _factors(values, 0.5)
        for part in cached_parts(vectors, rank):
            vectors[part] = functional.normalize(vectors[part] * lengths, dim=1)
        sums, loop = torch.from_numpy(links.sum(axis=1)).to(vectors)[:, None], float(links.data.mean())
        smooth = _gaussian(walk, sums, loop, vectors)
        torch.sub(vectors, smooth, out=smooth)
        self._write(smooth @ _half_whitening(walk.matmul(smooth).mul_(sums).add_(smooth, alpha=loop)), 0)


class AttributeBasis(Tables):
    """A table B (columns x d) with the vectors m B of rows m of [N | γ X] or of PᵏX, X being attributes of nodes.

    N = D^-½ A D^-½ with regularised degrees, and γ lets attributes have so many times the part of links in a row.
    P = (D + w)⁻¹(A + w) averages over a node and its neighbors, w the mean weight of a link; PᵏX is never formed. What
    is missing is the mean of what is known. `level0` and so on hold what t averages make of known nodes, which a
    new node's vector is an average of.
    """

    basis: Tensor
    means: Tensor
    sums: Tensor
    unit: Tensor
    loop: Tensor

    def __init__(self, n: int, dim: int, slices: Sequence[int], *, steps: int | None, power: float, added: float):
        m = sum(slices)
        shapes: dict[str, Any] = {"basis": ((m if steps is not None else n + m, dim), torch.float32)}
        shapes |= {"means": ((m,), torch.float64), "sums": ((n,), torch.float64)}
        shapes |= {"unit": ((1,), torch.float64), "loop": ((1,), torch.float64)}
        shapes |= {f"level{t}": ((n, dim), torch.float32) for t in range(steps or 0)}
        super().__init__(shapes)
        self._n, self._steps, self._power, self._regularization = n, steps, power, added
        self._column = np.repeat(np.arange(len(slices)), slices)

    def embed(self, links: sparse.csr_array, block: Block, *, known: bool) -> npt.NDArray[np.float32]:
        """The vectors of nodes with these links to known ones (m x n) and attributes: m x d.

        `known`: the nodes are the n known ones, all of them.
        """
        like = self.basis.double() if self._exact else self.basis
        if self._steps is None:
            return self._float(self._beside(links, block, like)(like))
        placed = self._attributes(block, like)(like)
        if known:
            for _ in range(self._steps):
                placed = self._average(links, like).matmul(torch.cat([placed, placed]))
            return self._float(placed)
        for t in range(self._steps):
            level = self.get_buffer(f"level{t}").to(like)
            placed = self._average(links, like).matmul(torch.cat([level, placed]))
        return self._float(placed)

    @property
    def _exact(self) -> bool:
        return self._n <= _EXACT

    def _float(self, x: Tensor) -> npt.NDArray[np.float32]:
        vectors: npt.NDArray[np.float32] = x.float().numpy(force=True)
        return vectors

    def solve(self, links: sparse.csr_array, block: Block, weight: float, settings: Settings) -> bool:
        """Compute all of it from links (n x n) and attributes; whether the solver has converged."""
        known = np.maximum(block.known.sum(axis=0), 1)
        self.fill(means=np.asarray(block.values.sum(axis=0, dtype=np.float64)).ravel() / known[self._column])
        self.fill(sums=links.sum(axis=1), loop=[links.data.mean()])
        like = self.basis.double() if self._exact else self.basis
        if self._steps is None:
            squares = [np.square(x, dtype=np.float64).sum() for x in (self._weighed(links).data, _data(block.values))]
            self.fill(unit=[weight * (squares[0] / squares[1]) ** 0.5])
            forth = self._beside(links, block, like)
            own = SparseRows.from_scipy(self._weighed(links), dtype=like.dtype, device=like.device)
            turned = self._attributes(block, like, back=True)

            def back(x: Tensor) -> Tensor:
                return torch.cat([own.transposed_matmul(x), float(self.unit) * turned(x)])

        else:
            average, through = self._average(links, like), self._attributes(block, like)
            turned, n = self._attributes(block, like, back=True), self._n

            def forth(x: Tensor) -> Tensor:
                x = through(x)
                for _ in range(self._steps or 0):
                    x = average.matmul(torch.cat([x, x]))
                return x

            def back(x: Tensor) -> Tensor:
                for _ in range(self._steps or 0):
                    both = average.transposed_matmul(x)
                    x = both[:n] + both[n:]
                return turned(x)

        rank = min(*self.basis.shape, self._n)
        pairs = leading_eigenpairs(
            lambda x: back(forth(x)), len(self.basis), rank, settings.generator, tolerance=settings.tolerance,
            rounds=settings.rounds, upper=True, like=like, report=settings.report,
        )  # fmt: skip
        values = pairs.values.clamp(min=0).sqrt()
        table = pairs.vectors * _factors(values, self._power).to(pairs.vectors)
        vectors = forth(table)
        size = float(vectors.double().square().sum(1).mean().sqrt())
        table = table / size if size > 0 else table
        self.basis[:, :rank] = table.to(self.basis)
        if self._steps is not None:
            x = through(table)
            for t in range(self._steps):
                self.get_buffer(f"level{t}")[:, :rank] = x.to(self.basis)
                x = average.matmul(torch.cat([x, x]))
        return pairs.converged

    def _weighed(self, links: sparse.csr_array) -> sparse.csr_array:
        """Rows of N from rows of links."""
        known, added = self.array("sums"), self._regularization * float(self.array("sums").mean())
        own = np.repeat(links.sum(axis=1), np.diff(links.indptr))
        values = links.data / np.sqrt((own + added) * (known[links.indices] + added))
        return sparse.csr_array((values, links.indices, links.indptr), shape=links.shape)

    def _average(self, links: sparse.csr_array, like: Tensor) -> SparseRows:
        """P of m nodes, over the n known ones and then over themselves: m x (n + m)."""
        loop, m = float(self.loop), links.shape[0]
        whole = sparse.csr_array(sparse.hstack([links, loop * sparse.eye_array(m)], format="csr"))
        sums = links.sum(axis=1) + loop
        whole.data = whole.data / np.repeat(sums, np.diff(whole.indptr))
        return SparseRows.from_scipy(whole, dtype=like.dtype, device=like.device)

    def _beside(self, links: sparse.csr_array, block: Block, like: Tensor) -> Callable[[Tensor], Tensor]:
        """x ↦ [N | γ X] x."""
        rows = SparseRows.from_scipy(self._weighed(links), dtype=like.dtype, device=like.device)
        through = self._attributes(block, like)
        return lambda x: rows.matmul(x[: self._n].contiguous()) + float(self.unit) * through(x[self._n :])

    def _attributes(self, block: Block, like: Tensor, *, back: bool = False) -> Callable[[Tensor], Tensor]:
        """x ↦ X x, or Xᵀ x, missing values being their means: those are a sum for each column of attributes."""
        missing = torch.from_numpy((~block.known).astype(np.float32)).to(like)
        means, column = self.means.to(like)[:, None], torch.from_numpy(self._column).to(like.device)
        if isinstance(block.values, np.ndarray):
            x = torch.tensor(block.values, dtype=like.dtype, device=like.device)
            products: tuple[Any, Any] = x.matmul, x.t().matmul
        else:
            rows = SparseRows.from_scipy(block.values, dtype=like.dtype, device=like.device)
            products = rows.matmul, rows.transposed_matmul
        if back:
            return lambda v: products[1](v) + means * (missing.t() @ v)[column]

        def forth(v: Tensor) -> Tensor:
            sums = v.new_zeros(missing.shape[1], v.shape[1]).index_add_(0, column, means * v)
            product: Tensor = products[0](v.contiguous()) + missing @ sums
            return product

        return forth


class StepBlocks(Tables):
    """GraRep's vectors (n x d): a block of columns for each number of steps k, the SVD's U √Σ of Xᵏ, at length 1.

    Xᵏ is `step_information`. A node without links has the mean of the others.
    """

    vectors: Tensor

    def __init__(self, n: int, dim: int):
        super().__init__({"vectors": ((n, dim), torch.float32)})

    def solve(self, links: sparse.csr_array, steps: int, settings: Settings) -> None:
        """Compute all blocks, their columns shared out evenly, by so many rounds of a randomised SVD as ProNE's."""
        n, dim = self.vectors.shape
        bounds = np.linspace(0, dim, min(steps, dim) + 1).round().astype(int)
        linked = torch.from_numpy(np.diff(links.indptr) > 0).to(self.vectors.device)
        for k, (first, last) in enumerate(itertools.pairwise(bounds), 1):
            matrix = sparse.csr_array(step_information(links, k).T)  # whose right singular vectors are U
            matrix.sort_indices()
            dtype = torch.float64 if n <= _EXACT else torch.float32
            rows = SparseRows.from_scipy(matrix, dtype=dtype, device=self.vectors.device)
            values, left = truncated_svd(rows, min(n, last - first), settings.generator, rounds=_SVD_ROUNDS)
            block = functional.normalize(left * (signs(left) * values.sqrt()), dim=1).to(self.vectors)
            block[~linked] = block[linked].mean(0)
            self.vectors[:, first : first + block.shape[1]] = block


def _data(values: Any) -> Any:
    return values if isinstance(values, np.ndarray) else values.data


def walk_information(links: sparse.csr_array, window: int) -> sparse.csr_array:
    """NetMF's matrix: log max(1, vol / T Σ_{r=1..T} (D⁻¹A)^r D⁻¹) of a graph with symmetric links A: n x n, sparse.

    How much likelier a walk is at j within T steps of i than by chance: the positive pointwise mutual information of
    what walks see together.
    """
    sums = np.asarray(links.sum(axis=1), np.float64)
    return _positive_logs(links, window, sums.sum() / window, sums, together=True)


def step_information(links: sparse.csr_array, steps: int) -> sparse.csr_array:
    """GraRep's matrix: log max(1, n P_ij / Σ_l P_lj) of P = (D⁻¹A)^steps: n x n, sparse.

    How much likelier a walk is at j after so many steps from i than from any node.
    """
    sums = np.asarray(links.sum(axis=1), np.float64)
    walk, reached = _walk(links, sums), np.ones(links.shape[0])
    for _ in range(steps):
        reached = np.asarray(walk.T @ reached)
    return _positive_logs(links, steps, float(links.shape[0]), reached, together=False)


def _walk(links: sparse.csr_array, sums: npt.NDArray[np.float64]) -> sparse.csr_array:
    return sparse.csr_array(sparse.diags_array(1 / np.where(sums > 0, sums, 1)) @ links)


def _positive_logs(
    links: sparse.csr_array, window: int, top: float, chances: npt.NDArray[np.float64], *, together: bool
) -> sparse.csr_array:
    """log max(1, top p_ij / chance_j), p_ij being where walks are after so many steps or (`together`) after each, added
    up: n x n. Made some rows at a time; entries of 0 are not kept."""
    walk, safe = _walk(links, np.asarray(links.sum(axis=1), np.float64)), np.where(chances > 0, chances, 1)
    n, blocks, held = links.shape[0], [], 0
    for part in parts(n, max(1, _BLOCK // max(n, 1))):
        seen = step = walk[part]
        for _ in range(window - 1):
            step = step @ walk
            seen = seen + step if together else step
        values = seen.data * top / safe[seen.indices]
        kept = sparse.csr_array((np.log(np.maximum(values, 1)), seen.indices, seen.indptr), shape=seen.shape)
        kept.eliminate_zeros()
        held += kept.nnz
        if held > _MOST_ENTRIES:
            raise InputError(
                f"window={window} makes more than {_MOST_ENTRIES:,} pairs of nodes that walks see together; give fewer"
            )
        blocks.append(kept)
    whole = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    whole.sort_indices()
    return whole


def _factors(values: Tensor, power: float) -> Tensor:
    """|λ|^power / λ, and 0 where λ is 0 but for rounding."""
    small = values.abs() <= 1e-6 * values.abs().max()
    safe = torch.where(small, torch.ones_like(values), values)
    return torch.where(small, torch.zeros_like(values), safe.abs().pow(power) / safe)


def own_share(sums: Tensor, loop: float) -> Tensor:
    """The part of a node itself in an average over it and its neighbors, a loop having this weight: n x 1, float32.

    It is 0 for a node without links.
    """
    return torch.where(sums > 0, loop / (sums + loop), 0.0).float()[:, None]


def centered(x: Tensor, shift: Tensor) -> Tensor:
    """Vectors around a mean, at length 1."""
    return functional.normalize(x - shift, dim=1)


def whitening(moments: Tensor) -> Tensor:
    """W (d x d) such that the columns of x W are uncorrelated and alike in size, from xᵀx / m: d x d."""
    values, turn = torch.linalg.eigh(moments)
    safe = values > 1e-9 * values[-1]  # what is below is rounding
    scale = torch.where(safe, values.clamp(min=1e-30).rsqrt(), torch.zeros_like(values))
    turned: Tensor = (turn * scale).flip(1)
    return turned


def _gram(x: Tensor) -> Tensor:
    """xᵀx in float64, part by part."""
    total = torch.zeros(x.shape[1], x.shape[1], dtype=torch.float64, device=x.device)
    for start in range(0, len(x), _CHUNK):
        part = x[start : start + _CHUNK].double()
        total += part.T @ part
    return total


def _half_whitening(x: Tensor) -> Tensor:
    """W (d x d) with x W = U √S of x = U S Vᵀ."""
    squares, turn = torch.linalg.eigh(_gram(x))
    safe = squares > 1e-12 * squares[-1]
    scale = torch.where(safe, squares.clamp(min=1e-300).pow(-0.25), torch.zeros_like(squares))
    half: Tensor = (turn * scale).flip(1).to(x)
    return half


def _log_matrix(links: sparse.csr_array) -> sparse.csr_array:
    """ProNE's: log(p_ij / q_j) at the links, p_ij = a_ij / Σ_j a_ij and q_j ∝ (Σ_i p_ij)^¾: n x n."""
    own = np.repeat(links.sum(axis=1), np.diff(links.indptr))
    walk = links.data / own
    parts = np.bincount(links.indices, walk, minlength=links.shape[1]) ** _NEGATIVES
    logs = np.log(walk) - np.log(parts[links.indices] / parts.sum())
    return sparse.csr_array((logs, links.indices, links.indptr), shape=links.shape)


def _gaussian(walk: SparseRows, sums: Tensor, loop: float, x: Tensor) -> Tensor:
    """ProNE's filter of x (n x d): Σ_k (-1)^k c_k I_k(θ) T_k(½ M² - 1) x with M = L - μ and c_0 = 1, else 2.

    L = 1 - (D + w)⁻¹(A + w) is the Laplacian of the walk with a self-loop of weight w at every node, I_k are Bessel
    functions.
    """
    from scipy.special import iv

    sums = sums.squeeze(1)
    scale = (sums / (sums + loop)).repeat_interleave(walk.crow.diff())
    near, own = walk.with_values(walk.values * scale.to(walk.values)), ((1 - _MU) - loop / (sums + loop))[:, None]

    def shifted(y: Tensor) -> Iterator[tuple[slice, Tensor]]:  # M y = (1 - μ - w / (D + w)) y - A y / (D + w)
        for part, average in near.matmul_parts(y):
            yield part, torch.addcmul(average.neg_(), own[part], y[part], out=average)

    before, now, once = torch.empty_like(x), x.clone(), torch.empty_like(x)
    total = float(iv(0, _THETA)) * x
    for k in range(1, _ORDER):  # T_1 = ½ M² x - x, and then T_k = M² T_k-1 - 2 T_k-1 - T_k-2, in the place of T_k-2
        for part, image in shifted(now):
            once[part] = image
        for part, image in shifted(once):
            if k == 1:
                image.mul_(0.5).sub_(now[part])
            else:
                image.sub_(now[part], alpha=2).sub_(before[part])
            before[part] = image
            total[part].add_(image, alpha=(-1) ** k * 2 * float(iv(k, _THETA)))
        before, now = now, before
    return total
