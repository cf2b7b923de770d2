"""Uninitialised values of programs in vISA text, on both engines: uses, and what is none."""

import numpy as np
import pytest

import visim
from visim.sanitize.uninit.rules import RULES
from visim.sem.uops import UOPS, Group

ENGINES = pytest.mark.parametrize("engine", ["interpreter", "jit"])

HEAD = """\
.version 3.6
.kernel "k"
.kernel_attr SimdSize=16
.kernel_attr SLMSize=1
.decl V32 v_type=G type=uq num_elts=1 align=GRF
.decl V33 v_type=G type=uq num_elts=1 align=GRF
.decl V34 v_type=G type=ud num_elts=16 align=GRF
.decl V35 v_type=G type=ud num_elts=16 align=GRF
.decl V36 v_type=G type=uq num_elts=16 align=GRF
.decl V37 v_type=G type=ud num_elts=16 align=GRF
.decl P1 v_type=P num_elts=16
.input V32 offset=64 size=8
.input V33 offset=72 size=8
mov (M1, 16) V34(0,0)<1> 0x76543210:uv
add (M1, 8) V34(0,8)<1> V34(0,0)<1;1,0> 0x8:ud
shl (M1, 16) V34(0,0)<1> V34(0,0)<1;1,0> 0x2:ud
mov (M1, 16) V36(0,0)<1> V34(0,0)<1;1,0>
add (M1, 16) V36(0,0)<1> V36(0,0)<1;1,0> V33(0,0)<0;1,0>
"""
"""V34 is 4 times the channel, V36 the address of the channel's dword in the second buffer."""

STORE = "lsc_store.ugm (M1, 16) flat[V36]:a64 V35:d32\nret (M1, 16)\n"
FIRST = 19


def findings(body: str, engine: str, *, undefined: bool = False) -> tuple[visim.Finding, ...]:
    kernel = visim.assemble(HEAD + body, platform="pvc").kernels[0]
    given = np.zeros(16, np.uint32)
    first = visim.Uninitialised(given) if undefined else given
    launched = kernel.launch(
        [first, np.zeros(16, np.uint32)], group_size=1, engine=engine, sanitize="uninit"
    )
    return launched.findings


def test_every_micro_operation_has_a_rule():
    assert set(RULES) == {name for name, uop in UOPS.items() if uop.group is not Group.LEAF}


LOAD_SLM = "lsc_load.slm (M1, 16) V35:d32 flat[V34]:a32\n"
STORE_SLM = "lsc_store.slm (M1, 16) flat[V34]:a32 V37:d32\n"
DEFINE = "mov (M1, 16) V37(0,0)<1> 0x3:ud\n"


@ENGINES
def test_local_memory_is_undefined_until_it_is_written(engine: str):
    (finding,) = findings(LOAD_SLM + STORE, engine)
    assert (finding.kind, finding.severity) == ("uninit-local", "error")
    assert [line for _, line in finding.locations] == [FIRST + 1, FIRST]
    assert findings(DEFINE + STORE_SLM + LOAD_SLM + STORE, engine) == ()


@ENGINES
@pytest.mark.parametrize(
    ("between", "count"),
    [
        ("and (M1, 16) V35(0,0)<1> V35(0,0)<1;1,0> 0x0:ud\n", 0),
        ("xor (M1, 16) V35(0,0)<1> V35(0,0)<1;1,0> V35(0,0)<1;1,0>\n", 0),
        ("or (M1, 16) V35(0,0)<1> V35(0,0)<1;1,0> 0xffffffff:ud\n", 0),
        (
            "shl (M1, 16) V35(0,0)<1> V35(0,0)<1;1,0> 0x10:ud\nand (M1, 16) "
            "V35(0,0)<1> V35(0,0)<1;1,0> 0xffff:ud\n",
            0,
        ),
        (
            "cmp.eq (M1, 16) P1 V35(0,0)<1;1,0> V35(0,0)<1;1,0>\n"
            "(P1) sel (M1, 16) V35(0,0)<1> 0x1:ud 0x2:ud\n",
            0,
        ),
        ("add (M1, 16) V35(0,0)<1> V35(0,0)<1;1,0> 0x1:ud\n", 1),
        ("and (M1, 16) V35(0,0)<1> V35(0,0)<1;1,0> 0x10:ud\n", 1),
        (
            "cmp.lt (M1, 16) P1 V35(0,0)<1;1,0> 0x5:ud\n"
            "(P1) sel (M1, 16) V35(0,0)<1> 0x1:ud 0x2:ud\n",
            1,
        ),
        (
            "cmp.lt (M1, 16) P1 V35(0,0)<1;1,0> 0x5:ud\n"
            "(P1) sel (M1, 16) V35(0,0)<1> 0x1:ud 0x1:ud\n",
            0,
        ),
    ],
)
def test_bits_decide_what_is_undefined(engine: str, between: str, count: int):
    assert len(findings(LOAD_SLM + between + STORE, engine)) == count


