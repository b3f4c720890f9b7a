"""`netfold evaluate hyperedges MODEL EDGES`: how well hidden hyperedges are told from tuples that are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from netfold.cli.contenders import Contenders, Fit, fitting_command
from netfold.cli.inputs import INPUTS, hypergraph_of, labelled_as_known, model_of
from netfold.cli.output import json_flag, say
from netfold.cli.protocol_flags import HYPEREDGE_FLAGS, protocol_of
from netfold.embedder.embedder import Embedder
from netfold.errors import InputError

if TYPE_CHECKING:
    from netfold.data.hypergraph import Hypergraph
    from netfold.evaluate import HyperedgeSplit

__all__ = ["hyperedges"]

_ASKED = INPUTS["hypergraph"]
_HELP = (
    "How well hidden hyperedges are found: AUC and average precision against tuples that are none.\n\n"
    "A model given by name is fitted to the hyperedges that are left. A saved one must not have seen the test "
    "hyperedges: EDGES are then those it was fitted to, and --test names a file of others. Hyperedges that were never "
    "seen and all that were hidden have figures of their own, where some are listed twice.\n\n" + _ASKED.help
)
_EXAMPLE = "Example: netfold evaluate hyperedges {model} triples.csv"


def _of_model(cls: type[Embedder]) -> click.Command:
    epilog = _EXAMPLE.format(model=cls.__name__.lower()) + " --hide 0.2 --dim 32"
    return fitting_command(cls, help=_HELP, epilog=epilog, add=_with_flags, run=_evaluate)


def _of_saved() -> click.Command:
    @click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is random.")
    @click.option("--test", metavar="FILE", help="Hyperedges that the saved model has not seen.")
    def run(model: str, seed: int, **given: Any) -> None:
        if given["test"] is None:
            raise InputError(
                f"{model} may have seen the hyperedges that would be hidden; give those that it was fitted to and "
                "others in a file (--test FILE), or a model's name to fit one here"
            )
        saved = model_of(model)

        def same(hypergraph: Hypergraph) -> Any:
            facts = getattr(saved, "graph_facts_", None)
            if facts is not None and facts["fingerprint"] != hypergraph.fingerprint:
                files = ", ".join(given["edges"])
                raise InputError(
                    f"{model} was not fitted to {files}, and may have seen the test hyperedges; give those that it was"
                )
            return saved

        _evaluate(same, seed, given)

    epilog = _EXAMPLE.format(model="dhne.netfold") + " --test others.csv"
    return click.command("MODEL", help=_HELP, epilog=epilog)(click.argument("model")(_with_flags(run)))


def _with_flags(command: Any) -> Any:
    """The flags of the task, and those of reading."""
    command = json_flag(_ASKED.add(command))
    for flag in reversed(HYPEREDGE_FLAGS):
        command = flag(command)
    return command


def _evaluate(fit: Fit, seed: int, given: Mapping[str, Any]) -> None:
    """Read everything, then fit, then evaluate under each sampler."""
    from netfold.evaluate import hidden_hyperedges

    arguments = protocol_of(given)
    split = _split(given, arguments.pop("hidden", None), seed)
    samplers = arguments.pop("negatives")
    model = fit(split.train)
    found = {x: hidden_hyperedges(model, split, negatives=x, seed=seed, **arguments) for x in samplers}
    facts = {"task": "hyperedges", "results": {name: result.to_dict() for name, result in found.items()}}
    say(facts, "\n\n".join(map(repr, found.values())), as_json=given["as_json"])


def _split(given: Mapping[str, Any], hidden: float | None, seed: int) -> HyperedgeSplit:
    from netfold.evaluate import HyperedgeSplit, split_hyperedges

    reading = {name: given[name] for name in _ASKED.names}
    known = hypergraph_of(given["edges"], **reading)
    if given.get("test") is None:
        return split_hyperedges(known, 0.2 if hidden is None else hidden, seed=seed)
    if hidden is not None:
        raise InputError("--hide hides hyperedges and --test gives those that are hidden; leave out one of them")
    return HyperedgeSplit(known, labelled_as_known(hypergraph_of([given["test"]], **reading), known.nodes), {})


hyperedges = Contenders(
    "hyperedges",
    help=_HELP,
    epilog=_EXAMPLE.format(model="dhne"),
    reads="hypergraph",
    of_model=_of_model,
    of_saved=_of_saved,
)
