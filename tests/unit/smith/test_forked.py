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


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_it_ends_with_its_user(end):
    words = [sys.executable, "-c", SCRIPT.format(end=end)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 3, done.stderr
    assert all(is_gone(pid) for pid in pids)
