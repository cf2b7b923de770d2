"""Messages to images in native code: loads and stores of texels, and samplers.

One module for all kernels, loaded when a launch has images for the first time. A kernel puts the
operands of a message into the exchange area, as for any call-out, and calls one of these functions
through the table of its worker's images before it calls the host. What a function does not do it
leaves to the host, which does the whole message (0 is its answer): images and samplers that are
not in the table, NaN whose bits depend on who computes, all that is a fault. A message that was
begun here can be done again, because stores do not read.
"""

from __future__ import annotations

from functools import cache

from visim.engine.jit.common.cache import ObjectCache, default_folder, key_of
from visim.engine.jit.common.native import NativeCode, compiler, object_code, processor
from visim.engine.jit.common.sampled import MIXING, TAPS
from visim.engine.jit.common.texels import DECODING, ENCODING, ROUNDS
from visim.engine.jit.layout import (
    IMAGE_BYTES,
    IN_ORDER,
    Form,
    ImageEntry,
    ImageTable,
    SamplerBits,
)
from visim.machine.formats import TYPES
from visim.machine.sampling import FARTHEST, WEIGHT_BITS, Address

ADDRESSES = {mode: number for number, mode in enumerate(Address)}
"""The numbers of address modes."""

FUNCTIONS = ("load_texels", "store_texels", "sample_texels")
"""In the order of the table's first fields."""


@cache
def images_code() -> NativeCode:
    """Return the functions, compiled for this host or from the cache."""
    text, made_for, kept = images_text(), processor(), ObjectCache(default_folder())
    key = key_of(text, made_for.name, made_for.features, compiler())
    code = kept.get(key)
    if code is None:
        code = object_code(text, made_for)
        kept.put(key, code)
    return NativeCode(code, FUNCTIONS)


def images_text() -> str:
    """Return the module."""
    shares = 1 << WEIGHT_BITS
    numbers: dict[str, object] = {f"P_{field.name}": int(field) for field in ImageEntry}
    numbers |= {f"M_{field.name}": int(field) for field in Form}
    numbers |= {f"I_{field.name}": int(field) for field in ImageTable}
    numbers |= {f"F_{name.upper()}": kind.code for name, kind in TYPES.items()}
    numbers |= {f"A_{mode.name}": number for mode, number in ADDRESSES.items()}
    numbers |= {bit.name: int(bit) for bit in SamplerBits}
    numbers |= {"SHARE_BITS": WEIGHT_BITS, "SHARES": shares, "SHARES_LESS_1": shares - 1}
    numbers |= {"SHARE_CUBED": f"0x{1023 - 3 * WEIGHT_BITS << 52:016X}", "ROUNDS": ROUNDS}
    numbers |= {"FARTHEST": float(FARTHEST), "IMAGE_BYTES": IMAGE_BYTES, "IN_ORDER": IN_ORDER}
    text = "\n".join([_HEAD, DECODING, ENCODING, TAPS, MIXING, _MESSAGES, _LOAD, _STORE, _SAMPLE])
    for name, value in numbers.items():
        text = text.replace(f"${name}$", str(value))
    return text


_HEAD = r"""
declare double @llvm.floor.f64(double)
declare double @llvm.rint.f64(double)
declare double @llvm.fabs.f64(double)
declare i16 @llvm.vector.reduce.or.v4i16(<4 x i16>)
attributes #0 = { nounwind }
@zeros = internal constant [64 x i32] zeroinitializer, align 64
@all_on = internal constant [64 x i8] c"$ONES$", align 64
""".replace("$ONES$", "\\01" * 64)

