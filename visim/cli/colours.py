"""Colours of faults and findings, for terminals; click takes them out where there is none.

Works on the rendered text, so that text and colours cannot say different things.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import click

_BOLD = re.compile(
    r"^(?P<error>(?:error|fault|internal error)(?:\[[^\]]*\])?:)"
    r"|^(?P<warning>warning\[[^\]]*\]:)"
    r"|^(?P<note>note\[[^\]]*\]:)"
    r"|^(?P<place> *-->.*)$"
    r"|^(?P<caret> *\|  *\^+.*)$"
    r"|^(?P<number> *\d* \|)"
    r"|^(?P<help> +(?:= help:|try:))"
    r"|^(?P<fact> += (?:rule:|in |from ))",
    re.MULTILINE,
)
_STYLES: Mapping[str, Mapping[str, str | bool]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "note": {"fg": "blue", "bold": True},
    "place": {"fg": "cyan"},
    "caret": {"fg": "red"},
    "number": {"fg": "cyan"},
    "help": {"fg": "green", "bold": True},
    "fact": {"fg": "cyan"},
}


def coloured(text: str) -> str:
    """Return a rendered error with colours; NO_COLOR in the environment leaves it as it is."""
    return text if os.environ.get("NO_COLOR") else _BOLD.sub(_styled, text)


def _styled(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    style = _STYLES[kind]
    return click.style(match[0], fg=str(style["fg"]), bold=bool(style.get("bold")) or None)
