"""Every form survives text and object with any operands that it can have.

Instructions are made from the declarations: the example of each gives what a strategy cannot
draw, everything else is drawn by the kind of the field.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.model.opcodes import TEXT_ONLY
from visim import predefined
from visim.binary.symbols import Numbering, UnitTables
from visim.diag import Source
from visim.isa import ISA, Instruction, Op
from visim.isa.codecs import Version
from visim.isa.execution_kinds import ExecKind, PredicationKind
from visim.isa.flow_kinds import ExternalLabelKind, LifetimeKind
from visim.isa.forms import LabelMark, SubroutineMark
from visim.isa.kinds import AddressBaseKind, DestinationKind, SourceKind, UnregionedSourceKind
from visim.isa.lsc_kinds import CacheKind, ShapeKind
from visim.isa.lsc_places import AddressKind, SurfaceOnlyKind
from visim.isa.name_kinds import NameKind, StringKind
from visim.isa.raw_kinds import RawKind, RawListKind, SamplerKind, SurfaceKind
from visim.isa.registry import named_labels, schema_of
from visim.isa.render import ModesKind, RenderOperandsKind
from visim.isa.version_kinds import at_version
from visim.isa.word_kinds import (
    ChannelsKind,
    ChoiceKind,
    FlagsKind,
    HexSuffixKind,
    NumberKind,
    OptionalWordKind,
    SizeKind,
)
from visim.layout import Reader, Writer
from visim.lex import Cursor
from visim.module import Unit
from visim.operands import (
    AddressOf,
    AddressOperand,
    Combine,
    ExecSize,
    GeneralDestination,
    GeneralSource,
    Immediate,
    IndirectDestination,
    IndirectSource,
    Lifetime,
    Modifier,
    PredicateOperand,
    Predication,
    RawOperand,
    Region,
    StateOperand,
)
from visim.target import COMMON_OBJECT, NEWEST_OBJECT, platform
from visim.text import parse_text
from visim.types import BOOL, DF, TYPES, UQ, Q

PVC = platform("pvc")
HEAD = "\n".join(
    [
        ".version 4.1",
        '.kernel "k"',
        *(f".decl V{number} v_type=G type=ud num_elts=64 align=GRF" for number in range(40, 60)),
        *(f".decl P{number} v_type=P num_elts=32" for number in range(1, 4)),
        ".decl A0 v_type=A num_elts=16",
        ".decl S0 v_type=S num_elts=1",
        ".decl T6 v_type=T num_elts=1",
        ".decl T7 v_type=T num_elts=1",
    ]
)
STRIDES = (0, 1, 2, 4, 8, 16, 32)
WIDE = {DF, Q, UQ}
OPS = [op for op in ISA.ops if op.form not in {LabelMark, SubroutineMark}]
#: Operands of LSC messages, as their parts depend on each other.
SHAPES = ("d8c32", "d16c32", "d32", "d64", "d32x2", "d32x64t", "d16c32x8", "d8", "d64x4")
QUADS = ("d32.x", "d32.yw", "d64.xyzw", "d16c32.z")
CACHES = ("", ".uc.uc", ".ca.df", ".st.wb", ".ri.ca", ".df.uc")
ADDRESSES = (
    "flat[V41]:a64",
    "flat[0x4*V41-0x20]:a32",
    "flat[V41.64+0x7FF]:a16",
    "bss(V42(0,3))[V41]:a32",
    "ss(V42)[V41]:a64",
    "bti(0xA0)[V41]:a32",
    "bti(V42(0,1))[V41+0x10]:a32",
    "arg[V41]:a32",
)
PITCHED = ("flat[V41, 0x10]:a64", "bti(0x4)[0x2*V41, V42(0,1)]:a32", "flat[V41-0x10, 0x4]:a32")
SURFACES = ("bti(0x4)", "bss(V42(0,2))", "ss(V42)", "bti(V41)")
VERSIONS = (COMMON_OBJECT, NEWEST_OBJECT)
NEWER_ADDRESSES = (
    "flat(V41)[0x4*V42-0x20]:a32s",
    "flat(0xE)[V41]:a64",
    "surf(V41(0,2),0x3)[V42]:a32u",
    "bss(V42(0,3),0x1)[V41]:a32",
)
NEWER_CACHES = (".cc.ca", ".uc.cc")


def parsed(text: str, version: Version = COMMON_OBJECT) -> Instruction:
    """Return the instruction of a line, which may name labels that do not exist."""
    head = HEAD.replace(".version 4.1", ".version {}.{}".format(*version))
    module, findings = parse_text(Source("line", f"{head}\n{text}\n"))
    assert [finding for finding in findings if finding.code != "undefined-label"] == []
    return module.units[0].body[0]


@cache
def example_of(op: Op) -> Instruction:
    """Return the instruction of a declaration's example."""
    return parsed(op.examples[0])


@cache
def unit() -> Unit:
    """Return the unit whose variables are drawn."""
    module, _ = parse_text(Source("head", f"{HEAD}\n"))
    return module.units[0]


