"""The front over HTTP: `POST /v1/TOOL` with a JSON object, on a Unix socket or on a TCP port.

Python's own server does: requests are few and small, each has a thread, and what a server for the
open Internet has to withstand is not at its door (docs/serve.md says what it does withstand). A
connection has so many seconds to send a request, and a request so many bytes.
"""

from __future__ import annotations

import hmac
import io
import json
import math
import os
import socket
import stat
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import BaseServer, ThreadingMixIn
from typing import Any, cast

from visim.errors import ArgumentError
from visim.serve.oracle import Busy, Oracle
from visim.serve.shapes import RequestError
from visim.serve.tools import TOOLS, find_tool

_PREFIX = "/v1/"
_IDLE_S = 300.0
_ENDING_S = 1.0
"""So long a new connection waits for the place of one that has to end."""
_LONG, _MOST_LONG = 1 << 18, 4
"""Requests that are longer than the first are served so many at a time."""


class Refused(Exception):
    """A request is not answered: with this status, and because of this."""

    def __init__(self, status: HTTPStatus, message: str, path: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.path = path


def read_json(data: bytes) -> Any:
    """Return the JSON value in a body.

    Raises:
        RequestError: it is none, or says a key twice, or is nested too deeply.
    """
    try:
        text = data.decode("utf-8")
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_float
        )
    except UnicodeDecodeError as error:
        raise RequestError("", f"the body is not UTF-8, from byte {error.start} on") from None
    except RecursionError:
        raise RequestError("", "the body is nested too deeply") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise RequestError("", f"the body is no JSON: {error.msg} at {place}") from None
    except ValueError as error:  # also integers of thousands of digits
        raise RequestError("", f"the body is no JSON: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:40]!r} is there twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON; write it as a text")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is too large for a number")
    return number


