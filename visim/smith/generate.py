"""Random vISA programs: valid, ending, and telling all they did through one buffer.

A program loads its variables from the buffer that its only argument points to, computes with
every instruction that declares which types go together, under divergent control flow, reads and
writes a part of the buffer by each channel, and stores its variables back. Loops count, so that
every program ends. What the verifier does not like is taken out again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from visim.check import verify_module
from visim.diag import Severity, Source
from visim.isa import ISA, Op
from visim.isa.forms import Binary, Ternary, Unary
from visim.isa.operand_types import Saturation
from visim.isa.registry import Category
from visim.smith.operands import VARIABLE_BYTES, OperandWriter, Span, types_of, variable
from visim.target import Platform, platform
from visim.text import parse_text
from visim.types import BF, UD, UQ, D, DataType

COPIES = 2
"""Variables of each type."""
BUFFER_BYTES = 16384
RESULTS, SCRATCH = 4096, 8192
_FORMS: dict[type, int] = {Unary: 1, Binary: 2, Ternary: 3}
_CATEGORIES = {Category.ARITHMETIC, Category.LOGIC}
_COMPARED = ("eq", "ne", "gt", "ge", "lt", "le")
_PREDICATES = ("P1", "P2", "P3")
_DEEPEST = 3
_MOST_SUBROUTINES = 3
_MOV = next(op for op in ISA.ops if op.mnemonic == "mov")
_MOST_ATTEMPTS = 8
#: Integer division by zero means nothing; plane reads a source beyond what it names.
_LEFT_OUT = {"div", "mod", "plane"}


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a program gets: statements on the outer level."""

    statements: int = 24


def smith(seed: int, device: str = "pvc", shape: Shape | None = None) -> str:
    """Return the program of a seed: the same text for the same seed, device and shape.

    The kernel is called "smith"; its argument `BUFFER` is an address of `BUFFER_BYTES` bytes.

    Raises:
        ArgumentError: the device is not known.
    """
    target = platform(device)
    lines = _Writer(random.Random(seed), target, shape or Shape()).program()
    return _without_findings(lines, target)


def _without_findings(lines: list[str], target: Platform) -> str:
    """Return the lines as a text, without those that reading or the verifier objects to."""
    for _ in range(_MOST_ATTEMPTS):
        text = "\n".join(lines) + "\n"
        module, findings = parse_text(Source("smith", text))
        if not findings.errors:
            findings.extend(verify_module(module, target))
        wrong = {one.line for one in findings if one.line and one.severity is not Severity.NOTE}
        if not wrong:
            return text
        lines = [line for number, line in enumerate(lines, 1) if number not in wrong]
    return "\n".join(lines) + "\n"


@cache
def _computing(target: Platform) -> tuple[Op, ...]:
    """Return the instructions that say which types they compute with, and that the device has."""
    return tuple(
        op
        for op in ISA.ops
        if op.form in _FORMS
        and op.category in _CATEGORIES
        and op.operands.types
        and op.meaning is not None
        and target.name in op.devices
        and op.mnemonic not in _LEFT_OUT
    )


@cache
def computed_types(target: Platform) -> tuple[DataType, ...]:
    """Return the types of the variables that programs for a device have, in their order."""
    rows = [row for op in _computing(target) for row in op.operands.types]
    return tuple(types_of(target, frozenset(kind for row in rows for kind in row.destination)))


