"""Programs as a small tree of their own, and an interpreter that runs one channel alone.

It shares no code with visim: a channel is a dictionary of Python integers and a program counter,
and knows nothing of other channels. What a SIMD machine computes for a channel has to be what
this computes (specification 3, Control Flow: each channel may take its own path).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

MAIN = "main"


class TooLong(Exception):
    """A channel takes more steps than a test wants to spend."""


@dataclass(frozen=True)
class Span:
    """The channels `first .. first + count - 1`; a count of 1 in a transfer means all channels."""

    first: int
    count: int
    no_mask: bool = False

    def covers(self, channel: int) -> bool:
        return self.first <= channel < self.first + self.count


@dataclass(frozen=True)
class Condition:
    """A predicate before an instruction; only constant predicates (`C...`) are ever combined."""

    name: str
    invert: bool = False
    combine: str = ""


@dataclass(frozen=True)
class Label:
    name: str


@dataclass(frozen=True)
class SetPredicate:
    """`bits` become a predicate's bits, in all channels."""

    name: str
    bits: int


@dataclass(frozen=True)
class SetUniform:
    """A one-element variable gets a constant, whichever channels are on."""

    name: str
    value: int


@dataclass(frozen=True)
class Compute:
    """`target = left operation right`; `operation` is mov, add, mul or xor."""

    operation: str
    target: str
    left: str | int
    right: str | int
    condition: Condition | None
    span: Span


@dataclass(frozen=True)
class Compare:
    relation: str
    target: str
    left: str | int
    right: str | int
    span: Span


@dataclass(frozen=True)
class Logic:
    """`target = left operation right` on predicates."""

    operation: str
    target: str
    left: str
    right: str
    span: Span


@dataclass(frozen=True)
class Goto:
    label: str
    condition: Condition | None
    span: Span
    mnemonic: str = "goto"


@dataclass(frozen=True)
class Call:
    label: str
    condition: Condition | None
    span: Span


@dataclass(frozen=True)
class Return:
    """A `ret` (from a subroutine or the kernel) or a `fret`."""

    mnemonic: str
    condition: Condition | None
    span: Span


@dataclass(frozen=True)
class FunctionCall:
    function: str
    condition: Condition | None
    span: Span
    indirect: bool = False


Statement = (
    Label
    | SetPredicate
    | SetUniform
    | Compute
    | Compare
    | Logic
    | Goto
    | Call
    | Return
    | FunctionCall
)


@dataclass
class Unit:
    """A kernel or function: its own statements, then its subroutines'."""

    name: str
    body: list[Statement] = field(default_factory=list)

    def labels(self) -> dict[str, int]:
        return {s.name: i for i, s in enumerate(self.body) if isinstance(s, Label)}


@dataclass(frozen=True)
class Program:
    """`units[0]` is the kernel."""

    units: tuple[Unit, ...]
    simd: int
    platform: str


def wrapped(value: int) -> int:
    """Return the signed 32-bit integer that is `value` modulo 2**32."""
    return (value + 2**31) % 2**32 - 2**31


#: Variables that all activations share.
SHARED = ("ARG0", "ARG1", "RET")


