"""States of several ranks: whole at every moment, without a pickle, and gone on from by any number of ranks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netfold as nf
from netfold.errors import InputError
from several import on_ranks, refused, trained

OPTIONS: dict[str, Any] = {"dim": 4, "hidden": (8,), "epochs": 8, "device": "cpu"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    graph = nf.Graph.from_edges(rng.integers(0, 90, (300, 2)), rng.random(300) + 0.1, nodes=range(97))
    graph.save(tmp_path / "g.parts", parts=7)
    return tmp_path / "g.parts"


def run(size: int, *args: Any) -> list[dict[str, Any]]:
    return on_ranks(size, trained, *args) if size > 1 else [trained(*args)]


def vectors(answers: list[dict[str, Any]]) -> Any:
    return np.concatenate([x["vectors"] for x in answers])


def go_on(folder: Path, before: int, after: int, options: dict[str, Any]) -> None:
    """Three epochs on so many ranks, the rest on others, against never stopped."""
    whole, checkpoint = run(before, folder, options), folder.with_name("ck")
    first = run(before, folder, options, checkpoint, 3)
    assert first[0]["objectives"] == whole[0]["objectives"][:3]
    assert sorted(x.name for x in checkpoint.glob("state-*")) == ["state-000002", "state-000003"]
    second = run(after, folder, options, checkpoint)
    assert all(x["objectives"] == second[0]["objectives"] for x in second)
    assert [y for x in second for y in x["nodes"]] == [y for x in whole for y in x["nodes"]]
    if before == after:  # the same bits
        assert second[0]["objectives"] == whole[0]["objectives"]
        np.testing.assert_array_equal(vectors(second), vectors(whole))
    np.testing.assert_allclose(second[0]["objectives"], whole[0]["objectives"], rtol=1e-6)
    np.testing.assert_allclose(vectors(second), vectors(whole), atol=1e-4)


@pytest.mark.parametrize("optimizer", ["adam", "adam16", "sgd", "row_adagrad"])
def test_one_rank_goes_on_to_the_same_bits(optimizer: str, folder: Path) -> None:
    go_on(folder, 1, 1, OPTIONS | {"optimizer": optimizer, "lr": 1e-3})


def test_two_ranks_wrote_it_and_one_goes_on(folder: Path) -> None:
    go_on(folder, 2, 1, OPTIONS | {"dropout": 0.2, "row_damping": 0.3, "column_damping": 0.3})


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(1, 2), (1, 4), (2, 2), (2, 3), (3, 1), (3, 3), (4, 2), (4, 4), (3, 4)])
def test_any_number_of_ranks_goes_on(before: int, after: int, folder: Path) -> None:
    go_on(folder, before, after, OPTIONS)


STEPS: list[dict[str, Any]] = [
    {"model": "line", "dim": 4, "order": "first", "epochs": 5, "device": "cpu"},
    {"model": "line", "dim": 4, "epochs": 5, "device": "cpu"},
    {"model": "node2vec", "dim": 4, "length": 10, "p": 0.5, "epochs": 5, "device": "cpu"},
    {"model": "drne", "dim": 4, "batch_size": 30, "max_neighbors": 5, "rounds": 2, "epochs": 5, "device": "cpu"},
]
"""Models that are trained in steps; of the first one a table has no width."""


@pytest.mark.parametrize("options", STEPS)
def test_models_of_steps_go_on(options: dict[str, Any], folder: Path) -> None:
    go_on(folder, 1, 1, options)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 2), (2, 3), (3, 1), (4, 2)])
@pytest.mark.parametrize("options", STEPS[1:])
def test_models_of_steps_go_on_elsewhere(options: dict[str, Any], before: int, after: int, folder: Path) -> None:
    go_on(folder, before, after, options)


def test_no_file_is_a_pickle(folder: Path) -> None:
    trained(folder, OPTIONS, folder.with_name("ck"), 2)
    files = [x for x in folder.with_name("ck").rglob("*") if x.is_file()]
    assert {x.suffix for x in files} == {".safetensors", ".json", ".jsonl"}
    for x in files:
        if x.suffix == ".safetensors":
            raw = x.read_bytes()
            header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
            ends = [e["data_offsets"][1] for name, e in header.items() if name != "__metadata__"]
            assert len(raw) == 8 + int.from_bytes(raw[:8], "little") + max(ends)
    assert not list(folder.with_name("ck").rglob(".metadata"))


HARM: dict[str, tuple[Any, str]] = {
    "a changed byte": (lambda x: _change(x / "part-00003.safetensors"), r"its hash differs.*remove .* to go on from"),
    "a missing part": (lambda x: (x / "part-00002.safetensors").unlink(), "is missing.*remove"),
    "no manifest of json": (lambda x: (x / "manifest.json").write_text("{"), "is not json"),
    "another kind": (lambda x: _said(x, kind="model"), "does not describe a checkpoint"),
    "no files": (lambda x: _said(x, files=1), "lists no files"),
    "another graph": (lambda x: _said(x, run={}), "the checkpoint of another model"),
    "no history": (lambda x: _said(x, history=[{}]), "no record of numbers"),
}


def _change(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)


def _said(folder: Path, **changes: Any) -> None:
    facts = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(facts | changes))


@pytest.mark.parametrize("harm", HARM)
def test_damaged_states_are_refused(harm: str, folder: Path) -> None:
    checkpoint = folder.with_name("ck")
    trained(folder, OPTIONS, checkpoint, 3)
    change, said = HARM[harm]
    change(checkpoint / "state-000003")
    with pytest.raises(InputError, match=said):
        trained(folder, OPTIONS, checkpoint)
    shutil.rmtree(checkpoint / "state-000003")
    assert len(trained(folder, OPTIONS, checkpoint)["objectives"]) == 8


def test_another_configuration_is_refused(folder: Path) -> None:
    trained(folder, OPTIONS, folder.with_name("ck"), 2)
    with pytest.raises(InputError, match=r"another configuration \(dim differs\)"):
        trained(folder, OPTIONS | {"dim": 5}, folder.with_name("ck"))


def test_a_state_that_was_being_written_is_swept(folder: Path) -> None:
    checkpoint = folder.with_name("ck")
    whole = trained(folder, OPTIONS)
    trained(folder, OPTIONS, checkpoint, 3)
    shutil.copytree(checkpoint / "state-000003", checkpoint / "state-000004.part")
    again = trained(folder, OPTIONS, checkpoint)
    assert again["objectives"] == whole["objectives"] and not list(checkpoint.glob("*.part"))


@pytest.mark.parametrize(
    "mine",
    ["state-000002/notes.txt", "state-000004.part/notes.txt", "state-000004.part/rank-00000/notes.txt", "state-000009"],
)
def test_what_netfold_did_not_write_is_never_removed(mine: str, folder: Path) -> None:
    """Not a folder of such a name, nor a state that holds something of somebody else's."""
    checkpoint = folder.with_name("ck")
    trained(folder, OPTIONS, checkpoint, 3)
    (checkpoint / mine).parent.mkdir(parents=True, exist_ok=True)
    (checkpoint / mine).write_text("mine")
    for options in (OPTIONS, OPTIONS | {"dim": 3}):
        with pytest.raises(InputError, match=r"holds 'state-.*', which netfold did not write; move that"):
            trained(folder, options, checkpoint)
    assert (checkpoint / mine).read_text() == "mine"


