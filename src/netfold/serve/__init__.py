"""A model that answers over HTTP (`netfold serve`), and `Client`, which asks it with the standard library alone."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import quote, urlsplit

from netfold.errors import InputError

__all__ = ["Client", "application"]


class Client:
    """Asks a `netfold serve`: `Client("http://127.0.0.1:8000").nearest("alice")`; answers are as the library's own.

    `model` is needed where several are served. What the server refuses is an `InputError` with its sentence.
    """

    def __init__(self, url: str, *, model: str | None = None, token: str | None = None, timeout: float = 30.0):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{url!r} is not the address of a server; it looks like http://127.0.0.1:8000")
        self._open = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._at, self._timeout, self._prefix = (parts.hostname, parts.port), timeout, parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._model = model

    def models(self) -> list[dict[str, Any]]:
        """What is served."""
        return list(self._ask("GET", "/v1/models")["models"])

    def vectors(self, nodes: list[Any]) -> list[list[float]]:
        """The vector of each node."""
        return list(self._post("nodes", nodes=nodes)["vectors"])

    def nearest(self, query: Any, k: int = 10, **options: Any) -> Any:
        """The k nodes nearest to a node: (node, score); of a list of nodes a list of those. `exact=True`: no index."""
        several = isinstance(query, list)
        results = self._post("nearest", nodes=query if several else [query], k=k, **options)["results"]
        pairs = [[(_as_node(x["node"]), x["score"]) for x in near] for near in results]
        return pairs if several else pairs[0]

    def score(self, pairs: list[Any]) -> list[float]:
        """How likely each pair is a link, by the model's own score."""
        return list(self._post("score", pairs=pairs)["scores"])

    def score_tuples(self, tuples: list[Any], **options: Any) -> list[float]:
        """How likely each tuple is a hyperedge."""
        return list(self._post("score", tuples=tuples, **options)["scores"])

    def complete(self, partial: list[Any], k: int = 10, **options: Any) -> list[tuple[Any, float]]:
        """The k nodes that best take the place of None in a tuple."""
        results = self._post("complete", tuple=partial, k=k, **options)["results"]
        return [(_as_node(x["node"]), x["score"]) for x in results]

    def place(self, edges: list[Any]) -> dict[Any, list[float]]:
        """The vectors of new nodes, by their links."""
        answer = self._post("place", edges=edges)
        return dict(zip(map(_as_node, answer["nodes"]), answer["vectors"], strict=True))

    def update(self, edges: list[Any] = (), gone: list[Any] = ()) -> dict[str, Any]:  # type: ignore[assignment]
        """Take in a day's edges, and take out what is gone: what was placed, who is unreached, the drift."""
        return self._post("update", edges=list(edges), gone=list(gone))

    def reload(self) -> int:
        """Let the server load what is at the model's path now; the number of that version."""
        return int(self._post("reload")["version"])

    def _post(self, question: str, **body: Any) -> dict[str, Any]:
        if self._model is None:
            names = [x["name"] for x in self.models()]
            if len(names) != 1:
                raise InputError(f"several models are served; say which: Client(url, model={names[0]!r})")
            self._model = str(names[0])
        return self._ask("POST", f"/v1/models/{quote(self._model, safe='')}/{question}", body)

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        connection = self._open(self._at[0], self._at[1], timeout=self._timeout)
        try:
            text = None if body is None else json.dumps(body).encode()
            headers = {"Content-Type": "application/json", **self._headers}
            connection.request(method, self._prefix + path, text, headers)
            response = connection.getresponse()
            answer: dict[str, Any] = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise InputError(f"{self._at[0]}:{self._at[1]} does not answer as netfold serve does ({e})") from None
        finally:
            connection.close()
        if response.status != 200:
            raise InputError(str(answer.get("error", response.status)))
        return answer


def application(models: dict[str, str], *, vectors_only: bool = False, **settings: Any) -> Any:
    """An ASGI application of models by name, from their paths: for a server, or for middleware, of your own."""
    from netfold.serve.answers import Served
    from netfold.serve.app import Server, ServerSettings

    loaded = [Served.load(name, path, vectors_only=vectors_only) for name, path in models.items()]
    return Server(loaded, ServerSettings(vectors_only=vectors_only, **settings)).app()


def _as_node(x: Any) -> Any:
    return tuple(map(_as_node, x)) if isinstance(x, list) else x