class _Writer:
    """Writes one program."""

    def __init__(self, rng: random.Random, target: Platform, shape: Shape) -> None:
        self.rng = rng
        self.target = target
        self.shape = shape
        self.simd = rng.choice((16, 32) if target.grf_bytes == 64 else (8, 16))
        self.operands = OperandWriter(rng, target, COPIES)
        self.ops = _computing(target)
        self.types = computed_types(target)
        self.has_lsc = target.has_lsc
        self.lines: list[str] = []
        self.labels = 0
        self.counters = 0
        self.subroutines = 0
        self.may_call = True

    def program(self) -> list[str]:
        """Return the lines of the program."""
        self._statements(self.shape.statements, 0)
        body, self.lines = self.lines, []
        self._subroutines()
        called, self.lines = self.lines, []
        if called:
            self.lines = ['.function "main"', "main:"]
        self._move_variables(is_load=True)
        for name in _PREDICATES:
            self._line(f"setp (M1_NM, {self.simd}) {name} 0x{self.rng.getrandbits(32):x}:ud")
        self.lines += body
        self._move_variables(is_load=False)
        self._line("ret (M1, 1)")
        return [*self._head(), *self.lines, *called]

    def _head(self) -> list[str]:
        grf = self.target.grf_bytes
        lines = [".version 4.1", '.kernel "smith"']
        for name, kind in self._variables():
            count = VARIABLE_BYTES // kind.bytes
            lines.append(f".decl {name} v_type=G type={kind.name} num_elts={count} align=GRF")
        lines.append(".decl BUFFER v_type=G type=uq num_elts=1 align=qword")
        lines.append(".decl PLACE v_type=G type=uq num_elts=1 align=qword")
        lines.append(f".decl WHERE v_type=G type=uq num_elts={self.simd} align=GRF")
        lines += [
            f".decl COUNT{number} v_type=G type=d num_elts={self.simd} align=GRF"
            for number in range(self.counters)
        ]
        lines += [f".decl {name} v_type=P num_elts=32" for name in (*_PREDICATES, "PB")]
        lines += [f".input BUFFER offset={2 * grf} size=8", f".kernel_attr SimdSize={self.simd}"]
        return lines

    def _variables(self) -> list[tuple[str, DataType]]:
        return [(variable(kind, n), kind) for kind in self.types for n in range(COPIES)]

    def _line(self, text: str) -> None:
        self.lines.append(text)

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    # Memory

    def _move_variables(self, *, is_load: bool) -> None:
        """Load all variables from the buffer's start, or store them behind `RESULTS`."""
        for number, (name, _) in enumerate(self._variables()):
            place = number * VARIABLE_BYTES + (0 if is_load else RESULTS)
            self._line(f"add (M1_NM, 1) PLACE(0,0)<1> BUFFER(0,0)<0;1,0> 0x{place:x}:ud")
            if self.has_lsc:
                data = f"{name}:d32x{VARIABLE_BYTES // 4}t"
                address = "flat[PLACE]:a64"
                pair = f"{data}  {address}" if is_load else f"{address}  {data}"
                self._line(f"lsc_{'load' if is_load else 'store'}.ugm (M1_NM, 1)  {pair}")
            else:
                verb = "svm_block_ld" if is_load else "svm_block_st"
                self._line(f"{verb} ({VARIABLE_BYTES // 16}) PLACE(0,0)<0;1,0> {name}.0")

    def _memory(self) -> None:
        """Read or write an element of each channel's own in the scratch part of the buffer."""
        name = self.rng.choice([name for name, kind in self._variables() if kind in {UD, D}])
        size = min(self.simd, 16, 2 * self.target.grf_bytes // UQ.bytes)
        span, every = Span(size, 0, is_masked=True), Span(size, 0, is_masked=False)
        quarter = self.rng.randrange(8) * 256
        start = SCRATCH + quarter
        self._line(f"mov {every} WHERE(0,0)<1> 0x76543210:uv")
        if size > 8:
            self._line("add (M3_NM, 8) WHERE(1,0)<1> WHERE(0,0)<1;1,0> 0x8:ud")
        self._line(f"shl {every} WHERE(0,0)<1> WHERE(0,0)<1;1,0> 0x2:ud")
        self._line(f"add {every} WHERE(0,0)<1> WHERE(0,0)<1;1,0> BUFFER(0,0)<0;1,0>")
        self._line(f"add {every} WHERE(0,0)<1> WHERE(0,0)<1;1,0> 0x{start:x}:ud")
        is_load = self.rng.random() < 0.5
        if self.has_lsc:
            pair = f"{name}:d32", "flat[WHERE]:a64"
            verb, order = ("load", pair) if is_load else ("store", pair[::-1])
            self._line(f"lsc_{verb}.ugm {span}  {'  '.join(order)}")
        elif is_load:
            self._line(f"svm_gather.4.1 {span} WHERE.0 {name}.0")
        else:
            self._line(f"svm_scatter.4.1 {span} WHERE.0 {name}.0")

    # Statements

    def _statements(self, count: int, depth: int) -> None:
        flow: list[Callable[[int], None]] = [self._choice, self._loop] if depth < _DEEPEST else []
        if self.may_call and depth < _DEEPEST:
            flow.append(self._call)
        for _ in range(count):
            if flow and self.rng.random() < 0.15:
                self.rng.choice(flow)(depth)
                continue
            match self.rng.random():
                case draw if draw < 0.65:
                    self._compute()
                case draw if draw < 0.75:
                    self._compare()
                case draw if draw < 0.82:
                    self._logic()
                case draw if draw < 0.9:
                    self._convert()
                case _:
                    self._memory()

    def _compute(self) -> None:
        """Write an instruction of a random kind, with operands of types that go together."""
        op = self.rng.choice(self.ops)
        row = self.rng.choice(op.operands.types)
        into = types_of(self.target, row.destination)
        last = len(row.sources) - 1
        count = _FORMS[op.form]
        froms = [types_of(self.target, row.sources[min(n, last)]) for n in range(count)]
        if not into or not all(froms):
            return
        kinds = [self.rng.choice(kinds) for kinds in froms]
        kind = self.rng.choice(into)
        span = self.operands.span(self.simd, max(one.bytes for one in (kind, *kinds)))
        sources = [self.operands.source(one, span, op.operands.modifiers) for one in kinds]
        if count > 1 and self.rng.random() < 0.3 and kinds[-1] != BF:  # no assembler reads any
            sources[-1] = self.operands.immediate(kinds[-1])
        may = op.operands.saturates is Saturation.YES
        may |= op.operands.saturates is Saturation.FLOAT_ONLY and kind.is_float
        saturate = ".sat" if may and self.rng.random() < 0.2 else ""
        written = self.operands.destination(kind, span)
        self._line(
            f"{self._predicate()}{op.mnemonic}{saturate} {span} {written} {' '.join(sources)}"
        )

    def _convert(self) -> None:
        """Write a mov between any two types."""
        into, kind = self.rng.choice(self.types), self.rng.choice(self.types)
        span = self.operands.span(self.simd, max(into.bytes, kind.bytes))
        saturate = ".sat" if self.rng.random() < 0.3 else ""
        source = self.operands.source(kind, span, _MOV.operands.modifiers)
        written = self.operands.destination(into, span)
        self._line(f"{self._predicate()}mov{saturate} {span} {written} {source}")

    def _compare(self) -> None:
        """Write a comparison into a predicate."""
        kind = self.rng.choice(self.types)
        span = self.operands.span(self.simd, kind.bytes)
        relation, target = self.rng.choice(_COMPARED), self.rng.choice(_PREDICATES)
        left = self.operands.source(kind, span, _MOV.operands.modifiers)
        right = self.operands.source(kind, span, _MOV.operands.modifiers)
        self._line(f"cmp.{relation} {span} {target} {left} {right}")

    def _logic(self) -> None:
        """Write an operation on predicates."""
        names = [self.rng.choice(_PREDICATES) for _ in range(3)]
        self._line(f"{self.rng.choice(('and', 'or', 'xor'))} (M1, {self.simd}) {' '.join(names)}")

    def _predicate(self) -> str:
        if self.rng.random() < 0.75:
            return ""
        inverse = "!" if self.rng.random() < 0.4 else ""
        combine = self.rng.choice(("", "", "", ".any", ".all"))
        return f"({inverse}{self.rng.choice(_PREDICATES)}{combine}) "

    # Control flow

    def _choice(self, depth: int) -> None:
        """Write two branches; channels take one of them by a predicate."""
        otherwise, end = self._label(), self._label()
        name = self.rng.choice(_PREDICATES)
        self._line(f"({name}) goto (M1, {self.simd}) {otherwise}")
        self._statements(self.rng.randint(1, 4), depth + 1)
        self._line(f"goto (M1, {self.simd}) {end}")
        self._line(f"{otherwise}:")
        self._statements(self.rng.randint(0, 3), depth + 1)
        self._line(f"{end}:")

    def _loop(self, depth: int) -> None:
        """Write a loop that every channel leaves after a few turns, some earlier than others."""
        counter, start = f"COUNT{self.counters}", self._label()
        self.counters += 1
        turns = self.rng.randint(1, 4)
        for offset in range(0, self.simd, 8):
            self._line(f"mov (M{offset // 4 + 1}, 8) {self._part(counter, offset)}<1> 0x0:d")
        self._line(f"{start}:")
        self._statements(self.rng.randint(1, 4), depth + 1)
        for offset in range(0, self.simd, 8):
            span, part = f"(M{offset // 4 + 1}, 8)", self._part(counter, offset)
            self._line(f"add {span} {part}<1> {part}<1;1,0> 0x1:d")
            self._line(f"cmp.lt {span} PB {part}<1;1,0> 0x{turns:x}:d")
        if self.rng.random() < 0.5:
            name = self.rng.choice(_PREDICATES)
            self._line(f"and (M1, {self.simd}) PB PB {name}")
        self._line(f"(PB) goto (M1, {self.simd}) {start}")

    def _call(self, depth: int) -> None:
        """Write a call of a subroutine by those channels for which a predicate says so."""
        del depth
        if not self.subroutines or (
            self.subroutines < _MOST_SUBROUTINES and self.rng.random() < 0.6
        ):
            self.subroutines += 1
            number = self.subroutines
        else:
            number = self.rng.randint(1, self.subroutines)
        self._line(f"{self._predicate()}call (M1, {self.simd}) sub_{number}")

    def _subroutines(self) -> None:
        """Write the subroutines that are called; they call no others."""
        self.may_call = False
        for number in range(1, self.subroutines + 1):
            self.lines += [f'.function "sub_{number}"', f"sub_{number}:"]
            self._statements(self.rng.randint(1, 4), _DEEPEST - 1)
            self._line(f"ret (M1, {self.simd})")

    def _part(self, counter: str, offset: int) -> str:
        per_register = self.target.grf_bytes // 4
        return f"{counter}({offset // per_register},{offset % per_register})"
