"""Files: a reader sees the old one or the new one, whatever goes wrong, and nothing is left behind."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from netfold.errors import InputError
from netfold.io import files
from netfold.io.files import check_room, check_writable, locked_file, remove_ours, sha256, staged_file, staged_folder


def content(path: Path) -> str:
    return (path / "a.txt" if path.is_dir() else path).read_text()


def write(kind: str, path: Path, text: str) -> None:
    if kind == "file":
        with staged_file(path) as part:
            part.write_text(text)
    else:
        with staged_folder(path, force=True) as part:
            (part / "a.txt").write_text(text)
            (part / "manifest.json").write_text('{"format": 1, "kind": "model", "files": [{"name": "a.txt"}]}')


both = pytest.mark.parametrize("kind", ["file", "folder"])


@both
@pytest.mark.parametrize("name", ["x.npy", "old", "new", "ünï.d", "n" * 250])
def test_written_and_replaced(kind: str, name: str, tmp_path: Path) -> None:
    target = tmp_path / name
    for text in ("first", "second"):
        write(kind, target, text)
        assert content(target) == text
    assert os.listdir(tmp_path) == [name]


@both
@pytest.mark.parametrize("crash", [RuntimeError, KeyboardInterrupt])
def test_a_crash_leaves_what_was_there(kind: str, crash: type[BaseException], tmp_path: Path) -> None:
    write(kind, tmp_path / "x", "first")
    stage: Any = staged_file(tmp_path / "x") if kind == "file" else staged_folder(tmp_path / "x", force=True)
    with pytest.raises(crash), stage as part:
        (part if kind == "file" else part / "a.txt").write_text("half")
        raise crash
    assert content(tmp_path / "x") == "first"
    assert os.listdir(tmp_path) == ["x"]


@both
def test_a_killed_process_leaves_what_was_there(kind: str, tmp_path: Path) -> None:
    write(kind, tmp_path / "x", "first")
    stage = "staged_file({0!r})" if kind == "file" else "staged_folder({0!r}, force=True)"
    code = f"""
import os
from netfold.io.files import staged_file, staged_folder
with {stage.format(str(tmp_path / "x"))} as part:
    (part if {kind == "file"} else part / "a.txt").write_text("half")
    os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert content(tmp_path / "x") == "first"


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("file", "fsync"),
        ("file", "replace"),
        ("file", "mkdir"),
        ("folder", "fsync"),
        ("folder", "rename"),
        ("folder", "mkdir"),
    ],
)
def test_a_full_disk_leaves_what_was_there(
    kind: str, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(kind, tmp_path / "x", "first")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, call, full)
        if call == "rename":
            patch.setattr(files, "_exchange", lambda one, other: False)
        with pytest.raises(InputError, match=r"x cannot be written: No space left on device"):
            write(kind, tmp_path / "x", "second")
    assert content(tmp_path / "x") == "first"
    assert os.listdir(tmp_path) == ["x"]


def test_a_folder_that_cannot_take_its_name_gives_the_old_one_back(tmp_path: Path, monkeypatch: Any) -> None:
    write("folder", tmp_path / "x", "first")
    rename = os.rename
    calls: list[str] = []

    def second_fails(source: Any, target: Any) -> None:
        calls.append(Path(target).name)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    monkeypatch.setattr(files.os, "rename", second_fails)
    with pytest.raises(InputError, match="Input/output error"):
        write("folder", tmp_path / "x", "second")
    assert calls == ["old", "x", "x"]
    assert content(tmp_path / "x") == "first"
    assert os.listdir(tmp_path) == ["x"]


