"""Joined: the vectors of several models side by side, as one model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from netfold.embedder.embedder import Computed, Embedder
from netfold.embedder.options import as_text, option, options
from netfold.embedder.problem import Input
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.learn.layers import SideBySide
    from netfold.learn.progress import Progress

__all__ = ["Joined"]

_SHARED = ("seed", "device")
"""Options of a part that are those of the whole."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Several(Input):
    """A graph as each part reads it."""

    reads: list[Input[Any]]
    dim: int

    @cached_property
    def facts(self) -> dict[str, Any]:
        """With those of the parts, which their networks are made from."""
        return super().facts | {"dim": self.dim, "parts": [read.facts for read in self.reads]}


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class Joined(Computed["SideBySide"]):
    """The vectors of several models side by side, each block at the same length.

    `Joined([a, b])` fits a and b to the same graph and sets their vectors side by side. Each block is divided by the
    root mean square length of its vectors, so that in a product, a distance or a classifier none outweighs the others
    by its scale alone. New nodes get what every part gives them; a part that has no place for new nodes says so. Parts
    are models of graphs; seed and device are those of the whole. `of` says the same as text, for the command line and
    for files: names with their options, "spectral:matrix=ppmi,sdne:epochs=50:hidden=128+64".

    >>> from netfold.data.graph import Graph
    >>> from netfold.models import DegreeFeatures, Spectral
    >>> model = Joined([Spectral(dim=4), DegreeFeatures(dim=3)])
    >>> model
    Joined(of='spectral:dim=4,degreefeatures:dim=3')
    >>> model.fit(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")]), progress=False).embedding_
    Embedding(4 nodes, 7 dimensions)
    """

    dim: int = option(0, "numbers per node, shared out evenly to the parts; 0: as many as the parts say", at_least=0)
    of: str = option(
        "spectral,degreefeatures",
        "the parts, NAME or NAME:OPTION=VALUE:..., separated by commas; several numbers of an option by +",
    )

    def __init__(self, models: Iterable[Embedder] | None = None, **given: Any):
        if models is not None:
            if "of" in given:
                raise InputError("Joined is given models and of= as well; give one of them")
            given["of"] = ",".join(_text(model) for model in models)
        for o in options(type(self)):
            setattr(self, o.name, given.pop(o.name, o.default))
        if given:
            known = ", ".join(o.name for o in options(type(self)))
            raise InputError(f"Joined has no option {next(iter(given))!r}; it has {known}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check every option, and those of the parts."""
        super().__post_init__()
        self._unfitted()

    def set_params(self, **params: Any) -> Joined:
        """As `Embedder.set_params`; parts that are not allowed change nothing either."""
        type(self)(**{**self.get_params(), **params})
        return super().set_params(**params)

    @property
    def parts_(self) -> list[Embedder]:
        """The fitted parts, each with its own vectors."""
        self._check_fitted()
        models, start = self._unfitted(), 0
        for i, (model, facts) in enumerate(zip(models, self.graph_facts_["parts"], strict=True)):
            vectors = self.embedding_.vectors[:, start : start + model.dim] / float(self.network_.scales[i])
            model.network_, model.graph_facts_, model.history_ = self.network_.networks[i], facts, []
            model.embedding_ = dataclasses.replace(self.embedding_, vectors=vectors)
            start += model.dim
        return models

    def _unfitted(self) -> list[Embedder]:
        """The parts as `of` says, with the seed and the device of the whole and, where `dim` is given, its share."""
        models = [_model(text) for text in self.of.split(",")]
        for i, model in enumerate(models):
            share = {"dim": self.dim // len(models) + (i < self.dim % len(models))} if self.dim else {}
            model.set_params(seed=self.seed, device=self.device, **share)
        return models

    # ---------------------------------------------------------------- what an Embedder asks

    def _read(self, graph: Any, embedding: Any = None, *, later: bool = False) -> _Several:
        from netfold.data.graph import Graph

        whole = Graph.of(graph)
        if not (later and self._reads_attributes()):  # a part may place a node without links
            super()._read(self._shown_to(self, whole), embedding, later=later)
        models = self.parts_ if later else self._unfitted()
        reads = [model._read(self._shown_to(model, whole), later=later) for model in models]
        unit = next((read.weight_unit for read in reads if read.weight_unit is not None), None)
        return _Several(whole, reads, sum(model.dim for model in models), weight_unit=unit)

    def _reads_attributes(self) -> bool:
        return any(model._reads_attributes() for model in self._unfitted())

    def _shown_to(self, model: Embedder, graph: Graph) -> Graph:
        """What a part is shown of a graph: no attributes, where others read them and it does not; nor is the whole."""
        passed_over = model is self or not model._reads_attributes()
        return dataclasses.replace(graph, attributes=None) if passed_over and self._reads_attributes() else graph

    def _network(self, facts: dict[str, Any]) -> SideBySide:
        from netfold.learn.layers import SideBySide

        models = self._unfitted()
        if facts["dim"] != sum(model.dim for model in models) or len(facts["parts"]) != len(models):
            raise TypeError(f"its parts have {facts['dim']} dimensions")
        known = {name: facts[name] for name in ("n_nodes", "directed")}
        return SideBySide([m._network({**part, **known}) for m, part in zip(models, facts["parts"], strict=True)])

    def _compute(self, network: SideBySide, data: _Several, progress: Progress) -> list[dict[str, float]]:
        import numpy as np

        records: list[dict[str, float]] = []
        for i, model in enumerate(self._unfitted()):
            name = type(model).__name__
            progress.note("part {}: {}")(i + 1, name)
            model.fit(self._shown_to(model, data.graph), progress=False)
            network.networks[i].load_state_dict(model.network_.state_dict())
            squares = np.square(model.embedding_.vectors, dtype=np.float64).sum(axis=1).mean()
            network.scales[i] = float(squares) ** -0.5 if squares > 0 else 1.0
            for record in model.history_:
                terms = {f"{name} {k}": v for k, v in record.items() if k not in ("epoch", "objective", "seconds")}
                own = {k: record[k] for k in ("objective", "seconds")}
                records.append({"epoch": len(records) + 1, **terms, **own})
        return records

    def _embed(self, data: _Several) -> Embedding:
        from netfold.data.embedding import Embedding

        blocks = []
        for model, network, read in zip(self._unfitted(), self.network_.networks, data.reads, strict=True):
            model.network_, model.graph_facts_ = network, read.facts
            model.embedding_ = model._embed(read)
            if read.attributes is not None:
                model._regress(read)
            blocks.append(model.embedding_.vectors)
        return Embedding(data.graph.nodes, self._side_by_side(blocks))

    def _side_by_side(self, blocks: list[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        import numpy as np

        scaled = [block * np.float32(scale) for block, scale in zip(blocks, self.network_.scales.tolist(), strict=True)]
        return np.concatenate(scaled, axis=1)

    def _extend(self, data: _Several, new: npt.NDArray[np.int64], known: npt.NDArray[np.int64]) -> Embedding:
        from netfold.data.embedding import Embedding
        from netfold.embedder.placing import Placing

        way, parts = Placing(), zip(self.parts_, data.reads, strict=True)
        blocks = [part._placed_rows(read, new, known, way).vectors for part, read in parts]
        return Embedding(data.graph.nodes.take(new), self._side_by_side(blocks))


def _model(text: str) -> Embedder:
    """The model that NAME:OPTION=VALUE:... stands for.

    >>> from netfold.models import SDNE
    >>> _model("sdne:epochs=5:hidden=16+8")
    SDNE(epochs=5, hidden=(16, 8))
    """
    name, *settings = text.strip().split(":")
    cls = Embedder.models.get(name.lower())
    if cls is None or cls is Joined or cls.reads != "graph" or cls.extends:
        fit = sorted(n for n, c in Embedder.models.items() if c is not Joined and c.reads == "graph" and not c.extends)
        raise InputError(f"of={text!r}: {name!r} cannot be a part; {', '.join(fit)} can")
    known = {o.name: o for o in options(cls)}
    values = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if key not in known or not separator:
            raise InputError(
                f"of={text!r}: {setting!r} is not OPTION=VALUE of {cls.__name__}; it has {', '.join(known)}"
            )
        try:
            values[key] = known[key].parse(value, "+")
        except ValueError:
            raise InputError(f"of={text!r}: {setting!r} is not allowed; {known[key].accepted()}") from None
    return cls(**values)


def _text(model: Any) -> str:
    """The text that a model is a part by."""
    if not isinstance(model, Embedder):
        raise InputError(f"Joined joins models, nf.Joined([nf.Spectral(), nf.SDNE()]), and {model!r} is none")
    changed = [o for o in options(type(model)) if o.name not in _SHARED and getattr(model, o.name) != o.default]
    words = [f"{o.name}={as_text(getattr(model, o.name), '+')}" for o in changed]
    return ":".join([type(model).__name__.lower(), *words])
