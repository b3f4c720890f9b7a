"""What duckdb reads for us: zstd text and parquet tables. It is imported here only, and only when needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from netfold.data.columns import Chosen, edge_roles, times_of
from netfold.io.fields import Rows, joined_rows
from netfold.io.source import AS_UTF8, BLOCK, MAX_LINE, excerpt, refusal, weight_of

__all__ = []


_FRAME = 0xFD2FB528
_SKIPPABLE = 0x184D2A50  # and the fifteen numbers after it
_RLE, _RESERVED = 1, 3


class CutShortError(Exception):
    """The file ends inside a frame, or what follows a frame is not another one."""


def check_whole(path: Path) -> None:
    """Raise `CutShortError` unless the file is a row of complete frames."""
    size = path.stat().st_size
    with path.open("rb") as file:
        while file.tell() < size:
            magic = _number(file, 4)
            if magic == _FRAME:
                _pass_frame(file)
            elif magic & ~0xF == _SKIPPABLE:
                file.seek(_number(file, 4), 1)
            else:
                raise CutShortError("what follows a frame is not another one")
        if file.tell() > size:
            raise CutShortError("the last frame is not complete")


def _pass_frame(file: BinaryIO) -> None:
    flags = _number(file, 1)
    single, checksum = flags >> 5 & 1, flags >> 2 & 1
    window, dictionary = 1 - single, (0, 1, 2, 4)[flags & 3]
    file.seek(window + dictionary + (single, 2, 4, 8)[flags >> 6], 1)
    last = 0
    while not last:
        block = _number(file, 3)
        last, kind = block & 1, block >> 1 & 3
        if kind == _RESERVED:
            raise CutShortError("a block is of no known kind")
        file.seek(1 if kind == _RLE else block >> 3, 1)
    file.seek(4 * checksum, 1)


def _number(file: BinaryIO, size: int) -> int:
    raw = file.read(size)
    if len(raw) < size:
        raise CutShortError("the last frame is not complete")
    return int.from_bytes(raw, "little")


_LINES = BLOCK // 16
_ROWS = 1 << 19
_SIGNED = frozenset(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"))
INTEGERS = _SIGNED | {f"U{name}" for name in _SIGNED}
_NUMBERS = INTEGERS | {"FLOAT", "DOUBLE", "HUGEINT", "UHUGEINT", "BOOLEAN"}
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "memory_limit": "2GB",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_file_cache": "false",
}
_NEVER = "\x01\x02\x03\x04"
"""A delimiter that no text holds, so that a line is one field."""


def zstd_blocks(path: Path) -> Iterator[bytes]:
    """The text of a zstd file in pieces of whole lines."""
    try:
        check_whole(path)
    except CutShortError as e:
        raise refusal(path, f"the zstd data are damaged or cut short ({e}); fetch the file again") from None
    with opened(path, "zstd") as (connection, name):
        query = (
            "SELECT line FROM read_csv(?, columns = {'line': 'VARCHAR'}, delim = ?, auto_detect = false,"
            " header = false, quote = '', escape = '', compression = 'zstd', max_line_size = ?)"
        )
        result = connection.execute(query, [name, _NEVER, MAX_LINE])
        while lines := result.fetchmany(_LINES):
            yield "".join([f"{line or ''}\n" for (line,) in lines]).encode()


_Floats = npt.NDArray[np.float64]
ParquetPiece = tuple["npt.NDArray[np.int64] | Rows", "_Floats | None", "_Floats | None"]
"""Some rows of a parquet file: integers (rows x 2) or texts, weights and times."""

_SAMPLE = 200
_PARQUET = "read_parquet(?, hive_partitioning = false"


def parquet_sample(path: Path) -> tuple[list[str], list[list[str]]]:
    """The names of the columns of a parquet file, and its first rows as texts."""
    with opened(path, "parquet") as (connection, name):
        names, types = _described(connection, name)
        return names, _sampled(connection, name, names, types)


def parquet_texts(path: Path, most: int) -> tuple[list[str], list[list[str]]]:
    """The names of the columns of a parquet file, and all of its rows as texts, empty where a value is missing."""
    with opened(path, "parquet") as (connection, name):
        names, _ = _described(connection, name)
        cells = ", ".join(f"coalesce({quoted(column)}::VARCHAR, '')" for column in names)
        rows = connection.execute(f"SELECT {cells} FROM {_PARQUET}) LIMIT {most + 1}", [name]).fetchall()
    if len(rows) > most:
        raise refusal(path, f"there are more than {most:,} rows; give fewer")
    return names, [list(row) for row in rows]


def parquet_values(path: Path, most: int) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """The names of the columns of a parquet file, and its rows as Python's own values, some at a time."""
    with opened(path, "parquet") as (connection, name):
        names, _ = _described(connection, name)
        (count,) = connection.execute(f"SELECT count(*) FROM {_PARQUET})", [name]).fetchone()
    if count > most:
        raise refusal(path, f"there are more than {most:,} rows; give fewer")
    return names, _values(path)


