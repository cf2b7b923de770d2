"""Texels in LLVM IR: what the bytes of a texel mean, and conversion in both directions.

The native side of `visim.machine.formats`, which has the rules; results are the same bits. A texel
is loaded as one number, so that all formats of a size are one access. What `refused` is true for is
left to the other side: NaN of half precision, whose bits depend on who converts.
"""

from __future__ import annotations

DECODING = r"""
define internal <4 x i32> @arranged(<4 x i32> %from, ptr %order) #0 {
  %places = alloca [8 x i32], align 16
  store <4 x i32> %from, ptr %places, align 16
  %others = getelementptr i32, ptr %places, i64 4
  %one.at = getelementptr i64, ptr %order, i64 1
  %one = load i32, ptr %one.at, align 8
  store i32 0, ptr %others, align 16
  %other = getelementptr i32, ptr %places, i64 5
  store i32 %one, ptr %other, align 4
  %all = load i32, ptr %order, align 8
  %each = bitcast i32 %all to <4 x i8>
  %n0 = extractelement <4 x i8> %each, i64 0
  %n1 = extractelement <4 x i8> %each, i64 1
  %n2 = extractelement <4 x i8> %each, i64 2
  %n3 = extractelement <4 x i8> %each, i64 3
  %w0 = zext i8 %n0 to i64
  %w1 = zext i8 %n1 to i64
  %w2 = zext i8 %n2 to i64
  %w3 = zext i8 %n3 to i64
  %p0 = getelementptr i32, ptr %places, i64 %w0
  %p1 = getelementptr i32, ptr %places, i64 %w1
  %p2 = getelementptr i32, ptr %places, i64 %w2
  %p3 = getelementptr i32, ptr %places, i64 %w3
  %v0 = load i32, ptr %p0, align 4
  %v1 = load i32, ptr %p1, align 4
  %v2 = load i32, ptr %p2, align 4
  %v3 = load i32, ptr %p3, align 4
  %r0 = insertelement <4 x i32> poison, i32 %v0, i64 0
  %r1 = insertelement <4 x i32> %r0, i32 %v1, i64 1
  %r2 = insertelement <4 x i32> %r1, i32 %v2, i64 2
  %r3 = insertelement <4 x i32> %r2, i32 %v3, i64 3
  ret <4 x i32> %r3
}

define internal i1 @has_nan(<4 x i16> %halves) alwaysinline #0 {
  %magnitudes = and <4 x i16> %halves, splat (i16 32767)
  %nans = icmp ugt <4 x i16> %magnitudes, splat (i16 31744)
  %bits = bitcast <4 x i1> %nans to i4
  %some = icmp ne i4 %bits, 0
  ret i1 %some
}

define internal { <4 x i32>, i1 } @decoded(ptr %image, i64 %position) alwaysinline #0 {
entry:
  %base = load ptr, ptr %image, align 8
  %bytes.at = getelementptr i64, ptr %image, i64 $P_BYTES$
  %bytes = load i64, ptr %bytes.at, align 8
  %type.at = getelementptr i64, ptr %image, i64 $P_TYPE$
  %type = load i64, ptr %type.at, align 8
  %offset = mul i64 %position, %bytes
  %at = getelementptr i8, ptr %base, i64 %offset
  switch i64 %bytes, label %of16 [ i64 1, label %of1
                                   i64 2, label %of2
                                   i64 4, label %of4
                                   i64 8, label %of8 ]
of1:
  %b1 = load i8, ptr %at, align 1
  %x1 = zext i8 %b1 to i128
  br label %known
of2:
  %b2 = load i16, ptr %at, align 1
  %x2 = zext i16 %b2 to i128
  br label %known
of4:
  %b4 = load i32, ptr %at, align 1
  %x4 = zext i32 %b4 to i128
  br label %known
of8:
  %b8 = load i64, ptr %at, align 1
  %x8 = zext i64 %b8 to i128
  br label %known
of16:
  %x16 = load i128, ptr %at, align 1
  br label %known
known:
  %raw = phi i128 [ %x1, %of1 ], [ %x2, %of2 ], [ %x4, %of4 ], [ %x8, %of8 ], [ %x16, %of16 ]
  %low32 = trunc i128 %raw to i32
  %low64 = trunc i128 %raw to i64
  %octets = bitcast i32 %low32 to <4 x i8>
  %pairs = bitcast i64 %low64 to <4 x i16>
  %whole = bitcast i128 %raw to <4 x i32>
  switch i64 %type, label %stored [ i64 $F_SNORM8$, label %snorm8
                                    i64 $F_SNORM16$, label %snorm16
                                    i64 $F_UNORM8$, label %unorm8
                                    i64 $F_UNORM16$, label %unorm16
                                    i64 $F_INT8$, label %int8
                                    i64 $F_INT16$, label %int16
                                    i64 $F_UINT8$, label %uint8
                                    i64 $F_UINT16$, label %uint16
                                    i64 $F_HALF$, label %half ]
snorm8:
  %s8 = sitofp <4 x i8> %octets to <4 x float>
  %s8.part = fdiv <4 x float> %s8, splat (float 127.0)
  br label %limit
snorm16:
  %s16 = sitofp <4 x i16> %pairs to <4 x float>
  %s16.part = fdiv <4 x float> %s16, splat (float 32767.0)
  br label %limit
limit:
  %part = phi <4 x float> [ %s8.part, %snorm8 ], [ %s16.part, %snorm16 ]
  %below = fcmp olt <4 x float> %part, splat (float -1.0)
  %least = select <4 x i1> %below, <4 x float> splat (float -1.0), <4 x float> %part
  %limited = bitcast <4 x float> %least to <4 x i32>
  br label %stored
unorm8:
  %u8 = uitofp <4 x i8> %octets to <4 x float>
  %u8.part = fdiv <4 x float> %u8, splat (float 255.0)
  %u8.bits = bitcast <4 x float> %u8.part to <4 x i32>
  br label %stored
unorm16:
  %u16 = uitofp <4 x i16> %pairs to <4 x float>
  %u16.part = fdiv <4 x float> %u16, splat (float 65535.0)
  %u16.bits = bitcast <4 x float> %u16.part to <4 x i32>
  br label %stored
int8:
  %i8.wide = sext <4 x i8> %octets to <4 x i32>
  br label %stored
int16:
  %i16.wide = sext <4 x i16> %pairs to <4 x i32>
  br label %stored
uint8:
  %u8.wide = zext <4 x i8> %octets to <4 x i32>
  br label %stored
uint16:
  %u16.wide = zext <4 x i16> %pairs to <4 x i32>
  br label %stored
half:
  %halves = bitcast <4 x i16> %pairs to <4 x half>
  %singles = fpext <4 x half> %halves to <4 x float>
  %half.bits = bitcast <4 x float> %singles to <4 x i32>
  %half.nan = call i1 @has_nan(<4 x i16> %pairs)
  br label %stored
stored:
  %channels = phi <4 x i32> [ %whole, %known ], [ %limited, %limit ], [ %u8.bits, %unorm8 ],
                            [ %u16.bits, %unorm16 ], [ %i8.wide, %int8 ], [ %i16.wide, %int16 ],
                            [ %u8.wide, %uint8 ], [ %u16.wide, %uint16 ], [ %half.bits, %half ]
  %refused = phi i1 [ false, %known ], [ false, %limit ], [ false, %unorm8 ], [ false, %unorm16 ],
                    [ false, %int8 ], [ false, %int16 ], [ false, %uint8 ], [ false, %uint16 ],
                    [ %half.nan, %half ]
  %order = getelementptr i64, ptr %image, i64 $P_READ$
  %numbers = load i64, ptr %order, align 8
  %as.stored = icmp eq i64 %numbers, $IN_ORDER$
  br i1 %as.stored, label %out, label %arrange
arrange:
  %others = call <4 x i32> @arranged(<4 x i32> %channels, ptr %order)
  br label %out
out:
  %texel = phi <4 x i32> [ %channels, %stored ], [ %others, %arrange ]
  %one = insertvalue { <4 x i32>, i1 } poison, <4 x i32> %texel, 0
  %both = insertvalue { <4 x i32>, i1 } %one, i1 %refused, 1
  ret { <4 x i32>, i1 } %both
}
"""
"""`decoded`: the components of a texel by its number, and whether they are refused."""

