"""What a person sees while a model trains (a bar, or a line an epoch), and where its time went (`profile`)."""

from __future__ import annotations

import html
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TextIO, TypeVar

__all__ = ["Profile", "Progress", "counted_items", "part", "profile", "slow_steps"]


_log = logging.getLogger(__name__)
logging.getLogger("netfold").addHandler(logging.NullHandler())  # who wants to see what is logged adds a handler


class Progress:
    """Epoch, loss terms, nodes/s and time left, on standard error."""

    def __init__(self, title: str, stream: TextIO | None = None):
        self._title = title
        self._stream = stream or sys.stderr
        self._bar: Any = None
        self._cell: _Cell | None = None
        self._silent = self._stream is None  # a program without a console

    @staticmethod
    def silent() -> Progress:
        """One that shows nothing."""
        quiet = Progress("")
        quiet._silent = True
        return quiet

    def of(self, what: str) -> Progress:
        """The same for a part of the work, which its title names; silent where this one is."""
        if self._silent:
            return Progress.silent()
        return Progress(f"{self._title}, {what}", self._stream)

    @contextmanager
    def over(self, epochs: int, rows: int, done: int = 0) -> Iterator[None]:
        """Around a run of `epochs` epochs of `rows` nodes each, of which `done` were done before."""
        self._epochs, self._rows, self._done = epochs, rows, done
        self._start = time.perf_counter()
        if self._silent:
            yield
            return
        if done:
            print(f"{self._title}: going on after epoch {done}", file=self._stream)
        notebook = _notebook() if self._stream is sys.stderr else None
        if notebook is not None:
            self._cell = _Cell(notebook, self._title, epochs, done)
            try:
                yield
            finally:
                self._cell.close()
                self._cell = None
            return
        bar = self._make_bar() if self._stream.isatty() else None
        if bar is None:
            yield
            return
        with bar:
            self._task = bar.add_task(self._title, total=epochs, completed=done, facts="")
            self._bar = bar
            try:
                yield
            finally:
                self._bar = None

    def epoch(self, record: Mapping[str, float]) -> None:
        """Show one finished epoch."""
        if self._silent:
            return
        epoch = int(record["epoch"])
        spent = time.perf_counter() - self._start
        each = spent / max(epoch - self._done, 1)
        terms = "  ".join(f"{k} {v:.4g}" for k, v in record.items() if k not in ("epoch", "seconds"))
        facts = f"{terms}  {_short(self._rows / max(record['seconds'], 1e-9))} nodes/s"
        left = _clock(each * (self._epochs - epoch))
        if self._bar is not None:
            self._bar.update(self._task, completed=epoch, facts=facts)
        elif self._cell is not None:
            self._cell.update(epoch, f"{facts}  {left} left")
        else:
            print(f"{self._title}: epoch {epoch}/{self._epochs}  {facts}  {left} left", file=self._stream, flush=True)

    def note(self, template: str, *, warning: bool = False) -> Callable[..., None]:
        """A function that shows a line of facts before the epochs begin, or after they ended."""

        def show(*facts: object) -> None:
            _log.log(logging.WARNING if warning else logging.INFO, "%s", template.format(*facts))
            if not self._silent:
                print(f"{self._title}: {template.format(*facts)}", file=self._stream, flush=True)

        return show

    def _make_bar(self) -> Any:
        try:
            from rich import progress
            from rich.console import Console
        except ImportError:
            return None
        return progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(bar_width=20),
            progress.TextColumn("epoch {task.completed}/{task.total}"),
            progress.TextColumn("{task.fields[facts]}"),
            progress.TimeRemainingColumn(),
            console=Console(file=self._stream),
        )


_APART = 0.2
"""Seconds between two pictures of a notebook's bar: an epoch may take a millisecond."""


class _Cell:
    """A bar in the output of a notebook's cell: one output, which is replaced, by IPython alone.

    `display` is IPython's; what it shows has the bar as html and, for viewers without, as one line of text.
    """

    def __init__(self, display: Callable[..., Any], title: str, epochs: int, done: int):
        self._title, self._epochs, self._last, self._facts = title, epochs, done, ""
        self._since = time.perf_counter()
        self._display = display(self._shown(), raw=True, display_id=True)

    def update(self, epoch: int, facts: str) -> None:
        """After an epoch; the picture follows a fifth of a second later at most."""
        self._last, self._facts = epoch, facts
        if time.perf_counter() - self._since >= _APART:
            self._since = time.perf_counter()
            self._display.update(self._shown(), raw=True)

    def close(self) -> None:
        """The last epoch, whenever it was."""
        self._facts = self._facts.rpartition("  ")[0] if self._last >= self._epochs else self._facts
        self._display.update(self._shown(), raw=True)

    def _shown(self) -> dict[str, str]:
        words = f"epoch {self._last}/{self._epochs}"
        bar = f'<progress max="{max(self._epochs, 1)}" value="{self._last}" style="width:12em"></progress>'
        page = f"<div>{html.escape(self._title)} {bar} {words} <small>{html.escape(self._facts)}</small></div>"
        return {"text/plain": f"{self._title}: {words}  {self._facts}".rstrip(), "text/html": page}


