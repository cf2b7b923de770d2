"""Objects survive a round trip, and spoilt ones are refused or read, never anything else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus.pairs import dumps
from tests.model.opcodes import TEXT_ONLY
from tests.unit.binary.objects import HEAD, PVC, module_of
from visim.binary.isafile import MAGIC, native_code, read_isa, write_isa
from visim.diag import Source
from visim.errors import InputError
from visim.isa import ISA
from visim.isa.forms import LabelMark, SubroutineMark
from visim.isa.registry import Op, named_labels
from visim.isa.sampler import Gathered, Sampled, Unsampled
from visim.isa.version_kinds import at_version
from visim.module import Module
from visim.target import OBJECT_VERSIONS
from visim.text import parse_text, read_text, show_module

EXAMPLES = [(op, example) for op in ISA.ops for example in op.examples]
STORED = [(op, example) for op, example in EXAMPLES if op.mnemonic not in TEXT_ONLY]


def labels_in(example: str) -> tuple[str, ...]:
    """Return the labels that an example mentions without being their mark."""
    module, _findings = parse_text(Source("example", f"{HEAD}\n{example}\n"))
    (instruction,) = module.units[0].body
    return () if isinstance(instruction, LabelMark | SubroutineMark) else named_labels(instruction)


def module_of_example(example: str) -> Module:
    """Return a kernel that has the example and the labels that it names."""
    marks = (f"{label}:" for label in labels_in(example))
    return module_of('.function "_main_0"', *marks, example)


@pytest.mark.parametrize(("op", "example"), STORED, ids=[op.mnemonic for op, _ in STORED])
def test_an_example_comes_back_from_an_object(op: Op, example: str):
    module = module_of_example(example)
    read = read_isa(write_isa(module, platform=PVC), "example.isa", platform=PVC)
    assert read == module
    assert read.units[0].body[-1].op is op


def module_of_examples(without: Collection[str] = ()) -> Module:
    """Return a kernel that has the examples of all instructions but some."""
    lines = [example for op, example in EXAMPLES if op.mnemonic not in without]
    labels = dict.fromkeys(label for line in lines for label in labels_in(line))
    missing = [
        f"{label}:" for label in labels if not {f"{label}:", f'.function "{label}"'} & {*lines}
    ]
    return module_of('.function "_main_0"', *lines, *missing)


#: Instructions whose examples have something that older objects have no place for.
NEWER = {
    **dict.fromkeys(("raw_sends", "raw_sends_eot"), (3, 6)),
    "wait": (3, 1),
    "oword_ld_unaligned": (3, 2),
    # Operations of the sampler had five bits.
    **{
        op.mnemonic: (4, 0)
        for op in ISA.ops
        if op.form in {Sampled, Unsampled, Gathered} and (op.sub or 0) > 0x1F
    },
}


@pytest.mark.parametrize("version", OBJECT_VERSIONS, ids=lambda version: "{}.{}".format(*version))
def test_all_examples_come_back_from_one_object(version: tuple[int, int]):
    without = [*TEXT_ONLY, *(name for name, since in NEWER.items() if version < since)]
    module = module_of_examples(without)
    data = write_isa(module, platform=PVC, version=version)
    read = read_isa(data, "all.isa", platform=PVC)
    assert read.version == version
    assert read.units == tuple(
        replace(unit, body=tuple(at_version(item, version) for item in unit.body))
        for unit in module.units
    )
    assert write_isa(read, platform=PVC, version=version) == data
    for name in without:
        (example,) = (example for op, example in EXAMPLES if op.mnemonic == name)
        with pytest.raises(InputError, match="has no place for"):
            write_isa(module_of_example(example), platform=PVC, version=version)


LINKED_TEXT = """.version 4.1
.extern_function "other"
.global_variable table type=ud num_elts=16 align=GRF
.kernel "k"
.decl V32 v_type=G type=ud num_elts=16 alias=<table, 0>
fcall (M1, 8) f 1 1
fcall (M1, 8) other 1 1
ret (M1, 8)
.static_function "f"
.decl V32 v_type=G type=ud num_elts=16 alias=<table, 0>
fret (M1, 8)
"""


@cache
def small_objects() -> list[bytes]:
    found = sorted((dump.object for dump in dumps() if dump.object is not None), key=len)
    linked = read_text(Source("linked.visaasm", LINKED_TEXT))
    versions = ((3, 0), (3, 6), (4, 1))
    own = [write_isa(linked, platform=PVC, version=version) for version in versions]
    return own + [data for data in found if native_code(data, "k.isa")][:40]


@st.composite
def spoilt_objects(draw: st.DrawFn) -> bytes:
    """Return a compiler's object with a few bytes changed, taken out or put in."""
    data = bytearray(draw(st.sampled_from(small_objects())))
    for _ in range(draw(st.integers(1, 4))):
        near = draw(st.sampled_from((64, 1024, len(data))))
        at = draw(st.integers(0, min(near, len(data)) - 1))
        match draw(st.sampled_from(("change", "flip", "cut", "insert"))):
            case "change":
                data[at] = draw(st.integers(0, 255))
            case "flip":
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[at : at + draw(st.integers(1, min(8, len(data) - 1)))]
            case _:
                data[at:at] = draw(st.binary(min_size=1, max_size=8))
        data = data or bytearray(1)
    return bytes(data)


def check_refused_or_stable(data: bytes) -> None:
    try:
        module = read_isa(data, "spoilt.isa", platform=PVC)
    except InputError:
        return
    again = read_isa(write_isa(module, platform=PVC), "again.isa", platform=PVC)
    assert again.units == module.units
    assert show_module(again).split("\n")[1:] == show_module(module).split("\n")[1:]


@settings(max_examples=400, deadline=None)
@given(spoilt_objects())
def test_a_spoilt_object_is_refused_or_stable(data: bytes):
    check_refused_or_stable(data)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes):
    check_refused_or_stable(data)
    check_refused_or_stable(MAGIC + data)
    check_refused_or_stable(MAGIC + b"\4\1\1\0\1\0k" + data)
