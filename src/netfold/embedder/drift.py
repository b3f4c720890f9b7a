"""How far vectors have drifted: whose nearest nodes changed, who moved, and what two seeds differ by."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from netfold.data.text import listed
from netfold.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from netfold.data.embedding import Embedding

__all__ = [
    "differences",
    "moved_between",
    "nearest_of",
    "panel_of",
    "read_usual",
    "shared_nearest",
    "unit_rows",
    "write_usual",
]

_PANEL, _NEAREST = 200, 10
"""Nodes whose nearest are watched, and how many of these."""


def unit_rows(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Rows of length 1."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny))


def panel_of(n: int, seed: int) -> npt.NDArray[np.int64]:
    """The positions of the nodes that are watched, of n, in order."""
    import numpy as np

    return np.sort(np.random.default_rng([seed, 21]).choice(n, min(_PANEL, n), replace=False))


def nearest_of(embedding: Embedding, rows: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The positions of the ten nodes nearest to each of some rows by the cosine, the nearest first, and the cosines."""
    import numpy as np

    k, vectors = min(_NEAREST, len(embedding) - 1), embedding.vectors
    unit = unit_rows(vectors)
    best, cosines = np.empty((len(rows), k), np.int64), np.empty((len(rows), k), vectors.dtype)
    for i, row in enumerate(np.asarray(rows).tolist()):
        scores = unit @ unit[row]
        scores[row] = -np.inf
        some = np.argpartition(-scores, k - 1)[:k]
        best[i] = some[np.argsort(-scores[some], kind="stable")]
        cosines[i] = scores[best[i]]
    return best, cosines


def shared_nearest(
    one: Embedding, first: npt.NDArray[np.int64], other: Embedding, second: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Of the nodes nearest to each of some the share that two embeddings agree on, from `nearest_of` of each."""
    import numpy as np

    return np.array([len({one.nodes[i] for i in a} & {other.nodes[j] for j in b}) / max(1, len(a))
                     for a, b in zip(first.tolist(), second.tolist(), strict=True)])  # fmt: skip


def moved_between(before: Embedding, after: Embedding, seed: int) -> tuple[float, float, float]:
    """How far common nodes moved, at the median, as a share of the usual length; of the ten nearest of a panel the
    share that both have, and its standard error."""
    import numpy as np

    at = after.nodes.find(before.nodes)
    both = np.flatnonzero(at >= 0)
    panel = both[panel_of(len(both), seed)]
    shared = shared_nearest(before, nearest_of(before, panel)[0], after, nearest_of(after, at[panel])[0])
    ours = before.vectors[both]
    length = float(np.median(np.linalg.norm(ours - ours.mean(axis=0), axis=1))) or 1.0
    moved = float(np.median(np.linalg.norm(ours - after.vectors[at[both]], axis=1))) / length
    error = float(shared.std(ddof=1)) / len(shared) ** 0.5 if len(shared) > 1 else 0.0
    return moved, float(shared.mean()), error


def write_usual(folder: Path, usual: dict[str, Any]) -> None:
    """Keep what two seeds differ by, and the panel, with the versions of a saved model."""
    from netfold.io import tensors as store
    from netfold.io.files import staged_folder

    (folder / "versions").mkdir(exist_ok=True)
    arrays = {name: usual[name] for name in ("panel", "nearest", "scores")}
    with staged_folder(folder / "versions" / "usual", force=True) as stage:
        store.write_tensors(stage / "usual.safetensors", arrays)
        facts = {x: usual[x] for x in ("kept", "moved", "base")}
        store.write_manifest(stage, "version", facts, [stage / "usual.safetensors"])


def read_usual(folder: Path) -> dict[str, Any] | None:
    """What `write_usual` kept; None where the alarm was not calibrated."""
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
    return {"kept": manifest["kept"], "moved": manifest["moved"], "base": manifest.get("base", 0), **arrays}


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
    panel = both[panel_of(len(both), 0)]
    first, second = nearest_of(before, panel)[0], nearest_of(after, at[panel])[0]
    kept = shared_nearest(before, first, after, second)
    far, few = np.argsort(-moved, kind="stable")[:k], np.argsort(kept, kind="stable")[:k]
    return {
        "came": len(after) - len(both), "went": len(before) - len(both), "common": len(both),
        "median": float(np.median(moved)), "kept": float(kept.mean()),
        "moved": [{"node": before.nodes[both[i]], "moved": float(moved[i])} for i in far],
        "neighbors": [{"node": before.nodes[panel[i]], "kept": float(kept[i])} for i in few],
    }  # fmt: skip
