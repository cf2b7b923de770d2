"""visim runs Intel GPU kernels (vISA, zebins, OpenCL C and SPIR-V through ocloc) on any machine.

```python
program = visim.load("saxpy.zebin")
report = program["saxpy"].launch([y, x, np.float32(2)], global_size=1024)
```

Importing this package is cheap: each name is looked up in its module when it is first used.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

from visim.forks import loading

if TYPE_CHECKING:
    __version__: str
    from visim import opencl, timing
    from visim.diag import Diagnostic, Diagnostics
    from visim.engine.observers import Observer
    from visim.errors import (
        ArgumentError,
        Fault,
        FaultError,
        InputError,
        InternalError,
        LinkError,
        ToolMissing,
        UnsupportedError,
        VisimError,
    )
    from visim.runtime.arguments.buffers import Buffer, Local
    from visim.runtime.arguments.images import Image, Sampler
    from visim.runtime.arguments.uninitialised import Uninitialised
    from visim.runtime.kernel import Kernel
    from visim.runtime.launching.handles import LaunchHandle
    from visim.runtime.launching.report import Report
    from visim.runtime.printf.records import printf_to
    from visim.runtime.program import Program, assemble, link, load, verify
    from visim.sanitize.findings import Finding

__all__ = [
    "ArgumentError",
    "Buffer",
    "Diagnostic",
    "Diagnostics",
    "Fault",
    "FaultError",
    "Finding",
    "Image",
    "InputError",
    "InternalError",
    "Kernel",
    "LaunchHandle",
    "LinkError",
    "Local",
    "Observer",
    "Program",
    "Report",
    "Sampler",
    "ToolMissing",
    "Uninitialised",
    "UnsupportedError",
    "VisimError",
    "__version__",
    "assemble",
    "link",
    "load",
    "opencl",
    "printf_to",
    "timing",
    "verify",
]

_MODULES = {
    "visim.diag": ("Diagnostic", "Diagnostics"),
    "visim.engine.observers": ("Observer",),
    "visim.errors": (
        "ArgumentError",
        "Fault",
        "FaultError",
        "InputError",
        "InternalError",
        "LinkError",
        "ToolMissing",
        "UnsupportedError",
        "VisimError",
    ),
    "visim.runtime.arguments.buffers": ("Buffer", "Local"),
    "visim.runtime.arguments.images": ("Image", "Sampler"),
    "visim.runtime.arguments.uninitialised": ("Uninitialised",),
    "visim.runtime.kernel": ("Kernel",),
    "visim.runtime.launching.handles": ("LaunchHandle",),
    "visim.runtime.launching.report": ("Report",),
    "visim.runtime.printf.records": ("printf_to",),
    "visim.runtime.program": ("Program", "assemble", "link", "load", "verify"),
    "visim.sanitize.findings": ("Finding",),
}
_PACKAGES = ("opencl", "timing")
_OWNERS = {name: module for module, names in _MODULES.items() for name in names}


if not TYPE_CHECKING:  # who checks types knows the names above, and only these

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("visim")
        if name in _PACKAGES:
            return _loaded(f"visim.{name}")
        if name not in _OWNERS:
            raise AttributeError(f"module 'visim' has no attribute {name!r}")
        value = getattr(_loaded(_OWNERS[name]), name)
        globals()[name] = value
        return value


def _loaded(module: str) -> ModuleType:
    with loading(module):
        return importlib.import_module(module)


def __dir__() -> list[str]:
    return sorted(__all__)
