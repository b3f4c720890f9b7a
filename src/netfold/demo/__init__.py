"""`python -m netfold.demo FOLDER`: the five models on small data, with a table, pictures and a report."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from netfold import report
from netfold.demo.shows import SHOWS, Show
from netfold.errors import InputError

__all__ = ["main", "run"]

_PICTURES, _REPORT = "pictures", "report.html"


def run(folder: Path) -> None:
    """Fit the five models, measure each, and write models, pictures and a report into a folder, over what was there."""
    start = time.perf_counter()
    _make(folder / _PICTURES)
    _say("netfold folds a network into vectors. Five models, each for what the others cannot do:")
    shows = [_shown(make, folder) for make in SHOWS]
    _say(_table(shows))
    sheets = [report.Sheet(f"{show.name}: {show.data}", show.model, show.seen, show.labels) for show in shows]
    report.write(sheets, folder / _REPORT, title="netfold: five models on small data", force=True)
    models = ", ".join(show.file for show in shows)
    _say(
        f"Written in {time.perf_counter() - start:.1f} s altogether:",
        f"    {folder / _REPORT}  all five on one page: open it in a browser, it needs no network\n"
        f"    {folder / _PICTURES}/  of each a picture or two: {', '.join(_pictures(shows, folder / _PICTURES))}\n"
        f"    {folder}/  the models, for nf.load and the command line: {models}",
        f"Go on with: .venv/bin/netfold nearest {folder / shows[0].file} Javert -k 5",
    )


def _shown(make: Callable[[], Show], folder: Path) -> Show:
    """One model: fitted, asked, saved and drawn."""
    start = time.perf_counter()
    show = make()
    _say(f"{show.name:<9} {show.idea}\n{'':<9} {show.answer} ({time.perf_counter() - start:.1f} s)")
    show.model.save(folder / show.file, force=True)
    show.draw(folder / _PICTURES / show.picture)
    return show


def _pictures(shows: list[Show], folder: Path) -> list[str]:
    return [p.name for show in shows for p in sorted(folder.glob(f"{show.name.lower()}*.png"), key=lambda p: p.stem)]


def _table(shows: list[Show]) -> str:
    """One line a model: what is asked of it, without learning and with."""
    rows = [("", "data", "what is measured", "without", "with it")]
    rows += [(show.name, show.data, show.measure, f"{show.before:.3f}", f"{show.after:.3f}") for show in shows]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = [
        "  ".join(x.rjust(w) if i > 2 else x.ljust(w) for i, (x, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    return "\n".join(f"    {line.rstrip()}" for line in lines)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InputError(f"the folder {folder} cannot be made: {e.strerror}") from None


def _say(*paragraphs: str) -> None:
    print("\n\n".join(paragraphs), end="\n\n", flush=True)


def main() -> None:
    """Run the demo into the folder that the command line names, or into demo/."""
    import torch

    torch.set_num_threads(1)  # so small a graph trains many times faster without threads that wait for one another
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        run(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
    except InputError as e:
        print(f"netfold: {e}", file=sys.stderr)
        sys.exit(2)
