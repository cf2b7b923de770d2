"""Launches as files that `visim run` runs again: a launch.toml, the code, and the arrays.

Owns the names of the files. What the text form of arguments cannot say is not recorded, and the
user is told so.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.binary.zebin import ZeKernel
from visim.device.address_space import AddressSpace
from visim.device.arguments import Geometry, Pointer, local_extents, pointers
from visim.machine.extents import Extent
from visim.output import write_file
from visim.runtime.arguments.parameters import parameters, value_type
from visim.runtime.arguments.values import Parameter
from visim.runtime.files.expectations import expectation

VARIABLE = "VISIM_RECORD"
_FILE_LETTERS = re.compile(r"[^A-Za-z0-9_.-]")
_MOST_LAUNCHES = 1_000_000
_LARGEST_ARRAY = 1 << 29
"""`visim run` reads no larger ones."""


class NotRecordable(Exception):
    """A launch that no launch.toml can describe; the message says why."""


ENDED = "# The launch has ended."
"""The last line of a launch that came to its end."""


@dataclass(frozen=True, slots=True)
class Launched:
    """One launch to record: its kernel, whose binary `code` is, and what the driver gave it."""

    kernel: ZeKernel
    code: bytes
    payload: bytes
    slm_bytes: int
    geometry: Geometry | None
    device: str


@dataclass(frozen=True, slots=True)
class Array:
    """Memory that an argument leads to, and what it was before the launch."""

    parameter: Parameter
    extent: Extent
    before: bytes


@dataclass(slots=True)
class Recorded:
    """A launch that is being recorded: where its file is, and what its arrays were before."""

    path: Path
    arrays: list[Array] = field(default_factory=list[Array])


class Recorder:
    """Records the launches of a VM.

    Args:
        folder: where the files go; VMs and programs may share it.
        space: the VM's memory.
        say: tells the user what is not recorded.
    """

    def __init__(self, folder: Path, space: AddressSpace, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._space = space
        self._say = say
        self._next = 1

    def before(self, launched: Launched) -> Recorded | None:
        """Write down a launch that is about to run; None if it cannot be."""
        recorded = self._new()
        try:
            text = self._text(launched, recorded)
        except NotRecordable as reason:
            recorded.path.unlink()
            self._say(f"launch of kernel {launched.kernel.name!r} is not recorded: {reason}")
            return None
        recorded.path.write_text(text)
        return recorded

    def after(self, recorded: Recorded) -> None:
        """Write down the arrays that the launch has changed."""
        lines: list[str] = []
        for one in recorded.arrays:
            now = self._space.read(one.extent.start, one.extent.size)
            if now != one.before:
                name = one.parameter.name
                file = self._array(recorded, f"{name}-after", now, one.parameter)
                lines.append(f"{json.dumps(name)} = {json.dumps(file)}\n")
        with recorded.path.open("a") as text:
            if lines:
                text.writelines(["\n# What the arrays were afterwards.\n[expect]\n", *lines])
            text.write(f"\n{ENDED}\n")

    def _new(self) -> Recorded:
        """Take the next number that nobody has taken."""
        self._folder.mkdir(parents=True, exist_ok=True)
        while self._next < _MOST_LAUNCHES:
            path = self._folder / f"{self._next:04}.toml"
            self._next += 1
            try:
                path.touch(exist_ok=False)
            except FileExistsError:
                continue
            return Recorded(path)
        raise NotRecordable(f"{self._folder} has {_MOST_LAUNCHES} launches")

    def _text(self, launched: Launched, recorded: Recorded) -> str:
        geometry = launched.geometry
        if geometry is None:
            raise NotRecordable("its driver does not say how large its groups are")
        code = self._code(launched.code)
        count = geometry.groups
        counts = zip(count, geometry.local, strict=True)
        firsts = zip(geometry.offset, geometry.first, geometry.local, strict=True)
        sizes = {
            "global": [groups * local for groups, local in counts],
            "local": list(geometry.local),
            "offset": [offset + first * local for offset, first, local in firsts],
        }
        lines = [f"# A launch of {launched.kernel.name} on {launched.device}, by visim exec."]
        if any(geometry.first):
            lines.append(
                f"# Part of a launch: its groups began at {geometry.first}; here they begin at 0."
            )
        lines += [f"file = {json.dumps(code)}", f"kernel = {json.dumps(launched.kernel.name)}"]
        lines += [f"{name} = {value}" for name, value in sizes.items()]
        lines += ["", "[arg]"]
        given = self._arguments(launched, recorded)
        lines += [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in given.items()]
        return "\n".join(lines) + "\n"

    def _code(self, code: bytes) -> str:
        name = f"code-{hashlib.sha256(code).hexdigest()[:12]}.zebin"
        path = self._folder / name
        if not path.exists():
            write_file(path, code)
        return name

    def _arguments(self, launched: Launched, recorded: Recorded) -> dict[str, str]:
        kernel, payload = launched.kernel, launched.payload
        local = {one.name: one.size for one in local_extents(kernel, payload, launched.slm_bytes)}
        buffers = self._buffers(launched, recorded)
        found: dict[str, str] = {}
        for index, parameter in enumerate(parameters(kernel)):
            match parameter.kind:
                case "value":
                    found[parameter.name] = _value(kernel, index, parameter, payload)
                case "local":
                    found[parameter.name] = f"local:{max(1, local.get(parameter.name, 1))}"
                case "buffer":
                    # Of what the compiler found no use for there is no pointer.
                    found[parameter.name] = buffers.get(index, "null")
                case kind:
                    raise NotRecordable(f"argument {parameter.name!r}: {kind}s are not recorded")
        return found

    def _buffers(self, launched: Launched, recorded: Recorded) -> dict[int, str]:
        """Return the texts of buffers; of several that overlap the first one has the array."""
        kernel, found = launched.kernel, dict[int, str]()
        named = parameters(kernel)
        given = [one for one in pointers(self._space, kernel, launched.payload) if one.index >= 0]
        for one in sorted(given, key=lambda one: one.address):
            if one.index not in found:
                found[one.index] = self._buffer(named[one.index], one, recorded)
        return found

    def _buffer(self, parameter: Parameter, pointer: Pointer, recorded: Recorded) -> str:
        if pointer.mapping is None:
            if pointer.address:
                raise NotRecordable(
                    f"argument {parameter.name!r}: nothing is mapped at 0x{pointer.address:x}"
                )
            return "null"
        extent = pointer.extent
        for known in recorded.arrays:
            if known.extent.start <= extent.start < known.extent.end:
                return f"as:{known.parameter.name}+{extent.start - known.extent.start}"
        if not 0 < extent.size <= _LARGEST_ARRAY:
            raise NotRecordable(f"argument {parameter.name!r} has {extent.size} bytes")
        data = self._space.read(extent.start, extent.size)
        recorded.arrays.append(Array(parameter, extent, data))
        return f"npy:{self._array(recorded, parameter.name, data, parameter)}"

    def _array(self, recorded: Recorded, name: str, data: bytes, parameter: Parameter) -> str:
        file = f"{recorded.path.stem}-{_FILE_LETTERS.sub('_', name)}.npy"
        room = io.BytesIO()
        np.save(room, _typed(data, parameter), allow_pickle=False)
        write_file(self._folder / file, room.getvalue())
        return file


def _typed(data: bytes, parameter: Parameter) -> NDArray[Any]:
    """Return bytes as elements of the type that a pointer points to, if that is known."""
    dtype = expectation(parameter).dtype
    if dtype is None or len(data) % dtype.itemsize:
        dtype = np.dtype(np.uint8)
    return np.frombuffer(data, dtype)


def _value(kernel: ZeKernel, index: int, parameter: Parameter, payload: bytes) -> str:
    """Return the text of an argument that is passed by value."""
    data = bytearray(parameter.size or 0)
    for entry in kernel.payload:
        if entry.arg_index == index and entry.size:
            start = max(0, entry.source_offset)
            data[start : start + entry.size] = payload[entry.offset : entry.offset + entry.size]
    kind = value_type(parameter)
    if kind.dtype is None:
        return f"hex:{bytes(data).hex()}"
    number = np.frombuffer(bytes(data), kind.dtype)[0]
    if kind.dtype.kind == "f" and not np.isfinite(number):
        return f"hex:{bytes(data).hex()}"
    return f"{kind.dtype.name}:{number.item()!r}"


__all__ = ["VARIABLE", "Launched", "Recorder"]
