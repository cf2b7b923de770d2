"""Which kernel the GPU is asked to run: from machine code back to the binary with its vISA.

A driver loads only the machine code of a kernel. The binary that it came from, which has the vISA
text and the metadata, is somewhere in the program's memory, since programs can ask for it, or on
disk. It is found by looking for ELF files whose code is the one that was loaded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from visim.binary.compat import platform_of_notes
from visim.binary.elf import MACHINE, MAGIC, ElfImage, Section, SectionType
from visim.binary.extent import HEADER_BYTES, end_of_file
from visim.binary.zeinfo import KernelInfo, read_ze_info
from visim.device.address_space import AddressSpace, PageFault
from visim.device.hostmemory import Bytes, ProgramMemory, runs
from visim.device.kept_programs import KeptPrograms
from visim.errors import InputError
from visim.target import Platform

_CODE = ".text."
_LARGEST_BINARY = 1 << 29
_CHUNK = 16 << 20
_RELOCATED_BYTES = 8
_WHOLE, _LOW, _HIGH = 1, 2, 3
"""Kinds of relocations: an address, its lower and its upper half."""
_OF_THE_LOADER = "__INTEL_PATCH"
"""What begins so is no variable, but something that loaders write into code."""
_CODE_ALIGNMENT, _FARTHEST_ENTRY, _HEAD_BYTES = 64, 512, 32
_STRINGS = ".data.const.string"
_MAPS = re.compile(
    r"^(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) r(?P<writes>.).(?P<shared>.)"
    r" \S+ \S+ \S+ *(?P<name>.*)$"
)


@dataclass(frozen=True, slots=True)
class CodeSection:
    """The machine code of one kernel in a binary.

    `fixed` tells the bytes that relocations leave alone. `addresses` are the places in the code
    where a loader puts addresses: offset, kind, and the symbol's name.
    """

    name: str
    code: Bytes
    fixed: Bytes
    addresses: tuple[tuple[int, int, str], ...] = ()

    def is_at(self, space: AddressSpace, start: int) -> bool:
        """Return whether the code stands at an address."""
        try:
            found = np.frombuffer(space.read(start, self.code.size), np.uint8)
        except PageFault:
            return False
        return bool(np.all((found == self.code) | (self.fixed == 0)))


@dataclass(frozen=True)
class Binary:
    """A program's binary: its bytes, the code of its kernels, and which devices it is for."""

    data: bytes = field(repr=False)
    sections: tuple[CodeSection, ...]
    has_visa: bool
    platform: Platform | None = None
    strings: tuple[int, Bytes] | None = None
    """Where its texts are in the file, and what they are; None without any."""

    @cached_property
    def kernels(self) -> Mapping[str, KernelInfo]:
        """What the metadata say of each kernel, by its name; nothing if they are damaged."""
        try:
            image = ElfImage(self.data, "<program>")
            described = image.of_type(SectionType.ZE_INFO)
            info = read_ze_info(bytes(described[0].data), image.name)
        except InputError:
            return {}
        return {kernel.name: kernel for kernel in info.kernels}

    def entries(self, name: str) -> frozenset[int]:
        """Return how far behind the start of its code a kernel may be entered."""
        info = self.kernels.get(name)
        if info is None:
            return frozenset()
        environment = info.execution_env
        skipped = environment.offset_to_skip_per_thread_data_load
        identity = environment.offset_to_skip_set_ffid_gp
        return frozenset({0, skipped, identity, skipped + identity})


@dataclass(frozen=True, slots=True)
class Found:
    """The kernel that stands at an address, where its code starts, and the binary it is from."""

    binary: Binary
    section: CodeSection
    start: int

    @property
    def info(self) -> KernelInfo:
        """The kernel's metadata."""
        return self.binary.kernels[self.section.name]

    def symbols(self, space: AddressSpace) -> dict[str, int]:
        """Return where the driver has put the program's variables that the code mentions."""
        found: dict[str, int] = {}
        for offset, kind, name in self.section.addresses:
            place = self.start + offset
            if kind == _WHOLE:
                value = space.load_long(place)
            elif kind in {_LOW, _HIGH}:
                value = space.load(place) << (32 if kind == _HIGH else 0)
            else:
                continue
            found[name] = found.get(name, 0) | value
        return found


