"""A command streamer: it goes through batches and does what their commands say.

Owns the meaning of commands of one engine. Kernels and copies are done by others. A command that
is not known stops the queue: its name, its place and its words are in the message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event, Lock
from typing import Protocol

from visim.device.address_space import AddressSpace
from visim.device.commands import Command, Field, Layout, bit, key_of
from visim.device.copying import Copier
from visim.device.older_walker import DESCRIPTOR_BYTES, descriptor_number, read_older_walker
from visim.device.registers import DISPATCH_SIZE, Registers
from visim.device.walker import ComputeWalk, PostSync, read_walker

_MOST_NESTED = 3
_SHOWN_WORDS = 8
_SHORT_STAMP_BYTES = 4
_ADDRESS_BITS = (1 << 48) - 1
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _SPINS = 20e-6, 2e-3, 50
_MASK_32 = 0xFFFF_FFFF
_NO_WRITE, _IMMEDIATE, _TIMESTAMP = 0, 1, 3

_POST_SYNC_OF_PIPE, _POST_SYNC_OF_FLUSH = Field(1, 15, 14), Field(0, 15, 14)
_WRITES_AFTER_FLUSH = bit(0, 14)
_IS_SECOND_LEVEL, _IS_INDIRECT_JUMP = bit(0, 22), bit(0, 18)
_COMPARISON, _POLLS_REGISTER, _HAS_INDIRECT_DATA = Field(0, 14, 12), bit(0, 16), bit(0, 17)
_STORES_LONG = bit(0, 21)
_ATOMIC_OPERATION, _RETURNS, _HAS_OPERANDS = Field(0, 15, 8), bit(0, 16), bit(0, 18)
_PREDICATE_MODE = Field(0, 3, 0)

_COMPARISONS: tuple[Callable[[int, int], bool], ...] = (
    lambda found, given: found > given,
    lambda found, given: found >= given,
    lambda found, given: found < given,
    lambda found, given: found <= given,
    lambda found, given: found == given,
    lambda found, given: found != given,
)
_ATOMICS: Mapping[int, Callable[[int, int, int], int]] = {
    0x1: lambda old, a, _: old & a,
    0x2: lambda old, a, _: old | a,
    0x3: lambda old, a, _: old ^ a,
    0x4: lambda _, a, __: a,
    0x5: lambda old, _, __: old + 1,
    0x6: lambda old, _, __: old - 1,
    0x7: lambda old, a, _: old + a,
    0x8: lambda old, a, _: old - a,
    0xC: lambda old, a, _: max(old, a),
    0xD: lambda old, a, _: min(old, a),
    0xE: lambda old, a, b: b if old == a else old,
}
_LONG_ATOMIC = 0x20
_ATOMIC_LOCK = Lock()
"""All streamers of a VM do one atomic operation at a time."""


class QueueError(Exception):
    """What stops a queue for good; the message says it to the user."""


class Stopped(Exception):
    """The queue is being taken down while it waits."""


@dataclass(slots=True)
class Bases:
    """The addresses that STATE_BASE_ADDRESS and its relatives have set, and scratch memory."""

    general: int = 0
    indirect: int = 0
    surface: int = 0
    dynamic: int = 0
    instruction: int = 0
    bindless_surface: int = 0
    bindless_sampler: int = 0
    binding_pool: int = 0
    scratch: int = 0


class Compute(Protocol):
    """What runs kernels."""

    def run(self, walk: ComputeWalk, groups: tuple[int, int, int], bases: Bases) -> None:
        """Run all threads of a walk; `QueueError` if that is not possible."""
        ...


class Streamer:
    """The command streamer of one queue.

    Args:
        generation: its commands and their layout.
        space: the memory of its VM.
        clock: gives the GPU's timestamp.
        compute: runs kernels.
        stop: is set when the queue is taken down.
        trace: is told of each command.
    """

    def __init__(
        self,
        generation: Layout,
        space: AddressSpace,
        clock: Callable[[], int],
        compute: Compute,
        stop: Event,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        self._trace = trace
        self._table = generation.commands
        self._generation = generation
        self._space = space
        self._clock = clock
        self._compute = compute
        self._stop = stop
        self._copier = Copier(space)
        self.registers = Registers(clock)
        self.bases = Bases()
        self._predicate = 0
        self._descriptors = 0
        self._returns: list[int] = []
        self._at = 0
        self._meanings: dict[str, Callable[[Sequence[int]], None]] = {
            "MI_SET_PREDICATE": self._set_predicate,
            "MI_BATCH_BUFFER_START": self._jump,
            "MI_BATCH_BUFFER_END": self._end,
            "MI_MATH": lambda words: self.registers.calculate(words[1:]),
            "MI_SEMAPHORE_WAIT": self._wait,
            "MI_STORE_DATA_IMM": self._store_data,
            "MI_LOAD_REGISTER_IMM": self._load_immediate,
            "MI_LOAD_REGISTER_MEM": self._load_register,
            "MI_LOAD_REGISTER_REG": self._move_register,
            "MI_STORE_REGISTER_MEM": self._store_register,
            "MI_ATOMIC": self._atomic,
            "MI_FLUSH_DW": self._flush,
            "PIPE_CONTROL": self._pipe_control,
            "L3_CONTROL": self._control_l3,
            "STATE_BASE_ADDRESS": self._set_bases,
            "3DSTATE_BINDING_TABLE_POOL_ALLOC": self._set_pool,
            "CFE_STATE": self._set_front_end,
            "COMPUTE_WALKER": self._walk,
            "MEDIA_VFE_STATE": self._set_media_front_end,
            "MEDIA_INTERFACE_DESCRIPTOR_LOAD": self._load_descriptors,
            "GPGPU_WALKER": self._walk_older,
            "MEM_COPY": self._copier.copy,
            "MEM_SET": self._copier.fill,
            "XY_BLOCK_COPY_BLT": self._copier.block_copy,
            "XY_FAST_COLOR_BLT": self._copier.fast_color,
            **dict.fromkeys(_WITHOUT_EFFECT, _do_nothing),
        }

    def run(self, address: int) -> None:
        """Do the commands from `address` on, until the batch ends.

        Raises:
            QueueError: a command is not known, or cannot be done.
            Stopped: the queue was taken down.
        """
        self._at, self._returns = address, []
        try:
            while self._at:
                self._step()
        except (QueueError, Stopped):
            raise
        except Exception as error:
            raise QueueError(f"{self._where()}: {error}") from error

    def _step(self) -> None:
        head = self._space.load(self._at)
        command = self._table.get(key_of(head))
        if command is None:
            raise QueueError(
                f"unknown command 0x{head:08x} at 0x{self._at:x}: {self._shown(_SHOWN_WORDS)}"
            )
        count = command.words(head)
        words = self._words(count) if count > 1 else (head,)
        self._at += 4 * count
        if self._trace is not None:
            self._trace(f"0x{self._at - 4 * count:x} {command.name}: {_hex(words)}")
        if self._skips(command, head):
            return
        try:
            self._meanings[command.name](words)
        except (QueueError, Stopped):
            raise
        except Exception as error:
            raise QueueError(
                f"{command.name} at 0x{self._at - 4 * count:x}: {error} "
                f"({_hex(words[:_SHOWN_WORDS])})"
            ) from error

    def _words(self, count: int) -> Sequence[int]:
        data = self._space.read(self._at, 4 * count)
        return memoryview(data).cast("I").tolist()

    def _shown(self, count: int) -> str:
        try:
            return _hex(self._words(count))
        except Exception:
            return "its words cannot be read"

    def _where(self) -> str:
        return f"batch at 0x{self._at:x}"

    def _skips(self, command: Command, head: int) -> bool:
        """Return whether predication turns a command into nothing."""
        if command.name == "MI_SET_PREDICATE" or not self._predicate:
            return False
        if command.name == "MI_BATCH_BUFFER_START" and not head & command.skipped_by:
            return False
        return self.registers.is_skipped(self._predicate)

    # Flow

    def _set_predicate(self, words: Sequence[int]) -> None:
        self._predicate = _PREDICATE_MODE.of(words)

    def _jump(self, words: Sequence[int]) -> None:
        if _IS_INDIRECT_JUMP.of(words):
            raise QueueError("MI_BATCH_BUFFER_START with an indirect address is not supported")
        if _IS_SECOND_LEVEL.of(words):
            if len(self._returns) == _MOST_NESTED:
                raise QueueError("MI_BATCH_BUFFER_START is nested too deeply")
            self._returns.append(self._at)
        if self._stop.is_set():
            raise Stopped
        self._at = _address(words, 1) & ~3

    def _end(self, words: Sequence[int]) -> None:
        del words
        self._at = self._returns.pop() if self._returns else 0

    def _wait(self, words: Sequence[int]) -> None:
        comparison = _COMPARISON.of(words)
        if comparison >= len(_COMPARISONS):
            raise QueueError(f"MI_SEMAPHORE_WAIT with comparison {comparison}")
        given = self.registers.read(0x600) if _HAS_INDIRECT_DATA.of(words) else words[1]
        address, is_met = _address(words, 2) & ~3, _COMPARISONS[comparison]
        pause, spins = _FIRST_PAUSE_S, 0
        while True:
            polled = words[2] & ~3 if _POLLS_REGISTER.of(words) else None
            found = self._space.load(address) if polled is None else self.registers.read(polled)
            if is_met(found, given):
                return
            if self._stop.is_set():
                raise Stopped
            spins += 1
            if spins > _SPINS:
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE_S)

    # Registers and memory

    def _store_data(self, words: Sequence[int]) -> None:
        address = _address(words, 1) & ~3
        if _STORES_LONG.of(words):
            self._space.store_long(address, words[3] | words[4] << 32)
        else:
            self._space.store(address, words[3])

    def _load_immediate(self, words: Sequence[int]) -> None:
        for place in range(1, len(words) - 1, 2):
            self.registers.write(words[place], words[place + 1])

    def _load_register(self, words: Sequence[int]) -> None:
        self.registers.write(words[1], self._space.load(_address(words, 2) & ~3))

    def _move_register(self, words: Sequence[int]) -> None:
        self.registers.write(words[2], self.registers.read(words[1]))

    def _store_register(self, words: Sequence[int]) -> None:
        self._space.store(_address(words, 2) & ~3, self.registers.read(words[1]))

    def _atomic(self, words: Sequence[int]) -> None:
        operation = _ATOMIC_OPERATION.of(words)
        is_long = bool(operation & _LONG_ATOMIC)
        perform = _ATOMICS.get(operation & ~_LONG_ATOMIC)
        if perform is None:
            raise QueueError(f"MI_ATOMIC with operation 0x{operation:x}")
        a, b = self._operands(words, is_long=is_long)
        address = _address(words, 1) & ~3
        load = self._space.load_long if is_long else self._space.load
        store = self._space.store_long if is_long else self._space.store
        with _ATOMIC_LOCK:
            old = load(address)
            store(address, perform(old, a, b))
        if _RETURNS.of(words):
            self.registers.write(0x600, old)
            self.registers.write(0x604, old >> 32)

    def _operands(self, words: Sequence[int], *, is_long: bool) -> tuple[int, int]:
        if _HAS_OPERANDS.of(words):
            a, b = words[3] | words[5] << 32, words[4] | words[6] << 32
        else:
            read = self.registers.read
            a, b = read(0x600) | read(0x604) << 32, read(0x610) | read(0x614) << 32
        return (a, b) if is_long else (a & _MASK_32, b & _MASK_32)

    # Ends of work

    def _flush(self, words: Sequence[int]) -> None:
        if _POST_SYNC_OF_FLUSH.of(words):
            value = words[3] | words[4] << 32
            self._write(_POST_SYNC_OF_FLUSH.of(words), _address(words, 1) & ~7, value)

    def _pipe_control(self, words: Sequence[int]) -> None:
        operation = _POST_SYNC_OF_PIPE.of(words)
        if operation:
            self._write(operation, _address(words, 2) & ~3, words[4] | words[5] << 32)

    def _control_l3(self, words: Sequence[int]) -> None:
        """Flush ranges of addresses: there is nothing to flush, but a number may follow."""
        if _WRITES_AFTER_FLUSH.of(words):
            self._space.store_long(_address(words, 1) & ~7, words[3] | words[4] << 32)

    def _write(self, operation: int, address: int, value: int) -> None:
        match operation:
            case 1:
                self._space.store_long(address, value)
            case 3:
                self._space.store_long(address, self._clock())
            case _:
                raise QueueError(f"post-sync operation {operation} is not known")

    # State and kernels

    def _set_bases(self, words: Sequence[int]) -> None:
        for name, place in self._generation.bases.items():
            if words[place] & 1:
                setattr(self.bases, name, _address(words, place) & ~0xFFF)

    def _set_pool(self, words: Sequence[int]) -> None:
        self.bases.binding_pool = _address(words, 1) & ~0xFFF

    def _set_front_end(self, words: Sequence[int]) -> None:
        self.bases.scratch = words[1] >> 10 << 6

    def _set_media_front_end(self, words: Sequence[int]) -> None:
        self.bases.scratch = _address(words, 1) & ~0x3FF

    def _load_descriptors(self, words: Sequence[int]) -> None:
        self._descriptors = self.bases.dynamic + words[3]

    def _walk_older(self, words: Sequence[int]) -> None:
        place = self._descriptors + DESCRIPTOR_BYTES * descriptor_number(words)
        data = self._space.read(place, DESCRIPTOR_BYTES)
        self._run(read_older_walker(words, memoryview(data).cast("I").tolist()))

    def _walk(self, words: Sequence[int]) -> None:
        self._run(read_walker(words, self._generation.descriptor))

    def _run(self, walk: ComputeWalk) -> None:
        groups = walk.groups or self._indirect_groups()
        start = self._clock()
        if all(groups) and walk.threads:
            self._compute.run(walk, groups, self.bases)
        self._end_walk(walk.post_sync, start)

    def _indirect_groups(self) -> tuple[int, int, int]:
        x, y, z = (self.registers.read(place) for place in DISPATCH_SIZE)
        return x, y, z

    def _end_walk(self, post_sync: PostSync, start: int) -> None:
        address = post_sync.address & _ADDRESS_BITS
        match post_sync.operation:
            case 0:
                pass
            case 1:
                self._space.store_long(address, post_sync.value)
            case 3:
                end = max(self._clock(), start + 1)
                self._store_times(address, (start, start, end, end))
            case other:
                raise QueueError(f"post-sync operation {other} of COMPUTE_WALKER is not known")

    def _store_times(self, address: int, times: Sequence[int]) -> None:
        """Write the times of a walk; they have 32 or 64 bits."""
        size = self._generation.stamp_bytes
        store = self._space.store if size == _SHORT_STAMP_BYTES else self._space.store_long
        for place, time_ in enumerate(times):
            store(address + size * place, time_)


_WITHOUT_EFFECT = (
    *("MI_NOOP", "MI_USER_INTERRUPT", "MI_ARB_CHECK", "MI_MEM_FENCE", "MI_REPORT_PERF_COUNT"),
    *("STATE_PREFETCH", "STATE_SIP", "STATE_COMPUTE_MODE", "STATE_SYSTEM_MEM_FENCE_ADDRESS"),
    *("STATE_CONTEXT_DATA_BASE_ADDRESS", "PIPELINE_SELECT", "RESOURCE_BARRIER"),
    *("3DSTATE_BTD", "GPGPU_CSR_BASE_ADDRESS", "MEDIA_STATE_FLUSH"),
)
"""Hints, caches and preemption: there is nothing to do where memory is coherent."""


def _do_nothing(words: Sequence[int]) -> None:
    del words


def _address(words: Sequence[int], place: int) -> int:
    """Return the address in two words, without its upper sixteen bits."""
    return (words[place] | words[place + 1] << 32) & _ADDRESS_BITS


def _hex(words: Sequence[int]) -> str:
    return " ".join(f"{word:08x}" for word in words)


__all__ = ["Bases", "Compute", "QueueError", "Stopped", "Streamer"]
