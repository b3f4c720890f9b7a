"""How far vectors have drifted: whose nearest nodes changed, who moved, and what two seeds differ by."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netfold.data.text import listed
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from netfold.data.embedding import Embedding

__all__ = ["Usual", "differences", "links_told_apart", "moved_between"]

_PANEL, _NEAREST = 200, 10
"""Nodes whose nearest are watched, and how many of these."""
_ARRAYS = ("panel", "nearest", "scores")


def _unit_rows(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Rows of length 1."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny))


def _panel_of(n: int, seed: int) -> npt.NDArray[np.int64]:
    """The positions of the nodes that are watched, of n, in order."""
    import numpy as np

    return np.sort(np.random.default_rng([seed, 21]).choice(n, min(_PANEL, n), replace=False))


def _nearest_of(embedding: Embedding, rows: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The positions of the ten nodes nearest to each of some rows by the cosine, the nearest first, and the cosines."""
    import numpy as np

    k, vectors = min(_NEAREST, len(embedding) - 1), embedding.vectors
    unit = _unit_rows(vectors)
    best, cosines = np.empty((len(rows), k), np.int64), np.empty((len(rows), k), vectors.dtype)
    for i, row in enumerate(np.asarray(rows).tolist()):
        scores = unit @ unit[row]
        scores[row] = -np.inf
        some = np.argpartition(-scores, k - 1)[:k]
        best[i] = some[np.argsort(-scores[some], kind="stable")]
        cosines[i] = scores[best[i]]
    return best, cosines


