"""The rules of choice, one table: for a task and what the data are like, a model, its settings, and why.

The first rule that applies is taken. `why` is said to the user, beside the figures of `evidence`, which are looked up
in benchmarks/tables (docs/results.md) when they are shown; `but` is what speaks against the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from netfold.errors import InputError
from netfold.evaluate.task import TASKS, task_named
from netfold.models import MODELS
from netfold.studies.choose.facts import Facts
from netfold.studies.reproduce.parsing import folder_of_tables, table_named
from netfold.studies.reproduce.table import RecordedRow, Row, Table, number, ranked_baselines

__all__ = [
    "PURPOSES",
    "RULES",
    "SPACE",
    "Entrant",
    "Evidence",
    "Rule",
    "entrants",
    "purpose_named",
    "rule_for",
    "rules_table",
]


@dataclass(frozen=True)
class Evidence:
    """A figure of a row of a table in benchmarks/tables, which docs/results.md shows."""

    table: str
    figure: str
    row: str = ""
    """Empty: the first."""
    beside: str = ""
    """Another row to stand beside it, where the cheap methods are rows."""

    def __str__(self) -> str:
        """Ours beside the best cheap baseline, whoever wins.

        >>> str(Evidence("sdne-grqc-links", "AUC")).split()[-1]
        '(sdne-grqc-links)'
        """
        table, row = self.looked_up()
        measured = self.measured()
        if row is None or measured is None:
            return f"not measured yet ({self.table})"
        cheap = self._rivals(table, measured)
        beside = f" beside {number(cheap[0][1])} by {cheap[0][0]}" if cheap else ""
        ours = f"{_name(row)}: {self.figure} {number(measured.mean[self.figure])}"
        return f"{ours}{beside} ({self.table})"

    def measured(self) -> RecordedRow | None:
        """What was recorded of the row with the settings that the table now has; None where the figure is not there."""
        table, row = self.looked_up()
        recorded = table.recorded_for(row) if row is not None else None
        return recorded if recorded is not None and self.figure in recorded.mean else None

    def _rivals(self, table: Table, measured: RecordedRow) -> list[tuple[str, float]]:
        """The cheap methods with their figures, the best first; a table about new nodes has them as rows."""
        cheap = ranked_baselines(measured, self.figure, smaller=table.smaller(self.figure))
        rival = Evidence(self.table, self.figure, self.beside).measured() if self.beside else None
        return cheap if rival is None else [(self.beside, rival.mean[self.figure]), *cheap]

    def looked_up(self) -> tuple[Table, Row | None]:
        """The table and its row; None where it has no such row."""
        table = _table(self.table)
        return table, next((row for row in table.rows if self.row in ("", row.name)), None)


def _name(row: Row) -> str:
    model = MODELS[row.model].__name__ if row.model in MODELS else row.model
    return row.name if row.name.startswith(model) else f"{model}, {row.name}"


@cache
def _table(name: str) -> Table:
    return table_named(folder_of_tables(), name)


PURPOSES = {task.short: task.purpose for task in TASKS.values() if task.purpose}
"""What is wanted of the vectors, by the short names of tasks; "near" where nothing is said."""
_BY_RULES_OF = {"tuples": "link", "cluster": "classify"}
"""Tasks without rules of their own, and those whose rules say as much: tuples are the links of a hypergraph, and where
classes can be learned, they can be found."""

_LARGE = 200_000
"""Nodes, above which hundreds of epochs are hours on a CPU (docs/benchmarks.md: 36 s an epoch at a million)."""
_MANY_PATHS = 1e8
"""Paths of two steps, above which `overlap` is costly; at 5e8 SDNE refuses it."""
_FEW = 10_000
"""Hyperedges, from which on DHNE's defaults are others."""
_HUGE = 50_000
"""Nodes, above which 128 dimensions are no longer a matter of a second."""
_SMALL = 1000
"""Nodes, below which 192 numbers each are too many for roles (docs/drne.md)."""


@dataclass(frozen=True)
class Rule:
    """What is chosen for a task where the data are so."""

    task: str
    when: Callable[[Facts], bool]
    case: str
    """When, in words."""
    model: str
    settings: Mapping[str, Any]
    why: str
    but: str
    evidence: tuple[Evidence, ...] = ()
    others: tuple[str, ...] = ()
    """What else is tried beside it."""
    measured: bool = field(default=True, kw_only=True)
    """Whether the evidence, or what `why` says where there is no table, was measured with these very settings."""


