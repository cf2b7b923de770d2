"""The verb that runs unmodified programs: exec."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from visim.cli import completing
from visim.errors import ArgumentError

if TYPE_CHECKING:
    from visim.device.driver import Driver
    from visim.device.models import Model

_ENGINES = ("jit", "interpreter")


@click.command("exec", context_settings={"ignore_unknown_options": True})
@click.option("--device", default="bmg", metavar="D[,D...]", help="The GPUs to emulate (bmg).")
@click.option("--engine", type=click.Choice(_ENGINES), help="The fastest if not given.")
@click.option("--report", type=click.Path(dir_okay=False), help="Write a JSON file at the end.")
@click.option(
    "--sanitize",
    multiple=True,
    metavar="NAMES",
    help="Find what is wrong: races, uninit, bounds, barriers or all.",
    shell_complete=completing.one_of("races", "uninit", "bounds", "barriers", "all"),
)
@click.option(
    "--record",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write each launch down: DIR/0001.toml, ..., for visim run.",
)
@click.option(
    "--debug",
    is_flag=False,
    flag_value="",
    metavar="[KERNEL]",
    help="Debug the launch that faults, or the first one; of a kernel, if named.",
)
@click.option("--print-env", is_flag=True, help="Print the variables that it sets, and stop.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="PROGRAM [ARGUMENTS]...")
def exec_program(
    *,
    device: str,
    engine: str | None,
    report: str | None,
    sanitize: tuple[str, ...],
    record: str | None,
    debug: str | None,
    print_env: bool,
    words: tuple[str, ...],
) -> int:
    """Run an OpenCL or Level Zero program as it is, with its kernels on visim.

    The program finds Intel's GPU driver and the emulated GPUs instead of those of this machine.
    Put -- before PROGRAM. The exit code is the program's, or 1 if that was 0 and a sanitizer
    found an error or a warning. VISIM_DRIVER names the folder of another driver, such as Debian's.
    """
    from visim.device.driver import find_driver
    from visim.device.environment import variables
    from visim.device.programs import command, program_of
    from visim.device.waiting import run_watched
    from visim.sanitize.kinds import read_sanitize

    models, driver = _models(device), find_driver()
    _refuse_unknown(models, driver)
    names = read_sanitize(",".join(sanitize) if sanitize else None)
    is_watched = bool(names) or record is not None or debug is not None
    found = variables(models, driver, is_watched=is_watched)
    found |= _chosen(engine, report, record, names)
    if print_env:
        for name, value in found.items():
            click.echo(f"export {name}={shlex.quote(value)}")
        return 0
    if not words:
        raise ArgumentError("PROGRAM: say which program to run, after --")
    started = command(words, driver)
    _make_outputs(report, record)
    environment = {**os.environ, **found, "VISIM_PROGRAM": program_of(started)}
    if debug is not None:
        from visim.cli.debugging_programs import debug_program

        return debug_program(started, environment, debug, record, words[0])
    if not names:
        os.execve(started[0], started, environment)
    return run_watched(started, environment)


def _models(names: str) -> list[Model]:
    """Return the models that a list names; ArgumentError if there is none such."""
    from visim.device.models import MODELS, model
    from visim.lex import nearest

    found: list[Model] = []
    for name in names.split(","):
        one = model(name.strip().lower())
        if one is None:
            known = [model.name for model in MODELS]
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
            raise ArgumentError(f"--device: there is no GPU {name!r} to emulate; {hint}")
        found.append(one)
    return found


def _refuse_unknown(models: Sequence[Model], driver: Driver) -> None:
    """Refuse GPUs that an old driver does not have: programs would see none, without a reason."""
    unknown = [one.name for one in models if not driver.knows(one)]
    if unknown:
        raise ArgumentError(
            f"--device: the driver in {driver.folder} is one for i915 and has no "
            f"{' and no '.join(unknown)}, only {', '.join(one.name for one in driver.known)}; "
            "visim toolchain install driver brings one that has all GPUs"
        )


def _make_outputs(report: str | None, record: str | None) -> None:
    """Make an empty report and the folder for launches; ArgumentError if that cannot be.

    Otherwise users would learn of it when the program has run.
    """
    from visim.device.reports import add_to_file

    try:
        if report is not None:
            Path(report).unlink(missing_ok=True)
            add_to_file(Path(report), [])
    except OSError as error:
        raise ArgumentError(f"--report: {report} cannot be written: {error.strerror}") from error
    if record is None:
        return
    try:
        Path(record).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=record):
            pass
    except OSError as error:
        raise ArgumentError(
            f"--record: nothing can be written into {record}: {error.strerror}"
        ) from error


def _chosen(
    engine: str | None, report: str | None, record: str | None, sanitizers: Sequence[str]
) -> dict[str, str]:
    """Return the variables that stand for options."""
    found: dict[str, str] = {}
    if engine is not None:
        found["VISIM_ENGINE"] = engine
    if report is not None:
        found["VISIM_REPORT"] = str(Path(report).absolute())
    if record is not None:
        found["VISIM_RECORD"] = str(Path(record).absolute())
    if sanitizers:
        found["VISIM_SANITIZE"] = ",".join(sanitizers)
    return found
