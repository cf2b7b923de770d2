"""Floating-point micro-operations and conversions as LLVM IR, in every mode of CR0.

To nearest they are plain instructions. Directed rounding runs in small functions of their own,
which switch the host's rounding mode and back, so that LLVM moves nothing across the switch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from visim.engine.jit.ir.text import Text, float_bits, scalar_type, splat, vector_type
from visim.engine.jit.targets import HERE, Machine
from visim.engine.rounding import Rounding
from visim.sem.expr import WIDE
from visim.types import BF, DF, HF, DataType, F

LEAST_NORMAL = {2: 2.0**-14, 4: 2.0**-126, 8: 2.0**-1022}
BELOW_ONE = {2: 1.0 - 2.0**-11, 4: 1.0 - 2.0**-24, 8: 1.0 - 2.0**-53}
SUFFIX = {HF: "f16", F: "f32", DF: "f64"}
_BINARY = {"fadd", "fsub", "fmul", "fdiv"}
#: The arguments of llvm.set.rounding, which numbers the modes as C does.
_C_MODE = {Rounding.NEAREST_EVEN: 1, Rounding.UP: 2, Rounding.DOWN: 3, Rounding.ZERO: 0}


def constant(value: float, kind: DataType, lanes: int) -> str:
    """Return a vector with the same floating-point number in every lane."""
    bits = splat(f"i{kind.bits}", lanes, float_bits(value, kind))
    return f"bitcast (<{lanes} x i{kind.bits}> {bits} to {vector_type(kind, lanes)})"


@dataclass
class Library:
    """The helper functions of one module for a machine, each made when it is first called."""

    machine: Machine = HERE
    functions: dict[str, str] = field(default_factory=dict[str, str])
    declarations: dict[str, str] = field(default_factory=dict[str, str])

    def intrinsic(self, name: str, result: str, *args: str) -> str:
        """Declare an intrinsic function and return its name."""
        self.declarations.setdefault(name, f"declare {result} @{name}({', '.join(args)})")
        return f"@{name}"

    def render(self) -> str:
        """Return the text of all functions and declarations."""
        return "\n".join([*self.declarations.values(), *self.functions.values()])


@dataclass
class FloatWriter:
    """Writes floating-point operations into one function."""

    text: Text
    library: Library

    # Arithmetic

    def arithmetic(
        self, name: str, kind: DataType, lanes: int, args: list[str], rounding: Rounding
    ) -> str:
        """Return a rounded operation: fadd, fsub, fmul, fdiv, fsqrt or ffma."""
        if rounding is not Rounding.NEAREST_EVEN:
            return self._directed(name, kind, lanes, args, rounding)
        vector = vector_type(kind, lanes)
        if name in _BINARY:
            return self.text.let(f"{name} {vector} {args[0]}, {args[1]}")
        if name == "ffma" and kind == HF:
            return self._fma_half(lanes, args)
        return self.call({"fsqrt": "sqrt", "ffma": "fma"}[name], kind, lanes, args)

    def call(self, name: str, kind: DataType, lanes: int, args: list[str]) -> str:
        """Return an LLVM intrinsic of operands of one type."""
        vector = vector_type(kind, lanes)
        function = self.library.intrinsic(
            f"llvm.{name}.v{lanes}{SUFFIX[kind]}", vector, *[vector] * len(args)
        )
        joined = ", ".join(f"{vector} {arg}" for arg in args)
        return self.text.let(f"call {vector} {function}({joined})")

    def _fma_half(self, lanes: int, args: list[str]) -> str:
        """Multiply exactly and add in F, rounded to odd there, so that HF is rounded once."""
        text, wide = self.text, f"<{lanes} x float>"
        a, b, c = (self.extend(arg, HF, F, lanes) for arg in args)
        product = text.let(f"fmul {wide} {a}, {b}")
        total = text.let(f"fadd {wide} {product}, {c}")
        shadow = text.let(f"fsub {wide} {total}, {product}")
        rest = text.let(f"fsub {wide} {total}, {shadow}")
        left = text.let(f"fsub {wide} {product}, {rest}")
        right = text.let(f"fsub {wide} {c}, {shadow}")
        error = text.let(f"fadd {wide} {left}, {right}")
        return self._truncate(self._to_odd(total, error, lanes), F, HF, lanes)

    def _to_odd(self, total: str, error: str, lanes: int) -> str:
        """Return nearest sums of F as sums rounded to odd."""
        text, ints, wide = self.text, f"<{lanes} x i32>", f"<{lanes} x float>"
        inexact = text.let(f"fcmp one {wide} {error}, zeroinitializer")
        bits = text.let(f"bitcast {wide} {total} to {ints}")
        signs = text.let(f"xor {ints} {bits}, {text.let(f'bitcast {wide} {error} to {ints}')}")
        down = text.let(f"ashr {ints} {signs}, {splat('i32', lanes, 31)}")
        moved = text.let(f"add {ints} {bits}, {down}")
        sticky = text.let(f"or {ints} {moved}, {splat('i32', lanes, 1)}")
        chosen = text.let(f"select <{lanes} x i1> {inexact}, {ints} {sticky}, {ints} {bits}")
        return text.let(f"bitcast {ints} {chosen} to {wide}")

    def _directed(
        self, name: str, kind: DataType, lanes: int, args: list[str], rounding: Rounding
    ) -> str:
        """Round in the mode; HF by way of DF, rounding twice in one direction is as once."""
        if kind == HF:
            wide = [self.extend(arg, HF, DF, lanes) for arg in args]
            found = self._directed(name, DF, lanes, wide, rounding)
            return self._directed_truncation(found, DF, HF, lanes, rounding)
        vector = vector_type(kind, lanes)
        operation = {"fsqrt": "sqrt", "ffma": "fma"}.get(name, name)
        full = f"llvm.experimental.constrained.{operation}.v{lanes}{SUFFIX[kind]}"
        parameters = [vector] * len(args)
        intrinsic = self.library.intrinsic(full, vector, *parameters, "metadata", "metadata")
        inner = ", ".join(f"{vector} %{i}" for i in range(len(args)))
        code = f"call {vector} {intrinsic}({inner}, {_DYNAMIC}) strictfp"
        helper = f"{operation}.{rounding.name.lower()}.v{lanes}{SUFFIX[kind]}"
        self._mode_function(helper, vector, parameters, [f"%x = {code}"], "%x", rounding)
        joined = ", ".join(f"{vector} {arg}" for arg in args)
        return self.text.let(f"call {vector} @{helper}({joined})")

    def _mode_function(
        self,
        name: str,
        result: str,
        parameters: list[str],
        body: list[str],
        value: str,
        rounding: Rounding,
    ) -> None:
        """Make a function that runs `body` in a rounding mode.

        Only the register of the machine is set: on some LLVM's own way also loads that of an older
        unit, slowly. Seen from outside it has no effects, so that LLVM can leave it out where
        nobody asks.
        """
        lines = "\n  ".join(body)
        self.library.functions.setdefault(
            name,
            f"define internal {result} @{name}({', '.join(parameters)}) noinline strictfp #1 {{\n"
            f"entry:\n  {self._round(rounding)}\n  {lines}\n"
            f"  {self._round(Rounding.NEAREST_EVEN)}\n  ret {result} {value}\n}}",
        )

    def _round(self, rounding: Rounding) -> str:
        """Return the instruction that has floats rounded so from now on."""
        register = self.library.machine.rounding
        if register is None:
            self.library.intrinsic("llvm.set.rounding", "void", "i32")
            return f"call void @llvm.set.rounding(i32 {_C_MODE[rounding]}) strictfp"
        write = self.library.intrinsic(register.write, "void", register.kind)
        number = register.numbers[rounding]
        if register.kind != "ptr":
            return f"call void {write}({register.kind} {number})"
        is_usual = rounding is Rounding.NEAREST_EVEN
        mode = f"{register.name}.{'nearest' if is_usual else rounding.name.lower()}"
        self.library.functions.setdefault(mode, f"@{mode} = internal constant i32 {number}")
        return f"call void {write}(ptr @{mode})"

    # Without rounding

    def flush(self, value: str, kind: DataType, lanes: int) -> str:
        """Return floats with denormals replaced by zeros of their sign."""
        text, vector, bits = self.text, vector_type(kind, lanes), f"<{lanes} x i{kind.bits}>"
        magnitude = self.call("fabs", kind, lanes, [value])
        least = constant(LEAST_NORMAL[kind.bytes], kind, lanes)
        small = text.let(f"fcmp olt {vector} {magnitude}, {least}")
        pattern = text.let(f"bitcast {vector} {value} to {bits}")
        sign = text.let(
            f"and {bits} {pattern}, {splat(f'i{kind.bits}', lanes, -(1 << kind.bits - 1))}"
        )
        zero = text.let(f"bitcast {bits} {sign} to {vector}")
        return text.let(f"select <{lanes} x i1> {small}, {vector} {zero}, {vector} {value}")

    def extreme(self, relation: str, kind: DataType, lanes: int, args: list[str]) -> str:
        """Return the lesser (relation olt) or greater (oge) number; of a NaN and it the number."""
        text, vector = self.text, vector_type(kind, lanes)
        a, b = args
        first = text.let(f"fcmp {relation} {vector} {a}, {b}")
        lone = text.let(f"fcmp uno {vector} {b}, {b}")
        chosen = text.let(f"or <{lanes} x i1> {first}, {lone}")
        return text.let(f"select <{lanes} x i1> {chosen}, {vector} {a}, {vector} {b}")

    def saturate(self, kind: DataType, lanes: int, value: str) -> str:
        """Return floats clamped to 0..1; NaN gives 0."""
        text, vector = self.text, vector_type(kind, lanes)
        positive = text.let(f"fcmp ogt {vector} {value}, zeroinitializer")
        low = text.let(
            f"select <{lanes} x i1> {positive}, {vector} {value}, {vector} zeroinitializer"
        )
        one = constant(1.0, kind, lanes)
        over = text.let(f"fcmp ogt {vector} {low}, {one}")
        return text.let(f"select <{lanes} x i1> {over}, {vector} {one}, {vector} {low}")

    def fraction(self, kind: DataType, lanes: int, value: str) -> str:
        """Return x - floor(x), below 1."""
        text, vector = self.text, vector_type(kind, lanes)
        whole = self.call("floor", kind, lanes, [value])
        rest = text.let(f"fsub {vector} {value}, {whole}")
        top = constant(BELOW_ONE[kind.bytes], kind, lanes)
        over = text.let(f"fcmp ogt {vector} {rest}, {top}")
        return text.let(f"select <{lanes} x i1> {over}, {vector} {top}, {vector} {rest}")

    # Conversions

    def extend(self, value: str, source: DataType, target: DataType, lanes: int) -> str:
        """Widen floats."""
        return self.text.let(
            f"fpext {vector_type(source, lanes)} {value} to {vector_type(target, lanes)}"
        )

    def _truncate(self, value: str, source: DataType, target: DataType, lanes: int) -> str:
        return self.text.let(
            f"fptrunc {vector_type(source, lanes)} {value} to {vector_type(target, lanes)}"
        )

    def convert(
        self, value: str, source: DataType, target: DataType, lanes: int, rounding: Rounding
    ) -> str:
        """Convert where the target is a float, or the source is BF."""
        if source == BF:
            value, source = self._from_bfloat(value, lanes), F
        if target == BF:
            single = self.convert(value, source, F, lanes, rounding)
            return self._to_bfloat(single, lanes, rounding)
        if source == target:
            return value
        if source.is_float:
            return self._float_to_float(value, source, target, lanes, rounding)
        if source is WIDE:
            return self._wide_to_float(value, target, lanes, rounding)
        return self._integer_to_float(value, source, target, lanes, rounding)

    def _float_to_float(
        self, value: str, source: DataType, target: DataType, lanes: int, rounding: Rounding
    ) -> str:
        if target.bits > source.bits:
            return self.extend(value, source, target, lanes)
        if rounding is not Rounding.NEAREST_EVEN:
            return self._directed_truncation(value, source, target, lanes, rounding)
        if source == DF and target == HF:
            return self._truncate(self._double_to_odd(value, lanes), F, HF, lanes)
        return self._truncate(value, source, target, lanes)

    def _double_to_odd(self, value: str, lanes: int) -> str:
        """Return doubles as F rounded to odd."""
        text, wide = self.text, f"<{lanes} x double>"
        nearest = self._truncate(value, DF, F, lanes)
        back = self.extend(nearest, F, DF, lanes)
        other = text.let(f"fcmp one {wide} {back}, {value}")
        large = text.let(
            f"fcmp ogt {wide} {self.call('fabs', DF, lanes, [back])}, "
            f"{self.call('fabs', DF, lanes, [value])}"
        )
        ints = f"<{lanes} x i32>"
        bits = text.let(f"bitcast <{lanes} x float> {nearest} to {ints}")
        less = text.let(f"sext <{lanes} x i1> {large} to {ints}")
        moved = text.let(f"add {ints} {bits}, {less}")
        sticky = text.let(f"or {ints} {moved}, {splat('i32', lanes, 1)}")
        chosen = text.let(f"select <{lanes} x i1> {other}, {ints} {sticky}, {ints} {bits}")
        return text.let(f"bitcast {ints} {chosen} to <{lanes} x float>")

    def _directed_truncation(
        self, value: str, source: DataType, target: DataType, lanes: int, rounding: Rounding
    ) -> str:
        """Convert to nearest, then step to the neighbour where the mode asks for it."""
        text, vector = self.text, vector_type(target, lanes)
        nearest = self._float_to_float(value, source, target, lanes, Rounding.NEAREST_EVEN)
        back = self.extend(nearest, target, source, lanes)
        wide, ints = vector_type(source, lanes), f"<{lanes} x i{target.bits}>"
        exact_above = text.let(f"fcmp ogt {wide} {value}, {back}")
        exact_below = text.let(f"fcmp olt {wide} {value}, {back}")
        bits = text.let(f"bitcast {vector} {nearest} to {ints}")
        negative = text.let(f"icmp slt {ints} {bits}, zeroinitializer")
        bools = f"<{lanes} x i1>"
        one = splat(f"i{target.bits}", lanes, 1)
        inward = text.let(f"sub {ints} {bits}, {one}")
        outward = text.let(f"add {ints} {bits}, {one}")
        positive = text.let(f"xor {bools} {negative}, {splat('i1', lanes, 'true')}")

        def both(a: str, b: str) -> str:
            return text.let(f"and {bools} {a}, {b}")

        match rounding:
            case Rounding.UP:
                inner, outer = both(exact_above, negative), both(exact_above, positive)
            case Rounding.DOWN:
                inner, outer = both(exact_below, positive), both(exact_below, negative)
            case _:
                inner = text.let(
                    f"or {bools} {both(exact_above, negative)}, {both(exact_below, positive)}"
                )
                outer = "zeroinitializer"
        found = text.let(f"select {bools} {inner}, {ints} {inward}, {ints} {bits}")
        found = text.let(f"select {bools} {outer}, {ints} {outward}, {ints} {found}")
        return text.let(f"bitcast {ints} {found} to {vector}")

    def _integer_to_float(
        self, value: str, source: DataType, target: DataType, lanes: int, rounding: Rounding
    ) -> str:
        word = "sitofp" if source.is_signed else "uitofp"
        narrow = vector_type(source, lanes)
        if rounding is not Rounding.NEAREST_EVEN and source.bits + (target == DF) * -30 > 8:
            return self._directed_integer(value, source, target, lanes, rounding)
        if target == HF:
            single = self.text.let(f"{word} {narrow} {value} to <{lanes} x float>")
            return self._truncate(single, F, HF, lanes)
        return self.text.let(f"{word} {narrow} {value} to {vector_type(target, lanes)}")

    def _directed_integer(
        self, value: str, source: DataType, target: DataType, lanes: int, rounding: Rounding
    ) -> str:
        """Convert by way of DF, which holds integers below 2**53; 64 bits in a function."""
        text = self.text
        if source.bits < 64:
            word = "sitofp" if source.is_signed else "uitofp"
            wide = text.let(f"{word} {vector_type(source, lanes)} {value} to <{lanes} x double>")
            return self.convert(wide, DF, target, lanes, rounding)
        if target == HF:
            wide = self._directed_long(value, source, DF, lanes, rounding)
            return self._directed_truncation(wide, DF, HF, lanes, rounding)
        return self._directed_long(value, source, target, lanes, rounding)

    def _directed_long(
        self, value: str, source: DataType, target: DataType, lanes: int, rounding: Rounding
    ) -> str:
        """Convert lane by lane; an unsigned number is halved, its lost bit kept, and doubled."""
        scalar = scalar_type(target)
        name = f"llvm.experimental.constrained.sitofp.{SUFFIX[target]}.i64"
        convert = self.library.intrinsic(name, scalar, "i64", "metadata", "metadata")
        sign = "s" if source.is_signed else "u"
        helper = f"long.{sign}.{rounding.name.lower()}.{SUFFIX[target]}"
        body = [
            "%half = lshr i64 %0, 1",
            "%low = and i64 %0, 1",
            "%odd = or i64 %half, %low",
            "%big = icmp slt i64 %0, 0" if sign == "u" else "%big = icmp slt i64 0, 0",
            "%from = select i1 %big, i64 %odd, i64 %0",
            f"%x = call {scalar} {convert}(i64 %from, {_DYNAMIC}) strictfp",
            "%times = select i1 %big, i64 1, i64 0",
        ]
        adding = f"llvm.experimental.constrained.fadd.{SUFFIX[target]}"
        self.library.intrinsic(adding, scalar, scalar, scalar, "metadata", "metadata")
        body += [
            f"%twice = call {scalar} @{adding}({scalar} %x, {scalar} %x, {_DYNAMIC}) strictfp",
            f"%y = select i1 %big, {scalar} %twice, {scalar} %x",
        ]
        self._mode_function(helper, scalar, ["i64"], body, "%y", rounding)
        return self._by_lane(value, helper, target, lanes)

    def _by_lane(self, value: str, helper: str, target: DataType, lanes: int) -> str:
        text, scalar, vector = self.text, scalar_type(target), "poison"
        for lane in range(lanes):
            one = text.let(f"extractelement <{lanes} x i64> {value}, i64 {lane}")
            found = text.let(f"call {scalar} @{helper}(i64 {one})")
            vector = text.let(
                f"insertelement <{lanes} x {scalar}> {vector}, {scalar} {found}, i64 {lane}"
            )
        return vector

    def _wide_to_float(self, value: str, target: DataType, lanes: int, rounding: Rounding) -> str:
        """Convert the highest 62 bits, rounded to odd, and put the scale back."""
        from visim.types import Q

        text, wide = self.text, f"<{lanes} x i128>"
        absolute = self.library.intrinsic(f"llvm.abs.v{lanes}i128", wide, wide, "i1")
        zeros = self.library.intrinsic(f"llvm.ctlz.v{lanes}i128", wide, wide, "i1")
        most = self.library.intrinsic(f"llvm.smax.v{lanes}i128", wide, wide, wide)
        magnitude = text.let(f"call {wide} {absolute}({wide} {value}, i1 false)")
        empty = text.let(f"call {wide} {zeros}({wide} {magnitude}, i1 false)")
        length = text.let(f"sub {wide} {splat('i128', lanes, 66)}, {empty}")
        scale = text.let(f"call {wide} {most}({wide} {length}, {wide} zeroinitializer)")
        high = text.let(f"ashr {wide} {value}, {scale}")
        again = text.let(f"shl {wide} {high}, {scale}")
        lost = text.let(f"icmp ne {wide} {again}, {value}")
        odd = text.let(f"or {wide} {high}, {text.let(f'zext <{lanes} x i1> {lost} to {wide}')}")
        small = text.let(f"trunc {wide} {odd} to <{lanes} x i64>")
        found = self._integer_to_float(small, Q, target, lanes, rounding)
        if target == HF:
            return found
        bias, shift = (127, 23) if target == F else (1023, 52)
        ints = f"<{lanes} x i{target.bits}>"
        power = text.let(f"trunc {wide} {scale} to {ints}")
        biased = text.let(f"add {ints} {power}, {splat(f'i{target.bits}', lanes, bias)}")
        placed = text.let(f"shl {ints} {biased}, {splat(f'i{target.bits}', lanes, shift)}")
        vector = vector_type(target, lanes)
        factor = text.let(f"bitcast {ints} {placed} to {vector}")
        return text.let(f"fmul {vector} {found}, {factor}")

    def _from_bfloat(self, value: str, lanes: int) -> str:
        text = self.text
        wide = text.let(f"zext <{lanes} x i16> {value} to <{lanes} x i32>")
        moved = text.let(f"shl <{lanes} x i32> {wide}, {splat('i32', lanes, 16)}")
        return text.let(f"bitcast <{lanes} x i32> {moved} to <{lanes} x float>")

    def _to_bfloat(self, value: str, lanes: int, rounding: Rounding) -> str:
        """Round F to BF: the upper half, or 1 more where the lower half says so.

        NaN become quiet.
        """
        text, ints, bools = self.text, f"<{lanes} x i32>", f"<{lanes} x i1>"
        bits = text.let(f"bitcast <{lanes} x float> {value} to {ints}")
        kept = text.let(f"lshr {ints} {bits}, {splat('i32', lanes, 16)}")
        lost = text.let(f"and {ints} {bits}, {splat('i32', lanes, 65535)}")
        negative = text.let(f"icmp slt {ints} {bits}, zeroinitializer")
        inexact = text.let(f"icmp ne {ints} {lost}, zeroinitializer")
        match rounding:
            case Rounding.NEAREST_EVEN:
                last = text.let(f"and {ints} {kept}, {splat('i32', lanes, 1)}")
                total = text.let(f"add {ints} {lost}, {last}")
                away = text.let(f"icmp ugt {ints} {total}, {splat('i32', lanes, 0x8000)}")
            case Rounding.UP:
                plus = text.let(f"xor {bools} {negative}, {splat('i1', lanes, 'true')}")
                away = text.let(f"and {bools} {inexact}, {plus}")
            case Rounding.DOWN:
                away = text.let(f"and {bools} {inexact}, {negative}")
            case Rounding.ZERO:
                away = "zeroinitializer"
        more = text.let(f"zext {bools} {away} to {ints}")
        rounded = text.let(f"add {ints} {kept}, {more}")
        quiet = text.let(f"or {ints} {kept}, {splat('i32', lanes, 64)}")
        nan = text.let(f"fcmp uno <{lanes} x float> {value}, {value}")
        found = text.let(f"select {bools} {nan}, {ints} {quiet}, {ints} {rounded}")
        return text.let(f"trunc {ints} {found} to <{lanes} x i16>")

    def to_integer(
        self, value: str, source: DataType, target: DataType, lanes: int, rounding: Rounding
    ) -> str:
        """Round floats to integers, clamped; NaN gives 0."""
        if source == BF:
            value, source = self._from_bfloat(value, lanes), F
        if source == HF:
            value, source = self.extend(value, HF, F, lanes), F
        names = {Rounding.NEAREST_EVEN: "roundeven", Rounding.UP: "ceil", Rounding.DOWN: "floor"}
        if rounding in names:
            value = self.call(names[rounding], source, lanes, [value])
        if target.bits <= 32:
            return self._limited(value, source, target, lanes)
        sign = "s" if target.is_signed else "u"
        result, argument = vector_type(target, lanes), vector_type(source, lanes)
        function = self.library.intrinsic(
            f"llvm.fpto{sign}i.sat.v{lanes}i{target.bits}.v{lanes}{SUFFIX[source]}",
            result,
            argument,
        )
        return self.text.let(f"call {result} {function}({argument} {value})")

    def _limited(self, value: str, source: DataType, target: DataType, lanes: int) -> str:
        """Convert to integers of at most 32 bits: first limit the numbers, so that all fit.

        LLVM's own saturating conversion goes lane by lane where there is no AVX-512.
        """
        text, vector, bools = self.text, vector_type(source, lanes), f"<{lanes} x i1>"
        result, signed = vector_type(target, lanes), target.is_signed
        least = constant(-(2.0 ** (target.bits - 1)) if signed else 0.0, source, lanes)
        bound = constant(2.0 ** (target.bits - signed), source, lanes)
        above = text.let(f"fcmp ogt {vector} {value}, {least}")
        low = text.let(f"select {bools} {above}, {vector} {value}, {vector} {least}")
        below = text.let(f"fcmp olt {vector} {low}, {bound}")
        fits = text.let(f"select {bools} {below}, {vector} {low}, {vector} zeroinitializer")
        word = "fptosi" if signed or target.bits < 32 else "fptoui"
        found = text.let(f"{word} {vector} {fits} to <{lanes} x i32>")
        if target.bits < 32:
            found = text.let(f"trunc <{lanes} x i32> {found} to {result}")
        most = splat(f"i{target.bits}", lanes, (1 << target.bits - signed) - 1)
        found = text.let(f"select {bools} {below}, {result} {found}, {result} {most}")
        if not signed:
            return found
        lost = text.let(f"fcmp uno {vector} {value}, {value}")
        return text.let(f"select {bools} {lost}, {result} zeroinitializer, {result} {found}")


_DYNAMIC = 'metadata !"round.dynamic", metadata !"fpexcept.strict"'
