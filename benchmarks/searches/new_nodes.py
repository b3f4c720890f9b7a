"""Which way places new nodes best, and whether what a model takes by itself is that way.

    NETFOLD_DATA=../shared/data python benchmarks/searches/new_nodes.py [MODEL:GRAPH ...] [--draws 0-4] [--options JSON]
    python benchmarks/searches/new_nodes.py sdne:facebook --draws 100-103 --new 0.5    # rounds alone, half of it new
    python benchmarks/searches/new_nodes.py --table
    python benchmarks/searches/new_nodes.py --developed    # what the draws from 100 on said

With --models FOLDER a fitted model is taken from there, where a run with --fit-only (perhaps on a GPU) has put it.

Without a name, all cases in turn. A line of json a draw is appended to new_nodes.jsonl; what is there already is not
measured again, so that a run that was stopped goes on. Every way of a model is measured on the same draw:

- sdne, dvne, sdne_classes (the settings that `netfold choose` recommends for classes): a tenth of the nodes of cora,
  blogcatalog or dblp are new; a classifier of known vectors (`evaluate.out_of_sample`'s) is asked for their classes.
  dblp is a part of 8,000 authors, grown breadth first from a random one.
- depthlgp over node2vec (64 dimensions, 3 epochs): a tenth of cora; of blogcatalog 256 nodes of degree below 16 along a
  walk; of dblp 8,000 authors until 2015, breadth first from another one each draw, and those of 2016 that are linked
  with them. Also held-out links, by the cosine.
- drne: a tenth of the airports of europe and usa, by how busy they are.
- dhne: a tenth of movielens' nodes (to develop: gps, 30,000 tuples of drug, planted triples); each is placed by half of
  its tuples with known nodes, and the other half is to be told from tuples with another node in one place (AUC). Its
  mean is of known nodes of its type, by how many neighbors they share.

Beside them LabelProp, the mean of known neighbors alone (`mean`), that of new ones too (`all neighbors`), and the
majority of a new node's neighbors' classes; and how long new vectors are. Draws 100 and up developed the rules: they
measure more weights of `refine`, what a rule could choose by (`judged`), and how many rounds new nodes should see one
another (also on grqc, facebook and jazz, which have links alone, and on planted blocks, another mixing each draw).
Draws below 100 chose nothing; DHNE's are 4 and 10 to 14, after the last change of its rule.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import netfold as nf
from netfold.embedder import placing
from netfold.embedder.placing import KnownLinks, Placing
from netfold.evaluate import NodeSplit, out_of_sample, split_nodes
from netfold.evaluate.class_tasks import class_figures, linear_scorer, neighbor_scorer
from netfold.evaluate.classes import NodeClasses, classes_of_nodes
from netfold.evaluate.new_node_tasks import cheap_methods, extending, reached

ROWS = Path(__file__).with_suffix(".jsonl")
CASES = [
    *("sdne:cora", "dvne:cora", "depthlgp:cora", "drne:europe", "drne:usa", "sdne:dblp", "sdne:blogcatalog"),
    *("depthlgp:blogcatalog", "dhne:movielens", "dvne:dblp", "depthlgp:dblp", "dvne:blogcatalog"),
]
CLASSES: dict[str, Any] = {"hidden": (), "alpha": 2.0, "beta": 3.0, "nu": 100.0, "dropout": 0.2, "epochs": 400}
CLASSES |= {"row_damping": 0.4, "column_damping": 0.4}
LINKS = ("AUC", "AUC degree-matched", "AUC degree-matched, own score")
CHEAP = {"LocalAvg": "mean", "LabelProp": "LabelProp"}
FAMILY = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Weights of the first order in `refine` that are measured beside what the model takes."""
ROUNDS = (0, 1, 2, 3, 6, 12)
"""In which nodes that are placed together see one another, likewise."""
SHORT = {"dblp": "dblp_coauthor", "europe": "europe_airports", "usa": "usa_airports", "grqc": "ca_grqc"}
SHORT |= {"facebook": "facebook_ego"}
WITHOUT_CLASSES = ("grqc", "facebook", "jazz")


