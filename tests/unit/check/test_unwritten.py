"""Variables that a unit reads although nothing writes them, and what counts as writing."""

from __future__ import annotations

import pytest

from visim.check.unwritten import unwritten_reads
from visim.diag import Source
from visim.text import read_text

HEAD = """\
.version 4.1
.kernel "k"
.decl X v_type=G type=d num_elts=16 align=GRF
.decl L v_type=G type=d num_elts=8 alias=<X, 32>
.decl F v_type=G type=f num_elts=16 alias=<X, 0>
.decl Y v_type=G type=d num_elts=16 align=GRF
.decl N v_type=G type=f num_elts=16 align=GRF
.decl D v_type=G type=d num_elts=16 align=GRF
.decl A v_type=A num_elts=1
.decl P v_type=P num_elts=16
"""
READ = "add (M1, 8) D(0,0)<1> X(0,0)<1;1,0> 1:d"


def found(*lines: str) -> list[str]:
    """Return the names that a kernel reads and nothing writes."""
    text = HEAD + "\n".join([*lines, "ret (M1, 1)", ""])
    unit = read_text(Source("k.visaasm", text)).kernels[0]
    return [read.variable.name for read in unwritten_reads(unit)]


def test_a_variable_that_is_only_read_is_found_where_it_is_read_first():
    text = HEAD + f"mov (M1, 8) D(0,0)<1> 1:d\n{READ}\nmov (M1, 8) D(0,0)<1> X(0,0)<1;1,0>\n"
    unit = read_text(Source("k.visaasm", text + "ret (M1, 1)\n")).kernels[0]
    (read,) = unwritten_reads(unit)
    assert (read.variable.name, read.instruction, read.line) == ("X", unit.body[1], None)


def test_the_source_line_of_the_read_is_told():
    text = f'{HEAD}.file "a.cl"\n.loc 7\n{READ}\nret (M1, 1)\n'
    (read,) = unwritten_reads(read_text(Source("k.visaasm", text)).kernels[0])
    assert str(read.line) == "a.cl:7"


def test_variables_come_in_the_order_of_their_reads():
    assert found("add (M1, 8) D(0,0)<1> Y(0,0)<1;1,0> X(0,0)<1;1,0>") == ["Y", "X"]


def test_aliases_are_one_variable_and_have_the_name_that_is_read():
    assert found("mov (M1, 8) D(0,0)<1> L(0,0)<1;1,0>", READ) == ["L"]


@pytest.mark.parametrize(
    "line",
    [
        "mov (M1, 8) X(0,0)<1> 1:d",
        "mov (M1, 8) L(0,0)<1> 1:d",
        "(P) mov (M1, 1) F(0,3)<1> 0x0:f",
        "lsc_load.ugm (M1, 8) X:d32 flat[Y]:a32",
        "lsc_store.ugm (M1, 8) flat[Y]:a32 L:d32",
        "lsc_load.ugm (M1, 8) D:d32 flat[X]:a32",
        "addr_add (M1, 1) A(0)<1> &X 0:uw",
        "addr_add (M1, 1) A(0)<1> &L[0] 0:uw",
        ".input X offset=64 size=32",
        ".input L offset=64 size=32",
    ],
)
def test_whatever_else_mentions_a_variable_may_write_it(line: str):
    assert not found(line, READ)


def test_a_variable_whose_element_gives_an_address_is_mentioned():
    """The other form of ADDR_ADD, whose first source is a general operand."""
    assert not found("addr_add (M1, 1) A(0)<1> X(0,0)<0;1,0> 0:uw", READ)


def test_a_lifetime_writes_nothing():
    assert found("lifetime.start X", READ, "lifetime.end X") == ["X"]


def test_predefined_variables_and_those_of_the_file_are_written():
    assert not found("mov (M1, 8) D(0,0)<1> %r0(0,0)<1;1,0>")
    shared = ".decl S v_type=G type=d num_elts=8 alias=<%arg, 0>"
    assert not found(shared, "mov (M1, 8) D(0,0)<1> S(0,0)<1;1,0>")
    text = (
        ".version 4.1\n.global_variable V type=d num_elts=8\n"
        '.kernel "k"\n.decl X v_type=G type=d num_elts=8 alias=<V, 0>\n'
        ".decl D v_type=G type=d num_elts=8\nmov (M1, 8) D(0,0)<1> X(0,0)<1;1,0>\nret (M1, 1)\n"
    )
    assert not unwritten_reads(read_text(Source("k.visaasm", text)).kernels[0])


@pytest.mark.parametrize(("attribute", "is_found"), [("Input", False), ("Output", True)])
def test_a_variable_that_a_caller_fills_is_written(attribute: str, is_found: bool):
    declared = f".decl I v_type=G type=d num_elts=8 attrs={{{attribute}}}"
    assert found(declared, "mov (M1, 8) D(0,0)<1> I(0,0)<1;1,0>") == ["I"] * is_found


def test_an_operand_within_an_address_is_read():
    assert found("lsc_load.ugm (M1, 8) D:d32 bti(X(0,0)<0;1,0>)[Y]:a32") == ["X"]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("mov (M1_NM, 1) %null(0,0)<1> X(0,0)<0;1,0>", []),
        ("cmp.eq (M1, 8) P X(0,0)<0;1,0> X(0,0)<0;1,0>", []),
        ("cmp.eq (M1, 8) P X(0,0)<0;1,0> X(0,1)<0;1,0>", ["X"]),
        ("cmp.eq (M1, 8) P X(0,0)<0;1,0> (-)X(0,0)<0;1,0>", ["X"]),
        ("cmp.ne (M1, 8) P N(0,0)<0;1,0> N(0,0)<0;1,0>", ["N"]),  # a NaN is not equal to itself
    ],
)
def test_a_read_whose_value_changes_nothing_does_not_count(line: str, names: list[str]):
    assert found(line) == names


def test_a_read_that_counts_is_found_behind_one_that_does_not():
    null = "mov (M1_NM, 1) %null(0,0)<1> X(0,0)<0;1,0>"
    unit = read_text(Source("k", f"{HEAD}{null}\n{READ}\nret (M1, 1)\n")).kernels[0]
    assert [read.instruction for read in unwritten_reads(unit)] == [unit.body[1]]


def test_a_copy_that_begins_an_array_is_no_read():
    """As of a vector without a value that is then filled element by element, by address."""
    begin = "mov (M1, 8) L(0,0)<1> Y(0,1)<0;1,0>"
    fill = ["addr_add (M1, 1) A(0)<1> &X 4:uw", "mov (M1, 1) r[A(0),0]<1>:d 1:d"]
    assert not found(begin, *fill)
    assert found(begin) == ["Y"]
    assert found(begin, *fill, "add (M1, 8) D(0,0)<1> Y(0,0)<1;1,0> 1:d") == ["Y"]
