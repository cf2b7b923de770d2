"""Programs and kernels can be copied and pickled; what lives in a process says why not."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from pathlib import Path

import numpy as np
import pytest

import visim
import visim.opencl

ZEBIN = Path(__file__).parents[2] / "corpus" / "data_tgllp.zebin"
TEXT = """\
.version 4.1
.kernel "{name}"
.decl data v_type=G type=uq num_elts=1 align=qword
.decl one v_type=G type=ud num_elts=16 align=wordx32
.input data offset=64 size=8
.kernel_attr Target="cm"
.kernel_attr SimdSize=16
.function "{name}_0"

{name}_0:
    mov (M1, 16) one(0,0)<1> 0x1:ud
    lsc_store.ugm (M1_NM, 1) flat[data]:a64 one:d32x16t
    ret (M1, 1)
"""
AGAIN = [lambda one: pickle.loads(pickle.dumps(one)), copy.copy, copy.deepcopy]


def _assembled() -> visim.Program:
    return visim.assemble(TEXT.format(name="ones"), platform="pvc")


def _linked() -> visim.Program:
    texts = [TEXT.format(name=name).encode() for name in ("first", "ones")]
    return visim.link(texts, platform="pvc", strip=True)


def _object() -> visim.Program:
    return visim.load(_assembled().to_object(), platform="pvc")


def _text() -> visim.Program:
    return visim.load(TEXT.format(name="ones").encode(), platform="pvc")


def _zebin() -> visim.Program:
    return visim.load(ZEBIN)


def _built() -> visim.Program:
    try:
        return visim.opencl.build("kernel void k(global int *x) { *x = 1; }", device="pvc")
    except visim.ToolMissing as missing:
        pytest.skip(str(missing))


def _ones(kernel: visim.Kernel) -> list[int]:
    data = np.zeros(16, np.uint32)
    kernel.launch([data], engine="interpreter")
    return data.tolist()


def _fault(kernel: visim.Kernel) -> visim.FaultError:
    with pytest.raises(visim.FaultError) as caught:
        kernel.launch([None], engine="interpreter")
    return caught.value


@pytest.mark.parametrize("make", [_assembled, _linked, _object, _text, _zebin, _built])
@pytest.mark.parametrize("again", AGAIN)
def test_a_copy_of_a_program_is_the_same_program(make, again) -> None:
    program = make()
    found = again(program)
    assert found is not program
    assert found.info() == program.info()
    assert found.text() == program.text()
    assert repr(found) == repr(program)


@pytest.mark.parametrize("make", [_assembled, _linked, _object, _text])
def test_a_kernel_that_has_run_can_be_pickled_and_faults_at_the_same_place(make) -> None:
    kernel = make()["ones"]
    assert _ones(kernel) == [1] * 16
    found = pickle.loads(pickle.dumps(kernel))
    assert found.name == "ones"
    assert _ones(found) == [1] * 16
    assert _fault(found).fault == _fault(kernel).fault


def test_kernels_go_to_other_processes() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_ones, [_assembled()["ones"]]) == [[1] * 16]


@pytest.mark.parametrize("again", AGAIN)
def test_copies_have_their_own_variables(again) -> None:
    program = _zebin()
    kernel = program.kernels[0]
    for other in (again(program)[kernel.name], again(kernel)):
        assert kernel._contents.segments is not other._contents.segments


def test_what_works_in_the_memory_of_a_process_says_that_it_cannot_be_pickled() -> None:
    kernel, data = _assembled()["ones"], np.zeros(16, np.uint32)
    for refuse in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="pickle the kernel, and bind it over there"):
            refuse(kernel.bind([data]))
        with pytest.raises(TypeError, match=r"its result\(\) can"):
            refuse(kernel.launch([data], wait=False))


def test_results_of_launches_can_be_pickled() -> None:
    kernel, data = _assembled()["ones"], np.zeros(16, np.uint32)
    report = kernel.launch([data], wait=False).result()
    assert pickle.loads(pickle.dumps(report)) == report
