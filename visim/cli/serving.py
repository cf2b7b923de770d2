"""The verbs of the oracle: serve and mcp."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from visim.errors import ArgumentError, Correction

if TYPE_CHECKING:
    from visim.serve.http import HttpFront
    from visim.serve.limits import ServerLimits
    from visim.serve.oracle import Oracle

_TOKEN = "VISIM_SERVE_TOKEN"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SHORTEST_TOKEN = 16

_limits = (
    click.option("--workers", type=click.IntRange(1, 256), help="Requests worked on at a time."),
    click.option("--seconds", type=float, metavar="S", help="What a request may take (20)."),
    click.option("--memory", type=int, metavar="MB", help="Of memory, likewise (1024)."),
)


def _limited(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_limits):
        command = option(command)
    return command


@click.command()
@click.option("--socket", "path", metavar="PATH", help="The Unix socket; in $XDG_RUNTIME_DIR.")
@click.option("--port", type=click.IntRange(0, 65535), help="A TCP port instead; 0 chooses it.")
@click.option("--host", metavar="ADDRESS", help="The address of the port; 127.0.0.1.")
@_limited
def serve(
    path: str | None,
    port: int | None,
    host: str | None,
    workers: int | None,
    seconds: float | None,
    memory: int | None,
) -> None:
    """Judge kernels for programs that write them: HTTP with JSON, on a Unix socket.

    A port wants the token in VISIM_SERVE_TOKEN as Authorization: Bearer TOKEN; on this machine's
    own address one is made and printed if there is none. docs/serve.md has the tools.
    """
    from visim.serve.http import HttpFront, listen_tcp, listen_unix

    if path is not None and port is not None:
        raise ArgumentError("--socket and --port exclude each other: give one of them")
    if host is not None and port is None:
        message = "--host is the address of a port: say which with --port"
        raise ArgumentError(message, Correction(missing=(("port", "8080"),)))
    host = host or _LOOPBACK[0]
    token = None if port is None else _token(host)
    place: Path | None = None
    if port is None:
        place = Path(path) if path is not None else _default_socket()
    listening = listen_tcp(host, port or 0) if place is None else listen_unix(place)
    try:
        with _oracle(workers, seconds, memory) as oracle:
            front = HttpFront(oracle, listening, token)
            chosen = f"http://{host}:{front.address[1]}" if place is None else f"unix:{place}"
            _until_ended(front, f"serving at {chosen}")
    finally:
        listening.close()
        if place is not None:
            place.unlink(missing_ok=True)


@click.command()
@_limited
def mcp(workers: int | None, seconds: float | None, memory: int | None) -> None:
    """Judge kernels for agents that write them: MCP on the standard streams.

    Needs the package mcp: pip install 'visim[mcp]'. docs/serve.md says how agents are set up.
    """
    from visim.serve.mcp import require
    from visim.serve.mcp import serve as serve_mcp

    require()
    with _oracle(workers, seconds, memory) as oracle:
        serve_mcp(oracle)


@contextlib.contextmanager
def _oracle(workers: int | None, seconds: float | None, memory: int | None) -> Generator[Oracle]:
    from visim.serve.oracle import Oracle

    with Oracle(workers=workers, limits=_read_limits(seconds, memory)) as oracle:
        yield oracle


def _read_limits(seconds: float | None, memory: int | None) -> ServerLimits:
    from dataclasses import replace

    from visim.serve.limits import MEGABYTE, ServerLimits

    limits = ServerLimits()
    job, build = limits.job, limits.build
    if seconds is not None:
        if not 1 <= seconds <= 3600:
            raise ArgumentError(f"--seconds: expected 1 to 3600, found {seconds:g}")
        job, build = replace(job, seconds=seconds), replace(build, seconds=seconds)
    if memory is not None:
        if memory < 64:
            raise ArgumentError(f"--memory: expected at least 64 megabytes, found {memory}")
        job = replace(job, memory=memory * MEGABYTE)
    return replace(limits, job=job, build=build)


def _token(host: str) -> str:
    given = os.environ.get(_TOKEN)
    if given is not None:
        if len(given) < _SHORTEST_TOKEN or not given.isascii():
            raise ArgumentError(f"{_TOKEN}: expected at least {_SHORTEST_TOKEN} ASCII characters")
        return given
    if host not in _LOOPBACK:
        raise ArgumentError(f"--host {host}: others can reach it: set {_TOKEN} to a long secret")
    made = secrets.token_urlsafe(24)
    click.echo(f"{_TOKEN}={made}", err=True)
    return made


def _default_socket() -> Path:
    folder = os.environ.get("XDG_RUNTIME_DIR")
    if folder is None:
        raise ArgumentError("--socket is missing: XDG_RUNTIME_DIR names no folder for it")
    return Path(folder, "visim.sock")


def _until_ended(front: HttpFront, announcement: str) -> None:
    """Serve until the process is told to end."""
    ended, tell = os.pipe()

    def hear(*_: object) -> None:
        os.write(tell, b"x")

    def serve_all() -> None:
        try:
            front.serve()
        finally:
            hear()

    thread = threading.Thread(target=serve_all, name="http")
    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    thread.start()
    click.echo(announcement, err=True)
    os.read(ended, 1)
    front.stop()
    thread.join()
    for number, handler in before.items():
        signal.signal(number, handler)
    os.close(ended)
    os.close(tell)
