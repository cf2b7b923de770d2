"""The code of a kernel in all its versions, which launches at the same time share."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from visim.engine.jit.analysis.blocks import UnitCode
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
from visim.engine.jit.passes import left_out
from visim.engine.jit.writing.versions import ModuleText, Traits, Version
from visim.forks import RenewedLock, loading
from visim.linker.program import LinkedKernel

if TYPE_CHECKING:
    from visim.engine.jit.writing.module import ModuleWriter


class KernelCode:
    """Makes the versions of a kernel that are asked for, each once.

    Args:
        kernel: the kernel.
        saving: whether threads keep their registers in memory.

    Raises:
        UnsupportedError: the kernel needs what the JIT cannot do.
        ArgumentError: `VISIM_PASSES` names a pass that there is not.
    """

    def __init__(self, kernel: LinkedKernel, *, saving: bool) -> None:
        self.kernel = kernel
        self.saving = saving
        self._off = left_out()
        self._versions: dict[Version, Compiled] = {}
        self._making = RenewedLock()
        self._entries = Kept(kernel)
        self.traits = self._entries.traits(saving=saving, off=self._off, survey=self._survey)

    def compiled(self, version: Version) -> Compiled:
        """Return the code that is made for a version on this host."""
        version = replace(
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
        with self._making.lock:
            found = self._versions.get(version)
            if found is None:

                def write() -> ModuleText:
                    return self._writer(version).write()

                found = self._versions[version] = self._entries.compiled(version, write)
            return found

    @cached_property
    def _units(self) -> list[UnitCode]:
        """The code of all units, which all versions share."""
        products = has_wide_products()
        return [
            UnitCode(self.kernel, unit, products=products, off=self._off)
            for unit in self.kernel.units
        ]

    def _survey(self) -> Traits:
        version = Version(full=True, slm_bytes=0, saving=self.saving, off=self._off)
        return self._writer(version).survey()

    def _writer(self, version: Version) -> ModuleWriter:
        return _module_writer()(self.kernel, version, codes=self._units)


@cache
def _module_writer() -> type[ModuleWriter]:
    # What writes code is loaded when there is code to write.
    with loading("the JIT"):
        from visim.engine.jit.writing.module import ModuleWriter
    return ModuleWriter
