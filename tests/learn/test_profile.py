"""Where the time goes: what is counted is what was spent, and asking changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import netfold as nf
from netfold.cli import main
from netfold.embedder.options import options as options_of
from netfold.learn import progress as module
from netfold.learn.progress import Profile, counted_items, part, profile

RING = [(i, (i + 1) % 12) for i in range(12)]


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A clock on which a second passes whenever it is looked at, and half a second of the CPU."""
    clock = count(100)
    monkeypatch.setattr(module, "_now", lambda: (float(t := next(clock)), t / 2))
    yield


def test_seconds_are_summed_by_part_and_the_rest_is_other(ticks: None) -> None:
    with profile() as spent:  # looks at 100
        for _ in range(3):  # 101 to 106
            with part("loss"):
                pass
        with part("steps"):  # 107, 108
            pass
        assert list(counted_items([7, 8], "batches")) == [7, 8]  # 109 to 114: two items, and the end
    assert spent.parts == {"loss": [3, 1.5, 3], "steps": [1, 0.5, 1], "batches": [3, 1.5, 3]}
    assert spent.seconds == 15 and spent.cpu == 7.5
    assert spent.to_dict()["parts"]["other"] == {"seconds": 8, "cpu": 4, "times": 1}
    assert str(spent).splitlines()[1].split() == ["loss", "3.000", "20%", "1.500", "3"]
    assert str(spent).splitlines()[-1].split() == ["in", "all", "15.000", "100%", "7.500"]


def test_a_part_within_another_counts_once(ticks: None) -> None:
    with profile() as spent, part("start"), part("loss"):  # 100, 101, 102; 103, 104, 105
        pass
    assert spent.parts == {"start": [2, 1, 1], "loss": [1, 0.5, 1]} and spent.seconds == 5


def test_nothing_is_counted_unasked_and_what_raises_is() -> None:
    items = [1, 2]
    assert counted_items(items, "batches") is items
    with part("loss"):
        pass
    with profile() as spent, pytest.raises(ZeroDivisionError), part("loss"):
        raise ZeroDivisionError
    assert spent.parts["loss"][2] == 1 and isinstance(spent, Profile)
    with part("loss"):
        pass
    assert spent.parts["loss"][2] == 1


@pytest.mark.parametrize("name", sorted(nf.MODELS))
def test_the_parts_of_a_fit_make_it_up_and_vectors_are_the_same(name: str) -> None:
    cls = nf.MODELS[name]
    known = {o.name for o in options_of(cls)}
    options = {k: v for k, v in {"epochs": 2, "dim": 4}.items() if k in known and (name != "depthlgp" or k != "dim")}
    data: list[Any] = [RING]
    if cls.reads == "hypergraph":
        data = [nf.Hypergraph.from_tuples([(i % 5, 5 + i % 4, 9 + i % 3) for i in range(12)])]
    elif name == "depthlgp":
        data.append(nf.Embedding(range(12), np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)))
    plain = cls(**options).fit(*data, progress=False)
    with profile() as spent:
        asked = cls(**options).fit(*data, progress=False)
    np.testing.assert_array_equal(asked.embedding_.vectors, plain.embedding_.vectors)
    parts = spent.to_dict()["parts"]
    assert {"reading", "start", "vectors", "other"} <= set(parts)
    assert ("steps" in parts) == ("epochs" in options)
    assert sum(x["seconds"] for x in parts.values()) == pytest.approx(spent.seconds)


def test_the_command_line_prints_it_and_its_json_stays_json(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("".join(f"{a},{b}\n" for a, b in RING))
    typed = ["fit", "sdne", str(tmp_path / "edges.csv"), "-o", str(tmp_path / "m"), "--dim", "2", "--epochs", "1"]
    result = CliRunner().invoke(main, [*typed, "--profile", "--quiet", "--json"])
    assert result.exit_code == 0, result.output
    assert result.stdout.strip().startswith("{") and result.stdout.strip().endswith("}")
    rows = [line.split() for line in result.stderr.splitlines()]
    assert ["part", "seconds", "share", "CPU-s", "times"] in rows
    assert {"imports", "reading", "start", "loss", "gradients", "steps", "vectors", "saving"} <= {
        row[0] for row in rows if row
    }
