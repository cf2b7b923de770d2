"""The JIT's code for other processors than this one: the same bits with fewer features."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from visim.engine.jit.common import native
from visim.engine.jit.common.images import images_text
from visim.engine.jit.common.scheduler import scheduler_text
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.launch import code
from visim.engine.jit.targets import AARCH64, OTHER
from visim.engine.jit.writing.versions import Version
from visim.engine.rounding import Rounding
from visim.errors import UnsupportedError

from . import harness
from .both import arithmetic, compare, on_interpreter, on_jit, store_kernel
from .generator import CHANGING, generate, inputs, text_of
from .hardware import LEVELS, use_level

AARCH64_LINUX = "aarch64-unknown-linux-gnu"


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The level of x86-64 that code is made for, where this host has it."""
    use_level(request.param, monkeypatch)
    return request.param


def difference(seed: int) -> str | None:
    """Return where the engines differ in a random program."""
    program = generate(seed)
    values, mask = inputs(seed, program.simd)
    kernel = harness.assemble(text_of(program), program.platform)
    for name in CHANGING:
        values[name] = np.zeros(32, np.uint8)
    return compare(kernel, values, mask)


@pytest.mark.parametrize("seed", range(4))
def test_control_flow_is_the_same_at_every_level(level: str, seed: int) -> None:
    assert difference(seed) is None


@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_for_avx512_runs_on_fewer_features(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """What we write for other processors is tried on this one: LLVM makes it fit."""
    monkeypatch.setattr(code, "has_mask_registers", lambda: True)
    monkeypatch.setattr(code, "has_gathers", lambda: True)
    monkeypatch.setattr(code, "has_scatters", lambda: False)  # its intrinsics are for it alone
    monkeypatch.setattr(code, "vector_lanes", lambda: 16)
    assert difference(seed) is None


@pytest.mark.parametrize("control", [0x4C0, 0x4E0, 0])
@pytest.mark.parametrize(("kind", "dtype"), [("f", np.float32), ("hf", np.float16)])
@pytest.mark.parametrize("name", ["add", "mul", "mad", "sqrt"])
def test_arithmetic_has_the_same_bits_at_every_level(
    level: str, name: str, kind: str, dtype: type[np.generic], control: int
) -> None:
    a, b = "V40(0,0)<1;1,0>", "V41(0,0)<1;1,0>"
    sources = {"mad": f"{a} {b} {a}", "sqrt": a}.get(name, f"{a} {b}")
    kernel = arithmetic(f"{name} (M1, 16) V42(0,0)<1> {sources}", kind, control)
    rng = random.Random(f"{name}{control}{kind}")
    values = {
        variable: np.array([rng.uniform(-9, 9) for _ in range(16)], dtype)
        for variable in ("V40", "V41")
    }
    registers = tuple((kernel.place(n), v.tobytes()) for n, v in values.items())
    _, want = on_interpreter(kernel, registers, 0xFFFF)
    want = want.copy()
    _, got = on_jit(kernel, registers, 0xFFFF)
    place, size = kernel.place("V42"), 16 * np.dtype(dtype).itemsize
    x, y = (image[place : place + size].view(dtype) for image in (want, got))
    assert np.array_equal(x, y, equal_nan=True)


def assembled(text: str, folder: Path) -> None:
    """Make a module's code for AArch64, and an object of it where there is an assembler.

    It is not run: this host is another one. `tools.aarch64` runs such code.
    """
    file = folder / "code.s"
    file.write_text(native.assembly_for(text, AARCH64_LINUX))
    assembler = shutil.which("aarch64-linux-gnu-as")
    if assembler:
        subprocess.run([assembler, "-o", folder / "code.o", file], check=True)


def test_code_for_aarch64_is_made(tmp_path: Path) -> None:
    kernel = store_kernel()
    writer = ModuleWriter(kernel.linked, Version(full=True, slm_bytes=0), library=Library(AARCH64))
    assembled(writer.write().text, tmp_path)


def test_rounding_for_aarch64_is_made(tmp_path: Path) -> None:
    kernel = arithmetic(
        "mad (M1, 16) V42(0,0)<1> V40(0,0)<1;1,0> V41(0,0)<1;1,0> V40(0,0)<1;1,0>", "f", 0x4E0
    )
    writer = ModuleWriter(kernel.linked, Version(full=True, slm_bytes=0), library=Library(AARCH64))
    assembled(writer.write().text, tmp_path)
    code = (tmp_path / "code.s").read_text()
    down = AARCH64.rounding and AARCH64.rounding.numbers[Rounding.DOWN]
    assert re.search(rf"#{down}\n(.*\n)*?.*FPCR.*\n(.*\n)*?.*fmla.*\n(.*\n)*?.*FPCR, xzr", code)


def barrier_kernel() -> harness.Kernel:
    text = [
        ".version 4.1",
        '.kernel "k"',
        ".kernel_attr SimdSize=16",
        '.function "k"',
        "k:",
        "    barrier",
        "    ret (M1, 1)",
    ]
    return harness.assemble("\n".join(text) + "\n", "pvc")


def test_barriers_elsewhere_are_refused_in_words() -> None:
    version, library = Version(full=True, slm_bytes=0), Library(OTHER)
    writer = ModuleWriter(barrier_kernel().linked, version, library=library)
    with pytest.raises(UnsupportedError, match="x86-64 and AArch64 only; use engine='interpreter'"):
        writer.write()


def test_barriers_on_aarch64_switch_stacks() -> None:
    """LLVM assembles that on the machine itself only: `tools.aarch64` runs it."""
    version, library = Version(full=True, slm_bytes=0), Library(AARCH64)
    text = ModuleWriter(barrier_kernel().linked, version, library=library).write().text
    assert "mov sp, x10" in text
    assert "%rsp" not in text
    assert "mov sp, x10" in scheduler_text(AARCH64)


def test_the_scheduler_is_made_without_stacks(tmp_path: Path) -> None:
    assembled(scheduler_text(OTHER), tmp_path)


def test_what_answers_messages_to_images_is_made_for_aarch64(tmp_path: Path) -> None:
    assembled(images_text(), tmp_path)
