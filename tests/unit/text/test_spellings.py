"""Spellings that a text may use, and the one that is printed (GenX_IR prints the same)."""

from __future__ import annotations

import pytest

import visim
from tests.unit.text.texts import HEAD, read, shown, unit_of
from visim.isa.forms import LabelMark, SubroutineMark
from visim.module import UnitKind
from visim.operands import Attribute
from visim.text import show_module, show_unit

INSTRUCTIONS = [
    ("mov (M1,16) V32( 0, 0 ) <1> V33(0,0) <1; 1, 0>", "mov (M1, 16) V32(0,0)<1> V33(0,0)<1;1,0>"),
    ("mov (16) V32<1> 1:ud", "mov (M1, 16) V32(0,0)<1> 0x1:ud"),
    ("mov (NoMask, 8) V32(0,0)<1> -1:b", "mov (M1_NM, 8) V32(0,0)<1> 0xffffffff:b"),
    ("mov (M5, 8) V32(1,0)<2> 010:UD", "mov (M5, 8) V32(1,0)<2> 0xa:ud"),
    (
        "(!P1.any) add.sat (M1, 16) V33(0,0)<1> (-) V33(0,0)<0;1,0> 1.5:f",
        "(!P1.any) add.sat (M1, 16) V33(0,0)<1> (-)V33(0,0)<0;1,0> 0x3fc00000:f",
    ),
    (
        "mov (M1, 1) r[A0(0)]<1>:ud r[A0(1),-4]<0;1,0>:UD",
        "mov (M1, 1) r[A0(0),0]<1>:ud r[A0(1),-4]<0;1,0>:ud",
    ),
    ("mov (M1, 8) V32(0,0)<1> r[A0(0),0]<1,0>:ud", "mov (M1, 8) V32(0,0)<1> r[A0(0),0]<1,0>:ud"),
    ("mov (M1, 1) V32(0,0)<1> V7(0,1)<0;1,0>", "mov (M1, 1) V32(0,0)<1> %r0(0,1)<0;1,0>"),
    ("addr_add (M1, 1) A0(0)<1> &V32[36] 0x10:uw", "addr_add (M1, 1) A0(0)<1> &V32[36] 0x10:uw"),
    ("movs (M1, 1) S31(0) 0x1:ud", "movs (M1, 1) S31(0) 0x1:ud"),
    ("oword_ld (4) %slm 0:ud V32", "oword_ld (4) %slm 0x0:ud V32.0"),
    ("oword_ld (4) T0 0:ud V32.16", "oword_ld (4) %slm 0x0:ud V32.16"),
    (
        "lsc_load.ugm.ca (M1, 16) V32:d32 flat[V33-0x20]:a64",
        "lsc_load.ugm.ca.df (M1, 16)  V32:d32  flat[V33-0x20]:a64",
    ),
    (
        "lsc_load.ugm.cc.df (M1, 16) V32:u32 [1*V33+8]:a64",
        "lsc_load.ugm.ri.df (M1, 16)  V32:d32  flat[V33+0x8]:a64",
    ),
    (
        "lsc_load.ugm (M1, 16) V32:d32 bti(4)[V33]:a32",
        "lsc_load.ugm (M1, 16)  V32:d32  bti(0x4)[V33]:a32",
    ),
    (
        "lsc_load_strided.ugm (M1, 16) V32:u16u32x2 flat[V33 + 16]:a64",
        "lsc_load_strided.ugm (M1, 16)  V32:d16c32x2  flat[V33+0x10, 0x4]:a64",
    ),
    (
        "lsc_store_strided.ugm (M1, 16) flat[V33,V32(0,1)]:a64 V32:d32",
        "lsc_store_strided.ugm (M1, 16)  flat[V33, V32(0,1)]:a64  V32:d32",
    ),
    (
        "lsc_load_quad.ugm (M1,16) V32:d32.xw flat[V33]:a64",
        "lsc_load_quad.ugm (M1, 16)  V32:d32.xw  flat[V33]:a64",
    ),
    (
        "lsc_load_block2d.ugm (M1,1) V32:d16.16x8nt flat[V33,63,7,63,V32.0+0x10,V32(0,1)-3]",
        "lsc_load_block2d.ugm (M1, 1)  V32:d16.16x8nt  "
        "flat[V33, 0x3F, 0x7, 0x3F, V32+16, V32(0,1)-3]",
    ),
    (
        "lsc_store_block2d.ugm (M1,1) flat[V32+(0x10,-3)] V32:d16.16x8nn",
        "lsc_store_block2d.ugm (M1, 1)  flat[V32 + (16,-3)]  V32:d16.16x8nn",
    ),
    (
        "ifcall.uniform.noreturn (M1, 16) V33(0,0)<0;1,0> 1 2",
        "ifcall.uniform.noreturn (M1, 16) V33(0,0)<0;1,0> 1 2",
    ),
    (
        "(P1) add3.o (M1, 16) V32(0,0)<1> V32(0,0)<1;1,0> V32(0,0)<1;1,0> 0x1:ud",
        "(P1) add3o (M1, 16) V32(0,0)<1> V32(0,0)<1;1,0> V32(0,0)<1;1,0> 0x1:ud",
    ),
    (
        "lsc_load_block2d.ugm (M1_NM,1) V32:d16.1x16x8nt flat[V33,63,V32(0,1),9,1,V32]",
        "lsc_load_block2d.ugm (M1_NM, 1)  V32:d16.16x8nt  flat[V33, 0x3F, V32(0,1), 0x9, 0x1, V32]",
    ),
    (
        "lsc_load_quad.tgm (M1,8) V32:d32.xyzw bti(4)[V33,V33]:a32",
        "lsc_load_quad.tgm (M1, 8)  V32:d32.xyzw  bti(0x4)[V33, V33, %null, %null]:a32",
    ),
    (
        "lsc_apndctr_atomic_add.ugm (M1,16) V32:d32 bss(V33(0,2)) V33:d32",
        "lsc_apndctr_atomic_add.ugm (M1, 16)  V32:d32  bss(V33(0,2))  V33:d32",
    ),
    ("gather.2 (16) T6 0:ud V32 V33", "gather.2 (M1, 16) T6 0x0:ud V32.0 V33.0"),
    ("raw_send (M1, 16) 2 1 1 3:ud V32 V33", "raw_send (M1, 16) 0x2 1 1  0x3:ud V32.0 V33.0"),
    (
        "raw_sendsc.1.2.3 (M1, 16) 2:ud 3:ud V32 V33 V33",
        "raw_sendsc.1.2.3 (M1, 16)  0x2:ud 0x3:ud V32.0 V33.0 V33.0",
    ),
    ("mov (M1, 16) V32(0,0)<1> /* a */ 0x1:ud // b", "mov (M1, 16) V32(0,0)<1> 0x1:ud"),
    ("mov (M1, 16) V32(0,0)<1> \\\n  0x1:ud", "mov (M1, 16) V32(0,0)<1> 0x1:ud"),
    ("\tmov\t(M1,\t16) V32(0,0)<1> 0x1:ud\r", "mov (M1, 16) V32(0,0)<1> 0x1:ud"),
    ("mov (M1, 16) V32(0,0)<1> /* over\n lines */ 0x1:ud", "mov (M1, 16) V32(0,0)<1> 0x1:ud"),
]

