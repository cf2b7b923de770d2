"""One compiler process: how it is started, asked, and ended.

`opencl_child` is what runs in it. Knows nothing of OpenCL C.
"""

from __future__ import annotations

import io
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from visim.errors import ToolMissing
from visim.exits import how_it_ended
from visim.runtime.compiling import opencl_child
from visim.toolchain.installed import in_use
from visim.toolchain.prefix import prefix_of

LIBRARY_VARIABLE = "VISIM_LIBOCLOC"
INSTALL_HINT = (
    "visim toolchain install brings Intel's current compiler; or apt-get install intel-opencl-icd, "
    f"or set {LIBRARY_VARIABLE} to the path of a libocloc.so"
)
_START_TIMEOUT_S = 60.0
_END_TIMEOUT_S = 10.0
_LAST_WORDS_BYTES = 2000


class CompilerDied(Exception):
    """The compiler process ended by itself: `how` names the signal or code, `words` its output."""

    def __init__(self, how: str, words: str, *, by_signal: bool = True) -> None:
        super().__init__(how)
        self.how = how
        self.words = words
        self.by_signal = by_signal


class CompilerStuck(Exception):
    """The compiler did not answer in time and was ended."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What oclocInvoke returned: its code (0 is success), its log, and its outputs by name.

    `files` are the names of what it left in its folder and did not return, without contents.
    """

    code: int
    log: str
    outputs: Mapping[str, bytes]
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, head: Any, body: bytes) -> Answer:
        """Return the answer that a message of a compiler process holds."""
        outputs: dict[str, bytes] = {}
        for name, size in head["outputs"]:
            outputs[name], body = body[:size], body[size:]
        return cls(head["code"], head["log"], outputs, tuple(head["files"]))


def request(
    arguments: list[str], source: tuple[str, bytes] | None, files: Mapping[str, bytes]
) -> tuple[dict[str, Any], bytes]:
    """Return the message that asks a compiler process to run a command; see `ocloc.invoke`."""
    name, text = source or (None, b"")
    sizes = [(path, len(data)) for path, data in files.items()]
    head = {"arguments": arguments, "source": name, "files": sizes}
    return head, b"".join([*files.values(), text])


class Worker:
    """One running compiler process. `library` is the file that it loaded."""

    def __init__(self, library: str, *, notes: bool = False) -> None:
        """Start the process; with `notes` its answers have the compiler's notes on variables.

        Raises:
            ToolMissing: It cannot load `library`.
        """
        self._folder = tempfile.mkdtemp(prefix="visim-ocloc-")
        words = [opencl_child.__file__, library, self._folder, *(["notes"] if notes else [])]
        with in_use(library) as descriptors:
            self._process = subprocess.Popen(
                python_command(library, *words),
                env=environment(library),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,  # Ctrl-C in the terminal is for the user's process
                pass_fds=descriptors,
            )
        try:
            head, _ = self._receive(_START_TIMEOUT_S)
            if "missing" in head:
                raise ToolMissing(f"libocloc cannot be loaded ({head['missing']}): {INSTALL_HINT}")
        except BaseException:
            self.close()
            raise
        self.library = Path(head["path"])

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs; someone may have ended it while it was idle."""
        return self._process.poll() is None

    def ask(self, head: dict[str, Any], body: bytes, timeout: float) -> Answer:
        """Send one request and wait at most `timeout` seconds for the answer.

        Raises:
            CompilerDied: The process ended.
            CompilerStuck: It did not answer; it must be closed now.
        """
        message = io.BytesIO()
        opencl_child.send(message, head, body)
        with suppress(BrokenPipeError):  # reading finds out how the process ended
            _write_all(self._pipe(self._process.stdin), message.getvalue())
        return Answer.of(*self._receive(timeout))

    def close(self) -> None:
        """End the process and remove its folder; a second call does nothing."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self.kill()

    def kill(self) -> None:
        """End the process and remove its folder, but leave pipes open that others may read."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def abandon(self) -> None:
        """Forget the process without ending it: after a fork it is the parent's."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.returncode = 0

    def _receive(self, timeout: float) -> tuple[Any, bytes]:
        deadline = time.monotonic() + timeout
        parts: list[bytes] = []
        for _ in range(2):
            length = int.from_bytes(self._read(8, deadline), "little")
            parts.append(self._read(length, deadline))
        return json.loads(parts[0]), parts[1]

    def _read(self, size: int, deadline: float) -> bytes:
        pipe = self._pipe(self._process.stdout)
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        data = bytearray()
        while len(data) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise CompilerStuck
            part = pipe.read(min(size - len(data), 1 << 20))
            if not part:
                raise self._death()
            data += part
        return bytes(data)

    def _death(self) -> CompilerDied:
        try:
            code = self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:  # it closed its output and lives
            self._process.kill()
            code = self._process.wait()
        words = Path(self._folder, "stderr")
        text = words.read_bytes()[-_LAST_WORDS_BYTES:] if words.exists() else b""
        said = text.decode("utf-8", "replace").strip()
        return CompilerDied(how_it_ended(code), said, by_signal=code < 0)

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None:
            raise CompilerDied("no pipe", "")
        return pipe


def _write_all(pipe: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[pipe.write(view) or 0 :]


def python_command(library: str, *program: str) -> list[str]:
    """Return the command that runs a program by the Python that lies with a library, if any."""
    words = ("-I", "-S", *program)
    prefix = prefix_of(library)
    command = None if prefix is None else prefix.python_command(*words)
    return command or [_python(), *words]


def environment(library: str) -> dict[str, str] | None:
    """Let the library find those beside it, unless the whole prefix is used, or the system's."""
    if os.sep not in library or prefix_of(library) is not None:
        return None  # a C library beside it would be another one than that of its Python
    paths = [str(Path(library).resolve().parent), os.environ.get("LD_LIBRARY_PATH", "")]
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(filter(None, paths))}


def _python() -> str:
    """Return a Python interpreter; in a host program that embeds Python there may be none."""
    if sys.executable and Path(sys.executable).name.startswith("python"):
        return sys.executable
    found = shutil.which(f"python3.{sys.version_info.minor}") or shutil.which("python3")
    if found is None:
        raise ToolMissing("no Python interpreter is on the path to run the compiler in")
    return found
