"""How new nodes are placed: by the encoder, by the objective with its parameters held fixed, or as a mean of neighbors.

No rule is right for all graphs: where neighbors are alike their mean is best, where hubs hold the graph together it is
the worst. So `fit` hides some links of known nodes, places these as if they were new, and takes what agrees best with
the vectors that they have. No classes are needed for it.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from netfold.embedder.attributes import taken
from netfold.embedder.problem import over_known

if TYPE_CHECKING:
    from scipy import sparse

    from netfold.data.embedding import Embedding
    from netfold.data.scaling import Block
    from netfold.embedder.embedder import Embedder

__all__ = [
    "HOW",
    "ROUNDS",
    "KnownLinks",
    "Placing",
    "chosen_placing",
    "length_ratio",
    "mean_of_neighbors",
    "propagated",
    "reached_by_paths",
]

_Reals = npt.NDArray[np.floating[Any]]

HOW = ("encode", "refine", "mean")
"""The ways to place a new node."""

_SAMPLE, _DROPPED = 256, 0.3
"""Known nodes that are placed as if they were new, and the share of their links that is hidden from that."""
_FEWEST, _ENTRIES = 8, 4096
"""Known nodes with two links, to choose by, and about how many links these have at most: a choice is cheap."""
ROUNDS = 3
"""In which nodes that are placed together see where the others among them are."""
_SLACK = 1 / 3
"""By how much more than the least the disagreement may be."""


@dataclasses.dataclass(frozen=True, eq=False)
class KnownLinks:
    """The links that m nodes have with the n known ones."""

    out: sparse.csr_array
    """m x n: the weights of those that leave; in an undirected graph of all."""
    into: sparse.csr_array | None
    """m x n: the weights of those that enter, where the graph is directed."""
    block: Block | None = None
    """What is known of the nodes beside their links, where the model reads it: m rows."""
    among: sparse.csr_array | None = None
    """m x k: the weights of links with those that are placed together with them (k = m, unless some were taken), in
    either direction, added up; None where there are none."""

    @staticmethod
    def of(
        adjacency: sparse.csr_array, rows: npt.NDArray[np.int64], known: Any, n: int, *, directed: bool
    ) -> KnownLinks:
        """Those of some rows of a later graph; `known` has each of its rows' positions among the known, or -1."""
        out = adjacency[rows]
        into = over_known(adjacency[:, rows].T, known, n) if directed else None
        return KnownLinks(over_known(out, known, n), into, among=_among(out, rows, known, directed=directed))

    @property
    def either(self) -> sparse.csr_array:
        """m x n: the weights of links in either direction, added up."""
        from scipy import sparse

        return self.out if self.into is None else sparse.csr_array(self.out + self.into)

    def thinned(self, share: float, rng: np.random.Generator) -> KnownLinks:
        """Without a random share of the links; each node keeps one link that leaves it, if it has any."""
        into = None if self.into is None else _thinned(self.into, share, rng)
        return KnownLinks(_thinned(self.out, share, rng), into, self.block)

    def take(self, rows: npt.NDArray[np.int64]) -> KnownLinks:
        """Those of some of the nodes, with known ones alone."""
        into = None if self.into is None else self.into[rows]
        return KnownLinks(self.out[rows], into, None if self.block is None else taken(self.block, rows))


def _among(
    out: sparse.csr_array, rows: npt.NDArray[np.int64], known: npt.NDArray[np.int64], *, directed: bool
) -> sparse.csr_array | None:
    """m x m: the weights of links among new ones of some rows, loops apart; those with known nodes are read as such."""
    from scipy import sparse

    new = np.flatnonzero(known[rows] < 0)
    if len(new) < 2:
        return None
    small = sparse.coo_array(out[:, rows])
    i, j = small.coords
    is_new = np.zeros(len(rows), bool)
    is_new[new] = True
    some = is_new[i] & is_new[j] & (i != j) & (small.data > 0)
    if not some.any():
        return None
    one = sparse.csr_array((small.data[some].astype(np.float64), (i[some], j[some])), shape=small.shape)
    return sparse.csr_array(one + one.T) if directed else one


def _thinned(matrix: sparse.csr_array, share: float, rng: np.random.Generator) -> sparse.csr_array:
    coins, lengths = rng.random(matrix.nnz), np.diff(matrix.indptr)
    row = np.repeat(np.arange(matrix.shape[0]), lengths)
    most = np.full(matrix.shape[0], -1.0)
    np.maximum.at(most, row, coins)
    stays = (coins >= share) | (coins == most[row])
    starts = np.append(0, np.cumsum(np.bincount(row[stays], minlength=matrix.shape[0])))
    from scipy import sparse

    return sparse.csr_array((matrix.data[stays], matrix.indices[stays], starts), shape=matrix.shape)


def mean_of_neighbors(
    links: sparse.csr_array, known: Embedding, beside: tuple[sparse.csr_array, npt.NDArray[np.float32]] | None = None
) -> npt.NDArray[np.float32]:
    """Σ_j w_ij c_j / Σ_j w_ij over the known neighbors j of each node, c_j the vector or [μ, σ]: m x d.

    Of Gaussians this is their barycenter in W2. Only the neighbors' vectors are read. `beside` are the links among the
    nodes (m x m) and what is placed of these so far (m x d), which count too.
    """
    near, column = np.unique(links.indices, return_inverse=True)
    from scipy import sparse

    few = sparse.csr_array((links.data.astype(np.float64), column, links.indptr), shape=(links.shape[0], len(near)))
    codes = known.vectors[near] if known.std is None else np.hstack([known.vectors[near], known.std[near]])
    sums, total = np.asarray(few @ np.ones(len(near))), np.asarray(few @ codes.astype(np.float64))
    if beside is not None:
        among, placed = beside
        sums, total = sums + np.asarray(among.sum(axis=1)), total + np.asarray(among @ placed.astype(np.float64))
    return (total / np.where(sums > 0, sums, 1)[:, None]).astype(np.float32)


