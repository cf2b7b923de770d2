"""Groups all of whose messages are known to be in range, and those next to them, on both engines.

Launches before fill what is remembered of allocations. Then rows of groups are moved along the
arrays, past their ends too, so that some are in range as a whole and others are not.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import visim
from tests.hosts import IS_X86
from tests.opencl.building import built_anew
from visim.engine.jit.common import native
from visim.engine.jit.common.tiers import Tier
from visim.engine.jit.launch import kept
from visim.errors import FaultError

WIDTH, HEIGHT = 64, 6
SIZE = 2 * WIDTH * HEIGHT

BODIES = {
    "rows": "out[i] = in[j] + 1;",
    "neighbours": "out[i] = in[j - 1] + in[j + w] + in[j];",
    "under a guard": "if (x > 0 && y > 0 && x < w - 1) out[i] = in[j - 1] + in[j - w] + in[j];",
    "in place": "out[i] = out[i] + out[p * w + x];",
    "one element": "out[i] = in[y * w + p] + in[p];",
    "clamped": "out[i] = in[max(y - 1, 0) * w + x + b] + in[min(y + 1, p) * w + x];",
    "reversed": "out[w * h - 1 - i + 2 * a] = in[j];",
    "at distances": "out[i] = in[2 * x + y * w + b] + in[3 * x + b];",
    "of words": "out[i] = in[(int)((uint)(y * p) >> 1) * w + (x & 31) + b];",
    "of 64 bits": "long k = (long)y * w + x + a; out[k] = in[(size_t)(uint)j];",
    "of unsigned numbers": "uint k = y * (uint)w + x; out[k + a] = in[k + b];",
    "wrapping": "out[i] = in[(x << 26) + j];",
}
KINDS = ("int", (32, 2)), ("uchar", (16, 2)), ("float", (64, 1))
PLACES = (0, WIDTH, 5, -1, SIZE - WIDTH * HEIGHT, SIZE - WIDTH * HEIGHT + 1, SIZE, -WIDTH)


def source(body: str, kind: str) -> str:
    return f"""
kernel void k(global {kind} *out, global const {kind} *in, int w, int h, int a, int b, int p) {{
    int x = get_global_id(0), y = get_global_id(1), i = y * w + x + a, j = y * w + x + b;
    {body}
}}"""


def between_gaps(values: np.ndarray) -> np.ndarray:
    """Return an array with memory around it that no launch has."""
    room = np.zeros(3 * SIZE, values.dtype)
    room[SIZE : 2 * SIZE] = values
    return room[SIZE : 2 * SIZE]


def without_addresses(fault: FaultError) -> str:
    return re.sub(r"0x[0-9a-f]+|out of range .*", "", str(fault))


class Both:
    """A program with arrays for each engine, which launches leave as they are found."""

    def __init__(self, program: visim.Program, kind: str) -> None:
        self.kernel = program["k"]
        values = np.random.default_rng(1).integers(0, 99, SIZE)
        numpy = {"int": np.int32, "uchar": np.uint8, "float": np.float32}[kind]
        self.arrays = {
            engine: [between_gaps(one.astype(numpy)) for one in (np.zeros(SIZE), values)]
            for engine in ("interpreter", "jit")
        }

    def run(self, engine: str, local: tuple[int, int], scalars: tuple[int, ...]) -> object:
        arrays = self.arrays[engine]
        options = {"workers": 1} if engine == "jit" else {}
        try:
            report = self.kernel.launch(
                [*arrays, *map(np.int32, (WIDTH, HEIGHT, *scalars))],
                global_size=(WIDTH, HEIGHT),
                local_size=local,
                engine=engine,
                **options,
            )
        except FaultError as fault:
            return without_addresses(fault), arrays[0].tobytes()
        counts = report.groups, report.threads, report.instructions, report.dropped_accesses
        return counts, arrays[0].tobytes()


@pytest.mark.parametrize("device", ["pvc", "dg2", "tgllp"])
@pytest.mark.parametrize("body", BODIES)
def test_rows_of_groups_are_moved_past_the_ends_of_arrays(device: str, body: str) -> None:
    kind, local = KINDS[len(body) % len(KINDS)]
    both = Both(built_anew(source(BODIES[body], kind), device), kind)
    for a in PLACES:
        for b in (WIDTH, a):
            found = [both.run(engine, local, (a, b, 3)) for engine in ("interpreter", "jit")]
            assert found[0] == found[1], (a, b)


@pytest.mark.parametrize("device", ["pvc", "dg2"])
def test_numbers_that_wrap_are_not_taken_for_their_ends(device: str) -> None:
    both = Both(built_anew(source(BODIES["of words"], "int"), device), "int")
    for p in (0, 1, 3, 40_000, 1 << 30, -1, -(1 << 31), (1 << 31) - 1):
        for _ in range(2):
            found = [both.run(engine, (32, 2), (0, 0, p)) for engine in ("interpreter", "jit")]
            assert found[0] == found[1], p


@pytest.mark.skipif(not IS_X86, reason="other hosts have no such loops")
@pytest.mark.parametrize(
    ("body", "twice"),
    [
        ("out[i] = in[j] + 1;", True),
        ("if (x > p) out[i] = in[j];", True),
        ("size_t k = get_global_id(0); out[k] = in[k];", True),
        # Where data say where channels load nothing is known before.
        ("out[in[i]] = in[out[j]];", None),
        ("for (int n = 0; n < p; ++n) out[i] += in[j + n * w];", False),
        ("atomic_add((global uint *)out + (in[j] & 15), 1u);", False),
    ],
)
def test_short_threads_without_loops_are_written_twice(
    monkeypatch: pytest.MonkeyPatch, body: str, twice: bool | None
) -> None:
    texts, compiled = list[str](), kept.object_of

    def noted(text: str, made_for: native.Processor, tier: Tier) -> bytes:
        texts.append(text)
        return compiled(text, made_for, tier)

    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    monkeypatch.setattr(kept, "object_of", noted)
    both = Both(built_anew(source(body, "int"), "pvc"), "int")
    both.run("jit", (32, 2), (0, 0, 1))
    lines = texts[-1].split("\n")
    assert ("look.at.ranges:" in lines) == (twice is not False)
    # Nothing is asked for that never holds: a constant with the sign bit is a great number.
    assert not re.search(r"icmp sge i64 -\d+, 0", texts[-1])
    if twice:  # the second way has no code for what is out of range, and nothing leads there
        start = lines.index("group.begins.certain:")
        certain = "\n".join(lines[start : lines.index("out:")])
        assert not re.search(r"label %general", certain)


def test_other_memory_is_looked_at_again() -> None:
    """What was in range of the arrays of one launch is not in those of the next one."""
    program = built_anew(source(BODIES["rows"], "int"), "pvc")
    for size in (SIZE, SIZE // 2 - 1, SIZE, SIZE // 2):
        out, values = np.zeros(SIZE, np.int32), np.arange(size, dtype=np.int32)
        scalars = map(np.int32, (WIDTH, HEIGHT, 0, 0, 0))

        def launch(
            arrays: tuple[np.ndarray, ...] = (out, values),
            scalars: tuple[np.int32, ...] = tuple(scalars),
        ) -> None:
            program["k"].launch(
                [*arrays, *scalars],
                global_size=(WIDTH, HEIGHT),
                local_size=(32, 2),
                engine="jit",
            )

        if size < WIDTH * HEIGHT:
            with pytest.raises(FaultError, match="out of range"):
                launch()
            continue
        launch()
        launch()
        np.testing.assert_array_equal(out[: WIDTH * HEIGHT], values[: WIDTH * HEIGHT] + 1)
