"""`netfold update`, `versions` and `diff`: a network that changes every day, and what its vectors were before."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.inputs import check_there, later_of, model_of, reading_flags
from netfold.cli.names import spelled
from netfold.cli.output import DRIFTED, json_flag, say
from netfold.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netfold.embedder.evolving import Day, Evolving

__all__ = ["diff", "update", "versions"]


@click.command(epilog="Example: netfold update sdne.netfold today.csv --gone left.csv")
@click.argument("model")
@click.argument("edges", required=False)
@click.option(
    "--gone", metavar="FILE", help="Nodes that left, one a line, or links that are no more, two nodes a line."
)
@click.option(
    "--again",
    is_flag=True,
    help="Place all nodes anew that were placed since the last training; with --settle, all since the last fit.",
)
@click.option(
    "--calibrate", metavar="OTHER", help="Another fit, of another seed: sets the alarm at what two differ by."
)
@click.option(
    "--settle",
    metavar="GRAPH",
    help="Then train on, everybody held near the old place; the edges that MODEL was fitted to, or all of today.",
)
@click.option(
    "--mu",
    type=click.FloatRange(min=0),
    metavar="X",
    help="With --settle: how firmly nodes are held; 0 is a warm refit, and much is placing.  [default: 1]",
)
@click.option(
    "--epochs",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --settle: passes over all nodes.  [default: a tenth of the fit's]",
)
@click.option("--refit", metavar="GRAPH", help="Then fit anew, and turn the vectors into the old space.")
@click.option("--compact", type=click.IntRange(min=1), metavar="N", help="Then keep the last N versions apart.")
@reading_flags
@json_flag
def update(
    model: str,
    edges: str | None,
    gone: str | None,
    again: bool,
    calibrate: str | None,
    settle: str | None,
    mu: float | None,
    epochs: int | None,
    refit: str | None,
    compact: int | None,
    as_json: bool,
    **reading: Any,
) -> int:
    """Take a day's EDGES into a saved MODEL: new nodes, new links, changed weights; --gone takes out.

    What is new gets a vector, nobody else's moves by a bit, and a version is written beside the model, whole or not at
    all. Says who could not be reached. With --again those that were placed since the last training are placed anew, by
    all links that they have by now; trained nodes stay (with --settle, all that came since the last fit begin so).
    --settle (SDNE, DVNE, Node2Vec, LINE) and --refit train: a version with vectors of its own, of which it says how far
    nodes moved. EDGES and GRAPH are files of edges, or .parts. The exit code is 3, with a sentence, where the drift is
    more than what two seeds differ by (after --calibrate).
    """
    from netfold.embedder.evolving import Evolving

    check_there(model)
    if not again and all(x is None for x in (edges, gone, calibrate, settle, refit, compact)):
        more = "--gone, --again, --calibrate, --settle, --refit or --compact"
        raise InputError(f"there is nothing to take in; give a file of edges, {more}")
    if settle is not None and refit is not None:
        raise InputError("--settle goes on from the vectors that there are and --refit begins anew; give one of them")
    if settle is None and (mu is not None or epochs is not None):
        raise InputError(
            f"--{'mu' if mu is not None else 'epochs'} is for --settle GRAPH; give that too, or leave it out"
        )
    stream = Evolving.open(model)
    usual = None
    if calibrate is not None:
        other = model_of(calibrate)
        usual = stream.calibrate(getattr(other, "embedding_", other))
    facts: dict[str, Any] = {"model": type(stream.model).__name__, "version": stream.version}
    lines = (
        [] if usual is None else [f"two fits share {usual['kept']:.0%} of the nearest nodes; the alarm is set there"]
    )
    alarm = None
    if edges is not None or gone is not None or again:
        later = None if edges is None else later_of(stream.model, (edges,), reading)
        day = stream.update(later, None if gone is None else gone_in(gone, stream), again=again)
        alarm = day.alarm
        facts |= {"version": day.version, "placed": len(day.placed), "gone": len(day.gone), "drift": day.drift}
        facts |= {"unreached": [spelled(x) for x in day.unreached], "alarm": alarm}
        lines.append(f"version {day.version}: {len(day.placed):,} placed, {len(day.gone):,} gone")
        if day.unreached:
            names = ", ".join(spelled(x) for x in day.unreached[:5])
            lines.append(f"{len(day.unreached):,} could not be reached, and wait for a link: {names}")
        facts["linked"] = len(day.linked)
        if day.linked:
            names = ", ".join(spelled(x) for x in day.linked[:5])
            lines.append(
                f"{len(day.linked):,} with new links stay where they were placed (--again moves them): {names}"
            )
        lines.append(_drift_in_words(day.drift))
    if settle is not None or refit is not None:
        day = _trained(stream, settle, refit, 1.0 if mu is None else mu, epochs, reading, again=again)
        alarm = day.alarm or alarm
        done = "fitted anew and turned into the old space" if settle is None else "settled"
        facts |= {"version": day.version, "trained": "refit" if settle is None else "settle", "drift": day.drift}
        facts["alarm"] = alarm
        lines.append(f"version {day.version}: {done}, {len(stream.embedding_):,} nodes")
        lines.append(_drift_in_words(day.drift))
    if compact is not None:
        facts["versions"] = stream.compact(compact)
        lines.append(f"{facts['versions']:,} deltas are left")
    say(facts, "\n".join(lines), as_json=as_json)
    if alarm is None:
        return 0
    click.echo(f"netfold: {alarm}", err=True)
    return DRIFTED


_DRIFT = {
    "placed": "{:.1%} of all nodes were placed since the fit",
    "unreached": "{:.1%} wait for a link",
    "AUC of new links": "today's links between known nodes are told from random pairs by AUC {:.3f}",
    "kept": "{:.1%} of the ten nearest are still the nearest",
}


def _drift_in_words(drift: Mapping[str, float]) -> str:
    return "; ".join(_DRIFT.get(name, name + " {:.3f}").format(value) for name, value in drift.items())


def _trained(
    stream: Evolving,
    settle: str | None,
    refit: str | None,
    mu: float,
    epochs: int | None,
    reading: dict[str, Any],
    *,
    again: bool,
) -> Day:
    """Settle, or fit anew, on the network that a file says."""
    path = settle or refit
    assert path is not None
    check_there(path)
    graph: Any = path if (Path(path) / "parts.json").exists() else later_of(stream.model, (path,), reading)
    if settle is not None:
        return stream.settle(graph, mu=mu, epochs=epochs, again=again, progress=True)
    return stream.refit(graph, progress=True)


_MOST_BYTES = 1 << 28
"""A file of what is gone has no more."""
_HEADERS = ("node", "nodes", "name", "id")
"""What a single column of nodes is called."""


def gone_in(path: str, stream: Evolving) -> list[Any]:
    """The nodes, or pairs of nodes, in a file of one or two columns, quoted as in CSV, as the stream's are spelled.

    A first line that calls its columns by usual names is a header, unless one of them is a node that is there.
    """
    check_there(path)
    if not Path(path).is_file() or Path(path).stat().st_size > _MOST_BYTES:
        raise InputError(f"{path} is not a file of at most {_MOST_BYTES >> 20} MiB; write a node, or two, on each line")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a file of text in UTF-8, with a node, or two, on each line") from None
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    parse, rows, lines = stream.embedding_.nodes.parse, [], []
    try:
        for cells in reader:
            row = [cell.strip() for cell in cells]
            if any(row):
                if len(row) > 2 or not all(row):
                    which = f"{path}, line {reader.line_num}"
                    raise InputError(f"{which}: a node, or two nodes with a comma between them, is a line there")
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as e:
        raise InputError(f"{path}, line {reader.line_num}: {e}; quote names as CSV does") from None
    nodes = [[parse(cell) for cell in row] for row in rows]
    if rows and _is_header(rows[0]) and not any(node in stream for node in nodes[0]):
        nodes, lines = nodes[1:], lines[1:]
    for row, line in zip(nodes, lines, strict=True):
        for node in (x for x in row if x not in stream):
            raise InputError(
                f"{path}, line {line}: {spelled(node)} cannot be gone, as no node that is there is called so"
            )
    return [row[0] if len(row) == 1 else (row[0], row[1]) for row in nodes]


def _is_header(cells: list[str]) -> bool:
    from netfold.data.columns import names_ends

    return names_ends(cells) if len(cells) == 2 else cells[0].casefold() in _HEADERS


@click.command(epilog="Example: netfold versions sdne.netfold")
@click.argument("model")
@json_flag
def versions(model: str, as_json: bool) -> None:
    """List the versions of a saved MODEL: when each was made, and what it changed; MODEL@5 names one."""
    from netfold.embedder.versions import deltas_of

    check_there(model)
    if not (Path(model) / "manifest.json").exists():
        raise InputError(f"{model} is not a model that netfold saved, and has no versions; netfold fit makes one")
    rows = [
        {"version": x.number, "time": x.time, "placed": len(x.placed), "gone": len(x.gone),
         "unreached": len(x.unreached), "links": len(x.weights), "how": x.how, "alarm": x.facts.get("alarm")}
        for x in deltas_of(Path(model))
    ]  # fmt: skip
    text = "\n".join(f"{x['version']:>4}  {x['time']}  {_did(x)}{'  ALARM' if x['alarm'] else ''}" for x in rows)
    say({"model": model, "versions": rows}, text or "version 0 alone: the model as it was fitted", as_json=as_json)


def _did(version: dict[str, Any]) -> str:
    """What a version did, in words."""
    if version["how"] != "placed":
        return "settled" if version["how"] == "settled" else "fitted anew"
    return f"{version['placed']:,} placed, {version['gone']:,} gone, {version['unreached']:,} unreached"


@click.command(epilog="Example: netfold diff sdne.netfold@5 sdne.netfold@7")
@click.argument("before")
@click.argument("after")
@click.option("-k", type=click.IntRange(min=1), default=10, show_default=True, help="How many nodes, and neighbors.")
@json_flag
def diff(before: str, after: str, k: int, as_json: bool) -> None:
    """Say what changed from one version, or model, to another: who came and went, who moved most, whose neighbors
    changed.

    Two models are aligned first (a rotation changes nothing); two versions of one model lie in one space.
    """
    from netfold.embedder.drift import differences

    one, two = (getattr(x, "embedding_", x) for x in (model_of(before), model_of(after)))
    facts = differences(one, two, k)
    moved = [f"{x['moved']:8.4f}  {spelled(x['node'])}" for x in facts["moved"] if x["moved"] > 0]
    near = [f"{x['kept']:8.0%}  {spelled(x['node'])}" for x in facts["neighbors"] if x["kept"] < 1]
    lines = [f"{facts['came']:,} came, {facts['went']:,} went, {facts['common']:,} are in both"]
    of_moved = f"moved most (a share of the usual length; median {facts['median']:.4f}):"
    lines += [of_moved, *moved] if moved else ["nobody moved"]
    lines += ["of the ten nearest the same:", *near] if near else []
    say(facts, "\n".join(lines), as_json=as_json)
