"""A service that holds copies and erases them when asked, as docs/copies.md says; or not, as a test says."""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from olvido.connectors import signature

KEY = "a key that both sides know"
CLOCK = 1_800_000_000
"""Seconds since 1970 at which these tests take place."""


class Service:
    """Holds things of people by tenant and subject. What it does instead of its work is set by a test.

    later: erasures are accepted and done when `work` is called. status: answered to everything. answer: bytes of every
    answer. hangs: it takes requests and says nothing. lies: it answers as if it had erased. clock: the seconds since
    1970 by which it judges signatures; None is the time of this machine.
    """

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], int] = {}
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.erasures: dict[str, str] = {}
        self.later = self.lies = self.hangs = False
        self.clock: float | None = CLOCK
        self.status: int | None = None
        self.answer: bytes | None = None
        self._waiting: list[Callable[[], None]] = []
        self._ends = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """What a connector takes."""
        return f"http://127.0.0.1:{self._server.server_port}/privacy"

    def work(self) -> None:
        """Do the erasures that were accepted for later."""
        while self._waiting:
            self._waiting.pop()()

    def close(self) -> None:
        """Stop; what hangs ends."""
        self._ends.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, handler: BaseHTTPRequestHandler) -> None:
        """Note a request, check who sent it, and do what it asks for."""
        body = handler.rfile.read(int(handler.headers["Content-Length"] or 0))
        self.requests.append((handler.command, handler.path, dict(handler.headers), body))
        if self.hangs:
            self._ends.wait()
        status, answer = self._answered(handler, body)
        content = json.dumps(answer).encode() if self.answer is None else self.answer
        content = b"" if status == 204 else content
        handler.send_response(status)
        if status == 302:
            handler.send_header("Location", f"{self.url}/find")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _answered(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, object]:
        if self.status is not None:
            return self.status, {"error": "about ana"}
        timestamp = handler.headers["Olvido-Timestamp"]
        signed = signature(KEY, handler.command, handler.path, timestamp, body)
        late = abs(int(timestamp) - (time.time() if self.clock is None else self.clock)) > 300
        if late or not hmac.compare_digest(signed, handler.headers["Olvido-Signature"]):
            return 401, {}
        if handler.command == "GET":
            erasure_id = handler.path.removeprefix("/privacy/erasures/")
            state = self.erasures.get(erasure_id)
            return (404, {}) if state is None else (200, {"state": state})
        asked: dict[str, Any] = json.loads(body)
        person = (asked["tenant"], asked["subject"])
        if handler.path == "/privacy/find":
            return 200, {"count": self.held.get(person, 0)}
        return self._erase(handler.headers["Idempotency-Key"], person)

    def _erase(self, erasure_id: str, person: tuple[str, str]) -> tuple[int, object]:
        def done() -> None:
            self.held.pop(person, None)
            self.erasures[erasure_id] = "done"

        if self.lies:
            self.erasures[erasure_id] = "done"
            return 200, {}
        if self.later:
            self.erasures[erasure_id] = "running"
            self._waiting.append(done)
            return 202, {}
        self.held.pop(person, None)
        return 204, {}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                try:
                    service.take(self)
                except OSError:
                    self.close_connection = True  # the client went away, as it should from a server that hangs

            do_GET = do_POST  # noqa: N815 - the name that the base class calls

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler
