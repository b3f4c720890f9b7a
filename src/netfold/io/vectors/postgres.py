"""Vectors in a PostgreSQL with pgvector: a table for each version, an index of known recall, and a view on the newest.

| column | type | holds |
| --- | --- | --- |
| `node` | bigint, text, or jsonb for tuples and mixtures | the node; of (type, name) the name |
| `type` | text | its type, null where nodes have none |
| `origin`, `placed_at` | text, timestamptz | `fitted`, or `placed` by an update and when |
| `vector`, `std` | vector, or halfvec where it is longer than an index allows | `std` is null where nodes are points |
| `version` | integer, of the view | the number of the table that the view reads |

All of it is one transaction: what is killed leaves the view, and the table under it, as they were.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from netfold.data.checks import check_choice
from netfold.data.embedding import Embedding
from netfold.data.text import counted, is_typed
from netfold.errors import InputError

__all__ = ["INDEX_KINDS", "VectorTable", "write_postgres"]

INDEX_KINDS = ("hnsw", "ivfflat", "none")
_WIDEST = {"vector": 2000, "halfvec": 4000}
"""Numbers of a vector that pgvector can index, by the type of a column."""
_WIDEST_STORED = 16_000
_HELD, _AT, _ENOUGH = 200, 10, 0.95
"""Nodes that the recall is measured on, among how many nearest, and what is good."""
_LONGEST_KEY = 2000
"""Bytes of a name above which PostgreSQL's B-trees refuse it."""
_LONGEST_NAME = 63 - len("_v000000")
"""Bytes of a table's name, which gets the number of its version."""
_TOGETHER = 4096
"""Rows that are sent together."""
_2000 = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
"""Where PostgreSQL begins to count time."""
_ADDRESS = "give the address of a database as postgresql://USER@HOST/NAME; a password is better in ~/.pgpass"
_REFUSALS = (
    "password authentication failed", "no password supplied", "Connection refused", "timeout expired", "does not exist",
    "could not translate host name", "No such file or directory", "too many clients", "no pg_hba.conf entry", "SSL",
)  # fmt: skip
"""What a failed connection says that is told; the rest of its sentence may hold a part of the address."""


