"""Native instructions as Intel's own finalizer makes them: the listing that `GenX_IR` writes.

An alternative to the legaliser where the tool is installed, for bdw to pvc. The tool is run without
its scheduler, so that native instructions keep the order of the vISA program; the comment behind
each one names the vISA statement it comes from, which is its place in the unit's body.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from visim.errors import ToolMissing, UnsupportedError
from visim.isa import Unexecutable
from visim.linker.program import LinkedKernel
from visim.operands import ExecSize
from visim.text import show_unit
from visim.timing.expansions import typed
from visim.timing.footprint import footprint
from visim.timing.legaliser import MARKS, NativeProgram, NativeUnit
from visim.timing.machine import Machine
from visim.timing.messages import message_kind
from visim.timing.native import (
    ACCUMULATOR_0,
    ADDRESS,
    COMPACT_BYTES,
    FLAG_0,
    FLAG_BYTES,
    NATIVE_BYTES,
    SIGNAL,
    WAIT,
    Native,
)
from visim.timing.registers import Assignment
from visim.types import BY_NAME, UD, DataType

PLATFORMS = {"bdw": "BDW", "skl": "SKL", "icl": "ICLLP", "tgl": "TGLLP", "dg2": "DG2", "pvc": "PVC"}
"""What the tool calls the generations that it knows."""

_VERSION = (4, 1)
_TIMEOUT_S = 60

_LINE = re.compile(
    r"^(?P<pred>\([^)]*\))?\s+(?P<opcode>[a-z][\w.]*)\s+(?:\((?P<size>\d+)\|M(?P<group>\d+)\))?"
    r"(?P<operands>.*?)(?P<notes>\{[^}]*\})?\s*//(?P<comment>.*)$"
)
_STATEMENT = re.compile(r"\$(\d+)\s*(?:(?:R|S)?\{.*)?$")
_REGISTER = re.compile(r"r(\d+)\.(?:(\d+)<([\d;,]+)>|(?:no)?mme\d*):(\w+)")
"""Operands of exactly rounded math (mme) are packed and begin with their register."""
_CONDITION = re.compile(r"\s*\(\w+\)f\d\.\d")
_FLAG = re.compile(r"f(\d)\.(\d)")
_RANGE = re.compile(r"(\[)?r(\d+):(\d+)")
_LENGTHS = re.compile(r"wr:(\d+)h?\+(\d+), rd:(\d+)")
_MESSAGE = re.compile(r"Error Message: *(.*)")
_VIOLATING = re.compile(r"Violating Instruction: *(.*?) *(?:///.*)?$", re.MULTILINE)
_CONFLICTS = re.compile(r"BC=(\d+|BAD)")

_MOVES = frozenset({"mov", "add", "cmp", "mul", "csel", "movi", "srnd"})
_THREE = frozenset({"add3", "bfe", "bfi2", "bfn", "dp4a"})
_BRANCHES = frozenset({
    "jmpi", "goto", "join", "if", "else", "endif", "while", "break", "cont", "call", "calla",
    "ret", "brc", "brd", "halt",
})  # fmt: skip
_MATH = {"inv": "inv", "rsqt": "rsqrt", "sqt": "sqrt", "exp": "exp", "log": "log", "sin": "sin",
         "cos": "sin", "pow": "pow", "fdiv": "fdiv", "idiv": "intdiv", "iqot": "intdiv",
         "irem": "intdiv", "invm": "inv", "rsqtm": "rsqrt"}  # fmt: skip
_SENDS = ("send", "load", "store", "atomic", "fence")


def listing_of(kernel: LinkedKernel, machine: Machine) -> str:
    """Return what the tool writes for a kernel.

    Raises:
        ToolMissing: it is not installed.
        UnsupportedError: it knows no such generation, the kernel calls functions, or it fails.
    """
    if machine.name not in PLATFORMS:
        known = ", ".join(PLATFORMS)
        raise UnsupportedError(f"timing: GenX_IR knows no {machine.name}; it knows: {known}")
    if len(kernel.units) > 1:
        raise UnsupportedError("timing: the listing of a kernel with functions is not read")
    tool = shutil.which("GenX_IR")
    if tool is None:
        raise ToolMissing("GenX_IR is not installed; Debian's package libigc-tools has it")
    text = re.sub(r"(?m)^\.kernel_attr OutputAsmPath.*\n", "", show_unit(kernel.kernel, _VERSION))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "k.visaasm").write_text(text, encoding="utf-8")
        words = [tool, "k.visaasm", "-platform", PLATFORMS[machine.name], "-output", "-noschedule"]
        try:
            done = subprocess.run(
                words, cwd=folder, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            message = f"timing: GenX_IR did not finish within {_TIMEOUT_S} seconds"
            raise UnsupportedError(message) from None
        written = Path(folder) / "k.asm"
        if not written.exists():
            reason = _complaint(Path(folder)) or (done.stderr or done.stdout).strip()
            last = reason.splitlines()[-1:] or ["no listing"]
            raise UnsupportedError(f"timing: GenX_IR failed: {last[0]}")
        return written.read_text(encoding="utf-8")


def _complaint(folder: Path) -> str:
    """Return what the tool finds wrong with a text first; it writes a file of that."""
    for file in folder.glob("*.errors.txt"):
        text = file.read_text(encoding="utf-8", errors="replace")
        found = _MESSAGE.search(text)
        place = _VIOLATING.search(text)
        if found is not None:
            return found[1] + (f": {' '.join(place[1].split())}" if place else "")
    return ""


def native_program(kernel: LinkedKernel, machine: Machine, listing: str) -> NativeProgram:
    """Return a kernel's native instructions from the tool's listing.

    Raises:
        UnsupportedError: an instruction of the listing is not known.
    """
    unit = kernel.units[0]
    matches = [match for line in listing.splitlines() if (match := _LINE.match(line))]
    places = _places(matches, len(unit.body))
    reader = _Reader(kernel, machine)
    found = [reader.native(match, pc) for match, pc in zip(matches, places, strict=True)]
    starts: list[int] = []
    position = 0
    for pc in range(len(unit.body) + 1):
        while position < len(found) and found[position].pc < pc:
            position += 1
        starts.append(position)
    starts[-1] = len(found)
    assignment = Assignment({}, frozenset(), machine.native.grf_bytes)
    lines = (None,) * len(unit.body)
    native = NativeUnit(unit, tuple(found), tuple(starts), assignment, lines)
    return NativeProgram(kernel, machine, (native,), (0,))


def _places(matches: Sequence[re.Match[str]], count: int) -> list[int]:
    """Return the vISA statement of each instruction, never decreasing.

    What is named out of order (the start of a thread, merged instructions) counts for the first
    statement that follows it.
    """
    places: list[int] = []
    following = count - 1
    for match in reversed(matches):
        named = _STATEMENT.search(match["comment"])
        if named is not None:
            following = min(following, int(named[1]))
        places.append(following)
    return places[::-1]


@dataclass(slots=True)
class _Operand:
    registers: tuple[int, ...]
    type: DataType | None


class _Reader:
    """Reads the instructions of one kernel's listing."""

    def __init__(self, kernel: LinkedKernel, machine: Machine) -> None:
        self._kernel = kernel
        self._grf = machine.native.grf_bytes

    def native(self, match: re.Match[str], pc: int) -> Native:
        """Return one instruction."""
        opcode, size = match["opcode"], int(match["size"] or 1)
        group = int(match["group"] or 0)
        base = opcode.split(".", maxsplit=1)[0]
        execution = ExecSize(size, group)
        flags = self._flags(match["pred"] or "", execution)
        compact = "Compacted" in (match["notes"] or "")
        length = COMPACT_BYTES if compact else NATIVE_BYTES
        if base in _BRANCHES:
            return Native(opcode, size, group, "branch", pc, reads=flags, bytes=length)
        if base in {"sync", "wait", "nop"}:
            waits = opcode in {"sync.bar", "wait"}
            kind = "sync" if waits else "nop"
            effect = WAIT if waits else 0
            return Native(opcode, size, group, kind, pc, effect=effect, bytes=length)
        if base.startswith(_SENDS):
            return self._send(match, pc, execution, (flags, length))
        return self._lanes(match, pc, execution, (flags, length))

    def _lanes(
        self, match: re.Match[str], pc: int, execution: ExecSize, facts: tuple[tuple[int, ...], int]
    ) -> Native:
        """Return an instruction that is no message.

        `facts` are the flags that it reads and its length.
        """
        flags, length = facts
        text = match["operands"]
        condition = _CONDITION.match(text)
        selects = match["opcode"].startswith(("sel", "csel"))
        written = self._flags(condition[0], execution) if condition and not selects else ()
        words = (text[condition.end() :] if condition else text).split()
        operands = [self._operand(word, execution.size) for word in words]
        target = operands[0] if operands else None
        sources = [operand or _Operand((), None) for operand in operands[1:]]
        kinds = [source.type for source in sources if source.type is not None] or [UD]
        kind = max(kinds, key=lambda t: (t.is_float, t.bytes))
        implicit = tuple(
            number
            for name, number in (("acc", ACCUMULATOR_0), ("a0.", ADDRESS))
            if any(name in word for word in words[1:])
        )
        executed = max(1, -(-execution.size * kind.bytes // self._grf))
        conflict = _CONFLICTS.search(f"{match['notes']} {match['comment']}")
        writes = self._written(words, target)
        return Native(
            match["opcode"],
            execution.size,
            execution.offset,
            self._kind(match["opcode"], kind, words),
            pc,
            tuple(source.registers for source in sources),
            tuple(dict.fromkeys([*(r for s in sources for r in s.registers), *flags, *implicit])),
            (*writes, *written),
            sd=max(1, len(writes)) if target else executed,
            sx=executed,
            ss=max((len(source.registers) for source in sources), default=0),
            sc=_conflicts(conflict[1], len(writes)) if conflict else 0,
            bytes=length,
        )

    def _written(self, words: Sequence[str], target: _Operand | None) -> tuple[int, ...]:
        first = words[0] if words else ""
        if first.startswith("acc"):
            return (ACCUMULATOR_0,)
        if first.startswith("a0"):
            return (ADDRESS,)
        return target.registers if target else ()

    def _kind(self, opcode: str, kind: DataType, words: Sequence[str]) -> str:
        base, _, rest = opcode.partition(".")
        if words and words[0].startswith("cr0"):
            return "control"
        if base == "math":
            return f"math.{_MATH[rest.split('.')[0]]}"
        if base == "dpas":
            return f"dpas.{rest.split('x')[-1]}"
        if base in {"mad", "madm"}:
            return typed("mad", kind)
        if base in _THREE:
            return "three"
        if base in {"pln", "lrp"}:
            return base
        if base in {"dp2", "dp3", "dp4", "dph"}:
            return "dp"
        return typed("alu" if base in _MOVES else "logic", kind)

    def _operand(self, word: str, size: int) -> _Operand | None:
        found = _REGISTER.search(word)
        if found is None:
            return None
        kind = BY_NAME.get(found[4], UD)
        region = [int(part) for part in re.split("[;,]", found[3] or "1")]
        start = int(found[1]) * self._grf + int(found[2] or 0) * kind.bytes
        match region:
            case [stride]:
                last = (size - 1) * stride
            case [vertical, width, horizontal]:
                width = min(width, size)
                last = (size // width - 1) * vertical + (width - 1) * horizontal
            case [vertical, _]:
                last = (size - 1) * (vertical > 0)
            case _:
                last = 0
        end = start + last * kind.bytes + kind.bytes
        return _Operand(tuple(range(start // self._grf, (end - 1) // self._grf + 1)), kind)

    def _flags(self, text: str, execution: ExecSize) -> tuple[int, ...]:
        found = _FLAG.search(text)
        if found is None:
            return ()
        first = 4 * int(found[1]) + 2 * int(found[2]) + execution.offset // 8
        return tuple(
            FLAG_0 + (first + byte) % FLAG_BYTES for byte in range(-(-execution.size // 8))
        )

    def _send(
        self, match: re.Match[str], pc: int, execution: ExecSize, facts: tuple[tuple[int, ...], int]
    ) -> Native:
        """Return a message; `facts` are the flags that it reads and its length."""
        flags, length = facts
        response, parts = self._message_registers(match)
        payload = tuple(dict.fromkeys(r for part in parts for r in part))
        kind = self._message_kind(match["comment"], pc)
        sx = -(-execution.size * UD.bytes // self._grf)
        return Native(
            match["opcode"],
            execution.size,
            execution.offset,
            f"message.{kind}",
            pc,
            tuple(parts),
            tuple(dict.fromkeys((*payload, *flags))),
            response,
            payload=payload,
            sd=len(response),
            sx=max(1, sx, len(response) if "block" in kind else 0),
            ss=len(payload),
            effect=SIGNAL if kind == "barrier" else 0,
            bytes=length,
        )

    def _message_registers(
        self, match: re.Match[str]
    ) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        """Return the registers of the answer and of each part that is sent."""
        text = match["operands"]
        ranges = [
            (bool(found[1]), tuple(range(int(found[2]), int(found[2]) + int(found[3]))))
            for found in _RANGE.finditer(text)
        ]
        if ranges:
            loads = not match["opcode"].startswith("store") and not ranges[0][0]
            response = ranges[0][1] if loads else ()
            return response, [registers for _, registers in ranges[int(loads) :]]
        lengths = _LENGTHS.search(match["comment"])
        counts = [int(part) for part in lengths.groups()] if lengths else [1, 0, 0]
        words = text.split()
        starts = [
            int(found[1]) if (found := re.match(r"r(\d+)", word)) else None for word in words[:3]
        ]
        spans = [
            () if start is None else tuple(range(start, start + count))
            for start, count in zip(starts, (counts[2], counts[0], counts[1]), strict=False)
        ]
        return (spans[0] if spans else ()), [span for span in spans[1:] if span]

    def _message_kind(self, comment: str, pc: int) -> str:
        for words, kind in (
            ("end of thread", "eot"),
            ("signal barrier", "barrier"),
            ("fence", "fence"),
        ):
            if words in comment:
                return kind
        instruction = self._kernel.units[0].body[pc]
        if isinstance(instruction, MARKS):
            return "surface.block_load"  # the start of a thread fetches its arguments
        try:
            messages = footprint(instruction, self._kernel.platform).messages
        except Unexecutable as reason:
            raise UnsupportedError(f"timing: {instruction.show()}: {reason}") from None
        return message_kind(messages[0]) if messages else "surface.block_load"


def _conflicts(found: str, registers: int) -> int:
    """Return registers in conflict: a number, or BAD for all of the instruction's."""
    return registers if found == "BAD" else int(found)


__all__ = ["PLATFORMS", "listing_of", "native_program"]
