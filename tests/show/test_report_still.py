"""The still picture of a report: a png that is right pixel by pixel, names that are text, and what a notebook shows."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import netfold as nf
from netfold.data.embedding import Embedding
from netfold.errors import InputError
from netfold.show.report import Page, Sheet, document, tables
from netfold.show.report.sheets import NodeNumbers, _colored
from report_pages import HOSTILE, facts_of, points, written
from zoo import karate


def test_the_png_has_the_colours_that_were_put_in() -> None:
    pixels = np.zeros((5, 7), np.uint8)
    pixels[1, 2], pixels[4, 6] = 1, 3
    image = imread(io.BytesIO(document._png(pixels, scale=False))) * 255
    assert image.shape == (5, 7, 4)
    assert image[0, 0, 3] == 0, "the ground is transparent"
    assert image[1, 2].round().tolist() == [0x00, 0x72, 0xB2, 255]
    assert image[4, 6].round().tolist() == [0x00, 0x9E, 0x73, 255]
    assert (image[..., 3] > 0).sum() == 2


def test_a_disc_stands_where_its_node_is_and_the_y_axis_points_up() -> None:
    pixels = document._raster(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 4]))
    (low, left), (top, right) = np.argwhere(pixels == 1).mean(0), np.argwhere(pixels == 5).mean(0)
    assert (round(left), round(low)) == (24, 2 * 480 - 24) and (round(right), round(top)) == (2 * 720 - 24, 24)


def test_numbers_go_from_one_end_of_the_scale_to_the_other() -> None:
    slots, legend = _colored(NodeNumbers("degree", np.array([1.0, 2.0, 3.0])), 3)
    assert slots.tolist() == [0, 127, 254] and [slot for slot, _ in legend] == [0, 254]
    assert document._color(0, scale=True) == document._SCALE[0]
    assert document._color(254, scale=True) == document._SCALE[-1]


def test_the_page_holds_a_picture_of_each_model_and_its_names_are_text(tmp_path: Path) -> None:
    named = Embedding([HOSTILE, *"bcdef"], np.random.default_rng(1).normal(size=(6, 3)))
    page = written(tmp_path, Sheet("points", points()), Sheet(HOSTILE, named), method="pca", evaluate=False)
    pictures = re.findall(r'href="data:image/png;base64,([^"]+)"', page)
    assert len(pictures) == 2
    assert all(imread(io.BytesIO(base64.b64decode(x))).shape == (960, 1440, 4) for x in pictures)
    assert "<text" in page and HOSTILE not in page and "&lt;/script&gt;&lt;img" in page
    assert "still" not in facts_of(page)["sheets"][0], "it stands in the page once"


def test_names_do_not_lie_over_one_another() -> None:
    at = np.array([[0.5, 0.5], [0.5, 0.5], [0.1, 0.9]])
    texts = document._names(at, [(0, "first"), (1, "second"), (2, "third")])
    assert [re.sub("<[^>]*>", "", x) for x in texts] == ["first", "third"]


# -------------------------------------------------------------------- in a notebook


def test_show_is_an_iframe_that_holds_the_whole_page(sdne: nf.SDNE) -> None:
    import html

    page = sdne.show(karate(), {"odd": {i: i % 2 for i in range(34)}})
    assert isinstance(page, Page)
    text = page._repr_html_()
    held = re.fullmatch(r'<iframe sandbox="allow-scripts" [^>]*? srcdoc="([^"]*)"></iframe>', text, re.DOTALL)
    assert held is not None and html.unescape(held[1]) == page.html
    assert "default-src" in page.html and repr(page).startswith("Page(SDNE: 34 nodes; ")
    assert "odd" in str(facts_of(page.html)["sheets"][0]["columns"][0]["name"])


def test_show_needs_a_fit_and_a_map_that_a_cell_can_hold() -> None:
    with pytest.raises(InputError, match="not fitted yet"):
        nf.SDNE().show()
    many = Embedding(range(100_001), np.zeros((100_001, 1), np.float32) + np.arange(100_001)[:, None])
    with pytest.raises(InputError, match="up to 100,000 nodes and this one has 100,001; write a file"):
        Page([Sheet("many", many)])


# -------------------------------------------------------------------- the figure of the demo


def test_a_model_with_a_score_of_its_own_has_a_second_row_that_evaluate_gives_too(sdne: nf.SDNE) -> None:
    (table, *_) = tables.tables_of([Sheet("SDNE", sdne, karate())])
    rows = {row["name"]: dict(zip(table["figures"], row["values"], strict=True)) for row in table["rows"]}
    for name, score in (("SDNE", "cosine"), ("SDNE, pairs by its decoder", "decoder")):
        result = nf.evaluate.reconstruction(sdne, karate(), score=score, k=[100], baselines=False)
        assert rows[name]["MAP"] == pytest.approx(result.figures["MAP"], abs=1e-12)


def test_a_figure_of_a_sample_says_so_beside_it(monkeypatch: pytest.MonkeyPatch, sdne: nf.SDNE) -> None:
    monkeypatch.setattr(tables, "_WHOLE", 20)
    monkeypatch.setattr(tables, "_SOME", 10)
    first, second = tables.tables_of([Sheet("SDNE", sdne, karate())])
    assert first["notes"][0].startswith("MAP is over 10 random nodes of 34 nodes")
    assert second["notes"][0].endswith("random pairs of 34 nodes.")
    monkeypatch.undo()
    assert tables.tables_of([Sheet("SDNE", sdne, karate())])[0]["notes"] == []
