"""Ranges of numbers against the numbers themselves, of all threads of all groups."""

from __future__ import annotations

import random
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_bool, c_int64, c_void_p

import numpy as np
import pytest

from visim.engine.jit.common.native import NativeCode, object_code, processor
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.ranges import Range, Ranges
from visim.engine.jit.ir.text import Text, signed
from visim.engine.jit.targets import X86_64

BEFORE = ["  %core = alloca i16", "  %args = alloca [8 x i8], align 64"]
BEFORE += ["  %kept = alloca i32", "  %payload = alloca [64 x i8], align 64"]
START = [
    "  %x = add i64 %first.x, %group",
    "  %group.0 = trunc i64 %x to i32",
    "  %core.at = getelementptr [1 x i64], ptr %firsts, i64 %number, i64 0",
    "  %core.v = load i16, ptr %core.at, align 8",
    "  store i16 %core.v, ptr %core",
    "  %args.in = getelementptr i8, ptr %payload, i64 8",
    "  call void @llvm.memcpy.p0.p0.i64(ptr %args, ptr %args.in, i64 8, i1 false)",
]
NAMES = "%firsts", "%number", "%threads"
PARAMETERS = "ptr %payload, ptr %firsts, i64 %threads, i64 %first.x, i64 %groups"
FUNCTION = CFUNCTYPE(c_bool, c_void_p, c_void_p, c_int64, c_int64, c_int64)
NUMBERS = (0, 1, 2, 3, 5, 100, 4096, -1, -2, -64, 1 << 30, (1 << 31) - 1, -(1 << 31))
EXTENSIONS = "sext", "zext"

Value = Callable[[int, int], int]
"""What a number is in a group and a thread."""


