"""Files of hyperedges: what is read, against plain Python, and what is refused, with the line."""

from __future__ import annotations

import csv
import gzip
import os
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import netfold as nf
from netfold.errors import InputError
from netfold.io.hyperedges import TupleLayout, fast_tuple_rows, read_hyperedges, slow_tuple_rows

duckdb = pytest.importorskip("duckdb")

TAGS = "user,movie,tag\n2,1,drama\n1,1,slow\n2,3,drama\n2,1,drama\n"


def written(tmp_path: Path, text: str, name: str = "h.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def parquet(tmp_path: Path, query: str, name: str = "h.parquet", kind: str = "parquet") -> Path:
    with duckdb.connect() as connection:
        how = "FORMAT csv, HEADER, COMPRESSION zstd" if kind == "zstd" else "FORMAT parquet"
        connection.execute(f"COPY ({query}) TO '{tmp_path / name}' ({how})")
    return tmp_path / name


# -------------------------------------------------------------------- what is read


def test_a_file_of_typed_columns(tmp_path: Path) -> None:
    made = nf.read_hyperedges(written(tmp_path, TAGS))
    assert repr(made) == "Hypergraph(6 nodes, 4 edges, 3 types)"
    assert list(made.nodes) == [("user", 1), ("user", 2), ("movie", 1), ("movie", 3), ("tag", "drama"), ("tag", "slow")]
    assert made.node_types == ("user", "user", "movie", "movie", "tag", "tag")
    assert made.edges[:2] == (
        (("user", 2), ("movie", 1), ("tag", "drama")),
        (("user", 1), ("movie", 1), ("tag", "slow")),
    )
    assert made.edges[3] == made.edges[0]  # listed twice, counts twice
    assert made.kinds[0].roles == ("user", "movie", "tag") == made.kinds[0].types
    assert made.nodes == type(made.nodes).of(list(made.nodes))


def test_one_type_has_plain_nodes(tmp_path: Path) -> None:
    made = read_hyperedges(written(tmp_path, "a:node,b:node\n10,9\n9,2\n"))
    assert (list(made.nodes), made.edges) == ([2, 9, 10], ((10, 9), (9, 2)))
    assert made.kinds[0].roles == ("a", "b") and made.types == ("node",)
    made = read_hyperedges(written(tmp_path, "a:node,b:node\nx,9\n9,007\n"))
    assert (list(made.nodes), made.edges) == (["x", "9", "007"], (("x", "9"), ("9", "007")))


def test_triples_of_a_knowledge_graph(tmp_path: Path) -> None:
    path = written(tmp_path, "subject:entity\tpredicate\tobject:entity\nQ42\tP31\tQ5\nQ5\tP31\tQ42\n", "wikidata.tsv")
    made = read_hyperedges(path)
    assert [kind.roles for kind in made.kinds] == [("subject", "predicate", "object")]
    assert made.kinds[0].ordered and made.types == ("entity", "predicate")
    assert made.edges[1] == (("entity", "Q5"), ("predicate", "P31"), ("entity", "Q42"))
    bare = written(tmp_path, "Q42\tP31\tQ5\nQ5\tP31\tQ42\n", "train.txt")
    names = ["subject:entity", "predicate", "object:entity"]
    assert read_hyperedges(bare, columns=names, header=False).fingerprint == made.fingerprint


def test_several_files_are_several_kinds_over_the_same_nodes(tmp_path: Path) -> None:
    first = written(tmp_path, "user,movie,tag\n1,1,drama\n", "tags.csv")
    second = written(tmp_path, "user,friend:user\n1,2\n3,1\n", "friends.csv.gz")
    third = written(tmp_path, "movie;user;tag\n1;9;slow\n", "more.csv")
    made = read_hyperedges([first, str(second), third])
    assert [kind.roles for kind in made.kinds] == [("user", "movie", "tag"), ("user", "friend")]
    assert made.tuples(made.kinds[0])[1] == (("user", 9), ("movie", 1), ("tag", "slow"))
    assert made.tuples(made.kinds[1]) == [(("user", 1), ("user", 2)), (("user", 3), ("user", 1))]
    assert [label for kind, label in made.nodes if kind == "user"] == [1, 2, 3, 9]
    assert read_hyperedges((first,)).fingerprint == read_hyperedges(first).fingerprint


def test_columns_choose_and_rename(tmp_path: Path) -> None:
    path = written(tmp_path, "split,userId,tag:word,movieId\ntrain,2,b,1\ntest,1,a,1\n")
    made = read_hyperedges(path, columns=["movieId", "userId:user", "tag"])
    assert made.kinds[0].roles == ("movieId", "userId", "tag")
    assert made.kinds[0].types == ("movieId", "user", "word")
    made = read_hyperedges(path, columns={"userId": "user", "movieId": "film:movie"})
    assert repr(made.kinds[0]) == "Kind(user, film:movie; 2 edges)"
    assert made.edges[0] == (("user", 2), ("movie", 1))
    other = written(tmp_path, "userId,age\n1,30\n", "ages.csv")
    both = read_hyperedges([path, other], columns=["userId:user", "age", "movieId"])
    assert [kind.roles for kind in both.kinds] == [("userId", "movieId"), ("userId", "age")]
    bare = written(tmp_path, "1,x,2\n", "bare.csv")
    assert read_hyperedges(bare, columns=["u", None, "v"], header=False).edges == ((("u", 1), ("v", 2)),)


@pytest.mark.parametrize("line", ["a,b\n", "# nothing\n", "\n", "a"])
def test_a_file_that_unpacks_to_far_more_than_it_holds_is_refused(tmp_path, monkeypatch, line):
    """Read piece by piece, and no further than the bound: hyperedges, comments, blank lines, one without an end."""
    monkeypatch.setattr("netfold.io.source._MOST", 1 << 21)
    bomb = written(tmp_path, "user,item\n" + line * ((1 << 22) // len(line)), "bomb.csv.gz")
    tracemalloc.start()
    with pytest.raises(InputError, match=r"bomb.csv.gz(: it holds more than 2|, line 2: the line is longer than 1)"):
        read_hyperedges(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 26
    fine = written(tmp_path, "user,item\n" + "1,2\n3,2\n" * 1000, "fine.csv.gz")
    assert read_hyperedges(fine).n_edges == 2000


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "csv.zst", "parquet", "texts.parquet"])
def test_the_same_in_every_format(tmp_path: Path, kind: str) -> None:
    whole = read_hyperedges(written(tmp_path, TAGS))
    rows = ", ".join(f"({a}, {b}, '{c}')" for a, b, c in (line.split(",") for line in TAGS.split()[1:]))
    query = f"SELECT * FROM (VALUES {rows}) AS t(user, movie, tag)"
    if kind in ("csv", "csv.gz"):
        path = written(tmp_path, TAGS, f"x.{kind}")
    elif kind == "csv.zst":
        path = parquet(tmp_path, query, "x.csv.zst", "zstd")
    elif kind == "parquet":
        path = parquet(tmp_path, query)
    else:
        path = parquet(tmp_path, f"SELECT user::VARCHAR AS user, movie, tag FROM ({query})")
        made = read_hyperedges(path)
        assert list(made.nodes)[:3] == [("user", "2"), ("user", "1"), ("movie", 1)]  # the column's type decides
        return
    assert read_hyperedges(path).fingerprint == whole.fingerprint


def test_a_type_of_integers_and_texts_in_parquet_is_one_of_texts(tmp_path: Path) -> None:
    path = parquet(tmp_path, "SELECT 7 AS head, 'x' AS tail UNION ALL SELECT 8, '7'")
    made = read_hyperedges(path, columns=["head:entity", "tail:entity"])
    assert sorted(made.nodes) == ["7", "8", "x"]
    assert set(made.edges) == {("7", "x"), ("8", "7")}


def test_parquet_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT i % 7 AS a, 'n' || (i * i % 5) AS b, i * 3 % 11 - 5 AS c FROM range(100) AS t(i) ORDER BY i"
    path = parquet(tmp_path, query)
    whole = read_hyperedges(path, columns=["a:x", "b", "c:x"], skip_loops=True)
    monkeypatch.setattr("netfold.io.hyperedges._ROWS", 7)
    assert read_hyperedges(path, columns=["a:x", "b", "c:x"], skip_loops=True).fingerprint == whole.fingerprint
    expected = [(i % 7, f"n{i * i % 5}", i * 3 % 11 - 5) for i in range(100)]
    expected = [row for row in expected if row[0] != row[2]]
    assert [(a, b, c) for (_, a), (_, b), (_, c) in whole.edges] == expected


FIELD = st.one_of(st.integers(-20, 20).map(str), st.sampled_from(["a", "b c", 'q"q', "é", "x,y", "007", " pad "]))


@pytest.mark.filterwarnings("ignore:.*line 1 was read as names of columns")
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(FIELD, FIELD, FIELD), min_size=1, max_size=12), st.sampled_from([",", ";", "\t"]))
def test_against_the_csv_module(tmp_path: Path, rows: list[tuple[str, ...]], delimiter: str) -> None:
    path = tmp_path / "h.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([("a", "b:t", "c:t"), *rows])
    made = read_hyperedges(path, skip_loops=True, delimiter=delimiter) if any(b != c for _, b, c in rows) else None
    if made is None:
        return
    kept = [row for row in rows if row[1] != row[2]]
    assert [tuple(str(label) for _, label in edge) for edge in made.edges] == kept
    for name, columns in (("a", (0,)), ("t", (1, 2))):
        seen = list(dict.fromkeys(row[j] for row in rows for j in columns))
        whole = all(x == "0" or (x.lstrip("-").isdigit() and not x.lstrip("-").startswith("0")) for x in seen)
        expected = sorted(map(int, seen)) if whole else seen
        assert [label for kind, label in made.nodes if kind == name] == expected


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.lists(st.sampled_from(["1", "22", "a", '"q,"', " x", ""]), min_size=3, max_size=3), max_size=6),
    st.sampled_from([b",", b"\t", b" "]),
    st.booleans(),
)
def test_the_fast_way_reads_what_the_slow_way_does(rows: list[list[str]], delimiter: bytes, integers: bool) -> None:
    data = b"".join(delimiter.join(x.encode() for x in row) + b"\n" for row in rows)
    layout = TupleLayout(delimiter, 3, (2, 0), ("c", "a"), integers)
    fast = fast_tuple_rows(data, layout)
    if fast is None:
        return
    slow = slow_tuple_rows(1, data, layout)
    for found in (fast, slow):
        assert found.starts.shape == found.ends.shape == (len(slow.starts), 2)

    def texts(rows: Any) -> list[bytes]:
        whole = rows.buffer.tobytes()
        return [whole[a:b] for a, b in zip(rows.starts.ravel(), rows.ends.ravel(), strict=True)]

    assert texts(fast) == texts(slow)


