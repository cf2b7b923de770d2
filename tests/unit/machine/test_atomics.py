"""Atomics: what each operation does, and the order of channels that collide."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visim.errors import InternalError
from visim.machine import AtomicOp, Memory, MemoryViolation, SharedLocalMemory, Surfaces

U4 = np.dtype(np.uint32)
F4 = np.dtype(np.float32)
BIG = 2**32 - 1


def once(op, old, operand0=None, operand1=None, dtype=U4):
    """Return what a single channel gets back and leaves in memory."""
    array = np.array([old], dtype)
    memory = Memory()
    operands = [None if o is None else np.array([o], dtype) for o in (operand0, operand1)]
    address = np.array([memory.add(array, "x")], np.uint64)
    returned = memory.atomic(op, address, None, dtype, *operands)
    assert returned.dtype == dtype
    return returned[0], array[0]


class TestIntegers:
    @pytest.mark.parametrize(
        ("op", "old", "operand", "new"),
        [
            (AtomicOp.ADD, BIG, 2, 1),
            (AtomicOp.SUB, 1, 2, BIG),
            (AtomicOp.INC, BIG, None, 0),
            (AtomicOp.DEC, 0, None, BIG),
            (AtomicOp.UMIN, BIG, 1, 1),
            (AtomicOp.UMAX, BIG, 1, BIG),
            (AtomicOp.SMIN, BIG, 1, BIG),
            (AtomicOp.SMAX, BIG, 1, 1),
            (AtomicOp.XCHG, 5, BIG, BIG),
            (AtomicOp.AND, 0b1100, 0b1010, 0b1000),
            (AtomicOp.OR, 0b1100, 0b1010, 0b1110),
            (AtomicOp.XOR, 0b1100, 0b1010, 0b0110),
            (AtomicOp.LOAD, 5, None, 5),
        ],
    )
    def test_the_old_value_comes_back_and_the_new_one_stays(self, op, old, operand, new):
        assert once(op, old, operand) == (old, new)

    def test_predecrement_alone_returns_the_new_value(self):
        assert once(AtomicOp.PREDEC, 0) == (BIG, BIG)

    @pytest.mark.parametrize(("comparand", "new"), [(5, 9), (6, 5)])
    def test_compare_and_exchange_takes_the_comparand_first(self, comparand, new):
        assert once(AtomicOp.CMPXCHG, 5, comparand, 9) == (5, new)

    @pytest.mark.parametrize("name", ["uint16", "int16", "uint32", "int32", "uint64", "int64"])
    def test_the_operation_and_not_the_type_decides_signedness(self, name):
        dtype = np.dtype(name)
        minus_one = np.array([-1]).astype(dtype)[0]
        assert once(AtomicOp.SMIN, 1, minus_one, dtype=dtype)[1] == minus_one
        assert once(AtomicOp.UMIN, 1, minus_one, dtype=dtype)[1] == 1
        assert once(AtomicOp.SMAX, 1, minus_one, dtype=dtype)[1] == 1
        assert once(AtomicOp.UMAX, 1, minus_one, dtype=dtype)[1] == minus_one


class TestFloats:
    @pytest.mark.parametrize("name", ["float16", "float32", "float64"])
    def test_add_and_subtract(self, name):
        dtype = np.dtype(name)
        assert once(AtomicOp.FADD, 1.5, 2.25, dtype=dtype) == (1.5, 3.75)
        assert once(AtomicOp.FSUB, 1.5, 2.25, dtype=dtype) == (1.5, -0.75)

    def test_results_that_overflow_are_infinite(self):
        big = np.finfo(np.float32).max
        assert once(AtomicOp.FADD, big, big, dtype=F4)[1] == np.inf

    def test_denormals_are_kept(self):
        least = np.float32(2**-149)
        assert once(AtomicOp.FADD, least, least, dtype=F4)[1] == np.float32(2**-148)

    @pytest.mark.parametrize("op", [AtomicOp.FMIN, AtomicOp.FMAX])
    def test_minimum_and_maximum_prefer_the_number_to_nan(self, op):
        assert once(op, np.nan, 3, dtype=F4)[1] == 3
        assert once(op, 3, np.nan, dtype=F4)[1] == 3

    @pytest.mark.parametrize("op", [AtomicOp.FMIN, AtomicOp.FMAX])
    def test_of_two_nans_the_operand_stays(self, op):
        array = np.array([0x7FC00001], np.uint32)
        memory = Memory()
        address = np.array([memory.add(array, "x")], np.uint64)
        memory.atomic(op, address, None, U4, np.array([0xFFC00002], np.uint32))
        assert array[0] == 0xFFC00002

    @pytest.mark.parametrize("op", [AtomicOp.FMIN, AtomicOp.FMAX])
    @pytest.mark.parametrize("zero", [0.0, -0.0])
    def test_memory_keeps_its_zero(self, op, zero):
        assert math.copysign(1, once(op, zero, -zero, dtype=F4)[1]) == math.copysign(1, zero)

    def test_compare_and_exchange_compares_numbers(self):
        assert once(AtomicOp.FCAS, 0.0, -0.0, 4, dtype=F4)[1] == 4
        assert np.isnan(once(AtomicOp.FCAS, np.nan, np.nan, 4, dtype=F4)[1])

    def test_an_integer_operation_on_a_float_type_acts_on_its_bits(self):
        assert once(AtomicOp.XCHG, 1.0, -0.0, dtype=F4) == (1.0, 0.0)
        assert once(AtomicOp.CMPXCHG, 0.0, -0.0, 4, dtype=F4)[1] == 0.0


class TestChannels:
    def atomic(self, array, offsets, op, *operands, mask=None, dtype=U4):
        memory = Memory()
        base = memory.add(array, "x")
        addresses = np.array([base + offset for offset in offsets], np.uint64)
        return memory.atomic(op, addresses, mask, dtype, *operands).tolist()

    def test_colliding_channels_follow_each_other(self):
        array = np.array([10, 20], np.uint32)
        returned = self.atomic(
            array, [0, 4, 0, 0, 4], AtomicOp.ADD, np.array([1, 2, 3, 4, 5], np.uint32)
        )
        assert returned == [10, 20, 11, 14, 22]
        assert array.tolist() == [18, 27]

    def test_inactive_channels_do_nothing_and_give_zero(self):
        array = np.array([10], np.uint32)
        mask = np.array([0, 1, 0], np.bool_)
        operand = np.array([1, 2, 3], np.uint32)
        assert self.atomic(array, [0, 0, 9999], AtomicOp.ADD, operand, mask=mask) == [0, 10, 0]
        assert array.tolist() == [12]
        none = np.zeros(3, np.bool_)
        assert self.atomic(array, [0, 1, 2], AtomicOp.ADD, operand, mask=none) == [0, 0, 0]

    def test_channels_may_reach_different_arrays(self):
        x, y = np.array([1, 2], np.uint32), np.array([3], np.uint32)
        memory = Memory()
        a, b = memory.add(x, "x"), memory.add(y, "y")
        addresses = np.array([a, b, a, a + 4], np.uint64)
        returned = memory.atomic(
            AtomicOp.CMPXCHG,
            addresses,
            None,
            U4,
            np.array([1, 3, 7, 0], np.uint32),
            np.array([7, 8, 9, 9], np.uint32),
        )
        assert returned.tolist() == [1, 3, 7, 2]
        assert (x.tolist(), y.tolist()) == ([9, 2], [8])

    def test_a_misaligned_atomic_is_a_violation(self):
        array = np.zeros(4, np.uint32)
        with pytest.raises(MemoryViolation) as caught:
            self.atomic(array, [0, 6], AtomicOp.INC)
        assert (caught.value.reason, caught.value.channel) == ("misaligned", 1)
        assert (caught.value.kind, caught.value.nearest) == ("atomic", "x")
        assert not array.any()

    @pytest.mark.parametrize(("offset", "channel"), [(16, 1), (-4, 1), (2**40, 1)])
    def test_an_atomic_out_of_range_is_a_violation_and_nothing_is_done(self, offset, channel):
        array = np.zeros(4, np.uint32)
        with pytest.raises(MemoryViolation, match="out of range") as caught:
            self.atomic(array, [0, offset, 4], AtomicOp.INC)
        assert caught.value.channel == channel
        assert not array.any()

    def test_read_only_memory_allows_the_atomic_load_only(self):
        array = np.array([7], np.uint32)
        array.setflags(write=False)
        assert self.atomic(array, [0], AtomicOp.LOAD) == [7]
        with pytest.raises(MemoryViolation, match="read-only"):
            self.atomic(array, [0], AtomicOp.OR, np.zeros(1, np.uint32))

    def test_a_surface_at_an_odd_host_address_is_aligned_by_its_offsets(self):
        array = np.zeros(9, np.uint8)
        surfaces = Surfaces()
        surfaces.bind(0, array[1:], "x")
        offsets = np.array([4, 4, 0], np.uint32)
        assert surfaces.atomic(0, AtomicOp.INC, offsets, None, U4).tolist() == [0, 1, 0]
        assert array.tolist() == [0, 1, 0, 0, 0, 2, 0, 0, 0]


class TestMisuse:
    @pytest.mark.parametrize(
        ("dtype", "operands", "message"),
        [
            ("uint8", [np.zeros(1, np.uint8)], "2, 4 or 8 bytes"),
            ("uint32", [], "takes 1 operands"),
            ("uint32", [np.zeros(1, np.uint64)], "of type uint64"),
        ],
    )
    def test_what_no_instruction_can_ask_for_is_our_error(self, dtype, operands, message):
        slm = SharedLocalMemory(16)
        with pytest.raises(InternalError, match=message):
            slm.atomic(AtomicOp.ADD, np.zeros(1, np.uint32), None, np.dtype(dtype), *operands)

    def test_each_operation_knows_its_operands(self):
        counts = {op.value: op.operand_count for op in AtomicOp}
        assert [name for name, count in counts.items() if count == 2] == ["cmpxchg", "fcas"]
        assert [n for n, count in counts.items() if not count] == ["inc", "dec", "predec", "load"]


def integer_model(op, old, a, b, bits):
    """Return the new value, with Python's integers."""
    signed = lambda v: v - (1 << bits) if v >> (bits - 1) else v  # noqa: E731
    new = {
        "add": lambda: old + a,
        "sub": lambda: old - a,
        "inc": lambda: old + 1,
        "dec": lambda: old - 1,
        "predec": lambda: old - 1,
        "umin": lambda: min(old, a),
        "umax": lambda: max(old, a),
        "smin": lambda: min(old, a, key=signed),
        "smax": lambda: max(old, a, key=signed),
        "xchg": lambda: a,
        "cmpxchg": lambda: b if old == a else old,
        "and": lambda: old & a,
        "or": lambda: old | a,
        "xor": lambda: old ^ a,
        "load": lambda: old,
    }[op]()
    return new % (1 << bits)