class Channel:
    """One channel of a program, alone."""

    def __init__(self, program: Program, number: int, inputs: dict[str, int], limit: int) -> None:
        self.units = {unit.name: unit for unit in program.units}
        self.labels = {unit.name: unit.labels() for unit in program.units}
        self.number = number
        self.shared = dict.fromkeys(SHARED, 0)
        self.kernel: dict[str, int] = defaultdict(int, inputs)
        self.values = self.kernel
        self.unit = program.units[0]
        self.pc = 0
        self.frames: list[tuple[Unit, int, dict[str, int]]] = []
        self.limit = limit
        self.steps = 0
        self.ended = False

    def run(self) -> dict[str, int]:
        """Run to the end and return the kernel's variables."""
        while not self.ended:
            self.advance()
        return self.kernel

    def advance(self) -> None:
        """Execute one statement."""
        self.steps += 1
        if self.steps > self.limit:
            raise TooLong
        statement = self.unit.body[self.pc]
        self.pc += 1
        self.step(statement)

    def step(self, statement: Statement) -> None:
        match statement:
            case Label():
                pass
            case SetPredicate(name, value) | SetUniform(name, value):
                self.values[name] = value
            case Compute():
                if statement.span.covers(self.number) and self.holds(statement):
                    self.compute(statement)
            case Compare():
                if statement.span.covers(self.number):
                    self.compare(statement)
            case Logic():
                if statement.span.covers(self.number):
                    self.logic(statement)
            case _:
                if self.taken(statement):
                    self.transfer(statement)

    def read(self, operand: str | int) -> int:
        if isinstance(operand, int):
            return operand
        return self.shared[operand] if operand in self.shared else self.values[operand]

    def compute(self, statement: Compute) -> None:
        left, right = self.read(statement.left), self.read(statement.right)
        match statement.operation:
            case "mov":
                result = left
            case "add":
                result = left + right
            case "mul":
                result = left * right
            case _:
                result = left ^ right
        target = self.shared if statement.target in self.shared else self.values
        target[statement.target] = wrapped(result)

    def compare(self, statement: Compare) -> None:
        left, right = self.read(statement.left), self.read(statement.right)
        result = {
            "eq": left == right,
            "ne": left != right,
            "lt": left < right,
            "le": left <= right,
            "gt": left > right,
            "ge": left >= right,
        }[statement.relation]
        self.set_bit(statement.target, result)

    def logic(self, statement: Logic) -> None:
        left, right = self.bit(statement.left), self.bit(statement.right)
        result = {"and": left & right, "or": left | right, "xor": left ^ right}
        self.set_bit(statement.target, result[statement.operation])

    def bit(self, name: str) -> bool:
        return bool(self.values[name] >> self.number & 1)

    def set_bit(self, name: str, value: bool) -> None:
        self.values[name] = self.values[name] & ~(1 << self.number) | value << self.number

    def holds(self, statement: Compute) -> bool:
        condition = statement.condition
        return condition is None or self.bit(condition.name) != condition.invert

    def taken(self, statement: Goto | Call | Return | FunctionCall) -> bool:
        condition, span = statement.condition, statement.span
        everywhere = span.count == 1 or (span.no_mask and condition is None)
        if not everywhere and not span.covers(self.number):
            return False
        if condition is None:
            return True
        bits = self.values[condition.name] >> span.first & ((1 << span.count) - 1)
        if condition.combine == "any":
            found = bits != 0
        elif condition.combine == "all":
            found = bits == (1 << span.count) - 1
        elif span.count == 1:
            found = bool(bits)
        else:
            found = self.bit(condition.name)
        return found != condition.invert

    def transfer(self, statement: Goto | Call | Return | FunctionCall) -> None:
        match statement:
            case Goto(label):
                self.pc = self.labels[self.unit.name][label]
            case Call(label):
                self.frames.append((self.unit, self.pc, self.values))
                self.pc = self.labels[self.unit.name][label]
            case FunctionCall(function):
                self.frames.append((self.unit, self.pc, self.values))
                self.unit, self.pc, self.values = self.units[function], 0, defaultdict(int)
            case Return():
                if self.frames:
                    self.unit, self.pc, self.values = self.frames.pop()
                else:
                    self.ended = True


def passes(channels: list[Channel]) -> int:
    """Run channels of a program without calls, lowest program counter first; count instructions.

    The channels with the lowest counter execute its statement together: that is one instruction.
    """
    body, executed = channels[0].unit.body, 0
    live = channels
    while live:
        lowest = min(channel.pc for channel in live)
        executed += not isinstance(body[lowest], Label)
        for channel in live:
            if channel.pc == lowest:
                channel.advance()
        live = [channel for channel in live if not channel.ended]
    return executed
