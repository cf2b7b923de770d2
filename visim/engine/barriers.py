"""The barriers of a thread group: who has signalled, who may go on, and whom the others miss.

A barrier goes through phases. A thread that signals takes part in the current phase; the phase
ends when all producers and consumers have signalled. A wait lasts until the phase in which the
thread signalled has ended. The barrier of the whole group is one in which every thread is both;
devices with named barriers have it as number 0 of them.

Gateways without named barriers count what they are sent: as often as there are threads, they notify
all of these, whose notifications add up, and a wait takes one of them. A thread may therefore
signal twice before it waits twice, as compilers write it in code for 32 channels.

Knows no engine. Follows specification 6, pages BARRIER, SBARRIER and NBARRIER.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from visim.sem.effects import (
    Barrier,
    BarrierSignal,
    BarrierWait,
    FusedExchange,
    NamedBarrierSignal,
    NamedBarrierWait,
    Synchronization,
    Yield,
)

GROUP = 0
"""The key of the barrier of the whole group; named barriers have their number."""

AHEAD = 2
"""How many signals a thread may be ahead of its waits where the gateway counts them."""

NAMED = 32
"""How many named barriers there are."""

FUSED = 64
"""The key of the first fused pair of threads, which meet as at a barrier of their own."""

BOTH, _PRODUCER, _CONSUMER = 0, 1, 2


class BarrierMisuse(Exception):
    """A thread uses a barrier in a way that the specification leaves undefined."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a thread that waits needs: the end of a phase of a barrier."""

    key: int
    phase: int

    @property
    def barrier(self) -> str:
        """What messages call the barrier."""
        if self.key >= FUSED:
            return "an instruction of a fused pair"
        return "a barrier" if self.key == GROUP else f"named barrier {self.key}"


@dataclass(frozen=True, slots=True)
class Signal:
    """A thread's last signal at a barrier: its phase, as what, and whether a wait has to follow."""

    phase: int
    is_producer: bool
    is_consumer: bool
    is_held: bool


@dataclass(slots=True)
class _Barrier:
    phase: int = 0
    expected: tuple[int, int] | None = None
    producers: set[int] = field(default_factory=set[int])
    consumers: set[int] = field(default_factory=set[int])

    @property
    def missing(self) -> tuple[int, int]:
        """How many producers and consumers have not signalled yet."""
        producers, consumers = self.expected or (0, 0)
        return producers - len(self.producers), consumers - len(self.consumers)

    def end_phase(self) -> None:
        self.phase += 1
        self.expected = None
        self.producers, self.consumers = set(), set()


@dataclass(slots=True)
class _Counted:
    """The barrier of a group of `threads` whose gateway counts the signals of all of them."""

    threads: int
    signals: dict[int, int] = field(default_factory=dict[int, int])
    waits: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def phase(self) -> int:
        """How often all threads have been notified."""
        return sum(self.signals.values()) // self.threads

    def ahead(self, thread: int) -> int:
        """Return how many signals of a thread have no wait yet."""
        return self.signals.get(thread, 0) - self.waits.get(thread, 0)

    def signal(self, thread: int, most: int) -> None:
        if self.ahead(thread) >= most:
            times = "twice" if most == AHEAD else "already"
            raise BarrierMisuse(
                f"the thread signals a barrier that it has {times} signalled and not waited for"
            )
        self.signals[thread] = self.signals.get(thread, 0) + 1

    def wait(self, thread: int) -> Ticket:
        if not self.ahead(thread):
            raise BarrierMisuse("the thread waits for a barrier that it has not signalled")
        ticket = Ticket(GROUP, self.waits.get(thread, 0))
        self.waits[thread] = ticket.phase + 1
        return ticket

    def missing(self, ticket: Ticket, alive: Iterable[int]) -> set[int]:
        return {thread for thread in alive if self.signals.get(thread, 0) <= ticket.phase}


