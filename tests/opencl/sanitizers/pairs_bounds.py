"""Kernels that leave their memory, each with the least that mends it."""

from __future__ import annotations

from tests.opencl.sanitizers.pairs import FENCE, ITEM, Pair

READ, WRITE, LOCAL = "oob-read", "oob-write", "oob-local"

BOUNDS_PAIRS = (
    Pair(
        "one past the end",
        WRITE,
        ITEM
        + """\
  y[g * 4 + 4] = x[g]; /*1*/ //-
  y[g * 4 + 3] = x[g]; //+
""",
    ),
    Pair(
        "one before the start",
        WRITE,
        ITEM
        + """\
  y[g - 1] = x[g]; /*1*/ //-
  if (g > 0) y[g - 1] = x[g]; //+
""",
    ),
    Pair(
        "read past the end",
        READ,
        ITEM
        + """\
  y[g] = x[g * 5]; /*1*/ //-
  y[g] = x[g * 4]; //+
""",
    ),
    Pair(
        "missing tail mask",
        WRITE,
        ITEM
        + """\
  for (int i = 0; i < 5; i++) {
    int at = i * 256 + g;
    if (at < 1024) //+
    y[at] = i; /*1*/
  }
""",
    ),
    Pair(
        "stencil without a border",
        READ,
        ITEM
        + """\
  y[g] = x[g - 1] + x[g + 1]; /*1*/ //-
  y[g] = x[max(g - 1, 0)] + x[g + 1]; //+
""",
    ),
    Pair(
        "rows and columns exchanged",
        WRITE,
        ITEM
        + """\
  int row = g / 64, column = g % 64;
  y[column * 64 + row] = x[g]; /*1*/ //-
  y[row * 64 + column] = x[g]; //+
""",
    ),
    Pair(
        "bytes taken for elements",
        READ,
        ITEM
        + """\
  int offset = g * 4 * sizeof(int);
  y[g] = x[offset]; /*1*/ //-
  y[g] = x[offset / 4]; //+
""",
    ),
    Pair(
        "index out of a buffer",
        WRITE,
        ITEM
        + """\
  y[x[g] * 11] = 1; /*1*/ //-
  y[g] = x[g] * 11; //+
""",
    ),
    Pair(
        "vector over the end",
        WRITE,
        ITEM
        + """\
  if (g < 2) vstore4((int4)(g), 254 + g, y + 2); /*1*/ //-
  if (g < 2) vstore4((int4)(g), 253 + g, y + 2); //+
""",
    ),
    Pair(
        "vector load over the end",
        READ,
        ITEM
        + """\
  int4 v = vload4(g, x + 4); /*1*/ //-
  int4 v = vload4(g, x); //+
  y[g] = v.x + v.w;
""",
    ),
    Pair(
        "atomic past the end",
        WRITE,
        ITEM
        + """\
  atomic_inc(y + 960 + x[g]); /*1*/ //-
  atomic_inc(y + 900 + x[g]); //+
""",
    ),
    Pair(
        "size of the other buffer",
        READ,
        ITEM
        + """\
  for (int i = g; i < 1030; i += 256) { //-
  for (int i = g; i < 1024; i += 256) { //+
    y[g] += x[i]; /*1*/
  }
""",
    ),
    Pair(
        "loop one turn too long",
        READ,
        ITEM
        + """\
  int sum = 0;
  for (int i = 0; i <= 4; i++) //-
  for (int i = 0; i < 4; i++) //+
    sum += x[g + i * 256]; /*1*/
  y[g] = sum;
""",
    ),
    Pair(
        "unsigned difference",
        READ,
        ITEM
        + """\
  uint at = (uint)l - 1u; //-
  uint at = l ? (uint)l - 1u : 0u; //+
  y[g] = x[at]; /*1*/
""",
    ),
    Pair(
        "binary search past the end",
        READ,
        ITEM
        + """\
  int low = 0, high = 1024;
  for (int i = 0; i < 12; i++) {
    int middle = (low + high) / 2;
    if (middle < 1024) //+
    if (x[middle] >= 0) low = middle + 1; else high = middle; /*1*/
  }
  y[g] = low;
""",
    ),
    Pair(
        "local array past the end",
        LOCAL,
        ITEM
        + f"""\
  t[l + 1] = x[g]; /*1*/ //-
  t[l] = x[g]; //+
  {FENCE}
  y[g] = t[max(l, 1)];
""",
    ),
    Pair(
        "local array before the start",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g];
  {FENCE}
  y[g] = t[l - 1]; /*1*/ //-
  y[g] = t[max(l - 1, 0)]; //+
""",
    ),
    Pair(
        "halo without room",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g];
  if (l == 0) t[n] = x[g + n]; /*1*/ //-
  {FENCE}
  y[g] = t[l];
""",
    ),
    Pair(
        "local index of the whole range",
        LOCAL,
        ITEM
        + f"""\
  t[g] = x[g]; /*1*/ //-
  t[l] = x[g]; //+
  {FENCE}
  y[g] = t[l];
""",
    ),
    Pair(
        "padding that was forgotten",
        LOCAL,
        ITEM
        + f"""\
  int at = l / 8 * 9 + l % 8; //-
  int at = l; //+
  t[at] = x[g]; /*1*/
  {FENCE}
  y[g] = t[at];
""",
    ),
    Pair(
        "transposed tile too small",
        LOCAL,
        ITEM
        + f"""\
  t[l % 8 * 9 + l / 8] = x[g]; /*1*/ //-
  t[l % 8 * 8 + l / 8] = x[g]; //+
  {FENCE}
  y[g] = t[l];
""",
    ),
    Pair(
        "local atomics past the end",
        LOCAL,
        ITEM
        + f"""\
  t[l] = 0;
  {FENCE}
  atomic_inc(t + x[g]); /*1*/ //-
  atomic_inc(t + x[g] % 64); //+
  {FENCE}
  y[g] = t[l];
""",
    ),
    Pair(
        "into the next local argument",
        LOCAL,
        ITEM
        + f"""\
  t[l + 8] = x[g]; /*1*/ //-
  t[l] = x[g]; //+
  u[l] = g;
  {FENCE}
  y[g] = t[max(l, 8)] + u[l];
""",
        head="kernel void k(global int *x, global int *y, local int *t, local int *u) {\n",
    ),
    Pair(
        "into the neighbouring buffer",
        WRITE,
        ITEM
        + """\
  y[g - 4] = x[g]; /*1*/ //-
  if (g >= 4) y[g - 4] = x[g]; //+
""",
    ),
    Pair(
        "head index without a guard",
        WRITE,
        ITEM
        + """\
  int slot = atomic_inc(y + 1023);
  if (slot < 100) //+
  y[900 + slot] = g; /*1*/
""",
    ),
)
