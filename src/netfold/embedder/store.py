"""A fitted model as a folder, and back: a manifest and safetensors, no pickle. `Embedder.save` is `save`."""

from __future__ import annotations

import dataclasses
import os
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from netfold._version import version
from netfold.embedder.embedder import Embedder
from netfold.embedder.options import config_from_json, config_to_json
from netfold.embedder.pair_score import is_pair_score
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.embedding import Embedding

__all__ = ["estimated_size", "load", "pair_score_at", "save"]

TENSORS, METRICS = "tensors.safetensors", "metrics.jsonl"
"""The files of a saved model beside its manifest."""


def save(model: Embedder, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a fitted model as a folder, whole or not at all; one that is there is replaced with `force`."""
    from netfold.io import tensors as store
    from netfold.io.files import staged_folder

    emb = model.embedding_
    tensors: dict[str, Any] = {f"network.{k}": v for k, v in model.network_.state_dict().items()}
    tensors |= {f"labels.{k}": v for k, v in emb.nodes.arrays().items()} | {"vectors": emb.vectors}
    if emb.std is not None:
        tensors["std"] = emb.std
    facts: dict[str, Any] = {"model": type(model).__name__, "config": config_to_json(model)}
    facts |= {"graph": model.graph_facts_, "fitted_to": emb.fitted_to}
    facts |= {"labels": emb.nodes.kind, "versions": {p: version(p) for p in ("netfold", "torch", "numpy", "scipy")}}
    facts |= {"pair_score": model.pair_score_} if hasattr(model, "pair_score_") else {}
    facts |= {"trials": model.trials_.to_dict()} if hasattr(model, "trials_") else {}
    with staged_folder(path, force=force) as folder:
        store.write_tensors(folder / TENSORS, tensors)
        store.write_records(folder / METRICS, model.history_)
        store.write_manifest(folder, "model", facts, [folder / TENSORS, folder / METRICS])


def estimated_size(model: Embedder, graph: Any, embedding: Any = None) -> int:
    """Bytes that `save` will write, at least, of a model that is fitted to this: nodes, vectors and the network."""
    import torch

    data = model._read(graph, embedding)
    with torch.device("meta"):
        network = model._network(data.facts).state_dict()
    dim = model.dim or data.facts["dim"]
    nodes = sum(array.nbytes for array in data.graph.nodes.arrays().values())
    numbers = sum(x.numel() * x.element_size() for x in network.values())
    return int(nodes + 4 * dim * data.graph.n_nodes + numbers)


@overload
def load(path: str | os.PathLike[str], *, only: None = None) -> Embedder: ...
@overload
def load(path: str | os.PathLike[str], *, only: Literal["embedding"]) -> Embedding: ...
@overload
def load(path: str | os.PathLike[str], *, version: int | None = None, at: str | None = None) -> Any: ...
def load(
    path: str | os.PathLike[str], *, only: str | None = None, version: int | None = None, at: str | None = None
) -> Any:
    """A model that `save` wrote. Damaged, foreign or hostile folders are refused; nothing in them is executed.

    With `only="embedding"` it is the model's `embedding_` alone, which is read without importing torch. With `version`,
    a number, with `at`, a day ("2026-11-01"), or as "MODEL@5" it is an `Evolving` of that version; without, the model
    as it was fitted.
    """
    from netfold.embedder.versions import split_version

    if version is not None or at is not None or split_version(path)[1] is not None:
        from netfold.embedder.evolving import Evolving

        evolving = Evolving.open(path, version=version, at=at)
        return evolving if only is None else evolving.embedding_
    from netfold.io import tensors as store

    if only not in (None, "embedding"):
        raise InputError(f"only={only!r} is no part that can be read alone; it is 'embedding', or None for the model")
    folder = Path(path)
    manifest = store.read_manifest(folder, "model", hashed=False)
    if {entry["name"] for entry in manifest["files"]} != {TENSORS, METRICS}:
        raise InputError(f"{folder} is damaged: its manifest does not list {TENSORS} and {METRICS}")
    try:
        return _model(folder, manifest) if only is None else _embedding(folder, manifest)
    except (KeyError, TypeError, AttributeError, RuntimeError) as e:
        raise InputError(
            f"{folder} is damaged: its parts do not fit together ({' '.join(str(e).split())[:200]})"
        ) from None


def _model(folder: Path, manifest: dict[str, Any]) -> Embedder:
    import torch

    from netfold.io import tensors as store

    name = manifest.get("model")
    cls = Embedder.models.get(name.lower()) if isinstance(name, str) else None
    if cls is None:
        raise InputError(
            f"{folder} holds a {reprlib.repr(name)}, which is none of {', '.join(sorted(Embedder.models))}"
        )
    try:
        model = cls(**config_from_json(cls, manifest["config"]))
    except InputError as e:
        raise InputError(f"{folder} is damaged, or of another version than {version('netfold')}: {e}") from None
    model.network_ = _check_shapes(model, manifest["graph"], store.tensor_shapes(folder / TENSORS))
    store.check_hashes(folder, manifest["files"])
    tensors = store.read_tensors(folder / TENSORS)
    store.check_finite(folder / TENSORS, tensors)
    model.embedding_, model.graph_facts_ = _vectors(manifest, tensors, cls.reads)
    state = {k[8:]: torch.from_numpy(v) for k, v in tensors.items() if k.startswith("network.")}
    model.network_.load_state_dict(state, assign=True)
    model.history_ = store.read_records(folder / METRICS)
    _chosen(model, manifest)
    return model


def _embedding(folder: Path, manifest: dict[str, Any]) -> Embedding:
    """The vectors of a model, which may be of a class that is not known here."""
    from netfold.io import tensors as store

    n, shapes = manifest["graph"]["n_nodes"], store.tensor_shapes(folder / TENSORS)
    own = {name: shape for name, (_, shape) in shapes.items() if not name.startswith("network.")}
    for name, shape in own.items():
        _check_part(name, shape, n, own["vectors"][-1])
    store.check_hashes(folder, manifest["files"])
    tensors = store.read_tensors(folder / TENSORS, own.__contains__)
    store.check_finite(folder / TENSORS, tensors)
    return _vectors(manifest, tensors, reads="any")[0]


def _vectors(manifest: dict[str, Any], tensors: dict[str, Any], reads: str) -> tuple[Embedding, dict[str, Any]]:
    """The embedding, and the facts of the graph that it is of."""
    from netfold.data.embedding import Embedding
    from netfold.data.nodes import Nodes

    nodes = Nodes(str(manifest["labels"]), {k[7:]: v for k, v in tensors.items() if k.startswith("labels.")})
    nodes.check_distinct()
    embedding = Embedding(nodes, tensors["vectors"], tensors.get("std"))
    facts = _graph_facts(manifest["graph"], len(nodes), reads)
    return dataclasses.replace(embedding, fitted_to=manifest.get("fitted_to", facts.get("fingerprint"))), facts


def _check_shapes(model: Embedder, facts: Any, shapes: dict[str, tuple[str, tuple[int, ...]]]) -> Any:
    """The network that a model of these facts has, without its numbers, if the file has tensors of just its shapes.

    This is looked at before anything is hashed or read: what a file holds is no more than the model that it describes.
    """
    import torch

    _check_layers(model, len(shapes))
    n = facts["n_nodes"]
    with torch.device("meta"):  # shapes without memory, so that no configuration asks for more than the file holds
        network = model._network(_graph_facts(facts, n, type(model).reads))
    wanted = {f"network.{name}": x for name, x in network.state_dict().items()}
    for name, (kind, shape) in shapes.items():
        if name in wanted:
            if shape != tuple(wanted[name].shape):
                raise TypeError(f"size mismatch: {name} is {shape}, not {tuple(wanted[name].shape)}")
            if f"torch.{kind}" != str(wanted[name].dtype):
                raise TypeError(f"{name} holds torch.{kind}, not {wanted[name].dtype}")
        else:
            _check_part(name, shape, n, model.dim or facts["dim"])
    return network


_NODE_ARRAYS = ("labels.ints", "labels.offsets", "labels.bytes")


def _check_part(name: str, shape: tuple[int, ...], n: int, dim: int) -> None:
    """Refuse a tensor that is none of nodes and vectors, or of another shape."""
    if name in ("vectors", "std"):
        _check_table(name, shape, n, dim)
    elif name not in _NODE_ARRAYS:
        raise TypeError(f"{reprlib.repr(name)} is no part of it")
    elif name != "labels.bytes" and shape not in ((n,), (n + 1,)):
        raise TypeError(f"{name} has the shape {shape} for {n:,} nodes")


def pair_score_at(path: str | os.PathLike[str]) -> str | None:
    """The score of pairs that was chosen with a saved model, read without it; None where none was."""
    from netfold.io import tensors as store

    if not (Path(path) / "manifest.json").exists():
        return None
    score = store.read_manifest(Path(path), "model", hashed=False).get("pair_score")
    return score if is_pair_score(score) else None


def _chosen(model: Embedder, manifest: dict[str, Any]) -> None:
    """What was chosen on the data, where anything was: the score of pairs, and the table of trials."""
    from netfold.embedder.trials import Trials

    if "pair_score" in manifest:
        if not is_pair_score(manifest["pair_score"]):
            raise TypeError(f"pairs are scored by {reprlib.repr(manifest['pair_score'])}")
        model.pair_score_ = manifest["pair_score"]
    if "trials" in manifest:
        model.trials_ = Trials.from_dict(manifest["trials"])


def _check_layers(model: Embedder, n_tensors: int) -> None:
    """Refuse more layers than there are tensors, before a network is built of them."""
    longest = max((len(x) for x in model.get_params().values() if isinstance(x, (tuple, list))), default=0)
    if longest > n_tensors:
        raise TypeError(f"{longest:,} layers of {n_tensors:,} tensors")


def _check_table(name: str, shape: tuple[int, ...], n: int, dim: int) -> None:
    if len(shape) != 2:
        raise TypeError(f"{name} has the shape {shape}")
    if shape[0] != n:
        raise TypeError(f"{name} has {shape[0]:,} rows for {n:,} nodes")
    if shape[1] != dim:
        raise TypeError(f"its vectors have {shape[1]} numbers where dim={dim}")


def _graph_facts(facts: Any, n_nodes: int, reads: str) -> dict[str, Any]:
    from netfold.embedder.placing import Placing

    whole = isinstance(facts, dict) and facts.get("n_nodes") == n_nodes
    if not whole or not (reads != "graph" or isinstance(facts["directed"], bool)):
        raise TypeError(f"its graph is described by {reprlib.repr(facts)}")
    Placing.from_facts(facts.get("placing"))
    return dict(facts)
