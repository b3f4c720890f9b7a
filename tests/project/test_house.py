"""The rules of the house: where things are, that each is there once, and what they are called.

A rule has exceptions, each with its reason. They are asserted exactly: a new breach fails, and so does an exception
that is no longer needed.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import netfold as nf
from netfold.cli import main
from netfold.embedder.options import options

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "netfold"
ROOMS = ("data", "io", "learn", "cluster", "embedder", "models", "evaluate", "studies", "show", "serve", "cli")
"""From the ground up."""


@functools.cache
def modules() -> dict[str, Path]:
    """Every module's file by its name."""
    found = {".".join(("netfold", *path.relative_to(SRC).with_suffix("").parts)): path for path in SRC.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in sorted(found.items())}


@functools.cache
def tree(path: Path) -> ast.Module:
    """A module's text, parsed once for all rules."""
    return ast.parse(path.read_text(encoding="utf-8"))


# -------------------------------------------------------------------- rooms


def test_1_there_are_at_most_12_names_at_the_top() -> None:
    names = {path.stem for path in SRC.iterdir() if not path.name.startswith("_") and path.name != "py.typed"}
    assert names == {*ROOMS, "errors"}
    assert len(names | {"serve"}) <= 12


MOST_FILES = 201
"""Of modules. The plan is about 130; new rooms bring new ones, and the rest is not to grow."""


def test_every_file_is_in_a_room() -> None:
    """With `pytest -s` it shows how many there are."""
    files = [path for path in modules().values() if path.parent != SRC]
    rooms = Counter(path.relative_to(SRC).parts[0] for path in files)
    for room in ROOMS:
        lines = sum(len(path.read_text().splitlines()) for path in (SRC / room).rglob("*.py"))
        print(f"{room:<9} {rooms[room]:4} files {lines:6,} lines")
    assert set(rooms) == set(ROOMS) and len(files) <= MOST_FILES


def test_folders_of_tests_mirror_the_rooms() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {*ROOMS, "project", "robustness", "support"}
    assert [path.name for path in (ROOT / "tests").glob("*.py")] == ["conftest.py"]
    for room in ROOMS:
        assert list((ROOT / "tests" / room).glob("test_*.py")), f"no test of {room}"
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names)), "pytest wants each name once"


def test_the_map_of_contributing_names_every_room_and_fits_one_screen() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for room in ROOMS:
        assert f"`{room}/`" in text, f"CONTRIBUTING's map does not name {room}"
    assert len(text.splitlines()) <= 50


def test_the_readme_begins_with_the_words_that_people_search_for() -> None:
    first = (ROOT / "README.md").read_text().split("\n\n")[1].split(". ")[0]
    assert "network embedding (node embedding)" in " ".join(first.split())


# -------------------------------------------------------------------- modules with one importer

SURFACES_OF_IO = {"edges", "hyperedges", "hif", "classes", "graph_folder", "parts", "prepare", "tensors", "duckdb"}
"""Formats, and the files of those that read them."""

ONE_IMPORTER = {
    "netfold.show.report.tables": "what the page measures, and the one part of it that evaluates",
    "netfold.serve.explore": "the routes of the explorer's page, which `netfold serve` does not open",
    "netfold.show.demo": "the demo itself; the file of its verb is click alone, and loads nothing",
    "netfold.studies.datasets.built_in": "data that is computed, apart from what is read; a line for each data set",
    "netfold.studies.tune": "one model's options by Optuna, an extra; `nf.tune` is its one door, there is no verb",
    "netfold.studies.compare.table": "the comparison as a value and as text; running it is another matter",
    "netfold.studies.reproduce.page": "the page of results; measuring does not need it",
    "netfold.studies.reproduce.parallel": "processes and their failures, which the plan says to leave as they are",
}
"""Modules that are no surface and have one importer all the same, and why."""


