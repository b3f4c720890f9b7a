"""The command line: what it prints and where, its exit codes, and that a refusal leaves nothing behind."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import netfold as nf
from netfold.cli import main
from netfold.cli.flags import flags, from_toml
from netfold.cli.saying import shown
from netfold.options import Configured, option, options

EDGES = "Ann,Bob,1\nBob,Cid,2\nCid,Ann,1\nCid,Dan,1\nDan,Zoë,3\nZoë,Ann,1\n"
QUICK = ["--dim", "3", "--hidden", "5", "--epochs", "3", "--quiet"]
KEPT = ["--checkpoint", "state", "--checkpoint-every", "0"]


def netfold(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


def succeed(*args: object) -> Result:
    result = netfold(*args)
    assert result.exit_code == 0, result.output
    return result


def refuse(*args: object, code: int = 2) -> str:
    """The one sentence of a command that must fail, without anything written anywhere near."""
    before = everything()
    result = netfold(*args)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and result.stderr.startswith("netfold: ")
    assert "Traceback" not in result.stderr
    assert everything() == before
    return result.stderr


def everything() -> list[tuple[str, bytes]]:
    return sorted((str(p), p.read_bytes() if p.is_file() else b"") for p in Path().rglob("*"))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text(EDGES, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "edges.csv").write_text(EDGES, encoding="utf-8")
    succeed("fit", "sdne", folder / "edges.csv", "-o", folder / "model", *QUICK)
    return folder / "model"


def run(*args: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The program as a process of its own."""
    command = [sys.executable, "-W", "error", "-m", "netfold.cli", *map(str, args)]
    return subprocess.run(command, capture_output=True, env=environ(**environment), timeout=60)


def environ(**more: str) -> dict[str, str]:
    source = str(Path(nf.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", **more}


# -------------------------------------------------------------------- help


def commands() -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = [("netfold", main)]
    for path, command in found:
        if isinstance(command, click.Group):
            context = click.Context(command)
            found += [(f"{path} {name}", command.get_command(context, name)) for name in command.list_commands(context)]  # type: ignore[misc]
    return found


@pytest.mark.parametrize("path, command", commands())
def test_every_command_and_flag_has_help_and_an_example(path: str, command: click.Command) -> None:
    assert command.help
    assert str(command.epilog).startswith("Example: netfold ")
    options_ = [p for p in command.params if isinstance(p, click.Option)]
    assert all(p.help and len(p.help) > 8 for p in options_ if p.name != "k")
    spelled = [name for p in options_ for name in (*p.opts, *p.secondary_opts)]
    assert len(spelled) == len(set(spelled))
    names = [p.name for p in command.params]
    assert len(names) == len(set(names))
    assert path.split(" ", 1)[-1] in succeed(*path.split()[1:], "--help").stdout


HELPS = ["", "fit dhne", "complete", "map", "reproduce", "report", "compare", "choose", "evaluate classification sdne"]


@pytest.mark.parametrize("args", [[*x.split(), "--help"] for x in HELPS])
def test_help_loads_neither_numpy_nor_torch_and_is_instant(args: list[str]) -> None:
    code = f"""
import sys
from netfold.cli import main
try: main({args!r})
except SystemExit as e: assert e.code == 0
heavy = {{"numpy", "scipy", "torch", "matplotlib", "rich"}} & set(sys.modules)
sys.exit(f"loaded {{heavy}}" if heavy else 0)
"""
    took = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, env=environ())
        took.append(time.perf_counter() - start)
    assert statistics.median(took) < 1.5  # 0.15 on a quiet machine


def test_no_arguments_show_the_help() -> None:
    result = netfold()
    assert result.exit_code == 2
    assert "Commands:" in result.stderr


def test_version() -> None:
    assert succeed("--version").stdout.startswith("netfold ")


@pytest.mark.parametrize("name", nf.MODELS)
def test_every_option_of_every_model_is_a_flag_with_its_default(name: str) -> None:
    text = " ".join(succeed("fit", name, "--help").stdout.split())
    for o in options(nf.MODELS[name]):
        assert f"--{o.name.rstrip('_').replace('_', '-')}" in text
        assert all(choice in text for choice in o.choices)


# -------------------------------------------------------------------- flags of options


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
    config = json.loads(succeed("info", "model", "--json").stdout)["config"]
    assert (config["dim"], config["epochs"], config["hidden"]) == (3, 4, [6])


def test_a_flag_that_repeats_the_default_wins_too() -> None:
    Path("c.toml").write_text("dim = 2\nepochs = 1\nhidden = [6]\nbeta = 3.0\n")
    succeed("fit", "sdne", "edges.csv", "-o", "model", "--config", "c.toml", "--beta", "10", "-q")
    assert json.loads(succeed("info", "model", "--json").stdout)["config"]["beta"] == 10


# -------------------------------------------------------------------- what the verbs do


def test_fit_prints_facts_and_saves_what_the_library_saves() -> None:
    result = succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK, "--json")
    facts = json.loads(result.stdout)
    assert result.stderr == ""
    assert (facts["model"], facts["nodes"], facts["edges"], facts["epochs"]) == ("SDNE", 5, 6, 3)
    assert facts["path"] == "model" and facts["seconds"] > 0 and set(facts["losses"]) > {"second_order"}
    assert facts["objective"] == pytest.approx(sum(facts["losses"].values()))
    again = nf.SDNE(dim=3, hidden=(5,), epochs=3).fit(nf.read_edges("edges.csv"), progress=False)
    assert np.array_equal(nf.load("model").embedding_.vectors, again.embedding_.vectors)


