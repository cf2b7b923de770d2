"""What mkdocs asks while it builds the site: the page of commands is made of the commands.

mkdocs.yml names this file as a hook. Nothing that changes with an option stands in the repository
twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from visim.cli.app import app

MARK = "<!-- The commands stand here on the site. -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with the commands where it wants them."""
    return markdown.replace(MARK, "\n".join(commands())) if MARK in markdown else markdown


def commands() -> Iterator[str]:
    """Yield the lines that describe all commands."""
    for name, command in app.commands.items():
        yield from _command((name,), command)


def _command(names: tuple[str, ...], command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=" ".join(("visim", *names)))
    yield f"{'#' * (1 + len(names))} visim {' '.join(names)}"
    yield ""
    yield "```text"
    yield from _help(command, context).splitlines()
    yield "```"
    yield ""
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _command((*names, name), below)


def _help(command: click.Command, context: click.Context) -> str:
    formatter = click.HelpFormatter(width=96)
    command.format_help(context, formatter)
    return formatter.getvalue().rstrip()
