"""The front over HTTP: who is admitted, what is refused and how, and that it goes on."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.unit.serve.requests import SAXPY, case
from visim.errors import ArgumentError
from visim.serve.client import Client, Refusal
from visim.serve.http import HttpFront, listen_tcp, listen_unix, read_json
from visim.serve.shapes import RequestError

TOKEN = "a token of these tests"


class _Serving:
    def __init__(self, oracle, listening, token=None):
        self.front = HttpFront(oracle, listening, token)
        self.thread = threading.Thread(target=self.front.serve)

    def __enter__(self):
        self.thread.start()
        return self.front.address

    def __exit__(self, *_):
        self.front.stop()
        self.thread.join()


@pytest.fixture
def served(oracle, tmp_path):
    """The path of the Unix socket of a server."""
    path = tmp_path / "visim.sock"
    with _Serving(oracle, listen_unix(path)):
        yield path


def raw(path, data, *, wait=5.0):
    """Return what comes back for bytes, until the server closes or is silent."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(wait)
        connection.connect(str(path))
        answer = b""
        with suppress(BrokenPipeError, ConnectionResetError):  # some are turned away unheard
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                answer += piece
        return answer


def test_a_client_asks_for_several_answers_on_one_connection(served):
    with Client(served) as client:
        assert client.call("run", {"program": SAXPY, "cases": [case(64)]})["verdict"] == "fine"
        assert client.call("explain", {"code": "race-local"})["verdict"] == "fine"
        assert "run" in {tool["name"] for tool in client.tools()}
        assert client.health()["workers"] == 2


def test_the_socket_is_this_users_only(served):
    assert served.stat().st_mode & 0o777 == 0o600


def test_a_second_server_does_not_take_the_socket(served):
    with pytest.raises(ArgumentError, match="runs at"):
        listen_unix(served)


def test_what_is_left_of_a_server_is_replaced(tmp_path):
    path = tmp_path / "old.sock"
    listen_unix(path).close()
    listen_unix(path).close()
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="no socket"):
        listen_unix(tmp_path / "file")


def test_a_wrong_field_is_named(served):
    with Client(served) as client, pytest.raises(Refusal) as refused:
        client.call("run", {"program": SAXPY, "cases": [{"args": {"x": "npy:/etc/passwd"}}]})
    assert refused.value.status == 400
    assert refused.value.path == "cases[0].args.x"


def test_a_port_wants_the_token(oracle):
    with _Serving(oracle, listen_tcp("127.0.0.1", 0), TOKEN) as address:
        for token in (None, "another"):
            with Client(address, token=token) as client, pytest.raises(Refusal) as refused:
                client.health()
            assert refused.value.status == 401
        with Client(address, token=TOKEN) as client:
            assert client.health()["workers"] == 2


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"POST /v1/run HTTP/1.1\r\n\r\n", 411),
        (b"POST /v1/run HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 411),
        (b"POST /v1/run HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST /v1/run HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"POST /v1/run HTTP/1.1\r\nContent-Length: 9\r\n\r\n{}", 400),
        (b"POST /v1/run HTTP/1.1\r\nContent-Length: 1\r\n\r\n{", 400),
        (b"POST /v1/judge HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 404),
        (b"POST /other HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 404),
        (b"GET /v1/run HTTP/1.1\r\n\r\n", 404),
        (b"PUT /v1/run HTTP/1.1\r\n\r\n", 501),
        (b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET /v1/tools HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
    ],
)
def test_requests_that_are_none_are_refused_as_json(served, request_, status):
    head, _, body = raw(served, request_).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), head
    assert json.loads(body)["error"]["message"]


def test_a_request_that_comes_too_slowly_is_given_up(oracle, tmp_path):
    limits = replace(oracle.limits, receiving=0.3)
    hasty = SimpleNamespace(limits=limits, facts=oracle.facts, call=oracle.call)
    with _Serving(hasty, listen_unix(tmp_path / "s")), socket.socket(socket.AF_UNIX) as slow:
        slow.connect(str(tmp_path / "s"))
        slow.sendall(b"POST /v1/run HTTP/1.1\r\nContent-Length: 9\r\n\r\n")
        slow.settimeout(20)
        began = time.monotonic()
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 15


def test_idle_connections_give_way_to_new_ones(oracle, tmp_path):
    limits = replace(oracle.limits, connections=3)
    full = SimpleNamespace(limits=limits, facts=dict)
    listening = listen_tcp("127.0.0.1", 0)
    with _Serving(full, listening, TOKEN) as address, ExitStack() as held:
        known = held.enter_context(Client(address, token=TOKEN))
        assert known.health() == {}
        sockets = [held.enter_context(socket.create_connection(address)) for _ in range(9)]
        with Client(address, token=TOKEN) as other:
            assert other.health() == {}
        assert known.health() == {}
        for one in sockets[:7]:
            one.settimeout(5)
            assert one.recv(1) == b""


def test_who_asks_nothing_does_not_stay(oracle, tmp_path):
    limits = replace(oracle.limits, receiving=0.2)
    with _Serving(SimpleNamespace(limits=limits, facts=dict), listen_unix(tmp_path / "s")):
        begin = time.monotonic()
        assert raw_idle(tmp_path / "s") == b""
        assert time.monotonic() - begin < 30
        with Client(tmp_path / "s") as client:
            assert client.health() == {}
            time.sleep(0.6)
            assert client.health() == {}


def raw_idle(path):
    """Return what comes for nothing."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(path))
        return connection.recv(1)


def test_a_client_asks_again_where_the_server_has_ended_its_connection(served):
    with Client(served) as client:
        before = client.health()
        client._connection.sock.shutdown(socket.SHUT_RDWR)
        assert client.health() == before


def test_more_connections_than_may_be_are_turned_away(oracle, tmp_path):
    limits = replace(oracle.limits, connections=2)
    small = SimpleNamespace(limits=limits, facts=oracle.facts, call=oracle.call)
    with _Serving(small, listen_unix(tmp_path / "s")):
        with ExitStack() as held:
            for _ in range(2):
                one = held.enter_context(socket.socket(socket.AF_UNIX))
                one.connect(str(tmp_path / "s"))
                one.sendall(b"GET")  # whose request has begun gives no way
            time.sleep(0.5)
            assert raw(tmp_path / "s", b"").startswith(b"HTTP/1.1 503 ")
            with pytest.raises(Refusal, match="Service Unavailable"):
                Client(tmp_path / "s").health()
        for _ in range(50):  # the places come back
            if raw(tmp_path / "s", b"GET /v1/health HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200"):
                break
            time.sleep(0.1)
        else:
            pytest.fail("no place came back")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b"\xff",
        b"[" * 100_000,
        b"1" * 10_000,
        b'"\\ud800"x',
    ],
)
def test_what_is_no_json_is_said(data):
    with pytest.raises(RequestError):
        read_json(data)
