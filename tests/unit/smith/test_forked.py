"""The process that runs candidates of `visim reduce`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.children import is_gone

SCRIPT = """
import os, signal
from visim.smith.commands import Forked
made = [Forked(["visim", "check"], ".visaasm", 5.0, lambda words: 0) for _ in range(3)]
print(*[one._process.pid for one in made], flush=True)
{end}
"""


LAZY = """
import sys
from visim.smith.commands import Forked

def main(words):
    was_loaded = "visim.sarif" in sys.modules
    import visim.sarif
    return 3 if was_loaded else 4

first, second = (Forked(["visim", "check"], ".visaasm", 60.0, main) for _ in range(2))
print(first.run(["a"]).code, first.run(["b"]).code, second.run(["c"]).code)
for one in (first, second):
    one.close()
    print(one._process.exitcode)
"""


def test_what_a_candidate_has_loaded_the_next_one_finds():
    words = [sys.executable, "-c", LAZY]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["4", "3", "4", "0", "0"]


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_it_ends_with_its_user(end):
    words = [sys.executable, "-c", SCRIPT.format(end=end)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 3, done.stderr
    assert all(is_gone(pid) for pid in pids)
