"""An observer that keeps all events of a run in a form that can be compared."""

from __future__ import annotations

import visim


class Recorder(visim.Observer):
    """Keeps events in their order; accesses of a thread that follow each other are one event."""

    def __init__(self) -> None:
        self.events = []
        self.counts = {}

    def group_begin(self, group):
        self.events.append(("group", group.group, group.threads, group.slm_bytes))

    def thread_end(self, path):
        self.events.append(("end", path.group, path.thread, tuple(path)))

    def block_counts(self, counts):
        for place, count in counts.by_place.items():
            self.counts[place] = self.counts.get(place, 0) + count

    def accesses(self, accesses):
        place, found = (accesses.group, accesses.thread), list(accesses)
        if self.events and self.events[-1][:2] == ("accesses", place):
            self.events[-1][2].extend(found)
        else:
            self.events.append(("accesses", place, found))

    def fault(self, fault):
        self.events.append(("fault", fault))
