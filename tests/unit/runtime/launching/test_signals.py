"""Handlers of signals that launch while what they have interrupted loads the engine."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """\
import signal, sys
import numpy as np
import visim

TEXT = '''
.version 4.1
.kernel "ones"
.decl data v_type=G type=uq num_elts=1 align=qword
.decl one v_type=G type=ud num_elts=16 align=wordx32
.input data offset=64 size=8
.kernel_attr Target="cm"
.kernel_attr SimdSize=16
.function "ones"
ones:
    mov (M1, 16) one(0,0)<1> 0x1:ud
    lsc_store.ugm (M1_NM, 1) flat[data]:a64 one:d32x16t
    ret (M1, 1)
'''
kernel = visim.assemble(TEXT, platform="pvc")["ones"]
handled, seen = np.zeros(16, np.uint32), []

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE and not seen:
            signal.raise_signal(signal.SIGUSR1)

def handle(number, frame):
    try:
        seen.append(kernel.launch([handled], engine=IN_HANDLER, thread_groups=5000).engine)
    except visim.UnsupportedError as error:
        seen.append(str(error))

signal.signal(signal.SIGUSR1, handle)
sys.meta_path.insert(0, Interrupting())
data = np.zeros(16, np.uint32)
kernel.launch([data], engine=OUTSIDE)
assert data.tolist() == [1] * 16
assert kernel.launch([data], engine="jit").engine == "jit"
assert kernel.launch([data], thread_groups=5000).engine == "jit"
print(*seen)
"""


def _seen(module: str, outside: str, in_handler: str | None) -> str:
    names = f"MODULE, OUTSIDE, IN_HANDLER = {module!r}, {outside!r}, {in_handler!r}\n"
    words = [sys.executable, "-c", names + SCRIPT]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("engine", "module", "name"),
    [
        ("jit", "visim.engine.jit.analysis", "the JIT"),
        ("interpreter", "visim.engine.plan", "the interpreter"),
        ("jit", "llvmlite.binding.ffi", "LLVM"),
    ],
)
def test_an_engine_that_is_being_loaded_is_refused_in_words(
    engine: str, module: str, name: str
) -> None:
    assert f"a signal came while {name} was being loaded" in _seen(module, engine, engine)


def test_a_launch_that_names_no_engine_gets_the_other_one_and_later_ones_the_jit() -> None:
    assert _seen("visim.engine.jit.analysis", "jit", None).strip() == "interpreter"


def test_a_handler_may_launch_on_the_engine_that_is_not_being_loaded() -> None:
    assert _seen("visim.engine.jit.analysis", "jit", "interpreter").strip() == "interpreter"
