"""What callers may pass (visim.runtime.arguments.values)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visim.errors import ArgumentError
from visim.runtime.arguments.buffers import Buffer
from visim.runtime.arguments.values import Parameter, ValueType, arrange, memory, value_bytes

INT = ValueType("int", 4, np.dtype(np.int32))
UCHAR = ValueType("uchar", 1, np.dtype(np.uint8))
ULONG = ValueType("ulong", 8, np.dtype(np.uint64))
FLOAT = ValueType("float", 4, np.dtype(np.float32))
HALF = ValueType("half", 2, np.dtype(np.float16))
BF = ValueType("bf", 2, np.dtype(np.uint16), is_brain=True)
STRUCT = ValueType("struct S", 12, None)
TYPEDEF = ValueType("real", 4, None)

PARAMETERS = [Parameter(name, "value", 4, "int") for name in ("x", "count")]


def brain(bits: int) -> float:
    """The value of a BF with these bits."""
    return float(np.array((bits & 0xFFFF) << 16, np.uint32).view(np.float32))


class TestArrange:
    def test_a_list_is_in_order_and_a_dict_by_name(self):
        assert arrange([1, 2], PARAMETERS) == [1, 2]
        assert arrange((1, 2), PARAMETERS) == [1, 2]
        assert arrange({"count": 2, "x": 1}, PARAMETERS) == [1, 2]

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ([1], "'count'"),
            ([1, 2, 3], "takes 2: x, count"),
            ({"x": 1}, "'count'"),
            ({"x": 1, "count": 2, "cuont": 3}, "did you mean 'count'"),
            (np.zeros(2), "ndarray"),
            ("ab", "str"),
            (None, "NoneType"),
        ],
    )
    def test_what_is_wrong_is_named(self, given, said):
        with pytest.raises(ArgumentError, match=said):
            arrange(given, PARAMETERS)


class TestMemory:
    def test_arrays_and_buffers_are_memory_and_none_is_null(self):
        array, buffer = np.zeros((2, 3)), Buffer(8)
        assert memory(array, "x") is array
        assert memory(buffer, "x") is buffer
        assert memory(None, "x") is None

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (np.zeros((4, 4))[:, 1], "C-contiguous"),
            (np.array(1), "zero-dimensional"),
            (np.array([None]), "Python objects"),
            (np.ones(4, ">f4"), "big-endian"),
            (np.ones(4, [("a", "u1"), ("b", ">u4")]), "big-endian"),
            (5, "int"),
            ([1, 2], "list"),
            (np.float32(1), "float32"),
        ],
    )
    def test_other_values_are_refused_by_name(self, value, said):
        with pytest.raises(ArgumentError, match=f"'x'.*{said}"):
            memory(value, "x")

    def test_a_read_only_array_is_refused_where_the_kernel_writes(self):
        array = np.zeros(4)
        array.flags.writeable = False
        assert memory(array, "x") is array
        with pytest.raises(ArgumentError, match=r"'x'.*read-only"):
            memory(array, "x", written=True)


class TestValues:
    @pytest.mark.parametrize(
        ("value", "kind", "data"),
        [
            (-2, INT, b"\xfe\xff\xff\xff"),
            (True, INT, b"\1\0\0\0"),
            (3.0, INT, b"\3\0\0\0"),
            (2**64 - 1, ULONG, b"\xff" * 8),
            (255, UCHAR, b"\xff"),
            (1, FLOAT, b"\0\0\x80\x3f"),
            (1.5, HALF, b"\x00\x3e"),
            (float("inf"), FLOAT, b"\0\0\x80\x7f"),
            (np.int32(7), INT, b"\7\0\0\0"),
            (np.array(7, np.int32), INT, b"\7\0\0\0"),
            (np.float32(1), FLOAT, b"\0\0\x80\x3f"),
            (np.float32(1), TYPEDEF, b"\0\0\x80\x3f"),
            (b"abcd", TYPEDEF, b"abcd"),
            (b"abcdefghijkl", STRUCT, b"abcdefghijkl"),
            (np.zeros(1, "i4,f4,u4")[0], STRUCT, bytes(12)),
            (1.0, BF, b"\x80\x3f"),
            (np.float32(-2), BF, b"\x00\xc0"),
        ],
    )
    def test_numbers_have_the_parameters_type(self, value, kind, data):
        assert value_bytes(value, "n", kind) == data

    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            (2**31, INT),
            (-1, ULONG),
            (256, UCHAR),
            (2.5, INT),
            (float("nan"), INT),
            (1e39, FLOAT),
            (10**400, FLOAT),
            (65520.0, HALF),
            (3.4e38, BF),
            (np.int64(1), INT),
            (np.uint32(1), INT),
            (np.float64(1), FLOAT),
            (np.bool_(True), INT),
            (np.zeros(1, np.int32), INT),
            (None, INT),
            ("1", INT),
            (1, TYPEDEF),
            (1.0, STRUCT),
            (b"abc", STRUCT),
            (np.float64(1), TYPEDEF),
            (Buffer(4), INT),
        ],
    )
    def test_other_values_are_refused_by_name(self, value, kind):
        with pytest.raises(ArgumentError, match="'n'"):
            value_bytes(value, "n", kind)

    @given(st.integers(-(2**31), 2**31 - 1))
    def test_integers_keep_their_value(self, value):
        assert int.from_bytes(value_bytes(value, "n", INT), "little", signed=True) == value

    @given(st.floats(-(2.0**120), 2.0**120, width=32))
    def test_bf_is_the_nearest_even(self, value):
        bits = int.from_bytes(value_bytes(value, "n", BF), "little")
        neighbours = [
            np.array((n & 0xFFFF) << 16, np.uint32).view(np.float32) for n in (bits - 1, bits + 1)
        ]
        found = float(np.array(bits << 16, np.uint32).view(np.float32))
        for other in map(float, neighbours):
            if np.isfinite(other):
                assert abs(found - value) <= abs(other - value)


def test_an_array_of_a_structs_size_is_told_how_it_can_be_passed():
    with pytest.raises(ArgumentError, match=r"\(3,\), expected bytes .*; pass array\.tobytes\(\)"):
        value_bytes(np.zeros(3, np.int32), "n", STRUCT)
    with pytest.raises(ArgumentError, match=r"12 bytes \(struct S\)$"):
        value_bytes(np.zeros(4, np.int32), "n", STRUCT)