def importers() -> dict[str, set[str]]:
    """For each module those that import it, or a name of it, anywhere in their text."""
    known = modules()
    found: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        for node in ast.walk(tree(path)):
            targets: list[str] = []
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path} imports relatively"
                targets = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
            for target in targets:
                if target in found and target != name:
                    found[target].add(name)
    return found


def is_surface(name: str, used_by: set[str]) -> bool:
    """A package, a verb, a part of a model, a family of tasks or a format."""
    path = modules()[name]
    parts = name.split(".")[1:]
    if path.name in ("__init__.py", "__main__.py"):
        return True
    if parts[0] == "models":
        return len(parts) == 3
    if parts[0] == "io":
        return parts[1] == "vectors" or parts[1] in SURFACES_OF_IO
    surface = {"cli": "netfold.cli.program", "evaluate": "netfold.evaluate"}.get(parts[0])
    return surface in used_by


def test_2_a_module_that_is_no_surface_has_two_importers() -> None:
    assert len(ONE_IMPORTER) <= 10 and all(len(reason) > 20 for reason in ONE_IMPORTER.values())
    alone = {name for name, used_by in importers().items() if len(used_by) < 2 and not is_surface(name, used_by)}
    assert alone == set(ONE_IMPORTER)


# -------------------------------------------------------------------- names that are defined once

DEFINED_TWICE = {
    "Batch": "what a step of a model reads: every model that has batches has its own",
    "Block": "columns of attributes that a model reads, and parameters that training takes turns with",
    "batches": "the function of a model that makes them",
    "auto": "the verb is called as the function that it calls",
    "choose": "the verb is called as the function that it calls",
    "compare": "the verb is called as the function that it calls",
    "plan": "the verb is called as the function that it calls",
    "prepare": "the verb is called as the function that it calls",
    "load": "nf.load and nf.datasets.load: each is what a user looks for there",
    "suggest": "the verb is called as the function that it calls",
    "options": "nf.datasets.options, beside those of a model: each is what a user looks for there",
}
"""Public names with several definitions, and why."""


