"""Tables of micro-operations leave none out."""

import pytest

from visim.engine import expressions
from visim.engine.jit.writing.leaves import LEAF_LOWERINGS
from visim.engine.jit.writing.operations import OPERATION_LOWERINGS
from visim.errors import InternalError
from visim.sem.uops import CROSSING, LEAVES, UOPS, Group, Uop, total


def test_a_table_without_a_row_is_refused_with_its_name():
    rows = {"add": 1, "sub": 2}
    with pytest.raises(InternalError, match=r"no price for: mul"):
        total("price", rows, {name: UOPS[name] for name in ("add", "sub", "mul")})


def test_a_table_with_a_row_too_many_is_refused_with_its_name():
    with pytest.raises(InternalError, match=r"no micro-operation: median"):
        total("price", {"add": 1, "median": 2}, {"add": UOPS["add"]})


def test_the_jit_lowers_leaves_and_operations_and_nothing_twice():
    assert LEAF_LOWERINGS.keys() == LEAVES.keys()
    assert OPERATION_LOWERINGS.keys() == UOPS.keys() - LEAVES.keys()


@pytest.mark.parametrize("name", sorted(UOPS.keys() - LEAVES.keys()))
def test_without_its_lowering_a_micro_operation_is_refused(name):
    rest = {key: row for key, row in OPERATION_LOWERINGS.items() if key != name}
    with pytest.raises(InternalError, match=name):
        total("lowering in the JIT", {**LEAF_LOWERINGS, **rest})


def test_a_new_micro_operation_is_refused_until_engines_have_it():
    new = Uop("median", Group.INTEGER, 3, "the middle one of three")
    every = {**UOPS, "median": new}
    with pytest.raises(InternalError, match="median"):
        total("lowering in the JIT", {**LEAF_LOWERINGS, **OPERATION_LOWERINGS}, every)
    functions = {
        **expressions.FUNCTIONS,
        **expressions.ROUNDED,
        **dict.fromkeys(expressions.WRITTEN),
    }
    with pytest.raises(InternalError, match="median"):
        total("function in the interpreter", functions, every)


def test_lanes_cross_where_shapes_do_and_where_registers_are_reached_by_address():
    shapes = {name for name, uop in UOPS.items() if uop.group is Group.SHAPE}
    assert shapes - {"select"} | {"gather"} == CROSSING
