"""Samplers in LLVM IR: which texels a coordinate means, and their mixture.

The native side of `visim.machine.sampling` and `visim.machine.filtering`, which have the rules;
results are the same bits. Two texels count along each axis, the second with weight 0 where a
sampler or an axis does not mix.
"""

from __future__ import annotations

TAPS = r"""
define internal i64 @modulo(i64 %number, i64 %size) alwaysinline #0 {
  %rest = srem i64 %number, %size
  %negative = icmp slt i64 %rest, 0
  %more = add i64 %rest, %size
  %found = select i1 %negative, i64 %more, i64 %rest
  ret i64 %found
}

define internal i64 @wrapped(i64 %index, i64 %size, i64 %address) alwaysinline #0 {
entry:
  switch i64 %address, label %border [ i64 $A_CLAMP_TO_EDGE$, label %edge
                                       i64 $A_REPEAT$, label %repeat
                                       i64 $A_MIRRORED_REPEAT$, label %mirror ]
border:
  %inside = icmp ult i64 %index, %size
  %found = select i1 %inside, i64 %index, i64 -1
  ret i64 %found
edge:
  %last = sub i64 %size, 1
  %low = icmp slt i64 %index, 0
  %raised = select i1 %low, i64 0, i64 %index
  %high = icmp sgt i64 %raised, %last
  %clamped = select i1 %high, i64 %last, i64 %raised
  ret i64 %clamped
repeat:
  %again = call i64 @modulo(i64 %index, i64 %size)
  ret i64 %again
mirror:
  %twice = shl i64 %size, 1
  %turn = call i64 @modulo(i64 %index, i64 %twice)
  %there = icmp slt i64 %turn, %size
  %end = sub i64 %twice, 1
  %back = sub i64 %end, %turn
  %mirrored = select i1 %there, i64 %turn, i64 %back
  ret i64 %mirrored
}

define internal double @position(double %at, double %size, i64 %address,
                                 i1 %normalised) alwaysinline #0 {
entry:
  switch i64 %address, label %straight [ i64 $A_REPEAT$, label %repeat
                                         i64 $A_MIRRORED_REPEAT$, label %mirror ]
straight:
  %scaled = fmul double %at, %size
  %texels = select i1 %normalised, double %scaled, double %at
  %low = fcmp olt double %texels, -$FARTHEST$
  %raised = select i1 %low, double -$FARTHEST$, double %texels
  %end = fadd double %size, $FARTHEST$
  %high = fcmp ogt double %raised, %end
  %near = select i1 %high, double %end, double %raised
  ret double %near
repeat:
  %floor = call double @llvm.floor.f64(double %at)
  %part = fsub double %at, %floor
  %repeated = fmul double %part, %size
  ret double %repeated
mirror:
  %half = fmul double %at, 0.5
  %nearest = call double @llvm.rint.f64(double %half)
  %even = fmul double %nearest, 2.0
  %away = fsub double %at, %even
  %magnitude = call double @llvm.fabs.f64(double %away)
  %folded = fmul double %magnitude, %size
  ret double %folded
}

define internal void @tapped(float %given, i64 %size, i64 %sampler, ptr %taps) alwaysinline #0 {
entry:
  %at = fpext float %given to double
  %extent = sitofp i64 %size to double
  %address = and i64 %sampler, $ADDRESS_BITS$
  %normalised.bit = and i64 %sampler, $NORMALISED$
  %normalised = icmp ne i64 %normalised.bit, 0
  %linear.bit = and i64 %sampler, $LINEAR$
  %linear = icmp ne i64 %linear.bit, 0
  %place = call double @position(double %at, double %extent, i64 %address, i1 %normalised)
  br i1 %linear, label %two, label %one
one:
  %floor = call double @llvm.floor.f64(double %place)
  %index = fptosi double %floor to i64
  %nearest = call i64 @wrapped(i64 %index, i64 %size, i64 %address)
  store i64 %nearest, ptr %taps, align 8
  br label %out
two:
  %middle = fsub double %place, 0.5
  %parts = fmul double %middle, $SHARES$.0
  %up = fadd double %parts, 0.5
  %fixed.floor = call double @llvm.floor.f64(double %up)
  %fixed = fptosi double %fixed.floor to i64
  %lower = ashr i64 %fixed, $SHARE_BITS$
  %upper = add i64 %lower, 1
  %share = and i64 %fixed, $SHARES_LESS_1$
  %rest = sub i64 $SHARES$, %share
  %first = call i64 @wrapped(i64 %lower, i64 %size, i64 %address)
  %second = call i64 @wrapped(i64 %upper, i64 %size, i64 %address)
  store i64 %first, ptr %taps, align 8
  %second.at = getelementptr i64, ptr %taps, i64 1
  store i64 %second, ptr %second.at, align 8
  %rest.at = getelementptr i64, ptr %taps, i64 2
  store i64 %rest, ptr %rest.at, align 8
  %share.at = getelementptr i64, ptr %taps, i64 3
  store i64 %share, ptr %share.at, align 8
  br label %out
out:
  ret void
}

define internal void @layered(float %given, i64 %count, ptr %taps) alwaysinline #0 {
  %at = fpext float %given to double
  %nearest = call double @llvm.rint.f64(double %at)
  %low = fcmp olt double %nearest, 0.0
  %raised = select i1 %low, double 0.0, double %nearest
  %last = sub i64 %count, 1
  %end = sitofp i64 %last to double
  %high = fcmp ogt double %raised, %end
  %near = select i1 %high, double %end, double %raised
  %layer = fptosi double %near to i64
  store i64 %layer, ptr %taps, align 8
  ret void
}
"""
"""`tapped` writes two indices and two weights along an axis, `layered` those of an array's axis.

Indices are -1 at the border. A sampler is a number: its address mode and its flags.
"""

