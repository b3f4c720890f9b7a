"""`netfold demo FOLDER`: the five models on small data, with a table, pictures and a report."""

from __future__ import annotations

import importlib
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf
from netfold import plot, report
from netfold.data.nodes import Nodes
from netfold.data.text import text_table
from netfold.errors import InputError, disk_error

__all__ = ["EXAMPLES", "Example", "run_demo"]


_NOVEL = "Les Misérables"


@dataclass(frozen=True, eq=False)
class Example:
    """A model at work."""

    name: str
    idea: str
    """What it is for."""
    data: str
    model: Any
    seen: Any
    """The graph, or the hypergraph, that was fitted."""
    answer: str
    """What the model says that a reader would ask."""
    measure: str
    """What `before` (without learning) and `after` are."""
    before: float
    after: float
    draw: Callable[[Path], object]
    """Writes the picture."""
    classes: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    """Columns for the colours of the report."""

    @property
    def file(self) -> str:
        """What the model is saved as."""
        return f"{self.name.lower()}.netfold"

    @property
    def picture(self) -> str:
        """What the picture is called."""
        return f"{self.name.lower()}.png"


def sdne() -> Example:
    """Who is near whom."""
    graph = _novel()
    options: dict[str, Any] = {"dim": 32, "alpha": 10}
    model = nf.SDNE(**options).fit(graph, progress=False)
    untrained = nf.SDNE(**options, epochs=0, init="none").fit(graph, progress=False)
    near = ", ".join(str(node) for node, _ in model.embedding_.nearest("Valjean", k=5, metric="dot"))
    return Example(
        name="SDNE",
        idea="who is near whom: a point for each character, by whom they meet and whom those meet",
        data=_NOVEL,
        model=model,
        seen=graph,
        answer=f"nearest to Valjean: {near}",
        measure="neighbors found by the decoder, MAP; without: a random start",
        before=_map(untrained, graph, "decoder"),
        after=_map(model, graph, "decoder"),
        draw=partial(plot.map, model, graph=graph, colors=_communities(), names=24, method="tsne"),
        classes={"community": _communities()},
    )


def drne() -> Example:
    """Who plays the same role."""
    graph, barbell = nf.datasets.mirrored_karate(), nf.datasets.barbell()
    model, lifter = (nf.DRNE().fit(each, progress=False) for each in (graph, barbell))
    ends = lifter.embedding_.vectors[[0, -1]]
    first = graph.nodes[0]
    near = ", ".join(str(node) for node, _ in model.embedding_.nearest(first, k=3, metric="euclidean"))
    return Example(
        name="DRNE",
        idea="who plays the same role, however far apart: two karate clubs, one the mirror image of the other",
        data="mirrored karate",
        model=model,
        seen=graph,
        answer=f"the same role as {first} play: {near}; a barbell's two ends are {np.ptp(ends, 0).max():.0e} apart",
        measure="nodes with their mirror image nearest, share; without: SDNE",
        before=_mirrored(nf.SDNE(dim=16).fit(graph, progress=False).embedding_),
        after=_mirrored(model.embedding_),
        draw=partial(_drawn_twice, (model, graph), (lifter, barbell)),
    )


def dhne() -> Example:
    """What belongs together in threes."""
    sizes = {"users": 30, "items": 30, "tags": 30, "edges": 5000}
    split = nf.evaluate.split_hyperedges(nf.datasets.planted_triples(**sizes), 0.2)
    known, test = split.train, split.test
    options: dict[str, Any] = {"dim": 32, "hidden": 32, "batch_size": 64, "schedule": "constant", "scale": "column"}
    options |= {
        "products": 0,
        "nu": 0.0,
        "replaced": 1.1,
        "dropout": 0.0,
        "lr": 0.01,
    }  # no pair to be found: the chapter's
    model = nf.DHNE(**options, epochs=25, hold_out=False).fit(known, progress=False)
    result = nf.evaluate.hyperedges(model, test, known=known)
    user, item, tag = (test.nodes[i] for i in test.kinds[0].rows[0])
    tags = [node[1] for node, _ in model.complete((user, item, None), k=40, exclude=known)]
    place = tags.index(tag[1]) + 1
    return Example(
        name="DHNE",
        idea="what belongs together in threes: users, items and tags; a pair of them says nothing, the triple all",
        data="planted triples",
        model=model,
        seen=known,
        answer=f"of {len(tags)} tags for user {user[1]} and item {item[1]}, the held-out one comes as number {place}",
        measure="held-out triples against others, AUC; without: counts of pairs",
        before=float(result.baselines["pair co-occurrence"]["AUC"]),
        after=float(result.figures["AUC"]),
        draw=partial(plot.map, model, hypergraph=known, names=6),
        classes={"hidden group": nf.datasets.classes("planted_triples", **sizes)},
    )


