"""Kernels that do what OpenCL C leaves undefined, each with the least that mends it."""

from __future__ import annotations

from tests.opencl.sanitizers.pairs import ITEM, Pair

DIVISION, CONVERSION = "division-by-zero", "conversion-range"
FLOATS = "kernel void k(global float *x, global int *y) {\n"
SHORTS = "kernel void k(global ushort *x, global int *y) {\n"
BYTES = "kernel void k(global char *x, global int4 *y) {\n"

UNDEFINED_PAIRS = (
    Pair(
        "division by what may be zero",
        DIVISION,
        ITEM
        + """\
  y[g] = g / x[g]; /*1*/ //-
  y[g] = x[g] ? g / x[g] : 0; //+
""",
    ),
    Pair(
        "remainder of what may be zero",
        DIVISION,
        ITEM
        + """\
  y[g] = g % (l - 7); /*1*/ //-
  y[g] = g % (l + 7); //+
""",
    ),
    Pair(
        "average of no elements",
        DIVISION,
        ITEM
        + """\
  int sum = 0, count = 0;
  for (int i = 0; i < 8; i++)
    if (x[g + i] > 90) { sum += x[g + i]; count++; }
  y[g] = sum / count; /*1*/ //-
  y[g] = count ? sum / count : 0; //+
""",
    ),
    Pair(
        "bucket of an empty range",
        DIVISION,
        ITEM
        + """\
  uint width = (uint)(x[0] / 4);
  width = max(width, 1u); //+
  y[g] = (uint)x[g] / width; /*1*/
""",
    ),
    Pair(
        "short divisor",
        DIVISION,
        ITEM
        + """\
  y[g] = 4000 / x[g]; /*1*/ //-
  y[g] = 4000 / (x[g] + 1); //+
""",
        head=SHORTS,
    ),
    Pair(
        "strides of a row without columns",
        DIVISION,
        ITEM
        + """\
  int columns = x[g / 64]; //-
  int columns = x[g / 64] + 3; //+
  y[g] = x[g / columns] + g % columns; /*1*/
""",
    ),
    Pair(
        "float too large for an int",
        CONVERSION,
        ITEM
        + """\
  y[g] = (int)(x[g] * 1e9f); /*1*/ //-
  y[g] = convert_int_sat(x[g] * 1e9f); //+
""",
        head=FLOATS,
    ),
    Pair(
        "negative float to unsigned",
        CONVERSION,
        ITEM
        + """\
  y[g] = (uint)(x[g] - 5.0f); /*1*/ //-
  y[g] = (uint)fabs(x[g] - 5.0f); //+
""",
        head=FLOATS,
    ),
    Pair(
        "not a number to int",
        CONVERSION,
        ITEM
        + """\
  float root = sqrt(x[g] - 5.0f); //-
  float root = sqrt(x[g]); //+
  y[g] = (int)root; /*1*/
""",
        head=FLOATS,
    ),
    Pair(
        "quotient that is infinite",
        CONVERSION,
        ITEM
        + """\
  float by = x[g]; //-
  float by = x[g] + 1.0f; //+
  y[g] = (int)(100.0f / by); /*1*/
""",
        head=FLOATS,
    ),
    Pair(
        "half that is too large for a short",
        CONVERSION,
        ITEM
        + """\
  short s = (short)(x[g] * 1000.0f); /*1*/ //-
  short s = convert_short_sat(x[g] * 1000.0f); //+
  y[g] = s;
""",
        head=FLOATS,
    ),
    Pair(
        "vector at an odd address",
        "misaligned",
        ITEM
        + """\
  y[g] = *(global int4 *)(x + 16 * l + 2); /*1*/ //-
  y[g] = vload4(0, (global int *)(x + 16 * l)); //+
""",
        head=BYTES,
    ),
    Pair(
        "vector behind a header of three bytes",
        "misaligned",
        ITEM
        + """\
  global int4 *rows = (global int4 *)(x + 3); //-
  global int4 *rows = (global int4 *)(x + 16); //+
  y[g] = rows[l]; /*1*/
""",
        head=BYTES,
    ),
    Pair(
        "pairs stored at odd bytes",
        "misaligned",
        ITEM
        + """\
  global int2 *to = (global int2 *)(x + 8 * g + 1); //-
  global int2 *to = (global int2 *)(x + 8 * g); //+
  *to = (int2)(g, l); /*1*/
""",
        head=BYTES,
    ),
    Pair(
        "more printed than there is room for",
        "printf-overflow",
        ITEM
        + """\
  int lines = g < 32 ? 1200 : 0; //-
  int lines = g == 0 ? 3 : 0; //+
  long a = l;
  for (long i = 0; i < lines; i++)
    printf("%ld%ld%ld%ld%ld%ld%ld%ld%ld%ld", i, a, a, a, a, a, a, a, a, a); /*1*/
""",
        sanitize="undefined",
    ),
)
