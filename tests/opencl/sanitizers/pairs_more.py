"""More wrong kernels: barriers of other kinds, orders between groups, shapes of programs."""

from __future__ import annotations

from tests.opencl.sanitizers.pairs import FENCE, ITEM, Pair

LOCAL, GLOBAL, SAME, LOCKSTEP = "race-local", "race-global", "race-same-value", "race-lockstep"
BOTH = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
C20 = "-cl-std=CL3.0"
DIVERGENCE, PRIVATE = "barrier-divergence", "uninit-private"
WIDE = "-cl-intel-greater-than-4GB-buffer-required"

MORE_PAIRS = (
    # Races in local memory
    Pair(
        "transpose without barrier",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g]; /*1*/
  {FENCE} //+
  y[g] = t[l % 8 * 8 + l / 8]; /*2*/
""",
    ),
    Pair(
        "prefix sum in place",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g];
  {FENCE}
  for (int s = 1; s < n; s *= 2) {{
    int v = l >= s ? t[l - s] : 0; /*1*/
    {FENCE} //+
    t[l] += v; /*2*/
    {FENCE}
  }}
  y[g] = t[l];
""",
    ),
    Pair(
        "queue of a group whose head is reset without barrier",
        LOCAL,
        ITEM
        + f"""\
  if (l == 0) t[0] = 0;
  {FENCE}
  int at = x[g] & 1 ? atomic_inc(&t[0]) : 0;
  {FENCE}
  y[g] = at + t[0]; /*2*/
  {FENCE} //+
  if (l == 0) t[0] = 7; /*2*/
""",
    ),
    Pair(
        "broadcast of an element",
        LOCAL,
        ITEM
        + f"""\
  for (int i = 0; i < 3; i++) {{
    if (l == i * 20) t[0] = x[g] + i; /*1*/
    {FENCE}
    y[g] += t[0]; /*2*/
    {FENCE} //+
  }}
""",
    ),
    Pair(
        "barrier before the store instead of behind it",
        LOCAL,
        ITEM
        + f"""\
  {FENCE} //-
  t[l] = x[g]; /*1*/
  {FENCE} //+
  y[g] = t[n - 1 - l]; /*2*/
""",
    ),
    Pair(
        "halo that the next work-item writes",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g]; /*1*/
  if (l > 0 && l % 16 == 0) t[l - 1] = 5; /*2*/ //-
  {FENCE}
  y[g] = t[l];
