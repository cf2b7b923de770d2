"""An edited vISA text in the place of those in a zebin: which of its units stands for which.

A text that `visim dis` printed has the kernels' own names. A text that a compiler dumped calls
its only kernel something else; it is meant where the zebin has one kernel, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from visim.binary.zebin import Zebin, ZeFunction, ZeKernel
from visim.diag import Source
from visim.errors import ArgumentError
from visim.lex import nearest
from visim.module import Module, Unit, UnitKind


@dataclass(frozen=True, slots=True)
class EditedText:
    """The bytes of an edited text, and what messages call it."""

    data: bytes
    name: str

    @property
    def source(self) -> Source:
        """The text.

        Raises:
            ArgumentError: it is something else, such as OpenCL C or a zebin.
        """
        text = self.data.decode("utf-8-sig", "replace")
        if ".version" not in text or "\ufffd" in text:
            raise ArgumentError(
                f"visa: {self.name} is no vISA text; visim dis prints that of a zebin"
            )
        return Source(self.name, text)


@dataclass(frozen=True, slots=True)
class EditedUnits:
    """The units of an edited text by the names that they have in the zebin."""

    module: Module
    kernels: Mapping[str, Unit]
    functions: Mapping[str, Unit]

    def of(self, entry: ZeKernel | ZeFunction) -> Unit | None:
        """Return what stands for a kernel or function of the zebin, None: its own text does."""
        return (self.kernels if isinstance(entry, ZeKernel) else self.functions).get(entry.name)


def edited_units(module: Module, name: str, zebin: Zebin) -> EditedUnits:
    """Return which units of an edited text stand for which of a zebin.

    Args:
        module: the edited text.
        name: what messages call it.
        zebin: what it was made from.

    Raises:
        ArgumentError: it has no unit, or one that the zebin does not have.
    """
    kernels = [kernel.name for kernel in zebin.kernels]
    functions = [function.name for function in zebin.functions]
    found = {unit.name: unit for unit in module.kernels}
    if len(found) == len(kernels) == 1:
        found = {kernels[0]: module.kernels[0]}
    called = {unit.name: unit for unit in module.units if unit.kind is UnitKind.FUNCTION}
    if not found and not called:
        raise ArgumentError(f"visa: {name} has neither a kernel nor a function")
    for kind, units, known in (("kernel", found, kernels), ("function", called, functions)):
        for one in units:
            if one not in known:
                near = nearest(one, known)
                there = f"did you mean {near!r}?" if near else f"it has: {', '.join(known)}"
                message = f"visa: {name} has a {kind} {one!r}, the zebin has none; {there}"
                raise ArgumentError(message)
    return EditedUnits(module, found, called)
