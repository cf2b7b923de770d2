"""Where the time goes: cycle-approximate timing of kernels on Intel's generations.

`Timing` is an observer of launches. docs/timing-accuracy.md says what is exact, approximate and
unknown.
"""

from visim.timing.machine import ARCHITECTURES, Machine, find_machine
from visim.timing.observer import Timing
from visim.timing.result import TimingResult

__all__ = ["ARCHITECTURES", "Machine", "Timing", "TimingResult", "find_machine"]
