"""Linear algebra over tensors: conjugate gradients, subspace iteration for singular and eigenvectors, regressions.

`leading_eigenpairs` goes on until its residuals say that it has converged; `truncated_svd` and `leading_eigenvectors`
go a fixed number of rounds, which is enough for where training begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from netfold.data.checks import unique_values
from netfold.learn.draws import TABLE, normal
from netfold.learn.sparse_rows import PIECE, SparseRows, cached_parts

__all__ = [
    "ColumnBlocks",
    "Eigenpairs",
    "conjugate_gradients",
    "descended",
    "leading_eigenpairs",
    "leading_eigenvectors",
    "logistic_regression",
    "normals",
    "orthonormal",
    "ridge_columns",
    "signs",
    "truncated_svd",
]

_RESIDUAL = {torch.float32: 1e-6, torch.float64: 1e-13}
"""The residual at which a solution is one, in units of the solution and as a share of its largest number."""
_LARGE = 100_000
"""Rows, above which half of the work of orthonormalising is saved where that makes no difference."""
_STEPS = 100
"""Of conjugate gradients; where M is well conditioned, 4 to 20 are the rule."""


def conjugate_gradients(
    product: Callable[[Tensor], Tensor], right: Tensor, diagonal: Tensor, *, steps: int = _STEPS
) -> tuple[Tensor, bool]:
    """x with M x = right, column by column, M being known by its product and its diagonal; and whether it is found.

    The diagonal is the preconditioner, and the start x = right / diagonal is the answer already where M has no more.
    """
    x = right / diagonal
    if len(right) < 2:
        return x, True
    limit = _RESIDUAL[right.dtype] * x.abs().amax(dim=0)
    rest = right - product(x)
    step = ahead = rest / diagonal
    energy = (rest * ahead).sum(0)
    for _ in range(steps):
        if bool((ahead.abs().amax(dim=0) <= limit).all()):
            return x, True
        through = product(step)
        length = energy / (step * through).sum(0).clamp(min=torch.finfo(x.dtype).tiny)
        x = x + length * step
        rest = rest - length * through
        ahead = rest / diagonal
        before, energy = energy, (rest * ahead).sum(0)
        step = ahead + energy / before.clamp(min=torch.finfo(x.dtype).tiny) * step
    return x, bool((ahead.abs().amax(dim=0) <= limit).all())


def truncated_svd(rows: SparseRows, rank: int, generator: torch.Generator, *, rounds: int = 4) -> tuple[Tensor, Tensor]:
    """The largest singular values s (rank) and right singular vectors V (n x rank) of sparse rows X.

    Randomised subspace iteration (Halko, Martinsson, Tropp 2011): O(rounds (nnz + n rank) rank), never X in full.
    """
    wide = min(rank + 10, len(rows), rows.width)
    start = normal((rows.width, wide), generator, rows.values.device, few=TABLE).to(rows.values.dtype)
    basis = _subspace(lambda x: rows.transposed_matmul(rows.matmul(x)), start, rounds)
    product = rows.matmul(basis)
    squares, v = torch.linalg.eigh((product.T @ product).double().cpu())  # small: V, and squared values
    order = torch.argsort(squares, descending=True)[:rank]
    return squares[order].clamp(min=0).sqrt().to(basis), basis @ v[:, order].to(basis)


def leading_eigenvectors(
    rows: SparseRows, rank: int, generator: torch.Generator, *, without: Tensor, rounds: int = 6
) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues (rank) of a symmetric matrix X of norm 1 and their vectors (n x rank).

    Those of X - u uᵀ for the unit eigenvector u given as `without`, whose value is 1. Subspace iteration with X + X²,
    which holds negative values down, in O(rounds (nnz + n rank) rank).
    """
    wide = min(rank + 10, len(rows))
    start = normal((len(rows), wide), generator, rows.values.device, few=TABLE).to(rows.values.dtype)

    def times(x: Tensor) -> Tensor:
        return rows.matmul(x) - torch.outer(without, without @ x)

    def twice(x: Tensor) -> Tensor:
        once = times(x)
        return once + times(once)

    basis = _subspace(twice, start, rounds)
    small = (basis.T @ times(basis)).double().cpu()
    values, turn = torch.linalg.eigh((small + small.T) / 2)
    order = torch.argsort(values, descending=True)[:rank]
    return values[order].to(basis), basis @ turn[:, order].to(basis)


