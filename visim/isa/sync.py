"""Synchronization instructions (specification 6, Synchronization Instructions)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from visim.isa.codecs import Absent, Codec, CodingError, DecodeTables, EncodeTables, Older
from visim.isa.forms import Bare, Src
from visim.isa.kinds import SOURCE
from visim.isa.registry import Category, Instruction, Names, form
from visim.isa.table import Table
from visim.isa.word_kinds import BITS, OPTIONS, ChoiceKind
from visim.layout import Reader, Writer
from visim.lex import Cursor
from visim.operands import GeneralSource, Immediate, VectorSource
from visim.sem.effects import (
    Barrier,
    BarrierSignal,
    BarrierWait,
    Fence,
    NamedBarrierSignal,
    NamedBarrierWait,
    Space,
    Yield,
)
from visim.sem.expr import constant
from visim.sem.tracer import Tracer, source_type
from visim.target import Platform
from visim.types import UD, UW

TABLE = Table(Category.SYNCHRONIZATION)

SFIDS = (("ugm", 0), ("ugml", 1), ("tgm", 2), ("slm", 3))
FENCE_OPERATIONS = (
    ("none", 0),
    ("evict", 1),
    ("invalidate", 2),
    ("discard", 3),
    ("clean", 4),
    ("flushl3", 5),
    ("type6", 6),
)
SCOPES = (
    ("group", 0),
    ("local", 1),
    ("tile", 2),
    ("gpu", 3),
    ("gpus", 4),
    ("sysrel", 5),
    ("sysacq", 6),
)
GROUP_SCOPES = frozenset({"group", "local"})
"""The scopes that may not reach other groups: these may run in other parts of the device."""

PHASES = (("wait", 0), ("signal", 1))
PHASE = ChoiceKind(PHASES, "an operation")
PRODUCER_CONSUMER = 0
_LAST_BARRIER = 31
_NO_THREADS = _BOTH_ROLES = Immediate(0, UW)
_COUNTED = "signal with counts"
_WAYS = ChoiceKind((("wait", 0), ("signal", 1), (_COUNTED, 2)), "an operation")


@dataclass(frozen=True, slots=True)
class NamedBarrier:
    """What NBARRIER does with which barrier.

    A signal has the number of `threads`, all of them producers and consumers, or the `counts`:
    the thread's role, the number of producers and that of consumers. An object stores what a wait
    does not have, too; it means nothing.
    """

    phase: str
    id: VectorSource
    threads: VectorSource | None = None
    counts: tuple[VectorSource, VectorSource, VectorSource] | None = None

    @property
    def way(self) -> str:
        """What an object of version 4.2 calls it."""
        return self.phase if self.counts is None else _COUNTED

    @property
    def stored_counts(self) -> tuple[VectorSource, ...]:
        """The three operands that an object of version 4.2 has behind the barrier's number."""
        if self.counts is not None:
            return self.counts
        if self.threads is None:
            return (self.id,) * 3
        return (_BOTH_ROLES, self.threads, self.threads)

    @property
    def stored_threads(self) -> VectorSource:
        """The number of threads as an older object has it."""
        if self.counts is not None:
            raise CodingError("an object of this version has no place for producers and consumers")
        return _NO_THREADS if self.threads is None else self.threads


class _ThreeKind:
    """Three sources, one after another."""

    def decode(self, reader: Reader, tables: DecodeTables) -> tuple[VectorSource, ...]:
        """Take the three."""
        return tuple(SOURCE.decode(reader, tables) for _ in range(3))

    def encode(self, value: tuple[VectorSource, ...], writer: Writer, tables: EncodeTables) -> None:
        """Append the three."""
        for source in value:
            SOURCE.encode(source, writer, tables)


