"""PoCL, another OpenCL implementation, which runs kernels on the processor; in a process each time.

Its compiler may crash or never end: that is a result of the program, and not the end of what
compares. A fork would not do: PoCL's threads are not in forks of a process that has used it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.campaign import pocl_child
from visim.errors import ToolMissing
from visim.exits import how_it_ended

_LONGEST_S = 20.0
_MOST_TEXT = 300
_CACHE = "POCL_CACHE_DIR"
_SETTINGS = {"POCL_KERNEL_CACHE": "0", "POCL_MAX_PTHREAD_COUNT": "1"}
"""Each program is compiled once only, on one core."""
Words = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Launched:
    """What came of a launch: the output, or `problem`, which says what stopped it."""

    output: Words | None = None
    problem: str | None = None


def pocl_version() -> str:
    """Return the version of PoCL and its device.

    Raises:
        ToolMissing: there is no PoCL here, or it does not work.
    """
    answer = _answer({})
    if "version" not in answer:
        raise _missing("; ".join(answer.values()))
    return answer["version"]


def run_on_pocl(
    source: str, kernel: str, given: Words, output: Words, items: int, group: int
) -> Launched:
    """Compile a source and launch a kernel of two arguments, the words it reads and writes.

    Args:
        source: OpenCL C.
        kernel: its name.
        given: the first argument.
        output: the second one, as it is before; it is not changed.
        items: work-items in one dimension.
        group: work-items of a group.

    Raises:
        ToolMissing: there is no PoCL here.
    """
    arrays = [array.tobytes().hex() for array in (given, output)]
    request = {"kernel": kernel, "arrays": arrays, "items": items, "group": group}
    answer = _answer({"source": source, **request})
    if "missing" in answer:
        raise _missing(answer["missing"])
    if "words" in answer:
        return Launched(np.frombuffer(bytes.fromhex(answer["words"]), np.uint32))
    return Launched(problem=answer["problem"])


def _answer(request: Mapping[str, Any]) -> dict[str, str]:
    """Return what the child answers; how it ended is a problem, too."""
    words = [sys.executable, "-I", str(Path(pocl_child.__file__))]
    asked = json.dumps(request).encode()
    with TemporaryDirectory(prefix="visim-pocl-") as folder:
        environment = {**os.environ, **_SETTINGS, _CACHE: folder}
        try:
            ran = subprocess.run(
                words,
                env=environment,
                input=asked,
                capture_output=True,
                check=False,
                timeout=_LONGEST_S,
            )
        except subprocess.TimeoutExpired:
            return {"problem": f"not done after {_LONGEST_S:g} s"}
    try:
        return json.loads(ran.stdout)
    except ValueError:
        lines = ran.stderr.decode("utf-8", "replace").strip().splitlines()
        said = f" at this program: {lines[-1][:_MOST_TEXT]}" if lines else ""
        return {"problem": f"it ended with {how_it_ended(ran.returncode)}{said}"}


def _missing(why: str) -> ToolMissing:
    return ToolMissing(f"PoCL cannot be used ({why}); Debian has it in pocl-opencl-icd")