_MESSAGES = r"""
define internal ptr @column(ptr %area, ptr %form, i64 %field, ptr %otherwise) alwaysinline #0 {
  %at = getelementptr i64, ptr %form, i64 %field
  %offset = load i64, ptr %at, align 8
  %given = getelementptr i8, ptr %area, i64 %offset
  %none = icmp slt i64 %offset, 0
  %found = select i1 %none, ptr %otherwise, ptr %given
  ret ptr %found
}

define internal i64 @number(ptr %from, i64 %lane) alwaysinline #0 {
  %at = getelementptr i32, ptr %from, i64 %lane
  %value = load i32, ptr %at, align 4
  %wide = zext i32 %value to i64
  ret i64 %wide
}

define internal ptr @image_at(ptr %tables, ptr %area, ptr %form) alwaysinline #0 {
entry:
  %at = call ptr @column(ptr %area, ptr %form, i64 $M_SURFACE$, ptr @zeros)
  %index = call i64 @number(ptr %at, i64 0)
  %most.at = getelementptr i64, ptr %tables, i64 $I_COUNT$
  %count = load i64, ptr %most.at, align 8
  %known = icmp ult i64 %index, %count
  br i1 %known, label %look, label %none
look:
  %first = getelementptr i64, ptr %tables, i64 $I_IMAGES$
  %offset = mul i64 %index, $IMAGE_BYTES$
  %image = getelementptr i8, ptr %first, i64 %offset
  %base = load ptr, ptr %image, align 8
  %free = icmp eq ptr %base, null
  br i1 %free, label %none, label %out
none:
  ret ptr null
out:
  ret ptr %image
}

define internal { i64, i1 } @located(ptr %image, i64 %u, i64 %v.given,
                                     i64 %r.given) alwaysinline #0 {
  %axes.at = getelementptr i64, ptr %image, i64 $P_AXES$
  %axes = load i64, ptr %axes.at, align 8
  %has.v = icmp ugt i64 %axes, 1
  %v = select i1 %has.v, i64 %v.given, i64 0
  %has.r = icmp ugt i64 %axes, 2
  %r = select i1 %has.r, i64 %r.given, i64 0
  %width.at = getelementptr i64, ptr %image, i64 $P_WIDTH$
  %width = load i64, ptr %width.at, align 8
  %height.at = getelementptr i64, ptr %image, i64 $P_HEIGHT$
  %height = load i64, ptr %height.at, align 8
  %depth.at = getelementptr i64, ptr %image, i64 $P_DEPTH$
  %depth = load i64, ptr %depth.at, align 8
  %u.in = icmp ult i64 %u, %width
  %v.in = icmp ult i64 %v, %height
  %r.in = icmp ult i64 %r, %depth
  %uv.in = and i1 %u.in, %v.in
  %in = and i1 %uv.in, %r.in
  %slices = mul i64 %r, %height
  %row = add i64 %slices, %v
  %rows = mul i64 %row, %width
  %position = add i64 %rows, %u
  %one = insertvalue { i64, i1 } poison, i64 %position, 0
  %both = insertvalue { i64, i1 } %one, i1 %in, 1
  ret { i64, i1 } %both
}

define internal void @give(ptr %r, ptr %g, ptr %b, ptr %a, i64 %lane,
                           <4 x i32> %texel) alwaysinline #0 {
  %rp = getelementptr i32, ptr %r, i64 %lane
  %gp = getelementptr i32, ptr %g, i64 %lane
  %bp = getelementptr i32, ptr %b, i64 %lane
  %ap = getelementptr i32, ptr %a, i64 %lane
  %rv = extractelement <4 x i32> %texel, i64 0
  %gv = extractelement <4 x i32> %texel, i64 1
  %bv = extractelement <4 x i32> %texel, i64 2
  %av = extractelement <4 x i32> %texel, i64 3
  store i32 %rv, ptr %rp, align 4
  store i32 %gv, ptr %gp, align 4
  store i32 %bv, ptr %bp, align 4
  store i32 %av, ptr %ap, align 4
  ret void
}

define internal void @note(ptr %tables, i64 %field, i64 %missed) alwaysinline #0 {
  %at = getelementptr i64, ptr %tables, i64 %field
  %before = load i64, ptr %at, align 8
  %after = add i64 %before, %missed
  store i64 %after, ptr %at, align 8
  ret void
}
"""
"""What all messages need: `tables` is an `ImageTable`, `area` the exchange area, `form` a
`Form`.

- `column` is where the values are that a field of the form names; `otherwise` if there are none.
- `number` is the dword of a lane.
- `image_at` is the image of a message, null if it is not in the table.
- `located` is the number of the texel at coordinates, and whether it is in the image. Coordinates
  along axes that an image does not have are taken for 0.
- `give` answers a lane with four components.
- `note` counts accesses out of range, in a field of the table.
"""

_COLUMNS = """
  %lanes = load i64, ptr %form, align 8
  %mask = call ptr @column(ptr %area, ptr %form, i64 $M_MASK$, ptr @all_on)
  %us = call ptr @column(ptr %area, ptr %form, i64 $M_U$, ptr @zeros)
  %vs = call ptr @column(ptr %area, ptr %form, i64 $M_V$, ptr @zeros)
  %rs = call ptr @column(ptr %area, ptr %form, i64 $M_R$, ptr @zeros)
  %red = call ptr @column(ptr %area, ptr %form, i64 $M_RED$, ptr %spare)
  %green = call ptr @column(ptr %area, ptr %form, i64 $M_GREEN$, ptr %spare)
  %blue = call ptr @column(ptr %area, ptr %form, i64 $M_BLUE$, ptr %spare)
  %alpha = call ptr @column(ptr %area, ptr %form, i64 $M_ALPHA$, ptr %spare)
"""
"""Where the values of a message are; `spare` takes the answers that nobody wants."""

