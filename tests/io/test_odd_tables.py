"""Tables as people have them: what cannot be told is refused or said, never guessed in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import refuse, succeed
from netfold.data.graph import Graph
from netfold.data.nodes import Nodes
from netfold.data.reading import Reading, missing_names, twin_names
from netfold.errors import InputError
from netfold.io.attributes import read_attributes
from netfold.io.classes import read_classes
from netfold.io.edges import read_edges
from netfold.io.layout import file_columns

pytestmark = pytest.mark.usefixtures("here")

TWICE = "source,target,target\na,b,x\nb,c,y\nc,a,z\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TWICE, encoding="utf-8")
    return tmp_path / "t.csv"


# -------------------------------------------------------------------- two columns of one name


def test_of_two_columns_of_one_name_neither_is_guessed(table: Path) -> None:
    with pytest.raises(InputError, match=r"t.csv, line 1: columns 2 and 3 are both called 'target'; .*\(--target 2, "):
        read_edges(table)
    with pytest.raises(InputError, match="columns 2 and 3 are both called"):
        read_edges(table, source="source", target="target")
    assert sorted(read_edges(table, target=2).nodes) == ["a", "b", "c", "x", "y", "z"]
    assert sorted(read_edges(table, target=1).nodes) == ["a", "b", "c"]
    assert "say which is the target by its place (--target 2" in refuse("info", table)
    assert succeed("info", table, "--target", "3").stdout.split()[5] == "6"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,height\na,1.5\nb,1.75\n", "the column 'height' holds numbers as 1.5, which name no nodes"),
        ("a,1.5\nb,2\nc,1.25\n", "column 2 holds numbers as 1.5"),
        ("0.5,a\n1,b\n", "column 1 holds numbers as 0.5"),
        ("a," + ",".join("x" * (i + 1) for i in range(9)) + "\n" + "".join(f"p{i}{',0' * 9}\n" for i in range(4)),
         "each row has a name of its own and 9 numbers"),
    ],
)  # fmt: skip
def test_a_table_of_nodes_is_no_list_of_edges(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        read_edges(tmp_path / "t.csv")
    assert read_edges(tmp_path / "t.csv", source=0, target=1).n_edges > 1


def test_two_columns_of_the_same_nodes_and_a_type_are_edges() -> None:
    rows = "Ann,Bob,friend\nBob,Cid,boss\n"
    Path("t.csv").write_text(f"a,b,type\n{rows}")
    assert not file_columns("t.csv").hyperedges
    assert "passed over: type" in str(read_edges("t.csv", header=True).reading)
    Path("t.csv").write_text("user,movie,type\nAnn,Alien,like\nBob,Heat,hate\n")
    assert file_columns("t.csv").hyperedges
    Path("t.csv").write_text(f"a,b,tag\n{rows}")
    assert file_columns("t.csv").hyperedges


def test_numbers_with_a_fraction_in_both_columns_are_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0.5,1.5\n1,2.5\n")
    assert read_edges(tmp_path / "t.csv").n_edges == 2
    assert Graph.of([(1.5, 2), (2, 7)]).n_nodes == 3


def test_columns_that_nothing_is_read_of_may_be_called_alike(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("source,target,note,note\na,b,x,x\nb,c,y,y\n", encoding="utf-8")
    assert read_edges(tmp_path / "t.csv").n_edges == 2
    assert Graph.of([(1.5, 2), (2, 7)]).n_nodes == 3


def test_in_a_frame_too() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([["a", "b", "x"], ["b", "c", "y"]], columns=["source", "target", "target"])
    with pytest.raises(InputError, match="columns 2 and 3 are both called 'target'"):
        Graph.of(frame)
    assert sorted(Graph.of(frame, target=2).nodes) == ["a", "b", "x", "y"]


# -------------------------------------------------------------------- names of missing values


def test_a_node_that_is_called_as_a_missing_value_is_said(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("source,target\na,b\nb,NA\nnull,a\n", encoding="utf-8")
    graph = read_edges(tmp_path / "t.csv")
    assert sorted(graph.nodes) == ["NA", "a", "b", "null"], "a name is kept: it may be Namibia's"
    said = "nodes are called 'NA' and 'null': where that is a missing value, leave those rows out"
    assert said in str(graph.reading)
    assert said in succeed("fit", "spectral", tmp_path / "t.csv", "--dim", 2, "-o", tmp_path / "m", "-q").stderr
    assert graph.reading is not None and Reading.from_dict(graph.reading.to_dict()) == graph.reading


@pytest.mark.parametrize("name", ["NAN", "<NA>", "#N/A"])
def test_such_names_are_found_among_others(name: str) -> None:
    others = ["NAx", "Nul", "n", "日本", "nan!", "Nones", ""]
    assert missing_names(Nodes.of(others)) == ()
    assert missing_names(Nodes.of([*others, name])) == (name,)
    assert missing_names(Nodes.of([1, 2, 3])) == ()


# -------------------------------------------------------------------- what spreadsheets write


@pytest.mark.parametrize("note", ["sep=;", '"sep=;"', "SEP=,", "sep=\t"])
def test_the_note_of_a_spreadsheet_is_no_edge(tmp_path: Path, note: str) -> None:
    (tmp_path / "t.csv").write_text(f"\ufeff{note}\r\nperson;friend\r\na;b\r\nb;c\r\n", encoding="utf-8")
    for read in (read_edges, file_columns, read_attributes, read_classes):
        with pytest.raises(InputError, match="t.csv, line 1: .* is a note for a spreadsheet program"):
            read(tmp_path / "t.csv")


def test_names_with_commas_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('"Smith, John","Doe, Jane"\n"Doe, Jane",Al\n', encoding="utf-8")
    assert '"Smith, John", "Doe, Jane", Al' in succeed("info", tmp_path / "t.csv").stdout


# -------------------------------------------------------------------- a full disk


def test_a_full_disk_is_said_in_words() -> None:
    from netfold.io.duckdb import problem_in_words

    full = 'IO Error: Async write failed: {"exception_message":"Could not write: No space left on device","errno":"28"}'
    assert problem_in_words(OSError(full)) == "No space left on device"
    assert problem_in_words(OSError("IO Error: no such folder.\nand more")) == "IO Error: no such folder"


# -------------------------------------------------------------------- attributes


def attributes_of(folder: Path, text: str) -> str:
    (folder / "a.csv").write_text(text, encoding="utf-8")
    return str(read_attributes(folder / "a.csv").attributes)


def test_a_decimal_comma_makes_no_category(tmp_path: Path) -> None:
    said = r"a.csv: the attribute height has decimal commas \('1,75' for 'a'\); numbers have a point, as 0.5"
    with pytest.raises(InputError, match=said):
        attributes_of(tmp_path, "node;height;city\na;1,75;Ulm\nb;2;Bonn\nc;;Ulm\n")
    assert "height: category of 2" in attributes_of(tmp_path, "node;height:category\na;1,75\nb;2\nc;2\n")


def test_numbers_that_begin_with_0_are_codes(tmp_path: Path) -> None:
    assert "zip: category of 2" in attributes_of(tmp_path, "node,zip\na,01067\nb,10115\nc,01067\n")
    assert "zip: number" in attributes_of(tmp_path, "node,zip:number\na,01067\nb,10115\nc,01067\n")
    assert "x: number" in attributes_of(tmp_path, "node,x\na,0\nb,0.5\nc,-0.25\n")


# -------------------------------------------------------------------- matrices

MATRICES = (",a,b,c\na,0,1,0\nb,1,0,2\nc,0,2,0\n", "0,1,0\n1,0,1\n0,1,0\n", "0 1 0 1\n1 0 1 1\n0 1 0 0\n1 1 0 0\n")


@pytest.mark.parametrize("text", MATRICES)
def test_an_adjacency_matrix_is_not_read_as_edges(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(
        InputError, match=r"t.csv, line 1: .*a matrix with a row and a column for each node, .*from_scipy"
    ):
        read_edges(tmp_path / "t.csv")
    assert read_edges(tmp_path / "t.csv", source=0, target=1, weighted=False).n_nodes, "who says the ends is believed"


@pytest.mark.parametrize("text", ["0,1,0.5\n1,2,0.5\n2,0,0.5\n", "source,a,b\na,1,0\nb,0,1\nc,1,1\n", "0,1\n1,0\n"])
def test_square_tables_of_edges_are_still_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    assert read_edges(tmp_path / "t.csv").n_edges


def test_neither_is_a_frame_of_one_nor_a_table_whose_ends_are_in_its_index() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[0, 1, 0], [1, 0, 2], [0, 2, 0]], index=list("abc"), columns=list("abc"))
    with pytest.raises(InputError, match="this is a matrix, not a list of edges; nf.Graph.from_scipy"):
        Graph.of(frame)
    assert Graph.from_scipy(frame.to_numpy(), nodes=list(frame)).n_edges == 2, "as the sentence says"
    counts = pd.DataFrame({"a": ["u", "v", "u"], "b": ["x", "y", "x"]}).groupby(["a", "b"]).size()
    with pytest.raises(InputError, match=r"series.reset_index\(name='weight'\)"):
        Graph.of(counts)
    assert Graph.of(counts.reset_index(name="weight")).adjacency.data.max() == 2
    with pytest.raises(InputError, match=r"in the index, not in columns; give frame.reset_index\(\)"):
        Graph.of(counts.to_frame("weight"))


# -------------------------------------------------------------------- what else is in tables


@pytest.mark.parametrize(("one", "other"), [("2", "2.0"), ("7", "007")])
def test_a_number_written_in_two_ways_is_said_to_be_two_nodes(tmp_path: Path, one: str, other: str) -> None:
    (tmp_path / "t.csv").write_text(f"a,b\n{one},x\n{other},x\n", encoding="utf-8")
    graph = read_edges(tmp_path / "t.csv")
    assert f"'{one}' and '{other}' are two nodes: write a number one way" in str(graph.reading)
    assert graph.reading is not None and Reading.from_dict(graph.reading.to_dict()) == graph.reading
    assert twin_names(Nodes.of(["2.0", "00", "1.2.0", "v2.0", ".0", "0", "日.0"])) == "'0' and '00'"
    assert twin_names(Nodes.of(["0", "0.10", "10.0.0.0", "10"])) == ""


@pytest.mark.parametrize("cells", [("31.01.2024", "1.2.2024"), ("1/31/24", "02/01/24 10:00"), ("True", "false")])
def test_days_and_flags_are_no_nodes_of_tuples(tmp_path: Path, cells: tuple[str, str]) -> None:
    (tmp_path / "t.csv").write_text(f"user,item,what\nann,x1,{cells[0]}\nbob,y2,{cells[1]}\n", encoding="utf-8")
    assert not file_columns(tmp_path / "t.csv").hyperedges
    assert read_edges(tmp_path / "t.csv").n_edges == 2
    assert Graph.of([(1.5, 2), (2, 7)]).n_nodes == 3


def test_a_line_that_was_taken_for_the_header_of_tuples_is_said(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ann,x,friend\nbob,y,enemy\n", encoding="utf-8")
    assert "1 row, 1 hyperedge; line 1 is a header" in succeed("info", tmp_path / "t.csv").stderr


def test_other_delimiters_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a|b\nc|d\na|c\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"say that '\|' does \(delimiter='\|', --delimiter '\|'\)"):
        read_edges(tmp_path / "t.csv")
    assert read_edges(tmp_path / "t.csv", delimiter="|").n_edges


@pytest.mark.parametrize("text", ['[{"source": "a", "target": "b"}]', '{"a": ["b"]}'])
def test_json_that_is_no_graph_says_what_reads_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="a list of edges is a table: nf.Graph.of"):
        read_edges(tmp_path / "t.json")
    assert "a list of edges is a table: nf.Graph.of" in refuse("info", tmp_path / "t.json")


def test_a_frame_that_holds_no_rows_yet_is_to_be_collected() -> None:
    class LazyFrame:
        columns = ("a", "b")

        def collect(self) -> None:
            """Polars' way to rows."""

    with pytest.raises(InputError, match=r"a LazyFrame holds no rows yet; give x.collect\(\)"):
        Graph.of(LazyFrame())
