"""The process of a VM: it answers the library in the program, and runs a streamer per queue.

Started by the library as `python -m visim.device.vm MODEL VM PROGRAM`, with a socket to the
program and the file of all memory objects as file descriptors. It ends when the program does.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from visim.device import recording
from visim.device.address_space import AddressSpace
from visim.device.commands import GENERATIONS
from visim.device.driver import I915
from visim.device.finding import KernelFinder
from visim.device.hostmemory import ProgramMemory, begin_of, keep_layout, tells_of_an_end
from visim.device.kept_programs import VARIABLE as KEPT_PROGRAMS
from visim.device.kept_programs import KeptPrograms
from visim.device.launching import Kernels
from visim.device.library import SOURCES_VARIABLE
from visim.device.models import Model, model
from visim.device.placing import start_elsewhere
from visim.device.protocol import (
    DONE_WORDS,
    MESSAGE,
    READ_ONLY,
    REPLY,
    STATUS_BYTES,
    Kind,
    Message,
    read_message,
)
from visim.device.recording import Recorder
from visim.device.reports import ProgramReport
from visim.device.streamer import QueueError, Stopped, Streamer
from visim.device.watching import FOUND_VARIABLE, VARIABLE, Findings
from visim.runtime.sourcetexts import SourceTexts
from visim.sanitize.kinds import read_sanitize

_SOCKET, _FILE = 3, 4
_STACK_BYTES = 16 << 20
_CYCLE_BITS = 36
_LOST = 1


@dataclass(slots=True)
class Queue:
    """A queue: its number, and what tells its thread to stop."""

    number: int
    stop: threading.Event = field(default_factory=threading.Event)


class VirtualMachine:
    """One VM: its memory, its queues, and what it was asked for.

    Args:
        model: the GPU.
        program: the number of the program's process.
        file: the file of all memory objects.
    """

    def __init__(self, model: Model, program: int, file: int) -> None:
        self._model = model
        self._generation = GENERATIONS[model.family.generation]
        memory = ProgramMemory(program)
        self._space = AddressSpace(file, memory)
        self.report = ProgramReport(model.name)
        engine = os.environ.get("VISIM_ENGINE") or None
        kept = os.environ.get(KEPT_PROGRAMS)
        programs = KeptPrograms(Path(kept), begin_of(program)) if kept else None
        finder = KernelFinder(
            *(self._space, memory, model.family, programs),
            strings_stay=os.environ.get("VISIM_KERNEL_DRIVER") == I915,
        )
        found = os.environ.get(FOUND_VARIABLE)
        folder = os.environ.get(recording.VARIABLE)
        sources = os.environ.get(SOURCES_VARIABLE)
        self._kernels = Kernels(
            self._space,
            finder,
            model.family,
            engine,
            self.report,
            read_sanitize(os.environ.get(VARIABLE) or None),
            Findings(_say, Path(found) if found else None),
            None if folder is None else Recorder(Path(folder), self._space, _say),
            SourceTexts(kept=Path(sources) if sources else None),
        )
        self._status = _status_words(file)
        self._queues: list[Queue] = []
        self._is_reported = False
        self._is_lost = False

    def clock(self) -> int:
        """Return the GPU's timestamp."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        return (now * self._model.clock_hz // 1_000_000_000) & ((1 << _CYCLE_BITS) - 1)

    def serve(self, connection: socket.socket) -> None:
        """Answer messages until the program closes its end."""
        while True:
            data, files, _, _ = socket.recv_fds(connection, MESSAGE.size, 1)
            if len(data) != MESSAGE.size:
                break
            status = self._answer(read_message(data), files)
            try:
                connection.send(REPLY.pack(status))
            except OSError:
                break
        for queue in self._queues:
            queue.stop.set()
        self._end()

    def _end(self) -> None:
        """Write the report, if one is wanted and was not written yet."""
        path = os.environ.get("VISIM_REPORT")
        if not path or self._is_reported:
            return
        self._is_reported = True
        try:
            self.report.write(Path(path))
        except OSError as error:
            _say(f"the report cannot be written: {error}")

    def _answer(self, message: Message, files: Sequence[int]) -> int:
        """Do what a message asks for; return 0 or a negative error number."""
        writable = not message.flags & READ_ONLY
        space = self._space
        try:
            match message.kind:
                case Kind.MAP:
                    space.map_object(
                        message.address,
                        message.size,
                        message.place,
                        is_writable=writable,
                        asked=message.value or None,
                    )
                case Kind.MAP_PROGRAM:
                    space.map_program(
                        message.address, message.size, message.place, is_writable=writable
                    )
                case Kind.UNMAP:
                    space.unmap(message.address, message.size)
                case Kind.QUEUE:
                    self._add_queue(message.address, files[0])
                case Kind.END:
                    self._end()
                case _:
                    return -22
        except OSError as error:
            # Before there are queues the library tries another process, with another layout.
            if error.errno != errno.EEXIST or self._queues:
                _say(f"0x{message.address:x}: {error}")
            return -(error.errno or errno.ENOMEM)
        return 0

    def _add_queue(self, number: int, file: int) -> None:
        queue = Queue(number)
        self._queues.append(queue)
        if self._is_lost:
            self._status[number] = _LOST
        connection = socket.socket(fileno=file)
        thread = threading.Thread(
            target=self._run_queue, args=(queue, connection), name=f"queue {number}", daemon=True
        )
        thread.start()

    def _run_queue(self, queue: Queue, connection: socket.socket) -> None:
        trace = _say if os.environ.get("VISIM_TRACE_COMMANDS") else None
        streamer = Streamer(
            self._generation, self._space, self.clock, self._kernels, queue.stop, trace
        )
        while True:
            data = connection.recv(MESSAGE.size)
            if len(data) != MESSAGE.size:
                return
            message = read_message(data)
            if self._status[queue.number] == _LOST:
                continue
            try:
                self._run_batch(streamer, message)
                self._status[DONE_WORDS + queue.number] = message.size
            except Stopped:
                return
            except Exception as error:
                if tells_of_an_end(error):  # Nobody is left who would miss anything.
                    return
                self._lose(error)

    def _run_batch(self, streamer: Streamer, message: Message) -> None:
        if message.flags:
            streamer.run(message.address)
        if message.place:
            self._space.store_long(message.place, message.value)

    def _lose(self, error: Exception) -> None:
        """Tell the user what has ended the queues of this VM, and the driver that they are lost.

        Other queues may wait for what this one never does; they are lost with it.
        """
        self.report.errors.append(str(error))
        if isinstance(error, QueueError):
            _say(str(error))
        else:
            _say(f"a bug of visim's: {type(error).__name__}: {error}")
            if os.environ.get("VISIM_DEBUG"):
                sys.excepthook(type(error), error, error.__traceback__)
        self._is_lost = True
        for queue in self._queues:
            queue.stop.set()
            self._status[queue.number] = _LOST


def _status_words(file: int) -> memoryview:
    import mmap

    return memoryview(mmap.mmap(file, STATUS_BYTES)).cast("I")


def _say(text: str) -> None:
    sys.stderr.write(f"visim: {text}\n")
    sys.stderr.flush()


def main(words: Sequence[str]) -> int:
    """Serve the program; return the exit code."""
    start_elsewhere(int(words[2]))
    keep_layout()
    threading.stack_size(_STACK_BYTES)
    found = model(words[0])
    if found is None:
        _say(f"there is no device {words[0]}")
        return 1
    connection = socket.socket(fileno=_SOCKET)
    machine = VirtualMachine(found, int(words[2]), _FILE)
    connection.send(REPLY.pack(os.getpid()))
    machine.serve(connection)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