DECLARATIONS = [
    (
        ".decl X v_type = G type=UD num_elts=0x10 align=GRF",
        ".decl X v_type=G type=ud num_elts=16 align=GRF",
    ),
    (".decl X v_type=G type=ud num_elts=16 align=byte", ".decl X v_type=G type=ud num_elts=16"),
    (
        ".decl X v_type=G type=ud num_elts=16 align=2GRF",
        ".decl X v_type=G type=ud num_elts=16 align=GRFx2",
    ),
    (
        ".decl X v_type=G type=ud num_elts=16 align=64",
        ".decl X v_type=G type=ud num_elts=16 align=wordx32",
    ),
    (
        ".decl X v_type=G num_elts=16 type=ud alias=<V32,8> attrs={Output,Scope=0x1}",
        ".decl X v_type=G type=ud num_elts=16 alias=<V32, 8> attrs={Output, Scope=1}",
    ),
    (
        ".decl X v_type=G type=ud num_elts=8 alias=(%r0, 0)",
        ".decl X v_type=G type=ud num_elts=8 alias=<%r0, 0>",
    ),
    (".decl near v_type=A type=uw num_elts=4", ".decl A1 v_type=A num_elts=4"),
    (
        ".decl flag v_type=P num_elts=16 attrs={Input}",
        ".decl P2 v_type=P num_elts=16 attrs={Input}",
    ),
    (
        ".decl tex v_type=T num_elts=1 attrs={SurfaceUsage=3}",
        ".decl T7 v_type=T num_elts=1 v_name=tex attrs={SurfaceUsage=3}",
    ),
    (".decl smp v_type=S num_elts=1 v_name=S000", ".decl S1 v_type=S num_elts=1 v_name=S000"),
    (
        ".decl X v_type=G type=ud num_elts=16 attrs={ForceSpill}",
        ".decl X v_type=G type=ud num_elts=16 attrs={ForceSpill}",
    ),
    (".input V32 offset=64", ".input V32 offset=64 size=256"),
    (".implicit_UNDEFINED_2 V32 offset=64 size=12", ".implicit_GROUP_COUNT V32 offset=64 size=12"),
    (".implicit_UNDEFINED_7 V32 offset=64 size=12", ".implicit_UNDEFINED_7 V32 offset=64 size=12"),
    (".implicit_PSEUDO_INPUT V32 offset=64", ".implicit_UNDEFINED_16 V32 offset=64 size=256"),
    (".parameter V32 size=64", ".parameter V32 size=64"),
    (".kernel_attr Target=1", '.kernel_attr Target="3d"'),
    (".kernel_attr NoBarrier", ".kernel_attr NoBarrier"),
    (".kernel_attr SLMSize=0x4", ".kernel_attr SLMSize=4"),
]


@pytest.mark.parametrize(("written", "printed"), INSTRUCTIONS)
def test_an_instruction_is_printed_in_one_way(written: str, printed: str):
    assert shown(written) == printed
    assert shown(printed) == printed