class Declared:
    """The variables of the unit, and the predefined ones, by name."""

    def __init__(self, version: Version) -> None:
        self.version = version

    def lookup(self, name: str) -> Any:
        own = (*unit().generals, *unit().predicates, *unit().surfaces)
        return next((v for v in own if v.name == name), predefined.BY_NAME.get(name))

    def known(self) -> list[str]:
        return []


def texts(
    kind: Any, choices: tuple[str, ...], newer: tuple[str, ...] = ()
) -> st.SearchStrategy[Any]:
    """Return a strategy for operands that are one of some texts, of the newest version if newer."""

    def value(text: str) -> Any:
        version = NEWEST_OBJECT if text in newer else COMMON_OBJECT
        return kind.parse(Cursor(Source("text", text), 1, text), Declared(version))

    return st.sampled_from((*choices, *newer)).map(value)


BYTES = st.integers(0, 255)
KINDS = st.sampled_from([kind for kind in TYPES if kind != BOOL])


@st.composite
def general(draw: st.DrawFn) -> Any:
    known = predefined.generals(COMMON_OBJECT)
    return draw(st.sampled_from((*unit().generals, *known[1:])))


@st.composite
def region(draw: st.DrawFn, *, indirect: bool = False) -> Region:
    strides = st.sampled_from(STRIDES)
    vertical = draw(st.one_of(st.none(), strides)) if indirect else draw(strides)
    return Region(vertical, draw(strides), draw(strides))


@st.composite
def immediate(draw: st.DrawFn) -> Immediate:
    kind = draw(KINDS)
    return Immediate(draw(st.integers(0, (1 << (64 if kind in WIDE else 32)) - 1)), kind)


@st.composite
def address(draw: st.DrawFn) -> AddressOperand:
    return AddressOperand(unit().addresses[0], draw(BYTES), draw(st.sampled_from(STRIDES[1:])))


@st.composite
def source(draw: st.DrawFn) -> Any:
    modifier = draw(st.sampled_from(list(Modifier)))
    match draw(st.sampled_from(("general", "immediate", "indirect", "address", "other"))):
        case "general":
            place = draw(general()), draw(BYTES), draw(BYTES)
            return GeneralSource(*place, draw(region()), modifier)
        case "immediate":
            return draw(immediate())
        case "indirect":
            base = unit().addresses[0], draw(BYTES), draw(st.integers(-(1 << 15), (1 << 15) - 1))
            return IndirectSource(*base, draw(KINDS), draw(region(indirect=True)), modifier)
        case "address":
            return draw(address())
        case _:
            state = StateOperand(draw(st.sampled_from(unit().surfaces)), draw(BYTES))
            return draw(st.sampled_from((state, PredicateOperand(unit().predicates[1]))))


@st.composite
def destination(draw: st.DrawFn, *, saturates: bool) -> Any:
    saturate = saturates and draw(st.booleans())
    stride = draw(st.sampled_from(STRIDES))
    match draw(st.sampled_from(("general", "indirect", "address", "other"))):
        case "general":
            return GeneralDestination(draw(general()), draw(BYTES), draw(BYTES), stride, saturate)
        case "indirect":
            base = unit().addresses[0], draw(BYTES), draw(st.integers(-(1 << 15), (1 << 15) - 1))
            return IndirectDestination(*base, draw(KINDS), stride, saturate)
        case "address":
            return draw(address())
        case _:
            state = StateOperand(draw(st.sampled_from(unit().surfaces)), draw(BYTES))
            return draw(st.sampled_from((state, PredicateOperand(unit().predicates[2]))))


NULL = predefined.GENERALS[0]
RAWS = st.builds(RawOperand, st.one_of(general(), st.just(NULL)), st.integers(0, 65535))
EXECS = st.builds(
    ExecSize, st.sampled_from((1, 2, 4, 8, 16, 32)), st.sampled_from(range(0, 32, 4)), st.booleans()
)


def drawn(kind: Any, example: Any, version: Version, *, saturates: bool) -> st.SearchStrategy[Any]:
    """Return a strategy for a field of this kind, whose example is known."""
    match kind:
        case ExecKind():
            return EXECS
        case PredicationKind():
            predicates = st.sampled_from(unit().predicates)
            given_one = st.builds(
                Predication, predicates, st.booleans(), st.sampled_from(list(Combine))
            )
            return st.one_of(st.none(), given_one)
        case AddressBaseKind():
            elements = st.sampled_from(range(0, 256, 4))
            taken = st.builds(AddressOf, st.sampled_from(unit().generals), elements)
            return st.one_of(taken, address())
        case SourceKind():
            return source()
        case DestinationKind():
            return destination(saturates=saturates)
        case UnregionedSourceKind():
            return st.builds(GeneralSource, general(), BYTES, BYTES, st.just(Region(1, 1, 0)))
        case RawKind():
            return RAWS
        case RawListKind():
            return st.lists(RAWS, min_size=1, max_size=8).map(tuple)
        case SurfaceKind():
            return st.sampled_from((*unit().surfaces, *predefined.SURFACES))
        case SamplerKind():
            return st.sampled_from((*unit().samplers, predefined.BINDLESS_SAMPLER))
        case ExternalLabelKind():
            return st.just(example)
        case NameKind():
            return st.just(example) if kind.is_label else st.sampled_from(("f", "a b", "%x", "é"))
        case StringKind():
            return st.text(st.characters(codec="latin-1", exclude_characters="\0"), max_size=8)
        case ModesKind() | FlagsKind() | ChannelsKind() | ChoiceKind() | OptionalWordKind():
            return words(kind)
        case SizeKind():
            return st.sampled_from([size for size, _ in kind.codes])
        case HexSuffixKind():
            return BYTES
        case NumberKind():
            return st.integers(0, (1 << 8 * kind.width) - 1)
        case LifetimeKind():
            variables = (*unit().generals, *unit().addresses, *unit().predicates)
            return st.builds(Lifetime, st.sampled_from(variables), st.booleans())
        case _:
            return messages(kind, example, version)


