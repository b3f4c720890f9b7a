"""How good the vectors of nodes are that come after the fit: cheap ways to place them, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.checks import Floats, Ints, check_at_least_one, check_choice, is_between
from netfold.data.edges import Pairs, edge_pairs, keys_of, links, neighbor_counts, without_pairs
from netfold.data.embedding import Embedding
from netfold.data.graph import Graph
from netfold.data.scaling import Scaling
from netfold.data.text import type_in_words
from netfold.embedder.placing import propagated, reached_by_paths
from netfold.errors import InputError, renamed
from netfold.evaluate.baselines import ATTRIBUTE_STEPS, SmoothedRows, main_directions
from netfold.evaluate.class_tasks import MAJORITY, class_figures, linear_scorer, neighbor_scorer
from netfold.evaluate.classes import NodeClasses, classes_of_nodes
from netfold.evaluate.pairs import separation
from netfold.evaluate.result import Result, embedding_of, name_of
from netfold.evaluate.scores import chosen_score, knows_attributes, of_vectors, pair_scores
from netfold.evaluate.splits import NodeSplit
from netfold.evaluate.suggestions import suggested_by
from netfold.evaluate.task import LINKED, NORMALIZE, SCORES_OF_VECTORS

__all__ = [
    "HeldOutLinks",
    "Method",
    "all_vectors",
    "asked_classes",
    "attribute_methods",
    "cheap_methods",
    "check_new_node_options",
    "extending",
    "hold_out_half",
    "known_vectors",
    "label_propagation",
    "local_average",
    "manifold_regression",
    "new_node_negatives",
    "out_of_sample",
    "placeable",
    "reached",
    "refitting",
    "scaled_by_known",
]


def local_average(split: NodeSplit, embedding: Any) -> Embedding:
    """LocalAvg: x_v = Σ_u w_uv x_u / Σ_u w_uv over the known neighbors u of each new node v.

    Edges count in either direction. A node without known neighbors gets the mean of all known vectors.
    """
    known, (to_known, _) = _known_vectors(split, embedding), _weights(split)
    total = np.asarray(to_known.sum(axis=1))
    means = (to_known @ known) / np.where(total > 0, total, 1)[:, None]
    return _new_vectors(split, np.where(total[:, None] > 0, means, known.mean(axis=0)))


def label_propagation(split: NodeSplit, embedding: Any) -> Embedding:
    """LabelProp: where propagation with known vectors held fast ends, each new node at the mean of all its neighbors.

    See `propagated`. Edges count in either direction. A node without a path to known ones gets the mean of all known
    vectors.
    """
    known, (to_known, among) = _known_vectors(split, embedding), _weights(split)
    some = np.flatnonzero(reached(split))
    vectors = np.tile(known.mean(axis=0), (len(split.new), 1))
    vectors[some] = propagated(sparse.csr_array(to_known[some]), sparse.csr_array(among[some][:, some]), known)
    return _new_vectors(split, vectors)


def manifold_regression(split: NodeSplit, embedding: Any) -> Embedding:
    """MRG: a linear map from rows of the adjacency matrix to vectors, kept smooth along links (Belkin et al., 2006).

    Of x_v, the row of v in the whole graph, new nodes and all: vectors are the known ones' mean + x_v W, with the least

    Σ_known |f_v - mean - x_v W|² / n + ridge |W|² + smooth Σ_uv A_uv |x_u W - x_v W|² / 2,

    which conjugate gradients find. `ridge` and `smooth` are those of a grid of twelve that give known nodes, held back
    (a tenth, 256 at most), the least squared error, in eight random directions of the vectors.
    """
    known = _known_vectors(split, embedding)
    mean, at, rng = known.mean(axis=0), split.whole.positions(split.known.nodes), np.random.default_rng(0)
    regression = _Regression(links(split.whole, directed=False, weights=True, loops="drop"))
    judges = rng.permutation(len(at))[: max(1, min(256, len(at) // 10))]
    others, wanted = np.delete(at, judges), (known - mean) @ rng.normal(size=(known.shape[1], 8))

    def error(strengths: tuple[float, float]) -> float:
        fitted = regression.fitted(others, np.delete(wanted, judges, axis=0), *strengths)
        return float(np.square(fitted[at[judges]] - wanted[judges]).sum())

    best = min(((ridge, smooth) for ridge in (0.1, 1, 10) for smooth in (0.001, 0.01, 0.1, 1)), key=error)
    return _new_vectors(split, mean + regression.fitted(at, known - mean, *best)[split.new])


_STEPS = 300
"""Of conjugate gradients, at most."""


class _Regression:
    """Least squares on rows of a symmetric matrix A (N x N), whose weights are kept small and their values smooth.

    Strengths are in units of the squares: `ridge` 1 is the mean of the N eigenvalues of Σ x_vᵀ x_v / n, and `smooth` 1
    has as much weight in all as the errors.
    """

    def __init__(self, links: sparse.csr_array):
        from netfold.learn.sparse_rows import SparseRows

        self._squares = sparse.csr_array(links.multiply(links))
        self._degrees, self._rows = np.asarray(links.sum(axis=1)), SparseRows.from_scipy(sparse.csr_array(links))

    def fitted(self, at: Ints, wanted: Floats, ridge: float, smooth: float) -> Floats:
        """X W (N x d) by what is wanted of some rows: m x d."""
        import torch

        from netfold.learn.solvers import conjugate_gradients

        n, lengths = self._squares.shape[0], self._squares.sum(axis=1)
        size = lengths[at].sum() / len(at)
        along = smooth * size / max((self._degrees * lengths).sum(), 1e-300)
        errors = np.zeros(n)
        errors[at] = 1 / len(at)
        diagonal = self._squares @ (errors + along * self._degrees) + ridge * size / n
        columns = (errors, self._degrees, diagonal)
        weights, degrees, first = (torch.tensor(x, dtype=torch.float32)[:, None] for x in columns)

        def product(w: Any) -> Any:
            x = self._rows.matmul(w)
            through = weights * x + along * (degrees * x - self._rows.matmul(x))
            return self._rows.matmul(through) + ridge * size / n * w

        target = torch.zeros(n, wanted.shape[1])
        target[torch.from_numpy(at)] = torch.tensor(wanted / len(at), dtype=torch.float32)
        w, _ = conjugate_gradients(product, self._rows.matmul(target), first, steps=_STEPS)
        vectors: Floats = self._rows.matmul(w).double().numpy()
        return vectors


def reached(split: NodeSplit, *, by: str = "path") -> npt.NDArray[np.bool_]:
    """Which new nodes a path leads to from a known one, or (`by="neighbor"`) an edge; in the order of `split.new`."""
    to_known, among = _weights(split)
    return np.diff(to_known.indptr) > 0 if by == "neighbor" else reached_by_paths(to_known, among)


def _weights(split: NodeSplit) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Weights between new and known nodes (in the order of `split.known`), and among new ones, in either direction."""
    rows = links(split.whole, directed=False, weights=True, loops="drop")[split.new]
    among = sparse.csr_array(rows[:, split.new])
    return sparse.csr_array(rows[:, split.whole.positions(split.known.nodes)]), among