def test_what_comes_while_it_trains_is_not_removed_either(folder: Path) -> None:
    checkpoint, note = folder.with_name("ck"), folder.with_name("ck") / "state-000001" / "notes.txt"
    beside = checkpoint / "state-of-the-art.part" / "mine.txt"
    beside.parent.mkdir(parents=True)
    beside.write_text("mine")
    model = nf.SDNE(**OPTIONS)
    put = {2: note, 5: checkpoint / "state-000007.part" / "mine.txt"}

    def on_epoch(record: dict[str, float]) -> bool:
        if path := put.get(int(record["epoch"])):
            path.parent.mkdir(exist_ok=True)
            path.write_text("mine")
        return False

    with pytest.raises(InputError, match="holds 'state-000007.part/mine.txt'"):
        model.fit(folder, progress=False, checkpoint=checkpoint, checkpoint_every=0.0, on_epoch=on_epoch)
    assert all(x.read_text() == "mine" for x in (*put.values(), beside))
    assert (note.parent / "manifest.json").exists()  # that state is left whole


@pytest.mark.slow
def test_rank_0_speaks_for_all(folder: Path) -> None:
    """Of a damaged state, of which another rank finds out, and of a damaged part of the graph."""
    checkpoint = folder.with_name("ck")
    on_ranks(2, trained, folder, OPTIONS, checkpoint, 3)
    _change(checkpoint / "state-000003" / "part-00003.safetensors")
    first, second = on_ranks(2, refused, trained, folder, OPTIONS, checkpoint)
    assert "its hash differs" in first and "rank" in first and second == f"silent: {first}"
    _change(folder / "part-00006.safetensors")
    first, second = on_ranks(2, refused, trained, folder, OPTIONS)
    assert first.startswith("rank 1 of 2 on ") and "its hash differs" in first and second == f"silent: {first}"