_FEW_LINKS = 3.0
"""A node has on average, below which the smoothest vectors found links better than eigenvectors of both signs, or as
well, and from which on worse, or as well: on inner splits of eight graphs and of cuts of them to a half and a quarter
of their links (benchmarks/searches/paths.py)."""

_FEW_TO_SHARE = 10.0
"""A node has on average, below which more dimensions found more links: inner splits of ca-GrQc (128, 256, 512: .921,
.931, .937), DBLP (.936, .950), Cora (.843, .850), WordNet (.754, .777), not of Debian (.909, .907, .905)."""


def _shared(facts: Facts) -> float:
    """About how many neighbors two linked nodes share."""
    return facts.clustering * facts.mean_degree


_SIMILAR = 0.25
"""The share of all pairs that are linked, from which on weights, and not links, say who belongs together: similarities
have nearly all, graphs of counts that were tried at most .06."""


def _are_similarities(facts: Facts) -> bool:
    """Whether a graph looks like a matrix of similarities: what flows has directions, and counts have a heavy tail."""
    dense = facts.mean_degree >= _SIMILAR * (facts.nodes - 1)
    return dense and facts.weighted and not facts.directed and not facts.is_heavy


def _can_list(facts: Facts) -> bool:
    """Whether paths of two steps can be listed, and hundreds of epochs paid."""
    return facts.two_steps <= _MANY_PATHS and facts.nodes <= _LARGE


_LINKS = {"hidden": (), "overlap": 1.0, "row_damping": 0.1, "column_damping": 0.25, "dropout": 0.2, "nu": 100.0}
_CLASSES = {"hidden": (), "alpha": 2.0, "beta": 3.0, "nu": 100.0, "row_damping": 0.4, "column_damping": 0.4}
_BOTH_ENDS = "spectral,spectral:matrix=normalized"
_ROLES = {"rounds": 2, "vectors": "all", "lambda_": 0.1}

