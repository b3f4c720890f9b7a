"""When to stop, by links that training does not see (`held_out`).

The objective of what is trained on falls for as long as one likes, and with dropout it does not even say when it has
settled. So a first run is trained without a share of the links, and asked now and then how well it tells those from
pairs that are not linked, before its first epoch too; the second run, on everything, then has as many epochs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from netfold.data.checks import Floats, Ints
from netfold.data.edges import edge_pairs, keys_of, linked_nodes, without_pairs
from netfold.data.statistics import area_under_curve
from netfold.data.text import counted
from netfold.errors import InputError

if TYPE_CHECKING:
    import torch

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.embedder.embedder import Embedder
    from netfold.learn.progress import Progress

__all__ = ["ENOUGH_LINKS", "best_epochs", "held_out_in_words", "told_apart"]

_LOOKS = 40
"""How often it is asked, at most, if all epochs are run."""
_MOST = 20_000
"""Links that are held out, at most."""
_FEWEST_LINKS = 10
"""Links, of which a share cannot be held out."""
ENOUGH_LINKS = 1000
"""From so many on a tenth, 100 links, says whether training helps: the AUC's standard error is near .02."""


def best_epochs(
    model: Embedder[Any], graph: Graph, share: float, device: torch.device, progress: Progress
) -> dict[int, float]:
    """AUC of held-out links by the number of epochs before it, of a copy of the model fitted to the others.

    Ends before all epochs where the largest is `patience` epochs ago. The best number is `max(looks, key=looks.get)`:
    of equal ones the least. None, where a model holds links out by itself and there are none that can be.
    """
    from netfold.learn.training import train

    try:
        rest, right, wrong = _split(graph, share, np.random.default_rng([model.seed, 3]))
    except InputError:
        if getattr(model, "held_out", None) is None:  # nobody asked for it
            return {}
        raise
    as_read = {"weight_scale": "plain"} if hasattr(model, "weight_scale") else {}  # the graph has been read
    copy: Any = type(model)(**model.get_params() | {"held_out": 0.0} | as_read)
    data = copy._read(rest)
    problem = copy._problem(data, device, progress)
    copy.network_, copy.graph_facts_ = problem.network, data.facts
    each, looks = max(1, model.epochs // _LOOKS), {0: told_apart(copy._embed(data), right, wrong)}

    def look(record: dict[str, float]) -> bool:
        epoch = int(record["epoch"])
        if epoch % each == 0 or epoch == model.epochs:
            looks[epoch] = told_apart(copy._embed(data), right, wrong)
        best = max(looks, key=lambda x: looks[x])
        return bool(epoch - best >= max(copy.patience, each))

    train(
        problem.network,
        problem.batches,
        problem.blocks,
        epochs=model.epochs,
        schedule=problem.schedule,
        rows=graph.n_nodes,
        progress=progress,
        on_epoch=look,
    )
    return looks


def held_out_in_words(looks: Mapping[Any, float]) -> str:
    """What held-out links said: AUC by the number of epochs before it.

    >>> held_out_in_words({0: 0.9, 1: 0.85, 2: 0.87})
    'training does not beat its start: held-out links have AUC 0.9000 there, 0.8700 after 2 epochs at best'
    >>> held_out_in_words({0: 0.9, 1: 0.95, 2: 0.94})
    'held-out links have AUC 0.9000 at the start, 0.9500 after 1 epoch'
    """
    by_epoch = {int(epoch): float(auc) for epoch, auc in looks.items()}
    start, best = by_epoch[0], max(by_epoch, key=lambda x: by_epoch[x])
    later = max((x for x in by_epoch if x), key=lambda x: by_epoch[x], default=0)
    if best:
        return f"held-out links have AUC {start:.4f} at the start, {by_epoch[best]:.4f} after {counted(best, 'epoch')}"
    after = f"{by_epoch[later]:.4f} after {counted(later, 'epoch')} at best"
    return f"training does not beat its start: held-out links have AUC {start:.4f} there, {after}"


def _split(graph: Graph, share: float, rng: np.random.Generator) -> tuple[Graph, Ints, Ints]:
    """The graph without a share of its links; those whose ends have others; as many pairs that are not linked."""
    pairs = edge_pairs(graph)
    if len(pairs) < _FEWEST_LINKS:
        raise InputError(
            f"held_out={share:g} of {len(pairs)} links are too few to stop by; at least {_FEWEST_LINKS} are needed, "
            "or held_out=0"
        )
    count = min(max(1, round(share * len(pairs))), _MOST)
    chosen = pairs[rng.permutation(len(pairs))[:count]]
    rest = without_pairs(graph, chosen)
    known = linked_nodes(rest)
    right = chosen[known[chosen].all(axis=1)]
    if not len(right):
        raise InputError(f"held_out={share:g}: no link can be held out that leaves its nodes another; give held_out=0")
    return rest, right, _unlinked(graph, np.flatnonzero(known), 2 * len(right), rng)


def _unlinked(graph: Graph, rows: Ints, count: int, rng: np.random.Generator) -> Ints:
    """So many random pairs of these nodes that are not linked; fewer, where most pairs are."""
    pairs = rows[rng.integers(0, len(rows), (4 * count, 2))]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    known = keys_of(edge_pairs(graph), graph.n_nodes, directed=graph.directed)
    free = pairs[~np.isin(keys_of(pairs, graph.n_nodes, directed=graph.directed), known)]
    if not len(free):
        raise InputError("held_out: nearly all pairs of nodes are linked, and none is left to tell links from")
    chosen: Ints = free[:count]
    return chosen


def told_apart(embedding: Embedding, right: Ints, wrong: Ints) -> float:
    """The AUC of pairs of rows against others: by the product, the cosine or the distance, whichever is largest.

    The share of pairs (one right, one wrong) in which the right one has the larger score, equal ones by half.
    """
    x = embedding.coordinates.astype(np.float64)
    lengths = np.maximum(np.linalg.norm(x, axis=1), 1e-30)

    def scores(pairs: Ints) -> list[Floats]:
        u, v = pairs.T
        product = np.einsum("ij,ij->i", x[u], x[v])
        return [product, product / (lengths[u] * lengths[v]), -np.linalg.norm(x[u] - x[v], axis=1)]

    return max(area_under_curve(one, other) for one, other in zip(scores(right), scores(wrong), strict=True))