def _known_vectors(split: NodeSplit, embedding: Any) -> Floats:
    known = embedding_of(embedding)
    return known.vectors[known.nodes.positions(split.known.nodes)].astype(np.float64)


def _new_vectors(split: NodeSplit, vectors: Floats) -> Embedding:
    return Embedding(split.whole.nodes.take(split.new), vectors.astype(np.float32))


_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class HeldOutLinks:
    """A split some of whose new nodes' edges are not shown."""

    split: NodeSplit
    """The same nodes; its whole graph lacks the held-out edges."""
    pairs: Pairs
    """m x 2 positions of the held-out edges, each with a new node at one end at least."""


@renamed(hidden="held_out")
def hold_out_half(split: NodeSplit, *, held_out: float = 0.5, seed: int = 0) -> HeldOutLinks:
    """Hide a share of the edges that new nodes have, with known ones and among themselves, to be predicted.

    >>> from netfold.evaluate.splits import split_nodes
    >>> hold_out_half(split_nodes([(1, 2), (2, 3), (3, 4), (4, 1)], 1)).split.whole
    Graph(4 nodes, 3 edges, undirected)
    """
    if not is_between(held_out, 0, 1):
        raise InputError(f"held_out={held_out!r} is no share of the new nodes' edges; give a number between 0 and 1")
    edges = edge_pairs(split.whole)
    theirs = edges[np.isin(edges, split.new).any(axis=1)]
    count = round(held_out * len(theirs))
    if not count:
        raise InputError(f"the new nodes have {len(theirs):,} edges, of which held_out={held_out:g} holds out none")
    drawn = np.random.default_rng(seed).choice(len(theirs), count, replace=False)
    pairs = theirs[np.sort(drawn)]
    protocol = {**split.protocol, "held-out edges of new nodes": count}
    return HeldOutLinks(NodeSplit(split.known, without_pairs(split.whole, pairs), split.new, protocol), pairs)


