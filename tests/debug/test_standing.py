"""What a user sees where a launch faults, and of a value that nothing has written yet."""

from __future__ import annotations

import numpy as np
import pytest

from tests.opencl.building import built_by_current
from visim.debug.fronts.commands import execute
from visim.debug.session import Session
from visim.errors import ArgumentError

SOURCE = """\
kernel void far(global float *out, global const float *in, int n)
{
    int i = get_global_id(0), j = i == 70 ? n + 100000000 : i;
    out[i] = in[j];
}
"""


def session() -> Session:
    kernel = built_by_current(SOURCE, "bmg", "-g")["far"]
    values = [np.zeros(128, np.float32), np.arange(128, dtype=np.float32), 128]
    return Session(kernel, values, {"global_size": 128, "local_size": 64})


def test_the_debugger_stands_at_the_channel_that_faults() -> None:
    found = session()
    lines = execute(found, "fault").lines
    assert any("(work-item 70, group 1, thread 0, channel 6)" in one for one in lines)
    execute(found, "back")
    execute(found, "continue")
    assert found.needed().lane == 6


def test_why_of_what_nothing_has_written_says_where_to_go() -> None:
    found = session()
    assert "'goto end'" in execute(found, "why out[3]").lines[-1]
    execute(found, "fault")
    assert "'goto end'" not in execute(found, "why out[3]").lines[-1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("watch outt[3]", "no variable 'outt' here; did you mean 'out'?"),
        ("watch zzz", "no variable 'zzz' here; 'info variables' lists all"),
        ("goto item 5000", "no work-item (5000, 0, 0); they are (0, 0, 0) to (127, 0, 0)"),
        ("break 99", "no code at or behind line 99; the last line with code is"),
    ],
)
def test_wrong_commands_bring_the_next_step(command: str, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        execute(session(), command)
    assert message in str(caught.value)
