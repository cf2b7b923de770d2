"""The header of an .isa file: what is in the file, and where.

Owns the header's records in both directions; what the objects hold is the business of `isafile`
and `unitreader`. Facts: specification 4 (Virtual ISA Header), docs/formats.md, The object.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from visim.binary.symbols import EXTERNAL_CODE, GLOBAL_CODE
from visim.diag import ByteSpan
from visim.errors import InputError
from visim.isa.codecs import CodingError, Version, put
from visim.layout import Reader, Writer
from visim.target import NEWEST_OBJECT, OLDEST_OBJECT

MAGIC = b"CISA"
LONG_NAMES: Version = (3, 7)
"""The version since which a kernel's or function's name may have more than 255 bytes.

A variable's length has two bytes in all versions.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of the file, from byte `offset` on."""

    offset: int = 0
    size: int = 0

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class Relocations:
    """What a unit's own numbers mean: pairs of such a number and a place in the header's table."""

    variables: tuple[tuple[int, int], ...] = ()
    functions: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """A kernel in the header; `native` has the platform codes and places of its Gen code."""

    name: str
    place: Place
    input_offset: int
    relocations: Relocations
    native: tuple[tuple[int, Place], ...]


@dataclass(frozen=True, slots=True)
class VariableEntry:
    """A variable of file scope; `bits` hold its type and alignment."""

    name: str
    linkage: int
    bits: int
    count: int


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """A function in the header; `place` is None for one that is defined elsewhere."""

    name: str
    linkage: int
    place: Place | None
    relocations: Relocations


@dataclass(frozen=True, slots=True)
class Header:
    """All records of a header; it takes `size` bytes of a file that was read."""

    version: Version
    kernels: tuple[KernelEntry, ...]
    variables: tuple[VariableEntry, ...]
    functions: tuple[FunctionEntry, ...]
    size: int = 0

    @property
    def places(self) -> list[Place]:
        """Where its objects and Gen code lie."""
        found = [kernel.place for kernel in self.kernels]
        found += [place for kernel in self.kernels for _code, place in kernel.native]
        return found + [function.place for function in self.functions if function.place]


#: Each kernel declares every function of its file.
_MAX_DECLARATIONS = 1 << 20


def read_header(data: bytes, name: str) -> Header:
    """Return the header of the file `data`, called `name` in messages.

    Raises:
        InputError: it is not what it should be.
    """
    reader = Reader(data, name)
    if reader.take(min(4, len(data))) != MAGIC:
        raise InputError("this is not an .isa file: it does not begin with CISA", ByteSpan(name, 0))
    version = (reader.unsigned(1), reader.unsigned(1))
    if not OLDEST_OBJECT <= version <= NEWEST_OBJECT:
        known = "{}.{} to {}.{}".format(*OLDEST_OBJECT, *NEWEST_OBJECT)
        message = f"the file has version {version[0]}.{version[1]}, visim reads {known}"
        raise reader.failure(message, 2)
    kernels = [_read_kernel(reader, version) for _ in range(reader.unsigned(2))]
    variables = [_read_variable(reader) for _ in range(reader.unsigned(2))]
    functions = [_read_function(reader, version) for _ in range(reader.unsigned(2))]
    entries = tuple(kernels), tuple(variables), tuple(functions)
    header = Header(version, *entries, reader.position)
    _check_names(reader, (*header.kernels, *header.functions))
    if len(kernels) * len(functions) > _MAX_DECLARATIONS:
        message = f"{len(kernels)} kernels that declare {len(functions)} functions each"
        raise reader.failure(f"{message} are more than visim reads")
    _check_relocations(reader, header)
    _check_code(reader, header)
    return header


def write_header(header: Header) -> bytes:
    """Return the bytes of a header.

    Raises:
        InputError: something has no place in a header of its version.
    """
    writer = Writer()
    writer.data += MAGIC
    for number in header.version:
        writer.unsigned(number, 1)
    try:
        _put_count(writer, header.kernels, "kernels")
        for kernel in header.kernels:
            _put_kernel(writer, kernel, header.version)
        _put_count(writer, header.variables, "variables of file scope")
        for variable in header.variables:
            _put_variable(writer, variable)
        _put_count(writer, header.functions, "functions")
        for function in header.functions:
            _put_function(writer, function, header.version)
    except CodingError as error:
        raise InputError(str(error)) from None
    return bytes(writer.data)


# Reading


def _read_kernel(reader: Reader, version: Version) -> KernelEntry:
    name = _read_name(reader, version)
    place = Place(reader.unsigned(4), reader.unsigned(4))
    input_offset = reader.unsigned(4)
    relocations = _read_relocations(reader)
    native = tuple(
        (reader.unsigned(1), Place(reader.unsigned(4), reader.unsigned(4)))
        for _ in range(reader.unsigned(1))
    )
    return KernelEntry(name, place, input_offset, relocations, native)


def _read_variable(reader: Reader) -> VariableEntry:
    linkage = _read_linkage(reader)
    name = _read_name(reader, LONG_NAMES)
    entry = VariableEntry(name, linkage, reader.unsigned(1), reader.unsigned(2))
    if reader.unsigned(1):
        message = f"{name} has attributes, which name strings of a pool that a file does not have"
        raise reader.failure(message)
    return entry


def _read_function(reader: Reader, version: Version) -> FunctionEntry:
    linkage = _read_linkage(reader)
    name = _read_name(reader, version)
    place = Place(reader.unsigned(4), reader.unsigned(4))
    relocations = _read_relocations(reader)
    is_defined = place != Place()
    if not is_defined and linkage != EXTERNAL_CODE:
        raise InputError(f"function {name} has no object but is not external", reader_span(reader))
    return FunctionEntry(name, linkage, place if is_defined else None, relocations)


