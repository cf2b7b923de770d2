"""What tools take: dataclasses whose annotations say what each field may hold, and what it means.

Names are those of `Kernel.launch` wherever there is the same thing there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from visim.runtime.files.number_text import DTYPES
from visim.serve.shapes import (
    AnyOf,
    Base64,
    Flag,
    Integer,
    ListOf,
    Nothing,
    Number,
    Record,
    TableOf,
    Text,
)

_MOST_SOURCE = 1 << 20
_MOST_BYTES = 1 << 22
_MOST_ITEMS = 1 << 20
_LARGEST = (1 << 31) - 1
_SIZES = ListOf(Integer(1, _LARGEST), 1, 3)
_ANY_SIZES = ListOf(Integer(0, _LARGEST), 1, 3)
_ELEMENT = AnyOf((Number(), Text(12, ("NaN", "Infinity", "-Infinity"))))
_TYPES = tuple(name for name in DTYPES if name[0] in "iuf" and name[1:].isdecimal())


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """An array: its elements in JSON or in base64."""

    type: Annotated[str, Text(8, _TYPES), "The type of the elements."]
    shape: Annotated[
        tuple[int, ...] | None,
        ListOf(Integer(1, _LARGEST), 1, 8),
        "The sizes of the dimensions, slowest first; one dimension if not given.",
    ] = None
    data: Annotated[
        tuple[Any, ...] | None,
        ListOf(_ELEMENT, 1, _MOST_ITEMS),
        'The elements in their order; "NaN", "Infinity" and "-Infinity" are texts.',
    ] = None
    base64: Annotated[bytes | None, Base64(_MOST_BYTES), "The elements as little-endian bytes."] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """What an array is to be, computed from the arguments as they were before the launch."""

    formula: Annotated[
        str,
        Text(1000),
        "An expression of NumPy over the arguments by name and i (the index of each element), such "
        "as a*x + y or where(i < n, sqrt(x), 0).",
    ]


_VALUE = AnyOf((Text(_MOST_SOURCE), Number(), Record(Array), Nothing()))


class Expected:
    """Either an `Array` or a `Formula`, told apart by their keys."""

    kinds = frozenset({"object"})

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        return {"anyOf": [Record(Array).schema(), Record(Formula).schema()]}

    def read(self, value: Any, path: str) -> Array | Formula:
        """Return what the object is."""
        made = Formula if isinstance(value, dict) and "formula" in value else Array
        return Record(made).read(value, path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program: a text or bytes, and what it is compiled for."""

    source: Annotated[
        str | None, Text(_MOST_SOURCE), "OpenCL C (needs device) or vISA text (.version ...)."
    ] = None
    binary: Annotated[
        bytes | None, Base64(_MOST_BYTES), "A zebin, a vISA object or a SPIR-V module."
    ] = None
    device: Annotated[
        str | None, Text(40), "The device: dg2, pvc, bmg, tgllp and others, as ocloc names them."
    ] = None
    options: Annotated[
        str, Text(2000), "Options of the OpenCL compiler: -D, -cl-..., -O, -w, -Werror."
    ] = ""
    headers: Annotated[
        Mapping[str, str],
        TableOf(Text(_MOST_SOURCE), 32),
        "The texts of included files by the names that #include has; no other files are read.",
    ] = field(default_factory=dict[str, str])
    compiler: Annotated[
        str | None, Text(60), "The compiler's version or its beginning; the newest if not given."
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One launch: its geometry, its arguments, and what they are to be afterwards."""

    args: Annotated[
        Mapping[str, Any],
        TableOf(_VALUE),
        "The arguments by name or index. A number, null, an array, or a text as visim run --arg "
        "takes it: zeros:1024, ones:f32:64x64, iota:1024, rand:1024, uninit:1024, 2.5, 1,2,3, "
        "hex:00ff, local:256, image:zeros:u8:64x64x4, sampler:repeat,linear.",
    ] = field(default_factory=dict[str, Any])
    global_size: Annotated[tuple[int, ...] | None, _SIZES, "Work-items in each dimension."] = None
    local_size: Annotated[
        tuple[int, ...] | None, _SIZES, "Work-items of a group; chosen if not given."
    ] = None
    global_offset: Annotated[
        tuple[int, ...] | None, _ANY_SIZES, "The global id of the first work-item."
    ] = None
    thread_groups: Annotated[tuple[int, ...] | None, _SIZES, "Bare vISA: thread groups."] = None
    group_size: Annotated[
        tuple[int, ...] | None, _SIZES, "Bare vISA: hardware threads of a group."
    ] = None
    thread_space: Annotated[
        tuple[int, ...] | None, _SIZES, "Media: hardware threads in two dimensions."
    ] = None
    surfaces: Annotated[
        Mapping[str, Any], TableOf(_VALUE), "Bare vISA: surfaces by their index in the table."
    ] = field(default_factory=dict[str, Any])
    samplers: Annotated[
        Mapping[str, Any], TableOf(Text(200)), "Bare vISA: samplers by their index in the table."
    ] = field(default_factory=dict[str, Any])
    expect: Annotated[
        Mapping[str, Any],
        TableOf(AnyOf((Text(_MOST_SOURCE), Expected()))),
        "What arguments are to be after the launch, by name: an array, a text as in args, or a "
        'formula such as {"formula": "a*x + y"}.',
    ] = field(default_factory=dict[str, Any])
    rtol: Annotated[
        float | None, Number(0), "Expected within rtol times the number; 1e-5 for floats."
    ] = None
    atol: Annotated[float | None, Number(0), "Expected within atol; 1e-8 for floats."] = None
    seed: Annotated[
        int, Integer(0, _LARGEST), "For rand: values, and for the order of threads."
    ] = 0
    show: Annotated[
        int, Integer(0, 4096), "So many elements of each array that has changed are in the answer."
    ] = 8


_PROGRAM = Record(Program)
_ENGINE = Text(12, ("jit", "interpreter"))
_BUDGET = Integer(1, 1 << 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compile:
    """What `compile` takes."""

    program: Annotated[Program, _PROGRAM, "The program."]
    want: Annotated[
        Sequence[str],
        ListOf(Text(10, ("zebin", "visa")), 0, 2),
        "What else is in the answer: the zebin (base64), the vISA text of the kernels.",
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What `check` takes."""

    program: Annotated[Program, _PROGRAM, "The program."]
    notes: Annotated[bool, Flag(), "Whether notes are in the answer, too."] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What `run` takes."""

    program: Annotated[Program, _PROGRAM, "The program."]
    kernel: Annotated[str | None, Text(400), "The kernel; not needed where there is one."] = None
    cases: Annotated[
        Sequence[Case], ListOf(Record(Case), 1, 16), "Launches, each by itself: several shapes."
    ]
    engine: Annotated[
        str | None, _ENGINE, "Who executes; the one that is done first if not given."
    ] = None
    budget: Annotated[
        int | None, _BUDGET, "So many instructions a hardware thread may execute."
    ] = None
    bounds: Annotated[
        str | None,
        Text(10, ("fault", "hardware")),
        "Accesses out of a surface's range: fault, or hardware (0, and dropped).",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitize(Run):
    """What `sanitize` takes."""

    sanitizers: Annotated[
        Sequence[str],
        ListOf(Text(10, ("all", "races", "uninit", "bounds", "barriers")), 1, 5),
        "What to look for.",
    ] = ("all",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """What `time` takes."""

    program: Annotated[Program, _PROGRAM, "The program."]
    kernel: Annotated[str | None, Text(400), "The kernel; not needed where there is one."] = None
    case: Annotated[Case, Record(Case), "The launch."]
    generations: Annotated[
        Sequence[str],
        ListOf(Text(20), 0, 8),
        "The generations to compare; the program's own device if not given.",
    ] = ()
    preset: Annotated[str | None, Text(20), "The costs: mesa, igc or measured."] = None
    lines: Annotated[int, Integer(0, 50), "So many of the hottest lines are in the answer."] = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """What `explain` takes."""

    code: Annotated[
        str,
        Text(200),
        "A code of a finding, fault, rule or error, such as race-local, memory-access or "
        "undefined/memory-access.",
    ]
    source: Annotated[
        str | None, Text(_MOST_SOURCE), "The text in which it is, for the lines around it."
    ] = None
    line: Annotated[int | None, Integer(1, _LARGEST), "The line at which it is."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one side of a comparison has of its own."""

    program: Annotated[Program | None, _PROGRAM, "Its program; that of the other if not given."] = (
        None
    )
    device: Annotated[str | None, Text(40), "Its device, in place of its program's."] = None
    options: Annotated[
        str | None, Text(2000), "Its compiler's options, in place of its program's."
    ] = None
    kernel: Annotated[str | None, Text(400), "Its kernel; not needed where there is one."] = None
    engine: Annotated[str | None, _ENGINE, "Who executes it."] = None
    arrays: Annotated[
        Mapping[str, Array],
        TableOf(Record(Array)),
        "In place of a program: arrays by the names of arguments, as another device wrote them.",
    ] = field(default_factory=dict[str, Array])


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What `diff` takes."""

    left: Annotated[Side, Record(Side), "One side: a program, or arrays."]
    right: Annotated[Side, Record(Side), "The other; what it lacks is as on the left."]
    case: Annotated[
        Case | None, Record(Case), "The launch, the same for both; not for two sides of arrays."
    ] = None
    trace: Annotated[
        bool,
        Flag(),
        "Whether to look for the first write that differs, which takes longer; only for sides of "
        "the same kernel.",
    ] = True
