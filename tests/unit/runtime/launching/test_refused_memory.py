"""Memory that the system refuses ends a launch with an error that says so."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from visim.runtime.launching import launch

TEXT = """.version 4.1
.kernel "k"
.decl data v_type=G type=uq num_elts=1 align=qword
.input data offset=64 size=8
.kernel_attr Target="cm"
.kernel_attr SimdSize=16
.function "k_0"
k_0:
    ret (M1, 1)
"""


def test_refused_memory_is_an_error_of_visim(monkeypatch):
    def refuse(*_):
        raise MemoryError("Unable to allocate 4.87 MiB")

    kernel = visim.assemble(TEXT, platform="pvc")["k"]
    monkeypatch.setattr(launch, "run_plan", refuse)
    with pytest.raises(visim.UnsupportedError, match=r"kernel 'k'.*4\.87 MiB.*ulimit -v"):
        kernel.launch([np.zeros(4, np.int32)])
