"""Runs that are really killed: whenever SIGKILL comes, starting again ends with the bits of an uninterrupted run.

This file is two things. As a test it starts itself as a program; as a program it gets torch ready once, in one thread,
and forks a child for every run, so that a run costs milliseconds to start, and kills the children.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kills import kill_at

KILLS = 24
EPOCHS = 20
FEW = 3


def fit(folder: Path | None, epochs: int = EPOCHS) -> str:
    """Fit a small SDNE and give the hash of all that it learned.

    Five stars: so few nodes have several links that no ways to place new ones are compared, which would take longer
    than the training.
    """
    from netfold.data.graph import Graph
    from netfold.models import SDNE

    graph = Graph.from_edges([(i % 5, i) for i in range(5, 40)])
    model = SDNE(dim=8, hidden=(32,), epochs=epochs, batch_size=20, tolerance=0.0)
    model.fit(graph, progress=False, checkpoint=folder, checkpoint_every=0)
    history = [{k: v for k, v in r.items() if k != "seconds"} for r in model.history_]
    return hashlib.sha256(model.embedding_.vectors.tobytes() + json.dumps(history).encode()).hexdigest()


def forked(task: Callable[[], str], result: Path) -> int:
    """A child that writes what `task` gives to a file."""
    child = os.fork()
    if child == 0:
        try:
            made = task()
            result.with_suffix(".part").write_text(made)
            result.with_suffix(".part").rename(result)  # whole or not there: this, too, may be killed
            os._exit(0)
        finally:
            os._exit(1)
    return child


def ended(child: int) -> int:
    """The return code as subprocess counts it: -9 where a signal 9 ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at_random(work: Path) -> dict[str, Any]:
    """Kill runs at random moments until there were enough kills and the last run could finish."""
    started = time.monotonic()
    assert ended(forked(lambda: fit(work / "timed"), work / "timed.txt")) == 0
    whole = time.monotonic() - started
    draw, facts = random.Random(0), {"kills": 0, "while_writing": 0, "resumed": 0, "results": []}
    while facts["kills"] < KILLS:
        folder, result = work / f"run{len(facts['results'])}", work / "result.txt"
        result.unlink(missing_ok=True)
        while not result.exists():
            child = forked(lambda folder=folder: fit(folder), result)  # type: ignore[misc]
            time.sleep(draw.uniform(0, whole))
            os.kill(child, signal.SIGKILL)
            code = ended(child)
            assert code in (0, -9), code
            if code == -9:
                facts["kills"] += 1
                facts["while_writing"] += any(path.name != ".lock" for path in folder.glob(".*"))
                facts["resumed"] += (folder / "manifest.json").exists()
        facts["results"].append(result.read_text())
        epochs = [json.loads(line)["epoch"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
        assert epochs == list(range(1, EPOCHS + 1)), epochs
        assert sorted(os.listdir(folder)) == ["manifest.json", "metrics.jsonl", f"state-{EPOCHS:06d}.safetensors"]
    return facts


def kill_at_every_step(work: Path) -> dict[str, Any]:
    """Let a run kill itself at its n-th call that changes the disk, for every n of the first two states, then go on."""
    calls = ("mkdir", "fsync", "replace", "unlink", "rmdir")

    def doomed(folder: Path, n: int) -> str:
        kill_at(n, calls)
        return fit(folder, FEW)

    codes, results = [], set()
    for n in range(1, 28):
        folder, result = work / f"step{n}", work / "step.txt"
        codes.append(ended(forked(lambda folder=folder, n=n: doomed(folder, n), result)))  # type: ignore[misc]
        assert ended(forked(lambda folder=folder: fit(folder, FEW), result)) == 0  # type: ignore[misc]
        results.add(result.read_text())
    return {"codes": codes, "results": sorted(results)}


def main(work: Path) -> None:
    """Everything, in a process where torch never starts a second thread, which a fork would lose."""
    import torch

    torch.set_num_threads(1)
    found: dict[str, Any] = {"whole": fit(None), "few": fit(None, FEW)}
    print(json.dumps(found | {"random": kill_at_random(work), "steps": kill_at_every_step(work)}))


def environment() -> dict[str, str]:
    """Where this process finds netfold, another does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def python(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment())


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    work = tmp_path_factory.mktemp("killed")
    done = python(__file__, str(work))
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_killed_at_random_moments(killed: dict[str, Any]) -> None:
    facts = killed["random"]
    assert facts["kills"] >= 20
    assert facts["resumed"] >= 5, "most kills must come after a state was written"
    assert facts["while_writing"] >= 1, "some kills must come while one is written"
    assert set(facts["results"]) == {killed["whole"]}


def test_killed_at_every_step_of_writing(killed: dict[str, Any]) -> None:
    assert set(killed["steps"]["codes"]) == {-9}
    assert killed["steps"]["results"] == [killed["few"]]


def test_a_process_of_its_own_is_killed(killed: dict[str, Any], tmp_path: Path) -> None:
    """The same without forking: a fresh interpreter, killed as soon as it has a state, and another that goes on."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import torch; torch.set_num_threads(1);"
    code += f"from pathlib import Path; from test_kill import fit; print(fit(Path({str(tmp_path / 'run')!r})))"
    slow = "import netfold.io.files, time; f = netfold.io.files._fsync;"
    slow += (
        "netfold.io.files._fsync = lambda p: (time.sleep(0.02), f(p));"  # so that it cannot finish before it is killed
    )
    with subprocess.Popen([sys.executable, "-c", slow + code], stdout=subprocess.DEVNULL, env=environment()) as child:
        while not (tmp_path / "run" / "manifest.json").exists():
            assert child.poll() is None
            time.sleep(0.01)
        child.kill()
    assert child.returncode == -9
    again = python("-c", code)
    assert again.returncode == 0, again.stderr
    assert again.stdout.strip() == killed["whole"]
    assert len(killed["whole"]) == 64


if __name__ == "__main__":
    main(Path(sys.argv[1]))
