"""`read_edges` refuses in one sentence that names the file, the line and what is wrong there."""

from __future__ import annotations

import builtins
import gzip
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge_files import parquet, write, zstd
from netfold.errors import InputError
from netfold.io.edges import read_edges
from netfold.io.hyperedges import read_hyperedges

REFUSED = [
    ("only_comments", "# a\n\n%b\n", {}, r": there are no edges, only comments"),
    ("only_header", "source,target\n", {}, r": there are no edges"),
    ("nul", "1,2\n3,\x004\n", {}, r", line 2: there is a NUL byte: this is not a text file"),
    (
        "latin1",
        b"1,2\n3,caf\xe9\n",
        {},
        r", line 2: the byte 0xe9 is not valid UTF-8; save the file as UTF-8 .*iconv",
    ),
    ("utf16", "a,b\n".encode("utf-16"), {}, r": this is not UTF-8 but UTF-16"),
    ("one_column", "1\n2\n", {}, r", line 1: there is only one column"),
    ("one_named_column", "source\n2\n", {"header": True}, r", line 1: there is only one column"),
    ("short", "1,2\n\n3\n4,5\n", {}, r", line 3: there is 1 column where the first line has 2 \(delimiter: ,\)"),
    (
        "long",
        "1\t2\n3\t4\t5\n6\t7\n",
        {},
        r", line 2: there are 3 columns where the first line has 2 \(delimiter: tab\)",
    ),
    ("negative", "1,2,1\n3,4,-0.5\n", {}, r", line 2: the weight '-0.5' is negative; .*weighted=False"),
    ("nan", "1,2,1\n3,4,NaN\n", {}, r", line 2: the weight 'NaN' is not finite"),
    ("nan in the first line", "a,b,nan\nb,c,1\n", {}, r", line 1: the weight 'nan' is not finite"),
    ("infinite", "1,2,1\n3,4,-inf\n", {}, r", line 2: the weight '-inf' is not finite"),
    ("overflow", "1,2,1\n3,4,1e999\n", {}, r", line 2: the weight '1e999' is not finite"),
    ("large", "1,2,1\n3,4,1e39\n", {}, r", line 2: the weight '1e39' is too large; weights are at most 3.4e\+38"),
    ("sum", "1,2,3e38\n2,1,3e38\n", {}, r": the weights of an edge sum to more than 3.4e\+38"),
    ("text_weight", "a,b,1\nc,d,much\n", {}, r", line 2: the weight 'much' is not a number"),
    ("underscore", "1,2,1\n3,4,1_0\n", {}, r", line 2: the weight '1_0' is not a number"),
    ("no_weight", "1,2,1\n3,4,\n", {}, r", line 2: the weight '' is not a number"),
    ("decimal_comma", "a;b;0.5\na;c;0,5\n", {}, r", line 2: the weight '0,5' has a decimal comma"),
    ("weight_missing", "1,2\n", {"weighted": True}, r", line 1: there is no column of weights; add a third"),
    ("weight_unnamed", "source,target\n1,2\n", {"weighted": True}, r", line 1: there is no column of weights"),
    ("empty_label", "a,b\n,c\n", {}, r", line 2: a node is empty; .* delete the line"),
    ("empty_quoted", 'a,b\n"",c\n', {}, r", line 2: a node is empty"),
    ("open_quote", 'a,b\n"c,d\n', {}, r", line 2: a quote is opened and not closed"),
    ("open_quote_first", '"a,b\nc,d\n', {}, r", line 1: a quote is opened and not closed"),
    ("four", "1,2,3,4\n", {}, r", line 1: there are 4 columns and no header; name them"),
    ("huge_line", "1,2\n3," + "4" * (1 << 20) + "\n", {}, r", line 2: the line is longer than 1,048,576 bytes"),
    ("market", "%%MatrixMarket matrix\n2 2 1\n1 2\n", {}, r": the Matrix Market data are damaged or cannot be read"),
    ("zip", b"PK\x03\x04rest", {}, r": this is a zip archive; unpack it"),
    ("xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", {}, r": this is an old Excel workbook; save the sheet as csv"),
    ("pdf", b"%PDF-1.7\n\0\n", {}, r": this is a PDF; give the table in it as csv"),
]


@pytest.mark.parametrize(("name", "text", "options", "message"), REFUSED, ids=[case[0] for case in REFUSED])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_refused(
    tmp_path: Path, name: str, text: str | bytes, options: dict[str, Any], message: str, suffix: str
) -> None:
    path = write(tmp_path, text, name + suffix)
    with pytest.raises(InputError, match="^" + str(path).replace(".", r"\.") + message) as caught:
        read_edges(path, **options)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ("xl/workbook.xml", "an Excel workbook; save the sheet as csv"),
        ("mimetype", "an OpenDocument sheet; save"),
        ("edges.csv", "a zip archive; unpack it"),
        ("indices.npy", r"an archive of numpy arrays; nf.Graph.of\(scipy"),
    ],
)
@pytest.mark.parametrize("reader", [read_edges, read_hyperedges])
def test_a_workbook_is_called_one(tmp_path: Path, member: str, said: str, reader: Any) -> None:
    path = tmp_path / "table.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "application/vnd.oasis.opendocument.spreadsheet" if member == "mimetype" else "a,b\n")
    with pytest.raises(InputError, match=f"table.xlsx: this is {said}"):
        reader(path)


