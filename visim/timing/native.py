"""One native instruction as the timing model sees it, and the resources that it depends on.

Resources are numbered in one space: general registers, message registers, the address register,
accumulators, and the bytes of the flag registers. Knows neither vISA nor costs.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_GRFS = 256
MRF_0 = MOST_GRFS
ADDRESS = MRF_0 + 32
ACCUMULATOR_0 = ADDRESS + 1
FLAG_0 = ACCUMULATOR_0 + 2
FLAG_BYTES = 16
RESOURCES = FLAG_0 + FLAG_BYTES
"""How many resources there are; a thread has all of them for itself."""

NATIVE_BYTES, COMPACT_BYTES = 16, 8

SPILL = ".spill"
"""How opcodes of messages end that move a variable without a register to memory, or back."""

SIGNAL, WAIT = 1, 2
"""What an instruction does beside computing: signal its group's barrier, wait for it."""


@dataclass(frozen=True, slots=True)
class Native:
    """A native instruction.

    `size` channels from channel `group` on; `kind` is its class in the tables of costs.
    `sources` are the general registers of each source operand, `reads` and `writes` all resources
    that it waits for and changes, `payload` those that a message reads after the instruction has
    been issued. `sd`, `sx`, `ss` are the registers written, executed, and of the largest source;
    `sc` those in bank conflict. `pc` is the vISA instruction it comes from, -1 for none. `effect`
    combines SIGNAL and WAIT: `barrier` is 0 for that of the group, else 1 and more for named ones,
    whose phases end with `members` signals. `origin` says where the decision to emit it comes
    from. `bytes` is its size in the code.
    """

    opcode: str
    size: int
    group: int
    kind: str
    pc: int
    sources: tuple[tuple[int, ...], ...] = ()
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    payload: tuple[int, ...] = ()
    sd: int = 0
    sx: int = 0
    ss: int = 0
    sc: int = 0
    effect: int = 0
    barrier: int = 0
    members: int = 0
    origin: str = "derived"
    bytes: int = NATIVE_BYTES

    @property
    def is_send(self) -> bool:
        """Whether it is a message."""
        return self.kind.startswith("message.")

    @property
    def is_branch(self) -> bool:
        """Whether it may go elsewhere."""
        return self.kind == "branch"

    def __str__(self) -> str:
        operands = [_registers([item for item in self.writes if item < ADDRESS])]
        operands += [_registers(source) for source in self.sources]
        half = "H" if self.size == 16 else "Q" if self.size == 8 else ""
        place = f"{self.group // self.size + 1}{half}" if half else ""
        conflict = f" {{BC={self.sc}}}" if self.sc else ""
        text = " ".join([f"{self.opcode}({self.size})", *operands])
        return f"{text} {place}".rstrip() + conflict


def resource_name(number: int) -> str:
    """Return the name of a resource as listings write it."""
    if number < MRF_0:
        return f"r{number}"
    if number < ADDRESS:
        return f"m{number - MRF_0}"
    if number == ADDRESS:
        return "a0"
    if number < FLAG_0:
        return f"acc{number - ACCUMULATOR_0}"
    byte = number - FLAG_0
    return f"f{byte // 4}.{byte // 2 % 2}.{byte % 2}"


def _registers(numbers: tuple[int, ...] | list[int]) -> str:
    if not numbers:
        return "-"
    first, last = resource_name(min(numbers)), resource_name(max(numbers))
    return first if first == last else f"{first}-{last}"


__all__ = [
    "ACCUMULATOR_0",
    "ADDRESS",
    "COMPACT_BYTES",
    "FLAG_0",
    "FLAG_BYTES",
    "MRF_0",
    "NATIVE_BYTES",
    "RESOURCES",
    "SIGNAL",
    "SPILL",
    "WAIT",
    "Native",
    "resource_name",
]
