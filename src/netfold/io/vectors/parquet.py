"""Parquet, which duckdb writes and reads; it is imported only when needed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from netfold.data.nodes import Nodes
from netfold.data.text import as_typed
from netfold.errors import InputError
from netfold.io.duckdb import problem_in_words
from netfold.io.files import staged_file
from netfold.io.vectors.plain import Stored, column_names, fingerprint, verified

if TYPE_CHECKING:
    import duckdb

_MOST_PACKED = 1000
"""Parquet packs constant columns well, but not an honest embedding to less than a thousandth."""
_SMALL = 1 << 26
_COLUMNS_AT_ONCE = 16


def write_parquet(path: Path, stored: Stored, *, force: bool, lists: bool = False) -> None:
    """A row for each node: its name, its vector and, where there is one, its `std`: a column a number, or lists."""
    nodes, vectors, std, fitted_to = stored
    table: dict[str, npt.NDArray[Any]] = {"node": _node_column(nodes)}
    parts = [vectors] if std is None else [vectors, std]
    numbers = (part[:, j] for part in parts for j in range(part.shape[1]))
    table |= dict(zip(column_names(vectors.shape[1], std is not None), numbers, strict=True))
    picked = "* EXCLUDE node"
    if lists:
        letters = {"vector": "v", "std": "s"} if std is not None else {"vector": "v"}
        by_name = {name: ", ".join(f"{x}{j}" for j in range(vectors.shape[1])) for name, x in letters.items()}
        picked = ", ".join(f"[{columns}]::FLOAT[] AS {name}" for name, columns in by_name.items())
    node = "node::BIGINT" if nodes.kind == "int" else "node::VARCHAR"
    facts = f"netfold_labels: '{nodes.kind}'"
    if fitted_to is not None and fingerprint(fitted_to):
        facts += f", netfold_fitted_to: '{fitted_to}'"
    with _duckdb() as connection, staged_file(path) as part:
        import duckdb

        connection.register("embedding", table)
        try:
            connection.execute(
                f"COPY (SELECT {node} AS node, {picked} FROM embedding) TO {_quoted(part)} "
                f"(FORMAT parquet, KV_METADATA {{{facts}}})"
            )
        except duckdb.OutOfMemoryException:
            raise MemoryError from None
        except duckdb.Error as e:  # a full disk, most of all
            raise InputError(f"{path} cannot be written: {problem_in_words(e)}") from None


def write_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """A table of columns of whole numbers, numbers or texts, each of one sort; what is neither is written as text."""
    with _duckdb() as connection, staged_file(path) as part:
        import duckdb

        connection.register("columns_given", {name: _plain_column(values) for name, values in columns.items()})
        try:
            connection.execute(f"COPY (SELECT * FROM columns_given) TO {_quoted(part)} (FORMAT parquet)")
        except duckdb.Error as e:  # a full disk, most of all
            raise InputError(f"{path} cannot be written: {problem_in_words(e)}") from None


def write_places(
    path: Path, nodes: Nodes, at: npt.NDArray[Any], ids: npt.NDArray[np.int64], distances: npt.NDArray[np.float64]
) -> None:
    """A row for each node: its name, x and y (`at`, n x 2), and its nearest (n x k) as one column `neighbors`."""
    table = {"node": _node_column(nodes), "x": at[:, 0], "y": at[:, 1]}
    table |= {f"i{j}": ids[:, j] for j in range(ids.shape[1])} | {f"d{j}": distances[:, j] for j in range(ids.shape[1])}
    lists = [", ".join(f"{letter}{j}" for j in range(ids.shape[1])) for letter in "id"]
    near = f"struct_pack(ids := [{lists[0]}]::BIGINT[], distances := [{lists[1]}]::DOUBLE[]) AS neighbors"
    node = "node::BIGINT" if nodes.kind == "int" else "node::VARCHAR"
    with _duckdb() as connection, staged_file(path) as part:
        import duckdb

        connection.register("places", table)
        try:
            connection.execute(
                f"COPY (SELECT {node} AS node, x, y, {near} FROM places) TO {_quoted(part)} (FORMAT parquet)"
            )
        except duckdb.Error as e:  # a full disk, most of all
            raise InputError(f"{path} cannot be written: {problem_in_words(e)}") from None


def _plain_column(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Numbers where all are, and texts where not."""
    for kind, numbers in ((int, np.int64), (float, np.float64)):
        if all(type(x) is kind for x in values):
            return np.asarray(values, numbers)
    texts = np.empty(len(values), dtype=object)
    texts[:] = [x if isinstance(x, str) else as_typed(x) for x in values]
    return texts


def _node_column(nodes: Nodes) -> npt.NDArray[Any]:
    if nodes.kind == "int":
        return nodes.arrays()["ints"]
    column = np.empty(len(nodes), dtype=object)
    column[:] = list(Nodes("text", nodes.arrays()))  # the stored text of nodes of either kind
    return column


def read_parquet(path: Path) -> Stored:
    """A table with the columns that `write_parquet` makes, in any order, whoever wrote it."""
    path.open("rb").close()  # for the system's own words where it is missing or may not be read
    with _duckdb() as connection:
        import duckdb

        try:
            return _parquet_content(connection, path)
        except duckdb.Error as e:
            raise InputError(str(e).splitlines()[0]) from None


