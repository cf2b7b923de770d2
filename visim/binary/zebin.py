"""Reads zebins, the ELF files in which Intel's compiler delivers GPU programs.

Owns what a zebin means: which vISA text belongs to which kernel, the data segments, symbols and
the relocations that patch data. The Gen code in it, and relocations of that code, are ignored.

Facts: docs/kernel-abi.md, The file; zebin specification, elf.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from visim.binary.compat import platform_of_notes
from visim.binary.elf import (
    MAGIC,
    ElfImage,
    ElfNote,
    ElfRelocation,
    ElfSymbol,
    Section,
    SectionType,
    refuse,
)
from visim.binary.zeinfo import (
    ArgInfo,
    BindingTableIndex,
    ExecutionEnv,
    InlineSampler,
    KernelInfo,
    PayloadArgument,
    PerThreadMemoryBuffer,
    PerThreadPayloadArgument,
    UserAttributes,
    ZeInfo,
    read_ze_info,
)
from visim.target import Platform

VOID_KERNEL = "Intel_Symbol_Table_Void_Program"
_MAX_ZERO_BYTES = 1 << 26
_VISAASM = ".visaasm"
_NOTE_VERSION = 4


class SegmentKind(StrEnum):
    """Where a symbol lies."""

    CONST = "const"
    GLOBAL = "global"
    STRING = "string"
    FUNCTION = "function"
    OTHER = "other"


class RelocationKind(StrEnum):
    """Which part of an address is added to which slot: 8, 4 or 4 bytes wide."""

    ADDRESS64 = "address64"
    ADDRESS32_LOW = "32lo"
    ADDRESS32_HIGH = "32hi"

    @property
    def size(self) -> int:
        """Width of the slot in bytes."""
        return 8 if self is RelocationKind.ADDRESS64 else 4


_RELOCATIONS = {
    1: RelocationKind.ADDRESS64,
    2: RelocationKind.ADDRESS32_LOW,
    3: RelocationKind.ADDRESS32_HIGH,
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named place: `value` is the byte offset in its data segment, `size` is in bytes.

    For functions the value is an offset in Gen code, which has no meaning for vISA.
    """

    name: str
    segment: SegmentKind
    value: int
    size: int


@dataclass(frozen=True, slots=True)
class DataRelocation:
    """A slot of a data segment to which a symbol's address is added.

    `target` is the segment that has the slot (const or global), `offset` the slot's byte offset
    in it, `addend` the slot's present value.
    """

    target: SegmentKind
    offset: int
    kind: RelocationKind
    symbol: str
    addend: int


@dataclass(frozen=True, slots=True)
class ZeKernel:
    """One kernel: its vISA text and what a driver must know to launch it."""

    name: str
    visaasm: str = field(repr=False)
    execution_env: ExecutionEnv
    payload: tuple[PayloadArgument, ...]
    per_thread_payload: tuple[PerThreadPayloadArgument, ...]
    binding_table: tuple[BindingTableIndex, ...]
    inline_samplers: tuple[InlineSampler, ...]
    per_thread_memory: tuple[PerThreadMemoryBuffer, ...]
    user_attributes: UserAttributes
    args_info: tuple[ArgInfo, ...]


@dataclass(frozen=True, slots=True)
class ZeFunction:
    """One stack-call function; the environment is known for functions that others may call."""

    name: str
    visaasm: str = field(repr=False)
    execution_env: ExecutionEnv | None = None


@dataclass(frozen=True, slots=True)
class Zebin:
    """A whole zebin. `name` is the file's name, `version` that of the format (`1.20`).

    `platform` is None where no note names a device. The data segments include their
    zero-initialised part.
    """

    name: str
    version: str
    platform: Platform | None
    kernels: tuple[ZeKernel, ...]
    functions: tuple[ZeFunction, ...] = ()
    constant_data: bytes = field(default=b"", repr=False)
    global_data: bytes = field(default=b"", repr=False)
    string_data: bytes = field(default=b"", repr=False)
    symbols: tuple[Symbol, ...] = ()
    data_relocations: tuple[DataRelocation, ...] = ()
    build_options: str | None = None


def is_zebin(data: bytes) -> bool:
    """Return whether `data` begins like an ELF file; `read_zebin` says whether it is a zebin."""
    return data.startswith(MAGIC)


