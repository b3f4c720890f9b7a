"""The tables that come with netfold can be run, and the pages that show or name them are up to date."""

from __future__ import annotations

import pytest

import netfold as nf
from netfold.evaluate.task import TASKS, task_named
from netfold.studies import reproduce
from published_tables import ROOT, TABLES


def test_all_five_papers_and_our_own_are_there() -> None:
    assert {t.paper for t in TABLES} == {"SDNE", "DRNE", "DHNE", "DVNE", "DepthLGP", "netfold"}
    assert {"sdne-grqc", "sdne-blogcatalog", "sdne-grqc-links", "sdne-blogcatalog-labels", "sdne-newsgroups",
            "block-model", "drne-jazz", "sdne-flickr-labels"} <= {t.name for t in TABLES}  # fmt: skip


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.name)
def test_a_table_that_comes_with_netfold_can_be_run_or_says_why_not(table: reproduce.Table) -> None:
    assert hasattr(nf.evaluate, table.task.name)
    if table.status:
        return
    assert table.data.name in nf.datasets.names()
    nf.datasets.describe(table.data.name)
    known = task_named(table.task.name).arguments
    for row in table.rows:
        assert set(table.task.arguments) | set(row.task) | set(table.quick.task) <= set(known)
        assert row.guess or row.config or row.base or row.name == "SDNE"
    assert table.quick.config, "a few minutes at most"
    assert all(0 <= x <= 1 or table.smaller(f) for cells in table.published.values() for f, x in cells.items())


def test_the_page_is_up_to_date() -> None:
    """If not: netfold reproduce --page."""
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == reproduce.page(TABLES)


def test_the_page_on_evaluating_names_every_task() -> None:
    text = (ROOT / "docs" / "evaluating.md").read_text(encoding="utf-8")
    assert all(f"`{task.function}`" in text for task in TASKS.values())
