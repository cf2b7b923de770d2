"""Observers that want nothing but what `Watch` effects tell."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from visim.engine.accesses import Accesses
from visim.engine.observers import Observer, Observers
from visim.sanitize.bounds.instrument import group_of_thread
from visim.sanitize.instrumented import InstrumentedKernel, instrumented
from visim.sem.effects import StoreBlock, Watch
from visim.types import UQ

TEXT = """\
.version 4.1
.kernel "odd"
.decl data v_type=G type=uq num_elts=1 align=qword
.decl at v_type=G type=uq num_elts=1 align=qword
.decl block v_type=G type=ud num_elts=1 align=dword
.input data offset=64 size=8
.kernel_attr Target="cm"
.kernel_attr SimdSize=16
.function "odd_0"

odd_0:
    shl (M1_NM, 1) block(0,0)<1> %group_id_x(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) at(0,0)<1> data(0,0)<0;1,0> block(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[at]:a64 block:d32x1t
    ret (M1, 1)
"""


class All(Observer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Accesses] = []

    def accesses(self, accesses):
        self.told.append(accesses)


class Watches(All):
    watches_only = True


class Groups(Watches):
    def group_begin(self, group):
        pass


class Odd:
    """Tells the stored values of groups with odd numbers."""

    name = "odd"

    def effects(self, kernel, unit, pc, effects):
        stores = [one for one in effects if isinstance(one, StoreBlock)]
        told = [
            Watch("odd", one.value.to(UQ), (one.value & 4).ne(0), group_of_thread())
            for one in stores
        ]
        return (*told, *effects)


def run(engine, *observers):
    program = visim.assemble(TEXT, platform="pvc")
    kernel = program["odd"]
    linked = instrumented(kernel._linked, [Odd()])
    assert isinstance(linked, InstrumentedKernel)
    assert linked.tells == {"odd"}
    kernel.__dict__["_linked"] = linked
    data = np.zeros(40, np.uint32)
    kernel.launch([data], thread_groups=40, engine=engine, observers=list(observers))
    assert data.tolist() == [4 * n for n in range(40)]


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
@pytest.mark.parametrize("kind", [Watches, Groups])
def test_they_get_what_is_watched_with_its_group_and_nothing_else(engine, kind):
    observer = kind()
    run(engine, observer)
    entries = [(one.group, entry) for one in observer.told for entry in one]
    assert {entry.site.kind for _, entry in entries} == {"watch"}
    found = sorted((group[0], entry.addresses[0]) for group, entry in entries)
    assert found == [(n, 4 * n) for n in range(1, 40, 2)]


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_beside_one_that_wants_all_they_get_all(engine):
    everything, watches = All(), Watches()
    run(engine, everything, watches)
    kinds = {entry.site.kind for one in everything.told for entry in one}
    assert kinds == {"watch", "store"}
    assert len(everything.told) == len(watches.told)


def test_the_order_matters_only_where_somebody_follows_it():
    assert not Observers(()).is_ordered
    assert Observers([All()]).is_ordered
    assert Observers([Groups()]).is_ordered
    assert not Observers([Watches()]).is_ordered
    assert Observers([Watches(), All()]).is_ordered
