"""Kernels whose binaries have no vISA: compiled again from the SPIR-V that the binaries carry.

So do the driver's own kernels (fills, copies), and programs that were compiled ahead of time. The
driver makes the payload for the kernel that it knows; what the new one finds where is another
matter, so each entry is moved to where the new kernel has it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from visim.binary.elf import ElfImage
from visim.binary.zeinfo import KernelInfo, PayloadArgument
from visim.device.library import cache_folder
from visim.errors import UnsupportedError
from visim.output import write_file
from visim.runtime.compiling.opencl import build_zebin
from visim.runtime.payload.abi import LARGE_BUFFERS_OPTION
from visim.target import Platform

_SPIRV, _OPTIONS = ".spv", ".misc.buildOptions"
_TEXT_OPTIONS = ("-D", "-I", "-cl-std", "-cl-kernel-arg-info", "-x")
"""Options that SPIR-V has no use for. With one more all buffers are found by their addresses."""


def rebuilt(data: bytes, name: str, target: Platform) -> bytes:
    """Return a binary with vISA text for the same program.

    Args:
        data: the binary.
        name: a kernel in it, for messages.
        target: the platform to compile for.

    Raises:
        UnsupportedError: the binary has no SPIR-V.
        InputError: the compiler refuses it.
        ToolMissing: there is no compiler.
    """
    image = ElfImage(data, name)
    module = image.named(_SPIRV)
    if module is None or not module.data.nbytes:
        raise UnsupportedError(
            f"kernel {name!r} has neither vISA text nor SPIR-V in its binary; compile it with "
            "-ze-emit-zebin-visa-sections"
        )
    section = image.named(_OPTIONS)
    given = "" if section is None else bytes(section.data).rstrip(b"\0").decode(errors="replace")
    kept_options = [word for word in given.split() if not word.startswith(_TEXT_OPTIONS)]
    options = " ".join(dict.fromkeys([*kept_options, LARGE_BUFFERS_OPTION]))
    said = b"\0".join((b"2", bytes(module.data), options.encode(), target.name.encode()))
    kept = _kept(hashlib.sha256(said).hexdigest())
    if kept.exists():
        return kept.read_bytes()
    made = build_zebin(
        bytes(module.data),
        device=target.name,
        options=options,
        name=name,
        lines=False,
        surfaces_by_table=True,
    ).zebin
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_file(kept, made)
    return made


def _kept(digest: str) -> Path:
    return cache_folder() / "rebuilt" / f"{digest[:32]}.zebin"


Key = tuple[str, int, int, str | None]


class PayloadMoves:
    """How the payload of one kernel becomes that of another that does the same.

    Args:
        given: the kernel for which the payload is made.
        wanted: the kernel that gets it.

    Raises:
        UnsupportedError: the other kernel wants something that the first has not got.
    """

    def __init__(self, given: KernelInfo, wanted: Sequence[PayloadArgument], name: str) -> None:
        found = {_key(entry): entry for entry in given.payload_arguments if entry.size}
        self._size = max((entry.offset + entry.size for entry in wanted), default=0)
        self._moves: list[tuple[int, int, int]] = []
        for entry in wanted:
            if not entry.size:
                continue
            source = found.get(_key(entry)) or _alike(entry, given.payload_arguments)
            if source is None:
                raise UnsupportedError(
                    f"kernel {name!r}: compiled again it wants {entry.arg_type!r} of argument "
                    f"{entry.arg_index}, which its driver does not give"
                )
            size = min(entry.size, source.size)
            self._moves.append((entry.offset, source.offset, size))

    def apply(self, payload: bytes) -> bytes:
        """Return the payload for the other kernel."""
        moved = bytearray(self._size)
        for target, source, size in self._moves:
            moved[target : target + size] = payload[source : source + size]
        return bytes(moved)


def _key(entry: PayloadArgument) -> Key:
    return entry.arg_type, entry.arg_index, entry.source_offset, entry.addrmode


def _alike(entry: PayloadArgument, given: Iterable[PayloadArgument]) -> PayloadArgument | None:
    """Return an entry that has the same value under another name."""
    if entry.addrmode == "stateless":
        addresses = [one for one in given if one.arg_type == "buffer_address" and one.size]
        return next((one for one in addresses if one.arg_index == entry.arg_index), None)
    same = {"enqueued_local_size": "local_size", "local_size": "enqueued_local_size"}
    other = same.get(entry.arg_type)
    return next((one for one in given if one.size and one.arg_type == other), None)
