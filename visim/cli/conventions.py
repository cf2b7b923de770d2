"""What all verbs keep to: options that mean the same everywhere, and how JSON is printed."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from visim.target import ARCHITECTURES, NEWEST, PLATFORMS


def _listed(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


DEVICES = _listed(platform.name for platform in PLATFORMS)
GENERATIONS = _listed(ARCHITECTURES)
INPUT = click.Path(exists=True, dir_okay=False, allow_dash=True)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
platform_option = click.option("--platform", metavar="P", help=f"The device: {DEVICES}.")
strict_option = click.option(
    "--strict", is_flag=True, help="Refuse directives that only visim has."
)
version_option = click.option(
    "--isa-version", default=NEWEST, metavar="V", help="The object's version: 3.0 to 4.1 (4.1)."
)


def print_json(form: object) -> None:
    """Print one object, as --json promises."""
    click.echo(json.dumps(form, indent=2))
