"""`netfold explore` over HTTP: the explorer's page beside the routes of `netfold serve`, on loopback, behind a token.

The address that is printed has a token in its fragment, which browsers do not send. The page gives it for a session,
once; every other request needs that session. What is open is the page itself, which holds no data.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from netfold.errors import InputError
from netfold.serve.answers import Served
from netfold.serve.app import Server, ServerSettings
from netfold.show.explore import POLICY, Explorer, explorer_script, explorer_style, served_page

__all__ = ["ExploreServer"]

_PAGE = {
    "/explore/": "text/html; charset=utf-8",
    "/explore/explore.js": "text/javascript; charset=utf-8",
    "/explore/explore.css": "text/css; charset=utf-8",
}
_SESSION, _BLOCK = "/explore/session", "/explore/blocks/{number:int}"


class _Session(msgspec.Struct, forbid_unknown_fields=True):
    token: str


class ExploreServer(Server):
    """A server of models that shows them in a browser; it listens to this machine alone."""

    def __init__(self, models: list[Served], explorer: Explorer):
        self._explorer, self.token, self._key = explorer, secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._unused = True
        tokens = {hashlib.sha256(self._key.encode()).hexdigest(): "read"}
        settings = ServerSettings(tokens=tokens, seconds=300.0, open_routes=(*_PAGE, _SESSION), log=False)
        super().__init__(models, settings)
        page = {"/explore/": served_page(explorer.title)}
        page |= {"/explore/explore.js": explorer_script(), "/explore/explore.css": explorer_style()}
        self._texts = {path: text.encode() for path, text in page.items()}

    def address(self, port: int) -> str:
        """What a browser opens, once."""
        return f"http://{self.settings.host}:{port}/explore/#token={self.token}"

    def app(self) -> Starlette:
        """The ASGI application: that of `serve`, and the page's."""
        app = super().app()
        gets: dict[str, Any] = dict.fromkeys(_PAGE, self._text) | {"/explore/facts": self._facts, _BLOCK: self._block}
        posts = {_SESSION: self._open_session, "/explore/ask/{question}": self._ask}
        for method, routes in (("GET", gets), ("POST", posts)):
            app.router.routes += [Route(path, self._guarded(path, do), methods=[method]) for path, do in routes.items()]
        return app

    def _respond(
        self, request: Request, route: str, status: int, body: bytes, headers: dict[str, str], seconds: float
    ) -> Response:
        response = super()._respond(request, route, status, body, headers, seconds)
        kind = _PAGE.get(route) or ("application/octet-stream" if route == _BLOCK else None)
        if status == 200 and kind is not None:
            response.headers["Content-Type"] = kind
        response.headers.update({"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"})
        return response

    async def _text(self, request: Request) -> bytes:
        return self._texts[request.url.path]

    async def _open_session(self, request: Request) -> dict[str, str]:
        """The session, for the token of the address, the first time that it is given."""
        said = _decoded(await self._body(request), _Session).token
        if not hmac.compare_digest(said.encode(), self.token.encode()) or not self._unused:
            raise InputError("this address has been opened before, or is another's; run netfold explore again")
        self._unused = False
        return {"session": self._key}

    async def _facts(self, request: Request) -> Any:
        return await self._in_thread(lambda: msgspec.json.encode(self._explorer.facts))

    async def _block(self, request: Request) -> bytes:
        return self._explorer.block(request.path_params["number"])

    async def _ask(self, request: Request) -> Any:
        body, question = _decoded(await self._body(request), dict[str, Any]), request.path_params["question"]
        return await self._in_thread(lambda: msgspec.json.encode(self._explorer.ask(question, body)))


def _decoded(body: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InputError("the body is not a question of the explorer's page") from None
