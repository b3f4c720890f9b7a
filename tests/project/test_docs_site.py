"""The documentation as one thing: it builds without a warning, and what its pages show is what comes out."""

from __future__ import annotations

import dataclasses
import doctest
import functools
import importlib
import inspect
import json
import math
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import netfold as nf
from chromium import Chromium, program
from netfold.cli import main

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(p for p in DOCS.glob("*.md") if ">>> " in p.read_text(encoding="utf-8"))
"""Those with examples."""
RUNS = DOCS.parent / "benchmarks" / "figures" / "parameters.json"
"""What was measured for the figures of options."""

FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")
SECONDS = re.compile(r"\d+\.\d+ s\b")
NUMBER = re.compile(r"(?<![\w.])\d+\.?\d*(?![\w.]\w)")
CLOSE = 0.05
"""By how much a figure may differ on another processor from the one on the page."""


# -------------------------------------------------------------------- what pages show is what comes out


def blocks(page: Path) -> list[tuple[str, str]]:
    """The code blocks of a page, in order: language and text."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [(language, textwrap.dedent(text)) for _, language, text in found]


def alike(want: str, got: str) -> bool:
    """Whether two texts have the same words, in whatever order, and nearly the same numbers; seconds aside."""
    words, numbers = zip(*(_parts(SECONDS.sub("seconds", text)) for text in (want, got)), strict=True)
    if words[0] != words[1] or len(numbers[0]) != len(numbers[1]):
        return False
    return all(math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE) for a, b in zip(*numbers, strict=True))


def _parts(text: str) -> tuple[list[str], list[float]]:
    return sorted(NUMBER.sub("", text).split()), [float(x) for x in NUMBER.findall(text)]


class Checker(doctest.OutputChecker):
    """Figures need only be close."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got, optionflags) or alike(want, got)


def run_examples(text: str, names: dict[str, Any], page: str) -> None:
    test = doctest.DocTestParser().get_doctest(text, names, page, page, 0)
    failures: list[str] = []
    doctest.DocTestRunner(Checker(), optionflags=doctest.ELLIPSIS).run(test, out=failures.append, clear_globs=False)
    names.update(test.globs)
    assert not failures, "".join(failures)


def run_commands(text: str) -> None:
    """Lines that begin with a dollar are commands; what follows is what each of them prints."""
    for said in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, want = said.partition("\n")
        got = _run(shlex.split(command))
        assert alike(want, got), f"$ {command}\n{got}"


def _run(words: list[str]) -> str:
    if words[0] != "netfold":
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    result = CliRunner().invoke(main, words[1:])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, whose modules can be imported; models that are made there are forgotten again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(nf.Embedder, "models", dict(nf.Embedder.models))
    monkeypatch.delitem(sys.modules, "gf", raising=False)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_comes_out(page: Path, own_folder: Path) -> None:
    names: dict[str, Any] = {}
    for language, text in blocks(page):
        named = FILE.match(text)
        if language == "python" and named:
            (own_folder / named[1]).write_text(text, encoding="utf-8")
        elif language == "python" and ">>> " in text:
            run_examples(text, names, page.name)
        elif language == "console":
            run_commands(text)


def test_all_code_of_the_tour_is_run() -> None:
    for language, text in blocks(DOCS / "tour.md"):
        runs = {"python": ">>> " in text, "console": text.startswith("$ "), "sh": text.startswith("pip install ")}
        assert runs[language], text


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        ("0.81  Joly\n0.79  Bahorel", "0.80  Bahorel\n0.79  Joly", True),
        ("0.81  Joly", "0.51  Joly", False),
        ("0.81  Joly", "0.81  Marius", False),
        ("200 epochs in 2.1 s", "200 epochs in 9.8 s", True),
        ("200 epochs in 2.1 s", "100 epochs in 2.1 s", False),
        ("a 1 2", "a 1", False),
    ],
)
def test_alike(want: str, got: str, same: bool) -> None:
    assert alike(want, got) is same