MIXING = r"""
define internal { <4 x i32>, i1 } @texel(ptr %image, i64 %u, i64 %v, i64 %r) alwaysinline #0 {
entry:
  %either = or i64 %u, %v
  %any = or i64 %either, %r
  %outside = icmp slt i64 %any, 0
  br i1 %outside, label %border, label %inside
border:
  %border.at = getelementptr i64, ptr %image, i64 $P_BORDER$
  %colour = load <4 x i32>, ptr %border.at, align 16
  %one = insertvalue { <4 x i32>, i1 } poison, <4 x i32> %colour, 0
  %both = insertvalue { <4 x i32>, i1 } %one, i1 false, 1
  ret { <4 x i32>, i1 } %both
inside:
  %width.at = getelementptr i64, ptr %image, i64 $P_WIDTH$
  %width = load i64, ptr %width.at, align 8
  %height.at = getelementptr i64, ptr %image, i64 $P_HEIGHT$
  %height = load i64, ptr %height.at, align 8
  %slices = mul i64 %r, %height
  %row = add i64 %slices, %v
  %rows = mul i64 %row, %width
  %position = add i64 %rows, %u
  %found = call { <4 x i32>, i1 } @decoded(ptr %image, i64 %position)
  ret { <4 x i32>, i1 } %found
}

define internal { <4 x i32>, i1 } @mixed(ptr %image, ptr %taps) #0 {
entry:
  br label %corner
corner:
  %n = phi i64 [ 0, %entry ], [ %next, %done ]
  %total = phi <4 x double> [ zeroinitializer, %entry ], [ %sum, %done ]
  %un = lshr i64 %n, 2
  %vn.high = lshr i64 %n, 1
  %vn = and i64 %vn.high, 1
  %rn = and i64 %n, 1
  %up = getelementptr i64, ptr %taps, i64 %un
  %v.taps = getelementptr i64, ptr %taps, i64 4
  %vp = getelementptr i64, ptr %v.taps, i64 %vn
  %r.taps = getelementptr i64, ptr %taps, i64 8
  %rp = getelementptr i64, ptr %r.taps, i64 %rn
  %uwp = getelementptr i64, ptr %up, i64 2
  %vwp = getelementptr i64, ptr %vp, i64 2
  %rwp = getelementptr i64, ptr %rp, i64 2
  %uw = load i64, ptr %uwp, align 8
  %vw = load i64, ptr %vwp, align 8
  %rw = load i64, ptr %rwp, align 8
  %uvw = mul i64 %uw, %vw
  %weight = mul i64 %uvw, %rw
  %none = icmp eq i64 %weight, 0
  br i1 %none, label %done, label %add
add:
  %u = load i64, ptr %up, align 8
  %v = load i64, ptr %vp, align 8
  %r = load i64, ptr %rp, align 8
  %found = call { <4 x i32>, i1 } @texel(ptr %image, i64 %u, i64 %v, i64 %r)
  %bits = extractvalue { <4 x i32>, i1 } %found, 0
  %refused = extractvalue { <4 x i32>, i1 } %found, 1
  br i1 %refused, label %refuse, label %weigh
weigh:
  %singles = bitcast <4 x i32> %bits to <4 x float>
  %doubles = fpext <4 x float> %singles to <4 x double>
  %number = uitofp i64 %weight to double
  %share = fmul double %number, $SHARE_CUBED$
  %share.1 = insertelement <4 x double> poison, double %share, i64 0
  %shares = shufflevector <4 x double> %share.1, <4 x double> poison, <4 x i32> zeroinitializer
  %weighed = fmul <4 x double> %shares, %doubles
  %more = fadd <4 x double> %total, %weighed
  br label %done
done:
  %sum = phi <4 x double> [ %total, %corner ], [ %more, %weigh ]
  %next = add i64 %n, 1
  %last = icmp eq i64 %next, 8
  br i1 %last, label %out, label %corner
out:
  %nans = fcmp uno <4 x double> %sum, %sum
  %nan.bits = bitcast <4 x i1> %nans to i4
  %nan = icmp ne i4 %nan.bits, 0
  %rounded = fptrunc <4 x double> %sum to <4 x float>
  %answer = bitcast <4 x float> %rounded to <4 x i32>
  %one = insertvalue { <4 x i32>, i1 } poison, <4 x i32> %answer, 0
  %both = insertvalue { <4 x i32>, i1 } %one, i1 %nan, 1
  ret { <4 x i32>, i1 } %both
refuse:
  ret { <4 x i32>, i1 } { <4 x i32> zeroinitializer, i1 true }
}
"""
"""`mixed` is the weighed sum of up to eight texels; NaN are refused, whose bits depend on order."""