def _values(path: Path) -> Iterator[tuple[Any, ...]]:
    with opened(path, "parquet") as (connection, name):
        answer = connection.execute(f"SELECT * FROM {_PARQUET})", [name])
        while rows := answer.fetchmany(1 << 14):
            yield from rows


def _described(connection: Any, name: str) -> tuple[list[str], list[str]]:
    columns = connection.execute(f"SELECT * FROM {_PARQUET}) LIMIT 0", [name]).description
    return [str(column[0]) for column in columns], [str(column[1]) for column in columns]


def _sampled(connection: Any, name: str, names: list[str], types: list[str]) -> list[list[str]]:
    """The first rows as texts: dates alike whatever their unit, and nothing of a column that is nested."""
    picked = []
    for column, kind in zip(names, types, strict=True):
        plain = kind in _NUMBERS or kind == "VARCHAR" or kind.startswith(("ENUM", "DECIMAL"))
        some = f"{quoted(column)}::VARCHAR" if plain else "'2000-01-01'" if _is_date(kind) else "'...'"
        picked.append(some)
    rows = connection.execute(f"SELECT {', '.join(picked)} FROM {_PARQUET}) LIMIT {_SAMPLE}", [name]).fetchall()
    return [["" if cell is None else cell for cell in row] for row in rows]


def _is_date(kind: str) -> bool:
    return kind == "DATE" or kind.startswith("TIMESTAMP")