class _Patient(io.RawIOBase):
    """Reads a socket until a point in time, however slowly it sends."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.until = time.monotonic() + _IDLE_S

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has come."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    _is_known = False
    """Whether the connection has had a request that was admitted."""
    protocol_version = "HTTP/1.1"
    server_version = "visim"
    sys_version = ""
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def setup(self) -> None:
        """Read the socket with patience that ends."""
        super().setup()
        self._patient = _Patient(self.connection)
        self.rfile = self._reader = io.BufferedReader(self._patient)

    def handle_one_request(self) -> None:
        """Wait for a request to begin; then it has a few seconds to be there."""
        receiving = self.server.oracle.limits.receiving
        self._patient.until = time.monotonic() + (_IDLE_S if self._is_known else receiving)
        try:
            with self.server.idle.has(self.connection, is_known=self._is_known):
                has_begun = bool(self._reader.peek(1))
            if not has_begun:
                self.close_connection = True
                return
            self._patient.until = time.monotonic() + receiving
            super().handle_one_request()
        except (OSError, ValueError):
            self.close_connection = True

    def do_GET(self) -> None:
        """Say which tools there are, or how the server is."""
        if self.headers.get("Content-Length") or self.headers.get("Transfer-Encoding"):
            self.close_connection = True  # a body would be taken for the next request
        try:
            self._admit()
            match self.path:
                case "/v1/tools":
                    self._reply(HTTPStatus.OK, tools_to_dict())
                case "/v1/health":
                    self._reply(HTTPStatus.OK, self.server.oracle.facts())
                case _:
                    known = "GET /v1/tools, GET /v1/health, POST /v1/TOOL"
                    raise Refused(HTTPStatus.NOT_FOUND, f"there is no such path; there are {known}")
        except Refused as refused:
            self._refuse(refused)

    def do_POST(self) -> None:
        """Answer a request for a tool."""
        try:
            self._admit()
            length = self._length()
            with self.server.place_for(length):
                body = self._body(length)
                if not self.path.startswith(_PREFIX):
                    raise Refused(HTTPStatus.NOT_FOUND, "requests go to /v1/TOOL")
                self._answer(self.path.removeprefix(_PREFIX), body)
        except Refused as refused:
            self._refuse(refused)

    def _answer(self, name: str, body: bytes) -> None:
        try:
            find_tool(name)
        except RequestError as error:
            raise Refused(HTTPStatus.NOT_FOUND, error.message, error.path) from None
        try:
            answered = self.server.oracle.call(name, read_json(body))
        except RequestError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, error.message, error.path) from None
        except Busy as error:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None
        except Exception as error:
            self.server.failed(error)
            text = f"visim broke down: {type(error).__name__}; this is a bug of visim"
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, text) from None
        kept = "kept" if answered.is_cached else "made"
        timing = f"{kept};dur={answered.seconds * 1000:.1f}"
        self._send(HTTPStatus.OK, answered.data, {"Server-Timing": timing})

    def _admit(self) -> None:
        """Refuse who lacks the token, or may be a page in a browser."""
        expected = self.server.token
        if expected is not None:
            given = self.headers.get("Authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {expected}".encode()):
                self.close_connection = True
                raise Refused(
                    HTTPStatus.UNAUTHORIZED, "give the header Authorization: Bearer TOKEN"
                )
        self._is_known = True

    def _length(self) -> int:
        """Return how long the body says it is."""
        if self.headers.get("Transfer-Encoding") is not None:
            self.close_connection = True
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "give Content-Length; chunks are not taken")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()) or len(length) > 12:
            self.close_connection = True
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "give Content-Length, a number of bytes")
        most = self.server.oracle.limits.request
        if int(length) > most:
            self.close_connection = True
            text = f"the body has {length} bytes; at most {most} are taken"
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        return int(length)

    def _body(self, length: int) -> bytes:
        try:
            body = self.rfile.read(length)
        except TimeoutError:
            self.close_connection = True
            seconds = self.server.oracle.limits.receiving
            text = f"the request was not there after {seconds:g} seconds"
            raise Refused(HTTPStatus.REQUEST_TIMEOUT, text) from None
        if len(body) < length:
            self.close_connection = True
            raise Refused(HTTPStatus.BAD_REQUEST, "the body ends before its length")
        return body

    def _refuse(self, refused: Refused) -> None:
        error = {"kind": refused.status.phrase, "path": refused.path, "message": str(refused)}
        self._reply(refused.status, {"error": error, "next": _advice(refused)})

    def _reply(self, status: HTTPStatus, form: object) -> None:
        self._send(status, json.dumps(form).encode(), {})

    def _send(self, status: HTTPStatus, data: bytes, more: dict[str, str]) -> None:
        self.connection.settimeout(self.server.oracle.limits.receiving)
        self.send_response(status)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(data)), **more}
        if self.close_connection:
            headers["Connection"] = "close"
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            headers["Retry-After"] = "1"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Say in JSON what Python's server finds wrong with a request."""
        del explain
        self.request_version = self.protocol_version  # what came may have had none
        self.close_connection = True
        status = HTTPStatus(code)
        with suppress(OSError):
            self._refuse(Refused(status, message or status.phrase))

    def address_string(self) -> str:
        """Return who asks; those on a Unix socket have no address."""
        return str(self.client_address[0]) if self.client_address else "-"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - Python's own name
        """Log nothing: texts of strangers do not belong on a terminal."""


def _advice(refused: Refused) -> str:
    if refused.path:
        return f"mend {refused.path} and ask again; GET /v1/tools has the schemas"
    return "mend the request and ask again; GET /v1/tools has the schemas"


def tools_to_dict() -> dict[str, Any]:
    """Return the tools as clients see them."""
    return {
        "tools": [
            {
                "name": tool.name,
                "description": f"{tool.purpose} {tool.about}",
                "request": tool.schema,
            }
            for tool in TOOLS.values()
        ]
    }


