"""Runs the notebooks of this folder and stores what comes out: `make notebooks` (needs the extra `notebook`)."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def execute(path: Path, *, replace: dict[str, str] | None = None) -> Any:
    """A notebook after all its cells ran, in a folder of its own; texts of cells may be replaced before."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        for old, new in (replace or {}).items():
            cell.source = cell.source.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    return notebook


def main() -> None:
    """All of them, or those that are named."""
    import nbformat

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # so that figures are the same on every machine of a kind
    for path in [Path(x) for x in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        notebook = execute(path)
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # when it ran
        notebook.metadata = {k: notebook.metadata[k] for k in ("kernelspec", "language_info")}
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, path)
        print(path.name)


if __name__ == "__main__":
    main()
