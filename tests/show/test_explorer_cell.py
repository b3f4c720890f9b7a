"""The explorer in the cell of a notebook: the widget's own script in a real browser, and a kernel that is this test."""

from __future__ import annotations

import base64
import json
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from chromium import Chromium, program
from netfold.data.embedding import Embedding
from netfold.show.explore import Explorer, answered, cell_page
from netfold.show.report import Sheet

pytestmark = pytest.mark.skipif(
    program() is None, reason="no Chromium on the path; install one, or set NETFOLD_CHROMIUM"
)

CELL = """<!doctype html><title>a notebook</title><body style="margin:0"><div id="cell"></div><script type="module">
const asked = (window.asked = []);
let answer = null;
window.give = (content, bytes) => {
  const view = bytes === null ? [] : [new DataView(Uint8Array.from(atob(bytes), (x) => x.charCodeAt(0)).buffer)];
  answer(content, view);
};
const model = {
  get: () => PAGE, send: (content) => asked.push(content), on: (_, callback) => (answer = callback), off: () => {},
};
const widget = await import(URL.createObjectURL(new Blob([WIDGET], { type: "text/javascript" })));
widget.default.render({ model, el: document.getElementById("cell") });
document.documentElement.dataset.complete = "1";
</script>"""


def test_a_cell_asks_its_kernel_and_a_click_finds_the_nearest(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    explorer = Explorer([Sheet("by hand", Embedding([f"node {i}" for i in range(3)], draw.normal(size=(3, 4))))])
    script = (files("netfold.show.explore") / "assets" / "widget.js").read_text(encoding="utf-8")
    page, widget = (json.dumps(x).replace("<", "\\u003c") for x in (cell_page("by hand"), script))
    (tmp_path / "cell.html").write_text(CELL.replace("PAGE", page).replace("WIDGET", widget), encoding="utf-8")
    with Chromium(900, 780, seconds=20) as browser:
        browser.open(tmp_path / "cell.html")
        questions: list[str] = []
        clicked, end = False, time.monotonic() + 30
        while "near" not in questions and time.monotonic() < end:
            for content in browser.ask("window.asked.splice(0)"):
                questions.append(content["question"])
                said, buffers = answered(explorer, content)
                bytes_ = json.dumps(base64.b64encode(buffers[0]).decode() if buffers else None)
                browser.ask(f"window.give({json.dumps(said)}, {bytes_})")
            if questions.count("block") >= 4 and not clicked:
                time.sleep(0.5)
                clicked = not browser.ask("window.asked.length")
                if clicked:  # the map is focused, and its middle taken
                    browser.click(250, 300)
                    browser.press("Enter")
        assert questions[0] == "facts" and "near" in questions
        assert browser.complaints == []
