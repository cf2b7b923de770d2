"""Where Intel's GPU driver is, and with which C library programs that use it have to run.

The packaged driver of today needs a newer C library than many systems have. A folder that brings
one along (`ld-linux-x86-64.so.2`) is complete: programs are then started with that loader, and
find everything else where it was.

Drivers before 2024 know only the kernel's older driver, `i915`. The device plays the one for which
the driver is.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from visim.device.models import MODELS, Model
from visim.errors import ToolMissing
from visim.toolchain.components import DRIVER
from visim.toolchain.installed import newest

VARIABLE = "VISIM_DRIVER"
_LOADER = "ld-linux-x86-64.so.2"
_OPENCL, _LEVEL_ZERO = "libigdrcl.so", "libze_intel_gpu.so.1"
_XE_NAME = b"IoctlHelperXe"
XE, I915 = "xe", "i915"
"""The drivers of the kernel that the device can play."""
_INSIDE = ("", "lib", "root/usr/lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
_SYSTEM = (Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib64"))


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver: the folder of its libraries, and of those the ones that programs load.

    `loader` is that of the folder's own C library, None where the system's is used. `kernel` is the
    driver of the kernel that it asks for.
    """

    folder: Path
    opencl: Path | None
    level_zero: Path | None
    loader: Path | None
    kernel: str = XE

    @property
    def known(self) -> tuple[Model, ...]:
        """The GPUs that the driver has; drivers for `xe` have all of them."""
        return tuple(one for one in MODELS if self.knows(one))

    def knows(self, model: Model) -> bool:
        """Return whether the driver has a GPU: the names of families stand in its library."""
        if self.kernel == XE or self.opencl is None:
            return True
        return _has(self.opencl, b"\0" + model.name.encode() + b"\0")


def find_driver(given: str | None = None) -> Driver:
    """Return the driver in a folder, by default that of `VISIM_DRIVER`, or of a toolchain.

    Without either it is the system's.

    Raises:
        ToolMissing: there is none.
    """
    named = given or os.environ.get(VARIABLE)
    if named:
        folders: Sequence[Path] = [Path(named, inside) for inside in _INSIDE]
    else:
        own = newest(DRIVER)
        folders = [*([] if own is None else [own.libraries]), *_SYSTEM]
    for folder in folders:
        found = _driver_in(folder.absolute())
        if found is not None:
            return found
    where = f" in {named}, which {VARIABLE} names" if named else ""
    raise ToolMissing(
        f"Intel's GPU driver for xe is missing{where}: run visim toolchain install driver"
    )


def _has(library: Path, text: bytes) -> bool:
    """Return whether bytes stand anywhere in a library."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        return data.find(text) >= 0


def _driver_in(folder: Path) -> Driver | None:
    places = (folder / "intel-opencl" / _OPENCL, folder / _OPENCL)
    opencl = next((place for place in places if place.exists()), None)
    level_zero = folder / _LEVEL_ZERO
    loader = folder / _LOADER
    if opencl is None and not level_zero.exists():
        return None
    if opencl is None and folder in _SYSTEM:
        return None
    own = folder not in _SYSTEM and loader.exists()
    return Driver(
        folder,
        opencl,
        level_zero if level_zero.exists() else None,
        loader if own else None,
        XE if opencl is None or _has(opencl, _XE_NAME) else I915,
    )