class NamedBarrierKind:
    """The operands of NBARRIER, beginning with `wait` or `signal`."""

    expected = "an operation such as 'wait' and a barrier's number"

    def parse(self, cursor: Cursor, names: Names) -> NamedBarrier:
        """Take all operands."""
        phase = PHASE.parse(cursor, names)
        number = SOURCE.parse(cursor, names)
        if phase == "wait":
            return NamedBarrier(phase, number)
        first = SOURCE.parse(cursor, names)
        if cursor.at_end:
            return NamedBarrier(phase, number, first)
        counts = (first, SOURCE.parse(cursor, names), SOURCE.parse(cursor, names))
        return NamedBarrier(phase, number, None, counts)

    def show(self, value: NamedBarrier) -> str:
        """Return the operands; a wait has the barrier's number only."""
        shown = [value.id, *(value.counts or ())]
        if value.phase == "signal" and value.threads is not None:
            shown.append(value.threads)
        return " ".join([value.phase, *(SOURCE.show(operand) for operand in shown)])

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The parts in an object; before version 4.2 it has no place for the counts."""
        return {
            "phase": PHASE,
            "way": _WAYS,
            "id": SOURCE,
            "stored_threads": SOURCE,
            "stored_counts": _ThreeKind(),
        }

    def join(self, parts: dict[str, Any]) -> NamedBarrier:
        """Return the operands with these parts."""
        if "way" in parts:
            return self._counted(parts["way"], parts["id"], parts["stored_counts"])
        phase, threads = parts["phase"], parts["stored_threads"]
        meaningless = phase == "wait" and threads == _NO_THREADS
        return NamedBarrier(phase, parts["id"], None if meaningless else threads)

    @staticmethod
    def _counted(way: str, number: VectorSource, stored: Any) -> NamedBarrier:
        """Return what an object of version 4.2 says."""
        if way == "wait":
            return NamedBarrier(way, number)
        if way == _COUNTED:
            return NamedBarrier("signal", number, None, stored)
        role, producers, consumers = stored
        if role != _BOTH_ROLES or producers != consumers:
            raise CodingError("a signal of threads with roles or numbers of their own")
        return NamedBarrier(way, number, producers)


@form("{op}.{phase}")
class SplitBarrier(Instruction):
    """One half of a barrier."""

    phase: Annotated[str, PHASE]


@form(
    "{op}.{barrier}",
    layout="{barrier.way} {barrier.id} {barrier.stored_counts}",
    older=(Older((4, 2), "{barrier.phase} {barrier.id} {barrier.stored_threads}", {}),),
)
class NamedBarrierPhase(Instruction):
    """One half of a named barrier."""

    barrier: Annotated[NamedBarrier, NamedBarrierKind()]


_NO_MASK = Immediate(0, UW)


@form(
    "{op} {mask}",
    older=(
        Older((3, 1), "{mask}", {"mask": Absent(_NO_MASK, "a mask of dependencies but 0x0:uw")}),
    ),
)
class DependencyWait(Instruction):
    """A wait with the mask of dependencies that it clears."""

    mask: Src


@form("{op}{options}", layout="{sub|options&0x5f}")
class FenceOptions(Instruction):
    """A fence with its cache options."""

    options: Annotated[str, OPTIONS]


@form("{op}", layout="{sub|flags&0x7f}")
class SoftwareFence(Instruction):
    """A fence for the compiler only; `flags` are bits of an object that text does not show."""

    flags: Annotated[int, BITS] = field(default=0, compare=False)


@form("{op}.{sfid}.{operation}.{scope}", layout="0x80 0:2 {sfid} {operation} {scope}")
class LscFence(Instruction):
    """A fence of one kind of memory, with what happens to caches and how far it reaches."""

    sfid: Annotated[str, ChoiceKind(SFIDS, "a shared function")]
    operation: Annotated[str, ChoiceKind(FENCE_OPERATIONS, "a fence operation")]
    scope: Annotated[str, ChoiceKind(SCOPES, "a scope")]


@TABLE.effect(0x59, Bare, example="barrier")
def barrier(t: Tracer, i: Bare) -> None:
    """Wait until all threads of the group are here; orders SLM accesses."""
    t.emit(Barrier())


@TABLE.effect(0x7C, SplitBarrier, example="sbarrier.signal")
def sbarrier(t: Tracer, i: SplitBarrier) -> None:
    """Tell the group's barrier that the thread is here, or wait until all threads have done so."""
    t.emit(BarrierSignal() if i.phase == "signal" else BarrierWait())


