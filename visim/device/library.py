"""The C library that plays the kernel's driver inside a program: packaged, or compiled once.

Owns the compiler's options and where the result is. The sources are in `native/`, the tables of
models and messages are generated.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from visim.device.models import models_header
from visim.device.protocol import protocol_header
from visim.errors import ToolMissing

SOURCES = (
    *("devices.c", "interpose.c", "objects.c", "queries.c", "queues.c", "starting.c"),
    *("i915.c", "i915_binding.c", "i915_contexts.c", "i915_executing.c", "i915_queries.c"),
    *("sharing.c", "usercopy.c", "vmprocess.c", "vms.c"),
)
_VENDOR_SOURCES = ("vendor.c", "vendor_arguments.c", "vendor_sources.c")
_HEADERS = ("device.h", "i915.h", "i915_uapi.h", "objects.h", "vendor.h", "xe_uapi.h")
_NATIVE = Path(__file__).with_name("native")
PACKAGED = Path(__file__).with_name("built")
"""Where wheels for one machine have the libraries; other installations have no such folder."""

SOURCES_VARIABLE = "VISIM_SOURCES"
"""Names the folder for the sources of watched programs; the library writes them."""

_OPTIONS = ("-std=c11", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pthread")
_NAME, _VENDOR_NAME = "libvisim_xe.so", "libvisim_opencl.so"


def cache_folder() -> Path:
    """Return the folder for what is made once; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "visim" / "device"


def programs_folder() -> Path:
    """Return the folder in which the driver keeps what it has compiled; it is made if need be."""
    folder = cache_folder() / "programs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def sources_folder() -> Path:
    """Return the folder for sources of watched programs; it is made if need be."""
    folder = cache_folder() / "sources"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def library(options: tuple[str, ...] = ()) -> Path:
    """Return the path of the library: the package's, or one that is compiled if it was not before.

    Args:
        options: more options for the compiler, such as those of its sanitizers.

    Raises:
        ToolMissing: there is no C compiler, or it fails.
    """
    name = folder_name(platform.machine(), options)
    if (PACKAGED / name / _NAME).exists():
        return PACKAGED / name / _NAME
    folder = cache_folder() / name
    if not (folder / _NAME).exists():
        compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise ToolMissing(
                "running unmodified programs needs a C compiler once, for the library that plays "
                "the kernel's driver; install gcc, or set CC"
            )
        compile_library(compiler, folder, options)
    return folder / _NAME


def vendor_library() -> Path:
    """Return the path of the library that stands before a driver of OpenCL's; as `library`."""
    return library().with_name(_VENDOR_NAME)


def folder_name(machine: str, options: tuple[str, ...] = ()) -> str:
    """Return the name of the folder that has the libraries of these sources, for one machine.

    Args:
        machine: as `platform.machine` calls it, such as "x86_64".
        options: as in `library`.
    """
    said = repr((sorted(_texts().items()), _OPTIONS, options))
    return f"{machine}-{hashlib.sha256(said.encode()).hexdigest()[:16]}"


def compile_library(compiler: str, folder: Path, options: tuple[str, ...] = ()) -> None:
    """Compile the libraries into a folder that is complete when it appears.

    Raises:
        ToolMissing: the compiler fails.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as room:
        place = Path(room)
        for name, text in _texts().items():
            (place / name).write_text(text)
        done_folder = place / "done"
        done_folder.mkdir()
        for made, sources in ((_NAME, SOURCES), (_VENDOR_NAME, _VENDOR_SOURCES)):
            target = ["-shared", "-o", f"done/{made}"]
            command = [compiler, *_OPTIONS, *options, *target, *sources, "-ldl"]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
            if done.returncode:
                raise ToolMissing(f"{compiler} cannot compile the device library:\n{done.stderr}")
        try:
            done_folder.rename(folder)
        except OSError:
            if not (folder / _NAME).exists():
                raise


def _texts() -> dict[str, str]:
    """Return the sources and headers, by the names of their files."""
    names = (*SOURCES, *_VENDOR_SOURCES, *_HEADERS)
    texts = {name: (_NATIVE / name).read_text(encoding="utf-8") for name in names}
    return texts | {"models.h": models_header(), "protocol.h": protocol_header()}
