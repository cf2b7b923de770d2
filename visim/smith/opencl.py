"""Random OpenCL programs that every implementation has to compute bit by bit the same way.

A program is a list of parts: statements, and blocks around them. Any sublist is a valid program
again, in which a block without its head is what was in it; so a program is reduced by leaving parts
out. Nothing in it depends on an implementation (OpenCL C 1.2, 6): arithmetic is unsigned or cannot
overflow, shifts and indices are masked, loops count, floats hold small integers and halves of them,
a work-item reads what no other one writes, except through a barrier that all of its group reach.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

GROUP, ITEMS = 32, 64
"""Work-items of a group, and of a launch."""
INPUT_WORDS = 256
"""Words that each work-item may read."""
OWN_WORDS = 8
"""Words that each work-item reads and writes alone."""
SUMS = ("add", "xor", "max")
"""Atomic functions; each has words of its own, so that their order does not matter."""
_SUM_WORDS = 16
KERNEL = "smith"
_NAMES = (*(f"u{k}" for k in range(4)), "w0", "w1", "v0", "v1")
_STORED_WORDS = 2
"""Words of the output for each variable and work-item."""
_OWN = len(_NAMES) * _STORED_WORDS * ITEMS
_SUMS = _OWN + OWN_WORDS * ITEMS
OUTPUT_WORDS = _SUMS + _SUM_WORDS * len(SUMS)
_DEEPEST = 3
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class Part:
    """A statement, or a block.

    Attributes:
        text: the statement, or the head of a block.
        number: tells parts apart.
        within: the numbers of the blocks around it, the outermost first.
        foot: what ends the block; None for a statement.
    """

    text: str
    number: int
    within: tuple[int, ...] = ()
    foot: str | None = None


def opencl_parts(seed: int, statements: int) -> list[Part]:
    """Return the parts of the program of a seed, with so many statements beside the blocks."""
    return _Writer(random.Random(f"opencl {seed}"), statements).parts


def source_of(parts: Sequence[Part]) -> str:
    """Return the program of some parts, of which it declares and stores what they name."""
    body = _body(parts)
    text = "\n".join(body)
    used = [name for name in _NAMES if re.search(rf"\b{name}\b", text)]
    counters = [f"k{depth}" for depth in range(_DEEPEST) if re.search(rf"\bk{depth}\b", text)]
    lines = [
        f"kernel __attribute__((reqd_work_group_size({GROUP}, 1, 1)))",
        f"void {KERNEL}(global const uint *in, global uint *out) {{",
        *([f"{_INDENT}local uint tile[{GROUP}];"] if "tile" in text else []),
        f"{_INDENT}uint i = get_global_id(0), l = get_local_id(0);",
        *(f"{_INDENT}uint {name} = 0u;" for name in counters),
        *(f"{_INDENT}{_LOADS[name[0]].format(name=name, **_words(name))}" for name in used),
        *body,
        *(f"{_INDENT}{_STORES[name[0]].format(name=name, **_stored(name))}" for name in used),
        "}",
    ]
    return "".join(f"{line}\n" for line in lines)


def place_of(word: int) -> str:
    """Return what a word of the output is."""
    if word >= _SUMS:
        kind, index = divmod(word - _SUMS, _SUM_WORDS)
        return f"word {index} of atomic_{SUMS[kind]}"
    if word >= _OWN:
        item, index = divmod(word - _OWN, OWN_WORDS)
        return f"own word {index} of work-item {item}"
    variable, item = divmod(word, ITEMS)
    return f"{_NAMES[variable // _STORED_WORDS]} of work-item {item}"


_LOADS = {
    "u": "uint {name} = in[(i + {first}u) & 255u];",
    "w": "ulong {name} = upsample(in[(i + {first}u) & 255u], in[(i + {second}u) & 255u]);",
    "v": "uchar4 {name} = as_uchar4(in[(i + {first}u) & 255u]);",
}
_STORES = {
    "u": "out[{first}u + i] = {name};",
    "w": "out[{first}u + i] = (uint){name}, out[{second}u + i] = (uint)({name} >> 32);",
    "v": "out[{first}u + i] = as_uint({name});",
}


def _words(name: str) -> dict[str, int]:
    place = _NAMES.index(name)
    return {"first": 29 * place, "second": 29 * place + 113}


def _stored(name: str) -> dict[str, int]:
    first = _NAMES.index(name) * _STORED_WORDS * ITEMS
    return {"first": first, "second": first + ITEMS}


def _body(parts: Sequence[Part]) -> list[str]:
    kept = {part.number for part in parts}
    lines: list[str] = []
    blocks: list[Part] = []
    for part in parts:
        within = [number for number in part.within if number in kept]
        while len(blocks) > len(within) or (blocks and blocks[-1].number != within[-1]):
            lines.append(f"{_INDENT * len(blocks)}{blocks.pop().foot}")
        lines.append(f"{_INDENT * (len(blocks) + 1)}{part.text}")
        if part.foot is not None:
            blocks.append(part)
    while blocks:
        lines.append(f"{_INDENT * len(blocks)}{blocks.pop().foot}")
    return lines


_UINT = (
    *("{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} ^ {b}", "{a} & {b}", "{a} | {b}", "~{a}"),
    *("{a} << ({b} & 31u)", "{a} >> ({b} & 31u)", "rotate({a}, {b})", "{a} * {n}u + {b}"),
    *("{a} / ({b} | 1u)", "{a} % ({b} | 1u)", "{a} / {n}u", "{a} % {n}u"),
    *(
        "mul_hi({a}, {b})",
        "mad_hi({a}, {b}, {c})",
        "clz({a})",
        "popcount({a})",
        "abs_diff({a}, {b})",
    ),
    *("add_sat({a}, {b})", "sub_sat({a}, {b})", "hadd({a}, {b})", "rhadd({a}, {b})"),
    *("min({a}, {b})", "max({a}, {b})", "bitselect({a}, {b}, {c})", "{a} < {b} ? {c} : {a}"),
    *("mul24({a} & 0xffffffu, {b} & 0xffffffu)", "select({a}, {b}, {c})", "(uint)({a} == {b})"),
    # Signed values: they come from unsigned ones and cannot overflow.
    *("as_uint(as_int({a}) >> ({b} & 31u))", "as_uint(max(as_int({a}), as_int({b})))"),
    *(
        "as_uint(as_int({a}) / as_int(({b} & 255u) | 1u))",
        "as_uint(mul_hi(as_int({a}), as_int({b})))",
    ),
    *(
        "as_uint(as_int({a}) % as_int(({b} & 255u) | 1u))",
        "as_uint(add_sat(as_int({a}), as_int({b})))",
    ),
    *("as_uint(sub_sat(as_int({a}), as_int({b})))", "as_uint(hadd(as_int({a}), as_int({b})))"),
    *(
        "abs(as_int({a} | 1u))",  # that of the least number is one, PoCL 3.1 takes it for undefined
        "as_int({a}) < as_int({b}) ? {a} : {c}",
        "as_uint((int)as_short((ushort){a}))",
    ),
    *("as_uint((int)as_char((uchar){a}))", "(uint)convert_uchar_sat(as_int({a}))"),
    *("as_uint((int)convert_short_sat(as_int({a})))", "as_uint(convert_int_sat({a}))"),
    # Other types.
    *(
        "(uint){w}",
        "(uint)({w} >> 32)",
        "as_uint({v})",
        "{v}.x * {n}u + {v}.w",
        "popcount((uint)clz({w}))",
    ),
    *("upsample((ushort){a}, (ushort){b})", "(uint)any({v} > (uchar4)({n}))", "in[{a} & 255u]"),
    # Floats: integers of less than 24 bits, and their halves and quarters, are exact.
    "convert_uint(convert_float({a} & 255u) * convert_float({b} & 255u) + 5.0f)",
    "convert_uint(mad(convert_float({a} & 255u), 3.0f, convert_float({c} & 255u)))",
    "convert_uint(fma(convert_float({a} & 255u), convert_float({b} & 255u), 3.0f))",
    "convert_uint(fmax(convert_float({a} >> 8), convert_float({b} >> 9)))",
    "convert_uint_rte(convert_float({a} & 0xffffu) * 0.25f)",
    "convert_uint(floor(convert_float({a} & 0xffffu) * 0.5f))",
    "convert_uint(rint(convert_float({a} & 0xffffu) * 0.5f))",
    "convert_uint(fabs(convert_float({a} & 0xffffu) - convert_float({b} & 0xffffu)))",
    "as_uint(convert_float({a}))",
)
_ULONG = (
    *("{w} + {x}", "{w} - {x}", "{w} * {x}", "{w} ^ {x}", "{w} & {x}", "{w} | {x}", "~{w}"),
    *("{w} << ({a} & 63u)", "{w} >> ({a} & 63u)", "rotate({w}, (ulong){a})", "{w} * {n}ul + {a}"),
    *("{w} / ({x} | 1ul)", "{w} % ({x} | 1ul)", "{w} / {n}ul", "mul_hi({w}, {x})", "clz({w})"),
    *(
        "min({w}, {x})",
        "max({w}, {x})",
        "{w} < {x} ? {w} : {a}",
        "upsample({a}, {b})",
        "popcount({w})",
    ),
    *("(ulong){a} * {b}", "as_ulong(as_long({w}) >> ({a} & 63u))", "as_ulong((long)as_int({a}))"),
    *("add_sat({w}, {x})", "sub_sat({w}, {x})", "abs_diff({w}, {x})", "hadd({w}, {x})"),
)
_UCHAR4 = (
    *("{v} + {z}", "{v} - {z}", "{v} * {z}", "{v} ^ {z}", "{v} & {z}", "~{v}", "{v}.wzyx"),
    *("{v}.xxzz + {z}.yyww", "{v} << (uchar4)({a} & 7u)", "{v} >> (uchar4)({a} & 7u)"),
    *("add_sat({v}, {z})", "sub_sat({v}, {z})", "hadd({v}, {z})", "abs_diff({v}, {z})"),
    *("min({v}, {z})", "max({v}, {z})", "rotate({v}, {z})", "mul_hi({v}, {z})", "as_uchar4({a})"),
    *(
        "select({v}, {z}, (uchar4)((uchar){a}))",
        "convert_uchar4_sat(convert_short4({v}) - (short4)(9))",
    ),
    *(
        "as_uchar4(as_char4({v}) >> (char4)(3))",
        "bitselect({v}, {z}, as_uchar4({a}))",
        "popcount({v})",
    ),
)
_VALUES = {"u": _UINT, "w": _ULONG, "v": _UCHAR4}
_KINDS = "uuuuuwwv"
"""How often a variable of each type is assigned."""
_CONDITIONS = (
    *(
        "{a} < {b}",
        "({a} & {n}u) == 0u",
        "as_int({a}) > as_int({b})",
        "{w} > {x}",
        "(l & 3u) != 1u",
    ),
    *("l < {n}u", "all({v} > {z})", "{a} > {b} && {c} > {n}u", "(i ^ {a}) & 1u"),
)
_MEMORY = (
    "out[{own}u + i * 8u + ({a} & 7u)] = {b};",
    "out[{own}u + i * 8u + ({a} & 7u)] += {b};",
    "{t} ^= out[{own}u + i * 8u + ({a} & 7u)];",
    "atomic_add(out + {add}u + ({a} & 15u), {b});",
    "atomic_xor(out + {xor}u + ({a} & 15u), {b});",
    "atomic_max(out + {max}u + ({a} & 15u), {b});",
    "switch ({a} & 3u) {{ case 0u: {t} += {b}; break; case 1u: {t} ^= {c}; case 2u: {t} *= 5u; }}",
)
_BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"
_EXCHANGES = (
    f"tile[l] = {{a}}; {_BARRIER} {{t}} += tile[(l + {{n}}u) & {GROUP - 1}u]; {_BARRIER}",
    f"tile[l ^ 5u] = {{a}}; {_BARRIER} {{t}} ^= tile[{{b}} & {GROUP - 1}u]; {_BARRIER}",
    f"tile[l] = 0u; {_BARRIER} atomic_add(tile + ({{a}} & 7u), {{b}}); {_BARRIER} "
    f"{{t}} ^= tile[l & 7u]; {_BARRIER}",
)
"""One statement each: without one of its barriers a program would have a race."""
_UNIFORM = ("for ({k} = 0u; {k} < {turns}u; ++{k}) {{", "}}")
_DIVERGENT = (
    ("if ({condition}) {{", "}}"),
    ("if ({condition}) {{", "}} else {{ {t} += {n}u; }}"),
    ("for ({k} = 0u; {k} < ({a} & 7u); ++{k}) {{", "}}"),
    ("for ({k} = 0u; {k} < {turns}u; ++{k}) {{ if ({condition}) continue;", "}}"),
    ("for ({k} = 0u; {k} < {turns}u; ++{k}) {{", "if ({condition}) break; }}"),
    ("{k} = 0u; do {{", "}} while (++{k} < ({a} & 3u));"),
)
"""Heads and feet; a jump belongs to its loop, so that none is left without one."""


class _Writer:
    def __init__(self, choose: random.Random, statements: int) -> None:
        self._choose = choose
        self._left = statements
        self.parts: list[Part] = []
        while self._left:
            self._write((), is_uniform=True)

    def _write(self, within: tuple[int, ...], *, is_uniform: bool) -> None:
        """Write a statement, or a block, in which all work-items of a group are if `is_uniform`."""
        if len(within) < _DEEPEST and self._choose.random() < 0.25:
            self._block(within, is_uniform=is_uniform)
            return
        self._left -= 1
        kind = self._choose.random()
        if kind < 0.12 and is_uniform:
            self._add(self._choose.choice(_EXCHANGES), within)
        elif kind < 0.3:
            self._add(self._choose.choice(_MEMORY), within)
        else:
            target = self._choose.choice(_KINDS)
            value = self._choose.choice(_VALUES[target])
            self._add(f"{self._variable(target)} = {value};", within)

    def _block(self, within: tuple[int, ...], *, is_uniform: bool) -> None:
        stays_uniform = is_uniform and self._choose.random() < 0.4
        head, foot = _UNIFORM if stays_uniform else self._choose.choice(_DIVERGENT)
        counter = f"k{len(within)}"
        number = self._add(head, within, foot=foot, counter=counter)
        for _ in range(min(self._left, self._choose.randint(1, 4))):
            if self._left:
                self._write((*within, number), is_uniform=stays_uniform)

    def _add(
        self, text: str, within: tuple[int, ...], *, foot: str | None = None, counter: str = ""
    ) -> int:
        number = len(self.parts)
        ends = None if foot is None else self._filled(foot, counter)
        self.parts.append(Part(self._filled(text, counter), number, within, ends))
        return number

    def _filled(self, text: str, counter: str) -> str:
        """Return a pattern with variables and numbers in it."""
        condition = ""
        if "{condition}" in text:
            condition = self._filled(self._choose.choice(_CONDITIONS), counter)
        names = {name: self._variable("u") for name in "abct"}
        wide = {name: self._variable("w") for name in "wx"}
        vectors = {name: self._variable("v") for name in "vz"}
        places = {name: _SUMS + _SUM_WORDS * k for k, name in enumerate(SUMS)}
        turns, number = self._choose.randint(1, 6), self._choose.randint(1, 31)
        return text.format(
            **names,
            **wide,
            **vectors,
            **places,
            condition=condition,
            k=counter,
            own=_OWN,
            turns=turns,
            n=number,
        )

    def _variable(self, kind: str) -> str:
        return self._choose.choice([name for name in _NAMES if name[0] == kind])
