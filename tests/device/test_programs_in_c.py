"""Programs in C and C++ on the emulated device; each compares what it gets with what is right.

Those of OpenCL are right on Intel's runtime for processors and on PoCL, too, as far as these have
what a program uses.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.device.test_driver import visim_exec
from tests.shares import share
from tests.toolchains import current_compiler, installed_compiler, installed_driver
from visim.binary.elf import ElfImage
from visim.device.driver import find_driver
from visim.runtime.compiling.opencl import build_zebin

SOURCES = Path(__file__).parent / "hosts_in_c"
DEVICES = ("bmg", "pvc", "tgllp")
WITHOUT_IMAGES = frozenset({"pvc"})
_LEVEL_ZERO, _PARTS = SOURCES / "level_zero.c", SOURCES / "level_zero_parts.c"
_OPENCL = sorted(
    one
    for one in SOURCES.iterdir()
    if one.suffix in {".c", ".cpp"} and one not in {_LEVEL_ZERO, _PARTS}
)
_COMPILERS = {".c": ("cc", "-std=gnu11"), ".cpp": ("c++", "-std=c++17", "-Wno-psabi")}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = metafunc.config.getoption("thorough")
    if "program_on" in metafunc.fixturenames:
        pairs = [(source, device) for device in DEVICES for source in _OPENCL]
        chosen = pairs if every else share("programs in C", pairs, 3)
        metafunc.parametrize("program_on", chosen, ids=[f"{p.stem}-{d}" for p, d in chosen])
    if "device" in metafunc.fixturenames:
        chosen = list(DEVICES) if every else share("Level Zero in C", DEVICES, 1)
        metafunc.parametrize("device", chosen)


@cache
def compiled(source: Path, folder: Path, *libraries: str) -> str:
    """Return the program that a source is compiled to, or skip the test without headers."""
    compiler, *options = _COMPILERS[source.suffix]
    program = folder / source.stem
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    warnings = "-Wall", "-Wextra", "-Werror"
    words = [compiler, *options, *warnings, "-O1", "-o", program, source, *libraries]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "No such file" in done.stderr or "cannot find -l" in done.stderr:
        pytest.skip(f"headers or a library are missing: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    return str(program)


@pytest.fixture(scope="module", name="folder")
def folder_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


def test_a_program_in_c_is_right(program_on: tuple[Path, str], folder: Path) -> None:
    source, device = program_on
    program = compiled(source, folder, "-lOpenCL", "-lpthread", "-lm")
    done = visim_exec(program, options=("--device", device))
    lacks_images = source.stem == "images" and device in WITHOUT_IMAGES
    assert done.stdout == ("no images\n" if lacks_images else "all right\n"), done.stderr
    assert done.returncode == 0


def test_level_zero_programs_in_c_are_right(
    device: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISIM_LIBOCLOC", current_compiler() or installed_compiler())
    libraries = find_driver(installed_driver()).folder
    loader = f"-L{libraries}", "-l:libze_loader.so.1", "-Wl,--allow-shlib-undefined"
    program, parts = (compiled(one, folder, *loader, "-lpthread") for one in (_LEVEL_ZERO, _PARTS))
    words = [program]
    for name in ("level_zero",) if device in WITHOUT_IMAGES else ("level_zero", "pictures"):
        binary = folder / f"{name}-{device}.zebin"
        text = (SOURCES / f"{name}.cl").read_text()
        binary.write_bytes(
            build_zebin(text, device=device, options="-cl-std=CL3.0", name=name).zebin
        )
        module = ElfImage(binary.read_bytes(), name).named(".spv")
        assert module is not None
        (folder / f"{name}-{device}.spv").write_bytes(bytes(module.data))
        words += [str(folder / f"{name}-{device}.spv"), str(binary)]
    for one in (words, [parts, words[1]]):
        done = visim_exec(*one, options=("--device", device))
        assert done.stdout == "all right\n", done.stderr
        assert done.returncode == 0