def read_zebin(data: bytes, name: str) -> Zebin:
    """Read a zebin that has vISA text.

    Args:
        data: The file's bytes.
        name: The file's name for messages.

    Raises:
        InputError: It is broken, not a zebin, for a device that visim does not know, or has no
            vISA text.
    """
    image = ElfImage(data, name)
    notes = [note for s in image.of_type(SectionType.NOTE) for note in image.notes(s)]
    device = platform_of_notes(notes, name)
    info = _info(image, notes)
    segments = _Segments(image, info)
    return Zebin(
        name=name,
        version=info.version,
        platform=device,
        kernels=_kernels(image, info, device),
        functions=_functions(image, info),
        constant_data=segments.bytes_of(SegmentKind.CONST),
        global_data=segments.bytes_of(SegmentKind.GLOBAL),
        string_data=segments.bytes_of(SegmentKind.STRING),
        symbols=segments.symbols,
        data_relocations=tuple(segments.relocations()),
        build_options=_build_options(image),
    )


def _info(image: ElfImage, notes: list[ElfNote]) -> ZeInfo:
    """Read `.ze_info`; a program without kernels has none."""
    sections = image.of_type(SectionType.ZE_INFO)
    if len(sections) > 1:
        raise image.broken("there are several .ze_info sections", sections[1])
    if sections:
        return read_ze_info(bytes(sections[0].data), image.name, sections[0].offset)
    if any(section.name.startswith(".text.") for section in image.sections):
        raise image.broken("there is code but no .ze_info section that describes it")
    for note in notes:
        if note.owner == "IntelGT" and note.kind == _NOTE_VERSION:
            return ZeInfo(note.data.rstrip(b"\0").decode("ascii", "replace"))
    raise image.broken("there is neither a .ze_info section nor a note with the zebin's version")


def _kernels(image: ElfImage, info: ZeInfo, device: Platform | None) -> tuple[ZeKernel, ...]:
    """Match the unnamed vISA sections to the kernels of `.ze_info`: both are in one order."""
    texts = [s for s in image.of_type(SectionType.VISAASM) if s.name in {_VISAASM, _VISAASM + "."}]
    if info.kernels and not texts:
        raise _no_visa(image.name, device, info)
    if len(texts) != len(info.kernels):
        message = f".ze_info describes {len(info.kernels)} kernels, there are {len(texts)}"
        raise image.broken(f"{message} {_VISAASM} sections", texts[0] if texts else None)
    return tuple(
        _kernel(kernel, _text(section))
        for kernel, section in zip(info.kernels, texts, strict=True)
        if kernel.name != VOID_KERNEL
    )


def _kernel(info: KernelInfo, visaasm: str) -> ZeKernel:
    return ZeKernel(
        name=info.name,
        visaasm=visaasm,
        execution_env=info.execution_env,
        payload=info.payload_arguments,
        per_thread_payload=info.per_thread_payload_arguments,
        binding_table=info.binding_table_indices,
        inline_samplers=info.inline_samplers,
        per_thread_memory=info.per_thread_memory_buffers,
        user_attributes=info.user_attributes,
        args_info=info.args_info,
    )


def _functions(image: ElfImage, info: ZeInfo) -> tuple[ZeFunction, ...]:
    environments = {function.name: function.execution_env for function in info.functions}
    found: dict[str, ZeFunction] = {}
    for section in image.of_type(SectionType.VISAASM):
        name = section.name.removeprefix(_VISAASM + ".")
        if name in {"", section.name}:
            continue
        function = ZeFunction(name, _text(section), environments.get(name))
        if found.setdefault(name, function) != function:
            raise image.broken(f"there are two different functions {name!r}", section)
    return tuple(found.values())


def _text(section: Section) -> str:
    """Decode vISA text; file names in it need not be UTF-8."""
    return bytes(section.data).rstrip(b"\0").decode("utf-8", "backslashreplace")


def _no_visa(file: str, device: Platform | None, info: ZeInfo) -> Exception:
    name = device.name if device else "DEVICE"
    message = f"the zebin has Gen code but no {_VISAASM} sections, and visim executes vISA"
    help_text = (
        "compile it again so that the vISA text is kept: "
        f"ocloc compile -file FILE.cl -device {name} --format zebin "
        '-internal_options "-ze-emit-zebin-visa-sections"'
    )
    if all(kernel.execution_env.simd_size == 1 for kernel in info.kernels):
        help_text = (
            "Intel's vector compiler (CM, ESIMD) puts no vISA text into zebins; let it write a "
            f"file KERNEL{_VISAASM} for each kernel, and run those: "
            f"ocloc compile -spirv_input -file FILE.spv -device {name} --format zebin "
            '-options "-vc-codegen -Xfinalizer -dumpcommonisa"'
        )
    return refuse("zebin-without-visa", message, file, help=help_text)


