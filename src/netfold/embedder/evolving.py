"""`Evolving`: a fitted model and a network that changes. Places what is new, and moves nobody else by a bit."""

from __future__ import annotations

import dataclasses
import datetime
import os
import warnings
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netfold.data.text import listed
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.embedder.embedder import Embedder
    from netfold.embedder.versions import Delta

__all__ = ["Day", "Evolving", "differences"]

_SWEEPS = 50
"""Rounds in which nodes that only other new ones lead to are brought to the mean of their neighbors."""
_PANEL, _NEAREST = 200, 10
"""Nodes whose nearest are watched, and how many of these."""


@dataclasses.dataclass(frozen=True, eq=False)
class Day:
    """What an update did."""

    version: int
    placed: Embedding
    """The nodes that got a vector today."""
    unreached: list[Any]
    """Nodes without a path to any node that has a vector; they wait for a link."""
    gone: list[Any]
    """Nodes that were taken out today."""
    drift: dict[str, float]
    """Of all nodes, the shares that are placed and unreached; the AUC of today's links among nodes that had vectors;
    where it was calibrated, of the ten nodes nearest to each of a panel the share that still is."""
    alarm: str | None
    """A sentence, where the drift is outside of what two seeds differ by; else None."""


class _State:
    """What a version adds to the base: all that updates have changed so far."""

    def __init__(self) -> None:
        self.vectors: dict[Any, npt.NDArray[np.float32]] = {}
        self.std: dict[Any, npt.NDArray[np.float32]] = {}
        self.gone: set[Any] = set()
        self.unreached: set[Any] = set()
        self.links: dict[Any, dict[Any, float]] = {}
        """Of every node that a changed link has: its changed links, those that leave it; 0 for one that is gone."""
        self.into: dict[Any, dict[Any, float]] = {}
        """Those that enter it; the same as `links` in an undirected graph."""

    def take(self, delta: Delta) -> None:
        names = list(delta.names)
        for row in delta.gone.tolist():
            self.drop(names[row])
        for i, row in enumerate(delta.placed.tolist()):
            node = names[row]
            self.vectors[node] = delta.vectors[i]
            self.unreached.discard(node)
            if delta.std is not None and delta.std[i].any():
                self.std[node] = delta.std[i]
        self.unreached |= {names[row] for row in delta.unreached.tolist()}
        for u, v, w in zip(delta.sources.tolist(), delta.targets.tolist(), delta.weights.tolist(), strict=True):
            self.link(names[u], names[v], w)

    def link(self, u: Any, v: Any, weight: float) -> None:
        self.links.setdefault(u, {})[v] = weight
        self.into.setdefault(v, {})[u] = weight
        self.gone -= {u, v}

    def drop(self, node: Any) -> None:
        self.gone.add(node)
        self.unreached.discard(node)
        for mine, other in ((self.links, self.into), (self.into, self.links)):
            for end in mine.pop(node, {}):
                other.get(end, {}).pop(node, None)
        self.vectors.pop(node, None)
        self.std.pop(node, None)


