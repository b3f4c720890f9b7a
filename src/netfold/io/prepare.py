"""`prepare`: files of edges of any number and size into a folder of parts, out of core.

Five stages, each of which leaves a file in `<out>.stage` when it is done and never half of one: a run that was killed
goes on after the last. duckdb joins and sorts, on disk where memory ends; what a row is, which rows are refused and
how repeated edges add up is decided by the code that `read_edges` runs.

| stage | leaves | holds |
| --- | --- | --- |
| rows | `rows/` | the edges of files of text, as their reader cuts them; parquet is read where it lies |
| names | `names.parquet` | every node once, in the order of its hash, with its position |
| pairs | `pairs.parquet` | edges as positions |
| arcs | `arcs.parquet` | edges in both directions (where the graph has none), sorted |
| parts | `parts/` | the parts; then one rename |
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.data.checks import byte_count
from netfold.data.columns import Chosen
from netfold.data.edges import LARGEST, in_float32
from netfold.data.nodes import Nodes
from netfold.data.reading import Reading
from netfold.errors import InputError
from netfold.io.duckdb import ParquetTable, duckdb_module, open_table, problem_in_words, quoted
from netfold.io.edges import EdgeParquet, EdgeText, TableFile, files_named, table_files
from netfold.io.ends import IntegerEnds, NotIntegersError
from netfold.io.files import check_writable, locked_file, staged_folder
from netfold.io.formats import format_of
from netfold.io.parts import check_parts, part_name, part_starts, write_part, write_parts_manifest

__all__ = ["prepare"]

_LEAST = 128 << 20
"""Bytes of memory below which duckdb cannot sort."""
_A_THREAD = 256 << 20
"""Memory that a thread of duckdb has at least."""
_AN_ARC = 96
"""Bytes that an arc takes while its part is put together."""
_ROWS = 1 << 19
"""Rows of text that are handed over together."""
_BITS = 40
"""A row's number is below 2^40; above those bits stands its file's."""
_STAGED = re.compile(
    r"\.lock|spill|parts|rows-[0-9]+|(prepare|names|pairs|arcs|rows-[0-9]+)\.json(\.part)?"
    r"|(names|pairs|arcs)\.parquet(\.part)?"
)
"""What stands in the folder of the stages."""

Report = Callable[[str], object]


def prepare(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    parts: int = 256,
    memory: str | int = "4GB",
    directed: bool = False,
    weighted: bool | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    threads: int | None = None,
    force: bool = False,
    report: Report = lambda words: None,
) -> dict[str, Any]:
    """Write the graph in files of edges as a `.parts` folder, in no more memory than `memory` ("8GB", "8GiB").

    `path` is a file, a pattern, a list, or a folder (as Spark and Dask write) of text or parquet; the other arguments
    are those of `read_edges`, and so are the rules: the same nodes, arcs and weights. Times are passed over. Nodes come
    in the order of a hash of their names (`netfold.io.parts.name_hashes`). What was done is said to `report`; the
    answer has `nodes`, `arcs`, `edges`, `parts` and `balance`, the most arcs of a part over their mean.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "edges.csv").write_text("ann,bob\\nbob,cid\\ncid,ann\\n")
    >>> prepare(folder / "edges.csv", folder / "g.parts", parts=2, memory="256MiB", header=False)["edges"]
    3
    >>> from netfold.data.graph import Graph
    >>> Graph.load(folder / "g.parts")
    Graph(3 nodes, 3 edges, undirected)
    """
    check_parts(parts)
    limit = byte_count(memory)
    if limit < _LEAST:
        raise InputError(f"memory={memory!r} is too little to sort in; give at least {_LEAST >> 20} MiB")
    out = Path(out)
    check_writable(out, force=force)
    given = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    paths = [file for each in given for file in _in_folder(each)]
    odd = next((each for each in paths if format_of(each) is not None), None)
    if odd is not None:
        raise InputError(f"{odd} is a {format_of(odd)} file; prepare reads tables (csv, tsv, parquet)")
    files = table_files(paths, Chosen(source, target, weight), weighted, delimiter, header)
    run = {
        "files": [[str(x.absolute()), x.stat().st_size, x.stat().st_mtime_ns] for x in paths],
        "roles": [list(file.roles[:3]) for file in files],
        "directed": directed, "parts": parts,
    }  # fmt: skip
    stage = out.absolute().with_name(f"{out.name}.stage")
    _begin(stage, run)
    with locked_file(stage / ".lock"):
        work = _Work(stage, files, directed, parts, limit, threads, report)
        facts = work.run(out, force)
        _clear(stage)
    with suppress(OSError):  # a file that somebody put there meanwhile stays, and the folder with it
        stage.rmdir()
    return facts


def _in_folder(path: str | os.PathLike[str]) -> list[Path]:
    """The files in a folder that Spark or Dask wrote, or what a name or a pattern means."""
    if not os.path.isdir(path):
        return [file for each in files_named(path) for file in (_in_folder(each) if each.is_dir() else [each])]
    files = sorted(x for x in Path(path).rglob("*") if x.is_file() and x.name[0] not in "._")
    if not files:
        raise InputError(f"{path} is a folder without files; give one with csv or parquet files")
    return files


def _begin(stage: Path, run: dict[str, Any]) -> None:
    """Make the folder in which stages are kept, or take up the one of the same run that was stopped."""
    try:
        stage.mkdir(exist_ok=True)
        said = stage / "prepare.json"
        _check_stage(stage, {x.name for x in stage.iterdir()})
        if said.exists():
            if json.loads(said.read_text(encoding="utf-8")) != json.loads(json.dumps(run)):
                raise InputError(f"{stage} is left of another preparation (files or options differ); remove it first")
            return
        _put(said, lambda part: part.write_text(json.dumps(run), encoding="utf-8"))
    except (OSError, ValueError) as e:
        if isinstance(e, InputError):
            raise
        raise InputError(f"{stage} cannot be used: {e}; remove it, or give another name") from None


def _check_stage(stage: Path, names: set[str]) -> None:
    """Refuse a folder of somebody else's: when all is done what it holds is removed."""
    other = min((name for name in names if not _STAGED.fullmatch(name)), default=None)
    if other is None and "prepare.json" not in names:
        other = min(names - {".lock", "prepare.json.part"}, default=None)
    if other is not None:
        raise InputError(
            f"{stage}, in which prepare works, holds {other!r}, which it did not write; move that, or give another name"
        )


