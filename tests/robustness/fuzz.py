"""The attack itself: files spoiled at random, for as long as it is let: `make fuzz`.

Each case is made from a number, its seed; a case that ends otherwise than in a value or an `InputError` is kept in
`crashes/` under the name of what was attacked, for the tests to try again.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from netfold.errors import InputError

CRASHES = Path(__file__).parent / "crashes"
MOST_SECONDS = 20.0
"""A small file that takes longer is a find, too."""


def read_edges(path: Path) -> Any:
    from netfold.io.edges import read_edges

    return read_edges(path)


def read_hyperedges(path: Path) -> Any:
    from netfold.io.hyperedges import read_hyperedges

    return read_hyperedges(path)


def read_hif(path: Path) -> Any:
    from netfold.io.hif import read_hif

    return read_hif(path)


def read_classes(path: Path) -> Any:
    from netfold.io.classes import read_classes

    return read_classes(path)


def read_vectors(path: Path) -> Any:
    from netfold.data.embedding import Embedding

    return Embedding.load(path)


def load_graph(path: Path) -> Any:
    from netfold.data.graph import Graph

    graph = Graph.load(path)
    list(graph.nodes)
    assert graph.directed or (graph.adjacency != graph.adjacency.T).nnz == 0, "not symmetric"
    return graph


def load_model(path: Path) -> Any:
    import numpy as np

    from netfold.models import load

    model = load(path)
    assert all(np.isfinite(p.numpy(force=True)).all() for p in model.network_.parameters()), "not finite"
    return model


EDGES = b'a,b,1.5\nb,c,2\n# note\nc;d\n"x,y",a,1e3\r\n1 2\n'
HIF = json.dumps({
    "network-type": "directed", "nodes": [{"node": "a", "attrs": {"type": "x"}}, {"node": 2}],
    "incidences": [{"edge": 0, "node": "a", "direction": "head"}, {"edge": 0, "node": 2, "direction": "tail"}],
}).encode()  # fmt: skip
GRAPHML = (
    b'<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
    b'<node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>\n'
)
GEXF = (
    b'<?xml version="1.0"?>\n<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">'
    b'<graph defaultedgetype="directed"><nodes><node id="0" label="a"/><node id="1" label="b"/></nodes>'
    b'<edges><edge id="0" source="0" target="1"/></edges></graph></gexf>\n'
)
TARGETS: dict[str, tuple[Callable[[Path], Any], list[tuple[str, bytes]]]] = {
    "edges": (
        read_edges,
        [("e.csv", EDGES), ("e.tsv", EDGES.replace(b",", b"\t")), ("e.csv.gz", gzip.compress(EDGES))],
    ),
    "formats": (
        read_edges,
        [
            ("g.graphml", GRAPHML),
            ("g.gexf", GEXF),
            ("g.gml", b'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 weight 2 ] ]'),
            ("g.net", b'*Vertices 2\n1 "a"\n2 "b"\n*Edges\n1 2 1.5\n'),
            ("g.metis", b"% note\n3 2 001\n2 1.5\n1 1.5 3 2\n2 2\n"),
            ("g.txt", b"#note\na 2\nb {}\nc {'weight': 2}\nb 0\nc 0\n"),
            ("g.edgelist", b"a b {}\nb c {'weight': 3}\n"),
            ("g.adjlist", b"a b c\nb c\n"),
            ("g.mtx", b"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 1.5\n"),
            ("out.bip", b"% bip weighted\n1 1 5 1082040961\n2 1 3 1082040999\n"),
            ("g.json", b'{"directed": false, "nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}'),
        ],
    ),
    "hyperedges": (read_hyperedges, [("h.csv", b"user,film,tag\nu1,f1,t1\nu2,f1,\n"), ("h.txt", b"1 2 3\n4 5\n")]),
    "hif": (read_hif, [("h.json", HIF), ("h.json.gz", gzip.compress(HIF))]),
    "classes": (read_classes, [("c.csv", b"node,label\n1,red\n2,blue\n1,green\n")]),
}
"""What is attacked: how it is read, and whole files to begin with."""


def spoiled(data: bytes, draw: random.Random) -> bytes:
    """Bytes with a few things wrong: flipped, cut, doubled, moved, or replaced by what parsers trip over."""
    made = bytearray(data)
    tokens = [
        b"\0",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"\r",
        b'"',
        b"nan",
        b"-0",
        b"1e999",
        b"9" * 40,
        b"[" * 700,
        b"\\ud800",
    ]
    for _ in range(draw.randint(1, 6)):
        at, size = draw.randrange(len(made) + 1), draw.choice([1, 1, 2, 8, 64])
        kind = draw.randrange(6)
        if kind == 0 and made:
            made[at % len(made)] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del made[at : at + size]
        elif kind == 2:
            made[at:at] = made[at : at + size] * draw.randint(1, 50)
        elif kind == 3:
            made[at : at + size] = draw.randbytes(size)
        elif kind == 4:
            made[at:at] = draw.choice(tokens)
        else:
            made = made[:at] if draw.random() < 0.3 else made
    return bytes(made)


def attacked(read: Callable[[Path], Any], path: Path) -> str | None:
    """What is wrong with how a file is taken; None where it is read, or refused in one sentence."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(action="ignore"):
            read(path)
    except InputError as e:
        if "\n" in str(e):
            return f"a message of several lines: {str(e)[:200]!r}"
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    spent = time.perf_counter() - start
    return f"{spent:.0f} s" if spent > MOST_SECONDS else None