def words(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for the kinds of words."""
    match kind:
        case ModesKind():
            subsets = st.sets(st.sampled_from([bit for _, bit in kind.codes]))
            return subsets.map(sum)
        case FlagsKind():
            letters = [letter for letter, _ in kind.codes]
            chosen = st.sets(st.sampled_from(letters))
            return chosen.map(lambda some: "".join(x for x in letters if x in some))
        case ChannelsKind():
            some = st.sets(st.sampled_from(kind.letters), min_size=1)
            return some.map(lambda found: "".join(x for x in kind.letters if x in found))
        case OptionalWordKind():
            return st.sampled_from(["", *(word for word, _ in kind.codes)])
        case _:
            # In text, .tgm makes any LSC message a typed one.
            return st.sampled_from([word for word, _ in kind.codes if word != "tgm"])


def messages(kind: Any, example: Any, version: Version) -> st.SearchStrategy[Any]:
    """Return a strategy for operands of LSC messages; others stay as in the example."""
    match kind:
        case CacheKind():
            return texts(kind, CACHES, NEWER_CACHES if version >= (4, 2) else ())
        case ShapeKind():
            return texts(kind, tuple(f":{shape}" for shape in (QUADS if kind.quad else SHAPES)))
        case AddressKind():
            newer = NEWER_ADDRESSES if version >= (4, 2) and not kind.strided else ()
            return texts(kind, PITCHED if kind.strided else ADDRESSES, newer)
        case SurfaceOnlyKind():
            return texts(kind, SURFACES)
        case _:
            return st.just(example)


@st.composite
def instructions(draw: st.DrawFn, op: Op, version: Version) -> Instruction:
    """Return an instruction with drawn operands."""
    made = example_of(op)
    schema = schema_of(op.form)
    values: dict[str, Any] = {}
    for entry in schema.fields:
        example = getattr(made, entry.name)
        if isinstance(entry.kind, RenderOperandsKind):
            wanted = entry.kind.wanted(values["mode"])
            vectors = {"sample index", "coarse size", "target index"}
            values[entry.name] = tuple(
                draw(st.one_of(immediate(), st.just(VECTOR)) if name in vectors else RAWS)
                for name in wanted
            )
            continue
        values[entry.name] = draw(
            drawn(entry.kind, example, version, saturates="{sat}" in schema.pieces)
        )
    return at_version(replace(made, **values), version)


VECTOR = parsed("mov (M1, 8) V40(0,0)<1> V41(0,0)<0;1,0>").src0


def is_same(one: Instruction, other: Instruction) -> bool:
    """Whether two instructions are equal; keeps pytest from explaining it at length."""
    return one == other


def tables_of(whole: Unit, numbering: Numbering, version: Version) -> UnitTables:
    """Return what the numbers in an object of the unit stand for."""
    tables = UnitTables(version, PVC, {})
    tables.strings = numbering.strings
    tables.generals = list(whole.generals)
    tables.addresses = list(whole.addresses)
    tables.predicates = list(whole.predicates)
    tables.samplers = list(whole.samplers)
    tables.surfaces = list(whole.surfaces)
    tables.labels = numbering.labels
    return tables


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: "{}.{}".format(*version))
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.mnemonic)
@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(data=st.data())
def test_an_instruction_survives_text_and_object(op: Op, version: Version, data: st.DataObject):
    instruction = data.draw(instructions(op, version))
    text = instruction.show(version)
    assert is_same(parsed(text, version), instruction), text
    if op.mnemonic in TEXT_ONLY:
        return
    marks = [LabelMark(ISA.label, label) for label in dict.fromkeys(named_labels(instruction))]
    whole = replace(unit(), body=(*marks, instruction))
    numbering = Numbering(whole, PVC, version)
    writer = Writer()
    ISA.encode(instruction, writer, numbering)
    reader = Reader(bytes(writer.data), "k.isa")
    stored = ISA.decode(reader, tables_of(whole, numbering, version))
    assert is_same(stored, instruction), f"{text} is stored as {stored.show()}"
    assert reader.position == len(writer.data)