_LANES = """
lane:
  %n = phi i64 [ 0, %begin ], [ %next, %done ]
  %missed = phi i64 [ 0, %begin ], [ %misses, %done ]
  %bit.at = getelementptr i8, ptr %mask, i64 %n
  %bit = load i8, ptr %bit.at, align 1
  %on = icmp ne i8 %bit, 0
  br i1 %on, label %active, label %off
"""
"""The begin of what is done for each channel, with how many have been out of range so far."""

_WHOLE = """
active:
  %level = call i64 @number(ptr %lods, i64 %n)
  %smaller = icmp ne i64 %level, 0
  br i1 %smaller, label %refuse, label %first
first:
  %u = call i64 @number(ptr %us, i64 %n)
  %v = call i64 @number(ptr %vs, i64 %n)
  %r = call i64 @number(ptr %rs, i64 %n)
  %place = call { i64, i1 } @located(ptr %image, i64 %u, i64 %v, i64 %r)
  %position = extractvalue { i64, i1 } %place, 0
  %in = extractvalue { i64, i1 } %place, 1
  br i1 %in, label %inside, label %outside
"""
"""The texel at a channel's integer coordinates, which is in level 0."""

_LOAD = f"""
define i64 @load_texels(ptr %tables, ptr %area, ptr %form) #0 {{
entry:
  %spare = alloca [64 x i32], align 64
  %image = call ptr @image_at(ptr %tables, ptr %area, ptr %form)
  %unknown = icmp eq ptr %image, null
  br i1 %unknown, label %refuse, label %begin
begin:
{_COLUMNS}
  %lods = call ptr @column(ptr %area, ptr %form, i64 $M_LOD$, ptr @zeros)
  %opaque.at = getelementptr i64, ptr %form, i64 $M_OPAQUE$
  %opaque = load i64, ptr %opaque.at, align 8
  %is.opaque = icmp ne i64 %opaque, 0
  %colour.field = select i1 %is.opaque, i64 $P_OPAQUE$, i64 $P_BORDER$
  %colour.at = getelementptr i64, ptr %image, i64 %colour.field
  %colour = load <4 x i32>, ptr %colour.at, align 16
  br label %lane
{_LANES}
{_WHOLE}
inside:
  %found = call {{ <4 x i32>, i1 }} @decoded(ptr %image, i64 %position)
  %refused = extractvalue {{ <4 x i32>, i1 }} %found, 1
  br i1 %refused, label %refuse, label %held
held:
  %components = extractvalue {{ <4 x i32>, i1 }} %found, 0
  br label %done
outside:
  %more = add i64 %missed, 1
  br label %done
off:
  br label %done
done:
  %texel = phi <4 x i32> [ %components, %held ], [ %colour, %outside ], [ zeroinitializer, %off ]
  %misses = phi i64 [ %missed, %held ], [ %more, %outside ], [ %missed, %off ]
  call void @give(ptr %red, ptr %green, ptr %blue, ptr %alpha, i64 %n, <4 x i32> %texel)
  %next = add i64 %n, 1
  %last = icmp eq i64 %next, %lanes
  br i1 %last, label %out, label %lane
out:
  call void @note(ptr %tables, i64 $I_MISSED_READS$, i64 %misses)
  ret i64 1
refuse:
  ret i64 0
}}
"""
"""`load_texels` reads a texel for each lane; what is out of range has the colour of a border.

1: the message is done. 0: the host has to do it.
"""

