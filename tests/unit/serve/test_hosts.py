"""What a process of a request cannot do; that it ends with its limits, its client, its host."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.children import is_gone
from visim import messages
from visim.serve import hosting
from visim.serve.hosts.confinement import Limits, available
from visim.serve.hosts.forkserver import ForkServer, Work, _Channel

ROOT = Path(__file__).parents[3]
MOST = 1 << 24
CAN = available()
needs_seccomp = pytest.mark.skipif(not CAN.seccomp, reason="this kernel has no seccomp")
needs_landlock = pytest.mark.skipif(not CAN.landlock, reason="this kernel has no Landlock")


class Host:
    def __init__(self, folder):
        secret = folder / "secret"
        secret.write_text("the secret")
        self.control, theirs = socket.socketpair()
        words = [sys.executable, "-m", "tests.unit.serve.evil", str(theirs.fileno())]
        self.process = subprocess.Popen(
            words,
            cwd=ROOT,
            env={**os.environ, "SECRET_FILE": str(secret)},
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        assert self.control.recv(1)

    def channel(self):
        own, others = socket.socketpair()
        socket.send_fds(self.control, [b"c"], [others.fileno()])
        others.close()
        return own

    def ask(self, what, channel=None):
        """Return what the host says of a process, and its answer."""
        with channel or self.channel() as own:
            messages.send(own.fileno(), what)
            received = messages.receive(own.fileno(), MOST, time.monotonic() + 60)
        assert received is not None
        about, reply = received
        incoming = messages.Incoming(MOST)
        incoming.add(reply)
        message = incoming.take()
        return about, None if message is None else message[0]

    def end(self):
        self.control.close()
        self.process.wait(30)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    made = Host(tmp_path_factory.mktemp("evil"))
    yield made
    made.end()


@pytest.mark.parametrize(
    "action",
    [
        pytest.param("read_secret", marks=needs_landlock),
        pytest.param("write_outside", marks=needs_landlock),
        pytest.param("fork", marks=needs_seccomp),
        pytest.param("start", marks=needs_seccomp),
        pytest.param("execute", marks=needs_seccomp),
        pytest.param("connect", marks=needs_seccomp),
        pytest.param("kill_the_host", marks=needs_seccomp),
        pytest.param("change_mode", marks=needs_seccomp),
        pytest.param("change_time", marks=needs_seccomp),
        pytest.param("change_attribute", marks=needs_seccomp),
        pytest.param("slow_the_host", marks=needs_seccomp),
        pytest.param("move_the_host", marks=needs_seccomp),
        pytest.param("leave_memory", marks=needs_seccomp),
    ],
)
def test_a_process_may_not(host, action):
    about, reply = host.ask(action)
    assert reply is None
    assert about["cause"] == "crash"
    assert "PermissionError" in about["words"], about


def test_what_a_process_needs_it_may(host):
    assert host.ask("write_inside")[1] == "x"
    assert host.ask("thread")[1] == "threads work"


def test_a_process_has_its_own_descriptors_only(host):
    _, found = host.ask("descriptors")
    assert len(found) == 5  # the standard three, its answer's, and that with which it looks


@pytest.mark.parametrize(
    ("action", "cause"),
    [
        ("eat", "memory"),
        ("endless", "time"),
        ("sleep", "time"),
        ("talk", "output"),
        ("crash", "crash"),
        ("fall", "crash"),
        ("fail", "crash"),
        ("fill_the_disk", "crash"),
    ],
)
def test_a_process_ends_by(host, action, cause):
    about, reply = host.ask(action)
    assert about["cause"] == cause
    assert reply is None


def test_memory_is_refused_to_code_of_others_too(host):
    assert host.ask("eat_in_c")[1] is True


def test_a_channel_takes_one_request_after_the_other(host):
    with host.channel() as own:
        messages.send(own.fileno(), "pid")
        messages.send(own.fileno(), "pid")
        seen = [messages.receive(own.fileno(), MOST, time.monotonic() + 60) for _ in range(2)]
    assert len({one and one[1] for one in seen} - {None}) == 2


def test_a_process_ends_when_its_client_goes(host):
    before = _children(host.process.pid)
    own = host.channel()
    messages.send(own.fileno(), "sleep")
    [pid] = _new_children(host.process.pid, before)
    own.close()
    assert is_gone(pid)


def test_a_request_that_is_none_closes_its_channel_only(host):
    with host.channel() as own:
        own.sendall(b"\xff" * 16)
        assert own.recv(10) == b""
    with host.channel() as own:
        own.sendall(b"\x03" + b"\0" * 7 + b"{x}" + b"\0" * 8)
        assert own.recv(10) == b""
    assert host.ask("thread")[1] == "threads work"


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        ("raise SystemExit(7)", hosting.HostDied, "the host ended with exit code 7"),
        ("input()", hosting.SlowStart, "the host is not ready after 0.5 seconds"),
    ],
)
def test_a_start_that_fails_or_is_slow_is_said(monkeypatch, code, kind, message):
    monkeypatch.setattr(hosting, "_START_S", 0.5)
    own, others = socket.socketpair()
    words = [sys.executable, "-c", code]
    with own, others, subprocess.Popen(words, stdin=subprocess.PIPE) as started:
        if kind is hosting.HostDied:
            started.wait()
            others.shutdown(socket.SHUT_RDWR)
        with pytest.raises(kind, match=message):
            hosting._Process("the host", started, own).wait()
        started.kill()


def test_processes_end_with_their_host(tmp_path):
    host = Host(tmp_path)
    own = host.channel()
    messages.send(own.fileno(), "sleep")
    [pid] = _new_children(host.process.pid, [])
    host.process.send_signal(signal.SIGKILL)
    host.process.wait()
    own.close()
    host.control.close()
    assert is_gone(pid)


def _children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _new_children(pid, before):
    for _ in range(200):
        found = [int(one) for one in _children(pid) if one not in before]
        if found:
            return found
        time.sleep(0.05)
    return []


@pytest.fixture
def server_and_channel():
    """A host in this process, and a channel of it that nobody reads."""
    sockets = [*socket.socketpair(), *socket.socketpair()]
    server = ForkServer(sockets[0], Work(lambda head, body, handles: (head, body), ()), Limits())
    channel = _Channel(sockets[2])
    server._channels.add(channel)
    server._selector.register(channel.socket, 1)
    yield server, channel
    server._selector.close()
    shutil.rmtree(server._folder)
    for one in sockets:
        one.close()


def test_events_that_come_with_the_end_of_a_process_are_late(server_and_channel):
    server, channel = server_and_channel
    server._fork(channel, {}, b"")
    [child] = server._children
    assert select.select([child.exit], [], [], 60)[0]
    server._reap(child)
    assert child.reply
    assert not server._collect(child)


def test_events_that_come_with_the_end_of_a_channel_are_late(server_and_channel):
    server, channel = server_and_channel
    server._drop(channel)
    server._serve(channel, 1)
    assert not server._channels
