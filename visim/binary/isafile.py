"""Reads and writes .isa files, the binary form of vISA programs ("common ISA", magic `CISA`).

Owns the file's header and where the objects lie. Files of version 3.4 to 4.1 are read, 4.1 is
written. A file keeps each kernel's Gen code behind its object; visim neither reads nor changes
that code, `native_code` hands it out and `write_isa` puts it back. Facts: format_facts section 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from visim.binary.unitreader import ObjectContext, read_unit
from visim.binary.unitwriter import EncodedUnit, write_unit
from visim.diag import ByteSpan
from visim.errors import InputError
from visim.layout import Reader, Writer
from visim.module import Module, Unit, UnitKind
from visim.target import PLATFORMS, Platform

MAGIC = b"CISA"
VERSION = (4, 1)
OLDEST_VERSION = (3, 4)
_EXTERNAL = 0


@dataclass(frozen=True, slots=True)
class NativeCode:
    """Gen code of one kernel: `platform_code` is the file's number of the device family."""

    platform_code: int
    code: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Place:
    """A stretch of the file, from byte `offset` on."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel in the header; `native` has the platform codes and places of its Gen code."""

    name: str
    place: _Place
    input_offset: int
    native: tuple[tuple[int, _Place], ...]


@dataclass(frozen=True, slots=True)
class _Function:
    """A function in the header; `place` is None for one that is defined elsewhere."""

    name: str
    place: _Place | None


@dataclass(frozen=True, slots=True)
class _Header:
    version: tuple[int, int]
    kernels: tuple[_Kernel, ...]
    functions: tuple[_Function, ...]


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
    header = _read_header(data, name)
    platform = platform or _platform_of(header)
    functions = tuple(function.name for function in header.functions)
    context = ObjectContext(header.version, platform, functions)
    units = [_read_kernel(data, name, kernel, context) for kernel in header.kernels]
    for function in header.functions:
        if function.place is not None:
            reader = Reader(data, name, function.place.offset, function.place.end)
            units.append(read_unit(reader, function.name, UnitKind.FUNCTION, context))
    return Module(header.version, tuple(units))


def native_code(data: bytes, name: str) -> dict[str, tuple[NativeCode, ...]]:
    """Return the Gen code in an .isa file by the names of its kernels.

    Raises:
        InputError: the file's header is not what it should be.
    """
    return {
        kernel.name: tuple(
            NativeCode(code, data[place.offset : place.end]) for code, place in kernel.native
        )
        for kernel in _read_header(data, name).kernels
    }


def isa_platform(data: bytes, name: str) -> Platform | None:
    """Return the device that an .isa file has Gen code for, None if it has none that is known.

    Raises:
        InputError: the file's header is not what it should be.
    """
    return _platform_of(_read_header(data, name))


def write_isa(
    module: Module,
    *,
    platform: Platform,
    native: Mapping[str, tuple[NativeCode, ...]] | None = None,
) -> bytes:
    """Return `module` as an .isa file of version 4.1.

    `native` is Gen code to go with the kernels of these names; the caller answers for it.
    Functions that are declared but not part of the module, and `.parameter` lines, have no place
    in a file.

    Raises:
        InputError: something in the module has no place in a file.
    """
    native = native or {}
    kernels = [(unit, write_unit(unit, platform)) for unit in module.kernels]
    functions = [(unit, write_unit(unit, platform)) for unit in module.functions]
    codes = [native.get(unit.name, ()) for unit in module.kernels]
    position = _header_size(module, codes)
    head, bodies = Writer(), bytearray()
    head.data += MAGIC
    for number, width in ((VERSION[0], 1), (VERSION[1], 1), (len(kernels), 2)):
        head.unsigned(number, width)
    for (unit, made), gen in zip(kernels, codes, strict=True):
        position = _kernel_entry(head, unit, made, gen, position)
        bodies += made.data + b"".join(entry.code for entry in gen)
    head.unsigned(0, 2)
    head.unsigned(len(functions), 2)
    for unit, made in functions:
        head.unsigned(_EXTERNAL, 1)
        _put_name(head, unit)
        for number, width in ((position, 4), (len(made.data), 4), (0, 2), (0, 2)):
            head.unsigned(number, width)
        position += len(made.data)
        bodies += made.data
    return bytes(head.data + bodies)


def _header_size(module: Module, codes: list[tuple[NativeCode, ...]]) -> int:
    names = sum(2 + len(unit.name.encode()) for unit in module.units)
    kernels = sum(17 + 9 * len(gen) for gen in codes)
    return 8 + names + kernels + 4 + 13 * len(module.functions)


