"""Several ranks on this machine, as torchrun would start them: a function run by each, and what they answer."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_PRELOADED = "torch torch.distributed pytest netfold.cli netfold.models.sdne.sharded netfold.models.depthlgp.sharded"
_CONTEXT.set_forkserver_preload(_PRELOADED.split())  # what each rank would import for itself otherwise


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def on_ranks(size: int, function: Callable[..., Any], *args: Any, timeout: float = 120) -> list[Any]:
    """What `function(*args)` gives on each of `size` ranks; an error of one is raised here."""
    port = str(free_port())
    pipes, processes = [], []
    for rank in range(size):
        here, there = _CONTEXT.Pipe(duplex=False)
        environment = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_PORT": port}
        environment |= {"MASTER_ADDR": "127.0.0.1", "NETFOLD_TIMEOUT": "60"}
        process = _CONTEXT.Process(target=_answer, args=(there, environment, function, args))
        process.start()
        there.close()
        pipes.append(here)
        processes.append(process)
    answers = []
    try:
        for pipe in pipes:
            assert pipe.poll(timeout), "a rank does not answer"
            answers.append(pipe.recv())
    finally:
        for process in processes:
            process.join(10)
            if process.is_alive():
                process.kill()
    codes = [process.exitcode for process in processes]
    assert codes == [0] * size, f"ranks ended with {codes}"
    wrong = [text for ok, text in answers if not ok]
    assert not wrong, "\n".join(wrong)
    return [value for _, value in answers]


def _answer(pipe: Any, environment: dict[str, str], function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    import torch

    os.environ.update(environment)
    torch.set_num_threads(1)
    try:
        answer = (True, function(*args))
    except BaseException:
        answer = (False, traceback.format_exc())
    pipe.send(answer)
    pipe.close()
    from netfold.cluster.ranks import end

    end()  # as at the end of any process; those of multiprocessing run nothing that is registered for it


# -------------------------------------------------------------------- SDNE


def network_of(folder: Path, options: dict[str, Any], dtype: Any = None, **more: Any) -> tuple[Any, Any]:
    """The ranks, and a started sharded SDNE over a folder."""
    import torch

    import netfold as nf
    from netfold.cluster.exchange import RankGraph
    from netfold.cluster.ranks import start
    from netfold.io.parts import PartsFolder
    from netfold.models.sdne.sharded import ShardedSDNE

    ranks = start("cpu")
    graph = RankGraph(PartsFolder.open(folder, "graph"), ranks)
    model = nf.SDNE(**options)
    own = model._network({"n_nodes": graph.m}).to(dtype or torch.float64)
    network = ShardedSDNE(own, graph, model._generator, dropout=model.dropout, **more)
    network.start(model.init)
    return ranks, network


def one_loss(folder: Path, options: dict[str, Any], dtype: Any = None, epoch: int = 0) -> dict[str, Any]:
    """The terms of a loss, parameters and gradients of this rank, and bytes sent against the formula."""
    _, network = network_of(folder, options, dtype)
    before = network.exchange.sent
    terms = {name: float(x) for name, x in network.loss(epoch).items()}
    sent = network.exchange.sent - before
    parameters = {name: x.detach().numpy().copy() for name, x in network.own.named_parameters()}
    grads = {name: x.grad.numpy().copy() for name, x in network.own.named_parameters()}
    seen = [network._seen(epoch)(c, network._ranks.rank) for c in range(len(network.rows.slices))]
    return {
        "terms": terms, "parameters": parameters, "grads": grads, "sent": sent, "formula": network.formula(),
        "needed": network.exchange.needed, "embed": network.embed(), "m": network._graph.m,
        "seen": sum(float(x.values.sum()) for x in seen if x is not None),
    }  # fmt: skip


def trained(folder: Path, options: dict[str, Any], checkpoint: Path | None = None, stop: int = 0) -> dict[str, Any]:
    """`fit` on a folder, ended after epoch `stop`; the objectives, and the vectors of this rank.

    `options` may name a `model`; SDNE if not.
    """
    import netfold as nf

    model = nf.Embedder.models[options.get("model", "sdne")](**{k: x for k, x in options.items() if k != "model"})
    every = {"checkpoint": checkpoint, "checkpoint_every": 0.0} if checkpoint else {}
    model.fit(folder, progress=False, on_epoch=lambda record: record["epoch"] == stop, **every)  # type: ignore[arg-type]
    vectors = model.embedding_.vectors
    return {"objectives": [x["objective"] for x in model.history_], "vectors": vectors, "nodes": list(model.embedding_)}


def refused(function: Any, *args: Any) -> str:
    """The sentence by which something is refused on this rank, and whether rank 0 is to say it."""
    from netfold.errors import InputError

    try:
        function(*args)
    except InputError as e:
        return f"{'silent: ' if e.silent else ''}{e}"
    return "not refused"


def with_options(by_rank: list[dict[str, Any]], folders: list[Path], **more: Any) -> str:
    """`trained`, each rank with options and a folder of its own: what is said against it."""
    rank = int(os.environ["RANK"])
    return refused(trained, folders[rank], by_rank[rank])


def largest_tensor(folder: Path, options: dict[str, Any]) -> tuple[int, int, int, int]:
    """The most numbers of a tensor that an epoch makes on this rank, and what it may have: m, rows of a peer, names."""
    from allocations import Allocations

    _, network = network_of(folder, options)
    with Allocations() as seen:
        network.loss(0)
        network.embed()
    rows = max([network._graph.m, *map(len, network.rows.needs)])
    return seen.numbers, rows, network._graph.m, len(network._graph.names())


def started_alone() -> str:
    """What a rank says whose peers never come."""
    from netfold.cluster.ranks import start

    return refused(start, "cpu")


_PEAK = """
import json, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
import netfold as nf
folder, vectors, name, options = sys.argv[1], sys.argv[2] or None, sys.argv[3], json.loads(sys.argv[4])
nf.MODELS[name](device="cpu", **options).fit(folder, vectors, progress=False)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) << 10)
"""


def peak_of_fit(size: int, name: str, folder: Path, options: dict[str, Any], vectors: str = "") -> int:
    """The most bytes that any of so many processes has held while they fit, by the kernel's own count.

    Processes of their own: one that was forked has what its parent imported without holding it.
    """
    port, processes = str(free_port()), []
    for rank in range(size):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_PORT": port}
        own |= {"MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", _PEAK, str(folder), vectors, name, json.dumps(options)]
        processes.append(subprocess.Popen(command, env=os.environ | own, stdout=subprocess.PIPE, text=True))
    return max(int(process.communicate(timeout=900)[0]) for process in processes)


def added_by_fit(name: str, folder: Path) -> int:
    """The bytes by which one epoch of a model's fit to the whole graph of a folder raises this process's memory."""
    import netfold as nf
    from netfold.studies.machine import Meter

    def model() -> Any:
        cls = nf.MODELS[name]
        return cls(device="cpu", **({"epochs": 1} if "epochs" in cls().get_params() else {}))

    model().fit(nf.Graph.from_edges([(i, (i + k) % 50) for i in range(50) for k in (1, 2)]), progress=False)
    graph = nf.Graph.load(folder)
    with Meter() as meter:
        model().fit(graph, progress=False)
    return meter.bytes
