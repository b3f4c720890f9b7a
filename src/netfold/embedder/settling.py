"""Settling: a fitted model trained on, on the graph as it is now, with every node held near the vector that it has.

L_settled = L + (mu / 2) Σ_i c_i ‖y_i - y_i^old‖²

c_i says how much of the neighborhood of node i stayed (`shares_that_stayed`): it is 1 where nothing changed; a node
that is new has 1 / (1 + links), as what it has was placed and not learned. Parameters begin as they were, those of new
nodes at 0, so that what the network says of old ones does not change by them. mu = 0 is a warm refit; where mu is large
nobody moves, which is placing.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from netfold.data.edges import links
from netfold.data.embedding import Embedding
from netfold.embedder.attributes import later_attribute_rows
from netfold.embedder.changes import shares_that_stayed
from netfold.embedder.embedder import Embedder, device_named, threads_for
from netfold.embedder.placing import propagated, reached_by_paths
from netfold.errors import InputError
from netfold.learn.progress import Progress
from netfold.learn.training import train

if TYPE_CHECKING:
    import numpy.typing as npt
    from scipy import sparse

    from netfold.data.graph import Graph
    from netfold.embedder.problem import Problem

__all__ = ["Anchors", "NodeCodes", "settled"]

NodeCodes = Callable[[Tensor], Tensor]
"""From distinct rows of a graph to the coordinates that a network has for these nodes, with their gradients: m x w."""

_AT_ONCE = 1 << 13
"""Nodes whose coordinates are held at a time."""


@dataclasses.dataclass(frozen=True, eq=False)
class Anchors:
    """Where the nodes of a graph are held."""

    known: npt.NDArray[np.int64]
    """n: the row that each had when the model was fitted, or -1."""
    coordinates: npt.NDArray[np.float32]
    """n x w: the vectors that they have, [μ, σ] of Gaussians; 0 where there is none."""
    shares: npt.NDArray[np.float64]
    """n: c_i; 0 where there is no vector."""

    @staticmethod
    def of(
        now: Graph, before: sparse.csr_array, own: Embedding, placed: Embedding, late: npt.NDArray[np.int64]
    ) -> Anchors:
        """For a network, the weights that its links had, the vectors that were trained, and those that were placed.

        The rows `late` count as new, and are held where their links of now put them, all others held fast: LabelProp.
        """
        known, at = own.nodes.find(now.nodes), placed.nodes.find(now.nodes)
        coordinates = np.zeros((now.n_nodes, own.coordinates.shape[1]), np.float32)
        for where, embedding in ((at, placed), (known, own)):
            coordinates[where >= 0] = embedding.coordinates[where[where >= 0]]
        there = (known >= 0) | (at >= 0)
        if len(late):
            weights, others = links(now, directed=False, weights=True, loops="drop")[late], there.copy()
            others[late] = False
            to_known, among = weights[:, others], weights[:, late]
            some = np.flatnonzero(reached_by_paths(to_known, among))
            known[late], there[late], there[late[some]] = -1, False, True
            coordinates[late[some]] = propagated(to_known[some], among[some][:, some], coordinates[others])
        shares = shares_that_stayed(before, now.adjacency, directed=now.directed)
        return Anchors(known, coordinates, np.where(there, shares, 0.0))


def settled(
    model: Embedder[Any],
    graph: Graph,
    anchors: Anchors,
    *,
    mu: float,
    epochs: int | None = None,
    progress: bool = False,
) -> Embedder[Any]:
    """Another model like a fitted one, trained on from it on a graph; the nodes are held by `anchors`.

    `epochs` are a tenth of the fit's unless said. Steps are shorter by 1 + mu, as what holds nodes is steeper. Where a
    vector is no parameter but what the network makes of some, f_i (of a row by SDNE and DVNE; brought to length 1 by
    LINE), it is then what is nearest to both: argmin_y ‖y - f_i‖² + mu c_i ‖y - y_i^old‖². So what an encoder makes of
    changed links counts no more than mu lets it.
    """
    if type(model)._codes is Embedder._codes:
        name = type(model).__name__
        raise InputError(
            f"{name} has no training that could go on from where it is, so that it cannot settle; refit it"
        )
    if not (isinstance(mu, int | float) and 0 <= mu < math.inf):
        raise InputError(f"mu={mu!r} is not a weight; give 0 (a warm refit) or a finite number above it")
    epochs = max(1, round(model.epochs / 10)) if epochs is None else epochs
    if type(epochs) is not int or epochs < 0:
        raise InputError(f"epochs={epochs!r} is not a number of passes; give 0 or more")
    copy = type(model)(**model.get_params())
    data = _as_fitted(model, _read_alike(model, graph))
    if data.facts.get("unit") != model.graph_facts_.get("unit"):
        raise InputError("the weights of today are of another scale than those that were fitted; refit the model")
    bar = Progress(type(model).__name__) if progress else Progress.silent()
    with threads_for(graph):
        problem = copy._problem(data, device_named(copy.device), bar, resumed=True)
        _grow(model, problem.network, anchors.known)
        fresh = np.flatnonzero(anchors.known < 0)
        copy._begin(problem.network, anchors.known, anchors.coordinates[fresh], anchors.shares[fresh] > 0)
        held = _Held(problem, copy._codes(problem.network, data), anchors, mu)
        shorter = [dataclasses.replace(block, lr=block.lr / (1 + mu)) for block in problem.blocks]
        history = train(
            held, lambda epoch: held.batches(epoch, copy._generator(9, epoch)), shorter,
            epochs=epochs, schedule=problem.schedule, rows=graph.n_nodes, progress=bar,
        )  # fmt: skip
        problem.network.zero_grad(set_to_none=True)
        copy.network_, copy.graph_facts_ = problem.network, data.facts
        copy.history_ = [*model.history_, *({**x, "epoch": x["epoch"] + len(model.history_)} for x in history)]
        vectors = copy._embed(data)
        if not copy.free_vectors:
            vectors = _between(vectors, anchors, mu)
        copy.embedding_ = dataclasses.replace(vectors, fitted_to=graph.fingerprint)
        if data.attributes is not None:
            copy._regress(data)
        if "refine" in copy._ways():
            copy._choose_placing(data)
    if hasattr(model, "pair_score_"):
        copy.pair_score_ = model.pair_score_
    return copy


def _read_alike(model: Embedder[Any], graph: Graph) -> Any:
    """Today's graph, with its weights as those of the fitted one were read."""
    if not hasattr(model, "weight_scale"):
        return type(model)(**model.get_params())._read(graph)
    unit = model.graph_facts_.get("weight_unit")
    plain: Any = type(model)(**model.get_params() | {"weight_scale": "plain"})
    return dataclasses.replace(plain._read(graph.with_logarithms(unit)), weight_unit=unit)


