"""Where the tables are: in the installed package, or in the checkout that netfold is run from."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from netfold.errors import InputError
from netfold.reproduce.parsing import read_table
from netfold.reproduce.tables import Table

__all__ = ["folder_of_tables", "is_installed", "page_of", "read_tables", "table_named"]

_INSTALLED = Path(__file__).parents[1] / "tables"
_CHECKOUT = Path(__file__).parents[3] / "benchmarks" / "tables"


def folder_of_tables(given: str | None = None) -> Path:
    """The folder given, or else that of the checkout, or else that of the installed package."""
    if given is not None:
        if not Path(given).is_dir():
            raise InputError(f"{given} is not a folder; give one that holds the files of tables (*.toml)")
        return Path(given)
    found = [folder for folder in (_CHECKOUT, _INSTALLED) if folder.is_dir()]
    if not found:
        raise InputError(f"there are no tables in {_INSTALLED}; give their folder (--tables FOLDER)")
    return found[0]


def page_of(folder: Path) -> Path:
    """The page that shows the tables of a folder: docs/results.md of the checkout, and results.md beside others."""
    if folder.resolve() == _CHECKOUT.resolve():
        return _CHECKOUT.parents[1] / "docs" / "results.md"
    return folder / "results.md"


def is_installed(folder: Path) -> bool:
    """Whether the folder belongs to the installed package, where nothing is written."""
    return folder.resolve() == _INSTALLED.resolve()


def read_tables(folder: Path) -> list[Table]:
    """Every table of a folder, by name."""
    found = sorted(folder.glob("*.toml"), key=lambda path: path.stem)
    if not found:
        raise InputError(f"{folder} holds no tables; the file of a table ends in .toml")
    return [read_table(path) for path in found]


def table_named(folder: Path, name: str) -> Table:
    """The table of this name, which is that of its file."""
    known = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    if name not in known:
        near = get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "netfold reproduce --list shows them"
        raise InputError(f"there is no table {name!r} in {folder}; {hint}")
    return read_table(known[name])
