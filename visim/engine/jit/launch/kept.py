"""What is kept of kernels that were compiled before, so that neither traits nor IR are made again.

An entry is found by what it is made of: the program, the version of it, the processor, the
compiler, and visim's own code. Beside the object code it has what Python needs to run it; which
instruction a message belongs to is only asked for when native code calls Python, and the module
is written again then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from visim.engine.accesses import AccessSite
from visim.engine.jit.analysis.callouts import CallOut
from visim.engine.jit.analysis.inputs import InputRow
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.common.apart import compiled as object_of
from visim.engine.jit.common.cache import ObjectCache, default_folder, key_of
from visim.engine.jit.common.entries import scheduler
from visim.engine.jit.common.native import NativeCode, compiler, processor
from visim.engine.jit.common.tiers import Tier, first_tier, has_second_tier
from visim.engine.jit.passes import Off
from visim.engine.jit.writing.sites import SiteInfo
from visim.engine.jit.writing.versions import ModuleText, Traits, Version
from visim.engine.observers import BlockPlace
from visim.errors import InternalError
from visim.forks import WRITING_LOCK
from visim.isa.flow import FunctionAddress
from visim.linker.program import LinkedKernel
from visim.target import COMMON, object_version
from visim.text import show_unit

_LINKED = 64
"""So many modules stay linked when no program has them any more."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What Python has to know of a module to run it.

    `places` are the unit and the program counter of each message and call-out, by number; `lines`
    is how many its text has. `blocks` and `forms` are those of `ModuleText`, `watched`,
    `alike_once` and `firsts` too; `adding` and `surfaces` are those of `Sites`.
    """

    entry: str
    exchange_bytes: int
    places: tuple[tuple[int, int], ...]
    blocks: tuple[BlockPlace, ...]
    forms: tuple[tuple[str, ...], ...]
    watched: tuple[AccessSite, ...]
    adding: tuple[int, ...]
    surfaces: int | None
    alike_once: bool
    firsts: tuple[tuple[int, int], ...]
    frame_bytes: int
    lines: int = field(compare=False)

    @classmethod
    def of(cls, module: ModuleText) -> Facts:
        """Return the facts of a module."""
        places = tuple((site.unit, site.pc) for site in module.sites.known)
        return cls(
            module.entry,
            module.sites.exchange_bytes,
            places,
            tuple(module.places),
            tuple(module.forms),
            tuple(module.watched),
            tuple(module.sites.adding),
            module.sites.surfaces,
            module.alike_once,
            module.firsts,
            module.frame_bytes,
            module.text.count("\n"),
        )


@dataclass
class Compiled:
    """A version of a kernel as machine code.

    `better` makes the same at a tier that takes longer; None: there is none that pays.
    """

    facts: Facts
    code: NativeCode
    write: Callable[[], ModuleText]
    better: Callable[[], Compiled] | None = None
    _sites: list[SiteInfo | CallOut] = field(default_factory=list[SiteInfo | CallOut])

    @property
    def kernel(self) -> int:
        """Where the kernel's function is."""
        return self.code.addresses[self.facts.entry]

    def site(self, number: int) -> SiteInfo | CallOut:
        """Return a message or call-out by its number."""
        if not self._sites:
            self._find_sites()
        return self._sites[number]

    def _find_sites(self) -> None:
        with WRITING_LOCK:
            if self._sites:
                return
            module = self.write()
            if Facts.of(module) != self.facts:
                raise InternalError("a kernel's module is not what it was when it was compiled")
            self._sites = module.sites.known


