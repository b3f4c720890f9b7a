"""`netfold serve` over HTTP: routes, who may ask, limits, metrics and logs. What is answered is in `answers`."""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import hashlib
import hmac
import ipaddress
import itertools
import json
import os
import re
import secrets
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from netfold._version import version
from netfold.errors import InputError, TrainingError
from netfold.serve.answers import QUESTIONS, NearestQuery, Served, UnknownNodeError, UpdateQuery, as_arrow

__all__ = ["Server", "ServerSettings", "is_loopback", "read_tokens"]

_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
"""Seconds."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_PREFIX = "/v1/models/{model}"
_ARROW = "application/vnd.apache.arrow.stream"
_TOGETHER = 16
"""Nodes of a question about their nearest that is answered together with others."""
_AT_ONCE = 0.01
"""Seconds that an answer may take without a thread, while nobody else is answered.

A thread costs as much as a quick search does, and it and the loop wait for one another to let go of the interpreter:
with threads for all, a request took a third more CPU.
"""
_LONGEST_HEAD = 1 << 16
"""Bytes of a request before its body."""


@dataclass(frozen=True)
class ServerSettings:
    """How a server is closed, and its limits."""

    host: str = "127.0.0.1"
    tokens: dict[str, str] = field(default_factory=dict)
    """The role ("read", "admin") of each token, by the SHA-256 of it."""
    hosts: tuple[str, ...] = ()
    """Names under which it may be asked, beside its own and, on loopback, localhost."""
    most_bytes: int = 1 << 20
    queue: int = 64
    seconds: float = 30.0
    """For an answer; a third of it for a question to arrive, and as much for its head."""
    threads: int = 2
    watch: bool = False
    every: float = 2.0
    """Seconds between two looks at a watched model."""
    log_names: bool = False
    vectors_only: bool = False
    open_routes: tuple[str, ...] = ()
    """Routes without data that need no token: the explorer's page."""
    log: bool = True


class _Refusal(Exception):  # noqa: N818
    def __init__(self, status: int, sentence: str, **headers: str):
        super().__init__(sentence)
        self.status, self.headers = status, headers


@dataclass(eq=False)
class _Group:
    """Questions that are answered as one, and have one clock: that of the first."""

    queries: list[NearestQuery] = field(default_factory=list)
    futures: list[asyncio.Future[Any]] = field(default_factory=list)
    late: asyncio.TimerHandle | None = None

    def add(self, query: NearestQuery, future: asyncio.Future[Any]) -> None:
        self.queries.append(query)
        self.futures.append(future)

    def end(self, answers: list[Any] | Exception) -> None:
        """Give each question its answer, or its exception; one that has it, or is waited for no more, is left."""
        if self.late is not None:
            self.late.cancel()
        each = [answers] * len(self.futures) if isinstance(answers, Exception) else answers
        for future, answer in zip(self.futures, each, strict=True):
            if future.done():
                continue
            if isinstance(answer, Exception):
                future.set_exception(_too_deep() if isinstance(answer, RecursionError) else answer)
            else:
                future.set_result(answer)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_tokens(path: str | os.PathLike[str]) -> dict[str, str]:
    """The tokens of a file: a role and a token of 16 characters or more on each line; # begins a comment."""
    tokens: dict[str, str] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path} cannot be read; a token file has lines as: read TOKEN, admin TOKEN") from None
    for i, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or words[0] not in ("read", "admin") or len(words[1]) < 16:
            raise InputError(f"{path}, line {i}: it is not 'read TOKEN' or 'admin TOKEN' of 16 characters or more")
        tokens[hashlib.sha256(words[1].encode()).hexdigest()] = words[0]
    if not tokens:
        raise InputError(f"{path} has no token; write a line as: read TOKEN")
    return tokens


