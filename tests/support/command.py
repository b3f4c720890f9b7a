"""The command line as tests use it: called here, or run as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

import netfold as nf
from netfold.cli import main

EDGES = "Ann,Bob,1\nBob,Cid,2\nCid,Ann,1\nCid,Dan,1\nDan,Zoë,3\nZoë,Ann,1\n"
"""What is in edges.csv, where a test asks for it."""
QUICK = ["--dim", "3", "--hidden", "5", "--epochs", "3", "--quiet"]
KEPT = ["--checkpoint", "state", "--checkpoint-every", "0"]


def netfold(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


def succeed(*args: object) -> Result:
    result = netfold(*args)
    assert result.exit_code == 0, result.output
    return result


def told(*args: object) -> dict[str, Any]:
    """The facts that a command prints with --json."""
    facts: dict[str, Any] = json.loads(succeed(*args, "--json").stdout)
    return facts


def refuse(*args: object, code: int = 2) -> str:
    """The one sentence of a command that must fail, without anything written anywhere near."""
    before = everything()
    result = netfold(*args)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    said = sentences(result.stderr)
    assert len(said.splitlines()) == 1 and said.startswith("netfold: ")
    assert "Traceback" not in said
    assert everything() == before
    return said


def sentences(stderr: str) -> str:
    """What a command says on standard error, but for the lines on what it read."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not line.startswith("read "))


def everything() -> list[tuple[str, bytes]]:
    assert not Path("pyproject.toml").exists(), "chdir to a folder of the test's own first: others write here meanwhile"
    return sorted((str(p), p.read_bytes() if p.is_file() else b"") for p in Path().rglob("*"))


def run(*args: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The program as a process of its own."""
    command = [sys.executable, "-W", "error", "-m", "netfold", *map(str, args)]
    return subprocess.run(command, capture_output=True, env=environ(**environment), timeout=60)


def environ(**more: str) -> dict[str, str]:
    source = str(Path(nf.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", **more}
