"""A process that forks itself for each request, and ends what takes too long or too much.

It is warm: what the work needs is loaded before. It has one thread, and it only carries bytes: what
strangers have sent is looked at in the forked process, which is confined first. Requests come over
channels, which are sockets that come over the control socket; a channel has one request at a time.
When the control socket is closed, everything ends.
"""

from __future__ import annotations

import hashlib
import os
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from visim.messages import BrokenMessage, Incoming, packed
from visim.serve.hosts import confinement
from visim.serve.hosts.confinement import Limits
from visim.serve.keeping import KeptBytes

Reply = tuple[Any, bytes]
MOST_REQUEST = 1 << 26
READY = b"r"
"""What a host says on its control socket when it is warm."""
_PART = 1 << 18
_WORDS = 2000
"""So many bytes of what a process complains of are handed on."""
_OUT_OF_MEMORY = 70
"""The exit code of a process that has reached its limit of memory."""


@dataclass
class Work:
    """What a host does.

    Attributes:
        answer: makes a reply of a request's head and body, in the forked process.
        readable: the folders and files that it may read.
        handles: makes file descriptors for the forked process to keep; the host closes its own.
        kept: so many bytes of replies are kept, for requests that are the same in each byte.
    """

    answer: Callable[[Any, bytes, Sequence[int]], Reply]
    readable: Sequence[str]
    handles: Callable[[], Sequence[int]] = tuple
    kept: int = 0


@dataclass(eq=False)
class _Channel:
    socket: socket.socket
    incoming: Incoming = field(default_factory=lambda: Incoming(MOST_REQUEST))
    outgoing: bytes = b""
    child: _Child | None = None
    key: bytes = b""


@dataclass(eq=False)
class _Child:
    """A forked process; `cause` says why the host has ended it, None while it has not.

    `is_over` says that its descriptors are closed; events of the same moment may still name them.
    """

    pid: int
    exit: int
    replies: int
    folder: str
    channel: _Channel
    begin: float
    reply: bytearray = field(default_factory=bytearray)
    cause: str | None = None
    is_over: bool = False


