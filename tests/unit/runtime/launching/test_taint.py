"""On request a report says whether inexact values reached a branch, an address or the output."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built_anew

HEAD = """.version 4.1
.kernel "k"
.decl p v_type=G type=uq num_elts=1 align=qword
.decl x v_type=G type=f num_elts=8 align=GRF
.decl y v_type=G type=f num_elts=8 align=GRF
.decl n v_type=G type=ud num_elts=8 align=GRF
.decl w v_type=G type=uw num_elts=16 align=GRF alias=<n, 0>
.decl a v_type=G type=uq num_elts=8 align=GRF
.decl i v_type=G type=uq num_elts=8 align=GRF
.decl P1 v_type=P num_elts=8
.decl A0 v_type=A num_elts=1
.decl T6 v_type=T num_elts=1
.input p offset=32 size=8
.kernel_attr SimdSize=8
    mov (M1, 8) i(0,0)<1> 0x76543210:uv
    shl (M1, 8) i(0,0)<1> i(0,0)<1;1,0> 0x2:uq
    add (M1, 8) a(0,0)<1> i(0,0)<1;1,0> p(0,0)<0;1,0>
    svm_gather.4.1 (M1, 8) a.0 x.0
"""
STORE = "    svm_scatter.4.1 (M1, 8) a.0 y.0\n"
END = "    ret (M1, 1)\n"


def sinks(body, **options):
    kernel = visim.assemble(HEAD + body + END, platform="skl")["k"]
    data = np.arange(1, 65, dtype=np.float32)
    report = kernel.launch([data], collect=("taint",), **options)
    return {use.sink for use in report.taint}, report


def test_exact_values_reach_nothing():
    body = "    mul (M1, 8) y(0,0)<1> x(0,0)<1;1,0> x(0,0)<1;1,0>\n" + STORE
    found, report = sinks(body)
    assert found == set()
    assert "inexact values reached no branch, no address and no output" in str(report)


def test_an_inexact_value_that_is_stored_reaches_the_output():
    found, report = sinks("    exp (M1, 8) y(0,0)<1> x(0,0)<1;1,0>\n" + STORE)
    assert found == {"output"}
    [use] = report.taint
    assert use.instruction.startswith("svm_scatter")
    assert (use.line, use.count) == (20, 1)
    assert report.to_dict()["taint"] == [use.to_dict()]


def test_it_goes_through_arithmetic_comparisons_and_selections():
    body = """
    exp (M1, 8) y(0,0)<1> x(0,0)<1;1,0>
    add (M1, 8) y(0,0)<1> y(0,0)<1;1,0> x(0,0)<1;1,0>
    cmp.gt (M1, 8) P1 y(0,0)<1;1,0> 0x0:f
    (P1) sel (M1, 8) y(0,0)<1> x(0,0)<1;1,0> 0x0:f
"""
    assert sinks(body + STORE)[0] == {"output"}


def test_overwriting_a_register_ends_it():
    body = """
    exp (M1, 8) y(0,0)<1> x(0,0)<1;1,0>
    mov (M1, 8) y(0,0)<1> x(0,0)<1;1,0>
"""
    assert sinks(body + STORE)[0] == set()


def test_channels_are_told_apart():
    body = """
    mov (M1, 8) y(0,0)<1> x(0,0)<1;1,0>
    exp (M1, 4) y(0,4)<1> x(0,4)<1;1,0>
    cmp.lt (M1, 8) P1 x(0,0)<1;1,0> 0x40a00000:f
"""
    low = "    (P1) svm_scatter.4.1 (M1, 8) a.0 y.0\n"
    high = "    (!P1) svm_scatter.4.1 (M1, 8) a.0 y.0\n"
    assert sinks(body + low)[0] == set()
    assert sinks(body + high)[0] == {"output"}


@pytest.mark.parametrize("branch", ["(P1) goto (M1, 8) end", "(P1) jmp (M1, 1) end"])
def test_a_branch_on_an_inexact_comparison_is_named(branch):
    body = f"""
    log (M1, 8) y(0,0)<1> x(0,0)<1;1,0>
    cmp.gt (M1, 8) P1 y(0,0)<1;1,0> 0x7f800000:f
    {branch}
