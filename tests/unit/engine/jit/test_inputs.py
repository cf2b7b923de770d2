"""Which inputs of kernels have shapes that are compiled in."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from visim.engine.jit.launch.code import KernelCode
from visim.engine.jit.launch.kept import Compiled
from visim.engine.jit.writing.versions import Version

LANES = 16
TEXT = """\
.version 4.1
.kernel "k"
.decl row v_type=G type=d num_elts=16 align=GRF
.decl out v_type=G type=uq num_elts=1 align=qword
.decl sums v_type=G type=d num_elts=16 align=GRF
.input row offset=64 size=64
.input out offset=128 size=8
.kernel_attr SimdSize=16
.function "k_0"

k_0:
    add (M1, 16) sums(0,0)<1> row(0,0)<1;1,0> 0x1:d
    svm_block_st (4) out(0,0)<0;1,0> sums.0
    ret (M1, 1)
"""


def test_rows_that_are_arguments_are_not_compiled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    versions, compiled = set[Version](), KernelCode.compiled

    def noted(code: KernelCode, version: Version) -> Compiled:
        versions.add(version)
        return compiled(code, version)

    monkeypatch.setattr(KernelCode, "compiled", noted)
    kernel, out = visim.assemble(TEXT, platform="pvc")["k"], np.zeros(LANES, np.int32)
    for step in (0, 1, 2, 7):
        row = step * np.arange(LANES, dtype=np.int32)
        kernel.launch([row.tobytes(), out], engine="jit")
        assert np.array_equal(out, row + 1)
    assert len(versions) == 1
