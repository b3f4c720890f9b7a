"""Every command that README and docs print has the verbs, the flags and the values that the command line takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from netfold.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCED = re.compile(r"^ *```([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"^(?:\$ )?(netfold .*(?:\n  --.*)*)", re.MULTILINE)
"""At the beginning of a line, with the lines of more flags."""
INLINE = re.compile(r"`(netfold [^`]+)`")
ANY = re.compile(r"```.*?```", re.DOTALL)


def commands(page: Path) -> list[tuple[str, bool]]:
    """Each command of a page, and whether it is whole, as in a block, or may be a verb alone, as in a sentence."""
    text = page.read_text(encoding="utf-8")
    blocks = [block for language, block in FENCED.findall(text) if language in ("", "sh", "console")]
    typed = [found for block in blocks for found in TYPED.findall(block)]
    return [(x, True) for x in typed] + [(x, False) for x in INLINE.findall(ANY.sub("", text))]


PRINTED = sorted({(x, whole, page.name) for page in PAGES for x, whole in commands(page)})


def parse(words: list[str]) -> click.Context:
    """What the command line makes of the words, without doing it."""
    command: click.Command = main
    context = click.Context(main, info_name="netfold")
    while isinstance(command, click.Group):
        if not words:
            raise click.MissingParameter(ctx=context)
        name, found, words = command.resolve_command(context, words)
        assert found is not None, name
        context, command = click.Context(command, parent=context, info_name=name), found
    return command.make_context(context.info_name, words, parent=context)


def understood(text: str, *, whole: bool) -> None:
    words = shlex.split(" ".join(text.split("\n")), comments=True)[1:]
    for word in words:
        if word.endswith(".netfold"):
            Path(word).mkdir(exist_ok=True)  # of a saved model, where a name would be looked up
    if words[0] == "COMMAND":
        return
    try:
        parse(words)
    except click.exceptions.Exit:
        pass  # --help
    except click.MissingParameter:
        assert not whole, text


@pytest.mark.parametrize(("text", "whole", "page"), PRINTED, ids=[f"{p}-{t[8:48]}" for t, _, p in PRINTED])
def test_a_command_is_one(text: str, whole: bool, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    understood(text, whole=whole)


def test_there_are_commands() -> None:
    assert len(PRINTED) > 40 and sum(whole for _, whole, _ in PRINTED) > 25


@pytest.mark.parametrize(
    "text",
    [
        "netfold fitt sdne edges.csv -o m",
        "netfold fit sdne edges.csv -o m --gamma 2",
        "netfold fit sdne edges.csv",
        "netfold choose edges.csv --task links",
        "netfold evaluate link-prediction nothing edges.csv",
    ],
)
def test_a_command_that_is_none_is_noticed(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((click.UsageError, AssertionError)):
        understood(text, whole=True)


SCRIPT = re.compile(r"benchmarks/(\w+/\w+\.py)\b((?: +[\w./,:-]+)*)")
SCRIPTS = sorted({(*found, p.name) for p in PAGES for found in SCRIPT.findall(" ".join(p.read_text("utf-8").split()))})


@pytest.mark.parametrize(("script", "words", "page"), SCRIPTS, ids=[f"{p}-{s}{w[:30]}" for s, w, p in SCRIPTS])
def test_a_script_of_benchmarks_is_there_and_has_its_flags(script: str, words: str, page: str) -> None:
    path = ROOT / "benchmarks" / script
    assert path.exists(), f"{page} names {script}"
    parts = path.parent / "parts.py"
    text = path.read_text(encoding="utf-8") + (parts.read_text(encoding="utf-8") if parts.exists() else "")
    for flag in re.findall(r"(?<!\S)--[a-z][\w-]*", words):
        assert f'"{flag}"' in text or f"'{flag}'" in text, f"{page}: {script} has no {flag}"
