"""What goes wrong among ranks: one dies, one never comes, one differs, one is interrupted. And two hosts."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import netfold as nf
from several import free_port, largest_tensor, on_ranks, started_alone, trained, with_options

SUPPORT = Path(__file__).parents[1] / "support"
OPTIONS: dict[str, Any] = {"dim": 4, "hidden": (8,), "epochs": 8, "device": "cpu", "seed": 1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    graph = nf.Graph.from_edges(rng.integers(0, 90, (300, 2)), rng.random(300) + 0.1, nodes=range(97))
    graph.save(tmp_path / "g.parts", parts=7)
    return tmp_path / "g.parts"


def environment(**more: str) -> dict[str, str]:
    own = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1", "NETFOLD_TIMEOUT": "60"}
    return os.environ | own | {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"} | more


def torchrun(*arguments: str, restarts: int = 0, size: int = 2) -> list[str]:
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)]
    return [*start, "--max-restarts", str(restarts), *arguments]


def late(rank: int) -> tuple[float, float]:
    """Leave with one rank half a second behind the others; when this one had left, and by which clock."""
    from netfold.cluster.ranks import end, start

    ranks = start("cpu")
    ranks.barrier()
    began = time.monotonic()
    time.sleep(0.5 if ranks.rank == rank else 0)
    end()
    return began, time.monotonic()


@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_leave_together(rank: int) -> None:
    """Whoever is late, nobody leaves before that one, and rank 0, which keeps the store, is the last."""
    answers = on_ranks(3, late, rank)
    latest = max(began for began, _ in answers)
    assert all(latest + 0.4 < left < latest + 10 for _, left in answers)
    assert answers[0][1] >= max(left for _, left in answers[1:]) - 0.05


def test_a_rank_that_fails_keeps_nobody_long() -> None:
    began = time.monotonic()
    with pytest.raises(AssertionError, match=r"ranks ended with|division"):
        on_ranks(2, only_the_second_fails)
    assert time.monotonic() - began < 60


def only_the_second_fails() -> int:
    from netfold.cluster.ranks import start

    return 1 // (1 - start("cpu").rank)


# -------------------------------------------------------------------- torchrun


def test_the_same_command_under_torchrun(folder: Path) -> None:
    """The command line on two ranks gives the vectors of one process, and says so once."""
    flags = ["fit", "sdne", str(folder), "--dim", "4", "--hidden", "8", "--epochs", "8", "--seed", "1", "--quiet"]
    out = folder.with_name("v.parts")
    command = torchrun("-m", "netfold", *flags, "-o", str(out))
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("SDNE of 97 nodes") == 1
    alone, several = trained(folder, OPTIONS), nf.Embedding.load(out)
    assert list(several.nodes) == alone["nodes"]
    np.testing.assert_allclose(several.vectors, alone["vectors"], atol=1e-4)
    refused = subprocess.run([*command[:-1], "v.netfold"], env=environment(), capture_output=True, text=True)
    assert refused.stderr.count("several ranks write a folder of parts") == 1 and refused.returncode


# -------------------------------------------------------------------- a rank dies


def never_killed(folder: Path, *model: str) -> nf.Embedding:
    own = folder.with_name("whole")
    own.mkdir()
    arguments = [
        str(SUPPORT / "killed_fit.py"),
        str(folder),
        str(own / "ck"),
        str(own / "v.parts"),
        "never",
        "0",
        *model,
    ]
    subprocess.run(torchrun(*arguments), env=environment(), check=True, capture_output=True)
    return nf.Embedding.load(own / "v.parts")


MOMENTS = [("epoch 1", 1), ("epoch 5", 0), ("written", 1), ("sealed", 0), ("sealed", 1), ("renamed", 0)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "rank", "model"),
    [*((*x, ()) for x in MOMENTS), ("epoch 5", 1, ("line",)), ("written", 0, ("node2vec",)), ("sealed", 1, ("drne",))],
)
def test_a_killed_rank_ends_with_the_same_bits_and_one_restart(
    moment: str, rank: int, model: tuple[str, ...], folder: Path
) -> None:
    whole, checkpoint, out = never_killed(folder, *model), folder.with_name("ck"), folder.with_name("v.parts")
    arguments = [str(SUPPORT / "killed_fit.py"), str(folder), str(checkpoint), str(out), moment, str(rank), *model]
    done = subprocess.run(torchrun(*arguments, restarts=3), env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    again = nf.Embedding.load(out)
    assert again.nodes == whole.nodes
    np.testing.assert_array_equal(again.vectors, whole.vectors)
    for q in (0, 1):
        assert Path(f"{checkpoint}.attempts.{q}").read_text() == "..", "one restart"


@pytest.mark.slow
def test_restarts_without_the_variable_are_warned_of_once(folder: Path) -> None:
    flags = [
        "fit",
        "sdne",
        str(folder),
        "--dim",
        "4",
        "--epochs",
        "1",
        "--quiet",
        "-o",
        str(folder.with_name("v.parts")),
    ]
    own = environment()
    del own["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"]
    done = subprocess.run(torchrun("-m", "netfold", *flags, restarts=1), env=own, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.count("set TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1") == 1


@pytest.mark.slow
def test_ctrl_c_is_agreed_and_the_same_command_goes_on(folder: Path) -> None:
    checkpoint, out = folder.with_name("ck"), folder.with_name("v.parts")
    flags = ["--dim", "4", "--hidden", "8", "--epochs", "3000", "--tolerance", "0", "--checkpoint", str(checkpoint)]
    command = torchrun("-m", "netfold", "fit", "sdne", str(folder), *flags, "-o", str(out))
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}  # not so in a background
    run = subprocess.Popen(
        command, env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True, **heard
    )
    assert run.stderr is not None
    for line in run.stderr:
        if "epoch 20/" in line:
            break
    os.killpg(run.pid, signal.SIGINT)
    said = run.stderr.read()
    run.wait(60)
    run.stderr.close()
    assert run.returncode and said.count("the same torchrun command goes on from it") == 1
    (state,) = checkpoint.glob("state-*")
    done = int(state.name[6:])
    assert 20 <= done < 3000 and not out.exists()
    # both ranks had ended at that epoch: its file of each part is there, and a single process goes on from it
    command = [sys.executable, "-m", "netfold", "fit", "sdne", str(folder), *flags, "-o", str(out)]
    again = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert f"going on after epoch {done}" in again.stderr and out.exists()


def test_early_stopping_is_agreed(folder: Path) -> None:
    options = OPTIONS | {"epochs": 400, "tolerance": 0.02, "patience": 3}
    one, two = on_ranks(2, trained, folder, options)
    assert one["objectives"] == two["objectives"] and 4 <= len(one["objectives"]) < 400


# -------------------------------------------------------------------- a rank never comes, or differs


@pytest.mark.parametrize("rank", ["0", "1"])
def test_a_peer_that_never_comes(rank: str) -> None:
    own = environment(
        RANK=rank, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), NETFOLD_TIMEOUT="2"
    )  # fmt: skip
    start = time.monotonic()
    code = "from several import started_alone; print(started_alone())"
    done = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True)
    assert re.search(rf"rank {rank} of 2 on \S+ (waited|found nobody)", done.stdout), done
    assert "127.0.0.1:" in done.stdout and time.monotonic() - start < 60
    assert callable(started_alone)


def test_one_process_is_where_it_is_asked_to_be_and_several_stay_where_they_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from netfold.cluster import ranks

    monkeypatch.setattr(ranks, "_device", lambda name, local: torch.device(name))
    assert [ranks.start(name).device.type for name in ("cpu", "meta", "cpu")] == ["cpu", "meta", "cpu"]
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(ranks, "_started", ranks.Ranks(0, 2, ("a", "b")))
    assert ranks.start("auto") is ranks.start("cpu")
    with pytest.raises(nf.InputError, match="met on device='cpu', and cannot go on with 'cuda'"):
        ranks.start("cuda")


@pytest.mark.slow
def test_ranks_that_differ_are_refused_before_the_first_epoch(folder: Path) -> None:
    other = Path(shutil.copytree(folder, folder.with_name("other.parts")))
    cases = [
        ([OPTIONS, OPTIONS | {"dim": 5}], [folder, folder], r"rank 1 of 2 on \S+ has another configuration \(dim\)"),
        (
            [OPTIONS, OPTIONS],
            [folder, folder.with_name("gone.parts")],
            r"rank 1 of 2 on \S+: there is no folder \S+gone.parts",
        ),
    ]
    nf.Graph.from_edges([(0, 1), (1, 2)]).save(other, parts=2, force=True)
    cases.append(([OPTIONS, OPTIONS], [folder, other], r"has another graph \(fingerprint\)"))
    torn = Path(shutil.copytree(folder, folder.with_name("torn.parts")))
    (torn / "part-00003.safetensors").unlink()
    cases.append(([OPTIONS, OPTIONS], [folder, torn], r"rank 1 of 2 on \S+: .*part-00003.safetensors is missing"))
    for options, folders, said in cases:
        first, second = on_ranks(2, with_options, options, folders)
        assert re.search(said, first) and second == f"silent: {first}"


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_no_rank_holds_a_whole_table_or_all_names(size: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    nf.Graph.from_edges(rng.integers(0, 4000, (6000, 2)), nodes=range(4000)).save(tmp_path / "g.parts", parts=16)
    for numbers, rows, m, names in on_ranks(size, largest_tensor, tmp_path / "g.parts", OPTIONS | {"init": "none"}):
        assert m <= 4000 / size + 250 and names == m
        assert numbers <= max(rows, m) * (8 + 1) < 4000 * 8


# -------------------------------------------------------------------- two hosts


def namespaces() -> bool:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    made = subprocess.run(["ip", "netns", "add", "netfold-try"], capture_output=True).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "del", "netfold-try"], capture_output=True)
    return made


@pytest.fixture
def two_hosts() -> Any:
    """Two network namespaces that are joined by a cable."""
    if not namespaces():
        pytest.skip("network namespaces are not allowed here")
    names = [f"netfold{os.getpid()}{x}" for x in "ab"]
    cable = [f"nf{os.getpid() % 100000}{x}" for x in "ab"]
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        subprocess.run(["ip", "link", "add", cable[0], "type", "veth", "peer", "name", cable[1]], check=True)
        for k, (name, end) in enumerate(zip(names, cable, strict=True)):
            inside = ["ip", "-n", name]
            subprocess.run(["ip", "link", "set", end, "netns", name], check=True)
            subprocess.run([*inside, "addr", "add", f"10.77.0.{k + 1}/24", "dev", end], check=True)
            for link in (end, "lo"):
                subprocess.run([*inside, "link", "set", link, "up"], check=True)
        yield list(zip(names, cable, strict=True))
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def on_hosts(hosts: Any, *arguments: str, restarts: int = 0) -> list[subprocess.Popen[str]]:
    runs = []
    for k, (name, cable) in enumerate(hosts):
        start = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"]
        start += ["--rdzv-id", "job", "--rdzv-backend", "c10d", "--rdzv-endpoint", "10.77.0.1:29500"]
        start += ["--rdzv-conf", f"is_host={int(k == 0)}", "--local-addr", f"10.77.0.{k + 1}"]
        command = ["ip", "netns", "exec", name, *start, "--max-restarts", str(restarts), *arguments]
        own = environment(GLOO_SOCKET_IFNAME=cable)
        runs.append(subprocess.Popen(command, env=own, stderr=subprocess.PIPE, text=True))
    return runs


def bytes_sent(host: Any) -> int:
    name, cable = host
    text = subprocess.run(["ip", "-n", name, "-s", "link", "show", cable], capture_output=True, text=True).stdout
    return int(
        text.splitlines()[text.splitlines().index(next(x for x in text.splitlines() if "TX:" in x)) + 1].split()[0]
    )


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["never", "epoch 5"])
def test_two_hosts(moment: str, two_hosts: Any, folder: Path) -> None:
    """The same bits as on one, also where the rank on the second is killed."""
    whole, checkpoint, out = never_killed(folder), folder.with_name("ck"), folder.with_name("v.parts")
    arguments = [str(SUPPORT / "killed_fit.py"), str(folder), str(checkpoint), str(out), moment, "1"]
    runs = on_hosts(two_hosts, *arguments, restarts=3)
    for run in runs:
        _, said = run.communicate(timeout=300)
        assert run.returncode == 0, said
    again = nf.Embedding.load(out)
    assert again.nodes == whole.nodes
    np.testing.assert_array_equal(again.vectors, whole.vectors)


_MEASURED = """
import sys, netfold as nf
from netfold.cluster.ranks import start
ranks = start("cpu")
model = nf.SDNE(dim=64, hidden=(128,), epochs=int(sys.argv[2]), tolerance=0, init="none", device="cpu")
model.fit(sys.argv[1], progress=False)
network = model.network_
print(network.exchange.sent + 2 * ranks.reduced * (ranks.size - 1) // ranks.size, flush=True)
"""


@pytest.mark.slow
def test_bytes_on_the_wire_are_those_of_the_formula(two_hosts: Any, tmp_path: Path) -> None:
    """Within 3%, TCP's own bytes among them; those of starting are taken off, as a run of no epochs has them."""
    rng = np.random.default_rng(0)
    nf.Graph.from_edges(rng.integers(0, 6000, (30_000, 2))).save(tmp_path / "g.parts", parts=8)
    script = tmp_path / "measured.py"
    script.write_text(_MEASURED)
    counted, wire = [], []
    for epochs in (0, 10):
        before = bytes_sent(two_hosts[1])
        runs = []
        for k, (name, cable) in enumerate(two_hosts):
            more = {"RANK": str(k), "WORLD_SIZE": "2", "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": str(29600 + epochs)}
            command = ["ip", "netns", "exec", name, sys.executable, str(script), str(tmp_path / "g.parts"), str(epochs)]
            own = environment(GLOO_SOCKET_IFNAME=cable, **more)
            runs.append(subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        answers = [run.communicate(timeout=200) for run in runs]
        assert all(run.returncode == 0 for run in runs), answers
        counted.append(int(answers[1][0]))
        wire.append(bytes_sent(two_hosts[1]) - before)
    assert (wire[1] - wire[0]) / (counted[1] - counted[0]) == pytest.approx(1, abs=0.03)