def _subspace(product: Callable[[Tensor], Tensor], start: Tensor, rounds: int) -> Tensor:
    """An orthonormal basis, near that of the leading eigenvectors: of `start`, and again after each product.

    Of many rows, what lies between is only to keep its columns apart, and is nearly orthonormal.
    """
    between = 1 if len(start) > _LARGE else 2
    basis = orthonormal(start, passes=between)
    for k in range(rounds):
        basis = orthonormal(product(basis), passes=between if k < rounds - 1 else 2)
    return basis


def orthonormal(x: Tensor, *, passes: int = 2) -> Tensor:
    """An orthonormal basis of the columns: by two Cholesky factors of small Gram matrices, or by QR where those fail.

    Several times faster than QR for long columns, and as exact where they are not nearly dependent; nearly orthonormal
    after one pass of the two. Long columns are worked on in place.
    """
    for _ in range(passes):
        factor, failed = torch.linalg.cholesky_ex((x.T @ x).double())
        if failed or factor.diagonal().min() < 1e-4 * factor.diagonal().max():
            basis: Tensor = torch.linalg.qr(x).Q
            return basis
        turn = torch.linalg.inv(factor).T
        if len(x) > _LARGE:
            _turn(x, turn)
        else:
            x = x @ turn.to(x)
    return x


def normals(shape: tuple[int, int], generator: torch.Generator, like: Tensor) -> Tensor:
    """Numbers of mean 0 and variance 1 of a tensor's type, where it is: many of them on a GPU are drawn there."""
    if like.is_cuda:
        return normal(shape, generator, like.device, few=TABLE).to(like.dtype)
    return torch.randn(shape, generator=generator, dtype=like.dtype)


class ColumnBlocks:
    """Blocks of columns of length n, as one process has them: all of their rows.

    What a solver asks of them beside products by its matrix. Where the rows are spread over processes, a subclass adds
    up what each has (`netfold.cluster.network`).
    """

    def __init__(self, n: int, generator: torch.Generator | None, like: Tensor):
        """`like` says the type and the device of the numbers."""
        self.n, self._generator, self.like = n, generator, like

    @property
    def rows(self) -> int:
        """How many of the n rows are here."""
        return self.n

    def inner(self, x: Tensor, y: Tensor) -> Tensor:
        """xᵀ y."""
        return x.T @ y

    def lengths(self, x: Tensor) -> Tensor:
        """That of each column."""
        squares = x.new_zeros(x.shape[1], dtype=torch.float64)
        for part in cached_parts(x, max(1, x.shape[1])):
            squares += x[part].square().sum(0)
        return squares.sqrt().to(x)

    def qr(self, x: Tensor) -> Tensor:
        """An orthonormal basis, however near the columns are to depend on each other."""
        basis: Tensor = torch.linalg.qr(x).Q
        return basis

    def random(self, width: int) -> Tensor:
        """So many random columns, other ones each time."""
        assert self._generator is not None
        return normals((self.n, width), self._generator, self.like)

    def largest(self, x: Tensor) -> Tensor:
        """Of each column the entry that is largest in absolute value."""
        least, most = x.aminmax(dim=0)
        largest = torch.where(-least > most, least, most)
        if bool((-least == most).any()):  # the first of the two
            both = -least == most
            largest[both] = x[:, both].gather(0, x[:, both].abs().argmax(dim=0, keepdim=True))[0]
        return largest

    def identity(self) -> Tensor:
        """The rows here of the identity matrix, n x n: for small n."""
        return torch.eye(self.n, dtype=self.like.dtype, device=self.like.device)

    def whole(self, x: Tensor) -> Tensor:
        """All n rows of a block: for small n."""
        return x

    def own(self, x: Tensor) -> Tensor:
        """Of all n rows those that are here."""
        return x


