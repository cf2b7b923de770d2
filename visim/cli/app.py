"""The program `visim`: its verbs, and the exit code of what happens in them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from visim.cli import (
    campaigning,
    completing,
    debugging,
    dumping,
    examining,
    examples,
    executing,
    failures,
    launching,
    serving,
    toolchain,
    translating,
)
from visim.cli.streams import show_anything
from visim.errors import ArgumentError, Correction
from visim.lex import nearest


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: the words after the program's name; None takes them from the process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        click.echo("error: the standard output is closed; redirect it to /dev/null", err=True)
        return failures.WRONG_USE
    show_anything(sys.stdout)
    try:
        result = app.main(words, prog_name="visim", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone; what Python still flushes at exit must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return failures.BROKEN
    except click.Abort as abort:  # what click makes of an interrupt from the keyboard
        interrupt = abort.__cause__ or KeyboardInterrupt()
        return failures.report_failure(interrupt, words)
    except Exception as error:
        return failures.report_failure(error, words)
    return result if isinstance(result, int) else 0


class _Verbs(click.Group):
    """The verbs; one that is not there brings the nearest."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that the first word names."""
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            raise self._unknown(word)
        return super().resolve_command(ctx, args)

    def _unknown(self, word: str) -> ArgumentError:
        near = nearest(word, self.commands)
        if near is not None:
            message = f"there is no verb {word!r}; did you mean {near!r}?"
            return ArgumentError(message, Correction(misspelt=((word, near),)))
        if Path(word).is_file():
            message = f"{word} is a file: say what to do with it, such as visim run {word}"
            return ArgumentError(message)
        return ArgumentError(f"there is no verb {word!r}; visim --help lists all")


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="visim", message="visim %(version)s")
def app() -> None:
    """Run Intel GPU kernels (vISA, zebin, OpenCL C and SPIR-V through ocloc) on any machine."""


for _verb in (
    launching.run,
    launching.time,
    debugging.debug,
    debugging.dap,
    debugging.diff_trace,
    campaigning.campaign,
    executing.exec_program,
    serving.serve,
    serving.mcp,
    translating.asm,
    translating.dis,
    translating.cl,
    translating.link,
    translating.extract,
    translating.smith,
    translating.reduce_program,
    examining.check,
    examining.info,
    examining.doctor,
    examining.cache,
    dumping.dump_ir,
    examples.examples,
    completing.completion,
    toolchain.toolchain,
):
    app.add_command(_verb)
