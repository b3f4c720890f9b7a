"""`Evolving`: a fitted model and a network that changes: placed each day, settled now and then, fitted anew at last."""

from __future__ import annotations

import dataclasses
import datetime
import os
import warnings
from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from netfold.data.embedding import Alignment, Embedding
    from netfold.data.graph import Graph
    from netfold.data.nodes import Nodes
    from netfold.embedder.changes import Changes
    from netfold.embedder.drift import Usual
    from netfold.embedder.embedder import Embedder
    from netfold.embedder.settling import Anchors
    from netfold.embedder.versions import Delta

__all__ = ["Day", "Evolving"]

_SWEEPS, _STILL = 2000, 1e-8
"""Rounds, at most, in which nodes that only other new ones lead to are brought to the mean of their neighbors; a round
that moves nobody by more than such a share of the largest number is the last."""


@dataclasses.dataclass(frozen=True, eq=False)
class Day:
    """What an update did, or a settling or a new fit."""

    version: int
    placed: Embedding
    """The nodes that got a vector today."""
    unreached: list[Any]
    """Nodes without a path to any node that has a vector; they wait for a link."""
    gone: list[Any]
    """Nodes that were taken out today."""
    drift: dict[str, float]
    """Of all nodes, the shares that are placed and unreached; the AUC of today's links among nodes that had vectors;
    where it was calibrated, of the ten nodes nearest to each of a panel the share that still is (`kept`).

    After a training: `kept`, and how far nodes `moved`, at the median, as a share of the usual length; after a new fit
    the `residual` of the alignment, which is the same there."""
    alarm: str | None
    """A sentence, where the drift is outside of what two seeds differ by; else None."""
    linked: list[Any] = dataclasses.field(default_factory=list)
    """Nodes that were placed on an earlier day and have links of today: they stay, and `update(again=True)` would place
    them by all links that they have."""


_P = ParamSpec("_P")
_R = TypeVar("_R")


