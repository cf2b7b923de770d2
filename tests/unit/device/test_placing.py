"""Processes of VMs keep out of the way of the program's heap."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from visim.device.placing import is_in_the_way

PROGRAM = """\
555555557000-555555577000 rw-p 00000000 00:00 0                          [heap]
7ffff7fbb000-7ffff7fc0000 rw-p 00000000 00:00 0
7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]
"""


@pytest.mark.parametrize(
    ("start", "end", "is_there"),
    [
        (0x5555_5555_0000, 0x5555_5555_7000, False),
        (0x5555_5555_0000, 0x5555_5555_8000, True),
        (0x5556_0000_0000, 0x5556_0000_1000, True),
        (0x5600_0000_0000, 0x5600_0000_1000, False),
        (0x7FFF_F7FB_B000, 0x7FFF_F7FC_0000, False),
    ],
)
def test_only_what_lies_behind_a_heap_is_in_its_way(start: int, end: int, is_there: bool) -> None:
    own = f"{start:x}-{end:x} r-xp 00000000 08:01 1                   /usr/bin/python3\n"
    assert is_in_the_way(PROGRAM, own) == is_there
    assert not is_in_the_way(own, own), "there is no heap"


def test_a_process_is_started_again_until_it_lies_elsewhere_or_was_eight_times() -> None:
    code = (
        "import os; from visim.device.placing import start_elsewhere;"
        "os.write(1, b'.'); start_elsewhere(os.getpid())"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, timeout=120, check=True, cwd=Path.cwd())
    assert done.stdout == b"." * 9
    assert os.environ.get("VISIM_VM_TRIES") is None
