"""`netfold datasets`: the data sets known by name, and what is known of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.output import json_flag, say
from netfold.data.text import printable, text_table

if TYPE_CHECKING:
    from netfold.studies.datasets import Dataset

__all__ = ["datasets"]

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
