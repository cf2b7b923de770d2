"""Small objects for the tests of .isa files, and ways to spoil them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from visim.binary.isafile import write_isa
from visim.diag import ByteSpan, Source
from visim.module import Module, Unit
from visim.target import platform
from visim.text import read_text

PVC = platform("pvc")
SKL = platform("skl")

HEAD = "\n".join(
    [
        ".version 4.1",
        '.kernel "k"',
        *(f".decl V{i} v_type=G type=ud num_elts=64 align=GRF" for i in range(32, 80)),
        *(f".decl P{i} v_type=P num_elts=32" for i in range(1, 4)),
        ".decl A0 v_type=A num_elts=16",
        ".decl S0 v_type=S num_elts=1",
        ".decl T6 v_type=T num_elts=1",
        ".decl T7 v_type=T num_elts=1",
        '.kernel_attr Target="3d"',
    ]
)


def module_of(*body: str, head: str = HEAD) -> Module:
    """Return the module of a kernel with these statements."""
    return read_text(Source("k.visaasm", "\n".join([head, *body]) + "\n"))


def object_of(*body: str, head: str = HEAD) -> bytes:
    """Return the object of a kernel with these statements."""
    return write_isa(module_of(*body, head=head), platform=PVC)


def without_asm_path(module: Module) -> Module:
    """Return a module without the attribute that texts do not show."""
    return Module(module.version, tuple(_without_asm_path(unit) for unit in module.units))


def _without_asm_path(unit: Unit) -> Unit:
    shown = tuple(entry for entry in unit.attributes if entry.name != "OutputAsmPath")
    return replace(unit, attributes=shown)


@dataclass(frozen=True)
class Header:
    """What the header of a file with one kernel says, without Gen code."""

    version: tuple[int, int] = (4, 1)
    name: bytes = b"k"
    name_length_bytes: int = 2
    inputs_moved: int = 0
    size_added: int = 0

    def file(self, written: bytes) -> bytes:
        """Return `written`, a file of visim with the kernel k, with this header."""
        offset = int.from_bytes(written[11:15], "little")
        size = int.from_bytes(written[15:19], "little")
        inputs = int.from_bytes(written[19:23], "little") - offset
        start = 8 + self.name_length_bytes + len(self.name) + 17 + 4
        parts = (
            b"CISA" + bytes(self.version) + (1).to_bytes(2, "little"),
            len(self.name).to_bytes(self.name_length_bytes, "little") + self.name,
            start.to_bytes(4, "little"),
            (size + self.size_added).to_bytes(4, "little"),
            (start + inputs + self.inputs_moved).to_bytes(4, "little"),
            bytes(5),
            bytes(4),
            written[offset : offset + size],
        )
        return b"".join(parts)


def cut_short(data: bytes, module: Module) -> bytes:
    """Return an object as the released GenX_IR writes it: instructions lack their last operands."""
    spans = [item.origin for item in module.units[0].body if isinstance(item.origin, ByteSpan)]
    start, end = spans[0].offset, spans[-1].offset + spans[-1].length
    pieces = (data[span.offset : span.offset + max(1, span.length - 7)] for span in spans)
    stream = b"".join(pieces)
    return data[:start] + stream.ljust(end - start, b"\0") + data[end:]
