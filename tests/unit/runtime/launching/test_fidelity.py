"""A report says of each instruction form that ran what its results are worth."""

from __future__ import annotations

import pytest

import visim

pytestmark = pytest.mark.usefixtures("each_engine")

TEXT = """.version 4.1
.kernel "k"
.decl a v_type=G type=f num_elts=64 align=GRF
.decl b v_type=G type=d num_elts=64 align=GRF
exp (M1, 8) a(0,0)<1> a(0,0)<1;1,0>
exp (M1, 8) a(0,0)<1> a(0,0)<1;1,0>
add (M1, 8) a(0,0)<1> a(0,0)<1;1,0> a(0,0)<1;1,0>
cmp.lt (M1, 8) b(0,0)<1> b(0,0)<1;1,0> 0x1:d
dpas.hf.hf.8.8 (M1, 8) a.0 a.0 b.0 b(0,0)
dpas.s8.u8.8.8 (M1, 8) b.0 b.0 b.0 b(0,0)
ret (M1, 1)
"""
EXACT = TEXT.replace("exp", "rndd").replace("dpas.hf.hf.8.8 (M1, 8) a.0 a.0 b.0 b(0,0)\n", "")


def kernel(text):
    return visim.assemble(text, platform="dg2")["k"]


def test_each_form_has_its_count_and_its_worth():
    report = kernel(TEXT).launch([], thread_groups=3, collect=("fidelity",))
    found = {use.form: (use.count, use.exactness, use.is_exact) for use in report.fidelity}
    assert found == {
        "add:f": (3, "exact", True),
        "cmp.lt:d": (3, "exact", True),
        "dpas.hf.hf:f": (
            3,
            "implementation-defined: order and rounding of the accumulation "
            "(docs/spec-notes.md#matrix-products)",
            False,
        ),
        "dpas.s8.u8:d": (3, "exact", True),
        "exp:f": (6, "within 0.51 ULP (computed in double precision, rounded once)", False),
        "ret": (3, "exact", True),
    }


def test_a_run_that_has_to_be_exact_names_what_was_not():
    with pytest.raises(visim.FaultError) as caught:
        kernel(TEXT).launch([], thread_groups=1, require_exact=True)
    assert "exp:f (within 0.51 ULP" in str(caught.value)
    assert "dpas.hf.hf:f (implementation-defined" in str(caught.value)
    assert "add:f" not in str(caught.value)


def test_integers_of_dpas_are_exact():
    report = kernel(EXACT).launch([], thread_groups=1, require_exact=True)
    assert all(use.is_exact for use in report.fidelity)
    assert "every instruction that ran is bit-exact" in str(report)


@pytest.mark.parametrize(
    "line",
    [
        "and.sat (M1, 8) b(0,0)<1> b(0,0)<1;1,0> 0x1:d",
        "mod (M1, 8) a(0,0)<1> a(0,0)<1;1,0> a(0,0)<1;1,0>",
        "add (M1, 8) b(0,0)<1> a(0,0)<1;1,0> a(0,0)<1;1,0>",
        "frc (M1, 8) b(0,0)<1> b(0,0)<1;1,0>",
        "dpas.hf.bf.8.8 (M1, 8) a.0 a.0 b.0 b(0,0)",
    ],
)
def test_what_the_pages_do_not_allow_is_not_loaded(line):
    with pytest.raises(visim.InputError):
        kernel(EXACT.replace("ret", f"{line}\nret"))