def new_node_negatives(split: NodeSplit, pairs: Pairs, per_positive: int, seed: int, *, matched: bool = False) -> Pairs:
    """For each of some edges of new nodes, so many pairs: its new node and a random node that it has no edge with.

    An edge between two new nodes keeps a random one of them; an edge from a new node is replaced by pairs from it. A
    pair that is an edge of the whole graph is drawn anew, 100 times at most: then it is left out. Of a bipartite graph,
    the random node is on the side of the one whose place it takes. `matched`: it has about the same degree as that one
    (`_Matched`), so that popularity tells nothing.
    """
    rng, n, directed = np.random.default_rng(seed), split.whole.n_nodes, split.whole.directed
    taken = keys_of(edge_pairs(split.whole), n, directed=directed)
    is_new = np.isin(pairs, split.new)
    other = np.where(is_new.all(axis=1), rng.integers(2, size=len(pairs)), is_new.argmin(axis=1))
    negatives, other = np.repeat(pairs, per_positive, axis=0), np.repeat(other, per_positive)
    left, sides = np.arange(len(negatives)), split.whole.sides
    alike = _Matched(split.whole, rng) if matched else None
    right = negatives[left, other]
    for _ in range(_ROUNDS):
        if alike is not None:
            negatives[left, other[left]] = alike.draw(right[left], rng)
        elif sides is None:
            negatives[left, other[left]] = rng.integers(n, size=len(left))
        else:
            negatives[left, other[left]] = _on_the_same_side(sides, right[left], rng)
        drawn = negatives[left]
        left = left[(drawn[:, 0] == drawn[:, 1]) | np.isin(keys_of(drawn, n, directed=directed), taken)]
        if not len(left):
            break
    return np.delete(negatives, left, axis=0)


_NEAR_IN_DEGREE = 50
"""Places in the order of degrees, up or down, from which a node is drawn in the place of another; or 1% of all."""


