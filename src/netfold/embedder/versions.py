"""Versions of a saved model: a delta for each day beside the base, each with the hash of the one before.

`MODEL/versions/0007/` holds what the seventh update changed. A version is the base and all deltas up to it; `compacted`
makes one delta of the oldest. A version that was trained (settled or fitted anew) is a base of its own, with its model
in `MODEL/versions/0007/model`. All are written whole or not at all: what was killed left the version before.
"""

from __future__ import annotations

import dataclasses
import datetime
import os
import re
import reprlib
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from netfold.data.nodes import Nodes
from netfold.data.text import listed
from netfold.errors import InputError, disk_error

if TYPE_CHECKING:
    from netfold.embedder.embedder import Embedder

__all__ = [
    "Delta", "base_folder", "compacted", "deltas_of", "fit_folder", "latest_version", "split_version", "version_at",
    "write_base", "write_delta", "writing",
]  # fmt: skip

_FILE, _MODEL = "delta.safetensors", "model"
_INDEX = ("placed", "gone", "unreached", "sources", "targets")


@dataclasses.dataclass(frozen=True, eq=False)
class Delta:
    """What one update changed. All but names and numbers are positions among `names`."""

    number: int
    time: str
    """When it was made: UTC, as 2026-11-16T08:00:00."""
    names: Nodes
    placed: npt.NDArray[np.int64]
    """m: the nodes that got a vector."""
    vectors: npt.NDArray[np.float32]
    """m x d"""
    std: npt.NDArray[np.float32] | None
    """m x d; 0 where a vector has none."""
    gone: npt.NDArray[np.int64]
    unreached: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int64]
    """Links that are new or have another weight: from"""
    targets: npt.NDArray[np.int64]
    """to"""
    weights: npt.NDArray[np.float32]
    """with the weight, which is 0 for a link that is gone."""
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What the update said of itself: counts and drift."""
    how: str = "placed"
    """What was done: "placed", or "settled" or "fitted", of which a version has a model of its own."""
    turn: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None
    """What turns the model's own space into that of the versions before: the rotation (d x d) and the shift (d)."""

    @property
    def is_base(self) -> bool:
        """Whether this version stands on a model of its own, and not on those before it."""
        return self.how != "placed"

    @staticmethod
    def of(
        number: int,
        time: str,
        codes: dict[Any, tuple[Any, Any]],
        lost: list[Any],
        unreached: list[Any],
        links: list[Any],
        dim: int,
    ) -> Delta:
        """Of vectors and deviations by node, nodes that are gone, nodes that wait, and links (u, v, weight)."""
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


def split_version(path: str | os.PathLike[str]) -> tuple[Path, int | None]:
    """The folder and the version that MODEL or MODEL@5 means; a folder that is called so comes first.

    >>> split_version("sdne.netfold@5")[1], split_version("sdne.netfold")[1]
    (5, None)
    """
    text = os.fspath(path)
    match = re.fullmatch(r"(.+)@(\d{1,9})", text)
    return (Path(text), None) if match is None or Path(text).exists() else (Path(match[1]), int(match[2]))


def _numbers(folder: Path) -> list[int]:
    """The numbers of the deltas that a model's folder holds, in order."""
    try:
        entries = [x for x in os.scandir(folder / "versions") if re.fullmatch(r"\d{4,9}", x.name)]
    except FileNotFoundError:
        return []
    return sorted(int(x.name) for x in entries if x.is_dir(follow_symlinks=False) and _is_delta(Path(x.path)))


def _is_delta(folder: Path) -> bool:
    """Whether a version is there, whole or damaged; not where compaction left nothing but another's files."""
    return (folder / "manifest.json").exists() or (folder / _FILE).exists()


def latest_version(folder: Path) -> int:
    """The number of the last version; 0 is the model as it was fitted."""
    return max(_numbers(folder), default=0)


def version_at(folder: Path, at: str) -> int:
    """The last version that was made at or before a time: a day (its end is meant) or a moment, UTC."""
    try:
        moment = datetime.datetime.fromisoformat(at)
    except (TypeError, ValueError):
        raise InputError(f"at={at!r} is not a day; give one as 2026-11-01, or a moment as 2026-11-01T08:00") from None
    until = moment.isoformat(timespec="seconds") if "T" in at or " " in at else f"{moment.date()}T23:59:59"
    return max((delta.number for delta in deltas_of(folder) if delta.time <= until), default=0)


