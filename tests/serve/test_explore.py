"""`netfold explore` on a real socket, and in a real browser."""

from __future__ import annotations

import contextlib
import csv
import http.client
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from chromium import Chromium, program
from command import refuse
from netfold.data.embedding import Embedding
from netfold.errors import InputError
from netfold.show.explore import Explorer
from netfold.show.report import Sheet

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("msgspec")

import uvicorn

from netfold.serve.answers import Served
from netfold.serve.explore import ExploreServer

in_a_browser = pytest.mark.skipif(
    program() is None, reason="no Chromium on the path; install one, or set NETFOLD_CHROMIUM"
)

HOSTILE = "</script><img src=x onerror=document.title='broken'>"
N = 60


def names() -> list[str]:
    return [HOSTILE, "İstanbul", "Zoë", *(f"node {i}" for i in range(3, N))]


def graph() -> nf.Graph:
    own = names()
    return nf.Graph.from_edges([(own[i], own[(i * k + 1) % N]) for i in range(N) for k in (1, 3)], duplicates="sum")


def embedding(seed: int = 3) -> Embedding:
    draw = np.random.default_rng(seed)
    return Embedding(names(), draw.normal(size=(N, 6)) + 3 * np.eye(6)[np.arange(N) % 3])


def gaussians() -> Embedding:
    draw = np.random.default_rng(4)
    return Embedding(names()[::-1], draw.normal(size=(N, 4)), draw.uniform(0.05, 0.5, size=(N, 4)))


def two_sheets() -> list[Sheet]:
    classes = {node: f"class {i % 3}" for i, node in enumerate(names())}
    return [Sheet("points", embedding(), graph(), {"kind": classes}), Sheet("Gaussians", gaussians(), graph())]


