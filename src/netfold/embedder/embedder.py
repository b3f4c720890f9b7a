"""`Embedder`: what every model is. Hyper-parameters in, `fit`, `transform`, `save`; `store.load` gives one back."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from netfold._version import version
from netfold.data.text import listed
from netfold.embedder.options import Configured, attribute, config_to_json, new_names, option
from netfold.embedder.problem import Input, N, Problem, check_placed
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.data.nodes import Nodes
    from netfold.embedder.placing import KnownLinks, Placing
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
        """
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
        if "refine" in self._ways():
            self._choose_placing(data.graph)
        return self

    def transform(self, graph: Any, *, how: str | None = None, known: bool | Iterable[Any] = False) -> Embedding:
        """The vectors of the nodes of a later graph that `fit` never saw.

        `graph` holds the new nodes and their edges to known ones; what it says of known nodes is not read. `how` is
        "encode" (what the network makes of a new node), "refine" (the vector that the objective is least for, its
        parameters and the known vectors held fixed) or "mean" (of its known neighbors' vectors); None takes what `fit`
        chose by holding back links of known nodes, see `placing_`. With `known`, known nodes get the vectors that their
        links in `graph` give them: all of its nodes (True), or those that are listed.
        """
        import numpy as np

        from netfold.data.embedding import Embedding

        self._check_fitted()
        self._check_how(how)
        later = self._read(graph, later=True)
        at = self.embedding_.nodes.find(later.graph.nodes)
        placed = np.flatnonzero(at < 0)
        if known is not False:
            placed = self._also_known(later.graph.nodes, placed, known)
        if not len(placed):
            none = np.zeros((0, self.embedding_.dim), np.float32)
            return Embedding(later.graph.nodes.take(placed), none, None if self.embedding_.std is None else none)
        way = self._way(how)
        return self._extend(later, placed, at) if way.how == "encode" else self._place(later.graph, placed, at, way)

    @property
    def placing_(self) -> Placing:
        """How `transform` places new nodes: the way that `fit` chose on known nodes, and how well each way agreed."""
        from netfold.embedder.placing import Placing

        self._check_fitted()
        return Placing.from_facts(self.graph_facts_.get("placing"))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the fitted model as a folder: a manifest and safetensors. `nf.load` reads it back."""
        from netfold.embedder.store import save

        self._check_fitted()
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

    def _encode(self, links: KnownLinks) -> npt.NDArray[np.float32]:
        """For a model that chooses how: what its network makes of nodes with these links: vectors, and deviations."""
        raise NotImplementedError

    def _refine(self, links: KnownLinks, start: npt.NDArray[np.float32], weight: float) -> npt.NDArray[np.float32]:
        """For a model that chooses how: m x d where the objective is least, from a start, parameters held fixed.

        `weight` multiplies the first order, what neighbors' vectors say, against the second, what the row says.
        """
        raise NotImplementedError

    def _weights(self) -> tuple[float, ...]:
        """The weights of the first order that `fit` tries; none where the objective cannot be asked of one node."""
        return ()

    # ---------------------------------------------------------------- new nodes

    def _ways(self) -> tuple[str, ...]:
        """How it can place new nodes."""
        chooses = type(self)._encode is not Embedder._encode
        extends = type(self)._extend is not Embedder._extend
        own = ("encode", "refine") if chooses else ("encode",) if extends else ()
        return own if self.reads == "hypergraph" else (*own, "mean")

    def _way(self, how: str | None) -> Placing:
        from netfold.embedder.placing import Placing

        chosen = self.placing_
        return chosen if how is None else Placing(how, chosen.weight if how == chosen.how else 1.0)

    def _choose_placing(self, graph: Graph) -> None:
        """Choose on the known nodes of the fitted graph how new ones are to be placed."""
        from netfold.embedder.placing import KnownLinks, chosen_placing

        links = KnownLinks(graph.adjacency, graph.adjacency.T.tocsr() if graph.directed else None)
        chosen = chosen_placing(self, links, self._weights())
        self.graph_facts_ = self.graph_facts_ | {"placing": dataclasses.asdict(chosen)}

    def _place(
        self, graph: Graph, rows: npt.NDArray[np.int64], known: npt.NDArray[np.int64], way: Placing
    ) -> Embedding:
        """The vectors of some rows of a later graph, by the objective or as a mean."""
        import numpy as np

        from netfold.data.embedding import Embedding
        from netfold.embedder.placing import KnownLinks

        links = KnownLinks.of(graph.adjacency, rows, known, len(self.embedding_), directed=graph.directed)
        check_placed(type(self).__name__, graph.nodes, rows[np.diff(links.either.indptr) == 0])
        codes, dim = self._codes_by(way, links), self.embedding_.dim
        vectors = codes[:, :dim]
        if way.scale != 1:
            center = self._center()
            vectors = (center + way.scale * (vectors - center)).astype(np.float32)
        return Embedding(graph.nodes.take(rows), vectors, codes[:, dim:] if self.embedding_.std is not None else None)

    def _codes_by(self, way: Placing, links: KnownLinks) -> npt.NDArray[np.float32]:
        """What a way makes of nodes with these links: vectors, and deviations beside them: m x d."""
        from netfold.embedder.placing import mean_of_neighbors

        if way.how == "mean":
            return mean_of_neighbors(links.either, self.embedding_)
        encoded = self._encode(links)
        return encoded if way.how == "encode" else self._refine(links, encoded, way.weight)

    def _center(self) -> npt.NDArray[np.float32]:
        """The mean of the known vectors, made once for each embedding."""
        before = self.__dict__.get("_centered")
        if before is None or before[0] is not self.embedding_:
            before = self.__dict__["_centered"] = self.embedding_, self.embedding_.vectors.mean(axis=0)
        center: npt.NDArray[np.float32] = before[1]
        return center

    def _also_known(self, nodes: Nodes, new: npt.NDArray[np.int64], known: bool | Iterable[Any]) -> Any:
        """The rows of a later graph's new nodes, and of the known ones that are asked for."""
        import numpy as np

        if self.reaches == "path" or self.reads == "hypergraph":
            raise InputError(f"{type(self).__name__} places new nodes alone; known= is for models that read links")
        if isinstance(known, bool):
            return np.arange(len(nodes))
        return np.union1d(new, nodes.positions(list(known)))

    def _check_how(self, how: str | None) -> None:
        ways = self._ways()
        if how is not None and how not in ways:
            name = type(self).__name__
            raise InputError(f"how={how!r} is not a way in which {name} places new nodes; give {' or '.join(ways)}")

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


def _device(name: str) -> torch.device:
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' is not available on this machine; use device='auto' or 'cpu'")
    return torch.device(name)
