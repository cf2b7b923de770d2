"""Reads and writes .isa files, the binary form of vISA programs ("common ISA", magic `CISA`).

Puts together what the header (`isaheader`) and the objects (`unitreader`, `unitwriter`) say.
Versions 3.0 to 4.2 are read and written. A file keeps each kernel's Gen code behind its object;
visim neither reads nor changes that code, `native_code` hands it out and `write_isa` puts it back.
Facts: docs/formats.md, The object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from visim.attributes import ALIGNMENTS
from visim.binary.isaheader import (
    MAGIC,
    FunctionEntry,
    Header,
    KernelEntry,
    Place,
    Relocations,
    VariableEntry,
    check_places,
    read_header,
    write_header,
)
from visim.binary.stripped import check_whole
from visim.binary.symbols import EXTERNAL_CODE, GLOBAL_CODE, STATIC_CODE, Names
from visim.binary.unitreader import ObjectContext, read_unit
from visim.binary.unitwriter import EncodedUnit, write_unit
from visim.diag import ByteSpan
from visim.errors import InputError
from visim.isa.codecs import Version
from visim.layout import Reader
from visim.module import MANGLED, FileVariable, Linkage, Module, Unit, UnitKind
from visim.operands import FILE_SCOPE, General
from visim.target import COMMON_OBJECT, PLATFORMS, Platform
from visim.types import BY_CODE

_LINKAGES = {
    EXTERNAL_CODE: Linkage.EXTERNAL,
    STATIC_CODE: Linkage.STATIC,
    GLOBAL_CODE: Linkage.GLOBAL,
}
_LINKAGE_CODES = {linkage: code for code, linkage in _LINKAGES.items()}


@dataclass(frozen=True, slots=True)
class NativeCode:
    """Gen code of one kernel: `platform_code` is the file's number of the device family."""

    platform_code: int
    code: bytes = field(repr=False)


def is_isa(data: bytes) -> bool:
    """Whether `data` begins as an .isa file does."""
    return data.startswith(MAGIC)


def read_isa(data: bytes, name: str, *, platform: Platform | None = None) -> Module:
    """Return the module in an .isa file; `name` is the file's name in messages.

    `platform` is the device that the file was made for; without it the file's Gen code tells.
    The version of the module is that of the file.

    Raises:
        InputError: the file is not what it should be, or has what visim does not read.
    """
    header = read_header(data, name)
    check_whole(data, name, header)
    check_places(data, name, header)
    context = _Context(header, name, platform or next(iter(_platforms_of(header)), None))
    units: list[Unit] = []
    for kernel in header.kernels:
        reader = Reader(data, name, kernel.place.offset, kernel.place.end)
        own = replace(context.of(kernel), inputs_at=kernel.input_offset)
        units.append(read_unit(reader, kernel.name, UnitKind.KERNEL, own))
    for function in header.functions:
        if function.place is not None:
            reader = Reader(data, name, function.place.offset, function.place.end)
            own = replace(context.of(function), linkage=function.linkage)
            units.append(read_unit(reader, function.name, UnitKind.FUNCTION, own))
    externals = tuple(entry.name for entry in header.functions if entry.place is None)
    return Module(header.version, tuple(units), None, context.variables, externals)


def native_code(data: bytes, name: str) -> dict[str, tuple[NativeCode, ...]]:
    """Return the Gen code in an .isa file by the names of its kernels.

    Raises:
        InputError: the file's header is not what it should be.
    """
    return {
        kernel.name: tuple(
            NativeCode(code, data[place.offset : place.end]) for code, place in kernel.native
        )
        for kernel in read_header(data, name).kernels
    }


def isa_platforms(data: bytes, name: str) -> tuple[Platform, ...]:
    """Return the devices that an .isa file can have Gen code for: some have one number together.

    Raises:
        InputError: the file's header is not what it should be.
    """
    return _platforms_of(read_header(data, name))


def write_isa(
    module: Module,
    *,
    platform: Platform,
    native: Mapping[str, tuple[NativeCode, ...]] | None = None,
    version: Version = COMMON_OBJECT,
) -> bytes:
    """Return `module` as an .isa file of `version`, which need not be that of the module.

    `native` is Gen code to go with the kernels of these names; the caller answers for it.
    `.parameter` lines have no place in a file.

    Raises:
        InputError: something in the module has no place in a file of this version.
    """
    native = native or {}
    made = {unit.name: write_unit(unit, platform, version) for unit in module.units}
    header = _header(module, made, native, version)
    placed = _placed(header, len(write_header(header)))
    parts = [write_header(placed)]
    for unit in module.kernels:
        parts += [made[unit.name].data, *(entry.code for entry in native.get(unit.name, ()))]
    parts += [made[unit.name].data for unit in module.functions]
    return b"".join(parts)


# Reading


class _Context:
    """What all objects of a file have in common."""

    def __init__(self, header: Header, name: str, platform: Platform | None) -> None:
        self.header = header
        own = Names()
        self.variables = tuple(
            _variable(entry, own.general(entry.name.removeprefix(MANGLED), place), name)
            for place, entry in enumerate(header.variables)
        )
        names = tuple(function.name for function in header.functions)
        by_place = {place: entry.variable for place, entry in enumerate(self.variables)}
        self.shared = _with_variables(ObjectContext(header.version, platform, names), by_place)

    def of(self, entry: KernelEntry | FunctionEntry) -> ObjectContext:
        """Return the context of one unit; without relocations its numbers are places."""
        functions, relocations = self.header.functions, entry.relocations
        called = {number: functions[place].name for number, place in relocations.functions}
        context = replace(self.shared, called=called)
        if not relocations.variables:
            return context
        variables = self.variables
        used = {number: variables[place].variable for number, place in relocations.variables}
        return _with_variables(context, used)


