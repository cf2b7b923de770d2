"""Several files as one program: C's linkage, archives, and smaller results."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import visim
from visim.binary.isafile import NativeCode, native_code, read_isa, write_isa
from visim.binary.isaheader import read_header, write_header
from visim.diag import Source
from visim.errors import ArgumentError, InputError, LinkError, UnsupportedError
from visim.module import Linkage, Module
from visim.target import platform
from visim.text import read_text, show_module

SKL = platform("skl")
EXAMPLE = Path(__file__).parents[3] / "examples" / "linking"
ENGINES = pytest.mark.parametrize("engine", ["interpreter", "jit"])

HEAD = ".version 4.1\n"
#: A kernel that writes one dword, what `total` holds after a call of `add`.
KERNEL = """
.extern_variable total type=ud num_elts=8 align=GRF
.kernel "k"
.funcdecl "add"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl SUM v_type=G type=ud num_elts=8 align=GRF alias=<total, 0>
.input OUT offset=32 size=8
.kernel_attr Target="cm"
.kernel_attr SimdSize=8
mov (M1, 8) SUM(0,0)<1> 0x1:ud
fcall (M1, 8) add 0 0
fcall (M1, 8) add 0 0
svm_block_st (2) OUT(0,0)<0;1,0> SUM.0
ret (M1, 8)
"""
ADD = """
.global_variable total type=ud num_elts=8 align=GRF
.global_function "add"
.decl SUM v_type=G type=ud num_elts=8 align=GRF alias=<total, 0>
.kernel_attr Target="cm"
add (M1, 8) SUM(0,0)<1> SUM(0,0)<1;1,0> 0x{amount:x}:ud
fret (M1, 8)
"""


def part(text: str) -> bytes:
    return (HEAD + text).encode()


def object_of(text: str) -> bytes:
    return write_isa(read_text(Source("part", HEAD + text)), platform=SKL)


def function(name: str, *body: str, word: str = "global") -> str:
    return "\n".join([f'.{word}_function "{name}"', *body, "fret (M1, 8)", ""])


def kernel(name: str, *body: str) -> str:
    return "\n".join([f'.kernel "{name}"', *body, "ret (M1, 8)", ""])


def module_of(program: visim.Program) -> Module:
    return read_isa(program.to_object(), "linked.isa", platform=SKL)


def result_of(program: visim.Program, engine: str = "interpreter") -> list[int]:
    out = np.zeros(8, np.uint32)
    program["k"].launch([out], thread_groups=1, engine=engine)
    return out.tolist()


# Variables of file scope


@ENGINES
@pytest.mark.parametrize("make", [part, object_of], ids=["texts", "objects"])
def test_all_units_share_a_variable_of_file_scope(make, engine: str):
    sources = [make(KERNEL), make(ADD.format(amount=2))]
    for order in (sources, sources[::-1]):
        assert result_of(visim.link(order, platform="skl"), engine) == [5] * 8


@ENGINES
def test_a_kernel_alone_can_have_variables_of_file_scope(engine: str):
    text = KERNEL.replace(".extern_", ".static_").replace("fcall (M1, 8) add 0 0\n", "")
    text = text.replace(".kernel ", ".static_variable more type=ud num_elts=8 align=GRF\n.kernel ")
    more = ".decl MORE v_type=G type=ud num_elts=8 align=GRF alias=<more, 0>\n.input"
    lines = "mov (M1, 8) MORE(0,0)<1> 0x7:ud\nsvm_block_st"
    text = text.replace(".input", more).replace("svm_block_st", lines)
    program = visim.assemble(HEAD + text.replace('.funcdecl "add"\n', ""), platform="skl")
    assert result_of(program, engine) == [1] * 8


def test_the_linked_object_has_the_variables_and_relocations():
    program = visim.link([part(KERNEL), part(ADD.format(amount=2))], platform="skl")
    module = module_of(program)
    assert [(v.variable.name, v.linkage) for v in module.variables] == [("total", Linkage.GLOBAL)]
    assert module.externals == ()
    data = program.to_object()
    # After the kernel's offsets: one variable (1 is place 0), one function (string 33 is place 0).
    assert data[8:11] == b"\x01\x00k"
    assert data[23:35] == b"\1\0\1\0\0\0\1\0\x21\0\0\0"
    again = visim.load(data, platform="skl")
    assert result_of(again) == [5] * 8
    assert visim.assemble(again.text(), platform="skl").text() == again.text()


def test_a_part_is_read_and_written_but_its_kernel_does_not_run():
    loaded = visim.load(object_of(KERNEL), platform="skl")
    assert loaded.info()["externals"] == ["add"]
    assert loaded.info()["variables"][0]["linkage"] == "extern"
    assert not visim.verify(object_of(KERNEL), platform="skl").errors
    with pytest.raises(LinkError, match="'add' is not part of the program") as caught:
        result_of(loaded)
    assert "file-scope variable 'total' is not part of the program" in str(caught.value)


def test_declarations_have_to_agree():
    other = ADD.format(amount=2).replace("num_elts=8 align=GRF\n.gl", "num_elts=16 align=GRF\n.gl")
    message = r"declares total as 8 of ud, align GRF, .* defines total as 16 of ud, align GRF"
    with pytest.raises(LinkError, match=message):
        visim.link([part(KERNEL), part(other)], platform="skl")


# Who sees what


def test_static_functions_of_two_files_do_not_meet():
    one = kernel("a", '.funcdecl "f"', "fcall (M1, 8) f 0 0") + function("f", word="static")
    two = kernel("b", '.funcdecl "f"', "fcall (M1, 8) f 0 0") + function(
        "f", "yield", word="static"
    )
    module = module_of(visim.link([part(one), part(two)], platform="skl"))
    assert [unit.name for unit in module.units] == ["a", "b", "f", "f_2"]
    assert [unit.linkage for unit in module.functions] == [Linkage.STATIC, Linkage.STATIC]
    called = [unit.body[0].show() for unit in module.kernels]
    assert called == ["fcall (M1, 8) f 0 0", "fcall (M1, 8) f_2 0 0"]
    assert [len(unit.body) for unit in module.functions] == [1, 2]


def test_static_variables_of_two_files_do_not_meet():
    static = ADD.replace(".global_variable", ".static_variable")
    main = KERNEL.replace(".extern_", ".static_").replace("fcall (M1, 8) add 0 0\n", "", 1)
    program = visim.link([part(main), part(static.format(amount=3))], platform="skl")
    assert [v.variable.name for v in module_of(program).variables] == ["total", "total_2"]
    assert result_of(program) == [1] * 8


def test_a_static_function_is_not_seen_by_others():
    helper = function("add", word="static")
    main = kernel("k", '.funcdecl "add"', "fcall (M1, 8) add 0 0")
    with pytest.raises(LinkError, match="needs the function 'add', which none of the files"):
        visim.link([part(main), part(helper)], platform="skl")


# What is wrong


def test_a_duplicate_names_both_files(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.visaasm").write_text(HEAD + function("f"))
    message = r"'f' is defined in .*a\.visaasm and in .*b\.visaasm"
    with pytest.raises(LinkError, match=message):
        visim.link(sorted(tmp_path.iterdir()), platform="skl")


def test_two_definitions_of_a_variable_are_refused():
    other = ".global_variable total type=ud num_elts=8 align=GRF\n" + kernel("other")
    with pytest.raises(LinkError, match="'total' is defined in <bytes> and in <bytes>"):
        visim.link([part(ADD.format(amount=1)), part(other)], platform="skl")


def test_an_undefined_name_names_the_file_and_the_nearest(tmp_path: Path):
    main = tmp_path / "main.visaasm"
    main.write_text(HEAD + KERNEL)
    other = part(ADD.format(amount=1).replace('"add"', '"adds"').replace(" total ", " totals "))
    with pytest.raises(LinkError) as caught:
        visim.link([main, other.replace(b"<total,", b"<totals,")], platform="skl")
    text = str(caught.value)
    assert f"{main} needs the function 'add', which none of the files defines" in text
    assert "did you mean 'adds'?" in text
    assert f"{main} needs the variable 'total', which none of the files defines" in text


def test_an_address_is_taken_of_what_is_declared():
    handle = ".decl V32 v_type=G type=ud num_elts=1 align=dword"
    text = kernel("k", '.funcdecl "f"', handle, "faddr g V32(0,0)<1>")
    with pytest.raises(LinkError, match="k takes the address of 'g', which the file neither has"):
        visim.load(part(text), platform="skl")


def test_an_undeclared_function_is_refused_in_a_part():
    text = kernel("k", '.funcdecl "f"', "fcall (M1, 8) g 0 0")
    with pytest.raises(LinkError, match="k calls 'g', which the file neither has nor declares"):
        visim.load(part(text), platform="skl")


def test_files_for_different_devices_are_refused():
    codes = {"skl": 5, "pvc": 14}
    sources = [
        write_isa(
            read_text(Source(name, HEAD + kernel(name))),
            platform=platform(name),
            native={name: (NativeCode(code, b"gen"),)},
        )
        for name, code in codes.items()
    ]
    with pytest.raises(ArgumentError, match="is for skl, <bytes> for pvc; link files for one"):
        visim.link(sources)


def test_zebins_are_refused():
    with pytest.raises(UnsupportedError, match="only vISA texts and objects can be linked"):
        visim.link([EXAMPLE.parent / "saxpy" / "saxpy.zebin"])


def test_extensions_are_refused_where_the_reading_is_strict():
    sources = [part(KERNEL), part(ADD.format(amount=1))]
    with pytest.raises(InputError, match="extern_variable is an extension of visim") as caught:
        visim.link(sources, platform="skl", strict=True)
    assert len(caught.value.diagnostics.errors) == 2


# Gen code


def test_gen_code_of_kernels_that_call_nothing_is_kept():
    text = kernel("k", '.funcdecl "f"', "fcall (M1, 8) f 0 0") + kernel("alone") + function("f")
    code = (NativeCode(5, b"code"),)
    module = read_text(Source("part", HEAD + text))
    data = write_isa(module, platform=SKL, native={"k": code, "alone": code})
    linked = visim.link([data, part(kernel("other"))]).to_object()
    assert native_code(linked, "linked.isa") == {"k": (), "alone": code, "other": ()}


# Archives


def archive_of(tmp_path: Path, members: dict[str, bytes]) -> Path:
    for name, data in members.items():
        (tmp_path / name).write_bytes(data)
    words = ["ar", "rc", "lib.a", *members]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    return tmp_path / "lib.a"


def test_members_of_an_archive_take_part_when_they_are_needed(tmp_path: Path):
    members = {
        "add.isa": object_of(ADD.format(amount=4)),
        "a_member_with_a_long_name.visaasm": part(function("unused")),
    }
    library = archive_of(tmp_path, members)
    for sources in ([library, part(KERNEL)], [part(KERNEL), library]):
        program = visim.link(sources, platform="skl")
        assert program.functions == ("add",)
        assert result_of(program) == [9] * 8


def test_an_archive_alone_gives_its_kernels_and_what_they_need(tmp_path: Path):
    members = {
        "k.visaasm": part(KERNEL),
        "add.visaasm": part(ADD.format(amount=1)),
        "f.visaasm": part(function("f")),
    }
    program = visim.link([archive_of(tmp_path, members)], platform="skl")
    assert program.functions == ("add",)


def test_a_broken_member_is_named(tmp_path: Path):
    library = archive_of(tmp_path, {"bad.visaasm": b"nothing"})
    with pytest.raises(InputError, match=r"lib\.a\(bad\.visaasm\)"):
        visim.link([library], platform="skl")


# Smaller results


def test_gc_drops_what_no_kernel_needs():
    text = (
        ".global_variable unused type=ud num_elts=1\n"
        + kernel("k", '.funcdecl "f"', "fcall (M1, 8) f 0 0")
        + function("f", ".decl V32 v_type=G type=uq num_elts=1", "faddr g V32(0,0)<1>")
        + function("g", "fcall (M1, 8) h 0 0")
        + function("h")
        + function("lonely", "fcall (M1, 8) h 0 0")
    )
    whole = visim.link([part(text)], platform="skl")
    assert whole.functions == ("f", "g", "h", "lonely")
    small = visim.link([part(text)], platform="skl", gc=True)
    assert small.functions == ("f", "g", "h")
    assert module_of(small).variables == ()
    assert module_of(small).kernels[0].function_declarations == ("f", "g", "h")


def test_strip_drops_names_and_lines_and_keeps_the_meaning():
    sources = [EXAMPLE / "kernel.visaasm", EXAMPLE / "fib.visaasm"]
    whole = visim.link(sources, platform="skl")
    small = visim.link(sources, platform="skl", strip=True)
    assert len(small.to_object()) < len(whole.to_object())
    text = small.text()
    assert not {"KNOWN", "SUM", "keep", "known", "main"} & set(text.replace("(", " ").split())
    assert [unit.name for unit in module_of(small).units] == ["fibonacci", "fib"]
    assert read_text(Source("again", text)) == read_text(
        Source("again", show_module(module_of(small)))
    )
    out = np.zeros(32, np.uint32)
    small["fibonacci"].launch([out, 10], thread_groups=1)
    assert out[:11].tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55]


def test_strip_drops_source_lines():
    text = kernel("k", 'FILE "a.cl"', "LOC 3", "yield")
    assert 'FILE "a.cl"' in visim.link([part(text)], platform="skl").text()
    assert "LOC" not in visim.link([part(text)], platform="skl", strip=True).text()


# The example


@ENGINES
def test_the_example_runs(tmp_path: Path, engine: str):
    names = ("kernel", "fib")
    for name in names:
        program = visim.load(EXAMPLE / f"{name}.visaasm", platform="skl")
        program.write(tmp_path / f"{name}.isa")
    files = [tmp_path / f"{name}.isa" for name in names]
    visim.link(files, platform="skl").write(tmp_path / "fibonacci.isa")
    linked = visim.load(tmp_path / "fibonacci.isa", platform="skl")
    assert not visim.verify(tmp_path / "fibonacci.isa", platform="skl").errors
    out = np.zeros(32, np.uint32)
    linked["fibonacci"].launch([out, 20], thread_groups=2, engine=engine)
    assert out[:21].tolist() == fibonacci(20)


def fibonacci(last: int) -> list[int]:
    found = [0, 1]
    while len(found) <= last:
        found.append(found[-1] + found[-2])
    return found


def object_with_symbol(text: str, symbol: str) -> bytes:
    """Return an object whose variable `total` has another name of five characters."""
    data = object_of(text)
    header = read_header(data, "part")
    named = tuple(replace(entry, name=symbol) for entry in header.variables)
    return write_header(replace(header, variables=named)) + data[len(write_header(header)) :]


def test_symbols_that_a_text_cannot_hold_are_told_apart():
    """Both are called alike in their files, which replaced the names, but are not one variable."""
    files = [object_with_symbol(KERNEL, "a.sum"), object_with_symbol(ADD.format(amount=3), "c.sum")]
    with pytest.raises(LinkError, match=r"the variable 'a\.sum', which none of the files defines"):
        visim.link(files, platform="skl")


def test_symbols_that_a_text_cannot_hold_are_found():
    other = ".global_variable total type=ud num_elts=8 align=GRF\n"
    first = object_with_symbol(other + KERNEL.replace("total", "value"), "a.sum")
    header = read_header(first, "part")
    variables = (replace(header.variables[0], name="c.sum"), header.variables[1])
    first = write_header(replace(header, variables=variables)) + first[len(write_header(header)) :]
    linked = visim.link([first, object_with_symbol(ADD.format(amount=3), "a.sum")], platform="skl")
    out = np.zeros(8, np.uint32)
    linked["k"].launch([out], thread_groups=1)
    assert list(out) == [7] * 8


MEETING = """
.{word}_variable t type=ud num_elts=8 align=GRF
.kernel "k"
.funcdecl "f"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl L v_type=G type=ud num_elts=8 align=GRF alias=<t, 0>
.input OUT offset=32 size=8
.kernel_attr Target="cm"
.kernel_attr SimdSize=8
mov (M1, 8) L(0,0)<1> 0x1:ud
fcall (M1, 8) f 0 0
svm_block_st (2) OUT(0,0)<0;1,0> L.0
ret (M1, 8)
"""
MET = """
.global_function "f"
.decl t v_type=G type=ud num_elts=8 align=GRF
.decl P v_type=G type=ud num_elts=8 align=GRF alias=<t, 0>
.kernel_attr Target="cm"
mov (M1, 8) P(0,0)<1> 0x9:ud
fret (M1, 8)
"""


@pytest.mark.parametrize("word", ["static", "global"])
def test_variables_of_a_unit_do_not_meet_those_of_other_files(word: str):
    linked = visim.link([part(MEETING.format(word=word)), part(MET)], platform="skl")
    for program in (linked, visim.assemble(linked.text(), platform="skl")):
        found = np.zeros(8, np.uint32)
        program["k"].launch([found])
        assert (found == 1).all()


CALLER = '.kernel "k"\n.funcdecl "f"\n.kernel_attr SimdSize=8\nfcall (M1, 8) f {} {}\nret (M1, 8)\n'
CALLEE = '.global_function "f"\n.kernel_attr ArgSize=2\n.kernel_attr RetValSize=1\n{}fret (M1, 8)\n'


@pytest.mark.parametrize(
    ("sizes", "message"),
    [((1, 1), "1 registers of arguments"), ((2, 0), "0 registers of results"), ((3, 1), "has 3")],
)
def test_a_call_passes_what_a_function_of_another_file_takes(sizes, message):
    files = [part(CALLER.format(*sizes)), part(CALLEE.format(""))]
    with pytest.raises(LinkError, match=message) as caught:
        visim.link(files, platform="skl")
    assert [one.code for one in caught.value.diagnostics] == ["call-sizes"]


def test_a_function_that_calls_others_may_have_room_for_theirs():
    callee = CALLEE.format("fcall (M1, 8) f 2 1\n")
    linked = visim.link([part(CALLER.format(1, 0)), part(callee)], platform="skl")
    assert [kernel.name for kernel in linked.kernels] == ["k"]