def test_pieces_of_a_file_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 50, (400, 3))
    lines = "".join(f"{a},m{b},{c}\n" for a, b, c in rows)
    path = written(tmp_path, "# made\nuser,m,vote_of\n\n" + lines)
    whole = read_hyperedges(path)
    monkeypatch.setattr("netfold.io.source.BLOCK", 64)
    assert read_hyperedges(path).fingerprint == whole.fingerprint
    assert [(u, m, v) for (_, u), (_, m), (_, v) in whole.edges] == [(a, f"m{b}", c) for a, b, c in rows.tolist()]


def test_blanks_comments_and_quotes(tmp_path: Path) -> None:
    path = written(tmp_path, '# who\n"user" , "movie"\n\n% more\n ann , "Up, again" \r\nbob,"a ""b"""\n')
    assert read_hyperedges(path).edges == (
        (("user", "ann"), ("movie", "Up, again")),
        (("user", "bob"), ("movie", 'a "b"')),
    )
    path = written(tmp_path, "user movie\nann   up\n", "blanks.txt")
    assert read_hyperedges(path).n_edges == read_hyperedges(path, delimiter=" ").n_edges == 1


# -------------------------------------------------------------------- loops


def test_a_node_named_twice_is_refused_or_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "head:e,relation,tail:e\na,r,b\n# x\n\nb,r,b\na,a,b\n")
    with pytest.raises(InputError, match=r"h.csv, line 5: the hyperedge names a node twice.*skip_loops=True"):
        read_hyperedges(path)
    made = read_hyperedges(path, skip_loops=True)
    assert made.edges == ((("e", "a"), ("relation", "r"), ("e", "b")), (("e", "a"), ("relation", "a"), ("e", "b")))
    with pytest.raises(InputError, match="every hyperedge names a node twice, so that none is left"):
        read_hyperedges(written(tmp_path, "a:e,b:e\n1,1\n"), skip_loops=True)
    with pytest.raises(InputError, match=r"h.parquet: row 2: the hyperedge names a node twice"):
        read_hyperedges(parquet(tmp_path, 'SELECT 1 AS "a:e", 2 AS "b:e" UNION ALL SELECT 3, 3'))


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("text", "how", "why"),
    [
        ("user,movie\n1\n", {}, r"line 2: there is 1 column"),
        ("user,movie\n1,2\n1,2,3\n", {}, r"line 3: there are 3 columns where the first line has 2"),
        (
            "user,movie\n1,2\n3,\n",
            {},
            r"line 3: the column 'movie' is empty; a hyperedge needs a node in every column",
        ),
        ("user,movie:film\n1,\n", {}, r"line 2: the column 'movie:film' is empty"),
        ('user,movie\n1,"2\n', {}, r"line 2: a quote is opened"),
        ("user\n1\n2\n", {}, r"line 1: there is one role alone, 'user'; a hyperedge has two or more"),
        ("user,user\n1,2\n", {}, r"line 1: duplicate role 'user'; give each its own name, as head:user"),
        ("user,user:person\n1,2\n", {}, r"line 1: duplicate role 'user'"),
        ("user,\n1,2\n", {}, r"line 1: column 2 is called ''"),
        ("user,tag:\n1,2\n", {}, r"line 1: column 2 is called 'tag:'; a column is called by its role, or role:type"),
        ("user,:tag\n1,2\n", {}, r"line 1: column 2 is called ':tag'"),
        ("1,2,3\n4,5,6\n", {}, r"line 1: column 1 is called '1', which names no role.*header=False"),
        ("user,movie\n", {}, r"h.csv: there are no hyperedges after the header"),
        ("# only\n\n", {}, r"h.csv: there are no hyperedges, only comments"),
        ("", {}, r"the file is empty"),
        ("a,b\n1,2\n", {"delimiter": "ab"}, r"delimiter='ab' cannot separate columns"),
        ("a,b\n1,2\n", {"delimiter": ";"}, r"there is one role alone, 'a,b'"),
        ("a,b\n1,2\n", {"columns": ["a"]}, r"line 1: there is one role alone, 'a'"),
        ("a,b\n1,2\n", {"columns": ["a", "c", "b"]}, r"there is no column 'c' in .*h.csv \(a, b\); choose among those"),
        ("a,b\n1,2\n", {"columns": ["x", "y"]}, r"there are the columns a, b, and none of x, y"),
        ("a,b\n1,2\n", {"columns": ["a", "a:t"]}, r"names a column twice"),
        ("a,b\n1,2\n", {"columns": ["a", None]}, r"columns holds None"),
        ("a,b\n1,2\n", {"columns": {"a": 3, "b": "b"}}, r"columns holds 3"),
        ("a,b\n1,2\n", {"columns": {"a": "r", "b": "r"}}, r"duplicate role 'r'"),
        ("1,2\n", {"header": False}, r"header=False needs columns="),
        ("1,2\n", {"header": False, "columns": {"a": "b"}}, r"header=False needs columns="),
        ("1,2\n", {"header": False, "columns": ["a", "b", "c"]}, r"line 1: there are 2 columns, and columns= names 3"),
        ("1,2\n", {"header": False, "columns": ["a", 2]}, r"columns holds 2"),
        ("1,2\n", {"header": False, "columns": ["a", None]}, r"there is one role alone, 'a'"),
    ],
)
def test_refused(tmp_path: Path, text: str, how: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        read_hyperedges(written(tmp_path, text), **how)


@pytest.mark.parametrize(
    ("query", "how", "why"),
    [
        ("SELECT 1 AS a, 2.5 AS b", {}, r"the column 'b' holds DECIMAL.*; nodes are integers or strings"),
        ("SELECT 1 AS a, NULL::INT AS b", {}, r"row 1: the column 'b' is empty"),
        ("SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, NULL", {}, r"row 2: the column 'b' is empty"),
        ("SELECT 1 AS a, '' AS b", {}, r"row 1: the column 'b' is empty"),
        ("SELECT 1 AS a, 'x' || chr(0) AS b", {}, r"row 1: the node .* holds a NUL byte"),
        ("SELECT 1 AS a", {}, r"h.parquet: there is one role alone, 'a'"),
        ("SELECT 1 AS a, 2 AS b WHERE false", {}, r"there are no hyperedges; it should hold one per row"),
        ("SELECT 1 AS a, 2 AS b", {"header": False, "columns": ["c", "d"]}, r"leave header=False out"),
        ("SELECT 1 AS a, 18446744073709551615::UBIGINT AS b", {}, r"does not fit in 64 bits"),
    ],
)
def test_refused_parquet(tmp_path: Path, query: str, how: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        read_hyperedges(parquet(tmp_path, query), **how)


def test_refused_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file is given"):
        read_hyperedges([])
    with pytest.raises(InputError, match="there is no such file"):
        read_hyperedges(tmp_path / "none.csv")
    with pytest.raises(InputError, match="this is a folder"):
        read_hyperedges([tmp_path])


@pytest.mark.skipif(not os.environ.get("NETFOLD_DATA"), reason="needs the data sets")
def test_a_stored_data_set_is_what_its_file_says() -> None:
    path = Path(os.environ["NETFOLD_DATA"], "dhne_gps", "hyperedges.csv.gz")
    train, test = (nf.datasets.load("dhne_gps", part=part) for part in ("train", "test"))
    whole = read_hyperedges(path, columns=train.types)
    assert whole.nodes == train.nodes
    assert sorted(whole.edges) == sorted((*train.edges, *test.edges))


def test_a_line_1_that_looks_like_the_lines_below_is_said(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("p0,p2,x\np0,p3,y\np1,p6,x\n")
    with pytest.warns(UserWarning, match="line 1 was read as names of columns, and looks like the lines below"):
        found = read_hyperedges(path)
    assert "--no-header --columns" in str(found.reading) and found.reading.to_dict()["like_rows"] is True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_hyperedges(path, header=False, columns=["a", "b", "c"]).n_edges == 3
        (tmp_path / "named.csv").write_text("user,film,tag\nu1,f1,good\nu1,f2,bad\n")
        assert read_hyperedges(tmp_path / "named.csv").reading.unsure == []


@pytest.mark.parametrize(
    ("header", "alike"), [("source,target", True), ("user,movie", False), ("from_port,to_port", True)]
)
def test_two_types_of_the_same_names_are_said(tmp_path: Path, header: str, alike: bool) -> None:
    """Ends of edges are of one kind; users and movies are both numbered, and are not."""
    path = tmp_path / "ends.csv"
    path.write_text(f"{header}\n" + "".join(f"{i},{(i + 1) % 20}\n" for i in range(20)))
    if not alike:
        assert read_hyperedges(path).reading.alike == ()
        return
    with pytest.warns(UserWarning, match="name the same nodes, and were read as two kinds of node"):
        found = read_hyperedges(path)
    a, b = header.split(",")
    assert found.reading.alike == (a, b) and found.n_nodes == 40
    columns = [f"{a}:node", f"{b}:node"]
    assert f"--columns {','.join(columns)} (columns=) says so" in str(found.reading)
    again = read_hyperedges(path, columns=columns)
    assert again.n_nodes == 20 and again.reading.alike == ()


def test_text_names_that_two_types_share_are_said_and_few_are_not(tmp_path: Path) -> None:
    path = tmp_path / "mail.csv"
    path.write_text("writer,reader\n" + "".join(f"p{i},p{(3 * i + 1) % 16}\n" for i in range(16)))
    with pytest.warns(UserWarning, match="writer and reader name the same nodes"):
        assert read_hyperedges(path).reading.to_dict()["alike"] == ["writer", "reader"]
    path.write_text("writer,reader\n" + "".join(f"p{i},p{(i + 1) % 5}\n" for i in range(5)))
    assert read_hyperedges(path).reading.alike == ()


@pytest.mark.parametrize(
    ("header", "cell", "measure"),
    [
        ("source,target,weight", "2", "weight"),
        ("source,target,closeness", "0.5", "closeness"),
        ("user,film,seen_on", "2024-01-31", "seen_on"),
        ("user,film,tag", "2", None),
    ],
)
def test_numbers_that_were_read_as_nodes_are_said(tmp_path: Path, header: str, cell: str, measure: str | None) -> None:
    """DHNE of a weighted table of edges had a node for each weight."""
    path, names = tmp_path / "ends.csv", header.split(",")
    path.write_text(f"{header}\n" + "".join(f"a{i},b{i},{cell}\n" for i in range(20)))
    if measure is None:
        assert read_hyperedges(path).reading.measures == ()
        return
    with pytest.warns(UserWarning, match=f"{measure} holds numbers, and every number was read as a node"):
        reading = read_hyperedges(path).reading
    assert reading.measures == (measure,) and reading.to_dict()["measures"] == [measure]
    assert f"--columns {','.join(names[:2])} (columns=) leaves it out" in str(reading)
    chosen = read_hyperedges(path, columns=names[:2])
    assert chosen.reading.measures == () and chosen.types == tuple(names[:2])
    assert read_hyperedges(path, columns=names).reading.measures == ()  # who says so means it