RULES = (
    # ---------------------------------------------------------------- hyperedges: one model reads them
    Rule(
        "link", lambda x: x.hyperedges and x.edges >= _FEW, "10,000 hyperedges or more",
        "dhne", {"counts": True, "repeated": "once"},
        "DHNE alone scores whole tuples; with counts it also knows how often nodes of a tuple meet, two by two, which "
        "alone was above it without them (GPS .93 and .89)",
        "epochs=0 is a regression on the counts alone: a second, and nearly as good; it has no trained vectors",
        (
            Evidence("dhne-movielens-links", "AUC", "replaced positions"),
            Evidence("dhne-movielens-links", "AUC", "fixed negatives"),
        ),
        measured=False,
    ),
    Rule(
        "link", lambda x: x.hyperedges, "fewer hyperedges",
        "dhne", {"counts": True, "repeated": "once"},
        "DHNE alone scores whole tuples; with counts it also knows how often nodes of a tuple meet, two by two, which "
        "alone was above it without them (GPS .93 and .89)",
        "epochs=0 is a regression on the counts alone: a second, and nearly as good; it has no trained vectors",
        (
            Evidence("dhne-gps-links", "AUC", "replaced positions"),
            Evidence("dhne-gps-links", "AUC", "fixed negatives"),
        ),
        measured=False,
    ),
    Rule(
        "classify", lambda x: x.hyperedges, "hyperedges",
        "dhne", {},
        "DHNE alone reads hyperedges; each type of node has its own vectors",
        "whether it beats spectral vectors of the graph of pairs is not settled: compare",
        (Evidence("dhne-movielens-labels", "micro-F1@50%"),),
        measured=False,
    ),
    Rule(
        "new-nodes", lambda x: x.hyperedges, "hyperedges",
        "dhne", {},
        "DHNE encodes a new node from the hyperedges that it has with known ones",
        "no figure of ours says how well",
        measured=False,
    ),
    Rule(
        "near", lambda x: x.hyperedges, "hyperedges",
        "dhne", {},
        "DHNE alone reads hyperedges",
        "nodes of different types are not near each other in its vectors: ask for the nearest of one type",
        (Evidence("dhne-gps", "AUC"),),
        measured=False,
    ),
    # ---------------------------------------------------------------- attributes of nodes
    Rule(
        "classify", lambda x: bool(x.attributes), "attributes of nodes",
        "spectral", {"matrix": "smoothed"},
        "attributes averaged over neighbors twice, and an SVD: two lines of linear algebra, which were above SDNE on "
        "Cora and on four of five other graphs where a tenth of the classes is known",
        "where half of them is, SDNE was above it on four of those five, and where attributes say nothing far above: "
        "compare with SDNE, which reads both",
        (
            Evidence("attributes-cora-labels", "micro-F1@10%", "Spectral, smoothed words", "SDNE, links and words"),
            Evidence("attributes-cora-labels", "micro-F1@50%", "Spectral, smoothed words", "SDNE, links and words"),
        ),
        ("sdne",),
    ),
    Rule(
        "link", lambda x: bool(x.attributes), "attributes of nodes",
        "sdne", {},
        "SDNE reads links and attributes as one row, so that a node with few links has a place by what is known of it; "
        "it was above averages of attributes on Cora and on four of six other graphs",
        "where attributes say more than links those averages (Spectral, matrix smoothed) were above it, and cost a "
        "second: compare",
        (Evidence("attributes-cora-links", "AUC", "SDNE, links and words", "Spectral, smoothed words"),),
        ("spectral",),
    ),
    Rule(
        "cold", lambda x: bool(x.attributes), "attributes of nodes",
        "sdne", {},
        "SDNE keeps where attributes belong among links, so that a node without any has a place; links of such nodes "
        "it found better than averages of attributes on Cora and on three of five other graphs",
        "the nearest by attributes cost nothing, and know classes as well: compare",
        (
            Evidence("attributes-cora-cold", "AUC", "SDNE, links and words", "Spectral, smoothed words"),
            Evidence("attributes-cora-cold", "micro-F1", "SDNE, links and words", "Spectral, smoothed words"),
        ),
        ("spectral",),
    ),
    # ---------------------------------------------------------------- links
    Rule(
        "link", lambda x: x.mean_degree < _FEW_LINKS, "fewer than three links a node",
        "spectral", {"matrix": "laplacian"},
        "where nodes have hardly any links, long paths tell who belongs together: the smoothest vectors on the graph "
        "follow them, in a second (AUC on half of the links of Cora .66, eigenvectors of both signs .63)",
        "other forms, and DVNE, were better on some graphs: netfold auto measures them on yours",
        (),
        ("sdne", "dvne"),
    ),
    Rule(
        "link", lambda x: True, "three links a node or more",
        "spectral", {"matrix": "normalized"},
        "eigenvectors of the links, those with eigenvalues below 0 too, cost seconds; their score with what links say, "
        "learned by --choose-score, was above or level with either alone on nine graphs of nine (AUC on Cora .89, .84, "
        ".88)",
        "what links say without vectors, learned likewise, is .001 to .009 behind on five real graphs; where there are "
        "two sides, as users and items, .04",
        (),
        ("sdne", "dvne", "node2vec"),
    ),
    # ---------------------------------------------------------------- classes
    Rule(
        "classify", _are_similarities, "similarities: even weights, no directions, a quarter of all pairs linked",
        "spectral", {"matrix": "ppmi"},
        "how much likelier a link is than by chance says more than how heavy it is, where all are linked: with a tenth "
        "of the classes known, of documents .94 (the smoothest vectors .93, both ends of the spectrum .87), of digits "
        ".87 (.83, .75) and .89 (.87, .85)",
        "on two small sets all were level; a graph of each node's nearest ones is another question",
        (),
        ("sdne", "node2vec"),
    ),
    Rule(
        "classify", lambda x: x.nodes <= _LARGE, "up to 200,000 nodes",
        "joined", {"of": _BOTH_ENDS},
        "the smoothest vectors on the graph know classes whose nodes link among themselves, and eigenvectors of both "
        "signs, with directions, those whose nodes link to others: side by side they were .005 below the smoothest "
        "alone at most, and up to .9 above, on nine graphs",
        "twice the numbers a node, where few known classes may want fewer (a tenth of Cora known: .74, and .78 by "
        "Spectral(dim=32)); SDNE with damped hubs was better on BlogCatalog, and much worse on Cora: netfold auto "
        "measures these and others",
        (Evidence("sdne-blogcatalog-labels", "micro-F1@10%"), Evidence("sdne-blogcatalog-labels", "micro-F1@50%")),
        ("spectral", "sdne", "node2vec", "line"),
        measured=False,
    ),
    Rule(
        "classify", lambda x: True, "more than 200,000 nodes",
        "spectral", {"matrix": "laplacian"},
        "on two million nodes in planted blocks the smoothest vectors knew blocks as well as what trains (.97 of the "
        "nearest in the own block), in seconds on a GPU and 80 CPU-s for each million nodes without",
        "measured on no other graph of that size; those that tell classes whose nodes link to others too (Joined, as "
        "for fewer nodes) cost twice as much: netfold auto --task classify measures them",
        (),
        ("line",),
    ),
    # ---------------------------------------------------------------- roles
    Rule(
        "roles", lambda x: x.nodes >= _SMALL and not x.directed, "1,000 nodes or more, undirected",
        "drne", {"dim": 192, **_ROLES},
        "DRNE gives nodes that play alike parts alike vectors, however far apart they are",
        "with few known classes five numbers about degrees (DegreeFeatures) do as well: compare before you pay for it",
        (Evidence("drne-usa", "accuracy@10%", "DRNE"), Evidence("drne-usa", "accuracy@80%", "DRNE")),
        ("sdne",),
    ),
    Rule(
        "roles", lambda x: True, "fewer than 1,000 nodes, or directed",
        "degreefeatures", {},
        "degrees, and those of neighbors, say which part a node plays; on few nodes they were above DRNE, and cost "
        "nothing; they know directions, which DRNE does not read",
        "GraphWave was as good, and DRNE may be on yours: netfold auto measures all three",
        (Evidence("drne-europe", "accuracy@10%", "DRNE"), Evidence("drne-jazz", "closeness MSE/mean", "DRNE")),
        ("drne", "graphwave", "sdne"),
        measured=False,
    ),
    # ---------------------------------------------------------------- new nodes
    Rule(
        "new-nodes", lambda x: True, "a graph",
        "spectral", {"matrix": "laplacian"},
        "the smoothest vectors on the graph, to which a new node comes by its links to known ones, in no time: of nine "
        "graphs they knew its links better than DepthLGP over Node2Vec did on six (AUC of Cora .86 and .83, of ca-GrQc "
        ".92 and .89), and were .01 to .02 behind on three; classes better on three of five",
        "a new node without a known neighbor gets no vector: DepthLGP goes by paths through other new nodes, over any "
        "vectors, as LabelProp (nf.evaluate.label_propagation) does, which was as good on DBLP",
        (),
        ("depthlgp", "node2vecplus", "dvne"),
    ),
    # ---------------------------------------------------------------- uncertainty
    Rule(
        "uncertainty", lambda x: True, "a graph",
        "dvne", {},
        "DVNE alone gives a deviation beside each position, and a mean variance: how much of it hangs on single links",
        "rely on the mean variance, not on the deviation; on Cora the degree predicted still better which links to "
        "trust (docs/dvne): look at nf.evaluate.calibration",
        (
            Evidence("dvne-cora-certain", "AUC certain", "plain split, by mean variance"),
            Evidence("dvne-cora-links", "AUC"),
        ),
        measured=False,
    ),
    # ---------------------------------------------------------------- nothing said
    Rule(
        "near", lambda x: x.nodes <= _LARGE, "up to 200,000 nodes",
        "node2vec", {},
        "its walks keep who is near whom: neighbors were found better than by the smoothest vectors on nine graphs of "
        "nine (MAP .28 to .98, and .22 to .86), links and classes nearly as well",
        "it has no vectors for new nodes (Spectral has); say what the vectors are for (a task): no settings are best "
        "for everything",
        (),
        ("spectral", "sdne"),
    ),
    Rule(
        "near", lambda x: True, "more than 200,000 nodes",
        "spectral", {"matrix": "laplacian"},
        "the smoothest vectors on the graph cost 80 CPU-s for each million nodes and place new ones; on nine smaller "
        "graphs they knew links and classes as well as what trains",
        "walks (Node2Vec) found neighbors better there, and take a CPU minute an epoch for 300,000 nodes; say what the "
        "vectors are for",
        (),
        ("node2vec", "line"),
    ),
)  # fmt: skip