_STORE = f"""
define i64 @store_texels(ptr %tables, ptr %area, ptr %form) #0 {{
entry:
  %image = call ptr @image_at(ptr %tables, ptr %area, ptr %form)
  %unknown = icmp eq ptr %image, null
  br i1 %unknown, label %refuse, label %known
known:
  %writable.at = getelementptr i64, ptr %image, i64 $P_WRITABLE$
  %writable = load i64, ptr %writable.at, align 8
  %read.only = icmp eq i64 %writable, 0
  br i1 %read.only, label %refuse, label %begin
begin:
{_COLUMNS.replace("%spare", "@zeros")}
  %lods = call ptr @column(ptr %area, ptr %form, i64 $M_LOD$, ptr @zeros)
  %writes.at = getelementptr i64, ptr %image, i64 $P_WRITES$
  %writes = load i64, ptr %writes.at, align 8
  %parts = load <4 x i16>, ptr %writes.at, align 8
  %offsets.at = getelementptr i64, ptr %form, i64 $M_RED$
  %offsets = load <4 x i64>, ptr %offsets.at, align 8
  %absent = icmp slt <4 x i64> %offsets, zeroinitializer
  %given = select <4 x i1> %absent, <4 x i16> zeroinitializer, <4 x i16> %parts
  %given.bits = bitcast <4 x i16> %given to i64
  %all = icmp eq i64 %given.bits, %writes
  %chosen.16 = call i16 @llvm.vector.reduce.or.v4i16(<4 x i16> %given)
  %chosen = zext i16 %chosen.16 to i64
  br label %lane
{_LANES}
{_WHOLE}
inside:
  %rv = call i64 @number(ptr %red, i64 %n)
  %gv = call i64 @number(ptr %green, i64 %n)
  %bv = call i64 @number(ptr %blue, i64 %n)
  %av = call i64 @number(ptr %alpha, i64 %n)
  %ri = trunc i64 %rv to i32
  %gi = trunc i64 %gv to i32
  %bi = trunc i64 %bv to i32
  %ai = trunc i64 %av to i32
  %c0 = insertelement <4 x i32> poison, i32 %ri, i64 0
  %c1 = insertelement <4 x i32> %c0, i32 %gi, i64 1
  %c2 = insertelement <4 x i32> %c1, i32 %bi, i64 2
  %c3 = insertelement <4 x i32> %c2, i32 %ai, i64 3
  %refused = call i1 @encoded(ptr %image, i64 %position, <4 x i32> %c3, i1 %all,
                            i64 %chosen)
  br i1 %refused, label %refuse, label %off
outside:
  %more = add i64 %missed, 1
  br label %done
off:
  br label %done
done:
  %misses = phi i64 [ %more, %outside ], [ %missed, %off ]
  %next = add i64 %n, 1
  %last = icmp eq i64 %next, %lanes
  br i1 %last, label %out, label %lane
out:
  call void @note(ptr %tables, i64 $I_MISSED_WRITES$, i64 %misses)
  ret i64 1
refuse:
  ret i64 0
}}
"""
"""`store_texels` writes what a message has of the components that a texel has; answers as above.

`%chosen` has a bit for each byte of a texel that is written, `%all` says that these are all.
"""

