"""Claims find every race of bytes, and nothing but what two work-items do to four bytes."""

from __future__ import annotations

import random
from ctypes import CFUNCTYPE, c_bool, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from llvmlite import binding

from visim.engine.claims import GROUP_SHIFT, PHASE_SHIFT, THREAD_SHIFT
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.writing.claimfunctions import ClaimCall

BITS, FIRST, MANY = 10, 5, 900
WRITERS = np.zeros(2 << BITS, np.uint64)
READERS = np.zeros(2 << BITS, np.uint64)
LAUNCH = np.array([FIRST << GROUP_SHIFT, MANY << GROUP_SHIFT], np.uint64)
WEIGHTS = '!0 = !{!"branch_weights", i32 1, i32 9}\n!1 = !{!"branch_weights", i32 9, i32 1}\n'


@dataclass(frozen=True)
class Done:
    """What one lane has done to some bytes."""

    verb: str
    group: int
    phase: int
    item: tuple[int, int]
    start: int
    size: int

    def races(self, later: Done, *, is_local: bool) -> bool:
        """Whether this and a later access reach the same byte in no order."""
        if self.verb == later.verb and self.verb in {"load", "atomic"}:
            return False
        if self.item == later.item and self.group == later.group:
            return False
        return self._is_unordered(later, is_local=is_local) and self._meets(later, 1)

    def is_suspicious(self, later: Done, *, is_local: bool) -> bool:
        """Whether this and a later access may be taken for a race.

        They reach the same four bytes, and are by others, by an atomic, or of narrow elements, of
        which words do not say more than how they lie.
        """
        if self.verb == later.verb == "load":
            return False
        wide = all(one.size % 4 == 0 and one.start % 4 == 0 for one in (self, later))
        same = self.item == later.item and self.group == later.group
        if same and wide and "atomic" not in {self.verb, later.verb}:
            return False
        return self._is_unordered(later, is_local=is_local) and self._meets(later, 4)

    def _is_unordered(self, later: Done, *, is_local: bool) -> bool:
        if self.group != later.group:
            return not is_local
        return self.phase == later.phase

    def _meets(self, later: Done, unit: int) -> bool:
        ends = [-(-(one.start + one.size) // unit) for one in (self, later)]
        return self.start // unit < ends[1] and later.start // unit < ends[0]


@cache
def compiled(verb: str, is_local: bool, lanes: int, size: int, whole: bool):
    words = int(WRITERS.ctypes.data), int(READERS.ctypes.data)
    first = None if whole else 0
    call = ClaimCall(verb, is_local, lanes, size, first, words, BITS, int(LAUNCH.ctypes.data))
    library = Library()
    call.make_row(library)
    vector = f"<{lanes} x i64>"
    run = f"""
define i1 @anywhere(i64 %own, ptr %at, i64 %mask) {{
  %addresses = load {vector}, ptr %at, align 8
  %found = call i1 @{call.name}(i64 %own, {vector} %addresses, i64 %mask)
  ret i1 %found
}}
define i1 @row(i64 %own, ptr %at, i64 %mask) {{
  %start = load i64, ptr %at, align 8
  %found = call i1 @{call.name}.row(i64 %own, i64 %start, i64 %mask)
  ret i1 %found
}}
"""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = binding.parse_assembly(library.render() + run + WEIGHTS)
    machine = binding.Target.from_default_triple().create_target_machine(opt=0)
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    kind = CFUNCTYPE(c_bool, c_uint64, c_void_p, c_uint64)
    both = [kind(engine.get_function_address(name)) for name in ("anywhere", "row")]
    return engine, both


def addresses(rng: random.Random, lanes: int, size: int) -> tuple[list[int], bool]:
    """Return where lanes go, and whether they are side by side."""
    room = (1 << BITS) - lanes * size
    each = min(size, 4)
    start = rng.randrange(0, room, each if rng.random() < 0.9 else 1)
    match rng.randrange(5):
        case 0 | 1:
            return [start + lane * size for lane in range(lanes)], True
        case 2:
            return [start] * lanes, False
        case 3:
            row = max(1, lanes // 2)
            return [start + lane % row * size for lane in range(lanes)], False
        case _:
            return [rng.randrange(0, (1 << BITS) - size, each) for _ in range(lanes)], False


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_local", [False, True])
def test_claims_are_between_races_of_bytes_and_of_cells(seed: int, is_local: bool) -> None:
    rng = random.Random(f"claims {seed} {is_local}")
    history: list[Done] = []
    group, phase, suspicions = FIRST, 0, 0
    WRITERS[:] = READERS[:] = (FIRST - 2) << GROUP_SHIFT  # of an earlier launch
    for _ in range(400):
        phase += rng.random() < 0.1
        if rng.random() < 0.03:
            group, phase = group + 1, 0
        verb = rng.choice(("load", "load", "store", "atomic"))
        lanes = rng.choice((1, 8, 32))
        size = 4 if verb == "atomic" else rng.choice((1, 2, 3, 4, 4, 12))
        thread, whole = rng.randrange(3), rng.random() < 0.1
        at, is_row = addresses(rng, lanes, size)
        mask = (1 << lanes) - 1 if rng.random() < 0.6 else rng.getrandbits(lanes)
        own = group << GROUP_SHIFT | phase << PHASE_SHIFT | thread << THREAD_SHIFT
        now = [
            Done(verb, group, phase, (thread, -1 if whole else lane), at[lane], size)
            for lane in range(lanes)
            if mask >> lane & 1
        ]
        _, calls = compiled(verb, is_local, lanes, size, whole)
        given = np.array(at, np.uint64)
        call = calls[is_row and rng.random() < 0.5]
        found = call(own, int(given.ctypes.data), mask)
        pairs = [(a, b) for number, b in enumerate(now) for a in (*history, *now[:number])]
        if not found:
            assert not any(a.races(b, is_local=is_local) for a, b in pairs)
            history += now
            continue
        assert any(a.is_suspicious(b, is_local=is_local) for a, b in pairs)
        suspicions += 1
        history.clear()
        WRITERS[:] = READERS[:] = 0
    assert suspicions > 20
