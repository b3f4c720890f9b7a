"""Maps coloured by a number: which ranges, in which shades, and `netfold map --color`."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner

import netfold as nf
from netfold import plot
from netfold.cli.report import map_
from netfold.show.plot import canvas
from netfold.show.plot.kinds import REST, Kinds, Range, _bounds
from zoo import ZOO

EDGES = "hub,a\nhub,b\nhub,c\na,b\nc,tail\n"


def vectors(labels: Any) -> nf.Embedding:
    return nf.Embedding(labels, np.random.default_rng(0).normal(size=(len(labels), 3)))


def counted(graph: nf.Graph) -> nx.MultiGraph:
    """For networkx: links of both directions, without self-loops."""
    made = graph.to_networkx()
    made.remove_edges_from(list(nx.selfloop_edges(made)))
    return made


# -------------------------------------------------------------------- ranges


@pytest.mark.parametrize("name", ZOO)
def test_every_node_is_in_the_range_of_its_degree_and_of_its_core(name: str) -> None:
    graph = ZOO[name]()
    for ranges, expected in (
        (plot.by_degree(graph), dict(counted(graph).degree())),
        (plot.by_core(graph), nx.core_number(counted(graph))),
    ):
        assert list(ranges) == list(graph.nodes)
        assert all(ranges[x].low <= expected[x] <= ranges[x].high for x in graph.nodes)
        for found in set(ranges.values()):
            inside = [expected[x] for x in graph.nodes if ranges[x] == found]
            assert (min(inside), max(inside)) == (found.low, found.high)


@pytest.mark.parametrize("name", ZOO)
def test_ranges_are_few_and_part_the_numbers(name: str) -> None:
    ranges = sorted(set(plot.by_degree(ZOO[name]()).values()))
    assert 2 <= len(ranges) <= 5
    assert all(a.high < b.low for a, b in pairwise(ranges))


def test_ranges_have_as_many_nodes_each_where_no_number_is_common() -> None:
    assert _bounds(np.random.default_rng(0).permutation(100)) == [(0, 19), (20, 39), (40, 59), (60, 79), (80, 99)]


def test_a_number_that_most_nodes_have_leaves_ranges_to_the_others() -> None:
    """All quantiles of the first are 1; ten nodes are left to four ranges: 2 of 10, 3 of 8, 2 of 5, and 3."""
    many = np.array([1] * 90 + list(range(2, 12)))
    assert _bounds(many) == [(1, 1), (2, 3), (4, 6), (7, 8), (9, 11)]
    assert _bounds(np.array([1, 2, 3] + [9] * 90)) == [(1, 3), (9, 9)]
    assert _bounds(np.array([4, 4])) == [(4, 4)]
    assert _bounds(np.array([], np.int64)) == []


def test_loops_weights_and_isolated_nodes() -> None:
    graph = nf.Graph.from_edges([("a", "b", 7.0), ("b", "b", 2.0)], nodes=["a", "b", "alone"])
    assert {x: str(r) for x, r in plot.by_degree(graph).items()} == {
        "a": "degree 1",
        "b": "degree 1",
        "alone": "degree 0",
    }
    assert plot.by_degree(nf.Graph.from_edges([], nodes=["alone"])) == {"alone": Range(0, 0, "degree")}


def test_a_range_reads_well() -> None:
    assert [str(Range(*x)) for x in ((1, 1, "core"), (12, 34567, "degree"))] == ["core 1", "degree 12-34,567"]


def test_foreign_graphs_and_labels() -> None:
    assert set(plot.by_core(nx.path_graph(4)).values()) == {Range(1, 1, "core")}
    assert set(plot.by_degree(nx.relabel_nodes(nx.path_graph(3), {0: ("a", 0)}))) == {("a", 0), 1, 2}


# -------------------------------------------------------------------- shades


def test_ranges_come_in_their_order_and_darken() -> None:
    graph = ZOO["weighted"]()
    kinds = Kinds.of(vectors(graph.nodes), plot.by_degree(graph))
    assert kinds.names == ("degree 1", "degree 2-3", "degree 4-7", "degree 8-11", "degree 12-36")
    light = [_lightness(color) for color in kinds.colors[:5]]
    assert light == sorted(light, reverse=True) and min(np.diff(light[::-1])) > 0.03 and max(light) < 0.6
    assert kinds.colors[-1] == REST and (kinds.of_node < 5).all()
    size = Counter(kinds.of_node.tolist())
    assert max(size.values()) < 2 * min(size.values())


def test_few_ranges_have_shades_far_apart_and_nodes_elsewhere_are_others() -> None:
    embedding = vectors(["hub", *"abc", "elsewhere"])
    kinds = Kinds.of(embedding, plot.by_degree([("hub", leaf) for leaf in "abc"]))
    assert kinds.names == ("degree 1", "degree 3", "others")
    five = Kinds.of(vectors(range(5)), [Range(i, i, "core") for i in range(5)])
    assert kinds.colors == (five.colors[0], five.colors[4], REST)
    assert kinds.of_node.tolist() == [1, 0, 0, 0, 2]


def test_ranges_beside_words_are_categories_like_others() -> None:
    kinds = Kinds.of(vectors("abc"), ["word", "word", Range(1, 2, "core")])
    assert kinds.names == ("word", "core 1-2") and kinds.colors == Kinds.of(vectors("abc"), ["x", "x", "y"]).colors


def test_colors_for_no_node_are_refused() -> None:
    with pytest.raises(nf.InputError, match="no node a kind; it should give it by node, as 'a'"):
        plot.map(vectors("abc"), colors=plot.by_degree([(1, 2)]))


def test_panels_stand_side_by_side() -> None:
    figure, panels = canvas(("x", "y"), ("u", "v"), inches=(10, 4))
    figure.canvas.draw()
    assert [axes.get_xlabel() for axes in panels] == ["x", "u"]
    assert panels[0].get_position().x1 < panels[1].get_position().x0


def _lightness(color: str) -> float:
    """Relative luminance, 0 for black and 1 for white."""
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return float(np.where(parts > 0.04045, ((parts + 0.055) / 1.055) ** 2.4, parts / 12.92) @ [0.2126, 0.7152, 0.0722])


# -------------------------------------------------------------------- netfold map --color


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text(EDGES)
    vectors(nf.read_edges("edges.csv").nodes).save("v.npz")
    return tmp_path


@pytest.fixture
def legends(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What each picture that is drawn has in its legend."""
    kept: list[list[str]] = []

    def spying(*args: Any, **given: Any) -> Any:
        figure = draw(*args, **given)
        kept.append([text.get_text() for text in figure.axes[0].get_legend().get_texts()])
        return figure

    draw = plot.map
    monkeypatch.setattr(plot, "map", spying)
    return kept