def test_all_is_flushed_before_it_takes_the_name(tmp_path: Path, monkeypatch: Any) -> None:
    flushed: list[str] = []
    fsync = files._fsync

    def noted(path: Path) -> None:
        flushed.append(path.name)
        assert path == tmp_path or not (tmp_path / ("y" if path.name == "y" else "x")).exists()
        fsync(path)

    monkeypatch.setattr(files, "_fsync", noted)
    with staged_folder(tmp_path / "x") as part:
        (part / "inner").mkdir()
        for name in ("a.txt", "inner/b.txt"):
            (part / name).write_text("first")
    assert sorted(flushed) == sorted(["a.txt", "b.txt", "inner", "new", tmp_path.name])
    assert flushed[-1] == tmp_path.name, "a rename is on the disk once its folder is"
    flushed.clear()
    write("file", tmp_path / "y", "first")
    assert flushed == ["y", tmp_path.name]


def test_existing_without_force(tmp_path: Path) -> None:
    write("folder", tmp_path / "x", "first")
    with pytest.raises(InputError, match=r"x exists; give another name, or force"), staged_folder(tmp_path / "x"):
        pytest.fail("the folder was given")
    with pytest.raises(InputError, match="exists"):
        check_writable(tmp_path / "x")
    check_writable(tmp_path / "x", force=True)
    check_writable(tmp_path / "y")


def test_a_folder_that_netfold_did_not_write_is_never_replaced(tmp_path: Path) -> None:
    """`-o ~/documents --force` is a slip of the hand, not a wish."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years")
    with pytest.raises(InputError, match="did not write"), staged_folder(tmp_path / "mine", force=True):
        pytest.fail("the folder was given")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years"
    (tmp_path / "empty").mkdir()
    check_writable(tmp_path / "empty", force=True)


def test_a_link_to_nothing_counts_as_existing(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match="exists"):
        check_writable(tmp_path / "x")
    write("folder", tmp_path / "x", "first")
    assert content(tmp_path / "x") == "first"
    assert not (tmp_path / "x").is_symlink()


def test_a_link_is_replaced_not_what_it_leads_to(tmp_path: Path) -> None:
    write("folder", tmp_path / "precious", "kept")
    (tmp_path / "x").symlink_to(tmp_path / "precious")
    write("folder", tmp_path / "x", "first")
    assert (content(tmp_path / "x"), content(tmp_path / "precious")) == ("first", "kept")


def test_a_file_does_not_replace_a_folder(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(InputError, match="is a folder; give the name of a file"):
        write("file", tmp_path / "x", "text")


def test_where_nothing_can_be_written(tmp_path: Path, monkeypatch: Any) -> None:
    with pytest.raises(InputError, match="missing is not a folder; make it first"):
        check_writable(tmp_path / "missing" / "x")
    with pytest.raises(InputError, match="No such file"):
        write("file", tmp_path / "missing" / "x", "text")
    for kind in ("file", "folder"):
        with pytest.raises(InputError, match="name too long"):
            write(kind, tmp_path / ("n" * 300), "text")
    with pytest.raises(InputError, match="name too long"):
        check_writable(tmp_path / ("n" * 300))
    with monkeypatch.context() as at:  # as /proc answers root: all may be done there, and nothing can
        at.setattr(files.tempfile, "mkdtemp", lambda **_: os.stat(tmp_path / "nothing"))
        with pytest.raises(InputError, match="x cannot be written: No such file"):
            check_writable(tmp_path / "x")
    monkeypatch.setattr(files.os, "access", lambda *_: False)  # the tests may run as root, who may write anywhere
    with pytest.raises(InputError, match="cannot be written to; choose another folder"):
        check_writable(tmp_path / "x")


def test_a_folder_without_the_right_to_write() -> None:
    """As nobody where the tests run as root, who may write anywhere (and only she may enter `tmp_path`)."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65534)
        with pytest.raises(InputError, match="cannot be written"):
            write("file", folder / "x", "text")
    finally:
        os.seteuid(user)
        folder.chmod(0o700)
        folder.rmdir()


