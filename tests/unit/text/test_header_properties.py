"""Any declarations and directives read back from the text that is printed of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from visim.attributes import ALIGNMENTS, KERNEL_ATTRIBUTES, VARIABLE_ATTRIBUTES, AttributeValue
from visim.diag import Source
from visim.isa import ISA
from visim.isa.forms import FileMark, LineMark
from visim.module import EXPLICIT, IMPLICIT_KINDS, Input, Module, Unit, UnitKind
from visim.operands import (
    FIRST_DECLARED_GENERAL,
    AddressVariable,
    Alias,
    Attribute,
    General,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
)
from visim.predefined import SURFACES
from visim.text import read_text, show_module
from visim.types import BOOL, BY_NAME, UV, VF, V

TYPES = [kind for kind in dict.fromkeys(BY_NAME.values()) if kind not in {BOOL, V, UV, VF}]
texts = st.text(st.characters(codec="latin-1", exclude_characters="\n\r"), max_size=12)
NAMED_TEXTS = {name for name, kind in KERNEL_ATTRIBUTES.items() if kind is AttributeValue.TEXT}


def attributes(known: dict[str, AttributeValue]) -> st.SearchStrategy[tuple[Attribute, ...]]:
    names = st.lists(st.sampled_from(sorted(set(known) - NAMED_TEXTS)), unique=True, max_size=3)

    def valued(name: str) -> st.SearchStrategy[Attribute]:
        if known[name] is AttributeValue.FLAG:
            return st.just(Attribute(name))
        return st.integers(0, 2**32 - 1).map(lambda value: Attribute(name, value))

    return names.flatmap(lambda chosen: st.tuples(*(valued(name) for name in chosen)))


@st.composite
def generals(draw: st.DrawFn) -> tuple[General, ...]:
    found: list[General] = []
    for number in range(draw(st.integers(0, 5))):
        base = draw(st.none() | st.sampled_from(found)) if found else None
        found.append(
            General(
                f"V{FIRST_DECLARED_GENERAL + number}",
                draw(st.sampled_from(TYPES)),
                draw(st.integers(1, 4096)),
                draw(st.sampled_from(ALIGNMENTS)),
                Alias(base, draw(st.integers(0, 999))) if base else None,
                draw(attributes(VARIABLE_ATTRIBUTES)),
                FIRST_DECLARED_GENERAL + number,
            )
        )
    return tuple(found)


@st.composite
def units(draw: st.DrawFn) -> Unit:
    def several(make: type, letter: str, first: int = 0, last: tuple[str, ...] = ()) -> tuple:
        return tuple(
            make(
                f"{letter}{n}",
                draw(st.integers(1, 32)),
                draw(attributes(VARIABLE_ATTRIBUTES)),
                n,
                *last,
            )
            for n in range(first, first + draw(st.integers(0, 3)))
        )

    variables = draw(generals())
    inputs = tuple(
        Input(
            variable,
            draw(st.integers(0, 65535)),
            draw(st.integers(0, 65535)),
            draw(st.sampled_from([EXPLICIT, *IMPLICIT_KINDS.values()])),
        )
        for variable in variables
        if draw(st.booleans())
    )
    marks = draw(
        st.lists(
            st.builds(lambda text: FileMark(ISA.by_mnemonic("FILE"), text), texts)
            | st.builds(
                lambda line: LineMark(ISA.by_mnemonic("LOC"), line), st.integers(0, 2**32 - 1)
            ),
            max_size=3,
        )
    )
    functions = draw(st.lists(texts.filter(bool), max_size=2))
    return Unit(
        "k",
        UnitKind.KERNEL,
        tuple(functions),
        variables,
        several(AddressVariable, "A"),
        several(PredicateVariable, "P", 1),
        several(SamplerVariable, "S", 0, ("own",)),
        several(SurfaceVariable, "T", len(SURFACES), ("own",)),
        inputs,
        draw(attributes(KERNEL_ATTRIBUTES)),
        tuple(marks),
        None,
    )


@given(units())
def test_a_unit_reads_back_from_its_text(unit: Unit):
    text = show_module(Module((4, 1), (unit,), Source("m", "")))
    (again,) = read_text(Source("again", text)).units
    assert replace(again, origin=None) == unit
    windows = text.replace("\n", "\r\n")
    assert replace(read_text(Source("again", windows)).units[0], origin=None) == unit