# -------------------------------------------------------------------- eigenvectors that have converged

_EXACT = 1000
"""Up to so many rows a symmetric matrix is written down and taken apart in float64."""
_GAIN = 1e6
"""How much more a filter may raise the first vector than the last: in float32 the rounding of the first must not
drown the others."""
_DEGREE = 24
"""Of a filter, at most: so many products between two orthonormalisations."""
_SMALL = 1e-3
"""Eigenvalues below this share of the largest count as this large where residuals are compared with them."""
_LANCZOS = 12
"""Steps of one vector that bound the spectrum."""
_REGROWTH = 1e4
"""How much a filter may raise what rounding leaves of vectors that are locked, before it is taken away again."""


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues of a symmetric matrix, the largest in absolute value first, and their unit vectors as columns."""

    values: Tensor
    """rank, float64."""
    vectors: Tensor
    """n x rank; of each column, the entry that is largest in absolute value is positive."""
    residuals: list[float]
    """After each round the largest |X u - λ u|, as a share of the least |λ|; none where X was taken apart exactly."""
    converged: bool
    """Whether the last of them is below the tolerance."""


def leading_eigenpairs(
    matrix: Callable[[Tensor], Tensor] | SparseRows,
    n: int,
    rank: int,
    generator: torch.Generator | None,
    *,
    tolerance: float = 1e-2,
    rounds: int = 100,
    upper: bool = False,
    like: Tensor | None = None,
    columns: ColumnBlocks | None = None,
    report: Callable[[int, float], object] = lambda round, residual: None,
) -> Eigenpairs:
    """The `rank` eigenvalues of a symmetric n x n matrix X that are largest in absolute value, and their vectors.

    X is known by its product with a block of columns (n x h), or by its rows: their products are made a few at a time,
    each worked on while it is in the cache. With `upper` they are the largest themselves. A round
    filters a block of columns for each end of the spectrum by a Chebyshev polynomial that is small on all that is not
    asked for (Zhou, Saad, Tiago, Chelikowsky 2006), orthonormalises it, and takes the best vectors in it (Rayleigh and
    Ritz); those whose residual is below the tolerance, a share of the least eigenvalue that is asked for, are left
    alone from then on. Ends when all are, or after so many `rounds`; O(rounds (degree nnz + n rank) rank). Up to 1,000
    rows X is written down and taken apart exactly.

    Two ends, as a block that is asked for both mixes u and v of values λ and -λ, which no product tells apart. `like`
    says the type and the device of the numbers: float32 on the CPU unless given. With `columns` the product is of the
    rows that are here, and so are the vectors; random numbers are theirs.
    """
    columns = columns or ColumnBlocks(n, generator, torch.empty(0) if like is None else like)
    rank, product = min(rank, n), matrix.matmul if isinstance(matrix, SparseRows) else matrix
    if n <= max(_EXACT, 2 * rank):
        return _exact(product, columns, rank, upper)
    bounds = _bounds(product, columns)
    ends = [_End(matrix, columns, sign, bounds) for sign in ((1,) if upper else (1, -1))]
    for end, other in zip(ends, reversed(ends), strict=True):
        end.other = other if other is not end else None
        end.widen(math.ceil(rank / len(ends)), rank)
    residuals: list[float] = []
    while not residuals or (residuals[-1] > tolerance and len(residuals) < rounds):
        for end in ends:
            end.filter()
            end.rotate()
        wanted, least = _wanted(ends, rank, upper)
        least = max(least, _SMALL * max(float(end.values[0]) for end in ends))
        residuals.append(max(end.lock(many, tolerance, least) for end, many in zip(ends, wanted, strict=True)))
        report(len(residuals), residuals[-1])
        for end, many in zip(ends, wanted, strict=True):
            end.widen(many, rank)
    values = torch.cat([end.sign * end.values for end in ends])
    vectors = torch.cat([end.vectors for end in ends], dim=1)
    order = torch.argsort(values if upper else values.abs(), descending=True)[:rank]
    signed = _signed(vectors[:, order.to(vectors.device)], columns)
    return Eigenpairs(values[order].cpu(), signed, residuals, residuals[-1] <= tolerance)


def _wanted(ends: list[_End], rank: int, upper: bool) -> tuple[list[int], float]:
    """How many of the leading eigenvalues belong to each end, as far as is known, and the least of them."""
    if upper:
        return [rank], float(ends[0].values[:rank][-1])
    values, order = torch.cat([end.values for end in ends]).sort(descending=True)
    first = int((order[:rank] < len(ends[0].values)).sum())
    return [first, rank - first], float(values[:rank][-1])


class _End:
    """One end of the spectrum: of sign X, the largest values, those that have converged and the block that has not."""

    def __init__(
        self,
        matrix: Callable[[Tensor], Tensor] | SparseRows,
        columns: ColumnBlocks,
        sign: int,
        bounds: tuple[float, float],
    ):
        self.sign, self._columns = sign, columns
        self.other: _End | None = None
        self._matrix, self._floor = matrix, bounds[0] if sign > 0 else -bounds[1]
        none = columns.like.new_empty(columns.rows, 0)
        self._locked, self._block = none, none
        self._fixed = self._ritz = torch.empty(0, dtype=torch.float64)
        self._residuals = torch.empty(0, dtype=torch.float64)

    @property
    def values(self) -> Tensor:
        """Of sign X, the largest first."""
        return torch.cat([self._fixed, self._ritz])

    @property
    def vectors(self) -> Tensor:
        """Of these values: n x as many."""
        return torch.cat([self._locked, self._block[:, : len(self._ritz)]], dim=1)

    def widen(self, wanted: int, rank: int) -> None:
        """Have a third more columns than are asked for, at least 16: random ones are added, the last ones dropped."""
        n, have = self._columns.n, self._block.shape[1]
        width = max(0, wanted - self._locked.shape[1]) + max(16, rank // 3)
        width = min(width, n - self._locked.shape[1])
        if width < have:
            self._block, self._ritz = self._block[:, :width], self._ritz[:width]
            self._residuals = self._residuals[:width]
        elif width > have:
            random = self._columns.random(width - have) / n**0.5
            self._take_away(random)
            self._block = torch.cat([self._block, random], dim=1)

    def filter(self) -> None:
        """Raise what belongs to the largest values, and orthonormalise the block against itself and what is locked.

        With z = (2 / half) (sign X - middle), Chebyshev's polynomials of z / 2: y_1 = z y_0 / 2, y_k+1 = z y_k - y_k-1,
        which takes the place of y_k-1. What is locked, and so not there at first, grows from rounding: it is taken away
        before that matters.
        """
        if not self._block.shape[1]:
            return
        before = self._block.contiguous()
        y = torch.empty_like(before)
        if not len(self._ritz):
            for part, image in self._images(before):
                y[part] = image
        else:
            floor = self._lowest()
            first, last = float(self._ritz[0]), float(self._ritz[-1])
            last = max(min(last, first - 1e-3 * (first - floor)), floor + 1e-3 * (first - floor))
            middle, half = (last + floor) / 2, max((last - floor) / 2, 1e-30)
            degree = int(min(_DEGREE, math.acosh(_GAIN) / math.acosh((first - middle) / half)))
            for part, image in self._images(before):
                y[part] = image.mul_(self.sign / half).sub_(before[part], alpha=middle / half)
            every = self._steps_apart(middle, half)
            for step in range(1, max(1, degree)):
                for part, image in self._images(y):
                    image.mul_(2 * self.sign / half).sub_(y[part], alpha=2 * middle / half)
                    torch.sub(image, before[part], out=before[part])
                before, y = y, before
                if step % every == 0:
                    self._take_away(before)
                    self._take_away(y)
        self._block = self._orthonormal(y)

    def _images(self, x: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """X x, some rows at a time, in tensors that may be written to."""
        if isinstance(self._matrix, SparseRows):
            yield from self._matrix.matmul_parts(x)
        else:
            image = self._matrix(x)
            for part in cached_parts(image, image.shape[1]):
                yield part, image[part]

    def _take_away(self, x: Tensor) -> None:
        """What is locked, at either end, from the columns of x, in place."""
        for end in (self, self.other):
            if end is not None and end._locked.shape[1]:
                x.addmm_(end._locked, self._columns.inner(end._locked, x), alpha=-1)

    def _steps_apart(self, middle: float, half: float) -> int:
        """After how many steps of a filter what is locked may have grown to where it is to be taken away again."""
        values = [end.sign * self.sign * end._fixed for end in (self, self.other) if end is not None]
        furthest = float((torch.cat(values) - middle).abs().max()) / half if sum(map(len, values)) else 0.0
        return max(1, int(math.log(_REGROWTH) / math.acosh(furthest))) if furthest > 1 + 1e-6 else _DEGREE

    def _orthonormal(self, x: Tensor) -> Tensor:
        """A basis of the columns without what is locked, nearly orthonormal: `rotate` does the rest."""
        for _ in range(2):
            self._take_away(x)
            gram = self._columns.inner(x, x).double()
            lengths = gram.diagonal().clamp(min=1e-60).sqrt()
            factor, failed = torch.linalg.cholesky_ex(gram / torch.outer(lengths, lengths))
            if bool(failed) or float(factor.diagonal().min()) < 1e-3:
                x = self._columns.qr(x / lengths.to(x))
                continue
            _turn(x, torch.linalg.inv(factor).T / lengths[:, None])
            if float(factor.diagonal().min()) > 0.03 and not self._has_locked:
                break
        return x

    @property
    def _has_locked(self) -> bool:
        return any(end is not None and end._locked.shape[1] > 0 for end in (self, self.other))

    def rotate(self) -> None:
        """Take the best vectors of the block, by Rayleigh and Ritz, and their residuals.

        The block is orthonormal but for rounding, G = BᵀB: those of Bᵀ X B v = λ G v.
        """
        if not self._block.shape[1]:
            return
        block, image = self._block, torch.empty_like(self._block)
        for part, some in self._images(block):
            image[part] = some
        small, gram = self.sign * self._columns.inner(block, image).double(), self._columns.inner(block, block).double()
        undone = torch.linalg.inv(torch.linalg.cholesky(gram))
        values, turn = torch.linalg.eigh(undone @ ((small + small.T) / 2) @ undone.T)
        values, turn = values.flip(0), (undone.T @ turn).flip(1)
        _turn(block, turn)
        _turn(image, self.sign * turn)
        for part in cached_parts(image, image.shape[1]):
            image[part].addcmul_(block[part], values.to(image), value=-1)
        self._ritz, self._residuals = values.cpu(), self._columns.lengths(image).double().cpu()

    def lock(self, wanted: int, tolerance: float, least: float) -> float:
        """Leave alone what has converged from the first on; the largest residual of what is asked for and has not.

        The next one is asked for as well while its residual leaves it open whether it belongs above the `least`.
        """
        many = max(0, wanted - self._locked.shape[1])
        above = self._ritz[many : many + 1] + self._residuals[many : many + 1] > least
        rest = self._residuals[: many + int(above.sum())] / least
        open_ones = torch.nonzero(rest > tolerance)
        many = int(open_ones[0]) if len(open_ones) else len(rest)
        self._locked = torch.cat([self._locked, self._block[:, :many]], dim=1)
        self._fixed = torch.cat([self._fixed, self._ritz[:many]])
        self._block, self._ritz = self._block[:, many:], self._ritz[many:]
        self._residuals = self._residuals[many:]
        return float(rest.max()) if len(rest) else 0.0

    def _lowest(self) -> float:
        """Below what is left of the spectrum, once the other end's first vectors are locked and taken away."""
        if self.other is None or not len(self.other._fixed) or not len(self.other._ritz):
            return self._floor
        return max(self._floor, -1.1 * min(float(self.other._fixed[-1]), float(self.other._ritz[0]) * 1.1))