@st.composite
def integer_cases(draw):
    bits = draw(st.sampled_from([16, 32, 64]))
    edges = [0, 1, 2, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1]
    value = st.one_of(st.sampled_from(edges), st.integers(0, (1 << bits) - 1))
    n = draw(st.sampled_from([1, 5, 16]))
    column = st.lists(value, min_size=n, max_size=n)
    slots = draw(st.lists(st.integers(0, draw(st.sampled_from([0, 3, 7]))), min_size=n, max_size=n))
    mask = draw(st.one_of(st.none(), st.lists(st.booleans(), min_size=n, max_size=n)))
    op = draw(st.sampled_from([op for op in AtomicOp if not op.startswith("f")]))
    memory = draw(st.lists(value, min_size=8, max_size=8))
    return bits, op, slots, mask, draw(column), draw(column), memory


@given(integer_cases())
def test_integers_agree_with_doing_one_channel_after_the_other(case):
    bits, op, slots, mask, a, b, initial = case
    dtype = np.dtype(f"u{bits // 8}")
    array = np.array(initial, dtype)
    memory = Memory()
    base = memory.add(array, "x")
    addresses = np.array([base + slot * dtype.itemsize for slot in slots], np.uint64)
    vector_mask = None if mask is None else np.array(mask, np.bool_)
    returned = memory.atomic(
        op, addresses, vector_mask, dtype, np.array(a, dtype), np.array(b, dtype)
    )
    expected = [0] * len(slots)
    for channel, slot in enumerate(slots):
        if mask is None or mask[channel]:
            old = initial[slot]
            initial[slot] = integer_model(op, old, a[channel], b[channel], bits)
            expected[channel] = initial[slot] if op is AtomicOp.PREDEC else old
    assert returned.tolist() == expected
    assert array.tolist() == initial


