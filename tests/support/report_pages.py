"""What the tests of the report are given, and what a browser reads out of a page."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf
from netfold.data.embedding import Embedding
from netfold.show.report import Sheet, write
from netfold.show.report.document import Blocks

HOSTILE = "</script><img src=x onerror=alert(1)>"
KINDS = {"uint8": np.uint8, "int8": np.int8, "uint16": np.uint16, "int16": np.int16, "uint32": np.uint32}


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def points(n: int = 30, dim: int = 5) -> Embedding:
    return Embedding([f"node {i}" for i in range(n)], rng().normal(size=(n, dim)))


def gaussians(n: int = 30, dim: int = 4) -> Embedding:
    draw = rng()
    return Embedding(range(n), draw.normal(size=(n, dim)), draw.uniform(0.1, 2, size=(n, dim)))


def hypergraph() -> nf.Hypergraph:
    tuples = [(("user", u), ("film", f)) for u in range(6) for f in range(5) if (u + f) % 2]
    types = {x: x[0] for edge in tuples for x in edge}
    return nf.Hypergraph.from_tuples(tuples, types)


def unpacked(page: str, reference: dict[str, Any]) -> Any:
    """What a browser makes of a reference."""
    found = re.search(rf'<script type="text/plain" id="block-{reference["block"]}"([^>]*)>([^<]*)</script>', page)
    assert found is not None
    content = base64.b64decode(found[2], validate=True)
    content = gzip.decompress(content) if "gzip" in found[1] else content
    return content.decode() if reference["kind"] == "text" else np.frombuffer(content, KINDS[reference["kind"]])


def in_page(blocks: Blocks, reference: dict[str, Any]) -> Any:
    return unpacked("\n".join(blocks.html()), reference)


def facts_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data-facts">([^<]*)</script>', page)
    assert found is not None
    return json.loads(found[1])


def written(tmp_path: Path, *sheets: Sheet, **options: Any) -> str:
    write(sheets, tmp_path / "report.html", **options)
    return (tmp_path / "report.html").read_text(encoding="utf-8")