def _alone(make: Callable[Concatenate[Evolving, _P], _R]) -> Callable[Concatenate[Evolving, _P], _R]:
    """A method that makes a version: where the model is saved, no other process makes one meanwhile."""

    @wraps(make)
    def made(stream: Evolving, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        from netfold.embedder.versions import writing

        if stream.path is None:
            return make(stream, *args, **kwargs)
        with writing(stream.path, stream.version):
            return make(stream, *args, **kwargs)

    return made


class Evolving:
    """A fitted model whose network changes: `update` takes a day's edges in, and places what is new.

    No vector that is there moves by a bit, and an update costs what it changes, not what there is. New nodes with
    links to fitted ones are placed as `model.transform` does; those that only other new nodes lead to are brought to
    the mean of their neighbors; who cannot be reached is said, and waits. `settle` trains on from there with everybody
    held near the old place, and `refit` fits anew and turns the result into the old space. With a saved model
    (`Evolving.open`), each of them writes a version beside it.

    >>> from netfold.data.graph import Graph
    >>> from netfold.models import SDNE
    >>> graph = Graph.from_edges([(a, b) for a in range(6) for b in range(a)])
    >>> stream = Evolving(SDNE(dim=2, hidden=(8,), epochs=5).fit(graph, progress=False))
    >>> day = stream.update([("new", 0), ("new", 1), ("next", "new"), ("far", "away")])
    >>> sorted(day.placed), sorted(day.unreached), stream.origin("new"), stream.origin(0)
    (['new', 'next'], ['away', 'far'], 'placed', 'fitted')
    """

    def __init__(self, model: Embedder[Any], *, path: str | os.PathLike[str] | None = None) -> None:
        if not hasattr(model, "embedding_"):
            raise InputError(f"this {type(model).__name__} is not fitted yet; call fit(graph) first")
        if model.reads != "graph":
            raise InputError(f"{type(model).__name__} reads hyperedges, and Evolving takes edges; use transform")
        from netfold.embedder.changes import Changes

        self.model, self.path, self.version, self.time = model, None if path is None else Path(path), 0, ""
        self._base, self._how, self._turn = model.embedding_, "fitted", None
        self._changes, self._since, self._fit_nodes = Changes(), 0, model.embedding_.nodes
        self._usual: Usual | None = None

    _base: Embedding
    """The vectors of the last training, in the space of the first."""
    _turn: Alignment | None
    """From the model's own space into that of the first."""
    _since: int
    """The version of the last training."""
    _fit_nodes: Nodes | None
    """Those of the last fit; None where they are still to be read."""

    # ---------------------------------------------------------------- saved

    @staticmethod
    def open(path: str | os.PathLike[str], *, version: int | None = None, at: str | None = None) -> Evolving:
        """A saved model and its versions, up to one of them: a number, or the last that was there `at` a time."""
        from netfold.embedder.drift import Usual
        from netfold.embedder.store import load
        from netfold.embedder.versions import base_folder, deltas_of, split_version, version_at

        folder, said = split_version(path)
        if (folder / "parts.json").exists():
            raise InputError(
                f"{folder} has vectors in parts, or a graph, and no model that could place a node; give a model, as "
                "`netfold fit` writes it to a name that does not end in .parts"
            )
        if sum(x is not None for x in (version, at, said)) > 1:
            raise InputError("a version is said twice; give one of version=, at= and MODEL@version")
        until = version_at(folder, at) if at is not None else version if said is None else said
        deltas = list(deltas_of(folder, until, since_base=True))
        trained = bool(deltas) and deltas[0].is_base
        stream = Evolving(load(base_folder(folder, deltas[0]) if trained else folder), path=folder)
        if trained:
            stream._fit_nodes = None
            stream._stand_on(stream.model, deltas[0])
        for delta in deltas[1:] if trained else deltas:
            stream._changes.take(delta)
            stream.version, stream.time = delta.number, delta.time
        stream._usual = Usual.read(folder)
        if stream._usual is not None and stream._usual.base != stream._since:
            stream._watch()  # it was kept for the vectors of another training
        return stream

    def branch(self) -> Evolving:
        """Another stream from here on, in memory alone: what it takes in leaves this one as it is."""
        other = Evolving(self.model)
        other._base, other._how, other._turn, other._usual = self._base, self._how, self._turn, self._usual
        other._changes, other._since, other._fit_nodes = self._changes.copy(), self._since, self._nodes_of_fit()
        other.version, other.time = self.version, self.time
        return other

    @_alone
    def compact(self, keep: int = 30) -> int:
        """Make one delta of all but the last `keep`, so that opening stays quick; how many versions are left.

        A version that was settled or fitted anew stays, and what was before it.
        """
        from netfold.embedder.changes import Changes
        from netfold.embedder.versions import compacted, deltas_of

        if self.path is None:
            raise InputError("versions are of a saved model; open one with Evolving.open(path)")
        known = [x for x in deltas_of(self.path, since_base=True) if not x.is_base]
        old = known[: max(0, len(known) - keep)]
        if len(old) > 1:
            changes = Changes()
            for delta in old:
                changes.take(delta)
            compacted(self.path, changes.as_delta(old[-1], self._base.dim))
        return sum(1 for _ in deltas_of(self.path))

    # ---------------------------------------------------------------- vectors

    @cached_property
    def embedding_(self) -> Embedding:
        """The vectors of all nodes that are there, fitted and placed; deviations where the fitted ones have them."""
        import numpy as np

        from netfold.data.embedding import Embedding
        from netfold.data.nodes import Nodes

        base, state = self._base, self._changes
        rows = np.arange(len(base))
        if state.gone:
            at = base.nodes.find(list(state.gone))
            rows = np.delete(rows, at[at >= 0])
        if not state.vectors:
            return base if len(rows) == len(base) else base.take([base.nodes[i] for i in rows.tolist()])
        more = list(state.vectors)
        nodes = Nodes.of([*(base.nodes[i] for i in rows.tolist()), *more])
        vectors = np.concatenate([base.vectors[rows], np.stack([state.vectors[x] for x in more])])
        std = None
        if base.std is not None:
            std = np.concatenate([base.std[rows], np.stack([state.std[x] for x in more])])
        return Embedding(nodes, vectors, std, fitted_to=base.fitted_to)

    def origin(self, node: Any) -> str:
        """Where a node's vector comes from: "fitted", "placed" or "settled"; "unreached", if it has none, or "gone"."""
        state = self._changes
        for word, nodes in (("placed", state.vectors), ("unreached", state.unreached), ("gone", state.gone)):
            if node in nodes:
                return word
        self._base.nodes.positions([node])
        return self._how

    def std(self, node: Any) -> npt.NDArray[np.float32] | None:
        """The standard deviations of a node's vector; None where its model says nothing of them."""
        if node in self._changes.vectors:
            return self._changes.std.get(node)
        base = self._base
        row = int(base.nodes.positions([node])[0])
        return None if base.std is None else base.std[row]

    def transform(self, graph: Any, **how: Any) -> Embedding:
        """As the model's: vectors of nodes that it was not trained on, in the stream's space; nothing is kept."""
        new = self.model.transform(graph, **how)
        return new if self._turn is None else self._turn.of(new)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "model" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.model, name)

    # ---------------------------------------------------------------- a day

    @_alone
    def update(self, edges: Any = None, gone: Any = None, *, again: bool = False) -> Day:
        """Take in a day's edges (a graph, pairs, triples or a file), and take out what is `gone`: nodes, or pairs.

        An edge that was there gets the new weight. Writes a version where the model is saved; if it is killed, the
        version before is there. With `again`, all nodes that were placed since the last training are placed anew, by
        all links that they have by now; trained ones stay as they are. That costs what was placed since then.
        """
        import numpy as np

        from netfold.data.embedding import Embedding
        from netfold.data.nodes import Nodes
        from netfold.embedder.versions import write_delta

        graph = self._graph(edges)
        lost, cut = self._gone(gone)
        arrived = _links_of(graph)
        fresh = self._fresh(graph, lost, arrived)
        changed = [*((u, v, 0.0) for u, v in cut), *arrived]
        after = self._changes.unplaced(lost, changed) if again else self._changes.overlaid(lost, changed)
        before = [x for x in self._changes.vectors if x not in after.gone] if again else []
        codes, unreached = self._placed([*fresh, *before], after, graph, together=again)
        if again:  # who lost all links stays where it is
            unreached = [x for x in unreached if x not in self._changes.vectors]
            after.vectors = {x: self._changes.vectors[x] for x in before if x not in codes}
        delta = self._delta(codes, lost, unreached, changed)
        drift = self._drift(delta, codes, arrived, after)
        alarm = None if self._usual is None else self._usual.alarm(drift["kept"])
        delta = dataclasses.replace(delta, facts={"drift": drift, "alarm": alarm})
        if self.path is not None:
            write_delta(self.path, delta)
        linked = {x for u, v, _ in arrived for x in (u, v) if x in self._changes.vectors and x not in codes}
        self._changes.take(delta)
        self.version, self.time = delta.number, delta.time
        self.__dict__.pop("embedding_", None)
        dim = self._base.dim
        vectors = np.stack([x for x, _ in codes.values()]) if codes else np.zeros((0, dim), np.float32)
        std = [s for _, s in codes.values()]
        known = np.stack([s for s in std if s is not None]) if codes and all(s is not None for s in std) else None
        return Day(
            delta.number,
            Embedding(Nodes.of(list(codes)), vectors, known),
            sorted(unreached, key=str),
            lost,
            drift,
            alarm,
            sorted(linked, key=str),
        )

    def _graph(self, edges: Any) -> Graph | None:
        from netfold.data.graph import Graph

        directed = bool(self.model.graph_facts_["directed"])
        if edges is None:
            return None
        if isinstance(edges, str | os.PathLike):
            graph: Graph = self.model._opened(edges, directed=directed)
        elif isinstance(edges, Graph):
            graph = edges
        else:
            graph = Graph.of(edges, directed=directed) if isinstance(edges, list | tuple) else Graph.of(edges)
        self.model._check_direction(graph)
        return graph

    def _gone(self, gone: Any) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """Nodes, and links, that are no longer there."""
        if isinstance(gone, str | bytes | os.PathLike):
            raise InputError(f"gone={gone!r} is one name; give a list of nodes, or of pairs, as gone=[{gone!r}]")
        nodes, cut = [], []
        for each in () if gone is None else gone:
            if each in self:
                nodes.append(each)
            elif isinstance(each, tuple | list) and len(each) == 2 and all(x in self for x in each):
                cut += [(each[0], each[1])] if self._directed else [(each[0], each[1]), (each[1], each[0])]
            else:
                raise InputError(f"{each!r} cannot be gone: it is not a node that is there, nor a pair of such")
        return nodes, cut

    @property
    def _directed(self) -> bool:
        return bool(self.model.graph_facts_["directed"])

    def __contains__(self, node: Any) -> bool:
        state = self._changes
        try:
            placed = node in state.vectors or node in state.unreached
        except TypeError:  # a list
            return False
        return placed or (node not in state.gone and node in self._base.nodes)

    def _fresh(self, graph: Graph | None, lost: list[Any], arrived: list[tuple[Any, Any, float]]) -> list[Any]:
        """Nodes that need a vector: those of today that have none, and those that waited for a link."""
        if graph is None:
            return []
        out = set(lost)
        nodes = list(graph.nodes)
        base = self._base.nodes.find(graph.nodes)
        clash = next((x for x in nodes if x in out), None)
        if clash is not None:
            raise InputError(f"{clash!r} is gone and has edges today; it is one or the other")
        fresh = [x for x, at in zip(nodes, base.tolist(), strict=True) if at < 0 and x not in self._changes.vectors]
        waiting = self._changes.unreached - out - set(fresh)
        return [*fresh, *sorted(waiting, key=str)] if arrived else fresh

    def _placed(
        self, fresh: list[Any], state: Changes, today: Graph | None, *, together: bool = False
    ) -> tuple[dict[Any, tuple[npt.NDArray[np.float32], npt.NDArray[np.float32] | None]], list[Any]]:
        """The vectors, and deviations, of nodes that need some, and those that nothing leads to.

        `together`: the model reads the links among them too. Day by day it does not, so that ten days end where one
        batch would.
        """
        codes: dict[Any, Any] = {}
        base = self._base
        if not fresh:
            return codes, []
        links = {x: {y: w for y, w in state.near(x).items() if w > 0} for x in fresh}
        own = self._by_model(fresh, links, state, today, together=together)
        for i, node in enumerate(own.nodes if own is not None else ()):
            assert own is not None
            codes[node] = own.vectors[i], None if own.std is None else own.std[i]
        rest = [x for x in fresh if x not in codes]
        around = self._codes_of((y for x in rest for y in links[x]), state) | codes
        todo, order = set(rest), []
        while todo:  # outwards: who is beside somebody with a vector
            ring = [x for x in rest if x in todo and any(y in around for y in links[x])]
            if not ring:
                break
            around |= {x: _mean(links[x], around) for x in ring}
            order += ring
            todo -= set(ring)
        codes |= _balanced(order, links, around)
        if base.std is not None:
            codes = {x: (v, s if s is not None else base.std.mean(axis=0)) for x, (v, s) in codes.items()}
        return codes, sorted(todo, key=str)

    def _by_model(
        self,
        fresh: list[Any],
        links: dict[Any, dict[Any, float]],
        state: Changes,
        today: Graph | None,
        *,
        together: bool,
    ) -> Embedding | None:
        """As the model places nodes with links to fitted ones that are there; None where it has no way, or no node.

        Where it was fitted with attributes, also by those that the graph of `today` has.
        """
        from netfold.data.graph import Graph

        if not set(self.model._ways()) - {"mean"}:
            return None
        fitted, through = self._base.nodes, self.model.reaches == "path"
        ends = list(dict.fromkeys(y for x in fresh for y in links[x] if y not in state.gone))
        known = {y for y, at in zip(ends, fitted.find(ends).tolist(), strict=True) if at >= 0}
        beside = [y for y in ends if y in state.vectors] if through else []
        also = together and not through and self.model.placing_.how != "encode"
        mine = [x for x in fresh if any(y in known for y in links[x])] if also else [*fresh, *beside]
        several = {*fresh, *beside, *known} if through else known.union(mine if also else ())
        found: dict[Any, tuple[Any, Any, float]] = {}  # a link among new nodes is seen from both ends
        for x in mine:
            for y, w in state.links.get(x, {}).items():
                if w > 0 and y in several:
                    found[(x, y) if self._directed else frozenset((x, y))] = x, y, w
            for y, w in state.into.get(x, {}).items() if self._directed else ():
                if w > 0 and y in several:
                    found[y, x] = y, x, w
        for x in known if through else ():  # links that came among fitted nodes count in the second order
            ends = [y for y, w in state.links.get(x, {}).items() if w > 0 and y not in state.gone and y in fitted]
            found |= {((x, y) if self._directed else frozenset((x, y))): (x, y, state.links[x][y]) for y in ends}
        rows = list(found.values())
        if self._directed and self._reads_out():
            leaving = {x for x, y, _ in rows if y in known}
            rows = [(x, y, w) for x, y, w in rows if x in leaving or y in leaving]
        alone = self._known_of(today) & set(fresh)
        if not rows and not alone:
            return None
        nodes = dict.fromkeys([*(z for x, y, _ in rows for z in (x, y)), *(x for x in fresh if x in alone)])
        weights = [w for *_, w in rows]
        later = Graph.from_edges([(x, y) for x, y, _ in rows], weights, directed=self._directed, nodes=nodes)
        if "attributes" in self.model.graph_facts_ and today is not None and today.attributes is not None:
            later = later.with_attributes(today.attributes.aligned(today.nodes, later.nodes))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # who is not reached, the day says
            new = self.model.transform(later)
        reached = _reached(new.nodes, rows, known) if through else set(new.nodes)
        wanted = [x for x in new.nodes if x in reached and x not in state.vectors]
        if not wanted:
            return None
        return new.take(wanted) if self._turn is None else self._turn.of(new.take(wanted))

    def _known_of(self, today: Graph | None) -> set[Any]:
        """Those nodes of today of which the model reads something beside links."""
        import numpy as np

        from netfold.embedder.attributes import later_attribute_rows

        rows = None if today is None else later_attribute_rows(self.model, today)
        if today is None or rows is None:
            return set()
        return {today.nodes[i] for i in np.flatnonzero(rows.block.known.any(axis=1)).tolist()}

    def _reads_out(self) -> bool:
        """Whether the way that was chosen reads the links that leave a node alone."""
        return self.model.encodes_out_links and self.model.placing_.how == "encode"

    def _codes_of(self, nodes: Iterable[Any], state: Changes) -> dict[Any, Any]:
        """The vectors and deviations of those of some nodes that have any in a state."""
        base, some = self._base, list(dict.fromkeys(nodes))
        codes: dict[Any, Any] = {}
        for node, row in zip(some, base.nodes.find(some).tolist(), strict=True):
            if node in state.vectors:
                codes[node] = state.vectors[node], state.std.get(node)
            elif row >= 0 and node not in state.gone:
                codes[node] = base.vectors[row], None if base.std is None else base.std[row]
        return codes

    def _delta(self, codes: dict[Any, Any], lost: list[Any], unreached: list[Any], links: list[Any]) -> Delta:
        from netfold.embedder.versions import Delta

        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(timespec="seconds")
        if now < self.time:  # a clock that was set back
            now = self.time
        return Delta.of(self.version + 1, now, codes, lost, unreached, links, self._base.dim)

    # ---------------------------------------------------------------- training

    def network(self, graph: Any) -> Graph:
        """The network as it is now: all nodes that are there, those that wait too, and their links.

        `graph` is the one that the model was fitted to (or last settled on), to which the updates since are added; or
        the network of today itself, which is checked against them.
        """
        return self._now(graph)[0]

    def _now(self, graph: Any) -> tuple[Graph, Any]:
        """The network as it is now, and the weights that its links had when the model was trained: n x n."""
        from netfold.embedder.changes import weights_among

        known = self._graph(graph)
        if known is None:
            raise InputError("no graph is given; give the one that the model was fitted to, or that of today")
        if self._was_trained_on(graph, known):
            now = self._changes.network_from(known)
            return now, weights_among(known, now.nodes)
        self._changes.check_network(known, {*self.embedding_.nodes, *self._changes.unreached})
        return known, self._changes.weights_before(known)

    def _was_trained_on(self, source: Any, graph: Graph) -> bool:
        """Whether the model was trained on this graph, whatever the order of its nodes, or on its `source` in parts."""
        from netfold.io.parts import PartsFolder, is_parts

        nodes, fitted_to = self._base.nodes, self._base.fitted_to
        if isinstance(source, str | os.PathLike) and is_parts(source):
            return fitted_to in (PartsFolder.open(source, "graph").fingerprint, graph.fingerprint)
        if graph.n_nodes != len(nodes) or (graph.nodes.find(nodes) < 0).any():
            return False
        return fitted_to in (graph.fingerprint, graph.subgraph(graph.positions(nodes)).fingerprint)

    @_alone
    def settle(
        self, graph: Any, *, mu: float = 1.0, epochs: int | None = None, again: bool = False, progress: bool = False
    ) -> Day:
        """Train on from the vectors that there are, everybody held near them: a new version of model and vectors.

        The objective is the model's on the network of today (`graph`, see `network`) and
        (mu/2) Σ c_i ‖y_i - y_i^old‖², c_i being how much of a node's neighborhood stayed; of Gaussians it is W2².
        mu = 0 is a warm refit, and a large mu is placing. `epochs`: a tenth of the fit's unless said. With `again`, all
        nodes that the last fit did not have, also those that were settled since, begin and are held where all links of
        today put them (LabelProp), and not where they are. For SDNE, DVNE, Node2Vec and LINE.
        """
        from netfold.embedder.settling import settled

        now, before = self._now(graph)
        model = settled(
            self.model, now, self._anchors(now, before, again=again), mu=mu, epochs=epochs, progress=progress
        )
        return self._trained(model, "settled", self._turn, {"mu": float(mu)})

    @_alone
    def refit(self, graph: Any, *, align: bool = True, progress: bool = False) -> Day:
        """Fit the same model anew to the network of today (`graph`, see `network`): a new version of model and vectors.

        Its vectors are turned into the old space by those that both fits have (`nf.align`); `drift["residual"]` says
        what is left between them. With align=False they stay in a space of their own, and what was built on the old
        ones is void.
        """
        from netfold.data.embedding import align as aligned

        if self.model.extends:
            name = type(self.model).__name__
            raise InputError(
                f"{name} extends the vectors of another model, which is to be refitted; then fit {name} to it"
            )
        now = self.network(graph)
        model = type(self.model)(**self.model.get_params()).fit(now, progress=progress)
        if hasattr(self.model, "pair_score_"):
            model.pair_score_ = self.model.pair_score_
        turn = aligned(model.embedding_, self.embedding_) if align else None
        return self._trained(model, "fitted", turn, {"residual": turn.residual} if turn is not None else {})

    def _trained(self, model: Embedder[Any], how: str, turn: Alignment | None, facts: dict[str, float]) -> Day:
        """Stand on a model that was trained: a version with vectors of its own."""
        import numpy as np

        from netfold.embedder.drift import moved_between
        from netfold.embedder.versions import write_base

        before = self.embedding_
        delta = dataclasses.replace(self._delta({}, [], [], []), how=how)
        if turn is not None:
            here = turn.of(model.embedding_)
            rows = np.arange(len(here))
            delta = dataclasses.replace(delta, names=here.nodes, placed=rows, vectors=here.vectors, std=here.std,
                                        turn=(turn.rotation, turn.shift))  # fmt: skip
        after = model.embedding_ if turn is None else here
        moved, kept, error = moved_between(before, after, self.model.seed)
        drift = facts | {"moved": moved, "kept": kept}
        alarm = None if self._usual is None else self._usual.alarm_of_training(kept, error)
        delta = dataclasses.replace(delta, facts={"drift": drift, "alarm": alarm})
        if self.path is not None:
            write_base(self.path, delta, model)
        came = [x for x in after.nodes if x in self._changes.unreached]
        self._stand_on(model, delta)
        if self._usual is not None:
            self._watch()
            if self.path is not None:
                self._usual.write(self.path)
        return Day(delta.number, after.take(came), [], [], drift, alarm)

    def _stand_on(self, model: Embedder[Any], delta: Delta) -> None:
        """Begin from a version that was trained: nothing has changed since."""
        from netfold.data.embedding import Alignment, Embedding
        from netfold.embedder.changes import Changes

        self.model, self._how, self._changes = model, delta.how, Changes()
        if delta.how == "fitted":
            self._fit_nodes = model.embedding_.nodes
        self._base, self._turn = model.embedding_, None
        if delta.turn is not None:
            own = model.embedding_
            if delta.names != own.nodes or (delta.std is None) != (own.std is None):
                raise InputError(f"version {delta.number} is damaged: its model has other nodes than its vectors")
            self._turn = Alignment(*delta.turn, residual=float("nan"), common=0)
            self._base = Embedding(own.nodes, delta.vectors, delta.std, fitted_to=own.fitted_to)
        self.version = self._since = delta.number
        self.time = delta.time
        self.__dict__.pop("embedding_", None)

    def _anchors(self, now: Graph, before: Any, *, again: bool) -> Anchors:
        """Where the nodes of the network are held, in the model's own space, and how fast."""
        import numpy as np

        from netfold.embedder.settling import Anchors

        placed = self.embedding_.take([x for x in self._changes.vectors if x in now.nodes])
        placed = placed if self._turn is None else self._turn.back(placed)
        late = np.flatnonzero(self._nodes_of_fit().find(now.nodes) < 0) if again else np.zeros(0, np.int64)
        return Anchors.of(now, before, self.model.embedding_, placed, late)

    def _nodes_of_fit(self) -> Nodes:
        """Those of the last fit: what came since was placed, and perhaps settled."""
        from netfold.embedder.store import load
        from netfold.embedder.versions import fit_folder

        if self._fit_nodes is None:
            assert self.path is not None
            self._fit_nodes = load(fit_folder(self.path, self._since)).embedding_.nodes
        return self._fit_nodes

    # ---------------------------------------------------------------- drift

    def calibrate(self, other: Any) -> dict[str, float]:
        """Measure what two seeds differ by, where the alarm is set: `other` is a fit of another seed, or its vectors.

        Kept with the versions of a saved model: `kept`, the share of the ten nearest that both fits agree on, over a
        panel of nodes, and `moved`, how far vectors are apart after `align`.
        """
        from netfold.embedder.drift import Usual

        self._usual = Usual.between(self._base, getattr(other, "embedding_", other), self.model.seed, self._since)
        if self.path is not None:
            self._usual.write(self.path)
        return {"kept": self._usual.kept, "moved": self._usual.moved}

    def _drift(self, delta: Delta, codes: dict[Any, Any], arrived: list[Any], state: Changes) -> dict[str, float]:
        from netfold.embedder.drift import links_told_apart

        waiting = (state.unreached | {delta.names[i] for i in delta.unreached.tolist()}) - set(codes)
        n = len(self._base) + len(state.vectors) + len(codes) - len(state.gone) + len(waiting)
        drift = {"placed": (len(state.vectors) + len(codes)) / max(1, n), "unreached": len(waiting) / max(1, n)}
        new = codes.keys() - self._changes.vectors
        old = self._codes_of((x for u, v, _ in arrived for x in (u, v) if x not in new), self._changes)
        ends = [(old[u][0], old[v][0]) for u, v, _ in arrived if u in old and v in old]
        if ends:
            drift["AUC of new links"] = links_told_apart(ends, self._base, self.version)
        if self._usual is not None:
            came = [*state.vectors.values(), *(v for v, _ in codes.values())]
            drift["kept"] = self._usual.still_nearest(self._base, came, state.gone)
        return drift

    def _watch(self) -> None:
        """Let the panel's nearest nodes be those of the vectors that there are; what two seeds differ by stays."""
        assert self._usual is not None
        self._usual = self._usual.over(self._base, self.model.seed, self._since)


