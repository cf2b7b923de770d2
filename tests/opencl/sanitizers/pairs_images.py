"""Wrong kernels that write images, of 32 x 8 texels, one by one and in blocks of sub-groups."""

from __future__ import annotations

from tests.opencl.sanitizers.pairs import FENCE, ITEM, Pair
from tests.opencl.sanitizers.pairs_field import C20, SUB_GROUP

WITH_IMAGES = ("tgllp", "bmg")
PARAMETERS = "global int *x, {} image2d_t y, local int *t) {{\n"
WRITING = "kernel void k(" + PARAMETERS.format("write_only")
BOTH = "kernel void k(" + PARAMETERS.format("read_write")
BLOCKS = SUB_GROUP + BOTH
GLOBAL = "race-global"


def _pair(name: str, kind: str, body: str, head: str = WRITING) -> Pair:
    return Pair(name, kind, ITEM + body, head=head, options=C20, devices=WITH_IMAGES)


_TEXELS = (
    _pair(
        "texel that two work-items write",
        GLOBAL,
        """\
  write_imageui(y, (int2)(g % 32 / 2, g / 32), (uint4)(x[g])); /*1*/ //-
  write_imageui(y, (int2)(g % 32, g / 32), (uint4)(x[g])); //+
""",
    ),
    _pair(
        "texel that groups write",
        GLOBAL,
        """\
  write_imageui(y, (int2)(l % 32, l / 32), (uint4)(g)); /*1*/ //-
  write_imageui(y, (int2)(g % 32, g / 32), (uint4)(g)); //+
""",
    ),
    _pair(
        "mark that all of a group set in an image",
        "race-same-value",
        """\
  if (x[g] > 3) write_imageui(y, (int2)(get_group_id(0), 0), (uint4)(1)); /*1*/ //-
  if (l == 0) write_imageui(y, (int2)(get_group_id(0), 0), (uint4)(1)); //+
""",
    ),
    _pair(
        "texel behind the right edge",
        "oob-write",
        """\
  write_imageui(y, (int2)(g % 32 + 1, g / 32), (uint4)(x[g])); /*1*/ //-
  if (g % 32 < 31) write_imageui(y, (int2)(g % 32 + 1, g / 32), (uint4)(x[g])); //+
""",
    ),
    _pair(
        "texel in front of the first row",
        "oob-write",
        """\
  int2 at = (int2)(g % 32, g / 32 - 1);
  write_imageui(y, at, (uint4)(x[g])); /*1*/ //-
  if (at.y >= 0) write_imageui(y, at, (uint4)(x[g])); //+
""",
    ),
    _pair(
        "rows and columns of an image exchanged",
        "oob-write",
        """\
  write_imageui(y, (int2)(g / 32, g % 32), (uint4)(x[g])); /*1*/ //-
  write_imageui(y, (int2)(g % 32, g / 32), (uint4)(x[g])); //+
""",
    ),
    _pair(
        "image that is read before the group has written it",
        GLOBAL,
        """\
  write_imageui(y, (int2)(g % 32, g / 32), (uint4)(x[g])); /*1*/
  barrier(CLK_IMAGE_MEM_FENCE); //+
  int other = g - l + (l + 40) % n;
  x[g] = read_imageui(y, (int2)(other % 32, other / 32)).x; /*2*/
""",
        BOTH,
    ),
    _pair(
        "count in a texel without atomics",
        GLOBAL,
        """\
  int2 at = (int2)(x[g] % 4, 0); //-
  int2 at = (int2)(g % 32, g / 32); //+
  uint4 v = read_imageui(y, at);
  write_imageui(y, at, v + 1); /*1*/
""",
        BOTH,
    ),
    _pair(
        "tile that is not full, written to an image",
        "uninit-local",
        f"""\
  if (l % 8 != 7) t[l] = x[g]; //-
  t[l] = x[g]; //+
  {FENCE}
  write_imageui(y, (int2)(g % 32, g / 32), (uint4)(t[l ^ 1])); /*1*/
""",
    ),
)

_BLOCKS = (
    _pair(
        "blocks of sub-groups that overlap by a row",
        GLOBAL,
        """\
  int s = g / 16;
  int2 at = (int2)(s % 2 * 64, s / 2);
  uint2 v = (uint2)(x[g], g);
  intel_sub_group_block_write2(y, at, v); /*1*/ //-
  if (s % 4 < 2) intel_sub_group_block_write2(y, at, v); //+
""",
        BLOCKS,
    ),
    _pair(
        "blocks whose place counts texels, not bytes",
        GLOBAL,
        """\
  int s = g / 16;
  intel_sub_group_block_write(y, (int2)(s % 2 * 16, s / 2), g); /*1*/ //-
  intel_sub_group_block_write(y, (int2)(s % 2 * 64, s / 2), g); //+
""",
        BLOCKS,
    ),
    _pair(
        "block that another sub-group has not written yet",
        GLOBAL,
        """\
  int s = g / 16, o = s / 4 * 4 + (s + 2) % 4;
  intel_sub_group_block_write(y, (int2)(s % 2 * 64, s / 2), g); /*1*/
  barrier(CLK_IMAGE_MEM_FENCE); //+
  x[g] = intel_sub_group_block_read(y, (int2)(o % 2 * 64, o / 2)); /*2*/
""",
        BLOCKS,
    ),
    _pair(
        "texels in the rows of another sub-group's block",
        GLOBAL,
        """\
  int s = g / 16;
  intel_sub_group_block_write(y, (int2)(s % 2 * 64, s / 2), g); /*1*/
  barrier(CLK_IMAGE_MEM_FENCE);
  if (l == 0) write_imageui(y, (int2)(3, (g / 32 + 2) % 8), (uint4)(7)); /*2*/ //-
  if (l == 0) write_imageui(y, (int2)(3, g / 32), (uint4)(7)); //+
""",
        BLOCKS,
    ),
)

IMAGE_PAIRS = (*_TEXELS, *_BLOCKS)
