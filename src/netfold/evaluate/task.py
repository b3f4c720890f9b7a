"""`Task` and `TASKS`: what a model can be asked, as one table of plain data that every command reads.

`netfold evaluate` has a subcommand for each, `nf.compare` a column, a table of `netfold reproduce` names one, a report
measures some, and `nf.choose` has rules for those with a `purpose`. Nothing heavy is imported here: `case` makes of a
task and data what a model is fitted to and what then measures it.

>>> TASKS["link-prediction"].headline
('AUC', 'MAP')
>>> task_named("link_prediction") is task_named("link") is TASKS["link-prediction"]
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from netfold.embedder.pair_score import OF_MODELS
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.evaluate.result import Result

__all__ = [
    "AGGREGATES",
    "CALIBRATORS",
    "CENTRALITIES",
    "CERTAINTIES",
    "CLASSIFIERS",
    "CLASS_RULES",
    "EDGES_BY",
    "ISOLATED",
    "KEEP",
    "LINKED",
    "NEGATIVES",
    "NEW_NODES_BY",
    "NORMALIZE",
    "RENAMED_ARGUMENTS",
    "RENAMED_VALUES",
    "SAMPLERS",
    "SCORES",
    "SCORES_OF_VECTORS",
    "TASKS",
    "Task",
    "check_renamed",
    "task_named",
]

# -------------------------------------------------------------------- what arguments admit

SCORES_OF_VECTORS = ("dot", "cosine", "distance")
SCORES = (*OF_MODELS, "own")
"""Of pairs of nodes, see `pair_scores`; "own" is the one that the model is meant for (`own_score`). There are those of
links too, and sums."""
NEGATIVES = ("uniform", "degree", "all")
"""How pairs that are no edges are drawn."""
SAMPLERS = ("replaced", "uniform", "all")
"""How tuples that are no hyperedges are drawn."""
AGGREGATES = ("mean", "min")
EDGES_BY = ("random", "time")
"""Which edges are held out."""
KEEP = ("none", "connected")
ISOLATED = ("average", "own")
"""How pairs with a node that has no links in training are scored: as an average pair, or by its own vector."""
CLASSIFIERS = ("logistic", "svm")
CLASS_RULES = ("top-k", "threshold")
NORMALIZE = ("none", "rows", "centred", "columns")
CENTRALITIES = ("closeness", "betweenness", "eigenvector", "k-core", "pagerank", "degree")
CALIBRATORS = ("platt", "isotonic")
"""Of learning a probability from a score."""
CERTAINTIES = ("variance", "mean_variance")
LINKED = ("path", "neighbor")
"""What a new node has to known ones, to be asked about."""
NEW_NODES_BY = ("random", "time", "walk")

RENAMED_ARGUMENTS: dict[str, str] = {"hidden": "held_out"}
"""Arguments of tasks: old name to new. Tables are read by both, and their rows hashed by the old.

