"""Options: what they admit, in whose words they refuse, and what scikit-learn and json make of them."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from netfold.data.embedding import Embedding
from netfold.data.nodes import Nodes
from netfold.embedder.embedder import Embedder
from netfold.embedder.options import Configured, config_from_json, config_to_json, option, options, parameters_table
from netfold.errors import InputError
from netfold.models import MODELS, SDNE


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class Oven(Configured):
    """One option of every kind."""

    heat: float = option(180.0, "degrees in the middle", above=0)
    shelves: int = option(2, "how many trays fit", at_least=1)
    fan: bool = option(False, "whether the air moves")
    mode: str = option("bake", "what it is for", choices=("bake", "grill"))
    name: str = option("oven", "what people call it")
    trays: tuple[int, ...] = option((3, 4), "cakes a tray", at_least=1)
    minutes: int | None = option(None, "how long; None until it is done", type=int, at_least=0)


def message(call: Any) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


def test_defaults_and_their_declaration() -> None:
    assert Oven().get_params() == {
        "heat": 180.0, "shelves": 2, "fan": False, "mode": "bake", "name": "oven", "trays": (3, 4), "minutes": None,
    }  # fmt: skip
    heat, *_, minutes = options(Oven)
    assert (heat.name, heat.type, heat.default, heat.above, heat.none) == ("heat", float, 180.0, 0, False)
    assert (minutes.type, minutes.none, minutes.at_least) == (int, True, 0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"heat": 0}, "heat=0 is not allowed; it is a number above 0"),
        ({"heat": float("nan")}, "heat=nan is not allowed; it is a number above 0"),
        ({"heat": float("inf")}, "heat=inf is not allowed; it is a number above 0"),
        ({"heat": True}, "heat=True is not allowed; it is a number above 0"),
        ({"heat": "hot"}, "heat='hot' is not allowed; it is a number above 0"),
        ({"heat": 1j}, "heat=1j is not allowed; it is a number above 0"),
        ({"shelves": 0}, "shelves=0 is not allowed; it is a whole number of at least 1"),
        ({"shelves": 2.0}, "shelves=2.0 is not allowed; it is a whole number of at least 1"),
        ({"shelves": True}, "shelves=True is not allowed; it is a whole number of at least 1"),
        ({"shelves": None}, "shelves=None is not allowed; it is a whole number of at least 1"),
        ({"fan": 1}, "fan=1 is not allowed; it is True or False"),
        ({"mode": "boil"}, "mode='boil' is not allowed; it is one of bake, grill"),
        ({"mode": ["bake"]}, "mode=['bake'] is not allowed; it is one of bake, grill"),
        ({"name": 3}, "name=3 is not allowed; it is text"),
        ({"trays": 3}, "trays=3 is not allowed; it is whole numbers of at least 1"),
        ({"trays": (3, 0)}, "trays=(3, 0) is not allowed; it is whole numbers of at least 1"),
        ({"trays": (3, 1.5)}, "trays=(3, 1.5) is not allowed; it is whole numbers of at least 1"),
        ({"minutes": -1}, "minutes=-1 is not allowed; it is a whole number of at least 0 or None"),
    ],
)
def test_what_is_not_allowed(given: dict[str, Any], said: str) -> None:
    assert message(lambda: Oven(**given)) == said
    assert message(lambda: Oven().set_params(**given)) == said


def test_extremes_are_refused_and_not_crashed_into() -> None:
    assert "heat=" in message(lambda: Oven(heat=10**400))  # no float holds it
    assert "mode=array" in message(lambda: Oven(mode=np.array(["bake", "grill"])))  # has no single truth value
    assert len(message(lambda: Oven(name=[["x"] * 10_000]))) < 300
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert "trays=" in message(lambda: Oven(trays=nested))


def test_what_is_allowed_stays_as_it_was_given() -> None:
    trays = [1, 2]
    given = {
        "heat": np.float32(0.5),
        "shelves": np.int64(3),
        "trays": trays,
        "minutes": np.uint8(7),
        "name": np.str_("o"),
    }
    made = Oven(**given).get_params()
    for name, value in given.items():
        assert made[name] is value
    assert trays == [1, 2]
    assert Oven(heat=3).heat == 3
    assert Oven(heat=Fraction(1, 2)).heat == Fraction(1, 2)
    assert Oven(trays=()).trays == ()


def test_numpy_scalars_are_plain_in_json() -> None:
    oven = Oven(heat=np.float32(0.5), shelves=np.int64(3), trays=(np.int32(1), 2), minutes=np.uint8(7))
    stored = json.loads(json.dumps(config_to_json(oven)))
    assert stored == {
        "heat": 0.5, "shelves": 3, "fan": False, "mode": "bake", "name": "oven", "trays": [1, 2], "minutes": 7,
    }  # fmt: skip
    again = Oven(**config_from_json(Oven, stored))
    assert config_to_json(again) == config_to_json(oven)
    assert again.trays == (1, 2)
    assert config_to_json(Oven())["minutes"] is None


def test_numpy_scalars_fit_and_are_saved(tmp_path: Any) -> None:
    model = SDNE(dim=np.int64(2), hidden=(np.int32(3),), epochs=np.int16(1), lr=np.float32(0.25))
    model.fit([(0, 1), (1, 2)], progress=False, checkpoint=tmp_path / "checkpoint")
    model.save(tmp_path / "model")
    assert type(model.dim) is np.int64


def test_config_from_json_refuses_unknown_names() -> None:
    assert message(lambda: config_from_json(Oven, {"heat": 3, "heet": 4})).startswith(
        "Oven has no option 'heet'; it has heat, shelves"
    )


def test_set_params_is_all_or_nothing() -> None:
    oven = Oven()
    assert oven.set_params(heat=200, mode="grill") is oven
    before = oven.get_params()
    assert (before["heat"], before["mode"]) == (200, "grill")
    assert "shelves=0" in message(lambda: oven.set_params(heat=100, shelves=0))
    assert "no option 'colour'" in message(lambda: oven.set_params(heat=100, colour="red"))
    assert oven.get_params() == before


def test_repr_shows_what_was_changed() -> None:
    assert repr(Oven()) == "Oven()"
    assert repr(Oven(trays=(1,), heat=200.0, mode="bake")) == "Oven(heat=200.0, trays=(1,))"


def test_parameters_table() -> None:
    head, line, heat, *_, trays, minutes = parameters_table(Oven).splitlines()
    assert (head, line) == ("| option | default | meaning |", "| --- | --- | --- |")
    assert heat == "| `heat` | `180.0` | degrees in the middle |"
    assert trays == "| `trays` | `(3, 4)` | cakes a tray |"
    assert minutes == "| `minutes` | `None` | how long; None until it is done |"
    assert "| `mode` | `'bake'` | what it is for (bake · grill) |" in parameters_table(Oven)


def test_positional_arguments_and_unknown_names_are_errors() -> None:
    with pytest.raises(TypeError):
        Oven(200)  # type: ignore[misc]
    with pytest.raises(TypeError):
        Oven(heet=200)  # type: ignore[call-arg]


# -------------------------------------------------------------------- every model

models = pytest.mark.parametrize("cls", MODELS.values(), ids=list(MODELS))
TRIANGLE = [(0, 1), (1, 2), (2, 0)]


def vectors(cls: type[Embedder]) -> Embedding | None:
    """What the model extends, where it extends anything."""
    return Embedding(Nodes.of(range(3)), np.eye(3, 2, dtype=np.float32)) if cls.extends else None


def quick(cls: type[Embedder]) -> dict[str, int]:
    """One epoch, where a model has any, and the smallest width that all have."""
    return {"dim": 4} | ({"epochs": 1} if "epochs" in {o.name for o in options(cls)} else {})


@models
def test_sklearn_clones_a_model(cls: type[Embedder]) -> None:
    fitted = cls(**quick(cls) | ({"dim": 2} if cls.extends else {}), seed=3)
    fitted.fit(TRIANGLE, vectors(cls), progress=False)
    copy = clone(fitted)
    assert type(copy) is cls
    assert copy is not fitted
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "embedding_")
    assert "not fitted" in message(lambda: copy.save("nowhere"))
    copy.set_params(dim=5)
    assert fitted.dim == (2 if cls.extends else 4)


@models
def test_a_model_survives_json(cls: type[Embedder]) -> None:
    again = cls(**config_from_json(cls, json.loads(json.dumps(config_to_json(cls())))))
    assert again.get_params() == cls().get_params()
    assert repr(again) == f"{cls.__name__}()"


@models
def test_fitting_leaves_the_options_alone(cls: type[Embedder]) -> None:
    model = cls(**quick(cls) | ({"dim": 2} if cls.extends else {}))
    before = dict(model.get_params())
    model.fit(TRIANGLE, vectors(cls), progress=False)
    assert model.get_params() == before


@pytest.mark.parametrize(("cls", "name"), [(cls, o.name) for cls in MODELS.values() for o in options(cls)])
def test_every_option_says_what_it_means(cls: type[Embedder], name: str) -> None:
    (o,) = (o for o in options(cls) if o.name == name)
    assert len(o.help.split()) >= 2, "a word is no explanation"
    assert o.help[0].islower() or o.help.startswith(("L_", "B ")), "it goes on in the middle of a line"
    assert o.help == o.help.strip().rstrip("."), "a fragment has no full stop"
    assert "|" not in o.help and "\n" not in o.help, "it stands in a table"
    assert o.help.casefold() != name.replace("_", " ")
    o.check(o.default)
    for choice in o.choices:
        o.check(choice)
    if o.type in (int, float):
        assert o.at_least is not None or o.above is not None, "a number without a bound"


@models
def test_no_field_is_undeclared(cls: type[Embedder]) -> None:
    given = {f.name for f in dataclasses.fields(cls) if f.init}
    assert given == {o.name for o in options(cls)} == set(cls().get_params())