def call(line: str) -> Any:
    return CliRunner().invoke(map_, line.split(), standalone_mode=False)


@pytest.mark.parametrize(
    "color, expected",
    [("degree", ["degree 1", "degree 2", "degree 3"]), ("core", ["core 1", "core 2"])],
)
def test_colored_by_a_measure(color: str, expected: list[str], folder: Path, legends: list[list[str]]) -> None:
    assert call(f"v.npz -o m.png --edges edges.csv --color {color}").exception is None
    assert legends == [expected] and Path("m.png").read_bytes().startswith(b"\x89PNG")


def test_colored_by_classes_of_a_file(folder: Path, legends: list[list[str]]) -> None:
    Path("classes.csv").write_text("node,class\nhub,red\na,red\nb,blue\na,green\n")
    assert call("v.npz -o m.png --color classes.csv").exception is None
    assert legends == [["red", "blue", "others"]]


def test_integers_in_the_edges_are_the_text_that_the_model_has(folder: Path, legends: list[list[str]]) -> None:
    vectors(["1", "2", "3", "x"]).save("text.npz")
    Path("numbers.csv").write_text("1,2\n2,3\n")
    assert call("text.npz -o m.png --edges numbers.csv --color degree").exception is None
    assert legends == [["degree 1", "degree 2", "others"]]


@pytest.mark.parametrize(
    "line, said",
    [
        ("--color degree", "--color degree is counted in edges, and none are given; add --edges EDGES"),
        ("--color core", "add --edges EDGES"),
        (
            "--color pagerank --edges edges.csv",
            "pagerank is neither a file of classes, degree or core",
        ),
        ("--color other.csv", "other.csv"),
    ],
)
def test_bad_colors_are_refused_before_anything_is_drawn(line: str, said: str, folder: Path) -> None:
    Path("other.csv").write_text("node,class\nnobody,red\n")
    error = call(f"v.npz -o m.png {line}").exception
    assert isinstance(error, nf.InputError) and said in str(error)
    assert not Path("m.png").exists()


def test_colors_are_checked_before_the_model_is_read(folder: Path) -> None:
    assert "--edges" in str(call("nowhere.npz -o m.png --color degree").exception)
