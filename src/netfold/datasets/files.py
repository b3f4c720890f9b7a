"""Where the files of a data set are, whether they are the right ones, and their columns."""

from __future__ import annotations

import csv
import gzip
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from netfold.datasets.catalogue import Dataset, File, describe, listed
from netfold.errors import InputError
from netfold.files import sha256

__all__ = ["checked", "folders", "located", "table"]

Column = npt.NDArray[Any]


def folders() -> list[Path]:
    """Where data sets are looked for: `$NETFOLD_DATA`, then the user's cache (`~/.cache/netfold`)."""
    given = os.environ.get("NETFOLD_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "netfold"
    return [*([Path(given).expanduser()] if given else []), cache]


def located(dataset: Dataset) -> Path | None:
    """The first folder that has all files of a data set in their right sizes; None where none has."""
    for folder in (f / dataset.name for f in folders()):
        paths = [(folder / file.name, file.bytes) for file in dataset.files]
        if paths and all(path.is_file() and path.stat().st_size == size for path, size in paths):
            return folder
    return None


def checked(dataset: Dataset, name: str) -> Path:
    """Where a file of a data set is, its size and its sha256 found to be those that the catalogue has."""
    file = dataset.file(name)
    path = next((p for f in folders() if (p := f / dataset.name / file.name).is_file()), None)
    if path is None:
        raise InputError(_absent(dataset, file))
    try:
        if (size := path.stat().st_size) != file.bytes:
            raise InputError(_wrong(path, f"{file.bytes:,} bytes", f"{size:,}"))
        if (found := sha256(path)) != file.sha256:
            raise InputError(_wrong(path, f"the sha256 {file.sha256}", found))
    except OSError as e:
        raise InputError(f"{path} cannot be read: {e.strerror}; check its permissions") from None
    return path


def table(name: str, file: str) -> dict[str, Column]:
    """The columns of a file of a data set: integers where all entries are, objects (strings) where not.

    `file` is one of `describe(name).files`; its ending `.csv.gz` may be left out.

        year = nf.datasets.table("dblp_coauthor", "edges")["year"]
    """
    text = gzip.decompress(checked(describe(name), file).read_bytes()).decode()  # known bytes: no more than is expected
    header, _, rows = text.partition("\n")
    columns = header.split(",")
    try:
        values = np.loadtxt(io.StringIO(rows), np.int64, delimiter=",", ndmin=2, comments=None)
    except ValueError:
        fields = list(csv.reader(io.StringIO(rows)))
        return {column: _values([row[i] for row in fields]) for i, column in enumerate(columns)}
    return {column: values[:, i].copy() for i, column in enumerate(columns)}


def _values(texts: list[str]) -> Column:
    try:
        return np.array([int(x) for x in texts], np.int64)
    except ValueError:
        return np.array(texts, object)


def _wrong(path: Path, expected: str, found: str) -> str:
    return (
        f"{path} is not the file it should be: it should have {expected}, and has {found}; "
        f"put the right file there, or read a file of your own with nf.read_edges"
    )


def _absent(dataset: Dataset, file: File) -> str:
    return (
        f"the data set {dataset.name!r} is not here: {dataset.title} ({dataset.origin}; terms: {dataset.licence}), "
        f"published at {listed(dataset.sources)}; put its {file.name} (columns {','.join(file.columns)}) into "
        f"{' or '.join(str(f / dataset.name) for f in folders())}, or set NETFOLD_DATA to the folder that holds "
        f"{dataset.name}/{file.name}, or read a file of your own with nf.read_edges"
    )