def _clear(stage: Path) -> None:
    """Remove what was written into the folder of the stages, last of all what says whose it is."""
    for x in sorted(stage.iterdir(), key=lambda x: x.name == "prepare.json"):
        if x.name == ".lock" or not _STAGED.fullmatch(x.name):
            continue
        if x.is_dir() and not x.is_symlink():
            shutil.rmtree(x, ignore_errors=True)
        else:
            x.unlink(missing_ok=True)


def _put(path: Path, write: Callable[[Path], Any]) -> None:
    """Write under another name, and take the name when that is on the disk."""
    part = path.with_name(f"{path.name}.part")
    write(part)
    fd = os.open(part, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    os.replace(part, path)


class _Work:
    """One preparation: its stages, and what they share."""

    def __init__(
        self,
        stage: Path,
        files: Sequence[TableFile],
        directed: bool,
        parts: int,
        limit: int,
        threads: int | None,
        report: Report,
    ):
        self._stage, self._files, self._directed, self._parts = stage, files, directed, parts
        self._limit, self._report = limit, report
        self._threads = threads or max(1, min(_cores(), limit // _A_THREAD))
        self._weighted = files[0].roles.weight is not None

    def run(self, out: Path, force: bool) -> dict[str, Any]:
        """All stages that are not done, and the folder at last."""
        shutil.rmtree(self._stage / "spill", ignore_errors=True)
        for name, stage in (("names", self._names), ("pairs", self._pairs), ("arcs", self._arcs)):
            if not (self._stage / f"{name}.json").exists():
                stage()
        return self._write(out, force)

    @contextmanager
    def _duckdb(self) -> Iterator[Any]:
        """duckdb with half of the memory: its limit does not count what it reads, and numpy needs some beside it."""
        duckdb = duckdb_module(self._files[0].path, "parquet")
        config = {
            "threads": self._threads, "memory_limit": f"{int(self._limit * 0.6) >> 20}MiB",
            "temp_directory": str(self._stage / "spill"), "preserve_insertion_order": "true",
            "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
            "enable_external_file_cache": "false",
        }  # fmt: skip
        connection = duckdb.connect(":memory:", config=config)
        connection.execute("SET enable_progress_bar = false")
        try:
            yield connection
        except duckdb.OutOfMemoryException as e:
            more = "give more --memory, or fewer threads"
            raise InputError(
                f"{problem_in_words(e)}: the memory of {self._limit:,} bytes is too little here; {more}"
            ) from None
        except duckdb.Error as e:
            raise InputError(f"the edges cannot be prepared: {problem_in_words(e)}") from None
        finally:
            connection.close()

    def _copy(self, connection: Any, query: str, name: str, parameters: Sequence[Any] = ()) -> None:
        """Write what a query gives as a parquet file of the stage."""
        said = f"COPY ({query}) TO '{{}}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
        _put(self._stage / name, lambda part: connection.execute(said.format(_escaped(part)), list(parameters)))

    def _table(self, name: str) -> str:
        """SQL for what `_copy` wrote."""
        return f"read_parquet({_listed([self._stage / f'{name}.parquet'])})"

    def _done(self, name: str, **facts: Any) -> None:
        _put(self._stage / f"{name}.json", lambda part: part.write_text(json.dumps(facts), encoding="utf-8"))

    def _said(self, name: str) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads((self._stage / f"{name}.json").read_text(encoding="utf-8"))
        return facts

    # ---------------------------------------------------------------- rows

    def _text_rows(self, connection: Any) -> list[bool]:
        """Cut the files of text into rows, each file once; whether each has integers alone for nodes."""
        integers = []
        for i, file in enumerate(self._files):
            if isinstance(file, EdgeParquet):
                integers.append(file.integers)
                continue
            if not (self._stage / f"rows-{i}.json").exists():
                self._report(f"reading {file.path}")
                self._cut_file(connection, i, file)
            integers.append(bool(self._said(f"rows-{i}")["integers"]))
        return integers

    def _cut_file(self, connection: Any, i: int, file: EdgeText) -> None:
        folder = self._stage / f"rows-{i}"
        try:
            count = self._cut_rows(connection, i, file, folder, integers=file.integers)
            integers = file.integers
        except NotIntegersError:
            count, integers = self._cut_rows(connection, i, file, folder, integers=False), False
        self._done(f"rows-{i}", integers=integers, pieces=count)

    def _cut_rows(self, connection: Any, i: int, file: EdgeText, folder: Path, *, integers: bool) -> int:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        block: list[tuple[Any, Any, Any]] = []
        pieces = rows = in_block = 0
        for _, part in file.pieces():
            if integers:
                u, v = IntegerEnds().add(part)
            else:
                texts = _texts(part)
                u, v = texts[0::2], texts[1::2]
            block.append((u, v, part.weights))
            in_block += len(u)
            if in_block >= _ROWS:
                self._put_rows(connection, folder / f"{pieces}.parquet", i, rows, block)
                pieces, rows, in_block, block = pieces + 1, rows + in_block, 0, []
        if block:
            self._put_rows(connection, folder / f"{pieces}.parquet", i, rows, block)
            pieces += 1
        return pieces

    def _put_rows(self, connection: Any, path: Path, file: int, first: int, block: list[tuple[Any, Any, Any]]) -> None:
        u, v = (np.concatenate([np.asarray(x[k]) for x in block]) for k in (0, 1))
        columns = {"u": u, "v": v}
        if self._weighted:
            columns["w"] = np.concatenate([x[2] for x in block])
            columns["r"] = np.arange(first, first + len(u)) + (file << _BITS)
        connection.register("block", columns)
        connection.execute(f"COPY (SELECT * FROM block) TO '{_escaped(path)}' (FORMAT parquet)")
        connection.unregister("block")

    def _rows(self, integers: bool) -> str:
        """SQL for all rows: columns u and v, and w and r where edges have weights; zeros are still there."""
        kind = "BIGINT" if integers else "VARCHAR"
        queries = []
        text = [
            i for i, file in enumerate(self._files) if isinstance(file, EdgeText) and self._said(f"rows-{i}")["pieces"]
        ]
        more = ", w, r" if self._weighted else ""
        for i in text:
            files = _listed(
                [self._stage / f"rows-{i}" / f"{k}.parquet" for k in range(self._said(f"rows-{i}")["pieces"])]
            )
            queries.append(f"SELECT u::{kind} AS u, v::{kind} AS v{more} FROM read_parquet({files})")
        for group in self._alike():
            names, file = [self._files[i].path for i in group], self._files[group[0]]
            source, target = (quoted(str((file.names or ())[k])) for k in file.roles[:2])
            select = f"SELECT {source}::{kind} AS u, {target}::{kind} AS v"
            options = "hive_partitioning = false"
            if not self._weighted:
                queries.append(f"{select} FROM read_parquet({_listed(names)}, {options})")
                continue
            weight = quoted(str((file.names or ())[file.roles.weight or 0]))
            numbers = ", ".join(f"('{_escaped(self._files[i].path)}', {i << _BITS})" for i in group)
            queries.append(
                f"{select}, {weight}::DOUBLE AS w, file_row_number + first AS r FROM read_parquet({_listed(names)},"
                f" {options}, file_row_number = true, filename = true)"
                f" JOIN (VALUES {numbers}) AS numbered(path, first) ON filename = path"
            )
        return " UNION ALL ".join(queries)

    def _alike(self) -> list[list[int]]:
        """The parquet files, those with the same columns and kinds of nodes together."""
        groups: dict[Any, list[int]] = {}
        for i, file in enumerate(self._files):
            if isinstance(file, EdgeParquet):
                groups.setdefault((file.names, file.roles, file.integers), []).append(i)
        return list(groups.values())

    # ---------------------------------------------------------------- names, pairs, arcs

    def _names(self) -> None:
        with self._duckdb() as connection:
            integers = all(self._text_rows(connection))
            rows = self._rows(integers)
            self._report("checking rows")
            counts = self._checked(connection, rows, integers)
            self._report(f"names of nodes in {counts['rows']:,} rows")
            every = f"SELECT u AS name FROM ({rows}) UNION ALL SELECT v FROM ({rows})"
            hashed = f"SELECT name, {_HASH} AS h FROM (SELECT DISTINCT name FROM ({every}))"
            ordered = f"SELECT name, h, row_number() OVER () - 1 AS id FROM ({hashed} ORDER BY h, name)"
            self._copy(connection, ordered, "names.parquet")
            n = connection.execute(f"SELECT count(*) FROM {self._table('names')}").fetchone()[0]
        if n < 1:
            raise InputError(f"{self._files[0].path}: there are no edges; it should hold one edge per line")
        self._done("names", n=n, integers=integers, **counts)

    def _checked(self, connection: Any, rows: str, integers: bool) -> dict[str, int]:
        """Count the rows; refuse one without an end, or with a weight that is none, by the reader's own sentence."""
        odd = "u IS NULL OR v IS NULL" + ("" if integers else " OR contains(u, chr(0)) OR contains(v, chr(0))")
        zeros = "0"
        if self._weighted:
            odd += f" OR w IS NULL OR NOT (w >= 0 AND w <= {LARGEST!r})"
            zeros = "count(*) FILTER (w = 0)"
        query = f"SELECT count(*), count(*) FILTER ({odd}), {zeros} FROM ({rows})"
        duckdb = duckdb_module(self._files[0].path, "parquet")
        try:
            count, wrong, zero = connection.execute(query).fetchone()
        except duckdb.ConversionException:  # an integer that has no 64 bits
            count, wrong, zero = 0, 1, 0
        if wrong:
            for file in self._files:
                if isinstance(file, EdgeParquet):
                    _refuse_rows(file, integers)
            raise InputError(f"{wrong:,} rows have no two ends, or a weight that is none")  # pragma: no cover
        return {"rows": int(count), "zeros": int(zero)}

    def _pairs(self) -> None:
        facts = self._said("names")
        self._report(f"{facts['n']:,} nodes; edges as positions")
        kind = "INTEGER" if facts["n"] < 2**31 else "BIGINT"
        ends = [f"a.id::{kind}", f"b.id::{kind}"]
        if not self._directed:
            ends = [f"least({ends[0]}, {ends[1]})", f"greatest({ends[0]}, {ends[1]})"]
        more = ", w, r" if self._weighted else ""
        some = " WHERE w > 0" if self._weighted else ""
        names = self._table("names")
        with self._duckdb() as connection:
            connection.execute("SET preserve_insertion_order = false")
            rows = f"SELECT * FROM ({self._rows(facts['integers'])}){some}"
            query = (
                f"SELECT {ends[0]} AS i, {ends[1]} AS j{more} FROM ({rows})"
                f" JOIN {names} AS a ON u = a.name JOIN {names} AS b ON v = b.name"
            )
            self._copy(connection, query, "pairs.parquet")
        self._done("pairs")
        for folder in self._stage.glob("rows-*"):
            if folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)

    def _arcs(self) -> None:
        self._report("sorting arcs")
        pairs = self._table("pairs")
        more = ", w, r" if self._weighted else ""
        both = f"SELECT i, j{more} FROM {pairs}"
        if not self._directed:
            both += f" UNION ALL SELECT j, i{more} FROM {pairs} WHERE i <> j"
        with self._duckdb() as connection:
            self._copy(connection, f"{both} ORDER BY i, j{', r' if self._weighted else ''}", "arcs.parquet")
            arcs = connection.execute(f"SELECT count(*) FROM {self._table('arcs')}").fetchone()[0]
        self._done("arcs", arcs=arcs)
        (self._stage / "pairs.parquet").unlink(missing_ok=True)

    # ---------------------------------------------------------------- parts

    def _write(self, out: Path, force: bool) -> dict[str, Any]:
        facts, arcs = self._said("names"), self._said("arcs")["arcs"]
        if arcs * _AN_ARC // self._parts > self._limit // 2:
            least = -(-arcs * _AN_ARC * 2 // self._limit)
            raise InputError(
                f"a part of {arcs // self._parts:,} arcs is too much for the memory; give --parts {least:,}"
            )
        starts = part_starts(facts["n"], self._parts)
        folder = self._stage / "parts"
        folder.mkdir(exist_ok=True)
        with self._duckdb() as connection:
            for p, (a, b) in enumerate(pairwise(starts.tolist())):
                if not ((folder / f"{p}.json").exists() and (folder / part_name(p)).exists()):
                    if p % -(-self._parts // 16) == 0:  # sixteen lines, however many parts
                        self._report(f"part {p + 1} of {self._parts}")
                    self._write_part(connection, folder, p, a, b, facts)
        entries = [json.loads((folder / f"{p}.json").read_text()) for p in range(self._parts)]
        written, loops = sum(e["arcs"] for e in entries), sum(e.pop("loops") for e in entries)
        edges = written if self._directed else (written + loops) // 2
        kind = "int" if facts["integers"] else "text"
        said = self._reading(facts, edges)
        with staged_folder(out, force=force) as new:
            for entry in entries:
                os.link(folder / entry["name"], new / entry["name"])
            write_parts_manifest(
                new, "graph", entries, kind, hashed=True, directed=self._directed, reading=said.to_dict()
            )
        balance = max(e["arcs"] for e in entries) * self._parts / max(written, 1)
        answer = {"nodes": facts["n"], "arcs": written, "edges": edges, "parts": self._parts, "balance": balance}
        return answer | {"reading": str(said)}

    def _reading(self, facts: dict[str, Any], edges: int) -> Reading:
        first = self._files[0]
        header = first.names is not None if isinstance(first, EdgeText) else None
        more: dict[str, Any] = {"header": header, "undecided": first.undecided, "files": len(self._files)}
        reading = Reading.of(first.names, first.roles._replace(time=None), first.width, **more)
        return reading.counted(facts["rows"], edges, summed=self._weighted, zeros=facts["zeros"])

    def _write_part(self, connection: Any, folder: Path, p: int, a: int, b: int, facts: dict[str, Any]) -> None:
        """Part p: the nodes a to b - 1, and their rows."""
        names = f"SELECT name FROM {self._table('names')} WHERE id >= {a} AND id < {b}"
        nodes = _nodes(connection.execute(names).fetchnumpy()["name"], facts["integers"])
        more = ", w" if self._weighted else ""
        arcs = f"SELECT i, j{more} FROM {self._table('arcs')} WHERE i >= {a} AND i < {b}"
        columns = connection.execute(arcs).fetchnumpy()
        arrays = _summed_rows(columns["i"], columns["j"], columns.get("w"), a, b)
        loops = int(np.count_nonzero(np.repeat(np.arange(a, b), np.diff(arrays["indptr"])) == arrays["indices"]))
        part = folder / "part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        entry = write_part(part, p, nodes, arrays, hashed=True)
        os.replace(part / entry["name"], folder / entry["name"])
        _put(folder / f"{p}.json", lambda x: x.write_text(json.dumps(entry | {"loops": loops}), encoding="utf-8"))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_HASH = "('0x' || substr(md5(name::VARCHAR), 1, 16))::UBIGINT"
"""`netfold.io.parts.name_hashes` in SQL."""


def _texts(part: Any) -> npt.NDArray[Any]:
    """The nodes of some rows as texts, source, target, source, ..."""
    whole = part.buffer.tobytes()
    bounds = zip(part.starts.ravel().tolist(), part.ends.ravel().tolist(), strict=True)
    texts = np.empty(2 * len(part.starts), object)
    texts[:] = [whole[a:b].decode() for a, b in bounds]
    return texts


def _refuse_rows(file: EdgeParquet, integers: bool) -> None:
    """Read a file as `read_edges` does, which raises at the first row that is wrong."""
    with open_table(file.path, *file.options) as table:
        assert isinstance(table, ParquetTable)
        for _ in table.pieces(integers=integers):
            pass


def _nodes(names: Any, integers: bool) -> Nodes:
    if integers:
        return Nodes("int", {"ints": np.asarray(names, np.int64)})
    texts = [name.encode() for name in np.asarray(names).tolist()]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return Nodes("text", {"offsets": offsets, "bytes": np.frombuffer(b"".join(texts), np.uint8)})


def _summed_rows(i: Any, j: Any, w: Any, a: int, b: int) -> dict[str, npt.NDArray[Any]]:
    """Rows a to b - 1 of sorted arcs, each once; weights are added in the order of their rows, as `read_edges` does."""
    i, j = np.asarray(i), np.asarray(j)
    first = np.flatnonzero(np.append(len(i) > 0, (i[1:] != i[:-1]) | (j[1:] != j[:-1])))[: len(i)]
    weights = np.ones(len(first), np.float32)
    if w is not None:
        sums = np.zeros(len(first))
        np.add.at(sums, np.repeat(np.arange(len(first)), np.diff(np.append(first, len(i)))), np.asarray(w))
        if len(sums) and not sums.max() <= LARGEST:
            raise InputError(f"the weights of an edge sum to more than {LARGEST:.3g}; scale the weights down")
        weights = in_float32(sums)
        first, weights = first[weights > 0], weights[weights > 0]
    counts = np.bincount(i[first] - a, minlength=b - a)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
    return {"indptr": indptr, "indices": np.ascontiguousarray(j[first]), "weights": weights}


def _escaped(path: Path) -> str:
    """A path as it stands within quotes of SQL."""
    return str(path.absolute()).replace("'", "''")


def _listed(paths: Sequence[Path]) -> str:
    """Files to be read; in brackets, what would match any name stands for itself."""
    return "[" + ", ".join("'" + re.sub(r"([*?\[])", r"[\1]", _escaped(path)) + "'" for path in paths) + "]"
