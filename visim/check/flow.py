"""Rules for control flow: labels, subroutines, ends of units (specification 3, Control Flow)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

from visim.check.rule import ModuleSite, Rules, UnitSite, Wrong
from visim.diag import Severity
from visim.isa import Instruction
from visim.isa.flow import Branch, FunctionCall, SwitchJump
from visim.isa.forms import FileMark, LabelMark, LineMark, SubroutineMark
from visim.isa.registry import named_labels
from visim.isa.sync import LscFence
from visim.module import Unit, UnitKind
from visim.operands import ExecSize
from visim.predefined import SURFACES

ENDINGS = {"ret", "fret", "goto", "jmp", "switchjmp"}
_RETURNS = {"ret", "fret"}
_SCALAR = {"call", "fcall", "ifcall"}
_CALL_PARTS = {"arguments": "passed", "returned": "returned"}
BARRIERS = frozenset({"barrier", "sbarrier", "nbarrier"})
"""All ways to wait for a thread group; a driver gives a group the barriers of all of them."""
MOST_ARGUMENTS, MOST_RETURNED = 32, 12
_SUBROUTINES = "vISA 3, Subroutine and Function Calls"
_MARKS = (LabelMark, SubroutineMark, FileMark, LineMark)

rules = Rules()


@dataclass(frozen=True, slots=True)
class Section:
    """The instructions from one subroutine's start to the next; `name` None before the first."""

    name: str | None
    body: Sequence[Instruction]


def sections(unit: Unit) -> list[Section]:
    """Return a unit's body cut at the starts of its subroutines."""
    starts = [at for at, item in enumerate(unit.body) if isinstance(item, SubroutineMark)]
    cuts = sorted({0, *starts})
    ends = [*cuts[1:], len(unit.body)]
    found: list[Section] = []
    for start, end in zip(cuts, ends, strict=True):
        first = unit.body[start] if start < end else None
        name = first.name if isinstance(first, SubroutineMark) else None
        found.append(Section(name, unit.body[start:end]))
    return found


@rules.unit(
    "label-kind",
    "vISA 4, Labels",
    failing="call (M1, 16) block\nblock:\nret (M1, 1)",
    passing='call (M1, 16) sub\nret (M1, 1)\n.function "sub"\nsub:\nret (M1, 16)',
)
def label_kinds(at: UnitSite) -> Iterator[Wrong]:
    """Branches go to block labels, calls to subroutines."""
    blocks = {item.name for item in at.unit.body if isinstance(item, LabelMark)}
    subroutines = {item.name for item in at.unit.body if isinstance(item, SubroutineMark)}
    only_blocks, only_subroutines = blocks - subroutines, subroutines - blocks
    for item in at.unit.body:
        if not isinstance(item, Branch | SwitchJump):
            continue
        is_call = item.op.mnemonic == "call"
        wrong = only_blocks if is_call else only_subroutines
        for label in (name for name in named_labels(item) if name in wrong):
            wanted = "a subroutine" if is_call else "a block label of the same subroutine"
            text = f"{item.op.mnemonic} to {label}, which is not {wanted}"
            yield Wrong(text, origin=item.origin)


@rules.unit(
    "branch-leaves-subroutine",
    "vISA 3, Mixing Uniform and Divergent Control Flow",
    failing='call (M1, 16) sub\nout:\nret (M1, 1)\n.function "sub"\nsub:\n'
    "goto (M1, 16) out\nret (M1, 16)",
    passing='call (M1, 16) sub\nret (M1, 1)\n.function "sub"\nsub:\n'
    "goto (M1, 16) out\nout:\nret (M1, 16)",
)
def branches_stay(at: UnitSite) -> Iterator[Wrong]:
    """A branch stays in its subroutine: it is entered by call and left by ret only."""
    homes: dict[str, Section] = {}
    parts = sections(at.unit)
    for part in parts:
        homes |= {item.name: part for item in part.body if isinstance(item, LabelMark)}
    for part in parts:
        for item in part.body:
            if not isinstance(item, Branch | SwitchJump) or item.op.mnemonic == "call":
                continue
            for label in named_labels(item):
                if homes.get(label, part) is not part:
                    text = f"{item.op.mnemonic} to {label}, which lies in another subroutine"
                    yield Wrong(text, origin=item.origin)


