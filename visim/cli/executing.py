"""The verb that runs unmodified programs: exec."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from visim.errors import ArgumentError

if TYPE_CHECKING:
    from visim.device.models import Model

_ENGINES = ("jit", "interpreter")


@click.command("exec", context_settings={"ignore_unknown_options": True})
@click.option("--device", default="bmg", metavar="D[,D...]", help="The GPUs to emulate (bmg).")
@click.option("--engine", type=click.Choice(_ENGINES), help="The fastest if not given.")
@click.option("--report", type=click.Path(dir_okay=False), help="Write a JSON file at the end.")
@click.option("--print-env", is_flag=True, help="Print the variables that it sets, and stop.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="PROGRAM [ARGUMENTS]...")
def exec_program(
    *,
    device: str,
    engine: str | None,
    report: str | None,
    print_env: bool,
    words: tuple[str, ...],
) -> None:
    """Run an OpenCL or Level Zero program as it is, with its kernels on visim.

    The program finds Intel's GPU driver and the emulated GPUs instead of those of this machine.
    Put -- before PROGRAM.
    """
    from visim.device.driver import find_driver
    from visim.device.environment import command, variables

    models, driver = _models(device), find_driver()
    found = variables(models, driver) | _chosen(engine, report)
    if print_env:
        for name, value in found.items():
            click.echo(f"export {name}={shlex.quote(value)}")
        return
    if not words:
        raise ArgumentError("PROGRAM: say which program to run, after --")
    started = command(words, driver)
    os.execve(started[0], started, {**os.environ, **found})


def _models(names: str) -> list[Model]:
    """Return the models that a list names; ArgumentError if there is none such."""
    from visim.device.models import MODELS, model

    found: list[Model] = []
    for name in names.split(","):
        one = model(name.strip().lower())
        if one is None:
            known = ", ".join(model.name for model in MODELS)
            raise ArgumentError(f"--device: there is no GPU {name!r} to emulate; known: {known}")
        found.append(one)
    return found


def _chosen(engine: str | None, report: str | None) -> dict[str, str]:
    """Return the variables that stand for options."""
    found: dict[str, str] = {}
    if engine is not None:
        found["VISIM_ENGINE"] = engine
    if report is not None:
        found["VISIM_REPORT"] = str(Path(report).absolute())
    return found