def part_of(graph: Any, size: int, seed: int = 0) -> Any:
    """So many nodes, breadth first from a random one."""
    start = int(np.random.default_rng(seed).integers(graph.n_nodes))
    a, seen, queue = graph.adjacency, {start}, [start]
    for u in queue:
        for v in a.indices[a.indptr[u] : a.indptr[u + 1]].tolist():
            if v not in seen and len(seen) < size:
                seen.add(v)
                queue.append(v)
    return graph.subgraph(np.sort(list(seen)))


def split_of(model: str, name: str, draw: int, share: float = 0.1) -> tuple[NodeSplit, dict[Any, Any]]:
    """A graph, undirected, some of whose nodes are new, and the classes of those that have any."""
    data, planted = SHORT.get(name, name), {}
    if name == "planted":  # 6 links inside the block, and 1, 3 or 6 to others
        across = (1, 3, 6)[draw % 3]
        planted = {"sizes": [150] * 12, "p_in": 6 / 150, "p_out": across / 1650, "seed": draw}
        data = "sbm"
    whole = nf.datasets.load(data, **({"directed": False} if name == "cora" else planted))
    if model == "depthlgp" and name == "dblp":
        before = nf.datasets.load(data, until=2015)
        known = part_of(before, 8_000, draw)
        here, new = known.nodes.find(whole.nodes) >= 0, before.nodes.find(whole.nodes) < 0
        linked = np.asarray(whole.adjacency @ here.astype(np.float32)) > 0
        part = whole.subgraph(np.flatnonzero(here | (new & linked)))
        split = NodeSplit(known, part, np.flatnonzero(known.nodes.find(part.nodes) < 0), {"until": 2015})
    elif model == "depthlgp" and name == "blogcatalog":
        split = split_nodes(whole, 256, by="walk", seed=draw)
    else:
        part = part_of(whole, 8_000, draw if draw >= 100 else 0) if name == "dblp" else whole
        split = split_nodes(part, share, seed=draw)
    present = set(split.whole.nodes)
    classes = {} if name in WITHOUT_CLASSES else nf.datasets.classes(data, **planted)
    return split, {x: c for x, c in classes.items() if x in present}


def of_classes(split: NodeSplit, classes: dict[Any, Any], known: Any, methods: dict[str, Any]) -> dict[str, Any]:
    """Each method's F1. As known vectors are the same for all, one classifier is fitted: new nodes stand in it once a
    method."""
    own = classes_of_nodes(classes, split.whole.nodes)
    is_new = np.isin(split.whole.positions(own.nodes), split.new)
    learned, tested = np.flatnonzero(~is_new), np.flatnonzero(is_new)
    old = known[[own.nodes[i] for i in learned]].astype(np.float64)
    new = [method(split)[[own.nodes[i] for i in tested]].astype(np.float64) for method in methods.values()]
    count, at = len(learned), np.arange(len(tested))
    truth = np.vstack([own.indicator[learned], *[own.indicator[tested]] * len(new)])
    scores = linear_scorer(np.vstack([old, *new]), "logistic", "centred", 3.0)(
        truth[:count], np.arange(count), np.arange(count, len(truth))
    )
    figures = {}
    for i, name in enumerate(methods):
        part = scores[i * len(at) : (i + 1) * len(at)]
        one = NodeClasses([own.nodes[j] for j in tested], own.names, own.indicator[tested], 0)
        figures[name] = class_figures(lambda *_, part=part: part, one, (at[:0], at), "top-k")
    figures["majority"] = class_figures(neighbor_scorer(split.whole, own.nodes), own, (learned, tested), "top-k")
    return figures


