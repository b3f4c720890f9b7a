"""Files of other programs: recognised by their first bytes, and read with networkx, scipy or a few lines here.

| format | read with |
| --- | --- |
| GraphML, GEXF, GML, Pajek, node-link JSON, graph6, sparse6, networkx's multiline adjacency list | networkx \
(`pip install 'netfold[formats]'`) |
| Matrix Market | scipy |
| networkx's edge list (`a b {}`), adjacency list (a node and its neighbors a line), METIS | this module |

Adjacency lists (.adjlist, .adj) and METIS (.metis, .graph) are known by their ending, since nothing in them tells them
from a table; so is what zstd packs (.graphml.zst). What a file says of itself holds: whether it is directed, and the
weights of its edges (the attribute `weight`).
"""

from __future__ import annotations

import ast
import io
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import numpy.typing as npt
from scipy import sparse

from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.data.reading import Reading
from netfold.data.text import printable, with_article
from netfold.errors import InputError
from netfold.io.files import staged_file
from netfold.io.source import chunks, data_lines, excerpt, file_kind, is_integer, refusal, unpacked

__all__ = ["format_of", "read_format", "says_directed", "write_gexf"]

_HEAD = 1 << 16
_MARKS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("KONECT", re.compile(rb"%\s*bip\b")),
    ("Matrix Market", re.compile(rb"%%MatrixMarket", re.IGNORECASE)),
    ("GraphML", re.compile(rb"\s*<(?:\?xml|!--|graphml)(?:(?!<gexf).)*?<?graphml[\s>]", re.DOTALL)),
    ("GEXF", re.compile(rb"\s*<(?:\?xml|!--|gexf).*?<?gexf[\s>]", re.DOTALL)),
    ("XML", re.compile(rb"\s*<\?xml")),
    ("GML", re.compile(rb"\s*(?:(?:#[^\n]*|Creator[^\n]*|Version[^\n]*|comment[^\n]*)\n\s*)*graph\s*\[")),
    ("Pajek", re.compile(rb"\s*(?:%[^\n]*\n\s*)*\*(?:vertices|network)\b", re.IGNORECASE)),
    ("graph6", re.compile(rb">>graph6<<")),
    ("sparse6", re.compile(rb">>sparse6<<")),
    ("DIMACS", re.compile(rb"(?:c[ \n][^\n]*\n|c\n)*p [a-z]+ \d+ \d+\s*\n")),
    ("multiline adjacency list", re.compile(rb"(?:#[^\n]*\n)*(?:\S+ \d+\r?\n)+\S+ \{[^\n]*\}\r?\n")),
    ("networkx edge list", re.compile(rb"(?:#[^\n]*\n)*\S+ \S+ \{[^\n]*\}\r?\n?(?:\S+ \S+ \{[^\n]*\}\r?\n?)*\Z")),
)
_BY_ENDING = {"adjlist": "adjacency list", "adj": "adjacency list", "metis": "METIS", "graph": "METIS"}
_ENDINGS = frozenset(("graphml", "gexf", "gml", "net", "json", "mtx", "g6", "s6", "xml", "edgelist", *_BY_ENDING))
_UNREAD = {
    "XML": "an XML file, neither GraphML nor GEXF",
    "DIMACS": "a DIMACS file; keep its lines of edges, without the letter before them",
    "HIF": "HIF json, which holds hyperedges; nf.read_hif reads it",
    "JSON": "a JSON file without nodes and links, as networkx.node_link_data writes them; a list of edges is a table: "
    "nf.Graph.of(pandas.read_json(...)) reads it",
}


def format_of(path: Path) -> str | None:
    """The name of the format of another program; None for a table.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.gml")
    >>> _ = path.write_text("graph [ node [ id 0 ] ]")
    >>> format_of(path)
    'GML'
    """
    kind, ending = file_kind(path), path.name.lower().removesuffix(".gz").removesuffix(".zst").rpartition(".")[2]
    if kind not in ("text", "gzip") and not (kind == "zstd" and ending in _ENDINGS):
        return None
    head = next(unpacked(path, kind), b"")[:_HEAD]
    whole = head if len(head) < _HEAD else head[: head.rfind(b"\n") + 1]
    if head.lstrip()[:1] in (b"{", b"["):
        return _json_format(head)
    return next((name for name, mark in _MARKS if mark.match(whole)), _BY_ENDING.get(ending))


def says_directed(path: Path) -> bool:
    """Whether a table says that its edges have a direction, as KONECT's do in their first line."""
    kind = file_kind(path)
    return kind != "parquet" and re.match(rb"%\s*asym\b", next(unpacked(path, kind), b"")[:_HEAD]) is not None


