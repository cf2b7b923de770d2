"""Where and how visim complains about a text; lines count from the first after `HEAD`."""

from __future__ import annotations

import pytest

from tests.unit.text.texts import HEAD, HEAD_LINES, read
from visim.diag import Source
from visim.errors import InputError
from visim.text import parse_text
from visim.text.parser import MAX_ERRORS

IN_A_KERNEL = [
    # line, column, code, part of the message, text
    (1, 1, "unknown-instruction", "'ad'", "ad (M1, 16) V32(0,0)<1> 0x1:ud"),
    (1, 3, "unknown-instruction", "'label'", "  label x"),
    (1, 5, "syntax", "an execution size such as", "mov (M9, 16) V32(0,0)<1> 1:d"),
    (1, 14, "unknown-variable", "'V23'", "mov (M1, 16) V23(0,0)<1> 0x1:ud"),
    (1, 26, "unknown-variable", "'V99'", "mov (M1, 16) V32(0,0)<1> V99(0,0)<1;1,0>"),
    (1, 27, "unknown-type", "'xx'", "mov (M1, 1) V32(0,0)<1> 1:xx"),
    (1, 36, "region", "3 is not a stride", "mov (M1, 1) V32(0,0)<1> V32(0,0)<0;3,0>"),
    (1, 22, "region", "7 is not a stride", "mov (M1, 1) V32(0,0)<7> V32(0,0)<0;1,0>"),
    (1, 17, "out-of-range", "256", "mov (M1, 1) V32(256,0)<1> V32(0,0)<0;1,0>"),
    (1, 28, "syntax", "a region", "mov (M1, 1) V32(0,0)<1> V32.0"),
    (1, 33, "syntax", "found '0x2:ud'", "mov (M1, 16) V32(0,0)<1> 0x1:ud 0x2:ud"),
    (1, 25, "syntax", "found the end of the line", "mov (M1, 16) V32(0,0)<1>"),
    (1, 2, "unknown-variable", "'P2'", "(P2) mov (M1, 16) V32(0,0)<1> 0x1:ud"),
    (1, 1, "operand-class", "V32 is a general variable", "(V32) mov (M1, 16) V32(0,0)<1> 0x1:ud"),
    (1, 1, "syntax", "a predicate", "(P1 mov (M1, 16) V32(0,0)<1> 0x1:ud"),
    (1, 1, "predicate", "cmp takes no predicate", "(P1) cmp.lt (M1, 16) P1 V32(0,0)<1;1,0> 0x1:ud"),
    (1, 5, "saturation", "takes no .sat", "fcvt.sat (M1, 16) V32(0,0)<1> V33(0,0)<1;1,0>"),
    (1, 26, "immediate", "too large for F", "mov (M1, 16) V33(0,0)<1> 1.0e+39:f"),
    (1, 26, "immediate", "cannot be HF", "mov (M1, 16) V33(0,0)<1> 1.5:hf"),
    (2, 3, "syntax", "found '['", "mov (M1, 16) V32(0,0)<1> \\\n  [\n"),
    (1, 15, "undefined-label", "label lop is not defined in k", "goto (M1, 16) lop\nloop:"),
    (3, 1, "duplicate-label", "label a is defined twice", "a:\nret (M1, 1)\na:"),
    (1, 2, "indented-label", "first column", " a:"),
    (1, 1, "unknown-directive", "'.inptu'", ".inptu V32 offset=64 size=256"),
    (1, 8, "unknown-variable", "'V31'", ".input V31 offset=64 size=256"),
    (1, 8, "operand-class", "P1 cannot be an input", ".input P1 offset=64 size=256"),
    (2, 1, "duplicate-input", "V32", ".input V32 offset=64\n.input V32 offset=96"),
    (1, 12, "syntax", "'offset='", ".input V32 ofset=64"),
    (1, 19, "out-of-range", "65536", ".input V32 offset=65536"),
    (1, 36, "unknown-attribute", "'Foo'", ".decl Q v_type=P num_elts=8 attrs={Foo}"),
    (1, 22, "syntax", "the value of SimdSize", ".kernel_attr SimdSize"),
    (1, 21, "unknown-target", "'4d'", '.kernel_attr Target="4d"'),
    (2, 14, "duplicate-attribute", "SimdSize", ".kernel_attr SimdSize=8\n.kernel_attr SimdSize=8"),
    (1, 7, "duplicate-declaration", "V32 is declared", ".decl V32 v_type=P num_elts=1"),
    (1, 7, "reserved-name", "V7 is predefined", ".decl V7 v_type=G type=ud num_elts=1"),
    (1, 7, "reserved-name", "P0", ".decl P0 v_type=P num_elts=1"),
    (1, 16, "unknown-v_type", "'X'", ".decl X v_type=X type=ud num_elts=1"),
    (1, 23, "unknown-type", "'up'", ".decl X v_type=G type=up num_elts=1"),
    (1, 35, "out-of-range", "0 is outside 1", ".decl X v_type=G type=ud num_elts=0"),
    (1, 43, "unknown-alignment", "'GFR'", ".decl X v_type=G type=ud num_elts=1 align=GFR"),
    (1, 44, "unknown-variable", "'V39'", ".decl X v_type=G type=ud num_elts=1 alias=<V39, 0>"),
    (1, 44, "operand-class", "P1", ".decl X v_type=G type=ud num_elts=1 alias=<P1, 0>"),
    (1, 18, "property", "no align", ".decl X v_type=P align=GRF num_elts=1"),
    (1, 18, "unknown-property", "'nume'", ".decl X v_type=P nume=1"),
    (1, 30, "duplicate-property", "num_elts", ".decl X v_type=P num_elts=1  num_elts=2"),
    (1, 17, "syntax", "'num_elts='", ".decl X v_type=P"),
    (1, 1, "scope", "no scope is open", "}"),
    (2, 1, "scope", "not closed", "ret (M1, 1)\n{"),
    (1, 10, "version-conflict", "4.0 differs from 4.1", ".version 4.0"),
    (1, 9, "duplicate-unit", "k is defined twice", ".kernel k"),
    (2, 3, "unclosed-comment", "not closed", "ret (M1, 1)\n  /* no end"),
    (1, 1, "limit", "more than 64 nested scopes", None),
    (1, 14, "limit", "thousands of digits", "mov (M1, 1) V3" + "2" * 5000),
]  # fmt: skip