def refined_by(model: Any, weight: float) -> Any:
    """All vectors, new ones by the objective with such a weight of the first order, at the usual length."""
    way = Placing("refine", weight)

    def placed(split: NodeSplit) -> Any:
        later = model._read(split.whole, later=True)
        at = model.embedding_.nodes.find(later.graph.nodes)
        return model._placed_rows(later, np.flatnonzero(at < 0), at, way)

    return extending(placed, model.embedding_, "neighbor")


def in_rounds(model: Any, rounds: int) -> Any:
    """The new nodes' vectors by the way that was chosen, in so many rounds among one another."""

    def placed(split: NodeSplit) -> Any:
        before, placing.ROUNDS = placing.ROUNDS, rounds
        try:
            return model.transform(split.whole)
        finally:
            placing.ROUNDS = before

    return placed


def linked_part(split: NodeSplit, reach: str) -> Any:
    """The whole graph without new nodes that cannot be placed."""
    lost = split.new[~reached(split, by=reach)]
    return split.whole.subgraph(np.delete(np.arange(split.whole.n_nodes), lost))


def length_of(known: Any, new: Any) -> float:
    """How long new vectors are at the median, in lengths of known ones, both as seen from the known ones' mean."""
    new_length, length = (np.median(np.linalg.norm(x.vectors - known.center, axis=1)) for x in (new, known))
    return float(new_length / length)


def judged(model: Any, graph: Any) -> dict[str, dict[str, float]]:
    """What a rule could read of known nodes to choose by: of each way, by a part of their links, the mean cosine around
    the mean with the vectors that they have (all but 30% or half of the links), how often (AUC) the hidden links are
    above pairs with the ends of others' links, and how many of ten nearest they share with the vectors they have."""
    links = KnownLinks(graph.adjacency, graph.adjacency.T.tocsr() if graph.directed else None)
    rng, known = np.random.default_rng([model.seed, 30]), model.embedding_
    several = np.flatnonzero(np.diff(links.out.indptr) > 1)
    rows = np.sort(rng.choice(several, min(512, len(several)), replace=False))
    whole, center, unit = links.take(rows), known.center, known.vectors - known.center
    unit = unit / np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    ways = [Placing("encode"), *(Placing("refine", x) for x in FAMILY), Placing("mean")]
    found: dict[str, dict[str, float]] = {}
    for share in (0.3, 0.5):
        some = whole.thinned(share, rng)
        hidden = (whole.out - some.out).tocoo()
        hidden.eliminate_zeros()
        row, column = hidden.coords
        other = column[rng.permutation(len(column))]
        wrong = np.asarray(graph.adjacency[rows[row], other]).ravel() == 0
        for way in ways:
            name = f"refine {way.weight:g}" if way.how == "refine" else way.how
            x = model._codes_by(way, some)[:, : known.dim] - center
            x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
            own = found.setdefault(name, {})
            own[f"cosine {share:g}"] = float((x * unit[rows]).sum(axis=1).mean())
            pairs = ((row, column), (row[wrong], other[wrong]))
            own[f"links {share:g}"] = auc(*((x[i] * unit[j]).sum(axis=1) for i, j in pairs))
            near = [np.argpartition(-(y @ unit.T), 11, axis=1)[:, :11] for y in (x, unit[rows])]
            both = [len(np.intersect1d(*pair)) / 11 for pair in zip(*near, strict=True)]
            own[f"near {share:g}"] = float(np.mean(both))
    return found


def fitted_graph(model_name: str, split: NodeSplit, draw: int, options: dict[str, Any]) -> tuple[Any, float]:
    """The model, fitted to what is known, and the CPU seconds of that."""
    begun, base = time.process_time(), None
    if model_name == "depthlgp":
        base = nf.Node2Vec(dim=64, epochs=3, seed=draw).fit(split.known, progress=False).embedding_
        begun = time.process_time()
    of = CLASSES | options if model_name == "sdne_classes" else options
    model = nf.MODELS[model_name.partition("_")[0]](seed=draw, **of).fit(split.known, base, progress=False)
    return model, round(time.process_time() - begun, 1)