@contextmanager
def writing(folder: Path, version: int) -> Iterator[None]:
    """Hold a model's versions while the one after `version` is made: another process would write the same number.

    Refuses where another holds them, and where `version` is no longer the last: what was added since would be lost.
    """
    from netfold.io.files import locked_file

    with locked_file(folder / ".lock"):
        last = latest_version(folder)
        if last != version:
            raise InputError(
                f"{folder} is at version {last}, and this began from version {version}; updates follow the last one: "
                "open the model again, and do it then"
            )
        yield


def write_delta(folder: Path, delta: Delta) -> None:
    """Write it into a model's folder, whole or not at all."""
    _write(folder, delta, {"parent": _hash_of(folder, delta.number - 1)})


def write_base(folder: Path, delta: Delta, model: Embedder[Any]) -> None:
    """Write a version that was trained, with its model, into the folder of the first one, whole or not at all."""
    _write(folder, delta, {"parent": _hash_of(folder, delta.number - 1)}, model=model)


def _write(
    folder: Path, delta: Delta, chain: dict[str, Any], *, force: bool = False, model: Embedder[Any] | None = None
) -> None:
    from netfold.embedder.store import save
    from netfold.io import tensors as store
    from netfold.io.files import sha256, staged_folder

    try:
        (folder / "versions").mkdir(exist_ok=True)
    except OSError as e:
        raise InputError(f"{folder / 'versions'} cannot be made: {disk_error(e)}") from None
    tensors: dict[str, Any] = {f"labels.{k}": v for k, v in delta.names.arrays().items()}
    tensors |= {name: getattr(delta, name) for name in (*_INDEX, "vectors", "weights")}
    if delta.std is not None:
        tensors["std"] = delta.std
    if delta.turn is not None:
        tensors |= {"rotation": delta.turn[0], "shift": delta.turn[1]}
    facts = {"number": delta.number, "time": delta.time, "labels": delta.names.kind, "facts": delta.facts, **chain}
    facts |= {"how": delta.how} if delta.is_base else {}
    try:
        with staged_folder(folder / "versions" / f"{delta.number:04}", force=force) as stage:
            if model is not None:
                save(model, stage / _MODEL)
                facts["model"] = sha256(stage / _MODEL / "manifest.json")
            store.write_tensors(stage / _FILE, tensors)
            store.write_manifest(stage, "version", facts, [stage / _FILE])
    finally:
        with suppress(OSError):  # where none was written the model is as before; a folder that holds one stays
            (folder / "versions").rmdir()


def _hash_of(folder: Path, number: int) -> str:
    """That of a version's manifest, which holds those of its files; where it was compacted, of what it stands for."""
    from netfold.io.files import sha256

    if number == 0:
        return sha256(folder / "manifest.json")
    return _stands_for(folder, number) or sha256(folder / "versions" / f"{number:04}" / "manifest.json")


def _said(folder: Path, number: int) -> dict[str, Any]:
    from netfold.io.files import read_facts
    from netfold.io.tensors import FORMAT

    return read_facts(folder / "versions" / f"{number:04}" / "manifest.json", FORMAT, "version")


def _stands_for(folder: Path, number: int) -> str | None:
    """The hash of the manifest that a compacted delta took the place of."""
    said = _said(folder, number).get("stands_for")
    return said if isinstance(said, str) else None


def deltas_of(folder: Path, until: int | None = None, *, since_base: bool = False) -> Iterator[Delta]:
    """The deltas up to a version, in order, each checked against the hash of the one before.

    With `since_base` only those that the version is made of: from the last that was trained on.
    """
    known = _numbers(folder)
    if until is not None and until != 0 and until not in known:
        last = known[-1] if known else 0
        raise InputError(f"{folder} has no version {until}; the last is {last}, and `netfold versions` lists them")
    wanted: list[int] = []
    first = 0
    for number in (x for x in known if until is None or x <= until):
        said = _said(folder, number)
        if isinstance(said.get("stands_for"), str):  # what it stands for may be there still, if it was killed
            wanted = [x for x in wanted if x <= first]
        if "how" in said:
            first = number
        wanted.append(number)
    for before, number in zip([0, *wanted], wanted, strict=False):
        if not since_base or number >= first:
            yield _read(folder, number, before)