def _as_fitted(model: Embedder[Any], data: Any) -> Any:
    """What was read of today's graph, its attributes in the scaling that the model was fitted with.

    So a column means what it meant: words that came since are not read before a refit.
    """
    later = later_attribute_rows(model, data.graph)
    if later is None and data.attributes is not None:
        name = type(model).__name__
        raise InputError(
            f"this {name} was fitted without attributes and the graph of today has some; leave them out, or refit it"
        )
    if later is not None and not later.block.known.any():
        raise InputError("nothing that the model reads is known of any node of today; give the graph its attributes")
    return dataclasses.replace(data, attributes=later)


class _Held:
    """A network whose loss has the anchor beside its own terms; each node is held once an epoch."""

    def __init__(self, problem: Problem[Any], codes: NodeCodes, anchors: Anchors, mu: float):
        device = next(problem.network.parameters()).device
        self._problem, self._codes, self._mu = problem, codes, mu
        self._old = torch.from_numpy(anchors.coordinates).to(device)
        self._weights = torch.from_numpy((mu * anchors.shares).astype(np.float32)).to(device)

    def batches(self, epoch: int, generator: torch.Generator) -> Iterator[tuple[Any, Tensor]]:
        """The model's own, each with its part of all nodes."""
        order = torch.randperm(len(self._weights), generator=generator).to(self._weights.device)
        yield from zip(self._problem.batches(epoch), order.tensor_split(self._problem.steps), strict=True)

    def loss(self, batch: tuple[Any, Tensor]) -> dict[str, Tensor]:
        """The model's terms, and `anchor`, whose gradient is added here."""
        own, nodes = batch
        terms: dict[str, Tensor] = self._problem.network.loss(own)
        return {**terms, "anchor": self._anchor(nodes)} if self._mu else terms

    def _anchor(self, nodes: Tensor) -> Tensor:
        total = self._weights.new_zeros(())
        for some in torch.split(nodes, _AT_ONCE):
            apart = (self._codes(some) - self._old[some]).square().sum(1)
            term = 0.5 * torch.dot(self._weights[some], apart)
            if term.requires_grad:
                term.backward()  # type: ignore[no-untyped-call]
            total = total + term.detach()
        return total

    def state_dict(self) -> dict[str, Any]:
        """That of the network."""
        state: dict[str, Any] = self._problem.network.state_dict()
        return state

    def load_state_dict(self, state_dict: Any) -> Any:
        """That of the network."""
        return self._problem.network.load_state_dict(state_dict)


@torch.no_grad()
def _grow(model: Embedder[Any], network: Any, known: npt.NDArray[np.int64]) -> None:
    """Give a network for the graph of today the parameters of the fitted one; 0 for those of new nodes.

    Rows after those of nodes are of columns of attributes, which are the same.
    """
    per_node, n_old = _per_node(model), int(model.graph_facts_["n_nodes"])
    old = dict(model.network_.named_parameters())
    rows = torch.from_numpy(np.flatnonzero(known >= 0))
    at = torch.from_numpy(known[known >= 0])
    for name, parameter in network.named_parameters():
        if name not in per_node:
            parameter.copy_(old[name])
            continue
        parameter.zero_()
        parameter[rows.to(parameter.device)] = old[name][at.to(old[name].device)].to(parameter)
        parameter[len(known) :] = old[name][n_old:].to(parameter)


def _per_node(model: Embedder[Any]) -> set[str]:
    """The parameters that have a row for each node."""
    with torch.device("meta"):
        few, more = (dict(model._network(model.graph_facts_ | {"n_nodes": n}).named_parameters()) for n in (5, 7))
    return {name for name in few if few[name].shape != more[name].shape}


def _between(vectors: Embedding, anchors: Anchors, mu: float) -> Embedding:
    """What is nearest to both what the encoder says and what was there: (f + mu c y^old) / (1 + mu c)."""
    if not mu:
        return vectors
    dim, share = vectors.dim, (mu * anchors.shares / (1 + mu * anchors.shares))[:, None]
    own = vectors.vectors if vectors.std is None else np.hstack([vectors.vectors, vectors.std])
    mixed = ((1 - share) * own + share * anchors.coordinates).astype(np.float32)
    return Embedding(vectors.nodes, mixed[:, :dim], None if vectors.std is None else mixed[:, dim:])
