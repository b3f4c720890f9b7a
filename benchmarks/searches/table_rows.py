"""Settings for rows of published tables, tried on what is not the table's own test; records go to *.jsonl beside this.

    python benchmarks/searches/table_rows.py grqc-vectors --out sdne.jsonl --seconds 400

Each search tries the settings of `SEARCHES` one after the other until the time is over and writes a line for each as it
comes: the options, the figures of each seed, and what they were measured on. "inner" is the task once more on what the
table's own split leaves for training; "other splits" are splits of the same classes that the table does not use;
"itself" is the table's own figure, where nothing is held out (reconstruction, visualization); "objective" is what is
minimised, and no figure is looked at. Everything that is written is printed too.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from netfold.embedder.options import config_from_json
from netfold.evaluate.case import Case, case
from netfold.models import MODELS
from netfold.studies import datasets
from netfold.studies.reproduce import Row, Run, folder_of_tables, run, table_named, write_run

Options = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Search:
    """Settings of a model for a row of a table."""

    table: str
    model: str
    fixed: Mapping[str, Any]
    grid: Mapping[str, tuple[Any, ...]]
    measured_on: str
    task: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    rows: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    """What is run with the setting chosen: names of rows, and what each asks beyond the table's protocol; where nothing
    is said one row, "chosen", that asks what the settings were asked."""
    of_rows: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What the rows have otherwise: a setting that is chosen by the objective alone is tried for fewer epochs."""

    def settings(self) -> Iterator[Options]:
        """All of the grid, the last option varying fastest."""
        for values in itertools.product(*self.grid.values()):
            yield dict(self.fixed) | dict(zip(self.grid, values, strict=True))