def base_folder(folder: Path, delta: Delta) -> Path:
    """Where the model of a version that was trained is; refused where it is not the one that was written."""
    from netfold.io.files import sha256

    at = folder / "versions" / f"{delta.number:04}" / _MODEL
    if not (at / "manifest.json").is_file() or _said(folder, delta.number).get("model") != sha256(at / "manifest.json"):
        raise InputError(f"{at} is not the model that version {delta.number} was written with; take it from a copy")
    return at


def fit_folder(folder: Path, until: int) -> Path:
    """Where the last model is that was fitted, and not settled, up to a version."""
    known = [number for number in _numbers(folder) if number <= until]
    last = max((number for number in known if _said(folder, number).get("how") == "fitted"), default=0)
    return folder / "versions" / f"{last:04}" / _MODEL if last else folder


def _read(folder: Path, number: int, before: int) -> Delta:
    from netfold.io import tensors as store

    at = folder / "versions" / f"{number:04}"
    manifest = store.read_manifest(at, "version")
    if manifest.get("parent") != _hash_of(folder, before):
        raise InputError(f"{at} does not follow version {before} of {folder}: the hash that it keeps of that differs")
    try:
        tensors = store.read_tensors(at / _FILE)
        store.check_finite(at / _FILE, tensors)
        names = Nodes(str(manifest["labels"]), {k[7:]: v for k, v in tensors.items() if k.startswith("labels.")})
        names.check_distinct()
        index = {name: np.asarray(tensors[name], np.int64) for name in _INDEX}
        if any(x.ndim != 1 or (x.size and not 0 <= x.min() <= x.max() < len(names)) for x in index.values()):
            raise TypeError("a position is outside its names")
        vectors, weights = tensors["vectors"], tensors["weights"]
        if vectors.ndim != 2 or len(vectors) != len(index["placed"]) or len(weights) != len(index["sources"]):
            raise TypeError("its arrays differ in length")
        facts = manifest["facts"] if isinstance(manifest["facts"], dict) else {}
        how = manifest.get("how", "placed")
        if how not in ("placed", "settled", "fitted"):
            raise TypeError("it was made in no way that is known")
        return Delta(number, str(manifest["time"]), names, vectors=vectors, weights=weights, std=tensors.get("std"),
                     facts=facts, how=how, turn=_turn(tensors, vectors.shape[1]), **index)  # fmt: skip
    except (KeyError, TypeError, ValueError) as e:
        raise InputError(f"{at} is damaged: its parts do not fit together ({reprlib.repr(str(e))})") from None


def _turn(tensors: dict[str, npt.NDArray[Any]], dim: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
    if "rotation" not in tensors:
        return None
    rotation, shift = tensors["rotation"], tensors["shift"]
    good = rotation.shape == (dim, dim) and shift.shape == (dim,) and rotation.dtype == shift.dtype == np.float64
    if not good or np.abs(rotation @ rotation.T - np.eye(dim)).max() > 1e-6:
        raise TypeError("its rotation is none")
    return rotation, shift


def compacted(folder: Path, merged: Delta) -> None:
    """Put one delta, which is all since the base up to it, in the place of those; all else and its hashes stay.

    One that was killed before the last of the old ones was removed has lost nothing: they are not read any more. A
    file in an old one's folder that netfold did not write stays there, and is named in a warning.
    """
    from netfold.io.files import remove_ours

    before = [number for number in _numbers(folder) if number < merged.number]
    base = max((number for number in before if "how" in _said(folder, number)), default=0)
    chain = {"parent": _hash_of(folder, base), "stands_for": _hash_of(folder, merged.number)}
    _write(folder, merged, chain, force=True)
    for number in before:
        if number > base:
            old = folder / "versions" / f"{number:04}"
            left = remove_ours(old)
            if left:
                warnings.warn(f"{old} stays: it holds {listed(left)}, which netfold did not write", stacklevel=2)
