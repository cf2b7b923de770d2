"""Random programs with unstructured control flow, and their vISA text.

Gotos lead from anywhere to anywhere in their subroutine, into loops and out of them. Each
channel has fuel, which every backward goto burns and without which none is taken, so that every
channel ends. Nothing that a channel computes depends on which others are on: instructions
without a mask write constants, and combined or scalar predicates are constant.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .scalar import (
    MAIN,
    Call,
    Compare,
    Compute,
    Condition,
    FunctionCall,
    Goto,
    Label,
    Logic,
    Program,
    Return,
    SetPredicate,
    SetUniform,
    Span,
    Statement,
    Unit,
)

GRF = {"skl": 32, "tgllp": 32, "pvc": 64}
WORK = ("VA", "VB", "VC")
CHANGING = ("P1", "P2")
CONSTANT = ("C1", "C2", "C3")
RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge")


@dataclass(frozen=True)
class Pending:
    """A goto whose label is chosen when all labels of its subroutine are known."""

    label: str | None = None


Item = Statement | Pending


class Writer:
    """Writes the statements of one unit: a kernel or a function, and its subroutines."""

    def __init__(self, rng: random.Random, simd: int, platform: str, unit: int, units: int) -> None:
        self.rng = rng
        self.simd = simd
        self.unit = unit
        self.units = units
        self.widest = min(simd, 2 * GRF[platform] // 4)
        self.items: list[Item] = []
        self.subroutines = [f"S{unit}_{i}" for i in range(rng.choice((0, 1, 1, 2)))]
        self.subroutine = 0
        self.names = 0

    # Pieces

    def new(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.unit}_{self.names}"

    def whole(self) -> Span:
        return Span(0, self.simd)

    def part(self) -> Span:
        """All channels, more often than not, or a half of them."""
        if self.simd == 8 or self.rng.random() < 0.7:
            return self.whole()
        half = self.simd // 2
        return Span(self.rng.choice((0, half)), half)

    def pieces(self, span: Span) -> list[Span]:
        """Spans that instructions on 32-bit elements can have: at most two registers."""
        size = min(self.widest, span.count)
        if self.rng.random() < 0.1:
            size //= 2
        return [Span(span.first + i, size) for i in range(0, span.count, size)]

    def compute(
        self,
        operation: str,
        target: str,
        left: str | int,
        right: str | int = 0,
        condition: Condition | None = None,
        span: Span | None = None,
    ) -> None:
        for piece in self.pieces(span or self.whole()):
            self.items.append(Compute(operation, target, left, right, condition, piece))

    def compare(self, relation: str, target: str, left: str, right: str | int) -> None:
        for piece in self.pieces(self.whole()):
            self.items.append(Compare(relation, target, left, right, piece))

    def own_condition(self) -> Condition | None:
        """No predicate, or one whose bits count channel by channel."""
        if self.rng.random() < 0.25:
            return None
        return Condition(self.rng.choice((*CHANGING, *CHANGING, "C1")), self.rng.random() < 0.5)

    def choice(self) -> tuple[Condition | None, Span]:
        """A condition and the channels of a transfer that it makes sense for."""
        rng = self.rng
        match rng.choice(("own", "own", "own", "own", "combined", "scalar", "uniform")):
            case "combined":
                combine = rng.choice(("any", "all"))
                return Condition(rng.choice(CONSTANT), rng.random() < 0.5, combine), self.part()
            case "scalar":
                return None, Span(0, 1)
            case "uniform":
                first = rng.randrange(0, self.simd, 4)
                return Condition(rng.choice(CONSTANT), rng.random() < 0.5), Span(first, 1)
            case _:
                return self.own_condition(), self.part()

    # Straight lines

    def work(self) -> None:
        rng = self.rng
        for _ in range(rng.randint(1, 2)):
            kind = rng.random()
            target = rng.choice(WORK)
            left: str | int = rng.choice(WORK)
            right: str | int = rng.choice((*WORK, rng.randint(-9, 9)))
            if kind < 0.15:
                right = self.new("U")
                self.items.append(SetUniform(right, rng.randint(-99, 99)))
            condition = self.own_condition() if kind > 0.7 else None
            span = self.part() if kind > 0.6 else None
            self.compute(
                rng.choice(("add", "add", "mul", "xor")), target, left, right, condition, span
            )

    def test(self) -> None:
        rng = self.rng
        other = rng.choice((*WORK, rng.randint(-20, 20)))
        self.compare(rng.choice(RELATIONS), rng.choice(CHANGING), rng.choice(WORK), other)

    # Control flow

    def region(self, size: int, depth: int) -> None:
        """Write about `size` things, some of which are regions themselves."""
        for _ in range(size):
            kind = self.rng.random()
            if kind < 0.25:
                self.work()
            elif kind < 0.40:
                self.test()
            elif kind < 0.52:
                self.items.append(Label(self.new("L")))
            elif kind < 0.70:
                self.items.append(Pending())
            elif kind < 0.78:
                self.loop(depth)
            elif kind < 0.84:
                self.branch(depth)
            elif kind < 0.86:
                self.uniform_jump()
            elif kind < 0.88:
                self.early_return()
            elif kind < 0.93:
                self.call()
            else:
                self.function_call()

    def loop(self, depth: int) -> None:
        if depth == 0:
            return
        head, out, again = self.new("H"), self.new("X"), self.new("Y")
        self.items.append(Label(head))
        self.region(2, depth - 1)
        self.test()
        self.items.append(Goto(out, *self.choice()))
        self.region(1, depth - 1)
        self.items.append(Goto(again, *self.choice()))
        self.work()
        self.items += [Label(again), Pending(head), Label(out)]

    def branch(self, depth: int) -> None:
        if depth == 0:
            return
        other, end = self.new("E"), self.new("Z")
        self.test()
        self.items.append(Goto(other, *self.choice()))
        self.region(1, depth - 1)
        self.work()
        self.items += [Goto(end, None, self.rng.choice((self.whole(), Span(0, 1)))), Label(other)]
        self.region(1, depth - 1)
        self.work()
        self.items.append(Label(end))

    def uniform_jump(self) -> None:
        """Jump over instructions among which no channel can wait."""
        label = self.new("J")
        condition = None
        if self.rng.random() < 0.6:
            condition = Condition(self.rng.choice(CONSTANT), self.rng.random() < 0.5)
        self.items.append(Goto(label, condition, Span(0, 1), "jmp"))
        self.work()
        self.items.append(Label(label))

    def early_return(self) -> None:
        condition = Condition(self.rng.choice((*CHANGING, "C2")), self.rng.random() < 0.5)
        self.give_back(condition, self.part())

    def give_back(self, condition: Condition | None, span: Span) -> None:
        """Return from the subroutine, function or kernel that is being written."""
        if self.unit == 0 or self.subroutine:
            self.items.append(Return("ret", condition, span))
            return
        self.compute("xor", "RET", self.rng.choice(WORK[:2]), "VC")
        self.items.append(Return("fret", condition, span))

    def call(self) -> None:
        later = self.subroutines[self.subroutine :]
        if later:
            condition, span = self.choice()
            if condition is None and self.rng.random() < 0.2:
                span = replace(span, no_mask=True)
            self.items.append(Call(self.rng.choice(later), condition, span))

    def function_call(self) -> None:
        """Call a function where depth is left; it may be the one that is being written."""
        if self.units == 1:
            return
        rng, skip = self.rng, self.new("K")
        target = rng.randrange(1, self.units)
        span, condition = self.part(), self.own_condition()
        self.compare("gt", "PD", "DEPTH", 0)
        self.items.append(Goto(skip, Condition("PD", True), self.whole()))
        self.compute("add", "ARG0", rng.choice(WORK), rng.choice(WORK))
        self.compute("add", "ARG1", "DEPTH", -1)
        self.items.append(FunctionCall(f"f{target}", condition, span, rng.random() < 0.2))
        self.compute("add", rng.choice(WORK), rng.choice(WORK), "RET", condition, span)
        self.items.append(Label(skip))

    # Whole units

    def write(self, size: int) -> Unit:
        self.prologue()
        self.region(size, 2)
        self.work()
        end = self.rng.choice((self.whole(), Span(0, 1), replace(self.whole(), no_mask=True)))
        self.give_back(None, end)
        body = self.settled()
        for number, name in enumerate(self.subroutines, start=1):
            self.subroutine = number
            self.items = [Label(name)]
            self.region(max(2, size // 2), 1)
            self.work()
            self.give_back(None, self.rng.choice((self.whole(), Span(0, 1))))
            body += self.settled()
        return Unit(MAIN if self.unit == 0 else f"f{self.unit}", body)

    def prologue(self) -> None:
        rng = self.rng
        everything = (1 << self.simd) - 1
        for name in CONSTANT:
            bits = rng.choice((rng.getrandbits(self.simd), everything, 0))
            self.items.append(SetPredicate(name, bits))
        if self.unit:
            # VC stays unwritten: a new activation finds 0 there.
            self.compute("mov", "VA", "ARG0")
            self.compute("add", "VB", "ARG0", "ARG1")
            self.compute("mov", "DEPTH", "ARG1")
            self.compute("mov", "FUEL", 2)

    def settled(self) -> list[Statement]:
        """Replace the pending gotos by gotos to labels of this subroutine."""
        items, self.items = self.items, []
        places = {item.name: i for i, item in enumerate(items) if isinstance(item, Label)}
        own = [name for name in places if not name.startswith("S")]
        for place, item in enumerate(items):
            if not isinstance(item, Pending):
                self.items.append(item)
                continue
            label = item.label or (self.rng.choice(own) if own else None)
            if label is None:
                continue
            if places[label] > place:
                self.items.append(Goto(label, *self.choice()))
            else:
                self.backward(label)
        return [item for item in self.items if not isinstance(item, Pending)]

    def backward(self, label: str) -> None:
        """Go back where the condition holds and fuel is left."""
        self.compute("add", "FUEL", "FUEL", -1)
        self.compare("gt", "PF", "FUEL", 0)
        condition, span = self.choice()
        constant = condition is not None and condition.name in CONSTANT
        if condition is None and span.count > 1:
            self.items.append(Goto(label, Condition("PF"), span))
        elif condition is not None and not constant and not condition.invert:
            for piece in self.pieces(self.whole()):
                self.items.append(Logic("and", "PF", "PF", condition.name, piece))
            self.items.append(Goto(label, Condition("PF"), span))
        else:
            skip = self.new("B")
            self.items.append(Goto(skip, Condition("PF", True), self.whole()))
            self.items.append(Goto(label, condition, span))
            self.items.append(Label(skip))


def generate(seed: int) -> Program:
    """Return the program that `seed` stands for."""
    rng = random.Random(seed)
    simd = rng.choice((8, 16, 16, 32))
    platform = rng.choice(tuple(GRF))
    units = rng.choice((1, 2, 2, 3))
    written = []
    for unit in range(units):
        writer = Writer(rng, simd, platform, unit, units)
        written.append(writer.write(rng.randint(4, 9) if unit == 0 else rng.randint(2, 4)))
    return Program(tuple(written), simd, platform)


# Text


def text_of(program: Program) -> str:
    """Return a program as vISA text."""
    kernel, *functions = program.units
    lines = [".version 4.1", '.kernel "k"', *(f'.funcdecl "{unit.name}"' for unit in functions)]
    lines += [*_declarations(program, kernel), f".kernel_attr SimdSize={program.simd}"]
    lines += _body(program, kernel, "k")
    for unit in functions:
        lines += [f'.global_function "{unit.name}"', *_declarations(program, unit)]
        lines += _body(program, unit, f"{unit.name}_0")
    return "\n".join(lines) + "\n"


def _declarations(program: Program, unit: Unit) -> list[str]:
    simd = program.simd
    vector = f"v_type=G type=d num_elts={simd} align=wordx32"
    lines = [f".decl {name} {vector}" for name in (*WORK, "FUEL", "DEPTH")]
    lines += [
        f".decl ARG0 {vector} alias=<%arg, 0>",
        f".decl ARG1 {vector} alias=<%arg, {4 * simd}>",
        f".decl RET {vector} alias=<%retval, 0>",
        ".decl HANDLE v_type=G type=uq num_elts=1 align=qword",
    ]
    lines += [
        f".decl {s.name} v_type=G type=d num_elts=1 align=dword"
        for s in unit.body
        if isinstance(s, SetUniform)
    ]
    predicates = (*CHANGING, *CONSTANT, "PF", "PD")
    return lines + [f".decl {name} v_type=P num_elts={simd}" for name in predicates]


def _body(program: Program, unit: Unit, label: str) -> list[str]:
    printer = _Printer(program)
    lines = [f'.function "{label}"', f"{label}:"]
    for statement in unit.body:
        lines += printer.lines(statement)
    return lines


class _Printer:
    """Prints statements of one program."""

    def __init__(self, program: Program) -> None:
        self.grf = GRF[program.platform]
        self.arguments = -(-8 * program.simd // self.grf)
        self.returned = -(-4 * program.simd // self.grf)

    def lines(self, statement: Statement) -> Sequence[str]:
        match statement:
            case Label(name):
                return [*([f'.function "{name}"'] if name.startswith("S") else []), f"{name}:"]
            case FunctionCall(function, _, _, True):
                return [f"    faddr {function} HANDLE(0,0)<1>", f"    {self.line(statement)}"]
            case _:
                return [f"    {self.line(statement)}"]

    def line(self, statement: Statement) -> str:
        match statement:
            case SetPredicate(name, bits):
                return f"setp (M1_NM, 32) {name} 0x{bits:x}:ud"
            case SetUniform(name, value):
                return f"mov (M1_NM, 1) {name}(0,0)<1> {_immediate(value)}"
            case Compute(operation, target, left, right, condition, span):
                sources = [left] if operation == "mov" else [left, right]
                shown = " ".join(self.source(source, span) for source in sources)
                written = f"{target}({self.place(span)})<1>"
                return f"{_predicate(condition)}{operation} {_size(span)} {written} {shown}"
            case Compare(relation, target, left, right, span):
                sources = f"{self.source(left, span)} {self.source(right, span)}"
                return f"cmp.{relation} {_size(span)} {target} {sources}"
            case Logic(operation, target, left, right, span):
                return f"{operation} {_size(span)} {target} {left} {right}"
            case Goto(label, condition, span, mnemonic):
                return f"{_predicate(condition)}{mnemonic} {_size(span)} {label}"
            case Call(label, condition, span):
                return f"{_predicate(condition)}call {_size(span)} {label}"
            case Return(mnemonic, condition, span):
                return f"{_predicate(condition)}{mnemonic} {_size(span)}"
            case FunctionCall(function, condition, span, indirect):
                mnemonic = "ifcall" if indirect else "fcall"
                target = "HANDLE(0,0)<0;1,0>" if indirect else function
                sizes = f"{self.arguments} {self.returned}"
                return f"{_predicate(condition)}{mnemonic} {_size(span)} {target} {sizes}"
            case _:
                raise TypeError(statement)

    def place(self, span: Span) -> str:
        row, byte = divmod(4 * span.first, self.grf)
        return f"{row},{byte // 4}"

    def source(self, operand: str | int, span: Span) -> str:
        if isinstance(operand, int):
            return _immediate(operand)
        if operand.startswith("U"):
            return f"{operand}(0,0)<0;1,0>"
        return f"{operand}({self.place(span)})<1;1,0>"


def _immediate(value: int) -> str:
    return f"0x{value & 0xFFFFFFFF:x}:d"


def _size(span: Span) -> str:
    control = f"M{span.first // 4 + 1}{'_NM' if span.no_mask else ''}"
    return f"({control}, {span.count})"


def _predicate(condition: Condition | None) -> str:
    if condition is None:
        return ""
    combine = f".{condition.combine}" if condition.combine else ""
    return f"({'!' if condition.invert else ''}{condition.name}{combine}) "


def inputs(seed: int, simd: int) -> tuple[dict[str, np.ndarray], int]:
    """The initial variables of a program's channels, and the channels that are dispatched."""
    rng = random.Random(-seed - 1)
    values = {name: [rng.randint(-30, 30) for _ in range(simd)] for name in WORK}
    values["FUEL"] = [rng.randint(0, 6) for _ in range(simd)]
    values["DEPTH"] = [rng.randint(0, 3) for _ in range(simd)]
    everything = (1 << simd) - 1
    mask = everything if rng.random() < 0.7 else rng.getrandbits(simd) or 1
    return {name: np.array(found, np.int32) for name, found in values.items()}, mask
