"""`python -m netfold.demo FOLDER`: SDNE on the characters of Les Misérables, from the graph to a picture."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from typing import Any

import netfold as nf
from netfold import plot
from netfold.errors import InputError

__all__ = ["main", "run"]

_HERO = "Valjean"
_CHARACTERS_NAMED = 24
_PAIRS = (100, 500)
_OPTIONS: dict[str, Any] = {"dim": 32, "alpha": 10}
_FILES = {
    "map.png": "the characters as points of a plane: look at this one",
    "embedding.parquet": "a row of numbers for each character",
    "sdne.netfold": "the model, for nf.load and the command line",
}
_SCORES = {"cosine": "cosine of the vectors", "dot": "product of the vectors", "decoder": "the decoder's row"}


def run(folder: Path) -> None:
    """Fit, ask, measure, and write the model, the vectors and the map into a folder, over what was there."""
    start = time.perf_counter()
    _make(folder)
    novel = _imported("networkx").les_miserables_graph()
    scenes = nf.Graph.from_networkx(novel)
    graph = nf.Graph(scenes.adjacency.sqrt(), scenes.nodes)
    _say(
        "netfold folds a network into vectors. Here: SDNE, and the characters of Les Misérables.",
        f"The graph   {graph.n_nodes} characters, {graph.n_edges} pairs that meet, in 1 to "
        f"{scenes.adjacency.data.max():.0f} scenes. An edge weighs the square\n"
        "            root of their number, lest a few great pairs drown all others. That is all the model sees.",
    )
    untrained = nf.SDNE(**_OPTIONS, epochs=0, pretrain="none").fit(graph, progress=False)
    before_fit = time.perf_counter()
    model = nf.SDNE(**_OPTIONS).fit(graph, progress=False)
    seconds = time.perf_counter() - before_fit
    _say(
        f"The model   {model!r}, {len(model.history_)} epochs in {seconds:.1f} s",
        f"Nearest to {_HERO}, by the product of their vectors:\n\n{_neighbors(model, scenes)}",
        "Does the model give the graph back? For each character, all others are ranked by a score: MAP is 1 where\n"
        "those met in the novel come first. precision@k is the share of the k best pairs that meet.\n\n"
        + _figures(untrained, model, graph),
    )
    _write(folder, model, graph, novel)
    width = max(len(str(folder / name)) for name in _FILES)
    files = "\n".join(f"    {folder / name!s:<{width}}  {what}" for name, what in _FILES.items())
    _say(f"Written in {time.perf_counter() - start:.1f} s altogether:\n\n{files}")
    _say(f"Go on with: .venv/bin/netfold nearest {folder / 'sdne.netfold'} Javert -k 5")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InputError(f"the folder {folder} cannot be made: {e.strerror}") from None


def _neighbors(model: nf.SDNE, graph: nf.Graph) -> str:
    hero = int(graph.positions([_HERO])[0])
    rows = []
    for label, score in model.embedding_.nearest(_HERO, k=6, metric="dot"):
        shared = float(graph.adjacency[hero, int(graph.positions([label])[0])])
        rows.append(f"    {label:<16} {score:.2f}   {_scenes(shared)}")
    return "\n".join(rows)


def _scenes(count: float) -> str:
    return f"{count:.0f} scenes together" if count > 1 else "1 scene together" if count else "no scene together"


def _figures(untrained: nf.SDNE, model: nf.SDNE, graph: nf.Graph) -> str:
    """The same measurements of a random start and of the trained model, side by side."""
    rows = [f"    {'scored by':<24} {'':<14} {'untrained':>9} {'trained':>9}"]
    for score, words in _SCORES.items():
        before, after = (
            nf.evaluate.reconstruction(m, graph, score=score, k=_PAIRS, baselines=False).figures
            for m in (untrained, model)
        )
        for i, name in enumerate(after):
            rows.append(f"    {words if i == 0 else '':<24} {name:<14} {before[name]:>9.3f} {after[name]:>9.3f}")
    return "\n".join(rows)


def _write(folder: Path, model: nf.SDNE, graph: nf.Graph, novel: Any) -> None:
    model.save(folder / "sdne.netfold", force=True)
    model.embedding_.save(folder / "embedding.parquet", force=True)
    plot.map(
        model,
        folder / "map.png",
        graph=graph,
        colors=_communities(novel),
        labels=_CHARACTERS_NAMED,
        method="tsne",
        title="Les Misérables, folded by SDNE: colours are communities, called by their main character",
    )


def _communities(novel: Any) -> dict[str, str]:
    """The community of each character, called by the member with most scenes."""
    found = _imported("networkx").community.louvain_communities(novel, seed=0)
    scenes = dict(novel.degree(weight="weight"))
    return {label: max(sorted(group), key=scenes.__getitem__) for group in found for label in group}


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{name} is missing; install it with: pip install 'netfold[demo,viz]'") from None


def _say(*paragraphs: str) -> None:
    print("\n\n".join(paragraphs), end="\n\n", flush=True)


def main() -> None:
    """Run the demo into the folder that the command line names, or into demo/."""
    import torch

    torch.set_num_threads(1)  # so small a graph trains many times faster without threads that wait for one another
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        run(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
    except InputError as e:
        print(f"netfold: {e}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