def stored(folder: Path | None, name: str, fit: Any) -> tuple[Any, float]:
    """What `fit` gives, or what a folder has of it already."""
    if folder is None:
        return fit()
    path = folder / name
    if not (folder / f"{name}.json").exists():
        model, seconds = fit()
        model.save(path, force=True)
        (folder / f"{name}.json").write_text(json.dumps(seconds))
    return nf.load(path), json.loads((folder / f"{name}.json").read_text())


def on_graph(row: dict[str, Any], folder: Path | None, *, fit_only: bool) -> dict[str, Any]:
    """One draw of a model that reads a graph."""
    model_name, graph_name, draw, options = (row[x] for x in ("model", "graph", "draw", "options"))
    split, classes = split_of(model_name, graph_name, draw, row.get("new", 0.1))
    name = f"{model_name}-{graph_name}-{draw}{row.get('new', '')}"
    model, seconds = stored(folder, name, lambda: fitted_graph(model_name, split, draw, options))
    if fit_only:
        return {}
    known = model.embedding_

    def by(how: str | None) -> Any:
        reach = model.reaches if how is None else "neighbor"
        return extending(lambda s: model.transform(s.whole, how=how), known, reach)

    methods = {"default": by(None)} | ({} if model_name == "depthlgp" else {"encode": by("encode")})
    methods |= {"all neighbors": by("mean")} | {name: cheap_methods(known)[way] for way, name in CHEAP.items()}
    develops = "refine" in model._ways() and draw >= 100 and not options
    rounds = ROUNDS if develops and model.placing_.how != "encode" else ()
    chooses = develops and "new" not in row
    if develops:
        methods |= {f"refine {x:g}": refined_by(model, x) for x in FAMILY if chooses}
        methods |= {f"rounds {x}": extending(in_rounds(model, x), known, "neighbor") for x in rounds}
    if model_name == "depthlgp" and draw >= 100:
        methods |= {"unscaled": unscaled(model), "without training": untrained(split, known, draw)}
    of = {"fit": seconds, "chosen": model.placing_.how, "weight": model.placing_.weight, "scale": model.placing_.scale}
    of |= {"agreement": model.placing_.agreement}
    of |= {"judged": judged(model, split.known)} if chooses else {}
    of |= {"length": length_of(known, model.transform(linked_part(split, model.reaches)))}
    figures = of_classes(split, classes, known, methods) if classes else {}
    links = out_of_sample(model, split, seed=draw)
    for name, of_links in {"default": links.figures, **links.baselines}.items():
        figures.setdefault(CHEAP.get(name, name), {}).update({x: of_links[x] for x in LINKS if x in of_links})
    for x in rounds:
        result = out_of_sample(in_rounds(model, x), split, base=known, linked="neighbor", seed=draw, baselines=False)
        figures.setdefault(f"rounds {x}", {}).update({x: result.figures[x] for x in LINKS if x in result.figures})
    return of | {"figures": figures}


def unscaled(model: Any) -> Any:
    """All vectors, new ones by DepthLGP as long as its posterior has them."""

    def placed(split: NodeSplit) -> Any:
        before, model.network_.scale = model.network_.scale, 1.0
        try:
            return model.transform(split.whole)
        finally:
            model.network_.scale = before

    return extending(placed, model.embedding_, "path")


def untrained(split: NodeSplit, known: Any, draw: int) -> Any:
    """All vectors, new ones by DepthLGP where it starts."""
    model = nf.DepthLGP(seed=draw, epochs=0).fit(split.known, known, progress=False)
    return extending(lambda s: model.transform(s.whole), known, "path")


# -------------------------------------------------------------------- tuples