def _links_of(graph: Graph | None) -> list[tuple[Any, Any, float]]:
    """The links of a graph, from both ends where it has no directions."""
    if graph is None:
        return []
    entries, nodes = graph.adjacency.tocoo(), list(graph.nodes)
    ends = zip(*(x.tolist() for x in entries.coords), entries.data.tolist(), strict=True)
    return [(nodes[u], nodes[v], w) for u, v, w in ends if u != v]


def _mean(links: dict[Any, float], codes: dict[Any, Any]) -> tuple[Any, Any]:
    """The mean of the neighbors that have codes, by weight: vector, and deviations where all of these have them."""
    import numpy as np

    there = [(w, *codes[y]) for y, w in links.items() if y in codes]
    weights, vectors, std = (list(x) for x in zip(*there, strict=True))
    vector = np.average(vectors, axis=0, weights=weights).astype(np.float32)
    some = not any(x is None for x in std)
    return vector, np.average(std, axis=0, weights=weights).astype(np.float32) if some else None


def _balanced(order: list[Any], links: dict[Any, dict[Any, float]], codes: dict[Any, Any]) -> dict[Any, Any]:
    """Nodes that lead to one another, from where each is, brought to the means of all their neighbors in some rounds.

    X <- A X + B: A has the weights among them, B what others add, all divided by the sums of a node's weights.
    """
    import numpy as np
    from scipy import sparse

    place = {x: i for i, x in enumerate(order)}
    among: list[tuple[int, Any, float]] = []
    others: list[tuple[int, Any, float]] = []
    for x in order:
        near = [(y, w) for y, w in links[x].items() if y in codes]
        total = sum(w for _, w in near)
        for y, w in near:
            (among if y in place else others).append((place[x], y, w / total))
    start = {x: codes[x] for x in order}
    if not among:
        return start
    n, dim = len(order), len(codes[order[0]][0])
    spread = all(codes[y][1] is not None for y in {*order, *(y for _, y, _ in others)})

    def joined(code: Any) -> Any:
        return np.concatenate(code) if spread else code[0]

    x = np.stack([joined(codes[node]) for node in order]).astype(np.float64)
    fixed = np.zeros_like(x)
    for i, y, w in others:
        fixed[i] += w * joined(codes[y])
    rows, columns = [i for i, _, _ in among], [place[y] for _, y, _ in among]
    matrix = sparse.csr_array(([w for *_, w in among], (rows, columns)), shape=(n, n))
    for _ in range(_SWEEPS):
        before, x = x, matrix @ x + fixed
        if np.abs(x - before).max() <= _STILL * np.abs(x).max():
            break
    x = x.astype(np.float32)
    return {node: (x[i, :dim], x[i, dim:] if spread else codes[node][1]) for i, node in enumerate(order)}


def _reached(nodes: Iterable[Any], rows: list[tuple[Any, Any, float]], known: set[Any]) -> set[Any]:
    """Those of some nodes that a path leads to from a known one."""
    near: dict[Any, set[Any]] = {}
    for x, y, _ in rows:
        near.setdefault(x, set()).add(y)
        near.setdefault(y, set()).add(x)
    seen, queue = set(known), list(known)
    for x in queue:
        ahead = near.get(x, set()) - seen
        seen |= ahead
        queue += ahead
    return seen & set(nodes)
