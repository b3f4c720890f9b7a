"""Options of models as flags and as keys of a config file."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from command import refuse, succeed, told
from netfold.cli.flags import flags, from_toml
from netfold.embedder.options import Configured, option

pytestmark = pytest.mark.usefixtures("edges_csv")


@dataclasses.dataclass(kw_only=True, repr=False)
class Toy(Configured):
    size: int = option(4, "a size", at_least=1)
    lambda_: float = option(0.5, "a weight", at_least=0)
    fast: bool = option(False, "no detours")
    name: str = option("x", "a name")
    kind: str = option("one", "a kind", choices=("one", "two"))
    widths: tuple[int, ...] = option((8, 4), "widths", at_least=1)
    batch: int | None = option(None, "a batch", type=int, at_least=1)
    sure: bool | None = option(None, "sure or not", type=bool)


def parsed(*args: str) -> dict[str, Any]:
    """What the flags of `Toy` make of arguments."""
    command = click.Command("toy", params=list(flags(Toy)), callback=lambda **given: given)
    made: dict[str, Any] = command.main(list(args), standalone_mode=False)
    return made


def test_flags_have_the_defaults_of_the_options() -> None:
    assert parsed() == Toy().get_params()


@pytest.mark.parametrize(
    "args, name, value",
    [
        ("--size 7", "size", 7),
        ("--lambda 2", "lambda_", 2.0),
        ("--fast", "fast", True),
        ("--no-fast", "fast", False),
        ("--name none", "name", "none"),
        ("--kind two", "kind", "two"),
        ("--widths 500,100", "widths", (500, 100)),
        ("--widths 500", "widths", (500,)),
        ("--widths ''", "widths", ()),
        ("--batch 3", "batch", 3),
        ("--batch none", "batch", None),
        ("--sure true", "sure", True),
        ("--sure none", "sure", None),
    ],
)
def test_flags_become_values(args: str, name: str, value: Any) -> None:
    found = parsed(*shlex.split(args))[name]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "args",
    ["--size 0", "--size x", "--size 1.5", "--size none", "--lambda -1", "--lambda nan", "--lambda inf", "--kind three",
     "--widths 5,,4", "--widths 0", "--widths 5;4", "--batch 0", "--sure maybe"],
)  # fmt: skip
def test_flags_refuse_what_the_options_do_not_admit(args: str) -> None:
    with pytest.raises(click.BadParameter, match="it is "):
        parsed(*args.split())


def test_toml_keys_are_option_names() -> None:
    Path("c.toml").write_text('size = 9\nlambda = 2\nwidths = [3, 2]\nbatch = "none"\nfast = true\n')
    assert from_toml("c.toml", Toy) == {"size": 9, "lambda_": 2, "widths": (3, 2), "batch": None, "fast": True}


@pytest.mark.parametrize(
    "text, named",
    [
        ("dmi = 3", "'dmi'; did you mean dim?"),
        ("zzz = 3", "'zzz'; it has dim"),
        ("dim = 0", "dim=0"),
        ('dim = "many"', "dim='many'"),
        ("hidden = [5, 0]", "hidden="),
        ("[dim]\nx = 1", "dim="),
        ("dim = ", "not a TOML file"),
        ("\xff", "not a TOML file"),
    ],
)
def test_a_bad_config_is_refused_by_file_and_key(text: str, named: str) -> None:
    Path("c.toml").write_bytes(text.encode("latin-1"))
    said = refuse("fit", "sdne", "edges.csv", "-o", "model", "--config", "c.toml")
    assert "c.toml" in said and named in said


def test_a_missing_config_is_refused() -> None:
    assert "nowhere.toml" in refuse("fit", "sdne", "edges.csv", "-o", "model", "--config", "nowhere.toml")


def test_flags_win_over_the_config() -> None:
    Path("c.toml").write_text("dim = 2\nepochs = 4\nhidden = [6]\n")
    succeed("fit", "sdne", "edges.csv", "-o", "model", "--config", "c.toml", "--dim", "3", "-q")
    config = told("info", "model")["config"]
    assert (config["dim"], config["epochs"], config["hidden"]) == (3, 4, [6])


def test_a_flag_that_repeats_the_default_wins_too() -> None:
    Path("c.toml").write_text("dim = 2\nepochs = 1\nhidden = [6]\nbeta = 3.0\n")
    succeed("fit", "sdne", "edges.csv", "-o", "model", "--config", "c.toml", "--beta", "10", "-q")
    assert told("info", "model")["config"]["beta"] == 10


def test_a_name_that_a_flag_had_before_is_not_suggested() -> None:
    said = refuse("map", "m", "-o", "x.svg", "--label", "f")
    assert "no such option '--label'" in said and "--labels" not in said and "See netfold map --help" in said


def test_who_mistypes_a_verb_is_told_which_there_is() -> None:
    assert "no such command 'neerest'; did you mean 'nearest'? See netfold --help" in refuse("neerest")
    assert "no such option '--dimm'" in refuse("fit", "sdne", "edges.csv", "-o", "m", "--dimm", "3")
