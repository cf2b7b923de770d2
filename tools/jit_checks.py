"""The size and shape of the JIT in numbers, for those who change its structure.

    python -m tools.jit_checks

Each line has what is counted, the number today, and the number aimed at.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.jit_pages import PACKAGE
from tools.paging import MOST_WORDS
from visim.engine.jit.mir.pipeline import PASSES as MIR_PASSES
from visim.engine.jit.passes import Pass

_ROOT = PACKAGE.parents[2]
_FOLDERS = ("analysis", "ir", "writing")
_MIR_FILES = _ROOT / "tests" / "files" / "mir"
_LEAST_SECTIONS = 3


@dataclass(frozen=True, slots=True)
class Check:
    """What is counted, how, and what it is to be."""

    what: str
    count: Callable[[], int]
    aim: str


def _modules(folders: tuple[str, ...] = ()) -> list[Path]:
    places = [PACKAGE / one for one in folders] or [PACKAGE]
    return sorted(path for place in places for path in place.rglob("*.py"))


def _trees(folders: tuple[str, ...] = ()) -> Iterator[list[ast.AST]]:
    for path in _modules(folders):
        yield list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def _reading_text() -> int:
    """Count modules that read LLVM's text, or other text, by patterns."""
    return sum(any(map(is_pattern, nodes)) for nodes in _trees(_FOLDERS))


def is_pattern(node: ast.AST) -> bool:
    """Whether a node makes a regular expression."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="compile")):
            return True
        case _:
            return False


def _matching_names() -> int:
    """Count modules that tell micro-operations by their names."""
    return sum(any(map(is_uop_name, nodes)) for nodes in _trees())


def is_uop_name(node: ast.AST) -> bool:
    """Whether a node is the name of a micro-operation."""
    match node:
        case ast.Attribute(attr="name", value=ast.Attribute(attr="uop") | ast.Name(id="uop")):
            return True
        case _:
            return False


def _identities() -> int:
    """Count calls of id() in the packages that analyse and write."""
    return sum(sum(map(is_identity, nodes)) for nodes in _trees(_FOLDERS))


def is_identity(node: ast.AST) -> bool:
    """Whether a node is a call of id()."""
    match node:
        case ast.Call(func=ast.Name(id="id")):
            return True
        case _:
            return False


def _lines() -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in _modules())


def _words() -> int:
    return len((_ROOT / "docs" / "jit.md").read_text(encoding="utf-8").split())


def _untested() -> int:
    """Count passes over MIR with fewer than three sections in files."""
    text = "".join(path.read_text(encoding="utf-8") for path in _MIR_FILES.glob("*.mir"))
    counts = [text.count(f"; pass: {one.name}\n") for one in MIR_PASSES]
    return sum(count < _LEAST_SECTIONS for count in counts)


CHECKS = (
    Check("modules in analysis, ir, writing that read text by patterns", _reading_text, "0"),
    Check("modules that tell micro-operations by names", _matching_names, "at most 12"),
    Check("calls of id() in analysis, ir, writing", _identities, "at most 5"),
    Check("lines", _lines, "at most 27000"),
    Check("modules", lambda: len(_modules()), "at most 120"),
    Check("words of docs/jit.md", _words, f"at most {MOST_WORDS}"),
    Check("passes over MIR", lambda: len(MIR_PASSES), "-"),
    Check("passes over MIR with fewer than three sections in files", _untested, "0"),
    Check("passes that can be left out", lambda: len(Pass), "-"),
)


def main() -> None:
    """Print the table."""
    rows = [f"| {one.what} | {one.count()} | {one.aim} |" for one in CHECKS]
    sys.stdout.write("\n".join(["| check | today | aim |", "|---|---:|---|", *rows, ""]))


if __name__ == "__main__":
    main()
