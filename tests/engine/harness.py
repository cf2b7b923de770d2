"""Runs a bare vISA text on an engine: registers in, registers out.

A test gives the lines of a kernel's body and the initial contents of its variables; the harness
declares the variables, runs the kernel and returns what they hold afterwards. General variables
are NumPy arrays whose dtype is the vISA type, predicates are integers (bit i is channel i).

Every test runs on each engine of `ENGINES`; the fixture in `conftest` chooses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.diag import Source
from visim.engine import jit
from visim.engine.base import Exit, Machine, RunOptions, SharedStarts, ThreadStart
from visim.engine.interp import Interpreter, Prepared
from visim.engine.jit.launch.code import KernelCode
from visim.engine.jit.lift import shadow
from visim.engine.jit.lift.shadow import Shadow
from visim.engine.jit.mir.pipeline import PASSES, run_passes
from visim.engine.jit.mir.solver import Facts
from visim.engine.jit.mir.values import Function
from visim.engine.jit.mir.values import Value as MirValue
from visim.engine.jit.mir.verifier import verify
from visim.engine.jit.passes import Pass
from visim.errors import Fault
from visim.linker import link_kernel
from visim.linker.program import LinkedKernel
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces
from visim.sem.expr import WIDE
from visim.target import platform as platform_of
from visim.text.parser import read_text
from visim.types import BOOL

Array = NDArray[Any]

TYPE_NAMES = {
    "uint8": "ub",
    "int8": "b",
    "uint16": "uw",
    "int16": "w",
    "uint32": "ud",
    "int32": "d",
    "uint64": "uq",
    "int64": "q",
    "float16": "hf",
    "float32": "f",
    "float64": "df",
}


@dataclass(frozen=True)
class BFloat:
    """A variable of type BF, given by the bits of its elements."""

    bits: Sequence[int]


@dataclass(frozen=True)
class Threads:
    """A variable whose initial contents differ between the threads of the group."""

    arrays: Sequence[Array]


Value = Array | BFloat | Threads


@dataclass
class Outcome:
    """How a run ended and what it left: `["V40"]` is a variable, `.predicates["P1"]` its bits.

    With several threads the variables are those of the thread that ran last.
    """

    exit: Exit
    values: dict[str, Array]
    predicates: dict[str, int]
    text: str

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    @property
    def fault(self) -> Fault:
        """The fault that ended the run."""
        assert self.exit.fault is not None, "the run ended without a fault"
        return self.exit.fault

    @property
    def faulting_line(self) -> str:
        """The line of the text that the fault names."""
        assert self.fault.line is not None
        return self.text.splitlines()[self.fault.line - 1].strip()


@dataclass
class Group:
    """A dispatch of one group that starts its threads with given registers."""

    starts: tuple[ThreadStart, ...]
    slm_bytes: int = 0
    group_count: int = 1
    kept: object = None

    def threads(self, group: int) -> int:
        return len(self.starts)

    def group_id(self, group: int) -> tuple[int, int, int]:
        return (group, 0, 0)

    def start(self, group: int, thread: int) -> ThreadStart:
        return self.starts[thread]


@dataclass
class GroupsAlike(Group):
    """A dispatch of groups whose threads all start alike, so that native code starts them."""

    def shared_starts(self) -> SharedStarts:
        return SharedStarts(self.starts, (), (), (0, 0, 0), (self.group_count, 1, 1))


@dataclass(frozen=True)
class Kernel:
    """A linked text, ready to run again with other contents of its variables."""

    text: str
    linked: LinkedKernel
    prepared: Prepared
    generals: Mapping[str, Any] = field(repr=False)
    compiled: dict[str, jit.Prepared] = field(repr=False, default_factory=dict)
    lifted: dict[str, shadow.Prepared] = field(repr=False, default_factory=dict)

    def place(self, name: str) -> int:
        """Return the byte offset of a variable of the kernel in the register image."""
        unit = self.linked.units[0]
        general = self.generals.get(name)
        return unit.others[name] if general is None else self.linked.offset(unit, general)

    def run(
        self,
        values: Mapping[str, Value] | None = None,
        predicates: Mapping[str, int] | None = None,
        *,
        mask: int | None = None,
        buffers: Mapping[str, Array] | None = None,
        surfaces: Surfaces | None = None,
        scratch_bytes: int = 0,
        arguments: Array | None = None,
        slm_bytes: int = 0,
        options: RunOptions | None = None,
    ) -> Outcome:
        """Run one group; each buffer is memory whose address is in the variable of its name.

        `arguments` are the bytes of the implicit arguments.
        """
        memory = Memory()
        given = dict(values or {})
        for name, buffer in (buffers or {}).items():
            given[name] = np.array([memory.add(buffer, name)], np.uint64)
        predicates = predicates or {}
        count = max([1, *(len(v.arrays) for v in given.values() if isinstance(v, Threads))])
        mask = (1 << self.linked.simd_size) - 1 if mask is None else mask
        starts = tuple(
            ThreadStart(self._registers(given, predicates, thread), mask) for thread in range(count)
        )
        machine = Machine(memory, surfaces or Surfaces(), scratch_bytes, arguments)
        dispatch = Group(starts, slm_bytes)
        ended, image = CHOSEN.run(self, dispatch, machine, options or RunOptions())
        return Outcome(
            ended,
            {name: self._read(image, name, value) for name, value in given.items()},
            {name: self._read_bits(image, name) for name in predicates},
            self.text,
        )

    def _registers(
        self, values: Mapping[str, Value], predicates: Mapping[str, int], thread: int
    ) -> tuple[tuple[int, bytes], ...]:
        generals = [(self.place(n), _array(v, thread).tobytes()) for n, v in values.items()]
        bits = [
            (self.place(n), bytes(v >> channel & 1 for channel in range(32)))
            for n, v in predicates.items()
        ]
        return (*generals, *bits)

    def _read(self, image: Array, name: str, value: Value) -> Array:
        array, start = _array(value, 0), self.place(name)
        octets = image[start : start + array.nbytes].copy()
        return octets.view(array.dtype)

    def _read_bits(self, image: Array, name: str) -> int:
        start = self.place(name)
        bits = image[start : start + 32]
        return sum(int(bit) << channel for channel, bit in enumerate(bits))


class OnInterpreter:
    """Runs kernels on the interpreter."""

    def run(
        self, kernel: Kernel, dispatch: Group, machine: Machine, options: RunOptions
    ) -> tuple[Exit, Array]:
        """Run the group; return how it ended and the registers of the thread that ran last."""
        return kernel.prepared.run([0], dispatch, machine, options), kernel.prepared.context.image


class OnJit:
    """Runs kernels on the JIT, which writes registers back for the tests."""

    def run(
        self, kernel: Kernel, dispatch: Group, machine: Machine, options: RunOptions
    ) -> tuple[Exit, Array]:
        """Run the group; return how it ended and the registers of the last thread."""
        compiled = kernel.compiled.setdefault("jit", jit.Prepared(kernel.linked, saving=True))
        ended = compiled.run([0], dispatch, machine, options)
        records = compiled.last.records
        return ended, records[min(len(records), len(dispatch.starts)) - 1].image


def checked(function: Function) -> Callable[[MirValue, Array], None]:
    """Return what compares values with what the analysis of their function says of them."""
    facts = Facts(function)

    def check(value: MirValue, found: Array) -> None:
        fact, kind = facts.of(value), value.type
        assert kind is not None
        if not (kind.is_integer or kind is BOOL) or kind is WIDE:
            assert fact.step != 0 or len({one.tobytes() for one in found}) == 1, value
            return
        numbers = [int(one) for one in found]
        assert fact.low <= min(numbers) <= max(numbers) <= fact.high, (value, fact)
        for number, known in zip(numbers, fact.lanes, strict=False):
            assert known in {None, number}, (value, fact)
        if fact.step is not None:
            bits = 1 if kind is BOOL else kind.bits
            steps = {(b - a) % (1 << bits) for a, b in pairwise(numbers)}
            assert steps <= {fact.step % (1 << bits)}, (value, fact)

    return check


def after_passes(function: Function) -> Function:
    """Return a function behind all passes, each of which leaves it well formed."""
    return run_passes(verify(function), PASSES)


class OnMir:
    """Runs the MIR of kernels behind all passes, which writes registers back when threads end."""

    def run(
        self, kernel: Kernel, dispatch: Group, machine: Machine, options: RunOptions
    ) -> tuple[Exit, Array]:
        """Run the group; return how it ended and the registers of the thread that ran last."""
        lifted = kernel.lifted.get("mir")
        if lifted is None:
            lifted = kernel.lifted["mir"] = Shadow(after_passes, checked, saving=True).prepare(
                kernel.linked
            )
        return lifted.run([0], dispatch, machine, options), lifted.context.image


class OnJitFromMir:
    """Runs kernels on the JIT, which emits all that it can from MIR."""

    def run(
        self, kernel: Kernel, dispatch: Group, machine: Machine, options: RunOptions
    ) -> tuple[Exit, Array]:
        """Run the group; return how it ended and the registers of the last thread."""
        compiled = kernel.compiled.get(FROM_MIR)
        if compiled is None:
            code = KernelCode(kernel.linked, saving=True, off=(Pass.GRAPHS.title,))
            compiled = jit.Prepared(kernel.linked, saving=True, code=code)
            kernel.compiled[FROM_MIR] = compiled
        ended = compiled.run([0], dispatch, machine, options)
        records = compiled.last.records
        return ended, records[min(len(records), len(dispatch.starts)) - 1].image


class OnJitNatively(OnJit):
    """Runs kernels on the JIT, whose native code starts the threads."""

    def run(
        self, kernel: Kernel, dispatch: Group, machine: Machine, options: RunOptions
    ) -> tuple[Exit, Array]:
        """Run the group; return how it ended and the registers of the last thread."""
        return super().run(
            kernel, GroupsAlike(dispatch.starts, dispatch.slm_bytes), machine, options
        )


class Chosen:
    """The engine on which `Kernel.run` runs."""

    engine: OnInterpreter | OnJit | OnJitFromMir | OnMir = OnInterpreter()

    def run(
        self, kernel: Kernel, dispatch: Group, machine: Machine, options: RunOptions
    ) -> tuple[Exit, Array]:
        """Run the group on the engine."""
        return self.engine.run(kernel, dispatch, machine, options)


ENGINES = {"interpreter": OnInterpreter(), "jit": OnJit()}
NATIVELY = "jit natively"
MIR = "mir"
FROM_MIR = "jit from mir"
ENGINES_AND_STARTS = ENGINES | {
    NATIVELY: OnJitNatively(),
    MIR: OnMir(),
    FROM_MIR: OnJitFromMir(),
}
CHOSEN = Chosen()


def assemble(text: str, platform: str = "skl") -> Kernel:
    """Return the first kernel of a complete text, linked with its functions and prepared."""
    module = read_text(Source("kernel.visaasm", text))
    kernel = module.kernels[0]
    linked = link_kernel(module, kernel, platform_of(platform))
    generals = {variable.name: variable for variable in kernel.generals}
    return Kernel(text, linked, Interpreter().prepare(linked), generals)


def run(
    body: str,
    values: Mapping[str, Value] | None = None,
    predicates: Mapping[str, int] | None = None,
    *,
    simd: int = 16,
    platform: str = "skl",
    version: str = "4.1",
    mask: int | None = None,
    declarations: str = "",
    functions: str = "",
    buffers: Mapping[str, Array] | None = None,
    surfaces: Surfaces | None = None,
    scratch_bytes: int = 0,
    arguments: Array | None = None,
    slm_bytes: int = 0,
    budget: int | None = None,
    seed: int = 0,
) -> Outcome:
    """Declare the variables that are given, run `body` and a final return, read them again.

    `declarations` are further lines before the body (address variables, aliases), `functions`
    the text of the functions that the body calls. A body whose last instruction is a return
    (one with subroutines) gets no other.
    """
    given = {**(values or {}), **dict.fromkeys(buffers or {}, np.zeros(1, np.uint64))}
    lines = [
        f".version {version}",
        '.kernel "k"',
        *(_declaration(name, value) for name, value in given.items()),
        *(f".decl {name} v_type=P num_elts=32" for name in predicates or {}),
        *body_lines(declarations),
        f".kernel_attr SimdSize={simd}",
        '.function "k"',
        "k:",
        *body_lines(body),
    ]
    if not lines[-1].strip().startswith("ret "):
        lines.append("    ret (M1, 1)")
    text = "\n".join([*lines, *body_lines(functions)]) + "\n"
    return assemble(text, platform).run(
        values,
        predicates,
        mask=mask,
        buffers=buffers,
        surfaces=surfaces,
        scratch_bytes=scratch_bytes,
        arguments=arguments,
        slm_bytes=slm_bytes,
        options=RunOptions(budget=budget, seed=seed),
    )


def body_lines(body: str) -> list[str]:
    """Return the lines of a text: labels and directives in column 0, instructions indented."""
    found: list[str] = []
    for line in body.splitlines():
        stripped = line.strip()
        if not stripped:
            continue
        is_mark = stripped.endswith(":") or stripped.startswith(".")
        found.append(stripped if is_mark else f"    {stripped}")
    return found


def _array(value: Value, thread: int) -> Array:
    match value:
        case BFloat(bits):
            return np.array(bits, np.uint16)
        case Threads(arrays):
            return arrays[thread]
        case _:
            return value


def _declaration(name: str, value: Value) -> str:
    array = _array(value, 0)
    kind = "bf" if isinstance(value, BFloat) else TYPE_NAMES[array.dtype.name]
    return f".decl {name} v_type=G type={kind} num_elts={array.size} align=wordx32"
