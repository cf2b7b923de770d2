"""Pairs of what kernels get wrong that were written without knowing what would be found."""

from __future__ import annotations

from tests.opencl.sanitizers.pairs import FENCE, ITEM, Pair

BLIND_PAIRS = (
    Pair(
        "neighbours between those that others write",
        "race-global",
        ITEM
        + """\
  global int *part = y + 128 * get_group_id(0);
  int i = 2 * (l % 32);
  if (l >= 32) part[i + 1] = g; /*1*/
  else x[g] = part[i] + part[i + 1] + part[i + 2]; /*2*/ //-
  else x[g] = part[i] + part[i + 2]; //+
""",
    ),
    Pair(
        "elements of local memory between those that others write",
        "race-local",
        ITEM
        + f"""\
  local int a[66];
  a[l] = l;
  if (l < 2) a[64 + l] = x[g];
  {FENCE}
  int i = 2 * (l % 32);
  if (l >= 32) a[i + 1] = g; /*1*/
  else y[g] = a[i] + a[i + 1] + a[i + 2]; /*2*/ //-
  else y[g] = a[i] + a[i + 2]; //+
""",
    ),
    Pair(
        "histogram whose bins are cleared without barrier",
        "atomic-plain",
        ITEM
        + f"""\
  if (l < 32) t[l] = 0; /*1*/
  {FENCE} //+
  atomic_inc(&t[x[g] & 31]); /*2*/
  {FENCE}
  if (l < 32) atomic_add(y + l, t[l]);
""",
    ),
    Pair(
        "scan that looks in front of its first element",
        "oob-local",
        ITEM
        + f"""\
  t[l] = x[g];
  {FENCE}
  for (int d = 1; d < n; d *= 2) {{
    int v = t[l - d]; /*1*/ //-
    int v = l >= d ? t[l - d] : 0; //+
    {FENCE}
    if (l >= d) t[l] += v;
    {FENCE}
  }}
  y[g] = t[l];
""",
    ),
    Pair(
        "exchange with a barrier of the sub-group only",
        "race-local",
        ITEM
        + f"""\
  int row = l / 8, column = l % 8;
  t[row * 8 + column] = x[g]; /*1*/
  sub_group_barrier(CLK_LOCAL_MEM_FENCE); //-
  {FENCE} //+
  y[g] = t[column * 8 + row]; /*2*/
""",
        options="-cl-std=CL3.0",
    ),
    Pair(
        "last group sums what no fence orders before its count",
        "race-global",
        ITEM
        + """\
  y[g] = x[g]; /*1*/
  barrier(CLK_LOCAL_MEM_FENCE); //-
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); //+
  if (l == 0) t[0] = atomic_inc(y + 512);
  barrier(CLK_LOCAL_MEM_FENCE); //-
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); //+
  if (t[0] == 3) x[600 + l] = y[l] + y[l + 64] + y[l + 128]; /*2*/
""",
    ),
)
