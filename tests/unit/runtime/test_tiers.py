"""Long kernels: made quickly, made again in the background, and given up when nobody wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from time import monotonic

import numpy as np
import pytest
from numpy.typing import NDArray

import visim
from visim.engine.base import Lookout
from visim.engine.jit import Prepared
from visim.engine.jit.common import apart, tiers
from visim.engine.jit.common.ahead import RENEWING
from visim.engine.jit.common.cache import ObjectCache
from visim.engine.jit.common.native import any_processor
from visim.engine.jit.common.tiers import Tier, first_tier, has_second_tier
from visim.engine.stops import Stopped, stoppable
from visim.errors import FaultError

HEAD = """.version 4.1
.kernel "hash"
.decl data v_type=G type=uq num_elts=1 align=qword
.decl a v_type=G type=d num_elts=16 align=wordx32
.decl b v_type=G type=d num_elts=16 align=wordx32
.decl odd v_type=P num_elts=16
.input data offset=32 size=8
.kernel_attr SimdSize=16
.function "hash"
hash:
    lsc_load.ugm (M1_NM, 1) a:d32x16t flat[data]:a64
    mov (M1, 16) b(0,0)<1> 0x67452301:d
"""
ROUND = """    add (M1, 16) b(0,0)<1> b(0,0)<1;1,0> a(0,0)<1;1,0>
    rol (M1, 16) b(0,0)<1> b(0,0)<1;1,0> 0x{turn:x}:d
    and (M1, 16) a(0,0)<1> b(0,0)<1;1,0> 0x{key:x}:d
    cmp.lt (M1, 16) odd a(0,0)<1;1,0> 0x{key:x}:d
    (odd) goto (M1, 16) small{n}
    xor (M1, 16) b(0,0)<1> b(0,0)<1;1,0> 0x{key:x}:d
small{n}:
    not (M1, 16) a(0,0)<1> b(0,0)<1;1,0>
"""
TAIL = """    lsc_store.ugm (M1_NM, 1) flat[data]:a64 b:d32x16t
    ret (M1, 1)
"""


def kernel_of(rounds: int) -> visim.Kernel:
    """Return a kernel of eight lines a round, as hashes have them: unrolled, with branches."""
    body = (ROUND.format(n=n, turn=n % 31 + 1, key=n * 2654435761 % 2**31) for n in range(rounds))
    return visim.assemble("".join([HEAD, *body, TAIL]), platform="dg2")["hash"]


def hashed(kernel: visim.Kernel, engine: str) -> NDArray[np.int32]:
    data = np.arange(16, dtype=np.int32) * 77777
    kernel.launch([data], engine=engine)
    return data


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have modules of any length made quickly first, each in a process of its own."""
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    monkeypatch.setattr(tiers, "LONG", 0)
    monkeypatch.setattr(apart, "LONG", 0)
    yield
    until(lambda: not RENEWING.is_busy)


def until(holds: Callable[[], bool]) -> None:
    end = monotonic() + 60
    while not holds():
        assert monotonic() < end
        Event().wait(0.01)


def test_the_tier_goes_by_the_length_of_the_text() -> None:
    assert first_tier(tiers.LONG) is Tier.USUAL
    assert first_tier(tiers.LONG + 1) is Tier.LEAST
    assert [has_second_tier(n) for n in (tiers.LONG, tiers.TOO_LONG, tiers.TOO_LONG + 1)] == [
        *(False, True, False)
    ]


@pytest.mark.usefixtures("quick")
def test_code_of_both_tiers_gives_the_same_and_the_second_comes_by_itself() -> None:
    kernel = kernel_of(20)
    expected = hashed(kernel, "interpreter")
    data = np.arange(16, dtype=np.int32) * 77777
    launch = kernel.bind([data], engine="jit")
    started = data.copy()
    launch()
    assert data.tobytes() == expected.tobytes()
    prepared = launch.executables.borrow()
    assert isinstance(prepared, Prepared)
    assert prepared.code.renewals == 0
    launch.executables.give_back(prepared)
    data[:] = started
    launch()
    until(lambda: prepared.code.renewals == 1)
    data[:] = started
    launch()
    assert data.tobytes() == expected.tobytes()


def test_the_better_code_is_taken_from_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("VISIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tiers, "LONG", 0)
    stored: list[str] = []
    put = ObjectCache.put

    def noted(self: ObjectCache, key: str, code: bytes) -> None:
        stored.append(key)
        put(self, key, code)

    monkeypatch.setattr(ObjectCache, "put", noted)
    kernel = kernel_of(3)
    for _ in range(2):
        hashed(kernel, "jit")
    until(lambda: not RENEWING.is_busy)
    count = len(stored)
    assert hashed(kernel_of(3), "jit").tobytes() == hashed(kernel, "interpreter").tobytes()
    assert len(stored) == count


@pytest.mark.usefixtures("quick")
def test_a_launch_ends_at_its_time_while_it_is_compiled() -> None:
    kernel = kernel_of(3000)
    began = monotonic()
    with pytest.raises(FaultError) as caught:
        kernel.launch([np.zeros(16, np.int32)], engine="jit", timeout=0.3)
    assert caught.value.fault.code == "timeout"
    assert "0.3 seconds" in str(caught.value)
    assert monotonic() - began < 30


def test_a_child_is_ended_when_nobody_wants_what_it_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "LONG", 0)
    stop = Event()
    stop.set()
    with stoppable(stop), pytest.raises(Stopped):
        apart.compiled("define void @f() {\n  ret void\n}\n", any_processor(), Tier.LEAST)
    until(lambda: all(child.has_ended for child in list(apart.ALIVE)))


def test_a_child_says_nothing_and_its_parent_says_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(apart, "LONG", 0)
    with pytest.raises(RuntimeError, match="expected"):
        apart.compiled("no module\n", any_processor(), Tier.LEAST)


def test_who_watches_hears_how_far_the_compiling_is(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    class Ears(Lookout):
        def prepared(self, what: str, done: int, total: int) -> None:
            heard.append(what)

    monkeypatch.setattr(apart, "LONG", 0)
    with stoppable(Ears()):
        apart.compiled("define void @f() {\n  ret void\n}\n", any_processor(), Tier.LEAST)
    assert heard
    assert all(one.startswith("LLVM, ") for one in heard)
