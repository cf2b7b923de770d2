"""A client of the Debug Adapter Protocol, as editors are; it refuses what the protocol does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from typing import Any, Self

from tests.debug.protocol import check
from visim.cli.debugging import launched
from visim.debug.fronts.adapter import serve
from visim.debug.fronts.wire import Wire


def _pipe():
    reads, writes = os.pipe()
    return os.fdopen(reads, "rb"), os.fdopen(writes, "wb")


class Client:
    """One connection, to an adapter in a thread of this process, or in one of its own.

    Args:
        is_process: start `visim dap`.
        link: talk to an adapter at a port.
    """

    def __init__(self, *, is_process: bool = False, link: socket.socket | None = None) -> None:
        self._number = 0
        self._waiting: list[dict[str, Any]] = []
        self.output = ""
        if is_process:
            command = [sys.executable, "-m", "visim", "dap"]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._to, self._from, self._join = process.stdin, process.stdout, process.wait
            return
        if link is not None:
            self._to, self._from = link.makefile("wb"), link.makefile("rb")
            self._join = lambda _seconds: None
            return
        reads, self._to = _pipe()
        self._from, writes = _pipe()

        def answer() -> None:
            with reads, writes:
                serve(Wire(reads, writes), launched)

        thread = threading.Thread(target=answer)
        thread.start()
        self._join = thread.join

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._to.close()
        self._join(20)
        self._from.close()

    def send_bytes(self, data: bytes) -> None:
        """Write what may be no message."""
        self._to.write(data)
        self._to.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next message; EOFError where the adapter has gone."""
        length = None
        while True:
            line = self._from.readline()
            if not line:
                raise EOFError
            if not line.strip():
                break
            name, _, value = line.partition(b":")
            if name == b"Content-Length":
                length = int(value)
        found = json.loads(self._from.read(length))
        check(found)
        return found

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a request; return the body of its answer, AssertionError if it has failed."""
        answer = self.ask(command, **arguments)
        assert answer["success"], answer["message"]
        return answer.get("body", {})

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a request; return its answer."""
        self._number += 1
        message = {"seq": self._number, "type": "request", "command": command}
        data = json.dumps({**message, "arguments": arguments}).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        while True:
            found = self.receive()
            if found["type"] == "response" and found["request_seq"] == self._number:
                return found
            self._waiting.append(found)

    def event(self, *names: str) -> dict[str, Any]:
        """Return the next event of some names; what is written before is collected."""
        while True:
            found = self._waiting.pop(0) if self._waiting else self.receive()
            if found["type"] == "event" and found["event"] == "output":
                self.output += found["body"]["output"]
            if found["type"] == "event" and found["event"] in names:
                return found

    def start(self, **launch: Any) -> None:
        """Initialize and launch."""
        self.request("initialize", adapterID="visim")
        self.request("launch", **launch)
        self.event("initialized")

    def go(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Let the launch move; return where it stands then: the event and its top frame."""
        self.request(command, **arguments)
        found = self.event("stopped", "terminated")
        if found["event"] == "terminated":
            return found
        thread = found["body"]["threadId"]
        frames = self.request("stackTrace", threadId=thread)["stackFrames"]
        return {**found["body"], "frame": frames[0] if frames else None, "frames": frames}
