"""A fitted model as a folder, and back: a manifest and safetensors, no pickle. `Embedder.save` is `save`."""

from __future__ import annotations

import dataclasses
import os
import reprlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netfold._version import version
from netfold.embedder.embedder import Embedder
from netfold.embedder.options import config_from_json, config_to_json
from netfold.errors import InputError

if TYPE_CHECKING:
    import torch

    from netfold.data.nodes import Nodes

__all__ = ["load", "save"]

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
    with staged_folder(path, force=force) as folder:
        store.write_tensors(folder / TENSORS, tensors)
        store.write_records(folder / METRICS, model.history_)
        store.write_manifest(folder, "model", facts, [folder / TENSORS, folder / METRICS])


def load(path: str | os.PathLike[str]) -> Embedder:
    """A model that `save` wrote. Damaged, foreign or hostile folders are refused; nothing in them is executed."""
    import torch

    from netfold.data.embedding import Embedding
    from netfold.data.nodes import Nodes
    from netfold.io import tensors as store

    folder = Path(path)
    manifest = store.read_manifest(folder, "model")
    name = manifest.get("model")
    cls = Embedder.models.get(name.lower()) if isinstance(name, str) else None
    if cls is None:
        raise InputError(
            f"{folder} holds a {reprlib.repr(name)}, which is none of {', '.join(sorted(Embedder.models))}"
        )
    if {entry["name"] for entry in manifest["files"]} != {TENSORS, METRICS}:
        raise InputError(f"{folder} is damaged: its manifest does not list {TENSORS} and {METRICS}")
    try:
        model = cls(**config_from_json(cls, manifest["config"]))
        tensors = store.read_tensors(folder / TENSORS)
        nodes = Nodes(str(manifest["labels"]), {k[7:]: v for k, v in tensors.items() if k.startswith("labels.")})
        nodes.check_distinct()
        store.check_finite(folder / TENSORS, tensors)
        _check_layers(model, len(tensors))
        embedding = Embedding(nodes, tensors["vectors"], tensors.get("std"))
        model.graph_facts_ = _graph_facts(manifest["graph"], len(nodes), cls)
        fitted_to = manifest.get("fitted_to", model.graph_facts_.get("fingerprint"))
        model.embedding_ = dataclasses.replace(embedding, fitted_to=fitted_to)
        with torch.device("meta"):  # shapes without memory, so that no configuration asks for more than the file holds
            model.network_ = model._network(model.graph_facts_)
        state = {k[8:]: torch.from_numpy(v) for k, v in tensors.items() if k.startswith("network.")}
        _check_names(tensors, [f"network.{k}" for k in model.network_.state_dict()], nodes)
        model.network_.load_state_dict(_of_kinds(state, model.network_.state_dict()), assign=True)
        model.history_ = store.read_records(folder / METRICS)
    except (KeyError, TypeError, AttributeError, RuntimeError) as e:
        raise InputError(
            f"{folder} is damaged: its parts do not fit together ({' '.join(str(e).split())[:200]})"
        ) from None
    dim = model.dim or model.graph_facts_["dim"]  # a model that extends an embedding has that one's
    if model.embedding_.dim != dim:
        raise InputError(f"{folder} is damaged: its vectors have {model.embedding_.dim} numbers where dim={dim}")
    return model


def _check_layers(model: Embedder, n_tensors: int) -> None:
    """Refuse more layers than there are tensors, before a network is built of them."""
    longest = max((len(x) for x in model.get_params().values() if isinstance(x, (tuple, list))), default=0)
    if longest > n_tensors:
        raise TypeError(f"{longest:,} layers of {n_tensors:,} tensors")


def _check_names(tensors: Iterable[str], network: list[str], nodes: Nodes) -> None:
    known = {*network, *(f"labels.{k}" for k in nodes.arrays()), "vectors", "std"}
    unknown = [name for name in tensors if name not in known]
    if unknown:
        raise TypeError(f"{reprlib.repr(unknown[0])} is no part of it")


def _of_kinds(state: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The state, if it holds the kinds of numbers that the network does: `assign` would take any."""
    for name, x in state.items():
        if name in wanted and x.dtype != wanted[name].dtype:
            raise TypeError(f"{name} holds {x.dtype}, not {wanted[name].dtype}")
    return state


def _graph_facts(facts: Any, n_nodes: int, cls: type[Embedder]) -> dict[str, Any]:
    whole = isinstance(facts, dict) and facts.get("n_nodes") == n_nodes
    if not whole or not (cls.reads != "graph" or isinstance(facts["directed"], bool)):
        raise TypeError(f"its graph is described by {reprlib.repr(facts)}")
    return dict(facts)