@pytest.mark.parametrize("far", [0, 100_000])
def test_the_line_is_named_wherever_it_stands(tmp_path: Path, far: int) -> None:
    text = "# head\nsource,target,weight\n" + "10,20,5\n" * far + "# c\n1,2,3\r\n\n4,5,x\n6,7,8\n"
    with pytest.raises(InputError, match=rf"line {far + 6}: the weight 'x' is not a number"):
        read_edges(write(tmp_path, text))


def test_refused_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv: there is no such file"):
        read_edges(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="this is a folder"):
        read_edges(tmp_path)
    with pytest.raises(InputError, match=r"empty\.csv: the file is empty"):
        read_edges(write(tmp_path, "", "empty.csv"))
    with pytest.raises(InputError, match=r"empty\.csv\.gz: there are no edges"):
        read_edges(write(tmp_path, "", "empty.csv.gz"))
    with pytest.raises(InputError, match="cannot be opened"):
        read_edges("a\0b")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match="not a regular file"):
            read_edges(tmp_path / "pipe")
    for name in ("e.csv.gz", "e.csv.zst", "e.parquet"):
        (tmp_path / name).write_bytes(b"1,2\n")
        with pytest.raises(InputError, match=f"{name}: the name promises .* data, but the content is not"):
            read_edges(tmp_path / name)


def test_damaged_gzip(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = gzip.compress("\n".join(f"{a},{b}" for a, b in rng.integers(0, 10**6, (20_000, 2))).encode())
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 255
    for data in (whole[:-1], whole[:-20], whole[: len(whole) // 2], whole[:12], bytes(flipped), whole + b"rest"):
        (tmp_path / "e.csv.gz").write_bytes(data)
        with pytest.raises(InputError, match=r"e\.csv\.gz(, line \d+)?: "):
            read_edges(tmp_path / "e.csv.gz")
    (tmp_path / "e.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="the gzip data are damaged or cut short"):
        read_edges(tmp_path / "e.csv.gz")


def test_damaged_zstd(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = zstd("\n".join(f"{a},{b}" for a, b in rng.integers(0, 10**6, (20_000, 2))).encode())
    path = tmp_path / "e.csv.zst"
    for data in (whole[:-1], whole[: len(whole) // 2], whole[:12], whole[:4], whole + b"rest", whole + whole[:40]):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"e\.csv\.zst: the zstd data are damaged or cut short"):
            read_edges(path)
    path.write_bytes(zstd(b"1,2\n") + b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstd(b"2,3\n7,1\n"))
    assert read_edges(path).n_edges == 3


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"1,2\n3,caf\xe9\n", "line 2: this is not valid UTF-8"),
        (b"1,2\n3," + b"4" * 2_000_000 + b"\n", r"line 2: the line is longer"),
        (b"1,2\n3,\0\n", "line 2: there is a NUL byte"),
        (b"1,2\n3\n", "line 2: there is 1 column"),
        (b"", "there are no edges"),
    ],
)
def test_refused_zstd(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=r"e\.zst.*" + message):
        read_edges(write(tmp_path, zstd(data), "e.zst"))


def test_refused_parquet(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")

    def refused(message: str, **columns: list[Any]) -> None:
        with pytest.raises(InputError, match=r"edges\.parquet: " + message):
            read_edges(parquet(tmp_path, **columns))

    refused("there is only one column", a=[1])
    refused("row 2: a value is missing", a=[1, None], b=[2, 3])
    refused("row 2: a value is missing", a=["x", None], b=["y", "z"])
    refused("row 2: the weight -1.0 is negative", a=[1, 2], b=[2, 3], weight=[1.0, -1.0])
    refused("row 2: the weight nan is not finite", a=["1", "2"], b=["2", "3"], weight=[1.0, float("nan")])
    refused("row 1: the weight inf is not finite", a=[1, 2], b=[2, 3], weight=[float("inf"), 1.0])
    refused("the column 'weight' holds VARCHAR", a=[1], b=[2], weight=["x"])
    refused("the column 'a' holds DOUBLE; nodes are integers or strings", a=[1.5], b=[2])
    with pytest.raises(InputError, match="does not fit in 64 bits"):
        read_edges(parquet(tmp_path, types="a::UBIGINT AS a, b", a=[2**63], b=[1]))
    with pytest.raises(InputError, match=r"row 1: the node .* holds a NUL byte"):
        read_edges(parquet(tmp_path, types="a || chr(0) AS a, b", a=["x"], b=["y"]))
    with pytest.raises(InputError, match="there are no edges"):
        path = parquet(tmp_path, a=[1], b=[2])
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT 1 AS a, 2 AS b LIMIT 0) TO '{path}' (FORMAT parquet)")
        read_edges(path)
    whole = parquet(tmp_path, a=list(range(1000)), b=list(range(1000))).read_bytes()
    for data in (whole[:-1], whole[: len(whole) // 2], whole[:4], whole[:4] + bytes(len(whole) - 8) + whole[-4:]):
        (tmp_path / "cut.parquet").write_bytes(data)
        with pytest.raises(InputError, match=r"cut\.parquet: the parquet data are damaged"):
            read_edges(tmp_path / "cut.parquet")


def test_without_duckdb_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [write(tmp_path, zstd(b"1,2\n"), "e.zst"), parquet(tmp_path, a=[1], b=[2])]
    importing = builtins.__import__

    def bare(name: str, *rest: Any, **options: Any) -> Any:
        if name == "duckdb":
            raise ModuleNotFoundError(name)
        return importing(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", bare)
    for path in paths:
        with pytest.raises(InputError, match="read with duckdb; install it"):
            read_edges(path)
