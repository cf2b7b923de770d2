"""Code is made for processors that this host may not be: AVX-512, and the least x86-64.

The code is not run here: `tests/engine/test_processors.py` runs what the host can.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import visim
import visim.opencl
from tests.hosts import IS_X86
from tests.opencl.building import built_anew
from tests.opencl.case import Case, LocalBytes
from tests.opencl.cases import CASES
from visim.engine.jit.common import native
from visim.engine.jit.common.tiers import Tier
from visim.engine.jit.launch import kept

CHOSEN = [case for case in CASES if not case.keeps_state][3::13]


def _made_for(name: str) -> Callable[[str, native.Processor, Tier], bytes]:
    def make(text: str, processor: native.Processor, tier: Tier) -> bytes:
        assert processor.name == name
        return native.object_code(text, processor, tier)

    return make


class _Made(Exception):
    """Object code is there, and goes no further."""


def _keep_out(code: bytes, entry: str) -> None:
    del entry
    assert code[:4] == b"\x7fELF"
    raise _Made


@pytest.mark.skipif(not IS_X86, reason="this host is not x86-64")
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v4"])
@pytest.mark.parametrize("device", ["pvc", "dg2"])
@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
def test_code_is_made(case: Case, device: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if device not in case.devices:
        pytest.skip(case.devices_why)
    program = built_anew(case.text, device, case.options)
    monkeypatch.setenv("VISIM_CPU", level)
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    monkeypatch.setattr(kept, "_linked", _keep_out)  # without what other tests have linked
    monkeypatch.setattr(kept, "object_of", _made_for(level))
    values, launch = case.values(), case.launches[0]
    args = [values[name] for name in launch.names]
    bound = program[launch.kernel].bind(
        [visim.Local(arg.nbytes) if isinstance(arg, LocalBytes) else arg for arg in args],
        global_size=launch.global_size,
        local_size=launch.local_size,
        global_offset=launch.global_offset,
        engine="jit",
    )
    with pytest.raises(_Made):
        bound()