def dvne() -> Example:
    """How sure one can be."""
    graph = _novel()
    options: dict[str, Any] = {"dim": 16, "hidden": 64, "repulsion": 10.0, "batch_size": 64}
    model = nf.DVNE(**options, epochs=200).fit(graph, progress=False)
    untrained = nf.DVNE(**options, epochs=0).fit(graph, progress=False)
    names = model.embedding_.nodes
    order = np.argsort(model.embedding_.uncertainty(names)).tolist()
    sure, unsure = (", ".join(str(names[i]) for i in part) for part in (order[:3], order[:-4:-1]))
    return Example(
        name="DVNE",
        idea="how sure one can be: a Gaussian for each character; its variance is what the data leave open",
        data=_NOVEL,
        model=model,
        seen=graph,
        answer=f"most certain: {sure}; least: {unsure}",
        measure="neighbors found by W2, MAP; without: a random start",
        before=_map(untrained, graph, "w2"),
        after=_map(model, graph, "w2"),
        draw=partial(plot.map, model, graph=graph, colors=_communities(), names=16, uncertainty=1),
        classes={"community": _communities()},
    )


def depthlgp() -> Example:
    """Where those who come later belong."""
    grown = _novel()
    split = nf.evaluate.split_nodes(grown, 10 / grown.n_nodes, seed=0)
    base = nf.SDNE(dim=32, alpha=10).fit(split.known, progress=False)
    model = nf.DepthLGP(starts="given", epochs=3).fit(split.known, base.embedding_, progress=False)
    new = model.transform(grown)
    result = nf.evaluate.out_of_sample(model, split)
    name = max(new.nodes, key=lambda node: grown.degrees[grown.positions([node])[0]])
    near = ", ".join(str(node) for node, _ in model.embedding_.nearest(new[name], k=4))
    return Example(
        name="DepthLGP",
        idea="where those who come later belong, over any embedding: ten characters held back, who then arrive",
        data=f"{_NOVEL}, {len(new)} held back",
        model=model,
        seen=split.known,
        answer=f"{name} arrives, and is placed near {near}",
        measure="half of their links found by the other half, AUC; without: neighbors' mean",
        before=float(result.baselines["LocalAvg"]["AUC"]),
        after=float(result.figures["AUC"]),
        draw=partial(_drawn_with_new, model.embedding_, new, grown),
        classes={"community": _communities()},
    )


EXAMPLES: tuple[Callable[[], Example], ...] = (sdne, drne, dhne, dvne, depthlgp)
"""In the order of the chapter."""


@cache
def _novel() -> nf.Graph:
    """Who meets whom; an edge weighs the root of the number of scenes, so that few pairs do not drown the others."""
    scenes = nf.datasets.les_miserables()
    return nf.Graph(scenes.adjacency.sqrt(), scenes.nodes)


@cache
def _communities() -> dict[str, str]:
    """The community of each character, called by the member with most scenes."""
    networkx = _imported("networkx")
    novel = networkx.les_miserables_graph()
    scenes = dict(novel.degree(weight="weight"))
    groups = networkx.community.louvain_communities(novel, seed=0)
    return {node: max(sorted(group), key=scenes.__getitem__) for group in groups for node in group}


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{name} is missing; install it with: pip install 'netfold[demo,viz]'") from None


def _map(model: Any, graph: nf.Graph, score: str) -> float:
    return float(nf.evaluate.reconstruction(model, graph, score=score, k=(100,), baselines=False).figures["MAP"])