@pytest.mark.parametrize(("line", "column", "code", "part", "text"), IN_A_KERNEL)
def test_an_error_says_what_and_where(
    line: int, column: int, code: str, part: str, text: str | None
):
    if text is None:
        text, line = "{\n" * 65, 65
    findings = parse_text(Source("t.visaasm", HEAD + text + "\n"))[1]
    matching = [finding for finding in findings if finding.code == code]
    assert matching, findings.render()
    finding = matching[0]
    assert finding.line is not None
    assert (finding.line - HEAD_LINES, finding.column) == (line, column), finding.render()
    assert part in finding.message
    assert finding.file == "t.visaasm"


BEFORE_A_KERNEL = [
    (1, 1, "no-version", "the text is empty", ""),
    (1, 1, "syntax", "expected '.version', found '.kernel'", ".kernel k"),
    (1, 10, "syntax", "a version such as '4.1'", ".version 4"),
    (1, 10, "unknown-version", "9.1", ".version 9.1"),
    (2, 1, "outside-unit", "instruction before any", ".version 4.1\nret (M1, 1)"),
    (2, 1, "outside-unit", "declaration before any", ".version 4.1\n.decl V32 v_type=P num_elts=1"),
    (2, 8, "syntax", "the kernel's name", ".version 4.1\n.kernel"),
]


@pytest.mark.parametrize(("line", "column", "code", "part", "text"), BEFORE_A_KERNEL)
def test_an_error_outside_a_kernel_says_what_and_where(
    line: int, column: int, code: str, part: str, text: str
):
    finding = parse_text(Source("t.visaasm", text))[1].errors[0]
    assert (finding.line, finding.column, finding.code) == (line, column, code)
    assert part in finding.message


def test_a_page_that_shows_a_text_is_one_error():
    page = "# How to\n\nBegin so:\n\n```\n.version 4.1\n.kernel k\nret (M1, 1)\n```\nThat is all.\n"
    [finding] = parse_text(Source("page.md", page))[1]
    assert finding.message == "expected '.version', found '#'"
    assert finding.help is not None
    assert "nothing after this line was read" in finding.help


def test_a_text_that_lacks_its_version_only_is_read():
    text = HEAD.removeprefix(".version 4.1\n") + "ad (M1, 1) V32(0,0)<1> 0x1:ud\n"
    findings = parse_text(Source("t", text))[1]
    assert [finding.code for finding in findings] == ["syntax", "unknown-instruction"]


