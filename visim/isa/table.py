"""How tables declare instructions, and the collection of all tables.

A table is a module with a `TABLE`; each decorated function is one instruction. Its docstring is
the documentation, its body the meaning: a *lane* meaning maps the channels' source values to the
channels' results, an *effect* meaning talks to the tracer. What is declared here is checked when
the package is imported.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict, Unpack

from visim.isa.codecs import DecodeTables, EncodeTables, Version
from visim.isa.forms import Branch, ExternalCall
from visim.isa.layouts import SubCode
from visim.isa.operand_types import Operands
from visim.isa.registry import (
    Category,
    DeclarationError,
    Exactness,
    Instruction,
    Op,
    Restriction,
    schema_of,
)
from visim.isa.reserved import RESERVED, explain
from visim.layout import Reader, Writer
from visim.operands import ExecSize
from visim.sem.effects import Effect
from visim.sem.expr import Expr
from visim.sem.tracer import Integers, Tracer, Unexecutable
from visim.target import COMMON_OBJECT, NEWEST_OBJECT, Platform

SOURCES = ("src0", "src1", "src2", "src3")


@dataclass(frozen=True, slots=True)
class LaneMeaning:
    """A pure function of the sources, per channel; the tracer does everything around it."""

    function: Callable[..., Expr]
    integers: Integers

    def trace(self, tracer: Tracer, instruction: Any) -> None:
        """Record the instruction's effects."""
        sources = [getattr(instruction, name) for name in SOURCES if hasattr(instruction, name)]
        values = tracer.lane_sources(sources, instruction.dst, self.integers, computes=True)
        tracer.write_computed(instruction.dst, self.function(*values), tracer.mask())


@dataclass(frozen=True, slots=True)
class EffectMeaning:
    """A function that records the instruction's effects itself."""

    function: Callable[[Tracer, Any], None]

    def trace(self, tracer: Tracer, instruction: Any) -> None:
        """Record the instruction's effects."""
        self.function(tracer, instruction)


class Row(TypedDict, total=False):
    """What most rows leave out; see `Op`."""

    sub: int
    page: str
    exactness: Exactness
    float_exactness: Exactness
    operands: Operands
    restrict: Restriction


Meaning = LaneMeaning | EffectMeaning
LaneFunction = Callable[..., Expr]
EffectFunction = Callable[[Tracer, Any], None]


class Table:
    """The instructions that one table module declares."""

    def __init__(self, category: Category) -> None:
        self.category = category
        self.ops: list[Op] = []

    def lane(
        self,
        code: int,
        form: type[Instruction],
        *,
        example: str,
        integers: Integers = Integers.EXACT,
        **row: Unpack[Row],
    ) -> Callable[[LaneFunction], LaneFunction]:
        """Declare an instruction whose meaning is a function of its channels' sources."""

        def declare(function: LaneFunction) -> LaneFunction:
            self._declare(function, code, form, example, LaneMeaning(function, integers), row)
            return function

        return declare

    def effect(
        self, code: int, form: type[Instruction], *, example: str, **row: Unpack[Row]
    ) -> Callable[[EffectFunction], EffectFunction]:
        """Declare an instruction whose meaning records effects."""

        def declare(function: EffectFunction) -> EffectFunction:
            self._declare(function, code, form, example, EffectMeaning(function), row)
            return function

        return declare

    def _declare(
        self,
        function: Callable[..., Any],
        code: int,
        form: type[Instruction],
        example: str,
        meaning: Meaning,
        row: Row,
    ) -> None:
        mnemonic = function.__name__.rstrip("_")
        row.setdefault("page", mnemonic.upper())
        doc = (function.__doc__ or "").strip()
        examples = (example,) if example else ()
        self.add(Op(mnemonic, code, form, self.category, doc, examples, meaning=meaning, **row))

    def unexecuted(
        self,
        code: int,
        mnemonic: str,
        form: type[Instruction],
        *,
        doc: str,
        example: str,
        reason: str,
        **row: Unpack[Row],
    ) -> None:
        """Declare an instruction that visim reads and writes but does not execute, and why."""
        row.setdefault("page", mnemonic.upper())
        self.add(Op(mnemonic, code, form, self.category, doc, (example,), reason=reason, **row))

    def add(self, op: Op) -> None:
        """Add a row after checking it by itself."""
        if not op.doc:
            raise DeclarationError(f"{op.mnemonic}: missing docstring")
        if not op.examples:
            raise DeclarationError(f"{op.mnemonic}: needs an example")
        if isinstance(op.meaning, LaneMeaning):
            sources = [f.name for f in fields(op.form) if f.name in SOURCES]
            arity = op.meaning.function.__code__.co_argcount
            if arity != len(sources):
                raise DeclarationError(
                    f"{op.mnemonic}: {arity} operands for {len(sources)} sources"
                )
        schema_of(op.form)
        self.ops.append(op)