_SECONDS = 5.0


def slow_steps(what: str, unit: str) -> Callable[[int, int], None]:
    """A function that is told how many steps of how many are done, and says so on standard error every five seconds.

    What takes less than that says nothing, and so does the last step.
    """
    start = last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS and done < total and sys.stderr is not None:
            last = now
            left = (now - start) * (total - done) / max(done, 1)
            print(f"{what}: {done:,} of {total:,} {unit}, about {left:,.0f} s left", file=sys.stderr, flush=True)

    return show


def _notebook() -> Callable[..., Any] | None:
    """IPython's `display`, where this runs in the kernel of a notebook; what is not loaded is not there."""
    ipython = sys.modules.get("IPython")
    shell = getattr(ipython, "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

    shown: Callable[..., Any] = display
    return shown


def _short(x: float) -> str:
    for unit in ("", "k", "M"):
        if x < 999.5:  # what three digits would round up
            return f"{x:.3g}{unit}"
        x /= 1000
    return f"{x:.3g}G"


def _clock(seconds: float) -> str:
    minutes, s = divmod(round(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02}:{s:02}" if hours else f"{m}:{s:02}"


# -------------------------------------------------------------------- where the time goes


Item = TypeVar("Item")


@dataclass
class Profile:
    """Seconds by part, in the order in which the parts began. Parts do not overlap; what is in none is "other"."""

    parts: dict[str, list[float]] = field(default_factory=dict)
    """By name: seconds of the clock, seconds of the CPU, and how often it ran."""
    seconds: float = 0.0
    cpu: float = 0.0
    _inner: list[list[float]] = field(default_factory=list, repr=False)
    """Of each part that has begun and not ended: what was spent in parts within it."""

    def to_dict(self) -> dict[str, Any]:
        """Seconds by part, as JSON holds them."""
        named = {name: {"seconds": s, "cpu": c, "times": int(n)} for name, (s, c, n) in self.parts.items()}
        rest = [
            total - sum(each[i] for each in self.parts.values()) for i, total in enumerate((self.seconds, self.cpu))
        ]
        named["other"] = {"seconds": max(rest[0], 0.0), "cpu": max(rest[1], 0.0), "times": 1}
        return {"seconds": self.seconds, "cpu": self.cpu, "parts": named}

    def __str__(self) -> str:
        from netfold.data.text import text_table

        rows = [["part", "seconds", "share", "CPU-s", "times"]]
        for name, x in self.to_dict()["parts"].items():
            share = f"{100 * x['seconds'] / max(self.seconds, 1e-9):.0f}%"
            rows.append([name, f"{x['seconds']:.3f}", share, f"{x['cpu']:.3f}", f"{x['times']:,}"])
        rows.append(["in all", f"{self.seconds:.3f}", "100%", f"{self.cpu:.3f}", ""])
        return text_table(rows, right=range(1, 5))

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Around what is to be counted under a name; on a GPU until its work is done.

        A part within another, as in a fit that fits other models, counts under its own name alone.
        """
        sums, inner = self.parts.setdefault(name, [0.0, 0.0, 0]), [0.0, 0.0]
        self._inner.append(inner)
        start = _now()
        try:
            yield
        finally:
            took = [end - begin for begin, end in zip(start, _now(), strict=True)]
            self._inner.pop()
            for i in range(2):
                sums[i] += took[i] - inner[i]
                if self._inner:
                    self._inner[-1][i] += took[i]
            sums[2] += 1


_ASKED: ContextVar[Profile | None] = ContextVar("_ASKED", default=None)


def _now() -> tuple[float, float]:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter(), time.process_time()


@contextmanager
def profile() -> Iterator[Profile]:
    """Count what the fits in it spend, part by part: reading, the start, batches, loss, gradients, steps, vectors.

    >>> import netfold as nf
    >>> with nf.profile() as spent:
    ...     _ = nf.SDNE(dim=2, epochs=3).fit([("a", "b"), ("b", "c")], progress=False)
    >>> list(spent.parts)
    ['reading', 'start', 'batches', 'loss', 'gradients', 'steps', 'vectors', 'placing']
    """
    spent, start = Profile(), _now()
    token = _ASKED.set(spent)
    try:
        yield spent
    finally:
        _ASKED.reset(token)
        end = _now()
        spent.seconds, spent.cpu = end[0] - start[0], end[1] - start[1]


@contextmanager
def part(name: str) -> Iterator[None]:
    """Count what is done in it, where somebody asks."""
    spent = _ASKED.get()
    if spent is None:
        yield
        return
    with spent.part(name):
        yield


def counted_items(items: Iterable[Item], name: str) -> Iterable[Item]:
    """The same items; what it costs to make them counts under a name, where somebody asks."""
    spent = _ASKED.get()
    return items if spent is None else _timed(iter(items), name, spent)


def _timed(items: Iterator[Item], name: str, spent: Profile) -> Iterator[Item]:
    while True:
        with spent.part(name):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
