"""The host of a compiler: libocloc loaded, forked for each build.

Run by path in the Python that lies with the compiler: `compiler.py CONTROL LIBRARY LIMITS`.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # nothing else is on the path of that Python
    sys.path.append(str(Path(__file__).parents[3]))

from visim.runtime.compiling import opencl_child
from visim.serve.hosts.confinement import Limits
from visim.serve.hosts.forkserver import ForkServer, Reply, Work

_SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share", "/etc/ld.so.cache")
_DEVICES = (
    "/dev/urandom",
    "/dev/zero",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
)
_KEPT = 1 << 26
"""So many bytes of what was compiled are kept: run and sanitize of one program build it once."""


def main(control: str, library: str, limits: str) -> None:
    """Serve builds with a compiler until the control socket is closed."""
    compiler = ctypes.CDLL(library)
    compiler.oclocInvoke.restype = ctypes.c_int

    def answer(head: Any, body: bytes, _handles: Sequence[int]) -> Reply:
        return opencl_child.answer(compiler, head, body, Path.cwd())

    work = Work(answer, (*_SYSTEM, *_DEVICES, *_folders(library)), kept=_KEPT)
    ForkServer(socket.socket(fileno=int(control)), work, Limits(**json.loads(limits))).serve()


def _folders(library: str) -> tuple[str, ...]:
    """Return where the parts of a compiler lie: in its own prefix, or in the system's folders."""
    path = Path(library)
    if not path.is_absolute():
        return (sys.prefix,)
    real = path.resolve()
    return str(path.parent), str(real.parent), sys.prefix, sys.base_prefix


if __name__ == "__main__":
    os.umask(0o077)
    main(*sys.argv[1:])