@pytest.mark.parametrize(("written", "printed"), DECLARATIONS)
def test_a_declaration_is_printed_in_one_way(written: str, printed: str):
    text = show_unit(unit_of(written), (4, 1))
    assert printed in text.split("\n")
    assert show_module(read(text)) == text


def test_names_of_all_but_general_variables_are_printed_by_number():
    text = show_unit(
        unit_of(
            ".decl flag v_type=P num_elts=16",
            ".decl near v_type=A num_elts=4",
            "cmp.lt (M1, 16) flag V32(0,0)<1;1,0> 0x1:ud",
            "(flag) mov (M1, 1) r[near(0),0]<1>:ud 0x1:ud",
        ),
        (4, 1),
    )
    assert "    cmp.lt (M1, 16) P2 V32(0,0)<1;1,0> 0x1:ud " in text
    assert "    (P2) mov (M1, 1) r[A1(0),0]<1>:ud 0x1:ud " in text


def test_a_kernel_name_is_printed_without_dots():
    assert '.kernel "a b"' in show_module(read('.version 4.1\n.kernel "a.b"\n'))


def test_the_path_of_the_assembly_file_is_not_printed():
    unit = unit_of(".kernel_attr OutputAsmPath=a.asm")
    assert unit.attribute("OutputAsmPath") == "a.asm"
    assert "OutputAsmPath" not in show_unit(unit, (4, 1))


def test_the_label_of_a_subroutine_is_part_of_its_mark():
    unit = unit_of('.function "sub_1"', "sub_1:", "ret (M1, 16)", "other:", "ret (M1, 16)")
    kinds = [type(entry) for entry in unit.body if isinstance(entry, SubroutineMark | LabelMark)]
    assert kinds == [SubroutineMark, LabelMark]


def test_a_body_without_marks_begins_on_its_own_line():
    text = show_unit(unit_of('.kernel_attr Target="cm"', "ret (M1, 1)"), (4, 1))
    assert '.kernel_attr Target="cm"\n    ret (M1, 1) ' in text


def test_a_first_instruction_on_the_line_of_the_last_attribute_is_read():
    unit = unit_of('.kernel_attr Target="cm"    ret (M1, 1)         /// $0')
    assert unit.attributes == (Attribute("Target", "cm"),)
    assert [entry.show() for entry in unit.body] == ["ret (M1, 1)"]


def test_names_that_only_quotes_can_spell_print_back():
    unit = unit_of('goto (M1, 16) "a$b"', "a$b:", '.function "x y"', '"x y":', "ret (M1, 16)")
    text = show_unit(unit, (4, 1))
    assert show_module(read(text)) == text


def test_subroutines_are_printed_and_called_without_dots():
    unit = unit_of('call (M1, 16) "f.1$a"', "ret (M1, 1)", '.function "f.1$a"', "ret (M1, 16)")
    text = show_unit(unit, (4, 1))
    assert "    call (M1, 16) f_1_a " in text
    assert '\n.function "f_1_a"\n\nf_1_a:\n' in text
    assert show_module(read(text)) == text


def test_inner_scopes_hide_outer_names_and_end():
    unit = unit_of(
        "{",
        ".decl x v_type=G type=ud num_elts=8",
        "mov (M1, 1) x(0,0)<1> 0x1:ud",
        "{",
        ".decl x v_type=G type=uw num_elts=8",
        "mov (M1, 1) x(0,0)<1> 0x1:ud",
        "}",
        "mov (M1, 1) x(0,0)<1> 0x1:ud",
        "}",
    )
    outer, inner, again = (entry.dst.variable for entry in unit.body)
    assert outer is again
    assert (outer.index, inner.index) == (34, 35)
    assert outer.name != inner.name
    assert show_module(read(show_unit(unit, (4, 1)))) == show_unit(unit, (4, 1))


def test_kernels_and_functions_share_a_text_and_a_version():
    text = HEAD + 'ret (M1, 1)\n.version 4.1\n.global_function "f"\nfret (M1, 16)\n'
    module = read(text + ".kernel second\nret (M1, 1)\n")
    assert [unit.name for unit in module.kernels] == ["k", "second"]
    assert [unit.name for unit in module.functions] == ["f"]
    assert module.functions[0].kind is UnitKind.FUNCTION
    assert show_module(module).count(".version") == 1


def test_more_predicates_than_an_object_can_number_have_a_text_but_no_object():
    """The compiler writes such zebins, of kernels with thousands of branches."""
    count = 5000
    declarations = [f".decl P{n} v_type=P num_elts=1" for n in range(2, count + 1)]
    unit = unit_of(*declarations, f"(P{count}) mov (M1, 1) V32(0,0)<1> 0x1:ud", "ret (M1, 1)")
    assert len(unit.predicates) == count
    assert f"(P{count})" in show_unit(unit, (4, 1))
    program = visim.assemble(show_unit(unit, (4, 1)), platform="pvc")
    with pytest.raises(visim.InputError, match="objects have at most 4095"):
        program.to_object()
