"""The verbs of the debugger: debug and dap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from visim.cli.conventions import json_option, platform_option, print_json
from visim.cli.launching import given_options, launching
from visim.errors import ArgumentError

if TYPE_CHECKING:
    from visim.cli.options import RunOptions
    from visim.cli.run import Prepared
    from visim.debug.session import Session

_OF_CLIENTS = {
    *("type", "request", "name", "program", "stopOnEntry", "stopAtEnd", "atFault", "noDebug"),
    *("preLaunchTask", "postDebugTask", "internalConsoleOptions", "presentation", "cwd"),
}
"""Keys of a client's launch request that are not options of visim run."""


@click.command(epilog="help at the prompt lists the commands; docs/debug.md explains them.")
@platform_option
@launching
@click.option("--command", "-c", "commands", multiple=True, metavar="C", help="A command; repeat.")
@click.option("--script", metavar="FILE", help="Commands, one a line; - is the standard input.")
@click.option("--at-fault", is_flag=True, help="Run at full speed to where the launch faults.")
@json_option
def debug(
    file: str,
    *,
    as_json: bool,
    commands: tuple[str, ...],
    script: str | None,
    at_fault: bool,
    **given: Any,
) -> int:
    """Stop a kernel of FILE anywhere, look at everything, and go back.

    Takes the options of visim run. With --command or --script it does what these say and ends.
    """
    from visim.cli.files import read_text
    from visim.cli.options import read_options
    from visim.cli.run import prepare, write_outputs
    from visim.debug.fronts.prompt import Talk, interactive, run_lines

    options = read_options(file, given_options(given))
    prepared = prepare(options)

    def receive(text: str) -> None:
        click.echo(text, nl=False, err=as_json)

    session = _session(options, prepared, receive)
    talk = Talk(session, (lambda _: None) if as_json else click.echo)
    lines = [*commands]
    if script is not None:
        lines += read_text(script).splitlines()
    if at_fault:
        lines.insert(0, "fault")
    is_script = bool(commands) or script is not None
    goes_on = run_lines(talk, lines)
    if goes_on and not is_script:
        if sys.stdin.isatty():
            interactive(talk, session)
        else:
            run_lines(talk, (line.rstrip("\n") for line in sys.stdin))
    if as_json:
        print_json({"commands": talk.log})
    write_outputs(options, prepared)
    return 2 if talk.failed and (is_script or not sys.stdin.isatty()) else 0


@click.command()
@click.option("--port", type=int, metavar="N", help="Wait for one client at a port; 0 chooses it.")
def dap(*, port: int | None) -> None:
    """Speak the Debug Adapter Protocol: debug kernels in an editor.

    On the standard streams, or at a port of this machine. A client's launch request has the key
    program and the options of visim run; docs/debug.md says how editors are set up.
    """
    from visim.debug.fronts.adapter import serve, serve_port
    from visim.debug.fronts.wire import Wire

    if port is None:
        serve(Wire(sys.stdin.buffer, sys.stdout.buffer), launched)
        return
    serve_port(port, launched, lambda chosen: click.echo(f"port {chosen}", err=True))


def launched(given: Mapping[str, Any], receive: Callable[[str], None]) -> Session:
    """Return the session that a client's launch request asks for."""
    from visim.cli.options import read_options
    from visim.cli.run import prepare

    if not isinstance(given.get("program"), str):
        raise ArgumentError("launch: the key program, the file to debug, is missing")
    chosen = {
        key: value
        for key, value in given.items()
        if key not in _OF_CLIENTS and not key.startswith("__")
    }
    options = read_options(given["program"], chosen)
    return _session(options, prepare(options), receive)


def _session(options: RunOptions, prepared: Prepared, receive: Callable[[str], None]) -> Session:
    from visim.debug.session import Session

    launch: dict[str, Any] = dict(options.launch)
    if prepared.surfaces:
        launch["surfaces"] = prepared.surfaces
    if prepared.samplers:
        launch["samplers"] = prepared.samplers
    return Session(prepared.kernel, prepared.values, launch, receive)
