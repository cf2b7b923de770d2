"""Reads the native code that Mesa prints for a shader, as instructions of the timing model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from visim.timing.native import ACCUMULATOR_0, ADDRESS, FLAG_0, FLAG_BYTES, MRF_0, Native

GRF = 32
TOKENS = 16
"""Scoreboard tokens of Gen12; they stand where older generations have message registers."""

_SHADER = re.compile(r"^SIMD(\d+) shader: (\d+) instructions\. (\d+) loops\. (\d+) cycles\.")
_LINE = re.compile(
    r"^(?:\((?P<pred>[^)]*)\) )?(?P<opcode>[a-z][\w. ]*?)\((?P<size>\d+)\)(?: (?P<dest>\d+))?\s+"
    r"(?P<operands>.*?)\{ (?P<notes>.*) \};$"
)
_OPERAND = re.compile(
    r"(?P<null>null)|(?:-|\(abs\)|~)*(?P<file>g|m|acc|a|f)(?P<nr>\d+)(?:\.(?P<sub>\d+))?"
    r"(?:<(?P<region>[\d,]+)>)?(?P<type>[A-Z]+)|(?P<imm>-?(?:0x)?[\da-f.]+(?P<itype>[A-Z]+))"
)
_BYTES = {"F": 4, "D": 4, "UD": 4, "W": 2, "UW": 2, "B": 1, "UB": 1, "HF": 2, "DF": 8, "V": 2,
          "UV": 2, "VF": 4, "Q": 8, "UQ": 8}  # fmt: skip
_MOVES = frozenset({"mov", "cmp", "add", "mul", "add3"})
_THREE = frozenset({"mad", "lrp", "bfe", "bfi2", "csel"})
_SENDS = frozenset({"send", "sendc", "sends", "sendsc"})
_LOOP_WEIGHT = 10
_FLOW = frozenset({"if", "else", "endif", "while", "break", "cont", "halt"})


@dataclass(frozen=True)
class Shader:
    """One compiled shader: its width, Mesa's estimate, and the ways to read its instructions.

    Each instruction stands with its weight in the estimate.
    """

    width: int
    loops: int
    cycles: int
    readings: tuple[tuple[tuple[Native, int], ...], ...]


class UnreadError(Exception):
    """A line that this reader does not know."""


@dataclass(frozen=True)
class _Operand:
    file: str
    registers: tuple[int, ...]
    size: int
    type: str
    number: int
    step: int


def shaders(text: str, version: int) -> list[Shader | None]:
    """Return the shaders of what Mesa printed, None for those that cannot be read."""
    found: list[Shader | None] = []
    head, lines, parts = None, [], []
    for raw in text.splitlines():
        match = _SHADER.match(raw)
        if match:
            head, lines = match, []
        elif head is None or not raw.strip() or raw.startswith(("   START", "   END", "nop")):
            continue
        elif raw.startswith(("Native", "NIR", "===", "SIMD")):
            found.append(_shader(head, lines, version))
            head = None
        else:
            parts.append(raw.strip())
            if raw.startswith("LABEL"):
                lines.append(parts.pop())
            elif raw.rstrip().endswith("};"):
                lines.append(" ".join(parts))
                parts = []
    if head is not None:
        found.append(_shader(head, lines, version))
    return found


def _shader(head: re.Match[str], lines: list[str], version: int) -> Shader | None:
    reader = _Reader(version)
    try:
        ways = [lines] if version < 120 else [lines, _folded(lines)]
        readings = tuple(
            tuple((reader.native(line), weight) for line, weight in _weighted(way)) for way in ways
        )
    except UnreadError:
        return None
    width, _, loops, cycles = (int(part) for part in head.groups())
    return Shader(width, loops, cycles, readings)


def _weighted(lines: list[str]) -> Iterator[tuple[str, int]]:
    """Yield instructions with what they count: ten times as much in each loop.

    A loop begins at the label to which a later `while` goes.
    """
    heads: dict[str, int] = {}
    for number, line in enumerate(lines):
        target = re.search(r"^(?:\(.*?\) )?while\(.*JIP:\s+(LABEL\d+)", line)
        if target is not None:
            heads.setdefault(target[1], number)
    weight = 1
    for line in lines:
        if line.startswith("LABEL"):
            weight *= _LOOP_WEIGHT if line.rstrip(":") in heads else 1
            continue
        yield line, weight
        if re.match(r"(?:\(.*?\) )?while\(", line):
            weight //= _LOOP_WEIGHT


def _folded(lines: list[str]) -> list[str]:
    """Give a message without a token of its own what the sync instruction before it waits for.

    It cannot name both a distance and a token. Mesa then prints a sync for the token; whether its
    estimate has counted that one cannot be seen.
    """
    found: list[str] = []
    for line in lines:
        is_message = re.match(r"sends?c?\(", line) is not None
        token = re.search(r"\$\d+\.\w+", found[-1]) if found else None
        follows = token is not None and found[-1].startswith("sync")
        if is_message and follows and "@" in line and "$" not in line:
            found[-1] = line.replace("{ ", f"{{ {token[0]} ", 1)
        else:
            found.append(line)
    return found


class _Reader:
    def __init__(self, version: int) -> None:
        self.version = version

    def native(self, line: str) -> Native:
        match = _LINE.match(line)
        if match is None:
            raise UnreadError(line)
        opcode, size = match["opcode"].split(".")[0], int(match["size"])
        group = _group(match["notes"])
        reads = self._flags(match["pred"] or "", size, group)
        if opcode in _FLOW:
            return Native(opcode, size, group, "branch", 0, reads=reads)
        waits, sets = self._tokens(match["notes"], is_send=opcode in _SENDS)
        if opcode.startswith("sync"):
            return Native(opcode, size, group, "logic", 0, reads=waits, sd=1, sx=1)
        if opcode in _SENDS:
            return self._send(match, size, group, (waits, sets))
        return self._lanes(match, opcode, size, group, (*reads, *waits), sets)

    def _lanes(self, match, opcode, size, group, reads, sets) -> Native:
        operands = [_operand(m, size) for m in _OPERAND.finditer(match["operands"])]
        if opcode == "pln":
            operands[1] = _widened(operands[1], 1)
            operands[2] = _widened(operands[2], 2 * size // 8)
        target, sources = operands[0], [o for o in operands[1:] if o.file != "null"]
        types = [o.type for o in sources] or [target.type]
        tx = max(types, key=lambda t: (_BYTES[t], t in {"F", "HF", "DF"}))
        condition = re.search(r"\.(f\d\.\d)", match["opcode"])
        written = self._flags(condition[1], size, group) if condition else ()
        implicit = (ACCUMULATOR_0,) if opcode in {"mac", "mach"} else ()
        if opcode == "pln" and self.version <= 60:  # Mesa's Gen6 takes it for line and mac
            sets = (*sets, *(ACCUMULATOR_0 + i // 8 % 2 for i in range(group, group + size, 8)))
        sd = -(-size * _BYTES[target.type] * max(target.step, 1) // GRF)
        if target.file != "null":
            sd = max(1, -(-(size * target.step * _BYTES[target.type]) // GRF))
        return Native(
            opcode,
            size,
            group,
            self._kind(match["opcode"], opcode, tx, sources),
            0,
            tuple(o.registers for o in sources if o.file == "g"),
            tuple(dict.fromkeys([*(r for o in sources for r in o.registers), *reads, *implicit])),
            (*target.registers, *written, *implicit[: opcode == "mach"], *sets),
            sd=max(1, sd),
            sx=max(1, -(-size * _BYTES[tx] // GRF)),
            ss=max((len(o.registers) for o in sources), default=0),
            sc=max(1, sd) * self._conflict(opcode, sources),
        )

    def _kind(self, full: str, opcode: str, tx: str, sources: list[_Operand]) -> str:
        if opcode.startswith("math"):
            name = full.split()[1].split(".")[0]
            known = {"inv": "inv", "rsq": "rsqrt", "sqrt": "sqrt", "exp": "exp", "log": "log",
                     "sin": "sin", "cos": "sin", "pow": "pow", "intdiv": "intdiv",
                     "intdivmod": "intdiv", "intmod": "intdiv"}  # fmt: skip
            if name not in known:
                raise UnreadError(full)
            return f"math.{known[name]}"
        wide = _BYTES[tx] > 4
        if opcode in {"mul", "mad"} and tx in {"D", "UD"}:
            wide = len(sources) > 1 and _BYTES[sources[0].type] == _BYTES[sources[1].type]
        if opcode in {"pln", "lrp"}:
            return opcode
        if opcode in {"dp2", "dp3", "dp4", "dph"}:
            return "dp"
        if opcode == "mad":
            return "mad.wide" if wide else "mad.float" if tx == "F" else "mad"
        if opcode in _THREE:
            return "three"
        if opcode in _MOVES:
            return "alu.wide" if wide else "alu.float" if tx == "F" else "alu"
        return "alu.wide" if wide else "logic"

    def _conflict(self, opcode: str, sources: list[_Operand]) -> int:
        """Whether the second and third source are in one of the four banks of Mesa's model."""
        if opcode not in _THREE or len(sources) < 3 or any(o.file != "g" for o in sources[1:]):
            return 0
        numbers = [o.number for o in sources]
        if self.version >= 90 and len(set(numbers)) < 3:
            return 0
        second, third = numbers[1:3]
        return int(second % 2 == third % 2 and (second >= 64) == (third >= 64))

    def _send(self, match, size, group, tokens) -> Native:
        waits, sets = tokens
        text = match["operands"]
        lengths = re.search(r"mlen (\d+)(?: ex_mlen (\d+))? rlen (\d+)", text)
        if lengths is None:
            raise UnreadError(text)
        mlen, ex_mlen, rlen = (int(part or 0) for part in lengths.groups())
        operands = list(_OPERAND.finditer(text.split("MsgDesc")[0]))
        target, first = _operand(operands[0], 1), _operand(operands[1], 1)
        payload = tuple(first.registers[0] + i for i in range(mlen))
        if ex_mlen:
            other = _operand(operands[2], 1)
            payload += tuple(other.registers[0] + i for i in range(ex_mlen))
        writes = tuple(target.registers[0] + i for i in range(rlen)) if rlen else ()
        kind = "sample" if "sampler" in text else "render" if "render" in text else None
        if kind is None:
            raise UnreadError(text)
        grf_payload = first.file == "g"
        return Native(
            match["opcode"],
            size,
            group,
            f"message.{kind}",
            0,
            (payload,),
            (*payload, *waits),
            (*writes, *sets[:1]),
            (*payload, *sets[1:]),
            sd=rlen,
            sx=max(1, size * 4 // GRF),
            ss=len(payload) if grf_payload else 1,
        )

    def _flags(self, text: str, size: int, group: int) -> tuple[int, ...]:
        match = re.search(r"f(\d)\.(\d)", text)
        if match is None:
            return ()
        first = 4 * int(match[1]) + 2 * int(match[2]) + group // 8
        return tuple(FLAG_0 + (first + i) % FLAG_BYTES for i in range(-(-size // 8)))

    def _tokens(self, notes: str, *, is_send: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        waits, sets = [], []
        for number, what in re.findall(r"\$(\d+)(\.\w+)?", notes):
            token = MRF_0 + int(number)
            if what == ".dst":
                waits.append(token)
            elif what == ".src":
                waits.append(token + TOKENS)
            else:
                sets += [token, token + TOKENS] if is_send else [token]
        return tuple(waits), tuple(sets)


def _group(notes: str) -> int:
    match = re.search(r"\b([1-8])([QH])\b", notes)
    if match is None:
        return 0
    return (int(match[1]) - 1) * (8 if match[2] == "Q" else 16)


def _operand(match: re.Match[str], size: int) -> _Operand:
    if match["null"]:
        kind = re.match(r"null(?:<[\d,]+>)?([A-Z]+)", match.string[match.start() :])
        return _Operand("null", (), 0, kind[1] if kind else "UD", 0, 1)
    if match["imm"]:
        return _Operand("imm", (), 1, match["itype"], 0, 0)
    file, number, sub = match["file"], int(match["nr"]), int(match["sub"] or 0)
    kind = match["type"]
    if file == "a":
        return _Operand(file, (ADDRESS,), 1, kind, 0, 1)
    if file == "acc":
        return _Operand(file, (ACCUMULATOR_0,), 1, kind, 0, 1)
    if file == "f":
        return _Operand(file, (FLAG_0 + 4 * number + 2 * sub,), 1, kind, 0, 1)
    region = [int(part) for part in (match["region"] or "1").split(",")]
    if len(region) == 1:
        last, step = (size - 1) * region[0], region[0]
    else:
        vertical, width, horizontal = region
        last = (max(1, size // width) - 1) * vertical + (min(width, size) - 1) * horizontal
        step = 1
    scale = _BYTES[kind]
    start = number * GRF + sub * scale
    end = start + last * scale + scale
    base = MRF_0 if file == "m" else 0
    registers = tuple(base + r for r in range(start // GRF, (end - 1) // GRF + 1))
    return _Operand(file, registers, len(registers), kind, number, step)


def _widened(operand: _Operand, count: int) -> _Operand:
    registers = tuple(operand.registers[0] + i for i in range(count))
    return _Operand(operand.file, registers, count, operand.type, operand.number, operand.step)
