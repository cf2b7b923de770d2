"""Which codes the modules of visim make findings and faults with; no tests.

Found in their syntax: the words at a code's place among the arguments of what makes findings, and
those that a variable for codes is set to.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import visim

_PACKAGE = Path(visim.__file__).parent
_EXPLANATIONS = {"check/abi.py", "check/faults.py", "check/files.py", "check/reading.py"}
_CODE = re.compile("[a-z]{2,}(-[a-z0-9]+)*|v_type")
_VARIABLES = {"code", "_CODE", "_CODES"}
_PLACES = {
    "Diagnostic": (0,),
    "error": (0,),
    "refuse": (0,),
    "failure_at": (1,),
    "unknown_word": (4,),
    "_failure": (3,),  # of symbols in texts
    "_finding": (0,),
    "Stop": (1,),
    "Fault": (1,),
    "undefined": (0,),
}
_NAMED = {"unknown_name": 1, "_choice": 1}
"""What calls a word that it does not know `unknown-` and what it was to be."""


def printed_codes() -> set[str]:
    """Return the codes of findings and faults that modules spell."""
    found: set[str] = set()
    for node in (node for _, tree in _modules() for node in ast.walk(tree)):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=given):
                places = [given[place] for place in _PLACES.get(name, ()) if place < len(given)]
                places += [one.value for one in node.keywords if one.arg == "code"]
                found.update(word for place in places for word in _words(place))
                kinds = given[_NAMED[name] : _NAMED[name] + 1] if name in _NAMED else []
                found.update(f"unknown-{word}" for kind in kinds for word in _words(kind))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in _VARIABLES:
                found.update(_words(value))
            case _:
                pass
    return found


def spelled_words() -> set[str]:
    """Return all words that modules spell where they do not explain codes."""
    modules = (tree for path, tree in _modules() if path not in _EXPLANATIONS)
    return {word for tree in modules for word in _words(tree)}


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for file in _PACKAGE.rglob("*.py"):
        path = file.relative_to(_PACKAGE).as_posix()
        yield path, ast.parse(file.read_text(encoding="utf-8"))


def _words(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        match part:
            case ast.Constant(value=str(word)) if _CODE.fullmatch(word):
                yield word
            case _:
                pass
