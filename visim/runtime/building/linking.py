"""From several files to one program: which files take part, and what becomes of them.

Owns archives, whose members take part when something of them is needed, and the choices of
`visim.link`; how symbols are resolved is the business of `visim.linker`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush

from visim.binary.archive import is_archive, read_archive
from visim.binary.isafile import NativeCode
from visim.diag import Diagnostics
from visim.errors import ArgumentError, InputError, UnsupportedError
from visim.linker import Part, merge, stripped, without_unused
from visim.module import Linkage, Module
from visim.runtime.building.loading import (
    LINKED,
    ZEBIN,
    Contents,
    LoadedKernel,
    ProgramSource,
    complete,
    examine_data,
    file_bytes,
    wanted_platform,
)
from visim.runtime.given import check_flag
from visim.target import Platform


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """How to link: `gc` drops what no kernel needs, `strip` names and source lines.

    `strict` refuses directives that only visim has.
    """

    gc: bool = False
    strip: bool = False
    strict: bool = False


def link_sources(
    sources: Sequence[ProgramSource], device: str | None, options: LinkOptions
) -> Contents:
    """Return the program that several files make.

    Raises:
        InputError: a file is wrong by itself.
        LinkError: names are defined twice, or called functions nowhere.
        ArgumentError: files are for different devices, or there is no such platform.
        UnsupportedError: one of them is a zebin.
    """
    for name in ("gc", "strip", "strict"):
        check_flag(name, getattr(options, name))
    wanted_platform(device)
    return _link([file_bytes(source) for source in sources], device, options)


def _link(files: Sequence[tuple[bytes, str]], device: str | None, options: LinkOptions) -> Contents:
    inputs = _Inputs(wanted_platform(device), strict=options.strict)
    for data, name in files:
        inputs.add(data, name)
    if inputs.findings.errors:
        raise InputError(inputs.findings)
    parts = _needed(inputs.files, inputs.members)
    module = merge([Part(part.name, part.module) for part in parts])
    native = {name: code for part in parts for name, code in _lasting_code(part).items()}
    if options.gc:
        module = without_unused(module)
    if options.strip:
        module = stripped(module)
    return complete(_contents(parts, module, native), partial(_link, files, device, options))


class _Inputs:
    """The files that were given, and those that archives offer."""

    def __init__(self, target: Platform | None, *, strict: bool) -> None:
        self.target = target
        self.strict = strict
        self.findings = Diagnostics()
        self.files: list[Contents] = []
        self.members: list[Contents] = []

    def add(self, data: bytes, name: str) -> None:
        """Read a file; an archive offers its members."""
        if not is_archive(data):
            self._take(data, name, self.files)
            return
        for member in read_archive(data, name):
            self._take(member.data, f"{name}({member.name})", self.members)

    def _take(self, data: bytes, name: str, into: list[Contents]) -> None:
        part, found = examine_data(data, name, self.target, strict=self.strict)
        self.findings.extend(found)
        if part is None:
            return
        if part.format == ZEBIN:
            raise UnsupportedError(f"{name}: only vISA texts and objects can be linked")
        into.append(part)


def _needed(files: Sequence[Contents], members: Sequence[Contents]) -> list[Contents]:
    """Return the files, and the members of archives that define what those or others need.

    Where no file has a kernel, the members that have one take part too.
    """
    taken = list(files)
    if not any(part.kernels for part in taken):
        taken += [member for member in members if member.kernels]
    chosen = {id(part) for part in taken}
    left = [member for member in members if id(member) not in chosen]
    return [*taken, *_searched(taken, left)]


def _searched(taken: Sequence[Contents], left: Sequence[Contents]) -> Iterator[Contents]:
    """Yield the members of archives that are needed; of those, the first always comes next."""
    defining: dict[str, list[int]] = {}
    for place, member in enumerate(left):
        for name in _offers(member.module):
            defining.setdefault(name, []).append(place)
    had = set[str]().union(*(_offers(part.module) for part in taken))
    wanted = set[str]().union(*(_wants(part.module) for part in taken))
    waiting: list[tuple[int, str]] = []
    while True:
        for name in wanted:
            for place in defining.pop(name, ()):
                heappush(waiting, (place, name))
        while waiting and waiting[0][1] in had:
            heappop(waiting)
        if not waiting:
            return
        member = left[heappop(waiting)[0]]
        yield member
        had |= _offers(member.module)
        wanted = _wants(member.module)


def _offers(module: Module) -> set[str]:
    """Return the global functions and variables that a module defines."""
    functions = {u.name for u in module.functions if u.linkage is Linkage.GLOBAL}
    variables = {v.variable.name for v in module.variables if v.linkage is Linkage.GLOBAL}
    return functions | variables


def _wants(module: Module) -> set[str]:
    """Return the functions and variables that a module mentions and does not define."""
    named = (getattr(item, "function", None) for unit in module.units for item in unit.body)
    functions = {name for name in named if isinstance(name, str)}
    external = {v.variable.name for v in module.variables if v.linkage is Linkage.EXTERNAL}
    return (functions | external) - {unit.name for unit in module.functions}


def _lasting_code(part: Contents) -> dict[str, tuple[NativeCode, ...]]:
    """Return the Gen code of kernels that linking does not change: those that call nothing."""
    alone = {
        kernel.unit.name
        for kernel in part.kernels
        if not _wants(Module(part.isa_version, (kernel.unit,)))
        and not any(variable.root()[0].is_file_scope for variable in kernel.unit.generals)
    }
    return {name: code for name, code in part.native.items() if name in alone}


def _contents(
    parts: Sequence[Contents], module: Module, native: dict[str, tuple[NativeCode, ...]]
) -> Contents:
    return Contents(
        " + ".join(part.name for part in parts),
        LINKED,
        f"{module.version[0]}.{module.version[1]}",
        module.version,
        _one_platform(parts),
        tuple(LoadedKernel(unit) for unit in module.kernels),
        module.functions,
        native=native,
        variables=module.variables,
    )


def _one_platform(parts: Sequence[Contents]) -> Platform | None:
    known = [(part.name, part.platform) for part in parts if part.platform is not None]
    for name, platform in known:
        if platform != known[0][1]:
            message = f"{known[0][0]} is for {known[0][1].name}, {name} for {platform.name}"
            raise ArgumentError(f"platform: {message}; link files for one device")
    return known[0][1] if known else None
