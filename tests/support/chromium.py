"""Headless Chromium over a pipe of its own (--remote-debugging-pipe): no driver, no socket, no other package."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from select import select
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--mute-audio",
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--remote-debugging-pipe",
)  # fmt: skip
AS_3_AND_4 = """
import os, sys
ends = [os.dup(int(fd)) for fd in sys.argv[1:3]]  # out of the way, should they be 4 and 3
ends = [os.dup(fd) for fd in ends]
for fd, place in zip(ends, (3, 4)):
    os.dup2(fd, place)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads commands from descriptor 3 and answers on 4."""
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""But for a server on this machine."""


def program() -> str | None:
    """Where Chromium is, if it is anywhere: $NETFOLD_CHROMIUM, or on the path."""
    named = os.environ.get("NETFOLD_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """A browser with one page; whatever the page complains of is in `complaints`."""

    def __init__(self, width: int = 1200, height: int = 800, *, dark: bool = False, seconds: float = 60):
        self._seconds, self._number = seconds, 0
        self._buffer = b""
        self._folder = tempfile.mkdtemp(prefix="netfold-chromium-")
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._process = self._start(width, height)
        try:
            target = self._send("Target.createTarget", url="about:blank")["targetId"]
            self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
            shown = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            self.call("Emulation.setDeviceMetricsOverride", **shown)
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            calm = {"name": "prefers-reduced-motion", "value": "reduce"}
            self.call("Emulation.setEmulatedMedia", features=[scheme, calm])
        except BaseException:
            self.close()
            raise

    def _start(self, width: int, height: int) -> subprocess.Popen[bytes]:
        found = program()
        assert found is not None, "no Chromium"
        (theirs_in, self._out), (self._in, theirs_out) = os.pipe(), os.pipe()
        flags = [*FLAGS, NO_NETWORK, f"--window-size={width},{height}", f"--user-data-dir={self._folder}"]
        command = [sys.executable, "-c", AS_3_AND_4, str(theirs_in), str(theirs_out), found, *flags]
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        try:
            return subprocess.Popen(command, pass_fds=(theirs_in, theirs_out), **silent)
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    # ---------------------------------------------------------------- the protocol

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command to the page, and its answer."""
        return self._send(method, self._session, **params)

    def _send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        message |= {} if session is None else {"sessionId": session}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self._seconds
        while True:
            told = self._receive(end, method)
            if told.get("id") == self._number:
                assert "error" not in told, f"{method}: {told['error']}"
                answer: dict[str, Any] = told["result"]
                return answer
            self._note(told)

    def _receive(self, end: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready = select([self._in], [], [], max(end - time.monotonic(), 0))[0]
            assert ready, f"Chromium did not answer {method} within {self._seconds} s"
            read = os.read(self._in, 1 << 20)
            assert read, f"Chromium ended while {method} was asked"
            self._buffer += read
        text, _, self._buffer = self._buffer.partition(b"\0")
        told: dict[str, Any] = json.loads(text)
        return told

    def _note(self, told: dict[str, Any]) -> None:
        kind, facts = told.get("method"), told.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(facts["exceptionDetails"]))
        elif kind == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            text = facts["entry"]["text"]
            if "GPU stall due to ReadPixels" not in text:  # the compositor's own, where the graphics are software
                self.complaints.append(text)
        elif kind == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(facts["args"]))
        elif kind == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])

    # ---------------------------------------------------------------- for a test

    def open(self, path: Path) -> None:
        """Show a file, and wait until its page says that it is complete."""
        self.visit(path.absolute().as_uri())

    def visit(self, address: str) -> None:
        """The same for an address."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.wait("document.documentElement?.dataset.complete")

    def ask(self, expression: str) -> Any:
        """What an expression, or a promise of one, is in the page."""
        asked = {"returnByValue": True, "awaitPromise": True}
        told = self.call("Runtime.evaluate", expression=expression, **asked)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Until an expression is true."""
        end = time.monotonic() + self._seconds
        while not (found := self.ask(expression)):
            assert time.monotonic() < end, f"not so within {self._seconds} s: {expression}; {self.complaints}"
            time.sleep(0.05)
        return found

    def type(self, text: str) -> None:
        """As from a keyboard, into what has the focus."""
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """One key, with what it types."""
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}
        facts: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0]))}
        text = "\r" if key == "Enter" else key if len(key) == 1 else None
        self.call("Input.dispatchKeyEvent", type="keyDown", **facts, **({} if text is None else {"text": text}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **facts)

    def mouse(self, kind: str, x: float, y: float) -> None:
        """`mouseMoved`, `mousePressed` or `mouseReleased` at a pixel of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click(self, x: float, y: float) -> None:
        """The left button, down and up."""
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """What is seen, or with `whole` the page from top to bottom, as png."""
        told = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(told["data"]))

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
