"""`Embedder`: what every model is. Hyper-parameters in, `fit`, `transform`, `save`; `loading.load` gives one back."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import reprlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from netfold.embedder.options import Configured, config_to_json, option
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.learn.progress import Progress
    from netfold.learn.training import Block

__all__ = ["METRICS", "TENSORS", "Embedder", "listed", "option"]

TENSORS, METRICS = "tensors.safetensors", "metrics.jsonl"
"""The files of a saved model beside its manifest."""
_SHOWN = 5
"""How many labels an error message lists."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class Embedder(Configured):
    """A model with hyper-parameters that `fit` a graph and give its nodes vectors.

    After `fit`: `embedding_` (an `Embedding` of the known nodes) and `history_` (one record of losses per epoch).
    A model adds options and the few methods below that begin with an underscore.
    """

    dim: int = option(128, "numbers per node: the width of the embedding", at_least=1)
    epochs: int = option(200, "passes over all nodes, at the most", at_least=0)
    seed: int = option(0, "same seed, same machine, same threads: same bits", at_least=0)
    device: str = option(
        "auto", "where to compute; auto takes CUDA where there is one", choices=("auto", "cpu", "cuda")
    )

    models: ClassVar[dict[str, type[Embedder]]] = {}
    """Every model by its name on the command line."""
    reads: ClassVar[str] = "graph"
    """What it is fitted to: "graph" or "hypergraph"."""
    extends: ClassVar[bool] = False
    """Whether `fit` is given an embedding, which the model extends to new nodes."""

    embedding_: Embedding = dataclasses.field(init=False)
    history_: list[dict[str, float]] = dataclasses.field(init=False)
    network_: torch.nn.Module = dataclasses.field(init=False)
    graph_facts_: dict[str, Any] = dataclasses.field(init=False)
    """What must be known of the graph after it is gone: its fingerprint, its size, and what the model adds."""

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        if not abstract:
            Embedder.models[cls.__name__.lower()] = cls

    # ---------------------------------------------------------------- for users

    def fit(
        self,
        graph: Any,
        embedding: Embedding | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 30.0,
        progress: bool = True,
        on_epoch: Callable[[dict[str, float]], object] | None = None,
    ) -> Self:
        """Learn vectors for the nodes of a graph: a `Graph`, or anything that `Graph.of` reads; DHNE a `Hypergraph`.

        `embedding` is for models that extend one (DepthLGP). With `checkpoint`, a folder, a run that was stopped goes
        on where it was, to the same result; states are at least `checkpoint_every` seconds apart. `on_epoch` is called
        with each epoch's record, and ends the training by returning True.
        """
        from netfold.learn.checkpoints import Checkpoint
        from netfold.learn.progress import Progress
        from netfold.learn.training import train

        known = self._read(graph)
        self._take(known, embedding)
        facts = {"fingerprint": known.fingerprint, "n_nodes": known.n_nodes, **self._facts(known)}
        device = _device(self.device)
        shown = Progress(type(self).__name__) if progress else Progress.silent()
        run = {"model": type(self).__name__, "config": config_to_json(self), "graph": facts, "version": _version()}
        saved = Checkpoint(checkpoint, run, every=checkpoint_every) if checkpoint is not None else None
        network = self._network_for(facts)
        if saved is None or not saved.exists():
            self._start(network, known, shown)
        network.to(device)
        history = train(
            network,  # type: ignore[arg-type]
            self._batches(known, network),
            self._blocks(network),
            epochs=self.epochs,
            rows=known.n_nodes,
            checkpoint=saved,
            progress=shown,
            on_epoch=on_epoch,
            **self._stopping(),
        )
        network.zero_grad(set_to_none=True)  # gradients are as large as the network, and of no more use
        self.network_, self.history_, self.graph_facts_ = network, history, facts
        made = self._embed(known)
        self.embedding_ = dataclasses.replace(made, fitted_to=made.fitted_to or known.fingerprint)
        return self

    def transform(self, graph: Any) -> Embedding:
        """The vectors of the nodes of a later graph that `fit` never saw.

        `graph` holds the new nodes and their edges to known ones; what it says of known nodes is not read.
        """
        import numpy as np

        from netfold.data.embedding import Embedding

        self._check_fitted()
        later = self._read(graph)
        self._check_later(later)
        known = self.embedding_.nodes.find(later.nodes)
        new = np.flatnonzero(known < 0)
        if not len(new):
            none = np.zeros((0, self.embedding_.dim), np.float32)
            return Embedding(later.nodes.take(new), none, None if self.embedding_.std is None else none)
        return self._extend(later, new, known)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the fitted model as a folder: a manifest and safetensors. `nf.load` reads it back."""
        from netfold.io import tensors as store
        from netfold.io.files import staged_folder

        self._check_fitted()
        self._check_unchanged()
        emb = self.embedding_
        tensors: dict[str, Any] = {f"network.{k}": v for k, v in self.network_.state_dict().items()}
        tensors |= {f"labels.{k}": v for k, v in emb.nodes.arrays().items()} | {"vectors": emb.vectors}
        if emb.std is not None:
            tensors["std"] = emb.std
        facts: dict[str, Any] = {"model": type(self).__name__, "config": config_to_json(self)}
        facts |= {"graph": self.graph_facts_, "fitted_to": emb.fitted_to}
        facts |= {
            "labels": emb.nodes.kind,
            "versions": {p: _version(p) for p in ("netfold", "torch", "numpy", "scipy")},
        }
        with staged_folder(path, force=force) as folder:
            store.write_tensors(folder / TENSORS, tensors)
            store.write_records(folder / METRICS, self.history_)
            store.write_manifest(folder, "model", facts, [folder / TENSORS, folder / METRICS])

    # ---------------------------------------------------------------- for models

    def _read(self, graph: Any) -> Graph:
        """The graph (a `Hypergraph`, where the model reads those), refused where this model cannot embed it."""
        from netfold.data.graph import Graph

        found = Graph.of(graph)
        if found.n_nodes < 2:
            raise InputError(f"the graph has {found.n_nodes} node(s); at least 2 are needed")
        if found.n_edges == 0:
            raise InputError("the graph has no edges; there is nothing to learn from")
        return found

    def _take(self, graph: Any, embedding: Any) -> None:
        """Keep the embedding that is to be extended; a model that learns its own is not given one."""
        if embedding is not None:
            raise InputError(f"{type(self).__name__} learns vectors of its own; embedding= is for DepthLGP")

    def _facts(self, graph: Any) -> dict[str, Any]:
        """What more is kept of the graph, as json holds it: enough for `_network_for` and `_check_later`."""
        return {"directed": graph.directed}

    def _check_facts(self, facts: dict[str, Any]) -> None:
        """Raise a TypeError where `_facts` cannot have made what a file says."""
        if not isinstance(facts.get("directed"), bool):
            raise TypeError(f"its graph is described by {reprlib.repr(facts)}")

    def _check_later(self, graph: Any) -> None:
        """Raise an `InputError` where a later graph is not of the sort that was fitted."""
        if graph.directed != self.graph_facts_["directed"]:
            fitted, given = ("an undirected", "directed") if graph.directed else ("a directed", "undirected")
            raise InputError(f"the model was fitted to {fitted} graph and this one is {given}")

    def _network_for(self, facts: dict[str, Any]) -> torch.nn.Module:
        """The network for a graph of which these facts are known."""
        return self._network(facts["n_nodes"])

    def _network(self, n_nodes: int) -> torch.nn.Module:
        """The network for a graph of this size, on the CPU, its parameters not yet started."""
        raise NotImplementedError

    def _start(self, network: Any, graph: Any, progress: Progress) -> None:
        """Give the parameters their first values: from `self._generator()`, and by pre-training."""
        raise NotImplementedError

    def _batches(self, graph: Any, network: Any) -> Callable[[int], Iterable[Any]]:
        """The batches of each epoch; a function of the epoch and the seed alone."""
        raise NotImplementedError

    def _blocks(self, network: Any) -> list[Block]:
        """Which parameters are stepped together, and how."""
        raise NotImplementedError

    def _stopping(self) -> dict[str, Any]:
        """The schedule and early stopping for `train`."""
        return {}

    def _embed(self, graph: Any) -> Embedding:
        """The vectors of the known nodes."""
        raise NotImplementedError

    def _extend(self, graph: Any, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        """The vectors of the rows `new` of a later graph; `known` has each row's position in `fit`, or -1."""
        names, model = listed([graph.nodes[i] for i in new]), type(self).__name__
        raise InputError(f"{names}: {model} has no vectors for new nodes; fit DepthLGP to this embedding for those")

    def _generator(self, *stream: int) -> torch.Generator:
        """A private stream of random numbers for this seed; the global state is never touched."""
        import numpy as np
        import torch

        words = np.random.SeedSequence([self.seed, *stream]).generate_state(2, np.uint64)
        return torch.Generator().manual_seed(int(words[0] >> np.uint64(1)))

    def _check_unchanged(self) -> None:
        """Refuse options, set after `fit`, of which another network would be made than the fitted one."""
        import torch

        with torch.device("meta"):
            wanted = self._network_for(self.graph_facts_).state_dict()
        if {k: v.shape for k, v in wanted.items()} != {k: v.shape for k, v in self.network_.state_dict().items()}:
            name = type(self).__name__
            raise InputError(f"this {name} was fitted with other options than {self!r}; set them back, or fit again")

    def _check_fitted(self) -> None:
        if not hasattr(self, "embedding_"):
            raise InputError(f"this {type(self).__name__} is not fitted yet; call fit(graph) first")


def listed(labels: list[Any]) -> str:
    """A few labels for an error message."""
    more = f" and {len(labels) - _SHOWN:,} more" if len(labels) > _SHOWN else ""
    return ", ".join(repr(x) for x in labels[:_SHOWN]) + more


def _device(name: str) -> torch.device:
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' is not available on this machine; use device='auto' or 'cpu'")
    return torch.device(name)


def _version(package: str = "netfold") -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
