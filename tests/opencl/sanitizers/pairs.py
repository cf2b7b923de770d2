"""Wrong kernels, each with the least that mends it.

A line that ends with `//-` is in the wrong kernel only, one with `//+` in the mended one only. The
finding's lines are those with `/*1*/` and `/*2*/` (or both on one line), in any order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

HEAD = "kernel void k(global int *x, global int *y, local int *t) {\n"
SIZE, LOCAL = 256, 64
DEVICES = ("pvc", "tgllp", "bmg")


@dataclass(frozen=True)
class Pair:
    """A wrong kernel that gives a finding of `kind`; `body` follows `head`.

    `undefined` says that the buffer `y` counts as never written, `part` that it is the middle of a
    larger one, `current` that it takes the current compiler, whose debug data tells of arrays.
    `devices` are those that have what it needs. What prints much is not watched by all.
    """

    name: str
    kind: str
    body: str
    undefined: bool = False
    options: str = ""
    head: str = HEAD
    current: bool = False
    sanitize: str = "all"
    part: bool = False
    devices: tuple[str, ...] = DEVICES

    def text(self, *, mended: bool) -> str:
        """Return the kernel, wrong or mended; lines have the same numbers in both."""
        gone = "//-" if mended else "//+"
        lines = (self.head + self.body + "}\n").split("\n")
        return "\n".join("" if line.rstrip().endswith(gone) else line for line in lines)

    @property
    def lines(self) -> set[int]:
        """The numbers of the lines that the finding names."""
        lines = (self.head + self.body).split("\n")
        return {n for n, line in enumerate(lines, 1) if re.search(r"/\*[12]\*/", line)}


ITEM = "  int l = get_local_id(0), g = get_global_id(0), n = get_local_size(0);\n"
FENCE = "barrier(CLK_LOCAL_MEM_FENCE);"

PAIRS = (
    Pair(
        "neighbour without barrier",
        "race-local",
        ITEM
        + f"""\
  t[l] = x[g]; /*1*/
  {FENCE} //+
  y[g] = t[(l + 40) % n]; /*2*/
""",
    ),
    Pair(
        "fence of the other memory",
        "race-local",
        ITEM
        + f"""\
  t[l] = x[g]; /*1*/
  barrier(CLK_GLOBAL_MEM_FENCE); //-
  {FENCE} //+
  y[g] = t[(l + 40) % n]; /*2*/
""",
    ),
    Pair(
        "fence without barrier",
        "race-local",
        ITEM
        + f"""\
  t[l] = x[g]; /*1*/
  mem_fence(CLK_LOCAL_MEM_FENCE); //-
  {FENCE} //+
  y[g] = t[(l + 40) % n]; /*2*/
""",
    ),
    Pair(
        "global exchange with a local fence",
        "race-global",
        ITEM
        + f"""\
  y[g] = x[g]; /*1*/
  {FENCE} //-
  barrier(CLK_GLOBAL_MEM_FENCE); //+
  x[g] = y[g - l + (l + 40) % n]; /*2*/
""",
    ),
    Pair(
        "reduction without barriers",
        "race-local",
        ITEM
        + f"""\
  t[l] = x[g];
  {FENCE}
  for (int s = 1; s < n; s *= 2) {{
    if (l % (2 * s) == 0) t[l] += t[l + s]; /*1*/
    {FENCE} //+
  }}
  if (l == 0) y[get_group_id(0)] = t[0];
""",
    ),
    Pair(
        "double buffer refilled too early",
        "race-local",
        ITEM
        + f"""\
  int s = 0;
  for (int i = 0; i < 4; i++) {{
    t[l] = x[(g + i * 64) % 256]; /*1*/
    {FENCE}
    s += t[(l + 40) % n]; /*2*/
    {FENCE} //+
  }}
  y[g] = s;
""",
    ),
    Pair(
        "histogram without atomics",
        "race-global",
        ITEM
        + """\
  y[x[g] & 7]++; /*1*/ //-
  atomic_inc(&y[x[g] & 7]); //+
""",
    ),
    Pair(
        "local histogram without atomics",
        "race-local",
        ITEM
        + f"""\
  if (l < 8) t[l] = 0;
  {FENCE}
  t[x[g] & 7]++; /*1*/ //-
  atomic_inc(&t[x[g] & 7]); //+
  {FENCE}
  if (l < 8) y[get_group_id(0) * 8 + l] = t[l];
""",
    ),
    Pair(
        "shift in place across groups",
        "race-global",
        ITEM
        + """\
  x[g] = x[(g + 64) % 256]; /*1*/ //-
  y[g] = x[(g + 64) % 256]; //+
""",
    ),
    Pair(
        "overlap of tiles of groups",
        "race-global",
        ITEM
        + """\
  y[g] = 1; /*1*/
  y[g + 1] = x[g]; /*2*/ //-
  y[g + 256] = x[g]; //+
""",
    ),
    Pair(
        "queue with an unguarded head",
        "race-global",
        ITEM
        + """\
  int head = y[0]; /*1*/ //-
  y[0] = head + 1; /*2*/ //-
  int head = atomic_inc(&y[0]); //+
  x[(head & 511) + 1] = g + 1000000; /*3*/
