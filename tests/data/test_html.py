"""What a notebook shows: every value has html, whatever its nodes are called, and no name is ever markup."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold.data.text import html_box, html_facts, html_table, svg_curves
from netfold.evaluate.result import Result
from netfold.studies.compare.table import Comparison, Entry

HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(1)>"
VOID = {"br", "img", "wbr"}


class Tags(HTMLParser):
    """The elements of a piece of html, which are closed as they were opened, and its text."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == [], f"left open: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def harmless(text: str) -> Tags:
    tags = Tags(text)
    assert not tags.tags & {"script", "img", "iframe", "style", "link"}
    assert not [name for name in tags.attributes if name.startswith("on")]
    return tags


def hostile_graph() -> nf.Graph:
    return nf.Graph.from_edges([(HOSTILE, "b"), ("b", "c"), ("c", HOSTILE), ("two\nlines", "b")])


def hostile_hypergraph() -> nf.Hypergraph:
    user, film = (HOSTILE, "u"), ("film", HOSTILE)
    return nf.Hypergraph.from_tuples([(user, film)], {user: HOSTILE, film: "f"})


def values() -> dict[str, Any]:
    graph = hostile_graph()
    model = nf.SDNE(dim=3, hidden=(4,), epochs=3).fit(graph, progress=False)
    result = Result(
        HOSTILE, HOSTILE, {HOSTILE: 0.5, "AUC": 0.1}, {"what": HOSTILE}, {"<b>": {HOSTILE: 0.9, "AUC": 0.2}}
    )
    entries = (Entry("link_prediction", HOSTILE, figures={"AUC": 0.9}), Entry("link_prediction", "<i>", why=HOSTILE))
    return {
        "graph": graph,
        "hypergraph": hostile_hypergraph(),
        "embedding": model.embedding_,
        "model": model,
        "not fitted": nf.DVNE(),
        "result": result,
        "comparison": Comparison(HOSTILE, entries),
        "gaussians": nf.Embedding([HOSTILE], [[1.0, 2.0]], [[1.0, 1.0]]),
        "empty": nf.Embedding([], np.zeros((0, 3))),
    }


VALUES = values()


@pytest.mark.parametrize("name", VALUES)
def test_every_value_shows_itself_and_no_name_is_markup(name: str) -> None:
    tags = harmless(VALUES[name]._repr_html_())
    assert tags.words.strip()
    assert "\n" not in tags.words, "a name does not break its line"


def test_a_graph_says_what_was_read() -> None:
    words = harmless(hostile_graph()._repr_html_()).words
    assert "4, undirected" in words and "1 to 3, 2.0 in the mean" in words and HOSTILE[:20] in words


def test_a_model_shows_its_curves_and_the_last_losses() -> None:
    model = VALUES["model"]
    text = model._repr_html_()
    assert text.count("<polyline") == 4, "the objective and its three terms"
    assert f"{model.history_[-1]['objective']:.4g} after the last epoch" in text
    assert "not yet: call fit(graph)" in VALUES["not fitted"]._repr_html_()


def test_the_best_of_each_figure_is_bold() -> None:
    result = Result("t", "SDNE", {"AUC": 0.9, "loss": 3.0}, {}, {"cheap": {"AUC": 0.8, "loss": 2.0}},
                    smaller_is_better=["loss"])  # fmt: skip
    assert re.findall(r"<td[^>]*><strong>([^<]*)", result._repr_html_()) == ["0.9000", "2.0000"]
    entries = (
        Entry("link_prediction", "SDNE", figures={"AUC": 0.5}),
        Entry("link_prediction", "x", True, {"AUC": 0.7}),
    )
    shown = Comparison("data", entries)._repr_html_()
    assert re.findall(r"<td[^>]*><strong>([^<]*)", shown) == ["0.7000"] and "a cheap baseline wins" in shown


def test_an_embedding_shows_its_first_numbers() -> None:
    shown = nf.Embedding(["a", "b"], [[0.125, -1.0], [2.0, 3.0]])._repr_html_()
    assert re.findall(r"<td[^>]*>([^<]*)", shown) == ["a", "0.125", "-1.000", "b", "2.000", "3.000"]
    many = nf.Embedding(range(100), np.zeros((100, 50)))._repr_html_()
    assert many.count("<tr>") == 7 and many.count("<th ") == 8


def drawn_points(svg: str) -> list[list[tuple[float, float]]]:
    """The places of each curve."""
    curves = re.findall('points="([^"]*)"', svg)
    return [[(float(x), float(y)) for x, y in (place.split(",") for place in curve.split())] for curve in curves]


@pytest.mark.parametrize(
    "curve",
    [[1.0], [2.0, 2.0], [1e9, 1.0, 1e-9], [math.nan, 1.0, math.inf, 2.0], [-1.0, 0.0], list(range(5000))],
    ids=["one", "level", "steep", "not finite", "negative", "long"],
)
def test_curves_are_points_of_their_frame(curve: list[float]) -> None:
    drawn = svg_curves({"a": curve, "<b>": curve[::-1]})
    first, second = drawn_points(drawn)
    assert len(first) == len(second) > 0 and len(first) <= 202
    assert all(0 <= x <= 360 and 0 <= y <= 120 for x, y in first + second)
    harmless(drawn)


def test_there_is_no_picture_of_nothing() -> None:
    assert svg_curves({"a": [math.nan]}) == "" == svg_curves({})


@pytest.mark.parametrize("values", [[4.0, 2.0, 1.0], [1000.0, 10.0, 1.0]], ids=["linear", "logarithmic"])
def test_the_curve_falls_where_the_loss_does(values: list[float]) -> None:
    (places,) = drawn_points(svg_curves({"a": values}))
    assert [y for _, y in places] == sorted(y for _, y in places), "y points down"
    assert places[0] == (4.0, 14.0) and places[-1] == (356.0, 106.0)


def test_parts() -> None:
    assert harmless(html_box("<b>", html_facts([("<i>", "<u>")]))).words == "<b><i><u>"
    assert harmless(html_table(["", "<x>"], [["<y>", 1]], caption="a\n<z>")).words == "<x><y>1a<z>"
    assert "…" in html_facts([("a", "x" * 5000)]) and len(html_facts([("a", "x" * 5000)])) < 1000
