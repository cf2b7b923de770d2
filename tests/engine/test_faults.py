"""Threads of a group, and how runs stop: each fault names what happened and where."""

from __future__ import annotations

import numpy as np
import pytest

from .harness import assemble, run
from .values import d, slot, zeros


class TestThreads:
    """Page BARRIER; specification 3, Shared Local Memory."""

    EXCHANGE = """
        mov (M1_NM, 1) V45(0,0)<1> V40(0,0)<0;1,0>
        shl (M1_NM, 1) V42(0,0)<1> V40(0,0)<0;1,0> 0x2:ud
        lsc_store.slm (M1_NM, 1) flat[V42]:a32 V45:d32
        barrier
        add (M1_NM, 1) V43(0,0)<1> V40(0,0)<0;1,0> 0x1:ud
        and (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0x3:ud
        shl (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0x2:ud
        lsc_load.slm (M1_NM, 1) V44:d32 flat[V43]:a32
        mov (M1_NM, 1) V46(0,0)<1> V42(0,0)<0;1,0>
        add (M1_NM, 1) V46(0,0)<1> V41(0,0)<0;1,0> V46(0,0)<0;1,0>
        lsc_store.ugm (M1_NM, 1) flat[V46]:a64 V44:d32
    """

    def exchange(self, seed: int) -> np.ndarray:
        out = np.full(4, 99, np.uint32)
        given = {"V40": slot([0, 1, 2, 3])}
        given |= {name: zeros(1, "uint32") for name in ("V42", "V43", "V44", "V45")}
        given |= {"V46": zeros(1, "uint64")}
        ended = run(
            self.EXCHANGE, given, platform="pvc", buffers={"V41": out}, slm_bytes=64, seed=seed
        )
        assert ended.exit.fault is None
        assert (ended.exit.threads, ended.exit.groups) == (4, 1)
        return out

    @pytest.mark.parametrize("seed", range(6))
    def test_threads_read_what_others_stored_before_the_barrier(self, seed):
        assert list(self.exchange(seed)) == [1, 2, 3, 0]

    def test_a_seed_permutes_the_threads(self):
        body = """
            lsc_atomic_iinc.ugm (M1_NM, 1) V42:d32 flat[V41]:a64 %null %null
            shl (M1_NM, 1) V43(0,0)<1> V40(0,0)<0;1,0> 0x2:uq
            add (M1_NM, 1) V43(0,0)<1> V41(0,0)<0;1,0> V43(0,0)<0;1,0>
            lsc_store.ugm (M1_NM, 1) flat[V43 + 0x4]:a64 V42:d32
        """
        orders = set()
        for seed in range(8):
            out = zeros(5, "uint32")
            given = {"V40": slot([0, 1, 2, 3]), "V42": zeros(1, "uint32")}
            ended = run(
                body,
                given | {"V43": zeros(1, "uint64")},
                platform="pvc",
                buffers={"V41": out},
                seed=seed,
            )
            assert ended.exit.fault is None
            assert out[0] == 4
            assert sorted(out[1:]) == [0, 1, 2, 3]
            orders.add(tuple(out[1:]))
            if seed == 0:
                assert list(out[1:]) == [0, 1, 2, 3]
        assert len(orders) > 1

    def test_channels_that_wait_behind_a_barrier_meet_the_others_there(self):
        body = """
            (P1) goto (M1, 8) end
            barrier
            end:
            add (M1_NM, 1) V41(0,0)<1> V41(0,0)<0;1,0> 0x1:ud
        """
        ended = run(body, {"V41": slot([0, 0])}, {"P1": 0x0F}, simd=8)
        assert ended.exit.fault is None
        assert ended["V41"][0] == 1

    def test_a_barrier_that_some_threads_never_reach_is_a_fault(self):
        body = """
            cmp.eq (M1_NM, 1) P1 V40(0,0)<0;1,0> 0x1:ud
            (P1) jmp (M1, 1) end
            barrier
            end:
        """
        ended = run(body, {"V40": slot([0, 1, 2])}, {"P1": 0}, simd=8)
        fault = ended.fault
        assert (fault.category, fault.code) == ("undefined", "barrier-deadlock")
        assert ended.faulting_line == "barrier"
        assert "threads [0, 2]" in fault.message
        assert "threads [1] ended" in fault.message


