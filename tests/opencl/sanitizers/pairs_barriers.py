"""Wrong kernels that wait in halves, or at barriers of some threads: split and named barriers."""

from __future__ import annotations

from tests.opencl.sanitizers.pairs import ITEM, Pair
from tests.opencl.sanitizers.pairs_field import SUB_GROUP_HEAD

LOCAL, GLOBAL, DIVERGENCE = "race-local", "race-global", "barrier-divergence"
ARRIVE = "intel_work_group_barrier_arrive(CLK_LOCAL_MEM_FENCE);"
WAIT = "intel_work_group_barrier_wait(CLK_LOCAL_MEM_FENCE);"
THREADS = 4
"""Sub-groups of 16 work-items in a group."""
WITH_NAMED = ("pvc", "bmg")


def _asm(*lines: str) -> str:
    text = "\\n".join(lines)
    return f'__asm__ volatile("{text}" : : : "memory");'


def _met(number: int, count: int) -> str:
    """Return what lets so many threads meet at a named barrier, with the fence."""
    signal = f"nbarrier.signal {number}:ub {count}:ub"
    return _asm("fence_local.E", signal, f"nbarrier.wait {number}:ub")


def _part(number: int, role: int, producers: int, consumers: int) -> str:
    """Return what lets a thread signal a named barrier, with the fence: 1 produces, 2 consumes."""
    return _asm(
        "fence_local.E", f"nbarrier.signal {number}:ub {role}:uw {producers}:ub {consumers}:ub"
    )


_SPLIT = (
    Pair(
        "neighbour that is read between the halves of a barrier",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g]; /*1*/
  {ARRIVE}
  int v = t[(l + 40) % n]; /*2*/ //-
  y[g] = x[g] * 3;
  {WAIT}
  int v = t[(l + 40) % n]; //+
  y[g] += v;
""",
        current=True,
    ),
    Pair(
        "store that has moved behind the arrival",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g]; //+
  {ARRIVE}
  t[l] = x[g]; /*1*/ //-
  {WAIT}
  y[g] = t[(l + 40) % n]; /*2*/
""",
        current=True,
    ),
    Pair(
        "halves of a barrier with the fence of the other memory",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g]; /*1*/
  intel_work_group_barrier_arrive(CLK_GLOBAL_MEM_FENCE); //-
  {ARRIVE} //+
  y[g] = 0;
  intel_work_group_barrier_wait(CLK_GLOBAL_MEM_FENCE); //-
  {WAIT} //+
  y[g] = t[(l + 40) % n]; /*2*/
""",
        current=True,
    ),
    Pair(
        "exchange in a buffer between the halves of a barrier",
        GLOBAL,
        ITEM
        + """\
  y[g] = x[g]; /*1*/
  intel_work_group_barrier_arrive(CLK_GLOBAL_MEM_FENCE);
  int v = y[g - l + (l + 40) % n]; /*2*/ //-
  intel_work_group_barrier_wait(CLK_GLOBAL_MEM_FENCE);
  int v = y[g - l + (l + 40) % n]; //+
  x[g] = v;
""",
        current=True,
    ),
    Pair(
        "tile that is filled again before all have arrived",
        LOCAL,
        ITEM
        + f"""\
  int s = 0;
  for (int i = 0; i < 3; i++) {{
    t[l] = x[(g + i * 64) % 256]; /*1*/
    {ARRIVE}
    {WAIT}
    s += t[(l + 40) % n]; /*2*/
    {ARRIVE} //+
    {WAIT} //+
  }}
  y[g] = s;
""",
        current=True,
    ),
    Pair(
        "arrival in a branch",
        DIVERGENCE,
        ITEM
        + f"""\
  t[l] = x[g];
  if (l % 2 == 0) {{ //-
  {ARRIVE} /*1*/
  }} //-
  y[g] = l;
  {WAIT}
  y[g] += t[l];
""",
        current=True,
    ),
)

_NAMED = (
    Pair(
        "halves of a group that have a barrier each and read of the other",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g]; /*1*/
  if (l / 32 == 0) {{
    {_met(1, 2)}
  }} else {{
    {_met(2, 2)}
  }}
  y[g] = t[(l + 32) % 64]; /*2*/ //-
  y[g] = t[l / 32 * 32 + (l + 16) % 32]; //+
""",
        head=SUB_GROUP_HEAD,
        devices=WITH_NAMED,
        current=True,
    ),
    Pair(
        "named barrier without a fence",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g]; /*1*/
  {_asm(f"nbarrier.signal 3:ub {THREADS}:ub", "nbarrier.wait 3:ub")} //-
  {_met(3, THREADS)} //+
  y[g] = t[(l + 40) % n]; /*2*/
""",
        head=SUB_GROUP_HEAD,
        devices=WITH_NAMED,
        current=True,
    ),
    Pair(
        "store behind the signal of a named barrier",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g]; //+
  {_asm("fence_local.E", f"nbarrier.signal 1:ub {THREADS}:ub")}
  t[l] = x[g]; /*1*/ //-
  {_asm("nbarrier.wait 1:ub")}
  y[g] = t[(l + 40) % n]; /*2*/
""",
        head=SUB_GROUP_HEAD,
        devices=WITH_NAMED,
        current=True,
    ),
    Pair(
        "consumers that do not wait for their producers",
        LOCAL,
        ITEM
        + f"""\
  if (l < 32) {{
    t[l] = x[g]; /*1*/
    {_part(1, 1, 2, 2)}
    y[g] = 0;
  }} else {{
    {_part(1, 2, 2, 2)}
    {_asm("nbarrier.wait 1:ub")} //+
    y[g] = t[l - 32]; /*2*/
  }}
""",
        head=SUB_GROUP_HEAD,
        devices=WITH_NAMED,
        current=True,
    ),
    Pair(
        "producers that refill what consumers still read",
        LOCAL,
        ITEM
        + f"""\
  int s = 0;
  __attribute__((opencl_unroll_hint(1)))
  for (int i = 0; i < 3; i++) {{
    if (l < 32) {{
      t[l] = x[g + i]; /*1*/
      {_part(1, 1, 2, 2)}
      {_part(2, 2, 2, 2)}
      {_asm("nbarrier.wait 2:ub")}
    }} else {{
      {_part(1, 2, 2, 2)}
      {_asm("nbarrier.wait 1:ub")}
      {_part(2, 1, 2, 2)} //-
      s += t[l - 32]; /*2*/
      {_part(2, 1, 2, 2)} //+
    }}
  }}
  y[g] = s;
""",
        head=SUB_GROUP_HEAD,
        devices=WITH_NAMED,
        current=True,
    ),
    Pair(
        "pipeline of which one stage meets too few threads",
        LOCAL,
        ITEM
        + f"""\
  t[l] = x[g]; /*1*/
  if (l >= 16) {{ //-
    {_met(4, THREADS - 1)} //-
  }} //-
  {_met(4, THREADS)} //+
  y[g] = t[(l + 16) % n]; /*2*/
""",
        head=SUB_GROUP_HEAD,
        devices=WITH_NAMED,
        current=True,
    ),
)

BARRIER_PAIRS = (*_SPLIT, *_NAMED)
