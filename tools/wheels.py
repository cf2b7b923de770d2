"""Makes wheels: one for any machine, and one for each machine that has the device library in it.

`python -m tools.wheels [--machine x86_64=gcc] [--machine aarch64=aarch64-linux-gnu-gcc]` writes
them to `dist/`. The tag of a wheel says the oldest C library that its device library runs with:
the newest version of a symbol that it takes from there (PEP 600).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from visim.device.library import PACKAGED, compile_library, folder_name

ROOT = Path(__file__).parents[1]
MACHINES = {"x86_64": "gcc", "aarch64": "aarch64-linux-gnu-gcc"}
"""Names of machines, as `platform.machine` says them, and compilers for them."""


def pure_wheel(out: Path) -> Path:
    """Write the wheel for any machine into a folder; return its path."""
    before = set(out.glob("*-any.whl"))
    run("pip", "wheel", "-q", "--no-deps", "-w", str(out), str(ROOT))
    found = set(out.glob("*-any.whl"))
    return max(found - before or found, key=lambda file: file.stat().st_mtime_ns)


def with_library(pure: Path, machine: str, compiler: str, out: Path) -> None:
    """Write a wheel with the device library for a machine into a folder.

    Args:
        pure: the wheel for any machine.
        machine: as `platform.machine` calls it.
        compiler: a C compiler for it.
        out: where the wheel goes.
    """
    with tempfile.TemporaryDirectory() as room:
        run("wheel", "unpack", str(pure), "--dest", room)
        (content,) = Path(room).iterdir()
        folder = content / "visim" / "device" / PACKAGED.name / folder_name(machine)
        compile_library(compiler, folder)
        major, minor = max(needed for file in folder.iterdir() for needed in c_versions(file))
        (about,) = content.glob("*.dist-info/WHEEL")
        text = about.read_text(encoding="utf-8").replace(
            "-any", f"-manylinux_{major}_{minor}_{machine}"
        )
        about.write_text(text.replace("Purelib: true", "Purelib: false"), encoding="utf-8")
        run("wheel", "pack", str(content), "--dest-dir", str(out))


def c_versions(library: Path) -> set[tuple[int, int]]:
    """Return the versions of the C library that an ELF file asks for."""
    found: set[tuple[int, int]] = set()
    with library.open("rb") as file:
        sections = ELFFile(file).iter_sections()
        for section in (one for one in sections if isinstance(one, GNUVerNeedSection)):
            for _, needs in section.iter_versions():
                names = (re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", need.name) for need in needs)
                found |= {(int(name[1]), int(name[2])) for name in names if name}
    return found


def run(module: str, *words: str) -> None:
    """Run a module of Python."""
    subprocess.run([sys.executable, "-m", module, *words], check=True, stdout=sys.stderr)


def main() -> None:
    """Write the wheels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--machine", action="append", metavar="NAME=COMPILER")
    options = parser.parse_args()
    chosen = dict(word.split("=", 1) for word in options.machine or ()) or MACHINES
    options.out.mkdir(parents=True, exist_ok=True)
    pure = pure_wheel(options.out)
    for machine, compiler in chosen.items():
        with_library(pure, machine, compiler, options.out)


if __name__ == "__main__":
    main()
