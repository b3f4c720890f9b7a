"""Settings for all tests, and what those of several files ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

if TYPE_CHECKING:
    from netfold.data.embedding import Embedding
    from netfold.data.graph import Graph
    from netfold.models import SDNE
    from netfold.studies.reproduce import Table

torch.set_num_threads(1)  # tiny matrices on busy cores: threads would mostly wait for one another
# a failed assert of theirs shows its values, as one in a test does
pytest_plugins = ["skips"]
pytest.register_assert_rewrite("checkpointed", "command", "embeddings", "likes", "refusals", "saved_models")


@pytest.fixture
def draw() -> np.random.Generator:
    """Every test draws the same, whichever ran before it."""
    return np.random.default_rng(12)


@pytest.fixture(scope="session")
def sdne() -> SDNE:
    """One of the karate club, hardly trained."""
    from netfold.models import SDNE
    from zoo import karate

    return SDNE(dim=4, hidden=(6,), epochs=5).fit(karate(), progress=False)


@pytest.fixture
def tiny(tmp_path: Path) -> Table:
    """The tiny table of `published_tables`, in a folder of its own."""
    from published_tables import written  # only the tests that ask for it should read the tables

    return written(tmp_path)


@pytest.fixture(scope="session")
def blocks() -> Graph:
    """200 nodes in 5 blocks."""
    from netfold.studies.datasets import stochastic_block_model

    return stochastic_block_model((40,) * 5, p_in=0.2, p_out=0.005, seed=3)[0]


@pytest.fixture(scope="session")
def vectors(blocks: Graph) -> Embedding:
    """Theirs, in six dimensions."""
    import zoo

    return zoo.vectors(blocks, 6)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def edges_csv(here: Path) -> Path:
    """The edges of five people, alone in the current folder."""
    from command import EDGES

    (here / "edges.csv").write_text(EDGES, encoding="utf-8")
    return here / "edges.csv"


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model that `netfold fit sdne` makes of these people; not to be changed."""
    from command import EDGES, QUICK, succeed

    folder = tmp_path_factory.mktemp("people")
    (folder / "edges.csv").write_text(EDGES, encoding="utf-8")
    succeed("fit", "sdne", folder / "edges.csv", "-o", folder / "model", *QUICK)
    return folder / "model"


@pytest.fixture(scope="session")
def likes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of triples.csv, friends.tsv and the model that `netfold fit dhne` makes of both; not to be changed."""
    from likes import fit_in

    folder = tmp_path_factory.mktemp("likes")
    fit_in(folder)
    return folder


@pytest.fixture
def saved_model(tmp_path: Path) -> Path:
    """The folder of the model of `saved_models`, to be spoiled."""
    from saved_models import model

    model().save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The catalogue is that of `toy_datasets`, NETFOLD_DATA names their folder `data`, and the cache is empty."""
    from netfold.studies.datasets import catalogue
    from toy_datasets import written

    known = written(tmp_path / "data")
    monkeypatch.setattr(catalogue, "known", lambda: known)
    monkeypatch.setenv("NETFOLD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path
