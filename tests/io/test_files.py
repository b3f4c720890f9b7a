"""Files: a reader sees the old one or the new one, whatever goes wrong, and nothing is left behind."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netfold.errors import InputError
from netfold.io import files
from netfold.io.files import check_writable, sha256, staged_file, staged_folder


def content(path: Path) -> str:
    return (path / "a.txt" if path.is_dir() else path).read_text()


def write(kind: str, path: Path, text: str) -> None:
    if kind == "file":
        with staged_file(path) as part:
            part.write_text(text)
    else:
        with staged_folder(path, force=True) as part:
            (part / "a.txt").write_text(text)
            (part / "manifest.json").write_text("{}")
            (part / "inner").mkdir()
            (part / "inner" / "b.txt").write_text(text)


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
        assert path == tmp_path or not (tmp_path / "x").exists()
        fsync(path)

    monkeypatch.setattr(files, "_fsync", noted)
    write("folder", tmp_path / "x", "first")
    assert sorted(flushed) == sorted(["a.txt", "b.txt", "inner", "manifest.json", "new", tmp_path.name])


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
    with pytest.raises(InputError, match="name too long"):
        write("file", tmp_path / ("n" * 300), "text")
    monkeypatch.setattr(files.os, "access", lambda *_: False)  # the tests may run as root, who may write anywhere
    with pytest.raises(InputError, match="cannot be written to; choose another folder"):
        check_writable(tmp_path / "x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        write("file", tmp_path / "x", "text")
    tmp_path.chmod(0o700)


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
