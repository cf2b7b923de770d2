"""What texts of strangers may ask of the compiler: nothing but what came with them."""

from __future__ import annotations

import pytest

from visim.serve.answering.policy import check_headers, check_options, check_source
from visim.serve.shapes import RequestError

HEADERS = {"h.h": "", "lib/m.h": ""}


@pytest.mark.parametrize(
    "text",
    [
        '#include "h.h"\n',
        "#include <lib/m.h>\n",
        '/* #include "other.h" */ int x;',
        '// #include "other.h"\nint x;',
        'const char *s = "#include other";',
        '#if 0\n#include "h.h"\n#endif',
        "#pragma unroll\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
        "int included = '\"'; /* \" */\n",
    ],
)
def test_texts_that_include_what_they_brought_are_taken(text):
    check_source(text, HEADERS, "program.source")


@pytest.mark.parametrize(
    "text",
    [
        '#include "/etc/passwd"',
        "#include </etc/passwd>",
        '#include "../h.h"',
        '#include "other.h"',
        "  #  include_next <h2.h>",
        '%:include "other.h"',
        '??=include "other.h"',
        '#inc\\\nlude "other.h"',
        '#inc\\ \nlude "other.h"',
        '#inc??/\nlude "other.h"',
        '/* */ # /* */ include "other.h"',
        '/* \n */ #include "other.h"',
        '#define F "other.h"\n#include F',
        "#include",
        '#import "other.h"',
        '#embed "other.h"',
        "#pragma GCC dependency <other.h>",
        '#if __has_include("other.h")\n#endif',
        '_Pragma("GCC dependency \\"other.h\\"")',
        'char *s = "/*";\n#include "other.h"\nchar *t = "*/";',
        'char c = \'"\';\n#include "other.h"\n',
        '\r\n\f#include "other.h"',
    ],
)
def test_texts_that_reach_for_other_files_are_refused(text):
    with pytest.raises(RequestError) as raised:
        check_source(text, HEADERS, "program.source")
    assert raised.value.path == "program.source"


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../h.h", "a/../../h.h", "", ".", "a\nb", "a\\b", "x" * 300]
)
def test_headers_lie_below_one_folder(name):
    with pytest.raises(RequestError):
        check_headers({name: ""}, "program.headers")


def test_headers_include_each_other_only():
    check_headers({"a.h": '#include "b.h"', "b.h": ""}, "program.headers")
    with pytest.raises(RequestError, match=r"a\.h"):
        check_headers({"a.h": '#include "c.h"', "b.h": ""}, "program.headers")


@pytest.mark.parametrize(
    "options",
    [
        "",
        "-cl-std=CL2.0 -cl-fast-relaxed-math",
        "-cl-ext=+cl_khr_fp64,-all",
        "-D N=4 -DM -D F(x)=x*2 -U X",
        "-O2 -g -w -Werror",
        "-ze-opt-level=2 -cl-intel-256-GRF-per-thread",
    ],
)
def test_harmless_options_are_taken(options):
    check_options(options, "program.options")


@pytest.mark.parametrize(
    "options",
    [
        "-I /",
        "-I.",
        "-include /etc/passwd",
        "-Xclang -load",
        "-o x",
        "@file",
        "-D",
        "-DX=/etc",
        "-D X='a'",
        '-DX=\\"a\\"',
        "-cl-std=CL2.0;id",
        "-cl-x=/tmp",
        "-Wall",
        "-save-temps",
        "-igc_opts A=1",
        "kernel.cl",
        "-\N{CYRILLIC SMALL LETTER O}2",
    ],
)
def test_other_options_are_refused(options):
    with pytest.raises(RequestError) as raised:
        check_options(options, "program.options")
    assert raised.value.path == "program.options"
