"""Threads of a group that go in step: one function runs them from barrier to barrier.

Where threads only meet at barriers of the whole group they need no stacks of their own. Each runs
until it comes to a barrier, leaves in a frame what code behind it needs (`crossing`), and the next
one runs. When all have come, the first one goes on. So code does once what it does alike for all
threads of a group.

What a thread starts with is done again when it goes on, since that is what a thread has which has
not written it. What it finds in its frame comes over that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from visim.engine.jit.analysis.payload import WRONG, following
from visim.engine.jit.ir.accesses import Body
from visim.engine.jit.ir.crossing import Crossing, Part
from visim.engine.jit.ir.storage import copying
from visim.engine.jit.layout import BARRIERS_BETWEEN_LOOKS, STUCK, Context, Status, Thread, Work

_LINE = 64
_STATE = 8
"""So many bytes of a frame say where its thread goes on: the program counter behind a barrier, and
above that the number of its label. They are 0 if it has not begun or has ended. Either all threads
of a group have a place to go on, or none."""
_PLACE_BITS = 16
COUNTS = "ptr %work, ptr %met, ptr %entrants, ptr %executed"
"""What carriers tell each other, and where they add up what has been executed."""


@dataclass
class Meeting:
    """Writes where the threads of a kernel meet.

    Attributes:
        places: the program counters behind the barriers that have been written.
        frame_bytes: the size of a frame.
    """

    places: list[int] = field(default_factory=list[int])
    frame_bytes: int = 0

    def label(self, place: int) -> str:
        """Return the label of what follows a barrier."""
        self.places.append(place)
        return f"met.{len(self.places)}"

    @property
    def _labels(self) -> dict[str, int]:
        """The labels behind barriers, and what frames have of threads that go on there."""
        return {
            f"met.{number}": number << _PLACE_BITS | place
            for number, place in enumerate(self.places, start=1)
        }

    def written(
        self, body: list[str], sizes: Mapping[str, int], always: Sequence[str]
    ) -> list[str]:
        """Return a body in which threads leave what they need, and others go on.

        Args:
            body: the text; a barrier is a jump to its label.
            sizes: the kernel's variables, by the names of their pointers, and their bytes.
            always: those of which LLVM is not to know who uses them: they are kept as they are.
        """
        labels = self._labels
        crossing = Crossing(Body(body, sizes), list(labels))
        whole = [Part(name, 0, sizes[name]) for name in always]
        kept = [part for crossed in crossing.crossed.values() for part in crossed.kept]
        frame = self._frame([*kept, *whole])
        found = list[str]()
        for number, line in enumerate(body):
            target = line.removeprefix("  br label %")
            if target in labels:
                left = [*crossing.crossed[target].left, *whole]
                found += _moving(left, frame, f"left.{target}", out=True)
                found.append(f"  store i32 {labels[target]}, ptr %kept")
                found.append("  br label %thread.meets")
                continue
            found.append(line)
            if line[:-1] in labels:
                crossed = crossing.crossed[line[:-1]]
                found += _moving([*crossed.kept, *whole], frame, line[:-1], out=False)
                found += crossed.code
            elif number in crossing.at_once:
                found += _moving(crossing.at_once[number], frame, f"now.{number}", out=True)
        return found

    def _frame(self, kept: Sequence[Part]) -> dict[str, int]:
        """Return where in a frame each variable would begin if all of it were there."""
        spans = dict[str, tuple[int, int]]()
        for part in kept:
            first, end = spans.get(part.name, (part.first, part.first + part.size))
            spans[part.name] = min(first, part.first), max(end, part.first + part.size)
        places, at = dict[str, int](), _STATE
        for name, (first, end) in sorted(spans.items(), key=lambda span: span[1][0] - span[1][1]):
            alignment = min(_LINE, 1 << (end - first - 1).bit_length())
            at = -(-at // alignment) * alignment
            places[name] = at - first
            at += end - first
        self.frame_bytes = -(-at // _LINE) * _LINE
        return places

    def dispatch(self) -> list[str]:
        """Return how a thread begins, or goes on, behind what it starts with."""
        cases = " ".join(f"i32 {state}, label %{label}" for label, state in self._labels.items())
        return [_DISPATCH.replace("$CASES$", cases)]

    def loop(self) -> tuple[str, str, str]:
        """Return what a `Loop` does before it, for a group and for a turn of a thread."""
        return _BEFORE, _GROUP, self._filled(_THREAD)

    def tail(self) -> str:
        """Return what follows a thread that has met others, has ended well, or has faulted."""
        return self._filled(_TAIL)

    def _filled(self, text: str) -> str:
        return text.replace("$FRAME$", str(self.frame_bytes))


def _moving(
    parts: Sequence[Part], frame: Mapping[str, int], mark: str, *, out: bool
) -> Iterator[str]:
    """Yield the instructions that leave parts of variables in the frame, or find them there."""
    for part in parts:
        name, here = f"%{mark}.{part.name[1:]}", part.name
        yield f"  {name} = getelementptr i8, ptr %kept, i64 {frame[part.name] + part.first}"
        if part.first:
            here = f"{name}.here"
            yield f"  {here} = getelementptr i8, ptr {part.name}, i64 {part.first}"
        yield copying(name, here, part.size) if out else copying(here, name, part.size)


_BEFORE = f"""
  %frames.at = getelementptr i64, ptr %work, i64 {int(Work.FRAMES)}
  %frames = load ptr, ptr %frames.at
  %group.at = getelementptr i64, ptr %work, i64 {int(Work.GROUP)}
  %first.group = load i64, ptr %group.at
  %first.entrant.at = getelementptr i64, ptr %work, i64 {int(Work.ENTRANT)}
  %first.entrant = load i64, ptr %first.entrant.at
  %met = alloca i64
  %entrants = alloca i64
  call void @find_carried(ptr %ctx, ptr %met, ptr %entrants)
  %entrants.at = getelementptr i64, ptr %ctx, i64 {int(Context.ENTRANTS)}
  %aside.at = getelementptr i64, ptr %ctx, i64 {int(Context.ASIDE)}
  %patience = getelementptr i64, ptr %ctx, i64 {int(Context.TURNS)}
