"""`visim reduce`: what it has done so far, and what it has kept in the end."""

from __future__ import annotations

import sys

import click

from visim.diag import visible
from visim.smith.reduce import Progress, Reduction, reduce


def reduced(text: str, command: str, seconds: float, jobs: int | None) -> str:
    """Return what is left of a text, and tell what the bug is and how far it is."""
    from visim.cli.app import main

    is_shown = sys.stderr.isatty()
    found = reduce(
        text, command, seconds=seconds, jobs=jobs, main=main, told=_tell if is_shown else _be_silent
    )
    click.echo(("\r\x1b[K" if is_shown else "") + visible(_summary(found)), err=True)
    return found.text


def _summary(found: Reduction) -> str:
    done = found.progress
    rate = done.candidates / max(done.seconds, 1e-9)
    took = f"{done.candidates} candidates in {done.seconds:.1f} s ({rate:.0f} a second)"
    return f"{done.lines} of {done.of} lines are left; kept: {found.bug}; {took}"


def _tell(done: Progress) -> None:
    text = f"{done.lines} of {done.of} lines, {done.candidates} candidates, {done.seconds:.0f} s"
    click.echo(f"\r\x1b[K{text}", err=True, nl=False)


def _be_silent(_: Progress) -> None:
    pass
