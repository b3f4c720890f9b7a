"""`python -m netfold.studies.reproduce NAME --record FILE`: run a table where the command line's library is missing.

The file holds the run; `netfold reproduce --merge FILE` takes it into the table, on another machine.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from netfold.errors import InputError, TrainingError
from netfold.io.files import check_writable
from netfold.studies.reproduce import (
    Run,
    Table,
    baselines_alone,
    folder_of_tables,
    lines,
    run,
    table_named,
    with_cheap_rows,
    write_run,
)

__all__ = ["run_table"]


def run_table(arguments: list[str] | None = None) -> int:
    """Run the table that the arguments name; the exit code."""
    asked = _parser().parse_args(arguments)
    try:
        table = _table(asked)
        if asked.record is not None:
            check_writable(Path(asked.record), force=True)
        seeds = asked.seed or range(asked.seeds)
        how = Run(
            seeds, quick=asked.quick, device=asked.device, jobs=asked.jobs, limit=asked.limit, say=_say,
            baselines=not asked.models_only,
        )  # fmt: skip
        result = baselines_alone(table, how) if asked.baselines_only else run(table, how)
    except (InputError, OSError) as e:
        _say(f"netfold: {e}")
        return 2
    except TrainingError as e:
        _say(f"netfold: {e}")
        return 1
    for row in table.rows:
        for x in lines(table, row, with_cheap_rows(table, row, result.rows), len(result.seeds)):
            print(f"{x.row}  {x.figure}  paper {x.paper or '-'}  ours {x.ours}{x.spread}  {x.verdict}")
    if asked.record is not None:
        write_run(table, result, Path(asked.record))
    return 0


def _table(asked: argparse.Namespace) -> Table:
    """The table, or those of its rows that are named."""
    table = table_named(folder_of_tables(asked.tables), asked.name)
    known, usual = [row.name for row in table.rows], [row.name for row in table.usual().rows]
    unknown = next((name for name in asked.row or () if name not in known), None)
    if unknown is not None:
        raise InputError(f"{table.name} has no row {unknown!r}; it has {', '.join(known)}")
    if asked.quick and asked.record is not None:
        raise InputError("--quick is not worth recording; leave out --quick or --record")
    return dataclasses.replace(table, rows=tuple(row for row in table.rows if row.name in (asked.row or usual)))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m netfold.studies.reproduce", description=run_table.__doc__)
    parser.add_argument("name", help="the table")
    parser.add_argument("--record", metavar="FILE", help="write the run here, for netfold reproduce --merge FILE")
    parser.add_argument("--row", action="append", metavar="NAME", help="only this row; can be repeated")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="how many runs to average: 0 to N - 1")
    parser.add_argument("--seed", type=int, action="append", metavar="S", help="this seed alone; can be repeated")
    alone = parser.add_mutually_exclusive_group()
    alone.add_argument(
        "--models-only", action="store_true", help="no baselines: --merge takes those that the table has"
    )
    alone.add_argument(
        "--baselines-only", action="store_true", help="no models: --merge puts the baselines beside what was recorded"
    )
    parser.add_argument("--quick", action="store_true", help="less training and less evaluation")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes side by side")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="give up after so long")
    parser.add_argument("--tables", metavar="FOLDER", help="where the tables are")
    return parser


if __name__ == "__main__":
    sys.exit(run_table())
