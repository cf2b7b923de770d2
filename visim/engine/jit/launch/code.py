"""The code of a kernel in all its versions, which launches at the same time share."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

from visim.engine.jit.analysis.blocks import UnitCode
from visim.engine.jit.common.ahead import RENEWING
from visim.engine.jit.common.native import (
    finds_rows,
    has_byte_products,
    has_gathers,
    has_mask_registers,
    has_scatters,
    has_wide_products,
    permuted_bytes,
    vector_lanes,
)
from visim.engine.jit.launch.kept import Compiled, Kept
from visim.engine.jit.passes import Off, left_out
from visim.engine.jit.writing.versions import ModuleText, Traits, Version
from visim.forks import RenewedLock, loading
from visim.linker.program import LinkedKernel

if TYPE_CHECKING:
    from visim.engine.jit.emit.module import ModuleWriter


_WORTH_IT = 2
"""At which run code that was made quickly is made again: the first may have been the only one."""


class KernelCode:
    """Makes the versions of a kernel that are asked for, each once.

    Args:
        kernel: the kernel.
        saving: whether threads keep their registers in memory.
        off: the passes that are left out; None: those that `VISIM_PASSES` says.

    `renewals` counts how often a version that was made quickly has been made better.

    Raises:
        UnsupportedError: the kernel needs what the JIT cannot do.
        ArgumentError: `VISIM_PASSES` names a pass that there is not.
    """

    def __init__(self, kernel: LinkedKernel, *, saving: bool, off: Off | None = None) -> None:
        self.kernel = kernel
        self.saving = saving
        self._off = left_out() if off is None else off
        self._versions: dict[Version, Compiled] = {}
        self._making = RenewedLock()
        self._runs = Counter[Version]()
        self.renewals = 0
        self._entries = Kept(kernel)
        self.traits = self._entries.traits(saving=saving, off=self._off, survey=self._survey)

    def compiled(self, version: Version) -> Compiled:
        """Return the code that is made for a version on this host."""
        version = self._here(version)
        with self._making.lock:
            found = self._versions.get(version)
            if found is None:

                def write() -> ModuleText:
                    return self._writer(version).write()

                found = self._versions[version] = self._entries.compiled(version, write)
            return found

    def text(self, version: Version) -> str:
        """Return what LLVM gets of a version on this host; nothing is compiled."""
        return self._writer(self._here(version)).write().text

    def _here(self, version: Version) -> Version:
        """Return a version as this host and the passes that are left out make it."""
        return replace(
            version,
            has_mask_registers=has_mask_registers(),
            has_gathers=has_gathers(),
            has_scatters=has_scatters(),
            finds_rows=finds_rows(),
            has_byte_products=has_byte_products(),
            vector_lanes=vector_lanes(),
            permuted_bytes=permuted_bytes(),
            off=self._off,
        )

    def was_run(self) -> None:
        """Note that a launch, or a range of its groups, has run.

        Versions that were made quickly are made again in the background when that happens again.
        """
        for version, made in list(self._versions.items()):
            if made.better is None:
                continue
            self._runs[version] += 1
            if self._runs[version] != _WORTH_IT:
                continue
            method = WeakMethod(self._renew)

            def renew(version: Version = version, method: WeakMethod[Any] = method) -> None:
                again = method()
                if again is not None:
                    again(version)

            RENEWING.begin(renew)

    def _renew(self, version: Version) -> None:
        better = self._versions[version].better
        if better is not None:
            found = better()
            with self._making.lock:
                self._versions[version] = found
                self.renewals += 1

    @cached_property
    def _units(self) -> list[UnitCode]:
        """The code of all units, which versions share that look at results only."""
        return self._unit_codes(messages=True)

    @cached_property
    def _followed_units(self) -> list[UnitCode]:
        """The code of all units where somebody looks inside, which sees each message."""
        return self._unit_codes(messages=False)

    def _unit_codes(self, *, messages: bool) -> list[UnitCode]:
        products = has_wide_products()
        return [
            UnitCode(
                self.kernel,
                unit,
                products=products,
                pairs=not self.saving,
                messages=messages,
                off=self._off,
            )
            for unit in self.kernel.units
        ]

    def _survey(self) -> Traits:
        version = Version(full=True, slm_bytes=0, saving=self.saving, off=self._off)
        return self._writer(version).survey()

    def _writer(self, version: Version) -> ModuleWriter:
        codes = self._followed_units if version.looks_inside else self._units
        return _module_writer()(self.kernel, version, codes=codes)


@cache
def _module_writer() -> type[ModuleWriter]:
    # What writes code is loaded when there is code to write.
    with loading("the JIT"):
        from visim.engine.jit.emit.module import ModuleWriter
    return ModuleWriter
