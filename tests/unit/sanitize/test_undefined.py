"""What languages leave undefined, in bare vISA kernels on both engines."""

import numpy as np
import pytest

import visim
from visim.errors import ArgumentError, FaultError
from visim.sanitize.kinds import read_kinds

TEXT = """\
.version 3.6
.kernel "k"
.kernel_attr SimdSize=8
.decl V32 v_type=G type={type} num_elts=8 align=GRF
.decl V33 v_type=G type={type} num_elts=8 align=GRF
.decl V34 v_type=G type=d num_elts=8 align=GRF
.decl V35 v_type=G type=f num_elts=8 align=GRF
.input V32 offset=32 size=32
.input V33 offset=64 size=32
{line}
ret (M1, 8)
"""
VALUES = [8, 0, 31, 32, -1, 3, 64, 7]
ENGINES = ("interpreter", "jit")


def launched(line, values, engine, kind="d", dtype=np.int32, **options):
    program = visim.assemble(TEXT.format(line=line, type=kind), platform="tgllp")
    given = np.array(values, dtype).tobytes()
    options = {"engine": engine, "sanitize": "undefined", **options}
    return program.kernels[0].launch([given, given], **options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "kind", "channel", "count"),
    [
        ("div (M1, 8) V34(0,0)<1> V32(0,0)<1;1,0> V33(0,0)<1;1,0>", "division-by-zero", 1, 1),
        ("mod (M1, 8) V34(0,0)<1> V32(0,0)<1;1,0> V33(0,0)<1;1,0>", "division-by-zero", 1, 1),
        ("shl (M1, 8) V34(0,0)<1> V32(0,0)<1;1,0> V33(0,0)<1;1,0>", "shift-range", 3, 3),
        ("asr (M1, 8) V34(0,0)<1> V32(0,0)<1;1,0> V33(0,0)<1;1,0>", "shift-range", 3, 3),
        ("mov (M1, 8) V34(0,0)<1> %null(0,0)<1;1,0>", "null-operand", None, 1),
    ],
)
def test_each_kind_is_found_with_its_channel(engine, line, kind, channel, count):
    (finding,) = launched(line, VALUES, engine).findings
    assert (finding.kind, finding.severity, finding.count) == (kind, "note", count)
    assert finding.actors[0].channel == channel
    assert finding.locations[0][1] == 10


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "line",
    [
        "shl (M1, 8) V34(0,0)<1> V32(0,0)<1;1,0> 0x1f:d",
        "rol (M1, 8) V34(0,0)<1> V32(0,0)<1;1,0> V33(0,0)<1;1,0>",
        "mov (M1, 8) %null(0,0)<1> V32(0,0)<1;1,0>",
        "add (M1, 8) V34(0,0)<1> V32(0,0)<1;1,0> V33(0,0)<1;1,0>",
    ],
)
def test_what_is_meant_is_no_finding(engine, line):
    assert launched(line, VALUES, engine).findings == ()


CONVERT = "mov{sat} (M1, 8) V34(0,0)<1> V32(0,0)<1;1,0>"


@pytest.mark.parametrize("engine", ENGINES)
def test_floats_that_no_int_is_are_found(engine):
    values = [1e10, -1e10, np.nan, np.inf, -2147483648, 2.5, -0.5, 2147483520]
    (finding,) = launched(CONVERT.format(sat=""), values, engine, "f", np.float32).findings
    assert (finding.kind, finding.count) == ("conversion-range", 4)
    assert launched(CONVERT.format(sat=".sat"), values, engine, "f", np.float32).findings == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_note_can_be_made_an_error(engine):
    line = "div (M1, 8) V34(0,0)<1> V32(0,0)<1;1,0> V33(0,0)<1;1,0>"
    (finding,) = launched(line, VALUES, engine, sanitize_errors="division-*").findings
    assert finding.severity == "error"
    assert finding.counts
    with pytest.raises(FaultError) as caught:
        launched(line, VALUES, engine, sanitize_errors="division-by-zero", sanitize_stop=True)
    assert caught.value.fault.code == "division-by-zero"
    assert launched(line, VALUES, engine, sanitize_stop=True).findings[0].severity == "note"


def test_kinds_are_named_by_patterns():
    assert read_kinds("*-range, misaligned") == ("shift-range", "conversion-range", "misaligned")
    assert read_kinds(()) == ()
    with pytest.raises(ArgumentError, match="did you mean 'misaligned'"):
        read_kinds("misalined")
    with pytest.raises(ArgumentError, match="expected names"):
        read_kinds(7)
