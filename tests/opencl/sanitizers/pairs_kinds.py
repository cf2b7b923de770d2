"""Wrong kernels of further kinds: scopes, bits, halves, pointers, sub-groups, vectors."""

from __future__ import annotations

from tests.opencl.sanitizers.pairs import FENCE, HEAD, ITEM, Pair
from tests.opencl.sanitizers.pairs_field import C20, DEVICE, SUB_GROUP_HEAD, WORK_GROUP

LOCAL, GLOBAL = "race-local", "race-global"
BYTES_HEAD = "kernel void k(global char *x, global char *y, local int *t) {\n"
DIVISION = "division-by-zero"
FUNCTIONS = """\
int most(global int *x, int n, int depth) {
  int t[8];
  for (int i = 0; i < 8; i++) t[i] = x[i] + n;
  if (depth == 0) return 0;
  return t[n & 7] > 40 ? n : most(x, n + 1, depth - 1);
}
int least(global int *x, int n, int depth) {
  int t[8];
  for (int i = 0; i < 7; i++) t[i] = x[i] & n; //-
  for (int i = 0; i < 8; i++) t[i] = x[i] & n; //+
  if (depth == 0) return 0;
  return t[n & 7] > 40 ? n : least(x, n + 1, depth - 1); /*1*/
}
"""