@ENGINES
def test_branches_and_addresses_are_uses(engine: str):
    branch = (
        "cmp.lt (M1, 16) P1 V35(0,0)<1;1,0> 0x5:ud\n(P1) goto (M1, 16) there\n"
        "mov (M1, 16) V37(0,0)<1> 0x1:ud\nthere:\nret (M1, 16)\n"
    )
    (finding,) = findings(LOAD_SLM + branch, engine)
    assert "goes where a value says" in finding.message
    address = (
        "and (M1, 16) V35(0,0)<1> V35(0,0)<1;1,0> 0x3c:ud\n"
        "lsc_load.slm (M1, 16) V37:d32 flat[V35]:a32\nret (M1, 16)\n"
    )
    (finding,) = findings(LOAD_SLM + address, engine)
    assert "address" in finding.message


@ENGINES
def test_registers_that_nothing_writes_are_private_variables(engine: str):
    (finding,) = findings("mov (M1, 16) V35(0,0)<1> V37(0,0)<1;1,0>\n" + STORE, engine)
    assert finding.kind == "uninit-private"


@ENGINES
def test_what_of_a_register_is_not_written_is_not_defined(engine: str):
    half = "mov (M1, 8) V35(0,0)<1> 0x3:ud\n"
    (finding,) = findings(half + STORE, engine)
    assert (finding.kind, finding.actors[0].channel) == ("uninit-private", 8)
    assert findings(half + "mov (M1, 8) V35(0,8)<1> 0x4:ud\n" + STORE, engine) == ()


@ENGINES
def test_buffers_keep_which_bytes_are_written(engine: str):
    load = "mov (M1, 16) V36(0,0)<1> V34(0,0)<1;1,0>\n"
    load += "add (M1, 16) V36(0,0)<1> V36(0,0)<1;1,0> V32(0,0)<0;1,0>\n"
    text = HEAD + load + "lsc_load.ugm (M1, 16) V35:d32 flat[V36]:a64\n" + STORE
    reads = visim.assemble(text, platform="pvc").kernels[0]
    writes = visim.assemble(HEAD + DEFINE.replace("V37", "V35") + STORE, platform="pvc").kernels[0]
    given, other = np.zeros(16, np.uint32), np.zeros(16, np.uint32)
    buffer = visim.Uninitialised(given)

    def launch(kernel: visim.Kernel, *arguments: object) -> tuple[visim.Finding, ...]:
        report = kernel.launch(list(arguments), group_size=1, engine=engine, sanitize="uninit")
        return report.findings

    (finding,) = launch(reads, buffer, other)
    assert (finding.kind, finding.buffer) == ("uninit-global", "V32")
    assert "V32[0] of 16" in finding.message
    assert not buffer.written.any()
    assert launch(writes, other, buffer) == ()
    assert buffer.written.all()
    assert launch(reads, buffer, other) == ()


def test_what_a_launch_marks_does_not_stay():
    assert len(findings(LOAD_SLM + STORE, "jit")) == 1
    assert findings(DEFINE.replace("V37", "V35") + STORE, "jit", undefined=True) == ()


def test_only_memory_can_be_uninitialised():
    with pytest.raises(visim.ArgumentError, match="Uninitialised"):
        visim.Uninitialised(np.zeros((4, 4))[:, 1])


@ENGINES
def test_an_instruction_without_line_says_behind_which_one_it_is(engine: str):
    (finding,) = findings('FILE "a.cl"\nLOC 4\n' + LOAD_SLM + "LOC 0\n" + STORE, engine)
    use, read = finding.places
    assert (use.text or "").endswith("(has no line; behind a.cl:4)")
    assert (read.file, read.line) == ("a.cl", 4)


@ENGINES
def test_what_is_kept_in_local_memory_is_told_with_its_first_read(engine: str):
    again = "mov (M1, 16) V37(0,0)<1> V35(0,0)<1;1,0>\n" + STORE_SLM
    lines = ('FILE "a.cl"\nLOC 4\n' + LOAD_SLM, "LOC 5\n" + again, "LOC 6\n" + LOAD_SLM)
    (finding,) = findings("".join(lines) + "LOC 7\n" + STORE, engine)
    assert [place.line for place in finding.places] == [7, 6, 4]
