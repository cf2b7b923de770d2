"""Directives for linkage and variables of file scope, which only visim's texts have."""

from __future__ import annotations

import pytest

from visim.binary.isafile import read_isa, write_isa
from visim.diag import Source
from visim.errors import InputError
from visim.module import Linkage, Module
from visim.target import OBJECT_VERSIONS, platform
from visim.text import parse_text, read_text, show_module

SKL = platform("skl")
TEXT = """.version 4.1
.extern_function "other"
.global_variable table type=ud num_elts=16 align=GRF
.static_variable own type=w num_elts=4
.extern_variable far type=uq num_elts=1 align=qword
.kernel "k"
.funcdecl "other"
.funcdecl "f"
.decl V32 v_type=G type=ud num_elts=16 alias=<table, 0>
.decl V33 v_type=G type=w num_elts=2 alias=<own, 4>
.decl V34 v_type=G type=ub num_elts=8 alias=<V32, 8>
.kernel_attr Target="cm"
fcall (M1, 8) f 1 1
fcall (M1, 8) other 1 1
ret (M1, 8)
.static_function "f"
.decl V32 v_type=G type=uq num_elts=1 alias=<far, 0>
.decl V33 v_type=G type=ud num_elts=16 alias=<table, 0>
.kernel_attr Target="cm"
fret (M1, 8)
"""


def module_of(text: str) -> Module:
    return read_text(Source("t.visaasm", text))


def refused(text: str, code: str, message: str, line: int) -> None:
    _module, findings = parse_text(Source("t.visaasm", text))
    found = [(error.code, error.message, error.line) for error in findings.errors]
    assert found[0][0] == code
    assert message in found[0][1]
    assert found[0][2] == line


def test_the_directives_say_what_is_external_static_and_global():
    module = module_of(TEXT)
    assert module.externals == ("other",)
    assert [(v.variable.name, v.linkage, v.variable.bytes) for v in module.variables] == [
        ("table", Linkage.GLOBAL, 64),
        ("own", Linkage.STATIC, 8),
        ("far", Linkage.EXTERNAL, 8),
    ]
    assert module.functions[0].linkage is Linkage.STATIC
    root, offset = module.kernels[0].generals[2].root()
    assert (root.name, offset, root.is_file_scope) == ("table", 8, True)


def test_the_text_is_printed_and_read_again():
    module = module_of(TEXT)
    printed = show_module(module)
    assert printed.startswith(
        ".version 4.1\n"
        ".global_variable table type=ud num_elts=16 align=GRF\n"
        ".static_variable own type=w num_elts=4\n"
        ".extern_variable far type=uq num_elts=1 align=qword\n"
        '.kernel "k"\n'
    )
    assert module_of(printed) == module


def test_an_external_function_of_a_file_without_kernels_is_printed():
    head = '.version 4.1\n.extern_function "a"\n.global_function "f"\n'
    text = f"{head}fcall (M1, 8) a 0 0\nfret (M1, 8)\n"
    printed = show_module(module_of(text))
    assert printed.startswith(head)
    assert module_of(printed) == module_of(text)


@pytest.mark.parametrize("version", OBJECT_VERSIONS, ids=lambda version: "{}.{}".format(*version))
def test_the_text_comes_back_from_an_object(version: tuple[int, int]):
    module = module_of(TEXT)
    data = write_isa(module, platform=SKL, version=version)
    read = read_isa(data, "t.isa", platform=SKL)
    assert read.units == module.units
    assert (read.variables, read.externals) == (module.variables, module.externals)
    assert write_isa(read, platform=SKL, version=version) == data


def test_a_function_that_a_kernel_only_declares_is_external():
    module = module_of(
        '.version 4.1\n.kernel "k"\n.funcdecl "f"\nfcall (M1, 8) f 0 0\nret (M1, 8)\n'
    )
    assert module.externals == ("f",)


KERNEL = '.kernel "k"\nret (M1, 8)\n'


@pytest.mark.parametrize(
    ("lines", "code", "message", "line"),
    [
        (".global_variable t type=ud\n", "syntax", "'type=' and 'num_elts='", 2),
        (".global_variable t type=ud num_elts=1025\n", "limit", "at most 1024 elements", 2),
        (".global_variable t type=ud num_elts=0\n", "out-of-range", "0", 2),
        (".global_variable %r0 type=ud num_elts=1\n", "reserved-name", "%r0 is predefined", 2),
        (".global_variable V1 type=ud num_elts=1\n", "reserved-name", "V1 is predefined", 2),
        (".global_variable t type=ud num_elts=1 v_type=G\n", "unknown-property", "v_type", 2),
        (
            ".global_variable t type=ud num_elts=1\n.extern_variable t type=ud num_elts=1\n",
            "duplicate-declaration",
            "t is declared twice",
            3,
        ),
        (
            f"{KERNEL}.global_variable t type=ud num_elts=1\n",
            "inside-unit",
            "stands before its first kernel or function",
            4,
        ),
        (
            '.global_variable t type=ud num_elts=1\n.kernel "k"\n'
            "mov (M1, 1) t(0,0)<1> 0x1:ud\nret (M1, 8)\n",
            "unknown-variable",
            "unknown variable 't'",
            4,
        ),
        (
            '.global_variable t type=ud num_elts=1\n.kernel "k"\n'
            ".decl t v_type=G type=ud num_elts=1\nret (M1, 8)\n",
            "duplicate-declaration",
            "t is declared twice",
            4,
        ),
    ],
)
def test_what_is_wrong_is_said(lines: str, code: str, message: str, line: int):
    refused(f".version 4.1\n{lines}", code, message, line)


def test_strict_reading_refuses_each_directive():
    with pytest.raises(InputError) as caught:
        read_text(Source("t.visaasm", TEXT), strict=True)
    errors = caught.value.diagnostics.errors
    assert [(error.code, error.line) for error in errors] == [
        ("extension", line) for line in (2, 3, 4, 5, 16)
    ]