def on_tuples(row: dict[str, Any], folder: Path | None, *, fit_only: bool) -> dict[str, Any]:
    """One draw of DHNE: the tuples of new nodes that were held out, by each way."""
    from netfold.data.hypergraph import Hypergraph
    from netfold.models.dhne.scores import TupleScorer, rows_over_known, type_codes_of

    draw, options, rng = row["draw"], row["options"], np.random.default_rng(row["draw"])
    if row["graph"] == "planted":  # in two groups, of which no pair of nodes says anything
        whole: Any = nf.datasets.load("planted_triples", edges=20_000, groups=2, seed=draw)
    else:
        whole = nf.datasets.load(f"dhne_{row['graph']}")
    kind = whole.kinds[0]
    all_tuples = kind.rows
    if row["graph"] == "drug":
        all_tuples = all_tuples[np.random.default_rng([draw, 1]).choice(len(all_tuples), 30_000, replace=False)]
    is_new = np.zeros(whole.n_nodes, bool)
    is_new[rng.choice(whole.n_nodes, whole.n_nodes // 10, replace=False)] = True
    types = dict(zip(whole.nodes, (whole.types[t] for t in whole.type_codes), strict=True))

    def tuples(rows: Any) -> list[tuple[Any, ...]]:
        return [tuple(whole.nodes[i] for i in row) for row in rows.tolist()]

    def hypergraph(rows: Any) -> Any:
        named = tuples(rows)
        return Hypergraph.from_tuples(named, {x: types[x] for row in named for x in row})

    count = is_new[all_tuples].sum(axis=1)
    fitted = hypergraph(all_tuples[count == 0])
    there = set(fitted.nodes)
    asked = all_tuples[count == 1]
    others = [all(is_new[i] or whole.nodes[i] in there for i in row) for row in asked.tolist()]
    asked = asked[others]
    asked = asked[rng.permutation(len(asked))]
    node = asked[np.arange(len(asked)), is_new[asked].argmax(axis=1)]
    first = np.zeros(len(asked), bool)
    first[np.unique(node, return_index=True)[1]] = True  # by which each is placed at least
    seen = first | (rng.random(len(asked)) < 0.5)
    true = asked[~seen]
    every, members = (
        {tuple(x) for x in kind.rows.tolist()},
        {t: np.flatnonzero(whole.type_codes == t) for t in range(len(whole.types))},
    )
    members = {t: x[[whole.nodes[i] in there for i in x.tolist()]] for t, x in members.items()}
    wrong = true.copy()
    for each in wrong:
        places, was = np.flatnonzero(~is_new[each]), each.copy()
        while tuple(each.tolist()) in every:  # some have all others of a type, so that another place is drawn, too
            at = int(rng.choice(places))
            each[:] = was
            each[at] = rng.choice(members[int(whole.type_codes[each[at]])])

    def fit() -> tuple[Any, float]:
        begun = time.process_time()
        return nf.DHNE(seed=draw, **options).fit(fitted, progress=False), round(time.process_time() - begun, 1)

    model, seconds = stored(folder, f"dhne-{row['graph']}-{draw}", fit)
    if fit_only:
        return {}
    later = hypergraph(asked[seen])
    at = model.embedding_.nodes.find(later.nodes)
    places = np.flatnonzero(at < 0)
    codes = type_codes_of(later, model.network_.schema)[places]
    shared = rows_over_known(later, places, at, len(model.embedding_)) @ fitted.adjacency()
    of_type = np.asarray(model.network_.type_codes)[None] == codes[:, None]
    near = np.where(of_type, shared.toarray(), 0.0)
    mean = near @ model.embedding_.vectors / np.maximum(near.sum(axis=1, keepdims=True), 1e-9)
    vectors = {how or "default": model.transform(later, how=how).vectors for how in (None, *model._ways())}
    vectors["mean"] = mean.astype(np.float32)
    figures = {}
    for way, x in vectors.items():
        scorer = TupleScorer(model.network_, model.embedding_, nf.Embedding(later.nodes.take(places), x), codes)
        figures[way] = {"AUC": auc(scorer.score(tuples(true), None), scorer.score(tuples(wrong), None))}
    degree = whole_degrees(fitted, there)
    popular = [np.array([sum(degree.get(x, 0) for x in row) for row in tuples(rows)]) for rows in (true, wrong)]
    figures["popularity"] = {"AUC": auc(*popular)}
    of = {"fit": seconds, "chosen": model.placing_.how, "agreement": model.placing_.agreement, "asked": len(true)}
    return of | {"figures": figures}


def whole_degrees(fitted: Any, there: set[Any]) -> dict[Any, float]:
    """In how many tuples each known node is."""
    return dict(zip(fitted.nodes, np.asarray(fitted.degrees, float).tolist(), strict=True))


def auc(true: Any, wrong: Any) -> float:
    """How often a true one is above a wrong one."""
    from netfold.evaluate.pairs import separation

    return float(separation(np.asarray(true, float), np.asarray(wrong, float))["AUC"])


# -------------------------------------------------------------------- rows


def recorded() -> list[dict[str, Any]]:
    """What was measured."""
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.exists() else []
    return [json.loads(line) for line in lines]


def key(row: dict[str, Any]) -> str:
    """What a row is of."""
    return json.dumps([row["model"], row["graph"], row["draw"], row["options"], row.get("new")], sort_keys=True)


def cell(values: list[float | None], *, spread: bool = False) -> str:
    """Their mean, and deviation; nothing where some are not there."""
    if None in values:
        return ""
    numbers = np.array(values, float)
    mean, apart = (f"{x:.3f}".lstrip("0") for x in (numbers.mean(), numbers.std(ddof=1) if len(numbers) > 1 else 0.0))
    return f"{mean} ± {apart}" if spread else mean


def verdict(own: list[float | None], other: list[float | None]) -> str:
    """By two standard errors of the paired differences; of fewer than five, for the time being."""
    if None in own or None in other:
        return ""
    apart = np.subtract(own, other).astype(float)
    if len(apart) < 2:
        return f"{apart[0]:+.3f}"
    mean, error = float(apart.mean()), float(apart.std(ddof=1)) / len(apart) ** 0.5
    standing = "level" if abs(mean) <= 2 * error else "above" if mean > 0 else "below"
    return f"{standing}{'' if len(apart) > 4 else '?'} ({mean:+.3f} ± {error:.3f})"


def table() -> None:
    """The means over draws, as docs/new-nodes.md has them: ways of each model, DepthLGP against the cheap ways, and
    links of new nodes by several partners and scores."""
    cases: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in sorted(recorded(), key=lambda row: (row["model"], row["graph"], row["draw"])):
        if row["draw"] < 100:
            cases.setdefault((row["model"], row["graph"], json.dumps(row["options"])), []).append(row)

    def of(rows: list[dict[str, Any]], way: str, figure: str) -> list[Any]:
        return [row["figures"].get(way, {}).get(figure) for row in rows]

    def name_of(model: str, graph: str, options: str) -> str:
        more = "" if options == "{}" else f" {options}"
        return f"{'node2vec + DepthLGP' if model == 'depthlgp' else model.upper()}, {graph}{more}"

    heads = ["new nodes", "figure", "draws", "chosen", "default", "encode", "mean", "LabelProp", "majority of classes"]
    headed(*heads, "against encode", "against mean", "length")
    for case, rows in cases.items():
        figure = "AUC" if case[0] == "dhne" else "micro-F1"
        chosen = "posterior" if case[0] == "depthlgp" else ", ".join(sorted({row["chosen"] for row in rows}))
        own = of(rows, "default", figure)
        ways = [cell(of(rows, way, figure)) for way in ("encode", "mean", "LabelProp", "majority")]
        apart = [verdict(own, of(rows, way, figure)) for way in ("encode", "mean")]
        lengths = [row["length"] for row in rows if "length" in row]
        long = f"{np.mean(lengths):.2f}" if lengths else ""
        lined(name_of(*case), figure, len(rows), chosen, cell(own, spread=True), *ways, *apart, long)
    headed("", "figure", "draws", "DepthLGP", "LabelProp", "LocalAvg", "against LabelProp", "against LocalAvg")
    for (model, graph, _), rows in cases.items():
        for figure in ("micro-F1", "macro-F1", *LINKS[:2]) if model == "depthlgp" else ():
            own, prop, mean = (of(rows, way, figure) for way in ("default", "LabelProp", "mean"))
            verdicts = verdict(own, prop), verdict(own, mean)
            lined(graph, figure, len(rows), cell(own, spread=True), cell(prop), cell(mean), *verdicts)
    links = [f"{way}: {x}" for x in ("AUC", "degree-matched", "own score") for way in ("default", "mean")]
    headed("links of new nodes", "draws", *links)
    for case, rows in cases.items():
        cells = [cell(of(rows, way, x)) for x in LINKS for way in ("default", "mean")]
        if cells[0] and case[0] != "dhne":
            lined(name_of(*case), len(rows), *cells)


def developed() -> None:
    """What the draws from 100 on said, beside the default: more weights, rounds, and DepthLGP's parts."""
    headed("developed on", "figure", "draws", "way", "its figure", "default", "default against it")
    cases: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in sorted(recorded(), key=lambda row: (row["model"], row["graph"], row["draw"])):
        if row["draw"] >= 100 and not row["options"]:
            graph = row["graph"] + (f", {row['new']:.0%} new" if "new" in row else "")
            cases.setdefault((row["model"], graph), []).append(row)
    for (model, graph), rows in cases.items():
        for way in dict.fromkeys(way for row in rows for way in row["figures"] if way != "default"):
            some = [row["figures"] for row in rows if way in row["figures"]]
            for figure in ("micro-F1", "AUC", "AUC degree-matched"):
                own, other = ([x.get(of, {}).get(figure) for x in some] for of in ("default", way))
                if None not in other:
                    lined(
                        f"{model.upper()}, {graph}", figure, len(some), way, cell(other), cell(own), verdict(own, other)
                    )


def headed(*names: str) -> None:
    """Begin a table."""
    print()
    lined(*names)
    lined(*["---"] * len(names))


def lined(*cells: Any) -> None:
    """A line of a table."""
    print(f"| {' | '.join(map(str, cells))} |")


def append_row(path: Path, row: dict[str, Any]) -> None:
    """Add a draw to the file of them, four digits a figure, and print it."""
    line = json.dumps(json.loads(json.dumps(row), parse_float=lambda x: round(float(x), 4)))
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    print(line, flush=True)


def main() -> None:
    """Measure, print and append."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=CASES, help="MODEL:GRAPH")
    parser.add_argument("--draws", default="0-4", help="first-last")
    parser.add_argument("--options", type=json.loads, default={}, help='of the model, as {"dropout": 0.2}')
    parser.add_argument("--new", type=float, help="such a share of the nodes; measures rounds alone, from draw 100 on")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--developed", action="store_true")
    parser.add_argument("--models", type=Path, help="a folder of fitted models")
    parser.add_argument("--fit-only", action="store_true", help="put them there, and measure nothing")
    arguments = parser.parse_args()
    if arguments.table:
        table()
        return
    if arguments.developed:
        developed()
        return
    if arguments.models is not None:
        arguments.models.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")  # of nodes without a path: they are placed at the mean, as by every way
    first, _, last = arguments.draws.partition("-")
    options = arguments.options
    done = {key(row) for row in recorded()}
    for case in arguments.cases:
        model, _, graph = case.partition(":")
        for draw in range(int(first), int(last or first) + 1):
            row: dict[str, Any] = {"model": model, "graph": graph, "draw": draw, "options": options}
            row |= {} if arguments.new is None else {"new": arguments.new}
            if key(row) in done:
                continue
            measure = on_tuples if model == "dhne" else on_graph
            figures = measure(row, arguments.models, fit_only=arguments.fit_only)
            if not figures:
                print(f"{case} {draw} is fitted", flush=True)
                continue
            row |= figures
            append_row(ROWS, row)


if __name__ == "__main__":
    main()
