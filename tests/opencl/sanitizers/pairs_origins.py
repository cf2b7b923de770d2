"""Pairs in which what nothing has written is read in one place, kept, and used in another."""

from __future__ import annotations

from tests.opencl.sanitizers.pairs import FENCE, ITEM, Pair

ORIGIN_PAIRS = (
    Pair(
        "sum whose tail nothing has set",
        "uninit-local",
        ITEM
        + f"""\
  if (l < 50) t[l] = x[g];
  else t[l] = 0; //+
  {FENCE}
  for (int s = n / 2; s > 0; s >>= 1) {{
    if (l < s) t[l] += t[l + s]; /*2*/
    {FENCE}
  }}
  if (l == 0) y[get_group_id(0)] = t[0]; /*1*/
""",
    ),
    Pair(
        "counts that begin with nothing",
        "uninit-local",
        ITEM
        + f"""\
  if (l < 32) t[l] = 0; //+
  {FENCE}
  atomic_inc(&t[x[g] & 31]); /*2*/
  {FENCE}
  if (l < 32) y[32 * get_group_id(0) + l] = t[l]; /*1*/
""",
    ),
    Pair(
        "array in registers that is read too far",
        "uninit-private",
        ITEM
        + """\
  int p[40], m = n / 2;
  for (int i = 0; i < m; i++) p[i] = x[g + i];
  int s = 0;
  for (int i = 0; i < m; i++)
    s = s * 3 + p[i * 7 % (m + 1)]; /*2*/ //-
    s = s * 3 + p[i * 7 % m]; //+
  y[g] = s; /*1*/
""",
    ),
    Pair(
        "element that one work-item hands to another",
        "uninit-private",
        ITEM
        + f"""\
  int p[32];
  for (int i = 0; i < 32; i++)
    if (i < n - 44) //-
      p[i] = x[g + i];
  t[l] = p[x[g] & 31]; /*2*/
  {FENCE}
  y[g] = t[n - 1 - l]; /*1*/
""",
    ),
)
