"""Labels (type, label): user 1 and movie 1 are different nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from netfold.labels import Labels

__all__ = ["typed_labels"]


def typed_labels(of_type: Mapping[str, Labels]) -> Labels:
    """The labels (type, label) of all types, one type after the other, without a Python object for each.

    >>> list(typed_labels({"user": Labels.of([7, 9]), "tag": Labels.of(["drama"])}))
    [('user', 7), ('user', 9), ('tag', 'drama')]
    """
    parts = [_as_json(name, labels) for name, labels in of_type.items()]
    texts = [text for part in parts for text in part]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    kind = "json" if texts else "text"  # as `Labels.of` has it where there are none
    return Labels(kind, {"offsets": offsets, "bytes": np.frombuffer(b"".join(texts), np.uint8)})


def _as_json(name: str, labels: Labels) -> list[bytes]:
    """Each pair as `Labels` keeps it."""
    start = f"[{json.dumps(name, ensure_ascii=False)}, "
    if labels.kind == "int":
        return [f"{start}{i}]".encode() for i in labels]
    return [f"{start}{json.dumps(label, ensure_ascii=False)}]".encode() for label in labels]
