"""The report in a real browser: headless Chromium, driven over a pipe. Skipped where there is none."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chromium
import netfold as nf
from chromium import Chromium, program
from netfold.data.embedding import Embedding
from netfold.show.report import Sheet, write

pytestmark = pytest.mark.skipif(
    program() is None, reason="no Chromium on the path; install one, or set NETFOLD_CHROMIUM"
)

HOSTILE = "</script><img src=x onerror=document.title='broken'>"
N = 60


def labels() -> list[Any]:
    return [HOSTILE, "İstanbul", "Zoë", "node 7 two", *(f"node {i}" for i in range(4, N))]


def graph() -> nf.Graph:
    names = labels()
    return nf.Graph.from_edges([(names[i], names[(i * k + 1) % N]) for i in range(N) for k in (1, 3)], duplicates="sum")


def embedding() -> Embedding:
    draw = np.random.default_rng(3)
    return Embedding(labels(), draw.normal(size=(N, 6)) + 3 * np.eye(6)[np.arange(N) % 3])


def gaussians() -> Embedding:
    draw = np.random.default_rng(4)
    return Embedding(labels()[::-1], draw.normal(size=(N, 4)), draw.uniform(0.05, 0.5, size=(N, 4)))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    classes = {label: f"class {i % 9}" for i, label in enumerate(labels())}
    model = nf.SDNE(dim=4, hidden=(8,), epochs=3).fit(graph(), progress=False)
    known = graph()
    sheets = [
        Sheet("points", embedding(), known, {"group": classes}),
        Sheet("Gaussians", gaussians(), known),
        Sheet("SDNE", model, known),
    ]
    write(sheets, path, method="pca", title="A test & <more>")
    return path


@pytest.fixture(scope="module")
def running() -> Iterator[Chromium]:
    with Chromium() as found:
        yield found


@pytest.fixture
def browser(running: Chromium, page: Path) -> Iterator[Chromium]:
    """A fresh page in the one browser; whatever a test did, the page has not complained."""
    running.complaints.clear()
    running.requests.clear()
    running.open(page)
    yield running
    assert running.complaints == []
    assert running.ask("document.title") == "A test & <more>"


def find(browser: Chromium, text: str) -> None:
    browser.ask("document.getElementById('search').focus()")
    browser.ask("document.getElementById('search').select()")
    browser.type(text)
    browser.press("Enter")


def selected(browser: Chromium) -> Any:
    return browser.ask("document.getElementById('node')?.textContent ?? null")


def nearest(browser: Chromium) -> list[str]:
    found: list[str] = browser.ask("[...document.querySelectorAll('#nearest button')].map((x) => x.textContent)")
    return found


def expect(browser: Chromium, label: str) -> None:
    browser.wait(f"document.getElementById('node')?.textContent === {label!r}")


def middle(browser: Chromium) -> tuple[float, float]:
    box = browser.ask("(({left, top, width, height}) => [left + width / 2, top + height / 2])"
                      "(document.getElementById('names').getBoundingClientRect())")  # fmt: skip
    return box[0], box[1]


def shows(browser: Chromium, folder: Path, color: str, wanted: bool = True) -> bool:
    """Whether the map has, or comes to have, dots of a colour; or, if that is wanted, none."""
    end = time.monotonic() + 5
    while (_pixels(browser, folder, color) > 60) is not wanted:
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def _pixels(browser: Chromium, folder: Path, color: str) -> int:
    """Pixels of the map that are about this colour, which may be laid on a little thinly."""
    from matplotlib.image import imread

    browser.screenshot(folder / "seen.png")
    pixels = imread(folder / "seen.png")[..., :3] * 255
    box = browser.ask("Object.values(document.getElementById('names').getBoundingClientRect().toJSON())")
    x, y, width, height = (int(v) for v in box[:4])
    target = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.abs(pixels[y : y + height, x : x + width] - target).max(axis=-1) <= 30).sum())


def test_it_loads_without_a_complaint_and_asks_for_nothing(browser: Chromium, page: Path, tmp_path: Path) -> None:
    assert [x for x in browser.requests if not x.startswith("data:")] == [page.as_uri()]
    assert browser.ask("document.querySelector('h1').textContent") == "A test & <more>"
    assert "60 nodes as points in 6 dimensions" in browser.ask("document.getElementById('summary').textContent")
    assert all(shows(browser, tmp_path, x) for x in ("#0072B2", "#D55E00", "#009E73"))
    assert browser.ask("document.querySelectorAll('#tables table').length") >= 3
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")


def test_the_search_finds_a_node_and_its_nearest(browser: Chromium) -> None:
    find(browser, "node 17")
    expect(browser, "node 17")
    assert nearest(browser) == [label for label, _ in embedding().nearest("node 17")]
    shown = browser.ask("[...document.querySelectorAll('#nearest .score')].map((x) => Number(x.textContent))")
    assert shown == pytest.approx([x for _, x in embedding().nearest("node 17")], abs=1.1e-3)
    assert "class" in browser.ask("document.getElementById('details').textContent")


def test_the_search_lists_what_is_it_before_what_begins_with_it(browser: Chromium) -> None:
    browser.ask("document.getElementById('search').focus()")
    browser.type("NODE 7")
    browser.wait("document.querySelectorAll('#found li').length > 0")
    found = browser.ask("[...document.querySelectorAll('#found li')].map((x) => x.textContent)")
    assert found == ["node 7", "node 7 two"]
    browser.press("ArrowDown")
    browser.press("Enter")
    expect(browser, "node 7 two")
    find(browser, "stanbul")  # the capital İ is two letters when it is folded
    expect(browser, "İstanbul")
    find(browser, "zoë")
    expect(browser, "Zoë")
    browser.ask("document.getElementById('search').select()")
    browser.type("nobody")
    browser.wait("document.getElementById('found').textContent === 'no name holds this'")


def test_a_click_shows_neighbors_and_a_neighbor_leads_on(browser: Chromium, tmp_path: Path) -> None:
    find(browser, "node 17")
    expect(browser, "node 17")
    browser.ask("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    browser.wait("!document.getElementById('node')")
    x, y = middle(browser)
    browser.mouse("mouseMoved", x + 60, y + 60)
    browser.mouse("mouseMoved", x, y)  # the search has flown there: it is in the middle
    browser.wait("document.getElementById('tip').textContent.startsWith('node 17')")
    browser.click(*middle(browser))
    expect(browser, "node 17")
    assert len(nearest(browser)) == 10
    following = nearest(browser)[2]
    browser.ask("document.querySelectorAll('#nearest button')[2].click()")
    expect(browser, following)
    browser.screenshot(tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 20_000


def test_linked_nodes_are_marked(browser: Chromium) -> None:
    find(browser, "node 17")
    expect(browser, "node 17")
    marked = browser.ask(
        "[...document.querySelectorAll('#nearest li')].filter((x) => x.querySelector('.linked'))"
        ".map((x) => x.querySelector('button').textContent)"
    )
    linked = {x for x in graph().nodes if "node 17" in graph().neighbors(x) or x in graph().neighbors("node 17")}
    assert set(marked) == linked & {label for label, _ in embedding().nearest("node 17")}


def test_a_hostile_label_is_text(browser: Chromium) -> None:
    find(browser, "<img")
    expect(browser, HOSTILE)
    assert browser.ask("document.querySelectorAll('img').length") == 0


def test_without_scripts_a_still_picture_is_seen(page: Path, tmp_path: Path) -> None:
    with Chromium() as bare:
        bare.call("Emulation.setScriptExecutionDisabled", value=True)
        bare.call("Page.navigate", url=page.as_uri())
        time.sleep(1.0)
        bare.screenshot(tmp_path / "still.png")
        assert bare.complaints == []
    assert all(_seen(tmp_path / "still.png", x) > 60 for x in ("#0072B2", "#D55E00", "#009E73")), "classes by colour"


def test_without_webgl_the_picture_stands_in_the_maps_place(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = tuple(x for x in chromium.FLAGS if "angle" not in x and "swiftshader" not in x)
    monkeypatch.setattr(chromium, "FLAGS", (*drawn, "--disable-3d-apis"))
    with Chromium() as bare:
        bare.open(page)
        assert "no WebGL2" in bare.ask("document.getElementById('missing').textContent")
        assert bare.ask("document.querySelectorAll('#stage figure').length") == 1
        assert bare.ask("document.querySelectorAll('#tables table').length") >= 3, "the rest is there"
        bare.ask("document.getElementById('tab-1').click()")
        assert bare.ask("document.querySelector('#stage figure').id") == "still-1"
        bare.ask("document.getElementById('tab-0').click()")
        assert bare.ask("document.querySelector('#stage figure').id") == "still-0"
        bare.screenshot(tmp_path / "still.png")
        assert bare.complaints == []
    assert all(_seen(tmp_path / "still.png", x) > 60 for x in ("#0072B2", "#D55E00", "#009E73"))


def _seen(path: Path, color: str) -> int:
    """Pixels of about a colour."""
    from matplotlib.image import imread

    pixels = imread(path)[..., :3] * 255
    target = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.abs(pixels - target).max(axis=-1) <= 30).sum())


def test_the_policy_refuses_any_other_script(running: Chromium, page: Path) -> None:
    broken = page.with_name("broken.html")
    text = page.read_text(encoding="utf-8")
    more = "<script>document.title = 'broken'</script><img src='https://example.org/x.png'></body>"
    broken.write_text(text.replace("</body>", more), encoding="utf-8")
    running.open(broken)
    assert running.ask("document.title") == "A test & <more>"
    assert sum("Content Security Policy" in x for x in running.complaints) == 2


def test_another_tab_keeps_the_node(browser: Chromium) -> None:
    find(browser, "node 17")
    expect(browser, "node 17")
    browser.ask("document.getElementById('tab-1').click()")
    browser.wait("document.getElementById('details').textContent.includes('Wasserstein')")
    assert selected(browser) == "node 17"
    assert nearest(browser) == [label for label, _ in gaussians().nearest("node 17")]
    assert browser.ask("!document.getElementById('ellipses-field').hidden")
    assert browser.ask("document.getElementById('training').hidden")
    browser.ask("document.getElementById('tab-1').focus()")
    browser.press("ArrowRight")
    browser.wait("document.querySelectorAll('#curves polyline').length >= 1")
    assert browser.ask("document.querySelectorAll('#parameters tr.changed').length") == 3


def test_colours_follow_the_column_and_the_classes(browser: Chromium, tmp_path: Path) -> None:
    assert browser.ask("document.querySelectorAll('#legend button').length") == 8
    assert shows(browser, tmp_path, "#D55E00")
    browser.ask("document.querySelector('#legend button').click()")
    assert browser.ask("document.querySelector('#legend button').getAttribute('aria-pressed')") == "true"
    assert shows(browser, tmp_path, "#D55E00", wanted=False) and shows(browser, tmp_path, "#0072B2")
    browser.ask("document.getElementById('others').click()")
    assert browser.ask("document.querySelectorAll('#legend button').length") == 3
    browser.ask(
        "(() => { const c = document.getElementById('column'); c.value = 1; c.dispatchEvent(new Event('change')); })()"
    )
    browser.wait("!!document.querySelector('#legend .scale')")


def picture(browser: Chromium, folder: Path) -> bytes:
    browser.screenshot(folder / "shot.png")
    return (folder / "shot.png").read_bytes()


def test_keys_move_the_map_and_find_the_search(browser: Chromium, tmp_path: Path) -> None:
    browser.ask("document.getElementById('names').focus()")
    seen = {picture(browser, tmp_path)}
    for key in ("+", "ArrowLeft", "ArrowUp", "-"):
        browser.press(key)
        end = time.monotonic() + 5
        while (now := picture(browser, tmp_path)) in seen:
            assert time.monotonic() < end, f"{key} shows nothing new"
        seen.add(now)
    browser.press("/")
    assert browser.ask("document.activeElement.id") == "search"
    browser.press("Escape")
    assert browser.ask("document.activeElement.id") == "names"


def test_the_map_comes_back_after_the_graphics_were_lost(browser: Chromium, tmp_path: Path) -> None:
    browser.ask(
        "globalThis.lost = document.getElementById('points').getContext('webgl2').getExtension('WEBGL_lose_context')"
    )
    browser.ask("lost.loseContext()")
    assert shows(browser, tmp_path, "#D55E00", wanted=False)
    browser.ask("lost.restoreContext()")
    assert shows(browser, tmp_path, "#D55E00")
    assert all("CONTEXT_LOST" in x for x in browser.complaints)
    browser.complaints.clear()


def test_everything_is_reached_with_the_tab_key(browser: Chromium) -> None:
    browser.ask("document.body.focus()")
    reached = []
    for _ in range(14):
        browser.press("Tab")
        reached.append(browser.ask("document.activeElement.id || document.activeElement.className"))
    wanted = ["skip", "tab-0", "names", "closer", "farther", "all", "search", "column"]
    assert [x for x in reached if x in wanted] == wanted
    named = "(x) => x.textContent.trim() || x.ariaLabel || x.labels?.length"
    assert browser.ask(f"[...document.querySelectorAll('button, input, select')].every({named})")


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_page_in_either_theme(page: Path, dark: bool, tmp_path: Path) -> None:
    with Chromium(390, 844, dark=dark) as narrow:
        narrow.open(page)
        assert narrow.ask("document.documentElement.scrollWidth <= innerWidth")
        assert narrow.ask("document.getElementById('names').getBoundingClientRect().width") > 300
        ground = narrow.ask("getComputedStyle(document.body).backgroundColor")
        assert (sum(int(x) for x in ground[4:-1].split(",")) < 128) is dark
        assert narrow.complaints == []


@pytest.mark.slow
def test_a_million_points_stay_usable(tmp_path: Path) -> None:
    n = 1_000_000
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(n, 16)).astype(np.float32)
    write([Sheet("many", Embedding([f"user{i:07}" for i in range(n)], vectors))], tmp_path / "many.html")
    assert (tmp_path / "many.html").stat().st_size < 30e6
    with Chromium(seconds=120) as browser:
        browser.open(tmp_path / "many.html")
        assert int(browser.ask("document.documentElement.dataset.ready")) < 10_000
        find(browser, "user0777777")
        expect(browser, "user0777777")
        assert len(nearest(browser)) == 10 and browser.complaints == []
