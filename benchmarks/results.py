"""Files of results: what was measured, of which versions, on which machine, and when."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
_CPU_INFO = Path("/proc/cpuinfo")
_TELLING = ("avx2", "avx512f", "avx512_fp16", "amx_int8", "asimd", "sve")
"""Features of processors that tell machines apart."""

Result = dict[str, Any]


def machine(cores: int) -> dict[str, Any]:
    """Return what this machine is.

    Args:
        cores: how many of its cores are used.
    """
    lines = _CPU_INFO.read_text().splitlines() if _CPU_INFO.exists() else []
    pairs = (line.partition(":") for line in lines)
    facts = {name.strip(): value.strip() for name, _, value in pairs}
    flags = facts.get("flags", facts.get("Features", "")).split()
    return {
        "processor": facts.get("model name", platform.machine()),
        "model": facts.get("model", ""),
        "features": [name for name in _TELLING if name in flags],
        "cores": os.cpu_count(),
        "cores_used": cores,
        "system": platform.platform(),
    }


def versions() -> dict[str, str]:
    """Return the versions of what has a part in the numbers, but for compilers and peers."""
    return {
        "visim": _commit(),
        "python": platform.python_version(),
        "numpy": importlib.metadata.version("numpy"),
        "llvmlite": importlib.metadata.version("llvmlite"),
    }


def _commit() -> str:
    try:
        return _git("rev-parse", "--short=10", "HEAD") + (
            " with changes" if _git("status", "--porcelain", "visim") else ""
        )
    except (OSError, subprocess.CalledProcessError):
        return importlib.metadata.version("visim")


def _git(*words: str) -> str:
    here = Path(__file__).parents[1]
    ran = subprocess.run(["git", *words], cwd=here, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


def heading(cores: int) -> Result:
    """Return how a file of results begins."""
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine(cores),
        "versions": versions(),
        "load": [round(x, 1) for x in os.getloadavg()],
    }


def write(path: Path, result: Result) -> None:
    """Write a file of results; a reader never sees half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def read(path: Path) -> Result:
    """Return what is in a file of results."""
    found: Result = json.loads(path.read_text(encoding="utf-8"))
    return found


__all__ = ["RESULTS", "Result", "heading", "machine", "read", "versions", "write"]
