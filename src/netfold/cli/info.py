"""`netfold info PATH`: what a file of edges, tuples or vectors, a graph, a model or a checkpoint holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.inputs import data_of, either_flags, embedding_at, refuse_reading_flags
from netfold.cli.names import spelled
from netfold.cli.output import json_flag, say
from netfold.data.text import printable, text_table
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.graph import Graph
    from netfold.data.hypergraph import Hypergraph
    from netfold.data.statistics import Counts

__all__ = ["info"]

_EXAMPLES, _LONGEST = 3, 80
"""How many names are shown, and so many characters of each."""


@click.command(epilog="Example: netfold info edges.csv.gz; netfold info sdne.netfold --json")
@click.argument("path")
@either_flags
@json_flag
def info(path: str, as_json: bool, **reading: Any) -> None:
    """Say what PATH holds: a file of edges, of hyperedges or of vectors, a saved graph, a model or a checkpoint.

    The flags on reading are for a file; a model of hyperedges knows its types and kinds.
    """
    from netfold.io.parts import is_parts
    from netfold.io.vectors import holds_vectors

    if any(Path(path).glob("state-*/manifest.json")):  # of several ranks: the newest state
        from netfold.cluster.checkpoints import whole_states

        path = str(Path(path) / whole_states(Path(path))[0])
    if (Path(path) / "manifest.json").exists():
        refuse_reading_flags(path, reading)
        facts = _of_folder(Path(path))
    elif is_parts(path, "embedding"):
        refuse_reading_flags(path, reading)
        facts = _of_parts(Path(path))
    elif reading["source"] is None and holds_vectors(Path(path)):
        refuse_reading_flags(path, reading)
        facts = _of_vectors(path)
    else:
        facts = _of_data(data_of(path, reading))
    facts = {"path": path, **facts}
    say(facts, "\n".join([text_table(_rows(facts)), *_table(facts.get("trials"))]), as_json=as_json)


def _of_vectors(path: str) -> dict[str, Any]:
    """Of a file that an embedding was exported to."""
    embedding = embedding_at(path)
    facts = {"kind": "embedding", "nodes": len(embedding), "dim": embedding.dim, "gaussian": embedding.std is not None}
    return facts | {"bytes": Path(path).stat().st_size, "names": list(embedding.nodes[:_EXAMPLES])}


def _of_parts(folder: Path) -> dict[str, Any]:
    """Of vectors in parts, of which only some names are read."""
    from netfold.io.parts import PartsFolder

    parts = PartsFolder.open(folder, "embedding")
    facts = {"kind": "embedding", "nodes": parts.n_nodes, "dim": parts.facts["dim"], "parts": len(parts)}
    facts |= {"gaussian": bool(parts.facts.get("std")), "fitted_to": parts.facts.get("fitted_to")}
    return facts | {"bytes": sum(x["size"] for x in parts.files), "names": list(parts.names(0)[:_EXAMPLES])}


def _of_folder(folder: Path) -> dict[str, Any]:
    from netfold.io.tensors import check_records, read_manifest, read_records

    kind = _kind(folder)
    manifest = read_manifest(folder, kind)
    try:
        run = manifest if kind == "model" else manifest["run"]
        records = manifest["history"] if kind == "checkpoint" else read_records(folder / "metrics.jsonl")
        history = check_records(records, folder / "manifest.json")
        losses = {k: v for k, v in history[-1].items() if k not in ("epoch", "seconds")} if history else None
        facts = {"kind": kind, "model": run["model"], "nodes": run["graph"]["n_nodes"]}
        facts |= (
            _versions(folder)
            | _sort(run["graph"])
            | _scaled_weights(run["graph"])
            | _scaled_attributes(run["graph"])
            | {"epochs": len(history), "losses": losses}
        )
        facts |= {"config": dict(run["config"]), "fingerprint": run["graph"]["fingerprint"]}
        facts |= _held_out(run["graph"])
        facts |= {"pairs_scored_by": str(run["pair_score"])} if "pair_score" in run else {}
        facts |= _trials(run["trials"]) if "trials" in run else {}
    except (KeyError, TypeError, AttributeError, ValueError) as e:
        raise InputError(f"{folder} is damaged: its manifest does not say what it holds ({e})") from None
    return facts | {"bytes": sum(f["size"] for f in manifest["files"])}


def _versions(folder: Path) -> dict[str, Any]:
    """The last version that `netfold update` wrote, and how many nodes that has; the rest is of the fit."""
    if not (folder / "versions").is_dir():
        return {}
    from netfold.embedder.evolving import Evolving

    stream = Evolving.open(folder)
    return {"nodes_now": len(stream.embedding_), "version": stream.version}


def _scaled_weights(graph: dict[str, Any]) -> dict[str, str]:
    """How weights of edges were read, where not as they are."""
    from netfold.embedder.problem import weight_unit_of

    unit = weight_unit_of(graph)
    return {} if unit is None else {"weights": f"log(1 + w / {unit:g})"}


def _held_out(graph: dict[str, Any]) -> dict[str, str]:
    """Whether training beat its start, where held-out links were asked."""
    if "held_out" not in graph:
        return {}
    from netfold.embedder.stopping import held_out_in_words

    return {"held_out": held_out_in_words(graph["held_out"])}


def _trials(facts: Any) -> dict[str, Any]:
    """What was tried before the model was chosen."""
    from netfold.embedder.trials import Trials

    return {"trials": Trials.from_dict(facts).to_dict()}


def _sort(graph: dict[str, Any]) -> dict[str, Any]:
    """Whether a model's graph was directed; of a hypergraph, its types and kinds."""
    if "kinds" not in graph:
        return {"directed": graph["directed"]}
    names = graph["types"]
    kinds = [_roles(kind["roles"], [names[t] for t in kind["types"]]) for kind in graph["kinds"]]
    return {"types": dict(zip(names, graph["counts"], strict=True)), "kinds": kinds}