@rules.unit(
    "subroutine-fallthrough",
    _SUBROUTINES,
    failing='call (M1, 16) sub\n.function "sub"\nsub:\nret (M1, 16)',
    passing='call (M1, 16) sub\nret (M1, 1)\n.function "sub"\nsub:\nret (M1, 16)',
)
def subroutines_are_called(at: UnitSite) -> Iterator[Wrong]:
    """Control does not run into a subroutine from the instructions before it."""
    for part, follower in pairwise(sections(at.unit)):
        targets = _targets(part.body)
        last = _last_executed(part.body, targets)
        if last is not None and not _ends(last):
            text = f"control runs on into subroutine {follower.name}"
            yield Wrong(text, "end what comes before it with ret", origin=last.origin)


@rules.unit(
    "subroutine-recursion",
    _SUBROUTINES,
    failing='call (M1, 16) sub\nret (M1, 1)\n.function "sub"\nsub:\n'
    "(P) call (M1, 16) sub\nret (M1, 16)",
    passing='call (M1, 16) sub\ncall (M1, 16) sub\nret (M1, 1)\n.function "sub"\nsub:\n'
    "ret (M1, 16)",
)
def no_recursion(at: UnitSite) -> Iterator[Wrong]:
    """A subroutine does not call itself, directly or through others; functions may."""
    calls: dict[str | None, list[Branch]] = {}
    for part in sections(at.unit):
        calls[part.name] = [
            item for item in part.body if isinstance(item, Branch) and item.op.mnemonic == "call"
        ]
    circles = _circles({name: [call.label for call in made] for name, made in calls.items()})
    for name, made in calls.items():
        for call in made:
            if circles.get(call.label) == circles[name]:
                text = f"subroutine {name} calls itself through {call.label}"
                yield Wrong(text, "make it a function, and call it by fcall", origin=call.origin)


def _circles(calls: Mapping[str | None, Sequence[str]]) -> dict[str | None, str | None]:
    """Return, for each subroutine, one that stands for all that may call each other in a circle.

    These are the strongly connected components, by Kosaraju's two walks over all calls.
    """
    callers: dict[str | None, list[str | None]] = {name: [] for name in calls}
    for name, callees in calls.items():
        for callee in callees:
            callers.setdefault(callee, []).append(name)
    found: dict[str | None, str | None] = {}
    for start in reversed(_left(calls)):
        waiting: list[str | None] = [start]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = start
                waiting += callers[name]
    return found


def _left(calls: Mapping[str | None, Sequence[str]]) -> list[str | None]:
    """Return the subroutines in the order in which a walk along the calls leaves them."""
    left: list[str | None] = []
    entered: set[str | None] = set()
    for start in calls:
        waiting: list[tuple[str | None, bool]] = [(start, False)]
        while waiting:
            name, is_done = waiting.pop()
            if is_done:
                left.append(name)
            elif name not in entered:
                entered.add(name)
                waiting.append((name, True))
                waiting += [(callee, False) for callee in calls.get(name, ())]
    return left


@rules.unit(
    "no-return",
    "vISA 3, Subroutine and Function Calls",
    failing="mov (M1, 1) D(0,0)<1> 0x1:d",
    passing="mov (M1, 1) D(0,0)<1> 0x1:d\nret (M1, 1)",
)
def units_end(at: UnitSite) -> Iterator[Wrong]:
    """Control does not run off the end of a unit.

    Marks there count only if a branch goes to them: compilers leave the labels of blocks that they
    removed behind the last return.
    """
    body = at.unit.body
    last = _last_executed(body, _targets(body))
    if last is not None and _ends(last):
        return
    what = "kernel" if at.unit.kind is UnitKind.KERNEL else "function"
    origin = body[-1].origin if body else None
    text = f"control runs off the end of {what} {at.unit.name!r}"
    if last is not None and last.op.mnemonic in ENDINGS:
        origin, text = last.origin, f"{text} where the predicate of {last.op.mnemonic} is false"
    yield Wrong(text, "end it with ret or fret", origin=origin)


def _ends(item: Instruction) -> bool:
    """Whether control never runs on from an instruction."""
    return item.op.mnemonic in ENDINGS and getattr(item, "pred", None) is None