def test_progress_goes_to_stderr_and_the_result_to_stdout() -> None:
    result = succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK[:-1])
    assert "epoch 3/3" in result.stderr and "epoch" not in result.stdout.replace("epochs", "")
    assert result.stdout.startswith("SDNE of 5 nodes and 6 edges") and result.stdout.endswith("model\n")


def test_fit_without_epochs() -> None:
    facts = json.loads(succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK, "--epochs", "0", "--json").stdout)
    assert facts["epochs"] == 0 and facts["losses"] == {} and facts["objective"] is None
    assert "0 epochs" in succeed("fit", "sdne", "edges.csv", "-o", "m2", *QUICK, "--epochs", "0").stdout


def test_a_saved_graph_serves_as_edges(fitted: Path) -> None:
    nf.read_edges("edges.csv").save("graph")
    succeed("fit", "sdne", "graph", "-o", "model", *QUICK)
    assert np.array_equal(nf.load("model").embedding_.vectors, nf.load(fitted).embedding_.vectors)
    assert "--directed" in refuse("fit", "sdne", "graph", "-o", "other", "--directed")


def test_the_reading_flags_reach_the_reader() -> None:
    Path("odd.txt").write_text("x;y;z\nAnn;Bob;2\nBob;Cid;3\n")
    flags_ = ["--directed", "--unweighted", "--delimiter", ";", "--no-header"]
    facts = json.loads(succeed("info", "odd.txt", *flags_, "--json").stdout)
    expected = nf.read_edges("odd.txt", directed=True, weighted=False, delimiter=";", header=False)
    assert (facts["nodes"], facts["directed"], facts["weighted"]) == (expected.n_nodes, True, False)
    assert facts["edges"] == expected.n_edges == 3


def test_force_replaces_a_model_and_nothing_else(fitted: Path) -> None:
    succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK)
    succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK, "--dim", "2", "--force")
    assert nf.load("model").embedding_.dim == 2
    Path("holiday").mkdir()
    Path("holiday/photo.jpg").write_text("dear")
    assert "did not write" in refuse("fit", "sdne", "edges.csv", "-o", "holiday", *QUICK, "--force")
    assert "is a file" in refuse("fit", "sdne", "edges.csv", "-o", "edges.csv", *QUICK, "--force")
    Path("pictures.npz").mkdir()
    assert "is a folder" in refuse("export", fitted, "-o", "pictures.npz", "--force")