def _json_format(head: bytes) -> str | None:
    if b'"incidences"' in head or b'"network-type"' in head:
        return "HIF"
    if b'"nodes"' in head and (b'"links"' in head or b'"edges"' in head or len(head) == _HEAD):
        return "node-link JSON"
    return "JSON" if re.match(rb"\s*[\[{]\s*(?:\"|\{|\[)", head) else None


def read_format(path: Path, name: str, *, weight: str | None = None, weighted: bool | None = None) -> Graph:
    """The graph in a file of this format; `weight` names the attribute of an edge that is its weight."""
    if name in _UNREAD:
        raise refusal(path, f"this is {_UNREAD[name]}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = _READERS[name](path, weight or "weight")
    except ImportError:
        problem = (
            f"this is {with_article(name)} file, which networkx reads; install it (pip install 'netfold[formats]')"
        )
        raise refusal(path, problem) from None
    except InputError as e:
        raise e if str(e).startswith(str(path)) else refusal(path, str(e)) from None
    except Exception as e:  # whatever a parser raises of a file that is none
        reason = (str(e).strip().splitlines() or [type(e).__name__])[0][:200].rstrip(".")
        raise refusal(path, f"the {name} data are damaged or cannot be read ({reason})") from None
    if weighted is False and graph.is_weighted:
        matrix = graph.to_scipy()
        matrix.data[:] = 1
        graph = Graph(matrix, graph.nodes, directed=graph.directed, attributes=graph.attributes)
    if weighted and not graph.is_weighted:
        raise refusal(path, f"no edge has the attribute {weight or 'weight'!r}; leave weighted=True (--weighted) out")
    return replace(graph, reading=Reading(format=name, edges=graph.n_edges))


# -------------------------------------------------------------------- the readers


def _bytes(path: Path) -> io.BytesIO:
    return io.BytesIO(b"".join(unpacked(path, file_kind(path))))


def _with_networkx(read: Callable[[Any, io.BytesIO], Any]) -> Callable[[Path, str], Graph]:
    def reader(path: Path, weight: str) -> Graph:
        import networkx as nx

        graph = Graph.from_networkx(read(nx, _bytes(path)), weight=weight)
        return replace(graph, nodes=_plain_nodes(list(graph.nodes)))

    return reader


def _plain_nodes(nodes: list[Any]) -> Nodes:
    """Integers where all are written as such, as in files of edges."""
    texts = [x for x in nodes if isinstance(x, str)]
    whole = len(texts) == len(nodes) and all(is_integer(x.encode()) for x in texts)
    return Nodes.of([int(x) for x in nodes] if whole else nodes)


def _gml(nx: Any, file: io.BytesIO) -> Any:
    try:
        return nx.read_gml(file)
    except nx.NetworkXError as e:
        if "label" not in str(e):
            raise
        file.seek(0)
        return nx.read_gml(file, label="id")


def _node_link(nx: Any, file: io.BytesIO) -> Any:
    data = json.load(file)
    return nx.node_link_graph(data, edges="links" if "links" in data else "edges")


def _matrix_market(path: Path, weight: str) -> Graph:
    from scipy.io import mmread

    matrix = mmread(_bytes(path))
    if matrix.shape[0] != matrix.shape[1]:
        rows, columns = matrix.shape
        raise InputError(f"the matrix is {rows:,} x {columns:,}; an adjacency matrix is square")
    return Graph.from_scipy(matrix, range(1, matrix.shape[0] + 1))


def _edge_list(path: Path, weight: str) -> Graph:
    """Lines as networkx writes them by default: two nodes and a dict of attributes."""
    ends, weights, weighty = [], [], False
    for line, text in _lines(path):
        parts = text.decode().split(None, 2)
        try:
            attributes = ast.literal_eval(parts[2])
            weights.append(float(attributes.get(weight, 1)))
        except (ValueError, SyntaxError, AttributeError, IndexError, TypeError):
            raise refusal(path, f"{excerpt(text)} is not two nodes and a dict of attributes", line) from None
        weighty |= weight in attributes
        ends += parts[:2]
    nodes = list(_plain_nodes(list(dict.fromkeys(ends))))
    known = dict(zip(dict.fromkeys(ends), nodes, strict=True))
    pairs = [(known[a], known[b]) for a, b in zip(ends[0::2], ends[1::2], strict=True)]
    return Graph.from_edges(pairs, weights if weighty else None)


def _adjacency_list(path: Path, weight: str) -> Graph:
    """Lines of a node and its neighbors, separated by blanks."""
    rows = [text.decode().split() for _, text in _lines(path)]
    texts = list(dict.fromkeys(node for row in rows for node in row))
    known = dict(zip(texts, _plain_nodes(texts), strict=True))
    return Graph.from_edges([(known[row[0]], known[x]) for row in rows for x in row[1:]], nodes=list(known.values()))


def _metis(path: Path, weight: str) -> Graph:
    """A line "n m [fmt [ncon]]", then for each node from 1 on its neighbors; fmt says what weights stand among them."""
    lines = [
        text for start, block in chunks(path, file_kind(path)) for text in block.decode().split("\n")[:-1]
        if not text.lstrip().startswith("%")
    ]  # fmt: skip
    head = lines[0].split() if lines else []
    if not 2 <= len(head) <= 4 or not all(map(str.isdecimal, head)):
        raise InputError(f"line 1 should say how many nodes and edges there are, as 4 5, not {' '.join(head)[:40]!r}")
    n, m, form = int(head[0]), int(head[1]), f"{head[2] if len(head) > 2 else '':0>3}"
    skipped = (form[-3] == "1") + (int(head[3]) if len(head) > 3 else 1) * (form[-2] == "1")
    weighted = form[-1] == "1"
    while len(lines) > n + 1 and not lines[-1].strip():
        lines.pop()
    if len(lines) != n + 1:
        raise InputError(f"line 1 promises {n:,} nodes, and {len(lines) - 1:,} lines follow")
    ends, weights = [], []
    for i, line in enumerate(lines[1:], 1):
        numbers = [float(x) if weighted else int(x) for x in line.split()[skipped:]]
        near = numbers[:: 1 + weighted]
        ends += [(i, int(j)) for j in near]
        weights += numbers[1::2] if weighted else []
        if any(not 1 <= j <= n for j in near) or (weighted and len(numbers) % 2):
            raise InputError(f"the line of node {i} does not list neighbors between 1 and {n:,}")
    matrix = sparse.coo_array((weights or [1.0] * len(ends), tuple(np.array(ends, int).reshape(-1, 2).T - 1)), (n, n))
    graph = Graph.from_scipy(matrix, range(1, n + 1))
    if graph.directed or graph.n_edges != m:
        raise InputError(f"line 1 promises {m:,} edges, each listed at both of its ends; there are {graph.n_edges:,}")
    return graph


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    for start, text in chunks(path, file_kind(path)):
        yield from data_lines(start, text)


_READERS: dict[str, Callable[[Path, str], Graph]] = {
    "GraphML": _with_networkx(lambda nx, file: nx.read_graphml(file)),
    "GEXF": _with_networkx(lambda nx, file: nx.read_gexf(file)),
    "GML": _with_networkx(_gml),
    "Pajek": _with_networkx(lambda nx, file: nx.read_pajek(file)),
    "node-link JSON": _with_networkx(_node_link),
    "graph6": _with_networkx(lambda nx, file: nx.read_graph6(file)),
    "sparse6": _with_networkx(lambda nx, file: nx.read_sparse6(file)),
    "multiline adjacency list": _with_networkx(lambda nx, file: nx.read_multiline_adjlist(file)),
    "Matrix Market": _matrix_market,
    "METIS": _metis,
    "networkx edge list": _edge_list,
    "adjacency list": _adjacency_list,
}


# -------------------------------------------------------------------- out


def write_gexf(
    path: Path,
    nodes: Sequence[Any],
    at: npt.NDArray[Any],
    colors: Sequence[str],
    edges: Iterable[tuple[int, int, float]] = (),
    *,
    directed: bool = False,
) -> None:
    """Write GEXF 1.3 with each node's place (n x 2, and wide: Gephi takes them for pixels) and colour (#rrggbb).

    `edges` are triples of two positions and a weight.
    """

    def attribute(text: Any) -> str:
        return quoteattr(printable(text))

    with staged_file(path) as part, part.open("w", encoding="utf-8") as file:
        file.write(_GEXF.format(direction="directed" if directed else "undirected"))
        for i, (node, (x, y), color) in enumerate(zip(nodes, at.tolist(), colors, strict=True)):
            red, green, blue = (int(color[k : k + 2], 16) for k in (1, 3, 5))
            file.write(
                f'<node id="{i}" label={attribute(node)}><viz:position x="{x:.6g}" y="{y:.6g}" z="0"/>'
                f'<viz:color r="{red}" g="{green}" b="{blue}"/></node>\n'
            )
        file.write("</nodes>\n<edges>\n")
        for k, (i, j, weight) in enumerate(edges):
            file.write(f'<edge id="{k}" source="{i}" target="{j}" weight="{weight:.9g}"/>\n')
        file.write("</edges>\n</graph>\n</gexf>\n")


_GEXF = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz" version="1.3">\n'
    '<graph defaultedgetype="{direction}">\n<nodes>\n'
)