def _kernel_entry(
    head: Writer, unit: Unit, made: EncodedUnit, gen: tuple[NativeCode, ...], position: int
) -> int:
    """Append a kernel's entry; return where the next object lies."""
    _put_name(head, unit)
    for number in (position, len(made.data), position + made.input_offset):
        head.unsigned(number, 4)
    for number, width in ((0, 2), (0, 2), (len(gen), 1)):
        head.unsigned(number, width)
    position += len(made.data)
    for entry in gen:
        head.unsigned(entry.platform_code, 1)
        head.unsigned(position, 4)
        head.unsigned(len(entry.code), 4)
        position += len(entry.code)
    return position


def _put_name(head: Writer, unit: Unit) -> None:
    raw = unit.name.encode()
    if not 0 < len(raw) < 1 << 16:
        raise InputError(f"a name of {len(raw)} bytes has no place in a file", unit.origin)
    head.unsigned(len(raw), 2)
    head.data += raw


def _read_kernel(data: bytes, name: str, kernel: _Kernel, context: ObjectContext) -> Unit:
    reader = Reader(data, name, kernel.place.offset, kernel.place.end)
    own = replace(context, inputs_at=kernel.input_offset)
    return read_unit(reader, kernel.name, UnitKind.KERNEL, own)


def _platform_of(header: _Header) -> Platform | None:
    for kernel in header.kernels:
        for code, _place in kernel.native:
            found = next((entry for entry in PLATFORMS if code in entry.gen_codes), None)
            if found is not None:
                return found
    return None


def _read_header(data: bytes, name: str) -> _Header:
    reader = Reader(data, name)
    if reader.take(min(4, len(data))) != MAGIC:
        raise InputError("this is no .isa file, it does not begin with CISA", ByteSpan(name, 0))
    version = (reader.unsigned(1), reader.unsigned(1))
    if not OLDEST_VERSION <= version <= VERSION:
        known = "{}.{} to {}.{}".format(*OLDEST_VERSION, *VERSION)
        message = f"the file has version {version[0]}.{version[1]}, visim reads {known}"
        raise reader.failure(message, 2)
    kernels = [_kernel(reader, version) for _ in range(reader.unsigned(2))]
    _none(reader, 2, "variables of the whole file")
    functions = [_function(reader, version) for _ in range(reader.unsigned(2))]
    header = _Header(version, tuple(kernels), tuple(functions))
    _check_names(reader, header)
    _check_places(reader, header)
    return header


def _kernel(reader: Reader, version: tuple[int, int]) -> _Kernel:
    name = _name(reader, version)
    place = _Place(reader.unsigned(4), reader.unsigned(4))
    input_offset = reader.unsigned(4)
    _none(reader, 2, "relocations of variables")
    _none(reader, 2, "relocations of functions")
    native = tuple(
        (reader.unsigned(1), _Place(reader.unsigned(4), reader.unsigned(4)))
        for _ in range(reader.unsigned(1))
    )
    return _Kernel(name, place, input_offset, native)


def _function(reader: Reader, version: tuple[int, int]) -> _Function:
    reader.unsigned(1)
    name = _name(reader, version)
    place = _Place(reader.unsigned(4), reader.unsigned(4))
    _none(reader, 2, "relocations of variables")
    _none(reader, 2, "relocations of functions")
    return _Function(name, place if place.offset or place.size else None)


def _name(reader: Reader, version: tuple[int, int]) -> str:
    length = reader.unsigned(2 if version >= (3, 7) else 1)
    raw = reader.take(length)
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise reader.failure("the name is not UTF-8", length) from None
    if not name or "\0" in name:
        raise reader.failure("the name is empty or has a zero byte", max(1, length))
    return name


def _none(reader: Reader, width: int, what: str) -> None:
    count = reader.unsigned(width)
    if count:
        raise reader.failure(
            f"the file has {count} {what}, visim reads only files with none", width
        )


def _check_names(reader: Reader, header: _Header) -> None:
    names: set[str] = set()
    for unit in (*header.kernels, *header.functions):
        if unit.name in names:
            raise InputError(f"{unit.name} is in the file twice", ByteSpan(reader.file, 0))
        names.add(unit.name)


def _check_places(reader: Reader, header: _Header) -> None:
    """Check that objects lie behind the header, in the file, and none in another."""
    places = [kernel.place for kernel in header.kernels]
    places += [place for kernel in header.kernels for _code, place in kernel.native]
    places += [function.place for function in header.functions if function.place]
    end = reader.position
    for place in sorted(places, key=lambda place: (place.offset, place.size)):
        if place.offset < end or place.end > reader.end:
            message = (
                f"an object is at {place.offset} to {place.end}, only {end} to {reader.end} is free"
            )
            raise InputError(message, ByteSpan(reader.file, place.offset))
        end = place.end


__all__ = [
    "MAGIC",
    "VERSION",
    "NativeCode",
    "is_isa",
    "isa_platform",
    "native_code",
    "read_isa",
    "write_isa",
]
