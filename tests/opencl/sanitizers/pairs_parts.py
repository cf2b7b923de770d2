"""Wrong kernels whose last buffer is a part of a larger one: an overflow hits the rest of it."""

from __future__ import annotations

from dataclasses import replace

from tests.opencl.sanitizers.pairs import ITEM, Pair
from tests.opencl.sanitizers.pairs_field import BLOCK_HEAD, C20

KIND = "oob-sub-buffer"

PART_PAIRS = tuple(
    replace(pair, part=True)
    for pair in (
        Pair(
            "sub-buffer written one past its end",
            KIND,
            ITEM
            + """\
  y[g + 1] = x[g]; /*1*/ //-
  y[g] = x[g]; //+
""",
        ),
        Pair(
            "sub-buffer written in front of its start",
            KIND,
            ITEM
            + """\
  y[g] = x[g]; //+
  y[g - 16] = x[g]; /*1*/ //-
""",
        ),
        Pair(
            "sub-buffer read past its end",
            KIND,
            ITEM
            + """\
  x[g] = y[g + n]; /*1*/ //-
  x[g] = y[(g + n) % 256]; //+
""",
        ),
        Pair(
            "offset of the sub-buffer added once more",
            KIND,
            ITEM
            + """\
  y[g + 64] = x[g]; /*1*/ //-
  y[g] = x[g]; //+
""",
        ),
        Pair(
            "size of the buffer taken for that of its part",
            KIND,
            ITEM
            + """\
  for (int i = g; i < 512; i += 256) //-
  for (int i = g; i < 256; i += 256) //+
    y[i] = x[g]; /*1*/
""",
        ),
        Pair(
            "vector over the end of a sub-buffer",
            KIND,
            ITEM
            + """\
  vstore4((int4)(x[g]), 0, y + 4 * (g % 64) + 4); /*1*/ //-
  if (g < 64) vstore4((int4)(x[g]), g, y); //+
""",
        ),
        Pair(
            "counter behind the end of a sub-buffer",
            KIND,
            ITEM
            + """\
  atomic_add(&y[x[g] % 16 + 256], 1); /*1*/ //-
  atomic_add(&y[x[g] % 16], 1); //+
""",
        ),
        Pair(
            "block written over the end of a sub-buffer",
            KIND,
            """\
  int g = get_global_id(0) / 16 * 16;
  intel_sub_group_block_write(y + g + 16, x[g]); /*1*/ //-
  intel_sub_group_block_write(y + g, x[g]); //+
""",
            head=BLOCK_HEAD,
            options=C20,
        ),
    )
)
