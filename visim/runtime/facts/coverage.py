"""What visim does with each instruction: which engines execute it, and how exactly.

Nothing is stated here: the example of an instruction is given to the engines, and what they
refuse is not covered. An example stands for an instruction; other types or options of it may be
refused, with a reason, when they are met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from visim.diag import Source
from visim.engine.interp import Interpreter
from visim.engine.jit import Jit
from visim.errors import UnsupportedError
from visim.isa import ISA, Instruction, Op, Unexecutable, trace
from visim.isa.forms import LabelMark, SubroutineMark
from visim.isa.registry import named_labels
from visim.linker import link_kernel
from visim.sem.effects import Effect
from visim.target import PLATFORMS, Platform, platform
from visim.text import parse_text

INTERPRETER, JIT = Interpreter.name, Jit.name
_GENERALS = range(32, 80)
#: Examples have their destination in the first of these, their sources in the following ones.
_DESTINATION = 40
_FUNCTION_FIELD = "function"
_PREFERRED = ("f", "d", "ud", "df", "hf", "w", "uw", "ub", "b", "q", "uq", "bf")


@dataclass(frozen=True, slots=True)
class Coverage:
    """What visim does with an instruction: `engines` execute it, `reason` says why others do not.

    Every instruction is read, written and verified. `effects` are those of its example.
    """

    op: Op
    engines: tuple[str, ...]
    reason: str | None
    effects: tuple[Effect, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return what JSON shows."""
        op = self.op
        return {
            "mnemonic": op.mnemonic,
            "opcode": op.code,
            "sub_opcode": op.sub,
            "page": op.page,
            "devices": list(op.devices),
            "version": ".".join(map(str, op.version)),
            "engines": list(self.engines),
            "exactness": str(op.exactness) if self.engines else None,
            "reason": self.reason,
        }


@cache
def coverage() -> tuple[Coverage, ...]:
    """Return what visim does with each declared instruction."""
    return tuple(coverage_of(op) for op in ISA.ops)


def coverage_of(op: Op) -> Coverage:
    """Return what visim does with an instruction."""
    device = platform(op.devices[-1]) if op.devices else PLATFORMS[-1]
    reason: str | None = None
    for types in _type_choices(op):
        try:
            effects = trace(_instruction(op, types), device)
        except Unexecutable as error:
            reason = reason or str(error)
            continue
        refused = _refused_by_jit(op, types, device)
        engines = (INTERPRETER,) if refused else (INTERPRETER, JIT)
        return Coverage(op, engines, refused, effects)
    return Coverage(op, (), reason)


def _type_choices(op: Op) -> Iterator[dict[int, str]]:
    """Return types for the variables of the example that the declaration allows."""
    for row in op.operands.types:
        types = (row.destination, *row.sources)
        names = [min((kind.name for kind in entry), key=_PREFERRED.index) for entry in types]
        last = names[-1]
        yield {
            number: names[number - _DESTINATION] if number < _DESTINATION + len(names) else last
            for number in _GENERALS
            if number >= _DESTINATION
        }
    yield {}


def _text(op: Op, types: dict[int, str]) -> str:
    lines = [
        ".version 4.1",
        '.kernel "k"',
        *(
            f".decl V{number} v_type=G type={types.get(number, 'ud')} num_elts=64 align=GRF"
            for number in _GENERALS
        ),
        *(f".decl P{number} v_type=P num_elts=32" for number in range(1, 4)),
        ".decl A0 v_type=A num_elts=16",
        ".decl S0 v_type=S num_elts=1",
        ".decl T6 v_type=T num_elts=1",
        ".decl T7 v_type=T num_elts=1",
        ".kernel_attr SLMSize=1",
        op.examples[0],
    ]
    return "\n".join(lines) + "\n"


def _instruction(op: Op, types: dict[int, str]) -> Instruction:
    module, _findings = parse_text(Source(op.mnemonic, _text(op, types)))
    return module.units[0].body[0]


def _refused_by_jit(op: Op, types: dict[int, str], device: Platform) -> str | None:
    """Return why the JIT cannot run a kernel with the example, None if it can."""
    text = _text(op, types) + "".join(f"{line}\n" for line in _surroundings(op, types))
    module, _findings = parse_text(Source(op.mnemonic, text))
    linked = link_kernel(module, module.kernels[0], device)
    try:
        Jit().prepare(linked)
    except UnsupportedError as error:
        return str(error)
    return None


def _surroundings(op: Op, types: dict[int, str]) -> Iterator[str]:
    """Return what a kernel needs behind the example: ends, labels, subroutines and functions."""
    instruction = _instruction(op, types)
    yield "ret (M1, 1)"
    if not isinstance(instruction, LabelMark | SubroutineMark):
        for label in named_labels(instruction):
            if op.mnemonic == "call":
                yield f'.function "{label}"'
            yield f"{label}:"
            yield "ret (M1, 1)"
    name = getattr(instruction, _FUNCTION_FIELD, None)
    if isinstance(name, str):
        yield f'.global_function "{name}"'
        yield "fret (M1, 16)"
