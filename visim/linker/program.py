"""A linked kernel: every variable has its place in the register image, every label its number.

The register image is what one hardware thread owns: predefined variables first, then the kernel's
variables, then those of each function that it can call. Addresses of indirect operands are byte
offsets into this image. Follows specification 3 (Subroutine and Function Calls).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from visim import predefined
from visim.diag import Diagnostic, Diagnostics, Severity
from visim.errors import LinkError
from visim.isa.flow import FunctionAddress, FunctionCall
from visim.isa.forms import LabelMark, SubroutineMark
from visim.isa.registry import Instruction
from visim.lex import nearest
from visim.module import Linkage, Module, Unit
from visim.operands import ExecSize, General, StateVariable
from visim.target import Platform

GUARD = 4096
"""Bytes between units, so that an operand that reaches beyond its variable stays in the image."""

FUNCTION_HANDLE = 0x1000
"""Handle of the first function; each next one is 16 more. Zero is no function."""


MOST_UNRESOLVED = 500
"""How many unresolved names of one unit are reported."""

PREDICATE_BYTES = 64
"""Bytes of a predicate in the image: 32 channels, and room for offsets beyond them."""


@dataclass(frozen=True, slots=True)
class LinkedUnit:
    """A kernel or function with its labels' program counters and its storage in the image.

    `[start, end)` are the bytes of the unit's variables, which each activation of a function has
    for itself. A program counter is an index into `unit.body`. The offsets are those of general
    variables by index, and of the others by name: a predicate is a byte a channel, an address or
    the index of a surface or sampler 4 bytes an element.
    """

    unit: Unit
    number: int
    labels: dict[str, int]
    start: int
    end: int
    offsets: dict[int, int] = field(repr=False)
    others: dict[str, int] = field(repr=False)

    @property
    def body(self) -> tuple[Instruction, ...]:
        """The unit's instructions and marks."""
        return self.unit.body


@dataclass(frozen=True, slots=True)
class LinkedKernel:
    """A kernel and all functions of its program, ready for an engine.

    `units[0]` is the kernel. `register_bytes` is the size of the register image. `predefined` and
    `file_scope` are the places in it of what all units share, by index and by name. `symbols` are
    the addresses of the program's variables in memory, by name. `origin` is a digest of the file
    that all of it comes of, where that is one file; it says the same as the units' texts.
    """

    name: str
    platform: Platform
    simd_size: int
    units: tuple[LinkedUnit, ...]
    register_bytes: int
    predefined: dict[int, int]
    symbols: Mapping[str, int] = field(default_factory=dict[str, int], repr=False)
    file_scope: Mapping[str, int] = field(default_factory=dict[str, int], repr=False)
    origin: str | None = None

    @property
    def kernel(self) -> Unit:
        """The kernel's unit."""
        return self.units[0].unit

    def function(self, name: str) -> LinkedUnit:
        """Return the function called `name`."""
        return next(unit for unit in self.units[1:] if unit.unit.name == name)

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
    grf = platform.grf_bytes
    fixed, position = _place_predefined(grf)
    file_scope, position = _place_file_scope(module, position, grf)
    diagnostics = Diagnostics()
    names = {unit.name: None for unit in module.functions}
    addresses = dict(symbols or {})
    units: list[LinkedUnit] = []
    for number, unit in enumerate((kernel, *module.functions)):
        start = position + GUARD
        offsets, end = _place_variables(unit, start, grf)
        others, end = _place_others(unit, end, grf)
        labels = {
            item.name: pc
            for pc, item in enumerate(unit.body)
            if isinstance(item, LabelMark | SubroutineMark)
        }
        units.append(LinkedUnit(unit, number, labels, start, end, offsets, others))
        diagnostics.extend(unresolved(unit, names, addresses))
        _check_variables(unit, file_scope, diagnostics)
        position = end
    if diagnostics.errors:
        raise LinkError(diagnostics)
    return LinkedKernel(
        kernel.name,
        platform,
        kernel.simd_size or dispatch_width(kernel),
        tuple(units),
        _aligned(position + GUARD, grf),
        fixed,
        addresses,
        file_scope,
    )


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment


def _place_predefined(grf: int) -> tuple[dict[int, int], int]:
    offsets: dict[int, int] = {}
    position = 0
    for variable in predefined.GENERALS:
        offsets[variable.index] = position
        size = predefined.elements(variable, grf) * variable.type.bytes
        position = _aligned(position + size, grf)
    return offsets, position


def _place_file_scope(module: Module, start: int, grf: int) -> tuple[dict[str, int], int]:
    """Give each variable of file scope that is defined here whole registers."""
    offsets: dict[str, int] = {}
    position = start
    for declared in module.variables:
        if declared.linkage is not Linkage.EXTERNAL:
            offsets[declared.variable.name] = position
            position = _aligned(position + declared.variable.bytes, grf)
    return offsets, position


def _place_variables(unit: Unit, start: int, grf: int) -> tuple[dict[int, int], int]:
    """Give each variable that is no alias whole registers (specification 5, region rule 6)."""
    offsets: dict[int, int] = {}
    position = _aligned(start, grf)
    for variable in unit.generals:
        if variable.alias is None:
            offsets[variable.index] = position
            position = _aligned(position + variable.bytes, grf)
    return offsets, position


def _place_others(unit: Unit, start: int, grf: int) -> tuple[dict[str, int], int]:
    offsets: dict[str, int] = {}
    position = _aligned(start, 64)
    for predicate in unit.predicates:
        offsets[predicate.name] = position
        position += PREDICATE_BYTES
    bindless = (predefined.BINDLESS_SURFACE, predefined.BINDLESS_SAMPLER)
    for variable in (*unit.addresses, *unit.surfaces, *unit.samplers, *bindless):
        offsets[variable.name] = position
        position = _aligned(position + 4 * variable.count, 4)
    return offsets, _aligned(position, grf)


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
        guess = nearest(item.function, known)
        yield Diagnostic(
            "unknown-function",
            Severity.ERROR,
            f"function {item.function!r} is not part of the program",
            item.origin,
            help=f"did you mean {guess!r}?" if guess else "link it with the file that defines it",
        )


def _check_variables(unit: Unit, known: Mapping[str, int], diagnostics: Diagnostics) -> None:
    for name in file_variables_of(unit):
        if name not in known:
            guess = nearest(name, known)
            diagnostics.error(
                "unknown-variable",
                f"{unit.name}: file-scope variable {name!r} is not part of the program",
                unit.origin,
                help=f"did you mean {guess!r}?"
                if guess
                else "link it with the file that defines it",
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
