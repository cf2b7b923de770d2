"""What kernels print: formats, records of the buffer, and where the text goes."""

from __future__ import annotations

import math
import struct
from io import BytesIO, StringIO, TextIOWrapper

import numpy as np
import pytest

from visim.errors import ArgumentError
from visim.machine.memory import Memory
from visim.runtime.printf.formats import parse_format, show_record
from visim.runtime.printf.records import (
    BadRecord,
    PrintedText,
    PrintfBuffer,
    current_receiver,
    printf_to,
)


def show(template: str, *values: object) -> str:
    return show_record(parse_format(template.encode()), values).decode()


class TestFormats:
    """OpenCL C 6.13.13; expected texts are those of the C standard's printf."""

    @pytest.mark.parametrize(
        ("template", "value", "text"),
        [
            ("%d", -5, "-5"),
            ("%i|", 7, "7|"),
            ("%u", -1, "4294967295"),
            ("%x %%", 255, "ff %"),
            ("%#X", 255, "0XFF"),
            ("%#x", 0, "0"),
            ("%#o", 8, "010"),
            ("%#o", 0, "0"),
            ("%+d", 3, "+3"),
            ("% d", 3, " 3"),
            ("%05d", -42, "-0042"),
            ("%-5d|", 42, "42   |"),
            ("%-05d|", 42, "42   |"),
            ("%08.3d", 42, "     042"),
            ("%.0d|", 0, "|"),
            ("%+.0d", 0, "+"),
            ("%#.3x", 10, "0x00a"),
            ("%hhd", 300, "44"),
            ("%hhd", 200, "-56"),
            ("%hd", 70000, "4464"),
            ("%hhx", -1, "ff"),
            ("%d", 5000000000, "705032704"),
            ("%ld", -5000000000, "-5000000000"),
            ("%lu", -1, "18446744073709551615"),
            ("%c", 65, "A"),
            ("%3c|", 65, "  A|"),
            ("%s", b"text", "text"),
            ("%.2s", b"text", "te"),
            ("%6s|", b"text", "  text|"),
            ("%-6s|", b"text", "text  |"),
            ("%s", None, "(null)"),
            ("%p", 0x1234, "0x1234"),
            ("%10p", 0x1234, "    0x1234"),
            ("%p", 0, "(nil)"),
        ],
    )
    def test_integers_and_strings(self, template, value, text):
        assert show(template, value) == text

    @pytest.mark.parametrize(
        ("template", "value", "text"),
        [
            ("%f", 1.5, "1.500000"),
            ("%.2f", 3.14159, "3.14"),
            ("%.0f", 2.5, "2"),
            ("%#.0f", 2.5, "2."),
            ("%+f", 1.5, "+1.500000"),
            ("%08.2f", -1.5, "-0001.50"),
            ("%10.3e", 31415.9, " 3.142e+04"),
            ("%E", 1.5, "1.500000E+00"),
            ("%g", 2.5, "2.5"),
            ("%#g", 2.0, "2.00000"),
            ("%G", 1e-10, "1E-10"),
            ("%5.1f", -0.0, " -0.0"),
            ("%g", -0.0, "-0"),
            ("%a", -0.0, "-0x0p+0"),
            ("%f", math.inf, "inf"),
            ("%F", -math.inf, "-INF"),
            ("%08f", math.inf, "     inf"),
            ("%+e", math.nan, "+nan"),
            ("%f", math.copysign(math.nan, -1), "-nan"),
            ("%a", 1.0, "0x1p+0"),
            ("%a", 0.0, "0x0p+0"),
            ("%a", -1.5, "-0x1.8p+0"),
            ("%A", 1.5, "0X1.8P+0"),
            ("%.3a", 1.9990234375, "0x1.ffcp+0"),
            ("%.0a", 1.5, "0x2p+0"),
            ("%.0a", 1.25, "0x1p+0"),
            ("%.2a", 1.0, "0x1.00p+0"),
            ("%#a", 1.0, "0x1.p+0"),
            ("%012a", 1.5, "0x00001.8p+0"),
            ("%a", 5e-324, "0x0.0000000000001p-1022"),
            ("%a", 2.0**-1022, "0x1p-1022"),
        ],
    )
    def test_floating_point(self, template, value, text):
        assert show(template, value) == text

    def test_a_vector_has_commas_and_each_element_the_whole_format(self):
        assert show("%v4hld", (1, -2, 3, 4)) == "1,-2,3,4"
        assert show("<%05.1v2hlf>", (1.25, 2.5)) == "<001.2,002.5>"
        assert show("%-3v3hhd|", (1, 2, -3)) == "1  ,2  ,-3 |"
        assert show("%#v2hlx", (1, 255)) == "0x1,0xff"
        assert show("%v2ld", (-(2**40), 1)) == "-1099511627776,1"

    def test_what_is_no_conversion_is_printed_as_it_stands(self):
        assert show("100%", 1) == "100%"
        assert show("%n %lld %*d %v5d") == "%n %lld %*d %v5d"

    def test_a_backslash_is_a_backslash(self):
        assert show("a\\nb") == "a\\nb"

    def test_a_conversion_without_a_value_prints_nothing(self):
        assert show("%d,%d;", 1) == "1,;"