PRINTED_SDNE = {
    "activation": "sigmoid", "output": "sigmoid", "init": "dbn", "optimizer": "sgd", "schedule": "constant",
    "alpha": 0.2, "beta": 10.0, "hidden": [500], "dim": 100, "epochs": 3000, "tolerance": 0.001,
    "patience": 50,
}  # fmt: skip
LINKS = {
    "dim": 512, "hidden": [], "row_damping": 0.1, "column_damping": 0.25, "overlap": 1.0, "dropout": 0.2, "nu": 100.0,
    "epochs": 300,
}  # fmt: skip
CORA = {"energy": "w2_squared", "dropout": 0.1, "lr": 0.001, "batch_size": 256, "epochs": 120}
GPS = {"hidden": 16, "scale": "binary", "replaced": 1.5, "dropout": 0.3, "lr": 0.003}
DRUG = {"products": 64, "hidden": 64, "replaced": 1.5, "dropout": 0.3, "batch_size": 256}
DRNE = "drne:vectors=all:lambda_=0.1:epochs=300"
SEARCHES = {
    "grqc-vectors": Search(
        "sdne-grqc", "sdne", {"epochs": 300, "tolerance": 0.0},
        {"hidden": ([], [256]), "dim": (128,), "beta": (2.0, 3.0, 5.0), "alpha": (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)},
        "itself", {"score": "dot"},
    ),
    "grqc-vectors-wide": Search(
        "sdne-grqc", "sdne", {"epochs": 300, "tolerance": 0.0},
        {"hidden": ([1000],), "dim": (100, 128, 256), "beta": (2.0, 3.0, 5.0), "alpha": (1.0, 5.0, 20.0)},
        "itself", {"score": "dot"},
    ),
    "grqc-vectors-short": Search(
        "sdne-grqc", "sdne", {"tolerance": 0.0, "hidden": [], "dim": 128},
        {"epochs": (10, 40, 300), "beta": (2.0, 5.0, 10.0), "alpha": (0.0, 0.2)},
        "itself", {"score": "dot"},
    ),
    "grqc-vectors-both": Search(
        "sdne-grqc", "sdne", {"tolerance": 0.0, "hidden": [], "dim": 128},
        {"epochs": (60, 100, 150), "beta": (5.0, 10.0, 20.0), "alpha": (0.5, 1.0, 2.0)},
        "itself", {"score": "dot"},
    ),
    "grqc-vectors-more": Search(
        "sdne-grqc", "sdne", {"tolerance": 0.0, "hidden": []},
        {"dim": (256, 512), "epochs": (100, 200), "beta": (10.0,), "alpha": (1.0, 3.0)},
        "itself", {"score": "dot"},
    ),
    "grqc-vectors-512": Search(
        "sdne-grqc", "sdne", {"tolerance": 0.0, "hidden": [], "dim": 512},
        {"epochs": (100, 60), "beta": (10.0, 5.0), "alpha": (2.0, 4.0, 1.0)},
        "itself", {"score": "dot"},
    ),
    "grqc-links": Search(
        "sdne-grqc-links", "sdne", LINKS,
        {"overlap": (1.0, 4.0), "beta": (10.0, 5.0, 2.0, 20.0)},
        "inner", {"score": "decoder"}, (0,),
    ),
    "grqc-skip": Search(
        "sdne-grqc-links", "sdne", {"alpha": 0.2, "beta": 1.0, "dim": 100},
        {"skip": (2.0, 1.0, 4.0, 0.5, 8.0)},
        "inner", {"score": "decoder"}, (0, 1),
    ),
    "newsgroups": Search(
        "sdne-newsgroups", "sdne", {"dim": 100, "hidden": [200], "epochs": 200},
        {"alpha": (1.0, 10.0, 100.0), "epochs": (3, 10, 30, 200), "lr": (0.001, 0.003)},
        "itself",
    ),
    "printed-sdne": Search(
        "sdne-grqc", "sdne", PRINTED_SDNE,
        {"lr": (1e-5, 3e-5, 1e-4)},
        "itself", {"score": "decoder"},
    ),
    "printed-sdne-blog": Search(
        "sdne-blogcatalog", "sdne", PRINTED_SDNE | {"hidden": [1000], "epochs": 100, "tolerance": 0.0},
        {"lr": (3e-6, 1e-5, 1e-6)},
        "objective", of_rows={"epochs": 3000, "tolerance": 0.001},
        rows={"as printed, decoder": {"score": "decoder"}, "as printed, vectors": {"score": "dot"}},
    ),
    "printed-sdne-newsgroups": Search(
        "sdne-newsgroups", "sdne", PRINTED_SDNE | {"hidden": [200], "epochs": 200, "tolerance": 0.0},
        {"lr": (1e-4, 1e-5, 3e-5, 3e-4, 3e-6)},
        "objective", of_rows={"epochs": 3000, "tolerance": 0.001}, rows={"as printed": {}},
    ),
    "europe": Search(
        "drne-europe", "joined", {},
        {"of": (
            *(f"{DRNE}:dim={dim}:rounds={rounds}" for dim, rounds in ((12, 2), (9, 2), (16, 1), (60, 4))),
            "degreefeatures:dim=8", "degreefeatures:dim=16",
            *(f"degreefeatures:dim={d},{DRNE}:dim={k}:rounds=2" for d, k in ((8, 12), (16, 24))),
            f"graphwave,{DRNE}:dim=12:rounds=2", "graphwave",
            "drne:vectors=all:lambda_=0.1:dim=192:rounds=2",
        )},
        "other splits", {"train": [0.1, 0.8]}, (0, 1),
    ),
    "jazz": Search(
        "drne-jazz", "drne", {"tolerance": 0.0, "vectors": "all"},
        {"lambda_": (1.0, 10.0), "dim": (24, 48, 12), "rounds": (1, 2, 3), "epochs": (300, 1000)},
        "other splits", {}, (0, 1),
    ),
    "usa": Search(
        "drne-usa", "joined", {},
        {"of": (
            *(f"{DRNE}:batch_size=300:dim={dim}:rounds={rounds}" for dim, rounds in ((48, 2), (96, 2))),
            "degreefeatures:dim=16", "degreefeatures:dim=32",
            *(f"degreefeatures:dim={d},{DRNE}:batch_size=300:dim={k}:rounds=2" for d, k in ((16, 48), (32, 96))),
        )},
        "other splits", {"train": [0.1, 0.8]}, (0,),
    ),
    "cora-links": Search(
        "dvne-cora-links", "dvne", CORA,
        {"alpha": (2.0,), "reach": (20,), "restart": (0.0, 0.3, 0.1)},
        "inner", {"keep": "connected"}, (0,),
    ),
    "gps": Search(
        "dhne-gps-links", "dhne", GPS,
        {"counts": (True, False), "nu": (0.3, 3.0, 10.0), "products": (64, 0, 16), "epochs": (120, 40)},
        "inner", {"negatives": "replaced"}, (0, 1, 2),
    ),
    "drug": Search(
        "dhne-drug-links", "dhne", DRUG,
        {"counts": (True, False), "dim": (64, 128), "nu": (10.0, 30.0), "epochs": (15, 30)},
        "inner", {"duplicates": "drop"}, (0,),
    ),
}  # fmt: skip