KINDS_PAIRS = (
    Pair(
        "bits of a word that all work-items set",
        LOCAL,
        ITEM
        + f"""\
  if (l < 2) t[l] = 0;
  {FENCE}
  if (x[g] & 1) atomic_or(&t[l / 32], 1 << l % 32); //+
  if (x[g] & 1) t[l / 32] |= 1 << l % 32; /*1*/ //-
  {FENCE}
  y[g] = t[l / 32];
""",
    ),
    Pair(
        "low halves of numbers without their high halves",
        "uninit-local",
        ITEM
        + f"""\
  if (l % 2 == 0) t[l] = x[g];
  if (l % 2 == 1) t[l] = x[g] >> 8; //+
  {FENCE}
  long v = ((local long *)t)[l / 2]; /*1*/
  y[g] = (int)(v >> 32) + (int)v;
""",
    ),
    Pair(
        "vector of which one component is not stored",
        "uninit-local",
        ITEM
        + f"""\
  if (l % 4 != 2) t[l] = x[g]; //-
  t[l] = x[g]; //+
  {FENCE}
  int4 v = vload4(l / 4, t); /*1*/
  y[g] = v.x + v.y + v.z + v.w;
""",
    ),
    Pair(
        "least of a group whose start nobody sets",
        "uninit-local",
        ITEM
        + f"""\
  if (l == 0) t[0] = 1 << 30; //+
  {FENCE}
  atomic_min(&t[0], x[g]);
  {FENCE}
  y[g] = t[0]; /*1*/
""",
    ),
    Pair(
        "reversal of a group's part in place",
        GLOBAL,
        ITEM
        + """\
  int v = x[g - l + n - 1 - l]; /*1*/
  barrier(CLK_GLOBAL_MEM_FENCE); //+
  x[g] = v; /*2*/
""",
    ),
    Pair(
        "ping-pong of groups that nobody waits for",
        GLOBAL,
        ITEM
        + """\
  y[g] = x[g] + 1; /*1*/
  barrier(CLK_GLOBAL_MEM_FENCE);
  x[g] = y[(g + 64) % 256]; /*2*/ //-
  x[g] = y[g - l + (l + 32) % n]; //+
""",
    ),
    Pair(
        "copy that is used before it is done",
        LOCAL,
        ITEM
        + f"""\
  event_t e = async_work_group_copy(t, x + g - l, n, 0); /*1*/
  wait_group_events(1, &e); //+
  {FENCE} //+
  y[g] = t[(l + 40) % n]; /*2*/
  {FENCE}
""",
    ),
    Pair(
        "barrier in a case of a switch",
        "barrier-divergence",
        ITEM
        + f"""\
  t[l] = x[g];
  switch (x[g] % 3) {{
    case 0: t[l] += 1; {FENCE} break; /*1*/ //-
    case 0: t[l] += 1; break; //+
    case 1: t[l] += 2; break;
    default: t[l] += 3;
  }}
  {FENCE}
  y[g] = t[(l + 20) % n];
""",
    ),
    Pair(
        "continue in front of a barrier",
        "barrier-divergence",
        ITEM
        + f"""\
  int s = 0;
  for (int i = 0; i < 4; i++) {{
    t[l] = x[(g + i) % 256];
    if (l >= 40 && i == 2) continue; //-
    {FENCE} /*1*/
    s += t[(l + 20) % n];
    {FENCE}
  }}
  y[g] = s;
""",
    ),
    Pair(
        "remainder of small types by what may be zero",
        DIVISION,
        ITEM
        + """\
  char d = x[g] % 5;
  y[g] = d ? (char)x[g] % d : 0; //+
  y[g] = (char)x[g] % d; /*1*/ //-
""",
    ),
    Pair(
        "three elements over the end",
        "oob-write",
        ITEM
        + """\
  int at = g * 2;
  at = g; //+
  vstore3((int3)(1, 2, 3), at, y); /*1*/
""",
    ),
    Pair(
        "halves read behind the end",
        "oob-read",
        ITEM
        + """\
  float v = vload_half(g + 1900, (global half *)x); /*1*/ //-
  float v = vload_half(g + 1700, (global half *)x); //+
  y[g] = (int)v;
""",
    ),
    Pair(
        "either of two buffers past the end",
        "oob-read",
        ITEM
        + """\
  global int *p = x[0] ? x : y;
  int at = g + 800; //-
  int at = g + 700; //+
  y[g] = p[at]; /*1*/
""",
    ),
    Pair(
        "structures of three words past the end",
        "oob-read",
        ITEM
        + """\
  global struct s *p = (global struct s *)x;
  y[g] = p[g + 100].c; /*1*/ //-
  y[g] = p[g + 80].c; //+
""",
        head="struct s { int a, b, c; };\n"
        "kernel void k(global int *x, global int *y, local int *t) {\n",
    ),
    Pair(
        "function that is given one element too many",
        "oob-local",
        ITEM
        + f"""\
  t[l] = x[g];
  {FENCE}
  int last = n; //-
  int last = n - 1; //+
  y[g] = sum(t + l, last - l);
""",
        head="int sum(local int *p, int count) {\n"
        "  int s = 0;\n"
        "  for (int i = 0; i <= count; i++) s += p[i]; /*1*/\n"
        "  return s;\n"
        "}\n"
        "kernel void k(global int *x, global int *y, local int *t) {\n",
    ),
    Pair(
        "broadcast of a lane that has nothing",
        "uninit-local",
        ITEM
        + """\
  if (l % 16 != 3) t[l] = x[g]; //-
  t[l] = x[g]; //+
  y[g] = sub_group_broadcast(t[l], 3); /*1*/
""",
        head=SUB_GROUP_HEAD,
        options=C20,
    ),
    Pair(
        "sum of a sub-group over what is filled in part",
        "uninit-local",
        ITEM
        + """\
  if (l < 40) t[l] = x[g]; //-
  t[l] = x[g]; //+
  y[g] = sub_group_reduce_add(t[l]); /*1*/
""",
        head=SUB_GROUP_HEAD,
        options=C20,
    ),
    Pair(
        "word that others count in by atomics, stored plainly",
        "atomic-plain",
        ITEM
        + """\
  if (g == 0) x[700] = 0; /*1*/ //-
  atomic_inc(&x[700]); /*2*/
  y[g] = g;
""",
    ),
    Pair(
        "scan whose sums of sub-groups are read too early",
        LOCAL,
        ITEM
        + f"""\
  int own = sub_group_scan_inclusive_add(x[g]);
  if (get_sub_group_local_id() == get_sub_group_size() - 1) t[get_sub_group_id()] = own; /*1*/
  {FENCE} //+
  int before = 0;
  for (int i = 0; i < get_sub_group_id(); i++) before += t[i]; /*2*/
  y[g] = own + before;
""",
        head=SUB_GROUP_HEAD,
        options=C20,
    ),
    Pair(
        "flag that is raised before the number is there",
        GLOBAL,
        ITEM
        + f"""\
  volatile global atomic_int *flag = (volatile global atomic_int *)(y + 1000);
  if (g == 0) {{
    x[900] = 5; //+
    atomic_store_explicit(flag, 1, memory_order_release, {DEVICE});
    x[900] = 5; /*1*/ //-
  }} else if (g == 200) {{
    if (atomic_load_explicit(flag, memory_order_acquire, {DEVICE})) y[0] = x[900]; /*2*/
  }}
""",
        options=C20,
    ),
    Pair(
        "message to another group in the order of the own one",
        GLOBAL,
        ITEM
        + f"""\
  volatile global atomic_int *flag = (volatile global atomic_int *)(y + 1000);
  if (g == 0) {{
    x[900] = 5; /*1*/
    atomic_store_explicit(flag, 1, memory_order_release, {DEVICE}); //+
    atomic_store_explicit(flag, 1, memory_order_relaxed, {WORK_GROUP}); //-
  }} else if (g == 200) {{
    if (atomic_load_explicit(flag, memory_order_acquire, {DEVICE})) y[0] = x[900]; /*2*/
  }}
""",
        options=C20,
    ),
    Pair(
        "private array whose end a loop does not reach",
        "uninit-private",
        ITEM
        + """\
  int a[24];
  for (int i = 0; i < 23; i++) a[(i * 5 + g) % 24] = x[i]; //-
  for (int i = 0; i < 24; i++) a[(i * 5 + g) % 24] = x[i]; //+
  int s = 0;
  for (int i = 0; i < 24; i++) s += a[(i + x[i]) % 24] * i;
  y[g] = s; /*1*/
""",
    ),
    Pair(
        "bytes written twice by neighbours",
        GLOBAL,
        ITEM
        + """\
  y[g] = x[g]; //+
  y[g / 2 * 2] = x[g] + g; /*1*/ //-
""",
        head=BYTES_HEAD,
    ),
    Pair(
        "sum that is kept in one element by all groups",
        GLOBAL,
        ITEM
        + f"""\
  t[l] = x[g];
  {FENCE}
  if (l == 0) {{
    int s = 0;
    for (int i = 0; i < n; i++) s += t[i];
    y[get_group_id(0)] = s; //+
    y[0] += s; /*1*/ //-
  }}
""",
    ),
    Pair(
        "table of bits with one word too few",
        "oob-write",
        ITEM
        + """\
  atomic_or(&y[(g + 32600) / 32], 1 << g % 32); /*1*/ //-
  atomic_or(&y[(g + 32000) / 32], 1 << g % 32); //+
""",
    ),
    Pair(
        "scatter through a table without a check",
        "oob-write",
        ITEM
        + """\
  int to = x[g] * 12;
  if (to < 1024) //+
    atomic_add(&y[to], 1); /*1*/
""",
    ),
    Pair(
        "window that reads in front of the first element",
        "oob-read",
        ITEM
        + """\
  int s = 0;
  for (int i = -2; i <= 2; i++) {
    int at = g + i;
    if (at >= 0) //+
      s += x[at]; /*1*/
  }
  y[g] = s;
""",
    ),
    Pair(
        "rows of a tile that overlap by one",
        LOCAL,
        ITEM
        + f"""\
  int row = l / 8, column = l % 8;
  t[row * 8 + column] = x[g]; //+
  t[row * 7 + column] = x[g]; /*1*/ //-
  {FENCE}
  y[g] = t[l / 2];
""",
    ),
    Pair(
        "length of a list that is read while others append",
        "atomic-plain",
        ITEM
        + f"""\
  if (l == 0) t[0] = 0;
  {FENCE}
  if (x[g] & 1) atomic_inc(&t[0]); /*1*/
  {FENCE} //+
  int count = t[0]; /*2*/
  y[g] = count;
""",
    ),
    Pair(
        "array that one of two recursive functions fills in part",
        "uninit-private",
        ITEM + "  y[g] = most(x, l & 7, n & 3) + least(x, l & 7, 2 + (n & 3));\n",
        head=FUNCTIONS + HEAD,
        current=True,
    ),
)