class Barriers:
    """All barriers of one group of `threads` hardware threads.

    `has_named` says whether the device has named barriers, else its gateway counts signals.
    """

    def __init__(self, threads: int, *, has_named: bool = True) -> None:
        self.threads = threads
        self._barriers: dict[int, _Barrier] = {}
        self._tickets: dict[tuple[int, int], Ticket] = {}
        self._counted = None if has_named else _Counted(threads)

    def restore_counts(self, signals: Mapping[int, int], waits: Mapping[int, int]) -> None:
        """Take over how often each thread has signalled and waited, where the gateway counts."""
        self._counted = _Counted(self.threads, dict(signals), dict(waits))

    def restore(
        self, key: int, phase: int, expected: tuple[int, int] | None, signals: Mapping[int, Signal]
    ) -> None:
        """Take over how a barrier stands that others have kept.

        Args:
            key: the barrier's number, or `GROUP`.
            phase: how many of its phases have ended.
            expected: how many producers and consumers this phase has; None: nobody has signalled.
            signals: the last signal of each thread that has signalled.
        """
        barrier = self._barriers[key] = _Barrier(phase, expected)
        for thread, signal in signals.items():
            if signal.phase == phase and signal.is_producer:
                barrier.producers.add(thread)
            if signal.phase == phase and signal.is_consumer:
                barrier.consumers.add(thread)
            if signal.is_held:
                self._tickets[thread, key] = Ticket(key, signal.phase)

    def signal(self, thread: int, most: int = AHEAD) -> None:
        """Note that `thread` has reached the barrier of the group.

        Args:
            thread: the thread's number.
            most: how many signals it may then be ahead of its waits where the gateway counts.

        Raises:
            BarrierMisuse: it is so many ahead; with named barriers, it has not waited since it
                last signalled.
        """
        if self._counted is not None:
            self._counted.signal(thread, most)
        else:
            self._signal(thread, GROUP, BOTH, (self.threads, self.threads))

    def signal_named(self, thread: int, key: int, role: int, counts: tuple[int, int]) -> None:
        """Note that `thread` has reached named barrier `key`.

        Args:
            thread: the thread's number.
            key: the barrier's number.
            role: 0 for a producer and consumer, 1 for a producer, 2 for a consumer.
            counts: how many producers and consumers take part.

        Raises:
            BarrierMisuse: a number is out of range, or does not fit what other threads say.
        """
        _check_named(key)
        if role not in {BOTH, _PRODUCER, _CONSUMER}:
            raise BarrierMisuse(f"{role} is not a role at a named barrier, expected 0, 1 or 2")
        for count, what in zip(counts, ("producers", "consumers"), strict=True):
            if not 1 <= count <= self.threads:
                raise BarrierMisuse(
                    f"named barrier {key}: {count} {what} are not in 1..{self.threads}, the "
                    "threads of the group"
                )
        self._signal(thread, key, role, counts)

    def _signal(self, thread: int, key: int, role: int, counts: tuple[int, int]) -> None:
        """Count a thread at a named barrier.

        A consumer gets a ticket, the last thread ends the phase.
        """
        barrier = self._barriers.setdefault(key, _Barrier())
        ticket = Ticket(key, barrier.phase)
        same = "; barriers of the whole group are named barrier 0" if key == GROUP else ""
        if thread in barrier.producers | barrier.consumers or (thread, key) in self._tickets:
            raise BarrierMisuse(
                f"the thread signals {ticket.barrier} a second time before its first phase ended "
                f"and was waited for{same}"
            )
        if barrier.expected not in {None, counts}:
            raise BarrierMisuse(
                f"{ticket.barrier}: the thread says {counts[0]} producers and {counts[1]} "
                f"consumers, others said {barrier.expected}{same}"
            )
        barrier.expected = counts
        if role != _CONSUMER:
            barrier.producers.add(thread)
        if role != _PRODUCER:
            barrier.consumers.add(thread)
            self._tickets[thread, key] = ticket
        missing = barrier.missing
        if min(missing) < 0:
            raise BarrierMisuse(f"{ticket.barrier}: more threads signal than take part{same}")
        if missing == (0, 0):
            barrier.end_phase()

    def perform(
        self, thread: int, effect: Synchronization, operands: Sequence[int]
    ) -> Ticket | None:
        """Do what a synchronization of `thread` says; return what it has to wait for.

        Args:
            thread: the thread's number.
            effect: the synchronization.
            operands: what it is given, in the order of its fields.

        Raises:
            BarrierMisuse: the specification leaves undefined what would happen.
        """
        match effect:
            case Barrier():
                self.signal(thread, 1)
                return self.wait(thread)
            case BarrierSignal():
                self.signal(thread)
            case BarrierWait():
                return self.wait(thread)
            case NamedBarrierSignal():
                key, role, producers, consumers = operands
                self.signal_named(thread, key, role, (producers, consumers))
            case NamedBarrierWait():
                _check_named(operands[0])
                return self.wait(thread, operands[0])
            case FusedExchange():
                return self.meet(thread)
            case Yield():
                pass
        return None

    def stalemate(self, waiting: Mapping[int, tuple[str, Ticket]], threads: Iterable[int]) -> str:
        """Return who of a group's `threads` waits where for whom, when nobody can go on."""
        places: dict[str, list[int]] = {}
        for number, (where, ticket) in waiting.items():
            what = f"at {where} wait at {ticket.barrier} for {self.missing(ticket, waiting)}"
            places.setdefault(what, []).append(number)
        message = "; ".join(f"threads {sorted(n)} {what}" for what, n in places.items())
        ended = sorted(set(threads) - set(waiting))
        return message + (f"; threads {ended} ended" if ended else "")

    def meet(self, thread: int) -> Ticket:
        """Note that `thread` waits for the other one of its fused pair.

        Threads 2n and 2n + 1 are a pair.
        """
        key = FUSED + thread // 2
        self._signal(thread, key, BOTH, (2, 2))
        return self.wait(thread, key)

    def wait(self, thread: int, key: int = GROUP) -> Ticket:
        """Return what `thread` has to wait for.

        Raises:
            BarrierMisuse: it has not signalled as a consumer before.
        """
        if self._counted is not None and key == GROUP:
            return self._counted.wait(thread)
        ticket = self._tickets.pop((thread, key), None)
        if ticket is None:
            name = Ticket(key, 0).barrier
            raise BarrierMisuse(f"the thread waits for {name} and has not signalled as a consumer")
        return ticket

    def is_over(self, ticket: Ticket) -> bool:
        """Return whether the phase of `ticket` has ended."""
        if self._counted is not None and ticket.key == GROUP:
            return self._counted.phase > ticket.phase
        barrier = self._barriers.get(ticket.key)
        return barrier is not None and barrier.phase > ticket.phase

    def missing(self, ticket: Ticket, alive: Iterable[int]) -> str:
        """Return for whom a thread with `ticket` waits; `alive` are the threads yet to end."""
        if self._counted is not None and ticket.key == GROUP:
            return _threads(self._counted.missing(ticket, alive))
        barrier = self._barriers[ticket.key]
        if ticket.key == GROUP and barrier.expected == (self.threads, self.threads):
            return _threads(set(alive) - barrier.producers)
        if ticket.key >= FUSED:
            first = 2 * (ticket.key - FUSED)
            (other,) = {first, first + 1} - barrier.producers
            return f"thread {other}" if other < self.threads else "a thread that the group lacks"
        producers, consumers = barrier.missing
        counts = ((producers, "producers"), (consumers, "consumers"))
        return " and ".join(f"{count} more {what}" for count, what in counts if count)


def _threads(waited_for: set[int]) -> str:
    return f"threads {sorted(waited_for)}" if waited_for else "threads that ended"


def _check_named(key: int) -> None:
    if not 0 <= key < NAMED:
        raise BarrierMisuse(f"named barrier {key} does not exist, there are 0 to {NAMED - 1}")
