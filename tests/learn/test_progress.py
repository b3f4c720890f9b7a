"""What a person sees: a line per epoch in a file, a bar on a terminal, nothing where nothing is wanted."""

from __future__ import annotations

import builtins
import io
import re
import sys
from typing import Any

import pytest

from netfold.learn import progress as module
from netfold.learn.progress import Progress, _clock, _short, slow_steps
from netfold.models import SDNE


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def record(epoch: int, seconds: float = 0.5, **terms: float) -> dict[str, float]:
    return {"epoch": epoch, **terms, "objective": sum(terms.values()), "seconds": seconds}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    return now


def test_a_plain_line_per_epoch(clock: list[float]) -> None:
    stream = io.StringIO()
    shown = Progress("SDNE", stream)
    with shown.over(10, rows=4000):
        clock[0] += 30
        shown.epoch(record(1, seconds=2.0, second_order=12345.678, first_order=0.25))
        clock[0] += 10
        shown.epoch(record(2, seconds=0.5, second_order=1.0, first_order=0.0))
    # 30 s an epoch and 9 to go: 270 s; then 40 s for two and 8 to go: 160 s
    assert stream.getvalue().splitlines() == [
        "SDNE: epoch 1/10  second_order 1.235e+04  first_order 0.25  objective 1.235e+04  2k nodes/s  4:30 left",
        "SDNE: epoch 2/10  second_order 1  first_order 0  objective 1  8k nodes/s  2:40 left",
    ]


def test_going_on_counts_the_time_of_this_run_only(clock: list[float]) -> None:
    stream = io.StringIO()
    shown = Progress("SDNE", stream)
    with shown.over(10, rows=100, done=7):
        clock[0] += 5
        shown.epoch(record(8, seconds=1.0, loss=1.0))
    first, line = stream.getvalue().splitlines()
    assert first == "SDNE: going on after epoch 7"
    assert line == "SDNE: epoch 8/10  loss 1  objective 1  100 nodes/s  0:10 left"


def test_lines_come_when_they_are_due() -> None:
    """A log that is followed shows an epoch when it is over: every line is flushed."""

    class Log(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    stream = Log()
    shown = Progress("SDNE", stream)
    with shown.over(2, rows=1):
        shown.epoch(record(1, loss=1.0))
        shown.epoch(record(2, loss=1.0))
    assert stream.flushed == 2


def test_an_epoch_of_no_time_at_all() -> None:
    stream = io.StringIO()
    shown = Progress("SDNE", stream)
    with shown.over(1, rows=0):
        shown.epoch(record(1, seconds=0.0, loss=1.0))
    assert "0 nodes/s  0:00 left" in stream.getvalue()


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    shown = Progress("SDNE", stream)
    with shown.over(4, rows=1000):
        for epoch in (1, 2, 3, 4):
            shown.epoch(record(epoch, second_order=12.5))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "\x1b[" in stream.getvalue(), "a bar redraws itself"
    assert "epoch 4/4" in text
    assert "second_order 12.5  objective 12.5  2k nodes/s" in text
    assert "━" in text
    assert re.search(r"\d:\d\d:\d\d", text), "time left"
    assert shown._bar is None


def test_the_bar_is_put_away_when_training_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    shown = Progress("SDNE", stream)
    with pytest.raises(RuntimeError), shown.over(4, rows=1000):
        raise RuntimeError
    assert shown._bar is None
    assert stream.getvalue().endswith(("\n", "\x1b[?25h")), "the cursor is back"


def test_without_rich_a_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "rich":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    stream = Terminal()
    shown = Progress("SDNE", stream)
    with shown.over(2, rows=10):
        shown.epoch(record(1, loss=1.0))
    assert re.fullmatch(r"SDNE: epoch 1/2  loss 1  objective 1  20 nodes/s  \d+:\d\d left\n", stream.getvalue())


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress.silent()
    with shown.over(3, rows=10, done=1):
        shown.epoch(record(2, loss=1.0))
        shown.note("layer {}")(1)
    assert capsys.readouterr() == ("", "")


def test_a_program_without_a_console(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    shown = Progress("SDNE")
    with shown.over(1, rows=10):
        shown.epoch(record(1, loss=1.0))
        shown.note("x")()


def test_notes() -> None:
    stream = io.StringIO()
    Progress("SDNE", stream).note("RBM of layer {}, error {:.2f}")(1, 0.5)
    assert stream.getvalue() == "SDNE: RBM of layer 1, error 0.50\n"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (1.5, "1.5"),
        (999, "999"),
        (999.7, "1k"),
        (1000, "1k"),
        (123_456, "123k"),
        (2_500_000, "2.5M"),
        (7e9, "7G"),
        (5e13, "5e+04G"),
    ],
)
def test_short_numbers(number: float, text: str) -> None:
    assert _short(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (61, "1:01"), (3600, "1:00:00"), (90_061, "25:01:01")]
)
def test_clock(seconds: float, text: str) -> None:
    assert _clock(seconds) == text


