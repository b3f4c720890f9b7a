"""Who is told how a fit goes: hooks, callbacks, TensorBoard and MLflow themselves, and the log."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import netfold as nf
from checkpointed import GRAPH, SMALL, fit, stopped
from command import environ
from netfold.embedder.callbacks import Callback, MLflow, TensorBoard
from refusals import refused


class Diary(Callback):
    def __init__(self, stop: int = 0, fail: str = ""):
        self.lines: list[Any] = []
        self._stop, self._fail = stop, fail

    def start(self, model: nf.Embedder, facts: Any) -> None:
        if self._fail == "start":
            raise RuntimeError("start")
        assert not hasattr(model, "embedding_")
        self.lines.append(("start", type(model).__name__, facts["n_nodes"]))

    def epoch(self, record: dict[str, float]) -> object:
        self.lines.append(record)
        if self._fail == "epoch":
            raise RuntimeError("epoch")
        return record["epoch"] == self._stop

    def end(self, model: nf.Embedder, error: BaseException | None) -> None:
        whole = error is None and hasattr(model, "embedding_")
        self.lines.append(("end", whole, type(error).__name__))


def run(callbacks: Any, **options: Any) -> nf.SDNE:
    return nf.SDNE(**SMALL).fit(GRAPH, progress=False, callbacks=callbacks, **options)


def test_a_callback_is_told_of_everything() -> None:
    diary, other, records = Diary(), Diary(), []
    model = run([diary, other, records.append])
    wanted = [("start", "SDNE", GRAPH.n_nodes), *model.history_, ("end", True, "NoneType")]
    assert diary.lines == other.lines == wanted and records == model.history_
    assert run([]).history_[0]["objective"] == model.history_[0]["objective"]
    alone = Diary()
    run(alone)
    assert len(alone.lines) == len(wanted), "one alone needs no list"


def test_whoever_says_so_ends_the_training_and_the_others_are_told() -> None:
    diary, records = Diary(), []
    model = run([Diary(stop=2), diary], on_epoch=records.append)
    assert len(model.history_) == len(records) == 2
    assert diary.lines[1:-1] == model.history_ and diary.lines[-1] == ("end", True, "NoneType")
    assert len(run([lambda record: True]).history_) == 1
    assert len(run([lambda record: 1]).history_) == 6, "only True ends it"


@pytest.mark.parametrize("fail", ["start", "epoch"])
def test_an_error_is_told_to_those_that_were_started(fail: str) -> None:
    before, after = Diary(), Diary()
    with pytest.raises(RuntimeError, match=fail):
        run([before, Diary(fail=fail), after])
    assert before.lines[-1] == ("end", False, "RuntimeError")
    assert after.lines == [] if fail == "start" else after.lines[-1] == ("end", False, "RuntimeError")


def test_a_record_is_each_ones_own() -> None:
    diary = Diary()
    model = run([lambda record: record.clear(), diary])
    assert diary.lines[1:-1] == model.history_


def test_a_run_that_goes_on_tells_the_rest(tmp_path: Path) -> None:
    stopped(tmp_path, 4)
    diary = Diary()
    run([diary], checkpoint=tmp_path)
    assert [record["epoch"] for record in diary.lines[1:-1]] == [5, 6]


def test_what_is_no_callback_is_refused() -> None:
    for bad in ([3], [Diary], "abc", 5):
        assert "give instances of nf.callbacks.Callback, or functions" in refused(run, bad)


# -------------------------------------------------------------------- trackers


@pytest.mark.parametrize(
    ("tracker", "library"), [(TensorBoard("runs"), "torch.utils.tensorboard"), (MLflow(), "mlflow")]
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    tracker: Callback, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    name = type(tracker).__name__
    expected = f"callbacks.{name} needs {name.lower()}, which is missing; install it (pip install 'netfold[track]')"
    assert refused(run, [tracker]) == expected


@pytest.mark.slow
def test_tensorboard_has_the_curves(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        model = run([TensorBoard(tmp_path)])
        events = EventAccumulator(str(tmp_path)).Reload()
    terms = {k for k in model.history_[0] if k not in ("epoch", "objective", "seconds")}
    assert set(events.Tags()["scalars"]) == {"objective", "seconds", *(f"loss/{term}" for term in terms)}
    curve = events.Scalars("objective")
    assert [point.step for point in curve] == [1, 2, 3, 4, 5, 6]
    assert [point.value for point in curve] == pytest.approx([r["objective"] for r in model.history_])
    assert "SDNE(" in str(events.Tensors("model/text_summary")[0])


@pytest.mark.slow
def test_mlflow_has_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
        model = run([MLflow(run_name="ours", tags={"of": "a test"})])
        assert mlflow.active_run() is None
        client = mlflow.MlflowClient()
        (one,) = client.search_runs(["0"])
        assert (one.info.run_name, one.info.status, one.data.tags["of"]) == ("ours", "FINISHED", "a test")
        params = one.data.params
        assert (params["model"], params["dim"], params["n_nodes"]) == ("SDNE", "4", str(GRAPH.n_nodes))
        curve = client.get_metric_history(one.info.run_id, "objective")
        assert [point.step for point in curve] == [1, 2, 3, 4, 5, 6]
        assert [point.value for point in curve] == pytest.approx([r["objective"] for r in model.history_])
        with pytest.raises(RuntimeError):
            run([MLflow(run_name="bad"), Diary(fail="epoch")])
        with mlflow.start_run(run_name="mine"):
            run([MLflow()])
            assert mlflow.active_run() is not None, "a run of the user's stays open"
        statuses = {r.info.run_name: r.info.status for r in client.search_runs(["0"])}
    assert statuses == {"ours": "FINISHED", "bad": "FAILED", "mine": "FINISHED"}


# -------------------------------------------------------------------- the log


def test_what_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    edges = tmp_path / "edges.csv"
    edges.write_text("source,target\nann,bob\nbob,cid\ncid,dan\n")
    with caplog.at_level(logging.INFO, logger="netfold"):
        model = nf.SDNE(dim=2, epochs=3).fit(nf.read_edges(edges), progress=False, checkpoint=tmp_path / "state")
        model.transform(nf.Graph.from_edges([("eve", "ann"), ("eve", "bob")]))
    said = [record.getMessage() for record in caplog.records]
    assert {record.levelname for record in caplog.records} == {"INFO"}
    assert all(record.name.startswith("netfold.") for record in caplog.records)
    for words in (
        f"read {edges}: source - target; 3 rows, 3 edges; line 1 is a header",
        "fit SDNE(dim=2, epochs=3) to Graph(4 nodes, 3 edges, undirected)",
        f"{tmp_path / 'state'}: the state after epoch 3 is written",
        "SDNE: 1 of 3 nodes are new",
    ):
        assert words in said, said
    assert any(words.startswith("SDNE: 3 epochs in ") and ", objective " in words for words in said)


def test_stops_and_resumes_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="netfold"):
        fit(tmp_path, on_epoch=lambda record: record["epoch"] == 2)
        fit(tmp_path)
        early = fit(epochs=60, tolerance=0.05, patience=4)
        fit(epochs=30, lr=3.0, optimizer="adam")
    said = [record.getMessage() for record in caplog.records]
    assert "training was stopped after epoch 2 of 6" in said
    assert f"{tmp_path}: going on after epoch 2" in said
    assert f"converged after epoch {len(early.history_)} of 60 (tolerance 0.05, patience 4)" in " ".join(said)
    assert any(words.startswith("epoch 6 of 6: {'epoch': 6") for words in said), "each epoch, for who debugs"
    levels = {record.getMessage().split(";")[0][-14:]: record.levelname for record in caplog.records}
    assert levels.get("where it began") == "WARNING"


def test_nothing_is_shown_unless_asked() -> None:
    code = "import netfold as nf; nf.SDNE(dim=2, epochs=30, lr=3.0).fit([(0, 1), (1, 2), (2, 3)], progress=False)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, check=True, env=environ())
    assert done.stdout == done.stderr == b""
