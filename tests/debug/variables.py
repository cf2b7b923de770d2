"""A kernel whose variables a model in Python knows before each of its lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import visim
from tests.opencl.building import built, built_by_current
from visim.debug.session import Session

SOURCE = """\
struct point { int tag; float at[3]; };

float part(float v, int k)
{
    float t = v * k;
    if (k & 1)
        t += 3.0f;
    return t * t;
}

__attribute__((noinline)) int below(int count)
{
    int total = 0;
    for (int j = 0; j < count; j++)
        total += j * count;
    return total;
}

kernel void sums(global float *out, global const float *x, float scale, int n, local int *shared)
{
    int i = get_global_id(0);
    struct point p;
    p.tag = i;
    p.at[0] = x[i];
    p.at[1] = scale;
    p.at[2] = 7;
    int places[8];
    uchar low = i;
    float sum = 0;
    for (int k = 0; k < n; k++) {
        places[k & 7] = k * i;
        float h = part(x[i], k);
        sum += h;
    }
    shared[get_local_id(0)] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    int all = below(n) + places[i & 3] + shared[63 - get_local_id(0)];
    out[i] = sum + all + low + p.at[i % 3];
}
"""

ITEMS, LOCAL, TURNS, SCALE = 128, 64, 5, 2.5


def line(text: str) -> int:
    """Return the line of the source that has a text."""
    return next(n for n, one in enumerate(SOURCE.splitlines(), 1) if text in one)


Known = dict[str, Any]


def model(i: int) -> Iterator[tuple[int, str, Known]]:
    """Yield what a work-item's variables hold: the line that comes next, its function, and they.

    Only what has a value then is among them; of structures and arrays only if all of it has.
    """
    own: Known = {"i": i, "n": TURNS, "scale": SCALE}
    own["p"] = {"tag": i, "at": [float(i), SCALE, 7.0]}
    own["low"] = i & 255
    own["sum"] = 0.0
    for k in range(TURNS):
        own["k"] = k
        yield line("places[k & 7]"), "sums", dict(own)
        v = float(i)
        t = v * k
        yield line("if (k & 1)"), "part", {"v": v, "k": k, "t": t}
        yield line("if (k & 1)"), "sums", dict(own)
        t += 3 * (k & 1)
        yield line("return t * t"), "part", {"v": v, "k": k, "t": t}
        yield line("sum += h"), "sums", {**own, "h": t * t}
        own["sum"] = float(np.float32(own["sum"]) + np.float32(t * t))
    del own["k"]
    yield line("int all ="), "sums", dict(own)
    total = sum(j * TURNS for j in range(TURNS))
    yield line("return total"), "below", {"count": TURNS, "total": total}
    base = i // LOCAL * LOCAL
    places = [k * i for k in range(TURNS)]
    own["all"] = total + places[i & 3] + base + 63 - i % LOCAL
    yield line("out[i] = sum"), "sums", dict(own)


def session(device: str, options: str, *, current: bool = False) -> Session:
    """Return a session of the kernel as one of the compilers makes it."""
    program = (built_by_current if current else built)(SOURCE, device, options)
    out, x = np.zeros(ITEMS, np.float32), np.arange(ITEMS, dtype=np.float32)
    values = [out, x, np.float32(SCALE), TURNS, visim.Local(4 * LOCAL)]
    return Session(program["sums"], values, {"global_size": ITEMS, "local_size": LOCAL})