class Server:
    """Models by name, what happened so far, and the answer to every request."""

    def __init__(
        self, models: list[Served], settings: ServerSettings | None = None, indexes: dict[str, str] | None = None
    ):
        """`indexes` has the path of each model's index, or "auto", by the model's name, for when it is loaded again."""
        self.settings = settings or ServerSettings()
        self.models = {served.name: served for served in models}
        if not is_loopback(self.settings.host) and not self.settings.tokens:
            raise InputError(f"{self.settings.host} can be reached by others, who need a token; give --token-file")
        self._indexes = indexes or {}
        self._marks = {name: self._mark(name) for name in self.models}
        self._pool = ThreadPoolExecutor(self.settings.threads, "netfold", _search_alone)
        self._loader = ThreadPoolExecutor(1, "netfold-load")  # one, so that memory is taken from one place
        local = is_loopback(self.settings.host)
        self._open = {"/healthz", "/readyz", *self.settings.open_routes}
        self._open |= {"/metrics", "/openapi.json"} if local else set()
        own = f"[{self.settings.host}]" if ":" in self.settings.host else self.settings.host
        self._names = {x.lower() for x in (*_LOCAL, own, *self.settings.hosts)}
        self._groups: dict[Any, _Group] = {}
        self._draining: dict[Any, asyncio.Task[None]] = {}
        self._tidying: asyncio.TimerHandle | None = None
        self._update_decoder = msgspec.json.Decoder(UpdateQuery)
        self._waiting, self._unknown, self._reloading = 0, 0, asyncio.Lock()
        self._counts: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[float]] = {}  # how many took up to each of _BUCKETS, and longer; their sum
        self._run, self._answered = secrets.token_hex(8), 0
        self._lines: list[bytes] = []

    def app(self) -> Starlette:
        """The ASGI application."""
        posts = {f"{_PREFIX}/{name}": self._asked(name) for name in ("nearest", *QUESTIONS)}
        posts |= {f"{_PREFIX}/reload": self._reload, f"{_PREFIX}/update": self._update}
        gets = {"/healthz": self._health, "/readyz": self._health, "/metrics": self._metrics}
        gets |= {"/openapi.json": self._openapi, "/v1/models": self._list, f"{_PREFIX}/nodes/{{node:path}}": self._node}
        routes = [Route(path, self._guarded(path, do), methods=["POST"]) for path, do in posts.items()]
        routes += [Route(path, self._guarded(path, do), methods=["GET"]) for path, do in gets.items()]
        return Starlette(routes=routes, lifespan=self._lifespan, exception_handlers={HTTPException: _no_route})

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Any) -> AsyncIterator[None]:
        watching = asyncio.create_task(self._watch()) if self.settings.watch else None
        _search_alone()
        yield
        if watching is not None:
            watching.cancel()
        self._pool.shutdown(wait=True)
        self._loader.shutdown(wait=True)
        self._write_lines()

    # ---------------------------------------------------------------- who may ask, and how it is answered

    def _guarded(self, route: str, do: Callable[[Request], Awaitable[Any]]) -> Callable[[Request], Awaitable[Response]]:
        """Checks before an answer; afterwards its count, its time and a line of the log."""

        async def answer(request: Request) -> Response:
            start = time.perf_counter()
            status, headers, body = 200, dict[str, str](), b""
            try:
                self._check(request, route)
                said = await do(request)
                body = said if isinstance(said, bytes) else msgspec.json.encode(said)
            except _Refusal as e:
                status, headers, body = e.status, e.headers, _error(str(e))
            except UnknownNodeError as e:
                self._unknown += 1
                status, body = 404, await self._hinted(e)
            except (InputError, TrainingError) as e:
                status, body = 400, _error(str(e))
            except ClientDisconnect:
                status = 499
            except Exception as e:
                status, body = 500, _error("netfold failed; its log says more under this request's id")
                request.state.failure = f"{type(e).__name__} at {_place(e)}"
            return self._respond(request, route, status, body, headers, time.perf_counter() - start)

        return answer

    async def _hinted(self, e: UnknownNodeError) -> bytes:
        """An error that names nodes like the unknown one, which a thread looks for; none where too many wait."""
        try:
            return _error(str(await self._in_thread(lambda: str(e))))
        except _Refusal:
            return _error(f"no node is called {e.node!r}")

    def _respond(
        self, request: Request, route: str, status: int, body: bytes, headers: dict[str, str], seconds: float
    ) -> Response:
        self._answered += 1
        given = request.headers.get("x-request-id", "")
        name = given if _ID.fullmatch(given) else f"{self._run}{self._answered:08x}"
        self._counts[route, status] += 1
        times = self._times.setdefault(route, [0.0] * (len(_BUCKETS) + 2))
        times[bisect.bisect_left(_BUCKETS, seconds)] += 1
        times[-1] += seconds
        said = request.state._state
        if self.settings.log or "failure" in said:
            facts = {"time": round(time.time(), 3), "id": name, "route": route, "status": status}
            facts |= {"ms": round(1000 * seconds, 2), **said.get("facts", {})}
            self._log(facts | ({"failure": said["failure"]} if "failure" in said else {}))
        kind = "text/plain; version=0.0.4" if route == "/metrics" and status == 200 else "application/json"
        if status == 200 and said.get("arrow"):
            kind = _ARROW
        safe = {"X-Request-Id": name, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        return Response(body, status, headers | safe, kind)

    def _log(self, facts: dict[str, Any]) -> None:
        """A line of the log; those of a tenth of a second are written together, as whoever reads them wakes up too."""
        if not self._lines:
            asyncio.get_running_loop().call_later(0.1, self._write_lines)
        self._lines.append(msgspec.json.encode(facts))

    def _write_lines(self) -> None:
        lines, self._lines = self._lines, []
        if not lines:
            return
        sys.stderr.write("".join(line.decode() + "\n" for line in lines))
        sys.stderr.flush()

    def _check(self, request: Request, route: str) -> None:
        """The host that is asked for, the page that asks, and its token."""
        host = request.headers.get("host", "")
        name = host.rsplit(":", 1)[0] if re.search(r":\d+$", host) else host
        if name.lower() not in self._names:
            raise _Refusal(421, "this server is not asked under that name; start it with --allow-host NAME")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            raise _Refusal(403, "a page of another origin may not ask this server")
        if self.settings.tokens and route not in self._open:
            self._check_token(request, "admin" if route.endswith(("/reload", "/update")) else "read")

    def _check_token(self, request: Request, role: str) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        digest, roles = hashlib.sha256(token.strip().encode()).hexdigest(), set()
        for known, its_role in self.settings.tokens.items():  # all of them, so that time says nothing
            if hmac.compare_digest(known, digest):
                roles.add(its_role)
        if scheme.lower() != "bearer" or not roles:
            raise _Refusal(401, "a token is needed: Authorization: Bearer TOKEN", **{"WWW-Authenticate": "Bearer"})
        if role == "admin" and "admin" not in roles:
            raise _Refusal(403, "this needs a token of the role admin")

    # ---------------------------------------------------------------- questions

    def _asked(self, name: str) -> Callable[[Request], Awaitable[Any]]:
        """The route of a question: its body, checked, and the answer in a thread."""
        kind, answer = QUESTIONS[name]
        decoder = msgspec.json.Decoder(kind)

        async def do(request: Request) -> Any:
            served = self._served(request)
            query = await self._question(request, decoder, name)
            request.state.arrow = name in ("nodes", "place") and _ARROW in request.headers.get("accept", "")
            self._note(request, served, query)
            if name == "nearest" and query.nodes is not None and len(query.nodes) <= _TOGETHER:
                return await self._together(served, query)

            def run() -> bytes:
                return self._encoded(served, answer(served, query), request.state.arrow)

            return run() if served.estimated_seconds(query) <= _AT_ONCE else await self._in_thread(run)

        return do

    async def _question(self, request: Request, decoder: Any, name: str) -> Any:
        try:
            return decoder.decode(await self._body(request))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as e:
            sentence = str(e) if isinstance(e, msgspec.DecodeError) else "it is nested too deep"
            raise _Refusal(400, f"the body is not a question that {name} takes: {sentence}") from None

    def _note(self, request: Request, served: Served, query: Any) -> None:
        """What the log says of a question."""
        request.state.facts = {"model": served.name, "version": served.version}
        if self.settings.log_names:
            request.state.facts["asked"] = query if isinstance(query, str) else msgspec.to_builtins(query)

    def _encoded(self, served: Served, answer: dict[str, Any], arrow: bool = False) -> bytes:
        said = {"model": served.name, "version": served.version, **answer}
        if not arrow:
            return msgspec.json.encode(said, enc_hook=_as_list)
        try:
            return as_arrow(said)
        except ImportError:
            raise _Refusal(406, "this server has no pyarrow (pip install pyarrow); ask for application/json") from None

    async def _together(self, served: Served, query: NearestQuery) -> Any:
        """As `_in_thread`, or without one where it is quick; questions that come meanwhile are answered as one."""
        self._check_queue()
        key, loop = (served, query.k, query.metric, query.type, query.exact), asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting += 1
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group()
            if key in self._draining:
                self._time(key, group)
            else:
                loop.call_soon(self._answer_group, key)  # when all that came in this turn of the loop are in it
        group.add(query, future)
        return await future

    def _time(self, key: Any, group: _Group) -> None:
        group.late = asyncio.get_running_loop().call_later(self.settings.seconds, self._expire, key, group)

    def _expire(self, key: Any, group: _Group) -> None:
        """Refuse questions that have had no answer in time; those that run still count as waiting until they end."""
        if self._groups.get(key) is group:  # they have not begun
            del self._groups[key]
            self._waiting -= len(group.queries)
        group.end(self._too_late())

    def _answer_group(self, key: Any) -> None:
        """Answer questions at once where that is quick, else in a thread, after which those that came meanwhile."""
        group = self._groups[key]
        if sum(map(key[0].estimated_seconds, group.queries)) > _AT_ONCE:
            self._time(key, group)
            self._draining[key] = asyncio.create_task(self._drain(key))
            return
        del self._groups[key]
        try:
            group.end(self._found_together(key[0], group.queries))
        except Exception as e:
            group.end(e)
        self._waiting -= len(group.queries)

    async def _drain(self, key: Any) -> None:
        loop = asyncio.get_running_loop()
        while group := self._groups.pop(key, None):
            try:
                found = loop.run_in_executor(self._pool, self._found_together, key[0], group.queries)
                group.end(await found)
            except Exception as e:
                group.end(e)
            self._waiting -= len(group.queries)
        del self._draining[key]

    def _found_together(self, served: Served, queries: list[NearestQuery]) -> list[Any]:
        answers = served.nearest_together(queries)
        return [x if isinstance(x, Exception) else self._encoded(served, x) for x in answers]

    def _check_queue(self) -> None:
        if self._waiting >= self.settings.queue:
            raise _Refusal(429, "too many questions wait for an answer; ask again later", **{"Retry-After": "1"})

    async def _in_thread(self, run: Callable[[], Any]) -> Any:
        """What a function gives, in a thread of the pool; refused where too many wait for one already."""
        self._check_queue()

        def shallow() -> Any:
            try:
                return run()
            except RecursionError:
                raise _too_deep() from None

        return await self._answer_of(asyncio.get_running_loop().run_in_executor(self._pool, shallow))

    async def _answer_of(self, future: asyncio.Future[Any]) -> Any:
        """What comes of a future within the time for an answer; until it comes, it is one that waits."""
        self._waiting += 1

        def done(future: asyncio.Future[Any]) -> None:
            self._waiting -= 1
            future.cancelled() or future.exception()  # one that nobody waits for any more has been looked at

        future.add_done_callback(done)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self.settings.seconds)
        except TimeoutError:
            raise self._too_late() from None

    def _too_late(self) -> _Refusal:
        return _Refusal(504, f"there is no answer after {self.settings.seconds:g} s")

    async def _body(self, request: Request) -> bytes:
        """All of a question, as long as it may be, within a third of the time for an answer."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise _Refusal(415, "a question is JSON, and says so: it needs the header Content-Type: application/json")
        length, most = request.headers.get("content-length", "0"), self.settings.most_bytes
        too_long = _Refusal(413, f"a question has {most:,} bytes at most", Connection="close")
        if not length.isdecimal() or int(length[:20]) > most:
            raise too_long
        body = bytearray()
        try:
            async with asyncio.timeout(self.settings.seconds / 3):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > most:
                        raise too_long
        except TimeoutError:
            raise _Refusal(408, "the question did not arrive in time", Connection="close") from None
        if not body:
            raise _Refusal(400, "the question has no body; it is JSON")
        return bytes(body)

    def _served(self, request: Request) -> Served:
        try:
            return self.models[request.path_params["model"]]
        except KeyError:
            raise _Refusal(404, "no model has that name; /v1/models lists them") from None

    async def _node(self, request: Request) -> Any:
        served, node = self._served(request), request.path_params["node"]
        self._note(request, served, node)
        return self._encoded(served, served.node(node))

    async def _list(self, request: Request) -> Any:
        return await self._in_thread(lambda: {"models": [served.facts() for served in self.models.values()]})

    async def _health(self, request: Request) -> Any:
        return {"status": "ok"}

    # ---------------------------------------------------------------- newer versions

    async def _reload(self, request: Request) -> Any:
        name, start = self._served(request).name, time.perf_counter()  # nothing here holds the version before
        try:
            await self._swap(name)
        except (InputError, OSError) as e:
            raise _Refusal(409, f"the version before is served still: {e}") from None
        number = self.models[name].version
        return {"model": name, "version": number, "ms": round(1000 * (time.perf_counter() - start), 1)}

    async def _swap(self, name: str) -> None:
        """Load what is at the path of a model now, try it, and let it take the place of the old."""
        async with self._reloading:
            self._marks[name] = self._mark(name)
            loop = asyncio.get_running_loop()  # not in the pool, which answers meanwhile
            self.models[name] = await loop.run_in_executor(self._loader, self._newer, name)
            if self._tidying is None:  # when what was asked of the version before is answered
                self._tidying = loop.call_later(1.0, self._tidy)

    def _tidy(self) -> None:
        self._tidying = None
        with contextlib.suppress(RuntimeError):  # it has been shut down
            self._loader.submit(_give_memory_back)

    def _newer(self, name: str) -> Served:
        old, only = self.models[name], self.settings.vectors_only
        more: dict[str, Any] = {"index": self._indexes.get(name), "graph": old.graph, "version": old.version + 1}
        return Served.load(name, old.path, vectors_only=only, **more)

    async def _update(self, request: Request) -> Any:
        """Take a day's changes into a model; the version after them is written, and takes the place of the one before.

        It is finished whoever waits for it: what is on the disk is what is served.
        """
        served = self._served(request)
        query = await self._question(request, self._update_decoder, "update")
        self._note(request, served, query)
        return await asyncio.shield(self._updated(served.name, query))

    async def _updated(self, name: str, query: UpdateQuery) -> Any:
        async with self._reloading:
            served = self.models[name]
            run = asyncio.get_running_loop().run_in_executor(self._loader, lambda: served.updated(query))
            try:
                after, facts = await run
            except OSError as e:
                raise _Refusal(
                    409, f"the version before is served still: it cannot be written ({e.strerror})"
                ) from None
            finally:
                self._marks[name] = self._mark(name)
            self.models[name] = after
            return {"model": name, "version": after.version, **facts}

    def _mark(self, name: str) -> tuple[Any, ...]:
        """What changes when a model, or its index, is written anew."""
        path, index = self.models[name].path, self._indexes.get(name)
        folders = [
            path,
            path / "manifest.json",
            path / "versions",
            *([] if index in (None, "auto") else [Path(str(index))]),
        ]
        marks = []
        for x in folders:
            with contextlib.suppress(OSError):
                stat = x.stat()
                marks.append((str(x), stat.st_ino, stat.st_mtime_ns, stat.st_size))
        return tuple(marks)

    async def _watch(self) -> None:
        """Load what has changed on the disk; where it cannot be used, a line of the log says so once."""
        while True:
            await asyncio.sleep(self.settings.every)
            for name in self.models:
                if self._reloading.locked() or self._mark(name) == self._marks[name]:  # or it is written from here
                    continue
                facts: dict[str, Any] = {"time": round(time.time(), 3), "event": "reload", "model": name}
                try:
                    await self._swap(name)
                    facts |= {"version": self.models[name].version}
                except Exception as e:
                    facts |= {"failure": f"{type(e).__name__}: the version before is served still"}
                self._log(facts)

    # ---------------------------------------------------------------- about itself

    async def _metrics(self, request: Request) -> bytes:
        """For Prometheus."""
        lines = ["# TYPE netfold_requests_total counter"]
        for (route, status), count in sorted(self._counts.items()):
            lines.append(f'netfold_requests_total{{route="{route}",status="{status}"}} {count}')
        lines.append("# TYPE netfold_request_seconds histogram")
        for route, (*counts, seconds) in sorted(self._times.items()):
            *_, n = upto = list(itertools.accumulate(counts))
            for most, below in zip((*_BUCKETS, "+Inf"), upto, strict=True):
                lines.append(f'netfold_request_seconds_bucket{{route="{route}",le="{most}"}} {below:.0f}')
            lines.append(f'netfold_request_seconds_count{{route="{route}"}} {n:.0f}')
            lines.append(f'netfold_request_seconds_sum{{route="{route}"}} {seconds:.6f}')
        lines += ["# TYPE netfold_queue gauge", f"netfold_queue {self._waiting}"]
        lines += ["# TYPE netfold_unknown_nodes_total counter", f"netfold_unknown_nodes_total {self._unknown}"]
        lines.append("# TYPE netfold_model_version gauge")
        for served in self.models.values():
            name = json.dumps(served.name, ensure_ascii=False)
            lines.append(f"netfold_model_version{{model={name}}} {served.version}")
        return ("\n".join(lines) + "\n").encode()

    async def _openapi(self, request: Request) -> Any:
        """What can be asked, by the OpenAPI 3.1."""
        kinds = [UpdateQuery, *(kind for kind, _ in QUESTIONS.values())]
        _, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
        error = {
            "description": "an error: one sentence",
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
        answers = {
            "200": {"description": "the answer", "content": {"application/json": {"schema": {"type": "object"}}}}
        }
        answers |= {"default": error}
        model = {"name": "model", "in": "path", "required": True, "schema": {"enum": list(self.models)}}
        node = {"name": "node", "in": "path", "required": True, "schema": {"type": "string"}}
        paths: dict[str, Any] = {
            x: {"get": {"responses": answers}}
            for x in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/models")
        }
        text = {"200": {"description": "for Prometheus", "content": {"text/plain": {"schema": {"type": "string"}}}}}
        paths["/metrics"] = {"get": {"responses": answers | text}}
        paths[f"{_PREFIX}/nodes/{{node}}"] = {"get": {"parameters": [model, node], "responses": answers}}
        paths[f"{_PREFIX}/reload"] = {"post": {"parameters": [model], "responses": answers}}
        for name, kind in ({name: kind for name, (kind, _) in QUESTIONS.items()} | {"update": UpdateQuery}).items():
            schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
            body = {"required": True, "content": {"application/json": {"schema": schema}}}
            paths[f"{_PREFIX}/{name}"] = {"post": {"parameters": [model], "requestBody": body, "responses": answers}}
        about = {"title": "netfold", "version": version()}
        return {"openapi": "3.1.0", "info": about, "paths": paths, "components": {"schemas": components}}

    # ---------------------------------------------------------------- to run it

    def listen(self, port: int) -> socket.socket:
        """The socket that it answers on; port 0 takes a free one. No packet of an answer waits for the one before."""
        host = "127.0.0.1" if self.settings.host == "localhost" else self.settings.host
        try:
            own = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        except (OSError, OverflowError) as e:
            raise InputError(f"{host}:{port} cannot be listened on ({e}); give another --port or --host") from None
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # its connections have it too
        return own

    def run(self, listening: socket.socket) -> None:
        """Answer until SIGTERM or Ctrl-C; what runs then is finished."""
        sys.setswitchinterval(0.001)  # so long, not 5 ms, a request waits where a thread computes
        uvicorn.Server(self.config()).run(sockets=[listening])

    def config(self) -> uvicorn.Config:
        """How uvicorn runs it."""
        return uvicorn.Config(
            self.app(),
            http=_timed(self.settings.seconds / 3),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="on",
            timeout_keep_alive=5,
            limit_concurrency=512,
            timeout_graceful_shutdown=int(self.settings.seconds) + 1,
        )


def _timed(seconds: float) -> Any:
    """The protocol of uvicorn, that closes a connection whose next head is not there in time, or is too long."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class TimedProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
        _late: asyncio.TimerHandle | None = None
        _bytes = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(_OneWrite(transport, self.loop))
            self._late = self.loop.call_later(seconds, transport.close)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:  # the head is there; its answer has limits
                self._stop()
                return
            self._bytes += len(data)
            if self._bytes > _LONGEST_HEAD:
                self.transport.close()
            elif self._late is None:
                self._late = self.loop.call_later(seconds, self.transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _stop(self) -> None:
            self._bytes = 0
            if self._late is not None:
                self._late.cancel()
                self._late = None

    return TimedProtocol


class _OneWrite:
    """A transport that sends what is written in one turn of the loop, a head and its body, by one call."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop):
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._parts:
            parts, self._parts = self._parts, []
            self._transport.write(b"".join(parts))


def _search_alone() -> None:
    """In this thread a search by an index takes no further ones, which would spin where others are to be answered."""
    if faiss := sys.modules.get("faiss"):
        faiss.omp_set_num_threads(1)


def _give_memory_back() -> None:
    """What the version before took goes back to the system, where the C library can be told so."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _as_list(x: Any) -> Any:
    """Arrays, in JSON."""
    return x.tolist()


def _too_deep() -> InputError:
    return InputError("a node of the question is nested too deep")


def _error(sentence: str) -> bytes:
    return msgspec.json.encode({"error": sentence})


def _place(e: BaseException) -> str:
    """Where an exception arose, without what it says, which may name a node."""
    at = e.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return "?" if at is None else f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}"


async def _no_route(request: Request, e: Exception) -> Response:
    status, headers = (e.status_code, e.headers) if isinstance(e, HTTPException) else (500, None)
    methods = (headers or {}).get("Allow")
    said = "there is no such route" if methods is None else f"this route is not asked by {request.method} but {methods}"
    return Response(_error(f"{said}; /openapi.json lists the routes"), status, headers, media_type="application/json")