def _mirrored(embedding: nf.Embedding) -> float:
    """How many nodes are as near to their mirror image, half of all further on, as to any other."""
    n = len(embedding)
    apart = np.linalg.norm(embedding.vectors[:, None] - embedding.vectors[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    image = apart[np.arange(n), (np.arange(n) + n // 2) % n]
    return float((image <= apart.min(axis=1) + 1e-4 * np.abs(embedding.vectors).max()).mean())


def _drawn_twice(first: tuple[Any, nf.Graph], second: tuple[Any, nf.Graph], path: Path) -> None:
    """A picture of each, by degree: the second is called NAME-2."""
    for (model, graph), where in ((first, path), (second, path.with_stem(f"{path.stem}-2"))):
        plot.map(model, where, graph=graph, colors=plot.by_degree(graph), names=16)


def _drawn_with_new(known: nf.Embedding, new: nf.Embedding, grown: nf.Graph, path: Path) -> None:
    """All nodes in one map, the new ones in a colour of their own."""
    both = nf.Embedding(Nodes.of([*known.nodes, *new.nodes]), np.vstack([known.vectors, new.vectors]))
    colors = {node: "arrived later" if node in new else "was there" for node in both.nodes}
    plot.map(both, path, graph=grown, colors=colors, names=list(new.nodes), method="tsne", title="DepthLGP")


_PICTURES, _REPORT = "pictures", "report.html"


def run_demo(folder: Path) -> None:
    """Fit the five models, measure each, and write models, pictures and a report into a folder, over what was there."""
    start = time.perf_counter()
    _make(folder / _PICTURES)
    _say("netfold folds a network into vectors. Five models, each for what the others cannot do:")
    shows = [_fitted_and_drawn(make, folder) for make in EXAMPLES]
    _say(_table(shows))
    _say("The report has these MAPs in its rows 'pairs by its decoder' and 'pairs by W2'; its others are by cosine.")
    sheets = [report.Sheet(f"{show.name}: {show.data}", show.model, show.seen, show.classes) for show in shows]
    report.write(sheets, folder / _REPORT, title="netfold: five models on small data", force=True)
    models = ", ".join(show.file for show in shows)
    _say(
        f"Written in {time.perf_counter() - start:.1f} s altogether:",
        f"    {folder / _REPORT}  all five on one page: open it in a browser, it needs no network\n"
        f"    {folder / _PICTURES}/  of each a picture or two: {', '.join(_pictures(shows, folder / _PICTURES))}\n"
        f"    {folder}/  the models, for nf.load and the command line: {models}",
        f"Go on with: {_program()} nearest {folder / shows[0].file} Javert -k 5",
    )


def _program() -> str:
    """How this netfold is called from here: by its name where the shell finds it, else by its path."""
    beside = Path(sys.executable).with_name("netfold")
    found = shutil.which("netfold")
    if not beside.exists() or (found is not None and Path(found).resolve() == beside.resolve()):
        return "netfold"
    return str(beside.relative_to(Path.cwd()) if beside.is_relative_to(Path.cwd()) else beside)


def _fitted_and_drawn(make: Callable[[], Example], folder: Path) -> Example:
    """One model: fitted, asked, saved and drawn."""
    start = time.perf_counter()
    show = make()
    _say(f"{show.name:<9} {show.idea}\n{'':<9} {show.answer} ({time.perf_counter() - start:.1f} s)")
    show.model.save(folder / show.file, force=True)
    show.draw(folder / _PICTURES / show.picture)
    return show


def _pictures(shows: list[Example], folder: Path) -> list[str]:
    return [p.name for show in shows for p in sorted(folder.glob(f"{show.name.lower()}*.png"), key=lambda p: p.stem)]


def _table(shows: list[Example]) -> str:
    """One line a model: what is asked of it, without learning and with."""
    rows = [("", "data", "what is measured", "without", "with it")]
    rows += [(show.name, show.data, show.measure, f"{show.before:.3f}", f"{show.after:.3f}") for show in shows]
    return textwrap.indent(text_table(rows, right=(3, 4)), "    ")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InputError(f"the folder {folder} cannot be made: {disk_error(e)}") from None


def _say(*paragraphs: str) -> None:
    print("\n\n".join(paragraphs), end="\n\n", flush=True)
