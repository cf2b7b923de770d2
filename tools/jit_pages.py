"""What the pages on the JIT say of its passes and modules, made of the table and of docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.instruction_pages import GENERATED
from tools.paging import Entry, anchor, in_parts, numbered, title
from visim.engine import jit
from visim.engine.jit.passes import Pass

PACKAGE = Path(jit.__file__).parent
ORDER = ("launch", "writing", "lift", "analysis", "ir", "mir", "common")
"""The packages; each may import only from those behind it."""
_BLOCK = re.compile(r"(<!-- passes: [^\n]*-->\n).*?(<!-- end of passes -->)", re.DOTALL)


def with_passes(page: str) -> str:
    """Return a page whose table of passes is that of the JIT."""
    table = "\n".join(_passes())
    found, count = _BLOCK.subn(lambda match: f"{match[1]}{table}\n{match[2]}", page)
    if count != 1:
        raise ValueError(f"expected one table of passes between its comments, found {count}")
    return found


def _passes() -> Iterator[str]:
    yield "| pass | what it does | module |"
    yield "|---|---|---|"
    for one in Pass:
        yield f"| `{one.title}` | {one.summary} | `{one.module}` |"


def modules_pages() -> Iterator[tuple[str, list[str]]]:
    """Yield the names and the lines of the pages that list the modules."""
    parts = in_parts([Entry(package, tuple(_package(package))) for package in ORDER])
    for file, part in numbered("jit-modules", parts):
        lines = [title("The modules of the JIT", part, len(parts)), "", GENERATED, ""]
        lines.append("A package imports only from those that stand behind it (`.importlinter`):")
        lines.append(f"{', '.join(_linked(parts))}.")
        yield file, [*lines, *(line for entry in part for line in entry.lines)]


def _linked(parts: Sequence[Sequence[Entry]]) -> Iterator[str]:
    for file, part in numbered("jit-modules", parts):
        yield from (f"[{entry.name}]({file}#{anchor(entry.name)})" for entry in part)


def _package(package: str) -> Iterator[str]:
    yield from ("", f"## {package}", "")
    yield _summary(PACKAGE / package / "__init__.py")
    yield from ("", "| module | what it has |", "|---|---|")
    for path in sorted((PACKAGE / package).glob("*.py")):
        if path.stem != "__init__":
            yield f"| `{path.stem}` | {_summary(path)} |"


def _summary(path: Path) -> str:
    """Return the first paragraph of a module's docstring on one line."""
    found = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(found.partition("\n\n")[0].split()).replace("|", "\\|")


__all__ = ["ORDER", "PACKAGE", "modules_pages", "with_passes"]
