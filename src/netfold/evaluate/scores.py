"""How a model, or vectors, score pairs of nodes: by the names of scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from netfold.data.checks import Floats, Ints
from netfold.data.edges import links
from netfold.data.graph import Graph
from netfold.data.text import counted
from netfold.embedder.pair_score import OF_LINKS, OF_MODELS, weighted_scores
from netfold.errors import InputError
from netfold.evaluate.heuristics import scores_of_links
from netfold.evaluate.pairs import PairScores, RowScores, ScoreSum, VectorScores
from netfold.evaluate.result import embedding_of
from netfold.evaluate.task import SCORES_OF_VECTORS, TASKS

__all__ = [
    "available_scores",
    "chosen_score",
    "knows_attributes",
    "of_vectors",
    "own_score",
    "pair_scores",
]


def knows_attributes(model: Any) -> bool:
    """Whether a model was fitted with attributes of nodes, which say something of a node without links too."""
    return "attributes" in (getattr(model, "graph_facts_", None) or {})


def pair_scores(model: Any, graph: Graph, score: str, of_links: Mapping[str, PairScores] | None = None) -> PairScores:
    """The scores that a fitted model or an embedding gives to pairs of a graph's nodes.

    `score`: `dot`; `cosine`; `distance` (minus the Euclidean distance of the vectors); `paths` (how many paths of three
    or five steps join two nodes, as far as the vectors tell: `_paths`); `w2` (minus the 2-Wasserstein distance of
    Gaussians with diagonal covariances: the Euclidean distance of `coordinates`); `decoder` (what the model itself
    writes for a pair: x̂_ij where the graph is directed, the mean of x̂_ij and x̂_ji where it is not); `own`
    (`own_score`); or what the links say without any vectors (`scores_of_links`: `resource allocation`, `preferential
    attachment`, `paths of three`, `personalised PageRank`). A sum of these with what each counts, as
    `0.5 cosine + 2 paths of three`, is a `ScoreSum`. `of_links` are those of links that were made before.
    """
    if score == "own":
        score = own_score(model)
    terms = weighted_scores(score)
    if len(terms) == 1:
        return _one(model, graph, terms[0][1], of_links or {})
    return ScoreSum([(weight, _one(model, graph, name, of_links or {})) for weight, name in terms], graph)


def _one(model: Any, graph: Graph, score: str, of_links: Mapping[str, PairScores]) -> PairScores:
    """A score that is no sum."""
    if score in OF_LINKS:
        return of_links[score] if score in of_links else scores_of_links(graph)[score]
    if score == "decoder":
        return RowScores(_decoder(model, graph), graph.n_nodes)
    embedding = embedding_of(model)
    if score == "w2" and embedding.std is None:
        raise InputError("score='w2' compares Gaussians and these nodes have no std; use score='distance'")
    at = embedding.nodes.positions(graph.nodes)
    vectors = (embedding.coordinates if score == "w2" else embedding.vectors)[at]
    if score == "paths":
        return VectorScores(*_paths(vectors, graph))
    if score == "cosine":
        return VectorScores(torch.nn.functional.normalize(torch.tensor(vectors).double()))
    return VectorScores(vectors, distance=score != "dot")


def own_score(model: Any) -> str:
    """The score that a fitted model or an embedding is meant for, which `score="own"` asks for.

    Gaussians: W2; a model that has a decoder of pairs (SDNE): that, its own word on who is linked; else the cosine.
    """
    if embedding_of(model).std is not None:
        return "w2"
    return "decoder" if hasattr(model, "pair_decoder") and not _placed(model) else "cosine"


def _placed(model: Any) -> int:
    """How many nodes were placed since the fit, which a decoder does not know."""
    fitted = getattr(model, "model", model)
    return 0 if fitted is model else int((embedding_of(fitted).nodes.find(embedding_of(model).nodes) < 0).sum())


def chosen_score(task: str, model: Any, score: str | None = None) -> str:
    """How the pairs of a model are scored in a task: as is asked for, as was chosen with the model, as the task has it.

    This is the one rule for every command: `evaluate`, `compare`, `report` and `reproduce` leave `score` None. What was
    chosen on the data (`pair_score_`) is for tasks that take any score, which are those that have the cosine.
    """
    chosen = getattr(model, "pair_score_", None) if TASKS[task].score == "cosine" else None
    if chosen is not None and task != "link-prediction":
        chosen = _of_model(chosen)  # what the links say knows the very ones that are asked about
    if task in ("out-of-sample", "replay") and chosen not in SCORES_OF_VECTORS:
        chosen = None  # new nodes have vectors, and nothing else
    wanted = score or chosen or TASKS[task].score
    if wanted == "gaussian":
        return "cosine" if embedding_of(model).std is None else "w2"
    return own_score(model) if wanted == "own" else wanted


def available_scores(model: Any) -> tuple[str, ...]:
    """The scores that a fitted model, or an embedding, itself has for pairs, its own first."""
    embedding, own = embedding_of(model), own_score(model)
    some = [*SCORES_OF_VECTORS, "paths", *(["w2"] if embedding.std is not None else [])]
    return (own, *(x for x in [*some, *(["decoder"] if hasattr(model, "pair_decoder") else [])] if x != own))


def _of_model(score: str) -> str | None:
    """Of a sum, what counts most of what the model says; None where that is nothing."""
    own = [x for x in weighted_scores(score) if x[1] in OF_MODELS]
    return max(own)[1] if own else None


def of_vectors(score: str) -> str:
    """The score for plain vectors that are compared with a model under a score that they may not have."""
    alone = "dot" if score == "own" else _of_model(score)
    return {"w2": "distance", "decoder": "dot", "paths": "dot", None: "dot"}.get(alone, str(alone))


_ADDED, _TOLD, _APART = 0.1, 1e-10, 2.9
"""Added to every degree, as a share of their mean; the least part of a square that is more than rounding; and how far
apart random nodes are where paths of three steps are no longer enough."""


def _paths(vectors: npt.NDArray[Any], graph: Graph) -> tuple[Floats, Floats]:
    """Q Hᵏ and Q (n x r) of vectors X (n x d) that span Q, an orthonormal basis, and H = Qᵀ N Q: pairs have Q Hᵏ Qᵀ.

    N = (D + τ)^-½ A (D + τ)^-½ are the links, in either direction, those of hubs weighed down, so that (N³)_ij are the
    weighted paths of three steps from i to j: one step is the link itself, and two never lead from one side of a
    bipartite graph to the other. Where X are eigenvectors of N this is their part of N³, eigenvalues with
    their signs, which a product of vectors does not have: N³ is U Λ³ Uᵀ. Other vectors have the nearest to that (Ritz).
    A node without links has 0. Steps are three, or five where nodes are further apart (`_steps`).
    """
    a = links(graph, directed=False, weights=True, loops="drop")
    degrees = np.asarray(a.sum(axis=1)).ravel()
    roots = np.zeros(len(degrees))
    np.divide(1, np.sqrt(degrees + _ADDED * degrees.mean()), out=roots, where=degrees > 0)
    x = np.asarray(vectors, np.float64) * (degrees > 0)[:, None]
    x /= np.maximum(np.linalg.norm(x, axis=0), np.finfo(np.float32).tiny)
    squares, turn = np.linalg.eigh(x.T @ x)
    told = squares > _TOLD * squares.max(initial=0)
    basis = x @ (turn[:, told] / np.sqrt(squares[told]))
    image = basis.T @ ((a @ (basis * roots[:, None])) * roots[:, None])
    return basis @ np.linalg.matrix_power((image + image.T) / 2, _steps(a)), basis


def _steps(adjacency: sparse.csr_array) -> int:
    """Five where two random nodes are, by log n / log degree, so many steps apart that three join few of them.

    The bound was chosen on inner splits of graphs and of sparser cuts of them (benchmarks/searches/paths.py).
    """
    counts = np.diff(adjacency.indptr)
    n = int((counts > 0).sum())
    return 3 if n < (counts.sum() / max(n, 1)) ** _APART else 5


def _decoder(model: Any, graph: Graph) -> Callable[[Ints], Tensor]:
    """The model's own scores, which come in the order of the nodes that it was fitted to."""
    if not hasattr(model, "pair_decoder"):
        raise InputError(f"{type(model).__name__} has no decoder; score by dot, cosine or distance")
    if placed := _placed(model):
        raise InputError(
            f"the decoder knows the nodes of the fit alone, and {counted(placed, 'node')} came since; score by cosine, "
            "dot or distance, or settle or fit again (netfold update --settle, --refit)"
        )
    nodes = model.embedding_.nodes
    at = nodes.positions(graph.nodes)
    if len(nodes) == graph.n_nodes and np.array_equal(at, np.arange(len(nodes))):
        decoded = model.pair_decoder(graph)
        return lambda rows: torch.from_numpy(decoded(rows))
    links = graph.adjacency.tocoo()
    ends = (at[links.coords[0]], at[links.coords[1]])
    over = sparse.csr_array((links.data, ends), shape=(len(nodes), len(nodes)))
    known = None if graph.attributes is None else graph.attributes.aligned(graph.nodes, nodes)
    decoded = model.pair_decoder(Graph(over, nodes, directed=graph.directed, attributes=known))
    return lambda rows: torch.from_numpy(decoded(at[rows])[:, at])