def test_fit_shows_epochs_on_standard_error_unless_told_not_to(capsys: pytest.CaptureFixture[str]) -> None:
    edges = [(0, 1), (1, 2)]
    SDNE(dim=2, hidden=(3,), epochs=2).fit(edges)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split("  ")[0] for line in err.splitlines()] == ["SDNE: epoch 1/2", "SDNE: epoch 2/2"]
    assert all(
        term in err for term in ("second_order", "first_order", "regularization", "objective", "nodes/s", "left")
    )
    SDNE(dim=2, hidden=(3,), epochs=2).fit(edges, progress=False)
    assert capsys.readouterr() == ("", "")


class Cell:
    """What IPython's `display` is asked to show, in a kernel that has no other part of it."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def __call__(self, data: dict[str, str], *, raw: bool, display_id: bool = False) -> Cell:
        assert raw and display_id
        self.shown.append(data)
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(data)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A notebook's kernel, as far as it is asked about."""
    from types import ModuleType, SimpleNamespace

    shown, ipython, display = Cell(), ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    display.display = shown  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_notebook_has_one_bar_and_no_lines(
    cell: Cell, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = Progress("<SDNE>")
    with shown.over(5000, rows=100):
        for epoch in range(1, 5001):
            clock[0] += 0.001
            shown.epoch(record(epoch, seconds=0.001, loss=1.0))
    assert capsys.readouterr() == ("", ""), "thousands of epochs, and not a line"
    assert len(cell.shown) <= 5 / 0.2 + 2, "pictures are a fifth of a second apart"
    first, last = cell.shown[0], cell.shown[-1]
    assert 'value="0"' in first["text/html"] and 'max="5000" value="5000"' in last["text/html"]
    assert "&lt;SDNE&gt;" in last["text/html"] and "left" not in last["text/html"]
    assert last["text/plain"] == "<SDNE>: epoch 5000/5000  loss 1  objective 1  100k nodes/s"


def test_a_bar_that_is_broken_off_says_where(cell: Cell, clock: list[float]) -> None:
    shown = Progress("SDNE")
    with pytest.raises(KeyboardInterrupt), shown.over(10, rows=1):
        clock[0] += 1
        shown.epoch(record(1, loss=1.0))
        raise KeyboardInterrupt
    assert cell.shown[-1]["text/plain"].startswith("SDNE: epoch 1/10") and shown._cell is None


def test_ipython_on_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import ModuleType, SimpleNamespace

    ipython = ModuleType("IPython")
    ipython.get_ipython = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert module._notebook() is None
    monkeypatch.delitem(sys.modules, "IPython")
    assert module._notebook() is None


def test_a_stream_that_is_given_is_written_to_in_a_notebook_too(cell: Cell) -> None:
    stream = io.StringIO()
    shown = Progress("SDNE", stream)
    with shown.over(1, rows=1):
        shown.epoch(record(1, loss=1.0))
    assert "epoch 1/1" in stream.getvalue() and cell.shown == []


def test_what_is_slow_says_how_far_it_is_and_what_is_quick_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    said = slow_steps("t-SNE of 9 nodes", "steps")
    for done, second in ((0, 0.0), (10, 4.0), (20, 6.0), (30, 7.0), (50, 12.0), (100, 30.0)):
        now[0] = second
        said(done, 100)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "t-SNE of 9 nodes: 20 of 100 steps, about 24 s left",
        "t-SNE of 9 nodes: 50 of 100 steps, about 12 s left",
    ]
