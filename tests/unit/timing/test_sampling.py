"""Large launches by a sample of their groups (visim.timing.sampling, visim.timing.warming)."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built
from visim.engine.observers import BlockPlace, ThreadPath
from visim.timing import Timing, find_machine
from visim.timing.sampling import KEPT, Sampler, part_of
from visim.timing.warming import footprint_of

SOURCE = """
kernel void turns(global int *out, int most) {
    int i = get_global_id(0);
    int count = get_group_id(0) % 4 ? most : 3 * most, v = i;
    for (int k = 0; k < count; k++)
        v = v * 3 + k;
    out[i] = v;
}
kernel void add(global float *y, global const float *x, float a) {
    int i = get_global_id(0);
    y[i] += a * x[i];
}
"""


def timed(kernel, arguments, items, *, sample, arch="tgl", ranged=False):
    timing = Timing(arch, sample=sample)
    launch = {"global_size": items, "local_size": 64, "observers": [timing]}
    built(SOURCE, "tgllp")[kernel].launch(arguments, **launch)
    return timing.on(timing.machine, ranged=ranged)


class TestWholeLaunches:
    @pytest.mark.parametrize(
        ("kernel", "others"),
        [("turns", [60]), ("add", [np.ones(1 << 17, np.float32), np.float32(2)])],
    )
    def test_the_truth_is_within_the_stated_error(self, kernel, others):
        items = 1 << 17
        first = np.zeros(items, np.int32 if kernel == "turns" else np.float32)
        whole = timed(kernel, [first, *others], items, sample=False)
        found = timed(kernel, [first, *others], items, sample=True)
        assert found.sample is not None
        assert found.sample.groups < found.sample.of / 4
        assert found.sample.of == items // 64
        assert found.native < whole.native / 4
        assert abs(found.sample.cycles / whole.cycles - 1) < found.sample.error

    def test_a_small_launch_is_timed_as_a_whole(self):
        arguments = [np.zeros(1 << 12, np.int32), 20]
        whole = timed("turns", arguments, 1 << 12, sample=False)
        found = timed("turns", arguments, 1 << 12, sample=True)
        assert found.sample is None
        assert found.cycles == whole.cycles

    def test_the_range_holds_the_estimate(self):
        found = timed("turns", [np.zeros(1 << 17, np.int32), 20], 1 << 17, sample=True, ranged=True)
        assert found.sample is not None
        assert found.range[0] <= found.sample.cycles <= found.range[1]
        assert found.to_dict()["sample"]["of"] == 1 << 11
        assert "about" in str(found)
        assert "of 2048 groups" in str(found)

    def test_threads_that_wait_for_others_are_refused(self):
        with pytest.raises(visim.ArgumentError, match="not sampled"):
            Timing("skl", sample=True, dependency="wavefront")


PLACES = (BlockPlace(0, 0, 10), BlockPlace(0, 10, 12))


def seen(kinds, size=2, parts=1):
    """Return a sampler that has seen stretches of two kinds."""
    sampler = Sampler(size, parts)
    for number, kind in enumerate(kinds):
        for group in range(size):
            sampler.begin_group((number * size + group, 0))
            blocks = np.array([0] * (9 if kind == "a" else 1) + [1], np.uint32)
            sampler.add_path(ThreadPath((0, 0, 0), 0, blocks, PLACES))
    return sampler


class TestClusters:
    def test_stretches_with_alike_blocks_are_of_one_cluster(self):
        chosen = seen("a" + "aab" * 20 + "ab").chosen()
        assert sorted(chosen.counts) == [20, 41]
        assert sum(one >= 0 for one in chosen.clusters) == 2 * KEPT

    def test_few_stretches_are_all_kept(self):
        assert seen("abab").whole is not None
        assert seen("a" * 20).whole is None


class TestParts:
    def test_a_part_has_its_share_of_what_is_shared(self):
        whole = find_machine("bmg")
        part, parts = part_of(whole)
        assert parts == 10
        assert part.number("eus") * parts == whole.number("eus")
        assert part.number("dram_rate") * parts == whole.number("dram_rate")
        assert part.number("data_l1_bytes") == whole.number("data_l1_bytes")

    def test_a_machine_of_one_subslice_is_no_part(self):
        whole = find_machine("snb").with_facts({"eus": 6})
        part, parts = part_of(whole)
        assert parts == 1
        assert part is whole


class TestFootprints:
    def test_shared_lines_are_counted_like_fish(self):
        rng = np.random.default_rng(3)
        stretches = []
        for number in range(4):
            shared = rng.choice(20_000, 5_000, replace=False)
            own = 1_000_000 * (number + 1) + np.arange(3_000)
            stretches.append(np.unique(np.concatenate([shared, own])).astype(np.int64))
        found = footprint_of(stretches)
        assert found.size == 8_000
        assert found.common == pytest.approx(5_000, rel=0.1)
        assert found.shared == pytest.approx(20_000, rel=0.1)

    def test_nothing_in_common_is_nothing_shared(self):
        found = footprint_of([np.arange(100 * n, 100 * n + 100) for n in range(3)])
        assert (found.common, found.shared) == (0, 0)