@contextlib.contextmanager
def running(sheets: list[Sheet]) -> Iterator[tuple[int, ExploreServer]]:
    """The port of an explorer that runs in a thread, and the server."""
    models = [
        Served(x.name, Path("none"), x.embedding, x.model if x.model is not x.embedding else None) for x in sheets
    ]
    server = ExploreServer(models, Explorer(sheets, method="pca"))
    with server.listen(0) as listening:
        uv = uvicorn.Server(server.config())
        thread = threading.Thread(target=uv.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            end = time.monotonic() + 30
            while not uv.started:
                assert time.monotonic() < end
                time.sleep(0.02)
            yield listening.getsockname()[1], server
        finally:
            uv.should_exit = True
            thread.join(30)


def ask(port: int, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(
        method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"} | headers
    )
    response = connection.getresponse()
    answer, more = response.read(), {name.lower(): value for name, value in response.getheaders()}
    connection.close()
    return response.status, json.loads(answer) if more["content-type"] == "application/json" else answer, more


# -------------------------------------------------------------------- over HTTP


@pytest.fixture(scope="module")
def closed() -> Iterator[tuple[int, ExploreServer]]:
    with running(two_sheets()) as at:
        yield at


def test_nothing_is_told_without_a_session_but_the_empty_page(closed: tuple[int, ExploreServer]) -> None:
    port, server = closed
    for method, path in (
        ("GET", "/explore/facts"), ("GET", "/explore/blocks/0"), ("POST", "/explore/ask/near"), ("GET", "/v1/models"),
        ("POST", "/v1/models/points/nearest"),
    ):  # fmt: skip
        assert ask(port, method, path, {} if method == "POST" else None)[0] == 401
        assert (
            ask(port, method, path, {} if method == "POST" else None, Authorization=f"Bearer {server.token}")[0] == 401
        )
    for path in ("/explore/", "/explore/explore.js", "/explore/explore.css"):
        status, text, headers = ask(port, "GET", path)
        assert status == 200 and b"node 7" not in text and server.token.encode() not in text
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"] and headers["x-content-type-options"] == "nosniff"
    assert ask(port, "GET", "/explore/", Host="evil.example")[0] == 421
    assert ask(port, "POST", "/explore/session", {"token": server.token}, Origin="http://evil.example")[0] == 403
    page = ask(port, "GET", "/explore/")[1].decode()
    assert re.findall(r"<script[^>]*>", page) == ['<script type="module" src="explore.js">'] and "style=" not in page


def test_the_token_of_the_address_opens_one_session() -> None:
    with running(two_sheets()[:1]) as (port, server):
        address = server.address(port)
        assert address == f"http://127.0.0.1:{port}/explore/#token={server.token}" and len(server.token) >= 40
        assert ask(port, "POST", "/explore/session", {"token": server.token[:-1] + "é"})[0] == 400
        assert ask(port, "POST", "/explore/session", {"other": 1})[0] == 400
        status, answer, _ = ask(port, "POST", "/explore/session", {"token": server.token})
        assert status == 200
        assert ask(port, "POST", "/explore/session", {"token": server.token})[0] == 400
        own = {"Authorization": f"Bearer {answer['session']}"}
        facts = ask(port, "GET", "/explore/facts", **own)[1]
        assert facts["sheets"][0]["nodes"] == N
        status, xy, headers = ask(port, "GET", f"/explore/blocks/{facts['sheets'][0]['xy']['block']}", **own)
        assert status == 200 and len(xy) == 4 * N and headers["content-type"] == "application/octet-stream"
        assert ask(port, "GET", "/explore/blocks/9999", **own)[0] == 400
        near = ask(port, "POST", "/explore/ask/near", {"row": 5}, **own)[1]
        assert [names()[i] for i in near["rows"]] == [x for x, _ in embedding().nearest(names()[5])]
        same = ask(port, "POST", "/v1/models/points/nearest", {"nodes": [names()[5]]}, **own)[1]
        assert [x["score"] for x in same["results"][0]] == near["scores"]
        assert ask(port, "POST", "/explore/ask/near", {"row": 10**30}, **own)[0] == 400
        assert ask(port, "POST", "/explore/ask/nothing", {}, **own)[0] == 400
        assert ask(port, "POST", "/explore/ask/near", [1], **own)[0] == 400
        assert ask(port, "POST", "/v1/models/points/reload", {}, **own)[0] == 403


def test_the_command_prints_an_address_that_opens_and_ends_by_a_signal(tmp_path: Path) -> None:
    nf.Spectral(dim=4).fit(nf.datasets.karate(), progress=False).save(tmp_path / "m.netfold")
    command = [sys.executable, "-m", "netfold", "explore", str(tmp_path / "m.netfold"), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/explore/#token=([\w-]{40,})\n", process.stdout.readline())
            assert found is not None
            port, token = int(found[1]), found[2]
            end = time.monotonic() + 30
            while True:
                try:
                    session = ask(port, "POST", "/explore/session", {"token": token})[1]["session"]
                    break
                except ConnectionError:
                    assert time.monotonic() < end
                    time.sleep(0.05)
            facts = ask(port, "GET", "/explore/facts", Authorization=f"Bearer {session}")[1]
            assert facts["title"] == "Spectral" and facts["sheets"][0]["nodes"] == 34
            placed = {"name": "new", "links": [0, 1]}
            assert (
                len(ask(port, "POST", "/explore/ask/place", placed, Authorization=f"Bearer {session}")[1]["rows"]) == 10
            )
        finally:
            process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=30)[1]
        assert "Traceback" not in errors and token not in errors and "the address opens once" in errors


def test_the_command_refuses_three_models_and_paths_that_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "one model, or two side by side" in refuse("explore", "a", "b", "c", "--no-browser")
    assert "no such file or folder" in refuse("explore", tmp_path / "none.netfold", "--no-browser")


def test_hyperedges_are_explored_without_links_and_place_nobody() -> None:
    tuples = [(("user", u), ("film", f)) for u in range(6) for f in range(5) if (u + f) % 2]
    hypergraph = nf.Hypergraph.from_tuples(tuples, {x: x[0] for edge in tuples for x in edge})
    model = nf.DHNE(dim=4, epochs=1).fit(hypergraph, progress=False)
    explorer = Explorer([Sheet("DHNE", model, hypergraph)], method="pca")
    facts = explorer.facts["sheets"][0]
    assert "edges" not in facts and not facts["places"] and facts["columns"][0]["name"] == "type"
    near = explorer.ask("near", {"row": 0, "k": 3})
    own = model.embedding_
    assert [own.nodes[i] for i in near["rows"]] == [x for x, _ in own.nearest(own.nodes[0], 3)]
    assert explorer.ask("table", {"rows": [0]})["csv"].splitlines()[1].startswith("user:")
    with pytest.raises(InputError, match="no way to place"):
        explorer.ask("place", {"name": "new", "links": [0]})


# -------------------------------------------------------------------- in a browser


class Window:
    """A browser that shows an explorer, and what a test does in it."""

    def __init__(self, browser: Chromium):
        self.browser, self.ask = browser, browser.ask

    def text(self, of: str) -> str:
        return str(self.ask(f"document.querySelector({of!r})?.textContent ?? ''"))

    def texts(self, of: str) -> list[str]:
        return list(self.ask(f"[...document.querySelectorAll({of!r})].map((x) => x.textContent)"))

    def act(self, on: str, then: str) -> None:
        """Click on something, then wait until a thing is so."""
        self.ask(f"document.querySelector({on!r}).click()")
        self.browser.wait(then)

    def reload(self, told: str) -> None:
        """Load the page again once its address tells something, and wait for the new one."""
        self.browser.wait(f"location.hash.includes({told!r})")
        self.ask("delete document.documentElement.dataset.complete")  # the old page is not taken for the new
        self.browser.call("Page.reload")
        self.browser.wait("document.documentElement?.dataset.complete")

    def find(self, name: str) -> None:
        self.ask("document.getElementById('search').focus(); document.getElementById('search').select()")
        self.browser.type(name)
        self.browser.press("Enter")
        self.browser.wait(f"document.getElementById('node')?.textContent === {json.dumps(name)}")
        time.sleep(0.05)

    def put(self, into: str, value: str) -> None:
        said = f"x.value = {json.dumps(value)}; x.dispatchEvent(new Event('input'))"
        self.ask(f"(() => {{ const x = document.getElementById({into!r}); {said} }})()")

    def saved(self) -> None:
        """From here on files are kept in `window.files` and not given to the user."""
        self.ask(
            "window.files = []; const keep = (blob) => { blob.text().then((x) => window.files.push(x)); return '#'; };"
            "URL.createObjectURL = keep; 0"
        )


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with Chromium(1280, 800, seconds=20) as browser:
        yield browser


@contextlib.contextmanager
def opened(browser: Chromium, sheets: list[Sheet], more: str = "") -> Iterator[Window]:
    """A page in the browser; whatever a test did, it has not complained, and asked its own server alone."""
    browser.call("Page.navigate", url="about:blank")  # whatever the page before still asks for is not this one's
    browser.complaints.clear()
    browser.requests.clear()
    with running(sheets) as (port, server):
        browser.visit(server.address(port) + more)
        window = Window(browser)
        assert window.text("#missing") == ""
        yield window
        assert browser.complaints == []
        own = [
            x
            for x in browser.requests
            if not x.startswith(("data:", "blob:", "about:", f"http://127.0.0.1:{port}/explore/"))
        ]
        assert own == [] and browser.ask("document.title") != "broken"


@in_a_browser
def test_the_nearest_that_are_not_linked_are_judged_and_saved(chromium: Chromium) -> None:
    with opened(chromium, two_sheets()[:1]) as window:
        assert "token" not in window.ask("location.hash")
        window.find("node 17")
        assert window.texts(".near .name") == [x for x, _ in embedding().nearest("node 17")]
        window.act(
            "#unlinked",
            "![...document.querySelectorAll('.linked')].length && document.querySelector('#unlinked').checked",
        )
        chromium.wait("document.querySelectorAll('.judge').length === 10")
        data = graph().adjacency.toarray()
        row = list(graph().nodes).index("node 17")
        linked = {x for j, x in enumerate(graph().nodes) if data[row, j]}
        assert window.texts(".near .name") == [x for x, _ in embedding().nearest("node 17", N) if x not in linked][:10]
        first, second = window.texts(".near .name")[:2]
        window.act(
            ".near li:nth-child(1) .accept", "document.querySelector('.accept').getAttribute('aria-pressed') === 'true'"
        )
        window.act(".near li:nth-child(2) .reject", "!document.getElementById('judged').hidden")
        assert window.text("#verdict-words") == "1 accepted, 1 rejected"
        window.saved()
        window.act("#save-verdicts", "window.files.length")
        rows = list(csv.DictReader(io.StringIO(window.ask("window.files[0]"))))
        assert [(x["source"], x["target"], x["verdict"]) for x in rows] == [
            ("node 17", first, "accept"), ("node 17", second, "reject")
        ]  # fmt: skip
        window.ask("document.getElementById('more').focus()")
        window.act("#more", "document.querySelectorAll('.near li').length === 20")
        assert chromium.ask("document.activeElement.id") == "more"
        window.reload("node=")
        assert window.text("#verdict-words") == "1 accepted, 1 rejected" and window.text("#node") == "node 17"


@in_a_browser
def test_names_are_there_at_rest(chromium: Chromium) -> None:
    written = """(() => {
      const canvas = document.querySelector('.names');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.some((x, i) => i % 4 === 3 && x > 0);
    })()"""
    with opened(chromium, two_sheets()[:1]):
        chromium.wait(written)


@in_a_browser
def test_a_map_that_was_hidden_comes_back_as_it_was(chromium: Chromium) -> None:
    hash_ = "location.hash.includes('view1=')"
    with opened(chromium, two_sheets()[:1]) as window:
        window.find("node 20")
        chromium.wait(hash_)
        before = window.ask("location.hash")
        for style in ("none", ""):
            window.ask(f"document.getElementById('stages').style.display = {style!r}")
            window.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        window.ask("document.getElementById('unlinked').click()")
        chromium.wait("location.hash.includes('unlinked')")
        assert before in window.ask("location.hash") and "NaN" not in window.ask("location.hash")


@in_a_browser
def test_two_models_share_a_selection_and_the_address_holds_the_view(chromium: Chromium) -> None:
    with opened(chromium, two_sheets()) as window:
        window.find("node 20")
        assert window.texts(".badge") == ["points", "Gaussians"]
        lists = window.ask(
            "[...document.querySelectorAll('.near')].map("
            "(x) => [...x.querySelectorAll('.name')].map((y) => y.textContent))"
        )
        wanted = [[x for x, _ in each.nearest("node 20")] for each in (embedding(), gaussians())]
        assert lists == wanted
        assert len(window.texts(".both")) == 2 * len(set(wanted[0]) & set(wanted[1]))
        window.put("part", "node 1")
        window.ask(
            "const links = document.getElementById('links'); links.value = 'two';"
            "links.dispatchEvent(new Event('change'))"
        )
        chromium.wait("document.getElementById('filtered').textContent.startsWith('10 of 60 and 10 of 60')")
        window.act("#seen", "!document.getElementById('selection').hidden")
        count = len(window.texts("#selected-table tbody tr"))
        assert 0 < count <= 10 and f"{count} nodes of points; {count} of them in Gaussians" in window.text(
            "#selection-words"
        )
        chromium.wait("/lasso=/.test(location.hash) && /links=two/.test(location.hash) && /part=/.test(location.hash)")
        before = window.ask("location.hash"), window.texts("#selected-table tbody th")
        window.reload("lasso=")
        time.sleep(0.5)
        assert (window.ask("location.hash"), window.texts("#selected-table tbody th")) == before
        assert window.text("#node") == "node 20" and window.ask("document.getElementById('links').value") == "two"


@in_a_browser
def test_a_lasso_takes_what_is_inside_and_saves_its_table(chromium: Chromium) -> None:
    with opened(chromium, two_sheets()[:1]) as window:
        box = window.ask(
            "(({left, top, width, height}) => [left, top, width, height])"
            "(document.querySelector('.names').getBoundingClientRect())"
        )
        left, top, width, height = box
        window.act("#lasso", "document.getElementById('lasso').getAttribute('aria-pressed') === 'true'")
        corners = [
            (left + 3, top + 3),
            (left + width / 2, top + 3),
            (left + width / 2, top + height - 3),
            (left + 3, top + height - 3),
        ]
        chromium.mouse("mousePressed", *corners[0])
        for corner in corners[1:]:
            chromium.mouse("mouseMoved", *corner)
        chromium.mouse("mouseReleased", *corners[-1])
        chromium.wait("!document.getElementById('selection').hidden")
        taken = window.texts("#selected-table tbody th")
        explorer = Explorer(two_sheets()[:1], method="pca")
        parts, middle = (
            explorer._shown[0].parts,
            (explorer.facts["sheets"][0]["home"][0] + explorer.facts["sheets"][0]["home"][2]) / 2,
        )
        assert set(taken) == {names()[i] for i in np.flatnonzero(parts[:, 0] < middle)}
        window.saved()
        window.act("#save-selection", "window.files.length")
        rows = list(csv.DictReader(io.StringIO(window.ask("window.files[0]"))))
        assert [x["node"] for x in rows] == taken and {"kind", "degree", "x", "y"} <= set(rows[0])
        window.act("#clear-selection", "document.getElementById('selection').hidden")


@in_a_browser
def test_a_new_node_lands_by_typing_its_links_with_the_keyboard_alone(chromium: Chromium) -> None:
    model = nf.SDNE(dim=4, hidden=(8,), epochs=3).fit(graph(), progress=False)
    with opened(chromium, [Sheet("SDNE", model, graph())]) as window:
        window.ask("document.querySelector('.names').focus()")
        chromium.press("Enter")
        chromium.wait("document.getElementById('node')?.textContent")
        chromium.press("Escape")
        chromium.wait("!document.getElementById('node')")
        window.ask("document.querySelector('#place summary').focus()")
        chromium.press("Enter")
        chromium.wait("document.getElementById('place').open")
        window.ask("document.getElementById('new-name').focus(); document.getElementById('new-name').select()")
        chromium.type("comet")
        window.ask("document.getElementById('new-links').focus()")
        chromium.type("node 7, NODE 9")
        window.act("#newcomer [type=submit]", "document.querySelectorAll('#newcomers li').length")
        placed = model.transform(nf.Graph.from_edges([("comet", "node 7"), ("comet", "node 9")]))
        near = [str(x) for x, _ in model.embedding_.nearest(placed.vectors[0], 3)]
        assert f"nearest to {', '.join(near)}." in window.text("#new-words")
        window.put("new-links", "nobody")
        window.act(
            "#newcomer [type=submit]", "/knows no nobody/.test(document.getElementById('new-words').textContent)"
        )


CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']"
REACHABLE = f"""[...document.querySelectorAll({CONTROLS!r})].filter(
  (x) => x.checkVisibility({{ visibilityProperty: true }}) && !x.disabled && x.tabIndex >= 0)"""
FOCUSED = f"""(() => {{
  const x = document.activeElement;
  const style = getComputedStyle(x);
  const seen = style.outlineStyle !== 'none' || style.boxShadow !== 'none' || x.matches('.skip');
  return [({REACHABLE}).indexOf(x), seen, x.outerHTML.slice(0, 90), x.matches('details:not([open]) > summary')];
}})()"""


def tabbed(window: Window) -> set[str]:
    """Where Tab goes, from the beginning of the page to its end, opening what is closed; what has the focus is seen."""
    window.ask("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")
    reached: set[str] = set()
    for _ in range(200):
        window.browser.press("Tab")
        number, seen, html, closed = window.ask(FOCUSED)
        if number < 0:  # of the browser itself, after the last
            break
        assert seen, f"the focus is not seen on {html}"
        if closed:
            window.browser.press("Enter")
            window.browser.wait("document.activeElement.parentElement.open")
        reached.add(html)
    every = set(window.ask(f"({REACHABLE}).map((x) => x.outerHTML.slice(0, 90))"))
    assert every - reached == set()
    return reached


@in_a_browser
def test_tab_reaches_every_control_and_keys_use_them(chromium: Chromium) -> None:
    model = nf.SDNE(dim=4, hidden=(8,), epochs=3).fit(graph(), progress=False)
    sheets = [Sheet("SDNE", model, graph()), Sheet("Gaussians", gaussians(), graph())]
    with opened(chromium, sheets) as window:
        chromium.press("/")
        chromium.wait("document.activeElement.id === 'search'")
        chromium.type("node 2")
        chromium.press("ArrowDown")
        chromium.press("Enter")
        chromium.wait("document.getElementById('node')?.textContent")
        assert len(tabbed(window)) > 50
        window.ask("document.getElementById('unlinked').focus()")
        listed = window.ask("document.documentElement.dataset.near")
        chromium.press(" ")
        chromium.wait(f"document.documentElement.dataset.near !== {listed!r}")
        window.ask("document.querySelector('.accept').focus()")
        chromium.press("Enter")
        chromium.wait("!document.getElementById('judged').hidden")
        for control, key, then in (
            ("links", "a", "document.getElementById('links').value === 'all'"),
            ("certain", "ArrowLeft", "/99%/.test(document.getElementById('certain-words').textContent)"),
            ("sized", " ", "document.getElementById('sized').checked"),
            ("seen", "Enter", "!document.getElementById('selection').hidden"),
            ("new-links", "node 7", "document.getElementById('new-links').value === 'node 7'"),
        ):
            window.ask(f"document.getElementById({control!r}).focus()")
            chromium.type(key) if len(key) > 1 and " " in key else chromium.press(key)
            chromium.wait(then)
        chromium.press("Tab")
        chromium.press("Enter")
        chromium.wait("document.querySelectorAll('#newcomers li').length")
        window.ask("document.getElementById('k').focus()")
        chromium.type("3")
        chromium.press("Enter")
        chromium.wait("document.querySelectorAll('#groups li').length === 3")
        tabbed(window)
        window.ask("document.querySelector('.names').focus()")
        before = window.ask("location.hash")
        for key in ("+", "ArrowRight", "ArrowRight", "Enter"):
            chromium.press(key)
        chromium.wait(f"location.hash !== {before!r} && !!document.getElementById('node')")
        chromium.press("Escape")
        chromium.wait("!document.getElementById('node')")


@in_a_browser
def test_groups_uncertainty_and_versions_change_what_is_drawn(chromium: Chromium, tmp_path: Path) -> None:
    with opened(chromium, two_sheets()) as window:
        window.ask("document.getElementById('roles').open = true; document.getElementById('k').value = '3'")
        window.act("#grouping [type=submit]", "document.querySelectorAll('#groups li').length === 3")
        assert window.ask("document.getElementById('column').value") == "groups by points"
        assert all("nodes" in x for x in window.texts("#groups h3"))
        window.act("#groups li:nth-child(2) .buttons button", "!document.getElementById('selection').hidden")
        assert len(window.texts("#selected-table tbody tr")) == embedding().groups(3).sizes[1]
        window.put("certain", "50")
        chromium.wait("/30 of 60/.test(document.getElementById('filtered').textContent)")
        window.act("#sized", "document.getElementById('sized').checked")
    nf.SDNE(dim=4, hidden=(8,), epochs=2).fit(graph(), progress=False).save(tmp_path / "m.netfold")
    stream = nf.Evolving.open(tmp_path / "m.netfold")
    stream.update([("day 1", "node 7"), ("day 1", "node 8")])
    with opened(chromium, [Sheet("SDNE", nf.Evolving.open(tmp_path / "m.netfold"))]) as window:
        assert not window.ask("document.getElementById('versions').hidden")
        window.put("version", "0")
        chromium.wait("/60 of 61/.test(document.getElementById('filtered').textContent)")
        assert "Nobody was placed yet" in window.text("#version-facts")


@in_a_browser
@pytest.mark.parametrize(("width", "height", "dark"), [(1280, 800, True), (390, 800, False)])
def test_it_fits_a_narrow_window_and_a_dark_one(width: int, height: int, dark: bool) -> None:
    with Chromium(width, height, dark=dark, seconds=20) as browser, opened(browser, two_sheets()) as window:
        assert window.ask("document.documentElement.scrollWidth <= innerWidth")
        ground = window.ask("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(15, 18, 22)") is dark
        sizes = window.ask("[...document.querySelectorAll('.stage')].map((x) => [x.clientWidth, x.clientHeight])")
        assert all(w > 250 and h > 250 for w, h in sizes)


@in_a_browser
def test_an_address_that_was_opened_before_shows_a_sentence(chromium: Chromium) -> None:
    with running(two_sheets()[:1]) as (port, server):
        assert ask(port, "POST", "/explore/session", {"token": server.token})[0] == 200
        chromium.visit(server.address(port))
        assert "run netfold explore again" in Window(chromium).text("#missing")
        chromium.complaints.clear()


@in_a_browser
@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_axe_finds_nothing_with_everything_open(tmp_path: Path, width: int, dark: bool) -> None:
    """axe-core is fetched from npm, or is the file that NETFOLD_AXE names."""
    named = os.environ.get("NETFOLD_AXE")
    if named is None:
        subprocess.run(["npm", "pack", "--silent", "axe-core@4"], cwd=tmp_path, check=True, capture_output=True)
        subprocess.run(["tar", "xzf", next(tmp_path.glob("*.tgz"))], cwd=tmp_path, check=True)
    axe = Path(named or tmp_path / "package" / "axe.min.js").read_text(encoding="utf-8")
    model = nf.SDNE(dim=4, hidden=(8,), epochs=3).fit(graph(), progress=False)
    sheets = [Sheet("SDNE", model, graph()), Sheet("Gaussians", gaussians(), graph())]
    with Chromium(width, 800, dark=dark, seconds=30) as browser, opened(browser, sheets) as window:
        window.find("node 20")
        window.ask("for (const x of document.querySelectorAll('#panel > details')) x.open = true")
        window.act("#unlinked", "document.querySelectorAll('.accept').length")
        window.put("new-links", "node 7")
        for button in (".accept", "#seen", "#newcomer [type=submit]", "#grouping [type=submit]"):
            window.ask(f"document.querySelector({button!r}).click()")
        browser.wait(
            "document.querySelectorAll('#groups li').length && document.querySelectorAll('#newcomers li').length"
        )
        browser.call("Runtime.evaluate", expression=axe)
        assert window.ask("axe.run().then((x) => x.violations.map((y) => [y.id, y.nodes.map((z) => z.html)]))") == []