def _bounds(product: Callable[[Tensor], Tensor], columns: ColumnBlocks) -> tuple[float, float]:
    """Numbers below and above all eigenvalues, or nearly: by a few steps of Lanczos and what they leave."""
    v = columns.random(1)
    basis, left = [v / columns.lengths(v)], 0.0
    for _ in range(_LANCZOS):
        image = product(basis[-1])
        for _ in range(2):
            for b in basis:
                image = image - b * columns.inner(b, image)
        left = float(columns.lengths(image))
        if left < 1e-6 or len(basis) == _LANCZOS:
            break
        basis.append(image / left)
    block = torch.cat(basis, dim=1)
    values = torch.linalg.eigvalsh(columns.inner(block, product(block)).double())
    return float(values[0]) - left, float(values[-1]) + left


def _exact(product: Callable[[Tensor], Tensor], columns: ColumnBlocks, rank: int, upper: bool) -> Eigenpairs:
    matrix = columns.whole(product(columns.identity())).double()
    values, vectors = torch.linalg.eigh((matrix + matrix.T) / 2)
    order = torch.argsort(values if upper else values.abs(), descending=True, stable=True)[:rank]
    own = columns.own(vectors[:, order].to(columns.like))
    return Eigenpairs(values[order].cpu(), _signed(own, columns), [], True)


