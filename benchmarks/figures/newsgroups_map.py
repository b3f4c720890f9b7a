"""The picture to the table sdne-newsgroups: three groups of documents in the plane, and the divergence of the map.

NETFOLD_DATA=../shared/data python benchmarks/figures/newsgroups_map.py docs/newsgroups.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import netfold as nf
from netfold.embedder.options import config_from_json
from netfold.studies import reproduce


def main() -> None:
    table = reproduce.table_named(reproduce.folder_of_tables(), "sdne-newsgroups")
    graph, groups = nf.datasets.load("newsgroups3"), nf.datasets.classes("newsgroups3")
    model = nf.SDNE(**config_from_json(nf.SDNE, dict(table.rows[0].config))).fit(graph)
    measured = nf.evaluate.visualization(model, groups, baselines=False)
    print(measured)
    nf.plot.map(
        nf.evaluate.visualization_points(model),
        Path(sys.argv[1]),
        colors={node: group for node, (group,) in groups.items()},
        names=0,
        title=f"20 Newsgroups, three groups, folded by SDNE: t-SNE, KL {measured.figures['KL']:.2f}",
    )


if __name__ == "__main__":
    main()