def test_one_run_reports_all_errors_in_order():
    text = HEAD + "ad (M1, 16) V32(0,0)<1> 0x1:ud\nret (M1, 1)\nret (M1, 3)\nmov\n"
    with pytest.raises(InputError) as caught:
        read(text)
    lines = [finding.line for finding in caught.value.diagnostics]
    assert lines == [HEAD_LINES + 1, HEAD_LINES + 3, HEAD_LINES + 4]


LATER = [("tf32", "ud"), ("bf8", "ub"), ("HF8", "type b "), ("e2m1", "no page")]
NEWER = [
    ("lsc_load.ugm.ca.uc.ca (M1, 16) V32:d32 flat[V33]:a64", "third cache control '.ca'"),
    ("lsc_load.ugm (M1, 16) V32:d32 flat(V33)[V32]:a32s", "base address"),
    ("lsc_load.ugm (M1, 16) V32:d32 surf(V33)[V32]:a32", "address model 'surf'"),
    ("lsc_load.ugm (M1, 16) V32:d32 flat[V32]:a32u", "address size ':a32u'"),
    ("lsc_load.ugm (M1, 16) V32:d32 bti(0x5, 1)[V32]:a32", "index behind a surface"),
    ("lsc_load_quad.tgm (M1, 16) V32:d32.xyzw bti(0x4)[V32,V33+5]:a32", "coordinate '+5'"),
    ("lsc_load_block2d.tgm V32:64x4 bti(0x4)[V32-4,V33]", "coordinate '-4'"),
]


@pytest.mark.parametrize(("name", "advice"), LATER)
def test_a_type_that_only_newer_texts_have_is_called_so(name: str, advice: str):
    with pytest.raises(InputError) as caught:
        read(HEAD + f".decl X v_type=G type={name} num_elts=16\n")
    (error,) = caught.value.diagnostics.errors
    assert error.message == f"visim does not know variables of the type {name!r}"
    assert advice in (error.help or "")


@pytest.mark.parametrize(("line", "what"), NEWER)
def test_what_only_newer_texts_have_is_called_so(line: str, what: str):
    with pytest.raises(InputError) as caught:
        read(HEAD + line + "\n")
    (error,) = caught.value.diagnostics.errors
    assert error.message.startswith("only texts of version 4.2 and later have the ")
    assert what in error.message
    assert error.help == "a compiler that writes it begins the text with '.version 4.2'"


def test_options_of_messages_that_no_page_describes_are_refused():
    with pytest.raises(InputError, match=r"does not know what the option '\.ov'"):
        read(HEAD + "lsc_load.ugm.ov (M1, 16) V32:d32 flat[V33]:a64\n")


def test_a_misspelt_name_is_helped():
    findings = parse_text(Source("t", HEAD + "mvo (M1, 16) V32(0,0)<1> 0x1:ud\n"))[1]
    assert findings.errors[0].help == "did you mean 'mov'?"
    findings = parse_text(Source("t", HEAD + "goto (M1, 16) lop\nloop:\n"))[1]
    assert findings.errors[0].help == "did you mean 'loop'?"


def test_a_bad_declaration_brings_no_errors_about_its_uses():
    text = HEAD + ".decl V40 v_type=G type=up num_elts=1\nmov (M1, 1) V40(0,0)<1> 0x1:ud\n"
    assert [finding.code for finding in parse_text(Source("t", text))[1]] == ["unknown-type"]


def test_a_bad_label_operand_is_pointed_at_in_a_continued_line():
    text = HEAD + "goto (M1, 16) \\\n   nowhere\n"
    (finding,) = parse_text(Source("t", text))[1]
    assert (finding.line, finding.column) == (HEAD_LINES + 2, 4)


def test_reading_ends_after_many_errors():
    findings = parse_text(Source("t", HEAD + "?\n" * (MAX_ERRORS + 100)))[1]
    assert len(findings) == MAX_ERRORS + 1
    assert findings.errors[-1].code == "too-many-errors"


def test_an_error_shows_its_line_with_a_caret():
    findings = parse_text(Source("t.visaasm", HEAD + "mov (M1, 16) V23(0,0)<1> 0x1:ud\n"))[1]
    assert findings.errors[0].render().split("\n")[1:5] == [
        " --> t.visaasm:9:14",
        "  |",
        "9 | mov (M1, 16) V23(0,0)<1> 0x1:ud",
        "  |              ^^^",
    ]


