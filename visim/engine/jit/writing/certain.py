"""Loops over threads that are written twice: once for groups all of whose messages are in range.

Checks of messages, and the general form beside each, are most of what a short thread executes. In
front of the loop over the groups of a row it is found out which numbers addresses are made of, from
the least to the greatest of all threads (`ranges`). Where they say that messages are in range for
all threads of all these groups, the second way of the loop runs them, which does not look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from visim.engine.jit.ir.ranges import Range, Ranges
from visim.engine.jit.ir.text import Text
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.frame import UnitFrame

_MOST_STEPS = 80
"""Of longer threads checks are less, and compiling takes longer."""
_LEAST_THREADS = 8
"""What is done in front of the loop takes as long as some threads."""
_SUFFIX = ".certain"
_NAME = re.compile(r"%[\w.]+")
_DEFINED = re.compile(r"  (%[\w.]+) = |([\w.]+):$")
_LIKELY = re.compile(r"  br i1 (%[\w.]+), label %([\w.]+), label %([\w.]+), !prof !1")
_INCOMING = re.compile(r"\[ ([^\s,]+), (%[\w.]+) \]")
_START = "  br label %group.begins"
_OUT = "out:"
_MEMORY = "  br i1 %has.memory, label %clear, label %cleared"
_TRUE = "icmp eq i64 0, 0"


def is_worth_it(unit: UnitFrame) -> bool:
    """Whether the threads of a unit are so short that messages in range pay for a second way.

    Where additions are tallied, messages that look first at what is tallied have to say so.
    """
    version, nodes = unit.module.version, unit.flow.nodes.values()
    plain = unit.payload is not None and unit.meeting is None and not unit.module.flat
    if not plain or not version.checked or version.looks_inside or unit.module.adding:
        return False
    if not version.runs(Pass.VERSION_THREADS):
        return False
    if any(unit.flow.repeats(node.key) for node in nodes):
        return False
    return sum(len(node.block.steps) for node in nodes) <= _MOST_STEPS


def written_twice(unit: UnitFrame, lines: Sequence[str], first: str) -> list[str]:
    """Return the lines of a function whose loop over groups is there twice, if that helps.

    Args:
        unit: the unit.
        lines: the function, from its start on.
        first: the label at which a thread's own code begins.
    """
    lines = "\n".join(lines).split("\n")
    begin, end = lines.index(_START), lines.index(_OUT)
    loop = _Loop(unit, lines[:begin], lines[begin + 1 : end], first)
    if not loop.proved:
        return lines
    return [*lines[:begin], *loop.choice(), *loop.unsure(), *loop.certain(), *loop.out(lines[end:])]


class _Loop:
    """The loop over groups, and what is known of it."""

    def __init__(
        self, unit: UnitFrame, before: Sequence[str], lines: Sequence[str], first: str
    ) -> None:
        self._lines = lines
        self._text = Text(hint="range")
        start = lines.index(f"  br label %{first}")
        known = {"%group": Range("0", self._text.let("sub i64 %groups, 1"))}
        names = "%firsts", "%number", "%threads"
        caches = [unit.surfaces.caches] if "caches" in vars(unit.surfaces) else []
        self._ranges = Ranges(
            self._text,
            unit.module.library,
            before,
            lines[:start],
            lines[start:],
            known,
            names,
            caches,
        )
        found = (match for line in lines if (match := _LIKELY.fullmatch(line)))
        self._branches = {match[1]: match[2] for match in found}
        self.proved: dict[str, tuple[str, ...]] = {}
        for test in [test for one in self._branches for test in self._ranges.tests(one)]:
            needs = self._ranges.holds(test)
            if needs is not None:
                self.proved[test] = needs
        self._defined = {
            match[1] or f"%{match[2]}" for line in lines if (match := _DEFINED.match(line))
        }

    def choice(self) -> Iterator[str]:
        """Return what is done in front of both ways, and chooses one."""
        text = self._text
        needs = dict.fromkeys(need for some in self.proved.values() for need in some)
        all_hold = text.all_of([text.let("icmp eq i64 %memory, 0"), *needs])
        yield "  %threads.of.all = mul i64 %groups, %threads"
        yield f"  %are.many = icmp uge i64 %threads.of.all, {_LEAST_THREADS}"
        yield "  br i1 %are.many, label %look.at.ranges, label %group.begins"
        yield "look.at.ranges:"
        yield from text.lines
        yield f"  br i1 {all_hold}, label %group.begins{_SUFFIX}, label %group.begins"

    def unsure(self) -> Iterator[str]:
        """Return the loop as it stands."""
        for line in self._lines:
            yield line.replace("[ 0, %entry ]", "[ 0, %entry ], [ 0, %look.at.ranges ]")

    def certain(self) -> Iterator[str]:
        """Return the loop without the checks of what is in range."""
        for line in self._lines:
            yield self._renamed(self._certain(line)).replace("%entry ]", "%look.at.ranges ]")

    def _certain(self, line: str) -> str:
        if line == _MEMORY:
            return "  br label %cleared"
        branch = _LIKELY.fullmatch(line)
        if branch and all(test in self.proved for test in self._ranges.tests(branch[1])):
            return f"  br label %{branch[2]}"
        let = _DEFINED.match(line)
        return f"  {let[1]} = {_TRUE}" if let and let[1] in self.proved else line

    def _renamed(self, line: str) -> str:
        """Return a line with other names for what the loop defines."""
        if line.endswith(":") and not line.startswith(" "):
            return f"{line[:-1]}{_SUFFIX}:"
        return _NAME.sub(lambda one: self._other(one[0]), line)

    def _other(self, name: str) -> str:
        return name + _SUFFIX if name in self._defined else name

    def out(self, lines: Sequence[str]) -> Iterator[str]:
        """Return what follows both ways."""
        for line in lines:
            if " = phi " not in line:
                yield line
                continue
            more = ", ".join(
                f"[ {self._other(value)}, {self._other(block)} ]"
                for value, block in _INCOMING.findall(line)
            )
            yield f"{line}, {more}"