@rules.unit(
    "subroutine-return",
    _SUBROUTINES,
    failing='call (M1, 16) sub\nret (M1, 1)\n.function "sub"\nsub:\nloop:\njmp (M1_NM, 1) loop',
    passing='call (M1, 16) sub\nret (M1, 1)\n.function "sub"\nsub:\n(P) ret (M1, 16)\n'
    "jmp (M1_NM, 1) sub_end\nsub_end:\nret (M1, 16)",
)
def subroutines_return(at: UnitSite) -> Iterator[Wrong]:
    """A subroutine has a ret, by which its callers go on.

    The first of a unit is where the unit starts, and may run for ever.
    """
    for part in sections(at.unit)[1:]:
        if not any(item.op.mnemonic in _RETURNS for item in part.body):
            origin = part.body[0].origin
            yield Wrong(f"subroutine {part.name} has no ret", "end it with ret", origin=origin)


def _targets(body: Sequence[Instruction]) -> set[str]:
    return {
        label
        for item in body
        if isinstance(item, Branch | SwitchJump)
        for label in named_labels(item)
    }


def _last_executed(body: Sequence[Instruction], targets: set[str]) -> Instruction | None:
    """Return the last instruction or used label of a body, None if it has none."""
    for item in reversed(body):
        is_unused = isinstance(item, LabelMark) and item.name not in targets
        if not isinstance(item, FileMark | LineMark | SubroutineMark) and not is_unused:
            return item
    return None


@rules.unit(
    "function-return",
    "vISA 6, FRET",
    failing="fret (M1, 16)",
    passing="ret (M1, 1)",
)
def returns_of_units(at: UnitSite) -> Iterator[Wrong]:
    """A kernel ends by ret, a function by fret; subroutines return by ret."""
    is_kernel = at.unit.kind is UnitKind.KERNEL
    main = _main(at.unit)
    for part in sections(at.unit):
        for item in part.body:
            if item.op.mnemonic == "fret" and is_kernel:
                yield Wrong("fret in a kernel, which nobody called", "use ret", origin=item.origin)
            elif item.op.mnemonic == "ret" and not is_kernel and part.name == main:
                text = f"ret in function {at.unit.name!r}, outside its subroutines"
                yield Wrong(text, "use fret", origin=item.origin)


def _main(unit: Unit) -> str | None:
    """Return the name of the section where a unit starts."""
    parts = sections(unit)
    return parts[0].name if parts else None


@rules.unit(
    "call-size",
    "vISA 6, FCALL",
    failing="fcall (M1, 16) helper 33 1\nret (M1, 1)",
    passing="fcall (M1, 16) helper 32 12\nret (M1, 1)",
)
def call_sizes(at: UnitSite) -> Iterator[Wrong]:
    """A call passes at most 32 registers of arguments and takes back at most 12."""
    for item in at.unit.body:
        for name, most in (("arguments", MOST_ARGUMENTS), ("returned", MOST_RETURNED)):
            count = getattr(item, name, None)
            if isinstance(count, int) and count > most:
                text = f"{count} registers are {_CALL_PARTS[name]}, at most {most} can be"
                yield Wrong(text, origin=item.origin)


@rules.unit(
    "execution-model",
    "vISA 6, WAIT and BARRIER",
    failing="wait 0x0:ub\nbarrier\nret (M1, 1)",
    passing="barrier\nret (M1, 1)",
)
def one_execution_model(at: UnitSite) -> Iterator[Wrong]:
    """A kernel waits for threads of a thread space, or has barriers of a thread group, not both."""
    waits = any(item.op.mnemonic == "wait" for item in at.unit.body)
    for item in at.unit.body:
        if waits and item.op.mnemonic in BARRIERS:
            text = f"{item.op.mnemonic} is for thread groups, wait for thread spaces"
            yield Wrong(text, origin=item.origin)