def question(search: Search, seed: int) -> Case:
    """What a setting is asked for one seed."""
    table = table_named(folder_of_tables(), search.table)
    arguments = {**table.task.arguments, **search.task}
    graph = datasets.load(table.data.name, **table.data.options)

    def classes() -> Any:
        return datasets.classes(table.data.name, **table.data.options)

    def parts(name: str | None = None, **others: Any) -> Any:
        return datasets.load(table.data.name, **table.data.options, **({"part": name} if name else {}), **others)

    drawn = 100 + seed if search.measured_on == "other splits" else seed
    outer = case(table.task.name, graph, classes, arguments, drawn, parts)
    return (
        case(table.task.name, outer.graph, classes, arguments, 100 + seed) if search.measured_on == "inner" else outer
    )


def tried(search: Search, options: Options, asked: Mapping[int, Case], device: str) -> dict[str, Any]:
    """The figures of one setting, seed by seed."""
    cls, figures, cost, epochs, objective = MODELS[search.model], dict[str, list[float]](), 0.0, [], []
    for seed, one in asked.items():
        start = time.process_time()
        model = cls(**config_from_json(cls, options | {"seed": seed, "device": device})).fit(one.graph, progress=False)
        cost += time.process_time() - start
        last = model.history_[-1] if model.history_ else {}
        epochs.append(len(model.history_))
        objective.append(float(f"{last.get('objective', 0.0):.6g}"))
        wanted = search.measured_on != "objective"
        for name, value in one.evaluate(model, baselines=False).figures.items() if wanted else ():
            figures.setdefault(name, []).append(float(f"{float(value):.5g}"))
    return {
        "table": search.table, "options": options, "measured on": search.measured_on, "seeds": list(asked),
        "figures": figures, "epochs": epochs, "objective": objective, "cpu": round(cost, 1),
    }  # fmt: skip


def best(records: list[dict[str, Any]], figure: str, floor: str) -> Options:
    """The setting whose figure ("-KL": the less the better) is best, of those that reach a floor ("accuracy=0.9")."""
    name, sign = figure.removeprefix("-"), -1 if figure.startswith("-") else 1
    least, _, value = floor.partition("=")

    def mean(record: dict[str, Any], of: str) -> float:
        values = record["objective"] if of == "objective" else record["figures"][of]
        return sum(values) / len(values)

    good = [x for x in records if "failed" not in x and math.isfinite(mean(x, name))]
    good = [x for x in good if not floor or mean(x, least) >= float(value)]
    chosen: Options = max(good, key=lambda x: sign * mean(x, name))["options"]
    return chosen


def record_rows(search: Search, options: Options, out: Path, device: str, seeds: list[int], end: float) -> None:
    """Run the search's rows with these settings for the table's seeds, a file for each, as long as there is time."""
    table = table_named(folder_of_tables(), search.table)
    named, set_so = search.rows or {"chosen": search.task}, options | dict(search.of_rows)
    rows = tuple(Row(name, search.model, set_so, task) for name, task in named.items())
    for seed in seeds:
        start = time.time()
        run_of_seed = run(dataclasses.replace(table, rows=rows), Run((seed,), device=device, baselines=False))
        path = out / f"{search.table}.{rows[0].name.replace(' ', '_')}.{seed}.toml"
        write_run(table, run_of_seed, path)
        print(path.read_text(), flush=True)
        if 2 * time.time() - start > end:  # no other seed would fit in
            return


def main() -> None:
    """Try one search's settings, and run the best of them as a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("search", choices=SEARCHES)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--choose", metavar="FIGURE", help="then run the setting with the best FIGURE (-FIGURE: least)")
    parser.add_argument("--floor", default="", metavar="FIGURE=X", help="of those that reach this")
    parser.add_argument("--row-seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--row-seconds", type=float, default=150.0)
    parser.add_argument("--part", default="0/1", help="only every K-th setting from the I-th: I/K")
    asked = parser.parse_args()
    search, end = SEARCHES[asked.search], time.time() + asked.seconds
    cases = {seed: question(search, seed) for seed in search.seeds}
    first, each = map(int, asked.part.split("/"))
    records = []
    for options in list(search.settings())[first::each]:
        if time.time() > end:
            break
        try:
            record = tried(search, options, cases, asked.device)
        except Exception as e:  # a setting that cannot be trained is a result too
            record = {"table": search.table, "options": options, "failed": f"{type(e).__name__}: {e}"}
        records.append(record)
        print(json.dumps(record), flush=True)
        with asked.out.open("a") as lines:
            lines.write(json.dumps(record) + "\n")
    if asked.choose:
        options, end = best(records, asked.choose, asked.floor), time.time() + asked.row_seconds
        record_rows(search, options, asked.out.parent, asked.device, asked.row_seeds, end)


if __name__ == "__main__":
    main()