"""
"""What is done in front of the loop over groups: `met` counts the threads that have met, `patience`
the turns to the next look whether the launch is to stop, of this range of groups and later ones.
Threads before number `entrants` begin one after another. Carriers tell each other both where one
leaves and where it goes on (`carrying`)."""

_GROUP = """
  br label %group.begins
group.begins:
  %group = phi i64 [ %first.group, %entry ], [ %group.next, %group.ends ]
  %entrant = phi i64 [ %first.entrant, %entry ], [ 0, %group.ends ]
  %x = add i64 %first.x, %group
  %group.0 = trunc i64 %x to i32
  %is.new.group = icmp eq i64 %entrant, 0
  br i1 %is.new.group, label %group.is.new, label %thread.begins, !prof !1
group.is.new:
  store i64 %group, ptr %group.at
  store i64 %threads, ptr %entrants.at
  store i64 %threads, ptr %entrants
  store i64 0, ptr %met
"""
"""The begin of the loop over the groups of a row; the first one may have begun already."""

_THREAD = """
  br label %thread.begins
thread.begins:
  %number = phi i64 [ 0, %group.is.new ], [ %entrant, %group.begins ], [ 0, %turn.begins ],
                    [ %number.next, %thread.ends ]
  %thread.at = getelementptr ptr, ptr %records, i64 %number
  %thread = load ptr, ptr %thread.at
  %kept.place = mul i64 %number, $FRAME$
  %kept = getelementptr i8, ptr %frames, i64 %kept.place
"""

_DISPATCH = """
  %state = load i32, ptr %kept
  switch i32 %state, label %thread.starts [ $CASES$ ]
thread.starts:
  br i1 %has.memory, label %clear, label %cleared
clear:
  call void @visim_clear_memory(ptr %work, ptr %thread)
  br label %cleared
cleared:
"""

_MORE = """
  %entrants.now = load i64, ptr %entrants
  %more.threads = icmp ult i64 %number.next, %entrants.now
"""

_TAIL = f"""{WRONG}
  %state.wrong = load i32, ptr %kept
  %entrants.wrong = load i64, ptr %entrants
  %some.have.to.begin = icmp ne i64 %entrants.wrong, 0
  %has.begun.now = icmp eq i32 %state.wrong, 0
  %is.first.turn = and i1 %has.begun.now, %some.have.to.begin
  %begun.wrong = select i1 %is.first.turn, i64 %number.one, i64 %threads
  br label %out
