"""What a compiler dumped, visim reads and prints byte for byte."""

from __future__ import annotations

from functools import cache

import pytest

from tests.corpus.pairs import Dump, dumps
from visim.diag import Source, Span
from visim.isa.forms import FileMark, LabelMark, LineMark, SubroutineMark
from visim.module import Module, UnitKind
from visim.text import read_text, show_module, show_unit


@cache
def module_of(dump: Dump) -> Module:
    return read_text(Source(dump.name, dump.text))


every_dump = pytest.mark.parametrize("dump", dumps(), ids=lambda dump: dump.name)


def test_the_corpus_is_complete():
    assert len(dumps()) == 184
    assert sum(dump.object is not None for dump in dumps()) == 179
    assert {dump.device for dump in dumps()} == {"skl", "icllp", "tgllp", "dg2", "pvc"}


@every_dump
def test_a_dump_prints_back_byte_for_byte(dump: Dump):
    module = module_of(dump)
    (unit,) = module.units
    assert show_unit(unit, module.version) == dump.text
    assert show_module(module) == dump.text


@every_dump
def test_an_instruction_points_at_its_text(dump: Dump):
    lines = dump.text.split("\n")
    (unit,) = module_of(dump).units
    for instruction in unit.body:
        span = instruction.origin
        assert isinstance(span, Span)
        text = lines[span.line - 1][span.column - 1 :][: span.length]
        if isinstance(instruction, LabelMark):
            assert text == f"{instruction.name}:"
        elif isinstance(instruction, SubroutineMark):
            assert text == f'.function "{instruction.name}"'
        else:
            assert text == instruction.show()


def test_a_printed_module_reads_as_the_same_module():
    for dump in dumps()[::10]:
        module = module_of(dump)
        assert read_text(Source("again", show_module(module))) == module


def test_debug_information_prints_back():
    module = read_text(Source("g.visaasm", DEBUG))
    assert [type(entry) for entry in module.units[0].body] == [
        SubroutineMark,
        FileMark,
        LineMark,
        type(module.units[0].body[3]),
    ]
    assert show_module(module).endswith(
        DEBUG.partition("SimdSize=16\n")[2].partition("_main_0:")[2]
    )


def test_a_function_is_printed_after_the_kernels():
    kernel = next(dump for dump in dumps() if dump.name == "pvc/k09b_rec/simd16_entry_0001")
    function = next(dump for dump in dumps() if dump.name == f"{kernel.name}_f0")
    without_version = function.text.partition("\n")[2]
    together = kernel.text + without_version
    module = read_text(Source("rec", together))
    assert [unit.kind for unit in module.units] == [UnitKind.KERNEL, UnitKind.FUNCTION]
    assert module.kernels[0].function_declarations == ("fib",)
    assert show_module(module) == together
    swapped = read_text(Source("rec", function.text + kernel.text))
    assert show_module(swapped) == together


DEBUG = """\
.version 4.1
.kernel "k"
.kernel_attr SimdSize=16
.function "_main_0"

_main_0:
    FILE "a \\\\ \\"b\\".cl"
    LOC 12
    ret (M1, 1)                                                                  /// $3
"""