def defined(path: Path) -> Iterator[str]:
    """The public names that a module defines at its top: functions, classes, constants, types."""
    for node in tree(path).body:
        names: list[str] = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [x.id for target in node.targets for x in ast.walk(target) if isinstance(x, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        yield from (name for name in names if not name.startswith("_"))


def test_3_a_public_name_is_defined_in_one_module() -> None:
    where: dict[str, set[str]] = defaultdict(set)
    for module, path in modules().items():
        for name in defined(path):
            where[name].add(module)
    several = {name: places for name, places in where.items() if len(places) > 1}
    expected = set(DEFINED_TWICE)
    new = {name: sorted(several[name]) for name in set(several) - expected}
    assert not new and expected <= set(several), f"new: {new}; no longer: {expected - set(several)}"


# -------------------------------------------------------------------- tasks


def test_4_every_command_has_the_same_tasks() -> None:
    from netfold.evaluate import task
    from netfold.studies.reproduce import folder_of_tables, read_tables

    names = set(task.TASKS)
    group = main.commands["evaluate"]
    assert isinstance(group, click.Group)
    assert set(group.list_commands(click.Context(group))) == names
    (asked,) = [p for p in main.commands["compare"].params if "--task" in p.opts]
    assert isinstance(asked.type, click.Choice) and set(asked.type.choices) == names
    for name, one in task.TASKS.items():
        assert task.task_named(name) is one and callable(one.measure)
        assert task.task_named(one.function) is one, "a table of reproduce says it by its function"
    assert {task.task_named(table.task.name).name for table in read_tables(folder_of_tables())} <= names
    assert importlib.util.find_spec("netfold.studies.reproduce.tasks") is None, "reproduce reads the one table"


# -------------------------------------------------------------------- help


@pytest.mark.parametrize("name", nf.MODELS)
def test_5_the_help_of_every_option_is_in_the_docstring(name: str) -> None:
    text = " ".join(str(nf.MODELS[name].__doc__).split())
    missing = [o.name for o in options(nf.MODELS[name]) if " ".join(o.help.split()) not in text]
    assert not missing


# -------------------------------------------------------------------- words

WORDS = (
    r"foretold|foretell\w*", r"\blonely\b", r"\blest\b", r"\bat the most\b", r"\bstands? twice\b", r"\bis no tuple\b",
    r"\bdoubts?\b", r"\bsways?\b", r"--labels\b", r"\bread_labels\b",
)  # fmt: skip
"""Words of an older dialect, see the table of words in the plan. Ordinary uses of others (hidden, start) stay."""

ALLOWED_WORDS: dict[str, str] = {
    "src/netfold/models/dvne/__init__.py: doubt": "the old name of a method, which is answered with the new one",
    "src/netfold/evaluate/task.py: doubt": "the text that tables had before, which is read and hashed still",
}
"""Places ("FILE: WORD") where such a word is right, and why."""

OPTIONS = {"start": None, "pretrain": None, "hide": None, "negatives": int}
"""What no option is called any more; `negatives` not where it is a number."""

_ANSWERS = re.compile(r"renamed(_flag)?\([^()]*\)|was=(\"[^\"]*\"|\([^()]*\))")
"""What answers an old name with the new one has to say the old."""


def texts() -> Iterator[tuple[str, str]]:
    """Source, pages and README, without what answers old names."""
    ending = {".py", ".js", ".html", ".css", ".toml", ".md"}
    for folder in (SRC, ROOT / "docs"):
        for path in sorted(folder.rglob("*")):
            if path.suffix in ending and path.is_file():
                yield path.relative_to(ROOT).as_posix(), _ANSWERS.sub("", path.read_text(encoding="utf-8"))
    for name in ("README.md", "CONTRIBUTING.md"):
        yield name, (ROOT / name).read_text(encoding="utf-8")


def test_6_words_are_those_of_the_plan() -> None:
    pattern = re.compile("|".join(WORDS), re.IGNORECASE)
    found = {f"{name}: {word}" for name, text in texts() for word in {x.lower() for x in pattern.findall(text)}}
    expected = set(ALLOWED_WORDS)
    assert found == expected, f"new: {sorted(found - expected)}; no longer: {sorted(expected - found)}"


def test_6_options_are_called_as_in_the_plan() -> None:
    found = {
        f"{cls.__name__}.{o.name}"
        for cls in nf.MODELS.values()
        for o in options(cls)
        if o.name in OPTIONS and OPTIONS[o.name] in (None, o.type)
    }
    assert not found


def commands(group: click.Group, path: str = "netfold") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group) and name != "fit" and path == "netfold":
            yield from commands(command, f"{path} {name}")


def test_6_flags_are_called_as_in_the_plan() -> None:
    """Those of verbs; options of models are looked at above."""
    found = set()
    for path, command in commands(main):
        params = [p for c in [command] for p in c.params if isinstance(p, click.Option) and not p.hidden]
        if isinstance(command, click.Group) and path.startswith("netfold evaluate "):
            inner = command.get_command(click.Context(command), command.list_commands(click.Context(command))[0])
            assert inner is not None
            model = {f"--{name}" for name in OPTIONS if name != "hide"}
            params = [
                p for p in inner.params if isinstance(p, click.Option) and not p.hidden and p.opts[0] not in model
            ]
        found |= {f"{path} {x}" for p in params for x in p.opts if x in ("--labels", "--hide", "--start", "--pretrain")}
    assert not found


def test_no_integers_are_hashed() -> None:
    """`np.unique` with no more than values takes ten times as long as a sort: `data.checks.unique_values` sorts."""
    found = [
        f"{name}:{node.lineno}"
        for name, path in modules().items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.unique" and not node.keywords
    ]
    assert not found