class Buffer:
    """A printf buffer and memory with strings, filled by hand."""

    def __init__(self, size=4096):
        self.data = np.zeros(size, np.uint8)
        self.memory = Memory()
        self.kept = []
        self.printf = PrintfBuffer(self.data, self.memory)
        self.printf.reset()

    def string(self, text: bytes) -> int:
        array = np.frombuffer(text + b"\0", np.uint8)
        self.kept.append(array)
        return self.memory.add(array, "strings")

    def put(self, data: bytes) -> None:
        head = self.data[:4].view(np.uint32)
        start = int(head[0])
        head[0] += len(data)
        room = self.data[start : start + len(data)]
        if room.size == len(data):
            room[:] = np.frombuffer(data, np.uint8)
        elif room.size >= 4:
            room[:4] = 0xFF

    def record(self, template: bytes, *values: bytes) -> None:
        self.put(struct.pack("<Q", self.string(template)) + b"".join(values))


class TestRecords:
    """docs/kernel-abi.md, printf: types 1 to 14 and their payloads."""

    def test_each_type_of_value(self):
        buffer = Buffer()
        text = buffer.string(b"word")
        buffer.record(
            b"%hhd %hd %d %f %s %ld %p %f\n",
            struct.pack("<Ibxxx", 1, -1),
            struct.pack("<Ihxx", 2, -2),
            struct.pack("<Ii", 3, -3),
            struct.pack("<If", 4, 0.5),
            struct.pack("<IQ", 5, text),
            struct.pack("<Iq", 6, -6),
            struct.pack("<IQ", 7, 0x77),
            struct.pack("<Id", 8, 0.25),
        )
        assert buffer.printf.read().text == b"-1 -2 -3 0.500000 word -6 0x77 0.250000\n"

    def test_vectors_of_small_elements_are_padded(self):
        buffer = Buffer()
        buffer.record(
            b"%v4hhd %v3hd %v2hld %v2ld %v2hlf %v2lf|",
            struct.pack("<II4b12x", 9, 4, 1, 2, 3, -4),
            struct.pack("<II3h6x", 10, 3, 1, 2, -3),
            struct.pack("<II2i", 11, 2, 7, -8),
            struct.pack("<II2q", 12, 2, 9, -10),
            struct.pack("<II2f", 13, 2, 1, 2),
            struct.pack("<II2d", 14, 2, 3, 4),
        )
        buffer.record(b"next")
        expected = b"1,2,3,-4 1,2,-3 7,-8 9,-10 1.000000,2.000000 3.000000,4.000000|next"
        assert buffer.printf.read().text == expected

    def test_a_string_that_comes_as_a_pointer(self):
        buffer = Buffer()
        buffer.record(
            b"%s %s", struct.pack("<IQ", 7, 0), struct.pack("<IQ", 7, buffer.string(b"x"))
        )
        assert buffer.printf.read().text == b"(null) x"

    def test_values_too_few_or_too_many_do_not_shift_what_follows(self):
        buffer = Buffer()
        buffer.record(b"%d %d;", struct.pack("<Ii", 3, 1))
        buffer.record(b"%d;", *(struct.pack("<Ii", 3, i) for i in (4, 5, 6)))
        buffer.record(b"end")
        assert buffer.printf.read().text == b"1 ;4;end"

    def test_what_does_not_fit_is_counted(self):
        buffer = Buffer(4 + 2 * 16 + 8)
        for i in range(4):
            buffer.record(b"%d\n", struct.pack("<Iixxxx", 3, i)[:8])
        found = buffer.printf.read()
        assert found.text == b"0\n1\n"
        assert found.lost_bytes == 2 * 16

    def test_a_buffer_that_the_kernel_has_overwritten_is_refused(self):
        buffer = Buffer()
        buffer.put(struct.pack("<Q", 0x1234))
        with pytest.raises(BadRecord, match="0x1234"):
            buffer.printf.read()
        buffer = Buffer()
        buffer.record(b"%ld", struct.pack("<II", 6, 1))
        with pytest.raises(BadRecord, match="beyond its end"):
            buffer.printf.read()


class TestText:
    def test_it_is_handed_on_in_pieces_and_kept(self):
        buffer, got = Buffer(), []
        printed = PrintedText(buffer.printf, got.append)
        buffer.record(b"one ")
        assert printed.drain() == 8
        assert printed.drain() == 0
        buffer.record(b"two")
        printed.drain()
        assert got == ["one ", "two"]
        assert printed.text == "one two"

    def test_it_is_utf_8_also_across_records(self):
        buffer, got = Buffer(), []
        printed = PrintedText(buffer.printf, got.append)
        for byte in "é".encode():
            buffer.record(b"%c", struct.pack("<II", 3, byte))
            printed.drain()
        assert printed.text == "é"

    def test_a_receiver_is_a_function(self):
        with pytest.raises(ArgumentError, match=r"receiver: expected a function .* found int"):
            printf_to(5)

    def test_what_the_output_has_no_characters_for_is_escaped(self, monkeypatch):
        out = TextIOWrapper(BytesIO(), encoding="latin-1")
        monkeypatch.setattr("sys.stdout", out)
        current_receiver()("\u2580 \xe9")
        assert out.buffer.getvalue() == b"\\u2580 \xe9"

    def test_printf_to_holds_inside_its_block(self, monkeypatch):
        out, first, second = StringIO(), [], []
        monkeypatch.setattr("sys.stdout", out)
        with printf_to(first.append):
            current_receiver()("a")
            with printf_to(second.append):
                current_receiver()("b")
            current_receiver()("c")
        current_receiver()("d")
        assert (first, second, out.getvalue()) == (["a", "c"], ["b"], "d")