@pytest.mark.parametrize("name", sorted(json.loads(RUNS.read_text(encoding="utf-8"))))
def test_a_model_shows_what_its_options_do(name: str) -> None:
    record = json.loads(RUNS.read_text(encoding="utf-8"))[name]
    assert f"({name}-parameters.png)" in (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert (DOCS / f"{name}-parameters.png").exists()
    assert set(record["panels"]) <= set(nf.MODELS[name]().get_params()), "an option that is no more"


# -------------------------------------------------------------------- a model in 60 lines


def test_the_model_of_the_page_keeps_the_contract(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "embedder")
    import test_contract as contract

    import zoo

    text = next(text for _, text in blocks(DOCS / "add-a-model.md") if FILE.match(text))
    assert len(text.splitlines()) - 1 <= 60, "the page says 60 lines"
    (own_folder / "gf.py").write_text(text, encoding="utf-8")
    for table, entry in (
        (nf.MODELS, importlib.import_module("gf").GF),
        (contract.FAST, {"dim": 8, "epochs": 15}),
        (contract.ZOO_OF, zoo),
        (contract.LEARNS, contract.neighborhoods),
    ):
        monkeypatch.setitem(table, "gf", entry)
    asked = [test for name, test in vars(contract).items() if name.startswith("test_")]
    given = {"name": ["gf"], "kind": list(zoo.ZOO), "what": list(zoo.BAD)}
    ran = sum(_run_contract(test, given, own_folder) for test in asked)
    assert ran > 30


def _run_contract(test: Any, given: dict[str, list[str]], folder: Path) -> int:
    """Run a test of the contract once for each graph that it asks for; how often it ran."""
    names = list(inspect.signature(test).parameters)
    if "name" not in names or not set(names) <= {*given, "tmp_path"}:
        return 0
    over = next((n for n in names if n in ("kind", "what")), "name")
    for i, value in enumerate(given[over]):
        path = folder / f"{test.__name__}{i}"
        path.mkdir()
        arguments = {"name": "gf", over: value, "tmp_path": path}
        test(**{name: arguments[name] for name in names})
    return len(given[over])


# -------------------------------------------------------------------- symbols


def symbols() -> list[tuple[str, str]]:
    """Every name of the page of symbols, with the heading that it stands under."""
    heading, found = "", []
    for line in (DOCS / "symbols.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| ") and heading:
            found += [(heading, name) for name in re.findall(r"`([^`]+)`", line.split(" | ")[-1])]
    return found


@functools.cache
def fitted(name: str) -> Any:
    """A model after one epoch on a small graph."""
    cls = getattr(importlib.import_module(f"netfold.models.{name.lower()}"), name)
    if name == "DepthLGP":
        return cls(epochs=1).fit(nf.datasets.karate(), fitted("SDNE").embedding_, progress=False)
    small = {"graph": nf.datasets.karate, "hypergraph": lambda: nf.datasets.planted_triples(8, 8, 8, edges=40)}
    return cls(dim=4, epochs=1).fit(small[cls.reads](), progress=False)


def exists(name: str, heading: str) -> bool:
    """Whether a name of the page stands for something: in the package, in a fitted model, or as an option."""
    if name.startswith("netfold."):
        return _in_package(name)
    model = fitted(heading)
    if name.startswith("history_["):
        return name[10:-2] in model.history_[-1]
    if name.startswith("network_."):
        inside = name.removeprefix("network_.")
        return inside in model.network_.state_dict() or hasattr(model.network_, inside)
    if name.startswith("embedding_."):
        return getattr(model.embedding_, name.removeprefix("embedding_.")) is not None
    return name in model.get_params()


def _in_package(name: str) -> bool:
    """A dotted name: a module as far as there is one, then attributes, or fields of a dataclass."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            fields = {f.name for f in dataclasses.fields(found)} if dataclasses.is_dataclass(found) else set()
            if not hasattr(found, part) and part not in fields:
                return False
            found = getattr(found, part, None)
        return True
    return False


@pytest.mark.parametrize(("heading", "name"), sorted(set(symbols())))
def test_every_name_in_the_table_of_symbols_exists(heading: str, name: str) -> None:
    assert exists(name, heading), f"{name} ({heading})"


def test_a_name_that_is_not_there_is_noticed() -> None:
    for name in (
        "netfold.learn.losses.third_order",
        "netfold.nowhere.at_all",
        "gamma",
        'history_["third"]',
        "network_.no",
    ):
        assert not exists(name, "SDNE")


# -------------------------------------------------------------------- the site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="the docs are built with: pip install 'netfold[docs]'")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", "-b", "html", str(DOCS), str(out)]
    done = subprocess.run([*command, "-d", str(out / ".doctrees")], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return out


def test_the_site_builds_without_a_warning_and_needs_no_network(site: Path) -> None:
    written = {p.relative_to(site).with_suffix("").as_posix() for p in site.rglob("*.html")}
    sources = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
    assert {p.relative_to(DOCS).with_suffix("").as_posix() for p in sources} <= written
    for page in site.rglob("*.html"):
        loaded = re.findall(r'(?:src|<link[^>]+href)="(https?:[^"]+)"', page.read_text(encoding="utf-8"))
        assert not loaded, f"{page.name} loads {loaded}"


def test_no_line_of_code_is_cut_at_the_right_edge(site: Path) -> None:
    if program() is None:
        pytest.skip("no Chromium on the path; install one, or set NETFOLD_CHROMIUM")
    cut = "[...document.querySelectorAll('pre')].filter((x) => x.scrollWidth > x.clientWidth + 1).length"
    with Chromium(1280, 900) as browser:
        for page in sorted(site.rglob("*.html")):
            browser.call("Page.navigate", url=page.as_uri())
            browser.wait("document.readyState === 'complete' && location.href.startsWith('file:')")
            assert browser.ask(cut) == 0, f"{page.name} has a line that is cut"
            assert browser.ask("document.documentElement.scrollWidth <= innerWidth"), f"{page.name} is too wide"


def test_every_command_is_on_its_page(site: Path) -> None:
    page = (site / "command-line.html").read_text(encoding="utf-8")
    context = click.Context(main, info_name="netfold")
    for verb in main.list_commands(context):
        assert f'id="netfold-{verb}"' in page, verb
    assert "--alpha" in page and all(f'id="netfold-fit-{name}"' in page for name in nf.MODELS)


def public() -> list[tuple[Any, str]]:
    modules = [nf, nf.evaluate, nf.datasets, nf.plot]
    return [(module, name) for module in modules for name in module.__all__]


def test_every_public_name_is_on_the_page_of_the_interface(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    missing = [f"{m.__name__}.{name}" for m, name in public() if f'id="{m.__name__}.{name}"' not in page]
    assert [name for name in missing if not inspect.ismodule(_named(name))] == []


def _named(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def test_every_public_name_has_an_example() -> None:
    shown = "".join(text for page in PAGES for _, text in blocks(page) if ">>> " in text)
    without = [
        f"{module.__name__}.{name}"
        for module, name in public()
        if ">>> " not in (getattr(module, name).__doc__ or "") and not re.search(rf"\b{name}\b", shown)
    ]
    assert without == []
