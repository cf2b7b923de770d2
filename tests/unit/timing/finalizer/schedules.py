"""Reads the timelines that GenX_IR writes with -dumpSchedule, as native instructions with cycles.

The tool counts registers in units of 8 channels, whatever their type, and tells the bytes of a
register apart; so do the instructions here. What a message does stands in the listing only, from
which it is found by the vISA statement and the descriptor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from visim.timing.expansions import typed
from visim.timing.native import ACCUMULATOR_0, ADDRESS, FLAG_0, RESOURCES, Native
from visim.types import BY_NAME, UD

GRF_BYTE_0 = RESOURCES
"""From here on, resources are single bytes of registers."""
_OTHER = GRF_BYTE_0 + (1 << 16)
_SHARED, _SCRATCH, _SURFACES = range(_OTHER + 1, _OTHER + 4)
"""Memory: shared local memory, scratch space, and the first surface."""
_SLM, _STATELESS = 254, 240

_NODE = re.compile(r"^ *(\d+) [^[]*\[\d+\](?:I\d+)+L(\d+)E\d+P\d+ (.*)$")
_END = re.compile(r"\s*// (?:\$(\d+):)?(?:&\d+:)?, |, $")
_TEXT = re.compile(
    r"^\s*(?P<pred>\([^)]*\))?\s*(?P<opcode>[a-z]\w*)(?P<mods>[.\w]*)"
    r"(?:\s*\((?P<size>\d+)(?:\|M(?P<group>\d+))?\))?\s*(?P<operands>.*)$"
)
_OPERAND = re.compile(
    r"(?<![\w&(])(?P<file>r|acc|a|f|cr|sr|tm|ce|n|ip|sp|dbg)(?P<number>\d+)(?:\.(?P<sub>\d+))?"
    r"(?:\.(?P<special>acc\d|noacc))?"
    r"(?:<(?P<region>[\d;,]+)>)?(?:\.(?:acc\d|noacc))?(?::(?P<type>[a-z]+))?"
)
_MATH = {"inv": "inv", "rsqt": "rsqrt", "rsq": "rsqrt", "sqt": "sqrt", "sqrt": "sqrt",
         "exp": "exp", "log": "log", "sin": "sin", "cos": "sin", "pow": "pow", "fdiv": "fdiv",
         "iqot": "intdiv", "irem": "intdiv", "idiv": "intdiv", "int_div": "intdiv",
         "quot": "intdiv", "rem": "intdiv", "invm": "inv", "rsqrtm": "rsqrt",
         "rsqtm": "rsqrt"}  # fmt: skip
_FLOW = frozenset({
    "jmpi", "goto", "join", "if", "else", "endif", "while", "break", "cont", "call", "return",
    "ret", "brc", "brd", "halt", "pseudo_fret", "pseudo_fcall", "pseudo_exit",
})  # fmt: skip
_MOVES = frozenset({"mov", "add", "cmp", "mul", "csel", "movi", "srnd"})
_THREE = frozenset({"add3", "bfe", "bfi2", "bfn", "dp4a"})


class UnreadError(Exception):
    """A line that this reader does not know."""


@dataclass(frozen=True)
class Scheduled:
    """An instruction of a schedule: when it is issued, and whether nothing moves across it."""

    native: Native
    cycle: int
    is_barrier: bool


@dataclass(frozen=True)
class _Operand:
    resources: tuple[int, ...]
    type: str
    is_packed: bool


@dataclass(frozen=True)
class Message:
    """What a message does: its class without prefix, the opcode in the listing, where it goes.

    `place` is "slm", "scratch", the index of a surface, or None for anywhere.
    """

    kind: str
    opcode: str
    place: str | int | None


Messages = dict[tuple[int, int | None], Message]
"""By vISA statement and descriptor."""


def messages(listing: str) -> Messages:
    """Return what messages do, by vISA statement and descriptor."""
    found: Messages = {}
    for line in listing.splitlines():
        statement = re.search(r"\$(\d+)\s*(?:R\{.*)?$", line)
        match = re.match(r"^(?:\([^)]*\))?\s+((?:sends?c?|load|store|atomic|fence)\S*) ", line)
        if statement is None or match is None:
            continue
        descriptor = re.search(r"; desc:(0x[\dA-Fa-f]+) ", line)
        numbers = re.findall(r"0x[\dA-Fa-f]{8}", line)
        text = descriptor[1] if descriptor else (numbers or [None])[-1]
        value = None if text is None else int(text, 16)
        found[int(statement[1]), value] = _message(match[1], line, value or 0)
    return found


def _message(opcode: str, line: str, descriptor: int) -> Message:
    place = _place(opcode, line, descriptor)
    for words, kind in (
        ("fence", "fence"),
        ("end of thread", "eot"),
        ("EOT", "eot"),
        ("barrier", "barrier"),
        ("sampler", "sample"),
        ("sample", "sample"),
    ):
        if words in line:
            return Message(kind, opcode, place)
    space = place if isinstance(place, str) else "surface"
    for words, kind in (
        ("atomic", "atomic"),
        ("store", "store"),
        ("writ", "store"),
        ("load", "load"),
        ("read", "load"),
    ):
        if words in line:
            return Message(f"{space}.{kind}", opcode, place)
    raise UnreadError(line)


def _place(opcode: str, line: str, descriptor: int) -> str | int | None:
    is_data_port = "hdc" in line or ".dc" in opcode
    index = descriptor & 0xFF
    if ".slm" in opcode or ".slm" in line or (is_data_port and index == _SLM):
        return "slm"
    if "scratch" in line:
        return "scratch"
    return index if is_data_port and index < _STATELESS and "a64" not in line else None


def schedule(text: str, sends: Messages, version: int, grf: int) -> Iterator[Scheduled]:
    """Yield the instructions of a timeline, without its label.

    Raises:
        UnreadError: a line is not known.
    """
    reader = _Reader(sends, version, grf)
    unused: dict[int, tuple[int, ...]] = {}
    for line in text.splitlines():
        node = _NODE.match(line)
        if node is None:
            continue
        parts = _END.split(node[3])[:-1]
        pairs = list(zip(parts[::2], parts[1::2], strict=False))
        found = [reader.one(body, statement) for body, statement in pairs if _is_code(body)]
        if found:
            natives, barriers = zip(*found, strict=True)
            native = _joined(natives)
            if native.opcode in _FLOW:
                native = replace(native, reads=(*native.reads, *(r[0] for r in unused.values())))
            touched = {*native.reads, *native.writes}
            unused = {n: r for n, r in unused.items() if not touched & {*r}}
            if native.kind.endswith(("load", "sample")) and native.writes:
                unused[int(node[1])] = native.writes
            yield Scheduled(native, int(node[1]), any(barriers))


def _is_code(body: str) -> bool:
    return not re.fullmatch(r"\s*\S+:", body)


def _joined(group: tuple[Native, ...]) -> Native:
    """Return instructions that the tool treats as one: what the first costs, what all touch."""
    first = group[0]
    reads = tuple(dict.fromkeys(r for item in group for r in item.reads))
    writes = tuple(dict.fromkeys(r for item in group for r in item.writes))
    return Native(
        first.opcode, first.size, 0, first.kind, 0, (), reads, writes,
        sd=first.sd, sx=first.sx, sc=0,
    )  # fmt: skip


class _Reader:
    def __init__(
        self, sends: dict[tuple[int, int | None], Message], version: int, grf: int
    ) -> None:
        self._sends = sends
        self._version = version
        self._grf = grf

    def one(self, body: str, statement: str | None) -> tuple[Native, bool]:
        match = _TEXT.match(body)
        if match is None:
            raise UnreadError(body)
        opcode, size = match["opcode"], int(match["size"] or 1)
        group = int(match["group"] or 0)
        units = self._units(size)
        reads = self._flags(match["pred"] or "", size, group)
        if opcode in _FLOW or opcode in {"wait", "intrinsic", "nop", "sync"}:
            reads += tuple(r for o in self._operands(match["operands"], size) for r in o.resources)
            return Native(opcode, size, 0, "nop", 0, (), reads, sd=units, sx=units), True
        if opcode.startswith("send"):
            return self._send(match, size, statement, reads)
        return self._lanes(match, size, group, reads)

    def _units(self, size: int) -> int:
        if self._version >= 120:
            return 1 if size <= 8 else 2 if size == 16 else 4
        return max(1, size // 8)

    def _lanes(self, match, size, group, reads) -> tuple[Native, bool]:
        opcode, text = match["opcode"], match["operands"]
        condition = re.match(r"\((?:\w+)\)(f\d\.\d)\s*", text)
        sets = condition and opcode not in {"sel", "csel"}
        written = self._flags(condition[1], size, group) if sets else ()
        rest = (text[condition.end() :] if condition else text).replace("(sat)", "")
        first = rest.strip().partition(" ")[0]
        operands = self._operands(rest, size)
        has_target = bool(operands) and bool(_OPERAND.match(first) or first.startswith("r["))
        target, sources = (operands[0], operands[1:]) if has_target else (None, operands)
        types = [operand.type for operand in sources] + re.findall(r":(\w+)", rest)[1:]
        kinds = [BY_NAME.get(name, UD) for name in types] or [UD]
        kind = max(kinds, key=lambda item: (item.is_float, item.bytes))
        implicit = (ACCUMULATOR_0,) if opcode in {"mac", "mach", "macl"} else ()
        implied = (ACCUMULATOR_0,) if opcode in {"mach", "addc", "subb"} else ()
        units = self._lane_units(size, rest, types, sources)
        is_barrier = "r[" in rest or re.search(r"\b(?:cr|sr|tm|n)0\.", rest)
        native = Native(
            opcode,
            size,
            0,
            self._kind(opcode, match["mods"], kind),
            0,
            (),
            (*reads, *implicit, *(r for o in sources for r in o.resources)),
            (*(target.resources if target else ()), *written, *implied),
            sd=self._units(size),
            sx=self._units(size) if opcode == "math" else units,
        )
        return native, bool(is_barrier)

    def _lane_units(self, size, rest, types, sources) -> int:
        halves = size >= 16 and bool(types) and all(t == "hf" for t in types)
        halves = halves and all(o.is_packed for o in sources)
        written = re.match(r"\s*\S*:(\w+)", rest)
        if halves:
            return max(1, size // 16)
        wide = self._version >= 120 and written and BY_NAME.get(written[1], UD).bytes == 8
        return (1 if size <= 4 else 2) if wide else self._units(size)

    def _kind(self, opcode: str, mods: str, kind) -> str:
        if opcode == "math":
            return f"math.{_MATH[mods.strip('.').split('.')[0]]}"
        if opcode in {"dpas", "dpasw"}:
            raise UnreadError(opcode)
        if opcode in {"mad", "madm"}:
            return typed("mad", kind)
        if opcode in _THREE:
            return "three"
        if opcode in {"pln", "lrp"}:
            return opcode
        if opcode in {"dp2", "dp3", "dp4", "dph"}:
            return "dp"
        return typed("alu" if opcode in _MOVES else "logic", kind)

    def _send(self, match, size, statement, reads) -> tuple[Native, bool]:
        text = match["operands"]
        words = text.split()
        descriptors = [int(word.split(":")[0], 16) for word in words if word.startswith("0x")]
        zeros = [word for word in words if word == "0:ud"]
        split = match["opcode"] in {"sends", "sendsc"}
        if not descriptors or (split and len(descriptors) + len(zeros) < 2):
            raise UnreadError(text)
        descriptor = descriptors[0]
        extended = descriptors[1] if len(descriptors) > 1 else 0
        number = int(statement) if statement else -1
        message = self._sends.get((number, descriptor))
        if message is None:
            raise UnreadError(text)
        registers = [_register(word) for word in words[: 3 if split else 2]]
        lengths = (descriptor >> 20 & 31, descriptor >> 25 & 15, extended >> 6 & 31)
        spans = [self._span(r, n) for r, n in zip(registers, lengths, strict=False)]
        read, written = _memory(message)
        native = Native(
            message.opcode,
            size,
            0,
            f"message.{message.kind}",
            0,
            (),
            (*reads, *(r for span in spans[1:] for r in span), *read),
            (*spans[0], *written),
            sd=len(spans[0]),
            sx=self._send_units(size, words[0]),
        )
        return native, message.kind in {"barrier", "eot", "fence"} or "sendc" in match["opcode"]

    def _send_units(self, size: int, target: str) -> int:
        name = target.partition(":")[2]
        wide = self._version >= 120 and BY_NAME.get(name, UD).bytes == 8
        return (1 if size <= 4 else 2) if wide else self._units(size)

    def _span(self, register: int | None, count: int) -> tuple[int, ...]:
        if register is None:
            return ()
        start = GRF_BYTE_0 + register * self._grf
        return tuple(range(start, start + count * self._grf))

    def _flags(self, text: str, size: int, group: int) -> tuple[int, ...]:
        match = re.search(r"f(\d)\.(\d)", text)
        if match is None:
            return ()
        first = 4 * int(match[1]) + 2 * int(match[2]) + group // 8
        found = tuple(FLAG_0 + (first + i) % 16 for i in range(-(-size // 8)))
        return found if int(match[1]) < 2 else (*found, _OTHER)

    def _operands(self, text: str, size: int) -> list[_Operand]:
        return [self._operand(m, size) for m in _OPERAND.finditer(text)]

    def _operand(self, match: re.Match[str], size: int) -> _Operand:
        file, number, sub = match["file"], int(match["number"]), int(match["sub"] or 0)
        name = match["type"] or "ud"
        scale = BY_NAME.get(name, UD).bytes
        region = [int(part) for part in re.split("[;,]", match["region"] or "1")]
        if file == "acc":
            return _Operand((ACCUMULATOR_0,), name, True)
        if file == "a":
            return _Operand((ADDRESS,), name, True)
        if file == "f":
            first = FLAG_0 + 4 * number + 2 * sub
            others = () if number < 2 else (_OTHER,)
            found = (*range(first, first + max(1, scale)), *others)
            return _Operand(found, name, True)
        if file != "r":
            return _Operand((_OTHER,), name, True)
        match region:
            case [stride]:
                last = (size - 1) * stride
            case [vertical, horizontal]:
                last = (size - 1) * (vertical if horizontal == 0 else horizontal)
            case [vertical, width, horizontal]:
                width = min(width, size)
                last = (size // width - 1) * vertical + (width - 1) * horizontal
            case _:
                raise UnreadError(match[0])
        start = GRF_BYTE_0 + number * self._grf + sub * scale
        resources = tuple(range(start, start + (last + 1) * scale))
        if match["special"] and match["special"] != "noacc":
            resources += (_OTHER,)
        return _Operand(resources, name, last == size - 1)


def _register(word: str) -> int | None:
    match = re.match(r"r(\d+)", word)
    return int(match[1]) if match else None


def _memory(message: Message) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the memory that a message reads and writes; surfaces differ from each other."""
    action = message.kind.rpartition(".")[2]
    match message.place:
        case "slm":
            touched = (_SHARED,)
        case "scratch":
            touched = (_SCRATCH,)
        case int(index):
            touched = (_SURFACES + index,)
        case _:
            touched = tuple(range(_SURFACES, _SURFACES + _STATELESS))
    reads = touched if action in {"load", "fence"} else ()
    return reads, touched if action in {"store", "fence"} else ()
