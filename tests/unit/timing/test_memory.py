"""Caches, lines, banks and memory: what is counted is exact, and ratios are as published."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.timing.memory_programs import (
    ONE_XE_CORE,
    addresses,
    ahead,
    kernel,
    load,
    observed,
    store,
    timed,
    use,
)
from visim.errors import UnsupportedError
from visim.timing import ARCHITECTURES, Timing, find_machine
from visim.timing.legaliser import legalise
from visim.timing.model import simulate_work
from visim.timing.occupancy import occupancy

LOCAL = [".kernel_attr SLMSize=64"]
XE = ["dg2", "mtl", "arl", "pvc", "lnl", "bmg", "ptl"]


def line_of(result, word):
    """Return the data of the only line that has a word in it."""
    (found,) = [line for line in result.lines if word in line.text]
    return found.data


@pytest.mark.parametrize(
    ("stride", "lines"), [(0, 1), (2, 1), (4, 1), (8, 2), (16, 4), (64, 16), (256, 16)]
)
def test_a_message_brings_each_line_that_its_channels_touch_once(stride, lines):
    result = timed(kernel([*addresses(stride, per_group=4096), load(0)]), "bmg", 3)
    found = line_of(result, "lsc_load")
    assert (found.site.ran, found.site.channels) == (3, 48)
    assert found.site.lines == 3 * lines
    assert found.l1 + found.l3 + found.memory == 3 * lines


@pytest.mark.parametrize(("pitch", "cycles"), [(4, 1), (8, 2), (64, 16), (68, 1), (0, 1), (2, 1)])
def test_words_of_one_bank_take_turns_and_equal_ones_are_read_once(pitch, cycles):
    """Sixteen banks of four bytes (Intel's guide): a pitch of 16 words has 1/16 of the rate."""
    body = [*addresses(pitch, per_group=0), load(0, unit="slm")]
    result = timed(kernel(body, platform="pvc", attributes=LOCAL), "pvc", 2)
    assert line_of(result, "lsc_load").site.cycles == 2 * cycles
    assert result.data.slm_cycles == 2 * cycles


def test_atomics_of_one_word_take_turns():
    atomic = "lsc_atomic_iinc.slm (M1, 16) D0:d32 flat[A]:a32 %null %null"
    result = timed(kernel([*addresses(0), atomic], platform="pvc", attributes=LOCAL), "pvc", 1)
    assert line_of(result, "lsc_atomic").site.cycles == 16


def test_the_second_time_lines_are_in_the_first_cache_and_stores_are_written_once():
    result = timed(kernel([*addresses(4), load(0), use(0), load(1), use(1), store(1)]), "bmg", 4)
    assert result.data.l1_hits == 8
    assert (result.data.l1_misses, result.data.l3_misses) == (4, 4)
    assert result.data.memory_bytes == 4 * 64


def test_a_cache_that_writes_through_sends_each_store_on():
    result = timed(kernel([*addresses(4), store(0), store(0)], platform="pvc"), "pvc", 4)
    assert (result.data.l3_hits, result.data.l3_misses) == (4, 4)


def test_lines_that_no_cache_can_hold_come_from_memory_again():
    body = [*addresses(64), *[line for _ in range(3) for line in (load(0), use(0))]]
    small = timed(kernel(body), "bmg", 64, data_l1_bytes=0, l3_bytes=4096)
    large = timed(kernel(body), "bmg", 64)
    assert large.data.memory_bytes == 64 * 16 * 64
    assert small.data.memory_bytes > 2 * large.data.memory_bytes
    assert small.cycles > large.cycles


def test_only_channels_that_are_on_touch_lines():
    declaration = [".decl P1 v_type=P num_elts=16"]
    few = [
        "cmp.lt (M1_NM, 16) P1 LANE(0,0)<1;1,0> 0x4:uw",
        "(P1) lsc_load.ugm (M1, 16) D0:d32 bti(0x0)[A]:a32",
    ]
    result = timed(kernel([*addresses(64), *few], declarations=declaration), "bmg", 1)
    assert (line_of(result, "lsc_load").site.channels, result.data.l1_misses) == (4, 4)


def test_messages_that_are_not_cached_pass_the_first_cache_by():
    uncached = "lsc_load.ugm.uc.uc (M1, 16) D0:d32 bti(0x0)[A]:a32"
    result = timed(kernel([*addresses(4), uncached, use(0), uncached, use(0)]), "bmg", 2)
    assert (result.data.l1_hits, result.data.l1_misses) == (0, 0)
    assert (result.data.l3_hits, result.data.l3_misses) == (2, 2)


def test_lines_of_a_block_of_two_dimensions_are_those_of_its_rows():
    """Eight rows of 64 bytes in memory with a pitch of 256, asked for before they are read."""
    plane = "flat[P, D, D(0,1), D(0,2), 0x0, 0x0]"
    names = [".decl P v_type=G type=uq num_elts=1 align=GRF", ".input P offset=64 size=8"]
    names += [".decl D v_type=G type=d num_elts=4 align=GRF"]
    names += [".decl B v_type=G type=ud num_elts=128 align=GRF"]
    body = [f"mov (M1_NM, 1) D(0,{i})<1> 0x{n - 1:x}:d" for i, n in enumerate((256, 8, 256))]
    block = f"lsc_load_block2d.ugm (M1_NM, 1) {{}}:d32.16x8nn {plane}"
    program = kernel([*body, block.format("%null"), block.format("B")], declarations=names)
    timing = Timing("bmg")
    given = np.zeros(1024, np.uint32)
    program.launch([given], thread_groups=1, group_size=1, observers=[timing])
    asked, read = [line.data for line in timing.result.lines if "block2d" in line.text]
    assert 8 <= asked.site.lines <= 16
    assert (read.l1, read.l1 + read.l3 + read.memory) == (asked.site.lines,) * 2


# Ratios that others have published


def transposed(pitch):
    """Return a kernel that writes rows of a tile in local memory and reads its columns."""
    body = []
    for _ in range(6):
        body += [*addresses(4, per_group=0), *[store(i, unit="slm") for i in range(8)]]
        body += [*addresses(pitch, per_group=0), *[load(i, unit="slm") for i in range(8)]]
        body += [use(i) for i in range(8)]
    return kernel(body, platform="pvc", attributes=[".kernel_attr SLMSize=2"])


def test_a_transpose_without_conflicts_is_several_times_as_fast():
    """Reads at 1/16 of the rate (Intel's guide), writes at the full one: at most 17 / 2."""
    conflicting, padded = (timed(transposed(pitch), "pvc", 64) for pitch in (64, 68))
    assert 4 < conflicting.cycles / padded.cycles < 8.5


def streamed(stride, count=32, **options):
    """Return a kernel that goes through memory, its channels `stride` bytes apart."""
    body = addresses(stride)
    for _ in range(0, count, 8):
        for i in range(8):
            body += [load(i, **options), ahead(0x10000)]
        body += [use(i) for i in range(8)]
    return kernel(body)


def test_coalesced_loads_beat_strided_ones_by_the_lines_that_they_need():
    """Sixteen lines a message against one, all from memory: at most 16 times."""
    near, far = (timed(streamed(stride), "bmg", 64, dram_rate=2000) for stride in (4, 64))
    assert far.data.memory_bytes == 16 * near.data.memory_bytes
    assert 12 < far.cycles / near.cycles < 16.5


def waiting(count=24):
    body = addresses(4)
    for _ in range(count):
        body += [load(0), use(0), ahead(0x10000)]
    return kernel(body)


def test_twice_the_threads_hide_twice_the_latency():
    """Eight threads of 128 registers against four of 256 (Intel's guide)."""
    many, few = (timed(waiting(), "bmg", 128, registers=count) for count in (128, 256))
    assert few.room.threads == 4
    assert many.room.threads == 8
    assert 1.7 < few.cycles / many.cycles < 2.1


def products(count, simd, chains):
    """Return chains of multiply-adds."""
    lines = [
        f"mad (M1, {simd}) D{i}(0,0)<1> D{i}(0,0)<1;1,0> D6(0,0)<1;1,0> D7(0,0)<1;1,0>"
        for i in range(chains)
    ]
    return kernel(lines * (count // chains), simd=simd)


def test_wide_instructions_of_xe2_have_the_rate_of_two_and_hide_twice_the_latency():
    """Native are 16 channels (Intel): full cores gain nothing, a lone thread nearly twice."""
    full = [
        timed(products(200, simd, 4), "bmg", groups, eus=1).cycles
        for simd, groups in ((16, 64), (32, 32))
    ]
    alone = [timed(products(200, simd, 1), "bmg", 1, eus=1).cycles for simd in (16, 32)]
    assert full[0] / full[1] == pytest.approx(1, abs=0.08)
    assert 1.7 < 2 * alone[0] / alone[1] < 2


def test_matrix_units_do_sixteen_times_the_operations_of_vectors():
    """839 against 52 TFLOPS of a Ponte Vecchio (Intel at Hot Chips 34)."""
    names = [f".decl M{i} v_type=G type=f num_elts=128 align=GRF" for i in range(4)]
    names += [f".decl O{i} v_type=G type=d num_elts=128 align=GRF" for i in range(2)]
    matrix = [f"dpas.bf.bf.8.8 (M1, 16) M{i % 4}.0 M{i % 4}.0 O0.0 O1(0,0)" for i in range(64)]
    vector = [
        f"mad (M1, 16) D{i % 6}(0,0)<1> D{i % 6}(0,0)<1;1,0> D6(0,0)<1;1,0> D7(0,0)<1;1,0>"
        for i in range(192)
    ]
    wide = kernel(matrix, platform="pvc", declarations=names)
    narrow = kernel(vector, platform="pvc")
    rates = [
        operations * 64 / timed(program, "pvc", 64, eus=1).cycles
        for program, operations in ((wide, 64 * 2 * 8 * 16 * 16), (narrow, 192 * 2 * 16))
    ]
    assert rates[0] / rates[1] == pytest.approx(839 / 52, rel=0.1)


def test_a_load_of_32_channels_waits_hardly_longer_than_one_of_16():
    """One cycle on a B580 (chipsandcheese.com, Battlemage)."""
    found = [
        timed(kernel([*addresses(4, simd=simd), load(0, simd=simd), use(0, simd=simd)], simd=simd),
              "bmg", 1).cycles
        for simd in (16, 32)
    ]  # fmt: skip
    assert 0 <= found[1] - found[0] <= 8


# Occupancy


@pytest.mark.parametrize(
    ("kilobytes", "threads", "limit"), [(0, 8, "threads"), (16, 8, "threads"), (33, 2.0, "slm")]
)
def test_local_memory_limits_threads_by_its_granules(kilobytes, threads, limit):
    """On pvc 33 KB are 48: two groups of eight threads in the 128 KB of eight cores."""
    program = kernel(["barrier"], platform="pvc", attributes=[f".kernel_attr SLMSize={kilobytes}"])
    result = timed(program, "pvc", 16, group_size=8)
    assert (result.room.threads, result.room.limit) == (threads, limit)
    at_once = max(
        sum(other.begin <= span.begin < other.end for other in result.spans)
        for span in result.spans
    )
    assert at_once == 8 * threads


def test_groups_without_barriers_are_limited_by_their_number_only():
    result = timed(kernel(["barrier"], platform="pvc"), "pvc", 8, group_size=2, barriers=3)
    assert (result.room.limit, result.room.threads) == ("barriers", 0.75)
    free = timed(kernel([use(0)], platform="pvc"), "pvc", 8, group_size=2, barriers=3)
    assert free.room.limit == "threads"


def test_registers_that_no_thread_can_have_are_an_error():
    with pytest.raises(UnsupportedError, match="300 registers, on bmg there are 256 at most"):
        timed(kernel([use(0)]), "bmg", 1, registers=300)


def test_panther_lake_has_ten_threads_of_few_registers():
    program = kernel([use(0)], platform="ptl")
    found = [timed(program, "ptl", 1, group_size=2, registers=n).room for n in (96, 128, 160)]
    assert [room.threads for room in found] == [10, 8, 6]


# Ranges, both simulations, monotony


def test_the_result_lies_in_its_range_and_the_range_is_of_the_uncertain_numbers():
    timing = observed(waiting(), "dg2", 8, parameters={"eus": 16})
    result = timing.on(timing.machine, ranged=True)
    fast, slow = result.range
    assert fast < result.cycles < slow
    certain = timing.machine.with_facts(
        {name: fact.value for name, fact in timing.machine.facts.items() if fact.range}
    )
    assert timing.on(certain, ranged=True).range == (result.cycles, result.cycles)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_ranges_hold_their_values_and_begin_at_the_faster_end(arch):
    """Of latencies the smaller end is the faster one, of all else the larger."""
    for name, fact in find_machine(arch).facts.items():
        if fact.range is not None:
            fast, slow = fact.range
            assert min(fact.range) <= fact.value <= max(fact.range), name
            assert (fast <= slow) == ("latency" in name or name == "memory"), name


LINES = st.sampled_from(
    [
        *(load(0), load(1), store(1), use(0), use(1), ahead(64), ahead(4096)),
        *(load(0, unit="slm"), store(1, unit="slm"), "barrier"),
        "lsc_atomic_iinc.ugm (M1, 16) D0:d32 bti(0x0)[A]:a32 %null %null",
    ]
)


@settings(max_examples=12, deadline=None)
@given(
    body=st.lists(LINES, min_size=1, max_size=14),
    stride=st.sampled_from([0, 4, 12, 64]),
    arch=st.sampled_from(XE),
    shape=st.tuples(st.integers(1, 9), st.integers(1, 3)),
    caches=st.sampled_from([{}, {"data_l1_bytes": 2048, "l3_bytes": 4096}, {"l3_bytes": 0}]),
)
def test_native_code_counts_the_same(body, stride, arch, shape, caches):
    program = kernel([*addresses(stride), *body], platform=arch, attributes=LOCAL)
    groups, size = shape
    parameters = {"eus": 3, **caches}
    timing = observed(program, arch, groups, group_size=size, parameters=parameters)
    native = legalise(timing._kernel, timing.machine)
    plain, fast = (
        simulate_work(native, timing._work(native), events=300, use_compiled=chosen)
        for chosen in (False, True)
    )
    assert plain.to_dict() == fast.to_dict()
    assert plain.events == fast.events


@settings(max_examples=10, deadline=None)
@given(
    strides=st.lists(st.sampled_from([0, 4, 8, 64, 100]), min_size=1, max_size=4),
    name=st.sampled_from(["l3_latency", "dram_latency", "data_l1_latency", "slm_latency"]),
    more=st.integers(1, 400),
)
def test_longer_latencies_are_never_faster_for_one_thread(strides, name, more):
    body = [line for stride in strides for line in (*addresses(stride), load(0), use(0))]
    body += [*addresses(4), load(1, unit="slm"), use(1)]
    timing = observed(kernel(body, attributes=LOCAL), "bmg", 1)
    slower = timing.machine.with_facts({name: timing.machine.number(name) + more})
    assert timing.on(slower).cycles >= timing.result.cycles


def test_messages_have_fixed_latencies_where_caches_are_not_wanted():
    fixed = observed(streamed(64), "bmg", 8, caches=False)
    assert fixed.result.data is None
    assert fixed.result.cycles == observed(streamed(4), "bmg", 8, caches=False).result.cycles


def test_occupancy_counts_groups_of_a_subslice():
    timing = observed(kernel(["barrier"], platform="dg2"), "dg2", 4, group_size=4)
    native = legalise(timing._kernel, timing.machine)
    found = occupancy(timing.machine, timing._work(native), True)
    assert (found.threads, found.slots, found.limit) == (8, 8, "threads")
    assert found.share == 1


# Prefetches


def fetched(ahead_of, count=16, predicate=""):
    """Return a kernel that asks for what comes later in a cache line of its own, or does not."""
    body = addresses(4)
    for _ in range(count):
        if ahead_of:
            place = f"bti(0x0)[A+0x{ahead_of:x}]:a32"
            body.append(f"{predicate}lsc_load.ugm.ca.ca (M1, 16) %null:d32 {place}")
        body += [load(0), use(0), *[use(1)] * 40, ahead(0x1000)]
    return kernel(body, declarations=[".decl P1 v_type=P num_elts=16"])


@pytest.mark.parametrize("engine", ["jit", "interpreter"])
def test_prefetched_lines_are_in_the_first_cache_and_the_kernel_is_faster(engine):
    """The compiler's guide: prefetches hide the latency of memory where there are few threads."""
    results = []
    for distance in (0, 0x2000):
        timing = observed(fetched(distance), "bmg", 4, engine=engine)
        results.append(timing.result)
    without, with_them = results
    assert without.data.l1_hits == 0
    assert with_them.data.l1_hits == 4 * 14
    assert 0.3 < with_them.cycles / without.cycles < 0.7


@pytest.mark.parametrize("engine", ["jit", "interpreter"])
def test_prefetches_of_no_channel_ask_for_nothing(engine):
    timing = observed(fetched(0x2000, predicate="(P1) "), "bmg", 2, engine=engine)
    (*_, line) = [line for line in timing.result.lines if "%null" in line.text]
    assert line.data is None
    assert timing.result.data.l1_hits == 0


@pytest.mark.parametrize("caches", [True, False])
def test_local_memory_answers_thirty_two_channels_after_sixteen(caches):
    """28 and 45 cycles, as Intel's finalizer has them; 32 words take a cycle more in 16 banks."""
    cycles = []
    for simd in (16, 32):
        body = [*addresses(4, simd=simd), load(0, unit="slm", simd=simd), use(0, simd=simd)]
        program = kernel(body, simd=simd, attributes=[".kernel_attr SLMSize=1"])
        timing = Timing("bmg", parameters=ONE_XE_CORE, caches=caches)
        program.launch([], thread_groups=1, observers=[timing])
        cycles.append(timing.result.cycles)
    assert 45 - 28 <= cycles[1] - cycles[0] <= 45 - 28 + 8
