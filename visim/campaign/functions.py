"""The Python functions of a campaign: those that make arguments, and those that say what is right.

`FILE.py:NAME` names one. It gets the cell's name as a dict (its axes and the seed) and, to say what
is right, the arguments as they were before the launch, by their names.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from visim.errors import ArgumentError, shown


class FunctionError(Exception):
    """A function of the campaign raised something, or returned what is no dict."""


def split(text: object, key: str, folder: Path) -> tuple[Path, str]:
    """Return the file and the name that a text such as `data.py:make` gives.

    Raises:
        ArgumentError: it is no such text, or there is no such file.
    """
    file, colon, name = text.rpartition(":") if isinstance(text, str) else ("", "", "")
    if not colon or not file.endswith(".py") or not name.isidentifier():
        raise ArgumentError(f"{key}: expected FILE.py:FUNCTION, found {shown(text)}")
    path = (folder / file).absolute()
    if not path.is_file():
        raise ArgumentError(f"{key}: there is no file {path}")
    return path, name


def call(where: str, *arguments: object) -> Mapping[str, Any]:
    """Call a function, and return the dict that it returns.

    Args:
        where: an absolute path, a colon, and the function's name.
        *arguments: what it gets.

    Raises:
        FunctionError: it raises something, or returns something else.
    """
    path, _, name = where.rpartition(":")
    said = f"{Path(path).name}:{name}"
    try:
        found = _function(path, name)(*arguments)
    except MemoryError:
        raise
    except Exception as error:
        raise FunctionError(f"{said} raised {type(error).__name__}: {error}") from error
    if not isinstance(found, Mapping):
        raise FunctionError(f"{said} returned {type(found).__name__}, expected a dict of arrays")
    return cast("Mapping[str, Any]", found)


def _function(path: str, name: str) -> Callable[..., object]:
    module = sys.modules.get(path)
    if module is None:
        spec = importlib.util.spec_from_file_location(Path(path).stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(Path(path).parent))
        spec.loader.exec_module(module)
        sys.modules[path] = module
    found = getattr(module, name, None)
    if not callable(found):
        raise ArgumentError(f"{path} has no function {name}")
    return found
