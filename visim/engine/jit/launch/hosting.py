"""The host's side of call-outs: what native code leaves to the reference interpreter's code.

Each call-out becomes a step of the interpreter whose operands and results are views of the
exchange area. Synchronizations are those of `engine.barriers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.engine.barriers import Barriers, Ticket
from visim.engine.context import Context
from visim.engine.jit.analysis.callouts import CallOut, parts_of
from visim.engine.modes import float_mode
from visim.engine.plan import StepBuilder
from visim.linker.program import LinkedKernel
from visim.sem.effects import FusedExchange, Message, Place, Synchronization
from visim.sem.expr import WIDE, Expr

Bytes = NDArray[np.uint8]
_Registers = dict[Place, Bytes]


class FusedApart(Exception):
    """The two threads of a fused pair met at different instructions."""


class Host:
    """Does the call-outs of one worker.

    Args:
        kernel: the program.
        exchange: the exchange area.
        context: the memory that messages reach.
    """

    def __init__(self, kernel: LinkedKernel, exchange: Bytes, context: Context) -> None:
        self.context = context
        self._kernel = kernel
        self._exchange = exchange
        self._steps: dict[tuple[int, int], Callable[[], object]] = {}

    def run(self, site: CallOut, control: int) -> None:
        """Do a message or compute a value.

        Args:
            site: the call-out; its inputs are in the exchange area.
            control: the bits of %cr0 that say how floats are rounded.

        Raises:
            MemoryViolation: memory refused an access.
        """
        step = self._steps.get((id(site), control))
        if step is None:
            step = self._steps[id(site), control] = self._step(site, control)
        with np.errstate(all="ignore"):
            step()

    def _step(self, site: CallOut, control: int) -> Callable[[], object]:
        unit = self._kernel.units[site.unit]
        builder = StepBuilder(self._kernel, unit, self.context, float_mode(control), full=False)
        views = self.views(site)
        for expr, view in zip(site.inputs, views, strict=False):
            name = builder.bind(view)
            if expr.type is WIDE:
                name = builder.temporary(f"{builder.bind(_wide_integers)}({name})")
            builder.know(expr, name)
        if isinstance(site.effect, Message):
            builder.effects(parts_of(site.effect))
        for expr, view in zip(site.outputs, views[len(site.inputs) :], strict=True):
            found = builder.value(expr)
            if expr.type is WIDE:
                found = f"{builder.bind(_wide_halves)}({found})"
            builder.lines.append(f"{builder.bind(view)}[...] = {found}")
        return builder.build()

    def views(self, site: CallOut) -> list[NDArray[Any]]:
        """Return the inputs and outputs of a call-out as they stand in the exchange area."""
        exprs = (*site.inputs, *site.outputs)
        return [self._view(expr, at) for expr, at in zip(exprs, site.offsets(), strict=False)]

    def _view(self, expr: Expr, offset: int) -> NDArray[Any]:
        if expr.type is WIDE:
            halves = self._exchange[offset : offset + 16 * expr.lanes].view(np.uint64)
            return halves.reshape(expr.lanes, 2)
        dtype = np.dtype(expr.type.numpy)
        return self._exchange[offset : offset + expr.lanes * dtype.itemsize].view(dtype)


class Meetings:
    """The synchronizations of one group: its barriers, and what fused pairs exchange."""

    def __init__(self, threads: int, *, has_named: bool) -> None:
        self.barriers = Barriers(threads, has_named=has_named)
        self._offers: dict[Ticket, dict[int, tuple[CallOut, _Registers]]] = {}
        self._met: dict[int, Ticket] = {}

    def perform(
        self, thread: int, effect: Synchronization, site: CallOut, views: Sequence[NDArray[Any]]
    ) -> Ticket | None:
        """Do what a synchronization says; return what the thread waits for.

        Raises:
            BarrierMisuse: the specification leaves it undefined.
            FusedApart: the threads of a fused pair are at different instructions.
        """
        if not isinstance(effect, FusedExchange):
            return self.barriers.perform(thread, effect, [int(view[0]) for view in views])
        if site.outputs:
            self._collect(thread, site, views)
            return None
        ticket = self.barriers.meet(thread)
        registers = {
            expr.attribute: view.copy() for expr, view in zip(site.inputs, views, strict=True)
        }
        self._offers.setdefault(ticket, {})[thread % 2] = (site, registers)
        self._met[thread] = ticket
        return ticket

    def _collect(self, thread: int, site: CallOut, views: Sequence[NDArray[Any]]) -> None:
        offers = self._offers[self._met.pop(thread)]
        if offers[0][0].pc != offers[1][0].pc:
            raise FusedApart("the other thread of the fused pair is at another instruction")
        for expr, view in zip(site.outputs, views, strict=True):
            number, place = expr.attribute
            view[...] = offers[number][1][place]


def _wide_integers(halves: NDArray[np.uint64]) -> NDArray[Any]:
    """Return integers of 128 bits, given by their low and high halves, as Python's."""
    pairs = ((int(low), int(high)) for low, high in halves)
    found = [low | (high - (high >> 63 << 64)) << 64 for low, high in pairs]
    return np.array(found, object)


def _wide_halves(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return Python's integers by the low and high halves of their 128 bits."""
    mask = (1 << 64) - 1
    return np.array([[int(v) & mask, int(v) >> 64 & mask] for v in values], np.uint64)


__all__ = ["FusedApart", "Host", "Meetings"]
