"""Pairs of work-groups that are ordered by fences which reach one work-group only.

On tgllp fences have no scopes, and on dg2 compilers write those of a group like those of all.
"""

from __future__ import annotations

from tests.opencl.sanitizers.pairs import ITEM, Pair
from tests.opencl.sanitizers.pairs_field import C20, DEVICE, WORK_GROUP

_SCOPED = ("pvc", "bmg")
_DONE = "  volatile global atomic_int *done = (volatile global atomic_int *)(y + 1000);\n"
_RELEASE = "    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release,"
_COUNT = "atomic_fetch_add_explicit(done, 1,"
_BOTH = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
_SUM = """\
  if (last) {
    int sum = 0;
    for (int i = l; i < 256; i += 64) sum += y[i]; /*2*/
    atomic_add(y + 900, sum);
  }
"""


def _message(name: str, scopes: tuple[str, str], devices: tuple[str, ...]) -> Pair:
    """Return a pair in which a group leaves a number to another one, and raises a flag."""
    store, load = scopes
    set_flag, see = "atomic_store_explicit(flag, 1, memory_order_release", "memory_order_acquire"
    return Pair(
        name,
        "race-global",
        ITEM
        + f"""\
  volatile global atomic_int *flag = (volatile global atomic_int *)(y + 1000);
  if (g == 0) {{
    x[900] = 5; /*1*/
    {set_flag}, {store}); //-
    {set_flag}, {DEVICE}); //+
  }} else if (g == 200) {{
    int seen = atomic_load_explicit(flag, {see}, {load}); //-
    int seen = atomic_load_explicit(flag, {see}, {DEVICE}); //+
    if (seen) y[0] = x[900]; /*2*/
  }}
""",
        options=C20,
        devices=devices,
    )


SCOPE_PAIRS = (
    _message("flag released to the writer's group", (WORK_GROUP, DEVICE), _SCOPED),
    _message("flag acquired from the reader's group", (DEVICE, WORK_GROUP), ("bmg",)),
    _message("flag within groups on both sides", (WORK_GROUP, WORK_GROUP), _SCOPED),
    Pair(
        "release fence of one group",
        "race-global",
        ITEM
        + _DONE
        + f"""\
  if (l == 0) {{
    y[get_group_id(0)] = x[g]; /*1*/
{_RELEASE} {WORK_GROUP}); //-
{_RELEASE} {DEVICE}); //+
    int before = {_COUNT} memory_order_relaxed, {DEVICE});
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acquire, {DEVICE});
    if (before == 3) {{
      int sum = 0;
      for (int i = 0; i < 4; i++) sum += y[i]; /*2*/
      y[900] = sum;
    }}
  }}
""",
        options=C20,
        devices=_SCOPED,
    ),
    Pair(
        "last group counts itself within its group",
        "race-global",
        ITEM
        + _DONE
        + f"""\
  local int last;
  y[g] = x[g] * 2; /*1*/
  {_BOTH}
  if (l == 0) last = {_COUNT} memory_order_acq_rel, {WORK_GROUP}) == 3; //-
  if (l == 0) last = {_COUNT} memory_order_acq_rel, {DEVICE}) == 3; //+
  {_BOTH}
"""
        + _SUM,
        options=C20,
        devices=_SCOPED,
    ),
    Pair(
        "last group by fences of OpenCL 1.2",
        "race-scope",
        ITEM
        + _DONE
        + f"""\
  local int last;
  y[g] = x[g] * 2; /*1*/
  {_BOTH}
  if (l == 0) {{
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    last = atomic_inc(y + 1000) == 3; //-
    last = {_COUNT} memory_order_acq_rel, {DEVICE}) == 3; //+
    mem_fence(CLK_GLOBAL_MEM_FENCE);
  }}
  {_BOTH}
"""
        + _SUM,
        options=C20,
        devices=_SCOPED,
    ),
)
