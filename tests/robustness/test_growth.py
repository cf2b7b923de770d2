"""Reading and verifying takes work in proportion to the input, whatever the input repeats.

Work is counted in calls of functions: a text four times as long may need four times as many, and
some more; what grows with the square would need sixteen times as many.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import visim
from tools.fuzz.seeds import member
from visim.binary.archive import MAGIC
from visim.binary.isafile import read_isa, write_isa
from visim.diag import Source
from visim.module import Module
from visim.runtime.building.loading import check_links, examine_data
from visim.target import platform
from visim.text import read_text

PVC = platform("pvc")
SHORT, LONG, MOST_GROWTH = 80, 320, 6
VERSION = ".version 4.1\n"
HEAD = f'{VERSION}.kernel "k"\n'
RET = "ret (M1, 1)\n"
VARIABLE = "v_type=G type=ud num_elts=1"


def declared(count: int, name: str = "X") -> str:
    return "".join(f".decl {name}{n} {VARIABLE}\n" for n in range(count))


def each(count: int, line: str) -> str:
    return "".join(line.format(n=n, next=(n + 1) % count) for n in range(count))


GROWING: dict[str, Callable[[int], str]] = {
    "declarations": lambda n: HEAD + declared(n) + RET,
    "inputs": lambda n: HEAD + declared(n) + each(n, ".input X{n} offset={n} size=4\n") + RET,
    "aliases": lambda n: HEAD + declared(1) + each(n, f".decl Y{{n}} {VARIABLE} alias=<X0, 0>\n"),
    "aliases of aliases": lambda n: (
        f"{HEAD}.decl Y0 {VARIABLE}\n"
        + each(n, f".decl Y{{next}} {VARIABLE} alias=<Y{{n}}, 0>\n")
        + each(n, "mov (M1, 1) Y{n}(0,0)<1> 0x1:ud\n")
    ),
    "labels": lambda n: HEAD + each(n, "L{n}:\n") + RET,
    "branches": lambda n: HEAD + each(n, "L{n}:\ngoto (M1, 16) L{next}\n") + RET,
    "jumps over waiting channels": lambda n: (
        HEAD + each(n, "goto (M1, 16) L{n}\njmp (M1_NM, 1) E\n") + each(n, "L{n}:\n") + "E:\n" + RET
    ),
    "circles of subroutines": lambda n: (
        HEAD + RET + each(n, '.function "S{n}"\ncall (M1, 16) S{next}\nret (M1, 16)\n')
    ),
    "subroutines without an end": lambda n: HEAD + each(n, '.function "S{n}"\n') + RET,
    "functions": lambda n: (
        HEAD + RET + each(n, '.global_function "f{n}"\nfcall (M1, 16) f{next} 0 0\nfret (M1, 16)\n')
    ),
    "kernels": lambda n: (
        ".version 4.1\n"
        + each(n // 2, '.kernel "k{n}"\nfcall (M1, 16) f{n} 0 0\nret (M1, 1)\n')
        + each(n // 2, '.global_function "f{n}"\nfret (M1, 16)\n')
    ),
    "hidden names": lambda n: HEAD + f"{{{{\n.decl X {VARIABLE}\n}}}}\n".format() * n + RET,
    "comments": lambda n: HEAD + "/* x */ " * n + "\n" + RET,
    "continued lines": lambda n: HEAD + "ret \\\n" + "\\\n" * n + "(M1, 1)\n",
    "labels of a table": lambda n: (
        HEAD + declared(1) + "switchjmp (M1, 1) X0(0,0)<0;1,0> (" + each(n, "L{n},") + ")\n"
    ),
    "findings": lambda n: HEAD + declared(1) + "mov (M1, 1) X0(0,0)<1> 0x1:hf\n" * n + RET,
    "digits": lambda n: HEAD + "mov (M1, 1) X(0,0)<1> " + ("1" * 3999 + "x") * n + ":d\n",
    "braces": lambda n: HEAD + "{" * n + "}" * n + "\n" + RET,
    "a long name": lambda n: HEAD + "x" * 100 * n + "\n",
}


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions `work` calls."""
    count = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def calls_for(text: str) -> int:
    """Return how many functions are called to read, verify and report on a text."""
    data = text.encode()

    def work() -> None:
        contents, findings = examine_data(data, "growing", platform("pvc"))
        if contents is not None:
            check_links(contents)
        findings.render()

    return calls_of(work)