_PRECISION = 1e-8
"""The residual, relative to the right side, at which propagation has converged."""


def reached_by_paths(to_known: sparse.csr_array, among: sparse.csr_array) -> npt.NDArray[np.bool_]:
    """Which of m nodes a path leads to from a known one, from their links with n known ones and with one another."""
    from scipy.sparse.csgraph import connected_components

    count, component = connected_components(among, directed=False)
    found: npt.NDArray[np.bool_] = np.bincount(component, np.diff(to_known.indptr) > 0, minlength=count)[component] > 0
    return found


def propagated(to_known: sparse.csr_array, among: sparse.csr_array, known: _Reals) -> npt.NDArray[np.float64]:
    """LabelProp: where propagation with known vectors held fast ends, each new node at the mean of all its neighbors.

    That is (D_nn - W_nn) X_n = W_nk X_k, D the sums of rows of W over new (n) and known (k) nodes, solved by conjugate
    gradients. All m nodes are reached by paths; their weights are m x n and m x m, and `known` n x d: m x d.
    """
    from scipy import sparse
    from scipy.sparse.linalg import cg

    degrees = np.asarray(among.sum(axis=1)) + np.asarray(to_known.sum(axis=1))
    scale = 1 / np.sqrt(degrees)  # D^-½ (D - W) D^-½ has a diagonal of ones, whatever the weights
    system = sparse.eye_array(len(scale)) - sparse.diags_array(scale) @ among @ sparse.diags_array(scale)
    right = scale[:, None] * (to_known @ known)
    vectors = np.empty((len(scale), known.shape[1]))
    for j in range(known.shape[1]):
        vectors[:, j] = scale * cg(sparse.csr_array(system), right[:, j], rtol=_PRECISION)[0]
    return vectors


@dataclasses.dataclass(frozen=True)
class Placing:
    """The way that was chosen for new nodes."""

    how: str = "encode"
    weight: float = 1.0
    """Of the first order in `refine`, in units of the fitted objective's."""
    scale: float = 1.0
    """By what vectors are lengthened from the known ones' mean, so that they are as long as those; 1 for `encode`."""
    agreement: dict[str, float] = dataclasses.field(default_factory=dict)
    """Of each way that was tried: the mean cosine, around the mean, with the vectors that held-back nodes have."""

    @staticmethod
    def from_facts(facts: Any) -> Placing:
        """What a file says, or the encoder where it says nothing; a TypeError where it cannot be."""
        if facts is None:
            return Placing()
        numbers = isinstance(facts, dict) and all(_is_length(facts.get(x)) for x in ("weight", "scale"))
        if not numbers or facts.get("how") not in HOW or not isinstance(facts.get("agreement"), dict):
            raise TypeError("its way to place new nodes is none of encode, refine, mean with a weight and a scale")
        tried = {str(x): float(y) for x, y in facts["agreement"].items() if isinstance(y, float)}
        return Placing(facts["how"], float(facts["weight"]), float(facts["scale"]), tried)


def _is_length(x: Any) -> bool:
    return type(x) in (int, float) and 0 <= x < math.inf


def chosen_placing(model: Embedder[Any], links: KnownLinks, weights: tuple[float, ...]) -> Placing:
    """The way that places known nodes, by some of their links, nearest to where they are; `links` are all of theirs.

    The encoder, where nothing agrees better. Else the heaviest first order, up to the mean of neighbors, whose
    disagreement (1 - cosine) is at most a third more than the least: a known node's row was trained on, which flatters
    what reads rows, and a new one's was not.
    """
    rng, known = np.random.default_rng([model.seed, 20]), model.embedding_
    several = np.flatnonzero(np.diff(links.out.indptr) > 1)
    if len(several) < _FEWEST:
        return Placing()
    count = max(_FEWEST, min(_SAMPLE, int(_ENTRIES * len(several) / np.diff(links.out.indptr)[several].sum())))
    rows = np.sort(rng.choice(several, min(count, len(several)), replace=False))
    whole = links.take(rows)
    some, center = whole.thinned(_DROPPED, rng), model.embedding_.center
    away = known.vectors[rows] - center
    ways = [Placing("encode"), *(Placing("refine", x) for x in weights), Placing("mean")]
    vectors = [model._codes_by(way, some)[:, : known.dim] for way in ways]
    apart = np.array([1 - _cosines(x - center, away).mean() for x in vectors])
    names = [f"{x.how} {x.weight:g}" if x.how == "refine" else x.how for x in ways]
    agreement = dict(zip(names, (1 - apart).tolist(), strict=True))
    if apart.argmin() == 0:
        return Placing(agreement=agreement)
    way = ways[int(np.flatnonzero(apart <= (1 + _SLACK) * apart.min()).max())]
    scale = length_ratio(model._codes_by(way, whole)[:, : known.dim] - center, away)
    return dataclasses.replace(way, scale=scale, agreement=agreement)


def _cosines(a: _Reals, b: _Reals) -> _Reals:
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosines: _Reals = (a * b).sum(axis=1) / np.where(lengths > 0, lengths, 1)
    return cosines


def length_ratio(placed: _Reals, known: _Reals) -> float:
    """How much longer known vectors are, at the median, both as seen from the mean (m x d); within a factor of 4."""
    lengths = [float(np.median(np.linalg.norm(x, axis=1))) for x in (placed, known)]
    return min(4.0, max(0.25, lengths[1] / lengths[0])) if lengths[0] > 0 else 1.0
