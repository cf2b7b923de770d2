"""The verbs of the debugger: debug, dap and diff-trace."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from visim.cli.conventions import INPUT, json_option, platform_option, print_json
from visim.cli.launching import given_options, launching
from visim.errors import ArgumentError

if TYPE_CHECKING:
    from visim.debug.session import Session

_OF_CLIENTS = {
    *("type", "request", "name", "program", "stopOnEntry", "stopAtEnd", "atFault", "noDebug"),
    "notes",
    *("preLaunchTask", "postDebugTask", "internalConsoleOptions", "presentation", "cwd"),
}
"""Keys of a client's launch request that are not options of visim run."""


@click.command(epilog="help at the prompt lists the commands; docs/debug.md explains them.")
@platform_option
@launching
@click.option("--command", "-c", "commands", multiple=True, metavar="C", help="A command; repeat.")
@click.option("--script", metavar="FILE", help="Commands, one a line; - is the standard input.")
@click.option("--at-fault", is_flag=True, help="Run at full speed to where the launch faults.")
@click.option("--notes", metavar="DIR", help="The compiler's notes on variables (*.dbg).")
@json_option
def debug(
    file: str,
    *,
    notes: str | None,
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
    from visim.cli.run import prepare, write_outputs
    from visim.cli.tracing import session_of
    from visim.debug.fronts.prompt import Talk, interactive, run_lines
    from visim.runtime.files.run_options import read_options

    options = read_options(file, given_options(given))
    prepared = prepare(options, variables=True)

    def receive(text: str) -> None:
        click.echo(text, nl=False, err=as_json)

    session = session_of(options, prepared, receive, notes)
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
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Wait for one client at a port; 0 chooses it.",
)
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
    from visim.cli.run import prepare
    from visim.cli.tracing import session_of
    from visim.runtime.files.run_options import read_options

    if not isinstance(given.get("program"), str):
        raise ArgumentError("launch: the key program, the file to debug, is missing")
    chosen = {
        key: value
        for key, value in given.items()
        if key not in _OF_CLIENTS and not key.startswith("__")
    }
    options = read_options(given["program"], chosen)
    notes = given.get("notes")
    if notes is not None and not isinstance(notes, str):
        raise ArgumentError("launch: notes is the name of a folder")
    return session_of(options, prepare(options, variables=True), receive, notes)


@click.command("diff-trace")
@click.argument("first", type=INPUT)
@click.argument("second", type=INPUT)
@click.option(
    "--rtol", type=float, default=0.0, metavar="R", help="Numbers within R times are alike."
)
@json_option
def diff_trace(first: str, second: str, *, rtol: float, as_json: bool) -> int:
    """Say where two runs first differ in a value that a work-item writes.

    FIRST and SECOND are traces of visim run --trace: of two devices, engines, compilers or texts.
    The exit code is 1 where they differ.
    """
    from visim.cli.files import read_text
    from visim.cli.tracing import difference_lines, difference_to_dict
    from visim.debug.tracing import compare, read_trace

    traces = [read_trace(read_text(file), file) for file in (first, second)]
    found = compare(traces[0], traces[1], rtol)
    if as_json:
        print_json(difference_to_dict(found))
    else:
        count = sum(len(writes) for writes in traces[0].values())
        for line in difference_lines(found, first, second, count):
            click.echo(line)
    return 0 if found is None else 1
