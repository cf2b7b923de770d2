"""A linked kernel: every variable has its place in the register image, every label its number.

The register image is what one hardware thread owns: first what indirect operands can reach, whose
addresses are byte offsets into the image, then all other variables: predefined ones, those of the
file, the kernel's, and those of each function that it can call. Follows specification 3 (Subroutine
and Function Calls).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from visim import predefined
from visim.diag import Diagnostic, Diagnostics, Severity
from visim.errors import LinkError
from visim.isa import Unexecutable, trace
from visim.isa.flow import FunctionAddress, FunctionCall
from visim.isa.forms import LabelMark, SubroutineMark
from visim.isa.registry import Instruction
from visim.lex import nearest
from visim.linker.extensions import how_to_have
from visim.linker.places import Places
from visim.module import Module, Unit
from visim.operands import ExecSize, General, StateVariable
from visim.sem.effects import Effect
from visim.target import Platform

FUNCTION_HANDLE = 0x1000
"""Handle of the first function; each next one is 16 more. Zero is no function."""


MOST_UNRESOLVED = 500
"""How many unresolved names of one unit are reported."""


@dataclass(frozen=True, slots=True)
class LinkedUnit:
    """A kernel or function with its labels' program counters and its storage in the image.

    `spans` are where the unit's variables begin and end, which each activation of a function has
    for itself: those that indirect operands can reach, and all others. A program counter is an
    index into `unit.body`. The offsets are those of general variables by index, and of the others
    by name: a predicate is a byte a channel, an address or the index of a surface or sampler 4
    bytes an element.
    """

    unit: Unit
    number: int
    labels: dict[str, int]
    spans: tuple[tuple[int, int], ...]
    offsets: dict[int, int] = field(repr=False)
    others: dict[str, int] = field(repr=False)

    @property
    def body(self) -> tuple[Instruction, ...]:
        """The unit's instructions and marks."""
        return self.unit.body


@dataclass(frozen=True)
class LinkedKernel:
    """A kernel and all functions of its program, ready for an engine.

    `units[0]` is the kernel. `register_bytes` is the size of the register image, `reached_bytes` of
    its first part: the variables that indirect operands can reach, and a margin of zeros before and
    behind them. `predefined` and `file_scope` are the places in it of what all units share, by
    index and by name. `symbols` are the addresses of the program's variables in memory, by name.
    `origin` is a digest of the file that all of it comes of, where that is one file; it says the
    same as the units' texts.
    """

    name: str
    platform: Platform
    simd_size: int
    units: tuple[LinkedUnit, ...]
    register_bytes: int
    reached_bytes: int
    predefined: dict[int, int]
    symbols: Mapping[str, int] = field(default_factory=dict[str, int], repr=False)
    file_scope: Mapping[str, int] = field(default_factory=dict[str, int], repr=False)
    origin: str | None = None

    def __repr__(self) -> str:
        """Say which kernel it is: observers print what they are told, and units are long."""
        return f"<LinkedKernel {self.name} on {self.platform.name}>"

    @property
    def kernel(self) -> Unit:
        """The kernel's unit."""
        return self.units[0].unit

    @property
    def made_by(self) -> tuple[str, ...]:
        """What adds to the effects of instructions: nothing here."""
        return ()

    @property
    def tells(self) -> frozenset[str]:
        """The names of what `Watch` effects tell anywhere in the program: nothing here."""
        return frozenset()

    def effects(
        self, unit: LinkedUnit, pc: int, block_shape: int | None = None
    ) -> tuple[Effect, ...]:
        """Return what an instruction of a unit does; see `visim.isa.trace`.

        Raises:
            Unexecutable: visim does not execute it; the message says why.
        """
        return trace(unit.body[pc], self.platform, block_shape)

    def known_effects(self, unit: LinkedUnit, pc: int) -> tuple[Effect, ...]:
        """Return what an instruction of a unit does; nothing where visim does not execute it."""
        try:
            return self.effects(unit, pc)
        except Unexecutable:
            return ()

    def function(self, name: str) -> LinkedUnit:
        """Return the function called `name`."""
        return self._functions[name]

    @cached_property
    def _functions(self) -> dict[str, LinkedUnit]:
        return {unit.unit.name: unit for unit in self.units[1:]}

    def address(self, name: str) -> int:
        """Return what `faddr` gives for `name`: a variable's address or a function's handle."""
        if name in self.symbols:
            return self.symbols[name]
        return function_handle(self.function(name).number)

    def offset(self, unit: LinkedUnit, variable: General) -> int:
        """Return the byte offset of a variable of `unit` in the register image."""
        root, offset = variable.root()
        if root.is_shared:
            return self.shared_offset(root) + offset
        return unit.offsets[root.index] + offset

    def is_reached(self, unit: LinkedUnit, variable: General) -> bool:
        """Return whether indirect operands can reach a variable of `unit`."""
        return self.offset(unit, variable.root()[0]) < self.reached_bytes

    def reached(self, unit: LinkedUnit) -> frozenset[int]:
        """Return the indices of the root variables of `unit` that indirect operands can reach."""
        known = (*predefined.GENERALS, *unit.unit.generals)
        return frozenset(
            variable.root()[0].index for variable in known if self.is_reached(unit, variable)
        )

    def register_address(self, unit: LinkedUnit, variable: General | StateVariable) -> int:
        """Return the byte address that `&variable` stands for in a unit."""
        if isinstance(variable, General):
            return self.offset(unit, variable)
        return unit.others[variable.name]

    def shared_offset(self, variable: General) -> int:
        """Return the byte offset of a predefined or file-scope variable in the register image."""
        if variable.is_file_scope:
            return self.file_scope[variable.name]
        return self.predefined[variable.index]