class Evolving:
    """A fitted model whose network changes: `update` takes a day's edges in, and places what is new.

    No vector that is there moves by a bit, and an update costs what it changes, not what there is. New nodes with
    links to fitted ones are placed as `model.transform` does; those that only other new nodes lead to are brought to
    the mean of their neighbors; who cannot be reached is said, and waits. With a saved model (`Evolving.open`), each
    update writes a version beside it.

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
        self.model, self.path, self.version, self.time = model, None if path is None else Path(path), 0, ""
        self._state = _State()
        self._usual: dict[str, Any] | None = None

    # ---------------------------------------------------------------- saved

    @staticmethod
    def open(path: str | os.PathLike[str], *, version: int | None = None, at: str | None = None) -> Evolving:
        """A saved model and its versions, up to one of them: a number, or the last that was there `at` a time."""
        from netfold.embedder.store import load
        from netfold.embedder.versions import deltas_of, split_version, version_at

        folder, said = split_version(path)
        if sum(x is not None for x in (version, at, said)) > 1:
            raise InputError("a version is said twice; give one of version=, at= and MODEL@version")
        until = version_at(folder, at) if at is not None else version if said is None else said
        stream = Evolving(load(folder), path=folder)
        for delta in deltas_of(folder, until):
            stream._state.take(delta)
            stream.version, stream.time = delta.number, delta.time
        stream._usual = _read_usual(folder)
        return stream

    def compact(self, keep: int = 30) -> int:
        """Make one delta of all but the last `keep`, so that opening stays quick; how many versions are left."""
        from netfold.embedder.versions import compacted, deltas_of

        if self.path is None:
            raise InputError("versions are of a saved model; open one with Evolving.open(path)")
        known = list(deltas_of(self.path))
        old = known[: max(0, len(known) - keep)]
        if len(old) > 1:
            state = _State()
            for delta in old:
                state.take(delta)
            compacted(self.path, _as_delta(state, old[-1], self.model.embedding_.dim))
        return len(known) - max(0, len(old) - 1)

    # ---------------------------------------------------------------- vectors

    @cached_property
    def embedding_(self) -> Embedding:
        """The vectors of all nodes that are there, fitted and placed; deviations where the fitted ones have them."""
        import numpy as np

        from netfold.data.embedding import Embedding
        from netfold.data.nodes import Nodes

        base, state = self.model.embedding_, self._state
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
        """Where a node's vector comes from: "fitted" or "placed"; "unreached" where it has none, "gone" if it left."""
        state = self._state
        for word, nodes in (("placed", state.vectors), ("unreached", state.unreached), ("gone", state.gone)):
            if node in nodes:
                return word
        self.model.embedding_.nodes.positions([node])
        return "fitted"

    def std(self, node: Any) -> npt.NDArray[np.float32] | None:
        """The standard deviations of a node's vector; None where its model says nothing of them."""
        if node in self._state.vectors:
            return self._state.std.get(node)
        base = self.model.embedding_
        row = int(base.nodes.positions([node])[0])
        return None if base.std is None else base.std[row]

    def transform(self, graph: Any, **how: Any) -> Embedding:
        """As the model's: vectors of nodes that `fit` never saw; nothing is kept."""
        return self.model.transform(graph, **how)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "model" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.model, name)

    # ---------------------------------------------------------------- a day

    def update(self, edges: Any = None, gone: Any = None) -> Day:
        """Take in a day's edges (a graph, pairs, triples or a file), and take out what is `gone`: nodes, or pairs.

        An edge that was there gets the new weight. Writes a version where the model is saved; if it is killed, the
        version before is there.
        """
        import numpy as np

        from netfold.data.embedding import Embedding
        from netfold.data.nodes import Nodes
        from netfold.embedder.versions import write_delta

        graph = self._graph(edges)
        lost, cut = self._gone(gone)
        arrived = _links_of(graph)
        fresh = self._fresh(graph, lost, arrived)
        after = _overlay(self._state, lost, [*((u, v, 0.0) for u, v in cut), *arrived])
        codes, unreached = self._placed(fresh, after)
        delta = self._delta(codes, lost, unreached, [*((u, v, 0.0) for u, v in cut), *arrived])
        drift = self._drift(delta, codes, arrived, after)
        alarm = self._alarm(drift)
        delta = dataclasses.replace(delta, facts={"drift": drift, "alarm": alarm})
        if self.path is not None:
            write_delta(self.path, delta)
        self._state.take(delta)
        self.version, self.time = delta.number, delta.time
        self.__dict__.pop("embedding_", None)
        dim = self.model.embedding_.dim
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
        )

    def _graph(self, edges: Any) -> Graph | None:
        from netfold.data.graph import Graph

        directed = bool(self.model.graph_facts_["directed"])
        if edges is None:
            return None
        if isinstance(edges, str | os.PathLike):
            from netfold.io.edges import read_edges

            graph = read_edges(edges, directed=directed)
        elif isinstance(edges, Graph):
            graph = edges
        else:
            graph = Graph.of(edges, directed=directed) if isinstance(edges, list | tuple) else Graph.of(edges)
        self.model._check_direction(graph)
        return graph

    def _gone(self, gone: Any) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """Nodes, and links, that are no longer there."""
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
        state = self._state
        try:
            placed = node in state.vectors or node in state.unreached
        except TypeError:  # a list
            return False
        return placed or (node not in state.gone and node in self.model.embedding_.nodes)

    def _fresh(self, graph: Graph | None, lost: list[Any], arrived: list[tuple[Any, Any, float]]) -> list[Any]:
        """Nodes that need a vector: those of today that have none, and those that waited for a link."""
        if graph is None:
            return []
        out = set(lost)
        nodes = list(graph.nodes)
        base = self.model.embedding_.nodes.find(graph.nodes)
        clash = next((x for x in nodes if x in out), None)
        if clash is not None:
            raise InputError(f"{clash!r} is gone and has edges today; it is one or the other")
        fresh = [x for x, at in zip(nodes, base.tolist(), strict=True) if at < 0 and x not in self._state.vectors]
        waiting = self._state.unreached - out - set(fresh)
        return [*fresh, *sorted(waiting, key=str)] if arrived else fresh

    def _placed(
        self, fresh: list[Any], state: _State
    ) -> tuple[dict[Any, tuple[npt.NDArray[np.float32], npt.NDArray[np.float32] | None]], list[Any]]:
        """The vectors, and deviations, of nodes that need some, and those that nothing leads to."""
        codes: dict[Any, Any] = {}
        base = self.model.embedding_
        if not fresh:
            return codes, []
        links = {x: {y: w for y, w in _either(state, x).items() if w > 0} for x in fresh}
        own = self._by_model(fresh, links, state)
        for i, node in enumerate(own.nodes if own is not None else ()):
            assert own is not None
            codes[node] = own.vectors[i], None if own.std is None else own.std[i]
        rest = [x for x in fresh if x not in codes]
        todo, order = set(rest), []
        while todo:  # outwards: who is beside somebody with a vector
            ring = [x for x in rest if x in todo and any(self._code(y, codes) is not None for y in links[x])]
            if not ring:
                break
            codes |= {x: self._mean(links[x], codes) for x in ring}
            order += ring
            todo -= set(ring)
        for _ in range(_SWEEPS if len(order) > 1 else 0):
            codes |= {x: self._mean(links[x], codes) for x in order}
        if base.std is not None:
            codes = {x: (v, s if s is not None else base.std.mean(axis=0)) for x, (v, s) in codes.items()}
        return codes, sorted(todo, key=str)

    def _by_model(self, fresh: list[Any], links: dict[Any, dict[Any, float]], state: _State) -> Embedding | None:
        """As the model places nodes with links to fitted ones that are there; None where it has no way, or no node."""
        from netfold.data.graph import Graph

        if not set(self.model._ways()) - {"mean"}:
            return None
        fitted, through = self.model.embedding_.nodes, self.model.reaches == "path"
        ends = list(dict.fromkeys(y for x in fresh for y in links[x] if y not in state.gone))
        known = {y for y, at in zip(ends, fitted.find(ends).tolist(), strict=True) if at >= 0}
        beside = [y for y in ends if y in state.vectors] if through else []
        several = {*fresh, *beside, *known} if through else known
        found: dict[Any, tuple[Any, Any, float]] = {}  # a link among new nodes is seen from both ends
        for x in [*fresh, *beside]:
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
        if not rows:
            return None
        later = Graph.from_edges([(x, y) for x, y, _ in rows], [w for *_, w in rows], directed=self._directed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # who is not reached, the day says
            new = self.model.transform(later)
        reached = _reached(new.nodes, rows, known) if through else set(new.nodes)
        wanted = [x for x in new.nodes if x in reached and x not in state.vectors]
        return new.take(wanted) if wanted else None

    def _reads_out(self) -> bool:
        """Whether the way that was chosen reads the links that leave a node alone."""
        return type(self.model).__name__ == "SDNE" and self.model.placing_.how == "encode"

    def _code(self, node: Any, codes: dict[Any, Any]) -> Any:
        """The vector and deviations that a node has, or gets today; None where it has none."""
        if node in codes:
            return codes[node]
        if node in self._state.vectors:
            return self._state.vectors[node], self._state.std.get(node)
        base = self.model.embedding_
        row = int(base.nodes.find([node])[0])
        if row < 0 or node in self._state.gone:
            return None
        return base.vectors[row], None if base.std is None else base.std[row]

    def _mean(self, links: dict[Any, float], codes: dict[Any, Any]) -> Any:
        import numpy as np

        there = [(w, code) for y, w in links.items() if (code := self._code(y, codes)) is not None]
        weights = np.array([w for w, _ in there]) / sum(w for w, _ in there)
        vector = np.sum([w * v for w, (v, _) in zip(weights, (c for _, c in there), strict=True)], axis=0)
        std = [s for _, (_, s) in there]
        spread = None if any(s is None for s in std) else np.average(std, axis=0, weights=weights).astype(np.float32)
        return vector.astype(np.float32), spread

    def _delta(self, codes: dict[Any, Any], lost: list[Any], unreached: list[Any], links: list[Any]) -> Delta:
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(timespec="seconds")
        if now < self.time:  # a clock that was set back
            now = self.time
        return _delta_of(self.version + 1, now, codes, lost, unreached, links, self.model.embedding_.dim)

    # ---------------------------------------------------------------- drift

    def calibrate(self, other: Any) -> dict[str, float]:
        """Measure what two seeds differ by, where the alarm is set: `other` is a fit of another seed, or its vectors.

        Kept with the versions of a saved model: `kept`, the share of the ten nearest that both fits agree on, over a
        panel of nodes, and `moved`, how far vectors are apart after `align`.
        """
        from netfold.data.embedding import align

        own, others = self.model.embedding_, getattr(other, "embedding_", other)
        panel = _panel(len(own), self.model.seed)
        first = _nearest_of(own, panel)
        names = [own.nodes[i] for i in panel.tolist()]
        second = _nearest_of(others, others.nodes.positions(names))
        shared = [len({own.nodes[i] for i in a} & {others.nodes[j] for j in b}) / max(1, len(a))
                  for a, b in zip(first[0].tolist(), second[0].tolist(), strict=True)]  # fmt: skip
        self._usual = {"kept": float(sum(shared) / len(shared)), "moved": align(others, own).residual}
        self._usual |= {"panel": panel, "nearest": first[0], "scores": first[1]}
        if self.path is not None:
            _write_usual(self.path, self._usual)
        return {"kept": self._usual["kept"], "moved": self._usual["moved"]}

    def _drift(self, delta: Delta, codes: dict[Any, Any], arrived: list[Any], state: _State) -> dict[str, float]:
        n = len(self.model.embedding_) + len(state.vectors) + len(codes) - len(state.gone)
        waiting = (state.unreached | {delta.names[i] for i in delta.unreached.tolist()}) - set(codes)
        drift = {"placed": (len(state.vectors) + len(codes)) / max(1, n), "unreached": len(waiting) / max(1, n)}
        scored = self._links_found(arrived, codes)
        if scored is not None:
            drift["AUC of new links"] = scored
        if self._usual is not None:
            drift["kept"] = self._kept(codes, state)
        return drift

    def _links_found(self, arrived: list[Any], codes: dict[Any, Any]) -> float | None:
        """How often a link that came today, among nodes that had vectors, has a higher cosine than a random pair."""
        import numpy as np

        pairs = [(a[0], b[0]) for u, v, _ in arrived if u not in codes and v not in codes
                 if (a := self._code(u, {})) is not None and (b := self._code(v, {})) is not None]  # fmt: skip
        if not pairs:
            return None
        rng, base, center = (
            np.random.default_rng(self.version),
            self.model.embedding_.vectors,
            self.model.embedding_.center,
        )
        left, right = (np.stack([pair[i] for pair in pairs]) - center for i in (0, 1))
        others = base[rng.integers(len(base), size=len(pairs))] - center
        good, bad = ((_unit(left) * _unit(x)).sum(axis=1) for x in (right, others))
        return float(((good > bad) + 0.5 * (good == bad)).mean())

    def _kept(self, codes: dict[Any, Any], state: _State) -> float:
        """Of the ten nodes nearest to each of the panel the share that still is: no old vector moves, so only those
        that came can push one out, and only those that are gone leave."""
        import numpy as np

        assert self._usual is not None
        base, usual = self.model.embedding_, self._usual
        panel, nearest, scores = usual["panel"], usual["nearest"], usual["scores"]
        gone = {int(i) for i in base.nodes.find(list(state.gone)) if i >= 0} if state.gone else set()
        came = [*state.vectors.values(), *(v for v, _ in codes.values())]
        if not came and not gone:
            return 1.0
        there = ~np.isin(nearest, list(gone)) if gone else np.ones(nearest.shape, bool)
        ahead = np.cumsum(there, axis=1) - there  # of those that were the nearest, who is nearer still
        if came:
            cosines = np.sort(_unit(base.vectors[panel]) @ _unit(np.stack(came)).T, axis=1)
            ahead = ahead + [len(came) - np.searchsorted(*x, side="right") for x in zip(cosines, scores, strict=True)]
        return float((there & (ahead < nearest.shape[1])).mean())

    def _alarm(self, drift: dict[str, float]) -> str | None:
        if self._usual is None or drift.get("kept", 1.0) >= self._usual["kept"]:
            return None
        return (
            f"drift: {drift['kept']:.0%} of the nearest nodes are still the nearest, and two seeds share "
            f"{self._usual['kept']:.0%}; it is time for a new fit, aligned with this one (nf.align)"
        )


def _links_of(graph: Graph | None) -> list[tuple[Any, Any, float]]:
    """The links of a graph, from both ends where it has no directions."""
    if graph is None:
        return []
    entries, nodes = graph.adjacency.tocoo(), list(graph.nodes)
    ends = zip(*(x.tolist() for x in entries.coords), entries.data.tolist(), strict=True)
    return [(nodes[u], nodes[v], w) for u, v, w in ends if u != v]


def _overlay(state: _State, lost: list[Any], links: list[tuple[Any, Any, float]]) -> _State:
    """The state with today's links and without what is gone, of which only what is touched is copied."""
    after = _State()
    after.vectors = {x: v for x, v in state.vectors.items() if x not in lost} if lost else state.vectors
    after.std, after.gone, after.unreached = state.std, state.gone | set(lost), state.unreached - set(lost)
    touched = {x for u, v, _ in links for x in (u, v)} | state.unreached
    near = {y for x in touched for y in (*state.links.get(x, {}), *state.into.get(x, {}))}
    for x in (touched | near) - set(lost):
        after.links[x] = {y: w for y, w in state.links.get(x, {}).items() if y not in lost}
        after.into[x] = {y: w for y, w in state.into.get(x, {}).items() if y not in lost}
    for u, v, w in links:
        after.link(u, v, w)
    return after


def _either(state: _State, node: Any) -> dict[Any, float]:
    """A node's neighbors by links in either direction, and what these weigh together."""
    out, into = state.links.get(node, {}), state.into.get(node, {})
    same = all(into.get(y) == w for y, w in out.items()) and len(out) == len(into)
    total = dict(out)
    for y, w in {} if same else into.items():
        total[y] = total.get(y, 0.0) + w
    return {y: w for y, w in total.items() if y not in state.gone}


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


def _delta_of(
    number: int, time: str, codes: dict[Any, Any], lost: list[Any], unreached: list[Any], links: list[Any], dim: int
) -> Delta:
    import numpy as np

    from netfold.data.nodes import Nodes
    from netfold.embedder.versions import Delta

    names = list(dict.fromkeys([*codes, *lost, *unreached, *(x for u, v, _ in links for x in (u, v))]))
    at = {name: i for i, name in enumerate(names)}
    vectors = np.stack([v for v, _ in codes.values()]) if codes else np.zeros((0, dim), np.float32)
    none = np.zeros(dim, np.float32)
    some = any(s is not None for _, s in codes.values())
    std = np.stack([none if s is None else s for _, s in codes.values()]) if some else None

    def rows(nodes: Iterable[Any]) -> npt.NDArray[np.int64]:
        return np.array([at[x] for x in nodes], np.int64)

    return Delta(
        number, time, Nodes.of(names), rows(codes), vectors, std, rows(lost), rows(unreached),
        rows(u for u, _, _ in links), rows(v for _, v, _ in links), np.array([w for *_, w in links], np.float32),
    )  # fmt: skip


def _as_delta(state: _State, last: Delta, dim: int) -> Delta:
    """All that a state has, as one delta in the place of the last."""
    codes = {x: (v, state.std.get(x)) for x, v in state.vectors.items()}
    links = [(u, v, w) for u, ends in state.links.items() for v, w in ends.items()]
    merged = _delta_of(last.number, last.time, codes, list(state.gone), list(state.unreached), links, dim)
    return dataclasses.replace(merged, facts=last.facts)


def _unit(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Rows of length 1."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny))


def _panel(n: int, seed: int) -> npt.NDArray[np.int64]:
    import numpy as np

    return np.sort(np.random.default_rng([seed, 21]).choice(n, min(_PANEL, n), replace=False))


def _nearest_of(embedding: Embedding, rows: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The positions of the ten nodes nearest to each of some rows by the cosine, the nearest first, and the cosines."""
    import numpy as np

    k, vectors = min(_NEAREST, len(embedding) - 1), embedding.vectors
    unit = _unit(vectors)
    best, cosines = np.empty((len(rows), k), np.int64), np.empty((len(rows), k), vectors.dtype)
    for i, row in enumerate(np.asarray(rows).tolist()):
        scores = unit @ unit[row]
        scores[row] = -np.inf
        some = np.argpartition(-scores, k - 1)[:k]
        best[i] = some[np.argsort(-scores[some], kind="stable")]
        cosines[i] = scores[best[i]]
    return best, cosines


def _write_usual(folder: Path, usual: dict[str, Any]) -> None:
    from netfold.io import tensors as store
    from netfold.io.files import staged_folder

    (folder / "versions").mkdir(exist_ok=True)
    arrays = {name: usual[name] for name in ("panel", "nearest", "scores")}
    with staged_folder(folder / "versions" / "usual", force=True) as stage:
        store.write_tensors(stage / "usual.safetensors", arrays)
        facts = {"kept": usual["kept"], "moved": usual["moved"]}
        store.write_manifest(stage, "version", facts, [stage / "usual.safetensors"])


def _read_usual(folder: Path) -> dict[str, Any] | None:
    from netfold.io import tensors as store

    at = folder / "versions" / "usual"
    if not at.exists():
        return None
    manifest = store.read_manifest(at, "version")
    arrays = store.read_tensors(at / "usual.safetensors")
    shapes = {name: x.shape for name, x in arrays.items()}
    good = set(shapes) == {"panel", "nearest", "scores"} and len({len(x) for x in arrays.values()}) == 1
    numbers = all(type(manifest.get(x)) is float for x in ("kept", "moved"))
    if not good or not numbers or arrays["nearest"].ndim != 2 or shapes["scores"] != shapes["nearest"]:
        raise InputError(f"{at} is damaged: its parts do not fit together ({listed(sorted(shapes))})")
    return {"kept": manifest["kept"], "moved": manifest["moved"], **arrays}


def differences(before: Embedding, after: Embedding, k: int = 10) -> dict[str, Any]:
    """What changed between two embeddings: who moved most, as a share of the usual length, and whose neighbors did.

    They are aligned first, unless their common nodes have the same vectors mostly: then they lie in one space.
    """
    import numpy as np

    from netfold.data.embedding import align

    at = after.nodes.find(before.nodes)
    both = np.flatnonzero(at >= 0)
    if not len(both):
        raise InputError("the two have no node in common; there is nothing to compare")
    ours, theirs = before.vectors[both], after.vectors[at[both]]
    if before.dim != after.dim or np.mean((ours == theirs).all(axis=1)) < 0.5:
        theirs = align(after, before).of(after).vectors[at[both]]
    center = ours.mean(axis=0)
    length = float(np.median(np.linalg.norm(ours - center, axis=1))) or 1.0
    moved = np.linalg.norm(ours - theirs, axis=1) / length
    panel = both[_panel(len(both), 0)]
    first, second = _nearest_of(before, panel)[0], _nearest_of(after, at[panel])[0]
    kept = np.array([len({before.nodes[i] for i in a} & {after.nodes[i] for i in b}) / len(a)
                     for a, b in zip(first.tolist(), second.tolist(), strict=True)])  # fmt: skip
    far, few = np.argsort(-moved, kind="stable")[:k], np.argsort(kept, kind="stable")[:k]
    return {
        "came": len(after) - len(both), "went": len(before) - len(both), "common": len(both),
        "median": float(np.median(moved)), "kept": float(kept.mean()),
        "moved": [{"node": before.nodes[both[i]], "moved": float(moved[i])} for i in far],
        "neighbors": [{"node": before.nodes[panel[i]], "kept": float(kept[i])} for i in few],
    }  # fmt: skip
