"""Headers with variables of file scope, relocations and linkage; what is wrong with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.binary.objects import PVC
from visim.binary.isafile import read_isa, write_isa
from visim.binary.isaheader import (
    FunctionEntry,
    Header,
    Relocations,
    VariableEntry,
    read_header,
    write_header,
)
from visim.diag import Source
from visim.errors import InputError
from visim.module import Linkage, Module
from visim.text import read_text

TEXT = """.version 4.1
.global_variable table type=ud num_elts=16 align=GRF
.kernel "k"
.funcdecl "f"
.decl V32 v_type=G type=ud num_elts=16 alias=<table, 0>
fcall (M1, 8) f 1 1
ret (M1, 8)
.global_function "f"
.decl V32 v_type=G type=ud num_elts=16 alias=<table, 0>
fret (M1, 8)
"""


def written() -> bytes:
    return write_isa(read_text(Source("t", TEXT)), platform=PVC)


def with_header(change) -> bytes:
    """Return the file with a header of the same size that `change` makes."""
    data = written()
    header = read_header(data, "t.isa")
    size = len(write_header(header))
    made = write_header(change(header))
    assert len(made) == size
    return made + data[size:]


def kernel_relocations(**tables: tuple[tuple[int, int], ...]) -> bytes:
    def change(header: Header) -> Header:
        (kernel,) = header.kernels
        relocations = replace(kernel.relocations, **tables)
        return replace(header, kernels=(replace(kernel, relocations=relocations),))

    return with_header(change)


def refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_isa(data, "t.isa")
    assert caught.value.diagnostics.errors[0].file == "t.isa"


def test_the_header_says_what_the_numbers_of_a_unit_mean():
    header = read_header(written(), "t.isa")
    assert header.variables == (VariableEntry("table", 2, 0x50, 16),)
    assert [entry.linkage for entry in header.functions] == [2]
    assert header.kernels[0].relocations == Relocations(((1, 0),), ((30, 0),))
    assert header.functions[0].relocations == Relocations(((1, 0),), ())


def test_an_alias_says_that_its_base_is_of_file_scope():
    data = written()
    assert b"\x00\x10\x00\x01\x00\x00\x00\x00\x00\x01\x00" in data


def test_symbolic_numbers_are_the_units_own():
    data = bytearray(written())
    at = data.index(b"\x00\x10\x00\x01\x00\x00\x00\x00\x00\x01\x00") + 3
    data[at] = 9
    refused(bytes(data), "V32 is an alias of file-scope variable 9, which does not exist")
    again = kernel_relocations(variables=((9, 0),))
    moved = bytearray(again)
    moved[at] = 9
    assert read_isa(bytes(moved), "t.isa").units == read_isa(written(), "t.isa").units


def test_without_relocations_numbers_are_places():
    module = read_text(Source("t", TEXT))
    data = write_isa(module, platform=PVC)
    header = read_header(data, "t.isa")
    bare = [
        replace(entry, relocations=Relocations()) for entry in (*header.kernels, *header.functions)
    ]
    small = replace(header, kernels=(bare[0],), functions=(bare[1],))
    shift = len(write_header(header)) - len(write_header(small))
    small = replace(small, kernels=tuple(_earlier(entry, shift) for entry in small.kernels))
    small = replace(small, functions=tuple(_earlier(entry, shift) for entry in small.functions))
    body = data[len(write_header(header)) :]
    objects = body.replace(
        b"\x00\x10\x00\x01\x00\x00\x00\x00\x00\x01\x00",
        b"\x00\x10\x00\x00\x00\x00\x00\x00\x00\x01\x00",
    )
    assert read_isa(write_header(small) + objects, "t.isa").units == module.units


def _earlier(entry, shift: int):
    moved = replace(entry, place=replace(entry.place, offset=entry.place.offset - shift))
    if isinstance(entry, FunctionEntry):
        return moved
    return replace(moved, input_offset=entry.input_offset - shift)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"variables": ((1, 1),)}, "k: variable 1 is resolved to 1, the file has 1"),
        ({"functions": ((30, 7),)}, "k: function 30 is resolved to 7, the file has 1"),
    ],
)
def test_a_relocation_leads_into_the_table(tables, message: str):
    refused(kernel_relocations(**tables), message)


def test_a_number_is_resolved_in_one_way():
    text = TEXT.replace(".kernel", ".global_variable more type=ud num_elts=1\n.kernel").replace(
        "fcall", "fcall (M1, 8) f 1 1\nfcall"
    )
    data = bytearray(write_isa(read_text(Source("t", text)), platform=PVC))
    header = read_header(bytes(data), "t.isa")
    (kernel,) = header.kernels
    both = replace(kernel.relocations, functions=(), variables=((1, 0), (1, 1)))
    size = len(write_header(header))
    made = write_header(replace(header, kernels=(replace(kernel, relocations=both),)))
    assert len(made) == size
    refused(made + bytes(data[size:]), "k: a variable is resolved in two ways")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (VariableEntry("table", 3, 0x50, 16), "linkage 3 is not known, only 0 to 2"),
        (VariableEntry("table", 2, 0xF0, 16), "table has type 0, alignment 15, 16 elements"),
        (VariableEntry("table", 2, 0x50, 0), "0 elements"),
    ],
)
def test_a_variable_that_is_wrong_is_refused(entry: VariableEntry, message: str):
    refused(with_header(lambda header: replace(header, variables=(entry,))), message)


def test_attributes_of_a_variable_are_refused():
    data = bytearray(written())
    at = data.index(b"table\x50\x10\x00\x00") + 8
    data[at] = 1
    refused(bytes(data), "attributes, which name strings of a pool that a file does not have")


def test_a_function_without_an_object_is_external():
    def change(header: Header) -> Header:
        (function,) = header.functions
        return replace(header, functions=(replace(function, place=None),))

    refused(with_header(change), "function f has no object but is not external")


@pytest.mark.parametrize("version", [(3, 2), (3, 6), (4, 1)])
def test_the_length_of_a_variables_name_has_two_bytes_in_all_versions(version):
    data = write_isa(read_text(Source("t", TEXT)), platform=PVC, version=version)
    assert b"\x01\x00\x02\x05\x00table\x50\x10\x00\x00" in data
    assert read_isa(data, "t.isa").variables == read_text(Source("t", TEXT)).variables


def test_variables_with_one_name_are_told_apart_by_their_places():
    """CM's compiler calls all static variables svar, and puts @ before the names of others."""

    def change(header: Header) -> Header:
        named = [replace(entry, name="@abcd") for entry in header.variables]
        return replace(header, variables=tuple(named))

    text = TEXT.replace(".kernel", ".global_variable other type=uw num_elts=2\n.kernel")
    data = write_isa(read_text(Source("t", text)), platform=PVC)
    header = read_header(data, "t.isa")
    made = write_header(change(header)) + data[len(write_header(header)) :]
    module = read_isa(made, "t.isa")
    assert [entry.variable.name for entry in module.variables] == ["abcd", "abcd_1"]
    (kernel,) = module.kernels
    assert kernel.generals[0].alias is not None
    assert kernel.generals[0].alias.base is module.variables[0].variable
    assert write_isa(module, platform=PVC) == made


