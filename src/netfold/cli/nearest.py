"""`netfold nearest`, `index`, `suggest` and `groups`: who is near whom among the vectors of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.flags import PairScore
from netfold.cli.inputs import check_there, embedding_at, graph_of, later_of, model_of, named_as, reading_flags
from netfold.cli.names import node_typed, spelled
from netfold.cli.output import check_new_file, check_new_folder, check_table, force_flag, json_flag, say, write_table
from netfold.cli.tuples import node_types
from netfold.data.text import counted, is_typed
from netfold.embedder.store import pair_score_at
from netfold.errors import InputError
from netfold.learn.progress import slow_steps
from netfold.models import DHNE

if TYPE_CHECKING:
    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.data.groups import NodeGroups
    from netfold.data.index import Index
    from netfold.data.nodes import Nodes

__all__ = ["groups", "index", "nearest", "suggest"]


_METRICS = {"dot": "dot", "cosine": "cosine", "distance": "euclidean"}
"""Of a model whose score of pairs was chosen on the data."""


@click.command(epilog="Example: netfold nearest sdne.netfold alice -k 5   (a node that begins with a dash: ... -- -7)")
@click.argument("model")
@click.argument("node", required=False)
@click.option("-k", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@click.option(
    "--metric",
    type=click.Choice(["cosine", "euclidean", "dot"]),
    help="How near is measured.  [default: as was chosen with the model; cosine; euclidean for Gaussians]",
)
@click.option("--type", "of_type", metavar="TYPE", help="Only nodes of this type, where they are called as user:u1.")
@click.option("--index", "index_path", metavar="FOLDER", help="Search by this index, which `netfold index` wrote.")
@click.option("--file", "nodes_file", metavar="FILE", help="Ask about each node of this file, one a line; needs -o.")
@click.option("-o", "--out", metavar="FILE", help="With --file: node, nearest, score; ends in .csv, .tsv or .parquet.")
@force_flag
@json_flag
def nearest(
    model: str,
    node: str | None,
    k: int,
    metric: str | None,
    of_type: str | None,
    index_path: str | None,
    nodes_file: str | None,
    out: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """List the nodes nearest to NODE, the nearest first, each with its score.

    MODEL is a folder that `netfold fit` wrote, or a file that an embedding was exported to. The score is a similarity
    (cosine, dot) or a distance (euclidean). Where nodes have types, NODE is user:u1, or u1 if one type has it.

    Where nodes are Gaussians, each comes with its uncertainty, the mean of its ten largest variances, and the share of
    all nodes that have less; the first line is NODE's own. Vectors in parts are read one part after another.
    """
    if nodes_file is not None or out is not None:
        if node is not None or nodes_file is None or out is None:
            raise InputError("--file and -o belong together, in place of NODE: --file nodes.txt -o near.parquet")
        _of_file(model, nodes_file, out, k, metric, of_type, index_path, force=force, as_json=as_json)
        return
    if node is None:
        raise InputError("no node is given; name one, or a file of nodes: --file nodes.txt -o near.parquet")
    if index_path is not None:
        _by_index(model, node, k, metric, of_type, index_path, as_json)
        return
    if (Path(model) / "parts.json").exists() and of_type is None:
        _in_parts(model, node, k, metric, as_json)
        return
    whole = embedding = embedding_at(model)
    query = node_typed(embedding.nodes, node)
    if of_type is not None:
        embedding = _only(model, embedding, of_type, query)
    metric = metric or _METRICS.get(pair_score_at(model) or "")
    neighbors = embedding.nearest(query, k, metric=metric)
    used = metric or ("cosine" if embedding.std is None else "euclidean")
    facts: dict[str, Any] = {"node": query, "metric": used}
    rows = [{"node": near, "score": score} for near, score in neighbors]
    text = "\n".join(f"{score:8.4f}  {spelled(near)}" for near, score in neighbors)
    if whole.std is not None:
        spread = _spread(whole, [query, *(near for near, _ in neighbors)])
        facts |= spread[0]
        rows = [row | of_node for row, of_node in zip(rows, spread[1:], strict=True)]
        text = _columns(used, [facts, *rows])
    say(facts | {"nearest": rows}, text, as_json=as_json)


def _opened_index(model: str, embedding: Embedding, path: str, metric: str | None) -> Index:
    """The index at a path, which has a metric of its own."""
    from netfold.data.index import Index

    check_there(path)
    index = Index.load(path, embedding)
    if metric not in (None, index.metric):
        raise InputError(f"--metric {metric} is not that of {path}, which is {index.metric}; leave it out")
    return index


def _by_index(model: str, node: str, k: int, metric: str | None, of_type: str | None, path: str, as_json: bool) -> None:
    """The same by an index."""
    embedding = embedding_at(model)
    index = _opened_index(model, embedding, path, metric)
    query = node_typed(embedding.nodes, node)
    neighbors = index.nearest(query, k, of_type=of_type)
    rows = [{"node": near, "score": score} for near, score in neighbors]
    text = "\n".join(f"{score:8.4f}  {spelled(near)}" for near, score in neighbors)
    say({"node": query, "metric": index.metric, "recall": index.recall_, "nearest": rows}, text, as_json=as_json)


def _of_file(
    model: str,
    file: str,
    out: str,
    k: int,
    metric: str | None,
    of_type: str | None,
    index_path: str | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """The nearest of every node of a file, as a table."""
    check_table(out)
    check_new_file(out, force=force)
    check_there(file)
    embedding = embedding_at(model)
    queries = _named_in(file, embedding.nodes)
    if index_path is not None:
        answers = _opened_index(model, embedding, index_path, metric).nearest(queries, k, of_type=of_type)
    else:
        metric = metric or _METRICS.get(pair_score_at(model) or "")
        answers = embedding.nearest(queries, k, metric=metric, of_type=of_type)
    rows = [(spelled(q), spelled(x), s) for q, near in zip(queries, answers, strict=True) for x, s in near]
    names = ("node", "nearest", "score")
    write_table(out, {name: [row[i] for row in rows] for i, name in enumerate(names)})
    facts = {"nodes": len(queries), "rows": len(rows), "path": out}
    say(facts, f"the nearest of {counted(len(queries), 'node')}\n{out}", as_json=as_json)


def _named_in(file: str, nodes: Nodes) -> list[Any]:
    """The nodes that a file names, one on each line; the first line that names none is refused."""
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").splitlines()
    except (UnicodeDecodeError, IsADirectoryError):
        raise InputError(f"{file} is not a file of text in UTF-8, with a node on each line") from None
    typed = nodes.kind == "json" and any(map(is_typed, nodes))  # only then is user:u1 looked for among the types
    queries: dict[int, Any] = {}
    for i, line in enumerate(lines, 1):
        try:
            queries |= {i: node_typed(nodes, line) if typed else nodes.parse(line)} if line.strip() else {}
        except InputError as e:
            raise InputError(f"{file}, line {i}: {e}") from None
    if not queries:
        raise InputError(f"{file} names no node; write one on each line")
    unknown = (nodes.find(list(queries.values())) < 0).nonzero()[0]
    if len(unknown):
        line, node = list(queries.items())[unknown[0]]
        several = f" ({len(unknown):,} lines name no node of the model)" if len(unknown) > 1 else ""
        raise InputError(f"{file}, line {line}: {nodes.unknown(node)}{several}")
    return list(queries.values())


def _in_parts(folder: str, node: str, k: int, metric: str | None, as_json: bool) -> None:
    """The same over vectors in parts: one part after another, in the memory of one."""
    from netfold.data.embedding import Embedding
    from netfold.io.parts import PartsFolder

    parts = PartsFolder.open(folder, "embedding")
    typed = parts.names(0).parse(node)
    p, row = parts.find(typed)

    def part(i: int) -> Embedding:
        arrays = parts.arrays(i)
        return Embedding(parts.names(i), arrays["vectors"], arrays.get("std"))

    own = part(p)
    used = metric or ("cosine" if own.std is None else "euclidean")
    query = own.coordinates[row] if used == "euclidean" else own.vectors[row]
    best: list[tuple[Any, float]] = []
    for i in range(len(parts)):
        if parts.files[i]["nodes"]:
            best += [x for x in part(i).nearest(query, k + 1, metric=used) if x[0] != typed]
    best = sorted(best, key=lambda x: x[1] if used == "euclidean" else -x[1])[:k]
    text = "\n".join(f"{score:8.4f}  {spelled(near)}" for near, score in best)
    rows = [{"node": near, "score": score} for near, score in best]
    say({"node": typed, "metric": used, "nearest": rows}, text, as_json=as_json)


def _spread(embedding: Embedding, nodes: list[Any]) -> list[dict[str, float]]:
    """The uncertainty of each node, and the share of all nodes that have less."""
    import numpy as np

    ordered = np.sort(embedding.uncertainty(embedding.nodes))
    own = np.asarray(embedding.uncertainty(nodes))
    shares = np.searchsorted(ordered, own) / len(ordered)
    pairs = zip(own.tolist(), shares.tolist(), strict=True)
    return [{"uncertainty": value, "less_uncertain": share} for value, share in pairs]


def _columns(metric: str, rows: list[dict[str, Any]]) -> str:
    """A line for each node, the one that was asked about first."""
    score = "distance" if metric == "euclidean" else metric
    lines = [f"{score:>8}  uncertainty  more than  node"]
    for row in rows:
        text = f"{row['score']:8.4f}" if "score" in row else " " * 8
        lines.append(f"{text}  {row['uncertainty']:11.4f}  {row['less_uncertain']:9.0%}  {spelled(row['node'])}")
    return "\n".join(lines)


def _only(path: str, embedding: Embedding, of_type: str, query: Any) -> Embedding:
    """The nodes of a type, and the one that is asked about."""
    types = [x[0] if is_typed(x) else "" for x in embedding.nodes]
    if not all(types) and isinstance(saved := model_of(path), DHNE):  # its nodes have types, whatever they are called
        types = node_types(saved)
    if of_type not in types:
        known = ", ".join(dict.fromkeys(filter(None, types)))
        hint = f"there are {known}" if known else "the nodes of this model have none"
        raise InputError(f"--type {of_type} is not the type of a node; {hint}")
    return embedding.take([x for x, t in zip(embedding.nodes, types, strict=True) if t == of_type or x == query])


# -------------------------------------------------------------------- index


@click.command(
    epilog="Example: netfold index sdne.netfold -o sdne.index && netfold nearest sdne.netfold alice --index sdne.index"
)
@click.argument("model")
@click.option("-o", "--out", required=True, metavar="FOLDER", help="Where to write it.")
@click.option(
    "--recall",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.99,
    show_default=True,
    help="The share of the 10 nearest that is to be found, on the model's own nodes.",
)
@click.option(
    "--metric",
    type=click.Choice(["cosine", "euclidean"]),
    help="How near is measured.  [default: cosine; euclidean for Gaussians]",
)
@force_flag
@json_flag
def index(model: str, out: str, recall: float, metric: str | None, force: bool, as_json: bool) -> None:
    """Write an index of a model's vectors, for `netfold nearest --index` and `netfold serve --index`.

    It pays from some 100,000 nodes on. What it finds is scored and ordered as without it; the share of the ten nearest
    that it finds on 200 nodes is printed, and that of the worst tenth of those. Where nodes have types, as user:u1,
    each type is indexed by itself. It needs the extra `search`.
    """
    check_new_folder(out, force=force)
    try:
        import faiss  # noqa: F401
    except ImportError:
        raise InputError(
            "faiss is not installed: pip install 'netfold[search]'; without an index, nearest is exact"
        ) from None
    built = embedding_at(model).index(recall=recall, metric=metric)
    built.save(out, force=force)
    facts = {"nodes": len(built), "metric": built.metric, "probes": built.probes, "recall": built.recall_}
    facts |= {"types": built.type_recalls, "path": out}
    say(facts, f"{built!r}\n{out}", as_json=as_json)


# -------------------------------------------------------------------- suggest


_PRINTED = 1000
"""Pairs that are printed where no file is given, unless -k says otherwise."""


@click.command(epilog="Example: netfold suggest sdne.netfold --edges edges.csv -k 1000 -o links.parquet")
@click.argument("model")
@click.option("--edges", required=True, metavar="FILE", help="The links that there are: a file of edges, or a graph.")
@click.option("-k", type=click.IntRange(min=1), default=_PRINTED, show_default=True, help="How many.")
@click.option("--node", metavar="NODE", help="Only pairs of this node.")
@click.option(
    "--score",
    type=PairScore(),
    help="How pairs are scored.  [default: the model's own]",
)
@click.option("-o", "--out", metavar="FILE", help="Write the pairs here; ends in .csv, .tsv or .parquet.")
@reading_flags
@force_flag
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@json_flag
def suggest(
    model: str,
    edges: str,
    k: int,
    node: str | None,
    score: str | None,
    out: str | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """List the pairs of nodes that have no link in --edges and the best scores, the best first.

    MODEL is a folder that `netfold fit` wrote, or a file that an embedding was exported to. Where edges have directions
    both are scored; of a bipartite graph only pairs between its sides are. Every pair is looked at, so that the time
    grows with the square of the nodes; --node asks about one.
    """
    from netfold.data.embedding import Embedding
    from netfold.evaluate.suggestions import suggest as best_pairs
    from netfold.evaluate.suggestions import suggested_by

    if out is not None:
        check_table(out)
        check_new_file(out, force=force)
    known = model_of(model)
    nodes = known.nodes if isinstance(known, Embedding) else known.embedding_.nodes
    graph = _graph(known, edges, reading)
    asked = None if node is None else node_typed(nodes, node)
    said = None if quiet else slow_steps("suggest", "nodes")
    pairs = best_pairs(known, graph, k, node=asked, score=score, on_rows=said)
    facts: dict[str, Any] = {"score": score or suggested_by(known), "directed": graph.directed}
    facts |= {"bipartite": graph.sides is not None, "links": len(pairs), "path": out}
    if out is not None:
        columns = [list(column) for column in zip(*pairs, strict=True)] if pairs else [[], [], []]
        write_table(out, dict(zip(("source", "target", "score"), columns, strict=True)))
        say(facts, f"{len(pairs):,} pairs that are not linked, by {facts['score']}, are in\n{out}", as_json=as_json)
        return
    rows = [{"source": u, "target": v, "score": x} for u, v, x in pairs]
    text = "\n".join(f"{x:8.4f}  {spelled(u)}, {spelled(v)}" for u, v, x in pairs)
    say(facts | {"suggested": rows}, text or "all pairs are linked", as_json=as_json)


def _graph(known: Any, edges: str, reading: dict[str, Any]) -> Graph:
    from netfold.data.embedding import Embedding

    if isinstance(known, Embedding):
        return named_as(graph_of(edges, known.nodes, **reading), known.nodes)
    graph: Graph = later_of(known, (edges,), reading)
    return graph


# -------------------------------------------------------------------- groups


@click.command(epilog="Example: netfold groups sdne.netfold -o groups.csv")
@click.argument("model")
@click.option("-k", type=click.IntRange(min=1), help="How many groups.  [default: chosen by the silhouette]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of k-means.")
@click.option("-o", "--out", metavar="FILE", help="Write node and group here; ends in .csv, .tsv or .parquet.")
@click.option("--edges", metavar="EDGES", help="Say what the nodes of each group have in common in this graph.")
@force_flag
@json_flag
def groups(
    model: str, k: int | None, seed: int, out: str | None, edges: str | None, force: bool, as_json: bool
) -> None:
    """Put the nodes of MODEL into groups by k-means of their vectors at length 1; group 0 is the largest.

    Without -k, numbers from 2 to 50 are tried on up to 5,000 nodes, and the one with the best mean silhouette is taken
    and said, with the silhouette: near 0, the groups are not apart.
    """
    if out is not None:
        check_table(out)
        check_new_file(out, force=force)
    embedding = embedding_at(model)
    of_nodes: NodeGroups = embedding.groups(k, seed=seed)
    facts: dict[str, Any] = {"nodes": len(of_nodes), "groups": of_nodes.k, "sizes": of_nodes.sizes}
    facts |= {"silhouettes": {str(x): value for x, value in of_nodes.silhouettes.items()}, "path": out}
    if edges is not None:
        facts["common"] = _common(of_nodes, embedding, edges)
    said = of_nodes.in_words
    said += "".join(f"\n  group {i}: {'; '.join(x)}" for i, x in enumerate(facts.get("common", [])) if x)
    if out is not None:
        write_table(out, {"node": list(of_nodes.nodes), "group": of_nodes.codes.tolist()})
        say(facts, f"{said}\n{out}", as_json=as_json)
        return
    members = of_nodes.to_dict()
    text = "\n".join(f"{group:4}  {spelled(node)}" for node, group in members.items())
    rows = [{"node": node, "group": group} for node, group in members.items()]
    say(facts | {"members": rows}, f"{said}\n{text}", as_json=as_json)


def _common(of_nodes: NodeGroups, embedding: Embedding, edges: str) -> list[list[str]]:
    """What the nodes of each group have in common, in words."""
    from netfold.show.explore.groups import described_groups, linked_rows
    from netfold.show.report.sheets import link_ends

    graph = named_as(graph_of(edges, embedding.nodes), embedding.nodes)
    linked = linked_rows(link_ends(embedding, graph), len(embedding))
    return [x["common"] for x in described_groups(of_nodes, embedding, graph, linked, [])]