DECLARED = ".decl t v_type=G type=ud num_elts=1"
HELPED = [
    ("MOV (M1, 16) V32(0,0)<1> 0x1:d", "unknown instruction 'MOV'", "did you mean 'mov'?"),
    ("fence (M1, 1)", "unknown instruction 'fence'", "did you mean 'fence_sw'?"),
    ("sbarrier.go", "unknown operation 'go'", "there are: wait, signal"),
    ("nbarrier", "'.' and an operation such as 'wait' and a barrier's number, found", None),
    ("lsc_fence.ugm.none", "expected '.' and a scope such as 'group', found the end", None),
    ("lsc_fence.ugm.no.gpu", "unknown fence operation 'no'", "did you mean 'none'?"),
    ("cmp. (M1, 16) P1 V32(0,0)<1;1,0> 0x1:d", "expected a relation such as 'eq'", None),
    ("cmp (M1, 16) P1 V32(0,0)<1;1,0> 0x1:d", "expected '.' and a relation such as 'eq'", None),
    ("gather4_scaled (M1, 16) %slm 0x0:ud V32.0 V32.0", "'.' and channels such as 'RGBA'", None),
    ("mov (M9, 16) V32(0,0)<1> 0x1:d", "found '(M9, 16)'", "masks M1 to M8"),
    ("mov (M1, 12) V32(0,0)<1> 0x1:d", "found '(M1, 12)'", "sizes are 1, 2, 4, 8, 16 and 32"),
    ("(P1.none) mov (M1, 16) V32(0,0)<1> 0x1:d", "found '(P1.none)'", "'.any' and '.all'"),
    (".decl V90 v_type=X num_elts=1", "unknown v_type 'X'", "there are: G, A, P, S, T"),
    (".decl V90 v_type=G type=ud num_elts=1 align=foo", "alignment 'foo'", "there are: byte, word"),
    (".decl V32 v_type=P num_elts=1", "V32 is declared twice", "the first one is in line"),
    (f"{DECLARED}\n{DECLARED}", "t is declared twice", "the first one is in line 9; in inline"),
    (".input V32 offset=64\n.input V32 offset=96", "V32 is already", "the first one is in line 9"),
    ("fence_local.X", "unknown option 'X'", "there are: E, I, S, C, R, L1"),
    ("svm_atomic.add.8 (M1, 1) V32.0 V32.0 V32.0 V0.0", "unknown width '8'", "there are: 16, 64"),
    ("lsc_load.ugm.zz (M1, 1) V32:d32 flat[V32]:a32", "unknown cache control 'zz'", "df, uc, ca"),
    ("lsc_load.ugm.ca.zz (M1, 1) V32:d32 flat[V32]:a32", "unknown cache control 'zz'", "df, uc"),
    ("lsc_load.ugm (M1, 1) V32:d32x5 flat[V32]:a32", "64 elements, found 5", None),
    ("lsc_load.ugm (M1, 1) V32:d32x10 flat[V32]:a32", "64 elements, found 10", None),
]


@pytest.mark.parametrize(("line", "message", "help_text"), HELPED)
def test_a_message_says_what_may_stand_there(line: str, message: str, help_text: str | None):
    finding = parse_text(Source("t", HEAD + line + "\n"))[1].errors[0]
    assert message in finding.message
    if help_text is None:
        assert finding.help is None
    else:
        assert help_text in (finding.help or "")


def test_a_compilers_text_may_declare_the_same_twice():
    """Scopes of inline assembly that follow one another, whose braces the compiler leaves out."""
    text = "\n".join(
        [
            *(".version 4.1", '.kernel "k"', DECLARED, DECLARED, '.function "k"', "k:"),
            *("mov (M1, 1) t(0,0)<1> 0x1:ud", "ret (M1, 1)", ""),
        ]
    )
    module, findings = parse_text(Source("f", text), compiled=True)
    assert not findings.errors
    assert [variable.name for variable in module.kernels[0].generals] == ["t"]
    different = text.replace("num_elts=1", "num_elts=2", 1)
    _, findings = parse_text(Source("f", different), compiled=True)
    assert [finding.code for finding in findings.errors] == ["duplicate-declaration"]
