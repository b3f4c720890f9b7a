"""How the pages become a site: `make docs` writes build/docs. Sphinx, furo and myst, and four small things of our own.

Docstrings are plain sentences with `code` in single backticks, and are made reStructuredText here; the page of the
command line consists of what `--help` prints, so that it cannot say anything else; a link to a folder of the
repository, for which a site has no page, becomes its name; a notebook becomes Markdown, with what its cells put out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import click
from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

project = html_title = "netfold"
author = "The netfold developers"
copyright = "the netfold developers, MIT licence"
release = metadata.version("netfold")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["style.css"]
exclude_patterns = ["notebooks/*.py"]
myst_heading_anchors = 4  # as on the pages of a repository, so that a link to a heading works in both

default_role = "code"
add_module_names = False
autodoc_typehints = "none"  # an option's help says what it may be; types of types make a signature hard to read
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True

WIDTH = 92
"""So many characters a line of code has on a page before it scrolls."""


def docstring_to_rst(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sentences are escaped, `code` becomes ``code`` and a section's heading a rubric; examples stay as they are."""
    example = False
    for i in range(len(lines) - 1):
        if lines[i] and lines[i + 1] == "-" * len(lines[i]):
            lines[i : i + 2] = [f".. rubric:: {lines[i]}", ""]
    for i, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            lines[i] = "``".join(_escaped(part) if j % 2 == 0 else part for j, part in enumerate(line.split("`")))


def _escaped(words: str) -> str:
    return re.sub(r"([*_|\\])", r"\\\1", words)


class NotebookParser(MystParser):
    """A notebook as a page: its Markdown, its code, and what came out when it was run."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """As Markdown is."""
        cells = json.loads(inputstring)["cells"]
        super().parse("\n\n".join(part for cell in cells for part in cell_parts(cell)), document)


def cell_parts(cell: dict[str, Any]) -> Iterator[str]:
    """A cell as Markdown: html that came out as it is, and text as a block."""
    source = "".join(cell["source"])
    yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
    for out in cell.get("outputs", []):
        data = out.get("data", {})
        if "text/html" in data:
            yield f'````{{raw}} html\n<div class="output">{"".join(data["text/html"])}</div>\n````'
        else:
            yield f"````text\n{''.join(out.get('text', data.get('text/plain', ''))).rstrip()}\n````"


class Commands(SphinxDirective):
    """`{commands}`: a section for every command of `netfold`, with what its --help prints."""

    def run(self) -> list[nodes.Node]:
        """The sections, those of subcommands within that of their group."""
        from netfold.cli import main

        settings = main.context_settings | {"terminal_width": WIDTH, "max_content_width": WIDTH}
        return [_section(context) for context in subcommands(click.Context(main, info_name="netfold", **settings))]


def subcommands(context: click.Context) -> Iterator[click.Context]:
    """A context for each command of a group."""
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is not None and not command.hidden:
                yield click.Context(command, info_name=name, parent=context)


def _section(context: click.Context) -> nodes.section:
    """A command's help; models of a task of `evaluate` have the flags of `fit`, and are not repeated."""
    path = context.command_path
    section = nodes.section("", nodes.title("", path), ids=[nodes.make_id(path)], names=[path])
    section += nodes.literal_block("", context.command.get_help(context), language="text")
    if path.count(" ") == 1:
        section += [_section(inner) for inner in subcommands(context)]
    return section


def unlink_folders(app: Sphinx, page: nodes.document) -> None:
    """A link to a folder of the repository, of which a site has no page, becomes its words."""
    here = Path(str(page["source"])).parent
    for link in list(page.findall(addnodes.pending_xref)):
        if (here / link["reftarget"]).is_dir():
            link.replace_self(link.children)


def setup(app: Sphinx) -> None:
    """What sphinx calls first."""
    app.connect("autodoc-process-docstring", docstring_to_rst)
    app.connect("doctree-read", unlink_folders)
    app.add_directive("commands", Commands)
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
