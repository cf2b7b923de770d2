"""Random OpenCL C expressions of a wanted type whose value every implementation must agree on."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

SIGNED = ("char", "short", "int", "long")
UNSIGNED = ("uchar", "ushort", "uint", "ulong")
INTEGERS = (*SIGNED[:3], *UNSIGNED[:3], "long", "ulong")
BITS = dict(zip((*SIGNED, *UNSIGNED), (8, 16, 32, 64) * 2, strict=True)) | {"float": 32}
WIDTHS = (1, 1, 1, 1, 2, 3, 4, 8, 16)
ROUNDINGS = ("", "_rte", "_rtz", "_rtp", "_rtn")


@dataclass(frozen=True)
class Type:
    """A scalar (`width` 1) or vector type of OpenCL C."""

    base: str
    width: int

    @property
    def name(self) -> str:
        """The type's spelling."""
        return self.base if self.width == 1 else f"{self.base}{self.width}"

    @property
    def bits(self) -> int:
        """Bits of a component."""
        return BITS[self.base]

    @property
    def signed(self) -> bool:
        """Whether it is a signed integer type."""
        return self.base in SIGNED

    @property
    def scalar(self) -> Type:
        """The type of a component."""
        return replace(self, width=1)

    def with_base(self, base: str) -> Type:
        """The same width of another base type."""
        return replace(self, base=base)

    @property
    def as_unsigned(self) -> Type:
        """The unsigned integer type of the same shape."""
        return self.with_base(UNSIGNED[(8, 16, 32, 64).index(self.bits)])

    @property
    def as_signed(self) -> Type:
        """The signed integer type of the same shape; comparisons of vectors give it."""
        return self.with_base(SIGNED[(8, 16, 32, 64).index(self.bits)])

    @property
    def working(self) -> Type:
        """The unsigned type to do arithmetic in: promotion to `int` must not bring overflow."""
        if self.width == 1 and self.bits < 32:
            return UINT
        return self.as_unsigned


INT, UINT, FLOAT = Type("int", 1), Type("uint", 1), Type("float", 1)


def random_type(draw: random.Random, widths: tuple[int, ...] = WIDTHS) -> Type:
    """Return an integer type, or `float` once in five times."""
    base = "float" if draw.random() < 0.2 else draw.choice(INTEGERS)
    return Type(base, draw.choice(widths))


def literal(kind: Type, draw: random.Random) -> str:
    """Return a constant, often one at the edge of the type's range."""
    if kind.width > 1:
        parts = ", ".join(literal(kind.scalar, draw) for _ in range(kind.width))
        return f"(({kind.name})({parts}))"
    if kind.base == "float":
        sign = draw.choice(("", "-"))
        edges = ("0.0f", "1.0f", "0.5f", "0x1p-149f", "0x1p-126f", "0x1.fffffep+127f", "0x1p+31f")
        value = draw.choice((*edges, f"0x1.{draw.randrange(2**20):05x}p{draw.randrange(-20, 40)}f"))
        return f"({sign}{value})"
    bits = kind.bits
    power = 1 << draw.randrange(bits)
    edges = (0, 1, 2, -1, 1 << (bits - 1), (1 << (bits - 1)) - 1, power, power - 1, -power)
    value = draw.choice((*edges, draw.getrandbits(bits), draw.getrandbits(bits)))
    suffix = "ul" if bits == 64 else "u"
    return f"(({kind.name})0x{value & ((1 << bits) - 1):x}{suffix})"


Saved = tuple[dict[Type, list[str]], list[tuple[Type, str]]]


@dataclass
class Scope:
    """What an expression may name. Tables and arrays have 8 elements."""

    variables: dict[Type, list[str]] = field(default_factory=dict[Type, list[str]])
    constants: set[str] = field(default_factory=set[str])
    arrays: list[tuple[Type, str]] = field(default_factory=list[tuple[Type, str]])
    tables: list[tuple[Type, str]] = field(default_factory=list[tuple[Type, str]])
    functions: list[tuple[Type, str, tuple[Type, ...]]] = field(
        default_factory=list[tuple[Type, str, tuple[Type, ...]]]
    )
    structs: list[tuple[str, tuple[tuple[Type, str], ...]]] = field(
        default_factory=list[tuple[str, tuple[tuple[Type, str], ...]]]
    )
    ids: bool = False

    def add(self, kind: Type, name: str) -> None:
        """Add a variable that may be assigned."""
        self.variables.setdefault(kind, []).append(name)

    def add_constant(self, kind: Type, name: str) -> None:
        """Add a variable that may only be read."""
        self.constants.add(name)
        self.add(kind, name)

    def kinds(self) -> list[Type]:
        """Return the types that have variables."""
        return [kind for kind, names in self.variables.items() if names]

    def readable(self, kind: Type) -> list[str]:
        """Return the variables of a type."""
        return self.variables.get(kind, [])

    def writable(self, kind: Type) -> list[str]:
        """Return the variables of a type that may be assigned."""
        return [name for name in self.readable(kind) if name not in self.constants]

    def save(self) -> Saved:
        """Return what `restore` needs at the end of a block."""
        return {k: list(names) for k, names in self.variables.items()}, list(self.arrays)

    def restore(self, saved: Saved) -> None:
        """Forget what was added since `save`."""
        self.variables, self.arrays = {k: list(v) for k, v in saved[0].items()}, list(saved[1])


