"""A client over HTTP: asks a server that runs on this machine."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any, Self

from visim.errors import VisimError


class Refusal(VisimError):
    """The server has refused a request; `path` is the field that is wrong, empty if none is."""

    def __init__(self, status: int, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.status = status
        self.path = path


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the Unix socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Client:
    """Asks one server; one thread uses it at a time.

    Args:
        server: the path of its Unix socket, or a host and port.
        token: that of a server at a port.
        timeout: seconds in which an answer has to be there.
    """

    def __init__(
        self,
        server: str | Path | tuple[str, int],
        *,
        token: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        if isinstance(server, tuple):
            self._connection = http.client.HTTPConnection(*server, timeout=timeout)
        else:
            self._connection = _UnixConnection(str(server), timeout)
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def call(self, tool: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of a tool.

        Raises:
            Refusal: the request is wrong, or the server has too much to do.
            OSError: the server is not there.
        """
        return self._ask("POST", f"/v1/{tool}", json.dumps(request).encode())

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools with the schemas of their requests."""
        return self._ask("GET", "/v1/tools", None)["tools"]

    def health(self) -> dict[str, Any]:
        """Return how the server is."""
        return self._ask("GET", "/v1/health", None)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        try:
            response = self._sent(method, path, body)
        except ConnectionError:  # a server ends connections that have been idle for long
            self._connection.close()
            response = self._sent(method, path, body)
        data = response.read()
        if response.status == http.client.OK:
            return json.loads(data)
        error = json.loads(data)["error"] if data else {"path": "", "message": response.reason}
        raise Refusal(response.status, error["path"], error["message"])

    def _sent(self, method: str, path: str, body: bytes | None) -> http.client.HTTPResponse:
        self._connection.request(method, path, body, self._headers)
        return self._connection.getresponse()