def _turn(x: Tensor, turn: Tensor) -> None:
    """x = x @ turn, in place."""
    turn = turn.to(x)
    for part in cached_parts(x, x.shape[1]):
        x[part] = x[part] @ turn


def signs(vectors: Tensor, columns: ColumnBlocks | None = None) -> Tensor:
    """1 or -1 for each column (h): that of its entry that is largest in absolute value."""
    largest = (columns or ColumnBlocks(len(vectors), None, vectors)).largest(vectors)
    return torch.where(largest < 0, -1.0, 1.0).to(vectors)


def _signed(vectors: Tensor, columns: ColumnBlocks) -> Tensor:
    return vectors * signs(vectors, columns)


def descended(gradient: Callable[[Tensor], Tensor], start: Tensor, reach: float, *, steps: int = 40) -> Tensor:
    """Where Adam is after so many steps from a start, each row (m x d) for itself: a problem for each.

    `reach` is about how far numbers have to go; a step is a tenth of that at first, and the last ones are nothing.
    """
    x, mean, square = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
    for t in range(steps):
        slope = gradient(x)
        mean.mul_(0.9).add_(slope, alpha=0.1)
        square.mul_(0.999).addcmul_(slope, slope, value=0.001)
        lr = 0.05 * reach * (1 + math.cos(math.pi * t / steps)) / (1 - 0.9 ** (t + 1))
        x.sub_(lr * mean / (square / (1 - 0.999 ** (t + 1))).sqrt().add_(1e-12))
    return x


