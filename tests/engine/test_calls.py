"""Calls of subroutines and functions, worked by hand (specification 3; pages CALL, FCALL)."""

from __future__ import annotations

import numpy as np

from .harness import run
from .values import d, ones_at, zeros


class TestSubroutines:
    """Specification 3, Subroutine and Function Calls; pages CALL, RET."""

    def test_a_predicated_call_runs_with_its_channels_only(self):
        body = """
            (P1) call (M1, 8) S
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0x10:d
            ret (M1, 1)
            .function "S"
            S:
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:d
            ret (M1, 8)
        """
        ended = run(body, {"V40": zeros(8)}, {"P1": 0x0F}, simd=8)
        assert list(ended["V40"]) == [17, 17, 17, 17, 16, 16, 16, 16]

    def test_a_call_for_no_channel_does_not_happen(self):
        body = """
            (P1) call (M1, 8) S
            ret (M1, 1)
            .function "S"
            S:
            mov (M1_NM, 8) V40(0,0)<1> 0x1:d
            ret (M1, 8)
        """
        assert ones_at(run(body, {"V40": zeros(8)}, {"P1": 0xF0}, simd=8, mask=0x0F), "V40") == []

    def test_early_returns_wait_for_the_last_channel_and_restore_the_mask(self):
        body = """
            call (M1, 8) S
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0x10:d
            add (M1_NM, 1) V41(0,0)<1> V41(0,0)<0;1,0> 0x1:d
            ret (M1, 1)
            .function "S"
            S:
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:d
            (P1) ret (M1, 8)
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0x2:d
            (P2) ret (M1, 8)
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0x4:d
            ret (M1, 8)
        """
        bits = {"P1": 0x03, "P2": 0x0F}
        ended = run(body, {"V40": zeros(8), "V41": zeros(1)}, bits, simd=8, mask=0x3F)
        assert list(ended["V40"]) == [17, 17, 19, 19, 23, 23, 0, 0]
        assert ended["V41"][0] == 1

    def test_channels_that_wait_outside_do_not_take_part(self):
        # A subroutine's labels stand behind the label where the others wait.
        body = """
            (P1) goto (M1, 8) end
            call (M1, 8) S
            end:
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> V40(0,0)<1;1,0>
            ret (M1, 1)
            .function "S"
            S:
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:d
            ret (M1, 1)
        """
        ended = run(body, {"V40": np.full(8, 10, np.int32)}, {"P1": 0x55}, simd=8)
        assert list(ended["V40"]) == [20, 22, 20, 22, 20, 22, 20, 22]


FACTORIAL = """
    .global_function "factorial"
    .funcdecl "factorial"
    .decl N v_type=G type=d num_elts=8 align=wordx32
    .decl OWN v_type=G type=d num_elts=8 align=wordx32
    .decl ARG v_type=G type=d num_elts=8 align=wordx32 alias=<%arg, 0>
    .decl RET v_type=G type=d num_elts=8 align=wordx32 alias=<%retval, 0>
    .decl P1 v_type=P num_elts=8
    .function "factorial_0"
    factorial_0:
        mov (M1, 8) N(0,0)<1> ARG(0,0)<1;1,0>
        mov (M1, 8) RET(0,0)<1> 0x1:d
        cmp.le (M1, 8) P1 N(0,0)<1;1,0> 0x1:d
        (P1) fret (M1, 8)
        add (M1, 8) ARG(0,0)<1> N(0,0)<1;1,0> -0x1:d
        fcall (M1, 8) factorial 1 1
        mul (M1, 8) RET(0,0)<1> RET(0,0)<1;1,0> N(0,0)<1;1,0>
        fret (M1, 8)
"""
SUM = """
    .global_function "sum"
    .funcdecl "sum"
    .decl OWN v_type=G type=d num_elts=16 align=wordx32
    .decl SEEN v_type=G type=d num_elts=8 align=wordx32
    .decl ARG v_type=G type=d num_elts=8 align=wordx32 alias=<%arg, 0>
    .decl RET v_type=G type=d num_elts=8 align=wordx32 alias=<%retval, 0>
    .decl A0 v_type=A num_elts=1
    .decl P1 v_type=P num_elts=8
    .function "sum_0"
    sum_0:
        addr_add (M1, 1) A0(0)<1> &OWN 0x4:uw
        add (M1, 8) SEEN(0,0)<1> OWN(0,1)<1;1,0> ARG(0,0)<1;1,0>
        mov (M1, 8) r[A0(0),0]<1>:d SEEN(0,0)<1;1,0>
        cmp.eq (M1, 8) P1 ARG(0,0)<1;1,0> 0x0:d
        mov (M1, 8) RET(0,0)<1> 0x64:d
        (P1) fret (M1, 8)
        addr_add (M1, 1) A0(0)<1> &ARG 0x0:uw
        add (M1, 8) r[A0(0),0]<1>:d r[A0(0),0]<1;1,0>:d -0x1:d
        fcall (M1, 8) sum 1 1
        addr_add (M1, 1) A0(0)<1> &OWN 0x4:uw
        add (M1, 8) RET(0,0)<1> RET(0,0)<1;1,0> r[A0(0),0]<1;1,0>:d
        fret (M1, 8)
"""
INTERFACE = """
    .decl ARG v_type=G type=d num_elts=8 align=wordx32 alias=<%arg, 0>
    .decl RET v_type=G type=d num_elts=8 align=wordx32 alias=<%retval, 0>
"""


