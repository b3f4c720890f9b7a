"""The fast way to read edges against the slow one, and its parts against Python's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edge_files import same, write
from netfold.data.graph import Graph
from netfold.io import source as source_module
from netfold.io.edges import read_edges
from netfold.io.ends import Interner
from netfold.io.fields import Layout, Roles, Rows, decimals, digits, fast_rows, plain_digits, slow_rows, words_of
from netfold.io.source import split_fields

# -------------------------------------------------------------------- the whole way

ids = st.one_of(
    st.integers(-20, 20),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([10**k - d for k in range(19) for d in (0, 1)]),
)
words = st.text(st.characters(exclude_characters='\r\n\0"', exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda text: text.strip(" \t") == text and text[0] not in "#%"
)
weights = st.one_of(
    st.integers(0, 10**6).map(str),
    st.floats(0, 1e30, allow_nan=False).map(repr),
    st.decimals(0, 10**6, places=3).map(str),
    st.sampled_from(
        ["0", "0.0", ".5", "5.", "1e-3", "1E5", "+2", "00.50", "123456789012345678", "0.1234567890123456789"]
    ),
)
noise = st.sampled_from(["", "  ", "# comment, with; all\tof them", '%"', "\t"])


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[tuple[Any, ...]], str, bool]:
    """Text, the edges in it, its delimiter, and whether a header comes first."""
    delimiter = draw(st.sampled_from([",", ";", "\t", " "]))
    number = draw(st.booleans())
    label = (
        ids if number else words.filter(lambda text: delimiter not in text and not (delimiter == " " and "\t" in text))
    )
    weighted = draw(st.booleans())
    edges = draw(st.lists(st.tuples(label, label, *[weights] * weighted), min_size=1, max_size=30))
    lines = (
        [draw(st.sampled_from(["source{d}target{d}weight", "u{d}v{d}w"])).format(d=delimiter)]
        if draw(st.booleans())
        else []
    )
    lines = [line if weighted else line.rsplit(delimiter, 1)[0] for line in lines]
    header = bool(lines)
    quote = draw(st.booleans())
    for edge in edges:
        lines += draw(st.lists(noise, max_size=1)) if draw(st.integers(0, 9)) == 0 else []
        fields = [f'"{field}"' if quote and draw(st.booleans()) else str(field) for field in edge]
        gap = draw(st.sampled_from(["", "", " "]))
        lines.append((gap + delimiter + gap).join(fields))
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines), edges, delimiter, header


@pytest.mark.filterwarnings("ignore:weights below 1e-45")
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(files(), st.booleans(), st.sampled_from([7, 64, 1 << 19]))
def test_equals_from_edges(
    tmp_path_factory: pytest.TempPathFactory,
    file: tuple[str, list[tuple[Any, ...]], str, bool],
    directed: bool,
    block: int,
) -> None:
    text, edges, delimiter, header = file
    path = write(tmp_path_factory.mktemp("f"), text)
    expected = Graph.from_edges(
        [edge[:2] for edge in edges],
        [float(edge[2]) for edge in edges] if len(edges[0]) > 2 else None,
        directed=directed,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_module, "BLOCK", block)
        graph = read_edges(path, directed=directed, delimiter=delimiter, header=header)
        assert same(graph, read_edges(path, directed=directed, delimiter=delimiter, header=header))
        patch.setattr("netfold.io.fields.fast_rows", lambda text, layout: None)
        slow = read_edges(path, directed=directed, delimiter=delimiter, header=header)
    assert same(graph, slow)
    if expected.nodes.kind == graph.nodes.kind:  # texts that look like integers are integers in a file
        assert same(graph, expected)


def texts(rows: Rows) -> list[bytes]:
    whole = rows.buffer.tobytes()
    pairs = zip(rows.starts.ravel().tolist(), rows.ends.ravel().tolist(), strict=True)
    return [whole[a:b] for a, b in pairs]


pieces = st.sampled_from(
    ["1", "22", "x", '"', ",", " ", "\t", "\n", "#", "-", ".", "é", '""', '"a"', "1,2\n", "3,4\n", " 5 , 6\n"]
)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(pieces, max_size=25).map("".join), st.sampled_from([b",", b" ", b"\t"]), st.integers(2, 3), st.booleans()
)
def test_what_is_cut_fast_is_cut_right(text: str, delimiter: bytes, width: int, integers: bool) -> None:
    layout = Layout(delimiter, width, Roles(0, 1, 2 if width == 3 else None), 1, integers)
    data = text.replace(",", delimiter.decode()).encode() + b"\n"
    fast = fast_rows(data, layout)
    if fast is not None:
        slow = slow_rows(1, data, layout)
        assert texts(fast) == texts(slow)
        assert fast.weights is slow.weights is None or np.array_equal(fast.weights, slow.weights)


# -------------------------------------------------------------------- its parts


def as_buffer(fields: list[bytes]) -> tuple[Any, Any, Any]:
    buffer = np.frombuffer(bytes(80) + b",".join(fields) + bytes(80), np.uint8)
    ends = 80 + np.cumsum([len(field) + 1 for field in fields]) - 1
    return buffer, ends - [len(field) for field in fields], ends


@given(st.lists(st.integers(0, 10**19 - 1), min_size=1, max_size=50))
def test_digits(values: list[int]) -> None:
    buffer, starts, ends = as_buffer([str(v).encode() for v in values])
    assert plain_digits(words_of(buffer), starts, ends).tolist() == values
    found, good = digits(words_of(buffer), starts, ends)
    assert found.tolist() == values and good.all()


@given(st.lists(st.text("0123456789-+./:a ", max_size=22).map(str.encode), min_size=1, max_size=30))
def test_what_is_no_run_of_digits_is_told(fields: list[bytes]) -> None:
    buffer, starts, ends = as_buffer(fields)
    _, good = digits(words_of(buffer), starts, ends)
    assert good.tolist() == [field.isdigit() and len(field) <= 19 for field in fields]


@given(st.lists(st.from_regex(r"[0-9]{1,12}(\.[0-9]{1,10})?", fullmatch=True), min_size=1, max_size=50))
def test_decimals_are_rounded_as_python_does(numbers: list[str]) -> None:
    buffer, starts, ends = as_buffer([number.encode() for number in numbers])
    values, good = decimals(buffer, words_of(buffer), starts, ends)
    assert good.tolist() == [sum(map(str.isdigit, number)) <= 15 for number in numbers]
    assert all(value == float(number) for value, number, fine in zip(values, numbers, good, strict=True) if fine)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), max_size=60), max_size=8), st.integers(1, 2))
def test_interning_numbers_keys_as_they_first_appear(chunks: list[list[tuple[int, int]]], width: int) -> None:
    table, index = Interner(), dict[tuple[int, ...], int]()
    for chunk in chunks:
        keys = [key[:width] for key in chunk]
        expected = [index.setdefault(key, len(index)) for key in keys]
        assert table.intern(np.array(keys, np.uint64).reshape(-1, width)).tolist() == expected
    assert [tuple(key) for key in table.keys().tolist()] == [key[: table.keys().shape[1]] for key in index]


def test_interning_survives_keys_that_collide() -> None:
    table = Interner()
    table._home = lambda words: np.zeros(len(words), np.int64)  # type: ignore[method-assign]
    keys = np.random.default_rng(0).integers(0, 300, (2000, 1)).astype(np.uint64)
    index: dict[int, int] = {}
    assert table.intern(keys).tolist() == [index.setdefault(int(k), len(index)) for k in keys[:, 0]]


def test_fields_of_a_line() -> None:
    assert split_fields(b'a, "b,""c""" ,d ', b",") == [b"a", b'b,"c"', b"d"]
    assert split_fields(b' a\t\t"b c" d', b" ") == [b"a", b"b c", b"d"]
    assert split_fields(b"a\t\tb", b"\t") == [b"a", b"", b"b"]
    assert split_fields(b'5" pipe,x"y', b",") == [b'5" pipe', b'x"y']
    assert split_fields(b"a" + b" " * 200_000 + b'",b', b",")[1] == b"b"  # and takes no time over it
    for bad in (b'"a,b', b'"a"b,c', b'a,"'):
        with pytest.raises(ValueError, match="a quote is opened"):
            split_fields(bad, b",")