# -------------------------------------------------------------------- regressions
_NEWTON = 50
"""Steps of Newton's method, at most; some ten are usual."""


def logistic_regression(x: Tensor, truth: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """The w (d) and b of least Σ log(1 + e^-s(x_i · w + b)) + ridge/2 ‖w‖², s = ±1 by truth (m): Newton, in float64.

    A step is halved until it lowers the objective, which is convex. O(m d²) a step; both truths must occur.
    """
    wide = torch.cat([x.double(), x.new_ones(len(x), 1, dtype=torch.float64)], dim=1)
    y, penalty = truth.double(), torch.full((wide.shape[1],), ridge, dtype=torch.float64, device=x.device)
    penalty[-1] = 0

    def objective(w: Tensor) -> Tensor:
        logits = wide @ w
        return functional.binary_cross_entropy_with_logits(logits, y, reduction="sum") + (penalty * w * w).sum() / 2

    w = torch.zeros_like(penalty)
    w[-1] = torch.logit(y.mean())
    value = objective(w)
    for _ in range(_NEWTON):
        chance = torch.sigmoid(wide @ w)
        slope = wide.t() @ (chance - y) + penalty * w
        curve = (wide * (chance * (1 - chance))[:, None]).t() @ wide
        curve.diagonal().add_(penalty + 1e-9 * curve.diagonal().mean())  # where columns are copies of others
        step = torch.linalg.solve(curve, slope)
        size = 1.0
        while size > 1e-6 and not objective(w - size * step) <= value:
            size /= 2
        w = w - size * step if size > 1e-6 else w
        before, value = value, objective(w)
        if not before - value > 1e-12 * before:
            break
    return w[:-1].to(x.dtype), w[-1].to(x.dtype)


def ridge_columns(hidden: Tensor, columns: sparse.csc_array, beta: float, ridge: float) -> tuple[Tensor, Tensor]:
    """The table W (n x h) and bias b (n) that ‖(H Wᵀ + b - X) ⊙ B‖² + ridge ‖W‖² is least for; B is beta at non-zeros.

    `hidden` is H (m x h), `columns` X (m x n, sorted). With H̃ = [H, 1], column j solves
    (G + (beta² - 1) H̃_jᵀ H̃_j) w̃_j = beta² H̃_jᵀ x_j, where H̃_j are the d rows of its non-zeros and G = H̃ᵀH̃ + ridge is
    shared by all. Where d < h it does by Woodbury's identity, with P = H̃ G⁻¹:
    w̃_j = beta² P_jᵀ (I + (beta² - 1) P_j H̃_jᵀ)⁻¹ x_j.
    O(m h² + Σ_j min(d_j, h)² (d_j + h)); columns of one d are solved together.
    """
    wide = torch.cat([hidden, hidden.new_ones(len(hidden), 1)], dim=1)
    width, more = wide.shape[1], beta**2 - 1
    exact = wide.double()
    gram = exact.t() @ exact
    least = 1e-9 * float(gram.diagonal().mean())  # where hidden units are copies of others
    gram.diagonal().add_(torch.tensor([ridge + least] * (width - 1) + [least], dtype=gram.dtype, device=gram.device))
    through = torch.cholesky_solve(exact.t(), torch.linalg.cholesky(gram)).t().to(hidden.dtype)
    out, degrees = hidden.new_zeros(columns.shape[1], width), np.diff(columns.indptr)
    for d in unique_values(degrees[degrees > 0]).tolist():
        mine = np.flatnonzero(degrees == d)
        for part in np.array_split(mine, math.ceil(len(mine) * max(d, width) * width / PIECE[hidden.device.type])):
            entries = columns.indptr[part][:, None] + np.arange(d)
            at = torch.from_numpy(columns.indices[entries].astype(np.int64)).to(hidden.device)
            x = torch.from_numpy(columns.data[entries]).to(hidden)[:, :, None]
            h = wide[at]
            if d < width:
                p = through[at]
                system = torch.bmm(p, h.transpose(1, 2)).mul_(more)
                system.diagonal(dim1=1, dim2=2).add_(1)
                solution = torch.bmm(p.transpose(1, 2), torch.linalg.solve(system, x))
            else:
                system = torch.bmm(h.transpose(1, 2), h).double().mul_(more).add_(gram)
                solution = torch.linalg.solve(system, torch.bmm(h.transpose(1, 2), x).double()).to(hidden.dtype)
            out[torch.from_numpy(part).to(hidden.device)] = beta**2 * solution[:, :, 0]
    return out[:, :-1], out[:, -1]
