"""Where a command writes: refused before any work is done, where the result could not be kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from netfold.errors import InputError
from netfold.files import check_writable

__all__ = ["check_new_file", "check_new_folder", "force_flag"]

force_flag: Callable[[Any], Any] = click.option("--force", is_flag=True, help="Replace what already has that name.")


def check_new_file(path: str, *, force: bool) -> None:
    """Refuse a name that no file can be written under."""
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder; give the name of a file")
    check_writable(Path(path), force=force)


def check_new_folder(path: str, *, force: bool) -> None:
    """Refuse a name that no folder can be written under; even by force, a model does not replace a file."""
    check_writable(Path(path), force=force)
    if Path(path).is_file():
        raise InputError(f"{path} is a file, and a model is a folder; give another name")
