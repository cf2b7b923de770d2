"""`visim dump-ir`: what the JIT makes of a kernel before it writes code, as text."""

from __future__ import annotations

import click

from visim.cli.conventions import INPUT, options_option, platform_option


@click.command(name="dump-ir")
@click.argument("file", type=INPUT)
@click.option("--kernel", "-k", metavar="NAME", help="The kernel; all without.")
@click.option("--after", metavar="PASS", help="The pass behind which it is shown; else the last.")
@platform_option
@options_option
def dump_ir(
    file: str, kernel: str | None, after: str | None, platform: str | None, options: str | None
) -> None:
    """Print the JIT's representation of kernels, MIR.

    `--after lift` shows it as it is made of the instructions, before any pass.
    """
    from visim.cli.files import load_program

    program = load_program(file, platform, options=options)
    chosen = program.kernels if kernel is None else (program[kernel],)
    click.echo("\n".join(one.ir(after=after) for one in chosen), nl=False)


__all__ = ["dump_ir"]