_SAMPLE = f"""
define internal i1 @is_number(float %value) alwaysinline #0 {{
  %nothing = fsub float %value, %value
  %found = fcmp ord float %nothing, 0.0
  ret i1 %found
}}

define internal float @coordinate(ptr %from, i64 %lane) alwaysinline #0 {{
  %at = getelementptr float, ptr %from, i64 %lane
  %value = load float, ptr %at, align 4
  ret float %value
}}

define internal void @untapped(ptr %taps) alwaysinline #0 {{
  store <2 x i64> zeroinitializer, ptr %taps, align 16
  %weights = getelementptr i64, ptr %taps, i64 2
  store <2 x i64> <i64 $SHARES$, i64 0>, ptr %weights, align 16
  ret void
}}

define i64 @sample_texels(ptr %tables, ptr %area, ptr %form) #0 {{
entry:
  %spare = alloca [64 x i32], align 64
  %taps = alloca [12 x i64], align 64
  %v.taps = getelementptr i64, ptr %taps, i64 4
  %r.taps = getelementptr i64, ptr %taps, i64 8
  %image = call ptr @image_at(ptr %tables, ptr %area, ptr %form)
  %unknown = icmp eq ptr %image, null
  br i1 %unknown, label %refuse, label %known
known:
  %index.at = call ptr @column(ptr %area, ptr %form, i64 $M_SAMPLER$, ptr @zeros)
  %index = call i64 @number(ptr %index.at, i64 0)
  %within = icmp ult i64 %index, $I_SAMPLER_COUNT$
  br i1 %within, label %look, label %refuse
look:
  %first.sampler = getelementptr i64, ptr %tables, i64 $I_SAMPLERS$
  %sampler.at = getelementptr i64, ptr %first.sampler, i64 %index
  %sampler = load i64, ptr %sampler.at, align 8
  %type.at = getelementptr i64, ptr %image, i64 $P_INTEGER$
  %integer = load i64, ptr %type.at, align 8
  %linear.bit = and i64 %sampler, $LINEAR$
  %linear = icmp ne i64 %linear.bit, 0
  %is.integer = icmp ne i64 %integer, 0
  %mixes = and i1 %linear, %is.integer
  %missing = icmp eq i64 %sampler, 0
  %not.here = or i1 %mixes, %missing
  br i1 %not.here, label %refuse, label %begin
begin:
{_COLUMNS}
  %width.at = getelementptr i64, ptr %image, i64 $P_WIDTH$
  %width = load i64, ptr %width.at, align 8
  %height.at = getelementptr i64, ptr %image, i64 $P_HEIGHT$
  %height = load i64, ptr %height.at, align 8
  %depth.at = getelementptr i64, ptr %image, i64 $P_DEPTH$
  %depth = load i64, ptr %depth.at, align 8
  %axes.at = getelementptr i64, ptr %image, i64 $P_AXES$
  %axes = load i64, ptr %axes.at, align 8
  %smooth.at = getelementptr i64, ptr %image, i64 $P_SMOOTH$
  %smooth = load i64, ptr %smooth.at, align 8
  %has.v = icmp ugt i64 %axes, 1
  %has.r = icmp ugt i64 %axes, 2
  %v.mixes = icmp ugt i64 %smooth, 1
  %r.mixes = icmp ugt i64 %smooth, 2
  call void @untapped(ptr %taps)
  call void @untapped(ptr %v.taps)
  call void @untapped(ptr %r.taps)
  br label %lane
{_LANES}
active:
  %u.given = call float @coordinate(ptr %us, i64 %n)
  %u.good = call i1 @is_number(float %u.given)
  br i1 %u.good, label %first, label %refuse
first:
  call void @tapped(float %u.given, i64 %width, i64 %sampler, ptr %taps)
  br i1 %has.v, label %second, label %ready
second:
  %v.given = call float @coordinate(ptr %vs, i64 %n)
  %v.good = call i1 @is_number(float %v.given)
  br i1 %v.good, label %second.known, label %refuse
second.known:
  br i1 %v.mixes, label %second.mixes, label %second.layer
second.mixes:
  call void @tapped(float %v.given, i64 %height, i64 %sampler, ptr %v.taps)
  br label %second.done
second.layer:
  call void @layered(float %v.given, i64 %height, ptr %v.taps)
  br label %second.done
second.done:
  br i1 %has.r, label %third, label %ready
third:
  %r.given = call float @coordinate(ptr %rs, i64 %n)
  %r.good = call i1 @is_number(float %r.given)
  br i1 %r.good, label %third.known, label %refuse
third.known:
  br i1 %r.mixes, label %third.mixes, label %third.layer
third.mixes:
  call void @tapped(float %r.given, i64 %depth, i64 %sampler, ptr %r.taps)
  br label %ready
third.layer:
  call void @layered(float %r.given, i64 %depth, ptr %r.taps)
  br label %ready
ready:
  br i1 %linear, label %mix, label %nearest
nearest:
  %u = load i64, ptr %taps, align 8
  %v = load i64, ptr %v.taps, align 8
  %r = load i64, ptr %r.taps, align 8
  %plain = call {{ <4 x i32>, i1 }} @texel(ptr %image, i64 %u, i64 %v, i64 %r)
  br label %found
mix:
  %mixture = call {{ <4 x i32>, i1 }} @mixed(ptr %image, ptr %taps)
  br label %found
found:
  %both = phi {{ <4 x i32>, i1 }} [ %plain, %nearest ], [ %mixture, %mix ]
  %refused = extractvalue {{ <4 x i32>, i1 }} %both, 1
  br i1 %refused, label %refuse, label %held
held:
  %components = extractvalue {{ <4 x i32>, i1 }} %both, 0
  br label %done
off:
  br label %done
done:
  %answer = phi <4 x i32> [ %components, %held ], [ zeroinitializer, %off ]
  %misses = phi i64 [ %missed, %held ], [ %missed, %off ]
  call void @give(ptr %red, ptr %green, ptr %blue, ptr %alpha, i64 %n, <4 x i32> %answer)
  %next = add i64 %n, 1
  %last = icmp eq i64 %next, %lanes
  br i1 %last, label %out, label %lane
out:
  ret i64 1
refuse:
  ret i64 0
}}
"""
"""`sample_texels` reads through a sampler, the nearest texels or mixtures; answers as above.

For each axis `%taps` has two indices and their weights (`sampled`); `untapped` writes those of axes
that an image does not have.
"""
