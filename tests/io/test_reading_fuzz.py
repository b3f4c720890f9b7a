"""Whatever bytes a file holds, `read_edges` gives a Graph or one `InputError` that names the file."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from netfold.data.graph import Graph
from netfold.errors import InputError
from netfold.io.edges import read_edges

pytestmark = pytest.mark.filterwarnings("ignore:.*was taken for a header")


def fuzz(examples: int) -> settings:
    return settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))


LINE = re.compile(r", line \d+: ")
ABOUT_THE_WHOLE = ("is empty", "no edges", "this is ", "the name promises", "damaged or", "sum to more")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def read(path: Path, data: bytes, **options: Any) -> Graph | None:
    """The graph, checked, or None after an error, checked too."""
    path.write_bytes(data)
    try:
        graph = read_edges(path, **options)
    except InputError as e:
        message = str(e)
        assert message.startswith(str(path)) and "\n" not in message and len(message) < 600 + len(str(path))
        text = path.suffix != ".parquet"
        assert not text or LINE.match(message, len(str(path))) or any(part in message for part in ABOUT_THE_WHOLE), (
            message
        )
        return None
    matrix = graph.adjacency
    assert graph.n_nodes > 0 and len(set(graph.nodes)) == graph.n_nodes
    assert matrix.dtype == np.float32 and np.all(matrix.data > 0) and np.all(np.isfinite(matrix.data))
    Graph(matrix, graph.nodes, directed=graph.directed)  # which checks order, symmetry and labels
    return graph


options = st.fixed_dictionaries(
    {},
    optional={
        "directed": st.booleans(),
        "weighted": st.booleans(),
        "header": st.booleans(),
        "delimiter": st.sampled_from([",", " ", "\t", ";", "|"]),
    },
)


@fuzz(250)
@given(st.binary(max_size=200), options)
@example(b"", {})
@example(b"\xef\xbb\xbf", {})
@example(b"\r", {})
@example(b"\x1f\x8b", {})
@example(b"\x28\xb5\x2f\xfd", {})
@example(b"PAR1PAR1", {})
@example(b"PAR1\x00\x00\x00\x00PAR1", {})
def test_any_bytes(folder: Path, data: bytes, given_options: dict[str, Any]) -> None:
    read(folder / "a.csv", data, **given_options)


@fuzz(100)
@given(st.binary(max_size=200))
def test_any_bytes_compressed(folder: Path, data: bytes) -> None:
    plain = read(folder / "a.csv", data) if not data.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1")) else None
    packed = read(folder / "a.csv.gz", gzip.compress(data, mtime=0))
    assert plain is None or (packed is not None and packed.fingerprint == plain.fingerprint)


MAGIC = {".gz": b"\x1f\x8b\x08", ".zst": b"\x28\xb5\x2f\xfd", ".parquet": b"PAR1"}


@fuzz(150)
@given(st.sampled_from(sorted(MAGIC)), st.booleans(), st.binary(max_size=200), st.booleans())
def test_any_bytes_under_another_name(folder: Path, suffix: str, magic: bool, data: bytes, end: bool) -> None:
    data = MAGIC[suffix] * magic + data + MAGIC[suffix] * (magic and end)
    assert read(folder / f"b{suffix}", data) is None or suffix != ".parquet"


def whole(suffix: str) -> bytes:
    rows = "\n".join(f"{i},{i * 7 % 50},{i / 8}" for i in range(300)).encode()
    if suffix == ".gz":
        return gzip.compress(rows, mtime=0)
    pyarrow = pytest.importorskip("pyarrow")
    sink = pyarrow.BufferOutputStream()
    if suffix == ".zst":
        with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(rows)
    else:
        from pyarrow import parquet

        columns = {"source": list(range(300)), "target": [str(i) for i in range(300)], "weight": [0.5] * 300}
        parquet.write_table(pyarrow.table(columns), sink, row_group_size=100)
    return bytes(sink.getvalue())


@fuzz(150)
@given(st.sampled_from(sorted(MAGIC)), st.data())
def test_damaged_files(folder: Path, suffix: str, data: st.DataObject) -> None:
    content = bytearray(whole(suffix))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))
    read(folder / f"c{suffix}", bytes(content[:cut]))


MARKS = [*",,,", *"\n\n\n", *';\t \r"#%\0é', "  ", "\r\n", '""', "\ufeff", "\u2028"]
NUMBERS = "0 1 2 17 007 -1 +1 1.5 .5 5. 1e3 1e400 nan inf -inf NaN 0x10 1_0 9223372036854775807 9223372036854775808"
NAMES = ["a", "b", "source", "target", "weight", "u", "v", "1" * 30, "x" * 70]
LINES = ["1,2\n", "2,3\n", "a,b\n", "1,2,3\n", "1,2,0.5\n", "1 2\n", "1\t2\n", '"a","b"\n', "1, 2\n", "# c\n", "\n\n"]
tokens = st.sampled_from([*MARKS, *NUMBERS.split(), *NAMES, *LINES])


@fuzz(700)
@given(st.lists(tokens, max_size=30).map("".join), options)
def test_nearly_valid_lines(folder: Path, text: str, given_options: dict[str, Any]) -> None:
    data = text.encode()
    fast = read(folder / "d.csv", data, **given_options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("netfold.io.fields.fast_rows", lambda text, layout: None)
        slow = read(folder / "d.csv", data, **given_options)
    assert (fast is None) == (slow is None)
    assert fast is None or slow is None or fast.fingerprint == slow.fingerprint


fields = st.one_of(
    st.integers(-3, 30).map(str),
    st.text(max_size=6),
    st.sampled_from(["", "nan", "1e5", '"q"', '"a,b"', "-2", "#x", " 3 "]),
)


@fuzz(300)
@given(
    st.lists(st.lists(fields, min_size=1, max_size=4), max_size=12),
    st.sampled_from([",", " ", "\t", ";"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_lines_of_odd_fields(folder: Path, rows: list[list[str]], delimiter: str, end: str, pack: bool) -> None:
    data = end.join(delimiter.join(row) for row in rows).encode("utf-8", "surrogatepass")
    if pack:
        read(folder / "e.gz", gzip.compress(data, mtime=0))
    else:
        read(folder / "e.csv", data)