def _shared_nearest(
    one: Embedding, first: npt.NDArray[np.int64], other: Embedding, second: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Of the nodes nearest to each of some the share that two embeddings agree on, from `_nearest_of` of each."""
    import numpy as np

    return np.array([len({one.nodes[i] for i in a} & {other.nodes[j] for j in b}) / max(1, len(a))
                     for a, b in zip(first.tolist(), second.tolist(), strict=True)])  # fmt: skip


def moved_between(before: Embedding, after: Embedding, seed: int) -> tuple[float, float, float]:
    """How far common nodes moved, at the median, as a share of the usual length; of the ten nearest of a panel the
    share that both have, and its standard error."""
    import numpy as np

    at = after.nodes.find(before.nodes)
    both = np.flatnonzero(at >= 0)
    panel = both[_panel_of(len(both), seed)]
    shared = _shared_nearest(before, _nearest_of(before, panel)[0], after, _nearest_of(after, at[panel])[0])
    ours = before.vectors[both]
    length = float(np.median(np.linalg.norm(ours - ours.mean(axis=0), axis=1))) or 1.0
    moved = float(np.median(np.linalg.norm(ours - after.vectors[at[both]], axis=1))) / length
    error = float(shared.std(ddof=1)) / len(shared) ** 0.5 if len(shared) > 1 else 0.0
    return moved, float(shared.mean()), error


@dataclasses.dataclass(frozen=True, eq=False)
class Usual:
    """What two seeds differ by, where the alarm is set, and the nodes whose nearest are watched."""

    kept: float
    """Of the ten nearest of the panel, the share that both fits agree on."""
    moved: float
    """How far their vectors are apart after `align`."""
    base: int
    """The version whose vectors are watched."""
    panel: npt.NDArray[np.int64]
    """p: positions of nodes."""
    nearest: npt.NDArray[np.int64]
    """p x 10: positions of the nearest to each of these, the nearest first"""
    scores: npt.NDArray[np.float32]
    """and their cosines."""

    @staticmethod
    def between(own: Embedding, other: Embedding, seed: int, base: int) -> Usual:
        """What the vectors of two fits differ by, on nodes that both have; the first ones are watched."""
        import numpy as np

        from netfold.data.embedding import align

        both = np.flatnonzero(other.nodes.find(own.nodes) >= 0)
        if not len(both):
            raise InputError("the two fits have no node in common; give another seed's fit to the same graph")
        panel = both[_panel_of(len(both), seed)]
        nearest, scores = _nearest_of(own, panel)
        names = [own.nodes[i] for i in panel.tolist()]
        theirs = _nearest_of(other, other.nodes.positions(names))[0]
        kept = float(_shared_nearest(own, nearest, other, theirs).mean())
        return Usual(kept, align(other, own).residual, base, panel, nearest, scores)

    def over(self, vectors: Embedding, seed: int, base: int) -> Usual:
        """The same, other vectors being watched."""
        panel = _panel_of(len(vectors), seed)
        nearest, scores = _nearest_of(vectors, panel)
        return dataclasses.replace(self, base=base, panel=panel, nearest=nearest, scores=scores)

    def still_nearest(
        self, vectors: Embedding, came: Sequence[npt.NDArray[np.float32]], gone: Collection[Any]
    ) -> float:
        """Of the ten nearest to each of the panel the share that still is, with the vectors that came and without the
        nodes that are gone: none of those watched moves, so that nothing else can push one out."""
        import numpy as np

        at = vectors.nodes.find(list(gone))
        lost = at[at >= 0]
        if not len(came) and not len(lost):
            return 1.0
        there = ~np.isin(self.nearest, lost)
        # of those that were the nearest, who is nearer still
        ahead: npt.NDArray[np.int64] = np.cumsum(there, axis=1) - there
        if len(came):
            cosines = np.sort(_unit_rows(vectors.vectors[self.panel]) @ _unit_rows(np.stack(came)).T, axis=1)
            pairs = zip(cosines, self.scores, strict=True)
            ahead = ahead + [len(came) - np.searchsorted(*x, side="right") for x in pairs]
        return float((there & (ahead < self.nearest.shape[1])).mean())

    def alarm(self, kept: float) -> str | None:
        """A sentence, where a day left fewer of the nearest nodes than two seeds share."""
        if kept >= self.kept:
            return None
        return (
            f"drift: {kept:.0%} of the nearest nodes are still the nearest, and two seeds share {self.kept:.0%}; it is "
            "time for a new fit, aligned with this one (refit)"
        )

    def alarm_of_training(self, kept: float, error: float) -> str | None:
        """A sentence, where a training did, by more than two standard errors of the panel."""
        if kept + 2 * error >= self.kept:
            return None
        return (
            f"drift: {kept:.0%} of the nearest nodes are the same after the training, and two seeds share "
            f"{self.kept:.0%}; look at `netfold diff` before anything is built on it"
        )

    def write(self, folder: Path) -> None:
        """Keep it with the versions of a saved model."""
        from netfold.io import tensors as store
        from netfold.io.files import staged_folder

        (folder / "versions").mkdir(exist_ok=True)
        with staged_folder(folder / "versions" / "usual", force=True) as stage:
            store.write_tensors(stage / "usual.safetensors", {name: getattr(self, name) for name in _ARRAYS})
            facts = {"kept": self.kept, "moved": self.moved, "base": self.base}
            store.write_manifest(stage, "version", facts, [stage / "usual.safetensors"])

    @staticmethod
    def read(folder: Path) -> Usual | None:
        """What `write` kept; None where the alarm was not calibrated."""
        from netfold.io import tensors as store

        at = folder / "versions" / "usual"
        if not at.exists():
            return None
        manifest = store.read_manifest(at, "version")
        arrays = store.read_tensors(at / "usual.safetensors")
        shapes = {name: x.shape for name, x in arrays.items()}
        good = set(shapes) == set(_ARRAYS) and len({len(x) for x in arrays.values()}) == 1
        numbers = all(type(manifest.get(x)) is float for x in ("kept", "moved"))
        if not good or not numbers or arrays["nearest"].ndim != 2 or shapes["scores"] != shapes["nearest"]:
            raise InputError(f"{at} is damaged: its parts do not fit together ({listed(sorted(shapes))})")
        return Usual(manifest["kept"], manifest["moved"], manifest.get("base", 0), *(arrays[x] for x in _ARRAYS))


def links_told_apart(ends: Sequence[tuple[Any, Any]], vectors: Embedding, seed: int) -> float:
    """How often links, as the vectors (d) of both ends, have a higher cosine than their first end with a random node's
    vector; all as seen from the mean."""
    import numpy as np

    rng, center = np.random.default_rng(seed), vectors.center
    left, right = (np.stack([pair[i] for pair in ends]) - center for i in (0, 1))
    others = vectors.vectors[rng.integers(len(vectors), size=len(ends))] - center
    good, bad = ((_unit_rows(left) * _unit_rows(x)).sum(axis=1) for x in (right, others))
    return float(((good > bad) + 0.5 * (good == bad)).mean())


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
    panel = both[_panel_of(len(both), 0)]
    first, second = _nearest_of(before, panel)[0], _nearest_of(after, at[panel])[0]
    kept = _shared_nearest(before, first, after, second)
    far, few = np.argsort(-moved, kind="stable")[:k], np.argsort(kept, kind="stable")[:k]
    return {
        "came": len(after) - len(both), "went": len(before) - len(both), "common": len(both),
        "median": float(np.median(moved)), "kept": float(kept.mean()),
        "moved": [{"node": before.nodes[both[i]], "moved": float(moved[i])} for i in far],
        "neighbors": [{"node": before.nodes[panel[i]], "kept": float(kept[i])} for i in few],
    }  # fmt: skip
