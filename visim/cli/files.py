"""Files as the command line means them: `-` is the standard input or output."""

from __future__ import annotations

import os
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import TYPE_CHECKING

from visim.cli.conventions import EXAMPLE_DEVICE
from visim.errors import ArgumentError, Correction, InputError
from visim.output import check_output, write_file
from visim.runtime.given import StandardInput, read_file, standard_input

if TYPE_CHECKING:
    from visim import Program

STANDARD = "-"


def is_standard(file: str) -> bool:
    """Whether `file` stands for the standard input or output."""
    return file == STANDARD


def name_of(file: str) -> str:
    """Return what messages call a file."""
    return StandardInput.NAME if is_standard(file) else file


def read_source(file: str) -> str | bytes:
    """Return what `visim.load` takes for `file`: its path, or the bytes of the standard input."""
    return read_bytes(file) if is_standard(file) else file


def read_text(file: str) -> str:
    """Return the text of `file`.

    Raises:
        InputError: it is not UTF-8.
    """
    data = read_bytes(file)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{name_of(file)}: not text: byte {error.start} is not UTF-8"
        raise InputError(message, code="unknown-format") from None


def source_code(data: bytes, name: str) -> str | bytes:
    """Return the C text that a file has, or its bytes where it is SPIR-V.

    What is not UTF-8 is an older file's Latin-1.

    Raises:
        InputError: it is something else.
    """
    from visim.binary.isafile import is_isa
    from visim.binary.zebin import is_zebin
    from visim.runtime.compiling.spirv import is_spirv

    if is_spirv(data):
        return data
    if is_isa(data) or is_zebin(data):
        message = f"{name}: this is compiled already; visim run takes it as it is"
        raise InputError(message, code="opencl-source")
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        message = f"{name}: the text is UTF-16, expected UTF-8; save it as UTF-8"
        raise InputError(message, code="opencl-source")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if text.lstrip().startswith(".version"):
        message = f"{name}: this is vISA text; visim run takes it as it is"
        raise InputError(message, code="opencl-source")
    return text


def read_bytes(file: str) -> bytes:
    """Return the bytes of `file`."""
    return standard_input() if is_standard(file) else read_file(Path(file))


def load_program(
    file: str,
    device: str | None,
    *,
    strict: bool = False,
    options: str | None = None,
    visa: str | None = None,
    variables: bool = False,
) -> Program:
    """Load the program in `file` and check it; OpenCL C and SPIR-V are compiled first.

    Args:
        file: the file.
        device: what it is for; None where the file says it.
        strict: refuse directives that only visim has.
        options: those of the OpenCL compiler.
        visa: a file with an edited vISA text in place of a zebin's.
        variables: compile so that a debugger knows the source's variables.
    """
    import visim

    source = read_source(file)
    data = source if isinstance(source, bytes) else read_file(Path(file))
    language = _language(file, data)
    if language is not None and visa is not None:
        raise ArgumentError(f"visa: {name_of(file)} is {language}; compile it first, with visim cl")
    if language is not None:
        return compiled(file, data, device, options or "", language, variables=variables)
    if options is not None:
        raise ArgumentError(f"options: {name_of(file)} is compiled already, they change nothing")
    if visa is not None:
        return visim.load(source, platform=device, strict=strict, visa=read_source(visa))
    if strict:
        return visim.load(source, platform=device, strict=True)
    return visim.load(source, platform=device)


def compiled(
    file: str,
    data: bytes,
    device: str | None,
    options: str,
    language: str = "OpenCL C",
    *,
    variables: bool = False,
) -> Program:
    """Compile OpenCL C or SPIR-V for a device, with the source's variables for a debugger."""
    import visim
    from visim.cli.progress import working

    name = name_of(file)
    if device is None:
        message = f"device: {name} is {language}; say which device to compile it for"
        raise ArgumentError(message, Correction(missing=(("device", EXAMPLE_DEVICE),)))
    source = source_code(data, name)
    with working(f"compiling {name} for {device}"):
        return visim.opencl.build(
            source, device=device, options=options, name=name, variables=variables
        )


def _language(file: str, data: bytes) -> str | None:
    """Return the language of a file that has to be compiled, None for any other."""
    from visim.runtime.building.loading import source_language

    return "OpenCL C" if file.lower().endswith(".cl") else source_language(data)


def check_target(file: str, *sources: str) -> None:
    """Refuse a file that cannot be written, before the work for it is done, or that is a source."""
    if is_standard(file):
        return
    for source in sources:
        if os.path.realpath(file) == os.path.realpath(source):
            raise ArgumentError(
                f"{file}: the output would replace what it is made of; give -o another name"
            )
    check_output(file)


def write_text(file: str, text: str) -> None:
    """Write `text` to `file` in UTF-8, with one line end at its end."""
    write_bytes(file, (text.removesuffix("\n") + "\n").encode())


def write_bytes(file: str, data: bytes) -> None:
    """Write `data` to `file`."""
    if is_standard(file):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    write_file(file, data)
