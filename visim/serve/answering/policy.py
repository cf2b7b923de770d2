"""What texts of strangers may ask of the compiler: no file but those that came with the request.

The compiler's process can open few files anyway; here is said what is wrong with a text or an
option, and it holds on machines whose kernel cannot confine processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from visim.errors import shown
from visim.serve.shapes import RequestError

_ALLOWED = re.compile(
    r"-(?:cl|ze)-[a-zA-Z0-9-]+(?:=[A-Za-z0-9_.,+-]*)?"
    r"|-D[A-Za-z_]\w*(?:\([\w,]*\))?(?:=[^\s\"'\\/]*)?"
    r"|-U[A-Za-z_]\w*"
    r"|-O[0-3s]?|-g|-gline-tables-only|-w|-Werror",
    re.ASCII,
)
_SPACED = re.compile(r"(?<!\S)-([DU])\s+(?=[A-Za-z_])")
_KNOWN = "-D NAME=VALUE, -U NAME, -cl-..., -ze-..., -O0 to -O3, -g, -w and -Werror"
_TRIGRAPHS = (("??=", "#"), ("??/", "\\"))
_SPLICE = re.compile(r"\\[ \t\f\v]*\r?\n")
_TOKENS = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)"  # comments
    r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?",  # texts and characters
    re.DOTALL,
)
_DIRECTIVE = re.compile(
    r"(?:^|\n)[ \t\f\v\r]*(?:\#|%:)[ \t\f\v]*"
    r"(include_next|include|import|embed|__include_macros)\b[ \t\f\v]*([^\n]*)"
)
_NAME = re.compile(r"\"([^\"\n]+)\"|<([^>\n]+)>")
_DEPENDENCY = re.compile(r"\b(?:GCC|clang)\s+(?:dependency|module)\b|__has_(?:include|embed)")


def check_options(options: str, path: str) -> None:
    """Refuse options that are not known to be harmless.

    Raises:
        RequestError: there is one.
    """
    for word in _SPACED.sub(r"-\1", options).split():
        if not _ALLOWED.fullmatch(word):
            raise RequestError(
                path, f"the option {shown(word)} is not taken here; there are: {_KNOWN}"
            )


def check_source(text: str, headers: Mapping[str, str], path: str) -> None:
    """Refuse a text that includes other files than `headers`.

    Raises:
        RequestError: it does.
    """
    whole = _joined(text)
    for name, shown_text in _included(whole):
        if name is None or not _is_given(name, headers):
            listed = ", ".join(headers) or "none"
            raise RequestError(
                path,
                f"#include {shown_text[:80].strip()}: only files in program.headers are included; "
                f"there are: {listed}",
            )
    found = _DEPENDENCY.search(whole)
    if found is not None:
        raise RequestError(path, f"{found[0]} is not taken here: it looks for files")


def check_headers(headers: Mapping[str, str], path: str) -> None:
    """Refuse headers whose names leave their folder, or that include other files.

    Raises:
        RequestError: there is one.
    """
    for name, text in headers.items():
        parts = PurePosixPath(name)
        is_below = not parts.is_absolute() and ".." not in parts.parts and parts.parts
        if not is_below or not name.isprintable() or len(name) > 200 or "\\" in name:
            raise RequestError(path, f"{shown(name)} is no name of a file below one folder")
        check_source(text, headers, f"{path}.{name}")


def _is_given(name: str, headers: Mapping[str, str]) -> bool:
    return name in headers and ".." not in PurePosixPath(name).parts


def _joined(text: str) -> str:
    """Return a text as the preprocessor sees it: lines joined, comments as blanks."""
    for written, meant in _TRIGRAPHS:
        text = text.replace(written, meant)
    text = _SPLICE.sub("", text)
    return _TOKENS.sub(lambda found: " " if found[0][0] == "/" else found[0], text)


def _included(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield what directives include: the name, None where it is a macro, and what is written."""
    for directive in _DIRECTIVE.finditer(text):
        found = _NAME.match(directive[2])
        yield (found[1] or found[2] if found else None), directive[2]