right:
  store i32 0, ptr %kept
  br label %thread.gives
thread.meets:
  %met.before = load i64, ptr %met
  %met.now = add i64 %met.before, 1
  store i64 %met.now, ptr %met
  br label %thread.gives
thread.gives:{following(_MORE)}
turn.is.over:
  %aside = load ptr, ptr %aside.at
  %is.over = icmp eq ptr %aside, null
  br i1 %is.over, label %all.had.turns, label %rest, !prof !1
rest:
  call void @leave_carried(ptr %ctx, ptr %work, ptr %met, ptr %executed)
  call void @visim_rest(ptr %ctx)
  unreachable
all.had.turns:
  %arrived = load i64, ptr %met
  store i64 0, ptr %met
  %have.ended = icmp eq i64 %arrived, 0
  br i1 %have.ended, label %group.ends, label %some.met
some.met:
  %all.met = icmp eq i64 %arrived, %threads
  br i1 %all.met, label %turn.counts, label %stuck, !prof !1
turn.counts:
  %patience.before = load i64, ptr %patience
  %patience.now = sub i64 %patience.before, 1
  store i64 %patience.now, ptr %patience
  %is.late = icmp slt i64 %patience.now, 0
  br i1 %is.late, label %look, label %turn.begins, !prof !0
look:
  store i64 {BARRIERS_BETWEEN_LOOKS}, ptr %patience
  %asks.at = getelementptr i64, ptr %ctx, i64 {int(Context.PATIENCE)}
  store i64 0, ptr %asks.at
  %last.state = load i32, ptr %kept
  %last.low = trunc i32 %last.state to i16
  %last.place = zext i16 %last.low to i64
  %stop = call i32 @pause(ptr %ctx, ptr %thread, i64 %last.place, i64 0)
  %goes.on = icmp eq i32 %stop, 0
  br i1 %goes.on, label %turn.begins, label %out, !prof !1
turn.begins:
  store i64 %threads, ptr %entrants.at
  store i64 %threads, ptr %entrants
  br label %thread.begins
stuck:
  %one = phi i64 [ 0, %some.met ], [ %one.next, %stuck ]
  %one.place = mul i64 %one, $FRAME$
  %one.kept = getelementptr i8, ptr %frames, i64 %one.place
  %one.state = load i32, ptr %one.kept
  %one.low = trunc i32 %one.state to i16
  %one.pc = zext i16 %one.low to i64
  %one.at = getelementptr ptr, ptr %records, i64 %one
  %one.thread = load ptr, ptr %one.at
  %one.pc.at = getelementptr i64, ptr %one.thread, i64 {int(Thread.PC)}
  store i64 %one.pc, ptr %one.pc.at
  %one.unit.at = getelementptr i64, ptr %one.thread, i64 {int(Thread.UNIT)}
  store i64 0, ptr %one.unit.at
  %one.ended = icmp eq i32 %one.state, 0
  %one.status = select i1 %one.ended, i64 {int(Status.DONE)}, i64 {int(Status.WAITING)}
  %one.status.at = getelementptr i64, ptr %one.thread, i64 {int(Thread.STATUS)}
  store i64 %one.status, ptr %one.status.at
  %one.next = add i64 %one, 1
  %more.stuck = icmp ult i64 %one.next, %threads
  br i1 %more.stuck, label %stuck, label %out
out:
  %ended = phi i64 [ %group.next, %group.ends ], [ %group, %wrong ], [ %group, %look ],
                   [ %group, %stuck ]
  %begun = phi i64 [ 0, %group.ends ], [ %begun.wrong, %wrong ], [ %threads, %look ],
                   [ %threads, %stuck ]
  %faulted.thread = phi i64 [ %number, %group.ends ], [ %number, %wrong ], [ %number, %look ],
                            [ {STUCK}, %stuck ]
"""
"""What follows a thread that has met others, at `thread.meets`, has ended well, at `right`, or has
faulted, at `wrong`, up to what follows all groups. `pause` asks at once, since turns are counted
here, and a launch that is to stop ends with all of them counted."""