No new name may be the old name of another argument: they are told apart by their names alone.
"""
RENAMED_VALUES: dict[str, dict[str, str]] = {"certainty": {"doubt": "mean_variance"}}
"""Texts that an argument admits, by its new name: {argument: {old text: new text}}. Read and hashed likewise."""


def check_renamed(**arguments: Any) -> None:
    """Answer an argument, or its text, by the old name with the new one.

    >>> check_renamed(hidden=0.2)
    Traceback (most recent call last):
    ...
    netfold.errors.InputError: hidden is now called held_out
    """
    for name, value in arguments.items():
        if name in RENAMED_ARGUMENTS:
            raise InputError(f"{name} is now called {RENAMED_ARGUMENTS[name]}")
        texts = RENAMED_VALUES.get(name, {})
        if isinstance(value, str) and value in texts:
            raise InputError(f"{name}={value!r} is now called {texts[value]!r}")


# -------------------------------------------------------------------- the table

_OF_EDGES = ("held_out", "by", "keep")
_OF_TUPLES = ("test", "kept", "held_out")
_OF_NODES = ("until", "new", "by", "max_degree")


@dataclass(frozen=True)
class Task:
    """One thing that a model can be asked, and how it is measured unless said otherwise.

    >>> task = TASKS["calibration"]
    >>> task.split, task.headline, task.smaller, task.needs_classes
    ('edges', ('Brier', 'AUC certain'), ('Brier',), False)
    """

    name: str
    """As the command line has it."""
    question: str
    """What is asked, then the figures that answer it."""
    headline: tuple[str, ...]
    """The figures that stand for it where there is no room for all; the first is the one."""
    arguments: tuple[str, ...] = ()
    """What fixes its protocol: arguments of the function, after those that say what is held out."""
    aliases: tuple[str, ...] = ()
    """Other names; the first is the one that `choose` says. Underscores for hyphens are always understood."""
    reads: tuple[str, ...] = ("graph",)
    """The kinds of data: graph, hypergraph."""
    split: str = ""
    """What is held out from the model: edges, nodes or hyperedges; nothing where it is fitted to all that there is."""
    needs_classes: bool = False
    """Whether it needs the classes of nodes."""
    smaller: tuple[str, ...] = ()
    """Those of the headline of which less is better."""
    score: str = ""
    """How pairs are scored unless said otherwise, the same in every command: one of SCORES, or "gaussian", W2 where
    nodes have deviations and else the cosine; "tuples" where a model scores whole tuples. Empty: there are no pairs."""
    baselines: str = "shared"
    """What stands beside a model: cheap methods "shared" by all models of a width, its "own" (they start from its
    vectors), or "none"."""
    refits: bool = False
    """Whether the model is fitted again, to changed data, while it is measured."""
    needs_attributes: bool = False
    """Whether it needs attributes of nodes."""
    purpose: str = ""
    """What vectors for it are good for, in the words of `choose`; empty where that has no rules."""

    @property
    def function(self) -> str:
        """Its function in `nf.evaluate`."""
        return self.name.replace("-", "_")

    @property
    def short(self) -> str:
        """The name that `choose` has for it: the first of the others, where there are any."""
        return self.aliases[0] if self.aliases else self.name

    @property
    def words(self) -> str:
        """Its name in a sentence."""
        return self.name.replace("-", " ")

    @property
    def takes_classes(self) -> bool:
        """Whether it measures more where the classes of nodes are known."""
        return self.needs_classes or "classes" in self.arguments

    @property
    def measure(self) -> Callable[..., Result]:
        """The function itself, whose module is imported now."""
        from netfold import evaluate

        function: Callable[..., Result] = getattr(evaluate, self.function)
        return function

    def held_out(self, arguments: Iterable[str]) -> list[str]:
        """Those of some arguments that say which part of the data a model is fitted to.

        >>> TASKS["link-prediction"].held_out(["held_out", "score"])
        ['held_out']
        """
        own = {"edges": _OF_EDGES, "nodes": _OF_NODES, "hyperedges": _OF_TUPLES}.get(self.split, ())
        return [name for name in arguments if name in own and name != "test"]

    def headline_in(self, figures: Iterable[str]) -> list[str]:
        """The headline, of the figures that there are; the first of them, where none is in the headline.

        >>> TASKS["classification"].headline_in(["micro-F1@30%"])
        ['micro-F1@30%']
        """
        known = list(figures)
        return [name for name in self.headline if name in known] or known[:1]


_ALL = (
    Task(
        "link-prediction",
        "How well held-out edges are found: AUC, average precision, precision@k, MAP, hits@k and MRR",
        ("AUC", "MAP"),
        (*_OF_EDGES, "score", "isolated", "negatives", "per_positive", "k", "hits", "nodes"),
        aliases=("link",),
        split="edges",
        score="cosine",
        purpose="links that are missing, or not there yet",
    ),
    Task(
        "reconstruction",
        "How well the vectors give back the graph that they were learned from: MAP and precision@k",
        ("MAP",),
        ("score", "k", "per_positive", "negatives", "nodes"),
        aliases=("near",),
        score="cosine",
        purpose="who is near whom",
    ),
    Task(
        "classification",
        "How well a linear classifier predicts the classes of nodes from their vectors: micro-F1 and macro-F1",
        ("micro-F1@10%", "micro-F1@50%"),
        ("train", "classifier", "rule", "normalize", "C", "repeats"),
        aliases=("classify",),
        reads=("graph", "hypergraph"),
        needs_classes=True,
        purpose="classes of nodes",
    ),
    Task(
        "clustering",
        "How well clusters of the vectors agree with classes: normalised mutual information and adjusted Rand index",
        ("NMI",),
        ("clusters", "normalize", "repeats"),
        aliases=("cluster",),
        reads=("graph", "hypergraph"),
        needs_classes=True,
    ),
    Task(
        "visualization",
        "How much a t-SNE of the vectors loses, and whether it keeps classes together: divergence (KL), and accuracy "
        "of neighbors in the plane",
        ("KL",),
        ("perplexity", "normalize", "nodes"),
        reads=("graph", "hypergraph"),
        needs_classes=True,
        smaller=("KL",),
    ),
    Task(
        "roles",
        "How well logistic regression predicts the roles of nodes from their vectors: accuracy",
        ("accuracy@10%", "accuracy@80%"),
        ("train", "normalize", "repeats"),
        reads=("graph", "hypergraph"),
        needs_classes=True,
        purpose="roles of nodes",
    ),
    Task(
        "centrality",
        "How well linear regression predicts centralities from vectors: squared error over the mean, and R²",
        ("closeness R²", "betweenness R²", "k-core R²"),
        ("held_out", "repeats", "measures", "sources"),
    ),
    Task(
        "regular-equivalence",
        "How well products of vectors rank pairs of nodes as their regular equivalence does: Kendall's tau",
        ("Kendall τ",),
        ("similarity", "alpha", "score", "pairs"),
        score="dot",
    ),
    Task(
        "uncertainty",
        "How the variance of nodes goes with their degree: rank correlation (Spearman), and the mean by degree",
        ("Spearman",),
        ("largest", "bins"),
        smaller=("Spearman",),
        baselines="none",
        purpose="how sure a position is",
    ),
    Task(
        "calibration",
        "Whether held-out edges are as probable as Gaussians say: calibration error (ECE), Brier, AUC, and AUC of the "
        "more certain half of the nodes",
        ("Brier", "AUC certain"),
        (*_OF_EDGES, "method", "bins", "largest", "certainty", "negatives"),
        split="edges",
        smaller=("Brier",),
        score="w2",
        baselines="own",
    ),
    Task(
        "noise-robustness",
        "How much worse held-out edges are found where random edges were added: AUC without them, and its decline",
        ("AUC", "decline@25%"),
        ("fractions", "held_out", "keep", "score", "repeats"),
        split="edges",
        smaller=("decline@25%",),
        score="gaussian",
        refits=True,
    ),
    Task(
        "out-of-sample",
        "How good the vectors of new nodes are, got without a new fit: F1 of their classes, AUC of their links",
        ("micro-F1", "AUC"),
        (*_OF_NODES, "classes", "links", "linked", "score", "per_positive", "normalize", "C"),
        aliases=("new-nodes",),
        split="nodes",
        score="cosine",
        baselines="own",
        purpose="nodes that arrive later",
    ),
    Task(
        "cold-start",
        "How good the vectors of new nodes are of which attributes are known and no link: F1 of their classes, AUC of "
        "the links that they will have",
        ("micro-F1", "AUC"),
        (*_OF_NODES, "classes", "links", "score", "per_positive", "normalize", "C"),
        aliases=("cold",),
        split="nodes",
        score="cosine",
        baselines="own",
        needs_attributes=True,
        purpose="nodes that arrive without a link",
    ),
    Task(
        "replay",
        "How well vectors serve while edges come in batches: the old classifier on new nodes (F1), the next batch's "
        "links (AUC), and processor time, settled and in the other ways",
        ("micro-F1", "AUC"),
        (*_OF_NODES, "classes", "days", "every", "mu", "score", "normalize", "C"),
        split="nodes",
        score="cosine",
        baselines="own",
    ),
    Task(
        "hyperedges",
        "How well held-out hyperedges are found: AUC and average precision against tuples that are none",
        ("AUC", "AP"),
        (*_OF_TUPLES, "negatives", "per_positive", "duplicates", "aggregate"),
        aliases=("tuples",),
        reads=("hypergraph",),
        split="hyperedges",
        score="tuples",
    ),
)

TASKS: dict[str, Task] = {task.name: task for task in _ALL}
"""Every task by its name."""
_NAMES = {name: task for task in _ALL for name in (task.name, *task.aliases)}


def task_named(name: Any) -> Task:
    """The task of a name or of one of its other names; an `InputError` where there is none.

    >>> task_named("regular_equivalence").name, task_named("new-nodes").name
    ('regular-equivalence', 'out-of-sample')
    """
    spelled = str(name).replace("_", "-")
    if spelled not in _NAMES:
        near = get_close_matches(spelled, _NAMES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(TASKS)}"
        raise InputError(f"there is no task {str(name)!r}; {hint}")
    return _NAMES[spelled]
