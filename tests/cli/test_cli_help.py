"""Help of every command: complete, with an example, and there at once."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

import netfold as nf
from command import environ, netfold, succeed
from netfold.cli import main
from netfold.embedder.options import options


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
    before = os.times()
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, env=environ())
    after = os.times()
    took = after.children_user + after.children_system - before.children_user - before.children_system
    assert took < 1.0  # 0.2 s of CPU, whatever else the machine does


def test_no_arguments_show_the_help() -> None:
    result = netfold()
    assert result.exit_code == 2
    assert "Commands:" in result.stderr


def test_version() -> None:
    assert succeed("--version").stdout == f"netfold {nf.__version__}\n"


@pytest.mark.parametrize("name", nf.MODELS)
def test_every_option_of_every_model_is_a_flag_with_its_default(name: str) -> None:
    text = " ".join(succeed("fit", name, "--help").stdout.split())
    for o in options(nf.MODELS[name]):
        assert f"--{o.name.rstrip('_').replace('_', '-')}" in text
        assert all(choice in text for choice in o.choices)
