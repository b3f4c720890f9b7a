"""The table of docs/worth-it.md, out of the recorded tables: `python benchmarks/figures/worth_it.py` writes it anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from netfold.studies.reproduce import Table, folder_of_tables, read_tables, verdicts, with_cheap_rows
from netfold.studies.reproduce.table import ranked_baselines

PAGE = Path(__file__).parents[2] / "docs" / "worth-it.md"
BEGIN, END = "<!-- table: benchmarks/figures/worth_it.py -->", "<!-- end of the table -->"

ROWS = (
    ("which triples belong together: tags of films", "dhne-movielens-links", "replaced positions", "AUC"),
    ("which triples: drugs and reactions", "dhne-drug-links", "replaced positions, unseen", "AUC"),
    ("which triples: places and activities", "dhne-gps-links", "replaced positions", "AUC"),
    ("the same, pair counts read too", "dhne-gps-links", "replaced positions, with counts", "AUC"),
    ("classes of nodes in tuples", "dhne-movielens-labels", "DHNE", "micro-F1@50%"),
    ("missing links, clustered graph", "sdne-grqc-links", "SDNE", "AUC"),
    ("missing links, 10,000 best pairs", "sdne-grqc-links", "SDNE", "precision@10000"),
    ("missing links, 20% of edges gone", "sdne-grqc-removed", "SDNE, 20% removed", "MAP"),
    ("missing links, 60% of edges gone", "sdne-grqc-removed", "SDNE, 60% removed", "MAP"),
    ("missing links, few edges a node", "dvne-cora-links", "connectivity kept", "AUC"),
    ("missing links, hubs", "dvne-blogcatalog-links", "connectivity kept", "AUC"),
    ("missing links, dense circles", "dvne-facebook-links", "connectivity kept", "AUC"),
    ("giving the graph back", "sdne-grqc", "decoder", "MAP"),
    ("giving the graph back, best pairs, hubs", "sdne-blogcatalog", "decoder", "precision@10000"),
    ("classes by links", "sdne-blogcatalog-labels", "SDNE", "micro-F1@50%"),
    ("classes by links, 1% known", "dvne-cora-labels", "DVNE", "micro-F1@1%"),
    ("classes by links, 10% known", "dvne-cora-labels", "DVNE", "micro-F1@10%"),
    ("blocks of a block model", "block-model", "SDNE", "accuracy@50%"),
    ("roles, 1,190 nodes", "drne-usa", "DRNE", "accuracy@50%"),
    ("roles, 399 nodes", "drne-europe", "DRNE", "accuracy@50%"),
    ("classes of new nodes", "depthlgp-dblp", "node2vec: DepthLGP", "micro-F1"),
    ("links of new nodes", "depthlgp-dblp", "node2vec: DepthLGP", "AUC"),
    ("links of new nodes, hubs", "depthlgp-blogcatalog", "node2vec: DepthLGP", "AUC"),
)
"""What is asked, and where its figure is recorded."""


def rendered(tables: dict[str, Table]) -> str:
    """The table as Markdown."""
    head = "| asked | table | model | figure | deep | best cheap baseline | seeds | |"
    return "\n".join([head, "| --- " * 8 + "|", *_lines(tables)])


def _lines(tables: dict[str, Table]) -> Iterator[str]:
    for asked, name, of, figure in ROWS:
        table = tables[name]
        row = next(row for row in table.rows if row.name == of)
        if table.recorded is None or table.recorded_for(row) is None:
            continue  # its settings changed and it was not run again: nothing is claimed
        recorded = with_cheap_rows(table, row, table.recorded.rows)
        (baseline, best), *_ = ranked_baselines(recorded, figure, smaller=table.smaller(figure))
        ours, seeds = recorded.mean[figure], table.seeds_of(recorded, figure)
        word = verdicts(table, row, recorded)[figure].to_rival if seeds > 1 else "one seed"
        yield (
            f"| {asked} | [{name}](results.md#{name}) | {row.model.upper() if len(row.model) == 4 else 'DepthLGP'} "
            f"| {figure} | {ours:.3f} | {best:.3f} ({baseline}) | {seeds} | {word} |"
        )


def page() -> str:
    """The page with the table of today."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = {table.name: table for table in read_tables(folder_of_tables())}
    return f"{before}{BEGIN}\n{rendered(tables)}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