def test_nearest_is_what_the_library_says(fitted: Path) -> None:
    facts = json.loads(succeed("nearest", fitted, "Zoë", "-k", 2, "--metric", "dot", "--json").stdout)
    expected = nf.load(fitted).embedding_.nearest("Zoë", k=2, metric="dot")
    assert [(x["label"], x["score"]) for x in facts["nearest"]] == expected
    assert (facts["label"], facts["metric"]) == ("Zoë", "dot")
    lines = succeed("nearest", fitted, "Ann").stdout.splitlines()
    assert [line.split()[1] for line in lines] == [x for x, _ in nf.load(fitted).embedding_.nearest("Ann")]


def test_integer_labels_are_typed_as_such() -> None:
    nf.Embedding([-7, 8, 9], [[1, 0], [1, 1], [0, 1]]).save("e.npz")
    assert json.loads(succeed("nearest", "e.npz", "8", "--json").stdout)["label"] == 8
    assert json.loads(succeed("nearest", "e.npz", "--json", "--", "-7").stdout)["nearest"][0]["label"] == 8


@pytest.mark.parametrize("ending", ["parquet", "npz", "npy", "txt", "w2v", "bin"])
def test_export_writes_every_format(fitted: Path, ending: str) -> None:
    facts = json.loads(succeed("export", fitted, "-o", f"e.{ending}", "--json").stdout)
    assert facts == {"nodes": 5, "dim": 3, "path": f"e.{ending}"}
    back, own = nf.Embedding.load(f"e.{ending}"), nf.load(fitted).embedding_
    assert list(back.nodes) == list(own.nodes)
    assert np.allclose(back.vectors, own.vectors, rtol=1e-6)
    assert "--force" in refuse("export", fitted, "-o", f"e.{ending}")
    succeed("export", fitted, "-o", f"e.{ending}", "--force")


def test_transform_gives_new_nodes_their_vectors(fitted: Path) -> None:
    Path("later.csv").write_text("Eve,Ann,1\nEve,Cid,2\nÖz,Bob,1\n", encoding="utf-8")
    facts = json.loads(succeed("transform", fitted, "later.csv", "-o", "new.npz", "--json").stdout)
    assert (facts["new_nodes"], facts["nodes"], facts["path"]) == (2, 5, "new.npz")
    expected = nf.load(fitted).transform(nf.read_edges("later.csv"))
    assert np.array_equal(nf.Embedding.load("new.npz")["Eve"], expected["Eve"])


def test_transform_of_nothing_new_writes_an_empty_file(fitted: Path) -> None:
    assert succeed("transform", fitted, "edges.csv", "-o", "new.npz").stdout.startswith("0 of 5 nodes are new")
    assert len(nf.Embedding.load("new.npz")) == 0


def test_transform_reads_edges_as_directed_where_the_model_is() -> None:
    succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK, "--directed")
    Path("later.csv").write_text("Eve,Ann,1\n")
    succeed("transform", "model", "later.csv", "-o", "new.npz")
    Path("later.csv").write_text("Ann,Eve,1\n")
    assert "Eve" in refuse("transform", "model", "later.csv", "-o", "other.npz")


@pytest.mark.parametrize("first, later", [("1,2\n2,3\n3,1\n", "x,2\nx,3\n"), ("1,2\n2,3\n3,q\n", "7,2\n7,3\n")])
def test_transform_knows_labels_whatever_else_is_in_the_file(first: str, later: str) -> None:
    """Integers are text in a file where another label is: 2 is the node 2 all the same."""
    Path("first.csv").write_text(first)
    Path("later.csv").write_text(later)
    succeed("fit", "sdne", "first.csv", "-o", "model", *QUICK)
    assert json.loads(succeed("transform", "model", "later.csv", "-o", "new.npz", "--json").stdout)["new_nodes"] == 1


