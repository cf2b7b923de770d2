"""What a program needs around it to see visim's devices: variables and files.

Owns the small tree that stands for /sys and /dev/dri. The program itself stays as it is.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from visim.device.driver import I915, Driver
from visim.device.kept_programs import VARIABLE as KEPT_PROGRAMS
from visim.device.kept_programs import remove_damaged
from visim.device.library import (
    SOURCES_VARIABLE,
    cache_folder,
    library,
    programs_folder,
    sources_folder,
    vendor_library,
)
from visim.device.models import ADDRESS_BITS, Model

_FIRST_MINOR = 128
_KEPT_VISA = "-ze-emit-zebin-visa-sections"
_AS_ZEBIN = "-cl-intel-allow-zebin"
"""Makes compilers of 2022 write the form of binary that later ones write anyway."""
_FOR_OLD_COMPILER = ("RebuildPrecompiledKernels", "DisableDeepBind")
"""Options of drivers of 2022: their own kernels are compiled in that form, too, and the compiler
calls the functions of the C library that we stand before."""
_LEAVINGS = "IGC_DumpToCustomDir"
"""Where that compiler leaves files if it notes lines; without this, in the current folder."""
_LEFT_S = 600.0
"""So old are files that nobody will come back to."""
_SOURCES_LEFT_S = 30 * 86400.0
"""So long users may look at the sources that findings name; a build makes them anew."""
_WITH_TILES = {"pvc"}
"""GPUs whose tiles only Intel's own i915 tells. Old drivers crash where they make an object in the
memory of a tile, and Debian's cannot ask that i915; so objects are in the host's memory."""
_LINES = "-g"
_ALONE = (
    *("ExperimentalSmallBufferPoolAllocator", "EnableDeviceUsmAllocationPool"),
    *("EnableHostUsmAllocationPool", "EnableUsmAllocationPoolManager"),
)
"""Options of the driver that are 0 where each buffer is to have memory of its own."""
_MOST_PROGRAM_BYTES = 256 << 20
"""Of programs that the driver has compiled so much is kept, those that are used last."""


def variables(
    models: Sequence[Model], driver: Driver, *, is_watched: bool = False
) -> dict[str, str]:
    """Return the variables with which a program sees the models as its only devices.

    Args:
        models: the GPUs.
        driver: the driver.
        is_watched: whether kernels know the lines of their source, each buffer has memory of its
            own, and it is known how large programs wanted it.

    Raises:
        ToolMissing: the device library cannot be compiled.
    """
    opencl = driver.opencl
    has_vendor = opencl is not None and (is_watched or driver.kernel == I915)
    if has_vendor:
        opencl = vendor_library()
    tree, programs = device_tree(models, opencl), programs_folder()
    remove_damaged(programs)
    options = f"{_AS_ZEBIN} {_KEPT_VISA}" if driver.kernel == I915 else _KEPT_VISA
    found = {
        "VISIM_DEVICE": ",".join(model.name for model in models),
        "VISIM_DEVICE_TREE": str(tree),
        "VISIM_KERNEL_DRIVER": driver.kernel,
        "VISIM_VM_COMMAND": "\n".join([sys.executable, "-P", "-E", "-m", "visim.device.vm"]),
        "LD_PRELOAD": str(library()),
        "OCL_ICD_VENDORS": str(tree / "vendors"),
        "NEOReadDebugKeys": "1",
        "InjectInternalBuildOptions": options,
        "VISIM_COMPILER_OPTIONS": options,  # The driver hands nothing to linking.
        "NEO_CACHE_PERSISTENT": "1",
        KEPT_PROGRAMS: str(programs),
        "NEO_CACHE_MAX_SIZE": str(_MOST_PROGRAM_BYTES),
        "EnableDirectSubmission": "0",
        "EnableDeferredDeleter": "0",
        "ForceLinearImages": "1",
        "OverrideGpuAddressSpace": str(ADDRESS_BITS),
    }
    if driver.kernel == I915:
        found |= dict.fromkeys(_FOR_OLD_COMPILER, "1")
        found[_LEAVINGS] = os.environ.get(_LEAVINGS) or f"{_emptied_folder()}{os.sep}"
        if any(model.name in _WITH_TILES for model in models):
            found["EnableLocalMemory"] = "0"
    if is_watched:
        found |= dict.fromkeys(_ALONE, "0") | {"InjectApiBuildOptions": _LINES}
        found["VISIM_WATCHES"] = "1"
        found[SOURCES_VARIABLE] = str(_without_old(sources_folder(), _SOURCES_LEFT_S))
        found["PYOPENCL_NO_CACHE"] = "1"  # What it has kept knows no lines.
    if has_vendor:
        found["VISIM_OPENCL"] = str(driver.opencl)
    if driver.loader is not None:
        found |= {"VISIM_LOADER": str(driver.loader), "VISIM_LIBRARIES": str(driver.folder)}
    if driver.level_zero is not None:
        found["ZE_ENABLE_ALT_DRIVERS"] = str(driver.level_zero)
    return found


def _emptied_folder() -> Path:
    """Return the folder for what the compiler leaves, without what it left there long ago."""
    folder = cache_folder() / "leavings"
    folder.mkdir(parents=True, exist_ok=True)
    return _without_old(folder, _LEFT_S)


def _without_old(folder: Path, left_s: float) -> Path:
    """Remove the files of a folder that are older than that; return the folder."""
    for path in folder.iterdir():
        with suppress(OSError):  # Another program removes it, too.
            if time.time() - path.stat().st_mtime > left_s:
                path.unlink()
    return folder


def device_tree(models: Sequence[Model], opencl: Path | None) -> Path:
    """Return a folder with what stands for /sys and /dev/dri, making it if it is not there."""
    files, links = _tree(models, opencl)
    said = repr((sorted(files.items()), sorted(links.items())))
    folder = cache_folder() / ("tree-" + hashlib.sha256(said.encode()).hexdigest()[:16])
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as room:
        made = Path(room) / "tree"
        for name, text in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text(text)
        for name, target in links.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).symlink_to(target)
        try:
            made.rename(folder)
        except OSError:
            if not folder.exists():
                raise
    return folder


def _tree(models: Sequence[Model], opencl: Path | None) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files of the tree with their texts, and its links with their targets."""
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    if opencl is not None:
        files["vendors/intel.icd"] = f"{opencl}\n"
    for index, model in enumerate(models):
        bdf = f"0000:{3 + index:02x}:00.0"
        bridge = f"sys/devices/visim/pci0000:00/0000:00:{1 + index:02x}.0"
        own = f"{bridge}/{bdf}"
        frequency = f"{own}/tile0/gt0/freq0"
        files |= {
            f"{bridge}/max_link_width": "16\n",
            f"{bridge}/max_link_speed": "16.0 GT/s PCIe\n",
            f"{own}/vendor": "0x8086\n",
            f"{own}/device": f"{model.device_id:#06x}\n",
            f"{frequency}/max_freq": f"{model.max_mhz}\n",
            f"{frequency}/min_freq": "300\n",
            f"{own}/drm/card{index}/dev": f"226:{index}\n",
            f"{own}/drm/card{index}/gt_max_freq_mhz": f"{model.max_mhz}\n",
        }
        minor = _FIRST_MINOR + index
        links |= {
            f"{own}/drm/card{index}/device": "../..",
            f"sys/dev/char/226:{minor}": f"../../devices/visim/pci0000:00/0000:00:"
            f"{1 + index:02x}.0/{bdf}/drm/renderD{minor}",
            f"sys/bus/pci/devices/{bdf}": f"../../../devices/visim/pci0000:00/0000:00:"
            f"{1 + index:02x}.0/{bdf}",
            f"sys/class/drm/card{index}": f"../../devices/visim/pci0000:00/0000:00:"
            f"{1 + index:02x}.0/{bdf}/drm/card{index}",
        }
        files[f"{own}/drm/renderD{minor}/dev"] = f"226:{minor}\n"
    return files, links


def run_environment(
    models: Sequence[Model], driver: Driver, base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return a whole environment for a program: that of this process, and the variables."""
    return {**(os.environ if base is None else base), **variables(models, driver)}