def _scaled_attributes(graph: dict[str, Any]) -> dict[str, Any]:
    """Of each attribute that a model was fitted with its kind, its width and of how many nodes it was known."""
    if "attributes" not in graph:
        return {}
    columns = graph["attributes"]["columns"]
    return {"attributes": {name: {"kind": k, "width": w, "known": n} for name, k, w, n, *_ in columns}}


def _roles(roles: Sequence[str], types: Sequence[str]) -> str:
    """A kind as the first line of its file names it."""
    return ",".join(r if r == t else f"{r}:{t}" for r, t in zip(roles, types, strict=True))


def _kind(folder: Path) -> str:
    """A checkpoint where the manifest is one's; whatever else is wrong with it, reading it as a model will tell."""
    from netfold.io.files import read_facts
    from netfold.io.tensors import FORMAT

    try:
        read_facts(folder / "manifest.json", FORMAT, "checkpoint")
    except InputError:
        return "model"
    return "checkpoint"


def _of_data(data: Graph | Hypergraph) -> dict[str, Any]:
    from netfold.data.graph import Graph

    return _of_graph(data) if isinstance(data, Graph) else _of_hypergraph(data)


def _of_graph(graph: Graph) -> dict[str, Any]:
    from netfold.data.statistics import graph_counts

    counts = graph_counts(graph)
    facts: dict[str, Any] = {"kind": "graph", "nodes": counts.nodes, "edges": counts.edges}
    facts |= {"directed": counts.directed, "weighted": counts.weighted, "self_loops": counts.self_loops}
    facts |= {"bipartite": counts.sides is not None}
    if counts.sides is not None:
        facts["sides"] = {"first": counts.sides[0], "second": counts.sides[1]}
    facts |= {"isolated": counts.isolated, "components": counts.components, **_degrees(counts)}
    if counts.weights is not None:
        facts["weights"] = {"min": counts.weights.least, "max": counts.weights.largest}
    return facts | _attributes(graph) | _reading(graph) | {"names": graph.nodes[:_EXAMPLES]}


def _of_hypergraph(hypergraph: Hypergraph) -> dict[str, Any]:
    from netfold.data.statistics import hypergraph_counts

    counts = hypergraph_counts(hypergraph)
    facts: dict[str, Any] = {"kind": "hypergraph", "nodes": counts.nodes, "hyperedges": counts.edges}
    facts |= {"types": counts.types, "kinds": {_roles(kind.roles, kind.types): len(kind) for kind in hypergraph.kinds}}
    facts |= {"isolated": counts.isolated, **_degrees(counts), **_attributes(hypergraph), **_reading(hypergraph)}
    return facts | {"names": hypergraph.nodes[:_EXAMPLES]}


def _attributes(data: Graph | Hypergraph) -> dict[str, Any]:
    """Of each attribute its kind, its width and of how many nodes it is known."""
    if data.attributes is None:
        return {}
    columns = {
        column.name: {"kind": column.kind, "width": column.width, "known": int(column.known.sum())}
        for column in data.attributes.columns
    }
    return {"attributes": columns, "attribute_entries": data.attributes.n_entries}


def _reading(data: Graph | Hypergraph) -> dict[str, Any]:
    """What was read of a file; the table leaves it out, as it is said on standard error."""
    return {} if data.reading is None else {"reading": data.reading.to_dict()}


def _degrees(counts: Counts) -> dict[str, Any]:
    of = counts.degrees
    return {} if of is None else {"degrees": {"min": of.least, "mean": of.mean, "max": of.largest}}


def _table(trials: Any) -> list[str]:
    if trials is None:
        return []
    from netfold.embedder.trials import Trials

    return ["", f"raced for {trials['task']} within {trials['budget']}:", repr(Trials.from_dict(trials))]


def _rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    apart = ("reading", "trials")
    listed = {name: value for name, value in facts.items() if value is not None and name not in apart}
    return [(name.replace("_", " "), _words(value)) for name, value in listed.items()]


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        nested = any(isinstance(v, dict) for v in value.values())
        return ("; " if nested else ", ").join(f"{printable(k)} {_words(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(f'"{x}"' if "," in x else x for x in map(_short, map(spelled, value)))
    return printable(value)