def function_handle(number: int) -> int:
    """Return the handle of function `number` (1 is the first), as `faddr` gives it."""
    return FUNCTION_HANDLE + 16 * (number - 1)


def link_kernel(
    module: Module, kernel: Unit, platform: Platform, symbols: Mapping[str, int] | None = None
) -> LinkedKernel:
    """Link one kernel of `module` with the module's functions.

    Args:
        module: the kernel's module.
        kernel: one of its kernels.
        platform: the device.
        symbols: addresses of the program's variables, by name.

    Raises:
        LinkError: it calls a function or mentions a variable of file scope that the module lacks.
    """
    diagnostics = Diagnostics()
    names = {unit.name: None for unit in module.functions}
    addresses = dict(symbols or {})
    program = (kernel, *module.functions)
    places = Places(module, program, platform.grf_bytes)
    units: list[LinkedUnit] = []
    for number, (unit, own) in enumerate(zip(program, places.units, strict=True)):
        labels = {
            item.name: pc
            for pc, item in enumerate(unit.body)
            if isinstance(item, LabelMark | SubroutineMark)
        }
        units.append(LinkedUnit(unit, number, labels, tuple(own.spans), own.offsets, own.others))
        diagnostics.extend(unresolved(unit, names, addresses))
        _check_variables(unit, places.file_scope, diagnostics)
    if diagnostics.errors:
        raise LinkError(diagnostics)
    return LinkedKernel(
        kernel.name,
        platform,
        kernel.simd_size or dispatch_width(kernel),
        tuple(units),
        places.size,
        places.reached,
        places.predefined,
        addresses,
        places.file_scope,
    )


DEFINED_ELSEWHERE = "link it with the file that defines it"
_IN_ZEBIN = (
    f"{DEFINED_ELSEWHERE}, if it is a function; variables of a program are in its zebin alone"
)


def how_to_resolve(item: FunctionCall | FunctionAddress, known: Collection[str]) -> str:
    """Return what to do about a name that is not known.

    What is called is a function. What an address is taken of may be a variable of a zebin.
    """
    if lacking := how_to_have(item.function):
        return lacking
    guess = nearest(item.function, known)
    if guess:
        return f"did you mean {guess!r}?"
    return DEFINED_ELSEWHERE if isinstance(item, FunctionCall) else _IN_ZEBIN


def unresolved(
    unit: Unit, known: Collection[str], symbols: Mapping[str, int]
) -> Iterator[Diagnostic]:
    """Yield what a unit calls or names that is neither a known function nor a symbol.

    Finding a name in `known` has to be quick: a set, or a dictionary in the functions' order.
    """
    left = MOST_UNRESOLVED
    for item in unit.body:
        if not isinstance(item, FunctionCall | FunctionAddress) or item.function in known:
            continue
        if isinstance(item, FunctionAddress) and item.function in symbols:
            continue
        left -= 1
        if left < 0:
            return
        what = "function " if isinstance(item, FunctionCall) else ""
        yield Diagnostic(
            "unknown-function",
            Severity.ERROR,
            f"{what}{item.function!r} is not part of the program",
            item.origin,
            help=how_to_resolve(item, known),
        )


def _check_variables(unit: Unit, known: Mapping[str, int], diagnostics: Diagnostics) -> None:
    for name in file_variables_of(unit):
        if name not in known:
            guess = nearest(name, known)
            diagnostics.error(
                "unknown-variable",
                f"{unit.name}: file-scope variable {name!r} is not part of the program",
                unit.origin,
                help=f"did you mean {guess!r}?" if guess else DEFINED_ELSEWHERE,
            )


def file_variables_of(unit: Unit) -> list[str]:
    """Return the names of the variables of file scope that a unit has aliases of."""
    roots = (variable.root()[0] for variable in unit.generals)
    return list(dict.fromkeys(root.name for root in roots if root.is_file_scope))


def dispatch_width(kernel: Unit) -> int:
    """Return the widest execution size, at least 8: the dispatch width when none is stated."""
    sizes = (getattr(item, "exec", None) for item in kernel.body)
    return max([8, *(size.size for size in sizes if isinstance(size, ExecSize))])


__all__ = [
    "LinkedKernel",
    "LinkedUnit",
    "dispatch_width",
    "file_variables_of",
    "function_handle",
    "link_kernel",
    "unresolved",
]