def test_info_of_edges_a_graph_a_model_and_a_checkpoint(fitted: Path) -> None:
    facts = json.loads(succeed("info", "edges.csv", "--json").stdout)
    assert (facts["kind"], facts["nodes"], facts["edges"], facts["components"]) == ("graph", 5, 6, 1)
    assert facts["weights"] == {"min": 1, "max": 3} and facts["labels"] == ["Ann", "Bob", "Cid"]
    nf.read_edges("edges.csv").save("graph")
    assert json.loads(succeed("info", "graph", "--json").stdout) == facts | {"path": "graph"}
    model = json.loads(succeed("info", fitted, "--json").stdout)
    assert (model["kind"], model["model"], model["nodes"], model["epochs"]) == ("model", "SDNE", 5, 3)
    succeed("fit", "sdne", "edges.csv", "-o", "model", *QUICK, *KEPT)
    assert json.loads(succeed("info", "state", "--json").stdout)["kind"] == "checkpoint"
    for path in ("edges.csv", "graph", fitted, "state"):
        assert "nodes" in succeed("info", path).stdout
    assert "--header" in refuse("info", fitted, "--header")


def test_map_draws(fitted: Path) -> None:
    facts = json.loads(succeed("map", fitted, "-o", "map.png", "--labels", 2, "--edges", "edges.csv", "--json").stdout)
    assert facts == {"nodes": 5, "method": "pca", "labels": 2, "path": "map.png"}
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")
    assert "--force" in refuse("map", fitted, "-o", "map.png")
    assert ".png" in refuse("map", fitted, "-o", "map.gif")


def test_labels_cannot_command_the_terminal() -> None:
    assert shown("Zoë 日本") == "Zoë 日本"
    assert shown("a\x1b[2J\nb") == "a\\x1b[2J\\nb"


# -------------------------------------------------------------------- bad input

BAD_FILES: dict[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)) * 9,
    "one column": b"a\nb\nc\n",
    "negative weight": b"a,b,-1\nb,c,1\n",
    "NaN weight": b"a,b,1\nb,c,nan\n",
    "infinite weight": b"a,b,1\nb,c,inf\n",
    "text weight": b"source,target,weight\na,b,heavy\n",
    "no edges": b"source,target\n",
    "one node": b"a,a\n",
    "weights of 0": b"a,b,0\nb,c,0\n",
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
@pytest.mark.parametrize("verb", ["fit", "transform"])
def test_a_bad_file_is_refused(verb: str, content: bytes, fitted: Path) -> None:
    Path("bad.csv").write_bytes(content)
    args = (
        ["fit", "sdne", "bad.csv", "-o", "model"] if verb == "fit" else ["transform", fitted, "bad.csv", "-o", "n.npz"]
    )
    assert len(refuse(*args)) > 30


@pytest.mark.parametrize("path", ["nowhere.csv", "folder"])
@pytest.mark.parametrize("verb", ["fit", "transform", "info"])
def test_a_missing_file_or_a_folder_is_refused(verb: str, path: str, fitted: Path) -> None:
    Path("folder").mkdir()
    args = {"fit": ["sdne", path, "-o", "m"], "transform": [fitted, path, "-o", "n.npz"], "info": [path]}[verb]
    assert path in refuse(verb, *args)


USAGE = {
    "dim below 1": ("fit sdne edges.csv -o m --dim 0", "--dim"),
    "no number": ("fit sdne edges.csv -o m --alpha much", "--alpha"),
    "unknown choice": ("fit sdne edges.csv -o m --activation relu", "tanh"),
    "unknown flag": ("fit sdne edges.csv -o m --dmi 3", "--dim"),
    "unknown model": ("fit word2vec edges.csv -o m", "sdne"),
    "no output": ("fit sdne edges.csv", "--out"),
    "no edges": ("fit sdne -o m", "EDGES"),
    "unknown verb": ("fti sdne", "fti"),
    "unknown metric": ("nearest MODEL Ann --metric taxicab", "cosine"),
    "no neighbor": ("nearest MODEL Ann -k 0", "-k"),
    "unknown label": ("nearest MODEL anne", "Ann"),
    "unknown label, unlike any": ("nearest MODEL 77777", "Ann"),
    "unknown ending": ("export MODEL -o vectors.doc", ".parquet"),
    "unknown ending of new": ("transform MODEL edges.csv -o vectors.doc", ".parquet"),
    "unknown method": ("map MODEL -o m.png --method umap", "tsne"),
    "not a model": ("nearest nowhere Ann", "nowhere"),
    "an edge file for a model": ("nearest edges.csv Ann", "edges.csv"),
    "negative time": ("fit sdne edges.csv -o m --checkpoint-every -1", "--checkpoint-every"),
    "a state in the model": ("fit sdne edges.csv -o m --checkpoint m/state", "m/state"),
    "no such parent": ("fit sdne edges.csv -o no/such/m", "no/such"),
    "no such parent of a file": ("export MODEL -o no/such/v.npz", "no/such"),
    "pretraining that does not fit": ("fit sdne edges.csv -o m --pretrain dbn", "sigmoid"),
}


