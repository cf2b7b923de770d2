"""What readers of text and objects report, explained like the verifier's own rules.

The readers find these things themselves; here stand only the explanations and the examples, which
the tests hold against the readers.
"""

from __future__ import annotations

from visim.check.rule import Rule, Scope
from visim.diag import Severity

_SYNTAX = "vISA 8"
_HEAD = '.version 4.1\n.kernel "example"\n'


def _rule(code: str, passage: str, explanation: str, failing: str, passing: str) -> Rule:
    return Rule(code, Severity.ERROR, passage, explanation, failing, passing, Scope.READING)


RULES = (
    _rule(
        "syntax", _SYNTAX,
        "A line is written as its instruction or directive asks.",
        "mov (M1, 3) D(0,0)<1> 0x1:d",
        "mov (M1, 4) D(0,0)<1> 0x1:d",
    ),
    _rule(
        "unknown-instruction", "vISA 6", "A line starts with the name of an instruction.",
        "ad (M1, 8) D(0,0)<1> D(0,0)<1;1,0> 0x1:d",
        "add (M1, 8) D(0,0)<1> D(0,0)<1;1,0> 0x1:d",
    ),
    _rule(
        "unknown-directive", "vISA 4, Pre-defined Directives",
        "A line that starts with a dot is one of the directives.",
        ".inptu D offset=64 size=256",
        ".input D offset=64 size=256",
    ),
    _rule(
        "unknown-word", "vISA 6, the instruction's page",
        "A part of an instruction's name, or a word among its operands, is one of a short list.",
        "cmp.lo (M1, 8) P D(0,0)<1;1,0> 0x1:d",
        "cmp.lt (M1, 8) P D(0,0)<1;1,0> 0x1:d",
    ),
    _rule(
        "unknown-variable", "vISA 4, Variables",
        "A variable is declared before it is used.",
        "mov (M1, 8) X(0,0)<1> 0x1:d",
        ".decl X v_type=G type=d num_elts=8\nmov (M1, 8) X(0,0)<1> 0x1:d",
    ),
    _rule(
        "unknown-type", "vISA 2, Data Types", "A type is one of the specification's.",
        "mov (M1, 8) D(0,0)<1> 0x1:int",
        "mov (M1, 8) D(0,0)<1> 0x1:d",
    ),
    _rule(
        "unknown-property", "vISA 4, Variables",
        "A .decl line has the properties v_type, type, num_elts, align, alias, attrs and v_name.",
        ".decl X v_type=P nume=8",
        ".decl X v_type=P num_elts=8",
    ),
    _rule(
        "property", "vISA 4, Variables",
        "A variable has the properties of its class: only general ones have type and alignment.",
        ".decl X v_type=P align=GRF num_elts=8",
        ".decl X v_type=P num_elts=8",
    ),
    _rule(
        "duplicate-property", "vISA 4, Variables", "A property is given once.",
        ".decl X v_type=P num_elts=8 num_elts=8",
        ".decl X v_type=P num_elts=8",
    ),
    _rule(
        "unknown-v_type", "vISA 4, Variables", "The class of a variable is G, A, P, S or T.",
        ".decl X v_type=X num_elts=8",
        ".decl X v_type=P num_elts=8",
    ),
    _rule(
        "unknown-alignment", "vISA 4, General Variables",
        "An alignment is byte, word, dword, qword, oword, GRF, 2GRF, hword, 32word or 64word.",
        ".decl X v_type=G type=d num_elts=8 align=GFR",
        ".decl X v_type=G type=d num_elts=8 align=GRF",
    ),
    _rule(
        "duplicate-attribute", "vISA 4, Attributes", "An attribute has one value.",
        ".kernel_attr SimdSize=8\n.kernel_attr SimdSize=16",
        ".kernel_attr SimdSize=8",
    ),
    _rule(
        "unknown-target", "vISA 4, Kernel, Pre-defined Attributes",
        "The attribute Target names a kind of program: cm or 3d.",
        '.kernel_attr Target="4d"',
        '.kernel_attr Target="cm"',
    ),
    _rule(
        "duplicate-declaration", "vISA 4, General Variables",
        "A name is declared once in its scope.",
        ".decl D v_type=P num_elts=1",
        ".decl D2 v_type=P num_elts=1",
    ),
    _rule(
        "reserved-name", "vISA 4, Variables", "Names of predefined variables are not declared.",
        ".decl P0 v_type=P num_elts=1",
        ".decl P1 v_type=P num_elts=1",
    ),
    _rule(
        "out-of-range", _SYNTAX, "A number is one that an object can hold at this place.",
        "mov (M1, 1) D(256,0)<1> 0x1:d",
        "mov (M1, 1) D(2,0)<1> 0x1:d",
    ),
    _rule(
        "limit", "vISA 4, Variables",
        "A unit has as many variables of a class as an object can number.",
        "\n".join(f".decl X{number} v_type=S num_elts=1" for number in range(40)),
        "\n".join(f".decl X{number} v_type=S num_elts=1" for number in range(8)),
    ),
    _rule(
        "immediate", "vISA 4, Immediate Constants",
        "A constant is a value of its type.",
        "mov (M1, 8) F(0,0)<1> 1.0e+39:f",
        "mov (M1, 8) F(0,0)<1> 1.0e+38:f",
    ),
    _rule(
        "region", "vISA 5, Regions",
        "The strides and the width of a region are 0, 1, 2, 4, 8, 16 or 32.",
        "mov (M1, 8) D(0,0)<3> 0x1:d",
        "mov (M1, 8) D(0,0)<4> 0x1:d",
    ),
    _rule(
        "expression", _SYNTAX,
        "What is written in the place of a number has a value: divisors are not 0, shifts 0 to 63.",
        "mov (M1, 8) D(0,0)<1> (1/0):d",
        "mov (M1, 8) D(0,0)<1> (1/2):d",
    ),
    _rule(
        "size-unknown", _SYNTAX,
        "A size that is named stands above: of variables in .decl, SimdSize for %DispatchSimd.",
        "mov (M1, 8) D(0,0)<1> %DispatchSimd:d",
        ".kernel_attr SimdSize=8\nmov (M1, 8) D(0,0)<1> %DispatchSimd:d",
    ),
    _rule(
        "predicate", "vISA 6, the instruction's page",
        "Only instructions that have a predicate are predicated.",
        "(P) min (M1, 8) D(0,0)<1> D(0,0)<1;1,0> 0x1:d",
        "(P) add (M1, 8) D(0,0)<1> D(0,0)<1;1,0> 0x1:d",
    ),
    _rule(
        "duplicate-input", "vISA 4, Input Variables", "A variable is an input once.",
        ".input D offset=64 size=256\n.input D offset=512 size=256",
        ".input D offset=64 size=256",
    ),
    _rule(
        "undefined-label", "vISA 4, Labels", "A branch goes to a label that is there.",
        "goto (M1, 16) lop\nloop:",
        "goto (M1, 16) loop\nloop:",
    ),
    _rule(
        "duplicate-label", "vISA 4, Labels", "A label stands at one place.",
        "loop:\nloop:",
        "loop:",
    ),
    _rule(
        "indented-label", _SYNTAX,
        "A label starts its line: Intel's assembler reads an indented one as something else.",
        "  loop:",
        "loop:",
    ),
    _rule(
        "scope", "vISA 4, General Variables", "Braces of scopes come in pairs.",
        "}",
        "{\n.decl X v_type=P num_elts=1\n}",
    ),
    _rule(
        "duplicate-unit", "vISA 4, Virtual ISA Header",
        "Kernels and functions of a file have names of their own.",
        _HEAD + 'ret (M1, 1)\n.kernel "example"\nret (M1, 1)\n',
        _HEAD + 'ret (M1, 1)\n.kernel "another"\nret (M1, 1)\n',
    ),
    _rule(
        "unknown-version", "vISA 4, Virtual ISA Header",
        "The version is one of 3.0 to 4.2.",
        '.version 9.9\n.kernel "example"\nret (M1, 1)\n',
        _HEAD + "ret (M1, 1)\n",
    ),
    _rule(
        "version-conflict", "vISA 4, Virtual ISA Header", "A file has one version.",
        _HEAD + 'ret (M1, 1)\n.version 4.0\n.kernel "another"\nret (M1, 1)\n',
        _HEAD + 'ret (M1, 1)\n.version 4.1\n.kernel "another"\nret (M1, 1)\n',
    ),
    _rule(
        "outside-unit", "vISA 4, Kernel", "Declarations and instructions belong to a unit.",
        '.version 4.1\nret (M1, 1)\n.kernel "example"\nret (M1, 1)\n',
        _HEAD + "ret (M1, 1)\n",
    ),
    _rule(
        "inside-unit", "vISA 4, Virtual ISA Header",
        "What belongs to the file stands before its first kernel or function.",
        _HEAD + ".global_variable table type=d num_elts=16\nret (M1, 1)\n",
        _HEAD.replace("\n", "\n.global_variable table type=d num_elts=16\n", 1) + "ret (M1, 1)\n",
    ),
    _rule(
        "unclosed-comment", _SYNTAX, "A comment that starts with /* ends with */.",
        "/* open",
        "/* closed */",
    ),
)  # fmt: skip
