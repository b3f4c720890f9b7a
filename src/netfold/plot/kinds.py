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

_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F")
"""Okabe and Ito's colours, told apart by colour-blind readers too; their yellow, too light for a dot, made brown."""
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
        """The largest kinds, each with a colour, and the rest; all nodes alike where no kinds are given."""
        if given is None:
            return Kinds((), _PALETTE[:1], np.zeros(len(embedding), np.int64))
        listed = [given.get(x) for x in embedding.nodes] if isinstance(given, Mapping) else list(given)
        if len(listed) != len(embedding):
            raise InputError(
                f"{len(listed):,} colors do not fit {len(embedding):,} nodes; give each its own, or a dict"
            )
        largest = [kind for kind, _ in Counter(x for x in listed if x is not None).most_common(len(_PALETTE))]
        place = {kind: i for i, kind in enumerate(largest)}
        of_node = np.array([place.get(x, len(largest)) for x in listed], np.int64)
        rest = ("others",) if (of_node == len(largest)).any() else ()
        colors = (*_PALETTE[: len(largest)], REST)
        return Kinds((*(caption(kind) for kind in largest), *rest), colors, of_node)