""",
    ),
    Pair(
        "bitonic steps without barriers",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g];
  {FENCE}
  for (int j = 32; j > 0; j /= 2) {{
    int o = l ^ j;
    if (o > l && t[l] > t[o]) {{ int v = t[l]; t[l] = t[o]; t[o] = v; }} /*1*/
    {FENCE} //+
  }}
  y[g] = t[l];
""",
    ),
    Pair(
        "bytes of a word that two work-items share",
        LOCAL,
        ITEM
        + f"""\
  local uchar *b = (local uchar *)t;
  b[l + 40] = l; /*1*/
  t[l / 4 + 8] = 3; /*2*/ //-
  {FENCE}
  y[g] = b[l + 40];
""",
    ),
    # Races in global memory
    Pair(
        "matrix product that adds from all groups",
        GLOBAL,
        ITEM
        + """\
  y[l] += x[g]; /*1*/ //-
  atomic_add(&y[l], x[g]); //+
""",
    ),
    Pair(
        "stencil in place",
        GLOBAL,
        ITEM
        + """\
  x[g + 1] = (x[g] + x[g + 2]) / 2; /*1*/ //-
  y[g + 1] = (x[g] + x[g + 2]) / 2; //+
""",
    ),
    Pair(
        "scatter with collisions",
        GLOBAL,
        ITEM
        + """\
  y[x[g] % 32] = g; /*1*/ //-
  y[g] = x[g] % 32; //+
""",
    ),
    Pair(
        "output of one group read by the next",
        GLOBAL,
        ITEM
        + """\
  y[g] = x[g]; /*1*/
  if (g >= 64) x[g] = y[g - 64]; /*2*/ //-
""",
    ),
    Pair(
        "flag without atomics",
        GLOBAL,
        ITEM
        + """\
  if (g == 3) { y[8] = 42; y[0] = 1; } /*1*/ //-
  if (g == 200) y[1] = y[0] ? y[8] : 0; /*2*/ //-
  if (g == 3) y[8] = 42; //+
""",
    ),
    Pair(
        "maximum without atomics",
        GLOBAL,
        ITEM
        + """\
  if (x[g] > y[7]) y[7] = x[g]; /*1*/ //-
  atomic_max(&y[7], x[g]); //+
""",
    ),
    Pair(
        "neighbours' halves of a word",
        GLOBAL,
        ITEM
        + """\
  global ushort *h = (global ushort *)y;
  h[g] = l; /*1*/
  if (l == 0) *(global int *)(h + g + 40) = 7; /*2*/ //-
""",
    ),
    Pair(
        "reading while others zero",
        GLOBAL,
        ITEM
        + f"""\
  if (l < 32) x[g - l + 2 * l] = 0; /*1*/
  {BOTH} //+
  y[g] = x[g]; /*2*/
""",
    ),
    Pair(
        "same flag by all of a group",
        SAME,
        ITEM
        + f"""\
  t[0] = 1; /*1*/ //-
  if (l == 0) t[0] = 1; //+
  {FENCE}
  y[g] = t[0];
""",
    ),
    Pair(
        "found flag",
        SAME,
        ITEM
        + """\
  if (x[g] > 3) y[0] = 1; /*1*/ //-
  if (x[g] > 3) atomic_or(&y[0], 1); //+
""",
    ),
    Pair(
        "warp-synchronous tail",
        LOCKSTEP,
        """\
  int l = get_local_id(0), g = get_global_id(0);
  t[l] = x[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 8) {
    t[l] = x[g] + 1; /*1*/
    y[g] = t[l ^ 1]; /*2*/ //-
    y[g] = t[l]; //+
  }
""",
    ),
    # Atomics
    Pair(
        "spin lock that is released plainly",
        "atomic-plain",
        ITEM
        + """\
  if (l == 0) atomic_add(&y[0], 1); /*1*/
  if (l == 0) y[0] = 0; /*2*/ //-
""",
    ),
    Pair(
        "local counter read without barrier",
        "atomic-plain",
        ITEM
        + f"""\
  if (l == 0) t[0] = 0;
  {FENCE}
  atomic_add(&t[0], x[g]); /*1*/
  {FENCE} //+
  y[g] = t[0]; /*2*/
""",
    ),
    Pair(
        "histogram that is cleared without barrier",
        "atomic-plain",
        ITEM
        + f"""\
  if (l < 8) t[l] = 0; /*1*/
  {FENCE} //+
  atomic_inc(&t[x[g] & 7]); /*2*/
  {FENCE}
  if (l < 8) y[get_group_id(0) * 8 + l] = t[l];
""",
    ),
    Pair(
        "message with relaxed flag",
        GLOBAL,
        """\
  int l = get_local_id(0), gr = get_group_id(0);
  global atomic_int *flag = (global atomic_int *)y;
  if (l == 0 && gr == 0) {
    y[9] = 5; /*1*/
    atomic_store_explicit(flag, 1, memory_order_relaxed, memory_scope_device); //-
    atomic_store_explicit(flag, 1, memory_order_release, memory_scope_device); //+
  }
  if (l == 0 && gr == 1) {
    int seen = atomic_load_explicit(flag, memory_order_relaxed, memory_scope_device); //-
    int seen = atomic_load_explicit(flag, memory_order_acquire, memory_scope_device); //+
    if (seen) y[8] = y[9]; /*2*/
  }
""",
        options=C20,
    ),
    # Uninitialised
    Pair(
        "table of a work-item with a gap",
        PRIVATE,
        ITEM
        + """\
  int a[16];
  for (int i = 0; i < 15; i++) a[i] = x[i]; //-
  for (int i = 0; i < 16; i++) a[i] = x[i]; //+
  y[g] = a[x[g] & 15]; /*1*/
""",
    ),
    Pair(
        "stack popped once too often",
        PRIVATE,
        ITEM
        + """\
  int stack[8], top = 0;
  for (int i = 0; i < (x[g] & 3); i++) stack[top++] = x[g + i];
  if (top > 0) //+
  y[g] = stack[(top + 7) & 7]; /*1*/
""",
    ),
    Pair(
        "tile of which one row is left out",
        "uninit-local",
        ITEM
        + f"""\
  if (l >= 8) t[l] = x[g]; //-
  t[l] = x[g]; //+
  {FENCE}
  int s = 0;
  for (int i = 0; i < 8; i++) s += t[i * 8 + l % 8];
  y[g] = s; /*1*/
""",
    ),
    Pair(
        "maximum of a tile that is not full",
        "uninit-local",
        ITEM
        + f"""\
  t[l] = 0; //+
  if (x[g] > 10) t[l] = x[g];
  {FENCE}
  int m = 0;
  for (int i = 0; i < n; i++) m = max(m, t[i]);
  y[g] = m; /*1*/
""",
    ),
    Pair(
        "loop bound from local memory",
        "uninit-local",
        ITEM
        + f"""\
  if (l == 0) t[0] = 3; //+
  {FENCE}
  int s = 0;
  for (int i = 0; i < (t[0] & 7); i++) s += x[i]; /*1*/
  y[g] = s;
""",
    ),
    Pair(
        "result of which each second element is missing",
        "uninit-global",
        ITEM
        + f"""\
  if (l % 2 == 0) y[g] = x[g]; //-
  y[g] = x[g]; //+
  {BOTH}
  x[g] = y[g - l + (l + 1) % n]; /*1*/
""",
        undefined=True,
    ),
    Pair(
        "counter that nobody has cleared",
        "uninit-global",
        ITEM
        + f"""\
  if (g < 4) y[g] = 0; //+
  {BOTH}
  if (g < 4) atomic_inc(&y[g]);
  {BOTH}
  if (g < 4) x[g] = y[g]; /*1*/
""",
        undefined=True,
    ),
    # Bounds
    Pair(
        "row of the matrix behind the last",
        "oob-read",
        ITEM
        + """\
  int row = g / 16, s = 0;
  for (int i = 0; i < 64; i++) s += x[(row + 1) * 64 + i]; /*1*/ //-
  for (int i = 0; i < 64; i++) s += x[row * 64 + i]; //+
  y[g] = s;
""",
    ),
    Pair(
        "bound of the other dimension",
        "oob-write",
        ITEM
        + """\
  int r = g / 8, c = g % 8;
  y[c * 256 + r] = x[g]; /*1*/ //-
  y[c * 32 + r] = x[g]; //+
""",
    ),
    Pair(
        "last element with the length as index",
        "oob-read",
        ITEM
        + """\
  y[g] = x[1024 - (g == 0 ? 0 : g)]; /*1*/ //-
  y[g] = x[1023 - g]; //+
""",
    ),
    Pair(
        "linked list without an end",
        "oob-read",
        ITEM
        + """\
  int at = g;
  for (int i = 0; i < 6; i++) {
    at = at * 4 + 1; //-
    at = (at * 4 + 1) & 1023; //+
    y[g] += x[at]; /*1*/
  }
""",
    ),
    Pair(
        "flat addresses past the end",
        "oob-write",
        ITEM
        + """\
  y[g * 5] = x[g]; /*1*/ //-
  y[g * 4] = x[g]; //+
""",
        options=WIDE,
    ),
    Pair(
        "flat addresses before the start",
        "oob-read",
        ITEM
        + """\
  y[g] = x[g - 3]; /*1*/ //-
  y[g] = x[g + 3]; //+
""",
        options=WIDE,
    ),
    Pair(
        "block read over the end",
        "oob-read",
        """\
  int g = get_global_id(0);
  int from = 64 * (g / 16); //-
  int from = 60 * (g / 16); //+
  uint4 v = intel_sub_group_block_read4((global uint *)x + from + 4); /*1*/
  y[g] = v.x + v.w;
""",
        head="__attribute__((intel_reqd_sub_group_size(16))) "
        "kernel void k(global int *x, global int *y, local int *t) {\n",
    ),
    Pair(
        "block write over the end",
        "oob-write",
        """\
  int g = get_global_id(0);
  uint4 v = (uint4)(x[g], 1, 2, 3);
  int to = 64 * (g / 16) + 4; //-
  int to = 64 * (g / 16); //+
  intel_sub_group_block_write4((global uint *)y + to, v); /*1*/
""",
        head="__attribute__((intel_reqd_sub_group_size(16))) "
        "kernel void k(global int *x, global int *y, local int *t) {\n",
    ),
    Pair(
        "atomic add of floats past the end",
        "oob-write",
        ITEM
        + """\
  atomic_xchg((global float *)y + 900 + x[g] * 2, 1.0f); /*1*/ //-
  atomic_xchg((global float *)y + 800 + x[g] * 2, 1.0f); //+
""",
    ),
    Pair(
        "copy of a group that is one too long",
        "oob-read",
        ITEM
        + f"""\
  event_t e = async_work_group_copy(t, x + 1000 + get_group_id(0), 30, 0); /*1*/ //-
  event_t e = async_work_group_copy(t, x + 900 + get_group_id(0), 30, 0); //+
  wait_group_events(1, &e);
  {FENCE}
  y[g] = t[l % 30];
""",
    ),
    # Barriers
    Pair(
        "barrier in one branch of two",
        DIVERGENCE,
        ITEM
        + f"""\
  t[l] = x[g];
  if (x[g] & 1) {{ //-
  if (x[g - l] >= 0) {{ //+
    {FENCE} /*1*/
    y[g] = t[l ^ 32];
  }} else {{
    y[g] = 0;
  }}
""",
    ),
    Pair(
        "break in front of a barrier",
        DIVERGENCE,
        ITEM
        + f"""\
  for (int i = 0; i < 4; i++) {{
    t[l] = i;
    if (i > 1 && l > 20) break; //-
    {FENCE} /*1*/
  }}
  y[g] = 1;
""",
    ),
    Pair(
        "different barriers that meet",
        DIVERGENCE,
        ITEM
        + f"""\
  t[l] = x[g];
  if (l < 32) {{ //-
    t[l] = 3; //-
    {BOTH} /*1*/ //-
    y[g] = t[l]; //-
  }} else {{ //-
    {FENCE} /*2*/ //-
    y[g] = t[l] + 1; //-
  }} //-
  {FENCE} //+
""",
        head="__attribute__((intel_reqd_sub_group_size(16))) "
        "kernel void k(global int *x, global int *y, local int *t) {\n",
    ),
    Pair(
        "barriers that threads count differently",
        DIVERGENCE,
        ITEM
        + f"""\
  int turns = l < 32 ? 2 : 3; //-
  int turns = 3; //+
  for (int i = 0; i < turns; i++) {{
    {FENCE} /*1*/
    t[l] = i;
  }}
  y[g] = t[l];
""",
        head="__attribute__((intel_reqd_sub_group_size(16))) "
        "kernel void k(global int *x, global int *y, local int *t) {\n",
    ),
    # Arrays that kernels declare
    Pair(
        "own local array into the next",
        "oob-local",
        """\
  local int a[64]; local int b[64];
  int l = get_local_id(0), g = get_global_id(0);
  a[l] = x[g]; b[l] = g;
  barrier(CLK_LOCAL_MEM_FENCE);
  y[g] = b[l];
  y[g] += a[l + 1]; /*1*/ //-
  y[g] += a[63 - l]; //+
""",
        options="-g",
        current=True,
    ),
    Pair(
        "own local array before its start",
        "oob-local",
        """\
  local int a[64]; local int b[64];
  int l = get_local_id(0), g = get_global_id(0);
  a[l] = x[g]; b[l] = g;
  barrier(CLK_LOCAL_MEM_FENCE);
  y[g] = a[l];
  y[g] += b[l - 1]; /*1*/ //-
  y[g] += b[l]; //+
""",
        options="-g",
        current=True,
    ),
    Pair(
        "own tile without room for a halo",
        "oob-local",
        """\
  local float tile[64]; local float weights[16];
  int l = get_local_id(0), g = get_global_id(0);
  if (l < 16) weights[l] = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  tile[l + 2] = x[g]; /*1*/ //-
  tile[l] = x[g]; //+
  barrier(CLK_LOCAL_MEM_FENCE);
  y[g] = tile[63 - l / 2];
  y[g] += weights[l & 15];
""",
        options="-g",
        current=True,
    ),
    Pair(
        "macro that adds one to an index",
        "oob-local",
        """\
#define AT(i) a[(i) + 1] //-
#define AT(i) a[(i)] //+
  local int b[32]; local int a[64]; local int c[64];
  int l = get_local_id(0), g = get_global_id(0);
  if (l < 32) b[l] = 0;
  c[l] = g;
  AT(l) = x[g]; /*1*/
  barrier(CLK_LOCAL_MEM_FENCE);
  y[g] = a[63 - l / 2];
  y[g] += c[l] + b[l & 31];
""",
        options="-g",
        current=True,
    ),
)