def rules_table() -> str:
    """The rules as docs/choosing.md shows them."""
    rows = [
        "| for | where | model | why | what speaks against it | evidence |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for x in RULES:
        settings = ", ".join(f"{name}={value!r}" for name, value in x.settings.items())
        tables = dict.fromkeys(f"[{e.table}](results.md#{e.table})" for e in x.evidence)
        model = f"`{x.model}`" + (f" `{settings}`" if settings else "")
        rows.append(f"| {x.task} | {x.case} | {model} | {x.why} | {x.but} | {', '.join(tables)} |")
    return "\n".join(rows)


def purpose_named(task: str | None) -> str:
    """The short name of the task that is meant.

    >>> purpose_named("new_nodes"), purpose_named("tuples"), purpose_named(None)
    ('new-nodes', 'link', 'near')
    """
    name = "near" if task is None else task_named(task).short
    name = _BY_RULES_OF.get(name, name)
    if name not in PURPOSES:
        raise InputError(f"there are no rules to choose a model for {task!r} by; there are for {', '.join(PURPOSES)}")
    return name


def rule_for(task: str, facts: Facts) -> Rule:
    """The first rule that applies; an `InputError` where netfold has no model for that."""
    if facts.hyperedges and task in ("roles", "uncertainty"):
        raise InputError(f"{task} is asked of a graph, and these are hyperedges; make one by clique_expansion")
    if task == "cold" and (facts.hyperedges or not facts.attributes):
        raise InputError("cold is asked of a graph with attributes of nodes; read them with it (--attributes FILE)")
    return next(rule for rule in RULES if rule.task == task and rule.when(facts))


# -------------------------------------------------------------------- what `auto` races


@dataclass(frozen=True)
class Entrant:
    """A model with settings that `auto` races in some tasks, where the data are so."""

    model: str
    settings: Mapping[str, Any]
    why: str
    tasks: tuple[str, ...]
    when: Callable[[Facts], bool] = lambda facts: True

    @property
    def words(self) -> str:
        """The model and its settings, as Python has them."""
        return f"{MODELS[self.model].__name__}({', '.join(f'{k}={v!r}' for k, v in self.settings.items())})"


_PLACES = (
    "link-prediction", "reconstruction", "classification", "clustering", "visualization", "noise-robustness",
)  # fmt: skip
_ALIKE = ("roles", "centrality", "regular-equivalence")
_LATER = ("out-of-sample",)
_TUPLES = ("hyperedges",)
_COLD = ("cold-start",)
_SURE = ("uncertainty", "calibration")

SPACE = (
    # ---------------------------------------------------------------- about a second
    Entrant(
        "spectral", {"matrix": "smoothed"}, "attributes, averaged over neighbors twice",
        (*_PLACES, *_LATER, *_COLD), lambda x: bool(x.attributes),
    ),
    Entrant(
        "spectral", {"matrix": "attributes"}, "links and attributes side by side", (*_PLACES, *_LATER, *_COLD),
        lambda x: bool(x.attributes),
    ),
    Entrant(
        "spectral", {"matrix": "propagation", "dim": 16, "steps": 8}, "a million nodes in five seconds",
        (*_PLACES, *_LATER), lambda x: x.nodes > 10 * _HUGE,
    ),
    Entrant(
        "spectral", {"matrix": "propagation", "dim": 32}, "what a graph of this size is soonest done with",
        (*_PLACES, *_LATER), lambda x: x.nodes > _HUGE,
    ),
    *(
        Entrant(
            "spectral", {"matrix": form, "dim": 32}, "soon done too", (*_PLACES, *_LATER), lambda x: x.nodes > _HUGE
        )
        for form in ("prone", "laplacian", "normalized")
    ),
    Entrant(
        "spectral", {"matrix": "propagation", "steps": 4, "regularization": 0.5},
        "few steps, and a node counts as its own neighbor: neighbors stay apart from those two steps away",
        ("reconstruction",),
    ),
    Entrant("spectral", {"matrix": "propagation"}, "random vectors, propagated along links", (*_PLACES, *_TUPLES)),
    Entrant(
        "degreefeatures", {}, "degrees, and those of neighbors, say which part a node plays",
        (*_ALIKE, "classification", "clustering"),
    ),
    Entrant(
        "dhne", {"counts": True, "repeated": "once", "epochs": 0},
        "logistic regression on counts of pairs, degrees and cosines of eigenvectors", _TUPLES,
    ),
    Entrant("spectral", {"matrix": "prone"}, "a few rounds of smoothing after a factorisation", (*_PLACES, *_LATER)),
    Entrant(
        "spectral", {"matrix": "laplacian"}, "the smoothest vectors on the graph", (*_PLACES, *_LATER, *_TUPLES)
    ),
    Entrant(
        "spectral", {"matrix": "normalized"}, "those, and the roughest: eigenvectors of the normalised adjacency",
        (*_PLACES, *_LATER, "roles"),
    ),
    Entrant(
        "spectral", {"matrix": "laplacian", "dim": 32}, "fewer numbers say less, and guess more",
        ("link-prediction", "classification", "clustering", "out-of-sample"), lambda x: 64 < x.nodes <= _HUGE,
    ),
    Entrant(
        "spectral", {"matrix": "normalized", "dim": 32}, "fewer numbers, where few classes are known",
        ("classification",), lambda x: 64 < x.nodes <= _HUGE,
    ),
    *(
        Entrant(
            "spectral", {"matrix": "laplacian", "dim": dim},
            "where nodes have few links, circles are small, and more of them than 128", ("link-prediction",),
            lambda x: _SMALL < x.nodes <= _HUGE and x.mean_degree < _FEW_TO_SHARE,
        )
        for dim in (256, 512)
    ),
    Entrant(
        "spectral", {"matrix": "laplacian", "power": 1.0},
        "rougher vectors count for more: where linked nodes share neighbors, who exactly does is in those",
        ("link-prediction",), lambda x: x.nodes <= _HUGE and _shared(x) >= 1,
    ),
    Entrant(
        "spectral", {"matrix": "laplacian", "regularization": 1.0},
        "as much as the mean degree added to degrees, as few links and no triangles leave each of them unsure",
        ("link-prediction",), lambda x: x.nodes <= _HUGE and _shared(x) < 1,
    ),
    Entrant("spectral", {"matrix": "adjacency"}, "the SVD of the adjacency itself", (*_PLACES, *_ALIKE, *_LATER)),
    Entrant("spectral", {"matrix": "ppmi"}, "the SVD of what walks see together", _PLACES),
    Entrant("spectral", {"matrix": "log"}, "the SVD of the logarithm of weights", _PLACES, lambda x: x.weighted),
    Entrant(
        "spectral", {"matrix": "ppmi", "weight_scale": "plain"}, "what walks see together, by weights as they are",
        _PLACES, lambda x: x.is_heavy,
    ),
    Entrant(
        "spectral", {"matrix": "adjacency", "dim": 32}, "fewer numbers say less, and guess more",
        ("link-prediction",), lambda x: x.nodes > 64,
    ),
    Entrant(
        "node2vec", {"epochs": 0}, "its start: eigenvectors of the normalised adjacency", _PLACES,
        lambda x: "spectral" not in MODELS,
    ),
    Entrant("graphwave", {}, "how heat spreads from a node says which part it plays", _ALIKE),
    # ---------------------------------------------------------------- trained
    Entrant(
        "sdne", {**_LINKS, "epochs": 300}, "its decoder, made to write shared neighbors too", ("link-prediction",),
        lambda x: _can_list(x) and not x.attributes,
    ),
    Entrant(
        "drne", {"dim": 36, **_ROLES}, "few nodes allow few numbers", ("roles",), lambda x: x.nodes < _SMALL
    ),
    Entrant(
        "sdne", {**_CLASSES, "dropout": 0.2, "epochs": 400}, "damped hubs, which were best on BlogCatalog",
        ("classification",), lambda x: x.nodes <= _LARGE,
    ),
    Entrant(
        "sdne", {"decoder": "solve", "attribute_weight": 0.0, "epochs": 20},
        "a decoder that is solved for writes who is linked", ("reconstruction",), lambda x: x.nodes <= _LARGE,
    ),
    Entrant("depthlgp", {}, "its defaults", _LATER),
    Entrant("dvne", {}, "its defaults", ("link-prediction", "noise-robustness", *_SURE, *_LATER)),
    Entrant("node2vec", {"held_out": 0.0}, "trained on all links", _PLACES),
    Entrant("sdne", {}, "its defaults", (*_PLACES, *_ALIKE, *_LATER, *_COLD)),
    Entrant(
        "sdne", {"attribute_weight": 0.0}, "links alone, where attributes lead astray", _PLACES,
        lambda x: bool(x.attributes),
    ),
    Entrant(
        "sdne", {"row_damping": 0.5, "column_damping": 0.5, "attribute_weight": 1.5}, "links of hubs weighed down",
        ("link-prediction",), lambda x: bool(x.attributes),
    ),
    Entrant("sdne", {"hidden": ()}, "one layer: a factorisation that weighs links above zeros", _PLACES),
    Entrant("line", {}, "its defaults", ("link-prediction", "classification", "reconstruction")),
    Entrant("drne", {}, "its defaults", _ALIKE),
    Entrant(
        "drne", {"attribute_weight": 0.0}, "links alone, where attributes lead astray", _ALIKE,
        lambda x: bool(x.attributes),
    ),
    # ---------------------------------------------------------------- hyperedges
    Entrant("dhne", {}, "its defaults", ("hyperedges", "classification", "clustering", "visualization", "roles")),
    Entrant(
        "dhne", {"counts": True, "repeated": "once"}, "and how often the nodes of a tuple meet, two by two", _TUPLES
    ),
    Entrant(
        "dhne", {"attribute_weight": 0.0}, "tuples alone, where attributes lead astray",
        ("hyperedges", "classification", "clustering", "visualization", "roles"), lambda x: bool(x.attributes),
    ),
    Entrant(
        "dhne", {"hidden": 16, "nu": 0.3, "scale": "binary", "lr": 0.003, "epochs": 120},
        "what was best on few hyperedges", ("hyperedges",), lambda x: x.edges >= _FEW,
    ),
    Entrant(
        "dhne", {"hidden": 64, "nu": 10.0, "scale": "log", "lr": 0.01, "epochs": 20},
        "what was best on many hyperedges", ("hyperedges",), lambda x: x.edges < _FEW,
    ),
)  # fmt: skip
"""What is raced, the cheap before the costly; the rules above are part of it: `entrants` adds what `choose` says."""


_CHEAP = ("spectral", "degreefeatures", "graphwave", "joined")
"""Models without epochs: what else the rules recommend comes after them."""


def entrants(task: str, facts: Facts) -> list[Entrant]:
    """What `auto` races in a task on such data: the entrants of `SPACE`, and what the rules recommend, each once.

    >>> facts = Facts(100, 200, two_steps=1000.0)
    >>> [x.model for x in entrants("roles", facts)]
    ['degreefeatures', 'spectral', 'spectral', 'graphwave', 'drne', 'sdne', 'drne']
    """
    known = task_named(task)
    kind = "hypergraph" if facts.hyperedges else "graph"
    own = [x for x in SPACE if known.name in x.tasks and x.model in MODELS and x.when(facts)]
    if known.needs_attributes and not facts.attributes:
        return []
    if known.purpose and not (facts.hyperedges and known.short in ("roles", "uncertainty")):
        rule = rule_for(known.short, facts)
        # after the quickest one: where little can be tried, that is tried which is likeliest to win
        before = 1 if rule.model in _CHEAP else sum(x.model in _CHEAP or x.settings.get("epochs") == 0 for x in own)
        if not any((x.model, x.settings) == (rule.model, rule.settings) for x in own):
            own.insert(before, Entrant(rule.model, rule.settings, rule.why, (known.name,)))
    some = [x for x in own if MODELS[x.model].reads == kind or (facts.hyperedges and x.model == "spectral")]
    once: dict[tuple[str, str], Entrant] = {}
    for x in some:
        once.setdefault((x.model, repr(sorted(x.settings.items()))), x)
    return list(once.values())
