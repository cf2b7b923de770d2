"""What mkdocs asks while it builds the site; mkdocs.yml names this file as a hook.

The page of commands is made of the commands, and links that leave docs/ become words.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

import click

from visim.cli.app import app

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)[^)\s]*\)")
MARK = "<!-- The commands stand here on the site. -->"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page as the site has it.

    Args:
        markdown: the page's text.
        page: the page; `page.file.src_uri` is its path in docs/.
    """
    text = with_links_of_the_site(markdown, page.file.src_uri)
    return text.replace(MARK, "\n".join(commands())) if MARK in text else text


def with_links_of_the_site(markdown: str, path: str) -> str:
    """Return a page whose links lead to pages; of files beside docs/ it has the names alone."""

    def replaced(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link["target"]))
        if "://" in link["target"] or not target.startswith("../"):
            return link[0]
        return f"{link['text']} (`{target.removeprefix('../')}` in the repository)"

    return _LINK.sub(replaced, markdown)


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