""",
    ),
    Pair(
        "counter read plainly",
        "atomic-plain",
        ITEM
        + """\
  atomic_inc(&y[0]); /*1*/
  if (g == 200) y[1] = y[0]; /*2*/ //-
  if (g == 200) y[1] = atomic_or(&y[0], 0); //+
""",
    ),
    Pair(
        "product of all without compare and exchange",
        "race-global",
        ITEM
        + """\
  y[0] = y[0] * 3 + x[g]; /*1*/ //-
  int seen = y[0], was; //+
  while ((was = atomic_cmpxchg(&y[0], seen, seen * 3 + x[g])) != seen) seen = was; //+
""",
    ),
    Pair(
        "flag that all set",
        "race-same-value",
        ITEM
        + """\
  y[3] = 7; /*1*/ //-
  if (g == 0) y[3] = 7; //+
""",
    ),
    Pair(
        "last group sums without fences",
        "race-global",
        ITEM
        + f"""\
  y[g + 16] = x[g]; /*1*/
  {FENCE} //-
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); //+
  if (l == 0) t[0] = atomic_inc(&y[0]);
  {FENCE} //-
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); //+
  if (t[0] == 3 && l == 0) {{
    int s = 0;
    for (int i = 0; i < 256; i++) s += y[i + 16]; /*2*/
    y[1] = s;
  }}
""",
    ),
    Pair(
        "local index shifted by one",
        "race-local",
        ITEM
        + f"""\
  t[l] = 0; /*1*/
  t[(l + 1) % n] = x[g]; /*2*/ //-
  t[l] = x[g]; //+
  {FENCE}
  y[g] = t[l];
""",
    ),
    Pair(
        "local memory filled in part",
        "uninit-local",
        ITEM
        + f"""\
  if (l < 40) t[l] = x[g]; //-
  t[l] = x[g]; //+
  {FENCE}
  y[g] = t[(l + 40) % n]; /*1*/
""",
    ),
    Pair(
        "local counters without start",
        "uninit-local",
        ITEM
        + f"""\
  if (l < 8) t[l] = 0; //+
  {FENCE}
  atomic_inc(&t[x[g] & 7]);
  {FENCE}
  if (l < 8) y[get_group_id(0) * 8 + l] = t[l]; /*1*/
""",
    ),
    Pair(
        "tail of a reduction",
        "uninit-local",
        ITEM
        + f"""\
  if (g < 200) t[l] = x[g]; //-
  t[l] = g < 200 ? x[g] : 0; //+
  {FENCE}
  for (int s = n / 2; s > 0; s /= 2) {{
    if (l < s) t[l] += t[l + s];
    {FENCE}
  }}
  if (l == 0) y[get_group_id(0)] = t[0]; /*1*/
""",
    ),
    Pair(
        "local memory decides a branch",
        "uninit-local",
        ITEM
        + f"""\
  t[l] = x[g]; //+
  {FENCE}
  if (t[l] > 3) y[g] = 1; /*1*/
""",
    ),
    Pair(
        "local memory as an index",
        "uninit-local",
        ITEM
        + f"""\
  t[l] = x[g]; //+
  {FENCE}
  y[t[l] & 15 | g & ~15] = 1; /*1*/
""".replace("y[t[l] & 15 | g & ~15] = 1", "atomic_inc(&y[t[l] & 15])"),
    ),
    Pair(
        "private array filled in part",
        "uninit-private",
        ITEM
        + """\
  int a[8];
  for (int i = 0; i < 8; i++) a[i] = 0; //+
  for (int i = 0; i < (x[1] & 3); i++) a[x[i] & 7] = i;
  y[g] = a[x[g] & 7]; /*1*/
""",
    ),
    Pair(
        "large private array filled in part",
        "uninit-private",
        ITEM
        + """\
  int a[200];
  for (int i = 0; i < 200; i++) a[i] = 0; //+
  for (int i = 0; i < (x[1] & 3); i++) a[x[i] & 127] = i;
  y[g] = a[x[g] & 127]; /*1*/
""",
    ),
    Pair(
        "buffer filled in part",
        "uninit-global",
        ITEM
        + """\
  if (g < 100) y[g] = g; //-
  y[g] = g; //+
  x[g] = y[g]; /*1*/
""",
        undefined=True,
    ),
    Pair(
        "output taken for input",
        "uninit-global",
        ITEM
        + """\
  y[g] += x[g]; /*1*/ //-
  y[g] = x[g]; //+
""",
        undefined=True,
    ),
    Pair(
        "barrier in a branch",
        "barrier-divergence",
        ITEM
        + f"""\
  t[l] = x[g];
  if (l < 20) //-
  {FENCE} /*1*/
  y[g] = t[l];
""",
    ),
    Pair(
        "return in front of a barrier",
        "barrier-divergence",
        ITEM
        + f"""\
  if (g >= 250) return; //-
  t[l] = x[g];
  {FENCE} /*1*/
  y[g] = t[l];
""",
    ),
    Pair(
        "barrier in a loop of different lengths",
        "barrier-divergence",
        ITEM
        + f"""\
  int turns = l & 3; //-
  int turns = 3; //+
  for (int i = 0; i < turns; i++) {{
    t[l] = i;
    {FENCE} /*1*/
  }}
  y[g] = turns;
""",
    ),
)
