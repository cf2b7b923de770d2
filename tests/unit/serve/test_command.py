"""`visim serve` as a process: how it starts and ends, and what its processes know."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.unit.children import is_gone
from tests.unit.serve.requests import SAXPY, case
from visim.cli import main
from visim.serve.client import Client

SECRET = "this is nobody's business"


def start(*words):
    environment = {**os.environ, "VISIM_SERVE_TOKEN": SECRET, "AWS_SECRET": SECRET}
    return subprocess.Popen(
        [sys.executable, "-m", "visim", "serve", "--workers", "1", *words],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )


def family(pid):
    """Return all processes that `pid` has started, and those that they have, as they are now."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # The thread may have ended since it was listed.
            for child in (task / "children").read_text().split():
                found += [int(child), *family(int(child))]
    return found


def wait_for(server):
    line = server.stderr.readline()
    assert line.startswith("serving at "), line
    return line


def end(server):
    server.kill()
    server.wait()
    server.stderr.close()


def test_its_processes_know_no_secrets_and_end_with_it(tmp_path):
    path = tmp_path / "s"
    server = start("--socket", str(path))
    try:
        wait_for(server)
        pids = family(server.pid)
        assert pids
        for pid in pids:
            environment = Path(f"/proc/{pid}/environ").read_text()
            assert SECRET not in environment
            assert "HOME=" not in environment
        with Client(path) as client:
            request = {"program": SAXPY, "cases": [case(64)]}
            assert client.call("run", request)["verdict"] == "fine"
            os.kill(pids[-1], signal.SIGKILL)  # a host that is gone is started again
            request["cases"] = [case(65)]
            assert client.call("run", request)["verdict"] == "fine"
        pids += family(server.pid)
    finally:
        end(server)
    assert all(is_gone(pid) for pid in pids)


def test_a_signal_ends_it_and_its_socket(tmp_path):
    path = tmp_path / "s"
    server = start("--socket", str(path))
    try:
        wait_for(server)
        pids = family(server.pid)
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    finally:
        end(server)
    assert not path.exists()
    assert all(is_gone(pid) for pid in pids)


def test_a_port_is_served_with_the_token():
    server = start("--port", "0")
    try:
        found = re.search(r"http://127.0.0.1:(\d+)", wait_for(server))
        with Client(("127.0.0.1", int(found[1])), token=SECRET) as client:
            assert client.health()["workers"] == 1
    finally:
        end(server)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--port", "0", "--host", "0.0.0.0"], "set VISIM_SERVE_TOKEN"),
        (["--port", "0", "--socket", "s"], "exclude each other"),
        ([], "--socket is missing"),
        (["--socket", "s", "--seconds", "0"], "--seconds: expected"),
        (["--socket", "s", "--memory", "1"], "--memory: expected"),
        (["--socket", "no/folder/s"], "no/folder/s"),
    ],
)
def test_wrong_options_are_said(monkeypatch, tmp_path, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    for name in ("VISIM_SERVE_TOKEN", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert main(["serve", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_short_token_is_refused(monkeypatch, capsys):
    monkeypatch.setenv("VISIM_SERVE_TOKEN", "short")
    assert main(["serve", "--port", "0"]) == 2
    assert "at least 16" in capsys.readouterr().err


def test_the_health_says_what_was_done(oracle):
    before = oracle.facts()["answered"]
    oracle.call("explain", {"code": "oob-read", "line": int(time.time()) % 1000 + 1})
    assert oracle.facts()["answered"] >= before
