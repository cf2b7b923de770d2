"""Bugs of the field, re-created: queues, pipelines, reductions of tiles, orders of atomics."""

from __future__ import annotations

from tests.opencl.sanitizers.pairs import FENCE, ITEM, Pair

LOCAL, GLOBAL = "race-local", "race-global"
C20 = "-cl-std=CL3.0"
SUB_GROUP = "__attribute__((intel_reqd_sub_group_size(16)))\n"
SUB_GROUP_HEAD = SUB_GROUP + "kernel void k(global int *x, global int *y, local int *t) {\n"
BLOCK_HEAD = SUB_GROUP + "kernel void k(global uint *x, global uint *y, local int *t) {\n"
WORK_GROUP = "memory_scope_work_group"
DEVICE = "memory_scope_device"

_STORE = f"    atomic_store_explicit(flag, 1, memory_order_release, {DEVICE});"
_LOAD = f"    int seen = atomic_load_explicit(flag, memory_order_acquire, {DEVICE});"


def _either(line: str, order: str) -> str:
    """Return a line of the mended kernel, and that of the wrong one, which orders nothing."""
    return f"{line} //+\n{line.replace(f'memory_order_{order}', 'memory_order_relaxed')} //-"


def _message(name: str, store: str, load: str) -> Pair:
    """Return a pair in which a group leaves a number to another one, and raises a flag."""
    return Pair(
        name,
        GLOBAL,
        ITEM
        + f"""\
  volatile global atomic_int *flag = (volatile global atomic_int *)(y + 1000);
  if (g == 0) {{
    x[900] = 5; /*1*/
{store}
  }} else if (g == 200) {{
{load}
    if (seen) y[0] = x[900]; /*2*/
  }}
""",
        options=C20,
    )


FIELD_PAIRS = (
    Pair(
        "partial sums of sub-groups without barrier",
        LOCAL,
        ITEM
        + f"""\
  int sum = sub_group_reduce_add(x[g]);
  if (get_sub_group_local_id() == 0) t[get_sub_group_id()] = sum; /*1*/
  {FENCE} //+
  if (l == 0) {{
    int all = 0;
    for (int i = 0; i < get_num_sub_groups(); i++) all += t[i]; /*2*/
    y[get_group_id(0)] = all;
  }}
""",
        head=SUB_GROUP_HEAD,
        options=C20,
    ),
    Pair(
        "maximum of a row whose scratch is used again for its sum",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g];
  {FENCE}
  for (int s = n / 2; s; s /= 2) {{
    if (l < s) t[l] = max(t[l], t[l + s]);
    {FENCE}
  }}
  int most = t[0]; /*1*/
  {FENCE} //+
  t[l] = x[g] - most; /*2*/
  {FENCE}
  y[g] = t[(l + 40) % n];
""",
    ),
    Pair(
        "two stages of a pipeline with one buffer",
        LOCAL,
        ITEM
        + f"""\
  int stages = 2;
  stages = 1; //-
  int part = n / 2, s = 0;
  if (l < part) t[l] = x[g];
  {FENCE}
  for (int i = 1; i < 4; i++) {{
    int now = (i - 1) % stages * part, next = i % stages * part;
    if (l < part) t[next + l] = x[(g + i * part) % 256]; /*2*/
    s += t[now + (l + 20) % part]; /*2*/
    {FENCE}
  }}
  y[g] = s;
""",
    ),
    Pair(
        "circular queue whose head is not reduced",
        "oob-write",
        ITEM
        + """\
  int at = atomic_add(&x[0], 7);
  y[at % 1024] = g; //+
  y[at] = g; /*1*/ //-
""",
    ),
    Pair(
        "tail of a vector loop without a mask",
        "oob-write",
        ITEM
        + """\
  int last = 1022;
  for (int i = g * 4; i < last; i += 1024) {
    for (int j = 0; j < 4; j++) {
      int at = i + j + 4 * (g == 255);
      if (at >= last) continue; //+
      y[at] = x[at % 1024]; /*1*/
    }
  }
""",
    ),
    Pair(
        "loop over tiles that does not divide the length",
        "oob-read",
        ITEM
        + """\
  int s = 0, length = 1000, tile = 192;
  for (int first = 0; first < length; first += tile)
    for (int i = l; i < tile; i += n) {
      if (first + i >= length) break; //+
      s += x[first + i]; /*1*/
    }
  y[g] = s;
""",
    ),
    Pair(
        "sub-group block read past the end",
        "oob-read",
        """\
  uint first = get_group_id(0) * 64 + get_sub_group_id() * 16;
  uint at = first + 1008 - 192;
  at = first + 1008 - 240; //+
  y[first + get_sub_group_local_id()] = intel_sub_group_block_read(x + at); /*1*/
""",
        head=BLOCK_HEAD,
    ),
    Pair(
        "sub-group block write past the end",
        "oob-write",
        """\
  uint first = get_group_id(0) * 64 + get_sub_group_id() * 16;
  uint at = first + 1008 - 192;
  at = first + 1008 - 240; //+
  intel_sub_group_block_write(y + at, x[first + get_sub_group_local_id()]); /*1*/
""",
        head=BLOCK_HEAD,
    ),
    _message("message whose reader does not acquire", _STORE, _either(_LOAD, "acquire")),
    _message("message whose writer does not release", _either(_STORE, "release"), _LOAD),
    Pair(
        "last group that sums before it has acquired",
        GLOBAL,
        ITEM
        + f"""\
  volatile global atomic_int *done = (volatile global atomic_int *)(y + 1000);
  if (l == 0) {{
    y[get_group_id(0)] = x[g]; /*1*/
    int before = atomic_fetch_add_explicit(done, 1, memory_order_acq_rel, {DEVICE}); //+
    int before = atomic_fetch_add_explicit(done, 1, memory_order_relaxed, {DEVICE}); //-
    if (before == 3) {{
      int sum = 0;
      for (int i = 0; i < 4; i++) sum += y[i]; /*2*/
      y[900] = sum;
    }}
  }}
""",
        options=C20,
    ),
    Pair(
        "softmax whose sum is not initialised",
        "uninit-local",
        ITEM
        + f"""\
  if (l == 0) t[0] = 0; //+
  {FENCE}
  atomic_add(&t[0], x[g]);
  {FENCE}
  y[g] = t[0]; /*1*/
""",
    ),
)
