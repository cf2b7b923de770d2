"""What the roofline's picture says of points that are near each other."""

from __future__ import annotations

import itertools
import re

from visim.timing.charts import Roof, roofline


def test_points_that_are_near_each_other_say_so_on_lines_of_their_own() -> None:
    roofs = [
        Roof("SLM", 128, 1000, "red"),
        Roof("L1", 64, 1010, "blue"),
        Roof("L3", 8, 1020, "tan"),
    ]
    picture = roofline(1 << 16, 1000, 512, roofs)
    found = re.findall(r'y="([\d.]+)"[^>]*>(?:SLM|L1|L3): ', picture)
    heights = sorted(float(one) for one in found)
    assert len(heights) == 3
    assert all(after - before >= 12 for before, after in itertools.pairwise(heights))