@rules.module(
    "kernel-call",
    "vISA 3, Concepts",
    failing='.version 4.1\n.kernel "k"\nfcall (M1, 16) other 1 1\nret (M1, 1)\n'
    '.kernel "other"\nret (M1, 1)\n',
    passing='.version 4.1\n.kernel "k"\nfcall (M1, 16) other 1 1\nret (M1, 1)\n'
    '.global_function "other"\nfret (M1, 16)\n',
)
def kernels_are_launched(at: ModuleSite) -> Iterator[Wrong]:
    """Kernels are started by the host; only functions are called."""
    kernels = {unit.name for unit in at.module.units if unit.kind is UnitKind.KERNEL}
    for unit in at.module.units:
        for item in unit.body:
            if isinstance(item, FunctionCall) and item.function in kernels:
                yield Wrong(f"{item.function} is a kernel, not a function", origin=item.origin)


@rules.unit(
    "scalar-call-mask",
    "vISA 6, CALL",
    severity=Severity.NOTE,
    failing='call (M1, 1) sub\nret (M1, 1)\n.function "sub"\nsub:\nret (M1, 1)',
    passing='call (M1_NM, 1) sub\nret (M1, 1)\n.function "sub"\nsub:\nret (M1, 1)',
)
def scalar_calls(at: UnitSite) -> Iterator[Wrong]:
    """A call of execution size 1 is marked NoMask.

    The pages ask the same of returns, which compilers never mark.
    """
    for item in at.unit.body:
        size = getattr(item, "exec", None)
        if item.op.mnemonic not in _SCALAR or not isinstance(size, ExecSize):
            continue
        if size.size == 1 and not size.no_mask:
            yield Wrong("a scalar call without NoMask", origin=item.origin)


@rules.unit(
    "jump-over-waiting",
    "vISA 3, Mixing Uniform and Divergent Control Flow",
    severity=Severity.WARNING,
    failing="(P) goto (M1, 16) meet\njmp (M1_NM, 1) out\nmeet:\nout:\nret (M1, 1)",
    passing="(P) goto (M1, 16) meet\njmp (M1_NM, 1) meet\nmeet:\nout:\nret (M1, 1)",
)
def jumps_keep_channels(at: UnitSite) -> Iterator[Wrong]:
    """A uniform jump does not pass a label where channels may wait for the others.

    Where they do, the run stops: they would be left behind.
    """
    places = {
        item.name: at_ for at_, item in enumerate(at.unit.body) if isinstance(item, LabelMark)
    }
    waiting: list[int] = []
    for position, item in enumerate(at.unit.body):
        if not isinstance(item, Branch) or item.label not in places:
            continue
        target = places[item.label]
        while waiting and waiting[0] <= position:
            heappop(waiting)
        if item.op.mnemonic == "goto" and item.exec.size > 1 and target > position:
            heappush(waiting, target)
        elif item.op.mnemonic == "jmp" and waiting and waiting[0] < target:
            passed = at.unit.body[waiting[0]]
            name = passed.name if isinstance(passed, LabelMark) else "a label"
            text = f"jmp to {item.label} passes {name}, where channels may wait"
            yield Wrong(text, "use goto", origin=item.origin)


@rules.unit(
    "slm-without-size",
    "vISA 4, Kernel, SLMSize",
    failing=".kernel_attr SLMSize=0\nlsc_load.slm (M1, 16) D:d32 flat[UD]:a32\nret (M1, 1)",
    passing=".kernel_attr SLMSize=1\nlsc_load.slm (M1, 16) D:d32 flat[UD]:a32\nret (M1, 1)",
)
def slm_has_a_size(at: UnitSite) -> Iterator[Wrong]:
    """A kernel whose SLMSize is 0 does not use shared local memory.

    A kernel that says nothing of SLMSize may: compilers state the size elsewhere.
    """
    if at.unit.attribute("SLMSize") != 0:
        return
    for item in at.unit.body:
        if not isinstance(item, _MARKS) and uses_slm(item):
            yield Wrong(f"{item.op.mnemonic} uses shared local memory", origin=item.origin)


def uses_slm(item: Instruction) -> bool:
    """Whether an instruction accesses shared local memory; fences order what there is, if any.

    Compilers put a fence of shared local memory before each barrier, also in kernels without it.
    """
    if getattr(item, "sfid", None) == "slm":
        return not isinstance(item, LscFence)
    surface = getattr(getattr(item, "surface", None), "variable", getattr(item, "surface", None))
    return surface == SURFACES[0]