@pytest.mark.parametrize("line, named", USAGE.values(), ids=USAGE)
def test_bad_usage_is_refused(line: str, named: str, fitted: Path) -> None:
    assert named in refuse(*line.replace("MODEL", str(fitted)).split())


def test_an_output_that_exists_is_refused_before_anything_is_read() -> None:
    Path("model").mkdir()
    said = refuse("fit", "sdne", "nowhere.csv", "-o", "model")
    assert "model exists" in said and "--force" in said


def test_a_folder_that_cannot_be_written_is_refused_before_training(
    monkeypatch: pytest.MonkeyPatch, fitted: Path
) -> None:
    monkeypatch.setattr("netfold.files.os.access", lambda *_: False)
    monkeypatch.setattr(nf.SDNE, "fit", lambda *_, **__: pytest.fail("trained for nothing"))
    for args in (
        ["fit", "sdne", "edges.csv", "-o", "m"],
        ["export", fitted, "-o", "v.npz"],
        ["map", fitted, "-o", "m.png"],
    ):
        assert "cannot be written to" in refuse(*args)


@pytest.mark.parametrize("verb", ["fit", "fit with a checkpoint", "export", "transform", "map"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    verb: str, monkeypatch: pytest.MonkeyPatch, fitted: Path
) -> None:
    Path("later.csv").write_text("Eve,Ann,1\n")
    Path("state").mkdir()

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("netfold.files._fsync", full)
    args: dict[str, list[object]] = {
        "fit": ["fit", "sdne", "edges.csv", "-o", "m", *QUICK],
        "fit with a checkpoint": ["fit", "sdne", "edges.csv", "-o", "m", *QUICK, *KEPT],
        "export": ["export", fitted, "-o", "v.npz"],
        "transform": ["transform", fitted, "later.csv", "-o", "v.npz"],
        "map": ["map", fitted, "-o", "m.png"],
    }  # fmt: skip
    assert "No space left" in refuse(*args[verb])


def test_a_disk_that_fills_up_outside_our_staging_is_one_sentence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "metrics.jsonl")

    monkeypatch.setattr(nf.SDNE, "fit", full)
    assert "metrics.jsonl: No space left" in refuse("fit", "sdne", "edges.csv", "-o", "m")


def test_a_hypergraph_is_refused_by_sdne() -> None:
    with pytest.raises(nf.InputError, match="hypergraph"):
        nf.SDNE().fit(nf.Hypergraph.from_tuples([("a", "b", "c")]), progress=False)


@pytest.mark.parametrize(
    "damage", ["truncated", "changed", "no manifest", "no json", "no list", "other version", "missing"]
)
@pytest.mark.parametrize("verb", ["nearest", "info"])
def test_a_damaged_model_is_refused(verb: str, damage: str, fitted: Path) -> None:
    folder = Path("model")
    folder.mkdir()
    for file in fitted.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    tensors, manifest = folder / "tensors.safetensors", folder / "manifest.json"
    if damage == "truncated":
        tensors.write_bytes(tensors.read_bytes()[:-9])
    elif damage == "changed":
        tensors.write_bytes(tensors.read_bytes()[:-1] + b"\x99")
    elif damage == "no manifest":
        manifest.unlink()
    elif damage == "missing":
        tensors.unlink()
    else:
        facts = json.loads(manifest.read_text(encoding="utf-8"))
        made = {"no json": "{", "no list": json.dumps([facts]), "other version": json.dumps(facts | {"format": 99})}
        manifest.write_text(made[damage])
    assert "model" in refuse(verb, folder, *(["Ann"] if verb == "nearest" else []))