@pytest.mark.parametrize("what", GROWING)
def test_work_grows_with_the_input(what: str):
    make = GROWING[what]
    calls_for(make(SHORT))
    assert calls_for(make(LONG)) < MOST_GROWTH * calls_for(make(SHORT))


def text_of_attributes(count: int) -> Source:
    return Source("growing", HEAD + each(count, ".kernel_attr Own{n}={n}\n") + RET)


def module_of(count: int) -> Module:
    """Return a module with a kernel, and functions and variables of file scope."""
    variables = each(count, ".global_variable v{n} type=ud num_elts=1 align=dword\n")
    functions = each(count, '.global_function "f{n}"\nfret (M1, 16)\n')
    return read_text(
        Source("growing", f"{VERSION}{variables}{HEAD.removeprefix(VERSION)}{RET}{functions}")
    )


def library(count: int) -> bytes:
    """Return an archive whose members each need the next one."""
    lines = '.version 4.1\n.global_function "f{n}"\n{call}fret (M1, 16)\n'
    last = member(f"{count}/", lines.format(n=count, call="").encode())
    calls = (lines.format(n=n, call=f"fcall (M1, 16) f{n + 1} 0 0\n") for n in range(count))
    return MAGIC + b"".join(member(f"{n}/", text.encode()) for n, text in enumerate(calls)) + last


def test_reading_attributes_grows_with_their_number():
    def text(count: int) -> int:
        source = text_of_attributes(count)
        return calls_of(lambda: read_text(source))

    def stored(count: int) -> int:
        data = write_isa(read_text(text_of_attributes(count)), platform=PVC)
        return calls_of(lambda: read_isa(data, "growing", platform=PVC))

    for calls in (text, stored):
        calls(SHORT)
        assert calls(LONG) < MOST_GROWTH * calls(SHORT)


def test_objects_of_many_functions_and_variables_take_work_in_proportion():
    def written(count: int) -> int:
        module = module_of(count)
        return calls_of(lambda: write_isa(module, platform=PVC))

    def stored(count: int) -> int:
        data = write_isa(module_of(count), platform=PVC)
        return calls_of(lambda: read_isa(data, "growing", platform=PVC))

    for calls in (written, stored):
        calls(SHORT)
        assert calls(LONG) < MOST_GROWTH * calls(SHORT)


def test_reading_calls_of_many_subroutines_takes_work_in_proportion():
    def calls(count: int) -> int:
        called = each(count, "call (M1, 16) S{n}\n") + RET
        text = HEAD + called + each(count, '.function "S{n}"\nS{n}:\nret (M1, 16)\n')
        data = write_isa(read_text(Source("growing", text)), platform=PVC)
        return calls_of(lambda: read_isa(data, "growing", platform=PVC))

    calls(SHORT)
    assert calls(LONG) < MOST_GROWTH * calls(SHORT)


def test_searching_an_archive_grows_with_its_members():
    kernel = f"{HEAD}fcall (M1, 16) f0 0 0\n{RET}".encode()

    def calls(count: int) -> int:
        files = [kernel, library(count)]
        return calls_of(lambda: visim.link(files, platform="pvc"))

    calls(SHORT)
    assert calls(LONG) < MOST_GROWTH * calls(SHORT)


@pytest.mark.parametrize("repeated", ["undefined label", "unknown variable", "unknown function"])
def test_many_errors_are_cut_short(repeated: str):
    lines = {
        "undefined label": "goto (M1, 16) L{n}\n",
        "unknown variable": "mov (M1, 1) X{n}(0,0)<1> 0x1:d\n",
        "unknown function": "fcall (M1, 16) f{n} 0 0\n",
    }
    contents, findings = examine_data((HEAD + each(2000, lines[repeated])).encode(), "many", None)
    assert contents is not None
    assert len(findings) + len(check_links(contents)) < 1100


def test_a_long_line_is_shown_in_part():
    _, findings = examine_data((HEAD + "x" * 100_000 + "\n").encode(), "long", None)
    assert len(findings.render()) < 2000
