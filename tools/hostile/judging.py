"""Sends attacks to a server, and judges whether it stays well."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from tools.hostile.making import CASE, SAXPY_ZEBIN, SECRET, Attack, attacks
from visim.serve.answering.answers import CRASH, VERDICTS
from visim.serve.client import Client

_WAIT_S = 60.0
_PIECE = 7
_ROOT = Path(__file__).parents[2]


class Judge:
    """A server, what came of attacks on it, and what is wrong with it."""

    def __init__(self, *, seconds: float = 3.0) -> None:
        """Start nothing yet; `seconds` is what a request may take."""
        self._seconds = seconds
        self._folder = tempfile.TemporaryDirectory(prefix="visim-hostile-")
        self._path = str(Path(self._folder.name, "s"))
        self._lock = threading.Lock()
        self.outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.complaints: list[str] = []

    def __enter__(self) -> Self:
        """Start the server."""
        words = ["-m", "visim", "serve", "--socket", self._path, "--workers", "2"]
        words += ["--seconds", f"{self._seconds:g}", "--memory", "512"]
        environment = {**os.environ, "TMPDIR": self._folder.name, "A_SECRET": "root:x:0:0 secret"}
        self._server = subprocess.Popen([sys.executable, *words], cwd=_ROOT, env=environment)
        until = time.monotonic() + _WAIT_S
        while not Path(self._path).exists():
            if self._server.poll() is not None or time.monotonic() > until:
                raise SystemExit("the server does not start")
            time.sleep(0.05)
        self._first = self._good()
        self._memory = self._used()
        return self

    def __exit__(self, *_: object) -> None:
        """Look at the server, end it, and look for what it has left."""
        self._look()
        family = [self._server.pid, *_descendants(self._server.pid)]
        self._server.send_signal(signal.SIGTERM)
        try:
            self._server.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            self._complain("the server does not end")
            self._server.kill()
            self._server.wait()
        time.sleep(0.5)
        left = [pid for pid in family if _is_alive(pid)]
        if left:
            self._complain(f"processes are left: {left}")
        folders = [entry.name for entry in Path(self._folder.name).glob("visim-*")]
        if folders:
            self._complain(f"folders are left: {folders}")
        self._folder.cleanup()

    def attack(self, seed: int, count: int, clients: int) -> None:
        """Send so many attacks by so many clients."""
        whole = attacks(seed)
        todo = iter([next(whole) for _ in range(count)])
        threads = [threading.Thread(target=self._send_all, args=(todo,)) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _send_all(self, todo: Iterator[Attack]) -> None:
        while True:
            with self._lock:
                attack = next(todo, None)
            if attack is None:
                return
            try:
                outcome = self._send(attack)
            except (OSError, ValueError, KeyError) as error:
                outcome = f"{type(error).__name__}"
                self._complain(f"{attack.kind}: {type(error).__name__}: {error}: {_shown(attack)}")
            with self._lock:
                self.outcomes[attack.kind][outcome] += 1

    def _send(self, attack: Attack) -> str:
        data = attack.data
        if data is None:
            body = json.dumps(attack.request).encode("utf-8", "surrogatepass")
            head = f"POST /v1/{attack.tool} HTTP/1.1\r\nConnection: close\r\n"
            data = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        answer = _exchange(self._path, data, attack.pause)
        if not answer:
            return "closed"
        head, _, body = answer.partition(b"\r\n\r\n")
        status = int(head.split(maxsplit=2)[1])
        if attack.data is not None:  # several requests may have come, of which the first counts
            if status >= 500 and status not in {501, 503, 505}:
                self._complain(f"{attack.kind}: {status}: {_shown(attack)}")
            return str(status)
        form = json.loads(body)
        self._judge(attack, status, form)
        return str(form.get("verdict", status))

    def _judge(self, attack: Attack, status: int, form: dict[str, Any]) -> None:
        text = json.dumps(form)
        if "root:x:0:0" in text:
            self._complain(f"{attack.kind}: a secret is in the answer: {_shown(attack)}")
        if Path("/tmp/owned").exists():
            self._complain(f"{attack.kind}: a file was made: {_shown(attack)}")
        if status in {400, 503}:
            if not form["error"]["message"]:
                self._complain(f"{attack.kind}: no message: {_shown(attack)}")
        elif status != 200:
            self._complain(f"{attack.kind}: {status} {text[:300]}: {_shown(attack)}")
        elif form["verdict"] not in VERDICTS or form["verdict"] == CRASH:
            self._complain(f"{attack.kind}: {text[:300]}: {_shown(attack)}")

    def _good(self) -> dict[str, Any]:
        """Return the answer of a right request that is not answered from memory."""
        import base64

        program = {"binary": base64.b64encode(SAXPY_ZEBIN).decode()}
        with Client(self._path, timeout=_WAIT_S) as client:
            number = len(self.complaints) + sum(sum(one.values()) for one in self.outcomes.values())
            case = dict(CASE) | {"seed": number}
            return client.call("run", {"program": program, "cases": [case]})

    def _look(self) -> None:
        """Complain unless the server answers as at the start."""
        try:
            again = self._good()
        except (OSError, ValueError) as error:
            self._complain(f"the server does not answer: {error}")
            return
        if again != self._first:
            self._complain(f"the server answers otherwise: {again}, and first {self._first}")
        grown = self._used() - self._memory
        if grown > 256 << 20:
            self._complain(f"the server's memory has grown by {grown >> 20} MiB")
        open_files = len(os.listdir(f"/proc/{self._server.pid}/fd"))  # noqa: PTH208
        if open_files > 60:
            self._complain(f"the server has {open_files} open files")

    def _used(self) -> int:
        pages = int(Path(f"/proc/{self._server.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _complain(self, text: str) -> None:
        with self._lock:
            self.complaints.append(text)


def _exchange(path: str, data: bytes, pause: float) -> bytes:
    """Send bytes, and return what comes back until the server closes."""
    answer = bytearray()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_WAIT_S)
        connection.connect(path)
        with suppress(BrokenPipeError, ConnectionResetError):
            step = _PIECE if pause else 1 << 20
            for start in range(0, len(data), step):
                connection.sendall(data[start : start + step])
                time.sleep(pause)
            connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while piece := connection.recv(1 << 16):
                answer += piece
    return bytes(answer)


def _shown(attack: Attack) -> str:
    if attack.data is not None:
        return repr(attack.data[:200])
    request = json.dumps(attack.request)
    return f"{attack.tool} {request[-300:]}".replace(SECRET, "SECRET")


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *_descendants(int(child))]
    return found


def _is_alive(pid: int) -> bool:
    with suppress(OSError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False
