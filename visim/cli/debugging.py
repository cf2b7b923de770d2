"""The verbs of the debugger: debug and dap."""

from __future__ import annotations

import sys
from typing import Any

import click

from visim.cli.conventions import json_option, platform_option, print_json
from visim.cli.launching import given_options, launching


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
    from visim.debug.session import Session

    options = read_options(file, given_options(given))
    prepared = prepare(options)
    launch: dict[str, Any] = dict(options.launch)
    if prepared.surfaces:
        launch["surfaces"] = prepared.surfaces
    if prepared.samplers:
        launch["samplers"] = prepared.samplers

    def receive(text: str) -> None:
        click.echo(text, nl=False, err=as_json)

    session = Session(prepared.kernel, prepared.values, launch, receive)
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