ROUNDS = "0x4338000000000000"
"""1.5 * 2**52: a number that is added to it is rounded to an integer, which is in its low bits."""

ENCODING = r"""
define internal <4 x i32> @normalised(<4 x float> %given, double %least, double %top) #0 {
  %nan = fcmp uno <4 x float> %given, %given
  %number = select <4 x i1> %nan, <4 x float> zeroinitializer, <4 x float> %given
  %wide = fpext <4 x float> %number to <4 x double>
  %least.1 = insertelement <4 x double> poison, double %least, i64 0
  %leasts = shufflevector <4 x double> %least.1, <4 x double> poison, <4 x i32> zeroinitializer
  %top.1 = insertelement <4 x double> poison, double %top, i64 0
  %tops = shufflevector <4 x double> %top.1, <4 x double> poison, <4 x i32> zeroinitializer
  %low = fcmp olt <4 x double> %wide, %leasts
  %raised = select <4 x i1> %low, <4 x double> %leasts, <4 x double> %wide
  %high = fcmp ogt <4 x double> %raised, splat (double 1.0)
  %between = select <4 x i1> %high, <4 x double> splat (double 1.0), <4 x double> %raised
  %scaled = fmul <4 x double> %between, %tops
  %rounded = fadd <4 x double> %scaled, splat (double $ROUNDS$)
  %bits = bitcast <4 x double> %rounded to <4 x i64>
  %numbers = trunc <4 x i64> %bits to <4 x i32>
  ret <4 x i32> %numbers
}

define internal <4 x i32> @between(<4 x i32> %given, i32 %least, i32 %most) alwaysinline #0 {
  %least.1 = insertelement <4 x i32> poison, i32 %least, i64 0
  %leasts = shufflevector <4 x i32> %least.1, <4 x i32> poison, <4 x i32> zeroinitializer
  %most.1 = insertelement <4 x i32> poison, i32 %most, i64 0
  %mosts = shufflevector <4 x i32> %most.1, <4 x i32> poison, <4 x i32> zeroinitializer
  %low = icmp slt <4 x i32> %given, %leasts
  %raised = select <4 x i1> %low, <4 x i32> %leasts, <4 x i32> %given
  %high = icmp sgt <4 x i32> %raised, %mosts
  %found = select <4 x i1> %high, <4 x i32> %mosts, <4 x i32> %raised
  ret <4 x i32> %found
}

define internal <4 x i32> @at_most(<4 x i32> %given, i32 %most) alwaysinline #0 {
  %most.1 = insertelement <4 x i32> poison, i32 %most, i64 0
  %mosts = shufflevector <4 x i32> %most.1, <4 x i32> poison, <4 x i32> zeroinitializer
  %high = icmp ugt <4 x i32> %given, %mosts
  %found = select <4 x i1> %high, <4 x i32> %mosts, <4 x i32> %given
  ret <4 x i32> %found
}

define internal void @put_some(ptr %at, i128 %raw, i64 %chosen) #0 {
entry:
  %texel = alloca i128, align 16
  store i128 %raw, ptr %texel, align 16
  br label %byte
byte:
  %n = phi i64 [ 0, %entry ], [ %next, %done ]
  %bits = lshr i64 %chosen, %n
  %bit = trunc i64 %bits to i1
  br i1 %bit, label %move, label %done
move:
  %from = getelementptr i8, ptr %texel, i64 %n
  %to = getelementptr i8, ptr %at, i64 %n
  %value = load i8, ptr %from, align 1
  store i8 %value, ptr %to, align 1
  br label %done
done:
  %next = add i64 %n, 1
  %last = icmp eq i64 %next, 16
  br i1 %last, label %out, label %byte
out:
  ret void
}

define internal i1 @encoded(ptr %image, i64 %position, <4 x i32> %components, i1 %all,
                            i64 %chosen) alwaysinline #0 {
entry:
  %base = load ptr, ptr %image, align 8
  %bytes.at = getelementptr i64, ptr %image, i64 $P_BYTES$
  %bytes = load i64, ptr %bytes.at, align 8
  %type.at = getelementptr i64, ptr %image, i64 $P_TYPE$
  %type = load i64, ptr %type.at, align 8
  %offset = mul i64 %position, %bytes
  %at = getelementptr i8, ptr %base, i64 %offset
  %order = getelementptr i64, ptr %image, i64 $P_STORED$
  %numbers = load i64, ptr %order, align 8
  %as.given = icmp eq i64 %numbers, $IN_ORDER$
  br i1 %as.given, label %convert, label %arrange
arrange:
  %others = call <4 x i32> @arranged(<4 x i32> %components, ptr %order)
  br label %convert
convert:
  %given = phi <4 x i32> [ %components, %entry ], [ %others, %arrange ]
  %floats = bitcast <4 x i32> %given to <4 x float>
  switch i64 %type, label %whole [ i64 $F_SNORM8$, label %snorm8
                                   i64 $F_SNORM16$, label %snorm16
                                   i64 $F_UNORM8$, label %unorm8
                                   i64 $F_UNORM16$, label %unorm16
                                   i64 $F_INT8$, label %int8
                                   i64 $F_INT16$, label %int16
                                   i64 $F_UINT8$, label %uint8
                                   i64 $F_UINT16$, label %uint16
                                   i64 $F_HALF$, label %half ]
snorm8:
  %s8 = call <4 x i32> @normalised(<4 x float> %floats, double -1.0, double 127.0)
  br label %octets
unorm8:
  %u8 = call <4 x i32> @normalised(<4 x float> %floats, double 0.0, double 255.0)
  br label %octets
int8:
  %i8.limited = call <4 x i32> @between(<4 x i32> %given, i32 -128, i32 127)
  br label %octets
uint8:
  %u8.limited = call <4 x i32> @at_most(<4 x i32> %given, i32 255)
  br label %octets
octets:
  %narrow = phi <4 x i32> [ %s8, %snorm8 ], [ %u8, %unorm8 ], [ %i8.limited, %int8 ],
                          [ %u8.limited, %uint8 ]
  %bytes.4 = trunc <4 x i32> %narrow to <4 x i8>
  %number.32 = bitcast <4 x i8> %bytes.4 to i32
  %octets.raw = zext i32 %number.32 to i128
  br label %put
snorm16:
  %s16 = call <4 x i32> @normalised(<4 x float> %floats, double -1.0, double 32767.0)
  br label %pairs
unorm16:
  %u16 = call <4 x i32> @normalised(<4 x float> %floats, double 0.0, double 65535.0)
  br label %pairs
int16:
  %i16.limited = call <4 x i32> @between(<4 x i32> %given, i32 -32768, i32 32767)
  br label %pairs
uint16:
  %u16.limited = call <4 x i32> @at_most(<4 x i32> %given, i32 65535)
  br label %pairs
half:
  %halves = fptrunc <4 x float> %floats to <4 x half>
  %half.bits = bitcast <4 x half> %halves to <4 x i16>
  %half.nan = call i1 @has_nan(<4 x i16> %half.bits)
  br i1 %half.nan, label %refuse, label %half.known
half.known:
  %half.wide = zext <4 x i16> %half.bits to <4 x i32>
  br label %pairs
pairs:
  %middle = phi <4 x i32> [ %s16, %snorm16 ], [ %u16, %unorm16 ], [ %i16.limited, %int16 ],
                          [ %u16.limited, %uint16 ], [ %half.wide, %half.known ]
  %words.4 = trunc <4 x i32> %middle to <4 x i16>
  %number.64 = bitcast <4 x i16> %words.4 to i64
  %pairs.raw = zext i64 %number.64 to i128
  br label %put
whole:
  %whole.raw = bitcast <4 x i32> %given to i128
  br label %put
put:
  %raw = phi i128 [ %octets.raw, %octets ], [ %pairs.raw, %pairs ], [ %whole.raw, %whole ]
  br i1 %all, label %put.all, label %put.some
put.some:
  call void @put_some(ptr %at, i128 %raw, i64 %chosen)
  br label %out
put.all:
  switch i64 %bytes, label %of16 [ i64 1, label %of1
                                   i64 2, label %of2
                                   i64 4, label %of4
                                   i64 8, label %of8 ]
of1:
  %b1 = trunc i128 %raw to i8
  store i8 %b1, ptr %at, align 1
  br label %out
of2:
  %b2 = trunc i128 %raw to i16
  store i16 %b2, ptr %at, align 1
  br label %out
of4:
  %b4 = trunc i128 %raw to i32
  store i32 %b4, ptr %at, align 1
  br label %out
of8:
  %b8 = trunc i128 %raw to i64
  store i64 %b8, ptr %at, align 1
  br label %out
of16:
  store i128 %raw, ptr %at, align 1
  br label %out
out:
  ret i1 false
refuse:
  ret i1 true
}
"""
"""`encoded` writes components of a texel by its number, or says that it refuses them.

Unless `all` is written, the bits of `chosen` say which bytes are.
"""