@dataclass(frozen=True, slots=True)
class _Numbered:
    """Instructions of one opcode: one, or several by their sub-codes."""

    only: Op | None
    subs: tuple[tuple[SubCode, dict[int, Op]], ...] = ()

    def find(self, data: bytes, position: int) -> Op | None:
        """Return the instruction whose operands begin at `position`."""
        for place, ops in self.subs:
            found = ops.get(place.read(data, position))
            if found is not None:
                return found
        return self.only


def _numbered(code: int, ops: Sequence[Op], version: Version) -> _Numbered:
    """Return the instructions `ops` of the opcode `code` in objects of `version`."""
    subs: dict[SubCode, dict[int, Op]] = {}
    for op in ops:
        place = schema_of(op.form).layout_at(version).sub
        if (place is None) != (op.sub is None):
            raise DeclarationError(f"{op.mnemonic}: its layout and row disagree about a sub-code")
        if place is None and len(ops) > 1:
            names = ", ".join(other.mnemonic for other in ops)
            raise DeclarationError(f"{names} share the number 0x{code:x}")
        if place is not None and op.sub is not None and not op.sub & ~place.mask:
            twin = subs.setdefault(place, {}).setdefault(op.sub, op)
            if twin is not op:
                raise DeclarationError(f"{op.mnemonic} and {twin.mnemonic} share a number")
    return _Numbered(None if subs else ops[0], tuple(subs.items()))


class Isa:
    """All declared instructions, by mnemonic and by number."""

    def __init__(self, tables: Iterable[Table], marks: Sequence[Op]) -> None:
        self.ops: tuple[Op, ...] = (*marks, *(op for table in tables for op in table.ops))
        self.label, self.subroutine, self.file, self.loc = marks
        self._by_mnemonic: dict[str, Op] = {}
        self._external: dict[int, Op] = {}
        self._ops_by_code: dict[int, list[Op]] = {}
        self._numbered: dict[Version, dict[int, _Numbered]] = {}
        for op in self.ops:
            if op.mnemonic in self._by_mnemonic:
                raise DeclarationError(f"{op.mnemonic} is declared twice")
            self._by_mnemonic[op.mnemonic] = op
            if op.form is ExternalCall:
                self._external[op.code] = op
            else:
                self._ops_by_code.setdefault(op.code, []).append(op)
        for version in (COMMON_OBJECT, NEWEST_OBJECT):
            self._at(version)

    def _at(self, version: Version) -> dict[int, _Numbered]:
        """Return what the opcodes stand for in objects of `version`."""
        found = self._numbered.get(version)
        if found is None:
            codes = self._ops_by_code.items()
            found = {code: _numbered(code, ops, version) for code, ops in codes}
            self._numbered[version] = found
        return found

    def by_mnemonic(self, name: str) -> Op | None:
        """Return the instruction called `name`, or None."""
        return self._by_mnemonic.get(name)

    def mnemonics(self) -> list[str]:
        """Return all mnemonics."""
        return list(self._by_mnemonic)

    def decode(self, reader: Reader, tables: DecodeTables) -> Instruction:
        """Take the instruction at the reader's position.

        Raises:
            InputError: there is none, or it is not one that visim knows.
        """
        code = reader.unsigned(1)
        numbered = self._at(tables.version).get(code)
        op = numbered.find(reader.data, reader.position) if numbered else None
        if op is None:
            raise reader.failure(_unknown(code))
        found = schema_of(op.form).decode(op, reader, tables)
        external = self._external.get(code)
        if external and isinstance(found, Branch) and tables.is_external(found.label):
            return ExternalCall(external, found.exec, found.pred, found.label, origin=found.origin)
        return found

    def encode(self, instruction: Instruction, writer: Writer, tables: EncodeTables) -> None:
        """Append the bytes of an instruction.

        Raises:
            InputError: one of its operands has no place in an object.
        """
        schema_of(type(instruction)).encode(instruction, writer, tables)


def _unknown(code: int) -> str:
    if code in RESERVED:
        return explain(code)
    return f"opcode 0x{code:02x} has no such sub-code that visim reads"


_NO_EXEC = ExecSize(1, 0, no_mask=True)


def trace(
    instruction: Instruction, platform: Platform, block_shape: int | None = None
) -> tuple[Effect, ...]:
    """Return what `instruction` does on `platform`.

    `block_shape` is what the register at `shape` of its messages (`sem.effects.Load`) holds, where
    that is known.

    Raises:
        Unexecutable: visim does not execute it; the message says why.
    """
    meaning = instruction.op.meaning
    if meaning is None:
        raise Unexecutable(instruction.op.reason or "it has no meaning declared")
    tracer = Tracer(
        platform,
        getattr(instruction, "exec", _NO_EXEC),
        getattr(instruction, "pred", None),
        block_shape,
    )
    meaning.trace(tracer, instruction)
    return tuple(tracer.effects)