class Kept:
    """The entries of one kernel in the cache of object code.

    Args:
        kernel: the kernel.
    """

    def __init__(self, kernel: LinkedKernel) -> None:
        self._kernel = kernel

    def traits(self, *, saving: bool, off: Off, survey: Callable[[], Traits]) -> Traits:
        """Return what all versions have in common.

        Raises:
            UnsupportedError: the kernel needs what the JIT cannot do.
        """
        cache = ObjectCache(default_folder())
        with WRITING_LOCK:
            if cache.folder is None:
                return survey()
            key = key_of("traits", self._key, str(saving), *off)
            data = cache.get(key)
            if data is None:
                found = survey()
                cache.put(key, json.dumps(asdict(found)).encode())
                return found
        known = json.loads(data)
        rows = tuple(InputRow(Row(*row), channel) for row, channel in known["rows"])
        return Traits(**known | {"rows": rows})

    def compiled(self, version: Version, write: Callable[[], ModuleText]) -> Compiled:
        """Return a version of the kernel as machine code; `write` writes its module.

        That of a long module is made quickly, unless the cache has better.

        Raises:
            Stopped: who waits for it has to stop.
        """
        scheduler()
        cache, host = ObjectCache(default_folder()), processor()
        with WRITING_LOCK:
            keys = {tier: self._key_at(cache, version, tier) for tier in Tier}
            kept = ((tier, cache.get(key)) for tier, key in keys.items())
            tier, data = next((one for one in kept if one[1] is not None), (Tier.USUAL, None))
        text = None
        if data is not None:
            facts, code = _unpacked(data)
        else:
            with WRITING_LOCK:
                module = write()
            facts, text = Facts.of(module), module.text
            tier = first_tier(facts.lines)
            code = object_of(text, host, tier)
            with WRITING_LOCK:
                cache.put(keys[tier], _packed(facts, code))
        made = Compiled(facts, _linked(code, facts.entry), write)
        if tier is not Tier.USUAL and has_second_tier(facts.lines):
            made.better = _Better(made, text, cache, keys[Tier.USUAL])
        return made

    def _key_at(self, cache: ObjectCache, version: Version, tier: Tier) -> str:
        if cache.folder is None:
            return ""
        host = processor()
        return key_of(self._key, repr(version), host.name, host.features, compiler(), tier.name)

    @cached_property
    def _key(self) -> str:
        """A digest of all that the kernel's code depends on but for what a version says."""
        kernel = self._kernel
        named = {
            item.function
            for unit in kernel.units
            for item in unit.body
            if isinstance(item, FunctionAddress) and item.function in kernel.symbols
        }
        places = [(unit.offsets, unit.others) for unit in kernel.units]
        layout = (kernel.register_bytes, kernel.predefined, dict(kernel.file_scope), places)
        return key_of(
            *self._texts(),
            repr((kernel.platform.name, kernel.simd_size, layout, kernel.made_by)),
            repr(sorted((name, kernel.symbols[name]) for name in named)),
            own_code(),
        )

    def _texts(self) -> Iterator[str]:
        """Yield what says which instructions and variables there are.

        Writing the texts of units takes milliseconds, so it is done only for programs that are
        not one file.
        """
        kernel = self._kernel
        if kernel.origin is not None:
            yield f"{kernel.origin} {kernel.name}"
            return
        for unit in kernel.units:
            yield show_unit(unit.unit, object_version(COMMON))


@dataclass(frozen=True, slots=True, eq=False)
class _Better:
    """Makes a module again at the usual tier: `text`, written again where nobody has it."""

    made: Compiled
    text: str | None
    cache: ObjectCache
    key: str

    def __call__(self) -> Compiled:
        made, text = self.made, self.text
        if text is None:
            with WRITING_LOCK:
                text = made.write().text
        code = object_of(text, processor(), Tier.USUAL)
        with WRITING_LOCK:
            self.cache.put(self.key, _packed(made.facts, code))
        return Compiled(made.facts, _linked(code, made.facts.entry), made.write)


@lru_cache(_LINKED)
def _linked(code: bytes, entry: str) -> NativeCode:
    """Return machine code that is ready to run; LLVM keeps a little of all that it ever linked.

    So programs that are loaded again and again share it.
    """
    return NativeCode(code, [entry])


@cache
def own_code() -> str:
    """Return a digest of visim's own code, by the sizes and times of its files."""
    return key_of(*sorted(_files(Path(__file__).parents[3])))


def _files(folder: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the path, size and time of each file of code in a folder and those below it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files(entry.path)


def _packed(facts: Facts, code: bytes) -> bytes:
    head = json.dumps(asdict(facts)).encode()
    return len(head).to_bytes(8, "little") + head + code


def _unpacked(data: bytes) -> tuple[Facts, bytes]:
    start = 8 + int.from_bytes(data[:8], "little")
    known: dict[str, Any] = json.loads(data[8:start])
    places = tuple((unit, pc) for unit, pc in known["places"])
    forms = tuple(tuple(names) for names in known["forms"])
    blocks = tuple(BlockPlace(*place) for place in known["blocks"])
    watched = tuple(AccessSite(**site) for site in known["watched"])
    lists = places, blocks, forms, watched, tuple(known["adding"])
    firsts = tuple((place, size) for place, size in known["firsts"])
    others = known["surfaces"], known["alike_once"], firsts, known["frame_bytes"], known["lines"]
    facts = Facts(known["entry"], known["exchange_bytes"], *lists, *others)
    return facts, data[start:]