def _barrier(i: NamedBarrierPhase, platform: Platform | None) -> str | None:
    """NBARRIER: ids are 0 to 31, at least one thread takes part, both are bytes."""
    del platform
    barrier = i.barrier
    if isinstance(barrier.id, Immediate) and barrier.id.bits > _LAST_BARRIER:
        return f"the barrier's number is 0 to {_LAST_BARRIER}, found {barrier.id.bits}"
    threads = barrier.threads if barrier.phase == "signal" else None
    if isinstance(threads, Immediate) and threads.bits == 0:
        return "a barrier has at least one thread"
    for operand in (barrier.id, threads):
        if isinstance(operand, Immediate | GeneralSource) and source_type(operand).is_float:
            return "the barrier's number and its threads are integers"
    return None


@TABLE.effect(0x60, NamedBarrierPhase, restrict=_barrier, example="nbarrier.signal 0x1:ub 0x4:ub")
def nbarrier(t: Tracer, i: NamedBarrierPhase) -> None:
    """Signal a named barrier, or wait until all its producers and consumers have signalled."""
    barrier = i.barrier
    number = t.scalar(barrier.id, UD)
    if barrier.phase == "wait":
        t.emit(NamedBarrierWait(number))
    elif barrier.counts is not None:
        role, producers, consumers = (t.scalar(count, UD) for count in barrier.counts)
        t.emit(NamedBarrierSignal(number, role, producers, consumers))
    elif barrier.threads is not None:
        threads = t.scalar(barrier.threads, UD)
        role = constant(PRODUCER_CONSUMER, UD, 1)
        t.emit(NamedBarrierSignal(number, role, threads, threads))


@TABLE.effect(0x5B, DependencyWait, example="wait 0x0:ub")
def wait(t: Tracer, i: DependencyWait) -> None:
    """Wait for the threads of the dependency pattern; visim starts a thread after them anyway."""
    t.emit(Fence())


@TABLE.effect(0x5F, Bare, page="YIELD", example="yield")
def yield_(t: Tracer, i: Bare) -> None:
    """Let other threads of the group run first."""
    t.emit(Yield())


@TABLE.effect(0x5C, SoftwareFence, sub=0x80, page="FENCE", example="fence_sw")
def fence_sw(t: Tracer, i: SoftwareFence) -> None:
    """Keep the compiler from moving accesses; where SLM is in order, its fence is this."""
    t.emit(Fence(Space.SLM))


@TABLE.effect(0x5C, FenceOptions, sub=0x20, page="FENCE", example="fence_local.E")
def fence_local(t: Tracer, i: FenceOptions) -> None:
    """Order accesses to SLM."""
    t.emit(Fence(Space.SLM))


@TABLE.effect(0x5C, FenceOptions, sub=0, page="FENCE", example="fence_global.EL1")
def fence_global(t: Tracer, i: FenceOptions) -> None:
    """Order accesses to global memory."""
    t.emit(Fence(Space.FLAT))


@TABLE.effect(0x8B, LscFence, example="lsc_fence.slm.none.group")
def lsc_fence(t: Tracer, i: LscFence) -> None:
    """Order accesses to one kind of memory; the engine performs them in order anyway."""
    memory = Space.SLM if i.sfid == "slm" else Space.FLAT
    t.emit(Fence(memory, i.scope in GROUP_SCOPES, i.operation == "none"))


@TABLE.effect(0x5A, Bare, page="CACHE_FLUSH", example="sampler_cache_flush")
def sampler_cache_flush(t: Tracer, i: Bare) -> None:
    """Make the sampler see earlier writes; visim's memory has no sampler cache."""
    t.emit(Fence())