def _with_variables(context: ObjectContext, variables: Mapping[int, General]) -> ObjectContext:
    """Return the context with a file's variables, which all units without relocations share."""
    names = frozenset(variable.name for variable in variables.values())
    return replace(context, variables=variables, taken=names)


def _variable(entry: VariableEntry, name: str, file: str) -> FileVariable:
    """Return a variable of the file under a name of its own; some files have a name twice."""
    kind, align = BY_CODE.get(entry.bits & 15), entry.bits >> 4
    if kind is None or align >= len(ALIGNMENTS) or not entry.count:
        message = f"variable {entry.name} has type {entry.bits & 15}, alignment {align}"
        raise InputError(f"{message}, {entry.count} elements", ByteSpan(file, 0))
    stored = entry.name if entry.name != name else None
    general = General(
        name, kind, entry.count, ALIGNMENTS[align], index=FILE_SCOPE, stored_name=stored
    )
    return FileVariable(general, _LINKAGES[entry.linkage])


def _platforms_of(header: Header) -> tuple[Platform, ...]:
    for kernel in header.kernels:
        for code, _place in kernel.native:
            if found := tuple(entry for entry in PLATFORMS if code in entry.gen_codes):
                return found
    return ()


# Writing


def _header(
    module: Module,
    made: Mapping[str, EncodedUnit],
    native: Mapping[str, tuple[NativeCode, ...]],
    version: Version,
) -> Header:
    """Return the header without places."""
    variables = tuple(_variable_entry(variable) for variable in module.variables)
    functions = (*module.externals, *(unit.name for unit in module.functions))
    has_linkage = module.has_linkage
    names = _first_places([declared.variable.name for declared in module.variables])
    tables = names, _first_places(functions if has_linkage else ())
    kernels = [
        KernelEntry(
            unit.name,
            Place(0, len(made[unit.name].data)),
            made[unit.name].input_offset,
            _relocations(made[unit.name], *tables),
            tuple(
                (gen.platform_code, Place(0, len(gen.code))) for gen in native.get(unit.name, ())
            ),
        )
        for unit in module.kernels
    ]
    entries = [FunctionEntry(name, EXTERNAL_CODE, None, Relocations()) for name in module.externals]
    entries += [
        FunctionEntry(
            unit.name,
            _linkage(unit, has_linkage=has_linkage),
            Place(0, len(made[unit.name].data)),
            _relocations(made[unit.name], *tables),
        )
        for unit in module.functions
    ]
    return Header(version, tuple(kernels), variables, tuple(entries))


def _variable_entry(declared: FileVariable) -> VariableEntry:
    variable = declared.variable
    bits = variable.type.code | ALIGNMENTS.index(variable.align) << 4
    name = variable.stored_name or variable.name
    return VariableEntry(name, _LINKAGE_CODES[declared.linkage], bits, variable.count)


def _linkage(unit: Unit, *, has_linkage: bool) -> int:
    """Return a function's number: compilers say external of all, so do files without linkage."""
    if unit.linkage is Linkage.STATIC:
        return STATIC_CODE
    if unit.order is not None:
        return unit.order.linkage
    return GLOBAL_CODE if has_linkage else EXTERNAL_CODE


def _relocations(
    made: EncodedUnit, variables: Mapping[str, int], functions: Mapping[str, int]
) -> Relocations:
    """Return a unit's relocations; GenX_IR wants none, so only files with linkage have them."""
    return Relocations(
        tuple((number, variables[name]) for number, name in made.variables.items()),
        tuple(
            (number, functions[name])
            for number, name in made.functions.items()
            if name in functions
        ),
    )


def _first_places(names: Sequence[str]) -> dict[str, int]:
    """Return the place of each name, the first one of a name that is there twice."""
    return {name: place for place, name in reversed(tuple(enumerate(names)))}


def _placed(header: Header, position: int) -> Header:
    """Return the header with places: objects from `position` on, Gen code behind its kernel's."""
    kernels: list[KernelEntry] = []
    for kernel in header.kernels:
        start = position
        position += kernel.place.size
        native: list[tuple[int, Place]] = []
        for code, place in kernel.native:
            native.append((code, replace(place, offset=position)))
            position += place.size
        kernels.append(
            replace(
                kernel,
                place=replace(kernel.place, offset=start),
                input_offset=start + kernel.input_offset,
                native=tuple(native),
            )
        )
    functions: list[FunctionEntry] = []
    for function in header.functions:
        if function.place is None:
            functions.append(function)
            continue
        functions.append(replace(function, place=replace(function.place, offset=position)))
        position += function.place.size
    return replace(header, kernels=tuple(kernels), functions=tuple(functions))


__all__ = [
    "NativeCode",
    "is_isa",
    "isa_platforms",
    "native_code",
    "read_isa",
    "write_isa",
]