class TestFunctions:
    """Specification 3, Subroutine and Function Calls; pages FCALL, FRET, IFCALL, FADDR."""

    def test_each_activation_has_variables_of_its_own(self):
        body = """
            mov (M1, 8) ARG(0,0)<1> V40(0,0)<1;1,0>
            fcall (M1, 8) factorial 1 1
            mov (M1, 8) V40(0,0)<1> RET(0,0)<1;1,0>
        """
        given = {"V40": d(0, 1, 2, 3, 4, 5, 6, 7)}
        ended = run(body, given, simd=8, declarations=INTERFACE, functions=FACTORIAL)
        assert list(ended["V40"]) == [1, 1, 2, 6, 24, 120, 720, 5040]

    def test_variables_of_a_new_activation_are_zero(self):
        function = """
            .global_function "count"
            .funcdecl "count"
            .decl OWN v_type=G type=d num_elts=8 align=wordx32
            .decl ARG v_type=G type=d num_elts=8 align=wordx32 alias=<%arg, 0>
            .decl RET v_type=G type=d num_elts=8 align=wordx32 alias=<%retval, 0>
            .decl P1 v_type=P num_elts=8
            .function "count_0"
            count_0:
                add (M1, 8) OWN(0,0)<1> OWN(0,0)<1;1,0> 0x1:d
                add (M1, 8) RET(0,0)<1> RET(0,0)<1;1,0> OWN(0,0)<1;1,0>
                add (M1, 8) ARG(0,0)<1> ARG(0,0)<1;1,0> -0x1:d
                cmp.gt (M1, 8) P1 ARG(0,0)<1;1,0> 0x0:d
                (P1) fcall (M1, 8) count 1 1
                fret (M1, 8)
        """
        body = """
            mov (M1, 8) ARG(0,0)<1> 0x3:d
            fcall (M1, 8) count 1 1
            mov (M1, 8) V40(0,0)<1> RET(0,0)<1;1,0>
        """
        ended = run(body, {"V40": zeros(8)}, simd=8, declarations=INTERFACE, functions=function)
        # Three activations add 1 each; sharing OWN would give 1 + 2 + 3.
        assert list(ended["V40"]) == [3] * 8

    def test_a_call_in_divergent_code_returns_values_to_its_channels(self):
        body = """
            mov (M1, 8) ARG(0,0)<1> V40(0,0)<1;1,0>
            (P1) fcall (M1, 8) factorial 1 1
            (P1) mov (M1, 8) V40(0,0)<1> RET(0,0)<1;1,0>
        """
        given = {"V40": d(0, 1, 2, 3, 4, 5, 6, 7)}
        ended = run(body, given, {"P1": 0xAA}, simd=8, declarations=INTERFACE, functions=FACTORIAL)
        assert list(ended["V40"]) == [0, 1, 2, 6, 4, 120, 6, 5040]

    def test_each_activation_has_variables_of_its_own_that_addresses_reach(self):
        body = """
            mov (M1, 8) ARG(0,0)<1> 0x3:d
            fcall (M1, 8) sum 1 1
            mov (M1, 8) V40(0,0)<1> RET(0,0)<1;1,0>
        """
        given = {"V40": zeros(8)}
        ended = run(body, given, simd=8, declarations=INTERFACE, functions=SUM)
        assert list(ended["V40"]) == [100 + 1 + 2 + 3] * 8

    def test_an_indirect_call_goes_where_the_handle_leads(self):
        body = """
            faddr factorial HANDLE(0,0)<1>
            mov (M1, 8) ARG(0,0)<1> 0x4:d
            ifcall (M1, 8) HANDLE(0,0)<0;1,0> 1 1
            mov (M1, 8) V40(0,0)<1> RET(0,0)<1;1,0>
        """
        declarations = f"{INTERFACE}.decl HANDLE v_type=G type=uq num_elts=1 align=qword"
        ended = run(
            body,
            {"V40": zeros(8)},
            simd=8,
            declarations=declarations,
            functions=FACTORIAL,
        )
        assert list(ended["V40"]) == [24] * 8

    def test_a_handle_of_nothing_is_a_fault(self):
        ended = run("ifcall (M1, 8) V40(0,0)<0;1,0> 0 0", {"V40": np.array([8], np.uint64)}, simd=8)
        assert (ended.fault.category, ended.fault.code) == ("undefined", "bad-function-handle")

    def test_a_function_that_is_made_for_fewer_channels_is_named_where_they_do_not_return(self):
        functions = """
            .global_function "half"
            .kernel_attr SimdSize=8
            .function "half"
            half:
            fret (M1, 8)
        """
        ended = run("fcall (M1, 16) half 0 0", functions=functions)
        assert "'half' is made for 8 channels (SimdSize), the kernel has 16" in ended.fault.message
        assert "channels 8 to 15 do not return" in ended.fault.message