class Program:
    """Random numbers made of what a loop counts, as text and as functions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.args = [self.random.choice(NUMBERS) for _ in range(2)]
        self.first_x = self.random.choice((0, 1, 7, 1 << 20, (1 << 31) - 3))
        self.groups = self.random.randrange(1, 5)
        self.rows = [self.random.choice((0, 1, 16, 31, 240)) for _ in range(4)]
        self.body = Text()
        self.values: dict[int, list[tuple[str, Value]]] = {32: [], 64: []}
        self._take(32, "%group.0", lambda group, _: signed(self.first_x + group, 32))
        self._take(64, "%x", lambda group, _: self.first_x + group)
        core = self.body.let("load i16, ptr %core")
        word = self.random.choice(EXTENSIONS)
        self._take(
            32, self.body.let(f"{word} i16 {core} to i32"), lambda _, thread: self.rows[thread]
        )
        for number, value in enumerate(self.args):
            place = self.body.at("%args", 4 * number)
            name = self.body.let(f"load i32, ptr {place}, align 1")
            self._take(32, name, lambda group, thread, value=value: value)
        for _ in range(self.random.randrange(2, 9)):
            self._operation()
        if self.random.random() < 0.5:
            name, value = self.random.choice(self.values[32])
            self.body.do(f"store i32 {name}, ptr %kept")
            self._take(32, self.body.let("load i32, ptr %kept"), value)
        self.condition, self.holds = self._comparison()

    def _take(self, bits: int, name: str, value: Value) -> None:
        self.values[bits].append((name, value))

    def _operand(self, bits: int) -> tuple[str, Value]:
        if self.random.random() < 0.3:
            constant = self.random.choice(NUMBERS)
            return str(constant), lambda group, thread: constant
        return self.random.choice(self.values[bits][-4:])

    def _operation(self) -> None:
        bits, text = self.random.choice((32, 32, 64)), self.body
        a, one = self.random.choice(self.values[bits][-4:])
        b, other = self._operand(bits)
        places = self.random.randrange(5)
        mask = (1 << bits) - 1
        match self.random.randrange(9):
            case 0:
                name, value = f"add i{bits} {a}, {b}", lambda g, t: one(g, t) + other(g, t)
            case 1:
                name, value = f"sub i{bits} {a}, {b}", lambda g, t: one(g, t) - other(g, t)
            case 2:
                name, value = f"mul i{bits} {a}, {b}", lambda g, t: one(g, t) * other(g, t)
            case 3:
                name, value = f"shl i{bits} {a}, {places}", lambda g, t: one(g, t) << places
            case 4:
                name, value = f"ashr i{bits} {a}, {places}", lambda g, t: one(g, t) >> places
            case 5:
                name = f"lshr i{bits} {a}, {places}"
                value = lambda g, t: (one(g, t) & mask) >> places  # noqa: E731
            case 6:
                name = f"call i{bits} @llvm.smin.i{bits}(i{bits} {a}, i{bits} {b})"
                value = lambda g, t: min(one(g, t), other(g, t))  # noqa: E731
            case 7:
                name, value = f"and i{bits} {a}, 255", lambda g, t: one(g, t) & 255
            case _:
                self._cast(bits, a, one)
                return
        self._take(bits, text.let(name), lambda g, t: signed(value(g, t), bits))

    def _cast(self, bits: int, a: str, one: Value) -> None:
        if bits == 64:
            name = self.body.let(f"trunc i64 {a} to i32")
            self._take(32, name, lambda g, t: signed(one(g, t), 32))
            return
        word = self.random.choice(EXTENSIONS)
        name = self.body.let(f"{word} i32 {a} to i64")
        is_signed = word == "sext"
        self._take(64, name, lambda g, t: one(g, t) if is_signed else one(g, t) & 0xFFFFFFFF)

    def _comparison(self) -> tuple[str, Value]:
        bits = self.random.choice((32, 64))
        a, one = self.values[bits][-1]
        b, other = self._operand(bits)
        order = self.random.choice(("slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"))
        mask = (1 << bits) - 1 if order[0] == "u" else -1

        def holds(group: int, thread: int) -> int:
            x, y = (value(group, thread) & mask for value in (one, other))
            return {"lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[order[1:]]

        return self.body.let(f"icmp {order} i{bits} {a}, {b}"), holds

    def foreseen(self) -> bool | None:
        """Return what code in front of the loop says; None if nobody knows."""
        text, library = Text(hint="r"), Library(X86_64)
        known = {"%group": Range("0", text.let("sub i64 %groups, 1"))}
        ranges = Ranges(text, library, BEFORE, START, self.body.lines, known, NAMES, ())
        needs = ranges.holds(self.condition)
        if needs is None:
            return None
        lines = [f"define i1 @f({PARAMETERS}) {{", *text.lines]
        lines += [f"  ret i1 {text.all_of(needs)}", "}"]
        lines[1:-2] = text.lines
        code = NativeCode(object_code("\n".join([library.render(), *lines]), processor()), ["f"])
        payload = np.array([0, 0, *self.args], np.int32)
        firsts = np.array([*self.rows, min(self.rows), max(self.rows)], np.int64)
        places = payload.ctypes.data, firsts.ctypes.data
        found = FUNCTION(code.addresses["f"])
        return bool(found(*places, len(self.rows), self.first_x, self.groups))

    def is_true(self) -> bool:
        """Return whether the condition holds in all threads of all groups."""
        threads = range(len(self.rows))
        return all(self.holds(group, one) for group in range(self.groups) for one in threads)


def test_what_is_foreseen_holds_in_all_threads() -> None:
    known, seen = 0, 0
    for seed in range(300):
        program = Program(seed)
        found = program.foreseen()
        assert program.is_true() or not found, seed
        known += found is not None
        seen += bool(found)
    assert known > 200
    assert seen > 40


@pytest.mark.parametrize(
    "lines",
    [
        # Wider than what is loaded, of another type, through a pointer that others have.
        ["  store i64 5, ptr %args"],
        ["  store float 0.0, ptr %args"],
        ["  store volatile i32 5, ptr %args"],
        ["  call void @anybody(ptr %args)"],
        ["  %other = getelementptr i32, ptr %args, i64 %number", "  store i32 5, ptr %other"],
        ["  %own = load i32, ptr %anything", "  store i32 %own, ptr %args"],
        ["  %later = add i32 %found, 1", "  store i32 %later, ptr %args"],
    ],
)
def test_what_may_be_written_otherwise_is_not_known(lines: list[str]) -> None:
    condition = ["  %found = load i32, ptr %args", "  %small = icmp slt i32 %found, 9"]
    for body, is_known in ((condition, True), ([*condition, *lines], False)):
        text, known = Text(hint="r"), {"%group": Range("0", "%last")}
        ranges = Ranges(text, Library(X86_64), BEFORE, START, body, known, NAMES, ())
        assert (ranges.holds("%small") is not None) is is_known


def test_a_variable_has_what_anything_stores() -> None:
    stores = ["  store i32 7, ptr %kept", "  store i32 -2, ptr %kept"]
    body = [*stores, "  %found = load i32, ptr %kept"]
    body += ["  %small = icmp slt i32 %found, 7", "  %positive = icmp sgt i32 %found, -2"]
    body += ["  %fits = icmp sle i32 %found, 7"]
    text, library = Text(hint="r"), Library(X86_64)
    ranges = Ranges(text, library, BEFORE, START, body, {}, NAMES, ())
    for name, holds in (("%small", False), ("%positive", False), ("%fits", True)):
        needs = ranges.holds(name)
        assert needs is not None
        lines = [library.render(), "define i1 @f() {", *text.lines, f"  ret i1 {needs[-1]}", "}"]
        code = NativeCode(object_code("\n".join(lines), processor()), ["f"])
        assert CFUNCTYPE(c_bool)(code.addresses["f"])() is holds


@pytest.mark.parametrize(("length", "is_known"), [(9, True), (1000, False)])
def test_a_long_chain_of_numbers_is_not_followed(length: int, is_known: bool) -> None:
    """A chain of a short thread may be longer than the stack of Python is deep."""
    sums = [f"  %n.{one + 1} = add i32 %n.{one}, 1" for one in range(length)]
    body = ["  %n.0 = load i32, ptr %args", *sums, f"  %small = icmp slt i32 %n.{length}, 9"]
    ranges = Ranges(Text(hint="r"), Library(X86_64), BEFORE, START, body, {}, NAMES, ())
    assert (ranges.holds("%small") is not None) is is_known