def _build_options(image: ElfImage) -> str | None:
    section = image.named(".misc.buildOptions")
    if section is None:
        return None
    return bytes(section.data).rstrip(b"\0").decode("utf-8", "backslashreplace")


class _Segments:
    """The data segments of a zebin: initialised sections, each followed by its zero part."""

    _SECTIONS = (
        (SegmentKind.CONST, ".data.const", ".bss.const"),
        (SegmentKind.GLOBAL, ".data.global", ".bss.global"),
        (SegmentKind.STRING, ".data.const.string", None),
    )

    def __init__(self, image: ElfImage, info: ZeInfo) -> None:
        self._image = image
        self._bytes: dict[SegmentKind, bytes] = {}
        self._places: dict[int, tuple[SegmentKind, int]] = {}  # section -> segment, base in it
        for kind, initialised, zero in self._SECTIONS:
            self._bytes[kind] = self._assemble(kind, initialised, zero)
        self._table = image.symbols()
        kernels = {kernel.name for kernel in info.kernels} | {"_entry"}
        self.symbols = tuple(self._symbol(entry, kernels) for entry in self._table if entry.name)

    def bytes_of(self, kind: SegmentKind) -> bytes:
        """Return a segment's bytes before relocation."""
        return self._bytes[kind]

    def relocations(self) -> Iterator[DataRelocation]:
        """Yield the relocations that patch data; those of Gen code are left out."""
        for section in self._image.of_type(SectionType.REL):
            if section.info not in self._places:
                continue
            target, base = self._places[section.info]
            for entry in self._image.relocations(section):
                if entry.kind:
                    yield self._relocation(entry, section, target, base)
        for section in self._image.of_type(SectionType.RELA):
            if section.info in self._places:
                message = f"{section.name} has explicit addends, which zebins do not use"
                raise self._image.broken(message, section)

    def _assemble(self, kind: SegmentKind, initialised: str, zero: str | None) -> bytes:
        data = b""
        if section := self._image.named(initialised):
            self._places[section.index] = (kind, 0)
            data = bytes(section.data)
        if zero and (section := self._image.named(zero)):
            self._places[section.index] = (kind, len(data))
            if section.size > _MAX_ZERO_BYTES:
                message = f"{zero} has {section.size} bytes, at most {_MAX_ZERO_BYTES} accepted"
                raise refuse("bad-elf", message, self._image.name)
            data += bytes(section.size)
        return data

    def _symbol(self, entry: ElfSymbol, kernels: set[str]) -> Symbol:
        kind, base = self._places.get(entry.section, (SegmentKind.OTHER, 0))
        sections = self._image.sections
        section = sections[entry.section] if entry.section < len(sections) else None
        in_code = section and (section.name == ".text" or section.name.startswith(".text."))
        if in_code and entry.is_function and entry.name not in kernels:
            kind = SegmentKind.FUNCTION
        elif kind in self._bytes and base + entry.value + entry.size > len(self._bytes[kind]):
            raise self._image.broken(f"symbol {entry.name!r} lies outside its section", section)
        return Symbol(entry.name, kind, base + entry.value, entry.size)

    def _relocation(
        self, entry: ElfRelocation, section: Section, target: SegmentKind, base: int
    ) -> DataRelocation:
        kind = _RELOCATIONS.get(entry.kind)
        if kind is None or target is SegmentKind.STRING:
            message = f"{section.name} has a relocation of type {entry.kind}, which data never has"
            raise self._image.broken(message, section)
        start, data = base + entry.offset, self._bytes[target]
        if start + kind.size > len(data):
            raise self._image.broken(f"{section.name} patches byte {start} of {len(data)}", section)
        if not 0 < entry.symbol < len(self._table) or not self._table[entry.symbol].name:
            raise self._image.broken(f"{section.name} names symbol {entry.symbol}", section)
        addend = int.from_bytes(data[start : start + kind.size], "little")
        return DataRelocation(target, start, kind, self._table[entry.symbol].name, addend)