@dataclass(frozen=True, eq=False)
class VectorTable:
    """An embedding as rows of a table, and the SQL types of its columns."""

    embedding: Embedding
    types: Sequence[str] | None = None
    """Of each node, where its name does not say it as (type, name) does."""
    placed: Mapping[Any, str] | None = None
    """The nodes that an update placed, and when: UTC, as 2026-11-16T08:00:00."""
    index: str = "hnsw"

    @cached_property
    def names(self) -> list[tuple[str | None, Any]]:
        """The type and the name of each node, checked."""
        nodes = list(self.embedding.nodes)
        names: list[tuple[str | None, Any]]
        if self.types is not None:
            names = list(zip(self.types, nodes, strict=True))
        elif nodes and all(map(is_typed, nodes)):
            names = list(nodes)
        else:
            names = [(None, node) for node in nodes]
        bad = next((x for x in names if _has_nul(x)), None)
        if bad is not None:
            raise InputError(f"PostgreSQL has no text with a NUL in it, as {bad[1]!r} has; export to .parquet instead")
        return names

    @cached_property
    def node_type(self) -> str:
        """The SQL type of nodes."""
        names = [name for _, name in self.names]
        if all(type(x) is int and -(2**63) <= x < 2**63 for x in names):
            return "bigint"
        return "text" if all(isinstance(x, str) for x in names) else "jsonb"

    @cached_property
    def vector_type(self) -> str:
        """vector, or halfvec where a vector is longer than an index of those allows."""
        width = self.width
        if self.index == "none" and width <= _WIDEST_STORED:
            return "vector"
        for kind, most in _WIDEST.items():
            if width <= most:
                return kind
        most = max(_WIDEST.values())
        hint = f"; --index none stores {_WIDEST_STORED:,}" if self.index != "none" else ""
        raise InputError(f"a vector of {width:,} numbers is more than pgvector's {most:,}{hint}; fit fewer dimensions")

    @property
    def width(self) -> int:
        """Numbers that are compared: of Gaussians the mean and the deviations."""
        return self.embedding.dim * (1 if self.embedding.std is None else 2)

    @property
    def searched(self) -> str:
        """The SQL of what is compared, on which the index is."""
        return "vector" if self.embedding.std is None else f"((vector || std)::{self.vector_type}({self.width}))"

    @property
    def operator(self) -> str:
        """The SQL of a distance: cosine distance, or W2 of Gaussians."""
        return "<=>" if self.embedding.std is None else "<->"

    @cached_property
    def stored(self) -> Embedding:
        """The embedding as the database has it: rounded, where it holds halves."""
        if self.vector_type == "vector":
            return self.embedding
        own = self.embedding
        largest = max(float(np.abs(x).max(initial=0)) for x in (own.vectors, own.std) if x is not None)
        if largest > float(np.finfo(np.float16).max):
            raise InputError(f"vectors of {own.dim:,} numbers are stored in half precision; {largest:g} is too large")
        std = None if own.std is None else np.maximum(own.std.astype(np.float16), np.float16(6e-8))
        return Embedding(own.nodes, own.vectors.astype(np.float16).astype(np.float32), std)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that is written, and of the kind of the index."""
        more = [self.index, list(self.types or ()), [[str(x), t] for x, t in (self.placed or {}).items()]]
        return hashlib.sha256(f"{self.embedding.fingerprint} {json.dumps(more)}".encode()).hexdigest()

    def columns(self) -> str:
        """The SQL of the table's columns."""
        vector = f"{self.vector_type}({self.embedding.dim})"
        return (
            f"node {self.node_type} NOT NULL, type text, origin text NOT NULL, placed_at timestamptz, "
            f"vector {vector} NOT NULL, std {vector}"
        )

    def copied(self) -> Iterator[bytes]:
        """The rows in PostgreSQL's binary format of COPY, some thousand at a time."""
        yield b"PGCOPY\n\xff\r\n\0" + bytes(8)
        placed, own = self.placed or {}, self.stored
        nodes = list(self.embedding.nodes) if placed else []
        for start in range(0, len(own), _TOGETHER):
            some = slice(start, start + _TOGETHER)
            vectors = _vector_fields(own.vectors[some], self.vector_type)
            deviations = [_NULL] * len(vectors) if own.std is None else _vector_fields(own.std[some], self.vector_type)
            pieces: list[bytes] = []
            for i, (of_type, name) in enumerate(self.names[some]):
                when = placed.get(nodes[start + i]) if placed else None
                origin = _FITTED if when is None else _field(b"placed") + _field(_microseconds(when))
                label = _NULL if of_type is None else _field(of_type.encode())
                pieces += (b"\0\6", self._name_field(name), label, origin, vectors[i], deviations[i])
            yield b"".join(pieces)
        yield b"\xff\xff"

    def _name_field(self, name: Any) -> bytes:
        if self.node_type == "bigint":
            return struct.pack(">iq", 8, name)
        if self.node_type == "text":
            return _field(name.encode())
        return _field(b"\1" + json.dumps(name, ensure_ascii=False).encode())


_NULL = struct.pack(">i", -1)


def _field(value: bytes) -> bytes:
    """A value after its length, as COPY wants it."""
    return struct.pack(">i", len(value)) + value


_FITTED = _field(b"fitted") + _NULL


