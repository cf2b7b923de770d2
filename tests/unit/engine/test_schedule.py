"""The order of threads in a thread space (visim.engine.schedule)."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine.schedule import PATTERNS, ZIGZAG, depends_on, read_dependency, schedule
from visim.errors import ArgumentError

SIZES = [(1, 1), (1, 7), (7, 1), (2, 2), (3, 5), (16, 16), (33, 17), (17, 33)]
VECTORS = [((-2, 0),), ((-1, 2), (-1, 0)), ((1, 0), (0, 1)), ((5, -3), (-40, -1), (0, -1))]
CASES = [(p, s) for p in [*PATTERNS, *VECTORS] for s in SIZES]
CASES += [(ZIGZAG, s) for s in [(2, 2), (2, 8), (8, 2), (16, 16), (34, 18)]]


def earliest(width, height, dependency):
    """The first wave that each thread can be in, by the definition; a model in plain Python."""
    known: dict[tuple[int, int], int] = {}

    def wave(x, y):
        if not (0 <= x < width and 0 <= y < height):
            return -1
        if (x, y) not in known:
            before = [wave(x + dx, y + dy) for dx, dy in depends_on(dependency, x, y)]
            known[x, y] = 1 + max(before, default=-1)
        return known[x, y]

    return [[wave(x, y) for x in range(width)] for y in range(height)]


@pytest.mark.parametrize(("dependency", "size"), CASES)
def test_a_thread_is_in_the_first_wave_after_those_it_waits_for(dependency, size):
    width, height = size
    found = np.full(width * height, -1)
    for number, wave in enumerate(schedule(width, height, dependency)):
        assert (found[wave] == -1).all()
        assert (np.diff(wave) > 0).all()
        found[wave] = number
    assert found.reshape(height, width).tolist() == earliest(width, height, dependency)


@pytest.mark.parametrize(
    ("dependency", "width", "height", "waves", "widest"),
    [
        ("none", 33, 17, 1, 33 * 17),
        ("vertical", 33, 17, 33, 17),
        ("horizontal", 33, 17, 17, 33),
        ("wavefront", 33, 17, 33 + 17 - 1, 17),
        ("wavefront26", 33, 17, 33 + 2 * (17 - 1), 17),
        (((-1, 0), (0, -1)), 4096, 3, 4096 + 2, 3),
    ],
)
def test_waves_are_as_many_as_the_longest_chain(dependency, width, height, waves, widest):
    found = schedule(width, height, dependency)
    assert len(found) == waves
    assert max(wave.size for wave in found) == widest


def test_zigzag_goes_through_each_block_of_four_before_the_next():
    waves = [wave.tolist() for wave in schedule(4, 2, ZIGZAG)]
    # Numbers are y * 4 + x; (2, 0) waits for (1, 1), and (0, 1) for (1, 0).
    assert waves == [[0], [1], [4], [5], [2], [3], [6], [7]]


@pytest.mark.parametrize("vectors", [((0, 0),), ((-1, 0), (1, 0)), ((0, -1), (1, 0), (-1, 1))])
def test_a_circle_is_refused(vectors):
    with pytest.raises(ArgumentError, match="in a cycle, the first is thread"):
        schedule(4, 4, vectors)


def test_a_circle_that_leaves_the_space_is_none():
    assert len(schedule(1, 4, ((-1, 0), (1, 0)))) == 1


@pytest.mark.parametrize("size", [(3, 2), (2, 3)])
def test_zigzag_needs_even_sides(size):
    with pytest.raises(ArgumentError, match="even sides"):
        schedule(*size, ZIGZAG)


def test_a_dependency_is_a_name_or_vectors():
    assert read_dependency("wavefront26z") == ZIGZAG
    assert read_dependency([(-1, 0), [0, np.int32(-1)], (-1, 0)]) == ((-1, 0), (0, -1))
    assert read_dependency([]) == ()
    for wrong in ("diagonal", None, 5, [5], [(1, 2, 3)], [(1, 0.5)], [("a", "b")]):
        with pytest.raises(ArgumentError, match="dependency"):
            read_dependency(wrong)