class ParquetTable:
    """A parquet file whose columns have been found."""

    def __init__(self, path: Path, connection: Any, name: str, weighted: bool | None, chosen: Chosen | None = None):
        self._path, self._connection, self._name = path, connection, name
        self.names, types = _described(connection, name)
        try:
            rows = _sampled(connection, name, self.names, types) if len(self.names) > 2 else []
            self.roles = edge_roles(self.names, rows, len(self.names), chosen, weighted)
        except ValueError as e:
            raise refusal(path, str(e)) from None
        source, target, weight, time, _ = self.roles
        self.integers = types[source] in INTEGERS and types[target] in INTEGERS
        for i in (source, target):
            if types[i] not in INTEGERS and types[i] != "VARCHAR" and not types[i].startswith("ENUM"):
                problem = f"the column {self.names[i]!r} holds {types[i]}; nodes are integers or strings"
                as_integers = f" (in pandas: frame[{self.names[i]!r}].astype('Int64') makes integers of 1.0)"
                raise refusal(path, problem + as_integers * types[i].startswith(("DOUBLE", "FLOAT", "DECIMAL")))
        if weight is not None and types[weight] not in _NUMBERS and not types[weight].startswith("DECIMAL"):
            raise refusal(
                path, f"the column {self.names[weight]!r} holds {types[weight]}; weights are numbers of at least 0"
            )
        self._picked = [] if weight is None else [f"{quoted(self.names[weight])}::DOUBLE"]
        if time is not None:
            self._picked.append(self._time(time, types[time]))

    def _time(self, column: int, kind: str) -> str:
        """A column of times as a number, or as a text that may be a date."""
        name = quoted(self.names[column])
        if _is_date(kind):
            return f"epoch_us({name}::TIMESTAMP) / 1e6"
        if kind == "VARCHAR":
            return name
        if kind not in _NUMBERS and not kind.startswith("DECIMAL"):
            raise refusal(self._path, f"the column {self.names[column]!r} holds {kind}; times are numbers or dates")
        return f"{name}::DOUBLE"

    def _query(self, kind: str) -> str:
        picked = [f"{quoted(self.names[i])}::{kind}" for i in self.roles[:2]] + self._picked
        return f"SELECT {', '.join(f'{x} AS c{i}' for i, x in enumerate(picked))} FROM read_parquet(?"

    def pieces(self, *, integers: bool) -> Iterator[ParquetPiece]:
        """The rows in the order of the file, some at a time."""
        return self._integer_pieces() if integers else self._text_pieces()

    def _integer_pieces(self) -> Iterator[ParquetPiece]:
        query = (
            f"{self._query('BIGINT')}, hive_partitioning = false, file_row_number = true)"
            " WHERE file_row_number BETWEEN ? AND ?"
        )
        count = "SELECT count(*) FROM read_parquet(?, hive_partitioning = false)"
        total = self._connection.execute(count, [self._name]).fetchone()[0]
        weighted = self.roles.weight is not None
        for start in range(0, total, _ROWS):
            arrays = self._connection.execute(query, [self._name, start, start + _ROWS - 1]).fetchnumpy()
            columns = [arrays[f"c{i}"] for i in range(len(arrays))]
            for column in columns[: 2 + weighted]:
                if np.ma.is_masked(column):
                    raise self._missing(start + int(np.flatnonzero(np.ma.getmaskarray(column))[0]))
            times = self._times(columns[2 + weighted :], start)
            yield np.stack(columns[:2], axis=1), self._checked(columns[2 : 2 + weighted], start), times

    def _text_pieces(self) -> Iterator[ParquetPiece]:
        result = self._connection.execute(f"{self._query('VARCHAR')}, hive_partitioning = false)", [self._name])
        start, weighted = 0, self.roles.weight is not None
        while rows := result.fetchmany(_LINES):
            missing = next((i for i, row in enumerate(rows) if None in row[: 2 + weighted]), None)
            if missing is not None:
                raise self._missing(start + missing)
            nodes = [text.encode() for row in rows for text in row[:2]]
            strange = next((i for i, node in enumerate(nodes) if b"\0" in node), None)
            if strange is not None:
                raise refusal(
                    self._path,
                    f"row {start + strange // 2 + 1}: the node {excerpt(nodes[strange])} holds a NUL byte; remove it",
                )
            weights = self._checked([np.array([row[2] for row in rows])] if weighted else [], start)
            times = self._times([[row[-1] for row in rows]] if self.roles.time is not None else [], start)
            yield joined_rows(nodes, weights, times), weights, times
            start += len(rows)

    def _times(self, times: list[Any], start: int) -> _Floats | None:
        """Times as numbers; NaN where one is missing."""
        if not times:
            return None
        column = times[0]
        if isinstance(column, np.ndarray) and column.dtype.kind == "f":
            return np.ma.filled(np.ma.asarray(column, np.float64), np.nan)
        cells = np.ma.filled(np.ma.asarray(column, object), None).tolist() if isinstance(column, np.ndarray) else column
        if not any(isinstance(cell, str) for cell in cells):
            return np.array([np.nan if cell is None else cell for cell in cells], np.float64)
        try:
            return times_of(["" if cell is None else cell for cell in cells])
        except ValueError as e:
            at = int(str(e))
            problem = f"the time {excerpt(cells[at].encode())} is neither a number nor a date, as 2024-01-31"
            raise refusal(self._path, f"row {start + at + 1}: {problem}") from None

    def _checked(self, weights: list[Any], start: int) -> npt.NDArray[np.float64] | None:
        if not weights:
            return None
        values = np.asarray(weights[0], np.float64)
        if not (values.min() >= 0 and values.max() <= np.finfo(np.float32).max):
            bad = int(np.flatnonzero(~((values >= 0) & (values <= np.finfo(np.float32).max)))[0])
            try:
                weight_of(str(values[bad]).encode())
            except ValueError as e:
                raise refusal(self._path, f"row {start + bad + 1}: the weight {values[bad]} {e}") from None
        return values

    def _missing(self, row: int) -> Exception:
        return refusal(
            self._path, f"row {row + 1}: a value is missing; every edge needs two ends, and a weight if it has one"
        )