def test_an_unknown_scope_of_an_alias_is_refused():
    data = written().replace(
        b"\x00\x10\x00\x01\x00\x00\x00\x00\x00\x01\x00",
        b"\x00\x10\x00\x01\x00\x00\x00\x00\x00\x02\x00",
    )
    refused(data, "the scope of the alias V32 is 2, known are 0 and 1")


def test_a_function_number_of_old_files_is_resolved():
    """Before 2019 a call had the number of a function, which only relocations explain."""
    data = bytearray(kernel_relocations(functions=((999, 0),)))
    at = data.index(b"\x67\x03\x00\x00\x1e\x00")
    data[at + 4 : at + 6] = (999).to_bytes(2, "little")
    assert read_isa(bytes(data), "t.isa").units == read_isa(written(), "t.isa").units


def test_sizes_of_arguments_are_kept():
    data = bytearray(written())
    function = read_header(bytes(data), "t.isa").functions[0]
    assert function.place is not None
    unit = read_isa(bytes(data), "t.isa").functions[0]
    assert unit.order is not None
    assert unit.order.sizes == (0, 0)
    at = data.index(b"\x00\x00\x00\x00\x68\x03\x00\x00", function.place.offset)
    data[at : at + 2] = b"\x03\x02"
    module = read_isa(bytes(data), "t.isa")
    order = module.functions[0].order
    assert order is not None
    assert order.sizes == (3, 2)
    assert write_isa(module, platform=PVC) == bytes(data)


def test_files_of_compilers_have_linkage_0_and_no_relocations():
    text = TEXT.replace(".global_variable table type=ud num_elts=16 align=GRF\n", "")
    text = text.replace(" alias=<table, 0>", "")
    module = read_text(Source("t", text))
    assert not module.has_linkage
    header = read_header(write_isa(module, platform=PVC), "t.isa")
    assert [entry.linkage for entry in header.functions] == [0]
    assert header.kernels[0].relocations == Relocations()
    read = read_isa(write_isa(module, platform=PVC), "t.isa")
    assert read.functions[0].linkage is Linkage.GLOBAL
    assert isinstance(read, Module)