def _microseconds(time: str) -> bytes:
    moment = datetime.datetime.fromisoformat(time).replace(tzinfo=datetime.UTC)
    return struct.pack(">q", (moment - _2000) // datetime.timedelta(microseconds=1))


def _vector_fields(vectors: Any, kind: str) -> list[bytes]:
    """Each row as pgvector's binary: its length in numbers, two bytes of nothing, the numbers, big end first."""
    n, dim = vectors.shape
    number = np.dtype(">f4" if kind == "vector" else ">f2")
    rows = np.zeros(n, np.dtype([("bytes", ">i4"), ("dim", ">i2"), ("none", ">i2"), ("x", number, (dim,))]))
    rows["bytes"], rows["dim"], rows["x"] = 4 + number.itemsize * dim, dim, vectors
    whole, size = rows.tobytes(), rows.itemsize
    return [whole[a : a + size] for a in range(0, n * size, size)]


def _has_nul(x: Any) -> bool:
    return "\0" in x if isinstance(x, str) else isinstance(x, tuple) and any(map(_has_nul, x))


# -------------------------------------------------------------------- the database


def write_postgres(
    address: str, name: str, table: VectorTable, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Write a new version's table, its index and its statistics, and point the view `name` (or schema.name) at it.

    A database that has the same already stays as it is. The facts that are given back say which, and the recall.
    """
    check_choice(INDEX_KINDS, index=table.index)
    schema, _, view = name.rpartition(".")
    if not view or len(view.encode()) > _LONGEST_NAME or "\0" in name:
        raise InputError(
            f"--table {name!r} is not a name of 1 to {_LONGEST_NAME} bytes; it looks like nodes, or my.nodes"
        )
    fingerprint = table.fingerprint
    table.names, table.vector_type, table.stored  # noqa: B018  # what cannot be written is refused before anything is
    psycopg = _psycopg()
    with _connected(psycopg, address) as connection:
        try:
            return _Writer(psycopg, connection, schema, view, table, say).written(fingerprint)
        except psycopg.Error as e:
            said = e.diag.message_primary or "the connection was lost"
            raise InputError(f"the database refuses it, and is as it was: {said}") from None


def _psycopg() -> Any:
    try:
        import psycopg
        import psycopg.sql
    except ImportError:
        raise InputError("psycopg is not installed: pip install 'netfold[postgres]'") from None
    return psycopg


def _connected(psycopg: Any, address: str) -> Any:
    """A connection; where there is none, a sentence that has nothing of the address in it."""
    if not address.startswith(("postgresql://", "postgres://")):
        raise InputError(f"--to is not the address of a database; {_ADDRESS}")
    try:
        return psycopg.connect(address, connect_timeout=10, application_name="netfold")
    except psycopg.OperationalError as e:
        why = next((f" ({x})" for x in _REFUSALS if x in str(e)), "")
        raise InputError(f"the database that --to names cannot be reached{why}; check its address") from None
    except (psycopg.Error, UnicodeError, ValueError):
        raise InputError(f"--to cannot be read as an address; {_ADDRESS}") from None


class _Writer:
    """One transaction on an open connection."""

    def __init__(
        self, psycopg: Any, connection: Any, schema: str, view: str, table: VectorTable, say: Callable[[str], None]
    ):
        self._psycopg, self._sql, self._connection, self._table, self._say = (
            psycopg, psycopg.sql, connection, table, say,
        )  # fmt: skip
        self._schema = schema or str(self._row("SELECT current_schema()")[0])
        self._view = view

    def _row(self, statement: str, *values: Any) -> Any:
        return self._connection.execute(statement, values).fetchone()

    def _run(self, statement: str, name: str, **more: Any) -> None:
        """A statement with the name of a table or view in place of {}."""
        at = self._sql.Identifier(self._schema, name)
        self._connection.execute(self._sql.SQL(statement).format(at, **more))

    def written(self, fingerprint: str) -> dict[str, Any]:
        """All of it, unless the newest version is the same."""
        self._row("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", f"netfold {self._schema}.{self._view}")
        before = self._facts()
        if before.get("fingerprint") == fingerprint:
            return before | {"written": False}
        self._check_extension()
        numbers = self._numbers()
        number = max(numbers, default=0) + 1
        name = f"{self._view}_v{number}"
        self._say(f"{counted(len(self._table.embedding), 'node')} into {name}")
        self._fill(name)
        self._index(name)
        self._run("ANALYZE {}", name)
        table = self._table
        facts = {"table": name, "version": number, "nodes": len(table.embedding), "dim": table.embedding.dim}
        facts |= {"type": table.vector_type, "index": table.index, "fingerprint": fingerprint, **self._recall(name)}
        self._point(name, number, facts)
        self._connection.commit()
        return facts | {"written": True, "older": [f"{self._view}_v{x}" for x in sorted(numbers)]}

    def _facts(self) -> dict[str, Any]:
        """What the view says of itself; a table, or a view of somebody else's, is not touched."""
        found = self._row(
            "SELECT c.relkind, obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s", self._schema, self._view,
        )  # fmt: skip
        if found is None:
            return {}
        kind = found[0].decode() if isinstance(found[0], bytes) else found[0]
        try:
            said = json.loads(found[1])["netfold"] if kind == "v" else None
        except (KeyError, TypeError, ValueError):
            said = None
        if not isinstance(said, dict):
            raise InputError(f"{self._view!r} is there and is not a view that netfold made; give another --table")
        return said

    def _numbers(self) -> list[int]:
        """The versions that are there."""
        rows = self._connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = %s AND starts_with(c.relname, %s)", (self._schema, f"{self._view}_v"),
        ).fetchall()  # fmt: skip
        endings = (str(row[0])[len(self._view) + 2 :] for row in rows)
        return [int(x) for x in endings if x.isdecimal()]

    def _check_extension(self) -> None:
        if self._row("SELECT 1 FROM pg_extension WHERE extname = 'vector'") is None:
            try:
                self._connection.execute("CREATE EXTENSION vector")
            except self._psycopg.Error:
                raise InputError("that database has no pgvector; let its owner run: CREATE EXTENSION vector") from None

    def _fill(self, name: str) -> None:
        table = self._table
        self._run(f"CREATE TABLE {{}} ({table.columns()})", name)
        at = self._sql.Identifier(self._schema, name)
        with self._connection.cursor().copy(self._sql.SQL("COPY {} FROM STDIN (FORMAT binary)").format(at)) as copy:
            for piece in table.copied():
                copy.write(piece)
        longest = max((len(x[1].encode()) for x in table.names if isinstance(x[1], str)), default=0)
        if table.node_type == "bigint" or (table.node_type == "text" and longest <= _LONGEST_KEY):
            typed = any(of_type is not None for of_type, _ in table.names)
            self._run(f"ALTER TABLE {{}} ADD {'UNIQUE (node, type)' if typed else 'PRIMARY KEY (node)'}", name)
        else:
            self._run("CREATE INDEX ON {} USING hash (node)", name)

    def _index(self, name: str) -> None:
        table = self._table
        if table.index == "none":
            return
        self._say(f"an index, {table.index}")
        which = "cosine" if table.embedding.std is None else "l2"
        more = f" WITH (lists = {self._lists})" if table.index == "ivfflat" else ""
        classed = f"{table.searched} {table.vector_type}_{which}_ops"
        self._run(f"CREATE INDEX ON {{}} USING {table.index} ({classed}){more}", name)

    @property
    def _lists(self) -> int:
        """As pgvector advises: a thousand rows in each, the root of the number where there are more than a million."""
        n = len(self._table.embedding)
        return max(1, n // 1000 if n <= 1_000_000 else int(n**0.5))

    def _recall(self, name: str) -> dict[str, Any]:
        """The recall at 10 on 200 of its nodes, ties forgiven, at the least effort that reaches .95, or the largest."""
        table, own = self._table, self._table.stored
        rows = np.flatnonzero(own.vectors.any(axis=1))
        rows = np.random.default_rng(0).permutation(rows)[:_HELD]
        k = min(_AT, len(own) - 1)
        if table.index == "none" or not len(rows) or k < 1:
            return {}
        self._say(f"its recall on {counted(len(rows), 'node')}")
        metric = "cosine" if own.std is None else "euclidean"
        nearest = own.nearest([own.nodes[i] for i in rows.tolist()], k, metric=metric)
        limits = [1 - near[-1][1] if metric == "cosine" else near[-1][1] for near in nearest]
        queries = [_as_literal(x) for x in own._coordinates_of(rows)]
        setting, efforts = "hnsw.ef_search", [40, 80, 160, 320, 640]
        if table.index == "ivfflat":
            setting, efforts = "ivfflat.probes", [2**i for i in range(15) if 2**i <= max(1, self._lists // 2)]
        self._connection.execute("SET LOCAL enable_seqscan = off")
        share = 0.0
        for effort in efforts:
            self._connection.execute(f"SET LOCAL {setting} = {effort}")
            share = float(np.mean([self._found(name, q, k, limit) for q, limit in zip(queries, limits, strict=True)]))
            if share >= _ENOUGH:
                break
        return {"recall": round(share, 4), "setting": f"{setting} = {effort}"}

    def _found(self, name: str, query: str, k: int, limit: float) -> float:
        """The share of a node's k nearest, itself aside, that are as near as the k-th is in truth."""
        table, at = self._table, self._sql.Identifier(self._schema, name)
        of_type = f"{table.vector_type}({table.width})"
        statement = f"SELECT {table.searched} {table.operator} %s::{of_type} AS d FROM {{}} ORDER BY d LIMIT %s"
        rows = self._connection.execute(self._sql.SQL(statement).format(at), (query, k + 1)).fetchall()
        near = sum(row[0] <= limit + 1e-5 * (1 + limit) for row in rows)
        return float(max(0, near - 1) / k)

    def _point(self, name: str, number: int, facts: dict[str, Any]) -> None:
        """Let the view read the new table; last, because it waits for those who read."""
        of, view = self._sql.Identifier(self._schema, name), self._view
        select = f"AS SELECT node, type, origin, placed_at, vector, std, {number} AS version FROM {{of}}"
        try:
            with self._connection.transaction():
                self._run(f"CREATE OR REPLACE VIEW {{}} {select}", view, of=of)
        except self._psycopg.errors.InvalidTableDefinition:  # its columns have other types than before
            self._run("DROP VIEW {}", view)
            self._run(f"CREATE VIEW {{}} {select}", view, of=of)
        self._run("COMMENT ON VIEW {} IS {said}", view, said=self._sql.Literal(json.dumps({"netfold": facts})))


def _as_literal(vector: Any) -> str:
    return "[" + ",".join(map(repr, vector.tolist())) + "]"