class _Idle:
    """Connections on which no request has begun: one of them gives way where there are too many.

    Those that have asked nothing yet do so first, as whoever has no token can hold no others.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[socket.socket, None] = {}
        self._strangers: dict[socket.socket, None] = {}

    @contextmanager
    def has(self, connection: socket.socket, *, is_known: bool) -> Generator[None]:
        """Count a connection as idle for a while."""
        those = self._known if is_known else self._strangers
        with self._lock:
            those[connection] = None
        try:
            yield
        finally:
            with self._lock:
                those.pop(connection, None)

    def end_one(self) -> bool:
        """Let the one that has waited longest end; return whether there was one."""
        with self._lock:
            for those in (self._strangers, self._known):
                if those:
                    connection = next(iter(those))
                    del those[connection]
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
                    return True
        return False


class _Server(ThreadingMixIn, BaseServer):
    """Accepts connections, so many at a time, each with a thread of its own."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, oracle: Oracle, token: str | None) -> None:
        super().__init__(listening.getsockname(), _Handler)
        self.socket = listening
        self.oracle = oracle
        self.token = token
        self.errors = 0
        self.idle = _Idle()
        self._long = threading.BoundedSemaphore(_MOST_LONG)
        self._places = threading.BoundedSemaphore(oracle.limits.connections)

    def place_for(self, length: int) -> AbstractContextManager[object]:
        """Return what to hold while a request of so many bytes is served.

        What is read of JSON takes many times its bytes, so only a few long ones are read at a time.
        """
        return self._long if length > _LONG else nullcontext()

    def fileno(self) -> int:
        """Return the listening socket's descriptor, which the loop of the base class waits for."""
        return self.socket.fileno()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection."""
        return self.socket.accept()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether there is a place for one more connection."""
        del client_address
        if self._places.acquire(blocking=False):
            return True
        if self.idle.end_one() and self._places.acquire(timeout=_ENDING_S):
            return True
        with suppress(OSError):
            cast("socket.socket", request).send(
                b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                b"Content-Length: 0\r\nRetry-After: 1\r\n\r\n",
                socket.MSG_DONTWAIT,
            )
        return False

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection, and give its place back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        connection = cast("socket.socket", request)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
        connection.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Count what went wrong with a connection; others go on."""
        del request, client_address
        self.errors += 1

    def failed(self, error: Exception) -> None:
        """Count a bug."""
        del error
        self.errors += 1

    def server_close(self) -> None:
        """Stop listening."""
        self.socket.close()


class HttpFront:
    """A listening socket, and who serves it."""

    def __init__(self, oracle: Oracle, listening: socket.socket, token: str | None = None) -> None:
        self._server = _Server(listening, oracle, token)
        self.address = listening.getsockname()

    def serve(self) -> None:
        """Serve until `stop`."""
        try:
            self._server.serve_forever(poll_interval=0.2)
        finally:
            self._server.server_close()

    def stop(self) -> None:
        """End `serve`, which another thread runs."""
        self._server.shutdown()


def listen_unix(path: Path) -> socket.socket:
    """Return a socket at a path, which only this user can reach.

    Raises:
        ArgumentError: something else is there, or a server that runs.
    """
    if path.exists() or path.is_symlink():
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ArgumentError(f"socket: {path} is there and no socket")
        if _is_served(path):
            raise ArgumentError(f"socket: a server runs at {path} already")
        path.unlink()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listening.bind(str(path))
    except OSError as error:
        listening.close()
        reason = error.strerror or error
        if not path.parent.is_dir():
            reason = f"there is no folder {path.parent}; make it first"
        raise ArgumentError(f"socket: {path}: {reason}") from None
    finally:
        os.umask(before)
    listening.listen(128)
    return listening


def _is_served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        try:
            trial.connect(str(path))
        except OSError:
            return False
        return True


def listen_tcp(host: str, port: int) -> socket.socket:
    """Return a socket at a port.

    Raises:
        ArgumentError: it cannot be had.
    """
    try:
        return socket.create_server((host, port), backlog=128)
    except (OSError, OverflowError) as error:
        raise ArgumentError(f"listen: {host}:{port}: {error}") from None