class KernelFinder:
    """Finds the kernels of one program.

    Args:
        space: the VM's memory, where code is loaded.
        program: the program's memory.
        platform: the device family of its binaries; those of others may have the same code.
        kept: the binaries that the driver keeps on disk.
        strings_stay: whether the driver leaves a program's texts in its binary, where kernels
            read them: drivers of 2022 do.
    """

    def __init__(
        self,
        space: AddressSpace,
        program: ProgramMemory,
        platform: Platform,
        kept: KeptPrograms | None = None,
        *,
        strings_stay: bool = False,
    ) -> None:
        self._strings_stay = strings_stay
        self._copies: dict[bytes, set[int]] = {}
        """Where the binaries with texts are in the program's memory, by their bytes."""
        self._platform = platform
        self._kept = kept
        self._space = space
        self._program = program
        self._digests: set[str] = set()
        self._by_head: dict[bytes, list[tuple[Binary, CodeSection]]] = {}
        self._last: dict[int, Found] = {}

    def find(self, entry: int) -> Found | None:
        """Return the kernel that is entered at an address, None if its binary is nowhere.

        A binary with vISA is preferred to one without. What the driver has just compiled it has
        written to disk, too, which is read sooner than the program's memory; and a program may
        have released its binary before its kernels run. Files that are mapped, such as the driver
        with its own kernels, are searched last.
        """
        last = self._last.get(entry)
        if last is not None and last.section.is_at(self._space, last.start):
            return last
        found = self._known(entry)
        if found is None or not found.binary.has_visa:
            found = self._compiled(entry) or found
        if found is None or not found.binary.has_visa:
            self._search(of_files=False)
            found = self._known(entry) or found
        if found is None:
            found = self._released(entry)
        if found is None:
            self._search(of_files=True)
            found = self._known(entry)
        if found is not None:
            if self._strings_stay and found.binary.strings:
                self._search(of_files=False)  # The driver may have made one more copy of it.
            self._last[entry] = found
        return found

    def strings(self, found: Found) -> Iterator[tuple[int, Bytes]]:
        """Yield the texts that kernels of a binary read in the program's memory, and where."""
        if not self._strings_stay or found.binary.strings is None:
            return
        offset, wanted = found.binary.strings
        now = np.empty_like(wanted)
        for place in sorted(self._copies.get(found.binary.data, ())):
            try:
                self._program.read(place + offset, now)
            except OSError:
                continue
            if np.array_equal(now, wanted):
                yield place + offset, wanted

    def _known(self, entry: int) -> Found | None:
        """Return the kernel at an address among binaries that are known."""
        found = None
        for start in range(entry, max(0, entry - _FARTHEST_ENTRY) - 1, -_CODE_ALIGNMENT):
            try:
                head = self._space.read(start, _HEAD_BYTES)
            except PageFault:
                break
            for binary, section in self._by_head.get(head, ()):
                if not section.is_at(self._space, start):
                    continue
                if entry - start in binary.entries(section.name):
                    found = Found(binary, section, start)
                    if binary.has_visa:
                        return found
        return found

    def _compiled(self, entry: int) -> Found | None:
        """Return the kernel at an address from what the driver has compiled for this program."""
        fresh = () if self._kept is None else self._kept.fresh()
        is_new = [self._add(data) for data in fresh]
        return self._known(entry) if any(is_new) else None

    def _released(self, entry: int) -> Found | None:
        """Return the kernel at an address from a binary on disk."""
        for data in () if self._kept is None else self._kept.unseen():
            if self._add(data):
                found = self._known(entry)
                if found is not None:
                    return found
        return None

    def _search(self, *, of_files: bool) -> None:
        """Look through the program's memory for binaries that are not known yet."""
        for start, end in _regions(self._program.process, of_files=of_files):
            for place in self._places(start, end):
                data = self._binary_at(place, end)
                if data is None:
                    continue
                self._add(data)
                if self._strings_stay:
                    self._copies.setdefault(data, set()).add(place)

    def _add(self, data: bytes) -> bool:
        """Note a binary; return whether it is one for this device that was not known."""
        digest = hashlib.sha256(data).hexdigest()
        if digest in self._digests:
            return False
        self._digests.add(digest)
        binary = read_binary(data)
        if binary is None or binary.platform not in {None, self._platform}:
            return False
        for section in binary.sections:
            head = section.code[:_HEAD_BYTES].tobytes()
            self._by_head.setdefault(head, []).append((binary, section))
        return True

    def _places(self, start: int, end: int) -> Iterator[int]:
        """Yield where in a region binaries of GPU programs seem to begin."""
        room = np.empty(_CHUNK + HEADER_BYTES, np.uint8)
        while start < end:
            count = min(room.size, end - start)
            touched = runs(self._program.touched_pages(start, count))
            if not touched:
                start += _CHUNK
                continue
            room[:count] = 0
            try:
                for first, last in touched:
                    self._program.read(start + first, room[first : min(last, count)])
            except OSError:
                return
            data = room[:count].tobytes()
            at = data.find(MAGIC)
            while 0 <= at < _CHUNK:
                if data[at + 18 : at + 20] == MACHINE.to_bytes(2, "little"):
                    yield start + at
                at = data.find(MAGIC, at + 1)
            start += _CHUNK

    def _binary_at(self, start: int, end: int) -> bytes | None:
        """Return a whole ELF file, as its section headers say where it ends."""

        def read(offset: int, size: int) -> bytes | None:
            is_inside = size <= _LARGEST_BINARY and start + offset + size <= end
            return self._read(start + offset, size) if is_inside else None

        size = end_of_file(read)
        return None if size is None else read(0, size)

    def _read(self, start: int, size: int) -> bytes | None:
        room = np.empty(size, np.uint8)
        try:
            self._program.read(start, room)
        except OSError:
            return None
        return room.tobytes()