def reader_span(reader: Reader) -> ByteSpan:
    """Return the byte that was read last."""
    return ByteSpan(reader.file, reader.position - 1)


def _read_linkage(reader: Reader) -> int:
    linkage = reader.unsigned(1)
    if linkage > GLOBAL_CODE:
        raise reader.failure(f"linkage {linkage} is not known, only 0 to {GLOBAL_CODE}")
    return linkage


def _read_name(reader: Reader, version: Version) -> str:
    length = reader.unsigned(2 if version >= LONG_NAMES else 1)
    raw = reader.take(length)
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise reader.failure("the name is not UTF-8", length) from None
    if not name or "\0" in name:
        raise reader.failure("the name is empty or has a zero byte", max(1, length))
    return name


def _read_relocations(reader: Reader) -> Relocations:
    return Relocations(_read_pairs(reader), _read_pairs(reader))


def _read_pairs(reader: Reader) -> tuple[tuple[int, int], ...]:
    count = reader.unsigned(2)
    return tuple((reader.unsigned(2), reader.unsigned(2)) for _ in range(count))


def _check_names(reader: Reader, entries: Iterable[KernelEntry | FunctionEntry]) -> None:
    names: set[str] = set()
    for entry in entries:
        if entry.name in names:
            raise InputError(f"{entry.name} is in the file twice", ByteSpan(reader.file, 0))
        names.add(entry.name)


def _check_relocations(reader: Reader, header: Header) -> None:
    """Check that each relocation leads to a variable or function, and each number to one only."""
    for unit in (*header.kernels, *header.functions):
        for what, pairs, table in (
            ("variable", unit.relocations.variables, header.variables),
            ("function", unit.relocations.functions, header.functions),
        ):
            for symbolic, resolved in pairs:
                if resolved >= len(table):
                    message = f"{unit.name}: {what} {symbolic} is resolved to {resolved}"
                    raise InputError(
                        f"{message}, the file has {len(table)}", ByteSpan(reader.file, 0)
                    )
            if len(dict(pairs)) < len(set(pairs)):
                message = f"{unit.name}: a {what} is resolved in two ways"
                raise InputError(message, ByteSpan(reader.file, 0))


def _check_code(reader: Reader, header: Header) -> None:
    """Check that Gen code lies behind the header and in the file, each byte of it once.

    A small file could else have the same megabytes for thousands of kernels.
    """
    native = (place for kernel in header.kernels for _code, place in kernel.native)
    _check_apart("Gen code", native, reader.position, reader)


def check_places(data: bytes, name: str, header: Header) -> None:
    """Check that the objects of the file `name` lie behind its header, and none in another.

    Raises:
        InputError: one does not.
    """
    _check_apart("an object", header.places, header.size, Reader(data, name))


def _check_apart(what: str, places: Iterable[Place], end: int, reader: Reader) -> None:
    """Check that places lie behind `end` and in the file, and none in another."""
    for place in sorted(places, key=lambda place: (place.offset, place.size)):
        if place.offset < end or place.end > reader.end:
            free = f"only {end} to {reader.end} is free"
            free += " (is the file cut off?)" if place.end > reader.end else ""
            message = f"{what} is at {place.offset} to {place.end}, {free}"
            raise InputError(message, ByteSpan(reader.file, place.offset))
        end = place.end


# Writing


def _put_kernel(writer: Writer, kernel: KernelEntry, version: Version) -> None:
    _put_name(writer, kernel.name, version)
    for number in (kernel.place.offset, kernel.place.size, kernel.input_offset):
        put(writer, number, 4, f"an offset of {kernel.name}")
    _put_relocations(writer, kernel.relocations)
    put(writer, len(kernel.native), 1, f"the number of Gen binaries of {kernel.name}")
    for code, place in kernel.native:
        writer.unsigned(code, 1)
        put(writer, place.offset, 4, f"an offset of {kernel.name}")
        put(writer, place.size, 4, f"the size of Gen code of {kernel.name}")


def _put_variable(writer: Writer, variable: VariableEntry) -> None:
    writer.unsigned(variable.linkage, 1)
    _put_name(writer, variable.name, LONG_NAMES)
    writer.unsigned(variable.bits, 1)
    put(writer, variable.count, 2, f"the number of elements of {variable.name}")
    writer.unsigned(0, 1)


def _put_function(writer: Writer, function: FunctionEntry, version: Version) -> None:
    writer.unsigned(function.linkage, 1)
    _put_name(writer, function.name, version)
    place = function.place or Place()
    put(writer, place.offset, 4, f"the offset of {function.name}")
    put(writer, place.size, 4, f"the size of {function.name}")
    _put_relocations(writer, function.relocations)


def _put_count(writer: Writer, entries: tuple[object, ...], what: str) -> None:
    put(writer, len(entries), 2, f"the number of {what}")


def _put_name(writer: Writer, name: str, version: Version) -> None:
    raw = name.encode()
    if not raw:
        raise CodingError("an empty name cannot be stored in a file")
    put(writer, len(raw), 2 if version >= LONG_NAMES else 1, f"the length of the name {name[:40]}")
    writer.data += raw


def _put_relocations(writer: Writer, relocations: Relocations) -> None:
    for pairs in (relocations.variables, relocations.functions):
        put(writer, len(pairs), 2, "the number of relocations")
        for symbolic, resolved in pairs:
            put(writer, symbolic, 2, "the number of a relocation")
            put(writer, resolved, 2, "the place of a relocation")


__all__ = [
    "MAGIC",
    "FunctionEntry",
    "Header",
    "KernelEntry",
    "Place",
    "Relocations",
    "VariableEntry",
    "check_places",
    "read_header",
    "write_header",
]
