"""Options that were renamed: who types the old name is answered with the new one, and files that hold it are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

import netfold as nf
from netfold.cli.flags import flags, from_toml, renamed_flag
from netfold.embedder.options import Configured, config_from_json, first_names, new_names, option
from netfold.errors import InputError, renamed
from netfold.models import MODELS
from netfold.studies.reproduce import table as tables
from netfold.studies.reproduce.parsing import parse
from refusals import refused


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class Draws(Configured):
    """The chain of DHNE: the new name of one option is the old name of another."""

    n_negatives: int = option(5, "how many are drawn for each", at_least=0, was="negatives")
    negatives: str = option("uniform", "how they are drawn", choices=("uniform", "degree"), was="noise")
    init: str = option("svd", "where training starts", choices=("svd", "none"), was=("start", "pretrain"))
    batch_size: int | None = option(None, "rows a step", type=int, was="step_size")


OLD = {"negatives": 3, "noise": "degree", "pretrain": "none"}
NEW = {"n_negatives": 3, "negatives": "degree", "init": "none"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pretrain": "svd"}, "pretrain is now called init; it is one of svd, none"),
        ({"start": 3}, "start is now called init; it is one of svd, none"),
        ({"noise": "degree"}, "noise is now called negatives; it is one of uniform, degree"),
        ({"negatives": 5}, "negatives is now called n_negatives; it is a whole number of at least 0"),
        ({"negatives": "often"}, "negatives='often' is not allowed; it is one of uniform, degree"),
        ({"step_size": None}, "step_size is now called batch_size; it is a whole number or None"),
    ],
)
def test_who_types_an_old_name_is_told_the_new_one(given: dict[str, Any], said: str) -> None:
    assert refused(lambda: Draws(**given)) == said
    draws = Draws()
    assert refused(lambda: draws.set_params(n_negatives=1, **given)) == said
    assert draws.n_negatives == 5


def test_a_name_that_never_was_is_refused_as_ever() -> None:
    with pytest.raises(TypeError, match="Draws has no option 'nois'; it has n_negatives"):
        Draws(nois="degree")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        (OLD, NEW),
        (NEW, NEW),
        ({"negatives": 5}, {"n_negatives": 5}),
        ({"negatives": "degree"}, {"negatives": "degree"}),
        ({"noise": "degree"}, {"negatives": "degree"}),
        ({"noise": "degree", "negatives": 5}, {"negatives": "degree", "n_negatives": 5}),
        ({"start": "svd"}, {"init": "svd"}),
        ({"step_size": None}, {"batch_size": None}),
        ({"never": 1}, {"never": 1}),
        ({}, {}),
    ],
)
def test_stored_configurations_are_read(stored: dict[str, Any], read: dict[str, Any]) -> None:
    assert new_names(Draws, stored) == read
    assert new_names(Draws, new_names(Draws, stored)) == read
    if "never" not in stored:
        assert config_from_json(Draws, stored) == read
        assert Draws(**config_from_json(Draws, stored)).get_params() == Draws(**read).get_params()


def test_names_decide_where_values_cannot() -> None:
    @dataclasses.dataclass(kw_only=True)
    class Numbers(Configured):
        many: int = option(1, "was called few", was="few")
        few: int = option(2, "was called one", was="one")

    assert new_names(Numbers, {"few": 7, "one": 8}) == {"many": 7, "few": 8}
    assert new_names(Numbers, {"many": 7, "few": 8}) == {"many": 7, "few": 8}
    assert Numbers(few=7).few == 7


def test_one_option_by_two_names_is_refused() -> None:
    assert "init is set twice" in refused(lambda: config_from_json(Draws, {"pretrain": "svd", "init": "none"}))
    assert "init is set twice" in refused(lambda: config_from_json(Draws, {"pretrain": "svd", "start": "none"}))


def test_first_names_are_the_same_for_old_and_new() -> None:
    assert first_names(Draws, OLD) == first_names(Draws, NEW) == {"negatives": 3, "noise": "degree", "start": "none"}


# ---------------------------------------------------------------- the command line


@click.command()
def draw(**given: Any) -> None:
    """Print what is given."""
    click.echo(str(sorted(given.items(), key=str)))


draw.params += flags(Draws)


def said_to(command: click.Command, *args: str) -> str:
    result = CliRunner().invoke(command, args)
    assert result.exit_code == 2
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--pretrain", "svd"], "--pretrain is now called --init"),
        (["--pretrain=svd"], "--pretrain is now called --init"),
        (["--pretrain"], "--pretrain is now called --init"),
        (["--noise", "degree", "--init", "odd"], "--noise is now called --negatives"),
        (["--step-size", "5"], "--step-size is now called --batch-size"),
        (["--negatives", "5"], "with '5' it is now called --n-negatives"),
        (["--negatives", "odd"], "'odd' is not allowed; it is one of uniform, degree"),
    ],
)
def test_old_flags_are_answered_with_new_ones(args: list[str], said: str) -> None:
    assert said in said_to(draw, *args)


def test_old_flags_are_not_in_the_help_nor_among_the_values() -> None:
    result = CliRunner().invoke(draw, ["--negatives", "degree", "--n-negatives", "2"])
    assert result.output.strip() == str(
        [("batch_size", None), ("init", "svd"), ("n_negatives", 2), ("negatives", "degree")]
    )
    text = CliRunner().invoke(draw, ["--help"]).output
    assert "--init" in text and "--pretrain" not in text


def test_flags_of_verbs() -> None:
    @click.command()
    @click.option("--names", type=int, default=12)
    @renamed_flag("--labels", "--names")
    def picture(names: int) -> None:
        click.echo(names)

    assert CliRunner().invoke(picture, ["--names", "3"]).output == "3\n"
    assert "--labels is now called --names" in said_to(picture, "--labels", "12")
    assert "--labels is now called --names" in said_to(picture, "--labels")
    assert "--labels" not in CliRunner().invoke(picture, ["--help"]).output


def test_toml_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text('negatives = 3\nnoise = "degree"\nstep-size = 4\npretrain = "none"\n')
    assert from_toml(str(file), Draws) == {**NEW, "batch_size": 4}
    file.write_text('init = "svd"\npretrain = "none"\n')
    assert refused(lambda: from_toml(str(file), Draws)).startswith(f"{file}: init is set twice")


# ---------------------------------------------------------------- functions


def test_arguments_of_functions_and_classes() -> None:
    @renamed(labels="classes", hide="held_out")
    def judged(model: str, *, classes: str = "", held_out: float = 0.5) -> tuple[str, str, float]:
        """Its words."""
        return model, classes, held_out

    assert judged("m", classes="c", held_out=0.1) == ("m", "c", 0.1) and judged.__doc__ == "Its words."
    assert refused(lambda: judged("m", labels="c")) == "judged: labels is now called classes"  # type: ignore[call-arg]
    assert refused(lambda: judged("m", hide=1)) == "judged: hide is now called held_out"  # type: ignore[call-arg]

    @renamed(labels="classes")
    @dataclasses.dataclass
    class Sheet:
        classes: str = ""

    assert Sheet("x") == Sheet(classes="x")
    assert refused(lambda: Sheet(labels="x")) == "Sheet: labels is now called classes"  # type: ignore[call-arg]


# ---------------------------------------------------------------- models, checkpoints and recorded rows from before


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[type[nf.Embedder], type[nf.Embedder]]]:
    """A model before and after some of its options were renamed."""

    @dataclasses.dataclass(kw_only=True, repr=False, eq=False)
    class Before(nf.SDNE, abstract=True):
        """As it was."""

        start_from: str = option("here", "where it starts", choices=("here", "there"))
        links: int = option(1, "how many links", at_least=0)

    @dataclasses.dataclass(kw_only=True, repr=False, eq=False)
    class After(nf.SDNE, abstract=True):
        """As it is."""

        origin: str = option("here", "where it starts", choices=("here", "there"), was="start_from")
        n_links: int = option(1, "how many links", at_least=0, was="links")

    for cls in (Before, After):
        cls.__name__ = "Toy"
    yield Before, After
    nf.Embedder.models.pop("toy", None)
    MODELS.pop("toy", None)


GRAPH = [(i, (i + d) % 9) for i in range(9) for d in (1, 2)]
SMALL = {"dim": 2, "hidden": (4,), "epochs": 6, "seed": 5}


def test_a_model_file_from_before_is_loaded(models: Any, tmp_path: Path) -> None:
    before, after = models
    fitted = before(**SMALL, start_from="there", links=4).fit(GRAPH, progress=False)
    fitted.save(tmp_path / "toy")
    nf.Embedder.models["toy"] = after
    loaded = nf.load(tmp_path / "toy")
    assert isinstance(loaded, after) and (loaded.origin, loaded.n_links, loaded.seed) == ("there", 4, 5)
    assert np.array_equal(loaded.embedding_.vectors, fitted.embedding_.vectors)
    loaded.save(tmp_path / "again")
    assert nf.load(tmp_path / "again").get_params() == loaded.get_params()


def test_a_checkpoint_from_before_goes_on(models: Any, tmp_path: Path) -> None:
    before, after = models
    given = {"checkpoint": tmp_path / "state", "checkpoint_every": 0.0, "progress": False}
    before(**SMALL, start_from="there", links=4).fit(GRAPH, **given, on_epoch=lambda record: record["epoch"] >= 2)
    resumed = after(**SMALL, origin="there", n_links=4).fit(GRAPH, **given)
    whole = after(**SMALL, origin="there", n_links=4).fit(GRAPH, progress=False)
    assert np.array_equal(resumed.embedding_.vectors, whole.embedding_.vectors)
    said = refused(lambda: after(**SMALL, origin="here", n_links=4).fit(GRAPH, **given))
    assert "another configuration (origin differs)" in said


TABLE = """
title = "toy"
paper = "none"
source = "none"
figures = ["MAP"]
[data]
name = "karate"
[task]
name = "reconstruction"
{task} = [10]
score = "{score}"
[[rows]]
name = "ours"
model = "toy"
config = {{ {row} }}
[quick]
config = {{ {quick} }}
"""


def test_a_row_recorded_before_is_the_same_configuration(models: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = models
    rows = 'dim = 4, start_from = "there", links = 3', 'dim = 4, n_links = 3, origin = "there"'
    old = TABLE.format(task="k", score="dot", row=rows[0], quick="epochs = 1, links = 1")
    new = TABLE.format(task="top", score="product", row=rows[1], quick="epochs = 1, n_links = 1")
    MODELS["toy"] = before
    recorded = parse(Path("x.toml"), old)
    settings = recorded.settings(recorded.rows[0])
    MODELS["toy"] = after
    monkeypatch.setitem(tables.RENAMED_ARGUMENTS, "k", "top")
    monkeypatch.setitem(tables.RENAMED_VALUES, "score", {"dot": "product"})
    read = [parse(Path("x.toml"), text) for text in (old, new)]
    assert read[0] == read[1] and read[0].rows[0].config == {"dim": 4, "origin": "there", "n_links": 3}
    assert read[0].task.arguments == {"top": [10], "score": "product"}
    assert read[0].quick.config == {"epochs": 1, "n_links": 1}
    assert {table.settings(table.rows[0]) for table in read} == {settings}
    other = parse(Path("x.toml"), new.replace("n_links = 3", "n_links = 2"))
    assert other.settings(other.rows[0]) != settings
    with pytest.raises(InputError, match=r"x.toml: origin is set twice"):
        parse(Path("x.toml"), new.replace("n_links = 3", 'start_from = "here"'))


def test_no_old_name_hides_a_model() -> None:
    """Where an option took over another's name, their values tell them apart."""
    for cls in MODELS.values():
        declared = {o.name: o for o in nf.embedder.options.options(cls)}
        for o in declared.values():
            for was in o.was:
                assert was not in declared or not declared[was].fits(o.default), f"{cls.__name__}.{o.name}"
