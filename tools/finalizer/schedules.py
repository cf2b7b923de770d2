"""Reads the timelines that Intel's finalizer writes (-dumpSchedule), as instructions with cycles.

The tool counts registers in units of 8 channels, whatever their type, and tells the bytes of a
register apart; so do the instructions here. `Reader` is for GenX_IR of 2022: what a message does
stands in its listing only, from which it is found by the vISA statement and the descriptor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from visim.timing.expansions import typed
from visim.timing.native import ACCUMULATOR_0, ADDRESS, FLAG_0, RESOURCES, Native
from visim.types import BY_NAME, UD, DataType

GRF_BYTE_0 = RESOURCES
"""From here on, resources are single bytes of registers."""
OTHER = GRF_BYTE_0 + (1 << 16)
"""Whatever is no register of its own here."""
_SHARED, _SCRATCH, _SURFACES = range(OTHER + 1, OTHER + 4)
"""Memory: shared local memory, scratch space, and the first surface."""
_ANSWER = OTHER + (1 << 16)
"""From here on, resources are that answers of messages have come."""
_SLM, _STATELESS = 254, 240

_NODE = re.compile(r"^ *(\d+) [^[]*\[\d+\](?:I\d+)+L(\d+)E\d+P\d+ (.*)$")
_END = re.compile(r"\s*// (?:\$(\d+):)?(?:&\d+:)?, |, $")
TEXT = re.compile(
    r"^\s*(?P<pred>\([^)]*\))?\s*(?P<opcode>[a-z]\w*)(?P<mods>[.\w]*)"
    r"(?:\s*\((?P<size>\d+)(?:\|M(?P<group>\d+))?\))?\s*(?P<operands>.*)$"
)
OPERAND = re.compile(
    r"(?<![\w&(])(?P<file>r|acc|a|f|cr|sr|tm|ce|n|ip|sp|dbg)(?P<number>\d+)(?:\.(?P<sub>\d+))?"
    r"(?:\.(?P<special>acc\d|noacc))?"
    r"(?:<(?P<region>[\d;,]+)>)?(?:\.(?:acc\d|noacc))?(?::(?P<type>[a-z]+))?"
)
_MATH = {"inv": "inv", "rsqt": "rsqrt", "rsq": "rsqrt", "sqt": "sqrt", "sqrt": "sqrt",
         "exp": "exp", "log": "log", "sin": "sin", "cos": "sin", "pow": "pow", "fdiv": "fdiv",
         "iqot": "intdiv", "irem": "intdiv", "idiv": "intdiv", "int_div": "intdiv",
         "quot": "intdiv", "rem": "intdiv", "invm": "inv", "rsqrtm": "rsqrt",
         "rsqtm": "rsqrt"}  # fmt: skip
FLOW = frozenset({
    "jmpi", "goto", "join", "if", "else", "endif", "while", "break", "cont", "call", "return",
    "ret", "brc", "brd", "halt", "pseudo_fret", "pseudo_fcall", "pseudo_exit",
})  # fmt: skip
_MOVES = frozenset({"mov", "add", "cmp", "mul", "csel", "movi", "srnd"})
_ANSWERED = ("load", "sample", "fence", "barrier")
_THREE = frozenset({"add3", "bfe", "bfi2", "bfn", "dp4a"})


Resources = tuple[int, ...]


class UnreadError(Exception):
    """A line that this reader does not know."""


@dataclass(frozen=True)
class Scheduled:
    """An instruction of a schedule: when it is issued, and whether nothing moves across it."""

    native: Native
    cycle: int
    is_barrier: bool

    @property
    def awaited(self) -> Resources:
        """What later ones wait for even if nothing moves across this one: its answer."""
        return tuple(resource for resource in self.native.writes if resource >= _ANSWER)


@dataclass(frozen=True)
class Operand:
    """An operand: the resources that it is, its type, and whether its elements are neighbours."""

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


Messages = Mapping[tuple[int, int | None], Message]
"""By vISA statement and descriptor."""


def messages(listing: str) -> Messages:
    """Return what messages do, by vISA statement and descriptor."""
    found: dict[tuple[int, int | None], Message] = {}
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
    """Return the instructions of a timeline, without its label.

    Raises:
        UnreadError: a line is not known.
    """
    reader = Reader(sends, version, grf)
    nodes: list[tuple[int, list[tuple[Native, bool]]]] = []
    for line in text.splitlines():
        node = _NODE.match(line)
        if node is None:
            continue
        parts = _END.split(node[3])[:-1]
        pairs = zip(parts[::2], parts[1::2], strict=False)
        found = [reader.one(body, statement) for body, statement in pairs if is_code(body)]
        nodes.append((int(node[1]), found))
    return scheduled(nodes)


def scheduled(nodes: Iterable[tuple[int, Sequence[tuple[Native, bool]]]]) -> Iterator[Scheduled]:
    """Yield nodes as instructions of a schedule.

    Each node has its cycle, and what is treated as one with whether nothing moves across it. A
    branch waits for all answers since then, as the tool has it.
    """
    answers: list[int] = []
    for cycle, found in nodes:
        if not found:
            continue
        native = joined([native for native, _ in found])
        is_barrier = any(is_barrier for _, is_barrier in found)
        if native.opcode in FLOW:
            native = replace(native, reads=(*native.reads, *answers))
        if is_barrier:
            answers = []
        if native.kind.endswith(_ANSWERED) or (native.kind.endswith("atomic") and native.sd):
            answers.append(_ANSWER + cycle)
            native = replace(native, writes=(*native.writes, answers[-1]))
        yield Scheduled(native, cycle, is_barrier)


def is_code(body: str) -> bool:
    """Return whether a text is an instruction and no label."""
    return not re.fullmatch(r"\s*\S+:", body)


def joined(group: Sequence[Native]) -> Native:
    """Return instructions that the tool treats as one: what the first costs, what all touch."""
    first = group[0]
    reads = tuple(dict.fromkeys(r for item in group for r in item.reads))
    writes = tuple(dict.fromkeys(r for item in group for r in item.writes))
    return Native(
        first.opcode, first.size, 0, first.kind, 0, (), reads, writes,
        sd=first.sd, sx=first.sx, sc=0,
    )  # fmt: skip


class Reader:
    """Reads instructions of GenX_IR, on a generation and with registers of so many bytes."""

    def __init__(self, sends: Messages, version: int, grf: int) -> None:
        self._sends = sends
        self._version = version
        self._grf = grf

    def one(self, body: str, statement: str | None) -> tuple[Native, bool]:
        """Return an instruction, and whether nothing moves across it.

        Raises:
            UnreadError: it is not known.
        """
        match = TEXT.match(body)
        if match is None:
            raise UnreadError(body)
        opcode, size = match["opcode"], int(match["size"] or 1)
        group = int(match["group"] or 0)
        units = self.units(size)
        reads = self.flags(match["pred"] or "", size, group)
        if opcode in FLOW or opcode in {"wait", "intrinsic", "nop", "sync"}:
            reads += tuple(r for o in self.operands(match["operands"], size) for r in o.resources)
            return Native(opcode, size, 0, "nop", 0, (), reads, sd=units, sx=units), True
        if opcode.startswith("send"):
            return self.send(match, size, statement, reads)
        return self._lanes(match, size, group, reads)

    def units(self, size: int) -> int:
        """Return for how many cycles lanes are issued."""
        if self._version >= 120:
            return 1 if size <= 8 else 2 if size == 16 else 4
        return max(1, size // 8)

    def _lanes(
        self, match: re.Match[str], size: int, group: int, reads: Resources
    ) -> tuple[Native, bool]:
        opcode, text = match["opcode"], match["operands"]
        condition = re.match(r"\((?:\w+)\)(f\d\.\d)\s*", text)
        sets = condition and opcode not in {"sel", "csel"}
        written = self.flags(condition[1], size, group) if sets else ()
        rest = (text[condition.end() :] if condition else text).replace("(sat)", "")
        first = rest.strip().partition(" ")[0]
        operands = self.operands(rest, size)
        has_target = bool(operands) and bool(OPERAND.match(first) or first.startswith("r["))
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
            sd=self.units(size),
            sx=self.units(size) if opcode == "math" else units,
        )
        return native, bool(is_barrier)

    def _lane_units(
        self, size: int, rest: str, types: Sequence[str], sources: Sequence[Operand]
    ) -> int:
        halves = size >= 16 and bool(types) and all(t == "hf" for t in types)
        halves = halves and all(o.is_packed for o in sources)
        written = re.match(r"\s*\S*:(\w+)", rest)
        if halves:
            return max(1, size // 16)
        wide = self._version >= 120 and written and BY_NAME.get(written[1], UD).bytes == 8
        return (1 if size <= 4 else 2) if wide else self.units(size)

    def _kind(self, opcode: str, mods: str, kind: DataType) -> str:
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

    def send(
        self, match: re.Match[str], size: int, statement: str | None, reads: Resources
    ) -> tuple[Native, bool]:
        """Return a message, which is found by its statement and descriptor."""
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
        registers = [register(word) for word in words[: 3 if split else 2]]
        lengths = (descriptor >> 20 & 31, descriptor >> 25 & 15, extended >> 6 & 31)
        spans = [self.span(r, n) for r, n in zip(registers, lengths, strict=False)]
        read, written = memory_of(message)
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
            sx=self.send_units(size, words[0]),
        )
        return native, message.kind in {"barrier", "eot", "fence"} or "sendc" in match["opcode"]

    def send_units(self, size: int, target: str) -> int:
        """Return for how many cycles a message is issued."""
        name = target.partition(":")[2]
        wide = self._version >= 120 and BY_NAME.get(name, UD).bytes == 8
        return (1 if size <= 4 else 2) if wide else self.units(size)

    def span(self, register: int | None, count: int) -> Resources:
        """Return the bytes of so many registers from one on."""
        return self.bytes_from(register, count * self._grf)

    def bytes_from(self, register: int | None, count: int) -> Resources:
        """Return so many bytes from a register on."""
        if register is None:
            return ()
        start = GRF_BYTE_0 + register * self._grf
        return tuple(range(start, start + count))

    def flags(self, text: str, size: int, group: int) -> Resources:
        """Return the flags of the channels of an instruction in what names a flag register."""
        match = re.search(r"f(\d)\.(\d)", text)
        if match is None:
            return ()
        first = 4 * int(match[1]) + 2 * int(match[2]) + group // 8
        found = tuple(FLAG_0 + (first + i) % 16 for i in range(-(-size // 8)))
        return found if int(match[1]) < 2 else (*found, OTHER)

    def operands(self, text: str, size: int) -> list[Operand]:
        """Return the operands in a text."""
        return [self.operand(m, size) for m in OPERAND.finditer(text)]

    def operand(self, match: re.Match[str], size: int) -> Operand:
        """Return what `OPERAND` has found."""
        file, number, sub = match["file"], int(match["number"]), int(match["sub"] or 0)
        name = match["type"] or "ud"
        scale = BY_NAME.get(name, UD).bytes
        region = [int(part) for part in re.split("[;,]", match["region"] or "1")]
        if file == "acc":
            return Operand((ACCUMULATOR_0,), name, True)
        if file == "a":
            return Operand((ADDRESS,), name, True)
        if file == "f":
            first = FLAG_0 + 4 * number + 2 * sub
            others = () if number < 2 else (OTHER,)
            found = (*range(first, first + max(1, scale)), *others)
            return Operand(found, name, True)
        if file != "r":
            return Operand((OTHER,), name, True)
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
            resources += (OTHER,)
        return Operand(resources, name, last == size - 1)


def register(word: str) -> int | None:
    """Return the number of the register that a word names, None for another word."""
    match = re.match(r"r(\d+)", word)
    return int(match[1]) if match else None


def memory_of(message: Message) -> tuple[Resources, Resources]:
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
