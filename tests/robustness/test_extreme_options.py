"""Every legal extreme of every option, alone and with others: finite vectors, or one sentence."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold.embedder.options import Option, options

SMALL = {"dim": 4, "epochs": 2, "samples": 64}
FIXED = (*SMALL, "device")
LARGER = {"dhne": {"batch_size": 8}}
"""Batches of more than one tuple, which is what DHNE takes of so few; unless the size of batches is what is tried."""
COMBINATIONS = 8
FLOATS = (0.0, 1e-30, 0.5, 0.999, 1.0, 2.5, 100.0, 1e10, 1e30)
INTEGERS = (0, 1, 2, 7)


@cache
def data(reads: str) -> Any:
    rng = np.random.default_rng(0)
    if reads == "graph":
        return nf.Graph.from_edges(rng.integers(0, 12, (30, 2)), nodes=range(12))
    names = {f"{t}{i}": t for t in "uft" for i in range(4)}
    return nf.Hypergraph.from_tuples(
        [[f"{t}{i}" for t, i in zip("uft", row)] for row in rng.integers(0, 4, (15, 3))], names
    )


def admitted(o: Option, value: Any) -> bool:
    try:
        o.check(value)
    except nf.InputError:
        return False
    return True


def extremes(o: Option) -> list[Any]:
    """What an option admits of what is odd: the ends of its range, and each of its choices."""
    values: tuple[Any, ...] = o.choices or {float: FLOATS, int: INTEGERS, bool: (False, True)}.get(o.type, ())
    found = [x for x in values if admitted(o, x)]
    if o.type is float and not o.choices:
        found = [found[0], found[-1]]
    return [*found, *([None] if o.none else [])]


def outcome(cls: Any, chosen: dict[str, Any]) -> str:
    names = {o.name for o in options(cls)} - ({"dim"} if cls.extends else set())
    settings = {k: v for k, v in SMALL.items() if k in names} | LARGER.get(cls.__name__.lower(), {}) | chosen
    try:
        model = cls(**settings)
        graph = data(cls.reads)
        base = (
            nf.Embedding(graph.nodes, np.random.default_rng(1).normal(size=(graph.n_nodes, 4))) if cls.extends else None
        )
        model.fit(graph, base, progress=False)
    except (nf.InputError, nf.TrainingError) as e:
        return "refused" if "\n" not in str(e) else f"several lines: {e}"
    return "finite" if np.isfinite(model.embedding_.vectors).all() else "not finite"


def tried(name: str) -> list[Option]:
    return [o for o in options(nf.MODELS[name]) if o.name not in FIXED]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(nf.MODELS))
def test_each_extreme_alone(name: str) -> None:
    for o in tried(name):
        for value in extremes(o):
            assert outcome(nf.MODELS[name], {o.name: value}) in ("finite", "refused"), f"{o.name}={value!r}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(nf.MODELS))
def test_extremes_together(name: str) -> None:
    draw = random.Random(name)
    for _ in range(COMBINATIONS):
        some = draw.sample(tried(name), k=min(4, len(tried(name))))
        chosen = {o.name: draw.choice(extremes(o)) for o in some if extremes(o)}
        assert outcome(nf.MODELS[name], chosen) in ("finite", "refused"), chosen


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("sdne", "lr", 1e300),
        ("sdne", "row_damping", 1e10),
        ("dhne", "row_damping", 1e10),
        ("dhne", "replaced", 1e38),
        ("sdne", "nu", 1e300),
        *(
            (name, "attribute_weight", 1e30)
            for name, cls in sorted(nf.MODELS.items())
            if hasattr(cls, "attribute_weight")
        ),
        ("node2vec", "q", 1e-300),
    ],
)
def test_what_ended_in_a_traceback_is_out_of_bounds(name: str, option: str, value: float) -> None:
    with pytest.raises(nf.InputError, match=f"^{option}=.* is not allowed; .*( and below |1e-30 and 1e.30 in size)"):
        nf.MODELS[name](**{option: value})


@pytest.mark.parametrize("weight", [1e20, 1e-22, 1e-40, 3e38])
def test_a_factor_on_all_weights_does_not_matter_to_sdne(weight: float) -> None:
    graph = nf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4)])
    unit = 2.0 ** round(np.log2(weight) - 1)

    def fitted(factor: float) -> Any:
        scaled = nf.Graph.from_scipy(graph.adjacency.astype(np.float64) * factor)
        return nf.SDNE(dim=2, hidden=(4,), epochs=5).fit(scaled, progress=False)

    plain, scaled = fitted(1.0), fitted(unit)
    assert scaled.embedding_.vectors.tobytes() == plain.embedding_.vectors.tobytes()
    new = nf.Graph.from_edges([("new", 0, unit), ("new", 3, unit)])
    same = nf.Graph.from_edges([("new", 0), ("new", 3)])
    assert scaled.transform(new).vectors.tobytes() == plain.transform(same).vectors.tobytes()


def test_one_weight_of_wei_among_ones() -> None:
    edges = [(0, 1, 1e20), *((i, i + 1, 1.0) for i in range(1, 20))]
    assert np.isfinite(nf.SDNE(dim=2, hidden=(4,), epochs=3).fit(edges, progress=False).embedding_.vectors).all()