def float_model(op, old, a, b, dtype):
    """Return the new value; sums in double precision, which rounds as once for half and single."""
    if op in {"fadd", "fsub"}:
        with np.errstate(all="ignore"):
            total = np.float64(old) + (np.float64(a) if op == "fadd" else -np.float64(a))
            return dtype.type(total)
    if op == "fcas":
        return b if float(old) == float(a) else old
    if math.isnan(old):
        return a
    better = float(a) < float(old) if op == "fmin" else float(a) > float(old)
    return a if better else old


def same_bits(x, y, dtype):
    """Return whether two vectors are the same, any NaN being equal to any other."""
    x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    bits = np.dtype(f"u{dtype.itemsize}")
    return bool(np.all((x.view(bits) == y.view(bits)) | (np.isnan(x) & np.isnan(y))))


@st.composite
def float_cases(draw):
    size = draw(st.sampled_from([2, 4, 8]))
    dtype, bits = np.dtype(f"f{size}"), np.dtype(f"u{size}")
    info = np.finfo(dtype)
    special = np.array(
        [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal],
        dtype,
    ).view(bits)
    quiet = int(np.array([np.nan], dtype).view(bits)[0])
    patterns = [*(int(v) for v in special), quiet | 1, quiet ^ (quiet & -quiet) | 1]
    value = st.one_of(st.sampled_from(patterns), st.integers(0, (1 << 8 * size) - 1))
    n = draw(st.sampled_from([1, 5, 16]))
    column = st.lists(value, min_size=n, max_size=n)
    slots = draw(st.lists(st.integers(0, draw(st.sampled_from([0, 3]))), min_size=n, max_size=n))
    op = draw(st.sampled_from([op for op in AtomicOp if op.startswith("f")]))
    memory = draw(st.lists(value, min_size=4, max_size=4))
    columns = (np.array(draw(column), bits).view(dtype) for _ in range(2))
    return op, dtype, slots, *columns, np.array(memory, bits).view(dtype)


@given(float_cases())
def test_floats_agree_with_doing_one_channel_after_the_other(case):
    op, dtype, slots, a, b, array = case
    values = list(array)
    memory = Memory()
    base = memory.add(array, "x")
    addresses = np.array([base + slot * dtype.itemsize for slot in slots], np.uint64)
    returned = memory.atomic(op, addresses, None, dtype, a, b)
    expected = []
    for channel, slot in enumerate(slots):
        expected.append(values[slot])
        values[slot] = float_model(op, values[slot], a[channel], b[channel], dtype)
    assert same_bits(returned, expected, dtype)
    assert same_bits(array, values, dtype)
