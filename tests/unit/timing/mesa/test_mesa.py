"""One thread alone against Mesa's own estimate of shaders that it compiles here, without a GPU.

Debian's Mesa 22.3 compiles random fragment shaders, a quarter of them with loops, for a stub device
(`stub.c` stands in for the kernel driver) and prints native code and cycles; the single-thread
layer with preset `mesa` has to give the same number of cycles from the same code.
VISIM_MESA_SHADERS and VISIM_MESA_SEED choose another corpus.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.timing.mesa.corpus import fragment_shader, looping_shader
from tests.unit.timing.mesa.listing import shaders
from visim.timing import find_machine
from visim.timing.single import SingleThread

HERE = Path(__file__).parent
DRIVERS = Path("/usr/lib/x86_64-linux-gnu/dri")
CHIPS = {
    "snb": "0126",
    "ivb": "0166",
    "hsw": "0416",
    "bdw": "1616",
    "skl": "1916",
    "icl": "8A52",
    "tgl": "9A49",
}
COUNT = int(os.environ.get("VISIM_MESA_SHADERS", "24"))
SEED = int(os.environ.get("VISIM_MESA_SEED", "22306"))


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """The stub and the compiler program, and the shaders of the corpus."""
    if not (DRIVERS / "crocus_dri.so").exists() or shutil.which("gcc") is None:
        pytest.skip("Mesa's crocus and iris (libgl1-mesa-dri) or gcc are not installed")
    folder = tmp_path_factory.mktemp("mesa")
    stub, program = folder / "stub.so", folder / "compile"
    built = [
        ["gcc", "-shared", "-fPIC", "-O1", "-o", str(stub), str(HERE / "stub.c")],
        ["gcc", "-O1", "-o", str(program), str(HERE / "compile.c"), "-lEGL", "-lGLESv2"],
    ]
    for words in built:
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("the stub cannot be built (libegl-dev and libgles-dev are needed)")
    files = [folder / f"{number}.frag" for number in range(COUNT)]
    for number, file in enumerate(files):
        draw = looping_shader if number % 4 == 3 else fragment_shader
        file.write_text(draw(SEED + number))
    return stub, program, files


def compiled(tools, arch):
    stub, program, files = tools
    environment = {
        **os.environ,
        "LD_PRELOAD": str(stub),
        "MESA_SHADER_CACHE_DISABLE": "true",
        "INTEL_DEBUG": "fs",
        "STUB_CHIP": CHIPS[arch],
    }
    words = [str(program), *map(str, files)]
    found = subprocess.run(
        words, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    if "llvmpipe" in found.stderr or "no display" in found.stderr:
        pytest.skip("Mesa does not take the stub for a device")
    return found.stderr


def estimated(reading, machine):
    """Return the cycles of one thread as Mesa adds them up, those of loops several times."""
    thread, total = SingleThread(machine), 0
    for instruction, weight in reading:
        before = thread.time
        thread.issue(instruction)
        total += weight * (thread.time - before)
    return total


@pytest.mark.parametrize("arch", CHIPS)
def test_cycles_are_those_that_mesa_prints(tools, arch):
    machine = find_machine(arch, "mesa")
    machine = replace(machine, native=replace(machine.native, banks="halves"))
    found = shaders(compiled(tools, arch), machine.native.version)
    assert len(found) >= 2 * COUNT
    assert None not in found
    for shader in found:
        assert shader.cycles in [estimated(reading, machine) for reading in shader.readings]
