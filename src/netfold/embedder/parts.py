"""A model fitted to a folder of parts: by the ranks that torchrun started, or by one process that maps it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netfold._version import version
from netfold.embedder.options import config_to_json
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from netfold.cluster.exchange import RankGraph
    from netfold.data.nodes import Nodes
    from netfold.embedder.embedder import Embedder
    from netfold.io.parts import PartsFolder

__all__ = ["fit_parts", "is_spread", "known_rows", "save_vector_parts"]


def is_spread(model: Embedder, path: str | os.PathLike[str], embedding: str | os.PathLike[str] | None = None) -> bool:
    """Whether a graph on disk is trained part by part; refused where several ranks are asked for what cannot be.

    A folder of one part, in one process, is a graph as any other; so is one for a model, or for options, that need the
    whole graph in one memory. What one of several ranks finds wrong is said once, for all.
    """
    from netfold.cluster.ranks import rank_of, start

    _, size = rank_of()
    if size == 1:
        return _is_spread(model, path, embedding, size)
    return start(model.device).together(lambda: _is_spread(model, path, embedding, size))


def _is_spread(
    model: Embedder, path: str | os.PathLike[str], embedding: str | os.PathLike[str] | None, size: int
) -> bool:
    from netfold.io.parts import PartsFolder, is_parts

    parts = PartsFolder.open(path, "graph") if is_parts(path) else None
    why = model._unspread(directed=parts is not None and parts.directed) or _attributed(model, path)
    if model.extends and (embedding is None or not is_parts(embedding)):
        why = why or "the embedding that it extends is not a folder of parts, as the graph is"
    if size > 1 and why:
        name = type(model).__name__
        raise InputError(f"{name} cannot be spread over {size} ranks: {why}; start it without torchrun")
    return size > 1 or (not why and parts is not None and len(parts) > 1)


def _attributed(model: Embedder, path: str | os.PathLike[str]) -> str:
    """Attributes are read with the whole graph, unless they weigh nothing."""
    from netfold.io.parts import PartsFolder, is_parts

    if not is_parts(path) or getattr(model, "attribute_weight", 1) == 0:
        return ""
    known = "attributes" in PartsFolder.open(path, "graph").facts
    return "the graph has attributes (attribute_weight=0 leaves them out)" if known else ""


def fit_parts(
    model: Embedder,
    path: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str] | None,
    checkpoint_every: float,
    progress: bool,
    on_epoch: Callable[[dict[str, float]], object] | None,
    embedding: str | os.PathLike[str] | None = None,
) -> None:
    """`Embedder.fit` for a folder of parts."""
    from netfold.cluster.checkpoints import ShardedCheckpoint
    from netfold.cluster.exchange import RankGraph
    from netfold.cluster.ranks import start
    from netfold.data.embedding import Embedding
    from netfold.io.parts import PartsFolder
    from netfold.learn.progress import Progress
    from netfold.learn.training import train

    ranks = start(model.device)
    folder = ranks.together(lambda: PartsFolder.open(path, "graph"))
    ranks.agree("version of netfold or torch", {p: version(p) for p in ("netfold", "torch")})
    ranks.agree("configuration", {"model": type(model).__name__, **config_to_json(model)})
    ranks.agree("graph", {"fingerprint": folder.fingerprint})
    if folder.n_nodes < 2 or folder.n_arcs == 0:
        raise InputError(
            f"{path} has {folder.n_nodes} node(s) and {folder.n_arcs} arcs; there is nothing to learn from"
        )
    graph = RankGraph(folder, ranks)
    graph.check()
    facts = {"fingerprint": folder.fingerprint, "n_nodes": folder.n_nodes, "directed": folder.directed}
    more: dict[str, Any] = {}
    if embedding is not None:
        extended = ranks.together(lambda: PartsFolder.open(embedding, "embedding"))
        ranks.agree("embedding", {"fingerprint": extended.fingerprint})
        facts["vectors"] = extended.fingerprint
        more["vectors"] = ranks.together(lambda: _own_vectors(graph, extended))
    run = {"model": type(model).__name__, "config": config_to_json(model), "graph": facts, "version": version()}
    bar = Progress(type(model).__name__) if progress and ranks.first else Progress.silent()
    saved = None if checkpoint is None else ShardedCheckpoint(checkpoint, run, graph, every=checkpoint_every)
    room = _room(model, graph, checkpoint, bar)
    problem = model._spread(graph, room, bar, resumed=saved is not None and saved.exists(), **more)
    model.history_ = train(
        problem.network,
        problem.batches,
        problem.blocks,
        epochs=model.epochs,
        schedule=problem.schedule,
        tolerance=problem.tolerance,
        patience=problem.patience,
        rows=folder.n_nodes,
        checkpoint=saved,
        progress=bar,
        on_epoch=on_epoch,
        before=problem.history,
        agree=ranks.most if ranks.size > 1 else None,
    )
    vectors = problem.network.embed()
    model.network_ = problem.network.own if ranks.size == 1 else problem.network
    model.network_.zero_grad(set_to_none=True)
    model.graph_facts_ = facts | problem.network.facts
    model.embedding_ = Embedding(graph.names(), vectors, fitted_to=folder.fingerprint)
    setattr(model, "_graph_parts", graph)  # noqa: B010


def known_rows(model: Embedder, nodes: Nodes) -> npt.NDArray[np.int64]:
    """The positions of nodes among those of all ranks, -1 where one is new; for models that place over ranks."""
    import numpy as np
    import torch

    graph: RankGraph = model._graph_parts
    if not model.extends:
        raise InputError(
            f"new nodes are placed by one process, and this {type(model).__name__} was fitted by {graph.ranks.size} "
            "ranks; fit it from the same checkpoint without torchrun"
        )
    own = model.embedding_.nodes.find(nodes)
    there = torch.from_numpy(np.where(own >= 0, own + graph.first + 1, 0))
    rows: npt.NDArray[np.int64] = (graph.ranks.sum_(there) - 1).numpy()
    return rows


def _own_vectors(graph: RankGraph, extended: PartsFolder) -> Any:
    """The vectors of a rank's nodes in an embedding of the same parts: m x d."""
    import numpy as np

    folder, vectors = graph.folder, []
    if extended.starts.tolist() != folder.starts.tolist():
        raise InputError(
            f"{extended.folder} has {extended.n_nodes:,} nodes in {len(extended)} parts, and {folder.folder} "
            f"{folder.n_nodes:,} in {len(folder)}; they need the same"
        )
    for p in graph.parts:
        extended.check(p)
        if extended.names(p) != folder.names(p):
            raise InputError(f"part {p} of {extended.folder} has other nodes than that of {folder.folder}")
        vectors.append(extended.arrays(p)["vectors"])
    own = np.concatenate([np.zeros((0, extended.facts["dim"]), np.float32), *vectors])
    if not np.isfinite(own).all():
        raise InputError(f"{extended.folder} holds numbers that are not finite")
    return own