class _Matched:
    """Nodes in the order of their degrees, equals at random; of a bipartite graph, one side after the other."""

    def __init__(self, graph: Graph, rng: np.random.Generator):
        sides = np.zeros(graph.n_nodes, np.int8) if graph.sides is None else graph.sides
        self._order = np.lexsort((rng.random(graph.n_nodes), neighbor_counts(graph), sides))
        self._place = np.argsort(self._order)
        self._first, self._last = (np.searchsorted(sides[self._order], sides, side=x) for x in ("left", "right"))
        self._near = max(_NEAR_IN_DEGREE, graph.n_nodes // 100)

    def draw(self, nodes: Ints, rng: np.random.Generator) -> Ints:
        """For each node another of about its degree."""
        place = self._place[nodes] + rng.integers(-self._near, self._near + 1, len(nodes))
        drawn: Ints = self._order[np.clip(place, self._first[nodes], self._last[nodes] - 1)]
        return drawn


def _on_the_same_side(sides: npt.NDArray[np.int8], nodes: Ints, rng: np.random.Generator) -> Ints:
    """For each of some nodes of a bipartite graph a random one of its side."""
    drawn = nodes.copy()
    for side in (0, 1):
        mine = sides[nodes] == side
        drawn[mine] = rng.choice(np.flatnonzero(sides == side), int(mine.sum()))
    return drawn


Method = Callable[[NodeSplit], Embedding]
"""From a split to vectors of all nodes of its whole graph."""


def known_vectors(model: Any, base: Any, split: NodeSplit) -> Embedding:
    """The vectors of the known nodes: `base`, or what the model was fitted to, which must not be new nodes too."""
    if base is None and not hasattr(model, "embedding_"):
        raise InputError("base=None and no fitted model was given; base is an Embedding of the known nodes")
    if hasattr(model, "embedding_"):
        met = split.new[model.embedding_.nodes.find(split.whole.nodes.take(split.new)) >= 0]
        if len(met):
            first = split.whole.nodes[int(met[0])]
            raise InputError(f"the model was fitted to {first!r}, which is a new node; fit it to split.known")
    return embedding_of(model if base is None else base).take(split.known.nodes)


def extending(model: Any, known: Embedding, linked: str) -> Method:
    """The known vectors, and new ones by the model, a function, or as they are given."""
    if isinstance(model, Embedding):
        return lambda split: all_vectors(split, known, model)
    if hasattr(model, "transform"):
        also = knows_attributes(model)
        return lambda split: all_vectors(split, known, model.transform(placeable(split, linked, also).whole))
    if callable(model):
        return lambda split: all_vectors(split, known, model(placeable(split, linked)))
    kind = type_in_words(model)
    raise InputError(f"{kind} was given; give a fitted model, a function from a NodeSplit to an Embedding, or one")


def refitting(rerun: Any) -> Method:
    """What a function from a graph to a model gives for the whole graph, or the vectors that are given."""
    if not callable(rerun):
        return lambda split: embedding_of(rerun).take(split.whole.nodes)
    return lambda split: embedding_of(rerun(split.whole)).take(split.whole.nodes)


def cheap_methods(known: Embedding) -> dict[str, Method]:
    """LocalAvg and LabelProp."""
    return {
        "LocalAvg": lambda split: all_vectors(split, known, local_average(split, known)),
        "LabelProp": lambda split: all_vectors(split, known, label_propagation(split, known)),
    }


def _regressed(known: Embedding) -> dict[str, Method]:
    """MRG, which is asked for by name: it is no cheap method."""
    return {"MRG": lambda split: all_vectors(split, known, manifold_regression(split, known))}


def attribute_methods(dim: int, seed: int) -> dict[str, Method]:
    """X alone, and P²X: attributes of known nodes in their leading directions, those of new ones projected onto them.

    Rows of new nodes are averaged over the links that the split shows of them; without a link a node keeps its own.
    """
    return {name: _projecting(steps, dim, seed) for name, steps in ATTRIBUTE_STEPS.items()}


def _projecting(steps: int, dim: int, seed: int) -> Method:
    def vectors_of(split: NodeSplit) -> Embedding:
        x, at = scaled_by_known(split), split.whole.positions(split.known.nodes)
        rows = SmoothedRows(split.known, x[at], steps)
        directions = main_directions(rows, dim, seed)
        vectors = SmoothedRows(split.whole, x, steps).times(directions)
        vectors[at] = rows.times(directions)
        return Embedding(split.whole.nodes, vectors.astype(np.float32))

    return vectors_of


def scaled_by_known(split: NodeSplit) -> Any:
    """The attributes of all nodes as rows of numbers, in the scaling of the known ones: n x m."""
    attributes = split.whole.attributes
    assert attributes is not None
    known = np.delete(np.arange(split.whole.n_nodes), split.new)
    return Scaling.fit(attributes, known).block(attributes, unseen="missing").values


def all_vectors(split: NodeSplit, known: Embedding, new: Any) -> Embedding:
    """The vectors of all nodes; a new one without gets the mean of the known ones."""
    own = embedding_of(new)
    if own.dim != known.dim:
        raise InputError(f"the new nodes' vectors have {own.dim} numbers and the known ones' {known.dim}")
    at = own.nodes.find(split.whole.nodes.take(split.new))
    if not (at >= 0).any():
        raise InputError(f"none of the {len(split.new):,} new nodes has a vector; give those of the new nodes")
    vectors = np.tile(known.vectors.mean(axis=0), (split.whole.n_nodes, 1))
    vectors[split.whole.positions(known.nodes)] = known.vectors
    vectors[split.new[at >= 0]] = own.vectors[at[at >= 0]]
    return Embedding(split.whole.nodes, vectors)


def placeable(split: NodeSplit, by: str, attributed: bool = False) -> NodeSplit:
    """The split without the new nodes that a model cannot be asked about.

    One that was fitted with attributes (`attributed`) can be asked about all of which any is known.
    """
    good = reached(split, by=by)
    if attributed and split.whole.attributes is not None:
        good |= split.whole.attributes.known[split.new].any(axis=1)
    if good.all():
        return split
    if not good.any():
        lack = "is linked to a known one or has attributes" if attributed else "is linked to a known one"
        raise InputError(f"none of the {len(split.new):,} new nodes {lack}")
    rows = np.delete(np.arange(split.whole.n_nodes), split.new[~good])
    new = np.searchsorted(rows, split.new[good])
    return NodeSplit(split.known, split.whole.subgraph(rows), new, split.protocol)


_LINKED_WORDS = {"path": "those with a path to known ones", "neighbor": "those with a known neighbor"}

NewNodeTask = tuple[Callable[[Method], dict[str, float]], dict[str, Any]]
"""What gives a method's figures, and the choices that they depend on."""


def check_new_node_options(score: str, normalize: str, C: float, per_positive: int) -> None:
    """Refuse what no task about new nodes can be asked with."""
    check_choice(SCORES_OF_VECTORS, score=score)
    check_choice(NORMALIZE, normalize=normalize)
    if not is_between(C, 0, np.inf):
        raise InputError(f"C={C!r} is not a finite number above 0")
    check_at_least_one(per_positive=per_positive)


@renamed(labels="classes")
def out_of_sample(
    model: Any,
    split: NodeSplit,
    *,
    base: Any = None,
    classes: Mapping[Any, Any] | None = None,
    links: bool = True,
    rerun: Any = None,
    linked: str | None = None,
    score: str | None = None,
    per_positive: int = 1,
    normalize: str = "centred",
    C: float = 3.0,
    seed: int = 0,
    baselines: bool = True,
) -> Result:
    """Classes and links of new nodes, by vectors that they got without a new fit.

    `model` was fitted to `split.known` and has `transform(graph)`; or is a function from a `NodeSplit` to the vectors
    of its new nodes, with `base` the vectors of the known ones; or is the new nodes' vectors themselves; or is the name
    of a way that needs no model, "LocalAvg", "LabelProp" or "MRG" from `base`, or "rerun" with `rerun=` below. `linked`
    says which new nodes it is asked about: those with a "path" to known ones, or with a known "neighbor" (by default
    all that it can place: a model says which by `reaches`, and one fitted with attributes is asked about nodes without
    links too, where attributes are known); those that get no vector get the mean of the known ones.
    `rerun` is the costly way, beside which the others stand: a function from a graph to a model fitted to it (or the
    vectors that one gave to the whole graph).

    With `classes`: one-vs-rest logistic regression learns from all known nodes and gives each new one its k best
    classes, k being how many it has: micro- and macro-F1 (see `classification`, also for `normalize` and `C`). With
    `links`: half of the new nodes' edges are held out before they get their vectors (`hold_out_half`), and are to be
    scored ("cosine", "dot" or "distance") above `per_positive` pairs of the same new node with a random node that it
    has no edge with: AUC and average precision. As true ends are popular and random nodes are not, `AUC degree-matched`
    is against nodes of about the degree of the true end, by the same score and, where that is another, by the model's
    own (`pair_score_`, as far as vectors have it). Vectors that are given have seen all edges, so that they have no
    figures of links.

    The baselines are LocalAvg and LabelProp (`local_average`, `label_propagation`) from the same base, and of classes
    those of most known neighbors. Where the graph has attributes, X alone and P²X too (`attribute_methods`).
    """
    score = chosen_score("out-of-sample", model, score)
    linked = getattr(model, "reaches", "path") if linked is None else linked
    check_choice(LINKED, linked=linked)
    check_new_node_options(score, normalize, C, per_positive)
    known = known_vectors(model, base, split)
    tasks = {} if classes is None else {"classes": _classes_task(split, classes, normalize, C)}
    if links and not isinstance(model, Embedding):
        tasks["links"] = _links_task(split, score, _own_of_vectors(model, base), per_positive, seed)
    if not tasks:
        raise InputError("there is nothing to measure; give classes=, or a model (not vectors) and links=True")

    def figures(method: Method, thing: Any = None) -> dict[str, float]:
        able = [task for name, (task, _) in tasks.items() if name == "classes" or not isinstance(thing, Embedding)]
        return {x: value for task in able for x, value in task(method).items()}

    cheap, way = cheap_methods(known), model if isinstance(model, str) else None
    anew = {} if rerun is None else {"rerun": refitting(rerun)}
    if way is not None:
        ways = cheap | _regressed(known) | anew
        check_choice(tuple(ways), model=way)
        own = figures(ways[way], rerun if way in anew else None)
    else:
        own = figures(extending(model, known, linked), model)
    rows = {x: own if x == way else figures(method) for x, method in cheap.items()} if baselines else {}
    if baselines and split.whole.attributes is not None:
        rows |= {x: figures(method) for x, method in attribute_methods(known.dim, seed).items()}
    rows |= {x: figures(method, rerun) for x, method in anew.items() if x != way}
    if baselines and classes is not None:
        rows[MAJORITY] = _by_neighbors(split, classes)
    protocol = {f"split {x}" if x == "seed" else x: value for x, value in split.protocol.items()}
    protocol |= {"new nodes": len(split.new), "model asked about": _LINKED_WORDS[linked]}
    if knows_attributes(model):
        protocol["model asked about"] += ", or with attributes"
    for _, facts in tasks.values():
        protocol |= facts
    return Result("out of sample", _name(model), own, protocol, rows)


def asked_classes(split: NodeSplit, classes: Mapping[Any, Any]) -> tuple[NodeClasses, Ints, Ints]:
    """The nodes with a class, and which of them are known and learned from, and which are new and asked about."""
    known = classes_of_nodes(classes, split.whole.nodes)
    is_new = np.isin(split.whole.positions(known.nodes), split.new)
    learned, tested = np.flatnonzero(~is_new), np.flatnonzero(is_new)
    if not len(learned) or not len(tested):
        raise InputError(
            f"classes name {len(learned):,} known and {len(tested):,} new nodes with a class; both are needed"
        )
    return known, learned, tested


def _classes_task(split: NodeSplit, classes: Mapping[Any, Any], normalize: str, C: float) -> NewNodeTask:
    """Classes of new nodes from those of known ones, and the choices that it depends on."""
    known, learned, tested = asked_classes(split, classes)

    def task(method: Method) -> dict[str, float]:
        vectors = method(split)[known.nodes].astype(np.float64)
        return class_figures(linear_scorer(vectors, "logistic", normalize, C), known, (learned, tested), "top-k")

    facts = {"classifier": "one-vs-rest logistic", "C": C, "normalize": normalize, "rule": "top-k"}
    facts |= {"learned from": f"{len(learned):,} known nodes", "asked about": f"{len(tested):,} new ones"}
    return task, facts | {"without a path to known ones": int((~reached(split)).sum())}


def _by_neighbors(split: NodeSplit, classes: Mapping[Any, Any]) -> dict[str, float]:
    """The figures of new nodes' classes by those of most of their known neighbors."""
    known, learned, tested = asked_classes(split, classes)
    return class_figures(neighbor_scorer(split.whole, known.nodes), known, (learned, tested), "top-k")


def _own_of_vectors(model: Any, base: Any) -> str:
    """The score that the base keeps, as vectors have it; the cosine where nothing is kept."""
    thing = next((x for x in (model, base) if hasattr(x, "embedding_")), None)
    return "cosine" if thing is None else of_vectors(suggested_by(thing))


def _links_task(split: NodeSplit, score: str, own: str, per_positive: int, seed: int) -> NewNodeTask:
    """Held-out edges of new nodes against pairs that are none, and the choices that it depends on."""
    held_out = hold_out_half(split, seed=seed)
    wrong = new_node_negatives(split, held_out.pairs, per_positive, seed)
    if not len(wrong):
        raise InputError("the new nodes have edges with all others; there is no pair to compare their edges with")
    alike = new_node_negatives(split, held_out.pairs, per_positive, seed, matched=True)

    def auc(vectors: Embedding, by: str) -> float:
        scores = pair_scores(vectors, split.whole, by)
        return separation(*(scores.at(*pairs.T.copy()).numpy() for pairs in (held_out.pairs, alike)))["AUC"]

    def task(method: Method) -> dict[str, float]:
        vectors = method(held_out.split)
        scores = pair_scores(vectors, split.whole, score)
        figures = separation(*(scores.at(*pairs.T.copy()).numpy() for pairs in (held_out.pairs, wrong)))
        if len(alike):
            figures["AUC degree-matched"] = auc(vectors, score)
            if own != score:
                figures["AUC degree-matched, own score"] = auc(vectors, own)
        return figures

    facts: dict[str, Any] = {"links": "half of the new nodes' edges held out", "positives": len(held_out.pairs)}
    facts |= {"negatives": f"{len(wrong):,}, the same new node with a random one that it has no edge with"}
    facts |= {"degree-matched": "with one of about the degree of the true end"}
    facts |= {} if own == score else {"own score": own}
    lost = int((~reached(held_out.split)).sum())
    return task, facts | {"without a path where these are held out": lost, "score": score, "seed": seed}


def _name(model: Any) -> str:
    if isinstance(model, str):
        return model
    if isinstance(model, Embedding) or hasattr(model, "embedding_"):
        return name_of(model)
    return str(getattr(model, "__name__", type(model).__name__)).replace("<lambda>", "function")