@both
def test_others_may_read_what_the_umask_lets_them(kind: str, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write(kind, tmp_path / "x", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == (0o644 if kind == "file" else 0o755)


def test_sha256(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


# -------------------------------------------------------------------- what --force may replace


def described(folder: Path, facts: object, *names: str, file: str = "manifest.json") -> Path:
    folder.mkdir()
    (folder / file).write_text(json.dumps(facts))
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("years")
    return folder


MODEL = {"format": 1, "kind": "model", "files": [{"name": "tensors.safetensors"}, {"name": "metrics.jsonl"}]}
FOREIGN: dict[str, tuple[object, list[str], str]] = {
    "a browser extension": ({"manifest_version": 3, "name": "x"}, ["background.js", "src/main.js"], "manifest.json"),
    "a web app": ({"name": "x", "icons": [], "files": [{"name": "a"}]}, ["a"], "manifest.json"),
    "json that is none": (["model"], ["a"], "manifest.json"),
    "another's graph.json": ({"nodes": [], "edges": []}, ["thesis.tex"], "graph.json"),
    "a model and notes": (MODEL, ["tensors.safetensors", "metrics.jsonl", "notes.txt"], "manifest.json"),
    "a model and a folder": (MODEL, ["tensors.safetensors", "metrics.jsonl", "figures/a.png"], "manifest.json"),
    "a graph and notes": ({"format": 1, "kind": "graph"}, ["indptr.npy", "notes.txt"], "graph.json"),
    "a checkpoint": ({**MODEL, "kind": "checkpoint"}, ["tensors.safetensors"], "manifest.json"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_force_replaces_nothing_that_netfold_did_not_write(what: str, tmp_path: Path) -> None:
    facts, names, file = FOREIGN[what]
    folder = described(tmp_path / "x", facts, *names, file=file)
    with pytest.raises(InputError, match="and is not replaced"):
        check_writable(folder, force=True)
    with pytest.raises(InputError, match="and is not replaced"), staged_folder(folder, force=True):
        pytest.fail("the folder was given")
    assert all((folder / name).read_text() == "years" for name in names)


def test_force_replaces_models_and_graphs_old_and_new(tmp_path: Path) -> None:
    check_writable(described(tmp_path / "model", MODEL, "tensors.safetensors", "metrics.jsonl"), force=True)
    old = {"format": 1, "kind": "graph", "directed": False, "labels": "int", "n_nodes": 3}
    arrays = ["indptr.npy", "indices.npy", "weights.npy", "label_ints.npy"]
    check_writable(described(tmp_path / "graph", old, *arrays, file="graph.json"), force=True)


# -------------------------------------------------------------------- never without one, and nothing left


@pytest.mark.parametrize("exchanged", [True, False], ids=["exchange", "two renames"])
def test_killed_at_every_step_of_replacing(exchanged: bool, tmp_path: Path) -> None:
    """The old folder or the new one is there at once, or with the next save or load; and nothing is left then."""
    code = """
import os, signal, sys
from pathlib import Path
from netfold.io import files
left = [int(sys.argv[2])]
def counted(call):
    def counting(*args, **kwargs):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **kwargs)
    return counting
for name in ("mkdir", "fsync", "rename", "unlink", "rmdir"):
    setattr(os, name, counted(getattr(os, name)))
files._exchange = counted(files._exchange) if sys.argv[3] == "True" else lambda one, other: False
with files.staged_folder(sys.argv[1], force=True) as part:
    (part / "a.txt").write_text("second")
    (part / "manifest.json").write_text('{"format": 1, "kind": "model", "files": [{"name": "a.txt"}]}')
"""
    codes, gaps = [], 0
    for n in range(1, 14):
        home = tmp_path / str(n)
        home.mkdir()
        write("folder", home / "x", "first")
        command = [sys.executable, "-c", code, str(home / "x"), str(n), str(exchanged)]
        codes.append(subprocess.run(command, check=False).returncode)
        gaps += not (home / "x").exists()
        with warnings.catch_warnings(action="ignore"):
            files.recover(home / "x")
        assert content(home / "x") in ("first", "second")
        assert os.listdir(home) == ["x"]
        write("folder", home / "x", "third")
        assert (content(home / "x"), os.listdir(home)) == ("third", ["x"])
    assert codes.count(-9) >= 8
    assert gaps == (0 if exchanged else 1)


def test_what_a_killed_save_left_is_swept_and_named(tmp_path: Path) -> None:
    code = f"""
import os
from netfold.io.files import staged_file, staged_folder
with staged_folder({str(tmp_path / "x")!r}), staged_file({str(tmp_path / "y.csv")!r}):
    os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert len(os.listdir(tmp_path)) == 2
    mine = tmp_path / ".x.settings"
    mine.mkdir()
    with pytest.warns(UserWarning, match=r"\.x\.netfold-.* was removed: a save that was killed had left it"):
        check_writable(tmp_path / "x")
    with pytest.warns(UserWarning, match=r"y\.csv\.netfold-"):
        write("file", tmp_path / "y.csv", "text")
    assert sorted(os.listdir(tmp_path)) == [".x.settings", "y.csv"]


def early_stage(home: Path, name: str, *parts: str, age: float = 7200.0) -> Path:
    """What a killed save of netfold 0.1 left: a private folder `.NAME.XXXXXXXX`."""
    stage = home / f".{name}.k3x_9abz"
    stage.mkdir(mode=0o700)
    for part in parts:
        (stage / part).parent.mkdir(parents=True, exist_ok=True)
        (stage / part).write_text('{"format": 1, "kind": "model", "files": [{"name": "a.txt"}]}')
    os.utime(stage, (time.time() - age,) * 2)
    return stage


@pytest.mark.parametrize(
    "parts",
    [["new/tensors.safetensors"], ["new/manifest.json", "new/a.txt", "old/manifest.json"], ["keep"]],
    ids=["killed while writing", "killed after the exchange", "a file"],
)
def test_what_killed_saves_of_early_versions_left_is_swept(parts: list[str], tmp_path: Path) -> None:
    if parts != ["keep"]:
        write("folder", tmp_path / "keep", "first")
    early_stage(tmp_path, "keep", *parts)
    with pytest.warns(UserWarning, match=r"\.keep\.k3x_9abz was removed: a save that was killed had left it"):
        files.recover(tmp_path / "keep")
    assert os.listdir(tmp_path) == ([] if parts == ["keep"] else ["keep"])


def test_a_folder_that_an_early_version_was_replacing_comes_back(tmp_path: Path) -> None:
    early_stage(tmp_path, "keep", "old/manifest.json", "old/a.txt")
    with pytest.warns(UserWarning, match="is back"):
        files.recover(tmp_path / "keep")
    assert os.listdir(tmp_path) == ["keep"] and (tmp_path / "keep" / "a.txt").exists()


@pytest.mark.parametrize(
    ("parts", "age", "mode"),
    [
        (["new/manifest.json"], 60.0, 0o700),
        (["new/manifest.json"], 7200.0, 0o755),
        (["new/thesis.tex"], 7200.0, 0o700),
        (["new/manifest.json", "notes.txt"], 7200.0, 0o700),
        (["old/deep/manifest.json"], 7200.0, 0o700),
        (["other"], 7200.0, 0o700),
        ([], 7200.0, 0o700),
    ],
    ids=["young", "not private", "a stranger's file", "more beside", "deeper", "another file", "empty"],
)
def test_what_may_be_somebody_elses_is_not_swept(parts: list[str], age: float, mode: int, tmp_path: Path) -> None:
    stage = early_stage(tmp_path, "keep", *parts, age=age)
    stage.chmod(mode)
    os.utime(stage, (time.time() - age,) * 2)
    files.recover(tmp_path / "keep")
    assert sorted(str(x.relative_to(stage)) for x in stage.rglob("*") if x.is_file()) == sorted(parts)


def test_a_save_that_is_under_way_is_not_swept(tmp_path: Path) -> None:
    with staged_folder(tmp_path / "x") as part:
        files.recover(tmp_path / "x")
        (part / "a.txt").write_text("first")
        write("folder", tmp_path / "x", "second")
        (tmp_path / "x").rename(tmp_path / "z")
    assert content(tmp_path / "x") == "first"


def test_names_that_begin_alike_are_not_confused(tmp_path: Path) -> None:
    """A folder that was about to take one name never takes another."""
    long = "n" * 120
    stage = tmp_path / f"{files._prefix(tmp_path / (long + 'a'))}abcdefgh"
    for part in ("old", "new"):
        (stage / part).mkdir(parents=True)
    files.recover(tmp_path / (long + "b"))
    assert not (tmp_path / (long + "b")).exists()
    with pytest.warns(UserWarning, match="is back"):
        files.recover(tmp_path / (long + "a"))
    assert (tmp_path / (long + "a")).is_dir()


def test_a_disk_without_room(tmp_path: Path) -> None:
    check_room(tmp_path / "x", 1)
    with pytest.raises(InputError, match=r"no room for .*x: about 1,099,511,627,776.0 MiB are needed and"):
        check_room(tmp_path / "x", 1 << 60)


def test_what_could_not_be_put_back_is_kept_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the new folder nor the old one can be given the name: the old one is then the user's only copy."""
    write("folder", tmp_path / "x", "first")
    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    rename = os.rename

    def refusing(source: Any, target: Any) -> None:
        if Path(target) == tmp_path / "x":
            raise OSError(errno.EIO, "I/O error")
        rename(source, target)

    with monkeypatch.context() as broken:
        broken.setattr(os, "rename", refusing)
        with pytest.raises(InputError, match="cannot be written"):
            write("folder", tmp_path / "x", "second")
    with pytest.warns(UserWarning, match="is back"):
        files.recover(tmp_path / "x")
    assert content(tmp_path / "x") in ("first", "second")


def test_only_listed_files_are_removed_and_no_name_leads_out(tmp_path):
    folder, elsewhere = tmp_path / "v" / "0001", tmp_path / "precious.txt"
    folder.mkdir(parents=True)
    elsewhere.write_text("mine")
    listed = [{"name": x} for x in ("a.safetensors", "../../precious.txt", str(elsewhere), "b", "c")]
    facts = {"format": 1, "kind": "version", "files": listed}
    (folder / "manifest.json").write_text(json.dumps(facts))
    (folder / "a.safetensors").write_text("ours")
    (folder / "b").mkdir()  # a folder where a file was listed
    (folder / "c").symlink_to(elsewhere)
    assert remove_ours(folder) == ["b", "c"]
    assert elsewhere.read_text() == "mine" and sorted(x.name for x in folder.iterdir()) == ["b", "c"]
    assert remove_ours(folder) == ["b", "c"]  # without a manifest nothing is ours


def test_a_folder_of_listed_files_alone_goes(tmp_path):
    folder = tmp_path / "0001"
    folder.mkdir()
    (folder / "a").write_text("ours")
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "kind": "version", "files": [{"name": "a"}]}))
    assert remove_ours(folder) == [] and not folder.exists()


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.ENOSPC, "make room"), (errno.EACCES, "ask who owns it"), (errno.EROFS, "another disk")],
)
def test_what_a_disk_says_comes_with_a_remedy(number: int, remedy: str, tmp_path: Path) -> None:
    said = f"v.csv cannot be written: {os.strerror(number)}; .*{remedy}"
    with pytest.raises(InputError, match=said), staged_file(tmp_path / "v.csv"):
        raise OSError(number, os.strerror(number))


def test_a_lock_needs_no_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with locked_file(tmp_path / ".lock"):
        assert (tmp_path / ".lock").exists()
        with pytest.raises(InputError), locked_file(tmp_path / ".lock"):
            pass
    assert not (tmp_path / ".lock").exists()