class ForkServer:
    """Serves the channels that come over a control socket until that is closed."""

    def __init__(self, control: socket.socket, work: Work, limits: Limits) -> None:
        self._control = control
        self._work = work
        self._limits = limits
        self._selector = selectors.DefaultSelector()
        self._channels: set[_Channel] = set()
        self._children: set[_Child] = set()
        self._folder = tempfile.mkdtemp(prefix="visim-host-")
        self._is_over = False
        self._kept = KeptBytes(work.kept)

    def serve(self) -> None:
        """Serve until nobody holds the other end of the control socket; says first that it can."""
        self._control.send(READY)
        self._control.setblocking(False)
        self._selector.register(self._control, selectors.EVENT_READ, self._accept)
        try:
            while not self._is_over:
                for key, events in self._selector.select(self._patience()):
                    key.data(events)
                self._end_the_late()
        finally:
            for child in tuple(self._children):
                _kill(child.pid)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _patience(self) -> float | None:
        if not self._children:
            return None
        first = min(child.begin for child in self._children)
        return max(0.01, first + self._limits.seconds - time.monotonic())

    def _end_the_late(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if child.cause is None and now >= child.begin + self._limits.seconds:
                self._end(child, "time")

    def _end(self, child: _Child, cause: str) -> None:
        child.cause = child.cause or cause
        _kill(child.pid)

    # Channels

    def _accept(self, _events: int) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, 1, 1)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        if not data:
            self._is_over = True
            return
        for descriptor in descriptors:
            channel = _Channel(socket.socket(fileno=descriptor))
            channel.socket.setblocking(False)
            self._channels.add(channel)
            self._watch(channel)

    def _watch(self, channel: _Channel) -> None:
        """Look whether a channel sends more or takes more, or has gone."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if channel.outgoing else 0)
        with suppress(KeyError):
            self._selector.unregister(channel.socket)
        self._selector.register(channel.socket, events, partial(self._serve, channel))

    def _serve(self, channel: _Channel, events: int) -> None:
        if channel not in self._channels:  # dropped by another event of the same moment
            return
        try:
            if events & selectors.EVENT_WRITE:
                sent = channel.socket.send(channel.outgoing[:_PART])
                channel.outgoing = channel.outgoing[sent:]
                self._watch(channel)
            if events & selectors.EVENT_READ:
                self._read(channel)
        except BlockingIOError:
            return
        except (OSError, BrokenMessage):
            self._drop(channel)

    def _read(self, channel: _Channel) -> None:
        piece = channel.socket.recv(_PART)
        if not piece:
            self._drop(channel)
            return
        channel.incoming.add(piece)
        if channel.child is None:
            self._next(channel)

    def _next(self, channel: _Channel) -> None:
        message = channel.incoming.take()
        if message is None:
            return
        channel.key = _digest(*message)
        kept = self._kept.get(channel.key)
        if kept is None:
            self._fork(channel, *message)
        else:
            about = {"cause": "answered", "code": 0, "words": "", "seconds": 0.0, "peak": 0}
            self._hand_over(channel, about, kept)

    def _drop(self, channel: _Channel) -> None:
        self._channels.discard(channel)
        with suppress(KeyError):
            self._selector.unregister(channel.socket)
        channel.socket.close()
        if channel.child is not None:
            self._end(channel.child, "gone")

    # Children

    def _fork(self, channel: _Channel, head: Any, body: bytes) -> None:
        folder = tempfile.mkdtemp(dir=self._folder)
        replies, out = os.pipe()
        handles = self._work.handles()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                self._become(parent, folder, out, handles)
                self._answer(head, body, out, handles)
            finally:
                os._exit(1)
        for descriptor in (out, *handles):
            os.close(descriptor)
        os.set_blocking(replies, False)
        child = _Child(pid, os.pidfd_open(pid), replies, folder, channel, time.monotonic())
        channel.child = child
        self._children.add(child)
        self._selector.register(replies, selectors.EVENT_READ, partial(self._collect, child))
        self._selector.register(child.exit, selectors.EVENT_READ, partial(self._reap, child))

    def _collect(self, child: _Child, _events: int = 0) -> bool:
        """Take what a process has answered; return whether there may be more."""
        if child.is_over:
            return False
        try:
            piece = os.read(child.replies, _PART)
        except BlockingIOError:
            return False
        child.reply += piece
        if len(child.reply) > self._limits.output:
            child.reply.clear()
            self._end(child, "output")
        if not piece:
            with suppress(KeyError):
                self._selector.unregister(child.replies)
        return bool(piece)

    def _reap(self, child: _Child, _events: int = 0) -> None:
        while self._collect(child):
            pass
        child.is_over = True
        _, status, usage = os.wait4(child.pid, 0)
        _kill_group(child.pid)
        for descriptor in (child.replies, child.exit):
            with suppress(KeyError):
                self._selector.unregister(descriptor)
            os.close(descriptor)
        words = _last_words(child.folder)
        shutil.rmtree(child.folder, ignore_errors=True)
        self._children.discard(child)
        code = os.waitstatus_to_exitcode(status)
        about = {
            "cause": child.cause or _cause(code, words),
            "code": code,
            "words": words,
            "seconds": usage.ru_utime + usage.ru_stime,
            "peak": usage.ru_maxrss << 10,
        }
        reply = bytes(child.reply) if about["cause"] == "answered" else b""
        if reply:
            self._kept.put(child.channel.key, reply)
        self._hand_over(child.channel, about, reply)

    def _hand_over(self, channel: _Channel, about: dict[str, Any], reply: bytes) -> None:
        channel.child = None
        if channel not in self._channels:
            return
        channel.outgoing += packed(about, reply)
        self._watch(channel)
        try:
            self._next(channel)
        except BrokenMessage:
            self._drop(channel)

    def _become(self, parent: int, folder: str, out: int, handles: Sequence[int]) -> None:
        """Make this process, just forked, one that may do little."""
        os.setsid()
        confinement.end_with(parent)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.chdir(folder)
        nowhere = os.open(os.devnull, os.O_RDWR)
        words = os.open("stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for descriptor, target in ((nowhere, 0), (nowhere, 1), (words, 2)):
            os.dup2(descriptor, target)
        confinement.close_all_but([out, *handles])
        work = os.path.join(folder, "work")  # noqa: PTH118 - the folder with the words is not its
        os.mkdir(work)  # noqa: PTH102
        os.chdir(work)
        tempfile.tempdir = work
        os.environ["TMPDIR"] = os.environ["HOME"] = work
        confinement.confine(self._work.readable, [work, os.devnull])
        confinement.limit(self._limits)

    def _answer(self, head: Any, body: bytes, out: int, handles: Sequence[int]) -> None:
        try:
            reply = packed(*self._work.answer(head, body, handles))
        except MemoryError:
            os._exit(_OUT_OF_MEMORY)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        with suppress(BrokenPipeError):
            data = memoryview(reply)
            while data:
                data = data[os.write(out, data) :]
        os._exit(0)


def _digest(head: Any, body: bytes) -> bytes:
    return hashlib.sha256(packed(head, body)).digest()


def _kill(pid: int) -> None:
    """End a process and its group; it has not been waited for, so that it is still itself."""
    _kill_group(pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _cause(code: int, words: str) -> str:
    """Return why a process has ended by itself: answered, memory, time or crash."""
    if code == 0:
        return "answered"
    if code == _OUT_OF_MEMORY or "bad_alloc" in words or "out of memory" in words.lower():
        return "memory"
    return "time" if code in {-signal.SIGXCPU, -signal.SIGKILL} else "crash"


def _last_words(folder: str) -> str:
    try:
        with open(os.path.join(folder, "stderr"), "rb") as stream:  # noqa: PTH118, PTH123
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - _WORDS))
            return stream.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""
