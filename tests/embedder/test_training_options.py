"""The options that models share: what each model has of them, and in whose words."""

from __future__ import annotations

from typing import Any

import pytest

import netfold as nf
from netfold.embedder.embedder import Computed
from netfold.embedder.options import Option, config_from_json, options
from netfold.embedder.training_options import SkipGramOptions, TrainingOptions, skipgram, training

COMMON = {"seed": 0, "device": "auto", "n_negatives": 5, "schedule": "linear"}
WALKS = {"p": 1.0, "q": 1.0, "length": 80, "window": 10, "init": "spectral", "lr": 0.1}
STOPPING = {"tolerance": 0.0, "patience": 10}
PROCESS = {"hidden": 64, "sharing": "all", "eta": 1.0, "zeta": 1.0, "routine": "exact", "uncertainty": True}
SAVED = {
    "node2vec": COMMON | WALKS | STOPPING | {"dim": 128, "epochs": 10, "walks": 1, "batch_size": 64},
    "line": COMMON
    | STOPPING
    | {"dim": 128, "epochs": 20, "order": "both", "samples": None, "lr": 0.3, "batch_size": 4096},
    "node2vecplus": COMMON
    | WALKS
    | PROCESS
    | {"dim": 128, "epochs": 5, "one_step": 32, "two_step": 4, "base": "node2vec", "shared_lr": 0.003}
    | {"batch_size": 256},
}
"""The configuration that a model with the defaults has in its file, as models had it that were saved before."""
BY_SIZE = {"line": {"batch_size": None, "init": None}, "node2vec": {"batch_size": None, "lr": None}}
"""What follows the number of nodes by now, where nobody says: up to 100,000 of them it is as it was."""
LATER: dict[str, dict[str, Any]] = {
    "node2vec": {"held_out": None, "weight_scale": None},
    "line": {"weight_scale": None},
    "node2vecplus": {"attribute_weight": 0.1},
}
"""What they did not have; without attributes, with held_out=0 or fewer than 1,000 links, and where no weight is 100
times the median, all is as it was."""
models = pytest.mark.parametrize("name", sorted(SAVED))


def of(cls: type) -> dict[str, Option]:
    return {o.name: o for o in options(cls)}


@models
def test_names_and_defaults_are_those_of_saved_models(name):
    cls = nf.MODELS[name]
    assert {o.name: o.default for o in options(cls)} == SAVED[name] | BY_SIZE.get(name, {}) | LATER.get(name, {})
    assert cls(**config_from_json(cls, SAVED[name])).get_params() == cls().get_params() | {
        option: SAVED[name][option] for option in BY_SIZE.get(name, {}) if option in SAVED[name]
    }


@models
def test_what_a_shared_option_may_be_is_said_once(name):
    shared, own = of(SkipGramOptions), of(nf.MODELS[name])
    for both in shared.keys() & own.keys():
        for fact in ("type", "choices", "at_least", "above", "below"):  # whether None may be goes with the default
            assert getattr(shared[both], fact) == getattr(own[both], fact), f"{name}.{both}: {fact}"
    assert {"n_negatives", "lr", "schedule", "batch_size"} <= shared.keys() & own.keys()


def test_every_shared_option_is_some_model_s():
    assert set(of(SkipGramOptions)) <= {o.name for name in SAVED for o in options(nf.MODELS[name])}


def test_a_model_may_have_its_own_default_and_words():
    line, walks = of(nf.LINE), of(nf.Node2Vec)
    plus = of(nf.Node2VecPlus)
    assert (line["lr"].default, plus["lr"].default) == (0.3, 0.1) and line["lr"].help != plus["lr"].help
    assert "against each link" in line["n_negatives"].help and "against each pair" in walks["n_negatives"].help
    assert (
        line["batch_size"].help.startswith("links a step, of all ranks together; None")
        and "walks a step" in walks["batch_size"].help
    )


@models
def test_the_model_s_own_options_come_before_how_it_is_trained(name):
    """As they do on the command line and in the docs' table."""
    first = {"node2vec": "p", "line": "order", "node2vecplus": "base"}[name]
    names = list(of(nf.MODELS[name]))
    assert names.index(first) < names.index("n_negatives") < names.index("lr") < names.index("batch_size")


@pytest.mark.parametrize("name", sorted(name for name, cls in nf.MODELS.items() if not issubclass(cls, Computed)))
def test_every_model_is_trained_by_the_same_options(name):
    """In its own words and with its own defaults, of which None is admitted where it is one."""
    shared, own = of(TrainingOptions), of(nf.MODELS[name])
    both = [each for each in own if each in shared]
    assert both == [each for each in shared if each in own] or name == "depthlgp"  # whose steps come first
    assert {"lr", "schedule", "batch_size"} <= set(both)
    for each in both:
        for fact in ("type", "choices", "at_least", "above", "below"):
            assert getattr(shared[each], fact) == getattr(own[each], fact), f"{name}.{each}: {fact}"
        assert own[each].none == (own[each].default is None)


@pytest.mark.parametrize("declared", [skipgram, training])
def test_an_option_that_is_not_declared_is_an_error(declared):
    with pytest.raises(KeyError):
        declared("temperature")
