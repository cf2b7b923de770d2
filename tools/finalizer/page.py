"""The page that holds the timing model against the schedules of today's compiler."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools.finalizer.compare import RESULTS
from tools.instruction_pages import GENERATED

_PAGE = "timing-finalizer.md"
_INTRODUCTION = """\
Intel's compiler orders instructions by a model of its own, and writes down in which cycle it
expects each of them: so does the released one, with the variable
`IGC_VISAOptions="-dumpSchedule"` or `-igc_opts 'VISAOptions=-dumpSchedule'` among the options
of `ocloc`. The timing model (preset `igc`, one thread alone, without caches) takes the same
instructions in the same order. This page is made by `python -m tools.finalizer.compare` from
the OpenCL programs of the tests. What the compiler believes is no measurement, but it is what
Intel's engineers believe.
"""
_WHY = """\
A block is equal if every instruction begins in the compiler's cycle. What is unlike has known
causes:

- *Exact division and square root of doubles* (`nop` are branches after them, `mad.wide` the steps
  of their iterations): the compiler has no waits in them, neither for the flag that says that
  they are done nor from one step to the next; the model waits.
  Where a kind of 16 flags is seen once (cri), it is this.
- *Address registers* are one for the model as far as overwriting goes: two cycles (`alu`).
- *Messages* that read a part of a register (`slm.load` of cri), and branches of cri that wait for
  atomics which have no answer.
- *Rates* of matrix products and of doubles' multiply-adds are no part of this comparison. The
  compiler has them take turns as all others do, the model has their rates from devices.
- *Issue*: the compiler counts a cycle for each eight channels, although Xe-HPC, Xe2 and later
  are 16 wide; in schedules the model is made to count likewise, otherwise it starts 16 channels
  each cycle.

Blocks that are not read: through an address register it is open which registers are touched,
and the high half of a product is not an instruction yet.
"""
_LATENCIES = """\
Cycles from an instruction to the first one that waits for it and for nothing else, where that
is seen most often: the compiler's, and the model's where it differs (`compiler; model`). Kinds
are the classes of costs in `visim/timing/tables`.
"""


def pages() -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the lines of the page."""
    yield _PAGE, list(_lines(json.loads(RESULTS.read_text(encoding="utf-8"))))


def _lines(results: Mapping[str, Any]) -> Iterator[str]:
    devices: Mapping[str, Any] = results["devices"]
    yield from ("# The timing model against today's compiler", "", GENERATED, "", _INTRODUCTION)
    yield from (f"Compiler {results['compiler']}.", "", "## Schedules", "")
    yield "| | Blocks | Equal | Instructions | Cycles, compiler | Cycles, model | Not read |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, found in devices.items():
        share = found["equal"] / found["blocks"]
        error = found["modelled"] / found["expected"] - 1
        yield (
            f"| {name} | {found['blocks']} | {found['equal']} ({share:.1%}) | "
            f"{found['instructions']} | {found['expected']} | {found['modelled']} ({error:+.2%}) | "
            f"{_counted(found['unread'])} |"
        )
    yield from ("", _WHY, "First in another cycle, of the blocks that are not equal:", "")
    yield from (f"- {name}: {_counted(found['first'])}" for name, found in devices.items())
    yield from ("", "## Latencies", "", _LATENCIES, *_table(devices))


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


def _table(devices: Mapping[str, Any]) -> Iterator[str]:
    cells: dict[tuple[str, int], dict[str, str]] = {}
    for name, found in devices.items():
        for kind, channels, compiler, model, _ in found["latencies"]:
            both = f"{compiler}; {model}" if compiler != model else str(compiler)
            cells.setdefault((kind, channels), {})[name] = both
    yield _row("Kind", "Channels", devices)
    yield _row("---", "---", ["---"] * len(devices))
    for (kind, channels), row in sorted(cells.items()):
        yield _row(kind, str(channels), [row.get(name, "") for name in devices])


def _row(kind: str, channels: str, others: Sequence[str] | Mapping[str, Any]) -> str:
    return f"| {' | '.join([kind, channels, *others])} |"


__all__ = ["pages"]