def folders(place: Path) -> dict[str, tuple[Callable[[Path], Any], Path]]:
    """A saved graph and a saved model, and vectors, to be spoiled file by file."""
    import numpy as np

    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.models import SDNE

    graph = Graph.from_edges([("a", "b", 2.0), ("b", "c", 1.0), ("c", "a", 1.0)])
    graph.save(place / "graph")
    SDNE(dim=2, hidden=(3,), epochs=1).fit(graph, progress=False).save(place / "model")
    (place / "vectors").mkdir()
    for ending in (".npz", ".npy", ".csv", ".txt", ".bin", ".parquet"):
        Embedding(["a", "b", "c"], np.eye(3)).save(place / "vectors" / f"v{ending}")
    Embedding(["a", "b", "c"], np.eye(3), np.ones((3, 3))).save(place / "vectors" / "lists.parquet", columns="list")
    return {"graph": (load_graph, place / "graph"), "model": (load_model, place / "model")}


def one(seed: int, place: Path, saved: dict[str, tuple[Callable[[Path], Any], Path]]) -> tuple[str, str] | None:
    """The case of a seed: what was attacked and what went wrong, or None. A find is kept."""
    draw = random.Random(seed)
    target = draw.choice([*TARGETS, *saved, "vectors"])
    here = place / "case"
    shutil.rmtree(here, ignore_errors=True)
    if target in saved:
        read, whole = saved[target]
        shutil.copytree(whole, here)
        file = draw.choice(sorted(here.iterdir()))
        file.write_bytes(spoiled(file.read_bytes(), draw))
        _reseal(here, draw)
        path = here
    else:
        here.mkdir()
        if target == "vectors":
            read, file = read_vectors, draw.choice(sorted((place / "vectors").iterdir()))
            name, data = file.name, file.read_bytes()
            for beside in (place / "vectors").glob("*.labels.txt"):
                shutil.copy(beside, here)
        else:
            read, begins = TARGETS[target][0], TARGETS[target][1]
            name, data = draw.choice(begins)
        path = here / name
        path.write_bytes(spoiled(data, draw))
    wrong = attacked(read, path)
    if wrong is None:
        return None
    CRASHES.mkdir(exist_ok=True)
    kept = CRASHES / f"{target}-{seed}"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(here, kept)
    return target, wrong


def _reseal(folder: Path, draw: random.Random) -> None:
    """As often as not, let the manifest vouch for what was spoiled."""
    from netfold.io.tensors import file_facts

    manifest = next((folder / x for x in ("manifest.json", "parts.json") if (folder / x).exists()), None)
    if manifest is None or draw.random() < 0.5:
        return
    try:
        facts = json.loads(manifest.read_bytes())
        facts["files"] = [entry | file_facts(folder / entry["name"]) for entry in facts["files"]]
        manifest.write_text(json.dumps(facts))
    except (ValueError, KeyError, TypeError, OSError, AttributeError):
        return


def again(kept: Path) -> str | None:
    """What is still wrong with a find that was kept."""
    target = kept.name.split("-")[0]
    if target in ("graph", "model"):
        return attacked({"graph": load_graph, "model": load_model}[target], kept)
    read = read_vectors if target == "vectors" else TARGETS[target][0]
    file = next(x for x in sorted(kept.iterdir()) if not x.name.endswith(".labels.txt"))
    return attacked(read, file)


def campaign(seed: int, cases: int, seconds: float) -> list[str]:
    """Cases from a seed on, until there were enough or the time is over; what was found."""
    finds, end = [], time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        saved = folders(place)
        for number in range(seed, seed + cases):
            if time.monotonic() > end:
                break
            wrong = one(number, place, saved)
            if wrong is not None:
                finds.append(f"seed {number}: {wrong[0]}: {wrong[1]}")
    return finds


if __name__ == "__main__":
    first = int(os.environ.get("FUZZ_SEED") or random.SystemRandom().randrange(10**9))
    limit = float(os.environ.get("FUZZ_SECONDS") or 3600)
    print(f"seeds from {first} on, for {limit:,.0f} s (FUZZ_SEED={first} tries the same again)", flush=True)
    finds = campaign(first, 10**9, limit)
    print("\n".join(finds) or "nothing found")
    sys.exit(bool(finds))
