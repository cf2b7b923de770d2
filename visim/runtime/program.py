"""Programs as users hold them: reading, linking, checking and writing them ."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, cast

from visim.binary.isafile import NativeCode
from visim.diag import Diagnostic, Diagnostics
from visim.errors import ArgumentError, LinkError, UnsupportedError, shown
from visim.lex import nearest, shortened
from visim.module import SourceLine
from visim.output import write_file
from visim.runtime.building import loading
from visim.runtime.building.linking import LinkOptions, link_sources
from visim.runtime.building.loading import Contents, ProgramSource
from visim.runtime.facts import kernels as facts
from visim.runtime.given import check_text, path_of
from visim.runtime.kernel import Kernel
from visim.target import COMMON, object_version
from visim.text import show_module, show_unit


def load(
    source: ProgramSource,
    *,
    platform: str | None = None,
    strict: bool = False,
    visa: ProgramSource | None = None,
) -> Program:
    """Load a program and check it.

    What a file declares external need not be there; a kernel that needs it cannot be launched
    before `link` has put it together with the file that has it.

    Args:
        source: a path (a `str` is always a path), or the bytes of a file. vISA text, .isa
            objects and zebins are told apart by their contents.
        platform: the device (docs/devices.md) in any case; None takes what the file says.
        strict: refuse directives that only visim has.
        visa: a vISA text, as a path or bytes, in place of that in a zebin: what `visim dis` prints,
            edited. Kernels and functions that it does not have stay those of the zebin.

    Raises:
        InputError: the file is broken or violates the specification.
        LinkError: it calls functions that it neither has nor declares external.
        ArgumentError: there is no such platform, the file is for another one, or `visa` has a
            kernel or function that it does not have.
        UnsupportedError: the format is not read yet.
        FileNotFoundError: there is no such file.
    """
    return Program(loading.read_program(source, platform, strict=strict, visa=visa))


def assemble(text: str, *, platform: str, strict: bool = False) -> Program:
    """Return the program that a vISA text in a string describes.

    Args:
        text: the vISA text.
        platform: as for `load`.
        strict: refuse directives that only visim has.

    Raises:
        InputError: the text is wrong.
        LinkError: it calls functions that it neither has nor declares external.
        ArgumentError: there is no such platform, or `text` is not a str.
    """
    check_text("text", text)
    return Program(loading.read_text(text, platform, strict=strict))


def link(
    sources: Sequence[ProgramSource],
    *,
    platform: str | None = None,
    gc: bool = False,
    strip: bool = False,
    strict: bool = False,
) -> Program:
    """Return one program made of several vISA texts, objects and archives of them, in any order.

    Functions and variables of one file that are global are seen by all others. Members of an
    archive take part when something needs what they define.

    Args:
        sources: what `load` takes, but for zebins; and `ar` archives.
        platform: as for `load`.
        gc: drop functions and file-scope variables that no kernel needs.
        strip: drop names of variables and labels, and source lines.
        strict: refuse directives that only visim has.

    Raises:
        InputError: a file is wrong by itself.
        LinkError: a name is defined twice, or a called function nowhere.
        ArgumentError: there is no such platform, or files are for different ones.
        UnsupportedError: a source is a zebin.
    """
    given = cast("object", sources)
    is_list = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
    if not is_list or not sources:
        raise ArgumentError("sources: expected a list of one or more paths or files' bytes")
    options = LinkOptions(gc=gc, strip=strip, strict=strict)
    return Program(link_sources(sources, platform, options))


def verify(
    source: ProgramSource, *, platform: str | None = None, strict: bool = False
) -> Diagnostics:
    """Return everything that is wrong with a program; findings are never raised.

    Args:
        source: what `load` takes.
        platform: as for `load`.
        strict: refuse directives that only visim has.

    Raises:
        ArgumentError: there is no such platform, or the file is for another one.
        UnsupportedError: the format is not read yet.
        FileNotFoundError: there is no such file.
    """
    try:
        contents, findings = loading.examine(source, platform, strict=strict)
    except LinkError as error:
        return error.diagnostics
    if contents is not None and not findings.errors:
        findings.extend(loading.check_symbols(contents))
    return findings


class Program:
    """Kernels, and the functions and variables that they share.

    `program["name"]` is a kernel, and going through a program gives the kernels' names. What
    kernels store in variables of the program stays for later launches of this object. `kernels`
    are in the order of the file. Programs and kernels can be copied and pickled; copies are read
    from the same bytes, have their own variables and their own code.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.kernels: tuple[Kernel, ...] = tuple(
            Kernel(contents, kernel) for kernel in contents.kernels
        )

    def __repr__(self) -> str:
        names = shortened(", ".join(kernel.name for kernel in self.kernels))
        return f"<Program {self._contents.name}: {names or 'no kernels'}>"

    def _repr_html_(self) -> str:
        """Return the program as notebooks show it: its name, its device and its kernels."""
        contents = self._contents
        head = f"<b>{html.escape(contents.name)}</b>: {contents.format}, {self.platform}"
        kernels = "".join(f"<li>{html.escape(repr(one)[1:-1])}</li>" for one in self.kernels)
        return f"{head}<ul>{kernels}</ul>"

    def __copy__(self) -> Program:
        return deepcopy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Program, (self._contents,)

    def __getitem__(self, name: str) -> Kernel:
        """Return the kernel called `name`; KeyError names the nearest."""
        if not isinstance(cast("object", name), str):
            raise ArgumentError(
                f"kernel: expected a name, found {shown(name)}; see Program.kernels"
            )
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise _unknown("kernel", name, [kernel.name for kernel in self.kernels])

    def __contains__(self, name: object) -> bool:
        """Return whether there is a kernel called `name`."""
        return isinstance(name, str) and any(kernel.name == name for kernel in self.kernels)

    def __iter__(self) -> Iterator[str]:
        """Go through the kernels' names, in the order of the file."""
        return (kernel.name for kernel in self.kernels)

    @property
    def platform(self) -> str | None:
        """The device that the program is for, None where neither its file nor a caller says."""
        platform = self._contents.platform
        return None if platform is None else platform.name

    @property
    def compiler(self) -> str | None:
        """The compiler that `visim.opencl.build` took, None where the program was loaded."""
        return self._contents.compiler

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What the compiler warned of when `visim.opencl.build` made the program."""
        return self._contents.warnings

    @property
    def has_variables(self) -> bool:
        """Whether the program has variables of its own, in which launches leave what they store."""
        segments = self._contents.segments
        return segments is not None and segments.has_variables

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions that kernels can call."""
        return tuple(function.name for function in self._contents.functions)

    def text(self, unit: str | None = None) -> str:
        """Return the program as canonical vISA text.

        Args:
            unit: the name of a kernel or function; None gives all, kernels first.

        Raises:
            KeyError: there is no such unit; it names the nearest.
        """
        contents = self._contents
        units = [*(kernel.unit for kernel in contents.kernels), *contents.functions]
        if unit is None:
            return show_module(contents.module)
        check_text("unit", unit)
        for known in units:
            if known.name == unit:
                return show_unit(known, contents.isa_version, contents.variables)
        raise _unknown("unit", unit, [known.name for known in units])

    def info(self) -> dict[str, Any]:
        """Return the facts about the program in the form that `visim info --json` prints."""
        contents = self._contents
        return {
            "format": contents.format,
            "platform": None if contents.platform is None else contents.platform.name,
            "version": contents.version,
            "compiler": contents.compiler,
            "kernels": [kernel.info() for kernel in self.kernels],
            "variables": [
                {
                    "name": entry.variable.name,
                    "linkage": entry.linkage.value,
                    "type": entry.variable.type.name,
                    "elements": entry.variable.count,
                }
                for entry in contents.variables
            ],
            "externals": list(contents.externals),
            "functions": [
                {
                    "name": function.name,
                    "linkage": function.linkage.value,
                    **facts.declared(function),
                    **facts.body(function, contents.platform),
                }
                for function in contents.functions
            ],
        }

    def source_lines(self) -> list[dict[str, Any]]:
        """Return for each kernel and function which instructions came of which source line.

        Instructions are given by their numbers, as in the comments of a printed text.
        """
        units = (*(kernel.unit for kernel in self._contents.kernels), *self._contents.functions)
        return [{"name": unit.name, "lines": facts.line_ranges(unit)} for unit in units]

    def source_text(self, file: str, line: int) -> str | None:
        """Return a line of a source that the program was compiled from, None where it is unknown.

        Args:
            file: the file as `source_lines`, faults and findings name it.
            line: its line, from 1.
        """
        return self._contents.texts.text(SourceLine(file, line))

    def to_object(self, *, isa_version: str = COMMON) -> bytes:
        """Return the program as an .isa object.

        Args:
            isa_version: the object's version, 3.0 to 4.2.

        Raises:
            ArgumentError: the platform is not known, or there is no such version.
            InputError: something in the program has no place in an object of this version.
        """
        return self._contents.to_object(object_version(isa_version))

    def to_zebin(self) -> bytes:
        """Return the very bytes of the zebin that was loaded or compiled.

        Raises:
            UnsupportedError: the program was no zebin; visim makes none.
        """
        contents = self._contents
        if contents.edited is not None:
            raise UnsupportedError(
                f"{contents.name}: its text is {contents.edited.name}'s; visim makes no zebins"
            )
        if contents.raw is None:
            raise UnsupportedError(f"{contents.name}: visim writes only zebins that it has loaded")
        return contents.raw

    def native_code(self) -> dict[str, tuple[NativeCode, ...]]:
        """Return the Gen code that an .isa object holds beside its kernels, by their names."""
        return dict(self._contents.native)

    def write(self, path: str | os.PathLike[str], *, isa_version: str = COMMON) -> None:
        """Write the program to a file; an existing one is replaced when the new one is complete.

        Args:
            path: a name that ends in .visaasm for vISA text, in .isa for an object, or in .zebin
                for the very bytes of the zebin that was loaded.
            isa_version: the version of an object, 3.0 to 4.2.

        Raises:
            UnsupportedError: the program cannot be written in this format.
            InputError: something in it has no place in an object of this version.
            ArgumentError: the name ends in something else, the platform is not known, there is no
                such version, or the file cannot be written.
        """
        target = path_of("path", path)
        suffix = target.suffix.lower()
        is_common = isinstance(cast("object", isa_version), str) and isa_version == COMMON
        if suffix in {".visaasm", ".zebin"} and not is_common:
            raise ArgumentError(f"isa_version: {target} is not an object, only .isa files have one")
        match suffix:
            case ".visaasm":
                write_file(target, self.text().encode())
            case ".zebin":
                write_file(target, self.to_zebin())
            case ".isa":
                write_file(target, self.to_object(isa_version=isa_version))
            case _:
                raise ArgumentError(
                    f"path: expected a name that ends in .visaasm, .isa or .zebin, found {suffix!r}"
                )


def _unknown(what: str, name: str, known: Sequence[str]) -> KeyError:
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"it has: {', '.join(known) or 'none'}"
    return KeyError(f"the program has no {what} {name!r}; {hint}")


__all__ = ["Program", "assemble", "link", "load", "verify"]
