"""Every pass of the JIT can be left out, and results stay those of the interpreter."""

from __future__ import annotations

import random
from importlib.util import find_spec

import numpy as np
import pytest

import visim
from tests.opencl.building import built, built_anew
from tests.opencl.case import LocalBytes
from tests.opencl.cases import CASES
from visim.engine.jit.analysis.blocks import UnitCode
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.launch.code import KernelCode
from visim.engine.jit.passes import NAMES, VARIABLE, Pass, left_out
from visim.engine.jit.writing.versions import Version
from visim.errors import ArgumentError

from . import harness
from .both import compare
from .generator import CHANGING, generate, inputs, text_of

SEED = 29
"""Which share of the programs a run takes; `--thorough` takes all of them."""
_SHARE = 12


def _off(*names: str) -> tuple[str, ...]:
    return left_out({VARIABLE: ",".join(f"-{name}" for name in names)})


@pytest.mark.parametrize("one", Pass, ids=lambda one: one.title)
def test_a_pass_names_a_module_and_says_in_a_sentence_what_it_does(one: Pass) -> None:
    assert find_spec(f"visim.engine.jit.{one.module}") is not None
    assert not one.summary[0].islower()
    assert one.summary.endswith(".")
    assert one.summary.count(". ") == 0


def test_nothing_is_left_out_unless_somebody_says_so() -> None:
    assert left_out({}) == ()
    assert left_out({VARIABLE: " , "}) == ()


def test_words_take_effect_in_order() -> None:
    assert _off("strip-mine", "affine") == ("affine", "strip-mine")
    assert left_out({VARIABLE: "-all"}) == NAMES
    assert left_out({VARIABLE: "-all, affine"}) == tuple(n for n in NAMES if n != "affine")
    assert left_out({VARIABLE: "-all,all"}) == ()


def test_an_unknown_pass_is_an_error_that_lists_those_there_are(monkeypatch) -> None:
    with pytest.raises(ArgumentError, match=r"'interleaf'.*'interleave' meant.*strip-mine"):
        left_out({VARIABLE: "-interleaf"})
    monkeypatch.setenv(VARIABLE, "-nothing-like-it")
    kernel = visim.assemble(_STORE, platform="pvc")["k"]
    with pytest.raises(ArgumentError, match="nothing-like-it"):
        kernel.launch([np.zeros(16, np.uint32)], engine="jit")


_STORE = """.version 4.1
.kernel "k"
.decl out v_type=G type=uq num_elts=1 align=qword
.decl V40 v_type=G type=ud num_elts=16 align=wordx32
.input out offset=64 size=8
.kernel_attr SimdSize=16
k:
    mov (M1, 16) V40(0,0)<1> 0x7:ud
    lsc_store.ugm (M1_NM, 1)  flat[out]:a64  V40:d32x16t
    ret (M1, 1)
"""


def test_what_is_left_out_is_part_of_the_key_of_compiled_code(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("VISIM_CACHE_DIR", str(tmp_path))
    counts = list[int]()
    for words in ("", "-affine", "-affine", "-strip-mine,-affine"):
        monkeypatch.setenv(VARIABLE, words)
        out = np.zeros(16, np.uint32)
        visim.assemble(_STORE, platform="pvc")["k"].launch([out], engine="jit")
        assert out.tolist() == [7] * 16
        counts.append(len(list(tmp_path.iterdir())))
    assert counts[0] < counts[1] == counts[2] < counts[3]


_ROWS = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=ud num_elts=16 align=wordx32
.decl V41 v_type=G type=uq num_elts=16 align=wordx32
.decl V42 v_type=G type=ud num_elts=16 align=wordx32
.kernel_attr SimdSize=16
k:
    mov (M1, 16) V40(0,0)<1> 0x0:ud
    add (M1, 16) V41(0,0)<1> V40(0,0)<1;1,0> 0x1000:ud
    lsc_load.ugm (M1, 16)  V42:d32  flat[V41]:a64
    lsc_store.ugm (M1, 16)  flat[V41]:a64  V42:d32
    ret (M1, 1)
"""


@pytest.mark.parametrize("name", ["contiguous-access", "affine", "merge-guards"])
def test_leaving_a_pass_out_changes_the_code(name: str) -> None:
    kernel = harness.assemble(_ROWS, "pvc").linked
    text, without = (
        ModuleWriter(kernel, Version(full=True, slm_bytes=0, off=off)).write().text
        for off in ((), _off(name))
    )
    assert text != without


def test_blocks_are_read_without_the_passes_that_change_them() -> None:
    text = _ROWS.replace("    ret", "    add (M5, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:ud\n    ret")
    linked = harness.assemble(text, "pvc").linked
    plain = UnitCode(linked, linked.units[0], off=NAMES).block(0)
    assert [step.pc for step in plain.steps] == sorted({step.pc for step in plain.steps})


def test_threads_that_wait_have_stacks_of_their_own_without_barrier_regions(monkeypatch) -> None:
    text = _ROWS.replace("    ret", "    barrier\n    ret")
    kernel = harness.assemble(text, "pvc").linked
    assert KernelCode(kernel, saving=False).traits.may_go_in_step
    monkeypatch.setenv(VARIABLE, "-barrier-regions")
    assert not KernelCode(kernel, saving=False).traits.may_go_in_step


def _sets(rng: random.Random) -> list[str]:
    """Every pass off, all that can be from MIR, one pass off, and a random half."""
    half = rng.sample(NAMES, len(NAMES) // 2)
    return [
        "-all",
        f"-{Pass.GRAPHS.title}",
        f"-{rng.choice(NAMES)}",
        ",".join(f"-{name}" for name in half),
    ]


@pytest.mark.parametrize("seed", range(300, 303))
def test_random_control_flow_equals_the_interpreter_without_passes(seed, monkeypatch) -> None:
    program = generate(seed)
    values, mask = inputs(seed, program.simd)
    kernel = harness.assemble(text_of(program), program.platform)
    for name in CHANGING:
        values[name] = np.zeros(32, np.uint8)
    for words in _sets(random.Random(seed)):
        monkeypatch.setenv(VARIABLE, words)
        assert compare(kernel, values, mask) is None, words


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Take a share of the OpenCL programs, and for each some passes that are left out."""
    if "case" not in metafunc.fixturenames:
        return
    rng = random.Random(SEED)
    every = [case for case in CASES if "pvc" in case.devices]
    thorough = metafunc.config.getoption("thorough")
    cases = every if thorough else rng.sample(every, len(every) // _SHARE)
    metafunc.parametrize(
        ("case", "words"),
        [
            pytest.param(case, words, id=f"{case.name}-{n}")
            for case in cases
            for n, words in enumerate(_sets(rng))
        ],
    )


def test_opencl_programs_give_the_reference_without_passes(
    case, words, monkeypatch, tmp_path
) -> None:
    monkeypatch.setenv(VARIABLE, words)
    build = built_anew if case.keeps_state else built
    build(case.text, "pvc", case.options).write(tmp_path / "program.zebin")
    program, values = visim.load(tmp_path / "program.zebin"), case.values()
    for launch in case.launches:
        args = [values[name] for name in launch.names]
        program[launch.kernel].launch(
            [visim.Local(arg.nbytes) if isinstance(arg, LocalBytes) else arg for arg in args],
            global_size=launch.global_size,
            local_size=launch.local_size,
            global_offset=launch.global_offset,
            engine="jit",
        )
    assert case.mismatches(values) == [], words