end:
"""
    assert sinks(body)[0] == {"branch"}


def test_an_address_from_an_inexact_value_is_named_and_so_is_what_it_loads():
    body = """
    log (M1, 8) y(0,0)<1> x(0,0)<1;1,0>
    rndd (M1, 8) y(0,0)<1> y(0,0)<1;1,0>
    mov (M1, 8) n(0,0)<1> y(0,0)<1;1,0>
    shl (M1, 8) n(0,0)<1> n(0,0)<1;1,0> 0x2:ud
    add (M1, 8) i(0,0)<1> n(0,0)<1;1,0> p(0,0)<0;1,0>
    svm_gather.4.1 (M1, 8) i.0 y.0
"""
    assert sinks(body)[0] == {"address"}
    assert sinks(body + STORE)[0] == {"address", "output"}


def test_register_addresses_are_addresses():
    body = """
    exp (M1, 1) y(0,0)<1> 0x0:f
    mov (M1, 8) n(0,0)<1> y(0,0)<0;1,0>
    addr_add (M1, 1) A0(0)<1> &x w(0,0)<0;1,0>
    shl (M1, 1) n(0,0)<1> n(0,0)<0;1,0> 0x2:ud
    addr_add (M1, 1) A0(0)<1> &x w(0,0)<0;1,0>
    mov (M1, 1) y(0,0)<1> r[A0(0),0]<0;1,0>:f
"""
    assert sinks(body)[0] == {"address"}


def test_it_is_remembered_in_memory():
    store = "    svm_scatter.4.1 (M1, 8) a.0 y.0\n"
    body = f"""
    exp (M1, 8) y(0,0)<1> x(0,0)<1;1,0>
{store}
    svm_gather.4.1 (M1, 8) a.0 x.0
    cmp.gt (M1, 8) P1 x(0,0)<1;1,0> 0x7f800000:f
    (P1) goto (M1, 8) end
end:
"""
    assert sinks(body)[0] == {"branch", "output"}


def test_each_launch_begins_clean():
    kernel = visim.assemble(
        HEAD + "    mov (M1, 8) y(0,0)<1> x(0,0)<1;1,0>\n" + STORE + END, platform="skl"
    )["k"]
    data = np.ones(64, np.float32)
    bound = kernel.bind([data], collect=("taint",))
    assert bound().taint == ()
    assert bound().taint == ()


def test_opencl_kernels_with_functions_and_local_memory():
    source = """
kernel void k(global float *out, global const float *in, local float *shared) {
    int i = get_local_id(0);
    shared[i] = native_exp(in[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = shared[63 - i];
    if (shared[i] > 2.0f) out[i] += 1.0f;
}
"""
    kernel = built_anew(source, "skl")["k"]
    data = np.linspace(0, 1, 64, dtype=np.float32)
    arguments = [np.zeros(64, np.float32), data, visim.Local(256)]
    report = kernel.launch(arguments, global_size=64, local_size=64, collect="taint")
    assert "output" in {use.sink for use in report.taint}


def test_images_are_tainted_as_a_whole():
    source = """
constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_NEAREST | CLK_ADDRESS_CLAMP;
kernel void put(write_only image2d_t image, float exponent) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(image, at, (float4)(native_exp2(exponent)));
}
kernel void look(read_only image2d_t image, global float *out) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float4 found = read_imagef(image, nearest, convert_int2(native_exp2(convert_float2(at))));
    out[get_global_id(0)] = found.x;
}
"""
    program = built_anew(source, "skl")
    image = visim.Image(np.ones((4, 8, 4), np.float32))
    sizes = {"global_size": (8, 4), "local_size": (8, 1), "collect": ("taint",)}
    report = program["put"].launch([image, np.float32(1)], **sizes)
    assert {use.sink for use in report.taint} == {"output"}
    report = program["look"].launch([image, np.zeros(8, np.float32)], **sizes)
    assert {use.sink for use in report.taint} == {"address", "output"}


def test_the_jit_says_that_it_does_not_follow_it():
    with pytest.raises(visim.UnsupportedError, match="only the interpreter follows taint"):
        sinks(STORE, engine="jit")