class Expressions:
    """Makes expressions from the variables of a scope."""

    def __init__(self, draw: random.Random, scope: Scope) -> None:
        self.random = draw
        self.scope = scope

    def __call__(self, kind: Type, depth: int) -> str:
        """Return an expression of exactly the type, nested at most `depth` deep."""
        if depth <= 0 or self.random.random() < 0.12:
            return self._leaf(kind)
        productions = self._float(kind) if kind.base == "float" else self._integer(kind)
        return self.random.choice(productions)(kind, depth - 1)

    def condition(self, depth: int) -> str:
        """Return an `int` that is a truth value."""
        return self._truth(INT, depth)

    def index(self, size: int, depth: int) -> str:
        """Return an index below `size`, a power of two."""
        return f"({self(UINT, depth)} & {size - 1}u)"

    # Leaves

    def _leaf(self, kind: Type) -> str:
        names = self.scope.readable(kind)
        if names and self.random.random() < 0.8:
            return self.random.choice(names)
        others = [k for k in self.scope.kinds() if k.width == 1 or k.width >= kind.width]
        if others and self.random.random() < 0.75:
            other = self.random.choice(others)
            return self._fitted(kind, other, self.random.choice(self.scope.readable(other)))
        if self.scope.ids and kind == UINT and self.random.random() < 0.5:
            which = ("global_id", "local_id", "group_id", "local_size", "num_groups")
            return f"(uint)get_{self.random.choice(which)}({self.random.randrange(3)})"
        return literal(kind, self.random)

    def _fitted(self, kind: Type, source: Type, value: str) -> str:
        """Convert a variable of another width: repeat a scalar, choose components of a vector."""
        if source.width > kind.width:
            lanes = "".join(f"{self.random.randrange(source.width):x}" for _ in range(kind.width))
            value, source = f"{value}.s{lanes}", replace(source, width=kind.width)
        elif source.width < kind.width:
            scalar = self._converted(kind.scalar, source, value)
            return f"(({kind.name})({scalar}))"
        return self._converted(kind, source, value)

    def _converted(self, kind: Type, source: Type, value: str) -> str:
        if source.base == "float" and kind.base != "float":
            rounding = self.random.choice(ROUNDINGS)
            return f"convert_{kind.name}_sat{rounding}(number_{source.name}({value}))"
        if kind.base == "float" and source.base != "float":
            return f"convert_{kind.name}{self.random.choice(ROUNDINGS)}({value})"
        if kind.base == "float":
            return value
        return f"convert_{kind.name}{self.random.choice(('', '', '_sat'))}({value})"

    # Both kinds

    def _shared(self) -> list[Callable[[Type, int], str]]:
        found: list[Callable[[Type, int], str]] = [self._choose, self._convert, self._component]
        if self.scope.tables:
            found.append(self._table)
        if self.scope.arrays:
            found.append(self._element)
        if self.scope.functions:
            found.append(self._call)
        return found

    def _choose(self, kind: Type, depth: int) -> str:
        if kind.width == 1 and self.random.random() < 0.7:
            chosen = f"{self.condition(depth)} ? {self(kind, depth)} : {self(kind, depth)}"
            return f"(({kind.name})({chosen}))"
        mask = self(kind.as_signed, depth)
        if self.random.random() < 0.5 and kind.width > 1:
            return f"({mask} ? {self(kind, depth)} : {self(kind, depth)})"
        return f"select({self(kind, depth)}, {self(kind, depth)}, {mask})"

    def _convert(self, kind: Type, depth: int) -> str:
        source = random_type(self.random, widths=(kind.width,))
        return self._converted(kind, source, self(source, depth))

    def _component(self, kind: Type, depth: int) -> str:
        """Take components of a wider vector, or put a vector together."""
        wider = [w for w in (2, 3, 4, 8, 16) if w >= kind.width]
        if kind.width == 1 or (kind.width < 16 and self.random.random() < 0.5):
            source = replace(kind, width=self.random.choice(wider))
            lanes = "".join(f"{self.random.randrange(source.width):x}" for _ in range(kind.width))
            return f"({self(source, depth)}).s{lanes}"
        if kind.width in (4, 8) and self.random.random() < 0.4:
            half = replace(kind, width=kind.width // 2)
            return f"(({kind.name})({self(half, depth)}, {self(half, depth)}))"
        if kind.width in (2, 4, 8, 16) and kind.base != "float" and self.random.random() < 0.5:
            source = replace(kind, width=self.random.choice((2, 4, 8)))
            return f"shuffle({self(source, depth)}, {self(kind.as_unsigned, depth)})"
        parts = ", ".join(self(kind.scalar, min(depth, 1)) for _ in range(kind.width))
        return f"(({kind.name})({parts}))"

    def _table(self, kind: Type, depth: int) -> str:
        return self._indexed(kind, depth, self.scope.tables)

    def _element(self, kind: Type, depth: int) -> str:
        return self._indexed(kind, depth, self.scope.arrays)

    def _indexed(self, kind: Type, depth: int, choices: list[tuple[Type, str]]) -> str:
        found = [(k, name) for k, name in choices if k.width == kind.width]
        if not found:
            return self._leaf(kind)
        source, name = self.random.choice(found)
        return self._converted(kind, source, f"{name}[{self.index(8, depth)}]")

    def _call(self, kind: Type, depth: int) -> str:
        found = [f for f in self.scope.functions if f[0].width == kind.width]
        if not found:
            return self._leaf(kind)
        result, name, parameters = self.random.choice(found)
        arguments = ", ".join(self(parameter, min(depth, 1)) for parameter in parameters)
        return self._converted(kind, result, f"{name}({arguments})")

    # Integers

    def _integer(self, kind: Type) -> list[Callable[[Type, int], str]]:
        found = [
            *(self._arithmetic, self._arithmetic, self._division, self._shift, self._bitwise),
            *(self._truth, self._reinterpret, self._builtin, self._builtin, self._builtin),
        ]
        return found + self._shared()

    def _arithmetic(self, kind: Type, depth: int) -> str:
        operator = self.random.choice("+-*")
        working = kind.working
        cast = "({})" if kind.width == 1 else "as_{}"
        to, back = cast.format(working.name), cast.format(kind.name)
        left, right = self(kind, depth), self(kind, depth)
        return f"{back}({to}({left}) {operator} {to}({right}))"

    def _division(self, kind: Type, depth: int) -> str:
        operator = self.random.choice("/%")
        left, right = self(kind, depth), self(kind, depth)
        if kind.signed:
            largest = f"({kind.base})0x{(1 << (kind.bits - 1)) - 1:x}"
            if self.random.random() < 0.5:
                left = f"({left} & {largest})"
            else:
                right = f"({right} & {largest})"
        return f"(({kind.name})({left} {operator} ({right} | ({kind.base})1)))"

    def _shift(self, kind: Type, depth: int) -> str:
        count = f"({self(kind.as_unsigned, depth)} & ({kind.as_unsigned.base}){kind.bits - 1})"
        if self.random.random() < 0.5:
            return f"(({kind.name})({self(kind, depth)} >> {self._plain(kind, count)}))"
        unsigned = kind.working
        if kind.width == 1:
            return f"(({kind.name})(({unsigned.name})({self(kind, depth)}) << {count}))"
        return f"as_{kind.name}(as_{unsigned.name}({self(kind, depth)}) << {count})"

    def _plain(self, kind: Type, count: str) -> str:
        return count if kind.width == 1 else f"as_{kind.name}({count})"

    def _bitwise(self, kind: Type, depth: int) -> str:
        if self.random.random() < 0.25:
            return f"(({kind.name})~{self(kind, depth)})"
        operator = self.random.choice("&|^")
        return f"(({kind.name})({self(kind, depth)} {operator} {self(kind, depth)}))"

    def _truth(self, kind: Type, depth: int) -> str:
        if kind.width > 1 and not kind.signed:
            return f"as_{kind.name}({self._truth(kind.as_signed, depth)})"
        if kind.width == 1:
            test = self._scalar_truth(depth)
            return test if kind == INT else f"(({kind.name}){test})"
        bases = [kind.base, kind.as_unsigned.base]
        bases += ["float"] if kind.bits == 32 else []
        source = kind.with_base(self.random.choice(bases))
        if source.base != "float" and self.random.random() < 0.3:
            operator = self.random.choice(("&&", "||"))
        else:
            operator = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        return f"({self(source, depth)} {operator} {self(source, depth)})"

    def _scalar_truth(self, depth: int) -> str:
        kind = self.random.randrange(6)
        if kind == 0 and depth > 0:
            operator = self.random.choice(("&&", "||"))
            return f"({self.condition(depth - 1)} {operator} {self.condition(depth - 1)})"
        if kind == 1:
            source = Type(self.random.choice(SIGNED), self.random.choice((2, 3, 4, 8)))
            return f"{self.random.choice(('any', 'all'))}({self(source, depth)})"
        if kind == 2:
            function = self.random.choice(("isnan", "isinf", "isfinite", "isnormal", "isequal"))
            value = self(FLOAT, depth)
            if function == "isequal":
                return f"isequal({value}, {self(FLOAT, depth)})"
            return f"{function}({value})"
        source = random_type(self.random, widths=(1,))
        operator = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        return f"({self(source, depth)} {operator} {self(source, depth)})"

    def _reinterpret(self, kind: Type, depth: int) -> str:
        size = kind.bits * kind.width
        found = [
            Type(base, size // BITS[base])
            for base in (*INTEGERS, "float")
            if size % BITS[base] == 0 and size // BITS[base] in (1, 2, 4, 8, 16)
        ]
        if kind.width == 3:
            found = [kind.as_signed, kind.as_unsigned]
        source = self.random.choice(found)
        value = self(source, depth)
        if source.base == "float":
            value, source = f"bits_{source.name}({value})", source.as_unsigned
        return value if source == kind else f"as_{kind.name}({value})"

    def _builtin(self, kind: Type, depth: int) -> str:
        def value() -> str:
            return self(kind, depth)

        # Intel's built-ins add_sat, sub_sat and mad_sat of long rely on signed overflow.
        saturates = kind.base != "long"
        two = ("min", "max", "hadd", "rhadd", "mul_hi", "rotate")
        two += ("add_sat", "sub_sat") if saturates else ()
        which = self.random.randrange(9)
        if which < 3:
            return f"{self.random.choice(two)}({value()}, {value()})"
        if which == 3:
            three = ("mad_hi", "bitselect", "mad_sat" if saturates else "mad_hi")
            function = self.random.choice(three)
            return f"{function}({value()}, {value()}, {value()})"
        if which == 4:
            first, second = value(), value()
            return f"clamp({value()}, min({first}, {second}), max({first}, {second}))"
        if which == 5:
            return f"{self.random.choice(('popcount', 'clz'))}({value()})"
        if which == 6:
            signed = self.random.random() < 0.5
            source = kind.as_signed if signed else kind.as_unsigned
            function = self.random.choice(("abs", "abs_diff"))
            arguments = [self(source, depth) for _ in range(1 + (function == "abs_diff"))]
            result = f"{function}({', '.join(arguments)})"
            return result if kind == kind.as_unsigned else f"as_{kind.name}({result})"
        if which == 7 and kind.bits > 8:
            bases = SIGNED if kind.signed else UNSIGNED
            half = kind.with_base(bases[bases.index(kind.base) - 1])
            return f"upsample({self(half, depth)}, {self(half.as_unsigned, depth)})"
        if which == 8 and kind.bits == 32:
            return f"mul24({value()} >> 8, {value()} >> 9)"
        return f"{self.random.choice(two)}({value()}, {value()})"

    # Floats

    def _float(self, kind: Type) -> list[Callable[[Type, int], str]]:
        found = [self._float_arithmetic, self._float_arithmetic, self._float_builtin]
        return found + self._shared()

    def _float_arithmetic(self, kind: Type, depth: int) -> str:
        if self.random.random() < 0.2:
            return f"fma({self(kind, depth)}, {self(kind, depth)}, {self(kind, depth)})"
        operator = self.random.choice("+-*")
        return f"({self(kind, depth)} {operator} {self(kind, depth)})"

    def _float_builtin(self, kind: Type, depth: int) -> str:
        one = ("fabs", "floor", "ceil", "trunc", "rint", "-")
        which = self.random.randrange(3)
        if which == 0:
            return f"{self.random.choice(one)}({self(kind, depth)})"
        if which == 1:
            number = f"number_{kind.name}"
            return f"copysign({number}({self(kind, depth)}), {number}({self(kind, 0)}))"
        return f"ldexp({self(kind, depth)}, {self(kind.with_base('int'), depth)} & 63)"
