"""The report in a real browser, by keyboard from tab to tab: the node that was selected is not lost on the way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import netfold as nf
from chromium import Chromium, program
from netfold.data.embedding import Embedding
from netfold.show.report import Sheet, write

pytestmark = pytest.mark.skipif(
    program() is None, reason="no Chromium on the path; install one, or set NETFOLD_CHROMIUM"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    names, draw = [f"node {i}" for i in range(30)], np.random.default_rng(5)
    graph = nf.Graph.from_edges([(names[i], names[(i + 1) % 30]) for i in range(30)])
    history = [{"epoch": i + 1, "objective": 4e6 / (i + 1), "seconds": 0.1} for i in range(3)]
    model = nf.SDNE(dim=2, hidden=(4,), epochs=1).fit(graph, progress=False)
    model.history_ = history
    sheets = [
        Sheet("first", Embedding(names, draw.normal(size=(30, 3))), graph),
        Sheet("others", Embedding([f"other {i}" for i in range(30)], draw.normal(size=(30, 3)))),
        Sheet("last", model, graph),
    ]
    path = tmp_path_factory.mktemp("report") / "report.html"
    write(sheets, path, method="pca")
    with Chromium() as found:
        found.open(path)
        yield found
        assert found.complaints == []


SELECTED = "document.querySelector('#details h3')?.textContent"


def test_a_node_outlives_tabs_that_do_not_know_it_and_tabs_that_are_only_passed(browser: Chromium) -> None:
    browser.ask("document.getElementById('search').focus()")
    browser.type("node 17")
    browser.wait("Boolean(document.querySelector('#found li'))")
    browser.press("Enter")
    browser.wait(f"{SELECTED} === 'node 17'")
    browser.ask("document.getElementById('tab-0').focus()")
    browser.press("ArrowRight")
    browser.wait(f"!({SELECTED})")
    browser.press("ArrowRight")
    browser.wait(f"{SELECTED} === 'node 17'")
    browser.press("ArrowRight")
    browser.press("ArrowLeft")  # at once, before the first tab has its words
    browser.wait("document.getElementById('tab-2').getAttribute('aria-selected') === 'true'")
    browser.wait(f"{SELECTED} === 'node 17'")


def test_numbers_beside_the_losses_are_inside_their_drawing(browser: Chromium) -> None:
    browser.ask("document.getElementById('tab-2').click()")
    browser.wait("document.querySelectorAll('#curves polyline').length")
    inside = "(() => { const all = document.querySelector('#curves svg').getBoundingClientRect().left;"
    inside += (
        " return [...document.querySelectorAll('#curves text')].map((x) => x.getBoundingClientRect().left - all) })()"
    )
    assert min(browser.ask(inside)) >= 0
    assert "2M" in browser.ask("[...document.querySelectorAll('#curves text')].map((x) => x.textContent)")


def test_a_table_of_many_figures_fits_its_column(browser: Chromium) -> None:
    heads = browser.ask("[...document.querySelectorAll('#tables thead th')].map((x) => x.textContent)")
    assert any(x.startswith("precision@") for x in heads)  # breaking it adds no character
    room = "[...document.querySelectorAll('#tables .wide')].map((x) => x.scrollWidth - x.clientWidth)"
    assert max(browser.ask(room)) <= 0
