"""`netfold serve` on a real socket: its answers are the library's, and it is closed to what it should be."""

from __future__ import annotations

import contextlib
import gc
import http.client
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import netfold as nf
from netfold.data.embedding import Embedding
from netfold.errors import InputError

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("msgspec")

import uvicorn

from netfold.serve import answers, app
from netfold.serve.answers import CompleteQuery, NearestQuery, NodesQuery, PlaceQuery, ScoreQuery, Served, UpdateQuery
from netfold.serve.app import Server, ServerSettings, is_loopback, read_tokens

NAMES = ["Zoë", "a/b", "%2F", "a%2Fb", "nul\0", "日本", "..", "שלום", "🎈", "7", "x y?&#", "b"]


def vectors(n: int = len(NAMES), dim: int = 5, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


@contextlib.contextmanager
def running(server: Server) -> Iterator[int]:
    """The port of a server that runs in a thread."""
    with server.listen(0) as listening:
        uv = uvicorn.Server(server.config())
        thread = threading.Thread(target=uv.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            until(lambda: uv.started)
            yield listening.getsockname()[1]
        finally:
            uv.should_exit = True
            thread.join(30)


def until(holds: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def ask(port: int, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    text = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, text, {"Content-Type": "application/json"} | named)
        response = connection.getresponse()
    except (BrokenPipeError, ConnectionResetError):  # refused before all of it was sent: the answer is there
        response = http.client.HTTPResponse(connection.sock, method=method)
        response.begin()
    answer = response.read()
    connection.close()
    with contextlib.suppress(ValueError):
        return response.status, json.loads(answer)
    return response.status, answer.decode()


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    return Embedding(NAMES, vectors())


@pytest.fixture(scope="module")
def port(embedding: Embedding) -> Iterator[int]:
    typed = Embedding([("user", 1), ("user", 2), ("film", 1), ("film", "1")], vectors(4))
    gaussian = Embedding(range(4), vectors(4), np.abs(vectors(4)) + 0.1)
    models = [Served("plain", Path("none"), embedding), Served("typed", Path("none"), typed)]
    with running(Server([*models, Served("gaussian", Path("none"), gaussian)])) as number:
        yield number


def test_answers_are_the_librarys_to_the_bit(port: int, embedding: Embedding) -> None:
    client = nf.Client(f"http://127.0.0.1:{port}", model="plain")
    assert client.nearest(NAMES, 7) == embedding.nearest(NAMES, 7)
    assert client.nearest("日本", 3, metric="euclidean") == embedding.nearest("日本", 3, metric="euclidean")
    assert client.vectors(NAMES) == embedding.vectors.tolist()
    pairs = list(itertools.pairwise(NAMES))
    assert client.score(pairs) == embedding.similarity(NAMES[:-1], NAMES[1:]).tolist()  # type: ignore[union-attr]
    x = vectors(1, seed=3)[0]
    status, answer = ask(port, "POST", "/v1/models/plain/nearest", {"vectors": [x.tolist()], "k": 4})
    assert status == 200 and answer["version"] == 1 and answer["exact"] is True
    assert [(y["node"], y["score"]) for y in answer["results"][0]] == embedding.nearest(x, 4)


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_a_path(port: int, embedding: Embedding, name: str) -> None:
    status, answer = ask(port, "GET", f"/v1/models/plain/nodes/{quote(name, safe='')}")
    assert (status, answer["node"]) == (200, name)
    assert answer["vector"] == embedding[name].tolist()


def test_names_have_types(port: int) -> None:
    client = nf.Client(f"http://127.0.0.1:{port}", model="typed")
    assert {node for node, _ in client.nearest(("film", 1), 9)} == {("user", 1), ("user", 2), ("film", "1")}
    assert [node for node, _ in client.nearest(("film", 1), 9, type="user")] != []
    assert all(node[0] == "user" for node, _ in client.nearest(("film", 1), 9, type="user"))
    with pytest.raises(InputError, match="no node is called 7"):
        nf.Client(f"http://127.0.0.1:{port}", model="plain").nearest(7)
    status, answer = ask(port, "POST", "/v1/models/gaussian/nodes", {"nodes": [3]})
    assert status == 200 and len(answer["std"][0]) == 5
    assert ask(port, "GET", "/v1/models/gaussian/nodes/3")[1]["node"] == 3
    status, answer = ask(port, "POST", "/v1/models/gaussian/score", {"pairs": [[0, 1]]})
    assert answer["score"] == "w2" and answer["scores"][0] < 0
    with pytest.raises(InputError, match="several models"):
        nf.Client(f"http://127.0.0.1:{port}").nearest(7)


NEAREST = "/v1/models/plain/nearest"
DEEP = b'{"nodes": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b"\xff", 400),
        (b" " * (1 << 20), 400),
        (b" " * ((1 << 20) + 1), 413),
        (DEEP, 400),
        (b'{"nodes": [' + b"[" * 150 + b"]" * 150 + b"]}", 400),
        (b'{"vectors": [[NaN, 1, 1, 1, 1]]}', 400),
        (b'{"vectors": [[1e999, 1, 1, 1, 1]]}', 400),
        (b'{"vectors": [[1, 2]]}', 400),
        (b'{"vectors": []}', 400),
        (b'{"nodes": []}', 400),
        (b'{"nodes": ["b"], "vectors": [[1, 2, 3, 4, 5]]}', 400),
        (b'{"nodes": ["b"], "k": 0}', 400),
        (b'{"nodes": ["b"], "k": 1001}', 400),
        (b'{"nodes": ["b"], "k": 1000}', 200),
        (b'{"nodes": ["b"], "path": "/etc/passwd"}', 400),
        (b'{"nodes": ["b"], "metric": "l1"}', 400),
        (b'{"nodes": [null]}', 400),
        (b'{"nodes": [{"a": 1}]}', 400),
        (b'{"nodes": [[{"a": 1}]]}', 400),
        (b'{"nodes": ["nobody"]}', 404),
        (b'{"nodes": ["\\ud800"]}', 400),
        (json.dumps({"nodes": ["b"] * 1001}).encode(), 400),
    ],
)
def test_bodies(port: int, body: bytes, status: int) -> None:
    answered, answer = ask(port, "POST", NEAREST, body)
    assert answered == status, answer
    if status != 200:
        assert set(answer) == {"error"} and "\n" not in answer["error"] and "Traceback" not in answer["error"]
    assert ask(port, "GET", "/healthz") == (200, {"status": "ok"})


def test_a_body_without_an_end_is_cut_off(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        head = f"POST {NEAREST} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        s.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        with contextlib.suppress(OSError):
            for _ in range(40):
                s.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
        assert b" 413 " in s.recv(200)


def test_only_pages_and_names_of_its_own_may_ask(port: int) -> None:
    assert ask(port, "GET", "/v1/models", Host="evil.example")[0] == 421
    assert ask(port, "GET", "/healthz", Host=f"evil.example:{port}")[0] == 421
    assert ask(port, "GET", "/v1/models", Host=f"localhost:{port}")[0] == 200
    for origin, status in (
        ("http://evil.example", 403),
        ("null", 403),
        (f"http://127.0.0.1:{port}", 200),
        ("http://127.0.0.1:1", 403),
    ):
        assert ask(port, "GET", "/v1/models", Origin=origin)[0] == status
    assert ask(port, "POST", NEAREST, {"nodes": ["b"]}, Content_Type="text/plain")[0] == 415


def test_routes_that_are_not_there(port: int) -> None:
    assert ask(port, "GET", "/v1/nothing")[0] == 404
    status, answer = ask(port, "GET", NEAREST)
    assert status == 405 and "not asked by GET but POST" in answer["error"]
    assert ask(port, "POST", "/v1/models/other/nearest", {"nodes": ["b"]})[0] == 404
    for question in ("place", "complete"):
        body = {"edges": [["new", "b"]]} if question == "place" else {"tuple": ["b", None]}
        status, answer = ask(port, "POST", f"/v1/models/plain/{question}", body)
        assert status == 400 and "vectors alone" in answer["error"]


def test_it_says_what_it_is_and_does(port: int) -> None:
    models = {x["name"]: x for x in ask(port, "GET", "/v1/models")[1]["models"]}
    assert models["plain"]["nodes"] == len(NAMES) and models["gaussian"]["metric"] == "euclidean"
    paths = ask(port, "GET", "/openapi.json")[1]["paths"]
    assert set(paths["/v1/models/{model}/nearest"]) == {"post"}
    metrics = ask(port, "GET", "/metrics")[1]
    assert 'netfold_requests_total{route="/v1/models",status="200"}' in metrics
    assert 'netfold_model_version{model="plain"} 1' in metrics
    assert ask(port, "GET", "/readyz")[0] == 200


def test_the_log_names_no_node_unless_asked(embedding: Embedding, capfd: pytest.CaptureFixture[str]) -> None:
    time.sleep(0.2)
    capfd.readouterr()  # what the servers of other tests had still to write
    for names in (False, True):
        with running(Server([Served("plain", Path("none"), embedding)], ServerSettings(log_names=names))) as port:
            ask(port, "GET", f"/v1/models/plain/nodes/{quote('Zoë')}", X_Request_Id="mine-1")
            ask(port, "POST", NEAREST, {"nodes": ["Zoë-not-there"]})
        lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
        assert lines[0]["id"] == "mine-1" and [x["status"] for x in lines] == [200, 404]
        assert ("Zo" in json.dumps(lines)) is names


def test_tokens_have_roles(embedding: Embedding, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("# ours\nread 0123456789abcdef\nadmin fedcba9876543210  # mine\n")
    tokens = read_tokens(tmp_path / "tokens")
    assert "0123456789abcdef" not in str(tokens)
    embedding.save(tmp_path / "e.npz")
    with running(Server([Served("plain", tmp_path / "e.npz", embedding)], ServerSettings(tokens=tokens))) as port:
        read, admin, wrong = (f"Bearer {x}" for x in ("0123456789abcdef", "fedcba9876543210", "0123456789abcdeF"))
        assert ask(port, "GET", "/healthz")[0] == ask(port, "GET", "/metrics")[0] == 200
        for token, expected in ((None, 401), (wrong, 401), (read, 200), (admin, 200)):
            headers = {} if token is None else {"Authorization": token}
            assert ask(port, "GET", "/v1/models", **headers)[0] == expected
        assert ask(port, "POST", "/v1/models/plain/reload", Authorization=read)[0] == 403
        assert nf.Client(f"http://127.0.0.1:{port}", token="fedcba9876543210").reload() == 2
    for text in ("", "read short", "root 0123456789abcdef", "read"):
        (tmp_path / "tokens").write_text(text)
        with pytest.raises(InputError):
            read_tokens(tmp_path / "tokens")


def test_others_need_a_token(embedding: Embedding) -> None:
    served = [Served("plain", Path("none"), embedding)]
    for host in ("0.0.0.0", "::", "192.168.0.7", "example.org"):
        assert not is_loopback(host)
        with pytest.raises(InputError, match="--token-file"):
            Server(served, ServerSettings(host=host))
    assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost", "127.9.9.9")))


def test_a_full_queue_and_a_slow_answer_are_refused(embedding: Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    plain = Served.vectors

    def slow(self: Served, query: Any) -> Any:
        go.wait(30)
        return plain(self, query)

    monkeypatch.setattr(app, "_AT_ONCE", 0)
    monkeypatch.setitem(app.QUESTIONS, "nodes", (NodesQuery, slow))
    server = Server([Served("plain", Path("none"), embedding)], ServerSettings(queue=2, threads=1, seconds=3))
    with running(server) as port:
        answers_: list[int] = []
        body = {"nodes": ["b"]}
        threads = [
            threading.Thread(target=lambda: answers_.append(ask(port, "POST", "/v1/models/plain/nodes", body)[0]))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        until(lambda: server._waiting == 2)
        assert ask(port, "POST", NEAREST, body)[0] == 429
        assert ask(port, "GET", "/v1/models/plain/nodes/c") == (404, {"error": "no node is called 'c'"})  # no hint
        assert ask(port, "GET", "/healthz")[0] == 200
        for thread in threads:
            thread.join()
        assert answers_ == [504, 504]
        go.set()
        until(lambda: server._waiting == 0)
        assert ask(port, "POST", NEAREST, body)[0] == 200


def test_questions_that_wait_together_are_refused_in_time(
    embedding: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, plain, statuses = threading.Event(), Served.nearest, list[int]()

    def slow(self: Served, query: Any) -> Any:
        go.wait(30)
        return plain(self, query)

    monkeypatch.setattr(app, "_AT_ONCE", 0)
    monkeypatch.setattr(Served, "nearest", slow)
    server = Server([Served("plain", Path("none"), embedding)], ServerSettings(threads=1, seconds=1))
    with running(server) as port:

        def one() -> None:
            statuses.append(ask(port, "POST", NEAREST, {"nodes": ["b"]})[0])

        threads = [threading.Thread(target=one) for _ in range(3)]  # one is searched, and two wait for it
        for thread in threads:
            thread.start()
            until(lambda: server._waiting > 0)
        for thread in threads:
            thread.join()
        assert statuses == [504] * 3
        until(lambda: server._waiting == 1)  # the one that runs, whoever waits for it
        go.set()
        until(lambda: server._waiting == 0)
        assert ask(port, "POST", NEAREST, {"nodes": ["b"]})[0] == 200


def test_an_answer_is_one_packet(port: int, embedding: Embedding) -> None:
    with Server([Served("plain", Path("none"), embedding)]).listen(0) as listening:
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        for _ in range(3):
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert s.recv(1 << 16).endswith(b'{"status":"ok"}')


def test_times_are_counted_up_to_each_bound(port: int) -> None:
    for _ in range(5):
        ask(port, "GET", "/healthz")
    lines = [x for x in ask(port, "GET", "/metrics")[1].splitlines() if '"/healthz"' in x]
    counts = [int(x.split()[1]) for x in lines if "_seconds_bucket" in x]
    (every,) = (int(x.split()[1]) for x in lines if "_seconds_count" in x)
    assert len(counts) == 8 and counts == sorted(counts) and counts[-1] == every >= 5


def test_a_slow_question_is_cut_off(embedding: Embedding) -> None:
    with (
        running(Server([Served("plain", Path("none"), embedding)], ServerSettings(seconds=0.6))) as port,
        socket.create_connection(("127.0.0.1", port), timeout=30) as s,
    ):
        head = f"POST {NEAREST} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        s.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        assert b" 408 " in s.recv(200)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[nf.SDNE, Path]:
    graph = nf.Graph.from_edges([("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan"), ("dan", "eve")])
    model = nf.SDNE(dim=3, hidden=(5,), epochs=3, seed=1).fit(graph, progress=False)
    path = tmp_path_factory.mktemp("served") / "sdne.netfold"
    model.save(path)
    return model, path


def test_new_nodes_are_placed_as_by_transform(saved: tuple[nf.SDNE, Path]) -> None:
    model, path = saved
    graph = nf.Graph.from_edges([("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan"), ("dan", "eve")])
    served = Served.load("sdne", path)
    served.graph = graph
    with running(Server([served])) as port:
        client = nf.Client(f"http://127.0.0.1:{port}")
        placed = model.transform(nf.Graph.from_edges([("new", "ann"), ("new", "cid")]))
        assert client.place([["new", "ann"], ["new", "cid"]]) == {"new": placed["new"].tolist()}
        from netfold.evaluate.scores import pair_scores

        at = np.array([0, 1]), np.array([2, 3])
        pairs = [[graph.nodes[i], graph.nodes[j]] for i, j in zip(*at, strict=True)]
        assert client.score(pairs) == pair_scores(model, graph, "own").at(*at).tolist()
        for edges in ([["new"]], [["new", "ann", "x"]], [["new", "other"]], [[None, "ann"]], [[{}, "ann"]]):
            with pytest.raises(InputError):
                client.place(edges)


def test_pairs_scored_by_paths_need_the_graph(saved: tuple[nf.SDNE, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from netfold.evaluate.scores import pair_scores

    served, query = Served.load("m", saved[1]), ScoreQuery(pairs=[("ann", "eve"), ("bob", "dan")])
    monkeypatch.setattr(type(served.model), "pair_score_", "paths", raising=False)
    with pytest.raises(InputError, match="scored by paths, which reads the graph; serve with --edges"):
        served.score(query)
    edges = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan"), ("dan", "eve")]
    graph = served.graph = nf.Graph.from_edges(edges)
    u, v = (graph.nodes.positions([pair[i] for pair in query.pairs or ()]) for i in range(2))
    wanted = pair_scores(served.model, graph, "paths").at(u, v).tolist()
    for _ in range(2):  # the second time from what was kept
        assert served.score(query) == {"score": "paths", "scores": wanted}


@pytest.mark.parametrize("chosen", ["paths", None])
def test_pairs_are_scored_by_the_network_after_a_day(
    chosen: str | None, saved: tuple[nf.SDNE, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new node could not be scored, and after a node had gone no pair could."""
    from netfold.evaluate.scores import pair_scores

    shutil.copytree(saved[1], tmp_path / "m")
    edges = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan"), ("dan", "eve")]
    first = Served.load("m", tmp_path / "m", graph=nf.Graph.from_edges(edges))
    if chosen is not None:
        monkeypatch.setattr(type(first.model), "pair_score_", chosen, raising=False)
    assert first.score(ScoreQuery(pairs=[("ann", "eve")]))["score"] == (chosen or "decoder")
    after, _ = first.updated(UpdateQuery([["new", "ann"], ["new", "cid"], ["far", "away"]], ["bob"]))
    today = nf.Graph.from_edges([("cid", "ann"), ("cid", "dan"), ("dan", "eve"), ("new", "ann"), ("new", "cid")])
    said = after.score(ScoreQuery(pairs=[("ann", "new"), ("dan", "cid")]))
    assert said["score"] == (chosen or "cosine")  # the decoder knows no node that came since
    u, v = today.nodes.positions(["ann", "dan"]), today.nodes.positions(["new", "cid"])
    wanted = pair_scores(after.model, today, said["score"]).at(u, v)
    np.testing.assert_allclose(said["scores"], wanted, rtol=1e-5)


def test_links_with_and_without_weights_are_placed_together(saved: tuple[nf.SDNE, Path]) -> None:
    served = Served.load("m", saved[1])
    mixed = served.place(PlaceQuery([["new", "ann"], ["new", "bob", 2.0]]))
    alike = served.place(PlaceQuery([["new", "ann", 1.0], ["new", "bob", 2.0]]))
    assert mixed["nodes"] == ["new"] and np.array_equal(mixed["vectors"], alike["vectors"])
    with pytest.raises(InputError, match="m is an SDNE, which says nothing of tuples"):
        served.complete(CompleteQuery(["ann", None]))


def test_a_question_of_walks_is_bounded(saved: tuple[nf.SDNE, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from netfold.evaluate.pairs import cost_of
    from netfold.evaluate.scores import pair_scores

    edges = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan"), ("dan", "eve")]
    served = Served.load("m", saved[1], graph=(graph := nf.Graph.from_edges(edges)))
    monkeypatch.setattr(type(served.model), "pair_score_", "cosine + personalised PageRank", raising=False)
    pairs = [("ann", "eve"), ("bob", "eve"), ("ann", "dan"), ("dan", "cid")]
    u, v = (graph.nodes.positions([pair[i] for pair in pairs]) for i in range(2))
    scores = pair_scores(served.model, graph, "cosine + personalised PageRank")
    wanted = scores.at(u, v).tolist()
    assert served.score(ScoreQuery(pairs=pairs)) == {"score": "cosine + personalised PageRank", "scores": wanted}
    monkeypatch.setattr(answers, "_MOST_WALKED", 2 * cost_of(scores))
    with pytest.raises(InputError, match="ask about pairs of at most 2 first nodes at a time"):
        served.score(ScoreQuery(pairs=pairs))
    assert served.score(ScoreQuery(pairs=pairs[:3]))["scores"] == wanted[:3]


def test_tuples_are_scored_and_completed_as_by_the_model(tmp_path: Path) -> None:
    tuples = [(("user", i % 4), ("film", i % 3), ("tag", i % 2)) for i in range(12)]
    model = nf.DHNE(dim=3, epochs=2, seed=1).fit(nf.Hypergraph.from_tuples(tuples), progress=False)
    model.save(tmp_path / "d")
    with running(Server([Served.load("dhne", tmp_path / "d")])) as port:
        client = nf.Client(f"http://127.0.0.1:{port}")
        assert client.score_tuples(tuples[:3]) == model.score(tuples[:3]).tolist()
        assert client.complete([tuples[0][0], None, tuples[0][2]], 2) == model.complete(
            (tuples[0][0], None, tuples[0][2]), 2
        )


def test_a_newer_version_takes_the_place_and_a_damaged_one_does_not(
    saved: tuple[nf.SDNE, Path], tmp_path: Path
) -> None:
    path = tmp_path / "m.netfold"
    shutil.copytree(saved[1], path)
    server = Server([Served.load("m", path, vectors_only=True)], ServerSettings(vectors_only=True))
    failed, versions, stop = list[Any](), list[int](), threading.Event()
    with running(server) as port:

        def asks() -> None:
            while not stop.is_set():
                status, answer = ask(port, "POST", "/v1/models/m/nearest", {"nodes": ["ann"], "k": 2})
                failed.extend([] if status == 200 else [answer])
                versions.append(answer.get("version", 0))

        thread = threading.Thread(target=asks)
        thread.start()
        client = nf.Client(f"http://127.0.0.1:{port}")
        assert [client.reload() for _ in range(5)] == [2, 3, 4, 5, 6]
        tensors = path / "tensors.safetensors"
        whole = tensors.read_bytes()
        tensors.write_bytes(whole[:-8] + b"\0" * 8)
        before = client.nearest("ann")
        status, answer = ask(port, "POST", "/v1/models/m/reload")
        assert status == 409 and "damaged" in answer["error"]
        assert client.nearest("ann") == before
        tensors.write_bytes(whole)
        assert ask(port, "POST", "/v1/models/m/reload", {"path": "/tmp/other"})[1]["version"] == 7
        assert server.models["m"].path == path
        stop.set()
        thread.join()
    assert not failed and versions == sorted(versions) and versions


def test_a_watched_model_is_loaded_when_it_is_written(tmp_path: Path) -> None:
    Embedding("abc", vectors(3)).save(tmp_path / "e.npz")
    server = Server([Served.load("e", tmp_path / "e.npz")], ServerSettings(watch=True, every=0.05))
    with running(server) as port:
        client = nf.Client(f"http://127.0.0.1:{port}")
        newer = Embedding("abcd", vectors(4, seed=9))
        newer.save(tmp_path / "e.npz", force=True)
        until(lambda: server.models["e"].version == 2)
        assert client.nearest("d") == newer.nearest("d")
        (tmp_path / "e.npz").write_bytes(b"no embedding")
        time.sleep(0.3)
        assert client.nearest("d") == newer.nearest("d")


def closed_after(port: int, *pieces: bytes, most: float = 20) -> tuple[bytes, float]:
    """What a connection says that gets these pieces, and how long it stays open after the last."""
    with socket.create_connection(("127.0.0.1", port), timeout=most) as s:
        said = b""
        for piece in pieces:
            s.sendall(piece)
            time.sleep(0.05)
        start = time.monotonic()
        with contextlib.suppress(ConnectionResetError):
            while more := s.recv(65536):
                said += more
        return said, time.monotonic() - start


def test_a_head_that_does_not_come_is_not_waited_for(embedding: Embedding) -> None:
    health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with running(Server([Served("plain", Path("none"), embedding)], ServerSettings(seconds=3))) as port:
        for pieces in ((), (b"GET /healthz HT",), (health, b"GET /heal"), (health, b"POST", b" /v1", b"/models")):
            said, seconds = closed_after(port, *pieces)
            assert said.count(b"200 OK") == pieces.count(health) and seconds < 4
        _, seconds = closed_after(port, b"GET /healthz HTTP/1.1\r\n", *[b"X: " + b"a" * 30_000 + b"\r\n"] * 4)
        assert seconds < 0.9, "a head without an end is cut off by its length"
        assert ask(port, "GET", "/healthz")[0] == 200


def test_questions_that_come_together_have_each_its_own_answer(port: int, embedding: Embedding) -> None:
    names = [*NAMES, "nobody", *NAMES, "no one"]
    answers: dict[int, Any] = {}

    def one(i: int) -> None:
        answers[i] = ask(port, "POST", NEAREST, {"nodes": [names[i]], "k": 3 + i % 2})

    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(names))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, name in enumerate(names):
        status, answer = answers[i]
        if name in embedding:
            assert [(x["node"], x["score"]) for x in answer["results"][0]] == embedding.nearest(name, 3 + i % 2)
        else:
            assert status == 404 and name in answer["error"]


def test_questions_are_searched_as_one(embedding: Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, plain = list[int](), Served.nearest

    def slow(self: Served, query: Any) -> Any:
        sizes.append(len(query.nodes))
        time.sleep(0.3)
        return plain(self, query)

    monkeypatch.setattr(Served, "nearest", slow)
    for at_once in (0, app._AT_ONCE):
        monkeypatch.setattr(app, "_AT_ONCE", at_once)
        sizes.clear()
        with running(Server([Served("plain", Path("none"), embedding)])) as port:
            threads = [threading.Thread(target=ask, args=(port, "POST", NEAREST, {"nodes": [x]})) for x in NAMES]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert sum(sizes) == len(NAMES) and len(sizes) < len(NAMES) / 2


def test_what_takes_long_is_left_to_a_thread(saved: tuple[nf.SDNE, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = (Served("m", Path("none"), Embedding(range(n), vectors(n))) for n in (100, 20_000))
    model, one = Served.load("m", saved[1]), NearestQuery(nodes=[0])
    for served in (small, large):
        assert 0 < served.estimated_seconds(one) < served.estimated_seconds(NearestQuery(nodes=[0], k=1000))
        several = NearestQuery(nodes=list(range(16)))
        assert served.estimated_seconds(several) == pytest.approx(16 * served.estimated_seconds(one))
    assert small.estimated_seconds(one) < app._AT_ONCE < 1000 * large.estimated_seconds(one)
    assert small.estimated_seconds(NodesQuery(nodes=[0])) < app._AT_ONCE
    assert small.estimated_seconds(ScoreQuery(pairs=[(0, 1)])) < app._AT_ONCE
    for query in (CompleteQuery(tuple=[0, None]), PlaceQuery(edges=[["x", "ann"]]), ScoreQuery(tuples=[[0, 1]])):
        assert model.estimated_seconds(query) == float("inf")
    assert small.estimated_seconds(NearestQuery(nodes=[0], type="film")) == float("inf")
    monkeypatch.setattr(type(model.model), "pair_score_", "decoder", raising=False)
    assert model.estimated_seconds(ScoreQuery(pairs=[("ann", "bob")])) == float("inf")

    where, plain = list[str](), Served.nearest

    def noted(self: Served, query: Any) -> Any:
        where.append(threading.current_thread().name)
        return plain(self, query)

    monkeypatch.setattr(Served, "nearest", noted)
    answers = []
    for at_once in (0, 1e9):
        monkeypatch.setattr(app, "_AT_ONCE", at_once)
        with running(Server([small])) as port:
            client = nf.Client(f"http://127.0.0.1:{port}")
            pairs = [(0, 1), (2, 3)]
            answers.append((client.nearest([3, 4], 5), client.vectors([7, 8]), client.score(pairs)))
    assert answers[0] == answers[1] and answers[0][0] == small.embedding.nearest([3, 4], 5)
    assert where[0].startswith("netfold") and not where[1].startswith("netfold")


def test_vectors_as_arrow(port: int, embedding: Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    kind = "application/vnd.apache.arrow.stream"

    def asked(model: str, nodes: Any) -> Any:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            headers = {"Content-Type": "application/json", "Accept": kind}
            connection.request("POST", f"/v1/models/{model}/nodes", json.dumps({"nodes": nodes}), headers)
            response = connection.getresponse()
            assert response.getheader("Content-Type") == kind and response.status == 200
            return pyarrow.ipc.open_stream(response.read()).read_all()

    table = asked("plain", NAMES)
    assert table["node"].to_pylist() == NAMES and table.schema.metadata[b"version"] == b"1"
    assert np.array_equal(np.array(table["vector"].to_pylist(), np.float32), embedding.vectors)
    table = asked("gaussian", [3, 0])
    assert table["node"].to_pylist() == [3, 0] and len(table["std"][0]) == 5
    assert [json.loads(x) for x in asked("typed", [["film", "1"]])["node"].to_pylist()] == [["film", "1"]]
    status, answer = ask(port, "POST", "/v1/models/plain/nodes", {"nodes": ["nobody"]}, Accept=kind)
    assert status == 404 and "nobody" in answer["error"]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    status, answer = ask(port, "POST", "/v1/models/plain/nodes", {"nodes": ["b"]}, Accept=kind)
    assert status == 406 and "pip install pyarrow" in answer["error"]


def test_a_day_is_taken_in(saved: tuple[nf.SDNE, Path], tmp_path: Path) -> None:
    path = tmp_path / "m.netfold"
    shutil.copytree(saved[1], path)
    (tmp_path / "tokens").write_text("read 0123456789abcdef\nadmin fedcba9876543210\n")
    settings = ServerSettings(tokens=read_tokens(tmp_path / "tokens"), watch=True, every=0.05)
    with running(server := Server([Served.load("m", path)], settings)) as port:
        url = f"http://127.0.0.1:{port}"
        reader, client = nf.Client(url, token="0123456789abcdef"), nf.Client(url, token="fedcba9876543210")
        with pytest.raises(InputError, match="role admin"):
            reader.update([["new", "ann"]])
        before = reader.vectors(["ann", "eve"])
        said = client.update([["new", "ann"], ["new", "cid"], ["far", "away"]])
        assert (said["placed"], sorted(said["unreached"]), said["version"], said["of_model"]) == (
            ["new"],
            ["away", "far"],
            2,
            1,
        )
        assert reader.models()[0]["model"] == "SDNE"
        again = nf.load(path, version=1).embedding_
        assert reader.vectors(["new", "ann", "eve"]) == [again["new"].tolist(), *before]
        assert reader.nearest("new", 3) == again.nearest("new", 3)
        said = client.update([["far", "new"]], ["dan", ["ann", "bob"]])
        assert set(said["placed"]) == {"far", "away"} and said["gone"] == ["dan"] and said["version"] == 3
        with pytest.raises(InputError, match="no node is called 'dan'"):
            reader.vectors(["dan"])
        for body, sentence in (
            ([[], []], "nothing to take in"),
            ([[["a"]], []], "a link is"),
            ([[], ["who"]], "cannot be gone"),
        ):
            with pytest.raises(InputError, match=sentence):
                client.update(*body)
        time.sleep(0.3)
        assert server.models["m"].version == 3, "what it wrote itself is not loaded again"
        assert client.reload() == 4 and reader.vectors(["far"]) == [nf.load(path, version=2).embedding_["far"].tolist()]
    alone = Server([Served.load("m", path, vectors_only=True)], ServerSettings(vectors_only=True))
    with running(alone) as port, pytest.raises(InputError, match="vectors alone"):
        nf.Client(f"http://127.0.0.1:{port}").update([["newer", "ann"]])


def test_a_day_is_taken_into_an_index(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    graph = nf.Graph.from_edges([(i, j) for i in range(1, 1500) for j in {int(rng.integers(i)), i - 1}])
    nf.SDNE(dim=4, hidden=(), epochs=1).fit(graph, progress=False).save(tmp_path / "m")
    served = Served.load("m", tmp_path / "m", index="auto")
    after, _ = served.updated(UpdateQuery(edges=[["new", 3], ["new", 4]], gone=[7]))
    assert after.index is not None and not after.index.is_exact and after.embedding.nodes != served.embedding.nodes
    own = {
        name: after.embedding[name].tolist() if name == "new" else served.embedding[name].tolist()
        for name in ("new", 7)
    }

    def near(version: Served, name: Any) -> list[Any]:
        answer = version.nearest(NearestQuery(vectors=[own[name]], k=20))
        assert answer["exact"] is False
        return [x["node"] for x in answer["results"][0]]

    assert "new" in near(after, "new") and 7 not in near(after, 7)
    assert "new" not in near(served, "new") and 7 in near(served, 7)
    back, _ = after.updated(UpdateQuery(edges=[[7, 3], [7, 5]]))
    assert back.index is not None and not back.index.is_exact and len(back.index) == len(back.embedding) == 1501
    assert 7 in near(back, 7)


def test_no_version_is_held_after_a_newer_one_came(tmp_path: Path) -> None:
    Embedding("abc", vectors(3)).save(tmp_path / "e.npz")
    server = Server([Served.load("e", tmp_path / "e.npz")])
    first = weakref.ref(server.models["e"])
    with running(server) as port:
        client = nf.Client(f"http://127.0.0.1:{port}")
        client.nearest("a")
        client.reload()
        gc.collect()
        assert first() is None


@pytest.mark.slow
def test_16_clients_through_20_reloads(tmp_path: Path) -> None:
    """None fails, no version goes back, and the memory of the process is at most 1.3 times what it was."""
    n = 50_000
    Embedding([f"node {i}" for i in range(n)], vectors(n, 128)).save(tmp_path / "m.npz")
    command = [sys.executable, "-m", "netfold", "serve", str(tmp_path / "m.npz"), "--port", "0", "--vectors-only"]
    environment = os.environ | {"PYTHONPATH": str(Path(nf.__file__).parents[1])}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    port = int(process.stderr.readline().rsplit(":", 1)[1])
    threading.Thread(target=process.stderr.read, daemon=True).start()
    failed, stop = list[Any](), threading.Event()

    def memory() -> int:
        (line,) = [x for x in Path(f"/proc/{process.pid}/status").read_text().splitlines() if x.startswith("VmRSS")]
        return int(line.split()[1])

    def asks(own: int) -> None:
        last = 0
        while not stop.is_set():
            status, answer = ask(port, "POST", "/v1/models/m/nearest", {"nodes": [f"node {own}"]})
            failed.extend([answer] if status != 200 or answer["version"] < last else [])
            last = answer.get("version", 0)

    try:
        threads = [threading.Thread(target=asks, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        time.sleep(3)
        before = memory()
        client = nf.Client(f"http://127.0.0.1:{port}")
        assert [client.reload() for _ in range(20)] == list(range(2, 22))
        time.sleep(3)
        after = memory()
        stop.set()
        for thread in threads:
            thread.join()
        assert not failed and after <= 1.3 * before, f"{before:,} KiB became {after:,}"
    finally:
        stop.set()
        process.kill()
        process.communicate()


REFUSED = [400, 404, 405, 406, 413, 415, 421, 429]
"""413 too: a list that is too long may be too many bytes first."""


@pytest.mark.slow
def test_schemathesis_finds_nothing(saved: tuple[nf.SDNE, Path], tmp_path: Path) -> None:
    pytest.importorskip("schemathesis")
    command = str(Path(sys.executable).with_name("schemathesis"))
    served = [Served.load("sdne", saved[1])]
    (tmp_path / "schemathesis.toml").write_text(f"[checks]\nnegative_data_rejection.expected-statuses = {REFUSED}\n")
    with running(Server(served)) as port:
        options = ["--max-examples", "40", "--seed", "1", "--exclude-path-regex", "update", "--no-color"]
        options += ["--exclude-checks", "positive_data_acceptance"]  # that there is such a node, no schema can say
        ended = subprocess.run(
            [
                command,
                "--config-file",
                str(tmp_path / "schemathesis.toml"),
                "run",
                f"http://127.0.0.1:{port}/openapi.json",
                *options,
            ],
            capture_output=True,
            text=True,
        )
    assert ended.returncode == 0, ended.stdout[-6000:]


def test_by_an_index(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    embedding = Embedding(range(1500), vectors(1500))
    embedding.save(tmp_path / "e.npz")
    index = embedding.index()
    index.save(tmp_path / "i")
    server = Server([Served.load("e", tmp_path / "e.npz", index=str(tmp_path / "i"))], None, {"e": str(tmp_path / "i")})
    with running(server) as port:
        client = nf.Client(f"http://127.0.0.1:{port}")
        assert client.nearest([3, 4]) == index.nearest([3, 4])
        assert client.nearest(3, exact=True) == embedding.nearest(3)
        assert client.models()[0]["index"]["recall"] == index.recall_
        Embedding(range(1500), vectors(1500, seed=2)).save(tmp_path / "e.npz", force=True)
        with pytest.raises(InputError, match="index of another embedding"):
            client.reload()
        assert client.nearest([3, 4]) == index.nearest([3, 4])


def test_vectors_alone_are_served_without_torch_and_sigterm_finishes_what_runs(saved: tuple[nf.SDNE, Path]) -> None:
    code = (
        "import sys, threading, time\n"
        "from netfold.cli import main\n"
        "from netfold.serve import answers, app\n"
        "app._AT_ONCE = 0\n"
        "plain = answers.Served.vectors\n"
        "def slow(self, query):\n"
        "    print('begun', flush=True); time.sleep(1)\n"
        "    return plain(self, query) | {'torch': 'torch' in sys.modules}\n"
        "answers.QUESTIONS['nodes'] = (answers.NodesQuery, slow)\n"
        "main(['serve', sys.argv[1], '--port', '0', '--vectors-only'])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(saved[1])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(nf.__file__).parents[1])},
    )
    try:
        assert process.stderr is not None and process.stdout is not None
        line = process.stderr.readline()
        assert line.startswith("serving sdne at http://127.0.0.1:"), line
        port, answers = int(line.rsplit(":", 1)[1]), list[Any]()
        body = {"nodes": ["ann"]}
        asking = threading.Thread(target=lambda: answers.append(ask(port, "POST", "/v1/models/sdne/nodes", body)))
        asking.start()
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGTERM)
        asking.join(30)
        assert answers[0][0] == 200 and answers[0][1]["torch"] is False
        process.communicate(timeout=30)
        assert process.returncode == 143
    finally:
        process.kill()
        process.communicate()


def test_the_command_says_what_it_cannot_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from command import netfold

    edges = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dan"), ("dan", "eve")]
    model = nf.Spectral(dim=2).fit(edges, progress=False)
    model.pair_score_ = "paths + 0.5 resource allocation"
    model.save(tmp_path / "m.netfold")
    (tmp_path / "edges.csv").write_text("".join(f"{u},{v}\n" for u, v in edges))
    monkeypatch.setattr(Server, "run", lambda *_: None)
    said = netfold("serve", tmp_path / "m.netfold", "--port", 0)
    assert (
        said.exit_code == 0
        and "pairs of m are scored by paths + 0.5 resource allocation, which reads the graph" in said.stderr
    )
    assert "serve with --edges FILE (all other questions are answered)" in said.stderr
    said = netfold("serve", tmp_path / "m.netfold", "--port", 0, "--edges", tmp_path / "edges.csv")
    assert said.exit_code == 0 and "serve with" not in said.stderr


@pytest.mark.usefixtures("here")
def test_the_command_refuses(tmp_path: Path) -> None:
    from command import refuse

    path = tmp_path / "e.npz"
    Embedding("abc", vectors(3)).save(path)
    assert "--token-file" in refuse("serve", path, "--host", "0.0.0.0", "--port", 0)
    assert "no such file" in refuse("serve", tmp_path / "none.netfold")
    assert "two models are called e" in refuse("serve", path, path)
    assert "for one model" in refuse("serve", path, f"f={path}", "--index", "auto")
    with pytest.raises(InputError, match="address of a server"):
        nf.Client("localhost")
    with pytest.raises(InputError, match="does not answer"):
        nf.Client("http://127.0.0.1:1", model="x").nearest("a")
