"""What all verbs keep to: options that mean the same everywhere, and how JSON is printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from visim.cli import completing, examples
from visim.errors import ArgumentError, Correction
from visim.lex import nearest
from visim.target import ARCHITECTURES, COMMON, PLATFORMS, known_names
from visim.target import platform as find_platform


def _listed(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


EXAMPLE_DEVICE = "pvc"
"""What corrected commands name where no device was named."""
DEVICES = _listed(platform.name for platform in PLATFORMS)
GENERATIONS = _listed(ARCHITECTURES)


class _ExistingFile(click.Path):
    """A file that is there, - for the standard input, or example:NAME.

    Args:
        of_example: gives the file that an example stands for.
    """

    def __init__(self, of_example: Callable[[str], str]) -> None:
        super().__init__(exists=True, dir_okay=False, allow_dash=True)
        self._of_example = of_example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the file's name, or say which one was probably meant."""
        if ctx is not None and ctx.resilient_parsing:
            return value
        if str(value).startswith(examples.PREFIX) and not Path(value).exists():
            return self._of_example(str(value).removeprefix(examples.PREFIX))
        path = Path(value)
        try:
            present = path.exists()
            others = [] if present else [one.name for one in path.parent.iterdir()]
        except (OSError, ValueError):
            return super().convert(value, param, ctx)
        if present and (path / "launch.toml").is_file():
            meant = str(path / "launch.toml")
            correction = Correction(misspelt=((str(value), meant),))
            raise ArgumentError(f"{value} is a folder; did you mean {meant}?", correction)
        if present or value == "-":
            return super().convert(value, param, ctx)
        near = nearest(path.name, others)
        if near is None:
            raise ArgumentError(f"there is no file {value}")
        meant = str(path.parent / near)
        message = f"there is no file {value}; did you mean {meant}?"
        raise ArgumentError(message, Correction(misspelt=((str(value), meant),)))


def _known_device(_ctx: click.Context, _param: click.Parameter, name: str | None) -> str | None:
    """Return a device's name, or say which one was probably meant."""
    if name is None:
        return None
    try:
        find_platform(name)
    except ArgumentError as error:
        near = nearest(name.lower(), known_names())
        if near is None:
            raise
        correction = Correction(misspelt=((name, near),))
        raise ArgumentError(f"{error}; did you mean {near!r}?", correction) from None
    return name


INPUT = _ExistingFile(examples.program_of)
LAUNCH = _ExistingFile(examples.launch_of)
"""What can be launched: a program, or a launch.toml."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
DEVICE_FLAGS = ("--device", "--platform", "--arch")
"""One option under the names that other tools have for it; the first is the one in texts."""
platform_option = click.option(
    *DEVICE_FLAGS,
    "platform",
    metavar="D",
    help=f"The device: {DEVICES}.",
    shell_complete=completing.devices,
    callback=_known_device,
)
required_device_option = click.option(
    *DEVICE_FLAGS,
    "device",
    required=True,
    metavar="D",
    help=f"The device: {DEVICES}.",
    shell_complete=completing.devices,
    callback=_known_device,
)
options_option = click.option(
    "--options", metavar="S", help="OpenCL C: options of the compiler, such as -DN=4."
)
strict_option = click.option(
    "--strict", is_flag=True, help="Refuse directives that only visim has."
)
version_option = click.option(
    "--isa-version", default=COMMON, metavar="V", help="The object's version: 3.0 to 4.2 (4.1)."
)


SCHEMA_VERSION = 1
"""The version of the forms that --json prints (docs/json.md); it grows when a key goes."""


def print_json(form: Mapping[str, object]) -> None:
    """Print one object, as --json promises: its version first, unless it has another schema."""
    versioned = form if "$schema" in form else {"schema_version": SCHEMA_VERSION, **form}
    click.echo(json.dumps(versioned, indent=2))
