"""A part of a file of keys and values, read strictly: what is unknown, missing or of a wrong type is named."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from netfold.errors import InputError
from netfold.reproduce.tables import Cells

__all__ = ["Section"]


class Section:
    """A part of the file, whose keys are taken one by one; those that are left are unknown."""

    def __init__(self, path: Path, where: str, values: Any):
        self._path, self._where = path, where
        if not isinstance(values, dict):
            raise self.wrong(f"it is {reprlib.repr(values)}; it should be a table of keys")
        self._left = dict(values)
        self._asked: list[str] = []

    def wrong(self, problem: str) -> InputError:
        """The error that names the file and the part."""
        return InputError(f"{self._path}: " + (f"[{self._where}]: " if self._where else "") + problem)

    def names(self) -> list[str]:
        """The keys that are left."""
        return list(self._left)

    def rest(self) -> dict[str, Any]:
        """All that is left: arguments of a function, which knows its own."""
        left, self._left = self._left, {}
        return left

    def end(self) -> None:
        """Refuse the keys that are left."""
        for key in self._left:
            near = get_close_matches(key, self._asked, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(self._asked)}"
            raise self.wrong(f"there is no key {key!r}; {hint}")

    def text(self, key: str, default: str | None = None) -> str:
        """A text."""
        return str(self._take(key, default, "text", lambda x: isinstance(x, str)))

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """A list of texts."""
        good = self._take(key, default, "a list of texts", lambda x: _all(x, str))
        return tuple(good)

    def counts(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers, one at least."""
        good = self._take(key, None, "a list of whole numbers", lambda x: _all(x, int) and bool(x))
        return tuple(good)

    def number(self, key: str) -> float:
        """A finite number."""
        return float(self._take(key, None, "a finite number", _is_number))

    def mapping(self, key: str) -> dict[str, Any]:
        """Keys with values of any kind."""
        return dict(self._take(key, {}, "a table of keys", lambda x: isinstance(x, dict)))

    def numbers(self, key: str) -> dict[str, float]:
        """Keys with finite numbers."""
        found = self.mapping(key)
        for name, value in found.items():
            if not _is_number(value):
                raise self.wrong(f"{key}: {name!r} is {reprlib.repr(value)}; it should be a finite number")
        return {name: float(value) for name, value in found.items()}

    def cells(self, key: str) -> Cells:
        """Figures by method."""
        inner = self.section(key, {})
        return {name: inner.numbers(name) for name in inner.names()}

    def section(self, key: str, default: Any = None) -> Section:
        """A part of this part."""
        where = f"{self._where}.{key}" if self._where else key
        return Section(self._path, where, self._take(key, default, "a table of keys", lambda x: isinstance(x, dict)))

    def sections(self, key: str) -> list[Section]:
        """A list of parts."""
        found = self._take(key, (), "a list of tables", lambda x: isinstance(x, (list, tuple)))
        return [Section(self._path, f"{key}, number {i}", x) for i, x in enumerate(found, 1)]

    def _take(self, key: str, default: Any, wanted: str, good: Callable[[Any], bool]) -> Any:
        self._asked.append(key)
        if key not in self._left and default is None:
            raise self.wrong(f"the key {key!r} is missing; it should be {wanted}")
        value = self._left.pop(key, default)
        if not good(value):
            raise self.wrong(f"{key} is {reprlib.repr(value)}; it should be {wanted}")
        return value


def _all(value: Any, kind: type) -> bool:
    listed = isinstance(value, (list, tuple))
    return listed and all(isinstance(x, kind) and not isinstance(x, bool) for x in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
