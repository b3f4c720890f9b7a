"""What `help(nf.SDNE)`, Jupyter and an IDE show of a model: every option and every attribute that `fit` sets."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import pydoc
import subprocess
import sys

import pytest

import netfold as nf
from netfold.embedder.options import Configured, holds, option, options
from netfold.models import MODELS
from netfold.models.lgp import LGPEmbedder

models = pytest.mark.parametrize("cls", [*MODELS.values(), nf.Embedder, LGPEmbedder])


def words(text: str | None) -> str:
    """A text without its line breaks."""
    return " ".join(str(text).split())


@models
def test_every_option_is_explained_with_its_default_and_range(cls: type) -> None:
    text = words(cls.__doc__)
    for o in options(cls):
        assert f" {o.name} : " in text and words(o.help) in text
        assert f"default {o.default!r} {words(o.help)}" in text
        for choice in o.choices:
            assert repr(choice) in text
    assert max(len(line) for line in str(cls.__doc__).split("Parameters\n---")[1].splitlines()) <= 100


CHOSEN = ("pair_score_", "trials_")
"""What is there where it was chosen on the data, by `auto` or a flag; `fit` alone chooses nothing."""


@models
def test_what_fit_leaves_behind_comes_after_the_options(cls: type) -> None:
    before, after = str(cls.__doc__).split("\nAttributes\n----------\n")
    assert "\nParameters\n----------\n" in before
    names = [line.split(" : ")[0] for line in after.splitlines() if not line.startswith(" ")]
    assert names == ["embedding_", "history_", "network_", "graph_facts_", *CHOSEN]


def test_a_fitted_model_has_these_attributes(sdne: nf.SDNE) -> None:
    assert sdne.__doc__ == nf.SDNE.__doc__
    for field in dataclasses.fields(sdne):
        assert hasattr(sdne, field.name) == (field.name not in CHOSEN)
    assert set(sdne.history_[0]) >= {"epoch", "objective", "seconds"}


def test_a_model_says_what_it_adds() -> None:
    assert "its deviation σ in `std`" in str(nf.DVNE.__doc__)
    assert "the vectors that `fit` was given, as they are" in words(nf.DepthLGP.__doc__)


@pytest.mark.parametrize("cls", MODELS.values())
def test_the_signature_shows_types_and_defaults(cls: type) -> None:
    shown = inspect.signature(cls)
    assert {name: x.default for name, x in shown.parameters.items()} == {o.name: o.default for o in options(cls)}
    assert {x.kind for x in shown.parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert "dim: int = " in str(shown) and "'int'" not in str(shown)


def test_help_begins_with_signature_and_text() -> None:
    lines = pydoc.plain(pydoc.render_doc(nf.SDNE)).splitlines()
    assert lines[3].startswith(" |  SDNE(*, dim: int = 128, epochs: int = 200")
    assert lines[5] == " |  Vectors that keep who is near whom, to the first and to the second order."
    assert " |  hidden : tuple of int, each at least 1, default (256,)" in lines
    assert " |  batch_size : int, at least 1, or None, default None" in lines


@pytest.mark.parametrize("cls", MODELS.values())
def test_examples_of_a_docstring_are_found_once(cls: type) -> None:
    found = doctest.DocTestFinder().find(importlib.import_module(cls.__module__))
    own = [test for test in found if test.examples and test.name.startswith(f"{cls.__module__}.{cls.__name__}")]
    assert [test.name for test in own].count(f"{cls.__module__}.{cls.__name__}") == 1
    assert not any("__doc__" in test.name for test in own)


def test_classes_of_users_are_explained_too() -> None:
    @dataclasses.dataclass(kw_only=True, repr=False, eq=False)
    class Plain(Configured):
        """Short."""

        rate: float | None = option(None, "how fast it goes", type=float, above=0, below=1)
        made_: int = dataclasses.field(init=False, metadata=holds("how many there are"))

    assert Plain.__doc__ == (
        "Short.\n\nParameters\n----------\nrate : float, above 0 and below 1, or None, default None\n"
        "    how fast it goes\n\nAttributes\n----------\nmade_ : int\n    how many there are\n"
    )

    class Undecorated(Plain):
        pass

    assert str(Undecorated.__doc__).startswith("Parameters\n----------\nrate : ")

    @dataclasses.dataclass(kw_only=True, slots=True)
    class Slots(Configured):
        """Made twice by dataclasses."""

        size: int = option(3, "how large it is")

    assert str(Slots.__doc__).count("how large it is") == 1

    @dataclasses.dataclass(kw_only=True)
    class Mixed(Configured):
        names: list[str]
        size: int = option(3, "how large it is")

    assert str(inspect.signature(Mixed)) == "(*, names: 'list[str]', size: int = 3)"


def test_making_it_loads_neither_numpy_nor_torch() -> None:
    code = "import sys, netfold as nf; nf.SDNE.__doc__; assert not {'numpy', 'torch'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("cls", [nf.Graph, nf.Hypergraph, nf.Embedding])
def test_values_name_their_constructors(cls: type) -> None:
    assert any(f"`{cls.__name__}.{name}`" in str(cls.__doc__) for name in ("from_edges", "from_tuples", "load"))