def _room(model: Embedder, graph: RankGraph, checkpoint: Any, bar: Any) -> Any:
    """Memory, or files where the tables of this rank and its rows do not fit into what is left of it."""
    from netfold.cluster.room import Room, memory_left

    arcs, left = sum(graph.folder.files[p]["arcs"] for p in graph.parts), 0
    needed = model._part_bytes(graph.m, arcs, graph.ranks.size)
    if graph.ranks.device.type != "cpu" or needed <= (left := memory_left()):
        return Room()
    if not model.maps:
        bar.note("{:.2f} GiB are needed and {:.2f} GiB of memory are left: it may not fit")(
            needed / 2**30, left / 2**30
        )
        return Room()
    scratch = os.environ.get("NETFOLD_SCRATCH") or checkpoint or None
    where = Room(resident=False, scratch=scratch)
    bar.note("{:.2f} GiB are needed and {:.2f} GiB of memory are left: tables are mapped in {}, which is slower")(
        needed / 2**30, left / 2**30, where.scratch
    )
    return where


def save_vector_parts(model: Embedder, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write the vectors of a model that was fitted to parts as a folder of the same parts; all ranks together."""
    from netfold.io.files import staged_folder
    from netfold.io.parts import write_part, write_parts_manifest

    graph, vectors = model._graph_parts, model.embedding_.vectors
    ranks, folder, path = graph.ranks, graph.folder, Path(path)

    def written(stage: str) -> list[dict[str, Any]]:
        if not Path(stage).is_dir():
            raise InputError(f"{stage} is not seen here; the vectors need a folder that all hosts share")
        entries = []
        for p in graph.parts:
            own = slice(int(folder.starts[p]) - graph.first, int(folder.starts[p + 1]) - graph.first)
            arrays = {"vectors": vectors[own]}
            entries.append(write_part(Path(stage), p, folder.names(p), arrays, hashed=folder.hashed))
        return entries

    if not ranks.first:
        stage = ranks.first_says("")
        if stage:
            ranks.gather(ranks.together(lambda: written(stage)))
        ranks.together(lambda: None)
        return
    said = False

    def whole() -> None:
        nonlocal said
        with staged_folder(path, force=force) as stage:
            said = True
            ranks.first_says(str(stage))
            entries = [x for several in ranks.gather(ranks.together(lambda: written(str(stage)))) for x in several]
            facts = {"dim": int(vectors.shape[1]), "fitted_to": folder.fingerprint}
            write_parts_manifest(stage, "embedding", entries, folder.facts["names"], hashed=folder.hashed, **facts)

    try:
        whole()
    except InputError as e:
        if not said:
            ranks.first_says("")
        problem = e
        ranks.together(lambda: _raise(problem))
    ranks.together(lambda: None)


def _raise(e: InputError) -> None:
    raise e