def _parquet_content(connection: duckdb.DuckDBPyConnection, path: Path) -> Stored:
    one = _quoted(Path(re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))))  # a name, not a pattern of names
    source = f"read_parquet({one}, hive_partitioning = false)"
    types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    if str(types.get("vector", "")).endswith("]"):
        source, types = _from_lists(connection, source, types)
    dims = [sum(re.fullmatch(rf"{letter}\d+", name) is not None for name in types) for letter in "vs"]
    names = column_names(dims[0], dims[1] > 0)
    if "node" not in types or not dims[0] or not set(names) <= set(types) or dims[1] not in (0, dims[0]):
        raise InputError(
            "its columns are not node, v0, v1, ... and, for standard deviations, as many s0, s1, ...; nor node and"
            " lists called vector and std"
        )
    sizes = f"SELECT coalesce(sum(total_uncompressed_size), 0)::BIGINT FROM parquet_metadata({one})"
    n = _number(connection, f"SELECT coalesce(sum(num_rows), 0)::BIGINT FROM parquet_file_metadata({one})")
    _check_size(max(_number(connection, sizes), 4 * n * len(names)), path)
    numbers = np.empty((n, len(names)), np.float32)
    for a in range(0, len(names), _COLUMNS_AT_ONCE):
        some = names[a : a + _COLUMNS_AT_ONCE]
        _fill(numbers[:, a : a + len(some)], connection.execute(f"SELECT {_floats(some)} FROM {source}").fetchnumpy())
    metadata = dict(connection.execute(f"SELECT key, value FROM parquet_kv_metadata({one})").fetchall())
    fitted_to = fingerprint(metadata.get(b"netfold_fitted_to", b"").decode(errors="replace"))
    column = connection.execute(f"SELECT node FROM {source}").fetchnumpy()["node"]
    nodes = _from_column(column, types["node"], json_text=metadata.get(b"netfold_labels") == b"json")
    return Stored(nodes, numbers[:, : dims[0]], numbers[:, dims[0] :] if dims[1] else None, fitted_to)


_WIDEST = 100_000
"""Numbers in a list, above which it is no vector."""


def _from_lists(
    connection: duckdb.DuckDBPyConnection, source: str, types: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The same table with a column for each number of its lists `vector` and `std`, which are all as long."""
    there = {name: letter for name, letter in (("vector", "v"), ("std", "s")) if str(types.get(name, "")).endswith("]")}
    lengths = ", ".join(f"min(coalesce(len({x}), 0)), max(coalesce(len({x}), 0))" for x in there)
    row = connection.execute(f"SELECT {lengths} FROM {source}").fetchone()
    if row is None or len(set(row)) != 1 or not 0 < int(row[0] or 0) <= _WIDEST:
        raise InputError(f"the lists in {' and '.join(there)} are not all as long, or of no length that a vector has")
    dim = int(row[0])
    numbers = [f"{name}[{j + 1}] AS {letter}{j}" for name, letter in there.items() for j in range(dim)]
    columns = dict.fromkeys(column_names(dim, len(there) > 1), "FLOAT")
    return f"(SELECT node, {', '.join(numbers)} FROM {source})", {**types, **columns}


def _floats(names: list[str]) -> str:
    return ", ".join(f"{name}::FLOAT AS {name}" for name in names)


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def _check_size(declared: int, path: Path) -> None:
    if declared > max(_SMALL, _MOST_PACKED * path.stat().st_size):
        raise InputError(f"it declares {declared:,} bytes, far more than its size can hold")


def _fill(numbers: npt.NDArray[np.float32], arrays: dict[str, npt.NDArray[Any]]) -> None:
    for j, (name, column) in enumerate(arrays.items()):
        _check_complete(column, name)
        if len(column) != len(numbers):
            raise InputError(f"the column {name} has {len(column):,} rows, not {len(numbers):,}")
        numbers[:, j] = column


def _check_complete(column: npt.NDArray[Any], name: str) -> None:
    if np.ma.is_masked(column):
        raise InputError(f"the column {name} has no value in row {int(np.argmax(np.ma.getmaskarray(column)))}")


def _from_column(column: npt.NDArray[Any], kind: Any, *, json_text: bool) -> Nodes:
    _check_complete(column, "node")
    if column.dtype.kind in "iu":
        return Nodes.of(np.asarray(column))
    if str(kind) != "VARCHAR":
        raise InputError(f"the column node holds {kind}; nodes are integers or text")
    texts = Nodes.of(column.tolist())
    return verified(Nodes("json", texts.arrays())) if json_text else texts


def _duckdb() -> duckdb.DuckDBPyConnection:
    try:
        import duckdb
    except ModuleNotFoundError:
        raise InputError("parquet needs duckdb (pip install duckdb), which is missing; .npz needs nothing") from None
    except ImportError as e:  # it is there, and there is no memory to load it
        raise InputError(f"duckdb, which parquet needs, cannot be loaded: {e}; .npz needs nothing") from None
    return duckdb.connect()


def _quoted(path: Path) -> str:
    return "'" + str(path.absolute()).replace("'", "''") + "'"
