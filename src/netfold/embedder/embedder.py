"""`Embedder`: what every model is. Hyper-parameters in, `fit`, `transform`, `save`; `store.load` gives one back."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from netfold._version import version
from netfold.data.text import listed
from netfold.embedder.options import Configured, attribute, config_to_json, new_names, option
from netfold.embedder.problem import Input, N, Problem
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.learn.progress import Progress

__all__ = ["Embedder", "option"]


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class Embedder(Configured, Generic[N]):
    """A model with hyper-parameters that `fit` a graph and give its nodes vectors.

    A model adds options and five places, the methods below that begin with an underscore: what it reads, the problem
    that it makes of that, its network, how it embeds known nodes, and how it extends to new ones.
    """

    dim: int = option(128, "numbers per node: the width of the embedding", at_least=1)
    epochs: int = option(200, "passes over all nodes, at most", at_least=0)
    seed: int = option(0, "same seed, same machine, same threads: same bits", at_least=0)
    device: str = option(
        "auto", "where to compute; auto takes CUDA where there is one", choices=("auto", "cpu", "cuda")
    )

    _graph_parts: ClassVar[Any] = None
    """The parts that it was fitted to, on an instance that was."""
    models: ClassVar[dict[str, type[Embedder]]] = {}
    """Every model by its name on the command line."""
    reads: ClassVar[str] = "graph"
    """What it is fitted to: "graph" or "hypergraph"."""
    extends: ClassVar[bool] = False
    """Whether `fit` is given an embedding, which the model extends to new nodes."""
    reaches: ClassVar[str] = "neighbor"
    """Which new nodes it can place: those with a known "neighbor", or all with a "path" to known ones."""

    embedding_: Embedding = attribute("the vectors of the known nodes, a row each, by the nodes' names")
    history_: list[dict[str, float]] = attribute(
        "one record an epoch: its number, each term of the loss by its name, their sum `objective`, and seconds"
    )
    network_: N = attribute("the trained network, on the device that it was trained on")
    graph_facts_: dict[str, Any] = attribute(
        "what must be known of the graph after it is gone: its fingerprint, its size, and what the model adds"
    )

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        """Register a model by its name, unless it is abstract."""
        super().__init_subclass__()
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

        The path of a `.parts` folder is trained part by part, by as many processes as torchrun started; `embedding_`
        then has the nodes of this process's parts.
        """
        if isinstance(graph, (str, os.PathLike)):
            from netfold.embedder.parts import fit_parts, is_spread

            if embedding is None and is_spread(self, graph):
                more: dict[str, Any] = {"progress": progress, "on_epoch": on_epoch}
                fit_parts(self, graph, checkpoint=checkpoint, checkpoint_every=checkpoint_every, **more)
                return self
            graph = _loaded(graph)
        from netfold.learn.checkpoints import Checkpoint
        from netfold.learn.progress import Progress
        from netfold.learn.training import train

        data = self._read(graph, embedding)
        device = _device(self.device)
        bar = Progress(type(self).__name__) if progress else Progress.silent()
        run = {"model": type(self).__name__, "config": config_to_json(self), "graph": data.facts, "version": version()}
        renamed = functools.partial(new_names, type(self))
        saved = Checkpoint(checkpoint, run, every=checkpoint_every, renamed=renamed) if checkpoint is not None else None
        problem = self._problem(data, device, bar, resumed=saved is not None and saved.exists())
        history = train(
            problem.network,  # type: ignore[arg-type]
            problem.batches,
            problem.blocks,
            epochs=self.epochs,
            schedule=problem.schedule,
            tolerance=problem.tolerance,
            patience=problem.patience,
            rows=data.graph.n_nodes,
            checkpoint=saved,
            progress=bar,
            on_epoch=on_epoch,
        )
        problem.network.zero_grad(set_to_none=True)  # gradients are as large as the network, and of no more use
        self.network_, self.history_, self.graph_facts_ = problem.network, history, data.facts
        vectors = self._embed(data)
        self.embedding_ = dataclasses.replace(vectors, fitted_to=vectors.fitted_to or data.graph.fingerprint)
        return self

    def transform(self, graph: Any) -> Embedding:
        """The vectors of the nodes of a later graph that `fit` never saw.

        `graph` holds the new nodes and their edges to known ones; what it says of known nodes is not read.
        """
        import numpy as np

        from netfold.data.embedding import Embedding

        self._check_fitted()
        later = self._read(graph, later=True)
        known = self.embedding_.nodes.find(later.graph.nodes)
        new = np.flatnonzero(known < 0)
        if not len(new):
            none = np.zeros((0, self.embedding_.dim), np.float32)
            return Embedding(later.graph.nodes.take(new), none, None if self.embedding_.std is None else none)
        return self._extend(later, new, known)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the fitted model as a folder: a manifest and safetensors. `nf.load` reads it back.

        Of a model that was fitted to parts a name that ends in .parts holds the vectors alone, in the same parts.
        """
        from netfold.embedder.store import save

        self._check_fitted()
        graph = self._graph_parts
        if graph is not None and (graph.ranks.size > 1 or str(path).endswith(".parts")):
            from netfold.embedder.parts import save_vector_parts

            if not str(path).endswith(".parts"):
                raise InputError(
                    f"{path}: the vectors of several ranks are a folder of parts; let its name end in .parts"
                )
            save_vector_parts(self, path, force=force)
            return
        self._check_unchanged()
        save(self, path, force=force)

    # ---------------------------------------------------------------- for models: five places, and random numbers

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> Input[Any]:
        """What it makes of a user's graph, and of the embedding to be extended; refused where it cannot embed it.

        A `later` graph is read for its new nodes, by a fitted model: it must be of the sort that was fitted.
        """
        from netfold.data.graph import Graph

        known = Graph.of(graph)
        if known.n_nodes < 2:
            raise InputError(f"the graph has {known.n_nodes} node(s); at least 2 are needed")
        if known.n_edges == 0:
            raise InputError("the graph has no edges; there is nothing to learn from")
        if embedding is not None:
            raise InputError(f"{type(self).__name__} learns vectors of its own; embedding= is for DepthLGP")
        if later:
            self._check_direction(known)
        return Input(known)

    def _problem(self, data: Any, device: torch.device, progress: Progress, *, resumed: bool = False) -> Problem[N]:
        """What is trained, of what `_read` gave: the network, started on the CPU and then on its device, and batches.

        A run that is `resumed` from a checkpoint gets its parameters there: what it would cost to start them is saved.
        """
        raise NotImplementedError

    def _unspread(self) -> str:
        """Why this model, with these options, cannot be spread over ranks; nothing where it can."""
        return "its tables are read in steps of random nodes, and each step would wait for the network"

    def _spread(self, graph: Any, room: Any, *, resumed: bool = False) -> Problem[Any]:
        """`_problem` for the parts of a graph that a rank owns (`RankGraph`), where it can be spread."""
        raise NotImplementedError

    def _bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        """Bytes of memory that training takes for a rank with so many nodes and arcs.

        Here those of two tables with row-wise state and their vectors, and of a graph in memory: skip-gram.
        """
        return nodes * (8 * (self.dim or 128) + 4 * (self.dim or 128) + 16) + 24 * arcs

    def _state_bytes(self, nodes: int) -> int:
        """Bytes of a checkpoint."""
        return nodes * (8 * (self.dim or 128) + 8)

    def _sent(self, *, directed: bool) -> int:
        """Bytes that travel in an epoch for each row of another rank that is needed, there and back."""
        return 0

    def _smaller(self) -> list[dict[str, Any]]:
        """Options that would take less memory, the mildest first."""
        return [{"dim": self.dim // 2}] if self.dim and self.dim > 1 else []

    def _network(self, facts: dict[str, Any]) -> N:
        """The network for a graph of which these facts (`Input.facts`) are known, on the CPU, not yet started.

        They may come from a file: a TypeError where no graph can have them.
        """
        raise NotImplementedError

    def _embed(self, data: Any) -> Embedding:
        """The vectors of the known nodes, when the network is trained."""
        raise NotImplementedError

    def _extend(self, data: Any, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        """The vectors of the rows `new` of a later graph; `known` has each row's position in `fit`, or -1."""
        names, model = listed([data.graph.nodes[i] for i in new]), type(self).__name__
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
            wanted = self._network(self.graph_facts_).state_dict()
        if {k: v.shape for k, v in wanted.items()} != {k: v.shape for k, v in self.network_.state_dict().items()}:
            name = type(self).__name__
            raise InputError(f"this {name} was fitted with other options than {self!r}; set them back, or fit again")

    def _check_direction(self, graph: Graph) -> None:
        """Raise an `InputError` where a later graph has directions and the fitted one had none, or the reverse."""
        if graph.directed != self.graph_facts_["directed"]:
            fitted, this = ("an undirected", "directed") if graph.directed else ("a directed", "undirected")
            raise InputError(f"the model was fitted to {fitted} graph and this one is {this}")

    def _check_fitted(self) -> None:
        if not hasattr(self, "embedding_"):
            raise InputError(f"this {type(self).__name__} is not fitted yet; call fit(graph) first")


def _loaded(path: str | os.PathLike[str]) -> Any:
    from netfold.data.graph import Graph
    from netfold.io.parts import is_parts

    if not is_parts(path) and not os.path.exists(os.path.join(path, "graph.json")):  # noqa: PTH110, PTH118
        raise InputError(f"{path} is not a folder that Graph.save or netfold prepare wrote; nf.read_edges reads files")
    return Graph.load(path)


def _device(name: str) -> torch.device:
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' is not available on this machine; use device='auto' or 'cpu'")
    return torch.device(name)