@contextmanager
def open_table(path: Path, weighted: bool | None, chosen: Chosen | None = None) -> Iterator[ParquetTable]:
    """A parquet file, opened."""
    with opened(path, "parquet") as (connection, name):
        yield ParquetTable(path, connection, name, weighted, chosen)


def quoted(name: str) -> str:
    """A column's name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def duckdb_module(path: Path, kind: str) -> Any:
    """duckdb itself, or a sentence that says what it is needed for."""
    try:
        import duckdb
    except ModuleNotFoundError:
        raise refusal(
            path, f"{kind} files are read with duckdb; install it (pip install duckdb), or give csv or csv.gz"
        ) from None
    except ImportError as e:  # it is there, and there is no memory to load it
        raise refusal(path, f"duckdb, which reads {kind} files, cannot be loaded: {e}; give csv or csv.gz") from None
    return duckdb


@contextmanager
def opened(path: Path, kind: str) -> Iterator[tuple[Any, str]]:
    """A duckdb that sees this one file and nothing else, and the name by which it does."""
    duckdb = duckdb_module(path, kind)
    plain = str(path.absolute())
    literal = re.sub(r"([*?\[])", r"[\1]", plain)  # in brackets, what would match any name stands for itself
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    try:
        connection.execute("SET allowed_paths = ?", [[plain, literal]])
        connection.execute("SET enable_external_access = false")
        yield connection, literal
    except (duckdb.Error, UnicodeError, RuntimeError) as e:  # the last: names of columns that are not UTF-8
        raise _explained(path, kind, str(e)) from None
    finally:
        connection.close()


def problem_in_words(e: Exception) -> str:
    """What went wrong where duckdb writes or sorts: its first line, or that of a full disk, which comes as json."""
    full = "No space left on device"
    return full if full in str(e) else str(e).strip().split("\n")[0][:300].rstrip(".")


def _explained(path: Path, kind: str, message: str) -> Exception:
    at = re.search(r"on Line: (\d+)", message)
    line = int(at[1]) if at else None
    if kind == "zstd" and "unicode" in message.lower():
        return refusal(path, f"this is not valid UTF-8; {AS_UTF8}", line)
    if kind == "zstd" and "Maximum line size" in message:
        return refusal(path, f"the line is longer than {MAX_LINE:,} bytes; one edge stands on each line", line)
    if kind == "zstd" and "reached an invalid state" in message:
        said = "its lines end in different ways (line feed, carriage return or both)"
        return refusal(path, f"{said}; make them alike, or give .csv or .csv.gz", line)
    if "UINT64" in message and "can't be cast" in message:
        return refusal(path, "a node does not fit in 64 bits with a sign; store the nodes as strings")
    reason = message.strip().split("\n")[0][:200].rstrip(".")
    return refusal(
        path, f"the {kind} data are damaged or cannot be read ({reason}); write or fetch the file again", line
    )
