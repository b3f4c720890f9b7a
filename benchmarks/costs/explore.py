"""What the explorer costs in a real browser that draws by software: `python benchmarks/costs/explore.py [N] [LINKS]`.

Headless Chromium with SwiftShader at 1280 x 720, and the server in this process: milliseconds from opening the address
to the first frame of N points, frames a second while a map with LINKS links moves, and milliseconds from a click until
the exact nearest are listed, at N and at a tenth of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import uvicorn

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

import netfold as nf
from chromium import Chromium
from netfold.data.embedding import Embedding
from netfold.serve.answers import Served
from netfold.serve.explore import ExploreServer
from netfold.show.explore import Explorer
from netfold.show.report import Sheet

DIM, BLOBS, CLICKS, SECONDS = 128, 50, 7, 4

MOVING = """new Promise((done) => {
  const canvas = document.querySelector('.names');
  const start = performance.now();
  let frames = 0;
  const step = () => {
    canvas.dispatchEvent(new KeyboardEvent('keydown', { key: frames % 40 < 20 ? 'ArrowLeft' : 'ArrowRight' }));
    frames += 1;
    const took = performance.now() - start;
    if (took < SECONDS * 1000) requestAnimationFrame(step);
    else done(1000 * frames / took);
  };
  requestAnimationFrame(step);
})"""
CLICK = """new Promise((done) => {
  const canvas = document.querySelector('.names');
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const at = { clientX: left + width * ACROSS, clientY: top + height * 0.5, pointerId: 1, bubbles: true };
  canvas.setPointerCapture = () => {};
  const before = document.documentElement.dataset.near;
  const start = performance.now();
  canvas.dispatchEvent(new PointerEvent('pointerdown', at));
  canvas.dispatchEvent(new PointerEvent('pointerup', at));
  const wait = () => {
    if (document.documentElement.dataset.near !== before) done(performance.now() - start);
    else if (performance.now() - start > 5000) done(-1);
    else setTimeout(wait, 0);
  };
  wait();
})"""


def vectors(n: int) -> np.ndarray:
    draw = np.random.default_rng(0)
    middles = 4 * draw.normal(size=(BLOBS, DIM)).astype(np.float32)
    return middles[draw.integers(0, BLOBS, n)] + draw.normal(size=(n, DIM)).astype(np.float32)


def sheet(n: int, links: int) -> Sheet:
    embedding = Embedding(range(n), vectors(n))
    if not links:
        return Sheet("vectors", embedding)
    ends = np.random.default_rng(1).integers(0, n, (2 * links, 2))
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    ends = ends[np.random.default_rng(2).permutation(len(ends))[:links]]
    return Sheet("vectors", embedding, nf.Graph.from_edges(list(map(tuple, ends.tolist()))))


@contextlib.contextmanager
def opened(own: Sheet) -> Iterator[Chromium]:
    start = time.process_time()
    server = ExploreServer([Served("vectors", Path("none"), own.embedding)], Explorer([own], method="pca"))
    print(f"  map of {len(own.embedding):,} nodes: {time.process_time() - start:.1f} CPU-s before the page is served")
    with server.listen(0) as listening, Chromium(1280, 720) as browser:
        uv = uvicorn.Server(server.config())
        thread = threading.Thread(target=uv.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not uv.started:
                time.sleep(0.02)
            browser.visit(server.address(listening.getsockname()[1]))
            assert browser.ask("document.getElementById('missing').hidden"), browser.complaints
            yield browser
        finally:
            uv.should_exit = True
            thread.join(30)


def clicks(browser: Chromium) -> list[float]:
    took = [browser.ask(CLICK.replace("ACROSS", f"{0.4 + 0.03 * i:.2f}")) for i in range(CLICKS + 1)]
    return sorted(x for x in took[1:] if x >= 0)


def main(n: int = 1_000_000, links: int = 100_000) -> None:
    load = os.getloadavg()[0]
    print(f"load of the machine {load:.1f} on {os.cpu_count()} cores")
    figures: dict[str, object] = {"nodes": n, "links": links, "load": load}
    for count in (n // 10, n):
        with opened(sheet(count, 0)) as browser:
            first = int(browser.ask("document.documentElement.dataset.ready"))
            took = clicks(browser)
            figures[f"first frame ms, {count:,}"] = first
            figures[f"click to nearest ms, {count:,} (median, most)"] = (
                [statistics.median(took), max(took)] if took else None
            )
    with opened(sheet(20_000, links)) as browser:
        browser.ask("(() => { const x = document.getElementById('links'); x.value = 'all';"
                    "x.dispatchEvent(new Event('change')); })()")  # fmt: skip
        time.sleep(2)
        rates = [browser.ask(MOVING.replace("SECONDS", str(SECONDS))) for _ in range(3)]
        figures[f"frames/s, {links:,} links (of 3 runs)"] = rates
        assert browser.complaints == [], browser.complaints
    figures["MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
