"""Random OpenCL C programs without undefined behaviour: the same seed gives the same program.

Integer arithmetic that could overflow is done in unsigned types, divisors are made odd, indices
are masked, loops have a bound, barriers stand where the control flow is uniform, and a NaN never
reaches the output with its payload. So every implementation has to give the same bytes.

The expressions are in `tests.opencl.expressions`; this module makes statements, functions and
kernels of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from tests.opencl.case import Launch, Values
from tests.opencl.expressions import (
    FLOAT,
    INT,
    INTEGERS,
    UINT,
    Expressions,
    Saved,
    Scope,
    Type,
    literal,
    random_type,
)

RAW_COLUMNS = 8
BYTES_PER_ITEM = 128
INPUT_WORDS = 256
COUNTERS = 16
ARRAY = 8
ATOMICS = ("atomic_add", "atomic_sub", "atomic_xor", "atomic_min", "atomic_max")
GEOMETRIES = (
    ((64,), (64,)),
    ((96,), (32,)),
    ((66,), (33,)),
    ((70,), (7,)),
    ((40,), (1,)),
    ((100,), (100,)),
    ((10, 9), (5, 9)),
    ((16, 6), (8, 3)),
    ((6, 4, 3), (3, 4, 1)),
    ((5, 4, 6), (5, 2, 3)),
)

PRELUDE = """\
#pragma OPENCL FP_CONTRACT OFF
#define NUMBER(T) T number_##T(T x) { return select(x, (T)(0.0f), isnan(x)); }
#define BITS(T, U) U bits_##T(T x) { return select(as_##U(x), (U)(0x7fc00000u), isnan(x)); }
NUMBER(float) NUMBER(float2) NUMBER(float3) NUMBER(float4) NUMBER(float8) NUMBER(float16)
BITS(float, uint) BITS(float2, uint2) BITS(float3, uint3) BITS(float4, uint4)
BITS(float8, uint8) BITS(float16, uint16)
ulong mix(ulong sum, ulong value) {
    sum = (sum ^ value) * 0x9E3779B97F4A7C15UL;
    return sum ^ (sum >> 29);
}
"""


@dataclass(frozen=True)
class Generated:
    """A program with its single launch of the kernel `test`."""

    seed: int
    source: str
    options: str
    launch: Launch

    def values(self) -> Values:
        """Return fresh buffers: outputs of zeros and random input words."""
        items = int(np.prod(self.launch.global_size))
        draw = np.random.default_rng(self.seed)
        words = draw.integers(0, 2**32, INPUT_WORDS, dtype=np.uint32)
        words[draw.integers(0, INPUT_WORDS, INPUT_WORDS // 3)] >>= np.uint32(24)
        words[draw.integers(0, INPUT_WORDS, 16)] = 0xFFFFFFFF
        return {
            "sums": np.zeros(items, np.uint64),
            "raw": np.zeros((items, RAW_COLUMNS), np.uint64),
            "bytes": np.zeros((items, BYTES_PER_ITEM), np.uint8),
            "counters": np.zeros(COUNTERS, np.uint32),
            "input": words,
            "small": np.int8(draw.integers(-128, 128)),
            "wide": np.uint64(draw.integers(0, 2**63)),
            "real": np.float32(draw.integers(-1000, 1000) / 8),
        }


def generate(seed: int) -> Generated:
    """Return the program of a seed."""
    return _Program(seed).generated()


class _Program:
    """Writes one program: tables, structs, functions, then the kernel."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.scope = Scope()
        self.make = Expressions(self.random, self.scope)
        self.lines: list[str] = []
        self.indent = 0
        self.names = 0

    def generated(self) -> Generated:
        whole, local = self.random.choice(GEOMETRIES)
        offset = None
        if self.random.random() < 0.3:
            offset = tuple(self.random.randrange(1, 9) for _ in whole)
        self._tables()
        self._structs()
        for _ in range(self.random.randrange(4)):
            self._function()
        self._kernel(int(np.prod(local)))
        arguments = "sums raw bytes counters input small wide real"
        launch = Launch("test", arguments, whole, local, offset)
        exact = self.random.random() < 0.3
        options = "-cl-fp32-correctly-rounded-divide-sqrt" if exact else ""
        source = PRELUDE + "\n".join(self.lines) + "\n"
        return Generated(self.seed, source, options, launch)

    # Text

    def _line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def _open(self, head: str) -> Saved:
        self._line(head + " {")
        self.indent += 1
        return self.scope.save()

    def _close(self, saved: Saved, tail: str = "}") -> None:
        self.scope.restore(saved)
        self.indent -= 1
        self._line(tail)

    def _name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    # Program scope

    def _tables(self) -> None:
        for _ in range(self.random.randrange(1, 4)):
            kind = random_type(self.random, widths=(1, 1, 1, 2, 4))
            name = self._name("table")
            entries = ", ".join(literal(kind, self.random) for _ in range(ARRAY))
            self._line(f"constant {kind.name} {name}[{ARRAY}] = {{{entries}}};")
            self.scope.tables.append((kind, name))

    def _structs(self) -> None:
        for _ in range(self.random.randrange(3)):
            name = self._name("Record")
            kinds = [random_type(self.random) for _ in range(self.random.randrange(2, 6))]
            fields = [(kind, f"m{i}") for i, kind in enumerate(kinds)]
            body = " ".join(f"{kind.name} {field};" for kind, field in fields)
            self._line(f"typedef struct {{ {body} }} {name};")
            self.scope.structs.append((name, tuple(fields)))

    def _function(self) -> None:
        result = random_type(self.random)
        kinds = [random_type(self.random) for _ in range(self.random.randrange(1, 4))]
        parameters = [(kind, self._name("p")) for kind in kinds]
        name = self._name("function")
        noinline = "__attribute__((noinline)) " if self.random.random() < 0.5 else ""
        listed = ", ".join(f"{kind.name} {p}" for kind, p in parameters)
        outer = self.scope.save()
        arrays, self.scope.arrays = self.scope.arrays, []
        self._line(f"{noinline}{result.name} {name}({listed});")
        saved = self._open(f"{noinline}{result.name} {name}({listed})")
        for kind, parameter in parameters:
            self.scope.add(kind, parameter)
        self._body(self.random.randrange(2, 6), 2, result)
        self._line(f"return {self.make(result, 3)};")
        self._close(saved)
        self.scope.restore(outer)
        self.scope.arrays = arrays
        self.scope.functions.append((result, name, tuple(kinds)))

    # Kernel

    def _kernel(self, local_items: int) -> None:
        saved = self._open(
            "kernel void test(global ulong *sums, global ulong *raw, global uchar *bytes, "
            "global uint *counters, global const uint *input, char small, ulong wide, float real)"
        )
        self._line("const uint item = (uint)((get_global_id(2) - get_global_offset(2))")
        self._line("    * get_global_size(1) + get_global_id(1) - get_global_offset(1))")
        self._line("    * get_global_size(0) + get_global_id(0) - get_global_offset(0);")
        self._line("const uint lane = (uint)((get_local_id(2) * get_local_size(1)")
        self._line("    + get_local_id(1)) * get_local_size(0) + get_local_id(0));")
        self.scope.ids = True
        self.scope.add_constant(UINT, "item")
        self.scope.add_constant(UINT, "lane")
        self.scope.add_constant(Type("char", 1), "small")
        self.scope.add_constant(Type("ulong", 1), "wide")
        self.scope.add_constant(FLOAT, "real")
        shared = [self._shared(local_items) for _ in range(self.random.randrange(3))]
        self._inputs()
        self._line("ulong sum = 0;")
        for kind, name in shared:
            self._body(self.random.randrange(2, 5), 3, None)
            self._exchange(kind, name, local_items)
        self._body(self.random.randrange(3, 8), 3, None)
        if self.random.random() < 0.4:
            saved_branch = self._open(f"if ({self.make.condition(2)})")
            self._results()
            self._line("return;")
            self._close(saved_branch)
        self._body(self.random.randrange(1, 4), 3, None)
        self._results()
        self._close(saved)

    def _shared(self, local_items: int) -> tuple[Type, str]:
        kind, name = random_type(self.random, widths=(1, 1, 2, 3, 4, 8)), self._name("shared")
        self._line(f"local {kind.name} {name}[{local_items}];")
        return kind, name

    def _exchange(self, kind: Type, name: str, local_items: int) -> None:
        """Let each work-item read what another one of its group has written."""
        loop = None
        if self.random.random() < 0.4:
            counter = self._name("round")
            loop = self._open(f"for (int {counter} = 0; {counter} < 3; ++{counter})")
            self.scope.add_constant(INT, counter)
        self._line(f"{name}[lane] = {self.make(kind, 3)};")
        self._line("barrier(CLK_LOCAL_MEM_FENCE);")
        step = self.random.randrange(1, 40)
        target = self.random.choice(self.scope.writable(kind) or [""])
        value = f"{name}[(lane + {step}u) % {local_items}u]"
        if target:
            self._line(f"{target} = {value};")
        self._line(f"sum = mix(sum, {_integers(kind, value)[0]});")
        self._line("barrier(CLK_LOCAL_MEM_FENCE);")
        if loop is not None:
            self._close(loop)

    def _inputs(self) -> None:
        """Declare variables with values from the input buffer."""
        for _ in range(self.random.randrange(4, 9)):
            kind = random_type(self.random)
            name = self._name("v")
            words = max(1, kind.bits * kind.width // 32)
            start = self.random.randrange(64)
            place = (
                f"(item * {self.random.choice((1, 1, 3, 5))}u + {start}u) & {(248 - words) & ~1}u"
            )
            if kind.base == "float":
                source = kind.with_base(self.random.choice(("int", "uint", "short")))
                loaded = _load(source, place)
                value = f"convert_{kind.name}({loaded}) * {self.random.choice((1, 0.125, 3.1))}f"
                value = value.replace("* 1f", "* 1.0f").replace("* 3.1f", "* 0x1.8ccccdp+1f")
            else:
                value = _load(kind, place)
            self._line(f"{kind.name} {name} = {value};")
            self.scope.add(kind, name)

    def _results(self) -> None:
        """Write everything in scope: a checksum, some raw values and a vector store."""
        kinds = [(kind, name) for kind in self.scope.kinds() for name in self.scope.readable(kind)]
        for kind, name in kinds:
            for value in _integers(kind, name):
                self._line(f"sum = mix(sum, {value});")
        for kind, name in self.scope.arrays:
            values = [value for i in range(ARRAY) for value in _integers(kind, f"{name}[{i}]")[:1]]
            for value in values:
                self._line(f"sum = mix(sum, {value});")
        self._line("sums[item] = sum;")
        values = [value for kind, name in kinds for value in _integers(kind, name)[:2]]
        for column, value in enumerate(self.random.sample(values, min(RAW_COLUMNS, len(values)))):
            self._line(f"raw[item * {RAW_COLUMNS} + {column}] = {value};")
        kind, name = self.random.choice([pair for pair in kinds if pair[0].base != "float"])
        pointer = f"(global {kind.base} *)(bytes + item * {BYTES_PER_ITEM})"
        if kind.width == 1:
            self._line(f"*({pointer}) = {name};")
        else:
            self._line(f"vstore{kind.width}({name}, 0, {pointer});")

    # Statements

    def _body(self, count: int, depth: int, result: Type | None) -> None:
        for _ in range(count):
            self._statement(depth, result, in_loop=False)

    def _block(self, head: str, depth: int, result: Type | None, *, in_loop: bool) -> None:
        saved = self._open(head)
        for _ in range(self.random.randrange(1, 4)):
            self._statement(depth - 1, result, in_loop=in_loop)
        self._close(saved)

    def _statement(self, depth: int, result: Type | None, *, in_loop: bool) -> None:
        simple = (self._declare, self._assign, self._assign, self._store, self._record)
        if depth == 0 or self.random.random() < 0.5:
            self.random.choice(simple)()
            return
        kind = self.random.randrange(9)
        if kind < 3:
            self._if(depth, result, in_loop=in_loop)
        elif kind < 5:
            self._loop(depth, result)
        elif kind == 5:
            self._switch(depth, result)
        elif kind == 6 and in_loop:
            self._line(f"if ({self.make.condition(2)})")
            self._line(f"    {self.random.choice(('break', 'continue'))};")
        elif kind == 7 and result is not None:
            self._line(f"if ({self.make.condition(2)})")
            self._line(f"    return {self.make(result, 2)};")
        elif kind == 8 and result is None:
            self._atomic()
        else:
            self._assign()

    def _declare(self) -> None:
        kind, name = random_type(self.random), self._name("v")
        self._line(f"{kind.name} {name} = {self.make(kind, 3)};")
        self.scope.add(kind, name)

    def _assign(self) -> None:
        kinds = [kind for kind in self.scope.kinds() if self.scope.writable(kind)]
        if not kinds:
            self._declare()
            return
        kind = self.random.choice(kinds)
        name = self.random.choice(self.scope.writable(kind))
        if kind.width > 1 and self.random.random() < 0.3:
            lane = self.random.randrange(kind.width)
            self._line(f"{name}.s{lane:x} = {self.make(kind.scalar, 3)};")
        elif kind.base != "float" and self.random.random() < 0.3:
            operator = self.random.choice(("^=", "|=", "&="))
            self._line(f"{name} {operator} {self.make(kind, 3)};")
        else:
            self._line(f"{name} = {self.make(kind, 4)};")

    def _store(self) -> None:
        """Write an element of a private array, which is declared where there is none."""
        if not self.scope.arrays or self.random.random() < 0.2:
            kind, name = random_type(self.random, widths=(1, 1, 1, 2, 4)), self._name("array")
            # Intel's compiler for pvc misplaces the upper channels of 64-bit indexed registers.
            kind = kind.with_base("int") if kind.bits == 64 else kind
            self._line(f"{kind.name} {name}[{ARRAY}];")
            self._line(f"for (int i = 0; i < {ARRAY}; ++i)")
            self._line(f"    {name}[i] = {self.make(kind, 1)};")
            self.scope.arrays.append((kind, name))
            return
        kind, name = self.random.choice(self.scope.arrays)
        self._line(f"{name}[{self.make.index(ARRAY, 2)}] = {self.make(kind, 3)};")

    def _record(self) -> None:
        """Declare a struct, whose members are variables like others."""
        if not self.scope.structs:
            self._assign()
            return
        name, fields = self.random.choice(self.scope.structs)
        variable = self._name("record")
        values = ", ".join(self.make(kind, 2) for kind, _ in fields)
        self._line(f"{name} {variable} = {{{values}}};")
        for kind, field in fields:
            self.scope.add(kind, f"{variable}.{field}")

    def _atomic(self) -> None:
        function = self.random.choice(ATOMICS[:2])
        place = f"&counters[{self.make.index(COUNTERS, 1)}]"
        self._line(f"{function}({place}, {self.make(UINT, 2)});")

    def _if(self, depth: int, result: Type | None, *, in_loop: bool) -> None:
        head = f"if ({self.make.condition(3)})"
        self._block(head, depth, result, in_loop=in_loop)
        if self.random.random() < 0.5:
            self._block("else", depth, result, in_loop=in_loop)

    def _loop(self, depth: int, result: Type | None) -> None:
        counter, limit = self._name("i"), self.random.choice((1, 3, 7) if depth > 1 else (1, 3))
        bound = f"(int)({self.make(UINT, 2)} & {limit}u)"
        saved = self.scope.save()
        kind = self.random.randrange(3)
        if kind == 0:
            head, tail = f"for (int {counter} = 0; {counter} < {bound}; ++{counter})", "}"
        else:
            self._line(f"int {counter} = {bound};")
            test = f"{counter}-- > 0 && ({self.make.condition(2)})"
            head, tail = f"while ({test})", "}"
            if kind == 2:
                head, tail = "do", f"}} while ({test});"
        self.scope.add_constant(INT, counter)
        inner = self._open(head)
        for _ in range(self.random.randrange(1, 4)):
            self._statement(depth - 1, result, in_loop=True)
        self._close(inner, tail)
        self.scope.restore(saved)

    def _switch(self, depth: int, result: Type | None) -> None:
        kind = Type(self.random.choice(INTEGERS[:6]), 1)
        saved = self._open(f"switch ({self.make(kind, 2)} & 7)")
        for label in self.random.sample(range(8), self.random.randrange(1, 5)):
            self._line(f"case {label}: {{")
            inner = self.scope.save()
            self.indent += 1
            for _ in range(self.random.randrange(1, 3)):
                self._statement(depth - 1, result, in_loop=False)
            self._close(inner)
            if self.random.random() < 0.7:
                self._line("    break;")
        self._line("default:")
        self._line("    break;")
        self._close(saved)


def _load(kind: Type, place: str) -> str:
    pointer = f"(global const {kind.base} *)(input + ({place}))"
    return f"*({pointer})" if kind.width == 1 else f"vload{kind.width}(0, {pointer})"


def _integers(kind: Type, value: str) -> list[str]:
    """Return the components of a value, each as `ulong`."""
    parts = [value] if kind.width == 1 else [f"{value}.s{i:x}" for i in range(kind.width)]
    if kind.base == "float":
        parts = [f"bits_float({part})" for part in parts]
    return [f"(ulong){part}" for part in parts]