def read_binary(data: bytes) -> Binary | None:
    """Return the code of a binary's kernels, None if it is damaged or has no metadata."""
    try:
        image = ElfImage(data, "<program>")
        if len(image.of_type(SectionType.ZE_INFO)) != 1:
            return None
        sections = tuple(
            _code(image, section)
            for section in image.sections
            if section.name.startswith(_CODE) and section.data.nbytes >= _HEAD_BYTES
        )
        notes = [note for one in image.of_type(SectionType.NOTE) for note in image.notes(one)]
        device = platform_of_notes(notes, image.name)
    except InputError:
        return None
    texts = next((one for one in image.sections if one.name == _STRINGS and one.data.nbytes), None)
    strings = None if texts is None else (texts.offset, np.frombuffer(texts.data, np.uint8))
    return Binary(data, sections, bool(image.of_type(SectionType.VISAASM)), device, strings)


def _code(image: ElfImage, section: Section) -> CodeSection:
    code = np.frombuffer(bytes(section.data), np.uint8)
    fixed = np.ones(code.size, np.uint8)
    symbols, addresses = image.symbols(), list[tuple[int, int, str]]()
    for table in image.sections:
        if table.info == section.index and table.type in {SectionType.REL, SectionType.RELA}:
            for relocation in image.relocations(table):
                fixed[relocation.offset : relocation.offset + _RELOCATED_BYTES] = 0
                name = symbols[relocation.symbol].name
                if not name.startswith(_OF_THE_LOADER):
                    addresses.append((relocation.offset, relocation.kind, name))
    return CodeSection(section.name.removeprefix(_CODE), code, fixed, tuple(addresses))


def _regions(process: int, *, of_files: bool) -> list[tuple[int, int]]:
    """Return the parts of a process' memory that may hold binaries: its own, or of files."""
    found: list[tuple[int, int]] = []
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        match = _MAPS.match(line)
        if match is None or match["shared"] != "p":
            continue
        is_file = match["name"].startswith("/")
        if is_file == of_files and (is_file or match["writes"] == "w"):
            found.append((int(match["start"], 16), int(match["end"], 16)))
    return found
