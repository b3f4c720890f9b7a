"""`Kinds`: which colour each node has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.embedding import Embedding
from netfold.errors import InputError
from netfold.plot.captions import caption
from netfold.plot.ranges import Range

_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F")
"""Okabe and Ito's colours, told apart by colour-blind readers too; their yellow, too light for a dot, made brown."""
_SCALE = ("#FCA636", "#E16462", "#B12A90", "#6A00A8", "#0D0887")
"""Matplotlib's plasma without its yellow: the darker the more, in grey and to colour-blind readers too."""
REST = "#9A9A9A"


@dataclass(frozen=True)
class Kinds:
    """The kind of each node, which gives it its colour."""

    names: tuple[str, ...]
    """For a legend; the last is that of the rest, where there is one."""
    colors: tuple[str, ...]
    of_node: npt.NDArray[np.int64]
    """Positions in both."""

    @staticmethod
    def of(embedding: Embedding, given: Mapping[Any, Hashable] | Sequence[Hashable] | None) -> Kinds:
        """The largest kinds, each with a colour, and the rest; all nodes alike where no kinds are given.

        Kinds that are ranges of a number come in their order, in shades of one scale.
        """
        if given is None:
            return Kinds((), _PALETTE[:1], np.zeros(len(embedding), np.int64))
        listed = [given.get(x) for x in embedding.nodes] if isinstance(given, Mapping) else list(given)
        if len(listed) != len(embedding):
            raise InputError(
                f"{len(listed):,} colors do not fit {len(embedding):,} nodes; give each its own, or a dict"
            )
        shades = _shades(Counter(x for x in listed if x is not None))
        if not shades:
            raise InputError(f"colors gives no node a kind; it should name nodes by label, as {embedding.nodes[0]!r}")
        place = {kind: i for i, kind in enumerate(shades)}
        of_node = np.array([place.get(x, len(shades)) for x in listed], np.int64)
        rest = ("others",) if (of_node == len(shades)).any() else ()
        return Kinds((*(caption(kind) for kind in shades), *rest), (*shades.values(), REST), of_node)


def _shades(count: Counter[Hashable]) -> dict[Hashable, str]:
    """The kinds that get a colour of their own, in the order of a legend."""
    ranges = sorted(kind for kind in count if isinstance(kind, Range))
    if count and len(ranges) == len(count):
        steps = np.linspace(0, len(_SCALE) - 1, len(ranges)).round().astype(int)
        return {kind: _SCALE[i] for kind, i in zip(ranges, steps, strict=True)}
    largest = (kind for kind, _ in count.most_common(len(_PALETTE)))
    return dict(zip(largest, _PALETTE, strict=False))
