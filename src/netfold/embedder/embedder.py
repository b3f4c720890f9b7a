"""`Embedder`: what every model is. Hyper-parameters in, `fit`, `transform`, `save`; `store.load` gives one back."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from netfold._version import version
from netfold.data.text import counted, html_box, html_facts, listed, svg_curves
from netfold.embedder.options import Configured, config_to_json, holds, new_names, option, options
from netfold.embedder.problem import HEAVY, Input, N, Problem, check_placed, weight_unit_of
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.data.nodes import Nodes
    from netfold.embedder.placing import KnownLinks, Placing
    from netfold.embedder.settling import NodeCodes
    from netfold.embedder.trials import Trials
    from netfold.learn.progress import Progress
    from netfold.show.report import Page

__all__ = [
    "Computed",
    "Embedder",
    "device_named",
    "loss_curves",
    "option",
    "threads_for",
]

_log = logging.getLogger(__name__)


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
    counted: ClassVar[bool] = False
    """Whether `_bytes` counts all that it takes, within a quarter of what is measured; if not, its tables alone."""
    maps: ClassVar[bool] = False
    """Whether its tables can be files that are mapped, where memory is too small for a folder of parts."""
    reaches: ClassVar[str] = "neighbor"
    """Which new nodes it can place: those with a known "neighbor", or all with a "path" to known ones."""
    regresses_isolated: ClassVar[bool] = False
    """Whether nodes with attributes and no links are placed at the fit as later ones are: by what attributes say of the
    vectors of linked nodes. A model whose encoder reads both places them by that."""

    features: ClassVar[bool] = False
    """Whether each column says something of its own, so that a classifier wants all at deviation 1, not vectors at
    length 1."""

    encodes_out_links: ClassVar[bool] = False
    """Whether its encoder reads, of a directed graph, the links that leave a node alone."""

    free_vectors: ClassVar[bool] = False
    """Whether its vectors are parameters, each free to be anything, and not what a network makes of some."""

    embedding_: Embedding = dataclasses.field(
        init=False, metadata=holds("the vectors of the known nodes, a row each, by the nodes' names")
    )
    history_: list[dict[str, float]] = dataclasses.field(
        init=False,
        metadata=holds(
            "one record an epoch: its number, each term of the loss by its name, their sum `objective`, and seconds"
        ),
    )
    network_: N = dataclasses.field(
        init=False, metadata=holds("the trained network, on the device that it was trained on")
    )
    graph_facts_: dict[str, Any] = dataclasses.field(
        init=False,
        metadata=holds(
            "what must be known of the graph after it is gone: its fingerprint, its size, and what the model adds"
        ),
    )

    pair_score_: str = dataclasses.field(
        init=False,
        metadata=holds(
            "how pairs of nodes are scored, where that was chosen on the data (auto, compare, fit --choose-score); "
            "every later command scores them so"
        ),
    )
    trials_: Trials = dataclasses.field(
        init=False,
        metadata=holds("what was tried before this model was chosen (auto), as a table; not set by `fit` alone"),
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
        embedding: Embedding | str | os.PathLike[str] | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 30.0,
        progress: bool = True,
        on_epoch: Callable[[dict[str, float]], object] | None = None,
        callbacks: Iterable[Any] | None = None,
    ) -> Self:
        """Learn vectors for the nodes of a graph: a `Graph`, or anything that `Graph.of` reads; DHNE a `Hypergraph`.

        The name of a file is read by `read_edges` with its defaults, for DHNE by `read_hyperedges`.

        `embedding` is for models that extend one (DepthLGP). With `checkpoint`, a folder, a run that was stopped goes
        on where it was, to the same result; states are at least `checkpoint_every` seconds apart. One that ended goes
        on with more `epochs`: learning rates then follow the new total, so that the result is that of an unbroken run
        where `schedule` is constant, and near it where not. `on_epoch` is called with each epoch's record, and ends
        the training by returning True; `callbacks` are told of the beginning and the end too
        (`nf.callbacks.Callback`), as those for TensorBoard and MLflow are. What happens is logged by the logger
        "netfold", too.

        The path of a `.parts` folder is trained part by part, by as many processes as torchrun started; `embedding_`
        then has the nodes of this process's parts. An embedding to be extended is then such a folder, too.
        """
        if self._is_spread(graph, embedding):
            from netfold.embedder.parts import fit_parts

            more: dict[str, Any] = {"progress": progress, "on_epoch": on_epoch, "embedding": embedding}
            fit_parts(self, graph, checkpoint=checkpoint, checkpoint_every=checkpoint_every, **more)
            return self
        from netfold.embedder.callbacks import listening
        from netfold.learn.progress import part

        start = time.perf_counter()
        with part("reading"):
            data = self._read(self._opened(graph), self._opened_embedding(embedding))
        _log.info("fit %r to %r", self, data.graph)
        for chosen in ("pair_score_", "trials_"):  # on other data than these
            vars(self).pop(chosen, None)
        with threads_for(data.graph), listening(self, data.facts, callbacks, on_epoch) as hook:
            self._train(data, checkpoint, checkpoint_every, progress, hook)
            with part("vectors"):
                vectors = self._embed(data)
                self.embedding_ = dataclasses.replace(vectors, fitted_to=vectors.fitted_to or data.graph.fingerprint)
            if data.attributes is not None:
                with part("attributes"):
                    self._regress(data)
            if "refine" in self._ways():
                with part("placing"):
                    self._choose_placing(data)
        done, last = len(self.history_), self.history_[-1] if self.history_ else {}
        seconds, objective = time.perf_counter() - start, last.get("objective", math.nan)
        _log.info("%s: %d epochs in %.1f s, objective %.6g", type(self).__name__, done, seconds, objective)
        return self

    def _train(
        self,
        data: Any,
        checkpoint: str | os.PathLike[str] | None,
        every: float,
        progress: bool,
        hook: Callable[[dict[str, float]], object],
    ) -> None:
        """Train a network for what was read: `network_`, `history_` and `graph_facts_`."""
        from netfold.learn.checkpoints import Checkpoint
        from netfold.learn.progress import Progress, part
        from netfold.learn.training import train

        device = device_named(self.device)
        bar = Progress(type(self).__name__) if progress else Progress.silent()
        _say_that_threads_spin(bar)
        if data.weight_unit is not None:
            bar.note("weights are read as log(1 + w / {:g}), the median (weight_scale='plain': as they are)")(
                data.weight_unit
            )
        sized = type(self)()._sized(data)
        later = {o.name: o.plain(o.default) for o in options(type(self))}  # of what checkpoints of before do not have

        def of_now(config: Mapping[str, Any]) -> dict[str, Any]:
            """Options by the names of now; what is chosen by size is written out, as it was before it was chosen so."""
            now = later | new_names(type(self), config)
            return now | {name: value for name, value in sized.items() if now[name] is None}

        config = of_now(config_to_json(self))
        run = {"model": type(self).__name__, "config": config, "graph": data.facts, "version": version()}
        saved = None
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, run, every=every, renamed=of_now, free=("epochs",))
        enough, looks = self._enough(data, device, bar)
        with part("start"):
            problem = self._problem(data, device, bar, resumed=saved is not None and saved.exists())

        def stop(record: dict[str, float]) -> bool:
            ended = hook(record) is True
            return ended or (looks is not None and record["epoch"] >= enough)

        history = train(
            problem.network,  # type: ignore[arg-type]
            problem.batches,
            problem.blocks,
            epochs=self._epochs(data) if enough else 0,
            schedule=problem.schedule,
            tolerance=problem.tolerance if looks is None else 0.0,
            patience=problem.patience,
            rows=data.graph.n_nodes,
            checkpoint=saved,
            progress=bar,
            on_epoch=stop,
            before=problem.history,
        )
        problem.network.zero_grad(set_to_none=True)  # gradients are as large as the network, and of no more use
        self.network_, self.history_, self.graph_facts_ = problem.network, history, data.facts
        if looks is not None:
            self.graph_facts_ = self.graph_facts_ | {"held_out": {str(epoch): auc for epoch, auc in looks.items()}}

    def _epochs(self, data: Any) -> int:
        """How many passes over what was read, at most."""
        return self.epochs

    def resolved(self, graph: Any) -> Embedder[Any]:
        """A model whose options that are chosen by the size of a graph are written out; itself where none is."""
        return self

    def _sized(self, data: Any) -> dict[str, Any]:
        """What stands in the place of None in options that are chosen by the size of what was read; others as set."""
        return {}

    def _enough(self, data: Any, device: torch.device, bar: Progress) -> tuple[int, dict[int, float] | None]:
        """After how many epochs training ends; with the AUC of held-out links by epochs, where those say so."""
        share = self._held_out(data)
        if not share or not self.epochs:
            return self._epochs(data), None
        from netfold.embedder.stopping import best_epochs, held_out_in_words
        from netfold.learn.progress import part

        with part("held-out links"):
            looks = best_epochs(self, data.graph, share, device, bar.of("without held-out links"))
        if not looks:
            return self._epochs(data), None
        best = max(looks, key=lambda x: looks[x])
        taken = "so many are taken" if best else "the start is taken (held_out=0 trains all the same)"
        bar.note("{}; {}", warning=not best)(held_out_in_words(looks), taken)
        return best, looks

    def _held_out(self, data: Any) -> float:
        """The share of the links that says when to stop; 0: none does."""
        share: float | None = getattr(self, "held_out", None)
        return share or 0.0

    @property
    def held_out_(self) -> dict[int, float]:
        """AUC of held-out links by the number of epochs before it, 0 being the start; empty where none was held out."""
        self._check_fitted()
        return {int(epoch): auc for epoch, auc in self.graph_facts_.get("held_out", {}).items()}

    def transform(self, graph: Any, *, how: str | None = None, known: bool | Iterable[Any] = False) -> Embedding:
        """The vectors of the nodes of a later graph that `fit` never saw.

        `graph` holds the new nodes and their edges, with known ones and among themselves; what it says of known nodes
        is not read. `how` is "encode" (what the network makes of a new node, by known neighbors alone), "refine" (the
        vector that the objective is least for, its parameters and the known vectors held fixed) or "mean" (of its
        neighbors' vectors); None takes what `fit` chose by holding back links of known nodes, see `placing_`. With
        `known`, known nodes get the vectors that their links in `graph` give them: all that have links with known nodes
        there (True), or those that are listed.
        """
        import numpy as np

        from netfold.data.embedding import Embedding

        self._check_fitted()
        self._check_how(how)
        later = self._read(self._opened(graph, directed=self.graph_facts_.get("directed", False)), later=True)
        at = self._known_rows(later.graph.nodes)
        placed = np.flatnonzero(at < 0)
        _log.info("%s: %d of %d nodes are new", type(self).__name__, len(placed), len(at))
        if known is not False:
            placed = self._also_known(later, at, known, how or self.placing_.how)
        if not len(placed):
            none = np.zeros((0, self.embedding_.dim), np.float32)
            return Embedding(later.graph.nodes.take(placed), none, None if self.embedding_.std is None else none)
        with threads_for(later.graph):
            if how == "encode":
                return self._extend(later, placed, at)
            return self._placed_rows(later, placed, at, self._way(how))

    def _known_rows(self, nodes: Nodes) -> npt.NDArray[np.int64]:
        """The positions of nodes among those that were fitted, -1 where one is new."""
        graph = self._graph_parts
        if graph is None or graph.ranks.size == 1:
            return self.embedding_.nodes.find(nodes)
        from netfold.embedder.parts import known_rows

        return known_rows(self, nodes)

    @property
    def placing_(self) -> Placing:
        """How `transform` places new nodes: the way that `fit` chose on known nodes, and how well each way agreed."""
        from netfold.embedder.placing import Placing

        self._check_fitted()
        return Placing.from_facts(self.graph_facts_.get("placing"))

    def fit_transform(self, graph: Any, y: Any = None, **options: Any) -> Any:
        """Fit, and give the known nodes' vectors in the graph's order: an array, n x dim, as a `Pipeline` passes on.

        `options` are those of `fit`; y is not read. A table where `set_output` says so. `nf.NodeVectors` is for tools
        that split: there X is an array of nodes.
        """
        from netfold.embedder.scikit import as_output

        self.fit(graph, **options)
        return as_output(self, self.embedding_)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """The names of the columns that `fit_transform` gives, for scikit-learn: sdne0, sdne1, ..."""
        import numpy as np

        self._check_fitted()
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self.embedding_.dim)], dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Let `fit_transform` give a table: "pandas", with the nodes as its index, or "polars"; "default": an array."""
        if transform not in (None, "default", "pandas", "polars"):
            raise InputError(f"transform={transform!r} is not one of default, pandas, polars")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def __sklearn_tags__(self) -> Any:
        from netfold.embedder.scikit import transformer_tags

        return transformer_tags()

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name):
            """Asked for what is not there: of what `fit` makes, the error says so."""
            unfitted = name in ("embedding_", "history_", "network_", "graph_facts_")
            said = "; it is not fitted yet, call fit(graph)" if unfitted else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{said}", name=name, obj=self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")

    def suggest(self, graph: Any, k: int = 1000, *, node: Any = None, score: str | None = None) -> list[Any]:
        """The k best pairs that `graph` does not link: (node, node, score), the best first, by the model's own score.

        Both directions of a directed graph; between the sides alone of a bipartite one; with `node`, pairs of that
        one. `nf.evaluate.suggest` says more, and does the same for an `Embedding`.
        """
        from netfold.evaluate.suggestions import suggest

        self._check_fitted()
        return suggest(self, graph, k, node=node, score=score)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the fitted model as a folder: a manifest and safetensors. `nf.load` reads it back.

        Of a model that was fitted to parts a name that ends in .parts holds the vectors alone, in the same parts.
        """
        from netfold.embedder.store import save

        self._check_fitted()
        graph = self._graph_parts
        if graph is not None and (graph.ranks.size > 1 or str(path).endswith(".parts")):
            from netfold.embedder.parts import save_vector_parts

            if self.extends:
                raise InputError(
                    f"{path}: the vectors are those that {type(self).__name__} was given; what ranks have learned is "
                    "in the checkpoint, from which one process goes on and saves a model, as NAME.netfold"
                )
            if not str(path).endswith(".parts"):
                raise InputError(
                    f"{path}: the vectors of several ranks are a folder of parts; let its name end in .parts"
                )
            save_vector_parts(self, path, force=force)
            return
        self._check_unchanged()
        save(self, path, force=force)

    @staticmethod
    def _opened_embedding(embedding: Any) -> Any:
        if not isinstance(embedding, (str, os.PathLike)):
            return embedding
        from netfold.data.embedding import Embedding

        return Embedding.load(embedding)

    def _is_spread(self, graph: Any, embedding: Any) -> bool:
        """Whether this is the path of a folder of parts that is trained part by part, and so that of an embedding."""
        if not isinstance(graph, (str, os.PathLike)) or not isinstance(embedding, (str, os.PathLike, type(None))):
            return False
        from netfold.embedder.parts import is_spread

        return is_spread(self, graph, embedding)

    def _opened(self, graph: Any, *, directed: bool = False) -> Any:
        """What is in a file, where its name is given; all else as it is."""
        from netfold.io.edges import read_if_named

        return read_if_named(graph, self.reads, directed=directed)

    def show(
        self, graph: Any = None, classes: Mapping[str, Mapping[Any, Any]] | None = None, *, evaluate: bool = False
    ) -> Page:
        """The report in the cell of a notebook: a map to move about in, losses, parameters; no network is needed.

        With the `graph` (or hypergraph) nodes can be coloured by degree and, if `evaluate`, the model is measured
        beside cheap baselines; `classes` has columns of {node: class} by name. `nf.report.write` makes a file of it.
        """
        from netfold.show.report import Page, Sheet

        self._check_fitted()
        sheet = Sheet(type(self).__name__, self, graph, classes or {})
        return Page([sheet], evaluate=evaluate)

    def _repr_html_(self) -> str:
        """What a notebook shows: the options that were set, what was learned of what, and the curves of the loss."""
        if not hasattr(self, "embedding_"):
            return html_box(repr(self), html_facts([("fitted", "not yet: call fit(graph)")]))
        curves, last = loss_curves(self.history_), self.history_[-1] if self.history_ else {}
        rows: list[tuple[str, Any]] = [("vectors", repr(self.embedding_)), ("epochs", f"{len(self.history_):,}")]
        rows += [(name, f"{last[name]:.4g} after the last epoch") for name in curves if name in last]
        rows += [("seconds", f"{sum(x.get('seconds', 0.0) for x in self.history_):.1f}")]
        return html_box(repr(self), html_facts(rows), svg_curves(curves))

    # ---------------------------------------------------------------- for models: five places, and random numbers

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> Input[Any]:
        """What it makes of a user's graph, and of the embedding to be extended; refused where it cannot embed it.

        A `later` graph is read for its new nodes, by a fitted model: it must be of the sort that was fitted.
        """
        from netfold.data.graph import Graph
        from netfold.embedder.attributes import attribute_rows, later_attribute_rows

        known = Graph.of(graph)
        if embedding is not None:
            raise InputError(f"{type(self).__name__} learns vectors of its own; embedding= is for DepthLGP")
        rows = later_attribute_rows(self, known) if later else None
        if rows is None:  # a node of which something else is known needs no links
            if known.n_nodes < 2:
                raise InputError(f"the graph has {counted(known.n_nodes, 'node')}; at least 2 are needed")
            if known.n_edges == 0:
                raise InputError("the graph has no edges; there is nothing to learn from")
        if later and known.n_edges:
            self._check_direction(known)
        unit = self._weight_unit(known, later=later)
        return Input(
            known.with_logarithms(unit), attributes=rows if later else attribute_rows(self, known), weight_unit=unit
        )

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

    def _generator(self, *stream: int) -> torch.Generator:
        """A private stream of random numbers for this seed; the global state is never touched."""
        import numpy as np
        import torch

        words = np.random.SeedSequence([self.seed, *stream]).generate_state(2, np.uint64)
        return torch.Generator().manual_seed(int(words[0] >> np.uint64(1)))

    # ---------------------------------------------------------------- for models that can do more

    def _weight_unit(self, graph: Graph, *, later: bool) -> float | None:
        """u, where it reads log(1 + w / u) in the place of weights w; None where it reads them as they are.

        A later graph is read as the fitted one was.
        """
        from netfold.data.edges import median_weight

        scale, weights = getattr(self, "weight_scale", "plain"), graph.adjacency.data
        if later:
            return weight_unit_of(self.graph_facts_)
        if scale == "plain" or not len(weights):
            return None
        median = median_weight(weights)
        return median if scale == "log" or float(weights.max()) >= HEAVY * median else None

    def _reads_attributes(self) -> bool:
        """Whether it reads, with these options, what is known about nodes beside their links."""
        return False

    def _read_attributes(self, graph: Graph) -> Input[Any]:
        """A later graph, and of it what the model reads beside its links; its links may be any."""
        from netfold.embedder.attributes import later_attribute_rows

        return Input(graph, attributes=later_attribute_rows(self, graph))

    def _encode(self, links: KnownLinks) -> npt.NDArray[np.float32]:
        """For a model that chooses how: what its network makes of nodes with these links, m x d; and deviations."""
        raise NotImplementedError

    def _refine(
        self,
        links: KnownLinks,
        start: npt.NDArray[np.float32],
        weight: float,
        placed: npt.NDArray[np.float32] | None = None,
    ) -> npt.NDArray[np.float32]:
        """For a model that chooses how: m x d where the objective is least, from a start, parameters held fixed.

        `weight` multiplies the first order, what neighbors' vectors say, against the second, what the row says.
        `placed`: where those are that `links.among` leads to; they count in the first order as known neighbors do.
        """
        raise NotImplementedError

    def _weights(self) -> tuple[float, ...]:
        """The weights of the first order that `fit` tries; none where the objective cannot be asked of one node."""
        return ()

    def _codes(self, network: N, data: Any) -> NodeCodes:
        """For a model that can be settled: from rows of a graph to what the network makes of these nodes: m x w.

        w is the width of `embedding_.coordinates`; gradients are those of the network's parameters.
        """
        raise NotImplementedError

    def _begin(
        self, network: N, known: npt.NDArray[np.int64], placed: npt.NDArray[np.float32], there: npt.NDArray[np.bool_]
    ) -> None:
        """Where new nodes begin when it is settled, in a network that has 0 for them: nothing but that, as a rule.

        `known` has each node's row of before, or -1; of the latter `placed` has the coordinates, where `there` are any.
        """

    def _unspread(self, *, directed: bool = False) -> str:
        """Why this model, with these options, cannot be spread over ranks; nothing where it can."""
        return "its tables are read in steps of random nodes, and each step would wait for the network"

    def _spread(self, graph: Any, room: Any, progress: Any, *, resumed: bool = False) -> Problem[Any]:
        """`_problem` for the parts of a graph that a rank owns (`RankGraph`), where it can be spread."""
        raise NotImplementedError

    def _bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        """Bytes of memory that training takes for a rank with so many nodes and arcs.

        Here those of two tables with row-wise state and their vectors, and of a graph in memory: skip-gram.
        """
        return nodes * (8 * (self.dim or 128) + 4 * (self.dim or 128) + 16) + 24 * arcs

    def _part_bytes(self, nodes: int, arcs: int, ranks: int = 1) -> int:
        """The same where parts are fitted: as a rule as many."""
        return self._bytes(nodes, arcs, ranks)

    def _state_bytes(self, nodes: int) -> int:
        """Bytes of a checkpoint."""
        return nodes * (8 * (self.dim or 128) + 8)

    def _steps(self, nodes: int) -> int:
        """Steps of an epoch over all nodes, where each brings the rows of others that it names."""
        return 1

    def _sent(self, *, directed: bool) -> int:
        """Bytes that travel in a step for each row of another rank that is needed, there and back."""
        return 0

    def _sent_in_epoch(self, degrees: Any, ranks: int) -> float | None:
        """Bytes that a rank sends in an epoch of a graph with such degrees; None: `_sent` for each row it needs."""
        return None

    def _in_flight(self, *, directed: bool) -> float:
        """Bytes that a rank holds for each row that it needs of one peer, at its peak.

        Of that peer and the next, rows that come, rows that go, and gradients: of SDNE six widths, where it sends five.
        """
        return 1.2 * self._sent(directed=directed)

    def _smaller(self) -> list[dict[str, Any]]:
        """Options that would take less memory, the mildest first."""
        return [{"dim": self.dim // 2}] if self.dim and self.dim > 1 else []

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

    def _choose_placing(self, data: Input[Any]) -> None:
        """Choose on the known nodes of the fitted graph how new ones are to be placed."""
        from netfold.embedder.placing import KnownLinks, chosen_placing

        graph = data.graph

        links = KnownLinks(graph.adjacency, graph.adjacency.T.tocsr() if graph.directed else None, data.block)
        chosen = chosen_placing(self, links, self._weights())
        self.graph_facts_ = self.graph_facts_ | {"placing": dataclasses.asdict(chosen)}

    def _regress(self, data: Input[Any]) -> None:
        """Learn where nodes belong of which only attributes are known; see `regresses_isolated`."""
        import numpy as np

        from netfold.embedder.attributes import regress, taken

        emb, block = self.embedding_, data.block
        assert block is not None
        codes = emb.vectors if emb.std is None else np.hstack([emb.vectors, emb.std])
        known, linked = block.known.any(axis=1), self._has_links(data)
        tables: Any = self.network_.scaling
        if not self.regresses_isolated or not (known & linked).any():
            return regress(tables, block, codes)
        learned, alone = np.flatnonzero(known & linked), np.flatnonzero(known & ~linked)
        regress(tables, taken(block, learned), codes[learned])
        vectors = emb.vectors.copy()
        vectors[alone] = self._regressed(data, alone).vectors
        self.embedding_ = dataclasses.replace(emb, vectors=vectors)
        return None

    def _has_links(self, data: Input[Any]) -> npt.NDArray[np.bool_]:
        """Which nodes of a graph that is fitted have a link, in either direction: n."""
        import numpy as np

        adjacency = data.graph.adjacency
        entered = np.bincount(adjacency.indices, minlength=data.graph.n_nodes)
        return np.asarray(np.diff(adjacency.indptr) + entered > 0)

    def _placed_rows(
        self, later: Input[Any], rows: npt.NDArray[np.int64], known: npt.NDArray[np.int64], way: Placing
    ) -> Embedding:
        """The vectors of some rows of a later graph: by their links or, where they have none, by attributes."""
        import numpy as np

        from netfold.data.embedding import Embedding

        alone = self._without_links(later, rows, known)
        if not alone.any():
            return self._extend(later, rows, known) if way.how == "encode" else self._place(later, rows, known, way)
        blocks = [self._regressed(later, rows[alone])]
        if not alone.all():
            blocks.append(self._placed_rows(later, rows[~alone], known, way))
        order = np.argsort(np.concatenate([np.flatnonzero(alone), np.flatnonzero(~alone)]))
        vectors = np.concatenate([x.vectors for x in blocks])[order]
        stds = [x.std for x in blocks if x.std is not None]
        return Embedding(later.graph.nodes.take(rows), vectors, np.concatenate(stds)[order] if stds else None)

    def _without_links(self, later: Input[Any], rows: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Any:
        """Which of some rows of a later graph are to be placed by their attributes alone: m booleans."""
        import numpy as np

        if later.attributes is None or not hasattr(self.network_, "scaling"):
            return np.zeros(len(rows), bool)
        linked, adjacency = (known >= 0).astype(np.float32), later.graph.adjacency
        reached = adjacency[rows] @ linked
        if later.graph.directed:
            reached = reached + (linked @ adjacency)[rows]
        return (reached == 0) & later.has_attributes(rows)

    def _regressed(self, later: Input[Any], rows: npt.NDArray[np.int64]) -> Embedding:
        """The vectors of rows of a later graph by their attributes alone."""
        from netfold.data.embedding import Embedding
        from netfold.embedder.attributes import regressed

        tables: Any = self.network_.scaling
        codes, dim = regressed(tables, later.block_of(rows)), self.embedding_.dim  # type: ignore[arg-type]
        std = None if self.embedding_.std is None else codes[:, dim:].clip(self.embedding_.std.min())
        return Embedding(later.graph.nodes.take(rows), codes[:, :dim], std)

    def _place(
        self, later: Input[Any], rows: npt.NDArray[np.int64], known: npt.NDArray[np.int64], way: Placing
    ) -> Embedding:
        """The vectors of some rows of a later graph, by the objective or as a mean."""
        import numpy as np

        from netfold.data.embedding import Embedding
        from netfold.embedder.placing import KnownLinks

        graph = later.graph
        links = KnownLinks.of(graph.adjacency, rows, known, len(self.embedding_), directed=graph.directed)
        links = dataclasses.replace(links, block=later.block_of(rows))
        check_placed(type(self).__name__, graph.nodes, rows[np.diff(links.either.indptr) == 0])
        codes, dim = self._codes_by(way, links), self.embedding_.dim
        vectors = codes[:, :dim]
        if way.scale != 1:
            center = self.embedding_.center
            vectors = (center + way.scale * (vectors - center)).astype(np.float32)
        return Embedding(graph.nodes.take(rows), vectors, codes[:, dim:] if self.embedding_.std is not None else None)

    def _codes_by(self, way: Placing, links: KnownLinks) -> npt.NDArray[np.float32]:
        """What a way makes of nodes with these links: vectors, and deviations beside them: m x d.

        All but the encoder read the links among these nodes too, in some rounds: those among them that a node has links
        with are where the round before placed them.
        """
        import numpy as np

        from netfold.embedder.placing import ROUNDS, mean_of_neighbors

        if way.how == "encode":
            return self._encode(links)
        if way.how == "mean":
            codes = mean_of_neighbors(links.either, self.embedding_)
        else:
            codes = self._refine(links, self._encode(links), way.weight)
        if links.among is None:
            return codes
        rows = np.flatnonzero(np.diff(links.among.indptr))
        among = links.among[rows]
        some = dataclasses.replace(links.take(rows), among=among)
        for _ in range(ROUNDS):
            codes = codes.copy()
            if way.how == "mean":
                codes[rows] = mean_of_neighbors(some.either, self.embedding_, (among, codes))
            else:
                codes[rows] = self._refine(some, codes[rows], way.weight, codes)
        return codes

    def _also_known(
        self, later: Input[Any], at: npt.NDArray[np.int64], known: bool | Iterable[Any], how: str
    ) -> npt.NDArray[np.int64]:
        """The rows of a later graph's new nodes, and of the known ones that are asked for: of all, who can be placed.

        A known node that is there as the neighbor of a new one alone has no links to be placed by.
        """
        import numpy as np

        if self.reaches == "path" or self.reads == "hypergraph":
            raise InputError(f"{type(self).__name__} places new nodes alone; known= is for models that read links")
        graph, is_new = later.graph, at < 0
        if not isinstance(known, bool):
            return np.union1d(np.flatnonzero(is_new), graph.nodes.positions(list(known)))
        ends = (~is_new).astype(np.float32)
        links = graph.adjacency @ ends
        if graph.directed and not (self.encodes_out_links and how == "encode"):
            links = links + ends @ graph.adjacency
        return np.flatnonzero(is_new | (links > 0) | later.has_attributes(np.arange(len(at))))

    def _check_how(self, how: str | None) -> None:
        ways = self._ways()
        if how is not None and how not in ways:
            name = type(self).__name__
            raise InputError(f"how={how!r} is not a way in which {name} places new nodes; give {' or '.join(ways)}")

    # ---------------------------------------------------------------- checks

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


def loss_curves(history: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """The objective by epoch and, where it has several, its terms; NaN where a record lacks one.

    >>> loss_curves([{"epoch": 1, "loss": 3.0, "objective": 3.0, "seconds": 0.1}])
    {'objective': [3.0]}
    """
    names = [name for name in history[-1] if name not in ("epoch", "seconds")] if history else []
    names = names if len(names) > 2 else ["objective"]  # one term is the objective
    return {name: [row.get(name, math.nan) for row in history] for name in reversed(names)}


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class Computed(Embedder[N], abstract=True):
    """A model whose network is computed at once: `_compute` fills it. Of the five places it has all but `_problem`.

    A checkpoint holds what was computed, whole: a run that was killed before that begins again.
    """

    epochs: int = dataclasses.field(default=0, init=False)  # no option: there is nothing to be passed over

    def _problem(self, data: Any, device: torch.device, progress: Progress, *, resumed: bool = False) -> Problem[N]:
        network = self._network(data.facts).to(device)
        history = [] if resumed else self._compute(network, data, progress)
        return Problem(network, lambda epoch: (), [], history=history)

    def _compute(self, network: N, data: Any, progress: Progress) -> list[dict[str, float]]:
        """Fill the network, which is on its device, and give a record of each round: `epoch`, terms, `objective`."""
        raise NotImplementedError


def device_named(name: str) -> torch.device:
    """The device that the option `device` means here."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' is not available on this machine; use device='auto' or 'cpu'")
    return torch.device(name)


_SMALL = 20_000
"""So many nodes and edges, together, are a small problem: its steps are over before a second thread has begun."""


@contextmanager
def threads_for(graph: Any) -> Iterator[None]:
    """One thread where the problem is small, unless OMP_NUM_THREADS says how many; the caller's number comes back.

    Where other programs want the same cores, threads of small steps mostly wait for one another. By the size alone, so
    that a run is the same whenever it is run.
    """
    import torch

    before = torch.get_num_threads()
    if before == 1 or "OMP_NUM_THREADS" in os.environ or graph.n_nodes + graph.n_edges > _SMALL:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _say_that_threads_spin(progress: Progress) -> None:
    """Where torch was imported before netfold, so that threads spin while they wait, and the machine is busy."""
    import torch

    load, cores = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0, os.cpu_count() or 1
    told = any(name in os.environ for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"))
    if not told and torch.get_num_threads() > 1 and load > cores:
        progress.note(
            "{:.0f} programs want {} cores, and threads spin while they wait, as torch was imported before netfold: "
            "import netfold first, or set OMP_WAIT_POLICY=PASSIVE; this may take ten times the CPU",
            warning=True,
        )(load, cores)
