"""Which detectors and instruments the names that a caller gives stand for."""

from __future__ import annotations

from collections.abc import Sequence

from visim.linker.program import LinkedKernel
from visim.sanitize.barriers import BarrierDetector, BarrierInstrument
from visim.sanitize.collecting import Collector
from visim.sanitize.detecting import Detector, Instrument, Sanitizer, Surroundings
from visim.sanitize.instrumented import instrumented
from visim.sanitize.places import Places
from visim.sanitize.races.detector import RaceDetector
from visim.sanitize.races.instrument import RaceInstrument


def watched_kernel(kernel: LinkedKernel, names: Sequence[str]) -> LinkedKernel:
    """Return a kernel with the instruments of the detectors called `names`."""
    instruments: list[Instrument] = []
    if "races" in names:
        instruments.append(RaceInstrument())
    if "barriers" in names:
        instruments.append(BarrierInstrument())
    return instrumented(kernel, instruments)


def sanitizer(surroundings: Surroundings, names: Sequence[str]) -> Sanitizer:
    """Return what watches one launch with the detectors called `names`."""
    collector = Collector(Places(surroundings.kernel))
    detectors: list[Detector] = []
    if "races" in names:
        detectors.append(RaceDetector(surroundings, collector))
    if "barriers" in names:
        detectors.append(BarrierDetector(surroundings, collector))
    return Sanitizer(surroundings, collector, detectors)


__all__ = ["sanitizer", "watched_kernel"]