# -------------------------------------------------------------------- failures that are not the input's


def test_training_that_fails_exits_with_1() -> None:
    said = refuse("fit", "sdne", "edges.csv", "-o", "m", *QUICK, "--optimizer", "sgd", "--lr", "1e30", code=1)
    assert "epoch" in said


def broken(*_: object, **__: object) -> None:
    raise ZeroDivisionError("who would have thought")


def test_the_unexpected_asks_for_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.cli.nearest.model_of", broken)
    said = refuse("nearest", "m", "Ann", code=1)
    assert "ZeroDivisionError" in said and "report" in said
    monkeypatch.setenv("NETFOLD_TRACEBACK", "1")
    result = netfold("nearest", "m", "Ann")
    assert result.exit_code == 1 and "Traceback" in result.stderr and "in broken" in result.stderr


def test_too_little_memory_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(nf.SDNE, "fit", full)
    assert "memory" in refuse("fit", "sdne", "edges.csv", "-o", "m", code=1)


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_without_a_checkpoint_says_how_to_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nf.SDNE, "fit", interrupted)
    said = refuse("fit", "sdne", "edges.csv", "-o", "my model/", code=1)
    assert "netfold fit sdne edges.csv -o 'my model/' --checkpoint 'my model.state'" in said
    assert "before" in refuse("fit", "sdne", "edges.csv", "-o", "m", "--checkpoint", "state", code=1)


def test_an_interrupt_elsewhere_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netfold.cli.nearest.model_of", interrupted)
    result = netfold("nearest", "m", "Ann")
    assert result.exit_code == 1 and result.stderr.strip() == "netfold: interrupted"


INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
from netfold.cli import main
main()
"""


def test_ctrl_c_leaves_a_checkpoint_from_which_the_same_command_goes_on() -> None:
    args = [
        "fit",
        "sdne",
        "edges.csv",
        "-o",
        "model",
        "--dim",
        "3",
        "--hidden",
        "5",
        "--epochs",
        "500",
        "--tolerance",
        "0",
    ]
    args += ["--checkpoint", "the state", "--json"]
    command = [sys.executable, "-W", "error", "-c", INTERRUPTIBLE, *args]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environ(), "text": True}
    with subprocess.Popen(command, **pipes) as first:
        assert first.stderr is not None
        assert "epoch 1/500" in first.stderr.readline()
        first.send_signal(signal.SIGINT)
        out, err = first.communicate(timeout=60)
    assert first.returncode == 1 and out == ""
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert "the state" in last and shlex.join(["netfold", *args]) in last
    assert not Path("model").exists()

    second = subprocess.run(command, timeout=60, **pipes)
    assert second.returncode == 0, second.stderr
    assert "going on after epoch" in second.stderr
    assert json.loads(second.stdout)["epochs"] == len(nf.load("model").history_) == 500


# -------------------------------------------------------------------- as a process of its own


def test_in_a_process_a_refusal_is_one_line_and_exit_code_2() -> None:
    result = run("fit", "sdne", "nowhere.csv", "-o", "m")
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.count(b"\n") == 1 and b"nowhere.csv" in result.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_labels_are_printed_as_the_terminal_can(encoding: str) -> None:
    nf.Embedding(["Zoë", "日本"], [[1, 0], [1, 1]]).save("e.npz")
    text = run("nearest", "e.npz", "Zoë", PYTHONIOENCODING=encoding)
    assert text.returncode == 0 and text.stderr == b""
    assert (rb"\u65e5\u672c" if encoding == "latin-1" else "日本".encode()) in text.stdout  # click mends ascii
    facts = run("nearest", "e.npz", "Zoë", "--json", PYTHONIOENCODING=encoding)
    assert json.loads(facts.stdout)["nearest"][0]["label"] == "日本"


def test_a_closed_pipe_is_no_error_message() -> None:
    nf.Embedding(range(5000), np.random.default_rng(0).normal(size=(5000, 2))).save("e.npz")
    command = [sys.executable, "-m", "netfold.cli", "nearest", "e.npz", "7", "-k", "4999"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ()) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert said == b""
