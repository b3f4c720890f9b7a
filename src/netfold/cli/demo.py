"""`netfold demo`: the five models on small data that is built in."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["demo"]


@click.command(epilog="Example: netfold demo demo && open demo/report.html")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("demo"))
def demo(folder: Path) -> None:
    """Fit the five models to small data and write models, pictures and a report into FOLDER (demo, if not given)."""
    import torch

    from netfold.show.demo import run_demo

    torch.set_num_threads(1)  # so small a graph trains many times faster without threads that wait for one another
    run_demo(folder)
