"""printf on every device prints what PoCL prints, and loses nothing unnoticed."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import visim
import visim.opencl
from tests.opencl import pocl
from tests.opencl.building import built
from tests.opencl.case import ALL_DEVICES

pytestmark = pytest.mark.usefixtures("each_engine")

# One kernel for each group of formats; PoCL prints null pointers and negative NaNs in its own way.
CALLS = {
    "integers": r"""
        printf("%d %i %u %x %X %o|%+d % d %05d %-5d|%5d\n",
               42, -42, 42u, 255, 255, 8, 7, 7, 7, 7, 7);
        printf("%#x %#X %#o %#x|%.0d|%.5d|%8.5d|%-8.3d|%08.3d|%.3x\n",
               255, 255, 8, 0, 0, 42, 42, 42, 42, 10);
        printf("%hhd %hd %hhu %hx %hhx\n", 300, 70000, 300, 70000, -1);
        printf("%ld %lu %lx %lo %li\n", -5L, 5000000000UL, -1L, 8L, 7L);
    """,
    "floats": r"""
        printf("%f %.2f %10.3e %-10g|%+g % g %#g %E %G\n",
               1.5f, 3.14159f, 31415.9f, 1.5f, 2.5f, 2.5f, 2.0f, 1.5f, 1e-10f);
        printf("%a %a %A %.3a %.0a %20a %-20a| %+a\n",
               0.1f, 0.0f, 1.5f, 1.999f, 1.5f, 1.5f, 1.5f, 1.5f);
        printf("%f %f %f|%08f|%-8f|%+f %F\n",
               INFINITY, -INFINITY, NAN, INFINITY, INFINITY, INFINITY, INFINITY);
    """,
    "texts": r"""
        printf("plain\n");
        printf("%c|%5c|%-5c|%s|%10s|%-10s|%.2s\n", 'a', 'b', 'c', "str", "right", "left", "cut");
        printf("%d%% %%d \"quoted\" back\\nslash \t tab\n", 5);
        printf("%p|%20p|%-20p|\n", (__global void *)0x1234, (__global void *)0x1234,
               (__global void *)0x1234);
    """,
    "vectors": r"""
        printf("%v4hld|%v2hlx|%v3hd|%v8hhx\n", (int4)(1, -2, 3, 4), (int2)(10, 11),
               (short3)(1, 2, -3), (char8)(1, 2, 3, 4, 5, 6, 7, -8));
        printf("%v16hhu|%v4ld\n", (uchar16)(200), (long4)(1, -2, 3, 4));
        printf("%05.1v2hlf|%-6v2hlf|%+v3hld|%#v2hlx|%v2hla|%v2hle|%v2hlg\n", (float2)(1.25f, 2.5f),
               (float2)(1.25f, 2.5f), (int3)(1, 2, 3), (int2)(1, 255), (float2)(1.0f, 2.5f),
               (float2)(1.0f, 2.5f), (float2)(1.0f, 2.5f));
    """,
}
SOURCE = "\n".join(f"__kernel void {name}(void) {{ {body} }}" for name, body in CALLS.items())
MANY = r"""
__kernel void many(__global int *out) {
    int i = get_global_id(0);
    printf("%d begins\n", i);
    out[i] = i;
    printf("%d ends\n", i);
}
__kernel void flood(int count) {
    for (int i = 0; i < count; i++)
        printf("%v16hld %v16hld %v16hld %v16hld\n", (int16)(i), (int16)(i), (int16)(i), (int16)(i));
}
"""
CHILD = """
import sys
from tests.opencl import pocl
from tests.opencl.case import Launch
program = pocl.Pocl().build(sys.stdin.read(), "")
program.run({}, [Launch(sys.argv[1], "", (1,), (1,))])
"""


@cache
def _expected(name: str) -> str:
    """What PoCL prints; it writes to the standard output of its process."""
    words = [sys.executable, "-c", CHILD, name]
    found = subprocess.run(words, input=SOURCE, capture_output=True, text=True, check=True)
    return found.stdout


@pytest.mark.skipif(pocl.missing() is not None, reason=f"PoCL: {pocl.missing()}")
@pytest.mark.parametrize("device", ALL_DEVICES)
@pytest.mark.parametrize("name", CALLS)
def test_formats_print_what_pocl_prints(name: str, device: str, capsys) -> None:
    report = built(SOURCE, device)[name].launch([], global_size=1)
    assert report.printf == _expected(name)
    assert capsys.readouterr().out == report.printf


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_ten_thousand_work_items_lose_nothing_and_keep_their_order(device: str) -> None:
    out, pieces = np.zeros(10_000, np.int32), []
    with visim.printf_to(pieces.append):
        report = built(MANY, device)["many"].launch([out], global_size=10_000, local_size=100)
    assert report.notes == ()
    assert "".join(pieces) == report.printf
    assert len(pieces) > 1
    lines = report.printf.splitlines()
    begun: set[str] = set()
    for line in lines:
        item, what = line.split()
        assert what == "begins" or item in begun
        begun.add(item)
    assert len(lines) == 20_000
    assert begun == {str(i) for i in range(10_000)}


def test_what_the_buffer_cannot_hold_is_counted() -> None:
    count, record = 900, 8 + 4 * (8 + 64)
    with visim.printf_to(lambda _: None):
        report = built(MANY, "pvc")["flood"].launch([count], global_size=16, local_size=16)
    printed = len(report.printf.splitlines())
    assert printed == (2**22 - 4) // record
    assert report.notes == (
        f"printf: {(16 * count - printed) * record} bytes of records are lost; groups printed more "
        "than the 4194304 bytes that the buffer holds",
    )