class TestFaults:
    """A fault names what happened, where, and to which channel."""

    def test_a_budget_that_runs_out_names_the_loop(self):
        body = """
            again:
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:d
            goto (M1, 1) again
        """
        ended = run(body, {"V40": zeros(8)}, simd=8, budget=100)
        fault = ended.fault
        assert (fault.category, fault.code) == ("out-of-contract", "instruction-budget")
        assert 49 <= ended["V40"][0] <= 51
        assert ended.faulting_line.startswith(("add", "goto", "again"))

    def test_a_budget_that_is_just_enough_is_no_fault(self):
        ended = run("mov (M1, 8) V40(0,0)<1> 0x1:d", {"V40": zeros(8)}, simd=8, budget=2)
        assert ended.exit.fault is None
        assert ended.exit.executed == 2

    def test_a_jump_over_waiting_channels_is_a_fault(self):
        # Specification 3, Mixing Uniform and Divergent Control Flow.
        body = """
            (P1) goto (M1, 8) here
            jmp (M1, 1) end
            here:
            mov (M1, 8) V40(0,0)<1> 0x1:d
            end:
        """
        ended = run(body, {"V40": zeros(8)}, {"P1": 0x0F}, simd=8)
        assert (ended.fault.category, ended.fault.code) == ("undefined", "jump-over-waiting")
        assert ended.faulting_line == "jmp (M1, 1) end"
        assert run(body, {"V40": zeros(8)}, {"P1": 0}, simd=8).exit.fault is None

    def test_a_jump_to_the_label_where_channels_wait_is_fine(self):
        body = """
            (P1) goto (M1, 8) end
            jmp (M1, 1) end
            mov (M1, 8) V40(0,0)<1> 0x1:d
            end:
            add (M1, 8) V40(0,0)<1> V40(0,0)<1;1,0> 0x2:d
        """
        assert list(run(body, {"V40": zeros(8)}, {"P1": 0x0F}, simd=8)["V40"]) == [2] * 8

    def test_a_load_beyond_its_buffer_names_channel_address_and_line(self):
        body = """
            mov (M1, 8) V42(0,0)<1> V40(0,0)<1;1,0>
            shl (M1, 8) V42(0,0)<1> V42(0,0)<1;1,0> 0x2:uq
            add (M1, 8) V42(0,0)<1> V42(0,0)<1;1,0> V41(0,0)<0;1,0>
            lsc_load.ugm (M1, 8) V43:d32 flat[V42]:a64
        """
        data = np.arange(4, dtype=np.uint32)
        given = {"V40": d(0, 1, 2, 3, 0, 5, 0, 7), "V42": zeros(8, "uint64"), "V43": zeros(8)}
        ended = run(body, given, simd=8, platform="pvc", buffers={"V41": data})
        fault = ended.fault
        assert (fault.category, fault.code) == ("undefined", "memory-access")
        assert (fault.channel, fault.size, fault.buffer) == (5, 4, "V41")
        assert fault.address == data.ctypes.data + 20
        assert fault.distance == 4
        assert (fault.kernel, fault.group, fault.thread) == ("k", (0, 0, 0), 0)
        assert ended.faulting_line == "lsc_load.ugm (M1, 8) V43:d32 flat[V42]:a64"

    def test_channels_that_are_off_do_not_access_memory(self):
        data = np.arange(8, dtype=np.uint32)
        given = {"V42": np.full(8, data.ctypes.data, np.uint64), "V43": zeros(8)}
        given["V42"][3] = 0
        body = "lsc_load.ugm (M1, 8) V43:d32 flat[V42]:a64"
        on = run(body, given, simd=8, platform="pvc", buffers={"V41": data})
        assert (on.fault.channel, on.fault.address) == (3, 0)
        off = run(body, given, simd=8, platform="pvc", buffers={"V41": data}, mask=0xF7)
        assert off.exit.fault is None

    def test_a_fault_of_the_upper_half_counts_channels_of_the_thread(self):
        given = {"V42": zeros(16, "uint64"), "V43": zeros(16)}
        body = "lsc_load.ugm (M5, 16) V43:d32 flat[V42]:a64"
        ended = run(body, given, simd=32, platform="pvc", mask=0x0004_0000)
        assert ended.fault.channel == 18

    def test_an_instruction_that_is_not_executed_stops_the_run_when_it_is_reached(self):
        body = """
            (P1) goto (M1, 8) end
            dpas.s8.u8.8.8 (M1, 8) V40.0 V41.0 V42.0 V43(0,0)
            end:
        """
        given = {name: zeros(64) for name in ("V40", "V41", "V42", "V43")}
        ended = run(body, given, {"P1": 0}, simd=8, platform="skl")
        assert ended.fault.category == "unsupported"
        assert ended.faulting_line.startswith("dpas")
        assert run(body, given, {"P1": 0xFF}, simd=8, platform="skl").exit.fault is None

    def test_an_endless_recursion_is_a_fault(self):
        function = """
            .global_function "f"
            .funcdecl "f"
            .function "f_0"
            f_0:
                fcall (M1, 8) f 0 0
                fret (M1, 8)
        """
        ended = run("fcall (M1, 8) f 0 0", {}, simd=8, functions=function)
        assert (ended.fault.category, ended.fault.code) == ("out-of-contract", "call-depth")

    def test_control_that_runs_off_the_end_is_a_fault(self):
        # Specification 3: a kernel ends by a return.
        text = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=d num_elts=8 align=wordx32
.kernel_attr SimdSize=8
.function "k"
k:
    mov (M1, 8) V40(0,0)<1> 0x1:d
"""
        ended = assemble(text).run({"V40": zeros(8)})
        assert ended.fault.category == "undefined"
        assert list(ended["V40"]) == [1] * 8
