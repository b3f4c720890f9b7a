"""`netfold reproduce NAME` and `netfold datasets`: published tables, and the data that they are measured on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.output import json_flag, say
from netfold.data.text import printable, text_table
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.studies.datasets import Dataset
    from netfold.studies.reproduce import Recorded, Run, Table

__all__ = ["datasets", "reproduce"]


@click.command(epilog="Example: netfold reproduce sdne-grqc --seeds 3")
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the tables: paper, data, and where each stands.")
@click.option("--seeds", type=click.IntRange(1, 1000), metavar="N", help="How many runs to average.  [default: 3]")
@click.option("--quick", is_flag=True, help="One seed, less training and less evaluation: whether it works at all.")
@click.option("--record", "recording", is_flag=True, help="Write the numbers into the table's file, and the page anew.")
@click.option("--baselines", is_flag=True, help="Measure the cheap baselines alone, anew; figures of models stay.")
@click.option(
    "--merge",
    metavar="FILE",
    multiple=True,
    help="Take in a run that `python -m netfold.studies.reproduce` recorded; can be repeated, for runs of other seeds.",
)
@click.option("--page", "paging", is_flag=True, help="Write the page of all tables anew; nothing is run.")
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where models are fitted.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes that run rows and seeds side by side, each with its share of the cores.",
)
@click.option(
    "--limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Give up after so long, and average the seeds that are done.",
)
@click.option("--tables", metavar="FOLDER", help="Where the tables are.  [default: those that come with netfold]")
@json_flag
def reproduce(
    name: str | None,
    listing: bool,
    seeds: int | None,
    quick: bool,
    recording: bool,
    baselines: bool,
    merge: tuple[str, ...],
    paging: bool,
    device: str,
    jobs: int,
    limit: float | None,
    tables: str | None,
    as_json: bool,
) -> None:
    """Run the published table NAME, and print paper, ours, baselines and verdict.

    A row is run for each seed 0, 1, ...; ours is the mean, with the standard deviation. --list shows the names. Data
    sets are found as `netfold datasets` says. --record is for a checkout of netfold (or your own --tables). Ctrl-C
    ends all processes of --jobs, and nothing is written. `python -m netfold.studies.reproduce NAME --record FILE` runs
    a table where click is missing, and --merge FILE takes that run in.
    """
    from netfold.studies.reproduce import Run, folder_of_tables

    _check_asked(name, listing, paging, merge, quick=quick, recording=recording, seeds=seeds)
    folder = folder_of_tables(tables)
    if recording or paging or merge:
        _check_writable(folder)
    if listing:
        _list(folder, as_json=as_json)
    elif paging:
        path = _write_page(folder)
        say({"page": path}, path, as_json=as_json)
    elif merge:
        _merge(folder, merge, as_json=as_json)
    else:
        how = Run(
            range(1 if quick else seeds or 3), quick=quick, device=device, progress=sys.stderr.isatty(), jobs=jobs,
            limit=limit, say=lambda line: click.echo(line, err=True),
        )  # fmt: skip
        _run(folder, str(name), how, recording=recording, baselines=baselines, as_json=as_json)


def _check_asked(
    name: str | None,
    listing: bool,
    paging: bool,
    merge: tuple[str, ...],
    *,
    quick: bool,
    recording: bool,
    seeds: int | None,
) -> None:
    if quick and recording:
        raise click.UsageError("--quick is not worth recording; leave out --quick or --record")
    if quick and seeds not in (None, 1):
        raise click.UsageError("--quick runs one seed; leave out --quick or --seeds")
    if sum((name is not None, listing, paging, bool(merge))) != 1:
        raise click.UsageError("give the NAME of one table, or --list, or --page, or --merge FILE")


def _check_writable(folder: Path) -> None:
    """Refuse before hours of work what could not be kept after them."""
    from netfold.io.files import check_writable
    from netfold.studies.reproduce import is_installed, page_of

    if is_installed(folder):
        raise InputError(f"{folder} belongs to the installed package; copy it, and give the copy with --tables FOLDER")
    check_writable(page_of(folder), force=True)
    check_writable(folder / "x.toml", force=True)


def _list(folder: Path, *, as_json: bool) -> None:
    from netfold.studies.reproduce import last_verdict, read_tables

    rows: list[dict[str, Any]] = [
        {"name": t.name, "paper": t.paper, "title": t.title, "data": t.data.name, "present": _is_here(t.data.name),
         "status": t.status or "can be run", "verdict": last_verdict(t)}
        for t in read_tables(folder)
    ]  # fmt: skip
    lines = [["table", "paper", "data", "present", "where it stands"]]
    lines += [[r["name"], r["paper"], r["data"], "yes" if r["present"] else "no", r["verdict"]] for r in rows]
    say({"tables": rows}, text_table(lines), as_json=as_json)


def _is_here(data: str) -> bool:
    from netfold import datasets

    return data in datasets.names() and datasets.present(data) is not None


def _write_page(folder: Path) -> str:
    from netfold.studies.reproduce import page_of, read_tables, write_page

    write_page(read_tables(folder), page_of(folder))
    return str(page_of(folder))


def _merge(folder: Path, files: tuple[str, ...], *, as_json: bool) -> None:
    """Files of the same rows of a table are runs of different seeds, which are joined first."""
    from netfold.studies import reproduce as published

    runs: dict[tuple[str, tuple[str, ...]], list[Recorded]] = {}
    for name, run in (published.read_run(Path(file)) for file in files):
        runs.setdefault((name, tuple(run.rows)), []).append(run)
    taken: list[dict[str, Any]] = []
    for (name, rows), of_rows in runs.items():
        table = published.table_named(folder, name)
        published.record(table, published.merged(table, published.joined_runs(of_rows)))
        taken.append({"table": name, "rows": list(rows), "path": str(table.path)})
    _write_page(folder)
    lines = [f"{', '.join(x['rows'])} are in\n{x['path']}" for x in taken]
    say(taken[0] if len(taken) == 1 else {"merged": taken}, "\n".join(lines), as_json=as_json)


def _run(folder: Path, name: str, how: Run, *, recording: bool, baselines: bool, as_json: bool) -> None:
    from netfold.studies import reproduce as published

    table = published.table_named(folder, name).usual()
    result = published.with_baselines(table, how) if baselines else published.run(table, how)
    if recording:
        published.record(table, result)
        _write_page(folder)
    facts = {"table": table.name, "quick": how.quick, **asdict(result), "verdicts": _verdicts(table, result)}
    say(facts | {"recorded": recording}, _as_text(table, result, quick=how.quick), as_json=as_json)


def _verdicts(table: Table, result: Recorded) -> dict[str, dict[str, str]]:
    from netfold.studies.reproduce import verdicts, with_cheap_rows

    beside = {r.name: with_cheap_rows(table, r, result.rows) for r in table.rows}
    judged = {r.name: verdicts(table, r, beside[r.name], len(result.seeds)) for r in table.rows}
    return {name: {figure: str(verdict) for figure, verdict in row.items()} for name, row in judged.items()}


def _as_text(table: Table, result: Recorded, *, quick: bool) -> str:
    from netfold.studies.reproduce import lines, with_cheap_rows

    head = ["row", "figure", "paper", "ours", "target", "verdict", "baselines"]
    rows = [
        [x.row, x.figure, x.paper, x.ours + x.spread, x.target, x.verdict, ", ".join(x.baselines)]
        for row in table.rows
        for x in lines(table, row, with_cheap_rows(table, row, result.rows), len(result.seeds))
    ]
    short = "  (--quick: less than the table asks for)" if quick else ""
    seeds = ", ".join(map(str, result.seeds))
    spent = f"{result.seconds:,.0f} s on {result.machine}; netfold {result.version}; seeds {seeds}"
    return "\n".join([f"{table.title}: {table.paper}, {table.source}{short}", text_table([head, *rows]), spent])


# -------------------------------------------------------------------- datasets


_HEAD = ("name", "kind", "nodes", "edges", "licence", "present")
_NUMBERS = ("nodes", "edges")


@click.command(epilog="Example: netfold datasets; netfold datasets ca_grqc --json")
@click.argument("name", required=False)
@json_flag
def datasets(name: str | None, as_json: bool) -> None:
    """List the data sets that netfold knows by name, or say all about NAME and how to obtain it.

    Those that are built in need no file. The others are looked for in the folder that NETFOLD_DATA names, then in
    ~/.cache/netfold; each has a folder of its own there.
    """
    from netfold.studies.datasets import describe, names

    if name is not None:
        facts = _facts(describe(name))
        say(facts, text_table(_rows(facts)), as_json=as_json)
        return
    listed = [_facts(describe(each)) for each in names()]
    say({"datasets": listed}, _lines(listed), as_json=as_json)


def _facts(dataset: Dataset) -> dict[str, Any]:
    """All that is known, whether it is here, and where its files belong."""
    from dataclasses import asdict

    from netfold.studies.datasets import options, present
    from netfold.studies.datasets.catalogue import folders

    facts = asdict(dataset)
    facts["present"] = here = present(dataset.name)
    facts["options"] = {option: repr(default) for option, default in options(dataset.name).items()}
    facts["put_into"] = [str(folder / dataset.name) for folder in folders()] if here is None else []
    return facts


def _lines(listed: Sequence[dict[str, Any]]) -> str:
    rows = [(f["name"], _kind(f), *(_count(f[n]) for n in _NUMBERS), f["licence"], _present(f)) for f in listed]
    return text_table([_HEAD, *rows], right=[i for i, head in enumerate(_HEAD) if head in _NUMBERS])


def _rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """A line for each fact that is known; those of which there are several, one below the other."""
    rows: list[tuple[str, object]] = [("name", facts["name"]), ("title", facts["title"]), ("kind", _kind(facts))]
    rows += [(n, _count(facts[n])) for n in (*_NUMBERS, "classes") if facts[n] is not None]
    rows += [(n, facts[n]) for n in ("origin", "licence", "notes") if facts[n]]
    rows += [("options", f"{name}={default}") for name, default in facts["options"].items()]
    rows += [("source", source) for source in facts["sources"]]
    rows += [("file", _file(file)) for file in facts["files"]]
    rows += [("present", _present(facts)), *(("put files into", folder) for folder in facts["put_into"])]
    return [("" if i and rows[i - 1][0] == name else name, printable(value)) for i, (name, value) in enumerate(rows)]


def _kind(facts: dict[str, Any]) -> str:
    words = [word for word in ("directed", "weighted") if facts[word]]
    return " ".join([*words, "graph of documents" if facts["kind"] == "documents" else facts["kind"]])


def _count(number: int | None) -> str:
    return "by chance" if number is None else f"{number:,}"


def _file(file: dict[str, Any]) -> str:
    return f"{file['name']}  {file['bytes']:,} bytes  columns {','.join(file['columns'])}  sha256 {file['sha256']}"


def _present(facts: dict[str, Any]) -> str:
    return facts["present"] or "absent"
